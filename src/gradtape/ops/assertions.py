"""Assertions about values, shapes and dtypes of tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import DTypeError, InvalidArgumentError
from ..core.tensor import Tensor, convert, is_tensor
from ..engine.arrays import is_traced
from .array.movement import together
from .control.printing import demand
from .math.numerics import check_numerics
from .scalars import integer, number

# ---------------------------------------------------------------------------------------------------------------------
# Values


def _hold(
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
        text = f"{name}: {relation} does not hold{_where(wrong, a, b, shown)}"
        return InvalidArgumentError(_with(message, text))

    right = holds(a, b).all()
    if is_traced(right):
        demand(right, error, [a, b])
    elif not right:
        raise error(a, b)


_ORDERS = (operator.lt, operator.le, operator.gt, operator.ge)


def _with(message: Any, text: str) -> str:
    return text if message is None else f"{message}\n{text}"


def _where(wrong: Any, a: Any, b: Any, count: int) -> str:
    """The first places where an assertion fails, and what is there."""
    places = np.argwhere(wrong)
    shown = places if count < 0 else places[:count]
    if not wrong.ndim:
        return f": x is {a}, y is {b}"
    lines = [f"\n  at {p.tolist()}: x is {a[tuple(p)]}, y is {b[tuple(p)]}" for p in shown]
    more = [f"\n  and at {len(places) - len(shown)} more"] if len(shown) < len(places) else []
    return " everywhere:" + "".join(lines + more)


def assert_equal(x: Any, y: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> None:
    """Raise unless x == y everywhere.

    >>> assert_equal([1, 2], [1, 2])
    """
    _hold("assert_equal", "x == y", operator.eq, x, y, message, summarize)


def assert_none_equal(
    x: Any, y: Any, summarize: Any = None, message: Any = None, name: str | None = None
) -> None:
    """Raise unless x != y everywhere.

    >>> assert_none_equal([1, 2], [2, 1])
    """
    _hold("assert_none_equal", "x != y", operator.ne, x, y, message, summarize)


def assert_less(x: Any, y: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> None:
    """Raise unless x < y everywhere.

    >>> assert_less([1, 2], 3)
    """
    _hold("assert_less", "x < y", operator.lt, x, y, message, summarize)


def assert_less_equal(
    x: Any, y: Any, message: Any = None, summarize: Any = None, name: str | None = None
) -> None:
    """Raise unless x <= y everywhere.

    >>> assert_less_equal([1, 2], 2)
    """
    _hold("assert_less_equal", "x <= y", operator.le, x, y, message, summarize)


def assert_greater(
    x: Any, y: Any, message: Any = None, summarize: Any = None, name: str | None = None
) -> None:
    """Raise unless x > y everywhere.

    >>> assert_greater([1, 2], 0)
    """
    _hold("assert_greater", "x > y", operator.gt, x, y, message, summarize)


def assert_greater_equal(
    x: Any, y: Any, message: Any = None, summarize: Any = None, name: str | None = None
) -> None:
    """Raise unless x >= y everywhere.

    >>> assert_greater_equal([1, 2], 1)
    """
    _hold("assert_greater_equal", "x >= y", operator.ge, x, y, message, summarize)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: Any = None,
    summarize: Any = None,
    name: str | None = None,
) -> None:
    """Raise unless |x - y| < atol + rtol * |y| everywhere; both are ten times the dtype's precision by default.

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
    _hold(
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
    _hold(name, relation, holds, tensor, np.zeros((), tensor._array.dtype), message, summarize)


def assert_positive(x: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> None:
    """Raise unless x > 0 everywhere.

    >>> assert_positive([1, 2])
    """
    _against_zero("assert_positive", "x > 0", operator.gt, x, message, summarize)


def assert_negative(x: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> None:
    """Raise unless x < 0 everywhere.

    >>> assert_negative([-1, -2])
    """
    _against_zero("assert_negative", "x < 0", operator.lt, x, message, summarize)


def assert_non_negative(x: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> None:
    """Raise unless x >= 0 everywhere.

    >>> assert_non_negative([0, 1])
    """
    _against_zero("assert_non_negative", "x >= 0", operator.ge, x, message, summarize)


def assert_non_positive(x: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> None:
    """Raise unless x <= 0 everywhere.

    >>> assert_non_positive([0, -1])
    """
    _against_zero("assert_non_positive", "x <= 0", operator.le, x, message, summarize)


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor itself, if no element is infinite or nan; else an error.

    >>> assert_all_finite(1.0, "finite").numpy()
    np.float32(1.0)
    """
    return check_numerics(x, message)


# ---------------------------------------------------------------------------------------------------------------------
# Shapes


def _number(name: str, rank: Any) -> int:
    given = convert(rank)
    if given.ndim:
        raise ValueError(f"{name}: a rank is one number, not {rank!r}")
    if not given.dtype.is_integer:
        raise TypeError(f"{name}: a rank is an integer, not {rank!r}")
    return int(given)


def _rank(name: str, x: Any, holds: Callable[[int], bool], wanted: str, message: Any) -> None:
    tensor = convert(x)
    if not holds(tensor.ndim):
        text = f"{name}: the rank must be {wanted}, and is {tensor.ndim}, in shape {tensor.shape}"
        raise ValueError(_with(message, text))


def assert_rank(x: Any, rank: Any, message: Any = None, name: str | None = None) -> None:
    """Raise unless x has `rank` axes.

    >>> assert_rank([[1, 2]], 2)
    """
    wanted = _number("assert_rank", rank)
    _rank("assert_rank", x, lambda n: n == wanted, str(wanted), message)


def assert_rank_at_least(x: Any, rank: Any, message: Any = None, name: str | None = None) -> None:
    """Raise unless x has `rank` axes or more.

    >>> assert_rank_at_least([[1, 2]], 1)
    """
    wanted = _number("assert_rank_at_least", rank)
    _rank("assert_rank_at_least", x, lambda n: n >= wanted, f"at least {wanted}", message)


def assert_rank_in(x: Any, ranks: Iterable[Any], message: Any = None, name: str | None = None) -> None:
    """Raise unless the number of axes of x is one of `ranks`.

    >>> assert_rank_in([[1, 2]], (1, 2))
    """
    wanted = [_number("assert_rank_in", rank) for rank in ranks]
    _rank("assert_rank_in", x, lambda n: n in wanted, f"one of {wanted}", message)


def assert_scalar(tensor: Any, message: Any = None, name: str | None = None) -> Tensor:
    """The tensor itself, if it has no axes.

    >>> assert_scalar(1.0).numpy()
    np.float32(1.0)
    """
    _rank("assert_scalar", tensor, lambda n: n == 0, "0", message)
    return convert(tensor)


def assert_shapes(
    shapes: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> None:
    """Raise unless tensors have the shapes beside them, in which equal letters stand for equal lengths.

    `shapes` is a list of pairs (or a dict). A shape holds numbers, letters, None or '.' for any length; in front, '*'
    or `...` stands for any number of axes.

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
                _with(message, f"assert_shapes: a shape is a list of lengths and letters, not {shape!r}")
            )
        for axis, (wanted, n) in enumerate(_matched(tensor, list(shape), message)):
            if wanted in (None, "."):
                continue
            size, source = lengths.setdefault(wanted, (n, f"axis {axis} of shape {tensor.shape}"))
            if str(wanted).isdigit():
                size, source = int(wanted), "the shape given"
            if n != size:
                text = f"assert_shapes: axis {axis} of shape {tensor.shape} must have length {size}, after {source}"
                raise ValueError(_with(message, text))


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
            _with(message, f"assert_shapes: '*' and `...` may stand in front only, not as in {shape}")
        )
    if len(own) != len(shape):
        text = (
            f"assert_shapes: a tensor of shape {tensor.shape} does not have the {len(shape)} axes of {shape}"
        )
        raise ValueError(_with(message, text))
    return list(zip(shape, own, strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# Types


def assert_type(tensor: Any, tf_type: Any, message: Any = None, name: str | None = None) -> None:
    """Raise unless a tensor has this dtype.

    >>> assert_type(convert(1.0), "float32")
    """
    own, wanted = convert(tensor).dtype, dtypes.as_dtype(tf_type)
    if own is not wanted:
        raise TypeError(_with(message, f"assert_type: the dtype must be {wanted.name}, and is {own.name}"))


def assert_integer(x: Any, message: Any = None, name: str | None = None) -> None:
    """Raise unless x is of an integer dtype.

    >>> assert_integer([1, 2])
    """
    own = convert(x).dtype
    if not own.is_integer:
        raise TypeError(_with(message, f"assert_integer: the dtype must be an integer, and is {own.name}"))


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """The dtype, float32 by default, if it is floating and that of all the tensors.

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


def assert_proper_iterable(values: Any) -> None:
    """Raise unless this is a collection, and not a tensor, an array or a text.

    >>> assert_proper_iterable([1, 2])
    """
    if is_tensor(values) or isinstance(values, (np.ndarray, str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(
            f"assert_proper_iterable: a list, tuple or the like is needed, not {type(values).__name__}"
        )


def is_numeric_tensor(tensor: Any) -> bool:
    """Is it a tensor of numbers?

    >>> is_numeric_tensor(convert(1.0)), is_numeric_tensor(convert("a"))
    (True, False)
    """
    return type(tensor) is Tensor and tensor.dtype.is_numeric
