"""Batches of the rows of arrays in memory, as Keras feeds the arrays that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import nest
from ..core.tensor import Tensor, wrap
from ..ops.random.stateful import shuffle
from .dataset import Dataset
from .sources import Gather, Numbers, slices
from .stage import Cursor, Listed, Session, Stage
from .structure import as_element

# To cut a batch of fewer bytes out of its arrays takes less time than to receive it from another thread, some 50 us.
_LARGE = 1 << 20
_AHEAD = 2  # batches


class ShuffledNumbers(Stage):
    """The row numbers up to a length, in an order that `tf.random.shuffle` draws for each pass.

    It draws when the first number is read: an iterator that is never read draws nothing.
    """

    def __init__(self, length: int) -> None:
        super().__init__()
        self._length = length

    def open(self, session: Session) -> Cursor:
        return _ShuffledCursor(self._length)

    def size(self) -> int:
        return self._length


class _ShuffledCursor(Cursor):
    def __init__(self, length: int) -> None:
        self._length = length
        self._order: Cursor | None = None

    def _drawn(self) -> Cursor:
        if self._order is None:
            self._order = Listed(shuffle(wrap(np.arange(self._length)))._array)
        return self._order

    def some(self, n: int) -> Sequence[Any]:
        return self._drawn().some(n)

    def skip(self, n: int) -> int:
        return self._drawn().skip(n)


def array_batches(structure: Any, batch_size: int, shuffled: bool) -> Dataset:
    """Batches of the rows of the arrays in a structure, the last smaller if the rows do not divide.

    Large batches are cut out ahead by a thread, small ones when they are asked for.

    >>> [batch.numpy().tolist() for batch in array_batches(np.arange(3), 2, shuffled=False)]
    [[0, 1], [2]]
    """
    element = as_element(structure)
    rows = slices(element)
    length = rows.size()
    numbers = ShuffledNumbers(length) if shuffled else Numbers(length)
    dataset = Dataset(Gather(numbers, rows.rows)).batch(batch_size, drop_remainder=length % batch_size == 0)
    taken = sum(leaf._array.nbytes for leaf in nest.flatten(element) if type(leaf) is Tensor)
    return dataset.prefetch(_AHEAD) if taken * batch_size >= _LARGE * length > 0 else dataset
