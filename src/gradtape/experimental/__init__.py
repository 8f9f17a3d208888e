"""The public namespace `gradtape.experimental`. Its `numpy` is imported when first used."""

from typing import TYPE_CHECKING

from ..data.optional import Optional
from ..names.missing import closed
from ..ops.extension_types import ExtensionType, ExtensionTypeSpec
from ..ops.ragged.partitions import RowPartition
from . import dlpack, extension_type

if TYPE_CHECKING:
    from . import numpy

__all__ = [
    "ExtensionType",
    "ExtensionTypeSpec",
    "Optional",
    "RowPartition",
    "dlpack",
    "extension_type",
    "numpy",
]

closed(__name__, later={"numpy": ".numpy"})
