"""What is replaced in Keras when it is imported on gradtape, each with its reason. Nothing on disk changes."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gradtape import (
    IndexedSlices,
    RaggedTensor,
    RaggedTensorSpec,
    SparseTensor,
    SparseTensorSpec,
    Tensor,
    TensorShape,
    TensorSpec,
    data,
    distribute,
    executing_eagerly,
    function,
    gather,
    losses,
    metrics,
    nest,
    optimizers,
)

from ..compiled.output_specs import output_specs
from ..core.stand_in import StandIn
from ..data.array_batches import array_batches
from .keras_recurrent import gru_steps, lstm_steps, use_steps


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


def _divide_slices(sparse: ModuleType) -> None:
    """To slices Keras adds the rows in which the divisor is 0 or NaN, whose number compiled code does not know.

    There the slices keep their rows: the others, which are 0 / 0 or NaN in Keras, stay 0.
    """
    elementwise_division = sparse.elementwise_division

    def on_slices(divide: Callable[..., Any]) -> Callable[..., Any]:
        as_keras_does = elementwise_division(divide)

        @functools.wraps(as_keras_does)
        def divided(x1: Any, x2: Any) -> Any:
            if executing_eagerly() or not isinstance(x1, IndexedSlices) or isinstance(x2, IndexedSlices):
                return as_keras_does(x1, x2)
            rows = gather(x2, x1.indices) if len(getattr(x2, "shape", ())) else x2
            return IndexedSlices(divide(x1.values, rows), x1.indices, x1.dense_shape)

        return divided

    sparse.elementwise_division = on_slices  # type: ignore[attr-defined]


def _know_tensors(module: ModuleType) -> None:
    """Keras knows TensorFlow's classes by the names of their modules; ours have their own."""
    module.is_tensorflow_tensor = lambda x: isinstance(x, (Tensor, StandIn, RaggedTensor, SparseTensor))  # type: ignore[attr-defined]
    module.is_tensorflow_ragged = lambda x: isinstance(x, RaggedTensor)  # type: ignore[attr-defined]
    module.is_tensorflow_sparse = lambda x: isinstance(x, SparseTensor)  # type: ignore[attr-defined]


def _know_datasets(module: ModuleType) -> None:
    """The same for datasets."""
    kinds = data.Dataset, distribute.DistributedDataset
    module.is_tf_dataset = lambda x: isinstance(x, kinds)  # type: ignore[attr-defined]


def _take_optimizers(module: ModuleType) -> None:
    """Where Keras takes an optimizer, one of `tf.optimizers` stands for Keras's of that name and those arguments.

    To the user they are one, as in TensorFlow: they share the learning rate and the count of steps, the updates of ours
    are Keras's from then on, and wherever ours is given again, Keras's is the same.
    """
    get = module.get
    by_own: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    @functools.wraps(get)
    def get_optimizer(identifier: Any) -> Any:
        name = type(identifier).__name__
        keras_class = getattr(module, name, None)
        if keras_class is None or type(identifier) is not getattr(optimizers, name, None):
            return get(identifier)
        if identifier not in by_own:
            if identifier.built:
                raise ValueError(
                    f"compile: this {name} of tf.optimizers has state from updates before, which Keras's would not "
                    f"have: make it anew, or use keras.optimizers.{name} for both"
                )
            by_own[identifier] = _for_keras(identifier, keras_class)
        return by_own[identifier]

    module.get = get_optimizer  # type: ignore[attr-defined]


def _for_keras(own: Any, keras_class: Callable[..., Any]) -> Any:
    config = own.get_config()
    rate = config["learning_rate"]
    if isinstance(rate, dict):  # a schedule
        config["learning_rate"] = import_module("keras.optimizers.schedules").deserialize(rate)
    made = keras_class(**config)
    for name in ("_iterations", "_learning_rate"):
        variable, shared = getattr(made, name), getattr(own, name)
        value: Any = getattr(variable, "_value", None)  # a schedule has none
        if type(value) is type(shared) and value.dtype is shared.dtype:
            variable._value = shared
    own.apply, own.apply_gradients = made.apply, made.apply_gradients
    return made


def _take_losses(module: ModuleType) -> None:
    """Where Keras takes a loss, one of `tf.losses` stands for Keras's of that name and those arguments.

    To Keras any other object is a function of the samples, whose result it weighs: weights would come after the mean.
    """
    get = module.get

    class OwnLoss(module.Loss):  # type: ignore[name-defined,misc]
        """A loss that the user derived from `tf.losses.Loss`; Keras weighs its values."""

        def __init__(self, loss: losses.Loss) -> None:
            super().__init__(name=loss.name, reduction=_reduction(loss), dtype=loss.dtype)
            self._loss = loss

        def call(self, y_true: Any, y_pred: Any) -> Any:
            return self._loss.call(y_true, y_pred)

    @functools.wraps(get)
    def get_loss(identifier: Any) -> Any:
        found = get(identifier)
        if not isinstance(found, losses.Loss):
            return found
        name = type(found).__name__
        if type(found) is getattr(losses, name, None) and hasattr(module, name):
            return getattr(module, name)(**{**found.get_config(), "reduction": _reduction(found)})
        return OwnLoss(found)

    module.get = get_loss  # type: ignore[attr-defined]


