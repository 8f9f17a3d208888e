"""Messages of TensorFlow's files, by protobuf: Example and its parts, SequenceExample, TensorProto.

The definitions are built when first used, in a pool of their own: TensorFlow's, in the same process, do not mind.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .extras import needed

_BYTES, _FLOAT, _INT64, _STRING, _MESSAGE = 12, 2, 3, 9, 11  # protobuf's numbers of types
_BOOL, _INT32, _DOUBLE, _UINT32, _UINT64 = 8, 5, 1, 13, 4
_ONE, _MANY = 1, 3  # optional, repeated

# name -> fields: (name, number, type, label, type name). `A.B` is a message inside of A, and comes after it.
_MESSAGES: dict[str, list[tuple[str, int, int, int, str]]] = {
    "BytesList": [("value", 1, _BYTES, _MANY, "")],
    "FloatList": [("value", 1, _FLOAT, _MANY, "")],
    "Int64List": [("value", 1, _INT64, _MANY, "")],
    "Feature": [
        ("bytes_list", 1, _MESSAGE, _ONE, "BytesList"),
        ("float_list", 2, _MESSAGE, _ONE, "FloatList"),
        ("int64_list", 3, _MESSAGE, _ONE, "Int64List"),
    ],
    "Features": [("feature", 1, _MESSAGE, _MANY, "Features.FeatureEntry")],
    "FeatureList": [("feature", 1, _MESSAGE, _MANY, "Feature")],
    "FeatureLists": [("feature_list", 1, _MESSAGE, _MANY, "FeatureLists.FeatureListEntry")],
    "Example": [("features", 1, _MESSAGE, _ONE, "Features")],
    "SequenceExample": [
        ("context", 1, _MESSAGE, _ONE, "Features"),
        ("feature_lists", 2, _MESSAGE, _ONE, "FeatureLists"),
    ],
    "TensorShapeProto": [
        ("dim", 2, _MESSAGE, _MANY, "TensorShapeProto.Dim"),
        ("unknown_rank", 3, _BOOL, _ONE, ""),
    ],
    "TensorShapeProto.Dim": [("size", 1, _INT64, _ONE, ""), ("name", 2, _STRING, _ONE, "")],
    "TensorProto": [
        ("dtype", 1, _INT32, _ONE, ""),
        ("tensor_shape", 2, _MESSAGE, _ONE, "TensorShapeProto"),
        ("version_number", 3, _INT32, _ONE, ""),
        ("tensor_content", 4, _BYTES, _ONE, ""),
        ("float_val", 5, _FLOAT, _MANY, ""),
        ("double_val", 6, _DOUBLE, _MANY, ""),
        ("int_val", 7, _INT32, _MANY, ""),
        ("string_val", 8, _BYTES, _MANY, ""),
        ("scomplex_val", 9, _FLOAT, _MANY, ""),
        ("int64_val", 10, _INT64, _MANY, ""),
        ("bool_val", 11, _BOOL, _MANY, ""),
        ("dcomplex_val", 12, _DOUBLE, _MANY, ""),
        ("half_val", 13, _INT32, _MANY, ""),
        ("uint32_val", 16, _UINT32, _MANY, ""),
        ("uint64_val", 17, _UINT64, _MANY, ""),
    ],
}
# Entries of maps, whose key is a string.
_ENTRIES = {
    "Features": ("FeatureEntry", "Feature"),
    "FeatureLists": ("FeatureListEntry", "FeatureList"),
}
# Fields of which only one is set, under a name.
_ONE_OF = {
    "Feature": ("kind", ("bytes_list", "float_list", "int64_list")),
}


@functools.cache
def _classes() -> dict[str, Any]:
    descriptors: Any = needed("a message of TensorFlow's files", "google.protobuf.descriptor_pb2", "protobuf")
    pools: Any = needed("a message of TensorFlow's files", "google.protobuf.descriptor_pool", "protobuf")
    factory: Any = needed("a message of TensorFlow's files", "google.protobuf.message_factory", "protobuf")
    file = descriptors.FileDescriptorProto(
        name="gradtape/example.proto", package="tensorflow", syntax="proto3"
    )
    built: dict[str, Any] = {}
    for name, fields in _MESSAGES.items():
        outer, _, last = name.rpartition(".")
        message = built[name] = (built[outer].nested_type if outer else file.message_type).add(name=last)
        group, alternatives = _ONE_OF.get(name, ("", ()))
        if group:
            message.oneof_decl.add(name=group)
        for field_name, number, kind, label, type_name in fields:
            field = message.field.add(name=field_name, number=number, type=kind, label=label)
            if type_name:
                field.type_name = f".tensorflow.{type_name}"
            if field_name in alternatives:
                field.oneof_index = 0
        if name in _ENTRIES:
            entry_name, value = _ENTRIES[name]
            entry = message.nested_type.add(name=entry_name)
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, type=_STRING, label=_ONE)
            entry.field.add(
                name="value", number=2, type=_MESSAGE, label=_ONE, type_name=f".tensorflow.{value}"
            )
    pool = pools.DescriptorPool()
    pool.Add(file)
    return {
        name: factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{name}")) for name in _MESSAGES
    }


def message(name: str) -> Any:
    """The class of a message, by its name in TensorFlow.

    Raises:
        ImportError: if protobuf is not installed.
    """
    return _classes()[name]


if TYPE_CHECKING:
    BytesList: Any
    Example: Any
    Feature: Any
    FeatureList: Any
    FeatureLists: Any
    Features: Any
    FloatList: Any
    Int64List: Any
    SequenceExample: Any


def __getattr__(name: str) -> Any:
    if name in _MESSAGES:
        return message(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
