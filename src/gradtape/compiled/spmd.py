"""A part of a @function that runs on every device of a mesh, each with its own rows: `Strategy.run` inside a trace.

The part is a `Block`, traced once with the shapes of one device, and run by JAX's `shard_map`. Its inputs and results
have an axis in front for the devices; variables and all else from around are the same on each device.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from ..core.replicas import VariableAggregation, VariableSynchronization
from ..core.tensor import Tensor, key_of, wrap
from ..core.variable import Variable
from ..engine.arrays import is_traced
from ..ops.array.movement import reshape
from .blocks import Block, write
from .buffers import spread
from .jaxprs import inner_code, split
from .records import Tensors, record

AXIS = "replica"  # the axis of a mesh along which replicas lie
failures: list[
    Callable[[Exception], Exception]
] = []  # from JAX's error to one that names the process that is gone
_SUM = VariableAggregation.SUM
_MEAN = VariableAggregation.MEAN


class OnMesh(NamedTuple):
    """The results of a block, with an axis for the devices in front, and the structure that they are leaves of."""

    tensors: Tensors
    pack: Callable[[list[Any]], Any]


def run_on_mesh(
    name: str,
    mesh: Any,
    function: Callable[..., Any],
    inputs: Tensors,
    lead: int = 0,
    summed: Callable[[], list[bool]] | None = None,
    inside: Callable[[Tensor], Any] = contextlib.nullcontext,
) -> OnMesh:
    """Run `function(number, *rows)` on each device of a mesh, with the device's number and its rows of the inputs.

    Args:
        inputs: tensors with an axis of the mesh's length in front, after `lead` other axes.
        summed: which results are added up over the devices, and then are one for all; called after the trace.
        inside: gives the context in which the function runs, and its gradients, for the number of the device.
    """
    count = mesh.shape[AXIS]

    def on_one(number: Tensor, *rows: Tensor) -> Any:
        with inside(number):
            return function(number, *rows)

    numbers = wrap(np.arange(count, dtype=np.int32))
    rows = [wrap(np.zeros((), np.int32)), *[_row_like(t, lead) for t in inputs]]
    block = Block(on_one, rows, iteration=0, ranges={0: (0, count - 1)}, axes=[(AXIS, count)])
    block.let_read({key: wrap(own._array) for key, own in _own_values(block.outer_variables).items()})
    apart = _own_values(block.written)
    whole = [False] * len(block.specs) if summed is None else summed()
    constants = block.constants
    traced = [i for i, c in enumerate(constants) if is_traced(c)]
    given = [numbers, *inputs]
    axis = [0, *[lead] * len(inputs)]
    variables = _read_by(block)

    def on_device(*arrays: Any) -> list[Any]:
        own, closed = split(arrays, [len(given), len(traced)])
        own = [jax.numpy.squeeze(a, at) for a, at in zip(own, axis, strict=True)]
        values = list(constants)
        for i, array in zip(traced, closed, strict=True):
            variable = variables.get(i)
            values[i] = array if variable is None else _own_share(variable, own[0], array)
        out = jax.core.eval_jaxpr(block.code, values, *own)
        results, state, host_results = split(out, _counts(block))
        results = [
            jax.lax.psum(r, AXIS) if together else jax.numpy.expand_dims(r, lead)
            for r, together in zip(results, whole, strict=True)
        ]
        own_state = [a for key, a in zip(block.written, state, strict=True) if key in apart]
        state = [_aggregated(v, a) for v, a in zip(block.written.values(), state, strict=True)]
        return [*results, *state, *own_state, *[jax.numpy.expand_dims(a, lead) for a in host_results]]

    stacked, same = PartitionSpec(*[None] * lead, AXIS), PartitionSpec()
    out = jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(*[PartitionSpec(*[None] * at, AXIS) for at in axis], *[same] * len(traced)),
        out_specs=[
            *[same if together else stacked for together in whole],
            *[same] * (len(block.written) + len(apart)),
            *[stacked] * len(block.host_results),
        ],
        check_vma=False,
    )(*[t._array for t in given], *[constants[i] for i in traced])
    results, state, own_state, host_results = split(
        out, [len(block.specs), len(block.written), len(apart), len(block.host_results)]
    )
    outputs = [wrap(a) for a in results]
    write(block.written, state)
    write(apart, own_state)
    _Run(name, mesh, block, inputs, [wrap(a) for a in host_results], whole, lead, inside).record(outputs)
    return OnMesh(outputs, block.pack)


def _counts(block: Block) -> list[int]:
    return [len(block.specs), len(block.written), len(block.host_results)]


def _row_like(tensor: Tensor, lead: int) -> Tensor:
    array = tensor._array
    return wrap(np.zeros((*array.shape[:lead], *array.shape[lead + 1 :]), array.dtype))


# ---------------------------------------------------------------------------------------------------------------------
# Variables that are aggregated when they are read: between runs they hold the aggregate. Those of a strategy's scope
# have another variable, whose copies are the devices' own values


def _is_local(variable: Variable) -> bool:
    return variable._synchronization is VariableSynchronization.ON_READ


def _own_values(variables: dict[int, Variable]) -> dict[int, Variable]:
    """The variables with the devices' own values of those that have one, by the keys of the latter."""
    return {key: own for key, v in variables.items() if (own := getattr(v, "own_values", None)) is not None}


def _read_by(block: Block) -> dict[int, Variable]:
    """The variables with a share on each device whose values are among the block's constants, by position."""
    read = block.outer_variables
    found = {i: read[key] for i, key in block.constant_keys.items() if key in read}
    shared = {i: v for i, v in found.items() if _is_local(v) and v._aggregation is _SUM}
    return {i: v for i, v in shared.items() if not hasattr(v, "own_values")}


