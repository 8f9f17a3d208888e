"""Signals: frames and their overlapping sum, windows, spectrograms, cosine transforms, the mel scale."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, primitive
from ...core.structural import reshape_
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import Axis, DTypeLike, TensorLike
from ...engine.arrays import xp
from ..array.movement import concat, transpose
from ..array.padding import pad
from ..known import afford
from ..math.cumulative import cumsum
from ..math.elementwise import divide_no_nan, exp, sqrt
from ..math.reduction import one_axis, reduce_sum
from ..math.special import bessel_i0e
from ..scalars import choice, integer, number
from .fourier import fitted, irfft, rfft

# ---------------------------------------------------------------------------------------------------------------------
# Frames: each other's transposes


def _frames(size: int, length: int, step: int) -> int:
    return max(0, 1 + (size - length) // step)


@primitive(linear=True, name="frame")
def frame_(x, *, length, step):
    """Stretches of the last axis of the given length, one every `step` elements, as rows."""
    count = _frames(x.shape[-1], length, step)
    if not count:
        return x[..., _places(count, length, step)]
    return np.lib.stride_tricks.sliding_window_view(x, length, -1)[..., ::step, :]


@frame_.compiled
def _(x, *, length, step):
    count = _frames(x.shape[-1], length, step)
    parts = -(-length // step)
    if not count or parts > _MANY:
        return x[..., _places(count, length, step)]
    # Stretches of `step` elements, which no two frames share; a frame is some of them in a row.
    m, size = xp(x), (count + parts) * step
    x = x[..., :size]
    x = m.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, size - x.shape[-1])])
    x = x.reshape(*x.shape[:-1], count + parts, step)
    return m.concatenate([x[..., i : i + count, :] for i in range(parts)], -1)[..., :length]


_MANY = 64  # parts of a frame: beyond, XLA gathers


def _places(count: int, length: int, step: int) -> Any:
    """The indices of the elements of each frame."""
    return step * np.arange(count)[:, None] + np.arange(length)


@primitive(wide=True, linear=True)
def overlap_add(x, *, step, size):
    """The sum of the rows of `x`, each `step` elements after the one before, along an axis of length `size`."""
    *front, count, length = x.shape
    parts = -(-length // step)
    if count < parts:
        out = np.zeros((*front, size), x.dtype)
        for i in range(count):
            out[..., i * step : i * step + length] += x[..., i, :]
        return out
    # All rows at once, in parts that do not overlap.
    out = np.zeros((*front, max(count + parts, -(-size // step)), step), x.dtype)
    for i in range(parts):
        part = x[..., i * step : (i + 1) * step]
        out[..., i : i + count, : part.shape[-1]] += part
    return out.reshape(*front, out.shape[-2] * step)[..., :size]


@overlap_add.compiled
def _(x, *, step, size):
    m = xp(x)
    *front, count, length = x.shape
    parts = -(-length // step)
    if parts > _MANY:
        return m.zeros((*front, size), x.dtype).at[..., _places(count, length, step)].add(x)
    # The same parts, without a scatter.
    rows = max(count + parts, -(-size // step))
    out = m.zeros((*front, rows, step), x.dtype)
    for i in range(parts):
        part = x[..., i * step : (i + 1) * step]
        out = out + m.pad(part, [(0, 0)] * len(front) + [(i, rows - i - count), (0, step - part.shape[-1])])
    return out.reshape(*front, rows * step)[..., :size]


frame_.rules(x=lambda g, x_shape, step: overlap_add(g, step=step, size=x_shape[-1]))
overlap_add.rules(x=lambda g, x_shape, step: frame_(g, length=x_shape[-1], step=step))

# ---------------------------------------------------------------------------------------------------------------------
# Cosine transforms


@primitive(linear=True, name="dct")
def dct_(x, *, type, ortho):
    return _cosines(type, ortho)(x) if x.size else x


@dct_.compiled
def _(x, *, type, ortho):
    return x @ _cosines(type, ortho)(np.eye(x.shape[-1], dtype=x.dtype)) if x.size else x


def _cosines(type: int, ortho: bool) -> Any:
    """SciPy's cosine transform of a type."""
    import scipy.fft

    return functools.partial(scipy.fft.dct, type=type, norm="ortho" if ortho else "backward")


