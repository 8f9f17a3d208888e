"""The public namespace `gradtape.sets`: operations on the sets in the rows of tensors."""

from .names.missing import closed
from .ops.sparse.sets import difference, intersection, size, union

__all__ = ["difference", "intersection", "size", "union"]

closed(__name__)
