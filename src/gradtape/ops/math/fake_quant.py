"""Fake quantization: numbers rounded to those that a few bits can tell apart, with the gradients of quantized training.

The range is shifted so that 0 is one of the numbers. The gradient passes as if nothing was rounded: inside of the range
to the input, below it to `min`, above it to `max`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, primitive
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert_to_tensor
from ...core.types import TensorLike
from ...engine.arrays import xp
from ..scalars import boolean, integer, number
from .reduction import reduce_sum


def _range(low: Any, high: Any, bits: int, narrow: bool) -> tuple[Any, Any, Any]:
    """The least and the largest of the numbers, and the distance of two of them."""
    m, first, last = xp(low, high), int(narrow), 2**bits - 1
    scale = (high - low) / low.dtype.type(last - first)
    zero = first - low / scale  # the place of 0, which is to be a whole number
    whole = m.clip(m.floor(zero + low.dtype.type(0.5)), first, last)
    return (first - whole) * scale, (last - whole) * scale, scale


@primitive(elementwise=True, wide=True)
def fake_quant(x, low, high, *, bits, narrow):
    """The nearest of the numbers from about `low` to about `high`; 0 if both are 0."""
    m = xp(x, low, high)
    least, most, scale = _range(low, high, bits, narrow)
    one, half = x.dtype.type(1), x.dtype.type(0.5)
    # Times the inverse, and counted from 0: in float32 these are TensorFlow's numbers to the bit.
    steps = (m.maximum(m.minimum(x, most), least) - least) * (one / scale)
    number = m.floor(steps - m.floor(-least * (one / scale) + half) + half)
    return m.where((low == 0) & (high == 0), x.dtype.type(0), number * scale)


@primitive(elementwise=True, wide=True)
def fake_quant_region(x, low, high, *, bits, narrow, region):
    """1 where x lies below, inside or above the range of `fake_quant`, else 0."""
    least, most, _ = _range(low, high, bits, narrow)
    everywhere = (low == 0) & (high == 0)
    if region == "inside":
        found = ((x >= least) & (x <= most)) | everywhere
    else:
        found = ((x < least) if region == "below" else (x > most)) & ~everywhere
    return found.astype(x.dtype)


def _rule(region: str) -> Any:
    return lambda g, x, low, high, bits, narrow: (
        g * fake_quant_region(x, low, high, bits=bits, narrow=narrow, region=region)
    )


fake_quant.rules(x=_rule("inside"), low=_rule("below"), high=_rule("above"))

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Numbers rounded to those that `num_bits` bits can tell apart between `min` and `max`, which are fixed.

    Args:
        inputs: float32.
        min: the least number, up to a shift that makes 0 one of the numbers.
        max: the largest.
        num_bits: from 2 to 16.
        narrow_range: leave out the lowest number.

    Raises:
        DTypeError: if the inputs are not float32.
        InvalidArgumentError: if `min` is not below `max`, or the number of bits is another.

    >>> fake_quant_with_min_max_args([-7.0, 0.1, 1.0], num_bits=4).numpy()
    array([-6.4,  0. ,  0.8], dtype=float32)
    """
    operation = "fake_quant_with_min_max_args"
    ends = _numbers(operation, min, max)
    return apply(fake_quant, *_arguments(operation, inputs, *ends, num_bits, narrow_range))


def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`fake_quant_with_min_max_args` with `min` and `max` as tensors, which also have gradients.

    Args:
        inputs: float32.
        min: a number, the least.
        max: a number, the largest.
        num_bits: from 2 to 16.
        narrow_range: leave out the lowest number.

    Raises:
        DTypeError: if a tensor is not float32.
        InvalidArgumentError: if `min` and `max` are not numbers, or the number of bits is another.

    >>> fake_quant_with_min_max_vars([0.3, 2.0], 0.0, 1.0, num_bits=2).numpy()
    array([0.33333334, 1.        ], dtype=float32)
    """
    operation = "fake_quant_with_min_max_vars"
    return apply(fake_quant, *_arguments(operation, inputs, min, max, num_bits, narrow_range))


def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`fake_quant_with_min_max_vars` with a range for each index of the last axis.

    Args:
        inputs: float32.
        min: a vector as long as the last axis.
        max: another.
        num_bits: from 2 to 16.
        narrow_range: leave out the lowest number.

    Raises:
        DTypeError: if a tensor is not float32.
        InvalidArgumentError: if `min` and `max` have another length, or the number of bits is another.

    >>> fake_quant_with_min_max_vars_per_channel([[0.3, 0.3]], [0.0, 0.0], [1.0, 3.0], num_bits=2).numpy()
    array([[0.33333334, 0.        ]], dtype=float32)
    """
    operation = "fake_quant_with_min_max_vars_per_channel"
    return apply(
        fake_quant, *_arguments(operation, inputs, min, max, num_bits, narrow_range, per_channel=True)
    )


