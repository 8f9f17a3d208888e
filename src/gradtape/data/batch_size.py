"""The size of a dataset's batches, which `element_spec` does not say where the last one may be smaller."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import nest
from ..core.tensor import Tensor, wrap
from .cached import FileCache
from .order import Cache, Repeat, Shard, Shuffle, Skip, Take
from .stage import Stage
from .threads import Prefetch
from .transform import Batch, Filter, TakeWhile, Zip

# Steps that pass batches on as they are.
_PASSING = (Cache, FileCache, Filter, Prefetch, Repeat, Shard, Shuffle, Skip, Take, TakeWhile)


def compute_batch_size(dataset: Any) -> Tensor:
    """The number of rows in each batch but the last; -1 if it is not known.

    Args:
        dataset: a `Dataset`.

    >>> from gradtape.data import Dataset
    >>> int(compute_batch_size(Dataset.range(10).batch(4).repeat()))
    4
    """
    return wrap(np.asarray(_size(dataset._stage), np.int64))


def _size(stage: Stage) -> int:
    if isinstance(stage, (*_PASSING, Zip)):
        sizes = {_size(source) for source in stage.sources}
        return sizes.pop() if len(sizes) == 1 else -1
    return stage.batch_size if isinstance(stage, Batch) else _common_length(stage.spec)


def _common_length(spec: Any) -> int:
    """The length of the first axis of all components; -1 if they have none in common."""
    shapes = [getattr(leaf, "shape", None) for leaf in nest.flatten(spec)]
    lengths = {shape[0] if shape is not None and shape.rank else None for shape in shapes}
    length = lengths.pop() if len(lengths) == 1 else None
    return -1 if length is None else length
