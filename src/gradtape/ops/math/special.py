"""Special functions: error functions, gamma functions, Bessel functions. SciPy computes them; the rules are ours.

SciPy is imported when the first of them is called. It has no bfloat16 and no float16: those go through float32.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import DTypeError
from ...core.primitive import Primitive, apply, primitive
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import xp
from ...engine.host import on_host
from .elementwise import (
    cos,
    divide_no_nan,
    equal,
    exp,
    log,
    log1p,
    multiply_no_nan,
    number,
    over,
    reciprocal,
    select,
    sign,
    sin,
    square,
    times,
    xlogy,
)
from .reduction import reduce_sum


def _scipy(function: str, *arguments: Any) -> Any:
    """`scipy.special.function` of the arguments, in their own dtype: by JAX for its arrays."""
    return (_by_numpy if xp(*arguments) is np else _by_jax)(function, *arguments)


def _by_numpy(function: str, *arguments: Any) -> Any:
    import scipy.special as special

    if function.startswith("fresnel"):
        return _in_own_dtype(lambda x: special.fresnel(x)[function == "fresnel_cos"], *arguments)
    return _in_own_dtype(getattr(special, function), *arguments)


def _by_jax(function: str, *arguments: Any) -> Any:
    """By JAX where it has the function; else SciPy is called when the program runs."""
    import jax.scipy.special as special

    if hasattr(special, function):
        return _in_own_dtype(getattr(special, function), *arguments)
    shape = np.broadcast_shapes(*[a.shape for a in arguments])
    return on_host(functools.partial(_by_numpy, function), shape, arguments[0].dtype, *arguments)


def _in_own_dtype(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function, for half precision computed in float32."""
    dtype = arguments[0].dtype
    if dtype.itemsize < 4:
        arguments = tuple([a.astype(np.float32) for a in arguments])
    return function(*arguments).astype(dtype)


def _check_floating(name: str, array: Any) -> None:
    if array.dtype.kind not in "fV":
        raise DTypeError(f"{name} takes floating tensors, not {array.dtype}: use cast(x, 'float32')")


def _special(name: str, function: str, inputs: tuple[str, ...] = ("x",), **facts: Any) -> Primitive:
    """An elementwise primitive that SciPy computes under the name `function`."""

    def forward(*arrays: Any) -> Any:
        _check_floating(name, arrays[0])
        return _scipy(function, *arrays)

    return Primitive(forward, name, inputs, elementwise=True, **facts)


# ---------------------------------------------------------------------------------------------------------------------
# Error functions

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

erf = _special("erf", "erf", formula="d erf(x) = (2 / √π) exp(-x²) dx")
erf.rules(x=lambda g, x: g * exp(-square(x)) * number(_TWO_OVER_ROOT_PI, g))

erfc = _special("erfc", "erfc", formula="d erfc(x) = -(2 / √π) exp(-x²) dx")
erfc.rules(x=lambda g, x: -g * exp(-square(x)) * number(_TWO_OVER_ROOT_PI, g))

erfinv = _special("erfinv", "erfinv")
erfinv.rules(x=lambda g, out: times(g, exp(square(out))) / number(_TWO_OVER_ROOT_PI, g))

erfcinv = _special("erfcinv", "erfcinv")
erfcinv.rules(x=lambda g, out: -times(g, exp(square(out))) / number(_TWO_OVER_ROOT_PI, g))

ndtri = _special("ndtri", "ndtri")
ndtri.rules(x=lambda g, out: times(g, exp(square(out) / 2)) * number(math.sqrt(2 * math.pi), g))

# ---------------------------------------------------------------------------------------------------------------------
# Gamma and zeta

lgamma = _special("lgamma", "gammaln", formula="d lgamma(x) = digamma(x) dx")
lgamma.rules(x=lambda g, x: times(g, digamma(x)))

digamma = _special("digamma", "digamma")
digamma.rules(x=lambda g, x: times(g, polygamma(number(1, x), x)))


@primitive(elementwise=True)
def polygamma(a, x):
    """d^a/dx^a of digamma: (-1)^(a+1) a! zeta(a+1, x), and digamma itself for a = 0."""
    _check_floating("polygamma", x)
    m = xp(a, x)
    whole = (a >= 0) & (a == m.floor(a))
    safe = m.where(whole & (a > 0), a, m.ones_like(a))
    sign_of = m.where(safe % 2 == 0, -m.ones_like(a), m.ones_like(a))
    value = sign_of * _scipy("gamma", safe + 1) * _scipy("zeta", safe + 1, x)
    return m.where(whole, m.where(a > 0, value, _scipy("digamma", x)), m.full_like(x, np.nan)).astype(x.dtype)


polygamma.rules(x=lambda g, a, x: times(g, polygamma(a + 1, x)))

