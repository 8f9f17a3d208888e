"""The end of a process whose cluster has lost another one, with an error that names it.

An exchange that fails raises by itself. Two other ways are here: a process waits without end for one that is stopped,
or has left; and JAX, whose health check has failed, aborts the process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

_LOOK = 1.0  # seconds between two looks


class Watch:
    """Ends this process if it waits for one that does not answer, or if JAX aborts it because of one.

    Args:
        missing: finds the other processes that do not answer now.
        error: makes the error that names them.
        since: since when, by `time.monotonic`, this process waits in an exchange with others; None if it does not.
        timeout: how many seconds it may wait for one that does not answer.
    """

    def __init__(
        self,
        missing: Callable[[], list[str]],
        error: Callable[[list[str]], Exception],
        since: Callable[[], float | None],
        timeout: float,
    ) -> None:
        self._missing = missing
        self._error = error
        self._since = since
        self.timeout = timeout
        threading.Thread(target=self._look, name="watch", daemon=True).start()
        if os.name == "posix":
            self._handle_aborts()

    def _look(self) -> None:
        while True:
            time.sleep(_LOOK)
            since = self._since()
            if since is not None and time.monotonic() - since > self.timeout:
                self._end_if(self._missing_twice())

    def _missing_twice(self) -> list[str]:
        """Those that have not answered two times: a busy one may need a moment."""
        first = self._missing()
        return [name for name in self._missing() if name in first] if first else []

    def _end_if(self, missing: list[str]) -> None:
        if missing:
            error = self._error(missing)
            sys.stdout.flush()
            print(
                f"{type(error).__module__}.{type(error).__qualname__}: {error}", file=sys.stderr, flush=True
            )
            os._exit(1)

    def _handle_aborts(self) -> None:
        """Let an abort, by a thread of JAX's, end with the error of ours if a process is gone.

        Python's own handlers run when the abort is over: this one is called by the thread that aborts.
        """
        library = ctypes.CDLL(None)
        handler_type = ctypes.CFUNCTYPE(None, ctypes.c_int)
        library.signal.restype = ctypes.c_void_p
        library.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]

        def aborted(number: int) -> None:
            self._end_if(self._missing_twice())
            library.signal(signal.SIGABRT, None)  # the default, which the abort goes on with

        self._handler: Any = handler_type(aborted)  # kept: C has no reference
        library.signal(signal.SIGABRT, ctypes.cast(self._handler, ctypes.c_void_p))
