"""@function: the same Python, run once with traced tensors and compiled by XLA.

Each signature (shapes and dtypes of tensors, values of everything else: see `arguments`) has one `program.Program`.
Without JAX everything runs as plain Python, and says so once.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypedDict, TypeVar, Unpack, overload

from ..core import nest
from ..core.dtypes import is_on_host
from ..core.errors import NotCompilableError, TruncatedError, UnknownShapeError
from ..core.primitive import local
from ..core.settings import settings
from ..core.tensor import Tensor, device_of
from ..core.variable import Variable
from .arguments import PLAIN, Arguments, bind, checked_signature, fit, signature_text, with_tensors
from .concrete_function import ConcreteFunction, is_known
from .function_warnings import can_compile, warn_of_giving_up, warn_of_retracing, warn_of_truncation
from .placeholders import RunsAsPython, Specialize, Text

if TYPE_CHECKING:
    from .program import Program
    from .rare_shapes import RareShapes
    from .segments import Segments

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

_MANY = 5  # traces of one function, at which it warns


class _Ignored(TypedDict, total=False):
    """Arguments of `function` that are accepted and have no effect."""

    experimental_implements: Any
    experimental_autograph_options: Any
    experimental_attributes: Any
    experimental_relax_shapes: bool | None
    experimental_compile: bool | None
    experimental_follow_type_hints: bool | None


@overload
def function(
    func: Callable[P, R],
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    **ignored: Unpack[_Ignored],
) -> Function[P, R]: ...
@overload
def function(
    func: None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    **ignored: Unpack[_Ignored],
) -> Callable[[Callable[P, R]], Function[P, R]]: ...
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
        jit_compile: whether a function that calls Python in ways that XLA cannot compile is refused: without the shape
            of the result, or in a loop of unknown length whose gradient is needed. By default such functions run
            operation by operation, and say so once, as do all whose shapes depend on values.
        reduce_retracing: whether to expect tensors of many shapes, as an `input_signature` with open lengths does. XLA
            compiles for fixed shapes: the function is then compiled for the first shape, and for another one only when
            that has come often. Until then such calls run operation by operation.
        experimental_implements, experimental_autograph_options, experimental_attributes, experimental_relax_shapes,
            experimental_compile, experimental_follow_type_hints: accepted, and ignored.

    Raises:
        TypeError: if `func` is no function, or `input_signature` is not made of `TensorSpec`s that fit it.

    >>> import gradtape as tf
    >>> @tf.function
    ... def square(x):
    ...     return x * x
    >>> float(square(tf.constant(3.0)))
    9.0
    """
    options = input_signature, autograph, jit_compile, reduce_retracing
    return (lambda f: Function(f, *options)) if func is None else Function(func, *options)


