"""The variables of a block of converted code, as the results of a branch or the carry of a loop.

Tensors are carried; so are Python's numbers, as tensors, unless they are the same in all branches. Everything else
(None, strings, objects) must be the same, since compiled code cannot represent it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core import dtypes, nest
from ...core.errors import NotCompilableError, UnknownShapeError
from ...core.indexed_slices import IndexedSlices
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.variable import Variable
from ...ops.control.branching import cond
from ...ops.control.tensor_array import TensorArray

FLAGS = ("do_return", "break_", "continue_")  # the variables that stand for `return`, `break` and `continue`

_NUMBERS = (bool, int, float, complex, np.generic, np.ndarray)
_CARRIED = (Tensor, TensorArray, Variable, IndexedSlices, *_NUMBERS)

Values = tuple[Any, ...]


class Undefined:
    """Stands for the value of a variable that has none yet."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name} without a value>"


class UndefinedReturnValue:
    """Stands for the result of a function that has not returned yet."""


class BlockVariables:
    """The user's variables that a block assigns, by `names`; blocks are functions that read and write them."""

    def __init__(
        self, get: Callable[[], Values], set_: Callable[[Values], None], names: tuple[str, ...]
    ) -> None:
        self.get = get
        self.set = set_
        self.names = names

    @contextmanager
    def holding(self, values: Values) -> Iterator[None]:
        """A block in which the variables have these values; then they have those from before."""
        before = self.get()
        try:
            self.set(values)
            yield
        finally:
            self.set(before)


def ld(value: Any) -> Any:
    """The value of a variable that is read."""
    if isinstance(value, Undefined):
        raise UnboundLocalError(f"'{value.name}' is used before it is given a value")
    return value


def ldu(load: Callable[[], Any], name: str) -> Any:
    """The value of `self.x` or `d["x"]`, if it has one."""
    try:
        return load()
    except (AttributeError, IndexError, KeyError, NameError, TypeError):
        return Undefined(name)


def is_missing(value: Any) -> bool:
    """Return whether a variable has no value yet."""
    return isinstance(value, (Undefined, UndefinedReturnValue))


class Flattened:
    """A value as leaves: those that are carried, and the rest."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.missing = is_missing(value)
        self.leaves: list[Any] = [] if self.missing else nest.flatten(value, expand_composites=True)

    def carried(self) -> list[Any]:
        """The leaves that are carried."""
        return [leaf for leaf in self.leaves if isinstance(leaf, _CARRIED)]

    def pack(self, carried: list[Any]) -> Any:
        """The value with other leaves in place of the carried ones; takes them off the front of the list."""
        if not self.carried():
            return self.value
        leaves = [carried.pop(0) if isinstance(leaf, _CARRIED) else leaf for leaf in self.leaves]
        return nest.pack_sequence_as(self.value, leaves, expand_composites=True)


def tensor_of(leaf: Any, dtype: Any = None) -> Tensor:
    """A carried leaf as a tensor; a number of Python's in the dtype that is wanted, if it fits."""
    if isinstance(leaf, TensorArray):
        return leaf.stack()
    if dtype is not None and _is_number(leaf) and dtype.kind != "b":
        try:
            return convert(leaf, None, dtype)
        except (TypeError, ValueError):
            return convert(leaf)
    return leaf._read() if isinstance(leaf, (Variable, IndexedSlices)) else convert(leaf)


def kind_of(leaf: Any, dtype: Any = None) -> tuple[Any, Any]:
    """The shape and dtype of `tensor_of(leaf, dtype)`. Nothing is computed: the leaf may be of another block."""
    if isinstance(leaf, TensorArray):
        return leaf.stacked_shape, leaf.dtype.numpy_dtype
    array = leaf._array if isinstance(leaf, (Tensor, Variable)) else tensor_of(leaf, dtype)._array
    return array.shape, array.dtype


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, (int, float, complex)) and not isinstance(leaf, bool)


def restored(leaf: Any, tensor: Tensor) -> Any:
    """A tensor that stands for a leaf after a branch or loop, as the leaf's type."""
    return leaf.holding(tensor) if isinstance(leaf, TensorArray) else tensor


def with_copied_arrays(values: Values) -> Values:
    """The values with copies of TensorArrays, which a block writes in place."""
    return tuple(
        nest.map_structure(lambda x: x.copy() if isinstance(x, TensorArray) else x, v)
        if any(isinstance(x, TensorArray) for x in Flattened(v).leaves)
        else v
        for v in values
    )


def shown(name: str) -> str:
    """A variable's name for a message."""
    return "the value that is returned" if name.startswith("retval_") else f"'{name}'"


def described(leaf: Any) -> str:
    """A leaf's dtype and shape, for a message."""
    if isinstance(leaf, _CARRIED):
        shape, dtype = kind_of(leaf)
        return f"{dtypes.as_dtype(dtype).name}{list(shape)}"
    return repr(leaf)


# ---------------------------------------------------------------------------------------------------------------------
# Choosing


class _Retry(Exception):
    """Trace the branches again: now that both are known, they can be made to agree."""


