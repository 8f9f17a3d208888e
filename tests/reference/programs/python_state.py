"""Python objects changed before, in and after what is compiled."""

import numpy as np

from .draws import normal


def _value_and_gradient(tf, f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def counter_in_an_attribute(tf, function):
    class Layer:
        def __init__(self):
            self.scale = 2.0
            self.cache = {}

        @function
        def __call__(self, x):
            if tf.reduce_sum(x) > 0.0:
                y = x * x * self.scale
            else:
                y = x / self.scale
            return y

    layer = Layer()
    return [_value_and_gradient(tf, layer, tf.constant(v)) for v in ([1.0, 2.0], [-1.0, -2.0])]


def dict_rebuilt_inside_a_loop(tf, function):
    @function
    def f(x):
        state = {"h": x, "c": tf.zeros_like(x)}
        for _ in tf.range(3):
            state = {"h": tf.tanh(state["h"] + state["c"]), "c": state["c"] + state["h"]}
        state["h"] = state["h"] * 2.0
        return state["h"] + state["c"]

    return _value_and_gradient(tf, f, tf.constant([0.2, -0.4]))


def list_of_layers_popped_after_use(tf, function):
    @function
    def f(x):
        weights = [x, 2.0 * x, 3.0 * x]
        out = tf.zeros_like(x)
        while weights:
            w = weights.pop()
            if tf.reduce_sum(w) > 2.0:
                out = out + w * w
            else:
                out = out - w
        return out

    return _value_and_gradient(tf, f, tf.constant([0.4, 0.5]))


def object_replaced_after_a_loop(tf, function):
    class State:
        pass

    @function
    def f(x):
        state = State()
        state.factor = x[0]
        total = tf.zeros_like(x)
        for i in tf.range(3):
            total = total + state.factor * x * tf.cast(i, tf.float32)
        state.factor = tf.constant(0.0)
        return total + state.factor

    return _value_and_gradient(tf, f, tf.constant([0.5, 2.0]))


def closure_variable_rebound(tf, function):
    @function
    def f(x):
        scale = 2.0

        def apply(v):
            return v * scale

        if tf.reduce_sum(x) > 0.0:
            y = apply(x) ** 2
        else:
            y = apply(x)
        scale = 100.0
        return y + 0.0 * scale

    return _value_and_gradient(tf, f, tf.constant([1.0, 2.0]))


def optimizer_state_in_a_dict(tf, function):
    @function
    def train(x):
        state = {"x": x, "m": tf.zeros_like(x), "t": tf.constant(0)}
        for _ in tf.range(4):
            with tf.GradientTape() as tape:
                tape.watch(state["x"])
                loss = tf.reduce_sum(state["x"] ** 4)
            state["m"] = 0.9 * state["m"] + tape.gradient(loss, state["x"])
            state["x"] = state["x"] - 0.05 * state["m"]
            state["t"] = state["t"] + 1
        return state["x"], state["t"]

    x = tf.constant([1.0, -0.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, t = train(x)
    return y, t, tape.gradient(y, x)


def numpy_draws_are_made_while_tracing(tf):
    draws = np.random.RandomState(0)

    @tf.function
    def f(x):
        noise = draws.randn(2).astype("float32")
        return x * noise

    x = tf.constant([1.0, 1.0])
    first, gradient = _value_and_gradient(tf, f, x)
    again, _ = _value_and_gradient(tf, f, x)
    return first, gradient, bool(np.all(first == again))


def iterator_advanced_in_both_branches(tf):
    """Both branches are traced, the true one first; each takes one number from the iterator."""
    numbers = iter([2.0, 3.0, 5.0, 7.0])

    @tf.function
    def f(x):
        if tf.reduce_sum(x) > 0.0:
            y = x * next(numbers)
        else:
            y = x * x * next(numbers)
        return y

    return [_value_and_gradient(tf, f, tf.constant(v)) for v in ([1.0, 2.0], [-1.0, -2.0])]


def appended_while_tracing(tf):
    log = []

    @tf.function
    def f(x, mode):
        log.append(f"trace {mode}")
        if mode == "square":
            return x * x
        return x + 1.0

    x = tf.constant(3.0)
    results = [f(x, "square"), f(x, "plus"), f(x, "square"), f(tf.constant([1.0, 2.0]), "plus")]
    return results, log


def branch_function_with_default_arguments(tf, function):
    @function
    def f(x):
        results = []
        for power in (1, 2, 3):
            results.append(tf.cond(x[0] > 0.0, lambda p=power: x**p, lambda p=power: -(x ** (p + 1))))
        return tf.add_n(results)

    return [_value_and_gradient(tf, f, tf.constant(v)) for v in ([1.0, 2.0], [-1.0, 2.0])]


def late_binding_lambdas_in_a_list(tf, function):
    @function
    def f(x):
        branches = [lambda: x * k for _ in range(2)]
        k = 3.0
        y = tf.switch_case(tf.constant(1), branches)
        k = 50.0
        return y

    return _value_and_gradient(tf, f, tf.constant([1.0, 2.0]))


def history_returned_from_a_loop_in_python(tf, function):
    @function
    def f(x):
        history = {"values": [], "signs": []}
        for k in range(4):
            if tf.reduce_sum(x) > float(k):
                x = x * 0.8
            else:
                x = x + 0.5
            history["values"].append(x)
            history["signs"].append(tf.sign(x[0]))
        return tf.stack(history["values"]), tf.stack(history["signs"])

    x = tf.constant([1.0, 1.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        values, signs = f(x)
    return values, signs, tape.gradient(values, x)


def attribute_of_a_module_as_state_of_a_loop(tf, function):
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(0.5 * normal(0, 2, 2))
            self.h = None

        @function
        def __call__(self, xs):
            self.h = tf.zeros((1, 2))
            for t in range(3):
                self.h = tf.tanh(xs[t] + self.h @ self.w)
            out = self.h
            self.h = None
            return out

    net = Net()
    with tf.GradientTape() as tape:
        y = net(tf.constant(normal(1, 3, 1, 2)))
    return y, tape.gradient(y, net.w)


def global_configuration_read_at_trace_time(tf):
    config = {"slope": 0.1}

    @tf.function
    def leaky(x):
        if tf.reduce_sum(x) > 0.0:
            y = x
        else:
            y = config["slope"] * x
        return y

    x = tf.constant([-1.0, -2.0])
    before = _value_and_gradient(tf, leaky, x)
    config["slope"] = 0.5
    return before, _value_and_gradient(tf, leaky, x)


def set_of_visited_and_tuple_state(tf, function):
    @function
    def f(x):
        visited, state = set(), (x, x * 2.0)
        for name in ("a", "b", "a", "c"):
            if name in visited:
                continue
            visited.add(name)
            a, b = state
            if tf.reduce_sum(a) > 1.0:
                state = (b, a * 0.5)
            else:
                state = (a + b, b)
        return state

    x = tf.constant([0.2, 0.3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b = f(x)
        loss = tf.reduce_sum(a * b)
    return a, b, tape.gradient(loss, x)
