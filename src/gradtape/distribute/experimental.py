"""The public namespace `gradtape.distribute.experimental`: further strategies, and their options."""

from ..names.missing import closed
from .distributed_input import ValueContext
from .strategies import (
    CentralStorageStrategy,
    CommunicationImplementation,
    CommunicationOptions,
    MultiWorkerMirroredStrategy,
    ParameterServerStrategy,
    TPUStrategy,
)

__all__ = [
    "CentralStorageStrategy",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "PreemptionCheckpointHandler",  # noqa: F822  (of a room further down)
    "TPUStrategy",
    "TerminationConfig",  # noqa: F822
    "ValueContext",
]

closed(
    __name__,
    later={
        "PreemptionCheckpointHandler": "...train.preemption",
        "TerminationConfig": "...train.preemption",
    },
)
