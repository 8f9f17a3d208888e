"""Source to source: convert a function of Python to one whose calls and control flow go through `ag__`.

`source.parsed` finds the syntax tree of a function, `rewritten` changes it, `Factory` compiles it again. Trees keep the
lines of the user's file, and are compiled under its name, so tracebacks and debuggers show the user's own code. Whether
a tensor decides is found when the code runs, by `operators` and `conversion`, whose functions are `ag__`.
"""

from __future__ import annotations
import __future__

import ast
import functools
import operator
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from .directives import set_loop_options
from .source import CannotConvert, Function, parsed

_BRANCHING = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Not, ast.Assert)
_FUTURE = functools.reduce(
    operator.or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names)
)


# ---------------------------------------------------------------------------------------------------------------------
# Rewriting


def rewritten(function: FunctionType, tree: Function) -> Function:
    """The tree with calls through `ag__`; and with `if`, `while` and the like through it if there are any."""
    _check(tree)
    branches = any(_is_control_flow(node) for node in ast.walk(tree))
    tree = _Preparation(function, tree).whole()
    if not branches:
        return ast.fix_missing_locations(_Marking().whole(tree))
    if any(isinstance(node, (ast.Match, ast.TryStar)) for node in ast.walk(tree)):
        raise CannotConvert("it uses `match` or `except*`")
    from .lowering import lowered

    return lowered(function, tree, _Names(function).all)


def _is_control_flow(node: ast.AST) -> bool:
    return isinstance(node, _BRANCHING) or (isinstance(node, ast.Compare) and len(node.ops) > 1)


def _check(tree: Function) -> None:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            raise CannotConvert("it contains a generator")
        if isinstance(node, (ast.AsyncFunctionDef, ast.Await)):
            raise CannotConvert("it contains a coroutine")
        if isinstance(node, (ast.IfExp, ast.BoolOp)) and _has_walrus(node):
            raise CannotConvert("it uses `:=` inside `and`, `or` or a conditional expression")


def _has_walrus(node: ast.AST) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))


class _Preparation(ast.NodeTransformer):
    """Rewrites what does not depend on how names are used: calls, chained comparisons, assertions, private names."""

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
        )  # `super()` in a function inside a method is left alone
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
        # a < f(x) < b calls f once: each operand after the first is a function that is called if it is needed.
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
        if node.name is not None:  # malt does not support the name: assign a variable instead
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
        if _has_walrus(node.test) and not node.orelse:
            # The test becomes a function, whose variables are local to it: test inside the loop.
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
        """Move `set_loop_options(...)`, the first statement of a loop, to the loop, where `lowering` finds it."""
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
    """The values of the names of a function, as far as they are known before it runs."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function

    def value(self, node: ast.expr) -> Any:
        """The value of a dotted name, or None."""
        if isinstance(node, ast.Attribute):
            return getattr(self.value(node.value), node.attr, None)
        return self.all.get(node.id) if isinstance(node, ast.Name) else None

    @functools.cached_property
    def all(self) -> dict[str, Any]:
        """Globals, and variables of the enclosing functions."""
        code, cells = self._function.__code__, self._function.__closure__ or ()
        inside = {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells) if _filled(cell)}
        return {**self._function.__globals__, **inside}


def _filled(cell: CellType) -> bool:
    return cell != CellType()


class _Marking(ast.NodeTransformer):
    """Marks functions and lambdas inside as converted already."""

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
    """Add `return None` where the end is reached without `return`, so that all paths return something."""
    if not isinstance(tree.body[-1], (ast.Return, ast.Raise)) and any(
        isinstance(n, ast.Return) for n in _without_inner_functions(tree)
    ):
        tree.body.append(_placed(ast.Return(ast.Constant(None)), tree.body[-1]))


def _without_inner_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function that are not those of functions inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _without_inner_functions(child)


def _ag_name(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("ag__", ast.Load()), name, ast.Load())


def _ag(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_ag_name(name), list(arguments), [])


def _deferred(node: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return _placed(ast.Lambda(nothing, node), node)


def _placed(node: Any, like: ast.AST) -> Any:
    """Give a new node the lines of an old one."""
    for n in ast.walk(node):
        if "lineno" in n._attributes and not hasattr(n, "lineno"):
            ast.copy_location(n, like)
    return node


def _as_list(node: Any) -> list[ast.stmt]:
    return node if isinstance(node, list) else [] if node is None else [node]


# ---------------------------------------------------------------------------------------------------------------------
# Compiling


class Factory:
    """Converted code, and the functions that run it with the globals and the closure of the original ones."""

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
        # Variables of the enclosing functions are made local to `ag__around`, so that they are free in the function.
        # No name here may be one that the function uses.
        module = ast.parse(
            "def ag__around():\n    def ag__make(ag__):\n        return ag__converted\n    return ag__make"
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
        self._make: CodeType = namespace["ag__around"]().__code__

    def function(self, original: FunctionType, ag: Any) -> FunctionType:
        """The converted function, with the globals, closure, defaults and names of the original."""
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
