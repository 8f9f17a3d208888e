"""The public namespace `gradtape.linalg`."""

from .ops.clip import global_norm
from .ops.creation import eye
from .ops.linalg import einsum, matmul, norm, tensordot

__all__ = ["einsum", "eye", "global_norm", "matmul", "norm", "tensordot"]
