"""What must be true of every sample: its value, and its derivatives of both orders, in both modes.

Each check takes samples and compares with JAX in float64, or with differences. A failure names its sample; the random
weights and directions are the same on every run, so `SAMPLES['sum'][3]` is all it takes to see it again.
"""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

import gradtape as tf

from .derivatives import (
    Sample,
    Truth,
    bent_forward,
    bent_jacobian,
    dense,
    differences,
    flat,
    forward_over_reverse,
    gradient,
    jacobian,
    pushed,
    real_rows,
    reverse_over_forward,
    reverse_over_reverse,
    truths,
    unflat,
)

Samples = tuple[Sample, ...]


def agree(got, wanted, sample: Sample, tolerance: float) -> None:
    """To `tolerance`, relative to the largest number wanted (absolute, below 1)."""
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = max(1.0, finite.max(initial=0.0))
    assert_allclose(got, wanted, rtol=0, atol=tolerance * scale, err_msg=sample.label, strict=True)


def known(samples: Samples) -> list[tuple[Sample, Truth]]:
    """The samples that can be compared in full, each with its truth."""
    return [pair for pair in zip(samples, truths(samples), strict=True) if not pair[0].rounds]


def value(samples: Samples) -> None:
    for sample, truth in zip(samples, truths(samples), strict=True):
        assert len(sample.outputs) == len(truth.outputs)
        for out, wanted in zip(sample.outputs, truth.outputs, strict=True):
            agree(dense(out), wanted, sample, 1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# First order


def gradient_by_jax(samples: Samples) -> None:
    for sample, truth in known(samples):
        agree(gradient(sample), sample.weights @ truth.jacobian, sample, 1e-11)


def gradient_by_differences(samples: Samples) -> None:
    for sample in samples:
        if sample.rounds or not sample.differences:
            continue
        slopes = differences(lambda z, s=sample: flat(s.call(s.tensors(z)[0])), sample.point)
        agree(gradient(sample), sample.weights @ slopes, sample, 1e-6)


def gradient_by_each_input_alone(samples: Samples) -> None:
    for sample in samples:
        alone = [gradient(sample, only=i) for i in range(len(sample.moving))]
        agree(np.concatenate(alone), gradient(sample), sample, 1e-14)


def forward_mode(samples: Samples) -> None:
    for sample, truth in known(samples):
        agree(pushed(sample), truth.jacobian @ sample.direction, sample, 1e-11)


def forward_mode_transposes_reverse_mode(samples: Samples) -> None:
    for sample in samples:
        wanted = gradient(sample) @ sample.direction
        agree(sample.weights @ pushed(sample), wanted, sample, 1e-6 if sample.rounds else 1e-12)


def jacobian_at_once(samples: Samples) -> None:
    for sample, truth in known(samples):
        agree(jacobian(sample), truth.jacobian[real_rows(sample.outputs)], sample, 1e-11)


def jacobian_row_by_row(samples: Samples) -> None:
    for sample in samples:
        agree(jacobian(sample, at_once=False), jacobian(sample), sample, 1e-14)


# ---------------------------------------------------------------------------------------------------------------------
# Second order


def _hessian(sample: Sample, truth: Truth) -> np.ndarray:
    """That of the weighted outputs, times the direction."""
    return np.einsum("i,ijk,k", sample.weights, truth.hessian, sample.direction)


def second_order(samples: Samples) -> None:
    for sample, truth in known(samples):
        agree(reverse_over_reverse(sample), _hessian(sample, truth), sample, 1e-10)


def second_order_forward_over_reverse(samples: Samples) -> None:
    for sample, truth in known(samples):
        agree(forward_over_reverse(sample), _hessian(sample, truth), sample, 1e-10)


def second_order_reverse_over_forward(samples: Samples) -> None:
    for sample, truth in known(samples):
        agree(reverse_over_forward(sample), _hessian(sample, truth), sample, 1e-10)


def second_order_forward_over_forward(samples: Samples) -> None:
    for sample, truth in known(samples):
        wanted = np.einsum("ijk,j,k", truth.hessian, sample.direction, sample.direction)
        agree(bent_forward(sample), wanted, sample, 1e-10)


def second_order_by_differences(samples: Samples) -> None:
    for sample in samples:
        if sample.rounds or not sample.differences:
            continue
        slopes = differences(lambda z, s=sample: gradient(s, z), sample.point)
        agree(reverse_over_reverse(sample), sample.direction @ slopes, sample, 1e-6)


def gradient_of_a_jacobian(samples: Samples, at_once: bool = True) -> None:
    for sample, truth in known(samples):
        rows = real_rows(sample.outputs)
        shape = (len(rows), len(sample.point))
        weights = sample.random("of a jacobian", shape[0] * shape[1]).reshape(shape)
        wanted = np.einsum("ij,ijk", weights, truth.hessian[rows])
        agree(bent_jacobian(sample, weights, at_once), wanted, sample, 1e-10)


# ---------------------------------------------------------------------------------------------------------------------
# Single precision

SINGLE = {np.dtype("float64"): np.dtype("float32"), np.dtype("complex128"): np.dtype("complex64")}


def float32(samples: Samples) -> None:
    """float32 and complex64 stay what they are, and agree with float64 to their own precision."""
    for sample, truth in known(samples):
        if sample.fixed_dtype:
            continue
        tensors, moving = sample.tensors(dtypes=SINGLE)
        with tf.GradientTape() as tape:
            tape.watch(moving)
            outputs = sample.call(tensors)
        gradients = tape.gradient(outputs, moving, unflat(sample.weights, outputs))
        assert [o.dtype.name for o in outputs] == [SINGLE[dense(o).dtype].name for o in sample.outputs], (
            sample
        )
        assert [g.dtype for g in gradients] == [x.dtype for x in moving], sample
        agree(np.float64(flat(outputs)), flat(truth.outputs), sample, 1e-5)
        agree(np.float64(flat(gradients)), sample.weights @ truth.jacobian, sample, 1e-5)


DERIVATIVES = [
    gradient_by_jax,
    gradient_by_differences,
    gradient_by_each_input_alone,
    forward_mode,
    forward_mode_transposes_reverse_mode,
    jacobian_at_once,
    jacobian_row_by_row,
    second_order,
    second_order_forward_over_reverse,
    second_order_reverse_over_forward,
    second_order_forward_over_forward,
    second_order_by_differences,
    gradient_of_a_jacobian,
    float32,
]
ALL = [value, *DERIVATIVES]
