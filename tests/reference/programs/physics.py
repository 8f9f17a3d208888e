"""Differential equations: networks that solve them, solvers that are differentiated."""

import numpy as np

from .draws import normal


def pinn_second_order_equation(tf, function):
    """u'' + u = 0 with u(0) = 0 and u'(0) = 1, by a network."""
    w1, b1, w2 = tf.Variable(normal(0, 1, 6)), tf.Variable(normal(1, 6)), tf.Variable(0.3 * normal(2, 6, 1))
    x = tf.constant(np.linspace(0, 2, 5, dtype="float32")[:, None])

    @function
    def step():
        with tf.GradientTape() as tape:
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    u = tf.tanh(x @ w1 + b1) @ w2
                ux = first.gradient(u, x)
            uxx = second.gradient(ux, x)
            loss = tf.reduce_mean((uxx + u) ** 2) + u[0, 0] ** 2 + (ux[0, 0] - 1.0) ** 2
        gradients = tape.gradient(loss, [w1, b1, w2])
        for v, g in zip([w1, b1, w2], gradients):
            v.assign_sub(0.01 * g)
        return loss

    return [step() for _ in range(3)], w1, b1, w2


def pinn_burgers(tf, function):
    weights = [tf.Variable(normal(0, 2, 5)), tf.Variable(0.5 * normal(1, 5, 1))]
    points = tf.constant(normal(2, 6, 2))

    def network(x, t):
        return tf.tanh(tf.concat([x, t], axis=1) @ weights[0]) @ weights[1]

    @function
    def residual_gradient(points):
        x, t = points[:, :1], points[:, 1:]
        with tf.GradientTape() as outer:
            with tf.GradientTape(persistent=True) as tape:
                tape.watch([x, t])
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    u = network(x, t)
                ux = inner.gradient(u, x)
            uxx = tape.gradient(ux, x)
            ut = tape.gradient(u, t)
            f = ut + u * ux - 0.01 * uxx
            loss = tf.reduce_mean(f * f)
        return loss, outer.gradient(loss, weights)

    return residual_gradient(points)


def pinn_with_relu(tf, function):
    w, b, v = tf.Variable(normal(0, 1, 5)), tf.Variable(normal(1, 5)), tf.Variable(normal(2, 5, 1))
    x = tf.constant([[0.2], [0.7], [1.4]])

    @function
    def gradients():
        with tf.GradientTape() as tape:
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    u = tf.nn.relu(x @ w + b) @ v
                ux = first.gradient(u, x)
            uxx = second.gradient(ux, x)
            loss = tf.reduce_mean((uxx + ux - 1.0) ** 2)
        return uxx, tape.gradient(loss, [w, b, v])

    return gradients()


def laplace_in_two_dimensions(tf, function):
    w, v = tf.Variable(normal(0, 2, 4)), tf.Variable(normal(1, 4, 1))

    @function
    def laplacian(xy):
        with tf.GradientTape() as tape:
            tape.watch(xy)
            with tf.GradientTape() as inner:
                inner.watch(xy)
                u = tf.sin(xy @ w) @ v
            gradient = inner.gradient(u, xy)
        hessian = tape.batch_jacobian(gradient, xy)
        return tf.linalg.trace(hessian)

    return laplacian(tf.constant(normal(2, 3, 2)))


def pendulum_by_lagrange(tf, function):
    """The acceleration from the Lagrangian alone."""

    def lagrangian(q, v):
        return 0.5 * v * v + 9.8 * tf.cos(q)

    @function
    def acceleration(q, v):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([q, v])
            with tf.GradientTape() as inner:
                inner.watch([q, v])
                energy = lagrangian(q, v)
            dq, dv = inner.gradient(energy, [q, v])
        dvv, dvq = outer.gradient(dv, [v, q])
        return (dq - (0.0 if dvq is None else dvq) * v) / dvv

    q, v = tf.constant(1.0), tf.constant(0.0)
    path = []
    for _ in range(4):
        v = v + 0.05 * acceleration(q, v)
        q = q + 0.05 * v
        path.append([q, v])
    return path


