"""Every primitive, and what is made of several, gives on XLA what it gives on NumPy: its value and its derivatives.

The arrays of tensors are traced here by `jax.jit` itself, as `@function` does it. Of every second sample all inputs are
traced, and the weights of the outputs; of the others only what is differentiated by, so that arrays of both kinds meet.
"""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np
import pytest

import gradtape as tf
from gradtape.core.tensor import wrap

from .checks import agree
from .composed import COMPOSED
from .derivatives import Sample, run_once, unflat
from .samples import SAMPLES
from .test_registry import PRIMITIVES, RULES

TOLERANCE = 1e-12  # relative to the largest number: the same steps, in another order


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def weights(sample: Sample) -> list[np.ndarray]:
    return unflat(sample.weights, sample.outputs)


def arrays_of(tensors) -> list:
    return [tf.convert_to_tensor(t)._array for t in tensors]


def first_order(sample: Sample, inputs, by) -> tuple[list, list]:
    """The outputs, and the gradient of their sum weighted `by`, of arrays of any kind."""
    tensors = [wrap(a) for a in inputs]
    moving = [tensors[i] for i in sample.moving]
    with tf.GradientTape() as tape:
        tape.watch(moving)
        outputs = sample.call(tensors)
    gradient = tape.gradient(outputs, moving, by) if moving else []
    return arrays_of(outputs), arrays_of(gradient)


def second_order(sample: Sample, inputs, by, direction) -> list:
    """The gradient of the gradient along a direction."""
    tensors = [wrap(a) for a in inputs]
    moving = [tensors[i] for i in sample.moving]
    with tf.GradientTape() as outer:
        outer.watch(moving)
        with tf.GradientTape() as inner:
            inner.watch(moving)
            outputs = sample.call(tensors)
        first = [tf.convert_to_tensor(g) for g in inner.gradient(outputs, moving, by)]
    return arrays_of(outer.gradient(first, moving, direction, "zero"))


def same(got, wanted, sample: Sample) -> None:
    """Of the same shapes, dtypes and values, or nan where there are none."""
    for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), sample
        if y.dtype.kind in "fc":
            agree(np.asarray(x), y, sample, TOLERANCE)
        else:
            assert np.array_equal(x, y), sample


def with_inputs(sample: Sample, traced, positions) -> list:
    """The inputs, those at some positions replaced by traced ones."""
    inputs = list(sample.inputs)
    for i, array in zip(positions, traced, strict=True):
        inputs[i] = array
    return inputs


@pytest.mark.parametrize("name", PRIMITIVES)
def test_value_and_gradient_at_every_sample(name):
    samples = SAMPLES[name]

    def everything(traced):
        results = []
        for k, (sample, (inputs, by)) in enumerate(zip(samples, traced, strict=True)):
            if k % 2 and sample.moving:
                inputs = with_inputs(sample, [inputs[i] for i in sample.moving], sample.moving)
                by = weights(sample)
            results.append(first_order(sample, inputs, by))
        return results

    got = run_once(everything, [(sample.inputs, weights(sample)) for sample in samples])
    for sample, found in zip(samples, got, strict=True):
        same(found, first_order(sample, sample.inputs, weights(sample)), sample)


# What XLA cannot: shapes that depend on values. tests/test_traced.py has the public functions.
CANNOT = {"COMPOSED['getitem'][23]": "the shape of the result depends on the values of the mask"}


def cannot(sample: Sample) -> str | None:
    return CANNOT.get(sample.label.partition(" = ")[0])


@pytest.mark.parametrize("name", COMPOSED)
def test_functions_made_of_several_primitives(name):
    samples = [sample for sample in COMPOSED[name] if not cannot(sample)]

    def everything(points):
        return [
            first_order(sample, with_inputs(sample, moving, sample.moving), weights(sample))
            for sample, moving in zip(samples, points, strict=True)
        ]

    got = run_once(everything, [[sample.inputs[i] for i in sample.moving] for sample in samples])
    for sample, found in zip(samples, got, strict=True):
        same(found, first_order(sample, sample.inputs, weights(sample)), sample)


def test_what_xla_cannot_says_so():
    refused = [sample for samples in COMPOSED.values() for sample in samples if cannot(sample)]
    assert len(refused) == len(CANNOT)
    for sample in refused:
        with pytest.raises(tf.errors.InvalidArgumentError, match=cannot(sample)):
            jax.eval_shape(lambda *inputs, s=sample: first_order(s, inputs, weights(s)), *sample.inputs)


def telling(name: str) -> Sample:
    """The sample of a primitive that says most: of those with the most inputs that move, the largest."""
    return max(SAMPLES[name], key=lambda s: (len(s.moving), len(s.point), len(s.outputs)))


@pytest.mark.parametrize("name", RULES)
def test_second_order(name):
    sample = telling(name)
    direction = unflat(sample.direction, [sample.inputs[i] for i in sample.moving])
    arguments = (sample.inputs, weights(sample), direction)
    got = run_once(lambda *arguments: second_order(sample, *arguments), *arguments)
    same(got, second_order(sample, *arguments), sample)


@pytest.mark.parametrize("name", [name for name in RULES if len(telling(name).inputs) > 1])
def test_any_one_input_may_be_traced(name):
    sample = telling(name)
    wanted = jax.tree.map(np.shape, first_order(sample, sample.inputs, weights(sample)))
    for i, x in enumerate(sample.inputs):
        shapes = jax.eval_shape(
            lambda x, i=i: first_order(sample, with_inputs(sample, [x], [i]), weights(sample)), x
        )
        assert jax.tree.map(lambda s: s.shape, shapes) == wanted


NARROW = [
    {np.dtype("float64"): np.dtype("float32"), np.dtype("complex128"): np.dtype("complex64")},
    {np.dtype("float64"): np.dtype(ml_dtypes.bfloat16)},
]


WIDE = {"complex", "rfft"}  # their public functions take float32 and float64 only


@pytest.mark.parametrize("name", [name for name in PRIMITIVES if not telling(name).fixed_dtype])
@pytest.mark.parametrize("narrow", NARROW, ids=["float32", "bfloat16"])
def test_dtypes_stay_what_they_are(name, narrow):
    if narrow is not NARROW[0] and name in WIDE:
        return
    sample = telling(name)
    inputs = [a.astype(narrow.get(a.dtype, a.dtype)) for a in sample.inputs]
    by = [w.astype(narrow.get(w.dtype, w.dtype)) for w in weights(sample)]
    try:
        wanted = first_order(sample, inputs, by)
    except (ValueError, TypeError):
        return  # NumPy has no such dtype for it
    shapes = jax.eval_shape(lambda *arguments: first_order(sample, *arguments), inputs, by)
    assert jax.tree.map(lambda s: s.dtype, shapes) == jax.tree.map(lambda a: a.dtype, wanted)
