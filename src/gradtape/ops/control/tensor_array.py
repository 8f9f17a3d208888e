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
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ..array.movement import concat, expand_dims, gather, reshape, split, stack, unstack
from ..array.scatter import tensor_scatter_nd_update
from ..known import is_computed, static_shape


class TensorArray:
    """A list of tensors of one dtype and, unless `infer_shape=False`, of one shape.

    Args:
        dtype: of all elements.
        size: the number of elements.
        dynamic_size: whether writing after the end makes the array longer.
        clear_after_read: whether an element is released when it is read, and cannot be read again (the default);
            without effect in a `@function`.
        infer_shape: whether the first element written fixes the shape of all.
        element_shape: the shape of all elements, as far as it is known.
        tensor_array_name, flow, colocate_with_first_write_call: accepted and ignored.
        handle: must be None.

    Raises:
        ValueError: without a size, or with a handle.
        TypeError: if the size is no integer.
        NotCompilableError: if the size is computed in a `@function`.

    >>> ta = TensorArray("float32", size=2)
    >>> ta = ta.write(0, 1.0).write(1, 2.0)
    >>> ta.stack().numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: object = None,
        flow: object = None,
        infer_shape: bool = True,
        element_shape: ShapeLike | None = None,
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
        # Inside a `@function`:
        self._whole: Tensor | None = None  # all elements as one tensor, once one is written at a traced index
        self._trace = local.here.trace  # the part of the function that the array belongs to
        self._used = False  # whether anything has been done with the array
        self.is_written = False

    @property
    def dtype(self) -> DType:
        """The dtype of all elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether the array grows."""
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """The shape of all elements, as far as it is known."""
        return self._element_shape

    @property
    def flow(self) -> Tensor:
        """A constant, as TensorFlow gives eagerly."""
        return convert(0)

    @property
    def handle(self) -> None:
        """None, as TensorFlow gives eagerly."""
        return

    def _number(self, what: str, value: Any) -> int:
        if is_computed(value):
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

    # -- as one tensor, inside a `@function` --------------------------------------------------------------------------

    @property
    def has_known_shape(self) -> bool:
        """Whether size and element shape are known, so that a loop can carry the array as one tensor."""
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

    def shaped_like(self, after: TensorArray) -> TensorArray:
        """A copy with the size and the element shape of the array `after` an iteration."""
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
        """An array with the same elements, that belongs to the part of the program that is traced now."""
        self._used = True
        result = copy.copy(self)
        result._elements = list(self._elements)
        result._cleared = set(self._cleared)
        result._trace = local.here.trace
        result._used = False
        return result

    def __len__(self) -> int:
        return len(self._elements) if self._whole is None else self._whole._array.shape[0]

    def _writable(self) -> TensorArray:
        """The array to write to: this one, or a copy if it belongs to another part of a traced `@function`."""
        return self if self._trace is local.here.trace else self.copy()

    def _written(self, target: TensorArray) -> TensorArray:
        """The array to return from a write to `target`.

        While a `@function` is traced it is a new one, so that a block that has written differs from one that has not.
        """
        target.is_written = True
        trace = local.here.trace
        if trace is None:
            return target
        if target is self:
            return self.copy()
        trace.unused.append(target)
        return target

    def _write_traced(self, index: Any, tensor: Tensor) -> None:
        """Write at an index that is known only when the compiled function runs."""
        size = len(self)
        if self._dynamic_size:
            ends = bounds(index._array)
            grows = ends is None or ends[1] >= size
            is_known = not is_computed(index) or local.here.trace.iteration is not None
            if grows and (ends is None or not is_known):
                raise NotCompilableError(
                    "TensorArray: with dynamic_size=True, how long the array gets depends on an index that is not "
                    "known while a @function is traced: give it its size"
                )
            if ends is not None and grows:
                self._grow(ends[1] + 1)
        self._whole = tensor_scatter_nd_update(self.stack(), reshape(index, (1, 1)), expand_dims(tensor, 0))

    # -- one element --------------------------------------------------------------------------------------------------

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Put a tensor at an index, and return the array to go on with.

        Args:
            value: of the array's dtype, and of the shape of the other elements.

        Raises:
            OutOfRangeError: if the index is negative, or after the end of an array that does not grow.
            TypeError: if the index is no integer.
            InvalidArgumentError: for another dtype.
            ValueError: for another shape.
            NotCompilableError: inside a `@function`, if an array grows to a size that is not known.

        >>> TensorArray("float32", size=1).write(0, 2.0).read(0).numpy()
        np.float32(2.0)
        """
        target = self._writable()
        tensor = target._checked(value)
        if self._whole is not None or is_computed(index):
            target._write_traced(convert(index), tensor)
        else:
            i = self._place("writing", index)
            if i >= len(target._elements):
                target._elements += [None] * (i + 1 - len(target._elements))
            target._elements[i] = tensor
        return self._written(target)

    def _checked(self, value: Any) -> Tensor:
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

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """The tensor at an index; zeros if none was written.

        Raises:
            OutOfRangeError: if the index is outside the array.
            TypeError: if the index is no integer.
            InvalidArgumentError: if the element was read already, and released.
            ValueError: if none was written, and the shape of the elements is not known.

        >>> TensorArray("float32", size=1, element_shape=()).read(0).numpy()
        np.float32(0.0)
        """
        self._used = True
        if self._whole is not None or is_computed(index):
            return gather(self.stack(), convert(index))
        i = self._place("reading", index)
        if self._elements[i] is None and i in self._cleared:
            raise InvalidArgumentError(
                f"TensorArray: element {i} was read already, and let go: make the array with clear_after_read=False"
            )
        tensor = self._at(i)
        if self._clear_after_read and local.here.trace is None and not local.here.runs_function:
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
        """All elements as one tensor, with a new first axis; zeros where none was written.

        Raises:
            ValueError: if one was not written, and the shape of the elements is not known.
            InvalidArgumentError: if the elements differ in shape.

        >>> TensorArray("float32", size=2).unstack([1.0, 2.0]).stack().numpy()
        array([1., 2.], dtype=float32)
        """
        self._used = True
        if self._whole is not None:
            return self._whole
        return self._stacked([self._at(i) for i in range(len(self._elements))])

    def _stacked(self, elements: list[Tensor]) -> Tensor:
        if elements:
            return stack(elements)
        shape = tuple(self._element_shape) if self._element_shape.is_fully_defined() else ()
        return wrap(np.zeros((0, *shape), self._dtype.numpy_dtype))

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The elements at several indices as one tensor.

        Raises:
            OutOfRangeError: if an index is outside the array.

        >>> TensorArray("float32", size=2).unstack([1.0, 2.0]).gather([1, 1]).numpy()
        array([2., 2.], dtype=float32)
        """
        self._used = True
        if self._whole is not None:  # along an axis that is not the first, so that the gradient is dense
            rows = gather(expand_dims(self._whole, 0), indices, axis=1)
            return reshape(rows, rows._array.shape[1:])
        places = static_shape("TensorArray.gather", indices)
        return self._stacked([self._at(self._place("reading", i)) for i in places])

    def concat(self, name: str | None = None) -> Tensor:
        """All elements joined along their first axis.

        Raises:
            InvalidArgumentError: if the elements are scalars.

        >>> TensorArray("float32", size=2).unstack([[1.0], [2.0]]).concat().numpy()
        array([1., 2.], dtype=float32)
        """
        self._used = True
        elements = (
            [self._at(i) for i in range(len(self._elements))] if self._whole is None else unstack(self._whole)
        )
        if any(e.ndim == 0 for e in elements):
            raise InvalidArgumentError("TensorArray: scalars cannot be joined: use stack()")
        return concat(elements, 0)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Fill the array with the slices of a tensor along its first axis, and return the array to go on with.

        Raises:
            ValueError: if there are more slices than places, and the array does not grow.
            InvalidArgumentError: for another dtype.

        >>> TensorArray("float32", size=2).unstack([1.0, 2.0]).read(1).numpy()
        np.float32(2.0)
        """
        whole = convert(value, None, self._dtype.numpy_dtype)
        if local.here.trace is None or not whole.ndim:
            return self._fill("unstack", unstack(whole))
        self._check_fill("unstack", [whole], whole._array.shape[0])
        target = self._writable()
        target._whole = whole
        if self._infer_shape:
            target._element_shape = self._element_shape.merge_with(whole.shape[1:])
        return self._written(target)

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Fill the array with parts of a tensor, and return the array to go on with.

        Args:
            lengths: of the parts along the first axis.

        Raises:
            InvalidArgumentError: if the lengths do not add up to the first axis, or are not as many as the places, or
                for another dtype.

        >>> TensorArray("float32", size=2).split([1.0, 2.0, 3.0], [1, 2]).read(1).numpy()
        array([2., 3.], dtype=float32)
        """
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

    def _check_fill(self, what: str, tensors: list[Tensor], count: int) -> None:
        if count > len(self) and not self._dynamic_size:
            raise ValueError(f"TensorArray: {what} of {count} tensors into a size of {len(self)}")
        for tensor in tensors:
            if tensor.dtype is not self._dtype:
                raise InvalidArgumentError(
                    f"TensorArray of {self._dtype.name}: {what} of a tensor of dtype {tensor.dtype.name}: cast it"
                )

    def _fill(self, what: str, tensors: list[Tensor]) -> TensorArray:
        self._check_fill(what, tensors, len(tensors))
        target = self._writable()
        target._elements, target._whole = list(tensors), None
        if self._infer_shape and len({t._array.shape for t in tensors}) == 1:
            target._element_shape = self._element_shape.merge_with(tensors[0].shape)
        return self._written(target)

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Put the slices of a tensor at several indices, and return the array to go on with.

        Args:
            indices: one for each slice.
            value: the tensor; its slices along the first axis become elements.

        Raises:
            InvalidArgumentError: if there is not one index for each slice.
            OutOfRangeError: if an index is outside an array that does not grow.
            NotCompilableError: if the indices are computed in a `@function`, and the array grows.

        >>> TensorArray("float32", size=2).scatter([1, 0], [1.0, 2.0]).stack().numpy()
        array([2., 1.], dtype=float32)
        """
        if self._whole is not None or is_computed(indices):
            if self._dynamic_size and is_computed(indices):
                raise NotCompilableError(
                    "TensorArray.scatter: with dynamic_size=True the indices must be known"
                )
            target = self._writable()
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
        """The number of elements."""
        return convert(len(self))

    def identity(self) -> TensorArray:
        """This array."""
        return self

    def grad(self, source: str, flow: object = None, name: str | None = None) -> TensorArray:
        """Not available eagerly: a tape differentiates through `read` and `stack`.

        Args:
            source, flow: accepted and ignored.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("TensorArray.grad is not for eager execution: use a GradientTape")

    def close(self, name: str | None = None) -> None:
        """Release all elements."""
        self._elements.clear()


def must_be_used(arrays: list[TensorArray]) -> None:
    """Raise if one of the arrays was returned by a write inside a branch or a loop, and nothing used it."""
    if not all(array._used for array in arrays):
        raise InvalidArgumentError(
            "TensorArray.write inside a branch or a loop returns the array that holds the value, and it is not used: "
            "go on with it, as in `array = array.write(i, value)`"
        )
