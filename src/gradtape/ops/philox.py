"""Random bits by counting, and the distributions made of them: TensorFlow's numbers for a key and a counter.

Philox (Salmon et al., 2011) scrambles a 128-bit counter under a 64-bit key into 128 random bits: four words a block.
Any stretch of the sequence is computed at once. Keys and counters are Python integers here, results are flat arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_MULTIPLIERS = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
_WEYL = (
    np.array([[0x9E3779B9], [0xBB67AE85]], np.uint64) * np.arange(10, dtype=np.uint64)[:, None, None]
)  # a row a round
_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)
_CHUNK = 1 << 14  # blocks at once: what fits the cache is 4 times as fast

WORDS = 4  # 32-bit words in a block
RESERVED = 256  # blocks TensorFlow sets aside for each number, whatever it needs


def blocks(key: int, counter: int, count: int) -> Any:
    """`count` blocks from `counter` on, as uint32 of shape (count, 4)."""
    if count <= _CHUNK:
        return blocks_at(key, counter, np.arange(count, dtype=np.uint64))
    out = np.empty((count, WORDS), np.uint32)
    for start in range(0, count, _CHUNK):
        out[start : start + _CHUNK] = blocks(key, counter + start, min(_CHUNK, count - start))
    return out


def blocks_at(key: int, counter: int, offsets: Any) -> Any:
    """The blocks `offsets` (uint64) behind `counter`, each of ten rounds.

    A round multiplies the even words, and mixes the upper halves of the products with the odd words and the key; the
    lower halves are the next odd words.
    """
    keys = np.array([[key & 0xFFFF_FFFF], [key >> 32]], np.uint64) + _WEYL & _LOW
    even, odd = _counters(counter, offsets)
    for round_key in keys:
        even *= _MULTIPLIERS
        products = even[::-1]
        even = products >> _HALF
        even ^= odd
        even ^= round_key
        odd = products & _LOW
    out = np.empty((len(offsets), WORDS), np.uint32)
    out[:, 0], out[:, 1], out[:, 2], out[:, 3] = even[0], odd[0], even[1], odd[1]
    return out


def _counters(counter: int, offsets: Any) -> tuple[Any, Any]:
    """counter + offsets as 128-bit numbers: the even words of each, and the odd ones."""
    low = np.uint64(counter & 0xFFFF_FFFF_FFFF_FFFF) + offsets
    high = np.uint64(counter >> 64 & 0xFFFF_FFFF_FFFF_FFFF) + (low < offsets)
    both = np.array([low, high])
    return both & _LOW, both >> _HALF


def scramble_seed(seed: tuple[int, int]) -> tuple[int, int]:
    """The key and counter that stateless operations take from a seed of two numbers."""
    low, high = (s & 0xFFFF_FFFF_FFFF_FFFF for s in seed)
    mixed = [int(word) for word in blocks(0x02461E293EC8F720, high << 64 | low, 1)[0]]
    return mixed[0] | mixed[1] << 32, (mixed[2] | mixed[3] << 32) << 64


# ---------------------------------------------------------------------------------------------------------------------
# Distributions


def _words_each(dtype: Any) -> int:
    return 2 if dtype.itemsize == 8 else 1


def _words(key: int, counter: int, size: int, dtype: Any) -> Any:
    """Words for `size` numbers of a dtype, in order; what is left of the last block included."""
    return blocks(key, counter, -(-size * _words_each(dtype) // WORDS)).reshape(-1)


def _fractions(words: Any, dtype: Any) -> Any:
    """Words as numbers in [0, 1): random mantissas behind the exponent of [1, 2), less 1."""
    if dtype.itemsize == 8:
        words = words.reshape(-1, 2).astype(np.uint64)
        mantissa = (words[:, 0] & np.uint64(0xF_FFFF)) << _HALF | words[:, 1]
        return (mantissa | np.uint64(1023 << 52)).view(dtype) - dtype.type(1)
    if dtype.itemsize == 4:
        return ((words & np.uint32(0x7F_FFFF)) | np.uint32(127 << 23)).view(dtype) - dtype.type(1)
    bits, one = (10, 15 << 10) if dtype.kind == "f" else (7, 127 << 7)  # float16, bfloat16
    return ((words & np.uint32((1 << bits) - 1)) | np.uint32(one)).astype(np.uint16).view(dtype) - dtype.type(
        1
    )


def uniform(key: int, counter: int, size: int, dtype: Any) -> Any:
    """Numbers in [0, 1) of a floating dtype."""
    return _fractions(_words(key, counter, size, dtype), dtype)[:size]


def integers(key: int, counter: int, size: int, dtype: Any) -> Any:
    """Integers of all values of a dtype of 32 or 64 bits."""
    words = _words(key, counter, size, dtype)
    if dtype.itemsize == 8:
        pairs = words.reshape(-1, 2).astype(np.uint64)
        words = pairs[:, 0] | pairs[:, 1] << _HALF
    return words[:size].view(dtype)


def integers_between(key: int, counter: int, size: int, low: Any, high: Any, dtype: Any) -> Any:
    """Integers in [low, high): remainders, so that the numbers are TensorFlow's."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    span = unsigned.type(int(high) - int(low))
    drawn = integers(key, counter, size, unsigned) % span
    return (drawn + np.asarray(low, dtype).view(unsigned)).view(dtype)


