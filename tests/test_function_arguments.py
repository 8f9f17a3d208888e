"""Variables and strings as arguments of compiled functions: traced once for those that are alike, as in TensorFlow.

How often each kind of argument is traced was taken from TensorFlow 2.21.
"""

import dataclasses
import enum
import gc
import sys
import threading
import weakref
from collections import namedtuple

import numpy as np
import pytest

import gradtape as tf

pytest.importorskip("jax")

Spec = tf.TensorSpec
a, b, c = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0)
text = tf.constant
Pair = namedtuple("Pair", "number tensor")


def traces(function):
    return function.experimental_get_tracing_count()


# ---------------------------------------------------------------------------------------------------------------------
# How often


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True)
class Setting:
    size: int


class Thing:
    pass


COUNTS = {  # arguments, and how many traces there are after each call
    "variables": ([a, b, c], [1, 1, 1]),
    "trainable or not": ([a, tf.Variable(1.0, trainable=False)], [1, 2]),
    "shapes of variables": ([a, tf.Variable([1.0])], [1, 2]),
    "dtypes of variables": ([a, tf.Variable(1)], [1, 2]),
    "a variable, a tensor": ([a, tf.constant(1.0)], [1, 2]),
    "lists of variables": ([[a, b], [b, a], [c, b]], [1, 1, 1]),
    "the same twice": ([[a, a], [a, b], [b, b]], [1, 2, 2]),
    "dicts of variables": ([{"x": a}, {"x": b}, {"y": b}], [1, 1, 2]),
    "strings": (["a", "b", "a"], [1, 2, 2]),
    "bytes": ([b"a", b"b"], [1, 2]),
    "NumPy's strings": ([np.str_("a"), np.str_("b")], [1, 2]),
    "tensors of strings": ([text("a"), text("b"), text("c")], [1, 1, 1]),
    "shapes of strings": ([text(["a"]), text(["b"]), text(["a", "b"])], [1, 1, 2]),
    "arrays of strings": ([np.array(["a"]), np.array(["b"])], [1, 1]),
    "nested strings": ([{"s": text("a")}, {"s": text("b")}], [1, 1]),
    "NumPy arrays": ([np.ones(3), np.zeros(3)], [1, 1]),
    "NumPy scalars": ([np.float32(1), np.float32(2)], [1, 1]),
    "None": ([None, None, a], [1, 1, 2]),
    "enums": ([Colour.RED, Colour.BLUE, Colour.RED], [1, 2, 2]),
    "objects": ([Thing(), Thing()], [1, 2]),
    "modules": ([tf.Module(), tf.Module()], [1, 2]),
    "numbers in lists": ([[1, 2], [1, 2], [1, 3]], [1, 1, 2]),
    "equal dataclasses": ([Setting(1), Setting(1), Setting(2)], [1, 1, 2]),
    "named tuples": ([Pair(1, a), Pair(1, b), Pair(2, b)], [1, 1, 2]),
    "functions": ([len, max, len], [1, 2, 2]),
}


@pytest.mark.parametrize("name", COUNTS)
def test_arguments_are_traced_as_often_as_in_tensorflow(name):
    arguments, expected = COUNTS[name]
    runs = []
    function = tf.function(lambda x: runs.append(x))
    found = []
    for argument in arguments:
        function(argument)
        found.append(traces(function))
    assert found == expected
    assert len(runs) == expected[-1]


# ---------------------------------------------------------------------------------------------------------------------
# Any variable that is like the first

captured = tf.Variable(10.0)


def read(v, w):
    return v * v * w


def write(v, w):
    v.assign_add(w * 2.0)
    return v * w


def write_both(v, w):
    v.assign_add(1.0)
    w.assign_add(10.0)
    return v + w


def overwrite(v, w):
    v.assign(5.0)
    return w * 2.0


def beside_another(v, w):
    captured.assign_add(0.5)
    return v * captured + w


def step(v, w):
    with tf.GradientTape() as tape:
        loss = (v * w) ** 3
    gradient = tape.gradient(loss, v)
    v.assign_sub(0.1 * gradient)
    return gradient


def choose(v, w):
    if w > 2.5:
        v.assign_add(w)
        result = v * v
    else:
        result = v * w
    return result


def repeat(v, w):
    for _ in tf.range(3):
        v.assign_add(w)
    return v * w


def inner_functions(v, w):
    twice = tf.function(lambda u: u.assign_add(1.0) * 2.0)
    return twice(v) + twice(w)


def every_way_to_read(v, w):
    return tf.convert_to_tensor(v) + tf.identity(w) + v.value() + w.read_value() + tf.reduce_sum([v, w])


