"""Half precision: casts, loss scaling, master weights, reductions over many elements."""

import numpy as np

from .draws import normal


def loss_scaling(tf, function):
    w = tf.Variable(normal(0, 3, 2))
    x, y = tf.constant(normal(1, 4, 3), tf.float16), tf.constant(normal(2, 4, 2))
    scale = tf.Variable(1024.0, trainable=False)

    @function
    def step():
        with tf.GradientTape() as tape:
            out = tf.cast(x @ tf.cast(w, tf.float16), tf.float32)
            loss = tf.reduce_mean((out - y) ** 2)
            scaled = loss * scale
        gradient = tape.gradient(scaled, w) / scale
        finite = tf.reduce_all(tf.math.is_finite(gradient))
        if finite:
            w.assign_sub(0.1 * gradient)
        else:
            scale.assign(scale / 2.0)
        return loss, finite

    return [step() for _ in range(3)], w, scale


def overflow_halves_the_scale(tf, function):
    w = tf.Variable(tf.constant([2.0, 3.0], tf.float16))
    scale = tf.Variable(tf.constant(60000.0, tf.float16), trainable=False)
    history = []

    @function
    def step():
        with tf.GradientTape() as tape:
            scaled = tf.reduce_sum(w * w) * scale
        gradient = tape.gradient(scaled, w)
        ok = tf.reduce_all(tf.math.is_finite(gradient))
        scale.assign(tf.where(ok, scale, scale * 0.5))
        return ok, tf.where(ok, gradient / scale, tf.zeros_like(gradient))

    for _ in range(5):
        history.append(step())
    return history, scale


def master_weights_in_bfloat16(tf, function):
    master = tf.Variable(normal(0, 4))
    low = tf.Variable(tf.cast(master, tf.bfloat16), trainable=True)

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.cast(low, tf.float32) ** 2)
        gradient = tape.gradient(loss, low)
        master.assign_sub(0.05 * tf.cast(gradient, tf.float32))
        low.assign(tf.cast(master, tf.bfloat16))
        return loss, gradient

    results = [step() for _ in range(3)]
    return [r[0] for r in results], results[-1][1], master, low


def mean_of_many_in_float16(tf, function):
    x = tf.constant(np.full((300, 100), 2.0), tf.float16)

    @function
    def f(x):
        return tf.reduce_mean(x), tf.reduce_sum(x[0]), tf.math.reduce_variance(x)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y[1], x)[0, :5]


def mean_of_many_in_bfloat16(tf, function):
    x = tf.constant(np.full((300, 30), 2.0), tf.bfloat16)

    @function
    def f(x):
        return tf.reduce_mean(x), tf.reduce_sum(x, axis=0)

    mean, sums = f(x)
    return mean, sums[:3]


def bias_over_a_batch_in_bfloat16(tf, function):
    b = tf.Variable(tf.zeros(3, tf.bfloat16))
    x = tf.constant(np.ones((700, 3)), tf.bfloat16)

    @function
    def gradient():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.cast(x + b, tf.float32))
        return tape.gradient(y, b)

    return gradient()


def softmax_in_float16(tf, function):
    logits = tf.constant(3 * normal(0, 2, 6), tf.float16)

    @function
    def f(logits):
        return tf.nn.softmax(logits), tf.nn.log_softmax(logits)

    with tf.GradientTape() as tape:
        tape.watch(logits)
        p, log_p = f(logits)
        loss = tf.reduce_sum(p * log_p)
    return p, loss, tape.gradient(loss, logits)


def layer_norm_computed_in_float32(tf, function):
    x, gain = tf.constant(normal(0, 3, 5), tf.float16), tf.Variable(tf.ones(5))

    @function
    def normalized(x):
        x32 = tf.cast(x, tf.float32)
        mean, variance = tf.nn.moments(x32, [-1], keepdims=True)
        return tf.cast((x32 - mean) / tf.sqrt(variance + 1e-3) * gain, x.dtype)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = normalized(x)
        loss = tf.reduce_sum(tf.cast(y, tf.float32) ** 3)
    gx, gg = tape.gradient(loss, [x, gain])
    return y, gx, gg


def gradients_keep_their_dtype(tf, function):
    a = tf.Variable(2.0, dtype=tf.float64)
    b = tf.Variable(3.0, dtype=tf.float16)
    c = tf.Variable(4.0)

    @function
    def gradients():
        with tf.GradientTape() as tape:
            y = tf.cast(a, tf.float32) * tf.cast(b, tf.float32) * c
        return tape.gradient(y, [a, b, c])

    return gradients()


def cast_through_integers_has_no_gradient(tf, function):
    x = tf.constant([1.5, 2.5])

    @function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cast(tf.cast(x, tf.int32), tf.float32) * 2.0
        return y, tape.gradient(y, x)

    return f(x)


def float16_matmul_and_bias(tf, function):
    w, b = tf.Variable(normal(0, 4, 2), dtype=tf.float16), tf.Variable(normal(1, 2), dtype=tf.float16)
    x = tf.constant(normal(2, 3, 4), tf.float16)

    @function
    def f(x):
        return tf.nn.relu(tf.nn.bias_add(x @ w, b))

    with tf.GradientTape() as tape:
        y = f(x)
        loss = tf.reduce_mean(tf.cast(y, tf.float32))
    return y, tape.gradient(loss, [w, b])


def optimizer_on_float16_variables(tf, function):
    w = tf.Variable([1.0, -2.0], dtype=tf.float16)
    optimizer = tf.optimizers.SGD(0.125, momentum=0.5)

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    return [step() for _ in range(3)], w
