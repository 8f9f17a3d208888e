"""Complex numbers: their parts, their construction, their length and angle.

These are not holomorphic, so only linear ones push tangents through themselves; the rest transpose their rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import DTypeError
from ...core.primitive import apply, primitive
from ...core.structural import conj
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import Axes, TensorLike
from ...engine.arrays import xp
from ..array.movement import cast
from .elementwise import abs_, divide_no_nan, multiply, negative, square, subtract, zero_like
from .elementwise import sign as sign_
from .python_operators import install
from .reduction import reduce_euclidean_norm as length


@primitive(linear=True, name="real")
def real_(x):
    return x.real


@primitive(linear=True, name="imag")
def imag_(x):
    return x.imag


@primitive(elementwise=True, linear=True, name="complex")
def complex_(real, imag):
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, np.complex64))
    out.real, out.imag = real, imag  # real + 1j * imag would make nan of an infinite part
    return out


@complex_.compiled
def _(real, imag):
    import jax

    return jax.lax.complex(*jax.numpy.broadcast_arrays(real, imag))


# With the pairing Re(g * dx): Re(dx) pulls g back as it is, Im(dx) = Re(-i dx) as -i g.
real_.rules(x=lambda g: _as_complex(g))
imag_.rules(x=lambda g: _times_minus_i(g))
complex_.rules(real=lambda g: real_(g), imag=lambda g: negative(imag_(g)))


@primitive
def complex_abs(x):
    return xp(x).abs(x)


# d|x| = Re(conj(x) dx) / |x|; at 0 the shortest subgradient: 0.
complex_abs.rules(x=lambda g, x, out: _as_complex(g) * divide_no_nan(conj(x), _as_complex(out)))


@primitive(name="angle")
def angle_(x):
    return xp(x).angle(x)


# d angle(x) = Im(dx / x) = Re(-i dx / x)
angle_.rules(x=lambda g, x: divide_no_nan(_times_minus_i(g), x))


def _as_complex(g: Any) -> Any:
    return complex_(g, zero_like(g))


def _times_minus_i(g: Any) -> Any:
    return complex_(zero_like(g), -g)


# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """The real part of each element; real tensors come back as they are.

    >>> float(real(1 + 2j))
    1.0
    """
    x = convert(input)
    if not x.dtype.is_numeric:
        raise DTypeError(f"real takes numbers, not {x.dtype.name}")
    return apply(real_, (x,)) if x.dtype.is_complex else x


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary part of each element; zeros for real tensors.

    >>> float(imag(1 + 2j))
    2.0
    """
    x = convert(input)
    return apply(imag_, (x,)) if x.dtype.is_complex else convert(xp(x._array).zeros_like(x._array))


def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """The complex numbers with these real and imaginary parts: complex64 for float32, complex128 for float64.

    Raises:
        DTypeError: If a part is not float32 or float64.

    >>> complex(1.0, 2.0).numpy().item()
    (1+2j)
    """
    parts = [convert(real), convert(imag, None, convert(real)._array.dtype)]
    for part in parts:
        if part.dtype.name not in ("float32", "float64"):
            raise DTypeError(
                f"complex takes float32 or float64 parts, not {part.dtype.name}: use cast(x, 'float32')"
            )
    return apply(complex_, tuple(parts))


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The angle of each element in the complex plane; for real tensors 0, or pi where negative. Its gradient at 0 is 0.

    Raises:
        DTypeError: If the tensor holds integers, booleans or strings.

    >>> round(float(angle(1j)), 4)
    1.5708
    """
    x = convert(input)
    if x.dtype.is_complex:
        return apply(angle_, (x,))
    if not x.dtype.is_floating:
        raise DTypeError(
            f"angle takes complex or floating tensors, not {x.dtype.name}: use cast(x, 'float32')"
        )
    return convert(xp(x._array).where(x._array < 0, np.pi, 0).astype(x._array.dtype))


def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """The absolute value of each element. Its gradient at 0 is 0.

    >>> abs([-1.0, 3.0]).numpy()
    array([1., 3.], dtype=float32)
    >>> float(abs(3 + 4j))
    5.0
    """
    value = convert(x)
    return apply(complex_abs if value._array.dtype.kind == "c" else abs_, (value,))


def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """-1, 0 or 1 by the sign of each element, with gradient 0; a complex number is divided by its length.

    >>> sign([-3.0, 0.0]).numpy()
    array([-1.,  0.], dtype=float32)
    """
    value = convert(x)
    if value._array.dtype.kind != "c":
        return apply(sign_, (value,))
    return apply(divide_no_nan, (value, _as_complex(apply(complex_abs, (value,)))))


def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """(x - y) squared, element by element; for complex numbers the squared length of x - y.

    >>> float(squared_difference(1.0, 3.0))
    4.0
    """
    difference = apply(subtract, (x, y))
    if difference._array.dtype.kind == "c":
        return apply(multiply, (difference, conj(difference)))
    return apply(square, (difference,))


def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The root of the sum of squares along `axis`, in the dtype of the input. Its gradient at 0 is 0.

    >>> float(reduce_euclidean_norm([3.0, 4.0]))
    5.0
    """
    x = convert(input_tensor)
    if x.dtype.is_integer:
        return cast(length(cast(x, "float64"), axis, keepdims), x.dtype)
    norm = length(x, axis, keepdims)
    return _as_complex(norm) if x.dtype.is_complex else norm


install({"__abs__": lambda self: abs(self)})
