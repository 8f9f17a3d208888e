"""Samples for every primitive, and what it computes, written with JAX: one entry a primitive, a table a family.

An entry is `name: of(reference, *cases, ...)`. A case gives the inputs in order, each a shape (a tuple, filled with
random numbers) or an array as it is, and the attributes by name; they also go to the reference. Families with much to
say have a file of their own, samples_*.py.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from gradtape.core.slicing import Index

from .derivatives import Sample
from .entries import above_one, binary, case, negative, of, positive, real, unary, unit

# ---------------------------------------------------------------------------------------------------------------------
# Elementwise

ELEMENTWISE = {
    "add": binary(jnp.add, complex=True),
    "subtract": binary(jnp.subtract, complex=True),
    "multiply": binary(jnp.multiply, complex=True),
    "divide": binary(jnp.divide, complex=True),
    "floor_divide": binary(jnp.floor_divide),
    "floormod": binary(jnp.mod),
    "truncatediv": binary(lambda x, y: jnp.trunc(x / y)),
    "truncatemod": binary(jnp.fmod),
    "negative": unary(jnp.negative, complex=True),
    "divide_no_nan": binary(jnp.divide, complex=True),
    "multiply_no_nan": binary(jnp.multiply, complex=True),
    "square": unary(jnp.square, complex=True),
    "sqrt": unary(jnp.sqrt, positive, complex=True),
    "rsqrt": unary(jax.lax.rsqrt, positive, complex=True),
    "reciprocal": unary(jnp.reciprocal, complex=True),
    "power": binary(jnp.power, (positive, real), complex=True),
    "xlogy": binary(lambda x, y: x * jnp.log(y), (real, positive), complex=True),
    "xdivy": binary(jnp.divide, complex=True),
    "xlog1py": binary(lambda x, y: x * jnp.log1p(y), (real, unit), complex=True),
    "integer_power": of(
        lambda x, *, exponent: x**exponent,
        *(case((3,), exponent=n) for n in (0, 1, 2, 3, 4, 7)),
        case((), exponent=3),
        case((0, 2), exponent=5),
        case(np.array([0.0, -1.5]), exponent=3),
        complex=True,
    ),
    "second_power": unary(jnp.square, complex=True),
    "log_where_positive": unary(jnp.log, positive, complex=True),
    "exp": unary(jnp.exp, complex=True),
    "expm1": unary(jnp.expm1, complex=True),
    "log": unary(jnp.log, positive, complex=True),
    "log1p": unary(jnp.log1p, unit, complex=True),
    "sin": unary(jnp.sin, complex=True),
    "cos": unary(jnp.cos, complex=True),
    "tan": unary(jnp.tan, unit, complex=True),
    "sinh": unary(jnp.sinh, complex=True),
    "cosh": unary(jnp.cosh, complex=True),
    "tanh": unary(jnp.tanh, unit, complex=True),
    "sigmoid": unary(lambda x: 1 / (1 + jnp.exp(-x)), complex=True),
    "asin": unary(jnp.arcsin, unit, complex=True),
    "acos": unary(jnp.arccos, unit, complex=True),
    "atan": unary(jnp.arctan, complex=True),
    "asinh": unary(jnp.arcsinh, complex=True),
    "acosh": unary(jnp.arccosh, above_one, complex=True),
    "atanh": unary(jnp.arctanh, unit, complex=True),
    "atan2": binary(jnp.arctan2),
    "softplus": unary(jax.nn.softplus),
    "log_sigmoid": unary(jax.nn.log_sigmoid),
    "softsign": unary(jax.nn.soft_sign),
    "maximum": binary(jnp.maximum),
    "minimum": binary(jnp.minimum),
    "clip": of(
        jnp.clip,
        case((2, 3), (), ()),
        case((5,), (5,), (5,)),
        case((2, 1), (2,), (2, 2)),
        case((), (3,), ()),
        case((0,), (), ()),
        domain=(real, negative, positive),
    ),
    "constant_in": of(
        lambda x, by: x,
        case((2, 3), (2, 3)),
        case((2, 3), (4,)),
        case((), (2, 1)),
        case((0,), (2,)),
        complex=True,
    ),
    "relu": unary(jax.nn.relu),
    "abs": unary(jnp.abs),
    "sign": unary(jnp.sign),
    "floor": unary(jnp.floor),
    "ceil": unary(jnp.ceil),
    "stop_gradient": of(lambda x: x, case((2, 3))),
    "round": of(jnp.round, case((2, 3)), case([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])),
    "nextafter": binary(
        lambda x, y: x + jnp.nextafter(*map(jax.lax.stop_gradient, (x, y))) - jax.lax.stop_gradient(x)
    ),
    "conj": unary(jnp.conj, complex=True),
    "select": of(
        jnp.where,
        case(np.array([True, False, True]), (3,), (3,)),
        case(np.array([[True], [False]]), (2,), ()),
        case(np.array(True), (2,), (2,)),
        case(np.zeros((0, 1), bool), (3,), (0, 3)),
        complex=True,
    ),
}

_PAIRS = [
    case((2, 3), (3,)),
    case([1.0, 2.0, np.nan], [1.0, 3.0, np.nan]),
    case([1, 2], [2, 2]),
    case((0,), ()),
]
_BOOLEANS = [
    case([True, True, False, False], [True, False, True, False]),
    case(np.zeros((0, 2), bool), [True, False]),
]
_INTEGERS = [case([12, -7, 0], [10, 3, -1]), case(np.uint8([255, 6]), np.uint8(15))]
_UNUSUAL = [case([-np.inf, -1.0, 0.0, np.inf, np.nan]), case(())]

COMPARISONS = {
    "less": of(jnp.less, *_PAIRS),
    "less_equal": of(jnp.less_equal, *_PAIRS),
    "greater": of(jnp.greater, *_PAIRS),
    "greater_equal": of(jnp.greater_equal, *_PAIRS),
    "equal": of(jnp.equal, *_PAIRS, case([1 + 2j, 1 + 1j], [1 + 2j, 1 - 1j])),
    "not_equal": of(jnp.not_equal, *_PAIRS, case([1 + 2j, 1 + 1j], [1 + 2j, 1 - 1j])),
    "logical_and": of(jnp.logical_and, *_BOOLEANS),
    "logical_or": of(jnp.logical_or, *_BOOLEANS),
    "logical_xor": of(jnp.logical_xor, *_BOOLEANS),
    "logical_not": of(jnp.logical_not, case([True, False]), case(np.array(True))),
    "bitwise_and": of(jnp.bitwise_and, *_INTEGERS),
    "bitwise_or": of(jnp.bitwise_or, *_INTEGERS),
    "bitwise_xor": of(jnp.bitwise_xor, *_INTEGERS),
    "left_shift": of(jnp.left_shift, case([1, -3, 5], [0, 2, 3]), case(np.uint8([255, 6]), np.uint8(7))),
    "right_shift": of(jnp.right_shift, case([12, -7, 0], [1, 2, 3]), case(np.uint8([255, 6]), np.uint8(7))),
    "invert": of(jnp.invert, case([12, -7, 0]), case(np.uint8([255, 6]))),
    "is_nan": of(jnp.isnan, *_UNUSUAL),
    "is_inf": of(jnp.isinf, *_UNUSUAL),
    "is_finite": of(jnp.isfinite, *_UNUSUAL),
}

# ---------------------------------------------------------------------------------------------------------------------
# Complex numbers


def _complex_unary(reference):
    return of(
        reference,
        case(np.array([1 + 2j, -2 - 0.5j, 0.5j])),
        case(np.array(-1 + 1j)),
        case(np.zeros((0, 2), complex)),
    )


COMPLEXES = {
    "real": _complex_unary(jnp.real),
    "imag": _complex_unary(jnp.imag),
    "complex": of(jax.lax.complex, case((2, 3), (2, 3)), case((), ()), case((0,), (0,))),
    "complex_abs": _complex_unary(jnp.abs),
    "angle": _complex_unary(jnp.angle),
}

# ---------------------------------------------------------------------------------------------------------------------
# Reductions and scans

_OVER = [
    case((2, 3), axis=(-2, -1), keepdims=False),
    case((2, 3), axis=(-2,), keepdims=False),
    case((2, 1, 3), axis=(-3, -1), keepdims=True),
    case((4,), axis=(), keepdims=False),
    case((), axis=(), keepdims=False),
]
_OVER_NOTHING = [case((0, 2), axis=(-1,), keepdims=False), case((0, 2), axis=(-2,), keepdims=True)]
_EMPTY = case((0, 2), axis=(-1,), keepdims=False)  # of which there is no maximum along -2, neither in JAX


def _spread(x, *, axis, keepdims, shape):
    return jnp.broadcast_to(x if keepdims else jnp.expand_dims(x, axis), shape)


def _arg(function):
    return lambda x, *, axis, dtype: function(x, axis).astype(dtype)


def _cumsum(x, *, axis, exclusive, reverse):
    n = x.shape[axis]
    earlier = jnp.tril(jnp.ones((n, n), x.dtype), -1 if exclusive else 0)
    return jnp.moveaxis(jnp.moveaxis(x, axis, -1) @ (earlier if reverse else earlier.T), -1, axis)


REDUCTIONS = {
    "sum": of(jnp.sum, *_OVER, *_OVER_NOTHING, complex=True),
    "spread": of(
        _spread,
        case((2,), axis=(-2,), keepdims=False, shape=(3, 2)),
        case((1, 2, 1), axis=(-3, -1), keepdims=True, shape=(2, 2, 2)),
        case((), axis=(-2, -1), keepdims=False, shape=(2, 2)),
        case((), axis=(), keepdims=False, shape=()),
        case((2,), axis=(-2,), keepdims=False, shape=(0, 2)),
        complex=True,
    ),
    "mean": of(jnp.mean, *_OVER, _EMPTY, complex=True),
    "max": of(jnp.max, *_OVER, _EMPTY),
    "min": of(jnp.min, *_OVER, _EMPTY),
    "any": of(
        jnp.any,
        case([[True, False], [False, False]], axis=(-1,), keepdims=False),
        case([[True, False], [False, False]], axis=(-2, -1), keepdims=True),
        case(np.zeros((0, 2), bool), axis=(-2,), keepdims=False),
    ),
    "all": of(
        jnp.all,
        case([[True, False], [True, True]], axis=(-1,), keepdims=False),
        case([[True, True], [True, True]], axis=(-2, -1), keepdims=True),
        case(np.zeros((0, 2), bool), axis=(-2,), keepdims=False),
    ),
    "argmax": of(
        _arg(jnp.argmax),
        case((3, 4), axis=-1, dtype="int64"),
        case((3, 4), axis=-2, dtype="int32"),
        case([1, 3, 3], axis=-1, dtype="int64"),
    ),
    "argmin": of(
        _arg(jnp.argmin),
        case((3, 4), axis=-1, dtype="int64"),
        case((3, 4), axis=-2, dtype="int32"),
        case([3, 1, 1], axis=-1, dtype="int64"),
    ),
    "euclidean_norm": of(
        lambda x, *, axis, keepdims: jnp.sqrt(jnp.sum((x * x.conj()).real, axis, keepdims=keepdims)),
        *_OVER,
        *_OVER_NOTHING,
        complex=True,
    ),
    "logsumexp": of(jax.scipy.special.logsumexp, *_OVER, _EMPTY),
    "cumsum": of(
        _cumsum,
        case((4,), axis=-1, exclusive=False, reverse=False),
        case((2, 3), axis=-1, exclusive=True, reverse=False),
        case((3, 2), axis=-2, exclusive=False, reverse=True),
        case((2, 2, 2), axis=-2, exclusive=True, reverse=True),
        case((0,), axis=-1, exclusive=True, reverse=False),
        complex=True,
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# Elements moved


def _cast(x, *, dtype, source=None):
    return (x.real if jnp.iscomplexobj(x) and not dtype.startswith("complex") else x).astype(dtype)


def _place(x, *, index, shape):
    return jnp.zeros(shape, x.dtype).at[index.items].set(x)


def _split(x, *, axis, sizes):
    return jnp.split(x, np.cumsum(sizes)[:-1], axis)


def _unstack(x, *, axis):
    return [jnp.take(x, i, axis) for i in range(x.shape[axis])]


def _scatter_along(x, indices, *, axis, size):
    behind = -axis - 1
    front = x.ndim - behind - indices.ndim
    at = (slice(None),) * front + (indices,)
    return jnp.zeros((*x.shape[:front], size, *x.shape[x.ndim - behind :]), x.dtype).at[at].add(x)


ARRAYS = {
    "getitem": of(
        lambda x, *, index: x[index.items],
        case((4,), index=Index((..., 2))),
        case((4,), index=Index((..., slice(None, None, -1)))),
        case((3, 4), index=Index((..., slice(1, None), slice(-1, 0, -2)))),
        case((2, 3), index=Index((..., None, 1, slice(None), None))),
        case((2, 3), index=Index((..., slice(2, 2), slice(None)))),
        case((), index=Index((..., None))),
        complex=True,
    ),
    "place": of(
        _place,
        case((), index=Index((..., 2)), shape=(4,)),
        case((4,), index=Index((..., slice(None, None, -1))), shape=(4,)),
        case((2, 2), index=Index((..., slice(1, None), slice(-1, 0, -2))), shape=(3, 4)),
        case((1, 3, 1), index=Index((..., None, 1, slice(None), None)), shape=(2, 3)),
        case((0,), index=Index((..., slice(2, 2))), shape=(2,)),
        complex=True,
    ),
    "block": of(
        lambda x, start, *, sizes: jax.lax.dynamic_slice(x, start, sizes, allow_negative_indices=False),
        case((4,), np.array([1]), sizes=(2,)),
        case((3, 4), np.array([2, 0]), sizes=(1, 4)),
        case((3, 4), np.array([2, 3]), sizes=(2, 2)),
        case((2,), np.array([1]), sizes=(0,)),
        complex=True,
    ),
    "place_block": of(
        lambda x, start, *, shape: jax.lax.dynamic_update_slice(
            jnp.zeros(shape, x.dtype), x, start, allow_negative_indices=False
        ),
        case((2,), np.array([1]), shape=(4,)),
        case((1, 4), np.array([2, 0]), shape=(3, 4)),
        case((2, 2), np.array([2, 3]), shape=(3, 4)),
        case((0,), np.array([1]), shape=(2,)),
        complex=True,
    ),
    "reshape": of(
        jnp.reshape,
        case((2, 3), shape=(3, 2)),
        case((), shape=(1, 1)),
        case((1,), shape=()),
        case((0, 2), shape=(3, 0)),
        complex=True,
    ),
    "transpose": of(
        lambda x, *, perm: jnp.transpose(x, perm),
        case((2, 3), perm=(1, 0)),
        case((2, 1, 3), perm=(2, 0, 1)),
        case((), perm=()),
        case((0, 2), perm=(1, 0)),
        complex=True,
    ),
    "broadcast_to": of(
        jnp.broadcast_to,
        case((2, 1), shape=(2, 3)),
        case((2,), shape=(2, 1, 2)),
        case((), shape=(2, 2)),
        case((2,), shape=(2,)),
        case((1, 2), shape=(0, 2)),
        complex=True,
    ),
    "identity": unary(lambda x: x, complex=True),
    "cast": of(
        _cast,
        case((2, 3), dtype="complex128", source="float64"),
        case(np.array([1 + 2j, -2 + 0.5j]), dtype="float64", source="complex128"),
        case((2, 3), dtype="float32", source="float64", rounds=True),
        case(np.float32([0.5, -1.5]), dtype="float64", source="float32", rounds=True),
        case((0,), dtype="complex128", source="float64"),
    ),
    "cast_without_gradient": of(
        _cast,
        case([1.75, -1.75, 0.0], dtype="int32"),
        case([1.75, -1.75, 0.0], dtype="bool"),
        case([3, 0], dtype="float64"),
        case([True, False], dtype="float32"),
        case([1.5 + 2j], dtype="int64"),
    ),
    "concat": of(
        lambda *xs, axis: jnp.concatenate(xs, axis),
        case((2,), (3,), axis=-1),
        case((2, 1), (2, 2), (2, 0), axis=-1),
        case((1, 2), (2, 2), axis=-2),
        case((3,), axis=-1),
        case((0, 2), (0, 2), axis=-2),
        complex=True,
    ),
    "stack": of(
        lambda *xs, axis: jnp.stack(xs, axis),
        case((2,), (2,), axis=-1),
        case((2, 3), (2, 3), axis=-2),
        case((), (), (), axis=-1),
        case((2, 1), axis=-3),
        case((0,), (0,), axis=-2),
        complex=True,
    ),
    "split": of(
        _split,
        case((4,), axis=-1, sizes=(2, 2)),
        case((2, 4), axis=-1, sizes=(1, 0, 3)),
        case((3, 2), axis=-2, sizes=(2, 1)),
        case((3,), axis=-1, sizes=(3,)),
        complex=True,
    ),
    "unstack": of(_unstack, case((3,), axis=-1), case((2, 3), axis=-2), case((2, 3), axis=-1), complex=True),
    "tile": of(
        lambda x, *, multiples: jnp.tile(x, multiples),
        case((2,), multiples=(3,)),
        case((2, 3), multiples=(2, 1)),
        case((2, 1), multiples=(1, 2)),
        case((2,), multiples=(0,)),
        case((), multiples=()),
        complex=True,
    ),
    "gather": of(
        jnp.take,
        case((4,), np.array([3, 0, 3]), axis=-1),
        case((3, 2), np.array([[2, 0], [2, 2]]), axis=-2),
        case((2, 3), np.array([2, 2, 0]), axis=-1),
        case((2, 3, 2), np.array([[1, 1]]), axis=-2),
        case((3, 2), np.array(1), axis=-2),
        case((3, 2), np.zeros((0,), int), axis=-2),
        complex=True,
    ),
    "gather_rows": of(
        lambda x, indices: x[indices],
        case((4,), np.array([3, 0, 3])),
        case((3, 2), np.array([[2, 0], [2, 2]])),
        case((3, 2), np.array(1)),
        case((3, 2), np.zeros((0,), int)),
        complex=True,
    ),
    "scatter_along": of(
        _scatter_along,
        case((3,), np.array([3, 0, 3]), axis=-1, size=4),
        case((2, 2, 2), np.array([[2, 0], [2, 2]]), axis=-2, size=3),
        case((2, 3), np.array([2, 2, 0]), axis=-1, size=3),
        case((2,), np.array(1), axis=-2, size=3),
        case((0, 2), np.zeros((0,), int), axis=-2, size=3),
        complex=True,
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# Products

PRODUCTS = {
    "swap_last": of(lambda x: x.swapaxes(-1, -2), case((2, 3)), case((2, 1, 3)), case((0, 2)), complex=True),
    "matmul": of(
        jnp.matmul,
        case((2, 3), (3, 2)),
        case((1, 1), (1, 1)),
        case((2, 1, 2), (2, 2, 1)),
        case((2, 2), (2, 2, 1)),
        case((2, 1, 1, 2), (2, 2, 1)),
        case((2, 0), (0, 3)),
        case((0, 2), (2, 3)),
        complex=True,
    ),
    "einsum": of(
        lambda *xs, inputs, output: jnp.einsum(",".join(inputs) + "->" + output, *xs),
        case((2, 3), (3, 2), inputs=("ij", "jk"), output="ik"),
        case((2,), (3,), inputs=("i", "j"), output="ji"),
        case((2, 2), (2,), inputs=("ij", "i"), output="ij"),
        case((2, 2), (2, 2), inputs=("ij", "ij"), output=""),
        case((2, 3), inputs=("ij",), output="j"),
        case((3, 3), inputs=("ii",), output="i"),
        case((3, 3), inputs=("ii",), output=""),
        case((2, 2, 2), (2,), inputs=("iij", "j"), output="i"),
        case((2, 2, 2), inputs=("iii",), output="i"),
        case((2, 3), (2,), inputs=("ij", "k"), output="k"),
        case((), (2,), inputs=("", "i"), output="i"),
        case((2, 2), (2, 2), (2, 1), inputs=("ij", "jk", "kl"), output="il"),
        case((2, 0), (0, 2), inputs=("ij", "jk"), output="ik"),
        complex=True,
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# Neural networks


def _cross_entropy(logits, labels):
    return -jnp.sum(labels * jax.nn.log_softmax(logits), -1)


def _sparse_cross_entropy(logits, labels):
    losses = -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)[..., 0]
    return losses, jax.nn.softmax(logits)


_ALONG = [
    case((4,), axis=-1),
    case((2, 3), axis=-1),
    case((3, 2), axis=-2),
    case((0, 2), axis=-1),
    case((1,), axis=-1),
]
_LABELLED = [
    case((3,), np.array(1)),
    case((2, 3), np.array([2, 0])),
    case((2, 1, 2), np.array([[1], [1]])),
    case((0, 2), np.zeros((0,), int)),
]

NN = {
    "softmax": of(jax.nn.softmax, *_ALONG),
    "log_softmax": of(jax.nn.log_softmax, *_ALONG),
    "softmax_cross_entropy": of(_cross_entropy, case((3,), (3,)), case((2, 3), (2, 3)), case((0, 2), (0, 2))),
    "sparse_softmax_cross_entropy": of(_sparse_cross_entropy, *_LABELLED),
    "less_one_hot": of(lambda x, labels: x - jax.nn.one_hot(labels, x.shape[-1]), *_LABELLED),
}

# ---------------------------------------------------------------------------------------------------------------------
# All of them


def _tables() -> list[dict[str, of]]:
    """Those above, and those in the files samples_*.py beside this one, a file a family."""
    beside = [
        import_module(f".{path.stem}", __package__)
        for path in sorted(Path(__file__).parent.glob("samples_*.py"))
    ]
    named = [value for names in (globals(), *map(vars, beside)) for value in names.values()]
    return [
        t for t in named if isinstance(t, dict) and t and all(isinstance(entry, of) for entry in t.values())
    ]


SAMPLES: dict[str, tuple[Sample, ...]] = {}
for _table in _tables():
    for _name, _entry in _table.items():
        SAMPLES[_name] = SAMPLES.get(_name, ()) + _entry.samples(_name, start=len(SAMPLES.get(_name, ())))
