"""Source to source: a function of Python as one whose calls and, where it has any, control flow are ours.

`parsed` finds the syntax tree of a function, `rewritten` changes it, `loaded` makes a function of it again. Trees keep
the lines of the user's file, and are compiled under its name, so tracebacks and debuggers show the user's own code.
What follows from a tensor is decided when the code runs, by what `operators` and `calls` offer it as `ag__`.
"""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import linecache
import operator
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from .directives import set_loop_options

Function = ast.FunctionDef | ast.Lambda

_BRANCHING = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Not, ast.Assert)
_FUTURE = functools.reduce(
    operator.or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names)
)


class CannotConvert(Exception):
    """A function whose source is not to be had, or uses what cannot be converted."""


# ---------------------------------------------------------------------------------------------------------------------
# Finding the source


def parsed(function: FunctionType) -> Function:
    """The syntax tree of a function, with the lines of its file."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise CannotConvert("its source is not there")
    return _lambda(code, "".join(lines)) if code.co_name == "<lambda>" else _definition(code, lines)


def _definition(code: CodeType, lines: list[str]) -> ast.FunctionDef:
    first = code.co_firstlineno
    try:
        block = "".join(inspect.getblock(lines[first - 1 :]))
        # An indented block is parsed where it stands: dedenting would change strings, and columns in tracebacks.
        indented = block[:1].isspace()
        tree = ast.parse("if 1:\n" + block if indented else block)
    except (SyntaxError, IndentationError, IndexError) as error:
        raise CannotConvert(f"its source cannot be read: {error}") from None
    node = tree.body[0]
    if isinstance(node, ast.If):
        node = node.body[0]
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        raise CannotConvert("its source has changed, or is not to be had")
    ast.increment_lineno(node, first - (2 if indented else 1))
    return node


def _lambda(code: CodeType, source: str) -> ast.Lambda:
    """The innermost lambda around the code: by columns, since a line may have several."""
    places = [p for p in code.co_positions() if None not in p]
    spans = [((a, c), (b, d)) for a, b, c, d in places if (a, c) != (b, d)]
    try:
        found = [
            node
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Lambda) and spans and all(_within(node.body, span) for span in spans)
        ]
    except SyntaxError as error:
        raise CannotConvert(f"its source cannot be read: {error}") from None
    if not found:
        raise CannotConvert("its source is not to be found")
    return max(found, key=lambda node: (node.lineno, node.col_offset))


def _within(node: ast.expr, span: Any) -> bool:
    return (node.lineno, node.col_offset) <= span[0] and span[1] <= (node.end_lineno, node.end_col_offset)


# ---------------------------------------------------------------------------------------------------------------------
# Changing it


def rewritten(function: FunctionType, tree: Function) -> Function:
    """The tree with calls through `ag__`; and with `if`, `while` and the like through it if there are any."""
    _check(tree)
    branches = any(_branches(node) for node in ast.walk(tree))
    tree = _Prepared(function, tree).whole()
    if not branches:
        return ast.fix_missing_locations(_Marked().whole(tree))
    if any(isinstance(node, (ast.Match, ast.TryStar)) for node in ast.walk(tree)):
        raise CannotConvert("it uses `match` or `except*`")
    from .lowering import lowered

    return lowered(function, tree, _Names(function).all)


def _branches(node: ast.AST) -> bool:
    return isinstance(node, _BRANCHING) or (isinstance(node, ast.Compare) and len(node.ops) > 1)


def _check(tree: Function) -> None:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            raise CannotConvert("it contains a generator")
        if isinstance(node, (ast.AsyncFunctionDef, ast.Await)):
            raise CannotConvert("it contains a coroutine")
        if isinstance(node, (ast.IfExp, ast.BoolOp)) and _names_values(node):
            raise CannotConvert("it uses `:=` inside `and`, `or` or a conditional expression")


def _names_values(node: ast.AST) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))


class _Prepared(ast.NodeTransformer):
    """What can be said without knowing how names are used: calls, chains of comparisons, assertions, private names."""

    def __init__(self, function: FunctionType, tree: Function) -> None:
        self._tree = tree
        self._first = next((a.arg for a in (*tree.args.posonlyargs, *tree.args.args)), None)
        owner = function.__qualname__.split(".")[-2:-1]
        self._class = owner[0].lstrip("_") if owner and owner[0] != "<locals>" else ""
        self._namespace = _Names(function)

    def whole(self) -> Function:
        tree = self._tree
        for arg in _arguments(tree):
            arg.annotation = None
        nothing = ast.Constant(None)
        tree.args.defaults = [nothing] * len(tree.args.defaults)  # the function's own are put there later
        tree.args.kw_defaults = [d and nothing for d in tree.args.kw_defaults]
        if isinstance(tree, ast.FunctionDef):
            tree.decorator_list, tree.returns = [], None
            tree.body = self._block(tree.body)
            _end_with_return(tree)
        else:
            tree.body = self.visit(tree.body)
        return tree

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        block = [n for s in statements for n in _as_list(self.visit(s))]
        return block or [ast.Pass()]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for arg in _arguments(node):
            arg.annotation = None
        first, self._first = (
            self._first,
            None,
        )  # `super()` in a function inside a method is not ours to explain
        self.generic_visit(node)
        self._first = first
        _end_with_return(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self._first:
            node.args = [ast.Name("__class__", ast.Load()), ast.Name(self._first, ast.Load())]
            return _placed(node, node)
        self.generic_visit(node)
        node.func = _placed(_ag("called", node.func), node.func)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        # a < f(x) < b asks f once: each operand after the first two is a function that is called if it is needed.
        names = ast.Constant(" ".join(type(op).__name__ for op in node.ops))
        later = [_deferred(operand) for operand in node.comparators]
        return _placed(_ag("compared", names, node.left, *later), node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        message = _deferred(node.msg or ast.Constant(None))
        return _placed(ast.Expr(_ag("assert_stmt", node.test, message)), node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        self.generic_visit(node)
        if node.exc is not None:
            node.exc = _placed(_ag("raised", node.exc), node)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        if node.name is not None:  # which malt does not take: a variable that is assigned
            named = ast.Assign([ast.Name(self._mangled(node.name), ast.Store())], _ag("handled"))
            node.body, node.name = [_placed(named, node), *node.body], None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self.generic_visit(node)
        if node.value is None:
            return _placed(ast.Pass(), node)
        return _placed(ast.Assign([node.target], node.value), node)

    def visit_While(self, node: ast.While) -> ast.AST:
        self._take_options(node)
        if _names_values(node.test) and not node.orelse:
            # The test becomes a function, whose names are its own: test inside the loop.
            leave = _placed(ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], []), node.test)
            node.test, node.body = _placed(ast.Constant(True), node.test), [leave, *node.body]
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        self._take_options(node)
        self.generic_visit(node)
        if isinstance(node.iter, ast.Call):  # ag__.called(f)(...)
            node.iter.func.func.attr = "counted"  # type: ignore[attr-defined]
        return node

    def _take_options(self, node: ast.While | ast.For) -> None:
        """`set_loop_options(...)` as the first statement of a loop is about the loop: `lowering` puts it there."""
        first = node.body[0]
        if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Call):
            return
        if self._namespace.value(first.value.func) is set_loop_options:
            node.body = node.body[1:] or [_placed(ast.Pass(), first)]
            node.gradtape_options = first.value  # type: ignore[union-attr]

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._mangled(node.attr)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._mangled(node.id)
        return node

    def _mangled(self, name: str) -> str:
        private = self._class and name.startswith("__") and not name.endswith("__")
        return f"_{self._class}{name}" if private else name


class _Names:
    """What names of a function mean, as far as can be said before it runs."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function

    def value(self, node: ast.expr) -> Any:
        """What a dotted name stands for, or None."""
        if isinstance(node, ast.Attribute):
            return getattr(self.value(node.value), node.attr, None)
        return self.all.get(node.id) if isinstance(node, ast.Name) else None

    @functools.cached_property
    def all(self) -> dict[str, Any]:
        """Globals and variables of the functions around it."""
        code, cells = self._function.__code__, self._function.__closure__ or ()
        inside = {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells) if _filled(cell)}
        return {**self._function.__globals__, **inside}


