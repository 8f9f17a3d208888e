"""Linear operators of their own: diagonal, triangular and full matrices, multiples of the identity, zeros."""

from __future__ import annotations

import numpy as np

from ...core import dtypes
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, IntLike, ShapeLike, TensorLike
from ..array.movement import broadcast_to, expand_dims, reshape
from ..known import static_shape
from ..math.arithmetic import pow as power
from ..math.complexes import abs as absolute
from ..math.complexes import real
from ..math.cumulative import reduce_prod
from ..math.functions import log, sqrt
from ..math.reduction import reduce_sum
from ..scalars import integer
from .combined_operators import (
    LinearOperatorAdjoint,
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
    LinearOperatorInversion,
    LinearOperatorKronecker,
)
from .factorizations import cholesky
from .linear_operator import MADE, Hint, LinearOperator, batch_of, matrices, together, vectors
from .matrix import band_part, conjugate, diag, diag_part
from .solving import cholesky_solve, triangular_solve

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
    "LinearOperatorZeros",
]


class LinearOperatorFullMatrix(LinearOperator):
    """An operator given by all elements.

    Args:
        matrix: of shape (..., rows, columns).

    >>> LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]]).matvec([1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        self.matrix = matrices("LinearOperatorFullMatrix", "matrix", matrix)
        super().__init__(
            self.matrix.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _size(self) -> tuple[int, ...]:
        return tuple(self.matrix._array.shape)

    def _to_dense(self) -> Tensor:
        return self.matrix

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        if not (self._is_positive_definite and self._is_self_adjoint):
            return super()._solution(rhs, adjoint)
        factor, right = together(cholesky(self.matrix), rhs)
        return cholesky_solve(factor, right)


class LinearOperatorLowerTriangular(LinearOperator):
    """A lower triangular operator.

    Args:
        tril: of shape (..., n, n); what is above the diagonal is ignored.

    >>> LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 4.0]]).solvevec([2.0, 5.0]).numpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(
        self,
        tril: TensorLike,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        self.tril = matrices("LinearOperatorLowerTriangular", "tril", tril)
        if self.tril._array.shape[-1] != self.tril._array.shape[-2]:
            raise ValueError(
                f"LinearOperatorLowerTriangular: tril must be square, not {list(self.tril.shape)}"
            )
        super().__init__(
            self.tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _size(self) -> tuple[int, ...]:
        return tuple(self.tril._array.shape)

    def _to_dense(self) -> Tensor:
        return band_part(self.tril, -1, 0)

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        left, right = together(self.tril, rhs)
        return triangular_solve(left, right, True, adjoint)

    def _diagonal(self) -> Tensor:
        return diag_part(self.tril)

    def _log_abs(self) -> Tensor:
        return reduce_sum(log(absolute(self._diagonal())), -1)

    def _det(self) -> Tensor:
        return reduce_prod(self._diagonal(), -1)


class LinearOperatorDiag(LinearOperator):
    """A diagonal operator.

    Args:
        diag: of shape (..., n).

    >>> LinearOperatorDiag([1.0, 2.0]).determinant().numpy()
    np.float32(2.0)
    """

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        self.diag = vectors("LinearOperatorDiag", "diag", diag)
        if is_self_adjoint is None and not self.diag.dtype.is_complex:
            is_self_adjoint = True
        super().__init__(
            self.diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _size(self) -> tuple[int, ...]:
        shape = self.diag._array.shape
        return (*shape, shape[-1])

    def _column(self, adjoint: bool) -> Tensor:
        return expand_dims(conjugate(self.diag) if adjoint else self.diag, -1)

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._column(adjoint) * x

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return rhs / self._column(adjoint)

    def _to_dense(self) -> Tensor:
        return diag(self.diag)

    def _diagonal(self) -> Tensor:
        return self.diag

    def _log_abs(self) -> Tensor:
        return reduce_sum(log(absolute(self.diag)), -1)

    def _det(self) -> Tensor:
        return reduce_prod(self.diag, -1)

    def _factor(self) -> LinearOperator:
        return LinearOperatorDiag(sqrt(self.diag), True, True, True)

    def inverse(self, name: str | None = None) -> LinearOperator:
        """The diagonal operator of the reciprocals."""
        self._invertible("inverse")
        return LinearOperatorDiag(1 / self.diag, True, self._is_self_adjoint, self._is_positive_definite)

    def adjoint(self, name: str | None = None) -> LinearOperator:
        """The diagonal operator of the conjugates."""
        return (
            self if self._is_self_adjoint else LinearOperatorDiag(conjugate(self.diag), self._is_non_singular)
        )


class LinearOperatorScaledIdentity(LinearOperator):
    """A multiple of the identity.

    Args:
        num_rows: the number of rows.
        multiplier: the multiple, of shape (...).
        assert_proper_shapes: accepted; shapes are always checked.

    >>> LinearOperatorScaledIdentity(2, 3.0).to_dense().numpy()
    array([[3., 0.], [0., 3.]], dtype=float32)
    """

    def __init__(
        self,
        num_rows: IntLike,
        multiplier: TensorLike,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        assert_proper_shapes: bool = False,
        name: str | None = None,
    ) -> None:
        self._rows = integer(type(self).__name__, "num_rows", num_rows, 0)
        self.multiplier = convert(multiplier)
        if not (self.multiplier.dtype.is_floating or self.multiplier.dtype.is_complex):
            raise TypeError(
                f"{type(self).__name__}: multiplier must be floating or complex, not {self.multiplier.dtype.name}"
            )
        if is_self_adjoint is None and not self.multiplier.dtype.is_complex:
            is_self_adjoint = True
        super().__init__(
            self.multiplier.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    def _size(self) -> tuple[int, ...]:
        return (*self.multiplier._array.shape, self._rows, self._rows)

    def _factor_of(self, adjoint: bool) -> Tensor:
        scale = conjugate(self.multiplier) if adjoint else self.multiplier
        return reshape(scale, (*scale._array.shape, 1, 1))

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        return x * self._factor_of(adjoint)

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return rhs / self._factor_of(adjoint)

    def _diagonal(self) -> Tensor:
        shape = self.multiplier._array.shape
        return broadcast_to(expand_dims(self.multiplier, -1), (*shape, self._rows))

    def _log_abs(self) -> Tensor:
        return log(absolute(self.multiplier)) * float(self._rows)

    def _det(self) -> Tensor:
        return power(self.multiplier, convert(self._rows, self._dtype.numpy_dtype))

    def _factor(self) -> LinearOperator:
        return LinearOperatorScaledIdentity(self._rows, sqrt(self.multiplier), True, True, True)

    def inverse(self, name: str | None = None) -> LinearOperator:
        """The multiple by the reciprocal."""
        self._invertible("inverse")
        return LinearOperatorScaledIdentity(
            self._rows, 1 / self.multiplier, True, self._is_self_adjoint, self._is_positive_definite
        )

    def adjoint(self, name: str | None = None) -> LinearOperator:
        """The multiple by the conjugate."""
        if self._is_self_adjoint:
            return self
        return LinearOperatorScaledIdentity(self._rows, conjugate(self.multiplier), self._is_non_singular)


class LinearOperatorIdentity(LinearOperatorScaledIdentity):
    """The identity.

    Args:
        num_rows: the number of rows.
        batch_shape: batch axes; none by default.
        dtype: float32 by default.
        assert_proper_shapes: accepted; shapes are always checked.

    >>> LinearOperatorIdentity(2).matvec([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        num_rows: IntLike,
        batch_shape: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: Hint = True,
        is_self_adjoint: Hint = True,
        is_positive_definite: Hint = True,
        is_square: Hint = True,
        assert_proper_shapes: bool = False,
        name: str | None = None,
    ) -> None:
        if not (is_non_singular and is_self_adjoint and is_positive_definite and is_square):
            raise ValueError(
                "LinearOperatorIdentity: the identity is square, self-adjoint and positive definite"
            )
        kind = dtypes.float32 if dtype is None else dtypes.as_dtype(dtype)
        batch = (
            () if batch_shape is None else static_shape("LinearOperatorIdentity: batch_shape", batch_shape)
        )
        super().__init__(
            num_rows, wrap(np.ones(batch, kind.numpy_dtype)), True, True, True, True, False, name
        )

    def _factor(self) -> LinearOperator:
        return self

    def inverse(self, name: str | None = None) -> LinearOperator:
        """The identity itself."""
        return self


class LinearOperatorZeros(LinearOperator):
    """Zeros.

    Args:
        num_rows, num_columns: the numbers of rows and columns, alike by default.
        batch_shape: batch axes; none by default.
        dtype: float32 by default.
        assert_proper_shapes: accepted; shapes are always checked.

    >>> LinearOperatorZeros(1, 2).to_dense().numpy()
    array([[0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        num_rows: IntLike,
        num_columns: IntLike | None = None,
        batch_shape: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: Hint = False,
        is_self_adjoint: Hint = True,
        is_positive_definite: Hint = False,
        is_square: Hint = True,
        assert_proper_shapes: bool = False,
        name: str | None = None,
    ) -> None:
        if is_non_singular or is_positive_definite:
            raise ValueError("LinearOperatorZeros: zeros have no inverse, and are not positive definite")
        rows = integer("LinearOperatorZeros", "num_rows", num_rows, 0)
        columns = (
            rows if num_columns is None else integer("LinearOperatorZeros", "num_columns", num_columns, 0)
        )
        batch = () if batch_shape is None else static_shape("LinearOperatorZeros: batch_shape", batch_shape)
        self._shape = (*batch, rows, columns)
        super().__init__(
            dtypes.float32 if dtype is None else dtype,
            None,
            False,
            rows == columns and is_self_adjoint,
            False,
            None,
            name,
        )

    def _size(self) -> tuple[int, ...]:
        return self._shape

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        batch = batch_of("LinearOperatorZeros", self._shape, x._array.shape)
        shape = (*batch, self._shape[-1 if adjoint else -2], x._array.shape[-1])
        return wrap(np.zeros(shape, self._dtype.numpy_dtype))

    def _log_abs(self) -> Tensor:
        return wrap(np.full(self._shape[:-2], -np.inf, real(self._diagonal()).dtype.numpy_dtype))

    def _det(self) -> Tensor:
        return wrap(np.zeros(self._shape[:-2], self._dtype.numpy_dtype))


def product_of(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    """The product of two operators, of a simple kind if there is one.

    >>> product_of(LinearOperatorDiag([2.0]), LinearOperatorDiag([3.0])).diag_part().numpy()
    array([6.], dtype=float32)
    """
    if type(left) is LinearOperatorIdentity and left._size()[:-2] == ():
        return right
    if type(right) is LinearOperatorIdentity and right._size()[:-2] == ():
        return left
    if type(left) is LinearOperatorDiag and type(right) is LinearOperatorDiag:
        known = bool(left.is_non_singular and right.is_non_singular) or None
        return LinearOperatorDiag(left.diag * right.diag, known)
    return LinearOperatorComposition([left, right])


MADE["triangular"], MADE["product"] = LinearOperatorLowerTriangular, product_of
