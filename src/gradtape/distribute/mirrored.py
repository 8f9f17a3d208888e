"""What a strategy with several replicas does: it runs programs on a mesh of devices, and reduces what they return."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary, ref

from ..core import nest
from ..core.errors import InvalidArgumentError
from ..core.indexed_slices import IndexedSlices
from ..core.primitive import local
from ..core.replicas import VariableSynchronization
from ..core.tensor import Tensor, array_of
from ..core.tensor_conversion import convert_to_tensor
from ..core.types import Axes, IntLike
from ..data.checks import stage
from ..data.dataset import Dataset
from ..ops.array.movement import cast, concat, reshape, transpose
from ..ops.math.reduction import reduce_sum
from .contexts import check_across_replicas, entered, here, in_replica
from .distributed_input import InputContext, InputOptions, InputReplicationMode, ValueContext
from .divided_input import DividedDataset, GroupedDataset, shares, starts
from .exchanges import objects_of_each
from .mirrored_variables import SyncOnReadVariable, mirror
from .own_values import OwnValues
from .parties import AllHere
from .per_replica import DistributedValues, PerReplica, is_elsewhere, own_part, regroup
from .reductions import ReduceOp
from .replica import check_call
from .replica_threads import ReplicaInThread, run_in_threads
from .several import OfCopies, SeveralReplicas
from .strategy import StrategyExtended


class MirroredExtended(StrategyExtended):
    """Several replicas, each on a device of a mesh. A program that is traced is one for all devices.

    Args:
        container_strategy: the strategy it belongs to.
        devices: the names of the devices of this process.
        mesh: a function that returns JAX's mesh of all devices; called when it is first needed.
        count: the number of all replicas.
    """

    def __init__(
        self, container_strategy: Any, devices: Sequence[str], mesh: Callable[[], Any], count: int
    ) -> None:
        super().__init__(container_strategy, devices)
        self._make_mesh = mesh
        self._count = count
        self._on_read: WeakValueDictionary[int, Any] = WeakValueDictionary()  # variables, by key
        self._apart: WeakValueDictionary[int, Any] = (
            WeakValueDictionary()
        )  # those with another value on each device
        # Functions that @functions give to `run`; and the programs of what it compiles.
        self._steps: WeakSet[Any] = WeakSet()
        self._functions: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._places: dict[int, Any] = {}  # functions that `run` is given elsewhere, by the id of their code

    @functools.cached_property
    def _mesh(self) -> Any:
        return self._make_mesh()

    @property
    def _num_replicas_in_sync(self) -> int:
        return self._count

    def _use_merge_call(self) -> bool:
        place = here()
        return place is not None and isinstance(place.replica, ReplicaInThread)

    def _placed(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def _created(self, variable: Any) -> None:
        super()._created(variable)
        if variable._synchronization is VariableSynchronization.ON_READ:
            self._on_read[variable._key] = variable
        mirror(variable, self._count, len(self._devices))

    def variables_of_replicas(self) -> list[Any]:
        """The variables of which each replica has its own value while it runs."""
        return [*self._on_read.values(), *self._apart.values()]

    def keep_apart(self, variable: Any) -> None:
        """Note that replicas have other values of a variable: without an aggregation, or by `update`."""
        self._apart[variable._key] = variable

    def spread_own(self, variable: Any, arrays: Sequence[Any], is_known: bool) -> None:
        """Give each device its own copy of a variable: those of this process get these arrays.

        `is_known` is False for the own values of a variable, which replicas do not know.
        """
        from ..compiled.buffers import from_device
        from .replicas_in_program import copies_on

        if is_known:
            self.keep_apart(variable)
        variable._tensor = from_device(copies_on(self._mesh, arrays), variable._key)

    # -- running ------------------------------------------------------------------------------------------------------

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """`Strategy.run` without options.

        Args:
            fn: the function.
            args: its arguments.
            kwargs: its arguments by name.
        """
        from ..compiled.function import Function

        check_call("Strategy.run", "fn", fn, args, kwargs)
        check_across_replicas("Strategy.run", self._strategy)
        given = tuple(args), dict(kwargs or {})
        if local.here.trace is not None:
            return self._run_in_program(fn, *given)
        uneven = any(isinstance(leaf, PerReplica) and not leaf.is_stacked for leaf in nest.flatten(given))
        if not uneven and (isinstance(fn, Function) or self._is_step(fn)):
            return self._compiled(fn)(*given)
        return self._run_in_threads(fn, *given)  # plain Python runs anew in each call

    def _is_step(self, fn: Callable[..., Any]) -> bool:
        """Return whether a @function gives a function to `run` again, as in a loop over a distributed dataset."""
        if not local.here.in_function:
            return False
        known = fn in self._steps
        self._steps.add(fn)
        return known

    def _run_in_program(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        from ..compiled.autograph.conversion import called
        from .replicas_in_program import run_in_program

        return run_in_program(self._strategy, self._mesh, called(fn), args, kwargs)

    def _run_in_threads(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        from ..compiled.function import Function

        if isinstance(fn, Function):
            fn = fn.python_function
        if (
            local.here.tapes
        ):  # which know the operations of this process alone: let it have those of all replicas
            args, kwargs = nest.map_structure(self._of_all_processes, (args, kwargs))
        party = AllHere(self) if local.here.tapes else self._party()
        return run_in_threads(self._strategy, fn, args, kwargs, self._begun(fn, args, kwargs), party)

    def _party(self) -> AllHere:
        """The replicas that are threads of this process, when they run outside of a program."""
        return AllHere(self)

    def _begun(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What runs a function outside of a program: by one of its own, if its calls have proved alike."""
        from .run_places import Run, RunPlace, code_of, may_follow

        leaves = nest.flatten((args, kwargs))
        if not may_follow() or any(isinstance(leaf, PerReplica) and not leaf.is_stacked for leaf in leaves):
            return Run()
        code = code_of(fn)
        place = self._places.setdefault(id(code), RunPlace(code))
        return place.begin(self._strategy, self._mesh, (args, kwargs))

    def runs(self) -> dict[str, Any]:
        """How often functions were given to `run` outside of a @function, and how often one program ran them."""
        found: dict[str, Any] = {}
        for number, place in enumerate(self._places.values()):
            found[place.name if place.name not in found else f"{place.name} ({number})"] = place.counts()
        return found

    def _of_all_processes(self, value: Any) -> Any:
        """Values of which this process has those of all replicas."""
        if not isinstance(value, PerReplica) or len(value.values) == self._count:
            return value
        if not value.is_stacked:
            everyone = objects_of_each([convert_to_tensor(v)._array for v in value.values])
            return PerReplica([convert_to_tensor(array) for own in everyone for array in own])
        rows = self._across_processes(lambda rows: rows, array_of(value.stacked))
        return PerReplica([rows[i] for i in range(self._count)])

    def _compiled(self, fn: Callable[..., Any]) -> Any:
        """The compiled program that runs a function in every replica; the same from call to call."""
        from ..compiled.function import Function

        found = self._functions.get(fn)
        if found is None:
            reference = ref(fn)

            def run(args: Any, kwargs: Any) -> Any:
                fn: Any = reference()
                if local.here.trace is None:  # it cannot be compiled, or is not to be
                    return self._run_in_threads(fn, args, kwargs)
                return self._run_in_program(fn, args, kwargs)

            run.__name__ = getattr(fn, "__name__", "run")
            found = self._functions[fn] = Function(run, autograph=False)
        return found

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Call `fn(variable, *args, **kwargs)`: once for all copies of a variable, unless the arguments differ.

        Args:
            var: the variable.
            fn: the function.
            args: further arguments; for those that differ between replicas, each has its own copy of the variable.
            kwargs: arguments by name.
            group: whether one result is returned, or a tuple of all.
        """
        check_call("update", "fn", fn, args, kwargs)
        given = tuple(args), dict(kwargs or {})
        replica = local.here.replica
        differs = any(isinstance(leaf, PerReplica) for leaf in nest.flatten(given))
        is_apart = isinstance(var, SyncOnReadVariable) and local.here.trace is None
        if replica is None and (differs or is_apart):
            return self._update_copies(var, fn, given, group)
        own_args, own_kwargs = given

        def update() -> Any:
            return fn(var, *own_args, **own_kwargs)

        result = update() if replica is None else replica.alike(update)
        return result if group else nest.map_structure(lambda one: (one,), result)

    def _update_copies(self, var: Any, fn: Callable[..., Any], given: Any, group: bool) -> Any:
        """Let each replica of this process update its copy of a variable; in a program, the one that is traced."""
        place = here()
        if place is not None and place.merging is not None:
            args, kwargs = nest.map_structure(lambda leaf: leaf.own if hasattr(leaf, "own") else leaf, given)
            result = fn(var, *args, **kwargs)
            return result if group else nest.map_structure(lambda one: (one,), result)
        party = self._party()
        own, results = OwnValues([], party, self.spread_own), []
        own.add(var, copied=not isinstance(var, SyncOnReadVariable))
        for index, number in enumerate(party.numbers):
            args, kwargs = own_part(given, number, index)
            with own.of(index), entered(self._strategy, OfCopies(SeveralReplicas())):
                results.append(fn(var, *args, **kwargs))
        own.aggregate()
        return regroup(results, self.returned) if group else tuple(results)

    # -- values of replicas -------------------------------------------------------------------------------------------

    def _reduce(self, op: ReduceOp, value: Any) -> Any:
        return nest.map_structure(lambda one: self._reduced(op, one), value)

    def _reduced(self, op: ReduceOp, value: Any) -> Any:
        place = here()
        if isinstance(value, SyncOnReadVariable) and not in_replica():
            value = self._own_values(value)
        if not isinstance(value, PerReplica):
            if op is ReduceOp.MEAN or isinstance(value, IndexedSlices):
                return value
            tensor = convert_to_tensor(value)  # the same in every replica
            return tensor * cast(self._count, tensor.dtype)
        if place is not None and place.merging is not None and hasattr(value, "own"):
            return place.merging.across(op, value)
        if value.is_stacked:
            total = self._total(value.stacked)
        elif isinstance(value.values[0], IndexedSlices):
            return _joined_slices(op, value.values)
        else:
            total = _sum([convert_to_tensor(v) for v in value.values])
        if op is ReduceOp.SUM:
            return total
        return total // self._count if total.dtype.is_integer else total / cast(self._count, total.dtype)

    def _total(self, stacked: Tensor) -> Tensor:
        """The sum of the rows, which may be of several processes."""
        return self._total_along(stacked, ())

    def _across_processes(self, function: Callable[[Any], Any], array: Any) -> Tensor:
        import jax
        from jax.sharding import NamedSharding, PartitionSpec

        from ..compiled.buffers import from_device
        from ..compiled.spmd import between_processes

        same = NamedSharding(self._mesh, PartitionSpec())
        with jax.enable_x64(True), between_processes():
            return from_device(jax.block_until_ready(jax.jit(function, out_shardings=same)(array)))

    def _along_axis(self, op: ReduceOp, value: Any, axis: Axes) -> Any:
        """The sum over all rows of all replicas; for the mean, divided by how many there are, as TensorFlow does."""
        if not isinstance(value, PerReplica):
            tensor = convert_to_tensor(value)
            total, rows = (
                reduce_sum(tensor, axis) * cast(self._count, tensor.dtype),
                self._count * _rows(tensor, axis),
            )
        elif value.is_stacked:
            stacked = value.stacked
            local_shape = tuple(array_of(stacked).shape[1:])
            axes = tuple(
                a % max(len(local_shape), 1) + 1 for a in _axes("Strategy.reduce", axis, len(local_shape))
            )
            total = self._total_along(stacked, axes)
            rows = array_of(stacked).shape[0] * _product(array_of(stacked).shape[a] for a in axes)
        else:
            tensors = [convert_to_tensor(v) for v in value.values]
            total = _sum([reduce_sum(t, axis) for t in tensors])
            rows = sum(_rows(t, axis) for t in tensors)
        if op is ReduceOp.SUM:
            return total
        return total / cast(rows, total.dtype)

    def _total_along(self, stacked: Tensor, axes: tuple[int, ...]) -> Tensor:
        if not is_elsewhere(stacked):
            return reduce_sum(stacked, (0, *axes))
        return self._across_processes(lambda rows: rows.sum((0, *axes)), array_of(stacked))

    def _all_gather(self, value: Any, axis: IntLike) -> Any:
        return nest.map_structure(lambda one: self._gathered(one, axis), value)

    def _gathered(self, value: Any, axis: IntLike) -> Any:
        place = here()
        if not isinstance(value, PerReplica):
            return concat([convert_to_tensor(value)] * self._count, int(axis))
        if place is not None and place.merging is not None and hasattr(value, "own"):
            return place.merging.across(None, value, axis)
        if not value.is_stacked:
            return concat([convert_to_tensor(v) for v in value.values], int(axis))
        stacked = value.stacked
        array = array_of(stacked)
        rank = array.ndim - 1
        (at,) = _axes("Strategy.gather", axis, rank)
        at %= rank
        if is_elsewhere(stacked):
            stacked = self._across_processes(lambda rows: rows, array)
        perm = (*range(1, at + 1), 0, *range(at + 1, rank + 1))
        shape = array.shape[1:]
        return reshape(transpose(stacked, perm), (*shape[:at], array.shape[0] * shape[at], *shape[at + 1 :]))

    def _as_gathered(self, value: Any) -> Any:
        return value if isinstance(value, PerReplica) else convert_to_tensor(value)

    def _own_values(self, variable: SyncOnReadVariable) -> PerReplica:
        """The values that replicas have of a variable."""
        if local.here.trace is not None:
            return self._run_in_program(variable.read_value, (), {})
        return self.per_replica(variable.values)

    def _local_results(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, SyncOnReadVariable) and not in_replica():
            value = self._own_values(value)
        if isinstance(value, DistributedValues):
            return tuple(value.values)
        if nest.is_nested(value) and any(isinstance(leaf, PerReplica) for leaf in nest.flatten(value)):
            count = len(self._devices)
            parts = [
                leaf.values if isinstance(leaf, PerReplica) else (leaf,) * count
                for leaf in nest.flatten(value)
            ]
            return tuple(nest.pack_sequence_as(value, [part[i] for part in parts]) for i in range(count))
        return (value,)

    def returned(self, values: Sequence[Any]) -> Any:
        """What `run` returns for what each replica has returned."""
        first = values[0]
        if first is None or (not isinstance(first, Tensor) and all(v is first for v in values)):
            return first
        return self.per_replica(values)

    # -- input --------------------------------------------------------------------------------------------------------

    def per_replica(self, values: Sequence[Any]) -> Any:
        """The values of this process's replicas as one `PerReplica`, on their devices where that is possible."""
        try:
            tensors = [convert_to_tensor(v) for v in values]
        except (TypeError, ValueError):
            return PerReplica(values)
        if local.here.tapes or not _are_alike(tensors):  # tapes know them one by one
            return PerReplica(tensors)
        if len(tensors) > len(self._devices):  # of all processes: each has them all
            own = self._first_replica()
            tensors = tensors[own : own + len(self._devices)]
        return self._stack([t._array for t in tensors])

    def _stack(self, arrays: Sequence[Any]) -> PerReplica:
        from ..compiled.buffers import from_device
        from .replicas_in_program import stacked_on

        return PerReplica.of(from_device(stacked_on(self._mesh, arrays)))

    def rows_divide_by(self) -> int:
        """The number of replicas among which a batch of a distributed dataset is divided."""
        return self._count

    def divided(self, value: Any, rows: int) -> PerReplica:
        """A part of a batch, of so many rows, divided among the replicas."""
        count = self.rows_divide_by()
        if rows % count == 0 and rows and type(value) is Tensor and value._array.dtype.kind != "O":
            array = value._array.reshape(count, rows // count, *value._array.shape[1:])
            own = self._first_replica()
            return self._stack(array[own : own + len(self._devices)])
        parts = shares(rows, count)
        return PerReplica([value[at : at + n] for at, n in zip(starts(parts), parts, strict=True)])

    def _distribute(self, dataset: Dataset) -> Any:
        return DividedDataset(dataset, self)

    def _distribute_from_function(
        self, dataset_fn: Callable[[InputContext], Dataset], options: InputOptions | None = None
    ) -> Any:
        each = (
            options is not None and options.experimental_replication_mode is InputReplicationMode.PER_REPLICA
        )
        first, own = self._first_replica(), len(self._devices)
        contexts = (
            [InputContext(self._count, first + i, self._count) for i in range(own)]
            if each
            else [InputContext(self._count // own, first // own, self._count)]
        )
        datasets = [dataset_fn(context) for context in contexts]
        for dataset in datasets:
            stage("distribute_datasets_from_function: dataset_fn must return", dataset)
        return self._grouped(datasets)

    def _grouped(self, datasets: list[Dataset]) -> Any:
        return GroupedDataset(datasets, self)

    def _first_replica(self) -> int:
        """The number of this process's first replica among all."""
        return 0

    def _values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        first = self._first_replica()
        made = [value_fn(ValueContext(first + i, self._count)) for i in range(len(self._devices))]
        return regroup(made, self.per_replica)


def _are_alike(tensors: list[Tensor]) -> bool:
    """Return whether tensors are numbers of one shape and dtype."""
    first = array_of(tensors[0])
    return first.dtype.kind != "O" and all(
        array_of(t).shape == first.shape and array_of(t).dtype == first.dtype for t in tensors
    )


def _sum(tensors: list[Tensor]) -> Tensor:
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


def _joined_slices(op: ReduceOp, values: Sequence[Any]) -> IndexedSlices:
    rows = concat([v.values for v in values], 0)
    rows = rows / len(values) if op is ReduceOp.MEAN else rows
    return IndexedSlices(rows, concat([v.indices for v in values], 0), values[0]._dense_shape)


def _product(lengths: Any) -> int:
    result = 1
    for n in lengths:
        result *= n
    return result


def _rows(tensor: Tensor, axis: Axes) -> int:
    shape = array_of(tensor).shape
    return _product(shape[a] for a in _axes("Strategy.reduce", axis, len(shape)))


def _axes(operation: str, axis: Any, rank: int) -> tuple[int, ...]:
    """Axes of one replica's value, as numbers.

    Raises:
        ValueError: if there is no such axis.
    """
    axes = tuple(int(a) for a in axis) if isinstance(axis, (list, tuple)) else (int(axis),)
    for a in axes:
        if not -rank <= a < rank:
            raise InvalidArgumentError(
                f"{operation}: there is no axis {a}: each replica's value has {rank} axes. For values without axes, "
                "use axis=None"
            )
    return axes
