"""ExtensionType: classes of users' own whose fields are tensors and plain values.

A class names its fields by annotations, as a dataclass does. Its values are taken apart into tensors and put together
by its spec, as sparse and ragged tensors are: so they pass through a @function, branches, loops and datasets.
"""

import inspect
import types
import typing
from abc import ABCMeta
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, Self
from weakref import WeakValueDictionary

from ..core.composite import CompositeSpec, CompositeTensor, TypeSpec, composite_spec
from ..core.dtypes import DType, as_dtype
from ..core.shapes import TensorShape
from ..core.spec import TensorSpec, type_spec_from_value
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert_to_tensor
from .math.functions import equal
from .math.reduction import reduce_all

_PLAIN = int, float, str, bytes, bool, type(None)

# The classes of specs that a file may name: those of extension types with a `__name__` of their own.
named_specs: WeakValueDictionary[str, type["ExtensionTypeSpec"]] = WeakValueDictionary()


# ---------------------------------------------------------------------------------------------------------------------
# Fields


class FrozenMapping(Mapping[Any, Any]):
    """The value of a field that is a mapping: it cannot be changed, and has a hash if its values have."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[Any, Any]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


def _supported(annotation: Any) -> bool:
    """Return whether fields may be annotated so."""
    if (
        isinstance(annotation, (str, typing.ForwardRef)) or annotation is None
    ):  # of the class being defined, or later
        return True
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple:
        return all(_supported(kind) for kind in inner if kind is not ...)
    if origin in (typing.Union, types.UnionType, Mapping):
        return all(map(_supported, inner))
    return (
        annotation in _PLAIN
        or annotation in (Tensor, TensorShape, DType)
        or (isinstance(annotation, type) and issubclass(annotation, CompositeTensor))
    )


def _converted(where: str, value: Any, annotation: Any, specs: bool) -> Any:
    """The value of a field as its annotation says; of a spec, with specs in place of the tensors."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and isinstance(value, (list, tuple)):
        kinds = inner[:1] * len(value) if inner[1:] == (...,) else inner
        if len(kinds) == len(value):
            pairs = enumerate(zip(value, kinds, strict=True))
            return tuple([_converted(f"{where}[{i}]", v, kind, specs) for i, (v, kind) in pairs])
    elif origin is Mapping and isinstance(value, Mapping):
        keys = {key: _converted(f"a key of {where}", key, inner[0], specs) for key in value}
        return FrozenMapping(
            {keys[key]: _converted(f"{where}[{key!r}]", v, inner[1], specs) for key, v in value.items()}
        )
    elif origin in (typing.Union, types.UnionType):
        for kind in sorted(inner, key=lambda kind: kind is Tensor):  # almost anything can become a tensor
            try:
                return _converted(where, value, kind, specs)
            except (TypeError, ValueError):
                continue
    elif annotation is Tensor and not specs:
        return convert_to_tensor(value)
    elif annotation is TensorShape:
        return TensorShape(value)
    elif annotation is DType:
        return as_dtype(value)
    elif isinstance(annotation, type) and _fits(value, annotation, specs):
        return value
    shown = annotation.__name__ if isinstance(annotation, type) else annotation
    expected = f"the spec of a {shown}" if specs and _of_tensors(annotation) else shown
    raise TypeError(f"{where}: {expected} is needed, not {value!r} of type {type(value).__name__}")


def _of_tensors(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, (Tensor, CompositeTensor))


def _fits(value: Any, annotation: type, specs: bool) -> bool:
    if specs and _of_tensors(annotation):
        return isinstance(value, (TensorSpec, CompositeSpec)) and issubclass(value.value_type, annotation)
    return isinstance(value, annotation)


def _mapped(function: Any, value: Any) -> Any:
    """A field with a function of the tensors, composite tensors or specs in it in their place."""
    if isinstance(value, (Tensor, CompositeTensor, TypeSpec)):
        return function(value)
    if isinstance(value, tuple):
        return tuple([_mapped(function, part) for part in value])
    if isinstance(value, FrozenMapping):
        return FrozenMapping({key: _mapped(function, part) for key, part in value.items()})
    return value


