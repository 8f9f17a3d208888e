"""print and Assert: tensors as text, the way TensorFlow writes them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...core import nest
from ...core.composite import CompositeTensor
from ...core.dtypes import plain
from ...core.errors import InvalidArgumentError
from ...core.primitive import local
from ...core.tensor import wrap
from ...core.tensor_conversion import convert, is_tensor
from ...core.types import TensorLike
from ...engine.arrays import is_traced
from ..scalars import integer


class _Text:
    """A tensor's text inside a structure: shown as it is, without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def print_(*inputs: Any, **kwargs: Any) -> None:
    """Write values, tensors among them or inside of structures, to a stream.

    Inside a `@function` they are written each time it runs.

    Args:
        inputs: the values.
        output_stream: sys.stderr (the default), sys.stdout, a function or level of `logging`, or "file://" and a path.
        summarize: the number of elements shown at either end of an axis: 3 by default, all for -1.
        sep, end: the text between values and after the last, as for Python's own `print`.

    Raises:
        ValueError: for another stream, or an unknown argument.

    >>> print_("x:", convert([1.0, 2.5]), output_stream=sys.stdout)
    x: [1 2.5]
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    summarize = kwargs.pop("summarize", 3)
    sep, end = kwargs.pop("sep", " "), kwargs.pop("end", "\n")
    kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"print: unknown arguments {', '.join(sorted(kwargs))}")

    def show(values: Any) -> None:
        _write(sep.join(_as_shown(x, summarize) for x in values), end, stream)

    if local.here.trace is None:
        show(inputs)
    else:
        _show_when_run(show, inputs)


def _show_when_run(show: Callable[[Any], None], inputs: Any) -> None:
    """Show values whenever the compiled function runs."""
    from ...engine.host import call

    leaves = nest.flatten(inputs, expand_composites=True)
    # Strings stay outside the compiled code, which has none.
    tensors = [i for i, leaf in enumerate(leaves) if is_tensor(leaf) and leaf.dtype.name != "string"]

    def on_arrays(*arrays: Any) -> tuple[()]:
        values = dict(zip(tensors, map(wrap, arrays), strict=True))
        shown = [values.get(i, leaf) for i, leaf in enumerate(leaves)]
        show(nest.pack_sequence_as(inputs, shown, expand_composites=True))
        return ()

    call(on_arrays, [], [convert(leaves[i])._array for i in tensors], pure=False)


def _as_shown(x: Any, summarize: int) -> str:
    if isinstance(x, str):
        return x
    if is_tensor(x):
        return _tensor_text(x, summarize)
    import pprint  # takes 2 ms

    tensors_shown = nest.map_structure(lambda t: _Text(_tensor_text(t, summarize)) if is_tensor(t) else t, x)
    return pprint.pformat(tensors_shown)


def _tensor_text(x: Any, summarize: int) -> str:
    return (
        x._text(summarize) if isinstance(x, CompositeTensor) else as_text(plain(convert(x)._array), summarize)
    )


def _write(text: str, end: str, stream: Any) -> None:
    if isinstance(stream, str) and stream.startswith("file://"):
        with open(stream.removeprefix("file://"), "a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text + end)
    elif stream in (
        logging.INFO,
        logging.info,
        logging.WARNING,
        logging.warning,
        logging.ERROR,
        logging.error,
    ):
        level = stream if isinstance(stream, int) else logging.getLevelName(stream.__name__.upper())
        logging.getLogger("gradtape").log(level, text)
    elif hasattr(stream, "write"):
        stream.write(text + end)
        stream.flush()
    else:
        raise ValueError(
            f"print: output_stream must be sys.stdout, sys.stderr, a function or level of logging, or 'file://<path>', "
            f"not {stream!r}"
        )


def as_text(array: Any, summarize: int = 3) -> str:
    """An array as TensorFlow prints it: no commas, floats with as few digits as identify them.

    Args:
        summarize: the number of elements shown at either end of an axis; all if negative.
    """
    if array.ndim == 0:
        return _element(array[()], quoted=False)
    return _nested(array, summarize, 1)


def _nested(array: Any, summarize: int, depth: int) -> str:
    if array.ndim == 1:
        parts = [_element(x, quoted=True) for x in array[_ends(len(array), summarize)]]
        gap = " "
    else:
        parts = [_nested(row, summarize, depth + 1) for row in array[_ends(len(array), summarize)]]
        gap = "\n" * (array.ndim - 1) + " " * depth
    if len(parts) < len(array):
        parts.insert(summarize, "...")
    return f"[{gap.join(parts)}]"


def _ends(length: int, summarize: int) -> Any:
    """The places to show: all, or `summarize` at either end."""
    if summarize < 0 or length <= 2 * summarize:
        return slice(None)
    return [*range(summarize), *range(length - summarize, length)]


# Digits by the size of a dtype in bytes: as many as survive a round trip from text; with 3 more (2 for float64) the
# text identifies the number.
_DIGITS = {2: 6, 4: 6, 8: 15}


def rows_as_text(rows: Any, summarize: int) -> str:
    """Nested lists of different lengths as TensorFlow prints a ragged tensor: with commas, and floats in full."""
    if not isinstance(rows, list):
        if isinstance(rows, bytes):
            return f"'{rows.decode('utf-8', 'surrogateescape')}'"
        return (
            str(rows).lower()
            if isinstance(rows, bool)
            else f"{rows:f}"
            if isinstance(rows, float)
            else str(rows)
        )
    shown = rows if summarize < 0 or len(rows) <= 2 * summarize else rows[:summarize] + rows[-summarize:]
    parts = [rows_as_text(x, summarize) for x in shown]
    if len(shown) < len(rows):
        parts.insert(summarize, "...")
    return f"[{', '.join(parts)}]"


def _element(x: Any, quoted: bool) -> str:
    if isinstance(x, bytes):
        text = x.decode("utf-8", "surrogateescape")
        return '"' + text.translate(_ESCAPES) + '"' if quoted else text
    kind = x.dtype
    if kind.kind == "b":
        return str(int(x))
    if kind.kind not in "fV":
        return str(x)
    wide = np.float64 if kind.itemsize == 8 else np.float32
    digits = _DIGITS[kind.itemsize]
    text = f"{float(x):.{digits}g}"
    if not np.isfinite(float(x)) or wide(float(text)) == wide(x):
        return text
    return f"{float(x):.{digits + (2 if kind.itemsize == 8 else 3)}g}"


_ESCAPES = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"})


def Assert(
    condition: TensorLike, data: Iterable[TensorLike], summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless a condition holds.

    Args:
        data: tensors to show in the error.
        summarize: the number of elements shown of each: 3 by default, all for -1.

    Raises:
        InvalidArgumentError: if the condition does not hold; inside a `@function`, when it runs.

    >>> Assert(convert(1) < 2, ["one is less than two"])
    """
    count = 3 if summarize is None else integer("Assert", "summarize", summarize)

    def error(*arrays: Any) -> InvalidArgumentError:
        shown = "\n".join(_summary(array, count) for array in arrays)
        return InvalidArgumentError(f"Expected '{condition!s}' to be true. Summarized data: {shown}")

    arrays = [convert(x)._array for x in data]
    holds = convert(condition)
    if is_traced(holds._array):
        demand(holds._array, error, arrays)
    elif not holds:
        raise error(*arrays)


def demand(holds: Any, error: Callable[..., Exception], arrays: list[Any]) -> None:
    """Raise `error(*arrays)` if the condition `holds` is false when the compiled function runs."""
    from ...engine.host import check

    # XLA has no strings.
    text = {i: array for i, array in enumerate(arrays) if array.dtype.kind == "O"}
    numbers = [i for i in range(len(arrays)) if i not in text]

    def with_text(*values: Any) -> Exception:
        both = text | dict(zip(numbers, values, strict=True))
        return error(*[both[i] for i in range(len(arrays))])

    check(holds, with_text, *[arrays[i] for i in numbers])


def _summary(x: Any, count: int) -> str:
    return ", ".join(_first(x, count))


def _first(x: Any, count: int) -> Iterator[str]:
    flat = x.reshape(-1)
    shown = flat.size if count < 0 else count
    yield from (str(element) for element in flat[:shown])
    if flat.size > shown:
        yield "..."
