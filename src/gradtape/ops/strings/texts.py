"""Strings changed, joined, measured, searched, and numbers written as strings and read from them.

A string tensor is a NumPy array of `bytes` objects, as TensorFlow's `numpy()` gives it. NumPy's arrays of fixed width
drop zeros at the end of a string, and those of its StringDType hold text alone; and the two conversions cost more than
they save: for 10,000 short strings `lower` takes 0.4 ms here and 1.3 by `np.strings`, `strip` 0.3 and 0.9, `length` 0.3
and 0.5, comparison 0.1 and 0.6. What looks at each byte works on bytes laid end to end (`flat_bytes`).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.composite import CompositeTensor
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert, convert_to_tensor
from ...core.types import Axes, DTypeLike, TensorLike
from ..control.printing import as_text
from ..known import known, static_number, static_shape
from ..scalars import boolean, integer, text
from .flat_bytes import character_counts


def strings(operation: str, value: TensorLike) -> np.ndarray:
    """The elements of a string tensor, as an array of `bytes`.

    Raises:
        DTypeError: if the value is no string tensor.
        NotCompilableError: if the value is traced.
    """
    array = known(f"strings.{operation}", "the input", convert(value)._array)
    if array.dtype.kind == "O":
        return array
    if array.size == 0:
        return array.astype(object)
    raise DTypeError(
        f"strings.{operation} takes strings, not {dtypes.of(array).name}: tf.strings.as_string makes them"
    )


def each(function: Callable[[bytes], Any], array: np.ndarray, dtype: Any = object) -> np.ndarray:
    """The results of a function of each string, in an array of the same shape."""
    return np.fromiter(map(function, array.reshape(-1).tolist()), dtype, array.size).reshape(array.shape)


def one_string(operation: str, argument: str, value: TensorLike) -> bytes:
    """The only element of a string tensor."""
    array = strings(operation, value)
    if array.size != 1:
        raise InvalidArgumentError(f"strings.{operation}: {argument} must be one string, not {array.size}")
    content: bytes = array.item()
    return content


def _mapped(
    operation: str, value: TensorLike, function: Callable[[bytes], Any], dtype: Any = object
) -> Tensor:
    return wrap(each(function, strings(operation, value), dtype))


def _choice(operation: str, argument: str, value: str, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(
            f"strings.{operation}: {argument} must be one of {', '.join(map(repr, allowed))}, not {value!r}"
        )
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Letters


def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings in small letters.

    Args:
        encoding: "" for ASCII letters only, "utf-8" for all.

    >>> lower("Hello").numpy()
    b'hello'
    """
    _choice("lower", "encoding", encoding, ("", "utf-8"))
    change = bytes.lower if not encoding else lambda text: text.decode("utf-8", "replace").lower().encode()
    return _mapped("lower", input, change)


def upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings in capital letters; the arguments are those of `lower`.

    >>> upper("Hello").numpy()
    b'HELLO'
    """
    _choice("upper", "encoding", encoding, ("", "utf-8"))
    change = bytes.upper if not encoding else lambda text: text.decode("utf-8", "replace").upper().encode()
    return _mapped("upper", input, change)


def strip(input: TensorLike, name: str | None = None) -> Tensor:
    """Strings without the white space at their ends.

    >>> strip("  a b ").numpy()
    b'a b'
    """
    return _mapped("strip", input, bytes.strip)


def length(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The lengths of strings.

    Args:
        unit: "BYTE", or "UTF8_CHAR" for characters.

    >>> length(["a", "bcd"]).numpy()
    array([1, 3], dtype=int32)
    """
    _choice("length", "unit", unit, ("BYTE", "UTF8_CHAR"))
    if unit == "BYTE":
        return _mapped("length", input, len, np.int32)
    array = strings("length", input)
    return wrap(character_counts(array).astype(np.int32).reshape(array.shape))


