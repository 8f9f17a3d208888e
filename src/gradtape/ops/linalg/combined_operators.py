"""Linear operators made of others: adjoints, inverses, products, blocks, Kronecker products."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ..array.movement import broadcast_to, concat, reshape, transpose
from .linear_operator import MADE, Hint, LinearOperator, batch_of
from .matrix import adjoint as conjugate_transpose
from .matrix import conjugate


def operators_of(name: str, operators: Any, dtypes_alike: bool = True) -> list[LinearOperator]:
    """A list of operators of one dtype, at least one."""
    found = list(operators) if isinstance(operators, (list, tuple)) else []
    if not found or not all(isinstance(one, LinearOperator) for one in found):
        raise ValueError(f"{name}: operators must be a list of LinearOperators, not {operators!r}")
    if len({one.dtype.name for one in found}) > 1:
        raise TypeError(f"{name}: operators must have one dtype, not {[one.dtype.name for one in found]}")
    return found


def _all(hints: Sequence[Hint]) -> Hint:
    return True if all(hints) else None


class LinearOperatorAdjoint(LinearOperator):
    """The conjugate transpose of an operator.

    Args:
        operator: the operator.

    >>> from gradtape.linalg import LinearOperatorFullMatrix
    >>> LinearOperatorAdjoint(LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])).to_dense().numpy()
    array([[1., 3.], [2., 4.]], dtype=float32)
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        (self.operator,) = operators_of("LinearOperatorAdjoint", [operator])
        super().__init__(
            operator.dtype,
            None,
            operator.is_non_singular if is_non_singular is None else is_non_singular,
            operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint,
            operator.is_positive_definite if is_positive_definite is None else is_positive_definite,
            is_square,
            name,
        )

    def _size(self) -> tuple[int, ...]:
        *batch, rows, columns = self.operator._size()
        return (*batch, columns, rows)

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        return self.operator._product(x, not adjoint)

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self.operator._solution(rhs, not adjoint)

    def _to_dense(self) -> Tensor:
        return conjugate_transpose(self.operator._to_dense())

    def _diagonal(self) -> Tensor:
        return conjugate(self.operator._diagonal())

    def _log_abs(self) -> Tensor:
        return self.operator._log_abs()

    def _det(self) -> Tensor:
        return conjugate(self.operator._det())

    def adjoint(self, name: str | None = None) -> LinearOperator:
        """The operator itself."""
        return self.operator


class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator.

    Args:
        operator: a square operator.

    >>> from gradtape.linalg import LinearOperatorDiag
    >>> LinearOperatorInversion(LinearOperatorDiag([2.0, 4.0])).matvec([1.0, 1.0]).numpy()
    array([0.5 , 0.25], dtype=float32)
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        (self.operator,) = operators_of("LinearOperatorInversion", [operator])
        operator._invertible("LinearOperatorInversion")
        super().__init__(
            operator.dtype,
            None,
            True if is_non_singular is None else is_non_singular,
            operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint,
            operator.is_positive_definite if is_positive_definite is None else is_positive_definite,
            is_square,
            name,
        )

    def _size(self) -> tuple[int, ...]:
        return self.operator._size()

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        return self.operator._solution(x, adjoint)

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self.operator._product(rhs, adjoint)

    def _log_abs(self) -> Tensor:
        return -self.operator._log_abs()

    def _det(self) -> Tensor:
        return 1 / self.operator._det()

    def inverse(self, name: str | None = None) -> LinearOperator:
        """The operator itself."""
        return self.operator


