"""Candidate samplers: some of many classes, drawn at random, and how often each is expected among them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.dtypes import as_dtype
from ...core.errors import DTypeError, InvalidArgumentError, NotFoundError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, PathLike, TensorLike
from ...engine.arrays import is_traced, xp
from ...engine.host import call
from ..known import afford, known, shape_known
from ..random.stateful import uniform
from ..scalars import boolean, integer, number


class Candidates(NamedTuple):
    """The classes drawn, and how often each true class and each class drawn is expected among them."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes drawn with probability log((c + 2) / (c + 1)) / log(range_max + 1), as words by their frequency are.

    Args:
        true_classes: (batch, num_true).
        num_true: how many true classes a row has.
        num_sampled: how many classes are drawn.
        unique: whether no class is drawn twice.
        range_max: how many classes there are, numbered from 0.
        seed: with the global seed, fixes the draws.

    Raises:
        DTypeError: if `true_classes` are not integers.
        InvalidArgumentError: if `true_classes` has another shape, or fewer classes exist than different ones are drawn.

    >>> log_uniform_candidate_sampler([[1]], 1, 3, True, 3).sampled_candidates.numpy().sum().item()
    3
    """
    range_max = integer("log_uniform_candidate_sampler", "range_max", range_max, least=1)
    span = np.log1p(float(range_max))
    return _sampled(
        "log_uniform_candidate_sampler", true_classes, num_true, num_sampled, unique, range_max, seed,
        draw=lambda u: xp(u).exp(u * span) - 1,
        probability=lambda c: xp(c).log1p(1 / (c + 1.0)) / span,
    )  # fmt: skip


def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes drawn below `range_max`, each as likely as any other. With `unique` no class is drawn twice.

    `true_classes`, `num_true`, `num_sampled` and `seed` are those of `log_uniform_candidate_sampler`.

    >>> uniform_candidate_sampler([[1]], 1, 2, False, 4).true_expected_count.numpy()
    array([[0.5]], dtype=float32)
    """
    range_max = integer("uniform_candidate_sampler", "range_max", range_max, least=1)
    return _sampled(
        "uniform_candidate_sampler", true_classes, num_true, num_sampled, unique, range_max, seed,
        draw=lambda u: u * range_max,
        probability=lambda c: np.full(c.shape, 1 / range_max),
    )  # fmt: skip


def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: PathLike = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes drawn by their weights.

    Args:
        true_classes: (batch, num_true).
        num_true: how many true classes a row has.
        num_sampled: how many classes are drawn.
        unique: whether no class is drawn twice.
        range_max: how many classes there are.
        seed: with the global seed, fixes the draws.
        vocab_file: a file whose lines end with a comma and the weight of a class; instead of `unigrams`.
        distortion: the power to which weights are raised: 0 makes all classes as likely, 1 leaves the weights.
        num_reserved_ids: how many classes come before those that have weights; they are never drawn.
        num_shards, shard: only classes whose number has the remainder `shard` are drawn.
        unigrams: the weight of each class.

    Raises:
        InvalidArgumentError: if there are not `range_max` weights, or too few classes can be drawn.

    >>> fixed_unigram_candidate_sampler([[1]], 1, 2, False, 3, unigrams=[1, 1, 2]).true_expected_count.numpy()
    array([[0.5]], dtype=float32)
    """
    name = "fixed_unigram_candidate_sampler"
    range_max = integer(name, "range_max", range_max, least=1)
    num_shards = integer(name, "num_shards", num_shards, least=1)
    shard, reserved = (
        integer(name, "shard", shard, least=0),
        integer(name, "num_reserved_ids", num_reserved_ids, least=0),
    )
    given = _weights(name, vocab_file, unigrams) ** number(name, "distortion", distortion)
    weights = np.concatenate([np.zeros(reserved), given])
    if len(weights) != range_max or not np.isfinite(weights).all() or (weights < 0).any():
        raise InvalidArgumentError(
            f"{name}: {range_max} classes need as many weights, {reserved} of them reserved, and none negative; "
            f"not {len(given)}"
        )
    weights = weights * (np.arange(range_max) % num_shards == shard)
    possible, total = np.count_nonzero(weights), weights.sum()
    if not possible or (unique and possible < num_sampled):
        raise InvalidArgumentError(
            f"{name}: {num_sampled} {'different ' * bool(unique)}classes cannot be drawn from {possible} with weights"
        )
    sums = np.cumsum(weights)
    return _sampled(
        name, true_classes, num_true, num_sampled, unique, range_max, seed,
        draw=lambda u: xp(u).searchsorted(xp(u).asarray(sums), u * total, side="right"),
        probability=lambda c: xp(c).asarray(weights / total)[c.astype(np.int64)],
    )  # fmt: skip


def _weights(name: str, path: PathLike, unigrams: Sequence[float]) -> np.ndarray:
    """The weights of classes: as they are given, or the last words of a file's lines."""
    given = known(name, "unigrams", convert(unigrams)._array)
    if given.ndim != 1 or given.dtype.kind not in "fiu" or not isinstance(path, (str, os.PathLike)):
        raise InvalidArgumentError(f"{name}: unigrams must be a list of weights, or vocab_file a path")
    if bool(path) == bool(len(given)):
        raise InvalidArgumentError(f"{name}: give either vocab_file or unigrams")
    if not path:
        return given.astype(np.float64)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return np.array([float(line.rpartition(",")[2]) for line in file if line.strip()])
    except ValueError as error:
        raise InvalidArgumentError(
            f"{name}: a line of {path!r} does not end with a weight: {error}"
        ) from None
    except OSError as error:
        raise NotFoundError(f"{name}: the file {path!r} cannot be read: {error}") from error


