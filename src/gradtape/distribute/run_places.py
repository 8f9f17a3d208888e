"""Functions that `Strategy.run` is given outside of a @function: when their calls are learned, and when followed.

All counts are of calls, never of time: two runs of a program do the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..compiled.buffers import from_device
from ..core import nest
from ..core.hot_door import ask_passes
from ..core.observers import observers
from ..core.primitive import local
from ..core.settings import settings
from ..hot.pass_trace import Trace, merged
from .per_replica import PerReplica
from .replica_events import ReplicaLearner
from .replica_passes import Group, ReplicaFollower, Slot

MOST_TRACES = 6  # of one function
MOST_FAILURES = 3  # calls that no trace can be made of
MOST_UNLIKE = 8  # calls that were like no other
RELEARN = 4  # calls that are learned after one did something unexpected


class Policy:
    """When a function is learned and followed."""

    def __init__(self) -> None:
        self.learn_from = 2  # calls: the first one makes variables
        self.follow_from = 10  # a function that is called a few times is not worth compiling


policy = Policy()


class RunPlace:
    """A function, the calls of it, and their traces."""

    def __init__(self, code: Any) -> None:
        self.code = code  # is kept, so that its id stays its own
        self.name = getattr(code, "co_qualname", None) or getattr(code, "__name__", str(code))
        self.calls = 0
        self.followed = 0
        self.learned = 0
        self.left = 0
        self.traces: list[Trace] = []
        self.reasons: Counter[str] = Counter()  # why calls ran replica by replica
        self._candidates: list[Trace] = []  # of calls that no other was equal to yet
        self._failures = 0
        self._relearn = 0  # so many calls
        self._is_cold = False  # whether it is left alone

    def begin(self, strategy: Any, mesh: Any, arguments: Any) -> Run:
        """Begin a call with these arguments: what runs it."""
        self.calls += 1
        if self._is_cold or self.calls < policy.learn_from:
            return Run()
        if not self.traces or self._relearn:
            return LearnedRun(self, len(strategy.extended.worker_devices))
        return FollowedRun(self, strategy, mesh, arguments) if self.calls >= policy.follow_from else Run()

    def note_learned(self, one: Trace | str) -> None:
        """Note what a replica did in a call: its trace, or the reason why there is none."""
        self.learned += 1
        if isinstance(one, Trace) and not one.events:
            one = "there is nothing to compile"
        if isinstance(one, str):
            self.reasons[one] += 1
            self._failures += 1
            self._is_cold = self._failures >= MOST_FAILURES
            return
        one.outputs = set()  # what is wanted is found when a call is followed
        self._relearn -= self._relearn > 0
        self.traces = [trace for trace in self.traces if not trace.is_dead]
        for i, known in enumerate(self.traces):
            both = merged(known, one)
            if both is not None:
                if both is not known:  # a number differs, which is an input from now on
                    self.traces[i], self._relearn = both, 0
                return
        for i, once in enumerate(self._candidates):
            both = merged(once, one)
            if both is not None:
                del self._candidates[i]
                self.traces, self._relearn = [both, *self.traces][:MOST_TRACES], 0
                return
        self._candidates = [one, *self._candidates][:MOST_TRACES]
        if self.learned - self.followed > MOST_UNLIKE:
            self.reasons["no two calls are alike"] += 1
            self._is_cold = True

    def note_followed(self, group: Group) -> None:
        """Note whether one program has computed a call; and if not, why."""
        if group.reason is None:
            self.followed += 1
            return
        self.reasons[group.reason] += 1
        self.left += 1
        self._relearn = RELEARN if group.is_unexpected else 0
        self.traces = [trace for trace in self.traces if not trace.is_broken]
        self._is_cold = self.left > 3 + self.followed // 4

    def counts(self) -> dict[str, Any]:
        """The counts of calls: all, those by one program, and why others were not."""
        return {"calls": self.calls, "one program": self.followed, "reasons": dict(self.reasons)}


class Run:
    """A call of a function by all replicas, which computes operation by operation."""

    group: Group | None = None

    def call(self, thread: Any, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the function in a replica."""
        return fn(*args, **kwargs)

    def finish(self, is_complete: bool) -> None:
        """Note what has happened, when all replicas have ended; incomplete if one has raised."""

    def from_program(self, values: Sequence[Any]) -> Any:
        """The result of a program, for what each replica has returned; None if none has computed it."""
        return None


