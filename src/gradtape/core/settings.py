"""The switches that `config` and `debugging` set and the rest of the package reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Settings:
    """The switches of the process."""

    def __init__(self) -> None:
        self.op_determinism = False  # refuse to draw random numbers without a seed
        self.run_functions_eagerly = False
        # While a trace is on: the names and the programs of functions that were called.
        self.called_programs: list[tuple[str, Any]] | None = None
        # Under NumPy's behavior, a function from values of several dtypes to tensors of one.
        self.promote: Callable[[tuple[Any, ...]], list[Any]] | None = None
        self.prefer_float32 = False  # of NumPy's functions
        # Stored for their getters only.
        self.soft_device_placement = True
        self.log_device_placement = False
        self.traceback_filtering = True
        self.tensor_float_32 = True
        self.inter_op_threads = 0
        self.intra_op_threads = 0
        self.jit = ""
        self.optimizer_options: dict[str, Any] = {}


settings = Settings()
