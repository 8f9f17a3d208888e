"""Explicit Euler on a 3-vector, 1000 steps in a Python loop, and the gradient with respect to its start."""

NUMBER = 19
TITLE = "explicit Euler, 3-vector, 1000 steps unrolled"
FIRST_CALLS = 1

STEPS, LENGTH = 1000, 0.002


def inputs(rng):
    return rng.standard_normal((3, 3), dtype="float32"), rng.standard_normal(3, dtype="float32")


def in_tensorflow(tf, matrix, start):
    matrix = tf.constant(matrix)

    def step(start):
        y = start
        with tf.GradientTape() as tape:
            tape.watch(start)
            for _ in range(STEPS):
                y = y + LENGTH * (tf.linalg.matvec(matrix, y) - 0.1 * y * y * y)
            loss = tf.reduce_sum(y * y)
        return [tape.gradient(loss, start)]

    return step, (tf.constant(start),)


def in_torch(torch, matrix, start):
    matrix = torch.tensor(matrix)

    def step(start):
        y = start
        for _ in range(STEPS):
            y = y + LENGTH * (matrix @ y - 0.1 * y * y * y)
        return torch.autograd.grad((y * y).sum(), [start])

    return step, (torch.tensor(start, requires_grad=True),)


def in_jax(jax, matrix, start):
    matrix = jax.numpy.array(matrix)

    def loss(y):
        for _ in range(STEPS):
            y = y + LENGTH * (matrix @ y - 0.1 * y * y * y)
        return (y * y).sum()

    return lambda start: [jax.grad(loss)(start)], (jax.numpy.array(start),)
