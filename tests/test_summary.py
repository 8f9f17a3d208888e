"""tf.summary: event files as TensorFlow writes them, eager and compiled; the writer, the step, the condition."""

import base64
import gc
import glob
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape.files.events import event_message, read_events
from gradtape.summary.kinds import in_buckets

S = tf.summary
THEIRS = json.loads((Path(__file__).parent / "data" / "events.json").read_text())


@pytest.fixture
def folder(tmp_path):
    yield str(tmp_path / "deep" / "logs")
    S.create_noop_writer().set_as_default()
    S.experimental.set_step(None)


def events(folder):
    """All events of the only file in a folder, after the first."""
    (path,) = glob.glob(f"{folder}/*")
    return list(read_events(path))[1:]


def values(folder):
    """(tag, step, tensor) of each summary."""
    return [
        (value.tag, event.step, array(value.tensor))
        for event in events(folder)
        for value in event.summary.value
    ]


def array(tensor):
    from gradtape.files.encoding import message_array

    return message_array("test", tensor)


def plugin(folder, i=0):
    meta = events(folder)[i].summary.value[0].metadata
    return meta.plugin_data.plugin_name, meta.data_class, meta.plugin_data.content


# ---------------------------------------------------------------------------------------------------------------------
# Files


def test_the_events_are_tensorflows(folder):
    meta = event_message("SummaryMetadata")()
    meta.plugin_data.plugin_name, meta.plugin_data.content = "graph_keras_model", b"1"
    with S.create_file_writer(folder).as_default():
        S.scalar("loss", 0.5, step=3)
        with tf.name_scope("named"):
            S.scalar("loss", 2, step=4, description="the *loss*")
        S.histogram("weights", [1.0, 2.0, 5.0], step=1, buckets=2)
        S.text("notes", ["one", "two"], step=2)
        S.write("plain", np.arange(6).reshape(2, 3), step=5)
        S.write("raw", "{}", step=0, metadata=meta)
    for ours, theirs in zip(events(folder), THEIRS["events"][1:], strict=True):
        assert ours.wall_time > 1e9
        ours.wall_time = 0.0
        assert ours.SerializeToString(deterministic=True) == base64.b64decode(theirs)


def test_a_file_of_tensorflows_is_read(tmp_path):
    path = tmp_path / "events"
    path.write_bytes(base64.b64decode(THEIRS["file"]))
    first, *rest = tf.compat.v1.train.summary_iterator(str(path))
    assert (first.file_version, first.WhichOneof("what")) == ("brain.Event:2", "file_version")
    assert [event.summary.value[0].tag for event in rest][:2] == ["loss", "named/loss"]
    assert rest[0].summary.value[0].WhichOneof("value") == "tensor"


def test_the_file_has_tensorflows_name_and_first_event(folder):
    writer = S.create_file_writer(folder, filename_suffix=".end")
    (path,) = glob.glob(f"{folder}/events.out.tfevents.*.end")
    assert [event.file_version for event in read_events(path)] == ["brain.Event:2"]
    writer.close()
    assert tf.compat.v1.SummaryMetadata is event_message("SummaryMetadata")


def test_a_damaged_file_says_so(tmp_path):
    path = tmp_path / "events"
    with tf.io.TFRecordWriter(str(path)) as file:
        file.write(b"\xff\xff\xff")
    with pytest.raises(tf.errors.DataLossError, match="no Event"):
        list(read_events(str(path)))


def test_events_wait_in_the_queue(folder):
    writer = S.create_file_writer(folder, max_queue=2)
    writer.set_as_default()
    seen = []
    for step in range(4):
        S.scalar("a", 1.0, step=step)
        seen.append(len(events(folder)))
    assert seen == [0, 0, 3, 3]
    S.flush()
    assert len(events(folder)) == 4
    writer.close()


def test_nothing_is_held_back_for_long(folder):
    S.create_file_writer(folder, flush_millis=0).set_as_default()
    S.scalar("a", 1.0, step=0)
    assert len(events(folder)) == 1


