"""Writers of summaries, and what is recorded: the default writer, the step and the condition of this thread.

Inside a `@function` the compiled program calls back for each summary when it runs. As in TensorFlow, the writer and a
step that is a plain number are those of the time of tracing; a step that is a tensor or a variable is read in each run.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.errors import DTypeError, InvalidArgumentError
from ..core.primitive import local, outside
from ..core.scopes import get_current_name_scope, name_scope
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import IntLike, PathLike, TensorLike
from ..engine.arrays import is_traced
from ..files.contents import one_string
from ..files.events import EventFile, event_message
from ..ops.scalars import integer, number


class _State(threading.local):
    def __init__(self) -> None:
        self.writer: SummaryWriter | None = None
        self.step: Any = None
        self.condition: Any = True


_state = _State()


# ---------------------------------------------------------------------------------------------------------------------
# Writers


class SummaryWriter:
    """A writer of summaries. This one writes nothing; `create_file_writer` makes one that does.

    >>> writer = create_noop_writer()
    >>> with writer.as_default():
    ...     bool(should_record_summaries())
    False
    """

    _file: EventFile | None = None

    @contextmanager
    def as_default(self, step: IntLike | None = None) -> Iterator[SummaryWriter]:
        """A block whose summaries this writer writes; at its end they are in the file.

        Args:
            step: the default step in the block.

        Raises:
            RuntimeError: if the writer is closed.
        """
        self._check_open()
        before = _state.writer, _state.step
        _state.writer = self
        if step is not None:
            _state.step = step
        try:
            yield self
            self.flush()
        finally:
            _state.writer = before[0]
            if step is not None:
                _state.step = before[1]

    def set_as_default(self, step: IntLike | None = None) -> None:
        """Make this the writer of this thread, for good.

        Args:
            step: the default step from now on.

        Raises:
            RuntimeError: if the writer is closed.
        """
        self._check_open()
        _state.writer = self
        if step is not None:
            _state.step = step

    def init(self) -> None:
        """No-op: a writer is ready when it is made.

        Raises:
            RuntimeError: if the writer is closed.
        """
        self._check_open()

    def flush(self) -> None:
        """Write what is held back."""

    def close(self) -> None:
        """Close the writer, for good."""

    def _check_open(self) -> None:
        """Raise if the writer is closed."""


class _FileWriter(SummaryWriter):
    def __init__(self, file: EventFile) -> None:
        self._file: EventFile = file
        self._closed = False
        # When the writer goes, and if it is still there when the program ends.
        self._close_file = weakref.finalize(self, file.close)

    def flush(self) -> None:
        if not self._closed:
            _when_run(self._file.flush)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._close_file()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"this SummaryWriter is closed: its file is {self._file.path}")


def create_file_writer(
    logdir: PathLike,
    max_queue: IntLike | None = None,
    flush_millis: IntLike | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
) -> SummaryWriter:
    """A writer to a new event file in a folder, which TensorBoard shows.

    Args:
        logdir: the folder, which is made if it is missing.
        max_queue: the number of summaries held back at most until they are written; 10 by default.
        flush_millis: the milliseconds they are held back at most; two minutes by default.
        filename_suffix: the end of the file's name; '.v2' by default.
        experimental_trackable: accepted; no effect.
        experimental_mesh: accepted; no effect.

    Raises:
        ValueError: without a folder.
        ImportError: if the packages of the extra `tensorboard` are missing.

    >>> import tempfile
    >>> writer = create_file_writer(tempfile.mkdtemp())
    >>> with writer.as_default(step=1):
    ...     bool(write("numbers", [1.0, 2.0]))
    True
    """
    if logdir is None:
        raise ValueError("create_file_writer: logdir must be a folder, not None")
    queue = 10 if max_queue is None else integer("create_file_writer", "max_queue", max_queue)
    millis = 120_000 if flush_millis is None else number("create_file_writer", "flush_millis", flush_millis)
    suffix = ".v2" if filename_suffix is None else filename_suffix
    if not isinstance(suffix, str):
        raise TypeError(f"create_file_writer: filename_suffix must be a text, not {filename_suffix!r}")
    return _FileWriter(EventFile(logdir, suffix, queue, millis / 1000))


def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing.

    >>> create_noop_writer().flush()
    """
    return SummaryWriter()


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Write what a writer, or the default one, holds back.

    Raises:
        TypeError: if it is no writer.

    >>> flush()
    """
    if writer is not None and not isinstance(writer, SummaryWriter):
        raise TypeError(f"summary.flush: writer must be a SummaryWriter, not {writer!r}")
    chosen = writer or _state.writer
    if chosen is not None:
        chosen.flush()


# ---------------------------------------------------------------------------------------------------------------------
# Whether, when, under which name


@contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """A block that records summaries only if a condition holds.

    Args:
        condition: a truth value, a tensor, or a function that returns one, called for each summary.

    >>> with record_if(False):
    ...     bool(should_record_summaries())
    False
    """
    before = _state.condition
    _state.condition = condition
    try:
        yield
    finally:
        _state.condition = before


def should_record_summaries() -> Tensor:
    """Return whether summaries are recorded here: there is a default writer, and the condition of `record_if` holds.

    >>> bool(should_record_summaries())
    False
    """
    if _file() is None:
        return convert(False)
    condition = _state.condition() if callable(_state.condition) else _state.condition
    holds = convert(condition)
    if holds.shape.rank != 0 or not holds.dtype.is_bool:
        raise InvalidArgumentError(f"record_if: a condition is one truth value, not {condition!r}")
    return holds


def _file() -> EventFile | None:
    return None if _state.writer is None else _state.writer._file


def get_step() -> Any:
    """The default step of summaries: as it was given to `set_step`, or None.

    >>> set_step(7)
    >>> get_step()
    7
    >>> set_step(None)
    """
    return _state.step


def set_step(step: IntLike | None) -> None:
    """Set the default step of summaries in this thread.

    Args:
        step: an integer; or a variable, which is read for each summary; or None.

    >>> set_step(None)
    """
    _state.step = step


@contextmanager
def summary_scope(name: str, default_name: str = "summary", values: Any = None) -> Iterator[tuple[str, str]]:
    """A block for the operations of a summary: its tag, with the open name scopes in front, and its own name scope.

    Args:
        default_name: the name if `name` is empty.
        values: accepted; no effect.

    >>> with summary_scope("my loss") as (tag, scope):
    ...     tag, scope
    ('my loss', 'myloss/')
    """
    chosen = name or default_name
    if not isinstance(chosen, str):
        raise TypeError(f"a summary's name is a text, not {name!r}")
    around = get_current_name_scope()
    allowed = re.sub(r"[^A-Za-z0-9_.\-/>]", "", chosen) or default_name
    with name_scope(allowed) as scope:
        yield f"{around}/{chosen}" if around else chosen, scope


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def write(
    tag: str, tensor: TensorLike | Callable[[], TensorLike], step: IntLike | None = None,
    metadata: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Write a tensor to the default writer.

    Args:
        tag: the name under which TensorBoard shows it.
        tensor: the tensor, or a function that makes it, called only if it is recorded.
        step: the step; by default that of `experimental.set_step`.
        metadata: a message SummaryMetadata, or its bytes: which part of TensorBoard shows it.

    Returns:
        Whether it was written.

    Raises:
        ValueError: if there is no step.

    >>> bool(write("numbers", [1.0, 2.0], step=0))  # no writer
    False
    """
    return record(tag, tensor, step, _as_bytes(metadata))


