"""Fourier transforms over any axes: of complex tensors, and of real ones by half their spectrum.

The matrix of a Fourier transform is symmetric, so the transform is its own transpose. A real transform keeps half of
the spectrum, which determines the other half; it and its inverse are each other's transpose, up to the number of
elements of the whole spectrum that each of the half stands for.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, primitive
from ...core.slicing import Index, getitem, place
from ...core.structural import conj
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import Axes, ShapeLike, TensorLike
from ...engine.arrays import xp
from ..array.movement import concat, static_shape
from ..known import afford
from ..math.reduction import one_axis
from ..math.segment import with_length
from ..scalars import choice


def _transforms(x: Any) -> Any:
    """The module that transforms `x`: SciPy's is up to 5 times as fast in float32, but takes 0.3 s to import."""
    if xp(x) is not np:
        return xp(x).fft
    if x.size < 4096:
        return np.fft
    import scipy.fft

    return scipy.fft


def _transformed(name: str, x: Any, axes: tuple[int, ...], **options: Any) -> Any:
    if len(axes) > 3 and xp(x) is not np:
        return _by_threes(name, x, axes, options)
    if len(axes) == 1:  # half the overhead of the general one
        if "s" in options:
            (options["n"],) = options.pop("s")
        return getattr(_transforms(x), name)(x, axis=axes[0], **options)
    return getattr(_transforms(x), name + "n")(x, axes=axes, **options)


def _by_threes(name: str, x: Any, axes: tuple[int, ...], options: dict[str, Any]) -> Any:
    """The transform over more axes than the three that XLA takes at once; real numbers are in the last three."""
    first, last = axes[:-3], axes[-3:]
    if "s" in options:
        options["s"] = options["s"][-3:]
    if name == "rfft":
        return _transformed("fft", _transformed("rfft", x, last), first)
    return _transformed(name, _transformed("ifft" if name == "irfft" else name, x, first), last, **options)


@primitive(linear=True, name="fft")
def fft_(x, *, axes, inverse):
    if not x.size:
        return x
    return _transformed("ifft" if inverse else "fft", x, axes)


@primitive(linear=True, name="rfft")
def rfft_(x, *, axes):
    """The transform of real numbers, along the last of `axes` only for frequencies that are not negative."""
    if not x.size:
        shape = with_length(x.shape, axes[-1], _half(x.shape[axes[-1]]))
        return xp(x).zeros(shape, np.result_type(x.dtype, np.complex64))
    return _transformed("rfft", x, axes)


@primitive(linear=True, name="irfft")
def irfft_(x, *, axes, length):
    """The inverse of `rfft`; `length` is that of the result along the last of `axes`."""
    if not x.size:
        return xp(x).zeros(with_length(x.shape, axes[-1], length), x.real.dtype)
    return _transformed("irfft", x, axes, s=[*[x.shape[a] for a in axes[:-1]], length])


def _half(length: int) -> int:
    return length // 2 + 1 if length else 0


@functools.lru_cache(maxsize=100)
def _multiplicity(length: int, axis: int, power: int, scale: float, dtype: Any) -> Any:
    """The number of elements of a spectrum that each of its half stands for (1 at both ends, else 2), to a power."""
    count = np.full(_half(length), 2.0)
    count[:1] = 1
    if length % 2 == 0:
        count[-1:] = 1
    return (count**power * scale).reshape(-1, *[1] * (-axis - 1)).astype(dtype)


def _half_weights(g: Any, length: int, axis: int, power: int, scale: float) -> Any:
    dtype = (g._array if type(g) is Tensor else g).dtype
    return _multiplicity(length, axis, power, scale, np.result_type(dtype, np.complex64))


