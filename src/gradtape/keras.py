"""The public namespace `gradtape.keras`: Keras itself where it is installed, else the parts that gradtape has."""

import sys
from typing import TYPE_CHECKING

from .names.keras_hook import keras_is_there
from .names.missing import KERAS, closed

if TYPE_CHECKING:
    from . import initializers, losses, metrics, optimizers

__all__ = ["initializers", "losses", "metrics", "optimizers"]

if keras_is_there():
    from .compat.keras_entry import import_keras

    sys.modules[__name__] = import_keras()
else:
    # A package, so that `import tensorflow.keras.layers` is answered by a sentence that says what would work.
    __path__: list[str] = []

    closed(__name__, later={name: f"..{name}" for name in KERAS})
