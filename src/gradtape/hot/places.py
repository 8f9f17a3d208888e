"""Places in the code where outermost tapes are entered: when their passes are learned, and when they are followed.

All counts are of passes, events and elements, never of time: two runs of a program do the same.
"""

from __future__ import annotations

import functools
import importlib.util
import threading
from collections import Counter
from math import inf
from types import CodeType
from typing import TYPE_CHECKING, Any

from ..core.hot_door import ask_nobody, ask_passes
from ..core.observers import observers
from ..core.primitive import local
from ..core.settings import settings
from ..core.tape import GradientTape, when_entered

# All else is imported when a place is first learned: a program of few passes starts as quickly as without hot tapes.
if TYPE_CHECKING:
    from .following import Follower
    from .learning import Learner
    from .pass_trace import Trace

MOST_TRACES = 6  # of one place
SAMPLE = 32  # passes that are followed, after which it is checked again whether that pays
MOST_PLACES = 1000  # beyond these, those that have not come often are forgotten
MOST_FAILURES = 3  # passes that no trace can be made of, and one more for each `SAMPLE` that is followed
MOST_TROUBLE = 32  # as `Place._trouble` counts it
MOST_UPDATED = 1 << 24  # elements that optimizers write in a compiled pass, which has them twice (64 MB more)
MOST_UNEQUAL = 30  # passes that are learned, which takes several times as long, before two of them are equal


class Policy:
    """When a place is learned and followed."""

    def __init__(self) -> None:
        self.learn_from = 20  # passes
        self.equal = 2  # passes that a trace is made of
        self.patience = 2  # passes that end inside a trace before that part is compiled
        self.sure = 3  # passes in a row that went as expected before a program is started ahead of the next
        self.least, self.most = 25, 100_000  # the first pass to follow
        self.least_saved = 5.0  # microseconds a pass: below, a place is left alone
        # Whether programs are NumPy's functions where they can be; None: if that pays.
        self.by_numpy: bool | None = None

    def follow_from(self, trace: Trace, by_numpy: bool) -> int:
        """The first pass to follow: when following so far would have saved what it takes to make the program."""
        from . import gains

        cost = gains.to_generate(trace) if by_numpy else gains.to_compile(trace)
        return self._bounded(cost / max(gains.saved(trace, by_numpy), 1.0))

    def compile_from(self, trace: Trace) -> float:
        """The first pass to follow with a compiled program, where NumPy's functions, which are made sooner, come first.

        0 if NumPy's functions cannot compute the pass or gain nothing, inf if they are to stay.
        """
        from . import gains

        if not self._fits_numpy(trace):
            return 0
        if self.by_numpy or not self._fits_xla(trace):
            return inf
        by_numpy, by_xla = (gains.saved(trace, kind, 1.0, trace.usually_renewed) for kind in (True, False))
        if by_xla <= by_numpy:
            return inf
        passes = self._bounded(gains.to_compile(trace) / (by_xla - by_numpy))
        return passes if by_numpy >= self.least_saved and passes > self.follow_from(trace, True) else 0

    def pays(self, trace: Trace, runs: float = 1.0, renewed: float = 0.0) -> bool:
        """Return whether following with programs of one kind or the other saves enough: see `gains.saved`."""
        kinds = (self._fits_numpy(trace), self._fits_xla(trace))
        return any(
            self.pays_with(trace, kind, runs, renewed) for kind, can in zip((True, False), kinds) if can
        )

    def pays_with(self, trace: Trace, by_numpy: bool, runs: float = 1.0, renewed: float = 0.0) -> bool:
        """The same for one kind of programs."""
        from . import gains

        return gains.saved(trace, by_numpy, runs, renewed) >= self.least_saved

    def _fits_numpy(self, trace: Trace) -> bool:
        """Return whether programs of a trace may be code of NumPy's functions."""
        from .array_code import unfit

        return self.by_numpy is not False and unfit(trace) is None

    def _fits_xla(self, trace: Trace) -> bool:
        """Return whether programs of a trace may be compiled."""
        return trace.uncompiled is None and trace.updated_elements <= MOST_UPDATED and _has_jax()

    def _bounded(self, passes: float) -> int:
        return int(min(self.most, max(self.least, passes)))

    def always(self, by_numpy: bool = False) -> None:
        """For tests: learn the first pass, follow the second; programs are compiled, or NumPy's where they can be."""
        self.by_numpy = by_numpy
        self.learn_from = self.equal = self.patience = self.sure = 1
        self.least = self.most = 0
        self.least_saved = -float("inf")


