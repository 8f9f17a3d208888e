"""Origins traced: while this is on, a witness listens, and a few methods are stood in for, so that it also learns of
values that leave for NumPy or Python and come back, of assigning, and of tapes starting and stopping.

Off, nothing is left of it: no operation, read or sweep has a line more for its sake.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from ..core import nest, primitive, tape, tensor
from ..core.deferred_products import without_products
from ..core.primitive import local
from ..core.sweep import walk
from ..core.tape import GradientTape
from ..core.tensor import Tensor, key_of
from ..core.variable import Variable
from .origins import History, Witness, origin, user_frame

_LEAVING = {
    "numpy": ".numpy()",
    "__array__": "NumPy",
    "__float__": "float()",
    "__int__": "int()",
    "__complex__": "complex()",
    "__bool__": "bool()",
    "__dlpack__": "DLPack",
}


class _Stand:
    """Methods and functions replaced for a while."""

    def __init__(self, witness: Witness) -> None:
        self.witness = witness
        self.home = local.here  # of the thread that began it
        self._before: list[tuple[Any, str, Any]] = []

    def _swap(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = owner.__dict__[name]
        self._before.append((owner, name, original))
        setattr(owner, name, make(original))

    def start(self) -> None:
        for name, how in _LEAVING.items():
            self._swap(Tensor, name, partial(self._leaving, how))
        self._swap(Tensor, "__format__", self._silent)
        for name in ("assign", "assign_add", "assign_sub"):
            self._swap(Variable, name, self._assigning)
        self._swap(Variable, "_assign_slice", self._assigning_slice)
        self._swap(Variable, "__init__", self._making)
        for name in ("_from_array", "_from_sequence"):
            self._swap(tensor, name, self._entering)
        for module in (tensor, primitive):  # primitive has it by name
            self._swap(module, "scalar", self._entering)
        for name in ("gradient", "jacobian", "batch_jacobian"):
            self._swap(GradientTape, name, self._asking)
        self._swap(GradientTape, "__enter__", self._opening)
        self._swap(GradientTape, "_start", self._starting)
        self._swap(GradientTape, "_stop", self._stopping)
        self._swap(GradientTape, "_watch", self._watching)
        self._swap(GradientTape, "reset", self._resetting)
        self._swap(tape, "sweep_tensors", self._sweeping)

    def stop(self) -> None:
        for owner, name, original in reversed(self._before):
            setattr(owner, name, original)
        self._before.clear()
        tensor._scalars.clear()  # those that were given keys are no longer to be shared

    # Each of these makes the replacement for one method.

    def _leaving(self, how: str, original: Any) -> Any:
        def leaves(x: Any, *args: Any, **options: Any) -> Any:
            value = original(x, *args, **options)
            self.witness.left(x, how, value)
            return value

        return leaves

    def _silent(self, original: Any) -> Any:
        def shows(x: Any, spec: str) -> Any:
            with self.witness.muted():
                return original(x, spec)

        return shows

    def _assigning(self, original: Any) -> Any:
        def assigns(variable: Variable, value: Any, *args: Any, **options: Any) -> Any:
            result = original(variable, value, *args, **options)
            self.witness.assigned(variable, original.__name__, value)
            return result

        return assigns

    def _making(self, original: Any) -> Any:
        def makes(variable: Variable, initial_value: Any = None, *args: Any, **options: Any) -> None:
            original(variable, initial_value, *args, **options)
            if type(initial_value) is Tensor:
                self.witness.assigned(variable, "tf.Variable(...)", initial_value)

        return makes

    def _assigning_slice(self, original: Any) -> Any:
        def assigns(variable: Variable, method: str, index: Any, value: Any) -> Any:
            result = original(variable, method, index, value)
            self.witness.assigned(variable, method, value)
            return result

        return assigns

    def _entering(self, original: Any) -> Any:
        def enters(value: Any, *args: Any) -> Any:
            result = original(value, *args)
            self.witness.entered(value, result._array if type(result) is Tensor else result)
            return result

        return enters

    def _asking(self, original: Any) -> Any:
        def asks(tape: GradientTape, target: Any, sources: Any, *args: Any, **options: Any) -> Any:
            try:
                result = original(tape, target, sources, *args, **options)
            except TypeError as error:
                self._refused(tape, target, sources, error)
                raise
            found = nest.flatten(result)
            self.witness.answered(nest.flatten(target), nest.flatten(sources), found)
            if any(g is None for g in found):
                from .judge import call

                frame = user_frame()
                missing = [s for s, g in zip(nest.flatten(sources), found, strict=True) if g is None]
                self.witness.calls.append(call(tape, nest.flatten(target), missing, frame))
            return result

        asks.__name__ = original.__name__
        return asks

    def _refused(self, tape: GradientTape, target: Any, sources: Any, error: TypeError) -> None:
        """A target or source that is no tensor: it may have been one, and `explain` can tell where it left."""
        from .judge import call

        proper = [s for s in nest.flatten(sources) if type(s) is Tensor or isinstance(s, Variable)]
        if proper:
            targets = nest.flatten(target)
            self.witness.calls.append(call(tape, targets, proper, user_frame(), error))

    def _history(self, tape: GradientTape) -> History:
        history = tape.__dict__.get("_history")
        if history is None or history.witness is not self.witness:
            history = tape.__dict__["_history"] = History(self.witness)
        return history

    def _opening(self, original: Any) -> Any:
        def opens(tape: GradientTape) -> GradientTape:
            result = original(tape)
            history = self._history(tape)
            history.spans[-1][2] = True
            return result

        return opens

    def _starting(self, original: Any) -> Any:
        def starts(tape: GradientTape) -> None:
            original(tape)
            self.witness.attend(local.here)
            history = self._history(tape)
            if not tape._records and not tape._known:  # it begins, or begins anew
                history.spans.clear()
                history.watched.clear()
            history.spans.append([self.witness.now, None, False])

        return starts

    def _stopping(self, original: Any) -> Any:
        def stops(tape: GradientTape) -> None:
            original(tape)
            spans = self._history(tape).spans
            if spans:
                spans[-1][1] = self.witness.now
            here = local.here
            if here is not self.home and all(isinstance(t, Witness) for t in here.tapes):
                self.witness.leave(here)

        return stops

    def _watching(self, original: Any) -> Any:
        def watches(tape: GradientTape, thing: Any) -> None:
            original(tape, thing)
            self._history(tape).watched.setdefault(key_of(thing), (self.witness.now, origin()))

        return watches

    def _resetting(self, original: Any) -> Any:
        def resets(tape: GradientTape) -> None:
            original(tape)
            history = self._history(tape)
            history.watched.clear()
            history.since = self.witness.now

        return resets

    def _sweeping(self, original: Any) -> Any:
        """While nobody but witnesses listens, gradients are computed on arrays, as they are without them."""

        def sweeps(gradients: dict[int, Any], records: list[Any], wanted: set[int]) -> dict[int, Any]:
            here = local.here
            alone = all(isinstance(listener, Witness) for listener in here.tapes)
            if self.witness.ledger is not None:
                self.witness.ledger.keeps(records)
            if not alone:
                return original(gradients, records, wanted)
            before, here.tapes = here.tapes, []
            try:
                with np.errstate(all="ignore"):
                    arrays = {k: g._array if type(g) is Tensor else g for k, g in gradients.items()}
                    return walk(arrays, records, wanted, self._pull)
            finally:
                here.tapes = before

        return sweeps

    def _pull(self, key: Any, plan: Any, into: Any, kept: Any, g: Any) -> Any:
        start = perf_counter()
        parts = without_products(plan.arrays(g, kept))
        if self.witness.ledger is not None:
            seconds = perf_counter() - start
            first = key[0] if type(key) is tuple else key
            if len(self.witness.backward) > 1_000_000:
                self.witness.backward.clear()
            self.witness.backward[first] = self.witness.backward.get(first, 0.0) + seconds
            self.witness.ledger.backward(
                first, plan.primitive.name if hasattr(plan, "primitive") else plan.name, seconds
            )
        if any(part is None for part in parts):
            outputs = key if type(key) is tuple else (key,)
            self.witness.lost.update(
                (o, k) for k, part in zip(into, parts, strict=True) if part is None for o in outputs
            )
        if self.witness.nan is None:
            from .nan import backward_step

            step = backward_step(key, plan, kept, g, parts)
            self.witness.nan = step and replace(step, time=self.witness.now)
        return parts


_current: _Stand | None = None
_depth = 0


def witness() -> Witness | None:
    """The one that is on, if any."""
    return None if _current is None else _current.witness


class Tracing:
    """Origins are traced from when this is made until `stop`, or to the end of its `with` block."""

    def __init__(self, profile: bool = False) -> None:
        global _current, _depth
        if _current is None:
            _current = _Stand(Witness(profile))
            _current.start()
            _current.witness.attend(local.here)
        elif profile and not _current.witness.profile:
            raise RuntimeError("origins are traced already, without times: stop that first")
        _depth += 1
        self.witness = _current.witness
        self._on = True

    def stop(self) -> None:
        """End it. What tapes have seen in the meantime can still be explained."""
        global _current, _depth
        if not self._on:
            return
        self._on = False
        _depth -= 1
        if _depth == 0 and _current is not None:
            _current.witness.leave(_current.home)
            _current.stop()
            _current = None

    def __enter__(self) -> Tracing:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<origins traced: {len(self.witness.events)} events{'' if self._on else ', ended'}>"
