"""Constants of a traced function that depend on open lengths, as code that computes them from the lengths.

Known are numbers that are a length, a number over a length, or a number times one; arrays of one number; arrays whose
numbers grow evenly along each axis, as `range` gives; masks of a triangle or a band. All others are refused. What a
pattern gives is compared with the constants bit by bit. `open_code` calls this.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .open_lengths import LengthError, OpenLengths, columns

Build = Callable[[], Any]  # computes the constant, while the program is traced


def constant(lengths: OpenLengths, arrays: Sequence[Any], where: str) -> Any:
    """The array that these are at the samples: their value if they are all the same, else code for it.

    Raises:
        LengthError: if they follow no pattern that is known.
    """
    arrays = [np.asarray(a) for a in arrays]
    first = arrays[0]
    if all(a.shape == first.shape and a.tobytes() == first.tobytes() for a in arrays):
        return first
    shape = tuple(
        lengths.length(n, f"the length of a constant in {where}") for n in columns([a.shape for a in arrays])
    )
    for pattern in (_uniform, _even, _band):
        built = pattern(lengths, arrays, shape)
        if built is not None:
            return built()
    raise LengthError(
        f"{where} has a constant of shape {first.shape} and dtype {first.dtype} that depends on "
        f"{lengths.described()} in a way that is not known. Compute it from tf.shape, or as an argument"
    )


def _number(lengths: OpenLengths, numbers: Sequence[Any]) -> Build | None:
    """Code for a number that depends on the lengths."""
    values = [np.asarray(n)[()] for n in numbers]
    dtype = values[0].dtype
    if all(v.tobytes() == values[0].tobytes() for v in values):
        return lambda: jnp.asarray(values[0])
    if dtype.kind in "iu":
        length = lengths.fit([int(v) for v in values])
        return None if length is None else lambda: jnp.asarray(length).astype(dtype)
    if dtype.kind != "f" and dtype.name != "bfloat16":
        return None
    exact = [float(v) for v in values]
    if all(v == int(v) for v in exact if np.isfinite(v)) and all(map(np.isfinite, exact)):
        length = lengths.fit([int(v) for v in exact])
        if length is not None:
            return lambda: jnp.asarray(length).astype(dtype)
    return _over_length(lengths, values) or _root(lengths, values)


def _over_length(lengths: OpenLengths, values: list[Any]) -> Build | None:
    """Code for a number c / n, with a length n."""
    dtype = values[0].dtype
    for numbers, length in list(lengths._candidates()):
        for over in (float(values[0]) * numbers[0], round(float(values[0]) * numbers[0])):
            with np.errstate(all="ignore"):
                same = all(
                    np.divide(dtype.type(over), dtype.type(n)) == v
                    for v, n in zip(values, numbers, strict=True)
                )
            if same and over:
                return functools.partial(_quotient, dtype.type(over), length, dtype)
    return None


def _quotient(over: Any, length: Any, dtype: Any) -> Any:
    return over / jnp.asarray(length).astype(dtype)


def _root(lengths: OpenLengths, values: list[Any]) -> Build | None:
    """Code for the square root of a length, or one over it, computed in double precision and rounded."""
    dtype = values[0].dtype
    for power in (0.5, -0.5):
        squares = [float(v) ** (1 / power) for v in values]
        length = lengths.fit([round(n) for n in squares]) if all(map(np.isfinite, squares)) else None
        if length is None:
            continue
        numbers = lengths.values(length)
        if all(n > 0 and dtype.type(n**power) == v for v, n in zip(values, numbers, strict=True)):
            return functools.partial(_power, length, power, dtype)
    return None


def _power(length: Any, power: float, dtype: Any) -> Any:
    return (jnp.asarray(length).astype("float64") ** power).astype(dtype)


def _uniform(lengths: OpenLengths, arrays: list[Any], shape: tuple[Any, ...]) -> Build | None:
    """Code for arrays of one number."""
    if any(a.size == 0 or (a != a.reshape(-1)[0]).any() for a in arrays):
        return None
    number = _number(lengths, [a.reshape(-1)[0] for a in arrays])
    return None if number is None else lambda: jnp.broadcast_to(number(), shape)


def _even(lengths: OpenLengths, arrays: list[Any], shape: tuple[Any, ...]) -> Build | None:
    """Code for arrays whose numbers grow by the same step along each axis."""
    if arrays[0].dtype.kind not in "iuf" or any(a.size == 0 for a in arrays):
        return None
    starts, steps = [], []
    for a in arrays:
        start = a[(0,) * a.ndim]
        axes = [np.eye(a.ndim, dtype=int)[i] for i in range(a.ndim)]
        steps.append(
            [a[tuple(at)] - start if n > 1 else a.dtype.type(0) for at, n in zip(axes, a.shape, strict=True)]
        )
        starts.append(start)
        if not np.array_equal(_grown(np, start, steps[-1], a.shape, a.dtype), a):
            return None
    start_code = _number(lengths, starts)
    step_codes = [_number(lengths, column) for column in zip(*steps, strict=True)]
    if start_code is None or None in step_codes:
        return None
    dtype = arrays[0].dtype
    return lambda: _grown(
        jnp, start_code(), [code() for code in step_codes if code is not None], shape, dtype
    )


def _grown(xp: Any, start: Any, steps: list[Any], shape: tuple[Any, ...], dtype: Any) -> Any:
    total = start
    for axis, (step, n) in enumerate(zip(steps, shape, strict=True)):
        along = xp.arange(n).astype(dtype).reshape((-1, *(1,) * (len(shape) - axis - 1)))
        total = total + step * along
    return xp.broadcast_to(total, shape).astype(dtype)


def _band(lengths: OpenLengths, arrays: list[Any], shape: tuple[Any, ...]) -> Build | None:
    """Code for arrays of two numbers: one on a band of the last two axes, one beside it."""
    if arrays[0].ndim < 2 or any(len(np.unique(a)) != 2 for a in arrays):
        return None
    numbers = [np.unique(a) for a in arrays]
    if any(n.tobytes() != numbers[0].tobytes() for n in numbers):
        return None
    edges = []
    for a in arrays:
        difference = np.arange(a.shape[-1]) - np.arange(a.shape[-2])[:, None]
        edges.append((_edges(a == numbers[0][0], difference), _edges(a == numbers[0][1], difference)))
    for which in (0, 1):
        found = [pair[which] for pair in edges if pair[which] is not None]
        if len(found) < len(edges):
            continue
        least, most = (_edge(lengths, [f[side] for f in found if f is not None]) for side in (0, 1))
        if least is False or most is False:
            continue
        inside, outside = numbers[0][which], numbers[0][1 - which]
        return lambda: _band_code(shape, least, most, inside, outside)
    return None


def _edges(inside: Any, difference: Any) -> tuple[int | None, int | None] | None:
    """The least and largest column minus row of a band, None where it reaches the corner; None if it is no band."""
    kept = difference[inside.reshape((-1, *inside.shape[-2:]))[0]]
    least, most = int(kept.min()), int(kept.max())
    if not np.array_equal(
        inside, np.broadcast_to((difference >= least) & (difference <= most), inside.shape)
    ):
        return None
    return (
        None if least == difference.min() else least,
        None if most == difference.max() else most,
    )


def _edge(lengths: OpenLengths, found: list[int | None]) -> Any:
    """The edge of a band at all samples: None for the corner; False if it is now one, now the other."""
    if None in found:
        return None if set(found) == {None} else False
    edge = lengths.fit([f for f in found if f is not None])
    return False if edge is None else edge


def _band_code(shape: tuple[Any, ...], least: Any, most: Any, inside: Any, outside: Any) -> Any:
    difference = jnp.arange(shape[-1]) - jnp.arange(shape[-2])[:, None]
    kept = jnp.ones_like(difference, bool)
    if least is not None:
        kept &= difference >= least
    if most is not None:
        kept &= difference <= most
    return jnp.broadcast_to(jnp.where(kept, inside, outside), shape)
