"""Dtypes are objects, one each, that compare with names and with NumPy's, and say what they can hold."""

import copy
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import gradtape as tf

FLOATING = ["float16", "float32", "float64", "bfloat16"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
NAMES = [*FLOATING, *SIGNED, *UNSIGNED, *COMPLEX, "bool", "string"]


def numpy_type(name):
    return {"bfloat16": ml_dtypes.bfloat16, "string": object, "bool": np.bool_}.get(name) or getattr(np, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_is_known_by_its_name_and_by_numpys_dtype(name):
    dtype = getattr(tf, name)
    assert isinstance(dtype, tf.DType)
    assert dtype.name == name
    assert repr(dtype) == f"tf.{name}"
    assert str(dtype) == f"<dtype: '{name}'>"
    assert dtype.as_numpy_dtype is numpy_type(name)
    for other in (name, dtype, numpy_type(name), np.dtype(numpy_type(name)), dtype.as_datatype_enum):
        assert tf.as_dtype(other) is dtype
        assert dtype == other
        assert (dtype != other) is False
        assert dtype.is_compatible_with(other)


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_equals_nothing_else(name):
    dtype = getattr(tf, name)
    for other in (
        *(getattr(tf, n) for n in NAMES if n != name),
        None,
        "nope",
        [],
        3.5,
        tf.constant(1.0),
        np.ones(2),
    ):
        assert (dtype == other) is False
        assert (dtype != other) is True


@pytest.mark.parametrize(
    ("predicate", "members"),
    [
        ("is_floating", FLOATING),
        ("is_integer", SIGNED + UNSIGNED),
        ("is_unsigned", UNSIGNED),
        ("is_complex", COMPLEX),
        ("is_bool", ["bool"]),
        ("is_numeric", FLOATING + SIGNED + UNSIGNED + COMPLEX),
        ("is_numpy_compatible", NAMES),
    ],
)
def test_predicates(predicate, members):
    assert {name for name in NAMES if getattr(getattr(tf, name), predicate)} == set(members)


@pytest.mark.parametrize(
    ("dtype", "lowest", "highest"),
    [
        (tf.int8, -128, 127),
        (tf.uint8, 0, 255),
        (tf.int16, -32768, 32767),
        (tf.uint64, 0, 2**64 - 1),
        (tf.float16, -65504.0, 65504.0),
        (tf.float32, np.finfo(np.float32).min, np.finfo(np.float32).max),
        (tf.float64, np.finfo(np.float64).min, np.finfo(np.float64).max),
        (tf.bfloat16, -3.3895313892515355e38, 3.3895313892515355e38),
    ],
)
def test_min_and_max(dtype, lowest, highest):
    assert (dtype.min, dtype.max) == (lowest, highest)


@pytest.mark.parametrize("dtype", [tf.complex64, tf.string, tf.bool])
def test_a_dtype_without_order_has_no_min(dtype):
    with pytest.raises(TypeError, match=f"{dtype!r} has no minimum or maximum"):
        dtype.min
    with pytest.raises(TypeError, match="has no minimum or maximum"):
        dtype.max


@pytest.mark.parametrize(
    ("dtype", "limits"),
    [
        (tf.uint8, (0, 255)),
        (tf.int8, (0, 127)),
        (tf.float32, (0, 1)),
        (tf.float64, (0, 1)),
        (tf.bool, (0, 1)),
    ],
)
def test_limits_are_those_of_an_image(dtype, limits):
    assert dtype.limits == limits


def test_not_every_dtype_has_limits():
    with pytest.raises(ValueError, match=r"tf.complex64 has no limits"):
        tf.complex64.limits


@pytest.mark.parametrize(
    ("dtype", "size", "real"),
    [
        (tf.float16, 2, tf.float16),
        (tf.bfloat16, 2, tf.bfloat16),
        (tf.int64, 8, tf.int64),
        (tf.bool, 1, tf.bool),
        (tf.complex64, 8, tf.float32),
        (tf.complex128, 16, tf.float64),
        (tf.string, 0, tf.string),
    ],
)
def test_size_and_real_part(dtype, size, real):
    assert dtype.size == size
    assert dtype.real_dtype is real
    assert dtype.base_dtype is dtype


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (float, tf.float32),
        (int, tf.int32),
        (bool, tf.bool),
        (complex, tf.complex128),
        (str, tf.string),
        (bytes, tf.string),
        (np.str_, tf.string),
        ("half", tf.float16),
        ("float", tf.float32),
        ("double", tf.float64),
        (np.dtype(">i4"), tf.int32),
    ],
)
def test_as_dtype_takes_pythons_types_and_other_names(given, dtype):
    assert tf.as_dtype(given) is dtype


def test_the_other_names_of_two_dtypes():
    assert tf.half is tf.float16
    assert tf.double is tf.float64


@pytest.mark.parametrize("given", ["nope", None, [1], 99, np.dtype("M8[D]"), dict, 3.5, tf.constant(1.0)])
def test_an_unknown_dtype_is_named_beside_the_known_ones(given):
    with pytest.raises(
        TypeError, match=r"is not a dtype gradtape knows\. It knows bfloat16, bool, "
    ) as error:
        tf.as_dtype(given)
    assert repr(given) in str(error.value)


@pytest.mark.parametrize("name", NAMES)
def test_there_is_one_object_for_each(name):
    dtype = getattr(tf, name)
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy(dtype) is dtype
    assert {dtype: 1}[getattr(tf, name)] == 1


def test_numpy_takes_a_dtype():
    assert np.zeros(2, tf.float32).dtype == np.float32
    assert np.dtype(tf.int8) == np.int8
    assert np.float32 == tf.float32
    assert ["float32", np.float32].index(tf.float32) == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_shows_its_dtype_as_the_same_object(name):
    assert tf.zeros((2,), name).dtype is getattr(tf, name)


def test_bfloat16_needs_its_package_only_when_used():
    program = "import sys, gradtape as tf; assert tf.bfloat16.is_floating; print('ml_dtypes' in sys.modules)"
    program += "; tf.ones((), tf.bfloat16); print('ml_dtypes' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.split() == ["False", "True"]


@pytest.mark.parametrize(
    ("name", "largest", "enum"), [("float8_e5m2", 57344, 24), ("float8_e4m3fn", 448, 25)]
)
def test_floats_of_eight_bits(name, largest, enum, tmp_path):
    dtype = getattr(tf.dtypes.experimental, name)
    assert (tf.as_dtype(name), float(dtype.max), dtype.as_datatype_enum, dtype.size) == (
        dtype,
        largest,
        enum,
        1,
    )
    x = tf.constant([1.0, -0.3, 3.3, 1e-9])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(tf.cast(x, name), "float32")
    assert tape.gradient(y, x) is None
    assert y.numpy().tolist() == [1.0, -0.3125, 3.5 if name == "float8_e5m2" else 3.25, 0.0]
    assert (
        tf.function(lambda x: tf.cast(tf.cast(x, name), "float32"))(x).numpy().tolist() == y.numpy().tolist()
    )
    variable = tf.Variable(tf.cast(x, name))
    path = tf.train.Checkpoint(v=variable).save(str(tmp_path / "ckpt"))
    variable.assign(tf.zeros([4], name))
    tf.train.Checkpoint(v=variable).restore(path)
    assert tf.cast(variable, "float32").numpy().tolist() == y.numpy().tolist()
