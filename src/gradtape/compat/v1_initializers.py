"""Initializers of TensorFlow 1: they have a dtype from the start, and draw as operations with a seed do."""

from __future__ import annotations

import math
from typing import Any

import gradtape as tf

from ..core.tensor import Tensor
from ..core.types import DTypeLike, ShapeLike, TensorLike
from ..ops.scalars import choice

_TRUNCATED = 0.87962566103423978  # deviation of a standard normal number cut off at 2


class Initializer:
    """Makes the first value of a variable, of a dtype that may be given here or later."""

    def __init__(self, dtype: DTypeLike = "float32", **config: Any) -> None:
        self.dtype = tf.as_dtype(dtype)
        self._config = config
        for name, value in config.items():
            setattr(self, name, value)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """A tensor of this shape.

        Args:
            dtype: instead of the initializer's own.
            partition_info: accepted.
        """
        return self._made([int(n) for n in tf.TensorShape(shape)], tf.as_dtype(dtype or self.dtype))

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments, by name."""
        return {**self._config, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """The initializer with these arguments."""
        return cls(**config)


class zeros_initializer(Initializer):
    """Zeros.

    >>> zeros_initializer("int32")([2]).numpy()
    array([0, 0], dtype=int32)
    """

    def __init__(self, dtype: DTypeLike = "float32") -> None:
        super().__init__(dtype)

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        return tf.zeros(shape, dtype)


class ones_initializer(Initializer):
    """Ones.

    >>> ones_initializer()([2]).numpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(self, dtype: DTypeLike = "float32") -> None:
        super().__init__(dtype)

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        return tf.ones(shape, dtype)


class constant_initializer(Initializer):
    """One value everywhere, or as many as the variable has elements.

    Args:
        value: a number, or a list or array of them.
        verify_shape: whether the value must have the shape of the variable.

    >>> constant_initializer([1, 2])([2, 1]).numpy()
    array([[1.], [2.]], dtype=float32)
    """

    value: Any

    def __init__(
        self, value: TensorLike = 0, dtype: DTypeLike = "float32", verify_shape: bool = False
    ) -> None:
        super().__init__(dtype, value=value)
        self._verify = verify_shape

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        found = tf.constant(self.value, dtype)
        if self._verify and list(found.shape) != shape:
            raise TypeError(f"constant_initializer: the value has the shape {found.shape}, not {shape}")
        return tf.broadcast_to(found, shape) if found.shape.num_elements() == 1 else tf.reshape(found, shape)


class random_uniform_initializer(Initializer):
    """Numbers between two bounds, by default 0 and 1.

    Raises:
        ValueError: if the dtype is an integer and `maxval` is missing.

    >>> random_uniform_initializer(2.0, 3.0)([2]).shape
    TensorShape([2])
    """

    minval: float
    maxval: float | None
    seed: int | None

    def __init__(
        self,
        minval: float = 0.0,
        maxval: float | None = None,
        seed: int | None = None,
        dtype: DTypeLike = "float32",
    ) -> None:
        super().__init__(dtype, minval=minval, maxval=maxval, seed=seed)
        if maxval is None and not self.dtype.is_floating:
            raise ValueError("compat.v1.random_uniform_initializer: integers need maxval")

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        return tf.random.uniform(shape, self.minval, self.maxval, dtype, self.seed)


class random_normal_initializer(Initializer):
    """Normal numbers, by default of mean 0 and deviation 1.

    >>> random_normal_initializer(seed=1, dtype="float64")([2]).dtype
    tf.float64
    """

    mean: float
    stddev: float
    seed: int | None

    def __init__(
        self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: DTypeLike = "float32"
    ) -> None:
        super().__init__(dtype, mean=mean, stddev=stddev, seed=seed)

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        return tf.random.normal(shape, self.mean, self.stddev, dtype, self.seed)


class truncated_normal_initializer(random_normal_initializer):
    """Normal numbers, without those beyond two deviations.

    >>> bool(tf.reduce_all(tf.abs(truncated_normal_initializer()([99])) < 2))
    True
    """

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        return tf.random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class uniform_unit_scaling_initializer(Initializer):
    """Numbers between bounds that keep the size of what a layer computes: sqrt(3 / inputs) times a factor.

    >>> uniform_unit_scaling_initializer(seed=1)([3, 2]).shape
    TensorShape([3, 2])
    """

    factor: float
    seed: int | None

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = "float32") -> None:
        super().__init__(dtype, factor=factor, seed=seed)

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        bound = math.sqrt(3 / max(math.prod(shape[:-1]), 1)) * self.factor
        return tf.random.uniform(shape, -bound, bound, dtype, self.seed)


