"""The optimizers: for each its arguments, the state of a variable, and its rule.

A rule takes a variable's value, its gradient and its state, and gives the new value and state. It is elementwise and
runs on NumPy and on traced arrays alike; `+=` saves a temporary where arrays are NumPy's. `_constants` computes what is
the same for all elements, as scalars of the variable's dtype (or float32, where that is narrower).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from ...core.variable import Variable
from ...engine.arrays import xp
from ...ops.scalars import number
from .optimizer import CommonOptions, LearningRate, Optimizer, Options

State = list[Any]
Scalar = Callable[[float], Any]  # a number in the variable's dtype


class SGD(Optimizer):
    """Gradient descent, with momentum if asked for.

    Args:
        learning_rate: the step size: a number, a variable, a schedule, or a function without arguments.
        momentum: how much of the last step is added to the next, in [0, 1].
        nesterov: whether the gradient counts as if it were taken after the momentum's step.
        options: the arguments of `Optimizer`, such as `clipnorm` and `weight_decay`.

    Raises:
        ValueError: if `momentum` is not in [0, 1].

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.SGD(learning_rate=0.5).apply_gradients([(tf.constant(1.0), v)])
    >>> float(v)
    0.5
    """

    _settings = ("momentum", "nesterov")

    def __init__(
        self,
        learning_rate: LearningRate = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        if not 0 <= number("SGD", "momentum", momentum) <= 1:
            raise ValueError(f"momentum must lie in [0, 1], not {momentum}")
        self.momentum = momentum
        self.nesterov = nesterov

    def _families(self) -> Sequence[tuple[str, ...]]:
        return [("momentum",)] if self.momentum else []

    def _constants(self, rate: Any, step: Any, scalar: Scalar) -> Sequence[Any]:
        return rate, scalar(self.momentum)

    def _rule(self, value: Any, gradient: Any, state: State, constants: Any) -> tuple[Any, State]:
        rate, momentum = constants
        step = gradient * rate
        if not self.momentum:
            value -= step
            return value, state
        (velocity,) = state
        velocity *= momentum
        velocity -= step
        value += velocity * momentum - step if self.nesterov else velocity
        return value, [velocity]


class Adam(Optimizer):
    """Steps by the mean of the gradients over the root of the mean of their squares.

    Args:
        learning_rate: the step size: a number, a variable, a schedule, or a function without arguments.
        beta_1: how much of the mean of the gradients stays at each step.
        beta_2: how much of the mean of their squares stays at each step.
        epsilon: a small number that is added to a divisor, which might be 0.
        amsgrad: whether to divide by the root of the largest mean of squares so far.
        options: the arguments of `Optimizer`, such as `clipnorm` and `weight_decay`.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.Adam(learning_rate=0.5).apply_gradients([(tf.constant(10.0), v)])
    >>> round(float(v), 3)
    0.5
    """

    _settings = ("beta_1", "beta_2", "epsilon", "amsgrad")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.amsgrad = amsgrad

    def _families(self) -> Sequence[tuple[str, ...]]:
        return [("momentum", "velocity"), ("velocity_hat",)][: 1 + bool(self.amsgrad)]

    def _constants(self, rate: Any, step: Any, scalar: Scalar) -> Sequence[Any]:
        corrected = (
            rate * (1 - scalar(self.beta_2) ** step) ** scalar(0.5) / (1 - scalar(self.beta_1) ** step)
        )
        return corrected, scalar(1 - self.beta_1), scalar(1 - self.beta_2), scalar(self.epsilon)

    def _rule(self, value: Any, gradient: Any, state: State, constants: Any) -> tuple[Any, State]:
        rate, new_1, new_2, epsilon = constants
        mean, square, *largest = state
        change = gradient - mean
        change *= new_1
        mean += change
        change = gradient * gradient
        change -= square
        change *= new_2
        square += change
        if largest:
            largest = [xp(square).maximum(largest[0], square)]
        root = xp(square).sqrt(largest[0] if largest else square)
        root += epsilon
        step = mean * rate
        step /= root
        value -= step
        return value, [mean, square, *largest]


class AdamW(Adam):
    """Adam, with weight decay.

    Args:
        learning_rate: the step size: a number, a variable, a schedule, or a function without arguments.
        weight_decay: before each update, variables shrink by this share of the learning rate.
        beta_1: how much of the mean of the gradients stays at each step.
        beta_2: how much of the mean of their squares stays at each step.
        epsilon: a small number that is added to a divisor, which might be 0.
        amsgrad: whether to divide by the root of the largest mean of squares so far.
        options: the arguments of `Optimizer`, such as `clipnorm` and `weight_decay`.

    Raises:
        ValueError: if `weight_decay` is None.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.AdamW(0.5, weight_decay=0.5).apply_gradients([(tf.constant(10.0), v)])
    >>> round(float(v), 3)
    0.25
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[CommonOptions],
    ) -> None:
        if weight_decay is None:
            raise ValueError("AdamW: weight_decay is a number, not None. Adam has none")
        super().__init__(
            learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay=weight_decay, **options
        )


