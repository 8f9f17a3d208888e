"""Whole files: read_file, write_file, matching_files. A path with `://` goes to fsspec."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from typing import Any

from ..core.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnknownError,
)
from ..core.tensor import Tensor
from ..core.types import TensorLike
from ..core.variable import Variable
from .contents import one_string, string_tensor, strings
from .extras import needed


def path_of(operation: str, path: Any) -> str:
    """A path given as text, bytes, a path object or a string tensor."""
    if isinstance(path, str):
        return path
    return os.fsdecode(one_string(operation, "the path", path))


def is_remote(path: str) -> bool:
    """Return whether a path is a URL, which fsspec opens."""
    return "://" in path and not path.startswith("file://")


def local_path(path: str) -> str:
    """A local path without the scheme `file://`."""
    return path.removeprefix("file://")


def file_system(operation: str, path: str) -> Any:
    """The fsspec file system of a URL."""
    fsspec = needed(f"{operation} of {path!r}", "fsspec", "fsspec")
    scheme = path.partition("://")[0]
    try:
        return fsspec.filesystem(scheme)
    except (ValueError, ImportError) as error:
        raise NotFoundError(f"{operation}: {path!r}: {error}") from error


def open_file(operation: str, path: str, mode: str) -> Any:
    """Open a file on the disk or, for a URL, by fsspec."""
    with as_tensorflow_errors(operation, path):
        if is_remote(path):
            return file_system(operation, path).open(path, mode)
        return open(local_path(path), mode)


@contextlib.contextmanager
def as_tensorflow_errors(operation: str, path: str) -> Iterator[None]:
    """Raise Python's errors about files as TensorFlow's classes, which are both."""
    try:
        yield
    except OpError:
        raise
    except FileNotFoundError as error:
        raise NotFoundError(f"{operation}: there is no file {path!r}") from error
    except FileExistsError as error:
        raise AlreadyExistsError(f"{operation}: {path!r} is there already") from error
    except PermissionError as error:
        raise PermissionDeniedError(f"{operation}: no permission for {path!r}") from error
    except (IsADirectoryError, NotADirectoryError) as error:
        raise FailedPreconditionError(f"{operation}: {path!r}: {error.strerror}") from error
    except OSError as error:
        raise UnknownError(f"{operation}: {path!r}: {error}") from error


def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
    """The contents of a file, as a string tensor.

    Raises:
        NotFoundError: if there is no such file.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = path.write_text("hello")
    >>> read_file(str(path)).numpy()
    b'hello'
    """
    path = path_of("read_file", filename)
    with open_file("read_file", path, "rb") as file, as_tensorflow_errors("read_file", path):
        return string_tensor(file.read())


def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> None:
    """Write a string to a file; folders on the way are made. The old file stays until the new one is whole.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/deep/a.txt"
    >>> write_file(path, "hello")
    >>> read_file(path).numpy()
    b'hello'
    """
    path = path_of("write_file", filename)
    data = one_string("write_file", "contents", contents)
    with as_tensorflow_errors("write_file", path):
        if is_remote(path):
            with file_system("write_file", path).open(path, "wb") as file:
                file.write(data)
        else:
            replace_file(local_path(path), data)


def replace_file(path: str, data: bytes) -> None:
    """Write a file beside the old one, and rename it over that."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        if os.path.exists(path):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """The files that match a shell pattern, or one of several, in order of their names.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for letter in "ab":
    ...     (folder / f"{letter}.txt").touch()
    >>> len(matching_files(str(folder / "*.txt")))
    2
    """
    patterns = [os.fsdecode(p) for p in strings("matching_files", "pattern", pattern).reshape(-1)]
    found = {path for p in patterns for path in matching("matching_files", p)}
    return string_tensor([os.fsencode(path) for path in sorted(found)])


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """A variable, not trainable, that holds the files which match a shell pattern now; see `matching_files`.

    >>> len(match_filenames_once("/no/such/folder/*").numpy())
    0
    """
    return Variable(matching_files(pattern), trainable=False, name="matching_filenames", shape=[None])


def matching(operation: str, pattern: str) -> list[str]:
    """The paths that match a shell pattern."""
    if is_remote(pattern):
        scheme = pattern.partition("://")[0]
        system = file_system(operation, pattern)
        return [p if "://" in p else f"{scheme}://{p.lstrip('/')}" for p in sorted(system.glob(pattern))]
    return sorted(glob.glob(local_path(pattern)))
