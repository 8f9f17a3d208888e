"""Passes are computed by NumPy's functions first, which needs no JAX, and by compiled programs once that has paid."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.hot import gains, places

LOOP = """
import sys
import gradtape as tf

v = tf.Variable([1.0, 2.0])
held = []
for step in range(160):
    with tf.GradientTape() as tape:
        y = v
        for _ in range(30):
            y = tf.sin(y * 1.1)
        loss = tf.reduce_sum(y)
    v.assign_sub(0.01 * tape.gradient(loss, v))
    if step % 50 == 0:
        held.append(float(loss))
held += [float(loss), *v.numpy().tolist()]
"""
WITHOUT_JAX = """
import importlib.util

find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *package: None if name == "jax" else find_spec(name, *package)
"""


def ran(program, hot="1"):
    environment = {**os.environ, "GRADTAPE_HOT": hot}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("before", ["", WITHOUT_JAX], ids=["with JAX", "without JAX"])
def test_a_loop_is_followed_without_importing_jax(before):
    after = """
(place,) = tf.config.experimental.hot_tapes()["places"].values()
assert place["learned"] == 2 and place["followed"] > 50, place
assert "jax" not in sys.modules
print(held)
"""
    got = ran(before + LOOP + after)
    assert got == ran(LOOP + "print(held)", hot="0")  # to the bit


def test_a_loop_is_left_alone_where_only_jax_would_gain(monkeypatch):
    monkeypatch.setattr(places, "_has_jax", lambda: False)
    monkeypatch.setattr(places, "places", {})
    monkeypatch.setattr(places, "policy", places.Policy())
    before = places.is_on()
    places.switch(True)
    v = tf.Variable([1.0, 2.0])
    for _ in range(40):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = v
                for _ in range(30):
                    y = tf.sin(y * 1.1)
            slope = inner.gradient(y, v)
        outer.gradient(slope, v)
    places.switch(before)
    (place,) = places.places.values()
    assert place.is_cold
    assert place.followed == 0
    assert place.reasons == {"a pass is too short to gain": 1}


@pytest.fixture
def soon(hot, monkeypatch):
    """Passes are followed from the 25th on, and by compiled programs from about the 60th."""
    monkeypatch.setattr(places, "policy", places.Policy())
    monkeypatch.setattr(places, "_door", places._Door())  # no place of another test holds it open
    monkeypatch.setattr(gains, "to_generate", lambda trace: 0.0)
    monkeypatch.setattr(gains, "to_compile", lambda trace: 60 * gained(trace))
    return hot


def gained(trace):
    """The microseconds that a compiled program saves more."""
    return gains.saved(trace, False) - gains.saved(trace, True)


def sines(steps, v, each=None):
    losses = []
    for step in range(steps):
        with tf.GradientTape() as tape:
            y = v
            for _ in range(40):
                y = tf.sin(y * 1.1)
            loss = tf.reduce_sum(y)
        v.assign_sub(0.01 * tape.gradient(loss, v))
        losses.append(loss)
        if each is not None:
            each(step)
    return [float(loss) for loss in losses]


def kinds():
    (place,) = places.places.values()
    return {trace.by_numpy for trace in place.traces}


def test_compiled_programs_take_over_at_a_fixed_pass(soon):
    cold = tf.Variable([0.3, 0.7])
    wanted = sines(100, cold)
    soon()
    warm, found = tf.Variable([0.3, 0.7]), []
    got = sines(100, warm, each=lambda step: found.append(kinds()))
    soon(False)
    assert found.index({True}) < found.index({False})
    assert found.count({False}) == 100 - 60 + 1
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    np.testing.assert_allclose(warm.numpy(), cold.numpy(), rtol=1e-5)
    assert soon.counts["left"] == 0
    assert soon.counts["followed"] == 100 - 24


def test_compiled_programs_take_over_in_the_middle_of_a_pass_of_another_thread(soon):
    soon()
    begun, goes_on = threading.Event(), threading.Event()
    v, other = tf.Variable([0.3, 0.7]), tf.Variable([0.2, 0.4])
    slopes = {}

    def program(variable, waits=lambda: None):
        with tf.GradientTape() as tape:
            y = variable
            for step in range(40):
                y = tf.sin(y * 1.1)
                if step == 20:
                    waits()
            loss = tf.reduce_sum(y)
        return tape.gradient(loss, variable)

    def waits():
        begun.set()
        goes_on.wait(60)

    for _ in range(50):
        program(v)
    assert kinds() == {True}
    thread = threading.Thread(target=lambda: slopes.update(other=program(other, waits)))
    thread.start()
    begun.wait(60)
    for _ in range(20):
        slopes["mine"] = program(v)
    assert kinds() == {False}
    goes_on.set()
    thread.join()
    soon(False)
    for name, variable in (("mine", v), ("other", other)):
        np.testing.assert_allclose(slopes[name], program(variable), rtol=1e-5)


def test_compiled_programs_take_over_where_looks_have_numpy_compute_twice(soon):
    def looks(steps):
        v, random, seen = tf.Variable([0.3, 0.7]), np.random.default_rng(0), []
        for _ in range(steps):
            with tf.GradientTape() as tape:
                y = v
                for _ in range(100):
                    y = tf.sin(y * 1.1)
                loss = tf.reduce_sum(y)
            seen.append(float(loss))
            noise = tf.constant(random.normal(size=2).astype("float32"))
            v.assign_sub(0.01 * tape.gradient(loss, v) * noise)
        return [*seen, *v.numpy()]

    steps = 25 + places.SAMPLE
    wanted = looks(steps + 20)
    soon()
    got = looks(steps)
    assert kinds() == {False}
    places.places.clear()
    got = looks(steps + 20)
    soon(False)
    (place,) = places.places.values()
    assert place.traces[0].unfit == "compiled programs gain more"
    assert not place.is_cold
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def products_of_eight(steps, v, renews):
    """A step that takes eight tensors from outside, others in each pass that `renews` names; gives the gradients."""
    random = np.random.default_rng(0)
    given, gradients = [tf.constant(random.normal(size=2).astype("float32")) for _ in range(8)], []
    for step in range(steps):
        if renews(step):
            given = [tf.constant(random.normal(size=2).astype("float32")) for _ in range(8)]
        with tf.GradientTape() as tape:
            y = v
            for x in given:
                for _ in range(3):
                    y = tf.sin(y * 1.1)
                y = y * x
            loss = tf.reduce_sum(y)
        gradients.append(tape.gradient(loss, v))
        v.assign_sub(0.01 * gradients[-1])
    return [g.numpy() for g in gradients]


def test_a_pass_that_has_begun_when_its_place_is_left_alone_records(soon, monkeypatch):
    monkeypatch.setattr(places.policy, "least_saved", 210.0)

    def second_derivatives(steps):
        v, random = tf.Variable([0.3, 0.7]), np.random.default_rng(0)
        usual, found = [tf.constant([0.8 + 0.02 * k, 0.9]) for k in range(8)], []
        for step in range(steps):
            given = usual  # all is expected: a pass begins before the last one is let go
            if step < 24 + places.SAMPLE - 8:
                given = [tf.constant(random.uniform(0.7, 1.0, 2).astype("float32")) for _ in range(8)]
            with tf.GradientTape() as outer:
                with tf.GradientTape() as inner:
                    y = v
                    for k in range(12):
                        y = tf.sin(y * 1.1)
                        if k < 8:
                            y = y * given[k]
                slope = inner.gradient(y, v)
            second = outer.gradient(slope, v)
            assert slope is not None and second is not None, step
            v.assign_sub(0.01 * second)
            found.append(v.numpy() if step % 10 == 9 else None)
        return [x for x in found if x is not None]

    steps = 24 + places.SAMPLE + 8
    wanted = second_derivatives(steps)
    places.policy.most = 25
    soon()
    got = second_derivatives(steps)
    soon(False)
    (place,) = places.places.values()
    assert place.is_cold
    assert place.followed == places.SAMPLE
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


def test_numpys_functions_come_back_where_compiled_programs_gain_nothing(soon, monkeypatch):
    monkeypatch.setattr(places.policy, "most", 25)  # compiled from the first pass that is followed
    monkeypatch.setattr(places.policy, "least_saved", 20.0)

    def renews(step):
        return step >= 24

    steps = 24 + 3 * places.SAMPLE
    wanted = products_of_eight(steps, tf.Variable([0.3, 0.7]), renews)
    soon()
    products_of_eight(40, tf.Variable([0.3, 0.7]), lambda step: False)
    assert kinds() == {False}
    places.places.clear()
    got = products_of_eight(steps, tf.Variable([0.3, 0.7]), renews)
    soon(False)
    (place,) = places.places.values()
    assert kinds() == {True}
    assert place.traces[0].uncompiled == "NumPy's functions gain more"
    assert not place.is_cold and place.followed == 3 * places.SAMPLE
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


def test_a_place_of_two_paths_goes_on_after_the_change(soon):
    def loop(steps):
        v = tf.Variable([0.3, 0.7])
        for step in range(steps):
            with tf.GradientTape() as tape:
                y = v * v
                for _ in range(8 if step % 100 == 50 else 60):
                    y = tf.sin(y)
                loss = tf.reduce_sum(y)
            v.assign_sub(0.01 * tape.gradient(loss, v))
        return v.numpy()

    wanted = loop(800)
    soon()
    got = loop(800)
    (place,) = places.places.values()
    assert kinds() == {False}
    assert place.start < 300 and place.followed > 700 and len(place.traces) == 2
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_loop_that_only_turns_out_not_to_fit_numpy_waits_until_compiling_pays(soon, monkeypatch):
    monkeypatch.setattr(gains, "to_compile", lambda trace: 300 * gains.saved(trace, False))

    def loop(steps):
        v, unused, seen = tf.Variable([0.3, 0.7]), tf.Variable(1.0), []
        for _ in range(steps):
            with tf.GradientTape() as tape:
                y = v
                for _ in range(60):
                    y = tf.sin(y * 1.1)
                loss = tf.reduce_sum(y)
            slope, zero = tape.gradient(loss, [v, unused], unconnected_gradients="zero")
            v.assign_sub(0.01 * slope)
            seen.append(float(zero))
        return [*v.numpy(), *seen]

    wanted = loop(100)
    soon()
    got = loop(100)
    (place,) = places.places.values()
    assert kinds() == {False}
    assert place.start == 300 and not place.is_cold
    assert place.followed == 0 and place.left <= 2
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def descend(v, steps):
    for _ in range(steps):
        with tf.GradientTape() as tape:
            y = v
            for _ in range(60):
                y = tf.sin(y * 1.1)
            loss = tf.reduce_sum(y)
        v.assign_sub(0.01 * tape.gradient(loss, v))
    return v.numpy()


def test_programs_for_other_variables_must_pay_by_their_own_passes(soon, monkeypatch):
    monkeypatch.setattr(gains, "to_generate", lambda trace: 60 * gains.saved(trace, True))
    monkeypatch.setattr(gains, "to_compile", lambda trace: 200 * gained(trace))
    wanted = descend(tf.Variable([0.3, 0.7]), 500)
    soon()
    first = tf.Variable([0.3, 0.7])
    descend(first, 500)
    (place,) = places.places.values()
    assert place.start == 60 and kinds() == {False}
    followed = place.followed
    for _ in range(4):  # short trainings, each of a model of its own, as in a search for good settings
        descend(tf.Variable([0.3, 0.7]), 15)
    assert place.followed == followed + 1 and place.left <= 3  # the last pass of the first one ended here
    later = tf.Variable([0.3, 0.7])
    descend(later, 100)
    assert place.followed > followed and kinds() == {True}
    descend(later, 400)
    assert kinds() == {False} and not place.is_cold
    np.testing.assert_allclose(later, wanted, rtol=1e-5)


def test_other_paths_of_a_loop_are_followed_at_once(soon):
    v, w = tf.Variable([0.3, 0.7]), tf.Variable([0.1, 0.2])

    def loop(steps, both):
        for _ in range(steps):
            with tf.GradientTape() as tape:
                y = v * w if both else v
                for _ in range(60):
                    y = tf.sin(y * 1.1)
                loss = tf.reduce_sum(y)
            v.assign_sub(0.01 * tape.gradient(loss, v))

    soon()
    loop(500, both=False)
    (place,) = places.places.values()
    followed = place.followed
    loop(20, both=True)
    assert place.followed >= followed + 15


def test_a_pass_whose_optimizer_writes_much_is_not_compiled_because_it_would_take_more_memory(
    soon, monkeypatch
):
    def train(steps):
        weights = tf.Variable(tf.fill([200, 100], 0.1))
        optimizer = tf.optimizers.Adam(0.01)
        for _ in range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.tanh(weights) - 0.5))
            optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])

    monkeypatch.setattr(places.policy, "least_saved", 0.0)
    soon()
    train(60)
    (place,) = places.places.values()
    assert kinds() == {False} and place.followed > 10
    places.places.clear()
    monkeypatch.setattr(places, "MOST_UPDATED", 50_000)  # 60,000 are the weights and the optimizer's state
    train(60)
    (place,) = places.places.values()
    assert place.followed == 0 and place.is_cold


NETWORK = """
import gradtape as tf, numpy as np
from gradtape.hot import gains, places

