"""Functions of a loaded model: programs in StableHLO, called on tensors, with gradients and with variables that change.

`loading` makes these of the files. Inside a @function they become part of its program.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..compiled.arguments import bind, fit_one
from ..compiled.function_warnings import can_compile
from ..compiled.program_values import from_program, program_specs
from ..core import dtypes, nest
from ..core.composite import CompositeSpec, CompositeTensor
from ..core.custom import record_custom
from ..core.errors import FailedPreconditionError, InvalidArgumentError, UnimplementedError
from ..core.primitive import leave_hot, local
from ..core.spec import TensorSpec
from ..core.stand_in import StandIn
from ..core.tensor import Tensor, array_of, device_of, wrap
from ..core.tensor_conversion import convert
from ..core.variable import Variable
from ..engine import host

# The calls of libraries that a program may contain: those that JAX promises to keep. Others could run any code.
_CUSTOM_CALL = re.compile(r'custom_call\s*@"?([\w.$-]+)|call_target_name\s*=\s*"([^"]*)"')


_KERNELS = frozenset(
    ("mosaic_gpu_v2", "tf.call_tf_function", "tpu_custom_call")
)  # they contain code of any kind


class LoadedProgram:
    """A program in StableHLO. It is deserialized, and checked, when it is first called.

    Attributes:
        code: the bytes that `jax.export.deserialize` takes.
        inputs: for each input a constant, a variable, "seed", or the position of a tensor it is called with.
        gives: for the program of a gradient, which sources it has a gradient of.
    """

    def __init__(
        self, name: str, code: bytes, platforms: Sequence[str], inputs: list[Any], gives: list[bool]
    ) -> None:
        self.name = name
        self.code = code
        self.platforms = tuple(platforms)
        self.inputs = inputs
        self.gives = gives

    @functools.cached_property
    def exported(self) -> Any:
        """The program as an object of JAX's."""
        if not can_compile():
            raise FailedPreconditionError(
                f"the loaded function {self.name} needs JAX: pip install 'gradtape[xla]'"
            )
        import jax.export

        try:
            exported = jax.export.deserialize(bytearray(self.code))
            calls = {a or b for a, b in _CUSTOM_CALL.findall(str(exported.mlir_module()))}
        except Exception as error:
            raise InvalidArgumentError(
                f"the saved function {self.name} is no program that this version of JAX reads: {error}"
            ) from error
        unknown = calls - _kept_calls()
        if unknown or len(exported.in_avals) != len(self.inputs):
            what = f"it calls {', '.join(sorted(unknown))}" if unknown else "its inputs are others"
            raise InvalidArgumentError(f"the saved function {self.name} is refused: {what}")
        return exported

    @functools.cached_property
    def _compiled(self) -> Any:
        import jax

        from ..compiled.fusion import common_options

        return jax.jit(self.exported.call, compiler_options=common_options() or None)

    def run(self, tensors: list[Tensor], values: dict[int, Tensor], seed: Any) -> list[Tensor]:
        """The results for these tensors, values of variables by key, and the seed."""
        from ..compiled.buffers import from_device, on_device, x64

        given = []
        for what in self.inputs:
            if isinstance(what, Variable):
                given.append(values[what._key])
            elif isinstance(what, int):
                given.append(tensors[what])
            else:
                given.append(seed if isinstance(what, str) else what)
        with x64(True):
            if local.here.trace is not None:
                arrays = [x._array if isinstance(x, Tensor) else x for x in given]
                return [wrap(array) for array in self.exported.call(*arrays)]
            arrays = [on_device(x) if isinstance(x, Tensor) else x for x in given]
            return [from_device(array) for array in self._compiled(*arrays)]


@functools.cache
def _kept_calls() -> frozenset[str]:
    from jax._src.export import _export

    return frozenset(_export._CUSTOM_CALL_TARGETS_GUARANTEED_STABLE) - _KERNELS


# ---------------------------------------------------------------------------------------------------------------------
# One signature


