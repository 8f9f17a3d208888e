"""Optional: a value that may not be there."""

from __future__ import annotations

from typing import Any

from ..core import nest
from ..core.composite import CompositeTensor, TypeSpec
from ..core.errors import InvalidArgumentError
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert
from .structure import Element, Specs, as_element, spec_of


class Optional(CompositeTensor):
    """A value (a tensor, or a structure of them), or none. Create one with `from_value` or `empty`.

    Args:
        value: the value, as tensors; None if there is none.
        element_spec: the specs of the value; None to derive them from it when they are asked for.
        there: whether there is a value.

    >>> bool(Optional.from_value(3).has_value())
    True
    """

    _dense_by = "optional.get_value()"

    def __init__(self, value: Any, element_spec: Specs | None, there: bool) -> None:
        self._value, self._element_spec, self._there = value, element_spec, there

    @staticmethod
    def from_value(value: Element) -> Optional:
        """Create an optional that has a value."""
        return Optional(as_element(value), None, True)

    @staticmethod
    def empty(element_spec: Specs) -> Optional:
        """Create an optional without a value; `element_spec` describes what it would be."""
        return Optional(None, element_spec, False)

    @property
    def element_spec(self) -> Any:
        """The specs of the value."""
        if self._element_spec is None and self._there:
            self._element_spec = spec_of(self._value)
        return self._element_spec

    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether there is a value, as a tensor."""
        return convert(self._there)

    def get_value(self, name: str | None = None) -> Any:
        """The value.

        Raises:
            InvalidArgumentError: if there is none.
        """
        if not self._there:
            raise InvalidArgumentError("Optional.get_value: there is no value")
        return self._value

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self.element_spec)


class OptionalSpec(TypeSpec):
    """The specs of the value of an `Optional`.

    Args:
        element_spec: the specs of the value.

    >>> from gradtape import TensorSpec
    >>> OptionalSpec(TensorSpec([2], "int32")).is_compatible_with(Optional.from_value(convert([1, 2])))
    True
    """

    __slots__ = ("element_spec",)

    def __init__(self, element_spec: Specs) -> None:
        self.element_spec = element_spec

    @classmethod
    def from_value(cls, value: Optional) -> OptionalSpec:
        """The spec of an optional."""
        return cls(value.element_spec)

    @property
    def value_type(self) -> type:
        """The class of what it describes."""
        return Optional

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether `spec_or_value`, an optional or the spec of one, has a value of these specs."""
        if not isinstance(spec_or_value, (Optional, OptionalSpec)):
            return False
        if self.element_spec is None or spec_or_value.element_spec is None:  # one that never had a value
            return True
        own, other = nest.flatten(self.element_spec), nest.flatten(spec_or_value.element_spec)
        return len(own) == len(other) and all(a.is_compatible_with(b) for a, b in zip(own, other))

    def _parts(self) -> tuple[Any, ...]:
        return (self.element_spec,)

    def __repr__(self) -> str:
        return f"OptionalSpec({self.element_spec!r})"
