"""Records of a tape inside a trace, to be swept after that trace has ended.

Records hold tensors of the trace they were made in, whose arrays mean nothing outside of it. To take the gradient
elsewhere in the program, these arrays are computed again by the jaxpr of the trace (see `jaxprs.recomputation`) and
bound to the tensors; then the records are swept as those of any tape. The user's Python never runs a second time, and
neither do calls to the host: their results are saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core import dtypes
from ..core.indexed_slices import IndexedSlices
from ..core.primitive import Primitive, local
from ..core.pullback_plan import PullbackPlan
from ..core.sweep import leading_from, sweep_arrays, sweep_tensors
from ..core.tape import GradientTape
from ..core.tensor import Tensor, key_of, wrap
from .trace import Trace

Tensors = list[Tensor]
# From the gradients of the outputs, which may have extra leading axes of these lengths, to those of the inputs.
Pullback = Callable[[list[Any], tuple[int, ...]], list[Any]]


class Recording(GradientTape):
    """A tape inside a trace, to be swept after the trace has ended."""

    def __init__(self) -> None:
        super().__init__()
        self._forget()
        self._seen: dict[int, Tensor] = {}  # every tensor that was used, by id

    def _on_operation(
        self, primitive: Primitive, inputs: tuple[Tensor, ...], attributes: Any, out: Any
    ) -> None:
        for x in inputs:
            self._on_capture(x)
        super()._on_operation(primitive, inputs, attributes, out)
        for o in out if primitive.multiple else (out,):
            self._seen[id(o)] = o

    def _on_custom(self, plan: Any, inputs: Tensors, outputs: Tensors) -> None:
        for x in inputs:
            self._on_capture(x)
        super()._on_custom(plan, inputs, outputs)
        for o in outputs:
            self._seen[id(o)] = o

    def _on_capture(self, tensor: Tensor) -> None:
        self._seen[id(tensor)] = tensor

    def kept(self) -> Tensors:
        """The tensors that the records need. A user's own gradient function may use any that it has seen."""
        found = {id(t): t for t in kept_by(self._records)}
        if any(getattr(plan, "is_users", False) for _, plan, _, _ in self._records):
            found.update(self._seen)
        return list(found.values())


def kept_by(records: list[Any]) -> Tensors:
    """The tensors that records keep, each once."""
    parts = [part for *_, kept in records for x in kept for part in (x if type(x) is tuple else (x,))]
    return list({id(t): t for t in parts if type(t) is Tensor}.values())


class Records:
    """The records of a tape, and the tensors they need.

    Args:
        tensors: the tensors that the records keep.
        inputs: keys of the sources of gradients that are inputs of the traced function.
        captures: keys of the sources of gradients that come from around.
    """

    def __init__(
        self,
        tape: GradientTape,
        tensors: Tensors,
        inputs: Iterable[int],
        captures: Iterable[int] = (),
    ) -> None:
        self._entries = tape._records
        captured = set(captures)
        self.tensors = tensors
        self.keys = [*inputs, *captures]  # of the sources
        self._dependents = [t for t in tensors if t._key in tape._known and t._key not in captured]
        self.residuals: Tensors = []

    def find_residuals(self, trace: Trace) -> Tensors:
        """The tensors that lose their values with the end of a trace."""
        bound = trace.bound
        self.residuals = [t for t in self.tensors if id(t) in bound or trace.owns(t)]
        return self.residuals

    def bind(self, arrays: list[Any]) -> None:
        """Bind the residuals to arrays that were computed again, until the current trace ends."""
        for tensor, array in zip(self.residuals, arrays, strict=True):
            local.here.trace.bind(tensor, array)

    def connect(self, name: str, sources: Tensors) -> None:
        """Tell the open tapes that the tensors of the records depend on `sources`, which stand for `keys`."""
        if not self._dependents:
            return

        def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
            found = self.sweep(self._dependents, gradients, self.keys)
            return [found.get(key) for key in self.keys]

        record(name, sources, self._dependents, pull, self.tensors)

    def sweep(self, targets: Tensors, gradients: list[Any], keys: list[int]) -> dict[int, Any]:
        """The gradients of the sources with these keys, for those of the targets; on tensors if tapes are open now."""
        seeds: dict[int, Any] = {}
        listening = bool(local.here.tapes)
        for target, g in zip(targets, gradients, strict=True):
            if g is not None and dtypes.is_differentiable(target._array):
                value = g if listening else g._array
                key = key_of(target)
                seeds[key] = seeds[key] + value if key in seeds else value
        needed = leading_from(set(keys), self._entries)
        return (sweep_tensors if listening else sweep_arrays)(seeds, needed, set(keys))

    def leading_to(self, results: Tensors) -> set[int]:
        """The keys of all tensors that the results depend on."""
        keys = {key_of(t) for t in results}
        for made, _, into, _ in reversed(self._entries):
            if not keys.isdisjoint(made if type(made) is tuple else (made,)):
                keys.update(into)
        return keys


def is_watched(tensors: Iterable[Tensor]) -> bool:
    """Return whether an open tape knows one of the tensors; those from outside of the function are captured."""
    known = False
    for tape in local.here.tapes:
        for tensor in tensors:
            tape._on_capture(tensor)
            known |= tensor._key != 0 and tape._knows(tensor._key)
    return known


def record(name: str, inputs: Tensors, outputs: Tensors, pull: Pullback, kept: Tensors) -> None:
    """Tell the open tapes that `outputs` came from `inputs`; `kept` are the tensors that `pull` reads."""
    if inputs:
        _RecordedPlan(name, inputs, outputs, pull, kept).record(inputs, outputs)


class _RecordedPlan(PullbackPlan):
    """A plan for a choice, a loop or a block as a whole."""

    def __init__(self, name: str, inputs: Tensors, outputs: Tensors, pull: Pullback, kept: Tensors) -> None:
        like = [(o._array.shape, o._array.dtype) for o in outputs]
        super().__init__(name, like, tuple(range(len(inputs))), tuple(kept))
        self._pull = pull
        self._differentiable = [dtypes.is_differentiable(o._array) for o in outputs]

    def tensors(self, gradients: tuple[Any, ...], kept: Any = ()) -> list[Any]:
        gradients = tuple(g if yes else None for g, yes in zip(gradients, self._differentiable, strict=True))
        if all(g is None for g in gradients):
            return [None] * len(self.watched)
        pulled = self._pull(list(gradients), self.leading_axes(gradients))
        return [pulled[i] for i in self.watched]


def as_tensor(g: Any) -> Any:
    """A gradient of arrays or tensors as one of tensors."""
    return g if g is None or isinstance(g, (Tensor, IndexedSlices)) else wrap(g)