policy = Policy()


class Place:
    """A place in the code, its passes and its traces."""

    def __init__(self, frame: Any) -> None:
        self.code: CodeType = frame.f_code  # is kept, so that its id stays its own
        self.instruction: int = frame.f_lasti
        self.name = f"{self.code.co_filename}:{frame.f_lineno}"
        self.passes = 0
        self.followed = 0
        self.learned = 0
        self.traces: list[Trace] = []
        self.candidates: list[Trace] = []  # of passes that no other was equal to yet
        self.reasons: Counter[str] = Counter()  # why passes were not followed to their end, or not learned
        self.failures = 0
        self.left = 0
        self._trouble = 0  # of late: passes that were left, less a quarter of those that were followed
        self.relearn = False
        self.is_cold = False  # whether it is left alone
        self.start = 0  # the first pass to follow
        self._compile_from = inf  # the same with compiled programs, where NumPy's functions come first
        self._since = 0  # the passes before the variables of now: programs must pay by those that came after
        # The thread whose passes are followed, for which operations ask passes until the place is left alone. (To count
        # each pass took 1 us.) If there are several threads, operations ask from then on.
        self._follows_in: Any = None
        self._follows_in_many = False

    @property
    def rests(self) -> bool:
        """Whether its passes are neither learned nor followed."""
        if self.is_cold or self.passes < policy.learn_from:
            return True
        return bool(self.traces) and not self.relearn and self.passes + 1 < self.start

    def begin(self, tape: GradientTape) -> bool:
        """Begin a pass with its outermost tape; returns whether the pass answers for the tape."""
        self.passes += 1
        if self.is_cold or self.passes < policy.learn_from or observers or local.here.replica is not None:
            return False
        if settings.promote is not None:  # operations on two dtypes are made others inside the door
            return False
        if self.passes >= self._compile_from:
            self._change_over()
        if self.traces and not self.relearn:
            for trace in self.traces:
                if trace.events[0] == (tape._persistent, tape._watch_accessed_variables):
                    return self.passes >= self.start and self._follow(trace, tape)
        self._learner().open(tape)
        return True

    def _follow(self, trace: Trace, tape: GradientTape) -> bool:
        if not trace.by_numpy and not _can_compile():
            self.reasons["JAX cannot be used"] += 1
            self._leave_alone()
            return False
        if self._follows_in is not local.here:
            with _door.lock:
                if self._follows_in is None:
                    _door.open()
                    self._follows_in = local.here
                else:
                    self._follows_in_many = True
        make = _follower_class()
        ends = self._followed, self._learner, entered, self._goes_on
        return make(trace, self.traces, *ends, policy.patience).start(tape)

    def _goes_on(self, trace: Trace, traces: list[Trace], tape: GradientTape, frame: Any) -> bool:
        """Count a pass that went to its end, and begin the next one if it may have the same trace, here once more.

        Does what `_followed`, `entered` and `begin` do where nothing has changed, in 1 us instead of 5.
        """
        count = self.followed + 1
        if (
            frame.f_lasti != self.instruction
            or frame.f_code is not self.code
            or self.traces is not traces
            or traces[0] is not trace
            or not trace.begins_plainly
            or tape._persistent
            or not tape._watch_accessed_variables
            or self.relearn
            or self.is_cold
            or observers
            or profiles
            or settings.promote is not None
            or not when_entered
            or not count % SAMPLE
            or self.passes + 1 >= self._compile_from
        ):
            return False
        self.passes += 1
        self.followed = count
        if self._trouble > -MOST_TROUBLE:
            self._trouble -= 1
        return True

    def _change_over(self) -> None:
        """Follow with compiled programs from now on, or say when to ask again."""
        if _can_compile():
            self._set_traces(self.traces)
        else:
            self._compile_from = inf

    def _leave_alone(self) -> None:
        self.is_cold = True
        self._close_door_if_resting()

    def _learner(self) -> Learner:
        from .learning import Learner

        _door.open()
        return Learner(self._learned, entered)

    def _learned(self, result: Trace | str) -> None:
        self._take(result)
        self._close_door_if_resting()
        _door.close(self)

    def _close_door_if_resting(self) -> None:
        if self.rests:
            with _door.lock:
                if self._follows_in is local.here and not self._follows_in_many:
                    self._follows_in = None
                    _door.close(self)

    def _take(self, result: Trace | str) -> None:
        """Use the trace of a pass that was learned, or count why there is none."""
        from .pass_trace import Trace, merged

        self.learned += 1
        if not isinstance(result, Trace):
            self.reasons[result] += 1
            self.failures += 1
            if self.failures >= MOST_FAILURES + self.followed // SAMPLE:
                self.is_cold = True
            return
        self.relearn = False
        result.sure = policy.sure
        for i, known in enumerate(self.traces):
            one = merged(known, result)
            if one is not None:
                self._set_traces([*self.traces[:i], self._shared(one), *self.traces[i + 1 :]])
                return
        if policy.equal > 1:
            for i, once in enumerate(self.candidates):
                one = merged(once, result)
                if one is not None:
                    del self.candidates[i]
                    result = one
                    break
            else:
                self.candidates = [result, *self.candidates][:MOST_TRACES]
                if not self.traces and self.learned >= MOST_UNEQUAL:
                    self.reasons["no pass is like one before"] += 1
                    self.is_cold = True
                return
        if not policy.pays(result):
            self.reasons["a pass is too short to gain"] += 1
            self._set_traces([trace for trace in self.traces if not trace.is_dead])
            if not self.traces:
                self.is_cold = True
            return
        alive = [trace for trace in [self._shared(result), *self.traces] if not trace.is_dead]
        if self.start and not any(map(result.shares_variables, [t for t in alive if t is not result])):
            self._since = self.passes
        self._set_traces(alive[:MOST_TRACES])
        self._start_with(self.traces[:1])

    def _set_traces(self, traces: list[Trace]) -> None:
        """Replace the traces; a pass that is followed now goes on with those it knows."""
        compile_from = self._since + min(map(policy.compile_from, traces), default=inf)
        by_numpy = self.passes < compile_from  # for all: a pass may go from one to another
        self._compile_from = compile_from if by_numpy else inf
        self.traces = traces = [trace.computed(by_numpy) for trace in traces]
        for trace in traces:
            trace.is_prefix = any(trace.is_prefix_of(other) for other in traces)

    def _start_with(self, traces: list[Trace]) -> None:
        """Do not follow before the programs of one of these traces pay."""
        starts = [policy.follow_from(t, t.by_numpy) for t in traces if policy.pays_with(t, t.by_numpy)]
        self.start = max(self.start, self._since + min(starts, default=0))

    def _check_gain(self) -> None:
        """Leave the place alone if nothing is gained, by what happened in the last passes that were followed.

        Looks in the middle of passes may have programs run often, and each pass may be given other tensors.
        """
        runs = max(sum(trace.runs for trace in self.traces) / SAMPLE, 1.0)
        renewed = sum(trace.renewed for trace in self.traces) / SAMPLE
        # Passes are expected to be like the first: that of which most were. Others take longer to begin.
        self.traces = sorted(self.traces, key=lambda trace: -trace.runs)
        for trace in self.traces:
            trace.runs, trace.renewed, trace.usually_renewed = 0, 0, renewed
        if any(policy.pays_with(trace, trace.by_numpy, runs, renewed) for trace in self.traces):
            return
        if any(policy.pays(trace, runs, renewed) for trace in self.traces):  # with programs of the other kind
            for trace in self.traces:
                if trace.by_numpy:
                    trace.unfit = "compiled programs gain more"
                else:
                    trace.uncompiled = "NumPy's functions gain more"
            self._set_traces(self.traces)
            self._start_with(self.traces)
            return
        is_given_others = any(policy.pays(trace, runs) for trace in self.traces)
        self.reasons[
            "tensors are others in each pass" if is_given_others else "values are looked at too often"
        ] += 1
        self.is_cold = True

    def _shared(self, trace: Trace) -> Trace:
        """A trace with the very events that others have in common with it, which are quick to compare."""
        for other in self.traces:
            count = trace.shared_with(other)
            trace.share(other, count)
        return trace

    def _followed(self, left: tuple[str, bool] | None) -> None:
        """Count a pass: None if it was followed to its end, else why it was left, and whether the rest is learned."""
        if left is None:
            self.followed += 1
            if self._trouble > -MOST_TROUBLE:
                self._trouble -= 1
            if self.followed % SAMPLE == 0:
                self._check_gain()
                self._close_door_if_resting()
            return
        self._count_left(*left)
        self._close_door_if_resting()

    def _count_left(self, reason: str, is_learned: bool) -> None:
        self.reasons[reason] += 1
        self.left += 1
        self.relearn = not is_learned
        kept = [trace for trace in self.traces if not trace.is_broken]
        self._set_traces(kept)
        self._trouble += 4
        if self._trouble > MOST_TROUBLE:
            self.is_cold = True
        if any(trace.unfit for trace in kept):  # for NumPy's functions, as it turned out
            if any(map(policy.pays, kept)):
                self._start_with(self.traces)
            else:
                self.reasons["a pass is too short to gain"] += 1
                self.is_cold = True


