"""Learning to look up a value: a recurrent network and a self-attention block on the same task.

A sequence is a list of pairs, a key and a value each, and at the end a key, whose value is asked for. The recurrent
network must hold all pairs in its state; attention can look back.
Run it with `python examples/sequence.py --out picture.png`; the picture needs matplotlib.
"""

import argparse

import numpy as np

import gradtape as tf

KEYS, VALUES, PAIRS = 8, 4, 6
WIDTH, BATCH = 32, 64


def batches(seed):
    """Endless batches: keys with the asked one last, values with a blank last, and the answer."""
    rng = np.random.default_rng(seed)
    while True:
        keys = np.argsort(rng.random((BATCH, KEYS)))[:, :PAIRS]  # no key comes twice
        values = rng.integers(0, VALUES, (BATCH, PAIRS))
        asked = rng.integers(0, PAIRS, (BATCH, 1))
        answers = np.take_along_axis(values, asked, 1)[:, 0]
        keys = np.concatenate([keys, np.take_along_axis(keys, asked, 1)], 1)
        values = np.concatenate([values, np.full((BATCH, 1), VALUES)], 1)
        yield tuple(tf.constant(a, tf.int32) for a in (keys, values, answers))


class Network(tf.Module):
    """Base class of both networks: from embedded pairs to scores of the value."""

    def __init__(self, seed=0):
        super().__init__()
        self.make = tf.initializers.GlorotUniform(seed=seed)
        self.keys = tf.Variable(tf.initializers.RandomNormal(stddev=1, seed=seed)((KEYS, WIDTH)))
        self.values = tf.Variable(tf.initializers.RandomNormal(stddev=1, seed=seed + 1)((VALUES + 1, WIDTH)))
        self.out = tf.Variable(self.make((WIDTH, VALUES)))

    def pairs(self, keys, values):
        return tf.gather(self.keys, keys) + tf.gather(self.values, values)

    def __call__(self, keys, values):
        return self.last(self.pairs(keys, values)) @ self.out


class Recurrent(Network):
    """A gated recurrent unit that reads the pairs one by one."""

    def __init__(self):
        super().__init__()
        self.gates = tf.Variable(self.make((2 * WIDTH, 2 * WIDTH)))
        self.gate_offset = tf.Variable(tf.ones(2 * WIDTH))
        self.candidate = tf.Variable(self.make((2 * WIDTH, WIDTH)))

    def last(self, pairs):
        state = tf.zeros_like(pairs[:, 0])
        for pair in tf.unstack(pairs, axis=1):
            keep, reset = tf.split(
                tf.sigmoid(tf.concat([pair, state], 1) @ self.gates + self.gate_offset), 2, 1
            )
            new = tf.tanh(tf.concat([pair, reset * state], 1) @ self.candidate)
            state = keep * state + (1 - keep) * new
        return state


class Attention(Network):
    """A self-attention block over the pairs."""

    def __init__(self):
        super().__init__()
        self.ask, self.answer, self.take = (tf.Variable(self.make((WIDTH, WIDTH))) for _ in range(3))

    def weights(self, pairs):
        likeness = tf.matmul(pairs @ self.ask, pairs @ self.answer, transpose_b=True)
        return tf.nn.softmax(likeness / WIDTH**0.5)

    def last(self, pairs):
        return (pairs + self.weights(pairs) @ (pairs @ self.take))[:, -1]


def train(network, steps):
    """Train, and return the accuracy in the batch of each step."""
    optimizer = tf.optimizers.Adam(0.005)
    variables = network.trainable_variables

    @tf.function
    def step(keys, values, answers):
        with tf.GradientTape() as tape:
            scores = network(keys, values)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(answers, scores))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return tf.reduce_mean(tf.cast(tf.argmax(scores, -1, tf.int32) == answers, tf.float32))

    return np.array([float(step(*batch)) for _, batch in zip(range(steps), batches(seed=0))])


def draw(out, curves, keys, values, weights):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    for (name, curve), colour in zip(curves.items(), ("#d1495b", "#00798c")):
        window = min(25, len(curve))
        smooth = np.convolve(curve, np.ones(window) / window, "valid")
        left.plot(curve, color=colour, alpha=0.2, linewidth=0.7)
        left.plot(np.arange(len(smooth)) + window / 2, smooth, color=colour, label=name)
    left.axhline(1 / VALUES, color="0.6", linestyle=":", label="by chance")
    left.set(
        xlabel=f"step, of {BATCH} sequences",
        ylabel="right answers",
        title="Learning to look up",
        ylim=(0, 1.03),
    )
    left.legend(loc="lower right")

    tokens = [f"{key} is {chr(ord('a') + value)}" for key, value in zip(keys[:-1], values)] + [f"{keys[-1]}?"]
    image = right.imshow(weights, cmap="magma", vmin=0, vmax=1)
    right.set_xticks(range(PAIRS + 1), tokens, rotation=45)
    right.set_yticks(range(PAIRS + 1), tokens)
    right.set(xlabel="takes from", ylabel="pair", title="Where attention looks: the last row answers")
    figure.colorbar(image, ax=right, label="weight", shrink=0.9)
    figure.savefig(out, dpi=130)


def main(out="sequence.png", steps=1200):
    networks = {"recurrent": Recurrent(), "attention": Attention()}
    curves = {name: train(network, steps) for name, network in networks.items()}
    keys, values, answers = next(batches(seed=1))
    accuracies = {}
    for name, network in networks.items():
        right = tf.argmax(network(keys, values), -1, tf.int32) == answers
        accuracies[name] = float(tf.reduce_mean(tf.cast(right, tf.float32)))
        reached = np.flatnonzero(np.convolve(curves[name], np.ones(25) / 25, "valid") >= 0.9)
        when = f"first above 90 % at step {reached[0] + 25}" if len(reached) else "never above 90 %"
        size = sum(v.shape.num_elements() for v in network.trainable_variables)
        print(f"{name:>9}: {size} parameters, {when}; {accuracies[name]:.0%} of new questions right")

    attention = networks["attention"]
    weights = attention.weights(attention.pairs(keys, values)).numpy()
    is_asked = keys.numpy()[:, :-1] == keys.numpy()[:, -1:]
    looked = weights[:, -1, :-1][is_asked].mean()
    print(f"To the pair whose key is asked for, attention gives {looked:.0%} of its weight.")
    shown = int(np.flatnonzero(is_asked[:, 1])[0])
    draw(out, curves, keys.numpy()[shown], values.numpy()[shown], weights[shown])
    print(f"The picture is in {out}")
    return accuracies, looked


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="sequence.png", help="where the picture goes (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=1200, help="of training (default: %(default)s)")
    main(**vars(parser.parse_args()))
