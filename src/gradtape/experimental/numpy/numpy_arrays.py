"""Arrays for `experimental.numpy`: dtypes and their promotion, and functions that create arrays."""

from __future__ import annotations

import builtins
import math as _math
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError, ResourceExhaustedError
from ...core.settings import settings
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert, is_tensor
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ...ops.array import movement as _movement
from ...ops.array.arrange import meshgrid as _meshgrid
from ...ops.array.creation import linspace_nd as _linspace
from ...ops.array.creation import ones as _ones
from ...ops.array.creation import steps as _steps
from ...ops.array.creation import zeros as _zeros
from ...ops.known import afford as _afford
from ...ops.linalg.matrix import diag as _matrix_diag
from ...ops.linalg.matrix import diag_part as _diag_part
from ...ops.math.arithmetic import pow as _pow
from ...ops.math.functions import where as _where
from ...ops.scalars import integer as _integer

ndarray = Tensor
newaxis = None
pi, e, inf = _math.pi, _math.e, _math.inf
float16, float32, float64 = np.float16, np.float32, np.float64
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
bool_, complex64, complex128 = np.bool_, np.complex64, np.complex128
int_, float_, complex_, inexact = np.int64, np.float64, np.complex128, np.inexact
object_, string_, unicode_ = np.object_, np.bytes_, np.str_


# ---------------------------------------------------------------------------------------------------------------------
# Dtypes


def kind_of(x: Any) -> Any:
    """The argument for NumPy's promotion: a dtype, or a plain Python number, which gives way."""
    if is_tensor(x):
        return x.dtype.numpy_dtype
    return x if type(x) in (bool, int, float, complex) else array(x).dtype.numpy_dtype


def together(*xs: Any) -> list[Tensor]:
    """The values as tensors of the dtype that NumPy's promotion gives."""
    common = promoted(xs)
    return [array(x, common) for x in xs]


def promoted(xs: Any) -> Any:
    """The dtype that NumPy's promotion gives."""
    if not xs:
        raise InvalidArgumentError("experimental.numpy: at least one array is needed, and none was given")
    kinds = [kind_of(x) for x in xs]
    try:
        return np.result_type(*kinds)
    except TypeError:
        raise DTypeError(f"experimental.numpy: {kinds} have no dtype in common: cast one") from None


def inexact_array(x: Any) -> Tensor:
    """As a tensor; integers become float64."""
    tensor = array(x)
    exact = tensor.dtype.is_integer or tensor.dtype.is_bool
    return _movement.cast(tensor, "float32" if settings.prefer_float32 else "float64") if exact else tensor


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
    return dtypes.as_dtype(promoted(arrays_and_dtypes))


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
        array = np.asarray(value)
    except (ValueError, TypeError):
        return value
    plain = not isinstance(value, (np.ndarray, np.generic))
    return (
        array.astype(np.float32) if settings.prefer_float32 and plain and array.dtype == np.float64 else array
    )


