"""The picture of a tape: it says what there is, folds what repeats, and boxes do not overlap."""

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import gradtape as tf
from gradtape.explain.layout import STEP, place
from gradtape.explain.plot import fold

SVG = "{http://www.w3.org/2000/svg}"


def drawn(tape, path, *args):
    tape.plot(path / "tape.svg", *args)
    return ET.parse(path / "tape.svg").getroot()


def texts(root):
    return ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]


def classes(root, tag):
    return [e.get("class") for e in root.iter(SVG + tag)]


def test_operations_shapes_and_sources_are_text(tmp_path):
    weight = tf.Variable(tf.ones((4, 3)), name="weight")
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.tanh(tf.ones((2, 4)) @ weight))
    found = texts(drawn(tape, tmp_path, y))
    assert {"weight", "matmul", "tanh", "reduce_sum", "[4, 3]", "[2, 3]", "[]"} <= set(found)
    assert found[0].startswith("3 operations, ")


def test_gradient_norms_are_line_widths(tmp_path):
    x = tf.Variable([1.0, 1.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum((x * 1000.0) * 1000.0)
    root = drawn(tape, tmp_path, y)
    widths = [float(p.get("stroke-width")) for p in root.iter(f"{SVG}path")]
    titles = [p.find(f"{SVG}title").text for p in root.iter(f"{SVG}path")]
    by_title = dict(zip(titles, widths, strict=True))
    assert by_title["norm of the gradient: 1.414"] == 1.0
    assert by_title["norm of the gradient: 1.414e+06"] == 6.0
    # Without a target, what was computed last is the target.
    assert sorted(float(p.get("stroke-width")) for p in drawn(tape, tmp_path).iter(f"{SVG}path")) == sorted(
        widths
    )


@pytest.mark.parametrize("traced", [False, True])
def test_broken_paths_are_red(tmp_path, traced):
    x = tf.Variable([1.0, 2.0])
    tracing = tf.debugging.trace_origins() if traced else None
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.stop_gradient(x * 2.0) * tf.cast(tf.argmax(x), tf.float32) + x)
    if tracing is not None:
        tracing.stop()
    root = drawn(tape, tmp_path, y)
    assert "cut" in classes(root, "rect")
    assert "cut" in classes(root, "path")
    assert {"stop_gradient", "argmax"} <= set(texts(root))
    assert "red: no gradient passes" in " ".join(texts(root))


def test_what_is_zero_or_not_finite_shows(tmp_path):
    x = tf.Variable([0.0, 0.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.sign(x * 2.0)) + tf.sqrt(tf.reduce_sum(x * x))
    assert {"zero", "bad"} <= set(classes(drawn(tape, tmp_path, y), "path"))


def test_sources_narrow_it(tmp_path):
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.sin(a) + tf.cos(b)
    found = texts(drawn(tape, tmp_path, y, a))
    assert "sin" in found
    assert "cos" not in found


def test_fifty_layers_are_drawn_once(tmp_path):
    weights = [tf.Variable(tf.eye(4)) for _ in range(50)]
    with tf.GradientTape() as tape:
        h = tf.ones((2, 4))
        for w in weights:
            h = tf.nn.relu(h @ w + 1.0)
        y = tf.reduce_sum(h)
    root = drawn(tape, tmp_path, y)
    found = texts(root)
    assert found[0].startswith("151 operations")
    assert found.count("matmul") <= 2
    assert any(text == "\N{MULTIPLICATION SIGN}49" for text in found)
    assert classes(root, "rect").count("group") == 1


def test_an_empty_tape_is_a_picture_too(tmp_path):
    with tf.GradientTape() as tape:
        pass
    assert texts(drawn(tape, tmp_path))[0] == "0 operations"


@pytest.mark.parametrize(
    ("marks", "offsets", "expected"),
    [
        ("abab", None, []),  # twice is not often enough
        ("xababab", None, [(1, 2, 3)]),
        ("aaaa", None, [(0, 1, 4)]),
        ("abcabcabcd", None, [(0, 3, 3)]),
        ("aaaa", [[], [1], [1], [2]], [(0, 1, 3)]),  # the last uses something else
        ("xaaa", [[], [1], [2], [3]], [(1, 1, 3)]),  # all use the same
        ("xyaaa", [[], [], [1], [3], [3]], []),  # each something else
    ],
)
def test_folding(marks, offsets, expected):
    offsets = offsets or [[1] if i else [] for i in range(len(marks))]
    assert fold(list(marks), offsets) == expected


def test_boxes_do_not_overlap_and_lines_lead_down():
    rng = np.random.default_rng(0)
    n = 200
    edges = sorted({(int(rng.integers(max(0, b - 20), b)), b) for b in range(1, n) for _ in range(2)})
    spots, routes = place([60.0] * n, edges, set())
    for layer in {spot.layer for spot in spots}:
        row = sorted((s for s in spots if s.layer == layer), key=lambda s: s.x)
        for left, right in itertools.pairwise(row):
            assert right.x - left.x >= (left.width + right.width) / 2
    for (a, b), route in routes.items():
        assert route[0] == a
        assert route[-1] == b
        assert all(spots[d].y - spots[u].y == STEP for u, d in itertools.pairwise(route))
    assert min(s.x - s.width / 2 for s in spots) >= -1e-6


def test_the_header_stays_in_the_frame(tmp_path):
    x = tf.Variable([0.0, 1.0])
    with tf.debugging.trace_origins(), tf.GradientTape() as tape:
        y = tf.stop_gradient(x) * tf.sqrt(x)
        for _ in range(4):
            y = tf.nn.relu(-y)
        y = tf.reduce_sum(y)
    tape.plot(tmp_path / "tape.svg", y, x)
    picture = (tmp_path / "tape.svg").read_text()
    width = float(re.search(r'width="(\d+)"', picture)[1])
    lines = re.findall(r'<text class="head[^>]+x="([\d.]+)"[^>]*>([^<]*)<', picture)
    assert len(lines) > 2
    assert all(float(x) + 6.2 * len(text) <= width for x, text in lines)


def test_a_name_of_another_format_is_refused(tmp_path):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        _ = x * x
    with pytest.raises(ValueError, match=r"such as tape\.svg, not tape\.png"):
        tape.plot(tmp_path / "tape.png")
    assert not (tmp_path / "tape.png").exists()
