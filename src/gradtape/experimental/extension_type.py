"""The public namespace `gradtape.experimental.extension_type`."""

from ..names.missing import closed
from ..ops.extension_types import as_dict

__all__ = ["as_dict"]

closed(__name__)
