"""Parse examples: strings of the message Example as tensors, by a description of the features that are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes
from ..core.dtypes import DType
from ..core.errors import InvalidArgumentError
from ..core.shapes import TensorShape
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import DTypeLike, TensorLike
from .contents import one_string, strings
from .messages import message

_LISTS = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}


class FixedLenFeature(NamedTuple):
    """A feature of a known shape.

    Args:
        shape: of the feature in one example.
        dtype: float32, int64 or string.
        default_value: for examples that have none; without it they are an error.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of rows of a known shape.

    Args:
        shape: of one row.
        dtype: float32, int64 or string.
        allow_missing: whether an example may have none.
        default_value: fills up examples with fewer rows than others of the batch.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class _Values:
    """The features of one example, as arrays."""

    def __init__(self, operation: str, features: Any, number: int) -> None:
        self._operation, self._features, self._number = operation, features, number

    def get(self, name: str, dtype: DType) -> np.ndarray | None:
        """The values of a feature; None if the example has none.

        Raises:
            InvalidArgumentError: if they are of another dtype.
        """
        if name not in self._features:
            return None
        feature = self._features[name]
        kind = feature.WhichOneof("kind")
        if kind is None:
            return None
        if kind != _LISTS[dtype.name]:
            raise InvalidArgumentError(
                f"{self._operation}: the feature {name!r} of example {self._number} is a {kind}, not {dtype.name}"
            )
        values = getattr(feature, kind).value
        if dtype is dtypes.string:
            array = np.empty(len(values), object)
            array[:] = list(values)
            return array
        return np.fromiter(values, dtype.numpy_dtype, len(values))


def _dtype(operation: str, name: str, dtype: DTypeLike) -> DType:
    kind = dtypes.as_dtype(dtype)
    if kind.name not in _LISTS:
        raise InvalidArgumentError(
            f"{operation}: the feature {name!r} must be float32, int64 or string, not {kind.name}: cast it afterwards"
        )
    return kind


def _parsed(operation: str, serialized: Iterable[bytes], kind: str) -> list[Any]:
    cls = message(kind)
    found = []
    for number, data in enumerate(serialized):
        try:
            found.append(cls.FromString(data))
        except Exception as error:
            if type(error).__name__ != "DecodeError":
                raise
            raise InvalidArgumentError(f"{operation}: string {number} is no {kind}: {error}") from error
    return found


