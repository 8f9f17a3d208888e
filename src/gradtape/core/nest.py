"""tf.nest: lists, tuples, dicts and objects, nested, taken apart into leaves and put together again.

The tape calls `flatten` and `pack_sequence_as` on what it is given as sources. A leaf alone and a flat list
or tuple of leaves are handled here; the rest is optree's work, imported when first needed (16 ms).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence
from typing import TYPE_CHECKING, Any

from .composite import composite_spec
from .shapes import TensorShape

if TYPE_CHECKING:
    from optree import PyTreeSpec

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]

# Types met so far that are not structures. A type is looked into once: asking the set takes 0.03 us.
_ATOMS: set[type] = set()


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of a structure as a list, in order; the values of a mapping in the order of its sorted keys.

    Structures are lists, tuples, namedtuples, dicts, other sequences and mappings, dataclasses and attrs
    objects. All else is a leaf: tensors, arrays, numbers, strings, None, sets, generators. A leaf alone is a
    structure too.

    Args:
        expand_composites: whether sparse and ragged tensors are structures of the tensors they consist of.

    >>> flatten({"b": [1, None], "a": (2, "three")})
    [2, 'three', 1, None]
    >>> flatten(5)
    [5]
    """
    if expand_composites:
        return [part for leaf in flatten(structure) for part in _components(leaf)]
    if _is_flat(structure):
        return list(structure)
    if not is_nested(structure):
        return [structure]
    return _flatten(structure)[0]


def _components(leaf: Any) -> Sequence[Any]:
    """The tensors of a composite tensor, or their specs for the spec of one; any other leaf alone."""
    spec = composite_spec(leaf)
    if spec is None:
        return [leaf]
    return spec._component_specs() if spec is leaf else spec._to_components(leaf)


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False) -> Any:
    """A structure like `structure` with the items of `flat_sequence` as its leaves: the inverse of `flatten`.

    Dataclasses and attrs objects are built field by field, as unpickling does: their `__init__` does not run.

    Raises TypeError if `flat_sequence` is not a sequence, ValueError if it has not one item for each leaf.

    Args:
        expand_composites: whether sparse and ragged tensors are structures of the tensors they consist of.

    >>> pack_sequence_as({"b": [0, 0], "a": 0}, [1, 2, 3])
    {'b': [2, 3], 'a': 1}
    """
    if not isinstance(flat_sequence, (list, tuple)) and not _is_plain_sequence(type(flat_sequence)):
        raise TypeError(
            "pack_sequence_as: flat_sequence must be a list or a tuple, with one item for each leaf; "
            f"got {flat_sequence!r} ({type(flat_sequence).__name__})"
        )
    if expand_composites:
        flat_sequence = _with_composites(structure, flat_sequence)
    if _is_flat(structure) and len(structure) == len(flat_sequence):
        return type(structure)(flat_sequence)
    if len(flat_sequence) == 1 and not is_nested(structure):
        return flat_sequence[0]
    leaves, spec = _flatten(structure)
    if len(leaves) != len(flat_sequence):
        raise ValueError(
            f"pack_sequence_as: the structure ({type(structure).__name__}) has {len(leaves)} leaves and "
            f"flat_sequence {len(flat_sequence)} items; one item for each leaf is needed"
        )
    return spec.unflatten(flat_sequence)


def _with_composites(structure: Any, components: Sequence[Any]) -> list[Any]:
    """The leaves of a structure, made of the components of those that are composite."""
    leaves = flatten(structure)
    counts = [len(_components(leaf)) for leaf in leaves]
    if sum(counts) != len(components):
        raise ValueError(
            f"pack_sequence_as: the structure consists of {sum(counts)} tensors, and flat_sequence of "
            f"{len(components)} items; one item for each is needed"
        )
    out, rest = [], iter(components)
    for leaf, count in zip(leaves, counts):
        spec = composite_spec(leaf)
        parts = [next(rest) for _ in range(count)]
        out.append(parts[0] if spec is None else spec._from_components(parts))
    return out


