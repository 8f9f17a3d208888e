"""A whole Jacobian, by whatever each library offers for it."""

NUMBER = 6
TITLE = "100x100 Jacobian of tanh(W @ x)"


def inputs(rng):
    return rng.standard_normal((100, 100), dtype="float32") / 10, rng.standard_normal(
        (100, 1), dtype="float32"
    )


def in_tensorflow(tf, w, x):
    def step(w, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.tanh(w @ x)
        return [tape.jacobian(y, x)]

    return step, (tf.constant(w), tf.constant(x))


def in_torch(torch, w, x):
    def step(w, x):
        return [torch.func.jacrev(lambda x: torch.tanh(w @ x))(x)]

    return step, (torch.tensor(w), torch.tensor(x))


def in_jax(jax, w, x):
    def step(w, x):
        return [jax.jacrev(lambda x: jax.numpy.tanh(w @ x))(x)]

    return step, (jax.numpy.array(w), jax.numpy.array(x))


def in_autograd(autograd, w, x):
    def step(w, x):
        return [autograd.jacobian(lambda x: autograd.numpy.tanh(w @ x))(x)]

    return step, (w, x)
