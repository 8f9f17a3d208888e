"""`compat.v1.nn`: recurrent networks of a cell, an object that is called with an input and a state.

A cell has `output_size` and, unless the initial state is given, `zero_state(batch_size, dtype)` (or
`get_initial_state`). It returns an output and a new state, each a tensor or a structure of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gradtape as tf

from ..core.tensor import Tensor
from ..core.types import DTypeLike, TensorLike

Cell = Callable[..., tuple[Any, Any]]


def _initial_state(name: str, cell: Any, given: Any, batch: int, dtype: DTypeLike | None) -> Any:
    if given is not None:
        return tf.nest.map_structure(tf.convert_to_tensor, given)
    if dtype is None:
        raise ValueError(f"{name}: give initial_state, or the dtype of an initial state of zeros")
    make = getattr(cell, "get_initial_state", None)
    if make is not None:
        return make(inputs=None, batch_size=batch, dtype=dtype)
    return cell.zero_state(batch, dtype)


def _lengths(name: str, given: TensorLike | None, batch: int) -> Tensor | None:
    if given is None:
        return None
    lengths = tf.cast(given, "int32")
    if lengths.shape != (batch,):
        raise ValueError(
            f"{name}: sequence_length must be one number for each of {batch} sequences, not {given!r}"
        )
    return lengths


def _kept(finished: Tensor, old: Any, new: Any) -> Any:
    """`new`, and `old` in the rows that are finished."""

    def chosen(before: Tensor, after: Tensor) -> Tensor:
        return tf.where(tf.reshape(finished, [-1, *[1] * (after.ndim - 1)]), before, after)

    return tf.nest.map_structure(chosen, old, new)


def _step(cell: Cell, x: Any, state: Any, finished: Tensor | None) -> tuple[Any, Any]:
    """One step; in sequences that are finished, the output is 0 and the state stays."""
    output, new = cell(x, state)
    if finished is None:
        return output, new
    nothing = tf.nest.map_structure(tf.zeros_like, output)
    return _kept(finished, nothing, output), _kept(finished, state, new)


def _time_first(x: TensorLike) -> Tensor:
    tensor = tf.convert_to_tensor(x)
    return tf.transpose(tensor, [1, 0, *range(2, tensor.ndim)])


def dynamic_rnn(
    cell: Cell,
    inputs: Any,
    sequence_length: TensorLike | None = None,
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Call a cell step by step along sequences: in a `@function`, as a loop that is traced once.

    Args:
        cell: the cell.
        inputs: (batch, time, ...), or a structure of such tensors.
        sequence_length: of each sequence; after it outputs are 0, and the state stays.
        initial_state: the state to begin with; else it is 0, of `dtype`.
        dtype: of the initial state and of the outputs.
        parallel_iterations, swap_memory: accepted; no effect.
        time_major: whether inputs and outputs are (time, batch, ...).
        scope: accepted; no effect.

    Returns:
        The outputs of all steps, and the last state.

    Raises:
        ValueError: if there is neither an initial state nor a dtype.

    >>> class Sum:
    ...     output_size = 1
    ...     def zero_state(self, batch_size, dtype):
    ...         return tf.zeros([batch_size, 1], dtype)
    ...     def __call__(self, x, state):
    ...         return x + state, x + state
    >>> outputs, last = dynamic_rnn(Sum(), tf.constant([[[1.0], [2.0], [3.0]]]), [2], dtype="float32")
    >>> outputs.numpy().ravel(), float(last)
    (array([1., 3., 0.], dtype=float32), 3.0)
    """
    steps = tf.nest.map_structure(tf.convert_to_tensor if time_major else _time_first, inputs)
    time, batch = tf.nest.flatten(steps)[0].shape[:2]
    state = _initial_state("dynamic_rnn", cell, initial_state, batch, dtype)
    lengths = _lengths("dynamic_rnn", sequence_length, batch)
    kind: Any = tf.nest.flatten(state)[0].dtype if dtype is None else dtype
    sizes: Any = cell.output_size  # type: ignore[attr-defined]
    arrays = [tf.TensorArray(kind, size=time) for _ in _flat_sizes(sizes)]

    def body(t: Tensor, state: Any, arrays: list[Any]) -> tuple[Any, Any, Any]:
        finished = None if lengths is None else t >= lengths
        output, state = _step(cell, tf.nest.map_structure(lambda x: x[t], steps), state, finished)
        flat = tf.nest.flatten(output)
        return t + 1, state, [array.write(t, one) for array, one in zip(arrays, flat, strict=True)]

    loop = tf.while_loop(
        lambda t, *_: t < time, body, (tf.constant(0), state, arrays), maximum_iterations=time
    )
    outputs = [array.stack() for array in loop[2]]
    if not time_major:
        outputs = [_time_first(one) for one in outputs]
    return _packed_like_sizes(sizes, outputs), loop[1]


