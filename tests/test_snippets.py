"""Every Python block of README, CONTRIBUTING and docs/ runs, and says what the page says it prints.

The blocks of one page share a namespace, in order. In a plain block the comments `# prints ...` together are what the
block writes; a block with prompts (`>>>`) is a doctest. Tracebacks and reports point into the page itself.
"""

import contextlib
import doctest
import io
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCED = re.compile(r"^(?P<indent> *)```python\n(?P<source>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"# prints (.*)")


def blocks(page):
    """The Python blocks of a page, each with the lines the page has before it."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start("source")), textwrap.dedent(match["source"]))
        for match in FENCED.finditer(text)
    ]


def run_plain(source, namespace, page, lines_before):
    # With as many empty lines in front, line numbers are the page's own.
    code = compile("\n" * lines_before + source, page, "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    promised = "".join(f"{line}\n" for line in PRINTS.findall(source))
    if promised and not doctest.OutputChecker().check_output(promised, printed.getvalue(), FLAGS):
        pytest.fail(
            f"{page}:{lines_before + 1} promises\n{promised}and prints\n{printed.getvalue()}", pytrace=False
        )


def run_doctest(source, namespace, page, lines_before):
    test = doctest.DocTestParser().get_doctest(source, {}, page.name, str(page), lines_before)
    test.globs = namespace
    report = io.StringIO()
    if doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.write, clear_globs=False).failed:
        pytest.fail(report.getvalue(), pytrace=False)


def run_page(page):
    namespace = {"__name__": "__main__"}
    for lines_before, source in blocks(page):
        run = run_doctest if ">>>" in source else run_plain
        run(source, namespace, page, lines_before)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras's variables
@pytest.mark.parametrize(
    "page",
    [README, CONTRIBUTING, *sorted(ROOT.glob("docs/**/*.md"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_snippets_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_the_readme_has_snippets():
    assert blocks(README)


def write_page(folder, text):
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_blocks_share_a_namespace(tmp_path):
    run_page(
        write_page(
            tmp_path,
            "```python\nx = 1\n```\n  ```python\n  >>> x = x + 1\n  ```\n```python\nprint(x)  # prints 2\n```\n",
        )
    )


@pytest.mark.parametrize("body", ["print(1)  # prints 2", ">>> 1\n2", "pass  # prints 2"])
def test_a_broken_promise_fails(tmp_path, body):
    with pytest.raises(pytest.fail.Exception, match=r"page\.md"):
        run_page(write_page(tmp_path, f"```python\n{body}\n```\n"))


def test_a_traceback_points_into_the_page(tmp_path):
    page = write_page(tmp_path, "# Title\n\n```python\nx = 1\nx / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as error:
        run_page(page)
    assert error.traceback[-1].path == page
    assert error.traceback[-1].lineno == 4  # counted from 0
