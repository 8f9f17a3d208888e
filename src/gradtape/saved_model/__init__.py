"""The public namespace `gradtape.saved_model`: objects with their variables and compiled functions, in a folder.

May import `train` and the rooms above it.
"""

from ..names.missing import closed
from . import experimental
from .folder import contains_saved_model
from .loading import SERVING, load
from .save_options import LoadOptions, SaveOptions
from .saving import DEFAULT_SIGNATURE as DEFAULT_SERVING_SIGNATURE_DEF_KEY
from .saving import save

__all__ = [
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "SERVING",
    "LoadOptions",
    "SaveOptions",
    "contains_saved_model",
    "experimental",
    "load",
    "save",
]

closed(__name__)
