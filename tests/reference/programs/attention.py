"""Attention: masks, heads, caches, positions."""

import numpy as np

from .draws import integers, normal


def scaled_dot_product(tf, function):
    q, k, v = (tf.constant(normal(i, 2, 4, 3)) for i in range(3))

    @function
    def attend(q, k, v):
        scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(3.0)
        weights = tf.nn.softmax(scores, axis=-1)
        return weights @ v

    with tf.GradientTape() as tape:
        tape.watch([q, k, v])
        y = attend(q, k, v)
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, [q, k, v])


def causal_mask(tf, function):
    w = tf.Variable(normal(0, 3, 9))
    x = tf.constant(normal(1, 4, 3))

    @function
    def attend(x):
        q, k, v = tf.split(x @ w, 3, axis=-1)
        n = tf.shape(x)[0]
        mask = 1.0 - tf.linalg.band_part(tf.ones((n, n)), -1, 0)
        return tf.nn.softmax(q @ tf.transpose(k) - 1e9 * mask) @ v

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = attend(x)
        first = y[0]
    return y, tape.gradient(first, [x, w])


def multi_head(tf, function):
    wq, wk, wv, wo = (tf.Variable(0.5 * normal(i, 4, 4)) for i in range(4))
    x = tf.constant(normal(5, 2, 3, 4))

    def heads(x):
        return tf.transpose(tf.reshape(x, (2, 3, 2, 2)), (0, 2, 1, 3))

    @function
    def attend(x):
        q, k, v = heads(x @ wq), heads(x @ wk), heads(x @ wv)
        weights = tf.nn.softmax(tf.einsum("bhqd,bhkd->bhqk", q, k) / 2**0.5)
        y = tf.einsum("bhqk,bhkd->bqhd", weights, v)
        return tf.reshape(y, (2, 3, 4)) @ wo

    with tf.GradientTape() as tape:
        y = attend(x)
        loss = tf.reduce_mean(y * y)
    return loss, tape.gradient(loss, [wq, wk, wv, wo])


def padding_mask_from_tokens(tf, function):
    table = tf.Variable(normal(0, 6, 3))
    tokens = tf.constant([[1, 2, 0, 0], [3, 4, 5, 0]])

    @function
    def pooled(tokens):
        x = tf.gather(table, tokens)
        keep = tf.cast(tokens != 0, tf.float32)
        scores = tf.matmul(x, x, transpose_b=True) + (1.0 - keep[:, None, :]) * -1e9
        y = tf.nn.softmax(scores) @ x
        return tf.reduce_sum(y * keep[..., None], axis=1) / tf.reduce_sum(keep, axis=1, keepdims=True)

    with tf.GradientTape() as tape:
        y = pooled(tokens)
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, table)


def cache_in_a_dict(tf, function):
    w = tf.Variable(0.5 * normal(0, 2, 6))
    xs = tf.constant(normal(1, 3, 1, 2))

    @function
    def decode(xs):
        cache = {"k": tf.zeros((0, 2)), "v": tf.zeros((0, 2))}
        outputs = []
        for t in range(3):
            q, k, v = tf.split(xs[t] @ w, 3, axis=1)
            cache["k"] = tf.concat([cache["k"], k], axis=0)
            cache["v"] = tf.concat([cache["v"], v], axis=0)
            outputs.append(tf.nn.softmax(q @ tf.transpose(cache["k"])) @ cache["v"])
        return tf.concat(outputs, 0)

    with tf.GradientTape() as tape:
        y = decode(xs)
        loss = tf.reduce_sum(tf.sin(y))
    return y, tape.gradient(loss, w)


def transformer_block(tf, function):
    d = 4
    p = {
        "qkv": tf.Variable(0.5 * normal(0, d, 3 * d)),
        "out": tf.Variable(0.5 * normal(1, d, d)),
        "up": tf.Variable(0.5 * normal(2, d, 2 * d)),
        "down": tf.Variable(0.5 * normal(3, 2 * d, d)),
        "gain": tf.Variable(tf.ones(d)),
    }

    def layer_norm(x):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-5) * p["gain"]

    @function
    def block(x):
        q, k, v = tf.split(layer_norm(x) @ p["qkv"], 3, axis=-1)
        x = x + (tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / d**0.5) @ v) @ p["out"]
        return x + tf.nn.gelu(layer_norm(x) @ p["up"]) @ p["down"]

    with tf.GradientTape() as tape:
        y = block(tf.constant(normal(4, 3, d)))
        loss = tf.reduce_mean(y**2)
    gradients = tape.gradient(loss, p)
    return y, {name: tf.norm(g) for name, g in gradients.items()}, gradients["gain"]