class Branches:
    """Two branches, of which a traced condition takes one.

    Args:
        names: the variables whose values the branches give.
        labels: of the branches, for messages.
        fill: whether a branch may leave a variable without a value, because the value is not used then.
    """

    def __init__(self, names: tuple[str, ...], labels: tuple[str, str], fill: bool) -> None:
        self._names = names
        self._labels = labels
        self._fill = fill
        self.running = 0  # the branch that was traced last
        self._ends: list[list[Flattened] | None] = [None, None]
        self._kinds: dict[tuple[int, int], Any] = {}  # dtypes to convert leaves to
        self._fillings: dict[int, Any] = {}  # values of variables without one

    def choose(self, condition: Any, first: Callable[[], Values], second: Callable[[], Values]) -> list[Any]:
        """The values of the variables after the branches."""
        enter, leave = self._enter, self._leave
        while True:
            self._ends = [None, None]
            try:
                tensors = cond(
                    condition,
                    lambda: leave(0, (enter(0), first())[1]),
                    lambda: leave(1, (enter(1), second())[1]),
                )
            except _Retry:
                continue
            return self._values(list(tensors))

    def _enter(self, branch: int) -> None:
        self.running = branch

    def _leave(self, branch: int, values: Values) -> list[Tensor]:
        """The tensors at the end of a branch; checks that they agree with those of the other one."""
        ends = [
            Flattened(self._fillings[i] if is_missing(v) and i in self._fillings else v)
            for i, v in enumerate(values)
        ]
        self._ends[branch] = ends
        other = self._ends[1 - branch]
        if other is not None:
            pair = (ends, other) if branch == 0 else (other, ends)
            for i, (a, b) in enumerate(zip(*pair, strict=True)):
                self._check(i, a, b)
        return [
            tensor_of(leaf, self._kinds.get((i, j)))
            for i, end in enumerate(ends)
            for j, leaf in enumerate(end.leaves)
            if isinstance(leaf, _CARRIED)
        ]

    def _check(self, i: int, a: Flattened, b: Flattened) -> None:
        name = shown(self._names[i])
        if a.missing or b.missing:
            if a.missing and b.missing:
                return
            left = self._leaves_early(0 if a.missing else 1)
            if not self._fill and not left and not self._names[i].startswith("retval_"):
                raise ValueError(
                    f"{name} must also be initialized in {self._labels[0 if a.missing else 1]}, because it is used "
                    "afterwards and which way is taken is known only when the compiled function runs"
                )
            self._fillings[i] = _zeros_like(b if a.missing else a)
            raise _Retry
        try:
            nest.assert_same_structure(a.value, b.value, expand_composites=True)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{name} is nested differently in {' and in '.join(self._labels)}: {error}"
            ) from None
        for j, (x, y) in enumerate(zip(a.leaves, b.leaves, strict=True)):
            self._check_leaf(i, j, x, y)

    def _leaves_early(self, branch: int) -> bool:
        """Return whether a branch ends in `return`, `break` or `continue`: what has no value then is not used."""
        ends = self._ends[branch] or []
        return any(n.startswith(FLAGS) and end.value is True for n, end in zip(self._names, ends))

    def _check_leaf(self, i: int, j: int, x: Any, y: Any) -> None:
        if not isinstance(x, _CARRIED) and not isinstance(y, _CARRIED):
            if not _same(x, y):
                raise self._differ(i, x, y, "only tensors and numbers can")
            return
        if x is None or y is None:
            branch = self._labels[0 if x is None else 1]
            if self._names[i].startswith("retval_"):
                raise ValueError(
                    f"{branch} must also return a value: whether it is taken is known only when the compiled function "
                    "runs"
                )
            raise ValueError(
                f"{shown(self._names[i])} is None at the end of {branch}, and a tensor on the other way. Which way is "
                "taken is known only when the compiled function runs, so both must give a tensor"
            )
        if not isinstance(x, _CARRIED) or not isinstance(y, _CARRIED):
            raise self._differ(i, x, y, "assign tensors on both ways")
        kind = self._kinds.get((i, j))
        (shape, a), (other_shape, b) = kind_of(x, kind), kind_of(y, kind)
        if a != b:
            # A number of Python's takes the dtype of the other branch; an int that of a float.
            known = [dtype for dtype, leaf in ((a, x), (b, y)) if not _is_number(leaf)]
            if kind is None and len(known) < 2:
                self._kinds[i, j] = known[0] if known else max(a, b, key=lambda d: d.kind == "f")
                raise _Retry
        if a != b:
            raise self._differ(i, x, y, "make them agree with cast")
        if shape != other_shape:
            raise UnknownShapeError(str(self._differ(i, x, y, "else the function is not compiled")))

    def _differ(self, i: int, x: Any, y: Any, hint: str) -> TypeError:
        return TypeError(
            f"{shown(self._names[i])} is {described(x)} in {self._labels[0]} and {described(y)} in {self._labels[1]}. "
            f"Which way is taken is known only when the compiled function runs, so both must give the same kind: {hint}"
        )

    def _values(self, tensors: list[Tensor]) -> list[Any]:
        first, second = self._ends
        assert first is not None and second is not None
        values = []
        for a, b in zip(first, second, strict=True):
            leaves = [
                x if _same(x, y) else restored(x, t)
                for x, y, t in zip(a.carried(), b.carried(), _take(tensors, len(a.carried())), strict=True)
            ]
            values.append(a.pack(leaves))
        return values


