"""Trace: the values of variables, and the random numbers, while a @function is traced.

A trace belongs to its thread (`local.here.trace`). A trace that fails has changed nothing: `executable` stores what
variables hold when the compiled function has run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import jax
import numpy as np
from jax.ad_checkpoint import checkpoint_name

from ..core.dtypes import is_on_host, of
from ..core.errors import NotCompilableError
from ..core.primitive import Listener, local
from ..core.tensor import Tensor, array_of, wrap
from ..core.trace_errors import where, without_footer
from ..engine.arrays import is_traced
from ..engine.memory import collection_paused
from ..engine.tracers import quicken

if TYPE_CHECKING:
    from ..core.variable import Variable

NAMED = "gradtape."  # prefix of the names of inputs that were found while tracing
RANDOM = "random"  # stands for the seed among the variables that a block reads
_SEED = np.zeros(2, np.uint64)


def placeholder_name(key: Any) -> str:
    """The name, in a block, of the placeholder for a variable's value, by its key, or for the seed."""
    return f"{NAMED}read.{key}"


class Created(NamedTuple):
    """A variable created by a function. If its initial value is traced, it holds zeros until that is computed."""

    variable: Variable
    initial: Any = None
    zeros: Any = None

    @property
    def is_pending(self) -> bool:
        """Whether the initial value is still to be computed: a checkpoint may have restored another."""
        return self.zeros is not None and self.variable._tensor._array is self.zeros