def double_pendulum_mass_matrix(tf, function):
    def lagrangian(q, v):
        t = v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * tf.cos(q[0] - q[1])
        return t + 9.8 * (2.0 * tf.cos(q[0]) + tf.cos(q[1]))

    @function
    def acceleration(q, v):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([q, v])
            with tf.GradientTape(persistent=True) as inner:
                inner.watch([q, v])
                energy = lagrangian(q, v)
            dv = inner.gradient(energy, v)
            dq = inner.gradient(energy, q)
        mass, coupling = outer.jacobian(dv, v), outer.jacobian(dv, q)
        return tf.linalg.solve(mass, (dq - tf.linalg.matvec(coupling, v))[:, None])[:, 0]

    return acceleration(tf.constant([0.5, -0.3]), tf.constant([0.1, 0.7]))


def hamiltonian_leapfrog(tf, function):
    def energy(q, p):
        return 0.5 * tf.reduce_sum(p * p) + tf.reduce_sum(0.25 * q**4 - 0.5 * q**2)

    @function
    def simulate(q, p):
        def force(q):
            with tf.GradientTape() as tape:
                tape.watch(q)
                h = energy(q, tf.zeros_like(q))
            return -tape.gradient(h, q)

        for _ in range(4):
            p = p + 0.05 * force(q)
            q = q + 0.1 * p
            p = p + 0.05 * force(q)
        return q, p

    q, p = tf.constant([1.0, -0.5]), tf.constant([0.2, 0.3])
    with tf.GradientTape() as tape:
        tape.watch([q, p])
        q1, p1 = simulate(q, p)
        h = energy(q1, p1)
    return q1, p1, h, tape.gradient(h, [q, p])


def neural_ode_rk4(tf, function):
    w = tf.Variable(0.5 * normal(0, 2, 2))

    @function
    def solve(z):
        f = lambda z: tf.tanh(z @ w)
        for _ in tf.range(4):
            k1 = f(z)
            k2 = f(z + 0.05 * k1)
            k3 = f(z + 0.05 * k2)
            k4 = f(z + 0.1 * k3)
            z = z + 0.1 / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return z

    z = tf.constant([[1.0, -1.0]])
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = solve(z)
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, [w, z])


def neural_ode_by_the_adjoint(tf, function):
    w = tf.Variable(0.5 * normal(0, 2, 2))

    def f(z):
        return tf.sin(z @ w)

    @function
    def adjoint():
        z = tf.constant([[0.5, 1.5]])
        for _ in range(4):
            z = z + 0.1 * f(z)
        a, dw = 2.0 * z, tf.zeros_like(w)
        for _ in range(4):
            with tf.GradientTape() as tape:
                tape.watch(z)
                out = f(z)
            az, aw = tape.gradient(out, [z, w], output_gradients=a)
            dw += 0.1 * aw
            a += 0.1 * az
            z = z - 0.1 * out
        return a, dw

    return adjoint()


def heat_equation_inverse(tf, function):
    """Find the initial temperature from a later one."""
    target = tf.constant([0.1, 0.4, 0.6, 0.4, 0.1])
    u0 = tf.Variable(tf.zeros(5))

    @function
    def step():
        with tf.GradientTape() as tape:
            u = u0
            for _ in range(5):
                u = u + 0.2 * (tf.roll(u, 1, 0) - 2.0 * u + tf.roll(u, -1, 0))
            loss = tf.reduce_sum((u - target) ** 2)
        u0.assign_sub(0.5 * tape.gradient(loss, u0))
        return loss

    return [step() for _ in range(5)], u0


