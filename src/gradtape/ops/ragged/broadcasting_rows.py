"""Elementwise operations on ragged tensors, and Python's operators.

Operands are brought to the same rows first. Ragged axes must agree; axes of length 1 of dense tensors are broadcast.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...engine.arrays import is_traced
from ..array.arrange import bitcast
from ..array.creation import ones_like, zeros_like
from ..array.movement import cast, gather, identity, reshape
from ..dispatch import extend
from ..math import arithmetic, bits, complexes, functions, special_functions
from ..math.clip import clip_by_value
from ..nn import activations
from ..nn.dropout import dropout, stateless_dropout
from ..nn.losses import sigmoid_cross_entropy_with_logits
from .ragged_constructors import count_of
from .ragged_tensor import RaggedTensor, convert_ragged, levels, ragged
from .row_partition import (
    check_same,
    columns_of_values,
    decided,
    lengths_of,
    rows_of_values,
    splits_of_lengths,
)

# ---------------------------------------------------------------------------------------------------------------------
# Broadcasting


class _Axis(NamedTuple):
    """An axis of an operand: the splits of its rows, or their one length."""

    splits: Any
    width: int | None


class _Operand:
    """A tensor on its way to the rows of the result: `at` says which of its rows stands in each row; None for all."""

    def __init__(self, x: Any, rank: int) -> None:
        inner = x.flat_values if isinstance(x, RaggedTensor) else x
        shape = list(inner._array.shape)
        ragged_axes = [_Axis(level._splits, level._width) for level in levels(x)]
        first = count_of(x)
        uniform = [_Axis(None, n) for n in shape[1:]]
        missing = rank - len(x.shape)
        lengths = [_Axis(None, 1)] * (missing - 1) + [_Axis(None, first)] if missing else []
        self.flat = inner
        self.count = 1 if missing else first
        self.axes = [*lengths, *ragged_axes, *uniform]
        self.at: Any = None

    def move(self, rows: Any) -> None:
        """Repeat or choose rows."""
        self.at = rows if self.at is None else self.at[rows]

    def values(self, depth: int) -> Tensor:
        """The values in the rows of the result, with the axes after the first `depth` + 1 as they are."""
        inner = [axis.width or 0 for axis in self.axes[depth:]]
        count = (
            math.prod(self.flat._array.shape) // max(math.prod(inner), 1) if 0 not in inner else self.count
        )
        flat = reshape(self.flat, (count, *inner))
        return flat if self.at is None else gather(flat, wrap(self.at))


def together(operation: str, operands: list[Any]) -> tuple[list[Any], Callable[[Any], Any]]:
    """The flat values of tensors, ragged and dense, in the same rows; and how to put a result into these rows."""
    tensors = [x for x in operands if isinstance(x, RaggedTensor)]
    rank = max(len(x.shape) for x in operands)
    depth = max(x.ragged_rank + rank - len(x.shape) for x in tensors)
    if len({x._splits.dtype for x in tensors}) > 1:
        raise ValueError(
            f"{operation}: the splits of ragged tensors are of different dtypes: see with_row_splits_dtype"
        )
    chosen = [None if not len(x.shape) else _Operand(x, rank) for x in operands]
    moving = [x for x in chosen if x is not None]
    _meet_first(operation, moving)
    rows = [_meet(operation, moving, axis, tensors[0]._splits.dtype) for axis in range(depth)]

    def packed(flat: Any) -> Any:
        for splits, width in reversed(rows):
            flat = ragged(flat, splits, width)
        return flat

    flats = [given if x is None else x.values(depth) for given, x in zip(operands, chosen, strict=True)]
    return flats, packed


def _meet_first(operation: str, operands: list[_Operand]) -> None:
    """Bring the first axes to one length."""
    lengths = {x.count for x in operands}
    length = (lengths - {1} or {1}).pop()
    if len(lengths - {1}) > 1:
        raise InvalidArgumentError(f"{operation}: ragged tensors of {sorted(lengths)} rows do not broadcast")
    for x in operands:
        if x.count != length:
            x.move(np.zeros(length, np.int64))


def _meet(operation: str, operands: list[_Operand], axis: int, dtype: Any) -> tuple[Any, int | None]:
    """Bring the rows along an axis after the first to the same lengths; return their splits, and their one length."""
    axes = [x.axes[axis] for x in operands]
    count = len(operands[0].at) if operands[0].at is not None else _rows_before(operands[0], axis)
    lead = next((i for i, a in enumerate(axes) if a.splits is not None and a.width != 1), None)
    if lead is None:
        lead = next((i for i, a in enumerate(axes) if a.width != 1), 0)
    splits = _splits_in_rows(operation, operands[lead], axis, count, dtype)
    for x, own in zip(operands, axes, strict=True):
        if own.width != 1:
            check_same(operation, splits, _splits_in_rows(operation, x, axis, count, dtype))
    total = _values_in(operation, operands[lead], axis, splits)
    rows: Any = None
    for x, own in zip(operands, axes, strict=True):
        if own.width == 1 and axes[lead].width != 1:
            rows = rows_of_values(splits, total) if rows is None else rows
            x.move(rows)
        elif x.at is not None:
            rows = rows_of_values(splits, total) if rows is None else rows
            starts = own.splits[:-1][x.at] if own.splits is not None else x.at * own.width
            x.at = starts[rows] + columns_of_values(splits, total)
    widths = {own.width for own in axes if own.width != 1} or {1}
    return splits, widths.pop() if len(widths) == 1 else None


def _rows_before(x: _Operand, axis: int) -> int:
    """The number of rows of an operand along an axis, none of which was repeated."""
    count = x.count
    for own in x.axes[:axis]:
        count = count * (own.width or 0) if own.splits is None else _total(own.splits, x, axis)
    return count


def _total(splits: Any, x: _Operand, axis: int) -> int:
    if not is_traced(splits):
        return int(splits[-1])
    later = next((own.splits for own in x.axes[axis:] if own.splits is not None), None)
    if later is not None:
        return len(later) - 1
    inner = math.prod([own.width or 1 for own in x.axes[axis:]])
    return math.prod(x.flat._array.shape) // max(inner, 1)


def _values_in(operation: str, lead: _Operand, axis: int, splits: Any) -> int:
    if not is_traced(splits):
        return int(splits[-1])
    return _rows_before(lead, axis + 1) if lead.at is None else int(decided(operation, splits)[-1])


def _splits_in_rows(operation: str, x: _Operand, axis: int, count: int, dtype: Any) -> Any:
    """The splits of the rows of an operand as they stand in the rows of the result."""
    own = x.axes[axis]
    if own.splits is None:
        return np.arange(count + 1, dtype=dtype) * own.width
    if x.at is None:
        return own.splits
    return splits_of_lengths(lengths_of(own.splits)[x.at])


# ---------------------------------------------------------------------------------------------------------------------
# Functions


def apply_elementwise(operation: str, function: Callable[..., Any], operands: Iterable[Any]) -> Any:
    """A function of operands in the same rows; those that are plain numbers stay what they are."""
    given = list(operands)
    hint = next(x.dtype for x in given if isinstance(x, RaggedTensor))
    tensors: list[Any] = [
        x if isinstance(x, (bool, int, float, complex)) else convert_ragged(x, hint) for x in given
    ]
    among = [i for i, x in enumerate(tensors) if not isinstance(x, (bool, int, float, complex))]
    single = all(
        not isinstance(x, RaggedTensor) and not x.ndim for i, x in enumerate(tensors) if i in among[1:]
    )
    if single and isinstance(tensors[among[0]], RaggedTensor):  # one ragged tensor, and single numbers
        x = tensors[among[0]]
        tensors[among[0]] = x.flat_values
        return x.with_flat_values(function(*tensors))
    flats, packed = together(operation, [tensors[i] for i in among])
    for i, flat in zip(among, flats, strict=True):
        tensors[i] = flat
    return packed(function(*tensors))


def unary(function: Any) -> None:
    """Have a function of one tensor, and options, work on the values of a ragged tensor."""

    def on_values(x: RaggedTensor, *args: Any, **kwargs: Any) -> Any:
        return x.with_flat_values(function(x.flat_values, *args, **kwargs))

    first = next(iter(inspect.signature(function).parameters))

    @extend(function, RaggedTensor)
    def handler(*args: Any, **kwargs: Any) -> Any:
        return on_values(*args, **kwargs) if args else on_values(kwargs.pop(first), **kwargs)


def several(function: Any, count: int = 2) -> None:
    """Have a function of several tensors work on ragged ones in the same rows."""
    signature = inspect.signature(function)
    names = list(signature.parameters)[:count]

    @extend(function, RaggedTensor)
    def handler(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        rest = {name: value for name, value in given.items() if name not in names}
        present = [name for name in names if given.get(name) is not None]
        call = lambda *flats: function(**dict(zip(present, flats, strict=True)), **rest)
        return apply_elementwise(function.__name__, call, [given[name] for name in present])


_UNARY = {
    functions: """acos acosh asin asinh atan atanh ceil conj cos cosh digamma erf erfc erfcinv erfinv exp expm1
        floor is_finite is_inf is_nan lgamma log log1p log_sigmoid logical_not ndtri negative rint round rsqrt sigmoid
        sin sinh softplus softsign sqrt square tan tanh""",
    arithmetic: "reciprocal reciprocal_no_nan",
    complexes: "abs angle imag real sign",
    special_functions: """bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1
        bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence""",
    activations: "elu gelu leaky_relu relu relu6 selu silu",
    bits: "invert",
}
_BINARY = {
    functions: """add atan2 divide divide_no_nan equal floordiv floormod greater greater_equal less less_equal
        logical_and logical_or logical_xor maximum minimum mod multiply multiply_no_nan nextafter not_equal subtract
        truediv truncatediv truncatemod xdivy xlog1py xlogy zeta""",
    arithmetic: "pow",
    complexes: "complex squared_difference",
    bits: "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
}

for _module, _names in _UNARY.items():
    for _name in _names.split():
        unary(getattr(_module, _name))
for _each in (bitcast, cast, dropout, identity, ones_like, stateless_dropout, zeros_like):
    unary(_each)
for _module, _names in _BINARY.items():
    for _name in _names.split():
        several(getattr(_module, _name))
several(sigmoid_cross_entropy_with_logits)
several(clip_by_value, 3)


@extend(arithmetic.add_n, RaggedTensor)
def _add_n(inputs: Any, name: str | None = None) -> Any:
    return apply_elementwise("add_n", lambda *flats: arithmetic.add_n(flats), inputs)


# ---------------------------------------------------------------------------------------------------------------------
# Python's operators


def _operator(name: str, function: Callable[..., Any]) -> None:
    def forward(self: Any, other: Any) -> Any:
        return function(self, other)

    def reflected(self: Any, other: Any) -> Any:
        return function(other, self)

    forward.__name__, reflected.__name__ = f"__{name}__", f"__r{name}__"
    setattr(RaggedTensor, f"__{name}__", forward)
    if name not in ("lt", "le", "gt", "ge"):
        setattr(RaggedTensor, f"__r{name}__", reflected)


def _logical_or_bitwise(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: apply_elementwise(name, function, [x, y])


def _equality(function: Callable[..., Any], otherwise: bool) -> Callable[..., Any]:
    def compare(self: Any, other: Any) -> Any:
        """Element by element; what cannot be compared is plainly unequal."""
        if other is None:
            return otherwise
        try:
            return function(self, other)
        except DTypeError:
            raise
        except (ValueError, TypeError):
            return otherwise

    return compare


_function: Any
for _name, _function in (
    ("add", functions.add), ("sub", functions.subtract), ("mul", functions.multiply), ("truediv", functions.truediv),
    ("floordiv", functions.floordiv), ("mod", functions.floormod), ("pow", arithmetic.pow), ("lt", functions.less),
    ("le", functions.less_equal), ("gt", functions.greater), ("ge", functions.greater_equal),
    ("and", _logical_or_bitwise("and", operator.and_)), ("or", _logical_or_bitwise("or", operator.or_)),
    ("xor", _logical_or_bitwise("xor", operator.xor)),
):  # fmt: skip
    _operator(_name, _function)
_operators: dict[str, Any] = {
    "__eq__": _equality(functions.equal, False),
    "__ne__": _equality(functions.not_equal, True),
    "__neg__": lambda self: functions.negative(self),
    "__abs__": lambda self: complexes.abs(self),
    "__invert__": lambda self: self.with_flat_values(~self.flat_values),
}
for _name, _function in _operators.items():
    setattr(RaggedTensor, _name, _function)
