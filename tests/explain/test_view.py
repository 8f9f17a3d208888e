"""`gradtape run --view` and `gradtape view`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape as tf

TRAIN = """
import tensorflow as tf
w = tf.Variable(3.0)
@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = w * w
    g = tape.gradient(loss, w)
    w.assign_sub(0.1 * g)
for _ in range(45):
    step()
x = tf.constant(2.0)
with tf.GradientTape() as outer:
    outer.watch(x)
    with tf.GradientTape() as inner:
        inner.watch(x)
        y = x ** 3
    first = inner.gradient(y, x)
second = outer.gradient(first, x)
print(float(second))
"""


def gradtape(*words, cwd):
    command = [sys.executable, "-m", "gradtape", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_all_tapes_of_a_script_and_the_recording_again(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    done = gradtape("run", "--view", "--out", "train.json", "train.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "12.0\n")
    data = json.loads((tmp_path / "train.json").read_text())
    labels = [tape["label"] for tape in data["tapes"]]
    assert labels == [*[f"tape {i}" for i in range(1, 46)], "inner 1", "outer 1"]
    # Updates by the steps before are not part of a step.
    assert {tuple(node["op"] for node in tape["nodes"]) for tape in data["tapes"][:45]} == {("", "multiply")}
    assert any("into one program" in note for note in data["notes"])
    gradients = [
        tape["nodes"][tape["sources"][0]["node"]]["outs"][0]["gradient"]["values"][0]
        for tape in data["tapes"]
    ]
    assert gradients[:2] == pytest.approx([6.0, 4.8]) and gradients[-2:] == [12.0, 12.0]
    assert all(node.get("at") for tape in data["tapes"] for node in tape["nodes"] if node["op"])
    done = gradtape("view", "train.json", "--out", "train.html", cwd=tmp_path)
    assert done.returncode == 0
    assert "tape 40" in (tmp_path / "train.html").read_text()


def test_of_many_answers_the_first_and_then_fewer_and_fewer_are_noted(monkeypatch):
    monkeypatch.setattr("gradtape.explain.viewing._OPERATIONS", 4)
    from gradtape.explain import session

    x = tf.Variable(3.0)
    with session(view=True) as s:
        for _ in range(45):
            with tf.GradientTape() as tape:
                y = x * x
            tape.gradient(y, x)
    data = s.report().page.data
    assert [tape["label"] for tape in data["tapes"]] == [f"tape {i}" for i in (*range(1, 11), 20, 40)]
    assert any("12 of the 45 answers" in note for note in data["notes"])


def test_of_tapes_that_are_too_large_together_every_second_is_left_out(monkeypatch):
    from gradtape.explain import session

    # As much as the text of this file, and a few of the tapes.
    monkeypatch.setattr("gradtape.explain.page._MOST", len(Path(__file__).read_bytes()) + 8_000)

    x = tf.Variable(3.0)
    with session(view=True) as s:
        for _ in range(16):
            with tf.GradientTape() as tape:
                y = x * x
            tape.gradient(y, x)
    data = s.report().page.data
    labels = [tape["label"] for tape in data["tapes"]]
    assert 1 <= len(labels) < 16 and labels[0] == "tape 1" and labels[-1] != f"tape {len(labels)}"
    assert any(f"{16 - len(labels)} tapes were left out" in note for note in data["notes"])


def test_a_script_that_fails_still_has_its_page(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN + "\n1 / 0\n")
    done = gradtape("run", "--view", "--out", "train.html", "train.py", cwd=tmp_path)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
    assert (tmp_path / "train.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["view", "nothing.html"], "can't open nothing.html"),
        (["view", "other.html"], "neither a page nor a recording"),
        (["view", "other.json"], "is of version 99"),
        (["run", "--out", "x.html", "train.py"], "--out names the file for --view"),
    ],
)
def test_what_cannot_be_viewed_is_refused(words, message, tmp_path):
    (tmp_path / "other.html").write_text("<html></html>")
    (tmp_path / "other.json").write_text('{"version": 99, "tapes": [], "files": [], "notes": []}')
    done = gradtape(*words, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr


def test_a_script_without_gradients_has_no_page(tmp_path):
    (tmp_path / "train.py").write_text("import tensorflow as tf\n")
    done = gradtape("run", "--view", "train.py", cwd=tmp_path)
    assert done.returncode == 0 and "no tape of the program was asked" in done.stderr


def test_a_session_leaves_nothing_behind():
    from gradtape.core.observers import observers
    from gradtape.explain import session

    with session(view=True) as s:
        x = tf.Variable(2.0)
        with tf.GradientTape() as tape:
            y = x * x
        tape.gradient(y, x)
    assert observers == []
    assert len(s.report().page.data["tapes"]) == 1
