"""Every primitive in half precision, and in complex numbers: right, or refused with a word about the dtype.

float64 and float32 are checked at every sample elsewhere; here one sample of each primitive is enough.
"""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import gradtape as tf
from gradtape.core.primitive import Primitive

from . import checks
from .derivatives import Sample, dense, flat, unflat
from .samples import SAMPLES

HALF = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
PRIMITIVES = [name for name in SAMPLES if name in Primitive.registry]


def one_sample(name: str) -> Sample | None:
    """The first sample of real numbers in any dtype, with something to compute."""
    for sample in SAMPLES[name]:
        floating = [x for x in sample.inputs if x.dtype.kind in "fc"]
        real = all(x.dtype == np.float64 for x in floating)
        if floating and real and not (sample.rounds or sample.fixed_dtype) and flat(sample.outputs).size:
            return sample
    return None


SAMPLED = [name for name in PRIMITIVES if one_sample(name)]

# ---------------------------------------------------------------------------------------------------------------------
# Half precision

# What has no half precision, as in TensorFlow: the public function that says so, and which.
_ANY, _BFLOAT16 = {"float16", "bfloat16"}, {"bfloat16"}
REFUSED = {
    "complex": (tf.complex, _ANY),
    "rfft": (tf.signal.rfft, _ANY),
    "dct": (tf.signal.dct, _ANY),
    "eig": (tf.linalg.eig, _ANY),
    "eigvals": (tf.linalg.eigvals, _ANY),
    "eigh": (tf.linalg.eigh, _BFLOAT16),
    "eigvalsh": (tf.linalg.eigvalsh, _BFLOAT16),
    "inv": (tf.linalg.inv, _BFLOAT16),
    "cofactors_slope": (lambda x, y: tf.linalg.det(x), _BFLOAT16),
    "lu": (tf.linalg.lu, _BFLOAT16),
    "svd": (tf.linalg.svd, _BFLOAT16),
    "singular_values": (lambda x: tf.linalg.svd(x, compute_uv=False), _BFLOAT16),
    "pinv": (tf.linalg.pinv, _BFLOAT16),
}


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", SAMPLED)
def test_half_precision(name, dtype):
    sample = one_sample(name)
    half = HALF[dtype]
    # What the inputs and weights are in half precision is what they are.
    inputs = tuple(x.astype(half).astype(x.dtype) if x.dtype.kind == "f" else x for x in sample.inputs)
    exact = replace(sample, inputs=inputs)
    weights = sample.weights.astype(half).astype(np.float64)
    public, refused = REFUSED.get(name, (None, ()))
    if dtype in refused:
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError), match=dtype):
            public(*exact.tensors(dtypes={np.dtype(np.float64): half})[0])
        return
    wanted = _value_and_gradient(exact, weights, {})
    values, gradients = _value_and_gradient(exact, weights, {np.dtype(np.float64): half})
    tolerance = 4 * float(ml_dtypes.finfo(half).eps)
    for got, right in zip(values + gradients, wanted[0] + wanted[1], strict=True):
        if right.dtype == np.float64:
            assert got.dtype == half, sample
        checks.agree(got.astype(right.dtype), right, sample, tolerance)


def _value_and_gradient(sample: Sample, weights: np.ndarray, dtypes: dict) -> tuple[list, list]:
    tensors, moving = sample.tensors(dtypes=dtypes or None)
    with tf.GradientTape() as tape:
        tape.watch(moving)
        outputs = sample.call(tensors)
    seeds = [
        tf.constant(w.astype(o.dtype.numpy_dtype))
        for w, o in zip(unflat(weights, sample.outputs), outputs, strict=True)
    ]
    floating = [i for i, o in enumerate(outputs) if o.dtype.is_floating]
    gradients = (
        tape.gradient([outputs[i] for i in floating], moving, [seeds[i] for i in floating]) if moving else []
    )
    return [dense(o) for o in outputs], [dense(g) for g in gradients]


# ---------------------------------------------------------------------------------------------------------------------
# Complex numbers

COMPLEX = [name for name in SAMPLED if not any(np.iscomplexobj(x) for s in SAMPLES[name] for x in s.inputs)]

# Where only the public function knows what to do with complex numbers: it takes another way, or
OTHERWISE = {"abs": tf.abs, "sign": tf.sign}

# it refuses them, by a primitive that would take them.
KEPT_OUT = {
    "clip": tf.clip_by_value,
    "complex": tf.complex,
    "elu": tf.nn.elu,
    "gamma_sample": lambda alpha, u: tf.random.gamma([2], alpha),
    "igamma_derivative": tf.math.igamma,
    "in_top_k": lambda predictions, targets: tf.math.in_top_k(targets, predictions, 1),
    "maximum": tf.maximum,
    "minimum": tf.minimum,
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "round": tf.round,
    "selu": tf.nn.selu,
    "sigmoid_cross_entropy": lambda logits, labels: tf.nn.sigmoid_cross_entropy_with_logits(labels, logits),
    "softsign": tf.nn.softsign,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name):
    sample = one_sample(name)
    turned = tuple(x * np.exp(0.3j) if x.dtype.kind == "f" else x for x in sample.inputs)
    sample = replace(sample, inputs=turned, function=OTHERWISE.get(name, sample.function))
    tensors, _ = sample.tensors()
    if name in KEPT_OUT:
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError), match="complex"):
            KEPT_OUT[name](*tensors)
        return
    try:
        values = flat(sample.call(tensors))
    except tf.errors.InvalidArgumentError as error:
        assert "complex" in str(error), sample
        return
    if sample.moving and values.dtype.kind == "f":
        checks.gradient_by_differences((sample,))
        checks.forward_mode_transposes_reverse_mode((sample,))
