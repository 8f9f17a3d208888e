"""Branches and loops on the values of tensors: Python's own `if` and `while` when executed eagerly. Gradients flow."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...core import nest
from ...core.composite import CompositeTensor
from ...core.errors import InvalidArgumentError, UnknownShapeError
from ...core.primitive import apply, local
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert, convert_to_tensor
from ...core.types import TensorLike
from ...engine.arrays import is_traced
from ..array.creation import fill
from ..array.movement import cast, identity, reshape
from ..known import static_number
from ..math.elementwise import select
from ..scalars import function
from .tensor_array import TensorArray


def _condition(name: str, pred: Any) -> Tensor:
    """A condition as a tensor of one element."""
    value = convert(pred)
    if value._array.size != 1:
        raise InvalidArgumentError(
            f"{name}: a condition is one truth value, not a tensor of shape {value.shape}"
        )
    return value


def cond(
    pred: TensorLike,
    true_fn: Callable[..., Any] | None = None,
    false_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The result of `true_fn()` if a condition holds, else of `false_fn()`; the other is not called.

    Inside a `@function` that computes the condition both are traced, and must return the same structure.

    Args:
        pred: one truth value.
        true_fn, false_fn: functions without parameters. Both must be given.

    Raises:
        TypeError: if `true_fn` or `false_fn` is no function.
        InvalidArgumentError: if the condition is not one value.

    >>> x = convert(-3.0)
    >>> float(cond(x > 0, lambda: x, lambda: -x))
    3.0
    """
    branches = [function("cond", "true_fn", true_fn), function("cond", "false_fn", false_fn)]
    value = _condition("cond", pred)
    if is_traced(value._array):
        return local.here.trace.choose("cond", cast(reshape(value, ()), "bool"), branches[::-1])
    return branches[0 if value else 1]()


