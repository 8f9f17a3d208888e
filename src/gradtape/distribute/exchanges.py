"""Host values that processes tell each other. Programs of all processes: each calls them at the same place."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def of_each(array: Any) -> Any:
    """The arrays of all processes, stacked."""
    return _exchanged("process_allgather", array)


def of_first(array: Any) -> Any:
    """The first process's array."""
    import numpy as np

    if array.dtype.kind == "O":
        return array
    return np.array(_exchanged("broadcast_one_to_all", array)).astype(array.dtype, copy=False)


def objects_of_each(value: Any) -> list[Any]:
    """The values of all processes, which may be any that can be pickled: strings, arrays of different shapes."""
    import numpy as np

    own = np.frombuffer(pickle.dumps(value), np.uint8)
    lengths = [int(n) for n in of_each(np.array(len(own), np.int64))]
    block = np.zeros(max(lengths), np.uint8)
    block[: len(own)] = own
    return [pickle.loads(row[:n].tobytes()) for row, n in zip(of_each(block), lengths, strict=True)]


def _exchanged(function: str, array: Any) -> Any:
    """The result of a function of JAX's, by a thread of its own: this one may be tracing, and make a variable."""

    def exchange() -> Any:
        import jax
        from jax.experimental import multihost_utils

        from ..compiled.spmd import between_processes

        call: Callable[[Any], Any] = getattr(multihost_utils, function)
        with jax.enable_x64(True), between_processes():
            return call(array)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(exchange).result()


def share_seed() -> None:
    """Let all processes draw the same random numbers where no seed was set."""
    import numpy as np

    from ..ops.random.stateful import share_unseeded

    share_unseeded(lambda key: int(of_first(np.array(key, np.uint64))))
