"""Loops over datasets and iterators inside a @function: traced once, whatever the number of elements."""

import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.data import Dataset

pytest.importorskip("jax")
pytest.importorskip("malt")
from gradtape.compiled import feeds

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(10, 3)).astype(np.float32), RNG.normal(size=(10, 1)).astype(np.float32)


@pytest.fixture(params=["all at once", "one by one"], autouse=True)
def way(request, monkeypatch):
    """Small datasets are read at once; all tests are also run as if they were large."""
    if request.param == "one by one":
        monkeypatch.setattr(feeds, "_STACKED_BYTES", 0)


def rows():
    return Dataset.from_tensor_slices((X, Y))


# Datasets of pairs, and how often the body of a loop over them is traced: once for each shape.
PAIRS = {
    "whole batches": (lambda: rows().batch(4, drop_remainder=True), 1),
    "a smaller last batch": (lambda: rows().batch(4), 2),
    "one small batch": (lambda: rows().batch(40), 1),
    "map after batch": (lambda: rows().batch(4).map(lambda x, y: (x * 2.0, y)).prefetch(2), 2),
    "repeat": (lambda: rows().batch(4).repeat(3), 2),
    "shuffled batches": (lambda: rows().batch(4).shuffle(3, seed=1), 2),
    "batches of shuffled rows": (lambda: rows().shuffle(10, seed=1).batch(3), 2),
    "unknown length": (lambda: rows().batch(5).filter(lambda x, y: x[0, 0] < 9.0), 1),
    "unknown length and shapes": (lambda: rows().filter(lambda x, y: x[0] < 0.5).batch(2), 2),
    "concatenated": (lambda: rows().batch(5).concatenate(rows().batch(2)), 2),
    "nothing": (lambda: rows().take(0), 0),
    "nothing, of unknown length": (lambda: rows().batch(5).filter(lambda x, y: False), 1),
}


def close(actual, expected):
    for a, e in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(a, e, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", PAIRS)
def test_an_epoch_of_training(name):
    make, kinds = PAIRS[name]

    def train(function):
        traced = []
        w, optimizer = tf.Variable(np.ones((3, 1), np.float32)), tf.optimizers.Adam(0.1)
        dataset = make()

        @function
        def epoch():
            total = tf.constant(0.0)
            for x, y in dataset:
                traced.append(1)
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((x @ w - y) ** 2)
                optimizer.apply_gradients([(tape.gradient(loss, w), w)])
                total += loss
            return total

        return [epoch(), epoch(), w.numpy()], len(traced)

    expected, _ = train(lambda f: f)
    actual, traces = train(tf.function)
    close(actual, expected)
    assert traces == 2 * kinds or kinds == 0  # the first trace creates the optimizer's variables


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_of_first_and_second_order_pass_through(name):
    w = tf.Variable(np.full((3, 1), 0.5, np.float32))

    def loss_over(dataset):
        def loss():
            total = tf.constant(1.0)
            for x, y in dataset:
                total = total * tf.reduce_mean(tf.tanh(x @ w - y) ** 2) + tf.reduce_sum(w * w)
            return total

        return loss

    def derivatives(loss):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                value = loss()
            g = tape.gradient(value, w, unconnected_gradients="zero")
            square = tf.reduce_sum(g * g)
        return value, g, outer.gradient(square, w, unconnected_gradients="zero")

    make = PAIRS[name][0]  # what is shuffled is shuffled alike in the first loop over each
    expected = derivatives(loss_over(make()))
    close(derivatives(tf.function(loss_over(make()))), expected)
    inside = loss_over(make())
    close(tf.function(lambda: derivatives(inside))(), expected)


def test_ten_thousand_elements_are_traced_once():
    traced = []

    @tf.function
    def total(dataset):
        result = tf.constant(0, tf.int64)
        for x in dataset:
            traced.append(1)
            result += x
        return result

    assert int(total(Dataset.range(10_000))) == 49_995_000
    assert len(traced) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.range(100),
        lambda: Dataset.range(100).filter(lambda x: x >= 0),
        lambda: Dataset.range(100).repeat(),
        lambda: Dataset.range(100).batch(3).unbatch(),
    ],
)
def test_break_continue_and_return(make):
    dataset = make()

    @tf.function
    def odd_sum(limit):
        total = tf.constant(0, tf.int64)
        for x in dataset:
            if x % 2 == 0:
                continue
            if x > limit:
                break
            total += x
        return total

    @tf.function
    def first_above(limit):
        for x in dataset:
            if x > limit:
                return x * 2
        return tf.constant(-1, tf.int64)

    for limit in (1, 20, 98):
        assert int(odd_sum(tf.constant(limit, tf.int64))) == sum(range(1, limit + 1, 2))
        assert int(first_above(tf.constant(limit, tf.int64))) == 2 * (limit + 1)


