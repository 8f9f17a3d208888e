"""@function: the same Python, run once with traced tensors and compiled by XLA.

A call is sorted by its signature (shapes and dtypes of tensors, values of everything else); each signature has one
`program.Program`. Without JAX everything runs as plain Python, and says so once.
"""

from __future__ import annotations

import copy
import functools
import inspect
import logging
import threading
import weakref
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from . import nest
from .primitive import local
from .settings import settings
from .spec import TensorSpec
from .tensor import Tensor, array_of, convert, wrap
from .variable import Variable

if TYPE_CHECKING:
    from .program import Program

logger = logging.getLogger("gradtape")

_PLAIN = frozenset((int, float, bool, complex, str, bytes, type(None)))


def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Decorator: compile a function on tensors with XLA, for each signature it is called with.

    The Python of the function runs once for a signature, with tensors whose values are not known; what it computes, the
    gradients it asks a tape for and the variables it assigns included, becomes one program.

    Args:
        func: the function; without it, a decorator is returned.
        input_signature: a `TensorSpec` for each argument: others are refused.
        autograph: whether `if`, `while` and `for` on tensors become part of the program.
        jit_compile, reduce_retracing: accepted; XLA always compiles, for fixed shapes.

    >>> import gradtape as tf
    >>> @tf.function
    ... def square(x):
    ...     return x * x
    >>> float(square(tf.constant(3.0)))
    9.0
    """
    if func is None:
        return lambda f: Function(f, input_signature, autograph)
    return Function(func, input_signature, autograph)


class Function:
    """A Python function that is compiled for each signature it is called with. Made by `function`."""

    def __init__(self, python_function: Any, input_signature: Any = None, autograph: bool = True) -> None:
        if isinstance(python_function, Function):
            python_function = python_function.python_function
        if not callable(python_function):
            raise TypeError(f"function takes a function to compile, not {python_function!r}")
        self._python_function = python_function
        self._input_signature = None if input_signature is None else tuple(_specs(input_signature))
        self._autograph = autograph
        self._programs: dict[Any, Program] = {}
        self._traces = 0
        self._made_variables = False
        self._lock = threading.RLock()
        self._bound: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        self._history: list[Any] = []  # of signatures traced, to name what changes between them
        functools.update_wrapper(self, python_function)
        self.__name__ = _name_of(python_function)

    # -- calling ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function: compiled, or as part of the function that is being traced now."""
        if local.here.trace is not None:
            return self._traceable(*args, **kwargs)
        if settings.run_functions_eagerly or not _can_compile():
            return self._python_function(*args, **kwargs)
        if kwargs or self._input_signature is not None:
            return self._sort(args, kwargs)
        key: list[Any] = []
        leaves = []
        for a in args:
            kind = type(a)
            if kind is Tensor:
                array = array_of(a)
                leaves.append(a)
                key += (array.shape, array.dtype)
            elif kind in _PLAIN:
                key += (kind, a)
            else:
                return self._sort(args, kwargs)
        program = self._programs.get(tuple(key))
        return self._sort(args, kwargs) if program is None else program(leaves)

    def _sort(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Find the program for any arguments, or make it."""
        arguments = self._arguments(args, kwargs)
        return self._program(arguments)(arguments.leaves)

    def _program(self, arguments: _Arguments) -> Program:
        from .program import Program

        program = self._programs.get(arguments.key)
        if program is not None:
            return program
        with self._lock:
            program = self._programs.get(arguments.key)
            if program is None:
                self._traces += 1
                self._notice(arguments)
                program = Program(
                    self.__name__,
                    lambda inputs: self._traceable(*arguments.of(inputs)[0], **arguments.of(inputs)[1]),
                    may_create=not self._made_variables,
                )
                program.prepare(arguments.leaves)
                self._made_variables |= program.made_variables
                self._programs[arguments.key] = program
        return program

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Arguments:
        if kwargs or self._input_signature is not None:
            args, kwargs = self._in_order(args, kwargs)
        if self._input_signature is not None:
            args = _fit(self.__name__, self._input_signature, args, kwargs)
            kwargs = {}
        return _Arguments(self.__name__, args, kwargs)

    def _in_order(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Keyword arguments in the places of positional ones where that can be: f(x=1) is f(1)."""
        signature = self._signature
        if signature is None:
            return args, kwargs
        bound = signature.bind(*args, **kwargs)
        return bound.args, bound.kwargs

    @functools.cached_property
    def _signature(self) -> inspect.Signature | None:
        try:
            return inspect.signature(self._python_function)
        except (TypeError, ValueError):
            return None

    @functools.cached_property
    def _traceable(self) -> Callable[..., Any]:
        """The function as it is traced: with AutoGraph, `if` and `while` are ours."""
        function = self._python_function
        if not self._autograph or find_spec("malt") is None:
            return function
        from .autograph.calls import called

        return function.converted(called) if isinstance(function, _Method) else called(function)

    def _notice(self, arguments: _Arguments) -> None:
        """Warn, once, if the function is traced again and again; say which argument it is that changes."""
        self._history.append(arguments)
        if len(self._history) != 5:
            return
        before = self._history[-2]
        changed = before.difference(arguments, self._signature)
        logger.warning(
            "the function %s has been traced 5 times, each of which costs far more than running it: %s. Pass numbers "
            "that change as tensors, pad tensors to one shape, and make functions once, outside of loops",
            self.__name__,
            changed,
        )
        self._history.clear()

    # -- methods ------------------------------------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        try:
            bound = self._bound.get(instance)
        except TypeError:  # no weak references, or no hash
            return functools.partial(self.__call__, instance)
        if bound is None:
            method = _Method(self._python_function, instance)
            bound = Function(method, self._input_signature and self._input_signature, self._autograph)
            self._bound[instance] = bound
        return bound

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def python_function(self) -> Any:
        """The function as it was written."""
        return self._python_function

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The specs given to `function`."""
        return self._input_signature

    def experimental_get_tracing_count(self) -> int:
        """How many signatures the function was traced for."""
        return self._traces

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The compiled function for one signature: arguments as in a call, with `TensorSpec`s for tensors if you like.

        >>> import gradtape as tf
        >>> double = tf.function(lambda x: 2.0 * x).get_concrete_function(tf.TensorSpec((2,)))
        >>> double(tf.constant([1.0, 2.0])).numpy()
        array([2., 4.], dtype=float32)
        """
        if not args and not kwargs and self._input_signature is not None:
            args = self._input_signature
        args, kwargs = nest.map_structure(_example, (args, kwargs))
        arguments = self._arguments(args, kwargs)
        return ConcreteFunction(self._program(arguments), arguments)

    def __repr__(self) -> str:
        return f"<tf.function {self.__name__}>"

    def __deepcopy__(self, memo: Any) -> Function:
        return Function(self._python_function, self._input_signature, self._autograph)

    def __reduce__(self) -> tuple[Any, ...]:
        return Function, (self._python_function, self._input_signature, self._autograph)


class ConcreteFunction:
    """A function compiled for one signature. Made by `Function.get_concrete_function`."""

    def __init__(self, program: Program, arguments: _Arguments) -> None:
        self._program = program
        self._arguments = arguments
        self.name = program.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it with tensors of the signature; what is no tensor may be left out."""
        given = [x for x in nest.flatten((args, kwargs)) if not _is_static(x)]
        leaves = [x if type(x) is Tensor else convert(x) for x in given]
        wanted = self._arguments.leaves
        if [_kind(t) for t in leaves] != [_kind(t) for t in wanted]:
            raise TypeError(
                f"{self.name} was compiled for tensors {_shown(wanted)} and cannot take {_shown(leaves)}"
            )
        return self._program(leaves)

    @property
    def structured_input_signature(self) -> tuple[Any, ...]:
        """The arguments it was compiled for, with `TensorSpec`s for tensors."""
        specs = [TensorSpec(t.shape, t.dtype) for t in self._arguments.leaves]
        return self._arguments.of(specs)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables it reads."""
        return tuple((self._program.reads or {}).values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those that are trainable."""
        return tuple(v for v in self.variables if v.trainable)

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.name} for {_shown(self._arguments.leaves)}>"


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


class _Arguments:
    """The arguments of a call: tensors apart, and a key for the rest, their shapes and dtypes."""

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs
        self.leaves: list[Tensor] = []
        self._all: list[Any] = []  # every leaf; None for a tensor
        parts: list[Any] = []
        simple = not kwargs
        for leaf in nest.flatten((args, kwargs)):
            leaf = _as_leaf(leaf)
            if type(leaf) is Tensor and array_of(leaf).dtype.kind != "O":
                array = array_of(leaf)
                self.leaves.append(leaf)
                self._all.append(_TENSOR)
                parts += (array.shape, array.dtype)
            else:
                self._all.append(leaf)
                parts += (type(leaf), _hashable(name, leaf))
        simple = simple and not any(nest.is_nested(a) for a in args)
        self.parts = parts
        self.key = tuple(parts) if simple else (nest.structure_of((args, kwargs)), *parts)

    def of(self, tensors: list[Any]) -> Any:
        """The arguments with other tensors in the tensors' places."""
        given = iter(tensors)
        leaves = [next(given) if leaf is _TENSOR else leaf for leaf in self._all]
        return nest.pack_sequence_as((self.args, self.kwargs), leaves)

    def difference(self, other: _Arguments, signature: inspect.Signature | None) -> str:
        """What differs between this call and another, in words."""
        names = list(signature.parameters) if signature is not None else []
        for i, (a, b) in enumerate(zip(self.args, other.args)):
            mine, theirs = _Arguments("", (a,), {}).key, _Arguments("", (b,), {}).key
            if mine != theirs:
                name = names[i] if i < len(names) else f"number {i + 1}"
                return f"its argument {name} was {_described(a)} and is now {_described(b)}"
        return "its arguments differ from call to call"


_TENSOR = object()


def _as_leaf(leaf: Any) -> Any:
    if isinstance(leaf, (np.ndarray, np.generic)):
        return convert(leaf)
    if isinstance(leaf, Variable) or type(leaf) in _PLAIN or type(leaf) is Tensor:
        return leaf
    if hasattr(type(leaf), "_read"):
        return leaf._read()
    return leaf


def _hashable(name: str, leaf: Any) -> Any:
    if isinstance(leaf, Variable):
        return leaf._key
    if type(leaf) is Tensor:  # of strings: part of the signature
        return leaf._array.shape, tuple(leaf._array.flat)
    try:
        hash(leaf)
    except TypeError:
        raise TypeError(
            f"the function {name} was given {leaf!r} of type {type(leaf).__name__}, which has no hash: what is no "
            "tensor is part of the signature it is compiled for. Pass a tensor, a number, a tuple or a frozenset"
        ) from None
    return leaf


def _is_static(x: Any) -> bool:
    return type(x) in _PLAIN or isinstance(x, Variable)


def _example(x: Any) -> Any:
    """A tensor like a spec."""
    if not isinstance(x, TensorSpec):
        return x
    if not x.shape.is_fully_defined():
        raise ValueError(
            f"a function is compiled for fixed shapes, and {x} leaves some open: give all lengths"
        )
    return wrap(np.broadcast_to(np.zeros((), x.dtype.numpy_dtype), tuple(x.shape)))


def _specs(signature: Any) -> Any:
    if not isinstance(signature, (list, tuple)):
        raise TypeError(
            f"input_signature must be a list or tuple of TensorSpec, one for each argument, not {signature!r}"
        )
    for spec in nest.flatten(signature):
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"input_signature must be made of TensorSpec; it holds {spec!r}")
    return signature


def _fit(
    name: str, signature: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments as tensors that fit the signature."""
    if kwargs or len(args) > len(signature):
        raise TypeError(
            f"{name} has an input_signature of {len(signature)} arguments and was given {len(args) + len(kwargs)}"
        )
    if len(args) < len(signature):
        raise TypeError(
            f"{name} has an input_signature of {len(signature)} arguments and was given {len(args)}"
        )
    try:
        nest.assert_same_structure(list(signature), list(args))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name}: the arguments are nested otherwise than the input_signature: {error}"
        ) from None
    leaves = []
    for spec, value in zip(nest.flatten(signature), nest.flatten(args), strict=True):
        try:
            tensor = convert(value, None, spec.dtype.numpy_dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name}: {spec} was asked for, and {value!r} is no tensor: {error}") from None
        if not spec.is_compatible_with(tensor):
            raise TypeError(
                f"{name}: the input_signature asks for {spec}, and the argument has shape {tensor.shape} and dtype "
                f"{tensor.dtype.name}"
            )
        leaves.append(tensor)
    return tuple(nest.pack_sequence_as(list(signature), leaves))


def _kind(tensor: Tensor) -> Any:
    array = array_of(tensor)
    return array.shape, array.dtype


def _described(x: Any) -> str:
    if isinstance(x, Tensor):
        return f"a tensor of shape {x.shape} and dtype {x.dtype.name}"
    return repr(x)


def _shown(tensors: list[Tensor]) -> str:
    return "(" + ", ".join(f"{t.dtype.name}{list(t.shape)}" for t in tensors) + ")"


class _Method:
    """A function with an object as its first argument, which it does not keep alive."""

    def __init__(self, function: Any, instance: Any) -> None:
        self._function = function
        self._instance = weakref.ref(instance)
        functools.update_wrapper(self, function)
        signature = inspect.signature(function)
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(self._instance(), *args, **kwargs)

    def converted(self, called: Callable[[Any], Any]) -> _Method:
        """The same with another function for its own."""
        result = copy.copy(self)
        result._function = called(self._function)
        return result


def _name_of(python_function: Any) -> str:
    while isinstance(python_function, functools.partial):
        python_function = python_function.func
    return getattr(python_function, "__name__", type(python_function).__name__)


# ---------------------------------------------------------------------------------------------------------------------
# The engine


@functools.cache
def _can_compile() -> bool:
    """Is JAX there? Says so once if it is not."""
    if find_spec("jax") is not None:
        return True
    logger.warning(
        "@function runs as plain Python, because JAX is not installed: pip install 'gradtape[xla]' compiles it"
    )
    return False
