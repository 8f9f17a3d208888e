"""Strings laid end to end in one NumPy array of bytes, where many are measured and cut at once.

A loop over 10,000 strings of 15 bytes takes 7 ms to count their UTF-8 characters, and 48 ms to decode them; over the
bytes laid end to end these take 0.6 and 0.9 ms (processor time).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

SINGLE = np.array([bytes([i]) for i in range(256)], object)  # every string of one byte


def laid_out(array: np.ndarray) -> tuple[bytes, np.ndarray, np.ndarray]:
    """The strings of an array as one, the same as numbers, and the length of each string."""
    elements = array.reshape(-1).tolist()
    content = b"".join(elements)
    lengths = np.fromiter(map(len, elements), np.int64, len(elements))
    return content, np.frombuffer(content, np.uint8), lengths


def sums_of(marks: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The sum of the marks of each string's bytes."""
    sums = np.zeros(len(marks) + 1, np.int64)
    np.cumsum(marks, out=sums[1:])
    ends = np.cumsum(lengths)
    counted: np.ndarray = sums[ends] - sums[ends - lengths]
    return counted


def starts_character(content: np.ndarray) -> np.ndarray:
    """Where a character of UTF-8 begins: bytes of the form 10xxxxxx go on with one."""
    return (content & 0xC0) != 0x80


def character_counts(array: np.ndarray) -> np.ndarray:
    """How many UTF-8 characters each string has."""
    _, content, lengths = laid_out(array)
    return sums_of(starts_character(content), lengths)


class Characters(NamedTuple):
    """The characters of many strings: their codes, the place of each in its string, and how many a string has."""

    codes: np.ndarray
    places: np.ndarray
    counts: np.ndarray


def utf8_characters(array: np.ndarray) -> Characters | None:
    """The characters of strings; None if one of them is not valid UTF-8."""
    content, bytes_, lengths = laid_out(array)
    begins = starts_character(bytes_)
    first = np.cumsum(lengths) - lengths
    if not begins[first[lengths > 0]].all():  # what is valid as a whole may be cut inside of a character
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    codes = np.frombuffer(text.encode("utf-32-le"), "<i4").astype(np.int32)
    counts = sums_of(begins, lengths)
    places = np.flatnonzero(begins) - np.repeat(first, counts)
    return Characters(codes, places, counts)


def as_strings(codes: np.ndarray) -> np.ndarray:
    """Each character as a string of UTF-8."""
    kinds, which = np.unique(codes, return_inverse=True)
    made: Any = [chr(code).encode() for code in kinds.tolist()]
    return np.fromiter(made, object, len(made))[which]