def substr(
    input: TensorLike, pos: TensorLike, len: TensorLike, unit: str = "BYTE", name: str | None = None
) -> Tensor:
    """Parts of strings.

    Args:
        pos: where a part begins; negative numbers count from the end.
        len: how long it is, at most; negative for all that is left.
        unit: "BYTE", or "UTF8_CHAR" for characters.

    Raises:
        InvalidArgumentError: if a part begins outside of its string.

    >>> substr("hello", 1, 3).numpy()
    b'ell'
    """
    _choice("substr", "unit", unit, ("BYTE", "UTF8_CHAR"))
    texts = strings("substr", input)
    starts, sizes = (known("strings.substr", "pos and len", convert(n)._array) for n in (pos, len))
    if starts.dtype.kind not in "iu" or sizes.dtype.kind not in "iu":
        raise DTypeError(
            f"strings.substr: pos and len must be integers, not {starts.dtype} and {sizes.dtype}"
        )
    try:
        texts, starts, sizes = np.broadcast_arrays(texts, starts, sizes)
    except ValueError:
        raise InvalidArgumentError(
            f"strings.substr: the shapes {texts.shape}, {starts.shape} and {sizes.shape} do not broadcast"
        ) from None
    elements: Any = (array.reshape(-1).tolist() for array in (texts, starts, sizes))
    part = _part_of_bytes if unit == "BYTE" else _part_of_characters
    return wrap(np.fromiter(map(part, *elements), object, texts.size).reshape(texts.shape))


def _part_of_characters(text: bytes, start: int, size: int) -> bytes:
    characters: Any = text.decode("utf-8", "surrogateescape")
    part: bytes = _part_of_bytes(characters, start, size).encode("utf-8", "surrogateescape")  # type: ignore[attr-defined]
    return part


def _part_of_bytes(text: bytes, start: int, size: int) -> bytes:
    count = text.__len__()
    if not -count <= start <= count:
        raise InvalidArgumentError(f"strings.substr: pos {start} lies outside of a string of length {count}")
    start = start + count if start < 0 else start
    return text[start:] if size < 0 else text[start : start + size]


# ---------------------------------------------------------------------------------------------------------------------
# Joining


def join(inputs: Sequence[TensorLike], separator: str = "", name: str | None = None) -> Tensor:
    """Strings put together, element by element; single ones go with all.

    Args:
        inputs: a list of string tensors.
        separator: what stands between.

    >>> join([["a", "b"], "c"], "-").numpy().tolist()
    [b'a-c', b'b-c']
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"strings.join: inputs must be a list of string tensors, not {inputs!r}")
    parts = [strings("join", part) for part in inputs]
    if not parts:
        raise ValueError("strings.join: there is nothing to join")
    shapes = {part.shape for part in parts if part.ndim}
    if len(shapes) > 1:
        raise ValueError(f"strings.join: the shapes {sorted(shapes)} differ")
    between = text("strings.join", "separator", separator).encode()
    shape = shapes.pop() if shapes else ()
    spread = [np.broadcast_to(part, shape).reshape(-1).tolist() for part in parts]
    rows = zip(*spread, strict=True)
    return wrap(np.fromiter(map(between.join, rows), object, len(spread[0])).reshape(shape))


def reduce_join(
    inputs: TensorLike,
    axis: Axes = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings along axes put together; all of them by default.

    Args:
        axis: which axes; the first one is joined first.
        keepdims: whether they stay, with length 1.
        separator: what stands between.

    >>> reduce_join([["a", "b"], ["c", "d"]], 1, separator=" ").numpy().tolist()
    [b'a b', b'c d']
    """
    array = strings("reduce_join", inputs)
    rank = array.ndim
    given = tuple(reversed(range(rank))) if axis is None else static_shape("strings.reduce_join", axis)
    axes = []
    for a in given:
        if not -rank <= a < rank:
            raise InvalidArgumentError(
                f"strings.reduce_join: there is no axis {a} in a tensor of rank {rank}"
            )
        axes.append(a % rank)
    kept = [a for a in range(rank) if a not in axes]
    front = tuple(array.shape[a] for a in kept)
    rows = array.transpose(*kept, *reversed(axes)).reshape(*front, -1) if rank else array.reshape(1)
    between = text("strings.reduce_join", "separator", separator).encode()
    keepdims = boolean("strings.reduce_join", "keepdims", keepdims)
    out = np.empty(front, object)
    for index in np.ndindex(front):
        out[index] = between.join(rows[index].tolist())
    shape = tuple(1 if a in axes else n for a, n in enumerate(array.shape)) if keepdims else front
    return wrap(out.reshape(shape))


def unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings of each segment put together.

    Args:
        segment_ids: the segment of each string.
        num_segments: how many there are.
        separator: what stands between.

    >>> unsorted_segment_join(["a", "b", "c"], [0, 1, 0], 2).numpy().tolist()
    [b'ac', b'b']
    """
    array = strings("unsorted_segment_join", inputs)
    ids = known("strings.unsorted_segment_join", "segment_ids", convert(segment_ids)._array)
    count = static_number("strings.unsorted_segment_join: num_segments", num_segments)
    if ids.shape != array.shape[: ids.ndim] or (ids.size and not (ids.min() >= 0 and ids.max() < count)):
        raise InvalidArgumentError(
            f"strings.unsorted_segment_join: segment_ids of shape {list(ids.shape)} must fit inputs of shape "
            f"{list(array.shape)}, and lie from 0 to {count - 1}"
        )
    between = text("strings.unsorted_segment_join", "separator", separator).encode()
    inner = array.shape[ids.ndim :]
    rows = array.reshape(ids.size, -1)
    parts: list[list[list[bytes]]] = [[[] for _ in range(rows.shape[1])] for _ in range(count)]
    for i, segment in enumerate(ids.reshape(-1).tolist()):
        for j in range(rows.shape[1]):
            parts[segment][j].append(rows[i, j])
    out = np.empty((count, rows.shape[1]), object)
    for s in range(count):
        for j in range(rows.shape[1]):
            out[s, j] = between.join(parts[s][j])
    return wrap(out.reshape(count, *inner))


# ---------------------------------------------------------------------------------------------------------------------
# Patterns


@functools.lru_cache(maxsize=200)
def _pattern(operation: str, pattern: bytes) -> re.Pattern[str]:
    """A pattern of RE2's for Python: its classes of characters are ASCII's."""
    text = pattern.decode("utf-8", "surrogateescape").replace(r"\z", r"\Z")
    text = re.sub(r"\[\[:(\^?)(\w+):\]\]", _posix_class, text)
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise InvalidArgumentError(
            f"strings.{operation}: the pattern {pattern!r} is not valid: {error}"
        ) from error


_CLASSES = {
    "alnum": r"0-9A-Za-z", "alpha": r"A-Za-z", "digit": r"0-9", "lower": r"a-z", "upper": r"A-Z",
    "space": r"\t\n\v\f\r ", "punct": r"!-/:-@\[-`{-~", "xdigit": r"0-9A-Fa-f", "word": r"0-9A-Za-z_",
    "blank": r"\t ", "cntrl": r"\x00-\x1f\x7f", "graph": r"!-~", "print": r" -~", "ascii": r"\x00-\x7f",
}  # fmt: skip


def _posix_class(match: re.Match[str]) -> str:
    members = _CLASSES.get(match[2])
    if members is None:
        raise InvalidArgumentError(f"strings: the class {match[0]!r} is not one of {', '.join(_CLASSES)}")
    return f"[{match[1]}{members}]"


def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    """Strings with what matches a pattern replaced.

    Args:
        pattern: RE2's syntax, by Python's `re`.
        rewrite: what to put there; \\\\1 to \\\\9 are the groups, \\\\0 is all that matched.
        replace_global: whether all matches are replaced, or only the first.

    Raises:
        InvalidArgumentError: if the pattern is not valid.

    >>> regex_replace("a1b22", "[0-9]+", "#").numpy()
    b'a#b#'
    """
    compiled = _pattern("regex_replace", one_string("regex_replace", "pattern", pattern))
    template = one_string("regex_replace", "rewrite", rewrite).decode("utf-8", "surrogateescape")
    if any(int(n) > compiled.groups for n in re.findall(r"\\(\d)", template)):
        raise InvalidArgumentError(
            f"strings.regex_replace: {template!r} names a group that the pattern has not"
        )
    everywhere = boolean("strings.regex_replace", "replace_global", replace_global)
    parts = re.split(r"\\(\d|\\)", template)  # text and, at odd places, the number of a group or a backslash
    replace = functools.partial(_replaced, compiled, parts, everywhere)
    return _mapped("regex_replace", input, replace)


def _replaced(pattern: re.Pattern[str], template: list[str], everywhere: bool, content: bytes) -> bytes:
    text = content.decode("utf-8", "surrogateescape")
    out: list[str] = []
    end = 0
    for number, match in enumerate(pattern.finditer(text)):
        start = match.start()
        if number and start == match.end() == end:
            continue  # RE2 finds nothing empty right after a match
        out += text[end:start], template[0]
        for group, after in zip(template[1::2], template[2::2], strict=True):
            out += "\\" if group == "\\" else match[int(group)] or "", after
        end = match.end()
        if not everywhere:
            break
    if not out:
        return content
    return "".join([*out, text[end:]]).encode("utf-8", "surrogateescape")


def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:
    """Whether strings match a pattern as a whole.

    Args:
        pattern: RE2's syntax, by Python's `re`.

    >>> regex_full_match(["ab", "abc"], "a.").numpy()
    array([ True, False])
    """
    compiled = _pattern("regex_full_match", one_string("regex_full_match", "pattern", pattern))
    matches = lambda text: compiled.fullmatch(text.decode("utf-8", "surrogateescape")) is not None
    return _mapped("regex_full_match", input, matches, bool)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers


def to_number(input: TensorLike, out_type: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """The numbers that strings say.

    Args:
        out_type: float32, float64, int32 or int64.

    Raises:
        InvalidArgumentError: if a string is no such number.

    >>> to_number(["1.5", "-2"]).numpy()
    array([ 1.5, -2. ], dtype=float32)
    """
    dtype = dtypes.as_dtype(out_type)
    if dtype.name not in ("float32", "float64", "int32", "int64", "uint32", "uint64"):
        raise InvalidArgumentError(
            f"strings.to_number: out_type must be a float or integer, not {dtype.name}"
        )

    array = strings("to_number", input)
    read = int if dtype.is_integer else float

    def is_number(text: bytes) -> bool:
        try:
            np.fromiter([read(text)], dtype.numpy_dtype)
        except (ValueError, OverflowError):
            return False
        return b"_" not in text  # which Python reads over

    try:
        numbers = each(read, array, dtype.numpy_dtype)
    except (ValueError, OverflowError):
        numbers = None
    texts = array.reshape(-1).tolist()
    if numbers is None or b"_" in b"".join(texts):
        bad = next(text for text in texts if not is_number(text))
        raise InvalidArgumentError(f"strings.to_number: {bad!r} is no {dtype.name}")
    return wrap(numbers)


def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers as strings.

    Args:
        precision: digits after the point; -1 for 6.
        scientific: whether floats are written as 1.000000e+00.
        shortest: whether floats are written in the shorter of both ways.
        width: the least length.
        fill: what fills up to it: "" for spaces, "0", or " ".

    >>> as_string([1, 2]).numpy().tolist(), as_string(3.14159, precision=2).numpy()
    ([b'1', b'2'], b'3.14')
    """
    array = known("strings.as_string", "the input", convert_to_tensor(input)._array)
    if scientific and shortest:
        raise InvalidArgumentError("strings.as_string: either scientific or shortest")
    precision, width = (
        integer("strings.as_string", "precision and width", n, -1) for n in (precision, width)
    )
    scientific = boolean("strings.as_string", "scientific", scientific)
    shortest = boolean("strings.as_string", "shortest", shortest)
    if max(precision, width) > 10_000:
        raise InvalidArgumentError("strings.as_string: precision and width must be 10000 at most")
    if len(text("strings.as_string", "fill", fill)) > 1:
        raise InvalidArgumentError(f"strings.as_string: fill must be one character, not {fill!r}")
    if array.dtype.kind == "O":
        return wrap(array)
    if array.dtype.kind in "iub" and (precision >= 0 or scientific or shortest):
        raise InvalidArgumentError("strings.as_string: precision, scientific and shortest are for floats")
    style = "e" if scientific else "g" if shortest else "f"
    digits = f".{precision}" if precision >= 0 else ""
    size = str(width) if width >= 0 else ""
    flag = "0" if fill == "0" else "-" if fill == "-" else ""
    forms = f"%{flag}{size}{digits}{style}".encode(), f"%{flag}{size}d".encode(), f"%{size}s".encode()
    written = [_written(value, *forms) for value in array.reshape(-1).tolist()]
    return wrap(np.fromiter(written, object, array.size).reshape(array.shape))


