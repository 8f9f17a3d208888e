"""The public namespace `gradtape.experimental`. Its `dtensor` and `numpy` are imported when first used."""

from typing import TYPE_CHECKING

from ..data.optional import Optional
from ..names.missing import closed
from ..ops.extension_types import ExtensionType, ExtensionTypeSpec
from ..ops.ragged.partitions import RowPartition
from . import dlpack, extension_type

if TYPE_CHECKING:
    from . import dtensor, numpy

__all__ = [
    "ExtensionType",
    "ExtensionTypeSpec",
    "Optional",
    "RowPartition",
    "dlpack",
    "dtensor",
    "extension_type",
    "numpy",
]

closed(__name__, later={"dtensor": ".dtensor", "numpy": ".numpy"})
