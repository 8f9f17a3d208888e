"""The public namespace `gradtape.nest`."""

from .core.nest import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as
from .names.missing import closed

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]

closed(__name__)
