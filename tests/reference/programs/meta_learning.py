"""Learning to learn: gradients through steps of gradient descent."""

import numpy as np

from .draws import normal


def _tasks(tf, count):
    amplitudes, phases = 1.0 + abs(normal(0, count)), normal(1, count)
    x = np.linspace(-2, 2, 6, dtype="float32")[:, None]
    return [
        (tf.constant(x), tf.constant((a * np.sin(x + p)).astype("float32")))
        for a, p in zip(amplitudes, phases)
    ]


def _predict(tf, weights, x):
    return tf.tanh(x @ weights[0] + weights[1]) @ weights[2]


def maml(tf, function):
    weights = [tf.Variable(normal(2, 1, 4)), tf.Variable(tf.zeros(4)), tf.Variable(0.5 * normal(3, 4, 1))]
    tasks = _tasks(tf, 2)

    @function
    def meta_gradient():
        with tf.GradientTape() as outer:
            total = 0.0
            for x, y in tasks:
                with tf.GradientTape() as inner:
                    loss = tf.reduce_mean(tf.square(_predict(tf, weights, x) - y))
                gradients = inner.gradient(loss, weights)
                adapted = [w - 0.1 * g for w, g in zip(weights, gradients)]
                total += tf.reduce_mean(tf.square(_predict(tf, adapted, x) - y))
        return total, outer.gradient(total, weights)

    return meta_gradient()


def maml_two_inner_steps(tf, function):
    w = tf.Variable([0.5, -0.5])
    x, y = tf.constant(normal(0, 5, 2)), tf.constant(normal(1, 5))

    @function
    def meta_gradient(rate):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(rate)
            fast = tf.identity(w)
            for _ in range(2):
                with tf.GradientTape() as inner:
                    inner.watch(fast)
                    loss = tf.reduce_mean(tf.square(tf.linalg.matvec(x, fast) - y)) + tf.reduce_sum(fast**4)
                fast = fast - rate * inner.gradient(loss, fast)
            loss = tf.reduce_mean(tf.abs(tf.linalg.matvec(x, fast) - y))
        return loss, outer.gradient(loss, w), outer.gradient(loss, rate)

    return meta_gradient(tf.constant(0.05))


def first_order_maml(tf, function):
    weights = [tf.Variable(normal(2, 1, 3)), tf.Variable(tf.zeros(3)), tf.Variable(normal(3, 3, 1))]
    ((x, y),) = _tasks(tf, 1)

    @function
    def meta_gradient():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean(tf.square(_predict(tf, weights, x) - y))
            gradients = [tf.stop_gradient(g) for g in inner.gradient(loss, weights)]
            adapted = [w - 0.1 * g for w, g in zip(weights, gradients)]
            loss = tf.reduce_mean(tf.square(_predict(tf, adapted, x) - y))
        return outer.gradient(loss, weights)

    return meta_gradient()


def reptile(tf, function):
    weights = [tf.Variable(normal(2, 1, 3)), tf.Variable(tf.zeros(3)), tf.Variable(normal(3, 3, 1))]

    @function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(_predict(tf, weights, x) - y))
        for w, g in zip(weights, tape.gradient(loss, weights)):
            w.assign_sub(0.1 * g)
        return loss

    losses = []
    for x, y in _tasks(tf, 2):
        before = [w.numpy() for w in weights]
        losses.append([step(x, y) for _ in range(3)])
        for w, old in zip(weights, before):
            w.assign(old + 0.5 * (w - old))
    return losses, weights


def learned_learning_rates(tf, function):
    w, rates = tf.Variable([1.0, -2.0]), tf.Variable([0.1, 0.2])

    @function
    def step():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_sum(tf.cosh(w))
            adapted = w - rates * inner.gradient(loss, w)
            after = tf.reduce_sum(tf.cosh(adapted))
        dw, dr = outer.gradient(after, [w, rates])
        w.assign_sub(0.1 * dw)
        rates.assign_sub(0.01 * dr)
        return after

    return [step() for _ in range(3)], w, rates


def hyperparameter_gradient(tf, function):
    x, y = tf.constant(normal(0, 6, 3)), tf.constant(normal(1, 6, 1))
    xv, yv = tf.constant(normal(2, 6, 3)), tf.constant(normal(3, 6, 1))

    @function
    def validation(log_penalty):
        gram = tf.matmul(x, x, transpose_a=True) + tf.exp(log_penalty) * tf.eye(3)
        w = tf.linalg.solve(gram, tf.matmul(x, y, transpose_a=True))
        return tf.reduce_mean(tf.square(xv @ w - yv))

    log_penalty = tf.Variable(0.5)
    path = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = validation(log_penalty)
        gradient = tape.gradient(loss, log_penalty)
        log_penalty.assign_sub(gradient)
        path.append([loss, gradient])
    return path, log_penalty


def unrolled_momentum(tf, function):
    decay = tf.Variable(0.8)

    @function
    def final(x):
        velocity = tf.zeros_like(x)
        for _ in range(4):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(x**2 + tf.sin(3.0 * x))
            velocity = decay * velocity - 0.05 * tape.gradient(y, x)
            x = x + velocity
        return tf.reduce_sum(x**2)

    with tf.GradientTape() as tape:
        y = final(tf.constant([1.0, -1.5]))
    return y, tape.gradient(y, decay)


def prototypical_episode(tf, function):
    w = tf.Variable(normal(0, 4, 2))
    support, queries = tf.constant(normal(1, 3, 2, 4)), tf.constant(normal(2, 5, 4))
    labels = tf.constant([0, 1, 2, 2, 0])

    @function
    def episode():
        with tf.GradientTape() as tape:
            prototypes = tf.reduce_mean(tf.tensordot(support, w, 1), axis=1)
            embedded = queries @ w
            distances = tf.reduce_sum((embedded[:, None] - prototypes[None]) ** 2, axis=-1)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, -distances))
        accuracy = tf.reduce_mean(
            tf.cast(tf.argmin(distances, axis=1, output_type=tf.int32) == labels, tf.float32)
        )
        return loss, accuracy, tape.gradient(loss, w)

    return episode()