class LoadedConcreteFunction:
    """A loaded function for one signature.

    Attributes:
        args, kwargs: the arguments, with specs for tensors.
        names: for each tensor the names of its open lengths; lengths of the same name are the same.
        outputs: the structure that it returns, with specs for tensors.
        programs: the function itself, and its gradients.
        variables: the variables that it reads or writes.
        sources: those variables that have gradients.
        written: those that it writes.
        checks: its assertions, as values that results must not have, and the lines they are from.
        no_more: why there are no further gradients.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: list[list[str | None]]
    outputs: Any
    programs: list[LoadedProgram]
    variables: tuple[Variable, ...]
    sources: list[Variable]
    written: list[Variable]
    checks: list[tuple[int, str]]
    no_more: str
    parameters: inspect.Signature

    def _checkpoint_children(self) -> list[tuple[str, Any]]:
        """No parts: the variables are parts of objects."""
        return []

    @functools.cached_property
    def leaves(self) -> list[Any]:
        """The leaves of the arguments: specs, and values that must be given as they are."""
        return nest.flatten((self.args, self.kwargs))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among the variables."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def structured_input_signature(self) -> tuple[Any, ...]:
        """The arguments, with `TensorSpec`s for tensors."""
        return self.args, self.kwargs

    @property
    def structured_outputs(self) -> Any:
        """The structure that it returns, with `TensorSpec`s for tensors."""
        return self.outputs

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The parameters and what is returned, on several lines."""
        named = [*zip(self.parameters.parameters, self.args), *self.kwargs.items()]
        shown = [f"  {name}: {value}" for name, value in named]
        return "\n".join(["Input Parameters:", *shown, "Output Type:", f"  {self.outputs}"])

    def __repr__(self) -> str:
        return f"<loaded function {self.name} for {self.described()}>"

    def described(self) -> str:
        """The arguments, for errors."""
        keywords = [f"{name}={value}" for name, value in self.kwargs.items()]
        return f"({', '.join([*map(str, self.args), *keywords])})"

    # -- calling ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function as it was called before it was saved.

        Raises:
            TypeError: if the arguments are others than those it was saved for.
        """
        args, kwargs = bind(self.name, self.parameters, args, kwargs)
        tensors = self.match(args, kwargs, convert_values=True)
        if tensors is None:
            raise TypeError(
                f"the loaded function {self.name} takes {self.described()}, and was given others: {args}, {kwargs}"
            )
        return self.call(tensors)

    def match(self, args: Any, kwargs: Any, convert_values: bool) -> list[Tensor] | None:
        """The tensors among the arguments, if they fit; values become tensors only if asked."""
        try:
            leaves = nest.flatten_up_to((self.args, self.kwargs), (args, kwargs))
        except (ValueError, TypeError):
            return None
        tensors: list[Tensor] = []
        for mine, leaf in zip(self.leaves, leaves, strict=True):
            if isinstance(mine, CompositeSpec):
                if not isinstance(leaf, CompositeTensor) or not mine.is_compatible_with(leaf):
                    return None
                tensors += mine._to_program(leaf)
            elif isinstance(mine, TensorSpec):
                tensor = _fitting(self.name, mine, leaf, convert_values)
                if tensor is None:
                    return None
                tensors.append(tensor)
            elif mine is not leaf and (type(mine) is not type(leaf) or mine != leaf):
                return None
        return tensors

    def call(self, tensors: list[Tensor]) -> Any:
        """Call the function on its tensors; return what it returns."""
        leave_hot("a compiled function is called")
        self._check_program  # noqa: B018  (once)
        self._check_lengths(tensors)
        values = {v._key: _value(v) for v in self.variables}
        seed = _seed() if any(isinstance(what, str) for what in self.programs[0].inputs) else None
        results = self._level(0, tensors, values, seed)
        return nest.pack_sequence_as(self.outputs, from_program(nest.flatten(self.outputs), results))

    @functools.cached_property
    def _check_program(self) -> None:
        """Refuse a program whose results are not those that the table of the model lists."""
        results = program_specs(nest.flatten(self.outputs))
        results += [TensorSpec(v.shape, v.dtype) for v in self.written]
        program = self.programs[0]
        found = program.exported.out_avals
        arguments = [what for what in program.inputs if type(what) is int]
        if (
            len(found) != len(results) + len(self.checks)
            or any(not 0 <= what < len(self.names) for what in arguments)
            or any(
                aval.dtype != spec.dtype.numpy_dtype or len(aval.shape) != (spec.shape.rank or 0)
                for aval, spec in zip(found, results, strict=False)
            )
        ):
            raise InvalidArgumentError(
                f"the saved function {self.name} is refused: its program is another one's"
            )

    def _check_lengths(self, tensors: list[Tensor]) -> None:
        found: dict[str, int] = {}
        for tensor, names in zip(tensors, self.names, strict=True):
            for name, n in zip(names, array_of(tensor).shape, strict=True):
                if name is not None and (found.setdefault(name, n) != n or n < 1):
                    raise InvalidArgumentError(
                        f"the loaded function {self.name} was saved for open lengths of one or more, of which those "
                        f"named {name} are the same, in {self.names}; it was given the shapes "
                        f"{[tuple(array_of(t).shape) for t in tensors]}"
                    )

    def _level(self, order: int, tensors: list[Tensor], values: dict[int, Tensor], seed: Any) -> list[Tensor]:
        """Run the function, its gradient, ...; tell the open tapes how to go on to the next order."""
        results = self.programs[order].run(tensors, values, seed)
        if order == 0:
            results = self._finish(results)
        targets = [t for t in results if dtypes.is_differentiable(array_of(t))]
        sources = [t for t in tensors if dtypes.is_differentiable(array_of(t))]
        sources += [values[v._key] for v in self.sources]
        if not targets or not sources or not local.here.tapes:
            return results

        def pull(*gradients: Any) -> list[Any]:
            if order + 1 == len(self.programs):
                raise UnimplementedError(
                    f"the loaded function {self.name} has no gradient of order {order + 1}: {self.no_more}"
                )
            found = iter(self._level(order + 1, [*tensors, *gradients], values, seed))
            return [next(found) if given else None for given in self.programs[order + 1].gives]

        record_custom(self.name, sources, targets, pull)
        return results

    def _finish(self, found: list[Tensor]) -> list[Tensor]:
        """Raise for assertions that failed, and write the variables; return the results."""
        count = len(found) - len(self.written) - len(self.checks)
        conditions = found[count + len(self.written) :]
        for condition, (fails_at, line) in zip(conditions, self.checks, strict=True):
            self._check(condition, fails_at, line)
        written = found[count : count + len(self.written)]
        if local.here.trace is not None:
            for variable, value in zip(self.written, written, strict=True):
                variable.assign(value)
        elif written:
            from ..compiled.buffers import store, writing

            with writing:
                store(self.written, [device_of(value) for value in written])
        return found[:count]

    def _check(self, condition: Tensor, fails_at: int, line: str) -> None:
        def error(*values: Any) -> Exception:
            return InvalidArgumentError(f"an assertion of the saved function {self.name} failed: {line}")

        if local.here.trace is not None:
            host.check(condition._array != fails_at, error)
        elif int(condition) == fails_at:
            raise error()


def _fitting(name: str, spec: TensorSpec, value: Any, convert_values: bool) -> Tensor | None:
    is_tensor = isinstance(value, (Tensor, Variable, StandIn))
    if not is_tensor and not convert_values and not isinstance(value, (np.ndarray, np.generic)):
        return None
    try:
        if not is_tensor:
            value = convert(value, spec.dtype.numpy_dtype)
        tensor: Tensor = fit_one(name, spec, value)
    except (TypeError, ValueError):
        return None
    return tensor


def _value(variable: Variable) -> Tensor:
    """The value of a variable, for a program; tapes hear that the variable was read."""
    if local.here.trace is not None:
        return variable._read()
    from ..compiled.buffers import on_device_tensor, writing

    for tape in local.here.tapes:
        tape._on_read(variable)
    with writing:
        return on_device_tensor(variable)  # not a copy beside NumPy's array, into which eager code may write


def _seed() -> Any:
    """The seed of a call; inside a @function one that follows from its own."""
    import jax.numpy as jnp

    trace = local.here.trace
    if trace is None:
        from ..compiled.executable import new_seed

        return new_seed()
    key, counter = trace.place(0)
    return jnp.stack([key, counter[1]])


# ---------------------------------------------------------------------------------------------------------------------
# All signatures


class RestoredFunction:
    """A loaded function: it is called as the one that was saved, with the arguments it was saved for.

    Attributes:
        concrete_functions: one for each signature.
    """

    def __init__(
        self,
        name: str,
        parameters: inspect.Signature,
        concrete_functions: list[LoadedConcreteFunction],
        has_input_signature: bool,
    ) -> None:
        self.__name__ = name
        self.__signature__ = parameters
        self.concrete_functions = concrete_functions
        self._has_input_signature = has_input_signature

    def _checkpoint_children(self) -> list[tuple[str, Any]]:
        """No parts: the variables are parts of objects."""
        return []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            ValueError: if it was saved for no arguments like these.
        """
        concrete, tensors = self._find(args, kwargs)
        return concrete.call(tensors)

    def _find(self, args: Any, kwargs: Any) -> tuple[LoadedConcreteFunction, list[Tensor]]:
        if not self.concrete_functions:
            raise ValueError(
                f"{self.__name__} has zero restored functions: it had no input_signature and was never called before "
                "it was saved. Call it once, or give it an input_signature, and save it again"
            )
        args, kwargs = bind(self.__name__, self.__signature__, args, kwargs)
        for convert_values in (False, True):
            for concrete in self.concrete_functions:
                tensors = concrete.match(args, kwargs, convert_values)
                if tensors is not None:
                    return concrete, tensors
        raise self._refusal(args, kwargs)

    def _refusal(self, args: Any, kwargs: Any) -> Exception:
        kind = TypeError if self._has_input_signature else ValueError
        options = "; ".join(concrete.described() for concrete in self.concrete_functions)
        given = nest.map_structure(_shown, (args, kwargs))
        return kind(
            f"{self.__name__} was saved for no arguments like {given[0]}"
            + (f", {given[1]}" if kwargs else "")
            + f". It takes {options}"
        )

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> LoadedConcreteFunction:
        """The function for one signature: arguments as in a call, or specs; without arguments the first."""
        if not args and not kwargs and self.concrete_functions:
            return self.concrete_functions[0]
        bound = bind(self.__name__, self.__signature__, args, kwargs)
        for concrete in self.concrete_functions:
            if nest.flatten(bound) == concrete.leaves:
                return concrete
        return self._find(args, kwargs)[0]

    def _list_all_concrete_functions(self) -> list[LoadedConcreteFunction]:
        return self.concrete_functions

    def _trackable_children(self, save_type: str = "checkpoint", **options: Any) -> dict[str, Any]:
        return {f"trace_{i}": each for i, each in enumerate(self.concrete_functions)}

    def __repr__(self) -> str:
        return f"<loaded function {self.__name__}>"


