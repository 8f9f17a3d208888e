"""Numbers in strings: raw bytes, base64, compressed data, tensors as messages."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import DTypeLike, TensorLike
from ..ops.known import afford, known, static_shape
from ..ops.scalars import boolean, integer, text
from ..ops.strings.texts import each
from .contents import one_string, string_tensor, strings
from .messages import message

_RAW = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "complex64",
    "complex128", "bfloat16",
)  # fmt: skip


def decode_raw(
    input_bytes: TensorLike,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The bytes of strings as numbers; the last axis is new.

    Args:
        input_bytes: strings of one length, unless `fixed_length` is given.
        out_type: dtype of the numbers.
        little_endian: whether the least byte of a number comes first.
        fixed_length: in bytes: shorter strings are filled up with zeros, longer ones are cut off.

    Raises:
        InvalidArgumentError: if the lengths differ, or are no multiple of the size of a number.

    >>> decode_raw(b"\\x01\\x02", "int8").numpy()
    array([1, 2], dtype=int8)
    """
    array = strings("decode_raw", "input_bytes", input_bytes)
    dtype = dtypes.as_dtype(out_type)
    if dtype.name not in _RAW:
        raise InvalidArgumentError(f"decode_raw: out_type must be a number, not {dtype.name}")
    size = dtype.numpy_dtype.itemsize
    contents = array.reshape(-1).tolist()
    if fixed_length is not None:
        fixed_length = integer("decode_raw", "fixed_length", fixed_length, 1)
        afford("decode_raw", (len(contents), fixed_length), 1)
        contents = [content[:fixed_length].ljust(fixed_length, b"\0") for content in contents]
    lengths = {len(content) for content in contents}
    if len(lengths) > 1:
        raise InvalidArgumentError(
            f"decode_raw: the strings have different lengths, from {min(lengths)} to {max(lengths)}: give fixed_length"
        )
    length = lengths.pop() if lengths else 0
    if length % size:
        raise InvalidArgumentError(
            f"decode_raw: {length} bytes are no multiple of {size}, the size of {dtype.name}"
        )
    numbers = np.frombuffer(b"".join(contents), dtype.numpy_dtype)
    if not boolean("decode_raw", "little_endian", little_endian):
        numbers = numbers.byteswap()
    return wrap(numbers.reshape(*array.shape, length // size).copy())


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Strings in web-safe base64.

    Args:
        pad: whether "=" fills the last group.

    >>> encode_base64("hi").numpy()
    b'aGk'
    """
    array = strings("encode_base64", "input", input)
    strip = (lambda t: t) if boolean("encode_base64", "pad", pad) else (lambda t: t.rstrip(b"="))
    return wrap(each(lambda content: strip(base64.urlsafe_b64encode(content)), array))


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """Strings of web-safe base64 decoded.

    Raises:
        InvalidArgumentError: if one is not base64.

    >>> decode_base64("aGk").numpy()
    b'hi'
    """

    def decoded(content: bytes) -> bytes:
        digits = content.rstrip(b"=")
        try:
            if b"+" in digits or b"/" in digits:
                raise ValueError("it has + or /, where web-safe base64 has - and _")
            return base64.b64decode(digits + b"=" * (-len(digits) % 4), altchars=b"-_", validate=True)
        except ValueError as error:
            raise InvalidArgumentError(
                f"decode_base64: {content[:40]!r} is not web-safe base64: {error}"
            ) from error

    return wrap(each(decoded, strings("decode_base64", "input", input)))


_MOST = 1 << 34  # bytes a string may have when decompressed


def decode_compressed(bytes: TensorLike, compression_type: str = "", name: str | None = None) -> Tensor:
    """Strings decompressed.

    Args:
        compression_type: "GZIP", "ZLIB", or "" for none.
        bytes: the compressed strings.

    Raises:
        InvalidArgumentError: if one is not compressed so, or is too large.

    >>> import gzip
    >>> decode_compressed(gzip.compress(b"hi"), "GZIP").numpy()
    b'hi'
    """
    windows = {"ZLIB": 15, "GZIP": 31}
    array = strings("decode_compressed", "bytes", bytes)
    if not text("decode_compressed", "compression_type", compression_type):
        return wrap(array)
    if compression_type not in windows:
        raise InvalidArgumentError(
            f"decode_compressed: the compression {compression_type!r} is none of '', 'GZIP' and 'ZLIB'"
        )

    def inflated(content: bytes) -> bytes:  # type: ignore[valid-type]
        engine = zlib.decompressobj(windows[compression_type])
        try:
            data = engine.decompress(content, _MOST)
        except zlib.error as error:
            raise InvalidArgumentError(
                f"decode_compressed: a string is not {compression_type}: {error}"
            ) from error
        if not engine.eof:
            raise InvalidArgumentError("decode_compressed: a string ends early, or is too large")
        return data

    return wrap(each(inflated, array))


# ---------------------------------------------------------------------------------------------------------------------
# Tensors as messages


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """A tensor as a string: the message TensorProto.

    >>> parse_tensor(serialize_tensor([1.0, 2.0]), "float32").numpy()
    array([1., 2.], dtype=float32)
    """
    array = known("serialize_tensor", "the tensor", convert(tensor)._array)
    return string_tensor(tensor_message(array).SerializeToString())


def tensor_message(array: np.ndarray) -> Any:
    """An array as a TensorProto."""
    proto = message("TensorProto")()
    proto.dtype = dtypes.of(array).as_datatype_enum
    proto.tensor_shape.SetInParent()
    for length in array.shape:
        proto.tensor_shape.dim.add(size=length)
    if array.dtype.kind == "O":
        proto.string_val.extend(array.reshape(-1).tolist())
    else:
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
    return proto


_FIELDS = {
    "float32": "float_val", "float64": "double_val", "int32": "int_val", "int16": "int_val", "int8": "int_val",
    "uint8": "int_val", "uint16": "int_val", "int64": "int64_val", "bool": "bool_val", "float16": "half_val",
    "bfloat16": "half_val", "uint32": "uint32_val", "uint64": "uint64_val", "string": "string_val",
    "complex64": "scomplex_val", "complex128": "dcomplex_val",
}  # fmt: skip


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """The tensor of a string that `serialize_tensor` made.

    Args:
        out_type: its dtype.

    Raises:
        InvalidArgumentError: if the string is no TensorProto, or of another dtype.

    >>> parse_tensor(serialize_tensor([1, 2]), "int32").numpy()
    array([1, 2], dtype=int32)
    """
    data = one_string("parse_tensor", "serialized", serialized)
    try:
        proto = message("TensorProto").FromString(data)
    except Exception as error:
        if type(error).__name__ != "DecodeError":
            raise
        raise InvalidArgumentError(f"parse_tensor: the string is no TensorProto: {error}") from error
    wanted = dtypes.as_dtype(out_type)
    array = message_array("parse_tensor", proto)
    if dtypes.of(array) is not wanted:
        raise InvalidArgumentError(
            f"parse_tensor: the tensor is {dtypes.of(array).name}, and {wanted.name} is wanted"
        )
    return wrap(array)


def message_array(operation: str, proto: Any) -> np.ndarray:
    """The array of a TensorProto.

    Raises:
        InvalidArgumentError: if dtype, shape and values do not fit each other.
    """
    try:
        dtype = dtypes.as_dtype(int(proto.dtype))
    except TypeError:
        raise InvalidArgumentError(
            f"{operation}: the tensor's dtype is number {proto.dtype}, which is not here"
        ) from None
    shape = tuple(int(dim.size) for dim in proto.tensor_shape.dim)
    if min(shape, default=0) < 0 or proto.tensor_shape.unknown_rank:
        raise InvalidArgumentError(f"{operation}: the shape {list(shape)} leaves a length open")
    count = int(np.prod(shape, dtype=object))
    if proto.tensor_content:
        data = proto.tensor_content
        if len(data) != count * dtype.numpy_dtype.itemsize:
            raise InvalidArgumentError(
                f"{operation}: {len(data)} bytes are no {dtype.name} tensor of shape {list(shape)}"
            )
        return np.frombuffer(data, dtype.numpy_dtype).reshape(shape).copy()
    afford(operation, (count,), dtype.numpy_dtype.itemsize)
    values = list(getattr(proto, _FIELDS[dtype.name]))
    array = _from_values(dtype, values)
    if len(array) > count or (not len(array) and count):
        raise InvalidArgumentError(f"{operation}: {len(array)} values are no tensor of shape {list(shape)}")
    filled = np.empty(count, dtype.numpy_dtype)
    filled[: len(array)] = array
    if len(array):
        filled[len(array) :] = array[-1]  # the last value stands for all that follow
    return filled.reshape(shape)


def _from_values(dtype: dtypes.DType, values: list[Any]) -> np.ndarray:
    if dtype.name in ("float16", "bfloat16"):
        return np.array(values, np.uint16).view(dtype.numpy_dtype)
    if dtype.is_complex:
        pairs = np.array(values, np.float64).reshape(-1, 2)
        return (pairs[:, 0] + 1j * pairs[:, 1]).astype(dtype.numpy_dtype)
    array = np.empty(len(values), dtype.numpy_dtype)
    array[:] = values
    return array


def make_tensor_proto(
    values: Any,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Values as the message TensorProto.

    Args:
        values: numbers or texts: a value, an array, a tensor, or nested lists.
        dtype: another dtype than that of the values.
        shape: another shape; missing elements repeat the last one.
        verify_shape: whether the values must have the shape themselves.
        allow_broadcast: whether values of a shape that broadcasts are repeated; must not go with `verify_shape`.

    Raises:
        ValueError: if the values do not fit the shape, or both checks are asked for.

    >>> make_ndarray(make_tensor_proto([1.0, 2.0]))
    array([1., 2.], dtype=float32)
    """
    if verify_shape and allow_broadcast:
        raise ValueError("make_tensor_proto: give verify_shape or allow_broadcast, not both")
    kind = None if dtype is None else dtypes.as_dtype(dtype).numpy_dtype
    array = dtypes.plain(known("make_tensor_proto", "values", convert(values, kind)._array))
    if shape is None:
        return tensor_message(array)
    lengths = static_shape("make_tensor_proto: shape", shape)
    count = int(np.prod(lengths, dtype=object))
    if verify_shape and array.shape != lengths:
        raise TypeError(
            f"make_tensor_proto: the values have the shape {list(array.shape)}, not {list(lengths)}"
        )
    if allow_broadcast and array.ndim:
        try:
            afford("make_tensor_proto", lengths, array.dtype.itemsize)
            return tensor_message(np.broadcast_to(array, lengths))
        except ValueError:
            raise ValueError(
                f"make_tensor_proto: values of shape {list(array.shape)} do not broadcast to {list(lengths)}"
            ) from None
    if array.size > count or (count and not array.size):
        raise ValueError(f"make_tensor_proto: {array.size} values do not fit the shape {list(lengths)}")
    afford("make_tensor_proto", lengths, array.dtype.itemsize)
    if array.size == count:
        return tensor_message(array.reshape(lengths))
    proto = tensor_message(array.reshape(-1))
    del proto.tensor_shape.dim[:]
    for length in lengths:
        proto.tensor_shape.dim.add(size=length)
    if array.dtype.kind != "O":
        proto.tensor_content = b""
        field = getattr(proto, _FIELDS[dtypes.of(array).name])
        flat = array.reshape(-1)
        if array.dtype.kind == "c":
            flat = np.stack([flat.real, flat.imag], -1).reshape(-1)
        field.extend((flat.view(np.uint16) if "half" in _FIELDS[dtypes.of(array).name] else flat).tolist())
    return proto


def make_ndarray(tensor: Any) -> np.ndarray:
    """The array of a TensorProto.

    Args:
        tensor: the message, of gradtape or of TensorFlow.

    Raises:
        TypeError: if it is no TensorProto.

    >>> make_ndarray(make_tensor_proto(7))
    array(7, dtype=int32)
    """
    if not hasattr(tensor, "tensor_shape") or not hasattr(tensor, "tensor_content"):
        raise TypeError(f"make_ndarray: takes a TensorProto, not {type(tensor).__name__}")
    return message_array("make_ndarray", tensor)