def map_structure(
    func: Callable[..., Any], *structure: Any, check_types: bool = True, expand_composites: bool = False
) -> Any:
    """A structure like the first, with `func` of the leaves that stand in the same place as its leaves.

    Raises what `assert_same_structure` raises where the structures differ.

    Args:
        check_types: whether the types of containers must agree.
        expand_composites: whether sparse and ragged tensors are structures of the tensors they consist of.

    >>> map_structure(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    if not callable(func):
        raise TypeError(f"map_structure: func must be callable; got {func!r}")
    if not structure:
        raise ValueError("map_structure: at least one structure is needed after func")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand_composites)
    columns = zip(*[flatten(each, expand_composites) for each in structure])
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in columns], expand_composites)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise unless both are nested in the same way; what the leaves are does not matter.

    Raises ValueError where the nesting, a number of items or the keys of a mapping differ, TypeError where
    the types do. Any two mappings count as one type, as do any two lists, and namedtuples of the same name and
    fields. With `check_types=False` neither types nor keys are looked at.

    Args:
        expand_composites: whether sparse and ragged tensors must be of the same kind and dtype.

    >>> assert_same_structure([1, (2, 3)], ["a", (None, "b")])
    >>> assert_same_structure([1, (2, 3)], [1, [2, 3]])
    Traceback (most recent call last):
        ...
    TypeError: the structures differ at [1]: tuple in the first, list in the second; ...
    """
    flat = _is_flat(nest1) and _is_flat(nest2) and type(nest1) is type(nest2) and len(nest1) == len(nest2)
    if flat and not expand_composites:
        return
    if (is_nested(nest1) or is_nested(nest2)) and _flatten(nest1)[1] != _flatten(nest2)[1]:
        _compare(nest1, nest2, check_types, "")
    if expand_composites:
        for a, b in zip(flatten(nest1), flatten(nest2)):
            _compare_composites(a, b)


def _compare_composites(a: Any, b: Any) -> None:
    """Raise if one of two leaves consists of tensors, and the other of other ones."""
    first, second = composite_spec(a), composite_spec(b)
    if first is None and second is None:
        return
    if first is None or second is None or first.most_specific_common_supertype([second]) is None:
        raise ValueError(
            f"the structures differ: {first or type(a).__name__} in the first, {second or type(b).__name__} in the "
            "second"
        )


def is_nested(seq: Any) -> bool:
    """Return whether `seq` is a structure that `flatten` takes apart, and not a leaf.

    >>> is_nested([1]), is_nested({}), is_nested("text"), is_nested(None)
    (True, True, False, False)
    """
    cls = type(seq)
    if cls in _ATOMS:
        return False
    if _is_structure(cls):
        return True
    _ATOMS.add(cls)
    return False


def _is_flat(structure: Any) -> bool:
    """Return whether this is a list or tuple of leaves, which needs no optree: 0.4 us instead of 4."""
    cls = type(structure)
    return (cls is list or cls is tuple) and (
        _ATOMS.issuperset(map(type, structure)) or not any(map(is_nested, structure))
    )


def _is_structure(cls: type) -> bool:
    return not hasattr(cls, "__array__") and (
        _is_plain_sequence(cls)
        or issubclass(cls, (Mapping, MappingView))
        or hasattr(cls, "__tf_flatten__")
        or _field_names(cls) is not None
    )


def _is_plain_sequence(cls: type) -> bool:
    return issubclass(cls, Sequence) and not issubclass(cls, (str, bytes, bytearray, memoryview, TensorShape))


def _field_names(cls: type) -> list[str] | None:
    """The names of the fields of a dataclass or an attrs class, in order; of any other class None."""
    if hasattr(cls, "__attrs_attrs__"):
        return [field.name for field in cls.__attrs_attrs__]
    if hasattr(cls, "__dataclass_fields__"):
        from dataclasses import fields

        return [field.name for field in fields(cls)]
    return None


# From here on: with optree.

_NAMESPACE = "gradtape"
_registered: set[type] = set()
_registering = threading.Lock()


class _SortedDict(OrderedDict[Any, Any]):
    """An OrderedDict on its way to optree, which orders those by insertion and lets no one change that."""


def structure_of(structure: Any) -> Any:
    """The nesting without the leaves: hashable, and equal for structures that are nested in the same way."""
    return _flatten(structure)[1]


def flatten_up_to(shallow: Any, structure: Any) -> list[Any]:
    """The parts of `structure` at the leaves of `shallow`, which may be structures in turn; else a ValueError."""
    return [structure] if not is_nested(shallow) else _flatten(shallow)[1].flatten_up_to(structure)


