"""Pages agree with the source: files and definitions that they name exist, and quotations are found in their file."""

import ast
import builtins
import re
from pathlib import Path

import pytest

import gradtape as tf
from gradtape.ops.math.elementwise import multiply

from .test_imports import LAYERS, PACKAGE

ROOT = Path(__file__).parents[1]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
HOW_IT_WORKS = ROOT / "docs" / "how-it-works.md"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

USERS_FILES = {"tensorflow.py"}  # docs/run.md names one that stands beside a user's script
CODE = re.compile(r"`([^`\n]+)`")
PYTHON_FILE = re.compile(r"[\w.-]*(?:/[\w.-]+)*\.py")


def section(page, heading):
    """The text under a heading, up to the next heading of its level."""
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page.read_text(), re.MULTILINE | re.DOTALL)[1]


def table(text):
    """The cells of a table, row by row, without its head."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def files_in(text):
    return {name for name in PYTHON_FILE.findall(text) if "/" in name} | {
        code for code in CODE.findall(text) if PYTHON_FILE.fullmatch(code)
    }


def find(name, page):
    """The file that a page names, relative to the page, to the project or to the package; None if there is none."""
    paths = (folder / name for folder in (page.parent, ROOT, PACKAGE))
    return next((path for path in paths if path.exists()), None)


def defined_in(path):
    """The names that a file defines; those of methods as `Class.method`."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
            yield from (f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef))


@every_page
def test_the_files_that_a_page_names_exist(page):
    assert [name for name in files_in(page.read_text()) - USERS_FILES if find(name, page) is None] == []


@every_page
def test_the_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_the_map_shows_the_layers():
    rooms = [row[0].strip("`") for row in table(section(ARCHITECTURE, "Rooms and layers"))]
    assert ["" if room == "root" else room for room in rooms] == LAYERS


@pytest.mark.parametrize(
    "life", ["Life of one eager operation", "Life of one compiled step", "Life of Keras's import"]
)
def test_what_a_step_names_is_defined_in_the_files_it_names(life):
    example, *steps = re.split(r"^\d+\. ", section(ARCHITECTURE, life), flags=re.MULTILINE)
    assert len(steps) >= 5
    of_the_example = {*re.findall(r"\w+", " ".join(CODE.findall(example))), "jax.numpy"}
    for step in steps:
        names = {code for code in CODE.findall(step) if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)?", code)}
        defined = {name for file in files_in(step) for name in defined_in(find(file, ARCHITECTURE))}
        assert names - defined - of_the_example - files_in(step) == set(), step


def test_the_glossary_is_short_and_sorted():
    words = [row[0] for row in table(section(ARCHITECTURE, "Glossary"))]
    assert words == sorted(set(words))
    assert 10 <= len(words) <= 25


FENCE = re.compile(r"^```(.+)\n(?:.*\n)*?```$", re.MULTILINE)
QUOTED = re.compile(r"^```py (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@every_page
def test_quotations_are_found_in_their_file(page):
    """A block that opens with ```py and a path is quoted from that file, line by line."""
    for name, quotation in QUOTED.findall(page.read_text()):
        assert quotation in find(name, page).read_text(), f"{name} does not say:\n{quotation}"


def test_how_it_works_shows_code_that_runs_or_is_quoted():
    text = HOW_IT_WORKS.read_text()
    kinds = FENCE.findall(text)
    assert [kind for kind in kinds if kind != "python"] == ["py ops/math/elementwise.py", "text"]
    assert "\n    " not in FENCE.sub("", text)


def test_the_functions_of_a_plan_are_those_shown(monkeypatch):
    """How it works shows what the plan of `multiply`, for two inputs, is compiled from."""
    shown = re.findall(r"^\w+: +(lambda .*)", HOW_IT_WORKS.read_text(), re.MULTILINE)
    sources = []
    evaluate = builtins.eval

    def spy(source, *scopes):
        sources.append(ast.unparse(ast.parse(source, mode="eval")))
        return evaluate(source, *scopes)

    x, y = tf.constant(2.0), tf.constant(3.0)
    monkeypatch.setattr(builtins, "eval", spy)
    monkeypatch.setattr(multiply, "plans", {})
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        x * y
    assert sources == shown
