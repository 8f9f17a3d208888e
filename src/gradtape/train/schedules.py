"""Schedules: learning rates that are functions of the step. They compute with operations, so a step may be traced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import NoneType
from typing import Any

from ..core.tensor import Tensor, convert_to_tensor
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

    def __call__(self, step: Any) -> Any:
        """The learning rate at a step."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(step)")

    def get_config(self) -> dict[str, Any]:
        """The arguments this was made with."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The schedule that `get_config` described."""
        return cls(**config)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if name != "name")
        return f"{type(self).__name__}({arguments})"


class ExponentialDecay(LearningRateSchedule):
    """`initial_learning_rate * decay_rate ** (step / decay_steps)`; with `staircase`, in whole powers.

    >>> float(ExponentialDecay(1.0, decay_steps=10, decay_rate=0.25)(5))
    0.5
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = "ExponentialDecay",
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = _positive(decay_steps, "decay_steps")
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> Tensor:
        first, step = _floats(self.initial_learning_rate, step)
        passed = step / self.decay_steps
        return first * pow(_like(self.decay_rate, first), floor(passed) if self.staircase else passed)


class InverseTimeDecay(LearningRateSchedule):
    """`initial_learning_rate / (1 + decay_rate * step / decay_steps)`; with `staircase`, the quotient rounded down.

    >>> float(InverseTimeDecay(1.0, decay_steps=10, decay_rate=0.5)(20))
    0.5
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = "InverseTimeDecay",
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = _positive(decay_steps, "decay_steps")
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> Tensor:
        first, step = _floats(self.initial_learning_rate, step)
        passed = step / self.decay_steps
        return first / (1.0 + _like(self.decay_rate, first) * (floor(passed) if self.staircase else passed))


class PiecewiseConstantDecay(LearningRateSchedule):
    """`values[0]` up to and including the step `boundaries[0]`, then `values[1]` up to `boundaries[1]`, and so on.

    >>> rate = PiecewiseConstantDecay([100], [0.5, 0.25])
    >>> float(rate(100)), float(rate(101))
    (0.5, 0.25)
    """

    def __init__(
        self, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = "PiecewiseConstant"
    ) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                f"PiecewiseConstantDecay: {len(values)} values need {len(values) - 1} boundaries between them, not "
                f"{len(boundaries)}"
            )
        self.boundaries = boundaries
        self.values = values
        self.name = name

    def __call__(self, step: Any) -> Tensor:
        now = convert_to_tensor(step)
        rate = convert_to_tensor(self.values[-1])
        for boundary, value in zip(self.boundaries[::-1], self.values[-2::-1]):
            rate = where(now <= cast(boundary, now.dtype), value, rate)
        return rate


class PolynomialDecay(LearningRateSchedule):
    """From `initial_learning_rate` to `end_learning_rate` in `decay_steps`, as a power of what is left of them.

    With `cycle`, when the steps are over they are extended by as many again.

    >>> float(PolynomialDecay(1.0, decay_steps=10, end_learning_rate=0.0, power=2.0)(5))
    0.25
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate: Any = 0.0001,
        power: Any = 1.0,
        cycle: bool = False,
        name: str | None = "PolynomialDecay",
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = _positive(decay_steps, "decay_steps")
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle
        self.name = name

    def __call__(self, step: Any) -> Tensor:
        first, step = _floats(self.initial_learning_rate, step)
        steps = _like(self.decay_steps, first)
        if self.cycle:
            steps = steps * where(equal(step, 0.0), 1.0, ceil(step / steps))
        else:
            step = minimum(step, steps)
        last = _like(self.end_learning_rate, first)
        return (first - last) * pow(1.0 - step / steps, _like(self.power, first)) + last


class CosineDecay(LearningRateSchedule):
    """Half a cosine, from `initial_learning_rate` to `alpha` times it, in `decay_steps`.

    With a `warmup_target`, the rate first grows in a line to it, in `warmup_steps`, and decays from there.

    >>> rate = CosineDecay(0.0, decay_steps=10, warmup_target=1.0, warmup_steps=4)
    >>> [round(float(rate(step)), 2) for step in (0, 2, 4, 9, 14)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        alpha: Any = 0.0,
        name: str | None = "CosineDecay",
        warmup_target: Any = None,
        warmup_steps: Any = 0,
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = _positive(decay_steps, "decay_steps")
        self.alpha = alpha
        self.name = name
        self.warmup_target = warmup_target
        self.warmup_steps = warmup_steps

    def __call__(self, step: Any) -> Tensor:
        first, step = _floats(self.initial_learning_rate, step)
        if self.warmup_target is None:
            return first * self._decayed(step)
        top, warmup = _like(self.warmup_target, first), _like(self.warmup_steps, first)
        rising = first + (top - first) * step / (warmup if self.warmup_steps else 1.0)
        return where(step < warmup, rising, top * self._decayed(step - warmup))

    def _decayed(self, step: Any) -> Any:
        passed = minimum(step, _like(self.decay_steps, step)) / self.decay_steps
        alpha = _like(self.alpha, step)
        return (1.0 - alpha) * (0.5 * (1.0 + cos(math.pi * passed))) + alpha


class CosineDecayRestarts(LearningRateSchedule):
    """Half a cosine, again and again: each period `t_mul` times as long as the last, and `m_mul` times as high.

    >>> rate = CosineDecayRestarts(1.0, first_decay_steps=10)
    >>> [round(float(rate(step)), 2) for step in (0, 5, 10, 20, 30)]
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        first_decay_steps: Any,
        t_mul: Any = 2.0,
        m_mul: Any = 1.0,
        alpha: Any = 0.0,
        name: str | None = "SGDRDecay",
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps = _positive(first_decay_steps, "first_decay_steps")
        self.t_mul = t_mul
        self.m_mul = m_mul
        self.alpha = alpha
        self.name = name

    def __call__(self, step: Any) -> Tensor:
        first, step = _floats(self.initial_learning_rate, step)
        passed = step / self.first_decay_steps  # in first periods
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


def _positive(steps: Any, name: str) -> Any:
    if number("a schedule", name, steps) <= 0:
        raise ValueError(f"{name} must be positive, it is {steps}")
    return steps


def _floats(rate: Any, step: Any) -> tuple[Any, Any]:
    """The first rate as a tensor, and the step in its dtype."""
    first = convert_to_tensor(rate)
    if not first.dtype.is_floating:
        first = cast(first, "float32")
    return first, cast(step, first.dtype)


def _like(value: Any, first: Any) -> Any:
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
    """A dictionary that describes a schedule.

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
    """The schedule that `serialize` described; `custom_objects` has classes of your own by their names.

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
