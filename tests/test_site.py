"""The site: pages of the API reference, differences, and the search for dead links."""

import doctest
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape.names.surface import dotted_names

DOCS = Path(__file__).parents[1] / "docs"


def load(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make_site, check_links = load("make_site"), load("check_links")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The folder with the pages of the API reference."""
    build, make_site.BUILD = make_site.BUILD, tmp_path_factory.mktemp("site")
    try:
        make_site.write_reference()
        return make_site.BUILD / "api"
    finally:
        make_site.BUILD = build


NAMES = {name: make_site._object(name) for name in dotted_names() if name not in ("keras", "compat")}
MODULES = {name for name, value in NAMES.items() if isinstance(value, type(tf))}
CALLED = {
    name: value for name, value in NAMES.items() if not make_site._is_plain(value) and name not in MODULES
}


def test_every_public_name_has_a_page(pages):
    written = {path.stem for path in pages.glob("*.md")}
    assert NAMES.keys() - MODULES <= written
    assert {f"namespace-{name}" for name in MODULES} <= written
    page = (pages / "GradientTape.md").read_text(encoding="utf-8")
    for part in (
        "# tf.GradientTape",
        "persistent: bool = False",
        "- `persistent` (`bool`, default `False`): whether",
        "### jacobian",
        ">>> ",
    ):
        assert part in page


def test_the_page_of_a_function_or_class_has_signature_arguments_example_and_differences(pages):
    parts = ("```python\ntf.{}", "\n**Example**\n\n```pycon\n>>> ", "\n## Differences from TensorFlow\n\n")
    texts = {name: (pages / f"{name}.md").read_text(encoding="utf-8") for name in CALLED}
    missing = [
        (name, part) for name, text in texts.items() for part in parts if part.format(name) not in text
    ]
    assert missing == []
    for name, value in CALLED.items():
        listed = re.findall(
            r"^- `(\w+)`(?: \(.*?\))?:(.*)$", texts[name].partition("**Arguments**")[2], re.MULTILINE
        )
        given = make_site.parameters(value, make_site.divided(make_site.text_of(value))[1])
        assert [one.name for one in given] == [argument for argument, _ in listed[: len(given)]], name
        assert [argument for argument, words in listed[: len(given)] if not words.strip()] == [], name


def test_words_for_arguments_are_used_each():
    used = set()
    for name, value in CALLED.items():
        text, args, _, _ = make_site.divided(make_site.text_of(value))
        for one in make_site.parameters(value, args):
            used.add(make_site.key_of(name, one.name, args, text))
    assert make_site._glossary().keys() - used == set()


def test_examples_of_classes_from_elsewhere_run():
    runner, said = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), []
    scope = {"tf": tf, "np": np}
    for number, text in enumerate(make_site._docstrings().values()):
        runner.run(
            doctest.DocTestParser().get_doctest(text, scope, text.partition("\n")[0], None, number),
            out=said.append,
        )
    assert runner.tries > 30 and runner.failures == 0, "".join(said)


@pytest.mark.parametrize(
    ("name", "example", "shown"),
    [
        ("abs", ">>> abs(-1.0)\nabs(1)\n", ">>> tf.abs(-1.0)\nabs(1)\n"),
        ("io.gfile.copy", ">>> exists(sorted(x))\n", ">>> tf.io.gfile.exists(sorted(x))\n"),
        (
            "math.abs",
            ">>> exp = tf.exp(1.0)\n>>> abs(exp)\n",
            ">>> exp = tf.exp(1.0)\n>>> tf.math.abs(exp)\n",
        ),
        (
            "errors.OpError",
            ">>> try:\n...     f()\n... except OpError as e:\n...     pass\n",
            ">>> try:\n...     f()\n... except tf.errors.OpError as e:\n...     pass\n",
        ),
    ],
)
def test_examples_name_the_namespace(name, example, shown):
    assert make_site.qualified(example, name) == shown


def test_a_page_says_how_a_name_differs_from_tensorflow():
    found = make_site.differences_by_name((DOCS / "differences.md").read_text(encoding="utf-8"))
    assert any("TensorFlow: nan; gradtape: 0" in text for text in found["norm"])
    assert any("third order" in text for text in found["vectorized_map"])
    assert "differs" not in found


def test_a_docstring_as_markdown():
    text = make_site.docstring(
        "Do it for <b>x_1</b>.\n\nArgs:\n    x: a `tensor`,\n        or two.\n\n"
        "Returns:\n    A tensor.\n\n>>> f(1)\n2\n"
    )
    assert text.startswith("Do it for &lt;b>x\\_1&lt;/b>.")
    assert "**Args**\n\n- `x`: a `tensor`, or two." in text
    assert "**Returns**\n\n- A tensor." in text
    assert "```pycon\n>>> f(1)\n2\n```" in text


@pytest.mark.parametrize(
    ("link", "dead"),
    [
        ("b.html", False),
        ("b.html#there", False),
        ("#top", False),
        ("c.html", True),
        ("b.html#gone", True),
        ("https://x", False),
    ],
)
def test_dead_links_are_found(link, dead, tmp_path):
    (tmp_path / "a.html").write_text(f'<h1 id="top">A</h1><a href="{link}">link</a>')
    (tmp_path / "b.html").write_text('<h2 id="there">B</h2>')
    assert check_links.dead_links(tmp_path) == ([f"a.html: {link}"] if dead else [])


def test_pages_that_load_from_elsewhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<script src="https://x/y.js"></script><a href="https://x">x</a>')
    assert check_links.dead_links(tmp_path) == ["a.html: https://x/y.js is not on this site"]


def test_the_navigation_names_pages_that_exist():
    text = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [word for line in text.splitlines() for word in line.split() if word.endswith(".md")]
    assert len(pages) > 20
    from_root = {"index.md", "contributing.md", "changelog.md", "api/index.md"}
    named = {DOCS / page.replace("index.md", "README.md") for page in pages if page not in from_root}
    assert [page.name for page in named if not page.exists()] == []
    shown = {page.relative_to(DOCS) for page in named}
    assert {page.relative_to(DOCS) for page in DOCS.rglob("*.md")} == shown