class _FieldsMeta(ABCMeta):
    """Converts the fields once the constructor, be it the user's own, has set them."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        made._finish()
        return made


class _Fields(metaclass=_FieldsMeta):
    """An object with the fields of an extension type, or specs of them, that does not change once it is made."""

    @classmethod
    def _owner(cls) -> type["ExtensionType"]:
        """The class that says the fields."""
        raise NotImplementedError(f"{cls.__name__} is a base class")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = _signature(self._owner(), specs=isinstance(self, TypeSpec)).bind(*args, **kwargs)
        given.apply_defaults()
        self.__dict__.update(given.arguments)

    def _finish(self) -> None:
        fields = _fields_of(self._owner())
        missing = [name for name in fields if name not in self.__dict__]
        if missing:
            raise ValueError(f"{type(self).__qualname__}: the constructor must set the fields {missing}")
        specs = isinstance(self, TypeSpec)
        for name, annotation in fields.items():
            self.__dict__[name] = _converted(name, self.__dict__[name], annotation, specs)
        self.__dict__["_frozen"] = True

    def _values(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in _fields_of(self._owner())}

    def __setattr__(self, name: str, value: Any) -> None:
        if "_frozen" in self.__dict__ or name not in _fields_of(self._owner()):
            self._refuse(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(self).__qualname__}.{name} cannot be changed: only its constructor sets fields"
        )

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._values().items())
        return f"{type(self).__qualname__.rpartition('<locals>.')[2]}({fields})"


def _fields_of(cls: type["ExtensionType"]) -> dict[str, Any]:
    """The annotations of a class's fields, those of its bases first; names in them are looked up at first use."""
    found: dict[str, Any] | None = cls.__dict__.get("_annotations_by_field")
    if found is None:
        classes = [
            c for c in reversed(cls.__mro__) if issubclass(c, ExtensionType) and c is not ExtensionType
        ]
        hints = typing.get_type_hints(cls, localns={c.__name__: c for c in classes})
        found = {name: hints[name] for c in classes for name in inspect.get_annotations(c)}
        for name, annotation in found.items():
            if not _supported(annotation):
                raise TypeError(f"{cls.__qualname__}.{name}: fields cannot be annotated by {annotation!r}")
        type.__setattr__(cls, "_annotations_by_field", found)
    return found


def _signature(cls: type["ExtensionType"], specs: bool) -> inspect.Signature:
    """The signature of the constructor; fields with a default that come before one without are given by name."""
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters: list[inspect.Parameter] = []
    for name in _fields_of(cls):
        default = inspect.Parameter.empty if specs else getattr(cls, name, inspect.Parameter.empty)
        if parameters and parameters[-1].default is not inspect.Parameter.empty is default:
            kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


# ---------------------------------------------------------------------------------------------------------------------
# Values, and their specs


class ExtensionType(_Fields, CompositeTensor):
    """The base of classes whose fields are tensors and plain values, and which gradtape takes apart and puts together.

    Fields are annotated with `tf.Tensor`, `tf.RaggedTensor` or `tf.SparseTensor`, another extension type, `int`,
    `float`, `str`, `bytes`, `bool`, `None`, `tf.TensorShape`, `tf.DType`, or unions, tuples and mappings of these. The
    constructor takes them by place or name, and converts what can become a tensor. A class may have a constructor of
    its own that sets them, and a method `__validate__` that raises if they do not fit each other. Values do not change.
    The class `Spec` of each extension type has specs in place of the tensors.

    Raises:
        TypeError: if a field cannot have its annotation, or an argument cannot be the value of its field.

    >>> import gradtape as tf
    >>> class Masked(tf.experimental.ExtensionType):
    ...     values: tf.Tensor
    ...     mask: tf.Tensor
    ...
    ...     def total(self):
    ...         return tf.reduce_sum(tf.where(self.mask, self.values, 0.0))
    >>> @tf.function
    ... def doubled(x):
    ...     return Masked(2.0 * x.values, x.mask)
    >>> float(doubled(Masked([1.0, 5.0], [True, False])).total())
    2.0
    """

    Spec: type["ExtensionTypeSpec"]
    _dense_by = "a computation with its fields"
    __hash__ = None  # type: ignore[assignment]  # equality is that of the elements

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _check_class(cls)
        own = cls.__dict__.get("Spec")
        bases = (ExtensionTypeSpec,) if own is None else (own, ExtensionTypeSpec)
        spec: Any = types.new_class(
            "Spec", bases, {}, lambda body: body.update(_owner=classmethod(lambda _: cls))
        )
        spec.__module__, spec.__qualname__ = cls.__module__, f"{cls.__qualname__}.Spec"
        cls.Spec = spec
        if "__name__" in cls.__dict__:
            named_specs[f"{cls.__dict__['__name__']}.Spec"] = spec

    @classmethod
    def _owner(cls) -> type["ExtensionType"]:
        if cls is ExtensionType:
            raise TypeError("ExtensionType is a base class: derive a class with annotated fields from it")
        return cls

    def _finish(self) -> None:
        super()._finish()
        self.__validate__()

    def __validate__(self) -> None:
        """Raise if the fields do not fit each other; for classes to override."""

    @property
    def _type_spec(self) -> "ExtensionTypeSpec":
        return self.Spec.from_value(self)

    def __eq__(self, other: Any) -> Any:
        """A boolean tensor: whether all elements of all fields are equal. False if the specs do not fit."""
        if type(other) is not type(self) or not self._type_spec.is_compatible_with(other):
            return False
        pairs = zip(_tensors(self), _tensors(other), strict=True)
        return reduce_all([convert_to_tensor(True), *[reduce_all(equal(a, b)) for a, b in pairs]])

    def __ne__(self, other: Any) -> Any:
        same = self.__eq__(other)
        return ~same if isinstance(same, Tensor) else not same


