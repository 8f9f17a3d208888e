"""Training steps whose shapes depend on values, which XLA cannot compile as a whole.

    python bench/masked_losses.py            # with gradtape
    python bench/masked_losses.py tensorflow # with TensorFlow's tf.function, by a Python that has it

Milliseconds a step, by the clock and of the processor, the best of several rounds after 150 steps; and the loss, which
is the same in both libraries.
"""

import importlib
import logging
import sys
from collections.abc import Callable, Iterator
from time import perf_counter, process_time
from typing import Any

import numpy as np

WARM, ROUNDS, STEPS = 150, 6, 20
LIBRARY = sys.argv[1] if len(sys.argv) > 1 else "gradtape"
tf: Any = importlib.import_module(LIBRARY)
rng = np.random.default_rng(0)
logging.getLogger("gradtape").setLevel(
    logging.ERROR
)  # which says that a function runs operation by operation

Program = tuple[Callable[..., Any], Callable[[], list[Any]]]  # a step, and what makes a batch for it


def weights(*shape: int) -> Any:
    scale = 1 / np.sqrt(np.prod(shape[:-1]))
    return tf.Variable((rng.normal(size=shape) * scale).astype("float32"))


def update(tape: Any, loss: Any, variables: list[Any]) -> Any:
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
        variable.assign_sub(0.01 * tf.convert_to_tensor(gradient))
    return loss


def focal(p: Any, label: Any) -> Any:
    hit, miss = (1 - p) ** 2 * tf.math.log(p + 1e-6), p**2 * tf.math.log(1 - p + 1e-6)
    return -tf.reduce_mean(label * hit + (1 - label) * miss)


def anchors() -> Program:
    """4096 boxes are compared with 40 true ones; the loss is of those that overlap."""
    regress, classify = weights(16, 4), weights(16, 1)
    base = tf.constant(rng.random((4096, 4)).astype("float32"))

    def step(features: Any, boxes: Any) -> Any:
        with tf.GradientTape() as tape:
            delta = tf.tanh(features @ regress) * 0.1
            center = base[:, :2] + delta[:, :2]
            size = (base[:, 2:] * 0.3 + 0.05) * tf.exp(delta[:, 2:])
            low, high = center - size * 0.5, center + size * 0.5
            true_low, true_high = boxes[:, :2], boxes[:, :2] + boxes[:, 2:] * 0.3 + 0.05
            sides = tf.minimum(high[:, None], true_high[None]) - tf.maximum(low[:, None], true_low[None])
            shared = tf.reduce_prod(tf.maximum(sides, 0.0), -1)
            areas = tf.reduce_prod(high - low, -1)[:, None] + tf.reduce_prod(true_high - true_low, -1)[None]
            best = tf.reduce_max(shared / (areas - shared + 1e-6), 1)
            keep = best > 0.3
            loss = focal(tf.sigmoid((features @ classify)[:, 0]), tf.cast(keep, tf.float32))
            loss += tf.reduce_mean(1 - tf.boolean_mask(best, keep))
        return update(tape, loss, [regress, classify])

    return step, lambda: [rng.normal(size=(4096, 16)), rng.random((40, 4))]


def detector() -> Program:
    """Three convolutions; the loss of the boxes is of those cells that a mask names."""
    filters = [weights(3, 3, 3, 16), weights(3, 3, 16, 32), weights(3, 3, 32, 32)]
    biases = [tf.Variable(tf.zeros(n)) for n in (16, 32, 32)]
    classify, regress = weights(1, 1, 32, 1), weights(1, 1, 32, 4)

    def step(images: Any, mask: Any, targets: Any) -> Any:
        mask = mask > 0.0
        with tf.GradientTape() as tape:
            h = images
            for kernel, bias, stride in zip(filters, biases, (2, 2, 1)):
                h = tf.nn.relu(tf.nn.conv2d(h, kernel, stride, "SAME") + bias)
            logits = tf.nn.conv2d(h, classify, 1, "SAME")[..., 0]
            boxes = tf.nn.conv2d(h, regress, 1, "SAME")
            d = tf.abs(tf.boolean_mask(boxes, mask) - tf.boolean_mask(targets, mask))
            loss = focal(tf.sigmoid(logits), tf.cast(mask, tf.float32))
            loss += tf.reduce_mean(tf.where(d < 1.0, 0.5 * d * d, d - 0.5))
        return update(tape, loss, [*filters, *biases, classify, regress])

    def batch() -> list[Any]:
        return [
            rng.normal(size=(8, 64, 64, 3)),
            rng.random((8, 16, 16)) - 0.9,
            rng.normal(size=(8, 16, 16, 4)),
        ]

    return step, batch


