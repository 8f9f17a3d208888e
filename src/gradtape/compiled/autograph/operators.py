"""Control flow as converted code asks for it: Python's own, unless a tensor that only the compiled function will know
decides. Then it is `cond`, `while_loop` or `for_loop` over the variables of the block.

Blocks are functions that read and write the user's variables; `get_state` and `set_state` get and set those that the
block assigns, called `names`. Functions given to `cond` leave the user's variables as they found them.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ...core.primitive import local
from ...core.tensor import Tensor, convert
from ...ops.array.movement import cast, gather, reshape
from ...ops.control.branching import for_loop, while_loop
from ...ops.control.printing import demand
from ...ops.math.functions import logical_and, logical_not, logical_or
from .block_state import Branches, Round, Undefined, UndefinedReturnValue, Unstable, Values, ld, ldu, own
from .conversion import autograph_artifact, called, counted, is_unknown
from .iteration import Each, Steps

_TURNS = 3  # so many are taken out of a loop, at most, for its variables to check_dtype

Block = Callable[..., None]
Get = Callable[[], Values]
Set = Callable[[Values], None]


@functools.cache
def namespace() -> SimpleNamespace:
    """What converted code calls `ag__`."""
    return SimpleNamespace(
        FunctionScope=FunctionScope,
        STD=None,
        Undefined=Undefined,
        UndefinedReturnValue=UndefinedReturnValue,
        and_=and_,
        assert_stmt=assert_stmt,
        autograph_artifact=autograph_artifact,
        called=called,
        compared=compared,
        counted=counted,
        for_stmt=for_stmt,
        guard_stmt=guard_stmt,
        handled=sys.exception,
        if_exp=if_exp,
        if_stmt=if_stmt,
        ld=ld,
        ldu=ldu,
        not_=not_,
        or_=or_,
        raised=raised,
        while_stmt=while_stmt,
        with_function_scope=lambda thunk, name, options: thunk(None),
    )


class FunctionScope:
    """The body of a converted function."""

    def __init__(self, name: str, scope: str, options: Any) -> None:
        self.name = name

    def __enter__(self) -> FunctionScope:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def ret(self, value: Any, did_return: Any) -> Any:
        """What the function returns."""
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
    """Without calls the second operand does nothing but compute, so it may be computed always."""
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
    """`left < a < b`, with operands that are asked for once and only if it is still open."""
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
    """`raise error`: marks it as one that the user's code raises, and not one about the user's code."""
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
    fill: bool = False,
) -> None:
    """`if condition: body else: orelse`. The first `outputs` variables are used afterwards."""
    if not is_unknown(condition):
        return body() if condition else orelse()
    start = get_state()

    def way(block: Block, taken_if: bool) -> Callable[[], Values]:
        def run() -> Values:
            local.here.trace.decide(condition, taken_if)
            before = get_state()
            try:
                set_state(own(start))
                block()
                return get_state()[:outputs]
            finally:
                set_state(before)

        return run

    branches = Branches(names[:outputs], ("the main branch", "the else branch"), fill)
    try:
        after = branches.choose(truth(condition), way(body, True), way(orelse, False))
    except Exception as error:
        if not _is_raised(error):
            raise
        # Who comes out of a branch that raises, comes out of the other one.
        if branches.running == 0:
            _demand(logical_not(truth(condition)), error)
            return orelse()
        _demand(truth(condition), error)
        return body()
    return set_state((*after, *start[outputs:]))


def guard_stmt(
    condition: Any,
    body: Block,
    orelse: Block,
    get_state: Get,
    set_state: Set,
    names: tuple[str, ...],
    outputs: int,
) -> None:
    """`if not do_return: ...`, which is malt's: what it leaves without a value is not asked for."""
    if_stmt(condition, body, orelse, get_state, set_state, names, outputs, fill=True)


def _nothing() -> None:
    pass


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
    while True:
        goes = test()
        if is_unknown(goes):
            break
        if not goes:
            return
        body()
    limit = options.get("maximum_iterations")
    for turn in range(_TURNS + 1):
        try:
            _while(test, body, get_state, set_state, names, limit and limit - turn)
            return
        except Unstable as unstable:
            if turn == _TURNS:
                raise unstable.error from None
            # The first turn makes variables, or makes tensors of numbers: it is taken out of the loop.
            try:
                if_stmt(goes, body, _nothing, get_state, set_state, names, len(names), fill=True)
            except (TypeError, ValueError):
                raise unstable.error from None
        goes = test()


def _while(
    test: Callable[[], Any], body: Block, get_state: Get, set_state: Set, names: tuple[str, ...], limit: Any
) -> None:
    state = Round(names, get_state())

    def goes(i: Tensor, *tensors: Any) -> Tensor:
        before = get_state()
        try:
            set_state(own(state.values(tensors)))
            return truth(test())
        finally:
            set_state(before)

    def turn(i: Tensor, *tensors: Any) -> list[Any]:
        return [i + 1, *_turn(state, tensors, body, get_state, set_state)]

    after = while_loop(goes, turn, [convert(0), *state.tensors], maximum_iterations=limit)
    set_state(state.final(after[1:]))


