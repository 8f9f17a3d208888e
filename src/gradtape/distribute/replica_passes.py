"""Passes of replicas: a call of a function that each replica runs in a thread, learned or followed as hot tapes are.

A replica that is learned computes as ever and notes its events. One that is followed runs its Python as ever, is handed
tensors without values, and waits for the others where it would have met them. If all come to their end as expected, one
program computes everything (`run_programs`). If anything else happens in one of them, all compute operation by
operation what they have noted, and go on like that: no Python runs twice.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from ..core import nest
from ..core.pending_tensors import fill, is_pending
from ..core.primitive import Primitive, apply, local, no_recording
from ..core.tape import GradientTape
from ..core.tensor import Tensor, array_of
from ..core.variable import Variable
from ..engine.pending import PendingArray
from ..hot.expected_inputs import MISS
from ..hot.learning import Learner
from ..hot.pass_events import Meet, NewVariable, Number, Operation, Out
from ..hot.pass_trace import Trace
from ..hot.quick_events import MEETINGS
from .replica_events import RestoredReplica, begin_none, name_of, slot_of
from .replica_gradients import CustomFollower

_FEW = 8  # operations that a replica computes by itself, for a value that is looked at
# The count of an array that only a list holds, and twice its tensor.
_UNSHARED_ARRAY = next(map(getrefcount, [object()])) + 2


class Slot:
    """In a result: the tensor in this slot of a pass."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Group:
    """The replicas of one run that are followed, and why they were left, if they were."""

    def __init__(self) -> None:
        self.members: dict[int, ReplicaFollower] = {}  # by the number of the replica
        self.reason: str | None = None
        self.is_unexpected = False  # whether a replica did something that no trace has: it is learned next

    @property
    def is_together(self) -> bool:
        """Whether all replicas have come to one place."""
        return len({(id(m._trace), m._position, m.has_returned) for m in self.members.values()}) == 1

    @property
    def adds_up_one_tensor(self) -> bool:
        """Whether all replicas are at the sum of a tensor that is the very same in all of them: it counts once."""
        first, *others = self.members.values()
        event: Any = first._events[first._position - 1]
        if type(event) is not Operation or event.primitive.name != "all_reduce":
            return False
        if event.attributes != {"mean": False}:
            return False
        slot = slot_of(event.specs[0])
        tensor = first._seen[slot]
        return type(tensor) is Tensor and all(other._seen[slot] is tensor for other in others)

    @property
    def has_returned(self) -> bool:
        """Whether the function has returned in all replicas."""
        return all(member.has_returned for member in self.members.values())

    def disband(self) -> None:
        """Keep nothing alive, after the run."""
        for member in self.members.values():
            member._thread.follower = None
        self.members = {}

    def part(self) -> None:
        """Leave because replicas are not at one place."""
        self.leave("replicas do different things", True)

    def leave(self, reason: str, is_unexpected: bool = False) -> None:
        """Have all replicas compute what they have noted."""
        if self.reason is None:
            self.reason, self.is_unexpected = reason, is_unexpected