def record(
    tag: str,
    data: Any,
    step: Any,
    metadata: bytes | None,
    make: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> Tensor:
    """Write `make(data)` to the default writer: at once, or whenever the compiled function runs.

    Args:
        make: computes what is written, from NumPy's array of the data, only if it is recorded.
    """
    file = _file()
    if not isinstance(tag, str):
        raise TypeError(f"summary.write: a tag is a text, not {tag!r}")

    def put(array: np.ndarray, number: np.ndarray) -> None:
        assert file is not None
        file.write_tensor(tag, make(array), int(number), metadata)

    return _record(put, data, step)


def _record(put: Callable[[np.ndarray, np.ndarray], None], data: Any, step: Any) -> Tensor:
    """Call `put(data, step)` if summaries are recorded here."""
    wanted = should_record_summaries()
    if not is_traced(wanted._array) and not wanted:
        return wanted
    assert _state.writer is not None
    _state.writer._check_open()
    value = convert(data() if callable(data) else data)
    given = _step(step)

    def put_if(wanted: np.ndarray, array: np.ndarray, number: np.ndarray) -> None:
        if wanted:
            put(array, number)

    _when_run(put_if, wanted._array, value._array, given._array)
    return wanted


def _step(step: Any) -> Tensor:
    given = _state.step if step is None else step
    if given is None:
        raise ValueError(
            "a summary needs a step: give step=..., or set one with tf.summary.experimental.set_step(...) or "
            "writer.as_default(step=...)"
        )
    number = convert(given)
    if not number.dtype.is_integer:
        raise DTypeError(f"a summary's step is an integer, not {given!r}")
    if number.shape.rank != 0:
        raise InvalidArgumentError(f"a summary's step is one integer, not a tensor of shape {number.shape}")
    return number


def _when_run(action: Callable[..., Any], *arrays: Any) -> None:
    """Call an action on arrays: at once, or in order whenever the compiled function runs."""
    if local.here.trace is None:
        with outside():
            action(*[np.asarray(array) for array in arrays])
        return
    from ..engine.host import call

    traced = [i for i, array in enumerate(arrays) if is_traced(array)]

    def on_values(*values: Any) -> tuple[()]:
        given = dict(enumerate(arrays)) | dict(zip(traced, values, strict=True))
        action(*[np.asarray(given[i]) for i in range(len(arrays))])
        return ()

    call(on_values, [], [arrays[i] for i in traced], pure=False)


def plugin_metadata(
    plugin: str, kind: int = 0, description: str | None = None, content: bytes = b""
) -> bytes | None:
    """The message that says which part of TensorBoard shows a summary; None without a file to write it to.

    Args:
        plugin: the name of that part.
        kind: TensorBoard's class of data; 0 for none.
        description: a text in Markdown.
        content: what the part wants to know.
    """
    if description is not None and not isinstance(description, str):
        raise TypeError(f"a summary's description is a text, not {description!r}")
    if _file() is None:
        return None
    metadata = event_message("SummaryMetadata")(summary_description=description or "", data_class=kind)
    metadata.plugin_data.plugin_name = plugin
    metadata.plugin_data.content = content
    return bytes(metadata.SerializeToString())


def _as_bytes(metadata: Any) -> bytes | None:
    if metadata is None or isinstance(metadata, bytes):
        return metadata
    if not hasattr(metadata, "SerializeToString"):
        raise TypeError(f"summary.write: metadata must be a message SummaryMetadata, not {metadata!r}")
    return bytes(metadata.SerializeToString())


def write_raw_pb(tensor: TensorLike, step: IntLike | None = None, name: str | None = None) -> Tensor:
    """Write a message Summary, given as a string, to the default writer.

    Returns:
        Whether it was written.

    Raises:
        ValueError: if there is no step.

    >>> bool(write_raw_pb(b"", step=0))  # no writer
    False
    """
    file = _file()

    def put(array: np.ndarray, number: np.ndarray) -> None:
        assert file is not None
        file.write_summary(one_string("write_raw_pb", "tensor", wrap(array)), int(number))

    return _record(put, tensor, step)


def graph(graph_data: Any) -> Tensor:
    """Write a graph to the default writer.

    Args:
        graph_data: the graph of a concrete function, a message GraphDef, or its bytes.

    Returns:
        Whether it was written.

    Raises:
        ValueError: if it is no such message.

    >>> bool(graph(b""))  # no writer
    False
    """
    found = graph_data.as_graph_def() if hasattr(graph_data, "as_graph_def") else graph_data
    if isinstance(getattr(found, "node", None), list):
        from .graphs import graph_message

        found = graph_message(
            graph_data.get_operations() if hasattr(graph_data, "get_operations") else found.node
        )
    if hasattr(found, "SerializeToString"):
        found = found.SerializeToString()
    if not isinstance(found, bytes):
        raise ValueError(f"summary.graph takes a message GraphDef, and not {graph_data!r}")
    serialized, file = found, _file()

    def put(array: np.ndarray, number: np.ndarray) -> None:
        assert file is not None
        file.write_graph(serialized)

    return _record(put, False, 0)