def _note(error: Exception, names: list[str]) -> None:
    if not hasattr(error, "__notes__"):
        error.add_note(
            f"In a compiled loop {' and '.join(names)} goes round as a tensor, of the dtype that the Python number "
            "before the loop has: start with a number or tensor of the dtype it is to have"
        )


def _turn(state: Round, tensors: Any, body: Block, get_state: Get, set_state: Set) -> list[Any]:
    before = get_state()
    try:
        set_state(state.values(tensors))
        try:
            body()
        except (TypeError, ValueError) as error:
            # A number of Python's goes round as a tensor, which does not mix with others as a number does.
            if state.numbers and not _is_raised(error):
                _note(error, state.numbers)
                raise Unstable(error) from error
            raise
        return state.after(tensors, get_state())
    finally:
        set_state(before)


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
    """`for item in iterable: body(item)`, as long as `test()` holds: it says if there was a `break` or `return`."""
    goes_on = test or (lambda: True)
    each = Each.over(iterable)
    limit = options.get("maximum_iterations")
    if each is not None:
        if limit is not None:
            each = each.first(int(limit))
        return _for_each(each, test, goes_on, body, get_state, set_state, names)
    if isinstance(iterable, Steps):
        return _for_steps(iterable, goes_on, body, get_state, set_state, names, limit)
    return _for_python(iterable, goes_on, body, get_state, set_state, names)


def _for_python(
    iterable: Any,
    test: Callable[[], Any],
    body: Block,
    get_state: Get,
    set_state: Set,
    names: tuple[str, ...],
) -> None:
    goes = test()
    if not is_unknown(goes) and not goes:
        return
    for item in iterable:
        if_stmt(goes, lambda x=item: body(x), _nothing, get_state, set_state, names, len(names), fill=True)
        goes = test()
        if is_unknown(goes):
            _must_end(iterable)
        elif not goes:
            return


def _must_end(iterable: Any) -> None:
    """All items are gone over if when to leave is not known, so there must be an end."""
    if not hasattr(iterable, "__len__") and not isinstance(iterable, (enumerate, zip, reversed, map, filter)):
        raise NotImplementedError(
            f"a tensor decides when to leave a loop over a Python {type(iterable).__name__}, whose length is not "
            "known: loop over a list, or over a tensor such as tf.range(n)"
        )


def _for_each(
    each: Each,
    test: Callable[[], Any] | None,
    goes_on: Callable[[], Any],
    body: Block,
    get_state: Get,
    set_state: Set,
    names: tuple[str, ...],
) -> None:
    goes = goes_on()
    if not each.length or (not is_unknown(goes) and not goes):
        return
    error: Exception | None = None
    if each.length > 1:
        loop = _scan if test is None else _search
        try:
            loop(each, goes_on, body, get_state, set_state, names)
            return
        except Unstable as unstable:
            if each.gone_over >= _TURNS:
                raise unstable.error from None
            error = unstable.error
    # One turn needs no loop; nor does a first turn that makes variables, or tensors of numbers.
    try:
        if_stmt(goes, lambda: body(each.at(0)), _nothing, get_state, set_state, names, len(names), fill=True)
    except TypeError:
        if error is None or not is_unknown(goes):
            raise
        raise error from None
    _for_each(each.without_first(), test, goes_on, body, get_state, set_state, names)


def _scan(each: Each, test: Any, body: Block, get_state: Get, set_state: Set, names: tuple[str, ...]) -> None:
    """A loop of known length."""
    state = Round(names, get_state())
    count = len(each.tensors)

    def turn(i: Tensor, *tensors: Any) -> list[Any]:
        item = each.item(i, list(tensors[:count]))
        return _turn(state, tensors[count:], lambda: body(item), get_state, set_state)

    set_state(state.final(for_loop(turn, each.length, state.tensors, each.tensors)))


def _search(
    each: Each, test: Callable[[], Any], body: Block, get_state: Get, set_state: Set, names: tuple[str, ...]
) -> None:
    """A loop that may be left early."""
    state = Round(names, get_state())

    def goes(i: Tensor, *tensors: Any) -> Tensor:
        before = get_state()
        try:
            set_state(own(state.values(tensors)))
            return truth(and_(lambda: i < each.length, test))
        finally:
            set_state(before)

    def turn(i: Tensor, *tensors: Any) -> list[Any]:
        item = each.item(i, [gather(t, i) for t in each.tensors])
        return [i + 1, *_turn(state, tensors, lambda: body(item), get_state, set_state)]

    after = while_loop(goes, turn, [convert(0), *state.tensors], maximum_iterations=each.length)
    set_state(state.final(after[1:]))


def _for_steps(
    steps: Steps,
    test: Callable[[], Any],
    body: Block,
    get_state: Get,
    set_state: Set,
    names: tuple[str, ...],
    limit: Any,
) -> None:
    """A count to a traced number is a `while` with one more variable."""
    at = steps.start

    def get() -> Values:
        return (at, *get_state())

    def set_(values: Values) -> None:
        nonlocal at
        at = values[0]
        set_state(values[1:])

    def turn() -> None:
        nonlocal at
        body(at)
        at = at + steps.step

    while_stmt(
        lambda: and_(lambda: steps.goes_on(at), test),
        turn,
        get,
        set_,
        ("the count", *names),
        {"maximum_iterations": limit},
    )
