"""Signals: transforms against NumPy's and SciPy's, frames, windows, and what is refused."""

import numpy as np
import pytest
import scipy.fft
import scipy.signal
from numpy.testing import assert_allclose

import gradtape as tf
from gradtape import signal

rng = np.random.default_rng(0)


def reals(*shape, dtype="float64"):
    return rng.normal(size=shape).astype(dtype)


def complexes(*shape, dtype="complex128"):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Fourier transforms


@pytest.mark.parametrize("name, reference", [
    ("fft", np.fft.fft), ("ifft", np.fft.ifft), ("fft2d", np.fft.fft2), ("ifft2d", np.fft.ifft2),
    ("fft3d", lambda x: np.fft.fftn(x, axes=(-3, -2, -1))), ("ifft3d", lambda x: np.fft.ifftn(x, axes=(-3, -2, -1))),
])  # fmt: skip
@pytest.mark.parametrize(
    "shape", [(2, 3, 8), (2, 2, 3, 5), (1, 1, 1), (9, 33, 17)]
)  # the last is transformed by SciPy
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_transforms_of_complex_numbers_are_numpys(name, reference, shape, dtype):
    x = complexes(*shape, dtype=dtype)
    out = getattr(signal, name)(tf.constant(x))
    assert out.dtype == dtype
    assert_allclose(out, reference(x.astype(complex)), atol=2e-3 if dtype == "complex64" else 1e-10)


