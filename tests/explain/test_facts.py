"""An operation's facts stand on its primitive, and nowhere else."""

import ast
from pathlib import Path

import pytest

import gradtape as tf
from gradtape.core.facts import Facts
from gradtape.core.primitive import Primitive

PACKAGE = Path(tf.__file__).parent
TOLD_BY_FACTS = [*sorted((PACKAGE / "explain").glob("*.py")), PACKAGE / "ops" / "numerics_checker.py"]


def tables_by_name(source):
    """Dictionaries, sets, lists and tuples that are filled with the names of primitives."""
    for node in ast.walk(ast.parse(source)):
        entries = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        words = [entry.value for entry in entries if isinstance(entry, ast.Constant)]
        names = [word for word in words if word in Primitive.registry]
        if len(names) > 2 and 2 * len(names) > len(words):
            yield names


@pytest.mark.parametrize("path", TOLD_BY_FACTS, ids=lambda path: path.name)
def test_no_table_says_facts_by_name(path):
    assert list(tables_by_name(path.read_text())) == []


def test_this_test_sees_a_table():
    assert list(tables_by_name('A = {"tanh": 1, "relu": 2, "exp": 3}; B = frozenset(("sum", "mean", "max"))'))


def test_public_names_are_public():
    names = {p.facts.public for p in Primitive.registry.values()} - {"", "slicing"}
    assert "reduce_sum" in names
    assert [name for name in names if not _is_in(tf, name) and not _is_in(tf.math, name)] == []


def _is_in(namespace, dotted):
    for name in dotted.split("."):
        namespace = getattr(namespace, name, None)
    return namespace is not None


def test_what_only_moves_elements_has_nothing_to_cure():
    moving = [p for p in Primitive.registry.values() if p.facts.moves]
    assert len(moving) > 15
    assert [p.name for p in moving if p.facts.cure or p.facts.slope_cure] == []


def test_what_gives_booleans_or_integers_by_nature_has_no_rules():
    assert [p.name for p in Primitive.registry.values() if p.facts.discrete and p.rule] == []


def test_an_unknown_fact_is_refused():
    with pytest.raises(TypeError, match="publik"):
        Facts(publik="tanh")
