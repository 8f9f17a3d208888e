"""The public namespace `gradtape.nn`."""

from .math import sigmoid, softplus, tanh
from .ops.nn import (
    embedding_lookup,
    log_softmax,
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from .ops.nn import (
    relu_ as relu,
)

__all__ = [
    "embedding_lookup",
    "log_softmax",
    "relu",
    "sigmoid",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softplus",
    "sparse_softmax_cross_entropy_with_logits",
    "tanh",
]
