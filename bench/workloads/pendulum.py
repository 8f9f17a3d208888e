"""A pendulum by RK4, 20 steps in a Python loop, and the gradient with respect to its start: many small operations."""

NUMBER = 17
TITLE = "pendulum by RK4, 20 steps unrolled"
FIRST_CALLS = 1

STEPS, LENGTH = 20, 0.05


def inputs(rng):
    return (rng.standard_normal(2, dtype="float32"),)


def energy(sin, state):
    """The same on the numbers of each library, by its own sine."""

    def slopes(angle, velocity):
        return velocity, -sin(angle) - 0.1 * velocity

    angle, velocity = state[0], state[1]
    for _ in range(STEPS):
        a1, v1 = slopes(angle, velocity)
        a2, v2 = slopes(angle + LENGTH / 2 * a1, velocity + LENGTH / 2 * v1)
        a3, v3 = slopes(angle + LENGTH / 2 * a2, velocity + LENGTH / 2 * v2)
        a4, v4 = slopes(angle + LENGTH * a3, velocity + LENGTH * v3)
        angle = angle + LENGTH / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        velocity = velocity + LENGTH / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
    return angle * angle + velocity * velocity


def in_tensorflow(tf, state):
    def step(state):
        with tf.GradientTape() as tape:
            tape.watch(state)
            loss = energy(tf.sin, state)
        return [tape.gradient(loss, state)]

    return step, (tf.constant(state),)


def in_torch(torch, state):
    def step(state):
        return torch.autograd.grad(energy(torch.sin, state), [state])

    return step, (torch.tensor(state, requires_grad=True),)


def in_jax(jax, state):
    gradient = jax.grad(lambda state: energy(jax.numpy.sin, state))
    return lambda state: [gradient(state)], (jax.numpy.array(state),)
