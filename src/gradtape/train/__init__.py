"""What trains: optimizers, checkpoints. The public namespace `gradtape.train`, imported piece by piece when used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checkpoint import Checkpoint, list_variables, load_checkpoint, load_variable
    from .latest import checkpoints_iterator, get_checkpoint_state, latest_checkpoint
    from .manager import CheckpointManager

_WHERE = {
    "Checkpoint": "checkpoint",
    "CheckpointManager": "manager",
    "checkpoints_iterator": "latest",
    "get_checkpoint_state": "latest",
    "latest_checkpoint": "latest",
    "list_variables": "checkpoint",
    "load_checkpoint": "checkpoint",
    "load_variable": "checkpoint",
}

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


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f".{_WHERE[name]}", __name__), name)
    from ..names.missing import missing

    raise missing(f"train.{name}")