@functools.cache
def _has_jax() -> bool:
    """Return whether JAX is installed; does not import it."""
    return importlib.util.find_spec("jax") is not None


@functools.cache
def _can_compile() -> bool:
    """Return whether JAX, which is imported now, can be used."""
    from ..compiled.function_warnings import can_compile

    try:
        return can_compile()
    except ImportError:
        return False


@functools.cache
def _follower_class() -> type[Follower]:
    from .following import Follower

    return Follower


places: dict[Any, Place] = {}


class _Door:
    """Has operations ask the passes while there are any, and nobody while all places are left alone."""

    def __init__(self) -> None:
        self._passes = 0  # that are learned or followed now, in all threads
        self.lock = threading.RLock()

    def open(self) -> None:
        """A pass is learned or followed from now on."""
        with self.lock:
            self._passes += 1
            ask_passes()

    def close(self, place: Place) -> None:
        """A pass of a place has ended."""
        with self.lock:
            self._passes -= 1
            is_last = not self._passes and local.here.hot is None
            if is_last and place.rests and all(other.rests for other in [*places.values()]):
                ask_nobody()


_door = _Door()
profiles: list[
    Any
] = []  # of `explain`: what times operations, and pauses while a pass is learned or followed


def entered(tape: GradientTape, frame: Any) -> bool:
    """Begin a pass with an outermost tape, which is entered in this frame."""
    if local.here.is_inside or not when_entered:  # switched off by another thread while this one had a pass
        return False
    place = places.get((id(frame.f_code), frame.f_lasti))  # a code object takes 1 us to hash
    if place is None:
        place = _place_of(frame)
    if profiles:
        for profile in profiles:
            profile.pause()
    if place.begin(tape):
        return True
    for profile in profiles:
        profile.resume()
    return False


