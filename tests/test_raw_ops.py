"""tf.raw_ops: operations that have no other name."""

import doctest
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf

DATA = dict(np.load(Path(__file__).parent / "data" / "projections.npz"))
CASES = sorted({name.rpartition("/")[0] for name in DATA})


def arguments(case):
    fill_mode, interpolation, _ = case.split("/")
    images, transforms, size = (
        tf.constant(DATA[f"{case}/{part}"]) for part in ("images", "transforms", "size")
    )
    rest = {"output_shape": size, "fill_value": 7.0, "interpolation": interpolation, "fill_mode": fill_mode}
    return images, transforms, rest


def project(images, transforms, **rest):
    return tf.raw_ops.ImageProjectiveTransformV3(images=images, transforms=transforms, **rest)


@pytest.mark.parametrize("case", CASES)
def test_a_projection_is_tensorflows_to_the_bit(case):
    images, transforms, rest = arguments(case)
    np.testing.assert_array_equal(project(images, transforms, **rest), DATA[f"{case}/out"], strict=True)


@pytest.mark.parametrize("case", [case for case in CASES if DATA[f"{case}/images"].dtype == np.float32])
def test_a_compiled_projection(case):
    images, transforms, rest = arguments(case)
    out = tf.function(lambda images, transforms: project(images, transforms, **rest))(images, transforms)
    np.testing.assert_allclose(out, DATA[f"{case}/out"], rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("case", [case for case in CASES if DATA[f"{case}/images"].dtype == np.float32])
def test_the_gradient_of_a_projection_is_its_transpose(case):
    """With a fill value of 0 a projection is linear: <project(x), g> = <x, gradient>."""
    images, transforms, rest = arguments(case)
    rest["fill_value"] = 0.0
    images = tf.cast(images, "float64")

    def pull(images):
        with tf.GradientTape() as tape:
            tape.watch([images, transforms])
            out = project(images, transforms, **rest)
        given = tf.reshape(tf.range(tf.size(out)), out.shape)
        given = tf.sin(tf.cast(given, "float64"))
        return tf.reduce_sum(out * given), tape.gradient(out, [images, transforms], given)

    for run in (pull, tf.function(pull)):
        total, (slope, none) = run(images)
        assert none is None
        assert slope.shape == images.shape
        np.testing.assert_allclose(tf.reduce_sum(slope * images), total, rtol=1e-6, atol=1e-6)


def test_a_projection_of_bfloat16_and_of_nothing():
    images = tf.ones([2, 3, 3, 1], tf.bfloat16)
    identity = [[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    rest = {"output_shape": [2, 4], "fill_value": 5.0, "interpolation": "BILINEAR"}
    out = project(images, identity, **rest)
    assert out.dtype == tf.bfloat16
    assert tf.cast(out[0, :, :, 0], "float32").numpy().tolist() == [[1.0, 1.0, 1.0, 5.0]] * 2
    assert project(tf.zeros([1, 0, 3, 1]), identity, **rest).numpy().tolist() == [[[[5.0]] * 4] * 2]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"interpolation": "CUBIC"}, tf.errors.InvalidArgumentError),
        ({"fill_mode": "constant"}, tf.errors.InvalidArgumentError),
        ({"output_shape": [1, 2, 3]}, tf.errors.InvalidArgumentError),
        ({"transforms": [[1.0] * 7]}, tf.errors.InvalidArgumentError),
        ({"images": [[[1.0]]]}, tf.errors.InvalidArgumentError),
        ({"images": [[[[True]]]]}, TypeError),
    ],
)
def test_a_projection_of_something_else(change, error):
    sane = {"images": [[[[1.0]]]], "transforms": [[1.0] * 8], "output_shape": [1, 1], "fill_value": 0.0}
    with pytest.raises(error, match="ImageProjectiveTransformV3"):
        tf.raw_ops.ImageProjectiveTransformV3(**{**sane, "interpolation": "NEAREST", **change})


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_bucketize(dtype):
    x = tf.constant([[-5, 0, 3], [10, 11, 4]], dtype)
    for run in (tf.raw_ops.Bucketize, tf.function(tf.raw_ops.Bucketize)):
        out = run(input=x, boundaries=[0.0, 3.0, 10.0])
        assert out.dtype == tf.int32
        assert out.numpy().tolist() == [[0, 1, 2], [3, 3, 2]]
    assert tf.raw_ops.Bucketize(input=x, boundaries=[]).numpy().tolist() == [[0] * 3] * 2


def test_boundaries_in_disorder_and_positional_arguments():
    with pytest.raises(tf.errors.InvalidArgumentError, match="ascending"):
        tf.raw_ops.Bucketize(input=[1.0], boundaries=[2.0, 1.0])
    with pytest.raises(TypeError):
        tf.raw_ops.Bucketize([1.0], [1.0])


def test_distinct_slices():
    x = np.array([[1, 2, 1], [3, 4, 3], [1, 2, 1]])
    rows = tf.raw_ops.UniqueWithCountsV2(x=x, axis=[0])
    assert type(rows)._fields == ("y", "idx", "count")
    assert [part.numpy().tolist() for part in rows] == [[[1, 2, 1], [3, 4, 3]], [0, 1, 0], [2, 1]]
    columns = tf.raw_ops.UniqueV2(x=x, axis=[-1], out_idx=tf.int64)
    assert [part.numpy().tolist() for part in columns] == [[[1, 2], [3, 4], [1, 2]], [0, 1, 0]]
    assert columns.idx.dtype == tf.int64
    words = tf.raw_ops.UniqueV2(x=[["b", "a"], ["b", "a"], ["a", "a"]], axis=[0])
    assert words.y.numpy().tolist() == [[b"b", b"a"], [b"a", b"a"]]
    assert tf.raw_ops.UniqueV2(x=[2, 1, 2], axis=[]).y.numpy().tolist() == [2, 1]
    assert tf.raw_ops.UniqueV2(x=np.zeros((0, 3)), axis=[0]).y.shape == [0, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="axis"):
        tf.raw_ops.UniqueV2(x=x, axis=[2])


def test_tensors_that_do_not_broadcast_are_unequal_where_that_is_no_error():
    for operation, unequal in ((tf.raw_ops.Equal, False), (tf.raw_ops.NotEqual, True)):
        assert operation(x=[1, 2], y=[1, 2, 3], incompatible_shape_error=False).numpy() == unequal
        assert operation(x=[1, 2], y=[1], incompatible_shape_error=False).numpy().tolist() == [
            not unequal,
            unequal,
        ]
        with pytest.raises(tf.errors.InvalidArgumentError):
            operation(x=[1, 2], y=[1, 2, 3])


def test_the_dtype_of_indices():
    assert tf.raw_ops.TopKV2(input=[1.0, 3.0], k=1, index_type=tf.int64).indices.dtype == tf.int64


def test_examples_have_the_results_of_tensorflow():
    """The examples in docstrings; tests/data/make_raw_examples.py writes TensorFlow's results."""
    assert {*tf.raw_ops._EXAMPLES} == {*tf.raw_ops._TABLE}
    runner, said = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), []
    for name, operation in tf.raw_ops._TABLE.items():
        (test,) = doctest.DocTestFinder(recurse=False).find(operation, name, globs={"tf": tf})
        assert f"tf.raw_ops.{name}(" in test.docstring
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)
