"""Sparse tensors: the elements that are there, with their places. Made of operations on the values: gradients flow.

Importing this extends public functions for them: see `ops.dispatch`.
"""

from . import mapped_slices, sparse_dispatch

__all__ = ["mapped_slices", "sparse_dispatch"]
