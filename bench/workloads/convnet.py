"""One training step of a small convolutional network on images of 28x28.

The step returns the parameters after the update. Libraries with variables go on from there at the next call.
"""

NUMBER = 9
TITLE = "conv net, batch 32 of 28x28, SGD step"

RATE = 0.05


def inputs(rng):
    def normal(*shape):
        fan_in = 1
        for n in shape[:-1]:
            fan_in *= n
        return rng.standard_normal(shape, dtype="float32") / fan_in**0.5

    images = rng.standard_normal((32, 28, 28, 1), dtype="float32")
    labels = rng.integers(0, 10, 32).astype("int32")
    return images, labels, normal(3, 3, 1, 32), normal(3, 3, 32, 64), normal(7 * 7 * 64, 10)


def in_tensorflow(tf, images, labels, *parameters):
    parameters = [tf.Variable(p) for p in parameters]

    def step(images, labels):
        first, second, dense = parameters
        with tf.GradientTape() as tape:
            x = tf.nn.relu(tf.nn.conv2d(images, first, 1, "SAME"))
            x = tf.nn.max_pool2d(x, 2, 2, "VALID")
            x = tf.nn.relu(tf.nn.conv2d(x, second, 1, "SAME"))
            x = tf.nn.max_pool2d(x, 2, 2, "VALID")
            logits = tf.reshape(x, (32, -1)) @ dense
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        for p, g in zip(parameters, tape.gradient(loss, parameters), strict=True):
            p.assign_sub(RATE * g)
        return parameters

    return step, (tf.constant(images), tf.constant(labels))


def in_torch(torch, images, labels, *parameters):
    functional = torch.nn.functional
    first, second, dense = parameters
    # torch's own layout: channels first, filters (out, in, height, width)
    first, second = first.transpose(3, 2, 0, 1), second.transpose(3, 2, 0, 1)
    dense = dense.reshape(7, 7, 64, 10).transpose(2, 0, 1, 3).reshape(-1, 10)
    parameters = [torch.tensor(p.copy(), requires_grad=True) for p in (first, second, dense)]

    def step(images, labels):
        first, second, dense = parameters
        x = functional.max_pool2d(torch.relu(functional.conv2d(images, first, padding=1)), 2)
        x = functional.max_pool2d(torch.relu(functional.conv2d(x, second, padding=1)), 2)
        loss = functional.cross_entropy(x.reshape(32, -1) @ dense, labels)
        with torch.no_grad():
            for p, g in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
                p.sub_(g, alpha=RATE)
        first, second, dense = parameters
        return [
            first.permute(2, 3, 1, 0),
            second.permute(2, 3, 1, 0),
            dense.reshape(64, 7, 7, 10).permute(1, 2, 0, 3).reshape(-1, 10),
        ]

    return step, (torch.tensor(images.transpose(0, 3, 1, 2).copy()), torch.tensor(labels).long())


def in_jax(jax, images, labels, *parameters):
    jnp = jax.numpy

    def convolve(x, filters):
        return jax.lax.conv_general_dilated(
            x, filters, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def pool(x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(parameters, images, labels):
        first, second, dense = parameters
        x = pool(jax.nn.relu(convolve(images, first)))
        x = pool(jax.nn.relu(convolve(x, second)))
        logits = x.reshape(32, -1) @ dense
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
        return -jnp.mean(picked)

    def step(parameters, images, labels):
        gradients = jax.grad(loss)(parameters, images, labels)
        return [p - RATE * g for p, g in zip(parameters, gradients, strict=True)]

    return step, ([jnp.array(p) for p in parameters], jnp.array(images), jnp.array(labels))