def test_a_writer_that_is_dropped_closes_its_file(folder):
    with S.create_file_writer(folder).as_default():
        S.scalar("a", 1.0, step=0)
    gc.collect()
    assert len(events(folder)) == 1


def run(program):
    found = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    return found.returncode, found.stdout, found.stderr


def test_a_program_that_ends_leaves_all_its_events(folder):
    """Also: tensorboard is imported with the first writer, and imports no tensorflow."""
    code, out, errors = run(f"""
import sys
import gradtape as tf
tf.summary.scalar("loss", 1.0, step=0)  # no writer
print("tensorboard" in sys.modules)
tf.summary.create_file_writer({folder!r}).set_as_default()
tf.summary.scalar("loss", 1.0, step=1)
print("tensorboard" in sys.modules, "tensorflow" in sys.modules)
""")
    assert (code, out) == (0, "False\nTrue False\n"), errors
    assert [event.step for event in events(folder)] == [1]


def test_a_program_that_is_killed_leaves_what_was_flushed(folder):
    """Here under the name tensorflow, which tensorboard then takes for TensorFlow."""
    code, out, errors = run(f"""
import os, signal
import gradtape.compat
gradtape.compat.install()
import tensorflow as tf
tf.summary.create_file_writer({folder!r}).set_as_default()
tf.summary.scalar("loss", 1.0, step=1)
tf.summary.flush()
tf.summary.scalar("loss", 1.0, step=2)
from tensorboard.compat import tf as theirs
print(theirs.io.gfile.exists({folder!r}), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
""")
    assert (code, out) == (-9, "True\n"), errors
    assert [event.step for event in events(folder)] == [1]


def test_threads_share_a_writer(folder):
    writer = S.create_file_writer(folder)

    def work(i):
        with writer.as_default():
            for step in range(50):
                S.scalar(f"thread {i}", 1.0, step=step)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    found = [(tag, step) for tag, step, _ in values(folder)]
    assert sorted(found) == [(f"thread {i}", step) for i in range(4) for step in range(50)]


def test_several_writers_in_one_folder_have_files_of_their_own(folder):
    writers = [S.create_file_writer(folder) for _ in range(3)]
    for step, writer in enumerate(writers):
        with writer.as_default():
            S.scalar("a", 1.0, step=step)
    found = sorted(list(read_events(path))[1].step for path in glob.glob(f"{folder}/*"))
    assert found == [0, 1, 2]


