"""check_numerics: the same value, or an error where it is not finite; and the same for its gradient."""

from __future__ import annotations

from typing import Any

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, primitive
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import xp
from ..control.printing import demand


def not_finite(array: Any) -> str:
    """The kinds of elements of an array that are not finite: '', 'NaN', 'Inf' or 'Inf and NaN'."""
    if not dtypes.is_differentiable(array) or bool(xp(array).isfinite(array).all()):
        return ""
    found = [kind for kind, test in (("Inf", xp(array).isinf), ("NaN", xp(array).isnan)) if test(array).any()]
    return " and ".join(found)


@primitive(linear=True, name="check_numerics", moves=True)
def check_numerics_(x, *, message):
    if not_finite(x):
        raise _error(message, x)
    return x


@check_numerics_.compiled
def _(x, *, message):
    demand(xp(x).isfinite(x).all(), lambda array: _error(message, array), [x])
    return x


def _error(message: str, array: Any) -> InvalidArgumentError:
    return InvalidArgumentError(f"{message} : Tensor had {not_finite(array)} values")


_IN_GRADIENT = "not a finite number in the gradient of: "

check_numerics_.rules(
    x=lambda g, message: check_numerics_(g, message=_IN_GRADIENT + message.removeprefix(_IN_GRADIENT))
)


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """The same tensor, if all its elements are finite. Its gradient is checked likewise.

    Args:
        tensor: A floating tensor.
        message: The beginning of the error's message.

    Raises:
        InvalidArgumentError: If an element is inf or nan.
        DTypeError: If the tensor is not floating.

    >>> check_numerics(0.5, "a half").numpy()
    np.float32(0.5)
    """
    x = convert(tensor)
    if not x.dtype.is_floating:
        raise DTypeError(f"check_numerics: takes floating tensors, not {x.dtype.name}")
    return apply(check_numerics_, (x,), {"message": str(message)})