def _flatten(structure: Any) -> tuple[list[Any], PyTreeSpec]:
    """The leaves, and what optree needs to put them together again."""
    import optree

    leaves, spec = optree.tree_flatten(
        structure, is_leaf=lambda x: type(x) is OrderedDict, none_is_leaf=True, namespace=_NAMESPACE
    )
    if _ATOMS.issuperset(map(type, leaves)):
        return leaves, spec
    unknown = {type(leaf) for leaf in leaves if is_nested(leaf)} - {OrderedDict}
    if unknown:
        for cls in unknown:
            _register(cls)
        return _flatten(structure)
    leaf_spec = optree.treespec_leaf(none_is_leaf=True, namespace=_NAMESPACE)
    parts = [
        _flatten(_SortedDict(leaf)) if type(leaf) is OrderedDict else ([leaf], leaf_spec) for leaf in leaves
    ]
    specs = iter([spec for _, spec in parts])
    return [leaf for part, _ in parts for leaf in part], spec.transform(None, lambda _: next(specs))


def _register(cls: Any) -> None:
    """Tell optree how to take this class apart and put it together."""
    import optree

    with _registering:
        if cls not in _registered:
            optree.register_pytree_node(cls, *_rules(cls), namespace=_NAMESPACE)
            _registered.add(cls)


def _rules(cls: Any) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]:
    """The two functions that optree needs: to children, metadata and their names; and back."""
    from optree.utils import total_order_sorted

    if hasattr(cls, "__tf_flatten__"):
        return (lambda x: x.__tf_flatten__()[::-1]), cls.__tf_unflatten__

    if issubclass(cls, Mapping):
        build = OrderedDict if cls is _SortedDict else cls

        def take_mapping(x: Any) -> tuple[list[Any], tuple[Any, ...], list[Any]]:
            keys = total_order_sorted(x)
            return [x[key] for key in keys], tuple(x), keys

        def make_mapping(order: tuple[Any, ...], values: Iterable[Any]) -> Any:
            by_key = dict(zip(total_order_sorted(order), values))
            return build({key: by_key[key] for key in order})

        return take_mapping, make_mapping

    if issubclass(cls, (Sequence, MappingView)):
        kind = list if issubclass(cls, (range, MappingView)) else cls
        return (lambda x: (tuple(x), None)), (lambda _, items: kind(items))

    names = _field_names(cls) or []

    def make_object(_: None, values: Iterable[Any]) -> Any:
        made = cls.__new__(cls)
        for name, value in zip(names, values):
            object.__setattr__(made, name, value)
        return made

    return (lambda x: ([getattr(x, name) for name in names], None, names)), make_object


def _compare(a: Any, b: Any, check_types: bool, path: str) -> None:
    """Raise for the first difference of two structures that _flatten has seen."""
    where = f"the structures differ at {path or 'the top'}: "
    if not is_nested(a) or not is_nested(b):
        if is_nested(a) != is_nested(b):
            raise ValueError(f"{where}{_text(a)} in the first, {_text(b)} in the second")
        return
    if check_types and not _same_type(a, b):
        raise TypeError(
            f"{where}{type(a).__name__} in the first, {type(b).__name__} in the second; "
            "check_types=False lets types differ"
        )
    if check_types and isinstance(a, Mapping) and a.keys() != b.keys():
        raise ValueError(f"{where}the keys {list(a)} in the first, {list(b)} in the second")
    children_a, children_b = _children(a), _children(b)
    if len(children_a) != len(children_b):
        raise ValueError(f"{where}{len(children_a)} items in the first, {len(children_b)} in the second")
    for (name, child_a), (_, child_b) in zip(children_a, children_b):
        _compare(child_a, child_b, check_types, path + name)


def _same_type(a: Any, b: Any) -> bool:
    if type(a) is type(b):
        return True
    if any(isinstance(a, kind) and isinstance(b, kind) for kind in (list, Mapping)):
        return True
    names = getattr(a, "_fields", None)
    return names is not None and (type(a).__name__, names) == (type(b).__name__, getattr(b, "_fields", None))


def _children(structure: Any) -> list[tuple[str, Any]]:
    """The parts of a structure one level down, each with the text that leads to it in Python."""
    import optree

    if type(structure) is OrderedDict:
        structure = _SortedDict(structure)
    children, _, names, _ = optree.tree_flatten_one_level(structure, none_is_leaf=True, namespace=_NAMESPACE)
    by_field = not isinstance(structure, (Mapping, Sequence, MappingView))
    return [(f".{name}" if by_field else f"[{name!r}]", child) for name, child in zip(names, children)]


def _text(x: Any) -> str:
    return f"a structure ({type(x).__name__})" if is_nested(x) else f"a leaf ({type(x).__name__})"
