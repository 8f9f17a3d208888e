"""load: the objects of a saved model, without the classes they had. Nothing in the files is run as code of Python's."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..compiled.program_values import program_specs
from ..core import nest
from ..core.errors import InvalidArgumentError
from ..core.tensor import wrap
from ..core.types import PathLike
from ..core.variable import Variable
from . import folder
from .restored import LoadedConcreteFunction, LoadedProgram, RestoredFunction, SignatureFunction, SignatureMap
from .save_options import LoadOptions
from .saved_tables import decode_table
from .structures import decode, decode_parameters

SERVING = "serve"


class LoadedObject:
    """An object of a loaded model, with the attributes that were saved: variables, functions, tables and objects."""

    def __repr__(self) -> str:
        return f"<loaded object with {', '.join(vars(self)) or 'no attributes'}>"


class LoadedCallable(LoadedObject):
    """An object of a loaded model whose `__call__` was saved."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the saved `__call__`."""
        return vars(self)["__call__"](*args, **kwargs)


def load(
    export_dir: PathLike, tags: str | Iterable[str] | None = None, options: LoadOptions | None = None
) -> Any:
    """Load what `save` saved: an object with the same attributes, whose functions can be called and differentiated.

    Args:
        export_dir: the folder.
        tags: accepted if it is 'serve'.
        options: a `LoadOptions`.

    Returns:
        An object whose `signatures` are functions of named tensors. Its lists, tuples and dicts are plain ones.

    Raises:
        OSError: if there is no saved model.
        DataLossError: if it is damaged.
        InvalidArgumentError: if it is TensorFlow's, or of a newer gradtape.
        ValueError: for other tags.

    >>> import gradtape as tf, tempfile
    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         self.slope = tf.Variable(3.0)
    ...
    ...     @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    ...     def __call__(self, x):
    ...         return {"y": x * self.slope}
    >>> folder = tempfile.mkdtemp()
    >>> tf.saved_model.save(Line(), folder)
    >>> line = load(folder)
    >>> with tf.GradientTape() as tape:
    ...     y = line(tf.constant([1.0, 2.0]))["y"]
    >>> float(tape.gradient(y, line.slope))
    3.0
    >>> line.signatures["serving_default"](x=tf.constant([1.0]))["y"].numpy()
    array([3.], dtype=float32)
    """
    wanted = [tags] if isinstance(tags, str) else [SERVING] if tags is None else list(tags)
    if set(wanted) != {SERVING}:
        raise ValueError(
            f"saved_model.load: a saved model has the tag {SERVING!r} alone, not {tags!r}: leave it out"
        )
    files = folder.Folder(Path(os.fspath(export_dir)))
    with files.checking():
        loader = Loader(files)
        root = loader.root()
        if options is not None and options.experimental_load_function_aliases:
            root.function_aliases = loader.aliases()
        return root


