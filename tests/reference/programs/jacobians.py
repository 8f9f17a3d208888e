"""Jacobians, of whole batches, by row, and forward."""

from .draws import normal


def of_a_vector_function(tf, function):
    x = tf.constant([1.0, 2.0, 3.0])

    @function
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.stack([x[0] * x[1], tf.sin(x[2]), tf.reduce_prod(x)])
        return tape.jacobian(y, x)

    return jacobian(x)


def per_example_gradients(tf, function):
    w = tf.Variable(normal(0, 3, 1))
    x, y = tf.constant(normal(1, 5, 3)), tf.constant(normal(2, 5, 1))

    @function
    def per_example():
        with tf.GradientTape() as tape:
            losses = tf.reduce_sum((x @ w - y) ** 2, axis=1)
        return tape.jacobian(losses, w)

    g = per_example()
    norms = tf.norm(tf.reshape(g, (5, -1)), axis=1)
    return g, norms


def batch_jacobian_of_a_layer(tf, function):
    w = tf.Variable(normal(0, 3, 2))

    @function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.softmax(x @ w)
        return tape.batch_jacobian(y, x)

    return f(tf.constant(normal(1, 4, 3)))


def by_several_sources(tf, function):
    a, b, c = tf.Variable([1.0, 2.0]), tf.Variable(3.0), tf.Variable([9.0])

    @function
    def f():
        with tf.GradientTape() as tape:
            y = a * b + a[::-1] ** 2
        return tape.jacobian(y, {"a": a, "b": b, "c": c})

    return f()


def forward_mode(tf, function):
    x = tf.constant([0.5, 1.5])

    @function
    def f(x):
        return tf.stack([x[0] * tf.exp(x[1]), tf.math.log(x[1]), tf.reduce_sum(x**2)])

    columns = []
    for direction in ([1.0, 0.0], [0.0, 1.0]):
        with tf.autodiff.ForwardAccumulator(primals=x, tangents=tf.constant(direction)) as accumulator:
            y = f(x)
        columns.append(accumulator.jvp(y))
    return columns


def forward_mode_by_variables(tf, function):
    w, b = tf.Variable(normal(0, 2, 2)), tf.Variable(normal(1, 2))
    x = tf.constant(normal(2, 3, 2))

    @function
    def f(x):
        return tf.tanh(x @ w + b)

    with tf.autodiff.ForwardAccumulator([w, b], [tf.ones_like(w), tf.zeros_like(b)]) as accumulator:
        y = f(x)
        z = tf.constant(1.0) * 2.0
    return accumulator.jvp(y), accumulator.jvp(z)


def with_output_gradients(tf, function):
    x = tf.constant(normal(0, 2, 2))
    weights = tf.constant([[1.0, 0.0], [-2.0, 3.0]])

    @function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x @ x
        return tape.gradient(y, x, output_gradients=weights)

    return f(x)


def rows_from_a_persistent_tape(tf, function):
    x = tf.constant([1.0, 2.0])

    @function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.stack([x[0] ** 2, x[0] * x[1], tf.sqrt(x[1])])
            parts = tf.unstack(y)
        return tf.stack([tape.gradient(part, x) for part in parts])

    return f(x)


def by_pfor_and_without(tf):
    x = tf.constant([[0.1, 0.2], [0.3, 0.4]])
    results = []
    for pfor in (True, False):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.linalg.matmul(x, tf.sin(x))
        results.append(tape.jacobian(y, x, experimental_use_pfor=pfor))
    return results


def log_determinant_of_a_jacobian(tf, function):
    w = tf.Variable(0.3 * normal(0, 2, 2))

    @function
    def f(x):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x + tf.tanh(x @ w)
            jacobian = tape.batch_jacobian(y, x)
            loss = tf.reduce_sum(tf.math.log(tf.abs(tf.linalg.det(jacobian))))
        return loss, outer.gradient(loss, w)

    return f(tf.constant(normal(1, 3, 2)))


def of_unconnected_targets(tf):
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = x * 2.0
    return tape.jacobian(z, y), tape.jacobian(z, y, unconnected_gradients="zero"), tape.gradient(z, [x, y])
