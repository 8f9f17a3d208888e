"""The data of the page, against what the tape itself gives."""

import json
import math

import numpy as np
import pytest

import gradtape as tf
from gradtape.explain.page import Page

RNG = np.random.default_rng(20)


def shown(tape, target, sources, tmp_path):
    """The data of the one tape on a page, with dtypes and shapes in their places."""
    tape.show(target, sources, path=tmp_path / "tape.json")
    data = json.loads((tmp_path / "tape.json").read_text(encoding="utf-8"))
    (one,) = data["tapes"]
    for node in one["nodes"]:
        for out in node["outs"]:
            for part in ("value", "gradient"):
                if out.get(part):
                    out[part]["dtype"], out[part]["shape"] = data["types"][out[part]["type"]]
    return one


def array(picture):
    return np.array([float(x) for x in picture["values"]]).reshape(picture["shape"])


def gradient_of(data, source):
    """The gradient of a source on the page, or None."""
    found = data["nodes"][data["sources"][source]["node"]]["outs"][0].get("gradient")
    return None if found is None else array(found)


def node(data, op):
    return next(one for one in data["nodes"] if one["op"] == op)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers


def regression():
    x = tf.constant(RNG.normal(size=(5, 3)), tf.float32)
    w, b = tf.Variable(tf.ones([3, 2])), tf.Variable(tf.zeros([2]))
    return lambda: tf.reduce_mean(tf.square(x @ w + b)), [w, b]


def shared():
    x = tf.Variable([0.3, -2.0])
    return lambda: tf.reduce_sum(x * x + tf.tanh(x) * x), [x]


def several_results():
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    def target():
        a, b = tf.unstack(x)
        return a * b

    return target, [x]


def compiled():
    w = tf.Variable([0.5, 2.0])
    f = tf.function(lambda x: tf.tanh(x * w) * w)
    return lambda: tf.reduce_sum(f(tf.constant([1.0, -1.0]))), [w]


def gathered():
    table = tf.Variable(RNG.normal(size=(4, 2)), dtype=tf.float64)
    return lambda: tf.reduce_sum(tf.gather(table, [1, 1, 3]) ** 2), [table]


def not_finite():
    x = tf.Variable([0.0, 4.0])
    return lambda: tf.reduce_sum(tf.sqrt(x)), [x]


def custom():
    x = tf.Variable(3.0)

    @tf.custom_gradient
    def clipped(x):
        return x * x, lambda g: tf.clip_by_value(g, -1.0, 1.0) * 5.0

    return lambda: clipped(x) * x, [x]


def half():
    x = tf.Variable(tf.constant([1.0, 2.0], tf.bfloat16))
    return lambda: tf.reduce_sum(x * x + x), [x]


PROGRAMS = [regression, shared, several_results, compiled, gathered, not_finite, custom, half]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_those_of_the_tape(program, traced, tmp_path):
    compute, sources = program()
    tracing = tf.debugging.trace_origins(values=True) if traced else None
    try:
        with tf.GradientTape(persistent=True) as tape:
            y = compute()
        data = shown(tape, y, sources, tmp_path)
    finally:
        if tracing:
            tracing.stop()
    for i, g in enumerate(tape.gradient(y, sources)):
        assert data["sources"][i]["connected"]
        expected = tf.convert_to_tensor(g).numpy()
        np.testing.assert_array_equal(gradient_of(data, i).astype(expected.dtype), expected)
    values = [array(out["value"]) for one in data["nodes"] if one["kind"] == "target" for out in one["outs"]]
    np.testing.assert_allclose(values[-1], y.numpy().astype(float), rtol=1e-6)
    assert (data["nodes"][0].get("at") is None) or traced


def test_contributions_add_up(tmp_path):
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x + tf.sin(x)
    data = shown(tape, y, x, tmp_path)
    parts = [part for step in data["steps"] for part in step["parts"] if part.get("sum")]
    assert [part["part"]["values"][0] for part in parts] == pytest.approx([math.cos(3.0), 3.0, 3.0], rel=1e-6)
    assert (
        parts[-1]["sum"]["values"]
        == data["nodes"][data["sources"][0]["node"]]["outs"][0]["gradient"]["values"]
    )


