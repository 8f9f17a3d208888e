"""Choosing and looping by the value of tensors: eagerly Python's own `if` and `while`, through which gradients flow."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...core import nest
from ...core.errors import InvalidArgumentError
from ...core.primitive import apply, local
from ...core.tensor import Tensor, convert, convert_to_tensor
from ...engine.arrays import is_traced
from ..array.creation import fill
from ..array.movement import cast, identity, reshape, static_number
from ..math.elementwise import select
from .tensor_array import TensorArray


def _is_true(name: str, pred: Any) -> bool:
    value = convert(pred)
    if value._array.size != 1:
        raise InvalidArgumentError(
            f"{name}: a condition is one truth value, not a tensor of shape {value.shape}"
        )
    return bool(value)


def _called(name: str, what: str, function: Any) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError(f"{name}: {what} must be a function, not {function!r}")
    return function


def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """What `true_fn()` returns if the condition holds, else what `false_fn()` does; the other is not called.

    >>> x = convert(-3.0)
    >>> float(cond(x > 0, lambda: x, lambda: -x))
    3.0
    """
    _called("cond", "true_fn", true_fn), _called("cond", "false_fn", false_fn)
    condition = _traced_condition("cond", pred)
    if condition is not None:
        return local.here.trace.choose("cond", condition, [false_fn, true_fn])
    return true_fn() if _is_true("cond", pred) else false_fn()


def _traced_condition(name: str, pred: Any) -> Tensor | None:
    """A condition whose value only the compiled function will know, as one boolean; None for any other."""
    value = convert(pred)
    if not is_traced(value._array):
        return None
    if value._array.size != 1:
        raise InvalidArgumentError(
            f"{name}: a condition is one truth value, not a tensor of shape {value.shape}"
        )
    return cast(reshape(value, ()), "bool")


def case(
    pred_fn_pairs: Any,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = "case",
) -> Any:
    """What the function beside the first condition that holds returns, else what `default()` does.

    With `exclusive` it is an error if more than one holds. A list of one result is that result, unless `strict`.

    >>> x = convert(3)
    >>> int(case([(x < 2, lambda: convert(1)), (x < 5, lambda: convert(2))], default=lambda: convert(0)))
    2
    """
    if isinstance(pred_fn_pairs, dict):
        if not exclusive and not isinstance(pred_fn_pairs, OrderedDict):
            raise ValueError("case: a dict has no order that could matter: give a list, or exclusive=True")
        pred_fn_pairs = list(pred_fn_pairs.items())
    if not isinstance(pred_fn_pairs, (list, tuple)) or not pred_fn_pairs:
        raise TypeError(f"case: pred_fn_pairs must be a list of (condition, function), not {pred_fn_pairs!r}")
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"case: each entry must be a pair (condition, function), not {pair!r}")
        if not isinstance(pair[0], bool) and not (isinstance(pair[0], Tensor) and pair[0].dtype.is_bool):
            raise TypeError(f"case: a condition must be a bool or a boolean tensor, not {pair[0]!r}")
        _called("case", "a branch", pair[1])
    if any(isinstance(pred, Tensor) and is_traced(pred._array) for pred, _ in pred_fn_pairs):
        return _traced_case(pred_fn_pairs, default)
    holding = [function for pred, function in pred_fn_pairs if _is_true("case", pred)]
    if exclusive and len(holding) > 1:
        raise InvalidArgumentError(f"case: with exclusive=True one condition may hold; {len(holding)} do")
    if not holding and default is None:
        raise InvalidArgumentError("case: no condition holds, and there is no default")
    result = (holding[0] if holding else _called("case", "default", default))()
    single = not strict and isinstance(result, (list, tuple)) and len(result) == 1
    return result[0] if single else result


def _traced_case(pairs: Any, default: Any) -> Any:
    """A chain of choices. Without a default the last function stands for it: that none holds cannot be told."""
    (pred, function), *rest = pairs
    if not rest and default is None:
        return function()
    return cond(pred, function, default if not rest else lambda: _traced_case(rest, default))


def switch_case(
    branch_index: Any, branch_fns: Any, default: Any = None, name: str | None = "switch_case"
) -> Any:
    """What the function with this number returns; for a number no function has, the default, or else the last one.

    `branch_fns` is a list of functions, or pairs (or a dict) from 0, 1, 2, ... to functions.

    >>> int(switch_case(convert(1), [lambda: convert(10), lambda: convert(20)]))
    20
    """
    index = convert(branch_index)
    if not index.dtype.is_integer or index.ndim:
        raise TypeError(f"switch_case: branch_index must be one integer, not {branch_index!r}")
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise TypeError(
            f"switch_case: branch_fns must be a list, tuple or dict, not {type(branch_fns).__name__}"
        )
    pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if not pairs:
        raise ValueError("switch_case: branch_fns must hold at least one function")
    if all(callable(f) for f in pairs):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], int):
            raise TypeError(f"switch_case: each entry must be a pair (number, function), not {pair!r}")
        _called("switch_case", "a branch", pair[1])
    functions: dict[int, Any] = dict(pairs)
    if sorted(functions) != list(range(len(pairs))):
        raise ValueError(
            f"switch_case: the branches must be numbered 0 to {len(pairs) - 1}, not {sorted(functions)}"
        )
    other = functions[len(pairs) - 1] if default is None else _called("switch_case", "default", default)
    if is_traced(index._array):
        count = len(functions)
        wrong = (index < 0) | (index >= count)
        branches = [*[functions[i] for i in range(count)], other]
        number = apply(select, (wrong, fill((), count), cast(index, "int32")))
        return local.here.trace.choose("switch_case", number, branches)
    return functions.get(int(index), other)()


def while_loop(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """`loop_vars = body(*loop_vars)` again and again, as long as `cond(*loop_vars)` holds.

    The variables keep their structure; `shape_invariants`, `parallel_iterations` and `swap_memory` mean nothing here.

    >>> [int(v) for v in while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), (convert(0), convert(0)))]
    [4, 6]
    """
    _called("while_loop", "cond", cond), _called("while_loop", "body", body)
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise ValueError("while_loop: loop_vars must be a list or tuple of at least one value")
    values = nest.map_structure(_tensor, loop_vars)
    limit = (
        None
        if maximum_iterations is None
        else static_number("while_loop: maximum_iterations", maximum_iterations)
    )
    if local.here.trace is not None:
        return _compiled_while(cond, body, values, limit, back_prop)
    rounds = 0
    while (limit is None or rounds < limit) and _is_true("while_loop", cond(*values)):
        after = body(*values)
        if not isinstance(after, (list, tuple)):
            after = (after,)
        nest.assert_same_structure(list(loop_vars), list(after))
        values = nest.map_structure(_tensor, after)
        rounds += 1
    return values if back_prop else nest.map_structure(_constant, values)


def _compiled_while(cond: Any, body: Any, values: Any, limit: int | None, back_prop: bool) -> Any:
    def step(state: Any) -> Any:
        after = body(*state)
        if not isinstance(after, (list, tuple)):
            after = (after,)
        nest.assert_same_structure(list(values), list(after))
        return type(values)(after) if type(values) in (list, tuple) else after

    state = _LoopState(lambda state, i: step(state), values)
    after = local.here.trace.while_loop(
        "while_loop",
        lambda ts: cond(*state.pack(ts)),
        lambda ts: state.flatten(step(state.pack(ts))),
        state.tensors,
        limit,
    )
    result = state.pack(after)
    return result if back_prop else nest.map_structure(_constant, result)


def for_loop(body: Callable[..., Any], length: int, state: Any, rows: Any = ()) -> Any:
    """`state = body(i, *slices, *state)` for i = 0, 1, ..., length - 1, with the slices of `rows` at i.

    Inside a `function` it is compiled as a loop.

    >>> int(for_loop(lambda i, total: (total + i,), 4, (convert(0),))[0])
    6
    """
    state = nest.map_structure(_tensor, state)
    if local.here.trace is None:
        for i in range(length):
            state = body(convert(i), *[row[i] for row in rows], *state)
        return state
    held = _LoopState(lambda values, i, *slices: body(i, *slices, *values), state, rows, length)

    def step(i: Tensor, tensors: Any, slices: Any) -> Any:
        return held.flatten(body(i, *slices, *held.pack(tensors))), []

    after, _ = local.here.trace.loop("for", step, held.tensors, list(rows), length)
    return held.pack(after)


class _LoopState:
    """What goes round in a compiled loop, as tensors: a TensorArray goes as the stack of its elements.

    `step(state, i, *slices)` is a turn of the loop, with the slices of `rows`.
    """

    def __init__(self, step: Callable[..., Any], values: Any, rows: Any = (), length: int = 0) -> None:
        self._structure = values
        leaves = nest.flatten(values)
        if any(isinstance(leaf, TensorArray) and not leaf.is_laid_out for leaf in leaves):
            # How many elements it gets and what their shape is, is known when the body has written one.
            found: list[Any] = []

            def turn(*given: Tensor) -> None:
                found.extend(nest.flatten(step(self._copies(leaves), *given)))
                for leaf in found:
                    if isinstance(leaf, TensorArray):
                        leaf.copy()  # it is used

            local.here.trace.try_iteration(turn, list(rows), length)
            leaves = [
                leaf.laid_out(after) if isinstance(leaf, TensorArray) else leaf
                for leaf, after in zip(leaves, found, strict=True)
            ]
        self._leaves = leaves
        self.tensors = self.flatten(nest.pack_sequence_as(values, leaves))

    def _copies(self, leaves: list[Any]) -> Any:
        return nest.pack_sequence_as(
            self._structure, [leaf.copy() if isinstance(leaf, TensorArray) else leaf for leaf in leaves]
        )

    def flatten(self, values: Any) -> list[Tensor]:
        return [
            v.stack() if isinstance(v, TensorArray) else convert_to_tensor(v) for v in nest.flatten(values)
        ]

    def pack(self, tensors: list[Tensor]) -> Any:
        leaves = [
            leaf.holding(tensor) if isinstance(leaf, TensorArray) else tensor
            for leaf, tensor in zip(self._leaves, tensors, strict=True)
        ]
        return nest.pack_sequence_as(self._structure, leaves)


def _tensor(value: Any) -> Any:
    """A loop variable as a tensor; a variable's value as it is now."""
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def _constant(value: Any) -> Any:
    return convert(value._array) if type(value) is Tensor else value


def group(*inputs: Any, **kwargs: Any) -> None:
    """All inputs have been computed. Eagerly they have anyway.

    >>> group(convert(1.0))
    """
    unknown = kwargs.keys() - {"name"}
    if unknown:
        raise ValueError(f"group: unknown arguments {', '.join(sorted(unknown))}")


def no_op(name: str | None = None) -> None:
    """Does nothing.

    >>> no_op()
    """


def tuple_(tensors: Any, control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """New tensors for a list of tensors; None stays None.

    >>> [float(t) for t in tuple_([1.0, 2.0])]
    [1.0, 2.0]
    """
    return [None if t is None else identity(t) for t in tensors]