def returned(v, w):
    return v.assign_add(w)


PROGRAMS = [
    read,
    write,
    write_both,
    overwrite,
    beside_another,
    step,
    choose,
    repeat,
    inner_functions,
    every_way_to_read,
    returned,
]


def outcome(function, pairs):
    """What calls for pairs of variables, by their names, give and leave behind, with and without a tape."""
    captured.assign(10.0)
    named = {name: tf.Variable(float(i + 2)) for i, name in enumerate("vwxy")}
    found = []
    for pair in pairs:
        first, second = (named[name] for name in pair)
        found.append(float(function(first, second)))
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                result = function(first, second)
            gradients = tape.gradient(result, [*named.values(), captured], unconnected_gradients="zero")
            total = sum(gradients)
        found += [float(result), *map(float, gradients)]
        found += map(float, outer.gradient(total, list(named.values()), unconnected_gradients="zero"))
        found += [float(v) for v in (*named.values(), captured)]
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_one_program_serves_all_variables_that_are_alike(program):
    compiled = tf.function(program)
    pairs = ["vw", "xy", "wv", "vw"]
    np.testing.assert_allclose(outcome(compiled, pairs), outcome(program, pairs), rtol=1e-5)
    assert traces(compiled) == 1


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_variable_given_twice_is_one(program):
    compiled = tf.function(program)
    pairs = ["vv", "xy", "ww", "xx"]
    np.testing.assert_allclose(outcome(compiled, pairs), outcome(program, pairs), rtol=1e-5)
    assert traces(compiled) == 2


@pytest.mark.parametrize("first", ["the captured one", "another"])
def test_a_variable_that_the_function_also_knows_by_another_name_is_one(first):
    known = tf.Variable(2.0)

    def both(v):
        v.assign_add(1.0)
        return v * known

    def results(function):
        known.assign(2.0)
        other = tf.Variable(5.0)
        order = (known, other) if first == "the captured one" else (other, known)
        found = []
        for v in (*order, *order):
            with tf.GradientTape() as tape:
                y = function(v)
            found += [float(y), float(tape.gradient(y, v)), float(v), float(known)]
        return found

    assert results(tf.function(both)) == results(both)


def test_jacobians_tangents_and_slices_of_arguments():
    rows = tf.function(lambda v: tf.gather(v * v, [0, 0]))
    for v in (tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])):
        with tf.GradientTape() as tape:
            y = rows(v)
        expected = 2.0 * v.numpy()[0]
        np.testing.assert_allclose(tape.jacobian(y, v), [[expected, 0.0], [expected, 0.0]])
        with tf.autodiff.ForwardAccumulator(v, tf.constant([1.0, 0.0])) as accumulator:
            y = rows(v)
        np.testing.assert_allclose(accumulator.jvp(y), [expected, expected])
    assert traces(rows) == 1


def test_tapes_watch_the_variable_that_was_given():
    square = tf.function(lambda v: v * v)
    for v in (tf.Variable(1.0), tf.Variable(2.0)):
        with tf.GradientTape() as tape:
            square(v)
        assert [u.ref() for u in tape.watched_variables()] == [v.ref()]


def test_optimizers_keep_state_for_each_variable_that_is_given():
    def trained(compile):
        optimizer = tf.optimizers.SGD(0.1, momentum=0.9)

        @compile
        def step(v, x):
            with tf.GradientTape() as tape:
                loss = (v - x) ** 2
            optimizer.apply_gradients([(tape.gradient(loss, v), v)])

        variables = tf.Variable(1.0), tf.Variable(5.0)
        optimizer.build(variables)
        for _ in range(3):
            for v in variables:
                step(v, tf.constant(2.0))
        return [float(v) for v in (*variables, *optimizer.variables)]

    np.testing.assert_allclose(trained(tf.function), trained(lambda f: f), rtol=1e-6)


def test_names_and_references_are_those_of_the_variable_that_was_given():
    named = tf.function(lambda v, x: x if v.name.startswith("first") else -x)
    kept = {}
    referred = tf.function(lambda v, x: x * kept[v.ref()])
    one, two = tf.Variable(1.0, name="first"), tf.Variable(1.0, name="second")
    kept = {one.ref(): 10.0, two.ref(): 20.0}
    x = tf.constant(1.0)
    assert [float(named(v, x)) for v in (one, two, one)] == [1.0, -1.0, 1.0]
    assert [float(referred(v, x)) for v in (one, two, one)] == [10.0, 20.0, 10.0]


