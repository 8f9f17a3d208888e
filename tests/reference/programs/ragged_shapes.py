"""Lengths that differ: padding, masks, empty batches, shapes that vary from call to call."""

from .draws import normal


def one_function_for_many_lengths(tf, function):
    w = tf.Variable(normal(0, 2))

    @function(input_signature=None)
    def f(x):
        return tf.reduce_mean(tf.linalg.matvec(x, w) ** 2)

    results = []
    for n in (1, 3, 2):
        x = tf.constant(normal(n, n, 2))
        with tf.GradientTape() as tape:
            y = f(x)
        results.append([y, tape.gradient(y, w)])
    return results


def open_length_in_the_signature(tf):
    w = tf.Variable([2.0, 3.0])

    @tf.function(input_signature=[tf.TensorSpec((None, 2), tf.float32)])
    def f(x):
        return tf.reduce_sum(x * w, axis=1)

    results = []
    for n in (2, 0, 3):
        with tf.GradientTape() as tape:
            y = f(tf.ones((n, 2)))
        results.append([y, tape.gradient(y, w)])
    return results


def masked_mean_by_lengths(tf, function):
    x, lengths = tf.constant(normal(0, 3, 4, 2)), tf.constant([4, 1, 2])

    @function
    def f(x, lengths):
        mask = tf.sequence_mask(lengths, maxlen=4, dtype=tf.float32)[..., None]
        return tf.reduce_sum(x * mask, axis=1) / tf.cast(lengths, tf.float32)[:, None]

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, lengths)
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, x)


def empty_tensors(tf, function):
    x = tf.zeros((0, 3))

    @function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.concat([x, tf.ones((1, 3))], axis=0)
            loss = tf.reduce_sum(y * 2.0) + tf.reduce_sum(x)
        return y, loss, tape.gradient(loss, x)

    return f(x)


def reverse_sequence(tf, function):
    x = tf.constant(normal(0, 2, 4))

    @function
    def f(x):
        return tf.reverse_sequence(x, [3, 2], seq_axis=1)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        loss = tf.reduce_sum(y * tf.range(4.0))
    return y, tape.gradient(loss, x)


def shapes_computed_from_shapes(tf, function):
    x = tf.constant(normal(0, 2, 3, 4))

    @function
    def f(x):
        shape = tf.shape(x)
        flat = tf.reshape(x, [shape[0], -1])
        tiled = tf.tile(flat[:, :1], [1, shape[1]])
        return flat, tiled, tf.broadcast_to(tf.reduce_mean(x), shape[:2])

    with tf.GradientTape() as tape:
        tape.watch(x)
        ys = f(x)
    return [y.shape.as_list() for y in ys], tape.gradient(ys, x)


def split_in_unequal_parts(tf, function):
    x = tf.constant(normal(0, 6))

    @function
    def f(x):
        a, b, c = tf.split(x, [1, 2, 3])
        return tf.concat([c * a, b**2], axis=0), tf.squeeze(a)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y, a = f(x)
    return y, a, tape.gradient([y, a], x)


def list_of_different_lengths(tf, function):
    w = tf.Variable(0.5)
    rows = [tf.constant(normal(i, i + 1)) for i in range(3)]

    @function
    def f(rows):
        return [tf.reduce_mean(tf.sin(w * row)) for row in rows]

    with tf.GradientTape() as tape:
        tape.watch(rows)
        means = f(rows)
        loss = tf.add_n(means)
    return means, tape.gradient(loss, [w, *rows])


def broadcast_of_scalars_and_rows(tf, function):
    s, row, column = tf.constant(2.0), tf.constant([[1.0, 2.0, 3.0]]), tf.constant([[10.0], [20.0]])

    @function
    def f(s, row, column):
        return s * row / column - row**s

    with tf.GradientTape() as tape:
        tape.watch([s, row, column])
        y = f(s, row, column)
    return y, tape.gradient(y, [s, row, column])
