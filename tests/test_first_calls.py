"""First calls of a function, which NumPy computes: each rule against JAX, and the change to compiled code."""

import threading

import numpy as np
import pytest

import gradtape as tf

jax = pytest.importorskip("jax")
lax, jnp = jax.lax, jax.numpy

from jax._src import pjit  # noqa: E402
from jax._src.array import ArrayImpl  # noqa: E402
from jax.ad_checkpoint import checkpoint_name  # noqa: E402
from jax.extend.core import jaxpr_as_fun  # noqa: E402

from gradtape.compiled import first_calls  # noqa: E402  (needs JAX)
from gradtape.compiled.jaxprs import inner_code  # noqa: E402
from gradtape.compiled.numpy_code.equation_rules import RULES, NoRule  # noqa: E402
from gradtape.compiled.numpy_code.numpy_program import NumpyProgram, TooLong, meter  # noqa: E402

RNG = np.random.default_rng(7)
X = RNG.normal(size=(3, 4)).astype("float32")
Y = RNG.normal(size=(3, 4)).astype("float32")
UNIT = RNG.uniform(0.05, 0.95, (3, 4)).astype("float32")
EDGES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 1.5, -2.5, 3e9, -3e9], "float32")
INTS = np.array([[7, -7, 0, 2147483647], [-2147483648, 3, 9, -1]], "int32")
BY = np.array([[2, 2, 0, -1], [1, 0, -4, 33]], "int32")
COMPLEX = (X + 1j * Y).astype("complex64")
HALF = X.astype("float16")
BRAIN = jnp.asarray(X, jnp.bfloat16)
CONVERT = lax.convert_element_type_p.bind  # without a warning for complex numbers
WINDOWS = {"window_dimensions": (2, 2), "window_strides": (1, 2), "padding": ((1, 0), (0, 1))}

UNARY = "abs asinh atan cbrt ceil cos cosh erf erfc exp exp2 expm1 floor is_finite logistic neg sign sin sinh"
UNARY += " square tan tanh"
POSITIVE = "log log1p sqrt rsqrt lgamma digamma bessel_i0e bessel_i1e"
WITHIN = "acos asin atanh erf_inv"
BINARY = "add sub mul div max min rem atan2 nextafter eq ne lt le gt ge"

