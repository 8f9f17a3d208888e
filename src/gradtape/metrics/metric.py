"""Metrics: numbers that sum up many batches. `Metric`, and those that are sums and means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

from ..core import dtypes
from ..core.primitive import local
from ..core.replicas import VariableAggregation, VariableSynchronization
from ..core.scopes import snake_case
from ..core.tensor import Tensor
from ..core.types import DTypeLike, ShapeLike, TensorLike
from ..core.variable import Variable
from ..losses.per_sample import match_ranks
from ..ops.array.creation import zeros
from ..ops.array.movement import broadcast_to, cast
from ..ops.math.functions import divide_no_nan
from ..ops.math.reduction import reduce_mean, reduce_sum
from ..ops.random import initializers


class Metric:
    """Base class of the metrics. To write one of your own, make state with `add_weight`, and override `update_state`
    and `result`.

    Calling a metric updates its state and gives the result.

    Args:
        dtype: of the state and the result; float32 by default.
        name: a name; the default is made from the class's.

    >>> import gradtape as tf
    >>> class Largest(tf.metrics.Metric):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.largest = self.add_weight(name="largest")
    ...
    ...     def update_state(self, values):
    ...         self.largest.assign(tf.maximum(self.largest, tf.reduce_max(values)))
    ...
    ...     def result(self):
    ...         return self.largest.value()
    >>> largest = Largest()
    >>> float(largest([1.0, 3.0])), float(largest([2.0]))
    (3.0, 3.0)
    """

    _option_names: ClassVar[tuple[str, ...]] = ()  # a subclass's own arguments, for get_config

    def __init__(self, dtype: DTypeLike | None = None, name: str | None = None) -> None:
        self.name = name or snake_case(type(self).__name__)
        self.dtype = "float32" if dtype is None else dtypes.as_dtype(dtype).name

    def update_state(self, *args: Any, **kwargs: Any) -> None:
        """Take in a batch."""
        raise NotImplementedError(f"{type(self).__name__} must define update_state")

    def result(self) -> Any:
        """The metric of all batches so far."""
        raise NotImplementedError(f"{type(self).__name__} must define result")

    def reset_state(self) -> None:
        """Forget all batches."""
        for variable in self.variables:
            variable.assign(zeros(variable.shape, variable.dtype))

    def reset_states(self) -> None:
        """Forget all batches, as `reset_state` does."""
        self.reset_state()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.update_state(*args, **kwargs)
        return self.result()

    def add_variable(
        self,
        shape: ShapeLike,
        initializer: str | Callable[..., Any] | None = "zeros",
        dtype: DTypeLike | None = None,
        aggregation: Any = None,
        name: str | None = None,
    ) -> Variable:
        """Create a variable for the metric's state.

        Args:
            initializer: name or function of the first value, as `initializers.get` takes it.
            dtype: the metric's by default.
            aggregation: how the values of several replicas become one: by default they are added up.
        """
        first = initializers.get("zeros" if initializer is None else initializer)
        value = first(shape, dtype=self.dtype if dtype is None else dtype)
        return Variable(
            value,
            trainable=False,
            name=name,
            synchronization=VariableSynchronization.ON_READ,
            aggregation=VariableAggregation.SUM if aggregation is None else aggregation,
        )

    def add_weight(
        self,
        shape: ShapeLike = (),
        initializer: str | Callable[..., Any] | None = None,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> Variable:
        """Create a variable for the metric's state, a scalar 0 by default; arguments as of `add_variable`.

        Args:
            initializer: its first value: a function of shape and dtype, or the name of one.
        """
        return self.add_variable(shape, initializer, dtype, name=name)

    @property
    def variables(self) -> list[Variable]:
        """The state: the variables among the metric's attributes, and those of metrics among them."""
        found: list[Variable] = []
        for value in vars(self).values():
            if isinstance(value, Variable):
                found.append(value)
            elif isinstance(value, Metric):
                found += value.variables
        return found

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor, as `from_config` takes them."""
        own = {name: getattr(self, name) for name in self._option_names}
        return {"name": self.name, "dtype": self.dtype, **own}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The metric that the `config` of a `get_config` describes, with no batches yet."""
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