def fluid_advection(tf, function):
    """Semi-Lagrangian: where the flow came from is interpolated."""
    density = tf.constant(normal(0, 5, 5))
    velocity = tf.Variable(0.5 * normal(1, 5, 5, 2))

    @function
    def advect(density):
        grid = tf.stack(tf.meshgrid(tf.range(5.0), tf.range(5.0), indexing="ij"), axis=-1)
        source = tf.clip_by_value(grid - velocity, 0.0, 3.999)
        corner = tf.floor(source)
        fraction = source - corner
        i = tf.cast(corner, tf.int32)
        total = 0.0
        for di in (0, 1):
            for dj in (0, 1):
                wi = fraction[..., 0] if di else 1.0 - fraction[..., 0]
                wj = fraction[..., 1] if dj else 1.0 - fraction[..., 1]
                total += wi * wj * tf.gather_nd(density, i + tf.constant([di, dj]))
        return total

    with tf.GradientTape() as tape:
        tape.watch(density)
        out = advect(advect(density))
        loss = tf.reduce_mean((out - 1.0) ** 2)
    return loss, tape.gradient(loss, [density, velocity])


def projectile_with_drag(tf, function):
    angle, speed = tf.Variable(0.8), tf.Variable(12.0)

    @function
    def landing():
        velocity = speed * tf.stack([tf.cos(angle), tf.sin(angle)])
        position = tf.constant([0.0, 0.1])
        for _ in tf.range(60):
            if position[1] < 0.0:
                break
            velocity += 0.05 * (tf.constant([0.0, -9.8]) - 0.05 * tf.norm(velocity) * velocity)
            position += 0.05 * velocity
        return position[0]

    with tf.GradientTape() as tape:
        y = landing()
    return y, tape.gradient(y, [angle, speed])


def stiff_implicit_euler(tf, function):
    """Each step solves its equation by Newton; the gradient goes through the iterations."""
    k = tf.Variable(20.0)

    @function
    def simulate(y):
        for _ in range(3):
            z = y
            for _ in range(4):
                residual = z - y + 0.1 * k * z**3
                slope = 1.0 + 0.3 * k * z**2
                z = z - residual / slope
            y = z
        return y

    with tf.GradientTape() as tape:
        y = simulate(tf.constant(1.0))
    return y, tape.gradient(y, k)


def molecular_forces(tf, function):
    positions = tf.constant(1.5 * normal(0, 4, 3))

    @function
    def energy_and_forces(positions):
        with tf.GradientTape() as tape:
            tape.watch(positions)
            difference = positions[:, None] - positions[None]
            squared = tf.reduce_sum(difference**2, axis=-1)
            pairs = tf.linalg.band_part(tf.ones((4, 4)), 0, -1) - tf.eye(4)
            safe = tf.where(pairs > 0.0, squared, tf.ones_like(squared))
            sixth = 1.0 / safe**3
            energy = tf.reduce_sum(pairs * 4.0 * (sixth**2 - sixth))
        return energy, -tape.gradient(energy, positions)

    return energy_and_forces(positions)


def wave_equation_in_a_loop(tf, function):
    speed = tf.Variable([1.0, 0.8, 0.5, 0.8, 1.0])

    @function
    def simulate(u, previous, steps):
        for _ in tf.range(steps):
            laplacian = tf.pad(u[1:], [[0, 1]]) - 2.0 * u + tf.pad(u[:-1], [[1, 0]])
            u, previous = 2.0 * u - previous + 0.25 * speed**2 * laplacian, u
        return u

    start = tf.constant([0.0, 0.5, 1.0, 0.5, 0.0])
    with tf.GradientTape() as tape:
        u = simulate(start, start, tf.constant(6))
        loss = u[4] ** 2
    return u, tape.gradient(loss, speed)


def kepler_orbit_in_float64(tf, function):
    mass = tf.Variable(1.0, dtype=tf.float64)

    @function
    def orbit(x, v):
        for _ in range(5):
            r = tf.norm(x)
            v = v - 0.1 * mass * x / r**3
            x = x + 0.1 * v
        return x

    x, v = tf.constant([1.0, 0.0], tf.float64), tf.constant([0.0, 1.1], tf.float64)
    with tf.GradientTape() as tape:
        y = orbit(x, v)
    return y, tape.jacobian(y, mass)
