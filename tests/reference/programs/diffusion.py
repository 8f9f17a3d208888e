"""Denoising diffusion and score matching."""

import numpy as np

from .draws import normal


def denoising_step(tf, function):
    w1, w2 = tf.Variable(0.5 * normal(0, 3, 6)), tf.Variable(0.5 * normal(1, 6, 2))
    betas = np.linspace(1e-3, 0.2, 8).astype("float32")
    alphas = tf.constant(np.cumprod(1 - betas))
    x0 = tf.constant(normal(2, 5, 2))
    optimizer = tf.optimizers.Adam(0.05)

    @function
    def step(t, noise):
        with tf.GradientTape() as tape:
            a = tf.gather(alphas, t)[:, None]
            xt = tf.sqrt(a) * x0 + tf.sqrt(1.0 - a) * noise
            predicted = tf.nn.silu(tf.concat([xt, tf.cast(t, tf.float32)[:, None] / 8.0], 1) @ w1) @ w2
            loss = tf.reduce_mean((predicted - noise) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w1, w2]), [w1, w2]))
        return loss

    return [step(tf.constant([0, 2, 4, 6, 7]), tf.constant(normal(3 + i, 5, 2))) for i in range(3)], w2


def ancestral_sampling(tf, function):
    betas = tf.linspace(0.01, 0.2, 5)
    alphas = tf.math.cumprod(1.0 - betas)
    w = tf.Variable(0.3)

    @function
    def sample(x):
        for i in tf.range(5):
            t = 4 - i
            noise = w * x
            x = (x - betas[t] / tf.sqrt(1.0 - alphas[t]) * noise) / tf.sqrt(1.0 - betas[t])
            if t > 0:
                x += tf.sqrt(betas[t]) * tf.random.stateless_normal(tf.shape(x), seed=tf.stack([t, 1]))
        return x

    with tf.GradientTape() as tape:
        x = sample(tf.constant(normal(0, 3)))
        loss = tf.reduce_sum(x**2)
    return x, tape.gradient(loss, w)


def sliced_score_matching(tf, function):
    w1, w2 = tf.Variable(normal(0, 2, 5)), tf.Variable(0.5 * normal(1, 5, 2))
    x, v = tf.constant(normal(2, 4, 2)), tf.constant(np.sign(normal(3, 4, 2)))

    @function
    def gradient():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                score = tf.tanh(x @ w1) @ w2
                projected = tf.reduce_sum(score * v)
            slope = inner.gradient(projected, x)
            loss = tf.reduce_mean(tf.reduce_sum(slope * v, axis=1) + 0.5 * tf.reduce_sum(score**2, axis=1))
        return loss, outer.gradient(loss, [w1, w2])

    return gradient()


def probability_flow(tf, function):
    log_sigma = tf.Variable(0.2)

    @function
    def flow(x):
        times = tf.linspace(1.0, 0.0, 5)
        for i in range(4):
            dt = times[i + 1] - times[i]
            score = -x / (tf.exp(2.0 * log_sigma) + times[i] ** 2)
            x = x - dt * times[i] * score
        return x

    with tf.GradientTape() as tape:
        x = flow(tf.constant(normal(0, 3)))
    return x, tape.gradient(x, log_sigma)


def classifier_guidance(tf, function):
    w = tf.constant(normal(0, 2, 3))

    @function
    def guided(x, label, strength):
        with tf.GradientTape() as tape:
            tape.watch(x)
            log_p = tf.gather(tf.nn.log_softmax(x @ w), label, axis=1)
        return x + strength * tape.gradient(log_p, x)

    x = tf.constant(normal(1, 3, 2))
    for _ in range(3):
        x = guided(x, tf.constant(2), tf.constant(0.3))
    return x
