"""Checkpoint files: safetensors, with the object graph as JSON in the header. One file, so one renaming commits it.

What is written is written beside, synced and renamed: at every moment there is the old file or the new one, whole.
What is read is checked before it is handed out: the library checks that the file is well formed, and we that each
tensor and the graph are those that were written (SHA-256).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..errors import DataLossError, InvalidArgumentError, NotFoundError

try:
    import fcntl
except ImportError:  # there is no such thing on Windows
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".safetensors"
VERSION = 1


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def replace(path: Path, content: bytes) -> None:
    """Put a file in the place of another, or of none. If anything goes wrong, what was there is there still."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    with _beside(path) as (temporary, file):
        _write(file, content)
        os.fsync(file)
        os.replace(temporary, path)
    _sync_directory(path.parent)


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[tuple[Path, int]]:
    """A new file next to `path`, locked for as long as we live; it is gone if it has not been renamed."""
    temporary, file = _created(path)
    try:
        yield temporary, file
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    finally:
        os.close(file)


def _created(path: Path) -> tuple[Path, int]:
    while True:
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with contextlib.suppress(OSError):  # some file systems know no locks: then nobody sweeps there either
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_SH)
        if temporary.exists():
            return temporary, file
        os.close(file)  # somebody swept it away before we had the lock


def _write(file: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]


def _sync_directory(directory: Path) -> None:
    """See that a renaming survives a power cut."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sweep(path: Path) -> None:
    """Remove what processes left behind that were killed while they wrote this file: nobody holds its lock."""
    if fcntl is None:
        return
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        with contextlib.suppress(OSError):
            file = os.open(leftover, os.O_RDONLY)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                leftover.unlink()
            finally:
                os.close(file)


# ---------------------------------------------------------------------------------------------------------------------
# Checkpoints


class Saved(NamedTuple):
    """What a checkpoint holds. A node has `children`, and perhaps the name of a `tensor`, or a `state`."""

    nodes: list[dict[str, Any]]
    tensors: dict[str, np.ndarray]


def file_of(prefix: str | os.PathLike[str]) -> Path:
    """The file of a checkpoint that is known by its prefix, such as 'ckpt-3'."""
    name = os.fspath(prefix)
    return Path(name if name.endswith(SUFFIX) else name + SUFFIX)


def save(prefix: str, saved: Saved) -> None:
    """Write a checkpoint."""
    from safetensors.numpy import save as serialize

    stored = {name: _plain(array, name) for name, array in saved.tensors.items()}
    graph = json.dumps(
        {
            "version": VERSION,
            "nodes": saved.nodes,
            "tensors": {
                name: {
                    "dtype": dtypes.of(array).name,
                    "shape": list(array.shape),
                    "sha256": _digest(stored[name]),
                }
                for name, array in saved.tensors.items()
            },
        }
    )
    metadata = {"gradtape": graph, "sha256": hashlib.sha256(graph.encode()).hexdigest()}
    replace(file_of(prefix), serialize(stored, metadata))


def _plain(array: np.ndarray, name: str) -> np.ndarray:
    """An array as safetensors takes it: bfloat16 as 16 bits, complex numbers as pairs."""
    if array.dtype.kind == "O":
        raise InvalidArgumentError(
            f"the variable {name!r} holds strings: a checkpoint holds numbers and booleans only"
        )
    array = array if array.flags.c_contiguous else array.copy()
    if array.dtype.kind == "c":
        return array.reshape(*array.shape, 1).view(array.real.dtype)
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


def load(prefix: str | os.PathLike[str]) -> Saved:
    """Read a checkpoint, all of it, and see that it is what was written."""
    path = file_of(prefix)
    stored, metadata = _read(path)
    graph = _graph(path, metadata)
    described = graph["tensors"]
    if stored.keys() != described.keys():
        raise _damaged(path, "the tensors in it are not those that were written")
    tensors = {}
    for name, about in described.items():
        if _digest(stored[name]) != about["sha256"]:
            raise _damaged(path, f"the tensor {name!r} is not what was written")
        tensors[name] = _typed(stored[name], about, path, name)
    return Saved(graph["nodes"], tensors)


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors and the metadata of a safetensors file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except FileNotFoundError:
        raise _missing(path) from None
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise _damaged(path, f"it is no whole safetensors file ({error})") from error


def _missing(path: Path) -> Exception:
    prefix = str(path).removesuffix(SUFFIX)
    if Path(prefix + ".index").exists():
        return InvalidArgumentError(
            f"{prefix} is a checkpoint of TensorFlow, in a format of its own; gradtape reads those that it has written"
        )
    return NotFoundError(f"there is no checkpoint {prefix!r}: the file {str(path)!r} does not exist")


def _graph(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    text = metadata.get("gradtape")
    if text is None:
        raise InvalidArgumentError(
            f"{str(path)!r} is a safetensors file, but no checkpoint: train.Checkpoint has not written it"
        )
    if hashlib.sha256(text.encode()).hexdigest() != metadata.get("sha256"):
        raise _damaged(path, "its table of contents is not what was written")
    graph = json.loads(text)
    if graph.get("version", VERSION) != VERSION:
        raise InvalidArgumentError(
            f"{str(path)!r} was written by a newer gradtape, in version {graph['version']} of the format; this one "
            f"reads version {VERSION}"
        )
    if not _makes_sense(graph.get("nodes"), graph.get("tensors")):
        raise _damaged(path, "its table of contents makes no sense")
    return graph


def _makes_sense(nodes: Any, tensors: Any) -> bool:
    """Do the nodes name nodes and tensors that there are?"""
    return (
        bool(nodes)
        and tensors is not None
        and all(
            type(child) is int and 0 <= child < len(nodes) for n in nodes for child in n["children"].values()
        )
        and {n["tensor"] for n in nodes if "tensor" in n} == tensors.keys()
    )


def _typed(stored: np.ndarray, about: dict[str, Any], path: Path, name: str) -> np.ndarray:
    """An array as the dtype and shape it was saved with."""
    dtype = dtypes.as_dtype(about["dtype"]).numpy_dtype
    array = stored.view(dtype) if dtype.kind == "c" or about["dtype"] == "bfloat16" else stored
    array = array.reshape(about["shape"]) if dtype.kind == "c" else array
    if array.dtype != dtype or list(array.shape) != about["shape"]:
        raise _damaged(path, f"the tensor {name!r} has not the shape and dtype it was written with")
    return array


def _damaged(path: Path, how: str) -> DataLossError:
    return DataLossError(f"the checkpoint {str(path)!r} is damaged, or is none: {how}. Nothing was restored")
