"""Messages along edges."""

from .draws import normal


def _graph(tf):
    edges = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 3]]
    return tf.constant([e[0] for e in edges]), tf.constant([e[1] for e in edges])


def graph_convolution(tf, function):
    w1, w2 = tf.Variable(0.5 * normal(0, 3, 4)), tf.Variable(0.5 * normal(1, 4, 2))
    x, labels = tf.constant(normal(2, 4, 3)), tf.constant([0, 1, 1, 0])
    senders, receivers = _graph(tf)

    @function
    def step():
        with tf.GradientTape() as tape:
            adjacency = tf.scatter_nd(tf.stack([receivers, senders], 1), tf.ones(5), (4, 4)) + tf.eye(4)
            degrees = tf.math.rsqrt(tf.reduce_sum(adjacency, axis=1))
            adjacency = degrees[:, None] * adjacency * degrees[None]
            logits = adjacency @ tf.nn.relu(adjacency @ x @ w1) @ w2
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_sum(tf.boolean_mask(losses, [True, True, False, True])) / 3.0
        for v, g in zip((w1, w2), tape.gradient(loss, (w1, w2))):
            v.assign_sub(0.3 * g)
        return loss

    return [step() for _ in range(3)], w2


def message_passing_by_segments(tf, function):
    w = tf.Variable(0.5 * normal(0, 4, 2))
    nodes = tf.constant(normal(1, 4, 2))
    senders, receivers = _graph(tf)

    @function
    def propagate(nodes):
        for _ in range(2):
            pairs = tf.concat([tf.gather(nodes, senders), tf.gather(nodes, receivers)], axis=1)
            nodes = nodes + tf.math.unsorted_segment_sum(tf.tanh(pairs @ w), receivers, 4)
        return nodes

    with tf.GradientTape() as tape:
        tape.watch(nodes)
        out = propagate(nodes)
        loss = tf.reduce_sum(out**2)
    g, gw = tape.gradient(loss, [nodes, w])
    return out, tf.convert_to_tensor(g), gw


def graph_attention(tf, function):
    w, a = tf.Variable(normal(0, 2, 2)), tf.Variable(normal(1, 4))
    nodes = tf.constant(normal(2, 4, 2))
    senders, receivers = _graph(tf)

    @function
    def attend():
        h = nodes @ w
        pairs = tf.concat([tf.gather(h, senders), tf.gather(h, receivers)], axis=1)
        scores = tf.nn.leaky_relu(tf.linalg.matvec(pairs, a), 0.2)
        scores = tf.exp(scores - tf.gather(tf.math.unsorted_segment_max(scores, receivers, 4), receivers))
        total = tf.gather(tf.math.unsorted_segment_sum(scores, receivers, 4), receivers)
        return tf.math.unsorted_segment_sum((scores / total)[:, None] * tf.gather(h, senders), receivers, 4)

    with tf.GradientTape() as tape:
        y = attend()
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, [w, a])


def page_rank_differentiated(tf, function):
    logits = tf.Variable(normal(0, 4, 4))

    @function
    def rank():
        transition = tf.nn.softmax(logits, axis=1)
        p = tf.fill((1, 4), 0.25)
        for _ in tf.range(6):
            p = 0.85 * p @ transition + 0.15 / 4.0
        return p

    with tf.GradientTape() as tape:
        p = rank()
        first = p[0, 0]
    return p, tape.gradient(first, logits)


def pooled_by_graph(tf, function):
    w = tf.Variable(normal(0, 3, 1))
    nodes, graph = tf.constant(normal(1, 6, 3)), tf.constant([0, 0, 0, 2, 2, 1])

    @function
    def predict():
        mean = tf.math.unsorted_segment_mean(nodes, graph, 4)
        return (mean @ w)[:, 0], tf.math.segment_max(tf.sort(nodes[:, 0]), tf.sort(graph))

    with tf.GradientTape() as tape:
        tape.watch(nodes)
        y, _ = predict()
        loss = tf.reduce_sum(tf.nn.softplus(y))
    return predict(), tape.gradient(loss, [w, nodes])


def equivariant_coordinates(tf, function):
    w = tf.Variable(0.5 * normal(0, 3, 1))
    positions, features = tf.constant(normal(1, 4, 3)), tf.constant(normal(2, 4, 1))

    @function
    def update(positions):
        difference = positions[:, None] - positions[None]
        distance = tf.reduce_sum(difference**2, axis=-1, keepdims=True)
        h = tf.tile(features[None], (4, 1, 1))
        message = tf.tanh(tf.concat([distance, h, tf.transpose(h, (1, 0, 2))], -1) @ w)
        return positions + tf.reduce_mean(difference * message, axis=1)

    with tf.GradientTape() as tape:
        tape.watch(positions)
        y = update(positions)
        loss = tf.reduce_sum(tf.sin(y))
    return y, tape.gradient(loss, [positions, w])
