"""Checkpoint files: the object graph and the values of its variables. One file, so one renaming commits it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes, storage
from ..core.errors import InvalidArgumentError, NotFoundError, UnavailableError
from ..core.variable import Variable
from . import parts

SUFFIX = ".safetensors"
CHECKPOINT = storage.Kind("checkpoint", "Nothing was restored")


class Saved(NamedTuple):
    """Contents of a checkpoint. A node has `children`, and perhaps the name of a `tensor`, or a `state`.

    Values of which each process has a part are `divided`.
    """

    nodes: list[dict[str, Any]]
    tensors: dict[str, np.ndarray]
    divided: Mapping[str, Variable] = MappingProxyType({})


def file_of(prefix: str | os.PathLike[str]) -> Path:
    """The file of a checkpoint that is known by its prefix, such as 'ckpt-3'."""
    name = os.fspath(prefix)
    return Path(name if name.endswith(SUFFIX) else name + SUFFIX)


def save(prefix: str, saved: Saved) -> None:
    """Write a checkpoint."""
    for name, array in saved.tensors.items():
        if dtypes.is_on_host(array):
            raise InvalidArgumentError(
                f"the variable {name!r} holds {dtypes.of(array).name}: a checkpoint holds numbers and booleans only"
            )
    path = file_of(prefix)
    if saved.divided:
        _save_divided(path, saved)
        return
    content, _ = storage.packed(CHECKPOINT.name, {"nodes": saved.nodes}, saved.tensors)
    storage.replace(path, content)


def _save_divided(path: Path, saved: Saved) -> None:
    """Write a checkpoint whose values are divided among processes, all of which call this at the same place."""
    described = parts.write_part(path, saved.divided)
    failure: OSError | None = None
    if is_first():
        content, _ = storage.packed(
            CHECKPOINT.name, {"nodes": saved.nodes, "parts": described}, saved.tensors
        )
        try:
            storage.replace(path, content)
            parts.remove_parts(path, described["digests"])
        except OSError as error:
            failure = error
    if not parts.agree(failure is None):
        raise failure or UnavailableError(f"the first process could not write the checkpoint {str(path)!r}")


def is_first() -> bool:
    """Return whether this process writes what all have: the first, or one that runs alone."""
    return parts.rank() == 0


def remove(prefix: str) -> None:
    """Remove a checkpoint, with its parts."""
    path = file_of(prefix)
    path.unlink()
    parts.remove_parts(path)


def load(prefix: str | os.PathLike[str]) -> Saved:
    """Read a whole checkpoint, and verify that it is what was written."""
    path = file_of(prefix)
    try:
        contents, tensors, _ = storage.read(path, CHECKPOINT)
    except FileNotFoundError:
        raise _missing(path) from None
    try:
        nodes = contents["nodes"]
        if "parts" in contents:
            tensors |= parts.read_parts(path, contents["parts"])
        sensible = _makes_sense(nodes, tensors)
    except (AttributeError, KeyError, TypeError):  # other types than those that are written
        sensible = False
    if not sensible:
        raise CHECKPOINT.damaged(path, "its table of contents makes no sense")
    return Saved(nodes, tensors)


def _missing(path: Path) -> Exception:
    prefix = str(path).removesuffix(SUFFIX)
    if Path(prefix + ".index").exists():
        return InvalidArgumentError(
            f"{prefix} is a checkpoint of TensorFlow, in a format of its own; gradtape reads those that it has written"
        )
    return NotFoundError(f"there is no checkpoint {prefix!r}: the file {str(path)!r} does not exist")


def _makes_sense(nodes: Any, tensors: dict[str, np.ndarray]) -> bool:
    """Return whether all nodes and tensors that the nodes name exist."""
    return (
        bool(nodes)
        and all(
            type(child) is int and 0 <= child < len(nodes) for n in nodes for child in n["children"].values()
        )
        and {n["tensor"] for n in nodes if "tensor" in n} == tensors.keys()
    )
