"""The public namespace `gradtape.experimental.numpy`: some of NumPy's functions on tensors, with NumPy's dtypes.

Python floats are float64 and ints int64 here, tensors of different dtypes mix as arrays do, and gradients flow.
"""

from __future__ import annotations

import builtins
import math as _math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from .. import math as _tf
from ..core import dtypes
from ..core.errors import DTypeError, InvalidArgumentError, ResourceExhaustedError
from ..core.shapes import TensorShape
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert, is_tensor
from ..core.types import Axes, Axis, DTypeLike, ShapeLike, TensorLike
from ..names.missing import closed
from ..ops.array import movement as _movement
from ..ops.array.arrange import repeat as _repeat
from ..ops.array.arrange import reverse as _reverse
from ..ops.array.creation import linspace_nd as _linspace
from ..ops.array.creation import ones as _ones
from ..ops.array.creation import steps as _steps
from ..ops.array.creation import zeros as _zeros
from ..ops.known import afford as _afford
from ..ops.linalg.products import matmul as _matmul
from ..ops.scalars import integer as _integer

__all__ = [
    "abs",
    "absolute",
    "add",
    "all",
    "amax",
    "amin",
    "any",
    "arange",
    "argmax",
    "argmin",
    "array",
    "asarray",
    "bool_",
    "broadcast_to",
    "ceil",
    "clip",
    "complex64",
    "complex128",
    "concatenate",
    "cos",
    "divide",
    "dot",
    "dstack",
    "e",
    "equal",
    "exp",
    "expand_dims",
    "eye",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "floor",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hstack",
    "identity",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "log",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "ndarray",
    "ndim",
    "negative",
    "newaxis",
    "not_equal",
    "ones",
    "ones_like",
    "pi",
    "power",
    "prod",
    "ravel",
    "repeat",
    "reshape",
    "result_type",
    "select",
    "shape",
    "sign",
    "sin",
    "size",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "tile",
    "transpose",
    "true_divide",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "var",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]

ndarray = Tensor
newaxis = None
pi, e, inf = _math.pi, _math.e, _math.inf
float16, float32, float64 = np.float16, np.float32, np.float64
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
bool_, complex64, complex128 = np.bool_, np.complex64, np.complex128

# ---------------------------------------------------------------------------------------------------------------------
# Dtypes


def _kind(x: Any) -> Any:
    """The argument for NumPy's promotion: a dtype, or a plain Python number, which gives way."""
    if is_tensor(x):
        return x.dtype.numpy_dtype
    return x if type(x) in (bool, int, float, complex) else array(x).dtype.numpy_dtype


def _together(*xs: Any) -> list[Tensor]:
    """The values as tensors of the dtype that NumPy's promotion gives."""
    common = _promoted(xs)
    return [array(x, common) for x in xs]


def _promoted(xs: Any) -> Any:
    """The dtype that NumPy's promotion gives."""
    if not xs:
        raise InvalidArgumentError("experimental.numpy: at least one array is needed, and none was given")
    kinds = [_kind(x) for x in xs]
    try:
        return np.result_type(*kinds)
    except TypeError:
        raise DTypeError(f"experimental.numpy: {kinds} have no dtype in common: cast one") from None


def _inexact(x: Any) -> Tensor:
    """As a tensor; integers become float64."""
    tensor = array(x)
    exact = tensor.dtype.is_integer or tensor.dtype.is_bool
    return _movement.cast(tensor, "float64") if exact else tensor


def finfo(dtype: DTypeLike) -> Any:
    """The limits of a floating dtype.

    Raises:
        DTypeError: for another dtype.

    >>> float(finfo("float32").max) > 3e38
    True
    """
    import ml_dtypes

    known = dtypes.as_dtype(dtype)
    if not (known.is_floating or known.is_complex):
        raise DTypeError(f"finfo: takes a floating dtype, not {known.name}")
    return ml_dtypes.finfo(known.numpy_dtype)


def iinfo(dtype: DTypeLike) -> Any:
    """The limits of an integer dtype.

    Raises:
        DTypeError: for another dtype.

    >>> iinfo("int8").max
    127
    """
    known = dtypes.as_dtype(dtype)
    if not known.is_integer:
        raise DTypeError(f"iinfo: takes an integer dtype, not {known.name}")
    return np.iinfo(known.numpy_dtype)


