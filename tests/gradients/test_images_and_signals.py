"""Functions of images and signals that are made of several primitives: their values and derivatives, against JAX."""

import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from gradtape import image, signal

from . import checks
from .composed import on, on_each
from .entries import fraction
from .samples_signal import _cosines, _overlap_add

# ---------------------------------------------------------------------------------------------------------------------
# Signals


def _frames(x, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1):
    x = jnp.moveaxis(x, axis, -1)
    n = x.shape[-1]
    starts = np.arange(0, n if pad_end else n - frame_length + 1, frame_step)
    fill = jnp.full((*x.shape[:-1], frame_length), pad_value)
    rows = jnp.concatenate([x, fill], -1)[..., starts[:, None] + np.arange(frame_length)]
    return rows if axis == -1 else jnp.moveaxis(rows, (-2, -1), (axis, axis + 1))


def _hann(n):
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n if n % 2 == 0 else n - 1))


def _stft(x, frame_length, frame_step, fft_length, pad_end=False):
    rows = _frames(x, frame_length, frame_step, pad_end)
    return jnp.fft.rfft(rows * _hann(frame_length), fft_length)


def _inverse_stft(x, frame_length, frame_step, fft_length):
    rows = jnp.fft.irfft(x, fft_length)[..., :frame_length] * _hann(frame_length)
    size = frame_length + frame_step * (x.shape[-2] - 1)
    return _overlap_add(rows, step=frame_step, size=size)


def _mdct(x, frame_length):
    n = frame_length // 2
    rows = _frames(x, frame_length, n) / np.sqrt(2)
    k, j = np.arange(n)[:, None], np.arange(2 * n)
    return rows @ (2 * np.cos(np.pi / n * (j + 0.5 + n / 2) * (k + 0.5))).T


def _spectrum(x):
    return tf.abs(signal.rfft(x, [6]))


SIGNALS = {
    "fft": [
        on(signal.rfft, lambda x, fft_length: jnp.fft.rfft(x, fft_length[0]), (2, 4), fft_length=[n])
        for n in (3, 4, 6)
    ]
    + [
        on(
            signal.irfft,
            lambda x, fft_length: jnp.fft.irfft(x, fft_length[0]),
            (3,),
            fft_length=[n],
            complex=True,
        )
        for n in (1, 3, 4, 7)
    ]
    + [
        on(signal.rfft2d, lambda x, fft_length: jnp.fft.rfft2(x, fft_length), (2, 3), fft_length=[3, 2]),
        on(signal.fftnd, jnp.fft.fftn, (2, 3), norm="ortho", axes=[1], complex=True),
        on(signal.ifftnd, jnp.fft.ifftn, (2, 3), norm="forward", axes=[1, 0], complex=True),
        on(_spectrum, lambda x: jnp.abs(jnp.fft.rfft(x, 6)), (2, 4)),
        *on_each(signal.fftshift, jnp.fft.fftshift, (3, 4), axes=[None, 0, (0, 1)]),
        *on_each(signal.ifftshift, jnp.fft.ifftshift, (3, 4), axes=[None, 1, (0, 1)]),
    ],
    "frame": [
        on(signal.frame, _frames, (5,), frame_length=3, frame_step=2),
        on(signal.frame, _frames, (5, 2), frame_length=2, frame_step=2, pad_end=True, pad_value=1.5, axis=0),
        on(signal.frame, _frames, (2, 5, 2), frame_length=2, frame_step=1, axis=1),
    ],
    "stft": [
        on(signal.stft, _stft, (8,), frame_length=4, frame_step=2, fft_length=4),
        on(signal.stft, _stft, (7,), frame_length=3, frame_step=3, fft_length=5, pad_end=True),
        on(
            signal.inverse_stft,
            _inverse_stft,
            (3, 3),
            frame_length=4,
            frame_step=2,
            fft_length=4,
            complex=True,
        ),
        on(
            signal.inverse_stft,
            _inverse_stft,
            (2, 3),
            frame_length=3,
            frame_step=1,
            fft_length=5,
            complex=True,
        ),
    ],
    "mdct": [
        on(lambda x, frame_length: signal.mdct(x, frame_length, None), _mdct, (12,), frame_length=4),
        on(
            lambda x: signal.mfccs_from_log_mel_spectrograms(x),
            lambda x: x @ _cosines(3, 2, False).T / np.sqrt(6),
            (2, 3),
        ),
    ],
}

# ---------------------------------------------------------------------------------------------------------------------
# Images


def _rgb_to_hsv(x):
    red, green, blue = x[..., 0], x[..., 1], x[..., 2]
    value = jnp.max(x, -1)
    span = value - jnp.min(x, -1)
    hue = jnp.where(
        red == value,
        (green - blue) / span % 6,
        jnp.where(green == value, (blue - red) / span + 2, (red - green) / span + 4),
    )
    return jnp.stack([hue / 6, span / value, value], -1)


