"""GradientTape: the list of what primitives did, in order, and the sweep back over it.

Tapes know primitives only through plans (what to keep, how to pull back); they name no operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from sys import _getframe
from types import MappingProxyType, TracebackType
from typing import Any, TypeVar, overload

import numpy as np
from numpy import ndarray

from ..engine.arrays import is_traced, xp
from . import dtypes, nest
from .composite import CompositeTensor
from .errors import InvalidArgumentError
from .observers import Observer, observers
from .plan import plan_for
from .primitive import Listener, Primitive, leave_hot, local
from .shown_code import look_at, shows_nothing
from .structural import reshape_, transpose_
from .sweep import leading_from, sweep_arrays, sweep_observed, sweep_tensors
from .tape_ends import (
    UnconnectedGradients,
    arranged,
    as_tensor,
    conjugated,
    dense,
    finished,
    joined,
    one_target,
    row_pieces,
    rows_of,
    seeds_of,
    source_of,
    target_of,
    unit_rows,
    value_of,
    warn_once,
)
from .tensor import Tensor, key_of, next_key, wrap
from .trace_errors import escape, is_escape
from .types import Gradient
from .variable import Variable

Key = TypeVar("Key")

# Called with an outermost tape whose block is entered, and the frame that does so; returns whether the pass that
# begins answers for the tape. `hot` puts its function here while hot tapes are on.
when_entered: list[Callable[[GradientTape, Any], bool]] = []


def _step_aside(listeners: list[Listener]) -> bool:
    return all(listener._steps_aside for listener in listeners)


class GradientTape(Listener):
    """Records what is computed inside its `with` block, to differentiate it.

    Trainable variables that the block reads are watched unasked; tensors are watched with `watch`.

    Args:
        persistent: whether the tape answers any number of calls of `gradient`, `jacobian` and `batch_jacobian`; by
            default it answers one, and frees what it kept.
        watch_accessed_variables: whether trainable variables are watched when they are read.

    >>> import gradtape as tf
    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = x * x
    >>> tape.gradient(y, x)
    <tf.Tensor: shape=(), dtype=float32, numpy=6.0>
    """

    _pass: Any = None  # of a hot tape: what notes its events, or answers in its place; see `hot`
    _expand: Any = None  # called before a sweep, with the keys: see `compiled.recorded_segments`
    # Until the tape records; see `_forget`. The pass of a hot tape never needs the others, which take 0.1 us to make.
    _records: Any = ()
    _known: Any = frozenset()
    _watched: Any = MappingProxyType({})
    _dead_ends: Any = ()

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._open_in: Any = None  # the thread's `Here` while the block runs
        self._recording = False
        self._state = "new"  # then "entered", then (unless persistent) "used"

    def _forget(self) -> None:
        # Each record: the output's key (a tuple of keys if there are several), the plan, the keys of the inputs that
        # get a gradient, and the values that the plan kept.
        self._records = []
        self._known = set()  # keys of all tensors that depend on something watched
        self._watched = {}  # the variable, or None for a tensor, by the key of what is watched
        # Operations on known tensors through which no gradient passes: their name, and the keys of inputs and outputs.
        self._dead_ends = []

    # -- recording ----------------------------------------------------------------------------------------------------

    def __enter__(self) -> GradientTape:
        frame = _getframe(1)
        if id(frame.f_code) not in shows_nothing:
            look_at(frame, self)
        if self._pass is not None:
            self._pass.release(self)
        if self._recording:
            raise ValueError("this tape is recording already: a tape cannot be entered inside its own block")
        here = local.here
        try:
            if here.hot is not None:
                if here.hot.enter(self, frame):
                    return self
            elif (
                when_entered
                and here.trace is None
                and (not here.tapes or _step_aside(here.tapes))
                and when_entered[0](self, frame)
            ):
                return self
            self._enter()
            return self
        except BaseException:  # an interrupt: the block does not begin
            if here.hot is not None:
                here.hot.not_entered(self)
            self._drop_out()
            raise

    def _enter(self) -> None:
        if self._state != "entered":
            self._forget()
            self._state = "entered"
        self._start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._pass is not None and self._pass.exit(self, kind):
                return
            if self._recording:
                self._stop()
        except BaseException:  # an interrupt: the block has ended nevertheless
            if self._pass is not None:
                self._pass.interrupt("an exception")
            self._drop_out()
            raise

    def _drop_out(self) -> None:
        """Record no more, wherever an interrupt came."""
        here = local.here
        if self in here.tapes:
            here.tapes = [tape for tape in here.tapes if tape is not self]
        self._recording = False

    def _start(self, resumes: bool = False) -> None:
        self._open_in = local.here
        self._open_in.tapes = [*self._open_in.tapes, self]
        self._recording = True
        if observers:
            for observer in observers:
                observer._on_start(self, resumes)

    def _stop(self, pauses: bool = False) -> None:
        self._open_in.tapes = [tape for tape in self._open_in.tapes if tape is not self]
        self._recording = False
        if observers:
            for observer in [*observers]:  # one may leave
                observer._on_stop(self, pauses)

    def _on_operation(
        self, primitive: Primitive, inputs: tuple[Tensor, ...], attributes: Any, out: Any
    ) -> None:
        """Record an operation if one of its inputs is known."""
        known = self._known
        # The code of the plan: see `plan_for`. Most operations have one input or two.
        if len(inputs) == 2:
            x, y = inputs
            code = 10 if x._key in known else 8
            if y._key in known:
                code += 4
            elif code == 8:
                return
            if primitive.elementwise and x._array.shape != y._array.shape:
                code += 1
        elif len(inputs) == 1:
            if inputs[0]._key not in known:
                return
            code = 6
        else:
            code = _code(primitive, inputs, known)
            if not code:
                return
        plan = primitive.plans.get(code) or plan_for(primitive, code)
        if plan is None:
            self._note_dead_end(primitive, inputs, out)
            return
        if primitive.multiple:
            keys = []
            for o in out:
                keys.append(o._key or key_of(o))
                if o._array.dtype.kind == "f" or dtypes.is_differentiable(o._array):
                    known.add(o._key)
            key: Any = tuple(keys)
        else:
            key = out._key
            if not key:
                key = out._key = next_key()
            known.add(key)
        self._records.append(plan.record(plan, key, inputs, attributes, out))

    def _note_dead_end(self, primitive: Primitive, inputs: tuple[Tensor, ...], out: Any) -> None:
        given = tuple([x._key for x in inputs if x._key in self._known])
        made = tuple([key_of(o) for o in (out if primitive.multiple else (out,))])
        self._dead_ends.append((primitive.name, given, made))

    def _on_custom(self, plan: Any, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        """Record outputs that `plan` pulls back to the inputs."""
        watched = tuple(i for i, x in enumerate(inputs) if x._key in self._known)
        if watched:
            keys = tuple(key_of(o) for o in outputs)
            self._known.update(
                k for k, o in zip(keys, outputs, strict=True) if dtypes.is_differentiable(o._array)
            )
            self._records.append(
                (keys, plan.only(watched), tuple(inputs[i]._key for i in watched), plan.kept)
            )

    def _knows(self, key: int) -> bool:
        """Return whether the tensor or variable with this key depends on something watched."""
        return key in self._known

    def _on_read(self, variable: Any) -> None:
        """Watch a variable that was read, if it is trainable."""
        if variable._key not in self._watched and variable._watchable and self._watch_accessed_variables:
            self._watch(variable)

    def _watch(self, thing: Any) -> None:
        key = thing._key or key_of(thing)
        self._known.add(key)
        if type(thing) is Tensor:
            self._watched.setdefault(key)
        else:
            self._watched[key] = thing
        if observers:
            for observer in observers:
                observer._on_watch(self, thing)

    def watch(self, tensor: Any) -> None:
        """Record what is computed from `tensor` from now on.

        Args:
            tensor: a tensor, a variable, or any structure of them. Those of integer dtypes are skipped, with a warning.
                Of a sparse or ragged tensor the values are watched.

        Raises:
            RuntimeError: if the tape's block was not entered.
            TypeError: if a leaf of the structure is no tensor or variable.
        """
        if self._pass is not None and self._pass.watch(self, tensor):
            return
        if self._state == "new":
            raise RuntimeError(
                "watch was called on a tape that is not recording: call it inside the tape's block"
            )
        for thing in nest.flatten(tensor):
            thing = source_of(thing, "watch")
            if not dtypes.is_differentiable(value_of(thing)):
                warn_once("the dtype of a watched tensor must be floating, not %s", thing.dtype.name)
                continue
            self._watch(thing)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A block inside the tape's own in which nothing is recorded.

        Raises:
            RuntimeError: if the tape is not recording.

        >>> import gradtape as tf
        >>> x = tf.Variable(2.0)
        >>> with tf.GradientTape() as tape:
        ...     y = x * x
        ...     with tape.stop_recording():
        ...         z = y * y
        >>> print(tape.gradient(z, x))
        None
        """
        self._rebuild()
        if not self._recording:
            raise RuntimeError("stop_recording was called on a tape that is not recording")
        self._stop(pauses=True)
        try:
            yield
        finally:
            self._start(resumes=True)

    def reset(self) -> None:
        """Forget everything recorded and watched so far; a tape inside its block goes on recording."""
        self._rebuild()
        self._forget()
        if self._state == "used":
            self._state = "entered"
        for observer in observers:
            observer._on_reset(self)

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables watched so far, in the order they were made."""
        self._rebuild()
        return tuple(self._watched[key] for key in sorted(self._watched) if self._watched[key] is not None)

    # -- asking -------------------------------------------------------------------------------------------------------

    # For type checkers: `gradient` gives the structure of the sources.
    @overload
    def gradient(
        self,
        target: Any,
        sources: Tensor | Variable,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Gradient: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: list[Any],
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> list[Gradient]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: tuple[Any, ...],
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> tuple[Gradient, ...]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: dict[Key, Any],
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> dict[Key, Gradient]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: object,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any: ...

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of `target` with respect to `sources`.

        Args:
            target: what to differentiate: a tensor, a variable or any structure of them. What is no scalar counts as
                the sum of its elements, weighted by `output_gradients` where given.
            sources: a tensor, variable or any structure of them.
            output_gradients: one weight (of the target's shape) for each target, or None for ones.
            unconnected_gradients: whether a source that no target depends on gives None ('none') or zeros ('zero').

        Returns:
            The structure of `sources`, with a tensor (`IndexedSlices` for a variable only gathered from) or None for
            each; for a sparse or ragged tensor, one of the same places and rows.

        Raises:
            RuntimeError: if the tape was used already and is not persistent, or never recorded anything.
            TypeError: if a source or target is no tensor or variable.
            ValueError: if `output_gradients` do not match the targets.

        >>> import gradtape as tf
        >>> w, b = tf.Variable(2.0), tf.Variable(1.0)
        >>> with tf.GradientTape() as tape:
        ...     loss = tf.square(w * 3.0 + b)
        >>> [float(g) for g in tape.gradient(loss, [w, b])]
        [42.0, 14.0]
        """
        if self._pass is not None:
            options = (output_gradients, unconnected_gradients)
            answer = self._pass.ask("gradient", self, target, sources, options)
            if answer is not NotImplemented:
                return answer
        flat_sources = nest.flatten(sources)
        targets = [target] if type(target) is Tensor else nest.flatten(target)
        composites: dict[int, CompositeTensor] = {}
        try:
            for i, source in enumerate(flat_sources):
                if type(source) is not Variable and type(source) is not Tensor:
                    flat_sources[i] = source_of(source, "gradient")
                    if isinstance(source, CompositeTensor):
                        composites[i] = source
            for i, t in enumerate(targets):
                if type(t) is not Tensor:
                    targets[i] = target_of(t)
        except TypeError as error:
            self._tell_refused(targets, flat_sources, error)
            raise
        keys = [source._key or key_of(source) for source in flat_sources]
        if unconnected_gradients is not UnconnectedGradients.NONE:
            unconnected_gradients = UnconnectedGradients.of(unconnected_gradients)
        if self._recording:  # before the weights are looked at: no tape may be left that hears of them
            self._end_recording()
        found = self._sweep(seeds_of(targets, output_gradients), keys)
        results = []
        for key, source in zip(keys, flat_sources):
            g = found.get(key)
            plain = type(g) is ndarray and g.dtype.kind == "f"
            results.append(wrap(g) if plain else finished(g, source, unconnected_gradients))
        if observers:
            self._tell_gradients(targets, flat_sources if composites else nest.flatten(sources), results)
        for i, composite in composites.items():
            results[i] = None if results[i] is None else composite._with_gradient(results[i])
        return nest.pack_sequence_as(sources, results)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian: the derivative of each element of `target` by each element of `sources`.

        Args:
            target: one tensor or variable, or `IndexedSlices`, which count as the whole tensor.
            sources: a tensor, variable or any structure of them.
            unconnected_gradients: whether a source that the target does not depend on gives None or zeros.
            parallel_iterations: how many rows are computed at once, which bounds the memory; by default all.
            experimental_use_pfor: False computes row by row.

        Returns:
            The structure of `sources`, each of shape `target.shape + source.shape`, or None where not connected.

        Raises:
            RuntimeError: if the tape was used already and is not persistent, or never recorded anything.
            TypeError: if the target is a structure, or a source is no tensor or variable.

        >>> import gradtape as tf
        >>> x = tf.constant([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.jacobian(y, x).numpy()
        array([[2., 0.],
               [0., 4.]], dtype=float32)
        """
        if self._pass is not None:
            options = (unconnected_gradients, parallel_iterations, experimental_use_pfor)
            answer = self._pass.ask("jacobian", self, target, sources, options)
            if answer is not NotImplemented:
                return answer
        unconnected = UnconnectedGradients.of(unconnected_gradients)
        target, flat_sources = self._ends(target, nest.flatten(sources), "jacobian")
        target, shape, pick = rows_of(target)
        array, size = value_of(target), math.prod(shape)

        def seed(start: Any, count: int) -> Any:
            return pick(unit_rows(array, start, count, size).reshape(count, *shape))

        pieces = row_pieces(size, parallel_iterations if experimental_use_pfor else 1)
        stacks = self._sweep_rows(target, pieces, seed, flat_sources)
        results = [
            arranged(stack, source, shape, unconnected)
            for stack, source in zip(stacks, flat_sources, strict=True)
        ]
        self._tell_gradients([target], flat_sources, results)
        return nest.pack_sequence_as(sources, results)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of each example: `result[b, ...]` is that of `target[b, ...]` by `source[b, ...]`.

        The first axis of both is the batch, and an example's target must depend on that example's source only. Costs as
        many rows as one example's target has elements, whatever the size of the batch. The arguments are those of
        `jacobian`, with one source.

        Raises:
            RuntimeError: if the tape was used already and is not persistent, or never recorded anything.
            ValueError: if the first axes of target and source differ.

        >>> import gradtape as tf
        >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.batch_jacobian(y, x).shape
        TensorShape([2, 2, 2])
        """
        if self._pass is not None:
            options = (unconnected_gradients, parallel_iterations, experimental_use_pfor)
            answer = self._pass.ask("batch_jacobian", self, target, source, options)
            if answer is not NotImplemented:
                return answer
        unconnected = UnconnectedGradients.of(unconnected_gradients)
        target, (source,) = self._ends(target, [source], "batch_jacobian")
        target, shape, pick = rows_of(target)
        array, by = value_of(target), value_of(source)
        if len(shape) < 1 or by.ndim < 1 or shape[0] != by.shape[0]:
            raise InvalidArgumentError(
                f"batch_jacobian: target and source must have the same first axis, the batch; their shapes are "
                f"{list(shape)} and {list(by.shape)}"
            )
        inner = shape[1:]
        size = math.prod(inner)

        def seed(start: Any, count: int) -> Any:
            unit = unit_rows(array, start, count, size).reshape(count, 1, *inner)
            return pick(xp(array).repeat(unit, shape[0], axis=1))

        pieces = row_pieces(size, parallel_iterations if experimental_use_pfor else 1)
        (stack,) = self._sweep_rows(target, pieces, seed, [source])
        result = None
        if stack is not None:
            # (rows, batch, source...) -> (batch, target..., source...)
            by_example = transpose_(stack, perm=(1, 0, *range(2, 1 + by.ndim)))
            result = as_tensor(conjugated(reshape_(by_example, shape=shape + by.shape[1:])))
        elif unconnected is UnconnectedGradients.ZERO:
            result = wrap(xp(by).zeros(shape + by.shape[1:], by.dtype))
        self._tell_gradients([target], [source], [result])
        return result

    def _ends(self, target: Any, sources: list[Any], method: str) -> tuple[Any, list[Any]]:
        """Validate the one target and the sources of a Jacobian, and return them as tensors and variables."""
        try:
            return one_target(target, method), [source_of(source, method) for source in sources]
        except TypeError as error:
            self._tell_refused(nest.flatten(target), sources, error)
            raise

    def _tell_gradients(self, targets: list[Any], sources: list[Any], gradients: list[Any]) -> None:
        for observer in observers:
            observer._on_gradients(self, targets, sources, gradients)

    def _tell_refused(self, targets: list[Any], sources: list[Any], error: TypeError) -> None:
        for observer in observers:
            observer._on_refusal(self, targets, sources, error)

    def _sweep_rows(
        self, target: Any, pieces: list[tuple[int, int]], seed: Callable[[Any, int], Any], sources: list[Any]
    ) -> list[Any]:
        """For each source the gradients for a stack of seeds, stacked in front (None where not connected)."""
        keys = [source._key or key_of(source) for source in sources]
        key = key_of(target)
        found = []
        if local.here.trace is not None and len(pieces) > 1 and is_traced(value_of(target)):
            self._end_recording()  # the loop's body has other listeners
            whole = [piece for piece in pieces if piece[1] == pieces[0][1]]
            found = [self._sweep_in_loop(key, len(whole), pieces[0][1], seed, keys)]
            pieces = pieces[len(whole) :]
            if not pieces:
                self._consume()
        found += [
            self._sweep({key: seed(*piece)}, keys, last=i == len(pieces) - 1)
            for i, piece in enumerate(pieces)
        ]
        stacks = []
        for source_key in keys:
            parts = [gradients.get(source_key) for gradients in found]
            stacks.append(None if any(p is None for p in parts) else joined([dense(p) for p in parts]))
        return stacks

    def _sweep_in_loop(
        self, key: int, length: int, rows: int, seed: Callable[[Any, int], Any], keys: list[int]
    ) -> dict[int, Any]:
        """The gradients for `length` pieces of `rows` seeds each, by a loop of the @function that is traced now."""
        connected: list[int] = []

        def step(i: Tensor, *_: Any) -> tuple[list[Tensor], list[Tensor]]:
            found = self._sweep({key: seed(i._array * rows, rows)}, keys, last=False)
            connected[:] = [k for k in dict.fromkeys(keys) if found.get(k) is not None]
            return [], [as_tensor(dense(found[k])) for k in connected]

        _, stacks = local.here.trace.loop("jacobian", step, [], [], length)
        shapes = [(length * rows, *stack.shape[2:]) for stack in stacks]
        return {k: reshape_(s, shape=shape) for k, s, shape in zip(connected, stacks, shapes, strict=True)}

    # -- understanding ------------------------------------------------------------------------------------------------

    def explain(self, target: Any, sources: Any) -> Any:
        """Explain the gradient of `target` by each of `sources`: its path, or why it is None and what to change.

        Call it before `gradient`, or on a persistent tape; or at any time with `debugging.trace_origins()` on, which
        also gives the lines.

        Args:
            target: the tensor or variable to differentiate.
            sources: a tensor, variable or any structure of them.

        Returns:
            The structure of `sources`, with an object that has `reason`, `where`, `path` and `hint` for each.

        >>> import gradtape as tf
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     y = x * x
        >>> tape.explain(y, x).reason
        <Reason.NOT_WATCHED: 'never watched'>
        """
        from ..explain import explain

        self._rebuild()
        return explain(self, target, sources)

    def summary(self) -> Any:
        """A table of the recorded operations: shapes, dtypes, bytes kept, and times if they were measured.

        >>> import gradtape as tf
        >>> x = tf.Variable([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     y = x * x
        >>> tape.summary().bytes
        8
        """
        from ..explain.summary import summarize

        self._rebuild()
        return summarize(self)

    def plot(self, path: Any, target: Any = None, sources: Any = None) -> None:
        """Write an SVG picture of the recorded operations: shapes, norms of gradients as line widths, broken paths red.

        Args:
            path: the file to write, such as "tape.svg".
            target: the tensor to differentiate, by default the one that was computed last.
            sources: show only paths from these tensors or variables.

        Raises:
            ValueError: if the name of the file is that of another format.
        """
        from ..explain.plot import plot

        self._rebuild()
        plot(self, path, target, sources)

    def show(self, target: Any, sources: Any, path: Any = None) -> Any:
        """Show the recorded operations, their values and the sweep, step by step, on one HTML page.

        In a notebook the page shows in place, below the cell; elsewhere it opens in the browser. Call it before
        `gradient`, or on a persistent tape. The program's lines stand beside the operations if `show` is called in the
        function, script or cell that has the tape's block (of the first ten blocks), or under
        `debugging.trace_origins(values=True)`.

        Args:
            target: the tensor to differentiate, or a structure of tensors.
            sources: a tensor, variable or any structure of them.
            path: the file to write instead of opening the page. One that ends in `.json` gets the data alone, which
                `gradtape view` shows.

        Returns:
            The page: an object with `html`, `data` and `save(path)`, which notebooks display.

        >>> import gradtape as tf
        >>> x = tf.Variable(3.0)
        >>> with tf.GradientTape(persistent=True) as tape:
        ...     y = x * x
        >>> tape.show(y, x, path="/dev/null")
        <page of 1 tape, 1 operation>
        """
        from ..explain.page import show

        return show(self, target, sources, path)

    @property
    def gradients(self) -> Any:
        """A misnomer for `gradient`, refused with advice. (With `__getattr__` every attribute would be slower.)"""
        raise AttributeError(
            "a GradientTape has no method 'gradients': it is called gradient(target, sources)"
        )

    def _rebuild(self) -> None:
        """Have the records, if a pass answers in their place."""
        if self._pass is not None:
            self._pass.rebuild(self)

    # -- the sweep ----------------------------------------------------------------------------------------------------

    def _sweep(self, seeds: dict[int, Any], wanted: list[int], last: bool = True) -> dict[int, Any]:
        """Walk the records backwards once, from the gradients in `seeds`; returns those of the keys in `wanted`.

        Computes on arrays, or on tensors if there are listeners. `last`: no other sweep follows for this question.
        """
        if self._recording:
            self._end_recording()
        if self._state == "new":
            raise RuntimeError(
                "this tape has not recorded anything: compute the target inside `with tape:`, then ask"
            )
        if self._state == "used":
            raise RuntimeError(
                "a non-persistent GradientTape answers only one call of gradient, jacobian or batch_jacobian. "
                "Make it with GradientTape(persistent=True) to ask again"
            )
        leave_hot("a tape of an earlier pass is asked")
        if self._expand is not None:
            self._expand(self, wanted)
        here, records = local.here, self._records
        if here.trace is not None:  # inside a branch or loop, the records of that block follow
            for listener in here.tapes:
                records = [*records, *(listener._inside(self) or ())]
        keys = set(wanted)
        if not keys.issuperset(self._watched):
            records = leading_from(set(keys), records)
        elif self._persistent or not last:
            records = records.copy()
        if last:
            self._consume()
        if here.tapes:
            for observer in observers:
                observer._on_sweep(self, seeds, records)
            if observers and all(isinstance(listener, Observer) for listener in here.tapes):
                return sweep_observed(seeds, records, keys)
            return sweep_tensors({k: as_tensor(g) for k, g in seeds.items()}, records, keys)
        try:
            with np.errstate(all="ignore"):
                return sweep_arrays(seeds, records, keys)
        except TypeError as error:
            if is_escape(error):
                raise escape(error) from None
            raise

    def _end_recording(self) -> None:
        """Stop recording, if a question is asked inside the block; a persistent tape records the answer."""
        if self._recording and self._open_in is local.here:
            if self._persistent:
                warn_once(
                    "gradient was called on a persistent tape inside its own block: the gradient is recorded too. "
                    "Call it outside the block unless you want higher orders"
                )
            else:
                self._stop()

    def _consume(self) -> None:
        """Drop the records after the only question that a tape answers, unless it is persistent."""
        if not self._persistent:
            self._state = "used"
            self._records = []  # the numbers in _known and _watched stay, for `explain`


def _code(primitive: Primitive, inputs: tuple[Tensor, ...], known: set[int]) -> int:
    """The code for `plan_for` of three or more inputs; 0 if none is known."""
    code = 0
    bit = 2
    for x in inputs:
        if x._key in known:
            code += bit
        bit += bit
    if not code:
        return 0
    if primitive.elementwise:
        first, second, third = inputs
        shape = first._array.shape
        if shape != second._array.shape or shape != third._array.shape:
            code += 1
    return code + bit
