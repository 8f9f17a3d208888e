"""Linear equations solved by conjugate gradients, with products of the operator alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ..array.creation import zeros_like
from ..control.branching import while_loop
from ..math.complexes import conj
from ..math.reduction import reduce_any, reduce_sum
from ..scalars import integer, number
from .linear_operator import LinearOperator
from .norms import norm


class ConjugateGradientState(NamedTuple):
    """The number of steps, the solution, what is left of the right side, the next direction, and left * left."""

    i: Tensor
    x: Tensor
    r: Tensor
    p: Tensor
    gamma: Tensor


def conjugate_gradient(
    operator: LinearOperator,
    rhs: TensorLike,
    preconditioner: LinearOperator | None = None,
    x: TensorLike | None = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str | None = "conjugate_gradient",
) -> ConjugateGradientState:
    """Solve A x = rhs for a self-adjoint, positive definite A. Gradients pass through the steps.

    Args:
        operator: A, a `LinearOperator`.
        rhs: of shape (..., n).
        preconditioner: an operator near the inverse of A.
        x: where to begin; zeros by default.
        tol: the norm of what is left, divided by that of `rhs`, below which to stop.
        max_iter: the largest number of steps.

    Returns:
        The state after the last step: `i` the number of steps, `x` the solution, `r` what is left.

    Raises:
        InvalidArgumentError: if the operator is said not to be self-adjoint or positive definite.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[4.0, 1.0], [1.0, 3.0]])
    >>> conjugate_gradient(operator, [1.0, 2.0]).x.numpy().round(4)
    array([0.0909, 0.6364], dtype=float32)
    """
    for what, given in (("operator", operator), ("preconditioner", preconditioner)):
        if given is None and what == "preconditioner":
            continue
        if not isinstance(given, LinearOperator):
            raise DTypeError(f"conjugate_gradient: {what} must be a LinearOperator, not {given!r}")
        if given.is_self_adjoint is False or given.is_positive_definite is False:
            raise InvalidArgumentError(
                f"conjugate_gradient: {what} must be self-adjoint and positive definite"
            )
    right = convert(rhs, None, np.dtype(operator.dtype.numpy_dtype))
    limit = abs(norm(right, axis=-1)) * number("conjugate_gradient", "tol", tol)
    most = integer("conjugate_gradient", "max_iter", max_iter, least=0)

    def near(r: Tensor) -> Tensor:
        return r if preconditioner is None else preconditioner.matvec(r)

    def goes_on(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> Any:
        return (i < most) & reduce_any(abs(norm(r, axis=-1)) > limit)

    def step(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> ConjugateGradientState:
        z = operator.matvec(p)
        alpha = (gamma / _dot(p, z))[..., None]
        x, r = x + alpha * p, r - alpha * z
        q = near(r)
        new = _dot(r, q)
        return ConjugateGradientState(i + 1, x, r, q + (new / gamma)[..., None] * p, new)

    start = zeros_like(right) if x is None else convert(x, right._array.dtype)
    left = right if x is None else right - operator.matvec(start)
    first = near(left)
    state = ConjugateGradientState(convert(0), start, left, first, _dot(left, first))
    return ConjugateGradientState(*while_loop(goes_on, step, state))


def _dot(x: Tensor, y: Tensor) -> Tensor:
    return reduce_sum(conj(x) * y, -1)