def _size(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod([shape[a] for a in axes])


def _rfft_rule(g: Any, x_shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Re(sum_k g_k exp(-ijk)) = Re(sum_k conj(g_k) exp(ijk)): the inverse, without its 1 / N and its doubling."""
    length = x_shape[axes[-1]]
    weights = _half_weights(g, length, axes[-1], -1, float(_size(x_shape, axes)))
    return irfft_(conj(g) * weights, axes=axes, length=length)


def _irfft_rule(g: Any, out_shape: tuple[int, ...], axes: tuple[int, ...], length: int) -> Any:
    """d Re(sum_k m_k x_k exp(ijk)) / N by x_k is m_k exp(ijk) / N."""
    weights = _half_weights(g, length, axes[-1], 1, 1 / max(_size(out_shape, axes), 1))
    return conj(rfft_(g, axes=axes)) * weights


fft_.rules(x=lambda g, axes, inverse: fft_(g, axes=axes, inverse=inverse))
rfft_.rules(x=_rfft_rule)
irfft_.rules(x=_irfft_rule)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


_COMPLEX64 = np.dtype(np.complex64)


def _complexes(name: str, value: Any) -> Tensor:
    x = convert(value, None, _COMPLEX64)  # as TensorFlow takes whatever is no tensor yet
    if not x.dtype.is_complex:
        real = f" or {name.replace('fft', 'rfft', 1)}(x)" if not name.startswith("ir") else ""
        raise DTypeError(
            f"{name} takes complex64 or complex128 tensors, not {x.dtype.name}: use cast(x, 'complex64'){real}"
        )
    return x


def _reals(name: str, value: Any) -> Tensor:
    x = convert(value, None, np.dtype(np.float32))
    if x.dtype.name not in ("float32", "float64"):
        raise DTypeError(
            f"{name} takes float32 or float64 tensors, not {x.dtype.name}: use cast(x, 'float32')"
        )
    return x


def _last(name: str, x: Tensor, count: int) -> tuple[int, ...]:
    if x.ndim < count:
        raise InvalidArgumentError(
            f"{name} transforms the last {count} axes; a tensor of shape {list(x._array.shape)} has {x.ndim}"
        )
    return tuple(range(-count, 0))


def _named(name: str, x: Tensor, axes: Any) -> tuple[int, ...]:
    given = tuple(range(x.ndim)) if axes is None else static_shape(name, axes)
    found = tuple([one_axis(name, a, x.ndim) for a in given])
    if len(set(found)) != len(found) or not found:
        raise InvalidArgumentError(
            f"{name}: axes must name at least one axis, and each only once, not {list(given)}"
        )
    return found


def _lengths(name: str, fft_length: Any, axes: tuple[int, ...], default: list[int]) -> list[int]:
    if fft_length is None:
        return default
    lengths = list(static_shape(name, fft_length))
    if len(lengths) != len(axes) or min(lengths) < 0:
        raise InvalidArgumentError(
            f"{name}: fft_length must hold {len(axes)} length{'s' * (len(axes) > 1)} of at least 0, not {lengths}"
        )
    afford(name, tuple(lengths), 16)
    return lengths


def fitted(x: Any, axes: tuple[int, ...], lengths: list[int]) -> Any:
    """`x` cut, or padded with zeros, at the end of each axis to the given lengths."""
    shape = list(x._array.shape)
    for a, n in zip(axes, lengths, strict=True):
        shape[a] = n
    if x._array.shape == (wanted := tuple(shape)):
        return x
    inner = [slice(0, min(have, n)) for have, n in zip(x._array.shape, wanted, strict=True)]
    kept = Index((..., *inner))
    smaller = tuple([s.stop for s in inner])
    if smaller != x._array.shape:
        x = apply(getitem, (x,), {"index": kept})
    return x if smaller == wanted else apply(place, (x,), {"index": kept, "shape": wanted})


def _scaled(name: str, x: Any, norm: str | None, size: int, inverse: bool) -> Any:
    """`x` times the factor of a norm relative to 'backward'."""
    exponents = {None: 0.0, "backward": 0.0, "ortho": 0.5, "forward": 1.0}
    choice(name, "norm", norm, exponents)
    if not exponents[norm]:
        return x
    return x * float(size) ** (exponents[norm] if inverse else -exponents[norm])


def _fft(
    x: Any, name: str, axes: tuple[int, ...], inverse: bool, fft_length: Any = None, norm: Any = None
) -> Any:
    lengths = _lengths(name, fft_length, axes, [x._array.shape[a] for a in axes])
    x = _scaled(name, fitted(x, axes, lengths), norm, math.prod(lengths), inverse)
    return apply(fft_, (x,), {"axes": axes, "inverse": inverse})


def _rfft(x: Any, name: str, axes: tuple[int, ...], fft_length: Any, norm: Any = None) -> Any:
    lengths = _lengths(name, fft_length, axes, [x._array.shape[a] for a in axes])
    x = _scaled(name, fitted(x, axes, lengths), norm, math.prod(lengths), inverse=False)
    return apply(rfft_, (x,), {"axes": axes})


def _irfft(x: Any, name: str, axes: tuple[int, ...], fft_length: Any, norm: Any = None) -> Any:
    *others, half = [x._array.shape[a] for a in axes]
    *others, length = _lengths(name, fft_length, axes, [*others, max(0, 2 * (half - 1))])
    x = fitted(x, axes, [*others, _half(length)])
    x = _scaled(name, x, norm, math.prod([*others, length]), inverse=True)
    return apply(irfft_, (x,), {"axes": axes, "length": length})


def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """The discrete Fourier transform along the last axis of a complex tensor.

    Raises:
        DTypeError: If the tensor is not complex.

    >>> fft([1 + 0j, 2, 3]).numpy().sum().real
    np.float32(3.0)
    """
    x = _complexes("fft", input)
    return _fft(x, "fft", _last("fft", x, 1), inverse=False)


def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of `fft`.

    >>> ifft(fft([1 + 0j, 2, 3])).numpy().real.round(6)
    array([1., 2., 3.], dtype=float32)
    """
    x = _complexes("ifft", input)
    return _fft(x, "ifft", _last("ifft", x, 1), inverse=True)


def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """The discrete Fourier transform over the last two axes of a complex tensor.

    >>> fft2d([[1 + 0j, 2], [3, 4]]).numpy().real
    array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    x = _complexes("fft2d", input)
    return _fft(x, "fft2d", _last("fft2d", x, 2), inverse=False)


def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of `fft2d`.

    >>> ifft2d([[10 + 0j, -2], [-4, 0]]).numpy().real
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    x = _complexes("ifft2d", input)
    return _fft(x, "ifft2d", _last("ifft2d", x, 2), inverse=True)


def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """The discrete Fourier transform over the last three axes of a complex tensor.

    >>> fft3d([[[1 + 0j, 2]]]).numpy().real
    array([[[ 3., -1.]]], dtype=float32)
    """
    x = _complexes("fft3d", input)
    return _fft(x, "fft3d", _last("fft3d", x, 3), inverse=False)


def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of `fft3d`.

    >>> ifft3d([[[3 + 0j, -1]]]).numpy().real
    array([[[1., 2.]]], dtype=float32)
    """
    x = _complexes("ifft3d", input)
    return _fft(x, "ifft3d", _last("ifft3d", x, 3), inverse=True)


def rfft(input_tensor: TensorLike, fft_length: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """The Fourier transform along the last axis of a real tensor, for the frequencies that are not negative.

    Args:
        input_tensor: A tensor of float32 or float64.
        fft_length: A list of one length, to which the axis is cut or padded with zeros first.

    Raises:
        DTypeError: If the tensor is not float32 or float64.
        InvalidArgumentError: If `fft_length` is not one length.

    >>> rfft([1.0, 2.0, 3.0, 4.0]).numpy()
    array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    x = _reals("rfft", input_tensor)
    return _rfft(x, "rfft", _last("rfft", x, 1), fft_length)


def irfft(input_tensor: TensorLike, fft_length: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft`. The result has an even length, unless `fft_length=[n]` is given.

    >>> irfft([10 + 0j, -2 + 2j, -2]).numpy()
    array([1., 2., 3., 4.], dtype=float32)
    """
    x = _complexes("irfft", input_tensor)
    return _irfft(x, "irfft", _last("irfft", x, 1), fft_length)


def rfft2d(input_tensor: TensorLike, fft_length: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """The Fourier transform over the last two axes of a real tensor, the last only for frequencies not negative.

    Args:
        fft_length: lengths to cut or pad the axes to.

    >>> rfft2d([[1.0, 2.0], [3.0, 4.0]]).numpy().real
    array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    x = _reals("rfft2d", input_tensor)
    return _rfft(x, "rfft2d", _last("rfft2d", x, 2), fft_length)


def irfft2d(input_tensor: TensorLike, fft_length: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft2d`. The last length is even, unless `fft_length=[m, n]` is given.

    >>> irfft2d(rfft2d([[1.0, 2.0], [3.0, 4.0]])).numpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    x = _complexes("irfft2d", input_tensor)
    return _irfft(x, "irfft2d", _last("irfft2d", x, 2), fft_length)


def rfft3d(input_tensor: TensorLike, fft_length: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """The Fourier transform over the last three axes of a real tensor, the last only for frequencies not negative.

    Args:
        fft_length: lengths to cut or pad the axes to.

    >>> rfft3d([[[1.0, 2.0]]]).numpy().real
    array([[[ 3., -1.]]], dtype=float32)
    """
    x = _reals("rfft3d", input_tensor)
    return _rfft(x, "rfft3d", _last("rfft3d", x, 3), fft_length)


def irfft3d(input_tensor: TensorLike, fft_length: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft3d`. The last length is even, unless `fft_length=[l, m, n]` is given.

    >>> irfft3d(rfft3d([[[1.0, 2.0]]])).numpy()
    array([[[1., 2.]]], dtype=float32)
    """
    x = _complexes("irfft3d", input_tensor)
    return _irfft(x, "irfft3d", _last("irfft3d", x, 3), fft_length)


def fftnd(
    input_tensor: TensorLike,
    fft_length: ShapeLike | None = None,
    axes: Axes = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The Fourier transform over any axes of a complex tensor.

    Args:
        input_tensor: A complex tensor.
        fft_length: A length for each of the axes, to which it is cut or padded with zeros first.
        axes: The axes, all by default.
        norm: Where the factor 1 / N goes: to the inverse ('backward', the default), to the transform ('forward'), or
            its root to both ('ortho').

    Raises:
        DTypeError: If the tensor is not complex.
        InvalidArgumentError: If `axes` name one twice, or `fft_length` has another number of lengths.

    >>> fftnd([[1 + 0j, 2], [3, 4]], axes=[1]).numpy().real
    array([[ 3., -1.],
           [ 7., -1.]], dtype=float32)
    """
    x = _complexes("fftnd", input_tensor)
    return _fft(x, "fftnd", _named("fftnd", x, axes), False, fft_length, norm)


def ifftnd(
    input_tensor: TensorLike,
    fft_length: ShapeLike | None = None,
    axes: Axes = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `fftnd`.

    Args:
        fft_length: lengths to cut or pad the axes to.
        norm: "backward", "ortho" or "forward".

    >>> ifftnd([[3 + 0j, -1], [7, -1]], axes=[1]).numpy().real
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    x = _complexes("ifftnd", input_tensor)
    return _fft(x, "ifftnd", _named("ifftnd", x, axes), True, fft_length, norm)


def rfftnd(
    input_tensor: TensorLike,
    fft_length: ShapeLike | None = None,
    axes: Axes = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`fftnd` of a real tensor, along the last of the axes only for the frequencies that are not negative.

    Args:
        fft_length: lengths to cut or pad the axes to.
        norm: "backward", "ortho" or "forward".

    >>> rfftnd([[1.0, 2.0, 0.0]], axes=[1]).shape
    TensorShape([1, 2])
    """
    x = _reals("rfftnd", input_tensor)
    return _rfft(x, "rfftnd", _named("rfftnd", x, axes), fft_length, norm)


def irfftnd(
    input_tensor: TensorLike,
    fft_length: ShapeLike | None = None,
    axes: Axes = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `rfftnd`. The length of the last of the axes is even, unless `fft_length` is given.

    Args:
        norm: "backward", "ortho" or "forward".

    >>> irfftnd([[3 + 0j, -1]], axes=[1]).numpy()
    array([[1., 2.]], dtype=float32)
    """
    x = _complexes("irfftnd", input_tensor)
    return _irfft(x, "irfftnd", _named("irfftnd", x, axes), fft_length, norm)


def _shift(name: str, value: Any, axes: Any, towards_end: bool) -> Tensor:
    x: Any = convert(value)
    over = (
        range(-x.ndim, 0) if axes is None else [one_axis(name, a, x.ndim) for a in static_shape(name, axes)]
    )
    for a in over:
        length = x._array.shape[a]
        cut = (length + 1) // 2 if towards_end else length // 2
        if 0 < cut < length:
            after = (slice(None),) * (-a - 1)
            parts = [slice(cut, None), slice(0, cut)]
            x = concat([apply(getitem, (x,), {"index": Index((..., p, *after))}) for p in parts], a)
    return x


def fftshift(x: TensorLike, axes: Axes = None, name: str | None = None) -> Tensor:
    """The halves of each axis (or of those in `axes`) swapped, so that frequency 0 is in the middle.

    >>> fftshift([0.0, 1.0, 2.0, -2.0, -1.0]).numpy()
    array([-2., -1.,  0.,  1.,  2.], dtype=float32)
    """
    return _shift("fftshift", x, axes, towards_end=True)


def ifftshift(x: TensorLike, axes: Axes = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> ifftshift([-2.0, -1.0, 0.0, 1.0, 2.0]).numpy()
    array([ 0.,  1.,  2., -2., -1.], dtype=float32)
    """
    return _shift("ifftshift", x, axes, towards_end=False)
