"""The door while passes of hot tapes are learned or followed: `apply`, `apply1` and `apply2` ask the pass first.

Functions import the door by name, so it is exchanged by its code. Until a pass is learned, an operation pays nothing
for hot tapes; a test of `here.hot` in each of the three took 2 to 3 % of small operations. Python's operators are
exchanged with it, for ones that ask the pass themselves: 0.03 us less. Python's reference has `__code__` as writable;
tests/hot/test_door.py tells whether an interpreter agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from . import primitive as door
from .primitive import Primitive, local

# By these names the code below, which runs with the names of `primitive`, finds what computes at once.
_EAGER = {
    f"eager_{name}": FunctionType(function.__code__, vars(door), name, function.__defaults__)
    for name, function in (("apply", door.apply), ("apply1", door.apply1), ("apply2", door.apply2))
}
eager_apply, eager_apply1, eager_apply2 = _EAGER.values()


def _apply(primitive: Primitive, inputs: tuple[Any, ...], attributes: dict[str, Any] | None = None) -> Any:
    hot = local.here.hot
    if hot is None:
        return eager_apply(primitive, inputs, attributes)
    return hot.operation(primitive, inputs, attributes)


def _apply1(primitive: Primitive, x: Any, attributes: dict[str, Any] | None = None) -> Any:
    hot = local.here.hot
    if hot is None:
        return eager_apply1(primitive, x, attributes)
    return hot.operation1(primitive, x, attributes)


def _apply2(primitive: Primitive, x: Any, y: Any) -> Any:
    hot = local.here.hot
    if hot is None:
        return eager_apply2(primitive, x, y)
    return hot.operation2(primitive, x, y)


# Functions, and their code while nobody asks passes and while they do.
_exchanged: list[tuple[FunctionType, CodeType, CodeType]] = []


def exchange(function: Callable[..., Any], asking: Callable[..., Any]) -> None:
    """Have a function run the code of another, of the same free names, while operations ask passes."""
    _exchanged.append((function, function.__code__, asking.__code__))  # type: ignore[arg-type]


for _door, _asking in ((door.apply, _apply), (door.apply1, _apply1), (door.apply2, _apply2)):
    exchange(_door, _asking)


def ask_passes() -> None:
    """From now on, have operations ask the pass of their thread first."""
    if door.apply.__code__ is _apply.__code__:
        return
    vars(door).update(_EAGER)
    for function, _, asking in _exchanged:
        function.__code__ = asking


def ask_nobody() -> None:
    """Undo `ask_passes`; for when no thread has a pass."""
    for function, plain, _ in _exchanged:
        function.__code__ = plain
