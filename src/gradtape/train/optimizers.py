"""Optimizers: they take gradients and change variables.

An update computes on arrays, not tensors: no tape hears it, and nothing is checked twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import IndexOutOfBoundsError, InvalidArgumentError
from ..indexed_slices import IndexedSlices
from ..tensor import convert
from ..variable import Variable


class Optimizer:
    """What all optimizers share: the learning rate, the count of steps, and how gradients meet variables."""

    def __init__(self, learning_rate: Any, name: str) -> None:
        self.name = name
        self.learning_rate = learning_rate
        self._slots: dict[int, Any] = {}  # state by the variable's key
        self.iterations = Variable(np.int64(0), trainable=False, name="iteration")

    @property
    def learning_rate(self) -> Any:
        """The step size; assign a number, or call `.assign` on it."""
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        if callable(value) and not isinstance(value, Variable):
            raise TypeError("learning_rate must be a number here, not a function")
        if isinstance(value, Variable):
            self._learning_rate = value
        elif hasattr(self, "_learning_rate"):
            self._learning_rate.assign(value)
        else:
            self._learning_rate = Variable(float(value), trainable=False, name="learning_rate")

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], name: str | None = None
    ) -> Variable:
        """Update each variable by its gradient. Pairs whose gradient is None are left out, with a warning.

        Returns:
            The count of steps.

        Raises:
            ValueError: if there is nothing to update, or a gradient has not its variable's shape. Nothing has changed.
        """
        pairs = [self._checked(gradient, variable) for gradient, variable in grads_and_vars]
        missing = [variable.name for gradient, variable in pairs if gradient is None]
        pairs = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        if not pairs:
            reason = (
                f": those of {', '.join(missing)} are None. Did the loss use them, inside the tape's block?"
            )
            raise ValueError("no gradients were given for any variable" + (reason if missing else ""))
        if missing:
            warnings.warn(
                f"the gradients of {', '.join(missing)} are None, so they were not updated. If the loss should depend "
                "on them, see that it is computed from them inside the tape's block",
                stacklevel=2,
            )
        rate = self._learning_rate._array
        for gradient, variable in pairs:
            new = self._updated(gradient, variable, rate.astype(variable._array.dtype))
            variable._put(new)
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable))
        self.iterations._put(self.iterations._array + 1)
        return self.iterations

    def _checked(self, gradient: Any, variable: Any) -> tuple[Any, Variable]:
        if not isinstance(variable, Variable):
            raise TypeError(
                f"apply_gradients takes pairs (gradient, variable); the second of a pair is {variable!r} of type "
                f"{type(variable).__name__}. Write zip(gradients, variables)"
            )
        if gradient is None:
            return gradient, variable
        if isinstance(gradient, IndexedSlices):
            return self._checked_slices(gradient, variable), variable
        own = variable._array
        array = convert(gradient, None, own.dtype)._array
        if array.shape != own.shape:
            raise InvalidArgumentError(
                f"the gradient of {variable.name} has shape {list(array.shape)}, the variable {list(own.shape)}"
            )
        return array if array.dtype == own.dtype else array.astype(own.dtype), variable

    def _checked_slices(self, slices: IndexedSlices, variable: Variable) -> IndexedSlices:
        own, values, at = variable._array, slices.values._array, slices.indices._array
        if values.shape != at.shape + own.shape[1:]:
            raise InvalidArgumentError(
                f"the gradient of {variable.name} has rows of shape {list(values.shape)} for indices of shape "
                f"{list(at.shape)}, the variable has shape {list(own.shape)}"
            )
        if at.size and (at.min() < 0 or at.max() >= own.shape[0]):
            raise IndexOutOfBoundsError(
                f"the gradient of {variable.name} has rows out of bounds: the variable has {own.shape[0]} rows"
            )
        return IndexedSlices(values.astype(own.dtype, copy=False), at, own.shape)

    def _updated(self, gradient: Any, variable: Variable, rate: Any) -> Any:
        raise TypeError(f"{type(self).__name__} does not say how to update: an optimizer overrides _updated")

    def minimize(self, loss: Any, var_list: Any, tape: Any = None) -> Variable:
        """One step: compute `loss`, a function (or a tensor, with the `tape` that recorded it); apply its gradients."""
        from ..tape import GradientTape

        if callable(loss):
            with GradientTape() as tape:
                value = loss()
        elif tape is None:
            raise ValueError("minimize: loss is a tensor, so the tape that recorded it must be given")
        else:
            value = loss
        variables = var_list() if callable(var_list) else list(var_list)
        return self.apply_gradients(zip(tape.gradient(value, variables), variables, strict=True))


class SGD(Optimizer):
    """Gradient descent, with momentum if asked for.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.SGD(learning_rate=0.5).apply_gradients([(tf.constant(1.0), v)])
    >>> float(v)
    0.5
    """

    def __init__(
        self, learning_rate: Any = 0.01, momentum: float = 0.0, nesterov: bool = False, name: str = "SGD"
    ) -> None:
        super().__init__(learning_rate, name)
        if not 0 <= momentum <= 1:
            raise ValueError(f"momentum must lie in [0, 1], not {momentum}")
        self.momentum = momentum
        self.nesterov = nesterov

    def _updated(self, gradient: Any, variable: Variable, rate: Any) -> Any:
        value = variable._array
        if isinstance(gradient, IndexedSlices):
            if not self.momentum:
                new = value.copy()
                np.subtract.at(new, gradient._indices, rate * gradient._values)
                return new
            gradient = gradient.dense()
        step = gradient * rate
        if not self.momentum:
            return np.subtract(value, step, out=step) if step.ndim else value - step
        momentum = value.dtype.type(self.momentum)
        before = self._slots.get(variable._key)
        velocity = -step if before is None else before * momentum - step
        self._slots[variable._key] = velocity
        return value + (velocity * momentum - step if self.nesterov else velocity)
