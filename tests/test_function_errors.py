"""What cannot be compiled: errors of TensorFlow's classes, which name the line of the user's code and what to do."""

import re
import traceback

import numpy as np
import pytest

import gradtape as tf

pytest.importorskip("jax")

X = tf.constant([1.0, 2.0])
N = tf.constant(2)
v = tf.Variable([1.0, 2.0])


def line_of(function):
    return function.__code__.co_firstlineno


def names_the_line(message, function):
    """Does a message name this file, and the line a function of one line is on?"""
    return re.search(rf"test_function_errors\.py, line {line_of(function)}\b", message) is not None


def ours(error):
    """Does an error, with its notes and causes, say nothing of JAX?"""
    text = ""
    while error is not None:
        text += "".join(traceback.format_exception_only(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return not re.search(r"jax|\btracer|Tracer|jit", text.replace("jax_", ""), re.IGNORECASE)


NotAllowed = tf.errors.OperatorNotAllowedInGraphError

NO_VALUE = {
    "if": (lambda x, n: 1 if x[0] > 0 else 2, NotAllowed, r"bool\(tensor\), which `if`.*shape \(\).*cond"),
    "and": (lambda x, n: x[0] > 0 and x[1] > 0, NotAllowed, r"bool\(tensor\)"),
    "not": (lambda x, n: not n, NotAllowed, r"bool\(tensor\)"),
    "float": (lambda x, n: float(x[0]), TypeError, r"float\(tensor\) needs the value.*return the tensor"),
    "int": (lambda x, n: int(n), TypeError, r"int\(tensor\)"),
    "complex": (lambda x, n: complex(x[0]), TypeError, r"complex\(tensor\)"),
    "range": (lambda x, n: list(range(n)), TypeError, r"int\(tensor\), which range\(\)"),
    "list index": (
        lambda x, n: [1, 2, 3][n],
        TypeError,
        r"int\(tensor\), which range\(\) and Python's lists",
    ),
    "numpy()": (lambda x, n: x.numpy(), AttributeError, r"tensor.numpy\(\) needs the value.*py_function"),
    "numpy() of a variable": (lambda x, n: v.numpy(), AttributeError, r"tensor.numpy\(\)"),
    "np.asarray": (lambda x, n: np.asarray(x), NotImplementedError, r"np.asarray\(tensor\)"),
    "a function of NumPy": (lambda x, n: np.sum(x), NotImplementedError, r"np.asarray\(tensor\)"),
    "a format": (lambda x, n: f"{n:d}", AttributeError, "needs the value"),
}

NO_SHAPE = {
    "zeros": (lambda x, n: tf.zeros((n,)), "zeros: a shape, size or place must be known.*x.shape"),
    "reshape": (lambda x, n: tf.reshape(x, (n, 1)), "reshape: a shape, size or place must be known"),
    "tile": (lambda x, n: tf.tile(x, [n]), "tile: .* must be known"),
    "axis": (lambda x, n: tf.reduce_sum(x, axis=n - 2), "reduce_sum: axis must be known"),
    "range": (lambda x, n: tf.range(n), "range: the shape of the result depends on the values of"),
    "slice": (
        lambda x, n: x[:n],
        r"depends on the values of first, last and step.*slice\(x, begin, size\)",
    ),
    "boolean_mask": (
        lambda x, n: tf.boolean_mask(x, x > 1),
        "boolean_mask: the shape.*the mask.*where",
    ),
    "x[mask]": (lambda x, n: x[x > 1], r"x\[mask\]: the shape.*the mask.*where"),
    "where": (
        lambda x, n: tf.where(x > 1),
        r"where: the shape.*the condition.*where\(condition, x, y\)",
    ),
    "unique": (
        lambda x, n: tf.unique(x),
        "unique: the shape of the result depends on the values of x",
    ),
    "repeat": (lambda x, n: tf.repeat(x, n), "repeat: the shape of the result depends on"),
}


@pytest.mark.parametrize("name", NO_VALUE)
def test_asking_for_values_while_tracing(name):
    python_function, kind, message = NO_VALUE[name]
    function = tf.function(python_function, autograph=False, jit_compile=True)
    with pytest.raises(kind, match=message) as caught:
        function(X, N)
    assert names_the_line(str(caught.value), python_function)
    assert ours(caught.value)
    assert tf.executing_eagerly()
    if name != "list index":
        python_function(X, N)  # eagerly there is nothing wrong with it


@pytest.mark.parametrize("jit_compile", [None, True])
@pytest.mark.parametrize("name", NO_SHAPE)
def test_shapes_that_depend_on_values_run_operation_by_operation_and_say_so_once(name, jit_compile, caplog):
    python_function, message = NO_SHAPE[name]
    function = tf.function(python_function, autograph=False, jit_compile=jit_compile)
    for _ in range(3):
        for got, expected in zip(
            tf.nest.flatten(function(X, N)), tf.nest.flatten(python_function(X, N)), strict=True
        ):
            np.testing.assert_array_equal(got, expected)
    (record,) = caplog.records
    reason = record.message.partition(" runs operation by operation: ")[2]
    assert re.search(message, reason) and names_the_line(reason, python_function)


def test_a_function_that_cannot_be_compiled_and_made_variables_says_so():
    """Its variables have no values, so it cannot be run again."""

    @tf.function
    def masked(x):
        if not made:
            made.append(tf.Variable(x * 2.0))
        return tf.boolean_mask(made[0], x > 0.0)

    made = []
    with pytest.raises(tf.errors.InvalidArgumentError, match="depends on the values of the mask"):
        masked(X)


def test_traced_tensors_show_what_is_known_of_them():
    shown = []

    @tf.function
    def show(x):
        shown.extend([repr(x), str(x), f"{x}", repr(v)])
        return x

    show(X)
    assert shown[0] == "<tf.Tensor: shape=(2,), dtype=float32, traced>"
    assert shown[1] == shown[2] == "tf.Tensor(traced, shape=(2,), dtype=float32)"
    assert shown[3] == "<tf.Variable 'Variable:0' shape=(2,) dtype=float32, traced>"


# ---------------------------------------------------------------------------------------------------------------------
# Tensors that leave their function

kept = []


@tf.function
def leaky(x):
    doubled = x * 2.0
    kept.append(doubled)
    return x


OUTSIDE = {
    "an operation": lambda t: t + 1.0,
    "numpy()": lambda t: t.numpy(),
    "float": lambda t: float(t[0]),
    "bool": lambda t: bool(t[0] > 0),
    "np.asarray": lambda t: np.asarray(t),
    "another function": lambda t: tf.function(lambda x: x + t)(X),
    "returned from another": lambda t: tf.function(lambda: t)(),
    "an argument": lambda t: tf.function(lambda x: x * 2.0)(t),
    "a known argument": lambda t: leaky(t),
    "assign": lambda t: v.assign(t),
    "assign_add": lambda t: v.assign_add(t),
    "a slice": lambda t: v[:1].assign(t[:1]),
    "scatter": lambda t: v.scatter_nd_add([[0]], t[:1]),
    "a new variable": lambda t: tf.Variable(t),
    "a matrix": lambda t: tf.linalg.matvec([[1.0, 2.0]], t),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_tensor_that_left_its_function_is_named_with_the_line_that_made_it(name):
    if not kept:
        leaky(X)
    use = OUTSIDE[name]
    before = v.numpy()
    with pytest.raises(tf.errors.InaccessibleTensorError) as caught:
        use(kept[0])
    message = str(caught.value)
    made = line_of(leaky.python_function) + 2
    assert f"the function leaky, made in {__file__}, line {made}, is used outside of it" in message
    assert names_the_line(message.split("is used")[1], use)
    assert "Return it from the function" in message
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, ValueError)
    assert isinstance(caught.value, AttributeError) == (name == "numpy()")
    np.testing.assert_array_equal(v, before)
    assert "traced" in repr(kept[0])
    assert ours(caught.value)


def test_a_tape_that_left_its_function():
    @tf.function
    def leaves(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x)
        kept_tape.append((tape, y, x))
        return x

    kept_tape = []
    leaves(X)
    tape, y, x = kept_tape[0]
    with pytest.raises(tf.errors.InaccessibleTensorError, match="a tensor of the function leaves") as caught:
        tape.gradient(y, x)
    assert ours(caught.value)


def test_tensors_without_a_value_have_no_numpy_method():
    """As in TensorFlow, so that code which asks for one by `hasattr` or `getattr` runs inside a function as well."""
    seen = []

    @tf.function(autograph=False)
    def ask(x):
        inside.append(x * 2.0)
        seen.append((hasattr(x, "numpy"), getattr(x, "numpy", None), hasattr(v, "numpy")))
        return x

    inside = []
    assert hasattr(ask(X), "numpy")
    assert seen == [(False, None, True)]
    assert not hasattr(inside[0], "numpy")
    assert callable(tf.Tensor.numpy) and tf.Tensor.numpy(X).tolist() == [1.0, 2.0]
    with pytest.raises(NotImplementedError, match="numpy"):
        tf.function(lambda x: v.numpy())(X)


@pytest.mark.parametrize(
    "block",
    [
        lambda x, inner: tf.cond(x[0] > 0.0, inner(x), lambda: x),
        lambda x, inner: tf.map_fn(lambda e: inner(e)(), x),
        lambda x, inner: tf.while_loop(lambda y: y[0] < 5.0, lambda y: (inner(y)(),), (x,)),
    ],
    ids=["branch", "body", "while"],
)
def test_a_tensor_that_left_its_branch_or_loop(block):
    inside = []

    def inner(t):
        return lambda: (inside.append(t * 3.0), t + 1.0)[1]

    with pytest.raises(
        tf.errors.InaccessibleTensorError, match="from the branch, or from the body of the loop"
    ):
        tf.function(lambda x: (block(x, inner), inside[-1] * 2.0)[1], autograph=False)(X)


# ---------------------------------------------------------------------------------------------------------------------
# Ordinary errors are the ones of eager code

ORDINARY = {
    "shapes": lambda x: x + tf.ones(3),
    "dtypes": lambda x: x + tf.constant(1),
    "matrices": lambda x: tf.linalg.matmul(tf.ones((2, 3)), tf.ones((2, 3)) * x[0]),
    "an axis": lambda x: tf.reduce_sum(x, axis=3),
    "an assignment": lambda x: v.assign(tf.stack([x, x])),
    "indices": lambda x: x[0, 0],
    "the user's own": lambda x: {}["missing"],
}


@pytest.mark.parametrize("name", ORDINARY)
def test_errors_are_those_of_eager_code(name):
    with pytest.raises(Exception) as eager:
        ORDINARY[name](X)
    function = tf.function(ORDINARY[name], autograph=False)
    for _ in range(2):
        with pytest.raises(type(eager.value)) as traced:
            function(X)
        assert str(traced.value) == str(eager.value)
        assert ours(traced.value)


def test_endless_recursion_is_pythons_own_error():
    @tf.function
    def endless(x):
        return endless(x)

    with pytest.raises(RecursionError):
        endless(X)
    assert tf.executing_eagerly()


@pytest.mark.parametrize("argument", [X, tf.ones(3), 1, 2.5, [X]], ids=str)
def test_the_users_error_is_the_first_one(argument):
    def fails(x):
        raise ValueError("the user's own")

    with pytest.raises(ValueError, match="the user's own") as caught:
        tf.function(fails)(argument)
    assert caught.value.__context__ is None


def test_an_operation_that_needs_values_makes_the_function_run_operation_by_operation(caplog):
    from gradtape.core.primitive import apply1, primitive

    @primitive(name="needy")
    def needy(x):
        return x * float(x[0])

    function = tf.function(lambda x: apply1(needy, x) + 1.0)
    for _ in range(2):
        np.testing.assert_allclose(function(tf.constant([2.0, 3.0])), [5.0, 7.0])
    (record,) = caplog.records
    assert "needy computes with the values of tensors" in record.getMessage()
    assert "test_function_errors.py, line" in record.getMessage() and "jax" not in record.getMessage().lower()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.while_loop(lambda a: a[0] < 9.0, lambda a: (tf.concat([a, a], 0),), (x,)),
        lambda x: tf.scan(lambda a, b: tf.stack([a, b]), x),
        lambda x: tf.cond(x[0] > 0.0, lambda: x, lambda: tf.cast(x, tf.int32)),
        lambda x: tf.py_function(lambda y: y[:1], [x], tf.TensorSpec((2,))),
        lambda x: tf.py_function(lambda y: {}["missing"], [x], tf.TensorSpec((2,))),
        lambda x: tf.debugging.assert_negative(x),
        lambda x: tf.zeros((10**6, 10**6, 10**6)) + x[0],
        lambda x: tf.Variable(x) + 1.0,
        lambda x: {}[x],
    ],
    ids=["while", "scan", "cond", "shape", "python", "assert", "memory", "variable", "key"],
)
def test_no_error_speaks_of_jax(function):
    compiled = tf.function(function, autograph=False)
    with pytest.raises(Exception) as caught:
        for x in (X, tf.ones(3)):
            compiled(x)
    assert ours(caught.value)
