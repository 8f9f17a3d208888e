"""Tensors of random numbers, given a function that reserves a place (key and counter) in a sequence of random bits.

The `stateful` operations, the `stateless` ones and generators are made of these. They take the name of the operation,
for errors, and its `reserve`. Gradients flow to the parameters of normal, uniform and gamma distributions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.dtypes import DType
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, apply2, primitive
from ...core.slicing import gather_
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ...engine.arrays import is_traced, xp
from ...engine.host import call
from ..array.movement import identity
from ..known import afford, static_number, static_shape
from ..math.elementwise import add, divide, maximum, multiply, subtract
from ..math.special import gamma_density, igamma_by_shape
from . import philox

Place = tuple[Any, Any]  # key and counter: see philox
Reserve = Callable[[int], Place]  # from the number of numbers to draw to the place of the first


def sizes(name: str, shape: ShapeLike) -> tuple[int, ...]:
    """The shape of random numbers to draw, as a tuple.

    Raises:
        InvalidArgumentError: if a length is negative.
        ResourceExhaustedError: if there is no memory for so many numbers.
    """
    wanted = static_shape(name, shape)
    if min(wanted, default=0) < 0:
        raise InvalidArgumentError(f"{name}: a shape has no negative lengths, as in {list(wanted)}")
    afford(name, wanted, 24)
    return wanted


def _numbers(name: str, what: str, value: Any) -> Any:
    """A parameter, of any real dtype, as an array of float64."""
    x = convert(value)
    if not (x.dtype.is_floating or x.dtype.is_integer):
        raise DTypeError(f"{name}: {what} must be numbers, not {x.dtype.name}")
    return x._array.astype(np.float64)


# ---------------------------------------------------------------------------------------------------------------------
# Normal, uniform


def normal(
    name: str, reserve: Reserve, shape: ShapeLike, mean: TensorLike, stddev: TensorLike, dtype: DTypeLike
) -> Tensor:
    """Normally distributed numbers."""
    return _located(philox.normal, name, reserve, shape, mean, stddev, dtype)


def truncated_normal(
    name: str, reserve: Reserve, shape: ShapeLike, mean: TensorLike, stddev: TensorLike, dtype: DTypeLike
) -> Tensor:
    """Normally distributed numbers within two deviations of the mean."""
    return _located(philox.truncated_normal, name, reserve, shape, mean, stddev, dtype)


def _located(
    draw: Callable[..., Any], name: str, reserve: Reserve, shape: Any, mean: Any, stddev: Any, dtype: Any
) -> Tensor:
    """Numbers that `draw` gives for mean 0 and deviation 1, scaled and shifted."""
    kind = dtypes.floating(name, dtype)
    size = sizes(name, shape)
    count = math.prod(size)
    centre, spread = _parameter(0, mean, kind), _parameter(1, stddev, kind)
    return _scaled(wrap(draw(*reserve(count), count, kind).reshape(size)), centre, spread)


def _scaled(drawn: Tensor, shift: Tensor | None, scale: Tensor | None) -> Tensor:
    """drawn * scale + shift; None for either is a no-op."""
    if scale is not None:
        drawn = apply2(multiply, drawn, scale)
    return drawn if shift is None else apply2(add, drawn, shift)


def _parameter(neutral: int, value: Any, kind: Any) -> Tensor | None:
    """A parameter as a tensor; None for a constant that equals the neutral number."""
    if type(value) in (int, float) and value == neutral:
        return None
    x = convert(value, kind)
    array = x._array
    constant = not x._key and array.ndim == 0 and not is_traced(array)
    return None if constant and array.item() == neutral else x


def uniform_dtype(name: str, dtype: DTypeLike) -> DType:
    """The dtype of uniform numbers.

    Raises:
        DTypeError: unless it is floating, or an integer of 32 or 64 bits.
    """
    kind = dtypes.as_dtype(dtype)
    if not kind.is_floating and kind.name not in ("int32", "int64", "uint32", "uint64"):
        raise DTypeError(f"{name}: dtype must be floating or an integer of 32 or 64 bits, not {kind.name}")
    return kind


def uniform(
    name: str,
    reserve: Reserve,
    shape: ShapeLike,
    minval: TensorLike | None,
    maxval: TensorLike | None,
    kind: DType,
) -> Tensor:
    """Numbers in [minval, maxval), of a floating dtype or integers; integers of the whole range if both are None."""
    size = sizes(name, shape)
    count = math.prod(size)
    if kind.is_integer:
        return wrap(_integers(name, reserve, count, minval, maxval, kind).reshape(size))
    low = _parameter(0, 0 if minval is None else minval, kind.numpy_dtype)
    high = 1 if maxval is None else maxval
    if low is None:
        span = _parameter(1, high, kind.numpy_dtype)
    else:
        span = _parameter(1, apply2(subtract, convert(high, kind.numpy_dtype), low), kind.numpy_dtype)
    return _scaled(wrap(philox.uniform(*reserve(count), count, kind.numpy_dtype).reshape(size)), low, span)


def _integers(name: str, reserve: Reserve, count: int, minval: Any, maxval: Any, kind: Any) -> Any:
    if (minval is None) != (maxval is None):
        raise ValueError(
            f"{name}: integers need minval and maxval, or None for both: the whole range of the dtype"
        )
    if minval is None:
        return philox.integers(*reserve(count), count, kind.numpy_dtype)
    if kind.is_unsigned:
        raise DTypeError(
            f"{name}: {kind.name} is drawn from its whole range only: minval=None and maxval=None"
        )
    low, high = (convert(v, kind.numpy_dtype)._array for v in (minval, maxval))
    if low.ndim or high.ndim:
        raise InvalidArgumentError(f"{name}: for integers minval and maxval must be scalars")
    if not is_traced(low) and not is_traced(high) and low >= high:
        raise InvalidArgumentError(f"{name}: minval must be below maxval, not {low} and {high}")
    return philox.integers_between(*reserve(count), count, low, high, kind.numpy_dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Gamma, Poisson, binomial: NumPy draws them


def _draw_by_numpy(draw: Callable[..., Any], place: Place, shape: tuple[int, ...], *parameters: Any) -> Any:
    """The result of `draw(generator, *parameters)` in float64; if anything is traced, drawn when the program runs."""
    key, counter = place

    def drawn(key: Any, counter: Any, *parameters: Any) -> Any:
        if not isinstance(counter, int):
            counter = int(counter[0]) | int(counter[1]) << 64
        return draw(np.random.Generator(np.random.Philox(key=int(key), counter=counter)), *parameters)

    if not any(map(is_traced, (key, *parameters))):
        return drawn(key, counter, *parameters)
    if isinstance(key, int):
        key, counter = np.uint64(key), np.array([counter & philox.MASK64, counter >> 64], np.uint64)
    kinds = [(shape, np.dtype(np.float64))]
    return call(lambda *values: [drawn(*values)], kinds, [key, counter, *parameters])[0]


def _broadcast_shape(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise InvalidArgumentError(
            f"{name}: the parameters' shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast"
        ) from None


def _checked_shape(name: str, shape: tuple[int, ...], parameters: tuple[int, ...]) -> tuple[int, ...]:
    """`shape`, which the parameters must broadcast to."""
    if _broadcast_shape(name, shape, parameters) != shape:
        raise InvalidArgumentError(
            f"{name}: parameters of shape {list(parameters)} do not broadcast to the shape {list(shape)}"
        )
    return shape


@primitive(elementwise=True)
def gamma_sample(alpha, drawn):
    """Numbers `drawn` from the gamma distribution of shape `alpha`, as a function of `alpha`.

    Implicit reparameterization (Figurnov et al., 2018): the value of the distribution function, P(alpha, x), is fixed,
    so dx/dalpha = -(dP/dalpha) / (dP/dx).
    """
    return xp(drawn).broadcast_to(drawn, np.broadcast_shapes(alpha.shape, drawn.shape))


gamma_sample.rules(alpha=lambda g, alpha, out: -g * igamma_by_shape(alpha, out) / gamma_density(alpha, out))


def gamma(
    name: str,
    reserve: Reserve,
    shape: tuple[int, ...],
    alpha: TensorLike,
    beta: TensorLike | None,
    dtype: DTypeLike,
    *,
    prepend: bool,
) -> Tensor:
    """Samples of gamma distributions. `shape` is the result's or, with `prepend`, goes in front of the parameters'."""
    kind = dtypes.floating(name, dtype)
    a, b = convert(alpha, kind), convert(1 if beta is None else beta, kind)
    parameters = _broadcast_shape(name, a._array.shape, b._array.shape)
    size = shape + parameters if prepend else _checked_shape(name, shape, parameters)

    def draw(generator: Any, shapes: Any) -> Any:
        samples = generator.standard_gamma(np.maximum(shapes, 0), size)
        return np.where(shapes >= 0, samples, np.nan)

    drawn = _draw_by_numpy(draw, reserve(math.prod(size)), size, a._array.astype(np.float64))
    tiny = _tiny(kind)
    sample = apply(gamma_sample, (a, apply(maximum, (wrap(drawn.astype(kind)), tiny))))
    if _parameter(1, b, kind) is not None:
        sample = apply(divide, (sample, b))
    return apply(maximum, (sample, tiny))


def _tiny(kind: Any) -> Any:
    """The smallest normal number, which stands for samples that underflow."""
    import ml_dtypes

    return np.asarray(ml_dtypes.finfo(kind).tiny, kind)


def poisson(
    name: str, reserve: Reserve, shape: tuple[int, ...], lam: TensorLike, dtype: DTypeLike, *, prepend: bool
) -> Tensor:
    """Samples of Poisson distributions; `shape` as for `gamma`."""
    kind = dtypes.as_dtype(dtype)
    if not kind.is_floating and kind.name not in ("int32", "int64"):
        raise DTypeError(f"{name}: dtype must be floating, int32 or int64, not {kind.name}")
    rates = _numbers(name, "lam", lam)
    size = shape + rates.shape if prepend else _checked_shape(name, shape, rates.shape)
    if not is_traced(rates) and not (np.isfinite(rates) & (rates < 1e18)).all():
        raise InvalidArgumentError(f"{name}: a rate in lam is too large or not finite")

    def draw(generator: Any, rates: Any) -> Any:
        return generator.poisson(np.maximum(rates, 0), size)

    return wrap(_draw_by_numpy(draw, reserve(math.prod(size)), size, rates).astype(kind.numpy_dtype))


def binomial(
    name: str,
    reserve: Reserve,
    shape: tuple[int, ...],
    counts: TensorLike,
    probs: TensorLike,
    dtype: DTypeLike,
) -> Tensor:
    """Samples of binomial distributions."""
    kind = dtypes.as_dtype(dtype)
    trials, chances = _numbers(name, "counts", counts), _numbers(name, "probs", probs)
    _checked_shape(name, shape, _broadcast_shape(name, trials.shape, chances.shape))
    valid = ((trials >= 0) & (trials < 1 << 62)).all() & ((chances >= 0) & (chances <= 1)).all()
    if not is_traced(valid) and not valid:
        raise InvalidArgumentError(f"{name}: counts must be at least 0, and probs lie in [0, 1]")

    def draw(generator: Any, trials: Any, chances: Any) -> Any:
        return generator.binomial(trials.astype(np.int64), chances, shape)

    return wrap(
        _draw_by_numpy(draw, reserve(math.prod(shape)), shape, trials, chances).astype(kind.numpy_dtype)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Choosing


def categorical(
    name: str, reserve: Reserve, logits: TensorLike, num_samples: TensorLike, dtype: DTypeLike | None
) -> Tensor:
    """Classes drawn by the probabilities of each row of logits."""
    kind = dtypes.as_dtype("int64" if dtype is None else dtype)
    if kind.name not in ("int32", "int64"):
        raise DTypeError(f"{name}: dtype must be int32 or int64, not {kind.name}")
    rows = convert(logits)
    if not rows.dtype.is_floating:
        raise DTypeError(f"{name}: logits must be floating, not {rows.dtype.name}")
    count = static_number(f"{name}: num_samples", num_samples)
    shape = rows._array.shape
    if len(shape) != 2 or not shape[1]:
        raise InvalidArgumentError(
            f"{name}: logits must be of shape [batch, classes] with at least one class, not {list(shape)}"
        )
    if count < 0:
        raise InvalidArgumentError(f"{name}: num_samples must be at least 0, not {count}")
    sizes(name, (*shape, count))
    reserved = shape[0] * (-(-count // 4) * 4) * 2
    return wrap(philox.categories(*reserve(reserved), rows._array, count).astype(kind.numpy_dtype))


def shuffle(place: Callable[[int], Place], value: TensorLike) -> Tensor:
    """The slices along the first axis in random order. `place` reserves blocks, not numbers."""
    x = convert(value)
    count = x._array.shape[0] if x.ndim and x._array.size else 0
    start = place(-(-max(count - 1, 0) // philox.WORDS))
    if count < 2:
        return identity(x)
    order = wrap(philox.permutation(*start, count))
    return apply(gather_, (x, order), {"axis": -x.ndim})
