"""Calls in converted code: users' functions are converted in turn, libraries left alone, builtins replaced.

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
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any

from ...ops.array.creation import range_
from ...ops.math.sorting import sort
from .operators import OPERATORS
from .python_builtins import BUILTINS, is_unknown, range_for_loop
from .source import CannotConvert
from .syntax import Factory

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
# Modules of our own functions that take functions: those are converted before they are passed.
_TAKING_FUNCTIONS = frozenset(
    ("gradtape.ops.control.branching", "gradtape.ops.control.loops", "gradtape.core.custom")
)
_NOT_ORDINARY = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

_factories: weakref.WeakKeyDictionary[CodeType, dict[str, Factory | None]] = weakref.WeakKeyDictionary()
_converted: weakref.WeakKeyDictionary[FunctionType, FunctionType] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


def called(f: Any) -> Any:
    """The function to call where the user's code calls `f`."""
    kind = type(f)
    if kind is FunctionType:
        return _function(f)
    if kind is MethodType:
        inner = called(f.__func__)
        return f if inner is f.__func__ else MethodType(inner, f.__self__)
    if kind is BuiltinFunctionType or isinstance(f, type):
        return _REPLACED.get(f, f)
    if kind is functools.partial:
        inner = called(f.func)
        return f if inner is f.func else functools.partial(inner, *f.args, **f.keywords)
    method = inspect.getattr_static(kind, "__call__", None)
    if type(method) is FunctionType and _function(method) is not method:
        return MethodType(_function(method), f)
    return f


def counted(f: Any) -> Any:
    """The function to call where a `for` statement goes over the result of calling `f`."""
    return range_for_loop if f is range_ else called(f)


def autograph_artifact(f: Any) -> Any:
    """Mark a function as one that is not to be converted."""
    f.autograph_info__ = True
    return f


def converted(f: FunctionType) -> FunctionType:
    """Convert a function.

    Raises:
        CannotConvert: if its source cannot be found or converted.
    """
    return _factory(f).function(f, _NAMESPACE)


def _factory(f: FunctionType) -> Factory:
    """The converted code of a function, cached by its code, and by its file, which code objects do not compare."""
    code = f.__code__
    with _lock:
        by_file = _factories.setdefault(code, {})
        if code.co_filename not in by_file:
            by_file[code.co_filename] = None
            by_file[code.co_filename] = made = Factory(f)
            _report(f, made.source)
        factory = by_file[code.co_filename]
    if factory is None:
        raise CannotConvert("")  # reported the first time
    return factory


verbosity = (0, False)  # from 1 on converted code is logged; and whether it is also printed


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
    in_a_docstring = code.co_filename.startswith("<doctest")  # a user's code, with the library's globals
    if (_is_library(module) and not in_a_docstring) or code.co_flags & _NOT_ORDINARY:
        return f
    known = _converted.get(f)
    if known is None:
        try:
            known = converted(f)
        except CannotConvert as error:
            _warn(f, str(error))
            return f
        _converted[f] = autograph_artifact(known)
    return known


def _is_library(module: str) -> bool:
    root = module.partition(".")[0]
    return root in _LIBRARIES or (root in sys.stdlib_module_names and root != "__main__")


def _warn(f: FunctionType, reason: str) -> None:
    """Warn, once, that a function is not converted."""
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
    """A function of ours that takes functions: those are converted when it is called."""

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


def _sorted(iterable: Any, *, key: Any = None, reverse: Any = False) -> Any:
    if key is None and is_unknown(iterable):
        return sort(iterable, direction="DESCENDING" if reverse else "ASCENDING")
    return sorted(iterable, key=key and called(key), reverse=reverse)


_REPLACED: dict[Any, Any] = {
    **BUILTINS,
    sorted: _sorted,
    map: lambda f, *iterables: map(called(f), *iterables),
    filter: lambda f, iterable: filter(f and called(f), iterable),
    functools.reduce: lambda f, *rest: functools.reduce(called(f), *rest),
}

# Converted code calls it `ag__`.
_NAMESPACE = SimpleNamespace(
    **OPERATORS, autograph_artifact=autograph_artifact, called=called, counted=counted
)
