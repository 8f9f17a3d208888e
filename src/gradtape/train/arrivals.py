"""New variables while a checkpoint waits for some: a callback when one is first used.

Lists and dictionaries do not report what is put into them. So the value of a new variable is kept aside until it is
read or assigned: by then the variable is in its place, where `look` may find it. Python calls `Variable.__getattr__`
for the missing value; as that method makes every attribute slower, it exists only as long as a value is aside.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.primitive import local
from ..core.tensor import Tensor
from ..core.variable import Variable, when_new

_aside: dict[int, tuple[weakref.ref[Variable], Tensor]] = {}  # by the variable's id
_look: Callable[[], None]
_here = threading.local()  # `looks` is True in a thread that looks, as looking reads variables

# Attributes that are read before a variable is in its place, and do not depend on its value.
_ABOUT = {
    getattr(what, "fget", what).__code__
    for what in (Variable.dtype, Variable.ndim, Variable.device, Variable.__len__, Variable.__dlpack_device__)
}


def expect(look: Callable[[], None]) -> None:
    """Call `look` when a variable that is created from now on is first used."""
    global _look
    _look = look
    if _keep_aside not in when_new:
        when_new.append(_keep_aside)


def expect_none() -> None:
    """Stop: no checkpoint waits for variables any more."""
    if _keep_aside in when_new:
        when_new.remove(_keep_aside)


@contextmanager
def looking() -> Iterator[None]:
    """A block in which this thread's use of variables is no first use."""
    before = getattr(_here, "looks", False)
    _here.looks = True
    try:
        yield
    finally:
        _here.looks = before


def _keep_aside(variable: Variable) -> None:
    if variable._is_slot or local.here.trace is not None:
        return  # an optimizer's slot, which has its place already; or a @function sees to the value
    number = id(variable)
    _aside[number] = weakref.ref(variable, lambda _: _drop(number)), variable._tensor
    del variable._tensor
    Variable.__getattr__ = _first_use  # type: ignore[attr-defined]


def _first_use(self: Variable, name: str) -> Any:
    """Give a variable its value back, and look where the variable is."""
    known = _aside.get(id(self))
    if name != "_tensor" or known is None:
        return object.__getattribute__(
            self, name
        )  # raises for a missing name; or another thread has put the value in
    if sys._getframe(1).f_code in _ABOUT:
        return known[1]
    self._tensor = known[1]
    _drop(id(self))
    if not getattr(_here, "looks", False):
        _look()
    return self._tensor


def _drop(number: int) -> None:
    _aside.pop(number, None)
    if not _aside and "__getattr__" in Variable.__dict__:
        del Variable.__getattr__  # type: ignore[attr-defined]
