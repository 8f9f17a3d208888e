"""Quantized numbers: integers of few bits that stand for the numbers of a range, and the way there and back.

Quantized tensors have dtypes of their own, which compiled code does not have: a `@function` that uses them runs
operation by operation. `quantize_and_dequantize` rounds numbers that stay floating, has a gradient, and is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.dtypes import DType, as_dtype, plain
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, primitive
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, TensorLike
from ...engine.arrays import is_traced, xp
from ..array.movement import concat
from ..known import known
from ..scalars import boolean, choice, integer, number
from .elementwise import constant_in
from .reduction import one_axis

MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
QUANTIZED = ("qint8", "quint8", "qint16", "quint16", "qint32")


class Quantized(NamedTuple):
    """Quantized numbers, and the range that they stand for."""

    output: Tensor
    output_min: Tensor
    output_max: Tensor


def quantized(name: str, what: str, value: TensorLike, among: Sequence[str] = QUANTIZED) -> Tensor:
    """An argument that must be quantized.

    Raises:
        DTypeError: if its dtype is none of `among`.
    """
    x = convert(value)
    if x.dtype.name not in among:
        raise DTypeError(
            f"{name}: {what} must be {' or '.join(among)}, not {x.dtype.name}: use tf.quantization.quantize"
        )
    return x


def end(name: str, what: str, value: TensorLike) -> Any:
    """One end of a range, as float32."""
    return np.float32(number(name, what, value))


def bounds(dtype: DType) -> tuple[int, int]:
    """The least and the largest integer of a quantized dtype."""
    info = np.iinfo(dtype.numpy_dtype[0])
    return int(info.min), int(info.max)


def as_integers(numbers: Any, dtype: DType) -> Tensor:
    """Whole numbers as a quantized tensor; those that its integers cannot hold become the nearest that they can."""
    low, high = bounds(dtype)
    whole = np.nan_to_num(numbers.astype(np.float64)).clip(low, high).astype(np.int64)
    return wrap(whole.astype(dtype.numpy_dtype[0]).view(dtype.numpy_dtype).reshape(numbers.shape))


def _away(x: Any) -> Any:
    """The nearest whole number; halves go away from 0."""
    m = xp(x)
    whole = m.trunc(x)
    return m.where(m.abs(x - whole) >= 0.5, whole + m.sign(x), whole)


def zero_point(value: Any, low: Any, high: Any, dtype: DType) -> Any:
    """The integer, perhaps out of the dtype's bounds, that stands for a number of a range."""
    least, most = bounds(dtype)
    if low == high:
        return np.float64(0)
    scale = (most - least) / (np.float64(high) - low)
    return _away(value * scale) - _away(low * scale) + least


# ---------------------------------------------------------------------------------------------------------------------
# To quantized numbers and back


def quantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Quantized:
    """Numbers of a range as integers of few bits. The range is widened to contain 0.

    Args:
        input: float32.
        min_range: the least number, which becomes the least integer; a vector if there is an `axis`.
        max_range: the largest number.
        T: the quantized dtype.
        mode: "MIN_COMBINED" counts steps from the least number, and "MIN_FIRST" rounds so that 0 is an integer;
            "SCALED" multiplies by one number, so that 0 is 0.
        round_mode: where halves go: "HALF_AWAY_FROM_ZERO", or for "SCALED" also "HALF_TO_EVEN".
        narrow_range: leave out the least integer, for "SCALED".
        axis: the axis along which each index has a range of its own.
        ensure_minimum_range: the smallest width of a range, times its larger end where that is above 1.

    Returns:
        The integers, and the least and the largest number that they stand for.

    Raises:
        DTypeError: if the input is not float32, or `T` is not quantized.
        InvalidArgumentError: if `max_range` is below `min_range`, or a mode is another.

    >>> quantize([-1.0, 0.0, 1.0], -1.0, 1.0, "quint8").output
    <tf.Tensor: shape=(3,), dtype=quint8, numpy=array([  0, 128, 255], dtype=uint8)>
    """
    operation, to = "quantize", as_dtype(T)
    if not to.is_quantized:
        raise DTypeError(f"{operation}: T must be {' or '.join(QUANTIZED)}, not {to.name}")
    choice(operation, "mode", mode, MODES)
    choice(operation, "round_mode", round_mode, ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"))
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise InvalidArgumentError(f"{operation}: 'HALF_TO_EVEN' is for the mode 'SCALED', not {mode!r}")
    x = convert(input)
    if x.dtype.name != "float32":
        raise DTypeError(f"{operation} takes float32, not {x.dtype.name}: use tf.cast(x, 'float32')")
    values = known(operation, "input", x._array)
    low, high = (
        _ends(operation, what, value, values, axis)
        for what, value in (("min_range", min_range), ("max_range", max_range))
    )
    if (high < low).any():
        raise InvalidArgumentError(f"{operation}: max_range must not be less than min_range")
    low = np.minimum(low, np.float32(0))
    width = np.maximum(np.float32(1), np.maximum(np.abs(low), np.abs(high)))
    width = width * np.float32(number(operation, "ensure_minimum_range", ensure_minimum_range))
    high = np.maximum(np.maximum(high, low + width), np.float32(0))
    narrow = boolean(operation, "narrow_range", narrow_range)
    whole, low, high = _steps(values, low, high, to, mode, round_mode == "HALF_TO_EVEN", narrow)
    shape = () if axis is None else (-1,)
    return Quantized(as_integers(whole, to), wrap(low.reshape(shape)), wrap(high.reshape(shape)))


def _steps(
    x: Any, low: Any, high: Any, to: DType, mode: str, to_even: bool, narrow: bool
) -> tuple[Any, Any, Any]:
    """The whole numbers that stand for `x`, and the ends of the range."""
    least, most = bounds(to)
    if mode == "MIN_COMBINED":
        scale = (np.float64(most - least) / (high - low)).astype(np.float32)
        places = (x.clip(low, high) - low) * scale
        half = np.float32((most - least + 1) // 2)
        return _away(places - half) if least else np.floor(places + np.float32(0.5)), low, high
    if mode == "MIN_FIRST":
        scale = ((most - least) / (high.astype(np.float64) - low)).astype(np.float32)
        whole = _away(x * scale) - (_away(low * scale) - np.float32(least))
        return np.minimum(whole, np.float32(2147483520)), low, high  # the largest float32 that an int32 holds
    first, infinite = least + narrow, np.finfo(np.float32).max
    with np.errstate(divide="ignore"):
        by_low = np.where(first * low > 0, np.float32(first) / low, infinite)
        by_high = np.where(most * high > 0, np.float32(most) / high, infinite)
    scale = np.minimum(by_low, by_high).astype(np.float32)
    low, high = np.float32(first) / scale, np.float32(most) / scale
    places = x.clip(low, high) * scale
    return np.rint(places) if to_even else _away(places), low, high


def dequantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: DTypeLike = "float32",
) -> Tensor:
    """The numbers that quantized ones stand for.

    Args:
        input: of a quantized dtype.
        min_range: the least number, a vector if there is an `axis`.
        max_range: the largest number.
        mode: how the numbers were quantized.
        axis: the axis along which each index has a range of its own.
        narrow_range: whether the least integer was left out, for "SCALED".
        dtype: float32 or bfloat16.

    Raises:
        DTypeError: if the input is not quantized, or the dtype is another.

    >>> dequantize(quantize([-1.0, 1.0], -1.0, 1.0, "quint8").output, -1.0, 1.0).numpy()
    array([-1.,  1.], dtype=float32)
    """
    operation = "dequantize"
    x = quantized(operation, "input", input)
    choice(operation, "mode", mode, MODES)
    if as_dtype(dtype).name not in ("float32", "bfloat16"):
        raise DTypeError(f"{operation}: dtype must be float32 or bfloat16, not {as_dtype(dtype).name}")
    integers = plain(x._array).astype(np.float32)
    low, high = (
        _ends(operation, what, value, integers, axis)
        for what, value in (("min_range", min_range), ("max_range", max_range))
    )
    least, most = bounds(x.dtype)
    if mode == "SCALED":
        scale = high / np.float32(most)
        if least:
            first = least + boolean(operation, "narrow_range", narrow_range)
            scale = np.maximum(low / np.float32(first), scale)
        numbers = integers * scale
    elif mode == "MIN_FIRST":
        scale = ((high.astype(np.float64) - low) / (most - least)).astype(np.float32)
        safe = np.where(scale == 0, np.float32(1), scale)
        first = np.where(scale == 0, low, _away(low / safe) * scale)
        numbers = (first - np.float32(least) * scale) + integers * scale
    else:
        scale = ((high - low) / np.float32(most - least)).astype(np.float32)
        half = np.float32((most - least + 1) // 2 if least else 0)
        numbers = (integers + half) * scale + low
    return wrap(numbers.astype(as_dtype(dtype).numpy_dtype))


def _ends(operation: str, what: str, value: TensorLike, x: Any, axis: int | None) -> Any:
    """One end of the range, as float32: one number, or one for each index of `axis`, to broadcast with `x`."""
    ends = known(operation, what, convert(value)._array)
    if ends.dtype.kind not in "fiu":
        raise DTypeError(f"{operation}: {what} must be numbers, not {what!r}")
    ends = ends.astype(np.float32)
    if axis is None:
        if ends.size != 1:
            raise InvalidArgumentError(
                f"{operation}: {what} must be one number, not of shape {list(ends.shape)}, or name the axis"
            )
        return ends.reshape(())
    along = one_axis(operation, axis, x.ndim)
    if ends.shape != (x.shape[along],):
        raise InvalidArgumentError(
            f"{operation}: {what} must have {x.shape[along]} numbers for axis {axis}, not shape {list(ends.shape)}"
        )
    return ends.reshape((-1, *[1] * (-along - 1)))


def quantized_concat(
    concat_dim: int,
    values: Sequence[TensorLike],
    input_mins: Sequence[TensorLike],
    input_maxes: Sequence[TensorLike],
    name: str | None = None,
) -> Quantized:
    """Quantized tensors joined along an axis, in the range that contains all of theirs.

    Args:
        concat_dim: the axis.
        values: quint8 or qint32.
        input_mins: the least number of each tensor.
        input_maxes: the largest number of each.

    >>> first, second = (quantize([0.0, top], 0.0, top, "quint8").output for top in (1.0, 2.0))
    >>> quantized_concat(0, [first, second], [0.0, 0.0], [1.0, 2.0]).output.numpy()
    array([  0, 128,   0, 255], dtype=uint8)
    """
    operation = "quantized_concat"
    if not (isinstance(values, (list, tuple)) and len(values) == len(input_mins) == len(input_maxes) > 1):
        raise InvalidArgumentError(f"{operation}: give two tensors or more, and the ends of each one's range")
    tensors = [quantized(operation, "values", value, ("quint8", "qint32")) for value in values]
    lows = [end(operation, "input_mins", value) for value in input_mins]
    highs = [end(operation, "input_maxes", value) for value in input_maxes]
    low, high = min(*lows, np.float32(0)), max(*highs, np.float32(0))
    if any(bounds(tensor.dtype)[0] for tensor in tensors):  # signed: 0 is in the middle
        high = max(-low, high)
        low = -high
    parts = []
    for tensor, least, most in zip(tensors, lows, highs, strict=True):
        if (least, most) == (low, high):
            parts.append(tensor)
        else:
            parts.append(requantized(tensor, least, most, low, high))
    return Quantized(concat(parts, concat_dim), wrap(np.asarray(low)), wrap(np.asarray(high)))


def requantized(x: Tensor, least: Any, most: Any, low: Any, high: Any) -> Tensor:
    """A quantized tensor in another range."""
    numbers = dequantize(x, least, most, "MIN_FIRST")._array
    return as_integers(_steps(numbers, low, high, x.dtype, "MIN_FIRST", False, False)[0], x.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers that stay floating


@primitive(elementwise=True, wide=True, public="quantization.quantize_and_dequantize")
def round_in_range(x, low, high, *, first, last, half_up, clip):
    """Numbers rounded to multiples of one step: `first` steps reach `low`, and `last` steps reach `high`, at least."""
    m, infinite = xp(x, low, high), np.finfo(x.dtype).max
    by_low = m.where(first * low > 0, first / m.where(low == 0, 1, low), infinite)
    by_high = m.where(last * high > 0, last / m.where(high == 0, 1, high), infinite)
    is_low = by_low < by_high
    scale = m.minimum(by_low, by_high).astype(x.dtype)
    step = m.where(is_low, low / (first or 1), high / (last or 1)).astype(x.dtype)
    if clip:
        x = m.clip(x, m.where(is_low, low, first * step), m.where(is_low, last * step, high))
    places = x * scale
    return (m.floor(places + x.dtype.type(0.5)) if half_up else m.rint(places)) * step


round_in_range.rules(x=lambda g: g)  # as if nothing was rounded


@primitive(discrete=True)
def lies_in_range(x, low, high):
    """1 where low <= x <= high, else 0."""
    return ((x >= low) & (x <= high)).astype(x.dtype)


@primitive(elementwise=True, public="quantization.quantize_and_dequantize_v2")
def pass_in_range(x, low, high):
    """x, whose gradient is 0 outside of low <= x <= high."""
    return x


pass_in_range.rules(x=lambda g, x, low, high: g * lies_in_range(x, low, high))


def quantize_and_dequantize(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Numbers rounded to those that `num_bits` bits tell apart; the gradient passes as if nothing was rounded.

    Args:
        input: floating numbers.
        input_min: the least number, if the range is given; a vector if there is an `axis`.
        input_max: the largest number.
        signed_input: whether the integers in between may be negative.
        num_bits: how many bits these have.
        range_given: whether the range is given; else it is that of the input.
        round_mode: where halves go: "HALF_TO_EVEN" or "HALF_UP".
        narrow_range: leave out the least integer.
        axis: the axis along which each index has a range of its own.

    Raises:
        DTypeError: if the input is not floating.
        InvalidArgumentError: if the range is empty, or the number of bits is out of bounds.

    >>> quantize_and_dequantize([0.1, 0.4, 1.0], 0.0, 0.0, num_bits=3).numpy()
    array([0.       , 0.33333334, 1.       ], dtype=float32)
    """
    operation = "quantize_and_dequantize"
    x, low, high, along = _range(operation, input, input_min, input_max, range_given, axis)
    return _rounded(
        operation, x, low, high, along, signed_input, num_bits, range_given, round_mode, narrow_range
    )


def quantize_and_dequantize_v2(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """`quantize_and_dequantize`, whose gradient is 0 outside of `input_min` to `input_max`.

    Args:
        input: floating numbers.
        input_min: the least number, if the range is given; a vector if there is an `axis`.
        input_max: the largest number.
        signed_input: whether the integers in between may be negative.
        num_bits: how many bits these have.
        range_given: whether the range is given; else it is that of the input.
        round_mode: where halves go: "HALF_TO_EVEN" or "HALF_UP".
        narrow_range: leave out the least integer.
        axis: the axis along which each index has a range of its own.

    >>> quantize_and_dequantize_v2([0.1, 0.4, 3.0], -1.0, 1.0, num_bits=3, range_given=True).numpy()
    array([0.       , 0.33333334, 1.       ], dtype=float32)
    """
    operation = "quantize_and_dequantize_v2"
    x, low, high, along = _range(operation, input, input_min, input_max, range_given, axis)
    passed: Tensor = apply(pass_in_range, (x, low, high))
    out = _rounded(
        operation, passed, low, high, along, signed_input, num_bits, range_given, round_mode, narrow_range
    )
    for given in (input_min, input_max):  # tensors have gradients of zeros
        out = apply(constant_in, (out, convert(given, x._array.dtype)))
    return out


def _range(
    operation: str,
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    given: bool,
    axis: int | None,
) -> tuple[Tensor, Tensor, Tensor, int | None]:
    """The input, the ends of the range, to broadcast with it and without gradients, and the axis if there is one."""
    x = convert(input)
    if not x.dtype.has_gradients or x.dtype.is_complex:
        raise DTypeError(f"{operation} takes floating numbers, not {x.dtype.name}: use tf.cast(x, 'float32')")
    along = None if axis is None else one_axis(operation, axis, x.ndim)
    low, high = (convert(value, x._array.dtype)._array for value in (input_min, input_max))
    if along is not None and low.ndim == high.ndim == 1:
        count = x._array.shape[along]
        if low.shape != (count,) or high.shape != (count,):
            raise InvalidArgumentError(
                f"{operation}: a range for each of {count} indices of axis {axis} is needed"
            )
        low, high = (ends.reshape((-1, *[1] * (-along - 1))) for ends in (low, high))
    elif low.ndim or high.ndim:
        raise InvalidArgumentError(
            f"{operation}: input_min and input_max must be numbers, or vectors as long as axis, not of shapes "
            f"{list(low.shape)} and {list(high.shape)}"
        )
    if given is True and not is_traced(low) and not is_traced(high) and (low > high).any():
        raise InvalidArgumentError(f"{operation}: input_min must not be above input_max")
    return x, wrap(low), wrap(high), along


def _rounded(
    operation: str,
    x: Tensor,
    low: Tensor,
    high: Tensor,
    along: int | None,
    signed_input: bool,
    num_bits: int,
    range_given: bool,
    round_mode: str,
    narrow_range: bool,
) -> Tensor:
    choice(operation, "round_mode", round_mode, ("HALF_TO_EVEN", "HALF_UP"))
    signed, given = (
        boolean(operation, "signed_input", signed_input),
        boolean(operation, "range_given", range_given),
    )
    bits = integer(operation, "num_bits", num_bits, least=1)
    if bits > (61 if signed else 62):
        raise InvalidArgumentError(f"{operation}: num_bits is at most 61, or 62 without a sign; not {bits}")
    half = 1 << (bits - 1)
    if not given:
        axes = tuple(i for i in range(-x.ndim, 0) if i != along)
        if not x._array.size:
            return x
        low, high = (wrap(find(axes, keepdims=True)) for find in (x._array.min, x._array.max))
    attributes = {
        "first": boolean(operation, "narrow_range", narrow_range) - half if signed else 0,
        "last": half - 1 if signed else 2 * half - 1,
        "half_up": round_mode == "HALF_UP",
        "clip": given,
    }
    out: Tensor = apply(round_in_range, (x, low, high), attributes)
    return out