class Loader:
    """The objects of one saved model while they are made."""

    def __init__(self, files: folder.Folder) -> None:
        self._files = files
        self._objects: list[dict[str, Any]] = files.model["objects"]
        if not isinstance(self._objects, list) or not self._objects:
            raise ValueError("it has no objects")
        self._made: dict[int, Any] = {}
        for number, about in enumerate(self._objects):
            if about["kind"] == "variable":
                self._made[number] = self._variable(about)
        self._functions = [self._function(about) for about in files.model["functions"]]

    def root(self) -> Any:
        """The object that was saved."""
        order = self._order()
        for number in order:
            self._make(number)
        for number in order:
            self._fill(number)
        root = self._made[0]
        if not isinstance(root, LoadedObject):
            raise ValueError("its first object is none")
        root.signatures = SignatureMap(  # type: ignore[attr-defined]
            {name: self._signature(name, about) for name, about in self._files.model["signatures"].items()}
        )
        return root

    def aliases(self) -> dict[str, Any]:
        """The functions to which `SaveOptions` gave other names."""
        return {name: self._restored(about) for name, about in self._files.model["aliases"].items()}

    # -- objects ------------------------------------------------------------------------------------------------------

    def _order(self) -> list[int]:
        """The numbers of the objects, parts of tuples before the tuples; all numbers exist."""
        order: list[int] = []
        state: dict[int, str] = {}
        waiting = [(number, False) for number in range(len(self._objects))]
        while waiting:
            number, is_done = waiting.pop()
            if is_done:
                state[number] = "done"
                order.append(number)
                continue
            if number in state:
                continue
            state[number] = "open"
            waiting.append((number, True))
            if self._objects[number]["kind"] == "tuple":
                for child in self._children(number).values():
                    if state.get(child) == "open":
                        raise ValueError("a tuple is part of itself")
                    waiting.append((child, False))
        return order

    def _children(self, number: int) -> dict[str, int]:
        children: dict[str, int] = self._objects[number].get("children", {})
        for name, child in children.items():
            if type(child) is not int or not 0 <= child < len(self._objects):
                raise ValueError(f"the part {name!r} of an object does not exist")
        return children

    def _make(self, number: int) -> None:
        """Make an object; its parts come later, but for tuples."""
        about = self._objects[number]
        kind, children = about["kind"], self._children(number)
        if kind == "object":
            self._made[number] = LoadedCallable() if "__call__" in children else LoadedObject()
        elif kind == "list":
            self._made[number] = []
        elif kind == "dict":
            self._made[number] = {}
        elif kind == "tuple":
            self._made[number] = tuple(self._made[child] for _, child in _in_order(children))
        elif kind == "function":
            self._made[number] = self._restored(about)
        elif kind == "table":
            self._made[number] = decode_table(about, self._files.tensors)
        elif kind != "variable":
            raise ValueError(f"{kind!r} is no kind of object")

    def _fill(self, number: int) -> None:
        thing, children = self._made[number], self._children(number)
        if isinstance(thing, list):
            thing.extend(self._made[child] for _, child in _in_order(children))
        elif isinstance(thing, dict):
            keys = self._objects[number].get("keys", {})
            thing.update(
                (decode(keys[n]) if n in keys else n, self._made[child]) for n, child in children.items()
            )
        elif isinstance(thing, LoadedObject):
            for name, child in children.items():
                if name.startswith("__") and name != "__call__":
                    raise ValueError(f"{name!r} is no name of an attribute")
                vars(thing)[name] = self._made[child]

    def _variable(self, about: dict[str, Any]) -> Variable:
        value = wrap(self._files.tensors[about["tensor"]])
        name, shape = about["name"], about["shape"]
        variable = Variable(value, trainable=bool(about["trainable"]), name=str(name), shape=shape)
        variable._name = str(name)
        return variable

    def _variable_number(self, number: Any) -> Variable:
        found = self._made[number]
        if not isinstance(found, Variable):
            raise TypeError(f"object {number} is no variable")
        return found

    # -- functions ----------------------------------------------------------------------------------------------------

    def _function(self, about: dict[str, Any]) -> LoadedConcreteFunction:
        function = LoadedConcreteFunction()
        function.name = str(about["name"])
        function.parameters = decode_parameters(about["parameters"])
        function.args, function.kwargs = decode(about["arguments"])
        function.names = about["open_lengths"]
        function.outputs = decode(about["results"])
        function.written = [self._variable_number(n) for n in about["written"]]
        function.variables = tuple(self._variable_number(n) for n in about["variables"])
        function.sources = [self._variable_number(n) for n in about["sources"]]
        function.checks = [(int(c["fails_at"]), str(c["line"])) for c in about["checks"]]
        function.no_more = str(about["no_more_gradients"])
        function.programs = [self._program(function.name, program) for program in about["programs"]]
        if not function.programs or len(function.names) != len(program_specs(function.leaves)):
            raise ValueError(f"the function {function.name} is not complete")
        return function

    def _program(self, name: str, about: dict[str, Any]) -> LoadedProgram:
        inputs: list[Any] = []
        for meaning in about["inputs"]:
            ((kind, what),) = meaning.items()
            if kind == "variable":
                inputs.append(self._variable_number(what))
            elif kind == "constant":
                inputs.append(self._files.tensors[what])
            elif kind in ("argument", "seed"):
                inputs.append(int(what) if kind == "argument" else "seed")
            else:
                raise ValueError(f"{kind!r} is no kind of input")
        code = self._files.programs[about["code"]]
        return LoadedProgram(name, code, about["platforms"], inputs, [bool(g) for g in about["gives"]])

    def _restored(self, about: dict[str, Any]) -> Any:
        if "concrete" in about:
            return self._functions[about["concrete"]]
        return RestoredFunction(
            str(about["name"]),
            decode_parameters(about["parameters"]),
            [self._functions[n] for n in about["concrete_functions"]],
            bool(about["has_input_signature"]),
        )

    def _signature(self, name: str, about: dict[str, Any]) -> SignatureFunction:
        functions = [self._functions[n] for n in about["concrete_functions"]]
        inputs, outputs = list(map(str, about["inputs"])), list(map(str, about["outputs"]))
        for function in functions:
            given = sum(leaf is not None for leaf in nest.flatten(function.outputs))
            if len(inputs) != len(function.names) or len(outputs) != given:
                raise InvalidArgumentError(f"the signature {name!r} does not fit its function")
        return SignatureFunction(name, functions, inputs, outputs)


def _in_order(children: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(children.items(), key=lambda item: int(item[0]))
