"""JPEG files of the usual kinds, decoded by simplejpeg in a third of Pillow's time, to TensorFlow's pixels.

Pillow first fills an image of four bytes for each pixel, and copies it. What this file does not decode (CMYK, damaged
files) is left to Pillow, and so is everything where simplejpeg is not installed.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..ops.known import afford

_USUAL = ("YCbCr", "Gray")


@functools.cache
def _library() -> Any:
    """The module simplejpeg, or None."""
    try:
        import simplejpeg
    except ImportError:
        return None
    return simplejpeg


def pixels(operation: str, contents: bytes, channels: int, accurate: bool, smooth: bool) -> np.ndarray | None:
    """The pixels of a JPEG, of shape (height, width, channels); None if Pillow has to decode it.

    Args:
        operation: for the error.
        channels: 1 for grey, 3 for colour, 0 for what the file has.
        accurate: whether to take the slower transform.
        smooth: whether to interpolate colours.

    Raises:
        ResourceExhaustedError: if the memory does not hold the pixels.
    """
    library = _library()
    if library is None:
        return None
    try:
        height, width, colours, _ = library.decode_jpeg_header(contents)
        if colours not in _USUAL:
            return None
        afford(operation, (height, width, 4), 4)
        grey = channels == 1 or (channels == 0 and colours == "Gray")
        found: np.ndarray = library.decode_jpeg(
            contents, "Gray" if grey else "RGB", fastdct=not accurate, fastupsample=not smooth
        )
    except ValueError:  # damaged: Pillow says how, or recovers
        return None
    return found
