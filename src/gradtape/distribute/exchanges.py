"""Host values that processes tell each other. Programs of all processes: each calls them at the same place."""

from __future__ import annotations

from typing import Any


def of_each(array: Any) -> Any:
    """The arrays of all processes, stacked."""
    import jax
    from jax.experimental import multihost_utils

    from ..compiled.spmd import between_processes

    with jax.enable_x64(True), between_processes():
        return multihost_utils.process_allgather(array)


def of_first(array: Any) -> Any:
    """The first process's array."""
    import jax
    import numpy as np
    from jax.experimental import multihost_utils

    from ..compiled.spmd import between_processes

    if array.dtype.kind == "O":
        return array
    with jax.enable_x64(True), between_processes():
        return np.array(multihost_utils.broadcast_one_to_all(array)).astype(array.dtype, copy=False)


def share_seed() -> None:
    """Let all processes draw the same random numbers where no seed was set."""
    import numpy as np

    from ..ops.random.stateful import share_unseeded

    share_unseeded(lambda key: int(of_first(np.array(key, np.uint64))))