def test_a_shuffled_dataset_gives_the_orders_that_it_gives_eagerly():
    def orders(function):
        tf.random.set_seed(5)
        dataset = Dataset.range(5).shuffle(5)

        @function
        def digits():
            result = tf.constant(0, tf.int64)
            for x in dataset:
                result = result * 10 + x
            return result

        return [int(digits()) for _ in range(4)]

    compiled = orders(tf.function)
    assert compiled == orders(lambda f: f)
    assert len(set(compiled)) > 1


def test_a_variable_that_the_loop_defines():
    @tf.function
    def last(dataset):
        for x in dataset:
            found = tf.reduce_sum(x) * 2
        return found

    assert int(last(Dataset.range(6))) == 10
    assert int(last(Dataset.range(7).batch(2))) == 12
    assert int(last(Dataset.range(6).filter(lambda x: x < 3))) == 4


def test_enumerate_and_zip():
    @tf.function
    def numbered(dataset):
        total = tf.constant(0, tf.int64)
        for i, x in enumerate(dataset, 1):
            total += i * tf.reduce_sum(x)
        return total

    assert int(numbered(Dataset.range(4))) == 20
    assert int(numbered(Dataset.range(5).batch(2))) == 1 * 1 + 2 * 5 + 3 * 4
    assert int(numbered(iter(Dataset.range(4)))) == 20

    @tf.function
    def zipped(a, b):
        total = tf.constant(0, tf.int64)
        for x, y in zip(a, b):
            total += x * y
        return total

    assert int(zipped(Dataset.range(4), Dataset.range(10, 20))) == 11 + 24 + 39


def test_an_iterator_moves_only_as_far_as_the_loop_goes():
    iterator = iter(Dataset.range(10))

    @tf.function
    def some(it, n):
        total, taken = tf.constant(0, tf.int64), 0
        for x in it:
            total += x
            taken += 1  # noqa: SIM113
            if taken >= n:
                break
        return total

    assert int(some(iterator, tf.constant(3))) == 0 + 1 + 2
    assert int(next(iterator)) == 3
    assert int(some(iterator, tf.constant(2))) == 4 + 5
    assert int(some(iterator, tf.constant(100))) == 6 + 7 + 8 + 9
    assert int(some(iterator, tf.constant(100))) == 0


def test_an_iterator_of_the_function_itself():
    @tf.function
    def run():
        iterator = iter(Dataset.range(6))
        first, total = next(iterator), tf.constant(0, tf.int64)
        for x in iterator:
            total = total * 10 + x
        return first, total

    assert [int(x) for x in run()] == [0, 12345]
    assert [int(x) for x in run()] == [0, 12345]


def test_loops_in_loops():
    @tf.function
    def table():
        total = tf.constant(0, tf.int64)
        for i in Dataset.range(5):
            for j in Dataset.range(4).shuffle(4):
                total = total + i * j
        return total

    assert int(table()) == 60
    assert not feeds._open


def test_reduce():
    traced = []

    @tf.function
    def run(scale):
        def add(state, x):
            traced.append(1)
            if x[0] > 5:
                return state
            return state + scale * tf.reduce_sum(x)

        return Dataset.range(9).batch(2).reduce(tf.constant(0, tf.int64), add)

    assert int(run(tf.constant(2, tf.int64))) == 2 * sum(range(6))
    assert len(traced) == 2
    v = tf.Variable(2.0)
    sums = tf.function(lambda: rows().reduce(1.0, lambda state, row: state * v + tf.reduce_sum(row[0])))
    with tf.GradientTape() as tape:
        y = sums()
    with tf.GradientTape() as eager:
        expected = sums.python_function()
    close([y, tape.gradient(y, v)], [expected, eager.gradient(expected, v)])


