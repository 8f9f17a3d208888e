"""Half precision adds up in float32 and rounds once: what takes 100,000 numbers together is as good as its dtype."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any
from zlib import crc32

import jax
import ml_dtypes
import numpy as np
import pytest

import gradtape as tf
from gradtape.core.primitive import Listener, Primitive, local
from gradtape.core.tensor import wrap

from .derivatives import Sample, dense, listed
from .reductions import ONLY_EAGER, TABLE, N
from .samples import SAMPLES
from .test_other_dtypes import REFUSED

HALF = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
# Of the largest number: one for the rounding of the result, one for what elementwise steps before it have rounded.
# The gradient of log_softmax is made of the rounded logarithms, of which exp makes much.
ULPS = {"log_softmax": 6}

# ---------------------------------------------------------------------------------------------------------------------
# The table


@cache
def given(name: str, dtype: str) -> list[np.ndarray]:
    """The inputs of a row as float64, each a number that the dtype has."""
    draw = np.random.default_rng(crc32(name.encode()))
    arrays = [i(draw) if callable(i) else draw.uniform(0, 1, i) for i in TABLE[name][1:]]
    return [np.asarray(a).astype(HALF[dtype]).astype(np.float64) for a in arrays]


def weights(outputs: list[Any], dtype: str) -> list[np.ndarray]:
    """A weight for each element of the outputs, the same on every run."""
    draw = np.random.default_rng(7)
    return [draw.uniform(0, 1, tuple(o.shape)).astype(HALF[dtype]).astype(np.float64) for o in outputs]


def run(name: str, inputs: list[Any], by: list[Any]) -> list[Any]:
    """The outputs of a row, and the gradients of their sum weighted `by`."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = listed(TABLE[name][0](*inputs))
    by = [tf.cast(w, o.dtype) for w, o in zip(by, outputs, strict=True)]
    return [*outputs, *[tf.convert_to_tensor(g) for g in tape.gradient(outputs, inputs, by)]]


