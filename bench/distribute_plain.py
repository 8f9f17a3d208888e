"""A step that `Strategy.run` is given: replica by replica, by one program, and inside a @function.

    python bench/distribute_plain.py [--peer PYTHON_WITH_TENSORFLOW] [--hidden 128] [--rounds 8]

A network of 784, `--hidden` and 10 units, 32 rows for each replica, Adam, on 2, 4 and 8 virtual CPUs. Prints processor
time in ms for one step of all replicas, the best of all rounds; the ways take turns. Of TensorFlow, the first way.
"""

import argparse
import json
import subprocess
import sys
import time

STEPS = 20


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--replicas", type=int, help="measure here, on so many")
    return parser.parse_args()


OPTIONS = parsed()


def measured(count):
    """The times of all ways."""
    import numpy as np
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * count
    )
    random = np.random.default_rng(0)

    def step_of(compiled):
        strategy = tf.distribute.MirroredStrategy()
        shapes = (784, OPTIONS.hidden), (OPTIONS.hidden,), (OPTIONS.hidden, 10), (10,)
        with strategy.scope():
            ws = [tf.Variable(random.normal(size=shape).astype("f") * 0.1) for shape in shapes]
            optimizer = tf.optimizers.Adam(0.001)
            optimizer.build(ws)

        def step(x, y):
            with tf.GradientTape() as tape:
                logits = tf.nn.relu(x @ ws[0] + ws[1]) @ ws[2] + ws[3]
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
                loss = tf.nn.compute_average_loss(losses, global_batch_size=32 * count)
            optimizer.apply_gradients(zip(tape.gradient(loss, ws), ws))
            return loss

        x = random.normal(size=(32 * count, 784)).astype("f")
        data = tf.data.Dataset.from_tensor_slices((x, random.integers(0, 10, 32 * count))).batch(32 * count)
        batch = next(iter(strategy.experimental_distribute_dataset(data)))

        def run(batch):
            return strategy.run(step, args=batch)

        call = tf.function(run) if compiled else run
        return lambda: float(strategy.reduce("SUM", call(batch), axis=None))

    ways, policy = {"replica by replica": step_of(False)}, None
    if "gradtape" in sys.modules:
        from gradtape.distribute.run_places import policy

        ways |= {"one program": step_of(False), "inside a @function": step_of(True)}
    found = {name: [] for name in ways}
    for _ in range(1 + OPTIONS.rounds):
        for name, call in ways.items():
            if policy is not None:
                policy.follow_from = 10 if name == "one program" else 10**9
            start = time.process_time()
            for _ in range(STEPS):
                call()
            found[name].append((time.process_time() - start) / STEPS * 1000)
    return {name: min(times[1:]) for name, times in found.items()}


def main():
    if OPTIONS.replicas:
        print("found", json.dumps(measured(OPTIONS.replicas)))
        return
    commands = {"gradtape": [sys.executable, "-m", "gradtape", "run"]}
    if OPTIONS.peer:
        commands["TensorFlow"] = [OPTIONS.peer]
    for count in (2, 4, 8):
        for library, command in commands.items():
            words = [
                "--replicas",
                str(count),
                "--hidden",
                str(OPTIONS.hidden),
                "--rounds",
                str(OPTIONS.rounds),
            ]
            done = subprocess.run([*command, __file__, *words], capture_output=True, text=True, check=False)
            lines = [line for line in done.stdout.splitlines() if line.startswith("found ")]
            if not lines:
                raise SystemExit(done.stdout + done.stderr)
            found = json.loads(lines[0].removeprefix("found "))
            print(
                f"{count} replicas, {library}:",
                ", ".join(f"{k} {v:.2f}" for k, v in found.items()),
                flush=True,
            )


main()
