"""Import the libraries of extras, with an error that says how to install them."""

from __future__ import annotations

import importlib
from types import ModuleType


def needed(operation: str, module: str, package: str, extra: str = "files") -> ModuleType:
    """Import a module of an optional package.

    Args:
        operation: what needs it, for the error.
        module: the module.
        package: the package's name.
        extra: the extra of gradtape that brings the package.

    Raises:
        ImportError: if the package is not installed; the text names the extra that brings it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{operation} needs {package}: install it by pip install 'gradtape[{extra}]'", name=module
        ) from error
