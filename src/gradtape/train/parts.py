"""Values that are divided among processes, in a checkpoint: each process writes what it has, in a file of its own.

The files of the parts are written first, under names that no other checkpoint has; the checkpoint's own file, which
the first process writes last, names them. So there is the old checkpoint or the new one, whole, at every moment.
"""

from __future__ import annotations

import contextlib
import glob
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core import storage
from ..core.errors import UnavailableError
from ..core.tensor import array_of
from ..core.variable import Variable

PART = storage.Kind("part of a checkpoint", "Nothing was restored")


def is_divided(variable: Variable) -> bool:
    """Return whether no process has all of a variable's value."""
    array = array_of(variable._tensor)
    return not getattr(array, "is_fully_addressable", True) and not array.is_fully_replicated


def rank() -> int:
    """The number of this process."""
    import jax

    return jax.process_index()


def write_part(path: Path, variables: Mapping[str, Variable]) -> dict[str, Any]:
    """Write what this process has of variables, and return the description of all parts.

    A program of all processes, which ends in all of them with an error if one of them fails.

    Args:
        path: the checkpoint's file.
        variables: those that are divided, by their names.

    Raises:
        UnavailableError: if another process could not write.
    """
    from ..distribute.exchanges import of_each

    tensors: dict[str, np.ndarray] = {}
    starts: dict[str, list[int]] = {}
    shapes: dict[str, list[int]] = {}
    for name, variable in variables.items():
        array: Any = array_of(variable._tensor)
        shapes[name] = list(array.shape)
        own = [shard for shard in array.addressable_shards if shard.replica_id == 0]
        for i, shard in enumerate(own):
            tensors[f"{name}:{i}"] = np.asarray(shard.data)
            starts[f"{name}:{i}"] = [index.start or 0 for index in shard.index]
    content, digest = storage.packed(PART.name, {"starts": starts}, tensors)
    failure: OSError | None = None
    try:
        storage.replace(_path(path, digest), content)
    except OSError as error:
        failure = error
    digests = of_each(np.frombuffer(bytes.fromhex(digest), np.uint8) * (failure is None))
    if failure is not None:
        raise failure
    failed = [i for i, row in enumerate(digests) if not row.any()]
    if failed:
        raise UnavailableError(
            f"the checkpoint {str(path)!r} was not written: process {', '.join(map(str, failed))} has failed to"
        )
    return {"shapes": shapes, "digests": [row.tobytes().hex() for row in digests]}


def agree(done: bool) -> bool:
    """Wait for all processes, and return whether all are done: a program of all of them."""
    from ..distribute.exchanges import of_each

    return bool(np.all(of_each(np.array(done, np.int32))))


def read_parts(path: Path, described: dict[str, Any]) -> dict[str, np.ndarray]:
    """The whole values of which a checkpoint has parts.

    Raises:
        DataLossError: if a part is missing, or damaged.
    """
    pieces: dict[str, list[tuple[list[int], np.ndarray]]] = {name: [] for name in described["shapes"]}
    for digest in described["digests"]:
        part = _path(path, digest)
        try:
            contents, tensors, found = storage.read(part, PART)
        except FileNotFoundError:
            raise PART.damaged(part, "the file does not exist") from None
        if found != digest:
            raise PART.damaged(part, "it is of another checkpoint")
        for key, array in tensors.items():
            pieces[key.rpartition(":")[0]].append((contents["starts"][key], array))
    # Before memory is taken for a whole value, so that a length which is only claimed takes none.
    lacking = [
        name
        for name, shape in described["shapes"].items()
        if not pieces[name] or sum(array.size for _, array in pieces[name]) != math.prod(shape)
    ]
    if lacking:
        raise PART.damaged(path, f"parts of {', '.join(lacking)} are missing")
    try:
        return {name: _joined(described["shapes"][name], found) for name, found in pieces.items()}
    except ValueError as error:
        raise PART.damaged(path, f"its parts do not fit together: {error}") from error


def _joined(shape: list[int], pieces: list[tuple[list[int], np.ndarray]]) -> np.ndarray:
    """The value of which there are pieces, each with the places at which it starts."""
    whole = np.zeros(shape, pieces[0][1].dtype)
    for starts, array in pieces:
        whole[tuple(slice(a, a + n) for a, n in zip(starts, array.shape, strict=True))] = array
    return whole


def remove_parts(path: Path, but: list[str] | None = None) -> None:
    """Remove the parts of a checkpoint, except those with these digests."""
    kept = {_path(path, digest) for digest in but or ()}
    for part in path.parent.glob(f"{glob.escape(path.stem)}.*.part"):
        if part not in kept:
            with contextlib.suppress(OSError):
                part.unlink()


def _path(path: Path, digest: str) -> Path:
    """The file of a part, known by the digest of its table of contents; TypeError if it is no digest."""
    if not (isinstance(digest, str) and digest.isalnum()):
        raise TypeError(f"{digest!r} is no digest")
    return path.with_name(f"{path.stem}.{digest[:16]}.part")
