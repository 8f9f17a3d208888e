"""save: the variables, functions and tables that can be reached from an object, in a folder.

`train.graph` walks the objects; `exporting` makes programs of the functions; `folder` writes.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..compiled.concrete_function import ConcreteFunction
from ..compiled.function import Function
from ..compiled.function_warnings import can_compile
from ..core import dtypes, nest
from ..core.composite import CompositeSpec
from ..core.errors import FailedPreconditionError, InvalidArgumentError, NotCompilableError
from ..core.primitive import local
from ..core.spec import TensorSpec
from ..core.stand_in import StandIn
from ..core.types import PathLike
from ..core.variable import Variable
from ..ops.lookup.tables import Table
from ..train.graph import Node, children, is_trackable, walk
from . import folder
from .restored import LoadedConcreteFunction, LoadedProgram, RestoredFunction, SignatureFunction, SignatureMap
from .save_options import SaveOptions
from .saved_tables import encode_table
from .structures import decode, encode, encode_parameters

DEFAULT_SIGNATURE = "serving_default"
_FUNCTIONS = (Function, ConcreteFunction, RestoredFunction, LoadedConcreteFunction)
_USES = ("variables", "written", "sources")
_RANKS = 6  # for tensors of any rank: programs for ranks below this


def save(obj: Any, export_dir: PathLike, signatures: Any = None, options: SaveOptions | None = None) -> None:
    """Save an object: its variables, its compiled functions, its tables, and the objects that lead to them.

    A function is saved for its `input_signature`, or for the signatures it was called with. At every moment the folder
    holds the model that was there before, or the new one. `load` needs none of the Python classes.

    Args:
        obj: a `Module`, or any object, with variables and functions in its attributes.
        export_dir: the folder.
        signatures: a function with an `input_signature`, or a concrete one, or a dict of such by name, to be found in
            `signatures` of the loaded object; by default the only function of the object that has an `input_signature`.
        options: a `SaveOptions`.

    Raises:
        ValueError: if `obj` has no attributes, or a signature cannot be one.
        NotCompilableError: if a function cannot be saved.

    >>> import gradtape as tf, tempfile
    >>> module = tf.Module()
    >>> module.v = tf.Variable(2.0)
    >>> module.times = tf.function(lambda x: x * module.v, input_signature=[tf.TensorSpec([None])])
    >>> folder = tempfile.mkdtemp()
    >>> tf.saved_model.save(module, folder)
    >>> tf.saved_model.load(folder).times([1.0, 2.0]).numpy()
    array([2., 4.], dtype=float32)
    """
    path = Path(os.fspath(export_dir))
    if local.here.trace is not None:
        raise FailedPreconditionError("saved_model.save was called in a @function: call it outside")
    if not is_trackable(obj) or isinstance(obj, (Variable, Mapping, list, tuple, Table)):
        raise ValueError(
            "saved_model.save takes a tf.Module, or another object with variables and functions in its attributes, "
            f"not {obj!r} of type {type(obj).__name__}. Put it into one: m = tf.Module(); m.v = ..."
        )
    if not can_compile():
        raise FailedPreconditionError("saved_model.save needs JAX: pip install 'gradtape[xla]'")
    Saver(obj, options or SaveOptions()).save(path, signatures)


class Saver:
    """The contents of one saved model while they are collected."""

    def __init__(self, root: Any, options: SaveOptions) -> None:
        self._root = root
        self._options = options
        self._traces: list[tuple[Any, dict[str, Any]]] = []  # concrete functions, and what is written of them
        self._codes: list[bytes] = []
        self._tensors: dict[str, np.ndarray] = {}
        self._variables: dict[int, int] = {}  # numbers of nodes by key

    def save(self, path: Path, signatures: Any) -> None:
        """Collect, and write."""
        chosen = self._signatures(signatures)
        for node in walk(
            self._root, _parts, _is_value
        ):  # tracing may create variables: before they are counted
            if isinstance(node.thing, _FUNCTIONS):
                self._traces_of(node.thing)
        coded = {name: self._signature(name, function) for name, function in chosen.items()}
        aliases = {
            name: self._function(function) for name, function in self._options.function_aliases.items()
        }
        nodes = walk(self._root, _parts, _is_value)
        objects = [self._object(i, node) for i, node in enumerate(nodes)]
        used = [v for _, about in self._traces for name in _USES for v in about[name]]
        for variable in used:  # a function may use variables that are no parts of an object
            if variable._key not in self._variables:
                objects.append(self._variable(len(objects), variable, f"other/{len(objects)}"))
        traces = [self._finished(about) for _, about in self._traces]
        model = {
            "gradtape": version("gradtape"),
            "jax": version("jax"),
            "signatures": coded,
            "aliases": aliases,
            "functions": traces,
            "objects": objects,
        }
        folder.write(path, model, self._tensors, self._codes)

    # -- objects ------------------------------------------------------------------------------------------------------

    def _object(self, number: int, node: Node) -> dict[str, Any]:
        thing = node.thing
        if isinstance(thing, Variable):
            return self._variable(number, thing, node.name)
        if isinstance(thing, _FUNCTIONS):
            return self._function(thing)
        if isinstance(thing, Table):
            return {"kind": "table", **encode_table(thing, f"table/{node.name}", self._tensors)}
        if isinstance(thing, Mapping):
            keys = {
                str(key): encode(key) for key in thing if str(key) in node.children and type(key) is not str
            }
            return {"kind": "dict", "children": node.children} | ({"keys": keys} if keys else {})
        kind = "list" if isinstance(thing, list) else "tuple" if isinstance(thing, tuple) else "object"
        return {"kind": kind, "children": node.children}

    def _variable(self, number: int, variable: Variable, name: str) -> dict[str, Any]:
        self._variables[variable._key] = number
        array = np.asarray(variable._array)
        if dtypes.is_on_host(array):
            raise InvalidArgumentError(
                f"the variable {name!r} holds {dtypes.of(array).name}: a saved model holds numbers and booleans only"
            )
        self._tensors[f"variable/{name}"] = array
        return {
            "kind": "variable",
            "tensor": f"variable/{name}",
            "name": variable._name,
            "trainable": variable.trainable,
            "shape": encode(variable.shape)["shape"],
        }

    def _function(self, function: Any) -> dict[str, Any]:
        if isinstance(function, Function):
            has_signature, parameters = (
                function.input_signature is not None,
                encode_parameters(function._signature),
            )
        elif isinstance(function, RestoredFunction):
            has_signature, parameters = (
                function._has_input_signature,
                encode_parameters(function.__signature__),
            )
        else:
            return {"kind": "function", "name": function.name, "concrete": self._traces_of(function)[0]}
        return {
            "kind": "function",
            "name": function.__name__,
            "parameters": parameters,
            "has_input_signature": has_signature,
            "concrete_functions": self._traces_of(function),
        }

    # -- functions ----------------------------------------------------------------------------------------------------

    def _traces_of(self, function: Any) -> list[int]:
        """The numbers of the concrete functions of a function."""
        if isinstance(function, Function):
            if function._not_compilable:
                self._refuse_uncompiled(function)
            concrete: list[Any] = function._list_all_concrete_functions()
        elif isinstance(function, RestoredFunction):
            concrete = function.concrete_functions
        else:
            concrete = [function]
        return [number for each in concrete for number in self._numbers(each)]

    def _refuse_uncompiled(self, function: Function[..., Any]) -> None:
        raise NotCompilableError(
            f"the function {function.__name__} runs operation by operation, because XLA cannot compile it (a warning "
            "said why when it was first called): it cannot be saved. Leave it out of the object, or what XLA lacks out "
            "of the function"
        )

    def _numbers(self, concrete: Any) -> list[int]:
        """The numbers of the programs for a concrete function: several if it takes tensors of any rank."""
        known = [i for i, (other, _) in enumerate(self._traces) if _is_same(other, concrete)]
        if known:
            return known
        first = len(self._traces)
        if isinstance(concrete, LoadedConcreteFunction):
            self._traces.append((concrete, self._loaded(concrete)))
        else:
            self._export(concrete)
        return list(range(first, len(self._traces)))

    def _export(self, concrete: ConcreteFunction) -> None:
        from .exporting import ORDERS, exported_trace

        orders = ORDERS if self._options.experimental_custom_gradients else 0
        errors = []
        variants = _with_ranks(concrete)
        for args, kwargs in variants:
            try:
                trace = exported_trace(concrete, args, kwargs, orders)
            except Exception as error:
                if len(variants) == 1:
                    raise
                errors.append(error)  # not for tensors of this rank
            else:
                self._traces.append((concrete, self._exported(concrete, trace)))
        if len(errors) == len(variants):
            raise errors[0]

    def _exported(self, concrete: ConcreteFunction, trace: Any) -> dict[str, Any]:
        sampled = trace.sampled
        programs = [
            {"code": p.code, "platforms": list(p.platforms), "inputs": p.inputs, "gives": p.gives}
            for p in trace.programs
        ]
        return {
            "name": sampled.name,
            "parameters": encode_parameters(concrete._function._signature),
            "arguments": encode(sampled.structure),
            "open_lengths": [list(names) for names in sampled.names],
            "results": encode(sampled.outputs),
            "written": trace.written,
            "variables": list(sampled.variables.values()),
            "sources": trace.variables,
            "checks": [{"fails_at": check.fails_at, "line": check.line} for check in trace.checks],
            "no_more_gradients": trace.no_more,
            "programs": programs,
        }

    def _loaded(self, concrete: LoadedConcreteFunction) -> dict[str, Any]:
        """A function that was itself loaded: its programs are saved as they are."""
        return {
            "name": concrete.name,
            "parameters": encode_parameters(concrete.parameters),
            "arguments": encode((concrete.args, concrete.kwargs)),
            "open_lengths": concrete.names,
            "results": encode(concrete.outputs),
            "written": concrete.written,
            "variables": list(concrete.variables),
            "sources": concrete.sources,
            "checks": [{"fails_at": at, "line": line} for at, line in concrete.checks],
            "no_more_gradients": concrete.no_more,
            "programs": [
                {"code": p.code, "platforms": list(p.platforms), "inputs": _meanings(p), "gives": p.gives}
                for p in concrete.programs
            ],
        }

    def _finished(self, about: dict[str, Any]) -> dict[str, Any]:
        """The entry of a function, with numbers in place of variables and programs."""
        finished = about | {name: [self._number(v) for v in about[name]] for name in _USES}
        finished["programs"] = []
        for program in about["programs"]:
            code = program["code"]
            if code not in self._codes:
                self._codes.append(code)
            inputs = [self._input(kind, what) for kind, what in program["inputs"]]
            finished["programs"].append(program | {"code": self._codes.index(code), "inputs": inputs})
        return finished

    def _number(self, variable: Variable) -> int:
        return self._variables[variable._key]

    def _input(self, kind: str, what: Any) -> dict[str, Any]:
        if kind == "variable":
            return {"variable": self._number(what)}
        if kind == "constant":
            array = np.asarray(what)
            found = (
                name
                for name, other in self._tensors.items()
                if name.startswith("constant/")
                and other.dtype == array.dtype
                and np.array_equal(other, array)
            )
            name = next(found, f"constant/{len(self._tensors)}")
            self._tensors[name] = array
            return {"constant": name}
        return {"seed": True} if kind == "seed" else {"argument": what}

    # -- signatures ---------------------------------------------------------------------------------------------------

    def _signatures(self, signatures: Any) -> dict[str, Any]:
        """The functions that become signatures, by name."""
        if signatures is None:
            kept = getattr(self._root, "signatures", None)
            if isinstance(kept, SignatureMap):  # of an object that was itself loaded
                return dict(kept)
            found = _default_signature(self._root)
            return {} if found is None else {DEFAULT_SIGNATURE: found}
        named = signatures if isinstance(signatures, Mapping) else {DEFAULT_SIGNATURE: signatures}
        return {_checked_name(name): _concrete(function) for name, function in named.items()}

    def _signature(self, name: str, function: Any) -> dict[str, Any]:
        if isinstance(function, SignatureFunction):
            numbers = [n for concrete in function._concrete for n in self._numbers(concrete)]
            return {"concrete_functions": numbers, "inputs": function._inputs, "outputs": function._outputs}
        numbers = self._numbers(function)
        outputs = _output_names(name, decode(self._traces[numbers[0]][1]["results"]))
        return {"concrete_functions": numbers, "inputs": _input_names(function), "outputs": outputs}


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    """The parts of an object that are saved or lead to what is, functions among them, by their names."""
    if isinstance(thing, _FUNCTIONS):
        return
    if hasattr(type(thing), "_trackable_children"):
        found: Any = thing._trackable_children("savedmodel").items()
    elif isinstance(thing, Mapping):
        found = thing.items()
    elif isinstance(thing, (list, tuple)):
        found = enumerate(thing)
    else:
        functions = [(name, part) for name, part in vars(thing).items() if isinstance(part, _FUNCTIONS)]
        found = [*functions, *children(thing)]
    given: dict[str, Any] = {}
    for name, part in found:
        part = part._variable() if isinstance(part, StandIn) else part
        if isinstance(part, (*_FUNCTIONS, Table)) or is_trackable(part):
            given[str(name)] = part
    if not isinstance(thing, (Mapping, list, tuple)):
        given |= {name: part for name, part in _methods(thing) if name not in given}
    yield from given.items()


def _methods(thing: Any) -> Iterator[tuple[str, Any]]:
    """The methods of an object that are compiled functions."""
    for name in dir(type(thing)):
        if isinstance(inspect.getattr_static(type(thing), name, None), Function) and (
            not name.startswith("__") or name == "__call__"
        ):
            method = getattr(thing, name)
            if isinstance(method, Function):
                yield name, method


def _is_value(thing: Any) -> bool:
    return isinstance(thing, (Variable, Table, *_FUNCTIONS))


def _meanings(program: LoadedProgram) -> list[tuple[str, Any]]:
    def meaning(what: Any) -> tuple[str, Any]:
        if isinstance(what, Variable):
            return "variable", what
        if isinstance(what, int):
            return "argument", what
        return ("seed", None) if isinstance(what, str) else ("constant", what)

    return [meaning(what) for what in program.inputs]


def _is_same(other: Any, concrete: Any) -> bool:
    if isinstance(other, ConcreteFunction) and isinstance(concrete, ConcreteFunction):
        return other._function is concrete._function and other.is_like(concrete)
    return other is concrete


def _with_ranks(concrete: ConcreteFunction) -> list[Any]:
    """The arguments, with each rank for tensors of any rank."""
    structure = concrete._args, concrete._kwargs

    def of_rank(leaf: Any, rank: int) -> Any:
        if isinstance(leaf, TensorSpec) and leaf.shape.rank is None:
            return TensorSpec([None] * rank, leaf.dtype, leaf.name)
        return leaf

    if all(not isinstance(s, TensorSpec) or s.shape.rank is not None for s in nest.flatten(structure)):
        return [structure]
    return [nest.map_structure(lambda leaf, r=rank: of_rank(leaf, r), structure) for rank in range(_RANKS)]


def _default_signature(root: Any) -> Any:
    """The function that becomes the default signature: the object's own choice, or its only one with a signature."""
    chosen = getattr(root, "_default_save_signature", None)
    if chosen is not None:
        try:
            return _concrete(chosen)
        except TypeError:  # Keras's choice for a model that takes several arguments takes one
            return None
    possible = []
    for _, part in _parts(root):
        concrete = (
            part.get_concrete_function() if getattr(part, "input_signature", None) is not None else part
        )
        if isinstance(concrete, (ConcreteFunction, LoadedConcreteFunction)) and _can_be_signature(concrete):
            possible.append(concrete)
    return possible[0] if len(possible) == 1 else None