class variance_scaling_initializer(Initializer):
    """Random numbers whose variance is `scale` by the number of inputs, of outputs, or the mean of both.

    Args:
        mode: "fan_in", "fan_out" or "fan_avg".
        distribution: "truncated_normal" (or "normal"), "untruncated_normal" or "uniform".

    >>> variance_scaling_initializer(mode="fan_out", seed=1)([3, 2]).shape
    TensorShape([3, 2])
    """

    scale: float
    mode: str
    distribution: str
    seed: int | None

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = "float32",
    ) -> None:
        if scale <= 0:
            raise ValueError(f"variance_scaling_initializer: scale must be positive, not {scale}")
        name = "variance_scaling_initializer"
        choice(name, "mode", mode, ("fan_in", "fan_out", "fan_avg"))
        kinds = ("normal", "uniform", "truncated_normal", "untruncated_normal")
        choice(name, "distribution", distribution, kinds)
        super().__init__(dtype, scale=scale, mode=mode, distribution=distribution, seed=seed)

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        inputs, outputs = _fans(shape)
        fans = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}
        variance = self.scale / max(1.0, fans[self.mode])
        if self.distribution == "uniform":
            bound = math.sqrt(3 * variance)
            return tf.random.uniform(shape, -bound, bound, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return tf.random.normal(shape, 0.0, math.sqrt(variance), dtype, self.seed)
        return tf.random.truncated_normal(shape, 0.0, math.sqrt(variance) / _TRUNCATED, dtype, self.seed)


def _fans(shape: list[int]) -> tuple[int, int]:
    """The numbers of inputs and of outputs of a layer with weights of this shape."""
    if len(shape) < 2:
        return (shape[0], shape[0]) if shape else (1, 1)
    window = math.prod(shape[:-2])
    return window * shape[-2], window * shape[-1]


class orthogonal_initializer(Initializer):
    """Orthogonal rows or columns.

    >>> q = orthogonal_initializer(seed=1)([2, 2])
    >>> bool(tf.reduce_all(tf.abs(q @ tf.transpose(q) - tf.eye(2)) < 1e-5))
    True
    """

    gain: float
    seed: int | None

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = "float32") -> None:
        super().__init__(dtype, gain=gain, seed=seed)

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        if len(shape) < 2:
            raise ValueError(f"orthogonal_initializer: the shape must have two axes or more, not {shape}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        drawn = tf.random.normal([max(rows, columns), min(rows, columns)], dtype=dtype, seed=self.seed)
        q, r = tf.linalg.qr(drawn)
        q = q * tf.sign(tf.linalg.diag_part(r))
        return tf.cast(self.gain, dtype) * tf.reshape(tf.transpose(q) if rows < columns else q, shape)


class identity_initializer(Initializer):
    """The identity matrix, times a factor.

    >>> identity_initializer(2.0)([1, 2]).numpy()
    array([[2., 0.]], dtype=float32)
    """

    gain: float

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = "float32") -> None:
        super().__init__(dtype, gain=gain)

    def _made(self, shape: list[int], dtype: Any) -> Tensor:
        if len(shape) != 2:
            raise ValueError(f"identity: the shape must have two axes, not {shape}")
        return tf.cast(self.gain, dtype) * tf.eye(shape[0], shape[1], dtype=dtype)


class glorot_uniform_initializer(variance_scaling_initializer):
    """Numbers between bounds, by inputs and outputs.

    >>> glorot_uniform_initializer(seed=1)([3, 2]).shape
    TensorShape([3, 2])
    """

    _distribution = "uniform"

    def __init__(self, seed: int | None = None, dtype: DTypeLike = "float32") -> None:
        super().__init__(1.0, "fan_avg", self._distribution, seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments, by name."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class glorot_normal_initializer(glorot_uniform_initializer):
    """Normal numbers, by inputs and outputs.

    >>> glorot_normal_initializer(seed=1)([3, 2]).shape
    TensorShape([3, 2])
    """

    _distribution = "truncated_normal"


def _of_inputs(scale: float, distribution: str, text: str) -> Any:
    def made(seed: int | None = None) -> variance_scaling_initializer:
        return variance_scaling_initializer(scale, "fan_in", distribution, seed)

    made.__doc__ = text
    return made


_CLASSES = (
    constant_initializer, glorot_normal_initializer, glorot_uniform_initializer, ones_initializer,
    orthogonal_initializer, random_normal_initializer, random_uniform_initializer, truncated_normal_initializer,
    uniform_unit_scaling_initializer, variance_scaling_initializer, zeros_initializer,
)  # fmt: skip

INITIALIZERS: dict[str, Any] = {
    **{cls.__name__: cls for cls in _CLASSES},
    **{f"initializers.{cls.__name__.removesuffix('_initializer')}": cls for cls in _CLASSES},
    "initializers.identity": identity_initializer,
    "initializers.he_normal": _of_inputs(2.0, "truncated_normal", "He's initializer, normal."),
    "initializers.he_uniform": _of_inputs(2.0, "uniform", "He's initializer, uniform."),
    "initializers.lecun_normal": _of_inputs(1.0, "truncated_normal", "LeCun's initializer, normal."),
    "initializers.lecun_uniform": _of_inputs(1.0, "uniform", "LeCun's initializer, uniform."),
}
