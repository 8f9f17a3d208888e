"""Messages of TensorFlow's files, by protobuf: Example and its parts, SequenceExample, TensorProto.

The definitions are built when first used, in a pool of their own: TensorFlow's, in the same process, do not mind.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .extras import needed

_BYTES, _FLOAT, _INT64, _STRING, _MESSAGE = 12, 2, 3, 9, 11  # protobuf's numbers of types
_BOOL, _INT32, _DOUBLE, _UINT32, _UINT64, _ENUM = 8, 5, 1, 13, 4, 14
_ONE, _MANY = 1, 3  # optional, repeated

# name -> fields: (name, number, type, label, type name)
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
# Messages inside others: the entries of maps (key: string), and the lengths of a shape.
_ENTRIES = {"Features": ("FeatureEntry", "Feature"), "FeatureLists": ("FeatureListEntry", "FeatureList")}
_ONE_OF = {"Feature": "kind"}  # only one of the fields is set


@functools.cache
def _classes() -> dict[str, Any]:
    descriptors: Any = needed("tf.train.Example", "google.protobuf.descriptor_pb2", "protobuf")
    pools: Any = needed("tf.train.Example", "google.protobuf.descriptor_pool", "protobuf")
    factory: Any = needed("tf.train.Example", "google.protobuf.message_factory", "protobuf")
    file = descriptors.FileDescriptorProto(
        name="gradtape/example.proto", package="tensorflow", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in _ONE_OF:
            message.oneof_decl.add(name=_ONE_OF[name])
        for field_name, number, kind, label, type_name in fields:
            field = message.field.add(name=field_name, number=number, type=kind, label=label)
            if type_name:
                field.type_name = f".tensorflow.{type_name}"
            if name in _ONE_OF:
                field.oneof_index = 0
        if name in _ENTRIES:
            entry_name, value = _ENTRIES[name]
            entry = message.nested_type.add(name=entry_name)
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, type=_STRING, label=_ONE)
            entry.field.add(
                name="value", number=2, type=_MESSAGE, label=_ONE, type_name=f".tensorflow.{value}"
            )
        if name == "TensorShapeProto":
            dim = message.nested_type.add(name="Dim")
            dim.field.add(name="size", number=1, type=_INT64, label=_ONE)
            dim.field.add(name="name", number=2, type=_STRING, label=_ONE)
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
