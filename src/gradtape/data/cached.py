"""Elements cached in files: the first complete loop over `cache(filename)` writes them, and later loops read them.

Elements lie in chunks, files named NAME.data-..., in which each component is one tensor. A walk that comes to its end
writes NAME.index, which names its chunks: before that there is no cache. So loops and processes may write at once, each
its own chunks, and the first to end wins. Chunks without an index are swept away unless their writer is alive.
"""

from __future__ import annotations

import contextlib
import glob
import math
import os
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes, nest, storage
from ..core.errors import DataLossError, DTypeError, InvalidArgumentError
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, wrap
from .order import joined
from .sources import ArrayRows, Gather, Numbers
from .stage import Cursor, Listed, Session, Stage, Stream
from .structure import array_of, component, packer, spec_of

CHUNK = 1 << 25  # bytes that are kept in memory before they are written
_OVERHEAD = 512  # bytes that an element takes in memory besides its numbers


class FileCache(Stage):
    """The source, or the elements that an earlier loop over it has written to files."""

    def __init__(self, source: Stage, filename: str) -> None:
        super().__init__(source)
        self._index = Path(filename + ".index")

    def open(self, session: Session) -> Cursor:
        saved = self._saved()
        return Stream(self._written(session)) if saved is None else SavedCursor(saved)

    def _written(self, session: Session) -> Iterator[Any]:
        with writer(self._index) as writing:
            for element in self.sources[0].open(session):
                writing.add(element)
                yield element
            writing.finish()

    def _saved(self) -> _Saved | None:
        """The contents of the files; None if there are none. They must fit the specs of the source, as far as known.

        No function of the user's is called to find that out, unless the elements are built of classes of the user's:
        a file cannot name these.
        """
        contents = _contents(self._index)
        if contents is None:
            return None
        source = self.sources[0]
        own = source.spec if source.known() or contents["structure"] is None else None
        specs = [leaf and TensorSpec(leaf["shape"], leaf["dtype"]) for leaf in contents["leaves"]]
        template = own if contents["structure"] is None else _template(contents["structure"])
        if contents["chunks"] and own is not None and not _fits(specs, template, own):
            raise InvalidArgumentError(
                f"the cache {str(self._index)!r} holds elements {_packed(template, specs)}, and those of this dataset "
                f"are {own}: delete it, or give cache another name"
            )
        return _Saved(self._index, template if own is None else own, specs, contents["chunks"])

    def size(self) -> int:
        return self.sources[0].size()

    def known(self) -> bool:
        return super().known() or self._index.exists()

    def describe(self) -> Any:
        source = self.sources[0]
        saved = None if source.known() else self._saved()
        return source.spec if saved is None or not saved.chunks else saved.spec


def path_of(filename: Any) -> str:
    """The name that a user has given for a cache: a text, a path, or a tensor that holds a text."""
    name = filename.numpy() if type(filename) is Tensor else filename
    try:
        return os.fsdecode(name)
    except TypeError:
        raise TypeError(f"cache: filename must be a text or a path, not {filename!r}") from None


# ---------------------------------------------------------------------------------------------------------------------
# The index


class _Saved(NamedTuple):
    """Contents of an index: the structure of elements, the specs of their leaves, and the files that hold them."""

    file: Path
    template: Any
    specs: list[TensorSpec | None]
    chunks: list[dict[str, Any]]

    @property
    def spec(self) -> Any:
        """The structure of specs of the elements."""
        return _packed(self.template, self.specs)


