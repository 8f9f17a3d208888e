"""Gradients that the user defines: custom_gradient, recompute_grad, stop_gradient, grad_pass_through."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np

from . import dtypes, nest
from .composite import CompositeTensor
from .draws import Draws
from .indexed_slices import IndexedSlices
from .primitive import Listener, apply1, inside, leave_hot, local, no_recording, primitive
from .pullback_plan import PullbackPlan
from .stand_in import StandIn
from .structural import conj, identity_, reshape_, stack_
from .tape import GradientTape
from .tape_ends import UnconnectedGradients
from .tensor import Tensor, wrap
from .tensor_conversion import convert, is_tensor
from .types import TensorLike
from .variable import Variable

P = ParamSpec("P")
R = TypeVar("R")


class _VariableWatcher(Listener):
    """A listener that only notes which trainable variables are read."""

    def __init__(self) -> None:
        self.seen: dict[int, Variable] = {}

    def _on_read(self, variable: Variable) -> None:
        if variable._watchable:
            self.seen[variable._key] = variable


@contextmanager
def _also_told(listener: Listener) -> Iterator[None]:
    """A block with one more listener. Tapes that are opened or closed in the block stay so."""
    here = local.here
    if here.hot is not None and here.hot.notes_custom:
        with here.hot.telling(listener):
            yield
        return
    leave_hot("another listener is open")
    here.tapes = [*here.tapes, listener]
    try:
        yield
    finally:
        here.tapes = [tape for tape in here.tapes if tape is not listener]


class CustomPlan(PullbackPlan):
    """A plan whose rule is a Python function on tensors, of all outputs' gradients at once."""

    def __init__(
        self,
        name: str,
        pull: Callable[..., list[Any]],
        like: list[Any],
        watched: tuple[int, ...],
        kept: tuple[Tensor, ...] | None = None,
    ) -> None:
        super().__init__(name, like, watched, kept or ())
        self.is_users = kept is None  # a user's function may read any tensor
        self._pull = pull  # gradients of the outputs -> gradients of all inputs

    def tensors(self, gradients: tuple[Any, ...], kept: Any = ()) -> list[Any]:
        front = self.leading_axes(gradients)
        if not front:
            return self._call(gradients)
        # Users' functions take no extra axes in front: one call for each row.
        rows = [
            self._call(tuple(None if g is None else g[index] for g in gradients))
            for index in np.ndindex(*front)
        ]
        results: list[Any] = []
        for parts in zip(*rows, strict=True):
            if any(part is None for part in parts):
                results.append(None)
            else:
                stacked = stack_(*[convert(part) for part in parts], axis=-1 - convert(parts[0]).ndim)
                results.append(reshape_(stacked, shape=front + tuple(stacked.shape)[1:]))
        return results

    def _call(self, gradients: tuple[Any, ...]) -> list[Any]:
        given = [
            wrap(np.zeros(shape, dtype)) if g is None else conj(g) if dtype.kind == "c" else g
            for g, (shape, dtype) in zip(gradients, self.like, strict=True)
        ]
        with inside():
            pulled = self._pull(*given)
        watched = [pulled[i] for i in self.watched]
        return [conj(g) if isinstance(g, Tensor) and g.dtype.is_complex else g for g in watched]


def record_custom(
    name: str, inputs: list[Tensor], outputs: list[Tensor], pull: Callable[..., list[Any]]
) -> None:
    """Tell the open tapes that `outputs` came from `inputs`, and how to pull gradients back."""
    like = [(o._array.shape, o._array.dtype) for o in outputs]
    CustomPlan(name, pull, like, tuple(range(len(inputs)))).record(inputs, outputs)