def _dct_rule(g: Any, x_shape: tuple[int, ...], type: int, ortho: bool) -> Any:
    """The matrices: 1 = C W, 2 = C, 3 = C' V, 4 = 4', where W, V double all but both ends, all but the first."""
    if ortho or type == 4:
        return dct_(g, type={2: 3, 3: 2, 4: 4}[type], ortho=ortho)
    weights = np.full(
        x_shape[-1], 1.0 if type == 1 else 2.0, (g._array if isinstance(g, Tensor) else g).dtype
    )
    if type == 1:
        weights[1:-1] = 2
        return dct_(g / weights, type=1, ortho=False) * weights
    weights[1:] = 1
    return dct_(g * weights, type=3, ortho=False) if type == 2 else dct_(g, type=2, ortho=False) / weights


dct_.rules(x=_dct_rule)

# ---------------------------------------------------------------------------------------------------------------------
# Windows


def _window_length(name: str, value: Any) -> int:
    length = integer(name, "window_length", value, 0)
    afford(name, (length,), 40)
    return length


def _raised_cosine(name: str, window_length: Any, periodic: Any, dtype: Any, mean: float) -> Tensor:
    """One period of a cosine around `mean`, whose peak is 1."""
    kind = dtypes.floating(name, dtype)
    length = _window_length(name, window_length)
    if length == 1:
        return wrap(np.ones(1, kind))
    period = length if bool(periodic) and length % 2 == 0 else length - 1
    return wrap((mean - (1 - mean) * np.cos(2 * np.pi * np.arange(length) / period)).astype(kind))


