"""Variables as TensorFlow 1's eager mode makes and changes them: get_variable, variable_scope, scatter_*, py_func."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gradtape as tf

from ..core.types import DTypeLike, ShapeLike, TensorLike
from ..core.variable import Variable

AUTO_REUSE = "AUTO_REUSE"  # accepted by `variable_scope`


@contextmanager
def variable_scope(
    name_or_scope: Any = None, default_name: str | None = None, values: Any = None, *args: Any, **kwargs: Any
) -> Iterator[str]:
    """A block in which the names of variables begin with that of the scope.

    As in TensorFlow's eager mode variables are not found again by their names: `reuse` and the other arguments have no
    effect.

    >>> with variable_scope("layer"):
    ...     get_variable("w", [2]).name
    'layer/w:0'
    """
    name = name_or_scope if isinstance(name_or_scope, str) else default_name
    if name is None:
        yield ""
        return
    with tf.name_scope(name.rstrip("/")) as scope:
        yield scope


def get_variable(
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Callable[[Any], Any] | None = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Variable:
    """A new variable: as in TensorFlow's eager mode, each call makes one, whatever its name.

    Args:
        initializer: a value, or a function of shape and dtype; by default Glorot's uniform one, and zeros for integers.

    Raises:
        ValueError: if the shape is missing.

    >>> get_variable("b", [2], initializer=tf.zeros_initializer()).numpy()
    array([0., 0.], dtype=float32)
    """
    if _reusing is not None:
        made, counts = _reusing
        counts[name] = counts.get(name, -1) + 1
        place = (name, counts[name])
        if place not in made:
            made[place] = _new_variable(name, shape, dtype, initializer, trainable, constraint)
        return made[place]
    return _new_variable(name, shape, dtype, initializer, trainable, constraint)


def _new_variable(
    name: str, shape: Any, dtype: Any, initializer: Any, trainable: bool | None, constraint: Any
) -> Variable:
    kind = tf.as_dtype("float32" if dtype is None else dtype)
    if isinstance(initializer, type):
        initializer = initializer()
    if initializer is None:
        initializer = tf.initializers.GlorotUniform() if kind.is_floating else tf.initializers.Zeros()
    if not callable(initializer):
        return tf.Variable(initializer, trainable, name=name, dtype=dtype, constraint=constraint)
    if shape is None:
        raise ValueError(f"compat.v1.get_variable: {name!r} needs a shape, or a value as its initializer")
    return tf.Variable(initializer(shape, kind), trainable, name=name, dtype=kind, constraint=constraint)


def py_func(
    func: Callable[..., Any],
    inp: Sequence[TensorLike],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """`tf.numpy_function` with TensorFlow 1's name.

    >>> float(py_func(lambda x: x + 1, [1.0], "float32"))
    2.0
    """
    return tf.numpy_function(func, inp, Tout)


def wrap_function(fn: Callable[..., Any], signature: Any, name: str | None = None) -> Any:
    """Trace a function of TensorFlow 1's once; the variables that it makes are made then, and kept with it.

    Args:
        fn: the function, of positional arguments.
        signature: a list with a `TensorSpec` for each argument that is a tensor, and a value for each other one.
        name: of the function.

    Returns:
        A concrete function of the tensors, with `variables`, `graph`, `inputs` and `outputs`.

    >>> def f(x):
    ...     return x * get_variable("w", initializer=3.0)
    >>> wrapped = wrap_function(f, [tf.TensorSpec([])])
    >>> float(wrapped(2.0)), len(wrapped.variables)
    (6.0, 1)
    """
    made: list[Any] = []
    leaves = tf.nest.flatten(signature)
    specs = [leaf for leaf in leaves if isinstance(leaf, tf.TypeSpec)]
    has_values = len(specs) < len(leaves)

    def traced(*arguments: Any) -> Any:
        if has_values:
            given = iter(arguments)
            filled = [next(given) if isinstance(leaf, tf.TypeSpec) else leaf for leaf in leaves]
            arguments = tf.nest.pack_sequence_as(signature, filled)
        with tf.variable_creator_scope(_in_order(made)):
            return fn(*arguments)

    traced.__name__ = name or str(getattr(fn, "__name__", "wrapped_function"))
    concrete: Any = tf.function(
        traced, input_signature=specs if has_values else signature
    ).get_concrete_function()
    concrete._wrapped_variables = tuple(made)  # a concrete function itself does not keep them alive
    return concrete


def _in_order(made: list[Any]) -> Callable[..., Any]:
    """A creator that gives the variables of an earlier run of a function, in their order."""
    count = 0

    def create(next_creator: Callable[..., Any], **arguments: Any) -> Any:
        nonlocal count
        if count == len(made):
            made.append(next_creator(**arguments))
        count += 1
        return made[count - 1]

    return create


@contextmanager
def reusing_variables(made: dict[tuple[str, int], Variable]) -> Iterator[None]:
    """A block in which `get_variable` gives the variables of an earlier run of it, in their order."""
    global _reusing
    before, _reusing = _reusing, (made, {})
    try:
        yield
    finally:
        _reusing = before


# The variables of the function that is wrapped now, by name and how often it came before; and these counts.
_reusing: tuple[dict[tuple[str, int], Variable], dict[str, int]] | None = None


def _scatter(method: str) -> Callable[..., Variable]:
    def scatter(
        ref: Variable,
        indices: TensorLike,
        updates: TensorLike,
        use_locking: bool = True,
        name: str | None = None,
    ) -> Variable:
        values = tf.cast(updates, ref.dtype)
        if method.startswith("scatter_nd"):
            getattr(ref, method)(indices, values)
            return ref
        at = tf.convert_to_tensor(indices)
        full = tf.broadcast_to(values, [*at.shape, *ref.shape[1:]])
        getattr(ref, method)(tf.IndexedSlices(full, at))
        return ref

    scatter.__name__ = scatter.__qualname__ = method
    scatter.__doc__ = f"Change rows of the variable `ref`, as `ref.{method}` does; returns the variable."
    return scatter


_KINDS = ("update", "add", "sub", "mul", "div", "min", "max", "nd_update", "nd_add", "nd_sub")
VARIABLES: dict[str, Any] = {
    "AUTO_REUSE": AUTO_REUSE,
    "get_variable": get_variable,
    "py_func": py_func,
    "variable_scope": variable_scope,
    "wrap_function": wrap_function,
    **{f"scatter_{kind}": _scatter(f"scatter_{kind}") for kind in _KINDS},
    "nn.relu_layer": lambda x, weights, biases, name=None: tf.nn.relu(tf.matmul(x, weights) + biases),
    "nn.xw_plus_b": lambda x, weights, biases, name=None: tf.matmul(x, weights) + biases,
}
