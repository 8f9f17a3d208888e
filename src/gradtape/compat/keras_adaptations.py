"""What is replaced in Keras when it is imported on gradtape, each with its reason. Nothing on disk changes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gradtape import (
    IndexedSlices,
    RaggedTensor,
    RaggedTensorSpec,
    SparseTensor,
    SparseTensorSpec,
    Tensor,
    TensorSpec,
    convert_to_tensor,
    data,
    distribute,
    inside_function,
)

from ..compiled.output_specs import output_specs
from ..core.stand_in import StandIn


def _trace_layers(core: ModuleType) -> None:
    """Keras traces a layer in a graph, whose shapes have open lengths; here lengths are numbers: see `output_specs`."""
    from keras.src import tree
    from keras.src.backend.common.keras_tensor import KerasTensor
    from keras.src.backend.common.stateless_scope import StatelessScope
    from keras.src.backend.common.symbolic_scope import SymbolicScope

    def compute_output_spec(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        leaves = tree.flatten((args, kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, KerasTensor)]
        structure: Any = None

        def call(inputs: list[Any]) -> list[Any]:
            nonlocal structure
            values = list(leaves)
            for place, value in zip(places, inputs, strict=True):
                values[place] = value
            args_now, kwargs_now = tree.pack_sequence_as((args, kwargs), values)
            with StatelessScope(), SymbolicScope():
                structure = fn(*args_now, **kwargs_now)
            return tree.flatten(structure)

        def spec(symbolic: Any) -> TensorSpec | SparseTensorSpec:
            kind = SparseTensorSpec if symbolic.sparse else TensorSpec
            return kind(symbolic.shape, symbolic.dtype)

        def symbolic(result: Any) -> Any:
            if not isinstance(result, (TensorSpec, SparseTensorSpec, RaggedTensorSpec)):
                return result
            return KerasTensor(result.shape, result.dtype, sparse=isinstance(result, SparseTensorSpec))

        results = output_specs("compute_output_spec", call, [spec(leaves[place]) for place in places])
        return tree.pack_sequence_as(structure, [symbolic(result) for result in results])

    core.compute_output_spec = compute_output_spec  # type: ignore[attr-defined]


def _know_tensors(module: ModuleType) -> None:
    """Keras knows TensorFlow's classes by the names of their modules; ours have their own."""
    module.is_tensorflow_tensor = lambda x: isinstance(x, (Tensor, StandIn, RaggedTensor, SparseTensor))  # type: ignore[attr-defined]
    module.is_tensorflow_ragged = lambda x: isinstance(x, RaggedTensor)  # type: ignore[attr-defined]
    module.is_tensorflow_sparse = lambda x: isinstance(x, SparseTensor)  # type: ignore[attr-defined]


def _know_datasets(module: ModuleType) -> None:
    """The same for datasets."""
    kinds = data.Dataset, distribute.DistributedDataset
    module.is_tf_dataset = lambda x: isinstance(x, kinds)  # type: ignore[attr-defined]


def _divide_slices(sparse: ModuleType) -> None:
    """IndexedSlices divided by a tensor have as many rows as the values of the divisor decide; compiled, all rows."""
    elementwise_division = sparse.elementwise_division

    def with_all_rows(func: Callable[..., Any]) -> Callable[..., Any]:
        divide = elementwise_division(func)

        @functools.wraps(func)
        def divide_slices(x1: Any, x2: Any) -> Any:
            is_scalar = not getattr(x2, "ndim", 0)
            if isinstance(x1, IndexedSlices) and inside_function() and not is_scalar:
                x1 = convert_to_tensor(x1)
            return divide(x1, x2)

        return divide_slices

    sparse.elementwise_division = with_all_rows  # type: ignore[attr-defined]


# By the name of the module of Keras.
ADAPTATIONS: dict[str, Callable[[ModuleType], None]] = {
    "keras.src.backend.tensorflow.core": _trace_layers,
    "keras.src.backend.tensorflow.sparse": _divide_slices,
    "keras.src.trainers.data_adapters": _know_datasets,
    "keras.src.trainers.data_adapters.data_adapter_utils": _know_tensors,
    "keras.src.utils.dataset_utils": _know_datasets,
}
