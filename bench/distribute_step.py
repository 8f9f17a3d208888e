"""One training step with a strategy, and the same step without: their processor time, as JSON.

    python bench/distribute_step.py [--replicas 0,1,2,4,8] [--workers] [--rows 64] [--width 256] [--rounds 30]

Runs on the library named tensorflow: on TensorFlow in its own Python, on gradtape by `gradtape run`. 0 replicas is the
step without a strategy; with --workers the other step is that of all processes of TF_CONFIG. Each replica has as many
rows, so the work grows with the replicas. The steps take turns; of each the best time counts. (TensorFlow takes one
number of replicas in a process: --replicas 0,4.) `bench/distribute_scale.py` runs this for both libraries.
"""

import argparse
import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

LAYERS = 3


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", default="0,1,2,4,8")
    parser.add_argument("--workers", action="store_true")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=30)
    return parser.parse_args()


def strategy_of(count):
    if not count:
        return tf.distribute.get_strategy()
    return tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(count)])


def step_of(strategy, rows, width):
    """A function that runs one step of a strategy."""
    random = np.random.default_rng(0)
    with strategy.scope():
        layers = [
            tf.Variable(random.normal(size=(width, width)).astype("f") / width**0.5) for _ in range(LAYERS)
        ]
        optimizer = tf.optimizers.SGD(0.01, momentum=0.9)
        optimizer.build(layers)
    total = rows * strategy.num_replicas_in_sync

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
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    batch = next(iter(strategy.experimental_distribute_dataset(data.with_options(options))))
    return lambda: float(train(*batch))


def timed(steps, rounds):
    """The best time of each step, by the clock and of the processor, in ms; they take turns."""
    best = {name: [float("inf")] * 2 for name in steps}
    for step in steps.values():
        step(), step()
    for _ in range(rounds):
        for name, step in steps.items():
            wall, processor = time.perf_counter(), time.process_time()
            step()
            times = (time.perf_counter() - wall) * 1e3, (time.process_time() - processor) * 1e3
            best[name] = [min(a, b) for a, b in zip(best[name], times)]
    return best


def main():
    options = parsed()
    counts = [int(n) for n in options.replicas.split(",")]
    if options.workers:
        steps = {"workers": tf.distribute.MultiWorkerMirroredStrategy(), "0": tf.distribute.get_strategy()}
    else:
        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration()] * max(*counts, 1)
        tf.config.set_logical_device_configuration(cpu, parts)
        steps = {str(n): strategy_of(n) for n in counts}
    steps = {name: step_of(strategy, options.rows, options.width) for name, strategy in steps.items()}
    print("best", json.dumps(timed(steps, options.rounds)), flush=True)


main()
