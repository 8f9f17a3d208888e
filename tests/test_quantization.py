"""tf.quantization: fake quantization, to TensorFlow's numbers."""

import numpy as np
import pytest

import gradtape as tf

Q = tf.quantization
X = np.float32([-7, -6, -1, -0.3, 0, 0.29, 3, 6, 6.01, np.nan, np.inf])


# Values of TensorFlow 2.21.
@pytest.mark.parametrize(
    ("ends", "wanted"),
    [
        ((0.0, 0.0), [0.0] * 11),
        ((2.0, 1.0), [1.0] * 9 + [np.nan, 1.0]),
        ((-6.0, 6.0), [-6.0235295, -5.9764705, -0.9882353, -0.28235295, 0.0, 0.28235295, 3.0117648, 5.9764705,
                       5.9764705, np.nan, 5.9764705]),
        ((1.0, 5.0), [0.0, 0.0, 0.0, 0.0, 0.0, 0.28235295, 2.9960785, 4.0, 4.0, np.nan, 4.0]),
        ((1.0, 1.0), [np.nan] * 11),
    ],
)  # fmt: skip
def test_numbers_of_eight_bits(ends, wanted):
    np.testing.assert_array_equal(Q.fake_quant_with_min_max_vars(X, *ends), np.float32(wanted))
    if ends[0] < ends[1]:
        np.testing.assert_array_equal(Q.fake_quant_with_min_max_args(X, *ends), np.float32(wanted))
    channels = Q.fake_quant_with_min_max_vars_per_channel(X[:, None], *([end] for end in ends))
    np.testing.assert_array_equal(channels[:, 0], np.float32(wanted))


def test_gradients_go_inside_below_and_above():
    x = np.float32([[-3.0, 0.2], [0.4, 5.0], [2.0, -0.1]])
    given = np.float32([[1, 2], [4, 8], [16, 32]])

    def slopes(x, low, high):
        with tf.GradientTape() as tape:
            tape.watch([x, low, high])
            out = Q.fake_quant_with_min_max_vars_per_channel(x, low, high, num_bits=4)
        return tape.gradient(out, [x, low, high], given)

    low, high = tf.constant([-1.0, -1.0]), tf.constant([1.0, 1.0])
    direct = Q.fake_quant_with_min_max_vars_per_channel_gradient(given, x, low, high, num_bits=4)
    for found in (slopes(tf.constant(x), low, high), tf.function(slopes)(tf.constant(x), low, high), direct):
        assert [f.numpy().tolist() for f in found] == [[[0, 2], [4, 0], [0, 32]], [1, 0], [16, 8]]
    whole = Q.fake_quant_with_min_max_vars_gradient(given, x, -1.0, 1.0)
    assert [f.numpy().tolist() for f in whole[1:]] == [1, 24]
    by_input = Q.fake_quant_with_min_max_args_gradient(given, x, -1.0, 1.0)
    assert by_input.numpy().tolist() == [[0, 2], [4, 0], [0, 32]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: Q.fake_quant_with_min_max_args(X, 2.0, 1.0),
        lambda: Q.fake_quant_with_min_max_vars(X, [1.0], 2.0),
        lambda: Q.fake_quant_with_min_max_vars(X, 1.0, 2.0, num_bits=1),
        lambda: Q.fake_quant_with_min_max_vars(X, 1.0, 2.0, num_bits=17),
        lambda: Q.fake_quant_with_min_max_vars_per_channel(X, [1.0], [2.0]),
        lambda: Q.fake_quant_with_min_max_vars_per_channel(1.0, [1.0], [2.0]),
    ],
)
def test_ranges_that_are_none(call):
    with pytest.raises(tf.errors.InvalidArgumentError, match="fake_quant"):
        call()


def test_only_float32_is_taken():
    with pytest.raises(TypeError, match="float32"):
        Q.fake_quant_with_min_max_vars(tf.constant([1]), 0.0, 1.0)
