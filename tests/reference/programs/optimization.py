"""Second order methods and constraints."""

import numpy as np

from .draws import normal


def newton_for_minima(tf, function):
    x = tf.Variable([1.0, 2.0])

    @function
    def step():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(tf.cosh(x)) + 0.5 * x[0] * x[1]
            g = inner.gradient(y, x)
        h = outer.jacobian(g, x)
        x.assign_sub(tf.reshape(tf.linalg.solve(h, g[:, None]), (2,)))
        return y

    return [step() for _ in range(4)], x


def lbfgs_by_hand(tf, function):
    @function
    def value_and_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum((x - tf.constant([1.0, -2.0, 3.0])) ** 2 * tf.constant([1.0, 5.0, 2.0]))
        return y, tape.gradient(y, x)

    x, memory, values = tf.zeros(3), [], []
    y, g = value_and_gradient(x)
    for _ in range(4):
        values.append(y)
        q, alphas = g, []
        for s, d in reversed(memory):
            alpha = tf.reduce_sum(s * q) / tf.reduce_sum(s * d)
            alphas.append(alpha)
            q = q - alpha * d
        if memory:
            s, d = memory[-1]
            q = q * tf.reduce_sum(s * d) / tf.reduce_sum(d * d)
        for (s, d), alpha in zip(memory, reversed(alphas)):
            q = q + s * (alpha - tf.reduce_sum(d * q) / tf.reduce_sum(s * d))
        new = x - (0.1 if not memory else 1.0) * q
        y, g_new = value_and_gradient(new)
        memory = [*memory, (new - x, g_new - g)][-2:]
        x, g = new, g_new
    return values, x


def levenberg_marquardt(tf, function):
    t = tf.constant(np.linspace(0, 2, 6), tf.float64)
    data = tf.constant(2.0 * np.exp(-1.3 * np.linspace(0, 2, 6)))

    @function
    def step(p, damping):
        with tf.GradientTape() as tape:
            tape.watch(p)
            residuals = p[0] * tf.exp(-p[1] * t) - data
        j = tape.jacobian(residuals, p)
        normal_matrix = tf.matmul(j, j, transpose_a=True)
        normal_matrix += damping * tf.linalg.diag(tf.linalg.diag_part(normal_matrix))
        delta = tf.linalg.solve(normal_matrix, tf.linalg.matvec(j, residuals, transpose_a=True)[:, None])[
            :, 0
        ]
        return p - delta, tf.reduce_sum(residuals**2)

    p, damping, history = tf.constant([1.0, 0.5], tf.float64), 1e-2, []
    for _ in range(5):
        p, cost = step(p, tf.constant(damping, tf.float64))
        history.append(cost)
        damping /= 3
    return history[:3], p


def natural_gradient(tf, function):
    mean, log_std = tf.Variable(0.0), tf.Variable(0.0)
    data = tf.constant(normal(0, 8) * 0.5 + 2.0)

    @function
    def step():
        with tf.GradientTape() as tape:
            losses = log_std + 0.5 * ((data - mean) * tf.exp(-log_std)) ** 2
            loss = tf.reduce_mean(losses)
        gm, gs = tape.gradient(loss, [mean, log_std])
        mean.assign_sub(0.5 * gm * tf.exp(2.0 * log_std))
        log_std.assign_sub(0.5 * gs / 2.0)
        return loss

    return [step() for _ in range(5)], mean, log_std


def gauss_newton_vector_products(tf, function):
    w = tf.Variable(normal(0, 3, 2))
    x = tf.constant(normal(1, 4, 3))

    @function
    def product(v):
        with tf.autodiff.ForwardAccumulator(w, v) as accumulator, tf.GradientTape() as tape:
            out = tf.tanh(x @ w)
        jv = accumulator.jvp(out)
        return tape.gradient(out, w, output_gradients=jv)

    return product(tf.ones((3, 2)))


def augmented_lagrangian(tf, function):
    x, multiplier = tf.Variable([2.0, 2.0]), tf.Variable(0.0)

    @function
    def step():
        with tf.GradientTape() as tape:
            constraint = tf.reduce_sum(x) - 1.0
            loss = (
                tf.reduce_sum(x**2 * tf.constant([1.0, 2.0])) + multiplier * constraint + 2.0 * constraint**2
            )
        x.assign_sub(0.05 * tape.gradient(loss, x))
        return constraint

    history = []
    for _ in range(3):
        for _ in range(3):
            constraint = step()
        multiplier.assign_add(4.0 * constraint)
        history.append(constraint)
    return history, x, multiplier


def backtracking_in_a_while(tf, function):
    @function
    def search(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x**4)
        g = tape.gradient(y, x)
        rate = tf.constant(1.0)
        while tf.reduce_sum((x - rate * g) ** 4) > y - 0.3 * rate * tf.reduce_sum(g * g):
            rate *= 0.5
        return x - rate * g, rate

    x, rates = tf.constant([1.0, -2.0]), []
    for _ in range(4):
        x, rate = search(x)
        rates.append(rate)
    return x, rates


def projected_gradient_on_the_simplex(tf, function):
    x = tf.Variable([0.6, 0.3, 0.1])

    def project(v):
        u = tf.sort(v, direction="DESCENDING")
        sums = tf.cumsum(u) - 1.0
        rho = tf.reduce_sum(tf.cast(u * tf.range(1.0, 4.0) > sums, tf.int32)) - 1
        return tf.nn.relu(v - sums[rho] / tf.cast(rho + 1, tf.float32))

    @function
    def step():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum((x - tf.constant([0.1, 0.9, 0.4])) ** 2)
        x.assign(project(x - 0.4 * tape.gradient(y, x)))
        return y

    return [step() for _ in range(4)], x


def fixed_point_gradient(tf, function):
    """z = tanh(W z + x) at its fixed point; the gradient by solving with the transposed Jacobian."""
    w = tf.Variable(0.3 * normal(0, 3, 3))

    @function
    def gradient(x):
        z = tf.zeros(3)
        for _ in tf.range(30):
            z = tf.tanh(tf.linalg.matvec(w, z) + x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(z)
            f = tf.tanh(tf.linalg.matvec(w, z) + x)
        jacobian = tape.jacobian(f, z)
        adjoint = tf.linalg.solve(tf.eye(3) - tf.transpose(jacobian), 2.0 * z[:, None])[:, 0]
        return z, tape.gradient(f, w, output_gradients=adjoint)

    return gradient(tf.constant(normal(1, 3)))


def simulated_annealing_with_host_decisions(tf, function):
    draws = np.random.RandomState(3)

    @function
    def energy(x):
        return tf.reduce_sum(x**2) + tf.reduce_sum(tf.sin(5.0 * x))

    x, e, path = np.array([1.0, -1.0], np.float32), None, []
    for step in range(5):
        candidate = x + 0.3 * draws.randn(2).astype("float32")
        new = float(energy(tf.constant(candidate)))
        if e is None or new < e or draws.rand() < np.exp(-(new - e) / (1.0 / (step + 1))):
            x, e = candidate, new
        path.append(e)
    return path, x