@overload
def custom_gradient(f: Callable[P, tuple[R, Callable[..., Any]]]) -> Callable[P, R]: ...
@overload
def custom_gradient(
    f: None = None,
) -> Callable[[Callable[P, tuple[R, Callable[..., Any]]]], Callable[P, R]]: ...
def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Decorator: give a function a gradient of its own.

    Args:
        f: takes tensors and returns `(result, grad)`, where `grad` takes the gradient of each output and returns one
            for each input (for one input, the bare gradient will do). If `f` reads trainable variables, `grad` must
            also take a keyword `variables` (a list) and return `(gradients, gradients_of_the_variables)`.

    Raises:
        TypeError: when called, if `f` returns anything else, or reads variables that `grad` does not take.

    >>> import gradtape as tf
    >>> @tf.custom_gradient
    ... def log1pexp(x):
    ...     e = tf.exp(x)
    ...     return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))
    >>> x = tf.constant(100.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = log1pexp(x)
    >>> float(tape.gradient(y, x))
    1.0
    """
    if f is None:
        return custom_gradient
    return _with_gradient(f, f)


def _with_gradient(f: Callable[..., Any], shown: Callable[..., Any]) -> Callable[..., Any]:
    name = getattr(shown, "__name__", type(shown).__name__)

    def decorated(*args: Any, **kwargs: Any) -> Any:
        args = nest.map_structure(_fresh, args)
        watcher = _VariableWatcher()
        with _also_told(watcher):
            answer = f(*args, **kwargs)
        if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
            raise TypeError(
                f"a function with a custom gradient must return (result, grad), grad being a function; {name} returned "
                f"{type(answer).__name__}"
            )
        result, grad = answer
        inputs = [x for x in nest.flatten(args) if is_tensor(x)]
        in_inputs = {x._key for x in inputs if isinstance(x, Variable)}
        variables = [v for key, v in watcher.seen.items() if key not in in_inputs]
        takes_variables = _takes_variables(grad)
        if variables and not takes_variables:
            raise TypeError(
                f"{name} reads the trainable variables {[v.name for v in variables]}, so its gradient function "
                "must take a keyword argument `variables` and return (gradients of the inputs, gradients of the "
                "variables)"
            )
        pull = _puller(name, grad, len(inputs), variables, takes_variables)
        flat = [_as_output(y) for y in nest.flatten(result)]
        outputs = with_pull(name, [*inputs, *variables], [y for y in flat if type(y) is Tensor], pull)
        if not outputs:
            return result
        rest = iter(outputs)
        return nest.pack_sequence_as(result, [next(rest) if type(y) is Tensor else y for y in flat])

    return functools.wraps(shown)(decorated) if hasattr(shown, "__name__") else decorated


def _fresh(x: Any) -> Any:
    """Convert floats and NumPy values among the arguments to tensors, and objects that stand for them."""
    x = x._current() if isinstance(x, StandIn) else x
    if is_tensor(x) or not isinstance(x, (float, np.ndarray, np.generic)):
        return x
    return convert(x)


def with_pull(
    name: str, inputs: list[Any], results: list[Tensor], pull: Callable[..., list[Any]]
) -> list[Tensor]:
    """Copies of results that come, to the open tapes, from these tensors and variables, by a gradient of their own."""
    hot = local.here.hot
    if hot is not None and hot.notes_custom and results:
        outputs: Any = hot.custom(name, inputs, results, pull)
        if outputs is not NotImplemented:
            return list(outputs)
    copies = [wrap(y._array) for y in results]
    if copies:
        record_custom(name, [x if type(x) is Tensor else x._read() for x in inputs], copies, pull)
    return copies


def _as_output(y: Any) -> Any:
    """An output as a tensor, if it is one."""
    if is_tensor(y):
        return y if type(y) is Tensor else y._read()
    return (
        convert(y) if isinstance(y, (float, int, np.ndarray, np.generic)) and not isinstance(y, bool) else y
    )


def _takes_variables(grad: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(grad).parameters
    except (TypeError, ValueError):
        return False
    return "variables" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _puller(
    name: str, grad: Callable[..., Any], count: int, variables: list[Variable], takes_variables: bool
) -> Callable[..., list[Any]]:
    def pull(*gradients: Any) -> list[Any]:
        if variables and takes_variables:
            answer = grad(*gradients, variables=variables)
            if not (isinstance(answer, tuple) and len(answer) == 2):
                raise ValueError(
                    f"the gradient function of {name} must return (gradients, gradients of the variables)"
                )
            of_inputs, of_variables = answer
        else:
            of_inputs, of_variables = grad(*gradients), []
        of_inputs = _listed(of_inputs, count)
        of_variables = _listed(of_variables, len(variables))
        for what, given, wanted in (
            ("inputs", of_inputs, count),
            ("variables", of_variables, len(variables)),
        ):
            if len(given) != wanted:
                raise ValueError(
                    f"the gradient function of {name} returned {len(given)} gradients for {wanted} {what}: it must "
                    "return one for each (None where there is none)"
                )
        return [
            g if g is None or isinstance(g, (Tensor, IndexedSlices)) else convert(g)
            for g in (*of_inputs, *of_variables)
        ]

    return pull


def _listed(gradients: Any, count: int) -> list[Any]:
    if (
        gradients is None
        or is_tensor(gradients)
        or isinstance(gradients, (float, int, np.ndarray, np.generic))
    ):
        return [gradients] if gradients is not None or count == 1 else []
    return nest.flatten(gradients)


def recompute_grad(f: Callable[P, R]) -> Callable[P, R]:
    """Decorator: keep nothing of what `f` computes, and compute it again for its gradient.

    Saves memory for time. Random operations give the same numbers the second time.

    >>> import gradtape as tf
    >>> @tf.recompute_grad
    ... def f(x):
    ...     return tf.exp(tf.sin(x))
    >>> x = tf.constant(0.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = f(x)
    >>> float(tape.gradient(y, x))
    1.0
    """

    def with_recomputation(*args: Any, **kwargs: Any) -> Any:
        watcher = _VariableWatcher()
        draws = Draws()
        with no_recording(), _also_told(watcher), draws.recorded():
            result = f(*args, **kwargs)
        for variable in watcher.seen.values():
            variable._read()

        def grad(*upstream: Any, variables: Any = ()) -> Any:
            # A tensor that is given twice has a gradient for each place.
            given = nest.map_structure(lambda x: identity_(x) if type(x) is Tensor else x, args)
            sources = [x for x in nest.flatten(given) if is_tensor(x)]
            with GradientTape() as tape, draws.replayed():
                tape.watch([x for x in sources if dtypes.is_differentiable(x._array)])
                again = f(*given, **kwargs)
            outputs = [y for y in nest.flatten(again) if is_tensor(y)]
            gradients = tape.gradient(
                outputs,
                [*sources, *variables],
                list(upstream),
                unconnected_gradients=UnconnectedGradients.NONE,
            )
            own, of_variables = gradients[: len(sources)], gradients[len(sources) :]
            # Each gradient counts all places where the tensor was given, so only the first place gets it.
            keys = [x._key for x in sources]
            own = [g if keys.index(key) == i else None for i, (g, key) in enumerate(zip(own, keys))]
            return (own, of_variables) if variables else own

        return result, grad

    recomputing = _with_gradient(with_recomputation, f)

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        trace = local.here.trace
        if trace is None:
            return recomputing(*args, **kwargs)
        return trace.call_recomputing(getattr(f, "__name__", "recompute_grad"), f, args, kwargs)

    return decorated


def grad_pass_through(f: Callable[P, R]) -> Callable[P, R]:
    """Decorator: compute `f`, and let gradients pass as through the identity.

    >>> import gradtape as tf
    >>> x = tf.constant(1.6)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.grad_pass_through(tf.round)(x)
    >>> float(y), float(tape.gradient(y, x))
    (2.0, 1.0)
    """

    def passing(*args: Any, **kwargs: Any) -> Any:
        def grad(*upstream: Any, variables: Any = None) -> Any:
            gradients = list(upstream)
            return (gradients, [None] * len(variables)) if variables is not None else gradients

        return f(*args, **kwargs), grad

    return _with_gradient(passing, f)


@primitive(name="stop_gradient", words="It ends the path, as it was asked to: no gradient passes.")
def stop_gradient_(x: Any) -> Any:
    """The same value. There is no rule: listeners learn that the path ends here on purpose."""
    return x


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """The same value, as a constant: no gradient passes.

    >>> import gradtape as tf
    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = x * tf.stop_gradient(x)
    >>> float(tape.gradient(y, x))
    3.0
    """
    if isinstance(input, Variable):  # not a read that a tape should know of
        given = wrap(input._array)
        given._key = input._key
    elif isinstance(input, CompositeTensor):
        return nest.map_structure(stop_gradient, input, expand_composites=True)
    else:
        given = convert(input)
    return apply1(stop_gradient_, given)
