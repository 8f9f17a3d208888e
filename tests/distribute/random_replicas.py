"""Random functions for replicas, by one program and replica by replica.

`python tests/distribute/random_replicas.py 0 200` compares those of 200 seeds, and says which differ. Each seed makes a
function of operations, sums over replicas, assignments, tapes, steps of an optimizer, calls of a @function, gradients
of the user's, updates of copies, Python state, looks at values and exceptions, which come in some calls only. What it
returns, keeps and leaves must be the same.
"""

import sys

import numpy as np

import gradtape as tf
from gradtape.distribute import run_places

CALLS = 12
POLICIES = [
    (tf.VariableAggregation[aggregation], tf.VariableSynchronization[synchronization])
    for aggregation in ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA")
    for synchronization in ("AUTO", "ON_READ")
]


class Step:
    """A random function of `x` and the number of the call, and all that it leaves."""

    def __init__(self, seed, strategy):
        random = np.random.default_rng(seed)
        self.instructions = [self._instruction(random, 0) for _ in range(random.integers(2, 14))]
        self.count, self.kept, self.state = 0, [], {"calls": 0}
        with strategy.scope():
            self.variables = [
                tf.Variable(np.full(3, 0.5 + i, "f"), aggregation=a, synchronization=s)
                for i in range(3)
                for a, s in [POLICIES[random.integers(len(POLICIES))]]
            ]
            self.weight, self.unused = tf.Variable(np.ones(3, "f")), tf.Variable(np.ones(3, "f"))
            self.copies = tf.Variable(np.ones(3, "f"))
            self.optimizer = [tf.optimizers.SGD(0.1), tf.optimizers.Adam(0.1)][random.integers(2)]
        self.functions = [tf.function(self._pure), tf.function(self._counted), tf.function(self._meeting)]

    def _pure(self, p):
        return tf.sin(p) * self.weight

    def _counted(self, p):
        self.copies.assign_add(tf.reduce_mean(tf.reshape(tf.tanh(p), (-1, 3)), 0))
        return p + self.copies

    def _meeting(self, p):
        return tf.tanh(tf.distribute.get_replica_context().all_reduce("SUM", p)) * self.weight

    def _custom(self, number):
        @tf.custom_gradient
        def function(p):
            e = tf.tanh(p)
            return e * 2.0, lambda g: g * e * (0.5 + 0.01 * self.count if number % 2 else 1.5)

        return function

    def _instruction(self, random, depth):
        kinds = ["operation"] * 6 + [
            "reduce",
            "gather",
            "assign",
            "assign",
            "keep",
            "number",
            "random",
            "stray",
            "function",
            "custom",
            "copy",
        ]
        kinds += ["look", "raise", "skip"] if random.random() < 0.25 else []
        kinds += ["tape", "train"] if depth == 0 else []
        kind = kinds[random.integers(len(kinds))]
        inner = (
            [self._instruction(random, depth + 1) for _ in range(4)]
            if kind in ("tape", "train", "skip")
            else []
        )
        return kind, random.integers(0, 1 << 30, 4).tolist(), inner

    def __call__(self, x, call):
        self.count += 1
        self.state["calls"] += 1
        env = [x, tf.reduce_mean(x, 0)]
        self._run(self.instructions, env, call)
        return env[-1], self.variables[0] * 1.0

    def _run(self, instructions, env, call):
        context = tf.distribute.get_replica_context()
        for kind, (a, b, c, d), inner in instructions:
            p, q, v = env[a % len(env)], env[b % len(env)], self.variables[c % 3]
            if kind == "operation":
                functions = (
                    lambda p, q: tf.sin(p + q),
                    lambda p, q: p * q * 0.5,
                    lambda p, q: tf.maximum(p, q) - 0.25,
                    lambda p, q: tf.tanh(p) * v,  # noqa: B023
                    lambda p, q: tf.concat([p, p], 0)[: p.shape[0]] + 0.5,
                    lambda p, q: tf.reduce_mean(p, -1, keepdims=True) * tf.ones(3),
                )
                env.append(functions[d % len(functions)](p, q))
            elif kind == "reduce":
                env.append(tf.tanh(context.all_reduce(("SUM", "MEAN")[d % 2], p)))
            elif kind == "gather":
                env.append(tf.reduce_mean(context.all_gather(tf.reshape(p, (-1, 3)), 0), 0))
            elif kind == "assign":
                value = tf.tanh(tf.reduce_mean(tf.reshape(p, (-1, 3)), 0))
                getattr(v, ("assign", "assign_add", "assign_sub")[d % 3])(value * 0.1)
            elif kind == "function":
                env.append(self.functions[d % 3](p))
            elif kind == "custom":
                env.append(self._custom(d)(p) if d % 3 else tf.grad_pass_through(tf.round)(p))
            elif kind == "copy":
                value = tf.tanh(tf.reduce_mean(tf.reshape(p, (-1, 3)), 0))
                context.strategy.extended.update(
                    self.copies, lambda v, x: v.assign(0.5 * v + x), args=(value,)
                )
                env.append(self.copies * 1.0)
            elif kind == "keep":
                self.kept.append(p)
            elif kind == "number":
                env.append(p * (0.5 + 0.01 * self.count if d % 2 else 1.5))
            elif kind == "random":
                env.append(p + tf.random.normal((3,)) * 0.1)
            elif kind == "stray" and self.state.get("left") is not None and d % 5 == 0:
                env.append(p * self.state["left"])  # what another replica, or another call, has left
            elif kind == "stray":
                self.state["left"] = tf.reduce_mean(p)
            elif kind == "look" and call % (d % 7 + 1) == 0:
                self.kept.append(round(float(tf.reduce_sum(p)), 2))
            elif kind == "raise" and call == d % 20:
                raise KeyError(call)
            elif kind == "skip" and call % 4:
                self._run(inner, env, call)
            elif kind in ("tape", "train"):
                with tf.GradientTape() as tape:
                    part = [p * self.weight]
                    self._run(inner, part, call)
                    loss = tf.reduce_sum(tf.tanh(part[-1]))
                sources = [self.weight, self.unused] if a % 4 == 0 else [self.weight]
                gradient, *others = tape.gradient(loss, sources)
                if gradient is not None:
                    if kind == "train":
                        self.optimizer.apply_gradients(zip([gradient, *others], sources))
                    env.append(gradient)