def _hsv_to_rgb(x):
    # By sectors of the hue, as textbooks have it.
    hue, saturation, value = x[..., 0] * 6, x[..., 1], x[..., 2]
    sector = jnp.floor(hue)
    part = hue - sector
    low, falling, rising = (
        value * (1 - saturation),
        value * (1 - saturation * part),
        value * (1 - saturation * (1 - part)),
    )
    order = [
        (value, rising, low),
        (falling, value, low),
        (low, value, rising),
        (low, falling, value),
        (rising, low, value),
        (value, low, falling),
    ]
    return jnp.stack(
        [jnp.select([sector == i for i in range(6)], [o[c] for o in order]) for c in range(3)], -1
    )


def _adjust_hue(x, delta):
    hsv = _rgb_to_hsv(x)
    return _hsv_to_rgb(hsv.at[..., 0].set((hsv[..., 0] + delta) % 1.0))


def _adjust_saturation(x, factor):
    hsv = _rgb_to_hsv(x)
    return _hsv_to_rgb(hsv.at[..., 1].multiply(factor))


def _contrast(x, factor):
    mean = x.mean((-3, -2), keepdims=True)
    return (x - mean) * factor + mean


def _sobel(x):
    padded = jnp.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)], "reflect")
    kernel = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    h, w = x.shape[1:3]

    def slid(k):
        return sum(k[i, j] * padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3))

    return jnp.stack([slid(kernel), slid(kernel.T)], -1)


def _patches(x, size, step, rate):
    (kh, kw), (sh, sw), (rh, rw) = size, step, rate
    h, w = ((n - (k - 1) * r - 1) // s + 1 for n, k, s, r in zip(x.shape[1:3], size, step, rate, strict=True))
    parts = [
        x[:, i * rh : i * rh + sh * (h - 1) + 1 : sh, j * rw : j * rw + sw * (w - 1) + 1 : sw]
        for i in range(kh)
        for j in range(kw)
    ]
    return jnp.concatenate(parts, -1)


def _extract(x, size, step, rate):
    return image.extract_patches(x, [1, *size, 1], [1, *step, 1], [1, *rate, 1], "VALID")


def _variation(x):
    return jnp.abs(jnp.diff(x, axis=-3)).sum((-3, -2, -1)) + jnp.abs(jnp.diff(x, axis=-2)).sum((-3, -2, -1))


def _steps(x):
    dy, dx = (jnp.diff(x, axis=axis) for axis in (1, 2))
    return jnp.pad(dy, [(0, 0), (0, 1), (0, 0), (0, 0)]), jnp.pad(dx, [(0, 0), (0, 0), (0, 1), (0, 0)])


IMAGES = {
    "colours": [
        on(image.rgb_to_hsv, _rgb_to_hsv, (4, 3), domain=fraction),
        on(image.hsv_to_rgb, _hsv_to_rgb, (4, 3), domain=fraction),
        on(image.adjust_hue, _adjust_hue, (1, 3, 3), (), domain=fraction),
        on(image.adjust_saturation, _adjust_saturation, (1, 3, 3), (), domain=fraction),
        on(image.rgb_to_grayscale, lambda x: x @ np.array([[0.2989], [0.587], [0.114]]), (1, 2, 3)),
        on(image.grayscale_to_rgb, lambda x: jnp.repeat(x, 3, -1), (1, 2, 1)),
    ],
    "adjust": [
        on(image.adjust_contrast, _contrast, (2, 2, 3, 2), ()),
        on(image.adjust_brightness, lambda x, delta: x + delta, (2, 2), ()),
        on(image.adjust_gamma, lambda x, gamma, gain: gain * x**gamma, (2, 2), (), (), domain=fraction),
    ],
    "edges": [
        on(image.sobel_edges, _sobel, (1, 3, 4, 2)),
        on(image.sobel_edges, _sobel, (1, 2, 2, 1)),
        on(image.total_variation, _variation, (2, 3, 2, 1)),
        on(image.total_variation, _variation, (2, 3, 1)),
        on(image.image_gradients, _steps, (1, 2, 3, 1)),
    ],
    "extract_patches": [
        on(_extract, _patches, (1, 3, 4, 2), size=(2, 2), step=(1, 2), rate=(1, 1)),
        on(_extract, _patches, (2, 3, 5, 1), size=(2, 2), step=(1, 1), rate=(1, 3)),
    ],
    "turned": [
        on(image.flip_left_right, lambda x: x[:, ::-1], (2, 3, 1)),
        on(image.flip_up_down, lambda x: x[:, ::-1], (1, 2, 3, 1)),
        on(image.transpose, lambda x: x.swapaxes(1, 2), (1, 2, 3, 1)),
        *on_each(image.rot90, lambda x, k: jnp.rot90(x, k, (0, 1)), (2, 3, 1), k=[0, 1, 2, 3]),
        on(image.central_crop, lambda x, central_fraction: x[1:3, 1:4], (4, 5, 1), central_fraction=0.5),
    ],
}

SAMPLES = {
    name: tuple(entry.sample(name, i) for i, entry in enumerate(entries))
    for family in (SIGNALS, IMAGES)
    for name, entries in family.items()
}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_check_holds_at_every_sample(name, subtests):
    for check in checks.ALL:
        with subtests.test(check.__name__):
            check(SAMPLES[name])
