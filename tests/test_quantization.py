"""tf.quantization: quantized dtypes and fake quantization, to TensorFlow's numbers (data/make_quantization.py)."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf

from .data.make_quantization import value

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


EXPECTED = json.loads((Path(__file__).parent / "data" / "quantization.json").read_text())


@pytest.mark.parametrize("expression", EXPECTED)
def test_the_result_is_tensorflows(expression):
    assert value(tf, expression) == EXPECTED[expression]


@pytest.mark.parametrize(
    ("name", "number", "held"),
    [("qint8", 11, "int8"), ("quint8", 12, "uint8"), ("qint16", 15, "int16"), ("quint16", 16, "uint16"),
     ("qint32", 13, "int32")],
)  # fmt: skip
def test_a_quantized_dtype(name, number, held):
    dtype = getattr(tf, name)
    assert dtype is tf.as_dtype(name) is tf.as_dtype(number) is tf.as_dtype(dtype.as_numpy_dtype)
    assert (repr(dtype), str(dtype)) == (f"tf.{name}", f"<dtype: '{name}'>")
    assert (dtype.is_quantized, dtype.is_integer, dtype.is_floating, dtype.is_unsigned) == (
        True,
        False,
        False,
        False,
    )
    assert dtype.size == np.dtype(held).itemsize
    assert dtype in tf.dtypes.QUANTIZED_DTYPES
    for limit in ("min", "max"):
        with pytest.raises(TypeError, match="no minimum or maximum"):
            getattr(dtype, limit)
    tensor = tf.constant([[1, 2]], dtype)
    assert tensor.numpy().dtype == np.asarray(tensor).dtype == held
    assert repr(tensor) == f"<tf.Tensor: shape=(1, 2), dtype={name}, numpy=array([[1, 2]], dtype={held})>"
    again = pickle.loads(pickle.dumps(tensor)), tf.io.parse_tensor(tf.io.serialize_tensor(tensor), dtype)
    assert all(t.dtype is dtype and t.numpy().tolist() == [[1, 2]] for t in again)
    assert tf.make_ndarray(tf.make_tensor_proto(tensor)).dtype == held
    with pytest.raises(TypeError, match=f"does not take {name}"):
        tensor + tensor
    with pytest.raises(TypeError, match=f"not of dtype {name}"):
        tf.constant([1.5], dtype)


def test_quantized_tensors_in_functions_variables_and_datasets(capfd):
    @tf.function
    def there_and_back(x):
        found = Q.quantize(x, -1.0, 1.0, tf.quint8)
        return found.output, Q.dequantize(*found)

    @tf.function
    def of_quantized(x, v):
        tf.print(x)
        return tf.reshape(x, [2, 1]), tf.cast(v, tf.int32)

    for _ in range(2):
        numbers, back = there_and_back(tf.constant([-1.0, 1.0]))
        assert (numbers.dtype, numbers.numpy().tolist(), back.numpy().tolist()) == (
            tf.quint8,
            [0, 255],
            [-1, 1],
        )
    v = tf.Variable(numbers)
    v.assign(numbers[::-1])
    for _ in range(2):
        column, integers = of_quantized(numbers, v)
        assert (column.dtype, column.numpy().tolist(), integers.numpy().tolist()) == (
            tf.quint8,
            [[0], [255]],
            [255, 0],
        )
    assert capfd.readouterr().err == "[0 255]\n[0 255]\n"
    rows = tf.data.Dataset.from_tensor_slices(numbers).batch(2)
    assert rows.element_spec.dtype is tf.quint8
    assert [row.numpy().tolist() for row in rows] == [[0, 255]]


def test_quantized_relu_x_cuts_off():
    x = tf.constant([0, 50, 86, 128, 200, 255], tf.quint8)  # -1 to 2: 85 stands for 0, 170 for 1
    found, low, high = tf.compat.v1.nn.quantized_relu_x(x, 1.0, -1.0, 2.0)
    assert (found.numpy().tolist(), float(low), float(high)) == ([85, 85, 86, 128, 170, 170], -1.0, 2.0)
    assert tf.compat.v1.nn.quantized_relu_x(x, 6.0, -1.0, 2.0)[0].numpy().max() == 255
    signed = tf.compat.v1.nn.quantized_relu_x(tf.constant([-128, 0, 127], tf.qint8), 1.0, -1.0, 2.0, tf.qint8)
    assert signed.activations.numpy().tolist() == [-43, 0, 42]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: Q.quantize([1.0], 0.0, 1.0, tf.int8), TypeError, "T must be qint8 or"),
        (lambda: Q.quantize([1], 0.0, 1.0, tf.qint8), TypeError, "takes float32"),
        (lambda: Q.quantize([1.0], 2.0, 1.0, tf.qint8), ValueError, "must not be less"),
        (lambda: Q.quantize([1.0], [0.0, 1.0], 1.0, tf.qint8), ValueError, "or name the axis"),
        (
            lambda: Q.quantize([1.0], 0.0, 1.0, tf.qint8, round_mode="HALF_TO_EVEN"),
            ValueError,
            "mode 'SCALED'",
        ),
        (lambda: Q.dequantize([1], 0.0, 1.0), TypeError, "input must be qint8 or"),
        (
            lambda: Q.dequantize(tf.constant([1], tf.qint8), 0.0, 1.0, dtype="float64"),
            TypeError,
            "or bfloat16",
        ),
        (lambda: Q.quantize_and_dequantize([1.0], 2.0, 1.0, range_given=True), ValueError, "not be above"),
        (lambda: Q.quantize_and_dequantize([1.0], 0.0, 1.0, num_bits=63), ValueError, "num_bits"),
        (lambda: Q.quantize_and_dequantize([1], 0.0, 1.0), TypeError, "takes floating"),
        (
            lambda: Q.quantized_concat(0, [tf.constant([1], tf.quint8)], [0.0], [1.0]),
            ValueError,
            "two tensors",
        ),
        (lambda: tf.compat.v1.nn.quantized_max_pool(X, 0.0, 1.0, 1, 1, "SAME"), TypeError, "quint8 or qint8"),
    ],
)
def test_what_cannot_be_quantized(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
