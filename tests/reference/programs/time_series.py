"""Series: smoothing, filters, forecasts."""

import numpy as np

from .draws import normal


def exponential_smoothing(tf, function):
    series = tf.constant(np.cumsum(normal(0, 8)).astype("float32"))
    raw = tf.Variable(0.0)

    @function
    def step():
        with tf.GradientTape() as tape:
            alpha, level, error = tf.sigmoid(raw), series[0], tf.constant(0.0)
            for t in range(1, 8):
                error += (series[t] - level) ** 2
                level = alpha * series[t] + (1.0 - alpha) * level
        raw.assign_sub(0.05 * tape.gradient(error, raw))
        return error

    return [step() for _ in range(4)], raw


def kalman_filter(tf, function):
    log_q, log_r = tf.Variable(-1.0), tf.Variable(0.0)
    observations = tf.constant(normal(0, 6))

    @function
    def negative_log_likelihood():
        mean, variance, total = tf.constant(0.0), tf.constant(1.0), tf.constant(0.0)
        for y in observations:
            variance += tf.exp(log_q)
            s = variance + tf.exp(log_r)
            innovation = y - mean
            total += 0.5 * (tf.math.log(s) + innovation**2 / s)
            gain = variance / s
            mean += gain * innovation
            variance *= 1.0 - gain
        return total

    with tf.GradientTape() as tape:
        y = negative_log_likelihood()
    return y, tape.gradient(y, [log_q, log_r])


def autoregression(tf, function):
    series = normal(0, 12)
    x = tf.constant(np.stack([series[i : i + 3] for i in range(9)]))
    y = tf.constant(series[3:])
    w = tf.Variable(tf.zeros(3))

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.linalg.matvec(x, w) - y) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return [step() for _ in range(4)], w


def forecast_fed_back(tf, function):
    w = tf.Variable([0.2, 0.5])

    @function
    def forecast(history, steps):
        outputs = []
        for _ in range(steps):
            value = tf.reduce_sum(history * w)
            history = tf.concat([history[1:], value[None]], axis=0)
            outputs.append(value)
        return tf.stack(outputs)

    with tf.GradientTape() as tape:
        y = forecast(tf.constant([1.0, 2.0]), 4)
    return y, tape.jacobian(y, w)


def hidden_markov_forward(tf, function):
    transition, emission = tf.Variable(normal(0, 3, 3)), tf.Variable(normal(1, 3, 4))
    observations = tf.constant([0, 3, 1, 1])

    @function
    def log_likelihood():
        log_t, log_e = tf.nn.log_softmax(transition), tf.nn.log_softmax(emission)
        alpha = tf.math.log(1.0 / 3.0) + log_e[:, observations[0]]
        for t in range(1, 4):
            alpha = tf.reduce_logsumexp(alpha[:, None] + log_t, axis=0) + log_e[:, observations[t]]
        return tf.reduce_logsumexp(alpha)

    with tf.GradientTape() as tape:
        y = log_likelihood()
    return y, tape.gradient(y, [transition, emission])


def viterbi_path(tf, function):
    scores, transition = tf.constant(normal(0, 5, 3)), tf.constant(normal(1, 3, 3))

    @function
    def best_path():
        value, pointers = scores[0], []
        for t in range(1, 5):
            candidates = value[:, None] + transition
            pointers.append(tf.argmax(candidates, axis=0, output_type=tf.int32))
            value = tf.reduce_max(candidates, axis=0) + scores[t]
        state = tf.argmax(value, output_type=tf.int32)
        path = [state]
        for pointer in reversed(pointers):
            state = pointer[state]
            path.append(state)
        return tf.stack(path[::-1]), tf.reduce_max(value)

    with tf.GradientTape() as tape:
        tape.watch([scores, transition])
        path, value = best_path()
    return path, value, tape.gradient(value, scores)


def dynamic_time_warping(tf, function):
    a, b = tf.constant(normal(0, 3)), tf.constant(normal(1, 4))

    @function
    def soft_dtw(a, b):
        cost = (a[:, None] - b[None]) ** 2
        table = {(0, 0): cost[0, 0]}
        for i in range(3):
            for j in range(4):
                if (i, j) != (0, 0):
                    previous = [table[p] for p in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if p in table]
                    table[i, j] = cost[i, j] - 0.5 * tf.reduce_logsumexp(-2.0 * tf.stack(previous))
        return table[2, 3]

    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = soft_dtw(a, b)
    return y, tape.gradient(y, [a, b])


def garch_volatility(tf, function):
    returns = tf.constant(0.5 * normal(0, 6))
    parameters = tf.Variable([0.1, 0.2, 0.6])

    @function
    def loss():
        omega, alpha, beta = tf.unstack(parameters)
        states = tf.scan(
            lambda h, r: omega + alpha * r**2 + beta * h,
            returns[:-1],
            initializer=tf.math.reduce_variance(returns),
        )
        return tf.reduce_sum(tf.math.log(states) + returns[1:] ** 2 / states)

    with tf.GradientTape() as tape:
        y = loss()
    return y, tape.gradient(y, parameters)
