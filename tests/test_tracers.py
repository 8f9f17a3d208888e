"""Quick tracers write the equations that `jax.numpy` would write."""

import operator
import warnings
from functools import partial

import numpy as np
import pytest

import gradtape as tf

jax = pytest.importorskip("jax")

import ml_dtypes  # noqa: E402
from jax import numpy as jnp  # noqa: E402

from gradtape.engine import traced_numpy  # noqa: E402  (needs JAX)
from gradtape.engine.tracers import QuickTrace, QuickTracer, eval_jaxpr, quicken  # noqa: E402
from gradtape.ops.nn import convolve  # noqa: E402

DTYPES = ["float32", ml_dtypes.bfloat16, "complex64", "int32", "uint8", "bool"]
SHAPES = [((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((2,), (3,))]
SCALARS = [2.0, -1, 1000, True, np.float32(2.5), np.array(3, "int32"), 1j]
OPERATORS = [getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "lt", "ge", "eq", "and_")]


def traced(function, *arrays, quick):
    """The jaxpr of a function as text, its results' types, and whether all tracers were quick; or the error's type."""

    def run(*tracers):
        if quick:
            quicken(tracers[0]._trace, tracers)
        return function(*tracers)

    try:
        with warnings.catch_warnings(), jax.enable_x64(True):
            warnings.simplefilter("ignore")
            closed = jax.make_jaxpr(run)(*arrays)
    except Exception as error:
        return type(error)
    return str(closed), [v.aval for v in closed.jaxpr.outvars]


def assert_same(function, by_jax, *arrays):
    assert traced(function, *arrays, quick=True) == traced(by_jax, *arrays, quick=False)


def assert_same_for_pairs(quick, by_jax, dtype):
    """Compare for arrays of several shapes, and for numbers on either side."""
    for a, b in SHAPES:
        assert_same(quick, by_jax, np.ones(a, dtype), np.ones(b, dtype))
    x = np.ones((2, 3), dtype)
    for number in SCALARS:
        assert_same(partial(swapped, quick, number), partial(swapped, by_jax, number), x)
        assert_same(partial(quick, number), partial(by_jax, number), x)


def swapped(function, y, x):
    return function(x, y)


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_an_operator_writes_the_equations_of_jax(function, dtype):
    assert_same_for_pairs(function, function, dtype)
    x = np.ones((2, 3), dtype)
    assert_same(function, function, x, np.ones(3, "int64"))

    def weak(x):
        return function(jnp.asarray(3.0), x)  # a Python number's array follows the dtype of the other operand

    assert_same(weak, weak, x)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_a_function_writes_the_equations_of_jax(dtype):
    x = np.ones((2, 3), dtype)
    for name in traced_numpy._UNARY:
        assert_same(getattr(traced_numpy, name), getattr(jnp, name), x)
    assert_same(operator.neg, operator.neg, x)
    for name in ("maximum", "logical_and", "power"):  # the others are the operators
        assert_same_for_pairs(getattr(traced_numpy, name), getattr(jnp, name), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_a_sum_writes_the_equations_of_jax(dtype):
    x = np.ones((2, 3), dtype)
    for axis in (None, -1, (-1, 0), (), (0, 0), 5):
        for options in ({}, {"keepdims": True}, {"dtype": x.dtype}, {"dtype": np.float64}):
            case = {"axis": axis, **options}
            assert_same(partial(traced_numpy.sum, **case), partial(jnp.sum, **case), x)


METHODS = {
    "astype": [
        (d,) for d in ("float32", "float64", "int32", "uint8", "bool", "complex64", ml_dtypes.bfloat16)
    ],
    "reshape": [(-1,), (3, 2), ((3, -1),), ((2, 3),), (-1, 4), (6, -1, 1), (-1, -1), ([6],), (0, 2), ((),)],
    "transpose": [(), ((1, 0),), ((0, 1),), (1, 0), ((0, 0),), ((-1, 0),), ([1, 0],)],
    "swapaxes": [(0, 1), (-1, -2), (1, 1), (0, 2)],
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_writes_the_equations_of_jax(name):
    for dtype in ("float32", "int32", "bool", "complex64"):
        for arguments in METHODS[name]:
            if name == "astype" and dtype == "bool" and np.dtype(*arguments).kind in "fV":
                continue  # see the next test

            def call(x, arguments=arguments):
                return getattr(x, name)(*arguments)

            assert_same(call, call, np.ones((2, 3), dtype))
            assert_same(call, call, np.ones((), dtype))
            assert_same(call, call, np.ones((0, 3), dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_product_with_a_mask_keeps_nan(dtype, shape):
    x, mask = np.full(shape, np.nan, dtype), np.zeros(shape, bool)

    def run(x, mask):
        quicken(x._trace, (x, mask))
        return x * mask.astype(dtype), x * mask, mask * x, traced_numpy.multiply(x, mask)

    with jax.enable_x64(True):
        for result in jax.jit(run)(x, mask):
            assert result.dtype == dtype and np.isnan(np.asarray(result, "float64")).all()
        assert np.asarray(jax.jit(lambda m: run(x + m, m))(~mask)[0]).dtype == dtype
        np.testing.assert_array_equal(jax.jit(run)(np.ones(shape, dtype), ~mask)[0], np.ones(shape))


@pytest.mark.parametrize("dtype", ["float32", ml_dtypes.bfloat16, "int32", "bool"])
def test_a_product_writes_the_equations_of_jax(dtype):
    for a, b in [
        ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (1, 3, 4)), ((2, 3), (5, 3, 4)),
        ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (2, 3)), ((6, 5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (5, 6, 3, 4)),
    ]:  # fmt: skip
        assert_same(operator.matmul, operator.matmul, np.ones(a, dtype), np.ones(b, dtype))
    assert_same(operator.matmul, operator.matmul, np.ones((2, 3), dtype), np.ones((3, 2), "float64"))


def test_a_broadcast_writes_the_equations_of_jax():
    for old, new in [
        ((), (2,)),
        ((3,), (2, 3)),
        ((2, 1), (2, 3)),
        ((2, 3), (2, 3)),
        ((2,), (3,)),
        ((2, 3), (3,)),
    ]:
        x = np.ones(old, "float32")
        assert_same(
            partial(swapped, traced_numpy.broadcast_to, new), partial(swapped, jnp.broadcast_to, new), x
        )


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64"])
def test_where_chooses_as_in_jax(dtype):
    rng = np.random.default_rng(0)
    for shapes in [
        ((2, 3),) * 3,
        ((2, 3), (3,), ()),
        ((), (2, 3), (3,)),
        ((2, 1), (1, 3), (2, 3)),
        ((0,),) * 3,
    ]:
        condition, x, y = (
            rng.normal(size=shape).astype(d) for shape, d in zip(shapes, ("bool", dtype, dtype))
        )
        condition = rng.normal(size=shapes[0]) > 0

        def run(condition, x, y):
            quicken(x._trace, (condition, x, y))
            return traced_numpy.where(condition, x, y), traced_numpy.where(condition, x, 0)

        for ours, theirs in zip(
            jax.jit(run)(condition, x, y),
            (jnp.where(condition, x, y), jnp.where(condition, x, 0)),
            strict=True,
        ):
            assert (ours.shape, ours.dtype, ours.weak_type) == (theirs.shape, theirs.dtype, theirs.weak_type)
            np.testing.assert_array_equal(ours, theirs)


def test_tracers_of_other_traces_go_the_way_of_jax():
    x = np.arange(3.0, dtype="float32")

    def run(x):
        quicken(x._trace, [x])
        inner = jax.vmap(lambda row: row * x + x * x)(x * x)  # x * x is computed inside, as JAX would
        return inner, jax.grad(lambda y: (y * x).sum() * 2.0)(x)

    ours, gradient = jax.jit(run)(x)
    np.testing.assert_allclose(ours, (x * x)[:, None] * x + x * x)
    np.testing.assert_allclose(gradient, 2 * x)


def test_functions_are_traced_with_quick_tracers():
    seen = []

    @tf.function
    def step(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.reduce_mean(tf.tanh(x @ w) ** 2.0 + tf.where(w > 0.0, w, 2.0 * w))
        g = tape.gradient(y, w)
        seen.extend([x, y, g])
        return w - 0.1 * g

    step(tf.ones((3, 3)), tf.ones((3, 3)))
    assert {type(t._array) for t in seen} == {QuickTracer}
    assert type(seen[0]._array._trace) is QuickTrace


def test_a_training_step_is_traced_without_functions_of_jax():
    w = tf.Variable(tf.ones((4, 4)))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            y = tf.nn.relu(x @ w + 1.0)
            loss = tf.reduce_sum(tf.where(y > 2.0, y, y * y) / 3.0)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    step(tf.ones((2, 4)))
    (program,) = step._programs.values()
    names = [eqn.primitive.name for eqn in program.codes[0].eqns]
    assert "select_n" in names
    assert "jit" not in names


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_equations_of_a_jaxpr_are_copied(dtype):
    table = np.arange(6.0, dtype="float32").reshape(2, 3)

    def function(x):
        y = jax.lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x * table)
        return y, x, jnp.float32(2.0), jax.lax.top_k(y, 2)

    closed = jax.make_jaxpr(function)(table)
    given = np.ones(
        (2, 3), dtype
    )  # float64 is another type than the jaxpr has: JAX finds the types of results
    same = [partial(evaluate, closed.jaxpr, closed.consts) for evaluate in (eval_jaxpr, jax.core.eval_jaxpr)]
    ours, theirs = (traced(evaluate, given, quick=False) for evaluate in same)
    assert ours == theirs
    for a, b in zip(jax.jit(same[0])(table), jax.jit(same[1])(table), strict=True):
        np.testing.assert_array_equal(a, b)


def test_layers_of_one_shape_are_traced_once(monkeypatch):
    calls = []
    for name in ("convolved_by_xla", "deconvolved_by_xla", "correlated_by_xla"):
        by_xla = getattr(convolve, name)
        monkeypatch.setattr(convolve, name, lambda *a, by_xla=by_xla: calls.append(a) or by_xla(*a))
    filters = tf.Variable(tf.ones((3, 3, 2, 2)) / 18.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            for _ in range(4):
                x = tf.nn.conv2d(x, filters, 1, "SAME")
            y = tf.reduce_sum(x)
        return tape.gradient(y, filters)

    x = tf.random.stateless_uniform((2, 11, 13, 2), (1, 2))
    ours = step(x)
    assert len(calls) == 3  # the convolution, and once more for each of its two gradients
    np.testing.assert_allclose(ours, step.python_function(x), rtol=1e-4)
