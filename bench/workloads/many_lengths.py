"""A small text model on 200 batches, each of another length: one run is a pass over all of them."""

NUMBER = 24
TITLE = "text model, 200 lengths, batch 8"
FIRST_CALLS = 1
ALL_ARGUMENTS = True  # a run calls the step with each of the arguments

LENGTHS, BATCH, WORDS, WIDTH, CLASSES = range(10, 210), 8, 1000, 32, 5
SHAPES = (WORDS, WIDTH), (3 * WIDTH, WIDTH), (WIDTH, CLASSES)


def inputs(rng):
    parameters = [rng.standard_normal(shape, dtype="float32") / 4 for shape in SHAPES]
    batches = [
        rng.integers(WORDS, size=(BATCH, length), dtype="int32") for length in rng.permutation(LENGTHS)
    ]
    return [rng.integers(CLASSES, size=BATCH, dtype="int32"), *parameters, *batches]


def in_tensorflow(tf, labels, *arrays):
    table, filters, weights = parameters = [tf.Variable(a) for a in arrays[: len(SHAPES)]]
    labels = tf.constant(labels)

    def step(words):
        with tf.GradientTape() as tape:
            x = tf.gather(table, words)
            windows = tf.concat([x[:, :-2], x[:, 1:-1], x[:, 2:]], axis=2)
            features = tf.reduce_max(tf.nn.relu(tf.tensordot(windows, filters, 1)), axis=1)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, features @ weights)
            loss = tf.reduce_mean(losses)
        return tape.gradient(loss, parameters[1:])

    step.options = {"reduce_retracing": True}
    return step, [(tf.constant(words),) for words in arrays[len(SHAPES) :]]


def in_jax(jax, labels, *arrays):
    jnp = jax.numpy
    table, *parameters = [jnp.array(a) for a in arrays[: len(SHAPES)]]

    def loss(parameters, words):
        filters, weights = parameters
        x = table[words]
        windows = jnp.concatenate([x[:, :-2], x[:, 1:-1], x[:, 2:]], axis=2)
        features = jax.nn.relu(jnp.tensordot(windows, filters, 1)).max(axis=1)
        scores = jax.nn.log_softmax(features @ weights)
        return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()

    return jax.grad(loss), [(parameters, jnp.array(words)) for words in arrays[len(SHAPES) :]]