def rotary_positions(tf, function):
    q, k = tf.constant(normal(0, 3, 4)), tf.constant(normal(1, 3, 4))

    @function
    def scores(q, k):
        angles = tf.range(3.0)[:, None] * (10.0 ** -tf.range(2.0))[None]

        def rotate(x):
            a, b = x[:, 0::2], x[:, 1::2]
            cos, sin = tf.cos(angles), tf.sin(angles)
            return tf.reshape(tf.stack([a * cos - b * sin, a * sin + b * cos], axis=-1), (3, 4))

        return tf.matmul(rotate(q), rotate(k), transpose_b=True)

    with tf.GradientTape() as tape:
        tape.watch([q, k])
        s = scores(q, k)
        loss = tf.reduce_sum(tf.nn.softmax(0.2 * s)[0] * tf.constant([1.0, 2.0, 3.0]))
    return s, tape.gradient(loss, [q, k])


def positional_encoding(tf, function):
    scale = tf.Variable(0.5)

    @function
    def encode(length):
        positions = tf.cast(tf.range(length), tf.float32)[:, None]
        rates = 1.0 / tf.pow(100.0, 2.0 * tf.floor(tf.range(4.0) / 2.0) / 4.0)
        angles = scale * positions * rates[None]
        even = tf.cast(tf.range(4) % 2 == 0, tf.float32)
        return even * tf.sin(angles) + (1.0 - even) * tf.cos(angles)

    with tf.GradientTape() as tape:
        y = encode(5)
    return y, tape.gradient(y, scale)


def linear_attention_by_cumsum(tf, function):
    q, k, v = (tf.constant(normal(i, 5, 2)) for i in range(3))

    @function
    def attend(q, k, v):
        q, k = tf.nn.elu(q) + 1.0, tf.nn.elu(k) + 1.0
        kv = tf.cumsum(k[:, :, None] * v[:, None, :], axis=0)
        z = tf.cumsum(k, axis=0)
        return tf.einsum("td,tde->te", q, kv) / tf.reduce_sum(q * z, axis=1, keepdims=True)

    with tf.GradientTape() as tape:
        tape.watch([q, k, v])
        y = attend(q, k, v)
    return y, tape.gradient(y, [q, k, v])


def additive_attention(tf, function):
    w1, w2, v = tf.Variable(normal(0, 3, 4)), tf.Variable(normal(1, 2, 4)), tf.Variable(normal(2, 4))
    values, query = tf.constant(normal(3, 5, 3)), tf.constant(normal(4, 2))

    @function
    def attend():
        scores = tf.linalg.matvec(tf.tanh(values @ w1 + tf.linalg.matvec(w2, query, transpose_a=True)), v)
        weights = tf.nn.softmax(scores)
        return tf.reduce_sum(weights[:, None] * values, axis=0), weights

    with tf.GradientTape() as tape:
        context, weights = attend()
    return context, weights, tape.gradient(context, [w1, w2, v])


def relative_positions(tf, function):
    bias = tf.Variable(normal(0, 7))
    x = tf.constant(normal(1, 4, 2))

    @function
    def attend(x):
        n = x.shape[0]
        offsets = tf.range(n)[:, None] - tf.range(n)[None] + n - 1
        return tf.nn.softmax(x @ tf.transpose(x) + tf.gather(bias, offsets)) @ x

    with tf.GradientTape() as tape:
        y = attend(x)
        loss = tf.reduce_sum(y[:, 0])
    return y, tape.gradient(loss, bias)


def mixture_of_experts(tf, function):
    experts, gate = tf.Variable(normal(0, 3, 2, 2)), tf.Variable(normal(1, 2, 3))
    x = tf.constant(normal(2, 5, 2))

    @function
    def forward(x):
        scores = tf.nn.softmax(x @ gate)
        top, chosen = tf.math.top_k(scores, k=2)
        outputs = tf.einsum("bi,eij->bej", x, experts)
        picked = tf.gather(outputs, chosen, batch_dims=1)
        return tf.reduce_sum(
            picked * (top / tf.reduce_sum(top, axis=1, keepdims=True))[..., None], axis=1
        ), chosen

    with tf.GradientTape() as tape:
        y, chosen = forward(x)
        loss = tf.reduce_sum(y**2)
    return y, chosen, tape.gradient(loss, [experts, gate])


def masked_language_model(tf, function):
    table = tf.Variable(0.5 * normal(0, 8, 4))
    tokens = integers(1, 8, 6)
    masked = np.array([False, True, False, False, True, False])

    @function
    def step(tokens, masked):
        with tf.GradientTape() as tape:
            x = tf.gather(table, tf.where(masked, 0, tokens))
            h = x + tf.nn.softmax(x @ tf.transpose(x)) @ x
            logits = h @ tf.transpose(table)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tokens, logits)
            loss = tf.math.divide_no_nan(
                tf.reduce_sum(losses * tf.cast(masked, tf.float32)),
                tf.cast(tf.math.count_nonzero(masked), tf.float32),
            )
        return loss, tf.convert_to_tensor(tape.gradient(loss, table))

    return step(tf.constant(tokens), tf.constant(masked)), step(
        tf.constant(tokens), tf.constant(masked & False)
    )[0]
