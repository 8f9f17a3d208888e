"""One sane call of everything public, found rather than listed.

Every public function and method has an example in its docstring. The example is run, and what the function was called
with is its sane call. `ARGUMENTS` gives those that have none, `OBJECTS` what methods are called on.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import inspect
import io
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

import gradtape as tf
from gradtape import raw_data_table, raw_table
from gradtape.core.primitive import Primitive

NAMESPACES = [
    "", "audio", "autodiff", "autograph", "autograph.experimental", "bitwise", "config", "config.experimental",
    "config.optimizer", "config.threading", "data", "data.experimental", "debugging", "distribute",
    "distribute.experimental", "dtypes", "experimental", "experimental.dlpack", "experimental.numpy",
    "experimental.numpy.random", "feature_column", "image",
    "initializers", "io", "linalg", "linalg.experimental", "lookup", "lookup.experimental", "losses", "math",
    "math.special",
    "metrics", "nest", "nn", "nn.experimental", "optimizers", "optimizers.schedules", "quantization",
    "random", "random.experimental",
    "raw_ops", "sets", "signal", "sparse", "strings", "summary", "summary.experimental", "sysconfig", "test",
]  # fmt: skip

# Visible in a public namespace, but of the inner workings.
INNER = {
    "apply",
    "closed",
    "convert",
    "number",
    "import_module",
    "is_differentiable",
    "of",
    "public",
    "together",
}

RAW = {id(getattr(tf.raw_ops, name)) for name in (*raw_table.TABLE, *raw_data_table.TABLE)}


EXAMPLE = "<example>"  # where functions given in an example come from


@dataclass(frozen=True)
class Call:
    """A callable and its sane arguments, made anew for each use."""

    name: str
    function: Callable[..., Any]
    signature: inspect.Signature
    arguments: Callable[[], dict[str, Any]]


def calls() -> dict[str, Call | None]:
    """By name, a sane call of every public function, class and method; None where there is none."""
    found: dict[str, Call | None] = {}
    methods: set[Any] = set()
    for name, thing in _public():
        if isinstance(thing, type):
            found |= {f"{name}{inner}": call for inner, call in _of_class(thing, methods)}
        else:
            found[name] = _call(name, thing, thing)
    return found


def _public() -> Iterator[tuple[str, Any]]:
    """Every public function and class of ours, each once, by its shortest name."""
    seen = set()
    for namespace in NAMESPACES:
        parent = functools.reduce(getattr, namespace.split(".") if namespace else [], tf)
        for name in sorted(set(getattr(parent, "__all__", dir(parent))) - INNER):
            thing = getattr(parent, name)
            ours = str(getattr(thing, "__module__", "")).startswith("gradtape")
            if name.startswith("_") or not callable(thing) or not ours or id(thing) in seen:
                continue
            if id(thing) in RAW:  # other names for functions that are called under their own
                continue
            if isinstance(thing, type) and issubclass(thing, (Exception, Enum, Primitive)):
                continue
            seen.add(id(thing))
            yield f"{namespace}.{name}".lstrip("."), thing


def _of_class(kind: type, seen: set[Any]) -> Iterator[tuple[str, Call | None]]:
    """The constructor and the methods. Methods that classes inherit are called for one of them, but for `OWN`."""
    constructor = kind.__init__ if "__init__" in vars(kind) else kind.__new__  # type: ignore[misc]
    if isinstance(constructor, types.FunctionType) and kind not in UNMADE:
        yield "", _call(kind.__name__, kind, constructor, kind)
    if kind not in OBJECTS:
        return
    for name in sorted({n for k in kind.__mro__ if k is not object for n in vars(k)} - NOT_CALLED):
        method = inspect.getattr_static(kind, name)
        if name.startswith("_") and not name.endswith("__"):
            continue
        inner = method.__func__ if isinstance(method, (classmethod, staticmethod)) else method
        if not isinstance(inner, types.FunctionType) or (inner in seen and name not in OWN):
            continue
        seen.add(inner)
        function = method if inner is method else getattr(kind, name)
        yield f".{name}", _call(f"{kind.__name__}.{name}", function, inner, kind)


def _call(name: str, function: Any, inner: Any, kind: type | None = None) -> Call | None:
    """`inner` is the Python function that is run when `function` is called."""
    signature = inspect.signature(function)
    inner = inspect.unwrap(inner)
    example = ARGUMENTS.get(name) or _from_example(function, inner, inner.__code__)
    if example is None and kind is not None:
        example = _from_example(kind, inner, inner.__code__)
    if example is None:
        example = METHODS.get(name.partition(".")[2])
    if example is None and _needs_nothing(signature):
        example = {}
    if example is None:
        return None

    def arguments() -> dict[str, Any]:
        given = {k: fresh(v) for k, v in example.items() if k in signature.parameters}
        if kind in OBJECTS and "self" in signature.parameters:
            given["self"] = OBJECTS[kind]()
        return given

    return Call(name, function, signature, arguments)


def _needs_nothing(signature: inspect.Signature) -> bool:
    return all(p.name == "self" or p.default is not p.empty for p in signature.parameters.values())


def _from_example(documented: Any, inner: Any, code: types.CodeType) -> dict[str, Any] | None:
    """What the function whose code this is was called with in the example of `documented`."""
    text, name = documented.__doc__ or "", documented.__name__
    scope = dict(vars(sys.modules[inner.__module__])) | {"tf": tf, "np": np, name: documented}
    found: list[dict[str, Any]] = []

    def notice(frame: types.FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is code and not found:
            found.append(dict(frame.f_locals))

    for example in doctest.DocTestParser().get_examples(text, name):
        sys.setprofile(notice)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
            exec(compile(example.source, EXAMPLE, "single"), scope)
        sys.setprofile(None)
    return found[0] if found else None


def fresh(value: Any) -> Any:
    """The value, or one like it where a call may change it."""
    if isinstance(value, tf.Variable):
        return tf.Variable(value)
    if isinstance(value, tf.random.Generator):
        return tf.random.Generator.from_seed(1)
    if type(value) in (list, tuple):
        return type(value)(fresh(x) for x in value)
    if isinstance(value, dict):
        return {k: fresh(x) for k, x in value.items()}
    return value


# ---------------------------------------------------------------------------------------------------------------------
# What has no example of its own


def _recorded() -> tf.GradientTape:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        globals()["Y"] = X * X
    return tape


X = tf.constant([1.0, 2.0])
Y = X
ROWS = tf.IndexedSlices(tf.ones((1,)), [0], [2])


def _written() -> tf.TensorArray:
    return tf.TensorArray(tf.float32, 2, clear_after_read=False).write(0, X).write(1, X)


OBJECTS: dict[type, Callable[[], Any]] = {
    tf.Tensor: lambda: X,
    tf.Variable: lambda: tf.Variable([1.0, 2.0]),
    tf.GradientTape: _recorded,
    tf.autodiff.ForwardAccumulator: lambda: tf.autodiff.ForwardAccumulator(X, X),
    tf.TensorArray: _written,
    tf.TensorShape: lambda: tf.TensorShape([2, None]),
    tf.TensorSpec: lambda: tf.TensorSpec([2, None]),
    tf.DType: lambda: tf.float32,
    tf.IndexedSlices: lambda: tf.IndexedSlices(tf.ones((1,)), [0], [2]),
    tf.random.Generator: lambda: tf.random.Generator.from_seed(1),
    tf.experimental.Optional: lambda: tf.experimental.Optional.from_value(X),
    tf.constant_initializer: lambda: tf.constant_initializer(1.0),
    tf.ones_initializer: lambda: tf.ones_initializer(),
    tf.zeros_initializer: lambda: tf.zeros_initializer(),
    tf.random_normal_initializer: lambda: tf.random_normal_initializer(seed=1),
    tf.random_uniform_initializer: lambda: tf.random_uniform_initializer(seed=1),
    tf.name_scope: lambda: tf.name_scope("a"),
    tf.data.Dataset: lambda: tf.data.Dataset.range(3),
    tf.data.Iterator: lambda: iter(tf.data.Dataset.range(3)),
    tf.data.Options: tf.data.Options,
    tf.distribute.CrossDeviceOps: tf.distribute.CrossDeviceOps,
    tf.distribute.InputContext: tf.distribute.InputContext,
    tf.distribute.ReplicaContext: tf.distribute.get_replica_context,
    tf.distribute.Strategy: tf.distribute.get_strategy,
    tf.distribute.StrategyExtended: lambda: tf.distribute.get_strategy().extended,
    tf.lookup.StaticHashTable: lambda: tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer([1], [2]), 0
    ),
    tf.lookup.experimental.MutableHashTable: lambda: tf.lookup.experimental.MutableHashTable(
        "int32", "float32", 0.0
    ),
    tf.metrics.IoU: lambda: tf.metrics.IoU(2, [0]),
    tf.metrics.MeanIoU: lambda: tf.metrics.MeanIoU(2),
    tf.metrics.MeanMetricWrapper: lambda: tf.metrics.MeanMetricWrapper(tf.losses.MSE),
    tf.initializers.Constant: lambda: tf.initializers.Constant(1.0),
    tf.optimizers.schedules.CosineDecay: lambda: tf.optimizers.schedules.CosineDecay(0.1, 10),
    tf.optimizers.schedules.CosineDecayRestarts: lambda: tf.optimizers.schedules.CosineDecayRestarts(0.1, 10),
    tf.optimizers.schedules.ExponentialDecay: lambda: tf.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5),
    tf.optimizers.schedules.InverseTimeDecay: lambda: tf.optimizers.schedules.InverseTimeDecay(0.1, 10, 0.5),
    tf.optimizers.schedules.PiecewiseConstantDecay: lambda: tf.optimizers.schedules.PiecewiseConstantDecay(
        [5], [1.0, 0.5]
    ),
    tf.optimizers.schedules.PolynomialDecay: lambda: tf.optimizers.schedules.PolynomialDecay(0.1, 10),
}


def _made_plainly() -> dict[type, Callable[[], Any]]:
    """The metrics, optimizers, losses and initializers that are made without arguments, or with a learning rate."""
    found: dict[type, Callable[[], Any]] = {}
    for namespace in (tf.metrics, tf.optimizers, tf.losses, tf.initializers):
        for name in dir(namespace):
            kind = getattr(namespace, name)
            if isinstance(kind, type) and kind.__module__.startswith("gradtape") and name[0] != "_":
                with contextlib.suppress(TypeError, NotImplementedError):
                    kind()
                    found[kind] = kind
    return found


OBJECTS = _made_plainly() | OBJECTS
# Never made by calling the class, or plain records.
UNMADE = {
    tf.io.FixedLenFeature,
    tf.io.FixedLenSequenceFeature,
    tf.io.SparseFeature,
    tf.io.VarLenFeature,
    tf.DType,
    tf.data.Iterator,
    tf.config.LogicalDevice,
    tf.config.LogicalDeviceConfiguration,
    tf.config.PhysicalDevice,
    tf.distribute.DistributedDataset,
    tf.distribute.DistributedIterator,
    tf.distribute.InputOptions,
    tf.distribute.ReplicaContext,
    tf.distribute.RunOptions,
    tf.distribute.Strategy,
    tf.distribute.StrategyExtended,
    tf.distribute.ParameterServerStrategy,
    tf.distribute.TPUStrategy,
    tf.distribute.experimental.ValueContext,
}

# What classes share under these names does for each of them something of its own.
OWN = {"__call__", "apply_gradients", "call", "update_state", "result"}

_OPERATORS = {
    f"__{side}{name}__": {"other": 2.0}
    for name in [
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "matmul",
        "and",
        "or",
        "xor",
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
    ]
    for side in ("", "r", "i")
}

# Called by Python itself, with what it likes; of the inner workings; or writing files.
NOT_CALLED = {
    "__replace__",  # of dataclasses, from Python 3.13 on
    "__init__", "__new__", "__init_subclass__", "__class_getitem__", "__enter__", "__exit__", "__copy__",
    "__deepcopy__", "__reduce__", "__getattr__", "__setattr__", "__dlpack__", "__array__", "__hash__",
    "__format__", "__buffer__", "holding", "shaped_like", "plot", "show", "of_each_process",
}  # fmt: skip

_PLACES: dict[str, Any] = {"indices": [[0]], "updates": [1.0]}
_DEVICE: dict[str, Any] = {"device": "CPU:0"}

# Of methods of the same name in any class.
_WEIGHTS = tf.Variable([1.0, 2.0])
METHODS: dict[str, dict[str, Any]] = {
    **_OPERATORS,
    "__call__": {"shape": (2, 3), "y_true": X, "y_pred": X, "step": 1},
    "add_optimizer_variables": {"trainable_variables": [_WEIGHTS], "name": ["a", "b"]},
    "add_variable": {"shape": (2,)},
    "add_variable_from_reference": {"reference_variable": _WEIGHTS},
    "apply": {"grads": [X], "trainable_variables": [_WEIGHTS]},
    "apply_gradients": {"grads_and_vars": [(X, _WEIGHTS)]},
    "call": {"y_true": X, "y_pred": X},
    "compute_gradients": {"loss": lambda: X, "var_list": [_WEIGHTS]},
    "finalize_variable_values": {"var_list": [_WEIGHTS]},
    "from_config": {"config": {}},
    "insert": {"keys": [1, 2], "values": [3.0, 4.0]},
    "lookup": {"keys": [1, 2]},
    "remove": {"keys": [1, 2]},
    "merge": {"options": tf.data.Options()},
    "minimize": {"loss": lambda: X, "var_list": [_WEIGHTS]},
    "scale_loss": {"loss": X},
    "update_state": {"y_true": X, "y_pred": X},
    "update_step": {"gradient": X, "variable": _WEIGHTS, "learning_rate": 0.1},
    "with_options": {"options": tf.data.Options()},
}

ARGUMENTS: dict[str, dict[str, Any]] = {
    "DType.is_compatible_with": {"other": tf.float32},
    "StaticHashTable.__getitem__": {"keys": [1]},
    "GradientTape.watch": {"tensor": X},
    "GradientTape.gradient": {"target": X, "sources": X},
    "GradientTape.jacobian": {"target": X, "sources": X},
    "GradientTape.batch_jacobian": {"target": X[:, None], "source": X[:, None]},
    "IndexedSlices.plus": {"other": ROWS},
    "Tensor": {"args": ()},
    "Tensor.__getitem__": {"key": 0},
    "Tensor.__setitem__": {"index": 0, "value": 1.0},
    "Tensor.set_shape": {"shape": [2]},
    "TensorArray.gather": {"indices": [0]},
    "TensorArray.grad": {"source": "g"},
    "TensorArray.read": {"index": 0},
    "TensorArray.scatter": {"indices": [0], "value": [X]},
    "TensorArray.split": {"value": X, "lengths": [1, 1]},
    "TensorArray.unstack": {"value": [X, X]},
    "TensorSpec.from_spec": {"spec": tf.TensorSpec([2])},
    "TensorSpec.from_tensor": {"tensor": X},
    "TensorSpec.is_compatible_with": {"spec_or_value": X},
    "TensorSpec.is_subtype_of": {"other": tf.TensorSpec([2])},
    "TensorSpec.most_specific_compatible_type": {"other": tf.TensorSpec([2])},
    "Variable.__getitem__": {"key": 0},
    "Variable.__setitem__": {"index": 0, "value": 1.0},
    "Variable.assign": {"value": X},
    "Variable.assign_sub": {"delta": X},
    "Variable.gather_nd": {"indices": [[0]]},
    "Variable.set_shape": {"shape": [2]},
    "Variable.sparse_read": {"indices": [0]},
    **{
        f"Variable.scatter_{how}": {"sparse_delta": ROWS}
        for how in ("div", "max", "min", "mul", "sub", "update")
    },
    **{f"Variable.scatter_nd_{how}": _PLACES for how in ("add", "max", "min", "sub")},
    "constant_initializer.from_config": {"config": {"value": 1.0}},
    "config.experimental.get_memory_info": _DEVICE,
    "config.experimental.get_memory_usage": _DEVICE,
    "config.experimental.reset_memory_stats": _DEVICE,
    "config.experimental.set_memory_growth": {
        "device": tf.config.list_physical_devices("CPU")[0],
        "enable": True,
    },
    "config.experimental_connect_to_host": {"remote_host": "localhost:1"},
    "Optional.empty": {"element_spec": tf.TensorSpec([])},
    "Generator.binomial": {"shape": [2], "counts": 3.0, "probs": 0.5},
    "Generator.from_key_counter": {"key": 1, "counter": [1, 2], "alg": "philox"},
    "Generator.from_state": {"state": [1, 2, 3], "alg": "philox"},
    "Generator.reset": {"state": [1, 2, 3]},
    "Generator.reset_from_key_counter": {"key": 1, "counter": [1, 2]},
    "Generator.reset_from_seed": {"seed": 1},
    "Generator.skip": {"delta": 3},
    "Generator.truncated_normal": {"shape": [2]},
    "Generator.uniform": {"shape": [2]},
    "Generator.uniform_full_int": {"shape": [2]},
}
