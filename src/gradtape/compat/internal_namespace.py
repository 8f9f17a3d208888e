"""`tensorflow.__internal__`, and objects of TensorFlow's internal modules that Keras uses and gradtape needs nowhere.

Keras's TensorFlow backend derives its variables and layers from classes found here.
"""

from __future__ import annotations

import contextlib
import functools
from abc import ABC
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from gradtape import Tensor, Variable, cond, function, get_static_value, is_tensor

from ..core.composite import CompositeTensor
from ..core.settings import settings
from ..core.stand_in import StandIn
from ..data.batch_size import compute_batch_size
from ..distribute import merging
from ..engine.arrays import is_traced
from ..ops.array.dynamic_slices import dynamic_update_slice
from ..ops.lookup.tables import Table
from ..ops.sparse import matrices
from . import type_specs


class _Parts:
    """The parts of an object by name. No dict: Keras looks through dicts for layers whose weights it saves."""

    __slots__ = ("named",)

    def __init__(self) -> None:
        self.named: dict[str, Any] = {}


_NO_PARTS = _Parts()


class Trackable(ABC):  # noqa: B024  (for `register`)
    """Base of objects that a checkpoint saves by name: an object remembers the parts it was given."""

    _self_setattr_tracking = True
    # On the class as well: in its files Keras saves attributes that a new layer has not.
    _self_tracked_parts = _NO_PARTS

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        parts = self.__dict__.setdefault("_self_tracked_parts", _Parts()).named
        if not overwrite and parts.get(name, trackable) is not trackable:
            raise ValueError(f"{type(self).__name__} has a part named {name!r} already")
        parts[name] = trackable
        return trackable

    def _trackable_children(self, save_type: str = "checkpoint", **options: Any) -> dict[str, Any]:
        """The parts; for a saved model all attributes. (Meanwhile Keras sets its training functions to None.)"""
        if save_type == "savedmodel":
            return dict(self._checkpoint_children())
        return dict(self._self_tracked_parts.named)

    def _checkpoint_children(self) -> list[tuple[str, Any]]:
        """Attributes; `_layers` of a Keras model without the input layer that a Sequential model gets when built."""
        parts = {name: part for name, part in vars(self).items() if name != "_self_tracked_parts"}
        if "_layers" in parts and hasattr(type(self), "layers"):
            parts["_layers"] = self.layers  # type: ignore[attr-defined]
        return [*parts.items()]

    def _maybe_initialize_trackable(self) -> None:  # noqa: B027
        """No-op: a part is remembered when the first one is."""


Trackable.register(Table)  # type: ignore[type-abstract]


class AutoTrackable(Trackable):
    """A trackable object whose attributes are its parts, as long as they are trackable themselves."""

    def __setattr__(self, name: str, value: Any) -> None:
        if self._self_setattr_tracking and isinstance(value, Trackable):
            self._track_trackable(value, name, overwrite=True)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._self_tracked_parts.named.pop(name, None)
        super().__delattr__(name)


