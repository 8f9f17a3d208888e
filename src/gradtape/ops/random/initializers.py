"""First values for variables: functions from a shape (and a dtype) to a tensor.

With a seed, random ones give the same numbers at every call: the numbers that Keras draws on TensorFlow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core import dtypes
from ...core.errors import DTypeError
from ...core.shapes import TensorShape
from ...core.tensor import Tensor
from ...core.tensor_conversion import constant as constant_tensor
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ..array import creation
from ..array.movement import cast
from ..scalars import number
from . import stateful, stateless


class Initializer:
    """Base class of initializers: `get_config` describes one as a dictionary, and `from_config` makes it again.

    >>> class Hundreds(Initializer):
    ...     def __call__(self, shape, dtype=None):
    ...         return creation.fill(shape, 100.0)
    >>> Hundreds()((2,)).numpy()
    array([100., 100.], dtype=float32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """A tensor of a shape.

        Args:
            dtype: of the tensor; float32 by default.
            kwargs: accepted and ignored.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(shape, dtype)")

    def get_config(self) -> dict[str, Any]:
        """The arguments this was made with."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The initializer that `get_config` described.

        Raises:
            TypeError: if `config` is no dict.
        """
        if not isinstance(config, dict):
            raise TypeError(
                f"{cls.__name__}.from_config: takes what get_config gives, a dict, not {config!r}"
            )
        return cls(**{key: value for key, value in config.items() if key != "dtype"})

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.get_config().items())
        return f"{type(self).__name__}({arguments})"


def _numeric(dtype: Any) -> Any:
    """The dtype of an initializer's tensor: float32 by default, and no string."""
    kind = dtypes.as_dtype("float32" if dtype is None else dtype)
    if kind is dtypes.string:
        raise DTypeError("an initializer's dtype must be numeric or bool, not string")
    return kind


# ---------------------------------------------------------------------------------------------------------------------
# The same values each time


class Zeros(Initializer):
    """Zeros.

    >>> Zeros()((2,)).numpy()
    array([0., 0.], dtype=float32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        return creation.zeros(shape, _numeric(dtype))


class Ones(Initializer):
    """Ones.

    >>> Ones()((2,)).numpy()
    array([1., 1.], dtype=float32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        return creation.ones(shape, _numeric(dtype))


class Constant(Initializer):
    """One value everywhere.

    Args:
        value: the value.

    >>> Constant(3.0)((2,)).numpy()
    array([3., 3.], dtype=float32)
    """

    def __init__(self, value: TensorLike = 0.0) -> None:
        self.value = value

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        return creation.ones(shape, _numeric(dtype)) * cast(self.value, _numeric(dtype))


class constant_initializer(Constant):
    """One value everywhere, or as many as the shape has elements.

    Args:
        value: the value or values; without a dtype the tensor has theirs.
        support_partition: accepted and ignored.

    >>> constant_initializer([1.0, 2.0])((2, 1)).numpy()
    array([[1.], [2.]], dtype=float32)
    """

    def __init__(self, value: TensorLike = 0, support_partition: bool = False) -> None:
        super().__init__(value)

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        return constant_tensor(self.value, dtype, shape)


class Identity(Initializer):
    """The identity matrix, times `gain`.

    Args:
        gain: the factor.

    Raises:
        ValueError: when called with a shape that is not of two lengths.

    >>> Identity()((2, 2)).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        lengths = tuple(TensorShape(shape))
        if len(lengths) != 2:
            raise ValueError(f"Identity makes matrices: the shape must have two lengths, not {lengths}")
        return creation.eye(*lengths, dtype=_numeric(dtype)) * self.gain


# ---------------------------------------------------------------------------------------------------------------------
# Random values


class RandomNormal(Initializer):
    """Normally distributed numbers.

    Args:
        mean, stddev: of the distribution.
        seed: an integer, for the same numbers at every call.

    >>> RandomNormal(stddev=1.0, seed=1)((2,)).numpy()
    array([ 0.1266503 , -0.49301657], dtype=float32)
    """

    def __init__(
        self, mean: TensorLike = 0.0, stddev: TensorLike = 0.05, seed: TensorLike | None = None
    ) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        if self.seed is None:
            return stateful.normal(shape, self.mean, self.stddev, _numeric(dtype))
        return stateless.stateless_normal(shape, (self.seed, 0), self.mean, self.stddev, _numeric(dtype))


class TruncatedNormal(Initializer):
    """Normally distributed numbers, none further than two standard deviations from the mean.

    Args:
        mean, stddev: of the distribution before it is truncated.
        seed: an integer, for the same numbers at every call.

    >>> TruncatedNormal(seed=1)((2,)).shape
    TensorShape([2])
    """

    def __init__(
        self, mean: TensorLike = 0.0, stddev: TensorLike = 0.05, seed: TensorLike | None = None
    ) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        kind = _numeric(dtype)
        if self.seed is None:
            return stateful.truncated_normal(shape, self.mean, self.stddev, kind)
        return stateless.stateless_truncated_normal(shape, (self.seed, 0), self.mean, self.stddev, kind)


class RandomUniform(Initializer):
    """Evenly distributed numbers in [minval, maxval).

    Args:
        minval, maxval: the bounds.
        seed: an integer, for the same numbers at every call.

    >>> RandomUniform(seed=1)((2,)).shape
    TensorShape([2])
    """

    def __init__(
        self, minval: TensorLike = -0.05, maxval: TensorLike = 0.05, seed: TensorLike | None = None
    ) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        if self.seed is None:
            return stateful.uniform(shape, self.minval, self.maxval, _numeric(dtype))
        return stateless.stateless_uniform(shape, (self.seed, 0), self.minval, self.maxval, _numeric(dtype))


class Orthogonal(Initializer):
    """A random matrix with orthogonal columns (rows, where there are fewer), times `gain`.

    Of more than two lengths, the last counts the columns.

    Args:
        gain: the factor.
        seed: an integer, for the same numbers at every call.

    Raises:
        ValueError: when called with a shape of fewer than two lengths.

    >>> q = Orthogonal(seed=1)((3, 2)).numpy()
    >>> (q.T @ q).round(5)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0, seed: TensorLike | None = None) -> None:
        self.gain, self.seed = gain, seed

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        from ..array.movement import reshape, transpose
        from ..linalg.factorizations import qr
        from ..linalg.matrix import diag_part
        from ..math.complexes import sign

        lengths = tuple(TensorShape(shape))
        if len(lengths) < 2:
            raise ValueError(
                f"Orthogonal makes matrices: the shape must have at least two lengths, not {lengths}"
            )
        rows, columns = math.prod(lengths[:-1]), lengths[-1]
        tall = (max(rows, columns), min(rows, columns))
        q, r = qr(RandomNormal(0.0, 1.0, self.seed)(tall, dtype))
        q = q * sign(diag_part(r))  # makes the distribution uniform over all such matrices
        return self.gain * reshape(transpose(q) if rows < columns else q, lengths)


class VarianceScaling(Initializer):
    """Random numbers whose variance is `scale` over the number of inputs or outputs of a layer with such weights.

    Args:
        scale: the variance of a sum of as many numbers as `mode` says.
        mode: 'fan_in', 'fan_out', or 'fan_avg', their mean.
        distribution: 'truncated_normal', 'untruncated_normal' or 'uniform'.
        seed: an integer, for the same numbers at every call.
        input_axes, output_axes: the axes that count the inputs and outputs. By default the last axis counts outputs
            and the one before inputs, and all before them are a convolution's window.

    Raises:
        ValueError: if `scale` is not positive, or for another mode or distribution.

    >>> VarianceScaling(mode="fan_out", seed=1)((2, 3)).shape
    TensorShape([2, 3])
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: TensorLike | None = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ) -> None:
        if number("VarianceScaling", "scale", scale) <= 0:
            raise ValueError(f"VarianceScaling: scale must be positive, it is {scale}")
        if not isinstance(mode, str) or mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"VarianceScaling: mode is 'fan_in', 'fan_out' or 'fan_avg', not {mode!r}")
        kind = {"normal": "truncated_normal"}.get(str(distribution).lower(), str(distribution).lower())
        if kind not in ("truncated_normal", "untruncated_normal", "uniform"):
            raise ValueError(
                "VarianceScaling: distribution is 'truncated_normal', 'untruncated_normal' or 'uniform', not "
                f"{distribution!r}"
            )
        self.scale, self.mode, self.distribution, self.seed = scale, mode, kind, seed
        self.input_axes, self.output_axes = input_axes, output_axes

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        lengths = TensorShape(shape)
        if not lengths.is_fully_defined():
            raise ValueError(
                f"{type(self).__name__}: all lengths of the shape must be known, and it is {lengths}"
            )
        variance = self.scale / max(1.0, self._fan(tuple(lengths)))
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return RandomUniform(-limit, limit, self.seed)(shape, dtype)
        if self.distribution == "untruncated_normal":
            return RandomNormal(0.0, math.sqrt(variance), self.seed)(shape, dtype)
        # Cutting a normal distribution at 2 leaves 0.8796 of its standard deviation.
        return TruncatedNormal(0.0, math.sqrt(variance) / 0.87962566103423978, self.seed)(shape, dtype)

    def _fan(self, shape: tuple[int, ...]) -> float:
        if self.input_axes is not None and self.output_axes is not None:
            into = math.prod(shape[axis] for axis in self.input_axes)
            out = math.prod(shape[axis] for axis in self.output_axes)
        elif len(shape) < 2:
            into = out = shape[0] if shape else 1
        else:
            window = math.prod(shape[:-2])
            into, out = shape[-2] * window, shape[-1] * window
        return {"fan_in": into, "fan_out": out, "fan_avg": (into + out) / 2}[self.mode]


class _Scaled(VarianceScaling):
    """VarianceScaling with fixed scale, mode and distribution."""

    _kind: tuple[float, str, str]

    def __init__(
        self,
        seed: TensorLike | None = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ) -> None:
        super().__init__(*self._kind, seed, input_axes, output_axes)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "input_axes": self.input_axes, "output_axes": self.output_axes}


class GlorotUniform(_Scaled):
    """Evenly distributed in ±sqrt(6 / (inputs + outputs)).

    Args:
        seed: an integer, for the same numbers at every call.
        input_axes, output_axes: the axes that count the inputs and outputs, as for `VarianceScaling`.

    >>> bool((abs(GlorotUniform()((2, 4)).numpy()) <= 1.0).all())
    True
    """

    _kind = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Scaled):
    """Normal, cut at two standard deviations, of variance 2 / (inputs + outputs).

    Args:
        seed: an integer, for the same numbers at every call.
        input_axes, output_axes: the axes that count the inputs and outputs, as for `VarianceScaling`.

    >>> GlorotNormal()((2, 4)).shape
    TensorShape([2, 4])
    """

    _kind = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Scaled):
    """Evenly distributed in ±sqrt(6 / inputs).

    Args:
        seed: an integer, for the same numbers at every call.
        input_axes, output_axes: the axes that count the inputs and outputs, as for `VarianceScaling`.

    >>> bool((abs(HeUniform()((6, 4)).numpy()) <= 1.0).all())
    True
    """

    _kind = (2.0, "fan_in", "uniform")


class HeNormal(_Scaled):
    """Normal, cut at two standard deviations, of variance 2 / inputs.

    Args:
        seed: an integer, for the same numbers at every call.
        input_axes, output_axes: the axes that count the inputs and outputs, as for `VarianceScaling`.

    >>> HeNormal()((6, 4)).shape
    TensorShape([6, 4])
    """

    _kind = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Scaled):
    """Evenly distributed in ±sqrt(3 / inputs).

    Args:
        seed: an integer, for the same numbers at every call.
        input_axes, output_axes: the axes that count the inputs and outputs, as for `VarianceScaling`.

    >>> bool((abs(LecunUniform()((3, 4)).numpy()) <= 1.0).all())
    True
    """

    _kind = (1.0, "fan_in", "uniform")


class LecunNormal(_Scaled):
    """Normal, cut at two standard deviations, of variance 1 / inputs.

    Args:
        seed: an integer, for the same numbers at every call.
        input_axes, output_axes: the axes that count the inputs and outputs, as for `VarianceScaling`.

    >>> LecunNormal()((3, 4)).shape
    TensorShape([3, 4])
    """

    _kind = (1.0, "fan_in", "truncated_normal")


# ---------------------------------------------------------------------------------------------------------------------
# Other names

zeros = zeros_initializer = Zeros
ones = ones_initializer = Ones
constant = Constant
identity = IdentityInitializer = Identity
random_normal = random_normal_initializer = RandomNormal
random_uniform = random_uniform_initializer = RandomUniform
truncated_normal = TruncatedNormal
orthogonal = OrthogonalInitializer = Orthogonal
variance_scaling = VarianceScaling
glorot_uniform, glorot_normal = GlorotUniform, GlorotNormal
he_uniform, he_normal = HeUniform, HeNormal
lecun_uniform, lecun_normal = LecunUniform, LecunNormal


def get(identifier: Any) -> Any:
    """An initializer by its name, by its description, or itself.

    Args:
        identifier: a name such as "zeros" or "GlorotUniform"; a dict with "class_name" and "config"; a class; a
            function; or None, which is returned.

    Raises:
        ValueError: if it names no initializer.

    >>> get("zeros")
    Zeros()
    """
    if isinstance(identifier, dict):
        kind = globals().get(str(identifier.get("class_name")))
        if isinstance(kind, type) and issubclass(kind, Initializer):
            return kind.from_config(identifier.get("config", {}))
    elif isinstance(identifier, str):
        kind = globals().get(identifier)
        if isinstance(kind, type) and issubclass(kind, Initializer):
            return kind()
    elif isinstance(identifier, type) and issubclass(identifier, Initializer):
        return identifier()
    elif identifier is None or callable(identifier):
        return identifier
    raise ValueError(f"{identifier!r} names no initializer: names look like 'zeros' or 'GlorotUniform'")
