"""The public namespace `gradtape.test`: gradients compared with differences, and questions about the build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .core import dtypes
from .core.tape import GradientTape
from .core.tape_ends import UnconnectedGradients
from .core.tensor import Tensor, wrap
from .core.tensor_conversion import convert, convert_to_tensor
from .core.types import TensorLike
from .names.missing import closed
from .ops.scalars import number

__all__ = [
    "compute_gradient",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
]


def compute_gradient(
    f: Callable[..., TensorLike], x: Sequence[TensorLike], delta: float | None = None
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The Jacobians of a function by each argument: those of the tape, and those by differences.

    Each is a matrix with a row for each number `f` returns and a column for each number of the argument; a complex
    number counts as two.

    Args:
        f: a function of tensors that returns one tensor.
        x: a list of its arguments.
        delta: the step of the differences; 1/1024 by default.

    Raises:
        TypeError: if `f` is no function, or an argument is not floating.
        ValueError: if `x` is no list, or `delta` is 0.

    >>> theoretical, numerical = compute_gradient(lambda x: x * x, [convert([1.0, 2.0])])
    >>> theoretical[0]
    array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    if not callable(f):
        raise TypeError(f"test.compute_gradient: f must be a function, not {f!r}")
    if not isinstance(x, (list, tuple)):
        raise ValueError(f"test.compute_gradient: x must be a list of the arguments, not {type(x).__name__}")
    arguments = [wrap(convert(a)._array) for a in x]
    for i, argument in enumerate(arguments):
        if not dtypes.is_differentiable(argument._array):
            raise TypeError(
                f"test.compute_gradient: argument {i} must be floating, not {argument.dtype.name}"
            )
    step = 1.0 / 1024 if delta is None else number("test.compute_gradient", "delta", delta)
    if not 0 < abs(step) < float("inf"):
        raise ValueError(f"test.compute_gradient: delta, the step of the differences, must not be {step}")
    theoretical = _by_tape(f, arguments)
    return theoretical, tuple(_by_differences(f, arguments, i, step) for i in range(len(arguments)))


def _numbers(x: Tensor) -> Any:
    """The elements of a tensor in a row, a complex one as two."""
    flat = np.ascontiguousarray(x._array).reshape(-1)
    return flat.view(x.dtype.real_dtype.numpy_dtype)


def _by_tape(f: Callable[..., Any], arguments: list[Tensor]) -> tuple[Any, ...]:
    with GradientTape(persistent=True) as tape:
        tape.watch(arguments)
        y: Any = convert_to_tensor(f(*arguments))
        # The real part of -iy is the imaginary part of y.
        parts = [y, y * -1j] if y.dtype.is_complex else [y]
    jacobians = [tape.jacobian(part, arguments, UnconnectedGradients.ZERO) for part in parts]
    count = y._array.size
    return tuple(
        np.stack([_rows(j, count, a) for j in of_parts], axis=1).reshape(count * len(parts), _numbers(a).size)
        for a, of_parts in zip(arguments, zip(*jacobians, strict=True), strict=True)
    )


def _rows(jacobian: Tensor, count: int, argument: Tensor) -> Any:
    return _numbers(jacobian).reshape(count, _numbers(argument).size)


def _by_differences(f: Callable[..., Any], arguments: list[Tensor], which: int, step: float) -> Any:
    argument = arguments[which]
    point = _numbers(argument)

    def at(moved: Any) -> Any:
        array = moved.view(argument._array.dtype).reshape(argument._array.shape)
        return _numbers(convert_to_tensor(f(*arguments[:which], wrap(array), *arguments[which + 1 :])))

    columns = []
    for i in range(point.size):
        above, below = point.copy(), point.copy()
        above[i] += step
        below[i] -= step
        columns.append((at(above) - at(below)) / np.asarray(2 * step, point.dtype))
    return np.stack(columns, axis=1) if columns else np.zeros((at(point).size, 0), point.dtype)


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Return False: arrays are computed on the CPU, whatever `cuda_only` and `min_cuda_compute_capability` ask for.

    >>> is_gpu_available()
    False
    """
    return False


def gpu_device_name() -> str:
    """The name of the first GPU; '' since there is none.

    >>> gpu_device_name()
    ''
    """
    return ""


def is_built_with_cuda() -> bool:
    """Return False: gradtape is pure Python.

    >>> is_built_with_cuda()
    False
    """
    return False


is_built_with_gpu_support = is_built_with_rocm = is_built_with_cuda


def is_built_with_xla() -> bool:
    """Return whether JAX, which brings XLA, is installed.

    >>> is_built_with_xla() in (True, False)
    True
    """
    import importlib.util

    return importlib.util.find_spec("jax") is not None


closed(__name__)
