"""Matrix products, tensor contractions and norms."""

from __future__ import annotations

from string import ascii_letters
from typing import Any

import numpy as np

from ..engine import xp
from ..errors import DTypeError, InvalidArgumentError
from ..primitive import apply, apply2, numbers, primitive
from ..tensor import Tensor, convert
from .array import broadcast_to, broadcast_to_, reshape, reshape_, squeeze, static_shape, together, transpose
from .elementwise import abs_, conj, install, power
from .reduction import axes, one_axis, reduce_euclidean_norm, reduce_max, reduce_sum, unbroadcast


@primitive(linear=True)
def swap_last(x):
    return x.swapaxes(-1, -2)


swap_last.rules(x=lambda g: swap_last(g))


@primitive(multilinear=True, settle=numbers, name="matmul")
def matmul_(x, y):
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-2]:
        raise InvalidArgumentError(
            f"matmul: {list(x.shape)} and {list(y.shape)} do not multiply: both need at least two axes, and the "
            "last of the first must be as long as the last but one of the second"
        )
    return x @ y


matmul_.rules(
    x=lambda g, y, x_shape, out_shape: unbroadcast(
        matmul_(g, swap_last(y)), x_shape, out_shape[:-2] + x_shape[-2:]
    ),
    y=lambda g, x, y_shape, out_shape: unbroadcast(
        matmul_(swap_last(x), g), y_shape, out_shape[:-2] + y_shape[-2:]
    ),
)


@primitive(multilinear=True, settle=numbers, name="einsum")
def einsum_(*xs, inputs, output):
    """`inputs` holds the subscripts of each operand, `output` those of the result; extra axes in front are '...'."""
    equation = ",".join("..." + s for s in inputs) + "->..." + output
    return xp(xs[0]).einsum(equation, *xs, optimize=len(xs) > 1)


def _einsum_rule(
    g: Any, position: int, xs: tuple[Any, ...], xs_shapes: Any, inputs: tuple[str, ...], output: str
) -> Any:
    """d/dx_i of sum(g * einsum(x...)) is the einsum of g with the other operands, to x_i's own subscripts."""
    own = inputs[position]
    others = tuple(s for i, s in enumerate(inputs) if i != position)
    sizes = dict(zip(own, xs_shapes[position], strict=True))
    reach = set(output).union(*others)
    letters = "".join(dict.fromkeys(own))  # each once, in order
    wanted = "".join(c for c in letters if c in reach)
    rest = [x for i, x in enumerate(xs) if i != position]
    part = einsum_(g, *rest, inputs=(output, *others), output=wanted)
    if (
        wanted != letters
    ):  # a subscript summed within this operand alone: every element along it counts the same
        front = tuple(part.shape)[: part.ndim - len(wanted)]
        part = reshape_(part, shape=front + tuple([sizes[c] if c in reach else 1 for c in letters]))
        part = broadcast_to_(part, shape=front + tuple([sizes[c] for c in letters]))
    return part if letters == own else _on_diagonal(part, own, letters, sizes)


def _on_diagonal(part: Any, own: str, letters: str, sizes: dict[str, int]) -> Any:
    """A repeated subscript reads a diagonal, so its gradient lies on the diagonal: a product with unit matrices."""
    dtype = part._array.dtype if type(part) is Tensor else part.dtype
    fresh = iter(sorted(set(ascii_letters) - set(own)))
    final, operands, subscripts = "", [part], [letters]
    for c in own:
        if c in final:
            other = next(fresh)
            operands.append(np.eye(sizes[c], dtype=dtype))
            subscripts.append(c + other)
            c = other
        final += c
    return einsum_(*operands, inputs=tuple(subscripts), output=final)


