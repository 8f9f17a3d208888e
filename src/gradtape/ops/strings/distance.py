"""Distances between sequences, and fingerprints of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ..known import known
from ..scalars import text
from ..sparse.sparse_tensor import SparseTensor
from .hashing import fingerprint as fingerprint_of


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = None) -> Tensor:
    """How many elements must be put in, left out or changed to make each hypothesis the truth.

    Args:
        hypothesis, truth: sparse tensors of as many axes; the last is that of the sequences.
        normalize: whether to divide by the length of the truth.

    Raises:
        InvalidArgumentError: if the tensors differ in their number of axes.

    >>> said = SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2])
    >>> edit_distance(said, SparseTensor([[0, 0], [0, 1]], ["a", "c"], [1, 2])).numpy()
    array([0.5], dtype=float32)
    """
    for value in (hypothesis, truth):
        if not isinstance(value, SparseTensor):
            raise TypeError(f"edit_distance: takes sparse tensors, not {type(value).__name__}")
    shapes = [known("edit_distance", "its shape", part.dense_shape._array) for part in (hypothesis, truth)]
    if len(shapes[0]) != len(shapes[1]) or len(shapes[0]) < 1:
        raise InvalidArgumentError(
            f"edit_distance: hypothesis and truth must have as many axes, not {len(shapes[0])} and {len(shapes[1])}"
        )
    groups = tuple(np.maximum(shapes[0][:-1], shapes[1][:-1]).tolist())
    said, meant = _sequences(hypothesis), _sequences(truth)
    out = np.zeros(groups, np.float32)
    for at in {*said, *meant}:
        first, second = said.get(at, []), meant.get(at, [])
        distance = _distance(first, second)
        if normalize:
            out[at] = distance / len(second) if second else np.inf if first else 0.0
        else:
            out[at] = distance
    return wrap(out)


def _sequences(sparse: SparseTensor) -> dict[tuple[int, ...], list[Any]]:
    """The sequences along the last axis, by their places in the others."""
    found: dict[tuple[int, ...], list[Any]] = {}
    places = known("edit_distance", "its indices", sparse.indices._array)
    values = known("edit_distance", "its values", sparse.values._array)
    for place, value in zip(places.tolist(), values.tolist()):
        found.setdefault(tuple(place[:-1]), []).append(value)
    return found


def _distance(first: list[Any], second: list[Any]) -> int:
    """Levenshtein's distance, row by row; along a row, min of d[j] and d[j - 1] + 1 is a running minimum."""
    width = len(second)
    steps = np.arange(width + 1)
    row = steps.copy()
    numbers = {value: i for i, value in enumerate({*first, *second})}
    targets = np.array([numbers[value] for value in second], int)
    for count, value in enumerate(first, 1):
        best = np.minimum(row[1:] + 1, row[:-1] + (targets != numbers[value]))
        row = np.minimum.accumulate(np.concatenate([[count], best]) - steps) + steps
    return int(row[-1])


def fingerprint(data: TensorLike, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """A number of eight bytes for each row of `data`: equal for rows of equal bytes, and different for most others.

    Args:
        data: a tensor of one axis or more, of a fixed dtype or strings.
        method: "farmhash64".

    Raises:
        InvalidArgumentError: if there is another method, or no rows.

    >>> fingerprint([b"a"]).shape
    TensorShape([1, 8])
    """
    chosen = text("fingerprint", "method", method)
    array = known("fingerprint", "data", convert(data)._array)
    if chosen != "farmhash64" or not array.ndim:
        raise InvalidArgumentError(
            f"fingerprint: takes rows and method='farmhash64', not the shape {list(array.shape)} and {chosen!r}"
        )
    if array.dtype.kind == "O":
        flat = array.reshape(len(array), -1)
        if flat.shape[1] == 1 and array.ndim == 1:
            rows = [fingerprint_of(row[0]) for row in flat]
        else:  # that of the fingerprints of the strings
            rows = [
                fingerprint_of(b"".join(fingerprint_of(word).to_bytes(8, "little") for word in row))
                for row in flat
            ]
    else:
        rows = [fingerprint_of(np.ascontiguousarray(row).tobytes()) for row in array]
    out = np.array(rows, "<u8").view(np.uint8).reshape(len(rows), 8)
    return wrap(out)
