"""Assertions about values, shapes and dtypes of tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.dtypes import DType
from ..core.errors import DTypeError, InvalidArgumentError
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert, is_tensor
from ..core.types import DTypeLike, TensorLike
from ..engine.arrays import is_traced
from .array.movement import together
from .control.printing import demand
from .math.numerics import check_numerics
from .scalars import integer, number

# ---------------------------------------------------------------------------------------------------------------------
# Values


def _check(
    name: str, relation: str, holds: Callable[..., Any], x: Any, y: Any, message: Any, summarize: Any
) -> None:
    """Raise unless the relation holds for all elements of x and y."""
    left, right = together(name, [x, y])
    if left.dtype is not right.dtype:
        raise DTypeError(f"{name}: x is {left.dtype.name} and y is {right.dtype.name}: cast one")
    a, b = left._array, right._array
    shown = 3 if summarize is None else integer(name, "summarize", summarize)
    if holds in _ORDERS and a.dtype.kind in "bcO":
        raise DTypeError(f"{name}: takes real numbers, not {left.dtype.name}, which has no order")
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise InvalidArgumentError(
            f"{name}: the shapes {list(a.shape)} and {list(b.shape)} of x and y do not broadcast"
        ) from None

    def error(a: Any, b: Any) -> InvalidArgumentError:
        wrong = ~holds(a, b)
        a, b = np.broadcast_to(a, wrong.shape), np.broadcast_to(b, wrong.shape)
        text = f"{name}: {relation} does not hold{_failures(wrong, a, b, shown)}"
        return InvalidArgumentError(_prefixed(message, text))

    satisfied = holds(a, b).all()
    if is_traced(satisfied):
        demand(satisfied, error, [a, b])
    elif not satisfied:
        raise error(a, b)


_ORDERS = (operator.lt, operator.le, operator.gt, operator.ge)


def _prefixed(message: Any, text: str) -> str:
    return text if message is None else f"{message}\n{text}"


def _failures(wrong: Any, a: Any, b: Any, count: int) -> str:
    """The first places where an assertion fails, and the values there, as text."""
    places = np.argwhere(wrong)
    shown = places if count < 0 else places[:count]
    if not wrong.ndim:
        return f": x is {a}, y is {b}"
    lines = [f"\n  at {p.tolist()}: x is {a[tuple(p)]}, y is {b[tuple(p)]}" for p in shown]
    more = [f"\n  and at {len(places) - len(shown)} more"] if len(shown) < len(places) else []
    return " everywhere:" + "".join(lines + more)


def assert_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless x == y everywhere.

    Args:
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x == y does not hold, or the shapes do not broadcast.
        DTypeError: if the dtypes differ.

    >>> assert_equal([1, 2], [1, 2])
    """
    _check("assert_equal", "x == y", operator.eq, x, y, message, summarize)


def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless x != y everywhere.

    Args:
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x != y does not hold, or the shapes do not broadcast.
        DTypeError: if the dtypes differ.

    >>> assert_none_equal([1, 2], [2, 1])
    """
    _check("assert_none_equal", "x != y", operator.ne, x, y, message, summarize)


def assert_less(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless x < y everywhere.

    Args:
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x < y does not hold, or the shapes do not broadcast.
        DTypeError: if the dtypes differ, or are not those of real numbers.

    >>> assert_less([1, 2], 3)
    """
    _check("assert_less", "x < y", operator.lt, x, y, message, summarize)


def assert_less_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless x <= y everywhere.

    Args:
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x <= y does not hold, or the shapes do not broadcast.
        DTypeError: if the dtypes differ, or are not those of real numbers.

    >>> assert_less_equal([1, 2], 2)
    """
    _check("assert_less_equal", "x <= y", operator.le, x, y, message, summarize)


def assert_greater(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless x > y everywhere.

    Args:
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x > y does not hold, or the shapes do not broadcast.
        DTypeError: if the dtypes differ, or are not those of real numbers.

    >>> assert_greater([1, 2], 0)
    """
    _check("assert_greater", "x > y", operator.gt, x, y, message, summarize)


def assert_greater_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless x >= y everywhere.

    Args:
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x >= y does not hold, or the shapes do not broadcast.
        DTypeError: if the dtypes differ, or are not those of real numbers.

    >>> assert_greater_equal([1, 2], 1)
    """
    _check("assert_greater_equal", "x >= y", operator.ge, x, y, message, summarize)


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless |x - y| < atol + rtol * |y| everywhere.

    Args:
        rtol, atol: the relative and the absolute tolerance; ten times the dtype's precision by default.
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x and y differ by more, or the shapes do not broadcast.
        DTypeError: if the dtypes differ, or are neither floating nor complex.

    >>> assert_near(1.0, 1.0 + 1e-7)
    """
    left = together("assert_near", [x, y])[0]
    if not (left.dtype.is_floating or left.dtype.is_complex):
        raise DTypeError(f"assert_near: takes floating tensors, not {left.dtype.name}")
    import ml_dtypes

    kind = left.dtype.real_dtype.numpy_dtype
    precision = 10 * np.asarray(ml_dtypes.finfo(kind).eps, kind)
    relative, absolute = (
        precision if tolerance is None else np.asarray(number("assert_near", what, tolerance), kind)
        for what, tolerance in (("rtol", rtol), ("atol", atol))
    )
    relation = f"|x - y| < {absolute} + {relative} * |y|"
    _check(
        "assert_near",
        relation,
        lambda a, b: abs(a - b) < absolute + relative * abs(b),
        x,
        y,
        message,
        summarize,
    )


