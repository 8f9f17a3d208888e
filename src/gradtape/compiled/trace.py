"""Trace: the values of variables, and the random numbers, while a @function is traced.

A trace is the thread's (`local.here.trace`), so a trace that fails has changed nothing: what variables hold is put in
them by `program` when the compiled function has run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax.ad_checkpoint import checkpoint_name

from ..core.tensor import Tensor, array_of, wrap
from ..core.trace_errors import where
from ..engine.arrays import is_traced

if TYPE_CHECKING:
    from ..core.variable import Variable


NAMED = "gradtape."  # what the names of inputs that were found while tracing begin with


RANDOM = "random"  # stands for the seed among the variables that a block reads
_SEED = np.zeros(2, np.uint64)


def read_name(what: Any) -> str:
    """The name, in a block, of a value that it is given from around: that of a variable, by its key, or the seed."""
    return f"{NAMED}read.{what}"


class Created(NamedTuple):
    """A variable that a function makes. If its initial value is traced, it holds zeros until that is known."""

    variable: Variable
    initial: Any = None
    zeros: Any = None

    @property
    def waits(self) -> bool:
        """Is its initial value still to come? A checkpoint that waited for the variable may have put another there."""
        return self.zeros is not None and self.variable._tensor._array is self.zeros


class Trace:
    """What a function that is being traced has read, written and made. Parts of it, such as the body of a loop, have
    a trace of their own, which sees what the whole has and keeps what it writes to itself."""

    def __init__(self, name: str, *, may_create: bool = True, parent: Trace | None = None) -> None:
        self.name = name
        self.parent = parent
        self.root: Trace = self if parent is None else parent.root
        self.values: dict[int, Tensor] = {}  # what each variable holds now, by its key
        self.written: dict[int, Variable] = {}
        self.seen: dict[int, Variable] = {}  # read in this part, with a value that comes from around
        self.given_seed: Any = None  # in a block that draws random numbers: the seed it is given
        self.turn: Any = None  # in the body of a loop: the number of the turn
        self._ranges: dict[int, tuple[Any, tuple[int, int]]] = {}  # of integers that are inputs, by id
        self.unused: list[
            Any
        ] = []  # TensorArrays that a write in this part returned, and nobody has used yet
        # Conditions whose outcome is known in this branch, and negations with what they negate. Both by id, and with
        # the tensor, so that the id stays its own; the key of a tensor read of a variable is the variable's.
        self._decided: dict[int, tuple[Any, bool]] = {}
        self._negated: dict[int, tuple[Tensor, Any]] = {}
        self._bound: list[tuple[Tensor, Any]] = []  # tensors of other traces, and the arrays they had there
        if parent is None:
            self.may_create = may_create
            self.read_: dict[int, Variable] = {}
            self.created: list[Created] = []
            self._stands_for: dict[
                int, Any
            ] = {}  # id of an array that stands for an input -> what the input is
            self._keep: list[Any] = []  # those arrays
            self.draws = 0  # how many random operations there have been

    def input(self, array: Any, meaning: Any) -> Any:
        """A traced array that is an input of the program, found while tracing; `array` gives its shape and dtype.

        JAX takes arrays that a traced function closes over for constants. This one is ours alone, so `program` knows it
        again among them, and feeds the program something else in its place.
        """
        with jax.ensure_compile_time_eval():
            array = jax.device_put(
                np.zeros(array.shape, array.dtype)
            )  # JAX's own zeros it compiles for each shape
        self.root._stands_for[id(array)] = meaning
        self.root._keep.append(array)
        return checkpoint_name(array, NAMED + meaning[0])  # a name for a value: nothing is computed

    def constant(self, array: Any) -> Any:
        """A traced array that is the same in every run."""
        return checkpoint_name(jax.numpy.asarray(array), NAMED + "constant")

    def meaning(self, constant: Any) -> Any:
        """What a constant of the traced function stands for, if it is one of `input`."""
        return self._stands_for.get(id(constant))

    def where(self) -> str:
        """The line of the user's code that is traced now."""
        return where()

    @property
    def flow(self) -> Any:
        """Choices and loops inside the program: the module `flow`."""
        from . import control_flow

        return control_flow

    @property
    def blocks(self) -> Any:
        """Parts of the program that are traced by themselves: the module `blocks`."""
        from . import blocks

        return blocks

    @property
    def calls(self) -> Any:
        """Calls of Python while the program runs: the module `calls`."""
        from . import python_calls

        return python_calls

    def set_range(self, array: Any, least: int, largest: int) -> None:
        """Note between which numbers an integer lies that is an input of this part."""
        self._ranges[id(array)] = array, (least, largest)

    def range_of(self, array: Any) -> tuple[int, int] | None:
        """Between which numbers an integer lies, if that is known."""
        return next(
            (level._ranges[id(array)][1] for level in self._levels() if id(array) in level._ranges), None
        )

    def note_negation(self, result: Tensor, condition: Any) -> None:
        """Note that `result` is `not condition`."""
        self._negated[id(result)] = result, condition

    def decide(self, condition: Any, outcome: bool) -> None:
        """Note that this branch is taken only if the condition has this outcome."""
        if type(condition) is not Tensor:  # a variable, whose value may change
            return
        self._decided[id(condition)] = condition, outcome
        for level in self._levels():
            if id(condition) in level._negated:
                self.decide(level._negated[id(condition)][1], not outcome)
                return

    def decided(self, condition: Any) -> bool | None:
        """The outcome of a condition, if a branch around this point was taken because of it."""
        found = (level._decided.get(id(condition)) for level in self._levels())
        return next((entry[1] for entry in found if entry is not None), None)

    def _levels(self) -> Iterator[Trace]:
        """This trace and those around it."""
        level: Trace | None = self
        while level is not None:
            yield level
            level = level.parent

    # -- tensors of blocks ---------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """JAX begins to trace this part."""
        self._level = checkpoint_name(np.zeros((), bool), NAMED + "level")._trace

    def is_of_here(self, tensor: Tensor) -> bool:
        """Is it a traced tensor of this part?"""
        return is_traced(tensor._array) and tensor._array._trace is self._level

    def is_of_around(self, tensor: Tensor) -> bool:
        """Is it a traced tensor of a part around this one? (Else its part has ended.)"""
        return any(level.is_of_here(tensor) for level in self._levels() if level is not self)

    def bind(self, tensor: Tensor, array: Any) -> None:
        """Let a tensor of another trace hold this array until this trace ends: see `blocks`."""
        self._bound.append((tensor, tensor._array))
        tensor._array = array

    @property
    def bound(self) -> set[int]:
        """The ids of the tensors that are bound here."""
        return {id(tensor) for tensor, _ in self._bound}

    def unbind(self) -> None:
        """The trace has ended."""
        for tensor, array in reversed(self._bound):
            tensor._array = array
        self._bound.clear()

    # -- variables ----------------------------------------------------------------------------------------------------

    def read(self, variable: Variable) -> Tensor:
        """The value of a variable at this point of the program."""
        key = variable._key
        if key in self.values:
            return self.values[key]
        if self.parent is None:
            self.read_[key] = variable
            array = self.input(array_of(variable._tensor), ("variable", key))
        else:
            array = self._given(key, self._held(variable))
            self.seen[key] = variable
        self.values[key] = value = wrap(array)
        value._key = key
        return value

    def _held(self, variable: Variable) -> Any:
        """An array like the one that a variable holds here."""
        for level in self._levels():
            if variable._key in level.values:
                return level.values[variable._key]._array
        return array_of(variable._tensor)

    def _given(self, what: Any, like: Any) -> Any:
        """A traced array that a block is given from around: zeros, in whose place `blocks` puts what is there."""
        return checkpoint_name(np.zeros(like.shape, like.dtype), read_name(what))

    def write(self, variable: Variable, tensor: Tensor) -> None:
        """Let a variable hold this from here on."""
        self.values[variable._key] = tensor
        self.written[variable._key] = variable

    # -- random numbers -----------------------------------------------------------------------------------------------

    def random(self) -> Any:
        """The seed at this point of the program: two numbers, different for each call and each turn of a loop."""
        if self.parent is None:
            seed = self.input(_SEED, ("random", 0))
        else:
            if self.given_seed is None:
                self.given_seed = self._given(RANDOM, _SEED)
            seed = self.given_seed
        return seed if self.turn is None else _mixed(seed, self.turn)

    def place(self, own: int) -> tuple[Any, Any]:
        """The key and counter from which the next random operation, with a seed of its own, draws."""
        seed = self.random()
        number = self.root.draws
        self.root.draws += 1
        key = seed[0] ^ np.uint64(own << 32)
        high = seed[1] + np.uint64(number * 0x9E3779B97F4A7C15 % (1 << 64))
        return key, jax.numpy.stack([jax.numpy.zeros((), np.uint64), high])

    def create(self, variable: Variable, tensor: Tensor) -> Tensor:
        """A variable is made inside the function. Returns what is to be in it until the function has run."""
        if not self.root.may_create:
            raise ValueError(
                f"the function {self.name} makes a Variable on a call that is not its first ({where()}). A function "
                "may make variables on its first call only: make them outside, or once, as in "
                "`if self.v is None: self.v = Variable(...)`"
            )
        array = tensor._array
        if not is_traced(array):
            self.root.created.append(Created(variable))
            return tensor
        value, zeros = wrap(array), np.zeros(array.shape, array.dtype)
        value._key = variable._key
        self.write(variable, value)
        self.root.created.append(Created(variable, array, zeros))
        return wrap(zeros)

    def restored(self, variable: Variable) -> None:
        """A variable has got a value from a checkpoint, from outside: that is what it holds from here on."""
        for level in self._levels():
            level.values.pop(variable._key, None)
            level.written.pop(variable._key, None)

    def fail(self) -> bool:
        """The function failed: what it was to compute for new variables will never be there. Were there any?"""
        waiting = [new.variable for new in self.created if new.waits]
        for variable in waiting:
            variable._tensor = Tensor.__new__(Tensor)
            variable._tensor._key = variable._key
        return bool(waiting)


def _mixed(seed: Any, number: Any) -> Any:
    """A seed for each number, as far from the others as splitmix64's steps are."""
    z = seed + (number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
