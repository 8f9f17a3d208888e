"""The public namespace `gradtape.lookup.experimental`: tables that change."""

from ..names.missing import closed
from ..ops.lookup.mutable import DenseHashTable, MutableHashTable

__all__ = ["DenseHashTable", "MutableHashTable"]

closed(__name__)