def _against_zero(
    name: str, relation: str, holds: Callable[..., Any], x: Any, message: Any, summarize: Any
) -> None:
    tensor = convert(x)
    _check(name, relation, holds, tensor, np.zeros((), tensor._array.dtype), message, summarize)


def assert_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless x > 0 everywhere.

    Args:
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x > 0 does not hold.
        DTypeError: if x is not of real numbers.

    >>> assert_positive([1, 2])
    """
    _against_zero("assert_positive", "x > 0", operator.gt, x, message, summarize)


def assert_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless x < 0 everywhere.

    Args:
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x < 0 does not hold.
        DTypeError: if x is not of real numbers.

    >>> assert_negative([-1, -2])
    """
    _against_zero("assert_negative", "x < 0", operator.lt, x, message, summarize)


def assert_non_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless x >= 0 everywhere.

    Args:
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x >= 0 does not hold.
        DTypeError: if x is not of real numbers.

    >>> assert_non_negative([0, 1])
    """
    _against_zero("assert_non_negative", "x >= 0", operator.ge, x, message, summarize)


def assert_non_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless x <= 0 everywhere.

    Args:
        message: text in front of the error's own.
        summarize: the number of failing places that the error lists: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if x <= 0 does not hold.
        DTypeError: if x is not of real numbers.

    >>> assert_non_positive([0, -1])
    """
    _against_zero("assert_non_positive", "x <= 0", operator.le, x, message, summarize)


def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> Tensor:
    """The tensor itself, if no element is infinite or nan.

    Args:
        message: text in front of the error's own.

    Raises:
        InvalidArgumentError: if an element is infinite or nan.

    >>> assert_all_finite(1.0, "finite").numpy()
    np.float32(1.0)
    """
    return check_numerics(x, message)


# ---------------------------------------------------------------------------------------------------------------------
# Shapes


def _rank_number(name: str, rank: Any) -> int:
    given = convert(rank)
    if given.ndim:
        raise ValueError(f"{name}: a rank is one number, not {rank!r}")
    if not given.dtype.is_integer:
        raise TypeError(f"{name}: a rank is an integer, not {rank!r}")
    return int(given)


def _check_rank(name: str, x: Any, holds: Callable[[int], bool], wanted: str, message: Any) -> None:
    tensor = convert(x)
    if not holds(tensor.ndim):
        text = f"{name}: the rank must be {wanted}, and is {tensor.ndim}, in shape {tensor.shape}"
        raise ValueError(_prefixed(message, text))


