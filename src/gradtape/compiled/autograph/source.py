"""The source of a function of Python, as a syntax tree with the lines of the user's file."""

from __future__ import annotations

import ast
import inspect
import linecache
from types import CodeType, FunctionType
from typing import Any

Function = ast.FunctionDef | ast.Lambda


class CannotConvert(Exception):
    """Raised if the source of a function cannot be found, or uses what cannot be converted."""


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
    """The innermost lambda that contains the code, by columns, since a line may have several."""
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
