"""Choosing and looping inside a @function that is being traced: XLA's own conditionals and loops, differentiable.

A branch or a body is a function on tensors; traced by itself it is a `Block`. Blocks use tensors from around them, and
tapes around them must hear of that: a block notes which, and the whole is recorded as one operation on those. Its
gradient runs the function again, under a tape: a choice between, or a loop backwards over, the gradients of the blocks.
Since that is written with the same `choose` and `loop`, it can be differentiated in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CellType, FunctionType
from typing import Any

import jax
import numpy as np
from jax import lax

from . import dtypes, nest
from .ahead import ahead
from .errors import InvalidArgumentError
from .indexed_slices import IndexedSlices
from .primitive import Listener, Primitive, local
from .program import cut
from .tape import GradientTape
from .tensor import Tensor, convert, key_of, wrap
from .trace import Trace
from .variable import Variable

Tensors = list[Tensor]


class _Catcher(Listener):
    """Listens inside a block on behalf of the tapes around it: which of the tensors they know does the block use?"""

    def __init__(self, around: list[Listener]) -> None:
        self._around = around
        self.caught: dict[int, Tensor] = {}

    def _knows(self, key: int) -> bool:
        return any(tape._knows(key) for tape in self._around)

    def _meet(self, tensor: Tensor) -> None:
        for tape in self._around:
            tape._meet(tensor)

    def catch(self, tensor: Tensor) -> None:
        """Note a tensor, if a tape knows it."""
        self._meet(tensor)
        if tensor._key and tensor._key not in self.caught and self._knows(tensor._key):
            self.caught[tensor._key] = tensor

    def _hear(self, primitive: Primitive, inputs: tuple[Tensor, ...], attributes: Any, out: Any) -> None:
        for x in inputs:
            self.catch(x)

    def _record_custom(self, plan: Any, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        for x in inputs:
            self.catch(x)

    def _access(self, variable: Variable) -> None:
        for tape in self._around:
            tape._access(variable)
        if self._knows(variable._key):
            self.caught.setdefault(variable._key, variable._tensor)


class Block:
    """A function on tensors, traced by itself.

    `inputs` give the shapes and dtypes of its arguments, `state` the variables whose values it gets and gives back.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Tensors,
        state: dict[int, Variable] | None = None,
        turn: int | None = None,
    ) -> None:
        here = local.here
        before = here.tapes, here.trace
        trace = Trace(here.trace.name, parent=here.trace)
        catcher = _Catcher(here.tapes)
        state = state or {}

        def flat(*arrays: Any) -> Any:
            given = [wrap(a) for a in arrays[: len(inputs)]]
            for key, array in zip(state, arrays[len(inputs) :], strict=True):
                tensor = wrap(array)
                tensor._key = key
                trace.values[key] = tensor
            if turn is not None:
                trace.turn = given[turn]._array
            answer = function(*given)
            self.structure = answer
            self.leaves = [_leaf(leaf) for leaf in nest.flatten(answer)]
            tensors = [leaf for leaf in self.leaves if type(leaf) is Tensor]
            for tensor in tensors:
                catcher.catch(tensor)
            self.written = {**state, **trace.written}
            return [t._array for t in tensors], [trace.values[key]._array for key in self.written]

        flat.__name__ = trace.name
        like = [_like(t._array) for t in inputs] + [_like(here.trace.read(v)._array) for v in state.values()]
        here.tapes, here.trace = [catcher], trace
        try:
            self.closed, (results, _) = jax.make_jaxpr(flat, return_shape=True)(*like)
        finally:
            here.tapes, here.trace = before
        self.like = results  # shape and dtype of each result
        self.caught = catcher.caught
        # What is not traced any more once we are back outside must not be looked at by accident.
        self.leaves = [None if type(leaf) is Tensor else (leaf,) for leaf in self.leaves]
        for key, variable in trace.seen.items():
            if key in self.caught:
                self.caught[key] = here.trace.read(variable)
        self.seen = trace.seen

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results, then what the written variables hold."""
        return jax.core.eval_jaxpr(self.closed.jaxpr, self.closed.consts, *arrays)

    def pack(self, tensors: Tensors) -> Any:
        """What the function returns, with these tensors in it."""
        given = iter(tensors)
        return nest.pack_sequence_as(
            self.structure, [next(given) if leaf is None else leaf[0] for leaf in self.leaves]
        )


def _leaf(leaf: Any) -> Any:
    if isinstance(leaf, (Variable, IndexedSlices)):
        return leaf._read()
    if isinstance(leaf, (bool, int, float, complex, np.ndarray, np.generic)):
        return convert(leaf)
    return leaf


def _like(array: Any) -> Any:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Choosing


def choose(name: str, index: Tensor, functions: list[Callable[[], Any]]) -> Any:
    """What one of the functions returns: the second for a true condition; or the one with this number."""
    again = _Again()
    later = frozen(functions)
    blocks = [Block(function, []) for function in functions]
    for block in blocks[1:]:
        _must_agree(name, blocks[0], block)
    trace = local.here.trace
    written = {key: variable for block in blocks for key, variable in block.written.items()}
    before = [trace.read(variable)._array for variable in written.values()]
    again.remember(blocks)

    def branch(block: Block) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            results, state = cut(block(), [len(block.like), len(block.written)])
            after = dict(zip(block.written, state, strict=True))
            return results + [after.get(key, old) for key, old in zip(written, before, strict=True)]

        return run

    array = index._array
    if array.dtype == bool:
        arrays = lax.cond(array, branch(blocks[1]), branch(blocks[0]))
    else:
        arrays = lax.switch(array, [branch(block) for block in blocks])
    count = len(blocks[0].like)
    outputs = [wrap(a) for a in arrays[:count]]
    _write(written, arrays[count:])
    caught = {key: tensor for block in blocks for key, tensor in block.caught.items()}

    def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        def pulled(function: Callable[[], Any]) -> Callable[[], Tensors]:
            def run() -> Tensors:
                with again.replayed(), _tape(caught) as tape:
                    results = [t for t in map(_leaf, nest.flatten(function())) if type(t) is Tensor]
                return _swept(tape, results, gradients, list(caught.values()), lead)

            return run

        return nest.flatten(choose(f"gradient of {name}", index, [pulled(f) for f in later]))

    _record(name, list(caught.values()), outputs, pull)
    return blocks[0].pack(outputs)


def _must_agree(name: str, first: Block, other: Block) -> None:
    """Both branches of a choice must return the same structure of the same shapes and dtypes."""
    try:
        nest.assert_same_structure(first.structure, other.structure)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: the branches must return the same structure: {error}") from None
    a, b = [_described(x) for x in first.like], [_described(x) for x in other.like]
    statics = [[None if leaf is None else repr(leaf[0]) for leaf in block.leaves] for block in (first, other)]
    if a != b or statics[0] != statics[1]:
        raise TypeError(
            f"{name}: both branches must return tensors of the same shapes and dtypes, because one program has to do "
            f"for both; one returns {', '.join(a) or statics[0]}, the other {', '.join(b) or statics[1]}. Use cast or "
            "broadcast_to, or zeros of the same shape"
        )


def _described(like: Any) -> str:
    return f"{dtypes.of(like).name}{list(like.shape)}"


# ---------------------------------------------------------------------------------------------------------------------
# Loops


def loop(
    name: str,
    body: Callable[[Tensor, Tensors, Tensors], tuple[Tensors, Tensors]],
    carry: Tensors,
    rows: Tensors,
    length: int,
    reverse: bool = False,
    backwards: bool = False,
) -> tuple[Tensors, Tensors]:
    """`carry, out = body(i, carry, rows[i])` for each i; the last carry, and each `out` stacked.

    A scan: the body is compiled once, however long the loop is. `backwards` says that it pulls gradients back: see
    `ahead`.
    """
    again = _Again()
    trace = local.here.trace
    carry = [convert(t) for t in carry]
    step, count = wrap(np.zeros((), np.int32)), len(carry)

    def flat(i: Tensor, *tensors: Tensor) -> list[Tensors]:
        after, out = body(i, list(tensors[:count]), list(tensors[count:]))
        return [list(map(convert, after)), list(map(convert, out))]

    (flat_later,) = frozen([flat])
    first = [wrap(np.zeros(t._array.shape[1:], t._array.dtype)) for t in rows]
    block = _settled(flat, [step, *carry, *first], turn=0)
    again.remember([block])
    _must_stay(name, carry, block)
    heard = block.caught or any(tape._knows(t._key) for t in (*carry, *rows) for tape in local.here.tapes)

    given = [jax.numpy.arange(length, dtype=np.int32), *[t._array for t in rows]]
    places = [0, *range(count + 1, count + len(given))]
    parts = ahead(block.closed, places, count) if backwards and not heard else None
    known = parts.before(given) if parts else []

    def turn(held: Any, row: Any) -> Any:
        (i, *row), known = row
        inputs = (i, *held[:count], *row, *held[count:])
        out, factors = parts.step(inputs, known) if parts else (block(*inputs), [])
        results, state = cut(out, [len(block.like), len(block.written)])
        return [*results[:count], *state], (results[count:], held if heard else None, factors)

    start = [t._array for t in carry] + [trace.read(v)._array for v in block.written.values()]
    start = list(map(_start, start))
    last, (out, held, factors) = lax.scan(turn, start, (given, known), length=length, reverse=reverse)
    last = parts.after(last, known, factors) if parts else last
    _write(block.written, last[count:])
    finals, stacked = [wrap(a) for a in last[:count]], [wrap(a) for a in out]
    if not heard:
        return finals, stacked
    kept = [wrap(a) for a in held]
    pull = _Backwards(name, flat_later, again, block, carry, rows, stacked, kept, length, reverse)
    _record(name, [*carry, *rows, *pull.caught], [*finals, *stacked, *kept[:count]], pull)
    return finals, stacked


class _Backwards:
    """Pulls gradients back through a loop: that of the carry goes from step to step, those of what it caught add up."""

    def __init__(
        self,
        name: str,
        function: Callable[..., list[Tensors]],
        again: _Again,
        block: Block,
        carry: Tensors,
        rows: Tensors,
        stacked: Tensors,
        kept: Tensors,
        length: int,
        reverse: bool,
    ) -> None:
        self.name, self.function, self.again, self.block = name, function, again, block
        self.carry, self.rows, self.stacked, self.kept = carry, rows, stacked, kept
        self.length, self.reverse = length, reverse
        self.caught = list(block.caught.values())
        # The places among carry and rows of those that have a gradient.
        self.moving = [i for i, t in enumerate((*carry, *rows)) if dtypes.is_differentiable(t._array)]

    def __call__(self, gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        """The gradients of the carry, the rows and what was caught, for those of the loop's outputs."""
        count, extra = len(self.carry), len(lead)
        of_carry, of_out, others = cut(gradients, [count, len(self.stacked), len(gradients)])
        of_carry = [_or_zeros(g, t, lead) for g, t in zip(of_carry, self.carry, strict=True)]
        of_out = [_to_front(_or_zeros(g, t, lead), extra) for g, t in zip(of_out, self.stacked, strict=True)]
        # In higher orders, what the first gradient read of each step's carry has a gradient too.
        of_kept = {j: _to_front(g, extra) for j, g in enumerate(others) if g is not None}
        sizes = [len(self.kept), len(self.rows), len(of_out), len(of_kept)]

        def back(i: Tensor, state: Tensors, row: Tensors) -> tuple[Tensors, Tensors]:
            old, own, g_out, g_kept = cut(row, sizes)
            grads, of_caught = self._step(i, old, own, [*state[:count], *g_out], lead)
            for j, g in zip(of_kept, g_kept, strict=True):
                grads[j] = grads[j] + g
            new = [grads.get(j, state[j] if j < count else None) for j in range(count + len(own))]
            totals: Any = [a + b for a, b in zip(state[count:], of_caught, strict=True)]
            return [*new[:count], *totals], [g for g in new[count:] if g is not None]

        state = [*of_carry, *[_zeros(lead, t) for t in self.caught]]
        across = [*self.kept, *self.rows, *of_out, *of_kept.values()]
        state, rows = loop(
            f"gradient of {self.name}", back, state, across, self.length, not self.reverse, backwards=True
        )
        found = iter(_to_back(g, extra) for g in rows)
        of_rows = [next(found) if count + j in self.moving else None for j in range(len(self.rows))]
        own = [g if j in self.moving else None for j, g in enumerate(state[:count])]
        return [*own, *of_rows, *state[count:]]

    def _step(
        self, i: Tensor, old: Tensors, row: Tensors, gradients: Tensors, lead: tuple[int, ...]
    ) -> tuple[dict[int, Any], list[Any]]:
        """Run a step again under a tape: the gradients of its carry and row, by place, and of what was caught."""
        count = len(self.carry)
        values = dict(zip(self.block.written, old[count:], strict=True))
        sources = [*old[:count], *row]
        moving = [sources[j] for j in self.moving]
        with self.again.replayed(i, values), _tape(self.block.caught, moving) as tape:
            after, out = self.function(i, *sources)
        pulled = _swept(tape, [*after, *out], gradients, [*moving, *self.caught], lead)
        return dict(zip(self.moving, pulled[: len(moving)], strict=True)), pulled[len(moving) :]