places.policy.most = 30  # however long it takes to compile
random = np.random.default_rng(0)
x, y = random.normal(size=(96, 784)).astype("float32"), random.integers(0, 10, 96)
batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(96, seed=1).repeat(30).batch(32)
shapes = (784, 128), (128,), (128, 10), (10,)
weights = [tf.Variable(random.normal(size=shape).astype("float32") * 0.05) for shape in shapes]
optimizer = tf.optimizers.OPTIMIZER(1e-3)
for inputs, labels in batches:
    with tf.GradientTape() as tape:
        logits = tf.nn.relu(inputs @ weights[0] + weights[1]) @ weights[2] + weights[3]
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
print([float(loss), *(float(tf.reduce_sum(w * w)) for w in weights)])
"""


@pytest.mark.parametrize(("optimizer", "by_numpy"), [("SGD", True), ("Adam", False)])
def test_a_network_trained_by_minibatches_is_followed_by_default(optimizer, by_numpy):
    program = NETWORK.replace("OPTIMIZER", optimizer)
    after = f"""
(place,) = places.places.values()
assert place.followed > 50, places.counts()
assert {{trace.by_numpy for trace in place.traces}} == {{{by_numpy}}}
"""
    got, wanted = (eval(ran(program + end, hot)) for end, hot in ((after, "1"), ("", "0")))
    np.testing.assert_allclose(got, wanted, rtol=1e-4)
