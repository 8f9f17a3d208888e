"""What `gradient` and its kin are given and give: targets and what the sweep starts from, sources, and results."""

from __future__ import annotations

import enum
import functools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ..engine.arrays import as_array, is_traced, xp
from . import dtypes, nest
from .composite import CompositeTensor
from .errors import InvalidArgumentError
from .indexed_slices import IndexedSlices
from .primitive import local
from .stand_in import original
from .structural import broadcast_to_, concat_, conj, reshape_
from .sweep import add
from .tensor import Tensor, key_of, wrap
from .tensor_conversion import convert
from .variable import Variable

# A training loop may do at each step what calls for a warning: each is logged once in a process.
warn_once = functools.cache(logging.getLogger("gradtape").warning)


class UnconnectedGradients(enum.Enum):
    """The gradient of a source that the target does not depend on: None, or zeros.

    >>> import gradtape as tf
    >>> x, y = tf.Variable(1.0), tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     z = x * x
    >>> tape.gradient(z, y, unconnected_gradients=tf.UnconnectedGradients.ZERO).numpy()
    np.float32(0.0)
    """

    NONE = "none"
    ZERO = "zero"

    @classmethod
    def of(cls, value: Any) -> UnconnectedGradients:
        """The choice for a member or its value, 'none' or 'zero'."""
        if isinstance(value, cls) or (isinstance(value, str) and value in ("none", "zero")):
            return cls(value)
        raise ValueError(f"unconnected_gradients must be UnconnectedGradients.NONE or ZERO, not {value!r}")


def value_of(thing: Any) -> Any:
    """The array of a tensor or variable, without an event for the listeners."""
    return thing._array


def original_of(thing: Any) -> Any:
    """What stands behind a stand-in; of a sparse or ragged tensor, the values."""
    return thing._gradient_tensor() if isinstance(thing, CompositeTensor) else original(thing)


def source_of(given: Any, method: str) -> Tensor | Variable:
    source = original_of(given)
    if type(source) is not Tensor and not isinstance(source, Variable):
        raise TypeError(
            f"{method}: a source must be a Tensor or a Variable, not {given!r} of type {type(given).__name__}. "
            "Make it one before the block, with constant(...) or Variable(...), and use that in the block"
        )
    return source


def target_of(given: Any) -> Tensor | Variable:
    target = original_of(given)
    if type(target) is not Tensor and not isinstance(target, Variable):
        raise TypeError(
            f"gradient: the target must be made of Tensors or Variables, not {given!r} of type "
            f"{type(given).__name__}. A value that left through .numpy(), float() or NumPy is no longer connected "
            "to the tape"
        )
    return target


def one_target(target: Any, method: str) -> Tensor | Variable | IndexedSlices:
    if isinstance(target, (list, tuple, dict)):
        raise TypeError(
            f"{method}: the target must be one tensor, not a {type(target).__name__}: ask for each by itself"
        )
    return target if type(target) is IndexedSlices else target_of(target)


def rows_of(target: Any) -> tuple[Any, tuple[int, ...], Callable[[Any], Any]]:
    """What the tape knows of a target, the shape of the target, and the seeds of the former from those of the latter.

    The tape knows the rows of slices, each of which is added to one row of the whole.
    """
    if type(target) is not IndexedSlices:
        return target, value_of(target).shape, lambda seeds: seeds
    if target.dense_shape is None:
        raise ValueError("these IndexedSlices have no dense_shape, so they have no Jacobian")
    indices = value_of(target.indices)
    return target.values, tuple(target.shape), lambda seeds: xp(seeds, indices).take(seeds, indices, axis=1)


def seeds_of(targets: list[Any], output_gradients: Any) -> dict[int, Any]:
    """The gradient of each target by its key, from which the sweep starts."""
    weights: list[Any] = [None] * len(targets)
    if output_gradients is not None:
        weights = nest.flatten(output_gradients)
        if len(weights) != len(targets):
            raise ValueError(
                f"gradient: output_gradients must have one weight for each target: there are {len(targets)} targets "
                f"and {len(weights)} weights"
            )
    seeds: dict[int, Any] = {}
    for target, weight in zip(targets, weights):
        array = target._array
        if not dtypes.is_differentiable(array):
            warn_once(
                "the dtype of a target must be floating, not %s: its gradient is None", target.dtype.name
            )
            continue
        seed = _ones(array) if weight is None else _weight(weight, array)
        key = target._key or key_of(target)
        seeds[key] = add(seeds[key], seed) if key in seeds else seed
    return seeds