SAMPLES = {
    **{name: [(getattr(lax, name), X), (getattr(lax, name), HALF)] for name in UNARY.split()},
    **{name: [(getattr(lax, name), UNIT + 0.5)] for name in POSITIVE.split()},
    **{name: [(getattr(lax, name), UNIT)] for name in WITHIN.split()},
    **{name: [(getattr(lax, name), X, Y), (getattr(lax, name), EDGES, EDGES[::-1].copy())] for name in BINARY.split()},
    "tanh ": [(lax.tanh, EDGES), (lax.logistic, BRAIN), (lax.exp, BRAIN), (lax.sign, EDGES), (lax.abs, COMPLEX)],
    "acosh": [(lax.acosh, UNIT + 1.5)],
    "lgamma ": [(lax.lgamma, EDGES), (lax.lgamma, EDGES[2]), (lax.lgamma, EDGES.astype(jnp.bfloat16))],
    "digamma ": [(lax.digamma, EDGES), (lax.digamma, EDGES[3]), (lax.digamma, EDGES[:8].astype("float16"))],
    "add_any": [(lambda x: jax.vjp(lambda x: x * jnp.sin(x), x)[1](x)[0], X)],
    "conj": [(lax.conj, COMPLEX), (lax.conj, X)],
    "real": [(lax.real, COMPLEX)],
    "imag": [(lax.imag, COMPLEX)],
    "complex": [
        (lax.complex, X, Y),
        (lax.complex, X[0, 0], Y[0, 0]),
        (jax.vmap(lax.complex, in_axes=(None, 0)), X[0], Y),
        (lax.complex_p.bind, X[0, 0], Y),
    ],
    "div ": [(lax.div, INTS, BY), (lax.div, COMPLEX, COMPLEX + 1), (lax.div, INTS.view("uint32"), BY.view("uint32"))],
    "rem ": [(lax.rem, INTS, BY)],
    "and": [(lax.bitwise_and, INTS, BY), (lax.bitwise_and, X > 0, Y > 0)],
    "or": [(lax.bitwise_or, INTS, BY)],
    "xor": [(lax.bitwise_xor, INTS, BY)],
    "not": [(lax.bitwise_not, INTS), (lax.bitwise_not, X > 0)],
    "shift_left": [(lax.shift_left, INTS, BY)],
    "shift_right_logical": [(lax.shift_right_logical, INTS, BY)],
    "shift_right_arithmetic": [
        (lax.shift_right_arithmetic, INTS, BY),
        (lax.shift_right_arithmetic, INTS.view("uint32"), BY.view("uint32")),
    ],
    "population_count": [(lax.population_count, INTS)],
    "pow": [(lax.pow, UNIT, X), (lax.pow, X[:2], INTS % 4)],
    "integer_pow": [(lambda x, n=n: lax.integer_pow(x, n), X) for n in (-3, -1, 0, 1, 2, 3, 4, 7)],
    "round": [(lax.round, EDGES), (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), EDGES)],
    "clamp": [(lambda x: lax.clamp(-0.5, x, 0.5), X), (lambda x: lax.clamp(-0.5, x, 0.5), EDGES)],
    "select_n": [
        (lambda c, x, y: lax.select(c, x, y), X > 0, X, Y),
        (lambda x: lax.select_n(x > 0, jnp.zeros_like(x), jnp.ones_like(x)), X),
        (lambda x: lax.select_n(x > 0, jnp.ones_like(x), jnp.zeros_like(x)), X),
        (lambda x: 1 / lax.select_n(x > 0, -jnp.zeros_like(x), jnp.ones_like(x)), X),
        (lambda x, y: lax.select_n(jnp.bool_(True), x, y), X, Y),
        (lambda x, y: lax.select_n(jnp.array([[0, 1, 2, 1]] * 3, "int32"), x, y, x + y), X, Y),
        (lambda which, x, y: lax.select_n(which, x, y), INTS[:1].repeat(3, 0), X, Y),
        (lambda which, x, y: lax.select_n(which, x, y, x + y), INTS[:1].repeat(3, 0), X, Y),
    ],
    "convert_element_type": [
        (lambda x, to=to: lax.convert_element_type(x, to), x)
        for x in (EDGES, X, INTS, X > 0, HALF, BRAIN)
        for to in ("int32", "uint8", "int8", "float16", "bfloat16", "bool", "complex64")
    ]
    + [
        (lambda x, to=to: CONVERT(x, new_dtype=np.dtype(to), weak_type=False, sharding=None), EDGES.astype("complex64"))
        for to in ("int32", "uint8", "float32")
    ],
    "bitcast_convert_type": [
        (lambda x, to=to: lax.bitcast_convert_type(x, to), x)
        for x, to in ((X, "int32"), (X, "uint8"), (INTS[0, 0], "float32"), (HALF.reshape(3, 2, 2), "float32"))
    ],
    "reduce_precision": [(lambda x: lax.reduce_precision(x, 8, 7), X), (lambda x: lax.reduce_precision(x, 5, 10), X)],
    "copy": [(lambda x: jnp.copy(x), X)],
    "name": [(lambda x: checkpoint_name(x, "x"), X)],
    "stop_gradient": [(lax.stop_gradient, X)],
    "optimization_barrier": [(lax.optimization_barrier, X), (lambda x: lax.optimization_barrier((x, x + 1)), X)],
    "lt_to": [(jnp.searchsorted, np.sort(X[0]), Y), (lax.lt_to_p.bind, EDGES, EDGES[::-1].copy())],
    "le_to": [(lax.le_to_p.bind, EDGES, EDGES[::-1].copy())],
    "reshape": [
        (lambda x: lax.reshape(x, (2, 6)), X),
        (lambda x: lax.reshape(x.T, (2, 6)), X),
        (lambda x: lax.reshape(x, (2, 6), (1, 0)), X),
    ],
    "squeeze": [(lambda x: lax.squeeze(x[:1], (0,)), X)],
    "broadcast_in_dim": [
        (lambda x: lax.broadcast_in_dim(x, (2, 3, 5, 4), (1, 3)), X),
        (lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)), X),
        (lambda x: lax.broadcast_in_dim(x, (1, 3, 4), (1, 2)), X),
        (lambda x: lax.broadcast_in_dim(x, (2, 3), ()), X[0, 0]),
    ],
    "transpose": [(lambda x: lax.transpose(x, (1, 0)), X)],
    "rev": [(lambda x: lax.rev(x, (1,)), X)],
    "slice": [(lambda x: lax.slice(x, (0, 1), (3, 4), (2, 2)), X), (lambda x: x[1:], X)],
    "concatenate": [(lambda x, y: lax.concatenate([x, y], 1), X, Y)],
    "stack": [(lambda x, y: jnp.stack([x, y], 1), X, Y)],
    "split": [(lambda x: lax.split(x, (1, 3), 1), X)],
    "tile": [(lambda x: jnp.tile(x, (2, 1)), X)],
    "pad": [
        (lambda x, c=c: lax.pad(x, 2.0, c), X)
        for c in (((1, 2, 0), (0, 0, 3)), ((-1, 0, 0), (2, -1, 0)), ((-2, 1, 1), (-1, -1, 2)), ((0, -3, 0), (0, 0, 0)))
    ],
    "iota": [(lambda x: x + lax.broadcasted_iota("float32", (3, 4), 1), X)],
    "dynamic_slice": [(lambda x, i: lax.dynamic_slice(x, (i, i), (2, 2)), X, np.int32(i)) for i in (0, 1, 7)],
    "dynamic_update_slice": [
        (lambda x, y, i: lax.dynamic_update_slice(x, y[:2, :2], (i, i)), X, Y, np.int32(i)) for i in (0, 1, 7)
    ],
    "reduce_sum": [(lambda x: jnp.sum(x, 1), x) for x in (X, HALF, BRAIN, INTS, COMPLEX)] + [(jnp.sum, X)],
    "reduce_prod": [(lambda x: jnp.prod(x, 0), X), (lambda x: jnp.prod(x, 0), INTS)],
    "reduce_max": [(lambda x: jnp.max(x, 0), X), (jnp.max, EDGES), (lambda x: lax.reduce_max(x, (0,)), X[:0])],
    "reduce_min": [(lambda x: jnp.min(x, 0), X), (jnp.min, EDGES), (lambda x: lax.reduce_min(x, (0,)), INTS[:0])],
    "reduce_and": [(jnp.all, X > 0), (lambda x: lax.reduce_and(x, (0,)), INTS)],
    "reduce_or": [(lambda x: jnp.any(x, 1), X > 0), (lambda x: lax.reduce_or(x, (0,)), INTS)],
    "reduce_xor": [(lambda x: lax.reduce_xor(x, (0,)), INTS)],
    "argmax": [(lambda x: jnp.argmax(x, 1), X), (lambda x: jnp.argmax(x, 0), EDGES), (jnp.argmax, X > 0)],
    "argmin": [(lambda x: jnp.argmin(x, 0), X), (lambda x: jnp.argmin(x, 0), EDGES)],
    "cumsum": [(lambda x, r=r: lax.cumsum(x, 1, reverse=r), x) for x in (X, INTS, HALF) for r in (False, True)],
    "cumprod": [(lambda x: lax.cumprod(x, 0), X)],
    "cummax": [(lambda x: lax.cummax(x, 1, reverse=True), X)],
    "cummin": [(lambda x: lax.cummin(x, 1), X)],
    "cumlogsumexp": [(lambda x: lax.cumlogsumexp(x, 1), X)],
    "reduce_window_sum": [
        (lambda x: lax.reduce_window(x, 0.0, lax.add, *WINDOWS.values()), X),
        (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 1), ((0, 0), (-1, 2)), (1, 2), (2, 2)), X),
    ],
    "reduce_window_max": [(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, *WINDOWS.values()), X)],
    "reduce_window_min": [(lambda x: lax.reduce_window(x, jnp.inf, lax.min, *WINDOWS.values()), X)],
    "sort": [
        (lambda x: lax.sort(x, 0), X),
        (lax.sort, EDGES),
        (lambda x, y: lax.sort((x, y), 1, num_keys=1), INTS % 2, BY),
        (lambda x, y: lax.sort((x, y, x + y), 1, num_keys=2), INTS % 2, BY),
    ],
    "top_k": [(lambda x: lax.top_k(x, 3), x) for x in (X, INTS % 2, EDGES)],
    "fft": [(jnp.fft.fft, COMPLEX), (jnp.fft.ifft2, COMPLEX), (jnp.fft.rfft, X), (jnp.fft.irfft, COMPLEX)],
    "dot_general": [
        (lambda x, y: x @ y.T, X, Y),
        (lambda x, y: x.T @ y, X, Y),
        (lambda x, y: x @ y, X, np.ascontiguousarray(Y.T)),
        (lambda x, y: jnp.einsum("ij,ij->", x, y), X, Y),
        (lambda x, y: jnp.einsum("ij,ij->i", x, y), X, Y),
        (lambda x, y: jnp.einsum("bij,bkj->bik", x, y), X.reshape(3, 2, 2), Y.reshape(3, 2, 2)),
        (lambda x, y: jnp.einsum("bij,bklj->bikl", x, y), X.reshape(3, 2, 2), Y.reshape(3, 1, 2, 2)),
        (lambda x, y: x @ y.T, INTS, BY),
        (lambda x: x @ x.T, HALF),
        (lambda x: x @ x.T, BRAIN),
        (lambda x: x @ x.T, COMPLEX),
        (lambda x, y: x @ y, X[:0], np.ascontiguousarray(Y.T)),
    ],
    "conv_general_dilated": [
        (lambda x, k, o=o: lax.conv_general_dilated(x, k, dimension_numbers=("NHWC", "HWIO", "NHWC"), **o), x, k)
        for x, k, o in (
            (np.resize(X, (2, 5, 6, 4)), np.resize(Y, (3, 2, 4, 3)), {"window_strides": (1, 2), "padding": "SAME"}),
            (
                np.resize(X, (2, 5, 6, 4)),
                np.resize(Y, (2, 2, 2, 6)),
                {
                    "window_strides": (1, 1),
                    "padding": ((1, 0), (0, 2)),
                    "lhs_dilation": (2, 1),
                    "rhs_dilation": (1, 2),
                    "feature_group_count": 2,
                },
            ),
            (
                np.resize(X, (4, 5, 6, 3)),
                np.resize(Y, (2, 2, 3, 6)),
                {"window_strides": (1, 1), "padding": ((-1, 1), (0, -2)), "batch_group_count": 2},
            ),
            (
                np.resize(INTS, (2, 5, 6, 4)).astype("int8"),
                np.resize(INTS, (2, 2, 4, 3)).astype("int8"),
                {"window_strides": (1, 1), "padding": "SAME", "preferred_element_type": np.int32},
            ),
            (X[:, :0].reshape(1, 3, 1, 0), X[:, :0].reshape(3, 1, 0, 2), {"window_strides": (1, 1), "padding": "SAME"}),
        )
    ],
    "gather": [
        (lambda x, i: x[i], X, np.array([[0, 2], [1, -1]], "int32")),
        (lambda x, i: jnp.take(x, i, 0, mode="fill"), X, np.array([0, 5, -4], "int32")),
        (lambda x, i: jnp.take(x, i, 1, mode="clip"), X, np.array([0, 5, 2], "int32")),
        (lambda x, i: x[i, i + 1], X, np.array([0, 2], "int32")),
        (lambda x, i: jnp.take_along_axis(x, i, 1), X, np.array([[0], [3], [1]], "int32")),
        (lambda x, i: jax.vmap(lambda r, k: lax.dynamic_slice(r, (k,), (2,)))(x, i), X, np.array([0, 3, 1], "int32")),
        (lambda x, i: jnp.take(x, i, 0, mode="fill"), INTS, np.array([0, 9], "int32")),
        (lambda x, i: jnp.take(x, i, 0, mode="fill"), X[0], np.int32(9)),
    ],
    "scatter": [
        (lambda x, i: x.at[i].set(2.0), X, np.array([0, 7], "int32")),
        (lambda x, i: x.at[i, i].set(2.0, mode="clip"), X, np.array([0, 7], "int32")),
        (lambda x, i: jnp.put_along_axis(x, i, 5.0, 1, inplace=False), X, np.array([[0], [3], [1]], "int32")),
    ],
    "scatter-add": [
        (lambda x, y, i: x.at[i].add(y), X, Y, np.array([0, 0, 2], "int32")),
        (lambda x, i: x.at[:, i].add(1.0), X, np.array([1, 1, 9], "int32")),
        (lambda x, i: x.at[i].add(1), HALF, np.array([1, 1, 0], "int32")),
    ],
    "scatter-sub": [(lambda x, y, i: x.at[i].subtract(y), X, Y, np.array([0, 0, 2], "int32"))],
    "scatter-mul": [(lambda x, y, i: x.at[i].multiply(y), X, Y, np.array([0, 0, 2], "int32"))],
    "scatter-min": [(lambda x, y, i: x.at[i].min(y), X, Y, np.array([0, 0, 2], "int32"))],
    "scatter-max": [(lambda x, y, i: x.at[i].max(y), X, Y, np.array([0, 0, 2], "int32"))],
    "cond": [(lambda x, i: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x], x), X, np.int32(i)) for i in (0, 1, 5)],
    "while": [
        (
            jax.vmap(lambda x: lax.while_loop(lambda c: c[1] < 2, lambda c: (c[0] + 1, c[1] + x * x), (0, x))),
            UNIT[0] + 0.1,
        ),
        (lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * x), (0, x)), X),
    ],
    "scan": [
        (lambda x, r=r: lax.scan(lambda c, row: (c + row, c * row), x[0], x, reverse=r), X) for r in (False, True)
    ],
    "called code": [
        (lambda x: jax.nn.relu(x) + jax.nn.relu(x * 2), X),
        (lambda x: jax.checkpoint(lambda y: jnp.sin(y) * y)(x), X),
        (lambda x: jax.grad(lambda y: jnp.sum(jax.nn.gelu(y)))(x), X),
    ],
}  # fmt: skip


