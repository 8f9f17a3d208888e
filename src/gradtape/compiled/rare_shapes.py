"""Shapes that a function with open lengths is not traced for, until they have come often.

To trace (and to compile, where NumPy does not compute the first calls) is worth it once the calls operation by
operation have lost as much time as it takes: then at most twice the least time is spent. Both are estimated from the
code of the first shape, so that two runs of a program are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jax.extend.core import jaxprs_in_params

from ..core.tensor import Tensor, array_of
from ..engine.blas import in_numpy
from .arguments import Arguments, differs_in_batch, differs_in_lengths
from .first_calls import is_possible
from .jaxprs import inner_code, largest_product

if TYPE_CHECKING:
    from .program import Program

COMPILE = 6000  # us to compile an operation;
_TRACE = 300  # us to trace it, if NumPy computes what was traced (see `first_calls`);
_CALL = 5  # us that it loses in a call of its own,
_ELEMENT = 5e-4  # and for each element of the result, which compiled code does not store
_ITERATIONS = 32  # of a loop whose length is not known
# Calls. A small step of Keras's takes 2 to 3 ms of its own Python, which the code does not show.
_LEAST, _MOST = 8, 128
_SHAPES = (
    16  # after so many shapes it takes twice as many calls, and so on: no program compiles hundreds of them
)
_ELEMENTS = 1 << 20  # of tensors for which a function is compiled at once; the fewer the more calls
PRODUCT = 1 << 24  # multiplications: products with more use all threads


class RareShapes:
    """The calls of a function with shapes that it is not compiled for."""

    def __init__(self) -> None:
        self._calls: dict[Any, int] = {}  # by cache key
        self._keys: dict[Any, tuple[Any, int]] = {}  # by the shapes of tensors alone: cache key, and elements
        self._often: int | None = None  # calls after which a shape is worth compiling
        self._is_small = True  # whether threads do not pay for the products of the function

    def count_again(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], programs: dict[Any, Program]
    ) -> bool:
        """Count a call of tensors alone whose shapes were rare before; return whether it was counted.

        It takes 3 us, and the cache key some 50.
        """
        shapes = None if kwargs else _shapes(args)
        found = self._keys.get(shapes)
        if found is None:
            return False
        key, size = found
        if self._calls[key] < self._limit(size, programs):
            self._calls[key] += 1
            return True
        del self._keys[shapes]
        return False

    def count(self, args: tuple[Any, ...], arguments: Arguments, programs: dict[Any, Program]) -> bool:
        """Count a call if its shapes are among none of the programs; return whether they are still rare."""
        if arguments.key in programs:
            return False
        alike = [known for known in [*programs] if differs_in_lengths(arguments.key, known)]
        if not alike:
            return False  # other arguments, such as a batch without weights
        if len(alike) == 1 and differs_in_batch(arguments.key, *alike):
            return False  # the smaller last batch of an epoch
        if self._often is None:
            self._measure(next(iter(programs.values())))
        size = sum(array_of(leaf).size for leaf in arguments.leaves if type(leaf) is Tensor)
        calls = self._calls[arguments.key] = self._calls.get(arguments.key, 0) + 1
        if calls > self._limit(size, programs):
            del self._calls[arguments.key]
            return False
        shapes = _shapes(args)
        if shapes is not None and len(args) == len(arguments.leaves):
            self._keys[shapes] = arguments.key, size
        return True

    def _limit(self, size: int, programs: dict[Any, Program]) -> int:
        """The number of calls after which a shape is compiled."""
        assert self._often is not None
        return min(self._often << len(programs) // _SHAPES, _ELEMENTS // max(size, 1))

    def _measure(self, program: Program) -> None:
        code = program.codes
        each = _TRACE if all(map(is_possible, code)) else COMPILE
        compiling = each * sum(len(inner.eqns) for jaxpr in code for inner in inner_code(jaxpr))
        self._often = min(max(int(compiling / max(sum(map(_loss, code)), 1)), _LEAST), _MOST)
        self._is_small = all(largest_product(jaxpr) <= PRODUCT for jaxpr in code)

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call operation by operation.

        Threads for products of matrices pay if these are large. Else they wait for each other, and for XLA's: a pass
        over a small text model takes 0.1 s with one thread, 0.3 s with two, and seconds if the cores have other work.
        """
        if self._is_small:
            return in_numpy(lambda: function(*args, **kwargs))
        return function(*args, **kwargs)


def _shapes(args: tuple[Any, ...]) -> Any:
    """The shapes and dtypes of positional tensors; None if there are other arguments."""
    for a in args:
        if type(a) is not Tensor:
            return None
    return tuple([(array.shape, array.dtype) for array in map(array_of, args)])


def _loss(jaxpr: Any) -> float:
    """The time that a call operation by operation loses against compiled code, in us."""
    loss = 0.0
    for eqn in jaxpr.eqns:
        loss += _CALL + _ELEMENT * sum(math.prod(getattr(v.aval, "shape", ())) for v in eqn.outvars)
        if eqn.primitive.name in ("scan", "while"):
            loss += eqn.params.get("length", _ITERATIONS) * sum(map(_loss, jaxprs_in_params(eqn.params)))
    return loss
