"""Learning from pairs."""

from .draws import normal


def simclr(tf, function):
    w = tf.Variable(normal(0, 3, 4))
    a, b = tf.constant(normal(1, 4, 3)), tf.constant(normal(1, 4, 3) + 0.1 * normal(2, 4, 3))

    @function
    def gradient(temperature):
        with tf.GradientTape() as tape:
            z = tf.math.l2_normalize(tf.concat([a, b], 0) @ w, axis=1)
            similarity = tf.matmul(z, z, transpose_b=True) / temperature - 1e9 * tf.eye(8)
            labels = (tf.range(8) + 4) % 8
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, similarity))
        return loss, tape.gradient(loss, w)

    return gradient(tf.constant(0.5))


def triplet_loss_with_mining(tf, function):
    embeddings = tf.Variable(normal(0, 5, 2))
    labels = tf.constant([0, 0, 1, 1, 0])

    @function
    def gradient():
        with tf.GradientTape() as tape:
            squared = tf.reduce_sum(embeddings**2, axis=1)
            distances = squared[:, None] + squared[None] - 2.0 * embeddings @ tf.transpose(embeddings)
            same = labels[:, None] == labels[None]
            hardest_positive = tf.reduce_max(tf.where(same, distances, tf.zeros_like(distances)), axis=1)
            hardest_negative = tf.reduce_min(tf.where(same, tf.fill((5, 5), 1e9), distances), axis=1)
            loss = tf.reduce_mean(tf.maximum(hardest_positive - hardest_negative + 0.5, 0.0))
        return loss, tape.gradient(loss, embeddings)

    return gradient()


def clip_of_two_towers(tf, function):
    image, text, scale = tf.Variable(normal(0, 3, 2)), tf.Variable(normal(1, 4, 2)), tf.Variable(1.0)
    x, t = tf.constant(normal(2, 4, 3)), tf.constant(normal(3, 4, 4))

    @function
    def step():
        with tf.GradientTape() as tape:
            a, b = tf.math.l2_normalize(x @ image, axis=1), tf.math.l2_normalize(t @ text, axis=1)
            logits = tf.exp(scale) * tf.matmul(a, b, transpose_b=True)
            labels = tf.range(4)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
            loss += tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.transpose(logits))
            )
        for v, g in zip((image, text, scale), tape.gradient(loss, (image, text, scale))):
            v.assign_sub(0.1 * g)
        return loss

    return [step() for _ in range(3)], scale


def momentum_queue(tf, function):
    online = tf.Variable(normal(0, 3, 2))
    momentum = tf.Variable(online, trainable=False)
    queue = tf.Variable(tf.math.l2_normalize(normal(1, 4, 2), axis=1), trainable=False)

    @function
    def step(x):
        with tf.GradientTape() as tape:
            q = tf.math.l2_normalize(x @ online, axis=1)
            k = tf.stop_gradient(tf.math.l2_normalize(x @ momentum, axis=1))
            positive = tf.reduce_sum(q * k, axis=1, keepdims=True)
            logits = tf.concat([positive, q @ tf.transpose(queue)], axis=1) / 0.2
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(tf.zeros(2, tf.int32), logits)
            )
        online.assign_sub(0.1 * tape.gradient(loss, online))
        momentum.assign(0.9 * momentum + 0.1 * online)
        queue.assign(tf.concat([k, queue[:-2]], axis=0))
        return loss

    return [step(tf.constant(normal(5 + i, 2, 3))) for i in range(3)], queue


def barlow_twins(tf, function):
    w = tf.Variable(normal(0, 3, 3))
    a, b = tf.constant(normal(1, 6, 3)), tf.constant(normal(2, 6, 3))

    @function
    def gradient():
        def standardize(z):
            mean, variance = tf.nn.moments(z, axes=[0])
            return (z - mean) / tf.sqrt(variance + 1e-5)

        with tf.GradientTape() as tape:
            c = tf.matmul(standardize(a @ w), standardize(b @ w), transpose_a=True) / 6.0
            off = c - tf.linalg.diag(tf.linalg.diag_part(c))
            loss = tf.reduce_sum((1.0 - tf.linalg.diag_part(c)) ** 2) + 0.05 * tf.reduce_sum(off**2)
        return loss, tape.gradient(loss, w)

    return gradient()