@cache
def truth(name: str, dtype: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What `run` gives in float64, and the weights."""
    inputs = [tf.constant(x) for x in given(name, dtype)]
    by = weights(listed(TABLE[name][0](*inputs)), dtype)
    return [dense(o) for o in run(name, inputs, [tf.constant(w) for w in by])], by


def close(got: list[Any], name: str, dtype: str) -> None:
    for g, wanted in zip(got, truth(name, dtype)[0], strict=True):
        assert g.dtype.name in (dtype, "float32")
        about = ml_dtypes.finfo(HALF[dtype])
        bound = ULPS.get(name, 2) * float(about.eps) * np.abs(wanted).max() + float(about.smallest_subnormal)
        np.testing.assert_allclose(dense(g).astype(np.float64), wanted, rtol=0, atol=bound, err_msg=name)


def halves(arrays: list[np.ndarray], dtype: str) -> list[Any]:
    return [tf.constant(x.astype(HALF[dtype])) for x in arrays]


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", TABLE)
def test_values_and_gradients_are_those_of_float64(name, dtype):
    inputs, by = halves(given(name, dtype), dtype), halves(truth(name, dtype)[1], dtype)
    close(run(name, inputs, by), name, dtype)
    with Heard():  # where somebody listens, gradients are computed on tensors
        close(run(name, inputs, by), name, dtype)


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", [name for name in TABLE if name not in ONLY_EAGER])
def test_compiled(name, dtype):
    inputs, by = halves(given(name, dtype), dtype), halves(truth(name, dtype)[1], dtype)
    if dtype == "float16":  # the tape inside of the function
        close(tf.function(lambda *xs: run(name, list(xs), by))(*inputs), name, dtype)
        return
    with tf.GradientTape() as tape:  # the tape outside
        tape.watch(inputs)
        outputs = listed(tf.function(TABLE[name][0])(*inputs))
    by = [tf.cast(w, o.dtype) for w, o in zip(by, outputs, strict=True)]
    close([*outputs, *tape.gradient(outputs, inputs, by)], name, dtype)


# ---------------------------------------------------------------------------------------------------------------------
# No primitive is left out


class Heard(Listener):
    """Notes the names of the primitives that are computed in its block, those of rules among them."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def _on_operation(self, primitive, inputs, attributes, out) -> None:
        self.names.add(primitive.name)

    def __enter__(self) -> Heard:
        local.here.tapes = [*local.here.tapes, self]
        return self

    def __exit__(self, *exception) -> None:
        local.here.tapes = [tape for tape in local.here.tapes if tape is not self]


# What JAX calls its sums and products of many numbers.
ACCUMULATING = {
    *(
        "reduce_sum",
        "reduce_prod",
        "cumsum",
        "cumprod",
        "cumlogsumexp",
        "dot_general",
        "conv_general_dilated",
    ),
    *("reduce_window", "reduce_window_sum", "scatter-add", "scatter-mul", "scatter_add", "scatter_mul"),
}

# Of single precision: the public functions take no other.
QUANTIZED = {"fake_quant", "fake_quant_region"}

# Of matrices, and computed by LAPACK: how good they are is a matter of the matrix.
BY_LAPACK = {
    *(
        "inv",
        "solve",
        "triangular_solve",
        "tridiagonal_solve",
        "cholesky",
        "lu",
        "qr",
        "pinv",
        "eigh",
        "eigvalsh",
    ),
    *("eig", "eigvals", "svd", "singular_values", "det", "cofactors", "cofactors_slope", "slogdet"),
    *("expm", "sqrtm"),
}
PRIMITIVES = [name for name in SAMPLES if name in Primitive.registry]


def steps(jaxpr: Any) -> Iterator[Any]:
    """All steps of a jaxpr, those of the ones inside it among them."""
    for step in jaxpr.eqns:
        yield step
        for parameter in step.params.values():
            for inner in parameter if isinstance(parameter, (tuple, list)) else [parameter]:
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from steps(inner)


def halved(sample: Sample) -> list[np.ndarray]:
    return [x.astype(ml_dtypes.bfloat16) if x.dtype == np.float64 else x for x in sample.inputs]


@cache
def accumulated(name: str) -> set[str]:
    """The floating dtypes in which the samples of a primitive, values and gradients, add up or multiply in bfloat16."""
    found = set()
    for sample in SAMPLES[name]:
        floating = [x for x in sample.inputs if x.dtype.kind in "fc"]
        if any(x.dtype != np.float64 for x in floating) or sample.rounds or sample.fixed_dtype:
            continue
        inputs = halved(sample)

        def both(moving, sample=sample, inputs=inputs):
            tensors = [wrap(x) for x in inputs]
            for i, x in zip(sample.moving, moving, strict=True):
                tensors[i] = wrap(x)
            sources = [tensors[i] for i in sample.moving]
            with tf.GradientTape() as tape:
                tape.watch(sources)
                outputs = sample.call(tensors)
            gradients = tape.gradient([o for o in outputs if o.dtype.is_floating], sources) if sources else []
            return [tf.convert_to_tensor(t)._array for t in [*outputs, *gradients]]

        with jax.enable_x64(True):
            program = jax.make_jaxpr(both)([inputs[i] for i in sample.moving])
        for step in steps(program.jaxpr):
            if step.primitive.name in ACCUMULATING:
                found.update(str(v.aval.dtype) for v in (*step.invars, *step.outvars))
    return {dtype for dtype in found if "float" in dtype}


TRACED = [name for name in PRIMITIVES if "bfloat16" not in REFUSED.get(name, (None, ()))[1]]


@pytest.mark.parametrize("name", TRACED)
def test_no_primitive_accumulates_in_half_precision_when_compiled(name):
    assert "bfloat16" not in accumulated(name)


def test_every_primitive_that_accumulates_is_in_the_table():
    watched = Heard()
    for name in TABLE:
        with watched:
            run(name, halves(given(name, "float16"), "float16"), halves(truth(name, "float16")[1], "float16"))
    # Those that broadcast have one transpose, whatever they compute.
    alone = [name for name in TRACED if not Primitive.registry[name].elementwise]
    needed = {name for name in alone if accumulated(name)} | {
        name for name in PRIMITIVES if Primitive.registry[name].wide
    }
    assert sorted(needed - watched.names - BY_LAPACK - QUANTIZED) == [], (
        "primitives without a row in reductions.py"
    )
    assert [name for name in sorted(BY_LAPACK) if not Primitive.registry[name].wide] == []


# ---------------------------------------------------------------------------------------------------------------------
# Second order

BENT = {
    "a bias": lambda x, b: (x + b) ** 3,
    "a factor": lambda x, b: tf.square(x * b),
    "reduce_mean": lambda x, b: tf.reduce_mean((x * b) ** 2, 0),
    "reduce_variance": lambda x, b: tf.math.reduce_variance(x * b, 0),
    "logsumexp": lambda x, b: tf.reduce_logsumexp(x * b, 0),
    "softmax": lambda x, b: tf.square(2000.0 * tf.nn.softmax(x * b, 0)),
    "norm": lambda x, b: tf.norm((x * b) ** 2, axis=0),
    "matmul": lambda x, b: tf.square(tf.matmul(x, b[:, None])),
    "cumsum": lambda x, b: tf.square(tf.cumsum(x * b, -1)),
    "gather": lambda x, b: tf.square(tf.gather(b, np.arange(N) % len(b))),
}


def bent(function: Any, x: Any, b: Any) -> Any:
    """The gradient by `b` of the sum of its gradient."""
    with tf.GradientTape() as outer:
        outer.watch(b)
        with tf.GradientTape() as inner:
            inner.watch(b)
            y = function(x, b)
        g = tf.convert_to_tensor(inner.gradient(y, b))
    return tf.convert_to_tensor(outer.gradient(g, b))


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", BENT)
def test_second_order(name, dtype):
    draw = np.random.default_rng(8)
    shape = (N // 50, 50)
    x, b = (a.astype(HALF[dtype]) for a in (draw.uniform(0, 0.2, shape), draw.uniform(0.5, 1, 50)))
    wanted = bent(BENT[name], *(tf.constant(a.astype(np.float64)) for a in (x, b))).numpy()
    bound = 4 * float(ml_dtypes.finfo(HALF[dtype]).eps) * np.abs(wanted).max()
    for run in (bent, tf.function(bent)):
        got = run(BENT[name], tf.constant(x), tf.constant(b))
        assert got.dtype.name == dtype
        np.testing.assert_allclose(got.numpy().astype(np.float64), wanted, rtol=0, atol=bound)


# ---------------------------------------------------------------------------------------------------------------------
# Many additions to one place


def eager_and_compiled(function: Any) -> list[np.ndarray]:
    return [dense(f()).astype(np.float64) for f in (function, tf.function(function))]


@pytest.mark.parametrize("dtype", HALF)
def test_gradients_of_a_weight_that_is_used_many_times_are_added_up_in_float32(dtype):
    w, x = tf.Variable(tf.ones(3, dtype)), tf.constant([1.0, 2.0, 4.0], dtype)

    def gradient() -> Any:
        with tf.GradientTape() as tape:
            uses = [tf.reduce_sum(w * x) for _ in range(400)]
        return tape.gradient(uses, w)

    def gradient_of_gradient() -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                uses = [tf.reduce_sum(w * w * x) for _ in range(200)]
            g = tape.gradient(uses, w)
        return outer.gradient(g, w)

    for function in (gradient, gradient_of_gradient):
        for got in eager_and_compiled(function):
            np.testing.assert_array_equal(got, [400, 800, 1600])


@pytest.mark.parametrize("dtype", HALF)
def test_a_weight_that_is_both_gathered_from_and_used_whole(dtype):
    w = tf.Variable(tf.ones((2, 1), dtype))

    def gradient() -> Any:
        with tf.GradientTape() as tape:
            uses = [tf.gather(w, [0] * 32) for _ in range(16)] + [w * 1.0 for _ in range(512)]
        return tape.gradient(uses, w)

    for got in eager_and_compiled(gradient):
        np.testing.assert_array_equal(got, [[1024], [512]])


@pytest.mark.parametrize("dtype", HALF)
def test_rows_for_one_place_of_a_variable_are_added_up_in_float32(dtype):
    rows = tf.IndexedSlices(tf.ones((1000, 1), dtype), np.zeros(1000, np.int32), (2, 1))
    v = tf.Variable(tf.zeros((2, 1), dtype))
    v.scatter_add(rows)
    assert v.numpy().astype(float).tolist() == [[1000], [0]]
    tf.function(lambda: v.scatter_sub(rows))()
    assert v.numpy().astype(float).tolist() == [[0], [0]]
    tf.optimizers.SGD(1.0).apply_gradients([(rows, v)])
    assert v.numpy().astype(float).tolist() == [[-1000], [0]]


@pytest.mark.parametrize("dtype", HALF)
def test_a_mean_is_right_where_only_its_sum_is_out_of_range(dtype):
    x = tf.fill((300, 300), tf.constant(2.0, dtype))
    for got in eager_and_compiled(lambda: tf.reduce_mean(x)):
        assert got == 2
    for got in eager_and_compiled(lambda: tf.reduce_mean(x * 16384.0)):
        assert got == 32768
