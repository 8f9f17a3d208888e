"""The public namespace `gradtape.train`: checkpoints. Each name is imported when first used.

The room also holds the optimizers, schedules, `Module` and `progress`, which other namespaces name.
"""

from typing import TYPE_CHECKING

from ..names.missing import closed

if TYPE_CHECKING:
    from .checkpoint import Checkpoint, list_variables, load_checkpoint, load_variable
    from .latest import checkpoints_iterator, get_checkpoint_state, latest_checkpoint
    from .manager import CheckpointManager

__all__ = [
    "Checkpoint",
    "CheckpointManager",
    "checkpoints_iterator",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]

closed(
    __name__,
    later={
        "Checkpoint": ".checkpoint",
        "CheckpointManager": ".manager",
        "checkpoints_iterator": ".latest",
        "get_checkpoint_state": ".latest",
        "latest_checkpoint": ".latest",
        "list_variables": ".checkpoint",
        "load_checkpoint": ".checkpoint",
        "load_variable": ".checkpoint",
    },
)
