"""The memory that is available, and pauses of Python's garbage collector.

Linux grants more memory than it has, and kills the process that uses it: so look first.
"""

from __future__ import annotations

import gc
import threading
from pathlib import Path

# The files for a container's limit, its usage, and what it could free: control groups of version 2, and of version 1.
_GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available() -> int | None:
    """The bytes that this process can still allocate; None where unknown. Takes 0.1 ms."""
    known = [_of_machine(), *[_of_group(*group) for group in _GROUPS]]
    return min((size for size in known if size is not None), default=None)


def _of_machine() -> int | None:
    numbers = _table("/proc/meminfo")
    if "MemAvailable:" not in numbers:
        return None
    return (numbers["MemAvailable:"] + numbers.get("SwapFree:", 0)) * 1024


def _of_group(folder: str, limit: str, used: str, unused: str) -> int | None:
    try:
        most, now = (int(Path(folder, name).read_text()) for name in (limit, used))
    except (OSError, ValueError):  # there is none, or its limit is "max"
        return None
    return most - now + _table(f"{folder}/memory.stat").get(unused, 0)


def _table(path: str) -> dict[str, int]:
    """The numbers in a file of lines such as `name 12` or `name: 12 kB`."""
    try:
        rows = [line.split() for line in Path(path).read_text().splitlines()]
    except OSError:
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


class collection_paused:
    """A block in which Python's garbage collector does not run, in any thread; blocks may nest.

    For a trace: it creates objects by the hundred thousand and drops few, and each time there are a quarter more the
    collector looks at all objects of the process, those of Keras and JAX among them. It took a fifth of the trace of
    ResNet50. Reference counts free memory all the same.
    """

    _lock = threading.Lock()
    _open = 0  # blocks that are being run
    _was_enabled = False

    def __enter__(self) -> None:
        kind = collection_paused
        with kind._lock:
            if not kind._open:
                kind._was_enabled = gc.isenabled()
                gc.disable()
            kind._open += 1

    def __exit__(self, *exception: object) -> None:
        kind = collection_paused
        with kind._lock:
            kind._open -= 1
            if not kind._open and kind._was_enabled:
                gc.enable()