einsum_.rules(xs=_einsum_rule)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix product over the last two axes; the axes in front are a batch, and broadcast.

    `transpose_a`, `adjoint_a` and the like transpose (and conjugate) a factor first.

    >>> matmul([[1.0, 2.0]], [[3.0], [4.0]]).numpy()
    array([[11.]], dtype=float32)
    """
    plain = not (transpose_a or transpose_b or adjoint_a or adjoint_b)
    if plain and getattr(a, "ndim", 0) == 2 == getattr(b, "ndim", 0):
        return apply2(matmul_, a, b)
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("matmul: only one of transpose and adjoint can be asked for the same factor")
    if type(a) is not Tensor or type(b) is not Tensor:
        a, b = together("matmul", [a, b])
    if transpose_a or adjoint_a:
        a = _flipped(a, adjoint_a)
    if transpose_b or adjoint_b:
        b = _flipped(b, adjoint_b)
    if a._array.ndim > 2 and b._array.ndim == 2 and a._array.shape[-1] == b._array.shape[0]:
        # One large product instead of a batch of small ones, and no sum over the batch in the gradient of b.
        rows = reshape(a, (-1, a._array.shape[-1])) if a._array.size else None
        if rows is not None:
            return reshape(apply(matmul_, (rows, b)), (*a._array.shape[:-1], b._array.shape[-1]))
    return apply(matmul_, (a, b))


def _flipped(x: Tensor, adjoint: bool) -> Tensor:
    if x._array.ndim < 2:
        raise InvalidArgumentError(
            f"matmul: a tensor of shape {list(x._array.shape)} is no matrix to transpose"
        )
    x = apply(swap_last, (x,))
    return apply(conj, (x,)) if adjoint and x.dtype.is_complex else x


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over `axes`: the last n of `a` with the first n of `b`, or the axes listed for each.

    >>> float(tensordot([1.0, 2.0], [3.0, 4.0], 1))
    11.0
    """
    x, y = together("tensordot", [a, b])
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise InvalidArgumentError(
                f"tensordot: axes={axes} does not fit the shapes {x.shape} and {y.shape}"
            )
        over_x, over_y = list(range(x.ndim - int(axes), x.ndim)), list(range(int(axes)))
    else:
        first, second = axes
        over_x = [one_axis("tensordot", i, x.ndim) + x.ndim for i in static_shape("tensordot", first)]
        over_y = [one_axis("tensordot", i, y.ndim) + y.ndim for i in static_shape("tensordot", second)]
    sx, sy = x._array.shape, y._array.shape
    if [sx[i] for i in over_x] != [sy[i] for i in over_y]:
        raise InvalidArgumentError(
            f"tensordot: the axes {over_x} of {list(sx)} and {over_y} of {list(sy)} have different lengths"
        )
    free_x = [i for i in range(len(sx)) if i not in over_x]
    free_y = [i for i in range(len(sy)) if i not in over_y]
    inner = int(np.prod([sx[i] for i in over_x], dtype=int))
    rows, columns = ([s[i] for i in free] for s, free in ((sx, free_x), (sy, free_y)))
    left = reshape(transpose(x, free_x + over_x), (int(np.prod(rows, dtype=int)), inner))
    right = reshape(transpose(y, over_y + free_y), (inner, int(np.prod(columns, dtype=int))))
    return reshape(apply(matmul_, (left, right)), (*rows, *columns))


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Einstein's sum: `einsum("ij,jk->ik", a, b)` is the matrix product. `...` stands for axes that broadcast.

    >>> einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    xs = together("einsum", list(inputs[0] if len(inputs) == 1 and isinstance(inputs[0], list) else inputs))
    subscripts, output = _parse(equation, [x._array.shape for x in xs])
    sizes: dict[str, int] = {}
    for s, x in zip(subscripts, xs, strict=True):
        for c, n in zip(s, x._array.shape, strict=True):
            if sizes.setdefault(c, n) != n and 1 not in (n, sizes[c]):
                raise InvalidArgumentError(
                    f"einsum: {equation!r} gives the subscript {c!r} the lengths {sizes[c]} and {n}"
                )
            sizes[c] = max(sizes[c], n) if 1 in (n, sizes[c]) else n
    spread_out = [_without_ones(x, s, sizes) for x, s in zip(xs, subscripts, strict=True)]
    return apply(einsum_, tuple(spread_out), {"inputs": tuple(subscripts), "output": output})


