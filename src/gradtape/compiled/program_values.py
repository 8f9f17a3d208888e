"""Values that programs for all lengths take and give, as tensors: sparse and ragged ones are several.

`sampled_function` and `saved_model` call this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.composite import CompositeSpec, ProgramPart
from ..core.spec import TensorSpec


def parts_of(number: int, leaf: Any) -> list[ProgramPart]:
    """The tensors that a program has for a leaf; those that count elements of leaf `number` say so by one name."""
    if isinstance(leaf, TensorSpec):
        return [ProgramPart(leaf)]
    if not isinstance(leaf, CompositeSpec):
        return []
    return [
        part if part.counts is None else part._replace(counts=f"{part.counts}{number}")
        for part in leaf._program_parts()
    ]


def program_specs(leaves: Sequence[Any]) -> list[TensorSpec]:
    """The specs of the tensors that a program has for leaves of a structure; values have none."""
    return [part.spec for leaf in leaves for part in parts_of(0, leaf)]


def from_program(leaves: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """The leaves of a structure, with the tensors of a program in place of specs; other leaves as they are."""
    rest = iter(tensors)
    made = []
    for leaf in leaves:
        parts = [next(rest) for _ in parts_of(0, leaf)]
        if isinstance(leaf, CompositeSpec):
            made.append(leaf._from_program(parts))
        else:
            made.append(parts[0] if parts else leaf)
    return made
