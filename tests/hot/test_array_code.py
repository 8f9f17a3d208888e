"""Passes that are followed by generated code of NumPy's functions give the bits that they give without hot tapes."""

import re

import numpy as np
import pytest

import gradtape as tf
from gradtape.hot import gains, places
from gradtape.hot.array_code import unfit


def regression(steps):
    w, b = tf.Variable(0.5), tf.Variable(0.0)
    x, y = tf.constant([1.0, 2.0, 3.0, 4.0]), tf.constant([3.0, 5.0, 7.0, 9.0])
    seen = []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(w * x + b - y))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(0.01 * dw)
        b.assign_sub(0.01 * db)
        seen += [float(loss), float(w), float(b)]
    return seen


def classifier(steps):
    random = np.random.default_rng(0)
    weights = [
        tf.Variable(random.normal(size=s).astype("float32") * 0.3) for s in ((6, 5), (5,), (5, 3), (3,))
    ]
    optimizer = tf.optimizers.SGD(0.1)
    seen = []
    for _ in range(steps):
        x = tf.constant(random.normal(size=(4, 6)).astype("float32"))
        labels = tf.constant(random.integers(0, 3, 4))
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(x @ weights[0] + weights[1])
            logits = hidden @ weights[2] + weights[3]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        seen += [loss.numpy(), *[w.numpy() for w in weights], int(optimizer.iterations)]
    return seen


def shared_weights(steps):
    """A variable that is used in three products of few rows, and in a broadcast sum; a tensor that is watched."""
    random = np.random.default_rng(1)
    w, bias = tf.Variable(random.normal(size=(8, 8)).astype("float32")), tf.Variable(0.25)
    seen = []
    for _ in range(steps):
        x = tf.constant(random.normal(size=(1, 8)).astype("float32"))
        with tf.GradientTape() as tape:
            tape.watch(x)
            h = tf.tanh(x @ w + bias)
            h = tf.tanh(h @ w + bias) * bias
            first, second = tf.split(tf.tanh(h @ w), 2, axis=1)
            loss = tf.reduce_sum(first * first) + tf.reduce_max(second) / 3.0
        dx, dw, db = tape.gradient(loss, [x, w, bias])
        w.assign(w - 0.1 * dw)
        bias.assign_add(-0.1 * db)
        seen += [dx.numpy(), w.numpy(), bias.numpy()]
    return seen


def unconnected(steps):
    v, other = tf.Variable([1.0, 2.0]), tf.Variable([3.0])
    seen = []
    for _ in range(steps):
        with tf.GradientTape(persistent=True) as tape:
            y, z = v * v, v * 3.0
        dy, none = tape.gradient(y, [v, other])
        assert none is None
        v.assign_sub(0.1 * (dy + tape.gradient(z, v)))
        seen.append(v.numpy())
    return seen


def transposed(steps):
    """Gradients in Fortran's order, and sums over what they update."""
    rng = np.random.default_rng(0)
    w, v = [tf.Variable(rng.normal(size=(64, 64)).astype("float32")) for _ in range(2)]
    y = tf.constant(rng.normal(size=(64, 64)).astype("float32"))
    optimizer, seen = tf.optimizers.SGD(0.1), []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(tf.transpose(w)) * y)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        v.assign(tf.transpose(v))
        v.assign_sub(0.1 * v)
        seen += [tf.reduce_sum(w * w).numpy(), tf.reduce_sum(v * v).numpy()]
    return seen


def quotients(steps):
    """Functions that compute in another way where a divisor is 0, as it is when the code is generated."""
    a, seen = tf.Variable(1.5), []
    for step in range(steps):
        b = tf.constant(0.0 if step in (1, 5) else 0.5 * step)
        with tf.GradientTape() as tape:
            tape.watch(b)
            y = tf.math.divide_no_nan(a, b)
            z = tf.atan2(b, a * 0.0) + tf.math.xdivy(b, b)
        da, db = tape.gradient([y, z], [a, b])
        a.assign_sub(0.01 * da)
        seen += [y.numpy(), z.numpy(), db.numpy(), a.numpy()]
    return seen


