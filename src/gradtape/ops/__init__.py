"""The operations, one file a family: the function on arrays and the rules of its gradient side by side.

Importing this completes the core: it puts operators on tensors and variables, and lends broadcasting its transpose.
"""

from .array import creation, indexing, movement
from .linalg import products
from .math import clip, elementwise, reduction
from .nn import softmax
from .random import stateful

__all__ = [
    "clip",
    "creation",
    "elementwise",
    "indexing",
    "movement",
    "products",
    "reduction",
    "softmax",
    "stateful",
]