def assert_rank(x: TensorLike, rank: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raise unless x has `rank` axes.

    Args:
        rank: the number of axes.
        message: text in front of the error's own.

    Raises:
        ValueError: if x has another number of axes, or a rank is not one number.
        TypeError: if a rank is no integer.

    >>> assert_rank([[1, 2]], 2)
    """
    wanted = _rank_number("assert_rank", rank)
    _check_rank("assert_rank", x, lambda n: n == wanted, str(wanted), message)


def assert_rank_at_least(
    x: TensorLike, rank: TensorLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless x has `rank` axes or more.

    Args:
        rank: the least number of axes.
        message: text in front of the error's own.

    Raises:
        ValueError: if x has another number of axes, or a rank is not one number.
        TypeError: if a rank is no integer.

    >>> assert_rank_at_least([[1, 2]], 1)
    """
    wanted = _rank_number("assert_rank_at_least", rank)
    _check_rank("assert_rank_at_least", x, lambda n: n >= wanted, f"at least {wanted}", message)


def assert_rank_in(
    x: TensorLike, ranks: Iterable[TensorLike], message: str | None = None, name: str | None = None
) -> None:
    """Raise unless the number of axes of x is one of `ranks`.

    Args:
        ranks: numbers of axes.
        message: text in front of the error's own.

    Raises:
        ValueError: if x has another number of axes, or a rank is not one number.
        TypeError: if a rank is no integer.

    >>> assert_rank_in([[1, 2]], (1, 2))
    """
    wanted = [_rank_number("assert_rank_in", rank) for rank in ranks]
    _check_rank("assert_rank_in", x, lambda n: n in wanted, f"one of {wanted}", message)


def assert_scalar(tensor: TensorLike, message: str | None = None, name: str | None = None) -> Tensor:
    """The tensor itself, if it has no axes.

    Args:
        message: text in front of the error's own.

    Raises:
        ValueError: if it has axes.

    >>> assert_scalar(1.0).numpy()
    np.float32(1.0)
    """
    _check_rank("assert_scalar", tensor, lambda n: n == 0, "0", message)
    return convert(tensor)


def assert_shapes(
    shapes: Any,
    data: object = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless tensors have given shapes, in which equal letters stand for equal lengths.

    Args:
        shapes: pairs of a tensor and its shape, in a list or a dict. A shape holds numbers, letters, None or '.' for
            any length; in front, '*' or `...` stands for any number of axes.
        data, summarize: accepted and ignored.
        message: text in front of the error's own.

    Raises:
        ValueError: if a tensor has another shape, or `shapes` is not made of such pairs.

    >>> assert_shapes([(convert([[1, 2], [3, 4]]), ("N", "D")), (convert([5, 6]), ("D",))])
    """
    lengths: dict[Any, tuple[int, str]] = {}
    pairs = (
        list(shapes.items() if isinstance(shapes, dict) else shapes)
        if hasattr(shapes, "__iter__")
        else [shapes]
    )
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"assert_shapes: takes pairs of a tensor and its shape, not {shapes!r}")
    for x, shape in pairs:
        tensor = convert(x.deref() if hasattr(x, "deref") else x)
        if not hasattr(shape, "__iter__") and not hasattr(shape, "__getitem__"):
            raise ValueError(
                _prefixed(message, f"assert_shapes: a shape is a list of lengths and letters, not {shape!r}")
            )
        for axis, (wanted, n) in enumerate(_matched(tensor, list(shape), message)):
            if wanted in (None, "."):
                continue
            size, source = lengths.setdefault(wanted, (n, f"axis {axis} of shape {tensor.shape}"))
            if str(wanted).isdigit():
                size, source = int(wanted), "the shape given"
            if n != size:
                text = f"assert_shapes: axis {axis} of shape {tensor.shape} must have length {size}, after {source}"
                raise ValueError(_prefixed(message, text))


def _matched(tensor: Tensor, shape: list[Any], message: Any) -> list[tuple[Any, int]]:
    """Each entry of a symbolic shape beside the length of the axis that it is for."""
    own = (
        tuple(tensor.shape) if tensor.ndim or len(shape) != 1 else (1,)
    )  # a number may stand for a vector of one
    if shape and shape[0] in (..., "...", "*"):
        shape = shape[1:]
        own = own[max(len(own) - len(shape), 0) :]
    if any(entry in (..., "...", "*") for entry in shape):
        raise ValueError(
            _prefixed(message, f"assert_shapes: '*' and `...` may stand in front only, not as in {shape}")
        )
    if len(own) != len(shape):
        text = (
            f"assert_shapes: a tensor of shape {tensor.shape} does not have the {len(shape)} axes of {shape}"
        )
        raise ValueError(_prefixed(message, text))
    return list(zip(shape, own, strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# Types


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor has a given dtype.

    Args:
        tf_type: the dtype.
        message: text in front of the error's own.

    Raises:
        TypeError: if the tensor has another dtype.

    >>> assert_type(convert(1.0), "float32")
    """
    own, wanted = convert(tensor).dtype, dtypes.as_dtype(tf_type)
    if own is not wanted:
        raise TypeError(
            _prefixed(message, f"assert_type: the dtype must be {wanted.name}, and is {own.name}")
        )


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raise unless x is of an integer dtype.

    Args:
        message: text in front of the error's own.

    Raises:
        TypeError: if x has another dtype.

    >>> assert_integer([1, 2])
    """
    own = convert(x).dtype
    if not own.is_integer:
        raise TypeError(
            _prefixed(message, f"assert_integer: the dtype must be an integer, and is {own.name}")
        )


def assert_same_float_dtype(
    tensors: Iterable[TensorLike] | None = None, dtype: DTypeLike | None = None
) -> DType:
    """The floating dtype of tensors, if all have the same.

    Args:
        dtype: what theirs must be; without it and without tensors the result is float32.

    Raises:
        ValueError: if the dtypes differ, or are not floating.

    >>> assert_same_float_dtype([convert(1.0), convert(2.0)])
    tf.float32
    """
    given = [] if tensors is None else [convert(t) for t in tensors]
    found = {t.dtype for t in given} | ({dtypes.as_dtype(dtype)} if dtype is not None else set())
    if len(found) > 1:
        names = ", ".join(sorted(kind.name for kind in found))
        raise ValueError(f"assert_same_float_dtype: the dtypes must be the same, and are {names}")
    (kind,) = found or {dtypes.float32}
    if not kind.is_floating:
        raise ValueError(f"assert_same_float_dtype: the dtype must be floating, and is {kind.name}")
    return kind


def assert_proper_iterable(values: object) -> None:
    """Raise unless `values` is a collection, and not a tensor, an array or a text.

    Raises:
        TypeError: if it is none.

    >>> assert_proper_iterable([1, 2])
    """
    if is_tensor(values) or isinstance(values, (np.ndarray, str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(
            f"assert_proper_iterable: a list, tuple or the like is needed, not {type(values).__name__}"
        )


def is_numeric_tensor(tensor: object) -> bool:
    """Return whether this is a tensor of numbers.

    >>> is_numeric_tensor(convert(1.0)), is_numeric_tensor(convert("a"))
    (True, False)
    """
    return type(tensor) is Tensor and tensor.dtype.is_numeric
