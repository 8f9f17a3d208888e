"""The dtypes as objects: `gradtape.float32` and its kin, `as_dtype`, and `cast`'s view of which is which.

NumPy's dtypes do the work inside; a `DType` is what users see, name and compare.
"""

from __future__ import annotations

import builtins
from functools import cached_property
from typing import Any

import numpy as np

from .errors import DTypeError

IN_ML_DTYPES = ("bfloat16", "float8_e5m2", "float8_e4m3fn")  # dtypes that NumPy itself does not have
_QUANTIZED = {
    "qint8": np.int8,
    "quint8": np.uint8,
    "qint16": np.int16,
    "quint16": np.uint16,
    "qint32": np.int32,
}


class DType:
    """The type of a tensor's elements. There is one object for each; compare freely with names and NumPy dtypes.

    >>> float32 == "float32", float32 == np.float32, float32.is_floating
    (True, True, True)
    """

    __slots__ = ("__dict__", "_enum", "_name")

    def __init__(self, name: str, enum: int) -> None:
        self._name = name
        self._enum = enum

    @property
    def name(self) -> str:
        """The name, such as `'float32'`."""
        return self._name

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's number for this dtype."""
        return self._enum

    @cached_property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the arrays that hold such elements."""
        if self._name == "string":
            return np.dtype(object)
        if self._name in IN_ML_DTYPES:
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, self._name))
        if (
            self._name in _QUANTIZED
        ):  # a field of that name: arrays can be rearranged and compared, not computed with
            return np.dtype([(self._name, _QUANTIZED[self._name])])
        return np.dtype(self._name)

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type, such as `np.float32`; of a quantized dtype NumPy's dtype with one field."""
        if self.is_quantized:
            return self.numpy_dtype
        return object if self._name == "string" else self.numpy_dtype.type

    @property
    def base_dtype(self) -> DType:
        return self

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real part: float32 for complex64."""
        return {"complex64": float32, "complex128": float64}.get(self._name, self)

    @cached_property
    def is_floating(self) -> builtins.bool:
        """True for float16, float32, float64, bfloat16 and the floats of 8 bits (not for complex dtypes)."""
        return "float" in self._name

    @cached_property
    def has_gradients(self) -> builtins.bool:
        """Whether gradients pass through a cast from and to it: floating of 16 bits or more, and complex."""
        return self.is_complex or (self.is_floating and not self._name.startswith("float8"))

    @cached_property
    def is_complex(self) -> builtins.bool:
        return self._name.startswith("complex")

    @cached_property
    def is_integer(self) -> builtins.bool:
        return "int" in self._name and not self.is_quantized

    @cached_property
    def is_quantized(self) -> builtins.bool:
        """True for qint8, quint8, qint16, quint16 and qint32: integers that stand for numbers of a range."""
        return self._name in _QUANTIZED

    @cached_property
    def is_unsigned(self) -> builtins.bool:
        return self._name.startswith("uint")

    @cached_property
    def is_bool(self) -> builtins.bool:
        return self._name == "bool"

    @property
    def is_numeric(self) -> builtins.bool:
        return not (self.is_bool or self._name == "string")

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        return True

    @property
    def size(self) -> int:
        """Bytes an element takes (0 for string, as in TensorFlow: each takes its own)."""
        return 0 if self._name == "string" else self.numpy_dtype.itemsize

    @property
    def min(self) -> Any:
        """The smallest (most negative) value."""
        return self._limits()[0]

    @property
    def max(self) -> Any:
        """The largest value."""
        return self._limits()[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of intensities in an image of this dtype: (0, 1) for floats, (0, max) for integers."""
        if self.is_integer:
            return 0, self.max
        if self._name in ("float32", "float64", "bool"):
            return 0, 1
        raise ValueError(f"{self!r} has no limits for intensities: float32, float64, bool and integers have")

    def _limits(self) -> tuple[Any, Any]:
        if self.is_integer:
            info = np.iinfo(self.numpy_dtype)
            return int(info.min), int(info.max)
        if self._name in IN_ML_DTYPES:
            import ml_dtypes

            small = ml_dtypes.finfo(self.numpy_dtype)
            return small.min, small.max
        if self.is_floating:
            floating = np.finfo(self.numpy_dtype)
            return floating.min, floating.max
        raise TypeError(f"{self!r} has no minimum or maximum: only floating and integer dtypes have")

    def is_compatible_with(self, other: Any) -> builtins.bool:
        return self == other

    def __eq__(self, other: object) -> builtins.bool:
        if type(other) is DType:
            return other is self
        if other is None:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self) -> int:
        return self._enum

    def __repr__(self) -> str:
        return f"tf.{self._name}"

    def __str__(self) -> str:
        return f"<dtype: {self._name!r}>"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return as_dtype, (self._name,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: Any) -> DType:
        return self

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype under the name NumPy looks for, so that `np.zeros(3, gradtape.float32)` works."""
        return self.numpy_dtype


float16 = half = DType("float16", 19)
float32 = DType("float32", 1)
float64 = double = DType("float64", 2)
bfloat16 = DType("bfloat16", 14)
int8 = DType("int8", 6)
int16 = DType("int16", 5)
int32 = DType("int32", 3)
int64 = DType("int64", 9)
uint8 = DType("uint8", 4)
uint16 = DType("uint16", 17)
uint32 = DType("uint32", 22)
uint64 = DType("uint64", 23)
bool = DType("bool", 10)
complex64 = DType("complex64", 8)
complex128 = DType("complex128", 18)
string = DType("string", 7)
qint8 = DType("qint8", 11)
quint8 = DType("quint8", 12)
qint16 = DType("qint16", 15)
quint16 = DType("quint16", 16)
qint32 = DType("qint32", 13)
float8_e5m2 = DType("float8_e5m2", 24)
float8_e4m3fn = DType("float8_e4m3fn", 25)

ALL = (
    float16, float32, float64, bfloat16, int8, int16, int32, int64,
    uint8, uint16, uint32, uint64, bool, complex64, complex128, string, float8_e5m2, float8_e4m3fn,
    qint8, quint8, qint16, quint16, qint32,
)  # fmt: skip

QUANTIZED_DTYPES = frozenset([qint8, quint8, qint16, quint16, qint32])

_BY_NAME: dict[Any, DType] = {dtype.name: dtype for dtype in ALL} | {
    "half": float16,
    "float": float32,
    "double": float64,
}
_BY_NUMPY: dict[Any, DType] = {dtype.numpy_dtype: dtype for dtype in ALL if dtype.name not in IN_ML_DTYPES}
_BY_PYTHON: dict[Any, DType] = {
    float: float32,
    int: int32,
    builtins.bool: bool,
    complex: complex128,
    str: string,
    object: string,
    np.object_: string,
}
_BY_ENUM: dict[int, DType] = {dtype.as_datatype_enum: dtype for dtype in ALL}


def as_dtype(type_value: Any) -> DType:
    """The `DType` for a name, a NumPy dtype or scalar type, a Python type, TensorFlow's number, or a `DType` itself.

    Args:
        type_value: any of these.

    >>> as_dtype("float64"), as_dtype(np.int32), as_dtype(float)
    (tf.float64, tf.int32, tf.float32)
    """
    if type(type_value) is DType:
        return type_value
    found = None
    if isinstance(type_value, str):  # TensorFlow's names only: NumPy knows many more, such as "a" and "f4,f4"
        found = _BY_NAME.get(type_value)
    elif isinstance(type_value, (type, np.dtype)):
        found = _BY_NUMPY.get(type_value) or _BY_PYTHON.get(type_value) or _from_numpy(type_value)
    elif type(type_value) is int:
        found = _BY_ENUM.get(type_value)
    if found is None:
        raise TypeError(
            f"{type_value!r} is not a dtype gradtape knows. It knows {', '.join(sorted(_BY_NAME))}, "
            "and NumPy's dtypes of the same names"
        )
    return found


def floating(name: str, dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype for the floating dtype that an argument of the operation `name` asks for; else DTypeError."""
    wanted = as_dtype(dtype)
    if not wanted.is_floating:
        raise DTypeError(f"{name}: dtype must be floating, not {wanted.name}")
    return wanted.numpy_dtype


def _from_numpy(type_value: Any) -> DType | None:
    try:
        numpy_dtype = np.dtype(type_value)
    except TypeError:
        return None
    if numpy_dtype.kind in "SU":
        return string
    return _BY_NAME.get(numpy_dtype.name) if numpy_dtype.kind != "O" else None


def of(array: Any) -> DType:
    """The `DType` of an array."""
    found = _BY_NUMPY.get(array.dtype)
    if found is None:
        found = _BY_NUMPY[array.dtype] = as_dtype(array.dtype)
    return found


def is_on_host(array: Any) -> builtins.bool:
    """Return whether compiled code cannot hold the array: strings, and quantized numbers."""
    return array.dtype.kind == "O" or array.dtype.names is not None


def plain(array: Any) -> Any:
    """The integers of a quantized array, as TensorFlow's `numpy()` gives them; another array as it is."""
    names = array.dtype.names
    return array if names is None else array[names[0]]


HALF = "eE"  # the characters of NumPy's dtypes for float16 and bfloat16: `array.dtype.char in HALF`


def is_differentiable(array: Any) -> builtins.bool:
    """Return whether the dtype is floating of 16 bits or more (bfloat16 is "E") or complex, so that gradients exist."""
    return array.dtype.char in "fdeEFDgG"
