"""Choosing, looping, mapping, TensorArray, Python functions as operations, printing, scopes, specs."""

import collections
import logging
import pickle
import re
import sys

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import errors

c = tf.constant
Pair = collections.namedtuple("Pair", "a b")


def plain(result):
    if isinstance(result, dict):
        return {key: plain(value) for key, value in result.items()}
    return (
        type(result)(map(plain, result)) if isinstance(result, (list, tuple)) else np.asarray(result).tolist()
    )


def array(**options):
    return tf.TensorArray(tf.float32, **options)


def count(n, **options):
    return tf.while_loop(lambda i: i < n, lambda i: [i + 1], [c(0)], **options)


def nested(i, d):
    return i + 1, {"a": d["a"] * 2.0, "b": (d["b"][0] + 1.0,)}


VALUES = {
    "cond": (lambda: tf.cond(c(True), lambda: c(1), lambda: 1 / 0), 1),
    "cond, a structure": (lambda: tf.cond(False, lambda: 1 / 0, lambda: {"a": [c(2)]}), {"a": [2]}),
    "case": (lambda: tf.case([(c(False), lambda: c(1)), (c(True), lambda: c(2))]), 2),
    "case, a single result": (lambda: tf.case([(c(True), lambda: [c(2)])]), 2),
    "case, strict": (lambda: tf.case([(c(True), lambda: [c(2)])], strict=True), [2]),
    "case, default": (lambda: tf.case([(c(False), lambda: c(1))], default=lambda: c(5)), 5),
    "case, dict": (lambda: tf.case({True: lambda: c(1), False: lambda: c(2)}, exclusive=True), 1),
    "switch_case": (lambda: tf.switch_case(c(1), [lambda: c(1), lambda: c(2)]), 2),
    "switch_case, the last": (lambda: tf.switch_case(c(-7), [lambda: c(1), lambda: c(2)]), 2),
    "switch_case, default": (lambda: tf.switch_case(c(7), {0: lambda: c(1)}, default=lambda: c(9)), 9),
    "switch_case, numbered": (lambda: tf.switch_case(c(0), [(1, lambda: c(1)), (0, lambda: c(2))]), 2),
    "while_loop": (
        lambda: tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), (c(0), c(0))),
        (4, 6),
    ),
    "while_loop, not entered": (lambda: count(-1), [0]),
    "while_loop, stopped": (lambda: count(9, maximum_iterations=c(2)), [2]),
    "while_loop, a bare value": (lambda: tf.while_loop(lambda i: i < 4, lambda i: i + 1, [0]), (4,)),
    "while_loop, nested": (
        lambda: tf.while_loop(lambda i, d: i < 3, nested, (c(0), {"a": c(1.0), "b": (c(0.0),)})),
        (3, {"a": 8.0, "b": (3.0,)}),
    ),
    "while_loop, of a variable": (
        lambda: tf.while_loop(lambda x: x < 9.0, lambda x: (x * 2.0,), (tf.Variable(3.0),)),
        (12.0,),
    ),
    "map_fn": (lambda: tf.map_fn(lambda x: x * x, c([1, 2, 3])), [1, 4, 9]),
    "map_fn of several": (
        lambda: tf.map_fn(lambda x: x[0] * x[1], (c([1, 2]), c([4, 5])), fn_output_signature=tf.int32),
        [4, 10],
    ),
    "map_fn to several": (
        lambda: tf.map_fn(
            lambda x: {"a": x, "b": 0.5}, c([1, 2]), fn_output_signature={"a": tf.int32, "b": tf.float32}
        ),
        {"a": [1, 2], "b": [0.5, 0.5]},
    ),
    "map_fn, spec": (
        lambda: tf.map_fn(lambda x: c([0.5]), c([1]), fn_output_signature=tf.TensorSpec((1,), tf.float32)),
        [[0.5]],
    ),
    "vectorized_map": (lambda: tf.vectorized_map(lambda x: x[0] * x[1], (c([1, 2]), c([3]))), [3, 6]),
    "vectorized_map, structure": (
        lambda: tf.vectorized_map(lambda x: (x, {"a": x + 1}), c([1])),
        ([1], {"a": [2]}),
    ),
    "foldl": (lambda: tf.foldl(lambda a, x: a * 10 + x, c([1, 2, 3]), initializer=5), 5123),
    "foldr": (lambda: tf.foldr(lambda a, x: a * 10 + x, c([1, 2, 3])), 321),
    "foldl, structure": (
        lambda: tf.foldl(lambda a, x: (a[0] + x, a[1] * x), c([2, 3]), initializer=(c(0), c(1))),
        (5, 6),
    ),
    "foldl of nothing": (lambda: tf.foldl(lambda a, x: a + x, tf.zeros(0), initializer=c(3.0)), 3.0),
    "scan": (lambda: tf.scan(lambda a, x: a + x, c([1, 2, 3])), [1, 3, 6]),
    "scan, reverse": (lambda: tf.scan(lambda a, x: a + x, c([1, 2, 3]), c(10), reverse=True), [16, 15, 13]),
    "scan, structure": (
        lambda: tf.scan(lambda a, x: (a[0] + x[0], x[1]), (c([1, 2]), c([4, 5]))),
        ([1, 3], [4, 5]),
    ),
    "stack": (lambda: array(size=3).write(0, [1.0]).write(2, [3]).stack(), [[1.0], [0.0], [3.0]]),
    "concat": (
        lambda: array(size=2, infer_shape=False).write(0, [1.0, 2.0]).write(1, [3.0]).concat(),
        [1.0, 2.0, 3.0],
    ),
    "grow": (lambda: array(size=0, dynamic_size=True).write(2, 1.0).stack(), [0.0, 0.0, 1.0]),
    "read": (lambda: array(size=2).unstack([1.0, 2.0]).read(c(1)), 2.0),
    "read what is not written": (lambda: array(size=1, element_shape=(2,)).read(0), [0.0, 0.0]),
    "gather": (lambda: array(size=3).unstack([1.0, 2.0, 3.0]).gather([2, 0]), [3.0, 1.0]),
    "gather nothing": (lambda: array(size=1).unstack([[1.0]]).gather([]).shape, (0, 1)),
    "scatter": (lambda: array(size=3).scatter([2, 0], [1.0, 3.0]).stack(), [3.0, 0.0, 1.0]),
    "split": (lambda: array(size=2).split([1.0, 2.0, 3.0], [1, 2]).read(1), [2.0, 3.0]),
    "size": (lambda: array(size=2).identity().size(), 2),
    "stack nothing": (lambda: array(size=0, element_shape=(2,)).stack().shape, (0, 2)),
    "py_function": (lambda: tf.py_function(lambda x: (x, 3), [2.0], [tf.float32, tf.float32]), [2.0, 3.0]),
    "py_function, nothing": (lambda: tf.py_function(lambda: None, [], []), []),
    "py_function, decorator": (lambda: tf.py_function(Tout=tf.float32)(lambda x: [x + 1])(c(2.0)), 3.0),
    "numpy_function": (lambda: tf.numpy_function(lambda x: x.sum(), [[1.0, 2.0]], tf.float64), 3.0),
    "tuple": (lambda: [t for t in tf.tuple([c(1), None]) if t is not None], [1]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    compute, expected = VALUES[name]
    assert plain(compute()) == expected


def test_nothing_comes_of_group_and_no_op():
    assert tf.group(c(1), [c(2)], name="g") is None
    assert tf.no_op() is None


def test_maps_of_nothing_have_the_right_shape():
    assert tf.map_fn(lambda x: x, tf.zeros((0, 2)), fn_output_signature=tf.TensorSpec((3,))).shape == (0, 3)
    assert tf.vectorized_map(lambda x: tf.stack([x, x]), tf.zeros((0, 3))).shape == (0, 2, 3)
    assert tf.scan(lambda a, x: a, tf.zeros((0, 2)), tf.zeros((5,))).shape == (0, 5)


GRADIENTS = {
    "cond": (lambda x: tf.cond(x[0] > 0, lambda: x * x, lambda: -x), [2.0, 4.0, 6.0]),
    "while_loop": (
        lambda x: tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * y), (0, x))[1],
        [4.0, 32.0, 108.0],
    ),
    "map_fn": (lambda x: tf.map_fn(lambda y: y**3, x), [3.0, 12.0, 27.0]),
    "vectorized_map": (lambda x: tf.vectorized_map(lambda y: y**3, x), [3.0, 12.0, 27.0]),
    "scan": (lambda x: tf.scan(lambda a, y: a * y, x), [9.0, 4.0, 2.0]),
    "foldl": (lambda x: tf.foldl(lambda a, y: a * y, x), [6.0, 3.0, 2.0]),
    "TensorArray": (
        lambda x: array(size=2).write(0, x).write(1, x * x).stack() + array(size=3).unstack(x).read(2),
        [3.0, 5.0, 13.0],
    ),
    "TensorArray, split": (lambda x: array(size=2).split(x, [1, 2]).concat() ** 2, [2.0, 4.0, 6.0]),
    "py_function": (lambda x: tf.py_function(lambda y: y * y, [x], tf.float32), [2.0, 4.0, 6.0]),
    "numpy_function": (lambda x: tf.numpy_function(lambda y: y * y, [x], tf.float32), None),
    "init_scope": (lambda x: outside(x), None),
    "back_prop=False": (
        lambda x: tf.while_loop(lambda y: y[0] < 2, lambda y: (y * 2,), (x,), back_prop=False)[0],
        None,
    ),
}