def _shown(leaf: Any) -> Any:
    return TensorSpec(leaf.shape, leaf.dtype) if isinstance(leaf, (Tensor, Variable)) else leaf


# ---------------------------------------------------------------------------------------------------------------------
# Signatures


class SignatureFunction:
    """A function of named tensors that returns a dict of named tensors: an entry of `signatures`."""

    def __init__(
        self,
        name: str,
        concrete_functions: list[LoadedConcreteFunction],
        inputs: list[str],
        outputs: list[str],
    ) -> None:
        self.name = name
        self._concrete = concrete_functions
        self._inputs = inputs
        self._outputs = outputs

    def _checkpoint_children(self) -> list[tuple[str, Any]]:
        """No parts: the variables are parts of objects."""
        return []

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, TensorSpec]]:
        """No positional arguments, and specs by name."""
        return (), self._named(
            self._inputs, [s for s in self._concrete[0].leaves if isinstance(s, TensorSpec)]
        )

    @property
    def structured_outputs(self) -> dict[str, TensorSpec]:
        """The specs of the results by name."""
        return self._named(self._outputs, _tensors(self._concrete[0].outputs))

    def _named(self, names: list[str], specs: list[TensorSpec]) -> dict[str, TensorSpec]:
        ranks = len(self._concrete) > 1  # then shapes of any rank were asked for
        return {
            name: TensorSpec(None if ranks else spec.shape, spec.dtype, name)
            for name, spec in zip(names, specs, strict=True)
        }

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that it reads or writes."""
        return self._concrete[0].variables

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among the variables."""
        return self._concrete[0].trainable_variables

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The parameters and what is returned, on several lines."""
        shown = [f"  {name}: {spec}" for name, spec in self.structured_input_signature[1].items()]
        return "\n".join(["Input Parameters:", *shown, "Output Type:", f"  {self.structured_outputs}"])

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Tensor]:
        """Call it with tensors by name; a single one may be given without a name.

        Raises:
            TypeError: if the names, the shapes or the dtypes are others.
        """
        if len(args) == len(self._inputs) == 1 and not kwargs:
            kwargs = {self._inputs[0]: args[0]}
            args = ()
        if args or kwargs.keys() != set(self._inputs):
            given = f"{len(args)} without a name and {sorted(kwargs)}"
            raise TypeError(
                f"the signature {self.name} takes tensors by name: {', '.join(self._inputs)}; it was given {given}"
            )
        for concrete in self._concrete:
            tensors = self._match(concrete, kwargs)
            if tensors is not None:
                results = concrete.call(tensors)
                return dict(zip(self._outputs, _tensors(results), strict=True))
        raise TypeError(
            f"the signature {self.name} takes {self.structured_input_signature[1]}; it was given "
            f"{ {name: _shown(value) for name, value in kwargs.items()} }"
        )

    def _match(self, concrete: LoadedConcreteFunction, kwargs: dict[str, Any]) -> list[Tensor] | None:
        specs = [leaf for leaf in concrete.leaves if isinstance(leaf, TensorSpec)]
        pairs = zip(self._inputs, specs, strict=True)
        tensors = [_fitting(self.name, spec, kwargs[name], True) for name, spec in pairs]
        return None if any(t is None for t in tensors) else tensors  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<signature {self.name}: {', '.join(self._inputs)} -> {', '.join(self._outputs)}>"


def _tensors(structure: Any) -> list[Any]:
    return [leaf for leaf in nest.flatten(structure) if leaf is not None]


class SignatureMap(Mapping[str, SignatureFunction]):
    """The signatures of a loaded model, by name."""

    def __init__(self, signatures: dict[str, SignatureFunction]) -> None:
        self._signatures = signatures

    def _checkpoint_children(self) -> list[tuple[str, Any]]:
        """No parts: the variables are parts of objects."""
        return []

    def __getitem__(self, name: str) -> SignatureFunction:
        return self._signatures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        return f"SignatureMap({self._signatures})"
