"""Choices and loops inside a @function that is being traced: XLA's own conditionals and loops, differentiable.

A branch or a body is a `Block`, traced once. Tapes around a block must hear of the tensors it captures: the whole is
recorded as one operation on those. Its gradient is a choice between, or a loop backwards over, the gradients of the
blocks. Since that is written with the same `choose` and `loop`, it can be differentiated in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax

from ..core import dtypes, nest
from ..core.errors import InvalidArgumentError, NotCompilableError, UnknownShapeError
from ..core.primitive import local, recast
from ..core.structural import transpose_
from ..core.tensor import Tensor, key_of, wrap
from ..core.tensor_conversion import convert
from ..core.variable import Variable
from ..engine.arrays import is_traced
from ..ops.array.dynamic_slices import dynamic_update_slice
from ..ops.array.movement import concat, expand_dims, gather, reshape
from ..ops.math.functions import maximum, where
from .blocks import Block, call, call_with_state, or_zeros, write
from .jaxprs import split
from .loop_motion import hoist
from .records import Tensors, is_watched, record
from .trip_counts import trip_count

Body = Callable[[Tensor, Tensors, Tensors], tuple[Tensors, Tensors]]

_SINGLE = np.dtype(np.float32)
_FIRST = np.zeros((), np.int32)  # like the number of an iteration
_CHECKPOINT_BYTES = 1 << 26  # of all checkpoints of a loop of unknown length
_STORED_BYTES = (
    1 << 28
)  # of the carries of all iterations: what a gradient may store where no limit was given

# ---------------------------------------------------------------------------------------------------------------------
# Choosing


def choose(name: str, index: Tensor, functions: list[Callable[[], Any]]) -> Any:
    """The result of one of the functions: the second for a true condition; or the one with this number."""
    array = index._array
    if array.dtype == bool:  # the true branch is traced first, as in TensorFlow
        blocks = [Block(function, []) for function in reversed(functions)][::-1]
    else:
        blocks = [Block(function, []) for function in functions]
    for block in blocks[1:]:
        _check_branches(name, blocks[0], block)
    written = {key: variable for block in blocks for key, variable in block.written.items()}
    branches = _branches(blocks, written)
    if array.dtype == bool:
        arrays = lax.cond(array, branches[1], branches[0])
    else:
        arrays = lax.switch(array, branches)
    counts = [len(blocks[0].specs), len(written), *[len(block.host_results) for block in blocks]]
    results, state, *saved = split(arrays, counts)
    outputs = [wrap(a) for a in results]
    host_results = [[wrap(a) for a in part] for part in saved]
    write(written, state)
    sources = {k: t for block in blocks for k, t in block.captures.items() if k in block.connected()}

    def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        def pulling(block: Block, host_results: Tensors) -> Callable[[], Tensors]:
            def run() -> Tensors:
                block.recompute([], [], host_results)
                return block.pull_back(gradients, [(k, t._array) for k, t in sources.items()], lead)

            return run

        branches = [pulling(block, part) for block, part in zip(blocks, host_results, strict=True)]
        return nest.flatten(choose(f"gradient of {name}", index, branches))

    kept = [index, *[t for part in host_results for t in part]]
    kept += [t for block in blocks for t in block.outer_tensors]
    record(name, list(sources.values()), outputs, pull, kept)
    return blocks[0].pack(outputs)


def _branches(blocks: list[Block], written: dict[int, Variable]) -> list[Callable[[], list[Any]]]:
    """The blocks as functions that all return the results, the values of `written`, and every block's host results."""
    trace = local.here.trace
    before = [trace.read(variable)._array for variable in written.values()]

    def branch(block: Block) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            results, state, host_results = block.evaluate()
            after = dict(zip(block.written, state, strict=True))
            out = results + [after.get(key, old) for key, old in zip(written, before, strict=True)]
            for other in blocks:
                zeros = [jax.numpy.zeros(v.aval.shape, v.aval.dtype) for v in other.host_results]
                out += host_results if other is block else zeros
            return out

        return run

    return [branch(block) for block in blocks]


