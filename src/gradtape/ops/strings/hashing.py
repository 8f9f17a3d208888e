"""Hashes of strings, bit by bit as TensorFlow's: FarmHash's fingerprint, SipHash-2-4, and MurmurHash.

Python's integers are cut to 64 bits after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.types import TensorLike
from ..scalars import integer
from .texts import each, strings

_MASK = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F  # FarmHash's primes


def _rotated(x: int, right: int) -> int:
    return (x >> right | x << (64 - right)) & _MASK


def _word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def fingerprint(data: bytes) -> int:
    """FarmHash's Fingerprint64.

    >>> fingerprint(b"")
    11160318154034397263
    """
    size = len(data)
    if size <= 16:
        return _fingerprint_16(data, size)
    if size <= 32:
        return _fingerprint_32(data, size)
    return _fingerprint_64(data, size) if size <= 64 else _fingerprint_long(data, size)


def _mixed(x: int) -> int:
    return x ^ x >> 47


def _pair(u: int, v: int, factor: int) -> int:
    a = _mixed((u ^ v) * factor & _MASK)
    b = _mixed((v ^ a) * factor & _MASK)
    return b * factor & _MASK


def _fingerprint_16(data: bytes, size: int) -> int:
    factor = _K2 + size * 2 & _MASK
    if size >= 8:
        a, b = _word(data, 0) + _K2 & _MASK, _word(data, size - 8)
        c = _rotated(b, 37) * factor + a & _MASK
        return _pair(c, (_rotated(a, 25) + b) * factor & _MASK, factor)
    if size >= 4:
        return _pair(size + (_word(data, 0, 4) << 3), _word(data, size - 4, 4), factor)
    if size:
        y = data[0] + (data[size >> 1] << 8)
        z = size + (data[size - 1] << 2)
        return _mixed((y * _K2 ^ z * _K0) & _MASK) * _K2 & _MASK
    return _K2


def _fingerprint_32(data: bytes, size: int) -> int:
    factor = _K2 + size * 2 & _MASK
    a, b = _word(data, 0) * _K1 & _MASK, _word(data, 8)
    c, d = _word(data, size - 8) * factor & _MASK, _word(data, size - 16) * _K2 & _MASK
    first = _rotated(a + b & _MASK, 43) + _rotated(c, 30) + d & _MASK
    return _pair(first, a + _rotated(b + _K2 & _MASK, 18) + c & _MASK, factor)


def _fingerprint_64(data: bytes, size: int) -> int:
    factor = _K2 + size * 2 & _MASK
    a, b = _word(data, 0) * _K2 & _MASK, _word(data, 8)
    c, d = _word(data, size - 8) * factor & _MASK, _word(data, size - 16) * _K2 & _MASK
    y = _rotated(a + b & _MASK, 43) + _rotated(c, 30) + d & _MASK
    z = _pair(y, a + _rotated(b + _K2 & _MASK, 18) + c & _MASK, factor)
    e, f = _word(data, 16) * factor & _MASK, _word(data, 24)
    g = (y + _word(data, size - 32)) * factor & _MASK
    h = (z + _word(data, size - 24)) * factor & _MASK
    first = _rotated(e + f & _MASK, 43) + _rotated(g, 30) + h & _MASK
    return _pair(first, e + _rotated(f + a & _MASK, 18) + g & _MASK, factor)


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """The state (a, b) after 32 more bytes."""
    w, x, y, z = (_word(data, at + i) for i in (0, 8, 16, 24))
    a = a + w & _MASK
    b = _rotated(b + a + z & _MASK, 21)
    c, a = a, a + x + y & _MASK
    b = b + _rotated(a, 44) & _MASK
    return a + z & _MASK, b + c & _MASK


def _fingerprint_long(data: bytes, size: int) -> int:
    x = 81
    y = 81 * _K1 + 113 & _MASK
    z = _mixed(y * _K2 + 113 & _MASK) * _K2 & _MASK
    v, w = (0, 0), (0, 0)
    x = x * _K2 + _word(data, 0) & _MASK
    end = (size - 1) // 64 * 64
    for at in range(0, end, 64):
        x, y, z, v, w = _round(data, at, x, y, z, v, w, _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1) & _MASK
    w = w[0] + (size - 1 & 63) & _MASK, w[1]
    v = v[0] + w[0] & _MASK, v[1]
    w = w[0] + v[0] & _MASK, w[1]
    x, y, z, v, w = _round(data, size - 64, x, y, z, v, w, factor, 9)
    first = _pair(v[0], w[0], factor) + _mixed(y) * _K0 + z & _MASK
    return _pair(first, _pair(v[1], w[1], factor) + x & _MASK, factor)


def _round(
    data: bytes,
    at: int,
    x: int,
    y: int,
    z: int,
    v: tuple[int, int],
    w: tuple[int, int],
    factor: int,
    weight: int,
) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
    """The state after 64 more bytes."""
    x = _rotated(x + y + v[0] + _word(data, at + 8) & _MASK, 37) * factor & _MASK
    y = _rotated(y + v[1] + _word(data, at + 48) & _MASK, 42) * factor & _MASK
    x ^= w[1] * weight & _MASK
    y = y + v[0] * weight + _word(data, at + 40) & _MASK
    z = _rotated(z + w[0] & _MASK, 33) * factor & _MASK
    v = _weak(data, at, v[1] * factor & _MASK, x + w[0] & _MASK)
    w = _weak(data, at + 32, z + w[1] & _MASK, y + _word(data, at + 16) & _MASK)
    return z, y, x, v, w


def joined_fingerprints(first: int, second: int) -> int:
    """The fingerprint of a pair of things, given that of each, as TensorFlow joins them.

    >>> joined_fingerprints(0xDECAFCAFFE, 1) % ((1 << 63) - 1)
    5199413699614396413
    """
    factor = 0xC6A4A7935BD1E995
    out = first ^ factor
    out = (out ^ _mixed(second * factor & _MASK) * factor & _MASK) * factor & _MASK
    return _mixed(_mixed(out) * factor & _MASK)


def siphash(data: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4 with a key of two 64-bit numbers."""
    k0, k1 = key[0] & _MASK, key[1] & _MASK
    state = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]
    whole = len(data) // 8 * 8
    words = [_word(data, at) for at in range(0, whole, 8)]
    words.append(_word(data, whole) | (len(data) & 0xFF) << 56)
    for word in words:
        state[3] ^= word
        _sip_rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _sip_rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_rounds(v: list[int], count: int) -> None:
    left = lambda x, n: _rotated(x, 64 - n)
    for _ in range(count):
        v[0] = v[0] + v[1] & _MASK
        v[2] = v[2] + v[3] & _MASK
        v[1], v[3] = left(v[1], 13) ^ v[0], left(v[3], 16) ^ v[2]
        v[0] = left(v[0], 32) + v[3] & _MASK
        v[2] = v[2] + v[1] & _MASK
        v[1], v[3] = left(v[1], 17) ^ v[2], left(v[3], 21) ^ v[0]
        v[2] = left(v[2], 32)


