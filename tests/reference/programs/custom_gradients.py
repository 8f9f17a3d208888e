"""Gradients by hand: custom_gradient, stop_gradient, recompute_grad, straight-through estimators."""

from .draws import normal


def log1pexp(tf, function):
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)

        def grad(upstream):
            return upstream * (1.0 - 1.0 / (1.0 + e))

        return tf.math.log(1.0 + e), grad

    @function
    def f(x):
        return log1pexp(x)

    x = tf.constant([0.0, 2.0, 100.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def clipped_backwards(tf, function):
    @tf.custom_gradient
    def clip_gradient(x):
        return tf.identity(x), lambda dy: tf.clip_by_norm(dy, 0.5)

    v = tf.Variable([2.0, 3.0])

    @function
    def gradient():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(clip_gradient(v * v) ** 2)
        return tape.gradient(loss, v)

    return gradient()


def gradient_reversal(tf, function):
    @tf.custom_gradient
    def reverse(x):
        return tf.identity(x), lambda dy: -0.3 * dy

    features, head, domain = (
        tf.Variable(normal(0, 3, 2)),
        tf.Variable(normal(1, 2, 1)),
        tf.Variable(normal(2, 2, 1)),
    )
    x = tf.constant(normal(3, 4, 3))

    @function
    def gradients():
        with tf.GradientTape() as tape:
            h = tf.tanh(x @ features)
            loss = tf.reduce_mean((h @ head) ** 2) + tf.reduce_mean((reverse(h) @ domain - 1.0) ** 2)
        return loss, tape.gradient(loss, [features, head, domain])

    return gradients()


def straight_through_sign(tf, function):
    @tf.custom_gradient
    def binarize(x):
        return tf.sign(x), lambda dy: dy * tf.cast(tf.abs(x) <= 1.0, dy.dtype)

    w = tf.Variable([0.5, -2.0, 0.1])

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((binarize(w) - tf.constant([-1.0, 1.0, 1.0])) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return [step() for _ in range(4)], w


def with_a_variable_inside(tf, function):
    scale = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x):
        y = x * scale

        def grad(dy, variables=None):
            return dy * 10.0, [tf.reduce_sum(dy * x) for _ in variables]

        return y, grad

    @function
    def f(x):
        return scaled(x)

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, [x, scale])


def two_inputs_two_outputs(tf, function):
    @tf.custom_gradient
    def polar(x, y):
        r = tf.sqrt(x * x + y * y)

        def grad(dr, dangle):
            return dr * x / r - dangle * y / r**2, dr * y / r + dangle * x / r**2

        return (r, tf.atan2(y, x)), grad

    @function
    def f(x, y):
        return polar(x, y)

    x, y = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        r, angle = f(x, y)
    return r, angle, tape.gradient(r, [x, y]), tape.gradient(angle, [x, y]), tape.gradient([r, angle], [x, y])


def second_order_of_a_custom_gradient(tf, function):
    @tf.custom_gradient
    def cube(x):
        return x**3, lambda dy: dy * 3.0 * x**2

    @function
    def f(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = cube(x)
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    return f(tf.constant(2.0))


def recomputed_block(tf, function):
    w = tf.Variable(normal(0, 3, 3))

    @tf.recompute_grad
    def block(x):
        return tf.tanh(x @ w) @ w

    @function
    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(block(block(x)) ** 2)
        return loss, tape.gradient(loss, [x, w])

    return gradients(tf.constant(normal(1, 2, 3)))


def implicit_function(tf, function):
    """sqrt as the root of y * y = x: the gradient from the equation, not from the iterations."""

    @tf.custom_gradient
    def root(x):
        y = tf.ones_like(x)
        for _ in range(20):
            y = 0.5 * (y + x / y)
        return y, lambda dy: dy / (2.0 * y)

    @function
    def f(x):
        return root(x)

    x = tf.constant([4.0, 9.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(f(x) ** 2)
    return y, tape.gradient(y, x)


def stop_gradient_inside(tf, function):
    x = tf.constant([1.0, 2.0])

    @function
    def f(x):
        a = tf.stop_gradient(x * x)
        return a * x + tf.stop_gradient(a)

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        z = tf.stop_gradient(x)
    return y, tape.gradient(y, x), tape.gradient(z, x)


def pass_through(tf, function):
    x = tf.Variable([1.2, 2.7])

    @function
    def gradient():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.grad_pass_through(tf.round)(x) * tf.constant([1.0, 3.0]))
        return y, tape.gradient(y, x)

    return gradient()


def none_from_a_custom_gradient(tf, function):
    @tf.custom_gradient
    def first_only(a, b):
        return a * b, lambda dy: (dy * b, None)

    @function
    def f(a, b):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = first_only(a, b)
        return tape.gradient(y, [a, b])

    return f(tf.constant(2.0), tf.constant(5.0))


def fake_quantization(tf, function):
    @tf.custom_gradient
    def quantize(x, step):
        levels = tf.round(x / step)

        def grad(dy):
            inside = tf.cast(tf.abs(levels) <= 4.0, dy.dtype)
            return dy * inside, tf.reduce_sum(dy * (levels - x / step) * inside)

        return tf.clip_by_value(levels, -4.0, 4.0) * step, grad

    x, step = tf.constant(normal(0, 5)), tf.Variable(0.3)

    @function
    def f():
        with tf.GradientTape() as tape:
            tape.watch(x)
            q = quantize(x, step)
            loss = tf.reduce_sum((q - x) ** 2)
        return q, tape.gradient(loss, [x, step])

    return f()
