"""Samples for special functions.

Where JAX has none, their integrals, by Gauss and Legendre: JAX differentiates these too.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .entries import above_one, case, fraction, of, positive, unary, unit


def _integral(function, start, end, nodes=80):
    """The integral of a smooth function, exact to rounding."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return (function(start + (end - start) * (x + 1) / 2) @ w) * (end - start) / 2


def _k(order, scaled):
    """K(x), the integral of exp(-x cosh t) cosh(order t)."""
    rise = 1.0 if scaled else 0.0
    return lambda x: _integral(
        lambda t: jnp.exp(-x[..., None] * (jnp.cosh(t) - rise)) * jnp.cosh(order * t), 0, 6, 120
    )


def _j(order):
    return lambda x: _integral(lambda t: jnp.cos(order * t - x[..., None] * jnp.sin(t)), 0, np.pi) / np.pi


def _y(order):
    def tail(x, t):
        return (jnp.exp(order * t) + (-1) ** order * jnp.exp(-order * t)) * jnp.exp(
            -x[..., None] * jnp.sinh(t)
        )

    return lambda x: (
        (
            _integral(lambda t: jnp.sin(x[..., None] * jnp.sin(t) - order * t), 0, np.pi)
            - _integral(lambda t: tail(x, t), 0, 6, 120)
        )
        / np.pi
    )


def _igamma(a, x):
    """x^a / Gamma(a) times the integral of exp(-a v - x exp(-v)): that of t^(a-1) exp(-t), with t = x exp(-v)."""
    a, x = a[..., None], x[..., None]
    whole = _integral(lambda v: jnp.exp(-a * v - x * jnp.exp(-v)), 0, 30, 120)
    rest = jnp.exp(-30 * a[..., 0]) / a[..., 0]  # behind v = 30, where exp(-x exp(-v)) is 1
    return (whole + rest) * jnp.exp(a[..., 0] * jnp.log(x[..., 0]) - jax.scipy.special.gammaln(a[..., 0]))


def _by_first(function):
    """The derivative by the first of two arguments, for all elements at once."""

    def derivative(a, x):
        a, x = jnp.broadcast_arrays(a, x)
        return jax.jvp(lambda a: function(a, x), (a,), (jnp.ones_like(a),))[1]

    return derivative


def _igamma_derivative(a, x, *, order):
    return (_by_first(_igamma) if order == 1 else _by_first(_by_first(_igamma)))(a, x)


def _gamma_density(a, x):
    return jnp.exp((a - 1) * jnp.log(x) - x - jax.scipy.special.gammaln(a))


def _gamma_sample(alpha, drawn):
    """x with P(alpha, x) kept at what it is: two steps of Newton's method, from where it is already."""
    alpha, x = jnp.broadcast_arrays(alpha, drawn)
    probability = jax.lax.stop_gradient(_igamma(alpha, x))
    for _ in range(2):
        x = x - (_igamma(alpha, x) - probability) / _gamma_density(alpha, x)
    return x


_POINTS = [case((), ()), case((2, 2), (2, 2)), case((2, 1), (2,)), case((0,), ())]

SPECIAL = {
    "erf": unary(jax.scipy.special.erf),
    "erfc": unary(jax.scipy.special.erfc),
    "erfinv": unary(jax.scipy.special.erfinv, unit),
    "erfcinv": unary(lambda x: jax.scipy.special.erfinv(1 - x), fraction),
    "ndtri": unary(jax.scipy.special.ndtri, fraction),
    "lgamma": unary(jax.scipy.special.gammaln, positive),
    "digamma": unary(jax.scipy.special.digamma, positive),
    "polygamma": of(
        lambda n, x: (
            (-1.0) ** (n + 1) * jnp.exp(jax.scipy.special.gammaln(n + 1)) * jax.scipy.special.zeta(n + 1, x)
        ),
        case(np.array([1.0, 2.0, 3.0]), (3,)),
        case(np.array(1.0), (2, 2)),
        domain=positive,
    ),
    "zeta": of(jax.scipy.special.zeta, *_POINTS, domain=(above_one, positive)),
    "igamma": of(_igamma, *_POINTS, domain=positive),
    "igammac": of(lambda a, x: 1 - _igamma(a, x), *_POINTS, domain=positive),
    "igamma_derivative": of(
        _igamma_derivative,
        case((), (), order=1),
        case((2, 2), (2, 2), order=1),
        case((2, 1), (2,), order=2),
        case((0,), (), order=1),
        domain=positive,
    ),
    "gamma_sample": of(_gamma_sample, *_POINTS[2:], domain=positive, differences=False),
    "betainc": of(
        jax.scipy.special.betainc,
        case((), (), ()),
        case((3,), (3,), (3,)),
        case((2, 1), (), (2,)),
        domain=(positive, positive, fraction),
    ),
    "bessel_i0": unary(jax.scipy.special.i0),
    "bessel_i1": unary(jax.scipy.special.i1),
    "bessel_i0e": unary(jax.scipy.special.i0e),
    "bessel_i1e": unary(jax.scipy.special.i1e),
    "bessel_k0": unary(_k(0, False), positive),
    "bessel_k1": unary(_k(1, False), positive),
    "bessel_k0e": unary(_k(0, True), positive),
    "bessel_k1e": unary(_k(1, True), positive),
    "bessel_j0": unary(_j(0)),
    "bessel_j1": unary(_j(1)),
    "bessel_y0": unary(_y(0), positive),
    "bessel_y1": unary(_y(1), positive),
    "expint": unary(jax.scipy.special.expi),
    "dawsn": unary(lambda x: x * _integral(lambda s: jnp.exp(x[..., None] ** 2 * (s**2 - 1)), 0, 1)),
    "spence": unary(lambda x: -_integral(lambda s: jnp.log1p((x[..., None] - 1) * s) / s, 0, 1), positive),
    "fresnel_sin": unary(
        lambda x: x * _integral(lambda s: jnp.sin(np.pi / 2 * (x[..., None] * s) ** 2), 0, 1)
    ),
    "fresnel_cos": unary(
        lambda x: x * _integral(lambda s: jnp.cos(np.pi / 2 * (x[..., None] * s) ** 2), 0, 1)
    ),
}
