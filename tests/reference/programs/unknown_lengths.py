"""Loops that end when a value says so, open lengths, loops over datasets: values and two orders of gradients."""

from .draws import normal, uniform


def _orders(tf, function, f, x):
    """The value and the gradients of two orders, by tapes around the function and by tapes inside of it."""

    def gradients(f, x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
            length = tf.reduce_sum(first * first)
        return y, first, outer.gradient(length, x)

    return gradients(function(f), x), function(lambda x: gradients(f, x))(x)


def _slope(tf, f, x):
    """The value and the gradient, for loops whose second order takes long to compile."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def heron_until_close(tf, function):
    def roots(x):
        y = tf.ones_like(x)
        while tf.reduce_max(tf.abs(y * y - x)) > 1e-2:
            y = 0.5 * (y + x / y)
        return y

    x = tf.constant([2.0, 5.0, 0.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, first = _slope(tf, function(roots), x)
    return y, first, tape.gradient(first, x)


def adaptive_steps_with_break(tf, function):
    def fall(x):
        t, state, count = tf.constant(0.0), x, tf.constant(0)
        while t < 1.0:
            speed = tf.abs(state[1])
            step = tf.minimum(0.2 / (1.0 + speed), 1.0 - t)
            force = tf.stack([state[1], -tf.sin(state[0]) - 0.1 * state[1] * speed])
            state = state + step * force
            t += step
            count += 1
            if state[0] < -2.0:
                break
        return tf.reduce_sum(state * [1.0, 0.5]) + 0.01 * tf.cast(count, tf.float32)

    return _slope(tf, function(fall), tf.constant([1.2, -0.4]))


def loops_in_a_loop_of_any_length(tf, function):
    def energy(x):
        total = tf.reduce_sum(x) * 0.0
        n = tf.constant(3)
        i = tf.constant(0)
        while i < n:
            z, k = x * tf.cast(i + 1, tf.float32), tf.constant(0)
            while tf.reduce_sum(z * z) > 0.5 and k < 20:
                z = 0.7 * tf.sin(z)
                k += 1
            total += tf.reduce_sum(z * x)
            i += 1
        return total

    return function(lambda x: _slope(tf, energy, x))(tf.constant([0.9, -1.3]))


def recurrent_predictions_in_an_array(tf, function):
    series = tf.constant(normal(1, 7, 3))

    def likelihood(w):
        steps = tf.shape(series)[0] - 1
        outputs = tf.TensorArray(tf.float32, size=steps)
        state = tf.zeros([3])
        for t in tf.range(steps):
            state = tf.tanh(tf.linalg.matvec(w, state) + series[t])
            outputs = outputs.write(t, state)
        return tf.reduce_mean((outputs.stack() - series[1:]) ** 2)

    return _orders(tf, function, likelihood, tf.constant(0.4 * normal(2, 3, 3)))


def a_text_model_of_open_length(tf, function):
    table, filters = tf.Variable(normal(3, 11, 4)), tf.Variable(0.3 * normal(4, 12, 5))
    ids = [[3, 1, 4, 1, 5], [9, 2, 6], [5, 3, 5, 8, 9, 7, 9]]

    @function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def step(words):
        with tf.GradientTape() as tape:
            x = tf.nn.embedding_lookup(table, words)
            windows = tf.concat([x[:-2], x[1:-1], x[2:]], axis=1)
            features = tf.reduce_max(tf.nn.relu(windows @ filters), axis=0)
            loss = tf.reduce_sum(features**2) / tf.cast(tf.size(words), tf.float32)
        return loss, tape.gradient(loss, [table, filters])

    return [step(tf.constant(each)) for each in ids]


def two_directions_over_open_lengths(tf, function):
    forward, backward = (tf.Variable(0.4 * normal(seed, 5, 3)) for seed in (5, 6))

    def read(xs, weights):
        state = tf.zeros([3])
        for x in xs:
            state = tf.tanh(tf.linalg.matvec(weights, tf.concat([x, state], 0), transpose_a=True))
        return state

    @function(input_signature=[tf.TensorSpec([None, 2])])
    def step(xs):
        with tf.GradientTape() as tape:
            both = tf.concat([read(xs, forward), read(tf.reverse(xs, [0]), backward)], 0)
            loss = tf.reduce_sum(both * both)
        return loss, tape.gradient(loss, [forward, backward])

    return [step(tf.constant(normal(7, n, 2))) for n in (4, 2, 6, 4)]


def attention_over_an_open_batch(tf, function):
    keys = tf.constant(normal(8, 6, 4))

    def pooled(x):
        @function(input_signature=[tf.TensorSpec([None, 4])])
        def attend(queries):
            scores = tf.matmul(queries, keys, transpose_b=True) / tf.sqrt(4.0)
            return tf.nn.softmax(scores) @ keys

        return tf.concat([attend(x[:n]) for n in (1, 3, 2)], 0)

    with tf.GradientTape() as outer:
        x = tf.Variable(normal(9, 3, 4))
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(pooled(x) ** 2)
        first = inner.gradient(y, x)
        length = tf.reduce_sum(first**2)
    return y, first, outer.gradient(length, x)


def rows_of_a_jacobian_one_by_one(tf, function):
    weights = tf.constant(normal(10, 3, 5))

    @function
    def rows(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.tanh(x[None, :] @ weights)[0] * tf.reduce_sum(x)
        return tape.jacobian(y, x, experimental_use_pfor=False)

    x = tf.constant([0.2, -0.4, 0.6])
    with tf.GradientTape() as tape:
        tape.watch(x)
        spread = tf.reduce_sum(rows(x) ** 2)
    return rows(x), tape.gradient(spread, x)


def a_hessian_row_by_row(tf, function):
    v = tf.Variable([[0.5, -1.0], [1.5, 0.25]])

    @function
    def hessian():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(tf.exp(v @ v) * tf.constant([[1.0, 2.0], [3.0, 4.0]]))
            g = inner.gradient(y, v)
        return outer.jacobian(g, v, experimental_use_pfor=False)

    return hessian()


def batch_jacobian_row_by_row(tf, function):
    @function
    def rows(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.stack([x[:, 0] * x[:, 1], tf.sin(x[:, 2]), tf.reduce_sum(x**3, 1)], axis=1)
        return tape.batch_jacobian(y, x, experimental_use_pfor=False)

    x = tf.constant(normal(11, 4, 3))
    with tf.GradientTape() as tape:
        tape.watch(x)
        spread = tf.reduce_sum(rows(x) ** 2)
    return rows(x), tape.gradient(spread, x)


def a_loop_over_a_dataset(tf, function):
    data = tf.data.Dataset.from_tensor_slices((normal(12, 7, 3), normal(13, 7))).batch(2)

    def loss(w):
        total, count = tf.constant(0.0), tf.constant(0)
        for x, y in data:
            total += tf.reduce_sum((tf.linalg.matvec(x, w) - y) ** 2 * tf.reduce_sum(w**2))
            count += tf.shape(x)[0]
        return total / tf.cast(count, tf.float32)

    w = tf.constant([0.3, -0.2, 0.1])
    with tf.GradientTape() as outer:
        outer.watch(w)
        with tf.GradientTape() as inner:
            inner.watch(w)
            y = function(loss)(w)
        first = inner.gradient(y, w)
    return y, first, outer.gradient(first, w)


def a_dataset_until_a_value(tf, function):
    data = tf.data.Dataset.range(20).map(lambda i: tf.cast(i, tf.float32) * 0.5)
    momentum = tf.Variable(1.0)

    @function
    def walk(limit):
        place, last = tf.constant(0.0), tf.constant(0, tf.int64)
        for step, x in data.enumerate():
            momentum.assign(0.9 * momentum + 0.1 * x)
            place += momentum * x
            last = step
            if place > limit:
                break
        return place, last

    return [walk(tf.constant(limit)) for limit in (3.0, 40.0)], momentum


def an_epoch_of_training(tf, function):
    data = tf.data.Dataset.from_tensor_slices({"x": uniform(14, 6, 2), "y": normal(15, 6)})
    weights, moment = tf.Variable([0.1, 0.2]), tf.Variable([0.0, 0.0])

    @function
    def epoch(rate):
        worst = tf.constant(0.0)
        for element in data.skip(1).batch(2, drop_remainder=True).repeat(2):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.linalg.matvec(element["x"], weights) - element["y"]) ** 2)
            moment.assign(0.5 * moment + tape.gradient(loss, weights))
            weights.assign_sub(rate * moment)
            worst = tf.maximum(worst, loss)
        return worst

    return [epoch(tf.constant(0.1)) for _ in range(2)], weights


def depthwise_filters(tf, function):
    images = tf.constant(normal(16, 2, 6, 5, 3))

    def score(filters):
        y = tf.nn.depthwise_conv2d(images, filters, [1, 2, 2, 1], "SAME")
        return tf.reduce_sum(tf.nn.relu(y) * y)

    return _orders(tf, function, score, tf.constant(normal(17, 3, 2, 3, 2)))


def depthwise_images_with_gaps(tf, function):
    filters = tf.constant(normal(18, 2, 2, 2, 3))

    def score(images):
        y = tf.nn.depthwise_conv2d(images, filters, [1, 1, 1, 1], "VALID", dilations=[2, 1])
        return tf.reduce_mean(tf.tanh(y) ** 2)

    return _orders(tf, function, score, tf.constant(normal(19, 1, 5, 4, 2)))


def separable_convolution(tf, function):
    images, mix = tf.constant(normal(20, 2, 5, 5, 2)), tf.constant(normal(21, 1, 1, 4, 3))

    def score(filters):
        y = tf.nn.separable_conv2d(images, filters, mix, [1, 1, 1, 1], "SAME")
        return tf.reduce_sum(tf.nn.softplus(y))

    return _orders(tf, function, score, tf.constant(normal(22, 3, 3, 2, 2)))


def a_matrix_for_each_component(tf, function):
    points = tf.constant(normal(23, 9, 1, 3))

    def likelihood(factors):
        distances = tf.reduce_sum(tf.linalg.matvec(factors, points) ** 2, -1)
        return tf.reduce_sum(tf.reduce_logsumexp(-0.5 * distances, -1))

    return _orders(tf, function, likelihood, tf.constant(normal(24, 4, 3, 3)))


def products_that_broadcast_both_ways(tf, function):
    other = tf.constant(normal(25, 3, 1, 4, 2))

    def total(x):
        return tf.reduce_sum(tf.sin(tf.matmul(x, other)))

    return _orders(tf, function, total, tf.constant(normal(26, 1, 5, 2, 4)))


def an_einsum_with_a_shared_batch(tf, function):
    weights = tf.constant(normal(27, 4, 3, 2))

    def total(x):
        return tf.reduce_sum(tf.einsum("...i,kij->...kj", x, weights) ** 3)

    return _orders(tf, function, total, tf.constant(0.5 * normal(28, 2, 5, 3)))
