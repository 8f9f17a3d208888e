"""Plans: what a tape keeps of an operation, and how it pulls a gradient back.

A plan belongs to one primitive and one choice of its inputs. Its functions are generated from the parameters of the
primitive's rules when it is first needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine.arrays import xp
from .dtypes import HALF
from .primitive import Primitive, recast
from .structural import unbroadcast
from .tensor import Tensor


def plan_for(primitive: Primitive, code: int) -> Plan | None:
    """The plan for recording an operation; None if no rule applies.

    Bit 0 of `code` says that the inputs broadcast, bit i + 1 that input i is watched; one more bit ends them.
    """
    if code not in primitive.plans:
        count = code.bit_length() - 2
        watched = tuple(i for i in range(count) if code >> i + 1 & 1 and primitive.rule_of(i) is not None)
        broadcast = bool(code & 1)
        parts = _Parts(primitive, watched, broadcast)
        primitive.plans[code] = Plan(primitive, watched, parts) if watched else None
    return primitive.plans[code]


class Plan:
    """For one primitive and one choice of watched inputs: what to keep, and how to pull back.

    `record(plan, key, inputs, attributes, out)` gives the tape's record: the key of the output, the plan, the keys of
    the watched inputs, and what the rules named. `arrays(g, kept)` and `tensors(g, kept)` give the gradients of those
    inputs, computed on arrays or, so that the gradient is recorded in turn, on tensors.

    The three are generated: reading rules' parameters while recording would cost more than recording does.
    """

    __slots__ = ("_only", "_parts", "arrays", "primitive", "record", "tensors", "watched")

    def __init__(self, primitive: Primitive, watched: tuple[int, ...], parts: _Parts) -> None:
        self.primitive = primitive
        self.watched = watched  # positions of the inputs that get a gradient
        self._parts = parts
        self._only: dict[tuple[int, ...], Plan] = {}
        self.record = parts.record
        self.arrays = parts.puller(watched, arrays=True)
        self.tensors = parts.puller(watched, arrays=False)

    def keep(self, inputs: tuple[Tensor, ...], attributes: Any, out: Any) -> tuple[Any, ...]:
        """The values that the rules named."""
        return self.record(self, 0, inputs, attributes, out)[-1]

    def rules(self) -> list[tuple[Callable[..., Any], list[str], bool]]:
        """For each watched input its rule, the names of the rule's arguments, and whether a broadcast is undone.

        Where it is, the last two names are of the input's shape and of the output's. See `value_names`.
        """
        parts = self._parts
        return [
            (parts.names[f"rule{i}"], parts.calls[i][1], parts.calls[i][0].startswith("unbroadcast("))
            for i in self.watched
        ]

    def value_names(self) -> dict[str, bool]:
        """The names of the values in a record, in order, and whether each is a tensor or a tuple of tensors."""
        return {name: name in self._parts.held for name in self._parts.kept}

    def only(self, positions: tuple[int, ...]) -> Plan:
        """The plan that pulls back to these inputs only, from what this plan has kept."""
        if positions not in self._only:
            self._only[positions] = Plan(self.primitive, positions, self._parts)
        return self._only[positions]


class _Parts:
    """The source code of a plan's functions: each kept value by name, and each rule's call."""

    def __init__(self, primitive: Primitive, watched: tuple[int, ...], broadcast: bool) -> None:
        self.primitive = primitive
        self.kept: dict[str, str] = {}  # name -> expression over (inputs, attributes, out)
        self.held: dict[str, str] = {}  # name -> format of the expression for its arrays, if tensors are kept
        self.calls: dict[int, tuple[str, list[str]]] = {}  # a format and the names that go into it
        self.names: dict[str, Any] = {"unbroadcast": unbroadcast, "fill_in": fill_in}
        for i in watched:
            self.calls[i] = self._call(i, broadcast)
        keys = "".join(f"inputs[{i}]._key, " for i in watched)
        kept = "".join(e + ", " for e in self.kept.values())
        self.record = eval(f"lambda plan, key, inputs, attributes, out: (key, plan, ({keys}), ({kept}))")

    def _call(self, i: int, broadcast: bool) -> tuple[str, list[str]]:
        primitive = self.primitive
        rule = primitive.rule_of(i)
        assert rule is not None
        self.names[f"rule{i}"] = rule
        arguments = [self._keep(name, i) for name in inspect.signature(rule).parameters]
        call = f"rule{i}({', '.join(['{}'] * len(arguments))})"
        if broadcast:
            call = f"unbroadcast({call}, {{}}, {{}})"
            arguments += [self._keep(f"{primitive.inputs[i]}_shape", i), self._keep("out_shape", i)]
        return call, arguments

    def _keep(self, name: str, i: int) -> str:
        """Keep what a rule's parameter `name` asks for; returns its name in the pulling function."""
        primitive = self.primitive
        if name == "gs":
            return "g"
        if name == "g":
            if primitive.multiple:
                self.kept["out_like"] = "tuple([(o._array.shape, o._array.dtype) for o in out])"
            return name
        if name == "position":
            return str(i)
        if name in self.kept:
            return name
        inputs = {x: f"inputs[{k}]" for k, x in enumerate(primitive.inputs)}
        if primitive.variadic and name == primitive.inputs[0]:
            self.kept[name], self.held[name] = "inputs", "tuple([x._array for x in {}])"
        elif primitive.variadic and name == f"{primitive.inputs[0]}_shapes":
            self.kept[name] = "tuple([x._array.shape for x in inputs])"
        elif name == "out" and primitive.multiple:
            self.kept[name], self.held[name] = "out", "tuple([o._array for o in {}])"
        elif name == "out_shape":
            shapes = "tuple([o._array.shape for o in out])" if primitive.multiple else "out._array.shape"
            self.kept[name] = shapes
        elif name == "out" or name in inputs:
            self.kept[name], self.held[name] = inputs.get(name, "out"), "{}._array"
        elif name in primitive.attributes:
            self.kept[name] = f"attributes[{name!r}]"
        elif name.removesuffix("_shape") in inputs:
            self.kept[name] = f"{inputs[name.removesuffix('_shape')]}._array.shape"
        else:
            raise ValueError(
                f"a rule of {primitive.name} asks for {name!r}, which is neither input, attribute nor out"
            )
        return name

    def puller(self, watched: tuple[int, ...], *, arrays: bool) -> Callable[..., tuple[Any, ...]]:
        """The function from `g` and the kept values to the gradients of the inputs in `watched`."""
        value = {name: f"kept[{i}]" for i, name in enumerate(self.kept)}
        if arrays:
            value |= {name: form.format(value[name]) for name, form in self.held.items()}
        body = ""
        for call, arguments in (self.calls[i] for i in watched):
            body += call.format(*[value.get(name, name) for name in arguments]) + ", "
        if "out_like" in self.kept:
            body = f"*(lambda g: ({body}))(fill_in(g, {value['out_like']})),"
        pull = eval(f"lambda g, kept: ({body})", self.names)
        if not self.primitive.wide:
            return pull
        half = (
            "{}.itemsize == 2" if arrays else "{}._array.itemsize == 2"
        )  # half the time of looking at the dtype
        if self.primitive.multiple:
            half = f"({half.format('g[0]')} if g[0] is not None else is_half(g))"
        names = self.names | {"pull": pull, "is_half": is_half, "rounded_pull": rounded_pull}
        return eval(f"lambda g, kept: rounded_pull(pull, g, kept) if {half.format('g')} else ({body})", names)


