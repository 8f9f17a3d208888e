"""Boxes of tf.image: suppression and random crops to TensorFlow's numbers (data/make_boxes.py), and proposals."""

import json
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf

from .data.make_boxes import MANY, OBJECT, RANKS, value

EXPECTED = json.loads((Path(__file__).parent / "data" / "boxes.json").read_text())
image = tf.image


@pytest.mark.parametrize("expression", EXPECTED)
def test_the_result_is_tensorflows(expression):
    assert value(tf, expression) == EXPECTED[expression]


def numbers(tensors):
    return [t.numpy().tolist() for t in tensors]


def test_functions_give_the_same():
    @tf.function
    def crop(size, boxes, seed):
        return image.stateless_sample_distorted_bounding_box(size, boxes, seed)

    @tf.function
    def choose(boxes, scores):
        return image.non_max_suppression_padded(boxes, scores, 12, 0.3, pad_to_max_output_size=True)

    size = [100, 120, 3]
    found = crop(tf.constant(size), tf.constant(OBJECT), tf.constant([1, 2]))
    assert numbers(found) == numbers(image.stateless_sample_distorted_bounding_box(size, OBJECT, [1, 2]))
    wanted = image.non_max_suppression_padded(MANY, RANKS, 12, 0.3, pad_to_max_output_size=True)
    assert numbers(choose(tf.constant(MANY), tf.constant(RANKS))) == numbers(wanted)
    drawn = tf.function(lambda: image.sample_distorted_bounding_box(size, OBJECT).begin)
    assert len({tuple(drawn().numpy()) for _ in range(20)}) > 1


def test_a_crop_is_for_slice_and_draw_bounding_boxes():
    picture = np.random.default_rng(0).random((40, 30, 3), np.float32)
    begin, size, box = image.sample_distorted_bounding_box(picture.shape, OBJECT, min_object_covered=0.5)
    y, x, bottom, right = box.numpy().ravel() * [40, 30, 40, 30]
    part = tf.slice(picture, begin, size)
    np.testing.assert_array_equal(part, picture[round(y) : round(bottom), round(x) : round(right)])
    assert image.draw_bounding_boxes(picture[None], box, [[1.0, 0.0, 0.0]]).shape == (1, 40, 30, 3)
    old = tf.compat.v1.image.sample_distorted_bounding_box(
        picture.shape, OBJECT, 0, 7, min_object_covered=0.5
    )
    assert old.size.numpy()[2] == -1


def proposals_by_hand(scores, deltas, info, anchors, threshold, first, smallest, last):
    """The boxes of one image, one after the other."""
    found = []
    for place in sorted(range(scores.size), key=lambda i: -scores.flat[i])[:first]:
        y1, x1, y2, x2 = anchors.reshape(-1, 4)[place].astype(float)
        dy, dx, dh, dw = deltas.reshape(-1, 4)[place].astype(float)
        height, width = (y2 - y1) * np.exp(dh), (x2 - x1) * np.exp(dw)
        y, x = (y1 + y2) / 2 + (y2 - y1) * dy, (x1 + x2) / 2 + (x2 - x1) * dx
        box = [y - height / 2, x - width / 2, y + height / 2, x + width / 2]
        box = [min(max(c, 0), edge) for c, edge in zip(box, [info[0], info[1]] * 2, strict=True)]
        if min(box[2] - box[0], box[3] - box[1]) < smallest * info[2]:
            continue
        if all(overlap(box, other) <= threshold for other, _ in found):
            found.append((box, scores.flat[place]))
    return found[:last]


def overlap(a, b):
    common = max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return common / (sum(areas) - common)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_proposals(compiled):
    draw = np.random.default_rng(1)
    scores = draw.random((2, 4, 5, 3), np.float32)
    deltas = (draw.random((2, 4, 5, 12), np.float32) - 0.5) * 0.8
    corners = np.stack(np.meshgrid(np.arange(4), np.arange(5), indexing="ij"), -1)[:, :, None] * 16.0
    sides = np.array([[16, 16], [32, 16], [16, 40]])
    anchors = (
        np.concatenate([corners - sides / 2, corners + sides / 2], -1).astype(np.float32).reshape(4, 5, 12)
    )
    info = np.float32([[64, 80, 1, 64, 80], [60, 70, 1.5, 60, 70]])
    propose = image.generate_bounding_box_proposals
    rois, values = (tf.function(propose) if compiled else propose)(
        tf.constant(scores), deltas, info, anchors, 0.3, 40, 9.0, 10
    )
    assert rois.shape == (2, 10, 4) and values.shape == (2, 10)
    for i in range(2):
        wanted = proposals_by_hand(scores[i], deltas[i], info[i], anchors, 0.3, 40, 9.0, 10)
        assert len(wanted) > 3
        np.testing.assert_allclose(rois[i, : len(wanted)], [box for box, _ in wanted], atol=1e-4)
        np.testing.assert_array_equal(values[i, : len(wanted)], [score for _, score in wanted])
        assert not values.numpy()[i, len(wanted) :].any()


BOX, ONE = [[0.0, 0.0, 1.0, 1.0]], [0.5]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: image.non_max_suppression_padded([BOX], [ONE], 1), ValueError, "a batch needs"),
        (lambda: image.non_max_suppression_padded(BOX, [0.5, 0.5], 1), ValueError, "as many scores"),
        (lambda: image.sample_distorted_bounding_box([9, 9], [BOX]), ValueError, "of shape"),
        (lambda: image.sample_distorted_bounding_box([9.0, 9.0, 3.0], [BOX]), TypeError, "integers"),
        (
            lambda: image.sample_distorted_bounding_box([9, 9, 3], [[[0.0, 0.0, 1.0, 1.5]]]),
            ValueError,
            "from 0 to 1",
        ),
        (
            lambda: image.sample_distorted_bounding_box([9, 9, 3], np.zeros((1, 0, 4), "f")),
            ValueError,
            "no bounding box",
        ),
        (
            lambda: image.sample_distorted_bounding_box([9, 9, 3], [BOX], area_range=[1.0]),
            ValueError,
            "two numbers",
        ),
        (lambda: image.sample_distorted_bounding_box([0, 9, 3], [BOX]), ValueError, "empty"),
        (lambda: image.generate_bounding_box_proposals(BOX, BOX, BOX, BOX), ValueError, "four axes"),
        (lambda: image.generate_bounding_box_proposals([BOX], [BOX], BOX, BOX), ValueError, "four axes"),
        (
            lambda: image.generate_bounding_box_proposals([[BOX]], [[BOX]], BOX, [BOX]),
            ValueError,
            "must have",
        ),
    ],
)
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