def _can_be_signature(concrete: Any) -> bool:
    try:
        return bool(_output_names("", concrete.structured_outputs)) and _input_names(concrete) is not None
    except ValueError:
        return False


def _concrete(function: Any) -> Any:
    """A concrete function of what was given as a signature."""
    if isinstance(function, (ConcreteFunction, LoadedConcreteFunction, SignatureFunction)):
        return function
    if isinstance(function, Function) and function.input_signature is not None:
        return function.get_concrete_function()
    if isinstance(function, RestoredFunction) and len(function.concrete_functions) == 1:
        return function.concrete_functions[0]
    raise ValueError(
        f"signatures: {function!r} cannot be a signature. Give a tf.function with an input_signature, or "
        "f.get_concrete_function(tf.TensorSpec(...))"
    )


def _checked_name(name: Any) -> str:
    if type(name) is not str:
        raise ValueError(f"signatures: the names of signatures are texts, not {name!r}")
    return name


def _input_names(concrete: Any) -> list[str]:
    """The names of the tensors that a signature takes: those of the specs, or of the arguments, made unique."""
    if isinstance(concrete, LoadedConcreteFunction):
        signature, args, kwargs = concrete.parameters, concrete.args, concrete.kwargs
    else:
        signature, args, kwargs = concrete._function._signature, concrete._args, concrete._kwargs
    parameters = list(signature.parameters.values()) if signature is not None else []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    positional += [f"{rest}_{i}" for i in range(len(args) - len(positional))]
    names: list[str] = []
    for argument, value in (*zip(positional, args, strict=False), *kwargs.items()):
        for leaf in nest.flatten(value):
            if isinstance(leaf, CompositeSpec):
                raise ValueError(
                    f"signatures: a signature takes tensors, and the function takes {leaf}: call the loaded function "
                    "itself, or give a function that makes this of tensors"
                )
            if not isinstance(leaf, TensorSpec):
                continue
            base = name = leaf.name or argument
            count = 0
            while name in names:
                count += 1
                name = f"{base}_{count}"
            names.append(name)
    return names


def _output_names(signature: str, outputs: Any) -> list[str]:
    """The names of the tensors that a signature gives: the keys of a dict, or numbers."""
    if outputs is None or isinstance(outputs, TensorSpec):
        return [] if outputs is None else ["output_0"]
    named: list[tuple[Any, Any]] = []
    if isinstance(outputs, Mapping):
        named = sorted(outputs.items())
    elif nest.is_nested(outputs):
        named = [(f"output_{i}", part) for i, part in enumerate(outputs)]
    if not all(type(name) is str and isinstance(part, TensorSpec) for name, part in named):
        raise ValueError(
            f"signatures: the function for {signature!r} must return a tensor, a sequence of tensors, or a dict of "
            f"tensors by name, not {outputs}"
        )
    return [name for name, _ in named]
