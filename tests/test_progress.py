"""progress: what a loop shows in a terminal, in a file, and when it ends early."""

import io
import os
import re
import subprocess
import sys
from functools import partial
from types import ModuleType, SimpleNamespace

import pytest

import gradtape as tf

Dataset = tf.data.Dataset


class Terminal(io.StringIO):
    """An output that says it is a terminal."""

    def isatty(self):
        return True

    def screen(self):
        """What is to be seen in the end: rich moves up, erases and writes again."""
        lines, row = [""], 0
        for part in re.split(r"(\x1b\[[?0-9;]*[A-Za-z]|\n|\r)", self.getvalue()):
            if part == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif part == "\x1b[2K":
                lines[row] = ""
            elif re.fullmatch(r"\x1b\[\d*A", part):
                row -= int(part[2:-1] or 1)
            elif part and not part.startswith(("\x1b", "\r")):
                lines[row] += part
        return [line.rstrip() for line in lines if line.strip()]


@pytest.fixture
def terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    return Terminal()


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(sys.modules["gradtape.train.progress"], "perf_counter", clock)
    return clock


tf.progress  # imported when first used


# -- lines ------------------------------------------------------------------------------------------------------------


def test_without_a_terminal_there_are_lines_now_and_then_and_one_at_the_end(clock):
    file = io.StringIO()
    for i in (bar := tf.progress(Dataset.range(100), "epoch 1", file=file)):
        clock.now += 0.5
        bar.update(loss=tf.constant(1.0) / (float(i) + 1))
    assert file.getvalue().splitlines() == [
        "epoch 1: 20/100, 2/s, 40.0 s left, loss 0.05",
        "epoch 1: 40/100, 2/s, 30.0 s left, loss 0.025",
        "epoch 1: 60/100, 2/s, 20.0 s left, loss 0.01667",
        "epoch 1: 80/100, 2/s, 10.0 s left, loss 0.0125",
        "epoch 1: 100/100 in 50.0 s, 2/s, loss 0.01",
    ]


def test_a_quick_loop_is_one_line():
    file = io.StringIO()
    assert list(tf.progress(range(5), file=file)) == [0, 1, 2, 3, 4]
    assert re.fullmatch(r"5/5 in 0\.0 s, \d+/s\n", file.getvalue())


def test_the_standard_error_stream_is_the_default(capsys):
    list(tf.progress([1, 2], "two"))
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith("two: 2/2 in")


def test_the_first_step_does_not_count_for_the_rate(clock):
    file = io.StringIO()
    for i in tf.progress(range(11), file=file, interval=1000):
        clock.now += 20 if i == 0 else 0.1
    assert file.getvalue() == "11/11 in 21.0 s, 10/s\n"


@pytest.mark.parametrize(
    ("iterable", "total", "expected"),
    [
        (Dataset.range(3), None, "3/3"),
        (Dataset.range(6).batch(2), None, "3/3"),
        (Dataset.range(3).filter(lambda x: True), None, "3 in"),
        (Dataset.range(3).filter(lambda x: True), 3, "3/3"),
        (iter([1, 2, 3]), None, "3 in"),
        (iter([1, 2, 3]), 5, "3/5"),
        ([], None, "0/0"),
    ],
)
def test_the_total_is_found_where_it_is_known(iterable, total, expected):
    file = io.StringIO()
    list(tf.progress(iterable, total=total, file=file))
    assert file.getvalue().startswith(expected)


def test_len_is_the_total():
    assert len(tf.progress(Dataset.range(6).batch(4))) == 2
    with pytest.raises(TypeError, match="total="):
        len(tf.progress(iter([1])))


def test_a_loop_that_breaks_or_fails_says_where(clock):
    file = io.StringIO()
    for i in (bar := tf.progress(range(9), "a", file=file)):
        clock.now += 1
        bar.update(loss=i)
        if i == 3:
            break
    assert file.getvalue() == "a: 3/9 stopped after 4.0 s, 1/s, loss 3\n"
    with pytest.raises(KeyError):
        for _ in tf.progress(range(9), "b", file=file):
            raise KeyError
    assert file.getvalue().splitlines()[1].startswith("b: 0/9 stopped after")


def test_an_error_of_the_dataset_comes_through():
    def fail(x):
        raise ZeroDivisionError

    file = io.StringIO()
    with pytest.raises(ZeroDivisionError):
        list(tf.progress(Dataset.range(3).map(fail), file=file))
    assert "0/3 stopped" in file.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59.94, "59.9 s"), (61, "1:01 min"), (3599, "59:59 min"), (3661, "1:01:01 h")],
)
def test_durations_read_well(clock, seconds, text):
    file = io.StringIO()
    for _ in tf.progress(range(1), file=file, interval=1e9):
        clock.now += seconds
    assert f"in {text}," in file.getvalue()


