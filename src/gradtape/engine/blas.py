"""The threads of BLAS. NumPy's and SciPy's wheels bring an OpenBLAS each, with a thread for each core.

Its idle threads keep their core busy for some 25 ms in case more comes. On two cores a product of 200 x 200 by NumPy
takes 0.3 ms, a solution by SciPy 0.2 ms, and both in turn 40 ms; unless one of them uses the calling thread alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple


class Threads(NamedTuple):
    """The number of threads of an OpenBLAS: its getter, its setter, and the initial number."""

    get: Callable[[], int]
    set: Callable[[int], None]
    first: int


class Alone:
    """`Alone(package)(function, *arguments)` calls a function while the package's BLAS uses the calling thread alone.

    Where the number of threads is no longer what it was at first, somebody else sees to it: then it is left as it is.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    @functools.cached_property
    def threads(self) -> Threads | None:
        """None where there is nothing to do: the BLAS is another one, or has one thread only."""
        import ctypes

        spec = find_spec(self._package)
        assert spec is not None and spec.origin is not None
        for path in (Path(spec.origin).parents[1] / f"{self._package}.libs").glob("*openblas*"):
            library = ctypes.PyDLL(str(path))
            for suffix in ("64_", ""):
                get = getattr(library, f"scipy_openblas_get_num_threads{suffix}", None)
                if get is not None:
                    first = get()
                    set_ = getattr(library, f"scipy_openblas_set_num_threads{suffix}")
                    return Threads(get, set_, first) if first > 1 else None
        return None

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        threads = self.threads
        if threads is None or threads.get() != threads.first:
            return function(*arguments)
        threads.set(1)
        try:
            return function(*arguments)
        finally:
            threads.set(threads.first)


in_numpy = Alone("numpy")
in_scipy = Alone("scipy")