def _normal_pairs(words: Any, dtype: Any) -> Any:
    """Two normally distributed numbers from every two uniform ones (Box and Muller)."""
    wide = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
    u = _fractions(words, wide).reshape(-1, 2)
    radius = np.sqrt(-2 * np.log(np.maximum(u[:, 0], wide.type(1e-7))))
    angle = (2 * np.pi * u[:, 1].astype(np.float64)).astype(wide)
    return np.stack([np.sin(angle) * radius, np.cos(angle) * radius], axis=1).astype(dtype)


def normal(key: int, counter: int, size: int, dtype: Any) -> Any:
    """Normally distributed numbers of mean 0 and deviation 1."""
    if dtype.itemsize == 8:  # two numbers, four words: always a whole block
        return _normal_pairs(_words(key, counter, size + size % 2, dtype), dtype).reshape(-1)[:size]
    return _normal_pairs(_words(key, counter, size, dtype), dtype).reshape(-1)[:size]


def truncated_normal(key: int, counter: int, size: int, dtype: Any) -> Any:
    """Normally distributed numbers with those beyond 2 left out.

    Each group of as many numbers as a block gives has a stretch of the sequence to itself, and takes its first numbers
    below 2 in order.
    """
    group = WORDS // _words_each(dtype)
    count = -(-size // group)
    starts = np.arange(count, dtype=np.uint64) * np.uint64(group * RESERVED // WORDS)
    out = np.zeros((count, group), dtype)
    filled = np.zeros(count, int)
    open_ = np.arange(count)
    for step in _steps():
        if not open_.size:
            break
        words = blocks_at(key, counter, starts[open_] + step)
        drawn = _normal_pairs(words.reshape(-1), dtype).reshape(len(open_), -1)
        good = np.abs(drawn) < 2
        position = filled[open_, None] + np.cumsum(good, axis=1) - 1
        taken = good & (position < group)
        rows = np.broadcast_to(open_[:, None], taken.shape)
        out[rows[taken], position[taken]] = drawn[taken]
        filled[open_] += good.sum(axis=1)
        open_ = open_[filled[open_] < group]
    return out.reshape(-1)[:size]


def _steps() -> Iterator[np.uint64]:
    step = 0
    while True:
        yield np.uint64(step)
        step += 1


def categories(key: int, counter: int, logits: Any, count: int) -> Any:
    """For each row of logits `count` classes, by the place of a uniform number among the cumulative probabilities."""
    finite = np.isfinite(logits)
    wide = np.where(finite, logits, 0).astype(np.float64)
    top = np.max(wide, axis=1, keepdims=True, initial=-np.inf, where=finite)
    weights = np.where(finite, np.exp(wide - np.where(np.isfinite(top), top, 0)), 0.0)
    cumulative = np.cumsum(weights, axis=1)
    drawn = uniform(key, counter, len(logits) * count, np.dtype(np.float64)).reshape(len(logits), count)
    drawn = drawn * cumulative[:, -1:]
    found = np.empty(drawn.shape, np.int64)
    for row, (edges, wanted) in enumerate(zip(cumulative, drawn, strict=True)):
        found[row] = np.searchsorted(edges, wanted, side="right")
    return found


def permutation(key: int, counter: int, size: int) -> Any:
    """An order of `size` things: each in turn changes places with one at random from itself on."""
    places = np.arange(size - 1)
    partners = (
        places + blocks(key, counter, -(-(size - 1) // WORDS)).reshape(-1)[: size - 1] % (size - places)
    ).tolist()
    order = list(range(size))
    for i, j in enumerate(partners):  # one after the other: each exchange sees those before it
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)