def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient of `fake_quant_with_min_max_args` by its inputs, from that of its result.

    Args:
        gradients: the gradient of the result.
        inputs: what the function was called with.
        min: as it was.
        max: as it was.
        num_bits: as it was.
        narrow_range: as it was.

    >>> fake_quant_with_min_max_args_gradient([1.0, 1.0], [0.0, 9.0]).numpy()
    array([1., 0.], dtype=float32)
    """
    operation = "fake_quant_with_min_max_args_gradient"
    ends = _numbers(operation, min, max)
    return _pulled(operation, gradients, *_arguments(operation, inputs, *ends, num_bits, narrow_range))[0]


def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `fake_quant_with_min_max_vars` by its inputs, `min` and `max`, from that of its result.

    Args:
        gradients: the gradient of the result.
        inputs: what the function was called with.
        min: as it was.
        max: as it was.
        num_bits: as it was.
        narrow_range: as it was.

    >>> [g.numpy().tolist() for g in fake_quant_with_min_max_vars_gradient([1.0, 2.0], [0.0, 9.0], -1.0, 1.0)]
    [[1.0, 0.0], 0.0, 2.0]
    """
    operation = "fake_quant_with_min_max_vars_gradient"
    tensors, attributes = _arguments(operation, inputs, min, max, num_bits, narrow_range)
    by_input, below, above = _pulled(operation, gradients, tensors, attributes)
    return by_input, reduce_sum(below), reduce_sum(above)


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `fake_quant_with_min_max_vars_per_channel`, from that of its result.

    Args:
        gradients: the gradient of the result.
        inputs: what the function was called with.
        min: as it was.
        max: as it was.
        num_bits: as it was.
        narrow_range: as it was.

    >>> fake_quant_with_min_max_vars_per_channel_gradient([[1.0], [2.0]], [[0.0], [9.0]], [-1.0], [1.0])[2].numpy()
    array([2.], dtype=float32)
    """
    operation = "fake_quant_with_min_max_vars_per_channel_gradient"
    tensors, attributes = _arguments(operation, inputs, min, max, num_bits, narrow_range, per_channel=True)
    by_input, below, above = _pulled(operation, gradients, tensors, attributes)
    front = tuple(range(by_input.ndim - 1))
    return by_input, reduce_sum(below, front), reduce_sum(above, front)


def _arguments(
    operation: str,
    inputs: TensorLike,
    low: TensorLike,
    high: TensorLike,
    num_bits: int,
    narrow_range: bool,
    per_channel: bool = False,
) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
    """The tensors and the attributes of the primitives."""
    x, *ends = _tensors(operation, inputs, low, high)
    if per_channel and not x.ndim:
        raise InvalidArgumentError(f"{operation}: inputs must have at least one axis")
    shape = x._array.shape[-1:] if per_channel else ()
    for what, end in zip(("min", "max"), ends, strict=True):
        if end._array.shape != shape:
            raise InvalidArgumentError(
                f"{operation}: {what} must have the shape {list(shape)}, not {list(end._array.shape)}"
            )
    bits = integer(operation, "num_bits", num_bits)
    if not 2 <= bits <= 16:
        raise InvalidArgumentError(f"{operation}: num_bits must lie from 2 to 16, not {bits}")
    return (x, *ends), {"bits": bits, "narrow": boolean(operation, "narrow_range", narrow_range)}


def _pulled(
    operation: str, gradients: TensorLike, tensors: tuple[Tensor, ...], attributes: dict[str, Any]
) -> list[Tensor]:
    """The gradient's parts inside, below and above the range."""
    (g,), x = _tensors(operation, gradients), tensors[0]
    if g._array.shape != x._array.shape:
        raise InvalidArgumentError(
            f"{operation}: gradients of shape {g.shape} and inputs of shape {x.shape} must have the same shape"
        )
    regions = ("inside", "below", "above")
    return [g * apply(fake_quant_region, tensors, {**attributes, "region": r}) for r in regions]


def _tensors(operation: str, *values: TensorLike) -> list[Tensor]:
    tensors = [convert_to_tensor(value, dtype_hint="float32") for value in values]
    for tensor in tensors:
        if tensor.dtype.name != "float32":
            raise DTypeError(f"{operation} takes float32, not {tensor.dtype.name}: use tf.cast(x, 'float32')")
    return tensors


def _numbers(operation: str, low: float, high: float) -> tuple[Tensor, Tensor]:
    """`min` and `max` of the functions that take plain numbers."""
    least, most = number(operation, "min", low), number(operation, "max", high)
    if not least < most:
        raise InvalidArgumentError(f"{operation}: min must be less than max, not {least} and {most}")
    return convert_to_tensor(np.float32(least)), convert_to_tensor(np.float32(most))
