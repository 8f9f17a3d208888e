"""Choosing and looping inside a @function that is being traced: XLA's own conditionals and loops, differentiable.

A branch or a body is a `Block`, traced once. Blocks use tensors from around them, and tapes around them must hear of
that: the whole is recorded as one operation on those. Its gradient is a choice between, or a loop backwards over, the
gradients of the blocks. Since that is written with the same `choose` and `loop`, it can be differentiated in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax

from ..core import dtypes, nest
from ..core.errors import InvalidArgumentError, NotCompilableError
from ..core.primitive import local, recast
from ..core.structural import transpose_
from ..core.tensor import Tensor, convert, key_of, wrap
from ..engine.arrays import is_traced
from .blocks import Block, Tensors, call, or_zeros, record, watched, write
from .loop_motion import ahead
from .program import cut

_SINGLE = np.dtype(np.float32)

# ---------------------------------------------------------------------------------------------------------------------
# Choosing


def choose(name: str, index: Tensor, functions: list[Callable[[], Any]]) -> Any:
    """What one of the functions returns: the second for a true condition; or the one with this number."""
    if index._array.dtype == bool:  # the true branch is traced first, as in TensorFlow
        blocks = [Block(function, []) for function in reversed(functions)][::-1]
    else:
        blocks = [Block(function, []) for function in functions]
    for block in blocks[1:]:
        _must_agree(name, blocks[0], block)
    trace = local.here.trace
    written = {key: variable for block in blocks for key, variable in block.written.items()}
    before = [trace.read(variable)._array for variable in written.values()]

    def branch(block: Block) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            results, state, saved = block()
            after = dict(zip(block.written, state, strict=True))
            out = results + [after.get(key, old) for key, old in zip(written, before, strict=True)]
            for other in blocks:
                out += saved if other is block else [jax.numpy.zeros(*_kind(v.aval)) for v in other.saved]
            return out

        return run

    array = index._array
    if array.dtype == bool:
        arrays = lax.cond(array, branch(blocks[1]), branch(blocks[0]))
    else:
        arrays = lax.switch(array, [branch(block) for block in blocks])
    results, state, *rest = cut(
        arrays, [len(blocks[0].like), len(written), *[len(block.saved) for block in blocks]]
    )
    outputs = [wrap(a) for a in results]
    saved = [[wrap(a) for a in part] for part in rest]
    write(written, state)
    sources = {k: t for block in blocks for k, t in block.caught.items() if k in block.connected()}

    def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        def pulled(block: Block, saved: Tensors) -> Callable[[], Tensors]:
            def run() -> Tensors:
                block.open([], [], saved)
                return block.pull(gradients, [(k, t._array) for k, t in sources.items()], lead)

            return run

        branches = [pulled(block, part) for block, part in zip(blocks, saved, strict=True)]
        return nest.flatten(choose(f"gradient of {name}", index, branches))

    kept = [index, *[t for part in saved for t in part], *[t for block in blocks for t in block.kept]]
    record(name, list(sources.values()), outputs, pull, kept)
    return blocks[0].pack(outputs)


def _kind(array: Any) -> tuple[Any, Any]:
    return array.shape, array.dtype


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
    trace = local.here.trace
    carry = [convert(t) for t in carry]
    step, count = wrap(np.zeros((), np.int32)), len(carry)

    def flat(i: Tensor, *tensors: Tensor) -> list[Tensors]:
        after, out = body(i, list(tensors[:count]), list(tensors[count:]))
        return [list(map(convert, after)), list(map(convert, out))]

    first = [wrap(np.zeros(t._array.shape[1:], t._array.dtype)) for t in rows]
    block = Block(flat, [step, *carry, *first], turn=0, ranges=ranges(length, count, rows))
    block.take(block.written)
    _must_stay(name, carry, block)
    is_watched = watched([*carry, *rows]) or bool(block.caught)

    given = [jax.numpy.arange(length, dtype=np.int32), *[t._array for t in rows]]
    places = [0, *range(count + 1, count + len(given))]
    parts = ahead(block.code, block.consts, places, count) if backwards and not is_watched else None
    known = parts.before(given) if parts else []

    def turn(held: Any, row: Any) -> Any:
        (i, *row), known = row
        inputs = (i, *held[:count], *row)
        if parts:
            out, factors = parts.step(block.arguments(inputs, held[count:]), known)
            results, state, saved = cut(out, [len(block.like), len(block.written), 0])
        else:
            (results, state, saved), factors = block(inputs, held[count:]), []
        keep = (held, saved) if is_watched else None
        return [*results[:count], *state], (results[count:], keep, factors)

    start = [t._array for t in carry] + [trace.read(v)._array for v in block.written.values()]
    start = list(map(_start, start))
    last, (out, kept, factors) = lax.scan(turn, start, (given, known), length=length, reverse=reverse)
    last = parts.after(last, known, factors) if parts else last
    write(block.written, last[count:])
    finals, stacked = [wrap(a) for a in last[:count]], [wrap(a) for a in out]
    if not is_watched:
        return finals, stacked
    held, saved = ([wrap(a) for a in part] for part in kept)
    pull = _Backwards(name, block, carry, rows, stacked, held, saved, length, reverse)
    outputs = [*finals, *stacked, *held[:count]]
    record(name, pull.sources, outputs, pull, [*rows, *held, *saved, *block.kept])
    return finals, stacked


def ranges(length: int, count: int, rows: Tensors) -> dict[int, tuple[int, int]]:
    """Between which numbers the integers lie that a step is given: the number of its turn, and rows of constants."""
    found = {0: (0, max(length - 1, 0))}
    for place, row in enumerate(rows, count + 1):
        array = row._array
        if array.ndim == 1 and array.dtype.kind in "iu" and array.size and not is_traced(array):
            found[place] = int(array.min()), int(array.max())
    return found


class _Backwards:
    """Pulls gradients back through a loop: that of the carry goes from step to step, those of what it caught add up."""

    def __init__(
        self,
        name: str,
        block: Block,
        carry: Tensors,
        rows: Tensors,
        stacked: Tensors,
        held: Tensors,
        saved: Tensors,
        length: int,
        reverse: bool,
    ) -> None:
        self.name, self.block, self.length, self.reverse = name, block, length, reverse
        self.carry, self.rows, self.stacked = carry, rows, stacked
        self.held, self.saved = held, saved  # what each step was given and called the host for
        connected = block.connected()
        self.caught = {key: t for key, t in block.caught.items() if key in connected}
        given = block.given[1:]
        # The places among carry and rows of those that have a gradient.
        self.moving = [i for i, t in enumerate(given) if key_of(t) in connected]
        outside = [*carry, *rows]
        self.sources = [*[outside[i] for i in self.moving], *self.caught.values()]

    def __call__(self, gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        """The gradients of the carry, the rows and what was caught, for those of the loop's outputs."""
        count, extra = len(self.carry), len(lead)
        of_carry, of_out, others = cut(gradients, [count, len(self.stacked), len(gradients)])
        of_carry = [or_zeros(g, t._array, lead) for g, t in zip(of_carry, self.carry, strict=True)]
        of_out = [
            _to_front(or_zeros(g, t._array, lead), extra) for g, t in zip(of_out, self.stacked, strict=True)
        ]
        # In higher orders, what the first gradient read of each step's carry has a gradient too.
        of_held = {j: _to_front(g, extra) for j, g in enumerate(others) if g is not None}
        sizes = [len(self.held), len(self.saved), len(self.rows), len(of_out), len(of_held)]

        def back(i: Tensor, state: Tensors, row: Tensors) -> tuple[Tensors, Tensors]:
            old, saved, own, g_out, g_held = cut(row, sizes)
            self.block.open([i, *old[:count], *own], old[count:], saved)
            grads, of_caught = self._step([*state[:count], *g_out], lead)
            for j, g in zip(of_held, g_held, strict=True):
                grads[j] = grads[j] + g if j in grads else g
            carried = [grads[j] if j in grads else or_zeros(None, state[j]._array, ()) for j in range(count)]
            totals: Any = [a + _wide(b) for a, b in zip(state[count:], of_caught, strict=True)]
            return [*carried, *totals], [grads[j] for j in self.moving if j >= count]

        # Totals of half precision add up in float32: in bfloat16 256 + 1 is 256.
        zeros = [_wide(or_zeros(None, t._array, lead)) for t in self.caught.values()]
        across = [*self.held, *self.saved, *self.rows, *of_out, *of_held.values()]
        state, rows = loop(
            f"gradient of {self.name}",
            back,
            [*of_carry, *zeros],
            across,
            self.length,
            not self.reverse,
            backwards=True,
        )
        found = iter(_to_back(g, extra) for g in rows)
        own = [state[j] if j < count else next(found) for j in self.moving]
        totals = zip(state[count:], self.caught.values(), strict=True)
        return [
            *own,
            *[recast(total, _SINGLE, t._array.dtype) if _is_half(t) else total for total, t in totals],
        ]

    def _step(self, gradients: Tensors, lead: tuple[int, ...]) -> tuple[dict[int, Any], list[Any]]:
        """The gradients of a step's carry and row, by place, and of what was caught."""
        given = self.block.given[1:]
        sources = [(key_of(given[j]), given[j]._array) for j in self.moving]
        sources += [(key, t._array) for key, t in self.caught.items()]
        pulled = self.block.pull(gradients, sources, lead)
        return dict(zip(self.moving, pulled, strict=False)), pulled[len(self.moving) :]