def test_the_jacobian_is_that_of_the_tape(tmp_path):
    x = tf.Variable(RNG.normal(size=(2, 3)), dtype=tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.sin(x), axis=1) * x[:, 0]
    (jacobian,) = shown(tape, y, x, tmp_path)["jacobians"]
    assert jacobian["shape"] == [[2], [2, 3]]
    found = np.reshape(jacobian["picture"]["heat"]["values"], (2, 2, 3))
    np.testing.assert_allclose(found, tape.jacobian(y, x).numpy(), rtol=1e-6, atol=1e-8)


def test_large_values_are_sampled_with_their_statistics(tmp_path):
    x = tf.Variable(RNG.normal(size=(200, 90)), dtype=tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.exp(x))
    value = shown(tape, y, x, tmp_path)["nodes"][0]["outs"][0]["value"]
    numbers = x.numpy()
    assert (value["low"], value["high"]) == pytest.approx((numbers.min(), numbers.max()), rel=1e-3)
    assert value["mean"] == pytest.approx(numbers.mean(), rel=1e-2)
    assert "values" not in value and sum(value["histogram"]) == numbers.size
    assert (value["heat"]["rows"], value["heat"]["columns"]) == (16, 16)
    assert value["heat"]["values"][0] == pytest.approx(numbers[0, 0], rel=1e-2)


# ---------------------------------------------------------------------------------------------------------------------
# What is said


def test_lines_names_rules_and_calls(tmp_path):
    def layer(x):
        return tf.tanh(x * 2.0)

    x = tf.Variable([0.5, 1.0])
    with tf.debugging.trace_origins(values=True), tf.GradientTape(persistent=True) as tape:
        hidden = layer(x)
        again = layer(hidden)
        loss = tf.reduce_sum(again)
    (data,) = tape.show(loss, x, path=tmp_path / "tape.html").data["tapes"]
    tanh = node(data, "tanh")
    assert tanh["at"][2] == "layer"
    assert tanh["outs"][0]["name"] == "hidden"
    assert data["rules"][tanh["rule"]]["formula"] == "d tanh(x) = (1 - tanh(x)²) dx"
    assert [group["label"] for group in data["groups"]] == ["layer", "layer"]
    assert data["target"] == "loss"


def test_a_broken_path_has_its_reason(tmp_path):
    x, w = tf.Variable(2.0), tf.Variable(1.0)
    with tf.debugging.trace_origins(), tf.GradientTape(persistent=True) as tape:
        y = tf.stop_gradient(x * 3.0) * w
    data = shown(tape, y, [x, w], tmp_path)
    broken, whole = data["sources"]
    assert (broken["reason"], whole["reason"]) == ("STOPPED", "CONNECTED")
    assert "leave it out" in broken["hint"]
    cut = data["nodes"][broken["cut"]]
    assert cut["op"] == "stop_gradient" and cut["inputs"][0][2] == "cut by stop_gradient"


MARKED = {
    "inf": lambda x: tf.reduce_sum(tf.sqrt(x * 0.0)),
    "nan": lambda x: tf.reduce_sum(tf.math.log(-x)),
    "exploding": lambda x: tf.reduce_sum(x * 3.0 * 1e5),
    "vanishing": lambda x: tf.reduce_sum(tf.tanh(x * 30.0)),
}


@pytest.mark.parametrize("kind", MARKED)
def test_marks_stand_where_it_begins(kind, tmp_path):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = MARKED[kind](x)
    marked = [
        (one["op"], mark["kind"])
        for one in shown(tape, y, x, tmp_path)["nodes"]
        for mark in one.get("marks", ())
    ]
    operation = {"inf": "sqrt", "nan": "log", "exploding": "multiply", "vanishing": "tanh"}[kind]
    assert (operation, kind) in marked
    assert len(marked) == 1


def test_nested_tapes_are_layers(tmp_path):
    x = tf.Variable(2.0)
    with tf.debugging.trace_origins(values=True), tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            y = tf.exp(x) * x
        g = inner.gradient(y, x)
    data = shown(outer, g, x, tmp_path)
    assert data["layers"] == ["", "gradient by inner"]
    assert {one.get("sweep", "") for one in data["nodes"] if one["op"]} == {"", "gradient by inner"}
    np.testing.assert_allclose(gradient_of(data, 0), outer.gradient(g, x).numpy(), rtol=1e-6)


