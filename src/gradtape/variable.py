"""Variable: a named, mutable cell that holds a value.

Assigning puts a new array in the cell; it never writes into one, because a tape may have kept it. Operations on slices
of a variable are lent by `ops.indexing`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes
from .dtypes import DType
from .errors import DTypeError
from .primitive import Primitive, apply, local
from .shapes import TensorShape
from .tensor import Reference, Tensor, array_text, convert, next_key, wrap


class Variable:
    """A mutable value, to be trained: tapes watch trainable variables by themselves.

    Args:
        initial_value: a value, or a function without arguments that gives it.
        trainable: whether tapes watch it unasked.
        name: shown in its repr and in warnings; the default is 'Variable'.
        dtype: convert the initial value to this dtype.
        shape: what shapes may be assigned; lengths left open with None may change. The default: the initial value's.
        constraint: a function that an optimizer applies to the value after each update.

    >>> v = Variable([1.0, 2.0])
    >>> v.assign_add([1.0, 1.0])
    <tf.Variable 'Variable:0' shape=(2,) dtype=float32, numpy=array([2., 3.], dtype=float32)>
    """

    __slots__ = ("__weakref__", "_constraint", "_key", "_name", "_shape", "_tensor", "_trainable", "_watchable")
    __array_priority__ = 100

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if initial_value is None:
            raise ValueError("a Variable needs an initial value: a value, or a function that gives one")
        if callable(initial_value):
            initial_value = initial_value()
        numpy_dtype = None if dtype is None else dtypes.as_dtype(dtype).numpy_dtype
        tensor = convert(initial_value, numpy_dtype)
        self._shape = tensor.shape if shape is None else TensorShape(shape)
        if not self._shape.is_compatible_with(tensor.shape):
            raise ValueError(f"the initial value has shape {tensor.shape}, which does not fit shape={self._shape}")
        self._key = next_key()
        self._name = name or "Variable"
        self._trainable = True if trainable is None else bool(trainable)
        self._watchable = self._trainable and dtypes.is_differentiable(tensor._array)
        self._constraint = constraint
        self._put(tensor._array)

    def _put(self, array: Any) -> None:
        """Swap the array. All values of a variable share its key: to tapes, every read is a read of the variable."""
        tensor = wrap(array)
        tensor._key = self._key
        self._tensor = tensor

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read(self) -> Tensor:
        """The value as an operation's input. Not for users: it changes its meaning when the variable is assigned."""
        for tape in local.here.tapes:
            tape._access(self)
        return self._tensor

    @property
    def _array(self) -> Any:
        return self._tensor._array

    def value(self) -> Tensor:
        """The value now, as a tensor."""
        result: Tensor = apply(Primitive.registry["identity"], (self,))
        return result

    def read_value(self) -> Tensor:
        """The value now, as a tensor."""
        return self.value()

    _as_tensor = value

    def numpy(self) -> Any:
        """A copy of the value as a NumPy array."""
        return self._tensor.numpy()

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._tensor.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape; None for lengths that may change."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._tensor.ndim

    @property
    def name(self) -> str:
        """The name, with TensorFlow's ':0' behind it."""
        return f"{self._name}:0"

    @property
    def trainable(self) -> bool:
        """Do tapes watch this variable unasked?"""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """The function an optimizer applies after each update."""
        return self._constraint

    @property
    def device(self) -> str:
        """Where the value lives."""
        return self._tensor.device

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Allow only values of this shape from now on."""
        self._shape = self._shape.merge_with(TensorShape(shape))

    def is_initialized(self) -> Tensor:
        """True: a variable here always has a value."""
        return convert(True)

    def ref(self) -> Reference:
        """A hashable stand-in for this very variable, to use as a dictionary key."""
        return Reference(self)

    # -- assigning ----------------------------------------------------------------------------------------------------

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Variable:
        """Put a new value, of the same shape and dtype, in the variable. Returns the variable."""
        self._put(self._fitting(value, "assign")._array)
        return self

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Variable:
        """Add `delta`, of the same shape and dtype."""
        self._put(self._tensor._array + self._fitting(delta, "assign_add")._array)
        return self

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Variable:
        """Subtract `delta`, of the same shape and dtype."""
        self._put(self._tensor._array - self._fitting(delta, "assign_sub")._array)
        return self

    def _fitting(self, value: Any, method: str) -> Tensor:
        """The value as a tensor that may be assigned; raises, and nothing has changed, if it may not."""
        own = self._tensor._array
        try:
            tensor = value if type(value) is Tensor else convert(value, own.dtype)
        except DTypeError as error:
            raise DTypeError(f"{method} to {self._describe()}: {error}") from None
        array = tensor._array
        if array.dtype != own.dtype:
            raise DTypeError(
                f"{method} to {self._describe()}: the value has dtype {tensor.dtype.name}: use cast(value, {self.dtype.name!r})"
            )
        if array.shape != own.shape and not (
            method == "assign" and self._shape.is_compatible_with(TensorShape(array.shape))
        ):
            raise ValueError(f"{method} to {self._describe()}: the value has shape {tensor.shape}; the shapes must agree")
        return tensor

    def _describe(self) -> str:
        return f"the variable {self._name!r} of shape {self._shape} and dtype {self.dtype.name}"

    def _assign_slice(self, method: str, index: Any, value: Any) -> Variable:
        """What `v[index].assign(value)` and its kin do."""
        array = self._tensor._array.copy()
        old = array[index]
        tensor = convert(value, array.dtype) if type(value) is not Tensor else value
        if tensor._array.dtype != array.dtype:
            raise DTypeError(f"{method} to a slice of {self._describe()}: the value has dtype {tensor.dtype.name}: cast it")
        try:
            new = np.broadcast_to(tensor._array, np.shape(old))
        except ValueError:
            raise ValueError(
                f"{method} to a slice of shape {list(np.shape(old))} of {self._describe()}: the value has shape {tensor.shape}"
            ) from None
        array[index] = new if method == "assign" else old + new if method == "assign_add" else old - new
        self._put(array)
        return self

    # -- Python -------------------------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._tensor.__array__(dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()

    def __len__(self) -> int:
        return len(self._tensor)

    def __iter__(self) -> Any:
        if self.ndim == 0:
            raise TypeError("cannot iterate over a scalar variable")
        return (self[i] for i in range(len(self)))  # type: ignore[index]

    def __bool__(self) -> bool:
        return bool(self._tensor)

    def __float__(self) -> float:
        return float(self._tensor)

    def __int__(self) -> int:
        return int(self._tensor)

    def __complex__(self) -> complex:
        return complex(self._tensor)

    def __index__(self) -> int:
        return self._tensor.__index__()

    def __format__(self, spec: str) -> str:
        return format(self._tensor, spec) if spec else repr(self)

    def __repr__(self) -> str:
        return (
            f"<tf.Variable '{self.name}' shape={self._shape} dtype={self.dtype.name}, "
            f"numpy={array_text(self._array, repr)}>"
        )

    def __hash__(self) -> int:
        raise TypeError("a Variable is unhashable, because == compares element by element. Use variable.ref() as the key")

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("a Variable does not support item assignment: write v[index].assign(value)")

    def __copy__(self) -> Variable:
        return _restore(self._array, self._trainable, self._name, self._shape, self._constraint)

    def __deepcopy__(self, memo: Any) -> Variable:
        memo[id(self)] = copy = self.__copy__()
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._array, self._trainable, self._name, self._shape, self._constraint)


def _restore(array: Any, trainable: bool, name: str, shape: TensorShape, constraint: Any) -> Variable:
    return Variable(wrap(array), trainable=trainable, name=name, shape=shape, constraint=constraint)