def parse_example(
    serialized: TensorLike, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of a batch of examples, by name.

    Args:
        serialized: a vector of strings, each an Example; or one string.
        features: what to take, by name: FixedLenFeature, FixedLenSequenceFeature.
        example_names: accepted.

    Raises:
        InvalidArgumentError: if a string is no Example, or an example lacks a feature, or has it in another shape.

    >>> example = message("Example")()
    >>> example.features.feature["x"].float_list.value.extend([1.0, 2.0])
    >>> parse_example([example.SerializeToString()], {"x": FixedLenFeature([2], "float32")})["x"].numpy()
    array([[1., 2.]], dtype=float32)
    """
    array = strings("parse_example", "serialized", serialized)
    if array.ndim > 1:
        raise InvalidArgumentError(
            f"parse_example: serialized must be a vector, not of shape {list(array.shape)}"
        )
    examples = _parsed("parse_example", array.reshape(-1).tolist(), "Example")
    values = [_Values("parse_example", e.features.feature, i) for i, e in enumerate(examples)]
    result = _features("parse_example", values, features)
    return (
        {key: wrap(a[0]) for key, a in result.items()}
        if array.ndim == 0
        else {k: wrap(a) for k, a in result.items()}
    )


def parse_single_example(
    serialized: TensorLike, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of one example, by name; the arguments are those of `parse_example`.

    >>> example = message("Example")()
    >>> example.features.feature["y"].int64_list.value.append(7)
    >>> int(parse_single_example(example.SerializeToString(), {"y": FixedLenFeature([], "int64")})["y"])
    7
    """
    one_string("parse_single_example", "serialized", serialized)
    return parse_example(serialized, features)


def _features(operation: str, values: list[_Values], features: Mapping[str, Any]) -> dict[str, np.ndarray]:
    if not isinstance(features, Mapping):
        raise InvalidArgumentError(
            f"{operation}: features must be a dict of features by name, not {features!r}"
        )
    if not features:
        raise InvalidArgumentError(f"{operation}: features is empty: say which to take, by name")
    result = {}
    for name, feature in features.items():
        if isinstance(feature, FixedLenFeature):
            result[name] = _fixed(operation, values, name, feature)
        elif isinstance(feature, FixedLenSequenceFeature):
            result[name] = _rows(operation, values, name, feature)
        else:
            raise InvalidArgumentError(
                f"{operation}: the feature {name!r} is described by {feature!r}, which is none of FixedLenFeature "
                "and FixedLenSequenceFeature"
            )
    return result


def _lengths(operation: str, name: str, shape: Any) -> tuple[int, ...]:
    known = TensorShape(shape)
    if not known.is_fully_defined():
        raise InvalidArgumentError(
            f"{operation}: the shape of the feature {name!r} must be known, not {shape!r}"
        )
    return tuple(int(n) for n in known)


def _fixed(operation: str, values: list[_Values], name: str, feature: FixedLenFeature) -> np.ndarray:
    dtype, shape = _dtype(operation, name, feature.dtype), _lengths(operation, name, feature.shape)
    default = None if feature.default_value is None else _default(operation, name, feature, dtype, shape)
    size = int(np.prod(shape))
    out = np.empty((len(values), *shape), dtype.numpy_dtype)
    for i, example in enumerate(values):
        found = example.get(name, dtype)
        if found is None:
            if default is None:
                raise InvalidArgumentError(
                    f"{operation}: example {i} has no feature {name!r}, and there is no default_value"
                )
            out[i] = default
        elif found.size != size:
            raise InvalidArgumentError(
                f"{operation}: the feature {name!r} of example {i} has {found.size} values, and the shape "
                f"{list(shape)} has {size}"
            )
        else:
            out[i] = found.reshape(shape)
    return out


def _default(operation: str, name: str, feature: Any, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    default = convert(feature.default_value, dtype.numpy_dtype)._array
    try:
        return default if default.shape == shape else np.broadcast_to(default.reshape(-1), shape)
    except ValueError:
        raise InvalidArgumentError(
            f"{operation}: the default_value of {name!r} has the shape {list(default.shape)}, not {list(shape)}"
        ) from None


def _rows(operation: str, values: list[_Values], name: str, feature: FixedLenSequenceFeature) -> np.ndarray:
    if not feature.allow_missing:
        raise InvalidArgumentError(f"{operation}: the feature {name!r} needs allow_missing=True")
    dtype, shape = _dtype(operation, name, feature.dtype), _lengths(operation, name, feature.shape)
    size = int(np.prod(shape))
    found = []
    for i, example in enumerate(values):
        one = example.get(name, dtype)
        one = np.empty(0, dtype.numpy_dtype) if one is None else one
        if not size or one.size % size:
            raise InvalidArgumentError(
                f"{operation}: the feature {name!r} of example {i} has {one.size} values, which are no "
                f"rows of shape {list(shape)}"
            )
        found.append(one.reshape(-1, *shape))
    longest = max((len(one) for one in found), default=0)
    blank = b"" if dtype is dtypes.string else 0
    fill = (
        blank
        if feature.default_value is None
        else convert(feature.default_value, dtype.numpy_dtype)._array.item()
    )
    out = np.full((len(values), longest, *shape), fill, dtype.numpy_dtype)
    for i, one in enumerate(found):
        out[i, : len(one)] = one
    return out


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The features of a SequenceExample: those of the whole, and those of each step.

    Args:
        context_features: FixedLenFeature by name.
        sequence_features: FixedLenSequenceFeature by name.
        example_name: accepted.

    Raises:
        InvalidArgumentError: if the string is no SequenceExample, or a feature does not fit its description.

    >>> steps = {"x": FixedLenSequenceFeature([1], "int64", allow_missing=True)}
    >>> parse_single_sequence_example(message("SequenceExample")().SerializeToString(), {}, steps)[1]["x"].shape
    TensorShape([0, 1])
    """
    operation = "parse_single_sequence_example"
    (example,) = _parsed(operation, [one_string(operation, "serialized", serialized)], "SequenceExample")
    for given in (context_features or {}, sequence_features or {}):
        if not isinstance(given, Mapping):
            raise InvalidArgumentError(
                f"{operation}: features must be dicts of features by name, not {given!r}"
            )
    context, sequences = {}, {}
    if context_features:
        values = [_Values(operation, example.context.feature, 0)]
        context = {k: wrap(a[0]) for k, a in _features(operation, values, context_features).items()}
    for key, feature in (sequence_features or {}).items():
        sequences[key] = wrap(_steps(operation, example.feature_lists.feature_list, key, feature))
    return context, sequences


def _steps(operation: str, lists: Any, name: str, feature: Any) -> np.ndarray:
    if not isinstance(feature, FixedLenSequenceFeature):
        raise InvalidArgumentError(
            f"{operation}: {name!r} must be a FixedLenSequenceFeature, not {feature!r}"
        )
    if name not in lists and not feature.allow_missing:
        raise InvalidArgumentError(
            f"{operation}: the example has no sequence {name!r}: allow_missing=True takes none"
        )
    steps = lists[name].feature if name in lists else []
    values: Sequence[_Values] = [_Values(operation, {name: step}, i) for i, step in enumerate(steps)]
    return _fixed(operation, list(values), name, FixedLenFeature(feature.shape, feature.dtype))
