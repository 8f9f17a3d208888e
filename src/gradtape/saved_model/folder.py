"""The folder of a saved model: its files, how they are written at once, and how they are read and checked.

    saved_model.json                the objects, the functions and their signatures; the file that counts
    variables/<digest>.safetensors  the values of variables, and captured constants
    programs/<digest>.stablehlo     the functions, as `jax.export` serializes them

The other files are named after their content. They are written first, and `saved_model.json`, which names them,
replaces the old one at the end, in one step: at every moment the folder holds the old model or the new one. What no
file names any more is removed after that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..core import storage
from ..core.errors import DataLossError, InvalidArgumentError

FILE = "saved_model.json"
OTHERS = ("saved_model.pb", "saved_model.pbtxt")  # TensorFlow's
VERSION = 1
SAVED_MODEL = storage.Kind("saved model", "Nothing was loaded")
_SUFFIXES = {"variables": ".safetensors", "programs": ".stablehlo"}
_NAME = re.compile(r"(variables|programs)/[0-9a-f]{32}\.(safetensors|stablehlo)")


def write(folder: Path, model: dict[str, Any], tensors: dict[str, np.ndarray], programs: list[bytes]) -> None:
    """Write a saved model, in place of the one that there may be.

    `model` gets the names of the files: `tensors`, and in `programs` one for each program.
    """
    content, _ = storage.packed(SAVED_MODEL.name, {}, tensors)
    files = {_name("variables", content): content} | {_name("programs", code): code for code in programs}
    model = {
        "format": "gradtape saved model",
        "version": VERSION,
        **model,
        "tensors": _name("variables", content),
        "programs": [_name("programs", code) for code in programs],
        "files": {name: len(code) for name, code in files.items()},
    }
    text = json.dumps(model | {"sha256": _digest(model)}, indent=1, allow_nan=False)
    with storage.locked(folder):
        for name, code in files.items():
            storage.replace(folder / name, code)
        storage.sync_directory(folder)
        storage.replace(folder / FILE, text.encode())
        _remove_others(folder, files)


def _name(kind: str, content: bytes) -> str:
    return f"{kind}/{hashlib.sha256(content).hexdigest()[:32]}{_SUFFIXES[kind]}"


def _digest(model: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(model, sort_keys=True).encode()).hexdigest()


def _remove_others(folder: Path, kept: dict[str, bytes]) -> None:
    """Remove the files of models that were saved here before. What cannot be removed does no harm."""
    for kind, suffix in _SUFFIXES.items():
        for path in (folder / kind).glob(f"*{suffix}"):
            if f"{kind}/{path.name}" not in kept and _NAME.fullmatch(f"{kind}/{path.name}"):
                with contextlib.suppress(OSError):
                    path.unlink()


class Folder:
    """A saved model that is read.

    Attributes:
        model: the content of `saved_model.json`.
        tensors: the values of variables and constants, by name.
        programs: the bytes of the programs.

    Raises:
        OSError: if there is no saved model.
        InvalidArgumentError: if it is TensorFlow's, or of a newer gradtape.
        DataLossError: if a file is damaged or missing.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder
        text = self._manifest()
        for _ in range(3):
            try:
                self._read(text)
                return
            except FileNotFoundError:  # another process may have saved the model anew
                before, text = text, self._manifest()
                if text == before:
                    break
        raise SAVED_MODEL.damaged(folder / FILE, "a file that it names is missing")

    def _manifest(self) -> bytes:
        path = self.path / FILE
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            pass
        if any((self.path / name).exists() for name in OTHERS):
            raise InvalidArgumentError(
                f"{str(self.path)!r} is a SavedModel of TensorFlow's, whose operations gradtape does not run. In the "
                "program that made it, save the weights (Keras: model.save('m.keras') or model.save_weights; else "
                "numpy.savez of [v.numpy() for v in variables]), and assign them to the same model here"
            )
        raise OSError(f"there is no saved model in {str(self.path)!r}: the file {str(path)!r} does not exist")

    def _read(self, text: bytes) -> None:
        with self.checking():
            self.model: dict[str, Any] = json.loads(text)
            digest = self.model.pop("sha256")
            if self.model["format"] != "gradtape saved model":
                raise ValueError("it is of another program")
            self._check_version()
            if _digest(self.model) != digest:
                raise ValueError("it is not what was written")
            files: dict[str, int] = self.model["files"]
            self.tensors = self._tensors(self.model["tensors"], files)
            self.programs = [self._content(name, files) for name in self.model["programs"]]

    def _check_version(self) -> None:
        if self.model["version"] != VERSION:
            raise InvalidArgumentError(
                f"{str(self.path)!r} was saved by a newer gradtape, in version {self.model['version']} of the format; "
                f"this one reads version {VERSION}"
            )

    @contextlib.contextmanager
    def checking(self) -> Iterator[None]:
        """A block in which whatever goes wrong is the file's fault."""
        try:
            yield
        except (InvalidArgumentError, DataLossError, FileNotFoundError):
            raise
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError, AssertionError) as error:
            raise SAVED_MODEL.damaged(self.path / FILE, str(error) or type(error).__name__) from error

    def _path(self, name: Any, files: dict[str, int]) -> Path:
        """The path of a file; its name is one that `write` gives, and leads nowhere else."""
        if type(name) is not str or not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a file of a saved model")
        path = self.path / name
        size = os.stat(path).st_size
        if size != files[name]:
            raise SAVED_MODEL.damaged(path, f"it has {size} bytes, and was written with {files[name]}")
        return path

    def _content(self, name: Any, files: dict[str, int]) -> bytes:
        path = self._path(name, files)
        content = path.read_bytes()
        if _name("programs", content) != name:
            raise SAVED_MODEL.damaged(path, "its content is not what was written")
        return content

    def _tensors(self, name: Any, files: dict[str, int]) -> dict[str, np.ndarray]:
        return storage.read(self._path(name, files), SAVED_MODEL)[1]


def contains_saved_model(export_dir: Any) -> bool:
    """Return whether a folder may hold a saved model: gradtape's, or TensorFlow's, which `load` refuses.

    >>> import tempfile
    >>> contains_saved_model(tempfile.mkdtemp())
    False
    """
    return any((Path(os.fspath(export_dir)) / name).exists() for name in (FILE, *OTHERS))
