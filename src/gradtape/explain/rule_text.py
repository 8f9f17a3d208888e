"""The rule of an operation's gradient for people: a formula, a sentence, and the code."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from ..core.primitive import Primitive
from .reasons import public_name

_CODE = 100  # characters of a rule that are shown


def rule_text(operation: str) -> dict[str, Any]:
    """The rule of an operation by its primitive's name: `name`, `words`, `formula` and, by input, `code`.

    >>> rule_text("tanh")["formula"]
    'd tanh(x) = (1 - tanh(x)²) dx'
    """
    primitive = Primitive.registry.get(operation)
    if primitive is None:
        words = "The gradient is what its own gradient function makes of the gradient that arrives."
        return {"name": operation, "words": words}
    text: dict[str, Any] = {"name": public_name(operation), "words": _words(primitive)}
    if primitive.facts.formula:
        text["formula"] = primitive.facts.formula
    code = {name: shown for name, rule in primitive.rule.items() if (shown := _code(name, rule))}
    if code:
        text["code"] = code
    return text


def _words(primitive: Primitive) -> str:
    facts = primitive.facts
    if facts.words:
        return facts.words
    if not primitive.rule:
        return "No gradient passes."
    if facts.moves:
        return "It only moves elements: each gradient goes back to where its element came from."
    if primitive.linear:
        return "It is linear: the gradient goes back through its transpose, whatever the values are."
    if primitive.multilinear:
        return "It is linear in each input: each one gets the gradient times the others."
    if primitive.elementwise and len(primitive.inputs) == 1:
        return "Element by element: the gradient that arrives is multiplied by the slope there."
    if primitive.elementwise:
        return (
            "Element by element: each input gets the gradient that arrives times the slope in its direction."
        )
    return "Each input gets the gradient that arrives times the derivative of the result by that input."


def _code(name: str, rule: Callable[..., Any]) -> str:
    """The source of a rule: of a lambda its body, of a short function the whole; empty if it is long or not at hand."""
    try:
        source = textwrap.dedent(inspect.getsource(rule))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == name and isinstance(node.value, ast.Lambda):
            return ast.unparse(node.value.body)
    found = tree.body[0]
    if isinstance(found, ast.FunctionDef):
        body = [one for one in found.body if not _is_docstring(one)]
        shown = "\n".join(ast.unparse(one) for one in body).removeprefix("return ")
        return shown if len(body) == 1 and len(shown) <= _CODE else ""
    if isinstance(found, ast.Assign) and isinstance(found.value, ast.Lambda):
        return ast.unparse(found.value.body)
    return ""


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
