"""Recurrent networks by hand."""

import numpy as np

from .draws import integers, normal


def _lstm(tf, w, x, h, c):
    i, f, g, o = tf.split(tf.concat([x, h], axis=-1) @ w, 4, axis=-1)
    c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def lstm_unrolled(tf, function):
    w = tf.Variable(0.4 * normal(0, 5, 12))
    xs = tf.constant(normal(1, 2, 4, 2))

    @function
    def loss(xs):
        h = c = tf.zeros((2, 3))
        for t in range(xs.shape[1]):
            h, c = _lstm(tf, w, xs[:, t], h, c)
        return tf.reduce_mean(tf.square(h))

    with tf.GradientTape() as tape:
        y = loss(xs)
    return y, tape.gradient(y, w)


def lstm_in_a_tensor_loop(tf, function):
    w = tf.Variable(0.4 * normal(0, 5, 12))
    xs = tf.constant(normal(1, 4, 2, 2))

    @function
    def loss(xs):
        h = tf.zeros((2, 3))
        c = tf.zeros((2, 3))
        for x in xs:
            h, c = _lstm(tf, w, x, h, c)
        return tf.reduce_mean(tf.square(h))

    with tf.GradientTape() as tape:
        y = loss(xs)
    return y, tape.gradient(y, w)


def gru_with_a_mask(tf, function):
    w, u = tf.Variable(0.4 * normal(0, 2, 9)), tf.Variable(0.4 * normal(1, 3, 9))
    xs, lengths = tf.constant(normal(2, 3, 4, 2)), tf.constant([4, 2, 1])

    @function
    def final(xs, lengths):
        mask = tf.transpose(tf.sequence_mask(lengths, 4))
        h = tf.zeros((3, 3))
        for t in tf.range(4):
            zx, rx, nx = tf.split(xs[:, t] @ w, 3, axis=1)
            zh, rh, nh = tf.split(h @ u, 3, axis=1)
            z, r = tf.sigmoid(zx + zh), tf.sigmoid(rx + rh)
            new = (1.0 - z) * tf.tanh(nx + r * nh) + z * h
            h = tf.where(mask[t][:, None], new, h)
        return h

    with tf.GradientTape() as tape:
        tape.watch(xs)
        h = final(xs, lengths)
        loss = tf.reduce_sum(h * h)
    return h, tape.gradient(loss, [w, u, xs])


def states_in_a_list(tf, function):
    layers = [tf.Variable(0.5 * normal(i, 4, 2)) for i in range(2)]
    xs = tf.constant(normal(5, 3, 1, 2))

    @function
    def run(xs):
        states = [tf.zeros((1, 2)) for _ in layers]
        outputs = []
        for t in range(3):
            x = xs[t]
            for k, w in enumerate(layers):
                states[k] = tf.tanh(tf.concat([x, states[k]], 1) @ w)
                x = states[k]
            outputs.append(x)
        return tf.concat(outputs, 0)

    with tf.GradientTape() as tape:
        y = run(xs)
    return y, tape.gradient(y, layers)


