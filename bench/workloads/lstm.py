"""An LSTM cell over the 100 steps of a series, in a Python loop, and the gradient of its parameters.

Compiled, gradtape and TensorFlow make one loop of it, as `scan` is in JAX; PyTorch unrolls it.
"""

NUMBER = 10
TITLE = "LSTM, 100 steps, batch 16, width 64"

STEPS, BATCH, WIDTH = 100, 16, 64


def inputs(rng):
    series = rng.standard_normal((STEPS, BATCH, WIDTH), dtype="float32")
    weights = rng.standard_normal((2 * WIDTH, 4 * WIDTH), dtype="float32") / (2 * WIDTH) ** 0.5
    return series, weights, rng.standard_normal(4 * WIDTH, dtype="float32") / 10


def in_tensorflow(tf, series, weights, bias):
    weights, bias = tf.Variable(weights), tf.Variable(bias)

    def step(series):
        h = c = tf.zeros((BATCH, WIDTH))
        with tf.GradientTape() as tape:
            for x in series:
                gates = tf.concat([x, h], 1) @ weights + bias
                i, f, o, new = tf.split(gates, 4, axis=1)
                c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(new)
                h = tf.sigmoid(o) * tf.tanh(c)
            loss = tf.reduce_mean(h * h)
        return tape.gradient(loss, [weights, bias])

    return step, (tf.constant(series),)


def in_torch(torch, series, weights, bias):
    weights, bias = torch.tensor(weights, requires_grad=True), torch.tensor(bias, requires_grad=True)

    def step(series):
        h = c = torch.zeros(BATCH, WIDTH)
        for x in series:
            gates = torch.cat([x, h], 1) @ weights + bias
            i, f, o, new = gates.split(WIDTH, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(new)
            h = torch.sigmoid(o) * torch.tanh(c)
        return torch.autograd.grad((h * h).mean(), [weights, bias])

    return step, (torch.tensor(series),)


def in_jax(jax, series, weights, bias):
    jnp = jax.numpy

    def loss(parameters, series):
        weights, bias = parameters
        h = c = jnp.zeros((BATCH, WIDTH))

        def cell(state, x):
            h, c = state
            i, f, o, new = jnp.split(jnp.concatenate([x, h], 1) @ weights + bias, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(new)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), None

        (h, c), _ = jax.lax.scan(cell, (h, c), series)
        return jnp.mean(h * h)

    def step(parameters, series):
        return jax.grad(loss)(parameters, series)

    return step, ([jnp.array(weights), jnp.array(bias)], jnp.array(series))
