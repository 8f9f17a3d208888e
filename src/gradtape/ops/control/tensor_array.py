"""TensorArray: a list of tensors of one dtype, written and read by number, stacked at the end, differentiable."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.dtypes import DType
from ...core.errors import InvalidArgumentError, NotCompilableError, OutOfRangeError
from ...core.primitive import local
from ...core.ranges import bounds
from ...core.shapes import TensorShape
from ...core.tensor import Tensor, convert, wrap
from ...engine.arrays import is_traced
from ..array.movement import concat, expand_dims, gather, reshape, split, stack, static_shape, unstack
from ..array.scatter import tensor_scatter_nd_update


def _is_traced(index: Any) -> bool:
    return type(index) is Tensor and is_traced(index._array)


class TensorArray:
    """A list of tensors of one dtype and, unless `infer_shape=False`, of one shape.

    Args:
        dtype: of all elements.
        size: how many there are.
        dynamic_size: whether writing behind the end makes it longer.
        clear_after_read: whether an element can be read only once, and is let go then (the default).
        infer_shape: whether the first element written fixes the shape of all.
        element_shape: the shape of all, as far as it is known.

    >>> ta = TensorArray("float32", size=2)
    >>> ta = ta.write(0, 1.0).write(1, 2.0)
    >>> ta.stack().numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None:
            raise ValueError("a TensorArray has no handle when executing eagerly")
        if size is None:
            raise ValueError("a TensorArray needs a size; dynamic_size=True lets it grow")
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic_size = bool(dynamic_size)
        self._clear_after_read = clear_after_read is None or clear_after_read
        self._infer_shape = infer_shape
        self._element_shape = TensorShape(element_shape)
        self._elements: list[Tensor | None] = [None] * self._number("size", size)
        self._cleared: set[int] = set()
        # Inside a `function`: all elements as one tensor, written by traced numbers;
        self._whole: Tensor | None = None
        self._home = local.here.trace  # the part of the function that it belongs to;
        self._used = False  # and has anything been done with it?
        self.is_written = False

    @property
    def dtype(self) -> DType:
        """The dtype of all elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Does it grow?"""
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """The shape of all elements, as far as it is known."""
        return self._element_shape

    @property
    def flow(self) -> Tensor:
        """Of no meaning here."""
        return convert(0)

    @property
    def handle(self) -> None:
        """Of no meaning here."""
        return

    def _number(self, what: str, value: Any) -> int:
        if _is_traced(value):
            raise NotCompilableError(f"TensorArray: {what} must be known while a @function is traced")
        try:
            number: int = value.__index__()
        except (AttributeError, TypeError):
            raise TypeError(f"TensorArray: {what} must be an integer, not {value!r}") from None
        if number >= 1 << 31:
            raise OutOfRangeError(f"TensorArray: {what} must be below 2**31, and {number} is not")
        return number

    def _place(self, doing: str, index: Any) -> int:
        i = self._number("an index", index)
        if i < 0:
            raise OutOfRangeError(f"TensorArray: {doing} at {i}: an index must not be negative")
        if i >= len(self) and not (doing == "writing" and self._dynamic_size):
            hint = "; dynamic_size=True lets it grow" if doing == "writing" else ""
            raise OutOfRangeError(f"TensorArray: {doing} at {i}, but its size is {len(self)}{hint}")
        return i

    # -- as one tensor, inside a `function` ---------------------------------------------------------------------------

    @property
    def is_laid_out(self) -> bool:
        """Can it go round in a loop as one tensor: are its size and the shape of its elements known?"""
        return (self._whole is not None or self._element_shape.is_fully_defined()) and not self._dynamic_size

    @property
    def stacked_shape(self) -> tuple[int, ...]:
        """The shape of all elements as one tensor."""
        if self._whole is not None:
            return self._whole._array.shape
        if not self._element_shape.is_fully_defined():
            raise NotCompilableError(
                "TensorArray: the shape of the elements is not known: give element_shape"
            )
        return (len(self._elements), *self._element_shape)

    def laid_out(self, after: TensorArray) -> TensorArray:
        """A copy of the size, and with elements of the shape, that a turn of a loop has found."""
        result = self.copy()
        if self._whole is None:
            result._element_shape = self._element_shape.merge_with(after._element_shape)
        result._grow(len(after))
        return result

    def _grow(self, size: int) -> None:
        """Make room for `size` elements."""
        missing = size - len(self)
        if self._whole is None:
            self._elements += [None] * missing
        elif missing > 0:
            zeros = wrap(np.zeros((missing, *self._whole.shape[1:]), self._dtype.numpy_dtype))
            self._whole = concat([self._whole, zeros], 0)

    def holding(self, whole: Tensor) -> TensorArray:
        """An array like this one that holds the slices of a tensor."""
        result = self.copy()
        result._whole = whole
        result._element_shape = whole.shape[1:]
        result.is_written = False
        return result

    def copy(self) -> TensorArray:
        """An array with the same elements, to be written by itself, in the part of the program that is traced now."""
        self._used = True
        result = copy.copy(self)
        result._elements = list(self._elements)
        result._cleared = set(self._cleared)
        result._home = local.here.trace
        result._used = False
        return result

    def __len__(self) -> int:
        return len(self._elements) if self._whole is None else self._whole._array.shape[0]

    def _to_write(self) -> TensorArray:
        """The array to write to: this one, unless it belongs to another part of a `function` that is being traced."""
        return self if self._home is local.here.trace else self.copy()

    def _written(self, target: TensorArray) -> TensorArray:
        """What to return of a write to an array. While a `function` is traced it is another one, so that a block that
        has written can be told from one that has not."""
        target.is_written = True
        trace = local.here.trace
        if trace is None:
            return target
        if target is self:
            return self.copy()
        trace.unused.append(target)
        return target

    def _write_traced(self, index: Any, tensor: Tensor) -> None:
        """Write at a place that is known only when the compiled function runs."""
        size = len(self)
        if self._dynamic_size:
            known = bounds(index._array)
            grows = known is None or known[1] >= size
            if grows and (known is None or local.here.trace.iteration is None):
                raise NotCompilableError(
                    "TensorArray: with dynamic_size=True, how long the array gets depends on an index that is not "
                    "known while a @function is traced: give it its size"
                )
            if known is not None and grows:
                self._grow(known[1] + 1)
        self._whole = tensor_scatter_nd_update(self.stack(), reshape(index, (1, 1)), expand_dims(tensor, 0))

    # -- one element --------------------------------------------------------------------------------------------------

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Put a tensor at a place. Returns this array, to go on with."""
        target = self._to_write()
        tensor = target._fitting(value)
        if self._whole is not None or _is_traced(index):
            target._write_traced(convert(index), tensor)
        else:
            i = self._place("writing", index)
            if i >= len(target._elements):
                target._elements += [None] * (i + 1 - len(target._elements))
            target._elements[i] = tensor
        return self._written(target)

    def _fitting(self, value: Any) -> Tensor:
        tensor = convert(value, None, self._dtype.numpy_dtype)
        if tensor.dtype is not self._dtype:
            raise InvalidArgumentError(
                f"TensorArray of {self._dtype.name}: a value of dtype {tensor.dtype.name} does not go in: cast it"
            )
        if not self._element_shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"TensorArray of elements of shape {self._element_shape}: one of shape {tensor.shape} does not go in"
            )
        if self._infer_shape:
            self._element_shape = self._element_shape.merge_with(tensor.shape)
        return tensor

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The tensor at a place; zeros where none was written."""
        self._used = True
        if self._whole is not None or _is_traced(index):
            return gather(self.stack(), convert(index))
        i = self._place("reading", index)
        if self._elements[i] is None and i in self._cleared:
            raise InvalidArgumentError(
                f"TensorArray: element {i} was read already, and let go: make the array with clear_after_read=False"
            )
        tensor = self._at(i)
        if self._clear_after_read:
            self._elements[i] = None
            self._cleared.add(i)
        return tensor

    def _at(self, i: int) -> Tensor:
        element = self._elements[i]
        if element is None:
            if not self._element_shape.is_fully_defined():
                if local.here.trace is not None:
                    raise NotCompilableError(
                        f"TensorArray: nothing is written at {i} before a branch or loop, and the shape of the "
                        "elements is not known: give element_shape"
                    )
                raise ValueError(
                    f"TensorArray: nothing was written at {i}, and the elements' shape is not known"
                )
            element = wrap(np.zeros(tuple(self._element_shape), self._dtype.numpy_dtype))
            self._elements[i] = element
        return element

    # -- all of them --------------------------------------------------------------------------------------------------

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as one tensor, with a new first axis."""
        self._used = True
        if self._whole is not None:
            return self._whole
        return self._stacked([self._at(i) for i in range(len(self._elements))])

    def _stacked(self, elements: list[Tensor]) -> Tensor:
        if elements:
            return stack(elements)
        shape = tuple(self._element_shape) if self._element_shape.is_fully_defined() else ()
        return wrap(np.zeros((0, *shape), self._dtype.numpy_dtype))

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at several places as one tensor."""
        self._used = True
        if self._whole is not None:
            return gather(self._whole, indices)
        places = static_shape("TensorArray.gather", indices)
        return self._stacked([self._at(self._place("reading", i)) for i in places])

    def concat(self, name: str | None = None) -> Tensor:
        """All elements joined along their first axis."""
        self._used = True
        elements = (
            [self._at(i) for i in range(len(self._elements))] if self._whole is None else unstack(self._whole)
        )
        if any(e.ndim == 0 for e in elements):
            raise InvalidArgumentError("TensorArray: scalars cannot be joined: use stack()")
        return concat(elements, 0)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Fill the array with the slices of a tensor along its first axis."""
        return self._fill("unstack", unstack(convert(value, None, self._dtype.numpy_dtype)))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Fill the array with parts of a tensor, of these lengths along its first axis."""
        tensor = convert(value, None, self._dtype.numpy_dtype)
        sizes = static_shape("TensorArray.split", lengths)
        if not tensor.ndim or sum(sizes) != tensor._array.shape[0]:
            raise InvalidArgumentError(
                f"TensorArray: a tensor of shape {tensor.shape} does not split into parts of {list(sizes)}"
            )
        if not self._dynamic_size and len(sizes) != len(self._elements):
            raise InvalidArgumentError(
                f"TensorArray: {len(sizes)} parts do not fill a size of {len(self._elements)}; dynamic_size=True adapts"
            )
        return self._fill("split", split(tensor, sizes))

    def _fill(self, what: str, tensors: list[Tensor]) -> TensorArray:
        if len(tensors) > len(self._elements) and not self._dynamic_size:
            raise ValueError(
                f"TensorArray: {what} of {len(tensors)} tensors into a size of {len(self._elements)}"
            )
        for tensor in tensors:
            if tensor.dtype is not self._dtype:
                raise InvalidArgumentError(
                    f"TensorArray of {self._dtype.name}: {what} of a tensor of dtype {tensor.dtype.name}: cast it"
                )
        target = self._to_write()
        target._elements, target._whole = list(tensors), None
        if self._infer_shape and len({t._array.shape for t in tensors}) == 1:
            target._element_shape = self._element_shape.merge_with(tensors[0].shape)
        return self._written(target)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Put the slices of a tensor at several places."""
        if self._whole is not None or _is_traced(indices):
            if self._dynamic_size and _is_traced(indices):
                raise NotCompilableError(
                    "TensorArray.scatter: with dynamic_size=True the indices must be known"
                )
            target = self._to_write()
            target._whole = tensor_scatter_nd_update(self.stack(), expand_dims(convert(indices), -1), value)
            return self._written(target)
        places, tensors = static_shape("TensorArray.scatter", indices), unstack(value)
        if len(places) != len(tensors):
            raise InvalidArgumentError(
                f"TensorArray.scatter: {len(places)} indices for {len(tensors)} elements: there must be one for each"
            )
        result = self
        for i, tensor in zip(places, tensors, strict=True):
            result = result.write(i, tensor)
        return result

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        return convert(len(self))

    def identity(self) -> TensorArray:
        """This array."""
        return self

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> TensorArray:
        """Not here: a tape differentiates what is read and stacked."""
        raise NotImplementedError("TensorArray.grad is not for eager execution: use a GradientTape")

    def close(self, name: str | None = None) -> None:
        """Let all elements go."""
        self._elements.clear()


def must_be_used(arrays: list[TensorArray]) -> None:
    """Refuse arrays that were returned by a write inside a branch or a loop, and let go."""
    if not all(array._used for array in arrays):
        raise InvalidArgumentError(
            "TensorArray.write inside a branch or a loop returns the array that holds the value, and it is not used: "
            "go on with it, as in `array = array.write(i, value)`"
        )