def test_without_tensorboard_the_error_names_the_extra(folder, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for make in (lambda: S.create_file_writer(folder), lambda: event_message("Summary")):
        with pytest.raises(ImportError, match=r"gradtape\[tensorboard\]"):
            make()
    assert not Path(folder).exists()
    assert not S.scalar("a", 1.0, step=0)  # without a writer nothing is needed


# ---------------------------------------------------------------------------------------------------------------------
# Kinds


@pytest.mark.parametrize(
    ("data", "count", "rows"),
    [
        ([0.0, 1.0, 3.0, 4.0], 2, [[0, 2, 2], [2, 4, 2]]),
        ([1, 2, 3, 10], 3, [[1, 4, 3], [4, 7, 0], [7, 10, 1]]),
        ([2.0, 2.0], 3, [[2, 2, 0], [2, 2, 0], [2, 2, 2]]),
        ([], 2, [[0, 0, 0], [0, 0, 0]]),
        ([1.0], 0, np.zeros((0, 3))),
    ],
)
def test_histograms(folder, data, count, rows):
    np.testing.assert_array_equal(in_buckets(np.array(data), count), rows)
    with S.create_file_writer(folder).as_default():
        S.histogram("h", np.reshape(data, (-1, 1)), step=1, buckets=count)
    ((tag, step, written),) = values(folder)
    assert (tag, step, written.dtype) == ("h", 1, np.float64)
    np.testing.assert_array_equal(written, rows)
    assert plugin(folder) == ("histograms", 2, b"")


def test_histograms_have_30_buckets(folder):
    with S.create_file_writer(folder).as_default():
        S.histogram("h", tf.random.normal([1000]), step=1)
    written = values(folder)[0][2]
    assert written.shape == (30, 3)
    assert written[:, 2].sum() == 1000


@pytest.mark.parametrize("compiled", [False, True])
def test_images(folder, compiled):
    images = np.random.default_rng(0).integers(0, 256, (5, 3, 4, 3)).astype(np.uint8)
    draw = lambda x: S.image("im", x, step=1, max_outputs=2)
    with S.create_file_writer(folder).as_default():
        (tf.function(draw) if compiled else draw)(tf.constant(images))
        S.image("float", np.array([[[[-1.0], [0.5], [2.0]]]]), step=2)
    written = values(folder)
    assert written[0][2][:2].tolist() == [b"4", b"3"]
    assert len(written[0][2]) == 4
    for i in range(2):
        np.testing.assert_array_equal(tf.io.decode_png(written[0][2][2 + i]).numpy(), images[i])
    assert tf.io.decode_png(written[1][2][2]).numpy().reshape(-1).tolist() == [0, 127, 255]
    assert plugin(folder) == ("images", 3, b"")


def test_sounds(folder):
    sounds = np.linspace(-1, 1, 40, dtype=np.float32).reshape(2, 20, 1)
    with S.create_file_writer(folder).as_default():
        S.audio("speech", sounds, 8000, step=1, max_outputs=1)
    written = values(folder)[0][2]
    assert written.shape == (1, 2)
    heard, rate = tf.audio.decode_wav(written[0, 0])
    assert (int(rate), written[0, 1]) == (8000, b"")
    np.testing.assert_allclose(heard.numpy(), sounds[0], atol=1e-4)
    assert plugin(folder) == ("audio", 0, b"\x10\x0b")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: S.scalar("a", [1.0, 2.0], step=1), ValueError),
        (lambda: S.scalar("a", "text", step=1), TypeError),
        (lambda: S.scalar("a", 1.0, step=2.5), TypeError),
        (lambda: S.scalar("a", 1.0, step=[1, 2]), ValueError),
        (lambda: S.scalar("a", 1.0), ValueError),
        (lambda: S.scalar(3, 1.0, step=1), TypeError),
        (lambda: S.text("a", 1.0, step=1), TypeError),
        (lambda: S.image("a", np.zeros((3, 4, 1)), step=1), ValueError),
        (lambda: S.image("a", np.zeros((1, 3, 4, 5)), step=1), ValueError),
        (lambda: S.image("a", np.zeros((1, 3, 4, 1)), step=1, max_outputs=-1), ValueError),
        (lambda: S.audio("a", np.zeros((10, 1), np.float32), 8000, step=1), ValueError),
        (lambda: S.audio("a", np.zeros((1, 10, 1), np.float32), 8000, step=1, encoding="mp3"), ValueError),
        (lambda: S.write("a", 1.0, step=1, metadata=3), TypeError),
        (lambda: S.write(None, 1.0, step=1), TypeError),
        (lambda: S.graph(3), ValueError),
    ],
)
def test_what_is_refused(folder, call, error):
    with S.create_file_writer(folder).as_default(), pytest.raises(error, match=r"summar|record"):
        call()
    assert events(folder) == []


# ---------------------------------------------------------------------------------------------------------------------
# The writer, the step, the condition


def test_without_a_writer_nothing_is_recorded():
    assert not S.should_record_summaries()
    assert not S.scalar("a", 1.0)
    assert not S.write("a", object)
    with S.create_noop_writer().as_default():
        assert not S.should_record_summaries()
        assert not S.scalar("a", 1.0)


def test_the_step(folder):
    step = tf.Variable(10, dtype=tf.int64)
    with S.create_file_writer(folder).as_default(step=9):
        assert S.experimental.get_step() == 9
        S.scalar("a", 1.0)
        S.experimental.set_step(step)
        S.scalar("a", 1.0)
        step.assign_add(1)
        S.scalar("a", 1.0)
        S.scalar("a", 1.0, step=tf.constant(-2))
    assert S.experimental.get_step() is None
    assert [step for _, step, _ in values(folder)] == [9, 10, 11, -2]


