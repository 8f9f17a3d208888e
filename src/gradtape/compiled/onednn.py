"""Convolutions by oneDNN, which XLA for CPUs contains: `executable.jit` puts them in the place of XLA's own.

XLA runs a custom call of the name `TARGET` by oneDNN, but its compiler makes none where JAX calls it. So the equations
of a program are replaced before JAX lowers it. A convolution of 32 images of 14x14, 32 channels and 64 filters of 3x3
takes 1.0 ms instead of 1.3 by Eigen on two cores, and so does its gradient by the input; a training step with both
takes 4 to 6 % less.

The custom call is no interface of XLA's: another version may read its configuration in another way, and end the process
if that fails. So it is used with the versions in TESTED alone; tests/test_onednn.py fails with others.
"""

from __future__ import annotations

import functools
import json
import math
import platform
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Primitive
from jax.interpreters import batching, mlir
from jaxlib.version import __version__ as jaxlib_version

from .fusion import CONTROL, is_cpu
from .jaxprs import replaced

TARGET = "__onednn$convolution"
TESTED = ("0.10.2",)  # versions of jaxlib
# Multiplications. By itself, a convolution of 4 million takes two thirds to nine tenths of Eigen's time. In a program
# of several, oneDNN waits for its threads each time: with those below 60 million a program takes up to a tenth longer.
_LEAST = 1 << 26


def by_onednn(jaxpr: Any) -> Any:
    """The code with convolutions by oneDNN where it is quicker; the very same code if there are none."""
    if not _has_onednn() or jax.config.values["jax_compilation_cache_dir"]:
        return jaxpr  # XLA cannot write programs with such calls to disk
    eqns = [_replaced(eqn) for eqn in jaxpr.eqns]
    is_same = all(new is old for new, old in zip(eqns, jaxpr.eqns))
    return jaxpr if is_same else replaced(jaxpr, eqns=eqns)


@functools.cache
def _has_onednn() -> bool:
    """Return whether XLA is one that is known to have oneDNN."""
    return is_cpu() and platform.machine() == "x86_64" and jaxlib_version in TESTED


def _replaced(eqn: Any) -> Any:
    if eqn.primitive is jax.lax.conv_general_dilated_p:
        if not _is_quicker(eqn):
            return eqn
        params = {"params": tuple(eqn.params.items()), "shape": eqn.outvars[0].aval.shape}
        return eqn.replace(primitive=convolution, params=params)
    if eqn.primitive.name in CONTROL:
        params = {name: _in_code(value) for name, value in eqn.params.items()}
        if any(params[name] is not value for name, value in eqn.params.items()):
            return eqn.replace(params=params)
    return eqn


def _in_code(value: Any) -> Any:
    """A parameter of a loop or branch, with the code in it replaced."""
    if isinstance(value, ClosedJaxpr):
        code = by_onednn(value.jaxpr)
        return value if code is value.jaxpr else value.replace(jaxpr=code)
    if isinstance(value, Jaxpr):
        return by_onednn(value)
    if isinstance(value, tuple) and any(isinstance(each, ClosedJaxpr) for each in value):
        codes = tuple(map(_in_code, value))
        return value if all(new is old for new, old in zip(codes, value)) else codes
    return value


def _is_quicker(eqn: Any) -> bool:
    """Return whether oneDNN has the convolution, and is quicker at it than Eigen."""
    x, filters, out, params = *[v.aval for v in eqn.invars], eqn.outvars[0].aval, eqn.params
    numbers, rank = params["dimension_numbers"], x.ndim - 2
    rows = (0, rank + 1, *range(1, rank + 1))  # images, pixels, channels: the order in memory
    if {x.dtype, filters.dtype, out.dtype} != {np.dtype(np.float32)} or not 1 <= rank <= 3:
        return False
    if numbers.lhs_spec != rows or numbers.out_spec != rows or params["batch_group_count"] != 1:
        return False
    if params["feature_group_count"] != 1 or set(params["lhs_dilation"]) != {1}:
        return False
    if not x.size or not out.size or not filters.size:
        return False
    sizes = [filters.shape[axis] for axis in numbers.rhs_spec[2:]]
    reach = [(n - 1) * d for n, d in zip(sizes, params["rhs_dilation"])]
    if not all(0 <= pad <= n for pads, n in zip(params["padding"], reach) for pad in pads):
        return False
    inputs = filters.shape[numbers.rhs_spec[1]]
    return out.size * inputs * math.prod(sizes) >= _LEAST


# ---------------------------------------------------------------------------------------------------------------------
# The primitive that JAX lowers to the custom call.

convolution = Primitive("onednn_convolution")


def _aval(x: Any, filters: Any, *, params: Any, shape: tuple[int, ...]) -> Any:
    return x.update(shape=shape)


def _lowered(context: Any, x: Any, filters: Any, *, params: Any, shape: tuple[int, ...]) -> Any:
    from jax._src.interpreters.mlir import custom_call

    layout = tuple(range(len(shape)))[::-1]
    call = custom_call(
        TARGET,
        result_types=[mlir.aval_to_ir_type(context.module_context, context.avals_out[0])],
        operands=[x, filters],
        backend_config=_configuration(dict(params), context.avals_in[1].shape),
        api_version=1,
        operand_layouts=[layout, layout],
        result_layouts=[layout],
    )
    return call.results


def _configuration(params: dict[str, Any], filters: tuple[int, ...]) -> str:
    """What XLA's runtime is told of the convolution."""
    numbers, rank = params["dimension_numbers"], len(filters)
    batch, channels, *space = numbers.lhs_spec
    outs, ins, *window = numbers.rhs_spec
    images = {"dims": rank, "data": {"batch_dim": batch, "feature_dim": channels, "spatial_dims": space}}
    kernel = {"input_feature_dim": ins, "output_feature_dim": outs, "spatial_dims": window}
    before, after = zip(*params["padding"], strict=True)
    configuration = {
        "dims": rank,
        "input": images,
        "kernel": {"dims": rank, "filter": kernel},
        "output": images,
        "window": {
            "size": [filters[axis] for axis in window],
            "pad_left": before,
            "pad_right": after,
            "strides": params["window_strides"],
            "window_dilations": params["rhs_dilation"],
        },
        "feature_groups": params["feature_group_count"],
    }
    return json.dumps({"onednn_conv_config": configuration})


def _batched(arguments: Any, axes: Any, *, params: Any, shape: tuple[int, ...]) -> Any:
    """Several convolutions at once are XLA's again."""
    function = functools.partial(jax.lax.conv_general_dilated_p.bind, **dict(params))
    return jax.vmap(function, in_axes=axes)(*arguments), 0


convolution.def_abstract_eval(_aval)
mlir.register_lowering(convolution, _lowered, platform="cpu")
batching.primitive_batchers[convolution] = _batched
