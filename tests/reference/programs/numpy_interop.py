"""NumPy arrays in and out, and Python called from inside."""

import numpy as np

from .draws import normal


def mixed_expressions(tf):
    a = np.array([1.0, 2.0], np.float32)
    x = tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = a * x + x / a - np.float32(2.0) * x + np.ones(2, np.float32) @ np.eye(2, dtype=np.float32)
    return y, tape.gradient(y, x), np.asarray(x) + 1, np.sum(x.numpy()), float(y[0])


def float64_arrays_stay_float64(tf, function):
    w = tf.Variable(np.random.RandomState(0).randn(3))

    @function
    def f(x):
        return tf.reduce_sum(tf.sin(x * w))

    x = np.random.RandomState(1).randn(3)
    with tf.GradientTape() as tape:
        y = f(x)
    return y, tape.gradient(y, w), w.dtype.name


def numpy_function_forward_only(tf, function):
    calls = []

    def clip(x):
        calls.append(1)
        return np.clip(x, 0, 1).astype(np.float32)

    @function
    def f(x):
        y = tf.numpy_function(clip, [x], tf.float32)
        y.set_shape(x.shape)
        return y * x

    x = tf.constant([0.5, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x), len(calls)


def py_function_with_gradient(tf, function):
    def cubed(x):
        return x**3

    @function
    def f(x):
        y = tf.py_function(cubed, [x], tf.float32)
        y.set_shape(x.shape)
        return 2.0 * y

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def host_calls_in_a_loop(tf, function):
    calls = []

    def log(x):
        calls.append(float(x))
        return x

    @function
    def f(x):
        for _ in tf.range(3):
            x = x * 2.0
            tf.numpy_function(log, [x], tf.float32)
        return x

    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x), calls


def host_value_in_a_loop(tf, function):
    calls = []

    def halve(x):
        calls.append(1)
        return np.float32(x / 2)

    @function
    def f(x):
        total = tf.constant(0.0)
        for i in tf.range(3):
            h = tf.numpy_function(halve, [tf.cast(i, tf.float32)], tf.float32)
            h.set_shape(())
            total += h * x
        return total

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x), len(calls)


def custom_gradient_around_numpy(tf, function):
    @tf.custom_gradient
    def sinc(x):
        y = tf.numpy_function(lambda a: np.sinc(a).astype(np.float32), [x], tf.float32)
        y.set_shape(x.shape)

        def grad(dy):
            pi_x = np.pi * x
            return dy * (tf.cos(pi_x) - tf.sin(pi_x) / pi_x) / x

        return y, grad

    @function
    def f(x):
        return sinc(x)

    x = tf.constant([0.3, 1.2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def minimized_by_numpy(tf, function):
    """The optimizer is NumPy: steepest descent in float64, halving the step until the value falls."""

    @function
    def value_and_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = (1.0 - x[0]) ** 2 + 10.0 * (x[1] - x[0] ** 2) ** 2
        return y, tape.gradient(y, x)

    x, history = np.array([-0.5, 0.5]), []
    for _ in range(4):
        y, g = (t.numpy() for t in value_and_gradient(tf.constant(x)))
        rate = 1.0
        while value_and_gradient(tf.constant(x - rate * g))[0].numpy() > y - 0.1 * rate * g @ g:
            rate /= 2
        x = x - rate * g
        history.append([float(y), rate])
    return x, history


def integer_inputs(tf, function):
    x = tf.constant([1, 2, 3])
    w = tf.Variable([0.5, 0.5, 0.5])

    @function
    def f(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.cast(x, tf.float32) * w) ** 2
        return y, tape.gradient(y, w), x // 2, x % 2, -x

    return f(x), f(np.array([4, 5, 6], np.int32))


def gradients_checked_by_differences(tf):
    x = np.array([0.3, 0.7])
    f = lambda x: tf.reduce_sum(tf.sin(x) * tf.exp(x))
    t = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    exact = tape.gradient(y, t).numpy()
    numeric = [(f(x + d).numpy() - f(x - d).numpy()) / 2e-5 for d in 1e-5 * np.eye(2)]
    return exact, bool(np.allclose(exact, numeric, atol=1e-7))


def structured_numpy_weights(tf, function):
    weights = {"layer1": normal(0, 2, 3), "layer2": {"w": normal(1, 3, 1), "b": np.float32(0.1)}}
    variables = tf.nest.map_structure(tf.Variable, weights)

    @function
    def f(x):
        return tf.tanh(x @ variables["layer1"]) @ variables["layer2"]["w"] + variables["layer2"]["b"]

    with tf.GradientTape() as tape:
        y = tf.reduce_sum(f(tf.constant(normal(2, 4, 2))))
    gradients = tape.gradient(y, tf.nest.flatten(variables))
    return tf.nest.pack_sequence_as(weights, gradients)