def repeat_while(
    name: str,
    condition: Callable[[Tensors], Any],
    body: Callable[[Tensors], Tensors],
    carry: Tensors,
    limit: int | None,
) -> Tensors:
    """`carry = body(carry)` as long as `condition(carry)` holds, `limit` times at most."""
    carry = [convert(t) for t in carry]
    count = len(carry)
    step = wrap(np.zeros((), np.int32))

    def flat(i: Tensor, *tensors: Tensor) -> Tensors:
        return list(map(convert, body(list(tensors))))

    def test(i: Tensor, *tensors: Tensor) -> Tensor:
        return convert(condition(list(tensors)))

    block = _settled(flat, [step, *carry], turn=0)
    _must_stay(name, carry, block)
    going = Block(test, [step, *carry], block.written, turn=0)
    if going.like[0].shape != () or going.like[0].dtype != bool:
        raise InvalidArgumentError(
            f"{name}: the condition must be one truth value, not {_described(going.like[0])}"
        )
    caught = {**block.caught, **going.caught}
    heard = block.caught or any(tape._knows(t._key) for t in carry for tape in local.here.tapes)
    if heard and limit is not None:
        return _bounded(name, test, flat, carry, limit)

    def goes_on(held: Any) -> Any:
        goes, *_ = going(*held)
        return goes if limit is None else goes & (held[0] < limit)

    def turn(held: Any) -> Any:
        return [held[0] + 1, *block(*held)]

    trace = local.here.trace
    start = [step._array, *[t._array for t in carry]]
    start += [trace.read(v)._array for v in block.written.values()]
    last = lax.while_loop(goes_on, turn, list(map(_start, start)))
    _write(block.written, last[count + 1 :])
    finals = [wrap(a) for a in last[1 : count + 1]]

    def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        raise InvalidArgumentError(
            f"{name}: inside a @function the gradient of a loop needs to know how long it can get: give "
            "maximum_iterations (a `while` statement takes it by autograph.experimental.set_loop_options), or loop "
            "`for i in tf.range(n)` and leave early with break"
        )

    _record(name, [*carry, *caught.values()], finals, pull)
    return finals


