"""The door is exchanged by its code: operations ask a pass only once there has been one."""

import os
import subprocess
import sys

import pytest

import gradtape as tf
from gradtape.core import hot_door, primitive
from gradtape.hot import places


def codes():
    return [function.__code__.co_name for function in (primitive.apply, primitive.apply1, primitive.apply2)]


def codes_of_methods():
    methods = (tf.Tensor.__mul__, tf.Tensor.__rsub__, tf.Variable.__mul__, tf.Variable.assign_add)
    return [method.__code__.co_name for method in methods]


def test_the_door_is_exchanged_and_gives_what_it_gave():
    before = codes()
    x, v = tf.constant([1.0, 2.0]), tf.Variable([3.0, 5.0])

    def results():
        return [
            (x * x).numpy().tolist(),
            tf.sqrt(x).numpy().tolist(),
            [part.numpy().tolist() for part in tf.split(x, 2)],
            tf.reduce_sum(x, axis=0, keepdims=True).numpy().tolist(),
            (v * 2.0 - v * v).numpy().tolist(),
            (1.0 - v).numpy().tolist(),
            (v * x).numpy().tolist(),
            v.assign_add([1.0, 1.0]).assign_sub([1.0, 1.0]).numpy().tolist(),
        ]

    try:
        hot_door.ask_nobody()
        assert codes() == ["apply", "apply1", "apply2"]
        assert codes_of_methods() == ["forward", "reflected", "forward", "assign_add"]
        eager = results()
        hot_door.ask_passes()
        assert codes() == ["_apply", "_apply1", "_apply2"]
        assert codes_of_methods() == [
            "forward_asking",
            "reflected_asking",
            "forward_asking",
            "_assign_add",
        ]
        assert results() == eager
        with pytest.raises(ValueError, match="do not broadcast"):
            v * tf.ones([3])
    finally:
        if before[0] == "apply":
            hot_door.ask_nobody()


def test_operations_ask_nobody_once_all_places_are_left_alone(hot, monkeypatch):
    monkeypatch.setattr(places, "policy", places.Policy())
    monkeypatch.setattr(
        places, "_door", places._Door()
    )  # threads of other tests may have ended inside a pass
    places.policy.learn_from = 3
    hot()
    v, seen = tf.Variable(1.0), []
    for _ in range(8):
        with tf.GradientTape() as tape:
            y = v * v  # too short to gain
            seen.append(codes()[0])
        assert float(tape.gradient(y, v)) == 2.0
    assert seen[-1] == "apply"
    assert "_apply" in seen
    assert [place["cold"] for place in hot.counts["places"].values()] == [True]


def test_a_program_of_few_passes_does_not_exchange_it():
    program = """
import gradtape as tf
from gradtape.core import primitive
tf.config.experimental.set_hot_tapes(True)
v = tf.Variable(1.0)
for step in range(15):
    with tf.GradientTape() as tape:
        y = v * v
    tape.gradient(y, v)
assert primitive.apply2.__code__.co_name == "apply2", primitive.apply2.__code__
assert tf.config.experimental.hot_tapes()["passes"] == 15
import sys
assert "jax" not in sys.modules
"""
    plain = {name: value for name, value in os.environ.items() if name != "GRADTAPE_HOT"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=plain, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_tensor_from_outside_in_two_places_is_not_taken_for_two(hot):
    hot()
    first, second, other = (tf.constant(value) for value in (2.0, 3.0, 5.0))
    _ = (tf.function(lambda t: t + 1.0)(other)).numpy()  # `other` has an array of JAX's
    for x, y in [(first, second)] * 3 + [(other, first), (first, first), (first, second)]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = x * y
        expected = 2 * float(x) if x is y else float(y)
        assert float(tape.gradient(z, x)) == expected
