"""AutoGraph: if, for, while, break, continue and early return, with Python state before, in and after them."""

from .draws import normal


def dict_changed_after_a_branch(tf, function):
    x = tf.constant([0.3, 0.6])

    @function
    def f(x):
        d = {"u": x * 3.0}
        if tf.reduce_sum(x) > 0:
            b = d["u"] ** 2
        else:
            b = d["u"]
        d["u"] = d["u"] * 10.0
        return b

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def list_appended_around_a_branch(tf, function):
    x = tf.constant([1.0, -2.0])

    @function
    def f(x):
        parts = [x]
        if tf.reduce_max(x) > 0.5:
            y = parts[-1] * 2.0
        else:
            y = parts[-1] - 1.0
        parts.append(y * y)
        parts[0] = tf.zeros_like(x)
        return y + parts[-1] + parts[0]

    results = []
    for scale in (1.0, 0.1):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(scale * x)
        results.append([y, tape.gradient(y, x)])
    return results


def attribute_changed_in_a_branch(tf, function):
    class Cell:
        def __init__(self):
            self.h = tf.constant([0.5, 0.5])

        @function
        def __call__(self, x):
            h = self.h
            if tf.reduce_sum(x) > 0.0:
                h = tf.tanh(x + h)
            else:
                h = h * x
            return h

    cell = Cell()
    results = []
    for value in ([1.0, 2.0], [-1.0, 0.25]):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = cell(x)
        results.append([y, tape.gradient(y, x)])
    return results


def early_return(tf, function):
    @function
    def f(x):
        if x > 2.0:
            return x * x
        if x < -2.0:
            return -x
        return x**3

    results = []
    for value in (3.0, -3.0, 0.5):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        results.append([y, tape.gradient(y, x)])
    return results


def return_from_a_loop(tf, function):
    @function
    def first_above(xs, limit):
        for x in xs:
            if x > limit:
                return x * x
        return limit

    xs = tf.constant([0.5, 1.5, 2.5])
    results = []
    for limit in (1.0, 2.0, 9.0):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = first_above(xs, tf.constant(limit))
        results.append([y, tape.gradient(y, xs, unconnected_gradients="zero")])
    return results


def break_and_continue(tf, function):
    @function
    def f(xs):
        total = tf.constant(0.0)
        for x in xs:
            if x < 0.0:
                continue
            if total > 4.0:
                break
            total += x * x
        return total

    xs = tf.constant([1.0, -5.0, 2.0, 3.0, 100.0])
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(xs)
    return y, tape.gradient(y, xs)


