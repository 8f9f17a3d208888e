"""Parties: which replicas of a run are threads of this process, and how they exchange values with all others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from ..core import nest
from ..core.errors import UnavailableError
from ..core.indexed_slices import IndexedSlices
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert, convert_to_tensor
from .exchanges import objects_of_each
from .per_replica import PerReplica, regroup


class AllHere:
    """All replicas are threads of this process."""

    is_alone = True

    def __init__(self, extended: Any) -> None:
        self._extended = extended
        self.numbers = range(extended._num_replicas_in_sync)

    def agree(self, state: Any) -> list[Any]:
        """What each process says of the run."""
        return [state]

    def values(self, kind: str, values: list[Any], how: str) -> list[Any]:
        """The values of all replicas, for those of this process's, at a meeting of this kind."""
        return values

    def own(self, answers: Sequence[Any]) -> Sequence[Any]:
        """Those of this process's replicas, of the answers for all."""
        return answers

    def of_all(self, arrays: list[Any]) -> list[Any]:
        """The arrays of all replicas that are threads here, for those of this process's devices."""
        if len(arrays) == len(self.numbers):
            return arrays
        return [array for own in objects_of_each(arrays) for array in own]

    def of_process(self, arrays: list[Any]) -> list[Any]:
        """The arrays of this process's devices, of those of all replicas that are threads here."""
        count = len(self._extended.worker_devices)
        if len(arrays) == count:
            return arrays
        first = self._extended._first_replica()
        return arrays[first : first + count]

    def arrays_of_variables(self, written: list[bool], arrays: Callable[[int], list[Any]]) -> list[Any]:
        """For each variable the arrays of all replicas, for those of this process's; None if no replica wrote it."""
        return [arrays(i) if changed else None for i, changed in enumerate(written)]

    def returned(self, results: list[Any], from_program: Callable[[Sequence[Any]], Any]) -> Any:
        """What `Strategy.run` returns for the results of the replicas; `from_program` has those of a program."""

        def together(values: Sequence[Any]) -> Any:
            found = from_program(values)
            return self._extended.returned(values) if found is None else found

        return regroup(results, together)

    def tell(self, error: Exception) -> None:
        """Say that a replica has failed."""


class ProcessesDiffer(RuntimeError):
    """An error that all processes raise at once."""


class OwnHere(AllHere):
    """The replicas of this process are its threads; other processes run the others.

    Processes exchange values at each meeting, after they have said what they are at.
    """

    is_alone = False

    def __init__(self, extended: Any) -> None:
        super().__init__(extended)
        first, self._count = extended._first_replica(), len(extended.worker_devices)
        self.numbers = range(first, first + self._count)

    def _everyone(self, kind: str, value: Any) -> list[Any]:
        """The values of all processes.

        Raises:
            ProcessesDiffer: if one has failed, or is at something else.
        """
        found = objects_of_each((kind, value))
        for rank, (other, text) in enumerate(found):
            if other == "an error":
                raise ProcessesDiffer(f"Strategy.run: a replica of process {rank} has failed: {text}")
        kinds = sorted({other for other, _ in found})
        if len(kinds) > 1:
            raise ProcessesDiffer(
                f"Strategy.run: all replicas must call {' and '.join(kinds)} in the same order"
            )
        return [other for _, other in found]

    def agree(self, state: Any) -> list[Any]:
        """What each process says of the run."""
        return self._everyone("the beginning", state)

    def values(self, kind: str, values: list[Any], how: str) -> list[Any]:
        """The values of all replicas; functions, and their results, are those of this process alone."""
        if how in ("functions", "results"):
            self._everyone(kind, None)
            return values
        if how == "arrays":
            return [value for own in self._everyone(kind, values) for value in own]
        sent = [list(map(_sent, nest.flatten(value))) for value in values]
        model = nest.flatten(values[0])
        return [
            nest.pack_sequence_as(
                values[0], [_received(s, own) for s, own in zip(leaves, model, strict=True)]
            )
            for own_leaves in self._everyone(kind, sent)
            for leaves in own_leaves
        ]

    def own(self, answers: Sequence[Any]) -> Sequence[Any]:
        """Those of this process's replicas, of the answers for all."""
        if len(answers) == self._count:
            return answers
        return [answers[number] for number in self.numbers]

    def arrays_of_variables(self, written: list[bool], arrays: Callable[[int], list[Any]]) -> list[Any]:
        """For each variable the arrays of all replicas; None if no replica wrote it."""
        flags = self._everyone("the end", written)
        changed = [i for i in range(len(written)) if any(own[i] for own in flags)]
        if not changed:
            return [None] * len(written)
        sent = self._everyone("the values of variables", [arrays(i) for i in changed])
        found = {i: [a for own in sent for a in own[k]] for k, i in enumerate(changed)}
        return [found.get(i) for i in range(len(written))]

    def returned(self, results: list[Any], from_program: Callable[[Sequence[Any]], Any]) -> Any:
        """What `Strategy.run` returns: tensors of one shape as rows on the devices, others of all replicas here."""
        leaves = list(zip(*[nest.flatten_up_to(results[0], result) for result in results], strict=True))
        found = [from_program(values) for values in leaves]
        tensors = {i: _as_tensors(leaves[i]) for i, known in enumerate(found) if known is None}
        rows = {i: [t._array for t in own] for i, own in tensors.items() if own is not None}
        specs = {i: [(a.shape, a.dtype.str) for a in own if a.dtype.kind != "O"] for i, own in rows.items()}
        everyone = self._everyone("the results", specs) if rows else []
        unlike = []
        for i, known in enumerate(found):
            if known is not None:
                continue
            if i not in rows:
                found[i] = self._extended.returned(leaves[i])
            elif len({spec for own in everyone for spec in own[i]}) == 1:
                found[i] = self._extended._stack(rows[i])
            else:
                unlike.append(i)
        sent = self._everyone("the results of other shapes", [rows[i] for i in unlike]) if unlike else []
        for k, i in enumerate(unlike):
            found[i] = PerReplica([convert(array) for own in sent for array in own[k]])
        return nest.pack_sequence_as(results[0], found)

    def tell(self, error: Exception) -> None:
        """Say that a replica has failed; not if the others know, or one of them is gone."""
        if isinstance(error, (ProcessesDiffer, UnavailableError)):
            return
        with contextlib.suppress(UnavailableError):  # the first error is the one to raise
            objects_of_each(("an error", f"{type(error).__name__}: {error}"))


def _as_tensors(values: Sequence[Any]) -> list[Tensor] | None:
    """The values of replicas as tensors; None if they are none."""
    if values[0] is None or isinstance(values[0], PerReplica):
        return None
    try:
        return [convert_to_tensor(v) for v in values]
    except (TypeError, ValueError):
        return None


def _sent(leaf: Any) -> Any:
    """A leaf of a merge_call's arguments, as other processes can have it."""
    if type(leaf) is Tensor:
        return leaf._array
    if isinstance(leaf, IndexedSlices):
        return leaf.values._array, leaf.indices._array, leaf._dense_shape
    return None


def _received(sent: Any, own: Any) -> Any:
    """A leaf of another process's; where it has an object that is no tensor, this process's."""
    if sent is None:
        return own
    if isinstance(sent, tuple):
        return IndexedSlices(convert(sent[0]), convert(sent[1]), sent[2])
    return convert(sent)