def test_a_compiled_function_is_opened(tmp_path):
    compute, sources = compiled()
    with tf.GradientTape(persistent=True) as tape:
        y = compute()
    inside = next(one["inside"] for one in shown(tape, y, sources, tmp_path)["nodes"] if "inside" in one)
    assert "Tanh" in [op["op"].capitalize() for op in inside["operations"]]
    assert "into one program" in inside["note"]


def test_ten_thousand_operations_fit(tmp_path):
    x = tf.Variable(RNG.normal(size=(3, 4)) * 0.1, dtype=tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        y = x
        for i in range(3000):
            y = tf.tanh(y) * 1.01 + (x if i % 7 else y)
        y = tf.reduce_sum(y)
    page = tape.show(y, x, path=tmp_path / "tape.html")
    assert (tmp_path / "tape.html").stat().st_size < 5_000_000
    (data,) = page.data["tapes"]
    assert len([one for one in data["nodes"] if one["op"]]) > 9_000
    members = [one.get("group", -1) for one in data["nodes"] if one["op"]] + [
        g["parent"] for g in data["groups"]
    ]
    assert max(members.count(group) for group in {-1, *range(0, len(data["groups"]), 37)}) <= 41
    assert any("every" in note for note in data["notes"])


def test_of_too_many_operations_the_first_and_the_last_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("gradtape.explain.page_data._OPERATIONS", 20)
    x = tf.Variable(0.5)
    with tf.GradientTape(persistent=True) as tape:
        y = x
        for _ in range(50):
            y = tf.sin(y) + x
    data = shown(tape, y, x, tmp_path)
    assert len([one for one in data["nodes"] if one["op"]]) == 20
    assert any("80 operations in the middle are left out" in note for note in data["notes"])
    assert gradient_of(data, 0).astype(np.float32) == tape.gradient(y, x).numpy()


def test_a_page_that_would_be_too_large_says_what_it_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("gradtape.explain.page._MOST", 8_000)
    x = tf.Variable(RNG.normal(size=(30, 30)), dtype=tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.exp(tf.sin(x)))
    page = tape.show(y, x, path=tmp_path / "tape.json")
    assert len(page.json) < 20_000
    assert any("Samples of elements were left out" in note for note in page.data["notes"])
    assert '"heat":' not in page.json


# ---------------------------------------------------------------------------------------------------------------------
# The file


def test_texts_of_the_program_are_escaped(tmp_path):
    x = tf.Variable(1.0, name="<script>alert(1)</script>")
    holder = {"<script>": x}
    with tf.GradientTape(persistent=True) as tape:
        y = holder["<script>"] * tf.strings.to_number("2.0")
    page = tape.show(y, holder["<script>"], path=tmp_path / "tape.html")
    text = (tmp_path / "tape.html").read_text(encoding="utf-8")
    assert text.count("<script") == 2 == text.count("</script>")
    assert "&lt;script" in page._repr_html_() and "<script" not in page._repr_html_()
    assert Page(json.loads(page.json)).html == page.html


REFUSED = [
    (lambda tape, x, y: tape.show([], x), ValueError, "empty"),
    (lambda tape, x, y: tape.show(y, []), ValueError, "empty"),
    (lambda tape, x, y: tape.show(y, 3.0), TypeError, "Variables"),
    (lambda tape, x, y: (tape.gradient(y, x), tape.show(y, x)), RuntimeError, "persistent=True"),
    (lambda tape, x, y: tf.GradientTape().show(y, x), RuntimeError, "not recorded"),
]


@pytest.mark.parametrize(("ask", "error", "words"), REFUSED)
def test_what_cannot_be_shown_is_refused(ask, error, words):
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    with pytest.raises(error, match=words):
        ask(tape, x, y)


def test_show_leaves_the_tape_as_it_was(tmp_path):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.show(y, x, path=tmp_path / "tape.html")
    assert float(tape.gradient(y, x)) == 6.0


def test_a_page_opens_in_the_browser(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda uri: opened.append(uri) or True)
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    page = tape.show(y, x)
    assert opened[0].startswith("file:///") and repr(page) == "<page of 1 tape, 1 operation>"
