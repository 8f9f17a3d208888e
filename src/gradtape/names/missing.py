"""The error for a name that gradtape does not have: what to use instead, or the nearest names.

A namespace calls `closed(__name__)` once; `tensorflow` under `gradtape.compat` and `gradtape check` say the same.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from importlib import import_module

# Names of TensorFlow 1 that TensorFlow 2 renamed. Those that only moved (tf.log is tf.math.log) are found by their last
# part.
RENAMED = {
    "arg_max": "argmax",
    "arg_min": "argmin",
    "batch_to_space_nd": "batch_to_space",
    "depth_to_space": "nn.depth_to_space",
    "div": "divide",
    "div_no_nan": "math.divide_no_nan",
    "floor_div": "math.floordiv",
    "lin_space": "linspace",
    "matrix_band_part": "linalg.band_part",
    "matrix_determinant": "linalg.det",
    "matrix_diag": "linalg.diag",
    "matrix_diag_part": "linalg.diag_part",
    "matrix_inverse": "linalg.inv",
    "matrix_set_diag": "linalg.set_diag",
    "matrix_solve": "linalg.solve",
    "matrix_solve_ls": "linalg.lstsq",
    "matrix_triangular_solve": "linalg.triangular_solve",
    "multinomial": "random.categorical",
    "diag": "linalg.tensor_diag",
    "diag_part": "linalg.tensor_diag_part",
    "random_crop": "image.random_crop",
    "random_gamma": "random.gamma",
    "random_normal": "random.normal",
    "random_shuffle": "random.shuffle",
    "random_uniform": "random.uniform",
    "reverse_v2": "reverse",
    "self_adjoint_eig": "linalg.eigh",
    "self_adjoint_eigvals": "linalg.eigvalsh",
    "set_random_seed": "random.set_seed",
    "space_to_depth": "nn.space_to_depth",
    "tensor_scatter_add": "tensor_scatter_nd_add",
    "tensor_scatter_sub": "tensor_scatter_nd_sub",
    "tensor_scatter_update": "tensor_scatter_nd_update",
    "truncated_normal": "random.truncated_normal",
    "verify_tensor_all_finite": "debugging.assert_all_finite",
    "where_v2": "where",
    "nn.softmax_cross_entropy_with_logits_v2": "nn.softmax_cross_entropy_with_logits",
    "train.AdamOptimizer": "optimizers.Adam",
    "train.GradientDescentOptimizer": "optimizers.SGD",
    "train.MomentumOptimizer": "optimizers.SGD",
}

# The namespaces of Keras that gradtape has as its own.
KERAS = ("optimizers", "losses", "metrics", "initializers")

_NO_SESSION = "there are no sessions: an operation runs at once, and .numpy() gives its value"
_NO_CONFIGURATION = "there is no session to configure: leave it out"
_NO_INITIALIZING = "a variable has its value from the start: leave it out"
_NO_GRAPH = "there is no graph, operations run at once: leave it out"
_STRATEGIES = (
    "tf.distribute.MirroredStrategy runs on several devices, MultiWorkerMirroredStrategy in several processes"
)
_SAVING = "gradtape exports models in its own format: tf.saved_model.save"
_CAST = "use tf.cast(x, dtype)"
_VARIABLES = "make a tf.Variable with its first value, and keep it in an object of your own"

# Advice by the longest beginning of the name.
ADVICE = {
    "ConfigProto": _NO_CONFIGURATION,
    "GPUOptions": _NO_CONFIGURATION,
    "InteractiveSession": _NO_SESSION,
    "Print": "use tf.print",
    "Session": _NO_SESSION,
    "app": "call your main function yourself, under if __name__ == '__main__'",
    "contrib": "it ended with TensorFlow 1",
    "disable_eager_execution": "everything runs eagerly here: leave it out, and sessions too",
    "disable_v2_behavior": "everything behaves as in TensorFlow 2 here: leave it out, and sessions too",
    "distribute": _STRATEGIES,
    "dtensor": "use tf.experimental.dtensor",
    "enable_eager_execution": "everything runs eagerly already: leave it out",
    "enable_v2_behavior": "everything behaves as in TensorFlow 2 already: leave it out",
    "estimator": "it ended with TensorFlow 2.15; write the loop with tf.GradientTape",
    "feature_column": "make the columns with NumPy or pandas",
    "flags": "use argparse",
    "get_default_graph": _NO_GRAPH,
    "get_default_session": _NO_SESSION,
    "get_variable": _VARIABLES,
    "gfile": "use tf.io.gfile",
    "global_variables": "keep the variables in a list of your own",
    "global_variables_initializer": _NO_INITIALIZING,
    "graph_util": _NO_GRAPH,
    "image.resize_": "use tf.image.resize(images, size, method=...)",
    "initialize_all_variables": _NO_INITIALIZING,
    "layers": "layers are in tf.keras.layers, once Keras is installed: pip install 'gradtape[keras]'",
    "lite": _SAVING,
    "local_variables_initializer": _NO_INITIALIZING,
    "logging": "use tf.get_logger(), a logger of Python's own",
    "mlir": _NO_GRAPH,
    "nn.xw_plus_b": "use tf.matmul(x, weights) + biases",
    "placeholder": "pass the value itself, as an argument of your function",
    "py_func": "use tf.numpy_function, or tf.py_function for one with a gradient",
    "python_io": "use tf.io.TFRecordWriter and tf.data.TFRecordDataset",
    "queue": "use Python's queue",
    "tables_initializer": _NO_INITIALIZING,
    "to_bfloat16": _CAST,
    "to_complex": _CAST,
    "to_double": _CAST,
    "to_float": _CAST,
    "to_int": _CAST,
    "tpu": _STRATEGIES,
    "trainable_variables": "keep the variables in a list of your own, or ask tape.watched_variables()",
    "user_ops": "write the operation with tf.custom_gradient",
    "variable_scope": _VARIABLES,
    "variables_initializer": _NO_INITIALIZING,
    "compat.v1.test.compute_gradient": "it needs a session: use tf.test.compute_gradient",
}  # fmt: skip


class Answer:
    """The text of an error about a missing name, made when it is read: `hasattr(tf, ...)` stays cheap."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __str__(self) -> str:
        return sentence(self.path)

    def __repr__(self) -> str:
        return repr(str(self))


