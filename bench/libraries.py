"""The columns of the tables: which module is imported, which program of a workload it runs, and how."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Step = Callable[..., object]


def as_written(module: ModuleType, step: Step) -> Step:
    return step


def jit(jax: ModuleType, step: Step) -> Step:
    """Compile, and wait for the result: JAX returns before it has computed."""
    compiled = jax.jit(step)
    return lambda *arguments: jax.block_until_ready(compiled(*arguments))


def function(tf: ModuleType, step: Step) -> Step:
    """Compile, and wait for all results: gradtape returns before it has computed, as JAX does."""
    compiled: Step = tf.function(step, **getattr(step, "options", {}))
    if tf.__name__ != "gradtape":
        return compiled

    def run(*arguments: Any) -> Any:
        results: Any = compiled(*arguments)
        for result in results:
            result._device.block_until_ready()
        return results

    def read(*arguments: Any) -> Any:
        results: Any = compiled(*arguments)
        for result in results:
            result.numpy()
        return results

    return read if "options" in vars(step) else run  # with options, some calls may run operation by operation


def function_by_xla(tf: ModuleType, step: Step) -> Step:
    return tf.function(step, jit_compile=True, **getattr(step, "options", {}))


def compile_(torch: ModuleType, step: Step) -> Step:
    return torch.compile(step)


@dataclass(frozen=True)
class Library:
    column: str
    module: str
    program: str
    prepare: Callable[[ModuleType, Step], Step] = as_written

    @property
    def package(self) -> str:
        """The top-level package, the one that is installed or not."""
        return self.module.partition(".")[0]


EAGER = {
    "gradtape": Library("gradtape", "gradtape", "in_tensorflow"),
    "tensorflow": Library("TensorFlow", "tensorflow", "in_tensorflow"),
    "torch": Library("PyTorch", "torch", "in_torch"),
    "jax": Library("jax.jit", "jax", "in_jax", jit),
    "autograd": Library("autograd", "autograd.numpy", "in_autograd"),
}

# Compiled against compiled: the same programs, as each library's users compile them.
COMPILED = {
    "gradtape": Library("gradtape", "gradtape", "in_tensorflow", function),
    "jax": Library("jax.jit", "jax", "in_jax", jit),
    "tensorflow": Library("tf.function", "tensorflow", "in_tensorflow", function),
    "tensorflow-xla": Library("tf.function, XLA", "tensorflow", "in_tensorflow", function_by_xla),
    "torch": Library("torch.compile", "torch", "in_torch", compile_),
}

MODES = {"eager": EAGER, "compiled": COMPILED}
