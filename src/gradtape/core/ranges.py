"""Differences and bounds of integers that a @function computes, which have no values while it is traced.

An integer computed by sums and products with constants from a loop's counter, such as (i + 1) * 4, is read off JAX's
equations as `constant + coefficient * i`. So x[i * 4 : (i + 1) * 4] has a known length, though `i` has no value yet.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..engine.arrays import is_traced
from .primitive import local

_SAME = frozenset(("broadcast_in_dim", "convert_element_type", "copy", "name", "reshape", "squeeze"))


class Linear(NamedTuple):
    """constant + the sum of coefficient * array, for arrays of one integer, given by their ids."""

    constant: int
    terms: dict[int, tuple[int, Any]]  # id -> coefficient, array

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """The sum of this and `times` the other."""
        terms = dict(self.terms)
        for key, (coefficient, array) in other.terms.items():
            terms[key] = terms.get(key, (0, array))[0] + times * coefficient, array
        return Linear(
            self.constant + times * other.constant, {key: term for key, term in terms.items() if term[0]}
        )

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the largest possible value; None if unknown."""
        low = high = self.constant
        for coefficient, array in self.terms.values():
            known = local.here.trace.range_of(array)
            if known is None:
                return None
            ends = sorted(coefficient * end for end in known)
            low, high = low + ends[0], high + ends[1]
        return low, high


def linear(number: Any) -> Linear:
    """An array of one integer in terms of the arrays that it was computed from."""
    if not is_traced(number):
        return Linear(int(number), {})
    lowered = number.full_lower()
    if lowered is not number:
        return linear(lowered)
    eqn = number.parent
    name = None if eqn is None else eqn.primitive.name
    if eqn is not None and number.dtype.kind in "iu" and all(x.dtype.kind in "iu" for x in eqn.in_tracers):
        if name in _SAME:
            return linear(eqn.in_tracers[0])
        if name in ("add", "sub"):
            x, y = map(linear, eqn.in_tracers)
            return x.plus(y, 1 if name == "add" else -1)
        if name == "neg":
            return Linear(0, {}).plus(linear(eqn.in_tracers[0]), -1)
        if name == "mul":
            x, y = map(linear, eqn.in_tracers)
            if not x.terms or not y.terms:
                return Linear(0, {}).plus(x, y.constant) if not y.terms else Linear(0, {}).plus(y, x.constant)
    return Linear(0, {id(number): (1, number)})


def bounds(number: Any) -> tuple[int, int] | None:
    """The least and the largest possible value of an integer that a @function computes; None if unknown."""
    return linear(number).bounds if number.size == 1 and number.dtype.kind in "iu" else None


def distance(first: Any, last: Any) -> int | None:
    """last - first, if it is the same in every run of the function; else None."""
    difference = linear(last).plus(linear(first), -1)
    return None if difference.terms else difference.constant