def test_reduce_whose_state_grows_runs_operation_by_operation():
    run = tf.function(
        lambda: Dataset.range(4).reduce(np.zeros(0, np.int64), lambda s, x: tf.concat([s, [x]], 0))
    )
    np.testing.assert_array_equal(run(), range(4))


@pytest.mark.parametrize(
    ("make", "size", "expected"),
    [
        (lambda: Dataset.from_tensor_slices(["a", "bb"]), tf.strings.length, 3),
        (
            lambda: Dataset.from_generator(
                lambda: (np.arange(n) for n in range(1, 20)),
                output_signature=tf.TensorSpec((None,), tf.int64),
            ),
            tf.size,
            190,
        ),
    ],
    ids=["strings", "many shapes"],
)
def test_elements_that_cannot_be_compiled_run_operation_by_operation(make, size, expected):
    @tf.function
    def total():
        result = tf.constant(0)
        for x in make():
            result += size(x)
        return result

    assert int(total()) == expected


def test_what_fails_changes_nothing():
    v = tf.Variable(0.0)

    def check(x):
        if int(x) == 3:
            raise KeyError("three")
        return x

    @tf.function
    def run():
        for _ in Dataset.range(5).map(check):
            v.assign_add(1.0)

    with pytest.raises(KeyError, match="three"):
        run()
    assert float(v) == 0.0


def test_elements_of_a_new_shape_are_refused():
    lengths = [1, 2]
    dataset = Dataset.from_generator(
        lambda: (np.arange(n) for n in lengths), output_signature=tf.TensorSpec((None,), tf.int64)
    )

    @tf.function
    def total():
        result = tf.constant(0)
        for x in dataset:
            result += tf.size(x)
        return result

    assert int(total()) == 3
    lengths[:] = [2, 2, 1]
    assert int(total()) == 5
    lengths[:] = [3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="now gives int64\\[3\\]"):
        total()


def test_more_elements_than_were_counted_for_a_gradient_are_refused():
    count = [2]
    v = tf.Variable(2.0)
    dataset = Dataset.range(9).take_while(lambda x: x < count[0])

    @tf.function
    def power():
        result = tf.constant(1.0)
        for _ in dataset:
            result *= v
        return result

    def gradient():
        with tf.GradientTape() as tape:
            y = power()
        return float(tape.gradient(y, v))

    assert gradient() == 4.0
    count[0] = 1
    assert gradient() == 1.0
    count[0] = 3
    assert gradient() == 12.0  # operation by operation


def test_two_threads_have_loops_of_their_own():
    dataset = Dataset.range(9).batch(2)

    @tf.function
    def digits():
        result = tf.constant(0, tf.int64)
        for x in dataset:
            result = result * 10 + tf.reduce_sum(x)
        return result

    expected, found = int(digits()), set()
    threads = [
        threading.Thread(target=lambda: found.update(int(digits()) for _ in range(10))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {expected}


def test_a_distributed_dataset():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    dataset = strategy.experimental_distribute_dataset(rows().batch(4))

    @tf.function
    def total():
        result = tf.constant(0.0)
        for x, _ in dataset:
            result += strategy.run(tf.reduce_sum, (x,))
        return result

    np.testing.assert_allclose(total(), X.sum(), rtol=1e-5)


def test_a_tensor_array_in_the_loop():
    @tf.function
    def collected(dataset):
        found = tf.TensorArray(tf.int64, 5, element_shape=())
        i = 0
        for x in dataset:
            found = found.write(i, tf.reduce_sum(x))
            i += 1  # noqa: SIM113
        return found.stack()

    np.testing.assert_array_equal(collected(Dataset.range(5)), range(5))
    np.testing.assert_array_equal(collected(Dataset.range(5).batch(2)), [1, 5, 4, 0, 0])
    np.testing.assert_array_equal(collected(Dataset.range(5).filter(lambda x: x > 2)), [3, 4, 0, 0, 0])
