"""Dataset.cache(filename): what was written comes back without what made it, and is whole or not there."""

import collections
import errno
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape.data import cached

Dataset = tf.data.Dataset
Point = collections.namedtuple("Point", "x y")


class Counted:
    """A function for `map` that counts its calls."""

    def __init__(self, function=lambda *x: x if len(x) > 1 else x[0]):
        self.calls, self._function = 0, function

    def __call__(self, *element):
        self.calls += 1
        return self._function(*element)


def upstream(n, calls=None):
    calls = calls or Counted()
    before = calls.calls
    dataset = Dataset.range(n).map(calls)
    calls.calls = before  # the rehearsal is not counted
    return dataset


def numbers(dataset):
    return [int(x) for x in dataset]


def files(folder):
    return sorted(os.listdir(folder))


def bits(element):
    """All there is to an element: structure, dtypes, shapes, values."""
    leaves = tf.nest.map_structure(
        lambda x: x if x is None else (x.dtype.name, tuple(x.shape), np.asarray(x.numpy()).tolist()), element
    )
    return repr(leaves)


@pytest.fixture
def name(tmp_path):
    return str(tmp_path / "cache")


@pytest.fixture(params=[cached.CHUNK, 1], ids=["one chunk", "many chunks"])
def chunks(request, monkeypatch):
    monkeypatch.setattr(cached, "CHUNK", request.param)


# -- there and back ---------------------------------------------------------------------------------------------------


def test_the_first_whole_loop_writes_and_later_ones_run_nothing(name, tmp_path):
    calls = Counted()
    dataset = upstream(4, calls).cache(name)
    assert files(tmp_path) == []
    assert numbers(dataset) == [0, 1, 2, 3] and calls.calls == 4
    assert [file.split("-")[0] for file in files(tmp_path)] == ["cache.data", "cache.index"]
    assert numbers(dataset) == numbers(dataset.repeat(2))[4:] == [0, 1, 2, 3]
    assert numbers(upstream(9, calls).cache(name)) == [0, 1, 2, 3]
    assert calls.calls == 4


