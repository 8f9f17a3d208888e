"""Parse examples: strings of the message Example as tensors, by a description of the features that are wanted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.dtypes import DType
from ..core.errors import InvalidArgumentError
from ..core.shapes import TensorShape
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import DTypeLike, TensorLike
from ..ops.known import afford
from .composite_features import ragged, sparse, variable_length
from .contents import one_string, strings
from .example_layouts import layouts_for
from .features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from .messages import message

_LISTS = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}
_VALUE_OF = {name: attrgetter(f"{kind}.value") for name, kind in _LISTS.items()}


class _Values:
    """The features of one example, as arrays."""

    def __init__(self, operation: str, features: Any, number: int) -> None:
        self._operation, self.features, self._number = operation, features, number

    def get(self, name: str, dtype: DType) -> np.ndarray | None:
        """The values of a feature; None if the example has none.

        Raises:
            InvalidArgumentError: if they are of another dtype.
        """
        if name not in self.features:
            return None
        feature = self.features[name]
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


class _Batch:
    """The features of some examples: a map of features, or a dict, for each."""

    def __init__(self, operation: str, features: list[Any]) -> None:
        self._operation, self.features = operation, features

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[_Values]:
        return (_Values(self._operation, features, i) for i, features in enumerate(self.features))


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
        features: what to take, by name: FixedLenFeature and FixedLenSequenceFeature give tensors, VarLenFeature and
            SparseFeature sparse ones, RaggedFeature ragged ones.
        example_names: accepted.

    Raises:
        InvalidArgumentError: if a string is no Example, or an example lacks a feature, or has it in another shape.

    >>> example = message("Example")()
    >>> example.features.feature["x"].float_list.value.extend([1.0, 2.0])
    >>> parse_example([example.SerializeToString()], {"x": FixedLenFeature([2], "float32")})["x"].numpy()
    array([[1., 2.]], dtype=float32)
    """
    array = _vector("parse_example", serialized)
    return _examples("parse_example", array.reshape(-1).tolist(), features, single=not array.ndim)


def _examples(
    operation: str, serialized: list[bytes], features: Mapping[str, Any], single: bool
) -> dict[str, Any]:
    layouts = layouts_for(features) if serialized and isinstance(features, Mapping) else None
    if layouts is not None and (columns := layouts.columns(serialized)) is not None:
        return {name: wrap(columns[name][0, ...] if single else columns[name]) for name in features}
    examples = _parsed(operation, serialized, "Example")
    values = _Batch(operation, [example.features.feature for example in examples])
    return _features(operation, values, features, single)


def _vector(operation: str, serialized: TensorLike) -> np.ndarray:
    array = strings(operation, "serialized", serialized)
    if array.ndim > 1:
        raise InvalidArgumentError(
            f"{operation}: serialized must be a vector, not of shape {list(array.shape)}"
        )
    return array


