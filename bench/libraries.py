"""The columns of the table: which module is imported, which program of a workload it runs, and how."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

Step = Callable[..., object]


def as_written(module: ModuleType, step: Step) -> Step:
    return step


def jit(jax: ModuleType, step: Step) -> Step:
    """Compile, and wait for the result: JAX returns before it has computed."""
    compiled = jax.jit(step)
    return lambda *arguments: jax.block_until_ready(compiled(*arguments))


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


LIBRARIES = {
    "gradtape": Library("gradtape", "gradtape", "in_tensorflow"),
    "tensorflow": Library("TensorFlow", "tensorflow", "in_tensorflow"),
    "torch": Library("PyTorch", "torch", "in_torch"),
    "jax": Library("jax.jit", "jax", "in_jax", jit),
    "autograd": Library("autograd", "autograd.numpy", "in_autograd"),
}
