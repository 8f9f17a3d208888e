"""A self-attention block with four heads, and the gradient of its parameters."""

NUMBER = 11
TITLE = "self-attention, batch 8, 64 tokens, width 64"

BATCH, TOKENS, WIDTH, HEADS = 8, 64, 64, 4
SCALE = (WIDTH // HEADS) ** -0.5


def inputs(rng):
    tokens = rng.standard_normal((BATCH, TOKENS, WIDTH), dtype="float32")
    project = rng.standard_normal((WIDTH, 3 * WIDTH), dtype="float32") / WIDTH**0.5
    return tokens, project, rng.standard_normal((WIDTH, WIDTH), dtype="float32") / WIDTH**0.5


def in_tensorflow(tf, tokens, project, output):
    project, output = tf.Variable(project), tf.Variable(output)

    def heads(x):
        return tf.transpose(tf.reshape(x, (BATCH, TOKENS, HEADS, WIDTH // HEADS)), (0, 2, 1, 3))

    def step(tokens):
        with tf.GradientTape() as tape:
            q, k, v = (heads(x) for x in tf.split(tokens @ project, 3, axis=-1))
            weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * SCALE)
            mixed = tf.reshape(tf.transpose(weights @ v, (0, 2, 1, 3)), (BATCH, TOKENS, WIDTH))
            loss = tf.reduce_mean(tf.square(mixed @ output + tokens))
        return tape.gradient(loss, [project, output])

    return step, (tf.constant(tokens),)


def in_torch(torch, tokens, project, output):
    project, output = torch.tensor(project, requires_grad=True), torch.tensor(output, requires_grad=True)

    def heads(x):
        return x.reshape(BATCH, TOKENS, HEADS, WIDTH // HEADS).permute(0, 2, 1, 3)

    def step(tokens):
        q, k, v = (heads(x) for x in (tokens @ project).chunk(3, dim=-1))
        weights = torch.softmax(q @ k.transpose(-1, -2) * SCALE, dim=-1)
        mixed = (weights @ v).permute(0, 2, 1, 3).reshape(BATCH, TOKENS, WIDTH)
        return torch.autograd.grad(torch.square(mixed @ output + tokens).mean(), [project, output])

    return step, (torch.tensor(tokens),)


def in_jax(jax, tokens, project, output):
    jnp = jax.numpy

    def heads(x):
        return x.reshape(BATCH, TOKENS, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    def loss(parameters, tokens):
        project, output = parameters
        q, k, v = (heads(x) for x in jnp.split(tokens @ project, 3, axis=-1))
        weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) * SCALE)
        mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(BATCH, TOKENS, WIDTH)
        return jnp.mean(jnp.square(mixed @ output + tokens))

    def step(parameters, tokens):
        return jax.grad(loss)(parameters, tokens)

    return step, ([jnp.array(project), jnp.array(output)], jnp.array(tokens))