class RMSprop(Optimizer):
    """Steps by the gradient over the root of the mean of its squares, with momentum if asked for.

    Args:
        learning_rate: the step size: a number, a variable, a schedule, or a function without arguments.
        rho: how much of the mean of squares stays at each step.
        momentum: how much of the last step is added to the next.
        epsilon: a small number that is added to a divisor, which might be 0.
        centered: whether to divide by the root of the variance in place of the mean of squares.
        options: the arguments of `Optimizer`, such as `clipnorm` and `weight_decay`.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.RMSprop(learning_rate=0.1, rho=0.75).apply_gradients([(tf.constant(10.0), v)])
    >>> round(float(v), 3)
    0.8
    """

    _settings = ("rho", "momentum", "epsilon", "centered")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho = rho
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered = centered

    def _families(self) -> Sequence[tuple[str, ...]]:
        optional = [("momentum",)] * (self.momentum > 0) + [("average_gradient",)] * bool(self.centered)
        return [("velocity",), *optional]

    def _constants(self, rate: Any, step: Any, scalar: Scalar) -> Sequence[Any]:
        return rate, scalar(self.rho), scalar(1 - self.rho), scalar(self.momentum), scalar(self.epsilon)

    def _rule(self, value: Any, gradient: Any, state: State, constants: Any) -> tuple[Any, State]:
        rate, rho, new, momentum, epsilon = constants
        square, *others = state
        square *= rho
        square += gradient * gradient * new
        spread = square + epsilon
        if self.centered:
            mean = others[-1]
            mean *= rho
            mean += gradient * new
            spread = square - mean * mean + epsilon
        step = gradient * rate / xp(square).sqrt(spread)
        if self.momentum > 0:
            velocity = others[0]
            velocity *= momentum
            velocity += step
            step = velocity
            others[0] = velocity
        if self.centered:
            others[-1] = mean
        value -= step
        return value, [square, *others]