def _place_of(frame: Any) -> Place:
    """The place in the user's code from which a frame was called, if it is not one itself."""
    while frame.f_globals.get("__name__", "").startswith("gradtape."):
        frame = frame.f_back
    key = id(frame.f_code), frame.f_lasti
    if key not in places:
        if len(places) >= MOST_PLACES:
            _forget_places()
        places[key] = Place(frame)
    return places[key]


def _forget_places() -> None:
    """Forget the places whose passes are neither learned nor followed: programs may make code again and again."""
    for key, place in [*places.items()]:
        if place.rests and not place.traces:
            places.pop(key, None)


def switch(on: bool) -> None:
    """Turn hot tapes on or off in the whole process. A pass of this thread that is followed now is left."""
    hot = local.here.hot
    if hot is not None:
        hot.interrupt("hot tapes are switched off")
    when_entered[:] = [entered] if on else []


def obey(variable: str) -> None:
    """Do what the environment variable GRADTAPE_HOT says: "1" is on, "0" is off.

    "always" and "numpy" are on from the second pass: compiled, or with NumPy's functions where that can be.

    Raises:
        ValueError: for any other value.
    """
    if variable not in ("0", "1", "always", "numpy"):
        raise ValueError(f"GRADTAPE_HOT is 0, 1, always or numpy, not {variable!r}")
    if variable in ("always", "numpy"):
        policy.always(variable == "numpy")
    switch(variable != "0")


def is_on() -> bool:
    """Return whether hot tapes are on."""
    return bool(when_entered)


def counts() -> dict[str, Any]:
    """What happened so far: in all, and at each place in the code."""
    names = ("passes", "learned", "followed", "left")
    found: dict[str, Any] = {name: sum(getattr(place, name) for place in places.values()) for name in names}
    found["programs"] = sum(len(trace.programs) for place in places.values() for trace in place.traces)
    found["places"] = {
        place.name: {
            **{name: getattr(place, name) for name in names},
            "traces": len(place.traces),
            "start": place.start,
            "cold": place.is_cold,
            "reasons": dict(place.reasons),
        }
        for place in places.values()
    }
    return found