def _reduction(loss: losses.Loss) -> str | None:
    return "sum_over_batch_size" if loss.reduction == "auto" else loss.reduction


def _take_metrics(module: ModuleType) -> None:
    """A metric of `tf.metrics` is one to Keras as well, which resets it for each epoch and reads its result.

    To Keras any other object is a function, of whose results it takes the mean: here a mean of means.
    """
    get = module.get

    class OwnMetric(module.Metric):  # type: ignore[name-defined,misc]
        """A metric whose state is in an object of the user's, who may read it there."""

        def __init__(self, metric: metrics.Metric) -> None:
            super().__init__(name=metric.name, dtype=metric.dtype)
            self._metric = metric

        @property
        def variables(self) -> list[Any]:
            return list(self._metric.variables)

        def update_state(self, *args: Any, **kwargs: Any) -> None:
            self._metric.update_state(*args, **kwargs)

        def result(self) -> Any:
            return self._metric.result()

        def reset_state(self) -> None:
            self._metric.reset_state()

    @functools.wraps(get)
    def get_metric(identifier: Any) -> Any:
        found = get(identifier)
        return OwnMetric(found) if isinstance(found, metrics.Metric) else found

    module.get = get_metric  # type: ignore[attr-defined]


def _track_metrics(module: ModuleType) -> None:
    """Also a metric of `tf.metrics` that is an attribute of a layer is among its metrics, for `fit` to reset."""
    module.Metric = (module.Metric, metrics.Metric)  # type: ignore[attr-defined]


def _convert_jax_functions(module: ModuleType) -> None:
    """JAX's own converter makes operations of TensorFlow's graphs; here JAX is at work anyway.

    And Keras gives JAX the key of random numbers as a tensor, which JAX does not take: it gets the array.
    """
    as_key = module._convert_to_jax_key

    def convert(self: Any, function: Callable[..., Any], polymorphic_shapes: Any) -> Callable[..., Any]:
        from .jax_functions import on_tensors  # brings JAX

        return on_tensors(function)

    module.JaxLayer._jax2tf_convert = convert
    module._convert_to_jax_key = lambda tensor: as_key(tensor)._array  # type: ignore[attr-defined]


def _open_batches(module: ModuleType) -> None:
    """A model that is built by its first step knows its inputs with an open batch; here the batch has a length.

    The signature of a saved model has an open batch again, but for functional models, whose author chose the shapes,
    and for those that take one batch only.
    """
    by_keras = module.TFLayer._default_save_signature.fget

    def default_save_signature(self: Any) -> Any:
        from keras.src.models.functional import Functional

        serving = by_keras(self)
        if serving is None or isinstance(self, Functional):
            return serving
        specs = nest.map_structure(
            lambda spec: TensorSpec([None, *spec.shape[1:]] if spec.shape.rank else spec.shape, spec.dtype),
            serving.input_signature,
        )
        opened = function(serving.python_function, input_signature=specs)
        try:
            takes_any = opened.get_concrete_function().structured_outputs is not None
        except (TypeError, ValueError):
            takes_any = False
        return opened if takes_any else serving

    module.TFLayer._default_save_signature = property(default_save_signature)


def _read_logs_on_demand(module: ModuleType) -> None:
    """Keras reads the metrics of each step, and on TensorFlow waits for the step to do so, even if no callback looks.

    Then the steps of a compiled function run one after the other without Python between them: 70 us less for each. (On
    JAX, Keras reads them in threads.) The progress bar is given tensors, which it reads when it draws, 20 times a
    second at most.
    """
    is_default, bar = module.utils.is_default, module.ProgbarLogger

    def on_demand(
        method: str, others: tuple[str, ...] = (), for_bar: Callable[[Any], Any] = _unread_logs
    ) -> None:
        deliver = getattr(module.CallbackList, f"_{method}")

        @functools.wraps(deliver)
        def on_batch_end(self: Any, batch: Any, logs: Any = None) -> None:
            looking = [
                c for c in self.callbacks if not all(is_default(getattr(c, m)) for m in (method, *others))
            ]
            if not looking:
                return
            unread = for_bar(logs or {}) if all(type(c) is bar for c in looking) else None
            if unread is None:
                deliver(self, batch, logs)
            else:
                for callback in looking:
                    getattr(callback, method)(batch, logs=unread)

        setattr(module.CallbackList, f"_{method}", on_batch_end)

    on_demand("on_batch_end")
    on_demand("on_train_batch_end", ("on_batch_end",))  # which it calls by default
    on_demand("on_test_batch_end")
    on_demand("on_predict_batch_end", for_bar=lambda logs: {})  # the bar does not show outputs


