"""Slices, masks, gathers and scatters, and what kind of gradient they give."""

from .draws import normal


def boolean_mask_by_brackets(tf, function):
    x = tf.constant(normal(0, 6))

    @function
    def positive(x):
        return x[x > 0.0]

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = positive(x)
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, x)


def boolean_mask_of_rows(tf, function):
    x = tf.constant(normal(0, 4, 2))

    @function
    def chosen(x, mask):
        return tf.boolean_mask(x, mask)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = chosen(x, tf.constant([True, False, True, False]))
        loss = tf.reduce_sum(y**3)
    gradient = tape.gradient(loss, x)
    return y, gradient, x - 0.1 * tf.convert_to_tensor(gradient)


def gathered_rows_of_a_variable(tf, function):
    table = tf.Variable(normal(0, 4, 2))

    @function
    def gradient(rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, rows) ** 2)
        return tape.gradient(loss, table)

    return gradient(tf.constant([3, 0, 3]))


def gather_along_other_axes(tf, function):
    x = tf.constant(normal(0, 2, 3, 4))

    @function
    def f(x):
        return tf.gather(x, [2, 0], axis=1), tf.gather(x, [[1, 0], [3, 3]], axis=2, batch_dims=1)

    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b = f(x)
        loss = tf.reduce_sum(a**2) + tf.reduce_sum(b)
    return a, b, tape.gradient(loss, x)


def slices_with_steps(tf, function):
    x = tf.constant(normal(0, 4, 5))

    @function
    def f(x):
        return x[1:, ::2] * x[:-1, 1::-1][:, :1] + x[-1, tf.newaxis, ::2], x[..., -1]

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def slice_by_a_tensor(tf, function):
    x = tf.constant(normal(0, 6, 2))

    @function
    def f(x, i):
        return tf.slice(x, [i, 0], [2, 2]) * x[i]

    results = []
    for i in (0, 3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(i))
        results.append([y, tape.gradient(y, x)])
    return results


def window_that_moves_in_a_loop(tf, function):
    x = tf.constant(normal(0, 6))

    @function
    def f(x):
        total = tf.zeros(2)
        for i in tf.range(3):
            total += x[i * 2 : (i + 1) * 2] ** 2
        return total

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def scatter_into_zeros(tf, function):
    updates = tf.Variable(normal(0, 3, 2))

    @function
    def f():
        return tf.scatter_nd([[4], [1], [4]], updates, (5, 2))

    with tf.GradientTape() as tape:
        y = f()
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, updates)


def tensor_scatter_updates(tf, function):
    x, u = tf.constant(normal(0, 4)), tf.constant([10.0, 20.0])

    @function
    def f(x, u):
        indices = [[2], [0]]
        return (
            tf.tensor_scatter_nd_update(x, indices, u),
            tf.tensor_scatter_nd_add(x, indices, u),
            tf.tensor_scatter_nd_max(x, indices, u),
        )

    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, u])
        ys = f(x, u)
        losses = [tf.reduce_sum(y**2) for y in ys]
    return ys, [tape.gradient(loss, [x, u]) for loss in losses]


def variable_rows_assigned(tf, function):
    v = tf.Variable(tf.zeros((4, 2)))

    @function
    def f(row, value):
        v.scatter_nd_update([[row]], [value])
        v[0].assign([7.0, 7.0])
        v[1, 1].assign(5.0)
        return tf.reduce_sum(v)

    return f(tf.constant(2), tf.constant([1.0, 2.0])), f(tf.constant(3), tf.constant([3.0, 4.0])), v


def variable_row_by_a_tensor(tf, function):
    v = tf.Variable(tf.zeros((3, 2)))

    @function
    def f(i, value):
        v[i].assign(value)
        return tf.reduce_sum(v)

    return [f(tf.constant(i), tf.constant([1.0 + i, 2.0])) for i in (2, 0)], v


def scatter_sub_of_slices(tf, function):
    v = tf.Variable(normal(0, 4, 2))

    @function
    def step(rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(v, rows) ** 2)
        g = tape.gradient(loss, v)
        v.scatter_sub(tf.IndexedSlices(0.1 * g.values, g.indices))
        return loss

    return [step(tf.constant([1, 3])) for _ in range(3)], v


def where_with_three_arguments(tf, function):
    x, y = tf.constant(normal(0, 5)), tf.constant(2.0)

    @function
    def f(x, y):
        return tf.where(x > y - 2.0, x * y, tf.exp(x))

    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = f(x, y)
    return z, tape.gradient(z, [x, y])


def positions_of_the_true(tf, function):
    x = tf.constant([[0.0, 2.0], [3.0, 0.0]])

    @function
    def f(x):
        where = tf.where(x > 0.0)
        return where, tf.gather_nd(x, where) ** 2

    with tf.GradientTape() as tape:
        tape.watch(x)
        where, y = f(x)
    return where, y, tape.gradient(y, x)


def reflected_and_symmetric_padding(tf, function):
    x = tf.constant(normal(0, 3, 3))

    @function
    def f(x):
        return tf.pad(x, [[1, 1], [0, 2]], "REFLECT"), tf.pad(x, [[2, 0], [1, 1]], "SYMMETRIC")

    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b = f(x)
        loss = tf.reduce_sum(a**2) + tf.reduce_sum(b**3)
    return loss, tape.gradient(loss, x)


def repeated_by_counts(tf, function):
    x = tf.constant(normal(0, 3, 2))

    @function
    def f(x):
        return tf.repeat(x, [2, 0, 3], axis=0)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, x)


def top_k_and_sort(tf, function):
    x = tf.constant(normal(0, 2, 5))

    @function
    def f(x):
        values, indices = tf.math.top_k(x, 2)
        return values, indices, tf.sort(x, direction="DESCENDING"), tf.argsort(x)

    with tf.GradientTape() as tape:
        tape.watch(x)
        values, indices, ordered, order = f(x)
        loss = tf.reduce_sum(values * 2.0) + tf.reduce_sum(ordered[:, 0])
    return values, indices, order, tape.gradient(loss, x)


def dynamic_partition_and_stitch(tf, function):
    x = tf.constant(normal(0, 5))

    @function
    def f(x, parts):
        low, high = tf.dynamic_partition(x, parts, 2)
        places = tf.dynamic_partition(tf.range(5), parts, 2)
        return tf.dynamic_stitch(places, [low * 2.0, high**2])

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tf.constant([0, 1, 0, 1, 1]))
    return y, tape.gradient(y, x)


def segments(tf, function):
    x, ids = tf.constant(normal(0, 6, 2)), tf.constant([0, 0, 1, 3, 3, 3])

    @function
    def f(x):
        return (
            tf.math.unsorted_segment_sum(x, ids, 4),
            tf.math.unsorted_segment_mean(x, ids, 4),
            tf.math.unsorted_segment_max(x, ids, 4)[:1],
        )

    with tf.GradientTape() as tape:
        tape.watch(x)
        ys = f(x)
        loss = tf.add_n([tf.reduce_sum(y**2) for y in ys])
    return ys, tape.gradient(loss, x)
