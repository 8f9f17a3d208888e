"""File systems: open, list, copy, move and remove files, on the disk and by URL.

A path is text, bytes or a path object. A URL such as `memory://a` or `s3://bucket/a` is opened by fsspec.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, NamedTuple

from ..core.errors import AlreadyExistsError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from .paths import as_tensorflow_errors, file_system, is_remote, local_path, matching, open_file, path_of

_MODES = frozenset(kind + binary for kind in ("r", "w", "a", "r+", "w+", "a+") for binary in ("", "b")) | {
    "rb+", "wb+", "ab+"
}  # fmt: skip


class GFile:
    """An open file; opened when first used.

    Args:
        name: the path or URL.
        mode: "r", "w", "a", with "+" to read and write, with "b" for bytes in place of text.

    Raises:
        InvalidArgumentError: for any other mode.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a.txt"
    >>> with GFile(path, "w") as file:
    ...     _ = file.write("one\\ntwo\\n")
    >>> list(GFile(path))
    ['one\\n', 'two\\n']
    """

    _file: Any = None

    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode not in _MODES:
            raise InvalidArgumentError(f"GFile: the mode {mode!r} is none of {', '.join(sorted(_MODES))}")
        self._name, self._mode = path_of("GFile", name), mode

    @property
    def name(self) -> str:
        """The path."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode it was opened with."""
        return self._mode

    @property
    def _opened(self) -> Any:
        if self._file is None:
            self._file = open_file("GFile", self._name, self._mode)
        return self._file

    def read(self, n: int = -1) -> Any:
        """Read `n` characters or bytes; all that is left by default."""
        with as_tensorflow_errors("GFile.read", self._name), _as_permission(self._name, self._mode):
            return self._opened.read(n)

    def readline(self) -> Any:
        """Read one line with its end; empty at the end of the file."""
        return self._opened.readline()

    def readlines(self) -> list[Any]:
        """Read all lines that are left."""
        return self._opened.readlines()

    def write(self, file_content: Any) -> Any:
        """Write text or, to a file of bytes, bytes.

        Args:
            file_content: what to write.
        """
        with as_tensorflow_errors("GFile.write", self._name), _as_permission(self._name, self._mode):
            return self._opened.write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Move to a position, counted as Python's `seek` counts.

        Args:
            offset: how far.
            whence: from where: 0 the start, 1 here, 2 the end.
        """
        self._opened.seek(position if offset is None else offset, whence)

    def seekable(self) -> bool:
        """Return whether `seek` works."""
        return bool(self._opened.seekable())

    def tell(self) -> int:
        """The current position."""
        return int(self._opened.tell())

    def size(self) -> int:
        """The length of the file in bytes."""
        if self._file is not None and "r" not in self._mode:
            self._file.flush()
        return stat(self._name).length

    def flush(self) -> None:
        """Write what is buffered."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> GFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __repr__(self) -> str:
        return f"GFile({self._name!r}, {self._mode!r})"


class _as_permission:
    """Python's UnsupportedOperation (reading a file opened to write) as PermissionDeniedError."""

    def __init__(self, path: str, mode: str) -> None:
        self._path, self._mode = path, mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: Any) -> None:
        import io

        if isinstance(error, io.UnsupportedOperation):
            raise PermissionError(f"{self._path!r} was opened with the mode {self._mode!r}") from error


