"""Tracers whose operators write their equation into the jaxpr at once, for the traces of `@function`.

In JAX, `x * y` on tracers calls `jax.numpy.multiply`, a compiled function: JAX looks up its jaxpr by the arguments and
copies that into the trace, 70 us for one equation. Where both operands have one dtype, the equation is known: these
tracers write it in 7 us. It is the same equation. Any other case goes the way of JAX.

This leans on JAX's internal classes of traces, as of JAX 0.10: `tests/test_tracers.py` fails where they differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np
from jax import lax
from jax._src.ad_checkpoint import name_p
from jax._src.core import Literal, ShapedArray, Var, current_jaxpr_eqn_context, trace_ctx
from jax._src.dtypes import canonicalize_value
from jax._src.interpreters.partial_eval import (
    DynamicJaxprTrace,
    DynamicJaxprTracer,
    TracingEqn,
    _cached_abstract_eval,
    const_fold_rules,
    custom_staging_rules,
    forwarding_rules,
)
from jax._src.literals import TypedNdArray
from jax._src.source_info_util import current as current_line

_FLOATS = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]
_COMPLEX = [np.dtype(t) for t in (np.complex64, np.complex128)]
_INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]
FLOATS = frozenset(_FLOATS)
INEXACT = frozenset([*_FLOATS, *_COMPLEX])
REALS = frozenset([*_FLOATS, *_INTEGERS])
NUMBERS = frozenset([*_FLOATS, *_COMPLEX, *_INTEGERS])
BITS = frozenset([*_INTEGERS, np.dtype(bool)])
BOOL = frozenset([np.dtype(bool)])
ALL = NUMBERS | BOOL

_SMALL = range(128)  # Python integers that every dtype of numbers has,
_MEDIUM = range(-(1 << 24), 1 << 24)  # and those that dtypes of 32 bits or more have, unless unsigned


class QuickTracer(DynamicJaxprTracer):
    """A tracer of a `QuickTrace`. The operators of two operands are set below."""

    __slots__ = ()
    aval: Any

    def __init__(self, trace: Any, aval: Any, val: Any, line_info: Any = None, parent: Any = None) -> None:
        # What JAX's own does for arrays, without its calls: 1 us less.
        self._trace = trace
        self.aval = aval
        self._line_info = line_info
        self._debug_info = trace.frame.debug_info
        self.val = val
        self.mutable_qdd = None
        self.parent = parent

    @property
    def shape(self) -> Any:
        """The lengths of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.aval.dtype

    def __neg__(self) -> Any:
        out = written1(lax.neg_p, {}, NUMBERS, self)
        return jax.core.Tracer.__neg__(self) if out is None else out

    def __matmul__(self, other: Any) -> Any:
        out = _matmul(self, other)
        return jax.core.Tracer.__matmul__(self, other) if out is None else out

    def astype(self, dtype: Any, copy: bool = False, device: Any = None) -> Any:  # type: ignore[override]
        """The array in another dtype."""
        out = None if copy or device is not None else _cast(self, dtype)
        return jax.core.Tracer.astype(self, dtype, copy, device) if out is None else out

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """The elements in another shape."""
        out = None if options else _reshaped(self, shape)
        return jax.core.Tracer.reshape(self, *shape, **options) if out is None else out

    def transpose(self, *axes: Any) -> Any:
        """The array with its axes in another order."""
        out = _transposed(self, axes[0] if len(axes) == 1 else axes)
        return jax.core.Tracer.transpose(self, *axes) if out is None else out

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """The array with two axes exchanged."""
        rank = len(self.aval.shape)
        axes = list(range(rank))
        if type(axis1) is type(axis2) is int and -rank <= axis1 < rank and -rank <= axis2 < rank:
            axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
            out = _transposed(self, tuple(axes))
            if out is not None:
                return out
        return jax.core.Tracer.swapaxes(self, axis1, axis2)


