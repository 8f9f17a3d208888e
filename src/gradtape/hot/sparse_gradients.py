"""IndexedSlices in a pass: an event has their rows and indices as two tensors, and knows the shape of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.indexed_slices import IndexedSlices

# Of each gradient: the shape of the whole if it is IndexedSlices, else None.
Slices = tuple[tuple[int, ...] | None, ...]


def divided(gradients: Iterable[Any]) -> tuple[list[Any], Slices]:
    """The gradients, with rows and indices in the place of IndexedSlices; and of each what it was."""
    parts: list[Any] = []
    slices: list[tuple[int, ...] | None] = []
    for gradient in gradients:
        if type(gradient) is IndexedSlices and gradient._dense_shape is not None:
            parts += [gradient._values, gradient._indices]
            slices.append(gradient._dense_shape)
        else:
            parts.append(gradient)
            slices.append(None)
    return parts, tuple(slices)


def joined(parts: Iterable[Any], slices: Slices) -> list[Any]:
    """The gradients that were divided so."""
    rest = iter(parts)
    return [next(rest) if shape is None else IndexedSlices(next(rest), next(rest), shape) for shape in slices]