def _take(tensors: list[Any], count: int) -> list[Any]:
    front = tensors[:count]
    del tensors[:count]
    return front


def _same(x: Any, y: Any) -> bool:
    """Return whether two leaves are the same, so that it does not matter which branch was taken."""
    if x is y:
        return True
    return type(x) is type(y) and isinstance(x, (bool, int, float, complex, str, bytes)) and x == y


def _zeros_like(end: Flattened) -> Any:
    """Zeros of a value's kind, for where it is not used."""
    zeros: list[Any] = []
    for leaf in end.carried():
        zeros.append(restored(leaf, wrap(np.zeros(*kind_of(leaf)))))
    return end.pack(zeros)


# ---------------------------------------------------------------------------------------------------------------------
# Looping


class Unstable(Exception):
    """Raised if a variable changes its kind in the first iteration of a loop."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class ShapeChangeError(ValueError):
    """Raised if a tensor has another shape after an iteration."""


class LoopCarry:
    """The variables of a loop, and the carry that stands for them."""

    def __init__(self, names: tuple[str, ...], start: Values) -> None:
        self._names = names
        self._start = [Flattened(v) for v in start]
        for name, part in zip(names, self._start, strict=True):
            if part.missing:
                kind = NotCompilableError if name.startswith("retval_") else ValueError
                raise Unstable(kind(f"{shown(name)} must be defined before the loop"))
        self.tensors = [
            leaf if isinstance(leaf, TensorArray) else tensor_of(leaf)
            for p in self._start
            for leaf in p.carried()
        ]
        self._unchanged = [True] * len(self.tensors)  # by the body
        self.numbers = [
            shown(n) for n, part in zip(names, self._start, strict=True) if any(map(_is_number, part.leaves))
        ]

    def values(self, tensors: Any) -> Values:
        """The variables, from the carry."""
        carried = list(tensors)
        return tuple(part.pack(carried) for part in self._start)

    def after(self, before: Any, values: Values) -> list[Any]:
        """The carry, from the variables at the end of an iteration."""
        result: list[Any] = []
        for name, start, value in zip(self._names, self._start, values, strict=True):
            end = Flattened(value)
            if end.missing:
                raise ValueError(f"{shown(name)} is deleted in the loop, and a compiled loop needs its value")
            try:
                nest.assert_same_structure(start.value, end.value, expand_composites=True)
            except (TypeError, ValueError) as error:
                raise Unstable(TypeError(f"{shown(name)} changes in the loop: {error}")) from None
            for x, y in zip(start.leaves, end.leaves, strict=True):
                if isinstance(x, _CARRIED):
                    position = len(result)
                    self._unchanged[position] &= y is before[position] and not getattr(y, "is_written", False)
                    result.append(self._fitting(name, before[position], y))
                elif not _same(x, y):
                    raise Unstable(_changes(name, x, y))
        return result

    def _fitting(self, name: str, before: Any, leaf: Any) -> Any:
        if isinstance(before, TensorArray) or isinstance(leaf, TensorArray):
            if type(before) is not type(leaf):
                raise Unstable(_changes(name, before, leaf))
            return leaf
        if not isinstance(leaf, _CARRIED):
            raise Unstable(_changes(name, before, leaf))
        tensor = tensor_of(leaf, before._array.dtype)
        if tensor._array.dtype != before._array.dtype or tensor._array.shape != before._array.shape:
            raise Unstable(_changes(name, before, tensor))
        return tensor

    def final(self, tensors: Any) -> Values:
        """The variables after the loop; those that the body does not change keep their values."""
        started = [leaf for part in self._start for leaf in part.carried()]
        return self.values(
            [old if same else new for old, new, same in zip(started, tensors, self._unchanged)]
        )


def _changes(name: str, before: Any, after: Any) -> Exception:
    hint = "start with a value of that kind, such as zeros(shape, dtype), or cast inside the loop"
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        a, b = before._array, after._array
        if a.dtype != b.dtype:
            return TypeError(
                f"{shown(name)} has dtype {dtypes.of(a).name} before the loop, but dtype {dtypes.of(b).name} after one "
                f"iteration: {hint}"
            )
        return ShapeChangeError(
            f"{shown(name)} has shape {before.shape} before the loop, but shape {after.shape} after one iteration, and "
            f"a compiled loop cannot let it grow: {hint}; or collect values in a TensorArray; or let it grow, "
            "without compilation, by tf.autograph.experimental.set_loop_options(shape_invariants=...)"
        )
    return TypeError(
        f"{shown(name)} is {described(before)} before the loop, but {described(after)} after one iteration, and only "
        f"tensors and numbers can change in a compiled loop: {hint}"
    )