def missing(path: str) -> AttributeError:
    """The error for a name that gradtape lacks, as written after `tf.`.

    >>> raise missing("log")
    Traceback (most recent call last):
    AttributeError: gradtape has no tf.log: it is tf.math.log
    """
    # With `obj` but no `name` Python adds no second guess of its own.
    return AttributeError(Answer(path), obj=sys.modules["gradtape"])


def closed(namespace: str, later: Mapping[str, str] | None = None) -> None:
    """Make a namespace offer the names in its `__all__`, and explain why any other is missing.

    `dir` then shows these names only. A namespace calls this once, at its end.

    Args:
        namespace: The module's `__name__`.
        later: Names to import when first used, each with the module that has it, relative to the namespace; a module
            called like the name is itself what is meant.
    """
    module = sys.modules[namespace]
    prefix = f"{namespace}.".partition(".")[2]
    places = later or {}

    def __getattr__(name: str) -> object:
        if name not in places:
            raise missing(prefix + name)
        found: object = import_module(places[name], namespace)
        if places[name].lstrip(".") != name:
            found = getattr(found, name)
        setattr(module, name, found)  # from now on as quick as any other name
        return found

    def __dir__() -> list[str]:
        return sorted({*module.__all__, *(name for name in vars(module) if name.startswith("__"))})

    module.__getattr__ = __getattr__  # type: ignore[method-assign]
    module.__dir__ = __dir__  # type: ignore[method-assign]


def sentence(path: str) -> str:
    """Say that a name is missing, and what would work.

    >>> sentence("placeholder")
    'gradtape has no tf.placeholder: pass the value itself, as an argument of your function'
    >>> sentence("reduce_summ")
    'gradtape has no tf.reduce_summ. Near it: tf.reduce_sum, tf.reduce_min, tf.reduce_max'
    """
    hint = instead(path)
    if hint:
        return f"gradtape has no tf.{path}: {hint}"
    near = ", ".join(f"tf.{name}" for name in nearest(path))
    return f"gradtape has no tf.{path}" + (f". Near it: {near}" if near else "")


def instead(path: str) -> str:
    """Advice in place of a missing name; '' if there is none."""
    old = path.removeprefix("compat.v1.").removeprefix("compat.v2.").removeprefix("python.")
    if old.startswith("keras"):
        return _instead_of_keras(old)
    from .surface import dotted_names

    moved = RENAMED.get(old) or next(
        (name for name in dotted_names() if "." not in old and name.rpartition(".")[2] == old), None
    )
    if moved and moved in dotted_names():
        return f"it is tf.{moved}"
    return _longest(path) or _longest(old)


def _longest(path: str) -> str:
    beginnings = [start for start in ADVICE if _begins(path, start)]
    return ADVICE[max(beginnings, key=len)] if beginnings else ""


def _begins(path: str, start: str) -> bool:
    return path == start or path.startswith(start if start.endswith("_") else f"{start}.")


def _instead_of_keras(path: str) -> str:
    here = ", ".join(f"tf.keras.{part}" for part in KERAS)
    same = [name for name in nearest(path) if name.rpartition(".")[2] == path.rpartition(".")[2]]
    return "; ".join(
        [f"`pip install 'gradtape[keras]'` brings Keras itself, and without it there are {here}"]
        + [f"there is tf.{name}" for name in same[:1]]
    )


@functools.cache
def nearest(path: str) -> tuple[str, ...]:
    """Up to three public names that resemble a dotted one; those with the same last part come first.

    >>> nearest("linalg.softmax")[:2]
    ('math.softmax', 'nn.softmax')
    """
    import difflib

    from .surface import dotted_names

    last_part = {name: name.rpartition(".")[2] for name in dotted_names()}
    space, _, last = path.rpartition(".")
    beside = [name for name in last_part if name.rpartition(".")[0] == space]
    same = [name for name, part in last_part.items() if part == last]
    close = difflib.get_close_matches(path, beside, n=3, cutoff=0.75)
    resembling = difflib.get_close_matches(last, dict.fromkeys(last_part.values()), n=3, cutoff=0.75)
    elsewhere = [name for part in resembling for name in last_part if last_part[name] == part]
    found: dict[str, str] = {}
    for name in same or [*close, *elsewhere]:
        found.setdefault(name if same else last_part[name], name)
    return tuple(found.values())[:3]
