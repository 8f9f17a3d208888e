"""Training loops as people write them, without a decorator. Each gives numbers to compare: losses, values, weights."""

from itertools import pairwise

import numpy as np

import gradtape as tf

rng = np.random.default_rng


def data(rows=16, columns=3, seed=0):
    random = rng(seed)
    x = random.normal(size=(rows, columns)).astype("float32")
    return tf.constant(x), tf.constant(np.sin(x.sum(1, keepdims=True)).astype("float32"))


def layers(*sizes, seed=1):
    random = rng(seed)
    weights = []
    for rows, columns in pairwise(sizes):
        weights.append(tf.Variable((random.normal(size=(rows, columns)) / rows**0.5).astype("float32")))
        weights.append(tf.Variable(np.zeros(columns, "float32")))
    return weights


def dense(weights, x, last=None):
    for i in range(0, len(weights) - 2, 2):
        x = tf.tanh(x @ weights[i] + weights[i + 1])
    x = x @ weights[-2] + weights[-1]
    return x if last is None else last(x)


def numbers(variables):
    return np.concatenate([v.numpy().reshape(-1) for v in variables])


def regression(steps):
    x, y = data()
    w, b = tf.Variable(tf.zeros([3, 1])), tf.Variable([0.0])
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ w + b - y))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(0.1 * dw)
        b.assign_sub(0.1 * db)
    return loss, w, b


def mlp(steps, optimizer=None):
    x, y = data()
    weights = layers(3, 8, 1)
    optimizer = optimizer or tf.optimizers.SGD(0.1)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(dense(weights, x) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss, numbers(weights)


def gan(steps):
    x, _ = data()
    generator, critic = layers(2, 8, 3), layers(3, 8, 1, seed=2)
    first, second = tf.optimizers.Adam(0.01), tf.optimizers.Adam(0.01)
    cross_entropy = tf.nn.sigmoid_cross_entropy_with_logits
    random = rng(5)
    for _ in range(steps):
        noise = tf.constant(random.normal(size=(16, 2)).astype("float32"))
        with tf.GradientTape() as of_generator, tf.GradientTape() as of_critic:
            fake = dense(generator, noise)
            real_output, fake_output = dense(critic, x), dense(critic, fake)
            generator_loss = tf.reduce_mean(cross_entropy(tf.ones_like(fake_output), fake_output))
            real_loss = tf.reduce_mean(cross_entropy(tf.ones_like(real_output), real_output))
            critic_loss = real_loss + tf.reduce_mean(cross_entropy(tf.zeros_like(fake_output), fake_output))
        first.apply_gradients(zip(of_generator.gradient(generator_loss, generator), generator))
        second.apply_gradients(zip(of_critic.gradient(critic_loss, critic), critic))
    return generator_loss, critic_loss, numbers(generator), numbers(critic)


def wgan(steps):
    x, _ = data()
    critic = layers(3, 8, 1)
    optimizer = tf.optimizers.RMSprop(0.01)
    random = rng(6)
    for _ in range(steps):
        fake = tf.constant(random.normal(size=(16, 3)).astype("float32"))
        mixed = x + tf.constant(random.random((16, 1), "float32")) * (fake - x)
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(mixed)
                score = dense(critic, mixed)
            slope = inner.gradient(score, mixed)
            norm = tf.sqrt(tf.reduce_sum(tf.square(slope), axis=1) + 1e-12)
            penalty = tf.reduce_mean(tf.square(norm - 1.0))
            loss = tf.reduce_mean(dense(critic, fake)) - tf.reduce_mean(dense(critic, x)) + 10.0 * penalty
        optimizer.apply_gradients(zip(tape.gradient(loss, critic), critic))
    return loss, numbers(critic)


def maml(steps):
    x, y = data()
    weights = layers(3, 4, 1)
    optimizer = tf.optimizers.SGD(0.05)
    for _ in range(steps):
        with tf.GradientTape() as outer:
            total = 0.0
            for task in (0.5, 2.0):
                fast = [w * 1.0 for w in weights]
                for _ in range(2):
                    with tf.GradientTape() as inner:
                        inner.watch(fast)
                        loss = tf.reduce_mean(tf.square(dense(fast, x) - task * y))
                    slopes = inner.gradient(loss, fast)
                    fast = [w - 0.1 * g for w, g in zip(fast, slopes)]
                total = total + tf.reduce_mean(tf.square(dense(fast, x) - task * y))
        optimizer.apply_gradients(zip(outer.gradient(total, weights), weights))
    return total, numbers(weights)


def pinn(steps):
    weights = layers(1, 8, 1)
    points = tf.constant(np.linspace(0, 1, 10, dtype="float32")[:, None])
    optimizer = tf.optimizers.Adam(0.01)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            with tf.GradientTape() as second:
                second.watch(points)
                with tf.GradientTape() as first:
                    first.watch(points)
                    u = dense(weights, points)
                du = first.gradient(u, points)
            ddu = second.gradient(du, points)
            loss = tf.reduce_mean(tf.square(ddu + u)) + tf.reduce_mean(tf.square(u[:1] - 1.0))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss, numbers(weights)


def rnn(steps):
    random = rng(3)
    inputs = tf.constant(random.normal(size=(4, 6, 2)).astype("float32"))
    wx, wh, wo = (
        tf.Variable(random.normal(size=s).astype("float32") * 0.3) for s in ((2, 5), (5, 5), (5, 1))
    )
    for _ in range(steps):
        with tf.GradientTape() as tape:
            state = tf.zeros([4, 5])
            for t in range(6):
                state = tf.tanh(inputs[:, t] @ wx + state @ wh)
            loss = tf.reduce_mean(tf.square(state @ wo - 1.0))
        for v, g in zip([wx, wh, wo], tape.gradient(loss, [wx, wh, wo])):
            v.assign_sub(0.1 * g)
    return loss, numbers([wx, wh, wo])


def newton(steps):
    v = tf.Variable([2.0, 1.5])
    for _ in range(steps):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_sum(v**4) + v[0] * v[1]
            g = inner.gradient(loss, v)
        hessian = outer.jacobian(g, v)
        v.assign_sub(tf.reshape(tf.linalg.solve(hessian, g[:, None]), [-1]))
    return loss, v


def looks_each_step(steps):
    x, y = data()
    weights, losses = layers(3, 4, 1), []
    optimizer = tf.optimizers.SGD(0.1)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(dense(weights, x) - y))
        losses.append(float(loss))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return losses, numbers(weights)


