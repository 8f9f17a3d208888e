"""Replicas as threads, operation by operation: for rows that differ in number, and what XLA cannot compile.

One thread runs at a time. Each goes on until it needs the others, or ends; when all wait, what they wait for is done,
and they go on in order. So a program gives the same numbers each time, and variables need no locks.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..compiled.placeholders import RunsAsPython
from ..core import nest
from ..core.custom import record_custom
from ..core.primitive import leave_hot, local
from ..core.replicas import VariableAggregation
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert
from ..core.variable import Variable
from .collectives import spread_rows
from .contexts import entered
from .own_values import OwnValues, own_value, total
from .per_replica import PerReplica, own_part, regroup
from .replica import ReplicaContext
from .several import OfCopies, SeveralReplicas

_PROCESS = os.urandom(8)  # tells objects of several processes apart


class _Ended(BaseException):
    """Ends a thread whose replica cannot go on, because another one failed."""


class _Meeting:
    """A replica waits for the others: what for, and its part in it."""

    def __init__(self, kind: str, value: Any, together: Callable[[list[Any]], list[Any]], what: str) -> None:
        self.kind = kind
        self.value = value
        self.together = together  # from the values of all replicas to the result of each
        self.what = (
            what  # the values are: "arrays", "structures" of arguments, "functions", "results" of them
        )

    @property
    def runs_code(self) -> bool:
        """Whether code runs across replicas, which may read and write variables."""
        return self.what in ("structures", "functions")


class _Worker(threading.Thread):
    """A thread that runs replicas, one after the other: to start one takes longer than a small step."""

    def __init__(self) -> None:
        super().__init__(name="replica", daemon=True)
        self._ready = threading.Lock()
        self._ready.acquire()
        self._job: Any = None
        self.start()

    def begin(self, job: Callable[[_Worker], None]) -> None:
        """Run a function, which adds the worker to those that are idle when it ends."""
        self._job = job
        self._ready.release()

    def run(self) -> None:
        while True:
            self._ready.acquire()
            job, self._job = self._job, None
            contextvars.Context().run(job, self)
            del job


_idle: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


class _Thread:
    """A replica that a thread runs, in turns with the others."""

    def __init__(self, index: int, number: int, body: Callable[[_Thread], Any], state: Any) -> None:
        self.index, self.number = index, number  # among the replicas of this process, and among all
        self._body = body
        self._state = state
        self.around: list[Any] = state[0]
        # Each is released by one thread, and waited for by the other. (A semaphore takes ten times as long.)
        self._go, self._paused = threading.Lock(), threading.Lock()
        self._finished = threading.Lock()
        for lock in (self._go, self._paused, self._finished):
            lock.acquire()
        self.waits: _Meeting | None = None
        self.answer: Any = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.ended = False
        self.meetings = 0  # so far
        self.follower: Any = None  # hands out tensors without values

    def start(self) -> None:
        """Begin, and wait for the first turn."""
        try:
            worker = _idle.pop()
        except IndexError:
            worker = _Worker()
        worker.begin(self._run)

    def _run(self, worker: _Worker) -> None:
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
        here.tapes, here.hot = [], None
        self.done = True
        _idle.append(worker)
        self._paused.release()
        self._finished.release()

    def join(self) -> None:
        """Wait until the replica has ended."""
        with self._finished:
            pass

    def resume(self) -> None:
        """Let the thread run until it waits for the others, or ends."""
        self.waits = None
        self._go.release()
        self._paused.acquire()

    def pause(self) -> None:
        """Let the others come as far, in the thread itself."""
        self._paused.release()
        self._go.acquire()
        if self.ended:
            raise _Ended

    def meet(self, meeting: _Meeting) -> Any:
        """Wait, in the thread itself, for the others. Where that was not expected, the replica is followed no more.

        Raises:
            RunsAsPython: in a function that is traced: it runs as Python in replicas that are threads.
        """
        if local.here.trace is not None:
            raise RunsAsPython
        if self.follower is not None:
            self.follower.interrupt(f"{meeting.kind} was not expected")
        self.meetings += 1
        self.waits = meeting
        self.pause()
        return self.answer


class ThreadExchange:
    """How a replica in a thread exchanges arrays with the others."""

    offered: Any = None

    def __init__(self, thread: _Thread, count: int) -> None:
        self.count = count
        self._thread = thread
        self.around = thread.around  # the tapes that are open outside of the run

    def record_around(self, value: Any, result: Any, pull: Callable[..., Any]) -> None:
        """Tell these tapes that the results of all replicas come from the values of all."""

        def together(pairs: list[Any]) -> list[Any]:
            values, results = [v for v, _ in pairs], [r for _, r in pairs]
            record_custom("replicas", values, results, lambda *gradients: pull(values, gradients))
            return [None] * len(pairs)

        self._thread.meet(_Meeting("a tape around the run", (value, result), together, "results"))

    def _meet(self, kind: str, value: Any, together: Callable[[list[Any]], list[Any]]) -> Any:
        return self._thread.meet(_Meeting(kind, value, together, "arrays"))

    def sum(self, array: Any) -> Any:
        """The sum over all replicas. A tensor that is the very same in all of them counts once, as in TensorFlow."""
        offered, self.offered = self.offered, None

        def added(pairs: list[Any]) -> list[Any]:
            arrays, tensors = zip(*pairs, strict=True)
            is_one = tensors[0] is not None and all(t == tensors[0] for t in tensors)
            return [arrays[0] if is_one else total(list(arrays))] * len(pairs)

        known = None if offered is None or array is not offered._array else (_PROCESS, id(offered))
        return self._meet("all_reduce", (array, known), added)

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


class ReplicaInThread(SeveralReplicas, ReplicaContext):
    """A replica that a thread of its own runs."""

    def __init__(self, strategy: Any, thread: _Thread, own: OwnValues) -> None:
        super().__init__(strategy, thread.number)
        self._own = own
        self._of_copies = OfCopies(self)
        self._thread = thread
        self._exchange = ThreadExchange(thread, strategy.num_replicas_in_sync)

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of the replica, from 0 on, as a tensor."""
        if local.here.trace is not None:  # of a program that all replicas run
            raise RunsAsPython
        return super().replica_id_in_sync_group

    def _merged(self, merge_fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        strategy = self._strategy
        leave_hot("merge_call")

        def together(calls: list[Any]) -> list[Any]:
            all_args, all_kwargs = regroup(calls, _grouped)
            with entered(strategy, None):
                result = merge_fn(strategy, *all_args, **all_kwargs)
            return [own_part(result, i) for i in range(len(calls))]

        return self._thread.meet(_Meeting("merge_call", (tuple(args), dict(kwargs)), together, "structures"))

    def once(self, update: Callable[[], Any]) -> Any:
        """Call a function that updates variables, once for all replicas."""

        def together(updates: list[Any]) -> list[Any]:
            return [updates[0]()] * len(updates)

        return self._thread.meet(_Meeting("an update of variables", update, together, "functions"))

    def alike(self, update: Callable[[], Any]) -> Any:
        """Call a function that updates this replica's copies of variables."""
        here = local.here
        before, here.replica = here.replica, self._of_copies
        try:
            return update()
        finally:
            here.replica = before

    def _merged_alike(self, merge_fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A merge_call of a function that updates variables, each replica its copies with its own arguments."""
        return self.alike(lambda: merge_fn(self._strategy, *args, **kwargs))

    def keep_copy(self, variable: Any) -> None:
        """Let this replica have a copy of its own of a variable, until the run ends."""
        self._own.add(variable, copied=True)

    @property
    def is_first_here(self) -> bool:
        """Whether it is the first one of this process."""
        return self._thread.index == 0

    def _added_once(self, variable: Any, array: Any) -> Any:
        return array if self.is_first_here or self._own.has(variable) else np.zeros_like(array)

    def _keep_own(self, variable: Any) -> None:
        self._own.add(variable, copied=variable._aggregation is VariableAggregation.NONE)


def _grouped(values: Sequence[Any]) -> Any:
    first = values[0]
    return first if all(v is first for v in values) else PerReplica(values)


def run_in_threads(
    strategy: Any, fn: Callable[..., Any], args: Any, kwargs: Any, run: Any, party: Any
) -> Any:
    """Call `fn` in a thread for each replica that the party has here, by `run.call`.

    Raises:
        RuntimeError: if the replicas do not all meet: one ends, or asks for something else, where another one waits.
    """
    leave_hot("replicas run")
    here, extended = local.here, strategy.extended
    state = here.tapes, here.scope, here.draw

    def body(thread: _Thread) -> Any:
        own_args, own_kwargs = own_part((args, kwargs), thread.number, thread.index)
        with ReplicaInThread(strategy, thread, own):
            return run.call(thread, fn, own_args, own_kwargs)

    threads = [_Thread(i, number, body, state) for i, number in enumerate(party.numbers)]
    own = OwnValues(extended.variables_of_replicas(), party, extended.spread_own)
    for thread in threads:
        thread.start()
    is_complete = False
    try:
        if _follow(threads, own, run, party):
            results = [_values(thread.result, partial(own_value, index=thread.index)) for thread in threads]
        else:
            _take_turns(threads, own, party, extended)
            results = []
            for thread in threads:
                with own.of(thread.index):
                    results.append(_values(thread.result, Variable._read))
            own.aggregate()
        returned = party.returned(results, run.from_program)
        is_complete = True
        return returned
    except BaseException as error:
        _end(threads)
        if run.group is not None and run.group.reason is None:  # nothing was computed
            own.restore()
        else:
            own.keep_what_is_done()
        if isinstance(error, Exception):
            party.tell(error)
        raise
    finally:
        _end(threads)
        run.finish(is_complete)


def _end(threads: list[_Thread]) -> None:
    """End the replicas that wait for others."""
    for thread in threads:
        if not thread.done:
            thread.ended = True
            thread.resume()
    for thread in threads:
        thread.join()


def _follow(threads: list[_Thread], own: OwnValues, run: Any, party: Any) -> bool:
    """Let replicas that are followed take turns, until one program computes all. Returns False if there is none."""
    group = run.group
    if group is None:
        party.agree(None)
        return False
    while group.reason is None:
        for thread in threads:
            with own.of(thread.index):
                thread.resume()
            if group.reason is not None:
                break
        else:
            if not group.is_together:
                group.part()
            elif group.adds_up_one_tensor:
                group.leave("replicas add up the very same tensor")
            elif group.has_returned:
                own.restore()
                if not run.compute(party):
                    return False
                own.forget()
                for thread in threads:
                    thread.resume()
                return True
    party.agree(None)
    return False


def _values(result: Any, read: Callable[[Variable], Tensor]) -> Any:
    """What a replica returned, with the values that it has of variables."""
    return nest.map_structure(
        lambda leaf: convert(read(leaf)._array) if isinstance(leaf, Variable) else leaf, result
    )


def _take_turns(threads: list[_Thread], own: OwnValues, party: Any, extended: Any) -> None:
    while True:
        for thread in threads:
            with own.of(thread.index):
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
        first = waiting[0]
        values = party.values(first.kind, [meeting.value for meeting in waiting], first.what)
        with own.together() if first.runs_code else contextlib.nullcontext():
            answers = party.own(first.together(values))
        if first.runs_code:
            own.add_known(extended.variables_of_replicas())
        for thread, answer in zip(threads, answers, strict=True):
            thread.answer = answer
