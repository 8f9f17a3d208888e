"""The public namespace `gradtape.summary`: event files and profiles, which TensorBoard shows.

May import `files` and the rooms above it.
"""

from ..names.missing import closed
from . import experimental
from .kinds import audio, histogram, image, scalar, text
from .profiling import trace_export, trace_off, trace_on
from .recording import (
    SummaryWriter,
    create_file_writer,
    create_noop_writer,
    flush,
    graph,
    record_if,
    should_record_summaries,
    write,
)

__all__ = [
    "SummaryWriter",
    "audio",
    "create_file_writer",
    "create_noop_writer",
    "experimental",
    "flush",
    "graph",
    "histogram",
    "image",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
    "trace_export",
    "trace_off",
    "trace_on",
    "write",
]

closed(__name__)