def prints_every_hundredth(steps):
    x, y = data()
    w, printed = tf.Variable(tf.zeros([3, 1])), []
    for step in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ w - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        if step % 100 == 99:
            printed.append(f"{step}: {loss:.4f}")
            error = tf.reduce_max(tf.abs(x @ w - y))
            printed.append(f"{error.numpy():.4f}")
    return w, len(printed)


def early_stopping(steps):
    x, y = data()
    w, best, waited = tf.Variable(tf.zeros([3, 1])), np.inf, 0
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ w - y))
        if loss < best - 1e-4:
            best, waited = float(loss), 0
        else:
            waited += 1
            if waited == 3:
                break
        w.assign_sub(0.3 * tape.gradient(loss, w))
    return best, waited, w


def computed_rate(steps):
    x, y = data()
    w = tf.Variable(tf.zeros([3, 1]))
    for step in range(steps):
        rate = 0.2 / (1 + 0.1 * step)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ w - y))
        w.assign_sub(rate * tape.gradient(loss, w))
    return loss, w


def assigned_rate(steps):
    x, y = data()
    weights = layers(3, 4, 1)
    optimizer = tf.optimizers.SGD(0.1, momentum=0.9)
    for step in range(steps):
        optimizer.learning_rate = 0.1 * 0.9**step
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(dense(weights, x) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss, numbers(weights)


def accumulation(steps):
    x, y = data()
    weights = layers(3, 4, 1)
    optimizer = tf.optimizers.Adam(0.01)
    sums = [tf.Variable(tf.zeros_like(w), trainable=False) for w in weights]
    for step in range(steps):
        rows = slice(8 * (step % 2), 8 * (step % 2) + 8)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(dense(weights, x[rows]) - y[rows]))
        for total, g in zip(sums, tape.gradient(loss, weights)):
            total.assign_add(g / 2)
        if step % 2:
            optimizer.apply_gradients(zip(sums, weights))
            for total in sums:
                total.assign(tf.zeros_like(total))
    return loss, numbers(weights)


