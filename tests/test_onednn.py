"""Convolutions by oneDNN inside XLA: which ones, and that they compute the same as XLA's own."""

import functools
import platform

import jax
import jaxlib
import numpy as np
import pytest

import gradtape as tf
from gradtape.compiled import onednn
from gradtape.compiled.jaxprs import inner_code

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or jax.default_backend() != "cpu", reason="XLA without oneDNN"
)


@pytest.fixture(autouse=True)
def _small_ones_too(monkeypatch):
    monkeypatch.setattr(onednn, "_LEAST", 0)


def numbers(*shape, dtype="float32"):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def code_of(function, *arrays):
    """The code with convolutions by oneDNN, and its constants."""
    closed = jax.make_jaxpr(function)(*arrays)
    return onednn.by_onednn(closed.jaxpr), closed.consts


def count(jaxpr):
    return sum(eqn.primitive is onednn.convolution for code in inner_code(jaxpr) for eqn in code.eqns)


def convolution(rank, strides=1, pads="SAME", dilation=1, groups=1):
    space = "XYZ"[:rank]
    return lambda x, f: jax.lax.conv_general_dilated(
        x,
        f,
        (strides,) * rank,
        pads,
        rhs_dilation=(dilation,) * rank,
        dimension_numbers=(f"N{space}C", f"{space}IO", f"N{space}C"),
        feature_group_count=groups,
    )


def test_the_version_of_jaxlib_is_one_that_was_tested():
    # Another one may read the configuration differently, and end the process. Run this file with its version in
    # TESTED, and bench/convolutions.py, before it is added there.
    assert jaxlib.__version__ in onednn.TESTED


@pytest.mark.parametrize(
    ("x", "filters", "options"),
    [
        ((3, 9, 5), (3, 5, 7), {"rank": 1}),
        ((2, 8, 6, 3), (3, 3, 3, 4), {"rank": 2}),
        ((2, 8, 6, 3), (1, 1, 3, 4), {"rank": 2}),
        ((2, 8, 6, 16), (3, 2, 16, 32), {"rank": 2, "pads": "VALID"}),
        ((2, 9, 8, 16), (3, 5, 16, 32), {"rank": 2, "strides": 2}),
        ((2, 9, 8, 17), (3, 3, 17, 1), {"rank": 2, "dilation": 2}),
        ((2, 9, 8, 17), (3, 3, 17, 33), {"rank": 2, "strides": 3, "dilation": 2, "pads": ((4, 0), (1, 2))}),
        ((1, 5, 6, 7, 4), (2, 3, 3, 4, 8), {"rank": 3}),
        ((1, 5, 6, 7, 4), (3, 3, 3, 4, 8), {"rank": 3, "strides": 2, "pads": "VALID"}),
    ],
)
def test_values_are_those_of_xla(x, filters, options):
    function, arrays = convolution(**options), (numbers(*x), numbers(*filters))
    code, constants = code_of(function, *arrays)
    assert count(code) == 1
    compiled = jax.jit(functools.partial(jax.core.eval_jaxpr, code, constants)).lower(*arrays).compile()
    assert onednn.TARGET in compiled.as_text()
    np.testing.assert_allclose(compiled(*arrays)[0], function(*arrays), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("strides", "expected"), [(1, 1), (2, 0)])
def test_the_gradient_by_the_input_is_one_as_well_without_strides(strides, expected):
    x, f = numbers(2, 8, 8, 16), numbers(3, 3, 16, 24)
    function = convolution(2, strides)
    by_input = lambda y, f: jax.linear_transpose(lambda x: function(x, f), x)(y)[0]
    y = numbers(*function(x, f).shape)
    code, constants = code_of(by_input, y, f)
    assert count(code) == expected
    got = jax.jit(functools.partial(jax.core.eval_jaxpr, code, constants))(y, f)[0]
    np.testing.assert_allclose(got, by_input(y, f), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("x", "filters", "options"),
    [
        ((2, 8, 6, 4), (3, 3, 2, 4), {"rank": 2, "groups": 2}),
        ((2, 8, 6, 3), (3, 3, 3, 4), {"rank": 2, "pads": ((3, 0), (0, 0))}),  # more zeros than a window has
        ((2, 8, 6, 3), (3, 3, 3, 4), {"rank": 2, "pads": ((-1, 0), (0, 0))}),
        ((0, 8, 6, 3), (3, 3, 3, 4), {"rank": 2}),
    ],
)
def test_others_stay_with_xla(x, filters, options):
    code, _ = code_of(convolution(**options), numbers(*x), numbers(*filters))
    assert count(code) == 0