class Trace:
    """The variables that a function reads, writes and creates while it is traced.

    The branches and loop bodies of a function have traces of their own, children of the function's: they see the
    values of their parents, and their parents do not see theirs.
    """

    def __init__(self, name: str, *, may_create: bool = True, parent: Self | None = None) -> None:
        self.name = name
        self.parent = parent
        self.root: Self = self if parent is None else parent.root
        self.values: dict[int, Tensor] = {}  # current value of each variable, by its key
        self.written: dict[int, Variable] = {}
        self.outer_reads: dict[int, Variable] = {}  # variables whose value comes from the parent
        self.outer_seed: Any = None  # placeholder for the parent's seed, if random numbers are drawn
        self.iteration: Any = None  # in the body of a loop: the number of the iteration
        self.unused: list[Any] = []  # TensorArrays that a write returned, and that nothing has used yet
        self._ranges: dict[int, tuple[Any, tuple[int, int]]] = {}  # of integers that are inputs, by id
        # Conditions whose outcome is known in this branch, and negations with what they negate. Both by id, and with
        # the tensor, so that the id stays its own; the key of a tensor read of a variable is the variable's.
        self._decided: dict[int, tuple[Any, bool]] = {}
        self._negated: dict[int, tuple[Tensor, Any]] = {}
        self._bound: list[tuple[Tensor, Any]] = []  # tensors of other traces, and the arrays they had there
        if parent is None:
            self.may_create = may_create
            self.reads: dict[int, Variable] = {}
            self.created: list[Created] = []
            self._meanings: dict[int, Any] = {}  # of the arrays that stand for inputs, by id
            self._inputs: list[Any] = []  # those arrays
            self.draws = 0  # number of random operations

    def child(self) -> Self:
        """A trace for a part of the function: a branch, the body of a loop."""
        return type(self)(self.name, parent=self)

    def jaxpr_of(
        self,
        function: Callable[[list[Tensor]], Any],
        inputs: list[Tensor],
        tapes: list[Listener],
        axes: list[tuple[str, int]] | None = None,
    ) -> tuple[Any, Any]:
        """Run a function once, in this trace, on placeholders like `inputs`; it returns arrays, nested.

        `axes` are names and lengths of the axes of a mesh, for collective operations.

        Returns the closed jaxpr, and the shapes and dtypes of the results.
        """
        here = local.here
        before = here.tapes, here.trace

        def run(*arrays: Any) -> Any:
            self._level = checkpoint_name(np.zeros((), bool), NAMED + "level")._trace
            quicken(self._level, arrays)
            return function([wrap(a) for a in arrays])

        run.__name__ = self.name  # JAX's name for it
        here.tapes, here.trace = tapes, self
        try:
            with collection_paused():
                return jax.make_jaxpr(run, return_shape=True, axis_env=axes)(*map(like, inputs))
        except BaseException as error:
            without_footer(error)
            raise
        finally:
            here.tapes, here.trace = before
            self._unbind()

    # -- inputs -------------------------------------------------------------------------------------------------------

    def input(self, array: Any, meaning: Any) -> Any:
        """A traced array that is an input of the program, found while tracing; `array` gives its shape and dtype.

        JAX takes arrays that a traced function closes over for constants. This one is used nowhere else, so
        `function_graph` recognizes it among the constants, and the program is passed something else in its place.
        """
        tracer, constant = self.root._level.new_input(array.shape, array.dtype, NAMED + meaning[0])
        self.root._meanings[id(constant)] = meaning
        self.root._inputs.append(constant)
        return tracer

    def constant(self, array: Any) -> Any:
        """A traced array that is the same in every run."""
        return checkpoint_name(jax.numpy.asarray(array), NAMED + "constant")

    def meaning(self, constant: Any) -> Any:
        """The meaning of a constant of the traced function that came from `input`; None for others."""
        return self._meanings.get(id(constant))

    def where(self) -> str:
        """The line of the user's code that is traced now."""
        return where()

    def set_range(self, array: Any, least: int, largest: int) -> None:
        """Note the range of an integer that is an input of this part."""
        self._ranges[id(array)] = array, (least, largest)

    def range_of(self, array: Any) -> tuple[int, int] | None:
        """The range of an integer, if it is known."""
        return next(
            (level._ranges[id(array)][1] for level in self._levels() if id(array) in level._ranges), None
        )

    # -- conditions ---------------------------------------------------------------------------------------------------

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

    def _levels(self) -> Iterator[Self]:
        """This trace and its parents."""
        level: Self | None = self
        while level is not None:
            yield level
            level = level.parent

    # -- tensors of other traces --------------------------------------------------------------------------------------

    def owns(self, tensor: Tensor) -> bool:
        """Return whether it is a traced tensor of this part."""
        return is_traced(tensor._array) and tensor._array._trace is self._level

    def is_outer(self, tensor: Tensor) -> bool:
        """Return whether it is a traced tensor of a parent. (Else its part has ended.)"""
        return any(level.owns(tensor) for level in self._levels() if level is not self)

    def bind(self, tensor: Tensor, array: Any) -> None:
        """Let a tensor of another trace hold this array until this trace ends: see `records`."""
        self._bound.append((tensor, tensor._array))
        tensor._array = array

    @property
    def bound(self) -> set[int]:
        """The ids of the tensors that are bound here."""
        return {id(tensor) for tensor, _ in self._bound}

    def _unbind(self) -> None:
        for tensor, array in reversed(self._bound):
            tensor._array = array
        self._bound.clear()

    # -- variables ----------------------------------------------------------------------------------------------------

    def read(self, variable: Variable) -> Tensor:
        """The value of a variable at this point of the program."""
        key = variable._key
        if key in self.values:
            return self.values[key]
        _check_compilable(variable, variable._tensor)
        if self.parent is None:
            self.reads[key] = variable
            array = self.input(array_of(variable._tensor), ("variable", key))
        else:
            array = self._placeholder(key, self._current(variable))
            self.outer_reads[key] = variable
        self.values[key] = value = wrap(array)
        value._key = key
        return value

    def _current(self, variable: Variable) -> Any:
        """An array of the shape and dtype that a variable has here."""
        for level in self._levels():
            if variable._key in level.values:
                return level.values[variable._key]._array
        return array_of(variable._tensor)

    def _placeholder(self, key: Any, like: Any) -> Any:
        """A traced array for a value of the parent: zeros, in whose place `blocks` passes the value."""
        return checkpoint_name(np.zeros(like.shape, like.dtype), placeholder_name(key))

    def write(self, variable: Variable, tensor: Tensor) -> None:
        """Set the value of a variable from here on."""
        _check_compilable(variable, tensor)
        self.values[variable._key] = tensor
        self.written[variable._key] = variable

    def writes(self, variable: Variable) -> bool:
        """Return whether the program has written a variable up to here."""
        return any(variable._key in level.written for level in self._levels())

    def create(self, variable: Variable, tensor: Tensor) -> Tensor:
        """Note a variable created in the function. Returns the value for it to hold until the function has run."""
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
        """Let a variable hold, from here on, the value that a checkpoint has put into it outside."""
        for level in self._levels():
            level.values.pop(variable._key, None)
            level.written.pop(variable._key, None)

    def fail(self) -> bool:
        """Leave new variables without a value if the function was to compute it; return whether there are any."""
        pending = [new.variable for new in self.created if new.is_pending]
        for variable in pending:
            variable._tensor = Tensor.__new__(Tensor)
            variable._tensor._key = variable._key
        return bool(pending)

    # -- random numbers -----------------------------------------------------------------------------------------------

    def seed(self) -> Any:
        """The seed at this point of the program: two numbers, different in each call and each iteration of a loop."""
        if self.parent is None:
            seed = self.input(_SEED, ("random", 0))
        else:
            if self.outer_seed is None:
                self.outer_seed = self._placeholder(RANDOM, _SEED)
            seed = self.outer_seed
        return seed if self.iteration is None else _mixed(seed, self.iteration)

    def place(self, operation_seed: int) -> tuple[Any, Any]:
        """The key and the counter from which the next random operation draws."""
        seed = self.seed()
        number = self.root.draws
        self.root.draws += 1
        key = seed[0] ^ np.uint64(operation_seed << 32)
        high = seed[1] + np.uint64(number * 0x9E3779B97F4A7C15 % (1 << 64))
        return key, jax.numpy.stack([jax.numpy.zeros((), np.uint64), high])


def like(tensor: Tensor) -> Any:
    """The shape and dtype of a tensor."""
    array = array_of(tensor)
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _mixed(seed: Any, number: Any) -> Any:
    """A seed for each number, by splitmix64's steps."""
    z = seed + (number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _check_compilable(variable: Variable, value: Tensor) -> None:
    """Raise if compiled code cannot hold the dtype of a variable's value."""
    array = array_of(value)
    if is_on_host(array):
        raise NotCompilableError(
            f"the variable {variable._name!r} has dtype {of(array).name}, which compiled code lacks ({where()})"
        )