def large_weights(steps):
    """Steps in the memory of large gradients, unless somebody keeps these; the second weights have two products."""
    rng = np.random.default_rng(0)
    v, w, u = [tf.Variable(rng.normal(size=(128, 128)).astype("float32") / 12) for _ in range(3)]
    x = tf.constant(rng.normal(size=(4, 128)).astype("float32"))
    optimizer, seen = tf.optimizers.SGD(0.1), []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(tf.tanh(tf.tanh(x @ v) @ w) @ w) @ u)
        dv, dw, du = tape.gradient(loss, [v, w, u])
        optimizer.apply_gradients([(dv, v), (dw, w), (du, u)])
        del dv, dw
        seen += [du, v.numpy(), w.numpy(), u.numpy()]
    return seen


def a_view_of_a_large_gradient(steps):
    """The gradient of a tensor, and a view of it: that of the variable that the tensor is a reshape of."""
    rng = np.random.default_rng(0)
    v, u = (
        tf.Variable(rng.normal(size=(128 * 128,)).astype("float32") / 12),
        tf.Variable(tf.zeros((128, 128))),
    )
    x = tf.constant(rng.normal(size=(4, 128)).astype("float32"))
    optimizer, seen = tf.optimizers.SGD(0.1), []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            w = tf.reshape(v, (128, 128))
            loss = tf.reduce_sum(tf.sin(x @ w))
        dw, dv = tape.gradient(loss, [w, v])
        optimizer.apply_gradients([(dw, u), (dv, v)])
        del dw, dv, w
        seen += [u.numpy(), v.numpy()]
    return seen


LOOPS = [regression, classifier, shared_weights, unconnected, transposed, quotients, large_weights]
LOOPS += [a_view_of_a_large_gradient]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_gives_the_same_bits(hot, loop):
    cold = loop(12)
    hot.by_numpy()
    hot()
    warm = loop(12)
    for got, wanted in zip(warm, cold, strict=True):
        np.testing.assert_array_equal(got, wanted)
    (place,) = places.places.values()
    assert place.followed >= 8


def test_a_large_gradient_that_nobody_keeps_becomes_the_new_value(hot):
    hot.by_numpy()
    hot()
    large_weights(12)
    (place,) = places.places.values()
    codes = [program.code for trace in place.traces for program in trace.programs.values()]
    # Of v alone: the gradient of w is a sum of two products, and that of u is kept.
    assert codes and all(len(re.findall(r"multiply\((\w+), \w+, \1\)", code)) == 1 for code in codes)
    assert not place.left
    assert all(trace.by_numpy for trace in place.traces)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rows", [8, 64])
def test_the_code_of_a_network_calls_numpy_and_gives_the_same_bits(hot, rows, order):
    def run():
        random = np.random.default_rng(3)
        w, b, v, c = (
            tf.Variable(random.normal(size=s).astype("float32"))
            for s in ((200, 128), (128,), (128, 10), (10,))
        )
        batches = [random.normal(size=(rows, 200)).astype("float32") for _ in range(12)]
        labels = tf.constant(random.integers(0, 10, rows))
        optimizer, losses = tf.optimizers.SGD(0.01), []
        for i, batch in enumerate(batches):
            x = tf.constant(np.asarray(batch, order=order if i % 2 else "C"))
            with tf.GradientTape() as tape:
                logits = tf.nn.relu(x @ w + b) @ v + c
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
            optimizer.apply_gradients(zip(tape.gradient(loss, [w, b, v, c]), [w, b, v, c]))
            losses.append(float(loss))
        return [np.asarray(losses), *[x.numpy() for x in (w, b, v, c)], optimizer.iterations.numpy()]

    wanted = run()
    hot.by_numpy()
    hot()
    for got, expected in zip(run(), wanted, strict=True):
        np.testing.assert_array_equal(got, expected)
    (place,) = places.places.values()
    assert place.followed >= 8
    code = "".join(program.code for trace in place.traces for program in trace.programs.values())
    assert code.count(" @ ") % 5 == 0 and "maximum(" in code and ".T @ " in code
    assert ("dot(" in code) == (rows == 64)


