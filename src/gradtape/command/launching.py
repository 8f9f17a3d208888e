"""`gradtape run --processes` and `--hosts`: the processes of a cluster, started and watched from one place.

Each gets its place in the cluster by TF_CONFIG. Their output is forwarded line by line, with the rank in front. When
one fails, the others have some time to end by themselves; none is left when the command ends, however it ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

ALIVE = "GRADTAPE_ALIVE"  # in the environment: the end of a pipe that closes when the command is gone
_PORT = 12321  # of the first process on each host
_GRACE = 15.0  # seconds, at least, for the others to end when one has failed
_TERMINATION = 30.0  # seconds to save and end after a request to
_OUTPUT = (
    10.0  # seconds to forward what is left, if a process that one of them has started keeps the pipe open
)


class _Task(NamedTuple):
    """A process of the cluster: its address, and the words and variables to start it with."""

    address: str
    command: list[str]
    environment: dict[str, str]


def launch(
    given: Sequence[str], program: Sequence[str], options: argparse.Namespace, refuse: Callable[[str], Any]
) -> int:
    """Start the processes and wait for them, or print their commands; returns the exit code of the first that failed.

    Args:
        given: the words of the command line before the program.
        program: the program and its arguments.
        options: `processes`, `hosts` and `ssh`.
        refuse: ends the command, for a command line that makes no sense.
    """
    count = 1 if options.processes is None else options.processes
    if count < 1:
        refuse(f"--processes must be at least 1, not {count}")
    words = [*_own_words(given), *program]
    if options.hosts is None:
        from ..distribute.presence import free_ports

        addresses = [f"127.0.0.1:{port}" for port in free_ports(count)]
        return _watch([_local(addresses, rank, words) for rank in range(count)])
    addresses = _addresses(options.hosts, count, refuse)
    if options.ssh:
        return _watch([_remote(addresses, rank, words) for rank in range(len(addresses))])
    for rank, address in enumerate(addresses):
        print(f"# {address.rpartition(':')[0]}")
        print(_line(addresses, rank, words))
    return 0


def _own_words(given: Sequence[str]) -> list[str]:
    """The command line's words, without those that are for this command alone."""
    words: list[str] = []
    rest = iter(given)
    for word in rest:
        if word in ("--processes", "--hosts"):
            next(rest, None)
        elif not word.startswith(("--processes=", "--hosts=")) and word != "--ssh":
            words.append(word)
    return words


def _addresses(text: str, count: int, refuse: Callable[[str], Any]) -> list[str]:
    """An address for each process on each host.

    >>> _addresses("a,b:5000", 2, print)
    ['a:12321', 'a:12322', 'b:5000', 'b:5001']
    """
    found: list[str] = []
    for host in text.split(","):
        name, colon, port = host.strip().partition(":")
        if not name or (colon and not port.isdigit()):
            refuse(f"--hosts takes names of machines, as in a,b:5000, and {host!r} is none")
        first = int(port) if colon else _PORT
        found += [f"{name}:{first + i}" for i in range(count)]
    return found


def _config(addresses: Sequence[str], rank: int) -> str:
    return json.dumps({"cluster": {"worker": list(addresses)}, "task": {"type": "worker", "index": rank}})


def _local(addresses: Sequence[str], rank: int, words: Sequence[str]) -> _Task:
    command = [sys.executable, "-m", "gradtape", *words]
    return _Task(addresses[rank], command, {"TF_CONFIG": _config(addresses, rank), "PYTHONUNBUFFERED": "1"})


def _line(addresses: Sequence[str], rank: int, words: Sequence[str]) -> str:
    return f"TF_CONFIG={shlex.quote(_config(addresses, rank))} {shlex.join(['gradtape', *words])}"


def _remote(addresses: Sequence[str], rank: int, words: Sequence[str]) -> _Task:
    """A process over ssh, in the same folder. A terminal, so that it ends with the connection."""
    line = f"cd {shlex.quote(os.getcwd())} && {_line(addresses, rank, words)}"
    host = addresses[rank].rpartition(":")[0]
    return _Task(addresses[rank], ["ssh", "-tt", "-o", "BatchMode=yes", host, line], {})


# ---------------------------------------------------------------------------------------------------------------------
# Watching


def _watch(tasks: Sequence[_Task]) -> int:
    reading, writing = os.pipe()
    processes: list[subprocess.Popen[str]] = []
    forwarding: list[threading.Thread] = []
    asked: list[int] = []  # signals that this command was sent
    handlers = {
        s: signal.signal(s, lambda number, frame: asked.append(number))
        for s in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        for rank, task in enumerate(tasks):
            process = subprocess.Popen(
                task.command,
                env={**os.environ, **task.environment, ALIVE: str(reading)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                pass_fds=[reading],
                start_new_session=True,
            )
            processes.append(process)
            forwarding.append(threading.Thread(target=_forward, args=(rank, process), daemon=True))
            forwarding[-1].start()
        return _wait(tasks, processes, asked)
    finally:
        for process in processes:
            _end(process, signal.SIGKILL)
        for process in processes:
            process.wait()
        for thread in forwarding:
            thread.join(_OUTPUT)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)


def _wait(tasks: Sequence[_Task], processes: list[subprocess.Popen[str]], asked: list[int]) -> int:
    """Wait for all to end; when one has failed, or this command is asked to end, for some time only."""
    grace = max(_GRACE, float(os.environ.get("GRADTAPE_TIMEOUT", "0")) + 5)
    failed: int | None = None
    end = float("inf")
    while any(process.poll() is None for process in processes):
        if asked:
            for process in processes:
                _end(process, asked[0])
            failed, end = failed or 128 + asked[0], min(end, time.monotonic() + _TERMINATION)
            asked.clear()
        if failed is None:
            failed = _first_failure(tasks, processes)
            if failed is not None:
                end = min(end, time.monotonic() + grace)
        if time.monotonic() > end:
            late = [rank for rank, process in enumerate(processes) if process.poll() is None]
            _say(f"ending {', '.join(f'process {rank}' for rank in late)}, still running")
            break
        time.sleep(0.05)
    if failed is None:
        failed = _first_failure(tasks, processes)
    return failed or 0


def _first_failure(tasks: Sequence[_Task], processes: list[subprocess.Popen[str]]) -> int | None:
    """Say which process has failed, if one has: one that a signal ended before others, which fail because of it."""
    codes = [process.poll() or 0 for process in processes]
    rank, code = min(enumerate(codes), key=lambda pair: (pair[1] >= 0, pair[1] == 0))
    if not code:
        return None
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"has failed with exit code {code}"
    _say(f"process {rank} ({tasks[rank].address}) {how}")
    return code if code > 0 else 128 - code


def _say(text: str) -> None:
    print(f"gradtape run: {text}", file=sys.stderr, flush=True)


def _end(process: subprocess.Popen[str], number: int) -> None:
    """Send a signal to a process, and to those it has started."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def _forward(rank: int, process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        sys.stdout.write(f"[{rank}] {line if line.endswith(chr(10)) else line + chr(10)}")
        sys.stdout.flush()


def end_with_the_command() -> None:
    """In a process that was started so: end when the command that started it is gone."""
    number = os.environ.pop(ALIVE, None)
    if number is None:
        return

    def wait() -> None:
        os.read(int(number), 1)
        os.killpg(os.getpgid(0), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()
