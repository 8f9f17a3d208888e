"""The base of plans for what is no primitive: one pullback takes the gradients of all outputs to all inputs."""

from __future__ import annotations

from typing import Any, Self

from ..engine.arrays import as_array
from .indexed_slices import IndexedSlices
from .primitive import leave_hot, local
from .tensor import Tensor, wrap


class PullbackPlan:
    """A plan (see `plan.Plan`) whose `tensors` pulls back through a computation as a whole.

    Args:
        like: shape and dtype of each output.
        watched: positions of the inputs that get a gradient.
        kept: the tensors that the pullback reads.
    """

    def __init__(
        self, name: str, like: list[Any], watched: tuple[int, ...], kept: tuple[Tensor, ...] = ()
    ) -> None:
        self.name = name
        self.like = like
        self.watched = watched
        self.kept = kept

    def only(self, positions: tuple[int, ...]) -> Self:
        """The plan that pulls back to these inputs alone."""
        plan = object.__new__(type(self))  # 2 us less than copy.copy
        plan.__dict__.update(self.__dict__)
        plan.watched = positions
        return plan

    def leading_axes(self, gradients: tuple[Any, ...]) -> tuple[int, ...]:
        """The lengths of the axes that gradients have before those of the outputs: a Jacobian's rows."""
        for g, (shape, _) in zip(gradients, self.like, strict=True):
            if g is not None:
                return tuple(g.shape)[: len(g.shape) - len(shape)]
        return ()

    def arrays(self, gradients: tuple[Any, ...], kept: Any = ()) -> list[Any]:
        """The gradients of the watched inputs, from arrays to arrays."""
        tensors = tuple(None if g is None else wrap(as_array(g)) for g in gradients)
        return [as_arrays(g) for g in self.tensors(tensors)]

    def tensors(self, gradients: tuple[Any, ...], kept: Any = ()) -> list[Any]:
        """The gradients of the watched inputs, from tensors to tensors, so that open tapes record the pullback."""
        raise NotImplementedError

    def record(self, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        """Tell the open tapes that `outputs` came from `inputs`."""
        leave_hot("a gradient is custom")
        for tape in local.here.tapes:
            tape._on_custom(self, inputs, outputs)


def as_arrays(g: Any) -> Any:
    """A gradient with arrays in place of tensors."""
    if type(g) is Tensor:
        return g._array
    if isinstance(g, IndexedSlices):
        return IndexedSlices(g.values._array, g.indices._array, tuple(g.shape))
    return g