_learned: dict[Any, np.ndarray] = {}  # weights of the classes, for the arguments of a sampler
_lock = threading.Lock()


def learned_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes drawn by how often calls with the same numbers have had them among their true classes.

    Every class begins with the weight 1, to which each true class adds 1 after the draw. The weights last as long as
    the process, and are not saved.

    Args:
        true_classes: (batch, num_true).
        num_true: how many true classes a row has.
        num_sampled: how many classes are drawn.
        unique: whether no class is drawn twice.
        range_max: how many classes there are, numbered from 0.
        seed: with the global seed, fixes the draws.

    >>> sorted(learned_unigram_candidate_sampler([[1]], 1, 3, True, 3).sampled_candidates.numpy().tolist())
    [0, 1, 2]
    """
    name = "learned_unigram_candidate_sampler"
    true = _true_classes(name, true_classes, num_true)
    range_max, count = (
        integer(name, "range_max", range_max, least=1),
        integer(name, "num_sampled", num_sampled, least=1),
    )
    different = boolean(name, "unique", unique)
    if different and count > range_max:
        raise InvalidArgumentError(f"{name}: {count} different classes cannot be drawn from {range_max}")
    afford(name, (range_max,), 8)
    key = num_true, count, different, range_max, seed

    def draw(true: Any, start: Any) -> tuple[Any, Any, Any]:
        if ((true < 0) | (true >= range_max)).any():
            raise InvalidArgumentError(f"{name}: true_classes must lie from 0 to {range_max - 1}")
        numbers = np.random.Generator(np.random.Philox(int(start)))
        with _lock:
            weights = _learned.setdefault(key, np.ones(range_max))
            share = weights / weights.sum()
            np.add.at(weights, true.reshape(-1), 1)
        sums = np.cumsum(share)

        def place(many: int) -> Any:
            return np.minimum(sums.searchsorted(numbers.random(many), "right"), range_max - 1)

        drawn, tries = place(count), count
        if different:
            drawn, tries = _first_different(drawn, place, count)
        expected = share * count if tries == count else -np.expm1(tries * np.log1p(-share))
        return drawn.astype(np.int64), expected[true].astype(np.float32), expected[drawn].astype(np.float32)

    start = uniform((), minval=0, maxval=1 << 62, dtype="int64", seed=seed)._array
    if is_traced(start) or is_traced(true):
        kinds = [
            ((count,), np.dtype(np.int64)),
            (true.shape, np.dtype(np.float32)),
            ((count,), np.dtype(np.float32)),
        ]
        return Candidates(*map(wrap, call(draw, kinds, [true, start], pure=False)))
    return Candidates(*map(wrap, draw(true, start)))


def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Each of `num_sampled` classes, once: for tests of the loss that a sample approximates.

    `true_classes` has `num_true` classes a row; `unique` and `seed` are not used.

    >>> all_candidate_sampler([[1]], 1, 3, True).sampled_candidates.numpy()
    array([0, 1, 2])
    """
    true = _true_classes("all_candidate_sampler", true_classes, num_true)
    num_sampled = integer("all_candidate_sampler", "num_sampled", num_sampled, least=0)
    ones = np.ones(num_sampled, np.float32)
    return Candidates(wrap(np.arange(num_sampled)), wrap(np.ones(true.shape, np.float32)), wrap(ones))


def _true_classes(name: str, true_classes: TensorLike, num_true: int) -> Any:
    true = convert(true_classes)._array
    if true.dtype.kind not in "iu":
        raise DTypeError(f"{name}: true_classes must be integers, not {true.dtype}")
    num_true = integer(name, "num_true", num_true)
    if true.ndim != 2 or true.shape[1] != num_true:
        raise InvalidArgumentError(
            f"{name}: true_classes must be a matrix with {num_true} numbers a row, not of shape {list(true.shape)}"
        )
    return true


