"""Images mirrored, rotated and cropped, also at random, and the patches of a sliding window."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.primitive import apply
from ...core.slicing import Index, getitem
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import ShapeLike, TensorLike
from ...engine.arrays import is_traced
from ..array.indexing import block
from ..array.movement import reshape, static_shape
from ..array.movement import transpose as permute
from ..array.padding import pad
from ..math.elementwise import select
from ..random import stateful as random
from ..random import stateless
from ..scalars import choice, integer
from ..signal.spectral import frame_
from .resize import as_batch, as_images

# ---------------------------------------------------------------------------------------------------------------------
# Mirroring and rotation

_MIRROR = {
    -3: Index((..., slice(None, None, -1), slice(None), slice(None))),
    -2: Index((..., slice(None, None, -1), slice(None))),
}


def _flipped(x: Tensor, axis: int) -> Tensor:
    return apply(getitem, (x,), {"index": _MIRROR[axis]})


def _transposed(x: Tensor) -> Tensor:
    """x with height and width exchanged."""
    return permute(x, (1, 0, 2) if x.ndim == 3 else (0, 2, 1, 3))


def flip_left_right(image: TensorLike) -> Tensor:
    """The image, or each of a batch, mirrored along its width.

    >>> flip_left_right([[[1], [2]]]).numpy()[0, :, 0]
    array([2, 1], dtype=int32)
    """
    return _flipped(as_images("flip_left_right", image), -2)


def flip_up_down(image: TensorLike) -> Tensor:
    """The image, or each of a batch, mirrored along its height.

    >>> flip_up_down([[[1]], [[2]]]).numpy()[:, 0, 0]
    array([2, 1], dtype=int32)
    """
    return _flipped(as_images("flip_up_down", image), -3)


def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """The image, or each of a batch, with its height and width exchanged.

    >>> transpose([[[1], [2]]]).shape
    TensorShape([2, 1, 1])
    """
    return _transposed(as_images("transpose", image))


def rot90(image: TensorLike, k: int = 1, name: str | None = None) -> Tensor:
    """The image, or each of a batch, rotated `k` times by 90 degrees counter-clockwise.

    >>> rot90([[[1], [2]]]).numpy()[:, 0, 0]
    array([2, 1], dtype=int32)
    """
    x = as_images("rot90", image)
    turns = integer("rot90", "k", k) % 4
    if turns == 2:
        return _flipped(_flipped(x, -3), -2)
    if turns % 2:
        return _flipped(_transposed(x), -3 if turns == 1 else -2)
    return x


# ---------------------------------------------------------------------------------------------------------------------
# At random


def sampler(seed: int | None) -> Callable[..., Tensor]:
    """`random.uniform` with this seed of an operation."""
    return functools.partial(random.uniform, seed=seed)


def stateless_sampler(seed: TensorLike | None) -> Callable[..., Tensor]:
    """`random.stateless_uniform` of this seed."""
    return functools.partial(stateless.stateless_uniform, seed=seed)  # type: ignore[arg-type]  # None is refused there


def _random_flip(name: str, image: TensorLike, axis: int, draw: Callable[..., Tensor]) -> Tensor:
    """Each image mirrored or not, by the same comparison with 1/2 that TensorFlow makes."""
    x = as_images(name, image)
    if x.ndim == 3:
        small = draw(())._array < 0.5
        if is_traced(small):
            return apply(select, (convert(small), _flipped(x, axis), x))
        return _flipped(x, axis) if small else x
    chosen = draw((x._array.shape[0],))._array > 0.5
    return apply(select, (convert(chosen.reshape(-1, 1, 1, 1)), _flipped(x, axis), x))


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """The image, or each of a batch by itself, mirrored along its width with probability 1/2.

    >>> random_flip_left_right([[[1], [2]]]).shape
    TensorShape([1, 2, 1])
    """
    return _random_flip("random_flip_left_right", image, -2, sampler(seed))


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """The image, or each of a batch by itself, mirrored along its height with probability 1/2.

    >>> random_flip_up_down([[[1], [2]]]).shape
    TensorShape([1, 2, 1])
    """
    return _random_flip("random_flip_up_down", image, -3, sampler(seed))


def stateless_random_flip_left_right(image: TensorLike, seed: TensorLike) -> Tensor:
    """`random_flip_left_right` as a function of `seed`, two integers.

    >>> stateless_random_flip_left_right([[[1], [2]]], (1, 2)).shape
    TensorShape([1, 2, 1])
    """
    return _random_flip("stateless_random_flip_left_right", image, -2, stateless_sampler(seed))


def stateless_random_flip_up_down(image: TensorLike, seed: TensorLike) -> Tensor:
    """`random_flip_up_down` as a function of `seed`, two integers.

    >>> stateless_random_flip_up_down([[[1], [2]]], (1, 2)).shape
    TensorShape([1, 2, 1])
    """
    return _random_flip("stateless_random_flip_up_down", image, -3, stateless_sampler(seed))


def _random_crop(name: str, value: TensorLike, size: ShapeLike, draw: Callable[..., Tensor]) -> Tensor:
    x = convert(value)
    wanted, shape = static_shape(name, size), x._array.shape
    if len(wanted) != len(shape) or any(not 0 <= w <= n for w, n in zip(wanted, shape, strict=True)):
        raise InvalidArgumentError(
            f"{name}: size must hold, for each axis of shape {list(shape)}, a length up to it, not {list(wanted)}"
        )
    numbers = draw((len(shape),), maxval=np.iinfo(np.int32).max, dtype="int32")._array
    if is_traced(numbers):
        most = np.array([n - w + 1 for n, w in zip(shape, wanted, strict=True)], np.int32)
        return apply(block, (x, convert(numbers % most)), {"sizes": wanted})
    starts = [int(d) % (n - w + 1) for d, n, w in zip(numbers, shape, wanted, strict=True)]
    index = Index((..., *[slice(start, start + w) for start, w in zip(starts, wanted, strict=True)]))
    return apply(getitem, (x,), {"index": index})


def random_crop(
    value: TensorLike, size: ShapeLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """A part of the shape `size`, from a random place, of a tensor of any rank.

    Raises:
        InvalidArgumentError: if `size` is larger than the tensor, or of another rank.

    >>> random_crop([[1, 2, 3], [4, 5, 6]], (2, 1)).shape
    TensorShape([2, 1])
    """
    return _random_crop("random_crop", value, size, sampler(seed))


def stateless_random_crop(
    value: TensorLike, size: ShapeLike, seed: TensorLike, name: str | None = None
) -> Tensor:
    """`random_crop` of the shape `size`, as a function of `seed`, two integers.

    >>> stateless_random_crop([[1, 2, 3], [4, 5, 6]], (2, 1), (1, 2)).shape
    TensorShape([2, 1])
    """
    return _random_crop("stateless_random_crop", value, size, stateless_sampler(seed))


# ---------------------------------------------------------------------------------------------------------------------
# Patches


def _rows_and_columns(what: str, value: Sequence[int]) -> tuple[int, int]:
    numbers = static_shape("extract_patches", value)
    if len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
        raise InvalidArgumentError(
            f"extract_patches: {what} must be [1, rows, columns, 1], both at least 1, not {list(numbers)}"
        )
    return numbers[1], numbers[2]


def extract_patches(
    images: TensorLike,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The patches of a window sliding over a batch of images, each patch flat in the last axis.

    Args:
        sizes: of the window, as [1, rows, columns, 1].
        strides: steps of the window, in the same form.
        rates: steps between the pixels of a window, in the same form.
        padding: 'VALID', or 'SAME', which pads with zeros.

    Raises:
        InvalidArgumentError: if `sizes`, `strides` or `rates` are not of that form.

    >>> extract_patches([[[[1], [2], [3]]]], [1, 1, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID").numpy()[0, 0]
    array([[1, 2],
           [2, 3]], dtype=int32)
    """
    x = as_batch("extract_patches", images)
    choice("extract_patches", "padding", padding, ("SAME", "VALID"))
    size, step, rate = (
        _rows_and_columns(what, value)
        for what, value in (("sizes", sizes), ("strides", strides), ("rates", rates))
    )
    reach = [(k - 1) * r + 1 for k, r in zip(size, rate, strict=True)]
    if padding == "SAME":
        old = x._array.shape[1:3]
        missing = [max(0, (-(-n // s) - 1) * s + k - n) for n, s, k in zip(old, step, reach, strict=True)]
        if any(missing):
            x = pad(x, [[0, 0], *[[m // 2, m - m // 2] for m in missing], [0, 0]])
    # (batch, height, width, channels) -> (batch, channels, width, rows, row in window) -> ...: views up to the reshape.
    x = permute(x, (0, 3, 2, 1))
    x = _framed(x, reach[0], step[0], rate[0])
    x = permute(x, (0, 1, 3, 4, 2))
    x = _framed(x, reach[1], step[1], rate[1])
    x = permute(x, (0, 2, 4, 3, 5, 1))
    shape = x._array.shape
    return reshape(x, (*shape[:3], shape[3] * shape[4] * shape[5]))


def _framed(x: Tensor, reach: int, step: int, rate: int) -> Tensor:
    x = apply(frame_, (x,), {"length": reach, "step": step})
    return x if rate == 1 else apply(getitem, (x,), {"index": Index((..., slice(None, None, rate)))})


def extract_volume_patches(
    input: TensorLike,
    ksizes: Sequence[int],
    strides: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The patches of a window sliding over a batch of volumes, each patch flat in the last axis.

    Args:
        input: of shape (batch, planes, rows, columns, channels).
        ksizes: of the window, as [1, planes, rows, columns, 1].
        strides: steps of the window, in the same form.
        padding: 'VALID', or 'SAME', which pads with zeros.

    Raises:
        InvalidArgumentError: if `ksizes` or `strides` are not of that form, or `input` has not five axes.

    >>> volume = [[[[[1], [2], [3]]]]]
    >>> extract_volume_patches(volume, [1, 1, 1, 2, 1], [1, 1, 1, 1, 1], "VALID").numpy()[0, 0, 0]
    array([[1, 2], [2, 3]], dtype=int32)
    """
    x = convert(input)
    if x.ndim != 5:
        raise InvalidArgumentError(
            f"extract_volume_patches: input must have 5 axes, not the shape {list(x.shape)}"
        )
    choice("extract_volume_patches", "padding", padding, ("SAME", "VALID"))
    size, step = (_three(what, value) for what, value in (("ksizes", ksizes), ("strides", strides)))
    if padding == "SAME":
        old = x._array.shape[1:4]
        missing = [max(0, (-(-n // s) - 1) * s + k - n) for n, s, k in zip(old, step, size, strict=True)]
        if any(missing):
            x = pad(x, [[0, 0], *[[m // 2, m - m // 2] for m in missing], [0, 0]])
    for length, by in zip(size, step, strict=True):  # (batch, axis, ..., channels, windows so far)
        ahead = tuple(range(x.ndim))
        x = permute(x, (0, *ahead[2:], 1))
        x = apply(frame_, (x,), {"length": length, "step": by})
    # (batch, channels, planes, plane in window, rows, row in window, columns, column in window)
    x = permute(x, (0, 2, 4, 6, 3, 5, 7, 1))
    shape = x._array.shape
    return reshape(x, (*shape[:4], int(np.prod(shape[4:]))))


def _three(what: str, value: Any) -> tuple[int, int, int]:
    numbers = static_shape("extract_volume_patches", value)
    if len(numbers) != 5 or numbers[0] != 1 or numbers[4] != 1 or min(numbers) < 1:
        raise InvalidArgumentError(
            f"extract_volume_patches: {what} must be [1, planes, rows, columns, 1], not {list(numbers)}"
        )
    return numbers[1], numbers[2], numbers[3]