def _written(value: Any, as_float: bytes, as_integer: bytes, as_text: bytes) -> bytes:
    if type(value) is float:
        return (as_float if math.isfinite(value) else as_float.replace(b"%0", b"%")) % value
    if type(value) is int:
        return as_integer % value
    if type(value) is bool:
        return as_text % (b"true" if value else b"false")
    return b"(%b,%b)" % (as_float % value.real, as_float % value.imag)


def format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """A text with tensors in it.

    Args:
        template: the text.
        inputs: one tensor, or a list of them.
        placeholder: what stands for each in the text.
        summarize: how many elements are shown at each end of an axis; -1 for all.

    Raises:
        ValueError: if there are more placeholders than tensors, or fewer.

    >>> format("x: {}", convert([1, 2])).numpy()
    b'x: [1 2]'
    """
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if not text("strings.format", "placeholder", placeholder):
        raise ValueError("strings.format: placeholder is empty")
    parts = text("strings.format", "template", template).split(placeholder)
    summarize = integer("strings.format", "summarize", summarize, -1)
    if len(parts) - 1 != len(values):
        raise ValueError(f"strings.format: {len(parts) - 1} placeholders for {len(values)} tensors")
    texts = [
        v._text(summarize)
        if isinstance(v, CompositeTensor)
        else as_text(known("strings.format", "an input", convert(v)._array), summarize)
        for v in values
    ]
    whole = "".join(part + text for part, text in zip(parts, [*texts, ""], strict=True))
    return convert(whole)


