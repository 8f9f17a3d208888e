"""Names of TensorFlow 1 that belong to its graph, as its eager mode has them: collections, no-op initializers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import gradtape as tf

from .v1_variables import reusing_variables


class GraphKeys:
    """The names of TensorFlow 1's collections. In eager mode variables are in none of them.

    >>> GraphKeys.TRAINABLE_VARIABLES
    'trainable_variables'
    """

    ACTIVATIONS = "activations"
    ASSET_FILEPATHS = "asset_filepaths"
    BIASES = "biases"
    CONCATENATED_VARIABLES = "concatenated_variables"
    COND_CONTEXT = "cond_context"
    EVAL_STEP = "eval_step"
    GLOBAL_STEP = "global_step"
    GLOBAL_VARIABLES = "variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    LOCAL_RESOURCES = "local_resources"
    LOCAL_VARIABLES = "local_variables"
    LOSSES = "losses"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    QUEUE_RUNNERS = "queue_runners"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    READY_OP = "ready_op"
    REGULARIZATION_LOSSES = "regularization_losses"
    RESOURCES = "resources"
    SAVEABLE_OBJECTS = "saveable_objects"
    SAVERS = "savers"
    SUMMARIES = "summaries"
    SUMMARY_OP = "summary_op"
    TABLE_INITIALIZERS = "table_initializer"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAIN_OP = "train_op"
    UPDATE_OPS = "update_ops"
    VARIABLES = "variables"
    WEIGHTS = "weights"
    WHILE_CONTEXT = "while_context"


class AggregationMethod:
    """TensorFlow 1's ways to add gradients; all are accepted, and have no effect.

    >>> AggregationMethod.ADD_N == AggregationMethod.DEFAULT
    True
    """

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


_collections: dict[Any, list[Any]] = {}


def add_to_collection(name: Any, value: Any) -> None:
    """Add a value to a collection.

    >>> add_to_collection("my numbers", 3)
    >>> get_collection("my numbers")
    [3]
    >>> get_collection_ref("my numbers").clear()
    """
    _collections.setdefault(name, []).append(value)


def add_to_collections(names: Any, value: Any) -> None:
    """Add a value to several collections, or to the one that is named.

    >>> add_to_collections(["first", "second"], 3)
    >>> get_collection("first"), get_collection("second")
    ([3], [3])
    >>> get_collection_ref("first").clear(), get_collection_ref("second").clear()
    (None, None)
    """
    for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
        add_to_collection(name, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """What was added to a collection; only values whose names begin with `scope`, if that is given.

    >>> get_collection(GraphKeys.TRAINABLE_VARIABLES)  # variables are not added, as in TensorFlow's eager mode
    []
    """
    found = _collections.get(key, [])
    if scope is None:
        return list(found)
    return [value for value in found if str(getattr(value, "name", "")).startswith(scope)]


def get_collection_ref(key: Any) -> list[Any]:
    """A collection itself, to which can be added.

    >>> get_collection_ref("others").append(3)
    >>> get_collection("others")
    [3]
    >>> get_collection_ref("others").clear()
    """
    return _collections.setdefault(key, [])


def reset_default_graph() -> None:
    """Forget all collections, and with them the global step.

    >>> add_to_collection("my numbers", 3)
    >>> reset_default_graph()
    >>> get_collection("my numbers")
    []
    """
    _collections.clear()


def _of(key: str, name: str) -> Callable[..., list[Any]]:
    def variables(scope: str | None = None) -> list[Any]:
        return get_collection(key, scope)

    variables.__name__ = variables.__qualname__ = name
    variables.__doc__ = (
        f"The collection {key!r}: empty unless something was added, as in TensorFlow's eager mode."
    )
    return variables


def _nothing(*args: Any, **kwargs: Any) -> None:
    """No-op: a variable has its value from the start.

    >>> import gradtape as tf
    >>> tf.compat.v1.global_variables_initializer()
    """


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Any:
    """The sum of the losses in the collection of regularization losses; 0 if there are none.

    >>> float(get_regularization_loss())
    0.0
    """
    found = get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)
    return tf.add_n(found) if found else tf.constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """The sum of the losses that were added to their collection by `add_loss`: eager mode adds none by itself.

    Args:
        add_regularization_losses: whether the regularization losses count.
        scope: a name scope whose losses count; by default all.

    Raises:
        ValueError: if there are none.

    >>> tf.compat.v1.losses.add_loss(tf.constant(2.0))
    >>> float(get_total_loss())
    2.0
    >>> tf.compat.v1.reset_default_graph()
    """
    found = list(get_collection(GraphKeys.LOSSES, scope))
    if add_regularization_losses:
        found += get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)
    if not found:
        raise ValueError("losses.get_total_loss: there are no losses: add them by losses.add_loss(...)")
    return tf.add_n(found)


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Callable[..., Any]:
    """A function whose variables, made by `get_variable`, are those of its first call.

    Args:
        name_: of the scope of the variables.
        func_: the function.
        kwargs: arguments that it gets in every call.
        create_scope_now_, unique_name_, custom_getter_: accepted.

    >>> count = make_template("count", lambda: tf.compat.v1.get_variable("n", initializer=0).assign_add(1))
    >>> int(count()), int(count())
    (1, 2)
    """
    made: dict[tuple[str, int], Any] = {}

    @functools.wraps(func_)
    def template(*args: Any, **more: Any) -> Any:
        with tf.name_scope(name_), reusing_variables(made):
            return func_(*args, **(kwargs | more))

    return template


def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Print `message` and the tensors `data` to the standard error, and return `input_`; `first_n` is accepted.

    >>> import gradtape as tf
    >>> float(Print(tf.constant(2.0), []))
    2.0
    """
    tf.print(message or "", *[[each] for each in data], summarize=summarize or 3, sep="")
    return tf.identity(input_)