class Adagrad(Optimizer):
    """Steps by the gradient over the root of the sum of its squares.

    Args:
        learning_rate: the step size: a number, a variable, a schedule, or a function without arguments.
        initial_accumulator_value: first value of the sum of squares.
        epsilon: a small number that is added to a divisor, which might be 0.
        options: the arguments of `Optimizer`, such as `clipnorm` and `weight_decay`.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.optimizers.Adagrad(learning_rate=0.5, initial_accumulator_value=0.0)
    >>> _ = optimizer.apply_gradients([(tf.constant(10.0), v)])
    >>> float(v)
    0.5
    """

    _settings = ("initial_accumulator_value", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon

    def _families(self) -> Sequence[tuple[str, ...]]:
        return [("accumulator",)]

    def _initial(self, name: str) -> float:
        return self.initial_accumulator_value if name == "accumulator" else 0.0

    def _constants(self, rate: Any, step: Any, scalar: Scalar) -> Sequence[Any]:
        return rate, scalar(self.epsilon)

    def _rule(self, value: Any, gradient: Any, state: State, constants: Any) -> tuple[Any, State]:
        rate, epsilon = constants
        (squares,) = state
        squares += gradient * gradient
        value -= gradient * rate / xp(squares).sqrt(squares + epsilon)
        return value, [squares]


class Adadelta(Optimizer):
    """Steps in the proportion of the mean of past steps to the mean of past gradients, both as roots of squares.

    Args:
        learning_rate: the step size: a number, a variable, a schedule, or a function without arguments.
        rho: how much of the two means stays at each step.
        epsilon: a small number that is added to a divisor, which might be 0.
        options: the arguments of `Optimizer`, such as `clipnorm` and `weight_decay`.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.Adadelta(learning_rate=1.0, rho=0.75).apply_gradients([(tf.constant(10.0), v)])
    >>> round(1.0 - float(v), 6)
    0.000632
    """

    _settings = ("rho", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho = rho
        self.epsilon = epsilon

    def _families(self) -> Sequence[tuple[str, ...]]:
        return [("accumulated_grad", "accumulated_delta_var")]

    def _constants(self, rate: Any, step: Any, scalar: Scalar) -> Sequence[Any]:
        return rate, scalar(self.rho), scalar(1 - self.rho), scalar(self.epsilon)

    def _rule(self, value: Any, gradient: Any, state: State, constants: Any) -> tuple[Any, State]:
        rate, rho, new, epsilon = constants
        gradients, steps = state
        sqrt = xp(gradients).sqrt
        gradients *= rho
        gradients += gradient * gradient * new
        step = sqrt(steps + epsilon) * gradient / sqrt(gradients + epsilon)
        steps *= rho
        steps += step * step * new
        value -= step * rate
        return value, [gradients, steps]


class Adamax(Optimizer):
    """Adam with the largest of the past gradients, ever more forgotten, in place of the mean of squares.

    Args:
        learning_rate: the step size: a number, a variable, a schedule, or a function without arguments.
        beta_1: how much of the mean of the gradients stays at each step.
        beta_2: how much of the largest gradient stays at each step.
        epsilon: a small number that is added to a divisor, which might be 0.
        options: the arguments of `Optimizer`, such as `clipnorm` and `weight_decay`.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.Adamax(learning_rate=0.5).apply_gradients([(tf.constant(10.0), v)])
    >>> round(float(v), 3)
    0.5
    """

    _settings = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def _families(self) -> Sequence[tuple[str, ...]]:
        return [("momentum", "norm")]

    def _constants(self, rate: Any, step: Any, scalar: Scalar) -> Sequence[Any]:
        left = 1 - scalar(self.beta_1) ** step
        return rate, left, scalar(1 - self.beta_1), scalar(self.beta_2), scalar(self.epsilon)

    def _rule(self, value: Any, gradient: Any, state: State, constants: Any) -> tuple[Any, State]:
        rate, left, new, beta_2, epsilon = constants
        mean, largest = state
        mean += (gradient - mean) * new
        largest = xp(largest).maximum(largest * beta_2, xp(largest).abs(gradient))
        value -= mean * rate / ((largest + epsilon) * left)
        return value, [mean, largest]


class Nadam(Optimizer):
    """Adam with Nesterov's momentum: the mean of the gradients as it will be after the next step.

    Args:
        learning_rate: the step size: a number, a variable, a schedule, or a function without arguments.
        beta_1: how much of the mean of the gradients stays at each step.
        beta_2: how much of the mean of their squares stays at each step.
        epsilon: a small number that is added to a divisor, which might be 0.
        options: the arguments of `Optimizer`, such as `clipnorm` and `weight_decay`.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.Nadam(learning_rate=0.5).apply_gradients([(tf.constant(10.0), v)])
    >>> round(float(v), 3)
    0.469
    """

    _settings = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        # The product of the momenta so far: see _momentum.
        self._u_product = Variable(np.float64(1), trainable=False, name="u_product")
        self._own.append(self._u_product)

    def _families(self) -> Sequence[tuple[str, ...]]:
        return [("momentum", "velocity")]

    def _momentum(self, step: Any, scalar: Scalar) -> Any:
        return scalar(self.beta_1) * (1 - scalar(0.5) * scalar(0.96) ** step)

    def _before_update(self, step: Any) -> None:
        product = self._u_product._read()._array
        new = product * self._momentum(step.astype(product.dtype), product.dtype.type)
        self._u_product._put(xp(new).asarray(new))

    def _constants(self, rate: Any, step: Any, scalar: Scalar) -> Sequence[Any]:
        now, later = self._momentum(step, scalar), self._momentum(step + 1, scalar)
        product = self._u_product._read()._array.astype(rate.dtype)[()]
        of_mean = later / (1 - product * later)
        of_gradient = (1 - now) / (1 - product)
        left = 1 - scalar(self.beta_2) ** step
        new = 1 - scalar(self.beta_1), 1 - scalar(self.beta_2)
        return rate, of_mean, of_gradient, left, *new, scalar(self.epsilon)

    def _rule(self, value: Any, gradient: Any, state: State, constants: Any) -> tuple[Any, State]:
        rate, of_mean, of_gradient, left, new_1, new_2, epsilon = constants
        mean, square = state
        mean += (gradient - mean) * new_1
        square += (gradient * gradient - square) * new_2
        ahead = mean * of_mean + gradient * of_gradient
        value -= ahead * rate / (xp(square).sqrt(square / left) + epsilon)
        return value, [mean, square]


class Ftrl(Optimizer):
    """Follow the regularized leader: for large, sparse models; strong L1 regularization makes weights exactly 0.

    Args:
        learning_rate: the step size: a number, a variable, a schedule, or a function without arguments.
        learning_rate_power: how fast the learning rate falls with the sum of squared gradients; at most 0.
        initial_accumulator_value: first value of that sum.
        l1_regularization_strength: weight of the sum of absolute values in the loss.
        l2_regularization_strength: weight of the sum of squares in the loss.
        l2_shrinkage_regularization_strength: the same, but counted with the gradient, and not with the weights.
        beta: a number added to `l2_regularization_strength`, as `beta / (2 * learning_rate)`.
        options: the arguments of `Optimizer`, such as `clipnorm` and `weight_decay`.

    Raises:
        ValueError: if `learning_rate_power` is positive, or one of the four numbers after it negative.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.Ftrl(0.5, l1_regularization_strength=9.0).apply_gradients([(tf.constant(1.0), v)])
    >>> float(v)
    0.0
    """

    _settings = (
        "learning_rate_power",
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
        "l2_shrinkage_regularization_strength",
        "beta",
    )

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        if number("Ftrl", "learning_rate_power", learning_rate_power) > 0:
            raise ValueError(f"learning_rate_power must not be positive, it is {learning_rate_power}")
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta
        for name in self._settings[1:5]:
            if number("Ftrl", name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must not be negative, it is {getattr(self, name)}")

    def _families(self) -> Sequence[tuple[str, ...]]:
        return [("accumulator", "linear")]

    def _initial(self, name: str) -> float:
        return self.initial_accumulator_value if name == "accumulator" else 0.0

    def _constants(self, rate: Any, step: Any, scalar: Scalar) -> Sequence[Any]:
        twice_l2 = 2 * scalar(self.l2_regularization_strength) + scalar(self.beta) / rate
        shrinkage = scalar(2 * self.l2_shrinkage_regularization_strength)
        return (
            rate,
            scalar(-self.learning_rate_power),
            scalar(self.l1_regularization_strength),
            twice_l2,
            shrinkage,
        )

    def _rule(self, value: Any, gradient: Any, state: State, constants: Any) -> tuple[Any, State]:
        rate, power, l1, twice_l2, shrinkage = constants
        squares, linear = state
        before = squares**power
        squares += gradient * gradient
        after = squares**power
        linear += gradient + value * shrinkage - (after - before) / rate * value
        value = (xp(linear).clip(linear, -l1, l1) - linear) / (after / rate + twice_l2)
        return value, [squares, linear]


class Lion(Optimizer):
    """Steps by the sign of the gradients' mean: all of the same length.

    Args:
        learning_rate: the step size: a number, a variable, a schedule, or a function without arguments.
        beta_1: how much the mean counts in a step, in ]0, 1]; the rest is the gradient.
        beta_2: how much of the mean stays at each step.
        options: the arguments of `Optimizer`, such as `clipnorm` and `weight_decay`.

    Raises:
        ValueError: if `beta_1` is not in ]0, 1].

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.Lion(learning_rate=0.5).apply_gradients([(tf.constant(10.0), v)])
    >>> float(v)
    0.5
    """

    _settings = ("beta_1", "beta_2")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        if not 0 < number("Lion", "beta_1", beta_1) <= 1:
            raise ValueError(f"beta_1 must lie in ]0, 1], not {beta_1}")
        self.beta_1 = beta_1
        self.beta_2 = beta_2

    def _families(self) -> Sequence[tuple[str, ...]]:
        return [("momentum",)]

    def _constants(self, rate: Any, step: Any, scalar: Scalar) -> Sequence[Any]:
        beta_1, beta_2 = scalar(self.beta_1), scalar(self.beta_2)
        return rate, beta_1, 1 - beta_1, beta_2, 1 - beta_2

    def _rule(self, value: Any, gradient: Any, state: State, constants: Any) -> tuple[Any, State]:
        rate, old_1, new_1, old_2, new_2 = constants
        (mean,) = state
        value -= xp(mean).sign(mean * old_1 + gradient * new_1) * rate
        mean *= old_2
        mean += gradient * new_2
        return value, [mean]