def test_another_process_reads_it(name):
    list(Dataset.from_tensor_slices({"a": [1, 2, 3], "b": [b"x", b"yy", b""]}).cache(name))
    program = f"""
import gradtape as tf
def fail(x):
    raise AssertionError("not to be called")
dataset = tf.data.Dataset.range(99).map(fail).cache({name!r})
print(dataset.element_spec["b"].dtype.name, [(int(x["a"]), x["b"].numpy()) for x in dataset])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "string [(1, b'x'), (2, b'yy'), (3, b'')]\n"


def generated(*elements):
    """A dataset of these elements, of which only the dtypes are known."""

    def spec(part):
        return (
            tuple(map(spec, part))
            if isinstance(part, tuple)
            else tf.TensorSpec(None, tf.constant(part).dtype)
        )

    return Dataset.from_generator(lambda: iter(elements), output_signature=spec(elements[0]))


def mapped(*elements):
    """A dataset of these elements, of which nothing is known before a function is called."""
    return Dataset.range(len(elements)).map(lambda i: elements[int(i)])


def rows(values):
    return lambda: Dataset.from_tensor_slices(values)


ELEMENTS = {
    **{
        dtype: rows(tf.cast([[0, 1], [1, 5]], dtype))
        for dtype in ("float16", "float32", "float64", "bfloat16")
    },
    **{
        f"{kind}int{size}": rows(
            np.array([[0, 1], [np.iinfo(f"{kind}int{size}").max, 0]], f"{kind}int{size}")
        )
        for kind in ("", "u")
        for size in (8, 16, 32, 64)
    },
    "bool": rows([True, False]),
    "complex64": rows(np.complex64([1 + 2j, -3j])),
    "complex128": rows(np.complex128([[1 + 2j], [-3j]])),
    "not numbers": rows(np.float32([np.nan, np.inf, -0.0])),
    "strings": rows([["a", "bcd"], ["", "ä\0é"]]),
    "strings of varying shapes": lambda: generated(["a"], ["b", "cc", ""], "d"),
    "varying lengths": lambda: generated([1.0], [1.0, 2.0, 3.0], []),
    "varying ranks": lambda: generated(1, [[2, 3]], [4]),
    "varying bfloat16": lambda: generated(tf.cast([1], "bfloat16"), tf.cast([2, 3], "bfloat16")),
    "nothing in them": rows(np.zeros((3, 0, 2), np.int32)),
    "empty strings": rows(np.zeros((3, 0), object)),
    "tuples": rows(([1, 2], [[3.0], [4.0]], [b"a", b"b"])),
    "nested": rows({"b": ([1, 2], {"d": [3, 4]}), "a": [True, False], "c": (([5.0, 6.0],),)}),
    "one varies": lambda: generated(([1, 2], 3), ([4], 5)),
    "with None": lambda: Dataset.from_tensors((1, None)).repeat(3),
    "namedtuples": rows(Point([1, 2], [3.0, 4.0])),
    "ordered dicts": rows(collections.OrderedDict(b=[1, 2], a=[3, 4])),
    "numbers as keys": rows({2: [1, 2], 1: [3, 4]}),
    "tuples as keys": rows({(0, 1): [1, 2], (1, 0): [3, 4]}),
    "batches": lambda: Dataset.range(7).batch(3),
    "padded": lambda: generated([1], [2, 3]).padded_batch(2, [None]),
    "not contiguous": rows(np.arange(12).reshape(2, 3, 2).transpose(2, 1, 0)),
    "no element": lambda: Dataset.range(0),
    "no tuple": lambda: Dataset.from_tensor_slices((np.zeros((0, 2)), np.zeros(0, np.int32))),
}


@pytest.mark.parametrize("kind", ELEMENTS)
def test_elements_come_back_to_the_bit(name, kind, chunks):
    source = ELEMENTS[kind]()
    expected = [bits(element) for element in source]
    for _ in range(3):
        assert [bits(element) for element in source.cache(name)] == expected
    assert source.cache(name).element_spec == source.element_spec
    assert int(source.cache(name).cardinality()) == int(source.cardinality())


def test_a_class_is_found_where_only_a_function_knows_it(name):
    dataset = Dataset.range(2).map(lambda i: Point(i, i + 1))
    list(dataset.cache(name))
    assert [type(element) for element in dataset.cache(name)] == [Point, Point]


def test_names_of_every_kind(tmp_path):
    for given in (
        str(tmp_path / "text"),
        os.fsencode(tmp_path / "bytes"),
        tmp_path / "path",
        tf.constant(str(tmp_path / "tensor")),
        tmp_path / "new" / "folder" / "x",
        tmp_path / "[odd]* name",
    ):
        assert numbers(Dataset.range(3).cache(given)) == [0, 1, 2]
        assert numbers(Dataset.range(9).cache(given)) == [0, 1, 2]
    indices = [file.name for file in tmp_path.rglob("*.index")]
    assert sorted(indices) == sorted(
        f"{n}.index" for n in ("text", "bytes", "path", "tensor", "x", "[odd]* name")
    )
    for nonsense in (3, None, ["a"], tf.constant(1), tf.constant(["a", "b"])):
        with pytest.raises(TypeError, match="cache: filename must be a text or a path"):
            Dataset.range(3).cache(nonsense)


def test_what_comes_after_works_as_without(name, chunks):
    cache = upstream(20).cache(name)
    for _ in range(2):
        assert [x.numpy().tolist() for x in cache.batch(6)] == [
            [*range(6)], [*range(6, 12)], [*range(12, 18)], [18, 19]
        ]  # fmt: skip
        assert numbers(cache.skip(7).take(3)) == [7, 8, 9]
        assert numbers(cache.shard(4, 1)) == [1, 5, 9, 13, 17]
        assert sorted(numbers(cache.shuffle(20))) == [*range(20)]
        assert numbers(cache.prefetch(2)) == [*range(20)]
        assert numbers(Dataset.zip(cache, cache).map(lambda a, b: a + b)) == [*range(0, 40, 2)]
        assert len(cache) == 20


def test_an_order_that_was_cached_stays(name):
    dataset = Dataset.range(50).shuffle(50).cache(name)
    first = numbers(dataset)
    assert numbers(dataset) == first == numbers(Dataset.range(50).shuffle(50).cache(name))


def test_inside_a_function(name):
    @tf.function
    def total():
        result = tf.constant(0, tf.int64)
        for x in Dataset.range(4).cache(name):
            result += x
        return result

    assert int(total()) == int(total()) == 6


@pytest.mark.parametrize("given", [0, 1, 3, 4, 9, 11])
def test_a_saved_position_is_gone_back_to(name, tmp_path, chunks, given):
    dataset = upstream(5).cache(name).repeat()
    iterator = iter(dataset)
    for _ in range(given):
        next(iterator)
    path = tf.train.Checkpoint(i=iterator).write(str(tmp_path / "position"))
    again = iter(upstream(5).cache(name).repeat())
    tf.train.Checkpoint(i=again).read(path).assert_consumed()
    assert [int(next(again)) for _ in range(7)] == [int(next(iterator)) for _ in range(7)]


def test_skipped_chunks_are_not_read(name, tmp_path, monkeypatch):
    monkeypatch.setattr(cached, "CHUNK", 1)
    list(Dataset.range(5).cache(name))
    for file in sorted(tmp_path.glob("cache.data-*"))[:3]:
        file.write_bytes(b"")
    assert numbers(Dataset.range(5).cache(name).skip(3)) == [3, 4]


# -- loops that do not come to an end ---------------------------------------------------------------------------------


def test_an_incomplete_loop_leaves_nothing(name, tmp_path, chunks):
    dataset = upstream(5).cache(name)
    assert numbers(dataset.take(3)) == [0, 1, 2] and files(tmp_path) == []
    assert numbers(dataset.take(5)) == [*range(5)] and files(tmp_path) == []
    for x in dataset:
        if int(x) == 2:
            break
    del x
    assert files(tmp_path) == []
    assert numbers(dataset) == [*range(5)] and "cache.index" in files(tmp_path)


def test_a_loop_that_fails_leaves_nothing(name, tmp_path, chunks):
    def fails(x):
        if int(x) == 3:
            raise RuntimeError("no more")
        return x

    dataset = Dataset.range(5).map(fails).cache(name)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no more"):
            numbers(dataset)
        assert files(tmp_path) == []


def test_an_infinite_dataset_is_never_cached(name, tmp_path):
    assert numbers(Dataset.range(2).repeat().cache(name).take(5)) == [0, 1, 0, 1, 0]
    assert files(tmp_path) == []


def test_two_loops_at_once_each_write_and_the_first_to_end_wins(name, tmp_path, chunks):
    orders = iter([[0, 1, 2], [2, 1, 0]])
    spec = tf.TensorSpec((), tf.int64)
    dataset = Dataset.from_generator(lambda: iter(next(orders)), output_signature=spec).cache(name)
    slow, fast = iter(dataset), iter(dataset)
    assert int(next(slow)) == 0
    assert numbers(fast) == [2, 1, 0]
    assert numbers(slow) == [1, 2]
    assert numbers(dataset) == [2, 1, 0]
    names = {file[:20] for file in files(tmp_path)}
    assert len(names) == 2 and "cache.index" in names, "the files of one loop only"


def test_threads_may_write_and_read_at_once(name, tmp_path, chunks):
    seen = []

    def loop():
        for _ in range(5):
            seen.append(numbers(upstream(9).cache(name)))

    workers = [threading.Thread(target=loop) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == [[*range(9)]] * 20
    assert not [f for f in files(tmp_path) if f.endswith(".tmp")]


# These fork; see tests/test_checkpoint.py. They run in a process of their own: this file, called by its name.


def killed_at_every_step(tmp_path):
    """A child that stops dead at its n-th call to the system, for all n; the next loop does as if nothing had been."""
    cached.CHUNK = 1
    for step in range(200):
        name = str(tmp_path / "cache")
        child = os.fork()
        if not child:
            try:
                stop_at(step, lambda: os._exit(3))
                assert numbers(Dataset.range(3).cache(name)) == [0, 1, 2]
                os._exit(0)
            finally:
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 3)
        there = (tmp_path / "cache.index").exists()
        assert numbers(Dataset.range(3 if there else 4).cache(name)) == [*range(3 if there else 4)]
        data = [f for f in files(tmp_path) if f.startswith("cache.data")]
        assert len(files(tmp_path)) - 1 == len(data) == (3 if there else 4), "nothing else is left"
        for file in tmp_path.iterdir():
            file.unlink()
        if code == 0:
            break
    assert 10 < step < 199


def stop_at(step, act, patch=setattr):
    """Have the step-th call to the system not happen, but `act` instead; returns the list of calls, as it grows."""
    calls = []

    def counting(name, call):
        def counted(*args, **kwargs):
            calls.append(name)
            if len(calls) == step + 1:
                act()
            return call(*args, **kwargs)

        return counted

    for name in ("open", "write", "fsync", "replace", "close", "unlink", "mkdir"):
        patch(os, name, counting(name, getattr(os, name)))
    return calls


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_process_leaves_a_whole_cache_or_none_and_blocks_nobody(tmp_path):
    command = [sys.executable, __file__, "killed_at_every_step", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_is_an_error_and_leaves_a_whole_cache_or_none(tmp_path, number, monkeypatch):
    def fail():
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cached, "CHUNK", 1)
    failures = 0
    for step in range(200):
        dataset = Dataset.range(3).cache(tmp_path / str(step) / "cache")
        with monkeypatch.context() as patch:
            calls = stop_at(step, fail, patch.setattr)
            try:
                numbers(dataset)
            except OSError as error:
                failures += error.errno == number
        assert numbers(dataset) == [0, 1, 2]
        if step >= len(calls):
            break
    assert failures > 10


# -- damage -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path):
    name = str(tmp_path / "cache")
    list(Dataset.from_tensor_slices(([1.5, 2.5], [b"a", b"bc"])).cache(name))
    return name, tmp_path / "cache.index", next(tmp_path.glob("cache.data-*"))


def loop_over(name):
    """What a loop gives, or the error."""
    try:
        needs_values = Dataset.range(9).map(lambda x: (1.5, str(x.numpy())))
        return [(float(x), y.numpy()) for x, y in needs_values.cache(name)]
    except tf.errors.OpError as error:
        return error


@pytest.mark.parametrize("which", ["index", "data"])
def test_every_truncation_is_noticed(written, which):
    name, index, data = written
    file = index if which == "index" else data
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        error = loop_over(name)
        assert isinstance(error, tf.errors.DataLossError), length
        assert str(file) in str(error) and f"Delete {str(index)!r}" in str(error)
    file.write_bytes(whole + b"\0")
    assert isinstance(loop_over(name), tf.errors.DataLossError)


@pytest.mark.parametrize("which", ["index", "data"])
def test_every_flipped_bit_is_noticed_or_does_no_harm(written, which):
    name, index, data = written
    file = index if which == "index" else data
    whole = file.read_bytes()
    right = loop_over(name)
    start = 8 + int.from_bytes(whole[:8], "little")
    rng = random.Random(1)
    for place in range(len(whole)):
        for bit in range(8) if place < 8 or place >= start else (rng.randrange(8),):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            found = loop_over(name)
            assert isinstance(found, tf.errors.OpError) or found == right, (place, bit)
            assert isinstance(found, tf.errors.DataLossError) or place < start
            assert found == right or f"Delete {str(index)!r}" in str(found)


def test_deleting_the_index_as_the_error_says_makes_it_anew(written):
    name, index, data = written
    data.write_bytes(b"")
    assert isinstance(loop_over(name), tf.errors.DataLossError)
    index.unlink()
    assert numbers(Dataset.range(3).cache(name)) == [0, 1, 2]
    assert not data.exists(), "nobody needs it any more"


FOREIGN = {
    "text": b"just a text file",
    "nothing": b"",
    "pickle": b"\x80\x04cos\nsystem\n(S'echo'\ntR.",
    "zeros": bytes(100),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_refused(written, kind):
    name, index, _ = written
    index.write_bytes(FOREIGN[kind])
    assert isinstance(loop_over(name), tf.errors.DataLossError)


def test_files_of_another_kind_are_named_as_what_they_are(written, tmp_path):
    from safetensors.numpy import save_file

    name, index, data = written
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(str(tmp_path / "ckpt"))
    os.replace(path + ".safetensors", index)
    assert "is a checkpoint, and no cache" in str(loop_over(name))
    save_file({"v": np.zeros(2)}, index)
    assert "safetensors file, but no cache" in str(loop_over(name))
    index.write_bytes(data.read_bytes())
    assert "it is no index" in str(loop_over(name))
    os.replace(data, tmp_path / "ckpt.safetensors")
    with pytest.raises(tf.errors.InvalidArgumentError, match="is a cache, and no checkpoint"):
        tf.train.Checkpoint(v=tf.Variable(1.0)).restore(path)


def test_chunks_that_are_gone_or_another_caches_are_noticed(written, tmp_path):
    name, _, data = written
    list(Dataset.from_tensor_slices(([9.5, 8.5], [b"a", b"bc"])).cache(str(tmp_path / "other")))
    data.write_bytes(next(tmp_path.glob("other.data-*")).read_bytes())
    assert "is of another cache" in str(loop_over(name))
    data.unlink()
    assert "is gone" in str(loop_over(name))


OTHERS = {
    "another dtype": lambda: Dataset.from_tensor_slices(([1, 2], [b"a", b"b"])),
    "another structure": lambda: Dataset.from_tensor_slices([1.5, 2.5]),
    "other names": lambda: Dataset.from_tensor_slices({"a": [1.5], "b": [b"a"]}),
    "another shape": lambda: Dataset.from_tensor_slices(([[1.5]], [b"a"])),
    "one more": lambda: Dataset.from_tensor_slices(([1.5], [b"a"], [1])),
    "batches": lambda: Dataset.from_tensor_slices(([1.5, 2.5], [b"a", b"bc"])).batch(2),
    "generated": lambda: Dataset.from_generator(
        iter, output_signature=tf.TensorSpec((), "float32"), args=([],)
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_elements_of_another_kind_are_refused(written, kind):
    name, index, _ = written
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="delete it, or give cache another name"
    ) as caught:
        list(OTHERS[kind]().cache(name))
    assert str(index) in str(caught.value)


REFUSED = {
    "datasets": (lambda: Dataset.range(4).window(2), TypeError, "datasets, as window makes them"),
    "another structure": (lambda: mapped((1, 2), 3), ValueError, "structures differ"),
    "another dtype": (
        lambda: mapped(1, 2.0),
        tf.errors.InvalidArgumentError,
        "the first is int32, number 1 is float32",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_written_is_an_error(name, tmp_path, kind):
    make, error, message = REFUSED[kind]
    with pytest.raises(error, match=message):
        list(make().cache(name))
    assert files(tmp_path) == []


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))


def test_a_cache_leaves_those_with_longer_names_alone(tmp_path):
    for name in ("a.data-1", "a"):
        assert numbers(upstream(5).cache(str(tmp_path / name))) == list(range(5))
    assert numbers(upstream(5).cache(str(tmp_path / "a.data-1"))) == list(range(5))


# ---------------------------------------------------------------------------------------------------------------------
# save, load, snapshot


def as_lists(dataset):
    return [tf.nest.map_structure(lambda t: np.asarray(t).tolist(), element) for element in dataset]


SAVED = {
    "numbers": lambda: Dataset.range(5),
    "texts and pairs": lambda: Dataset.from_tensor_slices((["a", "bc", ""], {"x": [1.0, 2.0, 3.0]})),
    "several shapes": lambda: Dataset.range(1, 5).map(lambda n: tf.ones([n, 2])),
    "none": lambda: Dataset.range(0),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_dataset_is_loaded(name, tmp_path):
    dataset = SAVED[name]()
    dataset.save(str(tmp_path / "saved"))
    loaded = Dataset.load(str(tmp_path / "saved"))
    assert as_lists(loaded) == as_lists(dataset)
    assert loaded.cardinality() == len(as_lists(dataset))
    if as_lists(dataset):
        assert loaded.element_spec == dataset.element_spec
        assert as_lists(Dataset.load(tmp_path / "saved", dataset.element_spec)) == as_lists(dataset)


def test_saving_again_replaces_and_a_failure_does_not(tmp_path):
    Dataset.range(3).save(tmp_path)
    Dataset.range(5, 7).save(tmp_path)
    assert as_lists(Dataset.load(tmp_path)) == [5, 6]
    assert len(list(tmp_path.iterdir())) == 2  # the index and one chunk

    def failing(x):
        tf.debugging.assert_less(x, tf.constant(2, tf.int64))
        return x

    with pytest.raises(tf.errors.InvalidArgumentError):
        Dataset.range(4).map(failing).save(tmp_path)
    assert as_lists(Dataset.load(tmp_path)) == [5, 6]
    assert len(list(tmp_path.iterdir())) == 2


def test_parts_of_a_saved_dataset_are_read_as_asked(tmp_path):
    Dataset.range(7).save(tmp_path, shard_func=lambda x: x % 3)
    assert sorted(as_lists(Dataset.load(tmp_path))) == list(range(7))
    read = Dataset.load(tmp_path, reader_func=lambda parts: parts.flat_map(lambda part: part))
    assert as_lists(read) == [0, 3, 6, 1, 4, 2, 5]
    Dataset.from_tensor_slices(([1, 2], ["a", "b"])).save(
        tmp_path, shard_func=lambda n, text: tf.cast(n, tf.int64)
    )
    assert as_lists(Dataset.load(tmp_path)) == [(1, b"a"), (2, b"b")]


def test_elements_of_classes_need_their_spec(tmp_path):
    dataset = Dataset.from_tensors(Point(1, 2.0))
    dataset.save(tmp_path)
    with pytest.raises(tf.errors.InvalidArgumentError, match="give element_spec"):
        Dataset.load(tmp_path)
    (point,) = Dataset.load(tmp_path, dataset.element_spec)
    assert type(point) is Point


def test_what_cannot_be_loaded_says_why(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="no saved dataset"):
        Dataset.load(tmp_path)
    Dataset.range(3).save(tmp_path)
    with pytest.raises(tf.errors.InvalidArgumentError, match="and not such as"):
        Dataset.load(tmp_path, tf.TensorSpec([], tf.string))
    with pytest.raises(tf.errors.InvalidArgumentError, match="compression"):
        Dataset.load(tmp_path, compression="ZIP")
    with pytest.raises(TypeError, match="reader_func must return"):
        Dataset.load(tmp_path, reader_func=lambda parts: 3)
    (chunk,) = (path for path in tmp_path.iterdir() if path.suffix != ".index")
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"?")
    with pytest.raises(tf.errors.DataLossError):
        list(Dataset.load(tmp_path))
    (tmp_path / "dataset.index").write_bytes(b"nothing")
    with pytest.raises(tf.errors.DataLossError):
        Dataset.load(tmp_path)


def test_a_snapshot_is_written_by_the_first_loop(tmp_path):
    calls = Counted()
    dataset = upstream(4, calls).snapshot(str(tmp_path / "kept"))
    assert as_lists(dataset) == as_lists(dataset) == [0, 1, 2, 3]
    assert calls.calls == 4
    reading = upstream(4, calls).snapshot(
        str(tmp_path / "kept"), reader_func=lambda parts: parts.flat_map(lambda x: x)
    )
    assert as_lists(reading) == [0, 1, 2, 3]
    assert calls.calls == 4


def test_errors_are_ignored_where_elements_go_on(caplog):
    numbers = Dataset.from_tensor_slices(["1", "x", "3"]).map(lambda text: tf.strings.to_number(text))
    assert as_lists(numbers.ignore_errors()) == [1.0, 3.0]
    assert as_lists(numbers.apply(tf.data.experimental.ignore_errors(log_warning=True))) == [1.0, 3.0]
    assert "leaves out an element" in caplog.text
