"""Factorizations, solves and what is computed from them."""

import numpy as np

from .draws import normal


def _symmetric(seed, n):
    a = normal(seed, n, n).astype("float64")
    return a @ a.T + n * 0.5 * np.eye(n)


def log_determinant_of_a_covariance(tf, function):
    a = tf.constant(_symmetric(0, 3))

    @function
    def f(a):
        return 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(tf.linalg.cholesky(a))))

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(a)
        y = f(a)
        z = tf.linalg.logdet(a)
    return y, tape.gradient(y, a), tape.gradient(z, a)


def ridge_regression_by_solve(tf, function):
    x, y, penalty = tf.constant(normal(0, 6, 3)), tf.constant(normal(1, 6, 1)), tf.Variable(0.7)

    @function
    def weights():
        return tf.linalg.solve(tf.transpose(x) @ x + penalty * tf.eye(3), tf.transpose(x) @ y)

    with tf.GradientTape() as tape:
        w = weights()
    return w, tape.jacobian(w, penalty)


def least_squares(tf, function):
    a, b = tf.constant(normal(0, 5, 2)), tf.constant(normal(1, 5, 1))

    @function
    def f(a, b):
        return tf.linalg.lstsq(a, b, l2_regularizer=0.1)

    with tf.GradientTape() as tape:
        tape.watch([a, b])
        x = f(a, b)
    return x, tape.gradient(x, [a, b])


def eigenvalues_of_a_symmetric_matrix(tf, function):
    a = tf.constant(_symmetric(0, 4))

    @function
    def f(a):
        values, vectors = tf.linalg.eigh(a)
        return values, tf.square(vectors[:, -1])

    with tf.GradientTape() as tape:
        tape.watch(a)
        values, weights = f(a)
        y = values[-1] / values[0] + tf.reduce_sum(weights * tf.constant([1.0, 2.0, 3.0, 4.0], tf.float64))
    gradient = tape.gradient(y, a)
    return values, weights, (gradient + tf.transpose(gradient)) / 2.0


def nuclear_norm_by_svd(tf, function):
    a = tf.Variable(normal(0, 4, 3))

    @function
    def f():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.linalg.svd(a, compute_uv=False))
        return y, tape.gradient(y, a)

    return f()


def power_iteration(tf, function):
    a = tf.constant(_symmetric(1, 3).astype("float32"))

    @function
    def f(a):
        v = tf.ones((3, 1))
        for _ in tf.range(8):
            v = a @ v
            v = v / tf.norm(v)
        return tf.squeeze(tf.transpose(v) @ a @ v)

    with tf.GradientTape() as tape:
        tape.watch(a)
        y = f(a)
    return y, tape.gradient(y, a)


def whitening_by_triangular_solve(tf, function):
    x = tf.constant(normal(0, 6, 3))

    @function
    def whiten(x):
        centered = x - tf.reduce_mean(x, axis=0)
        covariance = tf.matmul(centered, centered, transpose_a=True) / 6.0 + 0.1 * tf.eye(3)
        return tf.linalg.triangular_solve(tf.linalg.cholesky(covariance), tf.transpose(centered))

    with tf.GradientTape() as tape:
        tape.watch(x)
        z = whiten(x)
        loss = tf.reduce_sum(z**3)
    return z, tape.gradient(loss, x)


def matrix_exponential_of_a_rotation(tf, function):
    angle = tf.Variable(0.6)

    @function
    def rotation():
        generator = tf.stack([tf.stack([0.0 * angle, -angle]), tf.stack([angle, 0.0 * angle])])
        return tf.linalg.expm(generator)

    with tf.GradientTape() as tape:
        r = rotation()
        y = r[0, 0] + 2.0 * r[1, 0]
    return r, tape.gradient(y, angle)


def batched_inverse_and_determinant(tf, function):
    a = tf.constant(normal(0, 2, 3, 3) + 2.0 * np.eye(3, dtype="float32"))

    @function
    def f(a):
        return tf.linalg.inv(a), tf.linalg.det(a)

    with tf.GradientTape() as tape:
        tape.watch(a)
        inverse, det = f(a)
        loss = tf.reduce_sum(inverse) + tf.reduce_sum(det)
    return inverse, det, tape.gradient(loss, a)


def conjugate_gradient(tf, function):
    a, b = tf.constant(_symmetric(2, 3).astype("float32")), tf.constant(normal(3, 3))

    @function
    def solve(a, b):
        x = tf.zeros_like(b)
        r = b
        p = r
        for _ in tf.range(3):
            ap = tf.linalg.matvec(a, p)
            rr = tf.reduce_sum(r * r)
            alpha = rr / tf.reduce_sum(p * ap)
            x = x + alpha * p
            r = r - alpha * ap
            p = r + tf.reduce_sum(r * r) / rr * p
        return x

    with tf.GradientTape() as tape:
        tape.watch(b)
        x = solve(a, b)
        loss = tf.reduce_sum(x**2)
    return x, tape.gradient(loss, b)


def gram_schmidt(tf, function):
    a = tf.constant(normal(0, 3, 3))

    @function
    def orthogonal(a):
        basis = []
        for v in tf.unstack(a, axis=1):
            for q in basis:
                v = v - tf.reduce_sum(v * q) * q
            basis.append(v / tf.norm(v))
        return tf.stack(basis, axis=1)

    with tf.GradientTape() as tape:
        tape.watch(a)
        q = orthogonal(a)
        loss = tf.reduce_sum(q * tf.constant(normal(1, 3, 3)))
    return q, tape.gradient(loss, a)


def einsum_of_three(tf, function):
    a, b, c = tf.constant(normal(0, 2, 3)), tf.constant(normal(1, 3, 4)), tf.constant(normal(2, 4, 2))

    @function
    def f(a, b, c):
        return tf.einsum("ij,jk,kl->il", a, b, c), tf.einsum("ij,jk,ki->", a, b, c)

    with tf.GradientTape() as tape:
        tape.watch([a, b, c])
        y, trace = f(a, b, c)
    return y, trace, tape.gradient([y, trace], [a, b, c])
