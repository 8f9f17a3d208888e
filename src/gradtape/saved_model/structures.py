"""Arguments and results of saved functions as JSON: nested structures of specs of tensors, and of plain values.

Decoding makes dicts, lists, tuples, numbers, texts, dtypes, shapes and specs of tensors, and nothing else.
"""

from __future__ import annotations

import base64
import inspect
import math
from collections.abc import Mapping
from typing import Any

from ..core import dtypes, nest
from ..core.dtypes import DType
from ..core.errors import InvalidArgumentError
from ..core.shapes import TensorShape
from ..core.spec import TensorSpec
from ..ops.ragged.ragged_tensor import RaggedTensorSpec
from ..ops.sparse.sparse_tensor import SparseTensorSpec

_KINDS = {
    kind.name: kind
    for kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
    )
}


def encode(value: Any) -> Any:
    """A nested structure as JSON.

    Raises:
        InvalidArgumentError: for a value that is no tensor's spec, number, text, dtype or shape.

    >>> encode({"x": (TensorSpec([None], name="x"), 2.5)})["dict"]["x"]["tuple"][1]
    {'value': 2.5}
    """
    if isinstance(value, TensorSpec):
        return {"tensor": {"shape": _lengths(value.shape), "dtype": value.dtype.name, "name": value.name}}
    if isinstance(value, SparseTensorSpec):
        return {"sparse": {"shape": _lengths(value.shape), "dtype": value.dtype.name}}
    if isinstance(value, RaggedTensorSpec):
        return {"ragged": _encode_ragged(value)}
    if isinstance(value, Mapping):
        if not all(type(key) is str for key in value):
            raise InvalidArgumentError(f"the keys of a saved dict must be texts, not {list(value)}")
        return {"dict": {key: encode(part) for key, part in value.items()}}
    if isinstance(value, (list, tuple)) and nest.is_nested(value):
        return {"list" if isinstance(value, list) else "tuple": [encode(part) for part in value]}
    return _encode_leaf(value)


def _encode_ragged(spec: RaggedTensorSpec) -> dict[str, Any]:
    values = spec.flat_values_spec
    return {
        "shape": _lengths(spec.shape),
        "dtype": spec.dtype.name,
        "ragged_rank": spec.ragged_rank,
        "row_splits_dtype": spec.row_splits_dtype.name,
        "flat_values": None if values is None else encode(values)["tensor"],
    }


def _encode_leaf(value: Any) -> Any:
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return {"value": value}
    if type(value) is float:
        return {"float": str(value)}
    if type(value) is complex:
        return {"complex": [encode(value.real), encode(value.imag)]}
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, TensorShape):
        return {"shape": _lengths(value)}
    raise InvalidArgumentError(
        f"an argument {value!r} of type {type(value).__name__} cannot be saved: a saved function takes tensors, "
        "numbers and texts, and structures of them"
    )


def _lengths(shape: TensorShape) -> list[int | None] | None:
    return None if shape.rank is None else list(shape)


def decode(coded: Any) -> Any:
    """The structure that `encode` was given; other containers are dicts, lists and tuples.

    >>> decode(encode([TensorSpec([None, 3]), {"a": None}]))
    [TensorSpec(shape=(None, 3), dtype=tf.float32, name=None), {'a': None}]
    """
    ((kind, content),) = coded.items()
    if kind == "tensor":
        return _decode_spec(content)
    if kind == "sparse":
        return SparseTensorSpec(_checked_shape(content["shape"]), _decode_dtype(content["dtype"]))
    if kind == "ragged":
        values = content["flat_values"]
        return RaggedTensorSpec(
            _checked_shape(content["shape"]),
            _decode_dtype(content["dtype"]),
            _checked(content["ragged_rank"], int),
            _decode_dtype(content["row_splits_dtype"]),
            None if values is None else _decode_spec(values),
        )
    if kind == "dict":
        return {_checked(key, str): decode(part) for key, part in _checked(content, dict).items()}
    if kind in ("list", "tuple"):
        parts = [decode(part) for part in _checked(content, list)]
        return parts if kind == "list" else tuple(parts)
    if kind == "value":
        return _checked(content, bool, int, str, float, type(None))
    if kind == "float":
        return float(_checked(content, str))
    if kind == "complex":
        return complex(*[decode(part) for part in content])
    if kind == "bytes":
        return base64.b64decode(_checked(content, str), validate=True)
    if kind == "dtype":
        return _decode_dtype(content)
    if kind == "shape":
        return TensorShape(_checked_shape(content))
    raise ValueError(f"{kind!r} is no kind of value")


def _decode_spec(content: Any) -> TensorSpec:
    name = _checked(content["name"], str, type(None))
    return TensorSpec(_checked_shape(content["shape"]), _decode_dtype(content["dtype"]), name)


def _decode_dtype(name: Any) -> DType:
    return dtypes.as_dtype(_checked(name, str))


def _checked(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise TypeError(f"{type(value).__name__} in place of {' or '.join(k.__name__ for k in kinds)}")
    return value


def _checked_shape(shape: Any) -> Any:
    if shape is not None and not all(n is None or (type(n) is int and n >= 0) for n in _checked(shape, list)):
        raise TypeError(f"{shape!r} is no shape")
    return shape


# ---------------------------------------------------------------------------------------------------------------------
# Parameters


def encode_parameters(signature: inspect.Signature | None) -> list[dict[str, Any]]:
    """The parameters of a function; without a signature, any."""
    if signature is None:
        return [{"name": "args", "kind": "VAR_POSITIONAL"}, {"name": "kwargs", "kind": "VAR_KEYWORD"}]
    coded = []
    for parameter in signature.parameters.values():
        about: dict[str, Any] = {"name": parameter.name, "kind": parameter.kind.name}
        if parameter.default is not parameter.empty:
            try:
                about["default"] = encode(parameter.default)
            except InvalidArgumentError:  # then it must be given
                about["default"] = None
        coded.append(about)
    return coded


def decode_parameters(coded: Any) -> inspect.Signature:
    """The signature with these parameters. A default that could not be saved is a value that equals nothing."""
    parameters = []
    for about in _checked(coded, list):
        default: Any = inspect.Parameter.empty
        if "default" in about:
            default = _UNSAVED if about["default"] is None else decode(about["default"])
        parameters.append(
            inspect.Parameter(_checked(about["name"], str), _KINDS[about["kind"]], default=default)
        )
    return inspect.Signature(parameters)


class _Unsaved:
    def __repr__(self) -> str:
        return "a default that was not saved"


_UNSAVED = _Unsaved()