def case(
    pred_fn_pairs: Sequence[tuple[TensorLike, Callable[..., Any]]] | dict[Any, Callable[..., Any]],
    default: Callable[..., Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = "case",
) -> Any:
    """The result of the function of the first condition that holds, else of `default()`.

    Args:
        pred_fn_pairs: pairs (condition, function) in a list; with `exclusive` also in a dict.
        default: called if no condition holds.
        exclusive: whether it is an error that more than one condition holds.
        strict: whether a list of one result stays a list.

    Raises:
        TypeError: if a pair is not of that form.
        ValueError: for a dict, which has no order, without `exclusive`.
        InvalidArgumentError: if no condition holds and there is no default, or several hold and one may.

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
        function("case", "a branch", pair[1])
    if any(isinstance(pred, Tensor) and is_traced(pred._array) for pred, _ in pred_fn_pairs):
        return _traced_case(pred_fn_pairs, default)
    chosen = [branch for pred, branch in pred_fn_pairs if _condition("case", pred)]
    if exclusive and len(chosen) > 1:
        raise InvalidArgumentError(f"case: with exclusive=True one condition may hold; {len(chosen)} do")
    if not chosen and default is None:
        raise InvalidArgumentError("case: no condition holds, and there is no default")
    result = (chosen[0] if chosen else function("case", "default", default))()
    single = not strict and isinstance(result, (list, tuple)) and len(result) == 1
    return result[0] if single else result


def _traced_case(pairs: Any, default: Any) -> Any:
    """A chain of choices. Without a default the last branch is the default: whether none holds is not known."""
    (pred, branch), *rest = pairs
    if not rest and default is None:
        return branch()
    return cond(pred, branch, default if not rest else lambda: _traced_case(rest, default))


def switch_case(
    branch_index: TensorLike,
    branch_fns: Sequence[Any] | dict[int, Callable[..., Any]],
    default: Callable[..., Any] | None = None,
    name: str | None = "switch_case",
) -> Any:
    """The result of the function with a given number.

    Args:
        branch_index: the number of the function.
        branch_fns: a list of functions, or pairs (or a dict) from 0, 1, 2, ... to functions.
        default: called for a number that no function has; by default the last function.

    Raises:
        TypeError: if `branch_index` is not one integer, or a branch is no function.
        ValueError: if there is no branch, or their numbers are not 0, 1, 2, ...

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
        function("switch_case", "a branch", pair[1])
    functions: dict[int, Any] = dict(pairs)
    if sorted(functions) != list(range(len(pairs))):
        raise ValueError(
            f"switch_case: the branches must be numbered 0 to {len(pairs) - 1}, not {sorted(functions)}"
        )
    other = functions[len(pairs) - 1] if default is None else function("switch_case", "default", default)
    if is_traced(index._array):
        count = len(functions)
        wrong = (index < 0) | (index >= count)
        branches = [*[functions[i] for i in range(count)], other]
        number = apply(select, (wrong, fill((), count), cast(index, "int32")))
        return local.here.trace.choose("switch_case", number, branches)
    return functions.get(int(index), other)()


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """`loop_vars = body(*loop_vars)` again and again, as long as `cond(*loop_vars)` holds.

    Args:
        cond: returns whether to go on.
        body: returns the new variables, in the structure of the old ones.
        loop_vars: the initial variables.
        back_prop: whether gradients flow through the result.
        maximum_iterations: how often `body` is called at most.
        shape_invariants: the shapes of the variables, with None for lengths that change from one iteration to the next.
            A `@function` in which they do runs operation by operation.
        parallel_iterations, swap_memory: accepted and ignored.

    Raises:
        TypeError: if `cond` or `body` is no function.
        ValueError: if there are no variables.
        ValueError, TypeError: if `body` returns another structure than it takes.
        InvalidArgumentError: if `cond` does not return one truth value.

    >>> [int(v) for v in while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), (convert(0), convert(0)))]
    [4, 6]
    """
    function("while_loop", "cond", cond), function("while_loop", "body", body)
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise ValueError("while_loop: loop_vars must be a list or tuple of at least one value")
    limit = (
        None
        if maximum_iterations is None
        else static_number("while_loop: maximum_iterations", maximum_iterations)
    )
    if local.here.trace is not None:
        changes = shape_invariants is not None
        return _compiled_while(cond, body, nest.map_structure(_tensor, loop_vars), limit, back_prop, changes)
    values: Any = loop_vars  # as they are: to `cond` and `body` an int is an int
    iterations = 0
    while (limit is None or iterations < limit) and _condition("while_loop", cond(*values)):
        after = body(*values)
        if not isinstance(after, (list, tuple)):
            after = (after,)
        nest.assert_same_structure(list(loop_vars), list(after))
        values = after
        iterations += 1
    values = nest.map_structure(_tensor, values)
    return values if back_prop else nest.map_structure(_constant, values)


def _compiled_while(
    cond: Any, body: Any, values: Any, limit: int | None, back_prop: bool, changes: bool
) -> Any:
    def step(state: Any) -> Any:
        after = body(*state)
        if not isinstance(after, (list, tuple)):
            after = (after,)
        nest.assert_same_structure(list(values), list(after), expand_composites=True)
        return type(values)(after) if type(values) in (list, tuple) else after

    state = _Carry(lambda state, i: step(state), values)

    def flat_step(tensors: Any) -> list[Tensor]:
        after = state.flatten(step(state.pack(tensors)))
        if changes and [t._array.shape for t in after] != [t._array.shape for t in tensors]:
            raise UnknownShapeError(
                "while_loop: a variable has another shape after an iteration: a compiled loop keeps shapes"
            )
        return after

    after = local.here.trace.while_loop(
        "while_loop", lambda ts: cond(*state.pack(ts)), flat_step, state.tensors, limit
    )
    result = state.pack(after)
    return result if back_prop else nest.map_structure(_constant, result)


def for_loop(body: Callable[..., Any], length: int, state: Any, rows: Sequence[Tensor] = ()) -> Any:
    """`state = body(i, *slices, *state)` for i = 0, 1, ..., length - 1. Inside a `@function` it is compiled as a loop.

    Args:
        length: the number of iterations.
        state: the initial carry.
        rows: tensors whose slices at i are handed to `body`.

    >>> int(for_loop(lambda i, total: (total + i,), 4, (convert(0),))[0])
    6
    """
    state = nest.map_structure(_tensor, state)
    if local.here.trace is None:
        for i in range(length):
            state = body(convert(i), *[row[i] for row in rows], *state)
        return state
    carry = _Carry(lambda values, i, *slices: body(i, *slices, *values), state, rows, length)

    def step(i: Tensor, tensors: Any, slices: Any) -> Any:
        return carry.flatten(body(i, *slices, *carry.pack(tensors))), []

    after, _ = local.here.trace.loop("for", step, carry.tensors, list(rows), length)
    return carry.pack(after)


class _Carry:
    """The carry of a compiled loop as tensors: the stack of a TensorArray's elements, a composite tensor's components.

    `step(state, i, *slices)` is one iteration, with the slices of `rows` at i.
    """

    def __init__(self, step: Callable[..., Any], values: Any, rows: Any = (), length: int = 0) -> None:
        self._structure = values
        leaves = _flat(values)
        if any(isinstance(leaf, TensorArray) and not leaf.has_known_shape for leaf in leaves):
            # Trace one iteration to learn the size of each array and the shape of its elements.
            found: list[Any] = []

            def iteration(*given: Tensor) -> None:
                found.extend(_flat(step(self._copies(leaves), *given)))
                for leaf in found:
                    if isinstance(leaf, TensorArray):
                        leaf.copy()  # marks it as used

            local.here.trace.try_iteration(iteration, list(rows), length)
            leaves = [
                leaf.shaped_like(after) if isinstance(leaf, TensorArray) else leaf
                for leaf, after in zip(leaves, found, strict=True)
            ]
        self._leaves = leaves
        self.tensors = self.flatten(self._packed(leaves))

    def _copies(self, leaves: list[Any]) -> Any:
        return self._packed([leaf.copy() if isinstance(leaf, TensorArray) else leaf for leaf in leaves])

    def _packed(self, leaves: list[Any]) -> Any:
        return nest.pack_sequence_as(self._structure, leaves, expand_composites=True)

    def flatten(self, values: Any) -> list[Tensor]:
        return [v.stack() if isinstance(v, TensorArray) else convert_to_tensor(v) for v in _flat(values)]

    def pack(self, tensors: list[Tensor]) -> Any:
        leaves = [
            leaf.holding(tensor) if isinstance(leaf, TensorArray) else tensor
            for leaf, tensor in zip(self._leaves, tensors, strict=True)
        ]
        return self._packed(leaves)


def _flat(values: Any) -> list[Any]:
    return nest.flatten(values, expand_composites=True)


def _tensor(value: Any) -> Any:
    """A loop variable as a tensor; a Variable gives its value at this moment."""
    return value if isinstance(value, (TensorArray, CompositeTensor)) else convert_to_tensor(value)


def _constant(value: Any) -> Any:
    return convert(value._array) if type(value) is Tensor else value


def group(*inputs: Any, **kwargs: Any) -> None:
    """Wait for all inputs to be computed: a no-op, as they have been.

    Raises:
        ValueError: for an unknown argument.

    >>> group(convert(1.0))
    """
    unknown = kwargs.keys() - {"name"}
    if unknown:
        raise ValueError(f"group: unknown arguments {', '.join(sorted(unknown))}")


def no_op(name: str | None = None) -> None:
    """Do nothing.

    >>> no_op()
    """


def tuple_(
    tensors: Iterable[TensorLike | None], control_inputs: object = None, name: str | None = None
) -> list[Any]:
    """New tensors for a list of tensors; None stays None.

    Args:
        control_inputs: accepted and ignored.

    >>> [float(t) for t in tuple_([1.0, 2.0])]
    [1.0, 2.0]
    """
    return [None if t is None else identity(t) for t in tensors]
