"""Linear operators of their own: diagonal, triangular, full, circulant matrices and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, IntLike, ShapeLike, TensorLike
from ..array.movement import broadcast_to, cast, expand_dims, reshape
from ..known import static_shape
from ..math.arithmetic import pow as power
from ..math.complexes import abs as absolute
from ..math.complexes import real
from ..math.cumulative import reduce_prod
from ..math.functions import log, sqrt
from ..math.reduction import reduce_sum
from ..scalars import integer
from ..signal.fourier import fft, ifft
from .combined_operators import (
    LinearOperatorAdjoint,
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
    LinearOperatorInversion,
    LinearOperatorKronecker,
)
from .determinants import det, slogdet
from .factorizations import cholesky
from .linear_operator import MADE, Hint, LinearOperator, batch_of, together
from .matrix import adjoint as conjugate_transpose
from .matrix import band_part, conjugate, diag, diag_part, matrix_transpose
from .products import matmul
from .solving import cholesky_solve, solve, triangular_solve

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorCirculant",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorZeros",
]


def _matrices(name: str, what: str, value: TensorLike) -> Tensor:
    x = convert(value)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise TypeError(f"{name}: {what} must be floating or complex, not {x.dtype.name}")
    if x.ndim < 2:
        raise ValueError(f"{name}: {what} must be matrices, not of shape {list(x.shape)}")
    return x


def _vectors(name: str, what: str, value: TensorLike) -> Tensor:
    x = convert(value)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise TypeError(f"{name}: {what} must be floating or complex, not {x.dtype.name}")
    if x.ndim < 1:
        raise ValueError(f"{name}: {what} must be vectors, not a scalar")
    return x


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
        self.matrix = _matrices("LinearOperatorFullMatrix", "matrix", matrix)
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
        self.tril = _matrices("LinearOperatorLowerTriangular", "tril", tril)
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
        self.diag = _vectors("LinearOperatorDiag", "diag", diag)
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


class LinearOperatorHouseholder(LinearOperator):
    """The reflection at the plane that is orthogonal to a vector.

    Args:
        reflection_axis: the vector, of shape (..., n), of any length but 0.

    >>> LinearOperatorHouseholder([1.0, 0.0]).matvec([2.0, 3.0]).numpy()
    array([-2.,  3.], dtype=float32)
    """

    def __init__(
        self,
        reflection_axis: TensorLike,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        if is_non_singular is False or is_self_adjoint is False or is_positive_definite:
            raise ValueError(
                "LinearOperatorHouseholder: a reflection has an inverse, is self-adjoint and not definite"
            )
        self.reflection_axis = _vectors("LinearOperatorHouseholder", "reflection_axis", reflection_axis)
        super().__init__(self.reflection_axis.dtype, None, True, True, False, is_square, name)

    def _size(self) -> tuple[int, ...]:
        shape = self.reflection_axis._array.shape
        return (*shape, shape[-1])

    def _unit(self) -> Tensor:
        axis = self.reflection_axis
        length = sqrt(reduce_sum(real(axis * conjugate(axis)), -1, keepdims=True))
        return expand_dims(axis / cast(length, axis.dtype), -1)

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        unit = self._unit()
        return x - 2 * (unit * matmul(conjugate_transpose(unit), x))

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._product(rhs, adjoint)

    def _log_abs(self) -> Tensor:
        return self._det() * 0

    def _det(self) -> Tensor:
        return wrap(np.full(self._size()[:-2], -1, self._dtype.numpy_dtype))


class LinearOperatorPermutation(LinearOperator):
    """The operator that puts element perm[i] of a vector in place i.

    Args:
        perm: int32 or int64, of shape (..., n).
        dtype: of the operator.

    >>> LinearOperatorPermutation([2, 0, 1]).matvec([1.0, 2.0, 3.0]).numpy()
    array([3., 1., 2.], dtype=float32)
    """

    def __init__(
        self,
        perm: TensorLike,
        dtype: DTypeLike = dtypes.float32,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        self.perm = convert(perm)
        if not self.perm.dtype.is_integer or self.perm.ndim < 1:
            raise ValueError("LinearOperatorPermutation: perm must be vectors of integers")
        if is_non_singular is False:
            raise ValueError("LinearOperatorPermutation: a permutation has an inverse")
        super().__init__(dtype, None, True, is_self_adjoint, is_positive_definite, is_square, name)

    def _size(self) -> tuple[int, ...]:
        shape = self.perm._array.shape
        return (*shape, shape[-1])

    def _to_dense(self) -> Tensor:
        columns = np.arange(self.perm._array.shape[-1])
        return cast(expand_dims(self.perm, -1) == cast(convert(columns), self.perm.dtype), self._dtype)

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        return matmul(self._to_dense(), x, adjoint_a=adjoint)

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._product(rhs, not adjoint)

    def _log_abs(self) -> Tensor:
        return reduce_sum(real(self._diagonal()) * 0, -1)


class LinearOperatorLowRankUpdate(LinearOperator):
    """An operator plus a product of thin matrices: L + U D V^H.

    Args:
        base_operator: L, for which solutions are cheap.
        u: U, of shape (..., rows, k).
        diag_update: the diagonal D, of shape (..., k); ones by default.
        v: V, of shape (..., columns, k); U by default.
        is_diag_update_positive: whether D is known to be positive.

    >>> LinearOperatorLowRankUpdate(LinearOperatorDiag([1.0, 1.0]), [[1.0], [2.0]]).to_dense().numpy()
    array([[2., 2.], [2., 5.]], dtype=float32)
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: Hint = None,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(base_operator, LinearOperator):
            raise TypeError(
                f"LinearOperatorLowRankUpdate: base_operator is {base_operator!r}, no LinearOperator"
            )
        kind = base_operator.dtype.numpy_dtype
        self.base_operator = base_operator
        self.u = convert(u, kind)
        self.v = self.u if v is None else convert(v, kind)
        self._given = None if diag_update is None else convert(diag_update, kind)
        count = self.u._array.shape[-1] if self.u.ndim else 0
        self.diag_update = wrap(np.ones(count, kind)) if self._given is None else self._given
        sizes = (self.u._array.shape[-2:-1], self.v._array.shape[-2:], self.diag_update._array.shape[-1:])
        if self.u.ndim < 2 or sizes != (
            base_operator._size()[-2:-1],
            (base_operator._size()[-1], count),
            (count,),
        ):
            raise ValueError(
                f"LinearOperatorLowRankUpdate: u of shape {list(self.u.shape)}, v of shape {list(self.v.shape)} and "
                f"diag_update of shape {list(self.diag_update.shape)} do not fit {list(base_operator._size())}"
            )
        positive = bool(is_diag_update_positive) or self._given is None
        alike = v is None and not self.diag_update.dtype.is_complex
        if is_self_adjoint is None and base_operator.is_self_adjoint and alike:
            is_self_adjoint = True
        if is_positive_definite is None and base_operator.is_positive_definite and v is None and positive:
            is_positive_definite = True
        super().__init__(
            base_operator.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _size(self) -> tuple[int, ...]:
        base = self.base_operator._size()
        wide = (*self.diag_update._array.shape[:-1], 1, 1)
        return (
            *batch_of("LinearOperatorLowRankUpdate", base, self.u._array.shape, self.v._array.shape, wide),
            *base[-2:],
        )

    def _scaled(self, adjoint: bool) -> Any:
        return expand_dims(conjugate(self.diag_update) if adjoint else self.diag_update, -1)

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        inner = self._scaled(adjoint) * matmul(right, x, adjoint_a=True)
        return self.base_operator._product(x, adjoint) + matmul(left, inner)

    def _capacitance(self) -> Tensor:
        """D^-1 + V^H L^-1 U, of the size of D."""
        return diag(1 / self.diag_update) + matmul(
            self.v, self.base_operator._solution(self.u, False), adjoint_a=True
        )

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        plain = self.base_operator._solution(rhs, adjoint)
        small, inner = together(self._capacitance(), matmul(right, plain, adjoint_a=True))
        correction = solve(small, inner, adjoint=adjoint)
        return plain - self.base_operator._solution(matmul(left, correction), adjoint)

    def _log_abs(self) -> Tensor:
        known = reduce_sum(log(absolute(self.diag_update)), -1)
        return slogdet(self._capacitance())[1] + known + self.base_operator._log_abs()

    def _det(self) -> Tensor:
        return det(self._capacitance()) * reduce_prod(self.diag_update, -1) * self.base_operator._det()


class LinearOperatorCirculant(LinearOperator):
    """A circulant operator: each column is the one before, moved down by one.

    Args:
        spectrum: the Fourier transform of the first column, of shape (..., n).
        input_output_dtype: of arguments and results.

    >>> LinearOperatorCirculant([6.0 + 0j, 0j, 0j], "complex64").to_dense().numpy().real
    array([[2., 2., 2.], [2., 2., 2.], [2., 2., 2.]], dtype=float32)
    """

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = dtypes.complex64,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str | None = None,
    ) -> None:
        self.spectrum = _vectors("LinearOperatorCirculant", "spectrum", spectrum)
        if is_self_adjoint is None and not self.spectrum.dtype.is_complex:
            is_self_adjoint = True
        super().__init__(
            input_output_dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _size(self) -> tuple[int, ...]:
        shape = self.spectrum._array.shape
        return (*shape, shape[-1])

    def _frequencies(self, adjoint: bool) -> Tensor:
        wide = (
            dtypes.complex128
            if self._dtype.size >= (16 if self._dtype.is_complex else 8)
            else dtypes.complex64
        )
        values = cast(self.spectrum, wide)
        return conjugate(values) if adjoint else values

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._through(x, expand_dims(self._frequencies(adjoint), -2), False)

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._through(rhs, expand_dims(self._frequencies(adjoint), -2), True)

    def _through(self, x: Tensor, frequencies: Tensor, inverse: bool) -> Tensor:
        waves = fft(cast(matrix_transpose(x), frequencies.dtype))
        found = ifft(waves / frequencies if inverse else waves * frequencies)
        return matrix_transpose(cast(found if self._dtype.is_complex else real(found), self._dtype))

    def convolution_kernel(self, name: str | None = None) -> Tensor:
        """The first column."""
        found = ifft(self._frequencies(False))
        return cast(found if self._dtype.is_complex else real(found), self._dtype)

    def _diagonal(self) -> Tensor:
        first = self.convolution_kernel()[..., :1]
        return broadcast_to(first, self.spectrum._array.shape)

    def _log_abs(self) -> Tensor:
        total = reduce_sum(log(absolute(self._frequencies(False))), -1)
        return cast(total, self._dtype)

    def _det(self) -> Tensor:
        product = reduce_prod(self._frequencies(False), -1)
        return cast(product if self._dtype.is_complex else real(product), self._dtype)


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
