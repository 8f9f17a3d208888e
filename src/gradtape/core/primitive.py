"""Primitives, and `apply`, the one door through which every operation goes.

A primitive is a pure function on arrays with the rules for its gradient beside it. `apply` computes it on the arrays
of its inputs and tells the open tapes. `ops` and `structural` define primitives; tapes listen; neither knows the other.
"""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import Callable, Container, Iterable
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy import asarray, generic, ndarray

from ..engine.arrays import as_array, is_traced, xp
from . import dtypes
from .errors import DTypeError, IndexOutOfBoundsError, InvalidArgumentError, OpError, ResourceExhaustedError
from .facts import NO_FACTS, Facts
from .settings import settings
from .tensor import Tensor, form_of, new_tensor, rank, wrap
from .tensor_conversion import convert, scalar
from .trace_errors import escape, is_escape, needs_values, not_compilable


class Here:
    """The state of one thread: its listeners, a context in which NumPy does not warn, the trace and the name scope.

    TensorFlow computes inf and nan in silence. `np.errstate` around each operation costs 1.5 us; running the function
    in a context of its own, in which NumPy's error state says ignore, costs 0.05 us.
    """

    __slots__ = (
        "across",
        "any_length",
        "draw",
        "hot",
        "in_function",
        "is_inside",
        "replica",
        "run",
        "runs_function",
        "scope",
        "tapes",
        "trace",
    )

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run
        self.tapes: list[Listener] = []
        self.draw: Any = None  # replaces how random operations find their numbers: see `draws`
        self.scope = ""  # the prefix of the names of new variables
        self.hot: Any = None  # notes or answers what goes through the door: see `hot`
        self.is_inside = (
            False  # whether Python code of the user runs inside an operation or a sweep: see `inside`
        )
        self.trace: Any = None  # of the @function that is being traced: it holds the variables' values
        self.in_function = False  # whether the Python of a @function runs that cannot be traced as a whole
        self.runs_function = False  # whether that Python runs operation by operation, for whatever reason
        self.replica: Any = None  # the one of several that runs: it aggregates what is assigned to variables
        self.across = False  # whether code of a strategy's scope runs, outside of its replicas
        self.any_length = (
            False  # whether what is traced is for other lengths as well: one program for small and large
        )


