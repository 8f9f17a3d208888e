"""How samples of primitives are written down: where random inputs lie, cases, and entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np

import gradtape
from gradtape.core.primitive import Primitive, apply

from .derivatives import Sample

for _namespace in dir(gradtape):  # families are imported when first used
    getattr(gradtape, _namespace)

# ---------------------------------------------------------------------------------------------------------------------
# Where random inputs lie. `u` is in (0, 1), no two of a sample's alike, and `s` is -1 or 1: so no two numbers of a
# sample are equal, nor opposite, and all stay away from 0.

Domain = Callable[[np.ndarray, np.ndarray], np.ndarray]


def real(u, s):
    return s * (0.25 + 2 * u)


def positive(u, s):
    return 0.25 + 2 * u


def negative(u, s):
    return -positive(u, s)


def unit(u, s):
    return s * (0.1 + 0.8 * u)


def fraction(u, s):
    return 0.1 + 0.8 * u


def above_one(u, s):
    return 1.25 + u


def draw(seed: str, shapes: list[tuple[int, ...]], domains: list[Domain], complex: bool) -> list[np.ndarray]:
    """Random arrays, the same on every run."""
    rng = np.random.default_rng(crc32(seed.encode()))
    sizes = [int(np.prod(shape, dtype=int)) for shape in shapes]
    count = max(sum(sizes), 1)
    u = (rng.permutation(count) + 0.5 + rng.uniform(-0.2, 0.2, count)) / count
    s = rng.choice([-1.0, 1.0], count)
    arrays = []
    for shape, size, domain in zip(shapes, sizes, domains, strict=True):
        array, u, s = domain(u[:size], s[:size]).reshape(shape), u[size:], s[size:]
        arrays.append(array + 0.5j * rng.uniform(-1, 1, shape) if complex else array)
    return arrays


# ---------------------------------------------------------------------------------------------------------------------
# Entries


class case:
    """The inputs of one sample, shapes to fill or arrays, and its attributes."""

    def __init__(self, *inputs: Any, rounds: bool = False, **attributes: Any) -> None:
        self.inputs, self.rounds, self.attributes = inputs, rounds, attributes


class of:
    """The samples of one primitive; with `complex` its cases are drawn once more in complex numbers.

    With `differences=False` the value does not follow its inputs as the derivatives say.
    """

    def __init__(
        self,
        reference: Callable[..., Any],
        *cases: case,
        domain: Any = real,
        complex: bool = False,
        differences: bool = True,
    ) -> None:
        self.reference, self.cases, self.domain, self.complex = reference, cases, domain, complex
        self.differences = differences

    def samples(self, name: str, start: int = 0) -> tuple[Sample, ...]:
        kinds = [(c, False) for c in self.cases] + [
            (c, True) for c in self.cases if self.complex and _drawn(c)
        ]
        return tuple(self._sample(name, i, c, complex) for i, (c, complex) in enumerate(kinds, start))

    def _sample(self, name: str, number: int, c: case, complex: bool) -> Sample:
        domains = self.domain if isinstance(self.domain, tuple) else (self.domain,) * len(c.inputs)
        open_ = [i for i, x in enumerate(c.inputs) if isinstance(x, tuple)]
        drawn = draw(f"{name} {number}", [c.inputs[i] for i in open_], [domains[i] for i in open_], complex)
        inputs = tuple(drawn[open_.index(i)] if i in open_ else np.asarray(x) for i, x in enumerate(c.inputs))
        described = [f"{a.dtype}{list(a.shape)}" for a in inputs] + [
            f"{k}={v!r}" for k, v in c.attributes.items()
        ]
        primitive = Primitive.registry.get(name)
        return Sample(
            label=f"SAMPLES[{name!r}][{number}] = {name}({', '.join(described)})",
            function=lambda *tensors: apply(primitive, tensors, c.attributes),
            reference=lambda *arrays: self.reference(*arrays, **c.attributes),
            inputs=inputs,
            moving=tuple(i for i, a in enumerate(inputs) if a.dtype.kind in "fc" and _has_rule(primitive, i)),
            rounds=c.rounds,
            differences=self.differences,
            fixed_dtype="source" in c.attributes or "dtype" in c.attributes,
        )


def _has_rule(primitive: Primitive | None, position: int) -> bool:
    return primitive is not None and primitive.rule_of(position) is not None


def _drawn(c: case) -> bool:
    return any(isinstance(x, tuple) for x in c.inputs)


def unary(reference: Callable[..., Any], domain: Domain = real, complex: bool = False) -> of:
    return of(reference, case(()), case((2, 3)), case((3, 0)), domain=domain, complex=complex)


def binary(reference: Callable[..., Any], domain: Any = real, complex: bool = False) -> of:
    return of(
        reference,
        case((), ()),
        case((2, 3), (2, 3)),
        case((2, 1), (3,)),
        case((2, 2), ()),
        case((1, 2), (2, 1, 1)),
        case((0, 3), (1,)),
        domain=domain,
        complex=complex,
    )
