"""Tensors that are divided among devices, under DTensor's names: JAX's sharded arrays."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..compiled.function import Function
from ..core import nest
from ..core.errors import InvalidArgumentError
from ..core.primitive import apply1, leave_hot, local, primitive
from ..core.tensor import Tensor, array_of
from ..core.tensor_conversion import convert_to_tensor
from ..core.types import TensorLike
from ..core.variable import Variable
from ..data.dataset import Dataset
from ..engine.arrays import is_traced
from .layouts import Layout, Mesh, laid_out, layout_of
from .per_replica import is_elsewhere

_default: list[Mesh] = []  # the meshes of open `default_mesh` blocks


@primitive(linear=True, moves=True, name="relayout")
def relayout_(x: Any, *, layout: Layout | None) -> Any:
    """The same values, divided otherwise among devices."""
    if layout is None or not is_traced(x):
        return x
    import jax

    lead = x.ndim - layout.rank
    sharding = layout.sharding
    spec = jax.sharding.PartitionSpec(*[None] * lead, *sharding.spec)
    return jax.lax.with_sharding_constraint(x, jax.sharding.NamedSharding(sharding.mesh, spec))


relayout_.rules(x=lambda g: g)  # XLA finds the layout of the gradient


def relayout(tensor: TensorLike, layout: Layout, name: str | None = None) -> Tensor:
    """Divide a tensor among the devices of a mesh. Gradients pass through.

    Args:
        tensor: a tensor.
        layout: how each axis is divided.

    Raises:
        ValueError: if the layout does not fit its shape.

    >>> from gradtape.experimental import dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> dtensor.fetch_layout(relayout([1.0, 2.0], dtensor.Layout(["x"], mesh))).sharding_specs
    ['x']
    """
    given = convert_to_tensor(tensor)
    shape = array_of(given).shape
    if not isinstance(layout, Layout) or len(shape) != layout.rank:
        raise ValueError(
            f"relayout: a tensor of shape {list(shape)} takes a Layout for its axes, not {layout!r}"
        )
    for i, n in enumerate(shape):
        if n % layout.num_shards(i):
            raise InvalidArgumentError(
                f"relayout: axis {i} of shape {list(shape)} cannot be divided evenly by {layout}"
            )
    is_eager = local.here.trace is None
    if is_eager and is_elsewhere(given):
        return _compiled_relayout(layout)(given)
    out = apply1(relayout_, given, {"layout": layout})
    if is_eager:
        out._both = out._device = laid_out(out._array, layout)
    return out


@functools.lru_cache(maxsize=256)
def _compiled_relayout(layout: Layout) -> Callable[[Tensor], Tensor]:
    """`relayout` for tensors of which this process has a part: a program of all processes."""
    program: Any = Function(lambda tensor: relayout(tensor, layout), autograph=False)

    def run(tensor: Tensor) -> Tensor:
        return _with_layout(program(tensor), layout)

    return run


def _with_layout(tensor: Tensor, layout: Layout) -> Tensor:
    """A result of a program, as `layout` says: XLA may have chosen otherwise."""
    if _layout(tensor) != layout:
        tensor._device = laid_out(array_of(tensor), layout)
    return tensor


def relayout_like(tensor: TensorLike, layout_tensor: Any, name: str | None = None) -> Tensor:
    """Divide a tensor as another one is.

    Args:
        tensor: a tensor.
        layout_tensor: the other one.

    >>> from gradtape.experimental import dtensor
    >>> layout = dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)]))
    >>> divided = dtensor.relayout([1.0, 2.0], layout)
    >>> dtensor.fetch_layout(relayout_like([3.0, 4.0], divided)) == layout
    True
    """
    return relayout(tensor, fetch_layout(layout_tensor))


def copy_to_mesh(tensor: TensorLike, layout: Layout, source_layout: Layout | None = None) -> Tensor:
    """Copy a tensor to all devices of a mesh, or divide it among them.

    Args:
        tensor: a tensor.
        layout: how each axis is divided.
        source_layout: accepted; no effect.

    >>> from gradtape.experimental import dtensor
    >>> layout = dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)]))
    >>> copy_to_mesh([1.0, 2.0], layout).numpy()
    array([1., 2.], dtype=float32)
    """
    return relayout(tensor, layout)


def fetch_layout(tensor: Any) -> Layout:
    """How a tensor or a variable is divided.

    Raises:
        ValueError: if it lies on no mesh.

    >>> from gradtape.experimental import dtensor
    >>> layout = dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)]))
    >>> fetch_layout(dtensor.relayout([1.0, 2.0], layout)).sharding_specs
    ['x']
    """
    found = _layout(tensor)
    if found is None:
        raise ValueError(
            f"fetch_layout: this tensor lies on no mesh: {tensor!r}. relayout(tensor, layout) puts it on one"
        )
    return found


def _layout(tensor: Any) -> Layout | None:
    if isinstance(tensor, DVariable):
        return tensor.layout
    held = tensor._tensor if isinstance(tensor, Variable) else tensor
    if type(held) is not Tensor or is_traced(array_of(held)):
        return None
    return layout_of(array_of(held))


def is_dtensor(tensor: Any) -> bool:
    """Return whether a tensor or a variable lies on a mesh.

    >>> import gradtape as tf
    >>> is_dtensor(tf.constant(1.0))
    False
    """
    return _layout(tensor) is not None


def check_layout(tensor: Any, layout: Layout) -> None:
    """Raise unless a tensor is divided so.

    Raises:
        ValueError: if it is divided otherwise.

    >>> from gradtape.experimental import dtensor
    >>> layout = dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)]))
    >>> check_layout(dtensor.relayout([1.0, 2.0], layout), layout)
    """
    if fetch_layout(tensor) != layout:
        raise ValueError(f"the layout is {fetch_layout(tensor)}, not {layout}")


def call_with_layout(fn: Callable[..., Any], layout: Layout | None, *args: Any, **kwargs: Any) -> Any:
    """Call a function, and divide the tensors it returns. No device computes more than its part, where XLA can help it.

    Args:
        fn: the function.
        layout: how each result is divided; None to leave them as they are.
        args, kwargs: the arguments.

    >>> import gradtape as tf
    >>> mesh = tf.experimental.dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> layout = tf.experimental.dtensor.Layout.replicated(mesh, 1)
    >>> call_with_layout(tf.zeros, layout, (2,)).numpy()
    array([0., 0.], dtype=float32)
    """
    if layout is None:
        return fn(*args, **kwargs)

    def made() -> Any:
        return nest.map_structure(lambda leaf: relayout(leaf, layout), fn(*args, **kwargs))

    if local.here.trace is not None:
        return made()
    result: Any = Function(made, autograph=False)()
    for leaf in nest.flatten(result):
        if type(leaf) is Tensor:
            _with_layout(leaf, layout)
    return result


def pack(tensors: Sequence[TensorLike], layout: Layout) -> Tensor:
    """One tensor of the parts that the devices of a mesh have.

    Args:
        tensors: the part of each device of this process, in the order of their numbers.
        layout: how the tensor is divided.

    Raises:
        ValueError: if there are not as many parts as devices.

    >>> from gradtape.experimental import dtensor
    >>> pack([[1.0, 2.0]], dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)], devices=["CPU:0"]))).numpy()
    array([1., 2.], dtype=float32)
    """
    import jax

    from ..compiled.buffers import from_device

    devices = layout.mesh.own_devices
    parts = [convert_to_tensor(t)._array for t in tensors]
    if len(parts) != len(devices) or len({(p.shape, p.dtype) for p in parts}) > 1:
        raise ValueError(
            f"pack: {layout.mesh} takes a part of one shape and dtype for each of {len(devices)} devices here, not "
            f"{[p.shape for p in parts]}"
        )
    shape = layout.global_shape_from_local_shape(parts[0].shape)
    with jax.enable_x64(True):
        placed = [jax.device_put(p, d) for p, d in zip(parts, devices, strict=True)]
        return from_device(jax.make_array_from_single_device_arrays(shape, layout.sharding, placed))


def unpack(tensor: Any) -> list[Tensor]:
    """The parts of a tensor that the devices of this process have, in the order of their numbers.

    Raises:
        ValueError: if it lies on no mesh.

    >>> from gradtape.experimental import dtensor
    >>> layout = dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)]))
    >>> [part.numpy() for part in unpack(dtensor.relayout([1.0, 2.0], layout))]
    [array([1., 2.], dtype=float32)]
    """
    layout = fetch_layout(tensor)
    held = tensor._tensor if isinstance(tensor, Variable) else tensor
    by_device = {shard.device: shard.data for shard in array_of(held).addressable_shards}
    return [convert_to_tensor(np.asarray(by_device[d])) for d in layout.mesh.own_devices]


class DVariable(Variable):
    """A variable that is divided among the devices of a mesh.

    Args:
        initial_value: a tensor that lies on a mesh, or a function that returns one.
        args, kwargs: the other arguments of `tf.Variable`.

    Raises:
        ValueError: if the initial value lies on no mesh, and there is no default mesh.

    >>> from gradtape.experimental import dtensor
    >>> layout = dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)], devices=["CPU:0"]))
    >>> DVariable(dtensor.relayout([1.0, 2.0], layout)).layout.sharding_specs
    ['x']
    """

    __slots__ = ("_layout",)

    def __init__(self, initial_value: Any, *args: Any, **kwargs: Any) -> None:
        value = initial_value() if callable(initial_value) else initial_value
        layout = _layout(value)
        if layout is None:
            if not _default:
                raise ValueError(
                    "DVariable takes an initial value that lies on a mesh, as tf.experimental.dtensor.call_with_layout "
                    "makes one"
                )
            layout = Layout.replicated(_default[-1], convert_to_tensor(value).ndim)
        self._layout = layout
        held = value._tensor if isinstance(value, Variable) else value
        if type(held) is Tensor and is_elsewhere(held):
            super().__init__(_stand_in(held), *args, **kwargs)
            self._hold(array_of(held))
        else:
            super().__init__(value, *args, **kwargs)
            self._put(self._tensor._array)

    @property
    def layout(self) -> Layout:
        """How it is divided."""
        return self._layout

    def _put(self, array: Any, given: Tensor | None = None) -> None:
        leave_hot("a variable is divided among devices")
        super()._put(array, given)
        if local.here.trace is None:
            self._hold(array)

    def _hold(self, array: Any) -> None:
        from ..compiled.buffers import from_device

        self._tensor = from_device(laid_out(array, self._layout), self._key)

    def value(self) -> Tensor:
        """The value now, as a tensor that is divided in the same way."""
        here = local.here
        if here.trace is not None:
            return super().value()
        held = self._read()
        if not here.tapes:
            from ..compiled.buffers import from_device

            return from_device(array_of(held))
        return _compiled_relayout(self._layout)(held)

    _as_tensor = value

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> DVariable:
        """Replace the value, and divide the new one in the same way. Returns the variable.

        Args:
            value: a value of the same shape and dtype.
            use_locking: accepted; no effect.
            name: accepted; no effect.
            read_value: accepted; no effect.
        """
        held: Any = value._tensor if isinstance(value, Variable) else value
        if local.here.trace is None and type(held) is Tensor and is_elsewhere(held):
            self._fitting(_stand_in(held), "assign")
            self._hold(array_of(held))
            return self
        super().assign(value, use_locking, name, read_value)
        return self


def _stand_in(tensor: Tensor) -> Any:
    """An array of the shape and dtype of a tensor whose values are in several processes."""
    array = array_of(tensor)
    return convert_to_tensor(np.zeros(array.shape, array.dtype))


class DTensorDataset:
    """Batches of a dataset, divided among the devices of a mesh.

    Args:
        dataset: the dataset.
        mesh: the mesh.
        layouts: a layout for each part of an element.
        global_batch_size: the number of rows of a batch.
        dataset_already_batched: whether the elements are such batches.
        batch_dim: accepted: the layouts say it.
        prefetch: how many batches are made in advance.
        tf_data_service_config: accepted; no effect.

    >>> import gradtape as tf
    >>> mesh = tf.experimental.dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> layout = tf.experimental.dtensor.Layout(["x"], mesh)
    >>> len(list(DTensorDataset(tf.data.Dataset.range(4), mesh=mesh, layouts=layout, global_batch_size=2)))
    2
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        mesh: Mesh,
        layouts: Any,
        global_batch_size: int,
        dataset_already_batched: bool = False,
        batch_dim: str | None = None,
        prefetch: int | None = None,
        tf_data_service_config: Any = None,
    ) -> None:
        whole = dataset if dataset_already_batched else dataset.batch(global_batch_size, drop_remainder=True)
        self._dataset = whole if prefetch is None else whole.prefetch(prefetch)
        self._layouts = layouts

    def __iter__(self) -> Iterator[Any]:
        for element in self._dataset:
            yield nest.map_structure(relayout, element, self._layouts)

    def __len__(self) -> int:
        return len(self._dataset)

    @property
    def element_spec(self) -> Any:
        """The specs of the batches."""
        return self._dataset.element_spec


@contextlib.contextmanager
def default_mesh(mesh: Mesh) -> Iterator[None]:
    """A block whose variables lie on a mesh, on all devices, where nothing else is said.

    >>> from gradtape.experimental import dtensor
    >>> layout = dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)]))
    >>> with default_mesh(layout.mesh):
    ...     v = dtensor.DVariable([1.0, 2.0])
    >>> v.layout.mesh == layout.mesh
    True
    """
    _default.append(mesh)
    try:
        yield
    finally:
        _default.pop()


run_on = default_mesh


def get_default_mesh() -> Mesh | None:
    """The mesh of the innermost `default_mesh` block.

    >>> get_default_mesh() is None
    True
    """
    return _default[-1] if _default else None
