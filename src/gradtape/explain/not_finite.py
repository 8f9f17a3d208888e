"""Steps that make a NaN or an infinity of finite values: how to see one, describe its inputs, and what helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.indexed_slices import IndexedSlices
from ..core.tensor import Tensor
from ..ops.math.numerics import not_finite
from .origins import name_of


def bad(value: Any) -> str:
    """Return "NaN" or "Inf" for an array or gradient that is not finite, else ""."""
    if value is None:
        return ""
    if type(value) is tuple:
        return next(filter(None, [bad(part) for part in value]), "")
    array = _array(value)
    return not_finite(array) if isinstance(array, (np.ndarray, np.generic)) else ""


def _array(g: Any) -> Any:
    if type(g) is tuple:
        return next(part for part in g if part is not None)
    return g.values._array if type(g) is IndexedSlices else g


def tensors_in(kept: Any) -> Iterator[Tensor]:
    """The tensors that a record keeps."""
    for value in kept:
        if type(value) is Tensor:
            yield value
        elif type(value) is tuple:
            yield from tensors_in(value)


@dataclass(frozen=True)
class BackwardStep:
    """A step of a sweep that made a NaN or infinity of a finite gradient."""

    key: int
    operation: str
    kind: str
    inputs: str
    hint: str
    untaken: bool  # the gradient that came was 0 where it happened
    time: int = 0


def backward_step(key: Any, plan: Any, kept: Any, g: Any, parts: Any) -> BackwardStep | None:
    """The step that took the finite gradient `g` to `parts`, if one of these is not finite."""
    kind = next(filter(None, [bad(part) for part in parts]), "")
    if not kind or bad(g):
        return None
    name = name_of(plan)
    part = next(p for p in parts if bad(p))
    held = [t._array for t in tensors_in(kept)]
    shown = ", ".join([f"gradient {describe(_array(g))}", *[describe(x) for x in held]])
    first = key[0] if type(key) is tuple else key
    return BackwardStep(first, name, kind, shown, _BACKWARD.get(name, ""), _came_with_zero(g, part))


def _came_with_zero(g: Any, part: Any) -> bool:
    """Return whether the gradient that came is 0 wherever `part` is not finite."""
    arriving, leaving = np.asarray(_array(g)), np.asarray(_array(part))
    if arriving.shape != leaving.shape:
        return False
    return bool((arriving[~np.isfinite(leaving)] == 0).all())


def describe(array: Any) -> str:
    """A small summary of an array: its values if they are few, else their range."""
    array = np.asarray(array)
    kind = f"{array.dtype}{list(array.shape)}"
    if array.size <= 6 or array.dtype.kind not in "fc":
        return f"{kind} {np.array2string(array, threshold=6, edgeitems=2, precision=4)}".replace("\n", "")
    flat = array.ravel()
    finite = flat[np.isfinite(flat)]
    parts = []
    if finite.size and array.dtype.kind == "f":
        parts.append(f"{finite.min():.4g} to {finite.max():.4g}")
    parts += [
        f"{count} {what}"
        for what, count in (
            ("zero", int((flat == 0).sum())),
            ("nan", int(np.isnan(flat).sum())),
            ("inf", int(np.isinf(flat).sum())),
        )
        if count
    ]
    return f"{kind} {', '.join(parts)}"


def forward_cure(name: str, inputs: list[Any]) -> str:
    """What helps where a finite input gives something that is not."""
    for condition, cure in _FORWARD.get(name, ()):
        if condition(*inputs[:1]) if name not in ("divide", "power") else condition(*inputs):
            return cure
    return ""


_DIVISION = "a division by 0: use tf.math.divide_no_nan(x, y), or add a small number to the divisor"
_FORWARD: dict[str, list[tuple[Any, str]]] = {
    "log": [
        (
            lambda x: (x == 0).any(),
            "log(0) is -inf: use tf.math.log(tf.maximum(x, 1e-12)), or a loss that takes logits, such as "
            "tf.nn.softmax_cross_entropy_with_logits",
        ),
        (lambda x: True, "the logarithm of a negative number is nan: make sure that x > 0"),
    ],
    "log1p": [(lambda x: True, "log1p(x) needs x > -1")],
    "sqrt": [(lambda x: True, "the root of a negative number is nan: use tf.sqrt(tf.maximum(x, 0.0))")],
    "rsqrt": [(lambda x: True, "rsqrt(0) is inf: add a small number, as in tf.math.rsqrt(x + 1e-12)")],
    "reciprocal": [(lambda x: True, _DIVISION)],
    "divide": [(lambda *xs: len(xs) < 2 or (xs[-1] == 0).any(), _DIVISION)],
    "exp": [
        (
            lambda x: True,
            "exp overflows (in float32 above 88.7): subtract the maximum first, or use tf.nn.softmax, "
            "tf.nn.softplus or tf.reduce_logsumexp",
        )
    ],
    "power": [
        (
            lambda *xs: (xs[0] < 0).any(),
            "a negative number to a broken power is nan: use tf.abs(x), or tf.maximum(x, 0.0)",
        ),
        (lambda *xs: (xs[0] == 0).any(), "0 to a negative power is inf: add a small number to the base"),
    ],
    "asin": [(lambda x: True, "asin needs -1 <= x <= 1: use tf.clip_by_value(x, -1.0, 1.0)")],
    "acos": [(lambda x: True, "acos needs -1 <= x <= 1: use tf.clip_by_value(x, -1.0, 1.0)")],
    "atanh": [(lambda x: True, "atanh needs -1 < x < 1: use tf.clip_by_value")],
}
_BACKWARD = {
    "sqrt": "the derivative of sqrt at 0 is infinite: use tf.sqrt(tf.maximum(x, 1e-12)), or for a length tf.norm, "
    "whose gradient at 0 is 0",
    "rsqrt": "the derivative of rsqrt at 0 is infinite: add a small number, as in tf.math.rsqrt(x + 1e-12)",
    "log": "the derivative of log at 0 is infinite: use tf.math.log(tf.maximum(x, 1e-12)), or a loss that takes logits",
    "divide": _DIVISION,
    "reciprocal": _DIVISION,
    "power": "the derivative of x ** p at 0 is infinite for p < 1: add a small number to the base",
    "asin": "the derivative of asin at -1 and 1 is infinite: keep its input inside, with tf.clip_by_value",
    "acos": "the derivative of acos at -1 and 1 is infinite: keep its input inside, with tf.clip_by_value",
    "atan2": "atan2(0, 0) has no derivative: keep one of the two from 0",
    "exp": "exp overflows: subtract the maximum first, or use tf.nn.softmax or tf.reduce_logsumexp",
}