def result_type(*arrays_and_dtypes: TensorLike | DTypeLike) -> dtypes.DType:
    """The dtype that several values or dtypes, `arrays_and_dtypes`, are promoted to.

    >>> result_type(convert(1.0), 1)
    tf.float32
    """
    return dtypes.as_dtype(_promoted(arrays_and_dtypes))


# ---------------------------------------------------------------------------------------------------------------------
# Creating


_MOST_AXES = 64  # of a NumPy array


def array(val: TensorLike, dtype: DTypeLike | None = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """Create a tensor, of the dtype that NumPy would choose.

    Args:
        val: a number, an array, a tensor, or nested lists.
        dtype: another dtype.
        copy: accepted; no effect, as tensors are immutable.
        ndmin: the least number of axes: new ones come first.

    >>> array([1.0, 2.0]).dtype
    tf.float64
    """
    if is_tensor(val) or (isinstance(val, (list, tuple)) and builtins.any(is_tensor(v) for v in val)):
        tensor = convert(val)
    else:
        tensor = convert(_plain(val))
    if dtype is not None:
        tensor = _movement.cast(tensor, dtypes.as_dtype(dtype))
    rank = _integer("array", "ndmin", ndmin)
    if not rank <= _MOST_AXES:
        raise InvalidArgumentError(f"array: ndmin must be at most {_MOST_AXES}, not {rank}")
    missing = rank - tensor.ndim
    return _movement.reshape(tensor, (1,) * missing + tuple(tensor.shape)) if missing > 0 else tensor


def _plain(value: Any) -> Any:
    """NumPy's array of a value; where it has none, the value, which will be refused."""
    try:
        return np.asarray(value)
    except (ValueError, TypeError):
        return value


def asarray(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """The same as `array`.

    >>> asarray([1, 2]).dtype
    tf.int64
    """
    return array(a, dtype)


def _float64(dtype: Any) -> Any:
    """Python's `float` is NumPy's float64."""
    return float64 if dtype is float else dtype


def zeros(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Zeros, of float64 by default.

    >>> zeros(2).numpy()
    array([0., 0.])
    """
    return _zeros(shape, _float64(dtype))


def ones(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Ones, of float64 by default.

    >>> ones(2).numpy()
    array([1., 1.])
    """
    return _ones(shape, _float64(dtype))


def full(shape: ShapeLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Repeat `fill_value` over a shape.

    >>> full(2, 3).numpy()
    array([3, 3])
    """
    return _movement.broadcast_to(array(fill_value, dtype), shape)


def zeros_like(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of the shape and dtype of `a`.

    >>> zeros_like([1, 2]).numpy()
    array([0, 0])
    """
    like = array(a)
    return _zeros(like.shape, like.dtype if dtype is None else dtype)


def ones_like(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Ones of the shape and dtype of `a`.

    >>> ones_like([1, 2]).numpy()
    array([1, 1])
    """
    like = array(a)
    return _ones(like.shape, like.dtype if dtype is None else dtype)


def full_like(a: TensorLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Repeat `fill_value` over the shape of `a`, in its dtype.

    >>> full_like([1, 2], 3).numpy()
    array([3, 3])
    """
    like = array(a)
    return full(like.shape, fill_value, like.dtype if dtype is None else dtype)


def arange(
    start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: DTypeLike | None = None
) -> Tensor:
    """Numbers from `start` up to `stop`, which is not included, in steps of `step`; `arange(stop)` starts at 0.

    Raises:
        InvalidArgumentError: if `step` is 0, or a number is not finite.

    >>> arange(3).numpy()
    array([0, 1, 2])
    """
    ends = (0, start) if stop is None else (start, stop)
    parts = [array(v)._array for v in (*ends, step)]
    given = ", ".join(str(part.tolist()) for part in parts)
    if builtins.any(part.ndim or part.dtype.kind in "bcO" for part in parts):
        raise DTypeError(f"arange: start, stop and step must be one real number each, not {given}")
    if not builtins.all(np.isfinite(part) for part in parts) or not parts[-1]:
        raise InvalidArgumentError(f"arange: {given} make no range: all must be finite, and step not 0")
    first, last, by = (part[()] for part in parts)
    _afford("arange", (_steps(first, last, by),), 16)
    try:
        made: Any = np.arange(first, last, by)
    except MemoryError as error:
        raise ResourceExhaustedError(f"arange: no memory for {given}: {error}") from error
    return array(made, dtype)


def linspace(start: TensorLike, stop: TensorLike, num: int = 50, dtype: DTypeLike = float) -> Tensor:
    """`num` numbers from `start` to `stop`, both included.

    >>> linspace(0, 1, 3).numpy()
    array([0. , 0.5, 1. ])
    """
    return _movement.cast(_linspace(array(start, float64), array(stop, float64), num), _float64(dtype))


def eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float) -> Tensor:
    """Ones on a diagonal.

    Args:
        N: the number of rows.
        M: the number of columns; `N` by default.
        k: which diagonal: positive above the main one, negative below.
        dtype: float64 by default.

    >>> eye(2).numpy()
    array([[1., 0.], [0., 1.]])
    """
    rows = _integer("eye", "N", N, 0)
    columns = rows if M is None else _integer("eye", "M", M, 0)
    diagonal = _integer("eye", "k", k)
    _afford("eye", (rows, columns), 16)
    return array(np.eye(rows, columns, builtins.max(builtins.min(diagonal, columns), -rows)), _float64(dtype))


def identity(n: int, dtype: DTypeLike = float) -> Tensor:
    """The unit matrix of `n` rows.

    >>> identity(1).numpy()
    array([[1.]])
    """
    return eye(n, dtype=dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Joining


def _at_least(x: Tensor, ndim: int) -> Tensor:
    return _movement.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape)) if x.ndim < ndim else x


def concatenate(arys: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Join the tensors in `arys` along an axis they have.

    >>> concatenate([[1], [2.5]]).numpy()
    array([1. , 2.5])
    """
    return _movement.concat(_together(*arys), axis)


def stack(arrays: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Join the tensors in `arrays` along a new axis.

    >>> stack([1, 2]).numpy()
    array([1, 2])
    """
    return _movement.stack(_together(*arrays), axis)


def hstack(tup: Sequence[TensorLike]) -> Tensor:
    """Join the tensors in `tup` side by side: along the second axis, or the only one.

    >>> hstack([convert([[1.0], [2.0]]), convert([[3.0], [4.0]])]).numpy()
    array([[1., 3.], [2., 4.]], dtype=float32)
    """
    xs = [_at_least(x, 1) for x in _together(*tup)]
    return _movement.concat(xs, 0 if xs[0].ndim == 1 else 1)


def vstack(tup: Sequence[TensorLike]) -> Tensor:
    """Join the tensors in `tup` one below the other: along the first axis, vectors as rows.

    >>> vstack([[1, 2], [3, 4]]).numpy()
    array([[1, 2], [3, 4]])
    """
    return _movement.concat([_at_least(x, 2) for x in _together(*tup)], 0)


def dstack(tup: Sequence[TensorLike]) -> Tensor:
    """Join the tensors in `tup` along the third axis.

    >>> dstack([[1, 2], [3, 4]]).shape
    TensorShape([1, 2, 2])
    """
    xs = [_at_least(x, 2) for x in _together(*tup)]
    return _movement.concat([_movement.expand_dims(x, 2) if x.ndim == 2 else x for x in xs], 2)


# ---------------------------------------------------------------------------------------------------------------------
# Shape


def shape(a: TensorLike) -> TensorShape:
    """The shape.

    >>> shape([[1, 2]])
    TensorShape([1, 2])
    """
    return array(a).shape


def size(a: TensorLike) -> int:
    """The number of elements.

    >>> size([[1, 2]])
    2
    """
    return _math.prod(shape(a))


def ndim(a: TensorLike) -> int:
    """The number of axes.

    >>> ndim([[1, 2]])
    2
    """
    return array(a).ndim


def reshape(a: TensorLike, newshape: ShapeLike) -> Tensor:
    """The same elements in the shape `newshape`, of which one size may be -1.

    >>> reshape([1, 2], (2, 1)).shape
    TensorShape([2, 1])
    """
    return _movement.reshape(array(a), newshape)


def ravel(a: TensorLike) -> Tensor:
    """The elements in a row.

    >>> ravel([[1, 2]]).numpy()
    array([1, 2])
    """
    return _movement.reshape(array(a), (-1,))


def transpose(a: TensorLike, axes: ShapeLike | None = None) -> Tensor:
    """The axes in the order `axes`, reversed by default.

    >>> transpose([[1, 2]]).shape
    TensorShape([2, 1])
    """
    return _movement.transpose(array(a), axes)


def expand_dims(a: TensorLike, axis: Axis) -> Tensor:
    """A new axis of length 1.

    >>> expand_dims([1], 0).shape
    TensorShape([1, 1])
    """
    return _movement.expand_dims(array(a), axis)


def squeeze(a: TensorLike, axis: Axes = None) -> Tensor:
    """Without axes of length 1.

    >>> squeeze([[1]]).shape
    TensorShape([])
    """
    return _movement.squeeze(array(a), axis)


def broadcast_to(array_: TensorLike, shape: ShapeLike) -> Tensor:
    """Repeat `array_` over a shape that it broadcasts to.

    >>> broadcast_to([1], (2,)).numpy()
    array([1, 1])
    """
    return _movement.broadcast_to(array(array_), shape)


def tile(a: TensorLike, reps: ShapeLike) -> Tensor:
    """Repeat the whole tensor `reps` times along each axis.

    >>> tile([1, 2], 2).numpy()
    array([1, 2, 1, 2])
    """
    times = list(_movement.static_shape("tile", reps))
    x = _at_least(array(a), len(times))
    return _movement.tile(x, [1] * (x.ndim - len(times)) + times)


def repeat(a: TensorLike, repeats: TensorLike, axis: Axis | None = None) -> Tensor:
    """Repeat each element `repeats` times, along an axis or in the flat tensor.

    >>> repeat([1, 2], 2).numpy()
    array([1, 1, 2, 2])
    """
    return _repeat(array(a), repeats, axis)


def flip(m: TensorLike, axis: Axes = None) -> Tensor:
    """The elements of `m` in reverse order along axes, all by default.

    >>> flip([1, 2]).numpy()
    array([2, 1])
    """
    x = array(m)
    return _reverse(x, list(range(x.ndim)) if axis is None else axis)


# ---------------------------------------------------------------------------------------------------------------------
# Choosing


def where(condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None) -> Any:
    """`x` where `condition` holds, `y` elsewhere; of a condition alone, the indices along each axis.

    >>> where([True, False], 1.0, 2).numpy()
    array([1., 2.])
    """
    chosen = array(condition, bool)
    if x is None and y is None:
        return _movement.unstack(_tf.where(chosen), axis=1)
    taken, other = _together(x, y)
    return _tf.where(chosen, taken, other)


def select(
    condlist: Sequence[TensorLike], choicelist: Sequence[TensorLike], default: TensorLike = 0
) -> Tensor:
    """Choose element by element, by the first condition that holds.

    Args:
        condlist: conditions.
        choicelist: a tensor for each condition.
        default: for elements for which no condition holds.

    Raises:
        ValueError: if there is no condition, or not one for each choice.

    >>> select([convert([True, False])], [convert([1.0, 2.0])], 9.0).numpy()
    array([1., 9.], dtype=float32)
    """
    if not len(condlist) or len(condlist) != len(choicelist):
        raise ValueError(
            f"select: each condition, at least one, needs a choice; got {len(condlist)} and {len(choicelist)}"
        )
    *choices, result = _together(*choicelist, default)
    for condition, choice in reversed(list(zip(condlist, choices, strict=True))):
        result = _tf.where(array(condition, bool), choice, result)
    return result


def clip(a: TensorLike, a_min: TensorLike | None, a_max: TensorLike | None) -> Tensor:
    """The nearest values in [`a_min`, `a_max`]; None for no bound.

    >>> clip([1, 5], 2, 3).numpy()
    array([2, 3])
    """
    x = array(a)
    if a_min is not None:
        x = maximum(x, a_min)
    return x if a_max is None else minimum(x, a_max)


# ---------------------------------------------------------------------------------------------------------------------
# Element by element


F = TypeVar("F", bound=Callable[..., Any])


# For type checkers: a `Callable` would not know the names of the parameters.
class _Unary(Protocol):
    def __call__(self, x: TensorLike) -> Tensor: ...


class _Binary(Protocol):
    def __call__(self, x1: TensorLike, x2: TensorLike) -> Tensor: ...


class _Reduction(Protocol):
    def __call__(self, a: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor: ...


def _named(function: F, name: str, doc: str) -> F:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _unary(of: Callable[[Any], Tensor], name: str, doc: str, take: Callable[[Any], Tensor] = array) -> _Unary:
    def function(x: TensorLike) -> Tensor:
        return of(take(x))

    return _named(function, name, doc)


def _binary(of: Callable[[Any, Any], Tensor], name: str, doc: str) -> _Binary:
    def function(x1: TensorLike, x2: TensorLike) -> Tensor:
        return of(*_together(x1, x2))

    return _named(function, name, doc)


abs = absolute = _unary(_tf.abs, "abs", "The absolute value.\n\n>>> int(abs(-1))\n1")
negative = _unary(_tf.negative, "negative", "-x.\n\n>>> int(negative(1))\n-1")
square = _unary(_tf.square, "square", "x * x.\n\n>>> int(square(3))\n9")
sign = _unary(_tf.sign, "sign", "-1, 0 or 1.\n\n>>> float(sign(-2.0))\n-1.0")
exp = _unary(_tf.exp, "exp", "e to the power x.\n\n>>> float(exp(0))\n1.0", _inexact)
log = _unary(_tf.log, "log", "The natural logarithm.\n\n>>> float(log(1))\n0.0", _inexact)
sqrt = _unary(_tf.sqrt, "sqrt", "The square root.\n\n>>> float(sqrt(4))\n2.0", _inexact)
sin = _unary(_tf.sin, "sin", "The sine.\n\n>>> float(sin(0))\n0.0", _inexact)
cos = _unary(_tf.cos, "cos", "The cosine.\n\n>>> float(cos(0))\n1.0", _inexact)
tan = _unary(_tf.tan, "tan", "The tangent.\n\n>>> float(tan(0))\n0.0", _inexact)
tanh = _unary(_tf.tanh, "tanh", "The hyperbolic tangent.\n\n>>> float(tanh(0))\n0.0", _inexact)
floor = _unary(_tf.floor, "floor", "Rounded down.\n\n>>> float(floor(1.5))\n1.0", _inexact)
ceil = _unary(_tf.ceil, "ceil", "Rounded up.\n\n>>> float(ceil(1.5))\n2.0", _inexact)
isnan = _unary(_tf.is_nan, "isnan", "Whether x is NaN.\n\n>>> bool(isnan(1.0))\nFalse", _inexact)
isinf = _unary(_tf.is_inf, "isinf", "Whether x is infinite.\n\n>>> bool(isinf(1.0))\nFalse", _inexact)
isfinite = _unary(
    _tf.is_finite, "isfinite", "Whether x is finite.\n\n>>> bool(isfinite(1.0))\nTrue", _inexact
)
add = _binary(_tf.add, "add", "x1 + x2.\n\n>>> float(add(1, 2.0))\n3.0")
subtract = _binary(_tf.subtract, "subtract", "x1 - x2.\n\n>>> int(subtract(1, 2))\n-1")
multiply = _binary(_tf.multiply, "multiply", "x1 * x2.\n\n>>> int(multiply(2, 3))\n6")
divide = true_divide = _binary(_tf.divide, "divide", "x1 / x2.\n\n>>> float(divide(1, 2))\n0.5")
power = _binary(_tf.pow, "power", "x1 ** x2.\n\n>>> int(power(2, 3))\n8")
maximum = _binary(_tf.maximum, "maximum", "The larger of x1 and x2.\n\n>>> float(maximum(1, 2.0))\n2.0")
minimum = _binary(_tf.minimum, "minimum", "The smaller of x1 and x2.\n\n>>> float(minimum(1, 2.0))\n1.0")
equal = _binary(_tf.equal, "equal", "x1 == x2.\n\n>>> bool(equal(1, 1.0))\nTrue")
not_equal = _binary(_tf.not_equal, "not_equal", "x1 != x2.\n\n>>> bool(not_equal(1, 1.0))\nFalse")
less = _binary(_tf.less, "less", "x1 < x2.\n\n>>> bool(less(1, 2))\nTrue")
less_equal = _binary(_tf.less_equal, "less_equal", "x1 <= x2.\n\n>>> bool(less_equal(1, 2))\nTrue")
greater = _binary(_tf.greater, "greater", "x1 > x2.\n\n>>> bool(greater(1, 2))\nFalse")
greater_equal = _binary(
    _tf.greater_equal, "greater_equal", "x1 >= x2.\n\n>>> bool(greater_equal(1, 2))\nFalse"
)

# ---------------------------------------------------------------------------------------------------------------------
# Reductions and products


def _reduction(
    of: Callable[[Any, Any, bool], Tensor], name: str, doc: str, take: Callable[[Any], Tensor]
) -> _Reduction:
    def function(a: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return of(take(a), axis, keepdims)

    return _named(function, name, doc)


def _summable(a: Any) -> Tensor:
    """As NumPy sums it: small integers and booleans as int64."""
    x = array(a)
    short = x.dtype.is_bool or (x.dtype.is_integer and x.dtype.size < 8)
    return _movement.cast(x, "uint64" if x.dtype.is_unsigned else "int64") if short else x


def _truth(a: Any) -> Tensor:
    return array(a, bool)


sum = _reduction(_tf.reduce_sum, "sum", "The sum.\n\n>>> int(sum([1, 2]))\n3", _summable)
prod = _reduction(_tf.reduce_prod, "prod", "The product.\n\n>>> int(prod([2, 3]))\n6", _summable)
mean = _reduction(_tf.reduce_mean, "mean", "The mean.\n\n>>> float(mean([1, 2]))\n1.5", _inexact)
std = _reduction(_tf.reduce_std, "std", "The standard deviation.\n\n>>> float(std([1, 3]))\n1.0", _inexact)
var = _reduction(_tf.reduce_variance, "var", "The variance.\n\n>>> float(var([1, 3]))\n1.0", _inexact)
max = amax = _reduction(_tf.reduce_max, "max", "The largest.\n\n>>> int(max([1, 2]))\n2", array)
min = amin = _reduction(_tf.reduce_min, "min", "The smallest.\n\n>>> int(min([1, 2]))\n1", array)
all = _reduction(_tf.reduce_all, "all", "Whether all are true.\n\n>>> bool(all([1, 0]))\nFalse", _truth)
any = _reduction(_tf.reduce_any, "any", "Whether any is true.\n\n>>> bool(any([1, 0]))\nTrue", _truth)


def argmax(a: TensorLike, axis: Axis | None = None) -> Tensor:
    """The index of the largest element, along an axis or in the flat tensor.

    >>> int(argmax([1, 3, 2]))
    1
    """
    return _tf.argmax(ravel(a), 0) if axis is None else _tf.argmax(array(a), axis)


def argmin(a: TensorLike, axis: Axis | None = None) -> Tensor:
    """The index of the smallest element, along an axis or in the flat tensor.

    >>> int(argmin([2, 1, 3]))
    1
    """
    return _tf.argmin(ravel(a), 0) if axis is None else _tf.argmin(array(a), axis)


def matmul(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The matrix product of `x1` and `x2`; vectors stand for a row and a column.

    Raises:
        ValueError: for a scalar.

    >>> float(matmul([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    a, b = _together(x1, x2)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: scalars have no matrix product: use multiply")
    product = _matmul(
        _movement.expand_dims(a, 0) if a.ndim == 1 else a, _movement.expand_dims(b, 1) if b.ndim == 1 else b
    )
    gone = ([-2] if a.ndim == 1 else []) + ([-1] if b.ndim == 1 else [])
    return _movement.squeeze(product, gone) if gone else product


def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """The product of matrices or vectors; with a scalar, the plain product.

    Raises:
        ValueError: for more than two axes.

    >>> float(dot([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    x, y = _together(a, b)
    if not x.ndim or not y.ndim:
        return multiply(x, y)
    if builtins.max(x.ndim, y.ndim) > 2:
        raise ValueError("dot: for more than two axes, use matmul or einsum")
    return matmul(x, y)


closed(__name__)
