"""Control flow lowered to function calls: diastatic-malt, TensorFlow's AutoGraph as a package of its own.

`if`, `while` and `for` become calls of `ag__.if_stmt` and its kind with their blocks as functions; `break`, `continue`
and early `return` become flags; `and`, `or`, `not` and conditional expressions become calls.
"""

from __future__ import annotations

import ast
import inspect
from types import FunctionType
from typing import Any

from malt.converters import (
    break_statements,
    conditional_expressions,
    continue_statements,
    control_flow,
    functions,
    logical_expressions,
    return_statements,
    variables,
)
from malt.core import converter
from malt.lang import directives
from malt.pyct import anno, cfg, naming, origin_info, qual_names, transformer
from malt.pyct.static_analysis import activity, reaching_definitions

from .block_state import FLAGS
from .directives import set_loop_options
from .source import CannotConvert, Function

_LOOP_OPTIONS = tuple(inspect.signature(set_loop_options).parameters)


def lowered(function: FunctionType, tree: Function, names: dict[str, Any]) -> Function:
    """The tree without control flow, at the lines of the old one."""
    _remember_lines(function.__code__.co_filename, tree)
    _pass_options(tree)
    info = transformer.EntityInfo("ag__converted", "", function.__code__.co_filename, (), names)
    user = converter.ProgramContext(options=converter.STANDARD_OPTIONS)
    context = transformer.Context(info, naming.Namer(names), user)
    try:
        result = _lower(tree, context)
    except (AssertionError, AttributeError, KeyError, NotImplementedError, TypeError, ValueError) as error:
        raise CannotConvert(f"malt cannot convert it: {type(error).__name__}: {error}") from error
    fresh = ast.parse(ast.unparse(ast.fix_missing_locations(result))).body[0]
    made: Any = fresh.value if isinstance(fresh, ast.Expr) else fresh
    _put_lines(result, made, function.__code__.co_firstlineno)
    return made


def _lower(node: Any, context: transformer.Context) -> Any:
    graphs = cfg.build(node)
    node = qual_names.resolve(node)
    node = activity.resolve(node, context, None)
    node = reaching_definitions.resolve(node, context, graphs)
    anno.dup(node, {anno.Static.DEFINITIONS: anno.Static.ORIG_DEFINITIONS})
    for step in (functions, break_statements, continue_statements, return_statements, control_flow):
        node = step.transform(node, context)
    node = _Guards().visit(node)
    for step in (conditional_expressions, logical_expressions, variables):
        node = step.transform(node, context)
    return node


class _Guards(ast.NodeTransformer):
    """Renames `if not do_return: ...`, which is malt's: what it leaves without a value is not used."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        f, test = node.func, node.args[0] if node.args else None
        if isinstance(f, ast.Attribute) and f.attr == "if_stmt" and isinstance(test, ast.UnaryOp):
            flag = test.operand
            if (
                isinstance(test.op, ast.Not)
                and isinstance(flag, ast.Name)
                and flag.id.startswith(FLAGS)
                and not anno.hasanno(flag, anno.Static.ORIG_DEFINITIONS)
            ):
                f.attr = "guard_stmt"
        return node


def _pass_options(tree: Function) -> None:
    """Put the options of `set_loop_options`, which `syntax` moved to the loop, where malt looks for them."""
    for node in ast.walk(tree):
        call = getattr(node, "gradtape_options", None)
        if call is not None:
            given = dict(zip(_LOOP_OPTIONS, call.args)) | {k.arg: k.value for k in call.keywords}
            if given:
                anno.setanno(node, anno.Basic.DIRECTIVES, {directives.set_loop_options: given})


# ---------------------------------------------------------------------------------------------------------------------
# Line numbers


def _remember_lines(filename: str, tree: Function) -> None:
    for node in ast.walk(tree):
        line = getattr(node, "lineno", None)
        if line is not None:
            place = origin_info.Location(filename, line, 0)
            anno.setanno(node, anno.Basic.ORIGIN, origin_info.OriginInfo(place, None, "", None))


def _put_lines(old: ast.AST, new: ast.AST, line: int) -> None:
    """Give the tree that was parsed again the lines that the nodes of the old one come from."""
    origin = anno.getanno(old, anno.Basic.ORIGIN, default=None)
    if origin is not None:
        line = origin.loc.lineno
    if "lineno" in new._attributes:
        place: Any = new
        place.lineno = place.end_lineno = line
        place.col_offset = place.end_col_offset = -1  # not known
    olds, news = list(ast.iter_child_nodes(old)), list(ast.iter_child_nodes(new))
    same = len(olds) == len(news) and all(type(a) is type(b) for a, b in zip(olds, news))
    for before, after in zip(olds if same else [old] * len(news), news):
        _put_lines(before, after, line)
