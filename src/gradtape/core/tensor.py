"""Tensor: an immutable value.

Nothing here computes: Python's operators are put on the class by `ops`. `tensor_conversion` makes tensors of other
values.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial, update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ..engine.arrays import is_traced
from ..engine.devices import name_of
from . import dtypes
from .dtypes import DType
from .errors import OperatorNotAllowedInGraphError
from .observers import exported, observers
from .shapes import TensorShape
from .trace_errors import NoArrayError, NoNumpyError, no_value
from .types import ShapeLike

if TYPE_CHECKING:

    class Operators:
        """The operators that `ops` installs on tensors and variables, for type checkers."""

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __neg__(self) -> Tensor: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...
        def __hash__(self) -> int: ...

else:

    class Operators:
        __slots__ = ()


class _IfConcrete:
    """A method that traced tensors lack, so that `hasattr(x, "numpy")` is False, as in TensorFlow.

    As with any method, an attribute that is set on one tensor goes first.
    """

    def __init__(self, method: Callable[[Any], Any]) -> None:
        update_wrapper(self, method)
        self._method, self._asked = method, f"tensor.{method.__name__}()"

    def __get__(self, tensor: Any, owner: type | None = None) -> Any:
        if tensor is None:
            return self
        if type(tensor._array) is not ndarray:
            tensor._concrete(self._asked, NoNumpyError)
        return MethodType(self._method, tensor)

    def __call__(self, tensor: Any) -> Any:
        return self.__get__(tensor)()


class Tensor(Operators):
    """An immutable, multi-dimensional array of one dtype.

    Make one with `constant`, or by computing: operators and functions take tensors, variables, NumPy arrays, Python
    numbers and lists, and return tensors.

    >>> import gradtape as tf
    >>> tf.constant([1.0, 2.0]) * 2
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 4.], dtype=float32)>
    """

    # _array: the value. _key: what tapes know this tensor by; 0 until a tape has a reason to know it.
    # _origin: for a slice of a variable, the variable and the index, so that v[1:3].assign(...) works; else unset.
    # _device: the value as compiled code has it. A result of a @function has _device alone, and `_array`, a view of it,
    # is created on first access (see `create_missing_by`); an argument of one has both; all else has _array alone.
    # _both: a second reference to _device where there is also _array, so that its reference count differs; None if
    # _array alone was an argument of a compiled program, once (see `compiled.buffers.as_argument`). Of a result
    # that has no value yet, because the pass of a hot tape will compute it: the pass, which of its results it is, and
    # `_array` once somebody has asked for it.
    # __dict__: for attributes of others, as Keras keeps a mask on a tensor.
    __slots__ = ("__dict__", "__weakref__", "_array", "_both", "_device", "_key", "_origin")
    __array_priority__ = 100  # NumPy's operators defer to ours

    _array: Any
    _both: Any
    _device: Any
    _key: int
    _origin: Any

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise TypeError(
            "a Tensor is not made by calling Tensor(...): use constant(...) or convert_to_tensor(...)"
        )

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return dtypes.of(form_of(self))

    @property
    def shape(self) -> TensorShape:
        """The length of each axis."""
        return TensorShape._of(form_of(self).shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return rank(self)

    @property
    def device(self) -> str:
        """The name of the device that holds the value."""
        try:
            name = name_of(device_of(self))
        except AttributeError:  # NumPy's
            name = "CPU:0"
        return f"/job:localhost/replica:0/task:0/device:{name}"

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Validate that the tensor has this shape, in which None stands for any length.

        Raises:
            ValueError: if it has another.
        """
        self.shape.assert_is_compatible_with(TensorShape(shape))

    @_IfConcrete
    def numpy(self) -> Any:
        """A copy of the value as a NumPy array; a NumPy scalar (`bytes` for a string) if there are no axes.

        Raises:
            AttributeError: while a @function is traced, when there is no value.
        """
        array = _looked_at(self)
        if array.dtype.names is not None:
            array = dtypes.plain(array)
        value = array.copy() if array.ndim else array[()]
        if observers:
            exported(self, ".numpy()", value)
        return value

    def ref(self) -> Reference:
        """A hashable stand-in for this very tensor, to use as a dictionary key; `.deref()` gives the tensor back."""
        return Reference(self)

    experimental_ref = ref

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        value = _read_only(self._concrete("np.asarray(tensor)", NoArrayError), dtype, copy)
        if observers:
            exported(self, "NumPy", value)
        return value

    def __buffer__(self, flags: int) -> memoryview:
        """The elements, read-only, for `memoryview(tensor)`. NumPy asks for it before `__array__`."""
        array = np.asarray(self._concrete("memoryview(tensor)", NoArrayError))
        value = memoryview(array).toreadonly()  # type: ignore[arg-type]
        if observers:
            exported(self, "NumPy", value)
        return value

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Where the elements are, read-only, in NumPy's array interface, which lacks bfloat16 and float8."""
        array = self._concrete("tensor.__array_interface__", NoNumpyError)
        if array.dtype.isbuiltin != 1:
            raise AttributeError(f"the array interface has no word for {array.dtype}: use np.asarray(tensor)")
        value = self.__array__()
        return value.__array_interface__

    def __dlpack__(self, **options: Any) -> Any:
        value = export_dlpack(self._concrete("tensor.__dlpack__()"), **options)
        if observers:
            exported(self, "DLPack", value)
        return value

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("a scalar tensor has no len()")
        return len(self._array)

    def __bool__(self) -> bool:
        array = _looked_at(self)
        if array.size != 1:
            raise ValueError(
                f"the truth value of a tensor of shape {tuple(array.shape)} is ambiguous: only a single element "
                "is true or false. Use reduce_any(...) or reduce_all(...), or where(...) to choose element by element"
            )
        value = bool(self._concrete("bool(tensor), which `if`, `while`, `and`, `or` and `not` ask for,"))
        if observers:
            exported(self, "bool()", value)
        return value

    def __float__(self) -> float:
        value = float(self._single("float(tensor)"))
        if observers:
            exported(self, "float()", value)
        return value

    def __int__(self) -> int:
        value = int(self._single("int(tensor)"))
        if observers:
            exported(self, "int()", value)
        return value

    def __complex__(self) -> complex:
        value = complex(self._single("complex(tensor)"))
        if observers:
            exported(self, "complex()", value)
        return value

    def __index__(self) -> int:
        if self._array.dtype.kind not in "iu" or self._array.ndim:
            raise TypeError(
                f"only a scalar integer tensor can be an index, not one of shape {tuple(self._array.shape)} "
                f"and dtype {self.dtype.name}"
            )
        return int(self._concrete("int(tensor), which range() and Python's lists ask for,"))

    def _single(self, asked: str) -> Any:
        array = _looked_at(self)
        if array.size != 1:
            wanted = asked.removesuffix("(tensor)")
            raise TypeError(
                f"only a tensor of one element becomes a Python {wanted}, not one of shape {tuple(array.shape)}"
            )
        return self._concrete(asked).item()

    def _concrete(self, asked: str, kind: type[Exception] = OperatorNotAllowedInGraphError) -> Any:
        """The array, for an operation `asked` that needs its values; raises if it is traced."""
        array = _looked_at(self)
        if type(array) is not ndarray and is_traced(array):
            raise no_value(asked, array, kind)
        return array if array.dtype.names is None else dtypes.plain(array)

    def __format__(self, spec: str) -> str:
        array = self._array
        if is_traced(array) and not spec:
            return str(self)
        array = self._concrete("tensor.numpy()", NoNumpyError)
        return format(array[()] if array.ndim == 0 else array, spec)

    def __repr__(self) -> str:
        what = _no_values(self)
        if what:
            return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, {what}>"
        return (
            f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={array_text(self._array, repr)}>"
        )

    def __str__(self) -> str:
        what = _no_values(self)
        if what:
            return f"tf.Tensor({what}, shape={self.shape}, dtype={self.dtype.name})"
        return f"tf.Tensor({array_text(self._array, str)}, shape={self.shape}, dtype={self.dtype.name})"

    def __hash__(self) -> int:
        raise TypeError(
            "a Tensor is unhashable, because == compares element by element. Use tensor.ref() as the key"
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "a Tensor does not support item assignment: it is immutable. Use a Variable and v[...].assign(...), "
            "or tensor_scatter_nd_update, which gives a new tensor"
        )

    @property
    def assign(self) -> Callable[..., Any]:
        """For a slice of a variable: put a value there."""
        return self._assigning("assign")

    @property
    def assign_add(self) -> Callable[..., Any]:
        """For a slice of a variable: add a value there."""
        return self._assigning("assign_add")

    @property
    def assign_sub(self) -> Callable[..., Any]:
        """For a slice of a variable: subtract a value there."""
        return self._assigning("assign_sub")

    def _assigning(self, name: str) -> Callable[..., Any]:
        try:
            variable, index = self._origin
        except AttributeError:
            raise AttributeError(
                f"a Tensor has no {name!r}: it is immutable. Only a Variable, or a slice taken from one, "
                "can be assigned"
            ) from None
        return lambda value, *options, **more: variable._assign_slice(name, index, value)

    def __copy__(self) -> Tensor:
        return wrap(self._array)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return wrap(self._array)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._array,)


