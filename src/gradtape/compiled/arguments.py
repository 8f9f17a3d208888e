"""The arguments of a @function: its tensors and variables, and the cache key of the program for the call.

Of tensors and variables, shapes and dtypes are part of the key; of the rest, value and type. Objects are referred to
weakly: a function keeps none alive.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np

from ..core import nest
from ..core.composite import CompositeSpec, CompositeTensor, composite_spec
from ..core.dtypes import is_on_host
from ..core.errors import DTypeError
from ..core.primitive import local
from ..core.shapes import TensorShape
from ..core.spec import TensorSpec
from ..core.stand_in import StandIn
from ..core.tensor import Tensor, array_of, wrap
from ..core.tensor_conversion import convert
from ..core.variable import Variable
from .placeholders import ArgumentVariable, RunsAsPython, Text, VariableSpec

PLAIN = frozenset((int, bool, str, bytes, type(None)))  # values that are part of the cache key as they are
_PYTHON = PLAIN | {float, complex}


SPECS = (TensorSpec, CompositeSpec)  # of tensors, and of values made of them

_TENSOR = object()  # stands for a tensor in a structure of arguments


class Arguments:
    """The arguments of a call: their leaves, and the cache key.

    If `specialized` has variables, or texts, those very ones are part of the key: see `placeholders.Specialize`.
    """

    def __init__(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        specialized: Collection[type] = (),
    ) -> None:
        self.leaves: list[Any] = []  # tensors, and each variable once
        self.variables: dict[int, int] = {}  # positions of variables among the leaves, by their keys
        self._templates: list[Any] = []  # every leaf: `_TENSOR` for a tensor, a spec for a variable
        self._parts: list[Any] = []  # of the cache key: two for each leaf
        self._structure: Any = args, kwargs
        self._specs: list[TensorSpec] = []  # of the tensors among the leaves, once these are dropped
        self._specialized = specialized
        self._composites: dict[int, CompositeSpec] = {}  # by the place among the leaves of the structure
        for place, leaf in enumerate(nest.flatten(self._structure)):
            spec = composite_spec(leaf) if isinstance(leaf, CompositeTensor) else None
            if spec is not None:
                self._composites[place] = spec
                for component in spec._to_components(leaf):
                    self._add(name, component)
            else:
                self._add(name, _as_leaf(leaf))
        if self._composites:
            self._parts.append(tuple(self._composites.items()))
        nested = bool(kwargs) or any(nest.is_nested(a) for a in args)
        if nested:
            self._parts.append(nest.structure_of(self._structure))
        if local.here.replica is not None:  # which aggregates what is assigned
            self._parts.append("a replica")
        self.key = tuple(self._parts)

    def _add(self, name: str, leaf: Any) -> None:
        if type(leaf) is Tensor and not is_on_host(array_of(leaf)):
            array = array_of(leaf)
            self.leaves.append(leaf)
            self._templates.append(_TENSOR)
            self._parts += (array.shape, array.dtype)
        elif type(leaf) is Variable and Variable not in self._specialized and _is_program_input(leaf):
            self._add_variable(leaf)
        elif type(leaf) is Tensor and leaf.dtype.is_quantized:
            raise RunsAsPython
        elif type(leaf) is Tensor and Text not in self._specialized:
            self._templates.append(Text(leaf._array.shape, leaf._array))
            self._parts += (Text, leaf._array.shape)
        elif getattr(leaf, "_runs_as_python", False):
            raise RunsAsPython
        else:
            value = _weak(leaf)
            self._templates.append(value)
            self._parts += (type(leaf), _hashable(name, leaf, value))

    def _pack(self, leaves: list[Any]) -> Any:
        """The arguments, with these leaves in place of the templates."""
        if self._composites:
            rest, leaves = iter(leaves), []
            for place in range(len(nest.flatten(self._structure))):
                spec = self._composites.get(place)
                leaves.append(
                    next(rest)
                    if spec is None
                    else spec._from_components([next(rest) for _ in spec._component_specs()])
                )
        return nest.pack_sequence_as(self._structure, leaves)

    def _add_variable(self, variable: Variable) -> None:
        position = self.variables.setdefault(variable._key, len(self.leaves))
        if position == len(self.leaves):
            self.leaves.append(variable)
        array, shape = array_of(variable._tensor), variable._shape
        declared = None if shape.rank is None else tuple(shape)
        spec = VariableSpec(array.shape, array.dtype, declared, variable._trainable, position)
        self._templates.append(spec)
        self._parts += (VariableSpec, spec)

    def with_placeholders(self, inputs: list[Tensor]) -> Any:
        """The arguments with placeholders: these traced tensors, and variables that hold them."""
        variables: dict[int, ArgumentVariable] = {}
        tensors = iter([t for i, t in enumerate(inputs) if i not in self.variables.values()])

        def placeholder(leaf: Any) -> Any:
            if leaf is _TENSOR:
                return next(tensors)
            if type(leaf) is Text:
                return leaf.tensor()
            if type(leaf) is not VariableSpec:
                return _value(leaf)
            if leaf.position not in variables:
                variables[leaf.position] = ArgumentVariable(inputs[leaf.position], leaf)
            return variables[leaf.position]

        return self._pack([placeholder(leaf) for leaf in self._templates])

    def as_tensors(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the call as they are, with tensors for NumPy's arrays."""
        return with_tensors(*self._structure)

    def specialize_texts(self) -> bool:
        """Make the texts part of the key, if the function that was traced has read one of them."""
        if not any(type(leaf) is Text and leaf.was_read for leaf in self._templates):
            return False
        for i, leaf in enumerate(self._templates):
            if type(leaf) is Text:
                tensor = self._templates[i] = wrap(leaf.array)
                self._parts[2 * i : 2 * i + 2] = Tensor, _hashable("", tensor, tensor)
        self.key = tuple(self._parts)
        return True

    def forget(self) -> None:
        """Drop tensors and objects: the cache key needs none of them."""
        self._specs = self._tensor_specs()
        self.leaves = []
        self._templates = [Text(leaf.shape) if type(leaf) is Text else leaf for leaf in self._templates]
        self._structure = nest.map_structure(lambda leaf: None, self._structure)

    @property
    def is_dead(self) -> bool:
        """Whether an object among them is gone: no call can have these arguments again."""
        return any(type(leaf) is weakref.ref and leaf() is None for leaf in self._templates)

    def _tensor_specs(self) -> list[TensorSpec]:
        return [TensorSpec(t.shape, t.dtype) for t in self.leaves if type(t) is Tensor]

    def signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, with specs for tensors and variables."""
        tensors = iter(self._specs or self._tensor_specs())
        templates = iter([next(tensors) if leaf is _TENSOR else _value(leaf) for leaf in self._templates])
        args, kwargs = nest.pack_sequence_as(self._structure, self._without_components(templates))
        return args, kwargs

    def specs(self) -> Any:
        """The positional and keyword arguments, with specs in place of tensors."""
        parts = iter(
            TensorSpec(self._parts[2 * i], self._parts[2 * i + 1])
            if leaf is _TENSOR
            else TensorSpec(leaf.shape, "string")
            if type(leaf) is Text
            else _value(leaf)
            for i, leaf in enumerate(self._templates)
        )
        return nest.pack_sequence_as(self._structure, self._without_components(parts))

    def _without_components(self, parts: Iterator[Any]) -> list[Any]:
        """The leaves of the structure, with a spec in place of the parts of a sparse or ragged tensor."""
        leaves: list[Any] = []
        for place in range(len(nest.flatten(self._structure))):
            spec = self._composites.get(place)
            values = [next(parts) for _ in (spec._component_specs() if spec is not None else [None])]
            leaves.append(values[0] if spec is None else spec)
        return leaves

    def described(self, names: list[str]) -> list[tuple[str, str]]:
        """Each argument's name and description."""
        args, kwargs = self.signature()
        numbered = [names[i] if i < len(names) else f"number {i + 1}" for i in range(len(args))]
        return [(name, _described(value)) for name, value in (*zip(numbered, args), *kwargs.items())]


