"""Functions of JAX arrays as functions of tensors, with gradients of any order: in place of `jax.experimental.jax2tf`.

Inside a @function they become part of the program; outside, JAX compiles each one for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ..compiled.buffers import x64
from ..core.custom import custom_gradient
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert_to_tensor
from ..engine.arrays import is_traced
from ..ops.array.movement import cast


def on_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of JAX arrays, or structures of them, as a function of tensors.

    Args:
        function: pure, as JAX demands it; takes positional arguments.

    >>> import gradtape as tf
    >>> import jax.numpy as jnp
    >>> x = tf.Variable([1.0, 2.0])
    >>> with tf.GradientTape() as tape:
    ...     y = on_tensors(lambda x: jnp.sum(x**3))(x)
    >>> tape.gradient(y, x).numpy()
    array([ 3., 12.], dtype=float32)
    """
    compiled = jax.jit(function)

    @cache
    def pullback() -> Callable[..., Any]:
        return on_tensors(lambda *values: _pulled(function, *values))

    def call(*args: Any) -> Any:
        leaves, structure = tree_util.tree_flatten(args)
        results_structure: Any = None

        @custom_gradient
        def run(*tensors: Tensor) -> tuple[list[Tensor], Callable[..., list[Any]]]:
            nonlocal results_structure
            with x64(False):  # as in a program that uses JAX alone
                found = compiled(*tree_util.tree_unflatten(structure, [x._array for x in tensors]))
            results, results_structure = tree_util.tree_flatten(found)

            def grad(*gradients: Any) -> list[Any]:
                given = tree_util.tree_unflatten(structure, tensors)
                parts = iter(pullback()(given, list(gradients)))
                return [cast(next(parts), x.dtype) if x.dtype.has_gradients else None for x in tensors]

            return [_as_tensor(result) for result in results], grad

        results = run(*map(convert_to_tensor, leaves))
        return tree_util.tree_unflatten(results_structure, results)

    return call


def _pulled(function: Callable[..., Any], args: Any, gradients: list[Any]) -> list[Any]:
    """The gradients of a function's results, pulled back to those of its arguments that can have gradients."""
    leaves, structure = tree_util.tree_flatten(args)
    places = [i for i, leaf in enumerate(leaves) if _has_gradients(leaf)]

    def of_places(*values: Any) -> list[Any]:
        filled = list(leaves)
        for place, value in zip(places, values, strict=True):
            filled[place] = value
        return tree_util.tree_leaves(function(*tree_util.tree_unflatten(structure, filled)))

    results, pull = jax.vjp(of_places, *[leaves[place] for place in places])
    upstream = [
        g.astype(result.dtype) if _has_gradients(result) else np.zeros(result.shape, jax.dtypes.float0)
        for g, result in zip(gradients, results, strict=True)
    ]
    return list(pull(upstream))


def _has_gradients(array: Any) -> bool:
    return bool(jax.numpy.issubdtype(array.dtype, jax.numpy.inexact))


def _as_tensor(result: Any) -> Tensor:
    return wrap(result if is_traced(result) else np.asarray(result))
