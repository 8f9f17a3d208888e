"""The public namespace `gradtape.experimental`. Its `numpy` is imported when first used."""

from typing import TYPE_CHECKING

from ..data.optional import Optional
from ..names.missing import closed
from ..ops.ragged.partitions import RowPartition
from . import dlpack

if TYPE_CHECKING:
    from . import numpy

__all__ = ["Optional", "RowPartition", "dlpack", "numpy"]

closed(__name__, later={"numpy": ".numpy"})
