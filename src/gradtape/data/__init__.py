"""The public namespace `gradtape.data`: datasets, and loops over them."""

from ..names.missing import closed
from . import experimental
from .dataset import Dataset, TextLineDataset
from .iterator import Iterator
from .options import Options, ThreadingOptions
from .record_dataset import FixedLengthRecordDataset, TFRecordDataset
from .stage import INFINITE as INFINITE_CARDINALITY
from .stage import UNKNOWN as UNKNOWN_CARDINALITY
from .structure import DatasetSpec
from .threads import AUTOTUNE

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]

closed(__name__)
