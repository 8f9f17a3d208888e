"""Training on 1, 2, 4 and 8 replicas gives the parameters of one device, to 1e-6: the global batch is the same."""

import numpy as np
import pytest

import gradtape as tf

BATCH = 16


def strategy_of(count):
    return tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(count)])


def dense_model(random):
    w1 = tf.Variable(random.normal(size=(6, 8)).astype("f") * 0.3)
    b1 = tf.Variable(np.zeros(8, "f"))
    w2 = tf.Variable(random.normal(size=(8, 1)).astype("f") * 0.3)
    return [w1, b1, w2], lambda x: tf.tanh(x @ w1 + b1) @ w2


def conv_model(random):
    kernel = tf.Variable(random.normal(size=(3, 3, 1, 4)).astype("f") * 0.3)
    w = tf.Variable(random.normal(size=(4, 1)).astype("f") * 0.3)

    def model(x):
        image = tf.reshape(tf.concat([x, x, x[:, :4]], 1), (-1, 4, 4, 1))
        return tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(image, kernel, 1, "SAME")), (1, 2)) @ w

    return [kernel, w], model


def recurrent_model(random):
    wx = tf.Variable(random.normal(size=(2, 5)).astype("f") * 0.3)
    wh = tf.Variable(random.normal(size=(5, 5)).astype("f") * 0.3)
    w = tf.Variable(random.normal(size=(5, 1)).astype("f") * 0.3)

    def model(x):
        steps = tf.transpose(tf.reshape(x, (-1, 3, 2)), (1, 0, 2))
        state = tf.zeros((tf.shape(x)[0], 5))
        states = tf.scan(lambda h, inputs: tf.tanh(inputs @ wx + h @ wh), steps, state)
        return states[-1] @ w

    return [wx, wh, w], model


def normalized_model(random):
    """Batch normalization over the batch of all replicas, with averages that every replica updates."""
    w1 = tf.Variable(random.normal(size=(6, 8)).astype("f") * 0.3)
    gamma, beta = tf.Variable(np.ones(8, "f")), tf.Variable(np.zeros(8, "f"))
    w2 = tf.Variable(random.normal(size=(8, 1)).astype("f") * 0.3)
    policy = {
        "trainable": False,
        "synchronization": tf.VariableSynchronization.ON_READ,
        "aggregation": tf.VariableAggregation.MEAN,
    }
    mean, variance = tf.Variable(np.zeros(8, "f"), **policy), tf.Variable(np.ones(8, "f"), **policy)

    def model(x):
        h = x @ w1
        context = tf.distribute.get_replica_context()
        m = context.all_reduce("MEAN", tf.reduce_mean(h, 0))
        square = context.all_reduce("MEAN", tf.reduce_mean(h * h, 0))
        v = square - m * m
        mean.assign(0.9 * mean + 0.1 * m)
        variance.assign(0.9 * variance + 0.1 * v)
        return tf.tanh(tf.nn.batch_normalization(h, m, v, beta, gamma, 1e-3)) @ w2

    return [w1, gamma, beta, w2, mean, variance], model


MODELS = {"dense": dense_model, "conv": conv_model, "rnn": recurrent_model, "batchnorm": normalized_model}
OPTIMIZERS = {
    "sgd": lambda: tf.optimizers.SGD(0.1),
    "momentum": lambda: tf.optimizers.SGD(0.05, momentum=0.9),
    "adam": lambda: tf.optimizers.Adam(0.02),
}


def trained(model, optimizer, count, rows=BATCH, compiled=True):
    strategy = strategy_of(count)
    random = np.random.default_rng(3)
    x = random.normal(size=(3 * BATCH if rows == BATCH else 2 * BATCH + rows, 6)).astype("f")
    y = np.sin(x.sum(1, keepdims=True)).astype("f")
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
    with strategy.scope():
        variables, predict = MODELS[model](random)
        opt = OPTIMIZERS[optimizer]()
        seen = tf.metrics.Mean()

    def step(x, y):
        with tf.GradientTape() as tape:
            losses = tf.reduce_sum((predict(x) - y) ** 2, 1)
            loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
        trainable = [v for v in variables if v.trainable]
        opt.apply_gradients(zip(tape.gradient(loss, trainable), trainable, strict=True))
        seen.update_state(losses)
        return loss

    def train(batch):
        return strategy.reduce("SUM", strategy.run(step, args=batch), axis=None)

    train = tf.function(train) if compiled else train
    losses = [
        float(train(batch)) for _ in range(2) for batch in strategy.experimental_distribute_dataset(dataset)
    ]
    return losses, [v.numpy() for v in variables], float(seen.result())


def assert_same(found, expected):
    for p, q in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-6, atol=1e-6)


ALONE = {}


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize(
    ("model", "optimizer"),
    [
        ("dense", "sgd"),
        ("dense", "momentum"),
        ("dense", "adam"),
        ("conv", "sgd"),
        ("rnn", "sgd"),
        ("batchnorm", "sgd"),
    ],
)
def test_replicas_train_as_one(model, optimizer, count):
    if (model, optimizer) not in ALONE:
        ALONE[model, optimizer] = trained(model, optimizer, 1)
    assert_same(trained(model, optimizer, count), ALONE[model, optimizer])


@pytest.mark.parametrize("rows", [11, 3, 12])
def test_a_smaller_last_batch(rows):
    """11 rows are 3, 3, 3, 2; with 3 rows one replica has none; 12 are even, and compiled."""
    assert_same(trained("dense", "momentum", 4, rows), trained("dense", "momentum", 1, rows))


def test_without_a_function():
    assert_same(trained("dense", "adam", 2, compiled=False), trained("dense", "adam", 1))


def test_functions_run_eagerly_in_threads():
    tf.config.run_functions_eagerly(True)
    try:
        found = trained("batchnorm", "momentum", 2)
    finally:
        tf.config.run_functions_eagerly(False)
    assert_same(found, trained("batchnorm", "momentum", 1))


def test_each_gradient_is_reduced_once():
    """The program of a step has one sum over replicas for each gradient and each part of a metric, and no other."""
    strategy = strategy_of(4)
    with strategy.scope():
        w, b = tf.Variable(np.ones((6, 1), "f")), tf.Variable(np.zeros(1, "f"))
        opt = tf.optimizers.Adam(0.1)

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((x @ w + b) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b], strict=True))
        return loss

    compiled = tf.function(lambda x: strategy.run(step, args=(x,)))
    x = strategy.experimental_distribute_values_from_function(lambda context: np.ones((4, 6), "f"))
    compiled(x)
    (program,) = compiled._programs.values()
    from gradtape.compiled.jaxprs import inner_code

    code = program.executable.graph.code.jaxpr
    sums = [e for part in inner_code(code) for e in part.eqns if e.primitive.name == "psum"]
    assert sorted(e.outvars[0].aval.shape for e in sums) == [(1,), (6, 1)]
    assert w._tensor._device.sharding.is_fully_replicated
    assert len(w._tensor._device.sharding.device_set) == 4
