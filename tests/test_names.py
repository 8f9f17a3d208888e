"""Random and stateful names that no table of results covers: fractional pools, shuffled indices, variables."""

import itertools

import numpy as np
import pytest

import gradtape as tf
from gradtape import errors


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_fractional_pools_pool_the_windows_they_report(smooth, overlapping, compiled):
    x = tf.constant(np.random.default_rng(0).normal(size=(2, 7, 9, 3)))
    for pool, reduce in ((tf.nn.fractional_max_pool, np.max), (tf.nn.fractional_avg_pool, np.mean)):

        def call(x, pool=pool):
            with tf.GradientTape() as tape:
                tape.watch(x)
                found = pool(x, [1.0, 1.4, 2.2, 1.0], smooth, overlapping, seed=5)
                total = tf.reduce_sum(found[0])
            return found, tape.gradient(total, x)

        (found, rows, columns), slope = (tf.function(call) if compiled else call)(x)
        rows, columns = rows.numpy(), columns.numpy()
        assert found.shape == (2, 5, 4, 3)
        for limits, length in ((rows, 7), (columns, 9)):
            assert limits[0] == 0 and limits[-1] == length and (np.diff(limits) > 0).all()
        more = int(overlapping)
        expected = [
            [reduce(x.numpy()[:, a : b + more, c : d + more], (1, 2)) for c, d in itertools.pairwise(columns)]
            for a, b in itertools.pairwise(rows)
        ]
        np.testing.assert_allclose(found, np.moveaxis(np.array(expected), 2, 0), 1e-12)
        np.testing.assert_allclose(np.sum(slope), found.numpy().size, 1e-12)


def test_fractional_pools_draw_anew_without_a_seed():
    x = tf.zeros([1, 40, 40, 1])
    tf.random.set_seed(1)
    drawn = {tuple(tf.nn.fractional_max_pool(x, 1.5)[1].numpy()) for _ in range(5)}
    assert len(drawn) > 1
    assert len({tuple(tf.nn.fractional_max_pool(x, 1.5, seed=3)[1].numpy()) for _ in range(5)}) == 1


@pytest.mark.parametrize("ratio", [0.5, [1.0, 2.0, 1.0], [2.0, 1.0, 1.0, 1.0], float("nan"), 100.0])
def test_ratios_are_checked(ratio):
    with pytest.raises(errors.InvalidArgumentError, match="fractional_max_pool"):
        tf.nn.fractional_max_pool(tf.zeros([1, 4, 4, 1]), ratio)


@pytest.mark.parametrize("last", [0, 1, 6, 7, 8, 1000])
def test_indices_are_permuted(last):
    shuffled = tf.random.experimental.index_shuffle(np.arange(last + 1), [1, 2], last).numpy()
    assert sorted(shuffled.tolist()) == list(range(last + 1))
    assert [int(tf.random.experimental.index_shuffle(i, [1, 2], last)) for i in (0, last)] == [
        shuffled[0],
        shuffled[last],
    ]
    if last > 7:
        assert (
            tf.random.experimental.index_shuffle(np.arange(last + 1), [1, 3], last).numpy() != shuffled
        ).any()


def test_noise_fills_glimpses():
    picture = tf.zeros([1, 2, 2, 1])
    for noise, low, high in (("uniform", 0, 1), ("gaussian", -9, 9)):
        part = tf.image.extract_glimpse(picture, [4, 4], [[0.0, 0.0]], noise=noise).numpy()[0, ..., 0]
        assert (
            (part[1:3, 1:3] == 0).all() and (part[0] != 0).all() and low <= part.min() <= part.max() <= high
        )


def test_glimpses_and_boxes_pass_gradients():
    picture = tf.constant(np.arange(16.0, dtype=np.float32).reshape(1, 4, 4, 1))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(picture)
        part = tf.image.extract_glimpse(picture, [2, 2], [[0.0, 0.0]], noise="zero")
        drawn = tf.image.draw_bounding_boxes(picture, [[[0.0, 0.0, 1.0, 1.0]]], [[1.0]])
    inner = np.zeros((4, 4))
    inner[1:3, 1:3] = 1
    np.testing.assert_array_equal(tape.gradient(part, picture)[0, ..., 0], inner)
    np.testing.assert_array_equal(tape.gradient(drawn, picture)[0, ..., 0], inner)


def test_the_gradient_of_tridiagonal_eigenvalues_is_that_of_the_whole_matrix():
    on, above = tf.constant([1.0, 2.0, 3.0], tf.float64), tf.constant([0.5, 0.25], tf.float64)
    weights = tf.constant([1.0, 2.0, 4.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([on, above])
        total = tf.reduce_sum(tf.linalg.eigh_tridiagonal(on, above) * weights)
    slopes = tape.gradient(total, [on, above])
    step = 1e-6
    for slope, which in zip(slopes, (0, 1)):
        for i in range(len(slope)):
            ends = []
            for sign in (1, -1):
                parts = [on.numpy().copy(), above.numpy().copy()]
                parts[which][i] += sign * step
                ends.append(float(tf.reduce_sum(tf.linalg.eigh_tridiagonal(*parts) * weights)))
            assert abs((ends[0] - ends[1]) / (2 * step) - float(slope[i])) < 1e-8


def test_variables_answer_to_tensorflows_names():
    v = tf.Variable([1.0, 2.0], name="w")
    assert v.initializer is None and bool(v.is_initialized()) and v.experimental_ref().deref() is v
    with pytest.raises(RuntimeError, match="does not keep its initial value"):
        _ = v.initial_value
    v.load([3.0, 4.0])
    np.testing.assert_array_equal(v, [3, 4])
    v.batch_scatter_update(tf.IndexedSlices([9.0], [1]))
    np.testing.assert_array_equal(v, [3, 9])
    count = tf.Variable(1)
    assert [int(count.count_up_to(3)), int(count.count_up_to(3))] == [1, 2]
    with pytest.raises(errors.OutOfRangeError, match="reached the limit 3"):
        count.count_up_to(3)
