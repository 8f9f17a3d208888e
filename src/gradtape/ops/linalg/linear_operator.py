"""LinearOperator: a matrix known by what it does, with batches of them.

A subclass gives `_size`, `_product` and `_to_dense`, and whatever it can do quicker than with the whole matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import InvalidArgumentError
from ...core.shapes import TensorShape
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, TensorLike
from ..array.movement import broadcast_to, expand_dims, squeeze
from ..assertions import assert_equal, assert_near, assert_positive
from ..math.complexes import abs as absolute
from ..math.functions import greater
from ..math.reduction import reduce_max, reduce_min, reduce_sum
from ..scalars import boolean
from .determinants import det, slogdet
from .factorizations import cholesky, eigvals, eigvalsh, svd
from .matrix import adjoint as conjugate_transpose
from .matrix import diag_part
from .products import matmul
from .solving import solve

Hint = bool | None
MADE: dict[str, Any] = {}  # the operators that methods give, put here by the modules that define them


class LinearOperator:
    """A batch of matrices, of which a subclass knows a quicker way to compute than with all elements.

    Args:
        dtype: of the elements.
        graph_parents: accepted.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known; None for what is not.
            Hints are believed.
        parameters: accepted.

    >>> LinearOperator("float32", is_self_adjoint=True).is_self_adjoint
    True
    """

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Any = None,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
        parameters: Any = None,
    ) -> None:
        kind = type(self).__name__
        self._dtype = dtypes.as_dtype(dtype)
        for what, hint in (
            ("is_non_singular", is_non_singular),
            ("is_self_adjoint", is_self_adjoint),
            ("is_positive_definite", is_positive_definite),
            ("is_square", is_square),
        ):
            if hint is not None:
                boolean(kind, what, hint)
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError(f"{kind}: a positive definite matrix is not singular")
            is_non_singular = True
        if (is_self_adjoint or is_positive_definite) and is_square is False:
            raise ValueError(f"{kind}: a self-adjoint or positive definite matrix is square")
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._is_square = is_positive_definite, is_square
        self._name = kind if name is None else name

    # -- for subclasses -----------------------------------------------------------------------------------------------

    def _size(self) -> tuple[int, ...]:
        """Batch axes, rows and columns."""
        raise NotImplementedError(f"{type(self).__name__} says no shape: define _size")

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        dense = self._to_dense()
        return matmul(dense, x, adjoint_a=adjoint)

    def _to_dense(self) -> Tensor:
        rows, columns = self._size()[-2:]
        eye = np.eye(columns, dtype=self._dtype.numpy_dtype)
        return broadcast_to(self._product(wrap(eye), False), (*self._size()[:-2], rows, columns))

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        dense, right = together(self._to_dense(), rhs)
        return solve(dense, right, adjoint=adjoint)

    def _diagonal(self) -> Tensor:
        return diag_part(self._to_dense())

    def _log_abs(self) -> Tensor:
        return slogdet(self._to_dense())[1]

    def _det(self) -> Tensor:
        return det(self._to_dense())

    def _factor(self) -> LinearOperator:
        factor: LinearOperator = MADE["triangular"](cholesky(self._to_dense()), is_non_singular=True)
        return factor

    # -- what is known ------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> dtypes.DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def is_non_singular(self) -> Hint:
        """Whether there is an inverse; None if that is not known."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> Hint:
        """Whether the conjugate transpose is the same; None if that is not known."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> Hint:
        """Whether all eigenvalues are positive; None if that is not known."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool:
        """Whether there are as many rows as columns."""
        return self._size()[-1] == self._size()[-2]

    @property
    def shape(self) -> TensorShape:
        """Batch axes, rows and columns."""
        return TensorShape(self._size())

    @property
    def batch_shape(self) -> TensorShape:
        """Batch axes."""
        return TensorShape(self._size()[:-2])

    @property
    def tensor_rank(self) -> int:
        """The number of axes."""
        return len(self._size())

    @property
    def range_dimension(self) -> int:
        """The number of rows."""
        return self._size()[-2]

    @property
    def domain_dimension(self) -> int:
        """The number of columns."""
        return self._size()[-1]

    def shape_tensor(self, name: str | None = None) -> Tensor:
        """The shape as a tensor."""
        return wrap(np.array(self._size(), np.int32))

    def batch_shape_tensor(self, name: str | None = None) -> Tensor:
        """The batch axes as a tensor."""
        return wrap(np.array(self._size()[:-2], np.int32))

    def tensor_rank_tensor(self, name: str | None = None) -> Tensor:
        """The number of axes as a tensor."""
        return wrap(np.array(len(self._size()), np.int32))

    def range_dimension_tensor(self, name: str | None = None) -> Tensor:
        """The number of rows as a tensor."""
        return wrap(np.array(self._size()[-2], np.int32))

    def domain_dimension_tensor(self, name: str | None = None) -> Tensor:
        """The number of columns as a tensor."""
        return wrap(np.array(self._size()[-1], np.int32))

    # -- products and solutions ---------------------------------------------------------------------------------------

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str | None = None
    ) -> Any:
        """The product with matrices, or with another operator.

        Args:
            x: of shape (..., columns, any), or an operator.
            adjoint: take the conjugate transpose of this operator.
            adjoint_arg: take the conjugate transpose of `x`.

        Raises:
            ValueError: if the lengths do not fit.
        """
        if isinstance(x, LinearOperator):
            left = self.adjoint() if adjoint else self
            return _composed(left, x.adjoint() if adjoint_arg else x)
        right = self._argument("matmul", x, adjoint_arg)
        self._fit("matmul", right._array.shape, self._size()[-2 if adjoint else -1])
        return self._product(right, bool(adjoint))

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
        """The product with vectors, of shape (..., columns); `adjoint` as for `matmul`."""
        return squeeze(self.matmul(expand_dims(convert(x, None, self._dtype.numpy_dtype), -1), adjoint), -1)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str | None = None
    ) -> Any:
        """The solutions of A x = rhs.

        Args:
            rhs: of shape (..., rows, any), or an operator.
            adjoint: take the conjugate transpose of this operator.
            adjoint_arg: take the conjugate transpose of `rhs`.

        Raises:
            ValueError: if this operator is known to be singular, or not square.
        """
        self._invertible("solve")
        if isinstance(rhs, LinearOperator):
            left = self.inverse()
            return _composed(left.adjoint() if adjoint else left, rhs.adjoint() if adjoint_arg else rhs)
        right = self._argument("solve", rhs, adjoint_arg)
        self._fit("solve", right._array.shape, self._size()[-1])
        return self._solution(right, bool(adjoint))

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
        """The solutions of A x = rhs for vectors, of shape (..., rows); `adjoint` as for `solve`."""
        return squeeze(self.solve(expand_dims(convert(rhs, None, self._dtype.numpy_dtype), -1), adjoint), -1)

    def _argument(self, name: str, x: Any, adjoint: Any) -> Tensor:
        right = convert(x, None, self._dtype.numpy_dtype)
        if right.dtype != self._dtype:
            raise TypeError(
                f"{name}: the operator is {self._dtype.name}, and its argument {right.dtype.name}"
            )
        if right.ndim < 2:
            raise ValueError(f"{name}: takes matrices, not the shape {list(right.shape)}: use {name[:5]}vec")
        return conjugate_transpose(right) if adjoint else right

    def _fit(self, name: str, shape: tuple[int, ...], length: int) -> None:
        if shape[-2] != length:
            raise ValueError(
                f"{name}: an operator of shape {list(self._size())} does not fit an argument of shape {list(shape)}"
            )

    def _invertible(self, name: str) -> None:
        if self._is_non_singular is False:
            raise ValueError(f"{name}: the operator is known to be singular")
        if not self.is_square:
            raise ValueError(f"{name}: takes a square operator, not the shape {list(self._size())}")

    # -- what follows -------------------------------------------------------------------------------------------------

    def to_dense(self, name: str | None = None) -> Tensor:
        """All elements."""
        return self._to_dense()

    def diag_part(self, name: str | None = None) -> Tensor:
        """The diagonal."""
        return self._diagonal()

    def trace(self, name: str | None = None) -> Tensor:
        """The sum of the diagonal."""
        return reduce_sum(self._diagonal(), -1)

    def determinant(self, name: str | None = None) -> Tensor:
        """The determinant, of a square operator."""
        self._square("determinant")
        return self._det()

    def log_abs_determinant(self, name: str | None = None) -> Tensor:
        """The logarithm of the absolute value of the determinant."""
        self._square("log_abs_determinant")
        return self._log_abs()

    def _square(self, name: str) -> None:
        if not self.is_square:
            raise NotImplementedError(f"{name}: takes a square operator, not the shape {list(self._size())}")

    def cholesky(self, name: str | None = None) -> LinearOperator:
        """The lower triangular operator L with L L^H = A.

        Raises:
            ValueError: unless the operator is known to be positive definite and self-adjoint.
        """
        if not (self._is_positive_definite and self._is_self_adjoint):
            raise ValueError(
                "cholesky: the operator must be known as positive definite and self-adjoint: give "
                "is_positive_definite=True and is_self_adjoint=True"
            )
        return self._factor()

    def inverse(self, name: str | None = None) -> LinearOperator:
        """The inverse, as an operator.

        Raises:
            ValueError: if this operator is known to be singular, or not square.
        """
        self._invertible("inverse")
        made: LinearOperator = MADE["inversion"](self)
        return made

    def adjoint(self, name: str | None = None) -> LinearOperator:
        """The conjugate transpose, as an operator."""
        made: LinearOperator = self if self._is_self_adjoint else MADE["adjoint"](self)
        return made

    @property
    def H(self) -> LinearOperator:
        """The conjugate transpose, as an operator."""
        return self.adjoint()

    def add_to_tensor(self, x: TensorLike, name: str | None = None) -> Tensor:
        """This operator's elements plus `x`."""
        return self._to_dense() + convert(x, None, self._dtype.numpy_dtype)

    def eigvals(self, name: str | None = None) -> Tensor:
        """The eigenvalues of a self-adjoint operator, ascending; of another, in any order."""
        self._square("eigvals")
        return eigvalsh(self._to_dense()) if self._is_self_adjoint else eigvals(self._to_dense())

    def cond(self, name: str | None = None) -> Tensor:
        """The ratio of the largest singular value to the smallest."""
        dense = self._to_dense()
        values = absolute(eigvalsh(dense)) if self._is_self_adjoint else svd(dense, compute_uv=False)
        return reduce_max(values, -1) / reduce_min(values, -1)

    def assert_non_singular(self, name: str | None = None) -> None:
        """Raise InvalidArgumentError unless the smallest singular value is far enough from 0."""
        values = svd(self._to_dense(), compute_uv=False)
        small = float(np.finfo(values.dtype.numpy_dtype).eps)
        ok = greater(reduce_min(values, -1), reduce_max(values, -1) * small)
        assert_equal(ok, True, message="assert_non_singular: the operator is singular")

    def assert_positive_definite(self, name: str | None = None) -> None:
        """Raise InvalidArgumentError unless all eigenvalues of the symmetric part are positive."""
        dense = self._to_dense()
        values = eigvalsh((dense + conjugate_transpose(dense)) / 2)
        assert_positive(values, message="assert_positive_definite: the operator is not positive definite")

    def assert_self_adjoint(self, name: str | None = None) -> None:
        """Raise InvalidArgumentError unless the operator is its own conjugate transpose."""
        dense = self._to_dense()
        assert_near(
            dense, conjugate_transpose(dense), message="assert_self_adjoint: the operator is not self-adjoint"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name} shape={self.shape} dtype={self._dtype.name}>"


