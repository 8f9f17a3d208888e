"""Random programs: 5 to 40 operations over random shapes, the same in gradtape and in JAX.

A program is data: its inputs' shapes and a list of steps, so that hypothesis can shrink it and `listing` print it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One operation on earlier values, by their numbers."""

    name: str
    operands: tuple[int, ...]
    attributes: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Program:
    """Inputs `v0, v1, ...` of the given shapes, then one value for each step."""

    inputs: tuple[Shape, ...]
    steps: tuple[Step, ...]
    seed: int

    def values(self) -> list[np.ndarray]:
        rng = np.random.default_rng(self.seed)
        return [rng.uniform(-1.5, 1.5, shape) for shape in self.inputs]

    def run(self, library: str, module: Any, inputs: list[Any]) -> list[Any]:
        """All values, the inputs first."""
        values = list(inputs)
        for step in self.steps:
            function = getattr(OPERATIONS[step.name], library)
            values.append(function(module, *[values[i] for i in step.operands], *step.attributes))
        return values


def listing(program: Program) -> str:
    """The program as a person would read it."""
    lines = [f"# inputs: np.random.default_rng({program.seed}).uniform(-1.5, 1.5, shape) for each"]
    lines += [f"v{i} = input of shape {shape}" for i, shape in enumerate(program.inputs)]
    for i, step in enumerate(program.steps, len(program.inputs)):
        arguments = [f"v{j}" for j in step.operands] + [repr(a) for a in step.attributes]
        lines.append(f"v{i} = {step.name}({', '.join(arguments)})")
    return "\n".join(lines)


@dataclass(frozen=True)
class Operation:
    """How gradtape and JAX say it, and how to draw operands and attributes: None where it does not apply."""

    tape: Callable[..., Any]
    jax: Callable[..., Any]
    draw: Callable[[Callable[..., Any], list[Shape]], tuple[tuple[int, ...], tuple[Any, ...], Shape] | None]


# ---------------------------------------------------------------------------------------------------------------------
# Drawing operands


def one(draw: Any, shapes: list[Shape]) -> Any:
    """Any value; the result has its shape."""
    i = draw(st.integers(0, len(shapes) - 1))
    return (i,), (), shapes[i]


def two(draw: Any, shapes: list[Shape]) -> Any:
    """Two values that broadcast."""
    i = draw(st.integers(0, len(shapes) - 1))
    partners = [j for j, s in enumerate(shapes) if _broadcast(shapes[i], s) is not None]
    j = draw(st.sampled_from(partners))
    return (i, j), (), _broadcast(shapes[i], shapes[j])


def _broadcast(a: Shape, b: Shape) -> Shape | None:
    try:
        result = np.broadcast_shapes(a, b)
    except ValueError:
        return None
    return result if np.prod(result) <= 64 else None


def along_axes(draw: Any, shapes: list[Shape]) -> Any:
    """A value, some of its axes, and whether to keep them."""
    i = draw(st.integers(0, len(shapes) - 1))
    ndim = len(shapes[i])
    axes = tuple(sorted(draw(st.sets(st.integers(0, ndim - 1))))) if ndim else ()
    keep = draw(st.booleans())
    shape = tuple(1 if a in axes else n for a, n in enumerate(shapes[i]) if keep or a not in axes)
    return (i,), (axes, keep), shape


def along_one_axis(draw: Any, shapes: list[Shape]) -> Any:
    """A value of at least one axis, and one of them."""
    candidates = [i for i, s in enumerate(shapes) if s]
    if not candidates:
        return None
    i = draw(st.sampled_from(candidates))
    return (i,), (draw(st.integers(0, len(shapes[i]) - 1)),), shapes[i]


def reordered(draw: Any, shapes: list[Shape]) -> Any:
    i = draw(st.integers(0, len(shapes) - 1))
    order = tuple(draw(st.permutations(range(len(shapes[i])))))
    return (i,), (order,), tuple(shapes[i][a] for a in order)


def flattened(draw: Any, shapes: list[Shape]) -> Any:
    i = draw(st.integers(0, len(shapes) - 1))
    return (i,), ((int(np.prod(shapes[i], dtype=int)),),), (int(np.prod(shapes[i], dtype=int)),)


def new_axis(draw: Any, shapes: list[Shape]) -> Any:
    i = draw(st.sampled_from([i for i, s in enumerate(shapes) if len(s) < 3] or [0]))
    if len(shapes[i]) >= 3:
        return None
    axis = draw(st.integers(0, len(shapes[i])))
    return (i,), (axis,), (*shapes[i][:axis], 1, *shapes[i][axis:])


