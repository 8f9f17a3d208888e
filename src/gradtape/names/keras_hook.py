"""`import keras` after `import gradtape`: Keras's TensorFlow backend then finds gradtape under the name tensorflow."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class KerasHook:
    """A finder that finds nothing: it installs `gradtape.compat` when Keras is first imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> None:
        if name == "keras" and "tensorflow" not in sys.modules and keras_backend() == "tensorflow":
            import_module("gradtape.compat").install()


def watch_for_keras() -> None:
    """Install the hook, once."""
    if not any(isinstance(finder, KerasHook) for finder in sys.meta_path):
        sys.meta_path.insert(0, KerasHook())


def keras_is_there() -> bool:
    """Return whether Keras is imported or installed."""
    if "keras" in sys.modules:
        return sys.modules["keras"] is not None
    return find_spec("keras") is not None


def keras_backend() -> str:
    """The backend that Keras will choose: of the environment, its configuration file, or its default."""
    chosen = os.environ.get("KERAS_BACKEND")
    if chosen:
        return chosen
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        return str(json.loads((home / "keras.json").read_text()).get("backend", "tensorflow"))
    except (OSError, ValueError, AttributeError):
        return "tensorflow"