def differs_in_batch(key: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether two cache keys are those of batches that differ in their number of rows, and in nothing else."""
    changed = [(a, b) for a, b in zip(key, other) if a != b]
    if len(key) != len(other) or not all(type(a) is type(b) is tuple and a and b for a, b in changed):
        return False
    rows = {(a[0], b[0]) for a, b in changed}
    return len(rows) == 1 and all(a[1:] == b[1:] for a, b in changed) and any(len(a) > 1 for a, _ in changed)


def differs_in_lengths(key: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether two cache keys are those of tensors that differ in their lengths, and in nothing else."""
    changed = [(a, b) for a, b in zip(key, other) if a != b]
    return len(key) == len(other) and all(
        type(a) is type(b) is tuple and len(a) == len(b) for a, b in changed
    )


def with_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with tensors for NumPy's arrays; lists and dicts that hold none are the caller's own."""

    def converted(argument: Any) -> Any:
        if not any(map(_is_array, nest.flatten(argument))):
            return argument
        return nest.map_structure(_array_as_tensor, argument)

    return tuple(map(converted, args)), {name: converted(value) for name, value in kwargs.items()}


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, np.generic)) and not isinstance(leaf, (str, bytes))


def _array_as_tensor(leaf: Any) -> Any:
    return convert(leaf) if _is_array(leaf) else leaf


def _as_leaf(leaf: Any) -> Any:
    leaf = _array_as_tensor(leaf)
    if (
        isinstance(leaf, (Variable, StandIn, CompositeTensor))
        or type(leaf) in _PYTHON
        or type(leaf) is Tensor
    ):
        return leaf
    return leaf._read() if hasattr(type(leaf), "_read") else leaf


def _weak(leaf: Any) -> Any:
    """A weak reference to an object, if there can be one; a plain value as it is."""
    if type(leaf) in _PYTHON or type(leaf) is Tensor:
        return leaf
    try:
        return weakref.ref(leaf)
    except TypeError:
        return leaf


def _value(leaf: Any) -> Any:
    return leaf() if type(leaf) is weakref.ref else leaf


def _hashable(name: str, leaf: Any, value: Any) -> Any:
    if type(leaf) is float:
        return leaf.hex()  # tells 0.0 from -0.0, and finds nan again
    if type(leaf) is complex:
        return leaf.real.hex(), leaf.imag.hex()
    if isinstance(leaf, Variable):
        return leaf._key
    if isinstance(leaf, StandIn):
        return id(
            leaf
        )  # its weak reference is among the arguments: a program for one that is gone is dropped
    if type(leaf) is Tensor:  # of strings: part of the signature
        return leaf._array.shape, tuple(leaf._array.flat)
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"the function {name} was given {leaf!r} of type {type(leaf).__name__}, which has no hash: what is no "
            "tensor is part of the signature it is compiled for. Pass a tensor, a number, a tuple or a frozenset"
        ) from None
    return value


def _is_program_input(variable: Variable) -> bool:
    """Return whether a program can serve any variable like this one."""
    return variable._constraint is None and not is_on_host(array_of(variable._tensor))


def _described(value: Any) -> str:
    if isinstance(value, TensorSpec):
        return f"a tensor of shape {value.shape} and dtype {value.dtype.name}"
    if type(value) is Text:
        return f"a tensor of strings of shape {value.shape}"
    if type(value) is VariableSpec:
        return f"a variable of shape {value.declared} and dtype {value.dtype}"
    return repr(value)


# ---------------------------------------------------------------------------------------------------------------------
# Signatures


def checked_signature(name: str, specs: Any, signature: inspect.Signature | None) -> tuple[Any, ...]:
    """Validate an `input_signature` for a function."""
    if not isinstance(specs, (list, tuple)):
        raise TypeError(
            f"input_signature must be a list or tuple of TensorSpec, one for each argument, not {specs!r}"
        )
    for spec in nest.flatten(specs):
        if not isinstance(spec, SPECS):
            raise TypeError(f"input_signature must be made of TensorSpec; it holds {spec!r}")
    if signature is not None and not any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        count = sum(p.kind is not p.VAR_KEYWORD for p in signature.parameters.values())
        if len(specs) > count:
            raise TypeError(
                f"the input_signature of {name} has {len(specs)} entries, and the function takes {count} arguments"
            )
    return tuple(specs)


def bind(
    name: str, signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments in the order of the parameters, defaults filled in: f(1), f(x=1) and f(1, y=default) are one."""
    if signature is None:
        return args, kwargs
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"the function {name}{signature} was called otherwise: {error}") from None
    bound.apply_defaults()
    return bound.args, bound.kwargs