def _bounded(name: str, test: Any, flat: Any, carry: Tensors, limit: int) -> Tensors:
    """A loop with a limit, as one of that length whose steps do nothing after the end."""

    def step(i: Tensor, state: Tensors, _: Tensors) -> tuple[Tensors, Tensors]:
        alive, *held = state

        def go() -> Tensors:
            goes = test(i, *held)
            after = choose(name, goes, [lambda: list(held), lambda: flat(i, *held)])
            return [goes, *after]

        return choose(name, alive, [lambda: [alive, *held], go]), []

    finals, _ = loop(name, step, [convert(True), *carry], [], limit)
    return finals[1:]


def _start(array: Any) -> Any:
    """What goes round at first. Zeros are made by the program, which else would be given them in every call."""
    if type(array) is np.ndarray and not np.ascontiguousarray(array).reshape(-1).view(np.uint8).any():
        return jax.numpy.zeros(array.shape, array.dtype)
    return jax.numpy.asarray(array)


def _settled(function: Callable[..., Any], inputs: Tensors, turn: int) -> Block:
    """The block of a loop's body, with the variables it writes going round with the rest."""
    block = Block(function, inputs, turn=turn)
    while True:
        again = Block(function, inputs, block.written, turn) if block.written else block
        if len(again.written) == len(block.written):
            return again
        block = again


