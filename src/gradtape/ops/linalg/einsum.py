"""Sums of products over named axes: `einsum` and `tensordot`.

Two tensors meet in one matrix product wherever they share a subscript that is summed; NumPy's own einsum loops over the
elements where a batch is involved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from ...core.dtypes import HALF
from ...core.errors import InvalidArgumentError
from ...core.primitive import apply, apply1, apply2, numbers, primitive, rounded
from ...core.structural import broadcast_to_, reshape_
from ...core.tensor import Tensor
from ...core.types import TensorLike
from ...engine.arrays import xp
from ..array.movement import reshape, static_shape, together, transpose
from ..known import known
from ..math.reduction import one_axis
from .matrix import array_of
from .products import matmul_


@primitive(
    wide="rules",
    multilinear=True,
    check_dtype=numbers,
    name="einsum",
    words="A sum of products: each factor gets the gradient summed against the other factors.",
)
def einsum_(*xs, inputs, output):
    """`inputs` holds the subscripts of each operand, a letter an axis, `output` those of the result."""
    if xs[0].dtype.char in HALF:
        return rounded(einsum_.forward, *xs, inputs=inputs, output=output)
    if xp(*xs) is not np:
        return xp(*xs).einsum(",".join(inputs) + "->" + output, *xs)
    if len(xs) == 2:
        return _of_two(xs[0], xs[1], inputs[0], inputs[1], output)
    if len(xs) == 1:
        return np.einsum(f"{inputs[0]}->{output}", xs[0])
    operands, subscripts = list(xs), list(inputs)
    for i, j, kept in _order(inputs, output, tuple([x.shape for x in xs])):
        y, x = operands.pop(j), operands.pop(i)
        t, s = subscripts.pop(j), subscripts.pop(i)
        operands.append(_of_two(x, y, s, t, kept))
        subscripts.append(kept)
    return operands[0]


@functools.lru_cache(maxsize=1000)
def _order(
    inputs: tuple[str, ...], output: str, shapes: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, int, str], ...]:
    """The two operands to contract at each step (i < j), and the subscripts of their product, which is put last."""
    stand_ins = [np.broadcast_to(np.float32(0), shape) for shape in shapes]
    path, _ = np.einsum_path(",".join(inputs) + "->" + output, *stand_ins, optimize="greedy")
    left = list(inputs)
    steps = []
    for pair in path[1:]:
        while len(pair) > 1:  # a step over more than two operands: two at a time
            i, j = sorted(pair)[-2:]
            t, s = left.pop(j), left.pop(i)
            wanted = set(output).union(*left)
            kept = output if not left else "".join(c for c in dict.fromkeys(s + t) if c in wanted)
            left.append(kept)
            steps.append((i, j, kept))
            pair = (*sorted(pair)[:-2], len(left) - 1)
    return tuple(steps)


def _of_two(x: Any, y: Any, s: str, t: str, output: str) -> Any:
    """The sum of products of two arrays, as one (batched) matrix product where anything is to be summed."""
    plan = _matrix_plan(s, t, output)
    if plan is None:
        return np.einsum(f"{s},{t}->{output}", x, y)
    (x_sum, y_sum, x_order, y_order, counts, out_order) = plan
    x = np.einsum(x_sum, x) if x_sum else x
    y = np.einsum(y_sum, y) if y_sum else y
    x = x if x_order is None else x.transpose(x_order)
    y = y if y_order is None else y.transpose(y_order)
    if counts is None:
        product = matmul_.forward(_blasable(x), _blasable(y))
    else:
        batch, rows, inner = counts
        front, left = x.shape[:batch], x.shape[batch : batch + rows]
        right = y.shape[batch + inner :]
        k = math.prod(y.shape[batch : batch + inner])
        x, y = x.reshape(*front, math.prod(left), k), y.reshape(*front, k, math.prod(right))
        product = matmul_.forward(_blasable(x), _blasable(y)).reshape(front + left + right)
    return product if out_order is None else product.transpose(out_order)


def _blasable(x: Any) -> Any:
    """The array with one of the last two axes contiguous, as BLAS needs it: NumPy's own loop is ten times slower."""
    return x if x.itemsize in x.strides[-2:] else np.ascontiguousarray(x)


