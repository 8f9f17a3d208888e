"""Random graphs whose values are used many times: a pass by generated code gives the bits it gives without hot tapes.

What goes wrong in a sweep, goes wrong where gradients are added up, and where two of them share an array.
"""

import random

import numpy as np
import pytest

import gradtape as tf
from gradtape.hot import places

BATCH, GRAPHS = 25, 200
ONE = [tf.sin, tf.tanh, tf.identity, tf.square, tf.nn.relu, tf.negative, tf.transpose]
TWO = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.linalg.matmul, tf.add, tf.add]
SAFE = [tf.math.divide_no_nan, tf.atan2, tf.math.xdivy, tf.math.squared_difference]
VIEWS = [
    lambda x: tf.reshape(tf.reshape(x, (9,)), (3, 3)),
    lambda x: tf.squeeze(tf.expand_dims(x, 0), 0),
    lambda x: tf.concat(tf.split(x, [1, 2])[::-1], 0),
    lambda x: tf.stack(tf.unstack(x, axis=1), axis=0),
    lambda x: x[::-1],
    lambda x: x + x[0],
    lambda x: x * tf.reduce_sum(x, axis=1, keepdims=True),
]


class Graph:
    """A training step of 6 to 18 operations on 3x3 matrices, most of them used more than once."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.steps = [
            (rng.choice("1122333345"), *(rng.randrange(1000) for _ in range(3)))
            for _ in range(rng.randint(6, 18))
        ]
        self.asks = [rng.randrange(1000) for _ in range(5)]
        self.looks = rng.random() < 0.3
        self.dtype = rng.choice(["float32", "float32", "float64"])
        self.by_optimizer = rng.random() < 0.4
        self.shares = rng.random() < 0.4

    def run(self, passes):
        rng = np.random.default_rng(0)
        matrices = [tf.Variable(rng.normal(size=(3, 3)).astype(self.dtype)) for _ in range(3)]
        scale = tf.Variable(np.asarray(0.5, self.dtype))
        optimizer = tf.optimizers.SGD(tf.Variable(np.asarray(0.01, self.dtype)))
        shown = []
        for _ in range(passes):
            x = tf.constant(rng.normal(size=(3, 3)).astype(self.dtype))
            with tf.GradientTape() as tape:
                tape.watch(x)
                values = self.values([*matrices, x], scale)
                ends = values[4:] or values
                loss = tf.reduce_sum(values[-1])
                for ask in self.asks[:2]:
                    loss = loss + tf.reduce_sum(tf.tanh(ends[ask % len(ends)]))
            if self.looks:
                shown.append(float(loss))
            others = [ends[ask % len(ends)] for ask in self.asks[2:]]
            found = tape.gradient(loss, [*matrices, scale, x, *others])
            pairs = [(tf.tanh(g), v) for v, g in zip([*matrices, scale], found) if g is not None]
            if self.by_optimizer and pairs:
                optimizer.apply_gradients(pairs)
            else:
                for g, v in pairs:
                    v.assign_sub(0.01 * g)
            if self.shares:  # arrays, with a view and with what came from outside, and then updates
                matrices[0].assign(tf.transpose(matrices[1]))
                matrices[1].assign(x)
                matrices[1].assign_add(0.1 * matrices[0])
            shown += [None if g is None else g.numpy() for g in found]
            shown += [v.numpy() for v in matrices]
        return shown

    def values(self, values, scale):
        for kind, a, b, c in self.steps:
            x, y = values[a % len(values)], values[b % len(values)]
            if kind == "1":
                value = ONE[c % len(ONE)](x)
            elif kind == "2":
                value = VIEWS[c % len(VIEWS)](x + 0.0 if isinstance(x, tf.Variable) else x)
            elif kind == "3":
                value = TWO[c % len(TWO)](x, y)
            elif kind == "4":
                value = x * scale if c % 2 else x + scale
            else:
                value = x * SAFE[c % len(SAFE)](tf.nn.relu(tf.reduce_mean(y)), scale - y[0, 0])
            values.append(tf.tanh(value) if c % 5 == 0 else value)
        return values


@pytest.mark.parametrize("first", range(0, GRAPHS, BATCH))
def test_a_graph_gives_the_same_bits(hot, first):
    hot.by_numpy()
    followed = 0
    for seed in range(first, first + BATCH):
        graph = Graph(seed)
        places.places.clear()
        with np.errstate(all="ignore"):
            hot(False)
            cold = graph.run(6)
            hot()
            warm = graph.run(6)
        assert len(warm) == len(cold)
        for got, wanted in zip(warm, cold, strict=True):
            assert (got is None) is (wanted is None), f"seed {seed}"
            if got is not None:
                np.testing.assert_array_equal(got, wanted, err_msg=f"seed {seed}")
        followed += sum(place.followed for place in places.places.values())
    assert followed > 2 * BATCH
