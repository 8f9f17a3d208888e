"""A sample, and its derivatives three ways: by gradtape, by JAX, and by differences of values.

Everything is flat and real: the inputs that move are one vector, the outputs another, and a complex number counts as
two real ones. TensorFlow's gradient of a complex function is then the plain gradient, its two parts put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any
from zlib import crc32

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf

# ---------------------------------------------------------------------------------------------------------------------
# Samples


@dataclass(frozen=True, eq=False)
class Sample:
    """A function of tensors at a point, and the same function of JAX's arrays.

    `moving` are the positions of the inputs to differentiate by. `rounds` says that the function rounds to float32, so
    that neither differences nor exact comparisons make sense; `fixed_dtype` that it takes these dtypes only; and
    `differences=False` that its value does not follow its inputs as its derivatives say.
    """

    label: str
    function: Callable[..., Any]
    reference: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    moving: tuple[int, ...]
    rounds: bool = False
    fixed_dtype: bool = False
    differences: bool = True

    def __repr__(self) -> str:
        return self.label

    def call(self, tensors: Sequence[Any]) -> list[Any]:
        return listed(self.function(*tensors))

    @cached_property
    def point(self) -> np.ndarray:
        return flat(self.inputs[i] for i in self.moving)

    def tensors(self, z: Any = None, dtypes: Any = None) -> tuple[list[Any], list[Any]]:
        """All inputs as tensors, and those among them that move, at the point `z`."""
        arrays = list(self.inputs)
        if z is not None:
            for i, array in zip(self.moving, unflat(z, [arrays[i] for i in self.moving]), strict=True):
                arrays[i] = array
        tensors = [
            tf.constant(a if dtypes is None else a.astype(dtypes.get(a.dtype, a.dtype))) for a in arrays
        ]
        return tensors, [tensors[i] for i in self.moving]

    @cached_property
    def outputs(self) -> list[Any]:
        return self.call(self.tensors()[0])

    def random(self, what: str, size: int) -> np.ndarray:
        """A random vector, the same on every run: `what` it is for and the label are its seed."""
        return np.random.default_rng(crc32(f"{self.label} {what}".encode())).normal(size=size)

    @cached_property
    def weights(self) -> np.ndarray:
        """A weight for every output."""
        return self.random("weights", len(flat(self.outputs)))

    @cached_property
    def direction(self) -> np.ndarray:
        """A direction to move in."""
        return self.random("direction", len(self.point))


def listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def flat(arrays: Iterable[Any], xp: Any = np) -> Any:
    """The real and imaginary parts of all arrays in one vector."""
    parts = []
    for a in arrays:
        array = dense(a) if xp is np else a
        parts += [array.real, array.imag] if xp.iscomplexobj(array) else [array]
    return xp.concatenate([xp.ravel(p) for p in parts]) if parts else np.zeros(0)


def unflat(z: Any, like: Iterable[Any]) -> list[Any]:
    """The arrays that `flat` made `z` of: as many, of the shapes and dtypes of `like`."""
    arrays = []
    for x in like:
        count, dtype = size(x), np.dtype(x.dtype.name)
        part, z = z[:count], z[count:]
        if dtype.kind == "c":
            part, z = part + 1j * z[:count], z[count:]
        arrays.append(part.reshape(tuple(x.shape)).astype(dtype))
    return arrays


def size(x: Any) -> int:
    return int(np.prod(x.shape, dtype=int))


def dense(thing: Any) -> np.ndarray:
    """The array of a tensor, or of the rows of a sparse gradient; None, which is no gradient, fails here."""
    assert thing is not None, "not connected: the gradient is None"
    return np.asarray(tf.convert_to_tensor(thing))


# ---------------------------------------------------------------------------------------------------------------------
# By gradtape


def gradient(sample: Sample, z: Any = None, only: int | None = None) -> np.ndarray:
    """The gradient of the weighted outputs, by all moving inputs or by `only` one."""
    tensors, moving = sample.tensors(z)
    sources = moving if only is None else [moving[only]]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        outputs = sample.call(tensors)
    return flat(tape.gradient(outputs, sources, unflat(sample.weights, outputs)))


def pushed(sample: Sample) -> np.ndarray:
    """The derivative of the outputs along the direction, by forward mode."""
    tensors, moving = sample.tensors()
    with tf.autodiff.ForwardAccumulator(moving, _as_tensors(sample.direction, moving)) as forward:
        outputs = sample.call(tensors)
    return flat(forward.jvp(outputs))


def jacobian(sample: Sample, at_once: bool = True) -> np.ndarray:
    """One row for each output (for its real part, if it is complex), one column for each number that moves."""
    tensors, moving = sample.tensors()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(moving)
        outputs = sample.call(tensors)
    blocks = [tape.jacobian(out, moving, experimental_use_pfor=at_once) for out in outputs]
    for out, block in zip(outputs, blocks, strict=True):
        assert [tuple(j.shape) for j in block] == [tuple(out.shape) + tuple(x.shape) for x in moving]
    return np.concatenate([_rows(block, out) for out, block in zip(outputs, blocks, strict=True)])


def _rows(block: list[Any], out: Any) -> np.ndarray:
    columns = []
    for j in block:
        matrix = dense(j).reshape(size(out), int(np.prod(j.shape[len(out.shape) :], dtype=int)))
        columns += [matrix.real, matrix.imag] if np.iscomplexobj(matrix) else [matrix]
    return np.concatenate(columns, axis=1)


def real_rows(outputs: Iterable[Any]) -> list[int]:
    """Which elements of the flat outputs are no imaginary parts."""
    rows, start = [], 0
    for out in outputs:
        rows += range(start, start + size(out))
        start += size(out) * (2 if out.dtype.is_complex else 1)
    return rows


def reverse_over_reverse(sample: Sample) -> np.ndarray:
    """The Hessian of the weighted outputs times the direction: the gradient of the gradient along it."""
    tensors, moving = sample.tensors()
    with tf.GradientTape() as outer:
        outer.watch(moving)
        with tf.GradientTape() as inner:
            inner.watch(moving)
            outputs = sample.call(tensors)
        first = inner.gradient(outputs, moving, unflat(sample.weights, outputs))
        first = [tf.convert_to_tensor(g) for g in first]
    return flat(outer.gradient(first, moving, _as_tensors(sample.direction, moving), "zero"))


def forward_over_reverse(sample: Sample) -> np.ndarray:
    """The same, as the derivative of the gradient along the direction."""
    tensors, moving = sample.tensors()
    with tf.autodiff.ForwardAccumulator(moving, _as_tensors(sample.direction, moving)) as forward:
        with tf.GradientTape() as tape:
            tape.watch(moving)
            outputs = sample.call(tensors)
        first = tape.gradient(outputs, moving, unflat(sample.weights, outputs))
        first = [tf.convert_to_tensor(g) for g in first]
    return flat(forward.jvp(first, "zero"))


def reverse_over_forward(sample: Sample) -> np.ndarray:
    """The same, as the gradient of the derivative along the direction."""
    tensors, moving = sample.tensors()
    with tf.GradientTape() as tape:
        tape.watch(moving)
        with tf.autodiff.ForwardAccumulator(moving, _as_tensors(sample.direction, moving)) as forward:
            outputs = sample.call(tensors)
        along = forward.jvp(outputs)
    return flat(tape.gradient(along, moving, unflat(sample.weights, outputs), "zero"))


def bent_forward(sample: Sample) -> np.ndarray:
    """The second derivative of the outputs along the direction, forward mode in forward mode."""
    tensors, moving = sample.tensors()
    with tf.autodiff.ForwardAccumulator(moving, _as_tensors(sample.direction, moving)) as outer:
        with tf.autodiff.ForwardAccumulator(moving, _as_tensors(sample.direction, moving)) as inner:
            outputs = sample.call(tensors)
        along = inner.jvp(outputs)
    return flat(outer.jvp(along, "zero"))


def bent_jacobian(sample: Sample, weights: np.ndarray, at_once: bool) -> np.ndarray:
    """The gradient of the weighted Jacobian: the rules, recorded with extra axes in front."""
    tensors, moving = sample.tensors()
    with tf.GradientTape() as outer:
        outer.watch(moving)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch(moving)
            outputs = sample.call(tensors)
        blocks = [inner.jacobian(out, moving, experimental_use_pfor=at_once) for out in outputs]
    seeds, start = [], 0
    for out, block in zip(outputs, blocks, strict=True):
        seeds.append(_weights_of(weights[start : start + size(out)], block, out))
        start += size(out)
    return flat(outer.gradient(blocks, moving, seeds, "zero"))


def _weights_of(rows: np.ndarray, block: list[Any], out: Any) -> list[np.ndarray]:
    """Rows of weights as arrays of the shapes of one output's Jacobians."""
    parts, start = [], 0
    for j in block:
        width = int(np.prod(j.shape[len(out.shape) :], dtype=int))
        part, start = rows[:, start : start + width], start + width
        if j.dtype.is_complex:
            part, start = part + 1j * rows[:, start : start + width], start + width
        parts.append(part.reshape(tuple(j.shape)))
    return parts


