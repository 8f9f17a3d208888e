"""Random bits by counting, and the distributions made of them: TensorFlow's numbers for a key and a counter.

Philox (Salmon et al., 2011) scrambles a 128-bit counter under a 64-bit key into 128 random bits: four words a block.
Any stretch of the sequence is computed at once, and results are flat arrays. Keys and counters are Python integers;
where a `@function` computes them, a key is a uint64 of JAX's and a counter two of them, the lower half first.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...engine.arrays import xp

_MULTIPLIER = 0xD2511F53, 0xCD9E8D57
_STEP = 0x9E3779B9, 0xBB67AE85  # added to the halves of the key in each round
_ROUNDS = 10
_MULTIPLIERS = np.array(_MULTIPLIER, np.uint64)[:, None]
# Added to the key by then: a row for each round.
_WEYL = np.array(_STEP, np.uint64)[:, None] * np.arange(_ROUNDS, dtype=np.uint64)[:, None, None]
_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)
_HALF_WORD = 0xFFFF_FFFF
_COUNTER = (1 << 128) - 1
# Up to so many blocks, Python's integers are quicker than arrays: 3 blocks take 11 us instead of 80.
_FEW = 96
_CHUNK = 1 << 14  # blocks computed at once: 4 times as fast while they fit the cache

MASK64 = 0xFFFF_FFFF_FFFF_FFFF
WORDS = 4  # 32-bit words in a block
RESERVED = 256  # blocks that TensorFlow reserves for each number, however many it needs


def blocks(key: Any, counter: Any, count: int) -> Any:
    """`count` blocks from `counter` on, as uint32 of shape (count, 4)."""
    if type(key) is int and count <= _FEW:
        return _few_blocks(key, range(counter, counter + count))
    if count <= _CHUNK or xp(key) is not np:
        return blocks_at(key, counter, xp(key).arange(count, dtype=np.uint64))
    out = np.empty((count, WORDS), np.uint32)
    for start in range(0, count, _CHUNK):
        out[start : start + _CHUNK] = blocks(key, counter + start, min(_CHUNK, count - start))
    return out


def blocks_at(key: Any, counter: Any, offsets: Any) -> Any:
    """The blocks at `counter + offsets`, where offsets are of uint64; each takes ten rounds.

    A round multiplies the even words, and mixes the upper halves of the products with the odd words and the key; the
    lower halves are the next odd words.
    """
    if type(key) is int and len(offsets) <= _FEW:
        return _few_blocks(key, [counter + offset for offset in offsets.tolist()])
    m = xp(key)
    keys = (_halves(key) if m is np else m.stack([key & _LOW, key >> _HALF])[:, None]) + _WEYL & _LOW
    even, odd = _counters(counter, offsets)
    for round_key in keys:
        even *= _MULTIPLIERS
        products = even[::-1]
        even = products >> _HALF
        even ^= odd
        even ^= round_key
        odd = products & _LOW
    if m is not np:
        return m.stack([even[0], odd[0], even[1], odd[1]], 1).astype(np.uint32)
    out = np.empty((len(offsets), WORDS), np.uint32)
    out[:, 0], out[:, 1], out[:, 2], out[:, 3] = even[0], odd[0], even[1], odd[1]
    return out


def _few_blocks(key: int, counters: Iterable[int]) -> Any:
    """Few blocks: the ten rounds on one long integer for each word, in which each block has a lane of 128 bits.

    A word takes the lowest 32 bits of its lane, and a product of words 64, so that no lane runs over into the next.
    """
    lanes = b"".join([(counter & _COUNTER).to_bytes(16, "little") for counter in counters])
    low, round_keys = _for_lanes(key, len(lanes) // 16)
    words = int.from_bytes(lanes, "little")
    even0, odd0, even1, odd1 = words & low, words >> 32 & low, words >> 64 & low, words >> 96 & low
    for key0, key1 in round_keys:
        product0, product1 = even0 * _MULTIPLIER[0], even1 * _MULTIPLIER[1]
        even0 = (product1 >> 32 & low) ^ odd0 ^ key0
        even1 = (product0 >> 32 & low) ^ odd1 ^ key1
        odd0, odd1 = product1 & low, product0 & low
    words = even0 | odd0 << 32 | even1 << 64 | odd1 << 96
    out = np.frombuffer(bytearray(words.to_bytes(len(lanes), "little")), _LITTLE_ENDIAN)
    return out.astype(np.uint32, copy=False).reshape(-1, WORDS)


_LITTLE_ENDIAN = np.dtype("<u4")


@functools.lru_cache(maxsize=16)  # most programs have one key for all
def _for_lanes(key: int, count: int) -> tuple[int, list[tuple[int, int]]]:
    """For integers of `count` lanes: the mask of the words, and the two halves of each round's key in every lane."""
    ones = int.from_bytes((b"\1" + bytes(15)) * count, "little")
    halves = [
        ((key + i * _STEP[0] & _HALF_WORD) * ones, ((key >> 32) + i * _STEP[1] & _HALF_WORD) * ones)
        for i in range(_ROUNDS)
    ]
    return ones * _HALF_WORD, halves


