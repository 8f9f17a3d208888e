"""Images: resizing, cutting, colours and similarity, against JAX, definitions, and numbers TensorFlow gave."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import gradtape as tf
from gradtape import image

rng = np.random.default_rng(0)


def pixels(*shape, dtype="float32"):
    return rng.uniform(size=shape).astype(dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Resizing

# What TensorFlow makes of the row 1 2 4 8 16, in 3 and in 8 pixels.
ROW = np.float32([1, 2, 4, 8, 16]).reshape(1, 5, 1)
RESIZED = [
    ("bilinear", False, [1.33333, 4.0, 13.33333]),
    ("bilinear", False, [1.0, 1.4375, 2.125, 3.375, 5.25, 7.75, 12.5, 16.0]),
    ("bilinear", True, [1.42857, 4.44444, 12.57143]),
    ("nearest", False, [1.0, 4.0, 16.0]),
    ("nearest", True, [1.0, 1.0, 2.0, 4.0, 4.0, 8.0, 16.0, 16.0]),
    ("bicubic", False, [1.20664, 4.0, 13.93366]),
    ("bicubic", False, [0.92804, 1.2941, 2.09387, 3.19373, 4.96802, 7.63647, 13.04304, 16.57565]),
    ("bicubic", True, [1.23077, 4.15814, 12.86154]),
    ("area", False, [1.4, 4.4, 12.8]),
    ("area", True, [1.0, 1.4, 2.0, 3.6, 4.8, 8.0, 12.8, 16.0]),
    ("lanczos3", False, [1.17054, 4.0, 14.10594]),
    ("lanczos3", False, [0.96025, 1.26876, 2.08156, 3.34433, 4.5687, 7.47434, 13.29271, 16.6925]),
    ("lanczos3", True, [1.22819, 3.93091, 13.01123]),
    ("lanczos5", False, [1.05068, 4.0, 14.16]),
    ("lanczos5", False, [0.97532, 1.09251, 2.18754, 3.85918, 4.06924, 7.38005, 13.40617, 16.74026]),
    ("lanczos5", True, [1.34295, 3.83044, 13.04891]),
    ("gaussian", False, [1.33924, 4.21301, 13.28605]),
    ("gaussian", False, [1.06009, 1.43782, 2.1893, 3.47746, 5.19904, 8.11578, 12.49741, 15.51931]),
    ("gaussian", True, [1.6344, 4.70895, 11.8348]),
    ("mitchellcubic", False, [1.26893, 4.11111, 13.58566]),
    ("mitchellcubic", False, [0.98593, 1.35706, 2.15005, 3.29195, 5.1049, 7.85745, 12.78177, 16.11253]),
    ("mitchellcubic", True, [1.41045, 4.41932, 12.36179]),
]


@pytest.mark.parametrize("method, antialias, wanted", RESIZED)
def test_resizing_gives_tensorflows_numbers(method, antialias, wanted):
    across = image.resize(ROW, (1, len(wanted)), method, antialias=antialias)
    assert_allclose(across[0, :, 0], wanted, atol=2e-5)
    down = image.resize(ROW.swapaxes(0, 1), (len(wanted), 1), method, antialias=antialias)
    assert_allclose(down[:, 0, 0], wanted, atol=2e-5)


@pytest.mark.parametrize("size", [(3, 14), (13, 2)])
@pytest.mark.parametrize("method, theirs", [
    ("bilinear", "linear"), ("bicubic", "cubic"), ("lanczos3", "lanczos3"), ("lanczos5", "lanczos5"),
])  # fmt: skip
@pytest.mark.parametrize("antialias", [False, True])
def test_resizing_is_jaxs(size, method, theirs, antialias):
    x = pixels(2, 5, 7, 3)
    wanted = jax.image.resize(x, (2, *size, 3), theirs, antialias=antialias)
    # TensorFlow rounds bicubic's distances to 1/1024 of a pixel.
    tolerance = 1e-3 if method == "bicubic" and not antialias else 2e-5
    assert_allclose(image.resize(x, size, method, antialias=antialias), wanted, atol=tolerance)


def test_the_gradient_of_resizing_spreads_what_it_gathered():
    x = tf.constant(pixels(1, 4, 4, 1))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = image.resize(x, (2, 2), "area")
    assert_allclose(tape.gradient(y, x), np.full((1, 4, 4, 1), 0.25))


def test_large_batches_are_resized_in_parts():
    x = pixels(3, 700, 500, 1)
    one_by_one = [image.resize(page, (300, 400), "lanczos3", antialias=True) for page in x]
    assert_allclose(image.resize(x, (300, 400), "lanczos3", antialias=True), one_by_one, atol=1e-6)


def test_nan_stays_where_it_is():
    x = np.ones((8, 8, 1), np.float32)
    x[0, 0] = np.nan
    resized = image.resize(x, (16, 16)).numpy()[..., 0]
    assert np.isnan(resized[:2, :2]).all()
    assert (resized[3:] == 1).all() and (resized[:, 3:] == 1).all()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_resizing_gives_float32_but_nearest_keeps_the_dtype(dtype):
    x = tf.cast(np.arange(12.0).reshape(3, 4, 1), dtype)
    assert image.resize(x, (5, 5)).dtype == "float32"
    near = image.resize(x, (6, 8), "nearest")
    assert near.dtype == dtype
    assert_allclose(tf.cast(near, "float64"), np.arange(12.0).reshape(3, 4, 1).repeat(2, 0).repeat(2, 1))


@pytest.mark.parametrize(
    "size, wanted", [((10, 10), (10, 7)), ((3, 20), (3, 2)), ((20, 3), (4, 3)), ((1, 1), (1, 1))]
)
def test_the_aspect_ratio_is_preserved(size, wanted):
    assert image.resize(pixels(7, 5, 2), size, preserve_aspect_ratio=True).shape == (*wanted, 2)


def test_resizing_into_padding():
    x = pixels(2, 4, 2, 1)
    padded = image.resize_with_pad(x, 4, 6).numpy()
    assert_allclose(padded[:, :, 2:4], x)
    assert not padded[:, :, [0, 1, 4, 5]].any()
    assert image.resize_with_pad(x, 3, 3, "nearest", antialias=True).shape == (2, 3, 3, 1)


# ---------------------------------------------------------------------------------------------------------------------
# Cutting, padding, turning


@pytest.mark.parametrize("target", [(3, 3), (9, 9), (4, 8), (5, 7), (6, 2)])
def test_the_middle_stays_in_the_middle(target):
    x = np.arange(1, 36).reshape(5, 7, 1)
    wanted = x
    for axis, n in enumerate(target):
        spare = n - wanted.shape[axis]
        if spare < 0:
            wanted = np.take(wanted, range(-spare // 2, -spare // 2 + n), axis)
        widths = [(0, 0)] * 3
        widths[axis] = (max(spare, 0) // 2, max(spare, 0) - max(spare, 0) // 2)
        wanted = np.pad(wanted, widths)
    assert_allclose(image.resize_with_crop_or_pad(x, *target), wanted)
    assert_allclose(image.resize_with_crop_or_pad(x[None], *target), wanted[None])


def test_boxes_are_cut_out_and_put_back():
    x = pixels(2, 5, 7, 3)
    cut = image.crop_to_bounding_box(x, 1, 2, 3, 4)
    assert_allclose(cut, x[:, 1:4, 2:6])
    back = image.pad_to_bounding_box(cut, 1, 2, 5, 7).numpy()
    assert_allclose(back[:, 1:4, 2:6], cut)
    assert back.sum() == pytest.approx(float(tf.reduce_sum(cut)), rel=1e-5)


@pytest.mark.parametrize("fraction, rows, columns", [(1.0, 9, 6), (0.5, 5, 4), (0.1, 1, 2), (0.875, 9, 6)])
def test_central_crops(fraction, rows, columns):
    x = pixels(9, 6, 1)
    top, left = (9 - rows) // 2, (6 - columns) // 2
    wanted = x[top : top + rows, left : left + columns]
    assert_allclose(image.central_crop(x, fraction), wanted)
    assert_allclose(image.central_crop(x[None], fraction), wanted[None])


@pytest.mark.parametrize("shape", [(3, 4, 2), (2, 3, 4, 2)])
def test_turning(shape):
    x = pixels(*shape)
    height, width = len(shape) - 3, len(shape) - 2
    assert_allclose(image.flip_left_right(x), np.flip(x, width))
    assert_allclose(image.flip_up_down(x), np.flip(x, height))
    assert_allclose(image.transpose(x), x.swapaxes(height, width))
    for k in range(-1, 6):
        assert_allclose(image.rot90(x, k), np.rot90(x, k, (height, width)))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (3, 3)])
@pytest.mark.parametrize("rate", [(1, 1), (2, 3)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_patches_are_windows(size, stride, rate, padding):
    x = pixels(2, 7, 8, 2)
    patches = image.extract_patches(x, [1, *size, 1], [1, *stride, 1], [1, *rate, 1], padding)
    for axis, (k, s, r) in enumerate(zip(size, stride, rate, strict=True), 1):
        reach, n = (k - 1) * r + 1, x.shape[axis]
        count = -(-n // s) if padding == "SAME" else (n - reach) // s + 1
        assert patches.shape[axis] == count
        missing = max(0, (count - 1) * s + reach - n) if padding == "SAME" else 0
        widths = [(0, 0)] * 4
        widths[axis] = (missing // 2, missing - missing // 2)
        x = np.pad(x, widths)
    for i, j in np.ndindex(*patches.shape[1:3]):
        top, left = i * stride[0], j * stride[1]
        window = x[:, top:, left:][:, : size[0] * rate[0] : rate[0], : size[1] * rate[1] : rate[1]]
        assert_allclose(patches[:, i, j], window.reshape(2, -1))


# ---------------------------------------------------------------------------------------------------------------------
# Boxes in fractions of an image


def test_crop_and_resize_gives_tensorflows_numbers():
    x = np.arange(12, dtype="float32").reshape(1, 3, 4, 1)
    boxes = [[0.0, 0.0, 1.0, 1.0], [0.25, 0.5, 0.75, 1.2]]
    found = image.crop_and_resize(x, boxes, [0, 0], (2, 3), extrapolation_value=-1.0)
    wanted = [[[0, 1.5, 3], [8, 9.5, 11]], [[3.5, 4.55, -1], [7.5, 8.55, -1]]]
    assert_allclose(found[..., 0], wanted, atol=1e-5)
    near = image.crop_and_resize(x.astype("uint8"), boxes, [0, 0], (2, 3), "nearest")
    assert near.dtype == "float32"
    assert_allclose(near[..., 0], [[[0, 2, 3], [8, 10, 11]], [[6, 7, 0], [10, 11, 0]]])
    assert image.crop_and_resize(x, np.zeros((0, 4), "float32"), [], (2, 3)).shape == (0, 2, 3, 1)
    assert (image.crop_and_resize(x, [[np.nan] * 4], [0], (2, 3), extrapolation_value=7.0).numpy() == 7).all()


def test_boxes_have_gradients():
    x = tf.constant(np.arange(12, dtype="float32").reshape(1, 3, 4, 1) ** 2)
    boxes = tf.constant([[0.25, 0.5, 0.75, 0.9]])
    with tf.GradientTape() as tape:
        tape.watch([x, boxes])
        y = image.crop_and_resize(x, boxes, [0], (2, 3))
    by_image, by_boxes = tape.gradient(y, [x, boxes])
    assert_allclose(by_boxes, [[196.8, 105.0, 388.8, 117.0]], rtol=1e-5)
    assert float(tf.reduce_sum(by_image)) == pytest.approx(6)  # each of the 6 is a mean


def test_a_single_pixel_is_the_middle_of_its_box():
    x = np.arange(9, dtype="float32").reshape(1, 3, 3, 1)
    assert_allclose(image.crop_and_resize(x, [[0.0, 0.0, 1.0, 0.5]], [0], (1, 1)), [[[[3.5]]]])


def test_non_max_suppression_takes_the_best_and_drops_what_overlaps():
    boxes = [
        [0, 0, 1, 1],
        [0, 0.1, 1, 1.1],
        [0, -0.1, 1, 0.9],
        [0, 10, 1, 11],
        [0, 10.1, 1, 11.1],
        [1, 101, 0, 100],
    ]
    scores = np.float32([0.9, 0.75, 0.6, 0.95, 0.5, 0.3])
    boxes = np.float32(boxes)
    assert image.non_max_suppression(boxes, scores, 6).numpy().tolist() == [3, 0, 5]
    assert image.non_max_suppression(boxes, scores, 2).numpy().tolist() == [3, 0]
    assert image.non_max_suppression(boxes, scores, 6, score_threshold=0.4).numpy().tolist() == [3, 0]
    assert image.non_max_suppression(boxes, scores, 6, 1.0).numpy().tolist() == [3, 0, 1, 2, 4, 5]
    assert image.non_max_suppression(boxes[:0], scores[:0], 6).numpy().tolist() == []
    order, left = image.non_max_suppression_with_scores(boxes, scores, 6, soft_nms_sigma=0.5)
    assert order.numpy().tolist() == [3, 0, 1, 5, 4, 2]  # TensorFlow's
    assert_allclose(left, [0.95, 0.9, 0.384004, 0.3, 0.256003, 0.196972], atol=1e-5)
    overlaps = np.float32([[1, 0.6, 0.1], [0.6, 1, 0.1], [0.1, 0.1, 1]])
    chosen = image.non_max_suppression_overlaps(overlaps, [0.1, 0.2, 0.3], 3)
    assert chosen.numpy().tolist() == [2, 1]


# ---------------------------------------------------------------------------------------------------------------------
# Colours

# What TensorFlow makes of (0.5, 0.2, 0.3), and of three pixels of bytes.
COLOURS = [
    ("rgb_to_hsv", [0.94444, 0.6, 0.5]),
    ("hsv_to_rgb", [0.24, 0.3, 0.3]),
    ("rgb_to_yiq", [0.3011, 0.14664, 0.09456]),
    ("yiq_to_rgb", [0.87744, 0.25144, 0.78992]),
    ("rgb_to_yuv", [0.3011, -0.00054, 0.17449]),
    ("yuv_to_rgb", [0.84196, 0.24688, 0.90641]),
]
BYTES = np.uint8([[[200, 100, 50], [10, 20, 30], [255, 0, 128]]])
ADJUSTED = [
    ("adjust_brightness", (0.3,), [[255, 176, 126], [86, 96, 106], [255, 76, 204]]),
    ("adjust_contrast", (0.5,), [[177, 70, 59], [82, 30, 49], [205, 20, 98]]),
    ("adjust_contrast", (3.0,), [[255, 220, 11], [0, 0, 0], [255, 0, 245]]),
    ("adjust_hue", (0.2,), [[120, 200, 50], [24, 10, 30], [255, 178, 0]]),
    ("adjust_hue", (-0.4,), [[50, 60, 200], [28, 30, 10], [0, 230, 255]]),
    ("adjust_saturation", (0.5,), [[200, 150, 125], [20, 25, 30], [255, 127, 191]]),
    ("adjust_saturation", (2.0,), [[200, 66, 0], [0, 15, 30], [255, 0, 128]]),
    ("adjust_gamma", (2.0, 0.8), [[125, 31, 7], [0, 1, 2], [204, 0, 51]]),
    ("rgb_to_grayscale", (), [[124], [18], [90]]),
]


@pytest.mark.parametrize("name, wanted", COLOURS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_colour_spaces(name, wanted, dtype):
    found = getattr(image, name)(tf.constant([0.5, 0.2, 0.3], dtype))
    assert found.dtype == dtype
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-5)
    assert_allclose(tf.cast(found, "float64"), wanted, atol=tolerance)


@pytest.mark.parametrize("name, arguments, wanted", ADJUSTED)
def test_adjusting_bytes(name, arguments, wanted):
    found = getattr(image, name)(BYTES, *arguments)
    assert found.dtype == "uint8"
    assert np.abs(found.numpy()[0].astype(int) - wanted).max() <= 1  # rounding falls either way at .5
    floating = getattr(image, name)(image.convert_image_dtype(BYTES, "float64"), *arguments)
    assert floating.dtype == "float64"


def test_grey_has_hue_and_saturation_0_and_finite_gradients():
    x = tf.constant([[0.3, 0.3, 0.3], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = image.rgb_to_hsv(x)
    assert_allclose(y[:, :2], np.zeros((3, 2)))
    assert np.isfinite(tape.gradient(y, x)).all()


def test_converting_images():
    def convert(values, source, to, **options):
        return image.convert_image_dtype(tf.constant(values, source), to, **options).numpy().tolist()

    assert convert([0, 51, 255], "uint8", "float32") == pytest.approx([0, 0.2, 1])
    assert convert([0.0, 0.2, 1.0], "float32", "uint8") == [0, 51, 255]
    assert convert([-0.5, 1.5], "float32", "uint8", saturate=True) == [0, 255]
    assert convert([0, 1, 255], "uint8", "uint16") == [0, 256, 65280]
    assert convert([0, 255, 65535], "uint16", "uint8") == [0, 0, 255]
    assert convert([127, 1], "int8", "uint8") == [254, 2]
    assert convert([-1, 127], "int8", "uint8", saturate=True) == [0, 254]
    assert convert([1.0, 2.0, -2.0], "float32", "int32", saturate=True) == [2147483520, 2147483520, -(2**31)]
    assert convert([0.5, 0.25], "float64", "float16") == [0.5, 0.25]
    assert image.convert_image_dtype(np.uint8([1]), "uint8").numpy().tolist() == [1]


def test_converting_between_floating_dtypes_passes_gradients():
    x = tf.constant([0.5], "float64")
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = image.convert_image_dtype(x, "float32")
    assert tape.gradient(y, x).numpy().tolist() == [1.0]


# ---------------------------------------------------------------------------------------------------------------------
# At random: TensorFlow's decisions, by the same seeds

STATELESS = [
    (
        (1, 2),
        [[4, 5], [10, 11]],
        [1, 2, 5, 6],
        0.70644,
        [0.10458, 0.89542],
        [1, 0.60458, 0.60458],
        [0.67425, 1, 0.5],
    ),
    (
        (3, 4),
        [[0, 1], [6, 7]],
        [0, 3, 4, 6],
        0.34597,
        [0.31485, 0.68515],
        [1, 0.81485, 0.81485],
        [0.88389, 0.5, 1],
    ),
]


@pytest.mark.parametrize("seed, crop, flips, brightness, contrast, saturation, hue", STATELESS)
def test_the_same_seed_decides_the_same(seed, crop, flips, brightness, contrast, saturation, hue):
    assert image.stateless_random_crop(np.arange(30).reshape(5, 6), (2, 2), seed).numpy().tolist() == crop
    batch = np.arange(8).reshape(4, 1, 2, 1)
    assert image.stateless_random_flip_left_right(batch, seed).numpy()[:, 0, 0, 0].tolist() == flips
    assert (
        image.stateless_random_flip_up_down(batch.swapaxes(1, 2), seed).numpy()[:, 0, 0, 0].tolist() == flips
    )
    assert_allclose(image.stateless_random_brightness([0.5], 0.3, seed), [brightness], atol=1e-5)
    pair, pink = np.float32([0, 1]).reshape(1, 2, 1), np.float32([[[1, 0.5, 0.5]]])
    assert_allclose(image.stateless_random_contrast(pair, 0.2, 0.9, seed)[0, :, 0], contrast, atol=1e-5)
    assert_allclose(image.stateless_random_saturation(pink, 0.2, 0.9, seed)[0, 0], saturation, atol=1e-5)
    assert_allclose(image.stateless_random_hue(pink, 0.4, seed)[0, 0], hue, atol=1e-5)


def test_the_global_seed_decides_the_rest():
    tf.random.set_seed(5)
    assert image.random_crop(np.arange(30).reshape(5, 6), (2, 2)).numpy().tolist() == [[22, 23], [28, 29]]
    batch = np.arange(8).reshape(4, 2, 1, 1)
    assert image.random_flip_up_down(batch).numpy()[:, 0, 0, 0].tolist() == [1, 2, 5, 6]
    assert_allclose(image.random_brightness([0.5], 0.3, seed=3), [0.37321], atol=1e-5)


def test_random_changes_stay_within_their_bounds():
    x = pixels(1, 1, 3)
    for seed in range(20):
        assert abs(image.random_brightness(x, 0.1, seed) - x).numpy().max() <= 0.1 + 1e-6
        assert np.asarray(image.random_flip_left_right(ROW, seed)).sum() == 31
        image.random_contrast(x, 0.5, 1.5, seed), image.random_saturation(x, 0.5, 1.5, seed)
        spread = np.ptp(image.random_hue(x, 0.5, seed).numpy())
        assert spread == pytest.approx(np.ptp(x), abs=1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# Similarity

_number = np.arange(2 * 16 * 16).reshape(2, 16, 16, 1)
FIRST = np.float32(_number * 7919 % 256 / 255)
SECOND = FIRST * 0.7 + np.float32(_number * 104729 % 256 / 255) * 0.3


def test_similarity_gives_tensorflows_numbers():
    first, second = np.uint8(FIRST * 255), np.uint8(SECOND * 255)
    assert_allclose(image.ssim(FIRST, SECOND, 1.0), [0.88277] * 2, atol=1e-5)
    assert_allclose(image.ssim(first, second, 255), [0.88324] * 2, atol=1e-5)
    assert_allclose(image.ssim_multiscale(FIRST, SECOND, 1.0, (0.5, 0.5), 5), [0.84553] * 2, atol=1e-5)
    assert_allclose(image.psnr(FIRST, SECOND, 1.0), [18.20059] * 2, atol=1e-4)
    assert_allclose(image.psnr(first, second, 255), [18.2003] * 2, atol=1e-4)


def test_similarity_broadcasts_batches():
    both = image.ssim(FIRST, SECOND[:1], 1.0)
    assert both.shape == (2,)
    assert_allclose(both[0], image.ssim(FIRST[0], SECOND[0], 1.0), atol=1e-6)
    assert image.psnr(FIRST, SECOND[0], 1.0).shape == (2,)


def test_the_map_of_similarities_has_the_similarity_as_mean():
    places = image.ssim(FIRST, SECOND, 1.0, return_index_map=True)
    assert places.shape == (2, 6, 6)
    assert_allclose(tf.reduce_mean(places, (1, 2)), image.ssim(FIRST, SECOND, 1.0), atol=1e-6)


@pytest.mark.parametrize("measure", [
    lambda x, y: image.ssim(x, y, 1.0),
    lambda x, y: image.ssim_multiscale(x, y, 1.0, (0.5, 0.5), 5),
    lambda x, y: image.psnr(x, y, 1.0),
])  # fmt: skip
def test_similarity_has_the_gradient_that_differences_have(measure):
    x = tf.constant(FIRST[:1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = measure(x, SECOND[:1])
    slope = tape.gradient(y, x).numpy()
    direction = rng.normal(size=FIRST[:1].shape).astype("float32")
    ends = [float(measure(FIRST[:1] + s * direction, SECOND[:1])[0]) for s in (3e-3, -3e-3)]
    assert (slope * direction).sum() == pytest.approx((ends[0] - ends[1]) / 6e-3, rel=2e-2)


def test_equal_images_have_infinite_psnr_and_gradient_0():
    x = tf.constant(FIRST)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = image.psnr(x, FIRST, 1.0)
    assert np.isinf(y).all()
    assert not np.asarray(tape.gradient(y, x)).any()


def test_opposite_images_have_multiscale_similarity_0_and_gradient_0():
    x = tf.constant(FIRST)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = image.ssim_multiscale(x, 1 - FIRST, 1.0, (0.5, 0.5), 5)
    assert y.numpy().tolist() == [0, 0]
    assert not np.asarray(tape.gradient(y, x)).any()


# ---------------------------------------------------------------------------------------------------------------------
# What there is to see


def test_differences_of_neighbours():
    x = pixels(2, 4, 5, 3)
    down, across = np.diff(x, axis=1), np.diff(x, axis=2)
    wanted = np.abs(down).sum((1, 2, 3)) + np.abs(across).sum((1, 2, 3))
    assert_allclose(image.total_variation(x), wanted, rtol=1e-5)
    assert_allclose(image.total_variation(x[0]), wanted[0], rtol=1e-5)
    dy, dx = image.image_gradients(x)
    assert_allclose(dy, np.pad(down, [(0, 0), (0, 1), (0, 0), (0, 0)]))
    assert_allclose(dx, np.pad(across, [(0, 0), (0, 0), (0, 1), (0, 0)]))


def test_sobel_edges_of_a_ramp():
    x = np.broadcast_to(np.arange(5.0)[:, None], (5, 4)).reshape(1, 5, 4, 1)
    edges = image.sobel_edges(x).numpy()
    assert_allclose(edges[0, 1:-1, :, 0, 0], 8)
    assert_allclose(edges[0, [0, -1], :, 0, 0], 0)  # mirrored there
    assert_allclose(edges[..., 1], 0)
    assert image.sobel_edges(x.astype("float16")).dtype == "float16"


def test_standardization():
    x = pixels(2, 4, 5, 3)
    found = image.per_image_standardization(x).numpy()
    assert_allclose(found.mean((1, 2, 3)), 0, atol=1e-6)
    assert_allclose(found.std((1, 2, 3)), 1, rtol=1e-5)
    assert image.per_image_standardization(BYTES).dtype == "float32"
    flat = image.per_image_standardization(np.ones((3, 3, 1), "float32"))
    assert not flat.numpy().any()


@pytest.mark.parametrize("call, shape", [
    (lambda x: image.resize(x, (2, 2)), (0, 2, 2, 3)),
    (lambda x: image.resize(x, (2, 2), "nearest"), (0, 2, 2, 3)),
    (lambda x: image.flip_left_right(x), (0, 4, 5, 3)),
    (lambda x: image.random_flip_up_down(x), (0, 4, 5, 3)),
    (lambda x: image.rgb_to_hsv(x), (0, 4, 5, 3)),
    (lambda x: image.adjust_contrast(x, 2.0), (0, 4, 5, 3)),
    (lambda x: image.adjust_saturation(x, 2.0), (0, 4, 5, 3)),
    (lambda x: image.rgb_to_grayscale(x), (0, 4, 5, 1)),
    (lambda x: image.sobel_edges(x), (0, 4, 5, 3, 2)),
    (lambda x: image.total_variation(x), (0,)),
    (lambda x: image.ssim(x, x, 1.0, 3), (0,)),
    (lambda x: image.per_image_standardization(x), (0, 4, 5, 3)),
    (lambda x: image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"), (0, 3, 4, 12)),
])  # fmt: skip
def test_empty_batches_work(call, shape):
    x = tf.zeros((0, 4, 5, 3))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
    assert y.shape == shape
    assert tape.gradient(y, x).shape == x.shape


# ---------------------------------------------------------------------------------------------------------------------
# What is refused

_x = np.zeros((4, 5, 3), np.float32)
_b = np.zeros((1, 4), np.float32)


@pytest.mark.parametrize("call, kind, message", [
    (lambda: image.resize(_x[0], (2, 2)), ValueError, r"resize: an image has shape .* not \[5, 3\]"),
    (lambda: image.resize(_x, (2,)), ValueError, r"size must be a height and a width of at least 1, not \[2\]"),
    (lambda: image.resize(_x, (0, 2)), ValueError, "size must be a height and a width"),
    (lambda: image.resize(_x, (2.0, 2.0)), TypeError, "made of integers"),
    (lambda: image.resize(_x, (2, 2), "cubic"), ValueError, "method must be 'bilinear', .* not 'cubic'"),
    (lambda: image.resize(_x[:0], (2, 2)), ValueError, "has no pixels"),
    (lambda: image.resize_with_pad(_x, 0, 2), ValueError, "target_.* must be at least 1"),
    (lambda: image.resize_with_crop_or_pad(_x, 2, -1), ValueError, "target_.* must be at least 1"),
    (lambda: image.crop_to_bounding_box(_x, 3, 0, 2, 2), ValueError, r"2 x 2 pixels from \(3, 0\) on do not lie"),
    (lambda: image.crop_to_bounding_box(_x, -1, 0, 2, 2), ValueError, "offset_height must be at least 0"),
    (lambda: image.pad_to_bounding_box(_x, 0, 1, 4, 5), ValueError, r"at \(0, 1\) does not lie in 4 x 5"),
    (lambda: image.central_crop(_x, 0.0), ValueError, r"central_fraction must lie in \(0, 1\], not 0.0"),
    (lambda: image.central_crop(_x, 1.5), ValueError, "central_fraction"),
    (lambda: image.flip_left_right(_x[0]), ValueError, "flip_left_right: an image has shape"),
    (lambda: image.rot90(_x, 1.5), TypeError, "k must be one integer"),
    (lambda: image.random_crop(_x, (9, 1, 1)), ValueError, "a length up to it"),
    (lambda: image.random_crop(_x, (1, 1)), ValueError, "random_crop: size must hold"),
    (lambda: image.extract_patches(_x, [1, 2, 2, 1], [1] * 4, [1] * 4, "SAME"), ValueError, "images must have shape"),
    (lambda: image.extract_patches([_x], [2, 2], [1] * 4, [1] * 4, "SAME"), ValueError, r"sizes must be \[1, rows"),
    (lambda: image.extract_patches([_x], [1] * 4, [1] * 4, [1] * 4, "FULL"), ValueError, "padding must be"),
    (lambda: image.crop_and_resize(_x, _b, [0], (2, 2)), ValueError, r"images must have shape \(batch"),
    (lambda: image.crop_and_resize([_x], _b[:, :3], [0], (2, 2)), ValueError, r"boxes must have shape \(n, 4\)"),
    (lambda: image.crop_and_resize([_x], _b, [1], (2, 2)), IndexError, "index 1 is out of bounds"),
    (lambda: image.crop_and_resize([_x], _b, [0], (2, 0)), ValueError, "crop_size"),
    (lambda: image.crop_and_resize([_x], _b, [0], (2, 2), "area"), ValueError, "'bilinear' or 'nearest', not 'area'"),
    (lambda: image.crop_and_resize([_x], tf.zeros((1, 4), "float64"), [0], (2, 2)), TypeError, "boxes must be float32"),
    (lambda: image.non_max_suppression(_b, [1.0, 2.0], 1), ValueError, "scores must be 1 numbers"),
    (lambda: image.non_max_suppression(_b[0], [1.0], 1), ValueError, "boxes must have shape"),
    (lambda: image.non_max_suppression(_b, [1.0], 1, 1.5), ValueError, r"iou_threshold must lie in \[0, 1\]"),
    (lambda: image.non_max_suppression_overlaps(_b, [1.0], 1), ValueError, "square matrix"),
    (lambda: image.convert_image_dtype(_x, "bool"), TypeError, "floating or integer dtype, not bool"),
    (lambda: image.convert_image_dtype([1j], "uint8"), TypeError, "not complex"),
    (lambda: image.adjust_contrast(_x[0], 2.0), ValueError, "at least 3 axes"),
    (lambda: image.adjust_gamma(_x, -1.0), ValueError, "gamma must not be negative"),
    (lambda: image.adjust_hue(_x, 1.5), ValueError, "delta must lie between -1 and 1"),
    (lambda: image.adjust_hue(_x[..., :2], 0.5), ValueError, "the last of length 3"),
    (lambda: image.adjust_saturation(_x[0], 0.5), ValueError, "at least 3 axes"),
    (lambda: image.rgb_to_hsv(BYTES), TypeError, "floating images, not uint8"),
    (lambda: image.rgb_to_yiq(BYTES), TypeError, "floating images, not uint8"),
    (lambda: image.rgb_to_grayscale(_x[..., :2]), ValueError, "the last of length 3"),
    (lambda: image.grayscale_to_rgb(_x), ValueError, "the last of length 1"),
    (lambda: image.random_brightness(_x, -0.1), ValueError, "max_delta must not be negative"),
    (lambda: image.random_hue(_x, 0.6), ValueError, "nor above 0.5"),
    (lambda: image.random_contrast(_x, 0.5, 0.5), ValueError, "0 <= lower < upper"),
    (lambda: image.random_saturation(_x, -0.5, 0.5), ValueError, "0 <= lower < upper"),
    (lambda: image.per_image_standardization(_x[0]), ValueError, "an image has shape"),
    (lambda: image.total_variation(_x[0]), ValueError, "an image has shape"),
    (lambda: image.total_variation(BYTES), TypeError, "does not take dtype uint8"),
    (lambda: image.image_gradients(_x), ValueError, "images must have shape"),
    (lambda: image.sobel_edges(_x), ValueError, "images must have shape"),
    (lambda: image.sobel_edges(_x[None, :1]), ValueError, "1 x 5 pixels cannot be mirrored"),
    (lambda: image.sobel_edges(BYTES[None].repeat(2, 1)), TypeError, "takes floating images, not uint8"),
    (lambda: image.psnr(_x, _x[:2], 1.0), ValueError, r"same height, width and channels.*\[4, 5, 3\] and \[2, 5, 3\]"),
    (lambda: image.ssim(_x, _x, 1.0), ValueError, "filter_size 11 does not fit into an image of 4 x 5 pixels"),
    (lambda: image.ssim(_x, _x, 1.0, 3, 0.0), ValueError, "filter_sigma must be positive"),
    (lambda: image.ssim_multiscale(_x, _x, 1.0, 0.5), ValueError, "power_factors must be a list of numbers, not 0.5"),
    (lambda: image.ssim_multiscale(_x, _x, 1.0, filter_size=3), ValueError, "filter_size 3 does not fit"),
])  # fmt: skip
def test_bad_input_is_refused_with_a_reason(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
