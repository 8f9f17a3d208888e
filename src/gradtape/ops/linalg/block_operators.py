"""The linear operator whose blocks are operators, on the diagonal and below it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ..array.creation import zeros
from ..array.movement import broadcast_to, concat, expand_dims, squeeze
from .combined_operators import operators_of
from .linear_operator import Hint, LinearOperator, batch_of


class LinearOperatorBlockLowerTriangular(LinearOperator):
    """Operators in rows of blocks up to the diagonal, zeros above it.

    Products and solutions also take a list of tensors, one for each row of blocks, and then return a list.

    Args:
        operators: a list of rows: the first with one operator, the second with two, and so on. Those that end the rows
            are square.

    Raises:
        ValueError: if they are not such rows, or their lengths do not fit.

    >>> from gradtape.linalg import LinearOperatorDiag
    >>> two, three = LinearOperatorDiag([2.0]), LinearOperatorDiag([3.0])
    >>> LinearOperatorBlockLowerTriangular([[two], [three, two]]).to_dense().numpy()
    array([[2., 0.], [3., 2.]], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[Sequence[LinearOperator]],
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        what = "LinearOperatorBlockLowerTriangular"
        if not isinstance(operators, (list, tuple)) or not operators:
            raise ValueError(f"{what}: operators must be a list of rows, not {operators!r}")
        self.operators = [operators_of(what, row) for row in operators]
        flat = operators_of(what, [one for row in self.operators for one in row])
        if [len(row) for row in self.operators] != [*range(1, len(self.operators) + 1)]:
            raise ValueError(
                f"{what}: rows must have one operator, two, and so on, not {[len(row) for row in self.operators]}"
            )
        diagonal = [row[-1] for row in self.operators]
        self._lengths = [one._size()[-2] for one in diagonal]
        for row, length in zip(self.operators, self._lengths, strict=True):
            shapes = [one._size()[-2:] for one in row]
            if shapes != [(length, columns) for columns in self._lengths[: len(row)]]:
                raise ValueError(
                    f"{what}: a row of blocks has the shapes {shapes}, which do not fit {self._lengths}"
                )
        hints = [one.is_non_singular for one in diagonal]
        known = True if all(hints) else False if False in hints else None
        super().__init__(
            flat[0].dtype,
            None,
            known if is_non_singular is None else is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    def _size(self) -> tuple[int, ...]:
        sizes = [one._size() for row in self.operators for one in row]
        return (*batch_of("LinearOperatorBlockLowerTriangular", *sizes), *[sum(self._lengths)] * 2)

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str | None = None
    ) -> Any:
        """The product with matrices, with a list of them, or with another operator."""
        return self._by_blocks(super().matmul, x, adjoint, adjoint_arg)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str | None = None
    ) -> Any:
        """The solutions of A x = rhs, for matrices, a list of them, or another operator."""
        return self._by_blocks(super().solve, rhs, adjoint, adjoint_arg)

    def matvec(self, x: Any, adjoint: bool = False, name: str | None = None) -> Any:
        """The product with vectors, or with a list of them; `adjoint` as for `matmul`."""
        return self._of_vectors(self.matmul, super().matvec, x, adjoint)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
        """The solutions of A x = rhs, for vectors or a list of them; `adjoint` as for `solve`."""
        return self._of_vectors(self.solve, super().solvevec, rhs, adjoint)

    def _of_vectors(self, of_matrices: Any, of_vectors: Any, x: Any, adjoint: bool) -> Any:
        if not self._is_divided(x):
            return of_vectors(x, adjoint)
        return [squeeze(part, -1) for part in of_matrices([expand_dims(one, -1) for one in x], adjoint)]

    def _is_divided(self, x: Any) -> bool:
        """Return whether this is a list with a tensor for each row of blocks."""
        is_list = isinstance(x, (list, tuple)) and all(isinstance(one, (Tensor, np.ndarray)) for one in x)
        return is_list and len(x) == len(self._lengths)

    def _by_blocks(self, method: Any, x: Any, adjoint: bool, adjoint_arg: bool) -> Any:
        if not self._is_divided(x):
            return method(x, adjoint, adjoint_arg)
        parts = [self._argument("matmul", one, adjoint_arg) for one in x]
        return self._divided(method(self._joined(parts), adjoint))

    def _divided(self, x: Tensor) -> list[Tensor]:
        """The rows of a matrix that belong to each row of blocks."""
        ends = np.cumsum([0, *self._lengths]).tolist()
        return [x[..., start:end, :] for start, end in itertools.pairwise(ends)]

    def _joined(self, parts: list[Tensor]) -> Tensor:
        batch = batch_of("LinearOperatorBlockLowerTriangular", *(part._array.shape for part in parts))
        return concat([broadcast_to(part, (*batch, *part._array.shape[-2:])) for part in parts], -2)

    def _terms(self, i: int, adjoint: bool) -> list[tuple[int, LinearOperator]]:
        """The blocks beside the diagonal in a row, or of the conjugate transpose, each with its column."""
        if adjoint:
            return [(j, self.operators[j][i]) for j in range(i + 1, len(self.operators))]
        return list(enumerate(self.operators[i][:-1]))

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        parts, found = self._divided(x), []
        for i, row in enumerate(self.operators):
            total = row[-1]._product(parts[i], adjoint)
            for j, block in self._terms(i, adjoint):
                total = total + block._product(parts[j], adjoint)
            found.append(total)
        return self._joined(found)

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        """By substitution: from the first row on, or for the conjugate transpose from the last."""
        parts, order = self._divided(rhs), range(len(self.operators))
        found: dict[int, Tensor] = {}
        for i in reversed(order) if adjoint else order:
            rest = parts[i]
            for j, block in self._terms(i, adjoint):
                rest = rest - block._product(found[j], adjoint)
            found[i] = self.operators[i][-1]._solution(rest, adjoint)
        return self._joined([found[i] for i in order])

    def _to_dense(self) -> Tensor:
        batch, width = self._size()[:-2], sum(self._lengths)
        rows = []
        for row in self.operators:
            blocks = [broadcast_to(one._to_dense(), (*batch, *one._size()[-2:])) for one in row]
            length = row[-1]._size()[-2]
            beyond = width - sum(self._lengths[: len(row)])
            rows.append(concat([*blocks, zeros((*batch, length, beyond), self._dtype)], -1))
        return concat(rows, -2)

    def _diagonal(self) -> Tensor:
        batch = self._size()[:-2]
        parts = [row[-1]._diagonal() for row in self.operators]
        return concat([broadcast_to(part, (*batch, part._array.shape[-1])) for part in parts], -1)

    def _log_abs(self) -> Tensor:
        total: Any = 0
        for row in self.operators:
            total = row[-1]._log_abs() + total
        return total

    def _det(self) -> Tensor:
        total: Any = 1
        for row in self.operators:
            total = row[-1]._det() * total
        return total