def _as_tensors(z: np.ndarray, like: list[Any]) -> list[Any]:
    return [tf.constant(a) for a in unflat(z, like)]


# ---------------------------------------------------------------------------------------------------------------------
# By JAX


@dataclass(frozen=True)
class Truth:
    """What JAX computes in float64 at a sample's point: the outputs, all first and all second derivatives."""

    outputs: list[Any]
    jacobian: np.ndarray  # (outputs, moving)
    hessian: np.ndarray  # (outputs, moving, moving)


# Small programs that run once: most of what XLA does to make them fast costs more than it saves (5 times as much).
_QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}


@cache
def truths(samples: tuple[Sample, ...]) -> list[Truth]:
    """The truth about each of the samples, all compiled as one program."""
    with jax.enable_x64(True):
        shapes = [_shapes(sample) for sample in samples]
        programs = [_program(sample, like) for sample, like in zip(samples, shapes, strict=True)]
        points = [sample.point for sample in samples]
        computed = run_once(lambda points: [f(z) for f, z in zip(programs, points, strict=True)], points)
    return [Truth(outputs, j, h) for outputs, j, h in computed]


def run_once(program: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of JAX's arrays gives, compiled, as NumPy's."""
    lowered = jax.jit(program).lower(*arguments)
    try:
        compiled = lowered.compile(_QUICK)
    except jax.errors.JaxRuntimeError:  # a JAX that does not know these options
        compiled = lowered.compile()
    return jax.device_get(compiled(*arguments))


def _shapes(sample: Sample) -> list[Any]:
    return listed(jax.eval_shape(lambda: sample.reference(*sample.inputs)))


def _program(sample: Sample, like: list[Any]) -> Callable[[Any], Any]:
    moving = [sample.inputs[i] for i in sample.moving]

    def outputs(z: Any) -> list[Any]:
        inputs = [jnp.asarray(a) for a in sample.inputs]
        for i, array in zip(sample.moving, unflat(z, moving), strict=True):
            inputs[i] = array
        return listed(sample.reference(*inputs))

    def first(z: Any) -> Any:
        y, pull = jax.vjp(lambda z: flat(outputs(z), jnp), z)
        j = jax.vmap(pull)(jnp.eye(len(y), dtype=y.dtype))[0]
        return j, (unflat(y, like), j)

    def all_of_it(z: Any) -> Any:
        n, m = len(z), sum(size(x) * (2 if x.dtype.kind == "c" else 1) for x in like)
        if n == 0 or m == 0:
            return outputs(z), np.zeros((m, n)), np.zeros((m, n, n))
        hessian, (out, j) = jax.jacfwd(first, has_aux=True)(z)
        return out, j, hessian

    return all_of_it


# ---------------------------------------------------------------------------------------------------------------------
# By differences


def differences(
    function: Callable[[np.ndarray], np.ndarray], z: np.ndarray, step: float = 1e-3
) -> np.ndarray:
    """The derivative of a vector function, one column for each element of `z`: central differences over four points."""
    columns = []
    for unit in np.eye(len(z)) * step:
        near, far = (function(z + k * unit) - function(z - k * unit) for k in (1, 2))
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=1) if columns else np.zeros((len(function(z)), 0))