def _halves(key: int) -> Any:
    return np.array([[key & 0xFFFF_FFFF], [key >> 32]], np.uint64)


def _counters(counter: Any, offsets: Any) -> tuple[Any, Any]:
    """The even and the odd words of the 128-bit numbers counter + offsets."""
    if isinstance(counter, int):
        counter = np.uint64(counter & MASK64), np.uint64(counter >> 64 & MASK64)
    low = counter[0] + offsets
    high = counter[1] + (low < offsets)
    both = xp(low).stack([low, high])
    return both & _LOW, both >> _HALF


_SCRAMBLING_KEY = 0x02461E293EC8F720


def scramble_seed(seed: Any) -> tuple[Any, Any]:
    """The key and the counter for the seed of a stateless operation, an array of two integers."""
    m = xp(seed)
    if m is np:
        low, high = seed.tolist()
        mixed = blocks(_SCRAMBLING_KEY, (high & MASK64) << 64 | low & MASK64, 1)[0].tolist()
        return mixed[0] | mixed[1] << 32, (mixed[2] | mixed[3] << 32) << 64
    key = m.asarray(np.uint64(_SCRAMBLING_KEY))
    signed = seed if seed.dtype.kind == "u" else seed.astype(np.int64)
    words = blocks(key, signed.astype(np.uint64), 1)[0].astype(np.uint64)
    halves = words[::2] | words[1::2] << _HALF
    return halves[0], m.stack([m.zeros((), np.uint64), halves[1]])


def advanced(counter: Any, count: int) -> Any:
    """The counter advanced by `count` blocks."""
    if isinstance(counter, int):
        return counter + count
    low = counter[0] + np.uint64(count)
    return xp(low).stack([low, counter[1] + (low < np.uint64(count))])


# ---------------------------------------------------------------------------------------------------------------------
# Distributions


def _words_each(dtype: Any) -> int:
    return 2 if dtype.itemsize == 8 else 1


