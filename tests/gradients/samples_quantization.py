"""Samples for fake quantization, and for rounding in a range."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .entries import case, negative, of, positive, real


def _numbers(low, high, bits, narrow):
    first, last = float(narrow), 2.0**bits - 1
    nothing = (low == 0) & (high == 0)
    scale = jnp.where(nothing, 1.0, high - low) / (last - first)
    zero = jnp.clip(jnp.floor(first - low / scale + 0.5), first, last)
    return (first - zero) * scale, (last - zero) * scale, scale, nothing


def _fake_quant(x, low, high, *, bits, narrow):
    least, most, scale, nothing = (jax.lax.stop_gradient(n) for n in _numbers(low, high, bits, narrow))
    rounded = jnp.where(
        nothing, 0.0, jnp.floor((jnp.clip(x, least, most) - least) / scale + 0.5) * scale + least
    )
    through = jnp.where(nothing, x, jnp.where(x < least, low, jnp.where(x > most, high, x)))
    return through + jax.lax.stop_gradient(rounded - through)


def _region(x, low, high, *, bits, narrow, region):
    least, most, _, nothing = _numbers(low, high, bits, narrow)
    below, above = (x < least) & ~nothing, (x > most) & ~nothing
    return {"below": below, "above": above, "inside": ~below & ~above}[region].astype(x.dtype)


def _round(x, low, high, *, first, last, half_up, clip):
    by_low = first / jnp.where(first * low > 0, low, first * 1e-300 or 1)
    by_high = last / jnp.where(last * high > 0, high, last * 1e-300)
    scale = jnp.minimum(by_low, by_high) if first else by_high
    inside = jnp.clip(x, first / scale, last / scale) if clip else x
    found = (jnp.floor(inside * scale + 0.5) if half_up else jnp.round(inside * scale)) / scale
    return x + jax.lax.stop_gradient(found - x)


def _pass(x, low, high):
    return jnp.where((x >= low) & (x <= high), x, jax.lax.stop_gradient(x))


_RANGES = (real, negative, positive)
_ROW = np.linspace(-3, 3, 7)

FAKE_QUANT = {
    "fake_quant": of(
        _fake_quant,
        case((2, 3), (), (), bits=3, narrow=False),
        case(_ROW, (), (), bits=2, narrow=True),
        case((3, 2), (2,), (2,), bits=4, narrow=False),
        case(_ROW, np.float64(0.5), np.float64(2.0), bits=8, narrow=True),
        case(_ROW, np.float64(0.0), np.float64(0.0), bits=8, narrow=False),
        case((0, 2), (2,), (2,), bits=3, narrow=False),
        domain=_RANGES,
        differences=False,
    ),
    "fake_quant_region": of(
        _region,
        *(case(_ROW, (), (), bits=3, narrow=False, region=region) for region in ("below", "inside", "above")),
        case((2, 3), (3,), (3,), bits=2, narrow=True, region="inside"),
        domain=_RANGES,
    ),
    "round_in_range": of(
        _round,
        case((2, 3), (), (), first=-4, last=3, half_up=False, clip=True),
        case((3, 2), (2,), (2,), first=0, last=7, half_up=True, clip=False),
        case(_ROW, (), (), first=-7, last=7, half_up=False, clip=False),
        domain=_RANGES,
        differences=False,
    ),
    "pass_in_range": of(
        _pass, case((2, 3), (), ()), case((3, 2), (2,), (2,)), domain=_RANGES, differences=False
    ),
    "lies_in_range": of(
        lambda x, low, high: ((x >= low) & (x <= high)).astype(x.dtype), case(_ROW, (), ()), domain=_RANGES
    ),
}