def joined(draw: Any, shapes: list[Shape]) -> Any:
    """Two values of one shape, and an axis of it."""
    found = along_one_axis(draw, shapes)
    if found is None:
        return None
    (i,), (axis,), shape = found
    j = draw(st.sampled_from([j for j, s in enumerate(shapes) if s == shape]))
    return (i, j), (axis,), tuple(n * 2 if a == axis else n for a, n in enumerate(shape))


def reversed_slice(draw: Any, shapes: list[Shape]) -> Any:
    """A slice with a step, forwards or backwards, along the first axis."""
    candidates = [i for i, s in enumerate(shapes) if s and s[0] > 0]
    if not candidates:
        return None
    i = draw(st.sampled_from(candidates))
    step = draw(st.sampled_from([1, 2, -1, -2]))
    length = len(range(shapes[i][0])[::step])
    return (i,), (step,), (length, *shapes[i][1:])


def gathered(draw: Any, shapes: list[Shape]) -> Any:
    found = along_one_axis(draw, shapes)
    if found is None:
        return None
    (i,), (axis,), shape = found
    indices = tuple(draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=3)))
    return (i,), (indices, axis), tuple(len(indices) if a == axis else n for a, n in enumerate(shape))


def matrices(draw: Any, shapes: list[Shape]) -> Any:
    """Two values whose last axes multiply."""
    pairs = [
        (i, j)
        for i, a in enumerate(shapes)
        for j, b in enumerate(shapes)
        if len(a) >= 2 and len(b) >= 2 and a[-1] == b[-2] and _broadcast(a[:-2], b[:-2]) is not None
    ]
    if not pairs:
        return None
    i, j = draw(st.sampled_from(pairs))
    batch = _broadcast(shapes[i][:-2], shapes[j][:-2])
    return (i, j), (), (*batch, shapes[i][-2], shapes[j][-1])  # type: ignore[misc]


def _padding(axis: int, ndim: int) -> list[tuple[int, int]]:
    return [(1, 2) if a == axis else (0, 0) for a in range(ndim)]


def padded(draw: Any, shapes: list[Shape]) -> Any:
    found = along_one_axis(draw, shapes)
    if found is None:
        return None
    operands, (axis,), shape = found
    return operands, (axis,), tuple(n + 3 if a == axis else n for a, n in enumerate(shape))


# ---------------------------------------------------------------------------------------------------------------------
# The operations. What could overflow or leave its domain is brought back into it on both sides.


def _logsumexp(jnp: Any, x: Any, axes: Any, keep: bool) -> Any:
    import jax.scipy.special

    return jax.scipy.special.logsumexp(x, axis=axes, keepdims=keep) if axes else x


def _softmax(jnp: Any, x: Any, axis: int) -> Any:
    import jax.nn

    return jax.nn.softmax(x, axis=axis)