class Function(Generic[P, R]):
    """A Python function that is compiled for each signature it is called with. Made by `function`.

    >>> import gradtape as tf
    >>> @tf.function
    ... def double(x):
    ...     return x * 2.0
    >>> isinstance(double, tf.types.experimental.GenericFunction), float(double(3.0))
    (True, 6.0)
    """

    def __init__(
        self,
        python_function: Any,
        input_signature: Any = None,
        autograph: bool = True,
        jit_compile: bool | None = None,
        reduce_retracing: bool = False,
    ) -> None:
        if isinstance(python_function, Function):
            python_function = python_function.python_function
        if not callable(python_function):
            raise TypeError(f"function takes a function to compile, not {python_function!r}")
        self._python_function = python_function
        self._autograph = autograph
        self._jit_compile = jit_compile
        self._reduce_retracing = reduce_retracing
        functools.update_wrapper(self, python_function)
        self.__name__ = _name_of(python_function)
        self._input_signature = (
            None
            if input_signature is None
            else checked_signature(self.__name__, input_signature, self._signature)
        )
        _functions.add(self)
        self._programs: dict[Any, Program] = {}  # by cache key
        self._shortcuts: dict[Any, Program] = {}  # the same by the key of a simple call: see `_shortcut`
        self._not_compilable = False  # whether it does what XLA cannot compile,
        self._was_truncated = False  # or did so in a call
        # Whether it runs as Python in replicas that are threads: it asks for its replica, or no pass can note it.
        self.is_python_in_replicas = False
        self._traces = 0
        self._created_variables = False
        self._specialized: frozenset[type] = frozenset()  # see `placeholders.Specialize`
        self._concrete: list[ConcreteFunction] = []  # those that were asked for
        self._lock = threading.RLock()
        self._methods: dict[
            int, tuple[Any, Function[..., Any]]
        ] = {}  # by the id of an object, to which there is a reference
        self._last: list[tuple[str, str]] = []  # names and descriptions of the arguments of the last trace

    # -- calling ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function: compiled, or as part of the function that is being traced now."""
        here = local.here
        if (
            kwargs
            or here.tapes
            or here.trace is not None
            or here.hot is not None
            or here.replica is not None
            or settings.run_functions_eagerly
        ):
            return self._call(args, kwargs)
        arrays: list[Any] = []
        key: list[Any] = []
        try:
            for a in args:
                array = device_of(a)
                arrays.append(array)
                key.append(array.aval)
            execute = self._shortcuts[tuple(key)].executable.execute_fast  # type: ignore[union-attr]
        except (AttributeError, TypeError, KeyError):  # not only tensors, or not in compiled code before
            execute = None
        if execute is None:
            return self._call(args, kwargs)
        try:
            return execute(arrays)
        except TruncatedError as error:
            return self._call_once(error, args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.is_python_in_replicas and local.here.replica is not None and local.here.trace is None:
            return self._run_as_python(args, kwargs)
        hot = local.here.hot
        if hot is not None:
            if settings.run_functions_eagerly or self._not_compilable or not can_compile():
                hot.interrupt("a function is called that runs as Python")
            else:
                result = hot.call(self, args, kwargs)
                if result is not NotImplemented:
                    return result
        if local.here.trace is not None:
            return self._converted(*args, **kwargs)
        if settings.run_functions_eagerly or not can_compile():
            return self._python_function(*args, **kwargs)
        if self._not_compilable:
            return self._segments.run(self._run_python, *self._plain_arguments(args, kwargs))
        if any(hasattr(type(a), "_steps_outside") and self._steps_outside(a) for a in args):
            return self._python_function(*args, **kwargs)
        try:
            return self._call_compiled(args, kwargs)
        except TruncatedError as error:
            return self._call_once(error, args, kwargs)
        except NotCompilableError as error:
            if self._jit_compile and not isinstance(error, UnknownShapeError):
                raise
            self._give_up(error)
        except RunsAsPython:
            self.is_python_in_replicas |= local.here.replica is not None
            return self._run_as_python(args, kwargs)
        return self._segments.run(self._run_python, *self._plain_arguments(args, kwargs))

    def _run_python(self, *args: Any, **kwargs: Any) -> Any:
        """Run the Python of the function, operation by operation."""
        from .graph_tape import GraphTape
        from .plain_runs import run_python

        try:
            return run_python(self._python_function, args, kwargs, GraphTape in self._specialized)
        except Specialize as asked:
            self._specialized |= {asked.kind}
            return self._run_python(*args, **kwargs)

    def _plain_arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments for `_run_python`: tensors for NumPy's arrays, and for all that the signature asks for."""
        if not kwargs and self._input_signature is None and all(type(a) is Tensor for a in args):
            return args, kwargs
        return with_tensors(*self._bound(args, kwargs))

    def _run_as_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one call as plain Python; what it gives to `Strategy.run` is compiled."""
        here = local.here
        before, here.in_function = here.in_function, True
        try:
            return self._python_function(*args, **kwargs)
        finally:
            here.in_function = before

    def _steps_outside(self, iterator: Any) -> bool:
        """Return whether the function runs as plain Python, which compiled functions are called from.

        So it does with an iterator whose elements have open shapes, and if its author wants it left as it is.
        """
        return not getattr(self._python_function, "__converts__", True) or iterator._steps_outside

    def _call_once(self, error: TruncatedError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one call operation by operation, after the compiled program has stopped and changed nothing."""
        if any(program.has_side_effects for program in self._programs.values()):
            raise error
        if not self._was_truncated:
            self._was_truncated = True
            warn_of_truncation(self.__name__, self._python_function, error)
        args, kwargs = self._plain_arguments(args, kwargs)
        return self._run_python(*args, **kwargs)

    def _give_up(self, error: NotCompilableError) -> None:
        """Run operation by operation from now on."""
        from .graph_tape import GraphTape
        from .plain_runs import mentions_gradients

        if mentions_gradients(self._python_function):
            self._specialized |= {GraphTape}
        self._not_compilable = True
        self._programs, self._shortcuts = {}, {}
        warn_of_giving_up(self.__name__, self._python_function, error)

    def _call_compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_plain = not kwargs and local.here.replica is None
        shortcut, tensors = _shortcut(args) if is_plain else (None, [])
        program = self._shortcuts.get(shortcut)
        if program is not None:
            return program(tensors)
        arguments = None
        if self._has_open_lengths and self._programs:
            rare = self._rare_shapes
            if rare.count_again(args, kwargs, self._programs):
                return rare.run(self._run_python, args, {})
            arguments = self._arguments(args, kwargs)
            if rare.count(args, arguments, self._programs):
                return rare.run(self._run_python, *arguments.as_tensors())
        program, leaves = self._find(args, kwargs, arguments)
        if settings.called_programs is not None:
            settings.called_programs.append((self.__name__, program))
        if shortcut is not None and not program.unshaped and list(map(id, tensors)) == list(map(id, leaves)):
            self._shortcuts[shortcut] = program
        return self._run(program, leaves, args, kwargs)

    @functools.cached_property
    def _has_open_lengths(self) -> bool:
        """Whether tensors of many shapes are to be expected, and need not be compiled for each."""
        specs = nest.flatten(self._input_signature or ())
        is_open = self._reduce_retracing or not all(map(is_known, specs))
        return is_open and not self._jit_compile

    @functools.cached_property
    def _rare_shapes(self) -> RareShapes:
        from .rare_shapes import RareShapes

        return RareShapes()

    @functools.cached_property
    def _segments(self) -> Segments:
        from .segments import Segments

        return Segments(self.__name__)

    def _run(self, program: Program, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return program(leaves)
        except Specialize as asked:  # when traced again, under a tape
            self._specialized |= {asked.kind}
            return self._run(*self._find(args, kwargs), args, kwargs)

    def _find(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], arguments: Arguments | None = None
    ) -> tuple[Program, list[Any]]:
        """The program for these arguments, and the tensors and variables among them."""
        arguments = arguments or self._arguments(args, kwargs)
        leaves = arguments.leaves
        try:
            return self._cached(arguments), leaves
        except Specialize as asked:
            self._specialized |= {asked.kind}
            return self._find(args, kwargs)

    def _cached(self, arguments: Arguments) -> Program:
        program = self._programs.get(arguments.key)
        if program is None:
            with self._lock:
                program = self._programs.get(arguments.key)
                return self._trace(arguments) if program is None else program
        if arguments.variables:
            _check_names(program, arguments)
        return program

    def _prepared(self, arguments: Arguments) -> Program:
        """Trace the function for some arguments."""
        from .program import Program

        def run(inputs: list[Tensor]) -> Any:
            args, kwargs = arguments.with_placeholders(inputs)
            return self._traced(args, kwargs)

        program = Program(
            self.__name__,
            run,
            arguments,
            may_create=not self._created_variables,
            at_once=bool(self._jit_compile),
        )
        program.prepare(program.read(arguments.leaves))
        return program

    def _trace(self, arguments: Arguments) -> Program:
        program = self._prepared(arguments)
        _check_names(program, arguments)
        self._traces += 1
        self._warn_of_retracing(arguments)
        if arguments.specialize_texts():
            self._specialized |= {Text}
        arguments.forget()
        self._created_variables |= program.created_variables
        self._programs = {key: p for key, p in self._programs.items() if not p.is_dead}
        self._shortcuts = {key: p for key, p in self._shortcuts.items() if not p.is_dead}
        self._programs[arguments.key] = program
        return program

    def _example(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """A program to look at, which no call finds."""
        program = self._prepared(self._arguments(args, kwargs))
        self._created_variables |= program.created_variables
        return program

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        return Arguments(self.__name__, *self._bound(args, kwargs), self._specialized)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by their places, and as the signature asks for them."""
        args, kwargs = bind(self.__name__, self._signature, args, kwargs)
        if self._input_signature is not None:
            args = fit(self.__name__, self._input_signature, args, kwargs, self._defaults)
        return args, kwargs

    @functools.cached_property
    def _signature(self) -> inspect.Signature | None:
        try:
            return inspect.signature(self._python_function)
        except (TypeError, ValueError):
            return None

    @property
    def _names(self) -> list[str]:
        return [] if self._signature is None else list(self._signature.parameters)

    @property
    def _defaults(self) -> list[Any]:
        """The defaults of the parameters after those of the input_signature."""
        if self._signature is None or self._input_signature is None:
            return []
        parameters = list(self._signature.parameters.values())[len(self._input_signature) :]
        return [p.default for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]

    @functools.cached_property
    def _converted(self) -> Callable[..., Any]:
        """The function as it is traced: converted by AutoGraph, unless that is off."""
        function = self._python_function
        if not self._autograph or find_spec("malt") is None:
            return function
        from .autograph.conversion import called

        return function.converted(called) if isinstance(function, _Method) else called(function)

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function in a trace; under a tape if it calls `tf.gradients`."""
        from .graph_tape import GraphTape

        if GraphTape not in self._specialized:
            return self._converted(*args, **kwargs)
        with GraphTape():
            return self._converted(*args, **kwargs)

    def _warn_of_retracing(self, arguments: Arguments) -> None:
        """Warn, once, if the function is traced again and again; name the argument that changes."""
        if self._traces > _MANY:
            return
        before, self._last = self._last, arguments.described(self._names)
        if self._traces == _MANY:
            warn_of_retracing(self.__name__, self._python_function, _MANY, before, self._last)

    # -- methods ------------------------------------------------------------------------------------------------------

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Function[P, R]: ...
    @overload
    def __get__(
        self: Function[Concatenate[Any, Q], R], instance: object, owner: Any = None
    ) -> Function[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The method of an object: each object has a function of its own, which is dropped with the object."""
        if instance is None:
            return self
        found = self._methods.get(id(instance))
        if found is not None:
            return found[1]
        try:
            reference = weakref.ref(instance, functools.partial(_drop, self._methods, id(instance)))
        except TypeError:  # no weak references to it
            return functools.partial(self.__call__, instance)
        method: Function[..., Any] = Function(_Method(self._python_function, instance), *self._options)
        self._methods[id(instance)] = reference, method
        return method

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
        """The number of signatures that the function was traced for."""
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
        concrete = ConcreteFunction(self, *bind(self.__name__, self._signature, args, kwargs))
        known = next((other for other in self._concrete if concrete.is_like(other)), None)
        if known is None:
            self._concrete.append(concrete)
        return known or concrete

    def _list_all_concrete_functions(self) -> list[ConcreteFunction]:
        """The concrete functions that were asked for, and those for the signatures of calls.

        (The name is TensorFlow's, for Keras.)
        """
        if self._input_signature is not None:
            self.get_concrete_function()
            return [*self._concrete]
        found = [*self._concrete]
        for program in [*self._programs.values()]:
            assert program.arguments is not None
            concrete = ConcreteFunction(self, *program.arguments.specs())
            if not any(concrete.is_like(other) for other in found):
                found.append(concrete)
        return found

    def _trackable_children(self, save_type: str = "checkpoint", **options: Any) -> dict[str, Any]:
        """The concrete functions by number, as TensorFlow names them for Keras."""
        return {f"trace_{i}": each for i, each in enumerate(self._list_all_concrete_functions())}

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The signatures that the function was traced for: arguments, results and variables of each.

        Args:
            verbose: accepted; no effect.

        >>> import gradtape as tf
        >>> double = tf.function(lambda x: 2.0 * x)
        >>> _ = double(tf.constant(1.0))
        >>> print(double.pretty_printed_concrete_signatures())
        <lambda>(x)
          x: TensorSpec(shape=(), dtype=tf.float32, name=None)
          returns: TensorSpec(shape=(), dtype=tf.float32, name=None)
        """
        return "\n\n".join(
            signature_text(
                self.__name__, self._signature, *p.arguments.signature(), p.outputs, p.variables.values()
            )
            for p in self._programs.values()
            if p.arguments is not None
        )

    def __repr__(self) -> str:
        return f"<tf.function {self.__name__}>"

    def __deepcopy__(self, memo: Any) -> Function[P, R]:
        # A method of an object that is copied is one of the copy.
        return Function(copy.deepcopy(self._python_function, memo), *self._options)

    @property
    def _options(self) -> tuple[Any, ...]:
        return self._input_signature, self._autograph, self._jit_compile, self._reduce_retracing

    def __reduce__(self) -> str | tuple[Any, ...]:
        name = getattr(self, "__qualname__", "")
        if getattr(sys.modules.get(self.__module__), name, None) is self:
            return name  # pickled by name
        return Function, (self._python_function, *self._options)


def _shortcut(args: tuple[Any, ...]) -> tuple[tuple[Any, ...] | None, list[Tensor]]:
    """A key for positional tensors, plain values and tuples of them, and the tensors; None for other calls.

    It takes 0.5 us for each argument, and the cache key ten times that.
    """
    key: list[Any] = []
    tensors = []
    for a in args:
        kind = type(a)
        if kind is Tensor:
            try:
                key.append(device_of(a).aval)
            except AttributeError:  # not in compiled code before
                array = a._array
                if is_on_host(array):
                    return None, []
                key.append((array.shape, array.dtype))
            tensors.append(a)
        elif kind in PLAIN:
            key += (kind, a)
        elif kind is float:
            key += (kind, a.hex())
        elif kind is tuple:  # a batch of Keras: inputs and targets
            inner, found = _shortcut(a)
            if inner is None:
                return None, []
            key += (kind, inner)
            tensors += found
        else:
            return None, []
    return tuple(key), tensors


def _check_names(program: Program, arguments: Arguments) -> None:
    """Specialize if the function also uses a variable that is an argument by another name."""
    if not program.variables.keys().isdisjoint(arguments.variables):
        raise Specialize(Variable)


def _drop(methods: dict[int, Any], number: int, reference: Any) -> None:
    del methods[number]


class _Method:
    """A function with an object as its first argument, to which it has a weak reference."""

    def __init__(self, function: Any, instance: Any) -> None:
        self._function = function
        self._instance = weakref.ref(instance)
        functools.update_wrapper(self, function)
        signature = inspect.signature(function)
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        instance = self._instance()
        if instance is None:
            raise ReferenceError(
                f"the object that the method {_name_of(self)} belongs to is gone: keep it in a variable, as in "
                "`model = Model(); model.step(x)`"
            )
        return self._function(instance, *args, **kwargs)

    def converted(self, called: Callable[[Any], Any]) -> _Method:
        """The method of a converted function."""
        result = copy.copy(self)
        result._function = called(self._function)
        return result


_functions: weakref.WeakSet[Function[..., Any]] = weakref.WeakSet()


def note_calls(noted: list[tuple[str, Any]] | None) -> None:
    """Note the name and the program of each function that is called from now on, once; None ends it."""
    settings.called_programs = noted
    if noted is not None:
        for function in list(_functions):
            function._shortcuts = {}  # which lead past the note


def _name_of(python_function: Any) -> str:
    while isinstance(python_function, functools.partial):
        python_function = python_function.func
    return getattr(python_function, "__name__", type(python_function).__name__)
