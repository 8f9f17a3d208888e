"""The public namespace `gradtape.compat`: gradtape under the name `tensorflow`, and TensorFlow's own `tf.compat`.

`install()` makes `import tensorflow` mean gradtape in this process, whether or not TensorFlow is installed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import gradtape as v2

from ..names.missing import closed
from .keras_import import KerasFinder, is_ours
from .views import Finder, View

if TYPE_CHECKING:
    from . import v1

__all__ = ["as_bytes", "as_str", "as_str_any", "as_text", "install", "uninstall", "v1", "v2"]


def install(beside: str | None = None) -> None:
    """Make `import tensorflow` give gradtape from now on.

    Args:
        beside: a folder whose own `tensorflow.py`, if it has one, is imported instead, with a warning.

    Raises:
        RuntimeError: if TensorFlow itself is imported already.

    >>> install()
    >>> import tensorflow as tf
    >>> tf.GradientTape is __import__("gradtape").GradientTape
    True
    >>> uninstall()
    """
    imported = sys.modules.get("tensorflow")
    if imported is not None and not isinstance(imported, View):
        place = getattr(imported, "__file__", None) or "a module made by hand"
        raise RuntimeError(
            f"tensorflow is imported already, from {place}: call gradtape.compat.install() before the first "
            "`import tensorflow` (in a notebook: restart the kernel, and load gradtape first)"
        )
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path[:0] = [Finder(beside), KerasFinder()]


def uninstall() -> None:
    """Undo `install`: the next `import tensorflow` is TensorFlow's own. Modules imported before do not change.

    Where Keras has been imported on gradtape the name stays, since Keras imports more of it as it runs.

    >>> uninstall()
    """
    if "keras.src.backend.tensorflow" in sys.modules and is_ours():
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, (Finder, KerasFinder))]
    if isinstance(sys.modules.get("tensorflow"), View):
        for name in [name for name in sys.modules if name.partition(".")[0] == "tensorflow"]:
            del sys.modules[name]


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext gradtape` in a notebook: `import tensorflow` gives gradtape."""
    install()


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext gradtape` in a notebook: `import tensorflow` is TensorFlow's own again."""
    uninstall()


def as_bytes(bytes_or_text: str | bytes | bytearray, encoding: str = "utf-8") -> bytes:
    """A text, or bytes, as bytes.

    >>> as_bytes("tape")
    b'tape'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError(f"compat.as_bytes: needs a text or bytes, not {bytes_or_text!r}")


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """A text, or bytes, as a text.

    >>> as_text(b"tape")
    'tape'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"compat.as_text: needs a text or bytes, not {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Anything as a text.

    >>> as_str_any(1.5)
    '1.5'
    """
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


closed(__name__, later={"v1": ".v1"})
