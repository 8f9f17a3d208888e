"""In-place updates: only of arrays that nothing else refers to, and only on Pythons whose counts were tested."""

import functools
import sys

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import sweep, variable
from gradtape.engine import reference_counts

LARGE = 1 << 15


def test_the_counts_are_those_of_this_python():
    """Fails on a Python that nobody tested: see engine/reference_counts.py."""
    assert sys.version_info[:2] in reference_counts.TESTED
    assert reference_counts.measure() == reference_counts.EXPECTED
    assert reference_counts.RELIABLE


def test_the_counts_stay_when_the_interpreter_has_specialized_the_code():
    first = reference_counts.measure()
    assert all(reference_counts.measure() == first for _ in range(5000))


def test_a_name_is_one_reference_more():
    counts = reference_counts.EXPECTED
    assert counts["argument with a name"] > counts["argument"]


class Owner:
    pass


def by_local(v, make):
    delta = make()
    v.assign_add(delta)
    return delta


def by_keyword(v, make):
    delta = make()
    v.assign_add(delta=delta)
    return delta


def by_unpacking(v, make):
    arguments = (make(),)
    v.assign_add(*arguments)
    return arguments[0]


def by_list(v, make):
    deltas = [make()]
    for delta in deltas:
        v.assign_add(delta)
    return deltas[0]


def by_map(v, make):
    deltas = [make()]
    list(map(v.assign_add, deltas))
    return deltas[0]


def by_attribute(v, make):
    owner = Owner()
    owner.delta = make()
    v.assign_add(owner.delta)
    return owner.delta


def by_closure(v, make):
    delta = make()

    def update():
        v.assign_add(delta)

    update()
    return delta


def by_partial(v, make):
    delta = make()
    functools.partial(v.assign_add, delta)()
    return delta


def by_a_name_for_its_array(v, make):
    view = make().__array__()

    def tensor():
        return tf.core.tensor.wrap(view.base)

    v.assign_add(tensor())
    return view


@pytest.mark.parametrize(
    "call",
    [
        by_local,
        by_keyword,
        by_unpacking,
        by_list,
        by_map,
        by_attribute,
        by_closure,
        by_partial,
        by_a_name_for_its_array,
    ],
)
def test_a_users_own_tensor_is_never_overwritten(call):
    for _ in range(50):  # cold and specialized code
        v = tf.Variable(np.ones(LARGE, np.float32))
        kept = call(v, lambda: tf.ones(LARGE) * 2.0)
        assert np.asarray(kept)[0] == 2
        assert v.numpy()[0] == 3


def test_a_value_that_was_read_is_never_overwritten():
    for _ in range(50):
        v = tf.Variable(np.ones(8, np.float32))
        before, view = v.value(), np.asarray(v)
        v.assign_add(np.ones(8, np.float32))
        assert before.numpy()[0] == view[0] == 1
        assert v.numpy()[0] == 2


@pytest.mark.skipif(not reference_counts.RELIABLE, reason="nothing is overwritten on this Python")
def test_a_temporary_is_overwritten():
    v = tf.Variable(np.ones(LARGE, np.float32))
    addresses = []

    def temporary():
        delta = tf.ones(LARGE) * 2.0
        addresses.append(delta._array.ctypes.data)
        return delta

    v.assign_add(temporary())
    assert v._array.ctypes.data == addresses[0]
    v.assign_add(np.ones(LARGE, np.float32))
    assert v._array.ctypes.data == addresses[0]


def steps():
    """Values and gradients of programs that update in place where they can."""
    v = tf.Variable(np.linspace(-1, 1, LARGE, dtype=np.float32))
    held = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v + tf.sin(v) * v)
        g = tape.gradient(loss, v)
        held.append(g)
        v.assign_sub(0.1 * g)
        v.assign_sub(g)
    optimizer = tf.optimizers.Adam(0.1)
    optimizer.apply_gradients([(held[0], v)])
    return [v.numpy(), *[g.numpy() for g in held]]


def test_without_counts_everything_is_the_same(monkeypatch):
    expected = steps()
    monkeypatch.setattr(variable, "UNSHARED_ARGUMENT", reference_counts.UNKNOWN)
    monkeypatch.setattr(variable, "UNSHARED_VALUE", reference_counts.UNKNOWN)
    monkeypatch.setattr(sweep, "UNSHARED_ITEM", reference_counts.UNKNOWN)
    v = tf.Variable(np.ones(LARGE, np.float32))
    address = v._array.ctypes.data
    v.assign_add(np.ones(LARGE, np.float32))
    assert v._array.ctypes.data != address
    for a, b in zip(steps(), expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_counts_compiled_steps_are_the_same(monkeypatch):
    pytest.importorskip("jax")
    from gradtape.compiled import buffers, executable

    def train():
        v = tf.Variable([1.0, 2.0])

        @tf.function
        def step(x):
            v.assign_add(x * v)
            return v * 1.0

        return [step(tf.constant([0.5, 0.25])).numpy() for _ in range(3)]

    expected = train()
    monkeypatch.setattr(buffers, "UNSHARED_ITEMS", reference_counts.UNKNOWN)
    monkeypatch.setattr(executable, "UNSHARED_ITEMS", reference_counts.UNKNOWN)
    for a, b in zip(train(), expected, strict=True):
        np.testing.assert_array_equal(a, b)
