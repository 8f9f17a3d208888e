"""Python's operators on tensors and variables."""

from __future__ import annotations

from typing import Any

from ...core.composite import NotDense
from ...core.errors import DTypeError
from ...core.hot_door import exchange
from ...core.primitive import Primitive, apply, apply1, apply2, local
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.variable import Variable
from .elementwise import (
    abs_,
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    divide,
    equal,
    floor_divide,
    floormod,
    greater,
    greater_equal,
    integer_power,
    invert,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    multiply,
    negative,
    not_equal,
    power,
    reciprocal,
    second_power,
    sqrt,
    subtract,
)


def _operator(primitive: Primitive) -> tuple[Any, Any]:
    """An operator and its reflected form. Those of sparse and ragged tensors are their own."""

    def forward(self: Any, other: Any) -> Any:
        try:
            return apply2(primitive, self, other)
        except NotDense:
            return NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        return apply2(primitive, other, self)

    def forward_asking(self: Any, other: Any) -> Any:
        hot = local.here.hot
        try:
            return apply2(primitive, self, other) if hot is None else hot.operation2(primitive, self, other)
        except NotDense:
            return NotImplemented

    def reflected_asking(self: Any, other: Any) -> Any:
        hot = local.here.hot
        return apply2(primitive, other, self) if hot is None else hot.operation2(primitive, other, self)

    exchange(forward, forward_asking)
    exchange(reflected, reflected_asking)
    return forward, reflected


def _variable_operator(primitive: Primitive) -> tuple[Any, Any]:
    """The same for variables. Reading them here saves `apply2` from finding out what its inputs are."""

    def forward(self: Any, other: Any) -> Any:
        x = self._read()
        if other is self:
            return apply2(primitive, x, x)
        try:
            return apply2(primitive, x, other._read() if type(other) is Variable else other)
        except NotDense:
            return NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        return apply2(primitive, other, self._read())

    def forward_asking(self: Any, other: Any) -> Any:
        hot = local.here.hot
        try:
            if hot is not None:  # the pass reads variables itself
                return hot.operation2(primitive, self, other)
            x = self._read()
            return apply2(primitive, x, other._read() if type(other) is Variable else other)
        except NotDense:
            return NotImplemented

    def reflected_asking(self: Any, other: Any) -> Any:
        hot = local.here.hot
        return (
            apply2(primitive, other, self._read()) if hot is None else hot.operation2(primitive, other, self)
        )

    exchange(forward, forward_asking)
    exchange(reflected, reflected_asking)
    return forward, reflected


# Python numbers for which there is something faster than NumPy's power, which takes 45 times as long as multiplying.
_QUICK: dict[float, tuple[Primitive, Any]] = {
    2: (second_power, None),
    -1: (reciprocal, None),
    0.5: (sqrt, None),
}
_QUICK |= {n: (integer_power, {"exponent": n}) for n in range(3, 9)}


def raise_to(self: Any, other: Any) -> Any:
    """self ** other."""
    if type(other) is int or type(other) is float:
        quick = _QUICK.get(other)
        if quick is not None and ((type(other) is int and other > 0) or self._array.dtype.kind in "fcV"):
            return apply1(quick[0], self, quick[1])
    try:
        return apply2(power, self, other)
    except NotDense:
        return NotImplemented


def _rpow(self: Any, other: Any) -> Any:
    return apply2(power, other, self)


def _logical_or_bitwise(logical: Primitive, bitwise: Primitive) -> tuple[Any, Any]:
    def forward(self: Any, other: Any) -> Any:
        try:
            return apply(logical if self.dtype.is_bool else bitwise, (self, other))
        except NotDense:
            return NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        return apply(logical if self.dtype.is_bool else bitwise, (other, self))

    return forward, reflected


def _equality(primitive: Primitive, otherwise: bool) -> Any:
    def compare(self: Any, other: Any) -> Any:
        """Element by element; what cannot be compared (None, shapes that do not broadcast) is plainly unequal."""
        if other is None:
            return otherwise
        try:
            return apply2(primitive, self, other)
        except DTypeError:
            raise
        except NotDense:
            return NotImplemented
        except (ValueError, TypeError):
            return convert(otherwise)

    return compare


def _invert(self: Any) -> Any:
    return apply1(logical_not if self.dtype.is_bool else invert, self)


OPERATORS: dict[str, Any] = {}
_OF_VARIABLES: dict[str, Any] = {}
for _name, _primitive in (
    ("add", add), ("sub", subtract), ("mul", multiply), ("truediv", divide), ("floordiv", floor_divide),
    ("mod", floormod),
):  # fmt: skip
    OPERATORS[f"__{_name}__"], OPERATORS[f"__r{_name}__"] = _operator(_primitive)
    _OF_VARIABLES[f"__{_name}__"], _OF_VARIABLES[f"__r{_name}__"] = _variable_operator(_primitive)
for _name, _primitive in (("lt", less), ("le", less_equal), ("gt", greater), ("ge", greater_equal)):
    OPERATORS[f"__{_name}__"] = _operator(_primitive)[0]
    _OF_VARIABLES[f"__{_name}__"] = _variable_operator(_primitive)[0]
for _name, _logical, _bitwise in (
    ("and", logical_and, bitwise_and), ("or", logical_or, bitwise_or), ("xor", logical_xor, bitwise_xor),
):  # fmt: skip
    OPERATORS[f"__{_name}__"], OPERATORS[f"__r{_name}__"] = _logical_or_bitwise(_logical, _bitwise)
OPERATORS |= {
    "__pow__": raise_to,
    "__rpow__": _rpow,
    "__neg__": lambda self: apply1(negative, self),
    "__pos__": lambda self: self if type(self) is Tensor else self.value(),
    "__abs__": lambda self: apply1(abs_, self),
    "__invert__": _invert,
    "__eq__": _equality(equal, False),
    "__ne__": _equality(not_equal, True),
}


def install(operators: dict[str, Any], of_variables: dict[str, Any] | None = None) -> None:
    """Put operators on tensors and variables, for which some may be others."""
    for owner, functions in ((Tensor, operators), (Variable, operators | (of_variables or {}))):
        for name, function in functions.items():
            function.__name__ = name
            setattr(owner, name, function)


install(OPERATORS, _OF_VARIABLES)