def _check_branches(name: str, first: Block, other: Block) -> None:
    """Raise unless both branches return the same structure of the same shapes and dtypes."""
    try:
        nest.assert_same_structure(first.structure, other.structure, expand_composites=True)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: the branches must return the same structure: {error}") from None
    a, b = [_described(x) for x in first.specs], [_described(x) for x in other.specs]
    statics = [
        [None if leaf is None else repr(leaf[0]) for leaf in block.static_leaves] for block in (first, other)
    ]
    if a != b or statics[0] != statics[1]:
        same_dtypes = [dtypes.of(x) for x in first.specs] == [dtypes.of(x) for x in other.specs]
        raise (UnknownShapeError if same_dtypes and statics[0] == statics[1] else TypeError)(
            f"{name}: both branches must return tensors of the same shapes and dtypes, because one program has to do "
            f"for both; one returns {', '.join(a) or statics[0]}, the other {', '.join(b) or statics[1]}. Use cast or "
            "broadcast_to, or zeros of the same shape"
        )


def _described(spec: Any) -> str:
    return f"{dtypes.of(spec).name}{list(spec.shape)}"


def call_recomputing(name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a function for these arguments. Its gradient computes everything again, and keeps nothing.

    The gradient is a branch that is always taken: what XLA finds outside of a branch it would not compute again.
    """
    leaves = nest.flatten(args)
    inputs = [leaf for leaf in leaves if type(leaf) is Tensor]

    def run(*tensors: Tensor) -> Any:
        remaining = iter(tensors)
        packed = [next(remaining) if type(leaf) is Tensor else leaf for leaf in leaves]
        return function(*nest.pack_sequence_as(args, packed), **kwargs)

    block = Block(run, inputs)
    return block.pack(call(name, block, inputs, _apart))


def _apart(name: str, gradients: list[Any], pull: Callable[[], Tensors], like: list[Any]) -> Tensors:
    """`pull()`, in a branch of its own."""
    (first, *_) = [g._array for g in gradients if g is not None and g._array.size] or [None]
    if first is None:
        return pull()
    bits = lax.bitcast_convert_type(
        first.reshape(-1)[0].real, np.dtype(f"int{8 * first.real.dtype.itemsize}")
    )
    always = wrap((bits >= 0) | (bits < 0))  # which XLA does not see
    zeros = lambda: [or_zeros(None, array, ()) for array in like]
    return list(choose(f"gradient of {name}", always, [zeros, pull]))


# ---------------------------------------------------------------------------------------------------------------------
# Loops of known length


def loop(
    name: str, body: Body, carry: Tensors, rows: Tensors, length: int, reverse: bool = False
) -> tuple[Tensors, Tensors]:
    """`carry, out = body(i, carry, rows[i])` for each i; the last carry, and each `out` stacked."""
    return _Scan(name, body, carry, rows, length, reverse).run()


def try_iteration(function: Callable[..., Any], rows: Tensors, length: int | None) -> None:
    """Trace `function(i, *row)` as one iteration of a loop, for what its Python finds out; the code is dropped."""
    ranges = _ranges(length, 0, rows) if length else None
    Block(function, [wrap(_FIRST), *_row_like(rows)], iteration=0, ranges=ranges)


def _row_like(rows: Tensors) -> Tensors:
    return [wrap(np.zeros(t._array.shape[1:], t._array.dtype)) for t in rows]


def _ranges(length: int, count: int, rows: Tensors) -> dict[int, tuple[int, int]]:
    """The ranges of the integers that a step is given: the number of its iteration, and rows of constants."""
    found = {0: (0, max(length - 1, 0))}
    for position, row in enumerate(rows, count + 1):
        array = row._array
        if array.ndim == 1 and array.dtype.kind in "iu" and array.size and not is_traced(array):
            found[position] = int(array.min()), int(array.max())
    return found


class _Loop:
    """The sources of a loop's gradient, and the gradient of one step."""

    name: str
    block: Block
    carry: Tensors
    may_be_empty: bool  # have no iteration

    def _find_sources(self, rows: Tensors) -> Tensors:
        """The inputs and captures that the results of the loop depend on; notes which they are."""
        connected = self.block.connected()
        self.captures = {key: t for key, t in self.block.captures.items() if key in connected}
        if self.may_be_empty:  # without a step, the results are the first carry
            first = self.block.placeholders[1 : len(self.carry) + 1]
            connected = connected.union(key_of(t) for t in first if dtypes.is_differentiable(t._array))
        # The positions, among carry and rows, of those that have a gradient.
        self.connected = [i for i, t in enumerate(self.block.placeholders[1:]) if key_of(t) in connected]
        outside = [*self.carry, *rows]
        return [*[outside[i] for i in self.connected], *self.captures.values()]

    def _pull_back_step(self, gradients: Tensors, lead: tuple[int, ...]) -> tuple[dict[int, Any], list[Any]]:
        """The gradients of a step's carry and row, by position, and of the captures."""
        inputs = self.block.placeholders[1:]
        sources = [(key_of(inputs[j]), inputs[j]._array) for j in self.connected]
        sources += [(key, t._array) for key, t in self.captures.items()]
        pulled = self.block.pull_back(gradients, sources, lead)
        return dict(zip(self.connected, pulled, strict=False)), pulled[len(self.connected) :]

    def _first_totals(self, lead: tuple[int, ...]) -> Tensors:
        """Zeros for the captures. Half precision adds up in float32: in bfloat16 256 + 1 is 256."""
        return [_wide(or_zeros(None, t._array, lead)) for t in self.captures.values()]

    def _of_captures(self, totals: Tensors) -> Tensors:
        """The totals in the dtypes of the captures."""
        pairs = zip(totals, self.captures.values(), strict=True)
        return [recast(total, _SINGLE, t._array.dtype) if _is_half(t) else total for total, t in pairs]


class _Scan(_Loop):
    """A loop of known length: the body is compiled once, however long the loop is."""

    def __init__(
        self, name: str, body: Body, carry: Tensors, rows: Tensors, length: int, reverse: bool
    ) -> None:
        self.name, self.rows, self.length, self.reverse = name, rows, length, reverse
        self.may_be_empty = not length
        self.carry = [convert(t) for t in carry]
        self.count = count = len(carry)

        def flat(i: Tensor, *tensors: Tensor) -> list[Tensors]:
            after, out = body(i, list(tensors[:count]), list(tensors[count:]))
            return [list(map(convert, after)), list(map(convert, out))]

        inputs = [wrap(_FIRST), *self.carry, *_row_like(rows)]
        self.block = Block(flat, inputs, iteration=0, ranges=_ranges(length, count, rows))
        self.block.set_state(self.block.written)
        _check_carry(name, self.carry, self.block)

    def run(self, *, hoisting: bool = False) -> tuple[Tensors, Tensors]:
        """Run the loop; with `hoisting`, for one that pulls gradients back, see `loop_motion`."""
        block, count = self.block, self.count
        watched = is_watched([*self.carry, *self.rows]) or bool(block.captures)
        rows = [jax.numpy.arange(self.length, dtype=np.int32), *[t._array for t in self.rows]]
        positions = [0, *range(count + 1, count + len(rows))]
        parts = hoist(block.code, block.constants, positions, count) if hoisting and not watched else None
        hoisted = parts.before(rows) if parts else []

        def step(carry: Any, row: Any) -> Any:
            (i, *row), hoisted = row
            inputs, state = (i, *carry[:count], *row), carry[count:]
            if parts:
                out, factors = parts.step(block.code_inputs(inputs, state), hoisted)
                results, state, saved = split(out, [len(block.specs), len(block.written), 0])
            else:
                (results, state, saved), factors = block.evaluate(inputs, state), []
            keep = (carry, saved) if watched else None
            return [*results[:count], *state], (results[count:], keep, factors)

        start = _initial_carry(self.carry, block.written)
        last, (out, kept, factors) = lax.scan(
            step, start, (rows, hoisted), length=self.length, reverse=self.reverse
        )
        last = parts.after(last, hoisted, factors) if parts else last
        write(block.written, last[count:])
        finals, stacked = [wrap(a) for a in last[:count]], [wrap(a) for a in out]
        if watched:
            self._record(finals, stacked, *[[wrap(a) for a in part] for part in kept])
        return finals, stacked

    # -- the gradient -------------------------------------------------------------------------------------------------

    def _record(self, finals: Tensors, stacked: Tensors, carries: Tensors, host_results: Tensors) -> None:
        """Tell the open tapes of the loop. `carries` and `host_results` are those of each step, stacked."""
        self.stacked, self.carries, self.host_results = stacked, carries, host_results
        sources = self._find_sources(self.rows)
        outputs = [*finals, *stacked, *carries[: self.count]]
        kept = [*self.rows, *carries, *host_results, *self.block.outer_tensors]
        record(self.name, sources, outputs, self._pull_back, kept)

    def _pull_back(self, gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        """The gradients of the carry, the rows and the captures, for those of the loop's outputs.

        The gradient of the carry goes from step to step; those of the captures add up.
        """
        count, extra = self.count, len(lead)
        of_carry, of_out, of_carries = split(gradients, [count, len(self.stacked), len(gradients)])
        of_carry = [or_zeros(g, t._array, lead) for g, t in zip(of_carry, self.carry, strict=True)]
        of_out = [
            _steps_first(or_zeros(g, t._array, lead), extra)
            for g, t in zip(of_out, self.stacked, strict=True)
        ]
        # In higher orders, what the first gradient read of each step's carry has a gradient as well.
        later = {j: _steps_first(g, extra) for j, g in enumerate(of_carries) if g is not None}
        rows = [self.carries, self.host_results, self.rows, of_out, list(later.values())]
        sizes = list(map(len, rows))

        def back(i: Tensor, state: Tensors, row: Tensors) -> tuple[Tensors, Tensors]:
            before, host_results, slices, g_out, g_later = split(row, sizes)
            self.block.recompute([i, *before[:count], *slices], before[count:], host_results)
            grads, of_captures = self._pull_back_step([*state[:count], *g_out], lead)
            for j, g in zip(later, g_later, strict=True):
                grads[j] = grads[j] + g if j in grads else g
            carried = [grads[j] if j in grads else or_zeros(None, state[j]._array, ()) for j in range(count)]
            totals: Any = [a + _wide(b) for a, b in zip(state[count:], of_captures, strict=True)]
            return [*carried, *totals], [grads[j] for j in self.connected if j >= count]

        zeros = self._first_totals(lead)
        stacks = [t for part in rows for t in part]
        name = f"gradient of {self.name}"
        backwards = _Scan(name, back, [*of_carry, *zeros], stacks, self.length, not self.reverse)
        state, stacked = backwards.run(hoisting=True)
        found = iter(_steps_last(g, extra) for g in stacked)
        of_inputs = [state[j] if j < count else next(found) for j in self.connected]
        return [*of_inputs, *self._of_captures(state[count:])]


def _is_half(tensor: Tensor) -> bool:
    return tensor._array.dtype.char in dtypes.HALF


def _wide(tensor: Tensor) -> Any:
    """Half precision in float32."""
    return recast(tensor, tensor._array.dtype, _SINGLE) if _is_half(tensor) else tensor


def _steps_first(g: Tensor, axis: int) -> Tensor:
    """Move the axis of the steps, which stands after the extra leading axes of a gradient, to the front."""
    return _transposed(g, (axis, *[i for i in range(g.ndim) if i != axis])) if axis else g


def _steps_last(g: Tensor, axis: int) -> Tensor:
    """Move the axis of the steps from the front to after the extra leading axes."""
    return _transposed(g, (*range(1, axis + 1), 0, *range(axis + 1, g.ndim))) if axis else g


def _transposed(g: Tensor, order: tuple[int, ...]) -> Tensor:
    result: Tensor = transpose_(g, perm=order)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Loops that a condition ends


def while_loop(
    name: str,
    condition: Callable[[Tensors], Any],
    body: Callable[[Tensors], Tensors],
    carry: Tensors,
    limit: int | None,
) -> Tensors:
    """`carry = body(carry)` as long as `condition(carry)` holds, `limit` times at most."""
    carry = [convert(t) for t in carry]

    def step(i: Tensor, *tensors: Tensor) -> Tensors:
        return list(map(convert, body(list(tensors))))

    def goes_on(i: Tensor, *tensors: Tensor) -> Tensor:
        return convert(condition(list(tensors)))

    block = Block(step, [wrap(_FIRST), *carry], iteration=0)
    test = Block(goes_on, [wrap(_FIRST), *carry], iteration=0)
    _check_carry(name, carry, block)
    _check_condition(name, test)
    block.set_state(block.written)
    test.set_state(block.written)
    watched = is_watched(carry) or bool(block.captures)
    count = trip_count(test, block, carry, limit) if watched else None
    if count is not None and (limit is not None or count * _size(carry) <= _STORED_BYTES):
        return _counted_while(name, block, carry, count)
    if watched and limit is not None:
        return _bounded_while(name, test, block, carry, limit)
    return _While(name, test, block, carry).run(limit, watched)


def _check_condition(name: str, test: Block) -> None:
    if test.specs[0].shape != () or test.specs[0].dtype != bool:
        raise InvalidArgumentError(
            f"{name}: the condition must be one truth value, not {_described(test.specs[0])}"
        )
    if test.written:
        names = " and ".join(v.name for v in test.written.values())
        raise InvalidArgumentError(
            f"{name}: the condition assigns the variable {names}, which a compiled loop cannot do between its turns: "
            "assign it in the body"
        )


class _While(_Loop):
    """A loop of unknown length, as XLA's `while`.

    Its gradient runs the loop again, whose length is known by then, and stores evenly spaced carries: checkpoints.
    Then it goes back from checkpoint to checkpoint: the carries in between are computed from the one before, and each
    step is pulled back. With S checkpoints, n <= S steps are computed twice, n <= S**2 steps three times; the memory
    does not depend on n.
    """

    def __init__(self, name: str, test: Block, block: Block, carry: Tensors) -> None:
        self.name, self.test, self.block, self.carry = name, test, block, carry
        self.count = len(carry)
        self.may_be_empty = True

    def run(self, limit: int | None, watched: bool) -> Tensors:
        """The last carry."""
        test, block, count = self.test, self.block, self.count

        def parts(values: Any) -> tuple[Any, Any]:  # the number of the iteration and the carry; the state
            return values[: count + 1], values[count + 1 :]

        def goes_on(values: Any) -> Any:
            goes = test.evaluate(*parts(values))[0][0]
            return goes if limit is None else goes & (values[0] < limit)

        def step(values: Any) -> Any:
            results, state, _ = block.evaluate(*parts(values))
            return [values[0] + 1, *results, *state]

        start = _initial_carry([wrap(_FIRST), *self.carry], block.written)
        last = lax.while_loop(goes_on, step, start)
        write(block.written, last[count + 1 :])
        finals = [wrap(a) for a in last[1 : count + 1]]
        if watched:
            self._record(finals, wrap(last[0]), [wrap(a) for a in start[count + 1 :]])
        return finals

    def _record(self, finals: Tensors, length: Tensor, state: Tensors) -> None:
        """Tell the open tapes of the loop, which began with `state` as the values of its variables."""
        self.length, self.state = length, state
        sources = self._find_sources([])
        kept = [*self.carry, *state, length, *self.block.outer_tensors]
        record(self.name, sources, finals, self._pull_back, kept)

    # -- the gradient -------------------------------------------------------------------------------------------------

    def _pull_back(self, gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        """The gradients of the carry and the captures, for those of the last carry."""
        if self.block.host_results:
            raise NotCompilableError(
                f"{self.name}: inside a @function the gradient of a loop that calls Python (py_function, "
                "numpy_function) needs to know how long it can get: give maximum_iterations"
            )
        first = [*self.carry, *self.state]
        rows = int(np.clip(_CHECKPOINT_BYTES // max(_size(first), 1), 8, 256))
        blank = [wrap(jax.numpy.zeros((rows + 1, *t._array.shape), t._array.dtype)) for t in first]
        stride = maximum((self.length + (rows - 1)) // rows, 1)
        checkpoints = self._store(
            blank, first, convert(0), self.length, lambda k: where(k % stride == 0, k // stride, rows)
        )
        of_carry = [or_zeros(g, t._array, lead) for g, t in zip(gradients, self.carry, strict=True)]
        totals = self._first_totals(lead)
        sizes = [1, len(first), len(of_carry) + len(totals)]

        def back(values: Tensors) -> Tensors:
            (end,), steps, grads = split(values, sizes)
            segment = (end - 1) // stride
            begin = segment * stride
            least = maximum(begin, end - rows)
            start = [gather(t, segment) for t in checkpoints]
            steps = self._store(steps, start, begin, end, lambda k: where(k >= least, k - least, rows))

            def pull_step(values: Tensors) -> Tensors:
                k, *grads = values
                at = [gather(t, k - 1 - least) for t in steps]
                return [k - 1, *self._pull_back_at(k - 1, at, grads, lead)]

            _, *grads = while_loop(self._gradient, lambda v: v[0] > least, pull_step, [end, *grads], None)
            return [least, *steps, *grads]

        start = [self.length, *blank, *of_carry, *totals]
        last = while_loop(self._gradient, lambda v: v[0] > 0, back, start, None)
        found = last[1 + len(first) :]
        return [*[found[i] for i in self.connected], *self._of_captures(found[self.count :])]

    @property
    def _gradient(self) -> str:
        return f"gradient of {self.name}"

    def _store(
        self, buffers: Tensors, values: Tensors, begin: Tensor, end: Tensor, row_of: Callable[[Any], Any]
    ) -> Tensors:
        """Run the steps from `begin` to `end`, and put the values before step k into row `row_of(k)` of the buffers.

        The last row is for values that are not needed.
        """
        count = len(values)

        def step(state: Tensors) -> Tensors:
            k, now, stored = state[0], state[1 : count + 1], state[count + 1 :]
            row = row_of(k)
            stored = [
                dynamic_update_slice(t, expand_dims(value, 0), _place_of_row(t, row))
                for t, value in zip(stored, now, strict=True)
            ]
            after, variables = call_with_state(
                self.name, self.block, [k, *now[: self.count]], now[self.count :]
            )
            return [k + 1, *after, *variables, *stored]

        last = while_loop(self._gradient, lambda v: v[0] < end, step, [begin, *values, *buffers], None)
        return last[count + 1 :]

    def _pull_back_at(self, k: Tensor, values: Tensors, gradients: Tensors, lead: tuple[int, ...]) -> Tensors:
        """The gradients of the carry before step k, and the totals of the captures, for those after it."""
        count = self.count
        self.block.recompute([k, *values[:count]], values[count:], [])
        found, of_captures = self._pull_back_step(gradients[:count], lead)
        carried = [found[j] if j in found else or_zeros(None, gradients[j]._array, ()) for j in range(count)]
        totals: Any = [a + _wide(b) for a, b in zip(gradients[count:], of_captures, strict=True)]
        return [*carried, *totals]


def _counted_while(name: str, block: Block, carry: Tensors, count: int) -> Tensors:
    """A loop whose number of iterations is known."""

    def step(i: Tensor, state: Tensors, _: Tensors) -> tuple[Tensors, Tensors]:
        return call(name, block, [i, *state]), []

    return loop(name, step, carry, [], count)[0]


def _bounded_while(name: str, test: Block, block: Block, carry: Tensors, limit: int) -> Tensors:
    """A loop with a limit, as one of that length whose steps do nothing after the end."""

    def step(i: Tensor, state: Tensors, _: Tensors) -> tuple[Tensors, Tensors]:
        alive, *before = state

        def go() -> Tensors:
            (goes,) = call(name, test, [i, *before])
            after = choose(name, goes, [lambda: list(before), lambda: call(name, block, [i, *before])])
            return [goes, *after]

        return choose(name, alive, [lambda: [alive, *before], go]), []

    finals, _ = loop(name, step, [convert(True), *carry], [], limit)
    return finals[1:]


def _place_of_row(tensor: Tensor, number: Tensor) -> Tensor:
    """Where a row of a tensor begins, for an update in one operation of XLA's: `tensor_scatter_nd_update` takes 35."""
    return concat([reshape(number, (1,)), np.zeros(tensor.ndim - 1, number._array.dtype)], 0)


def _size(tensors: Tensors) -> int:
    """The number of bytes of tensors."""
    return sum(math.prod(t._array.shape) * t._array.dtype.itemsize for t in tensors)


def _initial_carry(carry: Tensors, variables: dict[int, Variable]) -> list[Any]:
    """Initial carry: tensors, then the values of variables. Zeros are created inside the program."""
    trace = local.here.trace
    arrays = [t._array for t in carry] + [trace.read(v)._array for v in variables.values()]
    return [jax.numpy.zeros(a.shape, a.dtype) if _is_zeros(a) else jax.numpy.asarray(a) for a in arrays]


def _is_zeros(array: Any) -> bool:
    return type(array) is np.ndarray and not np.ascontiguousarray(array).reshape(-1).view(np.uint8).any()


def _check_carry(name: str, carry: Tensors, block: Block) -> None:
    """Raise unless the carry of a loop keeps its shapes and dtypes."""
    for i, (before, after) in enumerate(zip(carry, block.specs)):
        if before._array.shape != after.shape or before._array.dtype != after.dtype:
            raise InvalidArgumentError(
                f"{name}: what goes round in a loop keeps its shape and dtype, and the value number {i + 1} goes in as "
                f"{_described(before._array)} and comes out as {_described(after)}. Start with a value of that kind, "
                "such as zeros(shape, dtype), or cast inside the loop"
            )