def test_conditions(folder):
    with S.create_file_writer(folder).as_default(step=0):
        with S.record_if(False):
            assert not S.scalar("no", 1.0)
            assert not S.scalar("no step", 1.0, step=None)
            with S.record_if(lambda: True):
                assert S.scalar("yes", 1.0)
        with S.record_if(tf.constant(False)):
            assert not S.scalar("no", 1.0)
        assert S.scalar("yes", 2.0)
    assert [float(x) for _, _, x in values(folder)] == [1.0, 2.0]


def test_a_function_makes_what_is_written_only_if_it_is(folder):
    calls = []
    make = lambda: calls.append(1) or 5
    S.write("a", make, step=0)
    with S.create_file_writer(folder).as_default():
        S.write("a", make, step=0)
    assert len(calls) == 1
    assert int(values(folder)[0][2]) == 5


def test_a_closed_writer(folder):
    writer = S.create_file_writer(folder)
    writer.init()
    writer.close()
    writer.close()
    writer.flush()
    for use in (writer.init, writer.set_as_default, lambda: writer.as_default().__enter__()):
        with pytest.raises(RuntimeError, match="closed"):
            use()


def test_writers_nest_and_belong_to_a_thread(tmp_path):
    outer, inner = str(tmp_path / "outer"), str(tmp_path / "inner")
    seen = []
    with S.create_file_writer(outer).as_default(step=1):
        with S.create_file_writer(inner).as_default(step=2) as writer:
            assert isinstance(writer, S.SummaryWriter)
            S.scalar("in", 1.0)
        S.scalar("out", 1.0)
        thread = threading.Thread(target=lambda: seen.append(bool(S.should_record_summaries())))
        thread.start()
        thread.join()
    assert values(inner)[0][:2] == ("in", 2)
    assert values(outer)[0][:2] == ("out", 1)
    assert seen == [False]


def test_scopes_and_raw_messages(folder):
    with tf.name_scope("o"), S.experimental.summary_scope("a b/c") as (tag, scope):
        assert (tag, scope, tf.get_current_name_scope()) == ("o/a b/c", "o/ab/c/", "o/ab/c")
    with S.experimental.summary_scope("") as (tag, scope):
        assert (tag, scope) == ("summary", "summary/")
    raw = event_message("Summary")()
    raw.value.add(tag="raw", simple_value=2.0)
    with S.create_file_writer(folder).as_default():
        assert S.experimental.write_raw_pb(raw.SerializeToString(), step=3)
        assert S.graph(b"")
    written = events(folder)
    assert (written[0].step, written[0].summary.value[0].simple_value) == (3, 2.0)
    assert written[1].WhichOneof("what") == "graph_def"


@pytest.mark.parametrize(
    "arguments", [{"logdir": None}, {"logdir": 3}, {"logdir": "x", "filename_suffix": 3}]
)
def test_no_writer(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError)):
        S.create_file_writer(**arguments)


# ---------------------------------------------------------------------------------------------------------------------
# In a @function


def test_a_compiled_function_writes_in_each_run(folder):
    traced = []

    @tf.function
    def step(x, i):
        traced.append(1)
        S.scalar("x", x, step=i)
        S.histogram("h", x * [1.0, 2.0], step=i, buckets=2)
        S.text("t", "always", step=i)
        return x * 2

    with S.create_file_writer(folder).as_default():
        for i in range(3):
            assert float(step(tf.constant(float(i)), tf.constant(i, tf.int64))) == 2.0 * i
    assert len(traced) == 1
    written = values(folder)
    assert [(tag, step) for tag, step, _ in written] == [(tag, i) for i in range(3) for tag in "xht"]
    assert [float(x) for tag, _, x in written if tag == "x"] == [0.0, 1.0, 2.0]
    assert written[4][2].tolist() == [[1.0, 1.5, 1.0], [1.5, 2.0, 1.0]]