def stateful_cell(tf, function):
    class Cell(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(0.5 * normal(0, 2, 2))
            self.state = tf.Variable(tf.zeros((1, 2)), trainable=False)

        @function
        def step(self, x):
            with tf.GradientTape() as tape:
                h = tf.tanh(x + self.state @ self.w)
                loss = tf.reduce_sum(h * h)
            self.state.assign(h)
            return loss, tape.gradient(loss, self.w)

        def reset(self):
            self.state.assign(tf.zeros_like(self.state))

    cell = Cell()
    x = tf.constant([[0.5, -1.0]])
    results = [cell.step(x) for _ in range(3)]
    cell.reset()
    return results, cell.step(x), cell.state


def bidirectional(tf, function):
    w = {"forward": tf.Variable(0.5 * normal(0, 4, 2)), "backward": tf.Variable(0.5 * normal(1, 4, 2))}
    xs = tf.constant(normal(2, 4, 1, 2))

    @function
    def encode(xs):
        def run(xs, w):
            return tf.scan(lambda h, x: tf.tanh(tf.concat([x, h], 1) @ w), xs, initializer=tf.zeros((1, 2)))

        back = tf.reverse(run(tf.reverse(xs, [0]), w["backward"]), [0])
        return tf.concat([run(xs, w["forward"]), back], axis=-1)

    with tf.GradientTape() as tape:
        y = encode(xs)
        loss = tf.reduce_sum(y[1] ** 2)
    return y, tape.gradient(loss, w)


def truncated_backpropagation(tf, function):
    w = tf.Variable(0.8)

    @function
    def f(xs):
        h = tf.constant(0.0)
        losses = []
        for t in range(6):
            h = tf.sin(w * h + xs[t])
            losses.append(h * h)
            if t % 2:
                h = tf.stop_gradient(h)
        return tf.add_n(losses)

    with tf.GradientTape() as tape:
        loss = f(tf.constant(normal(0, 6)))
    return loss, tape.gradient(loss, w)


def character_model(tf, function):
    text = np.array([3, 1, 4, 1, 5, 0, 2, 6])
    table, w, out = (
        tf.Variable(normal(0, 7, 3)),
        tf.Variable(0.3 * normal(1, 6, 3)),
        tf.Variable(normal(2, 3, 7)),
    )

    @function
    def step(inputs, targets):
        with tf.GradientTape() as tape:
            h, logits = tf.zeros((1, 3)), []
            for x in tf.unstack(tf.nn.embedding_lookup(table, inputs)):
                h = tf.tanh(tf.concat([x[None], h], 1) @ w)
                logits.append(h @ out)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, tf.concat(logits, 0))
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, [table, w, out])
        for v, g in zip([table, w, out], gradients):
            v.assign_sub(0.1 * tf.convert_to_tensor(g))
        return loss, gradients[0]

    first, slices = step(tf.constant(text[:-1]), tf.constant(text[1:]))
    second, _ = step(tf.constant(text[:-1]), tf.constant(text[1:]))
    return first, second, slices


def sequence_to_sequence_with_teacher_forcing(tf, function):
    enc, dec = tf.Variable(0.5 * normal(0, 4, 2)), tf.Variable(0.5 * normal(1, 4, 2))
    source, target = tf.constant(normal(2, 3, 2)), tf.constant(normal(3, 3, 2))

    @function
    def loss(teacher):
        h = tf.zeros((1, 2))
        for x in source:
            h = tf.tanh(tf.concat([x[None], h], 1) @ enc)
        previous, total = tf.zeros((1, 2)), tf.constant(0.0)
        for t in tf.range(3):
            h = tf.tanh(tf.concat([previous, h], 1) @ dec)
            total += tf.reduce_sum((h[0] - target[t]) ** 2)
            if teacher:
                previous = target[t][None]
            else:
                previous = h
        return total

    results = []
    for teacher in (True, False):
        with tf.GradientTape() as tape:
            y = loss(teacher)
        results.append([y, tape.gradient(y, [enc, dec])])
    return results


def recurrent_dropout(tf, function):
    w = tf.Variable(0.7 * normal(0, 3, 3))
    xs = tf.constant(normal(1, 4, 1, 3))

    @function
    def run(seed):
        h = tf.zeros((1, 3))
        for t in tf.range(4):
            keep = tf.random.stateless_uniform((1, 3), seed=[seed, t]) < 0.7
            h = tf.tanh(xs[t] + (h * tf.cast(keep, tf.float32) / 0.7) @ w)
        return h

    with tf.GradientTape() as tape:
        h = run(tf.constant(5))
        loss = tf.reduce_sum(h**2)
    return h, tape.gradient(loss, w)


def greedy_decoding(tf, function):
    table, w = tf.constant(normal(0, 5, 3)), tf.constant(normal(1, 3, 3))

    @function
    def decode(token, limit):
        tokens = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        h = tf.zeros((3,))
        i = tf.constant(0)
        while i < limit:
            h = tf.tanh(tf.linalg.matvec(w, h) + table[token])
            token = tf.argmax(tf.linalg.matvec(table, h), output_type=tf.int32)
            tokens = tokens.write(i, token)
            i += 1
            if token == 0:
                break
        return tokens.stack()

    return [decode(tf.constant(t), tf.constant(6)) for t in (1, 2, 4)]


def sum_of_ints_by_lengths(tf, function):
    tokens, lengths = tf.constant(integers(0, 9, 3, 5)), tf.constant([5, 0, 3])

    @function
    def sums(tokens, lengths):
        totals = tf.zeros(3, tf.int32)
        for t in tf.range(tf.reduce_max(lengths)):
            totals += tf.where(t < lengths, tokens[:, t], 0)
        return totals

    return sums(tokens, lengths)
