"""Invertible networks and their densities."""

import numpy as np

from .draws import normal


def real_nvp(tf, function):
    scale, shift = tf.Variable(0.3 * normal(0, 1, 1)), tf.Variable(0.3 * normal(1, 1, 1))
    x = tf.constant(normal(2, 6, 2))

    @function
    def step():
        with tf.GradientTape() as tape:
            log_det, z = 0.0, x
            for flip in (False, True):
                a, b = tf.split(z, 2, axis=1)
                if flip:
                    a, b = b, a
                s = tf.tanh(a @ scale)
                b = b * tf.exp(s) + a @ shift
                log_det += tf.reduce_sum(s, axis=1)
                z = tf.concat([b, a] if flip else [a, b], axis=1)
            loss = tf.reduce_mean(0.5 * tf.reduce_sum(z**2, axis=1) - log_det)
        for v, g in zip((scale, shift), tape.gradient(loss, (scale, shift))):
            v.assign_sub(0.2 * g)
        return loss

    return [step() for _ in range(4)], scale, shift


def planar_flow(tf, function):
    u, w, b = tf.Variable(normal(0, 2)), tf.Variable(normal(1, 2)), tf.Variable(0.1)
    z = tf.constant(normal(2, 4, 2))

    @function
    def forward(z):
        inner = tf.tensordot(w, u, 1)
        u_hat = u + (tf.nn.softplus(inner) - 1.0 - inner) * w / tf.reduce_sum(w**2)
        h = tf.tanh(tf.linalg.matvec(z, w) + b)
        psi = (1.0 - h**2)[:, None] * w
        return z + u_hat * h[:, None], tf.math.log(tf.abs(1.0 + tf.linalg.matvec(psi, u_hat)))

    with tf.GradientTape() as tape:
        y, log_det = forward(z)
        loss = tf.reduce_mean(tf.reduce_sum(y**2, axis=1) - log_det)
    return y, log_det, tape.gradient(loss, [u, w, b])


def inverse_autoregressive(tf, function):
    w = tf.Variable(normal(0, 3, 3))

    @function
    def log_prob(x):
        masked = tf.linalg.band_part(w, -1, 0) - tf.linalg.diag(tf.linalg.diag_part(w))
        mean = tf.matmul(x, masked, transpose_b=True)
        log_std = 0.1 * tf.sin(mean)
        z = (x - mean) * tf.exp(-log_std)
        return -0.5 * tf.reduce_sum(z**2, axis=1) - tf.reduce_sum(log_std, axis=1)

    with tf.GradientTape() as tape:
        y = log_prob(tf.constant(normal(1, 4, 3)))
    return y, tape.gradient(y, w)


def inverted_by_a_loop(tf, function):
    slope = tf.Variable(0.4)

    @function
    def inverse(y):
        x = y
        for _ in tf.range(12):
            x = y - slope * tf.sin(x)
        return x

    y = tf.constant([0.5, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(y)
        x = inverse(y)
    return x, tape.gradient(x, [slope, y])


def rational_quadratic_spline(tf, function):
    heights = tf.Variable([0.2, 0.5, 0.3])

    @function
    def spline(x):
        knots = tf.concat([[0.0], tf.cumsum(tf.nn.softmax(heights))], axis=0)
        edges = tf.linspace(0.0, 1.0, 4)
        k = tf.clip_by_value(tf.searchsorted(edges, x, side="right") - 1, 0, 2)
        low, high = tf.gather(knots, k), tf.gather(knots, k + 1)
        fraction = (x - tf.gather(edges, k)) * 3.0
        return low + (high - low) * fraction, tf.math.log((high - low) * 3.0)

    x = tf.constant([0.1, 0.4, 0.5, 0.95])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, log_det = spline(x)
        loss = tf.reduce_sum(y**2) - tf.reduce_sum(log_det)
    return y, log_det, tape.gradient(loss, [heights, x])


def continuous_flow_with_the_trace(tf, function):
    w = tf.Variable(0.5 * normal(0, 2, 2))

    @function
    def flow(z):
        log_p = -0.5 * tf.reduce_sum(z**2, axis=1) - np.float32(np.log(2 * np.pi))
        for _ in range(3):
            with tf.GradientTape() as tape:
                tape.watch(z)
                f = tf.tanh(z @ w)
            log_p -= 0.1 * tf.linalg.trace(tape.batch_jacobian(f, z))
            z = z + 0.1 * f
        return z, log_p

    with tf.GradientTape() as tape:
        z, log_p = flow(tf.constant(normal(1, 3, 2)))
        loss = -tf.reduce_mean(log_p)
    return z, log_p, tape.gradient(loss, w)
