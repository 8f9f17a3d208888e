"""Programs as people write them, each with a page. The lines are those that the pages show."""

import gradtape as tf


def network(path):
    """A small network, with a broken path and a variable that nothing uses."""
    x = tf.random.stateless_normal([8, 3], seed=[1, 2])
    t = tf.random.stateless_normal([8, 2], seed=[3, 4])
    w1 = tf.Variable(tf.random.stateless_normal([3, 12], seed=[5, 6]))
    b1 = tf.Variable(tf.zeros([12]))
    w2 = tf.Variable(tf.random.stateless_normal([12, 2], seed=[7, 8]))
    scale, unused = tf.Variable(1.5), tf.Variable(2.0)

    def layer(x, w, b=0.0):
        return tf.tanh(tf.matmul(x, w) + b)

    with tf.debugging.trace_origins(values=True), tf.GradientTape(persistent=True) as tape:
        hidden = layer(x, w1, b1)
        out = layer(hidden, w2) * scale
        error = out - t
        penalty = tf.reduce_sum(tf.stop_gradient(w2) ** 2)
        loss = tf.reduce_mean(error * error) + 0.01 * penalty
    sources = [w1, b1, w2, scale, unused]
    tape.show(loss, sources, path=path)
    return tape.gradient(loss, sources)


def used_twice(path):
    """Contributions that add up."""
    x = tf.Variable(3.0)
    with tf.debugging.trace_origins(values=True), tf.GradientTape(persistent=True) as tape:
        y = x * x + tf.tanh(x)
    tape.show(y, x, path=path)
    return tape.gradient(y, [x])


def second_order(path):
    """A tape inside a tape."""
    x = tf.Variable([0.5, 2.0])
    with tf.debugging.trace_origins(values=True), tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(tf.exp(x) * x)
        g = inner.gradient(y, x)
    outer.show(g, x, path=path)
    return [outer.jacobian(g, x)]


def roots(path):
    """An infinite gradient."""
    x = tf.Variable([0.0, 4.0])
    with tf.debugging.trace_origins(values=True), tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.sqrt(x))
    tape.show(y, x, path=path)
    return tape.gradient(y, [x])


def marked(path):
    """A gradient that explodes, one that vanishes, and a large value."""
    x, w = tf.Variable([1.0, 2.0]), tf.Variable(tf.random.stateless_normal([40, 60], seed=[1, 2]))
    with tf.GradientTape(persistent=True) as tape:
        large = tf.reduce_sum(x * 1e6)
        y = large + tf.reduce_sum(tf.tanh(w * 100.0)) * 1e-9
    tape.show(y, [x, w], path=path)
    return tape.gradient(y, [x, w])


def compiled(path):
    """A function that XLA compiled."""
    w = tf.Variable([0.5, 2.0])

    @tf.function
    def model(x):
        return tf.tanh(x * w) * w

    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(model(tf.constant([1.0, -1.0])))
    tape.show(y, w, path=path)
    return tape.gradient(y, [w])


def hostile(path):
    """Texts that would be HTML."""
    evil = tf.Variable(2.0, name="<img src=x onerror=alert(1)>")
    things = {"</script><script>document.title='broken'</script>": evil}
    with tf.debugging.trace_origins(values=True), tf.GradientTape(persistent=True) as tape:
        y = things["</script><script>document.title='broken'</script>"] * 3.0
    tape.show(y, list(things.values()), path=path)
    return tape.gradient(y, [evil])


def large(path, operations=10_000):
    """Many operations, in a loop."""
    w = tf.Variable(tf.random.stateless_normal([4, 4], seed=[1, 2]) * 0.5)
    x = tf.random.stateless_normal([3, 4], seed=[3, 4])
    with tf.GradientTape(persistent=True) as tape:
        h = x
        for _ in range(operations // 4):
            h = tf.tanh(h @ w) * 1.1 + x
        loss = tf.reduce_sum(h)
    tape.show(loss, w, path=path)
    return tape.gradient(loss, [w])
