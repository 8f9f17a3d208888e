"""Products of two sparse matrices, under the names that TensorFlow has for matrices in compressed rows.

A matrix is a `SparseTensor` of rank 2, or 3 for a batch, with its elements in order.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import wrap
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ..known import shape_known
from ..math.complexes import conj
from ..math.segment import unsorted_segment_sum
from ..scalars import boolean
from .arrangement import transpose
from .sparse_tensor import SparseTensor, checked, elements, in_order, places

CSRSparseMatrixToSparseTensor = namedtuple(
    "CSRSparseMatrixToSparseTensor", ["indices", "values", "dense_shape"]
)


def sparse_tensor_to_csr_sparse_matrix(
    indices: TensorLike, values: TensorLike, dense_shape: ShapeLike, name: str | None = None
) -> SparseTensor:
    """A sparse matrix, or a batch of them, from the parts of a `SparseTensor`.

    Args:
        indices: where the elements are.
        dense_shape: the shape of the whole, of rank 2 or 3.

    Raises:
        InvalidArgumentError: if the rank is another.
        ValueError: if the parts do not fit each other.

    >>> sparse_tensor_to_csr_sparse_matrix([[0, 1]], [2.0], [2, 2]).shape
    TensorShape([2, 2])
    """
    sparse = SparseTensor(indices, values, dense_shape)
    if len(sparse.lengths) not in (2, 3):
        raise InvalidArgumentError(
            f"sparse_tensor_to_csr_sparse_matrix: takes a matrix or a batch of them, not the shape {sparse.shape}"
        )
    return in_order(sparse)


def csr_sparse_matrix_to_sparse_tensor(
    sparse_matrix: SparseTensor,
    type: DTypeLike,
    name: str | None = None,
) -> CSRSparseMatrixToSparseTensor:
    """The parts of a sparse matrix.

    Args:
        sparse_matrix: what `sparse_tensor_to_csr_sparse_matrix` or a product returned.
        type: the dtype of its values.

    Raises:
        DTypeError: if the values have another dtype.

    >>> matrix = sparse_tensor_to_csr_sparse_matrix([[0, 1]], [2.0], [2, 2])
    >>> csr_sparse_matrix_to_sparse_tensor(matrix, "float32").values.numpy()
    array([2.], dtype=float32)
    """
    matrix = _typed("csr_sparse_matrix_to_sparse_tensor", sparse_matrix, type)
    return CSRSparseMatrixToSparseTensor(matrix.indices, matrix.values, matrix.dense_shape)


def sparse_matrix_sparse_mat_mul(
    a: SparseTensor,
    b: SparseTensor,
    type: DTypeLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """The product of two sparse matrices, or of each pair of two batches; it has gradients for the values of both.

    Args:
        a: a sparse matrix.
        b: another.
        type: the dtype of the values.
        transpose_a: transpose the first.
        transpose_b: transpose the second.
        adjoint_a: transpose and conjugate the first.
        adjoint_b: transpose and conjugate the second.

    Raises:
        DTypeError: if the values have another dtype.
        InvalidArgumentError: if the shapes do not fit.

    >>> one = sparse_tensor_to_csr_sparse_matrix([[0, 1]], [2.0], [2, 2])
    >>> other = sparse_tensor_to_csr_sparse_matrix([[1, 0]], [3.0], [2, 2])
    >>> product = sparse_matrix_sparse_mat_mul(one, other, "float32")
    >>> product.indices.numpy(), product.values.numpy()
    (array([[0, 0]]), array([6.], dtype=float32))
    """
    name = "sparse_matrix_sparse_mat_mul"
    x = _turned(name, _typed(name, a, type), ("a", transpose_a, adjoint_a))
    y = _turned(name, _typed(name, b, type), ("b", transpose_b, adjoint_b))
    if len(x.lengths) != len(y.lengths) or x.lengths[:-2] != y.lengths[:-2] or x.lengths[-1] != y.lengths[-2]:
        raise InvalidArgumentError(f"{name}: matrices of shapes {x.shape} and {y.shape} have no product")
    lengths = (*x.lengths[:-1], y.lengths[-1])
    if not x._values._array.shape[0] or not y._values._array.shape[0]:
        return SparseTensor(np.zeros((0, len(lengths)), np.int64), x.values[:0], lengths)
    at_x, at_y, flat = _pairs(name, x, y)
    found, which = np.unique(flat, return_inverse=True)
    terms = elements(x.values, at_x) * elements(y.values, at_y)
    values = unsorted_segment_sum(terms, wrap(which.reshape(-1)), len(found))
    return SparseTensor(places(wrap(found), lengths), values, lengths)


def _typed(operation: str, matrix: Any, dtype: DTypeLike) -> SparseTensor:
    found = checked(operation, matrix)
    if found.dtype != dtype:
        raise DTypeError(f"{operation}: type is {dtype!r}, and the matrix holds {found.dtype.name}")
    return found


def _turned(operation: str, matrix: SparseTensor, how: tuple[str, bool, bool]) -> SparseTensor:
    which, transposed, adjoint = how
    transposed = boolean(operation, f"transpose_{which}", transposed)
    adjoint = boolean(operation, f"adjoint_{which}", adjoint)
    if transposed and adjoint:
        raise InvalidArgumentError(f"{operation}: give one of transpose_{which} and adjoint_{which}")
    if not (transposed or adjoint):
        return matrix
    rank = len(matrix.lengths)
    turned = transpose(matrix, [*range(rank - 2), rank - 1, rank - 2])
    return turned.with_values(conj(turned.values)) if adjoint else turned


def _pairs(operation: str, x: SparseTensor, y: SparseTensor) -> tuple[Any, Any, Any]:
    """The elements of x and y that are multiplied with each other, and the place of each product as one number."""
    (batch_x, row_x, column_x), (batch_y, row_y, column_y) = (_columns(operation, s) for s in (x, y))
    inner, rows, columns = x.lengths[-1], x.lengths[-2], y.lengths[-1]
    of_x, of_y = batch_x * inner + column_x, batch_y * inner + row_y
    order = np.argsort(of_y, kind="stable")
    first, last = (np.searchsorted(of_y[order], of_x, side) for side in ("left", "right"))
    counts = last - first
    at_x = np.repeat(np.arange(len(of_x)), counts)
    within = np.arange(len(at_x)) - np.repeat(np.cumsum(counts) - counts, counts)
    at_y = order[np.repeat(first, counts) + within]
    return at_x, at_y, (batch_x[at_x] * rows + row_x[at_x]) * columns + column_y[at_y]


def _columns(operation: str, sparse: SparseTensor) -> tuple[Any, Any, Any]:
    """The batch, row and column of each element."""
    at = shape_known(operation, "the indices", sparse.indices._array, "multiply dense matrices")
    return (at[:, 0] if at.shape[1] == 3 else np.zeros(len(at), np.int64)), at[:, -2], at[:, -1]