def test_values_read_well(clock):
    file = io.StringIO()
    for _ in (bar := tf.progress([0], file=file)):
        clock.now += 4
        bar.update(loss=tf.Variable(0.123456), lr=1e-5, step=12345678, note="warm", ok=True, x=None)
    assert file.getvalue() == (
        "1/1 in 4.0 s, 4 s each, loss 0.1235, lr 1e-05, step 12345678, note warm, ok True, x None\n"
    )


def test_a_bar_can_be_used_again():
    file = io.StringIO()
    bar = tf.progress(range(2), file=file)
    assert list(bar) == list(bar) == [0, 1]
    assert file.getvalue().count("2/2") == 2


# -- bars -------------------------------------------------------------------------------------------------------------


def test_in_a_terminal_there_is_a_bar(terminal, clock):
    for i in (bar := tf.progress(Dataset.range(4), "[epoch] 1", file=terminal)):
        clock.now += 1
        bar.update(loss=float(i))
    assert "2/4 · 1/s · 2.0 s left · loss 1" in terminal.getvalue()
    (line,) = terminal.screen()
    assert re.fullmatch(r"\[epoch\] 1 ━+ 4/4 in 4\.0 s · 1/s · loss 3", line)
    assert cursor_is_visible(terminal)


def cursor_is_visible(terminal):
    hidden, shown = (terminal.getvalue().rfind(code) for code in ("\x1b[?25l", "\x1b[?25h"))
    return shown > hidden


@pytest.mark.parametrize("end", ["break", "raise"])
def test_a_loop_that_ends_early_leaves_the_terminal_clean(terminal, clock, end):
    bar = tf.progress(range(9), "early", file=terminal)
    try:
        for i in bar:
            clock.now += 1
            if i == 3:
                if end == "break":
                    break
                raise KeyError
    except KeyError:
        pass
    (line,) = terminal.screen()
    assert line.startswith("early ") and line.endswith("3/9 stopped after 4.0 s · 1/s")
    assert cursor_is_visible(terminal)
    assert not sys.modules["gradtape.train.progress"]._screens


def test_bars_may_be_nested(terminal, clock):
    for epoch in tf.progress(range(2), "epochs", file=terminal):
        for i in tf.progress(range(3), f"epoch {epoch}", file=terminal):
            clock.now += 1
            if (epoch, i) == (1, 1):
                both = terminal.screen()
    assert [line.split("━")[0].strip() for line in both] == ["epochs", "epoch 1"]
    (line,) = terminal.screen()
    assert line.startswith("epochs ") and "2/2 in 6.0 s" in line
    assert not sys.modules["gradtape.train.progress"]._screens


def test_nested_bars_on_the_standard_streams_share_the_screen(terminal, clock, monkeypatch):
    """rich redirects the streams while it draws, so that what the loop prints stands above the bars."""
    monkeypatch.setattr(sys, "stderr", terminal)
    for _ in tf.progress(range(1), "outer"):
        for _ in tf.progress(range(3), "inner"):
            clock.now += 1
            both = terminal.screen()
        print("above", file=sys.stderr)
    assert sys.stderr is terminal
    assert [line.split("━")[0].strip() for line in both] == ["outer", "inner"]
    assert [line.split("━")[0].strip() for line in terminal.screen()] == ["above", "outer"]


def test_inner_bars_stay_if_told_to(terminal):
    for epoch in tf.progress(range(2), "epochs", file=terminal):
        list(tf.progress(range(3), f"epoch {epoch}", leave=True, file=terminal))
    assert [line.split("━")[0].strip() for line in terminal.screen()] == ["epochs", "epoch 0", "epoch 1"]


def test_an_outer_bar_goes_if_told_to(terminal):
    list(tf.progress(range(3), leave=False, file=terminal))
    assert terminal.screen() == []


def test_an_unknown_total_is_shown_as_such(terminal, clock):
    for _ in tf.progress(iter(range(3)), file=terminal):
        clock.now += 1
    assert terminal.screen()[0].endswith("3 in 3.0 s · 1/s")


