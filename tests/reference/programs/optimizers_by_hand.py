"""Optimizers written by users: state in variables, dicts and objects."""

from .draws import normal


def momentum_in_a_dict(tf, function):
    w = {"a": tf.Variable([1.0, -1.0]), "b": tf.Variable(2.0)}
    velocity = {name: tf.Variable(tf.zeros_like(v), trainable=False) for name, v in w.items()}

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w["a"] ** 2) * w["b"] + w["b"] ** 2
        gradients = tape.gradient(loss, w)
        for name, v in w.items():
            velocity[name].assign(0.9 * velocity[name] + gradients[name])
            v.assign_sub(0.05 * velocity[name])
        return loss

    return [step() for _ in range(4)], w, velocity


def adam_as_a_module(tf, function):
    class Adam(tf.Module):
        def __init__(self, rate=0.1, beta_1=0.9, beta_2=0.999):
            super().__init__()
            self.rate, self.beta_1, self.beta_2 = rate, beta_1, beta_2
            self.t = tf.Variable(1.0)
            self.m, self.v, self.built = [], [], False

        def apply(self, gradients, variables):
            if not self.built:
                for x in variables:
                    self.m.append(tf.Variable(tf.zeros(x.shape)))
                    self.v.append(tf.Variable(tf.zeros(x.shape)))
                self.built = True
            for i, (g, x) in enumerate(zip(gradients, variables)):
                self.m[i].assign(self.beta_1 * self.m[i] + (1 - self.beta_1) * g)
                self.v[i].assign(self.beta_2 * self.v[i] + (1 - self.beta_2) * tf.square(g))
                m = self.m[i] / (1 - tf.pow(self.beta_1, self.t))
                v = self.v[i] / (1 - tf.pow(self.beta_2, self.t))
                x.assign_sub(self.rate * m / (tf.sqrt(v) + 1e-7))
            self.t.assign_add(1.0)

    x, optimizer = tf.Variable(normal(0, 3)), Adam()

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(2 * x**4 + 3 * x**3 + 2)
        optimizer.apply(tape.gradient(loss, [x]), [x])
        return loss

    return [step() for _ in range(4)], x, optimizer.t


def rmsprop_with_slots_by_ref(tf, function):
    variables = [tf.Variable([3.0]), tf.Variable([[1.0, 2.0]])]
    slots = {v.ref(): tf.Variable(tf.zeros_like(v)) for v in variables}

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(variables[0] * variables[1] ** 2)
        for v, g in zip(variables, tape.gradient(loss, variables)):
            s = slots[v.ref()]
            s.assign(0.9 * s + 0.1 * g * g)
            v.assign_sub(0.01 * g / (tf.sqrt(s) + 1e-8))
        return loss

    return [step() for _ in range(3)], variables, [slots[v.ref()] for v in variables]


def nesterov_lookahead(tf, function):
    w, velocity = tf.Variable([2.0, -1.0]), tf.Variable([0.0, 0.0])

    @function
    def step():
        ahead = w + 0.9 * velocity
        with tf.GradientTape() as tape:
            tape.watch(ahead)
            loss = 0.5 * ahead[0] ** 2 + 5.0 * ahead[1] ** 2
        velocity.assign(0.9 * velocity - 0.05 * tape.gradient(loss, ahead))
        w.assign_add(velocity)
        return loss

    return [step() for _ in range(5)], w


def cosine_schedule_with_warmup(tf, function):
    w, step_count = tf.Variable([1.0, 1.0]), tf.Variable(0, dtype=tf.int64)

    def rate(step):
        step = tf.cast(step, tf.float32)
        warm = 0.1 * (step + 1.0) / 3.0
        cosine = 0.05 * (1.0 + tf.cos(3.14159265 * (step - 3.0) / 5.0))
        return tf.where(step < 3.0, warm, cosine)

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.cosh(w))
        current = rate(step_count)
        w.assign_sub(current * tape.gradient(loss, w))
        step_count.assign_add(1)
        return current

    return [step() for _ in range(6)], w, step_count