def test_a_variable_as_the_step_and_a_traced_condition(folder):
    step = tf.Variable(0, dtype=tf.int64)
    S.experimental.set_step(step)

    @tf.function
    def train(x):
        with S.record_if(tf.equal(step % 2, 0)):
            S.scalar("x", x)
        step.assign_add(1)

    with S.create_file_writer(folder).as_default():
        for i in range(5):
            train(tf.constant(float(i)))
    assert [(step, float(x)) for _, step, x in values(folder)] == [(0, 0.0), (2, 2.0), (4, 4.0)]


def test_the_writer_is_that_of_the_trace(folder):
    @tf.function
    def f(x):
        return S.scalar("x", x, step=0)

    assert not f(tf.constant(1.0))
    with S.create_file_writer(folder).as_default():
        assert not f(tf.constant(1.0))  # traced without a writer, as in TensorFlow
        assert f(2.0)
    assert [float(x) for *_, x in values(folder)] == [2.0]


def test_summaries_do_not_disturb_gradients(folder):
    @tf.function
    def loss(x):
        y = tf.reduce_sum(x * x)
        S.scalar("y", y, step=0)
        return y

    x = tf.Variable([1.0, 2.0])
    with S.create_file_writer(folder).as_default(), tf.GradientTape() as tape:
        y = loss(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), [2.0, 4.0])
    assert [float(y) for *_, y in values(folder)] == [5.0]


# ---------------------------------------------------------------------------------------------------------------------
# Traces and profiles


def test_a_trace_is_exported_once(folder):
    S.trace_off()
    with pytest.raises(ValueError, match="trace_on"):
        S.trace_export("x", step=1)
    S.trace_on()
    with S.create_file_writer(folder).as_default():
        S.trace_export("x", step=1)
    S.trace_off()
    assert values(folder)[0][:2] == ("x", 1)
    assert plugin(folder)[0] == "graph_run_metadata_graph"
    with pytest.raises(ValueError, match="profiler_outdir"):
        S.trace_on(profiler=True)


def test_profiles(tmp_path):
    profiler = tf.profiler.experimental
    with pytest.raises(tf.errors.UnavailableError, match="start"):
        profiler.stop()
    profiler.start(str(tmp_path / "a"))
    with pytest.raises(tf.errors.AlreadyExistsError, match="running"):
        profiler.start(str(tmp_path / "a"))
    with profiler.Trace("step", step_num=1, _r=1) as trace:
        tf.function(lambda x: x + 1)(tf.constant(1.0))
        trace.set_metadata(a=1)
    profiler.stop(save=False)
    assert not (tmp_path / "a").exists()
    with profiler.Profile(tmp_path / "b"):
        tf.function(lambda x: x + 1)(tf.constant(1.0))
    assert list((tmp_path / "b").rglob("*.xplane.pb"))


def test_what_the_library_was_built_for():
    assert tf.sysconfig.get_build_info() == dict.fromkeys(
        ["is_cuda_build", "is_rocm_build", "is_tensorrt_build"], False
    )
    assert Path(tf.sysconfig.get_lib(), "__init__.py").exists()


def test_kinds_of_functions():
    types = tf.types.experimental
    f = tf.function(lambda x: x)
    concrete = f.get_concrete_function(tf.constant(1.0))
    assert isinstance(f, types.GenericFunction)
    assert isinstance(f, types.PolymorphicFunction)
    assert isinstance(concrete, types.ConcreteFunction)
    assert isinstance(f, types.Callable)
    assert isinstance(concrete, types.Callable)
    assert not isinstance(len, types.Callable)


# ---------------------------------------------------------------------------------------------------------------------
# Graphs, and what TensorBoard itself reads


