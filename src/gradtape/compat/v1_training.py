"""TensorFlow 1's optimizers, as its eager mode has them: the loss is a function, and `minimize` does one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gradtape as tf

from ..core.variable import Variable

Rule = Callable[..., tuple[Any, ...]]
GradientsAndVariables = Iterable[tuple[Any, Variable]]


class Optimizer:
    """An optimizer of TensorFlow 1. A subclass says which slots it has, and how a step changes a variable.

    Args:
        use_locking: accepted.
        name: of the optimizer.
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2
    _slots: Sequence[tuple[str, float]] = ()  # names, and the numbers they begin with
    _by_rows = True  # whether the rows of a table without a gradient stay as they are

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("an optimizer needs a name")
        self._name = name
        self._state: dict[Any, dict[str, Variable]] = {}
        self._order: list[Variable] = []
        self._learning_rate: Any = 0.0

    def get_name(self) -> str:
        """The name."""
        return self._name

    def minimize(
        self,
        loss: Callable[[], Any],
        global_step: Variable | None = None,
        var_list: Iterable[Variable] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> None:
        """Do one step.

        Args:
            loss: a function without arguments.
            global_step: a variable that counts the steps.
            var_list: the variables to change; by default all trainable ones that the function reads.
            grad_loss: the gradient of the loss; by default 1.
            gate_gradients, aggregation_method, colocate_gradients_with_ops: accepted.

        Raises:
            ValueError: if no variable has a gradient.

        >>> v = tf.Variable(1.0)
        >>> GradientDescentOptimizer(0.1).minimize(lambda: v * v)
        >>> round(float(v), 3)
        0.8
        """
        found = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        if all(gradient is None for gradient, _ in found):
            raise ValueError(f"{self._name}: the loss depends on none of {[v.name for _, v in found]}")
        self.apply_gradients(found, global_step)

    def compute_gradients(
        self,
        loss: Callable[[], Any],
        var_list: Iterable[Variable] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Variable]]:
        """Pairs of gradients and variables; the arguments are those of `minimize`.

        Raises:
            RuntimeError: if `loss` is no function.
        """
        if not callable(loss):
            raise RuntimeError(
                f"{self._name}: loss must be a function without arguments, such as lambda: f(x): there is no graph "
                "from which the gradient of a tensor could be taken"
            )
        with tf.GradientTape() as tape:
            if var_list is not None:
                variables = list(var_list)
                tape.watch(variables)
            value = loss()
        if var_list is None:
            variables = list(tape.watched_variables())
        gradients = tape.gradient(value, variables, grad_loss)
        return list(zip(gradients, variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: GradientsAndVariables,
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> None:
        """Change variables by gradients; pairs without a gradient are left out.

        Raises:
            ValueError: if there is no gradient at all.
        """
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise ValueError(f"{self._name}: there is no gradient for any variable")
        rate = tf.cast(_number(self._learning_rate), "float32")
        for gradient, variable in pairs:
            self._apply(gradient, variable, tf.cast(rate, variable.dtype))
        self._finish([v for _, v in pairs])
        if global_step is not None:
            global_step.assign_add(tf.ones([], global_step.dtype))

    def _apply(self, gradient: Any, variable: Variable, rate: Any) -> None:
        slots = self._slots_of(variable)
        if isinstance(gradient, tf.IndexedSlices) and self._by_rows:
            rows, numbers = tf.unique(gradient.indices)
            sums = tf.math.unsorted_segment_sum(gradient.values, numbers, tf.size(rows))
            values = [tf.gather(each, rows) for each in (variable, *slots.values())]
            for target, value in zip(
                (variable, *slots.values()), self._rule(sums, rate, *values), strict=True
            ):
                target.scatter_update(tf.IndexedSlices(value, rows))
            return
        made = self._rule(tf.convert_to_tensor(gradient), rate, variable, *slots.values())
        for target, value in zip((variable, *slots.values()), made, strict=True):
            target.assign(value)

    def _rule(self, gradient: Any, rate: Any, variable: Any, *slots: Any) -> tuple[Any, ...]:
        """The new values of the variable and its slots."""
        raise NotImplementedError

    def _finish(self, variables: list[Variable]) -> None:
        """Change what all variables have in common, after a step."""

    def _slots_of(self, variable: Variable) -> dict[str, Variable]:
        key = variable.ref()
        if key not in self._state:
            with tf.init_scope():
                self._state[key] = {
                    name: tf.Variable(
                        tf.fill(variable.shape, tf.cast(start, variable.dtype)),
                        trainable=False,
                        name=f"{variable.name.partition(':')[0]}/{self._name}",
                    )
                    for name, start in self._slots
                }
            self._order += self._state[key].values()
        return self._state[key]

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """A variable that the optimizer keeps for another, such as its momentum; None if there is none."""
        return self._state.get(var.ref(), {}).get(name)

    def get_slot_names(self) -> list[str]:
        """The names of the slots, in alphabetical order."""
        return sorted(name for name, _ in self._slots)

    def variables(self) -> list[Variable]:
        """The variables that the optimizer keeps."""
        return list(self._order)


def _number(value: Any) -> Any:
    return value() if callable(value) else value


def _numbers(gradient: Any, *values: Any) -> list[Any]:
    """Hyperparameters in the dtype of a gradient, in which all is computed."""
    return [tf.cast(_number(value), gradient.dtype) for value in values]


class GradientDescentOptimizer(Optimizer):
    """v -= learning_rate * gradient.

    Args:
        learning_rate: a number, a tensor, or a function that gives one.
        use_locking: accepted.
        name: of the optimizer.
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _rule(self, gradient: Any, rate: Any, variable: Any, *slots: Any) -> tuple[Any, ...]:
        return (variable - rate * gradient,)


class MomentumOptimizer(Optimizer):
    """a = momentum * a + gradient; v -= learning_rate * a.

    Args:
        learning_rate, momentum: numbers, tensors, or functions that give one.
        use_locking: accepted.
        name: of the optimizer.
        use_nesterov: look ahead: v -= learning_rate * (gradient + momentum * a).
    """

    _slots = (("momentum", 0.0),)

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._nesterov = learning_rate, momentum, use_nesterov

    def _rule(self, gradient: Any, rate: Any, variable: Any, *slots: Any) -> tuple[Any, ...]:
        (momentum,) = _numbers(gradient, self._momentum)
        sums = momentum * slots[0] + gradient
        return variable - rate * (gradient + momentum * sums if self._nesterov else sums), sums


class AdagradOptimizer(Optimizer):
    """a += gradient ** 2; v -= learning_rate * gradient / sqrt(a).

    Args:
        learning_rate: a number, a tensor, or a function that gives one.
        initial_accumulator_value: a at first.
        use_locking: accepted.
        name: of the optimizer.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise ValueError(f"initial_accumulator_value must be above 0, not {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._slots = (("accumulator", initial_accumulator_value),)

    def _rule(self, gradient: Any, rate: Any, variable: Any, *slots: Any) -> tuple[Any, ...]:
        sums = slots[0] + gradient * gradient
        return variable - rate * gradient / tf.sqrt(sums), sums


class AdadeltaOptimizer(Optimizer):
    """Steps by the ratio of the sizes of earlier steps and gradients.

    Args:
        learning_rate: a number, a tensor, or a function that gives one.
        rho: how much of the averages is kept.
        epsilon: added to both averages.
        use_locking: accepted.
        name: of the optimizer.
    """

    _slots = (("accum", 0.0), ("accum_update", 0.0))

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _rule(self, gradient: Any, rate: Any, variable: Any, *slots: Any) -> tuple[Any, ...]:
        rho, epsilon = _numbers(gradient, self._rho, self._epsilon)
        sizes = slots[0] * rho + (1 - rho) * gradient * gradient
        update = tf.sqrt(slots[1] + epsilon) * tf.math.rsqrt(sizes + epsilon) * gradient
        return variable - rate * update, sizes, slots[1] * rho + (1 - rho) * update * update


class RMSPropOptimizer(Optimizer):
    """Steps by the gradient over the root of the average of its squares.

    Args:
        learning_rate: a number, a tensor, or a function that gives one.
        decay: how much of the average is kept.
        momentum: how much of the step before is kept.
        epsilon: added to the average.
        use_locking: accepted.
        centered: subtract the square of the average gradient.
        name: of the optimizer.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._decay = learning_rate, decay
        self._momentum, self._epsilon, self._centered = momentum, epsilon, centered
        self._slots = (("rms", 1.0), ("momentum", 0.0), *([("mg", 0.0)] if centered else []))

    def _rule(self, gradient: Any, rate: Any, variable: Any, *slots: Any) -> tuple[Any, ...]:
        decay, momentum, epsilon = _numbers(gradient, self._decay, self._momentum, self._epsilon)
        squares = slots[0] * decay + (1 - decay) * gradient * gradient
        means = [mean * decay + (1 - decay) * gradient for mean in slots[2:]]
        size = squares - means[0] * means[0] if means else squares
        step = momentum * slots[1] + rate * gradient * tf.math.rsqrt(size + epsilon)
        return (variable - step, squares, step, *means)


class AdamOptimizer(Optimizer):
    """Steps by the average gradient over the root of the average of its squares, both corrected for their start.

    Args:
        learning_rate: a number, a tensor, or a function that gives one.
        beta1, beta2: how much of the two averages is kept.
        epsilon: added to the root.
        use_locking: accepted.
        name: of the optimizer.
    """

    _slots = (("m", 0.0), ("v", 0.0))
    _by_rows = False

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon
        self._powers: list[Variable] = []

    def _rule(self, gradient: Any, rate: Any, variable: Any, *slots: Any) -> tuple[Any, ...]:
        beta1, beta2, epsilon = _numbers(gradient, self._beta1, self._beta2, self._epsilon)
        power1, power2 = _numbers(gradient, *self._get_powers())
        mean = slots[0] * beta1 + (1 - beta1) * gradient
        squares = slots[1] * beta2 + (1 - beta2) * gradient * gradient
        corrected = rate * tf.sqrt(1 - power2) / (1 - power1)
        return variable - corrected * mean / (tf.sqrt(squares) + epsilon), mean, squares

    def _get_powers(self) -> list[Variable]:
        if not self._powers:
            with tf.init_scope():
                betas = (("beta1_power", self._beta1), ("beta2_power", self._beta2))
                self._powers = [
                    tf.Variable(tf.cast(_number(beta), "float32"), trainable=False, name=name)
                    for name, beta in betas
                ]
            self._order = [*self._powers, *self._order]
        return self._powers

    def _finish(self, variables: list[Variable]) -> None:
        for power, beta in zip(self._get_powers(), (self._beta1, self._beta2), strict=True):
            power.assign(power * _number(beta))


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader, with weights that become exactly 0.

    Args:
        learning_rate: a number, a tensor, or a function that gives one.
        learning_rate_power: 0 or below; 0 keeps the learning rate.
        initial_accumulator_value: the sums of squares at first.
        l1_regularization_strength, l2_regularization_strength: added to the loss, 0 or above.
        use_locking, accum_name, linear_name: accepted.
        name: of the optimizer.
        l2_shrinkage_regularization_strength: pulls towards 0 where there is a gradient.
        beta: added to the root of the sums.
    """

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        if learning_rate_power > 0:
            raise ValueError(f"learning_rate_power must be 0 or below, not {learning_rate_power}")
        super().__init__(use_locking, name)
        self._learning_rate, self._power = learning_rate, learning_rate_power
        self._l1, self._l2, self._shrinkage = (
            l1_regularization_strength,
            l2_regularization_strength,
            l2_shrinkage_regularization_strength,
        )
        self._beta = beta or 0.0
        self._slots = (("accum", initial_accumulator_value), ("linear", 0.0))

    def _rule(self, gradient: Any, rate: Any, variable: Any, *slots: Any) -> tuple[Any, ...]:
        sums, linear = slots
        weights = tf.convert_to_tensor(variable)
        new = sums + gradient * gradient
        shrunk = gradient + 2 * self._shrinkage * weights
        l2 = self._l2 + self._beta / (2 * rate)
        linear = linear + shrunk - (new**-self._power - sums**-self._power) / rate * weights
        quadratic = new**-self._power / rate + 2 * l2
        clipped = tf.clip_by_value(linear, -self._l1, self._l1)
        return (clipped - linear) / quadratic, new, linear


OPTIMIZERS: dict[str, Any] = {
    f"train.{cls.__name__}": cls
    for cls in (
        AdadeltaOptimizer,
        AdagradOptimizer,
        AdamOptimizer,
        FtrlOptimizer,
        GradientDescentOptimizer,
        MomentumOptimizer,
        Optimizer,
        RMSPropOptimizer,
    )
}
