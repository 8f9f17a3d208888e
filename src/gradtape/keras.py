"""The public namespace `gradtape.keras`: the parts of Keras that gradtape has. Models and layers come later."""

from typing import TYPE_CHECKING

from .names.missing import KERAS, closed

if TYPE_CHECKING:
    from . import initializers, losses, metrics, optimizers

__all__ = ["initializers", "losses", "metrics", "optimizers"]

# A package, so that `import tensorflow.keras.layers` is answered by a sentence that says what would work.
__path__: list[str] = []

closed(__name__, later={name: f"..{name}" for name in KERAS})
