"""Linear operators with a structure: reflections, permutations, updates of low rank, constant or few diagonals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.shapes import TensorShape
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, TensorLike
from ..array.arrange import reverse
from ..array.movement import broadcast_to, cast, concat, expand_dims, gather, reshape, stack
from ..array.padding import pad
from ..math.complexes import abs as absolute
from ..math.complexes import real
from ..math.cumulative import reduce_prod
from ..math.functions import log, sqrt
from ..math.reduction import reduce_sum
from ..scalars import choice
from ..signal.fourier import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from .determinants import det, slogdet
from .linear_operator import Hint, LinearOperator, batch_of, matrices, together, vectors
from .matrix import adjoint as conjugate_transpose
from .matrix import conjugate, diag, diag_part, matrix_transpose
from .products import matmul
from .solving import solve
from .tridiagonal import tridiagonal_matmul, tridiagonal_solve

_FEW = 32  # rows of a Toeplitz matrix whose product is no quicker by Fourier transforms


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
        self.reflection_axis = vectors("LinearOperatorHouseholder", "reflection_axis", reflection_axis)
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

    >>> from gradtape.linalg import LinearOperatorDiag
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

    block_depth = 1  # axes that are transformed
    _to_waves, _from_waves = staticmethod(fft), staticmethod(ifft)

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
        kind = type(self).__name__
        self.spectrum = vectors(kind, "spectrum", spectrum)
        if self.spectrum.ndim < self.block_depth:
            raise ValueError(
                f"{kind}: spectrum must have {self.block_depth} axes or more, not the shape {self.spectrum.shape}"
            )
        if is_self_adjoint is None and not self.spectrum.dtype.is_complex:
            is_self_adjoint = True
        super().__init__(
            input_output_dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def block_shape(self) -> TensorShape:
        """The lengths of the axes that are transformed."""
        return TensorShape(self.spectrum._array.shape[-self.block_depth :])

    def _size(self) -> tuple[int, ...]:
        n = math.prod(self.spectrum._array.shape[-self.block_depth :])
        return (*self.spectrum._array.shape[: -self.block_depth], n, n)

    def _frequencies(self, adjoint: bool) -> Tensor:
        wide = (
            dtypes.complex128
            if self._dtype.size >= (16 if self._dtype.is_complex else 8)
            else dtypes.complex64
        )
        values = cast(self.spectrum, wide)
        return conjugate(values) if adjoint else values

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._through(x, self._frequencies(adjoint), False)

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._through(rhs, self._frequencies(adjoint), True)

    def _through(self, x: Tensor, frequencies: Tensor, inverse: bool) -> Tensor:
        rows = matrix_transpose(x)
        blocks = reshape(rows, (*rows._array.shape[:-1], *self.block_shape.as_list()))
        factors = expand_dims(frequencies, -1 - self.block_depth)
        waves = self._to_waves(cast(blocks, frequencies.dtype))
        found = self._from_waves(waves / factors if inverse else waves * factors)
        flat = reshape(found, (*found._array.shape[: -self.block_depth], self._size()[-1]))
        return matrix_transpose(cast(flat if self._dtype.is_complex else real(flat), self._dtype))

    def convolution_kernel(self, name: str | None = None) -> Tensor:
        """The first column, in the shape of the blocks."""
        found = self._from_waves(self._frequencies(False))
        return cast(found if self._dtype.is_complex else real(found), self._dtype)

    def _flat(self, x: Tensor) -> Tensor:
        return reshape(x, self._size()[:-1])

    def _diagonal(self) -> Tensor:
        return broadcast_to(self._flat(self.convolution_kernel())[..., :1], self._size()[:-1])

    def _log_abs(self) -> Tensor:
        return cast(reduce_sum(log(absolute(self._flat(self._frequencies(False)))), -1), self._dtype)

    def _det(self) -> Tensor:
        product = reduce_prod(self._flat(self._frequencies(False)), -1)
        return cast(product if self._dtype.is_complex else real(product), self._dtype)


class LinearOperatorCirculant2D(LinearOperatorCirculant):
    """A block circulant operator, on images of two axes as vectors: a convolution over both.

    Args:
        spectrum: the Fourier transform of the kernel over two axes, of shape (..., rows, columns).
        input_output_dtype: of arguments and results.

    >>> LinearOperatorCirculant2D([[2.0 + 0j, 2.0], [2.0, 2.0]]).shape
    TensorShape([4, 4])
    """

    block_depth = 2
    _to_waves, _from_waves = staticmethod(fft2d), staticmethod(ifft2d)


class LinearOperatorCirculant3D(LinearOperatorCirculant):
    """A block circulant operator, on volumes of three axes as vectors: a convolution over all.

    Args:
        spectrum: the Fourier transform of the kernel over three axes, of shape (..., depth, rows, columns).
        input_output_dtype: of arguments and results.

    >>> LinearOperatorCirculant3D([[[2.0 + 0j, 2.0], [2.0, 2.0]]]).shape
    TensorShape([4, 4])
    """

    block_depth = 3
    _to_waves, _from_waves = staticmethod(fft3d), staticmethod(ifft3d)


class LinearOperatorToeplitz(LinearOperator):
    """An operator whose diagonals are constant.

    Args:
        col: the first column, of shape (..., n).
        row: the first row, of shape (..., n); its first element does not count.

    >>> LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]).to_dense().numpy()
    array([[1., 3.], [2., 1.]], dtype=float32)
    """

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str | None = None,
    ) -> None:
        kind = type(self).__name__
        self.col, self.row = vectors(kind, "col", col), vectors(kind, "row", row)
        if self.col.dtype is not self.row.dtype or self.col.shape[-1] != self.row.shape[-1]:
            raise ValueError(f"{kind}: col and row differ: {self.col.shape}, {self.row.shape}, or in dtype")
        super().__init__(
            self.col.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _size(self) -> tuple[int, ...]:
        n = self.col._array.shape[-1]
        return (*batch_of("Toeplitz", (*self.col._array.shape, 1), (*self.row._array.shape, 1)), n, n)

    def _diagonals(self) -> Tensor:
        """All diagonals, from the highest of the upper ones to the lowest."""
        shape = self._size()[:-1]
        upper, lower = broadcast_to(self.row, shape), broadcast_to(self.col, shape)
        return concat([reverse(upper[..., 1:], [-1]), lower], -1)

    def _to_dense(self) -> Tensor:
        n = self._size()[-1]
        return gather(self._diagonals(), wrap(np.arange(n)[:, None] - np.arange(n) + n - 1), axis=-1)

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        n = self._size()[-1]
        if n < _FEW:
            return super()._product(x, adjoint)
        lower, upper = (self.row, self.col) if adjoint else (self.col, self.row)
        if adjoint:
            lower, upper = conjugate(lower), conjugate(upper)
            first = conjugate(self.col)[..., :1]
        else:
            first = self.col[..., :1]
        # The first column of a circulant matrix of 2 n - 1 rows, of which this one is the upper left part.
        shape = self._size()[:-2]
        parts = [first, lower[..., 1:], reverse(upper[..., 1:], [-1])]
        column = concat([broadcast_to(p, (*shape, p._array.shape[-1])) for p in parts], -1)
        wide = (
            dtypes.complex128
            if self._dtype.size == (16 if self._dtype.is_complex else 8)
            else dtypes.complex64
        )
        rows = cast(matrix_transpose(x), wide)
        rows = pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, n - 1)])
        found = ifft(fft(rows) * expand_dims(fft(cast(column, wide)), -2))[..., :n]
        return matrix_transpose(cast(found if self._dtype.is_complex else real(found), self._dtype))

    def _diagonal(self) -> Tensor:
        return broadcast_to(self.col[..., :1], self._size()[:-1])


class LinearOperatorTridiag(LinearOperator):
    """An operator with elements on three diagonals.

    Args:
        diagonals: the upper, the middle and the lower one: of shape (..., 3, n) for "compact", a list of three for
            "sequence" (the last element of the upper and the first of the lower do not count), or the whole matrix.
        diagonals_format: "compact", "sequence" or "matrix".

    >>> LinearOperatorTridiag([[3.0, 0.0], [1.0, 2.0], [0.0, 4.0]]).to_dense().numpy()
    array([[1., 3.], [4., 2.]], dtype=float32)
    """

    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = "compact",
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str | None = None,
    ) -> None:
        kind = type(self).__name__
        choice(kind, "diagonals_format", diagonals_format, ("compact", "sequence", "matrix"))
        self.diagonals, self.diagonals_format = diagonals, diagonals_format
        if diagonals_format == "sequence":
            parts = [vectors(kind, "diagonals", part) for part in diagonals]
            shape = (*batch_of(kind, *((*p._array.shape, 1) for p in parts)), parts[1]._array.shape[-1])
            parts = [_filled(part, shape, where) for part, where in zip(parts, (1, 0, -1), strict=True)]
        else:
            x = matrices(kind, "diagonals", diagonals)
            if diagonals_format == "compact":
                if x._array.shape[-2] != 3:
                    raise ValueError(
                        f"{kind}: diagonals must have the shape (..., 3, n), not {list(x.shape)}"
                    )
                parts = [x[..., i, :] for i in range(3)]
            else:
                shape = tuple(x._array.shape[:-1])
                parts = [_filled(diag_part(x, k=k), shape, k) for k in (1, 0, -1)]
        self._upper, self._middle, self._lower = parts
        super().__init__(
            self._middle.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _size(self) -> tuple[int, ...]:
        shape = self._middle._array.shape
        return (*shape, shape[-1])

    def _compact(self, adjoint: bool) -> list[Tensor]:
        if not adjoint:
            return [self._upper, self._middle, self._lower]
        zero = self._middle[..., :1] * 0
        upper = concat([conjugate(self._lower)[..., 1:], zero], -1)
        lower = concat([zero, conjugate(self._upper)[..., :-1]], -1)
        return [upper, conjugate(self._middle), lower]

    def _to_dense(self) -> Tensor:
        dense = diag(self._middle)
        if self._size()[-1] > 1:
            dense = dense + diag(self._upper[..., :-1], k=1) + diag(self._lower[..., 1:], k=-1)
        return dense

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        batch = batch_of("Tridiag", self._size(), x._array.shape)
        parts = [broadcast_to(part, (*batch, self._size()[-1])) for part in self._compact(adjoint)]
        return tridiagonal_matmul(parts, broadcast_to(x, (*batch, *x._array.shape[-2:])), "sequence")

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        batch = batch_of("Tridiag", self._size(), rhs._array.shape)
        parts = [broadcast_to(part, (*batch, self._size()[-1])) for part in self._compact(adjoint)]
        return tridiagonal_solve(
            stack(parts, -2), broadcast_to(rhs, (*batch, *rhs._array.shape[-2:])), "compact"
        )

    def _diagonal(self) -> Tensor:
        return self._middle


def _filled(part: Tensor, shape: tuple[int, ...], which: int) -> Tensor:
    """The upper (1), middle (0) or lower (-1) diagonal, with as many elements as the middle one."""
    missing = shape[-1] - part._array.shape[-1]
    if missing:
        zeros = [(0, 0)] * (part.ndim - 1)
        part = pad(part, [*zeros, (0, missing) if which > 0 else (missing, 0)])
    return broadcast_to(part, shape)
