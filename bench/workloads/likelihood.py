"""The log-likelihood of a Gaussian process by Cholesky factorization, and its gradient by the kernel's parameters."""

NUMBER = 13
TITLE = "200x200 Cholesky log-likelihood"

POINTS = 200


def inputs(rng):
    x = rng.standard_normal((POINTS, 3), dtype="float32")
    return x, rng.standard_normal((POINTS, 1), dtype="float32"), rng.standard_normal(3, dtype="float32") / 3


def in_tensorflow(tf, x, y, scales):
    scales, unit = tf.Variable(scales), tf.eye(POINTS)

    def step(x, y):
        with tf.GradientTape() as tape:
            scaled = x * tf.exp(scales)
            squares = tf.reduce_sum(scaled * scaled, axis=1)
            distance = squares[:, None] + squares[None, :] - 2.0 * tf.matmul(scaled, scaled, transpose_b=True)
            factor = tf.linalg.cholesky(tf.exp(-0.5 * distance) + 0.5 * unit)
            white = tf.linalg.triangular_solve(factor, y)
            loss = 0.5 * tf.reduce_sum(white * white) + tf.reduce_sum(
                tf.math.log(tf.linalg.diag_part(factor))
            )
        return [tape.gradient(loss, scales)]

    return step, (tf.constant(x), tf.constant(y))


def in_torch(torch, x, y, scales):
    scales, unit = torch.tensor(scales, requires_grad=True), torch.eye(POINTS)

    def step(x, y):
        scaled = x * torch.exp(scales)
        squares = (scaled * scaled).sum(1)
        distance = squares[:, None] + squares[None, :] - 2.0 * scaled @ scaled.T
        factor = torch.linalg.cholesky(torch.exp(-0.5 * distance) + 0.5 * unit)
        white = torch.linalg.solve_triangular(factor, y, upper=False)
        loss = 0.5 * (white * white).sum() + torch.log(torch.diagonal(factor)).sum()
        return torch.autograd.grad(loss, [scales])

    return step, (torch.tensor(x), torch.tensor(y))


def in_jax(jax, x, y, scales):
    jnp = jax.numpy

    def loss(scales, x, y):
        scaled = x * jnp.exp(scales)
        squares = jnp.sum(scaled * scaled, axis=1)
        distance = squares[:, None] + squares[None, :] - 2.0 * scaled @ scaled.T
        factor = jnp.linalg.cholesky(jnp.exp(-0.5 * distance) + 0.5 * jnp.eye(POINTS))
        white = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * jnp.sum(white * white) + jnp.sum(jnp.log(jnp.diagonal(factor)))

    def step(scales, x, y):
        return [jax.grad(loss)(scales, x, y)]

    return step, (jnp.array(scales), jnp.array(x), jnp.array(y))