def plain(value):
    if isinstance(value, tf.distribute.DistributedValues) and not isinstance(value, tf.Variable):
        return [plain(v) for v in value.values]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return np.asarray(value.numpy()) if isinstance(value, (tf.Tensor, tf.Variable)) else value


def ran(seed, count, follow_from):
    """Everything that a function shows, and how many calls one program ran."""
    run_places.policy.follow_from = follow_from
    tf.random.set_seed(seed)
    strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(count)])
    step, shown = Step(seed, strategy), []
    random = np.random.default_rng(seed)
    for call in range(CALLS):
        table = random.normal(size=(count, 2, 3)).astype("f")
        rows = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(table[int(context.replica_id_in_sync_group)])  # noqa: B023
        )
        try:
            shown.append(plain(strategy.run(step, args=(rows, call))))
        except KeyError as error:
            shown.append(repr(error))
        except (RuntimeError, ValueError) as error:
            # A tensor of another replica is in a gradient, and they do not meet.
            return [*shown, type(error).__name__], 0
    left = step.state.get("left")
    shown += [plain(step.variables), plain(step.weight), plain(step.copies), plain(step.kept), step.count]
    shown += [plain(step.optimizer.variables[:1]), None if left is None else plain(left)]
    return shown, sum(c["one program"] for c in strategy.extended.runs().values())


def differences(found, expected):
    if isinstance(expected, list):
        same = isinstance(found, list) and len(found) == len(expected)
        return (
            [d for p, q in zip(found, expected) for d in differences(p, q)] if same else [(found, expected)]
        )
    if isinstance(expected, np.ndarray):
        close = found.shape == expected.shape and np.allclose(
            found, expected, rtol=1e-3, atol=1e-4, equal_nan=True
        )
        return [] if close else [(found, expected)]
    if isinstance(expected, float):
        return [] if abs(found - expected) < 0.02 else [(found, expected)]
    return [] if found == expected else [(found, expected)]


def wrong(seed):
    """What differs for a seed, and how many calls one program ran."""
    count = 2 + seed % 2
    expected, _ = ran(seed, count, 10**9)
    found, programs = ran(seed, count, 4)
    return differences(found, expected), programs


def main(first, last):
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 4
    )
    programs = []
    for seed in range(first, last):
        found, count = wrong(seed)
        programs.append(count)
        if found:
            print(seed, found[:3])
    print(
        f"{last - first} functions; {sum(map(bool, programs))} of them by programs, in {sum(programs)} calls"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