class Listener:
    """The events that `apply` and variables send to tapes and their kin. This one ignores them."""

    # The keys of variables that are watched already: further reads outside of a trace send no event.
    _watched: Container[int] = ()
    # Whether it lets hot tapes compute without it: see `hot`.
    _steps_aside = False

    def _on_operation(
        self, primitive: Primitive, inputs: tuple[Tensor, ...], attributes: Any, out: Any
    ) -> None:
        """A primitive was applied."""

    def _on_custom(self, plan: Any, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        """`outputs` were computed by other means; `plan` pulls gradients of all of them back to all inputs."""

    def _on_capture(self, tensor: Tensor) -> None:
        """A tensor is used in a part of the program whose operations are not told of one by one."""

    def _on_read(self, variable: Any) -> None:
        """A variable was read."""

    def _knows(self, key: int) -> bool:
        """Return whether an operation on the tensor or variable with this key would be recorded."""
        return False

    def _inside(self, tape: Listener) -> list[Any] | None:
        """The records made so far of a block inside of `tape`; None unless this listener records one."""
        return None


class _Local(threading.local):
    def __init__(self) -> None:
        self.here = Here()


local = _Local()


_SAME: Any = object()


class listeners:
    """A block whose operations only these listeners are told of; `trace`, if given, replaces the trace."""

    __slots__ = ("_before", "_here", "_tapes", "_trace")

    def __init__(self, tapes: list[Listener], trace: Any = _SAME) -> None:
        self._tapes = tapes
        self._trace = trace

    def __enter__(self) -> None:
        self._here = here = local.here
        self._before = here.tapes, here.trace
        here.tapes = self._tapes
        if self._trace is not _SAME:
            here.trace = self._trace

    def __exit__(self, *exception: object) -> None:
        self._here.tapes, self._here.trace = self._before


def no_recording() -> listeners:
    """A block that no tape of this thread records."""
    return listeners([])


def outside() -> listeners:
    """A block outside of any @function that is being traced, which no tape records."""
    return listeners([], None)


class inside:
    """A block inside an operation or a sweep: a tape that is entered in it begins no pass of a hot tape."""

    __slots__ = ("_before", "_here")

    def __enter__(self) -> None:
        self._here = here = local.here
        self._before = here.is_inside
        here.is_inside = True

    def __exit__(self, *exception: object) -> None:
        self._here.is_inside = self._before


def leave_hot(reason: str) -> None:
    """End the pass of a hot tape in this thread, before something that no trace can have: see `hot`."""
    hot = local.here.hot
    if hot is not None:
        hot.interrupt(reason)


class Primitive:
    """A pure function on arrays, and its rules.

    Called on arrays it just computes; called with a tensor among its inputs it goes through `apply`. That is how one
    rule serves first and higher orders alike.

    Positional parameters are inputs, keyword-only parameters are attributes (static, hashable); `*xs` takes any
    number of inputs.

    Args:
        forward: the function on arrays.
        name: the key in the registry; errors and tapes show it.
        inputs: the names of the inputs.
        attributes: the names of the attributes.
        variadic: takes any number of inputs, all under the one name in `inputs`.
        elementwise: broadcasts, which plans undo in the gradients.
        linear: is linear in all inputs that have a rule, together.
        multilinear: is linear in each input by itself.
        mixed: takes inputs of different dtypes.
        multiple: returns a tuple.
        wide: accumulates many numbers, so that half precision is computed in float32 and rounded once, in the
            function and in its rules; "rules" if the function itself sees to that.
        check_dtype: called if the result's dtype differs from the inputs' or they are booleans; it raises, or
            returns the result: see `numbers`.
        facts: what is known of the operation: see `Facts`.
    """

    __slots__ = (
        "__weakref__",
        "_widens",
        "attributes",
        "check_dtype",
        "elementwise",
        "facts",
        "forward",
        "inputs",
        "linear",
        "mixed",
        "multilinear",
        "multiple",
        "name",
        "plans",
        "rule",
        "variadic",
        "wide",
    )

    registry: ClassVar[dict[str, Primitive]] = {}

    def __init__(
        self,
        forward: Callable[..., Any],
        name: str,
        inputs: tuple[str, ...],
        attributes: tuple[str, ...] = (),
        *,
        variadic: bool = False,
        elementwise: bool = False,
        linear: bool = False,
        multilinear: bool = False,
        mixed: bool = False,
        multiple: bool = False,
        wide: bool | Literal["rules"] = False,
        check_dtype: Callable[[Primitive, list[Any], Any], Any] | None = None,
        **facts: Any,
    ) -> None:
        self.forward = forward
        self.name = name
        self.inputs = inputs
        self.attributes = attributes
        self.variadic = variadic
        self.elementwise = elementwise
        self.linear = linear
        self.multilinear = multilinear
        self.mixed = mixed
        self.multiple = multiple
        self.wide = bool(wide)
        self.check_dtype = check_dtype
        self.facts = Facts(**facts) if facts else NO_FACTS
        self._widens = wide is True
        if self._widens:
            self.forward = _in_float32(forward, inputs, attributes)
        self.rule: dict[str, Callable[..., Any]] = {}
        self.plans: dict[int, Any] = {}  # filled by `plan_for`
        if name in Primitive.registry:
            raise ValueError(f"there is a primitive {name!r} already")
        if elementwise and len(inputs) > 3:
            raise ValueError(
                f"{name}: tapes look at the shapes of up to three inputs of an elementwise primitive"
            )
        Primitive.registry[name] = self

    def rules(self, **rules: Callable[..., Any]) -> None:
        """Set the rule for each input by its name: a function from the output's gradient `g` to that input's.

        A rule's parameters say what the tape keeps: `g`, `out`, an input by name, `x_shape`, `out_shape`, an attribute
        by name; for a primitive of any number of inputs `xs` also `xs_shapes` and `position`. `g` may have extra axes
        in front; with several outputs `g` is a tuple, and `gs` is the same with None instead of zeros for unused
        outputs. Rules are the plain transpose: the tape conjugates complex gradients at its edges.
        """
        unknown = rules.keys() - set(self.inputs)
        if unknown:
            raise ValueError(f"{self.name} has no input named {', '.join(sorted(unknown))}")
        self.rule.update(rules)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the function on JAX's arrays, where that is another program than `forward` on NumPy's.

        It takes what `forward` takes.
        """
        forward = inspect.unwrap(self.forward)
        both = _by_engine(forward, function, self.inputs, self.attributes)
        self.forward = _in_float32(both, self.inputs, self.attributes) if self._widens else both
        return function

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        for x in inputs:
            if type(x) is Tensor:
                return apply(self, inputs, attributes)
        return self.forward(*inputs, **attributes)

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _primitive_named, (self.name,)

    def rule_of(self, position: int) -> Callable[..., Any] | None:
        """The rule of the input at a position, or None."""
        return self.rule.get(self.inputs[0 if self.variadic else position])


def _primitive_named(name: str) -> Primitive:
    return Primitive.registry[name]


@overload
def primitive(forward: Callable[..., Any]) -> Primitive: ...
@overload
def primitive(**options: Any) -> Callable[[Callable[..., Any]], Primitive]: ...
def primitive(forward: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a primitive of a function on arrays. Its signature tells inputs from attributes."""
    if forward is None:
        return lambda function: primitive(function, **options)
    code = inspect.unwrap(forward).__code__  # ten times quicker to read than a signature
    inputs = code.co_varnames[: code.co_argcount]
    attributes = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    variadic = bool(code.co_flags & inspect.CO_VARARGS)
    if variadic:
        inputs = (code.co_varnames[code.co_argcount + code.co_kwonlyargcount],)
    name = options.pop("name", forward.__name__)
    return Primitive(forward, name, inputs, attributes, variadic=variadic, **options)


def _signature(inputs: tuple[str, ...], attributes: tuple[str, ...]) -> tuple[str, str]:
    """The parameters of a function on arrays, and the same as arguments of a call, as text."""
    parameters = ", ".join([*inputs, *(["*"] if attributes else []), *attributes])
    return parameters, ", ".join([*inputs, *(f"{name}={name}" for name in attributes)])


def _by_engine(
    forward: Callable[..., Any],
    compiled: Callable[..., Any],
    inputs: tuple[str, ...],
    attributes: tuple[str, ...],
) -> Callable[..., Any]:
    """Dispatch by the arrays: `forward` for NumPy's, `compiled` if one is JAX's."""
    parameters, arguments = _signature(inputs, attributes)
    all_numpys = " and ".join(f"class_of({name}) is ndarray" for name in inputs)  # written out: 0.05 us
    dispatch = eval(
        f"lambda {parameters}: "
        f"(forward if {all_numpys} or xp({', '.join(inputs)}) is np else compiled)({arguments})",
        {"forward": forward, "compiled": compiled, "xp": xp, "np": np, "ndarray": ndarray, "class_of": type},
    )
    dispatch.__wrapped__ = forward
    return dispatch


# ---------------------------------------------------------------------------------------------------------------------
# Half precision: a sum in bfloat16 stands still at 256 times its terms, one in float16 overflows at 65504


def _in_float32(
    forward: Callable[..., Any], inputs: tuple[str, ...], attributes: tuple[str, ...]
) -> Callable[..., Any]:
    """The same function on arrays, with half precision in float32. Generated with its signature: 0.1 us less."""
    parameters, arguments = _signature(inputs, attributes)
    widened = eval(
        f"lambda {parameters}: forward({arguments}) if {inputs[0]}.dtype.char not in HALF "
        f"else rounded(forward, {arguments})",
        {"forward": forward, "rounded": rounded, "HALF": dtypes.HALF},
    )
    widened.__wrapped__ = forward
    return widened


def rounded(forward: Callable[..., Any], *arrays: Any, **attributes: Any) -> Any:
    """Call `forward` with the half precision of the first array or tensor widened to float32; round the result."""
    half = (arrays[0]._array if type(arrays[0]) is Tensor else arrays[0]).dtype
    return recast(forward(*recast(arrays, half, np.float32), **attributes), np.float32, half)


def recast(value: Any, source: Any, dtype: Any, watched: bool = True) -> Any:
    """Cast arrays and tensors of the dtype `source`, also inside tuples; leave anything else as it is.

    The casts of tensors are recorded if `watched`.
    """
    if type(value) is tuple:
        return tuple([recast(part, source, dtype, watched) for part in value])
    if type(value) is not Tensor:
        return value.astype(dtype) if getattr(value, "dtype", None) == source else value
    if value._array.dtype != source:
        return value
    if not watched:
        return wrap(value._array.astype(dtype))
    return cast_(value, dtype=np.dtype(dtype).name, source=np.dtype(source).name)


@primitive(
    linear=True, name="cast", moves=True, words="The gradient passes unchanged, in the dtype of the input."
)
def cast_(x: Any, *, dtype: str, source: str) -> Any:
    """Cast between floating and complex dtypes. The rule casts back to `source`."""
    return cast_array(x, dtype)


cast_.rules(x=lambda g, dtype, source: cast_(g, dtype=source, source=dtype))


def cast_array(x: Any, dtype: str) -> Any:
    """An array in the dtype of this name; of complex numbers, real dtypes take the real part."""
    if x.dtype.kind == "c" and not dtype.startswith("complex"):
        x = x.real
    kind = dtypes.as_dtype(dtype).numpy_dtype
    if type(x) is ndarray and dtype != "uint32":
        return x.astype(kind)
    if kind.kind in "iu" and dtype != "uint64" and dtypes.as_dtype(x.dtype).is_floating:
        return _as_integers(x, kind)
    return x.astype(kind)


def _as_integers(x: Any, kind: Any) -> Any:
    """Floats as integers. What does not fit a smaller dtype wraps around, as in C; by XLA it would be cut off."""
    wide: Any = np.dtype(np.int64 if kind.itemsize == 8 or kind == np.uint32 else np.int32)
    whole = x.astype(wide)
    if type(x) is not ndarray:
        smallest = np.iinfo(wide).min  # for nan, inf and what is too large for `wide`
        whole = xp(x).where(x < -float(smallest), whole, wide.type(smallest))
    return whole.astype(kind)


# ---------------------------------------------------------------------------------------------------------------------
# The door


def apply(primitive: Primitive, inputs: tuple[Any, ...], attributes: dict[str, Any] | None = None) -> Any:
    """Compute `primitive` on `inputs` and tell the listeners. Returns a tensor, or a tuple for several outputs.

    Inputs that are no tensors are converted: variables are read, Python and NumPy values take the dtype of the tensors
    among the inputs.
    """
    here = local.here
    for x in inputs:
        if type(x) is not Tensor:
            inputs = as_tensors(primitive, inputs)
            break
    arrays = [x._array for x in inputs]
    dtype = arrays[0].dtype
    if not primitive.mixed:
        for array in arrays:
            if array.dtype is not dtype and array.dtype != dtype:
                raise _dtypes_differ(primitive, arrays)
    try:
        if attributes:
            result = here.run(primitive.forward, *arrays, **attributes)
        else:
            result = here.run(primitive.forward, *arrays)
    except Exception as error:
        result = recover(primitive, arrays, attributes, error)
    if primitive.multiple:
        out: Any = tuple([wrap(a if type(a) is ndarray else as_array(a)) for a in result])
    else:
        if type(result) is not ndarray:
            result = asarray(result) if isinstance(result, generic) else as_array(result)
        if (result.dtype is not dtype or dtype is _BOOL) and primitive.check_dtype is not None:
            result = primitive.check_dtype(primitive, arrays, result)
        out = new_tensor()
        out._array = result
        out._key = 0
    if here.tapes:
        for tape in here.tapes:
            tape._on_operation(primitive, inputs, attributes, out)
    return out


def apply1(primitive: Primitive, x: Any, attributes: dict[str, Any] | None = None) -> Tensor:
    """`apply(primitive, (x,), attributes)` for one output, unrolled: half of the overhead."""
    here = local.here
    if type(x) is not Tensor:
        x = convert(x)
    array = x._array
    try:
        if attributes:
            result = here.run(primitive.forward, array, **attributes)
        else:
            result = here.run(primitive.forward, array)
    except Exception as error:
        result = recover(primitive, [array], attributes, error)
    if type(result) is not ndarray:
        result = asarray(result) if isinstance(result, generic) else as_array(result)
    dtype = array.dtype
    if (result.dtype is not dtype or dtype is _BOOL) and primitive.check_dtype is not None:
        result = primitive.check_dtype(primitive, [array], result)
    out = new_tensor()
    out._array = result
    out._key = 0
    if here.tapes:
        inputs = (x,)
        for tape in here.tapes:
            tape._on_operation(primitive, inputs, attributes, out)
    return out


def apply2(primitive: Primitive, x: Any, y: Any) -> Tensor:
    """`apply(primitive, (x, y))`, unrolled in the same way."""
    here = local.here
    if type(x) is not Tensor or type(y) is not Tensor:
        x, y = as_tensors2(primitive, x, y)
    a = x._array
    b = y._array
    dtype = a.dtype
    if b.dtype is not dtype and b.dtype != dtype:
        if settings.promote is None:
            raise _dtypes_differ(primitive, [a, b])
        return apply2(primitive, *settings.promote((x, y)))
    try:
        result = here.run(primitive.forward, a, b)
    except Exception as error:
        result = recover(primitive, [a, b], None, error)
    if type(result) is not ndarray:
        result = asarray(result) if isinstance(result, generic) else as_array(result)
    if (result.dtype is not dtype or dtype is _BOOL) and primitive.check_dtype is not None:
        result = primitive.check_dtype(primitive, [a, b], result)
    out = new_tensor()
    out._array = result
    out._key = 0
    if here.tapes:
        inputs = (x, y)
        for tape in here.tapes:
            tape._on_operation(primitive, inputs, None, out)
    return out


_BOOL = np.dtype(bool)


def numbers(primitive: Primitive, arrays: list[Any], result: Any) -> Any:
    """For `check_dtype`: numbers of any dtype, but no booleans."""
    if arrays[0].dtype.kind == "O":
        raise DTypeError(f"{primitive.name} takes numbers, not strings")
    if arrays[0].dtype.kind == "b":
        raise DTypeError(
            f"{primitive.name} does not take dtype bool: cast to a number first, as in cast(x, 'float32')"
        )
    return result


def floats(primitive: Primitive, arrays: list[Any], result: Any) -> Any:
    """For `check_dtype`: floating and complex dtypes only."""
    if not dtypes.is_differentiable(arrays[0]):
        raise DTypeError(
            f"{primitive.name} takes floating or complex tensors, not {dtypes.of(arrays[0]).name}: "
            "use cast(x, 'float32'), or write 2.0 for 2"
        )
    return result


def reals(primitive: Primitive, arrays: list[Any], result: Any) -> Any:
    """For `check_dtype` of operations that need an order: no complex numbers, booleans or strings."""
    if arrays[0].dtype.kind in "bcO":
        raise DTypeError(
            f"{primitive.name} takes real numbers, not {dtypes.of(arrays[0]).name}, which has no order"
        )
    return result


def form_in_pass(tensor: Tensor) -> Any:
    """`form_of`, which in the pass of a hot tape would first look for an array in vain: 0.6 us more."""
    if local.here.hot is not None:
        try:
            promise = tensor._both
        except AttributeError:
            return form_of(tensor)
        if type(promise) is tuple and type(promise[1]) is not tuple:
            return promise[1]
    return form_of(tensor)


def rank_in_pass(tensor: Tensor) -> int:
    """`rank`, likewise."""
    if local.here.hot is not None:
        try:
            promise = tensor._both
        except AttributeError:
            return rank(tensor)
        if type(promise) is tuple:
            return len(promise[1][1])
    return rank(tensor)


def ordered(primitive: Primitive, out: Tensor) -> Tensor:
    """Refuse complex numbers and strings, which have no order, in the result of an operation."""
    if form_in_pass(out).dtype.kind in "cO":
        reals(primitive, [out._array], None)
    return out


def real_floats(primitive: Primitive, arrays: list[Any], result: Any) -> Any:
    """For `check_dtype`: floating dtypes only."""
    if not dtypes.is_differentiable(arrays[0]) or arrays[0].dtype.kind == "c":
        raise DTypeError(
            f"{primitive.name} takes floating tensors, not {dtypes.of(arrays[0]).name}: use cast(x, 'float32')"
        )
    return result


def as_tensors(primitive: Primitive, inputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The inputs as tensors: tensors and variables set the dtype, everything else follows it."""
    tensors, others, hint = read_tensors(inputs)
    if others:
        if settings.promote is not None and len(inputs) == 2:
            return tuple(settings.promote(inputs))
        if primitive.mixed:
            hint = None
        elif hint is None:
            hint = _common_dtype(inputs)
        for i in others:
            tensors[i] = convert(inputs[i], None, hint)
    return tuple(tensors)


def read_tensors(values: Iterable[Any]) -> tuple[list[Any], list[int], Any]:
    """Tensors, variables read, and None for other values; the positions of those; the dtype of the first tensor."""
    tensors: list[Any] = []
    others: list[int] = []
    dtype = None
    for x in values:
        if type(x) is not Tensor:
            x = x._read() if hasattr(type(x), "_read") else None
        if x is None:
            others.append(len(tensors))
        elif dtype is None:
            dtype = x._array.dtype
        tensors.append(x)
    return tensors, others, dtype


def as_tensors2(primitive: Primitive, x: Any, y: Any) -> tuple[Tensor, ...]:
    """`as_tensors` for two inputs, 1 us quicker if one is a tensor and the other a variable or a Python number."""
    if type(x) is Tensor:
        dtype = x._array.dtype
        if (type(y) is float or type(y) is int) and dtype.kind == "f":
            return x, scalar(y, dtype)
        if hasattr(type(y), "_read"):
            return x, y._read()
    elif type(y) is Tensor:
        dtype = y._array.dtype
        if (type(x) is float or type(x) is int) and dtype.kind == "f":
            return scalar(x, dtype), y
        if hasattr(type(x), "_read"):
            return x._read(), y
    return as_tensors(primitive, (x, y))


def _common_dtype(inputs: Iterable[Any]) -> Any:
    """The dtype for inputs that are all plain: that of the first NumPy value, else the widest of the Python values."""
    arrays = [convert(x)._array for x in inputs]
    for x, array in zip(inputs, arrays, strict=True):
        if isinstance(x, (ndarray, np.generic)):
            return array.dtype
    return max((array.dtype for array in arrays), key=lambda dtype: "OSUbuiVfc".find(dtype.kind))


def _dtypes_differ(primitive: Primitive, arrays: list[Any]) -> DTypeError:
    names = list(dict.fromkeys(dtypes.of(array).name for array in arrays))
    advice = (
        "A string is no number" if "string" in names else f"Use cast(x, {names[0]!r}) to bring them together"
    )
    return DTypeError(
        f"{primitive.name}: tensors of different dtypes do not mix: {' and '.join(names)}. {advice}"
    )


def quietly(function: Callable[..., Any], *arrays: Any) -> Any:
    """Compute without NumPy's warnings."""
    try:
        return local.here.run(function, *arrays)
    except RuntimeError as error:
        if not _is_inside(error):
            raise
    with np.errstate(all="ignore"):
        return function(*arrays)


def _is_inside(error: Exception) -> bool:
    """Return whether a finalizer, signal handler or `py_function` computes inside an operation of this thread."""
    return type(error) is RuntimeError and "already entered" in str(error)


def recover(
    primitive: Primitive, arrays: list[Any], attributes: dict[str, Any] | None, error: Exception
) -> Any:
    """Raise an error that names the operation and its inputs; or compute again, if this thread was inside one."""
    if _is_inside(error):
        with np.errstate(all="ignore"):
            return primitive.forward(*arrays, **(attributes or {}))
    if isinstance(error, MemoryError) and not isinstance(error, OpError):
        raise ResourceExhaustedError(f"{primitive.name}: {error}") from error
    if is_escape(error):
        raise escape(error) from None
    if isinstance(error, OpError):
        raise error
    if needs_values(error):
        raise not_compilable(primitive.name) from None
    cause = None if any(map(is_traced, arrays)) else error  # JAX's own words do not help
    if any(a.dtype.kind == "O" for a in arrays):
        raise DTypeError(f"{primitive.name} takes numbers, not strings") from cause
    if not isinstance(error, (ValueError, TypeError, IndexError, ArithmeticError)):
        raise error
    if isinstance(error, TypeError) and "ufunc" in str(error):
        names = " and ".join(dict.fromkeys(dtypes.of(a).name for a in arrays))
        raise DTypeError(f"{primitive.name} does not take {names}: cast to another dtype first") from cause
    shapes = " and ".join(f"{dtypes.of(a).name}{list(a.shape)}" for a in arrays)
    details = "".join(f", {name}={value!r}" for name, value in (attributes or {}).items())
    if isinstance(error, IndexError):
        kind: type[OpError] = IndexOutOfBoundsError
    elif isinstance(error, TypeError):
        kind = DTypeError
    else:
        kind = InvalidArgumentError
    if primitive.elementwise and kind is not IndexOutOfBoundsError and not _broadcast(arrays):
        raise InvalidArgumentError(
            f"{primitive.name}: the shapes {' and '.join(str(list(a.shape)) for a in arrays)} do not broadcast. "
            "Each pair of lengths, counted from the last axis, must be equal, or one of them 1"
        ) from cause
    raise kind(f"{primitive.name}({shapes}{details}): {error}") from cause


def _broadcast(arrays: list[Any]) -> bool:
    try:
        np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        return False
    return True