def gradient_centralization(tf, function):
    w, b = tf.Variable(normal(0, 3, 2)), tf.Variable(normal(1, 2))
    x = tf.constant(normal(2, 4, 3))

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w + b) ** 2)
        for v, g in zip([w, b], tape.gradient(loss, [w, b])):
            if len(g.shape) > 1:
                g -= tf.reduce_mean(g, axis=0, keepdims=True)
            v.assign_sub(0.1 * g)
        return loss

    return [step() for _ in range(3)], w, b


def sharpness_aware(tf, function):
    w = tf.Variable(normal(0, 4))

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(w) ** 2)
        g = tape.gradient(loss, w)
        e = 0.05 * g / (tf.norm(g) + 1e-12)
        w.assign_add(e)
        with tf.GradientTape() as tape:
            sharp = tf.reduce_sum(tf.sin(w) ** 2)
        g = tape.gradient(sharp, w)
        w.assign_sub(e)
        w.assign_sub(0.1 * g)
        return loss, sharp

    return [step() for _ in range(3)], w


def weight_averaging(tf, function):
    w = tf.Variable([4.0, -4.0])
    average, count = tf.Variable([0.0, 0.0]), tf.Variable(0.0)

    @function
    def step(cycle):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w**2)
        w.assign_sub(0.3 * tape.gradient(loss, w))
        if cycle:
            count.assign_add(1.0)
            average.assign_add((w - average) / count)

    for i in range(6):
        step(tf.constant(i % 2 == 1))
    return w, average, count


def lion_by_sign(tf, function):
    w, m = tf.Variable(normal(0, 3)), tf.Variable(tf.zeros(3))

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((w - 0.5) ** 2)
        g = tape.gradient(loss, w)
        w.assign_sub(0.1 * (tf.sign(0.9 * m + 0.1 * g) + 0.01 * w))
        m.assign(0.99 * m + 0.01 * g)
        return loss

    return [step() for _ in range(4)], w, m


def library_optimizers(tf):
    results = {}
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Lion"):
        w = tf.Variable([1.0, -2.0, 0.5])
        optimizer = getattr(tf.optimizers, name)(learning_rate=0.1)
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(w**2 + 0.1 * w**3)
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        results[name] = w
    return results


def optimizer_with_schedule_and_clipping(tf, function):
    schedule = tf.optimizers.schedules.ExponentialDecay(0.5, decay_steps=2, decay_rate=0.5, staircase=True)
    optimizer = tf.optimizers.SGD(schedule, clipnorm=1.0)
    w, b = tf.Variable([3.0, 4.0]), tf.Variable(1.0)

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w**2) + b**2
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
        return loss

    return [step() for _ in range(5)], w, b, int(optimizer.iterations)


def none_gradients_are_skipped(tf):
    used, unused = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = used**2
    gradients = tape.gradient(loss, [used, unused])
    optimizer = tf.optimizers.SGD(0.1)
    optimizer.apply_gradients([(g, v) for g, v in zip(gradients, [used, unused]) if g is not None])
    return gradients, used, unused


def layerwise_rates(tf, function):
    layers = [tf.Variable(0.5 * normal(i, 2, 2)) for i in range(3)]
    x = tf.constant(normal(5, 3, 2))

    @function
    def step():
        with tf.GradientTape() as tape:
            h = x
            for layer in layers:
                h = tf.tanh(h @ layer)
            loss = tf.reduce_mean(h**2)
        for depth, (v, g) in enumerate(zip(layers, tape.gradient(loss, layers))):
            trust = tf.norm(v) / (tf.norm(g) + 1e-6)
            v.assign_sub(0.1 * 0.5**depth * trust * g)
        return loss

    return [step() for _ in range(3)], layers
