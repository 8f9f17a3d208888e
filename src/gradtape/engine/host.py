"""Calls from a compiled function back to Python: functions XLA lacks, and what users want called while it runs.

JAX calls back on any thread, and there rounds 64-bit numbers to 32 bits unless its global setting says otherwise. So
they travel as pairs of 32-bit words. What is raised there stops the program, and waits in `raised`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

Kind = tuple[tuple[int, ...], Any]  # the shape and the dtype of a result

raised: deque[Exception] = deque(maxlen=100)  # by functions that compiled code called


@contextmanager
def python_errors() -> Iterator[None]:
    """A block in which compiled code runs to its end; what Python functions raised in it is raised as it was."""
    from jax.errors import JaxRuntimeError

    raised.clear()
    try:
        yield
    except JaxRuntimeError:
        if not raised:
            raise
        raise raised.popleft() from None


def on_host(function: Callable[..., Any], shape: tuple[int, ...], dtype: Any, *arrays: Any) -> Any:
    """The result of a pure function of NumPy or SciPy on arrays of JAX's, called when their values are there.

    It must let extra axes in front of all arrays pass through.
    """
    kinds = [(shape, np.dtype(dtype))]
    return call(lambda *values: (function(*values),), kinds, arrays, at_once="broadcast_all")[0]


def call(
    function: Callable[..., Sequence[Any]],
    kinds: Sequence[Kind],
    arrays: Sequence[Any],
    *,
    pure: bool = True,
    at_once: str = "sequential",
) -> list[Any]:
    """Have `function` called on NumPy arrays when the values of `arrays` are there; returns its results.

    One that is not pure is called once a run, in the order of the program, even if nobody uses its results. `at_once`
    is what becomes of the rows of a Jacobian: JAX's `vmap_method`.
    """
    import jax
    from jax.experimental import io_callback

    wanted = tuple([_struct(shape, dtype) for shape, dtype in kinds])
    words = [_as_words(array) for array in arrays]
    called = _on_words(function, kinds, [array.dtype for array in arrays])
    if pure:
        results = jax.pure_callback(called, wanted, *words, vmap_method=at_once)
    else:
        results = io_callback(called, wanted, *words, ordered=True)
    return [_back(result, dtype) for result, (_, dtype) in zip(results, kinds, strict=True)]


def check(holds: Any, error: Callable[..., Exception], *arrays: Any) -> None:
    """Raise `error(*values)`, when the program runs, unless a condition holds. If it does, Python is not asked."""
    from jax import lax
    from jax.experimental import io_callback

    def complain(*values: Any) -> tuple[Any, ...]:
        raise error(*values)

    complaint = _on_words(complain, [], [array.dtype for array in arrays])
    complaint.is_check = True  # for `is_check`
    words = [_as_words(array) for array in arrays]
    lax.cond(holds, lambda *_: None, lambda *words: io_callback(complaint, None, *words), *words)


def is_check(eqn: Any) -> bool:
    """Return whether an equation of a jaxpr is the call of Python that `check` makes."""
    called = getattr(eqn.params.get("callback"), "callback_func", None)
    return getattr(called, "is_check", False)


def _on_words(function: Callable[..., Sequence[Any]], kinds: Sequence[Kind], dtypes: list[Any]) -> Any:
    """The function as JAX calls it."""

    def called(*words: Any) -> tuple[Any, ...]:
        values = [_read(np.asarray(w), dtype) for w, dtype in zip(words, dtypes, strict=True)]
        try:
            with np.errstate(all="ignore"):
                results = [
                    np.asarray(r, dtype) for r, (_, dtype) in zip(function(*values), kinds, strict=True)
                ]
        except Exception as error:
            raised.append(error)
            return (np.zeros((), np.int32),) * (
                len(kinds) + 1
            )  # too many results stop the program, without a log
        return tuple([_words_of(r) for r in results])

    return called


# ---------------------------------------------------------------------------------------------------------------------
# Words


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
