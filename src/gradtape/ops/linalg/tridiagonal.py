"""Tridiagonal matrices, stored as their diagonals: products and solutions.

In the compact form the diagonals are three rows: above the main one (its last element is not used), the main one, and
below it (its first is not used).
"""

from __future__ import annotations

from typing import Any

from ...core.errors import InvalidArgumentError, UnimplementedError
from ...core.primitive import apply, primitive
from ...core.slicing import Index, getitem, place
from ...core.structural import stack_, sum_
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ..array.movement import reshape, stack, unstack_
from ..array.padding import pad
from ..scalars import choice
from .lapack import each, lapack, matrices, not_invertible
from .matrix import conjugate, diag_part, swap_last
from .solving import in_columns


def _next(x: Any, axis: int) -> Any:
    """Each element's successor along an axis, and 0 for the last."""
    return _shifted(x, axis, slice(1, None), slice(None, -1))


def _previous(x: Any, axis: int) -> Any:
    """Each element's predecessor along an axis, and 0 for the first."""
    return _shifted(x, axis, slice(None, -1), slice(1, None))


def _shifted(x: Any, axis: int, taken: slice, put: slice) -> Any:
    after = [slice(None)] * (-axis - 1)
    part = getitem(x, index=Index((..., taken, *after)))
    return place(part, index=Index((..., put, *after)), shape=tuple(x.shape))


def _column(x: Any) -> Any:
    """A diagonal as a column, to multiply rows with."""
    return getitem(x, index=Index((..., slice(None), None)))


@primitive(wide=True, name="tridiagonal_solve")
def tridiagonal_solve_(d, b):
    """x with T x = b, from the compact form of T. Batches must agree."""
    if b.size == 0:
        return b
    return b / d[..., 1, :, None] if d.shape[-1] == 1 else each(_solve_one, d, b)


@tridiagonal_solve_.compiled
def _(d, b):
    import jax

    above, on, below = (d[..., i, :] for i in range(3))
    return jax.lax.linalg.tridiagonal_solve(below, on, above, b) if b.size else b


def _solve_one(d: Any, b: Any) -> Any:
    *_, x, failed = lapack("gtsv", d.dtype)(d[2, 1:], d[1], d[0, :-1], b)
    if failed:
        raise not_invertible("tridiagonal_solve")
    return x


def _solve_back(g: Any, d: Any) -> Any:
    """T^-T g."""
    above, on, below = unstack_(d, axis=-2)
    turned = stack_(_next(below, -1), on, _previous(above, -1), axis=-2)
    return in_columns(lambda b: tridiagonal_solve_(turned, b), g, d.ndim)


def _by_diagonals(back: Any, x: Any) -> Any:
    """-(T^-T g) x^T, on the three diagonals."""
    rows = [back * _next(x, -2), back * x, back * _previous(x, -2)]
    return -stack_(*[sum_(row, axis=(-1,), keepdims=False) for row in rows], axis=-2)


tridiagonal_solve_.rules(
    d=lambda g, d, out: _by_diagonals(_solve_back(g, d), out), b=lambda g, d: _solve_back(g, d)
)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def _compact(name: str, diagonals: Any, diagonals_format: str) -> Any:
    """Validate the diagonals, in any of the three forms, and bring them into the compact one."""
    choice(name, "diagonals_format", diagonals_format, ("compact", "matrix", "sequence"))
    if diagonals_format == "matrix":
        (x,) = matrices(name, diagonals)
        return diag_part(x, k=(-1, 1), align="LEFT_RIGHT")
    if diagonals_format == "sequence":
        if not isinstance(diagonals, (list, tuple)) or len(diagonals) != 3:
            raise InvalidArgumentError(
                f"{name}: a sequence of diagonals has three: above, on and below the main one"
            )
        above, on, below = (convert(x) for x in diagonals)
        size = on._array.shape[-1] if on.ndim else 0
        shapes = [list(x._array.shape) for x in (above, on, below)]
        if (
            any(s[:-1] != shapes[1][:-1] or s[-1] not in (size, size - 1) for s in shapes if s)
            or [] in shapes
        ):
            raise InvalidArgumentError(
                f"{name}: diagonals of the shapes {shapes} do not belong to one matrix"
            )
        if above._array.shape[-1] < size:
            above = pad(above, [[0, 0]] * (above.ndim - 1) + [[0, 1]])
        if below._array.shape[-1] < size:
            below = pad(below, [[0, 0]] * (below.ndim - 1) + [[1, 0]])
        return stack([above, on, below], axis=-2)
    (x,) = matrices(name, diagonals, square=False)
    if x._array.shape[-2] != 3:
        raise InvalidArgumentError(
            f"{name}: the compact form has 3 rows, above, on and below the main diagonal; the shape is {x.shape}"
        )
    return x


def _check_shapes(name: str, d: Any, b: Any) -> None:
    if d._array.shape[:-2] != b._array.shape[:-2] or d._array.shape[-1] != b._array.shape[-2]:
        raise InvalidArgumentError(
            f"{name}: diagonals of shape {d.shape} (above, on and below the main one) and a right-hand side of shape "
            f"{b.shape} do not fit"
        )


def tridiagonal_solve(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """X with `T @ X = rhs`, for tridiagonal T.

    Args:
        diagonals: The diagonals above, on and below the main one.
        rhs: The right-hand sides, as columns; or one vector for each matrix.
        diagonals_format: 'compact' for a tensor of three rows (the last element of the first row and the first of the
            last row are not read), 'sequence' for three tensors, 'matrix' for T itself.
        transpose_rhs: The right-hand sides are rows.
        conjugate_rhs: Conjugate the right-hand sides first.
        partial_pivoting: Not used: rows are always exchanged where needed.
        perturb_singular: Not available.

    Raises:
        InvalidArgumentError: If T is not invertible, or the shapes do not fit.
        UnimplementedError: If `perturb_singular` is asked for.

    >>> tridiagonal_solve([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]], [3.0, 3.0]).numpy()
    array([1., 1.], dtype=float32)
    """
    if perturb_singular:
        raise UnimplementedError("tridiagonal_solve: perturb_singular is not available")
    d = _compact("tridiagonal_solve", diagonals, diagonals_format)
    b: Any = convert(rhs, None, d._array.dtype)
    vector = b.ndim == d.ndim - 1
    if vector:
        b = reshape(b, (*b._array.shape, 1))
    elif transpose_rhs and b.ndim > 1:
        b = swap_last(b)
    d, b = matrices("tridiagonal_solve", d, conjugate(b) if conjugate_rhs else b, square=False)
    _check_shapes("tridiagonal_solve", d, b)
    x: Any = apply(tridiagonal_solve_, (d, b))
    return reshape(x, x._array.shape[:-1]) if vector else x


def tridiagonal_matmul(
    diagonals: TensorLike, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The product of tridiagonal matrices, given as in `tridiagonal_solve`, and the matrices `rhs`.

    Args:
        diagonals: the diagonals of the matrix.
        diagonals_format: "compact", "sequence" or "matrix": how they are stored.

    Raises:
        InvalidArgumentError: If the shapes do not fit.

    >>> tridiagonal_matmul([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]], [[1.0], [1.0]]).numpy()
    array([[3.],
           [3.]], dtype=float32)
    """
    d = _compact("tridiagonal_matmul", diagonals, diagonals_format)
    d, b = matrices("tridiagonal_matmul", d, rhs, square=False)
    _check_shapes("tridiagonal_matmul", d, b)
    above, on, below = (_column(row) for row in unstack_(d, axis=-2))
    return above * _next(b, -2) + on * b + below * _previous(b, -2)