class LinearOperatorComposition(LinearOperator):
    """The product of operators: the last one acts first.

    Args:
        operators: a list of operators whose lengths fit.

    >>> from gradtape.linalg import LinearOperatorDiag
    >>> LinearOperatorComposition([LinearOperatorDiag([2.0]), LinearOperatorDiag([3.0])]).to_dense().numpy()
    array([[6.]], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        self.operators = operators_of("LinearOperatorComposition", operators)
        for left, right in itertools.pairwise(self.operators):
            if left._size()[-1] != right._size()[-2]:
                raise ValueError(
                    f"LinearOperatorComposition: shapes {list(left._size())} and {list(right._size())} do not fit"
                )
        if is_non_singular is None and all(one.is_square for one in self.operators):
            is_non_singular = _all([one.is_non_singular for one in self.operators])
        super().__init__(
            self.operators[0].dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    def _size(self) -> tuple[int, ...]:
        sizes = [one._size() for one in self.operators]
        return (*batch_of("LinearOperatorComposition", *sizes), sizes[0][-2], sizes[-1][-1])

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        for one in self.operators if adjoint else reversed(self.operators):
            x = one._product(x, adjoint)
        return x

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._solution(rhs, adjoint)
        for one in reversed(self.operators) if adjoint else self.operators:
            rhs = one._solution(rhs, adjoint)
        return rhs

    def _log_abs(self) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._log_abs()
        return _sum([one._log_abs() for one in self.operators])

    def _det(self) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._det()
        result: Any = 1
        for one in self.operators:
            result = one._det() * result
        return result


def _sum(parts: Sequence[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


class LinearOperatorBlockDiag(LinearOperator):
    """Operators along the diagonal, zeros elsewhere.

    Args:
        operators: a list of operators.

    >>> from gradtape.linalg import LinearOperatorDiag
    >>> LinearOperatorBlockDiag([LinearOperatorDiag([2.0]), LinearOperatorDiag([3.0])]).to_dense().numpy()
    array([[2., 0.], [0., 3.]], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        self.operators = operators_of("LinearOperatorBlockDiag", operators)
        super().__init__(
            self.operators[0].dtype,
            None,
            _all([o.is_non_singular for o in self.operators]) if is_non_singular is None else is_non_singular,
            _all([o.is_self_adjoint for o in self.operators]) if is_self_adjoint is None else is_self_adjoint,
            _all([o.is_positive_definite for o in self.operators])
            if is_positive_definite is None
            else is_positive_definite,
            is_square,
            name,
        )

    def _size(self) -> tuple[int, ...]:
        sizes = [one._size() for one in self.operators]
        batch = batch_of("LinearOperatorBlockDiag", *sizes)
        return (*batch, sum(size[-2] for size in sizes), sum(size[-1] for size in sizes))

    def _each(self, x: Tensor, adjoint: bool, method: str, take: int) -> Tensor:
        lengths = [one._size()[take] for one in self.operators]
        ends = np.cumsum([0, *lengths]).tolist()
        parts = [
            getattr(one, method)(x[..., start:end, :], adjoint)
            for one, start, end in zip(self.operators, ends[:-1], ends[1:], strict=True)
        ]
        batch = batch_of("LinearOperatorBlockDiag", *(part._array.shape for part in parts))
        return concat([broadcast_to(part, (*batch, *part._array.shape[-2:])) for part in parts], -2)

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._each(x, adjoint, "_product", -2 if adjoint else -1)

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._solution(rhs, adjoint)
        return self._each(rhs, adjoint, "_solution", -1)

    def _diagonal(self) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._diagonal()
        parts = [one._diagonal() for one in self.operators]
        batch = self._size()[:-2]
        return concat([broadcast_to(part, (*batch, part._array.shape[-1])) for part in parts], -1)

    def _log_abs(self) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._log_abs()
        return _sum([one._log_abs() for one in self.operators])

    def _det(self) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._det()
        result: Any = 1
        for one in self.operators:
            result = one._det() * result
        return result

    def _factor(self) -> LinearOperator:
        return LinearOperatorBlockDiag([one.cholesky() for one in self.operators], is_non_singular=True)


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators.

    Args:
        operators: a list of operators.

    >>> from gradtape.linalg import LinearOperatorDiag
    >>> LinearOperatorKronecker([LinearOperatorDiag([1.0, 2.0]), LinearOperatorDiag([3.0])]).diag_part().numpy()
    array([3., 6.], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        self.operators = operators_of("LinearOperatorKronecker", operators)
        super().__init__(
            self.operators[0].dtype,
            None,
            _all([o.is_non_singular for o in self.operators]) if is_non_singular is None else is_non_singular,
            _all([o.is_self_adjoint for o in self.operators]) if is_self_adjoint is None else is_self_adjoint,
            _all([o.is_positive_definite for o in self.operators])
            if is_positive_definite is None
            else is_positive_definite,
            is_square,
            name,
        )

    def _size(self) -> tuple[int, ...]:
        sizes = [one._size() for one in self.operators]
        batch = batch_of("LinearOperatorKronecker", *sizes)
        return (*batch, int(np.prod([s[-2] for s in sizes])), int(np.prod([s[-1] for s in sizes])))

    def _each(self, x: Tensor, adjoint: bool, method: str) -> Tensor:
        """(A (x) B) X, one operator at a time: each acts on its own axis of the rows of X."""
        columns = x._array.shape[-1]
        for at, one in enumerate(self.operators):
            taken = one._size()[-2 if adjoint and method == "_product" else -1]
            batch = x._array.shape[:-2]
            before = int(
                np.prod([o._size()[-1 if adjoint else -2] for o in self.operators[:at]], dtype=np.int64)
            )
            parts = reshape(x, (*batch, before, taken, -1))
            moved = reshape(_front(parts), (*batch, taken, -1))
            done = getattr(one, method)(moved, adjoint)
            batch, given = done._array.shape[:-2], done._array.shape[-2]
            x = reshape(_back(reshape(done, (*batch, given, before, -1))), (*batch, -1, columns))
        return x

    def _product(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._each(x, adjoint, "_product")

    def _solution(self, rhs: Tensor, adjoint: bool) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._solution(rhs, adjoint)
        return self._each(rhs, adjoint, "_solution")

    def _diagonal(self) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._diagonal()
        found = self.operators[0]._diagonal()
        for one in self.operators[1:]:
            wide = found[..., :, None] * one._diagonal()[..., None, :]
            found = reshape(wide, (*wide._array.shape[:-2], -1))
        return found

    def _log_abs(self) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._log_abs()
        total = self._size()[-1]
        return _sum([one._log_abs() * (total / one._size()[-1]) for one in self.operators])

    def _det(self) -> Tensor:
        if not all(one.is_square for one in self.operators):
            return super()._det()
        total = self._size()[-1]
        result: Any = 1
        for one in self.operators:
            result = (one._det() ** (total // one._size()[-1])) * result
        return result

    def _factor(self) -> LinearOperator:
        return LinearOperatorKronecker([one.cholesky() for one in self.operators], is_non_singular=True)


def _front(x: Tensor) -> Tensor:
    """(..., a, b, c) as (..., b, a, c)."""
    lead = list(range(x.ndim - 3))
    return transpose(x, [*lead, x.ndim - 2, x.ndim - 3, x.ndim - 1])


_back = _front

MADE["adjoint"], MADE["inversion"] = LinearOperatorAdjoint, LinearOperatorInversion
