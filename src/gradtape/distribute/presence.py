"""Whether the processes of a cluster are there: each answers at its address for as long as it takes part.

The answer of the first process is the port at which JAX's coordinator is to be found; all others answer with 0.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from pathlib import Path
from typing import Any

from ..core.errors import UnavailableError

_PATIENCE = 2.0  # seconds to wait for an answer
_LEAST = 10000  # of the ports that are chosen


class Presence:
    """Answers at an address, from a thread, until it is closed.

    Args:
        me: this process, as errors name it.
        address: where, as 'host:port'.
        answer: a number.

    Raises:
        UnavailableError: if the port is in use.
    """

    def __init__(self, me: str, address: str, answer: int) -> None:
        self._answer = f"{answer}\n".encode()
        self._socket = _listening(me, address)
        threading.Thread(target=self._serve, name="presence", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                asker, _ = self._socket.accept()
            except OSError:  # closed
                return
            with asker, contextlib.suppress(OSError):
                asker.sendall(self._answer)

    def close(self) -> None:
        """Stop answering: those who wait in `accept` are woken, too."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _listening(me: str, address: str) -> Any:
    host, _, port = address.rpartition(":")
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listening.bind(("", int(port)))
    except OSError as error:
        listening.close()
        raise UnavailableError(
            f"{me} cannot use its port {port} ({error.strerror or error}): choose another in the cluster's "
            "addresses, for all processes"
        ) from None
    listening.listen(4096)
    return listening


def answer_of(address: str) -> int | None:
    """What the process at an address answers; None if it does not, or is another program."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE) as asked:
            asked.settimeout(_PATIENCE)
            return int(asked.makefile("rb").readline(16))
    except (OSError, ValueError):
        return None


def free_port() -> int:
    """A port of this machine that no one uses now."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Ports of this machine that no one uses now, and that the system gives to no one who asks for any port."""
    with contextlib.ExitStack() as stack:
        found: list[int] = []
        candidates = random.SystemRandom().sample(range(_LEAST, _first_of_system()), 200)
        for port in (*candidates, *[0] * count):  # the system's choice, where all of them are taken
            taken = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                taken.bind(("", port))
                found.append(int(taken.getsockname()[1]))
            if len(found) == count:
                break
        return found


def _first_of_system() -> int:
    """The first of the ports that the system chooses from."""
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = 32768
    return max(first, _LEAST + 1000)