def _is_half(tensor: Tensor) -> bool:
    return tensor._array.dtype.char in dtypes.HALF


def _wide(tensor: Tensor) -> Any:
    """Half precision in float32."""
    return recast(tensor, tensor._array.dtype, _SINGLE) if _is_half(tensor) else tensor


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

    block = Block(flat, [step, *carry], turn=0)
    going = Block(test, [step, *carry], turn=0)
    _must_stay(name, carry, block)
    if going.like[0].shape != () or going.like[0].dtype != bool:
        raise InvalidArgumentError(
            f"{name}: the condition must be one truth value, not {_described(going.like[0])}"
        )
    if going.written:
        names = " and ".join(v.name for v in going.written.values())
        raise InvalidArgumentError(
            f"{name}: the condition assigns the variable {names}, which a compiled loop cannot do between its turns: "
            "assign it in the body"
        )
    block.take(block.written)
    going.take(block.written)
    caught = {**block.caught, **going.caught}
    is_watched = watched(carry) or bool(block.caught)
    if is_watched and limit is not None:
        return _bounded(name, going, block, carry, limit)

    def parted(held: Any) -> tuple[Any, Any]:
        return held[: count + 1], held[count + 1 :]

    def goes_on(held: Any) -> Any:
        goes = going(*parted(held))[0][0]
        return goes if limit is None else goes & (held[0] < limit)

    def turn(held: Any) -> Any:
        results, state, _ = block(*parted(held))
        return [held[0] + 1, *results, *state]

    trace = local.here.trace
    start = [step._array, *[t._array for t in carry]]
    start += [trace.read(v)._array for v in block.written.values()]
    last = lax.while_loop(goes_on, turn, list(map(_start, start)))
    write(block.written, last[count + 1 :])
    finals = [wrap(a) for a in last[1 : count + 1]]

    def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        raise NotCompilableError(
            f"{name}: inside a @function the gradient of a loop needs to know how long it can get, and nothing bounds "
            "the number of its turns: give maximum_iterations (a `while` statement takes it by "
            "autograph.experimental.set_loop_options; a `for` over a range of a traced length by a range of a fixed "
            "length that is left with break)"
        )

    record(name, [*carry, *caught.values()], finals, pull, [])
    return finals