def outside(x):
    with tf.init_scope():
        return x * x


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    compute, expected = GRADIENTS[name]
    x = c([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = compute(x)
    gradient = tape.gradient(y, x)
    assert (None if gradient is None else plain(gradient)) == expected


def test_an_element_is_let_go_when_it_was_read():
    once = array(size=1).write(0, 1.0)
    once.read(0)
    with pytest.raises(errors.InvalidArgumentError, match="clear_after_read=False"):
        once.read(0)
    assert float(once.write(0, 2.0).read(0)) == 2.0
    often = array(size=1, clear_after_read=False).write(0, 1.0)
    assert float(often.read(0)) == float(often.read(0)) == 1.0


def test_what_a_tensor_array_knows():
    a = array(size=2, element_shape=(None, 2))
    assert (a.dtype, a.element_shape, a.dynamic_size) == (tf.float32, tf.TensorShape([None, 2]), False)
    assert a.write(0, [[1.0, 2.0]]).element_shape == (1, 2)
    a.close()
    assert int(a.size()) == 0


# ---------------------------------------------------------------------------------------------------------------------
# Printing


def printed(*values, **options):
    return lambda: (values, options)


PRINTED = [
    (printed(c(0.1)), "0.1\n"),
    (printed(c(1 / 3)), "0.333333343\n"),
    (printed(c(1 / 3, tf.float64)), "0.33333333333333331\n"),
    (printed(c([1.0, 1e10, 1e-10, 123456789.0])), "[1 1e+10 1e-10 123456792]\n"),
    (printed(c([1e6, 123456.7, -0.0, np.inf, np.nan])), "[1e+06 123456.703 -0 inf nan]\n"),
    (printed(c(0.1, tf.float16), c(1.5, tf.bfloat16)), "0.0999755859 1.5\n"),
    (printed(c([True, False])), "[1 0]\n"),
    (printed(c("it's")), "it's\n"),
    (printed(c(["it's"])), '["it\\\'s"]\n'),
    (printed(tf.range(6)), "[0 1 2 3 4 5]\n"),
    (printed(tf.range(7)), "[0 1 2 ... 4 5 6]\n"),
    (printed(tf.range(7), summarize=1), "[0 ... 6]\n"),
    (printed(tf.range(7), summarize=-1), "[0 1 2 3 4 5 6]\n"),
    (printed(tf.reshape(tf.range(8), (2, 2, 2))), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\n"),
    (printed(tf.zeros((9, 1)), summarize=1), "[[0]\n ...\n [0]]\n"),
    (printed(tf.zeros((0, 2))), "[]\n"),
    (
        printed("x:", c(1.0), 3, None, {"a": c(1), "b": [c(2.0), "s"]}),
        "x: 1 3 None {'a': 1, 'b': [2, 's']}\n",
    ),
    (printed(Pair(c(1), 2), tf.Variable([1, 2])), "Pair(a=1, b=2) [1 2]\n"),
    (printed("a", "b", sep="|", end="!"), "a|b!"),
    (printed(np.array([1, 2]), 1.5), "array([1, 2]) 1.5\n"),
    (printed(), "\n"),
]


@pytest.mark.parametrize(("what", "text"), PRINTED)
def test_printing(what, text, tmp_path, capsys):
    values, options = what()
    tf.print(*values, output_stream=f"file://{tmp_path}/out.txt", **options)
    assert (tmp_path / "out.txt").read_text() == text
    tf.print(*values, **options)
    assert capsys.readouterr().err == text


def test_printing_elsewhere(capsys, caplog):
    tf.print("a", output_stream=sys.stdout)
    assert capsys.readouterr().out == "a\n"
    tf.print("b", output_stream=logging.warning)
    tf.print("c", output_stream=logging.ERROR)
    assert [(r.levelname, r.message) for r in caplog.records] == [("WARNING", "b"), ("ERROR", "c")]


# ---------------------------------------------------------------------------------------------------------------------
# Scopes and specs


def test_scopes():
    with tf.name_scope("a") as outer, tf.name_scope("b") as inner:
        assert (outer, inner, tf.get_current_name_scope()) == ("a/", "a/b/", "a/b")
        with tf.name_scope(outer):
            assert tf.get_current_name_scope() == "a"
        with tf.name_scope(""):
            assert tf.get_current_name_scope() == ""
    assert tf.get_current_name_scope() == ""
    for name in (
        "/GPU:0",
        "CPU:0",
        "/device:CPU:0",
        "/job:localhost/replica:0/task:0/device:CPU:0",
        "",
        None,
        "cpu",
    ):
        with tf.device(name):
            assert float(c(1.0) + 1.0) == 2.0
    called = []
    with tf.control_dependencies(lambda: called.append(1)), tf.control_dependencies([c(1)]):
        assert called == [1]
    assert tf.executing_eagerly()
    assert not tf.inside_function()
    assert tf.get_logger().name == "gradtape"
    assert tf.autograph.experimental.do_not_convert()(len)([1]) == 1
    assert tf.VariableAggregation.MEAN.value == 2
    assert tf.VariableSynchronization.ON_READ.value == 3


def test_specs():
    spec = tf.TensorSpec((2, None), tf.float32, "x")
    assert repr(spec) == "TensorSpec(shape=(2, None), dtype=tf.float32, name='x')"
    assert (spec.shape, spec.dtype, spec.name, spec.value_type) == ((2, None), tf.float32, "x", tf.Tensor)
    assert spec == tf.TensorSpec([2, None], "float32", "x") == pickle.loads(pickle.dumps(spec))
    assert spec != tf.TensorSpec((2, None), tf.float32)
    assert len({spec, tf.TensorSpec((2, None), tf.float32, "x")}) == 1
    assert spec.is_compatible_with(tf.ones((2, 5)))
    assert spec.is_compatible_with(tf.TensorSpec((None, 3)))
    assert not spec.is_compatible_with(tf.ones((3, 5)))
    assert not spec.is_compatible_with(tf.ones((2, 5), tf.int32))
    assert not spec.is_compatible_with([[1.0], [2.0]])
    assert tf.TensorSpec.from_tensor(tf.ones(2), "n") == tf.TensorSpec((2,), tf.float32, "n")
    assert tf.TensorSpec.from_spec(spec).name == "x"
    assert tf.TensorSpec((2,)).is_subtype_of(tf.TensorSpec((None,)))
    assert not tf.TensorSpec((None,)).is_subtype_of(tf.TensorSpec((2,)))
    assert tf.TensorSpec((2,)).is_subtype_of(tf.TensorSpec((2,), name="x"))
    assert not tf.TensorSpec((2,), name="x").is_subtype_of(tf.TensorSpec((2,)))
    assert tf.TensorSpec((2,)).most_specific_compatible_type(tf.TensorSpec((3,))) == tf.TensorSpec((None,))


# ---------------------------------------------------------------------------------------------------------------------
# Bad input

Invalid, Range = errors.InvalidArgumentError, errors.OutOfRangeError
BAD = {
    "cond, no function": (lambda: tf.cond(True, c(1), lambda: c(2)), TypeError, "true_fn must be a function"),
    "cond, many": (
        lambda: tf.cond(c([True, False]), list, list),
        ValueError,
        "one truth value, not a tensor of shape (2,)",
    ),
    "case, none": (lambda: tf.case([(c(False), list)]), Invalid, "no condition holds"),
    "case, two": (lambda: tf.case([(c(True), list)] * 2, exclusive=True), Invalid, "2 do"),
    "case, a list": (lambda: tf.case([[c(True), list]]), TypeError, "must be a pair"),
    "case, a number": (lambda: tf.case([(1, list)]), TypeError, "a bool or a boolean tensor"),
    "case, what": (lambda: tf.case(5), TypeError, "a list of (condition, function)"),
    "case, dict": (lambda: tf.case({True: list}), ValueError, "no order"),
    "switch, gaps": (
        lambda: tf.switch_case(c(0), {1: list, 2: list}),
        ValueError,
        "numbered 0 to 1, not [1, 2]",
    ),
    "switch, float": (lambda: tf.switch_case(c(0.0), [list]), TypeError, "must be one integer"),
    "switch, none": (lambda: tf.switch_case(c(0), []), ValueError, "at least one function"),
    "switch, what": (lambda: tf.switch_case(c(0), 5), TypeError, "a list, tuple or dict"),
    "switch, entry": (lambda: tf.switch_case(c(0), [5]), TypeError, "a pair (number, function)"),
    "loop, structure": (
        lambda: tf.while_loop(lambda i: i < 4, lambda i: (i, i), [c(0)]),
        ValueError,
        "structures differ",
    ),
    "loop, no variables": (lambda: tf.while_loop(list, list, []), ValueError, "at least one value"),
    "loop, no function": (lambda: tf.while_loop(5, list, [1]), TypeError, "cond must be a function"),
    "map, scalar": (lambda: tf.map_fn(len, c(1)), ValueError, "a scalar has none"),
    "map, nothing": (lambda: tf.map_fn(len, []), ValueError, "at least one tensor"),
    "map, lengths": (lambda: tf.map_fn(len, (c([1]), c([1, 2]))), ValueError, "have lengths [1, 2]"),
    "map, dtype": (
        lambda: tf.map_fn(lambda x: c(0.5), c([1])),
        Invalid,
        "fn returned float32 where int32 was expected",
    ),
    "map, structure": (lambda: tf.map_fn(lambda x: (x, x), c([1])), ValueError, "structures differ"),
    "map, shape": (
        lambda: tf.map_fn(lambda x: x, c([1]), fn_output_signature=tf.TensorSpec((2,), tf.int32)),
        ValueError,
        "shape () where (2,) was expected",
    ),
    "map, no function": (lambda: tf.map_fn(5, c([1])), TypeError, "fn must be a function"),
    "vectorized, lengths": (
        lambda: tf.vectorized_map(len, (c([1, 2]), c([1, 2, 3]))),
        Invalid,
        "length 3 or 1, not 2",
    ),
    "fold nothing": (lambda: tf.foldl(max, tf.zeros(0)), Invalid, "at least one slice"),
    "scan, structure": (lambda: tf.scan(lambda a, x: (a, x), c([1]), c(0)), ValueError, "structures differ"),
    "array, size": (lambda: array(), ValueError, "needs a size"),
    "array, fraction": (lambda: array(size=1.5), TypeError, "size must be an integer"),
    "array, behind the end": (lambda: array(size=2).write(2, 1.0), Range, "dynamic_size=True lets it grow"),
    "array, negative": (lambda: array(size=2).read(-1), Range, "must not be negative"),
    "array, read behind": (lambda: array(size=2).read(2), IndexError, "its size is 2"),
    "array, dtype": (lambda: array(size=2).write(0, c(1)), Invalid, "dtype int32 does not go in"),
    "array, shape": (
        lambda: array(size=2).write(0, [1.0]).write(1, 1.0),
        ValueError,
        "of shape () does not go in",
    ),
    "array, unknown": (lambda: array(size=2).stack(), ValueError, "shape is not known"),
    "array, unstack": (lambda: array(size=1).unstack([1.0, 2.0]), ValueError, "2 tensors into a size of 1"),
    "array, split": (
        lambda: array(size=2).split([1.0], [1, 1]),
        Invalid,
        "does not split into parts of [1, 1]",
    ),
    "array, split count": (
        lambda: array(size=2).split([1.0], [1]),
        Invalid,
        "1 parts do not fill a size of 2",
    ),
    "array, scalars": (lambda: array(size=1).write(0, 1.0).concat(), Invalid, "use stack()"),
    "array, grad": (lambda: array(size=1).grad("x"), NotImplementedError, "GradientTape"),
    "py_function, dtype": (
        lambda: tf.py_function(lambda: c(3), [], tf.float32),
        Invalid,
        "returned int32, and Tout says",
    ),
    "py_function, count": (
        lambda: tf.py_function(lambda: (1, 2), [], [tf.int32]),
        Invalid,
        "2 results, and Tout says 1",
    ),
    "py_function, no Tout": (lambda: tf.py_function(len, [1]), TypeError, "Tout must say"),
    "py_function, no function": (
        lambda: tf.py_function(5, [1], tf.int32),
        ValueError,
        "func must be a function",
    ),
    "print, argument": (lambda: tf.print("x", file=1), ValueError, "unknown arguments file"),
    "print, stream": (lambda: tf.print("x", output_stream="bad"), ValueError, "not 'bad'"),
    "group, argument": (lambda: tf.group(nam=1), ValueError, "unknown arguments nam"),
    "spec of a list": (lambda: tf.TensorSpec.from_tensor([1]), ValueError, "takes a Tensor, not list"),
    "specs apart": (
        lambda: tf.TensorSpec((2,)).most_specific_compatible_type(tf.TensorSpec((2,), tf.int32)),
        ValueError,
        "there is nothing that both",
    ),
    "a device": (lambda: tf.device("/foo:::").__enter__(), ValueError, "names no device"),
    "a name": (lambda: tf.name_scope(3), ValueError, "a name is a text"),
    "a graph": (lambda: finalized().as_default().__enter__(), RuntimeError, "this graph is finalized"),
}


def finalized():
    graph = tf.Graph()
    graph.finalize()
    return graph


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    compute, error, message = BAD[name]
    with pytest.raises(error, match=re.escape(message)):
        compute()


def test_operations_in_a_graph_run_at_once_and_names_begin_anew_there():
    with tf.name_scope("outside"), tf.Graph().as_default() as graph:
        with graph.name_scope("layer"), graph.device("/CPU:0"), graph.control_dependencies([]):
            v = tf.Variable(3.0, name="v")
        with tf.GradientTape() as tape:
            y = v * v
    assert v.name == "layer/v:0"
    assert float(tape.gradient(y, v)) == 6.0
    assert not graph.finalized


def test_eager_loops_hand_values_over_as_they_are():
    met = []

    def body(i, x):
        met.append((type(i), type(x)))
        return i + 1, x + i

    i, x = tf.while_loop(lambda i, x: i < 3, body, (0, np.array(0)))
    assert met[0] == (int, np.ndarray) and met[1][0] is int
    assert (i.dtype.name, x.dtype.name, int(i), int(x)) == ("int32", "int64", 3, 3)