def minibatches(steps):
    x, y = data(20)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)  # the last has 4 rows
    weights = layers(3, 4, 1)
    optimizer = tf.optimizers.Adam(0.01)
    for _ in range(steps // 3):
        for inputs, labels in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(dense(weights, inputs) - labels))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss, numbers(weights)


def slices(steps):
    x, y = data(36)
    weights = layers(3, 4, 1)
    for step in range(steps):
        i = 8 * (step % 5)  # the last has 4 rows
        inputs, labels = x[i : i + 8], y[i : i + 8]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(dense(weights, inputs) - labels))
        for v, g in zip(weights, tape.gradient(loss, weights)):
            v.assign_sub(0.1 * g)
    return loss, numbers(weights)


def rows(steps):
    x, y = data(20)
    weights, order = layers(3, 4, 1), rng(8).permutation(20).tolist()
    optimizer = tf.optimizers.Adam(0.01)
    for step in range(steps):
        i = order[step % 20]
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(dense(weights, x[i][None]) - y[i]))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss, numbers(weights)


def classifier(steps):
    x, _ = data(12)
    labels = tf.constant(rng(4).integers(0, 3, 12))
    weights = layers(3, 8, 3)
    optimizer = tf.optimizers.Adam(tf.optimizers.schedules.ExponentialDecay(0.05, 5, 0.9))
    accuracies = []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            logits = dense(weights, x)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        accuracies.append(float(tf.reduce_mean(tf.cast(tf.argmax(logits, 1) == labels, "float32"))))
    return loss, accuracies, numbers(weights)


def persistent(steps):
    a, b = tf.Variable(1.0), tf.Variable([2.0, 3.0])
    for _ in range(steps):
        with tf.GradientTape(persistent=True) as tape:
            y = a * tf.reduce_sum(b * b)
            z = tf.sin(y)
        a.assign_sub(0.01 * tape.gradient(z, a))
        b.assign_sub(0.01 * tape.gradient(y, b))
        del tape
    return y, z, a, b


def dropout(steps):
    x, y = data()
    tf.random.set_seed(7)
    weights = layers(3, 8, 1)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            hidden = tf.nn.dropout(tf.tanh(x @ weights[0] + weights[1]), 0.3)
            loss = tf.reduce_mean(tf.square(hidden @ weights[2] + weights[3] - y))
        for v, g in zip(weights, tape.gradient(loss, weights)):
            v.assign_sub(0.1 * g)
    return loss, numbers(weights)


def embedding(steps):
    random = rng(5)
    table, weights = tf.Variable(random.normal(size=(20, 4)).astype("float32")), layers(4, 1)
    optimizer = tf.optimizers.Adam(0.05)
    losses = []
    for _ in range(steps):
        words, y = random.integers(0, 20, (6, 3)), random.normal(size=(6, 1)).astype("float32")
        with tf.GradientTape() as tape:
            mean = tf.reduce_mean(tf.nn.embedding_lookup(table, words), 1)
            loss = tf.reduce_mean(tf.square(dense(weights, mean) - y))
        gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, [table, *weights]), 0.5)
        optimizer.apply_gradients(zip(gradients, [table, *weights]))
        losses.append((float(loss), float(norm)))
    return losses, gradients[0].values, gradients[0].indices, table, numbers(weights)


LOOPS = [
    regression, mlp, gan, wgan, maml, pinn, rnn, newton, looks_each_step, prints_every_hundredth, early_stopping,
    computed_rate, assigned_rate, accumulation, minibatches, slices, rows, classifier, persistent, dropout, embedding,
]  # fmt: skip
OPTIMIZERS = ["SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "Nadam", "RMSprop", "Ftrl", "Lion"]
