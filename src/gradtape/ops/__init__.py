"""The operations, one file a family: the function on arrays and the rules of its gradient side by side.

Importing this completes the core: it puts operators on tensors and variables, and lends broadcasting its transpose.
"""

from . import array, clip, creation, elementwise, indexing, linalg, nn, random, reduction

__all__ = ["array", "clip", "creation", "elementwise", "indexing", "linalg", "nn", "random", "reduction"]
