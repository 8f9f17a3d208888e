"""Variable: a named, mutable cell that holds a value.

Assigning puts a new array in the cell. An array is written into only if nothing else refers to it: a tape may have kept
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ..engine.arrays import as_array, is_traced, xp
from ..engine.pending import computed
from ..engine.reference_counts import UNSHARED_ARGUMENT, UNSHARED_VALUE, references
from . import dtypes
from .dtypes import DType
from .errors import DTypeError, IndexOutOfBoundsError, InvalidArgumentError, OutOfRangeError
from .hot_door import exchange
from .indexed_slices import IndexedSlices, rows_at
from .observers import observers
from .primitive import apply1, leave_hot, local, outside, quietly, rounded
from .replicas import VariableAggregation, VariableSynchronization, as_aggregation, as_synchronization
from .shapes import TensorShape
from .structural import identity_
from .tensor import Operators, Reference, Tensor, array_text, form_of, next_key, wrap
from .tensor_conversion import convert
from .trace_errors import no_value
from .types import DTypeLike, ShapeLike, TensorLike

# Called when a @function has made variables, before they get initial values that it computes.
when_made: list[Callable[[], None]] = []
# Called with each new variable: by a checkpoint that waits for some, by the scope of a strategy.
when_new: list[Callable[[Variable], None]] = []


class Variable(Operators):
    """A mutable value, to be trained: tapes watch trainable variables by themselves.

    Args:
        initial_value: a value, or a function without arguments that gives it.
        trainable: whether tapes watch the variable unasked (by default they do).
        name: shown in the repr and in warnings; the default is 'Variable'.
        dtype: the dtype to convert the initial value to.
        constraint: a function that an optimizer applies to the value after each update.
        synchronization: when copies on several replicas are made equal: see `tf.VariableSynchronization`.
        aggregation: how values that several replicas assign become one: see `tf.VariableAggregation`.
        shape: the shapes that may be assigned, None for lengths that may change. The default: the initial value's.

    The other arguments are TensorFlow's, and are ignored.

    Raises:
        ValueError: if there is no initial value, or it does not fit `shape`.
        TypeError: if the initial value is not of `dtype`.

    >>> v = Variable([1.0, 2.0])
    >>> v.assign_add([1.0, 1.0])
    <tf.Variable 'Variable:0' shape=(2,) dtype=float32, numpy=array([2., 3.], dtype=float32)>
    """

    __slots__ = (
        "__weakref__",
        "_aggregation",
        "_constraint",
        "_key",
        "_name",
        "_own",
        "_shape",
        "_synchronization",
        "_tensor",
        "_trainable",
        "_watchable",
    )
    __array_priority__ = 100
    _is_slot = False  # of an optimizer, which sees to its value

    def __init__(
        self,
        initial_value: TensorLike | Callable[[], TensorLike] | None = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        import_scope: Any = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: ShapeLike | None = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if hasattr(self, "_key"):  # made already, by a function of `variable_creator_scope`
            return
        if initial_value is None:
            raise ValueError("a Variable needs an initial value: a value, or a function that gives one")
        if callable(initial_value):
            with outside():
                initial_value = initial_value()
        numpy_dtype = None if dtype is None else dtypes.as_dtype(dtype).numpy_dtype
        tensor = convert(initial_value, numpy_dtype)
        self._shape = tensor.shape if shape is None else TensorShape(shape)
        if not self._shape.is_compatible_with(tensor.shape):
            raise InvalidArgumentError(
                f"the initial value has shape {tensor.shape}, which does not fit shape={self._shape}"
            )
        self._key = next_key()
        self._name = local.here.scope + ("Variable" if name is None else name)
        self._trainable = True if trainable is None else bool(trainable)
        self._watchable = self._trainable and dtypes.is_differentiable(tensor._array)
        self._constraint = constraint
        self._synchronization = as_synchronization(synchronization)
        self._aggregation = as_aggregation(aggregation)
        trace = local.here.trace
        if trace is not None:
            tensor = trace.create(self, tensor)
        self._tensor = wrap(self._usable(tensor._array))
        self._tensor._key = self._key
        for notice in when_new:
            notice(self)
        if observers:
            self._tell_assigned("tf.Variable(...)", initial_value)

    def _put(self, array: Any, given: Tensor | None = None) -> None:
        """Replace the array; `given` is the tensor that it comes from.

        All values of a variable share its key: to tapes, every read is a read of the variable.
        """
        here = local.here
        if here.hot is not None:
            if here.replica is None or here.replica.updates_copies:
                here.hot.assign(self, "assign", wrap(array) if given is None else given)
                return
            here.hot.interrupt("a replica writes into a variable")  # `assign` does not come along here
        tensor = wrap(array)
        tensor._key = self._key
        if here.trace is None:
            self._tensor = tensor
        else:
            here.trace.write(self, tensor)

    def _put_computed(self, array: Any) -> None:
        """Replace the array by one that a part of the program has computed."""
        self._put(array)

    def _put_written(self, method: str, array: Any) -> None:
        """Replace the array by one that a method wrote into; with several replicas, by that of all of them."""
        replica = local.here.replica
        if replica is None:
            self._put(array)
            return
        if not replica.updates_copies:
            leave_hot("a replica writes into a part of a variable")
        if local.here.hot is None:
            array = replica.aggregated_rows(self, method, array)
        self._put(array)

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read(self) -> Tensor:
        """The value as an operation's input. Not for users: an assignment may write into it."""
        here = local.here
        if here.trace is not None:
            for tape in here.tapes:
                tape._on_read(self)
            return here.trace.read(self)
        for tape in here.tapes:
            if self._key not in tape._watched:
                tape._on_read(self)
        if here.hot is not None:
            here.hot.read(self)
        return self._tensor

    @property
    def _now(self) -> Tensor:
        """The value, without an event for the listeners."""
        trace = local.here.trace
        return self._tensor if trace is None else trace.read(self)

    @property
    def _array(self) -> Any:
        return self._now._array

    def value(self) -> Tensor:
        """The value now, as a tensor."""
        return apply1(identity_, self)

    def read_value(self) -> Tensor:
        """The value now, as a tensor."""
        return self.value()

    _as_tensor = value

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The rows at `indices`, as `gather` gives them.

        >>> Variable([1.0, 2.0, 3.0]).sparse_read([2, 0]).numpy()
        array([3., 1.], dtype=float32)
        """
        return rows_at(self._read(), indices)

    def numpy(self) -> Any:
        """A copy of the value as a NumPy array; a NumPy scalar if there are no axes."""
        return self._now.numpy()

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._tensor.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape; None for lengths that may change."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._tensor.ndim

    @property
    def name(self) -> str:
        """The name, followed by TensorFlow's ':0'."""
        return f"{self._name}:0"

    @property
    def handle(self) -> Variable:
        """The variable itself: what objects that stand for a variable give as theirs."""
        return self

    @property
    def _unique_id(self) -> str:
        return f"{self._name}_{self._key}"

    @property
    def _shared_name(self) -> str:
        return self._name

    @property
    def trainable(self) -> bool:
        """Whether tapes watch this variable unasked."""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """The function an optimizer applies after each update."""
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        """When copies on several replicas are made equal."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """How values that several replicas assign become one."""
        return self._aggregation

    @property
    def device(self) -> str:
        """The name of the device that holds the value."""
        return self._tensor.device

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self._shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Allow only values of this shape, in which None stands for any length, from now on.

        Raises:
            ValueError: if it contradicts the shape there is.
        """
        self._shape = self._shape.merge_with(TensorShape(shape))

    def is_initialized(self) -> Tensor:
        """True: a variable here always has a value."""
        return convert(True)

    def ref(self) -> Reference:
        """A hashable stand-in for this very variable, to use as a dictionary key."""
        return Reference(self)

    experimental_ref = ref

    @property
    def initializer(self) -> None:
        """None: a variable has its value from the start, and nothing needs to be run."""
        return None

    @property
    def initial_value(self) -> Any:
        """TensorFlow keeps it in graphs only: here it raises, as there.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            f"{self._describe()} does not keep its initial value: keep it yourself, or read v.numpy()"
        )

    class SaveSliceInfo:
        """Which part of a larger variable this one is, for checkpoints of partitioned variables.

        Args:
            full_name, full_shape: of the larger variable.
            var_offset: where the part begins, along each axis.
            var_shape: the shape of the part.
            save_slice_info_def, import_scope: accepted; there are no graphs that hold them.

        >>> Variable.SaveSliceInfo("w", [4, 2], [0, 0], [2, 2]).spec
        '4 2 0,2:0,2'
        """

        def __init__(
            self,
            full_name: str | None = None,
            full_shape: Any = None,
            var_offset: Any = None,
            var_shape: Any = None,
            save_slice_info_def: Any = None,
            import_scope: Any = None,
        ) -> None:
            self.full_name = full_name
            self.full_shape = full_shape
            self.var_offset = var_offset
            self.var_shape = var_shape
            self.var_full_name = full_name if import_scope is None else f"{import_scope}/{full_name}"

        @property
        def spec(self) -> str:
            """The larger shape, and for each axis the beginning and the length of the part."""
            whole = " ".join(str(n) for n in self.full_shape)
            ranges = ":".join(f"{begin},{size}" for begin, size in zip(self.var_offset, self.var_shape))
            return f"{whole} {ranges}"

    def load(self, value: TensorLike, session: Any = None) -> None:
        """Assign a value; `session` is ignored.

        >>> v = Variable([1.0, 2.0])
        >>> v.load([3.0, 4.0])
        >>> v.numpy()
        array([3., 4.], dtype=float32)
        """
        self.assign(value)

    def count_up_to(self, limit: int) -> Tensor:
        """Add 1, and return the value from before.

        Args:
            limit: the value that is not exceeded.

        Raises:
            OutOfRangeError: if the value has reached the limit.

        >>> v = Variable(1)
        >>> int(v.count_up_to(3)), int(v)
        (1, 2)
        """
        before = self._read()
        if before._array.dtype.kind not in "iu" or before.ndim:
            raise InvalidArgumentError(f"count_up_to: {self._describe()} must be one integer")
        if is_traced(before._array):
            raise no_value("count_up_to", before._array)
        if int(before._array) >= limit:
            raise OutOfRangeError(f"count_up_to: {self._describe()} has reached the limit {limit}")
        self.assign_add(np.asarray(1, before._array.dtype))
        return before

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Write rows into each matrix of a batch: the leading axes of the indices are those of the variable.

        Args:
            sparse_delta: the rows, with their indices of shape (..., rows).
            use_locking: accepted; no effect.

        >>> v = Variable([[1.0, 2.0], [3.0, 4.0]])
        >>> v.batch_scatter_update(IndexedSlices([[9.0], [8.0]], [[1], [0]])).numpy()
        array([[1., 9.], [8., 4.]], dtype=float32)
        """
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(
                f"batch_scatter_update takes IndexedSlices(values, indices), not {type(sparse_delta).__name__}"
            )
        at = sparse_delta.indices._array
        if not at.ndim:
            raise InvalidArgumentError("batch_scatter_update: indices need an axis")
        lead = np.meshgrid(*(np.arange(n, dtype=at.dtype) for n in at.shape), indexing="ij")[:-1]
        m = xp(at)
        return self._scatter("scatter_nd_update", m.stack([*lead, at], -1), sparse_delta._values)

    # -- assigning ----------------------------------------------------------------------------------------------------

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Replace the value by another of the same dtype, and of a shape that fits. Returns the variable.

        `use_locking` and `read_value` are accepted; no effect.

        Raises:
            ValueError: if the shape does not fit the variable's.
            TypeError: if the dtype is another.

        >>> Variable([1.0, 2.0]).assign([3.0, 4.0]).numpy()
        array([3., 4.], dtype=float32)
        """
        tensor = self._fitting(value, "assign")
        here = local.here
        if here.replica is not None:
            if here.hot is not None:
                here.hot.assign(self, "assign", tensor)
                return self
            tensor = here.replica.aggregated(self, "assign", tensor)
        self._put(tensor._array, tensor)
        if observers:
            self._tell_assigned("assign", value)
        return self

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Add `delta`, of the same shape and dtype, to the value. Returns the variable.

        `use_locking` and `read_value` are accepted; no effect.

        Raises:
            ValueError: if the shapes differ.
            TypeError: if the dtypes differ.
        """
        self._update(np.add, delta, "assign_add")
        if observers:
            self._tell_assigned("assign_add", delta)
        return self

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Subtract `delta`, of the same shape and dtype, from the value. Returns the variable.

        `use_locking` and `read_value` are accepted; no effect.

        Raises:
            ValueError: if the shapes differ.
            TypeError: if the dtypes differ.
        """
        self._update(np.subtract, delta, "assign_sub")
        if observers:
            self._tell_assigned("assign_sub", delta)
        return self

    def _tell_assigned(self, method: str, value: Any) -> None:
        for observer in observers:
            observer._on_assign(self, method, value)

    def _update(self, function: np.ufunc, delta: Any, method: str) -> None:
        """Put `function(value, delta)`, into an existing array if its reference count says that it is not shared.

        A training step then allocates no array the size of each parameter. The new value is in C's order either way.
        """
        here = local.here
        if here.hot is not None:
            here.hot.assign(self, method, delta)
            return
        computed = type(delta) is Tensor
        if not computed:
            delta = self._fitting(delta, method)
        trace = here.trace
        if here.replica is not None:
            delta = here.replica.aggregated(self, method, self._fitting(delta, method))
        tensor = self._tensor if trace is None else trace.read(self)
        array, operand = tensor._array, delta._array
        # While a function is traced the variable may hold its array on other ways through the program.
        if (
            type(array) is ndarray
            and type(operand) is ndarray
            and operand.dtype is array.dtype
            and operand.shape == array.shape
            and trace is None
        ):
            if (
                operand.size >= _LARGE
                and computed
                and references(delta, operand) == UNSHARED_ARGUMENT
                and _is_whole(operand)
            ):
                # A temporary, as `rate * gradient` is. It is in the processor's cache, and the variable's value is not.
                self._put(quietly(function, array, operand, operand))
            elif (
                array.base is None
                and references(tensor, array) == UNSHARED_VALUE
                and array.flags.c_contiguous
            ):
                quietly(function, array, operand, array)
                self._has_written(tensor, array)
            else:
                self._put(quietly(function, array, operand, np.empty(array.shape, array.dtype)))
        else:
            operand = self._fitting(delta, method)._array
            self._put(as_array(quietly(getattr(xp(array, operand), function.__name__), array, operand)))

    def _writable(self) -> Any:
        """The value's NumPy array in C's order, to be written into: its own if it is not shared, else a copy of it."""
        leave_hot("a variable's array is written into")
        tensor = self._tensor
        array = tensor._array
        if (
            type(array) is ndarray
            and array.base is None
            and references(tensor, array) == UNSHARED_VALUE
            and array.flags.c_contiguous
        ):
            return array
        array = np.array(array, order="C")
        self._put(array)
        return array

    def _has_written(self, tensor: Tensor, array: Any) -> None:
        """Keep what was written into the array of the value, which another thread may just have moved to a device."""
        if tensor._array is not array:
            self._put(array)

    def _fitting(self, value: Any, method: str) -> Tensor:
        """Validate a value for assignment and return it as a tensor."""
        own = form_of(self._tensor)
        try:
            tensor = value if type(value) is Tensor else convert(value, own.dtype)
        except DTypeError as error:
            raise DTypeError(f"{method} to {self._describe()}: {error}") from None
        array = tensor._array
        if type(array) is not ndarray:
            self._usable(array)
        if array.dtype != own.dtype:
            raise DTypeError(
                f"{method} to {self._describe()}: the value has dtype {tensor.dtype.name}: "
                f"use cast(value, {self.dtype.name!r})"
            )
        if array.shape != own.shape and not (
            method == "assign" and self._shape.is_compatible_with(TensorShape(array.shape))
        ):
            raise InvalidArgumentError(
                f"{method} to {self._describe()}: the value has shape {tensor.shape}; the shapes must agree"
            )
        return tensor

    @staticmethod
    def _usable(array: Any) -> Any:
        """Validate that an array may be a value: outside of its @function, a traced array has no meaning."""
        if type(array) is not ndarray and local.here.trace is None and is_traced(array):
            raise no_value("a Variable", array)
        return array

    def _describe(self) -> str:
        return f"the variable {self._name!r} of shape {self._shape} and dtype {self.dtype.name}"

    def _assign_slice(self, method: str, index: Any, value: Any) -> Variable:
        """Do what `v[index].assign(value)`, `.assign_add` or `.assign_sub` asks for."""
        array = self._array
        old = array[index]
        tensor = convert(value, array.dtype) if type(value) is not Tensor else value
        self._usable(tensor._array)
        if tensor._array.dtype != array.dtype:
            raise DTypeError(
                f"{method} to a slice of {self._describe()}: the value has dtype {tensor.dtype.name}: cast it"
            )
        try:
            new = xp(tensor._array).broadcast_to(tensor._array, np.shape(old))
        except ValueError:
            raise InvalidArgumentError(
                f"{method} to a slice of shape {list(np.shape(old))} of {self._describe()}: "
                f"the value has shape {tensor.shape}"
            ) from None
        new = new if method == "assign" else old + new if method == "assign_add" else old - new
        self._put_written(method, _written(array, index, new, "set"))
        if observers:
            self._tell_assigned(method, value)
        return self

    def scatter_nd_update(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Variable:
        """Put `updates` at `indices`. Returns the variable, as all `scatter_` methods do.

        Args:
            indices: integers whose last axis holds coordinates: of an element or, if fewer than the rank, of a slice.
            updates: an element or slice for each of them.

        Raises:
            ValueError: if the shapes do not fit.
            IndexError: if an index is out of bounds.

        >>> Variable([1.0, 2.0, 3.0]).scatter_nd_update([[0], [2]], [10.0, 30.0]).numpy()
        array([10.,  2., 30.], dtype=float32)
        """
        return self._scatter("scatter_nd_update", indices, updates)

    def scatter_nd_add(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Variable:
        """Add `updates` at `indices`; those at equal indices add up."""
        return self._scatter("scatter_nd_add", indices, updates)

    def scatter_nd_sub(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Variable:
        """Subtract `updates` at `indices`; those at equal indices add up."""
        return self._scatter("scatter_nd_sub", indices, updates)

    def scatter_nd_max(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Variable:
        """Put the larger of the value and `updates` at `indices`."""
        return self._scatter("scatter_nd_max", indices, updates)

    def scatter_nd_min(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Variable:
        """Put the smaller of the value and `updates` at `indices`."""
        return self._scatter("scatter_nd_min", indices, updates)

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Put the rows of `IndexedSlices` at their indices.

        Args:
            sparse_delta: the rows, with their indices.
            use_locking: accepted; no effect.
        """
        return self._scatter_rows("scatter_update", sparse_delta)

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Add the rows of `IndexedSlices`; those of equal indices add up.

        Args:
            sparse_delta: the rows, with their indices.
            use_locking: accepted; no effect.

        >>> Variable([1.0, 2.0]).scatter_add(IndexedSlices([5.0, 5.0], [1, 1])).numpy()
        array([ 1., 12.], dtype=float32)
        """
        return self._scatter_rows("scatter_add", sparse_delta)

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Subtract the rows of `IndexedSlices`; those of equal indices add up.

        Args:
            sparse_delta: the rows, with their indices.
            use_locking: accepted; no effect.
        """
        return self._scatter_rows("scatter_sub", sparse_delta)

    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Multiply by the rows of `IndexedSlices`.

        Args:
            sparse_delta: the rows, with their indices.
            use_locking: accepted; no effect.
        """
        return self._scatter_rows("scatter_mul", sparse_delta)

    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Divide by the rows of `IndexedSlices`.

        Args:
            sparse_delta: the rows, with their indices.
            use_locking: accepted; no effect.
        """
        return self._scatter_rows("scatter_div", sparse_delta)

    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Put the larger of the value and the rows of `IndexedSlices`.

        Args:
            sparse_delta: the rows, with their indices.
            use_locking: accepted; no effect.
        """
        return self._scatter_rows("scatter_max", sparse_delta)

    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Put the smaller of the value and the rows of `IndexedSlices`.

        Args:
            sparse_delta: the rows, with their indices.
            use_locking: accepted; no effect.
        """
        return self._scatter_rows("scatter_min", sparse_delta)

    def _scatter_rows(self, method: str, slices: Any) -> Variable:
        if not isinstance(slices, IndexedSlices):
            raise TypeError(f"{method} takes IndexedSlices(values, indices), not {type(slices).__name__}")
        return self._scatter(method, slices.indices._array[..., None], slices._values)

    def _scatter(self, method: str, indices: Any, updates: Any) -> Variable:
        """Write `updates` at `indices`, whose last axis holds coordinates, in the way the method's name says."""
        old = self._array
        at = convert(indices)._array
        new = self._usable(convert(updates, old.dtype)._array)
        if at.dtype.kind not in "iu":
            raise DTypeError(f"{method}: indices must be integers, not {dtypes.of(at).name}")
        depth = at.shape[-1] if at.ndim else 0
        if not 1 <= depth <= old.ndim:
            raise InvalidArgumentError(
                f"{method} to {self._describe()}: the last axis of indices, of shape {list(at.shape)}, must hold "
                f"from 1 to {old.ndim} coordinates"
            )
        if new.shape != at.shape[:-1] + old.shape[depth:]:
            raise InvalidArgumentError(
                f"{method} to {self._describe()}: indices of shape {list(at.shape)} need updates of shape "
                f"{list(at.shape[:-1] + old.shape[depth:])}, not {list(new.shape)}"
            )
        wrong = False if is_traced(at) else ((at < 0) | (at >= old.shape[:depth])).any(-1)
        if np.any(wrong):
            raise IndexOutOfBoundsError(
                f"{method} to {self._describe()}: the index {at[wrong][0].tolist()} is out of bounds"
            )
        where = tuple(xp(at).moveaxis(at, -1, 0))
        self._put_written(method, _written(old, where, new, _WRITES[method.rpartition("_")[2]]))
        return self

    # -- Python -------------------------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._now.__array__(dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._now.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()

    def __len__(self) -> int:
        return len(self._tensor)

    def __bool__(self) -> bool:
        return bool(self._now)

    def __float__(self) -> float:
        return float(self._now)

    def __int__(self) -> int:
        return int(self._now)

    def __complex__(self) -> complex:
        return complex(self._now)

    def __index__(self) -> int:
        return self._now.__index__()

    def __format__(self, spec: str) -> str:
        return format(self._now, spec) if spec else repr(self)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self._shape} dtype={self.dtype.name}, " + (
            "traced>" if is_traced(self._array) else f"numpy={array_text(self._array, repr)}>"
        )

    def __hash__(self) -> int:
        raise TypeError(
            "a Variable is unhashable, because == compares element by element. Use variable.ref() as the key"
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("a Variable does not support item assignment: write v[index].assign(value)")

    def __copy__(self) -> Variable:
        return _restore(*self._saved())

    def __deepcopy__(self, memo: Any) -> Variable:
        memo[id(self)] = copy = self.__copy__()
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, self._saved()

    def _saved(self) -> tuple[Any, ...]:
        """The arguments of `_restore`."""
        value = computed(self._array)  # and not a result of a pass of hot tapes
        own = value, self._trainable, self._name, self._shape, self._constraint
        return (*own, self._synchronization, self._aggregation)


def _restore(
    array: Any,
    trainable: bool,
    name: str,
    shape: TensorShape,
    constraint: Any,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Variable:
    variable = Variable(
        wrap(array),
        trainable=trainable,
        shape=shape,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )
    variable._name = name  # as it was: no scope is prepended
    return variable


_LARGE = 1 << 14  # elements: below, writing into the variable's own array is quicker


def _is_whole(array: Any) -> bool:
    """Return whether an array owns its memory, contiguous and writeable, and so may become a value."""
    return array.base is None and array.flags.c_contiguous and array.flags.writeable


def _written(array: Any, index: Any, new: Any, way: str) -> Any:
    """A copy of `array` with `new` written at `index`, in one of the ways in `_WRITES`."""
    if way != "set" and array.dtype.char in dtypes.HALF:
        return rounded(lambda array, new: _written(array, index, new, way), array, new)
    if xp(array, new) is not np:
        return getattr(xp(array, new).asarray(array).at[index], way)(new)
    array = array.copy()
    if way == "set":
        array[index] = new
    else:
        with np.errstate(all="ignore"):
            getattr(np, {"max": "maximum", "min": "minimum"}.get(way, way)).at(array, index, new)
    return array


# How scattering writes, by the last word of the method's name.
_WRITES = {
    "update": "set",
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "max": "max",
    "min": "min",
}


def _assign_add(self: Any, delta: Any, use_locking: Any = 0, name: Any = 0, read_value: Any = 0) -> Any:
    hot = local.here.hot
    if hot is None:
        self._update(np.add, delta, "assign_add")
    else:
        hot.assign(self, "assign_add", delta)
    if observers:
        self._tell_assigned("assign_add", delta)
    return self


def _assign_sub(self: Any, delta: Any, use_locking: Any = 0, name: Any = 0, read_value: Any = 0) -> Any:
    hot = local.here.hot
    if hot is None:
        self._update(np.subtract, delta, "assign_sub")
    else:
        hot.assign(self, "assign_sub", delta)
    if observers:
        self._tell_assigned("assign_sub", delta)
    return self


exchange(Variable.assign_add, _assign_add)
exchange(Variable.assign_sub, _assign_sub)


def _refuse_in_place(symbol: str, instead: str) -> Callable[[Variable, Any], Any]:
    def refuse(self: Variable, other: Any) -> Any:
        raise RuntimeError(
            f"`v {symbol}= x` would put a Tensor in place of {self._describe()}. "
            f"Write {instead} to change the variable, or `y = v {symbol} x` for a new tensor"
        )

    return refuse


for _name, _symbol, _instead in (
    ("add", "+", "v.assign_add(x)"),
    ("sub", "-", "v.assign_sub(x)"),
    ("mul", "*", "v.assign(v * x)"),
    ("truediv", "/", "v.assign(v / x)"),
    ("floordiv", "//", "v.assign(v // x)"),
    ("mod", "%", "v.assign(v % x)"),
    ("pow", "**", "v.assign(v ** x)"),
    ("matmul", "@", "v.assign(v @ x)"),
):
    setattr(Variable, f"__i{_name}__", _refuse_in_place(_symbol, _instead))