if sys.version_info < (3, 12):
    from ..engine import buffer_slot

    buffer_slot.install(Tensor)

# Makes a tensor without a value: 0.01 us sooner than a call of `object.__new__`.
new_tensor: Callable[[], Tensor] = partial(object.__new__, Tensor)
next_key = itertools.count(1).__next__


def wrap(array: Any) -> Tensor:
    """A tensor that holds `array`, which nobody may write into from now on."""
    tensor = new_tensor()
    tensor._array = array
    tensor._key = 0
    return tensor


def _no_values(tensor: Tensor) -> str:
    """Why the values of a tensor cannot be shown; an empty text if they can."""
    array = array_of(tensor)
    if is_traced(array):
        return "traced"
    addressable = type(array) is ndarray or getattr(array, "is_fully_addressable", True)
    return "" if addressable or array.is_fully_replicated else "divided among processes"


def array_of(tensor: Tensor) -> Any:
    """The array that a tensor has, NumPy's or compiled code's, for its shape and dtype."""
    try:
        return device_of(tensor)
    except AttributeError:
        return tensor._array


device_of = Tensor.__dict__[
    "_device"
].__get__  # raises where there is none, whatever `create_missing_by` was given


_numpy_of = Tensor.__dict__["_array"].__get__
_both_of = Tensor.__dict__["_both"].__get__