def language_model() -> Program:
    """A transformer of two layers; the loss is of the tokens that were masked."""
    words, width, length, rows = 500, 64, 32, 8
    table = weights(words, width)
    layers = [[weights(width, width) for _ in range(4)] for _ in range(2)]
    dense = [(weights(width, 4 * width), weights(4 * width, width)) for _ in range(2)]

    def normal(h: Any) -> Any:
        centered = h - tf.reduce_mean(h, -1, keepdims=True)
        return centered * tf.math.rsqrt(tf.reduce_mean(centered**2, -1, keepdims=True) + 1e-5)

    def heads(t: Any) -> Any:
        return tf.transpose(tf.reshape(t, [rows, length, 4, width // 4]), [0, 2, 1, 3])

    def step(tokens: Any, mask: Any) -> Any:
        tokens, mask = tf.cast(tokens, tf.int32), mask > 0.0
        with tf.GradientTape() as tape:
            h = tf.gather(table, tokens)
            for (query, key, value, out), (up, down) in zip(layers, dense):
                n = normal(h)
                scores = tf.matmul(heads(n @ query), heads(n @ key), transpose_b=True) * 0.25
                mixed = tf.transpose(tf.nn.softmax(scores) @ heads(n @ value), [0, 2, 1, 3])
                h += tf.reshape(mixed, [rows, length, width]) @ out
                h += tf.nn.gelu(normal(h) @ up) @ down
            logits = tf.matmul(tf.boolean_mask(normal(h), mask), table, transpose_b=True)
            wanted = tf.boolean_mask(tokens, mask)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=logits)
            loss = tf.reduce_mean(losses)
        return update(tape, loss, [table, *(w for layer in (*layers, *dense) for w in layer)])

    return step, lambda: [rng.integers(0, words, (rows, length)), rng.random((rows, length)) - 0.85]


def ragged_rows() -> Program:
    """Rows of 20 to 39 vectors; the sums are over those that are there."""
    first, gate, last = weights(64, 64), weights(64, 64), weights(64, 1)

    def step(x: Any, there: Any) -> Any:
        with tf.GradientTape() as tape:
            h = tf.tanh(x @ first) * tf.sigmoid(x @ gate)
            h = tf.nn.softmax(h) * h + tf.nn.softplus(h)
            at = tf.where(there > 0.0)
            values = tf.tanh(tf.gather_nd(h, at) @ last)
            loss = tf.reduce_mean(tf.math.segment_sum(values, tf.cast(at[:, 0], tf.int32)) ** 2)
        return update(tape, loss, [first, gate, last])

    def batch() -> list[Any]:
        lengths = rng.integers(20, 40, 32)[:, None]
        return [rng.normal(size=(32, 40, 64)), (np.arange(40)[None] < lengths).astype("float32")]

    return step, batch


def rounds(step: Callable[..., Any], batches: list[Any]) -> Iterator[tuple[float, float]]:
    """The time of a step, by the clock and of the processor."""
    for _ in range(ROUNDS):
        clock, processor = perf_counter(), process_time()
        for i in range(STEPS):
            loss = step(*batches[i % len(batches)])
        float(loss)
        yield (perf_counter() - clock) / STEPS, (process_time() - processor) / STEPS


def main() -> None:
    for make in (anchors, detector, language_model, ragged_rows):
        step, batch = make()
        function = tf.function(step)
        batches = [[tf.constant(a.astype("float32")) for a in batch()] for _ in range(STEPS)]
        for i in range(WARM):
            loss = function(*batches[i % STEPS])
        shown = float(loss)
        clock, processor = (min(times) * 1e3 for times in zip(*rounds(function, batches)))
        print(
            f"{LIBRARY} {make.__name__}: {clock:.2f} ms, {processor:.2f} ms of the processor, loss {shown:.5f}"
        )


if __name__ == "__main__":
    main()
