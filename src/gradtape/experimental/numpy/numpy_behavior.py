"""`experimental_enable_numpy_behavior`: dtypes that mix, NumPy's methods on tensors, and NumPy's indexing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError
from ...core.primitive import leave_hot
from ...core.settings import settings
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert, is_tensor
from ...core.types import Axes, DTypeLike, ShapeLike, TensorLike
from ...ops.array.indexing import take as getitem
from ...ops.array.movement import cast, gather, reshape, transpose
from ...ops.array.scatter import gather_nd
from ...ops.known import static_shape
from ...ops.math.functions import where
from ...ops.scalars import boolean
from . import numpy_arrays, numpy_choosing, numpy_products, numpy_reductions, numpy_shapes

_MODES = ("off", "legacy", "safe", "all")
_WEAK = {bool: "bool", int: "int32", float: "float32", complex: "complex128"}
_MANTISSA = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53, "complex64": 24, "complex128": 53}


def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Let tensors behave as NumPy's arrays: operators mix dtypes, and there are NumPy's methods and indices.

    Args:
        prefer_float32: whether Python floats, and integers where floats are needed, are float32 in place of float64.
        dtype_conversion_mode: "legacy" mixes dtypes as NumPy does. "all" mixes any two: integers and floats give the
            float's dtype. "safe" does so where no digits are lost, and raises elsewhere. "off" ends mixing.

    Raises:
        ValueError: for another mode.

    >>> experimental_enable_numpy_behavior(dtype_conversion_mode="off")
    """
    mode = dtype_conversion_mode
    if not isinstance(mode, str) or mode not in _MODES:
        raise ValueError(f"dtype_conversion_mode must be one of {', '.join(_MODES)}, not {mode!r}")
    preferred = boolean("experimental_enable_numpy_behavior", "prefer_float32", prefer_float32)
    settings.prefer_float32 = preferred and mode != "off"
    if mode == "off":
        settings.promote = None
        for name in (*_METHODS, "__getitem__"):
            if name in _PLAIN:
                setattr(Tensor, name, _PLAIN[name])
            elif name in vars(Tensor):
                delattr(Tensor, name)
        return
    leave_hot("NumPy's behavior is enabled")
    settings.promote = _legacy if mode == "legacy" else lambda values: _by_table(values, mode == "safe")
    for name, method in _METHODS.items():
        setattr(Tensor, name, method)
    setattr(Tensor, "__getitem__", _getitem)  # noqa: B010


# ---------------------------------------------------------------------------------------------------------------------
# Dtypes


def _legacy(values: tuple[Any, ...]) -> list[Tensor]:
    """The values as tensors of NumPy's common dtype."""
    return numpy_arrays.together(*values)


def _by_table(values: tuple[Any, ...], safe: bool) -> list[Tensor]:
    """The values as tensors of the dtype that holds all; Python's numbers give way."""
    given = [(_WEAK[type(v)], True) if type(v) in _WEAK else (_dtype_of(v), False) for v in values]
    (result, weak), *others = given
    for name, also_weak in others:
        result, weak = _common((result, weak), (name, also_weak), safe)
    kind = dtypes.as_dtype(result)
    return [cast(v, kind) if is_tensor(v) else cast(numpy_arrays.array(v), kind) for v in values]


def _dtype_of(value: Any) -> str:
    return (value if is_tensor(value) else convert(value)).dtype.name


def _common(first: tuple[str, bool], second: tuple[str, bool], safe: bool) -> tuple[str, bool]:
    """The dtype for two, and whether it gives way to others."""
    (a, weak_a), (b, weak_b) = first, second
    if weak_a != weak_b and a != "bool" and b != "bool":
        weak, strong = (a, b) if weak_a else (b, a)
        if _rank(weak) <= _rank(strong):
            return strong, False
        if _rank(strong) == 1:  # integers and Python's floats
            result = "complex128" if weak == "complex128" else "float64"
        else:
            result = "complex128" if strong == "float64" else "complex64"
    else:
        result = _promoted(a, b)
    if safe:
        for name in (a, b):
            if result not in (a, b) or not _exact(name, result):
                raise DTypeError(
                    f"{a} and {b} have no dtype that surely holds both: cast one, or take dtype_conversion_mode='all'"
                )
    return result, weak_a and weak_b


def _rank(name: str) -> int:
    kind = dtypes.as_dtype(name)
    return 3 if kind.is_complex else 2 if kind.is_floating else 1 if kind.is_integer else 0


def _promoted(a: str, b: str) -> str:
    if a == b or _rank(a) == 0 or _rank(b) == 0:
        return b if _rank(a) == 0 else a
    low, high = sorted((a, b), key=_rank)
    if _rank(low) < _rank(high) and _rank(low) == 1:
        return high
    if "bfloat16" in (low, high):
        other = high if low == "bfloat16" else low
        return "float32" if other == "float16" else other
    return np.promote_types(low, high).name


def _exact(name: str, result: str) -> bool:
    kind = dtypes.as_dtype(name)
    if kind.is_integer and result in _MANTISSA:
        return kind.size * 8 - (not kind.is_unsigned) <= _MANTISSA[result]
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Methods


