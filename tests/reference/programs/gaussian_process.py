"""Kernels, marginal likelihoods, predictions."""

import numpy as np

from .draws import normal


def _kernel(tf, a, b, log_length, log_amplitude):
    squared = tf.reduce_sum((a[:, None] - b[None]) ** 2, axis=-1)
    return tf.exp(2.0 * log_amplitude - 0.5 * squared * tf.exp(-2.0 * log_length))


def marginal_likelihood(tf, function):
    x, y = tf.constant(np.linspace(-1, 1, 6)[:, None]), tf.constant(np.sin(3 * np.linspace(-1, 1, 6)))
    p = [tf.Variable(v, dtype=tf.float64) for v in (-0.5, 0.0, -2.0)]

    @function
    def step():
        with tf.GradientTape() as tape:
            k = _kernel(tf, x, x, p[0], p[1]) + tf.exp(2.0 * p[2]) * tf.eye(6, dtype=tf.float64)
            chol = tf.linalg.cholesky(k)
            alpha = tf.linalg.cholesky_solve(chol, y[:, None])
            loss = 0.5 * tf.reduce_sum(y[:, None] * alpha) + tf.reduce_sum(
                tf.math.log(tf.linalg.diag_part(chol))
            )
        gradients = tape.gradient(loss, p)
        for v, g in zip(p, gradients):
            v.assign_sub(0.02 * g)
        return loss, gradients

    return [step() for _ in range(3)], p


def prediction_and_its_slope(tf, function):
    x, y = tf.constant(normal(0, 5, 1)), tf.constant(normal(1, 5, 1))

    @function
    def mean(points):
        k = _kernel(tf, x, x, 0.0, 0.0) + 0.1 * tf.eye(5)
        return tf.reduce_sum(_kernel(tf, points, x, 0.0, 0.0) @ tf.linalg.solve(k, y), axis=1)

    points = tf.constant([[0.0], [0.7]])
    with tf.GradientTape() as tape:
        tape.watch(points)
        m = mean(points)
    return m, tape.gradient(m, points)


def expected_improvement(tf, function):
    x, y = tf.constant(normal(0, 4, 1)), tf.constant(normal(1, 4, 1))
    point = tf.Variable([[0.2]])

    @function
    def step():
        with tf.GradientTape() as tape:
            inverse = tf.linalg.inv(_kernel(tf, x, x, 0.0, 0.0) + 0.1 * tf.eye(4))
            ks = _kernel(tf, point, x, 0.0, 0.0)
            mean = tf.squeeze(ks @ inverse @ y)
            std = tf.sqrt(1.0 - tf.squeeze(ks @ inverse @ tf.transpose(ks)))
            z = (mean - tf.reduce_max(y)) / std
            cdf, pdf = (
                0.5 * (1.0 + tf.math.erf(z / np.sqrt(2.0).astype("float32"))),
                tf.exp(-0.5 * z**2) / 2.5066283,
            )
            improvement = std * (z * cdf + pdf)
        point.assign_add(0.5 * tape.gradient(improvement, point))
        return improvement

    return [step() for _ in range(3)], point


def random_fourier_features(tf, function):
    log_length = tf.Variable(0.1)
    frequencies, phases = tf.constant(normal(0, 1, 8)), tf.constant(normal(1, 8))
    x = tf.constant(normal(2, 4, 1))

    @function
    def gram():
        features = tf.cos(x @ frequencies * tf.exp(-log_length) + phases) * 0.5
        return tf.matmul(features, features, transpose_b=True)

    with tf.GradientTape() as tape:
        k = gram()
        loss = tf.linalg.logdet(k + tf.eye(4))
    return k, tape.gradient(loss, log_length)


def sparse_inducing_points(tf, function):
    x, y = tf.constant(np.linspace(0, 1, 6)[:, None]), tf.constant(np.cos(4 * np.linspace(0, 1, 6))[:, None])
    inducing = tf.Variable(np.array([[0.2], [0.8]]))

    @function
    def bound():
        kuu = _kernel(tf, inducing, inducing, np.float64(-1), np.float64(0)) + 1e-4 * tf.eye(
            2, dtype=tf.float64
        )
        kuf = _kernel(tf, inducing, x, np.float64(-1), np.float64(0))
        a = tf.linalg.triangular_solve(tf.linalg.cholesky(kuu), kuf)
        q = tf.matmul(a, a, transpose_a=True)
        noisy = q + 0.05 * tf.eye(6, dtype=tf.float64)
        fit = tf.linalg.logdet(noisy) + tf.squeeze(tf.matmul(y, tf.linalg.solve(noisy, y), transpose_a=True))
        return 0.5 * fit + 0.5 / 0.05 * (6.0 - tf.linalg.trace(q))

    with tf.GradientTape() as tape:
        y_ = bound()
    return y_, tape.gradient(y_, inducing)
