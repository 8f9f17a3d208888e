"""The processes of a cluster: joining them by `jax.distributed`, and saying which one is missing when that fails."""

from __future__ import annotations

import atexit
import os
import sys
import time
from typing import Any, NamedTuple

from ..core.errors import DeadlineExceededError, UnavailableError
from .clusters import ClusterResolver, ClusterSpec
from .health import Watch
from .presence import Presence, answer_of, free_port

_JOBS = ("chief", "worker")  # those whose tasks run replicas, in the order of their ranks
_TIMEOUT = "GRADTAPE_TIMEOUT"  # seconds, in the environment
_SECONDS = 60
_LOOK = 3  # seconds to find out which process is gone
_DAY = 86400  # seconds that a process which is done waits for the others: their faults end it before


class Cluster(NamedTuple):
    """The addresses of all processes, by their ranks, and the rank of this one."""

    addresses: tuple[str, ...]
    rank: int

    @property
    def me(self) -> str:
        """This process, as errors name it."""
        return f"process {self.rank} of {len(self.addresses)} ({self.addresses[self.rank]})"

    def missing(self) -> list[str]:
        """The other processes that cannot be reached."""
        others = [rank for rank in range(len(self.addresses)) if rank != self.rank]
        return [
            f"{rank} ({self.addresses[rank]})" for rank in others if answer_of(self.addresses[rank]) is None
        ]


def cluster_of(resolver: ClusterResolver) -> Cluster | None:
    """The processes that a resolver finds; None if it finds none but this one.

    Raises:
        ValueError: if this process is not one of them, or there are processes of other kinds.
    """
    spec: ClusterSpec = resolver.cluster_spec()
    jobs = spec.as_dict()
    tasks = [(job, number) for job in _JOBS if job in jobs for number in spec.task_indices(job)]
    if not tasks:
        return None
    me = resolver.task_type, resolver.task_id
    if me not in tasks:
        raise ValueError(
            f"MultiWorkerMirroredStrategy: the cluster has the tasks {tasks}, and this process is {me}: say which "
            'one it is, in TF_CONFIG by "task": {"type": "worker", "index": 0}'
        )
    addresses = tuple(spec.task_address(job, number) for job, number in tasks)
    for address in addresses:
        host, colon, port = address.rpartition(":")
        if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(f"the address of a task is 'host:port', and {address!r} is not")
    if len(set(addresses)) < len(addresses):
        raise ValueError(f"each task needs an address of its own, and these are {list(addresses)}")
    return Cluster(addresses, tasks.index(me)) if len(addresses) > 1 else None


def seconds(given: float | None) -> int:
    """How long to wait for other processes: as given, else as the environment says, else a minute.

    Raises:
        ValueError: if it is no positive number.
    """
    text = os.environ.get(_TIMEOUT, _SECONDS) if given is None else given
    try:
        found = float(text)
    except ValueError:
        found = 0
    if not found > 0:
        raise ValueError(
            f"the time to wait for other processes must be a positive number of seconds, not {text!r}"
        )
    return max(1, round(found))


_joined: list[tuple[Cluster, Presence]] = []
watches: list[Watch] = []  # of the cluster that this process has joined


def joined() -> Cluster | None:
    """The cluster that this process has joined; None if it runs alone."""
    return _joined[0][0] if _joined else None


def join(cluster: Cluster, timeout: int) -> None:
    """Join the other processes, or wait until they come.

    Args:
        cluster: all of them.
        timeout: how many seconds to wait, now and whenever one does not answer.

    Raises:
        UnavailableError: if the port of this process is in use.
        DeadlineExceededError: if one of them does not come.
        RuntimeError: if JAX has started without them, or with others.
    """
    import jax

    if _joined:
        if _joined[0][0] != cluster:
            raise RuntimeError(f"this process is {_joined[0][0].me} already: a process joins one cluster")
        return
    port = free_port() if cluster.rank == 0 else 0
    presence = Presence(cluster.me, cluster.addresses[cluster.rank], port)
    try:
        port = _gather(cluster, timeout) or port
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(
            f"{cluster.addresses[0].rpartition(':')[0]}:{port}",
            len(cluster.addresses),
            cluster.rank,
            initialization_timeout=timeout,
            heartbeat_timeout_seconds=3 * timeout,  # after `Watch`
            shutdown_timeout_seconds=_DAY,
        )
    except RuntimeError as error:
        missing = cluster.missing()
        presence.close()
        raise _not_joined(cluster, error, missing) from None
    except BaseException:
        presence.close()
        raise
    _joined.append((cluster, presence))
    _leave_at_the_end(presence)
    from ..compiled.spmd import exchanging_since, failures

    failures.append(lost)
    watches.append(Watch(cluster.missing, lambda missing: _gone(cluster, missing), exchanging_since, timeout))


def _not_joined(cluster: Cluster, error: Exception, missing: list[str]) -> Exception:
    """The error for a failure of `jax.distributed.initialize`."""
    if "before" in str(error):
        return RuntimeError(
            f"{cluster.me}: several processes must be joined at the beginning of the program, before anything is "
            f"compiled ({_first_line(error)})"
        )
    gone = f"; gone: process {', '.join(missing)}" if missing else ""
    return UnavailableError(f"{cluster.me} could not join the others{gone} ({_first_line(error)})")


def _leave_at_the_end(presence: Presence) -> None:
    """Let a process that is done say so, and one that ends by an error not wait for the others, as JAX does."""
    shown: list[int] = []
    before = sys.excepthook

    def show(kind: Any, error: Any, tb: Any) -> None:
        shown.append(1)
        before(kind, error, tb)

    def leave() -> None:
        presence.close()
        if shown:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)

    sys.excepthook = show
    atexit.register(leave)  # runs before JAX's, which was registered before


def _gather(cluster: Cluster, timeout: int) -> int:
    """Wait until all processes have come. Returns the answer of the first; 0 for the first itself."""
    end = time.monotonic() + timeout
    missing = [rank for rank in range(len(cluster.addresses)) if rank != cluster.rank]
    answers: dict[int, int] = {}
    while True:
        found = {rank: answer_of(cluster.addresses[rank]) for rank in missing}
        answers |= {rank: answer for rank, answer in found.items() if answer is not None}
        missing = [rank for rank in missing if rank not in answers]
        if not missing:
            return answers.get(0, 0)
        if time.monotonic() > end:
            names = ", ".join(f"{rank} ({cluster.addresses[rank]})" for rank in missing)
            raise DeadlineExceededError(
                f"{cluster.me}: after {timeout} s these processes have not come: {names}. Start all of them, or wait "
                f"longer, by {_TIMEOUT} in the environment"
            )
        time.sleep(0.05)


def lost(error: Exception) -> Exception:
    """The error for a program that failed because another process is gone; the same error for any other failure."""
    text = str(error)
    if not _joined or not any(
        word in text for word in ("Gloo", "gloo", "onnection", "UNAVAILABLE", "DEADLINE")
    ):
        return error
    cluster = _joined[0][0]
    end = time.monotonic() + _LOOK
    while not (missing := cluster.missing()) and time.monotonic() < end:
        time.sleep(0.05)  # it may be about to end
    return _gone(cluster, missing, f" ({_first_line(error)})")


def _gone(cluster: Cluster, missing: list[str], cause: str = "") -> Exception:
    gone = f"process {', '.join(missing)} is gone" if missing else "another process has failed"
    return UnavailableError(
        f"{cluster.me}: {gone}, in the middle of a program of all processes. Restart all of them from the last "
        f"checkpoint.{cause}"
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