def _check_class(cls: type["ExtensionType"]) -> None:
    """Find a wrong annotation or default when the class is defined, if the names in it are known by then."""
    for name, annotation in inspect.get_annotations(cls).items():
        if name == "Spec" or hasattr(ExtensionType, name):
            raise ValueError(
                f"{cls.__qualname__}: a field cannot be named {name}, as a method of ExtensionType is"
            )
        if not _supported(annotation):
            raise TypeError(f"{cls.__qualname__}.{name}: fields cannot be annotated by {annotation!r}")
        if name in cls.__dict__ and not isinstance(annotation, str):
            _converted(f"the default of {name}", cls.__dict__[name], annotation, specs=False)


class ExtensionTypeSpec(_Fields, CompositeSpec):
    """The base of the specs of extension types: their fields, with specs in place of the tensors.

    >>> import gradtape as tf
    >>> class Pair(tf.experimental.ExtensionType):
    ...     first: tf.Tensor
    ...     second: tf.Tensor
    >>> Pair.Spec(tf.TensorSpec([2]), tf.TensorSpec([])).is_compatible_with(Pair([1.0, 2.0], 3.0))
    True
    """

    @property
    def value_type(self) -> type:
        """The extension type described."""
        return self._owner()

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """The spec of a value."""
        return cls._of({name: _mapped(type_spec_from_value, v) for name, v in value._values().items()})

    @classmethod
    def _of(cls, values: dict[str, Any]) -> Self:
        """A spec of these fields, whatever arguments the constructor takes."""
        made = cls.__new__(cls)
        made.__dict__.update(values)
        made._finish()
        return made

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or the spec of one, has fields that fit."""
        other = spec_or_value._type_spec if isinstance(spec_or_value, ExtensionType) else spec_or_value
        return type(other) is type(self) and all(map(_compatible, self._parts(), other._parts()))

    def most_specific_compatible_type(self, other: Any) -> Self:
        """The narrowest spec that covers both.

        Raises:
            ValueError: if there is none.
        """
        if type(other) is not type(self):
            raise ValueError(f"there is nothing that both {self} and {other} are")
        return self._of(dict(zip(self._values(), map(_common, self._parts(), other._parts()), strict=True)))

    def _parts(self) -> tuple[Any, ...]:
        return tuple(self._values().values())

    def _serialize(self) -> tuple[Any, ...]:
        return tuple(self._values().items())

    @classmethod
    def _deserialize(cls, serialization: Sequence[Any]) -> Self:
        return cls._of(dict(serialization))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._deserialize, (self._serialize(),)

    def _component_specs(self) -> tuple[TypeSpec, ...]:
        found: list[TypeSpec] = []
        _mapped(
            lambda s: found.extend(s._component_specs() if isinstance(s, CompositeSpec) else [s]),
            self._parts(),
        )
        return tuple(found)

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        return _tensors(value)

    def _from_components(self, components: Sequence[Any]) -> Any:
        rest = iter(components)

        def built(spec: Any) -> Any:
            if isinstance(spec, CompositeSpec):
                return spec._from_components([next(rest) for _ in spec._component_specs()])
            return next(rest)

        made = ExtensionType.__new__(self._owner())  # a constructor of the user's may take other arguments
        made.__dict__.update({name: _mapped(built, value) for name, value in self._values().items()})
        made.__dict__["_frozen"] = True
        return made


def _tensors(value: ExtensionType) -> tuple[Tensor, ...]:
    """The tensors of all fields, in order."""
    found: list[Tensor] = []

    def add(x: Any) -> None:
        spec = composite_spec(x)
        found.extend([x] if spec is None else spec._to_components(x))

    _mapped(add, tuple(value._values().values()))
    return tuple(found)


def _compatible(a: Any, b: Any) -> bool:
    if isinstance(a, TypeSpec):
        return a.is_compatible_with(b)
    if isinstance(a, TensorShape):
        return isinstance(b, TensorShape) and a.is_compatible_with(b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_compatible, a, b))
    if isinstance(a, FrozenMapping):
        return (
            isinstance(b, FrozenMapping) and a.keys() == b.keys() and all(_compatible(a[k], b[k]) for k in a)
        )
    return type(a) is type(b) and bool(a == b)


def _common(a: Any, b: Any) -> Any:
    """The narrowest that covers two fields of specs."""
    if isinstance(a, TypeSpec):
        return a.most_specific_compatible_type(b)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(map(_common, a, b))
    if isinstance(a, FrozenMapping) and isinstance(b, FrozenMapping) and a.keys() == b.keys():
        return FrozenMapping({k: _common(a[k], b[k]) for k in a})
    if a != b:
        raise ValueError(f"there is nothing that both {a} and {b} are")
    return a


def as_dict(value: ExtensionType) -> dict[str, Any]:
    """The fields of a value by their names, in order.

    >>> import gradtape as tf
    >>> class Named(tf.experimental.ExtensionType):
    ...     name: str
    ...     count: int = 1
    >>> as_dict(Named("a"))
    {'name': 'a', 'count': 1}
    """
    return value._values()
