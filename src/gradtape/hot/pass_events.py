"""Events: what happens in a pass through a tape's place in the code, as a later pass is compared with it.

Objects of a pass are known by slots, numbered as they appear: tensors from outside, variables, results. An event names
its inputs by a slot that is known already, or by one of the specs below for an object that is new.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from ..core.primitive import Primitive
from .sparse_gradients import Slices

# -- inputs -----------------------------------------------------------------------------------------------------------


class Number(NamedTuple):
    """A Python number that is the same in every pass."""

    value: Any
    text: str  # tells 0.0 from -0.0, and 1 from 1.0 and True

    def fits(self, x: Any) -> bool:
        """Return whether `x` is the same number, of the same type."""
        value = self.value
        if x is value or type(x) is not type(value):
            return x is value
        # A complex number may have a zero of either sign as a part.
        return bool(x and x == value and type(x) is not complex) or repr(x) == self.text


class NewNumber(NamedTuple):
    """A Python float or integer that may be another in every pass, and becomes a scalar of this dtype, of floats."""

    slot: int
    dtype: Any


class NewTensor(NamedTuple):
    """A tensor from outside of the pass."""

    slot: int
    shape: tuple[int, ...]
    dtype: Any


class NewVariable(NamedTuple):
    """A variable that the pass has not used before."""

    slot: int
    key: int
    shape: tuple[int, ...]
    dtype: Any
    is_fixed: bool  # whether the variable cannot have another shape


Spec = int | Number | NewNumber | NewTensor | NewVariable


def number(x: Any) -> Number:
    """The spec of a Python number."""
    return Number(x, repr(x))


def is_scalar(x: Any) -> bool:
    """Return whether a Python number is a float, or an integer that becomes a float as any integer of NumPy's does."""
    return type(x) is float or (type(x) is int and abs(x) < 1 << 63)


# -- events -----------------------------------------------------------------------------------------------------------


class Out(NamedTuple):
    """A result: its slot, shape and dtype."""

    slot: int
    shape: tuple[int, ...]
    dtype: Any


class Operation(NamedTuple):
    """A primitive was applied. One that is `checked` computes at once, because its errors depend on values."""

    primitive: Primitive
    attributes: dict[str, Any] | None
    exactly: Any  # tells attributes apart that are equal, as 1, 1.0 and True are, or 0.0 and -0.0
    specs: tuple[Spec, ...]
    outs: tuple[Out, ...]
    checked: bool
    dtype: Any  # of the first input that is no Python number


class Enter(NamedTuple):
    """A tape's block began; tapes are numbered in this order."""

    persistent: bool
    watches: bool


class Exit(NamedTuple):
    """A tape's block ended."""

    tape: int


class Watch(NamedTuple):
    """A tape was asked to watch tensors or variables."""

    tape: int
    specs: tuple[Spec, ...]


class Ask(NamedTuple):
    """A tape was asked for gradients or Jacobians; `outs` has None where it gave None, and two results for slices."""

    method: str
    tape: int
    targets: tuple[Spec, ...]
    sources: tuple[Spec, ...]
    weights: tuple[Spec, ...] | None
    options: tuple[Any, ...]
    outs: tuple[Out | None, ...]
    slices: Slices

    @property
    def specs(self) -> tuple[Spec, ...]:
        """All inputs, in the order in which they get their slots."""
        return (*self.targets, *self.sources, *(self.weights or ()))


class Assign(NamedTuple):
    """A variable was assigned to; the result is its new value."""

    method: str
    specs: tuple[Spec, ...]  # the variable and the value
    outs: tuple[Out, ...]


class Update(NamedTuple):
    """An optimizer updated variables; the results are the new values of all it may have written."""

    optimizer: weakref.ref[Any]
    settings: Any
    gradients: tuple[Spec, ...]
    slices: Slices  # what the gradients were
    variables: tuple[Spec, ...]
    touched: tuple[Spec, ...]  # the variables, and the optimizer's own
    outs: tuple[Out, ...]
    aggregates: bool | None  # in a replica: whether gradients are summed over all replicas first

    @property
    def specs(self) -> tuple[Spec, ...]:
        """All inputs, in the order in which they get their slots."""
        return (*self.gradients, *self.variables, *self.touched)


class Meet(NamedTuple):
    """In a replica: the event before has exchanged values with the others, in a gradient."""

    before: str


class Call(NamedTuple):
    """A compiled function was called; the results are those it returned, and the new values of what it wrote."""

    function: weakref.ref[Any]
    others: Any  # arguments that are no tensors: see `Given`
    exactly: Any
    inputs: tuple[Spec, ...]
    variables: tuple[Spec, ...]  # those it reads or writes,
    written: tuple[int, ...]  # and the positions of the latter among them
    results: Any  # what it returned, with ... in the place of tensors
    outs: tuple[Out, ...]

    @property
    def specs(self) -> tuple[Spec, ...]:
        """All inputs, in the order in which they get their slots."""
        return (*self.inputs, *self.variables)


class Custom(NamedTuple):
    """In a replica: a function with a gradient of the user's has returned; the results are copies that tapes know."""

    name: str
    inputs: tuple[Spec, ...]  # tensors, and the variables that the function has read
    copied: tuple[Spec, ...]  # what it returned
    outs: tuple[Out, ...]

    @property
    def specs(self) -> tuple[Spec, ...]:
        """All inputs, in the order in which they get their slots."""
        return (*self.inputs, *self.copied)


class Pull(NamedTuple):
    """In a replica: the question to a tape that comes next calls the gradient function of a `Custom`, by its number.

    The results are its arguments. What it does follows, up to `Pulled`.
    """

    number: int
    outs: tuple[Out, ...]


class Pulled(NamedTuple):
    """In a replica: a gradient function has returned."""

    given: tuple[bool, ...]  # whether there is a gradient, for each input
    specs: tuple[Spec, ...]  # those that there are


Event = Operation | Enter | Exit | Watch | Ask | Assign | Update | Call | Meet | Custom | Pull | Pulled


def specs_of(event: Event) -> tuple[Spec, ...]:
    """The inputs of an event."""
    return getattr(event, "specs", ())


def slot_of(spec: Any) -> int:
    """The slot of an input; -1 of a Python number."""
    slot: int = spec if isinstance(spec, int) else getattr(spec, "slot", -1)
    return slot


def outs_of(event: Event) -> tuple[Out, ...]:
    """The results of an event."""
    return tuple([out for out in getattr(event, "outs", ()) if out is not None])


def written_by(call: Call) -> list[tuple[int, Out]]:
    """The positions of the variables that a call wrote, and their new values."""
    return [*zip(call.written, call.outs[len(call.outs) - len(call.written) :])]


END = Exit(-1)  # stands after the last event, and is no event's equal