def _unread_logs(logs: dict[str, Any]) -> dict[str, Any] | None:
    """Metrics as Keras flattens and orders them for callbacks, but unread; None unless all are scalar tensors."""
    found: dict[str, Any] = {}
    for name, value in sorted(logs.items()):
        inner = _unread_logs(value) if isinstance(value, dict) else {name: value}
        if inner is None or any(type(v) is not Tensor or v.ndim for v in inner.values()):
            return None
        found.update(inner)
    return found


def _pass_tensors(module: ModuleType) -> None:
    """Keras looks for optionals in each batch by mapping a function over it, 10 us; a tuple of tensors has none."""
    by_keras = module.TensorFlowTrainer._autoconvert_optionals

    @functools.wraps(by_keras)
    def _autoconvert_optionals(self: Any, step_func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        with_optionals = by_keras(self, step_func)

        @functools.wraps(step_func)
        def step(data: Any) -> Any:
            if type(data) is tuple and all(type(part) is Tensor for part in data):
                return step_func(data)
            return with_optionals(data)

        return step

    module.TensorFlowTrainer._autoconvert_optionals = _autoconvert_optionals


def _batch_arrays(module: ModuleType) -> None:
    """Keras batches arrays by a pipeline of ten steps, for whose threads and operations TensorFlow has compiled code.

    Here a batch is one `take` of each array: a step of a small model takes 45 us less, and `predict` on a row half the
    time. The orders are the same. Sparse and ragged arrays go the way of Keras, as does shuffling within batches.
    """
    from keras.src import tree
    from keras.src.trainers.data_adapters import array_slicing

    by_keras = module.ArrayDataAdapter.get_tf_dataset
    options = data.Options()
    options.experimental_distribute.auto_shard_policy = data.experimental.AutoShardPolicy.DATA

    @functools.wraps(by_keras)
    def get_tf_dataset(self: Any) -> Any:
        arrays = array_slicing.convert_to_sliceable(self._inputs, target_backend="tensorflow")
        if self._shuffle == "batch" or not all(_is_dense(leaf) for leaf in tree.flatten(arrays)):
            return by_keras(self)
        batches = array_batches(tree.lists_to_tuples(arrays), self._batch_size, bool(self._shuffle))
        return batches.with_options(options)

    module.ArrayDataAdapter.get_tf_dataset = get_tf_dataset


def _is_dense(leaf: Any) -> bool:
    return leaf is None or isinstance(leaf, np.ndarray) or type(leaf) is Tensor


def _add_names_of_tf_keras(module: ModuleType) -> None:
    """TensorFlow's `tf.keras` has more names than Keras, those of Keras 2: `losses.Reduction`, `backend.square`."""
    fuller = module.__name__.replace("keras.", "keras._tf_keras.keras.", 1)

    def __getattr__(name: str) -> Any:
        if not name.startswith("__"):
            with contextlib.suppress(AttributeError):
                return getattr(import_module(fuller), name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = __getattr__  # type: ignore[method-assign]


def _encode_shapes(json_utils: ModuleType) -> None:
    """Keras's JSON looks for tuples first, and a TensorShape is a tuple here."""
    encode_tuple = json_utils._encode_tuple

    def _encode_tuple(x: Any) -> Any:
        return json_utils.Encoder().default(x) if isinstance(x, TensorShape) else encode_tuple(x)

    json_utils._encode_tuple = _encode_tuple  # type: ignore[attr-defined]


# By the name of the module of Keras.
ADAPTATIONS: dict[str, Callable[[ModuleType], None]] = {
    "keras.backend": _add_names_of_tf_keras,
    "keras.layers": _add_names_of_tf_keras,
    "keras.losses": _add_names_of_tf_keras,
    "keras.metrics": _add_names_of_tf_keras,
    "keras.preprocessing": _add_names_of_tf_keras,
    "keras.src.backend.tensorflow.core": _trace_layers,
    "keras.src.backend.tensorflow.layer": _open_batches,
    "keras.src.backend.tensorflow.sparse": _divide_slices,
    "keras.src.backend.tensorflow.trainer": _pass_tensors,
    "keras.src.callbacks.callback_list": _read_logs_on_demand,
    "keras.src.layers.layer": _track_metrics,
    "keras.src.layers.rnn.gru": lambda gru: use_steps(gru, "GRU", gru_steps, lambda cell: cell.reset_after),
    "keras.src.layers.rnn.lstm": lambda lstm: use_steps(lstm, "LSTM", lstm_steps, lambda cell: True),
    "keras.src.legacy.saving.json_utils": _encode_shapes,
    "keras.src.losses": _take_losses,
    "keras.src.metrics": _take_metrics,
    "keras.src.optimizers": _take_optimizers,
    "keras.src.trainers.data_adapters": _know_datasets,
    "keras.src.trainers.data_adapters.array_data_adapter": _batch_arrays,
    "keras.src.trainers.data_adapters.data_adapter_utils": _know_tensors,
    "keras.src.utils.dataset_utils": _know_datasets,
    "keras.src.utils.jax_layer": _convert_jax_functions,
}