def murmur(data: bytes) -> int:
    """MurmurHash64A, with the seed of TensorFlow's `to_hash_bucket`."""
    factor = 0xC6A4A7935BD1E995
    h = (0xDECAFCAFFE ^ len(data) * factor) & _MASK
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        k = _word(data, at) * factor & _MASK
        k = (k ^ k >> 47) * factor & _MASK
        h = (h ^ k) * factor & _MASK
    if whole < len(data):
        h = (h ^ _word(data, whole)) * factor & _MASK
    h = (h ^ h >> 47) * factor & _MASK
    return h ^ h >> 47


def _buckets(operation: str, input: TensorLike, num_buckets: int, hashed: Callable[[bytes], int]) -> Tensor:
    count = integer(f"strings.{operation}", "num_buckets", num_buckets, 1)
    return wrap(each(lambda content: hashed(content) % count, strings(operation, input), np.int64))


def to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """The number of each string's bucket: its fingerprint, modulo their number.

    Args:
        num_buckets: how many there are.

    >>> to_hash_bucket_fast(["a", "b"], 10).shape
    TensorShape([2])
    """
    return _buckets("to_hash_bucket_fast", input, num_buckets, fingerprint)


def to_hash_bucket_strong(
    input: TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """The number of each string's bucket, by a keyed hash that others cannot predict.

    Args:
        num_buckets: how many there are.
        key: two numbers of 64 bits.

    Raises:
        InvalidArgumentError: if the key is not two numbers.

    >>> to_hash_bucket_strong("a", 10, [1, 2]).shape
    TensorShape([])
    """
    if not isinstance(key, (list, tuple)) or len(key) != 2 or not all(type(k) is int for k in key):
        raise InvalidArgumentError(f"strings.to_hash_bucket_strong: key must be two integers, not {key!r}")
    pair = int(key[0]), int(key[1])
    return _buckets("to_hash_bucket_strong", input, num_buckets, lambda content: siphash(content, pair))


def to_hash_bucket(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """The number of each string's bucket, as TensorFlow's oldest operation gives it.

    Args:
        num_buckets: how many there are.

    >>> to_hash_bucket("a", 10).shape
    TensorShape([])
    """
    return _buckets("to_hash_bucket", input, num_buckets, murmur)
