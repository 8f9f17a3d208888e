"""Connectionist temporal classification: the loss of a label sequence that is not aligned with time, and its decoders.

A path names a class, or blank, for each time step; removing repeated classes, then blanks, gives its labels. The loss
sums over all paths of the labels in log space, one time step after another, for the whole batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import DTypeError, FailedPreconditionError, InvalidArgumentError
from ...core.primitive import apply, apply2
from ...core.slicing import Index, gather_, getitem
from ...core.structural import concat_, stack_
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import is_traced, xp
from ...engine.host import call
from ..array.movement import cast, reshape, transpose
from ..array.scatter import scatter_nd
from ..control.loops import foldl
from ..known import known, shape_known
from ..math.elementwise import add, negative, select
from ..math.reduction import logsumexp
from ..math.segment import segment_sum_
from ..scalars import integer
from .embedding import Sparse
from .softmax import log_softmax


def _integers(name: str, what: str, value: Any, shape: tuple[int, ...] | None = None) -> Any:
    """An argument as an array of integers, of a shape if one is given."""
    array = convert(value)._array
    if array.dtype.kind not in "iu":
        raise DTypeError(f"{name}: {what} must be integers, not {array.dtype}")
    if shape is not None and array.shape != shape:
        raise InvalidArgumentError(
            f"{name}: {what} must be of shape {list(shape)}, one number for each sequence, not {list(array.shape)}"
        )
    return array


def ctc_loss(
    labels: TensorLike | Sparse,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """-log of the probability of each label sequence, summed over all ways to spread it over time.

    Labels that do not fit into the time there is have infinite loss, and gradient 0.

    Args:
        labels: (batch, length), or sparse: anything with `indices`, `values` and `dense_shape`.
        logits: (time, batch, classes), or (batch, time, classes) if not `logits_time_major`.
        label_length: how many labels each sequence has; None with sparse labels.
        logit_length: how many time steps each sequence has.
        unique: not used.
        blank_index: the class of blank, 0 by default; required with sparse labels.

    Raises:
        InvalidArgumentError: if the shapes do not match, or a label is no class.
        DTypeError: if labels or lengths are not integers.
        ValueError: if labels are sparse and `blank_index` is missing.

    >>> import gradtape as tf
    >>> float(tf.exp(-ctc_loss([[1]], tf.zeros((2, 1, 2)), [1], [2])))  # paths 11, 01 and 10, of 4
    0.75
    """
    x = convert(logits)
    if x.ndim != 3 or not x.dtype.is_floating:
        raise InvalidArgumentError(
            f"ctc_loss: logits must be floating and have 3 axes, not {x.dtype.name} of shape {list(x._array.shape)}"
        )
    dtype = x.dtype
    x = cast(x, "float32") if dtype.size == 2 else x
    x = x if logits_time_major else transpose(x, (1, 0, 2))
    batch, classes = x._array.shape[1:]
    blank = _blank("ctc_loss", 0 if blank_index is None else blank_index, classes)
    if hasattr(labels, "dense_shape"):
        if blank_index is None:
            raise ValueError("ctc_loss: sparse labels need blank_index")
        labels, label_length = _dense(labels)
    target = _integers("ctc_loss", "labels", labels)
    if target.ndim != 2 or len(target) != batch:
        raise InvalidArgumentError(
            f"ctc_loss: labels must have a row for each of the {batch} sequences, not shape {list(target.shape)}"
        )
    lengths = _integers("ctc_loss", "label_length", label_length, (batch,))
    times = _integers("ctc_loss", "logit_length", logit_length, (batch,))
    inside = np.arange(target.shape[1]) < lengths[:, None]
    wrong = (lengths > target.shape[1]).any() | (inside & ((target < 0) | (target >= classes))).any()
    if not is_traced(wrong) and wrong:
        raise InvalidArgumentError(
            f"ctc_loss: labels must lie in [0, {classes}), and label_length be at most {target.shape[1]}"
        )
    if blank:  # TensorFlow takes a label that is blank for the class before it
        target = xp(target).where(target == blank, target - 1, target)
    target = xp(inside, target).where(inside, target, blank)
    likelihood = _log_likelihood(x, target, lengths, times, blank)
    return cast(apply(negative, (likelihood,)), dtype)


def _blank(name: str, blank_index: Any, classes: int) -> int:
    index = integer(name, "blank_index", blank_index)
    if not -classes <= index < classes:
        raise InvalidArgumentError(f"{name}: blank_index {index} is none of the {classes} classes")
    return index % classes


def _dense(labels: Any) -> tuple[Any, Any]:
    """Sparse labels as a matrix, and how many there are in each row."""
    where, values = convert(labels.indices)._array.reshape(-1, 2), convert(labels.values)._array
    shape = tuple(known("ctc_loss", "the shape of labels", convert(labels.dense_shape)._array).tolist())
    matrix = scatter_nd(where, values, shape)._array
    ones = np.ones(len(where), np.int64)
    return matrix, segment_sum_.forward(ones, where[:, 0], size=shape[0], trailing=0)


def _log_likelihood(x: Tensor, labels: Any, lengths: Any, times: Any, blank: int) -> Tensor:
    """The logarithm of the probability of each row's labels.

    States are the labels with blanks around them; a step stays, goes on, or skips a blank between unlike labels.
    """
    time, batch, classes = x._array.shape
    kind = x._array.dtype
    m = xp(labels)
    blanks = m.full_like(labels, blank)
    states = m.stack([blanks, labels], -1).reshape(batch, -1)
    states = m.concatenate([states, m.full((batch, 1), blank, labels.dtype)], 1)
    flat = reshape(log_softmax(x), (time, batch * classes))
    emitted = apply(gather_, (flat, convert(states + classes * np.arange(batch)[:, None])), {"axis": -1})
    never = np.asarray(-np.inf, kind)
    of_labels = np.arange(2, states.shape[1]) % 2 == 1  # also where a label is blank, as in TensorFlow
    skips = of_labels & (states[:, 2:] != states[:, :-2])
    skips = m.concatenate([np.zeros((batch, 2), bool)[:, : states.shape[1]], skips], 1)
    skip = wrap(m.where(skips, np.zeros((), kind), never))
    before = wrap(np.full((batch, 2), never))
    number = np.arange(states.shape[1])
    start = np.broadcast_to(np.where(number == 0, np.zeros((), kind), never), states.shape)
    one, two = Index((..., slice(1, -1))), Index((..., slice(0, -2)))

    def step(alpha: Any, at: Any) -> Any:
        t, emission = at
        wide = apply(concat_, (before, alpha), {"axis": -1})
        from_one = apply(getitem, (wide,), {"index": one})
        from_two = apply2(add, apply(getitem, (wide,), {"index": two}), skip)
        ways = apply(stack_, (alpha, from_one, from_two), {"axis": -3})
        reached = apply2(add, apply(logsumexp, (ways,), {"axis": (-3,), "keepdims": False}), emission)
        going = times > t._array
        if not is_traced(going) and going.all():
            return reached
        return apply(select, (going[:, None], reached, alpha))

    alpha = foldl(step, (np.arange(time), emitted), wrap(start))
    last = 2 * lengths[:, None]
    ends = wrap(xp(last).where((number == last) | (number == last - 1), np.zeros((), kind), never))
    return apply(logsumexp, (apply2(add, alpha, ends),), {"axis": (-1,), "keepdims": False})


# ---------------------------------------------------------------------------------------------------------------------
# Decoders


def _decoder_inputs(name: str, inputs: TensorLike, sequence_length: TensorLike) -> tuple[Any, Any]:
    x = convert(inputs)._array
    if x.ndim != 3 or x.dtype.kind not in "fV":
        raise InvalidArgumentError(
            f"{name}: inputs must be floating, of shape (time, batch, classes), not {x.dtype} of shape {list(x.shape)}"
        )
    times = _integers(name, "sequence_length", sequence_length)
    for array in (x, times):
        shape_known(name, "inputs", array, "return them")
    if times.shape != (x.shape[1],) or (times > x.shape[0]).any():
        raise FailedPreconditionError(
            f"{name}: sequence_length must have a number of at most {x.shape[0]} for each of the {x.shape[1]} "
            f"sequences, not {times.tolist()}"
        )
    return x, times


def _as_sparse(rows: list[Any]) -> Sparse:
    """Label sequences of different lengths, one a row."""
    counts = np.array([len(row) for row in rows], np.int64)
    which = np.repeat(np.arange(len(rows)), counts)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    indices = np.stack([which, np.arange(len(which)) - starts], 1).astype(np.int64)
    values = np.concatenate([np.asarray(row, np.int64) for row in rows]) if rows else np.zeros(0, np.int64)
    return Sparse(wrap(indices), wrap(values), wrap(np.array([len(rows), counts.max(initial=0)], np.int64)))


def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[Sparse], Tensor]:
    """The labels of the best path, and minus the sum of its logits.

    The shape of the result depends on values: a `@function` that calls this runs operation by operation.

    Args:
        inputs: logits, (time, batch, classes).
        sequence_length: how many time steps each sequence has.
        merge_repeated: whether a class that repeats counts once.
        blank_index: the class of blank; the last by default.

    Raises:
        InvalidArgumentError: if `inputs` is of another shape or dtype, or there is no class `blank_index`.
        FailedPreconditionError: if `sequence_length` does not match it.

    >>> decoded, _ = ctc_greedy_decoder([[[9.0, 0.0, 1.0]], [[9.0, 0.0, 1.0]], [[0.0, 9.0, 1.0]]], [3])
    >>> decoded[0].values.numpy()
    array([0, 1])
    """
    x, times = _decoder_inputs("ctc_greedy_decoder", inputs, sequence_length)
    blank = _blank("ctc_greedy_decoder", -1 if blank_index is None else blank_index, x.shape[2])
    valid = np.arange(len(x))[:, None] < times
    best = x.argmax(2)
    taken = valid & (best != blank)
    if merge_repeated:
        taken[1:] &= best[1:] != best[:-1]
    score = -np.where(valid, x.max(2, initial=-np.inf), np.zeros((), x.dtype)).sum(0, x.dtype)
    rows = [path[chosen] for path, chosen in zip(best.T, taken.T)]
    return [_as_sparse(rows)], wrap(score[:, None])


def ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Sparse], Tensor]:
    """The `top_paths` most probable label sequences, and their log probabilities (batch, paths).

    Blank is the last class. The `beam_width` best prefixes are kept at each time step; `inputs` and `sequence_length`
    are those of `ctc_greedy_decoder`.

    Raises:
        InvalidArgumentError: if `top_paths` is more than `beam_width`, or than there are label sequences.

    >>> decoded, _ = ctc_beam_search_decoder([[[0.0, 0.0, 0.3]], [[0.0, 0.0, 0.3]]], [2])
    >>> decoded[0].values.numpy()
    array([0])
    """
    x, times = _decoder_inputs("ctc_beam_search_decoder", inputs, sequence_length)
    beam_width = integer("ctc_beam_search_decoder", "beam_width", beam_width, least=1)
    top_paths = integer("ctc_beam_search_decoder", "top_paths", top_paths)
    if not 1 <= top_paths <= beam_width:
        raise InvalidArgumentError(
            f"ctc_beam_search_decoder: top_paths={top_paths} must lie between 1 and beam_width={beam_width}"
        )
    scores = log_softmax(x)._array
    found = [_beam_search(scores[:n, i], beam_width) for i, n in enumerate(times)]
    for paths, _ in found:
        if len(paths) < top_paths:
            raise InvalidArgumentError(
                f"ctc_beam_search_decoder: there are only {len(paths)} label sequences, not top_paths={top_paths}"
            )
    decoded = [_as_sparse([paths[k] for paths, _ in found]) for k in range(top_paths)]
    best = np.array([score[:top_paths] for _, score in found], x.dtype)
    return decoded, wrap(best.reshape(len(found), top_paths))


def _beam_search(scores: Any, width: int) -> tuple[list[tuple[int, ...]], Any]:
    """The best label sequences of one (time, classes) array of log probabilities, and their own, best first.

    Each prefix has two: one of the paths that end in blank, and one of the paths that end in its last label.
    """
    blank = scores.shape[1] - 1
    paths: list[tuple[int, ...]] = [()]
    in_blank, in_label = np.zeros(1), np.full(1, -np.inf)
    for step in scores.astype(np.float64):
        both = np.logaddexp(in_blank, in_label)
        last = np.array([path[-1] if path else blank for path in paths])
        ended = last != blank
        stays = np.where(ended, in_label + step[last], -np.inf)
        grown = both[:, None] + step[:blank]
        # The same label again is a new one only after a blank.
        grown[ended, last[ended]] = in_blank[ended] + step[last[ended]]
        place = {path: i for i, path in enumerate(paths)}
        for i, path in enumerate(paths):  # a prefix may also grow into another one of the beam
            origin = place.get(path[:-1]) if path else None
            if origin is not None:
                stays[i] = np.logaddexp(stays[i], grown[origin, path[-1]])
                grown[origin, path[-1]] = -np.inf
        rests = both + step[blank]
        total = np.concatenate([np.logaddexp(rests, stays), grown.ravel()])
        order = np.argsort(-total, kind="stable")[:width]
        order = order[total[order] > -np.inf]
        old, new = order[order < len(paths)], order[order >= len(paths)] - len(paths)
        in_blank = np.concatenate([rests[old], np.full(len(new), -np.inf)])
        in_label = np.concatenate([stays[old], grown.ravel()[new]])
        paths = [paths[i] for i in old] + [(*paths[i // blank], int(i % blank)) for i in new]
    total = np.logaddexp(in_blank, in_label)
    order = np.argsort(-total, kind="stable")
    return [paths[i] for i in order], total[order]


def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The different labels of each row, in order and padded with 0; and for each label its place among them.

    Raises:
        InvalidArgumentError: if `labels` is not a matrix.

    >>> [t.numpy().tolist() for t in ctc_unique_labels([[3, 4, 4, 3]])]
    [[[3, 4, 0, 0]], [[0, 1, 1, 0]]]
    """
    rows = _integers("ctc_unique_labels", "labels", labels)
    if rows.ndim != 2:
        raise InvalidArgumentError(
            f"ctc_unique_labels: labels must be a matrix, not of shape {list(rows.shape)}"
        )
    if is_traced(rows):
        kinds = [(rows.shape, np.dtype(np.int64)), (rows.shape, np.dtype(np.int32))]
        found = call(_unique_labels, kinds, [rows])
    else:
        found = list(_unique_labels(rows))
    return wrap(found[0]), wrap(found[1])


