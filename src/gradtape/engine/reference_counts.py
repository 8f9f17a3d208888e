"""Reference counts: when an array may be overwritten because nothing else refers to it.

`sys.getrefcount` also counts the references of the code that asks: its locals, its arguments, the stack. How many those
are depends on the form of that code and on the interpreter, so each count is measured here, once, by code of the same
form, and compared with what CPython 3.11 to 3.13 give. On any other interpreter (Python 3.14 may pass an argument
without counting a reference to it) the counts are UNKNOWN: then nothing is overwritten, and programs are right but
slower. To support another Python, run tests/test_reference_counts.py on it, and add it to TESTED if only its first
test fails.
"""

from __future__ import annotations

import sys
from sys import getrefcount
from typing import Any

TESTED = ((3, 11), (3, 12), (3, 13))
UNKNOWN = -1  # less than any count: `count == UNKNOWN` is never true, `count > UNKNOWN` always


def references(holder: Any, array: Any) -> int:
    """The references to a tensor and to its array, those of the asking code included."""
    return getrefcount(holder) + getrefcount(array)


class _Holder:
    """Stands for a variable, which holds a tensor, and for a tensor, which holds an array."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def measure() -> dict[str, int]:
    """The counts in each situation, by name. Two of them are of an argument: a temporary, and one with a name."""
    named = _Holder(_Holder(None))
    return {
        "item of a dictionary": _item({0: _Holder(None)}, 0),
        "value of a variable": _value(_Holder(_Holder(_Holder(None)))),
        "argument": _method(_Holder(_Holder(None))),
        "argument with a name": _method(named),
        "items of lists": _items(_Holder(_Holder(_Holder(None)))),
    }


def _item(items: dict[int, Any], key: int) -> int:
    """As in `sweep`: a gradient that only the dictionary holds."""
    total = items[key]
    return getrefcount(total)


def _value(variable: Any) -> int:
    """As in `Variable._update`: a value that only the variable holds."""
    tensor = variable.held
    array = tensor.held
    return references(tensor, array)


def _method(delta: Any) -> int:
    """As in `Variable.assign_add`, which passes its argument on to `Variable._update`."""
    return _update(delta)


def _update(delta: Any) -> int:
    operand = delta.held
    return references(delta, operand)


def _items(variable: Any) -> int:
    """As in `compiled`: a tensor that a variable and a list hold, and its array, taken out, that a list holds."""
    tensors = [variable.held]
    arrays = [tensors[0].held]
    tensors[0].held = None
    return sum(map(getrefcount, tensors)) + sum(map(getrefcount, arrays))


EXPECTED = {
    "item of a dictionary": 3,
    "value of a variable": 8,
    "argument": 8,
    "argument with a name": 9,
    "items of lists": 5,
}


def _is_tested() -> bool:
    return (
        sys.implementation.name == "cpython"
        and sys.version_info[:2] in TESTED
        and "t" not in getattr(sys, "abiflags", "")  # free-threaded
    )


RELIABLE = _is_tested() and measure() == EXPECTED

# The counts of what is not shared with anything but its owner.
UNSHARED_ITEM = EXPECTED["item of a dictionary"] if RELIABLE else UNKNOWN
UNSHARED_VALUE = EXPECTED["value of a variable"] if RELIABLE else UNKNOWN
UNSHARED_ARGUMENT = EXPECTED["argument"] if RELIABLE else UNKNOWN
UNSHARED_ITEMS = EXPECTED["items of lists"] if RELIABLE else UNKNOWN