def parse_single_example(
    serialized: TensorLike, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of one example, by name; the arguments are those of `parse_example`.

    >>> example = message("Example")()
    >>> example.features.feature["y"].int64_list.value.append(7)
    >>> int(parse_single_example(example.SerializeToString(), {"y": FixedLenFeature([], "int64")})["y"])
    7
    """
    content = one_string("parse_single_example", "serialized", serialized)
    return _examples("parse_single_example", [content], features, single=True)


def _features(operation: str, values: _Batch, features: Mapping[str, Any], single: bool) -> dict[str, Any]:
    """What the descriptions make of a batch of examples; of the only example, if `single`."""
    if not _mapping(operation, features):
        raise InvalidArgumentError(f"{operation}: features is empty: say which to take, by name")
    return {name: _feature(operation, values, name, feature, single) for name, feature in features.items()}


def _mapping(operation: str, features: Any) -> Mapping[str, Any]:
    if features is not None and not isinstance(features, Mapping):
        raise InvalidArgumentError(
            f"{operation}: features must be a dict of features by name, not {features!r}"
        )
    return features or {}


def _feature(operation: str, values: _Batch, name: str, feature: Any, single: bool) -> Any:
    if isinstance(feature, FixedLenFeature):
        fixed = _fixed(operation, values, name, feature)
        return wrap(fixed[0, ...] if single else fixed)
    if isinstance(feature, FixedLenSequenceFeature):
        rows = _rows(operation, values, name, feature)
        return wrap(rows[0, ...] if single else rows)
    return _composite(operation, values, name, feature, None, single)


def _composite(
    operation: str, values: _Batch, name: str, feature: Any, groups: list[int] | None, single: bool
) -> Any:
    """What a description of a sparse or ragged feature makes of examples, or of the steps of sequences."""
    if not isinstance(feature, (VarLenFeature, SparseFeature, RaggedFeature)):
        raise InvalidArgumentError(
            f"{operation}: the feature {name!r} is described by {feature!r}, which is no FixedLenFeature, "
            "FixedLenSequenceFeature, VarLenFeature, SparseFeature or RaggedFeature"
        )
    dtype = _dtype(operation, name, feature.dtype)
    if isinstance(feature, VarLenFeature):
        found = [example.get(name, dtype) for example in values]
        parts = [np.empty(0, dtype.numpy_dtype) if part is None else part for part in found]
        return variable_length(parts, dtype, groups, single)
    get = [example.get for example in values]
    both = (dtype, dtypes.int64)
    if isinstance(feature, RaggedFeature):
        return ragged(operation, get, name, feature, both, groups, single)
    if groups is not None:
        raise InvalidArgumentError(
            f"{operation}: the sequence {name!r} is described by a SparseFeature: take VarLenFeature, RaggedFeature "
            "or FixedLenSequenceFeature"
        )
    return sparse(operation, get, name, feature, both, single)


def _lengths(operation: str, name: str, shape: Any) -> tuple[int, ...]:
    if type(shape) in (list, tuple) and all(type(n) is int and n >= 0 for n in shape):
        return tuple(shape)
    known = TensorShape(shape)
    if not known.is_fully_defined():
        raise InvalidArgumentError(
            f"{operation}: the shape of the feature {name!r} must be known, not {shape!r}"
        )
    return tuple(int(n) for n in known)


def _fixed(operation: str, values: _Batch, name: str, feature: FixedLenFeature) -> np.ndarray:
    dtype, shape = _dtype(operation, name, feature.dtype), _lengths(operation, name, feature.shape)
    default = None if feature.default_value is None else _default(operation, name, feature, dtype, shape)
    size = math.prod(shape)
    if size and values.features and (whole := _columns(values, name, dtype, size)) is not None:
        return whole.reshape(len(values), *shape)
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


def _columns(values: _Batch, name: str, dtype: DType, size: int) -> np.ndarray | None:
    """The values of a feature in all examples, one after the other; None unless each example has `size` of them.

    A third of the time of asking each example for an array.
    """
    value_of = _VALUE_OF[dtype.name]
    lists = [value_of(features[name]) for features in values.features]  # empty for a feature of another kind
    if set(map(len, lists)) != {size}:
        return None
    if size == 1:
        found = [one[0] for one in lists]
    else:
        found = list(chain.from_iterable([one[:] for one in lists]))
    if dtype is not dtypes.string:
        return np.array(found, dtype.numpy_dtype)
    array = np.empty(len(found), object)
    array[:] = found
    return array


def _default(operation: str, name: str, feature: Any, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    default = convert(feature.default_value, dtype.numpy_dtype)._array
    try:
        return default if default.shape == shape else np.broadcast_to(default.reshape(-1), shape)
    except ValueError:
        raise InvalidArgumentError(
            f"{operation}: the default_value of {name!r} has the shape {list(default.shape)}, not {list(shape)}"
        ) from None


def _rows(operation: str, values: _Batch, name: str, feature: FixedLenSequenceFeature) -> np.ndarray:
    if not feature.allow_missing:
        raise InvalidArgumentError(f"{operation}: the feature {name!r} needs allow_missing=True")
    dtype, shape = _dtype(operation, name, feature.dtype), _lengths(operation, name, feature.shape)
    size = math.prod(shape)
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
    afford(operation, (len(values), longest, *shape), dtype.numpy_dtype.itemsize)
    out = np.full((len(values), longest, *shape), fill, dtype.numpy_dtype)
    for i, one in enumerate(found):
        out[i, : len(one)] = one
    return out


def parse_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    """The features of a batch of SequenceExamples: those of the whole, those of each step, and numbers of steps.

    Args:
        serialized: a vector of strings, each a SequenceExample; or one string.
        context_features: descriptions by name, as for `parse_example`.
        sequence_features: FixedLenSequenceFeature, VarLenFeature or RaggedFeature by name.
        example_names: accepted.

    Returns:
        Three dicts; in the last, the number of steps of the sequences of each FixedLenSequenceFeature, of which the
        shorter ones are filled up with 0 or b"".

    Raises:
        InvalidArgumentError: if a string is no SequenceExample, or a feature does not fit its description.

    >>> steps = {"x": FixedLenSequenceFeature([1], "int64", allow_missing=True)}
    >>> parse_sequence_example([message("SequenceExample")().SerializeToString()], {}, steps)[2]["x"].numpy()
    array([0])
    """
    operation = "parse_sequence_example"
    array = _vector(operation, serialized)
    return _sequences(
        operation, array.reshape(-1).tolist(), context_features, sequence_features, not array.ndim
    )


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The features of a SequenceExample: those of the whole, and those of each step.

    Args:
        context_features: descriptions by name, as for `parse_example`.
        sequence_features: FixedLenSequenceFeature, VarLenFeature or RaggedFeature by name.
        example_name: accepted.

    Raises:
        InvalidArgumentError: if the string is no SequenceExample, or a feature does not fit its description.

    >>> steps = {"x": FixedLenSequenceFeature([1], "int64", allow_missing=True)}
    >>> parse_single_sequence_example(message("SequenceExample")().SerializeToString(), {}, steps)[1]["x"].shape
    TensorShape([0, 1])
    """
    operation = "parse_single_sequence_example"
    content = one_string(operation, "serialized", serialized)
    return _sequences(operation, [content], context_features, sequence_features, True)[:2]


def _sequences(
    operation: str, serialized: list[bytes], context_features: Any, sequence_features: Any, single: bool
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    examples = _parsed(operation, serialized, "SequenceExample")
    context: dict[str, Any] = {}
    if _mapping(operation, context_features):
        values = _Batch(operation, [example.context.feature for example in examples])
        context = _features(operation, values, context_features, single)
    sequences: dict[str, Any] = {}
    lengths: dict[str, Tensor] = {}
    lists = [example.feature_lists.feature_list for example in examples]
    for key, feature in _mapping(operation, sequence_features).items():
        if isinstance(feature, FixedLenSequenceFeature):
            filled, counts = _steps(operation, lists, key, feature)
            sequences[key] = wrap(filled[0, ...] if single else filled)
            lengths[key] = wrap(np.array(counts[0] if single else counts, np.int64))
        else:
            sequences[key] = _composite_steps(operation, lists, key, feature, single)
    return context, sequences, lengths


def _steps(
    operation: str, lists: list[Any], name: str, feature: FixedLenSequenceFeature
) -> tuple[np.ndarray, list[int]]:
    """The steps of sequences, the shorter ones filled up, and their numbers."""
    dtype, shape = _dtype(operation, name, feature.dtype), _lengths(operation, name, feature.shape)
    parts = []
    for i, found in enumerate(lists):
        if name not in found and not feature.allow_missing:
            raise InvalidArgumentError(
                f"{operation}: example {i} has no sequence {name!r}: allow_missing=True takes none"
            )
        steps = found[name].feature if name in found else []
        values = _Batch(operation, [{name: step} for step in steps])
        parts.append(_fixed(operation, values, name, FixedLenFeature(shape, dtype)))
    counts = [len(part) for part in parts]
    filled = (len(parts), max(counts, default=0), *shape)
    afford(operation, filled, dtype.numpy_dtype.itemsize)
    out = np.full(filled, b"" if dtype is dtypes.string else 0, dtype.numpy_dtype)
    for i, part in enumerate(parts):
        out[i, : len(part)] = part
    return out, counts


def _composite_steps(operation: str, lists: list[Any], name: str, feature: Any, single: bool) -> Any:
    """A sparse or ragged feature of the steps of sequences."""
    keys = [name]
    if isinstance(feature, RaggedFeature):
        keys = [feature.value_key or name, *(p.key for p in feature.partitions if hasattr(p, "key"))]
    steps: list[dict[str, Any]] = []
    counts = []
    for found in lists:
        columns = {key: found[key].feature for key in keys if key in found}
        count = max((len(column) for column in columns.values()), default=0)
        for number in range(count):
            steps.append({key: column[number] for key, column in columns.items() if number < len(column)})
        counts.append(count)
    return _composite(operation, _Batch(operation, steps), name, feature, counts, single)
