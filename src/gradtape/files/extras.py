"""Import the libraries of the extra `files`, with an error that says how to install them."""

from __future__ import annotations

import importlib
from types import ModuleType


def needed(operation: str, module: str, package: str) -> ModuleType:
    """Import a module of an optional package.

    Raises:
        ImportError: if the package is not installed; the text names the extra that brings it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{operation} needs {package}: install it by pip install 'gradtape[files]'", name=module
        ) from error
