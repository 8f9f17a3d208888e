"""Optimizer: applies gradients to variables. The rule of each kind of optimizer is in `rules`.

An update computes on arrays, not tensors: no tape records it, and nothing is validated twice. On traced arrays the same
rules run, with a `where` for an `if` on a value.
"""

from __future__ import annotations

import contextlib
import re
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter, is_
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypedDict

import numpy as np

from ...core.indexed_slices import IndexedSlices
from ...core.primitive import leave_hot, local, no_recording
from ...core.scopes import snake_case
from ...core.stand_in import StandIn, original
from ...core.tensor import Tensor, array_of, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, Gradient, ShapeLike, TensorLike
from ...core.variable import Variable
from ...engine.arrays import is_traced, xp
from ...ops.scalars import integer, number
from .. import schedules
from . import gradients as g
from .slots import MANY, SMALL, Advance, Pack, Slot, step_traced, write

if TYPE_CHECKING:
    from ...core.tape import GradientTape

_FLOAT32 = np.dtype(np.float32)


# A step size, a schedule of step sizes, or a function without arguments that returns one.
LearningRate: TypeAlias = (
    float | np.number | Tensor | Variable | schedules.LearningRateSchedule | Callable[[], TensorLike]
)
Initializer: TypeAlias = str | Callable[..., Tensor] | None  # as `initializers.get` takes it


class CommonOptions(TypedDict, total=False):
    """Arguments of every optimizer, besides its own; `Optimizer` documents them."""

    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    name: str | None


class Options(CommonOptions, total=False):
    """The same with weight decay, which AdamW has as an argument of its own."""

    weight_decay: float | None


_OWN_RULES = f"{__package__}.rules"
_PLAIN = frozenset((bool, int, float, str, NoneType))
_OPTIONS = ("weight_decay", *CommonOptions.__annotations__)


class _Trained:
    """The variables that an optimizer trains, and how it updates them. No part of its state, nor of checkpoints."""

    __slots__ = ("excluded", "excluded_names", "index", "last", "plans", "variables")

    def __init__(
        self, variables: Iterable[Variable] = (), excluded: Any = (), excluded_names: Any = None
    ) -> None:
        self.variables = list(variables)
        self.index = {v._key: i for i, v in enumerate(self.variables)}
        self.plans: dict[tuple[int, ...], _Plan] = {}
        # Of the last call of a `_pure_step`: its groups of variables, its results, and the arrays they are parts of.
        self.last: tuple[Any, list[Any], list[Any]] = None, [], []
        self.excluded = list(excluded)  # from weight decay
        self.excluded_names = excluded_names

    def __reduce__(self) -> tuple[Any, ...]:
        return _Trained, (self.variables, self.excluded, self.excluded_names)

    def decays(self, variable: Variable) -> bool:
        """Return whether weight decay applies to the variable."""
        if any(variable is other for other in self.excluded):
            return False
        return self.excluded_names is None or not self.excluded_names.search(variable.name)


# For one choice of variables: positions that are updated one by one, and those that are packed, with their dtype and
# whether weight decay applies.
_Plan = list[tuple[list[int], Any, bool, Pack | None]]