def test_double_and_half_precision_stay_with_xla():
    with jax.enable_x64(True):
        for dtype in ("float64", "float16"):
            x, f = numbers(2, 8, 6, 3, dtype=dtype), numbers(3, 3, 3, 4, dtype=dtype)
            assert count(code_of(convolution(2), x, f)[0]) == 0


def test_small_ones_stay_with_xla(monkeypatch):
    monkeypatch.undo()
    small, large = numbers(8, 14, 14, 32), numbers(32, 14, 14, 32)
    f = numbers(3, 3, 32, 64)
    assert count(code_of(convolution(2), small, f)[0]) == 0
    assert count(code_of(convolution(2), large, f)[0]) == 1


def test_programs_that_jax_writes_to_disk_have_none(monkeypatch, tmp_path):
    arrays = numbers(2, 8, 6, 3), numbers(3, 3, 3, 4)
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    try:
        assert count(code_of(convolution(2), *arrays)[0]) == 0
    finally:
        jax.config.update("jax_compilation_cache_dir", before)


def test_loops_and_branches_have_them():
    def program(x, f):
        step = lambda i, x: convolution(2)(x, f) * 0.1
        x = jax.lax.fori_loop(0, 3, step, x)
        return jax.lax.cond(x.sum() > 0, lambda: convolution(2)(x, f), lambda: convolution(2)(-x, f))

    x, f = numbers(2, 8, 6, 4), numbers(3, 3, 4, 4)
    code, constants = code_of(program, x, f)
    assert count(code) == 3
    got = jax.jit(functools.partial(jax.core.eval_jaxpr, code, constants))(x, f)[0]
    np.testing.assert_allclose(got, program(x, f), rtol=1e-4, atol=1e-4)


def test_several_at_once_are_xlas():
    x, f = numbers(5, 2, 8, 6, 4), numbers(3, 3, 4, 4)
    code, constants = code_of(convolution(2), x[0], f)
    evaluate = lambda x: jax.core.eval_jaxpr(code, constants, x, f)[0]
    got = jax.jit(jax.vmap(evaluate))(x)
    np.testing.assert_allclose(got, jax.vmap(lambda x: convolution(2)(x, f))(x), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("strides", [1, 2])
def test_a_training_step_and_its_second_order_are_those_of_eager_code(strides):
    x, f = tf.constant(numbers(4, 10, 10, 16)), tf.Variable(numbers(3, 3, 16, 32) * 0.1)

    def gradients(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                y = tf.nn.relu(tf.nn.conv2d(x, f, strides, "SAME"))
                loss = tf.reduce_sum(y * y * y)
            first = inner.gradient(loss, f)
            penalty = tf.reduce_sum(first * first)
        return first, *outer.gradient(penalty, [x, f])

    compiled = tf.function(gradients, jit_compile=True)
    for got, wanted in zip(compiled(x), gradients(x), strict=True):
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(got / scale, wanted / scale, atol=2e-6)


def test_a_jacobian_through_a_function_is_that_of_eager_code():
    x, f = tf.constant(numbers(1, 6, 6, 4)), tf.constant(numbers(3, 3, 4, 2))
    convolve = lambda x: tf.nn.conv2d(x, f, 1, "VALID")
    jacobians = []
    for function in (convolve, tf.function(convolve, jit_compile=True)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        jacobians.append(tape.jacobian(y, x))
    np.testing.assert_allclose(*jacobians, rtol=1e-5, atol=1e-5)
