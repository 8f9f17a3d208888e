"""The public namespace `gradtape.experimental`. Its `numpy` is imported when first used."""

from __future__ import annotations

from typing import Any

from ..data.optional import Optional
from ..names.missing import missing
from . import dlpack

__all__ = ["Optional", "dlpack", "numpy"]


def __getattr__(name: str) -> Any:
    if name != "numpy":
        raise missing(f"experimental.{name}")
    import importlib

    return importlib.import_module(f"{__name__}.numpy")
