"""40 operations on vectors of four elements: the cost of an operation and of recording it, nothing else."""

NUMBER = 1
TITLE = "20 rounds of z*y + x, 4-vectors"


def inputs(rng):
    return rng.uniform(0.5, 1.0, 4).astype("float32"), rng.uniform(0.5, 1.0, 4).astype("float32")


def in_tensorflow(tf, x, y):
    def step(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = x
            for _ in range(20):
                z = z * y + x
            total = tf.reduce_sum(z)
        return tape.gradient(total, [x, y])

    return step, (tf.constant(x), tf.constant(y))


def in_torch(torch, x, y):
    def step(x, y):
        z = x
        for _ in range(20):
            z = z * y + x
        return torch.autograd.grad(z.sum(), [x, y])

    return step, (torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True))


def in_jax(jax, x, y):
    def total(x, y):
        z = x
        for _ in range(20):
            z = z * y + x
        return z.sum()

    return jax.grad(total, argnums=(0, 1)), (jax.numpy.array(x), jax.numpy.array(y))


def in_autograd(autograd, x, y):
    def total(x, y):
        z = x
        for _ in range(20):
            z = z * y + x
        return autograd.numpy.sum(z)

    return autograd.grad(total, argnum=(0, 1)), (x, y)