def _sampled(
    name: str,
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None,
    draw: Callable[[Any], Any],
    probability: Callable[[Any], Any],
) -> Candidates:
    true = _true_classes(name, true_classes, num_true)
    num_sampled = integer(name, "num_sampled", num_sampled, least=1)
    if unique and num_sampled > range_max:
        raise InvalidArgumentError(
            f"{name}: {num_sampled} different classes cannot be drawn from {range_max}"
        )

    def draw_classes(count: int) -> Any:
        numbers = uniform((count,), dtype="float64", seed=seed)._array
        return xp(numbers).minimum(draw(numbers).astype(np.int64), range_max - 1)

    drawn = draw_classes(num_sampled)
    tries: Any = num_sampled
    if unique and is_traced(drawn):
        more = uniform((), minval=0, maxval=1 << 62, dtype="int64", seed=seed)._array
        drawn, tries = _different_on_host(drawn, more, draw, range_max)
    elif unique:
        drawn, tries = _first_different(drawn, draw_classes, num_sampled)

    def expected(classes: Any) -> Tensor:
        p = probability(classes.astype(np.float64))
        with np.errstate(divide="ignore"):  # one class has probability 1
            different = -xp(p, tries).expm1(tries * xp(p).log1p(-p)) if unique else 0.0
        # As in TensorFlow, draws that were all different count like draws that need not be.
        count = xp(p, tries).where(tries == num_sampled, p * num_sampled, different)
        return wrap(count.astype(np.float32))

    return Candidates(wrap(drawn), expected(true), expected(drawn))


def _first_different(drawn: Any, draw_classes: Callable[[int], Any], wanted: int) -> tuple[Any, int]:
    """The first `wanted` different classes of `drawn` and, if need be, of more draws; and the number of draws."""
    while True:
        _, first = np.unique(drawn, return_index=True)
        if len(first) >= wanted:
            first = np.sort(first)[:wanted]
            return drawn[first], int(first[-1]) + 1
        drawn = np.concatenate([drawn, draw_classes(len(drawn))])


def _different_on_host(drawn: Any, more: Any, draw: Callable[[Any], Any], range_max: int) -> tuple[Any, Any]:
    """`_first_different` in a `@function`, by a call of the host, because the number of draws is unknown while tracing.

    `more` is the seed of the draws that follow `drawn`.
    """

    def first_different(drawn: Any, more: Any) -> tuple[Any, int]:
        numbers = np.random.Generator(np.random.Philox(int(more)))

        def draw_classes(count: int) -> Any:
            return np.minimum(draw(numbers.random(count)).astype(np.int64), range_max - 1)

        return _first_different(drawn, draw_classes, len(drawn))

    whole = np.dtype(np.int64)
    different, tries = call(first_different, [(drawn.shape, whole), ((), whole)], [drawn, more])
    return different, tries


def accidental_hits(true: Any, drawn: Any, dtype: DTypeLike) -> Any:
    """A very low number where a class drawn is one of a row's true ones, 0 elsewhere: (rows, classes drawn)."""
    lowest = max(float(np.finfo(np.float32).min), float(as_dtype(dtype).min))  # finite: times 0 it must be 0
    hit = (true[:, :, None] == drawn).any(1)
    return xp(hit).where(hit, np.asarray(lowest, dtype), np.zeros((), dtype))


def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The places where classes drawn are true ones: rows, positions in the sample, and the lowest number for each.

    The shape of the result depends on values: a `@function` that calls this runs operation by operation.

    Args:
        true_classes: (batch, num_true).
        sampled_candidates: the classes drawn.
        seed: not used.

    >>> [t.numpy().tolist() for t in compute_accidental_hits([[1, 2], [3, 4]], [4, 1], 2)[:2]]
    [[0, 1], [1, 0]]
    """
    true = _true_classes("compute_accidental_hits", true_classes, num_true)
    drawn = convert(sampled_candidates)._array
    if drawn.ndim != 1 or drawn.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"compute_accidental_hits: sampled_candidates must be a list of integers, not {sampled_candidates!r}"
        )
    for array in (true, drawn):
        shape_known(
            "compute_accidental_hits",
            "the classes",
            array,
            "use sampled_softmax_loss or nce_loss with remove_accidental_hits=True",
        )
    rows, _, where = np.nonzero(true[:, :, None] == drawn)
    lowest = np.full(rows.shape, np.finfo(np.float32).min, np.float32)
    return wrap(rows.astype(np.int32)), wrap(where.astype(np.int64)), wrap(lowest)