zeta = _special("zeta", "zeta", ("x", "q"))
zeta.rules(q=lambda g, x, q: -g * x * zeta(x + 1, q))

# ---------------------------------------------------------------------------------------------------------------------
# Incomplete gamma and beta functions

igamma = _special("igamma", "gammainc", ("a", "x"))
igammac = _special("igammac", "gammaincc", ("a", "x"))


def gamma_density(a: Any, x: Any) -> Any:
    """x^(a-1) e^-x / Gamma(a): the derivative by x of the regularized lower incomplete gamma function."""
    return exp(xlogy(a - 1, x) - x - lgamma(a))


def igamma_by_shape(a: Any, x: Any) -> Any:
    """The derivative by a of the regularized lower incomplete gamma function."""
    return igamma_derivative(a, x, order=1)


igamma.rules(a=lambda g, a, x: g * igamma_by_shape(a, x), x=lambda g, a, x: g * gamma_density(a, x))
igammac.rules(a=lambda g, a, x: -g * igamma_by_shape(a, x), x=lambda g, a, x: -g * gamma_density(a, x))


@primitive(elementwise=True)
def igamma_derivative(a, x, *, order):
    """The derivative of the given order (at least 1) by a of the regularized lower incomplete gamma function.

    P(a, x) is the integral of exp(a s - e^s) / Gamma(a) over s up to log x. Its derivatives are integrals of the same
    with a polynomial in s, and over all s they are 0: so the shorter side of log x is integrated, from the point where
    the exponential has fallen by e^-40. It is smooth there, and 80 Gauss points give all digits. For a small a,
    P(a, x) = P(a + 1, x) + x^a e^-x / Gamma(a + 1).
    """
    m, dtype = xp(a, x), x.dtype
    a, x = a + m.zeros_like(x), x + m.zeros_like(a)
    inside = (a > 0) & (x > 0) & (x < np.inf)
    outside = m.where((a > 0) & (x >= 0), m.zeros_like(x), m.full_like(x, np.nan))
    a, x = (m.where(inside, v, m.ones_like(v)).astype(np.float64) for v in (a, x))
    below = x <= a
    up = below & (a < 1)
    a = m.where(up, a + 1, a)
    slope, *bends = [m.log(a) - _scipy("digamma", a)] + [
        -polygamma.forward(m.full_like(a, k), a) for k in range(1, order)
    ]
    end = m.log(x / a)  # s = log a, where the exponential peaks, counts as 0
    reach = m.where(below, -_reach_below(a, m.minimum(x, a)), _reach_above(a, m.maximum(x, a)))
    top = _log_peak(a)
    nodes, weights = map(m.asarray, _gauss_points())

    def add(i: Any, total: Any) -> Any:
        s = end + reach * nodes[i]
        return total + weights[i] * m.exp(a * (s - m.expm1(s)) + top) * _bell([s + slope, *bends])

    total = repeated(m, 80, add, m.zeros_like(a))
    step = m.exp(a * (end - m.expm1(end)) + top) / x * _bell([end + slope, *bends])
    total = m.where(up, step, m.zeros_like(a)) - reach * total
    return m.where(inside, total, outside).astype(dtype)


@functools.cache
def _gauss_points() -> tuple[Any, Any]:
    """80 points between 0 and 1, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    return (nodes + 1) / 2, weights / 2


def repeated(lib: Any, count: int, step: Callable[[Any, Any], Any], value: Any) -> Any:
    """The value after `count` steps `step(i, value)`; for JAX a loop, whose step is compiled once."""
    if lib is not np:
        from jax import lax

        return lax.fori_loop(0, count, step, value)
    for i in range(count):
        value = step(i, value)
    return value


def _reach_below(a: Any, x: Any) -> Any:
    """The distance to the left of log x <= log a at which exp(a s - e^s) has fallen by e^-40, by Newton's method."""
    m = xp(x)

    def newton(_: Any, reach: Any) -> Any:
        return reach - (a * reach + x * m.expm1(-reach) - 40) / (a - x * m.exp(-reach))

    return repeated(m, 24, newton, (40 + x) / a)


def _reach_above(a: Any, x: Any) -> Any:
    """The same to the right of log x >= log a."""
    m = xp(x)

    def newton(_: Any, reach: Any) -> Any:
        return reach - (x * m.expm1(reach) - a * reach - 40) / (x * m.exp(reach) - a)

    return repeated(m, 24, newton, m.minimum(m.sqrt(80 / x), 1 + m.log1p(80 / x)))


def _log_peak(a: Any) -> Any:
    """a log a - a - log Gamma(a). Stirling's series where that would lose digits."""
    m = xp(a)
    large = m.maximum(a, 20.0)
    inverse = 1 / (large * large)
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / large
    plain = a * m.log(a) - a - _scipy("gammaln", a)
    return m.where(a < 20, plain, 0.5 * m.log(large / (2 * math.pi)) - series)


