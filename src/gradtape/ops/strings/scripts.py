"""The script of a character: Latin, Greek, Han, ... `scripts.txt` has the numbers that ICU gives them."""

from __future__ import annotations

import functools
from importlib import resources

import numpy as np

from ...core.errors import DTypeError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import xp

_CODES = 0x110000  # of characters


def unicode_script(input: TensorLike, name: str | None = None) -> Tensor:
    """The scripts of characters, by ICU's numbers: 25 is Latin, 8 Cyrillic, 17 Han, 0 common to several; -1 is none.

    Args:
        input: the codes of characters, int32, such as `unicode_decode` gives.

    Raises:
        DTypeError: if they are not int32.

    >>> unicode_script([ord("a"), ord("я"), ord("!")]).numpy()
    array([25,  8,  0], dtype=int32)
    """
    codes = convert(input)._array
    if codes.dtype != np.int32:
        raise DTypeError(f"strings.unicode_script takes int32, not {codes.dtype}: use tf.cast(x, 'int32')")
    m, (starts, scripts) = xp(codes), _table()
    found = m.asarray(scripts)[
        m.searchsorted(m.asarray(starts), m.clip(codes, 0, _CODES - 1), side="right") - 1
    ]
    return wrap(m.asarray(m.where((codes >= 0) & (codes < _CODES), found, np.int32(-1))))


@functools.cache
def _table() -> tuple[np.ndarray, np.ndarray]:
    """Where characters of a script begin, and which it is."""
    text = resources.files(__package__).joinpath("scripts.txt").read_text(encoding="ascii")
    lines = [line.split() for line in text.splitlines()]
    return np.array([int(line[0], 16) for line in lines], np.int32), np.array(
        [line[1] for line in lines], np.int32
    )
