"""Tapes around tapes."""

from .draws import normal


def third_derivative(tf, function):
    @function
    def f(x):
        with tf.GradientTape() as t3:
            t3.watch(x)
            with tf.GradientTape() as t2:
                t2.watch(x)
                with tf.GradientTape() as t1:
                    t1.watch(x)
                    y = tf.sin(x) * x**2
                first = t1.gradient(y, x)
            second = t2.gradient(first, x)
        return y, first, second, t3.gradient(second, x)

    return f(tf.constant([0.5, 2.0]))


def hessian_of_a_network(tf, function):
    w = tf.Variable(normal(0, 2, 2))
    x = tf.constant(normal(1, 3, 2))

    @function
    def hessian():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean(tf.tanh(x @ w) ** 2)
            gradient = inner.gradient(loss, w)
        return gradient, outer.jacobian(gradient, w)

    return hessian()


def hessian_of_a_relu_network(tf, function):
    w, v = tf.Variable(normal(0, 2, 3)), tf.Variable(normal(1, 3))
    x = tf.constant(normal(2, 4, 2))

    @function
    def hessians():
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean(tf.linalg.matvec(tf.nn.relu(x @ w), v) ** 2)
            gw, gv = inner.gradient(loss, [w, v])
        return outer.jacobian(gw, w), outer.jacobian(gv, v), outer.jacobian(gw, v)

    return hessians()


def hessian_vector_products(tf, function):
    x, v = tf.constant([1.0, 2.0, 3.0]), tf.constant([0.5, -1.0, 0.0])

    def f(x):
        return tf.reduce_sum(x**3) * x[0] + tf.exp(x[1] * 0.1)

    @function
    def back_over_back(x, v):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            product = tf.reduce_sum(inner.gradient(y, x) * v)
        return outer.gradient(product, x)

    @function
    def forward_over_back(x, v):
        with tf.autodiff.ForwardAccumulator(x, v) as accumulator:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            gradient = tape.gradient(y, x)
        return accumulator.jvp(gradient)

    return back_over_back(x, v), forward_over_back(x, v)


def gradient_penalty_reaches_the_bias(tf, function):
    w, b = tf.Variable(normal(0, 2, 3)), tf.Variable(normal(1, 3))
    x = tf.constant(normal(2, 4, 2))

    @function
    def gradients(activation):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(activation(x @ w + b))
            penalty = tf.reduce_mean(inner.gradient(y, x) ** 2)
        return penalty, outer.gradient(penalty, [w, b])

    return gradients(tf.nn.softplus), gradients(tf.nn.relu), gradients(tf.nn.leaky_relu)


def mixed_partials_of_a_persistent_tape(tf, function):
    x, y = tf.constant(1.5), tf.constant(0.5)

    @function
    def f(x, y):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x, y])
            with tf.GradientTape() as inner:
                inner.watch([x, y])
                z = x**2 * y**3 + tf.sin(x * y)
            dx, dy = inner.gradient(z, [x, y])
        return outer.gradient(dx, [x, y]), outer.gradient(dy, [x, y])

    return f(x, y)


def gradient_of_a_gradient_norm(tf, function):
    w = tf.Variable(normal(0, 3))

    @function
    def step():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_sum(tf.cosh(w)) + w[0] * w[1]
            norm = tf.norm(inner.gradient(loss, w))
        w.assign_sub(0.1 * outer.gradient(norm, w))
        return norm

    return [step() for _ in range(3)], w


def inner_tape_in_a_function_outer_outside(tf, function):
    w = tf.Variable([1.0, 2.0])

    @function
    def slope(x):
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(w * x**3)
        return inner.gradient(y, x)

    x = tf.constant([0.5, -1.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        s = slope(x)
        total = tf.reduce_sum(s**2)
    return s, outer.gradient(total, [x, w])


def second_order_of_max_pooling(tf, function):
    x = tf.constant(normal(0, 1, 4, 4, 1))

    @function
    def f(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.nn.max_pool2d(x, 2, 2, "VALID") ** 3)
            g = inner.gradient(y, x)
        return g, outer.gradient(g, x)

    return f(x)


def taylor_series_by_tapes(tf):
    x = tf.Variable(0.3, dtype=tf.float64)
    tapes, values = [tf.GradientTape() for _ in range(5)], []
    for tape in tapes:
        tape.__enter__()
    y = tf.exp(tf.sin(x))
    values.append(y)
    for tape in reversed(tapes):
        tape.__exit__(None, None, None)
        y = tape.gradient(y, x)
        values.append(y)
    return values


def second_order_zero_and_none(tf, function):
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])

    @function
    def f(x, y):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x, y])
            with tf.GradientTape() as inner:
                inner.watch([x, y])
                z = tf.reduce_sum(x * x + 2.0 * y)
            dx, dy = inner.gradient(z, [x, y])
        return outer.gradient(dx, [x, y]), outer.gradient(dy, [x, y]), dy

    return f(x, y)


def laplacian_of_a_product_of_cosines(tf, function):
    @function
    def laplacian(points):
        with tf.GradientTape() as outer:
            outer.watch(points)
            with tf.GradientTape() as inner:
                inner.watch(points)
                u = tf.reduce_prod(tf.cos(points), axis=1)
            gradient = inner.gradient(u, points)
        return tf.linalg.trace(outer.batch_jacobian(gradient, points))

    return laplacian(tf.constant(normal(0, 4, 3)))
