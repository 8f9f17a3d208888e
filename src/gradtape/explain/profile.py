"""The costs of a program: time forward and backward by operation and line, and the memory that tapes keep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .layers import inside
from .origins import Origin, name_of
from .reasons import public_name
from .report import aligned


def arrays_in(kept: Any) -> Iterator[Any]:
    """The arrays that a record keeps."""
    for value in kept:
        if type(value) is Tensor:
            yield value._array
        elif type(value) is np.ndarray:
            yield value
        elif type(value) is tuple:
            yield from arrays_in(value)


def owner(array: Any) -> Any:
    """The array that holds the memory of a view."""
    while isinstance(getattr(array, "base", None), np.ndarray):
        array = array.base
    return array


def bytes_kept(records: Iterable[Any]) -> list[int]:
    """The bytes each record keeps that none before it did: all together, each array counts once."""
    seen: set[int] = set()
    sizes = []
    for _, plan, _, kept in records:
        size = 0
        compiled = getattr(plan, "_needed", ())  # the residuals of a @function
        for array in map(owner, (*arrays_in(kept), *compiled)):
            if id(array) not in seen:
                seen.add(id(array))
                size += array.nbytes
        sizes.append(size)
    return sizes


@dataclass(slots=True)
class Cost:
    """The costs of one operation on one line."""

    calls: int = 0
    forward: float = 0.0
    backward: float = 0.0
    bytes: int = 0


class Ledger:
    """Costs by operation and line, kept while a program runs."""

    def __init__(self) -> None:
        self.costs: dict[tuple[str, Origin | None], Cost] = defaultdict(Cost)
        self.largest = 0  # bytes kept by the largest tape
        self.tapes = 0
        self._lines: dict[int, tuple[str, Origin | None]] = {}

    def forward(self, event: Any) -> None:
        """Add the cost of an operation that was computed."""
        entry = (event.name, event.where)
        cost = self.costs[entry]
        cost.calls += 1
        cost.forward += event.seconds
        if len(self._lines) > 1_000_000:  # of long programs only the last part is of use to a sweep
            self._lines.clear()
        for key in event.outputs:
            self._lines[key] = entry

    def backward(self, key: int, name: str, seconds: float) -> None:
        """Add the cost of a step of a sweep."""
        self.costs[self._lines.get(key, (name, None))].backward += seconds

    def keeps(self, records: list[Any]) -> None:
        """Note the memory that the records of a sweep keep."""
        self.tapes += 1
        sizes = bytes_kept(records)
        if sum(sizes) <= self.largest:
            return
        self.largest = sum(sizes)
        for cost in self.costs.values():
            cost.bytes = 0
        for (key, plan, _, _), size in zip(records, sizes, strict=True):
            first = key[0] if type(key) is tuple else key
            self.costs[self._lines.get(first, (name_of(plan), None))].bytes += size

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: the costliest first."""
        rows = [
            {
                "operation": public_name(name),
                "layer": (where.layer or None) if where is not None else None,
                "where": None if where is None else str(where),
                "calls": cost.calls,
                "forward_seconds": cost.forward,
                "backward_seconds": cost.backward,
                "bytes_kept": cost.bytes,
            }
            for (name, where), cost in self._sorted()
        ]
        return {"sweeps": self.tapes, "bytes_kept_by_the_largest_tape": self.largest, "operations": rows}

    def _sorted(self) -> list[Any]:
        return sorted(self.costs.items(), key=lambda item: -(item[1].forward + item[1].backward))

    def __str__(self) -> str:
        rows = [
            [
                inside("" if where is None else where.layer, public_name(name)),
                str(cost.calls),
                duration(cost.forward),
                duration(cost.backward),
                amount(cost.bytes) if cost.bytes else "",
                "" if where is None else str(where),
            ]
            for (name, where), cost in self._sorted()[:40]
        ]
        hidden = len(self.costs) - len(rows)
        forward = sum(cost.forward for cost in self.costs.values())
        backward = sum(cost.backward for cost in self.costs.values())
        lines = aligned([["operation", "calls", "forward", "backward", "kept", "line"], *rows], "<>>>><")
        if hidden > 0:
            lines.append(f"and {hidden} cheaper ones")
        lines.append(
            f"in all: {duration(forward)} forward, {duration(backward)} backward in {self.tapes} sweeps; the largest "
            f"tape kept {amount(self.largest)}"
        )
        return "\n".join(lines)


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds == 0:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def amount(size: int) -> str:
    """A number of bytes in the unit that suits it."""
    if size < 10_000:
        return f"{size} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6)):
        if size < 1000 * scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size / 1e9:.3g} GB"