def test_every_rule_has_samples():
    names = {name.strip() for name in SAMPLES}
    assert set(RULES) <= names
    assert all(SAMPLES.values())


@pytest.mark.parametrize("name", SAMPLES)
def test_rules_agree_with_jax(name):
    met = set()
    for function, *arguments in SAMPLES[name]:
        closed = jax.make_jaxpr(function)(*arguments)
        met |= {eqn.primitive.name for code in inner_code(closed.jaxpr) for eqn in code.eqns}
        meter.left = 1000
        with np.errstate(all="ignore"):
            found = NumpyProgram(closed.jaxpr)([np.asarray(a) for a in (*closed.consts, *arguments)])
        expected = jax.jit(jaxpr_as_fun(closed))(*arguments)
        for ours, theirs in zip(found, expected, strict=True):
            assert np.asarray(ours).dtype == theirs.dtype and np.shape(ours) == theirs.shape
            tolerance = 2e-2 if theirs.dtype.itemsize <= 2 and theirs.dtype.kind in "fV" else 3e-5
            wide = jnp.complex64 if theirs.dtype.kind == "c" else jnp.float32
            close = [np.asarray(a).astype(wide) for a in (ours, theirs)]
            np.testing.assert_allclose(*close, rtol=tolerance, atol=1e-5)
    assert name not in RULES or name in met