class QuickTrace(DynamicJaxprTrace):
    """A trace to a jaxpr whose tracers are `QuickTracer`s."""

    __slots__ = ()

    def var_to_tracer(self, var: Any, source_info: Any, parent: Any = None) -> Any:
        """A tracer for a variable of the jaxpr."""
        if var.aval.has_qdd:
            return super().var_to_tracer(var, source_info, parent)
        return QuickTracer(self, var.aval, var, source_info, parent)

    def new_const(self, c: Any, source_info: Any, aval: Any = None) -> Any:
        """A tracer for a constant."""
        return _quick(super().new_const(c, source_info, aval))

    def process_primitive(self, primitive: Any, tracers: Any, params: Any, /) -> Any:
        """Write the equation of a primitive that JAX has no rules for but those of its shapes and dtypes."""
        if primitive is lax.convert_element_type_p and type(tracers[0]) is QuickTracer:
            (x,), dtype = tracers, params["new_dtype"]
            if x.aval.dtype in BOOL and dtype in FLOATS and x._trace is self and not params["weak_type"]:
                return mask_as_numbers(self, x, dtype)
        if primitive.multiple_results or primitive in _WITH_RULES or primitive.ref_allocating:
            return super().process_primitive(primitive, tracers, params)
        source = current_line()
        return self.write(primitive, [self.to_jaxpr_tracer(x, source) for x in tracers], params, source)

    def write(self, primitive: Any, tracers: list[Any], params: dict[str, Any], source: Any = None) -> Any:
        """Write an equation with one result; return the tracer of the result."""
        aval, effects = _cached_abstract_eval(primitive, *[t.aval for t in tracers], **params)
        if source is None:
            source = current_line()
        if effects:
            return super().emit_eqn(tracers, [aval], primitive, params, effects, source)[0]
        var = Var(aval)
        eqn = TracingEqn(tracers, [var], primitive, params, effects, source, current_jaxpr_eqn_context())
        self.frame.tracing_eqns.append(eqn)
        return QuickTracer(self, aval, var, source, eqn)

    def line(self) -> Any:
        """The line of code that is traced now."""
        return current_line()

    def new_input(self, shape: tuple[int, ...], dtype: Any, name: str) -> tuple[Any, Any]:
        """A tracer for an array that is not known yet, and the constant of the jaxpr that stands for the array.

        JAX computes with constants while it traces, but not with what an equation has given a name.
        """
        zeros = np.broadcast_to(np.zeros((), dtype), shape)  # takes no memory
        aval = ShapedArray(shape, zeros.dtype)
        var, constant = Var(aval), TypedNdArray(zeros, aval)
        self.frame.constvar_to_val[var] = constant
        return self.write(name_p, [QuickTracer(self, aval, var, current_line())], {"name": name}), constant

    def copy_code(self, jaxpr: Any, constants: Any, inputs: Any, source: Any = None) -> list[Any]:
        """Write all equations of a jaxpr, for these constants and inputs; return its results.

        None stands for a constant that nothing uses. The equations come from the lines of code they came from, or from
        `source`.
        """
        here = current_line()
        variables = [*jaxpr.constvars, *jaxpr.invars]
        values = zip(variables, [*constants, *inputs], strict=True)
        env = {v: self.to_jaxpr_tracer(canonicalize_value(x), here) for v, x in values if x is not None}

        def read(v: Any) -> Any:
            return QuickTracer(self, v.aval, v, here) if type(v) is Literal else env[v]

        eqns = self.frame.tracing_eqns
        for eqn in jaxpr.eqns:
            outvars = [Var(v.aval) for v in eqn.outvars]
            operands = [read(v) for v in eqn.invars]
            line = source or eqn.source_info
            copy = TracingEqn(operands, outvars, eqn.primitive, eqn.params, eqn.effects, line, eqn.ctx)
            eqns.append(copy)
            for old, new in zip(eqn.outvars, outvars):
                env[old] = QuickTracer(self, new.aval, new, line, copy)
        return [read(v) for v in jaxpr.outvars]

    def literal(self, value: Any, dtype: Any) -> Any:
        """The tracer of a number."""
        aval = _scalar_type(dtype)
        return QuickTracer(self, aval, Literal(TypedNdArray(np.array(value, dtype), aval), aval))


_WITH_RULES = frozenset([*const_fold_rules, *custom_staging_rules, *forwarding_rules])
_SCALARS: dict[Any, Any] = {}


def _scalar_type(dtype: Any) -> Any:
    aval = _SCALARS.get(dtype)
    if aval is None:
        aval = _SCALARS[dtype] = ShapedArray((), dtype)
    return aval


def quicken(trace: Any, tracers: Any) -> None:
    """Let a trace that JAX has just begun, and the tracers of its inputs, be quick ones."""
    if type(trace) is DynamicJaxprTrace and not trace.frame.auto_dce:
        trace.__class__ = QuickTrace
        for tracer in tracers:
            _quick(tracer)


