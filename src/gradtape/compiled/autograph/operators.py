"""The operators of converted code: Python's own control flow, unless it depends on a traced tensor.

Then it is `cond`, `while_loop` or `for_loop` over the variables of the block. Blocks are functions that read and write
the user's variables; `get_state` and `set_state` get and set those that the block assigns, called `names`. Functions
given to `cond` leave the user's variables as they found them.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...core.errors import UnknownShapeError
from ...core.primitive import local
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...ops.array.movement import cast, gather, reshape
from ...ops.control.branching import for_loop, while_loop
from ...ops.control.printing import demand
from ...ops.math.functions import logical_and, logical_not, logical_or
from ..feeds import Feed, loop_over
from .block_state import (
    BlockVariables,
    Branches,
    LoopCarry,
    ShapeChangeError,
    Undefined,
    UndefinedReturnValue,
    Unstable,
    Values,
    ld,
    ldu,
    with_copied_arrays,
)
from .iteration import Slices, TracedRange, feed_of
from .python_builtins import is_unknown

_UNROLLED = 3  # iterations to take out of a loop, at most, until its variables keep their shapes and dtypes

Block = Callable[..., None]
Get = Callable[[], Values]
Set = Callable[[Values], None]


class FunctionScope:
    """The body of a converted function."""

    def __init__(self, name: str, scope: str, options: Any) -> None:
        self.name = name

    def __enter__(self) -> FunctionScope:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def ret(self, value: Any, did_return: Any) -> Any:
        """The result of the function."""
        return None if isinstance(value, UndefinedReturnValue) else value


# ---------------------------------------------------------------------------------------------------------------------
# Truth


def truth(x: Any) -> Tensor:
    """A traced condition as one truth value."""
    tensor = convert(x)
    if tensor._array.size != 1:
        raise ValueError(
            f"a condition is one truth value, not a tensor of shape {tensor.shape}: use reduce_all or reduce_any, or "
            "where to choose element by element"
        )
    return cast(reshape(tensor, ()), "bool")


def not_(x: Any) -> Any:
    """`not x`. Inside a branch that was taken because of x, the answer is known."""
    if not is_unknown(x):
        return not x
    trace = local.here.trace
    decided = trace.decided(x)
    if decided is not None:
        return not decided
    result = logical_not(truth(x))
    trace.note_negation(result, x)
    return result


def and_(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """`first and second`"""
    x = first()
    return _both(x, second, logical_and, 1) if is_unknown(x) else x and second()


def or_(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """`first or second`"""
    x = first()
    return _both(x, second, logical_or, 0) if is_unknown(x) else x or second()


def _both(x: Any, second: Callable[[], Any], combine: Any, way: int) -> Any:
    """`and` or `or`. Without calls the second operand only computes, so it may be computed always."""
    if not _calls(second):
        y = second()
        if _is_truth(x) and (isinstance(y, bool) or _is_truth(y)):
            return combine(truth(x), truth(y))
    first = lambda: x
    try:
        return if_exp(x, *((second, first) if way else (first, second)), "")
    except TypeError:
        # Operands of different kinds cannot be the result; whether they count as true can.
        first, last = lambda: truth(x), lambda: truth(second())
        return if_exp(x, *((last, first) if way else (first, last)), "")


def _is_truth(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype.is_bool


def _calls(block: Callable[[], Any]) -> bool:
    waiting = [block.__code__]
    while waiting:
        code = waiting.pop()
        if "called" in code.co_names:
            return True
        waiting += [c for c in code.co_consts if hasattr(c, "co_names")]
    return False


_COMPARISONS = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda x, y: x in y,
    "NotIn": lambda x, y: x not in y,
}


def compared(names: str, left: Any, *operands: Callable[[], Any]) -> Any:
    """`left < a < b`; each operand is evaluated once, and only if the result is not known before."""
    result: Any = True
    for name, operand in zip(names.split(), operands, strict=True):
        if not is_unknown(result) and not result:
            return result
        right = operand()
        holds = _COMPARISONS[name](left, right)
        result = holds if result is True else and_(lambda r=result: r, lambda h=holds: h)  # type: ignore[misc]
        left = right
    return result


def if_exp(condition: Any, if_true: Callable[[], Any], if_false: Callable[[], Any], text: str) -> Any:
    """`if_true if condition else if_false`"""
    if not is_unknown(condition):
        return if_true() if condition else if_false()
    branches = Branches(("the expression",), ("the one case", "the other"), fill=False)
    return branches.choose(truth(condition), lambda: (if_true(),), lambda: (if_false(),))[0]


def assert_stmt(condition: Any, message: Callable[[], Any]) -> None:
    """`assert condition, message`"""
    unknown = is_unknown(condition)
    if unknown or not condition:
        text = message()
        error = raised(AssertionError() if text is None else AssertionError(text))
        if not unknown:
            raise error
        _demand(truth(condition), error)


def raised(error: Any) -> Any:
    """`raise error`: mark it as an error that the user's code raises, unlike one about the user's code."""
    if isinstance(error, type) and issubclass(error, Exception):
        error = error()
    if isinstance(error, Exception) and local.here.trace is not None:
        error.raised_at__ = local.here.trace.where()  # type: ignore[attr-defined]
    return error


def _is_raised(error: Exception) -> bool:
    return hasattr(error, "raised_at__")


def _demand(condition: Tensor, error: Any) -> None:
    """Raise the error when the compiled function runs, unless the condition holds then."""
    error.add_note(f"raised in {error.raised_at__}")
    del error.raised_at__
    demand(condition._array, lambda: error.with_traceback(None), [])


# ---------------------------------------------------------------------------------------------------------------------
# if


def if_stmt(
    condition: Any,
    body: Block,
    orelse: Block,
    get_state: Get,
    set_state: Set,
    names: tuple[str, ...],
    outputs: int,
) -> None:
    """`if condition: body else: orelse`. The first `outputs` variables are used afterwards."""
    _if(condition, body, orelse, BlockVariables(get_state, set_state, names), outputs, fill=False)


def guard_stmt(
    condition: Any,
    body: Block,
    orelse: Block,
    get_state: Get,
    set_state: Set,
    names: tuple[str, ...],
    outputs: int,
) -> None:
    """`if not do_return: ...`, which is malt's: what it leaves without a value is not used."""
    _if(condition, body, orelse, BlockVariables(get_state, set_state, names), outputs, fill=True)


