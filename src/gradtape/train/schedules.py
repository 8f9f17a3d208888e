"""Schedules: learning rates that are functions of the step. They compute with operations, so a step may be traced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Self

from ..core.primitive import leave_hot
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert_to_tensor
from ..core.types import IntLike, TensorLike
from ..ops.array.movement import cast
from ..ops.math.arithmetic import pow
from ..ops.math.functions import ceil, cos, equal, floor, log, minimum, where
from ..ops.scalars import number


class LearningRateSchedule:
    """A learning rate that is a function of the step. To write one of your own, override `__call__`.

    >>> class Halving(LearningRateSchedule):
    ...     def __call__(self, step):
    ...         return 0.5 ** cast(step, "float32")
    >>> float(Halving()(3))
    0.125
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            leave_hot("a schedule changes")  # a step that is not computed yet has the old one
        super().__setattr__(name, value)

    def __call__(self, step: TensorLike) -> TensorLike:
        """The learning rate after `step` updates."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(step)")

    def get_config(self) -> dict[str, Any]:
        """The arguments of this schedule."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create the schedule that `get_config` described, from the `config` it returned."""
        return cls(**config)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if name != "name")
        return f"{type(self).__name__}({arguments})"


@dataclass(repr=False, eq=False)
class ExponentialDecay(LearningRateSchedule):
    """`initial_learning_rate * decay_rate ** (step / decay_steps)`; with `staircase`, in whole powers.

    >>> float(ExponentialDecay(1.0, decay_steps=10, decay_rate=0.25)(5))
    0.5
    """

    initial_learning_rate: TensorLike
    decay_steps: IntLike | float
    decay_rate: TensorLike
    staircase: bool = False
    name: str | None = "ExponentialDecay"

    def __post_init__(self) -> None:
        _check_positive(self.decay_steps, "decay_steps")

    def __call__(self, step: TensorLike) -> Tensor:
        first, now = _floats(self.initial_learning_rate, step)
        passed = now / self.decay_steps
        return first * pow(_like(self.decay_rate, first), floor(passed) if self.staircase else passed)


@dataclass(repr=False, eq=False)
class InverseTimeDecay(LearningRateSchedule):
    """`initial_learning_rate / (1 + decay_rate * step / decay_steps)`; with `staircase`, the quotient rounded down.

    >>> float(InverseTimeDecay(1.0, decay_steps=10, decay_rate=0.5)(20))
    0.5
    """

    initial_learning_rate: TensorLike
    decay_steps: IntLike | float
    decay_rate: TensorLike
    staircase: bool = False
    name: str | None = "InverseTimeDecay"

    def __post_init__(self) -> None:
        _check_positive(self.decay_steps, "decay_steps")

    def __call__(self, step: TensorLike) -> Tensor:
        first, now = _floats(self.initial_learning_rate, step)
        passed = now / self.decay_steps
        return first / (1.0 + _like(self.decay_rate, first) * (floor(passed) if self.staircase else passed))


@dataclass(repr=False, eq=False)
class PiecewiseConstantDecay(LearningRateSchedule):
    """`values[0]` up to and including the step `boundaries[0]`, then `values[1]` up to `boundaries[1]`, and so on.

    >>> rate = PiecewiseConstantDecay([100], [0.5, 0.25])
    >>> float(rate(100)), float(rate(101))
    (0.5, 0.25)
    """

    boundaries: Sequence[TensorLike]
    values: Sequence[TensorLike]
    name: str | None = "PiecewiseConstant"

    def __post_init__(self) -> None:
        try:
            between, given = len(self.values) - 1, len(self.boundaries)
        except TypeError:
            raise TypeError(
                f"PiecewiseConstantDecay: boundaries and values must be lists, not {self.boundaries!r} and "
                f"{self.values!r}"
            ) from None
        if given != between:
            raise ValueError(
                f"PiecewiseConstantDecay: {between + 1} values need {between} boundaries between them, not {given}"
            )

    def __call__(self, step: TensorLike) -> Tensor:
        now = convert_to_tensor(step)
        rate = convert_to_tensor(self.values[-1])
        for boundary, value in zip(self.boundaries[::-1], self.values[-2::-1]):
            rate = where(now <= cast(boundary, now.dtype), value, rate)
        return rate


@dataclass(repr=False, eq=False)
class PolynomialDecay(LearningRateSchedule):
    """From `initial_learning_rate` to `end_learning_rate` in `decay_steps`, as a power of what is left of them.

    With `cycle`, when the steps are over they are extended by as many again.

    >>> float(PolynomialDecay(1.0, decay_steps=10, end_learning_rate=0.0, power=2.0)(5))
    0.25
    """

    initial_learning_rate: TensorLike
    decay_steps: IntLike | float
    end_learning_rate: TensorLike = 0.0001
    power: TensorLike = 1.0
    cycle: bool = False
    name: str | None = "PolynomialDecay"

    def __post_init__(self) -> None:
        _check_positive(self.decay_steps, "decay_steps")

    def __call__(self, step: TensorLike) -> Tensor:
        first, now = _floats(self.initial_learning_rate, step)
        steps = _like(self.decay_steps, first)
        if self.cycle:
            steps = steps * where(equal(now, 0.0), 1.0, ceil(now / steps))
        else:
            now = minimum(now, steps)
        last = _like(self.end_learning_rate, first)
        return (first - last) * pow(1.0 - now / steps, _like(self.power, first)) + last