class FileStatistics(NamedTuple):
    """The result of `stat`: length in bytes, time of the last change, and whether it is a folder.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with GFile(f"{folder}/a.txt", "w") as file:
    ...     _ = file.write("hello")
    >>> stat(f"{folder}/a.txt").length, stat(folder).is_directory
    (5, True)
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def exists(path: Any) -> bool:
    """Return whether there is such a file or folder.

    >>> exists("/no/such/file")
    False
    """
    name = path_of("gfile.exists", path)
    if is_remote(name):
        return bool(file_system("gfile.exists", name).exists(name))
    return os.path.exists(local_path(name))


def isdir(path: Any) -> bool:
    """Return whether a path is a folder.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> isdir(folder), isdir(f"{folder}/a.txt")
    (True, False)
    """
    name = path_of("gfile.isdir", path)
    if is_remote(name):
        return bool(file_system("gfile.isdir", name).isdir(name))
    return os.path.isdir(local_path(name))


def stat(path: Any) -> FileStatistics:
    """The length and time of a file.

    Raises:
        NotFoundError: if there is none.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with GFile(f"{folder}/a.txt", "w") as file:
    ...     _ = file.write("hello")
    >>> stat(f"{folder}/a.txt").length
    5
    """
    name = path_of("gfile.stat", path)
    with as_tensorflow_errors("gfile.stat", name):
        if is_remote(name):
            info = file_system("gfile.stat", name).info(name)
            return FileStatistics(int(info.get("size") or 0), 0, info["type"] == "directory")
        found = os.stat(local_path(name))
        return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(local_path(name)))


def listdir(path: Any) -> list[str]:
    """The names in a folder, in no particular order.

    Raises:
        NotFoundError: if there is no such folder.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> mkdir(f"{folder}/a")
    >>> listdir(folder)
    ['a']
    """
    name = path_of("gfile.listdir", path)
    if not isdir(name):
        raise NotFoundError(f"gfile.listdir: there is no folder {name!r}")
    if is_remote(name):
        paths = file_system("gfile.listdir", name).ls(name, detail=False)
        return [p.rstrip("/").rpartition("/")[2] for p in paths]
    with as_tensorflow_errors("gfile.listdir", name):
        return os.listdir(local_path(name))


def glob(pattern: Any) -> list[str]:
    """The paths that match a shell pattern, or one of several.

    >>> glob("/no/such/*.txt")
    []
    """
    several = isinstance(pattern, (list, tuple, set, frozenset, Iterator))
    patterns = pattern if several else [pattern]
    return [path for p in patterns for path in matching("gfile.glob", path_of("gfile.glob", p))]


def mkdir(path: Any) -> None:
    """Make a folder; the one around it must be there.

    Raises:
        AlreadyExistsError: if it is there.
        NotFoundError: if the one around it is not.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> mkdir(f"{folder}/a")
    >>> isdir(f"{folder}/a")
    True
    """
    name = path_of("gfile.mkdir", path)
    with as_tensorflow_errors("gfile.mkdir", name):
        if is_remote(name):
            file_system("gfile.mkdir", name).mkdir(name, create_parents=False)
        else:
            os.mkdir(local_path(name))


def makedirs(path: Any) -> None:
    """Make a folder and those around it; it may be there already.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> makedirs(f"{folder}/a/b/c")
    >>> isdir(f"{folder}/a/b/c")
    True
    """
    name = path_of("gfile.makedirs", path)
    with as_tensorflow_errors("gfile.makedirs", name):
        if is_remote(name):
            file_system("gfile.makedirs", name).makedirs(name, exist_ok=True)
        else:
            os.makedirs(local_path(name), exist_ok=True)


def remove(path: Any) -> None:
    """Remove a file.

    Raises:
        NotFoundError: if there is none.
        FailedPreconditionError: if it is a folder.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with GFile(f"{folder}/a.txt", "w") as file:
    ...     _ = file.write("hello")
    >>> remove(f"{folder}/a.txt")
    >>> exists(f"{folder}/a.txt")
    False
    """
    name = path_of("gfile.remove", path)
    if isdir(name):
        raise FailedPreconditionError(f"gfile.remove: {name!r} is a folder: use gfile.rmtree")
    with as_tensorflow_errors("gfile.remove", name):
        if is_remote(name):
            file_system("gfile.remove", name).rm_file(name)
        else:
            os.remove(local_path(name))


def rmtree(path: Any) -> None:
    """Remove a folder with all that is in it.

    Raises:
        NotFoundError: if there is none.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> makedirs(f"{folder}/a/b")
    >>> rmtree(f"{folder}/a")
    >>> listdir(folder)
    []
    """
    name = path_of("gfile.rmtree", path)
    if not exists(name):
        raise NotFoundError(f"gfile.rmtree: there is no folder {name!r}")
    with as_tensorflow_errors("gfile.rmtree", name):
        if is_remote(name):
            file_system("gfile.rmtree", name).rm(name, recursive=True)
        elif isdir(name):
            shutil.rmtree(local_path(name))
        else:
            os.remove(local_path(name))


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Args:
        overwrite: whether a file at `dst` may be replaced.

    Raises:
        AlreadyExistsError: if there is a file at `dst` and it may not be replaced.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with GFile(f"{folder}/a.txt", "w") as file:
    ...     _ = file.write("hello")
    >>> copy(f"{folder}/a.txt", f"{folder}/b.txt")
    >>> sorted(listdir(folder))
    ['a.txt', 'b.txt']
    """
    source, target = _both("gfile.copy", src, dst, overwrite)
    with open_file("gfile.copy", source, "rb") as old, open_file("gfile.copy", target, "wb") as new:
        shutil.copyfileobj(old, new)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Move a file or folder.

    Args:
        overwrite: whether a file at `dst` may be replaced.

    Raises:
        AlreadyExistsError: if there is a file at `dst` and it may not be replaced.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with GFile(f"{folder}/a.txt", "w") as file:
    ...     _ = file.write("hello")
    >>> rename(f"{folder}/a.txt", f"{folder}/b.txt")
    >>> listdir(folder)
    ['b.txt']
    """
    source, target = _both("gfile.rename", src, dst, overwrite)
    with as_tensorflow_errors("gfile.rename", source):
        if is_remote(source) or is_remote(target):
            if isdir(source):
                raise FailedPreconditionError(
                    f"gfile.rename: {source!r} is a folder: move its files one by one"
                )
            copy(source, target, overwrite=True)
            remove(source)
        else:
            os.replace(local_path(source), local_path(target))


def _both(operation: str, src: Any, dst: Any, overwrite: bool) -> tuple[str, str]:
    source, target = path_of(operation, src), path_of(operation, dst)
    if not exists(source):
        raise NotFoundError(f"{operation}: there is no file {source!r}")
    if exists(target) and not overwrite:
        raise AlreadyExistsError(f"{operation}: {target!r} is there already: overwrite=True replaces it")
    return source, target


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[Exception], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Go through a tree of folders: for each its path, the folders and the files in it.

    Args:
        top: where to begin.
        topdown: whether a folder comes before those in it.
        onerror: called with the error where a folder cannot be listed; such folders are left out.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> makedirs(f"{folder}/a/b")
    >>> [(os.path.relpath(path, folder), folders, files) for path, folders, files in walk(folder)]
    [('.', ['a'], []), ('a', ['b'], []), ('a/b', [], [])]
    """
    name = path_of("gfile.walk", top)
    if is_remote(name):
        yield from file_system("gfile.walk", name).walk(name, topdown=topdown)
    else:
        yield from os.walk(local_path(name), topdown, onerror)


def join(path: Any, *paths: Any) -> str:
    """Parts of a path put together.

    >>> join("memory://a", "b", "c")
    'memory://a/b/c'
    """
    parts = [path_of("gfile.join", part) for part in (path, *paths)]
    if is_remote(parts[0]):
        return "/".join([parts[0].rstrip("/"), *[part.strip("/") for part in parts[1:]]])
    return os.path.join(*parts)


def get_registered_schemes() -> list[str]:
    """The schemes of paths that can be opened: "" is the disk; the others are fsspec's, if it is installed.

    >>> "" in get_registered_schemes()
    True
    """
    try:
        registry: Any = importlib.import_module("fsspec.registry")
    except ImportError:
        return ["", "file"]
    return sorted({"", "file", *registry.known_implementations})
