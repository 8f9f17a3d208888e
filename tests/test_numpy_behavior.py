"""Tensors that behave as NumPy's arrays, after `experimental_enable_numpy_behavior`."""

import numpy as np
import pytest

import gradtape as tf

enable = tf.experimental.numpy.experimental_enable_numpy_behavior


@pytest.fixture(autouse=True)
def end():
    yield
    enable(dtype_conversion_mode="off")


# Expressions with TensorFlow's dtypes and values.
LEGACY = """
x+f => float64 [[2.0, 4.0, 6.0], [5.0, 7.0, 9.0]]
f+x => float64 [[2.0, 4.0, 6.0], [5.0, 7.0, 9.0]]
x*1.5 => float64 [[1.5, 3.0, 4.5], [6.0, 7.5, 9.0]]
1.5*x => float64 [[1.5, 3.0, 4.5], [6.0, 7.5, 9.0]]
x/2 => float64 [[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]]
x//2 => int32 [[0, 1, 1], [2, 2, 3]]
x+l => int64 [[2, 4, 6], [5, 7, 9]]
f+d => float64 [2.0, 4.0, 6.0]
f+h => float32 [2.0, 4.0, 6.0]
h+1.5 => float16 [2.5, 3.5, 4.5]
f+2 => float32 [3.0, 4.0, 5.0]
x+True => int32 [[2, 3, 4], [5, 6, 7]]
b+1 => int64 [2, 1, 2]
b*f => float32 [1.0, 0.0, 3.0]
x-f => float64 [[0.0, 0.0, 0.0], [3.0, 3.0, 3.0]]
x**f => float64 [[1.0, 4.0, 27.0], [4.0, 25.0, 216.0]]
x**2.0 => float64 [[1.0, 4.0, 9.0], [16.0, 25.0, 36.0]]
x<f => bool [[False, False, False], [False, False, False]]
x==f => bool [[True, True, True], [False, False, False]]
x@f => float64 [14.0, 32.0]
f@x.T => float64 [14.0, 32.0]
v+f => float64 [2.0, 4.0, 6.0]
f+v => float64 [2.0, 4.0, 6.0]
f*c => complex128 [1j, 2j, 3j]
u+s8 => int16 [2, 3, 4]
u+x => int32 [[2, 4, 6], [5, 7, 9]]
x.T => int32 [[1, 4], [2, 5], [3, 6]]
x.reshape(3,2) => int32 [[1, 2], [3, 4], [5, 6]]
x.reshape((3,-1)) => int32 [[1, 2], [3, 4], [5, 6]]
x.ravel() => int32 [1, 2, 3, 4, 5, 6]
x.astype('float64') => float64 [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
x.astype(tf.float16) => float16 [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
x.transpose() => int32 [[1, 4], [2, 5], [3, 6]]
x.clip(2,4) => int32 [[2, 2, 3], [4, 4, 4]]
x.max() => int32 6
x.max(axis=0) => int32 [4, 5, 6]
x.min(1) => int32 [1, 4]
x.mean() => float64 3.5
x.mean(0) => float64 [2.5, 3.5, 4.5]
x.tolist() => [[1, 2, 3], [4, 5, 6]]
x.ndim => 2
x[[0,1],[2,0]] => int32 [3, 4]
x[[1]] => int32 [[4, 5, 6]]
x[:,[0,2]] => int32 [[1, 3], [4, 6]]
x[tf.constant([0,1])] => int32 [[1, 2, 3], [4, 5, 6]]
x[x>2] => int32 [3, 4, 5, 6]
x[0,[0,2]] => int32 [1, 3]
x[1][tf.constant(2)] => int32 6
x[...,-1] => int32 [3, 6]
x[np.array([True,False])] => int32 [[1, 2, 3]]
x[None,:,1:] => int32 [[[2, 3], [5, 6]]]
x[[0,1],:,None] => int32 [[[1], [2], [3]], [[4], [5], [6]]]
tf.constant(1.5) => float32 1.5
tf.constant(1.5)+1 => float32 2.5
tf.constant(2)+1.5 => float64 3.5
x%2.5 => float64 [[1.0, 2.0, 0.5], [1.5, 0.0, 1.0]]
2.5%x => float64 [[0.5, 0.5, 2.5], [2.5, 2.5, 2.5]]
abs(x) => int32 [[1, 2, 3], [4, 5, 6]]
~b => bool [False, True, False]
b&b => bool [True, False, True]
x&1 => int32 [[1, 0, 1], [0, 1, 0]]
tf.reduce_sum(x*1.5) => float64 31.5
x+np.float32(1.5) => float64 [[2.5, 3.5, 4.5], [5.5, 6.5, 7.5]]
x+np.array([1.5,2,3]) => float64 [[2.5, 4.0, 6.0], [5.5, 7.0, 9.0]]
np.float32(1.5)+x => float64 [[2.5, 3.5, 4.5], [5.5, 6.5, 7.5]]
f+np.float64(1.5) => float64 [2.5, 3.5, 4.5]
x+1j => complex128 [[(1+1j), (2+1j), (3+1j)], [(4+1j), (5+1j), (6+1j)]]
x[1,2].tolist() => 6
tf.experimental.numpy.sum(x,dtype=tf.float32) => float32 21.0
tf.range(3)+0.5 => float64 [0.5, 1.5, 2.5]
x.flatten() => int32 [1, 2, 3, 4, 5, 6]
"""


