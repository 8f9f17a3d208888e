"""Random numbers that depend on seeds alone."""

from .draws import normal


def stateless_draws(tf, function):
    @function
    def f(seed):
        return (
            tf.random.stateless_normal((3,), seed),
            tf.random.stateless_uniform((3,), seed, minval=-1.0, maxval=2.0),
            tf.random.stateless_uniform((4,), seed, minval=0, maxval=10, dtype=tf.int32),
            tf.random.stateless_truncated_normal((3,), seed),
        )

    return f(tf.constant([1, 2])), f(tf.constant([3, 4]))


def global_seed(tf):
    tf.random.set_seed(42)
    first = [tf.random.normal((2,)), tf.random.uniform((2,)), tf.random.normal((2,), seed=3)]
    tf.random.set_seed(42)
    again = [tf.random.normal((2,)), tf.random.uniform((2,)), tf.random.normal((2,), seed=3)]
    return first, again


def generator_inside_a_function(tf, function):
    generator = tf.random.Generator.from_seed(7)

    @function
    def f():
        return generator.normal((2,)), generator.uniform((2,))

    return f(), f(), generator.normal((1,))


def generator_split_and_reset(tf):
    generator = tf.random.Generator.from_seed(1)
    children = generator.split(2)
    values = [child.normal((2,)) for child in children]
    generator.reset_from_seed(1)
    return values, generator.normal((2,)), generator.uniform((2,), 0, 100, tf.int32)


def dropout_by_a_stateless_mask(tf, function):
    w = tf.Variable(normal(0, 4, 3))
    x = tf.constant(normal(1, 2, 4))

    @function
    def f(seed):
        with tf.GradientTape() as tape:
            h = tf.nn.experimental.stateless_dropout(tf.tanh(x @ w), rate=0.4, seed=seed)
            loss = tf.reduce_sum(h**2)
        return h, tape.gradient(loss, w)

    return f(tf.constant([0, 1])), f(tf.constant([5, 6]))


def reparameterization(tf, function):
    mean, rho = tf.Variable([0.5, -0.5]), tf.Variable([0.0, 1.0])

    @function
    def f(seed):
        with tf.GradientTape() as tape:
            z = mean + tf.nn.softplus(rho) * tf.random.stateless_normal((10, 2), seed=seed)
            loss = tf.reduce_mean(tf.reduce_sum(z**2, axis=1))
        return loss, tape.gradient(loss, [mean, rho])

    return f(tf.constant([9, 9]))


def draws_in_both_branches(tf, function):
    x = tf.constant([1.0, 2.0])

    @function
    def f(x, flag):
        if flag:
            y = x * tf.random.stateless_normal((2,), seed=[1, 1])
        else:
            y = x**2 * tf.random.stateless_uniform((2,), seed=[2, 2])
        return y

    results = []
    for flag in (True, False):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(flag))
        results.append([y, tape.gradient(y, x)])
    return results


def categorical_samples(tf, function):
    logits = tf.constant(normal(0, 2, 4))

    @function
    def f():
        return tf.random.stateless_categorical(logits, 6, seed=[4, 2])

    return f()


def seeds_folded_and_split(tf, function):
    @function
    def f(step):
        seed = tf.random.fold_in([5, 6], step)
        a, b = tf.unstack(tf.random.split(seed, 2))
        return seed, tf.random.stateless_normal((2,), a), tf.random.stateless_normal((2,), b)

    return f(tf.constant(0)), f(tf.constant(3))


def monte_carlo_in_a_loop(tf, function):
    scale = tf.Variable(0.7)

    @function
    def estimate(n):
        total = tf.constant(0.0)
        for i in tf.range(n):
            z = tf.random.stateless_normal((), seed=tf.stack([i, 0]))
            total += tf.exp(scale * z) / tf.cast(n, tf.float32)
        return total

    with tf.GradientTape() as tape:
        y = estimate(6)
    return y, tape.gradient(y, scale)


def initializers_with_seeds(tf):
    names = ("GlorotUniform", "HeNormal", "RandomNormal", "TruncatedNormal")
    return {name: getattr(tf.initializers, name)(seed=3)((2, 3)) for name in names}


def shuffled_by_argsort(tf, function):
    x = tf.constant(normal(0, 5))

    @function
    def f(x, seed):
        order = tf.argsort(tf.random.stateless_uniform((5,), seed))
        return tf.gather(x, order), order

    with tf.GradientTape() as tape:
        tape.watch(x)
        y, order = f(x, tf.constant([1, 3]))
        loss = tf.reduce_sum(y * tf.range(5.0))
    return y, order, tf.convert_to_tensor(tape.gradient(loss, x))
