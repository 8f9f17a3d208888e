"""TensorSpec: the shape, dtype and name of a tensor that is yet to come."""

from __future__ import annotations

from typing import Any

from . import dtypes
from .composite import CompositeTensor, TypeSpec
from .dtypes import DType
from .shapes import TensorShape
from .tensor import Tensor
from .tensor_conversion import convert
from .types import DTypeLike, ShapeLike


class TensorSpec(TypeSpec):
    """The shape and dtype of tensors that a function takes or gives, and a name for them.

    Args:
        shape: a shape; None for a length that is open, or for an open rank.
        dtype: the dtype.
        name: a name for an argument.

    >>> TensorSpec((2, None), "float32", name="x")
    TensorSpec(shape=(2, None), dtype=tf.float32, name='x')
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(
        self, shape: ShapeLike | None, dtype: DTypeLike = "float32", name: str | None = None
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The spec of a tensor's shape and dtype."""
        if type(tensor) is not Tensor:
            raise ValueError(f"TensorSpec.from_tensor takes a Tensor, not {type(tensor).__name__}")
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """The same as another spec, perhaps under another name."""
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"TensorSpec.from_spec takes a TensorSpec, not {type(spec).__name__}")
        return cls(spec.shape, spec.dtype, name or spec.name)

    @property
    def shape(self) -> TensorShape:
        """The shape; None for lengths that are open."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    @property
    def value_type(self) -> type:
        """The type of the values described: `Tensor`."""
        return Tensor

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Return whether a tensor has this spec, or could have both this and another."""
        return (
            isinstance(spec_or_tensor, (Tensor, TensorSpec))
            and self._dtype == spec_or_tensor.dtype
            and self._shape.is_compatible_with(spec_or_tensor.shape)
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Return whether every tensor of this spec also has the spec `other`."""
        return (
            isinstance(other, TensorSpec)
            and other._dtype is self._dtype
            and self._name in (None, other._name)
            and self._shape.most_specific_compatible_shape(other._shape) == other._shape
        )

    def most_specific_compatible_type(self, other: Any) -> TensorSpec:
        """The narrowest spec that covers both.

        Raises:
            ValueError: if there is none.
        """
        if not isinstance(other, TensorSpec) or other._dtype is not self._dtype:
            raise ValueError(f"there is nothing that both {self} and {other} are")
        name = self._name if self._name == other._name else None
        return TensorSpec(self._shape.most_specific_compatible_shape(other._shape), self._dtype, name)

    def _parts(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


def type_spec_from_value(value: Any) -> TypeSpec:
    """The spec of a tensor, a sparse or ragged one, or a value that can become a tensor.

    Raises:
        TypeError: if the value is none of these.

    >>> type_spec_from_value([1.0, 2.0])
    TensorSpec(shape=(2,), dtype=tf.float32, name=None)
    """
    if isinstance(value, CompositeTensor):
        return value._type_spec
    try:
        return TensorSpec.from_tensor(convert(value))
    except (ValueError, TypeError) as error:
        raise TypeError(
            f"type_spec_from_value: {value!r} of type {type(value).__name__} is no tensor"
        ) from error
