"""Pooling: its values by definition, in every arrangement users can ask for; and what it refuses.

Gradients are proved in gradients/.
"""

import itertools

import numpy as np
import pytest

import gradtape as tf
from gradtape import nn
from gradtape.core import errors

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.standard_normal(shape)


def by_definition(x, size, strides, padding, reduce, dilations=None):
    """One window after another, cut off at the edges; channels last."""
    dilations = dilations or (1,) * len(size)
    reach = [(n - 1) * d + 1 for n, d in zip(size, dilations, strict=True)]
    space = x.shape[1:-1]
    if padding == "SAME":
        counts = [-(-n // s) for n, s in zip(space, strides, strict=True)]
        pads = [
            max((c - 1) * s + r - n, 0) // 2 for c, s, r, n in zip(counts, strides, reach, space, strict=True)
        ]
    else:
        counts = [(n - r) // s + 1 for n, r, s in zip(space, reach, strides, strict=True)]
        pads = [0] * len(size)
    out = np.zeros((len(x), *counts, x.shape[-1]))
    for at in itertools.product(*map(range, counts)):
        inside = []
        for o, s, p, r, d, n in zip(at, strides, pads, reach, dilations, space, strict=True):
            inside.append([i for i in range(o * s - p, o * s - p + r, d) if 0 <= i < n])
        window = x[(slice(None), *np.ix_(*inside))]
        out[(slice(None), *at)] = reduce(window, tuple(range(1, x.ndim - 1)))
    return out


KINDS = [("max_pool", np.max), ("avg_pool", np.mean)]


@pytest.mark.parametrize("name, reduce", KINDS, ids=["max", "avg"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_windows_are_pooled_and_padding_does_not_count(name, reduce, padding, rank, step):
    size, strides = (3, 2, 2)[:rank], (step, 1, step)[:rank]
    x = draw(2, *(7, 6, 5)[:rank], 2) - 5  # all negative: a zero from the padding would show
    wanted = by_definition(x, size, strides, padding, reduce)
    for function in (getattr(nn, name), getattr(nn, f"{name}{rank}d")):
        np.testing.assert_allclose(function(x, size, strides, padding), wanted)
    kind = "MAX" if name == "max_pool" else "AVG"
    np.testing.assert_allclose(nn.pool(x, size, kind, strides, padding), wanted)


@pytest.mark.parametrize("name, reduce", KINDS, ids=["max", "avg"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_windows_may_have_gaps(name, reduce, padding):
    x = draw(2, 7, 6, 2)
    wanted = by_definition(x, (3, 2), (1, 1), padding, reduce, (2, 3))
    got = nn.pool(x, (3, 2), name[:3].upper(), 1, padding, dilations=(2, 3))
    np.testing.assert_allclose(got, wanted)


def test_windows_have_steps_or_gaps():
    with pytest.raises(
        ValueError, match=r"strides or the dilations must be 1, and they are \[1, 2\] and \[2, 3\]"
    ):
        nn.pool(draw(2, 7, 6, 2), (3, 2), "MAX", (1, 2), dilations=(2, 3))


@pytest.mark.parametrize("name", ["max_pool", "avg_pool"])
@pytest.mark.parametrize("rank, first", [(1, "NCW"), (2, "NCHW"), (3, "NCDHW")])
def test_channels_may_come_first(name, rank, first):
    x = draw(2, *(5, 4, 6)[:rank], 3)
    wanted = getattr(nn, name)(x, 2, 2, "SAME").numpy()
    for function in (getattr(nn, name), getattr(nn, f"{name}{rank}d")):
        got = function(np.moveaxis(x, -1, 1), 2, 2, "SAME", data_format=first).numpy()
        np.testing.assert_allclose(np.moveaxis(got, 1, -1), wanted)


def test_sizes_may_be_given_for_every_axis_or_once():
    x = draw(1, 6, 6, 2)
    wanted = nn.max_pool2d(x, 2, 2, "VALID").numpy()
    for size in ([2], [2, 2], [1, 2, 2, 1], np.array([2, 2])):
        np.testing.assert_array_equal(nn.max_pool2d(x, size, size, "VALID"), wanted)


def test_channels_can_be_pooled():
    x = draw(2, 3, 3, 4)
    got = nn.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "VALID")
    np.testing.assert_array_equal(got, x.reshape(2, 3, 3, 2, 2).max(-1))


def test_explicit_padding():
    x = -np.arange(1.0, 17.0).reshape(1, 4, 4, 1)
    got = nn.max_pool2d(x, 2, 2, [[0, 0], [1, 1], [1, 1], [0, 0]]).numpy()
    np.testing.assert_array_equal(got[0, :, :, 0], [[-1, -2, -4], [-5, -6, -8], [-13, -14, -16]])
    averages = nn.avg_pool2d(x, 2, 2, [[0, 0], [1, 1], [1, 1], [0, 0]]).numpy()
    np.testing.assert_array_equal(averages[0, :, :, 0], [[-1, -2.5, -4], [-7, -8.5, -10], [-13, -14.5, -16]])


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_of_equal_elements_the_first_has_the_gradient(rank):
    x = tf.ones((1, *[4] * rank, 1))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = nn.max_pool(x, 2, 2, "VALID")
    wanted = np.zeros(x.shape)
    wanted[(0, *[slice(None, None, 2)] * rank, 0)] = 1
    np.testing.assert_array_equal(tape.gradient(y, x), wanted)


def test_overlapping_windows_add_up():
    x = tf.constant([[[1.0], [5.0], [2.0], [3.0]]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = nn.max_pool1d(x, 3, 1, "SAME")
    gradient = tape.gradient(y, x, output_gradients=tf.constant([[[1.0], [10.0], [100.0], [1000.0]]]))
    np.testing.assert_array_equal(gradient.numpy().ravel(), [0, 111, 0, 1000])


def test_infinities_are_elements_and_padding_is_not():
    x = tf.constant([[[-np.inf], [-np.inf]]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = nn.max_pool1d(x, 3, 2, "SAME")
    np.testing.assert_array_equal(tape.gradient(y, x).numpy().ravel(), [1, 0])


def test_where_the_maximum_was():
    x = draw(2, 4, 6, 3)
    for whole in (False, True):
        largest, where = nn.max_pool_with_argmax(x, 2, 2, "VALID", include_batch_in_index=whole)
        assert where.dtype == tf.int64
        flat = x.reshape(-1) if whole else x.reshape(2, -1)
        found = flat[where.numpy()] if whole else np.stack([flat[i][where.numpy()[i]] for i in range(2)])
        np.testing.assert_array_equal(found, largest)
    _, where = nn.max_pool_with_argmax(np.ones((1, 2, 2, 1)), 2, 1, "SAME", output_dtype="int32")
    np.testing.assert_array_equal(where.numpy().ravel(), [0, 1, 2, 3])
    assert where.dtype == tf.int32


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int8", "uint8"])
def test_dtypes_stay(dtype):
    x = tf.cast(np.arange(32.0).reshape(2, 4, 4, 1), dtype)
    got = nn.max_pool2d(x, 2, 2, "SAME")
    assert got.dtype == dtype
    np.testing.assert_array_equal(tf.cast(got, "int32").numpy()[0, :, :, 0], [[5, 7], [13, 15]])
    if got.dtype.is_floating:
        mean = nn.avg_pool2d(x, 2, 2, "SAME")
        assert mean.dtype == dtype
        np.testing.assert_array_equal(
            tf.cast(mean, "float32").numpy()[0, :, :, 0], [[2.5, 4.5], [10.5, 12.5]]
        )


@pytest.mark.parametrize("function", [nn.max_pool2d, nn.avg_pool2d])
@pytest.mark.parametrize(
    "shape, out", [((0, 4, 4, 1), (0, 2, 2, 1)), ((1, 1, 4, 2), (1, 0, 2, 2)), ((1, 4, 4, 0), (1, 2, 2, 0))]
)
def test_nothing_in_nothing_out(function, shape, out):
    x = tf.ones(shape)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x, 2, 2, "VALID")
    assert tuple(y.shape) == out
    assert not tape.gradient(y, x).numpy().any()


Invalid = errors.InvalidArgumentError
IMAGE = np.ones((1, 4, 4, 2), "float32")


def pool(x=IMAGE, ksize=2, strides=2, padding="VALID", kind=nn.max_pool2d, **options):
    return lambda: kind(x, ksize, strides, padding, **options)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (pool(x=IMAGE[0]), Invalid, "max_pool2d: the input must have 4 axes"),
        (pool(x=IMAGE[0, 0], kind=nn.max_pool), Invalid, "max_pool: the input must have 3, 4 or 5 axes"),
        (pool(padding="FULL"), Invalid, "padding must be 'SAME', 'VALID' or a list"),
        (pool(padding=[[0, 0], [2, 0], [0, 0], [0, 0]]), Invalid, "smaller than the window"),
        (pool(data_format="NHCW"), Invalid, "data_format must be 'NHWC' or 'NCHW'"),
        (pool(ksize=0), Invalid, "ksize must be positive"),
        (pool(ksize=[2, 2, 2]), ValueError, "ksize must be of length 1, 2 or 4"),
        (pool(ksize=[2, 1, 1, 1]), errors.UnimplementedError, "1 along the batch"),
        (pool(ksize=[1, 1, 1, 3]), Invalid, "a window of 3 channels"),
        (pool(ksize="2"), TypeError, "ksize must be an integer"),
        (pool(strides=-1), Invalid, "strides must be positive"),
        (pool(ksize=7, strides=1), Invalid, "reaches 7 does not fit an axis of length 4"),
        (pool(x=IMAGE.astype(complex)), TypeError, "complex128 has no largest"),
        (pool(x=IMAGE > 0), TypeError, "max_pool2d: bool has no largest"),
        (
            pool(x=IMAGE.astype(int), kind=nn.avg_pool2d),
            TypeError,
            "avg_pool2d takes floating tensors, not int64",
        ),
        (lambda: nn.pool(IMAGE, [2, 2], "MIN"), ValueError, "pooling_type must be 'MAX' or 'AVG', not 'MIN'"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
