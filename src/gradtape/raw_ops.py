"""The public namespace `gradtape.raw_ops`: operations that TensorFlow names only here."""

from .names.missing import closed
from .ops.raw import Bucketize, ImageProjectiveTransformV3, UniqueV2, UniqueWithCountsV2

__all__ = ["Bucketize", "ImageProjectiveTransformV3", "UniqueV2", "UniqueWithCountsV2"]

closed(__name__)