def test_an_unknown_equation_has_no_rule():
    with pytest.raises(NoRule):
        NumpyProgram(jax.make_jaxpr(jnp.linalg.eigvals)(np.eye(2, dtype="float32")).jaxpr)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.at[np.array([0, 2])].apply(jnp.sin),
        lambda x: lax.mul(x, x, out_dtype=jnp.bfloat16),
        lambda x: lax.integer_pow(x.astype("int8"), 300),
    ],
)
def test_a_variant_of_an_equation_that_numpy_does_not_compute_has_no_rule(function):
    with pytest.raises(NoRule):
        NumpyProgram(jax.make_jaxpr(function)(X).jaxpr)


def test_loops_that_are_too_long_stop():
    closed = jax.make_jaxpr(lambda x: lax.while_loop(lambda c: c < 1e6, lambda c: c + 1, x))(0.0)
    meter.left = 100
    with pytest.raises(TooLong):
        NumpyProgram(closed.jaxpr)([np.float32(0)])


# ---------------------------------------------------------------------------------------------------------------------
# Functions


@pytest.fixture
def on_numpy(monkeypatch, cold):
    """Functions are compiled when it is worth it, as users have it; the compilations are counted."""
    monkeypatch.setattr(first_calls.setting, "at_once", False)
    monkeypatch.setattr(first_calls.setting, "never", False)
    compilations = []
    compile = first_calls.FirstCalls.compiled
    monkeypatch.setattr(
        first_calls.FirstCalls, "compiled", lambda self: compilations.append(self) or compile(self)
    )
    return compilations