@functools.lru_cache(maxsize=1000)
def _matrix_plan(s: str, t: str, output: str) -> Any:
    """The steps that make matrices (batch, rows, inner) and (batch, inner, columns) of two operands, and the result.

    A step that is a no-op is None: an order, and the numbers of axes where rows, inner and columns have one each. None
    in place of all steps if no subscript of both is summed, or none is left of either: there is no matrix product.
    """
    x_sum = _alone(s, t, output)
    y_sum = _alone(t, s, output)
    s = x_sum.partition("->")[2] if x_sum else s
    t = y_sum.partition("->")[2] if y_sum else t
    batch = [c for c in output if c in s and c in t]
    inner = [c for c in s if c in t and c not in output]
    rows = [c for c in output if c in s and c not in t]
    columns = [c for c in output if c in t and c not in s]
    if not inner or not (rows or columns):
        return None
    matrices = len(rows) == len(inner) == len(columns) == 1
    return (
        x_sum,
        y_sum,
        _order_of(batch + rows + inner, s),
        _order_of(batch + inner + columns, t),
        None if matrices else (len(batch), len(rows), len(inner)),
        _order_of(output, batch + rows + columns),
    )


def _order_of(wanted: Sequence[str], given: Sequence[str]) -> tuple[int, ...] | None:
    """The permutation that brings axes into the wanted order; None if they are in it."""
    return None if list(wanted) == list(given) else tuple([given.index(c) for c in wanted])


def _alone(s: str, t: str, output: str) -> str:
    """The first step on an operand alone: the diagonal of repeated subscripts, the sum over those nothing else has."""
    kept = "".join(c for c in dict.fromkeys(s) if c in t or c in output)
    return "" if kept == s else f"{s}->{kept}"


def _einsum_rule(
    g: Any, position: int, xs: tuple[Any, ...], xs_shapes: Any, inputs: tuple[str, ...], output: str
) -> Any:
    """d/dx_i of sum(g * einsum(x...)) is the einsum of g with the other operands, to x_i's own subscripts."""
    subscripts, wanted, letters, own = _rule_plan(position, inputs, output, g.ndim - len(output))
    rest = [x for i, x in enumerate(xs) if i != position]
    part = einsum_(g, *rest, inputs=subscripts, output=wanted)
    if wanted == own:
        return part
    front = own[: len(own) - len(inputs[position])]
    sizes = dict(zip(inputs[position], xs_shapes[position], strict=True)) | dict(zip(front, g.shape))
    if wanted != letters:  # a subscript summed within this operand alone: its elements have the same gradient
        part = reshape_(part, shape=tuple([sizes[c] if c in wanted else 1 for c in letters]))
        part = broadcast_to_(part, shape=tuple([sizes[c] for c in letters]))
    return part if letters == own else _on_diagonal(part, own, letters, sizes)


@functools.lru_cache(maxsize=1000)
def _rule_plan(
    position: int, inputs: tuple[str, ...], output: str, extra: int
) -> tuple[tuple[str, ...], str, str, str]:
    """The subscripts of a rule, for `extra` axes in front of g, which have letters of their own.

    Those of g and the other operands; those that their einsum keeps; the same with those that only this operand has,
    each once; and its own.
    """
    own = inputs[position]
    others = [s for i, s in enumerate(inputs) if i != position]
    used = set(output).union(*inputs)
    front = "".join([c for c in ascii_letters if c not in used][:extra])
    reach = set(output).union(front, *others)
    letters = front + "".join(dict.fromkeys(own))  # each once, in order
    return (front + output, *others), "".join(c for c in letters if c in reach), letters, front + own