def read_index(index: Path, own: Any) -> tuple[_Saved, bool] | None:
    """The contents of an index, and whether it is sharded; None if there is no such file.

    Args:
        own: the specs of the elements, or None; needed if they are built of classes of the user's.

    Raises:
        InvalidArgumentError: if the elements do not fit `own`.
    """
    contents = _contents(index)
    if contents is None:
        return None
    sharded = bool(contents.get("sharded"))
    specs = [leaf and TensorSpec(leaf["shape"], leaf["dtype"]) for leaf in contents["leaves"]]
    if own is not None and sharded:
        own = TensorSpec((), specs[0].dtype if specs and specs[0] else "int64"), own
    if own is None and contents["structure"] is None:
        raise InvalidArgumentError(
            f"the elements in {str(index)!r} are built of classes that a file cannot name: give element_spec"
        )
    template = own if contents["structure"] is None else _template(contents["structure"])
    if contents["chunks"] and own is not None and not _fits(specs, template, own):
        raise InvalidArgumentError(
            f"{str(index)!r} holds elements {_packed(template, specs)}, and not such as {own}"
        )
    return _Saved(index, template if own is None else own, specs, contents["chunks"]), sharded


def _kind(index: Path) -> storage.Kind:
    return storage.Kind("cache", f"Delete {str(index)!r}, and the next whole loop writes it anew")


def _contents(index: Path) -> dict[str, Any] | None:
    """Read an index; None if there is no such file."""
    try:
        contents, *_ = storage.read(index, _kind(index))
    except FileNotFoundError:
        return None
    if not {"structure", "leaves", "chunks"} <= contents.keys():
        raise _kind(index).damaged(index, "it is no index, but what an index names")
    return contents


def _described(structure: Any) -> Any:
    """A structure as JSON has it: tuples as lists, dicts as keys and values; None if it has other parts."""
    if not nest.is_nested(structure):
        return "leaf"
    if type(structure) is dict and all(isinstance(key, (str, int)) for key in structure):
        parts = [_described(part) for part in structure.values()]
        return None if None in parts else {"keys": list(structure), "values": parts}
    parts = [_described(part) for part in structure] if type(structure) is tuple else [None]
    return None if None in parts else parts


def _template(described: Any) -> Any:
    """A structure like the one that was described."""
    if isinstance(described, dict):
        return dict(zip(described["keys"], map(_template, described["values"])))
    return tuple(map(_template, described)) if isinstance(described, list) else described


def _packed(template: Any, leaves: list[Any]) -> Any:
    return packer(template)(leaves)