def test_what_a_variable_is_can_be_asked_of_an_argument():
    seen = []
    function = tf.function(
        lambda v: seen.append((isinstance(v, tf.Variable), v.shape, v.dtype, v.ndim, v.trainable, len(v)))
    )
    function(tf.Variable([1, 2], trainable=False))
    assert seen == [(True, (2,), tf.int32, 1, False, 2)]


def test_an_argument_that_left_its_function_has_no_value():
    kept = []
    tf.function(lambda v: kept.append(v))(a)
    with pytest.raises(tf.errors.InaccessibleTensorError):
        kept[0] + 1.0


def test_variables_of_open_shapes_as_arguments():
    double = tf.function(lambda v: v.assign(tf.concat([v, v], 0)))
    one, two = tf.Variable([1.0], shape=(None,)), tf.Variable([2.0, 3.0], shape=(None,))
    for v in (one, two, one):
        double(v)
    assert one.numpy().tolist() == [1.0] * 4
    assert two.numpy().tolist() == [2.0, 3.0] * 2


def test_a_concrete_function_takes_other_variables():
    concrete = tf.function(lambda v, x: v.assign_add(x)).get_concrete_function(a, Spec(()))
    one, two = tf.Variable(1.0), tf.Variable(2.0)
    assert float(concrete(one, tf.constant(5.0))) == 6.0
    assert float(concrete(two, tf.constant(5.0))) == 7.0
    assert (float(one), float(two)) == (6.0, 7.0)
    with pytest.raises(TypeError, match="must be as it was"):
        concrete(tf.Variable([1.0]), tf.constant(1.0))


# -- memory -----------------------------------------------------------------------------------------------------------


def pointer(variable):
    return variable._tensor._device.unsafe_buffer_pointer()


@pytest.mark.usefixtures("compiled_code")
def test_arguments_are_written_in_place():
    add = tf.function(lambda v, x: [v.assign_add(x)][1:])
    variables = [tf.Variable(np.zeros(1 << 12, np.float32)) for _ in range(2)]
    ones = tf.ones(1 << 12)
    for v in variables:
        add(v, ones)
    before = [pointer(v) for v in variables]
    for _ in range(3):
        for v in variables:
            add(v, ones)
    assert [pointer(v) for v in variables] == before
    assert [v.numpy()[0] for v in variables] == [4.0, 4.0]


def test_what_was_taken_from_an_argument_keeps_its_value():
    add = tf.function(lambda v, x: v.assign_add(x))
    v = tf.Variable([1.0, 2.0])
    x = tf.constant([1.0, 1.0])
    taken = [v.value(), v.numpy(), add(v, x), v.value(), add(v, v.value()), add(v, x)]
    assert [np.asarray(t)[0] for t in taken] == [1.0, 1.0, 2.0, 2.0, 4.0, 5.0]
    with tf.GradientTape() as tape:
        y = v * v
        add(v, x)
    assert tape.gradient(y, v).numpy()[0] == 10.0