def _must_stay(name: str, carry: Tensors, block: Block) -> None:
    """What goes round in a loop keeps its shape and dtype."""
    for i, (before, after) in enumerate(zip(carry, block.like)):
        if before._array.shape != after.shape or before._array.dtype != after.dtype:
            raise InvalidArgumentError(
                f"{name}: what goes round in a loop keeps its shape and dtype, and the value number {i + 1} goes in as "
                f"{_described(before._array)} and comes out as {_described(after)}. Start with a value of that kind, "
                "such as zeros(shape, dtype), or cast inside the loop"
            )


# ---------------------------------------------------------------------------------------------------------------------
# Gradients of blocks


def frozen(functions: list[Any]) -> list[Any]:
    """The functions, to be called later, with the variables around them as they are now.

    A function finds what its variables hold when it is called: in `for k in (1, 2): y = cond(c, lambda: k * y, ...)`
    that would be the last k for all when gradients are asked for. So each gets cells of its own, and so do functions in
    these cells; those that shared variables still do.
    """
    if not local.here.tapes:
        return functions
    cells: dict[int, CellType] = {}
    made: dict[int, FunctionType] = {}
    waiting: list[CellType] = []

    def cell(old: CellType) -> CellType:
        if id(old) not in cells:
            cells[id(old)] = CellType()
            waiting.append(old)
        return cells[id(old)]

    def copied(function: Any) -> Any:
        if type(function) is not FunctionType or not function.__closure__:
            return function
        if id(function) not in made:
            closure = tuple(map(cell, function.__closure__))
            code, names = function.__code__, function.__globals__
            made[id(function)] = copy = FunctionType(
                code, names, function.__name__, function.__defaults__, closure
            )
            copy.__kwdefaults__ = function.__kwdefaults__
            copy.__dict__.update(function.__dict__)
        return made[id(function)]

    result = list(map(copied, functions))
    while waiting:
        old = waiting.pop()
        with suppress(ValueError):  # a variable without a value
            cells[id(old)].cell_contents = copied(old.cell_contents)
    return result


