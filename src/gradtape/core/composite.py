"""TypeSpec and CompositeTensor: kinds of values, and values made of several tensors.

A spec says how to take such a value apart into tensors and how to put it together: with these two methods a @function,
a loop and a dataset handle sparse and ragged tensors as the tensors they consist of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn


class TypeSpec(ABC):
    """A description of values: what they are, of which shapes and dtypes.

    >>> import gradtape as tf
    >>> isinstance(tf.TensorSpec([None, 2]), tf.TypeSpec)
    True
    """

    __slots__ = ()

    @property
    @abstractmethod
    def value_type(self) -> type:
        """The class of the values described."""

    @abstractmethod
    def _parts(self) -> tuple[Any, ...]:
        """The arguments with which the class makes an equal spec."""

    @abstractmethod
    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value is one of those described, or could be described by both this and another spec."""

    def is_subtype_of(self, other: Any) -> bool:
        """Return whether `other` describes all values that this spec describes."""
        return bool(self.most_specific_common_supertype([other]) == other)

    def most_specific_compatible_type(self, other: Any) -> Any:
        """The narrowest spec that covers both.

        Raises:
            ValueError: if there is none.
        """
        if self != other:
            raise ValueError(f"there is nothing that both {self} and {other} are")
        return self

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """The narrowest spec that covers this and all `others`; None if there is none.

        >>> import gradtape as tf
        >>> tf.TensorSpec([2, 3]).most_specific_common_supertype([tf.TensorSpec([2, 5])])
        TensorSpec(shape=(2, None), dtype=tf.float32, name=None)
        """
        found: Any = self
        try:
            for other in others:
                found = found.most_specific_compatible_type(other)
        except ValueError:
            return None
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self), self._parts()))

    def _serialize(self) -> tuple[Any, ...]:
        """The same arguments, for Keras's JSON."""
        return self._parts()

    @classmethod
    def _deserialize(cls, serialization: Sequence[Any]) -> Any:
        return cls(*serialization)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._parts()


class CompositeSpec(TypeSpec):
    """The spec of a value that consists of tensors. The first of its `_parts` is a shape."""

    __slots__ = ()

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or the spec of one, fits the shape and agrees in all else.

        >>> import gradtape as tf
        >>> tf.SparseTensorSpec([None, 2]).is_compatible_with(tf.SparseTensor([[0, 1]], [5.0], [3, 2]))
        True
        """
        other = composite_spec(spec_or_value)
        if other is None or type(other) is not type(self):
            return False
        (shape, *rest), (its_shape, *its_rest) = self._parts(), other._parts()
        return rest == its_rest and bool(shape.is_compatible_with(its_shape))

    def most_specific_compatible_type(self, other: Any) -> Any:
        """The narrowest spec that covers both: lengths that differ are open.

        Raises:
            ValueError: if there is none.

        >>> import gradtape as tf
        >>> tf.SparseTensorSpec([3, 2]).most_specific_compatible_type(tf.SparseTensorSpec([4, 2]))
        SparseTensorSpec(TensorShape([None, 2]), tf.float32)
        """
        shape, *rest = self._parts()
        if type(other) is not type(self) or list(other._parts()[1:]) != rest:
            raise ValueError(f"there is nothing that both {self} and {other} are")
        return self._deserialize((shape.most_specific_compatible_shape(other._parts()[0]), *rest))

    @abstractmethod
    def _component_specs(self) -> tuple[TypeSpec, ...]:
        """The specs of the tensors."""

    @abstractmethod
    def _to_components(self, value: Any) -> tuple[Any, ...]:
        """The tensors of a value, in the order of their specs."""

    @abstractmethod
    def _from_components(self, components: Sequence[Any]) -> Any:
        """The value that consists of these tensors."""

    # A program for all lengths knows lengths as those of arrays. So what it takes and gives for a composite tensor are
    # other tensors than the components: those whose lengths, apart from a number of elements, are lengths of the value.

    def _program_parts(self) -> tuple[ProgramPart, ...]:
        """The tensors that a program for all lengths has for a value; none if it cannot have such values."""
        return ()

    def _to_program(self, value: Any) -> tuple[Any, ...]:
        """These tensors of a value."""
        return self._to_components(value)

    def _from_program(self, tensors: Sequence[Any]) -> Any:
        """The value of these tensors."""
        return self._from_components(tensors)


class ProgramPart(NamedTuple):
    """A tensor that a program for all lengths has for a part of a composite tensor.

    Attributes:
        spec: of the tensor.
        counts: the name of what its first axis counts, if that is no length of the composite tensor.
    """

    spec: Any
    counts: str | None = None


class NotDense(ValueError):
    """A composite tensor, or the spec of one, was given where a dense one is needed."""

    def __init__(self, value: CompositeTensor | CompositeSpec | str) -> None:  # a text: Keras adds to errors
        text = value
        if isinstance(value, CompositeTensor):
            text = f"a {type(value).__name__} was given where a dense tensor is needed: {value._dense_by} makes one"
        elif isinstance(value, CompositeSpec):
            text = f"{value} was given where the spec of a dense tensor is needed"
        super().__init__(text)
        self.value = value


class CompositeTensor(ABC):
    """A value that consists of several tensors: a sparse or a ragged tensor, an `Optional`."""

    __slots__ = ()

    _dense_by: ClassVar[str]  # the expression that makes a dense tensor of one, for the error

    @property
    @abstractmethod
    def _type_spec(self) -> TypeSpec:
        """The spec of the value."""

    def _gradient_tensor(self) -> Any:
        """The tensor by which gradients are taken, if the value is a source or a target; None if it can be neither."""
        return None

    def _with_gradient(self, gradient: Any) -> Any:
        """The gradient by the value, from that by its `_gradient_tensor`."""
        return gradient

    def _text(self, summarize: int) -> str:
        """The value as `tf.print` shows it, with so many elements at either end of an axis."""
        return repr(self)

    def _read(self) -> NoReturn:
        """Refuse to be an input of an operation on dense tensors; `ops.dispatch` catches the error."""
        raise NotDense(self)


def composite_spec(value: Any) -> CompositeSpec | None:
    """The spec by which a value is taken apart into tensors, or a value that is such a spec; None for any other."""
    spec = value._type_spec if isinstance(value, CompositeTensor) else value
    return spec if isinstance(spec, CompositeSpec) else None
