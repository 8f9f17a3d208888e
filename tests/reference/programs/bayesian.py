"""Densities, samplers and variational inference."""

import numpy as np

from .draws import normal


def bayes_by_backprop(tf, function):
    mu, rho = tf.Variable(tf.zeros(2)), tf.Variable(-tf.ones(2))
    x, y = tf.constant(normal(0, 6, 2)), tf.constant(normal(1, 6))

    @function
    def step(eps):
        with tf.GradientTape() as tape:
            sigma = tf.nn.softplus(rho)
            w = mu + sigma * eps
            log_q = tf.reduce_sum(-tf.math.log(sigma) - 0.5 * ((w - mu) / sigma) ** 2)
            log_prior = -0.5 * tf.reduce_sum(w**2)
            log_likelihood = -0.5 * tf.reduce_sum((y - tf.linalg.matvec(x, w)) ** 2)
            loss = log_q - log_prior - log_likelihood
        for v, g in zip((mu, rho), tape.gradient(loss, (mu, rho))):
            v.assign_sub(0.05 * g)
        return loss

    return [step(tf.constant(normal(10 + i, 2))) for i in range(4)], mu, rho


def hamiltonian_monte_carlo(tf, function):
    def log_density(q):
        return -0.5 * tf.reduce_sum(q**2 * tf.constant([1.0, 4.0]))

    @function
    def propose(q, p):
        def slope(q):
            with tf.GradientTape() as tape:
                tape.watch(q)
                y = log_density(q)
            return tape.gradient(y, q)

        start = log_density(q) - 0.5 * tf.reduce_sum(p**2)
        p = p + 0.1 * slope(q)
        for _ in range(3):
            q = q + 0.2 * p
            p = p + 0.2 * slope(q)
        q = q + 0.2 * p
        p = p + 0.1 * slope(q)
        return q, tf.exp(tf.minimum(0.0, log_density(q) - 0.5 * tf.reduce_sum(p**2) - start))

    q, accepted, draws = tf.constant([1.0, -1.0]), 0, np.random.RandomState(0)
    for i in range(4):
        new, probability = propose(q, tf.constant(normal(i, 2)))
        if draws.rand() < float(probability):
            q, accepted = new, accepted + 1
    return q, accepted, probability


def langevin_dynamics(tf, function):
    x = tf.Variable([2.0, -2.0])

    @function
    def step(noise):
        with tf.GradientTape() as tape:
            energy = tf.reduce_sum((x**2 - 1.0) ** 2)
        x.assign_add(-0.02 * tape.gradient(energy, x) + 0.2 * noise)
        return energy

    return [step(tf.constant(normal(i, 2))) for i in range(5)], x


def laplace_approximation(tf, function):
    x, y = tf.constant(normal(0, 8, 2)), tf.constant([1.0, 0, 1, 1, 0, 0, 1, 0])
    w = tf.Variable([0.0, 0.0])

    @function
    def newton():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                logits = tf.linalg.matvec(x, w)
                loss = tf.reduce_sum(
                    tf.nn.sigmoid_cross_entropy_with_logits(y, logits)
                ) + 0.5 * tf.reduce_sum(w**2)
            gradient = inner.gradient(loss, w)
        hessian = outer.jacobian(gradient, w)
        w.assign_sub(tf.linalg.solve(hessian, gradient[:, None])[:, 0])
        return loss, hessian

    for _ in range(3):
        loss, hessian = newton()
    return loss, w, tf.linalg.inv(hessian)


def score_function_estimator(tf, function):
    logits = tf.Variable([0.1, 0.2, -0.3])
    samples, rewards = tf.constant([0, 2, 2, 1, 0]), tf.constant([1.0, -1.0, 0.5, 2.0, 0.0])

    @function
    def gradient():
        with tf.GradientTape() as tape:
            log_p = tf.gather(tf.nn.log_softmax(logits), samples)
            surrogate = tf.reduce_mean(log_p * tf.stop_gradient(rewards - tf.reduce_mean(rewards)))
        return tf.convert_to_tensor(tape.gradient(surrogate, logits))

    return gradient()


def mixture_of_gaussians(tf, function):
    data = tf.constant(np.concatenate([normal(0, 6) - 2, normal(1, 6) + 2]))
    p = {
        "logits": tf.Variable([0.0, 0.0]),
        "mean": tf.Variable([-1.0, 1.5]),
        "log_std": tf.Variable([0.0, 0.0]),
    }

    @function
    def step():
        with tf.GradientTape() as tape:
            z = (data[:, None] - p["mean"]) * tf.exp(-p["log_std"])
            log_p = tf.nn.log_softmax(p["logits"]) - p["log_std"] - 0.5 * z**2
            loss = -tf.reduce_mean(tf.reduce_logsumexp(log_p, axis=1))
        gradients = tape.gradient(loss, p)
        tf.nest.map_structure(lambda v, g: v.assign_sub(0.2 * g), p, gradients)
        return loss

    return [step() for _ in range(4)], p


def fisher_information(tf, function):
    theta = tf.Variable([0.5, -0.2])
    x = tf.constant(normal(0, 5, 2))

    @function
    def fisher():
        with tf.GradientTape() as tape:
            log_p = tf.math.log_sigmoid(tf.linalg.matvec(x, theta))
        scores = tape.jacobian(log_p, theta)
        return tf.matmul(scores, scores, transpose_a=True) / 5.0

    return fisher()


def special_functions_of_densities(tf, function):
    a, b = tf.Variable([1.5, 3.0], dtype=tf.float64), tf.Variable([2.0, 0.7], dtype=tf.float64)
    x = tf.constant([0.2, 0.6], tf.float64)

    @function
    def log_beta(x):
        normalizer = tf.math.lgamma(a) + tf.math.lgamma(b) - tf.math.lgamma(a + b)
        return (a - 1.0) * tf.math.log(x) + (b - 1.0) * tf.math.log1p(-x) - normalizer

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = log_beta(x)
    return y, tape.gradient(y, [a, b, x]), tf.math.erf(x), tf.math.igamma(a, x)