def test_a_function_keeps_no_variable_alive():
    add = tf.function(lambda v: v.assign_add(1.0) * 2.0)
    v = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = add(v)
    tape.gradient(y, v)
    gone = weakref.ref(v)
    del v, tape, y
    gc.collect()
    assert gone() is None
    other = tf.Variable(5.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = add(other) * other
        g = tape.gradient(y, other)
    assert (float(y), float(g)) == (72.0, 24.0)
    assert float(outer.gradient(g, other)) == 4.0
    assert traces(add) == 1


def test_threads_may_give_variables_of_their_own():
    @tf.function
    def add(v, x):
        v.assign_add(x)
        return v * 1.0

    errors = []

    def run(i):
        try:
            v = tf.Variable(np.zeros(100, np.float32))
            for n in range(30):
                x = tf.fill([100], float(i))
                if n % 2:
                    with tf.GradientTape() as tape:
                        y = add(v, x)
                    assert tape.gradient(y, v).numpy()[0] == 1.0
                else:
                    y = add(v, x)
                assert (y.numpy() == i * (n + 1)).all() and (v.numpy() == i * (n + 1)).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
    assert traces(add) == 1


# ---------------------------------------------------------------------------------------------------------------------
# Strings


def test_a_function_that_looks_at_a_string_is_traced_for_it():
    runs = []

    @tf.function
    def join(s, x):
        runs.append(1)
        return s + "!", x * 2.0

    for s in ("a", "b", "a"):
        joined, doubled = join(text(s), text(1.0))
        assert joined.numpy() == s.encode() + b"!" and float(doubled) == 2.0
    assert traces(join) == len(runs) == 2


def test_a_function_that_looks_at_a_string_under_a_tape_alone():
    """The first trace did not look, and the one for the gradient does."""
    look = False

    @tf.function
    def square(s, v):
        return (s + "!" if look else None), v * v

    v = tf.Variable(3.0)
    square(text("a"), v)
    look = True
    for s in ("a", "b"):
        with tf.GradientTape() as tape:
            joined, y = square(text(s), v)
        assert float(tape.gradient(y, v)) == 6.0 and joined.numpy() == s.encode() + b"!"


def test_strings_are_printed_when_the_function_runs(capsys):
    @tf.function
    def show(s, x):
        tf.print(s, x, output_stream=sys.stdout)
        return x

    for s in ("a", "b", "b"):
        show(text(s), text(1.0))
    assert capsys.readouterr().out == "a 1\nb 1\nb 1\n"


@pytest.mark.parametrize("reduce_retracing", [False, True])
def test_tuples_of_tensors_are_told_apart_by_where_the_tensors_stand(reduce_retracing):
    calls = {
        (2, 0): lambda x, y: ((x, y), x),
        (1, 2): lambda x, y: ((x,), (y, x)),
        (0, 3): lambda x, y: (x, (y, x, y)),
        (0, 0): lambda x, y: (x, y),
    }

    @tf.function(reduce_retracing=reduce_retracing)
    def described(*args):
        first = args[0][0] if isinstance(args[0], tuple) else args[0]
        return first + sum(10.0**i * (len(a) if isinstance(a, tuple) else 0) for i, a in enumerate(args))

    for _ in range(4):  # from the second time on by the shortcut
        for counts, make in calls.items():
            x, y = tf.constant(1.0), tf.constant(2.0)
            assert float(described(*make(x, y))) == 1.0 + counts[0] + 10.0 * counts[1]
    assert described.experimental_get_tracing_count() == len(calls)


# ---------------------------------------------------------------------------------------------------------------------
# Tensors that come once, and those that stay


@pytest.fixture
def puts(monkeypatch):
    """The arrays that are put on the device before a call."""
    from gradtape.compiled import buffers

    put, seen = buffers._put, []
    monkeypatch.setattr(buffers, "_put", lambda array: (seen.append(array), put(array))[1])
    return seen


def test_a_tensor_is_put_on_the_device_when_it_comes_again(puts):
    double = tf.function(lambda x: 2 * x)
    for i in range(4):
        assert double(tf.constant([1, i])).numpy().tolist() == [2, 2 * i]
    assert not puts
    x = tf.constant([5, 6])
    for _ in range(4):
        assert double(x).numpy().tolist() == [10, 12]
    assert len(puts) == 1
    with tf.GradientTape() as tape:
        tape.watch(y := tf.constant(3.0))
        z = double(y)
    assert float(tape.gradient(z, y)) == 2


@pytest.mark.parametrize(
    "array",
    [
        np.float64(1) / 3 * np.arange(4),
        np.arange(2**40, 2**40 + 4),
        np.arange(12.0, dtype="float32").reshape(3, 4).T[::2],
        np.arange(4) > 1,
        np.float16(1.5),
        np.zeros((0, 3), "complex64"),
        np.arange(4, dtype="uint8"),
    ],
    ids=lambda array: f"{array.dtype}{list(np.shape(array))}",
)
def test_arrays_of_every_kind_come_through_unchanged(array):
    same = tf.function(lambda batch: batch[0] if array.dtype == bool else batch[0] + 0)
    for _ in range(2):
        x = tf.constant(array)
        for _ in range(3):
            result = same((x,))
            assert result.dtype is x.dtype
            assert np.array_equal(result.numpy(), array)


def test_a_variable_changed_after_a_call_does_not_change_its_result():
    v = tf.Variable(tf.zeros([1 << 20]))
    total = tf.function(lambda x: tf.reduce_sum(tf.sin(x) + 1))
    found = [total(v.value()), total(v.read_value()), total(tf.convert_to_tensor(v))]
    for _ in range(3):
        v.assign_add(tf.ones([1 << 20]))
    assert [float(x) for x in found] == [1 << 20] * 3


def test_each_call_returns_structures_of_its_own():
    f = tf.function(lambda x: {"z": x, "a": [x + 1, (x + 2,)], "m": None})
    first, second = f(tf.constant(1)), f(tf.constant(2))
    assert list(first) == list(second) == ["z", "a", "m"]
    assert first["a"] is not second["a"]
    assert [int(second["z"]), int(second["a"][0]), int(second["a"][1][0])] == [2, 3, 4]
    assert second["m"] is None
