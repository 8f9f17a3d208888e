"""`tensorflow.python`: TensorFlow's internal modules, as far as people import them, by the public names of gradtape."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..names.missing import RENAMED, missing
from .internal_namespace import PYTHON_OBJECTS

# `core.` holds the messages of `tensorflow.core`; all others are modules of `tensorflow.python`.
# The names in each module: `math.` all of a namespace (`.` the top one), `name` a top name, `name=x` a new name for x.
_SHOWS = {
    "client.device_lib": "list_local_devices=config.list_logical_devices",
    "core.example.example_pb2": "Example=train.Example SequenceExample=train.SequenceExample",
    "core.framework.summary_pb2": "Summary=compat.v1.Summary SummaryMetadata=compat.v1.SummaryMetadata",
    "core.util.event_pb2": "Event=compat.v1.Event",
    "data.ops.dataset_ops": "Dataset=data.Dataset DatasetV2=data.Dataset",
    "eager.backprop": "GradientTape",
    "eager.context": "device executing_eagerly",
    "eager.def_function": "function",
    "eager.forwardprop": "ForwardAccumulator=autodiff.ForwardAccumulator",
    "eager.polymorphic_function.polymorphic_function": "function",
    "framework.config": "config.",
    "framework.constant_op": "constant",
    "framework.dtypes": "dtypes.",
    "framework.errors": "errors.",
    "framework.errors_impl": "errors.",
    "framework.indexed_slices": "IndexedSlices",
    "framework.ops": "EagerTensor=Tensor Graph IndexedSlices Tensor control_dependencies convert_to_tensor "
    "convert_to_tensor_v2=convert_to_tensor device device_v2=device executing_eagerly "
    "executing_eagerly_outside_functions=executing_eagerly get_current_name_scope init_scope inside_function "
    "name_scope name_scope_v2=name_scope",
    "framework.random_seed": "set_random_seed=random.set_seed set_seed=random.set_seed",
    "framework.tensor": "Tensor TensorSpec",
    "framework.tensor_conversion": "convert_to_tensor convert_to_tensor_v2=convert_to_tensor",
    "framework.tensor_shape": "TensorShape as_shape=TensorShape",
    "framework.tensor_spec": "TensorSpec",
    "framework.tensor_util": "constant_value=get_static_value is_tensor is_tf_type=is_tensor",
    "keras": "keras.",
    "lib.io.tf_record": "TFRecordOptions=io.TFRecordOptions TFRecordWriter=io.TFRecordWriter "
    "tf_record_iterator=compat.v1.io.tf_record_iterator",
    "module.module": "Module",
    "ops.array_ops": ". linalg.",
    "ops.array_ops_stack": "stack unstack",
    "ops.bitwise_ops": "bitwise.",
    "ops.check_ops": "debugging.",
    "ops.clip_ops": "clip_by_global_norm clip_by_norm clip_by_value global_norm=linalg.global_norm",
    "ops.cond": "cond",
    "ops.control_flow_assert": "Assert",
    "ops.control_flow_case": "case",
    "ops.control_flow_ops": "Assert case cond group no_op switch_case tuple while_loop",
    "ops.control_flow_switch_case": "switch_case",
    "ops.custom_gradient": "custom_gradient grad_pass_through recompute_grad",
    "ops.functional_ops": "foldl foldr map_fn scan",
    "ops.gradient_checker_v2": "compute_gradient=test.compute_gradient",
    "ops.image_ops": "image.",
    "ops.image_ops_impl": "image.",
    "ops.linalg.linalg": "linalg.",
    "ops.linalg.linalg_impl": "linalg.",
    "ops.linalg_ops": "linalg.",
    "ops.logging_ops": "print_v2=print",
    "ops.manip_ops": "roll",
    "ops.map_fn": "map_fn",
    "ops.math_ops": "math. . linalg.",
    "ops.nn": "nn.",
    "ops.nn_impl": "nn.",
    "ops.nn_ops": "nn.",
    "ops.numpy_ops": "experimental.numpy.",
    "ops.parallel_for.control_flow_ops": "vectorized_map",
    "ops.random_ops": "random. random_gamma=random.gamma random_normal=random.normal "
    "random_shuffle=random.shuffle random_uniform=random.uniform",
    "ops.resource_variable_ops": "BaseResourceVariable=Variable ResourceVariable=Variable",
    "ops.script_ops": "eager_py_func=py_function numpy_function py_function",
    "ops.signal.dct_ops": "signal.",
    "ops.signal.fft_ops": "signal.",
    "ops.signal.mel_ops": "signal.",
    "ops.signal.reconstruction_ops": "signal.",
    "ops.signal.shape_ops": "signal.",
    "ops.signal.signal": "signal.",
    "ops.signal.spectral_ops": "signal.",
    "ops.signal.window_ops": "signal.",
    "ops.sort_ops": "argsort sort",
    "ops.special_math_ops": "math. einsum",
    "ops.stateful_random_ops": "random.",
    "ops.stateless_random_ops": "random. stateless_random_normal=random.stateless_normal "
    "stateless_random_uniform=random.stateless_uniform",
    "ops.tensor_array_ops": "TensorArray",
    "ops.unconnected_gradients": "UnconnectedGradients",
    "ops.variables": "Variable VariableAggregation VariableSynchronization",
    "ops.while_loop": "while_loop",
    "platform.test": "test.",
    "platform.tf_logging": "compat.v1.logging.",
    "types.core": "Tensor",
    "util.nest": "nest.",
}


_NOTHING: Any = object()


class Internal(ModuleType):
    """One of TensorFlow's internal modules, or a folder of them."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"gradtape.compat.internals.{path}", "A module of TensorFlow's own, shown by gradtape."
        )
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            self.__all__ = self.__dir__()
            return self.__all__
        path = f"{self._path}.{name}".lstrip(".")
        if any(module == path or module.startswith(f"{path}.") for module in (*_SHOWS, *_OBJECTS)):
            return Internal(path)
        shown = self._named(name)
        if shown is _NOTHING:
            raise missing(f"python.{path}")
        return shown

    def _named(self, name: str) -> Any:
        objects = _OBJECTS.get(self._path, {})
        if name in objects:
            return objects[name]
        tokens = _SHOWS.get(self._path, "").split()
        for token in tokens:
            new, _, target = token.partition("=")
            if new == name:
                return _public(target or name)
            namespace = _public(token.strip(".")) if token.endswith(".") else _NOTHING
            for plain in (name, name.removesuffix("_v2")) if namespace is not _NOTHING else ():
                if plain in _names(namespace):
                    return getattr(namespace, plain)
        old = RENAMED.get(name, "")
        return _public(old) if old and {".", f"{old.rpartition('.')[0]}."} & set(tokens) else _NOTHING

    def __dir__(self) -> list[str]:
        below = f"{self._path}.".lstrip(".")
        folders = {
            path.removeprefix(below).split(".")[0] for path in (*_SHOWS, *_OBJECTS) if path.startswith(below)
        }
        candidates = set(folders)
        for token in _SHOWS.get(self._path, "").split():
            if token.endswith("."):
                namespace = _public(token.strip("."))
                candidates.update(_names(namespace) if namespace is not _NOTHING else (), RENAMED)
            else:
                candidates.add(token.partition("=")[0])
        candidates.update(_OBJECTS.get(self._path, ()))
        return sorted(name for name in candidates if name in folders or self._named(name) is not _NOTHING)


def _names(namespace: ModuleType) -> list[str]:
    """The names in a namespace; Keras's have no `__all__`."""
    return getattr(namespace, "__all__", None) or dir(namespace)


def _public(path: str) -> Any:
    """The object of a dotted name of gradtape; _NOTHING if there is none, because a name may stand for None."""
    found: Any = sys.modules["gradtape"]
    for name in path.split(".") if path else []:
        found = getattr(found, name, _NOTHING)
    return found


def max_error(grad1: Sequence[np.ndarray], grad2: Sequence[np.ndarray]) -> float:
    """The largest difference between two lists of Jacobians, as `compute_gradient` returns them.

    >>> max_error([np.eye(2)], [np.zeros((2, 2))])
    1.0
    """
    differences = [np.abs(one - other).max() for one, other in zip(grad1, grad2, strict=True) if one.size]
    return float(max(differences, default=0.0))


# Objects that no public name gives, by module.
_OBJECTS = {**PYTHON_OBJECTS, "ops.gradient_checker_v2": {"max_error": max_error}}


def internals() -> Internal:
    """The module `tensorflow.python`.

    >>> internals().eager.backprop.GradientTape.__name__
    'GradientTape'
    """
    return Internal("")
