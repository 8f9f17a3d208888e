"""The LSTM cell of lstm.py over 100 steps, unrolled in every library, and the gradient of its parameters."""

NUMBER = 18
TITLE = "LSTM, 100 steps unrolled, batch 16, width 64"
FIRST_CALLS = 1

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
            for t in range(STEPS):
                i, f, o, new = tf.split(tf.concat([series[t], h], 1) @ weights + bias, 4, axis=1)
                c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(new)
                h = tf.sigmoid(o) * tf.tanh(c)
            loss = tf.reduce_mean(h * h)
        return tape.gradient(loss, [weights, bias])

    return step, (tf.constant(series),)


def in_torch(torch, series, weights, bias):
    weights, bias = torch.tensor(weights, requires_grad=True), torch.tensor(bias, requires_grad=True)

    def step(series):
        h = c = torch.zeros(BATCH, WIDTH)
        for t in range(STEPS):
            i, f, o, new = (torch.cat([series[t], h], 1) @ weights + bias).split(WIDTH, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(new)
            h = torch.sigmoid(o) * torch.tanh(c)
        return torch.autograd.grad((h * h).mean(), [weights, bias])

    return step, (torch.tensor(series),)


def in_jax(jax, series, weights, bias):
    jnp = jax.numpy

    def loss(parameters, series):
        weights, bias = parameters
        h = c = jnp.zeros((BATCH, WIDTH))
        for t in range(STEPS):
            i, f, o, new = jnp.split(jnp.concatenate([series[t], h], 1) @ weights + bias, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(new)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return jnp.mean(h * h)

    return jax.grad(loss), ([jnp.array(weights), jnp.array(bias)], jnp.array(series))