def fill_in(gradients: tuple[Any, ...], like: tuple[Any, ...]) -> tuple[Any, ...]:
    """Zeros for unused outputs, with the extra axes that the other gradients carry in front."""
    for g in gradients:
        if g is None:
            break
    else:
        return gradients
    position = next(i for i, g in enumerate(gradients) if g is not None)
    given = gradients[position]
    array = given._array if type(given) is Tensor else given
    shape = array.shape
    lead = shape[: len(shape) - len(like[position][0])]
    return tuple(
        [xp(array).zeros(lead + s, d) if g is None else g for g, (s, d) in zip(gradients, like, strict=True)]
    )


# ---------------------------------------------------------------------------------------------------------------------
# Half precision: the rules of a primitive that is `wide`


def rounded_pull(pull: Callable[..., Any], g: Any, kept: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients that `pull` gives for `g` and what was kept, computed in float32 and rounded."""
    one = next(part for part in g if part is not None) if type(g) is tuple else g
    watched = type(one) is Tensor
    half = one._array.dtype if watched else one.dtype
    pulled = pull(recast(g, half, np.float32), recast(kept, half, np.float32, watched))
    return recast(pulled, np.float32, half)


def is_half(gs: tuple[Any, ...]) -> bool:
    """Return whether the gradients of several outputs, None for unused ones, are in half precision."""
    for g in gs:
        if g is not None:
            return (g._array if type(g) is Tensor else g).dtype.char in HALF
    return False
