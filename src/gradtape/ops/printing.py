"""print and Assert: tensors as text, the way TensorFlow writes them."""

from __future__ import annotations

import logging
import pprint
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import nest
from ..errors import InvalidArgumentError
from ..tensor import Tensor, convert, is_tensor
from .scalars import integer


class _Text:
    """A tensor's text inside a structure: shown as it is, without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def print_(*inputs: Any, **kwargs: Any) -> None:
    """Write values, tensors among them or inside of structures, to a stream.

    `output_stream` is sys.stderr (the default), sys.stdout, a function or level of `logging`, or "file://" and a path;
    `summarize` is how many elements show at either end of an axis (-1 for all); `sep` and `end` are Python's.

    >>> print_("x:", convert([1.0, 2.5]), output_stream=sys.stdout)
    x: [1 2.5]
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    summarize = kwargs.pop("summarize", 3)
    sep, end = kwargs.pop("sep", " "), kwargs.pop("end", "\n")
    kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"print: unknown arguments {', '.join(sorted(kwargs))}")
    text = sep.join(_shown(x, summarize) for x in inputs)
    _write(text, end, stream)


def _shown(x: Any, summarize: int) -> str:
    if isinstance(x, str):
        return x
    if is_tensor(x):
        return as_text(convert(x)._array, summarize)
    tensors_shown = nest.map_structure(
        lambda t: _Text(as_text(convert(t)._array, summarize)) if is_tensor(t) else t, x
    )
    return pprint.pformat(tensors_shown)


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
    """An array as TensorFlow prints it: no commas, floats with as few digits as say which they are."""
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
    """The places to show: all, or so many at either end."""
    if summarize < 0 or length <= 2 * summarize:
        return slice(None)
    return [*range(summarize), *range(length - summarize, length)]


_DIGITS = {
    2: 6,
    4: 6,
    8: 15,
}  # by the bytes of a dtype: as many as always come back; three or two more name any number


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


def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> None:
    """Raise InvalidArgumentError, with the first elements of each tensor of `data`, unless the condition holds.

    >>> Assert(convert(1) < 2, ["one is less than two"])
    """
    if not convert(condition):
        count = 3 if summarize is None else integer("Assert", "summarize", summarize)
        shown = "\n".join(_summary(convert(x), count) for x in data)
        raise InvalidArgumentError(f"Expected '{condition!s}' to be true. Summarized data: {shown}")


def _summary(x: Tensor, count: int) -> str:
    return ", ".join(_first(x, count))


def _first(x: Tensor, count: int) -> Iterator[str]:
    flat = x._array.reshape(-1)
    shown = flat.size if count < 0 else count
    yield from (str(element) for element in flat[:shown])
    if flat.size > shown:
        yield "..."
