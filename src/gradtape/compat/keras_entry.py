"""Keras on gradtape, for `gradtape.keras`."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from . import install
from .keras_import import is_ours


def import_keras() -> ModuleType:
    """Keras on gradtape.

    Raises:
        ImportError: if Keras runs on TensorFlow itself in this process.
    """
    if "keras" not in sys.modules and "tensorflow" not in sys.modules:
        install()
    keras = import_module("keras")
    backend = keras.backend.backend()
    if backend == "tensorflow" and not is_ours():
        raise ImportError(
            "gradtape.keras: in this process Keras runs on TensorFlow itself, which was imported first. Import "
            "gradtape before keras and tensorflow, or run the program with `gradtape run`"
        )
    return keras
