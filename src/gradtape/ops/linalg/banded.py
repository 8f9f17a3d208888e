"""Matrices stored as their diagonals: triangular systems of few bands, eigenvalues of tridiagonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ..array.arrange import boolean_mask
from ..array.movement import gather
from ..known import static_shape
from ..math.complexes import real
from ..scalars import boolean, choice
from .factorizations import eigh, eigvalsh
from .matrix import adjoint as conjugate_transpose
from .matrix import diag
from .solving import triangular_solve


def banded_triangular_solve(
    bands: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """x with A x = rhs, for triangular matrices A that are 0 outside of a few diagonals.

    Args:
        bands: of shape (..., diagonals, n). If `lower`, the main diagonal is first and those below it follow; else
            those above it come first, the farthest at the start, and the main one is last. Element j of each
            stands in row j.
        rhs: of shape (..., n, columns).
        lower: whether A has its bands at and below the main diagonal.
        adjoint: solve with the conjugate transpose of A.

    Raises:
        InvalidArgumentError: if there are more diagonals than rows.

    >>> banded_triangular_solve([[2.0, 2.0], [0.0, 1.0]], [[1.0], [2.0]]).numpy().ravel()
    array([0.5 , 0.75], dtype=float32)
    """
    given = convert(bands)
    right = convert(rhs, None, given._array.dtype)
    if given.ndim < 2 or right.ndim < 2:
        raise InvalidArgumentError(
            "banded_triangular_solve: bands and rhs need two axes at least, not the shapes "
            f"{list(given.shape)} and {list(right.shape)}"
        )
    count, length = given._array.shape[-2:]
    if not 1 <= count <= length:
        raise InvalidArgumentError(
            f"banded_triangular_solve: {count} diagonals make no triangular matrix of {length} rows"
        )
    below = boolean("banded_triangular_solve", "lower", lower)
    which = (1 - count, 0) if below else (0, count - 1)
    matrix = diag(given, k=which, num_rows=length, num_cols=length, align="LEFT_RIGHT")
    return triangular_solve(matrix, right, below, boolean("banded_triangular_solve", "adjoint", adjoint))


def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: float | None = None,
    name: str | None = None,
) -> Any:
    """The eigenvalues, ascending, and eigenvectors of Hermitian tridiagonal matrices. The whole matrix is formed.

    Args:
        alpha: the main diagonal, of shape (..., n).
        beta: the diagonal above it, of shape (..., n - 1).
        eigvals_only: leave the eigenvectors out.
        select: "a" for all, "i" for those with numbers in `select_range`, "v" for those with values in it.
        select_range: two numbers, both included; with "v", the lower one is not.
        tol: accepted; LAPACK's own accuracy is used.

    Raises:
        ValueError: if `select_range` does not fit `select`.

    >>> eigh_tridiagonal([0.0, 0.0], [1.0]).numpy()
    array([-1.,  1.], dtype=float32)
    """
    on = convert(alpha)
    above = convert(beta, None, on._array.dtype)
    if not on.ndim or above._array.shape != (*on._array.shape[:-1], max(on._array.shape[-1] - 1, 0)):
        raise InvalidArgumentError(
            f"eigh_tridiagonal: alpha of shape {list(on.shape)} needs a beta one shorter, not {list(above.shape)}"
        )
    choice("eigh_tridiagonal", "select", select, ("a", "i", "v"))
    low, high = _range(select, select_range, on._array.shape[-1])
    matrix = diag(on)
    if on._array.shape[-1] > 1:
        upper = diag(above, k=1)
        matrix = matrix + upper + conjugate_transpose(upper)
    if boolean("eigh_tridiagonal", "eigvals_only", eigvals_only):
        values, vectors = eigvalsh(matrix), None
    else:
        values, vectors = eigh(matrix)
    if select == "i":
        numbers = np.arange(int(low), int(high) + 1)
        values = gather(values, numbers, axis=-1)
        vectors = None if vectors is None else gather(vectors, numbers, axis=-1)
    elif select == "v":
        if values.ndim != 1:
            raise ValueError("eigh_tridiagonal: select='v' takes one matrix, not a batch")
        size = real(values) if values.dtype.is_complex else values
        within = (size > low) & (size <= high)
        values = boolean_mask(values, within)
        vectors = None if vectors is None else boolean_mask(vectors, within, axis=1)
    return values if vectors is None else (values, vectors)


def _range(select: str, given: Any, count: int) -> tuple[float, float]:
    if select == "a":
        return 0, count - 1
    if given is None:
        raise ValueError(f"eigh_tridiagonal: select={select!r} needs a select_range of two numbers")
    if select == "i":
        ends = static_shape("eigh_tridiagonal: select_range", given)
        if len(ends) != 2 or not 0 <= ends[0] <= ends[1] < count:
            raise ValueError(
                f"eigh_tridiagonal: select_range must be two numbers from 0 to {count - 1}, not {given!r}"
            )
        return ends[0], ends[1]
    array = convert(given)._array
    if array.shape != (2,) or array.dtype.kind not in "iuf" or not array[0] < array[1]:
        raise ValueError(f"eigh_tridiagonal: select_range must be two numbers in order, not {given!r}")
    return float(array[0]), float(array[1])
