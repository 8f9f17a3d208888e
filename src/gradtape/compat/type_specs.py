"""The names under which TensorFlow keeps the classes of specs, as they stand in saved models of Keras."""

from __future__ import annotations

from gradtape import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec

from ..ops.extension_types import named_specs

_CLASSES: dict[str, type[TypeSpec]] = {
    "tf.RaggedTensorSpec": RaggedTensorSpec,
    "tf.SparseTensorSpec": SparseTensorSpec,
    "tf.TensorSpec": TensorSpec,
}


def get_name(cls: type[TypeSpec]) -> str:
    """The name of a class of specs.

    Raises:
        ValueError: if it has none.

    >>> get_name(TensorSpec)
    'tf.TensorSpec'
    """
    for name, own in (*_CLASSES.items(), *named_specs.items()):
        if own is cls:
            return name
    raise ValueError(f"TypeSpec {getattr(cls, '__name__', cls)} has not been registered")


def lookup(name: str) -> type[TypeSpec]:
    """The class of specs that has a name.

    Raises:
        ValueError: if there is none.

    >>> lookup("tf.TensorSpec").__name__
    'TensorSpec'
    """
    found = _CLASSES.get(name) or named_specs.get(name)
    if found is None:
        names = sorted([*_CLASSES, *named_specs])
        raise ValueError(f"No TypeSpec has been registered with name {name!r}; the names are {names}")
    return found