def test_a_trace_has_the_graphs_of_the_functions_that_were_called(folder):
    w = tf.Variable([1.0, 2.0], name="w")

    @tf.function
    def loss(x):
        return tf.reduce_sum(tf.exp(w * x))

    @tf.function
    def other(x):
        return x + 1.0

    loss(tf.constant([1.0, 1.0]))  # compiled before the trace; `other` is not called during it
    other(tf.constant(1.0))
    with S.create_file_writer(folder).as_default():
        S.trace_on(graph=True)
        loss(tf.constant([1.0, 1.0]))
        S.trace_export("step", step=0)
    (event,) = events(folder)
    (value,) = event.summary.value
    run = event_message("RunMetadata").FromString(value.tensor.string_val[0])
    (graph,) = (one.pre_optimization_graph for one in run.function_graphs)
    assert {"Placeholder", "ReadVariableOp", "Mul", "Exp", "Sum", "Identity"} <= {
        node.op for node in graph.node
    }
    (mul,) = (node for node in graph.node if node.op == "Mul")
    assert [d.size for d in mul.attr["_output_shapes"].list.shape[0].dim] == [2]
    assert set(mul.input) <= {node.name for node in graph.node}
    loss(tf.constant([1.0, 1.0]))  # noted no longer
    with pytest.raises(ValueError, match="trace_on"):
        S.trace_export("step", step=1)


def test_the_graph_of_a_concrete_function_is_written(folder):
    graph = tf.function(lambda x: tf.tanh(x)).get_concrete_function(tf.TensorSpec([2])).graph
    with S.create_file_writer(folder).as_default():
        assert S.graph(graph)
    (event,) = events(folder)
    assert [node.op for node in event_message("GraphDef").FromString(event.graph_def).node] == [
        "Placeholder",
        "Tanh",
        "Identity",
    ]


def test_tensorboard_reads_every_kind(folder):
    """By the library that its pages are made from."""
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    tensor_util = pytest.importorskip("tensorboard.util.tensor_util")

    @tf.function
    def step(n):
        loss = 1.0 / tf.cast(n + 1, tf.float32)
        S.scalar("loss", loss, step=n)
        S.histogram("weights", [loss, 2.0 * loss], step=n)
        return loss

    with S.create_file_writer(folder).as_default():
        S.trace_on(graph=True)
        for n in range(3):
            step(tf.constant(n, tf.int64))
        S.trace_export("step", step=0)
        S.image("picture", np.zeros((1, 4, 5, 3), np.float32), step=0)
        S.text("note", "**bold**", step=0)
        S.audio("tone", np.zeros((1, 8, 1), np.float32), 8000, step=0)
    read = accumulators.EventAccumulator(folder).Reload()
    assert set(read.Tags()["tensors"]) == {"loss", "weights", "picture", "note", "tone", "step"}
    losses = [(e.step, float(tensor_util.make_ndarray(e.tensor_proto))) for e in read.Tensors("loss")]
    assert losses == [(0, 1.0), (1, 0.5), (2, pytest.approx(1 / 3))]
    assert tensor_util.make_ndarray(read.Tensors("weights")[0].tensor_proto).shape[1] == 3
    width, height, png = tensor_util.make_ndarray(read.Tensors("picture")[0].tensor_proto).tolist()
    assert (width, height, tf.io.decode_png(png).shape) == (b"5", b"4", (4, 5, 3))
    assert tensor_util.make_ndarray(read.Tensors("note")[0].tensor_proto).item() == b"**bold**"
    pages = pytest.importorskip("tensorboard.backend.event_processing.plugin_event_accumulator")
    (sounds,) = pages.EventAccumulator(folder).Reload().Tensors("tone")
    assert tensor_util.make_ndarray(sounds.tensor_proto).shape == (1,)  # without the labels
    run = pytest.importorskip("tensorboard.compat.proto.config_pb2").RunMetadata.FromString(
        tensor_util.make_ndarray(read.Tensors("step")[0].tensor_proto).item()
    )
    (graph,) = (one.pre_optimization_graph for one in run.function_graphs)
    assert any(node.op == "RealDiv" for node in graph.node)
    plugin = read.SummaryMetadata("loss").plugin_data.plugin_name
    assert plugin == "scalars"
