"""ExponentialMovingAverage: averages of variables over the steps of training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.errors import InvalidArgumentError
from ..core.scopes import init_scope
from ..core.variable import Variable


class ExponentialMovingAverage:
    """Averages of variables, in which each step counts less than the one after.

    Args:
        decay: how much of the average is kept in a step, such as 0.999.
        num_updates: the number of steps so far, a number or a variable: the decay is at most (1 + n) / (10 + n).
        zero_debias: accepted; it has no effect on averages of variables.
        name: the end of the names of the averages.

    >>> v = Variable(1.0)
    >>> average = ExponentialMovingAverage(0.75)
    >>> average.apply([v])
    >>> v.assign(5.0)
    <tf.Variable 'Variable:0' shape=() dtype=float32, numpy=5.0>
    >>> average.apply([v])
    >>> float(average.average(v))
    2.0
    """

    def __init__(
        self,
        decay: float,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay, self._updates, self._name = decay, num_updates, name
        self._averages: dict[Any, Variable] = {}

    @property
    def name(self) -> str:
        """The end of the names of the averages."""
        return self._name

    def apply(self, var_list: Iterable[Variable] | None = None) -> None:
        """Update the averages of variables; those that are new begin with the values that the variables have.

        Args:
            var_list: the variables.

        Raises:
            InvalidArgumentError: if there is no list, or something in it is no variable of floating numbers.
        """
        if var_list is None:
            raise InvalidArgumentError("ExponentialMovingAverage.apply: give the list of variables")
        for variable in var_list:
            if not isinstance(variable, Variable) or not variable.dtype.is_floating:
                raise InvalidArgumentError(
                    f"ExponentialMovingAverage.apply takes variables of floating numbers, not {variable!r}"
                )
            if variable.ref() not in self._averages:
                with init_scope():
                    self._averages[variable.ref()] = Variable(
                        variable.read_value(), trainable=False, name=self.average_name(variable)
                    )
            average = self._averages[variable.ref()]
            average.assign_sub((average - variable) * (1 - self._current_decay(variable)))

    def _current_decay(self, variable: Variable) -> Any:
        if self._updates is None:
            return self._decay
        from ..ops.array.movement import cast
        from ..ops.math.functions import minimum

        count = cast(self._updates, variable.dtype)
        return minimum(cast(self._decay, variable.dtype), (1 + count) / (10 + count))

    def average(self, var: Variable) -> Variable | None:
        """The variable that has the average of another, `var`; None before `apply` was given that."""
        return self._averages.get(var.ref())

    def average_name(self, var: Variable) -> str:
        """The name of the average of the variable `var`."""
        return f"{var.name.partition(':')[0]}/{self._name}"

    def variables_to_restore(
        self, moving_avg_variables: Iterable[Variable] | None = None
    ) -> dict[str, Variable]:
        """The variables by the names of their averages: what a checkpoint of averages is restored into.

        Args:
            moving_avg_variables: the variables; by default those given to `apply`.
        """
        given = (
            [ref.deref() for ref in self._averages] if moving_avg_variables is None else moving_avg_variables
        )
        return {self.average_name(variable): variable for variable in given}