def _bounded(name: str, going: Block, block: Block, carry: Tensors, limit: int) -> Tensors:
    """A loop with a limit, as one of that length whose steps do nothing after the end."""

    def step(i: Tensor, state: Tensors, _: Tensors) -> tuple[Tensors, Tensors]:
        alive, *held = state

        def go() -> Tensors:
            (goes,) = call(name, going, [i, *held])
            after = choose(name, goes, [lambda: list(held), lambda: call(name, block, [i, *held])])
            return [goes, *after]

        return choose(name, alive, [lambda: [alive, *held], go]), []

    finals, _ = loop(name, step, [convert(True), *carry], [], limit)
    return finals[1:]


def _start(array: Any) -> Any:
    """What goes round at first. Zeros are made by the program, which else would be given them in every call."""
    if type(array) is np.ndarray and not np.ascontiguousarray(array).reshape(-1).view(np.uint8).any():
        return jax.numpy.zeros(array.shape, array.dtype)
    return jax.numpy.asarray(array)


def _must_stay(name: str, carry: Tensors, block: Block) -> None:
    """What goes round in a loop keeps its shape and dtype."""
    for i, (before, after) in enumerate(zip(carry, block.like)):
        if before._array.shape != after.shape or before._array.dtype != after.dtype:
            raise InvalidArgumentError(
                f"{name}: what goes round in a loop keeps its shape and dtype, and the value number {i + 1} goes in as "
                f"{_described(before._array)} and comes out as {_described(after)}. Start with a value of that kind, "
                "such as zeros(shape, dtype), or cast inside the loop"
            )


def _to_front(g: Tensor, axis: int) -> Tensor:
    """The axis of the steps, which stands behind any others that a gradient carries, in front."""
    return _moved(g, (axis, *[i for i in range(g.ndim) if i != axis])) if axis else g


def _to_back(g: Tensor, axis: int) -> Tensor:
    return _moved(g, (*range(1, axis + 1), 0, *range(axis + 1, g.ndim))) if axis else g


def _moved(g: Tensor, order: tuple[int, ...]) -> Tensor:
    result: Tensor = transpose_(g, perm=order)
    return result
