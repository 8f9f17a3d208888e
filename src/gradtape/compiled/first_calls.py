"""The first calls of a traced program, which NumPy computes: XLA compiles it once that is worth its time.

To compile takes from tens of milliseconds to many seconds, and many functions are called a few times only. So a program
is compiled when the calls on NumPy have lost about as much time as compiling it takes: then at most twice the least
time is spent. Both are estimated from operations and sizes, so that two runs of a program are the same.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax._src.config import default_device
from jax._src.lib import xla_client  # type: ignore[attr-defined]

from ..core.settings import settings
from ..engine.blas import in_numpy
from .fusion import is_cpu
from .jaxprs import calls_python, inner_code, is_large
from .numpy_code.call_costs import loss
from .numpy_code.equation_rules import NoRule
from .numpy_code.numpy_program import NumpyProgram, TooLong, meter

# us to compile a program, an operation of it, and one that XLA makes a kernel of its own for: at least.
_COMPILE, _EQUATION, _KERNEL = 20_000.0, 400.0, 8000.0
_KERNELS = (
    "dot_general",
    "conv_general_dilated",
    "reduce_",
    "scan",
    "while",
    "cond",
    "gather",
    "scatter",
    "sort",
)
_RESULT = 5.0  # us to hand a result over to JAX
_MOST = 64  # calls: estimates are rough
_ITERATION = 3.0  # us that an operation in a loop takes


class Setting:
    """When programs are compiled, by the environment: `GRADTAPE_COMPILE=at_once` for the first call.

    (`never` is for tests of NumPy's way.)
    """

    def __init__(self, variable: str) -> None:
        if variable not in ("at_once", "when_worth", "never"):
            raise ValueError(f"GRADTAPE_COMPILE is at_once or when_worth, not {variable!r}")
        self.at_once = variable == "at_once"
        self.never = variable == "never"


setting = Setting(os.environ.get("GRADTAPE_COMPILE", "when_worth"))


class FirstCalls:
    """A function on arrays that NumPy computes at first, and XLA when it has been called often enough.

    Args:
        jaxpr: the code that the function evaluates, once.
        function: takes how to evaluate a jaxpr (see `jax.core.eval_jaxpr`) before its arguments.
        compile: makes the compiled function.
        replace: called with the compiled function, in the place of which nothing need call this one any more.
    """

    def __init__(
        self,
        jaxpr: Any,
        function: Callable[..., Any],
        compile: Callable[[], Callable[..., Any]],
        replace: Callable[[Any], None] | None = None,
    ) -> None:
        self._jaxpr = jaxpr
        self._function = function
        self._compile = compile
        self._replace = replace
        self._compiled: Callable[..., Any] | None = None
        self._program: NumpyProgram | None = None
        self._left = 0  # calls on NumPy
        self._operations = 0  # that loops may still compute, in all calls
        self._lock = threading.Lock()
        self._measure()

    def _measure(self) -> None:
        """Estimate how many calls NumPy should compute."""
        jaxpr = self._jaxpr
        compiling = _compiling(jaxpr)
        self._left = min(int(compiling / (loss(jaxpr) + _RESULT * len(jaxpr.outvars) + 1)), _MOST)
        self._operations = int(compiling / _ITERATION)
        if setting.never:
            self._left, self._operations = 1 << 60, 1 << 60

    def __call__(self, *arguments: Any) -> Any:
        """Run the function."""
        if self._compiled is None and self._left > 0:
            self._left -= 1
            try:
                return self._on_numpy(arguments)
            except (NoRule, TooLong):
                self._left = 0
        return self.compiled()(*arguments)

    def compiled(self) -> Callable[..., Any]:
        """The compiled function."""
        with self._lock:
            if self._compiled is None:
                self._compiled = self._compile()
                self._program = None
                if self._replace is not None:
                    self._replace(self._compiled)
        return self._compiled

    def _on_numpy(self, arguments: tuple[Any, ...]) -> Any:
        program = self._program
        if program is None:
            program = self._program = NumpyProgram(self._jaxpr)
        before, meter.left = meter.left, self._operations
        evaluation = Evaluation(program, self._jaxpr)
        try:
            # By one thread: BLAS's threads wait for each other and for XLA's, which takes longer if others are busy.
            return in_numpy(self._function, evaluation, *arguments)
        finally:
            self._operations, meter.left = meter.left, before


def _compiling(jaxpr: Any) -> float:
    """An estimate of the microseconds to compile some code."""
    names = [eqn.primitive.name for code in inner_code(jaxpr) for eqn in code.eqns]
    return _COMPILE + _EQUATION * len(names) + _KERNEL * sum(name.startswith(_KERNELS) for name in names)


class Evaluation:
    """Evaluates a program on NumPy, for arrays of JAX's, and gives such arrays: each result has its own memory."""

    def __init__(self, program: NumpyProgram, jaxpr: Any) -> None:
        self._program = program
        self._jaxpr = jaxpr

    def __call__(self, jaxpr: Any, constants: list[Any], *inputs: Any) -> list[Any]:
        """The results as arrays of JAX's."""
        arrays = [None if a is None else np.asarray(a) for a in (*constants, *inputs)]
        with np.errstate(all="ignore"):
            results = self._program(arrays)
        seen = {id(a) for a in arrays}
        put = []
        for v, result in zip(self._jaxpr.outvars, results, strict=True):
            array = np.asarray(result)
            if not array.flags.owndata or not array.flags.c_contiguous or id(array) in seen:
                array = array.copy()
            seen.add(id(array))
            put.append(on_jax(array, v.aval))
        return put


def is_possible(jaxpr: Any) -> bool:
    """Return whether NumPy may compute the calls of some code. With deterministic operations, XLA computes them all."""
    if setting.at_once or settings.op_determinism:
        return False
    return is_cpu() and not calls_python(jaxpr) and not is_large(jaxpr)


def on_jax(array: Any, aval: Any) -> Any:
    """An array of NumPy's that nothing else has, as one of JAX's: in 4 us, where `device_put` takes 30."""
    device = default_device.value or jax.local_devices()[0]
    return xla_client.batched_device_put(aval, _sharding(device), [array], [device], False)


@functools.cache
def _sharding(device: Any) -> Any:
    return jax.sharding.SingleDeviceSharding(device)
