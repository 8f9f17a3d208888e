"""Replicas as threads, operation by operation: for rows that differ in number, and what XLA cannot compile.

One thread runs at a time. Each goes on until it needs the others, or ends; when all wait, what they wait for is done,
and they go on in order. So a program gives the same numbers each time, and variables need no locks.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core import nest
from ..core.primitive import local
from ..core.replicas import VariableAggregation
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.variable import Variable
from .collectives import spread_rows
from .contexts import entered
from .per_replica import PerReplica, own_part, regroup
from .replica import ReplicaContext
from .several import SeveralReplicas


class _Ended(BaseException):
    """Ends a thread whose replica cannot go on, because another one failed."""


class _Meeting:
    """A replica waits for the others: what for, and its part in it."""

    def __init__(
        self, kind: str, value: Any, together: Callable[[list[Any]], list[Any]], runs_code: bool = False
    ) -> None:
        self.kind = kind
        self.value = value
        self.together = together  # from the values of all replicas to the result of each
        self.runs_code = runs_code  # across replicas, which may read and write variables


class _Thread(threading.Thread):
    def __init__(self, number: int, body: Callable[[_Thread], Any], state: Any) -> None:
        super().__init__(name=f"replica {number}", daemon=True)
        self.number = number
        self._body = body
        self._state = state
        self._go = threading.Semaphore(0)
        self._paused = threading.Semaphore(0)
        self.waits: _Meeting | None = None
        self.answer: Any = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.ended = False

    def run(self) -> None:
        self._go.acquire()
        here = local.here
        here.tapes, here.scope, here.draw = self._state
        try:
            if not self.ended:
                self.result = self._body(self)
        except _Ended:
            pass
        except BaseException as error:
            self.error = error
        self.done = True
        self._paused.release()

    def resume(self) -> None:
        """Let the thread run until it waits for the others, or ends."""
        self.waits = None
        self._go.release()
        self._paused.acquire()

    def meet(self, meeting: _Meeting) -> Any:
        """Wait, in the thread itself, for the others."""
        self.waits = meeting
        self._paused.release()
        self._go.acquire()
        if self.ended:
            raise _Ended
        return self.answer


class OwnValues:
    """The values that each replica has of variables of its own, while threads take turns.

    These are variables that are aggregated when they are read, and those without an aggregation that a replica writes.
    As in a compiled program, a variable holds the aggregate before and after: of a sum, the first replica has all of
    it and the others zeros.
    """

    def __init__(self, variables: Sequence[Variable], count: int) -> None:
        self._count = count
        self._variables: list[Variable] = []
        self._given: list[
            list[Tensor]
        ] = []  # for each variable, what the replicas had at first, and have now
        self._own: list[list[Tensor]] = []
        for variable in variables:
            self.add(variable)

    def add(self, variable: Variable) -> None:
        """Let each replica have its own value of a variable from now on."""
        if not any(known is variable for known in self._variables):
            shares = [_share(variable, i) for i in range(self._count)]
            self._variables.append(variable)
            self._given.append(shares)
            self._own.append(list(shares))

    @contextlib.contextmanager
    def of(self, number: int) -> Iterator[None]:
        """Let the variables hold the values of one replica."""
        for variable, own in zip(self._variables, self._own, strict=True):
            variable._tensor = own[number]
        try:
            yield
        finally:
            for variable, own in zip(self._variables, self._own, strict=True):
                own[number] = variable._tensor

    def aggregate(self) -> None:
        """Let the variables hold what their replicas have together; those that no replica wrote are as before."""
        for variable, given, own in zip(self._variables, self._given, self._own, strict=True):
            variable._tensor = given[0]
            if any(before is not now for before, now in zip(given, own, strict=True)):
                variable._put(_aggregated(variable, [tensor._array for tensor in own]))

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Let the variables hold their aggregates; replicas keep their own values of those that are not written."""
        self.aggregate()
        before = [variable._tensor for variable in self._variables]
        yield
        for i, variable in enumerate(self._variables):
            if variable._tensor is not before[i]:
                self._given[i] = [_share(variable, number) for number in range(self._count)]
                self._own[i] = list(self._given[i])


def _share(variable: Variable, number: int) -> Tensor:
    """A replica's share of the aggregate that a variable holds."""
    tensor = variable._tensor
    if number == 0 or variable._aggregation is not VariableAggregation.SUM:
        return tensor
    zeros = wrap(np.zeros_like(tensor._array))
    zeros._key = variable._key
    return zeros


def _aggregated(variable: Variable, arrays: list[Any]) -> Any:
    if variable._aggregation is VariableAggregation.SUM:
        return _total(arrays)
    if variable._aggregation is VariableAggregation.MEAN:
        total = _total(arrays)
        return (total / len(arrays)).astype(total.dtype)
    return arrays[0]


