"""Depthwise convolutions in compiled code, as sums of shifted products and as XLA's own convolution.

A step: relu6, depthwise convolution, normalization over the batch, relu6, and all gradients, at the shapes of
MobileNetV2 for images of 96 x 96 pixels. Prints processor time, which others on the machine disturb least, and ratios.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import gradtape as tf
from gradtape.ops.nn import convolve

SHAPES = [
    (48, 32, 1),
    (48, 96, 2),
    (24, 144, 1),
    (24, 144, 2),
    (12, 192, 1),
    (6, 384, 1),
    (6, 576, 2),
    (3, 960, 1),
]


def step_of(stride):
    @tf.function
    def step(x, filters, scale):
        with tf.GradientTape() as tape:
            tape.watch([x, filters, scale])
            y = tf.nn.depthwise_conv2d(tf.nn.relu6(x * scale), filters, [1, stride, stride, 1], "SAME")
            mean, variance = tf.nn.moments(y, [0, 1, 2])
            y = tf.nn.relu6(tf.nn.batch_normalization(y, mean, variance, None, None, 1e-3))
            loss = tf.reduce_sum(y * y)
        return tape.gradient(loss, [x, filters, scale])

    return step


def milliseconds(step, arguments, repetitions=5):
    step(*arguments)
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        for result in step(*arguments):
            result.numpy()
        times.append(time.process_time() - start)
    return 1000 * min(times)


def main(batch):
    rng = np.random.default_rng(0)
    most = convolve._MOST_TAPS
    for length, channels, stride in SHAPES:
        x = tf.constant(rng.normal(size=(batch, length, length, channels)), tf.float32)
        filters = tf.constant(rng.normal(size=(3, 3, channels, 1)), tf.float32)
        found = []
        for limit in (0, most):
            convolve._MOST_TAPS = limit
            found.append(milliseconds(step_of(stride), (x, filters, tf.ones([channels]))))
        convolve._MOST_TAPS = most
        print(
            f"{length:3} x {length:2} x {channels:3}, step {stride}: {found[0]:8.2f} ms as a convolution, "
            f"{found[1]:7.2f} ms as a sum, {found[0] / found[1]:6.1f} times"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
