"""Fields of any protobuf messages as tensors, and back: `tf.io.decode_proto` and `encode_proto`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes
from ..core.dtypes import DType
from ..core.errors import DataLossError, DTypeError, InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import DTypeLike, TensorLike
from ..ops.known import known
from ..ops.scalars import choice
from ..ops.strings.texts import each
from .contents import strings
from .extras import needed
from .messages import message
from .paths import as_tensorflow_errors, open_file

# protobuf's types of fields, by number -> the dtypes that hold them.
_INT32, _INT64, _UINT32 = ("int32", "int64"), ("int64",), ("uint32", "int64", "uint64")
_DTYPES: dict[int, tuple[str, ...]] = {
    1: ("float64",), 2: ("float32", "float64"), 3: _INT64, 4: ("uint64",), 5: _INT32, 6: ("uint64",), 7: _UINT32,
    8: ("bool",), 9: ("string",), 10: ("string",), 11: ("string",), 12: ("string",), 13: _UINT32, 14: _INT32,
    15: _INT32, 16: _INT64, 17: _INT32, 18: _INT64,
}  # fmt: skip
_TEXT, _MESSAGES = 9, (10, 11)


class DecodeProtoV2(NamedTuple):
    """How often each field occurs in each message, and the values of each field."""

    sizes: Tensor
    values: list[Tensor]


def decode_proto(
    bytes: TensorLike,
    message_type: str,
    field_names: Sequence[str],
    output_types: Sequence[DTypeLike],
    descriptor_source: str | bytes = "local://",
    message_format: str = "binary",
    sanitize: bool = False,
    name: str | None = None,
) -> DecodeProtoV2:
    """The values of some fields of messages.

    Args:
        bytes: messages, of any shape.
        message_type: the full name of their type, such as 'tensorflow.Example'.
        field_names: the fields.
        output_types: the dtype of each; a string for a message in the message.
        descriptor_source: where the type is defined: 'local://' for the messages that Python has loaded, the path of a
            file with a FileDescriptorSet, or b'bytes://' and the bytes of one.
        message_format: 'binary' or 'text'.
        sanitize: accepted; no effect.

    Returns:
        `sizes`, of shape [..., fields], and for each field `values` of shape [..., the most that a message has], in
        which the field's default value stands where a message has fewer.

    Raises:
        InvalidArgumentError: if there is no such type or field, or a dtype does not fit it.
        DataLossError: if a string is no such message.

    >>> text = 'features {feature {key: "a" value {int64_list {value: 7}}}}'
    >>> found = decode_proto(text, "tensorflow.Example", ["features"], ["string"], message_format="text")
    >>> found.sizes.numpy(), decode_proto(found.values[0], "tensorflow.Features", ["feature"], ["string"]).sizes.numpy()
    (array([1], dtype=int32), array([[1]], dtype=int32))
    """
    array = strings("decode_proto", "bytes", bytes)
    kind = _kind("decode_proto", message_type, descriptor_source)
    choice("decode_proto", "message_format", message_format, ("binary", "text"))
    field_names = _listed("decode_proto", "field_names", field_names, str)
    types = [dtypes.as_dtype(one) for one in _listed("decode_proto", "output_types", output_types)]
    if len(types) != len(field_names):
        raise InvalidArgumentError(
            f"decode_proto: {len(field_names)} field_names, and {len(types)} output_types"
        )
    if not array.size:
        raise InvalidArgumentError("decode_proto: there must be at least one message")
    fields = [_field("decode_proto", kind, *pair) for pair in zip(field_names, types, strict=True)]
    parsed = [_parsed(kind, content, message_format) for content in array.reshape(-1).tolist()]
    sizes, values = [], []
    for field, dtype in zip(fields, types, strict=True):
        rows = [_values(one, field) for one in parsed]
        sizes.append([len(row) for row in rows])
        longest = max(*sizes[-1], 0 if _is_repeated(field) else 1)
        full = [row + [_default(field)] * (longest - len(row)) for row in rows]
        made = np.empty((len(rows), longest), dtype.numpy_dtype)
        made[...] = full
        values.append(wrap(made.reshape(*array.shape, longest)))
    counts = np.array(sizes, np.int32).T.reshape(*array.shape, len(fields))
    return DecodeProtoV2(wrap(counts), values)


def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """The messages Example that texts in JSON stand for, serialized.

    Args:
        json_examples: texts in protobuf's form of JSON, of any shape.

    Raises:
        InvalidArgumentError: if a text is none.

    >>> decode_json_example('{"features": {"feature": {"a": {"int64List": {"value": ["7"]}}}}}').numpy()
    b'\\n\\x0c\\n\\n\\n\\x01a\\x12\\x05\\x1a\\x03\\n\\x01\\x07'
    """
    texts: Any = needed("decode_json_example", "google.protobuf.json_format", "protobuf")
    kind = message("Example")

    def serialized(content: bytes) -> bytes:
        try:
            return bytes(texts.Parse(content, kind()).SerializeToString(deterministic=True))
        except (texts.Error, UnicodeDecodeError) as error:
            raise InvalidArgumentError(f"decode_json_example: a text is no Example: {error}") from error

    return wrap(each(serialized, strings("decode_json_example", "json_examples", json_examples)))


def encode_proto(
    sizes: TensorLike,
    values: Sequence[TensorLike],
    field_names: Sequence[str],
    message_type: str,
    descriptor_source: str | bytes = "local://",
    name: str | None = None,
) -> Tensor:
    """Messages of the values of some fields: the inverse of `decode_proto`.

    Args:
        sizes: how many values each message has of each field, of shape [..., fields].
        values: for each field, a tensor of shape [..., at least as many].
        field_names: the fields.
        message_type, descriptor_source: as for `decode_proto`.

    Raises:
        InvalidArgumentError: if shapes or dtypes do not fit.

    >>> encode_proto([[2]], [[[5, 6]]], ["value"], "tensorflow.Int64List").numpy()
    Traceback (most recent call last):
        ...
    gradtape.errors.InvalidArgumentError: encode_proto: the field 'value' of tensorflow.Int64List takes int64, not int32
    >>> import gradtape as tf
    >>> encode_proto([[2]], [tf.constant([[5, 6]], "int64")], ["value"], "tensorflow.Int64List").numpy()
    array([b'\\n\\x02\\x05\\x06'], dtype=object)
    """
    counts = known("encode_proto", "sizes", convert(sizes)._array)
    if counts.dtype.kind not in "iu":
        raise DTypeError(f"encode_proto: sizes must be integers, not {counts.dtype}")
    field_names = _listed("encode_proto", "field_names", field_names, str)
    tensors = [convert(value) for value in _listed("encode_proto", "values", values)]
    kind = _kind("encode_proto", message_type, descriptor_source)
    if len(tensors) != len(field_names) or not counts.ndim or counts.shape[-1] != len(tensors):
        raise InvalidArgumentError(
            f"encode_proto: {len(field_names)} field_names, {len(tensors)} values, and sizes of shape "
            f"{list(counts.shape)}"
        )
    fields = [
        _field("encode_proto", kind, name, one.dtype) for name, one in zip(field_names, tensors, strict=True)
    ]
    front = counts.shape[:-1]
    for field, tensor in zip(fields, tensors, strict=True):
        if tuple(tensor._array.shape[:-1]) != front or tensor.ndim != len(front) + 1:
            raise InvalidArgumentError(
                f"encode_proto: values of {field.name!r} have the shape {list(tensor.shape)}, for sizes of shape "
                f"{list(counts.shape)}"
            )
    table = counts.reshape(-1, len(fields)).tolist()
    arrays = [known("encode_proto", "values", tensor._array) for tensor in tensors]
    columns = [array.reshape(-1, array.shape[-1]).tolist() for array in arrays]
    made = np.empty(len(table), object)
    for i, row in enumerate(table):
        one = kind()
        for field, column, count in zip(fields, columns, row, strict=True):
            if not 0 <= count <= len(column[i]) or (count > 1 and not _is_repeated(field)):
                raise InvalidArgumentError(
                    f"encode_proto: message {i} cannot have {count} values of {field.name!r}; "
                    f"{len(column[i])} are given"
                )
            try:
                _put(one, field, column[i][:count])
            except Exception as error:
                if not isinstance(error, ValueError) and type(error).__name__ != "DecodeError":
                    raise
                raise InvalidArgumentError(
                    f"encode_proto: message {i} cannot have such a value of {field.name!r}: {error}"
                ) from error
        made[i] = one.SerializeToString(deterministic=True)
    return wrap(made.reshape(front))


def _listed(operation: str, what: str, given: Any, kind: type = object) -> list[Any]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(one, kind) for one in given):
        raise TypeError(f"{operation}: {what} must be a list, not {given!r}")
    return list(given)


def _kind(operation: str, message_type: str, source: str | bytes) -> Any:
    """The class of a type of messages."""
    for what, value, allowed in (
        ("message_type", message_type, str),
        ("descriptor_source", source, (str, bytes)),
    ):
        if not isinstance(value, allowed):
            raise TypeError(f"{operation}: {what} must be a text, not {value!r}")
    prefix, _, name = message_type.partition(".")
    if source in ("local://", b"local://", "", b"") and prefix == "tensorflow":
        try:
            return message(name)
        except KeyError:
            pass
    pool = _pool(operation, source)
    factory: Any = needed(operation, "google.protobuf.message_factory", "protobuf")
    try:
        return factory.GetMessageClass(pool.FindMessageTypeByName(message_type))
    except KeyError:
        raise InvalidArgumentError(
            f"{operation}: there is no type {message_type!r} in descriptor_source"
        ) from None


@functools.lru_cache(maxsize=16)
def _pool(operation: str, source: str | bytes) -> Any:
    pools: Any = needed(operation, "google.protobuf.descriptor_pool", "protobuf")
    if source in ("local://", b"local://", "", b""):
        return pools.Default()
    content = source.encode("latin-1") if isinstance(source, str) else source
    if content.startswith(b"bytes://"):
        content = content.removeprefix(b"bytes://")
    else:
        path = content.decode()
        with as_tensorflow_errors(operation, path), open_file(operation, path, "rb") as file:
            content = file.read()
    descriptors: Any = needed(operation, "google.protobuf.descriptor_pb2", "protobuf")
    pool = pools.DescriptorPool()
    try:
        for file in descriptors.FileDescriptorSet.FromString(content).file:
            pool.Add(file)
    except Exception as error:  # DecodeError; TypeError where definitions contradict each other
        raise InvalidArgumentError(
            f"{operation}: descriptor_source is no FileDescriptorSet: {error}"
        ) from error
    return pool


def _field(operation: str, kind: Any, name: str, dtype: DType) -> Any:
    field = kind.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        raise InvalidArgumentError(f"{operation}: {kind.DESCRIPTOR.full_name} has no field {name!r}")
    allowed = _DTYPES[field.type]
    if dtype.name not in allowed:
        raise InvalidArgumentError(
            f"{operation}: the field {name!r} of {kind.DESCRIPTOR.full_name} takes {' or '.join(allowed)}, not "
            f"{dtype.name}"
        )
    return field


def _parsed(kind: Any, content: bytes, form: str) -> Any:
    parse: Callable[[bytes], Any] = kind.FromString
    if form == "text":
        texts: Any = needed("decode_proto", "google.protobuf.text_format", "protobuf")
        parse = lambda content: texts.Parse(content, kind())
    try:
        return parse(content)
    except Exception as error:
        if type(error).__name__ not in ("DecodeError", "ParseError", "UnicodeDecodeError"):
            raise
        raise DataLossError(
            f"decode_proto: a string is no message {kind.DESCRIPTOR.full_name}: {error}"
        ) from error


def _is_repeated(field: Any) -> bool:
    repeated = getattr(field, "is_repeated", None)  # protobuf has it from version 6 on
    return bool(field.label == field.LABEL_REPEATED if repeated is None else repeated)


def _entry_class(field: Any) -> Any:
    """The class of the entries of a field that is a map; None of another field."""
    if field.message_type is None or not field.message_type.GetOptions().map_entry:
        return None
    factory: Any = needed("decode_proto", "google.protobuf.message_factory", "protobuf")
    return factory.GetMessageClass(field.message_type)


def _values(parsed: Any, field: Any) -> list[Any]:
    """The values of a field that a message has."""
    if not _is_repeated(field):
        if not (parsed.HasField(field.name) if field.has_presence else getattr(parsed, field.name)):
            return []
        found = [getattr(parsed, field.name)]
    elif (entry := _entry_class(field)) is not None:
        found = [entry(key=key, value=value) for key, value in sorted(getattr(parsed, field.name).items())]
    else:
        found = list(getattr(parsed, field.name))
    if field.type in _MESSAGES:
        return [one.SerializeToString(deterministic=True) for one in found]
    if field.type != _TEXT:
        return found
    # Text that is not UTF-8 comes as bytes.
    return [one if isinstance(one, bytes) else one.encode() for one in found]


def _default(field: Any) -> Any:
    """The value where a message has none."""
    if _DTYPES[field.type] == ("string",):
        given = b"" if field.type in _MESSAGES or _is_repeated(field) else field.default_value
        return given.encode() if isinstance(given, str) else given
    return 0 if _is_repeated(field) else field.default_value


def _put(target: Any, field: Any, values: list[Any]) -> None:
    """Set a field of a message to values."""
    if field.type == _TEXT:
        values = [one.decode() for one in values]
    if not _is_repeated(field):
        for value in values:
            if field.type in _MESSAGES:
                getattr(target, field.name).ParseFromString(value)
                getattr(target, field.name).SetInParent()
            else:
                setattr(target, field.name, value)
    elif field.type not in _MESSAGES:
        getattr(target, field.name).extend(values)
    else:  # as on the wire, where the entries of a map are messages
        part = type(target)()
        for value in values:
            part.MergeFromString(_wire(field.number, value))
        target.MergeFrom(part)


def _wire(number: int, content: bytes) -> bytes:
    """A field with a length, as bytes: its number and type, the length, and the content."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """A number, seven bits in a byte, the last ones first."""
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])
