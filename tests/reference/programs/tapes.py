"""The tape itself: what it watches, when it may be asked, what it answers."""

from .draws import normal


def gradient_asked_inside_the_block(tf, function):
    x = tf.constant(3.0)

    @function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x**3
            slope = tape.gradient(y, x)
            z = slope * x
        return slope, tape.gradient(z, x)

    return f(x)


def only_one_of_two_inputs_watched(tf, function):
    @function
    def f(a, b):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = a * b
        return tape.gradient(y, [a, b])

    return f(tf.constant(2.0), tf.constant(5.0))


def several_targets_are_summed(tf, function):
    x = tf.constant([1.0, 2.0])

    @function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            ys = {"a": x**2, "b": [tf.sin(x), tf.reduce_sum(x)]}
        return tape.gradient(ys, x), tape.gradient(ys["b"], x)

    return f(x)


def gradient_by_an_intermediate(tf, function):
    x = tf.constant([1.0, 2.0])

    @function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            h = tf.exp(x)
            y = tf.reduce_sum(h * x)
        return tape.gradient(y, h), tape.gradient(y, x), tape.gradient(h, x)

    return f(x)


def two_tapes_of_different_extent(tf, function):
    v = tf.Variable(2.0)

    @function
    def f():
        with tf.GradientTape() as long:
            a = v * 3.0
            with tf.GradientTape() as short:
                short.watch(a)
                b = a**2
            c = b + v
        return long.gradient(c, v), short.gradient(b, [v, a])

    return f()


def target_that_is_the_source(tf, function):
    x = tf.constant([1.0, 2.0])

    @function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.identity(x)
        return tape.gradient(x, x), tape.gradient(y, x), tape.gradient(x, y)

    return f(x)


def integers_and_booleans_have_none(tf, function):
    x = tf.constant([1.5, 2.5])

    @function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            index = tf.argmax(x)
            rounded = tf.floor(x)
            mask = tf.cast(x > 2.0, tf.float32)
            y = x * mask
        return tape.gradient(rounded, x), tape.gradient(mask, x), tape.gradient(y, x), index

    return f(x)


def ties_share_or_choose(tf, function):
    x = tf.constant([1.0, 3.0, 3.0, 2.0])

    @function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            parts = {
                "max": tf.reduce_max(x),
                "maximum": tf.maximum(x, 3.0),
                "minimum": tf.minimum(x, x),
                "relu": tf.nn.relu(x - 3.0),
                "abs": tf.abs(x - 3.0),
                "clip": tf.clip_by_value(x, 1.0, 3.0),
                "sort": tf.sort(x)[2],
                "pool": tf.nn.max_pool1d(x[None, :, None], 2, 1, "VALID"),
            }
        return {name: tape.gradient(y, x) for name, y in parts.items()}

    return f(x)


def edges_of_the_domain(tf, function):
    x = tf.constant([0.0, 1.0])

    @function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            parts = {
                "sqrt": tf.sqrt(x),
                "no_nan": tf.math.divide_no_nan(x, tf.zeros_like(x)),
                "xlogy": tf.math.xlogy(2.0, x + 1.0),
                "power": x**2.0,
                "reciprocal": tf.math.reciprocal_no_nan(x),
                "prod": tf.reduce_prod(x),
                "logsumexp": tf.reduce_logsumexp(x * 1e3),
                "softplus": tf.nn.softplus(x * 100.0),
            }
        return parts, {name: tape.gradient(y, x) for name, y in parts.items()}

    return f(x)


def reductions_over_axes(tf, function):
    x = tf.constant(normal(0, 2, 3, 2))

    @function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            parts = {
                "std": tf.math.reduce_std(x, axis=[0, 2]),
                "norm": tf.norm(x, axis=-1),
                "cumprod": tf.math.cumprod(x, axis=1, reverse=True),
                "logcumsum": tf.math.cumulative_logsumexp(x, axis=1, exclusive=False),
                "min": tf.reduce_min(x, axis=1, keepdims=True),
            }
        return {name: tape.gradient(y, x) for name, y in parts.items()}

    return f(x)


def watched_in_the_middle(tf):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        before = x * x
        tape.watch(x)
        y = before * x
    return tape.gradient(y, x)


def tape_kept_in_an_object(tf):
    class Trainer:
        def __enter__(self):
            self.tape = tf.GradientTape()
            self.tape.__enter__()
            return self

        def __exit__(self, *error):
            self.tape.__exit__(*error)

    v, trainer = tf.Variable(1.5), Trainer()
    gradients = []
    for _ in range(2):
        with trainer:
            y = tf.exp(v)
        gradients.append(trainer.tape.gradient(y, v))
        v.assign_sub(0.1)
    return gradients