def _without_ones(x: Tensor, subscripts: str, sizes: dict[str, int]) -> Tensor:
    """Axes of length 1 that meet longer ones under the same subscript, broadcast."""
    shape = tuple([sizes[c] for c in subscripts])
    return x if x._array.shape == shape else broadcast_to(x, shape)


def _parse(equation: str, shapes: list[tuple[int, ...]]) -> tuple[list[str], str]:
    """The subscripts of each operand and of the output, with '...' written out in capital letters of its own."""
    text = equation.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(shapes):
        raise ValueError(f"einsum: {equation!r} has {len(inputs)} operands, {len(shapes)} were given")
    if not set(text) <= set(ascii_letters + ",->."):
        raise ValueError(f"einsum: {equation!r} may hold letters, ',', '->' and '...' only")
    free = [c for c in reversed(ascii_letters) if c not in text]
    widths = [len(shape) - len(s.replace("...", "")) for s, shape in zip(inputs, shapes, strict=True)]
    for s, width, shape in zip(inputs, widths, shapes, strict=True):
        if width < 0 or ("..." not in s and width):
            raise InvalidArgumentError(f"einsum: the subscripts {s!r} do not fit the shape {list(shape)}")
    most = max([w for s, w in zip(inputs, widths, strict=True) if "..." in s], default=0)
    dots = "".join(free[:most])
    inputs = [s.replace("...", dots[most - w :]) for s, w in zip(inputs, widths, strict=True)]
    if not arrow:
        joined = "".join(inputs)
        output = dots + "".join(sorted(c for c in set(joined) if joined.count(c) == 1 and c not in dots))
    else:
        output = output.replace("...", dots)
    if len(set(output)) != len(output) or not set(output) <= set("".join(inputs)):
        raise ValueError(
            f"einsum: the output of {equation!r} must hold each subscript once, and only ones of its inputs"
        )
    return inputs, output


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The norm over `axis` (all axes by default). `ord`: 'euclidean' (also 'fro', 2), 1, np.inf or any positive number.

    The gradient at 0 is 0.

    >>> float(norm([3.0, 4.0]))
    5.0
    """
    x: Any = convert(tensor)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise DTypeError(f"norm takes floating tensors, not {x.dtype.name}: use cast(x, 'float32')")
    keep = bool(keepdims)
    over = axes("norm", axis, x.ndim)
    if ord in ("euclidean", "fro") or (ord == 2 and not (isinstance(axis, (list, tuple)) and len(axis) == 2)):
        return reduce_euclidean_norm(x, over, keep)
    size = apply(abs_, (x,))
    if isinstance(axis, (list, tuple)) and len(axis) == 2:
        if ord in (1, np.inf):
            rows, columns = (one_axis("norm", a, x.ndim) for a in axis)
            summed, across = (rows, columns) if ord == 1 else (columns, rows)
            result = reduce_max(reduce_sum(size, summed, True), across, True)
            return result if keep else squeeze(result, list(over))
        raise ValueError(f"norm: ord={ord!r} of matrices is not one of 'euclidean', 'fro', 1, np.inf")
    if ord == np.inf:
        return reduce_max(size, over, keep)
    if ord == 1:
        return reduce_sum(size, over, keep)
    if isinstance(ord, str) or not ord > 0:
        raise ValueError(f"norm: ord must be 'euclidean', 'fro', np.inf or a positive number, not {ord!r}")
    return apply(power, (reduce_sum(apply(power, (size, float(ord))), over, keep), 1.0 / ord))


install(
    {
        "__matmul__": lambda self, other: matmul(self, other),
        "__rmatmul__": lambda self, other: matmul(other, self),
    }
)