@pytest.mark.parametrize("name, rank", [("rfft", 1), ("rfft2d", 2), ("rfft3d", 3)])
@pytest.mark.parametrize("lengths", [None, (4, 2, 6), (1, 5, 3), (5, 5, 9)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_transforms_of_real_numbers_and_back_are_numpys(name, rank, lengths, dtype):
    x = reals(2, 3, 4, 5, dtype=dtype)
    given = None if lengths is None else lengths[-rank:]
    axes = tuple(range(-rank, 0))
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    half = getattr(signal, name)(tf.constant(x), given)
    assert half.dtype == {"float32": "complex64", "float64": "complex128"}[dtype]
    assert_allclose(half, np.fft.rfftn(x, given, axes), atol=tolerance)
    back = getattr(signal, "i" + name)(half, given)
    assert back.dtype == dtype
    assert_allclose(back, np.fft.irfftn(half, given, axes), atol=tolerance)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("axes, lengths", [(None, None), ([1], [3]), ([2, 0], [5, 2]), ([-1, 1], None)])
def test_transforms_over_any_axes_are_numpys(norm, axes, lengths):
    z, x = complexes(2, 3, 4), reals(2, 3, 4)
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        given = x if name == "rfftn" else z
        out = getattr(signal, name + "d")(tf.constant(given), lengths, axes, norm)
        assert_allclose(out, getattr(np.fft, name)(given, lengths, axes, norm), atol=1e-12)


@pytest.mark.parametrize("axes", [None, 0, -1, [0, 2]])
def test_shifting_is_numpys(axes):
    x = reals(3, 4, 5)
    assert_allclose(signal.fftshift(x, axes), np.fft.fftshift(x, axes))
    assert_allclose(signal.ifftshift(x, axes), np.fft.ifftshift(x, axes))


def test_what_is_no_tensor_becomes_float32_and_complex64():
    assert signal.rfft([1, 2, 3]).dtype == signal.rfft(np.zeros(3)).dtype == "complex64"
    assert signal.irfft([1 + 0j, 2, 3]).dtype == signal.irfft(np.zeros(3, complex)).dtype == "float32"
    assert signal.fft([1.0, 2.0]).dtype == signal.fft(np.zeros(3, complex)).dtype == "complex64"


@pytest.mark.parametrize("call, shape", [
    (lambda: signal.fft(np.zeros((0, 3), complex)), (0, 3)),
    (lambda: signal.ifft(np.zeros((3, 0), complex)), (3, 0)),
    (lambda: signal.rfft(np.zeros((0, 4))), (0, 3)),
    (lambda: signal.rfft(np.zeros((3, 0))), (3, 0)),
    (lambda: signal.rfft(np.zeros((3, 0)), [4]), (3, 3)),
    (lambda: signal.irfft(np.zeros((0, 3), complex)), (0, 4)),
    (lambda: signal.irfft(np.zeros((2, 1), complex)), (2, 0)),
    (lambda: signal.dct(np.zeros((0, 3))), (0, 3)),
    (lambda: signal.frame(np.zeros(0), 3, 1, pad_end=True), (0, 3)),
    (lambda: signal.frame(np.zeros(2), 3, 1), (0, 3)),
    (lambda: signal.overlap_and_add(np.zeros((0, 3)), 2), (1,)),
    (lambda: signal.stft(np.zeros((0, 8)), 4, 2), (0, 3, 3)),
    (lambda: signal.hann_window(0), (0,)),
])  # fmt: skip
def test_empty_signals_work(call, shape):
    assert call().shape == shape


def test_a_convolution_by_fourier_transforms_has_the_gradient_of_the_sum():
    x, kernel = tf.constant(reals(5000, dtype="float32")), tf.constant(reals(5000, dtype="float32"))
    with tf.GradientTape() as tape:
        tape.watch([x, kernel])
        y = signal.irfft(signal.rfft(x) * signal.rfft(kernel))
    weights = reals(5000, dtype="float32")
    dx, dk = tape.gradient(y, [x, kernel], weights)

    def correlated(other):  # in float64
        return np.fft.irfft(np.fft.rfft(weights.astype(float)) * np.fft.rfft(np.asarray(other, float)).conj())

    assert_allclose(dx, correlated(kernel), atol=2e-3)
    assert_allclose(dk, correlated(x), atol=2e-3)


def test_a_cut_off_transform_has_a_gradient():
    # TensorFlow's rules assume that nothing was cut off.
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.real(signal.rfft(x, [2]))
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 0.0, 0.0]


# ---------------------------------------------------------------------------------------------------------------------
# Cosine transforms


@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("n", [None, 3, 8])
def test_cosine_transforms_are_scipys(type, norm, n):
    x = reals(2, 5)
    if (type, norm) == (1, "ortho"):
        with pytest.raises(ValueError, match="norm of type 1 must be None, not 'ortho'"):
            signal.dct(x, type, norm=norm)
        return
    assert_allclose(signal.dct(x, type, n, norm=norm), scipy.fft.dct(x, type, n, norm=norm), atol=1e-12)
    inverse = {2: 3, 3: 2}.get(type, type)
    assert_allclose(signal.idct(x, type, n, norm=norm), scipy.fft.dct(x, inverse, n, norm=norm), atol=1e-12)


@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("window", [signal.vorbis_window, signal.kaiser_bessel_derived_window, None])
def test_the_inverse_mdct_gives_the_signal_back(norm, window):
    x = reals(2, 40, dtype="float32")
    back = signal.inverse_mdct(signal.mdct(x, 8, window, norm=norm), window, norm)
    assert_allclose(back[:, 4:-4], x[:, 4:-4], atol=1e-5)


def test_mdct_gives_tensorflows_numbers():
    x = np.float32([1, 2, 4, 8, 16, 8, 4, 2])
    assert_allclose(
        signal.mdct(x, 4), [[-11.8828, -1.2001], [-37.4195, -0.612], [-11.2084, 4.3218]], atol=1e-4
    )
    assert_allclose(
        signal.mdct(x, 4, None, norm="ortho"),
        [[-8.11, -2.5939], [-16.7611, -3.8812], [-1.7549, -6.8498]],
        atol=1e-4,
    )


# ---------------------------------------------------------------------------------------------------------------------
# Frames and windows


@pytest.mark.parametrize("length, step", [(3, 1), (3, 2), (2, 3), (5, 4), (11, 1), (1, 1)])
@pytest.mark.parametrize("pad_end", [False, True])
def test_frames(length, step, pad_end):
    x = np.arange(11)
    padded = np.concatenate([x, np.full(length, -1)])
    starts = range(0, 11 if pad_end else 11 - length + 1, step)
    wanted = [padded[s : s + length] for s in starts]
    assert signal.frame(x, length, step, pad_end, -1).numpy().tolist() == np.array(wanted).tolist()


def test_frames_along_another_axis():
    x = reals(2, 7, 3)
    wanted = np.moveaxis(signal.frame(np.moveaxis(x, 1, -1), 3, 2).numpy(), (-2, -1), (1, 2))
    assert_allclose(signal.frame(x, 3, 2, axis=1), wanted)
    assert_allclose(signal.frame(x, 3, 2, axis=-2), wanted)


@pytest.mark.parametrize(
    "count, length, step", [(4, 3, 1), (2, 5, 1), (5, 3, 2), (3, 2, 4), (1, 3, 1), (3, 4, 4)]
)
def test_overlapping_frames_add_up(count, length, step):
    frames = reals(2, count, length)
    wanted = np.zeros((2, length + step * (count - 1)))
    for i in range(count):
        wanted[:, i * step : i * step + length] += frames[:, i]
    assert_allclose(signal.overlap_and_add(frames, step), wanted)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_windows(n, dtype):
    tolerance = {"float16": 5e-3, "bfloat16": 5e-2, "float32": 1e-6, "float64": 1e-7}[dtype]

    def check(window, wanted):
        assert window.dtype == dtype
        assert_allclose(tf.cast(window, "float64"), wanted, atol=tolerance)

    even = n % 2 == 0
    check(signal.hann_window(n, dtype=dtype), scipy.signal.windows.hann(n, sym=not even))
    check(signal.hann_window(n, False, dtype), scipy.signal.windows.hann(n))
    check(signal.hamming_window(n, dtype=dtype), scipy.signal.windows.hamming(n, sym=not even))
    check(signal.kaiser_window(n, 8.0, dtype=dtype), scipy.signal.windows.kaiser(n, 8.0))
    if even:
        check(
            signal.kaiser_bessel_derived_window(n, 4.0, dtype=dtype),
            scipy.signal.windows.kaiser_bessel_derived(n, 4.0),
        )
    rise = np.sin(np.pi / n * (np.arange(n) + 0.5))
    check(signal.vorbis_window(n, dtype=dtype), np.sin(np.pi / 2 * rise**2))


def test_a_kaiser_window_has_a_gradient_by_beta():
    beta = tf.constant(3.0, "float64")
    with tf.GradientTape() as tape:
        tape.watch(beta)
        window = signal.kaiser_window(5, beta, "float64")
    slope = tape.jacobian(window, beta)
    step = 1e-6
    sides = [scipy.signal.windows.kaiser(5, 3.0 + s) for s in (step, -step)]
    assert_allclose(slope, (sides[0] - sides[1]) / (2 * step), atol=1e-8)


# ---------------------------------------------------------------------------------------------------------------------
# Spectrograms


def test_stft_gives_tensorflows_numbers():
    x = np.float32([1, 2, 4, 8, 16, 8, 4, 2])
    wanted = [[9, -4 + 3j, -1], [24, -16, 8], [9, -4 - 3j, -1]]
    assert_allclose(signal.stft(x, 4, 2), wanted, atol=1e-5)
    assert signal.stft(x, 5, 2).shape == (2, 5)  # of 8 points, the power of two above 5
    assert signal.stft(x, 5, 2, pad_end=True).shape == (4, 5)
    assert signal.stft(x, 5, 2, fft_length=3, window_fn=None).shape == (2, 2)


@pytest.mark.parametrize("length, step, fft_length", [(8, 4, None), (8, 2, None), (6, 3, 16), (7, 3, None)])
@pytest.mark.parametrize("window", [signal.hann_window, signal.hamming_window])
def test_the_inverse_stft_gives_the_signal_back(length, step, fft_length, window):
    x = reals(2, 50)
    spectrum = signal.stft(x, length, step, fft_length, window)
    inverse = signal.inverse_stft_window_fn(step, window)
    back = signal.inverse_stft(spectrum, length, step, fft_length, inverse).numpy()
    inner = slice(length, back.shape[-1] - length)
    assert_allclose(back[:, inner], x[:, inner], atol=1e-10)


def test_the_inverse_window_is_0_where_all_windows_are():
    assert signal.inverse_stft_window_fn(2)(5, tf.float32).numpy().tolist() == [0, 1, 1, 1, 0]


def test_the_mel_matrix_is_tensorflows():
    wanted = np.zeros((6, 3))
    wanted[1] = [0.35816, 0.64184, 0]
    wanted[2] = [0, 0.24174, 0.75826]
    wanted[3, 2] = 0.46212
    assert_allclose(signal.linear_to_mel_weight_matrix(3, 6, 8000, 100.0, 3000.0), wanted, atol=1e-5)
    assert signal.linear_to_mel_weight_matrix(dtype="float64").dtype == "float64"


def test_mfccs_are_cosine_transforms():
    x = reals(2, 3, 20, dtype="float32")
    wanted = scipy.fft.dct(x, norm="ortho")
    wanted[..., 0] *= np.sqrt(2)
    assert_allclose(signal.mfccs_from_log_mel_spectrograms(x), wanted, atol=1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# What is refused

_x, _z = tf.zeros(4), tf.zeros(4, "complex64")


@pytest.mark.parametrize("call, kind, message", [
    (lambda: signal.fft(_x), TypeError, "fft takes complex64 or complex128 tensors, not float32.*rfft"),
    (lambda: signal.fft2d(_z), ValueError, r"fft2d transforms the last 2 axes; .* \[4\] has 1"),
    (lambda: signal.irfft(_x), TypeError, "irfft takes complex"),
    (lambda: signal.rfft(_z), TypeError, "rfft takes float32 or float64 tensors, not complex64"),
    (lambda: signal.rfft(tf.range(4)), TypeError, "rfft takes float32 or float64 tensors, not int32"),
    (lambda: signal.rfft(tf.cast(_x, "float16")), TypeError, "not float16"),
    (lambda: signal.rfft(_x, [3, 3]), ValueError, r"fft_length must hold 1 length of at least 0, not \[3, 3\]"),
    (lambda: signal.rfft(_x, [-1]), ValueError, "fft_length must hold"),
    (lambda: signal.fftnd(_z, axes=[0, 0]), ValueError, "each only once"),
    (lambda: signal.fftnd(_z, axes=[1]), IndexError, "axis 1 is out of range"),
    (lambda: signal.fftnd(_z, norm="best"), ValueError, "norm must be .* not 'best'"),
    (lambda: signal.fftshift(_x, axes=3), IndexError, "fftshift: axis 3"),
    (lambda: signal.frame(_x, 0, 1), ValueError, "frame_length must be at least 1, not 0"),
    (lambda: signal.frame(_x, 2, 0), ValueError, "frame_step must be at least 1, not 0"),
    (lambda: signal.frame(_x, 2.0, 1), TypeError, "frame_length must be one integer, not 2.0"),
    (lambda: signal.frame(1.0, 2, 1), ValueError, "rank 1 or more"),
    (lambda: signal.frame(_x, 2, 1, axis=1), IndexError, "frame: axis 1"),
    (lambda: signal.overlap_and_add(_x, 1), ValueError, "rank 2 or more"),
    (lambda: signal.overlap_and_add([_x], 1.5), TypeError, "frame_step must be one integer"),
    (lambda: signal.hann_window([3]), TypeError, "window_length must be one integer"),
    (lambda: signal.hann_window(-1), ValueError, "window_length must be at least 0"),
    (lambda: signal.hamming_window(3, dtype="int32"), TypeError, "dtype must be floating, not int32"),
    (lambda: signal.stft(_x, 2, 1, window_fn=3), TypeError, "window_fn must be a function .* not 3"),
    (lambda: signal.stft(1.0, 2, 1), ValueError, "stft: needs a tensor of rank 1"),
    (lambda: signal.inverse_stft(_z, 2, 1), ValueError, "inverse_stft: needs a tensor of rank 2"),
    (lambda: signal.dct(_x, 5), ValueError, "type must be 1, 2, 3 or 4, not 5"),
    (lambda: signal.dct(_x, norm="max"), ValueError, "norm must be None or 'ortho', not 'max'"),
    (lambda: signal.dct(_x, axis=0), NotImplementedError, "axis must be -1"),
    (lambda: signal.dct(_x, n=0), ValueError, "n must be at least 1"),
    (lambda: signal.dct(_x[:1], 1), ValueError, "type 1 needs a length of at least 2"),
    (lambda: signal.dct(_z), TypeError, "dct takes float32 or float64"),
    (lambda: signal.mdct(_x, 6), ValueError, "frame_length must be a multiple of 4, not 6"),
    (lambda: signal.inverse_mdct([_x[:3]]), ValueError, "multiple of 2, not of length 3"),
    (lambda: signal.linear_to_mel_weight_matrix(0), ValueError, "num_mel_bins must be at least 1"),
    (lambda: signal.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0), ValueError, "5000 <= 4000"),
    (lambda: signal.linear_to_mel_weight_matrix(lower_edge_hertz=-1.0), ValueError, "0 <= -1"),
    (lambda: signal.mfccs_from_log_mel_spectrograms(np.zeros((2, 0))), ValueError, "at least one mel bin"),
])  # fmt: skip
def test_bad_input_is_refused_with_a_reason(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
