"""The table of a tape, what a program costs, and whole programs under observation."""

import json

import numpy as np

import gradtape as tf
from gradtape.explain import session
from gradtape.explain.profile import amount, duration


def network():
    w, b = tf.Variable(tf.ones((64, 32))), tf.Variable(tf.zeros(32))
    x = tf.ones((16, 64))
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(x @ w + b) - 1.0))
    return tape, loss, w, b


def test_a_summary_lists_what_was_recorded():
    tape, *_ = network()
    summary = tape.summary()
    assert [row.operation for row in summary.rows] == [
        "matmul",
        "add",
        "tanh",
        "subtract",
        "square",
        "reduce_mean",
    ]
    assert [row.shape for row in summary.rows] == [(16, 32)] * 5 + [()]
    assert {row.dtype for row in summary.rows} == {"float32"}
    text = str(summary)
    assert "6 operations keep" in text
    assert "line" not in text.splitlines()[0]
    assert "<table>" in summary._repr_html_()
    assert json.loads(json.dumps(summary.to_dict()))["bytes"] == summary.bytes


def test_bytes_are_counted_once_an_array():
    x = tf.Variable(np.ones(1000, "float32"))
    with tf.GradientTape() as tape:
        y = x * x
        z = x * y
        tf.square(tf.reshape(y, (10, 100)))
    assert z is not None
    # x and y; a view of y has no memory of its own.
    assert [row.bytes for row in tape.summary().rows] == [4000, 4000, 0, 0]
    assert tape.summary().bytes == 8000


def test_origins_add_lines_and_shapes():
    with tf.debugging.trace_origins():
        tape, *_ = network()
    row = tape.summary().rows[0]
    assert "test_summary.py:" in row.where
    assert "line" in str(tape.summary()).splitlines()[0]


def test_a_used_tape_keeps_nothing():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    assert tape.summary().bytes == 0
    assert "knows no more" in str(tape.summary())
    with session(profile=True):
        with tf.GradientTape() as tape:
            y = x * x
        tape.gradient(y, x)
    (row,) = tape.summary().rows
    assert row.forward > 0
    assert row.backward > 0


def test_a_long_table_is_shortened():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x
        for _ in range(500):
            y = tf.sin(y)
    text = str(tape.summary())
    assert text.count("\n") < 110
    assert "... 400 more" in text


def test_a_profile_adds_up():
    with session(profile=True) as observed:
        for _ in range(3):
            tape, loss, w, b = network()
            tape.gradient(loss, [w, b])
    report = observed.report()
    rows = {row["operation"]: row for row in report.json["profile"]["operations"]}
    assert rows["matmul"]["calls"] == 3
    assert rows["matmul"]["forward_seconds"] > 0
    assert rows["matmul"]["backward_seconds"] > 0
    assert "test_summary.py" in rows["matmul"]["where"]
    assert report.json["profile"]["bytes_kept_by_the_largest_tape"] == tape.summary().bytes
    assert report.json["profile"]["sweeps"] == 3
    assert sum(row["bytes_kept"] for row in rows.values()) == tape.summary().bytes
    assert report.text.splitlines()[0].split() == [
        "operation",
        "calls",
        "forward",
        "backward",
        "kept",
        "line",
    ]
    assert json.dumps(report.json)


def test_units():
    assert [duration(s) for s in (0.0, 2e-6, 0.0123, 3.0)] == ["-", "2 us", "12.3 ms", "3 s"]
    assert [amount(n) for n in (12, 12_000, 3_400_000, 5_000_000_000)] == ["12 B", "12 kB", "3.4 MB", "5 GB"]


# ---------------------------------------------------------------------------------------------------------------------
# Sessions


def observe(program, **what):
    error = None
    with session(**what) as observed:
        try:
            program()
        except Exception as e:
            error = e
    return error, observed.report(error)


def test_a_program_that_trips_over_none_is_explained():
    def program():
        w, v = tf.Variable([1.0, 2.0]), tf.Variable(1.0)
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(v * tf.constant(w.numpy()))
            tape.gradient(loss, [v, w])[1].numpy()

    error, report = observe(program, explain=True)
    assert "'NoneType' object has no attribute 'numpy'" in str(error)
    lines = report.text.splitlines()
    assert lines[0].startswith("The gradient asked for at ")
    assert "test_summary.py:" in lines[0]
    assert lines[1] == "gradient of loss by w is None: left through NumPy or Python"
    assert report.text.count("gradient of") == 1


def test_a_target_that_is_refused_is_explained():
    def program():
        w = tf.Variable([1.0, 2.0])
        with tf.GradientTape() as tape:
            loss = np.mean(w * 2.0)
        tape.gradient(loss, w)

    error, report = observe(program, explain=True)
    assert isinstance(error, TypeError)
    assert report.json["explain"][0]["reports"][0]["reason"] == "LEFT"
    assert "was refused" in report.text


def test_a_loop_is_explained_once():
    def program():
        w, unused = tf.Variable(1.0), tf.Variable(1.0)
        for _ in range(30):
            with tf.GradientTape() as tape:
                loss = w * w
            tape.gradient(loss, [w, unused])

    _, report = observe(program, explain=True)
    (call,) = report.json["explain"]
    assert [r["source"] for r in call["reports"]] == ["unused"]


def test_the_first_not_finite_is_told_forward_and_backward():
    def program():
        x = tf.Variable(0.0)
        with tf.GradientTape() as tape:
            y = tf.sqrt(x)
        tape.gradient(y, x)
        tf.math.log(x - 1.0)

    _, report = observe(program, nan=True)
    assert [(f["direction"], f["operation"], f["kind"]) for f in report.json["nan"]] == [
        ("backward", "sqrt", "Inf"),
        ("forward", "log", "NaN"),
    ]
    assert report.text.startswith("the gradient of sqrt made the first Inf, on the way back\n  at ")


def test_where_nothing_is_wrong_little_is_said():
    def program():
        w = tf.Variable(1.0)
        with tf.GradientTape() as tape:
            y = w * w
        tape.gradient(y, w)

    _, report = observe(program, explain=True, nan=True)
    assert report.text == "no gradient was None\n\nno NaN, no infinity: neither forward nor backward"
    assert report.json == {"explain": [], "nan": []}
    _, report = observe(program)
    assert (report.text, report.json) == ("", {})
