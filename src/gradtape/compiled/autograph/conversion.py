"""What converted code calls: users' functions converted in turn, libraries as they are, some of Python's own as ours.

Converted code says `ag__.called(f)(x)` where the user wrote `f(x)`.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
import threading
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

from ...core.tensor import Tensor, convert
from ...engine.arrays import is_traced
from ...ops.array.creation import range_
from ...ops.array.movement import cast
from ...ops.math.functions import maximum, minimum
from ...ops.math.reduction import reduce_all, reduce_any, reduce_max, reduce_min
from ...ops.math.sorting import sort
from .iteration import Each, Steps
from .syntax import CannotConvert, Factory

logger = logging.getLogger("gradtape")

# Code that is written to be traced, or does not look into tensors. The standard library is left alone as well.
_LIBRARIES = frozenset(
    [
        "IPython",
        "PIL",
        "_pytest",
        "attr",
        "attrs",
        "gradtape",
        "jax",
        "jaxlib",
        "keras",
        "malt",
        "matplotlib",
        "ml_dtypes",
        "numpy",
        "optree",
        "pandas",
        "pytest",
        "rich",
        "safetensors",
        "scipy",
        "sklearn",
        "tensorflow",
        "torch",
        "tqdm",
    ]
)
# Where our own functions that take functions live: those are converted before they are passed.
_TAKING_FUNCTIONS = frozenset(
    ("gradtape.ops.control.branching", "gradtape.ops.control.loops", "gradtape.core.custom")
)
_NOT_ORDINARY = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

_factories: weakref.WeakKeyDictionary[CodeType, dict[str, Factory | None]] = weakref.WeakKeyDictionary()
_converted: weakref.WeakKeyDictionary[FunctionType, FunctionType] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


def called(f: Any) -> Any:
    """What to call where the user's code calls `f`."""
    kind = type(f)
    if kind is FunctionType:
        return _function(f)
    if kind is MethodType:
        inner = called(f.__func__)
        return f if inner is f.__func__ else MethodType(inner, f.__self__)
    if kind is BuiltinFunctionType or isinstance(f, type):
        return _OURS.get(f, f)
    if kind is functools.partial:
        inner = called(f.func)
        return f if inner is f.func else functools.partial(inner, *f.args, **f.keywords)
    method = inspect.getattr_static(kind, "__call__", None)
    if type(method) is FunctionType and _function(method) is not method:
        return MethodType(_function(method), f)
    return f


def counted(f: Any) -> Any:
    """The same for a call that a `for` goes over: a range up to a traced number need not be a tensor then."""
    return _counting if f is range_ else called(f)


def autograph_artifact(f: Any) -> Any:
    """A mark for a function that is not to be converted, because it has been or shall not be."""
    f.autograph_info__ = True
    return f


def converted(f: FunctionType) -> FunctionType:
    """A function converted. Raises `CannotConvert`."""
    from .operators import namespace

    return _factory(f).function(f, namespace())


def _factory(f: FunctionType) -> Factory:
    """Converted code is kept by the code it comes from, and by its file, which is no part of the code's equality."""
    code = f.__code__
    with _lock:
        by_file = _factories.setdefault(code, {})
        if code.co_filename not in by_file:
            by_file[code.co_filename] = None
            by_file[code.co_filename] = made = Factory(f)
            _report(f, made.source)
        factory = by_file[code.co_filename]
    if factory is None:
        raise CannotConvert("")  # a second time: has been said
    return factory


verbosity = (0, False)  # from 1 on converted code is logged; is it printed too?


def _report(f: FunctionType, source: str) -> None:
    level, printed = verbosity
    if level >= 1:
        logger.info("AutoGraph has converted %s:\n%s", f.__qualname__, source)
        if printed:
            print(f"AutoGraph has converted {f.__qualname__}:\n{source}")


