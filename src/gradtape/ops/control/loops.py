"""A function over the slices of tensors along their first axis: mapped, folded, scanned, called slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...core import nest
from ...core.composite import CompositeSpec, CompositeTensor, NotDense
from ...core.errors import InvalidArgumentError
from ...core.primitive import apply, local
from ...core.spec import TensorSpec
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert, convert_to_tensor
from ..array.movement import broadcast_to, concat, stack, unstack_
from ..scalars import function


class _Slices:
    """The slices of a structure of tensors along the first axis: one structure for each place."""

    def __init__(self, name: str, elems: Any, stretch: bool = False) -> None:
        self.structure = elems
        self.tensors = [convert_to_tensor(e) for e in nest.flatten(elems)]
        if not self.tensors:
            raise ValueError(f"{name}: elems must hold at least one tensor")
        for t in self.tensors:
            if not t.ndim:
                raise ValueError(f"{name}: elems must have a first axis to go along; a scalar has none")
        lengths = [t._array.shape[0] for t in self.tensors]
        self.count = max(lengths)
        if not stretch and len(set(lengths)) > 1:
            raise ValueError(f"{name}: the first axes of elems must agree, and have lengths {lengths}")
        # Inside a `@function` each slice is one iteration of a compiled loop.
        self.compiled = local.here.trace is not None and self.count > 0
        self.parts = [] if self.compiled else [self._parts(t) for t in self.tensors]

    def loop(self, name: str, carry: list[Tensor], step: Callable[..., Any], reverse: bool = False) -> Any:
        """`carry, row = step(carry, slice)` for all slices: the last carry, and the rows stacked."""
        rows = [t if t._array.shape[0] == self.count else repeat_first(t, self.count) for t in self.tensors]

        def body(i: Tensor, carry: list[Tensor], row: list[Tensor]) -> Any:
            return step(carry, nest.pack_sequence_as(self.structure, row))

        return local.here.trace.loop(name, body, carry, rows, self.count, reverse)

    def _parts(self, t: Tensor) -> Any:
        if t._array.shape[0] not in (1, self.count):
            raise InvalidArgumentError(
                f"vectorized_map: the first axes of elems must have length {self.count} or 1, not {t._array.shape[0]}"
            )
        parts = apply(unstack_, (t,), {"axis": -t.ndim})
        return parts * self.count if len(parts) != self.count else parts

    def __getitem__(self, i: int) -> Any:
        self.parts = self.parts or [self._parts(t) for t in self.tensors]
        return nest.pack_sequence_as(self.structure, [part[i] for part in self.parts])


def repeat_first(t: Tensor, count: int) -> Tensor:
    """Repeat the first axis, of length 1, `count` times."""
    return broadcast_to(t, (count, *t._array.shape[1:]))


# ---------------------------------------------------------------------------------------------------------------------
# Mapping


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """`fn` of each slice of `elems` along the first axis, the results stacked.

    Args:
        elems: a tensor, or a nested structure of tensors whose first axes have the same length.
        fn_output_signature: what `fn` returns, as dtypes or `TensorSpec`s in its structure; needed where that is not
            the structure and dtypes of `elems`.
        dtype: the old name of `fn_output_signature`.
        parallel_iterations, back_prop, swap_memory, infer_shape: accepted and ignored.

    Raises:
        TypeError: if `fn` is no function.
        ValueError: if `elems` is empty or has no common first axis, or a result has another shape.
        ValueError, TypeError: if a result has another structure.
        InvalidArgumentError: if a result has another dtype.

    >>> map_fn(lambda x: x * x, convert([1, 2, 3])).numpy()
    array([1, 4, 9], dtype=int32)
    """
    function("map_fn", "fn", fn)
    slices = _Slices("map_fn", elems)
    signature = dtype if fn_output_signature is None else fn_output_signature
    wanted = elems if signature is None else signature
    specs = [result_spec(s) for s in (slices.tensors if signature is None else nest.flatten(signature))]

    def row(elem: Any) -> list[Tensor]:
        result = fn(elem)
        nest.assert_same_structure(wanted, result)
        return [checked_result(r, spec) for r, spec in zip(nest.flatten(result), specs, strict=True)]

    if slices.compiled:
        return nest.pack_sequence_as(
            wanted, slices.loop("map_fn", [], lambda total, elem: ([], row(elem)))[1]
        )
    rows = [row(slices[i]) for i in range(slices.count)]
    return nest.pack_sequence_as(wanted, [stacked([row[i] for row in rows], s) for i, s in enumerate(specs)])


def map_fn_over(
    slices_of: Callable[[Any], Sequence[Any]],
    spec_of: Callable[[Any], CompositeSpec],
    join: Callable[[list[Any], Any], Any],
) -> Callable[..., Any]:
    """`map_fn` for composite tensors of one kind, for `ops.dispatch`.

    Args:
        slices_of: the slices of such a tensor along its first axis.
        spec_of: the spec that a result has by default if the argument is such a tensor.
        join: the tensor made of the results for all slices, given also their spec.
    """

    def mapped(
        fn: Callable[..., Any],
        elems: Any,
        dtype: Any = None,
        parallel_iterations: int | None = None,
        back_prop: bool = True,
        swap_memory: bool = False,
        infer_shape: bool = True,
        name: str | None = None,
        fn_output_signature: Any = None,
    ) -> Any:
        function("map_fn", "fn", fn)
        leaves = [x if isinstance(x, CompositeTensor) else convert_to_tensor(x) for x in nest.flatten(elems)]
        columns = [slices_of(x) if isinstance(x, CompositeTensor) else x for x in leaves]
        lengths = [len(column) for column in columns]
        if len(set(lengths)) > 1:
            raise ValueError(f"map_fn: the first axes of elems must agree, and have lengths {lengths}")
        signature = dtype if fn_output_signature is None else fn_output_signature
        wanted = elems if signature is None else signature
        specs: list[Any] = [
            spec_of(s)
            if isinstance(s, CompositeTensor)
            else s
            if isinstance(s, CompositeSpec)
            else result_spec(s)
            for s in (leaves if signature is None else nest.flatten(signature))
        ]
        rows = []
        for slices in zip(*columns, strict=True):
            result = fn(nest.pack_sequence_as(elems, list(slices)))
            nest.assert_same_structure(wanted, result)
            rows.append(
                [checked_result(r, spec) for r, spec in zip(nest.flatten(result), specs, strict=True)]
            )
        results = []
        for i, spec in enumerate(specs):
            column = [row[i] for row in rows]
            results.append(join(column, spec) if isinstance(spec, CompositeSpec) else stacked(column, spec))
        return nest.pack_sequence_as(wanted, results)

    return mapped


def result_spec(given: Any) -> TensorSpec:
    """The spec of a result, given by a spec, a dtype or a tensor of that dtype; only a spec fixes the shape."""
    if isinstance(given, TensorSpec):
        return given
    if isinstance(given, CompositeSpec):
        raise NotDense(given)  # for `ops.dispatch`
    return TensorSpec(None, given.dtype if isinstance(given, Tensor) else given)


def checked_result(result: Any, spec: Any) -> Any:
    """What the function of `map_fn` returned as a tensor; an error if it is not as the spec says."""
    if isinstance(spec, CompositeSpec):
        if not isinstance(result, CompositeTensor):
            result = convert_to_tensor(result, dtype_hint=getattr(spec, "dtype", None))
        if not spec.is_compatible_with(result):
            raise ValueError(
                f"map_fn: fn returned {result!r} where {spec} was expected: see fn_output_signature"
            )
        return result
    tensor = convert(result, None, spec.dtype.numpy_dtype)
    if tensor.dtype is not spec.dtype:
        raise InvalidArgumentError(
            f"map_fn: fn returned {tensor.dtype.name} where {spec.dtype.name} was expected: "
            "say so with fn_output_signature, or cast the result"
        )
    if not spec.shape.is_compatible_with(tensor.shape):
        raise ValueError(f"map_fn: fn returned shape {tensor.shape} where {spec.shape} was expected")
    return tensor


def stacked(column: list[Tensor], spec: TensorSpec) -> Tensor:
    """The results of `map_fn` for all slices, stacked."""
    if column:
        return stack(column)
    shape = tuple(spec.shape) if spec.shape.is_fully_defined() else ()
    return wrap(np.zeros((0, *shape), spec.dtype.numpy_dtype))


def vectorized_map(
    fn: Callable[..., Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """`fn` of each slice of `elems` along the first axis, the results stacked.

    Args:
        elems: a tensor, or a nested structure of tensors with first axes of one length, or of length 1, which is
            repeated.
        fallback_to_while_loop, warn: accepted and ignored.

    Raises:
        TypeError: if `fn` is no function.
        ValueError: if `elems` is empty or a scalar.
        InvalidArgumentError: if the first axes differ.

    >>> vectorized_map(lambda x: x * 2.0, convert([1.0, 2.0])).numpy()
    array([2., 4.], dtype=float32)
    """
    function("vectorized_map", "fn", fn)
    slices = _Slices("vectorized_map", elems, stretch=True)
    if not slices.count:
        return _empty_results(fn, slices)
    if slices.compiled:
        found: list[Any] = []

        def row(_: Any, elem: Any) -> Any:
            found[:] = [fn(elem)]
            return [], [convert(r) for r in nest.flatten(found[0])]

        stacked = slices.loop("vectorized_map", [], row)[1]
        return nest.pack_sequence_as(found[0], stacked)
    results = [fn(slices[i]) for i in range(slices.count)]
    columns = zip(*[[convert(r) for r in nest.flatten(result)] for result in results], strict=True)
    return nest.pack_sequence_as(results[0], [stack(column) for column in columns])


def _empty_results(fn: Callable[..., Any], slices: _Slices) -> Any:
    """Results for no slices, in the shape that `fn` gives for zeros."""
    zeros = [wrap(np.zeros(t._array.shape[1:], t._array.dtype)) for t in slices.tensors]
    tried = fn(nest.pack_sequence_as(slices.structure, zeros))

    def empty(r: Any) -> Tensor:
        array = convert(r)._array
        return wrap(np.zeros((0, *array.shape), array.dtype))

    return nest.map_structure(empty, tried)


# ---------------------------------------------------------------------------------------------------------------------
# Folding


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """fn(...fn(fn(initializer, first), second)..., last), for the slices along the first axis.

    Args:
        fn: takes the value so far and a slice, and returns the next value, in the same structure.
        elems: a tensor, or a nested structure of tensors whose first axes have the same length.
        initializer: the first value; by default the first slice.
        parallel_iterations, back_prop, swap_memory: accepted and ignored.

    Raises:
        TypeError: if `fn` is no function.
        ValueError: if `elems` is empty or has no common first axis.
        ValueError, TypeError: if `fn` returns another structure than it takes.
        InvalidArgumentError: if there are no slices and no initializer.

    >>> int(foldl(lambda total, x: total + x, convert([1, 2, 3])))
    6
    """
    return _folded("foldl", fn, elems, initializer, backwards=False)


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """As `foldl`, from the last slice to the first.

    Args:
        fn: takes the value so far and a slice, and returns the next value, in the same structure.
        elems: a tensor, or a nested structure of tensors whose first axes have the same length.
        initializer: the first value; by default the last slice.
        parallel_iterations, back_prop, swap_memory: accepted and ignored.

    Raises:
        As `foldl`.

    >>> int(foldr(lambda total, x: 10 * total + x, convert([1, 2, 3])))
    321
    """
    return _folded("foldr", fn, elems, initializer, backwards=True)


def _totals(name: str, fn: Any, elems: Any, initializer: Any, backwards: bool) -> Iterator[Any]:
    """The value after each slice; without an initializer the first slice is the first value."""
    function(name, "fn", fn)
    slices = _Slices(name, elems)
    order = list(range(slices.count))
    if backwards:
        order.reverse()
    if initializer is None:
        if not order:
            raise InvalidArgumentError(f"{name}: without an initializer there must be at least one slice")
        total = slices[order.pop(0)]
        yield total
    else:
        total = nest.map_structure(convert_to_tensor, initializer)
    for i in order:
        after = fn(total, slices[i])
        nest.assert_same_structure(total, after)
        total = nest.map_structure(convert_to_tensor, after)
        yield total


def _compiled_totals(name: str, fn: Any, elems: Any, initializer: Any, backwards: bool) -> Any:
    """The last value and all values, stacked in the order of the slices, as flat lists; None if there is no slice."""
    function(name, "fn", fn)
    structure = elems if initializer is None else initializer
    first: list[Tensor] = []
    if initializer is None:
        ends = slice(0, 1) if not backwards else slice(-1, None)
        rest = slice(1, None) if not backwards else slice(0, -1)
        whole = [convert_to_tensor(e) for e in nest.flatten(elems)]
        first = [t[ends] for t in whole]
        elems = nest.pack_sequence_as(elems, [t[rest] for t in whole])
    slices = _Slices(name, elems)
    if not slices.compiled:
        return None
    start = [t[0] for t in first] if first else [convert_to_tensor(t) for t in nest.flatten(initializer)]

    def step(total: list[Tensor], elem: Any) -> Any:
        after = fn(nest.pack_sequence_as(structure, total), elem)
        nest.assert_same_structure(structure, after)
        flat = [convert_to_tensor(t) for t in nest.flatten(after)]
        return flat, flat

    last, stacked = slices.loop(name, start, step, backwards)
    if first:
        stacked = [concat([s, f] if backwards else [f, s], 0) for f, s in zip(first, stacked, strict=True)]
    return last, stacked


def _folded(name: str, fn: Any, elems: Any, initializer: Any, backwards: bool) -> Any:
    if local.here.trace is not None:
        compiled = _compiled_totals(name, fn, elems, initializer, backwards)
        if compiled is not None:
            return nest.pack_sequence_as(elems if initializer is None else initializer, compiled[0])
    return _last(_totals(name, fn, elems, initializer, backwards), initializer)


def _last(totals: Iterator[Any], initializer: Any) -> Any:
    total = initializer
    for after in totals:
        total = after
    return nest.map_structure(convert_to_tensor, total)


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All the values that `foldl` goes through (`foldr` with `reverse`), stacked in the order of the slices.

    Args:
        fn: takes the value so far and a slice, and returns the next value, in the same structure.
        elems: a tensor, or a nested structure of tensors whose first axes have the same length.
        initializer: the first value; by default the first slice.
        reverse: whether to go from the last slice to the first.
        parallel_iterations, back_prop, swap_memory, infer_shape: accepted and ignored.

    Raises:
        As `foldl`.

    >>> scan(lambda total, x: total + x, convert([1, 2, 3])).numpy()
    array([1, 3, 6], dtype=int32)
    """
    structure = elems if initializer is None else initializer
    if local.here.trace is not None:
        compiled = _compiled_totals("scan", fn, elems, initializer, backwards=reverse)
        if compiled is not None:
            return nest.pack_sequence_as(structure, compiled[1])
    totals = list(_totals("scan", fn, elems, initializer, backwards=reverse))
    if reverse:
        totals.reverse()
    like = [TensorSpec.from_tensor(convert_to_tensor(t)) for t in nest.flatten(structure)]
    rows = [nest.flatten(t) for t in totals]
    return nest.pack_sequence_as(
        structure, [stacked([row[i] for row in rows], s) for i, s in enumerate(like)]
    )
