"""Which training example made the model say that?"""

from .draws import normal


def _setting(tf):
    x, y = tf.constant(normal(0, 6, 2)), tf.constant([1.0, 0, 1, 1, 0, 0])
    return x, y, tf.Variable([0.4, -0.3]), tf.constant(normal(1, 1, 2)), tf.constant([1.0])


def _loss(tf, w, x, y):
    return tf.nn.sigmoid_cross_entropy_with_logits(y, tf.linalg.matvec(x, w))


def influence_function(tf, function):
    x, y, w, test_x, test_y = _setting(tf)

    @function
    def influences():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean(_loss(tf, w, x, y)) + 0.05 * tf.reduce_sum(w**2)
            gradient = inner.gradient(loss, w)
        hessian = outer.jacobian(gradient, w)
        with tf.GradientTape(persistent=True) as tape:
            test = tf.reduce_mean(_loss(tf, w, test_x, test_y))
            each = _loss(tf, w, x, y)
        direction = tf.linalg.solve(hessian, tape.gradient(test, w)[:, None])
        return -(tape.jacobian(each, w) @ direction)[:, 0]

    return influences()


def inverse_hessian_by_neumann(tf, function):
    x, y, w, _, _ = _setting(tf)

    @function
    def solve(v):
        estimate = v
        for _ in range(5):
            with tf.GradientTape() as outer:
                with tf.GradientTape() as inner:
                    loss = tf.reduce_mean(_loss(tf, w, x, y)) + 0.1 * tf.reduce_sum(w**2)
                product = tf.reduce_sum(inner.gradient(loss, w) * estimate)
            estimate = v + estimate - outer.gradient(product, w)
        return estimate

    return solve(tf.constant([1.0, -1.0]))


def tracin_over_checkpoints(tf, function):
    x, y, w, test_x, test_y = _setting(tf)

    @function
    def scores():
        with tf.GradientTape(persistent=True) as tape:
            each = _loss(tf, w, x, y)
            test = tf.reduce_mean(_loss(tf, w, test_x, test_y))
        return tf.linalg.matvec(tape.jacobian(each, w), tape.gradient(test, w))

    total = tf.zeros(6)
    for _ in range(3):
        total += 0.1 * scores()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(_loss(tf, w, x, y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    return total, w


def gradient_of_a_training_step_by_the_data(tf, function):
    x, y, w, test_x, test_y = _setting(tf)

    @function
    def sensitivity(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean(_loss(tf, w, x, y))
            updated = w - 0.5 * inner.gradient(loss, w)
            test = tf.reduce_mean(_loss(tf, updated, test_x, test_y))
        return test, outer.gradient(test, x)

    return sensitivity(x)


def learned_example_weights(tf, function):
    x, y, w, test_x, test_y = _setting(tf)

    @function
    def weights():
        eps = tf.zeros(6)
        with tf.GradientTape() as outer:
            outer.watch(eps)
            with tf.GradientTape() as inner:
                loss = tf.reduce_sum(eps * _loss(tf, w, x, y))
            updated = w - inner.gradient(loss, w)
            meta = tf.reduce_mean(_loss(tf, updated, test_x, test_y))
        g = tf.nn.relu(-outer.gradient(meta, eps))
        return tf.math.divide_no_nan(g, tf.reduce_sum(g))

    return weights()
