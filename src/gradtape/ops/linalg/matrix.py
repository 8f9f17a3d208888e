"""Matrices taken apart and put together: transposes, diagonals, bands.

A matrix is the last two axes of a tensor; the axes in front are a batch.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.errors import DTypeError, FailedPreconditionError, InvalidArgumentError
from ...core.primitive import apply, numbers, primitive
from ...core.slicing import Index, getitem, place
from ...core.structural import conj, reshape_, sum_, unbroadcast
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import is_traced, xp
from ..array.movement import static_shape, together
from ..known import afford
from ..math.elementwise import select
from ..scalars import choice


def array_of(x: Any) -> Any:
    """The array of a tensor, or the array itself: for rules, which run on both."""
    return x._array if type(x) is Tensor else x


# ---------------------------------------------------------------------------------------------------------------------
# Transposes


@primitive(
    linear=True,
    public="transpose",
    formula="d xᵀ = (dx)ᵀ",
    words="It only moves elements: the gradient is transposed back.",
)
def swap_last(x):
    return x.swapaxes(-1, -2)


swap_last.rules(x=lambda g: swap_last(g))


def conjugate(x: Any) -> Any:
    """The complex conjugate, of a tensor or array; real ones as they are."""
    return conj(x) if array_of(x).dtype.kind == "c" else x


def adjoint_(x: Any) -> Any:
    """The conjugate transpose, of a tensor or array."""
    return conjugate(swap_last(x))


# ---------------------------------------------------------------------------------------------------------------------
# Bands: the diagonals k with lower <= k <= upper, counted from the main one upwards


@functools.lru_cache(maxsize=256)
def in_band(rows: int, columns: int, lower: int, upper: int) -> Any:
    """The mask of a band: True for the elements of a matrix that lie in it."""
    k = np.arange(columns) - np.arange(rows)[:, None]
    inside = (k >= lower) & (k <= upper)
    inside.flags.writeable = False
    return inside


@primitive(linear=True, name="band_part")
def band(x, *, lower, upper):
    """The matrix with zeros outside the band."""
    return np.where(in_band(x.shape[-2], x.shape[-1], lower, upper), x, np.zeros((), x.dtype))


@band.compiled
def _(x, *, lower, upper):
    m = xp(x)
    # Computed: the mask would be a constant of the program.
    k = m.arange(x.shape[-1]) - m.arange(x.shape[-2])[:, None]
    return m.where((k >= lower) & (k <= upper), x, m.zeros((), x.dtype))


band.rules(x=lambda g, lower, upper: band(g, lower=lower, upper=upper))

_ALL = 1 << 40  # more diagonals than any matrix has


def tril(x: Any, k: int = 0) -> Any:
    """The lower triangle, up to diagonal `k`, of a tensor or array."""
    return band(x, lower=-_ALL, upper=k)


def triu(x: Any, k: int = 0) -> Any:
    """The upper triangle, from diagonal `k` on, of a tensor or array."""
    return band(x, lower=k, upper=_ALL)


# ---------------------------------------------------------------------------------------------------------------------
# Diagonals, one or several. Several are the rows of a matrix, the uppermost first, each aligned to the left or right.


def _length(rows: int, columns: int, k: int) -> int:
    """The number of elements of the diagonal `k`."""
    return min(rows + min(k, 0), columns - max(k, 0))


@functools.lru_cache(maxsize=256)
def _positions(rows: int, columns: int, lower: int, upper: int, align: str) -> tuple[Any, Any]:
    """The positions of the diagonals' elements in the matrix of diagonals and in the matrix itself, both flat."""
    width = _length(rows, columns, min(max(0, lower), upper))
    k = np.arange(upper, lower - 1, -1)[:, None]
    length = np.minimum(rows + np.minimum(k, 0), columns - np.maximum(k, 0))
    above, below = (part == "LEFT" for part in align.split("_"))
    left = ((k >= 0) & above) | ((k <= 0) & below)
    along = np.arange(width) - np.where(left, 0, width - length)
    filled = (along >= 0) & (along < length)
    inside = (along + np.maximum(-k, 0)) * columns + along + np.maximum(k, 0)
    return np.flatnonzero(filled), inside[filled]


