"""The public namespace `gradtape.types.experimental.distributed`: the classes of values of several replicas."""

from ..distribute.mirrored_variables import Mirrored
from ..distribute.per_replica import PerReplica
from ..names.missing import closed

__all__ = ["Mirrored", "PerReplica"]

closed(__name__)
