"""The log-likelihood of a Gaussian mixture with full covariances, written component by component; its gradient.

The covariances are given by their inverse Cholesky factors: the logarithms of the diagonal, and what is below it.
"""

import numpy as np

NUMBER = 23
TITLE = "Gaussian mixture d=20 k=25 n=1000, by component"
FIRST_CALLS = 1

POINTS, COMPONENTS, DIMENSIONS = 1000, 25, 20
BELOW = np.array([(i, j) for i in range(DIMENSIONS) for j in range(i)], "int32")


def inputs(rng):
    data = rng.standard_normal((POINTS, DIMENSIONS), dtype="float32")
    logits = rng.standard_normal(COMPONENTS, dtype="float32")
    means = rng.standard_normal((COMPONENTS, DIMENSIONS), dtype="float32")
    log_diagonals = rng.standard_normal((COMPONENTS, DIMENSIONS), dtype="float32") / 4
    below = rng.standard_normal((COMPONENTS, len(BELOW)), dtype="float32") / 4
    return data, logits, means, log_diagonals, below


def in_tensorflow(tf, data, *parameters):
    parameters = [tf.Variable(p) for p in parameters]
    logits, means, log_diagonals, below = parameters

    def step(data):
        with tf.GradientTape() as tape:
            scores = []
            for k in range(COMPONENTS):
                centered = data - means[k]
                factor = tf.scatter_nd(BELOW, below[k], (DIMENSIONS, DIMENSIONS))
                whitened = centered * tf.exp(log_diagonals[k]) + tf.linalg.matmul(
                    centered, factor, transpose_b=True
                )
                distance = tf.reduce_sum(tf.square(whitened), axis=1)
                scores.append(logits[k] + tf.reduce_sum(log_diagonals[k]) - 0.5 * distance)
            total = tf.reduce_sum(tf.reduce_logsumexp(tf.stack(scores, axis=1), axis=1))
            loss = total - POINTS * tf.reduce_logsumexp(logits)
        return tape.gradient(loss, parameters)

    return step, (tf.constant(data),)


def in_torch(torch, data, *parameters):
    parameters = [torch.tensor(p, requires_grad=True) for p in parameters]
    logits, means, log_diagonals, below = parameters
    rows, columns = torch.tensor(BELOW).long().T

    def step(data):
        scores = []
        for k in range(COMPONENTS):
            centered = data - means[k]
            factor = torch.zeros(DIMENSIONS, DIMENSIONS).index_put((rows, columns), below[k])
            whitened = centered * torch.exp(log_diagonals[k]) + centered @ factor.T
            scores.append(logits[k] + log_diagonals[k].sum() - 0.5 * torch.square(whitened).sum(1))
        total = torch.logsumexp(torch.stack(scores, 1), 1).sum()
        return torch.autograd.grad(total - POINTS * torch.logsumexp(logits, 0), parameters)

    return step, (torch.tensor(data),)


def in_jax(jax, data, *parameters):
    jnp = jax.numpy
    rows, columns = BELOW.T

    def loss(parameters, data):
        logits, means, log_diagonals, below = parameters
        scores = []
        for k in range(COMPONENTS):
            centered = data - means[k]
            factor = jnp.zeros((DIMENSIONS, DIMENSIONS)).at[rows, columns].set(below[k])
            whitened = centered * jnp.exp(log_diagonals[k]) + centered @ factor.T
            scores.append(logits[k] + log_diagonals[k].sum() - 0.5 * jnp.square(whitened).sum(1))
        total = jax.nn.logsumexp(jnp.stack(scores, 1), 1).sum()
        return total - POINTS * jax.nn.logsumexp(logits)

    return jax.grad(loss), ([jnp.array(p) for p in parameters], jnp.array(data))
