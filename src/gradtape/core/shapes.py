"""TensorShape: the sizes of a tensor's axes, as a tuple that also knows unknown sizes and unknown rank.

`tensor.py` makes one from every `ndarray.shape` it is asked for; nothing here knows of tensors.
"""

import math
from collections.abc import Callable, Iterable
from operator import index
from typing import Any, ClassVar, NoReturn, SupportsIndex, TypeAlias, overload

__all__ = ["TensorShape"]

ShapeLike: TypeAlias = "SupportsIndex | Iterable[SupportsIndex | None] | None"


# Of Any, not of `int | None`: a tensor's own shape is fully known, and np.zeros(t.shape) should type-check.
class TensorShape(tuple[Any, ...]):
    """The shape of a tensor: one size per axis, None where a size is not known.

    `dims` is an iterable of sizes, a single size (one axis), another shape, or None for an unknown rank.
    A shape of known rank is a tuple, and can be used wherever NumPy takes one. As in TensorFlow, and unlike
    a tuple, it is true even when it has no axes; only a shape of unknown rank is false.

    Raises TypeError for a size that is not an integer, ValueError for a negative one.

    >>> shape = TensorShape([2, None])
    >>> shape
    TensorShape([2, None])
    >>> shape.rank, shape[0], shape[1:], shape == (2, None)
    (2, 2, TensorShape([None]), True)
    >>> TensorShape(None).rank is None
    True
    """

    __slots__ = ()

    def __new__(cls, dims: ShapeLike) -> "TensorShape":
        if dims is None:
            return _UNKNOWN
        if isinstance(dims, TensorShape):
            return dims
        if isinstance(dims, (str, bytes)):
            raise TypeError(f"a shape cannot be made from {dims!r}; give a list of integers, such as [2, 3]")
        try:
            sizes = iter(dims)  # type: ignore[arg-type]  # whether it can be iterated over is the question
        except TypeError:
            sizes = iter((dims,))  # type: ignore[arg-type]
        return tuple.__new__(TensorShape, [_size(size, dims) for size in sizes])

    # TensorShape._of(ndarray.shape): nothing is checked, which takes 0.2 us where the constructor takes 1.1.
    _of: "ClassVar[Callable[[tuple[int, ...]], TensorShape]]" = classmethod(tuple.__new__)  # type: ignore[assignment]

    @property
    def rank(self) -> int | None:
        """The number of axes, or None if it is not known.

        >>> TensorShape([2, None]).rank
        2
        """
        return len(self)

    @property
    def ndims(self) -> int | None:
        """The number of axes, or None if it is not known: the same as `rank`.

        >>> TensorShape([]).ndims
        0
        """
        return self.rank

    @property
    def dims(self) -> list[int | None] | None:
        """The sizes as a list, or None if the rank is not known.

        >>> TensorShape([2, None]).dims
        [2, None]
        """
        return list(self)

    def as_list(self) -> list[int | None]:
        """The sizes as a list. Raises ValueError if the rank is not known.

        >>> TensorShape([2, None]).as_list()
        [2, None]
        """
        return list(self)

    def num_elements(self) -> int | None:
        """The number of elements, or None if a size or the rank is not known.

        >>> TensorShape([2, 3]).num_elements()
        6
        """
        return math.prod(self) if self.is_fully_defined() else None

    def is_fully_defined(self) -> bool:
        """Return whether the rank and every size are known.

        >>> TensorShape([2, None]).is_fully_defined()
        False
        """
        return None not in self

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless the rank and every size are known.

        >>> TensorShape([2, 3]).assert_is_fully_defined()
        """
        if not self.is_fully_defined():
            raise ValueError(f"shape {self} is not fully defined; every size must be known")

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Return whether one tensor could have both shapes: an unknown size or rank fits any.

        >>> TensorShape([2, None]).is_compatible_with([2, 3])
        True
        """
        other = TensorShape(other)
        if self.rank is None or other.rank is None:
            return True
        return len(self) == len(other) and all(
            a == b or a is None or b is None for a, b in zip(self, other, strict=True)
        )

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raise ValueError unless one tensor could have both shapes.

        >>> TensorShape([2, None]).assert_is_compatible_with([2, 3])
        """
        if not self.is_compatible_with(other):
            raise _incompatible(self, TensorShape(other))

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError if the rank is known and is not `rank`.

        >>> TensorShape([2, 3]).assert_has_rank(2)
        """
        if self.rank not in (None, _rank(rank)):
            raise ValueError(f"shape {self} has rank {self.rank}; rank {rank} is needed")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raise ValueError if both ranks are known and differ.

        >>> TensorShape([2, 3]).assert_same_rank([None, None])
        """
        other = TensorShape(other)
        if self.rank is not None and other.rank not in (None, self.rank):
            raise ValueError(
                f"shapes {self} and {other} have ranks {self.rank} and {other.rank}; the same rank is needed"
            )

    def with_rank(self, rank: int) -> "TensorShape":
        """This shape, now known to have this rank. Raises ValueError if it has another.

        >>> TensorShape(None).with_rank(2)
        TensorShape([None, None])
        """
        self.assert_has_rank(rank)
        return TensorShape([None] * rank) if self.rank is None else self

    def with_rank_at_least(self, rank: int) -> "TensorShape":
        """This shape. Raises ValueError if it has fewer axes than `rank`.

        >>> TensorShape([2, 3]).with_rank_at_least(1)
        TensorShape([2, 3])
        """
        if self.rank is not None and self.rank < _rank(rank):
            raise ValueError(f"shape {self} has rank {self.rank}; a rank of at least {rank} is needed")
        return self

    def with_rank_at_most(self, rank: int) -> "TensorShape":
        """This shape. Raises ValueError if it has more axes than `rank`.

        >>> TensorShape([2, 3]).with_rank_at_most(2)
        TensorShape([2, 3])
        """
        if self.rank is not None and self.rank > _rank(rank):
            raise ValueError(f"shape {self} has rank {self.rank}; a rank of at most {rank} is needed")
        return self

    def merge_with(self, other: ShapeLike) -> "TensorShape":
        """The shape with all sizes that either of the two knows. Raises ValueError if they are not compatible.

        >>> TensorShape([2, None]).merge_with([None, 3])
        TensorShape([2, 3])
        """
        other = TensorShape(other)
        if not self.is_compatible_with(other):
            raise _incompatible(self, other)
        if self.rank is None or other.rank is None:
            return other if self.rank is None else self
        return TensorShape(b if a is None else a for a, b in zip(self, other, strict=True))

    def most_specific_compatible_shape(self, other: ShapeLike) -> "TensorShape":
        """The shape that says only what both shapes agree on.

        >>> TensorShape([2, 3]).most_specific_compatible_shape([2, 5])
        TensorShape([2, None])
        """
        other = TensorShape(other)
        if self.rank is None or self.rank != other.rank:
            return _UNKNOWN
        return TensorShape(a if a == b else None for a, b in zip(self, other, strict=True))

    def concatenate(self, other: ShapeLike) -> "TensorShape":
        """The axes of this shape followed by those of the other; `+` does the same.

        >>> TensorShape([2]).concatenate([3, None])
        TensorShape([2, 3, None])
        """
        other = TensorShape(other)
        if self.rank is None or other.rank is None:
            return _UNKNOWN
        return TensorShape((*self, *other))

    def __add__(self, other: Any) -> "TensorShape":
        return self.concatenate(other)

    def __radd__(self, other: Any) -> "TensorShape":
        return TensorShape(other).concatenate(self)

    @overload
    def __getitem__(self, key: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> "TensorShape": ...
    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        try:
            found = tuple.__getitem__(self, key)
        except IndexError:
            raise IndexError(f"shape {self} has rank {self.rank}; it has no axis {key}") from None
        return tuple.__new__(TensorShape, found) if type(key) is slice else found

    def __eq__(self, other: object) -> bool:
        try:
            if isinstance(other, tuple):
                return tuple.__eq__(self, other)
            return tuple.__eq__(self, tuple(TensorShape(other)))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"

    def __str__(self) -> str:
        return tuple.__repr__(self)


class _UnknownShape(TensorShape):
    """A shape of unknown rank: a class of its own, so that no other shape need ask whether it has one."""

    __slots__ = ()

    @property
    def rank(self) -> None:
        return None

    @property
    def dims(self) -> None:
        return None

    def is_fully_defined(self) -> bool:
        return False

    def __len__(self) -> NoReturn:
        raise ValueError("a shape of unknown rank has no length; with_rank(n) sets the rank")

    def __iter__(self) -> NoReturn:
        raise ValueError("a shape of unknown rank has no sizes to list; with_rank(n) sets the rank")

    def __contains__(self, size: object) -> NoReturn:
        raise ValueError("a shape of unknown rank has no sizes to look through; with_rank(n) sets the rank")

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        """None for any one axis; for a slice, as many unknown sizes as its bounds alone can tell."""
        if not isinstance(key, slice):
            index(key)
            return None
        start, stop = 0 if key.start is None else key.start, key.stop
        if stop is None or stop < 0 or start < 0 or key.step not in (None, 1):
            return self
        return TensorShape([None] * (stop - start))

    def __eq__(self, other: object) -> bool:
        return other is self or other is None

    def __hash__(self) -> int:
        return hash(None)

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "TensorShape(None)"

    def __str__(self) -> str:
        return "<unknown>"

    def __reduce__(self) -> tuple[type[TensorShape], tuple[None]]:
        return TensorShape, (None,)


# The only one: `TensorShape(None) is TensorShape(None)`.
_UNKNOWN = tuple.__new__(_UnknownShape)


def _size(size: SupportsIndex | None, dims: object) -> int | None:
    """One size of `dims`, checked."""
    if size is None:
        return None
    try:
        number = int(index(size))
    except TypeError:
        raise TypeError(
            f"a size must be an integer or None; got {size!r} ({type(size).__name__}) in the shape {dims!r}"
        ) from None
    if number < 0:
        raise ValueError(f"a size must be 0 or more, or None if unknown; got {number} in the shape {dims!r}")
    return number


def _rank(rank: object) -> int:
    try:
        return index(rank)  # type: ignore[arg-type]  # whether it is a number is the question
    except TypeError:
        raise TypeError(f"a rank must be an integer, not {rank!r}") from None


def _incompatible(a: TensorShape, b: TensorShape) -> ValueError:
    return ValueError(f"shapes {a} and {b} are not compatible: the rank or a known size differs")