def test_a_function_is_compiled_after_many_calls(on_numpy):
    square = tf.function(lambda x: x * x + 1.0)
    x = tf.constant([1.0, 2.0])
    results = [square(x) for _ in range(first_calls._MOST)]
    assert not on_numpy
    results += [square(x) for _ in range(3)]
    assert len(on_numpy) == 1
    assert {tuple(r.numpy().tolist()) for r in results} == {(2.0, 5.0)}
    assert square.experimental_get_tracing_count() == 1


def test_a_function_with_jit_compile_is_compiled_at_once(on_numpy):
    square = tf.function(lambda x: x * x, jit_compile=True)
    assert float(square(tf.constant(3.0))) == 9.0
    (program,) = square._programs.values()
    assert type(program.executable.compiled) is not first_calls.FirstCalls


def test_training_goes_on_through_the_change(on_numpy):
    x = tf.constant(X)

    def train(steps, at_once):
        w, adam = tf.Variable(tf.ones((4, 2))), tf.optimizers.Adam(0.1)

        @tf.function(jit_compile=at_once)
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.tanh(x @ w) - 0.3))
            adam.apply_gradients([(tape.gradient(loss, w), w)])
            return loss, w.read_value()

        return [tuple(np.array(t) for t in step(x)) for _ in range(steps)], w

    steps = first_calls._MOST + 5
    found, w = train(steps, None)
    assert len(on_numpy) == 1
    expected, v = train(steps, True)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(w, v, rtol=1e-3, atol=1e-4)


