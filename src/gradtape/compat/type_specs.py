"""The names under which TensorFlow keeps the classes of specs, as they stand in saved models of Keras."""

from __future__ import annotations

from gradtape import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec

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
    for name, own in _CLASSES.items():
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
    if name not in _CLASSES:
        raise ValueError(
            f"No TypeSpec has been registered with name {name!r}; the names are {sorted(_CLASSES)}"
        )
    return _CLASSES[name]