def _astype(self: Tensor, dtype: DTypeLike) -> Tensor:
    return cast(self, dtypes.as_dtype(numpy_arrays.float64_for(dtype)))


def _reshape(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    order = kwargs.pop("order", "C")
    shape: ShapeLike = args[0] if len(args) == 1 else args
    if order == "F":
        flipped = list(static_shape("reshape", shape))[::-1]
        return transpose(reshape(transpose(self), flipped))
    return reshape(self, shape)


def _clip(self: Tensor, a_min: TensorLike | None, a_max: TensorLike | None) -> Tensor:
    return numpy_choosing.clip(self, a_min, a_max)


def _reducing(of: Any) -> Any:
    def method(self: Tensor, axis: Axes = None, keepdims: bool | None = None) -> Tensor:
        found: Tensor = of(self, axis=axis, keepdims=keepdims)
        return found

    return method


_METHODS: dict[str, Any] = {
    "T": property(lambda self: transpose(self)),
    "__matmul__": lambda self, other: numpy_products.matmul(self, other),
    "__pos__": lambda self: self,
    "__rmatmul__": lambda self, other: numpy_products.matmul(other, self),
    "astype": _astype,
    "clip": _clip,
    "data": property(lambda self: self),
    "flatten": numpy_shapes.flatten,
    "max": _reducing(numpy_reductions.max),
    "mean": _reducing(numpy_reductions.mean),
    "min": _reducing(numpy_reductions.min),
    "ravel": numpy_shapes.ravel,
    "reshape": _reshape,
    "size": property(lambda self: np.int64(numpy_shapes.size(self))),
    "tolist": lambda self: self.numpy().tolist(),
    "transpose": numpy_shapes.transpose,
}
_PLAIN = {name: vars(Tensor)[name] for name in (*_METHODS, "__getitem__") if name in vars(Tensor)}


# ---------------------------------------------------------------------------------------------------------------------
# Indices


def _getitem(self: Tensor, key: Any) -> Tensor:
    """`self[key]`, where integer and boolean arrays choose elements as NumPy's do."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(_is_array(one) for one in keys):
        return getitem(self, key)
    return _chosen(self, keys)


def _is_array(key: Any) -> bool:
    if isinstance(key, (list, np.ndarray)):
        return True
    return is_tensor(key) and (key.ndim > 0 or key.dtype.is_bool)


def _chosen(x: Tensor, keys: tuple[Any, ...]) -> Tensor:
    """The elements that arrays of indices choose; slices, numbers and None are applied first."""
    at = next((i for i, one in enumerate(keys) if one is Ellipsis), None)
    used = sum(_axes(one) for one in keys)
    if at is not None:
        keys = (*keys[:at], *(slice(None),) * (x.ndim - used), *keys[at + 1 :])
    plain: list[Any] = []
    arrays: dict[int, Tensor] = {}
    place = 0
    only = sum(map(_is_array, keys))
    for one in keys:
        if not _is_array(one):
            number = isinstance(one, (int, np.integer)) or (is_tensor(one) and not one.ndim)
            if number and only:  # a number among arrays is an array without axes
                arrays[place] = numpy_arrays.array(one, "int64")
                plain.append(slice(None))
            else:
                plain.append(one)
            place += 1
            continue
        index = numpy_arrays.array(one) if len(np.shape(one)) == 0 or np.size(one) else convert(one, np.int64)
        if index.dtype.is_bool:
            for column in range(index.ndim):
                arrays[place] = where(index)[:, column]
                plain.append(slice(None))
                place += 1
        else:
            arrays[place] = cast(index, "int64")
            plain.append(slice(None))
            place += 1
    return _gathered(getitem(x, tuple(plain)), arrays)


def _axes(key: Any) -> int:
    if key is None or key is Ellipsis:
        return 0
    if _is_array(key):
        return (
            int(np.ndim(key))
            if (key.dtype == bool if hasattr(key, "dtype") else np.asarray(key).dtype == bool)
            else 1
        )
    return 1


def _gathered(x: Tensor, arrays: dict[int, Tensor]) -> Tensor:
    """The elements of `x` at the indices of some of its axes, which NumPy puts in the place of the first of them."""
    axes = sorted(arrays)
    indices = [arrays[axis] + where(arrays[axis] < 0, x._array.shape[axis], 0) * 1 for axis in axes]
    if len(axes) == 1:
        return gather(x, indices[0], axis=axes[0])
    together = numpy_shapes.broadcast_arrays(*indices)
    others = [axis for axis in range(x.ndim) if axis not in axes]
    found = gather_nd(transpose(x, [*axes, *others]), numpy_shapes.stack(together, axis=-1))
    adjacent = axes[-1] - axes[0] == len(axes) - 1
    rank = together[0].ndim
    if not adjacent or axes[0] == 0:
        return found
    before = axes[0]
    order = [rank + i for i in range(before)] + list(range(rank)) + list(range(rank + before, found.ndim))
    return transpose(found, order)