def scope():
    return {
        "tf": tf,
        "np": np,
        "x": tf.constant([[1, 2, 3], [4, 5, 6]]),
        "f": tf.constant([1.0, 2.0, 3.0]),
        "h": tf.constant([1.0, 2.0, 3.0], tf.float16),
        "l": tf.constant([1, 2, 3], tf.int64),
        "d": tf.constant([1.0, 2.0, 3.0], tf.float64),
        "v": tf.Variable([1, 2, 3]),
        "b": tf.constant([True, False, True]),
        "u": tf.constant([1, 2, 3], tf.uint8),
        "c": tf.constant([1j]),
        "s8": tf.constant([1], tf.int8),
    }


@pytest.mark.parametrize("case", LEGACY.strip().splitlines())
def test_legacy_mixes_as_numpy_does(case):
    text, _, expected = case.partition(" => ")
    enable()
    found = eval(text, scope())
    kind, _, values = expected.partition(" ")
    if hasattr(found, "dtype"):
        assert (found.dtype.name, found.numpy().tolist()) == (kind, eval(values, {"nan": np.nan}))
    else:
        assert found == eval(expected)


NAMES = [
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "bfloat16",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
# TensorFlow's tables: a row for each dtype above, a column for each, then Python's 5, 5.0 and 5j.
TABLES = {
    "all": """
        b u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8 c8 c16 i4 f4 c16
        u1 u1 u2 u4 u8 i2 i2 i4 i8 bf f2 f4 f8 c8 c16 u1 f8 c16
        u2 u2 u2 u4 u8 i4 i4 i4 i8 bf f2 f4 f8 c8 c16 u2 f8 c16
        u4 u4 u4 u4 u8 i8 i8 i8 i8 bf f2 f4 f8 c8 c16 u4 f8 c16
        u8 u8 u8 u8 u8 f8 f8 f8 f8 bf f2 f4 f8 c8 c16 u8 f8 c16
        i1 i2 i4 i8 f8 i1 i2 i4 i8 bf f2 f4 f8 c8 c16 i1 f8 c16
        i2 i2 i4 i8 f8 i2 i2 i4 i8 bf f2 f4 f8 c8 c16 i2 f8 c16
        i4 i4 i4 i8 f8 i4 i4 i4 i8 bf f2 f4 f8 c8 c16 i4 f8 c16
        i8 i8 i8 i8 f8 i8 i8 i8 i8 bf f2 f4 f8 c8 c16 i8 f8 c16
        bf bf bf bf bf bf bf bf bf bf f4 f4 f8 c8 c16 bf bf c8
        f2 f2 f2 f2 f2 f2 f2 f2 f2 f4 f2 f4 f8 c8 c16 f2 f2 c8
        f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f8 c8 c16 f4 f4 c8
        f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 c16 c16 f8 f8 c16
        c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c16 c8 c16 c8 c8 c8
        c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
    """,
    "safe": """
        b u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8 c8 c16 i4 f4 c16
        u1 u1 u2 u4 u8 - i2 i4 i8 bf f2 f4 f8 c8 c16 u1 - c16
        u2 u2 u2 u4 u8 - - i4 i8 - - f4 f8 c8 c16 u2 - c16
        u4 u4 u4 u4 u8 - - - i8 - - - f8 - c16 u4 - c16
        u8 u8 u8 u8 u8 - - - - - - - - - - u8 - -
        i1 - - - - i1 i2 i4 i8 bf f2 f4 f8 c8 c16 i1 - c16
        i2 i2 - - - i2 i2 i4 i8 - - f4 f8 c8 c16 i2 - c16
        i4 i4 i4 - - i4 i4 i4 i8 - - - f8 - c16 i4 - c16
        i8 i8 i8 i8 - i8 i8 i8 i8 - - - - - - i8 - -
        bf bf - - - bf - - - bf - f4 f8 c8 c16 bf bf -
        f2 f2 - - - f2 - - - - f2 f4 f8 c8 c16 f2 f2 -
        f4 f4 f4 - - f4 f4 - - f4 f4 f4 f8 c8 c16 f4 f4 -
        f8 f8 f8 f8 - f8 f8 f8 - f8 f8 f8 f8 - c16 f8 f8 c16
        c8 c8 c8 - - c8 c8 - - c8 c8 c8 - c8 c16 c8 c8 c8
        c16 c16 c16 c16 - c16 c16 c16 - c16 c16 c16 c16 c16 c16 c16 c16 c16
    """,
}
SHORT = dict(
    zip(["b", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "bf", "f2", "f4", "f8", "c8", "c16"], NAMES)
)


@pytest.mark.parametrize("mode", TABLES)
@pytest.mark.parametrize("row", range(len(NAMES)), ids=NAMES)
def test_modes_mix_by_tensorflows_tables(mode, row):
    enable(dtype_conversion_mode=mode)
    expected = TABLES[mode].split("\n")[1 + row].split()
    first = tf.cast(1, NAMES[row])
    others = [*(tf.cast(1, name) for name in NAMES), 5, 5.0, 5j]
    for other, name in zip(others, expected, strict=True):
        if name == "-":
            with pytest.raises(TypeError, match="no dtype that surely holds both"):
                tf.equal(first, other)
        else:
            kind = tf.as_dtype(SHORT[name])
            if kind.is_bool:
                assert (first & other).dtype == kind
            else:
                assert (first * other).dtype == (other * first).dtype == kind


def test_off_ends_it():
    enable()
    enable(dtype_conversion_mode="off")
    with pytest.raises(TypeError, match="do not mix"):
        tf.constant(1) + tf.constant(1.5)
    assert not hasattr(tf.constant(1), "astype")


def test_another_mode_is_an_error():
    with pytest.raises(ValueError, match="off, legacy, safe, all"):
        enable(dtype_conversion_mode="some")


def test_float32_may_be_preferred():
    n = tf.experimental.numpy
    enable(prefer_float32=True)
    assert n.array([1.5]).dtype == n.sqrt(4).dtype == n.ones(2).dtype == tf.float32
    assert n.array(np.array([1.5])).dtype == tf.float64
    enable(dtype_conversion_mode="off")
    assert n.array([1.5]).dtype == tf.float64


@pytest.mark.parametrize(
    "key",
    ["0, [0, 2]", "[0, 1], :, [2, 0]", "..., [1, 0]", ":, [[0], [1]], [2, 3]", "[-1], None", "m", "1, k"],
)
def test_indices_choose_as_numpys(key):
    enable()
    array = np.arange(24.0).reshape(2, 3, 4)
    names = {"m": array[..., 0] > 5, "k": np.array([True, False, True])}
    chosen = eval(f"array[{key}]", {"array": array, **names})
    np.testing.assert_array_equal(eval(f"x[{key}]", {"x": tf.constant(array), **names}), chosen)


def test_gradients_pass_and_functions_compile():
    enable()
    x, w = tf.constant([[1, 2], [3, 4]]), tf.Variable([1.5, 2.5])

    @tf.function
    def loss():
        return (x * w)[[0, 1], [1, 0]].mean()

    for compute in (loss, loss.python_function):
        with tf.GradientTape() as tape:
            value = compute()
        assert value.dtype == tf.float64 and float(value) == 4.75
        np.testing.assert_allclose(tape.gradient(value, w), [1.5, 1.0])