def _function(f: FunctionType) -> Any:
    if hasattr(f, "autograph_info__"):
        return f
    module = f.__globals__.get("__name__") or ""
    if module in _TAKING_FUNCTIONS:
        return _Passing(f)
    code = f.__code__
    in_a_docstring = code.co_filename.startswith("<doctest")  # that of a library's, and written for its users
    if (_is_library(module) and not in_a_docstring) or code.co_flags & _NOT_ORDINARY:
        return f
    known = _converted.get(f)
    if known is None:
        try:
            known = converted(f)
        except CannotConvert as error:
            _leave(f, str(error))
            return f
        _converted[f] = autograph_artifact(known)
    return known


def _is_library(module: str) -> bool:
    root = module.partition(".")[0]
    return root in _LIBRARIES or (root in sys.stdlib_module_names and root != "__main__")


def _leave(f: FunctionType, reason: str) -> None:
    """Say, once, that a function stays as it is."""
    code = f.__code__
    if reason and code.co_filename != "<string>":
        logger.warning(
            "AutoGraph leaves %s (%s, line %d) as it is: %s. An `if`, `while` or `for` on tensors in it does not "
            "become part of the compiled function; autograph.experimental.do_not_convert says that none needs to",
            f.__qualname__,
            code.co_filename,
            code.co_firstlineno,
            reason,
        )


class _Passing:
    """A function of ours that is given functions, which it calls converted."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._function = f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = {name: _passed(a) for name, a in kwargs.items()}
        return self._function(*map(_passed, args), **given)


def _passed(argument: Any) -> Any:
    if isinstance(argument, (FunctionType, MethodType, functools.partial)):
        return called(argument)
    if type(argument) in (list, tuple):  # pairs of conditions and functions
        return type(argument)(map(_passed, argument))
    if type(argument) is dict:
        return {key: _passed(value) for key, value in argument.items()}
    return argument


# ---------------------------------------------------------------------------------------------------------------------
# Python's own functions, on tensors whose values are not known


def is_unknown(x: Any) -> bool:
    """Is it a tensor whose value only the compiled function will know?"""
    return is_traced(getattr(x, "_array", None)) if type(x) is Tensor else _reads_traced(x)


def _reads_traced(x: Any) -> bool:
    return hasattr(type(x), "_read") and is_traced(getattr(x._read(), "_array", None))


def _counting(*args: Any, **kwargs: Any) -> Any:
    if any(map(is_unknown, (*args, *kwargs.values()))):
        given = inspect.signature(range_).bind(*args, **kwargs).arguments
        return Steps(given["start"], given.get("limit"), given.get("delta", 1), given.get("dtype"))
    return range_(*args, **kwargs)


def _range(*args: Any) -> Any:
    return Steps(*args) if any(map(is_unknown, args)) else range(*args)


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    each = Each.over(iterable)
    return enumerate(iterable, start) if each is None else each.numbered(start)


def _zip(*iterables: Any, strict: bool = False) -> Any:
    each = [Each.over(iterable) for iterable in iterables]
    if not each or None in each:
        return zip(*iterables, strict=strict)
    return Each.together(each, strict)  # type: ignore[arg-type]


def _reversed(sequence: Any) -> Any:
    each = Each.over(sequence)
    return reversed(sequence) if each is None else each.backwards()


def _as(dtype: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def converting(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and is_unknown(args[0]):
            return cast(args[0], dtype)
        return plain(*args, **kwargs)

    return converting


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


def _sorted(iterable: Any, *, key: Any = None, reverse: Any = False) -> Any:
    if key is None and is_unknown(iterable):
        return sort(iterable, direction="DESCENDING" if reverse else "ASCENDING")
    return sorted(iterable, key=key and called(key), reverse=reverse)


_OURS: dict[Any, Any] = {
    range: _range,
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    bool: _as("bool", bool),
    int: _as("int32", int),
    float: _as("float32", float),
    max: _extreme(max, maximum, reduce_max),
    min: _extreme(min, minimum, reduce_min),
    all: _whole(all, reduce_all),
    any: _whole(any, reduce_any),
    sorted: _sorted,
    map: lambda f, *iterables: map(called(f), *iterables),
    filter: lambda f, iterable: filter(f and called(f), iterable),
    functools.reduce: lambda f, *rest: functools.reduce(called(f), *rest),
}
