"""Gradients as targets: boosting, and trees made soft."""

import numpy as np

from .draws import normal


def gradient_boosted_stumps(tf, function):
    x, y = normal(0, 10), normal(1, 10)

    @function
    def residuals(prediction):
        with tf.GradientTape() as tape:
            tape.watch(prediction)
            loss = tf.reduce_sum(tf.losses.huber(y[:, None], prediction[:, None], delta=0.5))
        return loss, -tape.gradient(loss, prediction)

    prediction, ensemble, losses = tf.zeros(10), [], []
    for _ in range(3):
        loss, r = residuals(prediction)
        r = r.numpy()
        splits = [
            (((r - np.where(x < s, r[x < s].mean(), r[x >= s].mean())) ** 2).sum(), s) for s in np.sort(x)[1:]
        ]
        s = min(splits)[1]
        stump = {"split": float(s), "left": float(r[x < s].mean()), "right": float(r[x >= s].mean())}
        ensemble.append(stump)
        losses.append(loss)
        prediction = prediction + 0.5 * np.where(x < s, stump["left"], stump["right"]).astype("float32")
    return losses, ensemble, prediction


def newton_boosting(tf, function):
    y = tf.constant([1.0, 0, 1, 1, 0])

    @function
    def gradient_and_hessian(margin):
        with tf.GradientTape() as outer:
            outer.watch(margin)
            with tf.GradientTape() as inner:
                inner.watch(margin)
                loss = tf.nn.sigmoid_cross_entropy_with_logits(y, margin)
            g = inner.gradient(loss, margin)
        return g, outer.gradient(g, margin)

    margin = tf.zeros(5)
    groups = tf.constant([0, 0, 1, 1, 1])
    for _ in range(3):
        g, h = gradient_and_hessian(margin)
        leaf = -tf.math.segment_sum(g, groups) / (tf.math.segment_sum(h, groups) + 1.0)
        margin += 0.5 * tf.gather(leaf, groups)
    return margin, g, h


def soft_decision_tree(tf, function):
    splits, leaves = tf.Variable(normal(0, 2, 3)), tf.Variable(normal(1, 4))
    x, y = tf.constant(normal(2, 6, 2)), tf.constant(normal(3, 6))

    @function
    def step():
        with tf.GradientTape() as tape:
            right = tf.sigmoid(x @ splits)
            paths = []
            for leaf in range(4):
                first, second = leaf // 2, leaf % 2
                a = right[:, 0] if first else 1.0 - right[:, 0]
                b = right[:, 1 + first] if second else 1.0 - right[:, 1 + first]
                paths.append(a * b)
            loss = tf.reduce_mean((tf.linalg.matvec(tf.stack(paths, 1), leaves) - y) ** 2)
        for v, g in zip((splits, leaves), tape.gradient(loss, (splits, leaves))):
            v.assign_sub(0.5 * g)
        return loss

    return [step() for _ in range(3)], leaves


def adaboost_weights(tf, function):
    scores, labels = tf.constant(np.sign(normal(0, 3, 6))), tf.constant(np.sign(normal(1, 6)))
    alphas = tf.Variable(tf.zeros(3))

    @function
    def exponential_loss():
        return tf.reduce_mean(tf.exp(-labels * tf.linalg.matvec(scores, alphas, transpose_a=True)))

    history = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = exponential_loss()
        g = tape.gradient(loss, alphas)
        k = int(tf.argmax(tf.abs(g)))
        alphas[k].assign(alphas[k] - g[k])
        history.append([loss, k])
    return history, alphas


def stacked_ensemble(tf, function):
    members = [tf.Variable(normal(i, 3)) for i in range(3)]
    mix = tf.Variable(tf.zeros(3))
    x, y = tf.constant(normal(5, 8, 3)), tf.constant(normal(6, 8))

    @function
    def gradients():
        with tf.GradientTape() as tape:
            predictions = tf.stack([tf.linalg.matvec(x, m) for m in members], axis=1)
            loss = tf.reduce_mean((tf.linalg.matvec(predictions, tf.nn.softmax(mix)) - y) ** 2)
            diversity = tf.reduce_mean(tf.math.reduce_variance(predictions, axis=1))
            total = loss - 0.01 * diversity
        return total, tape.gradient(total, {"members": members, "mix": mix})

    return gradients()