def known_array(tensor: Tensor) -> Any:
    """An array of a tensor's shape and dtype: NumPy's, or compiled code's, which may not be computed yet."""
    try:
        return _numpy_of(tensor)
    except AttributeError:
        return array_of(tensor)


def form_of(tensor: Tensor) -> Any:
    """Something that has a tensor's `shape` and `dtype`: an array, or what the pass of a hot tape knows of a result."""
    try:
        return _numpy_of(tensor)
    except AttributeError:
        promise = _promise_of(tensor)
        return array_of(tensor) if promise is None else promise[1]


def rank(tensor: Tensor) -> int:
    """The number of axes; for a result that has no array yet, none is made."""
    try:
        ndim: int = _numpy_of(tensor).ndim
    except AttributeError:
        both = getattr(tensor, "_both", None)
        ndim = len(both[1][1]) if type(both) is tuple else array_of(tensor).ndim
    return ndim


def _looked_at(tensor: Tensor) -> Any:
    """The array of a tensor whose value is needed: one that the pass of a hot tape has promised is computed now."""
    try:
        return _numpy_of(tensor)
    except AttributeError:
        promise = _promise_of(tensor)
    if promise is None:
        return tensor._array
    source, result = promise[:2]
    source.read_ahead(result[0])
    with source._lock:  # another thread may end the pass, and give the tensor its value
        value = source.value_of(result[0]) if _promise_of(tensor) is not None else None
    return tensor._array if value is None else value


def _promise_of(tensor: Tensor) -> Any:
    """The pass of a hot tape and the result that a tensor without an array stands for; None if there is none."""
    try:
        both: Any = _both_of(tensor)
    except AttributeError:
        return None
    return both if type(both) is tuple and hasattr(both[1], "dtype") else None


def create_missing_by(create: Callable[[Tensor, str], Any]) -> None:
    """Have `create(tensor, name)` give the attributes that a tensor lacks, as `__getattr__` would.

    Called by `compiled` when it is first imported. A class with `__getattr__` loses CPython's quick path to attributes:
    0.02 us for each, or 12 % of `x * x` under a tape (1.59 to 1.77 us), which only programs that compile something pay.
    """
    Tensor.__getattr__ = create  # type: ignore[attr-defined]


def key_of(thing: Any) -> int:
    """The key by which tapes know a tensor or variable, assigned now if there is none."""
    key: int = thing._key
    if not key:
        key = thing._key = next_key()
    return key


class Reference:
    """A hashable stand-in for a tensor or variable; equal only to a reference to the very same object."""

    __slots__ = ("__weakref__", "_object")

    def __init__(self, value: Any) -> None:
        self._object = value

    def deref(self) -> Any:
        """The object referred to."""
        return self._object

    def __hash__(self) -> int:
        return id(self._object)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._object is other._object

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._object!r}>"


def array_text(array: Any, show: Callable[[Any], str]) -> str:
    """The text of an array in a tensor's repr or str. In a repr, a scalar shows all the digits of its value."""
    array = dtypes.plain(array)
    if array.ndim == 0:
        text = repr(array.item()) if show is repr else str(array[()])
    else:
        text = show(array)
    return "\n" + text if "\n" in text else text


def _read_only(array: Any, dtype: Any, copy: bool | None) -> ndarray:
    if copy:
        return np.array(array, dtype=dtype)
    view = np.asarray(array, dtype=dtype)
    if view is array:
        view = array.view()
        view.flags.writeable = False
    elif copy is False:
        raise ValueError(f"an array of dtype {array.dtype} cannot be seen as {view.dtype} without a copy")
    return view


def export_dlpack(array: Any, **options: Any) -> Any:
    """DLPack for an immutable value: read-only where the consumer can be told so, a copy where it cannot."""
    version = options.get("max_version")
    if version is not None and version[0] >= 1:
        return _read_only(array, None, None).__dlpack__(**options)
    return array.copy().__dlpack__(**options)


def _unpickle(array: ndarray) -> Tensor:
    return wrap(array)
