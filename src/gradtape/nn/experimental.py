"""The public namespace `gradtape.nn.experimental`."""

from ..names.missing import closed
from ..ops.nn.dropout import general_dropout, stateless_dropout

__all__ = ["general_dropout", "stateless_dropout"]

closed(__name__)