def _flat_sizes(sizes: Any) -> list[Any]:
    """The sizes in a structure, in which a TensorShape is one."""
    if isinstance(sizes, (list, tuple)) and not isinstance(sizes, tf.TensorShape):
        return [flat for one in sizes for flat in _flat_sizes(one)]
    return [sizes]


def _packed_like_sizes(sizes: Any, outputs: list[Any]) -> Any:
    return outputs[0] if not isinstance(sizes, (list, tuple)) else tf.nest.pack_sequence_as(sizes, outputs)


def static_rnn(
    cell: Cell,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Call a cell for each of a list of inputs, (batch, ...).

    The other arguments are those of `dynamic_rnn`.

    Returns:
        The list of outputs, and the last state.

    Raises:
        ValueError: if there are no inputs, or neither an initial state nor a dtype.

    >>> one = tf.ones([1, 1])
    >>> static_rnn(lambda x, state: (x * state, state + x), [one, one], initial_state=one)[1].numpy()
    array([[3.]], dtype=float32)
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("static_rnn: inputs must be a list of tensors, one for each step, and not empty")
    steps = [tf.nest.map_structure(tf.convert_to_tensor, x) for x in inputs]
    batch = tf.nest.flatten(steps[0])[0].shape[0]
    state = _initial_state("static_rnn", cell, initial_state, batch, dtype)
    lengths = _lengths("static_rnn", sequence_length, batch)
    outputs = []
    for t, x in enumerate(steps):
        output, state = _step(cell, x, state, None if lengths is None else t >= lengths)
        outputs.append(output)
    return outputs, state


def bidirectional_dynamic_rnn(
    cell_fw: Cell,
    cell_bw: Cell,
    inputs: Any,
    sequence_length: TensorLike | None = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """`dynamic_rnn` of one cell along sequences, and of another cell back from their ends.

    Args:
        cell_fw, cell_bw: the cells.
        initial_state_fw, initial_state_bw: their states to begin with.

    Returns:
        The outputs of both, in the order of the inputs, and the last states of both.

    >>> def add(x, state):
    ...     return x + state, x + state
    >>> add.output_size = 1
    >>> zero = tf.zeros([1, 1])
    >>> both, _ = bidirectional_dynamic_rnn(add, add, tf.constant([[[1.0], [2.0]]]), None, zero, zero)
    >>> [outputs.numpy().ravel().tolist() for outputs in both]
    [[1.0, 3.0], [3.0, 2.0]]
    """
    options = {"dtype": dtype, "time_major": time_major}
    ahead = dynamic_rnn(cell_fw, inputs, sequence_length, initial_state_fw, **options)  # type: ignore[arg-type]

    def turned(x: TensorLike) -> Tensor:
        tensor, axis = tf.convert_to_tensor(x), 0 if time_major else 1
        if sequence_length is None:
            return tf.reverse(tensor, [axis])
        return tf.reverse_sequence(tensor, sequence_length, seq_axis=axis, batch_axis=1 - axis)

    back = tf.nest.map_structure(turned, inputs)
    outputs, state = dynamic_rnn(cell_bw, back, sequence_length, initial_state_bw, **options)  # type: ignore[arg-type]
    return (ahead[0], tf.nest.map_structure(turned, outputs)), (ahead[1], state)


def static_bidirectional_rnn(
    cell_fw: Cell,
    cell_bw: Cell,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """`static_rnn` of one cell along a list of inputs, and of another cell back from its end.

    The other arguments are those of `bidirectional_dynamic_rnn`.

    Returns:
        For each step the outputs of both, side by side; the last state of each.

    >>> def add(x, state):
    ...     return x + state, x + state
    >>> zero = tf.zeros([1, 1])
    >>> outputs, _, _ = static_bidirectional_rnn(add, add, [zero + 1.0, zero + 2.0], zero, zero)
    >>> [both.numpy().tolist() for both in outputs]
    [[[1.0, 3.0]], [[3.0, 2.0]]]
    """

    def turned(steps: Sequence[Any]) -> list[Any]:
        if sequence_length is None:
            return list(reversed(steps))

        def of_each(*tensors: Any) -> Tensor:
            return tf.reverse_sequence(tf.stack(tensors), sequence_length, seq_axis=0, batch_axis=1)

        together = tf.nest.map_structure(of_each, *steps)
        return [tf.nest.map_structure(lambda x, t=t: x[t], together) for t in range(len(steps))]

    ahead, last = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length)
    back, first = static_rnn(cell_bw, turned(inputs), initial_state_bw, dtype, sequence_length)
    outputs = [
        tf.nest.map_structure(lambda a, b: tf.concat([a, b], 1), *pair)
        for pair in zip(ahead, turned(back), strict=True)
    ]
    return outputs, last, first


def static_state_saving_rnn(
    cell: Cell,
    inputs: Sequence[Any],
    state_saver: Any,
    state_name: Any,
    sequence_length: TensorLike | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`static_rnn` from a state that an object keeps, and that is saved there afterwards.

    Args:
        state_saver: an object with `state(name)` and `save_state(name, value)`.
        state_name: the name of the state; a structure of names if the state is one.

    >>> class Saver:
    ...     def state(self, name):
    ...         return tf.constant([[1.0]])
    ...     def save_state(self, name, value):
    ...         print(name, value.numpy())
    >>> outputs, _ = static_state_saving_rnn(lambda x, s: (x, s + x), [tf.constant([[2.0]])], Saver(), "sum")
    sum [[3.]]
    """
    before = tf.nest.map_structure(state_saver.state, state_name)
    outputs, state = static_rnn(cell, inputs, before, sequence_length=sequence_length)
    tf.nest.map_structure(state_saver.save_state, state_name, state)
    return outputs, state


def raw_rnn(
    cell: Cell,
    loop_fn: Callable[..., tuple[Any, Any, Any, Any, Any]],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Call a cell until all sequences are finished, with inputs that a function gives.

    Args:
        cell: the cell.
        loop_fn: called as loop_fn(time, output, state, loop_state), at first with Nones; returns which sequences are
            finished, the next input, the next state, what to emit, and the next loop state (None without).
        parallel_iterations, swap_memory, scope: accepted; no effect.

    Returns:
        A TensorArray of what was emitted (or a structure of them), the last state, and the last loop state.

    >>> class Double:
    ...     output_size = 1
    ...     def __call__(self, x, state):
    ...         return x * 2, state
    >>> def loop(time, output, state, loop_state):
    ...     x = tf.ones([1, 1]) if output is None else output
    ...     return time >= [3], x, tf.zeros([1, 1]), output, None
    >>> raw_rnn(Double(), loop)[0].stack().numpy().ravel()
    array([2., 4., 8.], dtype=float32)
    """
    finished, x, state, emitted, loop_state = loop_fn(tf.constant(0), None, None, None)
    x, state = tf.nest.map_structure(tf.convert_to_tensor, (x, state))
    if emitted is None:
        kind = tf.nest.flatten(x)[0].dtype
        flat_sizes = _flat_sizes(cell.output_size)  # type: ignore[attr-defined]
        emitted = _packed_like_sizes(cell.output_size, [tf.zeros(size, kind) for size in flat_sizes])  # type: ignore[attr-defined]
    arrays = [tf.TensorArray(one.dtype, size=0, dynamic_size=True) for one in tf.nest.flatten(emitted)]
    has_loop_state = loop_state is not None

    def body(t: Any, finished: Any, x: Any, state: Any, arrays: Any, loop_state: Any) -> tuple[Any, ...]:
        output, new = cell(x, state)
        given = loop_fn(t + 1, output, new, loop_state if has_loop_state else None)
        done, x, new, emitted, later = given
        nothing = tf.nest.map_structure(tf.zeros_like, emitted)
        flat = tf.nest.flatten(_kept(finished, nothing, emitted))
        arrays = [array.write(t, one) for array, one in zip(arrays, flat, strict=True)]
        return (
            t + 1, tf.logical_or(done, finished), x, _kept(finished, state, new), arrays,
            later if has_loop_state else loop_state,
        )  # fmt: skip

    first = tf.convert_to_tensor(finished)
    start = (tf.constant(0), first, x, state, arrays, loop_state if has_loop_state else tf.constant(0))
    _, _, _, state, arrays, loop_state = tf.while_loop(
        lambda t, finished, *_: tf.logical_not(tf.reduce_all(finished)), body, start
    )
    return tf.nest.pack_sequence_as(emitted, arrays), state, loop_state if has_loop_state else None


RECURRENT: dict[str, Any] = {
    f"nn.{function.__name__}": function
    for function in (
        bidirectional_dynamic_rnn, dynamic_rnn, raw_rnn, static_bidirectional_rnn, static_rnn, static_state_saving_rnn,
    )
}  # fmt: skip