_ONES: dict[Any, Any] = {}


def _ones(array: Any) -> Any:
    """Ones of an array's shape, as a view of a single one: no memory, however large."""
    dtype = array.dtype
    if type(array) is not ndarray:
        return xp(array).ones(array.shape, dtype)  # a constant would be part of the compiled program
    one = _ONES.get(dtype)
    if one is None:
        one = _ONES[dtype] = np.ones((), dtype)
    return one if array.ndim == 0 else ndarray(array.shape, dtype, one, 0, (0,) * array.ndim)


def _weight(weight: Any, array: Any) -> Any:
    tensor = convert(original_of(weight), None, array.dtype)
    given = tensor._array
    if given.dtype != array.dtype:
        raise InvalidArgumentError(
            f"gradient: an output gradient has dtype {tensor.dtype.name}, its target {array.dtype.name}: cast it"
        )
    if given.shape != array.shape and given.ndim:
        raise InvalidArgumentError(
            f"gradient: an output gradient has shape {list(given.shape)}, its target {list(array.shape)}: "
            "they must agree"
        )
    if given.shape != array.shape:
        tensor = broadcast_to_(tensor, shape=array.shape)
    if local.here.tapes:
        return conjugated(tensor)
    return conjugated(tensor._array)


def finished(g: Any, source: Any, unconnected: UnconnectedGradients) -> Any:
    if isinstance(g, np.floating):  # NumPy's scalar for an array without axes
        return wrap(np.asarray(g))
    if g is None:
        if unconnected is UnconnectedGradients.NONE:
            return None
        array = value_of(source)
        return wrap(xp(array).zeros(array.shape, array.dtype))
    if type(g) is IndexedSlices:
        return g.map_values(lambda values: as_tensor(conjugated(values)))
    return as_tensor(conjugated(g))


def arranged(
    stack: Any, source: Any, target_shape: tuple[int, ...], unconnected: UnconnectedGradients
) -> Any:
    array = value_of(source)
    if stack is None:
        if unconnected is UnconnectedGradients.NONE:
            return None
        return wrap(xp(array).zeros(target_shape + array.shape, array.dtype))
    return as_tensor(conjugated(reshape_(stack, shape=target_shape + array.shape)))


def row_pieces(size: int, at_once: int | None) -> list[tuple[int, int]]:
    """The rows of a Jacobian in pieces that are swept at once: the start and the number of rows of each."""
    if at_once is not None and (not isinstance(at_once, int) or at_once < 1):
        raise ValueError(f"parallel_iterations must be an integer of at least 1, not {at_once!r}")
    step = size if at_once is None else at_once
    return [(start, min(step, size - start)) for start in range(0, size, step or 1)] or [(0, 0)]


def unit_rows(array: Any, start: Any, count: int, size: int) -> Any:
    """The rows of the unit matrix from `start` on, which may be traced, in an array's dtype."""
    if not is_traced(start):
        return xp(array).eye(count, size, start, array.dtype)
    rows = start + np.arange(count)[:, None]
    return (rows == np.arange(size)).astype(array.dtype)


def as_tensor(value: Any) -> Tensor:
    if type(value) is Tensor:
        return value
    return wrap(value if type(value) is ndarray else as_array(value))


def dense(g: Any) -> Any:
    return g.dense() if type(g) is IndexedSlices else g


def joined(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else concat_(*values, axis=0)


def conjugated(value: Any) -> Any:
    """Rules are plain transposes; TensorFlow's gradient of a complex function is the conjugate of that."""
    array = value._array if type(value) is Tensor else value
    return conj(value) if array.dtype.kind == "c" else value
