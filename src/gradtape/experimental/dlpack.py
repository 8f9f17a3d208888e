"""The public namespace `gradtape.experimental.dlpack`: arrays to and from other libraries, under TensorFlow's names.

`np.from_dlpack(tensor)` and its like need nothing from here: tensors and variables speak the protocol themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DTypeError, InvalidArgumentError
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert
from ..core.types import TensorLike
from ..names.missing import closed

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tf_tensor: TensorLike) -> Any:
    """A DLPack capsule with a copy of `tf_tensor`: its consumer may write into it.

    Raises:
        DTypeError: for strings and bfloat16, which DLPack does not have.

    >>> import gradtape as tf
    >>> from_dlpack(to_dlpack(tf.constant([1.0, 2.0]))).numpy()
    array([1., 2.], dtype=float32)
    """
    x = convert(tf_tensor)
    if x.dtype.name in ("string", "bfloat16"):
        raise DTypeError(f"to_dlpack: DLPack has no dtype {x.dtype.name}")
    return x.__dlpack__()


def from_dlpack(dlcapsule: object) -> Tensor:
    """The tensor of a DLPack capsule, which is used up, or of any object with `__dlpack__`: `dlcapsule`.

    Raises:
        InvalidArgumentError: if it cannot be read.

    >>> from_dlpack(np.arange(3.0)).numpy()
    array([0., 1., 2.])
    """
    held: Any = dlcapsule if hasattr(type(dlcapsule), "__dlpack__") else _Capsule(dlcapsule)
    try:
        return convert(np.from_dlpack(held))
    except (ValueError, BufferError, RuntimeError) as error:
        raise InvalidArgumentError(
            f"from_dlpack: {type(dlcapsule).__name__} cannot be read: {error}"
        ) from error


class _Capsule:
    """A bare capsule in the form NumPy takes one: as an object that exports it."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # main memory: there is no other here


closed(__name__)
