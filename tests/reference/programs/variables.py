"""Variables: assignment between reads, sharing, dtypes, what is watched."""

import numpy as np

from .draws import normal


def assigned_between_reads(tf, function):
    v = tf.Variable(3.0)

    @function
    def f():
        with tf.GradientTape() as tape:
            y = v * v
            v.assign(5.0)
            z = y + v * v
        return z, tape.gradient(z, v)

    return f(), v


def value_kept_by_python(tf, function):
    v = tf.Variable([1.0, 2.0])
    before, array = v.read_value(), v.numpy()

    @function
    def f():
        v.assign_add([1.0, 1.0])
        return v * 2.0

    return f(), before, array, v


def watched_only_if_trainable(tf):
    a, b = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        y = a * b
    names = [v is a for v in tape.watched_variables()]
    with tf.GradientTape(watch_accessed_variables=False) as manual:
        manual.watch(b)
        z = a * b
    return tape.gradient(y, [a, b]), names, manual.gradient(z, [a, b])


def shared_between_two_layers(tf, function):
    w = tf.Variable(normal(0, 3, 3))

    @function
    def f(x):
        return tf.tanh(tf.tanh(x @ w) @ tf.transpose(w))

    with tf.GradientTape() as tape:
        y = f(tf.constant(normal(1, 2, 3)))
        loss = tf.reduce_sum(y**2)
    return loss, tape.gradient(loss, w)


def constraint_after_each_step(tf, function):
    w = tf.Variable(
        tf.constant([0.2, 0.3, 0.5]), constraint=lambda x: tf.nn.relu(x) / tf.reduce_sum(tf.nn.relu(x))
    )

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * tf.constant([1.0, 2.0, 3.0])) + 0.1 * tf.reduce_sum(
                w * tf.math.log(w + 1e-9)
            )
        w.assign_sub(0.05 * tape.gradient(loss, w))
        w.assign(w.constraint(w))
        return loss

    return [step() for _ in range(3)], w


def copied_by_tf_identity(tf, function):
    v = tf.Variable([1.0, 2.0])

    @function
    def f():
        with tf.GradientTape() as tape:
            a = tf.identity(v)
            b = tf.convert_to_tensor(v)
            v.assign(v + 1.0)
            y = tf.reduce_sum(a * b * v)
        return y, tape.gradient(y, v)

    return f()


def none_after_leaving_the_tape(tf):
    v, frozen = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        constant = float(v * v)
        y = v * constant
        z = tf.constant(v.numpy()) * frozen
    return tape.gradient([y, z], [v, frozen])


def operators_and_conversions(tf):
    v = tf.Variable([1.0, -2.0])
    with tf.GradientTape() as tape:
        y = -v + abs(v) * 2 - v**2 / 3 + 2**v + (1 - v) // 2 + v % 3
    return y, tape.gradient(y, v), bool(v[0] > 0), len(v.shape), int(v[0]), np.array(v), [float(x) for x in v]


def counters_of_integers(tf, function):
    step = tf.Variable(0, dtype=tf.int64)
    w = tf.Variable(10.0)

    @function
    def f():
        step.assign_add(1)
        rate = 1.0 / tf.cast(step, tf.float32)
        w.assign_sub(rate)
        return rate

    return [f() for _ in range(3)], step, w


def scattered_updates(tf, function):
    v = tf.Variable(tf.zeros((4, 2)))

    @function
    def f(rows, values):
        v.scatter_add(tf.IndexedSlices(values, rows))
        v.scatter_update(tf.IndexedSlices(values[:1] * 10.0, rows[:1]))
        return tf.reduce_sum(v)

    return f(tf.constant([1, 3]), tf.constant([[1.0, 2.0], [3.0, 4.0]])), v


def swapped_in_a_function(tf, function):
    a, b = tf.Variable([1.0]), tf.Variable([2.0])

    @function
    def swap():
        old = a.read_value()
        a.assign(b)
        b.assign(old)

    swap()
    swap()
    swap()
    return a, b


def unconnected_as_zero(tf, function):
    a, b = tf.Variable([1.0, 2.0]), tf.Variable([[3.0]])

    @function
    def f():
        with tf.GradientTape(persistent=True) as tape:
            y = a**2
        return tape.gradient(y, [a, b]), tape.gradient(
            y, b, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )

    return f()


def nested_module(tf, function):
    class Layer(tf.Module):
        def __init__(self, seed):
            super().__init__()
            self.w = tf.Variable(normal(seed, 2, 2), name="w")
            self.steps = tf.Variable(0, trainable=False, name="steps")

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = [Layer(0), Layer(1)]
            self.head = {"out": tf.Variable([1.0, 2.0], name="out")}

    net = Net()

    @function
    def f(x):
        for layer in net.layers:
            x = tf.nn.elu(tf.linalg.matvec(layer.w, x))
            layer.steps.assign_add(1)
        return tf.reduce_sum(x * net.head["out"])

    with tf.GradientTape() as tape:
        y = f(tf.constant([0.5, -1.0]))
    count = len(net.variables)
    return y, tape.gradient(y, net.trainable_variables), count, net.layers[0].steps


def reset_and_stop_recording(tf):
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v**3
        with tape.stop_recording():
            untouched = v**5
        z = y + untouched
    first = tape.gradient(z, v)
    with tf.GradientTape() as tape:
        y = v**2
        tape.reset()
        y = y + 3.0 * v
    return first, tape.gradient(y, v)
