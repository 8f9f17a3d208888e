"""The public namespace `gradtape.sysconfig`: what the library was built for. It is plain Python."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from .names.missing import closed

__all__ = ["get_build_info", "get_compile_flags", "get_include", "get_lib", "get_link_flags"]


def get_build_info() -> OrderedDict[str, bool]:
    """What the library was built for. JAX, not this library, decides whether there is a GPU.

    >>> get_build_info()["is_cuda_build"]
    False
    """
    return OrderedDict(is_cuda_build=False, is_rocm_build=False, is_tensorrt_build=False)


def get_lib() -> str:
    """The folder of the library.

    >>> get_lib().endswith("gradtape")
    True
    """
    return str(Path(__file__).parent)


def get_include() -> str:
    """The folder where headers would be. There are none: operations are written in Python.

    >>> get_include().endswith("include")
    True
    """
    return str(Path(__file__).parent / "include")


def get_compile_flags() -> list[str]:
    """Flags for a compiler of code against the library: none, as it has no headers.

    >>> get_compile_flags()
    []
    """
    return []


def get_link_flags() -> list[str]:
    """Flags for a linker: none, as there is no library to link.

    >>> get_link_flags()
    []
    """
    return []


closed(__name__)
