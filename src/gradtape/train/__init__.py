"""The public namespace `gradtape.train`: checkpoints, and messages for TFRecord files, imported when first used.

The room also holds the optimizers, schedules, `Module` and `progress`, which other namespaces name.
"""

from typing import TYPE_CHECKING

from ..names.missing import closed

if TYPE_CHECKING:
    from ..files.messages import (
        BytesList,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        SequenceExample,
    )
    from .checkpoint import Checkpoint, CheckpointOptions, list_variables, load_checkpoint, load_variable
    from .latest import checkpoints_iterator, get_checkpoint_state, latest_checkpoint
    from .manager import CheckpointManager
    from .moving_average import ExponentialMovingAverage
    from .trackable_view import CheckpointView, TrackableView

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "CheckpointView",
    "ClusterSpec",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
    "TrackableView",
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
        "BytesList": "..files.messages",
        "ClusterSpec": "..distribute.clusters",
        "Example": "..files.messages",
        "ExponentialMovingAverage": ".moving_average",
        "Feature": "..files.messages",
        "FeatureList": "..files.messages",
        "FeatureLists": "..files.messages",
        "Features": "..files.messages",
        "FloatList": "..files.messages",
        "Int64List": "..files.messages",
        "SequenceExample": "..files.messages",
        "Checkpoint": ".checkpoint",
        "CheckpointManager": ".manager",
        "CheckpointOptions": ".checkpoint",
        "CheckpointView": ".trackable_view",
        "TrackableView": ".trackable_view",
        "checkpoints_iterator": ".latest",
        "get_checkpoint_state": ".latest",
        "latest_checkpoint": ".latest",
        "list_variables": ".checkpoint",
        "load_checkpoint": ".checkpoint",
        "load_variable": ".checkpoint",
    },
)