def _of_absl(name: str) -> ModuleType:
    try:
        return import_module(f"absl.{name}")
    except ImportError as error:
        raise ImportError(
            f"compat.v1.{name} is that of the package absl-py: pip install absl-py", name=f"absl.{name}"
        ) from error


MODULES = {"app": lambda: _of_absl("app"), "flags": lambda: _of_absl("flags")}

_VARIABLES = ("global_variables", "local_variables", "model_variables", "moving_average_variables")
_INITIALIZERS = (
    "global_variables_initializer", "initialize_all_tables", "initialize_all_variables", "initialize_local_variables",
    "initialize_variables", "initializers.global_variables", "initializers.local_variables",
    "initializers.tables_initializer", "initializers.variables", "local_variables_initializer", "tables_initializer",
    "variables_initializer",
)  # fmt: skip

COLLECTIONS: dict[str, Any] = {
    "AggregationMethod": AggregationMethod,
    "GraphKeys": GraphKeys,
    "Print": Print,
    "add_to_collection": add_to_collection,
    "add_to_collections": add_to_collections,
    "all_variables": _of(GraphKeys.GLOBAL_VARIABLES, "all_variables"),
    "get_collection": get_collection,
    "get_collection_ref": get_collection_ref,
    "losses.add_loss": lambda loss, loss_collection=GraphKeys.LOSSES: add_to_collection(
        loss_collection, loss
    ),
    "losses.get_losses": lambda scope=None, loss_collection=GraphKeys.LOSSES: get_collection(
        loss_collection, scope
    ),
    "losses.get_regularization_loss": get_regularization_loss,
    "losses.get_total_loss": get_total_loss,
    "losses.get_regularization_losses": _of(GraphKeys.REGULARIZATION_LOSSES, "get_regularization_losses"),
    "make_template": make_template,
    "reset_default_graph": reset_default_graph,
    "trainable_variables": _of(GraphKeys.TRAINABLE_VARIABLES, "trainable_variables"),
    **{name: _of(getattr(GraphKeys, name.upper()), name) for name in _VARIABLES},
    **dict.fromkeys(_INITIALIZERS, _nothing),
}