def _bell(slopes: list[Any]) -> Any:
    """The n-th derivative of e^f over e^f, from the first n derivatives of f."""
    derivatives: list[Any] = [1]
    for n in range(len(slopes)):
        derivatives.append(sum(math.comb(n, k) * slopes[k] * derivatives[n - k] for k in range(n + 1)))
    return derivatives[-1]


def _density_by_shape(a: Any, x: Any, order: int) -> Any:
    """The derivative of the density by a, of the given order."""
    bends = [-polygamma(number(k, a), a) for k in range(1, order)]
    return gamma_density(a, x) * _bell([log(x) - digamma(a), *bends])


igamma_derivative.rules(
    a=lambda g, a, x, order: g * igamma_derivative(a, x, order=order + 1),
    x=lambda g, a, x, order: g * _density_by_shape(a, x, order),
)

betainc = _special("betainc", "betainc", ("a", "b", "x"))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    return exp(xlogy(a - 1, x) + multiply_no_nan(log1p(-x), b - 1) - log_beta)


betainc.rules(x=lambda g, a, b, x: g * _beta_density(a, b, x))

# ---------------------------------------------------------------------------------------------------------------------
# Bessel functions: I, K (and scaled by e^-|x| or e^x), J, Y of orders 0 and 1

bessel_i0 = _special("bessel_i0", "i0")
bessel_i1 = _special("bessel_i1", "i1")
bessel_i0e = _special("bessel_i0e", "i0e")
bessel_i1e = _special("bessel_i1e", "i1e")
bessel_k0 = _special("bessel_k0", "k0")
bessel_k1 = _special("bessel_k1", "k1")
bessel_k0e = _special("bessel_k0e", "k0e")
bessel_k1e = _special("bessel_k1e", "k1e")
bessel_j0 = _special("bessel_j0", "j0")
bessel_j1 = _special("bessel_j1", "j1")
bessel_y0 = _special("bessel_y0", "y0")
bessel_y1 = _special("bessel_y1", "y1")


def _over(first: Any, x: Any) -> Any:
    """I1(x) / x or J1(x) / x, with its limit at 0: 1/2."""
    return select(equal(x, 0), number(0.5, x), divide_no_nan(first, x))


bessel_i0.rules(x=lambda g, x: g * bessel_i1(x))
bessel_i1.rules(x=lambda g, x, out: g * (bessel_i0(x) - _over(out, x)))
bessel_i0e.rules(x=lambda g, x, out: g * (bessel_i1e(x) - sign(x) * out))
bessel_i1e.rules(x=lambda g, x, out: g * (bessel_i0e(x) - _over(out, x) - sign(x) * out))
bessel_k0.rules(x=lambda g, x: -times(g, bessel_k1(x)))
bessel_k1.rules(x=lambda g, x, out: -g * (bessel_k0(x) + out / x))
bessel_k0e.rules(x=lambda g, x, out: g * (out - bessel_k1e(x)))
bessel_k1e.rules(x=lambda g, x, out: g * (out * (1 - reciprocal(x)) - bessel_k0e(x)))
bessel_j0.rules(x=lambda g, x: -g * bessel_j1(x))
bessel_j1.rules(x=lambda g, x, out: g * (bessel_j0(x) - _over(out, x)))
bessel_y0.rules(x=lambda g, x: -times(g, bessel_y1(x)))
bessel_y1.rules(x=lambda g, x, out: g * (bessel_y0(x) - out / x))

# ---------------------------------------------------------------------------------------------------------------------
# Integrals

expint = _special("expint", "expi")
expint.rules(x=lambda g, x: over(times(g, exp(x)), x))

dawsn = _special("dawsn", "dawsn")
dawsn.rules(x=lambda g, x, out: g * (1 - (x + x) * out))

spence = _special("spence", "spence")
spence.rules(x=lambda g, x: g * _spence_slope(x))


def _spence_slope(x: Any) -> Any:
    """log(x) / (1 - x), and at its removable singularity 1 its series, up to the second order."""
    d = x - 1
    return select(equal(x, 1), d * (number(0.5, d) - d / 3) - 1, divide_no_nan(log(x), -d))


fresnel_sin = _special("fresnel_sin", "fresnel_sin")
fresnel_sin.rules(x=lambda g, x: g * sin(square(x) * number(math.pi / 2, x)))

fresnel_cos = _special("fresnel_cos", "fresnel_cos")
fresnel_cos.rules(x=lambda g, x: g * cos(square(x) * number(math.pi / 2, x)))

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the beta function of the numbers along the last axis: sum(lgamma(x)) - lgamma(sum(x)).

    >>> round(float(lbeta([2.0, 3.0])), 4)
    -2.4849
    """
    value = convert(x)
    return reduce_sum(apply(lgamma, (value,)), -1) - apply(lgamma, (reduce_sum(value, -1),))
