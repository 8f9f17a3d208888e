"""Code that shows its tapes: lines and values are traced there without being asked for, and nowhere else."""

import ast
import linecache
import sys
import types

import pytest

import gradtape as tf
from gradtape.core.observers import observers
from gradtape.explain.origins import history_of

X = tf.constant([1.0, 2.0])


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert observers == []


def lines_of(page):
    (tape,) = page.data["tapes"]
    return [node.get("at") and node["at"][1] for node in tape["nodes"] if node["op"]]


def test_show_beside_the_block_has_lines_and_values(tmp_path):
    v = tf.Variable([0.5, 1.5])

    def squared(x):
        return x * x

    with tf.GradientTape() as tape:
        y = squared(v + X)
        loss = tf.reduce_sum(y)
    page = tape.show(loss, v, path=tmp_path / "tape.html")
    first = squared.__code__.co_firstlineno
    assert lines_of(page) == [first + 4, first + 1, first + 5]
    nodes = page.data["tapes"][0]["nodes"]
    assert not any("unknown" in out["value"] for node in nodes for out in node["outs"])
    assert tape.gradient(loss, v).numpy().tolist() == [3.0, 7.0]


def elsewhere(tape, y, x, path):
    return tape.show(y, x, path=path)


def test_show_elsewhere_has_none(tmp_path):
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v * v
    assert history_of(tape) is None
    assert lines_of(elsewhere(tape, y, v, tmp_path / "tape.html")) == [None]


def test_the_first_ten_blocks_of_a_loop_are_traced(tmp_path):
    v, found = tf.Variable(2.0), []
    for _ in range(12):
        with tf.GradientTape() as tape:
            y = v * v
        found.append(lines_of(tape.show(y, v, path=tmp_path / "tape.html")) != [None])
    assert found == [True] * 10 + [False] * 2


def test_other_things_that_are_shown_are_none_of_ours():
    plt = types.SimpleNamespace(show=lambda: None)
    with tf.GradientTape() as tape:
        tape.watch(X)
        _ = X * X
    plt.show()
    assert history_of(tape) is None


def test_a_pause_and_an_error_in_the_block(tmp_path):
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v * v
        with tape.stop_recording():
            _ = y * y
        z = y * v
    assert None not in lines_of(tape.show(z, v, path=tmp_path / "tape.html"))
    with pytest.raises(ZeroDivisionError), tf.GradientTape() as tape:
        1 / 0
    with tf.GradientTape() as tape, pytest.raises(ValueError, match="recording already"), tape:
        pass


def test_nested_tapes_and_compiled_functions(tmp_path):
    v = tf.Variable(2.0)

    @tf.function
    def cube(x):
        with tf.GradientTape() as tape:
            y = x * x * x
        if x is None:
            tape.show(y, x)
        return y + 0.0 * tape.gradient(y, x)

    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = cube(v)
        g = inner.gradient(y, v)
    page = outer.show(g, v, path=tmp_path / "tape.html")
    assert None not in lines_of(page)
    assert float(outer.gradient(g, v)) == 12.0


CELL = """v = tf.Variable(2.0)
with tf.GradientTape() as tape:
    y = v * v
page = tape.show(y, v, path=path)
"""


def test_a_cell_of_a_notebook_whose_statements_are_compiled_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    monkeypatch.setitem(
        linecache.cache, "cell.py", (len(CELL), None, CELL.splitlines(keepends=True), "cell.py")
    )
    scope = {"tf": tf, "path": tmp_path / "tape.html", "__name__": "__main__"}
    for statement in ast.parse(CELL).body:
        exec(compile(ast.Module([statement], []), "cell.py", "exec"), scope)
    assert lines_of(scope["page"]) == [3]


def test_a_notebook_shows_the_page_once_in_a_cell(monkeypatch):

    displayed = []
    shell = types.SimpleNamespace(kernel=object(), execution_count=3)
    display = types.SimpleNamespace(display=lambda value: displayed.append(value._repr_html_()))
    monkeypatch.setitem(
        sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell, display=display)
    )
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v * v
    shown = tape.show(y, v)
    assert len(displayed) == 1 and displayed[0].startswith("<iframe srcdoc=")
    assert shown._repr_html_() is None  # the value of the same cell
    shell.execution_count = 4
    assert shown._repr_html_() == displayed[0]  # and of the next one


def test_names_of_cells():
    """A notebook's shell names its cells; elsewhere a file is named as it is."""
    from gradtape.explain import page

    assert page._name_of("/somewhere/train.py") == "/somewhere/train.py"
    compiler = types.SimpleNamespace(
        format_code_name=lambda file: ("Cell", "In[3]") if "123" in file else None
    )
    shell = types.SimpleNamespace(compile=compiler)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "_shell", lambda: shell)
        assert page._name_of("/cells/123.py") == "Cell In[3]"
        assert page._name_of("/somewhere/train.py") == "/somewhere/train.py"