# ---------------------------------------------------------------------------------------------------------------------
# Encodings

ENCODINGS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}


def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Strings in another encoding.

    Args:
        input_encoding: a name that Python knows, such as "UTF-8" or "latin-1".
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: what becomes of bytes that are not valid: "strict" raises, "replace" puts `replacement_char` there,
            "ignore" leaves them out.
        replacement_char: the code of a character.
        replace_control_characters: whether control characters (up to code 31) are treated as not valid.

    Raises:
        InvalidArgumentError: if a string is not valid, and errors="strict".

    >>> unicode_transcode(b"\\xe9", "latin-1", "UTF-8").numpy().decode()
    'é'
    """
    _choice("unicode_transcode", "output_encoding", output_encoding, tuple(ENCODINGS))
    change = functools.partial(
        characters,
        "unicode_transcode",
        text("strings.unicode_transcode", "input_encoding", input_encoding),
        errors,
        integer("strings.unicode_transcode", "replacement_char", replacement_char, 0),
        boolean("strings.unicode_transcode", "replace_control_characters", replace_control_characters),
    )
    return _mapped("unicode_transcode", input, lambda text: change(text).encode(ENCODINGS[output_encoding]))


def characters(
    operation: str, encoding: str, errors: str, replacement: int, replace_control: bool, content: bytes
) -> str:
    """The characters of a string."""
    _choice(operation, "errors", errors, ("strict", "replace", "ignore"))
    if not 0 <= replacement < 0x110000 or 0xD800 <= replacement < 0xE000:
        raise InvalidArgumentError(f"strings.{operation}: {replacement} is the code of no character")
    try:
        decoded = content.decode(ENCODINGS.get(encoding, encoding), errors)
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"strings.{operation}: {content[:40]!r} is not valid {encoding}: {error}"
        ) from error
    except (LookupError, ValueError):
        raise ValueError(f"strings.{operation}: there is no encoding {encoding!r}") from None
    instead = chr(replacement) if errors == "replace" else ""
    if errors == "replace" and replacement != 65533:
        decoded = decoded.replace("\N{REPLACEMENT CHARACTER}", instead)
    if replace_control:
        decoded = re.sub(r"[\x00-\x1f]", lambda _: instead, decoded)
    return decoded
