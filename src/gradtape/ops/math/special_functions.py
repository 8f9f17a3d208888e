"""Public functions of `tf.math.special`: each is its primitive, applied to a floating tensor.

`__all__` is what the namespace offers.
"""

from __future__ import annotations

from ...core.primitive import apply1
from ...core.tensor import Tensor
from ...core.types import TensorLike
from . import special

__all__ = [
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "bessel_j0",
    "bessel_j1",
    "bessel_k0",
    "bessel_k0e",
    "bessel_k1",
    "bessel_k1e",
    "bessel_y0",
    "bessel_y1",
    "dawsn",
    "expint",
    "fresnel_cos",
    "fresnel_sin",
    "spence",
]


def dawsn(x: TensorLike, name: str | None = None) -> Tensor:
    """Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x.

    >>> print(f"{float(dawsn(0.0)):.4f}")
    0.0000
    """
    return apply1(special.dawsn, x)


def expint(x: TensorLike, name: str | None = None) -> Tensor:
    """The exponential integral Ei(x).

    >>> print(f"{float(expint(1.0)):.4f}")
    1.8951
    """
    return apply1(special.expint, x)


def fresnel_cos(x: TensorLike, name: str | None = None) -> Tensor:
    """The integral of cos(pi t^2 / 2) from 0 to x.

    >>> print(f"{float(fresnel_cos(0.0)):.4f}")
    0.0000
    """
    return apply1(special.fresnel_cos, x)


def fresnel_sin(x: TensorLike, name: str | None = None) -> Tensor:
    """The integral of sin(pi t^2 / 2) from 0 to x.

    >>> print(f"{float(fresnel_sin(0.0)):.4f}")
    0.0000
    """
    return apply1(special.fresnel_sin, x)


def spence(x: TensorLike, name: str | None = None) -> Tensor:
    """Spence's integral of log(t) / (1 - t) from 1 to x.

    >>> print(f"{float(spence(1.0)):.4f}")
    0.0000
    """
    return apply1(special.spence, x)


def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 0.

    >>> print(f"{float(bessel_i0(0.0)):.4f}")
    1.0000
    """
    return apply1(special.bessel_i0, x)


def bessel_i0e(x: TensorLike, name: str | None = None) -> Tensor:
    """exp(-|x|) bessel_i0(x).

    >>> print(f"{float(bessel_i0e(0.0)):.4f}")
    1.0000
    """
    return apply1(special.bessel_i0e, x)


def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 1.

    >>> print(f"{float(bessel_i1(0.0)):.4f}")
    0.0000
    """
    return apply1(special.bessel_i1, x)


def bessel_i1e(x: TensorLike, name: str | None = None) -> Tensor:
    """exp(-|x|) bessel_i1(x).

    >>> print(f"{float(bessel_i1e(0.0)):.4f}")
    0.0000
    """
    return apply1(special.bessel_i1e, x)


def bessel_k0(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind and order 0.

    >>> print(f"{float(bessel_k0(1.0)):.4f}")
    0.4210
    """
    return apply1(special.bessel_k0, x)


def bessel_k0e(x: TensorLike, name: str | None = None) -> Tensor:
    """exp(x) bessel_k0(x).

    >>> print(f"{float(bessel_k0e(1.0)):.4f}")
    1.1445
    """
    return apply1(special.bessel_k0e, x)


def bessel_k1(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind and order 1.

    >>> print(f"{float(bessel_k1(1.0)):.4f}")
    0.6019
    """
    return apply1(special.bessel_k1, x)


def bessel_k1e(x: TensorLike, name: str | None = None) -> Tensor:
    """exp(x) bessel_k1(x).

    >>> print(f"{float(bessel_k1e(1.0)):.4f}")
    1.6362
    """
    return apply1(special.bessel_k1e, x)


def bessel_j0(x: TensorLike, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind and order 0.

    >>> print(f"{float(bessel_j0(0.0)):.4f}")
    1.0000
    """
    return apply1(special.bessel_j0, x)


def bessel_j1(x: TensorLike, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind and order 1.

    >>> print(f"{float(bessel_j1(0.0)):.4f}")
    0.0000
    """
    return apply1(special.bessel_j1, x)


def bessel_y0(x: TensorLike, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind and order 0.

    >>> print(f"{float(bessel_y0(1.0)):.4f}")
    0.0883
    """
    return apply1(special.bessel_y0, x)


def bessel_y1(x: TensorLike, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind and order 1.

    >>> print(f"{float(bessel_y1(1.0)):.4f}")
    -0.7812
    """
    return apply1(special.bessel_y1, x)
