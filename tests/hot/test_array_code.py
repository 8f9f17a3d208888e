"""Passes that are followed by generated code of NumPy's functions give the bits that they give without hot tapes."""

import re
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.hot import gains, places
from gradtape.hot.array_code import unfit
from gradtape.hot.following import Follower


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


def a_large_gradient_that_is_the_value(steps):
    """A step by the gradient that was assigned to the variable before."""
    rng = np.random.default_rng(0)
    w = tf.Variable(rng.normal(size=(128, 128)).astype("float32") / 12)
    x = tf.constant(rng.normal(size=(4, 128)).astype("float32"))
    optimizer, seen = tf.optimizers.SGD(0.1), []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(x @ w))
        gradient = tape.gradient(loss, w)
        w.assign(gradient)
        optimizer.apply_gradients([(gradient, w)])
        del gradient
        seen.append(w.numpy())
    return seen


def weights_in_fortrans_order(steps):
    """Updates of variables whose values are in Fortran's order, and sums over these."""
    rng = np.random.default_rng(0)
    u, v, w = (
        tf.Variable(np.asfortranarray(rng.normal(size=s).astype("float32")))
        for s in ((60, 50), (160, 150), (160, 150))
    )
    optimizer, seen = tf.optimizers.SGD(0.01), []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(u * u) + tf.reduce_sum(v * v) + tf.reduce_sum(w * w)
        du, dv, dw = tape.gradient(loss, [u, v, w])
        u.assign_sub(0.01 * du)
        v.assign_sub(0.01 * dv)
        optimizer.apply_gradients([(dw, w)])
        seen += [loss.numpy(), *[tf.reduce_sum(x, 0).numpy() for x in (u, v, w)]]
    return seen


def gradients_in_two_orders(steps):
    """Sums of gradients in the orders of C and of Fortran, and sums over these for a bias."""
    rng = np.random.default_rng(0)
    bias, w = (tf.Variable(rng.normal(size=s).astype("float32")) for s in ((100,), (100, 30)))
    seen = []
    for step in range(steps):
        batch = rng.normal(size=(64, 100)).astype("float32")
        x = tf.constant(np.asarray(batch, order="F" if step % 3 else "C"))
        with tf.GradientTape() as tape:
            h = x + bias
            loss = tf.reduce_mean(tf.sin(h @ w)) + tf.reduce_mean(h * h) + tf.reduce_sum(tf.sin(h) * h)
        seen += [g.numpy() for g in tape.gradient(loss, [bias, w])]
    return seen


def one_part(steps):
    """An operation that may have several results, and has one."""
    w, seen = tf.Variable([[3.0, 1.0]]), []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            (part,) = tf.split(w * 2.0, 1)
            (row,) = tf.unstack(part)
            loss = tf.reduce_sum(part * row)
        w.assign_sub(0.01 * tape.gradient(loss, w))
        seen += [part.numpy(), row.numpy(), loss.numpy(), w.numpy()]
    return seen


LOOPS = [regression, classifier, shared_weights, unconnected, transposed, quotients, large_weights]
LOOPS += [a_view_of_a_large_gradient, a_large_gradient_that_is_the_value, weights_in_fortrans_order]
LOOPS += [gradients_in_two_orders, one_part]


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
    assert ("= dot(" in code) == (rows == 64)


def test_a_thread_that_looks_at_a_value_while_the_pass_ends_finds_it(hot):
    hot.by_numpy()
    hot()
    v = tf.Variable([1.0, 2.0])

    def losses():
        while True:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(v * v * v)
            gradient = tape.gradient(loss, v)
            v.assign_sub(0.0 * gradient)
            del gradient, tape  # in use with the last event of the pass, but not when the next one begins
            yield loss

    passes = losses()
    for _ in range(14):
        loss = next(passes)
    source, out = loss._both
    late = object.__new__(tf.Tensor)

    class Ending:
        @property
        def _lock(self):
            # The pass ends after the other thread has read `_both`, and the next one has its place.
            assert next(passes)._both[0] is source
            late._array = loss._array
            del late._both
            return source._lock

        def read_ahead(self, slot):
            pass

        def value_of(self, slot):
            raise AssertionError("the pass is over")

    late._both = Ending(), out
    assert float(late) == float(loss) == 9.0


def test_a_thread_may_look_at_a_value_that_the_pass_has_just_computed(hot, monkeypatch):
    hot.by_numpy()
    hot()
    v, found = tf.Variable([1.0, 2.0]), []
    compute = Follower._computed_by_program

    def compute_and_look(follower, end, wanted):
        is_computed = compute(follower, end, wanted)
        reader = threading.Thread(target=lambda: found.append(float(loss)))
        reader.start()
        reader.join()
        return is_computed

    monkeypatch.setattr(Follower, "_computed_by_program", compute_and_look)
    for _ in range(6):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v * v)
        gradient = tape.gradient(loss, v)
    np.testing.assert_array_equal(gradient, [3.0, 12.0])
    assert found and set(found) == {9.0}


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