def test_results_keep_their_values_when_variables_are_written_in_place(on_numpy):
    v = tf.Variable(tf.zeros(1000))

    @tf.function
    def step():
        before = v.read_value()
        v.assign_add(tf.ones(1000))
        return before, tf.reshape(v, (10, 100)), v[:5]

    kept = [step() for _ in range(first_calls._MOST + 4)]
    for i, (before, reshaped, part) in enumerate(kept):
        assert set(before.numpy()) == {i} and set(reshaped.numpy().ravel()) == {i + 1} == set(part.numpy())


@pytest.mark.parametrize("calls", [0, first_calls._MOST])
def test_an_interrupt_of_the_first_compiled_call_leaves_variables_as_they_were(on_numpy, monkeypatch, calls):
    v = tf.Variable(tf.ones(8))

    @tf.function(jit_compile=not calls)
    def step():
        v.assign_add(tf.ones(8))

    for _ in range(calls):
        step()

    make_ready = pjit._get_fastpath_data  # JAX calls it after the first call of a program

    def interrupt(executable, tree, arguments, *others):
        if any(isinstance(a, ArrayImpl) and a.is_deleted() for a in arguments):  # the program has written
            raise KeyboardInterrupt
        return make_ready(executable, tree, arguments, *others)

    with monkeypatch.context() as patch:
        patch.setattr(pjit, "_get_fastpath_data", interrupt)
        with pytest.raises(KeyboardInterrupt):
            step()
    assert v.numpy().tolist() == [1.0 + calls] * 8
    step()
    step()
    assert v.numpy().tolist() == [3.0 + calls] * 8


