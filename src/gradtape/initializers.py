"""First values for variables: functions from a shape (and a dtype) to a tensor."""

from __future__ import annotations

from typing import Any

from . import dtypes
from .errors import DTypeError
from .ops import creation, random, stateless
from .tensor import Tensor, constant


class Initializer:
    """What initializers have in common: they can be described by a dictionary, and made from it again."""

    def get_config(self) -> dict[str, Any]:
        """The arguments this was made with."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The initializer that `get_config` described."""
        if not isinstance(config, dict):
            raise TypeError(
                f"{cls.__name__}.from_config: takes what get_config gives, a dict, not {config!r}"
            )
        return cls(**{key: value for key, value in config.items() if key != "dtype"})


def _numeric(dtype: Any) -> Any:
    kind = dtypes.as_dtype(dtype)
    if kind is dtypes.string:
        raise DTypeError("an initializer's dtype must be numeric or bool, not string")
    return kind


class zeros_initializer(Initializer):
    """Zeros.

    >>> zeros_initializer()((2,)).numpy()
    array([0., 0.], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = "float32", **kwargs: Any) -> Tensor:
        return creation.zeros(shape, _numeric(dtype))


class ones_initializer(Initializer):
    """Ones.

    >>> ones_initializer()((2,)).numpy()
    array([1., 1.], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = "float32", **kwargs: Any) -> Tensor:
        return creation.ones(shape, _numeric(dtype))


class constant_initializer(Initializer):
    """One value everywhere, or as many as the shape has elements.

    >>> constant_initializer([1.0, 2.0])((2, 1)).numpy()
    array([[1.], [2.]], dtype=float32)
    """

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return constant(self.value, dtype, shape)


class random_normal_initializer(Initializer):
    """Normally distributed numbers; with a seed, the same at every call.

    >>> random_normal_initializer(seed=1)((2,)).shape
    TensorShape([2])
    """

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: Any = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Any, dtype: Any = "float32", **kwargs: Any) -> Tensor:
        if self.seed is None:
            return random.normal(shape, self.mean, self.stddev, dtype)
        return stateless.stateless_normal(shape, (self.seed, 0), self.mean, self.stddev, dtype)


class random_uniform_initializer(Initializer):
    """Evenly distributed numbers; with a seed, the same at every call.

    >>> random_uniform_initializer(seed=1)((2,)).shape
    TensorShape([2])
    """

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: Any = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: Any = "float32", **kwargs: Any) -> Tensor:
        if self.seed is None:
            return random.uniform(shape, self.minval, self.maxval, dtype)
        return stateless.stateless_uniform(shape, (self.seed, 0), self.minval, self.maxval, dtype)
