"""Optional: a value that may not be there."""

from __future__ import annotations

from typing import Any

from ..core import nest
from ..core.errors import InvalidArgumentError
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, convert, convert_to_tensor


class Optional:
    """A value (a tensor, or a structure of them), or none. Made with `from_value` and `empty`.

    >>> bool(Optional.from_value(3).has_value())
    True
    """

    def __init__(self, value: Any, element_spec: Any, there: bool) -> None:
        self._value, self._element_spec, self._there = value, element_spec, there

    @staticmethod
    def from_value(value: Any) -> Optional:
        """One that has a value."""
        tensors = nest.map_structure(convert_to_tensor, value)
        return Optional(tensors, nest.map_structure(TensorSpec.from_tensor, tensors), True)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """One that has none, of what would be described by `element_spec`."""
        return Optional(None, element_spec, False)

    @property
    def element_spec(self) -> Any:
        """What the value is, or would be."""
        return self._element_spec

    def has_value(self, name: str | None = None) -> Tensor:
        """Is there a value?"""
        return convert(self._there)

    def get_value(self, name: str | None = None) -> Any:
        """The value; InvalidArgumentError if there is none."""
        if not self._there:
            raise InvalidArgumentError("Optional.get_value: there is no value")
        return self._value
