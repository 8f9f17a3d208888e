"""Public functions for primitives that need nothing but their inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..primitive import Primitive, apply, apply1, apply2, reals
from ..tensor import Tensor


def ordered(primitive: Primitive, *inputs: Any) -> Tensor:
    """`apply` for a primitive that puts numbers in order, which complex ones and strings have not."""
    out: Tensor = apply1(primitive, inputs[0]) if len(inputs) == 1 else apply(primitive, inputs)
    if out._array.dtype.kind in "cO":
        reals(primitive, [out._array], None)
    return out


def public(
    primitive: Primitive,
    doc: str,
    name: str | None = None,
    arguments: tuple[str, ...] = (),
    real: bool = False,
) -> Callable[..., Tensor]:
    """The function users call: takes values of any kind, and TensorFlow's `name`; returns a tensor.

    Its arguments are called what the inputs are, or what `arguments` say. `real` refuses complex numbers.
    """
    names = arguments or primitive.inputs
    function: Callable[..., Tensor]
    if real and len(names) == 1:
        scope = {"ordered": ordered, "primitive": primitive, "__name__": __name__}
        function = eval(f"lambda {names[0]}, name=None: ordered(primitive, {names[0]})", scope)
    elif real:

        def function(x: Any, y: Any, name: str | None = None) -> Tensor:
            out = apply2(primitive, x, y)
            if out._array.dtype.kind in "cO":
                reals(primitive, [out._array], None)
            return out

    elif names == ("x",):

        def function(x: Any, name: str | None = None) -> Tensor:
            return apply1(primitive, x)

    elif names == ("x", "y"):

        def function(x: Any, y: Any, name: str | None = None) -> Tensor:
            return apply2(primitive, x, y)

    else:
        inputs = ", ".join(names)
        scope = {"apply": apply, "primitive": primitive, "__name__": __name__}
        function = eval(f"lambda {inputs}, name=None: apply(primitive, ({inputs},))", scope)
    function.__name__ = function.__qualname__ = name or primitive.name
    function.__doc__ = doc
    return function
