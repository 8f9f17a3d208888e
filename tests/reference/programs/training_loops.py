"""Training loops by hand, as the guides to custom training have them."""

import numpy as np

from .draws import integers, normal


def linear_regression(tf, function):
    x, noise = tf.constant(normal(0, 20)), tf.constant(normal(1, 20))
    y = 3.0 * x + 2.0 + noise
    w, b = tf.Variable(5.0), tf.Variable(0.0)

    @function
    def train(learning_rate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(w * x + b - y))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(learning_rate * dw)
        b.assign_sub(learning_rate * db)
        return loss

    losses = [train(tf.constant(0.1)) for _ in range(10)]
    return {"losses": losses, "w": w, "b": b}


def mlp_classifier(tf, function):
    x, labels = tf.constant(normal(0, 16, 4)), tf.constant(integers(1, 3, 16))
    weights = [
        tf.Variable(0.5 * normal(2, 4, 5)),
        tf.Variable(tf.zeros(5)),
        tf.Variable(0.5 * normal(3, 5, 3)),
    ]
    optimizer = tf.optimizers.SGD(0.3, momentum=0.9)

    @function
    def step(x, labels):
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(x @ weights[0] + weights[1]) @ weights[2]
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            )
        gradients = tape.gradient(loss, weights)
        optimizer.apply_gradients(zip(gradients, weights))
        return loss, tf.linalg.global_norm(gradients)

    history = [step(x, labels) for _ in range(6)]
    return {"history": history, "weights": weights}


def logistic_regression_with_weight_decay(tf, function):
    x, y = tf.constant(normal(0, 12, 3)), tf.constant(integers(1, 2, 12), tf.float32)
    w = tf.Variable(tf.zeros(3), name="w")

    @function
    def objective():
        logits = tf.linalg.matvec(x, w)
        return tf.reduce_sum(
            tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
        ) + 0.5 * tf.nn.l2_loss(w)

    for _ in range(8):
        with tf.GradientTape() as tape:
            loss = objective()
        w.assign_sub(0.05 * tape.gradient(loss, w))
    return loss, w


def minibatches_in_python(tf, function):
    x, y = normal(0, 12, 2), normal(1, 12, 1)
    model = {"w": tf.Variable([[0.1], [0.2]]), "b": tf.Variable([0.0])}
    seen = {"batches": 0, "losses": []}

    @function
    def loss_and_gradients(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ model["w"] + model["b"] - y) ** 2)
        return loss, tape.gradient(loss, model)

    for _ in range(2):
        for start in range(0, 12, 4):
            loss, gradients = loss_and_gradients(
                tf.constant(x[start : start + 4]), tf.constant(y[start : start + 4])
            )
            for name, variable in model.items():
                variable.assign_sub(0.1 * gradients[name])
            seen["batches"] += 1
            seen["losses"].append(float(loss))
    return seen, model


def last_batch_is_smaller(tf, function):
    x = normal(0, 7, 2)
    w = tf.Variable(normal(1, 2, 2))
    losses = []

    @function
    def step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(batch @ w - batch))
        w.assign_sub(0.2 * tape.gradient(loss, w))
        return loss

    for start in range(0, 7, 3):
        losses.append(step(tf.constant(x[start : start + 3])))
    return losses, w


def many_steps_in_one_call(tf, function):
    x, y = tf.constant(normal(0, 10, 3)), tf.constant(normal(1, 10))
    w = tf.Variable(tf.zeros(3))

    @function
    def train(steps):
        loss = tf.constant(0.0)
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.linalg.matvec(x, w) - y))
            w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return train(tf.constant(5)), train(tf.constant(3)), w


def gradient_accumulation(tf, function):
    x, y = tf.constant(normal(0, 8, 2)), tf.constant(normal(1, 8))
    w, b = tf.Variable([0.3, -0.2]), tf.Variable(0.1)
    sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in (w, b)]

    @function
    def accumulate(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.linalg.matvec(x, w) + b - y))
        for total, gradient in zip(sums, tape.gradient(loss, [w, b])):
            total.assign_add(gradient)

    @function
    def apply(count):
        for total, v in zip(sums, (w, b)):
            v.assign_sub(0.1 * total / count)
            total.assign(tf.zeros_like(total))

    for start in (0, 2, 4, 6):
        accumulate(x[start : start + 2], y[start : start + 2])
    before = [s.numpy() for s in sums]
    apply(tf.constant(8.0))
    return before, w, b, sums


def clipped_gradients(tf, function):
    x, y = tf.constant(10 * normal(0, 6, 2)), tf.constant(normal(1, 6))
    w, b = tf.Variable([1.0, -1.0]), tf.Variable(0.0)

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.linalg.matvec(x, w) + b - y))
        gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, [w, b]), 1.0)
        for v, g in zip([w, b], gradients):
            v.assign_sub(0.1 * g)
        return loss, norm

    return [step() for _ in range(4)], w, b


