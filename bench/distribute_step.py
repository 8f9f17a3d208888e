"""One training step on 1 to 8 virtual devices: its cost over the same step without a strategy.

    python bench/distribute_step.py [--replicas 0,1,2,4,8] [--rows 64] [--width 256] [--rounds 30]

Runs on the library named tensorflow: on TensorFlow in its own Python, on gradtape by `gradtape run`. 0 replicas is the
step without a strategy. Each replica has as many rows, so the work grows with the replicas, and a machine of few cores
takes that much longer: the overhead is what is more than the processor time of so many single steps. (TensorFlow takes
one number of replicas in a process: --replicas 0,4.)
"""

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", default="0,1,2,4,8")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=30)
    return parser.parse_args()


def step_of(count, rows, width):
    """A function that runs one step on so many replicas."""
    strategy = (
        tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(count)])
        if count
        else tf.distribute.get_strategy()
    )
    random = np.random.default_rng(0)
    with strategy.scope():
        layers = [tf.Variable(random.normal(size=(width, width)).astype("f") / width**0.5) for _ in range(3)]
        optimizer = tf.optimizers.SGD(0.01, momentum=0.9)
        optimizer.build(layers)
    total = rows * max(count, 1)

    def step(x, y):
        with tf.GradientTape() as tape:
            h = x
            for w in layers:
                h = tf.tanh(h @ w)
            loss = tf.nn.compute_average_loss(tf.reduce_mean((h - y) ** 2, 1), global_batch_size=total)
        optimizer.apply_gradients(zip(tape.gradient(loss, layers), layers))
        return loss

    @tf.function
    def train(x, y):
        return strategy.reduce("SUM", strategy.run(step, args=(x, y)), axis=None)

    x = random.normal(size=(total, width)).astype("f")
    data = tf.data.Dataset.from_tensors((x, np.tanh(x))).repeat()
    batch = next(iter(strategy.experimental_distribute_dataset(data)))
    return lambda: float(train(*batch))


def main():
    options = parsed()
    counts = [int(n) for n in options.replicas.split(",")]
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration()] * max(*counts, 1)
    )
    steps = {n: step_of(n, options.rows, options.width) for n in counts}
    best = {n: [float("inf")] * 2 for n in counts}
    for step in steps.values():
        step(), step()
    for _ in range(options.rounds):
        for n, step in steps.items():
            wall, processor = time.perf_counter(), time.process_time()
            step()
            times = time.perf_counter() - wall, time.process_time() - processor
            best[n] = [min(a, b) for a, b in zip(best[n], times)]
    print(f"{'replicas':>8} {'ms':>8} {'processor ms':>13} {'a replica, of one step':>23}")
    for n in counts:
        share = best[n][1] / max(n, 1) / best[counts[0]][1]
        print(f"{n:8} {best[n][0] * 1e3:8.2f} {best[n][1] * 1e3:13.2f} {share:22.2f}x")
    gradients = 3 * options.width**2 * 4
    print(f"all-reduced in a step: {gradients} bytes of gradients, and the loss")


main()
