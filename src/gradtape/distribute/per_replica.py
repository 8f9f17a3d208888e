"""PerReplica: a value of which each replica has its own, between runs of a strategy with several.

Tensors of one shape are one array with an axis for the replicas in front, divided among the devices: so a compiled
function takes it and gives it back. All else, as the rows of a last, smaller batch, is a tuple of values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..core import nest
from ..core.composite import CompositeSpec, CompositeTensor
from ..core.dtypes import DType, as_dtype
from ..core.errors import UnknownShapeError
from ..core.shapes import TensorShape
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, array_of
from ..core.tensor_conversion import convert
from ..core.types import DTypeLike, ShapeLike
from ..engine.arrays import is_traced


class DistributedValues:
    """Values of which each replica has its own. A strategy with one replica has that one's value instead.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    >>> value = strategy.run(lambda: tf.constant(1.0))  # of one replica: its value
    >>> float(strategy.reduce("SUM", value, axis=None))
    1.0
    """

    __slots__ = ()
    values: Any


class PerReplica(DistributedValues, CompositeTensor):
    """The values of all replicas: what `Strategy.run` returns, and the elements of a distributed dataset.

    Args:
        values: a value for each replica of this process.

    >>> import gradtape as tf
    >>> PerReplica([tf.constant(1.0), tf.constant(2.0)]).values[1].numpy()
    np.float32(2.0)
    """

    __slots__ = ("_stacked", "_values")
    _dense_by: ClassVar[str] = (
        "strategy.reduce(...), strategy.gather(...) or experimental_local_results(...)[i]"
    )

    def __init__(self, values: Sequence[Any]) -> None:
        self._values: tuple[Any, ...] | None = tuple(values)
        self._stacked: Tensor | None = None

    @classmethod
    def of(cls, stacked: Tensor) -> PerReplica:
        """The values that are the rows of a tensor."""
        made = cls(())
        made._values, made._stacked = None, stacked
        return made

    @property
    def values(self) -> tuple[Any, ...]:
        """The value of each replica of this process."""
        if self._values is None:
            assert self._stacked is not None
            self._values = local_rows(self._stacked)
        return self._values

    @property
    def is_stacked(self) -> bool:
        """Whether all values are tensors of one shape and dtype, in one array."""
        return self._stacked is not None

    @property
    def stacked(self) -> Tensor:
        """The tensor whose rows are the values.

        Raises:
            UnknownShapeError: if the values differ in shape, or are no tensors.
        """
        if self._stacked is None:
            raise UnknownShapeError(
                f"a compiled program has one shape for all replicas, and these values are {self!r}"
            )
        return self._stacked

    @property
    def _primary(self) -> Any:
        return self.values[0]

    @property
    def _runs_as_python(self) -> bool:
        """Whether a @function that is given it runs as plain Python, which compiled functions are called from."""
        return self._stacked is None

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        value = self.values[0] if self._stacked is None else self._stacked
        return convert(value).dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of each value; of those that differ, of the first."""
        if self._stacked is None:
            return convert(self.values[0]).shape
        return TensorShape(array_of(self._stacked).shape[1:])

    @property
    def _type_spec(self) -> Any:
        if self._stacked is None:
            return PerReplicaValuesSpec(len(self.values))
        array = array_of(self._stacked)
        return PerReplicaSpec(array.shape[1:], self._stacked.dtype, array.shape[0])

    def __repr__(self) -> str:
        if self._stacked is not None and is_traced(array_of(self._stacked)):
            return f"PerReplica({self._stacked!r})"
        return (
            "PerReplica:{\n" + ",\n".join(f"  {i}: {value!r}" for i, value in enumerate(self.values)) + "\n}"
        )

    __str__ = __repr__


class PerReplicaValuesSpec:
    """Describes values that are not of one shape: no program is compiled for them."""

    def __init__(self, count: int) -> None:
        self._count = count


class PerReplicaSpec(CompositeSpec):
    """The spec of a `PerReplica`.

    Args:
        shape: that of each value.
        dtype: the type of the elements.
        replicas: the number of values.

    >>> PerReplicaSpec([None, 2], "float32", 4)
    PerReplicaSpec(shape=(None, 2), dtype=tf.float32, replicas=4)
    """

    __slots__ = ("_count", "_dtype", "_shape")
    is_divided = True  # its component has a row on each device

    def __init__(self, shape: ShapeLike, dtype: DTypeLike, replicas: int) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._count = replicas

    @property
    def value_type(self) -> type:
        """PerReplica."""
        return PerReplica

    @property
    def shape(self) -> TensorShape:
        """The shape of each value."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    def _parts(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._count

    def _component_specs(self) -> tuple[TensorSpec, ...]:
        lengths = None if self._shape.rank is None else [self._count, *self._shape]
        return (TensorSpec(lengths, self._dtype),)

    def _to_components(self, value: PerReplica) -> tuple[Tensor, ...]:
        return (value.stacked,)

    def _from_components(self, components: Sequence[Any]) -> PerReplica:
        return PerReplica.of(components[0])

    def __repr__(self) -> str:
        shape = tuple(self._shape) if self._shape.rank is not None else None
        return f"PerReplicaSpec(shape={shape}, dtype={self._dtype!r}, replicas={self._count})"


def local_rows(stacked: Tensor) -> tuple[Tensor, ...]:
    """The rows of this process's replicas, as tensors."""
    array = array_of(stacked)
    if is_elsewhere(stacked):
        shards = sorted(array.addressable_shards, key=lambda s: s.index[0].start or 0)
        return tuple(convert(np.asarray(s.data)[0]) for s in shards)
    return tuple(stacked[i] for i in range(array_of(stacked).shape[0]))


def is_elsewhere(stacked: Tensor) -> bool:
    """Return whether rows of a tensor are in other processes, so that only a program of all of them can read it."""
    array = array_of(stacked)
    return not is_traced(array) and not getattr(array, "is_fully_addressable", True)


def regroup(structures: Sequence[Any], together: Callable[[Sequence[Any]], Any]) -> Any:
    """One structure for the structures of all replicas: `together` of the leaves at each place."""
    first = structures[0]
    leaves = [nest.flatten_up_to(first, s) for s in structures]
    return nest.pack_sequence_as(first, [together(at) for at in zip(*leaves, strict=True)])


def own_part(structure: Any, number: int, index: int | None = None) -> Any:
    """A replica's own part of a structure: by its number, or of this process's values by its index."""

    def own(leaf: Any) -> Any:
        if not isinstance(leaf, PerReplica):
            return leaf
        return leaf.values[number if index is None or number < len(leaf.values) else index]

    return nest.map_structure(own, structure)