def eval_jaxpr(jaxpr: Any, constants: list[Any], *inputs: Any) -> list[Any]:
    """`jax.core.eval_jaxpr`; where JAX traces, the equations are copied, in a sixth of the time.

    None stands for a constant that nothing uses. Values of another type than the jaxpr was made for, such as those that
    are divided among devices, go the way of JAX, which finds the types of all results anew.
    """
    trace = trace_ctx.trace
    quicken(trace, ())
    if type(trace) is QuickTrace:
        pairs = zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *inputs], strict=True)
        if all(x is None or jax.typeof(x) is v.aval for v, x in pairs):
            return trace.copy_code(jaxpr, constants, inputs)
    return jax.core.eval_jaxpr(jaxpr, constants, *inputs)


def _quick(tracer: Any) -> Any:
    if type(tracer) is DynamicJaxprTracer and type(tracer.aval) is ShapedArray:
        tracer.__class__ = QuickTracer
    return tracer


# ---------------------------------------------------------------------------------------------------------------------
# Equations


def operand(x: Any, like: Any, dtype: Any) -> Any:
    """An operand of this dtype as a tracer of the trace that `like` belongs to; None if JAX has to convert it."""
    kind = type(x)
    if kind is QuickTracer:
        if x._trace is not like or x.aval.weak_type:
            return None
        if x.aval.dtype in BOOL and dtype in FLOATS:
            return mask_as_numbers(like, x, dtype)
        return x if x.aval.dtype == dtype else None
    if kind is float:
        return like.literal(x, dtype) if dtype in INEXACT else None
    if kind is int:
        known = _MEDIUM if dtype.itemsize >= 4 and dtype.kind != "u" else _SMALL
        return like.literal(x, dtype) if x in known and dtype in NUMBERS else None
    if (kind is np.ndarray or isinstance(x, np.generic)) and not x.ndim and x.dtype == dtype:
        return like.literal(x, dtype)
    return None


def current_trace(x: Any) -> Any:
    """The trace of a tracer, if it is a quick one, the one that JAX is in, and the dtype is no weak one; else None."""
    if type(x) is not QuickTracer or x.aval.weak_type:
        return None
    trace = x._trace
    return trace if trace_ctx.trace is trace else None


def written1(primitive: Any, params: dict[str, Any], allowed: Any, x: Any) -> Any:
    """The result of a primitive of one operand; None if it has to go the way of JAX."""
    trace = current_trace(x)
    if trace is None or x.aval.dtype not in allowed:
        return None
    return trace.write(primitive, [x], params)


def written2(primitive: Any, params: dict[str, Any], allowed: Any, x: Any, y: Any) -> Any:
    """The result of a primitive of two operands that broadcast; None if it has to go the way of JAX."""
    known = x if type(x) is QuickTracer else y
    trace = current_trace(known)
    if trace is None:
        return None
    dtype = known.aval.dtype
    if dtype in BOOL and current_trace(y) is trace and y.aval.dtype in FLOATS:
        dtype = y.aval.dtype
        x = mask_as_numbers(trace, x, dtype)
    if dtype not in allowed:
        return None
    if known is not y:
        y = operand(y, trace, dtype)
    else:
        x = operand(x, trace, dtype)
    if x is None or y is None:
        return None
    a, b = x.aval.shape, y.aval.shape
    if a != b and a and b:
        if len(a) != len(b):
            if len(a) < len(b):
                x = ranked(trace, x, len(b))
            else:
                y = ranked(trace, y, len(a))
        try:
            return trace.write(primitive, [x, y], params)
        except (TypeError, ValueError):  # they do not broadcast: in JAX's words
            return None
    return trace.write(primitive, [x, y], params)


def ranked(trace: QuickTrace, x: Any, rank: int) -> Any:
    """An array with axes of length 1 in front, up to this rank."""
    shape = x.aval.shape
    new = rank - len(shape)
    return broadcast_in_dim(trace, x, (1,) * new + shape, tuple(range(new, rank)))


def broadcast_in_dim(trace: QuickTrace, x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """An array broadcast to a shape of which `axes` are its own."""
    params = {"shape": shape, "broadcast_dimensions": axes, "sharding": None}
    return trace.write(lax.broadcast_in_dim_p, [x], params)


def _matmul(x: Any, y: Any) -> Any:
    """The product of matrices, of a batch of them with one, or of two batches of one shape; None: the way of JAX."""
    trace = current_trace(x)
    if trace is None or current_trace(y) is not trace or y.aval.dtype != x.aval.dtype:
        return None
    a, b, dtype = x.aval.shape, y.aval.shape, x.aval.dtype
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2] or dtype not in NUMBERS:
        return None
    if len(b) > 2 and (a[:-2] != b[:-2] or 1 in a[:-2]):
        return None
    batch = tuple(range(len(b) - 2))
    numbers = (((len(a) - 1,), (len(b) - 2,)), (batch, batch))
    params = {"dimension_numbers": numbers, "precision": None, "preferred_element_type": dtype}
    return trace.write(lax.dot_general_p, [x, y], {**params, "out_sharding": None})