def test_a_variable_has_the_same_order_after_a_pass_that_was_left(hot):
    def run():
        rng = np.random.default_rng(0)
        v, seen = tf.Variable(tf.zeros((60, 50))), []
        for step in range(8):
            v.assign(tf.transpose(tf.constant(rng.normal(size=(50, 60)).astype("float32"))) * 2.0)
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(v * v)
            v.assign_sub(0.01 * v)
            seen += [tf.reduce_sum(tf.sin(v) if step == 5 else v, 0).numpy(), tape.gradient(loss, v).numpy()]
        return seen

    wanted = run()
    hot.by_numpy()
    hot()
    np.testing.assert_array_equal(np.concatenate(run(), None), np.concatenate(wanted, None))
    (place,) = places.places.values()
    assert place.left == 1


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


OPTIMIZERS = {
    "momentum": lambda: tf.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: tf.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "weight decay": lambda: tf.optimizers.SGD(0.1, weight_decay=0.01),
    "clipnorm": lambda: tf.optimizers.SGD(0.1, clipnorm=0.1),
    "Adam": lambda: tf.optimizers.Adam(0.05),
    "amsgrad": lambda: tf.optimizers.Adam(0.05, amsgrad=True),
    "global_clipnorm": lambda: tf.optimizers.Adam(0.05, global_clipnorm=0.1),
    "clipvalue": lambda: tf.optimizers.Adam(0.05, clipvalue=0.01),
    "AdamW": lambda: tf.optimizers.AdamW(0.05),
    "RMSprop": lambda: tf.optimizers.RMSprop(0.05, momentum=0.5, centered=True),
    "Adagrad": lambda: tf.optimizers.Adagrad(0.1),
    "Adadelta": lambda: tf.optimizers.Adadelta(1.0),
    "Adamax": lambda: tf.optimizers.Adamax(0.05),
    "Ftrl": lambda: tf.optimizers.Ftrl(0.1, l1_regularization_strength=0.01),
    "Lion": lambda: tf.optimizers.Lion(0.01),
}


def two_dtypes(make, steps=14):
    """Train variables of two dtypes and a number; in the middle, look at the state, change it, and step by hand."""
    random = np.random.default_rng(5)
    w, b = tf.Variable(random.normal(size=(3, 4)).astype("float32")), tf.Variable(np.zeros(4, "float32"))
    scale, unused = tf.Variable(np.float64(0.5)), tf.Variable([1.0])
    x = tf.constant(random.normal(size=(8, 3)).astype("float32"))
    optimizer, seen = make(), []
    optimizer.build([w, b, scale, unused])
    for step in range(steps):
        with tf.GradientTape() as tape:
            y = tf.tanh(x @ w + b)
            loss = (
                tf.reduce_mean(tf.square(y)) + tf.reduce_sum(b) + tf.cast(tf.square(scale - 1.0), tf.float32)
            )
        gradients = tape.gradient(loss, [w, b, scale])
        optimizer.apply_gradients(zip(gradients, [w, b, scale]))
        if step % 5 == 3:
            seen += [v.numpy() for v in optimizer.variables]
        if step == 8:
            optimizer.variables[-1].assign(optimizer.variables[-1] * 0.5)
            optimizer.apply_gradients([(tf.constant([0.5]), unused)])
        if step == 10:
            optimizer.learning_rate = 0.02
    return [*seen, *[v.numpy() for v in (w, b, scale, unused, *optimizer.variables)], loss.numpy()]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers_give_the_same_bits(hot, name):
    wanted = two_dtypes(OPTIMIZERS[name])
    hot.by_numpy()
    hot()
    for got, expected in zip(two_dtypes(OPTIMIZERS[name]), wanted, strict=True):
        np.testing.assert_array_equal(got, expected)
    (place,) = places.places.values()
    assert place.followed >= 8
    assert all(trace.by_numpy for trace in place.traces)


def test_the_state_of_an_optimizer_that_somebody_holds_stays_as_it_is(hot):
    hot.by_numpy()
    hot()
    v, optimizer = tf.Variable([1.0, 2.0]), tf.optimizers.Adam(0.1)
    held = []
    for _ in range(8):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v)
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])
        values = [*optimizer.variables[2:], v]
        held.append(([x.value() for x in values], [x.numpy() for x in values]))
    assert len({tuple(copies[0]) for _, copies in held}) == 8
    for tensors, copies in held:
        for tensor, copy in zip(tensors, copies, strict=True):
            np.testing.assert_array_equal(tensor, copy)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.optimizers.Adam(0.1, use_ema=True),
        lambda: tf.optimizers.Adam(0.1, gradient_accumulation_steps=2),
        lambda: tf.optimizers.Nadam(0.1),
        lambda: tf.optimizers.Adam(tf.optimizers.schedules.ExponentialDecay(0.1, 5, 0.9)),
    ],
    ids=["use_ema", "accumulation", "Nadam", "schedule"],
)
def test_steps_that_do_more_than_a_rule_are_compiled(hot, make):
    wanted = two_dtypes(make, 8)
    hot.by_numpy()
    hot()
    for got, expected in zip(two_dtypes(make, 8), wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
    (place,) = places.places.values()
    assert place.followed >= 4
    assert not any(trace.by_numpy for trace in place.traces)