class ThreadExchange:
    """How a replica in a thread exchanges arrays with the others."""

    def __init__(self, thread: _Thread, count: int) -> None:
        self.count = count
        self._thread = thread

    def _meet(self, kind: str, value: Any, together: Callable[[list[Any]], list[Any]]) -> Any:
        return self._thread.meet(_Meeting(kind, value, together))

    def sum(self, array: Any) -> Any:
        """The sum over all replicas."""
        return self._meet("all_reduce", array, lambda arrays: [_total(arrays)] * len(arrays))

    def first(self, array: Any) -> Any:
        """The first replica's array."""
        return self._meet("assign", array, lambda arrays: [arrays[0]] * len(arrays))

    def gather(self, array: Any, axis: int) -> Any:
        """The arrays of all replicas, joined along an axis."""

        def joined(arrays: list[Any]) -> list[Any]:
            return [np.concatenate(arrays, axis)] * len(arrays)

        return self._meet("all_gather", array, joined)

    def _start(self, length: int) -> int:
        """Where a part of this length begins, after those of the replicas before."""

        def starts(lengths: list[int]) -> list[int]:
            return [sum(lengths[:i]) for i in range(len(lengths))]

        return int(self._meet("gradient of all_gather", length, starts))

    def part(self, array: Any, axis: int, length: int) -> Any:
        """This replica's part of a gathered array."""
        start = self._start(length)
        return array[(slice(None),) * axis + (slice(start, start + length),)]

    def spread(self, array: Any, axis: int, whole: int) -> Any:
        """Zeros of a gathered array, with this replica's part in place."""
        return spread_rows(array, axis, whole, self._start(array.shape[axis]))


def _total(arrays: list[Any]) -> Any:
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return np.asarray(total)


class ReplicaInThread(SeveralReplicas, ReplicaContext):
    """A replica that a thread of its own runs."""

    def __init__(self, strategy: Any, thread: _Thread, own: OwnValues) -> None:
        super().__init__(strategy, thread.number)
        self._own = own
        self._thread = thread
        self._exchange = ThreadExchange(thread, strategy.num_replicas_in_sync)

    def _merged(self, merge_fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        strategy = self._strategy

        def together(calls: list[Any]) -> list[Any]:
            all_args, all_kwargs = regroup(calls, _grouped)
            with entered(strategy, None):
                result = merge_fn(strategy, *all_args, **all_kwargs)
            return [own_part(result, i) for i in range(len(calls))]

        return self._thread.meet(_Meeting("merge_call", (tuple(args), dict(kwargs)), together, True))

    def once(self, update: Callable[[], Any]) -> Any:
        """Call a function that updates variables, once for all replicas."""

        def together(updates: list[Any]) -> list[Any]:
            return [updates[0]()] * len(updates)

        return self._thread.meet(_Meeting("an update of variables", update, together, True))

    def _added_once(self, array: Any) -> Any:
        return array if self._thread.number == 0 else np.zeros_like(array)

    def _keep_own(self, variable: Any) -> None:
        self._own.add(variable)


def _grouped(values: Sequence[Any]) -> Any:
    first = values[0]
    return first if all(v is first for v in values) else PerReplica(values)


def run_in_threads(strategy: Any, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call `fn` in a thread for each replica.

    Raises:
        RuntimeError: if the replicas do not all meet: one ends, or asks for something else, where another one waits.
    """
    here = local.here
    state = here.tapes, here.scope, here.draw

    def body(thread: _Thread) -> Any:
        own_args, own_kwargs = own_part((args, kwargs), thread.number)
        with ReplicaInThread(strategy, thread, own):
            return fn(*own_args, **own_kwargs)

    threads = [_Thread(i, body, state) for i in range(strategy.num_replicas_in_sync)]
    own = OwnValues(strategy.extended.variables_on_read(), len(threads))
    for thread in threads:
        thread.start()
    try:
        _take_turns(threads, own)
    finally:
        own.aggregate()
        for thread in threads:
            if not thread.done:
                thread.ended = True
                thread.resume()
            thread.join()
    return regroup([_values(thread.result) for thread in threads], strategy.extended.returned)


def _values(result: Any) -> Any:
    """What a replica returned, with the values of variables."""
    return nest.map_structure(
        lambda leaf: convert(leaf._read()._array) if isinstance(leaf, Variable) else leaf, result
    )


def _take_turns(threads: list[_Thread], own: OwnValues) -> None:
    while True:
        for thread in threads:
            with own.of(thread.number):
                thread.resume()
            if thread.error is not None:
                raise thread.error
        waiting = [thread.waits for thread in threads if thread.waits is not None]
        if not waiting:
            return
        kinds = {meeting.kind for meeting in waiting}
        if len(waiting) < len(threads) or len(kinds) > 1:
            ended = [str(thread.number) for thread in threads if thread.done]
            raise RuntimeError(
                f"Strategy.run: all replicas must call {' and '.join(sorted(kinds))} in the same order"
                + (f", and replica {', '.join(ended)} has ended without" if ended else "")
            )
        with own.together() if waiting[0].runs_code else contextlib.nullcontext():
            answers = waiting[0].together([meeting.value for meeting in waiting])
        for thread, answer in zip(threads, answers, strict=True):
            thread.answer = answer
