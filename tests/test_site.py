"""The site: pages of the API reference, differences, and the search for dead links."""

import importlib.util
from pathlib import Path

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


def test_every_public_name_has_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(make_site, "BUILD", tmp_path)
    make_site.write_reference()
    written = {path.stem for path in (tmp_path / "api").glob("*.md")}
    modules = {name for name in dotted_names() if isinstance(make_site._object(name), type(tf))} | {
        "keras",
        "compat",
    }
    assert set(dotted_names()) - modules <= written
    assert {f"namespace-{name}" for name in modules - {"keras", "compat"}} <= written
    page = (tmp_path / "api" / "GradientTape.md").read_text(encoding="utf-8")
    for part in (
        "# tf.GradientTape",
        "persistent: bool = False",
        "- `persistent`: whether",
        "### jacobian",
        ">>> ",
    ):
        assert part in page


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


def test_the_navigation_names_pages_that_exist():
    text = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [word for line in text.splitlines() for word in line.split() if word.endswith(".md")]
    assert len(pages) > 20
    from_root = {"index.md", "contributing.md", "changelog.md", "api/index.md"}
    named = {DOCS / page.replace("index.md", "README.md") for page in pages if page not in from_root}
    assert [page.name for page in named if not page.exists()] == []
    shown = {page.relative_to(DOCS) for page in named}
    assert {page.relative_to(DOCS) for page in DOCS.rglob("*.md")} == shown