class _Again:
    """What a function must find when it is run again for its gradient: variables as they were, the same random
    numbers."""

    def __init__(self) -> None:
        trace = local.here.trace
        self._draws = trace.root.draws
        self._random = trace
        self._values: dict[int, Tensor] = {}

    def remember(self, blocks: list[Block]) -> None:
        """Note what the variables that were read hold."""
        trace = local.here.trace
        for block in blocks:
            for key, variable in block.seen.items():
                self._values[key] = trace.read(variable)

    @contextmanager
    def replayed(self, turn: Tensor | None = None, values: dict[int, Tensor] | None = None) -> Iterator[None]:
        """A block in which the function finds it all again. What it writes is forgotten."""
        here = local.here
        before = here.trace
        here.trace = trace = Trace(before.name, parent=before)
        trace.values.update(self._values)
        for key, tensor in (values or {}).items():
            trace.values[key] = held = wrap(tensor._array)
            held._key = key
        trace.draws_like(self._random, None if turn is None else turn._array)
        draws, before.root.draws = before.root.draws, self._draws
        try:
            yield
        finally:
            before.root.draws = draws
            here.trace = before


@contextmanager
def _tape(known: dict[int, Tensor], watched: Tensors = ()) -> Iterator[GradientTape]:  # type: ignore[assignment]
    """A tape that knows these tensors, and no variable but those among them."""
    tape = GradientTape(watch_accessed_variables=False)
    with tape:
        for key in known:
            tape._known.add(key)
            tape._watched[key] = None
        for tensor in watched:
            tape._watch(tensor)
        yield tape


