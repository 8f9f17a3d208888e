"""The public namespace `gradtape.math.special`."""

from __future__ import annotations

from ..missing import closed
from ..ops import special as _s
from ..ops.public import public

dawsn = public(
    _s.dawsn,
    "Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x.\n\n>>> round(float(dawsn(0.0)), 4)\n0.0",
)
expint = public(_s.expint, "The exponential integral Ei(x).\n\n>>> round(float(expint(1.0)), 4)\n1.8951")
fresnel_cos = public(
    _s.fresnel_cos,
    "The integral of cos(pi t^2 / 2) from 0 to x.\n\n>>> round(float(fresnel_cos(0.0)), 4)\n0.0",
)
fresnel_sin = public(
    _s.fresnel_sin,
    "The integral of sin(pi t^2 / 2) from 0 to x.\n\n>>> round(float(fresnel_sin(0.0)), 4)\n0.0",
)
spence = public(
    _s.spence, "Spence's integral of log(t) / (1 - t) from 1 to x.\n\n>>> round(float(spence(1.0)), 4)\n0.0"
)
bessel_i0 = public(
    _s.bessel_i0,
    "The modified Bessel function of the first kind and order 0.\n\n>>> round(float(bessel_i0(0.0)), 4)\n1.0",
)
bessel_i0e = public(_s.bessel_i0e, "exp(-|x|) bessel_i0(x).\n\n>>> round(float(bessel_i0e(0.0)), 4)\n1.0")
bessel_i1 = public(
    _s.bessel_i1,
    "The modified Bessel function of the first kind and order 1.\n\n>>> round(float(bessel_i1(0.0)), 4)\n0.0",
)
bessel_i1e = public(_s.bessel_i1e, "exp(-|x|) bessel_i1(x).\n\n>>> round(float(bessel_i1e(0.0)), 4)\n0.0")
bessel_k0 = public(
    _s.bessel_k0,
    "The modified Bessel function of the second kind and order 0.\n\n>>> round(float(bessel_k0(1.0)), 4)\n0.421",
)
bessel_k0e = public(_s.bessel_k0e, "exp(x) bessel_k0(x).\n\n>>> round(float(bessel_k0e(1.0)), 4)\n1.1445")
bessel_k1 = public(
    _s.bessel_k1,
    "The modified Bessel function of the second kind and order 1.\n\n>>> round(float(bessel_k1(1.0)), 4)\n0.6019",
)
bessel_k1e = public(_s.bessel_k1e, "exp(x) bessel_k1(x).\n\n>>> round(float(bessel_k1e(1.0)), 4)\n1.6362")
bessel_j0 = public(
    _s.bessel_j0,
    "The Bessel function of the first kind and order 0.\n\n>>> round(float(bessel_j0(0.0)), 4)\n1.0",
)
bessel_j1 = public(
    _s.bessel_j1,
    "The Bessel function of the first kind and order 1.\n\n>>> round(float(bessel_j1(0.0)), 4)\n0.0",
)
bessel_y0 = public(
    _s.bessel_y0,
    "The Bessel function of the second kind and order 0.\n\n>>> round(float(bessel_y0(1.0)), 4)\n0.0883",
)
bessel_y1 = public(
    _s.bessel_y1,
    "The Bessel function of the second kind and order 1.\n\n>>> round(float(bessel_y1(1.0)), 4)\n-0.7812",
)

closed(__name__)