def while_until_small(tf, function):
    @function
    def halvings(x):
        count = 0
        while x > 1.0:
            x = x / 2.0
            count += 1
        return x, count

    x = tf.constant(37.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, count = halvings(x)
    return y, int(count), tape.gradient(y, x)


def newton_in_a_while(tf, function):
    @function
    def root(a):
        x = a
        while tf.abs(x * x - a) > 1e-3:
            x = 0.5 * (x + a / x)
        return x

    a = tf.constant(7.0)
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = root(a)
    return y, tape.gradient(y, a)


def collatz(tf, function):
    @function
    def steps(n):
        count = tf.constant(0)
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            count += 1
        return count

    return [steps(tf.constant(n)) for n in (1, 6, 7, 27)]


def fizzbuzz(tf, function):
    @function
    def sums(limit):
        counts = tf.zeros(4, tf.int32)
        for i in tf.range(1, limit + 1):
            if i % 15 == 0:
                counts += [1, 0, 0, 0]
            elif i % 3 == 0:
                counts += [0, 1, 0, 0]
            elif i % 5 == 0:
                counts += [0, 0, 1, 0]
            else:
                counts += [0, 0, 0, i]
        return counts

    return sums(tf.constant(16))


def nested_loops(tf, function):
    @function
    def f(a):
        total = tf.constant(0.0)
        for i in tf.range(3):
            for j in tf.range(i + 1):
                total += a[i, j] * tf.cast(i - j, tf.float32) ** 2
        return total

    a = tf.constant(normal(0, 3, 3))
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = f(a)
    return y, tape.gradient(y, a)


def state_in_a_dict_over_a_loop(tf, function):
    @function
    def f(x):
        state = {"sum": tf.zeros(2), "power": x}
        for _ in tf.range(4):
            state["sum"] = state["sum"] + state["power"]
            state["power"] = state["power"] * x
        state["power"] = state["power"] * 0.0
        return state["sum"]

    x = tf.constant([0.5, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def python_loop_around_a_branch(tf, function):
    @function
    def f(x):
        history = []
        for power in (1, 2, 3):
            if x > tf.cast(power, tf.float32):
                x = x - 0.5 * power
            else:
                x = x * 1.5
            history.append(x)
        return history

    results = []
    for value in (0.5, 2.5):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            history = f(x)
            y = tf.add_n(history)
        results.append([history, tape.gradient(y, x)])
    return results


def memo_in_a_dict(tf, function):
    @function
    def f(x):
        memo = {}

        def power(n):
            if n not in memo:
                memo[n] = x if n == 1 else power(n - 1) * x
            return memo[n]

        if x > 0.0:
            y = power(3)
        else:
            y = power(2)
        memo.clear()
        return y + power(1)

    results = []
    for value in (2.0, -2.0):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        results.append([y, tape.gradient(y, x)])
    return results


def cond_with_closures(tf, function):
    w, b = tf.Variable(2.0), tf.Variable(1.0)

    @function
    def f(x):
        return tf.cond(x > 0.0, lambda: w * x + b, lambda: tf.exp(x) * w)

    results = []
    for value in (1.5, -1.0):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        results.append(tape.gradient(y, {"x": x, "w": w, "b": b}, unconnected_gradients="zero"))
    return results


def switch_case(tf, function):
    x = tf.constant([1.0, 2.0])

    @function
    def f(x, index):
        branches = [lambda: x * x, lambda: tf.sin(x), lambda: x[::-1]]
        return tf.switch_case(index, branches, default=lambda: tf.zeros_like(x))

    results = []
    for index in (0, 1, 2, 7):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(index))
        results.append([y, tape.gradient(y, x, unconnected_gradients="zero")])
    return results


def assignment_in_a_branch(tf, function):
    v, calls = tf.Variable([1.0, 2.0]), tf.Variable(0)

    @function
    def f(x):
        calls.assign_add(1)
        if tf.reduce_sum(x) > 1.0:
            v.assign_add(x)
        else:
            v.assign(v * x)
        return tf.reduce_sum(v * v)

    results = [f(tf.constant(x)) for x in ([1.0, 1.0], [0.1, 0.2], [3.0, 0.0])]
    return results, v, calls


def scan_of_a_recurrence(tf, function):
    decay = tf.Variable(0.9)
    xs = tf.constant(normal(0, 6))

    @function
    def f():
        return tf.scan(lambda mean, x: decay * mean + (1.0 - decay) * x, xs, initializer=tf.constant(0.0))

    with tf.GradientTape() as tape:
        tape.watch(xs)
        means = f()
        y = tf.reduce_sum(means**2)
    return means, tape.gradient(y, [decay, xs])


def map_fn_over_pairs(tf, function):
    a, b = tf.constant(normal(0, 4, 2)), tf.constant(normal(1, 4, 2))

    @function
    def f(a, b):
        return tf.map_fn(
            lambda ab: tf.reduce_sum(ab[0] * tf.exp(ab[1])), (a, b), fn_output_signature=tf.float32
        )

    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = f(a, b)
    return y, tape.gradient(y, [a, b])


def while_loop_with_structure(tf, function):
    @function
    def fibonacci(x):
        def body(i, state):
            return i + 1, {"a": state["b"], "b": state["a"] + state["b"] * x}

        _, state = tf.while_loop(
            lambda i, state: i < 6, body, (tf.constant(0), {"a": x, "b": x * x}), maximum_iterations=10
        )
        return state["a"]

    x = tf.constant(0.7)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = fibonacci(x)
    return y, tape.gradient(y, x)


def foldl_and_foldr(tf, function):
    xs = tf.constant(normal(0, 4))

    @function
    def f(xs):
        horner = tf.foldl(lambda a, x: a * 0.5 + x, xs, initializer=1.0)
        return horner, tf.foldr(lambda a, x: tf.tanh(a + x), xs)

    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(xs)
    return y, tape.gradient(y, xs)


def conditional_expression_and_logic(tf, function):
    @function
    def f(x, y):
        z = x if x > y else 2.0 * y
        if x > 0.0 and not y > 0.0:
            z = z * 10.0
        if x < 0.0 or y < -1.0:
            z -= 1.0
        return z

    results = []
    for a, b in ((1.0, 0.5), (1.0, -2.0), (-1.0, 3.0)):
        x, y = tf.constant(a), tf.constant(b)
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = f(x, y)
        results.append([z, tape.gradient(z, [x, y], unconnected_gradients="zero")])
    return results


def dead_value_in_a_loop(tf, function):
    w = tf.Variable(2.0)

    @function
    def f(x, xs):
        b = tf.zeros_like(x)
        for e in xs:
            b = x * w + e
            b = tf.sin(x)
        return b

    x, xs = tf.constant([0.1, 0.2]), tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, xs)
    return y, tape.gradient(y, x)


def flag_read_by_a_branch(tf, function):
    class Settings:
        square = True

    @function
    def f(x):
        settings = Settings()
        if tf.reduce_sum(x) > 0.0:
            y = x * x if settings.square else x
        else:
            y = -x
        settings.square = False
        return y

    x = tf.constant([1.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def list_of_states_popped(tf, function):
    @function
    def f(x):
        stack = [x, x * 2.0, x * 3.0]
        if tf.reduce_sum(x) > 0.0:
            y = stack[-1] * stack[0]
        else:
            y = stack[0]
        stack.pop()
        if tf.reduce_sum(y) > 1.0:
            y = y + stack[-1]
        return y

    x = tf.constant([0.5, 0.75])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def tape_inside_a_loop_inside_a_function(tf, function):
    @function
    def descend(x, steps):
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(x**2 + tf.cos(2.0 * x))
            x = x - 0.1 * tape.gradient(y, x)
        return x

    x = tf.constant([1.0, -0.3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = descend(x, tf.constant(5))
    return y, tape.gradient(y, x)


def second_order_through_a_branch(tf, function):
    @function
    def f(x):
        if tf.reduce_sum(x) > 0.0:
            y = x**3
        else:
            y = x**2
        return tf.reduce_sum(y)

    results = []
    for value in ([1.0, 2.0], [-1.0, -2.0]):
        x = tf.constant(value)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
        results.append([first, outer.gradient(first, x)])
    return results


def second_order_through_a_loop(tf, function):
    @function
    def f(x):
        y = x
        for i in tf.range(3):
            y = y * x + tf.cast(i, tf.float32)
        return y

    x = tf.constant(1.5)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    return y, first, outer.gradient(first, x)


def zip_and_enumerate(tf, function):
    @function
    def f(xs, names):
        total, labels = tf.zeros(2), {}
        for i, (x, name) in enumerate(zip(xs, names)):
            labels[name] = x * float(i + 1)
            total += labels[name] ** 2
        return total, labels

    xs = [tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y, labels = f(xs, ("a", "b"))
    return y, labels, tape.gradient(y, xs)


def unused_branch_of_where_is_safe(tf, function):
    x = tf.constant([0.0, 1.0, 4.0])

    @function
    def f(x):
        safe = tf.where(x > 0.0, x, 1.0)
        return tf.where(x > 0.0, tf.sqrt(safe), 0.0)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)
