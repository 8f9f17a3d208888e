"""Functions: arguments, closures, nesting, methods, retracing."""

import functools

from .draws import normal


def nested_functions(tf, function):
    w = tf.Variable(2.0)

    @function
    def inner(x):
        return w * x**2

    @function
    def outer(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x) + inner(2.0 * x)
        return y, tape.gradient(y, x)

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y, slope = outer(x)
        total = y + slope
    return y, slope, tape.gradient(total, w)


def structures_in_and_out(tf, function):
    @function
    def f(batch, scale=2.0):
        hidden = {"a": batch["x"] * scale, "b": [batch["y"][0] - 1.0, batch["y"][1]]}
        return hidden, tf.reduce_sum(hidden["a"]) + hidden["b"][0] * hidden["b"][1]

    batch = {"x": tf.constant([1.0, 2.0]), "y": (tf.constant(3.0), tf.constant(4.0))}
    with tf.GradientTape() as tape:
        tape.watch(batch)
        hidden, loss = f(batch, scale=3.0)
    return hidden, loss, tape.gradient(loss, batch)


def trace_count_and_python_side_effects(tf):
    traces = []

    @tf.function
    def f(x, times):
        traces.append(times)
        return x * times

    results = [
        f(tf.constant(1.0), 2),
        f(tf.constant(5.0), 2),
        f(tf.constant([1.0, 2.0]), 2),
        f(tf.constant(1.0), 3),
    ]
    return results, traces


def one_trace_for_new_numbers(tf):
    traces = []

    @tf.function
    def f(x):
        traces.append("trace")
        return x**2

    results = [f(tf.constant(float(i))) for i in range(4)]
    return results, traces


def closure_over_a_python_list_of_variables(tf, function):
    variables = [tf.Variable(float(i + 1)) for i in range(3)]

    @function
    def f(x):
        total = x
        for v in variables:
            total = total * v + 1.0
        return total

    with tf.GradientTape() as tape:
        y = f(tf.constant(2.0))
    return y, tape.gradient(y, variables)


def methods_of_two_objects(tf, function):
    class Scaler(tf.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = tf.Variable(factor)
            self.offset = factor * 10

        @function
        def __call__(self, x):
            return x * self.factor + self.offset

    a, b = Scaler(2.0), Scaler(3.0)
    with tf.GradientTape() as tape:
        y = a(tf.constant(1.0)) * b(tf.constant(2.0)) + a(tf.constant(4.0))
    return y, tape.gradient(y, [a.factor, b.factor])


def partial_and_lambda(tf, function):
    def power(x, n, shift):
        return (x + shift) ** n

    cube = function(functools.partial(power, n=3, shift=1.0))
    double = function(lambda x: 2.0 * x)
    x = tf.constant(1.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cube(double(x))
    return y, tape.gradient(y, x)


def variables_made_on_the_first_call(tf, function):
    class Dense(tf.Module):
        def __init__(self, units):
            super().__init__()
            self.units, self.w = units, None

        @function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.random.stateless_normal((x.shape[-1], self.units), seed=[1, 2]))
            return x @ self.w

    layer = Dense(2)
    x = tf.constant(normal(0, 2, 3))
    layer(x)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(layer(x) ** 2)
    return y, tape.gradient(y, layer.w), len(layer.trainable_variables)


def recursion_in_python(tf, function):
    @function
    def f(x, depth):
        def tree(x, depth):
            if depth == 0:
                return tf.sin(x)
            return tree(x * 0.5, depth - 1) * tree(x + 1.0, depth - 1)

        return tree(x, depth)

    x = tf.constant(0.8)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, 2)
    return y, tape.gradient(y, x)


def tape_across_two_functions(tf, function):
    w1, w2 = tf.Variable(normal(0, 2, 2)), tf.Variable(normal(1, 2, 1))

    @function
    def encode(x):
        return tf.tanh(x @ w1)

    @function
    def decode(h):
        return h @ w2

    x = tf.constant(normal(2, 3, 2))
    with tf.GradientTape(persistent=True) as tape:
        h = encode(x)
        tape.watch(h)
        y = tf.reduce_sum(decode(h) ** 2)
    return tape.gradient(y, [w1, w2]), tape.gradient(y, h), tape.gradient(h, w1)


def named_tuples_and_none(tf, function):
    import collections

    State = collections.namedtuple("State", "h extra count")

    @function
    def f(state):
        return State(state.h * 2.0, None, state.count + 1), state.h**2

    state = State(tf.constant([1.0, 2.0]), None, tf.constant(0))
    with tf.GradientTape() as tape:
        tape.watch(state.h)
        state2, y = f(state)
        state3, z = f(state2)
    return state3.h, state3.extra, state3.count, tape.gradient([y, z], state.h)


def function_that_returns_a_function_of_it(tf, function):
    def make(power):
        @function
        def f(x):
            return x**power

        return f

    fs = {p: make(p) for p in (1, 2, 3)}
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        ys = {p: f(x) for p, f in fs.items()}
    return {p: tape.gradient(y, x) for p, y in ys.items()}


def gradient_function_decorator(tf, function):
    def value_and_grad(f):
        @functools.wraps(f)
        def wrapped(x, *args):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x, *args)
            return y, tape.gradient(y, x)

        return wrapped

    @function
    @value_and_grad
    def loss(x, power):
        return tf.reduce_sum(x**power)

    return loss(tf.constant([1.0, 2.0]), 3), loss(tf.constant([1.0, 2.0]), 2)


def strings_as_options(tf, function):
    @function
    def f(x, activation):
        if activation == "relu":
            return tf.nn.relu(x)
        if activation == "tanh":
            return tf.tanh(x)
        return x

    x = tf.constant([-1.0, 0.5])
    results = {}
    for name in ("relu", "tanh", "linear"):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, name)
        results[name] = [y, tape.gradient(y, x)]
    return results


def assert_and_control_dependencies(tf, function):
    counter = tf.Variable(0)

    @function
    def f(x):
        tf.debugging.assert_greater(x, 0.0)
        with tf.control_dependencies([counter.assign_add(1)]):
            return tf.identity(x) * tf.cast(counter, tf.float32)

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x) + f(x)
    return y, tape.gradient(y, x), counter


def vectorized_map_of_gradients(tf, function):
    w = tf.constant(normal(0, 3))

    @function
    def f(xs):
        def slope(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.sin(w * x))
            return tape.gradient(y, x)

        return tf.vectorized_map(slope, xs)

    return f(tf.constant(normal(1, 4, 3)))
