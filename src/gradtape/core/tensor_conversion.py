"""How Python's and NumPy's values become tensors.

A list that holds tensors is stacked by `structural`, which is an operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy import ndarray

from ..engine.arrays import is_traced, xp
from . import dtypes
from .composite import CompositeTensor, NotDense
from .errors import DTypeError, InvalidArgumentError
from .observers import Observer, imported, observers
from .shapes import TensorShape
from .tensor import Tensor, wrap
from .types import DTypeLike, ShapeLike, TensorLike

_FLOAT32 = np.dtype(np.float32)
_INT32 = np.dtype(np.int32)
_PYTHON_NUMBERS = {bool: 0, int: 1, float: 2, complex: 3}  # and which dtypes can hold them: see _RANK
_scalars: dict[Any, Tensor] = {}


def convert(value: Any, dtype: Any = None, hint: Any = None) -> Tensor:
    """A tensor for any value that can be one. `dtype` (NumPy's) must be met; `hint` is met where nothing is lost.

    Variables and the like are read through their `_read` method, objects of other libraries through `__tf_tensor__`.
    """
    kind = type(value)
    if kind is Tensor:
        tensor: Tensor = value
    elif kind in _PYTHON_NUMBERS:
        return scalar(value, dtype or _accepting(value, hint))
    elif hasattr(kind, "_read"):
        tensor = value._read()
    elif isinstance(value, (list, tuple)) or kind is range:
        value = list(value) if kind is range else value
        tensor = _from_sequence(value, dtype, hint)
        if observers:
            imported(value, tensor._array)
        return tensor
    elif hasattr(kind, "__tf_tensor__"):
        tensor = value.__tf_tensor__(None if dtype is None else dtypes.as_dtype(dtype))
    else:
        array = _from_array(value, dtype, hint)
        if observers:
            imported(value, array)
        return wrap(array)
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
        if observers:  # `observe` has emptied the cache, so that every number comes along here
            imported(value, tensor._array)
            return tensor
        if len(_scalars) > 1000:
            _scalars.clear()
        _scalars[key] = tensor
    if tensor._key:  # a tape watches it: it is not shared
        tensor = wrap(tensor._array)
    return tensor


def observe(observer: Observer) -> None:
    """Tell an observer of all events from now on."""
    from .primitive import leave_hot  # which imports this

    leave_hot("somebody observes")
    _scalars.clear()
    observers.append(observer)


def unobserve(observer: Observer) -> None:
    """Tell an observer of no more events."""
    observers.remove(observer)


_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


def _rank(dtype: Any) -> int:
    """How much a dtype can hold: 0 booleans, 1 integers, 2 real and 3 complex numbers; -1 none of them."""
    return _RANK.get(dtype.kind, -1) if dtype.names is None else 1  # quantized numbers are integers


def _accepting(value: Any, hint: Any) -> Any:
    """The hinted dtype if it can hold such a Python number, else the number's own."""
    return hint if hint is not None and _rank(hint) >= _PYTHON_NUMBERS[type(value)] else None


_FLOAT32_MAX = float(np.finfo(np.float32).max)


def _number(value: Any, dtype: Any) -> ndarray:
    if dtype is None:
        dtype = _python_dtype(value)
        if dtype is _FLOAT32 and _FLOAT32_MAX < abs(value) < float("inf"):
            raise _too_large(value)
    elif _PYTHON_NUMBERS[type(value)] > _rank(dtype):
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
    if value and type(value[0]) in _TEXT and _TEXT.issuperset(map(type, value)):
        return wrap(_strings(np.fromiter(value, object, len(value)), value, dtype))
    if _holds_tensors(value):
        from .structural import pack  # stacking is an operation, and operations convert their inputs

        return pack(value, dtype, hint)
    try:
        array = np.array(value)
    except UnicodeDecodeError:  # text beside bytes that are no ASCII
        array = np.array(value, object)
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
        if array.size and _RANK[kind] > _rank(dtype):
            raise DTypeError(
                f"{_shorten(value)} has elements that are not of dtype {dtypes.as_dtype(dtype).name}"
            )
        return wrap(_cast(array, dtype))
    if hint is not None and (not array.size or _RANK[kind] <= _rank(hint)):
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
        array = value if type(value) is not ndarray and is_traced(value) else np.array(value)
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
    if hint is not None and hint != array.dtype and _RANK.get(kind, 4) <= _rank(hint):
        return _cast(array, hint)
    return array


def _strings(array: ndarray, value: Any, dtype: Any) -> ndarray:
    """String elements are held as `bytes` in an object array, as TensorFlow shows them."""
    if dtype is not None and dtype.kind != "O":
        raise DTypeError(f"{_shorten(value)} is text, not of dtype {dtypes.as_dtype(dtype).name}")
    if array.dtype.kind in "SU" and not isinstance(value, ndarray):
        array = np.array(value, object)  # NumPy's own arrays of text end where zeros begin
    elements = array.reshape(-1).tolist()
    if not _BYTES.issuperset(map(type, elements)):
        elements = [_as_bytes(element, value) for element in elements]
    return np.fromiter(elements, object, len(elements)).reshape(array.shape)


_BYTES = frozenset([bytes])
_TEXT = frozenset([bytes, str])


def _as_bytes(element: Any, value: Any) -> bytes:
    if isinstance(element, str):
        return element.encode()
    if not isinstance(element, bytes):
        raise _not_an_element(value, element)
    return bytes(element)


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
    if isinstance(given, CompositeTensor):
        raise NotDense(given)
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
    """Return whether `x` is a tensor, a variable, `IndexedSlices`, or a sparse or ragged tensor.

    >>> is_tensor(constant(1.0)), is_tensor(1.0)
    (True, False)
    """
    return type(x) is Tensor or hasattr(type(x), "_read")
