"""Calls from a compiled function back to Python: functions XLA lacks, and what users want called while it runs.

JAX calls back on any thread, and there rounds 64-bit numbers to 32 bits unless its global setting says otherwise. So
they travel as pairs of 32-bit words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Kind = tuple[tuple[int, ...], Any]  # the shape and the dtype of a result


def on_host(function: Callable[..., Any], shape: tuple[int, ...], dtype: Any, *arrays: Any) -> Any:
    """What a pure function of NumPy or SciPy gives, for arrays of JAX's: it is called when the values are there."""

    def quietly(*values: Any) -> tuple[Any]:
        with np.errstate(all="ignore"):
            return (function(*values),)

    return call(quietly, [(shape, np.dtype(dtype))], arrays)[0]


def call(
    function: Callable[..., Sequence[Any]], kinds: Sequence[Kind], arrays: Sequence[Any], *, pure: bool = True
) -> list[Any]:
    """Have `function` called on NumPy arrays when the values of `arrays` are there; returns its results.

    One that is not pure is called once a run, in the order of the program, even if nobody uses its results.
    """
    import jax
    from jax.experimental import io_callback

    dtypes = [array.dtype for array in arrays]

    def from_words(*values: Any) -> tuple[Any, ...]:
        given = [_read(np.asarray(value), dtype) for value, dtype in zip(values, dtypes, strict=True)]
        results = function(*given)
        return tuple([_words_of(np.asarray(r, dtype)) for r, (_, dtype) in zip(results, kinds, strict=True)])

    words = [_as_words(array) for array in arrays]
    wanted = [_struct(shape, dtype) for shape, dtype in kinds]
    if pure:
        results = jax.pure_callback(from_words, tuple(wanted), *words, vmap_method="broadcast_all")
    else:
        results = io_callback(from_words, tuple(wanted), *words, ordered=True)
    return [_back(result, dtype) for result, (_, dtype) in zip(results, kinds, strict=True)]


def _wide(dtype: Any) -> bool:
    return dtype.itemsize > 4 and dtype.kind != "V" and dtype.name != "complex64"


def _struct(shape: tuple[int, ...], dtype: Any) -> Any:
    import jax

    if not _wide(dtype):
        return jax.ShapeDtypeStruct(shape, dtype)
    return jax.ShapeDtypeStruct((*shape, dtype.itemsize // 4), np.dtype(np.uint32))


def _as_words(x: Any) -> Any:
    """An array of JAX's in words: one more axis, for the words of a number."""
    if not _wide(x.dtype):
        return x
    from jax import lax
    from jax import numpy as jnp

    parts = jnp.stack([x.real, x.imag], -1) if x.dtype.kind == "c" else x
    return lax.bitcast_convert_type(parts, np.uint32).reshape(*x.shape, x.dtype.itemsize // 4)


def _back(words: Any, dtype: Any) -> Any:
    """The array of JAX's that was sent in words."""
    if not _wide(dtype):
        return words
    from jax import lax

    if dtype.kind != "c":
        return lax.bitcast_convert_type(words, dtype)
    parts = lax.bitcast_convert_type(words.reshape(*words.shape[:-1], 2, 2), np.float64)
    return lax.complex(parts[..., 0], parts[..., 1])


def _read(words: Any, dtype: Any) -> Any:
    return np.asarray(np.ascontiguousarray(words).view(dtype)[..., 0]) if _wide(dtype) else words


def _words_of(array: Any) -> Any:
    if not _wide(array.dtype):
        return array
    return np.ascontiguousarray(array[..., None]).view(np.uint32)
