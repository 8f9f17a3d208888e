"""Calls of compiled functions in a pass: what of them must be the same in every pass, and which calls can be followed.

The program of a pass contains the functions that the pass calls: their Python code runs once more when it is made, as
it does when a function is traced for a gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core import nest
from ..core.tensor import Tensor

_PLAIN = frozenset((bool, int, float, str, bytes, type(None)))


class Given(NamedTuple):
    """The arguments of a call: the tensors, and what must be the same in every pass."""

    tensors: list[Any]
    others: Any  # positional and by name, with ... in the place of tensors
    exactly: list[Any]  # tells arguments apart that are equal, as 1, 1.0 and True are, or 0.0 and -0.0


def given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given | None:
    """The arguments of a call; None if one of them is neither a tensor, nor a plain value, nor a structure of them."""
    leaves = nest.flatten((args, kwargs))
    tensors = [leaf for leaf in leaves if type(leaf) is Tensor]
    if not _PLAIN.issuperset(type(leaf) for leaf in leaves if type(leaf) is not Tensor):
        return None
    others = nest.pack_sequence_as((args, kwargs), [... if type(x) is Tensor else x for x in leaves])
    return Given(tensors, others, [repr(x) if type(x) is float else type(x) for x in leaves])


def arguments_with(others: Any, tensors: list[Any]) -> Any:
    """The arguments of a call, from what must be the same and from tensors."""
    rest = iter(tensors)
    return nest.pack_sequence_as(others, [next(rest) if x is ... else x for x in nest.flatten(others)])


def reason_against(function: Any, program: Any) -> str | None:
    """Why a call of a function, which ran this program if any, cannot be followed; None if it can."""
    if program is None:
        return "a compiled function has run as Python"
    from ..compiled.jaxprs import calls_python  # whoever called the function has imported JAX

    graphs = [each.graph for each in (program.executable, *program.gradients.values()) if each is not None]
    if program.takes_variables or program.unshaped or function._has_open_lengths:
        return "a compiled function takes variables, or tensors of any length"
    if any(graph.random or calls_python(graph.code.jaxpr) for graph in graphs):
        return "a compiled function draws random numbers, or calls Python"
    captures = [reference() for reference in program._captures or ()]
    if any(tensor is not None and tensor._key for tensor in captures):
        return "a compiled function uses a tensor that a tape knows"
    return None