def no_automatic_dependency_tracking(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: attributes that a method sets are no parts of the object."""

    @functools.wraps(method)
    def untracked(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self._self_setattr_tracking
        self._self_setattr_tracking = False
        try:
            return method(self, *args, **kwargs)
        finally:
            self._self_setattr_tracking = before

    return untracked


class _Concrete(type):
    def __instancecheck__(cls, thing: object) -> bool:
        return type(thing) is Tensor and not is_traced(thing._array)


class EagerTensor(metaclass=_Concrete):
    """For `isinstance`: a tensor that has a value, and is not traced."""


class FuncGraph:
    """A name for what is traced. Functions are traced without one here."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        self.name = name

    @contextmanager
    def as_default(self) -> Iterator[FuncGraph]:
        """No-op: the graph itself."""
        yield self


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Call one of two functions; where `pred` is traced, `cond` of both."""
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("smart_cond: true_fn and false_fn must be callable")
    known = get_static_value(pred) if is_tensor(pred) else pred
    if known is None:
        return cond(pred, true_fn, false_fn)
    return true_fn() if bool(known) else false_fn()


class ListWrapper(list[Any]):
    """For `isinstance`: lists that are attributes stay plain lists here."""


class _DictWrapper(dict[Any, Any]):
    """For `isinstance`: dicts that are attributes stay plain dicts here."""


class _Context:
    def clear_kernel_cache(self) -> None:
        """No-op: there are no kernels to forget."""


_context = _Context()


def _no_op() -> None:
    """Nothing: operations are done when they return."""


def _set_determinism(value: bool) -> None:
    settings.op_determinism = value


def namespace(path: str, **contents: Any) -> ModuleType:
    """A module of these names."""
    module = ModuleType(path)
    module.__dict__.update(contents)
    module.__all__ = sorted(contents)  # type: ignore[attr-defined]
    return module


class CoreTensor(StandIn):
    """`tf.__internal__.types.Tensor`: base of classes whose objects are values in every operation."""

    def _variable(self) -> Variable | None:
        """The variable of a Keras variable, which creates it later if it is told to."""
        value = getattr(self, "_value", None)
        return value if isinstance(value, Variable) else None


CoreTensor.__name__ = CoreTensor.__qualname__ = "Tensor"


def internal() -> ModuleType:
    """The namespace `tensorflow.__internal__`.

    >>> internal().tracking.AutoTrackable.__name__
    'AutoTrackable'
    """
    return namespace(
        "tensorflow.__internal__",
        CompositeTensor=CompositeTensor,
        EagerTensor=EagerTensor,
        FuncGraph=FuncGraph,
        distribute=namespace(
            "tensorflow.__internal__.distribute",
            interim=namespace(
                "tensorflow.__internal__.distribute.interim", maybe_merge_call=merging.maybe_merge_call
            ),
            strategy_supports_no_merge_call=merging.strategy_supports_no_merge_call,
        ),
        types=namespace("tensorflow.__internal__.types", Tensor=CoreTensor),
        tracking=namespace(
            "tensorflow.__internal__.tracking",
            Trackable=Trackable,
            AutoTrackable=AutoTrackable,
            no_automatic_dependency_tracking=no_automatic_dependency_tracking,
        ),
        smart_cond=namespace("tensorflow.__internal__.smart_cond", smart_cond=smart_cond),
        tf2=namespace("tensorflow.__internal__.tf2", enabled=lambda: True),
        function=namespace("tensorflow.__internal__.function", Function=type(function(lambda: None))),
    )


def compiler() -> ModuleType:
    """The namespace `tensorflow.compiler`.

    >>> compiler().tf2xla.python.xla.__all__
    ['dynamic_update_slice']
    """
    path = "tensorflow.compiler"
    xla = namespace(f"{path}.tf2xla.python.xla", dynamic_update_slice=dynamic_update_slice)
    python = namespace(f"{path}.tf2xla.python", xla=xla)
    return namespace(path, tf2xla=namespace(f"{path}.tf2xla", python=python))


# Objects in modules of `tensorflow.python`, by module.
PYTHON_OBJECTS: dict[str, dict[str, Any]] = {
    "data.experimental.ops.distribute": {"compute_batch_size": compute_batch_size},
    "framework.type_spec_registry": {"get_name": type_specs.get_name, "lookup": type_specs.lookup},
    "eager.context": {"context": lambda: _context, "async_wait": _no_op, "_reset_context": _no_op},
    "ops.linalg.sparse.sparse_csr_matrix_ops": {
        "csr_sparse_matrix_to_sparse_tensor": matrices.csr_sparse_matrix_to_sparse_tensor,
        "sparse_matrix_sparse_mat_mul": matrices.sparse_matrix_sparse_mat_mul,
        "sparse_tensor_to_csr_sparse_matrix": matrices.sparse_tensor_to_csr_sparse_matrix,
    },
    "util.deprecation": {"silence": contextlib.nullcontext},  # TensorBoard reads records in this context
    "trackable.data_structures": {"ListWrapper": ListWrapper, "_DictWrapper": _DictWrapper},
    "framework.config": {
        "is_op_determinism_enabled": lambda: settings.op_determinism,
        "enable_op_determinism": lambda: _set_determinism(True),
        "disable_op_determinism": lambda: _set_determinism(False),
    },
}
