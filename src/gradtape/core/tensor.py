"""Tensor: an immutable value, and how Python and NumPy values become one.

Nothing here computes: Python's operators are put on the class by `ops`, and a list that holds tensors is stacked by
`structural`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ..engine.arrays import is_traced, xp
from ..engine.devices import name_of
from . import dtypes
from .dtypes import DType
from .errors import DTypeError, InvalidArgumentError, OperatorNotAllowedInGraphError
from .shapes import TensorShape
from .trace_errors import NoArrayError, NoNumpyError, no_value
from .types import DTypeLike, ShapeLike, TensorLike

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
    """A method that traced tensors lack, so that `hasattr(x, "numpy")` is False, as in TensorFlow."""

    def __init__(self, method: Callable[[Any], Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __call__(self, tensor: Any) -> Any:
        return self.__get__(tensor)()

    def __get__(self, tensor: Any, owner: Any = None) -> Callable[..., Any]:
        if tensor is None:
            return self._method
        if type(tensor._array) is not ndarray:
            tensor._concrete(f"tensor.{self._method.__name__}()", NoNumpyError)
        return MethodType(self._method, tensor)


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
    # _both: a second reference to _device where there is also _array, so that its reference count differs.
    __slots__ = ("__weakref__", "_array", "_both", "_device", "_key", "_origin")
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
        return dtypes.of(self._array)

    @property
    def shape(self) -> TensorShape:
        """The length of each axis."""
        return TensorShape._of(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

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
        array = self._array
        return array[()] if array.ndim == 0 else array.copy()

    def ref(self) -> Reference:
        """A hashable stand-in for this very tensor, to use as a dictionary key; `.deref()` gives the tensor back."""
        return Reference(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        return _read_only(self._concrete("np.asarray(tensor)", NoArrayError), dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return export_dlpack(self._concrete("tensor.__dlpack__()"), **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("a scalar tensor has no len()")
        return len(self._array)

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise ValueError(
                f"the truth value of a tensor of shape {tuple(self._array.shape)} is ambiguous: only a single element "
                "is true or false. Use reduce_any(...) or reduce_all(...), or where(...) to choose element by element"
            )
        return bool(self._concrete("bool(tensor), which `if`, `while`, `and`, `or` and `not` ask for,"))

    def __float__(self) -> float:
        return float(self._single("float"))

    def __int__(self) -> int:
        return int(self._single("int"))

    def __complex__(self) -> complex:
        return complex(self._single("complex"))

    def __index__(self) -> int:
        if self._array.dtype.kind not in "iu" or self._array.ndim:
            raise TypeError(
                f"only a scalar integer tensor can be an index, not one of shape {tuple(self._array.shape)} "
                f"and dtype {self.dtype.name}"
            )
        return int(self._concrete("int(tensor), which range() and Python's lists ask for,"))

    def _single(self, wanted: str) -> Any:
        if self._array.size != 1:
            raise TypeError(
                f"only a tensor of one element becomes a Python {wanted}, not one of shape {tuple(self._array.shape)}"
            )
        return self._concrete(f"{wanted}(tensor)").item()

    def _concrete(self, asked: str, kind: type[Exception] = OperatorNotAllowedInGraphError) -> Any:
        """The array, for an operation `asked` that needs its values; raises if it is traced."""
        array = self._array
        if is_traced(array):
            raise no_value(asked, array, kind)
        return array

    def __format__(self, spec: str) -> str:
        return str(self) if is_traced(self._array) and not spec else format(self.numpy(), spec)

    def __repr__(self) -> str:
        if is_traced(self._array):
            return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, traced>"
        return (
            f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={array_text(self._array, repr)}>"
        )

    def __str__(self) -> str:
        if is_traced(self._array):
            return f"tf.Tensor(traced, shape={self.shape}, dtype={self.dtype.name})"
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


_new = object.__new__
next_key = itertools.count(1).__next__


def wrap(array: Any) -> Tensor:
    """A tensor that holds `array`, which nobody may write into from now on."""
    tensor = _new(Tensor)
    tensor._array = array
    tensor._key = 0
    return tensor


def array_of(tensor: Tensor) -> Any:
    """The array that a tensor has, NumPy's or compiled code's, for its shape and dtype."""
    try:
        return device_of(tensor)
    except AttributeError:
        return tensor._array


device_of = Tensor.__dict__[
    "_device"
].__get__  # raises where there is none, whatever `create_missing_by` was given


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


# ---------------------------------------------------------------------------------------------------------------------
# Conversion


_FLOAT32 = np.dtype(np.float32)
_INT32 = np.dtype(np.int32)
_PYTHON_NUMBERS = {bool: 0, int: 1, float: 2, complex: 3}  # and which dtypes can hold them: see _RANK
_scalars: dict[Any, Tensor] = {}


def convert(value: Any, dtype: Any = None, hint: Any = None) -> Tensor:
    """A tensor for any value that can be one. `dtype` (NumPy's) must be met; `hint` is met where nothing is lost.

    Variables and the like are read through their `_read` method.
    """
    kind = type(value)
    if kind is Tensor:
        tensor: Tensor = value
    elif kind in _PYTHON_NUMBERS:
        return scalar(value, dtype or _accepting(value, hint))
    elif hasattr(kind, "_read"):
        tensor = value._read()
    elif isinstance(value, (list, tuple)):
        return _from_sequence(value, dtype, hint)
    elif kind is range:
        return _from_sequence(list(value), dtype, hint)
    else:
        return wrap(_from_array(value, dtype, hint))
    if dtype is not None and tensor._array.dtype != dtype:
        raise DTypeError(
            f"a tensor of dtype {tensor.dtype.name} was given where {dtypes.as_dtype(dtype).name} is needed: "
            f"use cast(x, {dtypes.as_dtype(dtype).name!r})"
        )
    return tensor


def scalar(value: Any, dtype: Any) -> Tensor:
    """A tensor for one Python number, from a cache of those that a program uses again and again."""
    key = (value or repr(value), dtype, type(value))  # 0.0 == -0.0
    tensor = _scalars.get(key)
    if tensor is None:
        tensor = wrap(_number(value, dtype))
        if len(_scalars) > 1000:
            _scalars.clear()
        _scalars[key] = tensor
    if tensor._key:  # a tape watches it: it is not shared
        tensor = wrap(tensor._array)
    return tensor


_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


def _accepting(value: Any, hint: Any) -> Any:
    """The hinted dtype if it can hold such a Python number, else the number's own."""
    return hint if hint is not None and _RANK.get(hint.kind, -1) >= _PYTHON_NUMBERS[type(value)] else None


_FLOAT32_MAX = float(np.finfo(np.float32).max)


def _number(value: Any, dtype: Any) -> ndarray:
    if dtype is None:
        dtype = _python_dtype(value)
        if dtype is _FLOAT32 and _FLOAT32_MAX < abs(value) < float("inf"):
            raise _too_large(value)
    elif _PYTHON_NUMBERS[type(value)] > _RANK.get(dtype.kind, -1):
        raise DTypeError(
            f"{value!r} is not a value of dtype {dtypes.as_dtype(dtype).name}: give one that is, or cast the tensor"
        )
    try:
        if (
            isinstance(value, (float, int)) and abs(value) > 65504
        ):  # overflows float16, perhaps float32: to inf
            with np.errstate(over="ignore"):
                return np.asarray(value, dtype)
        return np.asarray(value, dtype)
    except (OverflowError, TypeError) as error:  # TypeError: a long integer for bfloat16
        if dtype.kind in "iu":  # TensorFlow wraps around
            return np.asarray(value & ((1 << 8 * dtype.itemsize) - 1), f"u{dtype.itemsize}").astype(dtype)
        raise InvalidArgumentError(f"{value!r} does not fit dtype {dtypes.as_dtype(dtype).name}") from error


def _too_large(value: Any) -> InvalidArgumentError:
    return InvalidArgumentError(f"{_shorten(value)} is too large for float32: say dtype='float64'")


def _python_dtype(value: Any) -> Any:
    if isinstance(value, bool):
        return np.dtype(bool)
    if isinstance(value, int):
        if -(1 << 31) <= value < 1 << 31:
            return _INT32
        if -(1 << 63) <= value < 1 << 63:
            return np.dtype(np.int64)
        raise _too_many_bits(value)
    return _FLOAT32 if isinstance(value, float) else np.dtype(np.complex128)


def _too_many_bits(value: Any) -> InvalidArgumentError:
    return InvalidArgumentError(f"{_shorten(value)} does not fit 64 bits: no integer dtype can hold it")


def _from_sequence(value: Any, dtype: Any, hint: Any) -> Tensor:
    """A tensor for a nested list. NumPy values in it count as numbers: int64 ones become int32, as in TensorFlow."""
    if _holds_tensors(value):
        from .structural import pack  # stacking is an operation, and operations convert their inputs

        return pack(value, dtype or hint)
    try:
        array = np.array(value)
    except ValueError as error:
        raise ValueError(
            f"a list whose rows differ in length or depth is no tensor: {_shorten(value)}. Pad the rows to one length"
        ) from error
    kind = array.dtype.kind
    if kind in "OUS":
        return wrap(_from_objects(array, value, dtype, hint))
    _known_dtype(array)
    first = _first_leaf(value)
    if isinstance(first, (bool, np.bool_)) and kind != "b":
        raise ValueError(f"a list that mixes booleans with numbers is no tensor: {_shorten(value)}")
    if dtype is not None:
        if array.size and _RANK[kind] > _RANK.get(dtype.kind, -1):
            raise DTypeError(
                f"{_shorten(value)} has elements that are not of dtype {dtypes.as_dtype(dtype).name}"
            )
        return wrap(_cast(array, dtype))
    if hint is not None and (not array.size or _RANK[kind] <= _RANK.get(hint.kind, -1)):
        return wrap(_cast(array, hint))
    return wrap(_by_default(array, value, first))


def _by_default(array: ndarray, value: Any, first: Any) -> ndarray:
    """A list of numbers in TensorFlow's dtype for it: float32 or the first element's own; int32 if all fit."""
    kind = array.dtype.kind
    if kind in "fV":
        own = getattr(first, "dtype", None)
        if own is not None and own.kind in "fV":
            return _cast(array, own)
        result = _cast(array, _FLOAT32)
        if (np.isinf(result) > np.isinf(array)).any():
            raise _too_large(value)
        return result
    if kind in "iu":
        result = array.astype(_INT32)
        if (result == array).all():
            return result
        if array.max() >= 1 << 63:
            raise _too_many_bits(value)
        return array.astype(np.int64)
    return array.astype(np.complex128) if kind == "c" else array


def _cast(array: ndarray, dtype: Any) -> ndarray:
    with np.errstate(all="ignore"):
        return array.astype(dtype, copy=False)


def _from_objects(array: ndarray, value: Any, dtype: Any, hint: Any) -> ndarray:
    """A list of which NumPy made objects or text: integers beyond 64 bits, text, or an error."""
    numbers: list[Any] = []
    others: list[Any] = []
    for leaf in _leaves(value):
        (numbers if isinstance(leaf, (int, float, complex)) else others).append(leaf)
    if not numbers:
        return _strings(array, value, dtype)
    if not others:
        wanted = dtype or hint
        if wanted is None or wanted.kind not in "fV":
            raise _too_many_bits(value)
        return array.astype(np.float64).astype(wanted)
    if isinstance(others[0], (str, bytes)):
        raise ValueError(f"a list that mixes text and numbers is no tensor: {_shorten(value)}")
    raise _not_an_element(value, others[0])


def _not_an_element(value: Any, element: Any) -> ValueError:
    return ValueError(
        f"{_shorten(value)} cannot become a tensor: it holds {_shorten(element)} of type {type(element).__name__}; "
        "numbers, booleans, text and rows of one length can"
    )


def _known_dtype(array: ndarray) -> None:
    try:
        dtypes.of(array)
    except TypeError:
        raise DTypeError(
            f"an array of dtype {array.dtype} is no tensor: there is no such dtype here. Use .astype(...) first"
        ) from None


def _leaves(value: Any) -> Iterator[Any]:
    for element in value:
        if isinstance(element, (list, tuple)):
            yield from _leaves(element)
        else:
            yield element


def _first_leaf(value: Any) -> Any:
    return next(_leaves(value), None)


_GRADIENT = (
    ". Gradients are None where the target does not depend on the source: tape.explain(target, source) says why, and "
    "tape.gradient(target, source, unconnected_gradients='zero') gives zeros instead"
)


def _from_array(value: Any, dtype: Any, hint: Any) -> ndarray:
    """A private copy of a NumPy array, scalar, or anything NumPy can read as one."""
    if isinstance(value, (str, bytes)) or (isinstance(value, np.generic) and value.dtype.kind in "SU"):
        return _strings(np.asarray(value), value, dtype)
    if isinstance(value, int):  # a subclass, such as an enum
        return _number(int(value), dtype or _accepting(int(value), hint))
    if value is None or isinstance(value, (dict, set, frozenset)) or callable(value):
        raise ValueError(
            f"{_shorten(value)} of type {type(value).__name__} is no tensor, nor can it become one"
            + (_GRADIENT if value is None else "")
        )
    try:
        array = value if is_traced(value) else np.array(value)
    except Exception as error:
        raise ValueError(
            f"{_shorten(value)} of type {type(value).__name__} cannot become a tensor: {error}"
        ) from error
    if array.dtype.kind in "OSU":
        return _strings(array, value, dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    _known_dtype(array)
    kind = array.dtype.kind
    if dtype is not None:
        if dtype.kind == "O" or (kind == "c" and dtype.kind != "c"):
            raise DTypeError(
                f"an array of dtype {array.dtype} was given where {dtypes.as_dtype(dtype).name} is needed: "
                "convert it with .astype(...) first"
            )
        return _cast(array, dtype)
    if hint is not None and hint != array.dtype and _RANK.get(kind, 4) <= _RANK.get(hint.kind, -1):
        return _cast(array, hint)
    return array


def _strings(array: ndarray, value: Any, dtype: Any) -> ndarray:
    """String elements are held as `bytes` in an object array, as TensorFlow shows them."""
    if dtype is not None and dtype.kind != "O":
        raise DTypeError(f"{_shorten(value)} is text, not of dtype {dtypes.as_dtype(dtype).name}")
    result = np.empty(array.shape, object)
    for index, element in np.ndenumerate(array):
        if isinstance(element, str):
            element = element.encode()
        if not isinstance(element, bytes):
            raise _not_an_element(value, element)
        result[index] = bytes(element)
    return result


def _holds_tensors(value: Any) -> bool:
    """Return whether a nested list holds a tensor or variable."""
    for element in value:
        kind = type(element)
        if kind in _PYTHON_NUMBERS:
            continue
        if kind is Tensor or hasattr(kind, "_read"):
            return True
        if isinstance(element, (list, tuple)) and _holds_tensors(element):
            return True
    return False


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str | None = "Const",
) -> Tensor:
    """A tensor with the given value.

    Args:
        value: a number, an array, or nested lists of them.
        dtype: by default the array's own; of Python numbers int32 (int64 if needed), float32 or complex128.
        shape: reshapes the value, or repeats a single one.

    Raises:
        TypeError: if the value is not of the dtype, or has another number of elements than the shape.
        ValueError: if the value is no tensor, as a list whose rows differ in length.

    >>> constant([1, 2, 3])
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 2, 3], dtype=int32)>
    >>> constant(0.5, shape=(2, 2)).numpy()
    array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float32)
    """
    given: Any = value
    if hasattr(type(given), "_read"):  # a variable's value now, and no gradient flows to it
        traced = is_traced(getattr(given, "_array", None))
        given = given._array if traced else given.numpy()
    tensor = convert_to_tensor(given, dtype)
    if shape is None:
        return tensor
    wanted = TensorShape(shape)
    if not wanted.is_fully_defined():
        raise InvalidArgumentError(f"constant: the shape {shape!r} leaves a length open; all must be known")
    array = tensor._array
    if wanted.num_elements() >= 1 << 60:  # type: ignore[operator]  # it is fully defined
        raise InvalidArgumentError(f"constant: the shape {wanted} is too large for any memory")
    if array.size == 1:
        return wrap(xp(array).full(wanted, array.reshape(()), array.dtype))
    if array.size != wanted.num_elements():
        raise DTypeError(  # TensorFlow's is a TypeError
            f"constant: {array.size} elements cannot fill the shape {wanted}; give one element or exactly as many"
        )
    return wrap(array.reshape(wanted))


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The tensor for a value: a tensor itself, a variable, a NumPy array, a number, or nested lists of these.

    Args:
        value: the value; gradients flow through it.
        dtype: the dtype to convert to. Tensors and variables are not cast.
        dtype_hint: a dtype to convert to if nothing is lost by it.

    Raises:
        TypeError: if the value is not of `dtype`.
        ValueError: if the value is no tensor.

    >>> convert_to_tensor([1.0, 2.0]).dtype
    tf.float32
    """
    given: Any = value
    if hasattr(type(given), "_as_tensor"):
        given = given._as_tensor()
    tensor = convert(
        given,
        None if dtype is None else dtypes.as_dtype(dtype).numpy_dtype,
        None if dtype_hint is None else dtypes.as_dtype(dtype_hint).numpy_dtype,
    )
    return _fresh(tensor, given)


def floating_tensor(name: str, value: TensorLike, *, allow_complex: bool = False) -> Tensor:
    """A value as a tensor of a floating dtype, for the operation `name`; DTypeError if it has another."""
    tensor = convert(value)
    if tensor.dtype.is_floating or (allow_complex and tensor.dtype.is_complex):
        return tensor
    wanted = "floating or complex" if allow_complex else "floating"
    raise DTypeError(f"{name} takes {wanted} tensors, not {tensor.dtype.name}: use cast(x, 'float32')")


def _fresh(tensor: Tensor, value: Any) -> Tensor:
    """A tensor of its own for a number: those of `scalar` are shared, but two constants are two to a tape."""
    return wrap(tensor._array) if type(value) in _PYTHON_NUMBERS else tensor


def is_tensor(x: Any) -> bool:
    """Return whether `x` is a tensor, a variable or `IndexedSlices`.

    >>> is_tensor(constant(1.0)), is_tensor(1.0)
    (True, False)
    """
    return type(x) is Tensor or hasattr(type(x), "_read")