def fit(
    name: str, specs: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any], defaults: list[Any]
) -> tuple[Any, ...]:
    """The arguments as tensors that fit the specs; those after must have their default values."""
    extra = [*args[len(specs) :], *kwargs.values()]
    if len(args) < len(specs) or not _same(extra, defaults):
        raise TypeError(
            f"the input_signature of {name} has {len(specs)} entries, and it was called with {len(args) + len(kwargs)} "
            "arguments: give exactly those; others keep their defaults"
        )
    return (*_fitting(name, specs, args[: len(specs)]), *args[len(specs) :])


def _same(values: list[Any], defaults: list[Any]) -> bool:
    return len(values) == len(defaults) and all(a is b or a == b for a, b in zip(values, defaults))


def _fitting(name: str, specs: Any, args: Any) -> Any:
    try:
        leaves = nest.flatten_up_to(specs, args)
    except ValueError as error:
        raise TypeError(
            f"{name}: the arguments are nested otherwise than the input_signature: {error}"
        ) from None
    tensors = [fit_one(name, spec, value) for spec, value in zip(nest.flatten(specs), leaves, strict=True)]
    return nest.pack_sequence_as(specs, tensors)


def fit_one(name: str, spec: TensorSpec | CompositeSpec, value: Any) -> Any:
    """A value as a tensor that fits a spec; a sparse or ragged tensor that does."""
    if isinstance(spec, CompositeSpec):
        if not spec.is_compatible_with(value):
            given = value._type_spec if isinstance(value, CompositeTensor) else type(value).__name__
            raise TypeError(f"{name}: {spec} was asked for, and the argument is {given}")
        return value
    try:
        tensor = (
            value._as_tensor()
            if isinstance(value, Variable)
            else convert(value, None, spec.dtype.numpy_dtype)
        )
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: {spec} was asked for, and {value!r} is no tensor: {error}") from None
    array = array_of(tensor)
    if array.dtype != spec.dtype.numpy_dtype or not spec.shape.is_compatible_with(array.shape):
        raise DTypeError(
            f"{name}: {spec} was asked for, and the argument has shape {tuple(array.shape)} and dtype "
            f"{tensor.dtype.name}. Cast or reshape it, or leave lengths open with None in the signature"
        )
    return tensor