def test_a_thread_that_looks_at_a_value_while_the_pass_ends_finds_it(hot):
    hot.by_numpy()
    hot()
    v = tf.Variable([1.0, 2.0])
    for _ in range(6):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v * v)
        promise = getattr(loss, "_both", None)
        gradient = tape.gradient(loss, v)
    source, out = promise
    late = object.__new__(tf.Tensor)

    class Ending:
        def value_of(self, slot):  # the pass ends after the other thread has read `_both`
            late._array = np.asarray(loss.numpy())
            del late._both
            return source.value_of(slot)

    with tf.GradientTape():
        assert source.value_of(out.slot) is None
        late._both = Ending(), out
        assert float(late) == float(loss) == 9.0
    np.testing.assert_array_equal(gradient, [3.0, 12.0])


def test_what_nobody_uses_is_not_computed(hot):
    hot.by_numpy()
    hot()
    v = tf.Variable([1.0, 2.0])

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.exp(v * 2.0))
        return tape.gradient(loss, v).numpy()

    for _ in range(6):
        step()
    (place,) = places.places.values()
    (program,) = place.traces[0].programs.values()
    assert program.code.count(" = ") == 4  # the product, its exponential, and two products back


def test_a_pass_that_the_code_cannot_have_is_compiled(hot):
    hot.by_numpy()
    hot()
    v = tf.Variable([1.0, 2.0])
    for _ in range(6):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(v * v * v)
            slope = inner.gradient(y, v)
        np.testing.assert_allclose(outer.gradient(slope, v), [6.0, 12.0])
    (place,) = places.places.values()
    assert place.followed == 4
    assert "records the sweep" in unfit(place.traces[0])
    assert not place.traces[0].by_numpy


def test_a_trace_that_turns_out_to_be_unfit_is_compiled(hot):
    hot.by_numpy()
    hot()
    v = tf.Variable([1.0 + 1.0j, 2.0])
    found = []
    for _ in range(8):
        with tf.GradientTape() as tape:
            y = tf.math.real(tf.reduce_sum(v * v))
        found.append(tape.gradient(y, v).numpy())
    np.testing.assert_allclose(found, [[2.0 - 2.0j, 4.0]] * 8)
    (place,) = places.places.values()
    assert place.left == 1
    assert place.followed >= 4
    assert "complex" in place.traces[0].unfit


def test_a_variable_that_another_place_assigns_is_read_anew(hot):
    hot.by_numpy()
    hot()
    v = tf.Variable(1.0)
    for i in range(8):
        v.assign(float(i))
        with tf.GradientTape() as tape:
            y = v * v * 0.5
        before = v._tensor
        assert float(tape.gradient(y, v)) == i
        assert v._tensor is before


def test_an_array_that_a_pass_may_still_need_is_not_written_into(hot):
    hot.by_numpy()
    hot()
    v = tf.Variable([1.0, 2.0])
    for i in range(8):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v)
        v.assign_add([1.0, 1.0])
        np.testing.assert_array_equal(tape.gradient(y, v), [2.0 * i + 2, 2.0 * i + 4])


@pytest.mark.parametrize(("loop", "by_numpy"), [(regression, True), (classifier, True)])
def test_the_estimate_chooses_numpy_for_few_operations(hot, monkeypatch, loop, by_numpy):
    monkeypatch.setattr(places, "policy", places.Policy())
    places.policy.most = 25
    hot()
    loop(60)
    hot(False)
    (place,) = places.places.values()
    assert place.followed > 30
    assert place.traces[0].by_numpy is by_numpy


def test_the_estimate_chooses_xla_for_many_operations(hot, monkeypatch):
    monkeypatch.setattr(places, "policy", places.Policy())
    monkeypatch.setattr(gains, "to_compile", lambda trace: 0.0)
    hot()
    v = tf.Variable([0.1, 0.2])
    for _ in range(30):
        with tf.GradientTape() as tape:
            y = v
            for _ in range(20):
                y = tf.sin(y * 1.1)
        tape.gradient(y, v).numpy()
    hot(False)
    (place,) = places.places.values()
    assert place.followed
    assert not place.traces[0].by_numpy
