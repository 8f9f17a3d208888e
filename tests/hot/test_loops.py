"""Training loops are followed, and give what they give without."""

import numpy as np
import pytest

import gradtape as tf

from .loops import LOOPS, OPTIMIZERS, mlp, rnn

STEPS = 12
# How many passes are not followed: the first is learned. Others take another path, or a number that changes, once.
OTHERS = {
    "early_stopping": 4,
    "computed_rate": 2,
    "accumulation": 4,
    "minibatches": 3,
    "slices": 4,
    "rows": 5,
}


def flat(numbers):
    return np.concatenate([np.asarray(part, "float64").reshape(-1) for part in numbers])


def check(hot, loop, steps, others=2):
    cold = flat(loop(steps))
    hot()
    warm = flat(loop(steps))
    hot(False)
    np.testing.assert_allclose(warm, cold, rtol=1e-3, atol=1e-5)
    counts = hot.counts
    assert counts["passes"] > 5
    assert counts["passes"] - counts["followed"] <= others, counts


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_a_loop_is_followed(hot, loop):
    steps = 210 if loop.__name__ == "prints_every_hundredth" else STEPS
    check(hot, loop, steps, OTHERS.get(loop.__name__, 2))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_of_each_optimizer_is_followed(hot, name):
    check(hot, lambda steps: mlp(steps, getattr(tf.optimizers, name)()), 6)


def test_a_loop_is_followed_from_a_pass_that_its_size_decides(hot, monkeypatch):
    from gradtape.hot import gains, places

    monkeypatch.setattr(places, "policy", places.Policy())
    hot()
    for name in ("to_compile", "to_generate"):
        monkeypatch.setattr(gains, name, lambda trace: 2500.0)  # microseconds, that is 40 passes or so
    rnn(60)
    (place,) = places.places.values()
    hot(False)
    assert place.learned == 2
    assert 25 < place.start < 60
    assert place.followed == 61 - place.start
    assert place.left == 0


def test_a_pass_that_is_too_short_to_gain_is_left_alone(hot, monkeypatch):
    from gradtape.hot import places

    monkeypatch.setattr(places, "policy", places.Policy())
    hot()
    v = tf.Variable(1.0)
    for _ in range(60):
        with tf.GradientTape() as tape:
            y = v * v
        tape.gradient(y, v)
    (place,) = hot.counts["places"].values()
    assert place["followed"] == 0
    assert place["cold"]


# Their passes are too short, or of too many kinds.
LEFT_ALONE = {
    "newton", "early_stopping", "accumulation", "minibatches", "slices", "rows", "classifier", "embedding",
}  # fmt: skip


@pytest.mark.parametrize(
    "loop", [loop for loop in LOOPS if loop.__name__ not in LEFT_ALONE], ids=lambda loop: loop.__name__
)
def test_a_loop_that_gains_is_not_left_alone(hot, monkeypatch, loop):
    from gradtape.hot import places

    monkeypatch.setattr(places, "policy", places.Policy())
    places.policy.most = 30  # however long it takes to compile
    hot()
    loop(30 + 2 * places.SAMPLE)  # after each sample it is seen again whether that pays
    hot(False)
    assert hot.counts["followed"] >= 2 * places.SAMPLE - 3, hot.counts
    assert not any(place["cold"] for place in hot.counts["places"].values())