def _stride(columns: int, rows: int, k: int) -> slice:
    """The diagonal `k` as a slice of the flat matrix."""
    start = k if k >= 0 else -k * columns
    return slice(start, start + max(_length(rows, columns, k) - 1, 0) * (columns + 1) + 1, columns + 1)


@primitive(linear=True, name="diag_part")
def diag_part_(x, *, lower, upper, align):
    """The diagonals `lower` to `upper`, filled up with zeros; without an axis for them if there is only one."""
    return x.diagonal(lower, -2, -1) if lower == upper else _band_rows(x, lower, upper, align)


@diag_part_.compiled
def _(x, *, lower, upper, align):
    if lower != upper:
        return _band_rows(x, lower, upper, align)
    rows, columns = x.shape[-2:]
    flat = x.reshape(*x.shape[:-2], rows * columns)
    taken = _stride(columns, rows, lower) if _length(rows, columns, lower) > 0 else slice(0)
    return getitem.forward(flat, index=Index((..., taken)))


def _band_rows(x: Any, lower: int, upper: int, align: str) -> Any:
    """Several diagonals as the rows of a matrix."""
    rows, columns = x.shape[-2:]
    there, inside = _positions(rows, columns, lower, upper, align)
    shape = (upper - lower + 1, _length(rows, columns, min(max(0, lower), upper)))
    taken = x.reshape(*x.shape[:-2], rows * columns)[..., inside]
    return _filled(taken, there, x.shape[:-2], shape)


@primitive(linear=True, name="diag")
def diag_(x, *, lower, upper, align, rows, columns):
    """Zeros with the given diagonals: the transpose of `diag_part`."""
    if lower == upper:
        return _filled(x, _stride(columns, rows, lower), x.shape[:-1], (rows, columns))
    there, inside = _positions(rows, columns, lower, upper, align)
    taken = x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])[..., there]
    return _filled(taken, inside, x.shape[:-2], (rows, columns))


def _filled(x: Any, at: Any, front: tuple[int, ...], shape: tuple[int, int]) -> Any:
    """Zeros of a shape, with the last axis of `x` at these positions of the flat matrices."""
    flat = xp(x).zeros((*front, math.prod(shape)), x.dtype)
    if not x.shape[-1]:
        return flat.reshape(*front, *shape)
    if isinstance(at, slice):
        flat = place.forward(x, index=Index((..., at)), shape=(math.prod(shape),))
    elif xp(x) is not np:
        flat = flat.at[..., at].set(x)
    else:
        flat[..., at] = x
    return flat.reshape(*front, *shape)


diag_part_.rules(
    x=lambda g, x_shape, lower, upper, align: diag_(
        g, lower=lower, upper=upper, align=align, rows=x_shape[-2], columns=x_shape[-1]
    )
)
diag_.rules(x=lambda g, lower, upper, align: diag_part_(g, lower=lower, upper=upper, align=align))


def diagonal(x: Any) -> Any:
    """The main diagonal, of a tensor or array."""
    return diag_part_(x, lower=0, upper=0, align="RIGHT_LEFT")


def on_diagonal(x: Any) -> Any:
    """The square matrix with this main diagonal, of a tensor or array."""
    n = x.shape[-1]
    return diag_(x, lower=0, upper=0, align="RIGHT_LEFT", rows=n, columns=n)


# ---------------------------------------------------------------------------------------------------------------------
# The cross product

_NEXT = [1, 2, 0]


@primitive(multilinear=True, check_dtype=numbers, name="cross")
def cross_(x, y):
    return (x * y[..., _NEXT] - x[..., _NEXT] * y)[..., _NEXT]