def early_stopping(tf, function):
    w = tf.Variable(4.0)
    best, wait, history, last = float("inf"), 0, [], None

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.abs(w) + 0.1 * w * w
        w.assign_sub(0.9 * tape.gradient(loss, w))
        return loss

    for epoch in range(20):
        loss = float(step())
        history.append(loss)
        last = epoch
        if loss < best - 1e-3:
            best, wait = loss, 0
        else:
            wait += 1
            if wait == 2:
                break
    return {"epoch": last, "best": best, "history": history, "w": w}


def train_and_evaluate(tf, function):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(normal(2, 3, 2) * 0.1)
            self.b = tf.Variable(tf.zeros(2))
            self.calls = 0

        @function
        def __call__(self, x, training):
            h = x @ self.w + self.b
            return 0.5 * h if training else h

    model = Model()
    x, y = tf.constant(normal(0, 9, 3)), tf.constant(normal(1, 9, 2))
    losses = []
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients):
            variable.assign_sub(0.5 * gradient)
        losses.append(loss)
    return (
        losses,
        tf.reduce_mean(tf.square(model(x, training=False) - y)),
        [v.shape.as_list() for v in model.variables],
    )


def learning_rate_as_a_variable(tf, function):
    w, rate = tf.Variable([2.0, -3.0]), tf.Variable(0.5, trainable=False)

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w**4) / 4
        watched = len(tape.watched_variables())
        w.assign_sub(rate * tape.gradient(loss, w) / 10)
        return loss, watched

    results = []
    for _ in range(4):
        results.append(step()[0])
        rate.assign(rate * 0.5)
    return results, w, rate


def exponential_moving_average(tf, function):
    w = tf.Variable(normal(0, 3))
    average = tf.Variable(w, trainable=False)

    @function
    def step(target):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(w - target))
        w.assign_sub(0.25 * tape.gradient(loss, w))
        average.assign(0.9 * average + 0.1 * w)
        return loss

    losses = [step(tf.constant([1.0, 0.0, float(i)])) for i in range(5)]
    return losses, w, average


def two_optimizers(tf, function):
    slow, fast = tf.Variable(normal(0, 2, 2)), tf.Variable(normal(1, 2))
    x, y = tf.constant(normal(2, 5, 2)), tf.constant(normal(3, 5))
    first, second = tf.optimizers.Adam(0.01), tf.optimizers.SGD(0.1)

    @function
    def step():
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean(tf.square(tf.linalg.matvec(tf.tanh(x @ slow), fast) - y))
        first.apply_gradients([(tape.gradient(loss, slow), slow)])
        second.apply_gradients([(tape.gradient(loss, fast), fast)])
        del tape
        return loss

    return [step() for _ in range(4)], slow, fast


def frozen_layer(tf, function):
    frozen = tf.Variable(normal(0, 3, 3), trainable=False)
    head = tf.Variable(normal(1, 3, 1))
    x = tf.constant(normal(2, 4, 3))

    @function
    def gradients():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.sin(x @ frozen) @ head))
        return tape.gradient(loss, [frozen, head])

    by_frozen, by_head = gradients()
    return {"frozen": by_frozen, "head": by_head}


def label_smoothing_and_sample_weights(tf, function):
    logits = tf.Variable(normal(0, 5, 4))
    labels = tf.one_hot(integers(1, 4, 5), 4)
    weights = tf.constant([1.0, 0.0, 2.0, 0.5, 1.5])

    @function
    def gradient(smoothing):
        with tf.GradientTape() as tape:
            smooth = labels * (1.0 - smoothing) + smoothing / 4.0
            loss = tf.nn.softmax_cross_entropy_with_logits(smooth, logits)
            loss = tf.reduce_sum(loss * weights) / tf.reduce_sum(weights)
        return loss, tape.gradient(loss, logits)

    return gradient(tf.constant(0.0)), gradient(tf.constant(0.2))


def curriculum_with_a_python_flag(tf, function):
    w = tf.Variable([1.0, 2.0, 3.0])
    config = {"hard": False, "epochs": []}

    @function
    def step(hard):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(w))
            if hard:
                loss += tf.reduce_sum(tf.abs(w))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    for epoch in range(4):
        config["hard"] = epoch >= 2
        config["epochs"].append((epoch, config["hard"], float(step(config["hard"]))))
    return config["epochs"], w


def data_as_numpy(tf, function):
    x = np.linspace(-1, 1, 9)[:, None].astype(np.float32)
    y = np.sin(3 * x)
    w1, w2 = tf.Variable(normal(0, 1, 4)), tf.Variable(normal(1, 4, 1))

    @function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(x @ w1) @ w2 - y) ** 2)
        for v, g in zip((w1, w2), tape.gradient(loss, (w1, w2))):
            v.assign_sub(0.2 * g)
        return loss

    return [float(step(x, y)) for _ in range(5)], w1.numpy(), w2.numpy()