def _on_diagonal(part: Any, own: str, letters: str, sizes: dict[str, int]) -> Any:
    """A repeated subscript reads a diagonal, so its gradient lies on the diagonal: a product with unit matrices."""
    fresh = iter(sorted(set(ascii_letters) - set(own)))
    final, operands, subscripts = "", [part], [letters]
    for c in own:
        if c in final:
            other = next(fresh)
            operands.append(np.eye(sizes[c], dtype=array_of(part).dtype))
            subscripts.append(c + other)
            c = other
        final += c
    return einsum_(*operands, inputs=tuple(subscripts), output=final)


einsum_.rules(xs=_einsum_rule)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def tensordot(
    a: TensorLike, b: TensorLike, axes: int | Sequence[Any] | Tensor | np.ndarray, name: str | None = None
) -> Tensor:
    """The sum of products over some axes of both tensors.

    Args:
        a: The first tensor.
        b: The second tensor, of the same dtype.
        axes: A number n for the last n axes of `a` with the first n of `b`; or two lists, the axes of each.

    Raises:
        InvalidArgumentError: If the tensors have no such axes, or they differ in number or length.

    >>> float(tensordot([1.0, 2.0], [3.0, 4.0], 1))
    11.0
    """
    x, y = together("tensordot", [a, b])
    sx, sy = x._array.shape, y._array.shape
    over_x, over_y = _summed_axes(axes, len(sx), len(sy))
    if [sx[i] for i in over_x] != [sy[i] for i in over_y]:
        raise InvalidArgumentError(
            f"tensordot: the axes {over_x} of {list(sx)} and {over_y} of {list(sy)} have different lengths"
        )
    free_x = [i for i in range(len(sx)) if i not in over_x]
    free_y = [i for i in range(len(sy)) if i not in over_y]
    inner = math.prod([sx[i] for i in over_x])
    rows, columns = [sx[i] for i in free_x], [sy[i] for i in free_y]
    left = _arranged(x, free_x + over_x, (math.prod(rows), inner))
    right = _arranged(y, over_y + free_y, (inner, math.prod(columns)))
    return _arranged(apply2(matmul_, left, right), [0, 1], (*rows, *columns))


def _arranged(x: Tensor, order: list[int], shape: tuple[int, ...]) -> Tensor:
    """Transpose and reshape a tensor, each only where needed."""
    if order != list(range(len(order))) or len(order) != x._array.ndim:
        x = transpose(x, order)
    return x if x._array.shape == shape else apply1(reshape_, x, {"shape": shape})


def _summed_axes(axes: Any, x_rank: int, y_rank: int) -> tuple[list[int], list[int]]:
    """The axes of both tensors that `tensordot` sums over, in pairs."""
    if isinstance(axes, (Tensor, np.ndarray)):
        axes = np.asarray(known("tensordot", "axes", getattr(axes, "_array", axes))).tolist()
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= min(x_rank, y_rank):
            raise InvalidArgumentError(
                f"tensordot: axes={axes} does not fit tensors of rank {x_rank} and {y_rank}: "
                f"give 0 to {min(x_rank, y_rank)}, or the axes of each"
            )
        return list(range(x_rank - int(axes), x_rank)), list(range(int(axes)))
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        raise InvalidArgumentError(
            f"tensordot: axes must be a number, or the axes of both tensors, not {axes!r}"
        )
    over_x, over_y = (
        [one_axis("tensordot", i, rank) + rank for i in static_shape("tensordot", given)]
        for given, rank in zip(axes, (x_rank, y_rank), strict=True)
    )
    if len(over_x) != len(over_y):
        raise InvalidArgumentError(
            f"tensordot: as many axes of one tensor as of the other are summed over, not {over_x} and {over_y}"
        )
    return over_x, over_y