def _swept(
    tape: GradientTape, results: Tensors, gradients: list[Any], sources: Tensors, lead: tuple[int, ...]
) -> Tensors:
    """The gradients of the sources as tensors, zeros where there is none."""
    seeds: dict[int, Any] = {}
    for result, g in zip(results, gradients, strict=True):
        if g is not None and dtypes.is_differentiable(result._array):
            value = g if local.here.tapes else g._array
            key = key_of(result)
            seeds[key] = seeds[key] + value if key in seeds else value
    found = tape._sweep(seeds, [key_of(s) for s in sources])
    return [_or_zeros(found.get(s._key), s, lead) for s in sources]


def _or_zeros(g: Any, like: Tensor, lead: tuple[int, ...]) -> Tensor:
    if g is None:
        return _zeros(lead, like)
    if isinstance(g, IndexedSlices):
        g = g.dense()
    return g if type(g) is Tensor else wrap(g)


def _zeros(lead: tuple[int, ...], like: Tensor) -> Tensor:
    return wrap(jax.numpy.zeros(lead + like._array.shape, like._array.dtype))


def _to_front(g: Tensor, axis: int) -> Tensor:
    """The axis of the steps, which stands behind any others that a gradient carries, in front."""
    return _moved(g, (axis, *[i for i in range(g.ndim) if i != axis])) if axis else g


def _to_back(g: Tensor, axis: int) -> Tensor:
    return _moved(g, (*range(1, axis + 1), 0, *range(axis + 1, g.ndim))) if axis else g


def _moved(g: Tensor, order: tuple[int, ...]) -> Tensor:
    result: Tensor = Primitive.registry["transpose"](g, perm=order)
    return result


def _write(variables: dict[int, Variable], arrays: list[Any]) -> None:
    for variable, array in zip(variables.values(), arrays, strict=True):
        variable._put(array)


def _record(
    name: str, inputs: Tensors, outputs: Tensors, pull: Callable[[list[Any], tuple[int, ...]], list[Any]]
) -> None:
    if inputs:
        plan = _FlowPlan(name, pull, outputs, tuple(range(len(inputs))))
        for tape in local.here.tapes:
            tape._record_custom(plan, inputs, outputs)


class _FlowPlan:
    """A plan (see `primitive.Plan`) for a choice or a loop as a whole."""

    def __init__(self, name: str, pull: Any, outputs: Tensors, heard: tuple[int, ...]) -> None:
        self.name = name
        self.heard = heard
        self._pull = pull
        self._outputs = outputs

    def only(self, positions: tuple[int, ...]) -> _FlowPlan:
        return _FlowPlan(self.name, self._pull, self._outputs, positions)

    def arrays(self, gradients: tuple[Any, ...], kept: tuple[()] = ()) -> list[Any]:
        tensors = tuple(None if g is None else wrap(g) for g in gradients)
        return [g if g is None else g._array for g in self.tensors(tensors)]

    def tensors(self, gradients: tuple[Any, ...], kept: tuple[()] = ()) -> list[Any]:
        gradients = tuple(
            g if dtypes.is_differentiable(output._array) else None
            for g, output in zip(gradients, self._outputs, strict=True)
        )
        given = next(i for i, g in enumerate(gradients) if g is not None)
        shape = gradients[given]._array.shape
        lead = shape[: len(shape) - self._outputs[given].ndim]
        pulled = self._pull(list(gradients), lead)
        return [pulled[i] for i in self.heard]
