"""Python's own functions on tensors whose values are known only when the compiled function runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ...core.primitive import local
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...engine.arrays import is_traced
from ...ops.array.creation import range_
from ...ops.array.movement import cast
from ...ops.math.functions import maximum, minimum
from ...ops.math.reduction import reduce_all, reduce_any, reduce_max, reduce_min
from .iteration import Slices, TracedRange, is_dense


def is_unknown(x: Any) -> bool:
    """Return whether it is a tensor whose value is known only when the compiled function runs."""
    return is_traced(getattr(x, "_array", None)) if type(x) is Tensor else _reads_traced(x)


def _reads_traced(x: Any) -> bool:
    return is_dense(x) and is_traced(getattr(x._read(), "_array", None))


def range_for_loop(*args: Any, **kwargs: Any) -> Any:
    """`tf.range` of a `for` statement: with a traced end it need not be a tensor."""
    if any(map(is_unknown, (*args, *kwargs.values()))):
        given = inspect.signature(range_).bind(*args, **kwargs).arguments
        return TracedRange(given["start"], given.get("limit"), given.get("delta", 1), given.get("dtype"))
    return range_(*args, **kwargs)


def _range(*args: Any) -> Any:
    return TracedRange(*args) if any(map(is_unknown, args)) else range(*args)


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    if local.here.trace is not None and hasattr(type(iterable), "_numbered"):  # a dataset, or its iterator
        return iterable._numbered(start)
    slices = Slices.of(iterable)
    return enumerate(iterable, start) if slices is None else slices.numbered(start)


def _zip(*iterables: Any, strict: bool = False) -> Any:
    if local.here.trace is not None and iterables and hasattr(type(iterables[0]), "_zipped"):  # datasets
        zipped = iterables[0]._zipped(iterables)
        if zipped is not None:
            return zipped
    slices = [Slices.of(iterable) for iterable in iterables]
    if not slices or None in slices:
        return zip(*iterables, strict=strict)
    return Slices.zipped(slices, strict)  # type: ignore[arg-type]


def _reversed(sequence: Any) -> Any:
    slices = Slices.of(sequence)
    return reversed(sequence) if slices is None else slices.reversed()


def _casting(dtype: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def cast_or_convert(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and is_unknown(args[0]):
            return cast(args[0], dtype)
        return plain(*args, **kwargs)

    return cast_or_convert


def _extreme(plain: Any, pair: Any, whole: Any) -> Callable[..., Any]:
    def extreme(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and is_unknown(args[0]):
            return whole(args[0], 0)
        items = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        if not kwargs and len(items) > 1 and any(map(is_unknown, items)):
            return functools.reduce(pair, items)
        return plain(*args, **kwargs)

    return extreme


def _whole(plain: Any, of_tensor: Any) -> Callable[[Any], Any]:
    def whole(iterable: Any) -> Any:
        if is_unknown(iterable):
            return of_tensor(cast(iterable, "bool"))
        if isinstance(iterable, (list, tuple)) and any(map(is_unknown, iterable)):
            return of_tensor(
                [cast(x, "bool") if isinstance(x, Tensor) else convert(bool(x)) for x in iterable]
            )
        return plain(iterable)

    return whole


BUILTINS: dict[Any, Any] = {
    range: _range,
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    bool: _casting("bool", bool),
    int: _casting("int32", int),
    float: _casting("float32", float),
    max: _extreme(max, maximum, reduce_max),
    min: _extreme(min, minimum, reduce_min),
    all: _whole(all, reduce_all),
    any: _whole(any, reduce_any),
}
