"""Functions that `run` is given outside of a @function, by one program and replica by replica: what they show."""

import numpy as np

import gradtape as tf

CALLS = 9
FOLLOW_FROM = 4


def per_replica(strategy, make):
    return strategy.experimental_distribute_values_from_function(
        lambda context: make(context.replica_id_in_sync_group)
    )


def rows(strategy, seed, count=3, width=4):
    def make(number):
        random = np.random.default_rng((seed, int(number)))
        return tf.constant(random.normal(size=(count, width)).astype("f"))

    return per_replica(strategy, make)


def plain(value):
    """A structure without tensors."""
    if isinstance(value, tf.distribute.DistributedValues) and not isinstance(value, tf.Variable):
        return [plain(v) for v in value.values]
    if isinstance(value, (tf.Tensor, tf.Variable)):
        return np.asarray(value.numpy())
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def assert_same(found, expected):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected)
        for p, q in zip(found, expected, strict=True):
            assert_same(p, q)
    elif isinstance(expected, np.ndarray) and expected.dtype == object:
        assert found.tolist() == expected.tolist()
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)
    else:
        assert found == expected


def dense(random):
    return [
        tf.Variable(random.normal(size=(4, 5)).astype("f") * 0.3),
        tf.Variable(np.zeros(5, "f")),
        tf.Variable(random.normal(size=(5, 1)).astype("f") * 0.3),
    ]


def predict(ws, x):
    return tf.tanh(x @ ws[0] + ws[1]) @ ws[2]


def ran(program, strategy):
    """Everything that a program shows, and the counts of its calls."""
    before = {name: dict(c) for name, c in strategy.extended.runs().items()}
    call, state = program(strategy)
    shown = [plain(call(i)) for i in range(CALLS)]
    return [shown, plain(state())], {k: v for k, v in strategy.extended.runs().items() if k not in before}


def compared(program, count, start):
    """Assert that a program shows the same both ways, and return the counts of its calls; `start` is the fixture."""
    devices = [f"/cpu:{i}" for i in range(count)]
    start(10**9)
    expected, _ = ran(program, tf.distribute.MirroredStrategy(devices))
    start(FOLLOW_FROM)
    found, counts = ran(program, tf.distribute.MirroredStrategy(devices))
    assert_same(found, expected)
    return counts