def asarray(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """The same as `array`.

    >>> asarray([1, 2]).dtype
    tf.int64
    """
    return array(a, dtype)


def float64_for(dtype: Any) -> Any:
    """Python's `float` is NumPy's float64."""
    if dtype is not float:
        return dtype
    return float32 if settings.prefer_float32 else float64


def zeros(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Zeros, of float64 by default.

    >>> zeros(2).numpy()
    array([0., 0.])
    """
    return _zeros(shape, float64_for(dtype))


def ones(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Ones, of float64 by default.

    >>> ones(2).numpy()
    array([1., 1.])
    """
    return _ones(shape, float64_for(dtype))


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


def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = float,
    axis: int = 0,
) -> Any:
    """`num` numbers from `start` to `stop`.

    Args:
        start, stop: numbers or arrays; the new axis is `axis`.
        num: how many.
        endpoint: whether `stop` is the last.
        retstep: whether to return the step as well.
        dtype: of the result; by default float64.

    >>> linspace(0, 1, 3).numpy()
    array([0. , 0.5, 1. ])
    """
    count = _integer("linspace", "num", num, 0)
    _afford("linspace", (count,), 16)
    low, high = together(inexact_array(start), inexact_array(stop))
    steps = builtins.max(count - 1 if endpoint else count, 1)
    step = (high - low) / steps
    if count == 0:
        made: Tensor = _zeros((0, *_movement.broadcast_to(step, step.shape).shape), step.dtype)
    elif endpoint and count > 1:
        made = _linspace(low + high * 0, high + low * 0, count, axis=_integer("linspace", "axis", axis))
    else:
        last = low + step * (count - 1)
        made = _linspace(low + high * 0, last, count, axis=_integer("linspace", "axis", axis))
    made = made if dtype is None else _movement.cast(made, dtypes.as_dtype(float64_for(dtype)))
    return (made, step) if retstep else made


def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    base: TensorLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """`num` powers of `base`, whose exponents go from `start` to `stop` in equal steps.

    Args:
        endpoint: whether `stop` is the last exponent.
        dtype: of the result.
        axis: the new axis, where `start` is an array.

    >>> logspace(0, 2, 3).numpy()
    array([  1.,  10., 100.])
    """
    exponents = linspace(start, stop, num, endpoint, False, None, axis)
    low, high = together(base, exponents)
    made: Tensor = _pow(low, high)
    return made if dtype is None else array(made, dtype)


def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """`num` numbers from `start` to `stop`, each a constant multiple of the one before.

    Args:
        endpoint: whether `stop` is the last.
        dtype: of the result.
        axis: the new axis, where `start` is an array.

    >>> geomspace(1, 8, 4).numpy()
    array([1., 2., 4., 8.])
    """
    low, high = together(inexact_array(start), inexact_array(stop))
    if low.dtype.is_complex:
        raise DTypeError("geomspace: start and stop must be real: use logspace")
    exponents = linspace(0.0, 1.0, num, endpoint, False, None)
    shaped = _movement.reshape(array(exponents, low.dtype), (-1,) + (1,) * low.ndim)
    made = low * _pow(high / low, shaped)
    made = _movement.transpose(made, _moved(made.ndim, 0, axis)) if low.ndim and axis else made
    return made if dtype is None else array(made, dtype)


def _moved(ndim: int, source: int, destination: int) -> list[int]:
    order = [axis for axis in range(ndim) if axis != source % ndim]
    order.insert(destination % ndim, source % ndim)
    return order


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
    return array(
        np.eye(rows, columns, builtins.max(builtins.min(diagonal, columns), -rows)), float64_for(dtype)
    )


def identity(n: int, dtype: DTypeLike = float) -> Tensor:
    """The unit matrix of `n` rows.

    >>> identity(1).numpy()
    array([[1.]])
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Ones at and below a diagonal.

    Args:
        N: the number of rows.
        M: the number of columns; `N` by default.
        k: which diagonal: positive above the main one, negative below.
        dtype: float64 by default.

    >>> tri(2).numpy()
    array([[1., 0.], [1., 1.]])
    """
    rows = _integer("tri", "N", N, 0)
    columns = rows if M is None else _integer("tri", "M", M, 0)
    _afford("tri", (rows, columns), 16)
    diagonal = builtins.max(builtins.min(_integer("tri", "k", k), columns), -rows)
    return array(np.tri(rows, columns, diagonal), float64 if dtype is None else float64_for(dtype))


def empty(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Zeros: an array whose values do not matter.

    >>> empty(2).shape
    TensorShape([2])
    """
    return zeros(shape, dtype)


def empty_like(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of the shape and dtype of `a`: an array whose values do not matter.

    >>> empty_like([1, 2]).dtype
    tf.int64
    """
    return zeros_like(a, dtype)


def asanyarray(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """The same as `array`.

    >>> asanyarray([1, 2]).dtype
    tf.int64
    """
    return array(a, dtype)


def ascontiguousarray(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """The same as `array` of at least one axis.

    >>> ascontiguousarray(1).shape
    TensorShape([1])
    """
    return array(a, dtype, ndmin=1)


def copy(a: TensorLike) -> Tensor:
    """The same array: tensors are immutable.

    >>> copy([1, 2]).numpy()
    array([1, 2])
    """
    return array(a)


def diag(v: TensorLike, k: int = 0) -> Tensor:
    """The matrix with `v` on a diagonal; of a matrix, its diagonal.

    Args:
        k: which diagonal: positive above the main one, negative below.

    Raises:
        ValueError: for more than two axes, or none.

    >>> diag([1, 2]).numpy()
    array([[1, 0], [0, 2]])
    """
    x, offset = array(v), _integer("diag", "k", k)
    if x.ndim == 1:
        length = x._array.shape[0] + builtins.abs(offset)
        _afford("diag", (length, length), x.dtype.size)
        return _matrix_diag(x, k=offset) if length else _zeros((0, 0), x.dtype)
    if x.ndim == 2:
        return diagonal_of(x, offset)
    raise ValueError(f"diag: takes a vector or a matrix, not the shape {list(x.shape)}")


def diagonal_of(x: Tensor, offset: int) -> Tensor:
    """A diagonal of the matrices in the last two axes; empty outside."""
    rows, columns = x._array.shape[-2:]
    if -rows < offset < columns:
        return _diag_part(x, k=offset)
    return _zeros((*x._array.shape[:-2], 0), x.dtype)


def diagflat(v: TensorLike, k: int = 0) -> Tensor:
    """The matrix with all elements of `v` on the diagonal `k`.

    >>> diagflat([[1, 2]]).shape
    TensorShape([2, 2])
    """
    return diag(_movement.reshape(array(v), (-1,)), k)


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of length `n`.

    >>> [i.numpy().tolist() for i in diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    length = _integer("diag_indices", "n", n, 0)
    axes = _integer("diag_indices", "ndim", ndim, 1)
    if axes > _MOST_AXES:
        raise InvalidArgumentError(f"diag_indices: ndim must be at most {_MOST_AXES}, not {axes}")
    return (arange(length, dtype=int32),) * axes


def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """The matrix of the powers of each element of `x`.

    Args:
        x: a vector.
        N: the number of powers; by default the length of `x`.
        increasing: whether the powers go up.

    >>> vander([2, 3]).numpy()
    array([[2, 1], [3, 1]])
    """
    values = array(x)
    if values.ndim != 1:
        raise ValueError(f"vander: x must be a vector, not of shape {list(values.shape)}")
    count = values._array.shape[0] if N is None else _integer("vander", "N", N, 0)
    _afford("vander", (values._array.shape[0], count), values.dtype.size)
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    made: Tensor = _pow(_movement.expand_dims(values, 1), array(powers, values.dtype))
    return made


def meshgrid(*xi: TensorLike, **kwargs: Any) -> list[Tensor]:
    """The coordinates of a grid, given those of its axes.

    Args:
        xi: a vector for each axis.
        indexing: "xy", where the first vector goes along the second axis, or "ij".
        sparse, copy: must be False and True, which they are by default.

    >>> [g.numpy().tolist() for g in meshgrid([1, 2], [3])]
    [[[1, 2]], [[3, 3]]]
    """
    indexing = kwargs.pop("indexing", "xy")
    if kwargs.pop("sparse", False) or not kwargs.pop("copy", True) or kwargs:
        raise ValueError("meshgrid: takes indexing, sparse=False and copy=True only")
    grids: list[Tensor] = list(_meshgrid(*(array(x) for x in xi), indexing=indexing))
    return grids


def ix_(*args: TensorLike) -> list[Tensor]:
    """Vectors of indices, shaped so that they choose the grid of all their combinations; True chooses its index.

    >>> [i.shape for i in ix_([0, 1], [2])]
    [TensorShape([2, 1]), TensorShape([1, 1])]
    """
    made = []
    for at, one in enumerate(args):
        x = array(one)
        if x.ndim != 1:
            raise ValueError(f"ix_: takes vectors, not the shape {list(x.shape)}")
        if x.dtype.is_bool:
            x = _movement.reshape(_where(x), (-1,))
        made.append(_movement.reshape(x, (1,) * at + (-1,) + (1,) * (len(args) - at - 1)))
    return made


# ---------------------------------------------------------------------------------------------------------------------
# Questions about dtypes


def promote_types(type1: DTypeLike, type2: DTypeLike) -> dtypes.DType:
    """The dtype that holds values of `type1` and `type2`.

    >>> promote_types("int32", "float32")
    tf.float64
    """
    first, second = (dtypes.as_dtype(float64_for(t)).numpy_dtype for t in (type1, type2))
    return dtypes.as_dtype(np.promote_types(first, second))


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether the dtype `arg1` is of the kind `arg2`, one of NumPy's.

    >>> issubdtype("float32", inexact)
    True
    """
    given = arg1.numpy_dtype if isinstance(arg1, dtypes.DType) else arg1
    kind = arg2.numpy_dtype if isinstance(arg2, dtypes.DType) else arg2
    try:
        return bool(np.issubdtype(given, kind))
    except (TypeError, ValueError) as error:
        raise DTypeError(f"issubdtype: {arg1!r} or {arg2!r} is no dtype: {error}") from None


def isscalar(num: Any) -> bool:
    """Whether `num` is a Python or NumPy scalar, or an array without axes.

    >>> isscalar(1.5), isscalar([1.5])
    (True, False)
    """
    return array(num).ndim == 0 if is_tensor(num) or isinstance(num, np.ndarray) else bool(np.isscalar(num))


def iscomplexobj(x: TensorLike) -> bool:
    """Whether the dtype is complex.

    >>> iscomplexobj(1j)
    True
    """
    return array(x).dtype.is_complex


def isrealobj(x: TensorLike) -> bool:
    """Whether the dtype is not complex.

    >>> isrealobj(1j)
    False
    """
    return not iscomplexobj(x)