@dataclass(repr=False, eq=False)
class CosineDecay(LearningRateSchedule):
    """Half a cosine, from `initial_learning_rate` to `alpha` times it, in `decay_steps`.

    With a `warmup_target`, the rate first grows in a line to it, in `warmup_steps`, and decays from there.

    >>> rate = CosineDecay(0.0, decay_steps=10, warmup_target=1.0, warmup_steps=4)
    >>> [round(float(rate(step)), 2) for step in (0, 2, 4, 9, 14)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    initial_learning_rate: TensorLike
    decay_steps: IntLike | float
    alpha: TensorLike = 0.0
    name: str | None = "CosineDecay"
    warmup_target: TensorLike | None = None
    warmup_steps: IntLike | float = 0

    def __post_init__(self) -> None:
        _check_positive(self.decay_steps, "decay_steps")

    def __call__(self, step: TensorLike) -> Tensor:
        first, now = _floats(self.initial_learning_rate, step)
        if self.warmup_target is None:
            return first * self._decayed(now)
        top, warmup = _like(self.warmup_target, first), _like(self.warmup_steps, first)
        rising = first + (top - first) * now / (warmup if self.warmup_steps else 1.0)
        return where(now < warmup, rising, top * self._decayed(now - warmup))

    def _decayed(self, step: Tensor) -> Tensor:
        passed = minimum(step, _like(self.decay_steps, step)) / self.decay_steps
        alpha = _like(self.alpha, step)
        return (1.0 - alpha) * (0.5 * (1.0 + cos(math.pi * passed))) + alpha


@dataclass(repr=False, eq=False)
class CosineDecayRestarts(LearningRateSchedule):
    """Half a cosine from `initial_learning_rate` to `alpha` times it in `first_decay_steps`, again and again.

    Each period is `t_mul` times as long as the last, and `m_mul` times as high.

    >>> rate = CosineDecayRestarts(1.0, first_decay_steps=10)
    >>> [round(float(rate(step)), 2) for step in (0, 5, 10, 20, 30)]
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """

    initial_learning_rate: TensorLike
    first_decay_steps: IntLike | float
    t_mul: TensorLike = 2.0
    m_mul: TensorLike = 1.0
    alpha: TensorLike = 0.0
    name: str | None = "SGDRDecay"

    def __post_init__(self) -> None:
        _check_positive(self.first_decay_steps, "first_decay_steps")

    def __call__(self, step: TensorLike) -> Tensor:
        first, now = _floats(self.initial_learning_rate, step)
        passed = now / self.first_decay_steps  # in first periods
        if self.t_mul == 1.0:
            period = floor(passed)
            passed = passed - period
        else:
            # n periods take 1 + t + ... + t^(n-1) = (1 - t^n) / (1 - t) of the first.
            t = _like(self.t_mul, first)
            period = floor(log(1.0 - passed * (1.0 - t)) / log(t))
            length = pow(t, period)
            passed = (passed - (1.0 - length) / (1.0 - t)) / length
        height = pow(_like(self.m_mul, first), period)
        alpha = _like(self.alpha, first)
        return first * ((1.0 - alpha) * (0.5 * height * (1.0 + cos(math.pi * passed))) + alpha)


def _check_positive(steps: Any, name: str) -> None:
    if number("a schedule", name, steps) <= 0:
        raise ValueError(f"{name} must be positive, it is {steps}")


def _floats(rate: TensorLike, step: TensorLike) -> tuple[Tensor, Tensor]:
    """The first rate as a tensor, and the step in its dtype."""
    first = convert_to_tensor(rate)
    if not first.dtype.is_floating:
        first = cast(first, "float32")
    return first, cast(step, first.dtype)


def _like(value: TensorLike, first: Tensor) -> Tensor:
    return cast(value, first.dtype)


_KINDS = {
    kind.__name__: kind
    for kind in (
        ExponentialDecay,
        InverseTimeDecay,
        PiecewiseConstantDecay,
        PolynomialDecay,
        CosineDecay,
        CosineDecayRestarts,
    )
}


def serialize(learning_rate_schedule: LearningRateSchedule) -> dict[str, Any]:
    """A dictionary that describes `learning_rate_schedule`: its class, and its arguments.

    Raises:
        TypeError: if it is no schedule.

    >>> serialize(PiecewiseConstantDecay([9], [0.5, 0.25]))["class_name"]
    'PiecewiseConstantDecay'
    """
    if not isinstance(learning_rate_schedule, LearningRateSchedule):
        raise TypeError(f"serialize takes a LearningRateSchedule, not {learning_rate_schedule!r}")
    return {
        "class_name": type(learning_rate_schedule).__name__,
        "config": learning_rate_schedule.get_config(),
    }


def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> LearningRateSchedule:
    """Create the schedule that `serialize` described.

    Args:
        config: what `serialize` returned.
        custom_objects: classes of your own, by their names.

    Raises:
        TypeError: if `config` or `custom_objects` is of another form.
        ValueError: for the name of an unknown class.

    >>> deserialize(serialize(ExponentialDecay(0.5, 10, 0.9)))
    ExponentialDecay(initial_learning_rate=0.5, decay_steps=10, decay_rate=0.9, staircase=False)
    """
    if not isinstance(config, dict) or not {"class_name", "config"} <= config.keys():
        raise TypeError(
            f"deserialize takes what serialize gives, a dict with class_name and config, not {config!r}"
        )
    if not isinstance(custom_objects, (dict, NoneType)):
        raise TypeError(
            f"deserialize: custom_objects must be a dict from names to classes, not {custom_objects!r}"
        )
    kinds = {**_KINDS, **(custom_objects or {})}
    name = str(config["class_name"])
    if name not in kinds:
        raise ValueError(
            f"there is no schedule {name!r}: known are {', '.join(sorted(kinds))}. Give others as custom_objects"
        )
    schedule: LearningRateSchedule = kinds[name].from_config(config["config"])
    return schedule
