"""The time that a call on NumPy takes longer than a compiled one, estimated from operations and sizes alone."""

from __future__ import annotations

import math
from typing import Any

from jax.extend.core import jaxprs_in_params

from .equation_rules import is_half

_OPERATION = 2.0  # us: to call NumPy
# Nanoseconds for each element of the result. Compiled code does not store most of them.
_ELEMENT = 0.5
_ELEMENTS = {
    **dict.fromkeys(("exp", "log", "tanh", "sin", "cos", "logistic", "sqrt", "rsqrt", "div"), 2.0),
    **dict.fromkeys(("pow", "integer_pow", "expm1", "log1p", "tan", "sinh", "cosh", "atan2", "rem"), 15.0),
    **dict.fromkeys(("erf", "erfc", "erf_inv", "lgamma", "digamma", "cbrt", "exp2"), 15.0),
    **dict.fromkeys(("gather", "convert_element_type", "cumsum", "cumprod", "fft"), 5.0),
    **dict.fromkeys(
        ("scatter", "sort", "top_k", "argmax", "argmin", "cumlogsumexp", "cummax", "cummin"), 40.0
    ),
    **dict.fromkeys(("shift_left", "shift_right_logical", "shift_right_arithmetic"), 5.0),
    **dict.fromkeys(("reshape", "squeeze", "transpose", "slice", "rev", "broadcast_in_dim", "name"), 0.0),
    **dict.fromkeys(("split", "iota", "stop_gradient", "optimization_barrier"), 0.0),
}
_WRITES = 40.0  # for each element that is scattered, beside 0.5 for each of the result
_MULTIPLICATION = 0.005  # of BLAS, which is as quick as XLA's; windows of convolutions are copied as well
_SLOW_MULTIPLICATION = 1.0  # of whole numbers and of those of 16 bits


def loss(jaxpr: Any) -> float:
    """The microseconds that a call on NumPy takes longer; of loops without a known length one iteration."""
    total = 0.0
    for eqn in jaxpr.eqns:
        inner = list(jaxprs_in_params(eqn.params))
        if inner and not eqn.primitive.name.startswith("scatter"):
            each = [loss(code) for code in inner]
            total += max(each) if eqn.primitive.name == "cond" else sum(each) * eqn.params.get("length", 1)
        else:
            total += _OPERATION + 1e-3 * _nanoseconds(eqn)
    return total


def _nanoseconds(eqn: Any) -> float:
    name, out = eqn.primitive.name, eqn.outvars[0].aval
    if name == "dot_general":
        axes = eqn.params["dimension_numbers"][0][0]
        return _product(eqn, math.prod(eqn.invars[0].aval.shape[axis] for axis in axes))
    if name == "conv_general_dilated":
        kernel = eqn.invars[1].aval
        return _product(eqn, kernel.size // kernel.shape[eqn.params["dimension_numbers"].rhs_spec[0]])
    size = sum(v.aval.size for v in eqn.outvars)
    if name.startswith("scatter"):
        return _ELEMENT * size + _WRITES * float(eqn.invars[2].aval.size)
    if name.startswith(("reduce_", "arg", "cum")):
        size = eqn.invars[0].aval.size
        if name.startswith("reduce_window"):
            size = out.size * math.prod(eqn.params["window_dimensions"])
    slow = 10.0 if is_half(out.dtype) else 1.0  # NumPy converts each number
    return _ELEMENTS.get(name, _ELEMENT) * size * slow * out.dtype.itemsize / 4


def _product(eqn: Any, summed: int) -> float:
    out = eqn.outvars[0].aval
    slow = out.dtype.kind in "iub" or is_half(out.dtype)
    windows = (
        summed * out.size / out.shape[-1] if eqn.primitive.name == "conv_general_dilated" and out.size else 0
    )
    return float(summed * out.size) * (_SLOW_MULTIPLICATION if slow else _MULTIPLICATION) + _ELEMENT * windows
