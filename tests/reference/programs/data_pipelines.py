"""Datasets that feed training loops."""

import numpy as np

from .draws import integers, normal


def batched_epochs(tf, function):
    x, y = normal(0, 7, 2), normal(1, 7)
    w = tf.Variable([0.0, 0.0])
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(3)

    @function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.linalg.matvec(x, w) - y) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return [[step(bx, by) for bx, by in dataset] for _ in range(2)], w


def mapped_filtered_and_repeated(tf):
    dataset = tf.data.Dataset.range(10).filter(lambda i: i % 3 == 0)
    dataset = dataset.map(lambda n: tf.cast(n, tf.float32) ** 2)
    values = [float(v) for v in dataset.repeat(2).skip(1).take(5)]
    w = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        loss = tf.add_n([w * v for v in dataset])
    return values, loss, tape.gradient(loss, w)


def generator_of_dicts(tf, function):
    def examples():
        for i in range(4):
            yield {"x": np.full(2, i, np.float32), "label": i % 2}

    signature = {"x": tf.TensorSpec((2,), tf.float32), "label": tf.TensorSpec((), tf.int32)}
    dataset = tf.data.Dataset.from_generator(examples, output_signature=signature).batch(2)
    w = tf.Variable(normal(0, 2, 2))

    @function
    def loss(batch):
        return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(batch["label"], batch["x"] @ w))

    results = []
    for batch in dataset:
        with tf.GradientTape() as tape:
            y = loss(batch)
        results.append([y, tape.gradient(y, w)])
    return results


def loop_over_a_dataset_inside_a_function(tf, function):
    dataset = tf.data.Dataset.from_tensor_slices(normal(0, 6)).batch(2)
    w = tf.Variable(0.5)

    @function
    def epoch():
        total = tf.constant(0.0)
        for x in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((w * x - 1.0) ** 2)
            w.assign_sub(0.1 * tape.gradient(loss, w))
            total += loss
        return total

    return epoch(), epoch(), w


def windows_of_a_series(tf, function):
    series = np.sin(np.arange(9, dtype="float32"))
    dataset = tf.data.Dataset.from_tensor_slices(series).window(4, shift=2, drop_remainder=True)
    dataset = dataset.flat_map(lambda window: window.batch(4))
    dataset = dataset.map(lambda values: (values[:-1], values[-1]))
    weights = tf.Variable([0.1, 0.2, 0.3])

    @function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = (tf.tensordot(x, weights, 1) - y) ** 2
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    return [step(x, y) for x, y in dataset], weights


def padded_batches(tf, function):
    rows = [[1], [2, 3, 4], [5, 6]]
    dataset = tf.data.Dataset.from_generator(
        lambda: iter(rows), output_signature=tf.TensorSpec((None,), tf.int32)
    )
    table = tf.Variable(normal(0, 8, 2))

    @function
    def pooled(tokens):
        keep = tf.cast(tokens > 0, tf.float32)[..., None]
        return tf.reduce_sum(tf.gather(table, tokens) * keep, axis=1) / tf.reduce_sum(keep, axis=1)

    results = []
    for tokens in dataset.padded_batch(2):
        with tf.GradientTape() as tape:
            y = pooled(tokens)
        results.append([tokens, y, tf.convert_to_tensor(tape.gradient(y, table))])
    return results


def zipped_enumerated_and_iterated(tf):
    a, b = tf.data.Dataset.from_tensor_slices(normal(0, 4)), tf.data.Dataset.range(4)
    iterator = iter(tf.data.Dataset.zip((a, b)).enumerate(start=5))
    first = next(iterator)
    rest = [(int(i), float(x), int(n)) for i, (x, n) in iterator]
    return int(first[0]), first[1], rest


def scan_and_reduce(tf):
    dataset = tf.data.Dataset.range(5).map(lambda i: tf.cast(i, tf.float32))
    running = [float(v) for v in dataset.scan(0.0, lambda s, x: (s + x, s + x))]
    total = dataset.reduce(tf.constant(0.0), lambda s, x: s + x * x)
    return running, total, int(dataset.cardinality())


def batches_by_numpy_indices(tf, function):
    x, y = normal(0, 10, 3), integers(1, 2, 10)
    order = np.random.RandomState(2).permutation(10)
    w = tf.Variable(tf.zeros((3, 2)))

    @function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, x @ w))
        w.assign_sub(0.5 * tape.gradient(loss, w))
        return loss

    return [step(x[order[i : i + 5]], y[order[i : i + 5]]) for i in (0, 5)], w


def interleaved_sources(tf):
    dataset = tf.data.Dataset.range(3).interleave(
        lambda i: tf.data.Dataset.from_tensors(i * 10).repeat(2), cycle_length=2, block_length=1
    )
    both = dataset.concatenate(tf.data.Dataset.range(2)).batch(3)
    return [list(map(int, batch)) for batch in both]