def _filled(cell: CellType) -> bool:
    return cell != CellType()


class _Marked(ast.NodeTransformer):
    """Functions and lambdas inside, marked as converted already."""

    def whole(self, tree: Function) -> Function:
        self.generic_visit(tree)
        return tree

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list.append(_placed(_ag_name("autograph_artifact"), node))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        return _placed(_ag("autograph_artifact", node), node)


def _arguments(tree: Function | ast.FunctionDef) -> Iterator[ast.arg]:
    args = tree.args
    yield from (*args.posonlyargs, *args.args, *args.kwonlyargs)
    yield from (a for a in (args.vararg, args.kwarg) if a is not None)


def _end_with_return(tree: ast.FunctionDef) -> None:
    """Say `return None` where the end is reached without: then all paths are seen to return something, or not."""
    if not isinstance(tree.body[-1], (ast.Return, ast.Raise)) and any(
        isinstance(n, ast.Return) for n in _own(tree)
    ):
        tree.body.append(_placed(ast.Return(ast.Constant(None)), tree.body[-1]))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function that are not those of functions inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _own(child)


def _ag_name(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("ag__", ast.Load()), name, ast.Load())


def _ag(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_ag_name(name), list(arguments), [])


def _deferred(node: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return _placed(ast.Lambda(nothing, node), node)


def _placed(node: Any, like: ast.AST) -> Any:
    """A new node, where an old one was."""
    for n in ast.walk(node):
        if "lineno" in n._attributes and not hasattr(n, "lineno"):
            ast.copy_location(n, like)
    return node


def _as_list(node: Any) -> list[ast.stmt]:
    return node if isinstance(node, list) else [] if node is None else [node]


# ---------------------------------------------------------------------------------------------------------------------
# Making a function of it


class Factory:
    """Converted code, of which functions are made that share the globals and the closure of the original ones."""

    def __init__(self, function: FunctionType) -> None:
        code = function.__code__
        tree = rewritten(function, parsed(function))
        self.source = ast.unparse(tree)
        name = "ag__converted"
        if isinstance(tree, ast.Lambda):
            definition: ast.stmt = ast.Assign([ast.Name(name, ast.Store())], tree)
        else:
            tree.name = name
            definition = tree
        # Names of the functions around it are made local to `around`, so that they are free where it is used.
        module = ast.parse(
            "def around():\n    def make(ag__):\n        return ag__converted\n    return make"
        )
        around: Any = module.body[0]
        around.body[0].body.insert(0, definition)
        around.body[:0] = ast.parse("".join(f"{v} = None\n" for v in code.co_freevars)).body
        ast.fix_missing_locations(module)
        flags = code.co_flags & _FUTURE
        namespace: dict[str, Any] = {}
        try:
            exec(compile(module, code.co_filename, "exec", flags, dont_inherit=True), namespace)
        except SyntaxError as error:
            raise CannotConvert(f"malt made code of it that is none: {error}") from None
        self._make: CodeType = namespace["around"]().__code__

    def function(self, original: FunctionType, ag: Any) -> FunctionType:
        """The function converted."""
        cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in self._make.co_freevars)
        made: FunctionType = FunctionType(self._make, original.__globals__, closure=closure)(ag)
        made.__code__ = made.__code__.replace(
            co_name=original.__code__.co_name, co_qualname=original.__code__.co_qualname
        )
        made.__name__, made.__qualname__ = original.__name__, original.__qualname__
        made.__defaults__, made.__kwdefaults__ = original.__defaults__, original.__kwdefaults__
        made.__module__, made.__doc__ = original.__module__, original.__doc__
        return made
