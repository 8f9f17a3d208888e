"""Profiles of compiled programs, by JAX's profiler, for TensorBoard's page of profiles; and traces in event files.

Without JAX there is nothing to profile: a session is kept, and writes nothing.
"""

from __future__ import annotations

import shutil
import tempfile
from importlib.util import find_spec
from typing import Any, NamedTuple

from ..core.errors import AlreadyExistsError, InvalidArgumentError, UnavailableError
from ..core.scopes import get_logger
from ..core.settings import settings
from ..core.types import IntLike, PathLike
from ..files.paths import path_of
from ..ops.scalars import integer
from .graphs import metadata_of
from .recording import plugin_metadata, record


class ProfilerOptions(NamedTuple):
    """What a profile contains. Stored; JAX's own choices are used.

    >>> ProfilerOptions().host_tracer_level
    2
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


class _Session(NamedTuple):
    logdir: str
    folder: str  # where JAX writes, until it is known whether the profile is wanted
    profiles: bool


_session: _Session | None = None


def start(logdir: PathLike, options: ProfilerOptions | None = None) -> None:
    """Start to profile what compiled code does.

    Args:
        logdir: the folder for the profile.
        options: accepted; no effect.

    Raises:
        AlreadyExistsError: if a profile is running already.

    >>> import tempfile
    >>> start(tempfile.mkdtemp())
    >>> stop(save=False)
    """
    global _session
    path = path_of("profiler.experimental.start", logdir)
    if options is not None and not isinstance(options, ProfilerOptions):
        raise TypeError(f"profiler.experimental.start: options must be ProfilerOptions, not {options!r}")
    if _session is not None:
        raise AlreadyExistsError("profiler.experimental.start: a profile is running already: stop it first")
    folder = tempfile.mkdtemp(prefix="gradtape-profile-")
    profiles = find_spec("jax") is not None
    if profiles:
        import jax

        jax.profiler.start_trace(folder)
    else:
        get_logger().warning("profiler: JAX is not installed, so there is no compiled code to profile")
    _session = _Session(path, folder, profiles)


def stop(save: bool = True) -> None:
    """Stop the profile that is running.

    Args:
        save: whether it is written to the folder given to `start`.

    Raises:
        UnavailableError: if none is running.

    >>> import tempfile
    >>> start(tempfile.mkdtemp())
    >>> stop(save=False)
    """
    global _session
    if _session is None:
        raise UnavailableError("profiler.experimental.stop: no profile is running: call start(logdir) first")
    session, _session = _session, None
    try:
        if session.profiles:
            import jax

            jax.profiler.stop_trace()
        if save:
            shutil.copytree(session.folder, session.logdir, dirs_exist_ok=True)
    finally:
        shutil.rmtree(session.folder, ignore_errors=True)


class Profile:
    """A block that is profiled.

    Args:
        logdir: the folder for the profile.
        options: accepted; no effect.

    >>> import tempfile
    >>> with Profile(tempfile.mkdtemp()):
    ...     pass
    """

    def __init__(self, logdir: PathLike, options: ProfilerOptions | None = None) -> None:
        self._logdir, self._options = logdir, options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(self, *error: object) -> None:
        stop()


class Trace:
    """A block with a name in the profile, if one is running.

    Args:
        name: the name.
        kwargs: what else is noted; `step_num` makes the block a step.

    >>> with Trace("train", step_num=1):
    ...     pass
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"profiler.experimental.Trace: a name is a text, not {name!r}")
        self._annotation: Any = None
        if _session is not None and _session.profiles:
            import jax

            notes = {key: value for key, value in kwargs.items() if not key.startswith("_")}
            kind = jax.profiler.StepTraceAnnotation if "step_num" in notes else jax.profiler.TraceAnnotation
            self._annotation = kind(name, **notes)

    def __enter__(self) -> Trace:
        if self._annotation is not None:
            self._annotation.__enter__()
        return self

    def set_metadata(self, **kwargs: Any) -> None:
        """Accept further notes, which JAX takes only when a block begins: no effect."""

    def __exit__(self, *error: Any) -> None:
        if self._annotation is not None:
            self._annotation.__exit__(*error)


def start_server(port: IntLike) -> None:
    """Offer profiles on a port, for TensorBoard's button to capture one.

    Raises:
        ImportError: if JAX is not installed.
        InvalidArgumentError: if the port is none.

    >>> try:
    ...     start_server(70000)
    ... except InvalidArgumentError as error:
    ...     print(error)
    profiler.experimental.server.start: 70000 is no port: they go from 1 to 65535
    """
    number = integer("profiler.experimental.server.start", "port", port)
    if not 0 < number < 65536:
        raise InvalidArgumentError(
            f"profiler.experimental.server.start: {number} is no port: they go from 1 to 65535"
        )
    import jax

    jax.profiler.start_server(number)


# ---------------------------------------------------------------------------------------------------------------------
# Traces in event files

_PLUGINS = {False: "graph_run_metadata_graph", True: "graph_run_metadata"}
_tracing: bool | None = None  # whether a profile runs with the trace; None without a trace


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: PathLike | None = None) -> None:
    """Start a trace, which `trace_export` writes.

    Args:
        graph: whether the graphs of functions that are called are noted.
        profiler: whether compiled code is profiled.
        profiler_outdir: the folder for the profile.

    Raises:
        ValueError: if a profile is asked for without a folder.

    >>> trace_on()
    >>> trace_off()
    """
    global _tracing
    if _tracing is not None:
        get_logger().warning("summary.trace_on: a trace is on already")
        return
    if profiler:
        if profiler_outdir is None:
            raise ValueError("summary.trace_on: a profile needs profiler_outdir, the folder it is written to")
        start(profiler_outdir)
    _tracing = bool(profiler)
    if graph and find_spec("jax") is not None:
        from ..compiled.function import note_calls

        note_calls([])


def trace_off() -> None:
    """Stop the trace, if one is on, and write nothing.

    >>> trace_off()
    """
    _end(save=False)


def trace_export(name: str, step: IntLike | None = None, profiler_outdir: PathLike | None = None) -> None:
    """Stop the trace, and write it: the profile to its folder, and graphs of functions to the default writer.

    Functions that are not compiled have no graph.

    Args:
        name: the tag of the record.
        step: the step; by default that of `experimental.set_step`.
        profiler_outdir: accepted: the folder is that of `trace_on`.

    Raises:
        ValueError: if no trace is on, or there is no step.

    >>> trace_on()
    >>> trace_export("first", step=0)
    """
    if _tracing is None:
        raise ValueError("summary.trace_export: no trace is on: call tf.summary.trace_on() first")
    metadata, called = plugin_metadata(_PLUGINS[_tracing], content=b"1"), settings.called_programs
    record(name, (lambda: metadata_of(called)) if called else b"", step, metadata)
    _end(save=True)


def _end(save: bool) -> None:
    global _tracing
    profiles, _tracing = _tracing, None
    settings.called_programs = None
    if profiles and _session is not None:
        stop(save)