OPERATIONS: dict[str, Operation] = {
    "tanh": Operation(lambda tf, x: tf.tanh(x), lambda jnp, x: jnp.tanh(x), one),
    "sin": Operation(lambda tf, x: tf.sin(x), lambda jnp, x: jnp.sin(x), one),
    "cos": Operation(lambda tf, x: tf.cos(x), lambda jnp, x: jnp.cos(x), one),
    "negative": Operation(lambda tf, x: -x, lambda jnp, x: -x, one),
    "square": Operation(lambda tf, x: tf.square(tf.sin(x)), lambda jnp, x: jnp.sin(x) ** 2, one),
    "cube": Operation(lambda tf, x: tf.tanh(x) ** 3, lambda jnp, x: jnp.tanh(x) ** 3, one),
    "exp": Operation(lambda tf, x: tf.exp(tf.sin(x)), lambda jnp, x: jnp.exp(jnp.sin(x)), one),
    "log": Operation(
        lambda tf, x: tf.math.log(tf.square(x) + 0.5), lambda jnp, x: jnp.log(jnp.square(x) + 0.5), one
    ),
    "sqrt": Operation(lambda tf, x: tf.sqrt(x * x + 0.3), lambda jnp, x: jnp.sqrt(x * x + 0.3), one),
    "sigmoid": Operation(lambda tf, x: tf.sigmoid(x), lambda jnp, x: 1 / (1 + jnp.exp(-x)), one),
    "softplus": Operation(
        lambda tf, x: tf.math.softplus(x), lambda jnp, x: jnp.logaddexp(x, jnp.zeros_like(x)), one
    ),
    "relu": Operation(lambda tf, x: tf.nn.relu(x), lambda jnp, x: jnp.maximum(x, 0), one),
    "abs": Operation(lambda tf, x: tf.abs(x), lambda jnp, x: jnp.abs(x), one),
    "clip": Operation(
        lambda tf, x: tf.clip_by_value(x, -0.7, 0.9), lambda jnp, x: jnp.clip(x, -0.7, 0.9), one
    ),
    "add": Operation(lambda tf, x, y: x + y, lambda jnp, x, y: x + y, two),
    "subtract": Operation(lambda tf, x, y: x - 2.0 * y, lambda jnp, x, y: x - 2.0 * y, two),
    "multiply": Operation(lambda tf, x, y: x * tf.tanh(y), lambda jnp, x, y: x * jnp.tanh(y), two),
    "divide": Operation(lambda tf, x, y: x / (y * y + 0.7), lambda jnp, x, y: x / (y * y + 0.7), two),
    "power": Operation(
        lambda tf, x, y: tf.pow(tf.square(tf.tanh(x)) + 0.2, tf.tanh(y)),
        lambda jnp, x, y: (jnp.tanh(x) ** 2 + 0.2) ** jnp.tanh(y),
        two,
    ),
    "where": Operation(
        lambda tf, x, y: tf.where(x > 0.1, x, tf.sin(y)),
        lambda jnp, x, y: jnp.where(x > 0.1, x, jnp.sin(y)),
        two,
    ),
    "reduce_sum": Operation(
        lambda tf, x, a, k: tf.reduce_sum(x, list(a), k),
        lambda jnp, x, a, k: jnp.sum(x, a, keepdims=k),
        along_axes,
    ),
    "reduce_mean": Operation(
        lambda tf, x, a, k: tf.reduce_mean(x, list(a), k),
        lambda jnp, x, a, k: jnp.mean(x, a, keepdims=k),
        along_axes,
    ),
    "reduce_logsumexp": Operation(
        lambda tf, x, a, k: tf.reduce_logsumexp(x, list(a), k) if a else x, _logsumexp, along_axes
    ),
    "reduce_variance": Operation(
        lambda tf, x, a, k: tf.math.reduce_variance(x, list(a), k),
        lambda jnp, x, a, k: jnp.var(x, a, keepdims=k),
        along_axes,
    ),
    "softmax": Operation(lambda tf, x, a: tf.nn.softmax(x, a), _softmax, along_one_axis),
    "cumsum": Operation(lambda tf, x, a: tf.cumsum(x, a), lambda jnp, x, a: jnp.cumsum(x, a), along_one_axis),
    "transpose": Operation(
        lambda tf, x, p: tf.transpose(x, p), lambda jnp, x, p: jnp.transpose(x, p), reordered
    ),
    "reshape": Operation(lambda tf, x, s: tf.reshape(x, s), lambda jnp, x, s: jnp.reshape(x, s), flattened),
    "expand_dims": Operation(
        lambda tf, x, a: tf.expand_dims(x, a), lambda jnp, x, a: jnp.expand_dims(x, a), new_axis
    ),
    "concat": Operation(
        lambda tf, x, y, a: tf.concat([x, y], a), lambda jnp, x, y, a: jnp.concatenate([x, y], a), joined
    ),
    "slice": Operation(lambda tf, x, s: x[::s], lambda jnp, x, s: x[::s], reversed_slice),
    "gather": Operation(
        lambda tf, x, i, a: tf.gather(x, list(i), axis=a),
        lambda jnp, x, i, a: jnp.take(x, jnp.array(i), a),
        gathered,
    ),
    "pad": Operation(
        lambda tf, x, a: tf.pad(x, _padding(a, x.ndim)),
        lambda jnp, x, a: jnp.pad(x, _padding(a, x.ndim)),
        padded,
    ),
    "matmul": Operation(lambda tf, x, y: tf.matmul(x, y), lambda jnp, x, y: jnp.matmul(x, y), matrices),
}


# Few shapes to start from: JAX compiles each operation anew for each shape, which is what most of the time goes to.
INPUTS: list[Shape] = [(), (3,), (2, 3), (3, 2), (1, 3), (2, 1), (2, 2, 3)]


@st.composite
def programs(draw: Any) -> Program:
    """A random program. Every step may use any earlier value of at most 64 elements."""
    inputs = tuple(draw(st.lists(st.sampled_from(INPUTS), min_size=1, max_size=3)))
    shapes: list[Shape] = list(inputs)
    steps: list[Step] = []
    for _ in range(draw(st.integers(5, 40))):
        name = draw(st.sampled_from(sorted(OPERATIONS)))
        drawn = OPERATIONS[name].draw(draw, shapes)
        if drawn is None or np.prod(drawn[2]) > 64 or len(drawn[2]) > 4:
            continue
        steps.append(Step(name, drawn[0], drawn[1]))
        shapes.append(drawn[2])
    return Program(inputs, tuple(steps), draw(st.integers(0, 2**32 - 1)))
