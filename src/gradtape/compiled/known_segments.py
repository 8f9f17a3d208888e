"""Segments that a function has computed before: how often, whether to compile them pays, and their programs.

A segment is a list of operations between two values that Python or an operation needs: see `segments`. Nothing depends
on a clock: the same calls compile the same segments.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..core.hot_door import eager_apply
from ..core.primitive import Primitive, apply, local
from ..core.tensor import Tensor
from .deferrable import exactly, is_checked
from .program import Program
from .rare_shapes import COMPILE
from .recorded_segments import RecordedSegment

Spec = tuple[tuple[int, ...], Any]  # shape and dtype
# An input of an operation in a segment: a result by its number, an input of the segment by the complement of its
# number, or a Python number, with its type.
Ref = int | tuple[type, Any, Any]

# Microseconds. An operation by itself takes 4 to compute, record and differentiate; 1.7 to note, and some in a program.
_OPERATION = 0.5
_ELEMENT = 6e-4  # saved for each element of an elementwise one,
_LARGE, _LARGE_ELEMENT = 100_000, 1.5e-3  # which the processor's caches do not hold if there are so many;
_MULTIPLY = 4e-5  # lost for each multiplication in a product of matrices or a convolution;
_CALL = 60.0  # lost to call a program and its gradient,
_INPUT, _MOVED = 3.0, 4e-4  # for each input, and each of its elements, which may have to be moved
_LEAST = 2  # calls in which a segment comes before it is compiled
_PARTS = 8  # products that a convolution is about made of
_PRODUCTS = frozenset(("matmul", "gram", "einsum"))


class KnownOperation:
    """A primitive with attributes, on inputs of one choice of shapes and dtypes.

    Args:
        inputs: shapes and dtypes.
        outs: those of the results, and a number for each of them: see `Segments.kind_of`.
        call: the number of the call in which it was computed.
    """

    __slots__ = (
        "attributes",
        "calls",
        "exactly",
        "is_deferrable",
        "is_of_integers",
        "last",
        "multiplications",
        "outs",
        "primitive",
        "saved",
    )

    def __init__(
        self,
        primitive: Primitive,
        attributes: Any,
        inputs: Sequence[Spec],
        outs: Sequence[tuple[Spec, int]],
        call: int,
    ) -> None:
        self.primitive = primitive
        self.attributes = attributes or None
        self.exactly = exactly(attributes)
        self.outs = tuple(outs)
        self.calls = 1  # of the function, in which it came
        self.last = call
        kinds = [dtype.kind for _, dtype in inputs]
        self.is_of_integers = all(kind in "iub" for kind in kinds)
        dtypes = [dtype for (_, dtype), _ in outs]
        self.is_deferrable = "O" not in kinds and not is_checked(primitive, inputs, dtypes)
        elements = sum(math.prod(shape) for (shape, _), _ in outs)
        self.saved = _OPERATION
        if primitive.elementwise:
            self.saved += elements * (_ELEMENT if elements < _LARGE else _LARGE_ELEMENT)
        self.multiplications = 0  # in a product of matrices, by which threads pay or do not
        if primitive.name in _PRODUCTS:
            shape = inputs[0][0]
            self.multiplications = elements * (shape[-1] if shape else 1)
            self.saved -= _MULTIPLY * self.multiplications
        elif primitive.name == "convolve":
            count = elements * math.prod(inputs[1][0][:-1])
            self.multiplications = count // _PARTS
            self.saved -= _MULTIPLY * count

    def note(self, call: int) -> None:
        """Count a call of the function in which the operation came."""
        if self.last != call:
            self.last = call
            self.calls += 1


class KnownSegment:
    """The operations of a segment, and its program once that pays.

    Args:
        name: of the function that it is a part of.
        operations: each with its inputs.
        outputs: the numbers of the results that are in use afterwards.
        inputs: the elements of each input of the segment.
    """

    def __init__(
        self,
        name: str,
        operations: tuple[tuple[KnownOperation, tuple[Ref, ...]], ...],
        outputs: tuple[int, ...],
        inputs: list[int],
    ) -> None:
        self._name = name
        self.operations = operations
        self.outputs = outputs
        self.calls = 0
        self.saved = sum(known.saved for known, _ in operations) - _CALL - _INPUT * len(inputs)
        self.saved -= _MOVED * sum(inputs)
        self.failure: Exception | None = None  # of the compiler; the segment is not compiled then
        self._program: Program | None = None
        self._lock = threading.Lock()
        self._last_uses = _last_uses(operations, outputs)
        used = {ref for _, refs in operations for ref in refs}
        dtypes = [dtype for known, _ in operations for (_, dtype), _ in known.outs]
        # Outputs that others are computed from: tapes may be asked for derivatives by them.
        self.inner = [n for n in outputs if n in used and dtypes[n].kind not in "iub"]

    @property
    def is_compiled(self) -> bool:
        """Whether it has a program."""
        return self._program is not None

    @property
    def _is_due(self) -> bool:
        """Whether it has come so often that it is worth compiling."""
        if self.saved <= 0 or self.failure is not None:
            return False
        return self.calls > max(COMPILE * len(self.operations) / self.saved, _LEAST)

    def run(self, inputs: list[Tensor], on_device: Callable[[Tensor], Tensor], weight: int) -> list[Tensor]:
        """The results that are in use, by the program or operation by operation; the open tapes record either.

        Args:
            inputs: of the segment.
            on_device: gives an input as the program takes it.
            weight: of how many calls of the function this one is a sample.
        """
        self.calls += weight
        if self._program is None and self._is_due:
            name = f"a part of {self._name}"
            self._program = Program(name, lambda xs: self.replay(xs, apply), pure=True, exact_paths=True)
        if self._program is not None:
            tapes = local.here.tapes
            lengths = [len(tape._records) for tape in tapes]  # type: ignore[attr-defined]
            try:
                with self._lock:  # another thread may compile it now
                    results: list[Tensor] = self._program([on_device(x) for x in inputs])
            except Exception as error:  # whatever JAX raises
                self.failure, self._program = error, None
            else:
                RecordedSegment(self, inputs, results).attach(tapes, lengths)
                return results
        return self.replay(inputs, eager_apply)

    def replay(
        self,
        inputs: list[Tensor],
        compute: Callable[..., Any],
        known_as: Callable[[int, Tensor], Tensor] | None = None,
    ) -> list[Tensor]:
        """Compute operation by operation; `known_as` gives what stands for the result of a number."""
        made: list[Any] = []
        for (known, refs), last_used in zip(self.operations, self._last_uses, strict=True):
            given: list[Any] = []
            for ref in refs:
                if type(ref) is tuple:
                    given.append(ref[2])
                else:
                    given.append(made[ref] if ref >= 0 else inputs[~ref])  # type: ignore[operator, index]
            out = compute(known.primitive, tuple(given), known.attributes)
            results = out if known.primitive.multiple else (out,)
            if known_as is not None:
                results = [known_as(len(made) + i, result) for i, result in enumerate(results)]
            made += results
            for i in last_used:
                made[i] = None
        return [made[i] for i in self.outputs]


def _last_uses(operations: Sequence[Any], outputs: Sequence[int]) -> list[list[int]]:
    """The results that nothing needs after each operation, so that they are freed then."""
    found: list[list[int]] = []
    needed = set(outputs)
    end = sum(len(known.outs) for known, _ in operations)
    for known, refs in reversed(operations):
        start = end - len(known.outs)
        here = {r for r in (*refs, *range(start, end)) if type(r) is int and r >= 0}
        found.append(sorted(here - needed))
        needed |= here
        end = start
    return found[::-1]
