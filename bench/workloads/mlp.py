"""One training step of a small network: two dense layers, cross entropy, plain gradient descent.

The step returns the parameters after the update. Libraries with variables go on from there at the next call.
"""

NUMBER = 3
TITLE = "MLP 784-128-10, batch 32, SGD step"

RATE = 0.1


def inputs(rng):
    images = rng.standard_normal((32, 784), dtype="float32")
    labels = rng.integers(0, 10, 32).astype("int32")
    w1 = rng.standard_normal((784, 128), dtype="float32") / 28
    w2 = rng.standard_normal((128, 10), dtype="float32") / 11
    b1, b2 = rng.standard_normal(128, dtype="float32") / 10, rng.standard_normal(10, dtype="float32") / 10
    return images, labels, w1, b1, w2, b2


def in_tensorflow(tf, images, labels, *parameters):
    parameters = [tf.Variable(p) for p in parameters]

    def step(images, labels):
        w1, b1, w2, b2 = parameters
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(images @ w1 + b1) @ w2 + b2
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        for p, g in zip(parameters, tape.gradient(loss, parameters), strict=True):
            p.assign_sub(RATE * g)
        return parameters

    return step, (tf.constant(images), tf.constant(labels))


def in_torch(torch, images, labels, *parameters):
    parameters = [torch.tensor(p, requires_grad=True) for p in parameters]

    def step(images, labels):
        w1, b1, w2, b2 = parameters
        logits = torch.relu(images @ w1 + b1) @ w2 + b2
        loss = torch.nn.functional.cross_entropy(logits, labels)
        with torch.no_grad():
            for p, g in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
                p.sub_(g, alpha=RATE)
        return parameters

    return step, (torch.tensor(images), torch.tensor(labels).long())


def in_jax(jax, images, labels, *parameters):
    jnp = jax.numpy

    def loss(parameters, images, labels):
        w1, b1, w2, b2 = parameters
        logits = jax.nn.relu(images @ w1 + b1) @ w2 + b2
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
        return -jnp.mean(picked)

    def step(parameters, images, labels):
        gradients = jax.grad(loss)(parameters, images, labels)
        return [p - RATE * g for p, g in zip(parameters, gradients, strict=True)]

    return step, ([jnp.array(p) for p in parameters], jnp.array(images), jnp.array(labels))


def in_autograd(autograd, images, labels, *parameters):
    from autograd.scipy.special import logsumexp

    np = autograd.numpy
    rows = np.arange(len(labels))

    def loss(parameters, images, labels):
        w1, b1, w2, b2 = parameters
        logits = np.maximum(images @ w1 + b1, 0) @ w2 + b2
        return np.mean(logsumexp(logits, axis=1) - logits[rows, labels])

    def step(parameters, images, labels):
        gradients = autograd.grad(loss)(parameters, images, labels)
        return [p - RATE * g for p, g in zip(parameters, gradients, strict=True)]

    return step, (list(parameters), images, labels)