class Optimizer:
    """Base class of all optimizers.

    To write one of your own, create state in `build` (call `super().build` first, and `add_variable_from_reference`),
    and override `update_step(gradient, variable, learning_rate)`, which changes one variable.

    Args:
        learning_rate: the step size: a number, a variable, a schedule from `optimizers.schedules`, or a function
            without arguments.
        weight_decay: before each update, variables shrink by this share of the learning rate.
        clipnorm: shorten each gradient that is longer than this.
        clipvalue: clip each element of the gradients to [-clipvalue, clipvalue].
        global_clipnorm: shorten all gradients together if together they are longer than this.
        use_ema: keep a moving average of the variables, which `finalize_variable_values` puts in their place.
        ema_momentum: how much of the old average stays at each step.
        ema_overwrite_frequency: put the averages in the variables' place every so many steps.
        loss_scale_factor: `scale_loss` multiplies the loss by it; gradients are divided by it.
        gradient_accumulation_steps: update only every so many calls, by the mean of their gradients.
        name: a name for the optimizer; the default is made from the class's.
        unknown: refused; `decay` with a warning.

    Raises:
        ValueError: for an argument that there is not, for two ways of clipping, or for a number out of its range.

    >>> import gradtape as tf
    >>> class Sign(tf.optimizers.Optimizer):
    ...     def update_step(self, gradient, variable, learning_rate):
    ...         variable.assign_sub(learning_rate * tf.sign(gradient))
    >>> v = tf.Variable([1.0, 2.0])
    >>> _ = Sign(0.5).apply_gradients([(tf.constant([-9.0, 9.0]), v)])
    >>> v.numpy()
    array([1.5, 1.5], dtype=float32)
    """

    _settings: ClassVar[tuple[str, ...]] = ()  # a subclass's own arguments, for get_config
    _read_options: ClassVar[Any] = attrgetter(*_OPTIONS)  # gives all options, in one call
    _noted: ClassVar[frozenset[str]] = frozenset()  # what passes of hot tapes note: see `_pure_settings`
    _known_options: str | None = None  # as `_pure_options` gives them, since one was set last

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._read_options = attrgetter(*_OPTIONS, *cls._settings)
        cls._noted = frozenset([*_OPTIONS, *cls._settings, "_learning_rate"])

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._noted:
            super().__setattr__(name, value)
            return
        before = getattr(self, name, value)
        if before is not value:
            leave_hot("a setting of an optimizer changes")  # a step that is not computed yet has the old one
        self._known_options = None
        super().__setattr__(name, value)
        if before is not value and name != "_learning_rate" and self._lacks_state():
            super().__setattr__(name, before)
            raise ValueError(
                f"{name} cannot be set to {value} any more: it needs state that {self.name} was built without. "
                f"Make a new optimizer with {name}={value}"
            )

    def __init__(
        self,
        learning_rate: LearningRate,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **unknown: Any,
    ) -> None:
        _refuse(unknown, type(self).__name__)
        _only_one(clipnorm=clipnorm, clipvalue=clipvalue, global_clipnorm=global_clipnorm)
        _none_or_from(2, "gradient_accumulation_steps", gradient_accumulation_steps)
        _none_or_from(1, "ema_overwrite_frequency", ema_overwrite_frequency)
        if use_ema and not 0 <= number(type(self).__name__, "ema_momentum", ema_momentum) <= 1:
            raise ValueError(f"ema_momentum must lie in [0, 1], not {ema_momentum}")
        self.name = name or snake_case(type(self).__name__)
        self.weight_decay = weight_decay
        self.clipnorm = clipnorm
        self.clipvalue = clipvalue
        self.global_clipnorm = global_clipnorm
        self.use_ema = use_ema
        self.ema_momentum = ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.loss_scale_factor = loss_scale_factor
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.built = False
        self._trained = _Trained()
        self._iterations = Variable(np.int64(0), trainable=False, name="iteration")
        self._own: list[Variable] = []  # created by a subclass's build
        self._slots: dict[str, list[Any]] = {}  # state by its name, in the order of the variables
        self._learning_rate: Any = None
        self.learning_rate = learning_rate

    # -- settings --------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> Any:
        """The current step size. Assign a number, a variable or a schedule; or call `.assign` on it."""
        rate = self._learning_rate
        if isinstance(rate, Variable):
            return rate
        return rate(self._iterations) if isinstance(rate, schedules.LearningRateSchedule) else rate()

    @learning_rate.setter
    def learning_rate(self, value: LearningRate) -> None:
        if isinstance(value, Variable) or callable(value):
            self._learning_rate = value
        elif isinstance(self._learning_rate, Variable):
            self._learning_rate.assign(value)
        elif self._learning_rate is None:
            rate = number(type(self).__name__, "learning_rate", value)
            self._learning_rate = Variable(rate, trainable=False, name="learning_rate")
        else:
            raise TypeError(
                "the learning rate is a schedule, so a number cannot be assigned to it: assign another schedule, or "
                "make the optimizer with a number"
            )

    lr = learning_rate

    @property
    def iterations(self) -> Any:
        """The number of updates so far: a variable (a tensor where gradients are accumulated)."""
        if self.gradient_accumulation_steps:
            return wrap(self._iterations._read()._array // self.gradient_accumulation_steps)
        return self._iterations

    @property
    def variables(self) -> list[Variable]:
        """The optimizer's own variables: the count of steps, the learning rate, and the state for each variable."""
        found = [self._iterations]
        if isinstance(self._learning_rate, Variable):
            found.append(self._learning_rate)
        for names in (("average",), ("gradient_accumulator",), *self._families()):
            lists = [self._slots[name] for name in names if name in self._slots]
            found += [slot for row in zip(*lists) for slot in row]
        return found + self._own

    def scale_loss(self, loss: Tensor) -> Tensor:
        """The loss times `loss_scale_factor`, to be differentiated in its place."""
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Let weight decay leave some variables alone. Call it before the first update.

        Args:
            var_list: variables to leave alone.
            var_names: texts; a variable in whose name one of them is found is left alone as well.

        Raises:
            ValueError: after the first update.
        """
        if self.built:
            raise ValueError("exclude_from_weight_decay must be called before the first update")
        what = "exclude_from_weight_decay"
        excluded = [] if var_list is None else _variables(f"{what}: var_list", var_list)
        names = [] if var_names is None else _listed(f"{what}: var_names", var_names)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"{what}: var_names must be texts, not {names!r}")
        self._trained = _Trained((), excluded, re.compile("|".join(names)) if names else None)

    def get_config(self) -> dict[str, Any]:
        """The arguments of this optimizer, with the current learning rate."""
        rate = self._learning_rate
        if isinstance(rate, Variable):
            rate = float(rate)
        elif isinstance(rate, schedules.LearningRateSchedule):
            rate = schedules.serialize(rate)
        names = (*_OPTIONS, *self._settings)
        return {"learning_rate": rate, **{name: getattr(self, name) for name in names}}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Self:
        """Create the optimizer that `get_config` described, without its state.

        Args:
            config: what `get_config` returned.
            custom_objects: classes of your own schedules, by their names.
        """
        if not isinstance(config, dict):
            raise TypeError(f"{cls.__name__}.from_config takes what get_config gives, a dict, not {config!r}")
        rate = config.get("learning_rate")
        if isinstance(rate, dict):
            config = {**config, "learning_rate": schedules.deserialize(rate, custom_objects)}
        return cls(**config)

    def __repr__(self) -> str:
        rate = self._learning_rate
        shown = f"{float(rate):.7g}" if isinstance(rate, Variable) else repr(rate)
        own = "".join(f", {name}={getattr(self, name)!r}" for name in self._settings)
        return f"<{type(self).__name__} learning_rate={shown}{own}, {int(self._iterations)} steps>"

    # -- state --------------------------------------------------------------------------------------------------------

    def _families(self) -> Sequence[tuple[str, ...]]:
        """The names of the state that each variable has; those created side by side in one tuple."""
        return ()

    def _names(self) -> list[str]:
        return [name for family in self._families() for name in family]

    def _state_names(self) -> list[str]:
        """The names of the states that each variable has."""
        average = ["average"] if self.use_ema else []
        return (
            self._names() + average + (["gradient_accumulator"] if self.gradient_accumulation_steps else [])
        )

    def _lacks_state(self) -> bool:
        """Return whether variables were built without states that they should have."""
        if not self.__dict__.get("built"):
            return False
        count = len(self._trained.variables)
        return any(len(self._slots.get(name, ())) < count for name in self._state_names())

    def _initial(self, name: str) -> float:
        """Initial value of a state."""
        return 0.0

    def build(self, variables: Iterable[Variable]) -> None:
        """Create the state of the variables that have none yet. The first update does so by itself."""
        new = [v for v in _variables("build", variables) if v._key not in self._trained.index]
        if new and self.built:
            leave_hot("an optimizer is built for more variables")  # a step that is not computed yet has fewer
        _resolve(new)
        self._check_numbers()
        names = self._state_names()
        for variable in new:
            self._trained.index[variable._key] = len(self._trained.variables)
            self._trained.variables.append(variable)
            like, layout = array_of(variable._now), getattr(variable, "layout", None)
            for name in names:
                array = np.full(like.shape, self._initial(name), like.dtype)
                self._slots.setdefault(name, []).append(Slot(array, _slot_name(variable, name), layout))
        self.built = True

    def _check_numbers(self) -> None:
        for name in (*_OPTIONS, *self._settings):
            value = getattr(self, name)
            if name != "name" and not isinstance(value, (bool, Tensor, Variable, NoneType)):
                number(type(self).__name__, name, value)

    def add_variable(
        self,
        shape: ShapeLike,
        initializer: Initializer = "zeros",
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> Variable:
        """Create a variable of the optimizer's own, in `build`. `initializer` gives its first value."""
        from ...ops.random import initializers

        first = initializers.get("zeros" if initializer is None else initializer)
        value = first(shape, dtype="float32" if dtype is None else dtype)
        variable = Variable(value, trainable=False, name=name)
        self._own.append(variable)
        return variable

    def add_variable_from_reference(
        self, reference_variable: Variable, name: str | None = None, initializer: Initializer = "zeros"
    ) -> Variable:
        """Create a variable of the optimizer's own, in `build`, for another variable.

        Args:
            reference_variable: the variable whose shape and dtype it gets.
            name: follows the name of `reference_variable`.
            initializer: gives the first value.
        """
        (v,) = _variables("add_variable_from_reference", [reference_variable])
        return self.add_variable(v._array.shape, initializer, v.dtype, _slot_name(v, name or "var"))

    def add_optimizer_variables(
        self,
        trainable_variables: Iterable[Variable],
        name: str | Iterable[str],
        initializer: Initializer | Sequence[Initializer] = "zeros",
    ) -> Any:
        """Call `add_variable_from_reference` for many variables.

        Args:
            trainable_variables: the variables whose shapes and dtypes they get.
            name: one name, or several.
            initializer: one for all names, or a list with one for each.

        Returns:
            A list of variables; for several names, a tuple of lists.

        Raises:
            ValueError: if there are not as many initializers as names.
        """
        if isinstance(name, str):
            variables = _variables("add_optimizer_variables", trainable_variables)
            return [self.add_variable_from_reference(v, name, initializer) for v in variables]  # type: ignore[arg-type]
        names = _listed("add_optimizer_variables: name", name)
        each = initializer if isinstance(initializer, (list, tuple)) else [initializer] * len(names)
        if len(each) != len(names):
            raise ValueError(
                f"add_optimizer_variables: there are {len(names)} names and {len(each)} initializers"
            )
        variables = _variables("add_optimizer_variables", trainable_variables)
        return tuple(
            [self.add_variable_from_reference(v, name, first) for v in variables]
            for name, first in zip(names, each)
        )

    def _get_variable_index(self, variable: Variable) -> int:
        return self._trained.index[variable._key]

    def _slots_of(self, variable: Variable) -> list[Slot]:
        index = self._trained.index[variable._key]
        return [self._slots[name][index] for name in self._names()]

    # -- updates ------------------------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Iterable[Variable] | Callable[[], Iterable[Variable]],
        tape: GradientTape | None = None,
    ) -> Variable:
        """Compute the gradients of a loss and apply them.

        Args:
            loss: a function without arguments, or a tensor.
            var_list: the variables to update, or a function that returns them.
            tape: the tape that recorded `loss`, if that is a tensor.

        Returns:
            The count of steps.

        Raises:
            ValueError: if `loss` is a tensor and there is no tape; and as `apply_gradients` does.
        """
        return self.apply_gradients(self.compute_gradients(loss, var_list, tape))

    def compute_gradients(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Iterable[Variable] | Callable[[], Iterable[Variable]],
        tape: GradientTape | None = None,
    ) -> list[tuple[Gradient, Variable]]:
        """Pairs of gradient and variable, for `apply_gradients`; `loss`, `var_list` and `tape` are as in `minimize`."""
        from ...core.tape import GradientTape

        if callable(loss):
            with GradientTape() as tape:
                value: Any = loss()
        elif not isinstance(tape, GradientTape):
            raise ValueError("minimize: loss is a tensor, so the tape that recorded it must be given")
        else:
            value = loss
        variables = _variables("minimize: var_list", var_list() if callable(var_list) else var_list)
        return list(zip(tape.gradient(value, variables), variables))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Gradient, Variable]],
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
        experimental_aggregate_gradients: bool = True,
    ) -> Variable:
        """Update each variable by its gradient.

        Args:
            grads_and_vars: pairs of a gradient and its variable; one whose gradient is None is skipped, with a warning.
            skip_gradients_aggregation: whether the gradients are sums over all replicas already. By default a replica
                of a `tf.distribute.Strategy` adds those of all replicas up.
            experimental_aggregate_gradients: the opposite, by its older name.

        Returns:
            The count of steps.

        Raises:
            ValueError: if there is nothing to update, or a gradient does not have its variable's shape. Then no
                variable has changed.
        """
        pairs = _listed("apply_gradients", grads_and_vars)
        replica = local.here.replica
        if replica is None:
            self._apply(pairs)
        else:
            self._apply_in(
                replica, pairs, experimental_aggregate_gradients and not skip_gradients_aggregation
            )
        return self._iterations

    def _apply_in(self, replica: Any, pairs: list[tuple[Any, Any]], aggregate: bool) -> None:
        """Update the variables of all replicas, from inside one of them."""
        if self._is_left_to_pass(pairs, aggregate):
            return
        if aggregate and g.misfit(pairs) is None:
            summed = replica.summed([gradient for gradient, _ in pairs])
            pairs = [(gradient, variable) for gradient, (_, variable) in zip(summed, pairs)]
        replica.once(lambda: self._apply(pairs))

    def apply(self, grads: Iterable[Gradient], trainable_variables: Iterable[Variable] | None = None) -> None:
        """Update variables by their gradients.

        Args:
            grads: a gradient for each variable.
            trainable_variables: the variables, in the same order; by default those the optimizer was built with.

        Raises:
            ValueError: if there are not as many gradients as variables; and as `apply_gradients` does.
        """
        if trainable_variables is None:
            if not self.built:
                raise ValueError("apply: call build(variables) first, or give the variables")
            trainable_variables = self._trained.variables
        gradients = _listed("apply: grads", grads)
        variables = _listed("apply: trainable_variables", trainable_variables)
        if len(gradients) != len(variables):
            raise ValueError(f"apply: there are {len(gradients)} gradients for {len(variables)} variables")
        pairs = list(zip(gradients, variables))
        replica = local.here.replica
        if replica is None:
            self._apply(pairs)
        else:
            self._apply_in(replica, pairs, aggregate=True)

    def update_step(
        self, gradient: Tensor | IndexedSlices, variable: Variable, learning_rate: Tensor
    ) -> None:
        """Update one variable. Optimizers of your own override this.

        Args:
            gradient: of the loss by `variable`, after clipping.
            variable: is to be changed.
            learning_rate: the current step size, a scalar.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define update_step(gradient, variable, learning_rate)"
        )

    def _pure_settings(self) -> Any:
        """All that an update depends on besides variables and gradients; None if it runs Python code of the user."""
        rate, trained = self._learning_rate, self._trained
        options = self._known_options
        if options is None or not isinstance(rate, Variable):  # a schedule may have changed
            options = self._pure_options()
            if options is None:
                return None
            self._known_options = options
        return [id(rate), id(trained), len(trained.variables), options]

    def _pure_options(self) -> str | None:
        """The options and the schedule of the learning rate as a text; None if one is Python code of the user."""
        rate, options = self._learning_rate, list(self._read_options(self))
        if type(rate).__module__ == schedules.__name__:
            options.append(f"{type(rate).__name__}: {vars(rate)}")
        elif not isinstance(rate, Variable):
            return None
        if type(self).__module__ != _OWN_RULES or not _PLAIN.issuperset(map(type, options)):
            return None
        return repr(options)

    @property
    def _touched(self) -> list[Variable]:
        """The variables that a step may write besides those it is given gradients for."""
        return [*self.variables, *(self._trained.variables if self.use_ema else ())]

    def _apply_as(self, pairs: list[tuple[Any, Any]], aggregates: bool | None) -> None:
        """Update variables as a pass of a hot tape has noted it: for None outside of replicas, else in one."""
        if aggregates is None:
            self._apply(pairs)
        else:
            self._apply_in(local.here.replica, pairs, aggregates)

    def _is_left_to_pass(self, pairs: list[tuple[Any, Any]], aggregates: bool | None = None) -> bool:
        """Return whether the pass of a hot tape updates the variables instead."""
        hot = local.here.hot
        if hot is None:
            return False
        if aggregates is None and hot.updates(self, pairs):
            return True
        given, missing = [], []
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                hot.interrupt("an optimizer is given something else than pairs")
                return False
            gradient, variable = pair
            if type(variable) is not Variable:
                variable = original(variable)
            if gradient is None:
                missing.append(variable)
            else:
                given.append((gradient, variable))
        known = self._trained.index if missing and self.built else {}
        if not given or any(getattr(v, "_key", None) not in known for v in missing):
            hot.interrupt("an optimizer is given None for all gradients, or for a variable it does not know")
            return False
        replica = local.here.replica
        if missing and (replica is None or replica.is_first_here):
            _warn_of_none(missing, stacklevel=5)
        hot.update(self, given, aggregates)
        return True

    def _apply(self, pairs: list[tuple[Any, Any]]) -> None:
        if self._is_left_to_pass(pairs):
            return
        try:
            gradients = [g.checked(gradient, variable) for gradient, variable in pairs]
        except (TypeError, ValueError) as error:
            wrong = g.misfit(pairs)
            if wrong is None and any(isinstance(variable, StandIn) for _, variable in pairs):
                self._apply([(gradient, original(variable)) for gradient, variable in pairs])
                return
            raise wrong or error from None
        variables = [variable for _, variable in pairs]
        missing = [v for gradient, v in zip(gradients, variables) if gradient is None]
        if len(missing) == len(pairs):
            reason = f": those of {_names(missing)} are None. Did the loss use them, inside the tape's block?"
            raise ValueError("no gradients were given for any variable" + (reason if missing else ""))
        self._build_new(variables)
        if missing:
            _warn_of_none(missing, stacklevel=4)
            present = [i for i, gradient in enumerate(gradients) if gradient is not None]
            gradients, variables = [gradients[i] for i in present], [variables[i] for i in present]
        with no_recording(), np.errstate(all="ignore"):
            self._step(gradients, variables)

    def _build_new(self, variables: list[Variable]) -> None:
        """Build state for new variables; an optimizer with a `build` of its own is built only once."""
        index = self._trained.index
        new = [v for v in variables if v._key not in index]
        if not new:
            return
        _resolve(new)
        if self.built and type(self).build is not Optimizer.build:
            raise ValueError(
                f"{', '.join(v.name for v in new)}: this {type(self).__name__} was built for other variables. Build it "
                "for all of them first, or use an optimizer for each set"
            )
        self.build(variables)

    def _step(self, gradients: list[Any], variables: list[Variable]) -> None:
        count = self._iterations._read()._array
        every = self.gradient_accumulation_steps
        if self.loss_scale_factor is not None:
            scale = self.loss_scale_factor
            gradients = [g.over(gradient, lambda x: x / x.dtype.type(scale)) for gradient in gradients]
        if every:
            self._accumulate(gradients, variables, count, every)
        else:
            self._update(gradients, variables, count + 1)
        if self.use_ema:
            self._average(count // every if every else count)
        for variable in variables:
            if variable._constraint is not None:
                variable.assign(variable._constraint(variable))
        self._iterations._put(xp(count).asarray(count + 1))

    def _accumulate(self, gradients: list[Any], variables: list[Variable], count: Any, every: int) -> None:
        """Add the gradients to the sums; every `every` calls, update by their mean."""
        waiting = self._slots["gradient_accumulator"]
        mine = [waiting[self._trained.index[v._key]] for v in variables]
        for slot, gradient in zip(mine, gradients):
            slot._put(slot._read()._array + g.dense(gradient))
        due = (count + 1) % every == 0
        with _only_if(due, [*variables, *self.variables]) as wanted:
            if wanted:
                means = [slot._read()._array for slot in mine]
                means = [mean / mean.dtype.type(every) for mean in means]
                self._update(means, variables, count // every + 1)
                for slot in waiting:
                    slot._put(xp(count).zeros(slot.shape, slot.dtype.numpy_dtype))

    def _average(self, steps: Any) -> None:
        """Update the moving averages; every `ema_overwrite_frequency` steps, assign them to the variables."""
        for variable, average in zip(self._trained.variables, self._slots["average"]):
            value = variable._read()._array
            momentum = (steps != 0).astype(value.dtype) * value.dtype.type(self.ema_momentum)
            new = momentum * average._read()._array + (1 - momentum) * value
            average._put(xp(new).asarray(new))
        if self.ema_overwrite_frequency:
            due = (steps + 1) % self.ema_overwrite_frequency == 0
            with _only_if(due, self._trained.variables) as wanted:
                if wanted:
                    self.finalize_variable_values(self._trained.variables)

    def finalize_variable_values(self, var_list: Iterable[Variable]) -> None:
        """Assign the moving averages that `use_ema` keeps to the variables in `var_list`."""
        if self.use_ema:
            for variable in var_list:
                variable._put(self._slots["average"][self._get_variable_index(variable)]._read()._array)

    def _update(self, gradients: list[Any], variables: list[Variable], step: Any) -> None:
        """Update all the variables once; `step` counts from 1."""
        gradients = self._clipped(gradients)
        rate = convert(self.learning_rate)._array
        if type(self).update_step is not Optimizer.update_step:
            self._update_by_hand(gradients, variables, rate)
            return
        self._before_update(step)
        update = self._update_traced if is_traced(step) else self._update_eager
        rows = [i for i, gradient in enumerate(gradients) if type(gradient) is IndexedSlices]
        for i in rows:
            (self._update_traced_rows if is_traced(step) else self._update_rows)(
                gradients[i], variables[i], rate, step
            )
        if rows:
            dense = [i for i, gradient in enumerate(gradients) if type(gradient) is not IndexedSlices]
            gradients, variables = [gradients[i] for i in dense], [variables[i] for i in dense]
        keys = tuple([v._key for v in variables])
        if len(set(keys)) == len(keys):
            update(gradients, variables, keys, rate, step)
        else:  # a variable that occurs twice is updated twice
            for gradient, variable, key in zip(gradients, variables, keys):
                update([gradient], [variable], (key,), rate, step)

    def _clipped(self, gradients: list[Any]) -> list[Any]:
        if self.clipnorm or self.global_clipnorm or self.clipvalue:
            gradients = [g.added_up(x) if type(x) is IndexedSlices else x for x in gradients]
        if self.clipnorm:
            return g.clip_each_by_norm(gradients, self.clipnorm)
        if self.global_clipnorm:
            return g.clip_all_by_norm(gradients, self.global_clipnorm)
        return g.clip_by_value(gradients, self.clipvalue) if self.clipvalue else gradients

    def _pure_step(self, variables: list[Variable]) -> Callable[..., list[Any]] | None:
        """A step on these variables as a pure function of NumPy arrays, for passes of hot tapes.

        It takes the learning rate and the count of steps; then of all variables the values, the gradients, and each
        state in turn. It returns the new values and states, in that order. None if a step does more than to apply its
        rule, or if a variable is so large that to copy its state would take longer than a step that writes into it.
        """
        groups = self._groups(variables)
        does_more = self.use_ema or self.gradient_accumulation_steps or self.loss_scale_factor is not None
        does_more = does_more or type(self)._before_update is not Optimizer._before_update
        if does_more or not all(is_small for _, _, is_small in groups):
            return None
        count, reference = len(variables), weakref.ref(self)  # a program does not keep its optimizers alive

        def step(rate: Any, steps: Any, *arrays: Any) -> list[Any]:
            optimizer: Any = reference()
            before = [*arrays[:count], *arrays[2 * count :]]
            given = optimizer._clipped([*arrays[count : 2 * count]])
            known, last, packed = optimizer._trained.last
            is_last = known is groups and all(map(is_, last, before))
            results: list[Any] = [None] * len(before)
            wholes = []
            for k, ((dtype, decays, _), at) in enumerate(groups.items()):
                if is_last:
                    value, *state = [whole.copy() for whole in packed[k]]
                else:
                    columns = [before[i : i + count] for i in range(0, len(before), count)]
                    value, *state = [np.concatenate([column[i] for i in at], None) for column in columns]
                gradient = np.concatenate([given[i] for i in at], None)
                advance = optimizer._advance(dtype, rate, steps + 1, decays)
                new, new_state = advance(value, gradient, state)
                wholes.append([new, *new_state])
                end = 0
                for i in at:
                    shape = arrays[i].shape
                    start, end = end, end + arrays[i].size
                    # A copy: a part would keep the whole array alive. State is private, and may do that.
                    results[i] = new[start:end].reshape(shape).copy()
                    for j, part in enumerate(new_state, 1):
                        results[j * count + i] = part[start:end].reshape(shape)
            optimizer._trained.last = groups, results, wholes
            return results

        return step

    def _update_eager(
        self, gradients: list[Any], variables: list[Variable], keys: tuple[int, ...], rate: Any, step: Any
    ) -> None:
        for at, dtype, decays, pack in self._trained.plans.get(keys) or self._plan(keys, variables):
            advance = self._advance(dtype, rate, step, decays)
            if pack is not None:
                pack.step([gradients[i] for i in at], advance)
                continue
            for i in at:
                state = [slot.home() for slot in self._slots_of(variables[i])]
                value = variables[i]._writable()
                write(advance, value, np.asarray(gradients[i]), state)
                variables[i]._has_written(variables[i]._tensor, value)

    def _groups(self, variables: list[Variable]) -> dict[tuple[Any, bool, bool], list[int]]:
        """The positions of the variables by their dtype, whether weight decay applies, and whether they are small."""
        groups: dict[tuple[Any, bool, bool], list[int]] = {}
        for i, variable in enumerate(variables):
            value = variable._array
            kind = value.dtype, self._trained.decays(variable), value.size <= SMALL
            groups.setdefault(kind, []).append(i)
        return groups

    def _plan(self, keys: tuple[int, ...], variables: list[Variable]) -> _Plan:
        """Plan how to update these variables together from now on."""
        # A state lies in one buffer only: plans that share a variable with this one are dropped.
        mine = set(keys)
        plans = {others: plan for others, plan in self._trained.plans.items() if mine.isdisjoint(others)}
        plans[keys] = plan = []
        for (dtype, decays, small), at in self._groups(variables).items():
            chosen = [variables[i] for i in at]
            pack = Pack(chosen, [self._slots_of(v) for v in chosen]) if small else None
            plan.append((at, dtype, decays, pack))
        self._trained.plans = plans
        return plan

    def _update_rows(self, slices: IndexedSlices, variable: Variable, rate: Any, step: Any) -> None:
        """Update the rows that the gradient has, and their state."""
        at = slices._indices
        whole = [variable._writable(), *(slot.home() for slot in self._slots_of(variable))]
        value, *state = (array[at] for array in whole)
        advance = self._advance(value.dtype, rate, step, self._trained.decays(variable))
        new, new_state = advance(value, slices._values, state)
        for array, part in zip(whole, [new, *new_state]):
            array[at] = part
        variable._has_written(variable._tensor, whole[0])

    def _update_traced(
        self, gradients: list[Any], variables: list[Variable], keys: tuple[int, ...], rate: Any, step: Any
    ) -> None:
        for (dtype, decays, small), at in self._groups(variables).items():
            advance = self._advance(dtype, rate, step, decays)
            # A program of many small updates takes long to trace and to compile: they are joined into one.
            together = small and len(at) >= MANY
            for chosen in [at] if together else [[i] for i in at]:
                cells = zip(*([variables[i], *self._slots_of(variables[i])] for i in chosen))
                step_traced(advance, [gradients[i] for i in chosen], [list(column) for column in cells])

    def _update_traced_rows(self, slices: IndexedSlices, variable: Variable, rate: Any, step: Any) -> None:
        """Update the rows that the gradient has, and their state. Which these are is not known while tracing."""
        m = xp(step)
        cells = [variable, *self._slots_of(variable)]
        before = [m.asarray(cell._read()._array) for cell in cells]
        advance = self._advance(before[0].dtype, rate, step, self._trained.decays(variable))
        if g.has_few_rows(slices, len(cells)):
            at, gradient = g.sorted_rows(slices)
            value, *state = (whole[at] for whole in before)
            new, new_state = advance(value, gradient, state)
            for cell, whole, part in zip(cells, before, [new, *new_state]):
                cell._put(whole.at[at].set(part, indices_are_sorted=True))
            return
        touched = m.zeros(before[0].shape[0], bool).at[slices._indices].set(True)
        touched = touched.reshape(-1, *[1] * (before[0].ndim - 1))
        new, new_state = advance(before[0], slices.dense(), before[1:])
        for cell, old, after in zip(cells, before, [new, *new_state]):
            cell._put(m.where(touched, after, old))

    def _update_by_hand(self, gradients: list[Any], variables: list[Variable], rate: Any) -> None:
        """Update by the `update_step` of a subclass."""
        for gradient, variable in zip(gradients, variables):
            if self.weight_decay is not None and self._trained.decays(variable):
                own = rate.astype(variable._array.dtype)
                variable.assign_sub(variable * (own * own.dtype.type(self.weight_decay)))
            given = gradient if type(gradient) is IndexedSlices else wrap(gradient)
            self.update_step(given, variable, wrap(rate))

    def _advance(self, dtype: Any, rate: Any, step: Any, decays: bool) -> Advance:
        """The rule for one dtype, with its constants, and weight decay before it."""
        # In 16 bits 1 - 0.999 is 0 or far off: constants are computed in 32.
        wide = dtype if dtype.itemsize > 2 else _FLOAT32
        wide_rate = rate.astype(wide)[()]
        constants = self._constants(wide_rate, step.astype(wide), wide.type)
        own_rate = wide_rate
        if wide is not dtype:
            own_rate, *constants = (constant.astype(dtype) for constant in (wide_rate, *constants))
        if self.weight_decay is None or not decays:
            return lambda value, gradient, state: self._rule(value, gradient, state, constants)
        decay = dtype.type(self.weight_decay)

        def advance(value: Any, gradient: Any, state: list[Any]) -> tuple[Any, list[Any]]:
            value -= value * decay * own_rate
            return self._rule(value, gradient, state, constants)

        return advance

    def _before_update(self, step: Any) -> None:
        """Hook for what changes once per update, not once per variable."""

    def _constants(self, rate: Any, step: Any, scalar: Any) -> Sequence[Any]:
        """Numbers that a rule uses for all elements; `scalar` converts one to the dtype to compute in."""
        return (rate,)

    def _rule(self, value: Any, gradient: Any, state: list[Any], constants: Any) -> tuple[Any, list[Any]]:
        """The new value and state of a variable: see `rules`."""
        raise NotImplementedError(f"{type(self).__name__} has neither update_step nor a rule")


def _refuse(unknown: dict[str, Any], name: str) -> None:
    if unknown.pop("decay", None) is not None:
        warnings.warn(
            f"{name}: decay has no effect. Use a schedule, such as optimizers.schedules.InverseTimeDecay, as the "
            "learning rate",
            stacklevel=4,
        )
    if unknown:
        hint = ". The learning rate is called learning_rate" if "lr" in unknown else ""
        raise ValueError(f"{name} has no argument {', '.join(unknown)}{hint}")


def _only_one(**limits: Any) -> None:
    given = [name for name, limit in limits.items() if limit is not None]
    if len(given) > 1:
        raise ValueError(f"only one way of clipping can be used: {' and '.join(given)} are given")


def _none_or_from(least: int, what: str, value: Any) -> None:
    if value is not None and integer("Optimizer", what, value) < least:
        raise ValueError(f"{what} is a whole number from {least} on, or None, not {value}")


def _listed(what: str, values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{what} must be a list, not {values!r}") from None


def _variables(what: str, values: Any) -> list[Variable]:
    found = [original(value) for value in _listed(what, values)]
    for value in found:
        if not isinstance(value, Variable):
            raise TypeError(f"{what} must be variables; one of them is {value!r}")
    return found


def _resolve(variables: list[Variable]) -> None:
    """Resolve placeholders, as each variable has state of its own: an argument of a @function may stand for any."""
    for variable in variables:
        variable.ref()


def _slot_name(variable: Variable, name: str) -> str:
    return f"{variable._name.replace('/', '_')}_{name}"


@contextlib.contextmanager
def _only_if(due: Any, cells: list[Variable]) -> Iterator[bool]:
    """A block that changes `cells` only if `due`.

    Yields whether to do anything. If `due` is traced, the block always runs, and old or new values are selected.
    """
    if not is_traced(due):
        yield bool(due)
        return
    before = [cell._read()._array for cell in cells]
    yield True
    for cell, old in zip(cells, before):
        cell._put(xp(due).where(due, cell._read()._array, old))


def _names(variables: list[Variable]) -> str:
    return ", ".join(variable.name for variable in variables)


def _warn_of_none(variables: list[Variable], stacklevel: int) -> None:
    warnings.warn(
        f"the gradients of {_names(variables)} are None, so they were not updated. If the loss should depend on them, "
        "see that it is computed from them inside the tape's block",
        stacklevel=stacklevel,
    )