def example(spec: Any) -> Any:
    """A tensor like a spec; anything else as it is."""
    if not isinstance(spec, TensorSpec):
        return spec
    zero = np.array(b"", object) if spec.dtype.name == "string" else np.zeros((), spec.dtype.numpy_dtype)
    return wrap(np.broadcast_to(zero, tuple(spec.shape)))


_OPEN = 5040  # stands for an open length in an example: reshapes divide it, and no program has it by chance


def closed_lengths(spec: TensorSpec) -> TensorSpec:
    """A spec with numbers in place of open lengths, to trace a function for an example."""
    return TensorSpec([_OPEN if n is None else n for n in spec.shape], spec.dtype)


def open_lengths(shape: TensorShape) -> TensorShape:
    """The shape of a result for such an example, with open lengths again."""
    return shape if shape.rank is None else TensorShape([None if n and n % _OPEN == 0 else n for n in shape])


def leaf_names(names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[str]:
    """The names by which a concrete function takes each leaf that is a spec: the spec's, or the argument's."""
    for name, value in (*zip(names, args), *sorted(kwargs.items())):
        for leaf in nest.flatten(value):
            if isinstance(leaf, SPECS):
                yield getattr(leaf, "name", None) or name


def signature_text(
    name: str,
    signature: inspect.Signature | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    outputs: Any,
    variables: Iterable[Variable],
) -> str:
    """The arguments, results and variables of a traced function, one to a line."""
    names = list(kwargs)
    try:
        given = {} if signature is None else dict(signature.bind(*args, **kwargs).arguments)
    except TypeError:
        given = {}
    if not given:
        given = {f"argument {i + 1}": value for i, value in enumerate(args)} | kwargs
        names = list(given)
    shown = str(signature) if signature is not None else f"({', '.join(names)})"
    lines = [f"{name}{shown}", *[f"  {key}: {value!r}" for key, value in given.items()]]
    lines.append(f"  returns: {outputs!r}")
    lines += [f"  uses: {v.name}, a variable of shape {v.shape} and dtype {v.dtype.name}" for v in variables]
    return "\n".join(lines)
