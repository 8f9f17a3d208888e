"""Convolutions: their values by definition, in every arrangement users can ask for; and what they refuse.

Gradients are proved in gradients/.
"""

import itertools

import numpy as np
import pytest

import gradtape as tf
from gradtape import nn
from gradtape.core import errors
from gradtape.ops.nn import convolve
from gradtape.ops.nn.convolve_by_xla import convolved_by_xla
from gradtape.ops.nn.windows import Windows

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.standard_normal(shape)


def same(n, size, stride, dilation):
    """TensorFlow's documented rule: ceil(n / stride) windows, the odd zero at the end."""
    total = max((-(-n // stride) - 1) * stride + (size - 1) * dilation + 1 - n, 0)
    return total // 2, total - total // 2


def by_definition(x, filters, strides, pads, dilations, groups=1):
    """One window after another; channels last."""
    rank = filters.ndim - 2
    x = np.pad(x, [(0, 0), *pads, (0, 0)])
    reach = [(n - 1) * d + 1 for n, d in zip(filters.shape, dilations, strict=False)]
    counts = [(n - r) // s + 1 for n, r, s in zip(x.shape[1:-1], reach, strides, strict=True)]
    out = np.zeros((len(x), *counts, filters.shape[-1]))
    parts = np.split(filters, groups, -1)
    for at in itertools.product(*map(range, counts)):
        window = tuple(
            slice(o * s, o * s + r, d) for o, s, r, d in zip(at, strides, reach, dilations, strict=True)
        )
        seen = np.split(x[(slice(None), *window)], groups, -1)
        each = [np.tensordot(a, f, rank + 1) for a, f in zip(seen, parts, strict=True)]
        out[(slice(None), *at)] = np.concatenate(each, -1)
    return out


def pads_for(padding, shape, size, strides, dilations):
    if padding == "VALID":
        return [(0, 0)] * len(size)
    if padding == "SAME":
        return [same(*each) for each in zip(shape, size, strides, dilations, strict=True)]
    return padding[1:-1]


EXPLICIT = [[0, 0], [2, 1], [0, 3], [0, 0]]


@pytest.mark.parametrize("dilations", [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
@pytest.mark.parametrize("padding", ["VALID", "SAME", EXPLICIT], ids=str)
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 2)], ids=str)
def test_conv2d_is_what_its_definition_says(size, padding, strides, dilations):
    x, filters = draw(2, 8, 9, 3), draw(*size, 3, 2)
    pads = pads_for(padding, (8, 9), size, strides, dilations)
    got = nn.conv2d(x, filters, strides, padding, dilations=dilations)
    np.testing.assert_allclose(got, by_definition(x, filters, strides, pads, dilations), atol=1e-12)


@pytest.mark.parametrize("groups, each, outs", [(2, 1, 1), (3, 1, 2), (2, 2, 3), (4, 2, 1)])
@pytest.mark.parametrize("stride", [1, 2])
def test_filters_of_fewer_channels_work_in_groups(groups, each, outs, stride):
    x, filters = draw(2, 5, 6, groups * each), draw(3, 2, each, groups * outs)
    got = nn.conv2d(x, filters, stride, "VALID")
    wanted = by_definition(x, filters, (stride, stride), [(0, 0)] * 2, (1, 1), groups)
    np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_one_and_three_axes():
    x, filters = draw(2, 7, 2), draw(3, 2, 4)
    wanted = by_definition(x, filters, (2,), [same(7, 3, 2, 1)], (1,))
    np.testing.assert_allclose(nn.conv1d(x, filters, 2, "SAME"), wanted, atol=1e-12)
    np.testing.assert_allclose(nn.convolution(x, filters, 2, "SAME"), wanted, atol=1e-12)
    x, filters = draw(2, 4, 3, 5, 2), draw(2, 1, 3, 2, 2)
    wanted = by_definition(x, filters, (1, 2, 2), [(0, 0)] * 3, (2, 1, 1))
    got = nn.conv3d(x, filters, [1, 1, 2, 2, 1], "VALID", dilations=[1, 2, 1, 1, 1])
    np.testing.assert_allclose(got, wanted, atol=1e-12)
    wanted = by_definition(x, filters, (1, 1, 1), [(0, 0)] * 3, (2, 1, 1))
    np.testing.assert_allclose(nn.convolution(x, filters, dilations=(2, 1, 1)), wanted, atol=1e-12)


def test_the_general_convolution_has_steps_or_gaps():
    with pytest.raises(ValueError, match=r"strides or the dilations must be 1.*conv3d take both"):
        nn.convolution(draw(2, 4, 3, 5, 2), draw(2, 1, 3, 2, 2), (1, 2, 2), dilations=(2, 1, 1))


@pytest.mark.parametrize(
    "function, last, first, rank",
    [(nn.conv1d, "NWC", "NCW", 1), (nn.conv2d, "NHWC", "NCHW", 2), (nn.conv3d, "NDHWC", "NCDHW", 3)],
)
def test_channels_may_come_first(function, last, first, rank):
    x, filters = draw(2, *(4, 5, 3)[:rank], 2), draw(*(2, 3, 2)[:rank], 2, 3)
    wanted = function(x, filters, 2, "SAME", data_format=last).numpy()
    got = function(np.moveaxis(x, -1, 1), filters, 2, "SAME", data_format=first)
    np.testing.assert_allclose(np.moveaxis(got.numpy(), 1, -1), wanted, atol=1e-12)
    back = getattr(nn, f"{function.__name__}_transpose")
    shape = (2, 2, *x.shape[1:-1])
    swapped = back(got, filters, shape, 2, "SAME", data_format=first).numpy()
    plain = back(wanted, filters, x.shape, 2, "SAME", data_format=last).numpy()
    np.testing.assert_allclose(np.moveaxis(swapped, 1, -1), plain, atol=1e-12)


def test_any_number_of_batch_axes():
    x, filters = draw(2, 3, 5, 4, 1), draw(2, 2, 1, 2)
    apart = [nn.conv2d(part, filters, 1, "SAME").numpy() for part in x]
    np.testing.assert_allclose(nn.conv2d(x, filters, 1, "SAME"), np.stack(apart), atol=1e-12)


def test_strides_may_be_given_for_every_axis_or_once():
    x, filters = draw(1, 6, 6, 1), draw(2, 2, 1, 1)
    wanted = nn.conv2d(x, filters, (2, 2), "VALID").numpy()
    for strides in (2, [2], [2, 2], [1, 2, 2, 1], np.array([2, 2]), tf.constant([2, 2])):
        np.testing.assert_array_equal(nn.conv2d(x, filters, strides, "VALID"), wanted)


@pytest.mark.parametrize("padding", ["SAME", "VALID", EXPLICIT], ids=str)
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
@pytest.mark.parametrize("dilations", [(1, 1), (2, 1)])
def test_conv_transpose_is_the_transpose(padding, strides, dilations):
    x, filters = draw(2, 7, 8, 3), draw(3, 2, 3, 4)
    out = nn.conv2d(x, filters, strides, padding, dilations=dilations).numpy()
    y = draw(*out.shape)
    back = nn.conv2d_transpose(y, filters, x.shape, strides, padding, dilations=dilations).numpy()
    assert back.shape == x.shape
    np.testing.assert_allclose(np.vdot(y, out), np.vdot(x, back))


def test_conv_transpose_of_one_and_three_axes():
    got = nn.conv1d_transpose([[[1.0], [2.0]]], [[[1.0]], [[10.0]], [[100.0]]], [1, 5, 1], 2, "VALID")
    np.testing.assert_array_equal(got.numpy().ravel(), [1, 10, 102, 20, 200])
    y, filters = draw(1, 2, 2, 2, 3), draw(2, 2, 2, 1, 3)
    shape = tf.constant([1, 4, 3, 4, 1])
    got = nn.conv3d_transpose(y, filters, shape, [1, 2, 2, 2, 1]).numpy()
    np.testing.assert_array_equal(got, nn.conv_transpose(y, filters, shape, 2))
    assert got.shape == (1, 4, 3, 4, 1)


def test_depthwise_has_filters_for_each_channel():
    x, filters = draw(2, 5, 5, 3), draw(2, 3, 3, 2)
    got = nn.depthwise_conv2d(x, filters, [1, 2, 2, 1], "SAME").numpy()
    for channel in range(3):
        alone = nn.conv2d(x[..., [channel]], filters[:, :, [channel]], 2, "SAME")
        np.testing.assert_allclose(got[..., 2 * channel : 2 * channel + 2], alone, atol=1e-12)
    point = draw(1, 1, 6, 4)
    separable = nn.separable_conv2d(x, filters, point, [1, 2, 2, 1], "SAME")
    np.testing.assert_allclose(separable, got @ point[0, 0], atol=1e-12)


def test_atrous_is_dilated():
    x, filters = draw(1, 7, 7, 2), draw(2, 3, 2, 3)
    wanted = nn.conv2d(x, filters, 1, "SAME", dilations=2).numpy()
    np.testing.assert_array_equal(nn.atrous_conv2d(x, filters, 2, "SAME"), wanted)
    back = nn.atrous_conv2d_transpose(wanted, filters, x.shape, 2, "SAME").numpy()
    np.testing.assert_allclose(np.vdot(wanted, wanted), np.vdot(x, back))


def test_work_in_small_blocks_gives_the_same(monkeypatch):
    """A step takes a part of the batch, or some rows of one image."""
    for shape, kernel in [((3, 5, 6, 2), (2, 3, 2, 4)), ((3, 5, 6, 4), (2, 3, 2, 4))]:
        x, filters = tf.constant(draw(*shape)), tf.constant(draw(*kernel))

        def everything(x=x, filters=filters):
            with tf.GradientTape() as tape:
                tape.watch([x, filters])
                out = nn.conv2d(x, filters, 1, "SAME")
                total = tf.reduce_sum(out * out)
            return [out, *tape.gradient(total, [x, filters])]

        wanted = [t.numpy() for t in everything()]
        for block in (1, 100, 500):
            monkeypatch.setattr(convolve, "_BLOCK", block)
            for got, expected in zip(everything(), wanted, strict=True):
                np.testing.assert_allclose(got, expected, atol=1e-12)
        monkeypatch.undo()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
def test_dtypes_stay(dtype):
    x, filters = tf.cast(draw(2, 5, 5, 2) * 4, dtype), tf.cast(draw(3, 3, 2, 2) * 4, dtype)
    got = nn.conv2d(x, filters, 1, "SAME")
    assert got.dtype == dtype
    wide = nn.conv2d(tf.cast(x, "float64"), tf.cast(filters, "float64"), 1, "SAME")
    tolerance = {"float16": 1e-3, "bfloat16": 1e-2}.get(dtype, 1e-6)
    np.testing.assert_allclose(tf.cast(got, "float64"), wide, rtol=tolerance, atol=100 * tolerance)


@pytest.mark.parametrize(
    "x, filters, out",
    [
        ((0, 4, 4, 1), (2, 2, 1, 3), (0, 3, 3, 3)),  # no batch
        ((2, 4, 4, 1), (2, 2, 1, 0), (2, 3, 3, 0)),  # no filters
        ((2, 4, 4, 1), (5, 2, 1, 3), (2, 0, 3, 3)),  # no room
        ((2, 1, 4, 0, 1), (1, 1, 1, 3), (2, 1, 4, 0, 3)),  # no elements
    ],
)
@pytest.mark.parametrize("wrapped", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_nothing_in_nothing_out(wrapped, x, filters, out):
    x, filters = tf.ones(x), tf.ones(filters)

    def run(x, filters):
        with tf.GradientTape() as tape:
            tape.watch([x, filters])
            y = nn.conv2d(x, filters, 1, "VALID")
        return y, tape.gradient(y, [x, filters])

    y, gradients = wrapped(run)(x, filters)
    assert tuple(y.shape) == out
    assert [g.shape for g in gradients] == [x.shape, filters.shape]
    assert not any(g.numpy().any() for g in gradients)


# x, filters, strides, dilations, and how many of XLA's own convolutions compute the result and both gradients.
PROGRAMS = {
    "few terms: a sum": ((6, 9, 8, 1), (3, 3, 1, 4), 1, 1, 1),
    "few terms, strides": ((6, 9, 8, 3), (3, 3, 3, 4), 2, 1, 2),
    "few terms, dilated": ((6, 9, 8, 2), (3, 2, 2, 4), 1, 2, 2),
    "few channels: products": ((6, 9, 8, 4), (3, 3, 4, 5), 1, 1, 1),
    "few channels of the input": ((6, 9, 8, 7), (3, 3, 7, 5), 1, 1, 2),
    "many channels": ((6, 9, 8, 12), (3, 3, 12, 16), 1, 1, 3),
    "more filters than windows": ((2, 3, 3, 12), (3, 3, 12, 16), 1, 1, 0),
    "few images": ((2, 9, 8, 12), (3, 3, 12, 16), 2, 1, 2),
    "few images, dilated": ((1, 9, 8, 12), (2, 3, 12, 16), 1, 2, 2),
    "points": ((6, 9, 8, 12), (1, 1, 12, 16), 1, 1, 0),
    "points, strides": ((6, 9, 8, 12), (1, 1, 12, 16), 2, 1, 0),
    "groups": ((6, 9, 8, 8), (3, 3, 4, 6), 1, 1, 2),
    "groups, strides": ((6, 9, 8, 8), (2, 3, 2, 8), 2, 1, 2),
    "depthwise": ((6, 9, 8, 5), (3, 2, 1, 5), 1, 1, 0),
    "depthwise, dilated": ((6, 9, 8, 5), (3, 2, 1, 5), 1, 2, 0),
    "depthwise, strides": ((6, 9, 8, 5), (3, 2, 1, 5), 2, 1, 0),
    "depthwise, two filters each": ((6, 9, 8, 5), (3, 2, 1, 10), 1, 1, 0),
    "a large window": ((6, 9, 8, 2), (6, 6, 2, 3), 1, 1, 3),
}


@pytest.mark.parametrize("padding", ["SAME", "VALID", [[0, 0], [3, 0], [1, 4], [0, 0]]], ids=str)
@pytest.mark.parametrize("case", PROGRAMS)
def test_each_kind_of_compiled_program_gives_what_numpy_gives(case, padding):
    shape, kernel, strides, dilations, convolutions = PROGRAMS[case]
    x, filters = tf.constant(draw(*shape)), tf.constant(draw(*kernel))

    def first(x, filters):
        with tf.GradientTape() as tape:
            tape.watch([x, filters])
            out = nn.conv2d(x, filters, strides, padding, dilations=dilations)
            total = tf.reduce_sum(tf.sin(out))
        return out, *tape.gradient(total, [x, filters])

    def second(x, filters):
        with tf.GradientTape() as tape:
            tape.watch([x, filters])
            _, *gradients = first(x, filters)
            total = sum(tf.reduce_sum(g * g) for g in gradients)
        return tape.gradient(total, [x, filters])

    for function in (first, second):
        for got, wanted in zip(tf.function(function)(x, filters), function(x, filters), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)
    if padding == "SAME":
        code = tf.function(first).get_concrete_function(x, filters)._program.executable.graph.code.jaxpr
        assert str(code).count("conv_general_dilated[") == convolutions


def test_large_windows_are_not_compiled_one_tap_after_the_other():
    jax = pytest.importorskip("jax")
    code = jax.make_jaxpr(lambda x, f: convolved_by_xla(x, f, Windows((128,), (1,), (1,), ((0, 0),)), 1))(
        np.ones((1, 300, 2)), np.ones((128, 2, 3))
    )
    assert len(code.eqns) < 10


Invalid = errors.InvalidArgumentError
IMAGE, KERNEL = np.ones((1, 4, 4, 2), "float32"), np.ones((2, 2, 2, 3), "float32")


def conv(x=IMAGE, filters=KERNEL, strides=1, padding="VALID", **options):
    return lambda: nn.conv2d(x, filters, strides, padding, **options)


def back(shape, x=IMAGE, filters=KERNEL[:, :, :, :2], strides=1, padding="VALID", **options):
    return lambda: nn.conv2d_transpose(x, filters, shape, strides, padding, **options)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (conv(padding="FULL"), Invalid, r"conv2d: padding must be 'SAME', 'VALID' or a list .* not 'FULL'"),
        (conv(padding="CAUSAL"), Invalid, "not 'CAUSAL'"),
        (conv(padding=3), Invalid, "not 3"),
        (conv(padding=[[0, 0], [1, 1]]), ValueError, "each of the 4 axes"),
        (conv(padding=[[0, 0], [-1, 0], [0, 0], [0, 0]]), Invalid, "must not be negative"),
        (conv(padding=[[1, 0], [0, 0], [0, 0], [0, 0]]), Invalid, "along the batch or the channels"),
        (conv(data_format="NWHC"), Invalid, "must be 'NHWC' or 'NCHW', not 'NWHC'"),
        (conv(strides=0), Invalid, r"strides must be positive, not \[0\]"),
        (conv(strides=[1, 2, 3]), ValueError, "of length 1, 2 or 4"),
        (conv(strides=[2, 1, 1, 1]), errors.UnimplementedError, "1 along the batch"),
        (conv(strides=[1, 1, 1, 2]), errors.UnimplementedError, "1 along the channels"),
        (conv(strides=1.5), TypeError, "strides must be an integer or a list of integers"),
        (conv(strides="2"), TypeError, "strides must be an integer"),
        (conv(dilations=-1), Invalid, "dilations must be positive"),
        (conv(x=np.ones((4, 4, 2), "float32")), Invalid, "at least 4 axes"),
        (conv(filters=np.ones((2, 2, 2), "float32")), Invalid, "filters must have 4 axes"),
        (conv(filters=np.ones((2, 2, 3, 1), "float32")), Invalid, "input's 2 channels must be a multiple of the 3"),
        (conv(filters=np.ones((2, 2, 1, 3), "float32")), Invalid, "2 groups of channels"),
        (conv(filters=np.ones((0, 2, 2, 3), "float32")), Invalid, "must not be empty"),
        (conv(filters=np.ones((6, 2, 2, 3), "float32")), Invalid, "a window that reaches 6 does not fit"),
        (conv(filters=tf.ones((2, 2, 2, 3), "float64"), x=tf.ones((1, 4, 4, 2))), Invalid, "float32 and float64"),
        (conv(x=IMAGE.astype(complex), filters=KERNEL.astype(complex)), TypeError, "not complex128"),
        (conv(x=IMAGE.astype("int64"), filters=KERNEL.astype("int64")), TypeError, "not int64"),
        (conv(x="text"), Invalid, "at least 4 axes"),
        (lambda: nn.convolution(IMAGE, np.ones((2, 2), "float32")), Invalid, "filters must have 3, 4 or 5 axes"),
        (back((1, 5, 5)), Invalid, "must have 4 axes"),
        (back((1, 5, 5, 3)), Invalid, "do not take a batch"),
        (back((2, 5, 5, 2)), Invalid, "a batch of 1 with 2 channels to one of 2"),
        (back((1, 6, 5, 2)), Invalid, r"comes from an input of \[5, 4\], not \[4, 4\]"),
        (back("1552"), TypeError, "made of integers"),
        (lambda: nn.depthwise_conv2d(IMAGE, np.ones((2, 2, 3, 1), "float32"), 1, "SAME"), Invalid, "take 3 channels"),
        (lambda: nn.depthwise_conv2d(IMAGE[0], KERNEL, 1, "SAME"), Invalid, "must have 4 axes"),
        (lambda: nn.separable_conv2d(IMAGE, KERNEL, KERNEL, 1, "SAME"), Invalid, "pointwise_filter must be of shape"),
    ],
)  # fmt: skip
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("size", [(3, 3), (2, 5), (7, 7)])
@pytest.mark.parametrize(
    ("stride", "dilation", "padding", "multiplier"),
    [(1, 1, "SAME", 1), (2, 1, "SAME", 1), (2, 1, "VALID", 2), (1, 2, "SAME", 3)],
)
def test_compiled_depthwise_convolutions_are_the_eager_ones(size, stride, dilation, padding, multiplier):
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(2, 9, 8, 3)))
    filters = tf.constant(rng.normal(size=(*size, 3, multiplier)))

    def step(x, filters):
        with tf.GradientTape() as tape:
            tape.watch([x, filters])
            y = tf.nn.depthwise_conv2d(
                x, filters, [1, stride, stride, 1], padding, dilations=[dilation, dilation]
            )
            loss = tf.reduce_sum(tf.sin(y))
        return y, *tape.gradient(loss, [x, filters])

    for got, wanted in zip(tf.function(step)(x, filters), step(x, filters), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)
