"""The log-likelihood of a Gaussian mixture, component by component and dimension by dimension.

Some 400 operations on 1000 points each, and indexing of the parameters: a model as one first writes it down.
"""

NUMBER = 5
TITLE = "Gaussian mixture 1000x10x5, Python loop"

POINTS, COMPONENTS, DIMENSIONS = 1000, 10, 5


def inputs(rng):
    data = rng.standard_normal((DIMENSIONS, POINTS), dtype="float32")
    means = rng.standard_normal((COMPONENTS, DIMENSIONS), dtype="float32")
    log_scales = rng.standard_normal((COMPONENTS, DIMENSIONS), dtype="float32") / 4
    logits = rng.standard_normal(COMPONENTS, dtype="float32")
    return data, means, log_scales, logits


def in_tensorflow(tf, data, means, log_scales, logits):
    means, log_scales, logits = tf.Variable(means), tf.Variable(log_scales), tf.Variable(logits)

    def step(*columns):
        with tf.GradientTape() as tape:
            log_weights = tf.nn.log_softmax(logits)
            scores = []
            for k in range(COMPONENTS):
                score = log_weights[k]
                for d, column in enumerate(columns):
                    log_scale = log_scales[k, d]
                    score = score - 0.5 * tf.square((column - means[k, d]) * tf.exp(-log_scale)) - log_scale
                scores.append(score)
            likelihood = tf.reduce_sum(tf.reduce_logsumexp(tf.stack(scores), axis=0))
        return tape.gradient(likelihood, [means, log_scales, logits])

    return step, [tf.constant(column) for column in data]


def in_torch(torch, data, means, log_scales, logits):
    means, log_scales, logits = (torch.tensor(p, requires_grad=True) for p in (means, log_scales, logits))

    def step(*columns):
        log_weights = torch.log_softmax(logits, dim=0)
        scores = []
        for k in range(COMPONENTS):
            score = log_weights[k]
            for d, column in enumerate(columns):
                log_scale = log_scales[k, d]
                score = score - 0.5 * torch.square((column - means[k, d]) * torch.exp(-log_scale)) - log_scale
            scores.append(score)
        likelihood = torch.sum(torch.logsumexp(torch.stack(scores), dim=0))
        return torch.autograd.grad(likelihood, [means, log_scales, logits])

    return step, [torch.tensor(column) for column in data]


def in_jax(jax, data, means, log_scales, logits):
    jnp = jax.numpy

    def likelihood(means, log_scales, logits, *columns):
        log_weights = jax.nn.log_softmax(logits)
        scores = []
        for k in range(COMPONENTS):
            score = log_weights[k]
            for d, column in enumerate(columns):
                log_scale = log_scales[k, d]
                score = score - 0.5 * jnp.square((column - means[k, d]) * jnp.exp(-log_scale)) - log_scale
            scores.append(score)
        return jnp.sum(jax.nn.logsumexp(jnp.stack(scores), axis=0))

    arguments = [jnp.array(value) for value in (means, log_scales, logits, *data)]
    return jax.grad(likelihood, argnums=(0, 1, 2)), arguments


def in_autograd(autograd, data, means, log_scales, logits):
    from autograd.scipy.special import logsumexp

    np = autograd.numpy

    def likelihood(means, log_scales, logits, *columns):
        log_weights = logits - logsumexp(logits)
        scores = []
        for k in range(COMPONENTS):
            score = log_weights[k]
            for d, column in enumerate(columns):
                log_scale = log_scales[k, d]
                score = score - 0.5 * np.square((column - means[k, d]) * np.exp(-log_scale)) - log_scale
            scores.append(score)
        return np.sum(logsumexp(np.stack(scores), axis=0))

    return autograd.grad(likelihood, argnum=(0, 1, 2)), (means, log_scales, logits, *data)