def _if(
    condition: Any, body: Block, orelse: Block, variables: BlockVariables, outputs: int, fill: bool
) -> None:
    if not is_unknown(condition):
        return body() if condition else orelse()
    start = variables.get()

    def branch(block: Block, taken_if: bool) -> Callable[[], Values]:
        def run() -> Values:
            local.here.trace.decide(condition, taken_if)
            with variables.holding(with_copied_arrays(start)):
                block()
                return variables.get()[:outputs]

        return run

    branches = Branches(variables.names[:outputs], ("the main branch", "the else branch"), fill)
    try:
        after = branches.choose(truth(condition), branch(body, True), branch(orelse, False))
    except Exception as error:
        if not _is_raised(error):
            raise
        # A branch raises: after the statement, the other one was taken.
        if branches.running == 0:
            _demand(logical_not(truth(condition)), error)
            return orelse()
        _demand(truth(condition), error)
        return body()
    return variables.set((*after, *start[outputs:]))


def _once_if(condition: Any, body: Callable[[], None], variables: BlockVariables) -> None:
    """An iteration that is taken out of a loop: `if condition: body`."""
    _if(condition, body, lambda: None, variables, len(variables.names), fill=True)


# ---------------------------------------------------------------------------------------------------------------------
# while


def while_stmt(
    test: Callable[[], Any],
    body: Block,
    get_state: Get,
    set_state: Set,
    names: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    """`while test: body`. It is Python's until the test depends on a traced tensor."""
    with _shapes_of(options):
        _while(test, body, BlockVariables(get_state, set_state, names), options.get("maximum_iterations"))


@contextmanager
def _shapes_of(options: dict[str, Any]) -> Iterator[None]:
    """Where tensors change their shapes in a loop, and its options allow it: the function is not compiled."""
    try:
        yield
    except ShapeChangeError as error:
        if options.get("shape_invariants") is None:
            raise
        raise UnknownShapeError(str(error)) from None


def _while(test: Callable[[], Any], body: Block, variables: BlockVariables, limit: Any) -> None:
    while True:
        goes = test()
        if is_unknown(goes):
            break
        if not goes:
            return
        body()
    for unrolled in range(_UNROLLED + 1):
        try:
            _compiled_while(test, body, variables, limit and limit - unrolled)
            return
        except Unstable as unstable:
            if unrolled == _UNROLLED:
                raise unstable.error from None
            # The first iteration creates variables, or makes tensors of numbers: it is taken out of the loop.
            try:
                _once_if(goes, body, variables)
            except (TypeError, ValueError):
                raise unstable.error from None
        goes = test()


def _compiled_while(test: Callable[[], Any], body: Block, variables: BlockVariables, limit: Any) -> None:
    carry = LoopCarry(variables.names, variables.get())

    def goes_on(i: Tensor, *tensors: Any) -> Tensor:
        with variables.holding(with_copied_arrays(carry.values(tensors))):
            return truth(test())

    def step(i: Tensor, *tensors: Any) -> list[Any]:
        return [i + 1, *_iteration(carry, tensors, body, variables)]

    after = while_loop(goes_on, step, [convert(0), *carry.tensors], maximum_iterations=limit)
    variables.set(carry.final(after[1:]))


def _iteration(carry: LoopCarry, tensors: Any, body: Block, variables: BlockVariables) -> list[Any]:
    """The carry after an iteration."""
    with variables.holding(carry.values(tensors)):
        try:
            body()
        except (TypeError, ValueError) as error:
            # A number of Python's is carried as a tensor, which does not mix with others as a number does.
            if carry.numbers and not _is_raised(error):
                _note_numbers(error, carry.numbers)
                raise Unstable(error) from error
            raise
        return carry.after(tensors, variables.get())


def _note_numbers(error: Exception, names: list[str]) -> None:
    if not hasattr(error, "__notes__"):
        error.add_note(
            f"In a compiled loop {' and '.join(names)} goes round as a tensor, of the dtype that the Python number "
            "before the loop has: start with a number or tensor of the dtype it is to have"
        )


# ---------------------------------------------------------------------------------------------------------------------
# for


def for_stmt(
    iterable: Any,
    test: Callable[[], Any] | None,
    body: Block,
    get_state: Get,
    set_state: Set,
    names: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    """`for item in iterable: body(item)`, as long as `test()` holds: a `break` or `return` ends it."""
    with _shapes_of(options):
        _for(
            iterable,
            test,
            body,
            BlockVariables(get_state, set_state, names),
            options.get("maximum_iterations"),
        )


def _for(
    iterable: Any, test: Callable[[], Any] | None, body: Block, variables: BlockVariables, limit: Any
) -> None:
    slices = Slices.of(iterable)
    if slices is not None:
        return _for_slices(slices if limit is None else slices.first(int(limit)), test, body, variables)
    feed = feed_of(iterable)
    if feed is not None:
        _for_feed(feed, feed.begin(), test, body, variables, limit)
        return None
    goes_on = test or (lambda: True)
    if isinstance(iterable, TracedRange):
        return _for_range(iterable, goes_on, body, variables, limit)
    return _for_python(iterable, goes_on, body, variables)


def _for_python(iterable: Any, test: Callable[[], Any], body: Block, variables: BlockVariables) -> None:
    goes = test()
    if not is_unknown(goes) and not goes:
        return
    for item in iterable:
        _once_if(goes, lambda x=item: body(x), variables)  # type: ignore[misc]
        goes = test()
        if is_unknown(goes):
            _check_finite(iterable)
        elif not goes:
            return


def _check_finite(iterable: Any) -> None:
    """Raise if an iterable may have no end: if a tensor decides when to leave, the loop is unrolled to the end."""
    if not hasattr(iterable, "__len__") and not isinstance(iterable, (enumerate, zip, reversed, map, filter)):
        raise NotImplementedError(
            f"a tensor decides when to leave a loop over a Python {type(iterable).__name__}, whose length is not "
            "known: loop over a list, or over a tensor such as tf.range(n)"
        )


def _for_slices(
    slices: Slices, test: Callable[[], Any] | None, body: Block, variables: BlockVariables
) -> None:
    goes = True if test is None else test()
    if not slices.length or (not is_unknown(goes) and not goes):
        return
    error: Exception | None = None
    if slices.length > 1:
        try:
            if test is None:
                _scan(slices, body, variables)
            else:
                _search(slices, test, body, variables)
            return
        except Unstable as unstable:
            if slices.unrolled >= _UNROLLED:
                raise unstable.error from None
            error = unstable.error
    # One iteration needs no loop; nor does a first one that creates variables, or makes tensors of numbers.
    try:
        _once_if(goes, lambda: body(slices.at(0)), variables)
    except (TypeError, UnknownShapeError):
        if error is None or not is_unknown(goes):
            raise
        raise error from None
    _for_slices(slices.without_first(), test, body, variables)


def _scan(slices: Slices, body: Block, variables: BlockVariables) -> None:
    """A loop of known length."""
    carry = LoopCarry(variables.names, variables.get())
    count = len(slices.tensors)

    def step(i: Tensor, *tensors: Any) -> list[Any]:
        item = slices.item(i, list(tensors[:count]))
        return _iteration(carry, tensors[count:], lambda: body(item), variables)

    variables.set(carry.final(for_loop(step, slices.length, carry.tensors, slices.tensors)))


def _search(slices: Slices, test: Callable[[], Any], body: Block, variables: BlockVariables) -> None:
    """A loop that may be left early."""
    carry = LoopCarry(variables.names, variables.get())

    def goes_on(i: Tensor, *tensors: Any) -> Tensor:
        with variables.holding(with_copied_arrays(carry.values(tensors))):
            return truth(and_(lambda: i < slices.length, test))

    def step(i: Tensor, *tensors: Any) -> list[Any]:
        item = slices.item(i, [gather(t, i) for t in slices.tensors])
        return [i + 1, *_iteration(carry, tensors, lambda: body(item), variables)]

    after = while_loop(goes_on, step, [convert(0), *carry.tensors], maximum_iterations=slices.length)
    variables.set(carry.final(after[1:]))


def _for_feed(
    feed: Feed,
    ticket: Tensor,
    test: Callable[[], Any] | None,
    body: Block,
    variables: BlockVariables,
    limit: int | None,
    unrolled: int = 0,
) -> None:
    """A `for` over elements that the host gives when the program runs."""
    goes = True if test is None else test()
    if (feed.length == 0 or limit == 0) or (not is_unknown(goes) and not goes):
        return feed.end(ticket)
    try:
        _fed_loop(feed, ticket, test, body, variables, limit)
        return feed.end(ticket)
    except Unstable as unstable:
        if unrolled >= _UNROLLED:
            raise unstable.error from None
        error = unstable.error
    # The first iteration creates variables, or makes tensors of numbers: it is taken out of the loop.
    try:
        _once_fed(feed, ticket, goes, body, variables)
    except (TypeError, ValueError):
        raise error from None
    rest = None if limit is None else limit - 1
    return _for_feed(feed.without_first(), ticket, test, body, variables, rest, unrolled + 1)


def _fed_loop(
    feed: Feed,
    ticket: Tensor,
    test: Callable[[], Any] | None,
    body: Block,
    variables: BlockVariables,
    limit: int | None,
) -> None:
    carry = LoopCarry(variables.names, variables.get())

    def goes_on(tensors: Any) -> Tensor:
        assert test is not None
        with variables.holding(with_copied_arrays(carry.values(tensors))):
            return truth(test())

    def step(element: Any, tensors: Any) -> list[Any]:
        return _iteration(carry, tensors, lambda: body(element), variables)

    after = loop_over(feed, ticket, step, carry.tensors, None if test is None else goes_on, limit)
    variables.set(carry.final(after))


def _once_fed(feed: Feed, ticket: Tensor, goes: Any, body: Block, variables: BlockVariables) -> None:
    """An iteration that is taken out of a loop over a feed, for elements of each kind."""
    if feed.has_next:
        return _once_if(goes, lambda: body(feed.take(ticket)), variables)
    number = feed.advance(ticket)

    def of_kind(kind: int) -> None:
        taken = and_(lambda: goes, lambda: number == kind + 1)
        _once_if(taken, lambda: body(feed.current(ticket, kind)), variables)

    for kind in range(feed.kinds):
        of_kind(kind)
    return None


def _for_range(
    numbers: TracedRange, test: Callable[[], Any], body: Block, variables: BlockVariables, limit: Any
) -> None:
    """A `for` over a range with a traced end, as a `while` with one more variable."""
    at = numbers.start

    def get() -> Values:
        return (at, *variables.get())

    def set_(values: Values) -> None:
        nonlocal at
        at = values[0]
        variables.set(values[1:])

    def step() -> None:
        nonlocal at
        body(at)
        at = at + numbers.step

    with_count = BlockVariables(get, set_, ("the count", *variables.names))
    _while(lambda: and_(lambda: numbers.goes_on(at), test), step, with_count, limit)


# Converted code finds these as attributes of `ag__`; `conversion` adds those for calls.
OPERATORS: dict[str, Any] = {
    "FunctionScope": FunctionScope,
    "STD": None,
    "Undefined": Undefined,
    "UndefinedReturnValue": UndefinedReturnValue,
    "and_": and_,
    "assert_stmt": assert_stmt,
    "compared": compared,
    "for_stmt": for_stmt,
    "guard_stmt": guard_stmt,
    "handled": sys.exception,
    "if_exp": if_exp,
    "if_stmt": if_stmt,
    "ld": ld,
    "ldu": ldu,
    "not_": not_,
    "or_": or_,
    "raised": raised,
    "while_stmt": while_stmt,
    "with_function_scope": lambda thunk, name, options: thunk(None),
}