def _cast(x: Any, dtype: Any) -> Any:
    trace = current_trace(x)
    if trace is None or dtype is None:
        return None
    dtype, source = np.dtype(dtype), x.aval.dtype
    if dtype == source:
        return x
    if dtype not in NUMBERS or source not in ALL or source.kind == "c" or trace.get_const(x) is not None:
        return None
    if source in BOOL and dtype in FLOATS:
        return mask_as_numbers(trace, x, dtype)
    params = {"new_dtype": dtype, "weak_type": False, "sharding": None}
    return trace.write(lax.convert_element_type_p, [x], params)


def mask_as_numbers(trace: QuickTrace, mask: Any, dtype: Any) -> Any:
    """1 where a mask is true, else 0.

    By a selection: of `x * mask.astype(dtype)` XLA would make one of x and 0, and 0 * nan would be 0.
    """
    shape = mask.aval.shape
    numbers = [trace.literal(number, dtype) for number in (0, 1)]
    if shape:
        numbers = [broadcast_in_dim(trace, number, shape, ()) for number in numbers]
    return trace.write(lax.select_n_p, [mask, *numbers], {})


def _reshaped(x: Any, shape: Any) -> Any:
    trace = current_trace(x)
    if len(shape) == 1 and type(shape[0]) is tuple:
        shape = shape[0]
    if trace is None or any(type(n) is not int for n in shape):
        return None
    size, known = math.prod(x.aval.shape), math.prod(shape)
    if -1 in shape and known < 0 < size and size % known == 0:
        shape, known = tuple([-size // known if n == -1 else n for n in shape]), size
    if known != size or any(n < 0 for n in shape):
        return None
    if shape == x.aval.shape and shape:
        return x
    return trace.write(lax.reshape_p, [x], {"new_sizes": shape, "dimensions": None, "sharding": None})


def _transposed(x: Any, axes: Any) -> Any:
    trace = current_trace(x)
    if trace is None or type(axes) is not tuple:
        return None
    rank = len(x.aval.shape)
    if sorted(axes) != list(range(rank)) or axes == tuple(range(rank)):
        return None
    return trace.write(lax.transpose_p, [x], {"permutation": axes})


# ---------------------------------------------------------------------------------------------------------------------
# Operators

_MUL = {"out_dtype": None}
BINARY: dict[str, tuple[Any, dict[str, Any], Any]] = {  # by the name of the operator
    "add": (lax.add_p, {}, NUMBERS),
    "sub": (lax.sub_p, {}, NUMBERS),
    "mul": (lax.mul_p, _MUL, NUMBERS),
    "truediv": (lax.div_p, {}, INEXACT),
    "lt": (lax.lt_p, {}, REALS),
    "le": (lax.le_p, {}, REALS),
    "gt": (lax.gt_p, {}, REALS),
    "ge": (lax.ge_p, {}, REALS),
    "eq": (lax.eq_p, {}, ALL),
    "ne": (lax.ne_p, {}, ALL),
    "and": (lax.and_p, {}, BITS),
    "or": (lax.or_p, {}, BITS),
    "xor": (lax.xor_p, {}, BITS),
}


def _operator(name: str, primitive: Any, params: dict[str, Any], allowed: Any) -> Callable[..., Any]:
    by_jax = getattr(jax.core.Tracer, name)

    def operator(self: Any, other: Any) -> Any:
        out = written2(primitive, params, allowed, self, other)
        return by_jax(self, other) if out is None else out

    return operator


def _reflected(name: str, primitive: Any, params: dict[str, Any], allowed: Any) -> Callable[..., Any]:
    by_jax = getattr(jax.core.Tracer, name)

    def operator(self: Any, other: Any) -> Any:
        out = written2(primitive, params, allowed, other, self)
        return by_jax(self, other) if out is None else out

    return operator


for _name, _entry in BINARY.items():
    setattr(QuickTracer, f"__{_name}__", _operator(f"__{_name}__", *_entry))
    if hasattr(jax.core.Tracer, f"__r{_name}__"):
        setattr(QuickTracer, f"__r{_name}__", _reflected(f"__r{_name}__", *_entry))
