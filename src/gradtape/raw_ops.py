"""The public namespace `gradtape.raw_ops`: operations by TensorFlow's own names, with keywords alone."""

from .names.missing import closed
from .ops.raw import Bucketize, ImageProjectiveTransformV3, UniqueV2, UniqueWithCountsV2
from .raw_table import TABLE

globals().update(TABLE)

__all__ = ["Bucketize", "ImageProjectiveTransformV3", "UniqueV2", "UniqueWithCountsV2", *TABLE]  # noqa: PLE0604

closed(__name__)
