"""ForwardAccumulator: derivatives along a direction (tangents), computed with the values.

It is a listener, as a tape is. The tangent of an elementwise primitive comes from the same rule, that of a linear one
from the primitive itself, and all others from transposing their rules with a tape.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..engine.arrays import xp
from . import dtypes, nest
from .plan import plan_for
from .primitive import Listener, Primitive, leave_hot, listeners, local
from .stand_in import original
from .structural import broadcast_to_, conj
from .tape import GradientTape
from .tape_ends import UnconnectedGradients, warn_once
from .tensor import Tensor, key_of, wrap
from .tensor_conversion import convert
from .variable import Variable


class ForwardAccumulator(Listener):
    """Computes Jacobian-vector products of what its block computes, in one pass with the values.

    Args:
        primals: tensors, variables or a structure of them: the point at which to differentiate.
        tangents: the direction: a tensor of the same shape and dtype for each primal, in the same structure.

    Raises:
        TypeError: if a primal is no tensor or variable.
        ValueError: if a tangent does not match its primal, or a primal is given twice.

    >>> import gradtape as tf
    >>> x = tf.constant([2.0, 3.0])
    >>> with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as acc:
    ...     y = tf.reduce_sum(x * x)
    >>> float(acc.jvp(y))
    4.0
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        self._tangents: dict[int, Tensor] = {}
        self._recording = False
        nest.assert_same_structure(primals, tangents)
        for primal, tangent in zip(nest.flatten(primals), nest.flatten(tangents), strict=True):
            self._watch(primal, tangent)

    def _watch(self, primal: Any, tangent: Any) -> None:
        primal = original(primal)
        if not isinstance(primal, (Tensor, Variable)):
            raise TypeError(
                f"a primal must be a Tensor or a Variable, not {primal!r} of type {type(primal).__name__}"
            )
        array = primal._array
        if not dtypes.is_differentiable(array):
            warn_once("the dtype of a primal must be floating, not %s", primal.dtype.name)
            return
        given = convert(tangent, None, array.dtype)
        if given._array.dtype != array.dtype or given._array.shape != array.shape:
            raise ValueError(
                f"a tangent of shape {given.shape} and dtype {given.dtype.name} does not match its primal of shape "
                f"{list(array.shape)} and dtype {primal.dtype.name}"
            )
        key = key_of(primal)
        if key in self._tangents:
            raise ValueError(
                f"a primal was given twice: {primal!r}. Give it once, with the sum of its tangents"
            )
        self._tangents[key] = given

    def __enter__(self) -> ForwardAccumulator:
        if self._recording:
            raise ValueError(
                "this accumulator is recording already: it cannot be entered inside its own block"
            )
        leave_hot("another listener is open")
        self._here = local.here
        self._here.tapes = [*self._here.tapes, self]
        self._recording = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._here.tapes = [listener for listener in self._here.tapes if listener is not self]
        self._recording = False

    def jvp(
        self, primals: Any, unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE
    ) -> Any:
        """The derivative of `primals` along the direction.

        Args:
            primals: a tensor that the block computed, or a structure of them.
            unconnected_gradients: whether a primal that does not depend on the point gives None or zeros.

        Raises:
            TypeError: if a primal is no tensor or variable.
        """
        unconnected = UnconnectedGradients.of(unconnected_gradients)

        def tangent_of(primal: Any) -> Any:
            primal = original(primal)
            if not isinstance(primal, (Tensor, Variable)):
                raise TypeError(f"jvp: {primal!r} of type {type(primal).__name__} is no Tensor or Variable")
            tangent = self._tangents.get(primal._key) if primal._key else None
            if tangent is None and unconnected is UnconnectedGradients.ZERO:
                return _zeros(primal)
            return tangent

        return nest.map_structure(tangent_of, primals)

    # -- listening ----------------------------------------------------------------------------------------------------

    def _knows(self, key: int) -> bool:
        return key in self._tangents

    def _on_operation(
        self, primitive: Primitive, inputs: tuple[Tensor, ...], attributes: Any, out: Any
    ) -> None:
        known = self._tangents
        tangents = {
            i: known[x._key]
            for i, x in enumerate(inputs)
            if x._key in known and primitive.rule_of(i) is not None
        }
        if not tangents:
            return
        with _tangents_of(self):
            results = _push(primitive, inputs, attributes or {}, out, tangents)
        for o, tangent in zip(out if primitive.multiple else (out,), results, strict=True):
            if tangent is not None and dtypes.is_differentiable(o._array):
                known[key_of(o)] = tangent

    def _on_custom(self, plan: Any, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        watched = tuple(i for i, x in enumerate(inputs) if x._key in self._tangents)
        if not watched:
            return
        with _tangents_of(self):
            tangents = [self._tangents[inputs[i]._key] for i in watched]
            results = _transpose(plan.only(watched).tensors, (), outputs, tangents, True)
        for o, tangent in zip(outputs, results, strict=True):
            if tangent is not None:
                self._tangents[key_of(o)] = tangent


def _tangents_of(accumulator: ForwardAccumulator) -> listeners:
    """A block that computes tangents: recorded by tapes and by accumulators opened before this one, never by itself."""
    tapes = local.here.tapes
    if accumulator not in tapes:
        return listeners(tapes)
    position = tapes.index(accumulator)
    return listeners(
        [tape for i, tape in enumerate(tapes) if i < position or not isinstance(tape, ForwardAccumulator)]
    )


def _push(
    primitive: Primitive,
    inputs: tuple[Tensor, ...],
    attributes: dict[str, Any],
    out: Any,
    tangents: dict[int, Any],
) -> tuple[Any, ...]:
    """The tangents of the outputs, from those of some inputs, given by position."""
    if primitive.linear:
        whole = [tangents[i] if i in tangents else _still(primitive, i, x) for i, x in enumerate(inputs)]
        result = primitive(*whole, **attributes)
        return result if primitive.multiple else (result,)
    if primitive.multilinear:
        terms = [
            primitive(*[t if i == j else x for j, x in enumerate(inputs)], **attributes)
            for i, t in tangents.items()
        ]
        return (_total(terms),)
    if primitive.elementwise:
        terms = []
        for i, t in tangents.items():
            plan = plan_for(primitive, (2 << i) + (2 << len(inputs)))
            terms += plan.tensors(t, plan.keep(inputs, attributes, out))  # type: ignore[union-attr]
        shape = out._array.shape
        return (_total([t if tuple(t.shape) == shape else broadcast_to_(t, shape=shape) for t in terms]),)
    plan = plan_for(primitive, sum(2 << i for i in tangents) + (2 << len(inputs)))
    kept = plan.keep(inputs, attributes, out)  # type: ignore[union-attr]
    outputs = list(out) if primitive.multiple else [out]
    return _transpose(plan.tensors, kept, outputs, list(tangents.values()), primitive.multiple)  # type: ignore[union-attr]


def _still(primitive: Primitive, i: int, x: Tensor) -> Tensor:
    """The tangent of an input that has none: zeros, or the input itself if it has no rule, as indices."""
    return x if primitive.rule_of(i) is None else _zeros(x)


def _zeros(x: Tensor | Variable) -> Tensor:
    return wrap(xp(x._array).zeros(x._array.shape, x._array.dtype))


def _total(terms: list[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _transpose(
    pull: Any, kept: Any, outputs: list[Tensor], tangents: list[Any], multiple: bool
) -> tuple[Any, ...]:
    """The tangents of the outputs by transposing a rule, which is linear in g: <rule(g), t> = <g, jvp(t)>."""
    seeds = [_zeros(o) for o in outputs]
    with GradientTape() as tape:
        tape.watch([seed for seed in seeds if dtypes.is_differentiable(seed._array)])
        pulled = pull(tuple(seeds) if multiple else seeds[0], kept)
    pairs = [(convert(p), t) for p, t in zip(pulled, tangents, strict=True) if p is not None]
    if not pairs:
        return (None,) * len(outputs)
    # The tape conjugates at its edges: undo that.
    plain = [conj(t) if t.dtype.is_complex else t for _, t in pairs]
    results = tape.gradient([p for p, _ in pairs], seeds, plain, UnconnectedGradients.ZERO)
    return tuple(conj(r) if r.dtype.is_complex else r for r in results)