cross_.rules(
    x=lambda g, y, x_shape, out_shape: unbroadcast(cross_(y, g), x_shape, out_shape),
    y=lambda g, x, y_shape, out_shape: unbroadcast(cross_(g, x), y_shape, out_shape),
)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def at_least_a_matrix(name: str, x: Tensor) -> None:
    """Raise unless a tensor has at least two axes."""
    if x._array.ndim < 2:
        raise InvalidArgumentError(
            f"{name}: a tensor of shape {list(x._array.shape)} holds no matrices: it needs at least two axes"
        )


def matrix_transpose(a: TensorLike, name: str | None = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The last two axes exchanged; `conjugate` also conjugates.

    >>> matrix_transpose([[1, 2, 3], [4, 5, 6]]).shape
    TensorShape([3, 2])
    """
    x: Any = convert(a)
    at_least_a_matrix("matrix_transpose", x)
    return adjoint_(x) if conjugate else apply(swap_last, (x,))


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The conjugate transpose of the last two axes.

    >>> adjoint([[1j, 2.0]]).numpy().tolist()
    [[-1j], [(2-0j)]]
    """
    x: Any = convert(matrix)
    at_least_a_matrix("adjoint", x)
    return adjoint_(x)


def band_part(
    input: TensorLike, num_lower: int | Tensor, num_upper: int | Tensor, name: str | None = None
) -> Tensor:
    """The matrix with zeros outside of a band around the main diagonal.

    Args:
        input: Matrices.
        num_lower: The number of diagonals to keep below the main one; -1 keeps all.
        num_upper: The number of diagonals to keep above it; -1 keeps all.

    Raises:
        InvalidArgumentError: If a number is larger than the matrices.

    >>> band_part([[1, 2], [3, 4]], 0, -1).numpy()
    array([[1, 2],
           [0, 4]], dtype=int32)
    """
    x = convert(input)
    at_least_a_matrix("band_part", x)
    limits = []
    for number, length, what in zip(
        (num_lower, num_upper), x._array.shape[-2:], ("lower", "upper"), strict=True
    ):
        count = _integer(f"band_part: num_{what}", number)
        if count > length:
            raise InvalidArgumentError(
                f"band_part: num_{what} must be negative (all) or at most {length} for the shape "
                f"{list(x._array.shape)}, not {count}"
            )
        limits.append(_ALL if count < 0 else count)
    return apply(band, (x,), {"lower": -limits[0], "upper": limits[1]})


def _integer(what: str, value: Any) -> int:
    """An argument that must be one integer, known now."""
    given = static_shape(what, value)
    if len(given) != 1:
        raise InvalidArgumentError(f"{what} must be one integer, not {value!r}")
    return given[0]


def _diagonals(name: str, k: Any) -> tuple[int, int]:
    """The argument `k` as the lowest and the highest diagonal."""
    given = static_shape(f"{name}: k", k)
    if len(given) not in (1, 2) or given[0] > given[-1]:
        raise InvalidArgumentError(
            f"{name}: k must be one diagonal, or the lowest and the highest of several, not {list(given)}"
        )
    return given[0], given[-1]


def _alignment(name: str, align: str) -> str:
    """Validate the alignment of diagonals above and below the main one."""
    aligned: str = choice(name, "align", align, ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"))
    return aligned


def _check_diagonals(name: str, shape: tuple[int, ...], lower: int, upper: int) -> None:
    rows, columns = shape[-2:]
    for k in (lower, upper):
        if not -rows < k < columns and k != 0:
            raise InvalidArgumentError(
                f"{name}: matrices of shape {[rows, columns]} have no diagonal {k}: "
                f"k must lie between {1 - rows} and {columns - 1}"
            )


def _padding(name: str, padding_value: Any, dtype: Any) -> Any:
    """The padding as a scalar tensor; None if it is known to be 0, with which `diag` and `diag_part` fill anyway."""
    if type(padding_value) in (int, float) and padding_value == 0:
        return None
    value = convert(padding_value, None, dtype)
    if value._array.ndim or value._array.dtype != dtype:
        raise InvalidArgumentError(
            f"{name}: padding_value must be a scalar of dtype {dtype}, not {padding_value!r}"
        )
    return value if value._key or is_traced(value._array) or value._array != 0 else None


def diag(
    diagonal: TensorLike,
    name: str | None = "diag",
    k: int | Sequence[int] | Tensor = 0,
    num_rows: int | Tensor = -1,
    num_cols: int | Tensor = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the given diagonal, or diagonals, and `padding_value` elsewhere.

    Args:
        diagonal: One diagonal along the last axis; or several as rows, the highest first.
        k: The diagonal's place (0 the main one, 1 above it), or the lowest and the highest of several.
        num_rows: The number of rows, by default that of the smallest square that has room; likewise `num_cols`.
        padding_value: The value of all other elements.
        align: How shorter ones of several diagonals stand in their rows: RIGHT_LEFT is to the right for those above
            the main one, to the left for those below.

    Raises:
        InvalidArgumentError: If the diagonals do not fit `k`, `num_rows` or `num_cols`.

    >>> diag([1, 2]).numpy()
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    x: Any = convert(diagonal)
    lower, upper = _diagonals("diag", k)
    several = lower != upper
    if x._array.ndim < 1 + several or (several and x._array.shape[-2] != upper - lower + 1):
        raise InvalidArgumentError(
            f"diag: k={k!r} names {upper - lower + 1} diagonals; the shape {list(x._array.shape)} does not hold as many"
        )
    width = x._array.shape[-1]
    least = (width - min(upper, 0), width + max(lower, 0))
    rows, columns = _integer("diag: num_rows", num_rows), _integer("diag: num_cols", num_cols)
    if rows == columns == -1:
        rows = columns = max(least)
    rows, columns = (n if n != -1 else m for n, m in zip((rows, columns), least, strict=True))
    if rows < least[0] or columns < least[1] or (rows != least[0] and columns != least[1]):
        raise InvalidArgumentError(
            f"diag: diagonals of length {width} at k={k!r} do not fit {rows} rows and {columns} columns: "
            f"they need {least[0]} rows or {least[1]} columns, and at least as many of the other"
        )
    options = {"lower": lower, "upper": upper, "align": _alignment("diag", align)}
    _check_diagonals("diag", (rows, columns), lower, upper)
    afford("diag", (*x._array.shape[: -1 - several], rows, columns), 2 * x._array.dtype.itemsize)
    matrix = apply(diag_, (x,), {**options, "rows": rows, "columns": columns})
    fill = _padding("diag", padding_value, x._array.dtype)
    if fill is None:
        return matrix
    return apply(select, (in_band(rows, columns, lower, upper), matrix, fill))


def diag_part(
    input: TensorLike,
    name: str | None = "diag_part",
    k: int | Sequence[int] | Tensor = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """The diagonal `k` of each matrix, or the diagonals from `k[0]` to `k[1]`, the highest first, as rows.

    Shorter diagonals are filled with `padding_value`; `align` is that of `diag`.

    Raises:
        InvalidArgumentError: If the matrices have no such diagonal.

    >>> diag_part([[1, 2], [3, 4]]).numpy()
    array([1, 4], dtype=int32)
    """
    x: Any = convert(input)
    at_least_a_matrix("diag_part", x)
    lower, upper = _diagonals("diag_part", k)
    shape = x._array.shape
    _check_diagonals("diag_part", shape, lower, upper)
    options = {"lower": lower, "upper": upper, "align": _alignment("diag_part", align)}
    parts: Any = apply(diag_part_, (x,), options)
    fill = _padding("diag_part", padding_value, x._array.dtype)
    if fill is None or lower == upper:
        return parts
    filled = np.zeros(parts._array.shape[-2:], bool)
    filled.flat[_positions(*shape[-2:], lower, upper, align)[0]] = True
    return apply(select, (filled, parts, fill))


def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str | None = "set_diag",
    k: int | Sequence[int] | Tensor = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """The matrices with other values on the diagonal `k`, or on those from `k[0]` to `k[1]`; see `diag`.

    Args:
        align: how shorter diagonals are padded, as for `diag`.

    Raises:
        InvalidArgumentError: If the matrices have no such diagonal, or `diagonal` has another shape.

    >>> set_diag([[1, 2], [3, 4]], [7, 8]).numpy()
    array([[7, 2],
           [3, 8]], dtype=int32)
    """
    x, values = together("set_diag", [input, diagonal])
    at_least_a_matrix("set_diag", x)
    lower, upper = _diagonals("set_diag", k)
    shape = x._array.shape
    _check_diagonals("set_diag", shape, lower, upper)
    rows, columns = shape[-2:]
    width = _length(rows, columns, min(max(0, lower), upper))
    wanted = (*shape[:-2], width) if lower == upper else (*shape[:-2], upper - lower + 1, width)
    if values._array.shape != wanted:
        raise InvalidArgumentError(
            f"set_diag: diagonals k={k!r} of matrices of shape {list(shape)} have the shape {list(wanted)}, "
            f"not {list(values._array.shape)}"
        )
    options = {"lower": lower, "upper": upper, "align": _alignment("set_diag", align)}
    placed = apply(diag_, (values,), {**options, "rows": rows, "columns": columns})
    return apply(select, (in_band(rows, columns, lower, upper), placed, x))


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the main diagonal of each matrix.

    >>> float(trace([[1.0, 2.0], [3.0, 4.0]]))
    5.0
    """
    value = convert(x)
    at_least_a_matrix("trace", value)
    return apply(sum_, (diagonal(value),), {"axis": (-1,), "keepdims": False})


def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of twice the rank, with `diagonal` where both halves of the indices agree, and zeros elsewhere.

    >>> tensor_diag([1, 2]).numpy()
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    x: Any = convert(diagonal)
    shape = x._array.shape
    if not shape:
        raise InvalidArgumentError("tensor_diag: a scalar has no axes to make a diagonal of")
    afford("tensor_diag", shape + shape, x._array.dtype.itemsize)
    flat = on_diagonal(apply(reshape_, (x,), {"shape": (math.prod(shape),)}))
    return apply(reshape_, (flat,), {"shape": shape + shape})


def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """The elements where both halves of the indices agree: the inverse of `tensor_diag`.

    Raises:
        InvalidArgumentError: If the shape is not one shape twice.

    >>> tensor_diag_part([[1, 2], [3, 4]]).numpy()
    array([1, 4], dtype=int32)
    """
    x: Any = convert(input)
    shape = x._array.shape
    half = shape[: len(shape) // 2]
    if not shape or shape != half + half:
        raise InvalidArgumentError(
            f"tensor_diag_part: the shape must be one shape twice, as [2, 3, 2, 3], not {list(shape)}"
        )
    n = math.prod(half)
    flat = diagonal(apply(reshape_, (x,), {"shape": (n, n)}))
    return apply(reshape_, (flat,), {"shape": half})


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The cross product of the vectors of three along the last axis.

    Raises:
        InvalidArgumentError: If the shapes differ.
        FailedPreconditionError: If the last axis has another length than 3.
        DTypeError: If the vectors are complex.

    >>> cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    x, y = together("cross", [a, b])
    if x._array.shape != y._array.shape:
        raise InvalidArgumentError(f"cross: the shapes {x.shape} and {y.shape} must be the same")
    if x._array.shape[-1:] != (3,):
        raise FailedPreconditionError(f"cross: the last axis must have length 3, in the shape {x.shape}")
    if x.dtype.is_complex:
        raise DTypeError(f"cross takes real tensors, not {x.dtype.name}")
    return apply(cross_, (x, y))
