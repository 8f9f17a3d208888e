"""One training step of the classifier of examples/digits.py, without its dropout: three convolutions, Adam.

The images are random, of the digits' size: 45 such steps are an epoch of the 1437 digits. The step returns its loss;
the optimizers go on at the next call.
"""

NUMBER = 14
TITLE = "digits classifier, batch 32 of 8x8, Adam step"

RATE = 0.001
BATCH = 32


def inputs(rng):
    def normal(*shape):
        fan_in = 1
        for n in shape[:-1]:
            fan_in *= n
        return rng.standard_normal(shape, dtype="float32") * (2 / fan_in) ** 0.5

    images = rng.random((BATCH, 8, 8, 1), dtype="float32")
    labels = rng.integers(0, 10, BATCH).astype("int32")
    filters = normal(3, 3, 1, 16), normal(3, 3, 16, 32), normal(3, 3, 32, 64)
    offsets = [rng.standard_normal(f.shape[-1], dtype="float32") / 10 for f in filters]
    return images, labels, *filters, *offsets, normal(2 * 2 * 64, 10)


def in_tensorflow(tf, images, labels, *parameters):
    parameters = [tf.Variable(p) for p in parameters]
    optimizer = tf.optimizers.Adam(RATE)
    optimizer.build(parameters)

    def step(images, labels):
        *convolutions, dense = parameters
        with tf.GradientTape() as tape:
            x = images
            for filters, offset, pool in zip(convolutions[:3], convolutions[3:], (1, 2, 2), strict=True):
                x = tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME") + offset)
                if pool > 1:
                    x = tf.nn.max_pool2d(x, pool, pool, "VALID")
            logits = tf.reshape(x, (BATCH, -1)) @ dense
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        optimizer.apply_gradients(zip(tape.gradient(loss, parameters), parameters, strict=True))
        return [loss]

    return step, (tf.constant(images), tf.constant(labels))


def in_torch(torch, images, labels, *parameters):
    functional = torch.nn.functional
    *convolutions, dense = parameters
    # torch's own layout: channels first, filters (out, in, height, width)
    arrays = [filters.transpose(3, 2, 0, 1) for filters in convolutions[:3]] + convolutions[3:]
    arrays.append(dense.reshape(2, 2, 64, 10).transpose(2, 0, 1, 3).reshape(-1, 10))
    parameters = [torch.tensor(a.copy(), requires_grad=True) for a in arrays]
    optimizer = torch.optim.Adam(parameters, lr=RATE, eps=1e-7)

    def step(images, labels):
        *convolutions, dense = parameters
        x = images
        for filters, offset, pool in zip(convolutions[:3], convolutions[3:], (1, 2, 2), strict=True):
            x = torch.relu(functional.conv2d(x, filters, offset, padding=1))
            if pool > 1:
                x = functional.max_pool2d(x, pool)
        loss = functional.cross_entropy(x.reshape(BATCH, -1) @ dense, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return [loss]

    return step, (torch.tensor(images.transpose(0, 3, 1, 2).copy()), torch.tensor(labels).long())
