"""Elementwise equations."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .equation_rules import RULES, Compute, NoRule, dtype_of, is_half, rule

_SAME: dict[str, Compute] = {  # primitives that are one function of NumPy for every dtype
    "abs": np.absolute,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "add": np.add,
    "add_any": np.add,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "eq": np.equal,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "ge": np.greater_equal,
    "gt": np.greater,
    "imag": np.imag,
    "is_finite": np.isfinite,
    "le": np.less_equal,
    "log": np.log,
    "log1p": np.log1p,
    "lt": np.less,
    "max": np.maximum,
    "min": np.minimum,
    "ne": np.not_equal,
    "neg": np.negative,
    "nextafter": np.nextafter,
    "real": np.real,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "square": np.square,
    "sub": np.subtract,
    "tan": np.tan,
    "tanh": np.tanh,
    # Words of bits; of truth values as well.
    "and": np.bitwise_and,
    "not": np.invert,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_UNCHANGED = ("copy", "name", "stop_gradient", "reduce_precision")


def _same(function: Compute) -> Any:
    return lambda eqn: function


RULES.update({name: _same(function) for name, function in _SAME.items()})


@rule(*_UNCHANGED)
def _(eqn: Any) -> Compute:
    if eqn.primitive.name == "reduce_precision":
        return _reduced(eqn)
    return lambda x: x


def _reduced(eqn: Any) -> Compute:
    import ml_dtypes

    bits = eqn.params["exponent_bits"], eqn.params["mantissa_bits"]
    dtype = dtype_of(eqn)
    kinds: dict[Any, Any] = {(8, 7): ml_dtypes.bfloat16, (5, 10): np.float16, (8, 23): np.float32}
    if bits not in kinds:
        raise NoRule(eqn.primitive.name)
    return lambda x: np.asarray(x).astype(kinds[bits]).astype(dtype)


@rule("optimization_barrier")
def _(eqn: Any) -> Compute:
    return (lambda x: x) if len(eqn.outvars) == 1 else (lambda *xs: xs)


@rule("mul")
def _(eqn: Any) -> Compute:
    if eqn.params["out_dtype"] is not None:
        raise NoRule(eqn.primitive.name)
    return np.multiply


@rule("conj")
def _(eqn: Any) -> Compute:
    dtype = dtype_of(eqn)  # complex, of real numbers as well
    return lambda x: np.conjugate(x.astype(dtype, copy=False))


@rule("div")
def _(eqn: Any) -> Compute:
    if dtype_of(eqn).kind not in "iu":
        return np.divide
    return _divided


def _divided(x: Any, y: Any) -> Any:
    """Divide whole numbers towards zero."""
    if np.all(y):
        quotient = np.floor_divide(x, y)
        return quotient + ((quotient < 0) & (quotient * y != x)).astype(quotient.dtype)
    by_zero = np.equal(y, 0)
    quotient = _divided(x, np.where(by_zero, y.dtype.type(1), y))
    return np.where(by_zero, np.array(-1).astype(quotient.dtype), quotient)


@rule("rem")
def _(eqn: Any) -> Compute:
    if dtype_of(eqn).kind not in "iu":
        return np.fmod
    return lambda x, y: np.where(np.equal(y, 0), x, np.fmod(x, y))


@rule("pow")
def _(eqn: Any) -> Compute:
    x, y = (v.aval.dtype for v in eqn.invars)
    if y.kind in "iu" and x.kind in "iu":
        raise NoRule(eqn.primitive.name)
    return np.power if x == y else lambda a, b: np.power(a, b.astype(x))


@rule("integer_pow")
def _(eqn: Any) -> Compute:
    y, dtype = eqn.params["y"], dtype_of(eqn)
    if dtype.kind in "iu" and y < 0:
        raise NoRule(eqn.primitive.name)
    if y == 2:
        return np.square
    if y == 3:
        return lambda x: x * x * x
    if dtype.kind in "iu" and y > np.iinfo(dtype).max:
        raise NoRule(eqn.primitive.name)
    one = dtype.type(1)
    if y < 0:
        return lambda x: one / np.power(x, dtype.type(-y))
    return lambda x: np.power(x, dtype.type(y))


@rule("rsqrt")
def _(eqn: Any) -> Compute:
    one = dtype_of(eqn).type(1)
    return lambda x: one / np.sqrt(x)


@rule("logistic")
def _(eqn: Any) -> Compute:
    dtype = dtype_of(eqn)
    if is_half(dtype):
        one = np.float32(1)
        return lambda x: (one / (one + np.exp(-x.astype(np.float32)))).astype(dtype)
    one = dtype.type(1)
    return lambda x: one / (one + np.exp(-x))


@rule("round")
def _(eqn: Any) -> Compute:
    if int(eqn.params["rounding_method"]) == 1:
        return np.rint

    def away_from_zero(x: Any) -> Any:
        whole = np.trunc(x)
        half = x.dtype.type(0.5)
        return np.where(np.abs(x - whole) >= half, whole + np.sign(x), whole)

    return away_from_zero


@rule("clamp")
def _(eqn: Any) -> Compute:
    return lambda least, x, most: np.minimum(np.maximum(x, least), most)


def _chosen(which: Any, x: Any, y: Any) -> Any:
    if _is_all(x, 0) and _is_all(y, 1):  # a mask as numbers: `where` takes up to forty times as long
        return which.astype(x.dtype)
    return np.where(which, y, x)


def _is_all(x: Any, number: int) -> bool:
    """Return whether an array is this number, broadcast; -0.0 is another one than 0."""
    return not any(x.strides) and x.size > 0 and x.flat[0].tobytes() == x.dtype.type(number).tobytes()


@rule("select_n")
def _(eqn: Any) -> Compute:
    which, *cases = (v.aval for v in eqn.invars)
    if len(cases) == 2 and which.dtype.kind == "b":
        if which.ndim < cases[0].ndim:
            return lambda which, x, y: y if which else x
        return _chosen

    def select(which: Any, *cases: Any) -> Any:
        result = np.broadcast_to(cases[-1], np.broadcast_shapes(cases[0].shape, which.shape))
        for i in range(len(cases) - 2, -1, -1):
            result = np.where(np.less_equal(which, i), cases[i], result)
        return result

    return select


@rule("complex")
def _(eqn: Any) -> Compute:
    dtype, shape = dtype_of(eqn), eqn.outvars[0].aval.shape  # to which the parts may broadcast

    def join(real: Any, imaginary: Any) -> Any:
        result = np.empty(shape, dtype)
        result.real, result.imag = real, imaginary
        return result

    return join


@rule("convert_element_type")
def _(eqn: Any) -> Compute:
    before, after = eqn.invars[0].aval.dtype, dtype_of(eqn)
    if before == after:
        return lambda x: x
    if before.kind == "c" and after.kind in "iu":
        whole = _to_whole_numbers(after)
        return lambda x: whole(x.real)
    if before.kind == "c" and after.kind != "c":
        return lambda x: np.asarray(x.real).astype(after)
    if before.kind in "fV" and after.kind in "iu":
        return _to_whole_numbers(after)
    if after.kind == "b":
        return lambda x: np.not_equal(x, 0)
    return lambda x: x.astype(after)


def _to_whole_numbers(dtype: np.dtype[Any]) -> Compute:
    """Convert floating-point numbers: those too large give the largest, those too small the smallest, NaN gives 0."""
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max

    def convert(x: Any) -> Any:
        x = np.asarray(x)
        if is_half(x.dtype):
            x = x.astype(np.float32)
        if np.all(np.abs(x) < 2**31 - 128) and least == -(2**31):  # the usual case
            return x.astype(dtype)
        result = np.nan_to_num(x, nan=0.0, posinf=None, neginf=None).astype(dtype)
        result = np.where(x >= float(most), dtype.type(most), result)
        result = np.where(x <= float(least), dtype.type(least), result)
        return np.where(np.isnan(x), dtype.type(0), result)

    return convert


@rule("bitcast_convert_type")
def _(eqn: Any) -> Compute:
    dtype, shape = dtype_of(eqn), eqn.outvars[0].aval.shape

    def compute(x: Any) -> Any:
        x = np.ascontiguousarray(x)
        grows = dtype.itemsize > x.dtype.itemsize  # then the last axis has the parts of a number
        return (x if grows else x[..., np.newaxis]).view(dtype).reshape(shape)

    return compute


# ---------------------------------------------------------------------------------------------------------------------
# Shifts


def _shift(function: Compute, fill: Any) -> Any:
    """A shift of bits. By as many as a number has or more, all bits are shifted out."""

    def entry(eqn: Any) -> Compute:
        dtype = dtype_of(eqn)
        bits = dtype.itemsize * 8
        unsigned = np.dtype(f"u{dtype.itemsize}")

        def compute(x: Any, by: Any) -> Any:
            x, by = np.asarray(x), np.asarray(by)
            there = by.astype(unsigned) < bits
            amount = np.where(there, by, by.dtype.type(0))
            return np.where(there, function(x, amount, unsigned), fill(x))

        return compute

    return entry


RULES["shift_left"] = _shift(lambda x, by, _: np.left_shift(x, by), np.zeros_like)
RULES["shift_right_logical"] = _shift(
    lambda x, by, unsigned: np.right_shift(x.view(unsigned), by.astype(unsigned)).view(x.dtype), np.zeros_like
)
RULES["shift_right_arithmetic"] = _shift(
    lambda x, by, _: np.right_shift(_signed(x), _signed(by)).view(x.dtype),
    lambda x: np.where(_signed(x) < 0, _signed(x).dtype.type(-1), 0).astype(_signed(x).dtype).view(x.dtype),
)


def _signed(x: Any) -> Any:
    return x.view(f"i{x.dtype.itemsize}")


@rule("population_count")
def _(eqn: Any) -> Compute:
    dtype = dtype_of(eqn)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return lambda x: np.bitwise_count(np.asarray(x).view(unsigned)).astype(dtype)


# ---------------------------------------------------------------------------------------------------------------------
# The total order of floating-point numbers: -NaN, -inf, ..., -0, 0, ..., inf, NaN


def _in_total_order(compare: Compute) -> Any:
    def key(x: Any) -> Any:
        x = np.asarray(x)
        if x.dtype.kind not in "fV":
            return x
        signed = np.dtype(f"i{x.dtype.itemsize}")
        bits = np.ascontiguousarray(x).view(signed).reshape(x.shape)
        return np.where(bits < 0, np.bitwise_xor(bits, np.iinfo(signed).max), bits)

    return lambda eqn: lambda x, y: compare(key(x), key(y))


RULES["lt_to"] = _in_total_order(operator.lt)
RULES["le_to"] = _in_total_order(operator.le)


# ---------------------------------------------------------------------------------------------------------------------
# SciPy's


def _special(name: str) -> Any:
    def entry(eqn: Any) -> Compute:
        import scipy.special

        function, dtype = getattr(scipy.special, name), dtype_of(eqn)
        if is_half(dtype):
            return lambda *xs: function(*[x.astype(np.float32) for x in xs]).astype(dtype)
        return lambda *xs: function(*xs).astype(dtype)

    return entry


for primitive, function in {
    "erf": "erf",
    "erfc": "erfc",
    "erf_inv": "erfinv",
    "bessel_i0e": "i0e",
    "bessel_i1e": "i1e",
}.items():
    RULES[primitive] = _special(function)


def _corrected(name: str, at: float, value: float) -> Any:
    """A function of SciPy's, which is another one than XLA's at one place."""

    def entry(eqn: Any) -> Compute:
        function, dtype = _special(name)(eqn), dtype_of(eqn)
        return lambda x: np.where(np.equal(x, at), dtype.type(value), function(x))

    return entry


RULES["lgamma"] = _corrected("gammaln", -np.inf, np.inf)
RULES["digamma"] = _corrected("psi", 0.0, np.nan)
