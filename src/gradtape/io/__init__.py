"""The public namespace `gradtape.io`: files, images, records, examples."""

from typing import TYPE_CHECKING

from ..files.csv_rows import decode_csv
from ..files.encoding import (
    decode_base64,
    decode_compressed,
    decode_raw,
    encode_base64,
    parse_tensor,
    serialize_tensor,
)
from ..files.examples import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from ..files.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from ..files.images import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    decode_webp,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from ..files.paths import match_filenames_once, matching_files, read_file, write_file
from ..files.protos import decode_json_example, decode_proto, encode_proto
from ..files.tfrecords import TFRecordOptions, TFRecordWriter
from ..names.missing import closed
from . import gfile

if TYPE_CHECKING:
    from ..files.sparse_strings import deserialize_many_sparse, serialize_many_sparse, serialize_sparse

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_proto",
    "decode_raw",
    "decode_webp",
    "deserialize_many_sparse",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "encode_proto",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "match_filenames_once",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "write_file",
]

# Imported when first used: they bring sparse tensors.
closed(
    __name__,
    later={
        "deserialize_many_sparse": "..files.sparse_strings",
        "serialize_many_sparse": "..files.sparse_strings",
        "serialize_sparse": "..files.sparse_strings",
    },
)