def accumulate(variable: Variable, value: Tensor) -> None:
    """Add a value to the state of a metric; outside of replicas to that of all together."""
    if hasattr(type(variable), "own_values") and local.here.replica is None:
        variable.assign(variable + value)
    else:
        variable.assign_add(value)


class Sum(Metric):
    """The sum of all values, each times its weight where weights are given.

    >>> total = Sum()
    >>> float(total([1.0, 2.0])), float(total([3.0], sample_weight=[2.0]))
    (3.0, 9.0)
    """

    def __init__(self, name: str | None = "sum", dtype: DTypeLike | None = None) -> None:
        super().__init__(dtype, name)
        self.total = self.add_weight(name="total")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> None:
        """Add a batch of values."""
        values, _ = _by_sample(values, sample_weight, reduce_sum, self.dtype)
        accumulate(self.total, reduce_sum(values))

    def result(self) -> Tensor:
        """The sum so far."""
        return self.total.value()


class Mean(Metric):
    """The mean of all values, weighted where weights are given.

    >>> mean = Mean()
    >>> float(mean([1.0, 3.0])), float(mean([6.0], sample_weight=[2.0]))
    (2.0, 4.0)
    """

    def __init__(self, name: str | None = "mean", dtype: DTypeLike | None = None) -> None:
        super().__init__(dtype, name)
        self.total = self.add_weight(name="total")
        self.count = self.add_weight(name="count")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> None:
        """Add a batch of values."""
        values, weight = _by_sample(values, sample_weight, reduce_mean, self.dtype)
        accumulate(self.total, reduce_sum(values))
        size = values._array.shape[0] if values.ndim else 1
        accumulate(self.count, cast(size, self.dtype) if weight is None else reduce_sum(weight))

    def result(self) -> Tensor:
        """The mean so far; 0 if there was nothing."""
        return divide_no_nan(self.total, self.count)


def _by_sample(
    values: TensorLike, sample_weight: TensorLike | None, reduce: Callable[..., Tensor], dtype: DTypeLike
) -> tuple[Tensor, Tensor | None]:
    """One value for each sample, times its weight, and the weights; several of one sample are reduced to one."""
    values, weight = cast(values, dtype), None
    if sample_weight is not None:
        values, weight = match_ranks(values, cast(sample_weight, dtype))
        axes = weight.ndim
        if values.ndim > axes:
            values = reduce(values, list(range(axes, values.ndim)))
        weight = broadcast_to(weight, values.shape)
        values = values * weight
        if axes > 1:
            weight = reduce(weight, list(range(1, axes)))
    return (reduce(values, list(range(1, values.ndim))) if values.ndim > 1 else values), weight


class MeanMetricWrapper(Mean):
    """The mean of a function of truth and prediction, such as those in `losses`.

    Args:
        fn: the function, called as `fn(y_true, y_pred, **kwargs)`.
        name, dtype: those of `Metric`.

    >>> import gradtape as tf
    >>> float(MeanMetricWrapper(tf.losses.mean_squared_error)([[0.0]], [[2.0]]))
    4.0
    """

    def __init__(
        self,
        fn: Callable[..., TensorLike],
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name or snake_case(type(self).__name__), dtype)
        self._fn = fn
        self._fn_kwargs = kwargs

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Add a batch of truths and predictions."""
        super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor, as `from_config` takes them."""
        return {**super().get_config(), "fn": self._fn, **self._fn_kwargs}


class FunctionMean(MeanMetricWrapper):
    """A `MeanMetricWrapper` of the function that its class names, with the options in `_fn_kwargs`."""

    _function: ClassVar[Callable[..., Tensor]]
    _name: ClassVar[str | None] = None

    def __init__(self, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(type(self)._function, name or self._name, dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor, as `from_config` takes them."""
        return {"name": self.name, "dtype": self.dtype, **self._fn_kwargs}
