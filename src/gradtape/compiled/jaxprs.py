"""Functions on jaxprs, JAX's lists of what a traced function computes: dead code, parts of the code, its width."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal, Var, jaxprs_in_params
from jax.interpreters.partial_eval import dce_jaxpr_consts

from ..engine.host import is_check

_LARGE = 1 << 26  # elements: arrays for which memory may be lacking
_SMALL = 1 << 12  # bytes
_WIDE = frozenset(np.dtype(name) for name in ("int64", "uint64", "float64", "complex128"))
_NARROW = np.dtype(np.float32)
# The most frequent primitives: none has code among its parameters.
_WITHOUT_CODE = frozenset(
    [
        "add",
        "sub",
        "mul",
        "div",
        "neg",
        "max",
        "min",
        "sqrt",
        "rsqrt",
        "square",
        "pow",
        "integer_pow",
        "exp",
        "log",
        "tanh",
        "logistic",
        "select_n",
        "convert_element_type",
        "reshape",
        "broadcast_in_dim",
        "transpose",
        "slice",
        "pad",
        "squeeze",
        "concatenate",
        "dynamic_slice",
        "reduce_sum",
        "dot_general",
        "conv_general_dilated",
        "optimization_barrier",
        "gt",
        "lt",
        "ge",
        "le",
        "eq",
        "ne",
        "and",
        "or",
        "not",
    ]
)


def split(values: Any, counts: list[int]) -> list[list[Any]]:
    """Split a list into pieces of the given lengths."""
    pieces, start = [], 0
    for count in counts:
        pieces.append(list(values[start : start + count]))
        start += count
    return pieces


def without_aliases(results: list[Any], inputs: Iterable[Any]) -> list[Any]:
    """Copy results that are inputs, or that appear twice: variables are written in place."""
    seen = {id(a) for a in inputs}
    distinct = []
    for result in results:
        distinct.append(jax.numpy.copy(result) if id(result) in seen else result)
        seen.add(id(result))
    return distinct


def replaced(jaxpr: Any, **parts: Any) -> Any:
    """Replace parts of a jaxpr; the names of its inputs and results are dropped."""
    return jaxpr.replace(debug_info=jaxpr.debug_info.with_unknown_names(), **parts)


def evaluated(eqn: Any, operands: list[Any]) -> list[Any]:
    """The results of an equation for other operands than its own."""
    invars = [Var(v.aval) for v in eqn.invars]
    eqn = eqn.replace(invars=invars)
    code = _empty().replace(invars=invars, outvars=eqn.outvars, eqns=[eqn])
    return jax.core.eval_jaxpr(code, [], *operands)


@functools.cache
def _empty() -> Any:
    """Code without equations."""
    code = jax.make_jaxpr(list)().jaxpr
    return replaced(code)


def inner_code(jaxpr: Any) -> Iterator[Any]:
    """Yield the code and all code inside it: branches, bodies of loops."""
    yield jaxpr
    for eqn in jaxpr.eqns:
        if eqn.primitive.name not in _WITHOUT_CODE:
            for inner in jaxprs_in_params(eqn.params):
                yield from inner_code(inner)


def calls_python(jaxpr: Any) -> bool:
    """Return whether the code calls Python, which may raise while it runs."""
    return any("callback" in eqn.primitive.name for code in inner_code(jaxpr) for eqn in code.eqns)


def has_side_effects(jaxpr: Any) -> bool:
    """Return whether the code calls Python for more than values and checks: to run it twice is not the same."""
    return any(
        "callback" in eqn.primitive.name and eqn.effects and not is_check(eqn)
        for code in inner_code(jaxpr)
        for eqn in code.eqns
    )


def is_large(jaxpr: Any) -> bool:
    """Return whether the code computes an array for which memory may be lacking when it runs."""
    return any(
        math.prod(getattr(v.aval, "shape", ())) > _LARGE
        for code in inner_code(jaxpr)
        for eqn in code.eqns
        for v in eqn.outvars
    )


def largest_product(jaxpr: Any) -> int:
    """The number of multiplications in the largest product of matrices, or convolution, of the code."""
    counts = [0]
    for code in inner_code(jaxpr):
        for eqn in code.eqns:
            if eqn.primitive.name == "dot_general":
                (axes, _), _ = eqn.params["dimension_numbers"]
                summed = math.prod(eqn.invars[0].aval.shape[axis] for axis in axes)
            elif eqn.primitive.name == "conv_general_dilated":
                kernel = eqn.invars[1].aval
                summed = kernel.size // kernel.shape[eqn.params["dimension_numbers"].rhs_spec[0]]
            else:
                continue
            counts.append(summed * eqn.outvars[0].aval.size)
    return max(counts)


def is_wide(jaxpr: Any) -> bool:
    """Return whether 64-bit numbers appear anywhere in the code."""
    return any(
        getattr(v.aval, "dtype", _NARROW) in _WIDE
        for code in inner_code(jaxpr)
        for v in (*code.invars, *code.constvars, *code.outvars, *[v for e in code.eqns for v in e.outvars])
    )


# ---------------------------------------------------------------------------------------------------------------------
# Parts of the code


def without_dead_code(jaxpr: Any, needed: list[bool]) -> tuple[Any, list[bool]]:
    """Remove what the results do not need, inside loops and branches as well; return which constants are left.

    XLA does the same in more time. Constants that are `needed`, and inputs, stay.
    """
    stay = [*needed, *[True] * len(jaxpr.invars)]
    jaxpr, used, _ = dce_jaxpr_consts(jaxpr, [True] * len(jaxpr.outvars), stay)
    return jaxpr, used


def without_copies(jaxpr: Any, constants: list[Any], stays: Callable[[Any], bool]) -> tuple[Any, list[Any]]:
    """Keep one of NumPy's arrays that have the same memory, or that are small and equal, unless it `stays`.

    Each use of a constant's transpose makes another view of it, and each use of a list another array.
    """
    first: dict[Any, Any] = {}
    renamed: dict[Any, Any] = {}
    kept = []
    for v, constant in zip(jaxpr.constvars, constants, strict=True):
        if not isinstance(constant, (jax.Array, jax.core.Tracer)) and not stays(constant):
            array = np.asarray(constant)
            content = array.tobytes() if array.nbytes <= _SMALL else (array.ctypes.data, array.strides)
            name = array.shape, array.dtype, content
            if name in first:
                renamed[v] = first[name]
                continue
            first[name] = v
        kept.append((v, constant))
    if not renamed:
        return jaxpr, constants
    eqns = [with_names(renamed, eqn) for eqn in jaxpr.eqns]
    constvars = [v for v, _ in kept]
    return replaced(jaxpr, constvars=constvars, outvars=_named(renamed, jaxpr.outvars), eqns=eqns), [
        c for _, c in kept
    ]


def _named(names: dict[Any, Any], variables: list[Any]) -> list[Any]:
    """The variables by other names, where they have one."""
    return [names.get(v, v) if isinstance(v, Var) else v for v in variables]


def with_names(names: dict[Any, Any], eqn: Any) -> Any:
    """An equation with its inputs by other names; itself if none has one, as most."""
    for v in eqn.invars:
        if type(v) is not Literal and v in names:
            return eqn.replace(invars=_named(names, eqn.invars))
    return eqn


def without_names(jaxpr: Any, prefix: str) -> Any:
    """Remove the equations that only name a value, with a name that begins so."""
    named: dict[Any, Any] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "name" and eqn.params["name"].startswith(prefix):
            (value,) = eqn.invars
            named[eqn.outvars[0]] = named.get(value, value) if isinstance(value, Var) else value

    kept = [eqn for eqn in jaxpr.eqns if eqn.outvars[:1] == [] or eqn.outvars[0] not in named]
    eqns = [with_names(named, eqn) for eqn in kept]
    return replaced(jaxpr, eqns=eqns, outvars=_named(named, jaxpr.outvars))


def independent_of(unknown: Iterable[Any], eqns: list[Any]) -> list[Any]:
    """The equations that can be computed without some variables."""
    depending, possible = set(unknown), []
    for eqn in eqns:
        if any(isinstance(v, Var) and v in depending for v in eqn.invars):
            depending.update(eqn.outvars)
        else:
            possible.append(eqn)
    return possible


def needed_for(results: list[Any], eqns: list[Any]) -> list[Any]:
    """The equations that the results need, or that have effects."""
    needed = {v for v in results if isinstance(v, Var)}
    kept = []
    for eqn in reversed(eqns):
        if eqn.effects or any(v in needed for v in eqn.outvars):
            needed.update(v for v in eqn.invars if isinstance(v, Var))
            kept.append(eqn)
    return kept[::-1]


def recomputation(jaxpr: Any, results: list[Any]) -> tuple[Any, list[Any]]:
    """The code that computes some variables again, without calls of Python; and the results of such calls it needs.

    The latter are inputs of the code, after those of the jaxpr.
    """
    needed = {v for v in results if isinstance(v, Var)}
    eqns: list[Any] = []
    host_results: list[Any] = []
    for eqn in reversed(jaxpr.eqns):
        if not any(v in needed for v in eqn.outvars):
            continue
        if eqn.effects:
            host_results += [v for v in eqn.outvars if v in needed]
        else:
            eqns.append(eqn)
            needed.update(v for v in eqn.invars if isinstance(v, Var))
    code = replaced(jaxpr, invars=[*jaxpr.invars, *host_results], outvars=results, eqns=eqns[::-1])
    return code, host_results
