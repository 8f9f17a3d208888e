"""The linear regression gradient of document 004: two scalar variables, four points, five operations."""

NUMBER = 2
TITLE = "linear regression gradient (doc 004)"


def inputs(rng):
    import numpy as np

    points = np.array([1.0, 2.0, 3.0, 4.0], "float32"), np.array([3.0, 5.0, 7.0, 9.0], "float32")
    return np.float32(2.0), np.float32(1.0), *points


def in_tensorflow(tf, w, b, x, y):
    w, b = tf.Variable(w), tf.Variable(b)

    def step(x, y):
        with tf.GradientTape() as tape:
            y_hat = w * x + b
            loss = tf.reduce_mean(tf.square(y_hat - y))
        return tape.gradient(loss, [w, b])

    return step, (tf.constant(x), tf.constant(y))


def in_torch(torch, w, b, x, y):
    w, b = torch.tensor(w, requires_grad=True), torch.tensor(b, requires_grad=True)

    def step(x, y):
        y_hat = w * x + b
        loss = torch.mean(torch.square(y_hat - y))
        return torch.autograd.grad(loss, [w, b])

    return step, (torch.tensor(x), torch.tensor(y))


def in_jax(jax, w, b, x, y):
    jnp = jax.numpy

    def loss(w, b, x, y):
        y_hat = w * x + b
        return jnp.mean(jnp.square(y_hat - y))

    return jax.grad(loss, argnums=(0, 1)), (jnp.array(w), jnp.array(b), jnp.array(x), jnp.array(y))


def in_autograd(autograd, w, b, x, y):
    np = autograd.numpy

    def loss(w, b, x, y):
        y_hat = w * x + b
        return np.mean(np.square(y_hat - y))

    return autograd.grad(loss, argnum=(0, 1)), (w, b, x, y)