def einsum(equation: str, *inputs: TensorLike, **kwargs: Any) -> Tensor:
    """Einstein's sum: `einsum("ij,jk->ik", a, b)` is the matrix product.

    Args:
        equation: A letter for each axis of each input, and those of the result; `...` stands for axes that broadcast.
            Without `->`, the result has the letters that occur once, in alphabetical order.
        *inputs: The tensors.
        **kwargs: `optimize` and `name`, which change nothing.

    Raises:
        ValueError: If the equation cannot be read, or names another number of inputs.
        InvalidArgumentError: If the inputs do not fit it.

    >>> einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    unknown = kwargs and kwargs.keys() - {"optimize", "name"}
    if unknown:
        raise TypeError(f"einsum has no argument {', '.join(sorted(unknown))}: it takes optimize and name")
    if not isinstance(equation, str):
        raise TypeError(f"einsum: the equation comes first, as in 'ij,jk->ik', not {equation!r}")
    xs = together("einsum", list(inputs))
    numbers(einsum_, [xs[0]._array], None)
    subscripts, output, shapes = _fitted(equation, tuple([x._array.shape for x in xs]))
    if shapes is not None:
        xs = [x if x._array.shape == s else reshape(x, s) for x, s in zip(xs, shapes, strict=True)]
    return apply(einsum_, tuple(xs), {"inputs": subscripts, "output": output})


@functools.lru_cache(maxsize=1000)
def _fitted(
    equation: str, shapes: tuple[tuple[int, ...], ...]
) -> tuple[tuple[str, ...], str, list[tuple[int, ...]] | None]:
    """The subscripts of each operand and of the output; and the shapes to reshape to, where there is a '...'.

    An axis of length 1 under '...' that another operand has is left out, and so contracted in the gradient.
    """
    subscripts, output, dots = _parse(equation, tuple([len(shape) for shape in shapes]))
    sizes: dict[str, int] = {}
    for s, shape in zip(subscripts, shapes, strict=True):
        for c, n in zip(s, shape, strict=True):
            if sizes.setdefault(c, n) != n:
                if c not in dots or 1 not in (n, sizes[c]):
                    what = "axes under '...'" if c in dots else f"axes named {c!r}"
                    raise InvalidArgumentError(
                        f"einsum: {equation!r} with {what} of lengths {sizes[c]} and {n}"
                    )
                sizes[c] = n if sizes[c] == 1 else sizes[c]
    if not dots:
        return subscripts, output, None
    kept = tuple(
        "".join([c for c, n in zip(s, shape, strict=True) if n == sizes[c]])
        for s, shape in zip(subscripts, shapes, strict=True)
    )
    return kept, output, [tuple([sizes[c] for c in s]) for s in kept]


def _parse(equation: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str, str]:
    """The subscripts of each operand and of the output, with letters for '...', and these letters."""
    text = equation.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise ValueError(f"einsum: {equation!r} has {len(inputs)} operands, {len(ranks)} were given")
    if not set(left + output) <= set(ascii_letters + ",.") or "," in output:
        raise ValueError(f"einsum: {equation!r} may hold letters, ',', '->' and '...' only")
    for s in (*inputs, output):
        if "." in s.replace("...", "", 1):
            raise ValueError(f"einsum: {s!r} in {equation!r} may hold '...' once, and no other dots")
    free = [c for c in reversed(ascii_letters) if c not in text]
    widths = [rank - len(s.replace("...", "")) for s, rank in zip(inputs, ranks, strict=True)]
    for s, width, rank in zip(inputs, widths, ranks, strict=True):
        if width < 0 or ("..." not in s and width):
            raise InvalidArgumentError(f"einsum: the subscripts {s!r} do not fit a tensor of rank {rank}")
    most = max([w for s, w in zip(inputs, widths, strict=True) if "..." in s], default=0)
    dots = "".join(free[:most])
    inputs = [s.replace("...", dots[most - w :]) for s, w in zip(inputs, widths, strict=True)]
    if not arrow:
        joined = "".join(inputs)
        output = dots + "".join(sorted(c for c in set(joined) if joined.count(c) == 1 and c not in dots))
    elif dots and "..." not in output:
        raise InvalidArgumentError(
            f"einsum: '...' stands for {most} axes of the inputs, so the output of {equation!r} must hold it too"
        )
    output = output.replace("...", dots)
    if len(set(output)) != len(output) or not set(output) <= set("".join(inputs)):
        raise ValueError(
            f"einsum: the output of {equation!r} must hold each subscript once, and only ones of its inputs"
        )
    return tuple(inputs), output, dots