def test_gradients_of_tapes_outside(on_numpy):
    f = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * x**2))
    x = tf.constant(X)
    for _ in range(first_calls._MOST + 2):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
        second = outer.gradient(first, x)
        np.testing.assert_allclose(first, np.cos(X) * X**2 + 2 * X * np.sin(X), rtol=1e-4, atol=1e-5)
        expected = -np.sin(X) * X**2 + 4 * X * np.cos(X) + 2 * np.sin(X)
        np.testing.assert_allclose(second, expected, rtol=1e-4, atol=1e-5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(tf.sin)(x)
    np.testing.assert_allclose(
        tape.jacobian(y, x).numpy().reshape(12, 12).diagonal(), np.cos(X).ravel(), rtol=1e-5
    )


def test_gradients_of_grouped_convolutions(on_numpy):
    image, filters = tf.constant(np.resize(X, (2, 5, 6, 4))), tf.constant(np.resize(Y, (2, 2, 2, 6)))
    found = []
    convolve = lambda x, k: tf.nn.conv2d(x, k, 1, "SAME")
    for function in (convolve, tf.function(convolve)):
        with tf.GradientTape() as tape:
            tape.watch([image, filters])
            y = function(image, filters)
        found.append(tape.gradient(y, [image, filters]))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_the_numbers_drawn_do_not_depend_on_who_computes_them(on_numpy):
    draw = tf.function(lambda: tf.random.uniform([4], maxval=1000, dtype=tf.int32))
    tf.random.set_seed(3)
    on_host = [draw().numpy().tolist() for _ in range(3)]
    for _ in range(first_calls._MOST):
        draw()
    assert len(on_numpy) == 1
    tf.random.set_seed(3)
    assert [draw().numpy().tolist() for _ in range(3)] == on_host


def test_a_long_loop_is_compiled_in_its_first_call(on_numpy):
    @tf.function
    def count(n):
        i = tf.constant(0)
        while i < n:
            i += 1
        return i

    assert int(count(tf.constant(1_000_000))) == 1_000_000
    assert len(on_numpy) == 1


def test_loops_of_several_calls_count_together(on_numpy):
    @tf.function
    def count(n):
        i = tf.constant(0)
        while i < n:
            i += 1
        return i

    calls = 0
    while not on_numpy:
        calls += 1
        assert int(count(tf.constant(500))) == 500
    assert 1 < calls < 20


def test_costly_calls_are_compiled_sooner(on_numpy):
    f = tf.function(lambda x: tf.tanh(x * x + x) * tf.exp(-x))
    x = tf.zeros(1_000_000)
    for _ in range(8):
        f(x)
    assert len(on_numpy) == 1


def test_what_numpy_cannot_compute_is_compiled(on_numpy):
    factor = tf.function(tf.linalg.cholesky)
    np.testing.assert_allclose(
        factor(tf.constant([[4.0, 2.0], [2.0, 3.0]])), [[2.0, 0.0], [1.0, 2**0.5]], rtol=1e-6
    )
    assert len(on_numpy) == 1


def test_with_op_determinism_all_calls_give_the_same_bits(on_numpy, monkeypatch):
    monkeypatch.setattr(first_calls.settings, "op_determinism", True)
    f = tf.function(lambda x: tf.reduce_sum(tf.tanh(x)))
    f(tf.constant(X))
    (program,) = f._programs.values()
    assert type(program.executable.compiled) is not first_calls.FirstCalls


def test_threads_share_a_function(on_numpy):
    f = tf.function(lambda x: tf.reduce_sum(x * x))
    f(tf.constant(X))
    wrong = []

    def run(n):
        x = tf.fill([4], float(n))
        for _ in range(60):
            if float(f(x)) != 4.0 * n * n:
                wrong.append(n)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