def test_a_dumb_terminal_gets_lines(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    list(tf.progress(range(3), file=terminal))
    assert terminal.getvalue().startswith("3/3 in")


def test_the_picture_is_not_drawn_at_each_step(terminal, clock, monkeypatch):
    drawn = []
    module = sys.modules["gradtape.train.progress"]
    monkeypatch.setattr(module._Bar, "show", lambda self, loop: drawn.append(1))
    for _ in tf.progress(range(1000), file=terminal):
        clock.now += 0.001
    assert 15 <= len(drawn) <= 20


# -- notebooks --------------------------------------------------------------------------------------------------------


class Notebook:
    """Stands for Jupyter: keeps the outputs of each cell as they are in the end, and counts how often they changed."""

    def __init__(self):
        self.kernel, self.execution_count = "a kernel", 1
        self.outputs, self.changes = [], 0

    def display(self, data, raw, display_id):
        assert raw and display_id
        self.outputs.append(data)
        return SimpleNamespace(update=partial(self._update, len(self.outputs) - 1))

    def _update(self, number, data, raw):
        assert raw
        self.outputs[number] = data
        self.changes += 1

    def texts(self):
        return [output["text/plain"] for output in self.outputs]


@pytest.fixture
def notebook(monkeypatch):
    notebook = Notebook()
    modules = {
        "ipykernel": ModuleType("ipykernel"),
        "IPython": ModuleType("IPython"),
        "IPython.display": ModuleType("IPython.display"),
    }
    modules["IPython"].get_ipython = lambda: notebook
    modules["IPython.display"].display = notebook.display
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return notebook


def test_in_a_notebook_there_is_one_output_that_changes(notebook, clock, capsys):
    for i in (bar := tf.progress(Dataset.range(4), "<epoch> 1")):
        clock.now += 1
        bar.update(loss=float(i))
        if i == 2:
            assert notebook.texts() == ["<epoch> 1: 2/4 · 1/s · 2.0 s left · loss 1"]
    assert notebook.texts() == ["<epoch> 1: 4/4 in 4.0 s · 1/s · loss 3"]
    (html,) = [output["text/html"] for output in notebook.outputs]
    assert re.search(
        r"<span>&lt;epoch&gt; 1</span><progress value=\"4\" max=\"4\" .*</progress><span>4/4 in", html
    )
    assert notebook.changes == 5, "three steps, the end, and the last picture"
    assert capsys.readouterr() == ("", "")
    assert not sys.modules["gradtape.train.progress"]._screens


def test_bars_in_a_row_have_an_output_each_and_nested_ones_share_theirs(notebook, clock):
    for name in ("first", "second"):
        for _ in tf.progress(range(2), name):
            clock.now += 1
    for epoch in tf.progress(range(2), "epochs"):
        for _ in tf.progress(range(2), f"epoch {epoch}"):
            clock.now += 1
            both = notebook.texts()[-1]
        for _ in tf.progress(range(1), leave=True):
            clock.now += 1
    assert both.splitlines()[0].startswith("epochs: 1/2") and "epoch 1: 1/2" in both
    assert notebook.texts() == [
        "first: 2/2 in 2.0 s · 1/s",
        "second: 2/2 in 2.0 s · 1/s",
        "epochs: 2/2 in 6.0 s · 3 s each\n1/1 in 1.0 s · 1/s\n1/1 in 1.0 s · 1/s",
    ]
    list(tf.progress(range(3), leave=False))
    assert notebook.texts()[-1] == ""


def test_a_loop_that_fails_in_a_notebook_shows_where_and_a_bar_without_a_total_stands_still(notebook, clock):
    with pytest.raises(KeyError):
        for i in tf.progress(range(9), "fails"):
            clock.now += 1
            if i == 3:
                raise KeyError
    for _ in tf.progress(iter(range(3)), "unknown"):
        clock.now += 1
    list(tf.progress([], "nothing"))
    assert notebook.texts() == [
        "fails: 3/9 stopped after 4.0 s · 1/s",
        "unknown: 3 in 3.0 s · 1/s",
        "nothing: 0/0 in 0.0 s",
    ]
    found = [re.search(r"<progress(.*?) style", output["text/html"])[1] for output in notebook.outputs]
    assert found == [' value="3" max="9"', ' value="3" max="3"', ' value="0" max="1"']


def test_a_loop_left_open_in_one_cell_does_not_take_the_bars_of_the_next(notebook):
    half = iter(tf.progress(range(3), "half"))
    next(half)
    notebook.execution_count = 2
    list(tf.progress(range(3), "whole"))
    assert len(notebook.outputs) == 2 and notebook.texts()[1].startswith("whole: 3/3")
    half.close()


def test_in_a_notebook_a_file_gets_lines(notebook):
    file = io.StringIO()
    list(tf.progress(range(3), file=file))
    assert file.getvalue().startswith("3/3 in") and notebook.outputs == []


def test_a_program_that_has_ipykernel_but_is_no_notebook_gets_lines(notebook, capsys, monkeypatch):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    list(tf.progress(range(3)))
    assert capsys.readouterr().err.startswith("3/3 in") and notebook.outputs == []


def test_rich_is_imported_for_a_bar_only():
    program = (
        "import gradtape as tf, sys\n"
        "assert 'gradtape.train.progress' not in sys.modules\n"
        "list(tf.progress(range(3)))\n"
        "print('rich' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert run.stdout == "False\n"
