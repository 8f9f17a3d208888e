"""Tables of vectors and their sparse gradients."""

from .draws import integers, normal


def skip_gram_with_negatives(tf, function):
    target, context = tf.Variable(0.5 * normal(0, 6, 3)), tf.Variable(0.5 * normal(1, 6, 3))

    @function
    def gradients(words, contexts):
        with tf.GradientTape() as tape:
            w = tf.nn.embedding_lookup(target, words)
            c = tf.nn.embedding_lookup(context, contexts)
            logits = tf.einsum("be,bce->bc", w, c)
            labels = tf.constant([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
            loss = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
        return loss, tape.gradient(loss, [target, context])

    return gradients(tf.constant([2, 4]), tf.constant([[1, 0, 5], [3, 3, 0]]))


def sparse_updates_by_sgd(tf, function):
    table = tf.Variable(normal(0, 5, 2))
    optimizer = tf.optimizers.SGD(0.1)

    @function
    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, ids) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, table), table)])
        return loss

    return [step(tf.constant(ids)) for ids in ([0, 0, 3], [1, 2, 3])], table


def matrix_factorization(tf, function):
    users, items = tf.Variable(0.3 * normal(0, 4, 2)), tf.Variable(0.3 * normal(1, 5, 2))
    u, i = tf.constant(integers(2, 4, 8)), tf.constant(integers(3, 5, 8))
    ratings = tf.constant(normal(4, 8))

    @function
    def step():
        with tf.GradientTape() as tape:
            predicted = tf.reduce_sum(tf.gather(users, u) * tf.gather(items, i), axis=1)
            loss = tf.reduce_mean((ratings - predicted) ** 2) + 0.01 * (
                tf.nn.l2_loss(users) + tf.nn.l2_loss(items)
            )
        for v, g in zip((users, items), tape.gradient(loss, (users, items))):
            v.assign_sub(0.2 * tf.convert_to_tensor(g))
        return loss

    return [step() for _ in range(4)], users, items


def tied_input_and_output(tf, function):
    table = tf.Variable(0.5 * normal(0, 5, 3))

    @function
    def gradient(tokens):
        with tf.GradientTape() as tape:
            h = tf.tanh(tf.nn.embedding_lookup(table, tokens[:-1]))
            logits = tf.matmul(h, table, transpose_b=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tokens[1:], logits))
        return loss, tape.gradient(loss, table)

    return gradient(tf.constant([0, 3, 3, 1]))


def bag_of_words_by_one_hot(tf, function):
    w = tf.Variable(normal(0, 6, 2))

    @function
    def f(tokens):
        bag = tf.reduce_sum(tf.one_hot(tokens, 6), axis=1)
        return tf.nn.log_softmax(bag @ w)

    tokens = tf.constant([[0, 1, 1], [5, 2, 9]])
    with tf.GradientTape() as tape:
        y = f(tokens)
        loss = -tf.reduce_mean(y[:, 0])
    return y, tape.gradient(loss, w)


def translation_of_knowledge_graphs(tf, function):
    entities, relations = tf.Variable(normal(0, 5, 3)), tf.Variable(normal(1, 2, 3))
    triples = tf.constant([[0, 0, 1], [2, 1, 3]])

    @function
    def gradients(triples):
        with tf.GradientTape() as tape:
            h, r, t = tf.unstack(triples, axis=1)
            score = lambda t: tf.norm(
                tf.gather(entities, h) + tf.gather(relations, r) - tf.gather(entities, t), axis=1
            )
            loss = tf.reduce_sum(tf.nn.relu(1.0 + score(t) - score((t + 1) % 5)))
        return loss, [tf.convert_to_tensor(g) for g in tape.gradient(loss, [entities, relations])]

    return gradients(triples)


def empty_lookup(tf, function):
    table = tf.Variable(normal(0, 3, 2))

    @function
    def f(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, ids)) + tf.reduce_sum(table[0])
        return loss, tf.convert_to_tensor(tape.gradient(loss, table))

    return f(tf.zeros((0,), tf.int32)), f(tf.constant([2]))
