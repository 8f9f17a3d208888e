"""TensorArrays: written in loops, read, stacked, gathered and concatenated."""

from .draws import normal


def written_in_a_for_loop(tf, function):
    x = tf.constant([1.0, 2.0])

    @function
    def f(x):
        ta = tf.TensorArray(tf.float32, size=3)
        for i in tf.range(3):
            ta = ta.write(i, x * tf.cast(i + 1, tf.float32))
        return ta.stack()

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, x)


def growing_in_a_while_loop(tf, function):
    x = tf.constant(1.3)

    @function
    def f(x):
        ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        i, y = tf.constant(0), x
        while y < 10.0:
            ta = ta.write(i, y)
            y = y * x + 0.5
            i += 1
        return ta.stack()

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        loss = tf.reduce_sum(y)
    return y, tape.gradient(loss, x)


def size_from_a_tensor(tf, function):
    xs = tf.constant(normal(0, 5, 2))

    @function
    def cumulative(xs):
        n = tf.shape(xs)[0]
        ta = tf.TensorArray(tf.float32, size=n)
        total = tf.zeros(2)
        for i in tf.range(n):
            total += xs[i]
            ta = ta.write(i, total)
        return ta.stack()

    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = tf.reduce_sum(cumulative(xs) ** 2)
    return y, tape.gradient(y, xs)


def discounted_returns(tf, function):
    rewards = tf.constant([1.0, 0.0, 2.0, -1.0])
    gamma = tf.Variable(0.9)

    @function
    def returns(rewards):
        n = tf.shape(rewards)[0]
        out = tf.TensorArray(tf.float32, size=n)
        rewards = rewards[::-1]
        total = tf.constant(0.0)
        shape = total.shape
        for i in tf.range(n):
            total = rewards[i] + gamma * total
            total.set_shape(shape)
            out = out.write(i, total)
        return out.stack()[::-1]

    with tf.GradientTape() as tape:
        tape.watch(rewards)
        y = returns(rewards)
        loss = tf.reduce_sum(y * tf.constant([1.0, 2.0, 3.0, 4.0]))
    return y, tape.gradient(loss, [rewards, gamma])


def two_arrays_in_one_loop(tf, function):
    w = tf.Variable(normal(0, 2, 2))
    xs = tf.constant(normal(1, 4, 2))

    @function
    def f(xs):
        hidden = tf.TensorArray(tf.float32, 4)
        norms = tf.TensorArray(tf.float32, 4)
        h = tf.zeros((1, 2))
        for t in tf.range(4):
            h = tf.tanh(h @ w + xs[t])
            hidden = hidden.write(t, h)
            norms = norms.write(t, tf.reduce_sum(h * h))
        return hidden.concat(), norms.stack()

    with tf.GradientTape() as tape:
        hidden, norms = f(xs)
        loss = tf.reduce_sum(norms) + tf.reduce_sum(hidden[-1])
    return hidden, norms, tape.gradient(loss, w)


def unstacked_and_gathered(tf, function):
    x = tf.constant(normal(0, 4, 2))

    @function
    def f(x):
        ta = tf.TensorArray(tf.float32, size=4).unstack(x)
        return ta.gather([3, 0, 3]) * ta.read(1)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def scattered(tf, function):
    x = tf.constant(normal(0, 3, 2))

    @function
    def f(x):
        ta = tf.TensorArray(tf.float32, size=3).scatter([2, 0, 1], x)
        return ta.stack() * tf.constant([[1.0], [2.0], [3.0]])

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def written_in_a_branch(tf, function):
    x = tf.constant([3.0, 4.0])

    @function
    def f(x, positive):
        ta = tf.TensorArray(tf.float32, size=2, element_shape=(2,))
        ta = ta.write(0, x)
        if positive:
            ta = ta.write(1, x * x)
        else:
            ta = ta.write(1, -x)
        return ta.stack()

    results = []
    for positive in (True, False):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(positive))
        results.append([y, tape.gradient(y, x)])
    return results


def rnn_with_state_from_the_array(tf, function):
    w, u = tf.Variable(0.5 * normal(0, 2, 3)), tf.Variable(0.5 * normal(1, 3, 3))
    xs = tf.constant(normal(2, 4, 1, 2))

    @function
    def run(xs):
        outputs = tf.TensorArray(tf.float32, size=4, clear_after_read=False)
        outputs = outputs.write(0, tf.tanh(xs[0] @ w))
        for t in range(1, 4):
            outputs = outputs.write(t, tf.tanh(xs[t] @ w + outputs.read(t - 1) @ u))
        return tf.transpose(outputs.stack(), [1, 0, 2])

    with tf.GradientTape() as tape:
        y = run(xs)
        loss = tf.reduce_mean(y[:, -1] ** 2)
    return y, tape.gradient(loss, [w, u])


def integers_and_floats(tf, function):
    @function
    def sampled(scores):
        choices = tf.TensorArray(tf.int64, size=3)
        best = tf.TensorArray(tf.float32, size=3)
        for i in tf.range(3):
            choices = choices.write(i, tf.argmax(scores[i]))
            best = best.write(i, tf.reduce_max(scores[i]))
        return choices.stack(), best.stack()

    scores = tf.constant(normal(0, 3, 4))
    with tf.GradientTape() as tape:
        tape.watch(scores)
        choices, best = sampled(scores)
    return choices, best, tape.gradient(best, scores)


def tapes_per_step(tf, function):
    w = tf.Variable([1.0, 2.0])

    @function
    def f(xs):
        gradients = tf.TensorArray(tf.float32, size=3)
        for i in tf.range(3):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(w * w * xs[i])
            gradients = gradients.write(i, tape.gradient(y, w))
        return gradients.stack()

    return f(tf.constant([1.0, 10.0, 100.0]))


def array_handed_to_a_helper(tf, function):
    def push(ta, i, x):
        return ta.write(i, tf.sin(x)), i + 1

    @function
    def f(x):
        ta, i = tf.TensorArray(tf.float32, size=0, dynamic_size=True, infer_shape=True), 0
        for scale in (1.0, 2.0, 3.0):
            ta, i = push(ta, i, x * scale)
        return ta.stack(), ta.size()

    x = tf.constant(0.3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, size = f(x)
    return y, size, tape.gradient(y, x)


def fibonacci_reads_elements_twice(tf):
    @tf.function
    def fibonacci(n, first, second):
        ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        ta = ta.unstack([first, second])
        for i in range(2, n):
            ta = ta.write(i, ta.read(i - 1) + ta.read(i - 2) * first)
        return ta.stack()

    first, second = tf.constant(0.5), tf.constant(1.0)
    with tf.GradientTape() as outer:
        outer.watch(first)
        with tf.GradientTape() as tape:
            tape.watch([first, second])
            numbers = fibonacci(7, first, second)
            last = numbers[-1]
        gradients = tape.gradient(last, [first, second])
    return numbers, gradients, outer.gradient(gradients[0], first), fibonacci(tf.constant(4), first, second)


def positive_values_appended(tf, function):
    @function
    def f(x):
        ta = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=())
        for i in tf.range(4):
            if x[i] > 0.0:
                ta = ta.write(ta.size(), x[i] * x[i])
        return ta.stack()

    x = tf.constant([1.0, -2.0, 3.0, -4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x), f(-x)