class LearnedRun(Run):
    """One whose events are noted."""

    def __init__(self, place: RunPlace, count: int) -> None:
        ask_passes()
        self._place = place
        self._learned_one = (
            place.learned % count
        )  # another replica in each call, so that all of them are learned
        self._result: Trace | str = "an exception"

    def call(self, thread: Any, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the function in a replica; the events of one of them are noted."""
        if thread.index != self._learned_one:
            return fn(*args, **kwargs)
        learner = ReplicaLearner(self._learned, thread)
        try:
            result = fn(*args, **kwargs)
        except BaseException:
            learner.interrupt("an exception")
            raise
        learner.end()
        return result

    def _learned(self, result: Trace | str) -> None:
        self._result = result

    def finish(self, is_complete: bool) -> None:
        """Let the place know."""
        self._place.note_learned(self._result)


class FollowedRun(Run):
    """One that is expected to do what calls before did."""

    def __init__(self, place: RunPlace, strategy: Any, mesh: Any, arguments: Any) -> None:
        ask_passes()
        self._place = place
        self._strategy, self._mesh, self._arguments = strategy, mesh, arguments
        self.group: Group = Group()
        self._results: dict[int, Any] = {}  # of the program, by slot

    def call(self, thread: Any, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the function in a replica, and hand out tensors without values."""
        if self.group.reason is not None:  # another replica has left
            return fn(*args, **kwargs)
        follower = ReplicaFollower(self._place.traces[0], self._place.traces, self.group, thread)
        try:
            return follower.end(fn(*args, **kwargs))
        except Exception:
            follower.interrupt("an exception")
            raise

    def compute(self, party: Any) -> bool:
        """Compute all that the replicas have noted by one program; returns False if there is none."""
        from .run_programs import RunInputs, give_rows, program_for

        members = [member for _, member in sorted(self.group.members.items())]
        trace = members[0]._trace
        held = [member.held() for member in members]
        trace.wants(set().union(*held, *[member.returned() for member in members]))
        if "inputs" not in trace.programs:
            trace.programs["inputs"] = RunInputs(trace, self._mesh)
        inputs = trace.programs["inputs"]
        arrays = inputs.arrays(members, self._rows())
        parts = self._strategy, self._mesh, trace, inputs, arrays
        try:
            program_for(*parts)
        except Exception as error:  # whatever JAX raises; nothing has changed
            party.agree(None)
            return self._cannot(trace, error)
        states = party.agree((trace.fingerprint, members[0].pattern(), trace.outputs))
        if any(state is None or state[:2] != states[0][:2] for state in states):
            self.group.leave("processes do different things")
            return False
        trace.wants(set().union(*[state[2] for state in states]))
        try:
            self._results = program_for(*parts)(arrays)
        except Exception as error:
            if not party.is_alone:
                raise
            return self._cannot(trace, error)
        for row, (member, slots) in enumerate(zip(members, held, strict=True)):
            give_rows(member, slots, row, self._results)
        for member in members:
            member.finish()
        return True

    def _cannot(self, trace: Trace, error: Exception) -> bool:
        trace.is_broken = f"{type(error).__name__}: {error}"
        self.group.leave(f"it cannot be compiled: {trace.is_broken}")
        return False

    def _rows(self) -> dict[int, tuple[PerReplica, int]]:
        """The rows of `PerReplica` arguments, by the id of the tensor."""
        whole = [leaf for leaf in nest.flatten(self._arguments) if isinstance(leaf, PerReplica)]
        return {id(t): (leaf, i) for leaf in whole if leaf.is_stacked for i, t in enumerate(leaf.values)}

    def from_program(self, values: Sequence[Any]) -> Any:
        """The program's result, where it is one of all replicas; None for what they have returned by themselves."""
        if not any(type(value) is Slot for value in values):
            return None
        slots = {value.number if type(value) is Slot else None for value in values}
        if len(slots) == 1:
            return PerReplica.of(from_device(self._results[values[0].number]))
        from .run_programs import row_of

        return PerReplica(
            [row_of(self._results[v.number], i) if type(v) is Slot else v for i, v in enumerate(values)]
        )

    def finish(self, is_complete: bool) -> None:
        """Let the place know."""
        self._place.note_followed(self.group)
        self.group.disband()


def may_follow() -> bool:
    """Return whether nobody listens to the operations of this thread, or wants them one by one."""
    here = local.here
    return not (here.tapes or observers or settings.run_functions_eagerly or here.draw is not None)


def code_of(fn: Any) -> Any:
    """The code of a function, method or callable object, by which its calls are known."""
    while hasattr(fn, "func"):  # functools.partial
        fn = fn.func
    fn = getattr(fn, "__func__", fn)
    if not hasattr(fn, "__code__"):
        fn = getattr(type(fn).__call__, "__func__", type(fn).__call__)
    return getattr(fn, "__code__", type(fn))
