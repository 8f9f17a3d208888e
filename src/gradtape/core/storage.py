"""Files that keep tensors: safetensors, with a table of contents as JSON in the header. Reading one runs no code.

What is written is written beside, synced and renamed: at every moment there is the old file or the new one, whole.
What is read is checked before it is handed out: the library checks that the file is well formed, and we that each
tensor and the table are those that were written (SHA-256). Checkpoints and the caches of datasets are such files.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import dtypes
from .errors import DataLossError, InvalidArgumentError

try:
    import fcntl
except ImportError:  # there is no such thing on Windows
    fcntl = None  # type: ignore[assignment]

VERSION = 1


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def replace(path: Path, content: bytes) -> None:
    """Write a file, atomically replacing the one there may be. On an error, the old file is unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path)
    with beside(path) as (temporary, file):
        write(file, content)
        os.fsync(file)
        os.replace(temporary, path)
    sync_directory(path.parent)


@contextlib.contextmanager
def beside(path: Path) -> Iterator[tuple[Path, int]]:
    """A temporary file next to `path`, locked while it is open; removed on an error."""
    temporary, file = _created(path)
    try:
        yield temporary, file
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    finally:
        os.close(file)


def create(path: Path, content: bytes) -> None:
    """Write a new file that nobody reads yet. On an error, a part of it may remain."""
    file = _new(path)
    try:
        write(file, content)
        os.fsync(file)
    finally:
        os.close(file)


def _new(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)


def _created(path: Path) -> tuple[Path, int]:
    while True:
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        file = _new(temporary)
        with contextlib.suppress(OSError):  # some file systems know no locks: then nobody sweeps there either
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_SH)
        if temporary.exists():
            return temporary, file
        os.close(file)  # somebody swept it away before we had the lock


def write(file: int, content: bytes) -> None:
    """Write all of it; the system may take a part at a time."""
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]


def sync_directory(directory: Path) -> None:
    """See that a renaming survives a power cut."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """A block in which no other process, and no other thread, is in such a block for this directory."""
    directory.mkdir(parents=True, exist_ok=True)
    handle = os.open(directory, os.O_RDONLY) if fcntl is not None else None
    try:
        if fcntl is not None and handle is not None:
            with contextlib.suppress(OSError):  # some file systems know no locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def sweep(path: Path) -> None:
    """Remove temporary files of processes that were killed while they wrote this file: nobody holds their locks."""
    if fcntl is None:
        return
    for leftover in waiting(path):
        with contextlib.suppress(OSError):
            file = os.open(leftover, os.O_RDONLY)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                leftover.unlink()
            finally:
                os.close(file)


def waiting(path: Path) -> list[Path]:
    """The temporary files that are to replace `path` once they are complete."""
    return list(path.parent.glob(f".{glob.escape(path.name)}.*.tmp"))


# ---------------------------------------------------------------------------------------------------------------------
# Tensors and a table of contents


class Kind(NamedTuple):
    """A kind of file: its name in errors, and the advice they give."""

    name: str
    advice: str

    def damaged(self, path: Path, how: str) -> DataLossError:
        """The error that says a file is not what was written."""
        return DataLossError(f"the {self.name} {str(path)!r} is damaged, or is none: {how}. {self.advice}")


def packed(kind: str, contents: dict[str, Any], tensors: dict[str, np.ndarray]) -> tuple[bytes, str]:
    """The bytes of a file, and the digest of its table of contents, which describes the tensors."""
    from safetensors.numpy import save

    stored = {name: _plain(array) for name, array in tensors.items()}
    described = {
        name: {"dtype": dtypes.of(array).name, "shape": list(array.shape), "sha256": _digest(stored[name])}
        for name, array in tensors.items()
    }
    table = json.dumps({"version": VERSION, "kind": kind, **contents, "tensors": described})
    digest = hashlib.sha256(table.encode()).hexdigest()
    return save(stored, {"gradtape": table, "sha256": digest}), digest


def _plain(array: np.ndarray) -> np.ndarray:
    """An array as safetensors takes it: dtypes that NumPy lacks as bits, complex numbers as pairs."""
    array = array if array.flags.c_contiguous else array.copy()
    if array.dtype.kind == "c":
        return array.reshape(*array.shape, 1).view(array.real.dtype)
    return array.view(f"u{array.itemsize}") if array.dtype.name in dtypes.IN_ML_DTYPES else array


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


def read(path: Path, kind: Kind) -> tuple[dict[str, Any], dict[str, np.ndarray], str]:
    """The table of contents of a file, its tensors, and the table's digest, all validated.

    Raises:
        FileNotFoundError: if there is no such file.
        DataLossError: if the file is damaged.
        InvalidArgumentError: if it is another kind of file, or of a newer version.
    """
    stored, metadata = _opened(path, kind)
    contents = _table(path, kind, metadata)
    described = contents.get("tensors")
    if not isinstance(described, dict):
        raise kind.damaged(path, "its table of contents makes no sense")
    if stored.keys() != described.keys():
        raise kind.damaged(path, "the tensors in it are not those that were written")
    tensors = {}
    for name, about in described.items():
        if _digest(stored[name]) != about["sha256"]:
            raise kind.damaged(path, f"the tensor {name!r} is not what was written")
        array = _typed(stored[name], about)
        if array is None:
            raise kind.damaged(path, f"the tensor {name!r} has not the shape and dtype it was written with")
        tensors[name] = array
    return contents, tensors, metadata["sha256"]


def _opened(path: Path, kind: Kind) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors and the metadata of a safetensors file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise kind.damaged(path, f"it is no whole safetensors file ({error})") from error


def _table(path: Path, kind: Kind, metadata: dict[str, str]) -> dict[str, Any]:
    """Validate and return the table of contents."""
    text = metadata.get("gradtape")
    if text is None:
        raise InvalidArgumentError(
            f"{str(path)!r} is a safetensors file, but no {kind.name}: gradtape has not written it. {kind.advice}"
        )
    if hashlib.sha256(text.encode()).hexdigest() != metadata.get("sha256"):
        raise kind.damaged(path, "its table of contents is not what was written")
    contents: dict[str, Any] = json.loads(text)
    if contents.get("version", VERSION) != VERSION:
        raise InvalidArgumentError(
            f"{str(path)!r} was written by a newer gradtape, in version {contents['version']} of the format; this one "
            f"reads version {VERSION}. {kind.advice}"
        )
    if contents.get("kind", kind.name) != kind.name:
        raise InvalidArgumentError(
            f"{str(path)!r} is a {contents['kind']}, and no {kind.name}. {kind.advice}"
        )
    return contents


def _typed(stored: np.ndarray, about: dict[str, Any]) -> np.ndarray | None:
    """An array in the dtype and shape it was saved with; None if its bytes do not fit them."""
    dtype = dtypes.as_dtype(about["dtype"]).numpy_dtype
    try:
        array = stored.view(dtype) if dtype.kind == "c" or about["dtype"] in dtypes.IN_ML_DTYPES else stored
        array = array.reshape(about["shape"]) if dtype.kind == "c" else array
    except ValueError:
        return None
    return array if array.dtype == dtype and list(array.shape) == about["shape"] else None
