"""`gradients` and `hessians`: derivatives of what a function has computed so far, without a tape of the user's.

A function that calls them is traced again, or run again, under a tape that watches everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import dtypes, nest
from ..core.primitive import Primitive, local
from ..core.tape import GradientTape
from ..core.tape_ends import UnconnectedGradients
from ..core.tensor import Tensor, key_of
from ..core.types import TensorLike
from .placeholders import Specialize


class GraphTape(GradientTape):
    """A tape of all operations on floating numbers, whatever they depend on."""

    def __init__(self) -> None:
        super().__init__(persistent=True)
        self._forget()

    def _on_operation(
        self, primitive: Primitive, inputs: tuple[Tensor, ...], attributes: Any, out: Any
    ) -> None:
        self._know(inputs)
        super()._on_operation(primitive, inputs, attributes, out)

    def _on_custom(self, plan: Any, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        self._know(inputs)
        super()._on_custom(plan, inputs, outputs)

    def _on_read(self, variable: Any) -> None:
        if variable._key not in self._watched and dtypes.is_differentiable(variable._tensor._array):
            self._watch(variable)

    def _end_recording(self) -> None:
        """Go on: gradients of gradients are asked for later."""

    def _know(self, tensors: Sequence[Tensor]) -> None:
        self._known.update(x._key or key_of(x) for x in tensors if dtypes.is_differentiable(x._array))

    def without(self, stops: list[Any]) -> GraphTape:
        """The same tape, on which no gradient passes what computed these tensors."""
        ends = {stop._key for stop in stops}
        cut = GraphTape()
        cut.__dict__.update(self.__dict__)
        cut._records = [
            record
            for record in self._records
            if ends.isdisjoint(nest.flatten(record[0]))  # its outputs
        ]
        return cut


def _tape(name: str) -> GraphTape:
    """The tape of the function that is being traced.

    Raises:
        RuntimeError: outside of a function, or in a branch or loop of one.
    """
    here = local.here
    found = next((tape for tape in reversed(here.tapes) if isinstance(tape, GraphTape)), None)
    if found is not None:
        return found
    if here.trace is None and not here.runs_function:
        raise RuntimeError(
            f"{name} works inside a @tf.function: here operations run at once; record them with tf.GradientTape, and "
            "ask tape.gradient(target, sources)"
        )
    if here.trace is not None and here.trace.parent is not None:
        raise RuntimeError(f"{name}: in a branch or a loop of a function, use tf.GradientTape")
    raise Specialize(GraphTape)


def gradients(
    ys: TensorLike,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = None,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradients of the sum of `ys` with respect to each of `xs`, inside a `@function`.

    Args:
        ys: a tensor, or a list of them.
        xs: a tensor or variable that `ys` were computed from, or a list of them.
        grad_ys: the gradients of `ys`, by default ones.
        gate_gradients, aggregation_method: accepted.
        stop_gradients: tensors that count as constants.
        unconnected_gradients: what stands for a gradient that is missing: "none" or "zero".

    Raises:
        RuntimeError: outside of a function, or in a branch or loop of one.

    >>> import gradtape as tf
    >>> float(tf.function(lambda x: gradients(x * x, x)[0])(tf.constant(3.0)))
    6.0
    """
    tape = _tape("gradients")
    targets = list(ys) if isinstance(ys, (list, tuple)) else [ys]
    sources = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    seeds = list(grad_ys) if isinstance(grad_ys, (list, tuple)) else None if grad_ys is None else [grad_ys]
    if stop_gradients is not None:
        stops = stop_gradients if isinstance(stop_gradients, (list, tuple)) else [stop_gradients]
        tape = tape.without([stop for stop in stops if isinstance(stop, Tensor)])
    found: list[Any] = tape.gradient(targets, sources, seeds, unconnected_gradients)
    return found


def hessians(
    ys: TensorLike,
    xs: Any,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    name: str | None = None,
) -> list[Any]:
    """The second derivatives of the sum of `ys` with respect to each of `xs`, inside a `@function`.

    Args:
        ys: a tensor, or a list of them.
        xs: a tensor or variable, or a list of them.
        gate_gradients, aggregation_method: accepted.

    Returns:
        For each x a tensor of its shape twice.

    Raises:
        RuntimeError: outside of a function, or in a branch or loop of one.

    >>> import gradtape as tf
    >>> tf.function(lambda x: hessians(tf.reduce_sum(x**3), x)[0])(tf.constant([1.0, 2.0])).numpy()
    array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    tape = _tape("hessians")
    sources = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    return [tape.jacobian(gradients(ys, x)[0], x) for x in sources]