def matrices(name: str, what: str, value: TensorLike) -> Tensor:
    """An argument as matrices, floating or complex."""
    x = convert(value)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise TypeError(f"{name}: {what} must be floating or complex, not {x.dtype.name}")
    if x.ndim < 2:
        raise ValueError(f"{name}: {what} must be matrices, not of shape {list(x.shape)}")
    return x


def vectors(name: str, what: str, value: TensorLike) -> Tensor:
    """An argument as vectors, floating or complex."""
    x = convert(value)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise TypeError(f"{name}: {what} must be floating or complex, not {x.dtype.name}")
    if x.ndim < 1:
        raise ValueError(f"{name}: {what} must be vectors, not a scalar")
    return x


def together(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Two batches of matrices with the same batch axes."""
    first, second = x._array.shape, y._array.shape
    if first[:-2] == second[:-2]:
        return x, y
    batch = batch_of("batches", first, second)
    return broadcast_to(x, (*batch, *first[-2:])), broadcast_to(y, (*batch, *second[-2:]))


def batch_of(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The batch axes that several shapes of matrices have in common."""
    try:
        return np.broadcast_shapes(*(shape[:-2] for shape in shapes))
    except ValueError:
        raise InvalidArgumentError(
            f"{name}: the batch axes of {[list(shape) for shape in shapes]} do not broadcast"
        ) from None


def _composed(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    made: LinearOperator = MADE["product"](left, right)
    return made