def hann_window(
    window_length: int | Tensor,
    periodic: bool | Tensor = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """The window of von Hann, a raised cosine.

    Args:
        window_length: The number of points.
        periodic: Whether, for even lengths, the last point of the period is left out, as the first of the next.
        dtype: A floating dtype.

    Raises:
        DTypeError: If `window_length` is no integer, or the dtype is not floating.
        InvalidArgumentError: If `window_length` is negative.

    >>> hann_window(4).numpy().round(6)
    array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _raised_cosine("hann_window", window_length, periodic, dtype, 0.5)


def hamming_window(
    window_length: int | Tensor,
    periodic: bool | Tensor = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Hamming's window, a cosine raised so that its ends are 0.08. Arguments are those of `hann_window`.

    Args:
        window_length: how many points.
        periodic: whether it is one period of a longer window.

    >>> hamming_window(4).numpy().round(6)
    array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _raised_cosine("hamming_window", window_length, periodic, dtype, 0.54)


def kaiser_window(
    window_length: int | Tensor,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Kaiser's window; the larger `beta`, the narrower. Gradients flow to `beta`.

    Args:
        window_length: how many points.

    >>> kaiser_window(3, 2.0).numpy().round(4)
    array([0.4387, 1.    , 0.4387], dtype=float32)
    """
    kind = dtypes.floating("kaiser_window", dtype)
    length = _window_length("kaiser_window", window_length)
    if length == 1:
        return wrap(np.ones(1, kind))
    across = np.linspace(-1, 1, length)
    b: Any = convert(beta, None, kind)
    spread = b * wrap(np.sqrt(1 - across * across).astype(kind))
    return apply(exp, (spread - b,)) * apply(bessel_i0e, (spread,)) / apply(bessel_i0e, (b,))


def kaiser_bessel_derived_window(
    window_length: int | Tensor,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """The window of even length whose square is a running sum of Kaiser's: for `mdct`. Gradients flow to `beta`.

    Args:
        window_length: how many points.

    >>> kaiser_bessel_derived_window(4, 2.0).numpy().round(4)
    array([0.4834, 0.8754, 0.8754, 0.4834], dtype=float32)
    """
    length = _window_length("kaiser_bessel_derived_window", window_length)
    total = cumsum(kaiser_window(length // 2 + 1, beta, dtype))
    rising = apply(sqrt, (total[:-1] / total[-1],))
    return concat([rising, rising[::-1]], 0)


def vorbis_window(
    window_length: int | Tensor, dtype: DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """The window of the Vorbis format: its square and the square shifted by half its length add up to 1.

    Args:
        window_length: how many points.

    >>> vorbis_window(4).numpy().round(4)
    array([0.228 , 0.9737, 0.9737, 0.228 ], dtype=float32)
    """
    kind = dtypes.floating("vorbis_window", dtype)
    length = _window_length("vorbis_window", window_length)
    rise = np.sin(np.pi / max(length, 1) * (np.arange(length) + 0.5))
    return wrap(np.sin(np.pi / 2 * rise * rise).astype(kind))


# ---------------------------------------------------------------------------------------------------------------------
# Frames and spectrograms


def _signal(name: str, value: Any, rank: int = 1) -> Tensor:
    """Convert an argument to a tensor, which must have at least `rank` axes."""
    x = convert(value)
    if x.ndim < rank:
        raise InvalidArgumentError(
            f"{name}: needs a tensor of rank {rank} or more, not of shape {list(x._array.shape)}"
        )
    return x


def frame(
    signal: TensorLike,
    frame_length: int | Tensor,
    frame_step: int | Tensor,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: Axis = -1,
    name: str | None = None,
) -> Tensor:
    """Stretches of an axis, one every `frame_step` elements, as a new axis in front of it.

    Args:
        signal: A tensor of rank 1 or more.
        frame_length: The length of each frame.
        frame_step: The distance between the beginnings of two frames.
        pad_end: Pad the signal so that its last elements also begin frames; otherwise they are dropped.
        pad_value: The value to pad with.
        axis: The axis of the signal's samples.

    Raises:
        InvalidArgumentError: If the signal is a scalar, or a length or step is less than 1.

    >>> frame([1, 2, 3, 4, 5], 3, 2).numpy()
    array([[1, 2, 3],
           [3, 4, 5]], dtype=int32)
    """
    x: Any = _signal("frame", signal)
    length, step = (
        integer("frame", "frame_length", frame_length, 1),
        integer("frame", "frame_step", frame_step, 1),
    )
    at = one_axis("frame", axis, x.ndim) + x.ndim
    order = [i for i in range(x.ndim) if i != at]
    if at != x.ndim - 1:
        x = transpose(x, [*order, at])
    size = x._array.shape[-1]
    if pad_end:
        missing = length + step * (-(-size // step) - 1) - size
        if missing > 0 and size:
            x = pad(x, [[0, 0]] * len(order) + [[0, missing]], constant_values=pad_value)
    x = apply(frame_, (x,), {"length": length, "step": step})
    if at == len(order):
        return x
    last = len(order)
    return transpose(x, [*range(at), last, last + 1, *range(at, last)])


def overlap_and_add(signal: TensorLike, frame_step: int | Tensor, name: str | None = None) -> Tensor:
    """The sum of frames, the rows of the last two axes, each `frame_step` elements after the one before.

    >>> overlap_and_add([[1, 2, 3], [10, 20, 30]], 2).numpy()
    array([ 1,  2, 13, 20, 30], dtype=int32)
    """
    x = _signal("overlap_and_add", signal, 2)
    step = integer("overlap_and_add", "frame_step", frame_step, 1)
    count, length = x._array.shape[-2:]
    return apply(overlap_add, (x,), {"step": step, "size": max(0, length + step * (count - 1))})


def _enclosing_power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()


def _windowed(frames: Any, window_fn: Callable[..., Any] | None, length: int) -> Any:
    if window_fn is None:
        return frames
    if not callable(window_fn):
        raise DTypeError(f"window_fn must be a function of a length and a dtype, or None, not {window_fn!r}")
    return frames * window_fn(length, dtype=frames.dtype)


def stft(
    signals: TensorLike,
    frame_length: int | Tensor,
    frame_step: int | Tensor,
    fft_length: int | Tensor | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The short-time Fourier transform: `rfft` of frames of the last axis, each times a window.

    Args:
        signals: A real tensor, with samples along the last axis.
        frame_length: The length of each frame.
        frame_step: The distance between the beginnings of two frames.
        fft_length: The length of each transform, by default the next power of two from `frame_length` on.
        window_fn: A function of a length and a dtype that gives the window; None for no window.
        pad_end: Pad the signal with zeros so that its last elements also begin frames.

    Raises:
        InvalidArgumentError: If the signal is a scalar, or a length or step is less than 1.
        DTypeError: If the signal is not float32 or float64, or `window_fn` is no function.

    >>> stft([0.0] * 10, frame_length=4, frame_step=2).shape
    TensorShape([4, 3])
    """
    length = integer("stft", "frame_length", frame_length, 1)
    size = (
        _enclosing_power_of_two(length)
        if fft_length is None
        else integer("stft", "fft_length", fft_length, 1)
    )
    frames = frame(_signal("stft", signals), length, frame_step, pad_end)
    return rfft(_windowed(frames, window_fn, length), [size])


def inverse_stft(
    stfts: TensorLike,
    frame_length: int | Tensor,
    frame_step: int | Tensor,
    fft_length: int | Tensor | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signal of a short-time Fourier transform; `inverse_stft_window_fn` gives the window that undoes `stft`'s.

    Arguments and errors are those of `stft`.

    Args:
        frame_length: samples in a frame.
        frame_step: samples from one frame to the next.
        fft_length: length of the transforms.
        window_fn: makes the window from its length and a dtype; None for no window.

    >>> inverse_stft(stft([1.0] * 8, 4, 2), 4, 2).shape
    TensorShape([8])
    """
    x = _signal("inverse_stft", stfts, 2)
    length = integer("inverse_stft", "frame_length", frame_length, 1)
    size = (
        _enclosing_power_of_two(length)
        if fft_length is None
        else integer("inverse_stft", "fft_length", fft_length, 1)
    )
    frames = fitted(irfft(x, [size]), (-1,), [length])
    return overlap_and_add(_windowed(frames, window_fn, length), frame_step)


def inverse_stft_window_fn(
    frame_step: int | Tensor, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """The window function for `inverse_stft` that undoes `forward_window_fn` of `stft`, given the same `frame_step`.

    >>> signal = np.arange(8, dtype=np.float32)
    >>> back = inverse_stft(stft(signal, 4, 2), 4, 2, window_fn=inverse_stft_window_fn(2))
    >>> back.numpy()[2:6].round(4)
    array([2., 3., 4., 5.], dtype=float32)
    """

    def window_fn(frame_length: Any, dtype: Any) -> Tensor:
        step = integer("inverse_stft_window_fn", "frame_step", frame_step, 1)
        length = integer("inverse_stft_window_fn", "frame_length", frame_length, 1)
        forward: Any = convert(forward_window_fn(length, dtype=dtype))
        # The sum of the squares of all windows that overlap at a sample.
        parts = -(-length // step)
        rows = apply(reshape_, (fitted(forward * forward, (-1,), [parts * step]),), {"shape": (parts, step)})
        total = concat([reduce_sum(rows, 0)] * parts, 0)[:length]
        return apply(divide_no_nan, (forward, total))

    return window_fn


# ---------------------------------------------------------------------------------------------------------------------
# Cosine transforms


def _dct(name: str, value: Any, type: int, n: Any, axis: Any, norm: Any, inverse: bool) -> Tensor:
    x = _signal(name, value)
    if x.dtype.name not in ("float32", "float64"):
        raise DTypeError(
            f"{name} takes float32 or float64 tensors, not {x.dtype.name}: use cast(x, 'float32')"
        )
    if not isinstance(axis, int) or axis != -1:
        raise NotImplementedError(
            f"{name}: axis must be -1, not {axis!r}: transpose the axis to the end first"
        )
    choice(name, "type", type, (1, 2, 3, 4))
    choice(name, "norm of type 1" if type == 1 else "norm", norm, (None,) if type == 1 else (None, "ortho"))
    if n is not None:
        x = fitted(x, (-1,), [integer(name, "n", n, 1)])
    if type == 1 and x._array.shape[-1] < 2:
        raise InvalidArgumentError(f"{name}: type 1 needs a length of at least 2, not {x._array.shape[-1]}")
    kind = {2: 3, 3: 2}.get(type, type) if inverse else type
    return apply(dct_, (x,), {"type": kind, "ortho": norm == "ortho"})


def dct(
    input: TensorLike,
    type: int = 2,
    n: int | Tensor | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform along the last axis.

    Args:
        input: A tensor of float32 or float64.
        type: 1 to 4.
        n: A length to which the axis is cut or padded with zeros first.
        axis: -1.
        norm: "ortho" makes types 2 to 4 orthonormal.

    Raises:
        DTypeError: If the tensor is not float32 or float64.
        InvalidArgumentError: If there is no such type or norm, or the axis is too short for type 1.
        NotImplementedError: If `axis` is not -1.

    >>> dct([1.0, 1.0]).numpy().round(4)
    array([4., 0.], dtype=float32)
    """
    return _dct("dct", input, type, n, axis, norm, inverse=False)


def idct(
    input: TensorLike,
    type: int = 2,
    n: int | Tensor | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `dct` of this type: exact for `norm="ortho"`, otherwise up to the factor 2n (type 1: 2(n - 1)).

    >>> idct(dct([1.0, 2.0], norm="ortho"), norm="ortho").numpy().round(4)
    array([1., 2.], dtype=float32)
    """
    return _dct("idct", input, type, n, axis, norm, inverse=True)


_SQRT_HALF = 0.5**0.5


def mdct(
    signals: TensorLike,
    frame_length: int | Tensor,
    window_fn: Callable[..., Any] | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified discrete cosine transform: half as many numbers as samples for frames that overlap by half.

    Args:
        signals: A real tensor, with samples along the last axis.
        frame_length: The length of each frame, a multiple of 4.
        window_fn: A function of a length and a dtype that gives the window; None for no window.
        pad_end: Pad the signal with zeros so that its last elements also begin frames.
        norm: "ortho" makes the transform orthonormal.

    Raises:
        InvalidArgumentError: If `frame_length` is no multiple of 4, or the signal is a scalar.

    >>> mdct([1.0] * 8, frame_length=4).shape
    TensorShape([3, 2])
    """
    length = integer("mdct", "frame_length", frame_length, 1)
    if length % 4:
        raise InvalidArgumentError(f"mdct: frame_length must be a multiple of 4, not {length}")
    frames: Any = frame(_signal("mdct", signals), length, length // 2, pad_end)
    frames = frames * _SQRT_HALF if window_fn is None else _windowed(frames, window_fn, length)
    half, quarter = length // 2, length // 4
    # Of the quarters a b c d: (-c reversed - d, a - b reversed).
    first = -frames[..., half + quarter - 1 : half - 1 : -1] - frames[..., half + quarter :]
    second = frames[..., :quarter] - frames[..., quarter:half][..., ::-1]
    return dct(concat([first, second], -1), type=4, norm=norm)


def inverse_mdct(
    mdcts: TensorLike,
    window_fn: Callable[..., Any] | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The signal of a modified discrete cosine transform: that given to `mdct`, but for half a frame at both ends.

    `window_fn` and `norm` are those of `mdct`.

    Raises:
        InvalidArgumentError: If the last axis is not of even length.

    >>> inverse_mdct(mdct([1.0] * 8, 4)).numpy()[2:6].round(4)
    array([1., 1., 1., 1.], dtype=float32)
    """
    x: Any = _signal("inverse_mdct", mdcts, 2)
    half = x._array.shape[-1]
    if half % 2 or not half:
        raise InvalidArgumentError(
            f"inverse_mdct: the last axis must be a multiple of 2, not of length {half}"
        )
    frames: Any = dct(x, type=4, norm=norm)
    if norm is None:
        frames = frames * (0.5 / half)
    a, b = frames[..., : half // 2], frames[..., half // 2 :]
    frames = concat([b, -b[..., ::-1], -a[..., ::-1], -a], -1)
    frames = frames * _SQRT_HALF if window_fn is None else _windowed(frames, window_fn, 2 * half)
    return overlap_and_add(frames, half)


# ---------------------------------------------------------------------------------------------------------------------
# The mel scale


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)


def linear_to_mel_weight_matrix(
    num_mel_bins: int | Tensor = 20,
    num_spectrogram_bins: int | Tensor = 129,
    sample_rate: float | Tensor = 8000,
    lower_edge_hertz: float | Tensor = 125.0,
    upper_edge_hertz: float | Tensor = 3800.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """The matrix that sums a spectrogram's bins to bands that are even on the mel scale.

    Args:
        num_mel_bins: The number of bands.
        num_spectrogram_bins: The number of bins of the spectrogram, from 0 to half of `sample_rate`.
        sample_rate: Samples per second of the signal.
        lower_edge_hertz: The lower end of the lowest band.
        upper_edge_hertz: The upper end of the highest band.
        dtype: A floating dtype.

    Raises:
        InvalidArgumentError: If the edges are not in order between 0 and half of `sample_rate`.

    >>> linear_to_mel_weight_matrix(num_mel_bins=4, num_spectrogram_bins=9).shape
    TensorShape([9, 4])
    """
    name = "linear_to_mel_weight_matrix"
    kind = dtypes.floating(name, dtype)
    bands = integer(name, "num_mel_bins", num_mel_bins, 1)
    bins = integer(name, "num_spectrogram_bins", num_spectrogram_bins, 1)
    afford(name, (bins, bands), 32)
    rate = number(name, "sample_rate", sample_rate)
    low = number(name, "lower_edge_hertz", lower_edge_hertz)
    high = number(name, "upper_edge_hertz", upper_edge_hertz)
    if not 0 <= low < high <= rate / 2 < np.inf:
        raise InvalidArgumentError(
            f"{name}: 0 <= lower_edge_hertz < upper_edge_hertz <= sample_rate / 2 must hold, "
            f"not 0 <= {low:g} < {high:g} <= {rate / 2:g}"
        )
    edges = np.linspace(_mel(low), _mel(high), bands + 2)
    lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
    at = _mel(np.linspace(0, rate / 2, bins))[:, None]
    weights = np.minimum((at - lower) / (centre - lower), (upper - at) / (upper - centre)).clip(min=0)
    weights[0] = 0  # the constant belongs to no band
    return wrap(weights.astype(kind))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike, name: str | None = None) -> Tensor:
    """The mel-frequency cepstral coefficients: the cosine transform of a log mel spectrogram, scaled as HTK does.

    >>> mfccs_from_log_mel_spectrograms([[1.0, 1.0]]).numpy().round(4)
    array([[2., 0.]], dtype=float32)
    """
    x = _signal("mfccs_from_log_mel_spectrograms", log_mel_spectrograms)
    bands = x._array.shape[-1]
    if not bands:
        raise InvalidArgumentError("mfccs_from_log_mel_spectrograms: there must be at least one mel bin")
    coefficients: Any = dct(x)
    return coefficients * (2.0 * bands) ** -0.5
