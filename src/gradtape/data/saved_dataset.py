"""Datasets saved to a folder and loaded from it: `Dataset.save`, `load` and `snapshot`, on the files of `cached`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..core.errors import InvalidArgumentError, NotFoundError
from ..core.tensor import Tensor
from .cached import SavedCursor, read_index, writer
from .sources import Elements
from .stage import Cursor, Session, Stage
from .structure import DatasetSpec
from .transform import Filter, Map, spread

COMPRESSIONS = (None, "AUTO", "GZIP", "SNAPPY", "NONE", "")


def folder_of(operation: str, path: Any) -> Path:
    """The folder that a user has named by a text, a path, or a tensor that holds a text."""
    name = path.numpy() if type(path) is Tensor else path
    try:
        return Path(os.fsdecode(name))
    except TypeError:
        raise TypeError(f"{operation}: path must be a text or a path, not {path!r}") from None


def check_compression(operation: str, compression: Any) -> None:
    """Raise unless this is a compression that is accepted."""
    if not isinstance(compression, (str, type(None))) or compression not in COMPRESSIONS:
        raise InvalidArgumentError(f"{operation}: compression must be None or 'GZIP', not {compression!r}")


def index_of(folder: Path) -> Path:
    """The file that names the others."""
    return folder / "dataset.index"


def save(stage: Stage, folder: Path, shard_func: Any) -> None:
    """Write the elements; those that were in the folder stay until all are written."""
    if shard_func is not None:
        shard = spread(shard_func, "save: shard_func")
        stage = Map(stage, lambda *element: (shard(_one(element)), _one(element)))
    with writer(index_of(folder), replace=True, sharded=shard_func is not None) as writing:
        for element in stage.open(Session(stage)):
            writing.add(element)
        writing.finish(stage)


def _one(arguments: tuple[Any, ...]) -> Any:
    """The element that became the arguments of a function."""
    return arguments[0] if len(arguments) == 1 else arguments


class Saved(Stage):
    """The elements of a folder.

    Raises:
        NotFoundError: if there is no saved dataset.
        DataLossError: if it is damaged.
        InvalidArgumentError: if its elements do not fit `element_spec`.
    """

    def __init__(self, folder: Path, element_spec: Any) -> None:
        super().__init__()
        found = read_index(index_of(folder), element_spec)
        if found is None:
            raise NotFoundError(f"load: there is no saved dataset in {str(folder)!r}")
        self._saved, self.is_sharded = found
        self._spec = self._saved.spec

    def open(self, session: Session) -> Cursor:
        return SavedCursor(self._saved)

    def size(self) -> int:
        return sum(chunk["count"] for chunk in self._saved.chunks)


def shards(stage: Saved, make: Callable[[Stage], Any]) -> Any:
    """A dataset of datasets, one for each shard; `make` makes a dataset of a stage."""
    if not stage.is_sharded:
        parts: list[Stage] = [stage]
    else:
        numbers = sorted({int(shard) for shard, _ in stage.open(Session(stage))})
        parts = [
            Map(Filter(stage, lambda shard, _, n=n: shard == n), lambda _, element: element) for n in numbers
        ]
    return make(Elements([make(part) for part in parts], DatasetSpec(parts[0].spec)))


def of_all_shards(stage: Saved) -> Stage:
    """The elements one after the other, without the numbers of shards."""
    return Map(stage, lambda _, element: element) if stage.is_sharded else stage