def _fits(specs: list[TensorSpec | None], template: Any, own: Any) -> bool:
    """Return whether elements of these specs fit a dataset of the spec `own`."""
    try:
        nest.assert_same_structure(template, own)
    except (TypeError, ValueError):
        return False
    leaves = nest.flatten(own)
    return len(specs) == len(leaves) and all(
        spec is leaf if spec is None else spec.is_subtype_of(leaf) for spec, leaf in zip(specs, leaves)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Writing


@contextlib.contextmanager
def writer(index: Path, replace: bool = False, sharded: bool = False) -> Iterator[_Writer]:
    """Writer of the elements of a loop. If the loop does not come to its end, no file is left.

    Args:
        replace: whether the files take the place of those that are there, at the end.
        sharded: a remark for the reader: whether each element is a pair of a number and an element.
    """
    index.parent.mkdir(parents=True, exist_ok=True)
    storage.sweep(index)
    _sweep(index)
    with storage.beside(index) as (temporary, file):
        made = _Writer(index, temporary, file, replace, sharded)
        try:
            yield made
        except BaseException:
            made.remove()
            raise


def _run_of(temporary: Path) -> str:
    """The number in the name of a file that is to become an index; its chunks have it in their names."""
    return temporary.name.split(".")[-2]


def _sweep(index: Path) -> None:
    """Remove chunks that no index names and nobody writes. The order matters: a writer may just be finishing."""
    name = index.name.removesuffix(".index")
    ours = re.compile(re.escape(name) + r"\.data-[0-9a-f]+-\d+")  # not those of a cache named "NAME.data-1"
    chunks = [path for path in index.parent.glob(f"{glob.escape(name)}.data-*") if ours.fullmatch(path.name)]
    alive = {_run_of(temporary) for temporary in storage.waiting(index)}
    if not index.exists():
        for chunk in chunks:
            if chunk.name.split("-")[-2] not in alive:
                chunk.unlink(missing_ok=True)


class _Writer:
    """Gathers elements, and writes them a chunk at a time."""

    def __init__(self, index: Path, temporary: Path, file: int, replace: bool, sharded: bool) -> None:
        self._index, self._temporary, self._file = index, temporary, file
        self._replace, self._sharded = replace, sharded
        self._stem = f"{index.name.removesuffix('.index')}.data-{_run_of(temporary)}"
        self._first: Any = None
        self._specs: list[TensorSpec | None] = []
        self._elements: list[list[Any]] = []
        self._bytes = 0
        self._count = 0
        self._chunks: list[dict[str, Any]] = []

    def add(self, element: Any) -> None:
        """Take an element, which must be built like the first."""
        if self._count == 0:
            self._first, self._specs = element, nest.flatten(spec_of(element))
        else:
            nest.assert_same_structure(self._first, element)
        arrays = [self._array(leaf, i) for i, leaf in enumerate(nest.flatten(element))]
        self._elements.append(arrays)
        self._count += 1
        self._bytes += _OVERHEAD + sum(0 if array is None else array.nbytes for array in arrays)
        if self._bytes >= CHUNK:
            self._flush()

    def _array(self, leaf: Any, i: int) -> Any:
        if leaf is None:
            return None
        where = component(self._first, i)
        array = np.asarray(array_of(leaf, f"cache: {where}"))
        spec = self._specs[i]
        if spec is None or array.dtype != spec.dtype.numpy_dtype:
            raise DTypeError(
                f"cache: {where} differ in dtype: the first is {spec and spec.dtype.name}, number {self._count} is "
                f"{dtypes.of(array).name}: cast them"
            )
        if spec.shape != array.shape:
            self._specs[i] = spec.most_specific_compatible_type(TensorSpec(array.shape, spec.dtype))
        return array

    def _flush(self) -> None:
        path = self._index.with_name(f"{self._stem}-{len(self._chunks):05d}")
        tensors: dict[str, Any] = {}
        columns = [_stored(str(i), column, tensors) for i, column in enumerate(zip(*self._elements))]
        content, digest = storage.packed("cache", {"columns": columns}, tensors)
        self._chunks.append({"file": path.name, "count": len(self._elements), "sha256": digest})
        storage.create(path, content)
        self._elements, self._bytes = [], 0

    def finish(self, stage: Stage | None = None) -> None:
        """Write the index, after all elements: from now on there is a cache, unless another writer was faster.

        Args:
            stage: where the elements come from, for the specs if there were none.
        """
        if self._elements:
            self._flush()
        if not self._count and stage is not None:
            self._first, self._specs = stage.spec, nest.flatten(stage.spec)
        contents = {
            "structure": _described(self._first),
            "leaves": [spec and {"dtype": spec.dtype.name, "shape": _lengths(spec)} for spec in self._specs],
            "chunks": self._chunks,
            "sharded": self._sharded,
        }
        storage.write(self._file, storage.packed("cache", contents, {})[0])
        os.fsync(self._file)
        if self._index.exists() and not self._replace:
            self.remove()
            self._temporary.unlink()
        else:
            before = self._chunks_before()
            os.replace(self._temporary, self._index)
            self._chunks = before  # those of this loop belong to the cache now, whatever happens
            storage.sync_directory(self._index.parent)
            self.remove()

    def _chunks_before(self) -> list[dict[str, Any]]:
        """The chunks of the index that is replaced."""
        try:
            contents = _contents(self._index)
        except DataLossError:
            return []
        return [] if contents is None else contents["chunks"]

    def remove(self) -> None:
        """Remove all chunks."""
        for chunk in self._chunks:
            with contextlib.suppress(OSError):
                self._index.with_name(chunk["file"]).unlink()


def _lengths(spec: TensorSpec) -> list[int | None] | None:
    return None if spec.shape.rank is None else spec.shape.as_list()


def _stored(name: str, column: Sequence[Any], tensors: dict[str, Any]) -> Any:
    """Put one component of all elements of a chunk into `tensors`; returns the shapes, one if all are alike."""
    if column[0] is None:
        return None
    flat = [array.reshape(-1) for array in column]
    if column[0].dtype.kind == "O":
        texts = [text for part in flat for text in part.tolist()]
        tensors[name] = np.frombuffer(b"".join(texts), np.uint8)
        tensors[f"{name}.lengths"] = np.array([len(text) for text in texts], np.int64)
    else:
        tensors[name] = np.concatenate(flat)
    shapes = [list(array.shape) for array in column]
    return shapes[:1] if all(shape == shapes[0] for shape in shapes) else shapes


# ---------------------------------------------------------------------------------------------------------------------
# Reading


class SavedCursor(Cursor):
    """Cursor over saved elements: a chunk is read when it is reached, and not at all if it is skipped."""

    def __init__(self, saved: _Saved) -> None:
        self._saved = saved
        self._ahead = list(reversed(saved.chunks))
        self._chunk: Cursor = Listed(())
        self._left = 0  # elements of the chunk

    def some(self, n: int) -> Sequence[Any]:
        parts = []
        missing = n
        while missing and self._there():
            parts.append(self._chunk.some(min(missing, self._left)))
            self._left -= len(parts[-1])
            missing -= len(parts[-1])
        return joined(parts)

    def block(self, n: int) -> tuple[int, Any]:
        if not self._there() or self._left < n:
            return super().block(n)
        self._left -= n
        return self._chunk.block(n)

    def skip(self, n: int) -> int:
        missing = n
        while missing and (self._left or self._ahead):
            if not self._left and self._ahead[-1]["count"] <= missing:
                missing -= self._ahead.pop()["count"]
            elif self._there():
                passed = self._chunk.skip(min(missing, self._left))
                self._left -= passed
                missing -= passed
        return n - missing

    def _there(self) -> bool:
        """Return whether there is one more element; reads the next chunk if need be."""
        if not self._left and self._ahead:
            chunk = self._ahead.pop()
            self._chunk, self._left = _opened(self._saved, chunk), chunk["count"]
        return self._left > 0


def _opened(saved: _Saved, chunk: dict[str, Any]) -> Cursor:
    """Cursor over the elements of a chunk."""
    kind = _kind(saved.file)
    try:
        path = saved.file.with_name(chunk["file"])  # a name, not a path
    except (TypeError, ValueError) as error:
        raise kind.damaged(saved.file, f"it names {chunk['file']!r}, which is no file beside it") from error
    try:
        contents, tensors, digest = storage.read(path, kind)
    except FileNotFoundError:
        raise kind.damaged(saved.file, f"its file {str(path)!r} is gone") from None
    if digest != chunk["sha256"]:
        raise kind.damaged(saved.file, f"its file {str(path)!r} is of another cache")
    count = chunk["count"]
    columns = [_column(str(i), shapes, count, tensors) for i, shapes in enumerate(contents["columns"])]
    if all(isinstance(column, np.ndarray) for column in columns):
        template = _packed(saved.template, [wrap(column) for column in columns])
        return Gather(Numbers(count), ArrayRows(template, columns)).open(Session(Stage()))
    pack = packer(saved.template)
    rows = zip(*([None] * count if column is None else column for column in columns))
    return Listed([pack([leaf if leaf is None else wrap(leaf) for leaf in row]) for row in rows])


def _column(name: str, shapes: list[list[int]] | None, count: int, tensors: dict[str, Any]) -> Any:
    """One component of all elements in a chunk: an array if their shapes are alike, and a list of arrays if not."""
    if shapes is None:
        return None
    flat = tensors[name]
    if f"{name}.lengths" in tensors:
        flat = _texts(flat.tobytes(), tensors[f"{name}.lengths"].tolist())
    if len(shapes) == 1:
        return flat.reshape(count, *shapes[0])
    ends = list(accumulate(map(math.prod, shapes)))
    return [flat[start:end].reshape(shape) for start, end, shape in zip([0, *ends], ends, shapes)]


def _texts(content: bytes, lengths: list[int]) -> Any:
    ends = list(accumulate(lengths))
    texts = np.empty(len(lengths), object)
    texts[:] = [content[start:end] for start, end in zip([0, *ends], ends)]
    return texts