def _words(key: Any, counter: Any, size: int, dtype: Any) -> Any:
    """The words for `size` numbers of a dtype, in order, up to the end of the last block."""
    return blocks(key, counter, -(-size * _words_each(dtype) // WORDS)).reshape(-1)


_MANTISSA = np.array(0x7F_FFFF, np.uint32)
_EXPONENT = np.array(127 << 23, np.uint32)
_ONE = np.array(1, np.float32)
_FULL_TURN = np.array(2 * np.pi)
_LEAST = {np.dtype(kind): np.array(1e-7, kind) for kind in (np.float32, np.float64)}
_MINUS_TWO = {kind: np.array(-2, kind) for kind in _LEAST}


def _fractions(words: Any, dtype: Any) -> Any:
    """Words as numbers in [0, 1): random mantissas with the exponent of [1, 2), less 1."""
    if dtype.itemsize == 8:
        words = words.reshape(-1, 2).astype(np.uint64)
        mantissa = (words[:, 0] & np.uint64(0xF_FFFF)) << _HALF | words[:, 1]
        return (mantissa | np.uint64(1023 << 52)).view(dtype) - dtype.type(1)
    if dtype.itemsize == 4:
        return (words & _MANTISSA | _EXPONENT).view(dtype) - _ONE
    bits, one = (10, 15 << 10) if dtype.kind == "f" else (7, 127 << 7)  # float16, bfloat16
    return ((words & np.uint32((1 << bits) - 1)) | np.uint32(one)).astype(np.uint16).view(dtype) - dtype.type(
        1
    )


def uniform(key: Any, counter: Any, size: int, dtype: Any) -> Any:
    """Numbers in [0, 1) of a floating dtype."""
    return _fractions(_words(key, counter, size, dtype), dtype)[:size]


def integers(key: Any, counter: Any, size: int, dtype: Any) -> Any:
    """Integers of all values of a dtype of 32 or 64 bits."""
    words = _words(key, counter, size, dtype)
    if dtype.itemsize == 8:
        pairs = words.reshape(-1, 2).astype(np.uint64)
        words = pairs[:, 0] | pairs[:, 1] << _HALF
    return words[:size].view(dtype)


def integers_between(key: Any, counter: Any, size: int, low: Any, high: Any, dtype: Any) -> Any:
    """Integers in [low, high): remainders, so that the numbers are TensorFlow's."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    if xp(low, high) is np:
        span: Any = unsigned.type(int(high) - int(low))
        low = np.asarray(low, dtype)
    else:
        span = (high - low).view(unsigned)
    drawn = integers(key, counter, size, unsigned) % span
    return (drawn + low.view(unsigned)).view(dtype)


def _normal_pairs(words: Any, dtype: Any) -> Any:
    """Two normally distributed numbers from every two uniform ones (Box and Muller)."""
    wide = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
    u = _fractions(words, wide).reshape(-1, 2)
    m = xp(u)
    radius = m.sqrt(m.log(m.maximum(u[:, 0], _LEAST[wide])) * _MINUS_TWO[wide])
    angle = (u[:, 1] * _FULL_TURN).astype(wide)
    if m is not np:
        return m.stack([m.sin(angle) * radius, m.cos(angle) * radius], axis=1).astype(dtype)
    pairs = np.empty(u.shape, wide)
    np.multiply(np.sin(angle), radius, pairs[:, 0])
    np.multiply(np.cos(angle), radius, pairs[:, 1])
    return pairs.astype(dtype, copy=False)


def normal(key: Any, counter: Any, size: int, dtype: Any) -> Any:
    """Normally distributed numbers of mean 0 and deviation 1."""
    if dtype.itemsize == 8:  # two numbers, four words: always a whole block
        return _normal_pairs(_words(key, counter, size + size % 2, dtype), dtype).reshape(-1)[:size]
    return _normal_pairs(_words(key, counter, size, dtype), dtype).reshape(-1)[:size]


def truncated_normal(key: Any, counter: Any, size: int, dtype: Any) -> Any:
    """Normally distributed numbers below 2 in magnitude.

    Each group of as many numbers as a block gives has a stretch of the sequence to itself, and takes its first numbers
    below 2 in order.
    """
    group = WORDS // _words_each(dtype)
    count = -(-size // group)
    starts = xp(key).arange(count, dtype=np.uint64) * np.uint64(group * RESERVED // WORDS)
    if xp(key) is not np:
        return _truncated_by_jax(key, counter, starts, group, dtype).reshape(-1)[:size]
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


def _truncated_by_jax(key: Any, counter: Any, starts: Any, group: int, dtype: Any) -> Any:
    """Draw for all groups at each step, until all are full."""
    from jax import lax

    m, count = xp(key), len(starts)

    def is_open(state: Any) -> Any:
        return (state[1] < group).any()

    def take(state: Any) -> Any:
        out, filled, step = state
        words = blocks_at(key, counter, starts + step)
        drawn = _normal_pairs(words.reshape(-1), dtype).reshape(count, -1)
        good = abs(drawn) < 2
        position = m.where(good, filled[:, None] + m.cumsum(good, axis=1) - 1, -1)
        hits = position[:, None, :] == np.arange(group)[:, None]  # (group, slot, number drawn)
        new = m.where(hits, drawn[:, None, :], np.zeros((), dtype)).sum(2)
        return m.where(hits.any(2), new, out), filled + good.sum(axis=1), step + np.uint64(1)

    nothing = m.zeros((count, group), dtype), m.zeros(count, int), m.zeros((), np.uint64)
    return lax.while_loop(is_open, take, nothing)[0]


def _steps() -> Iterator[np.uint64]:
    step = 0
    while True:
        yield np.uint64(step)
        step += 1


def categories(key: Any, counter: Any, logits: Any, count: int) -> Any:
    """`count` classes for each row of logits: the places of uniform numbers among the cumulative probabilities."""
    m = xp(logits, key)
    finite = m.isfinite(logits)
    wide = m.where(finite, logits, 0).astype(np.float64)
    top = m.max(wide, axis=1, keepdims=True, initial=-np.inf, where=finite)
    weights = m.where(finite, m.exp(wide - m.where(m.isfinite(top), top, 0)), 0.0)
    cumulative = m.cumsum(weights, axis=1)
    drawn = uniform(key, counter, len(logits) * count, np.dtype(np.float64)).reshape(len(logits), count)
    drawn = drawn * cumulative[:, -1:]
    if (
        m is not np or drawn.size * logits.shape[1] <= 4096
    ):  # all at once: a tenth of the time if there are few
        return (drawn[:, :, None] >= cumulative[:, None, :]).sum(2)
    found = np.empty(drawn.shape, np.int64)
    for row, (edges, wanted) in enumerate(zip(cumulative, drawn, strict=True)):
        found[row] = np.searchsorted(edges, wanted, side="right")
    return found


def permutation(key: Any, counter: Any, size: int) -> Any:
    """A random order of `size` things: each in turn is exchanged with itself or a later one (Fisher and Yates)."""
    places = np.arange(size - 1)
    partners = places + blocks(key, counter, -(-(size - 1) // WORDS)).reshape(-1)[: size - 1] % (
        size - places
    )
    if xp(key) is not np:
        return _exchanged_by_jax(partners, size)
    order = list(range(size))
    for i, j in enumerate(partners.tolist()):  # one after the other: each exchange sees those before it
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def _exchanged_by_jax(partners: Any, size: int) -> Any:
    from jax import lax

    def exchange(i: Any, order: Any) -> Any:
        j = partners[i]
        return order.at[i].set(order[j]).at[j].set(order[i])

    return lax.fori_loop(0, size - 1, exchange, xp(partners).arange(size))
