"""Validation of the arguments of `Dataset`'s methods. Each function takes the name that an error gives to the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.errors import DTypeError, InvalidArgumentError
from ..core.shapes import TensorShape
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert_to_tensor
from ..ops.array.movement import static_number as whole
from .stage import Stage
from .structure import as_element, is_dataset


def function(what: str, value: Any) -> Callable[..., Any]:
    """A function."""
    if not callable(value):
        raise ValueError(f"{what} must be a function, not {value!r}")
    return value


def listed(what: str, values: Any) -> list[Any]:
    """The items of a list, or of another iterable."""
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{what} must be a list, not {values!r}") from None


def wholes(what: str, values: Any) -> list[int]:
    """A list of integers."""
    return [whole(what, value) for value in listed(what, values)]


def texts(what: str, value: Any) -> list[str]:
    """One text, or any number of them."""
    element = as_element(value)
    if type(element) is not Tensor or element._array.dtype.kind != "O":
        raise TypeError(f"{what} must be texts, not {value!r}")
    return [text.decode() for text in np.ravel(element._array)]


def shape(what: str, value: Any) -> TensorShape | None:
    """A shape, in which None and -1 leave a length open."""
    if value is None or isinstance(value, TensorShape):
        return value
    if isinstance(value, int):  # of one axis
        value = [value]
    sizes = listed(what, value)
    return TensorShape([None if size is None else _size(whole(what, size)) for size in sizes])


def _size(size: int) -> int | None:
    return None if size == -1 else size


def weights(what: str, value: Any, count: int) -> Any:
    """The weights of `count` things; all alike if there are none."""
    if value is None:
        return np.ones(count)
    array = convert_to_tensor(value)._array
    if array.dtype.kind not in "iuf":
        raise DTypeError(f"{what} must be real numbers, not {value!r}")
    if array.shape != (count,) or not (array >= 0).all() or not 0 < array.sum() < np.inf:
        raise InvalidArgumentError(f"{what} must be one for each of the {count} datasets, not {value!r}")
    return array


def stage(what: str, value: Any) -> Stage:
    """The stage of what must be a dataset."""
    if not is_dataset(value):
        raise TypeError(f"{what} a Dataset, not {value!r}")
    found: Stage = value._stage
    return found


def stages(what: str, values: Any) -> list[Stage]:
    """The stages of a list of datasets."""
    return [
        stage(f"{what} must be a list of datasets, of which each is", value) for value in listed(what, values)
    ]