def _unique_labels(rows: Any) -> tuple[Any, Any]:
    different, places = np.zeros(rows.shape, np.int64), np.zeros(rows.shape, np.int32)
    for i, row in enumerate(rows):
        values, first, inverse = np.unique(row, return_index=True, return_inverse=True)
        order = np.argsort(first)
        different[i, : len(values)] = values[order]
        places[i] = np.argsort(order)[inverse]
    return different, places


def collapse_repeated(
    labels: TensorLike, seq_length: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The labels of each row without repetitions of the one before, padded with 0; and how many are left.

    `seq_length` says how many labels of each row count. The shape of the result depends on values: a `@function` that
    calls this runs operation by operation.

    Raises:
        InvalidArgumentError: if `labels` is not a matrix, or `seq_length` not one number a row.

    >>> [t.numpy().tolist() for t in collapse_repeated([[1, 1, 2, 2, 1]], [5])]
    [[[1, 2, 1]], [3]]
    """
    rows = _integers("collapse_repeated", "labels", labels)
    if rows.ndim != 2:
        raise InvalidArgumentError(
            f"collapse_repeated: labels must be a matrix, not of shape {list(rows.shape)}"
        )
    lengths = _integers("collapse_repeated", "seq_length", seq_length, rows.shape[:1])
    for array in (rows, lengths):
        shape_known("collapse_repeated", "labels and seq_length", array, "mask the labels that repeat")
    kept = np.arange(rows.shape[1]) < lengths[:, None]
    kept[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    counts = kept.sum(1)
    out = np.zeros((len(rows), counts.max(initial=0)), rows.dtype)
    which, _ = np.nonzero(kept)
    out[which, (np.cumsum(kept, 1) - 1)[kept]] = rows[kept]
    return wrap(out), wrap(counts.astype(lengths.dtype))