class ReplicaFollower(CustomFollower):
    """A replica that is expected to do what it did before.

    Args:
        trace: the expected events.
        traces: all traces of the function, for another path.
        group: the replicas of this run.
        thread: runs this one: `pause()` lets the others go on until they have come as far.
    """

    __slots__ = ("_changed", "_group", "_replica", "_thread", "result")

    def __init__(self, trace: Trace, traces: list[Trace], group: Group, thread: Any) -> None:
        super().__init__(trace, traces, _ignore, _no_learner, begin_none)
        self.result: Any = self  # until the function has returned
        self._group = group
        self._replica = self._here.replica
        self._thread = thread
        group.members[thread.number] = thread.follower = self
        # Variables that this replica has written: each with its value before, and the slot of the one it has now.
        self._changed: dict[int, tuple[Variable, Tensor, int]] = {}

    @property
    def has_returned(self) -> bool:
        """Whether the function has returned."""
        return self.result is not self

    # -- events -------------------------------------------------------------------------------------------------------

    def enter(self, tape: GradientTape, frame: Any) -> bool:
        """Begin a tape's block; all are of this pass."""
        return self._here.tapes is self._listening and self.open(tape)

    def _operation(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        out = super()._operation(primitive, inputs, attributes)
        if out is not MISS and primitive.name in MEETINGS:
            self.meet()
        return out

    def _checked(self, event: Operation, inputs: tuple[Any, ...]) -> Any:
        tensors = [x._tensor if isinstance(x, Variable) else x for x in inputs]
        if all(not _has_no_value(t) or self._computed_alone(t, _FEW) for t in tensors):
            return super()._checked(event, inputs)
        return self._forget()

    def assign(self, variable: Variable, method: str, value: Any, noted: str | None = None) -> None:
        """Give a variable a value that is computed at the end; where replicas assign together, wait for the others."""
        replica = self._here.replica
        super().assign(variable, method, value, name_of(method, replica))
        if not self._over and replica.assigns_together(variable):
            self.meet()

    def updates(self, optimizer: Any, pairs: list[Any]) -> bool:
        """Return False: all steps wait for the others."""
        return False

    def update(self, optimizer: Any, pairs: list[Any], aggregates: bool | None = None) -> None:
        """Give the variables of an optimizer values that are computed at the end; wait for the others."""
        super().update(optimizer, pairs, aggregates)
        if not self._over:
            self.meet()

    def _give_variable(self, variable: Variable, tensor: Tensor) -> None:
        self._note_change(variable, variable._tensor, tensor._both[1].slot)
        super()._give_variable(variable, tensor)

    def ask(
        self, method: str, tape: GradientTape, target: Any, sources: Any, options: tuple[Any, ...]
    ) -> Any:
        """The gradients that are expected of a tape; where replicas meet for them, wait for the others."""
        answer = super().ask(method, tape, target, sources, options)
        if not self._over and type(self._events[self._position]) is Meet:
            self._position += 1
            self.meet()
        return answer

    def _note_change(self, variable: Variable, before: Tensor, slot: int) -> None:
        known = self._changed.get(variable._key)
        self._changed[variable._key] = variable, before if known is None else known[1], slot

    def _assigned(self, out: Out, method: str, value: Tensor) -> Tensor:
        return self._pending(out)  # what all replicas assign together

    def _fits_variable(self, spec: NewVariable, x: Any) -> bool:
        if type(x) is Tensor:
            x = self._read.get(x._key) if x._key in self._read and self._read[x._key]._tensor is x else None
        if not isinstance(x, Variable) or x._key != spec.key:
            return False
        array = array_of(x._tensor)
        if tuple(array.shape) != spec.shape or array.dtype != spec.dtype:
            return False
        self._read[x._key] = self._variables[spec.slot] = self._seen[spec.slot] = x
        self._seen[self._value_at[spec.slot]] = x._tensor
        return True

    def _fits_tensor(self, spec: Any, x: Any) -> bool:
        return not _has_no_value(x) and super()._fits_tensor(spec, x)

    def _end_reached(self) -> None:
        """The pass ends with the function."""

    def _guess(self) -> None:
        """No program is started before the end: it is one of all replicas."""

    _launch = _guess

    # -- the other replicas -------------------------------------------------------------------------------------------

    def meet(self) -> None:
        """Let the other replicas come as far as this one."""
        self._put_back()
        self._thread.pause()
        if self._group.reason is not None:
            self._give_up(self._group.reason)
        else:
            for variable, _, slot in self._changed.values():
                variable._tensor = self._seen[slot]

    def _put_back(self) -> None:
        """Let variables hold what they held before this replica changed them."""
        for variable, before, _ in self._changed.values():
            variable._tensor = before

    def end(self, result: Any) -> Any:
        """Wait for the others when the function has returned. A result without a value is returned as its slot."""
        if self._over:
            return result
        self.result = nest.map_structure(self._as_slot, result)
        del result  # else it would hold what nobody else does
        left = self._reason_to_leave()
        if left is None:
            self.meet()
        else:
            self._leave(left)
        if self._group.reason is None:
            return self.result
        return nest.map_structure(lambda x: self._seen[x.number] if type(x) is Slot else x, self.result)

    def _as_slot(self, leaf: Any) -> Any:
        if type(leaf) is Tensor and is_pending(leaf) and leaf._both[0] is self:
            return Slot(leaf._both[1].slot)
        return leaf

    def _reason_to_leave(self) -> str | None:
        if self._position < len(self._trace.events):
            return "the function ended early"
        for number, reference in enumerate(self._tapes):
            tape = reference()
            if tape is not None and (tape._persistent or number not in self._asked):
                return "a tape may be asked after the run"
        return None

    def held(self) -> set[int]:
        """The slots of results that something else holds than this pass."""
        counts = list(map(getrefcount, self._arrays))
        shared = [i for i, count in enumerate(counts) if count > _UNSHARED_ARRAY]
        return {*self._trace.held(self._position, self._seen), *[self._arrays[i].slot for i in shared]}

    def returned(self) -> set[int]:
        """The slots of results that the function has returned."""
        return {leaf.number for leaf in nest.flatten(self.result) if type(leaf) is Slot}

    def pattern(self) -> list[int | None]:
        """Of each leaf that the function has returned, the slot of its value, if it has none yet."""
        return [leaf.number if type(leaf) is Slot else None for leaf in nest.flatten(self.result)]

    def finish(self) -> None:
        """End the pass: every result that is in use has its value, and the others are forgotten."""
        for number, reference in enumerate(self._tapes):
            used = reference()
            if used is not None:
                self._settle(used, number)
        self._over, self._changed = True, {}
        self._seen, self._variables, self._reads, self._arrays = [], {}, [], []

    # -- leaving ------------------------------------------------------------------------------------------------------

    def value_of(self, slot: int) -> Any:
        """The NumPy array of a result that somebody looks at.

        A few operations on values from outside are computed now, as those that prepare labels. For any other value all
        replicas compute what they have noted; they cannot for another thread, which gets what this replica has.
        """
        tensor = self._seen[slot]
        most = (
            _FEW
            if isinstance(local.here.hot, ReplicaFollower) or local.here is self._here
            else len(self._events)
        )
        if is_pending(tensor) and not self._computed_alone(tensor, most):
            looking = local.here.hot if local.here is not self._here else self
            if not isinstance(looking, ReplicaFollower) or looking._group is not self._group:
                raise RuntimeError(
                    "a value of a replica is looked at in a thread of the program's own while Strategy.run runs: "
                    "look at it in the replica itself, or give Strategy.run a @tf.function"
                )
            looking._leave("a value is looked at")
        return tensor._array

    def _computed_alone(self, tensor: Tensor, most: int) -> bool:
        """Compute a result now, if it takes no more operations than that, on values that this replica has."""
        if not is_pending(tensor) or tensor._both[0] is not self:
            return False
        wanted, needed = [tensor._both[1].slot], dict[int, tuple[Operation, list[Any]]]()
        while wanted:
            event = self._trace.producers[wanted.pop()]
            if not isinstance(event, Operation) or event.primitive.name in MEETINGS or len(needed) == most:
                return False
            inputs = [s.value if isinstance(s, Number) else self._at(slot_of(s), event) for s in event.specs]
            if any(x is None for x in inputs):
                return False
            needed[event.outs[0].slot] = event, inputs
            wanted += [x._both[1].slot for x in inputs if type(x) is Tensor and is_pending(x)]
        hot, local.here.hot = local.here.hot, None
        try:
            with no_recording(), self._lock:
                for _, (event, inputs) in sorted(needed.items()):
                    out = apply(event.primitive, tuple(inputs), event.attributes)
                    for known, result in zip(
                        event.outs, out if event.primitive.multiple else (out,), strict=True
                    ):
                        if is_pending(self._seen[known.slot]):
                            fill(self._seen[known.slot], result._array)
        finally:
            local.here.hot = hot
        return True

    def _at(self, slot: int, event: Operation) -> Any:
        """The input of an event in a slot: of a variable, the value before this replica wrote it; else None."""
        known = self._seen[slot]
        if not isinstance(known, Variable):
            return known
        change = self._changed.get(known._key)
        if change is None:
            return known._tensor
        return change[1] if event.outs[0].slot < self._trace.first_write(slot) else None

    def _leave(self, reason: str, learn: bool = False) -> None:
        self._give_up(reason, learn)

    def _give_up(self, reason: str, learn: bool = False) -> None:
        if self._group.reason is None:
            self._group.leave(reason, learn)
            self._put_back()
            self._thread.pause()
        self._changed = {}
        super()._give_up(reason)

    def _replayed(self) -> list[Any]:
        """Compute as ever, with the other replicas, and return the listeners that are open then."""
        here = self._here
        before, here.tapes = here.tapes, []
        tapes = [tape if self._answers_for(tape) else None for tape in [t() for t in self._tapes]]
        for tape in tapes:
            if tape is not None:
                tape._pass = None
        replay = RestoredReplica(self._trace, self._variables, self._seen, {}, tapes, self._reads)
        replay.pulls = self._pulls
        replica, here.replica = here.replica, self._replica
        try:
            replay.run(self._position)
        finally:
            here.tapes, opened, here.replica = before, here.tapes, replica
        return opened


def _has_no_value(x: Any) -> bool:
    """Return whether an object is a tensor without a value, of any pass, or shares the array of one."""
    if type(x) is not Tensor:
        return False
    return is_pending(x) or type(array_of(x)) is PendingArray


def _ignore(result: Any) -> None:
    """The end of a pass, which `run_places` counts."""


def _no_learner() -> Learner:
    """What learns the rest of a pass that is left: the next call is learned, from its beginning."""
    raise NotImplementedError