def _own_share(variable: Variable, number: Any, array: Any) -> Any:
    """A device's share of a sum: all of it on the first device."""
    return jax.numpy.where(number == 0, array, jax.numpy.zeros_like(array))


def _aggregated(variable: Variable, array: Any) -> Any:
    """The value of a variable after the run: the aggregate of what the devices have."""
    if not _is_local(variable):
        return array
    if variable._aggregation is _SUM:
        return jax.lax.psum(array, AXIS)
    if variable._aggregation is _MEAN:
        return jax.lax.pmean(array, AXIS).astype(array.dtype)
    return first_of_all(array)


def first_of_all(array: Any) -> Any:
    """The first device's array, on each device."""
    own = jax.numpy.where(jax.lax.axis_index(AXIS) == 0, array, jax.numpy.zeros_like(array))
    return jax.lax.psum(own, AXIS)


# ---------------------------------------------------------------------------------------------------------------------
# Gradients of tapes outside of the run


class _Run(NamedTuple):
    """A block that has run on a mesh. Its inputs and results have the devices' axis after `lead` others."""

    name: str
    mesh: Any
    block: Block
    inputs: Tensors
    host_results: Tensors
    whole: list[bool]  # which results are sums over the devices
    lead: int
    inside: Callable[[Tensor], Any]

    def record(self, outputs: Tensors) -> None:
        """Tell the tapes around. The gradient of what all devices share is the sum of theirs."""
        block, connected = self.block, self.block.connected()
        inner = block.placeholders[1:]
        own = [(t, key_of(p)) for t, p in zip(self.inputs, inner, strict=True) if key_of(p) in connected]
        shared = [(t, key) for key, t in block.captures.items() if key in connected]
        like = [(key, _row_like(t, self.lead)._array) for t, key in own]

        def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
            def sources() -> list[tuple[int, Any]]:
                return [*like, *[(key, t._array) for t, key in shared]]

            summed = [*[False] * len(own), *[True] * len(shared)]
            return self._pull(gradients, lead, sources, summed)

        kept = [*self.inputs, *self.host_results, *block.outer_tensors]
        record(self.name, [t for t, _ in (*own, *shared)], outputs, pull, kept)

    def _pull(
        self,
        gradients: list[Any],
        lead: tuple[int, ...],
        sources: Callable[[], list[tuple[int, Any]]],
        summed: list[bool],
    ) -> Tensors:
        """The gradients of the sources; computed on each device from its rows of the results' gradients."""
        depth = len(lead)
        rows_of = [g for g, whole in zip(gradients, self.whole, strict=True) if g is not None and not whole]
        counts = [len(self.inputs), len(self.host_results), len(rows_of)]

        def one(number: Tensor, *rows: Tensor) -> Tensors:
            values, saved, seeds = split(rows, counts)
            remaining = iter(seeds)
            self.block.recompute(
                [number, *[_dropped(v, depth) for v in values]], [], [_dropped(s, depth) for s in saved]
            )
            given = [
                g if g is None or whole else next(remaining)
                for g, whole in zip(gradients, self.whole, strict=True)
            ]
            return self.block.pull_back(given, sources(), lead)

        spread = [_widened(t, depth) for t in (*self.inputs, *self.host_results)]
        inputs = [*spread, *rows_of]
        name = f"gradient of {self.name}"
        return run_on_mesh(
            name, self.mesh, one, inputs, depth + self.lead, lambda: summed, self.inside
        ).tensors


def _widened(tensor: Tensor, depth: int) -> Tensor:
    """A tensor with axes of length 1 in front."""
    return tensor if not depth else reshape(tensor, (*[1] * depth, *tensor._array.shape))


def _dropped(tensor: Tensor, depth: int) -> Tensor:
    """The same without them."""
    return tensor if not depth else reshape(tensor, tensor._array.shape[depth:])


# ---------------------------------------------------------------------------------------------------------------------
# Programs that contain such a part


_exchanges: list[float] = []  # when those that are open began


def exchanging_since() -> float | None:
    """The time, by `time.monotonic`, since which this process waits for others; None if it does not."""
    return _exchanges[0] if _exchanges else None


@contextlib.contextmanager
def between_processes() -> Iterator[None]:
    """A block that exchanges values with other processes: if one is gone, the error says which."""
    _exchanges.append(time.monotonic())
    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError) as error:  # a ValueError if it fails while it is started
        for describe in failures:
            found = describe(error)
            if found is not error:
                raise found from None
        raise
    finally:
        _exchanges.pop()


def mesh_of(jaxpr: Any) -> Any:
    """The mesh on whose devices a program runs; None for a program of one device."""
    for code in inner_code(jaxpr):
        for eqn in code.eqns:
            if eqn.primitive.name == "shard_map":
                return eqn.params["mesh"]
            sharding = eqn.params.get("sharding")
            if eqn.primitive.name == "sharding_constraint" and isinstance(sharding, NamedSharding):
                return sharding.mesh
    return None


def sharding_of(variable: Any) -> Any:
    """How a variable that is divided among devices lies on them; None for any other."""
    layout = getattr(variable, "layout", None)
    return None if layout is None else layout.sharding


def placed(array: Any, mesh: Any, devices: frozenset[Any]) -> Any:
    """An array on the devices of a mesh: as it lies there, or else a copy on each."""
    if isinstance(array, jax.Array) and array.sharding.device_set == devices:
        return array
    return replicated(array, mesh)


def replicated(array: Any, mesh: Any) -> Any:
    """An array as one that lies on each device of a mesh. No process asks another."""
    return spread(array, NamedSharding(mesh, PartitionSpec()))
