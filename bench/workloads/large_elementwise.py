"""Six elementwise operations over a million elements: fresh memory and arithmetic, hardly any overhead.

Peak memory is measured on this one too.
"""

NUMBER = 4
TITLE = "tanh(b*b + b) * exp(-b), 1e6 elements"


def inputs(rng):
    return (rng.standard_normal(1_000_000, dtype="float32"),)


def in_tensorflow(tf, b):
    def step(b):
        with tf.GradientTape() as tape:
            tape.watch(b)
            value = tf.tanh(b * b + b) * tf.exp(-b)
        return [tape.gradient(value, b)]

    return step, (tf.constant(b),)


def in_torch(torch, b):
    def step(b):
        value = torch.tanh(b * b + b) * torch.exp(-b)
        return torch.autograd.grad(value, b, torch.ones_like(value))

    return step, (torch.tensor(b, requires_grad=True),)


def in_jax(jax, b):
    jnp = jax.numpy

    def total(b):
        return jnp.sum(jnp.tanh(b * b + b) * jnp.exp(-b))

    def step(b):
        return [jax.grad(total)(b)]

    return step, (jnp.array(b),)


def in_autograd(autograd, b):
    np = autograd.numpy

    def value(b):
        return np.tanh(b * b + b) * np.exp(-b)

    def step(b):
        return [autograd.elementwise_grad(value)(b)]

    return step, (b,)
