"""Analytic functions of square matrices: exponential, logarithm, square root.

All share one rule: f([[A, E], [0, A]]) has f's derivative at A in the direction E as its upper right block, so a
gradient is the function itself of a matrix twice as large, and so are gradients of any order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import DTypeError
from ...core.primitive import Primitive, apply, primitive
from ...core.slicing import Index, getitem
from ...core.structural import broadcast_to_, concat_
from ...core.tensor import Tensor
from ...engine.arrays import xp
from ...engine.blas import in_scipy
from ...engine.host import on_host
from .lapack import matrices, scipy_linalg
from .matrix import array_of, swap_last


def _by_blocks(function: Primitive) -> Callable[[Any, Any], Any]:
    """The rule of an analytic function: its derivative at the transposed matrix, in the direction of the gradient."""

    def rule(g: Any, x: Any) -> Any:
        n = x.shape[-1]
        shape = tuple(g.shape)
        a = broadcast_to_(swap_last(x), shape=shape)
        zeros = xp(array_of(g)).zeros(shape, array_of(g).dtype)
        blocks = concat_(concat_(a, g, axis=-1), concat_(zeros, a, axis=-1), axis=-2)
        return getitem(function(blocks), index=Index((..., slice(None, n), slice(n, None))))

    return rule


@primitive(wide=True, name="expm")
def expm_(x):
    if xp(x) is not np:
        return scipy_linalg(x).expm(x)
    return in_scipy(scipy_linalg(x).expm, x)


@primitive(name="logm")
def logm_(x):
    if x.size == 0:
        return x
    if xp(x) is not np:
        return on_host(logm_.forward, x.shape, x.dtype, x)
    with warnings.catch_warnings():  # of singular matrices, which have no logarithm: the result says so
        warnings.simplefilter("ignore")
        return in_scipy(scipy_linalg(x).logm, x).astype(x.dtype)


@primitive(wide=True, name="sqrtm")
def sqrtm_(x):
    """The principal square root; nan where a real matrix has none that is real."""
    if xp(x) is not np:
        return on_host(sqrtm_.forward, x.shape, x.dtype, x)
    with warnings.catch_warnings():  # of singular matrices, which may have none
        warnings.simplefilter("ignore")
        root = in_scipy(scipy_linalg(x).sqrtm, x)
    if root.dtype.kind == x.dtype.kind:
        return root
    return np.where((root.imag == 0).all((-2, -1), keepdims=True), root.real, np.nan).astype(x.dtype)


for _function in (expm_, logm_, sqrtm_):
    _function.rules(x=_by_blocks(_function))

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def expm(input: Any, name: str | None = None) -> Tensor:
    """The exponential of each matrix: the unit matrix + A + A² / 2 + A³ / 6 + ...

    >>> expm([[0.0, 1.0], [0.0, 0.0]]).numpy()
    array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    (x,) = matrices("expm", input)
    return apply(expm_, (x,))


def logm(input: Any, name: str | None = None) -> Tensor:
    """The principal logarithm of each complex matrix: what `expm` gives the matrix back for.

    >>> logm([[1.0 + 0j, 1.0], [0.0, 1.0]]).numpy().real.round(6) + 0.0
    array([[0., 1.],
           [0., 0.]])
    """
    (x,) = matrices("logm", input)
    if not x.dtype.is_complex:
        raise DTypeError(f"logm takes complex tensors, not {x.dtype.name}: use cast(x, 'complex64')")
    return apply(logm_, (x,))


def sqrtm(input: Any, name: str | None = None) -> Tensor:
    """The principal square root of each matrix: `root @ root = input`. nan where a real matrix has no real one.

    >>> sqrtm([[4.0, 0.0], [0.0, 9.0]]).numpy()
    array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    (x,) = matrices("sqrtm", input)
    return apply(sqrtm_, (x,))
