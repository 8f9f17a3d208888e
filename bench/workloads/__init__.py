"""The programs that are timed: one file a workload, and in it the same program once for each library.

A workload file has NUMBER and TITLE, its row; `inputs(rng)`, which returns NumPy arrays; and a function for each
library that has the program: `in_tensorflow(tf, *inputs)`, which gradtape runs too, `in_torch(torch, *inputs)`,
`in_jax(jax, *inputs)`, `in_autograd(autograd, *inputs)`. Each makes the library's own values from the inputs and
returns `step, arguments`: `step(*arguments)` is what is timed, and returns a sequence of tensors to compare. With
ALL_ARGUMENTS there are many arguments, each of which is passed to the step in turn. `step.options` are those of
`tf.function`.
"""

import importlib
import pkgutil
from types import ModuleType


def load() -> dict[str, ModuleType]:
    """Every workload file of this folder, by name, in the order of the rows."""
    files = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return {file.__name__.rpartition(".")[2]: file for file in sorted(files, key=lambda file: file.NUMBER)}
