"""Nonsense: values of every kind that no function can have been written for."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import gradtape as tf


def _rows() -> Any:
    yield 1.0


def _anything(*args: Any, **kwargs: Any) -> str:
    return "nonsense"


class Thing:
    """An object of a class nobody has heard of."""


# Sizes are either small or absurd, so that what is allowed to be allocated is, at once, or cannot be.
ANY: list[Any] = [
    None, True, False, 0, 1, 2, 3, -1, -2, 5, 7, 100, -100, 2**40, -(2**40), 2**70, -(2**70),
    0.0, 1.5, -0.5, 1e-300, 1e300, float("nan"), float("inf"), float("-inf"), 1j, complex("nan"),
    "", "nonsense", "é", b"bytes", "SAME", "VALID", "same", "NHWC", "NCHW", "float32", "int32", "string", "a,b->c",
    "ij,jk->ik", "...", "REFLECT", "bilinear", "CPU:0",
    [], [[]], [[], []], [1], [0, 1], [-1, -1], [1, 0, 1], [2, 2], [1, 2, 2, 1], [[1, 1]], [[1, 0], [0, 1]],
    [1.5], [float("nan")], [1, [2]], [1, "a"], [None], [None, 1], ["a"], [b"a", b"b"], [True, False], [2**40, 2**40],
    [-(2**40)], [2**40] * 2, [1j], (), (1, 2), ([1.0],), {}, {"a": 1.0}, {1: 2, "b": 3}, {1, 2}, frozenset(),
    object(), Thing(), Thing, int, float, _anything, len, slice(None), slice(0, "a"), ..., range(3),
    tf.float32, tf.int32, tf.string, tf.bool, tf.complex64, tf.bfloat16, np.dtype("int16"),
    tf.TensorShape(None), tf.TensorShape([None, 2]), tf.TensorShape([2]), tf.TensorSpec([2]),
    np.array([], np.float32), np.zeros((0, 3)), np.zeros((2, 0, 2), np.float32), np.ones((1,) * 7, np.float32),
    np.array("text"), np.array(["a", None], object), np.array([{}], object), np.datetime64("2020-01-01"),
    np.array([1, 2], "timedelta64[s]"), np.zeros(2, [("a", int)]), np.ma.array([1.0, 2.0], mask=[True, False]),
    np.float16(1), np.int8(-3), np.uint64(2**63), np.bool_(True), np.longdouble(1),
    tf.constant(1.0), tf.constant(-1), tf.constant(True), tf.constant("text"), tf.constant(["a", "b"]),
    tf.constant([1, 2]), tf.constant([1, 2], tf.int64), tf.constant([-5, 9]), tf.constant([True, False]),
    tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0], tf.float64), tf.constant([1.0, 2.0], tf.bfloat16),
    tf.constant([1.0, 2.0], tf.float16), tf.constant([1 + 1j, 2], tf.complex64), tf.constant([float("nan"), 1.0]),
    tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1, 2], [3, 4]]), tf.ones((2, 3)), tf.ones((2, 3, 4)),
    tf.ones((1, 2, 3, 4)), tf.zeros((2, 2, 2, 2, 2)), tf.zeros((0,)), tf.zeros((2, 0)), tf.zeros((0, 2, 2, 1)),
    tf.constant(2**40, tf.int64), tf.constant([2**40, 2**40], tf.int64), tf.constant([1, 2], tf.uint8),
]  # fmt: skip

# Made anew for each use: a call may use them up or change them.
MADE: list[Any] = [
    _rows,
    lambda: iter([1.0, 2.0]),
    lambda: tf.Variable([1.0, 2.0]),
    lambda: tf.Variable(1),
    lambda: tf.Variable([[True]]),
    lambda: tf.IndexedSlices(tf.ones((1, 2)), [0], [3, 2]),
    lambda: tf.IndexedSlices(tf.ones((1,)), [5]),
    lambda: tf.TensorArray(tf.float32, 2),
    lambda: tf.GradientTape(),
    lambda: tf.random.Generator.from_seed(1),
    lambda: [tf.Variable(1.0), tf.constant([1.0])],
    lambda: [tf.ones((2,)), tf.ones((3,))],
    lambda: [tf.ones((2,)), tf.ones((2,), tf.int32)],
    lambda: [tf.ones((2,)), None],
    lambda: {"a": tf.ones((2,)), "b": [tf.ones(())]},
]


def nonsense(rng: random.Random, sane: Any) -> Any:
    """Some nonsense to put in place of a sane argument: anything at all, or something nearly right."""
    if rng.random() < 0.4:
        near = _nearly(rng, sane)
        if near is not None:
            return near
    return rng.choice(ANY) if rng.random() < 0.9 else rng.choice(MADE)()


def _nearly(rng: random.Random, sane: Any) -> Any:
    """The sane value with another rank, length or dtype; None if it has none of them."""
    if isinstance(sane, (list, tuple)) and len(sane):
        return type(sane)(_changed(rng, list(sane))) if type(sane) in (list, tuple) else None
    if isinstance(sane, (bool, str, bytes)) or sane is None or callable(sane):
        return None
    try:
        array = np.asarray(sane)
    except Exception:
        return None
    if array.dtype.kind not in "biufcV" or array.dtype.names:
        return None
    with np.errstate(all="ignore"):
        return rng.choice(NEARLY)(array)


def _changed(rng: random.Random, items: list[Any]) -> list[Any]:
    i = rng.randrange(len(items))
    return rng.choice(
        [
            items + items,
            items[:-1],
            [*items, None],
            [items],
            [*items[:i], nonsense(rng, items[i]), *items[i + 1 :]],
            [*items[:i], rng.choice(ANY), *items[i + 1 :]],
        ]
    )


NEARLY: list[Any] = [
    lambda a: tf.constant(a[None]),
    lambda a: tf.constant(a.reshape(-1)),
    lambda a: tf.constant(a.reshape(-1)[:1].reshape(()) if a.size else a),
    lambda a: tf.constant(np.concatenate([a, a], -1) if a.ndim else a),
    lambda a: tf.constant(np.concatenate([a, a]) if a.ndim else a),
    lambda a: tf.constant(a[..., :0] if a.ndim else a),
    lambda a: tf.constant(a[:0] if a.ndim else a),
    lambda a: tf.constant(a[1:] if a.ndim else a),
    lambda a: tf.constant(np.swapaxes(a, 0, -1) if a.ndim else a),
    lambda a: tf.constant(a.astype(np.complex64)),
    lambda a: tf.constant(a.real.astype(np.int32)),
    lambda a: tf.constant(a.real.astype(np.float64)),
    lambda a: tf.constant(a.real.astype(np.float16)),
    lambda a: tf.constant(a.astype(bool)),
    lambda a: tf.constant(a.astype(str)),
    lambda a: tf.constant(-a if a.dtype.kind != "b" else a),
    lambda a: tf.constant(a * np.array(np.nan, np.float32)),
    lambda a: a.real.astype(np.uint8),
    lambda a: a.tolist(),
    lambda a: a.astype(object),
    lambda a: tf.Variable(a),
]
