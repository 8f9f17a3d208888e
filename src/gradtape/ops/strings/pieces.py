"""Strings cut into pieces, whose number differs: the results are ragged tensors. And pieces joined to strings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ..known import known
from ..ragged import RaggedTensor, ragged
from ..ragged.row_partition import splits_of_lengths
from ..scalars import boolean, choice, integer, text
from .flat_bytes import SINGLE, as_strings, laid_out, utf8_characters
from .texts import ENCODINGS, characters, one_string, strings

_CutAll = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _cut_up(operation: str, input: Any, cut_all: _CutAll) -> Any:
    """The pieces of each string, along a new last axis; of one string, a tensor.

    `cut_all` gives the pieces of all strings, one after the other, and how many each has.
    """
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(_cut_up(operation, input.flat_values, cut_all))
    array = strings(operation, input)
    flat, counts = cut_all(array.reshape(-1))
    if not array.ndim:
        return wrap(flat)
    rows = ragged(wrap(flat), splits_of_lengths(counts))
    if array.ndim == 1:
        return rows
    return RaggedTensor.from_tensor(wrap(array), ragged_rank=array.ndim - 1).with_flat_values(rows)


def _cut_each(cut: Callable[[bytes], list[Any]], dtype: Any = object) -> _CutAll:
    """A function that cuts one string after the other."""

    def cut_all(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pieces = [cut(content) for content in array.tolist()]
        flat = [piece for row in pieces for piece in row]
        return _as_array(flat, dtype), np.array([len(row) for row in pieces], np.int64)

    return cut_all


def _as_array(values: list[Any], dtype: Any) -> np.ndarray:
    return np.fromiter(values, dtype, len(values))  # np.array ends strings where zeros begin


def split(input: Any, sep: TensorLike | None = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of strings between separators, as rows; of one string, a tensor.

    Args:
        input: a string tensor, or a ragged one.
        sep: the separator; by default any white space, and no part is empty then.
        maxsplit: the largest number of cuts; all if negative.

    >>> split(["a b", "c"])
    <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    """
    between = b"" if sep is None else one_string("split", "sep", sep)
    most = integer("strings.split", "maxsplit", maxsplit)
    cut = _cut_each(lambda content: content.split(between or None, most if most > 0 else -1))
    return _cut_up("split", input, cut)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The single bytes of strings, as rows; of one string, a tensor.

    >>> bytes_split(["ab", "c"])
    <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    """

    def cut(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, content, lengths = laid_out(array)
        return SINGLE[content], lengths

    return _cut_up("bytes_split", input, cut)


# ---------------------------------------------------------------------------------------------------------------------
# Characters


def _characters(
    operation: str, encoding: Any, errors: Any, replacement: Any, replace_control: Any = False
) -> Callable[[bytes], list[tuple[str, int]]]:
    """A function that gives the characters of a string, each with its place in bytes."""
    name = f"strings.{operation}"
    codec = ENCODINGS.get(text(name, "input_encoding", encoding), encoding)
    options = errors, integer(name, "replacement_char", replacement, 0)
    control = boolean(name, "replace_control_characters", replace_control)
    characters(operation, encoding, *options, control, b"")  # checks the options
    try:
        " ".encode(codec)
    except (LookupError, ValueError, UnicodeError):
        raise ValueError(f"{name}: there is no encoding {encoding!r}") from None

    def cut(content: bytes) -> list[tuple[str, int]]:
        instead = "" if errors == "ignore" else chr(options[1])
        out = []
        for found, at, valid in _parts(content, codec):
            if not valid and errors == "strict":
                raise InvalidArgumentError(f"{name}: {content[:40]!r} is not valid {encoding}")
            bad = not valid or (control and found < " ")
            if not bad or instead:
                out.append((instead if bad else found, at))
        return out

    return cut


def _parts(content: bytes, codec: str) -> Iterator[tuple[str, int, bool]]:
    """The characters, their places, and whether they are valid."""
    at = 0
    while at < len(content):
        try:
            good, end, bad = content[at:].decode(codec), len(content), 0
        except UnicodeDecodeError as error:
            good, end, bad = (
                content[at : at + error.start].decode(codec),
                at + error.start,
                error.end - error.start,
            )
        for character in good:
            yield character, at, True
            at += len(character.encode(codec))
        at = end
        if bad:
            yield "", at, False
            at += bad


def _decoded(
    operation: str,
    input: Any,
    encoding: Any,
    errors: Any,
    replacement: Any,
    replace_control: Any = False,
    codes: bool = False,
) -> tuple[Any, Any]:
    """The characters of strings, as strings or as codes, and the place of each in bytes, in the same rows."""
    characters_of = _characters(operation, encoding, errors, replacement, replace_control)
    codec = ENCODINGS.get(encoding, encoding)
    places: Any = []

    def cut(content: bytes) -> list[Any]:
        found = characters_of(content)
        places.extend([at for _, at in found])
        return [ord(c) if codes else c.encode(codec) for c, _ in found]

    def cut_all(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nonlocal places
        found = utf8_characters(array) if codec == "utf-8" else None
        if found is None or (replace_control and (found.codes < ord(" ")).any()):
            return _cut_each(cut, np.int32 if codes else object)(array)
        places = found.places
        return found.codes if codes else as_strings(found.codes), found.counts

    pieces = _cut_up(operation, input, cut_all)
    offsets = wrap(np.array(places, np.int64))
    return pieces, pieces.with_flat_values(offsets) if isinstance(pieces, RaggedTensor) else offsets


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The codes of the characters of strings, as rows; of one string, a tensor.

    Args:
        input_encoding: a name that Python knows, such as "UTF-8".
        errors: what becomes of bytes that are not valid: "strict" raises, "replace" puts `replacement_char` there,
            "ignore" leaves them out.
        replacement_char: the code of a character.
        replace_control_characters: whether control characters (up to code 31) are treated as not valid.

    Raises:
        InvalidArgumentError: if a string is not valid, and errors="strict".

    >>> unicode_decode(["ab", "c"], "UTF-8")
    <tf.RaggedTensor [[97, 98], [99]]>
    """
    options = input_encoding, errors, replacement_char, replace_control_characters
    return _decoded("unicode_decode", input, *options, codes=True)[0]


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The codes of the characters of strings, and the place of each in bytes; the arguments are `unicode_decode`'s.

    >>> unicode_decode_with_offsets(["ab"], "UTF-8")[1]
    <tf.RaggedTensor [[0, 1]]>
    """
    options = input_encoding, errors, replacement_char, replace_control_characters
    return _decoded("unicode_decode_with_offsets", input, *options, codes=True)


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """The characters of strings, each as a string, in rows; of one string, a tensor.

    The arguments are those of `unicode_decode`.

    >>> unicode_split(["ab", "c"], "UTF-8")
    <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    """
    return _decoded("unicode_split", input, input_encoding, errors, replacement_char)[0]


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The characters of strings, and the place of each in bytes; the arguments are those of `unicode_decode`.

    >>> unicode_split_with_offsets(["ab"], "UTF-8")[1]
    <tf.RaggedTensor [[0, 1]]>
    """
    return _decoded("unicode_split_with_offsets", input, input_encoding, errors, replacement_char)


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """The strings of rows of codes of characters: the last axis is joined.

    Args:
        input: integers, a tensor or ragged tensor.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: what becomes of numbers that are no codes: "strict" raises, "replace" puts `replacement_char` there,
            "ignore" leaves them out.
        replacement_char: the code of a character.

    Raises:
        InvalidArgumentError: if a number is no code, and errors="strict".

    >>> unicode_encode([[97, 98], [99, 100]], "UTF-8").numpy().tolist()
    [b'ab', b'cd']
    """
    codec = ENCODINGS[choice("strings.unicode_encode", "output_encoding", output_encoding, tuple(ENCODINGS))]
    choice("strings.unicode_encode", "errors", errors, ("strict", "replace", "ignore"))
    instead = integer("strings.unicode_encode", "replacement_char", replacement_char, 0)
    if not _is_code(instead):
        raise InvalidArgumentError(f"strings.unicode_encode: {instead} is the code of no character")

    def encoded(row: list[int]) -> bytes:
        bad = [code for code in row if not _is_code(code)]
        if bad and errors == "strict":
            raise InvalidArgumentError(f"strings.unicode_encode: {bad[0]} is the code of no character")
        kept = [code if _is_code(code) else instead for code in row if _is_code(code) or errors == "replace"]
        return "".join(map(chr, kept)).encode(codec)

    if not isinstance(input, RaggedTensor):
        array = _codes(input)
        rows = (
            array.reshape(-1, array.shape[-1]).tolist()
            if array.size
            else [[]] * int(np.prod(array.shape[:-1]))
        )
        return wrap(_as_array([encoded(row) for row in rows], object).reshape(array.shape[:-1]))
    if isinstance(input.values, RaggedTensor) or input.values.ndim > 1:
        return input.with_values(unicode_encode(input.values, output_encoding, errors, replacement_char))
    _codes(input.values)
    return wrap(_as_array([encoded(row) for row in input.to_list()], object))


def _is_code(code: int) -> bool:
    return 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000


def _codes(value: TensorLike) -> np.ndarray:
    array = known("strings.unicode_encode", "the input", convert(value)._array)
    if array.dtype.kind not in "iu" and array.size:
        raise DTypeError(f"strings.unicode_encode takes the codes of characters, integers, not {array.dtype}")
    if not array.ndim:
        raise ValueError(
            "strings.unicode_encode: codes must have an axis to join along, and this is a scalar"
        )
    return array


# ---------------------------------------------------------------------------------------------------------------------
# n-grams


def ngrams(
    data: Any,
    ngram_width: int | Sequence[int],
    separator: str = " ",
    pad_values: str | tuple[str, str] | None = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """The runs of neighbouring strings along the last axis, joined.

    Args:
        data: a string tensor, or a ragged one.
        ngram_width: how many strings make a run; several numbers give the runs of each.
        separator: what stands between the strings of a run.
        pad_values: what to put before and after each row, or a pair of these; by default nothing.
        padding_width: how often, at most; by default one time less than the width.
        preserve_short_sequences: whether a row that is too short for any run is one run.

    Raises:
        ValueError: if a width is less than 1, or the data is a single string.

    >>> ngrams(["a", "b", "c"], 2).numpy().tolist()
    [b'a b', b'b c']
    """
    given = ngram_width if isinstance(ngram_width, (list, tuple)) else [ngram_width]
    widths = [integer("strings.ngrams", "ngram_width", width) for width in given]
    if min(widths, default=0) < 1:
        raise ValueError(f"strings.ngrams: a width must be 1 or more, not {ngram_width!r}")
    if padding_width is not None:
        padding_width = integer("strings.ngrams", "padding_width", padding_width)
        if padding_width < 1:
            raise ValueError(f"strings.ngrams: padding_width must be 1 or more, not {padding_width}")
    left, right = _pads(pad_values)
    between = text("strings.ngrams", "separator", separator).encode()
    short = boolean("strings.ngrams", "preserve_short_sequences", preserve_short_sequences)

    def runs(row: list[bytes]) -> list[bytes]:
        out = []
        for width in widths:
            pad = (
                0
                if pad_values is None
                else min(width - 1, width - 1 if padding_width is None else padding_width)
            )
            whole = [left] * pad + row + [right] * pad
            out += [between.join(whole[i : i + width]) for i in range(len(whole) - width + 1)]
        if not out and row and short:
            pad = 0 if pad_values is None or padding_width is None else padding_width
            out = [between.join([left] * pad + row + [right] * pad)]
        return out

    return _runs(data, runs)


def _pads(pad_values: Any) -> tuple[bytes, bytes]:
    pair = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
    if len(pair) != 2:
        raise TypeError(f"strings.ngrams: pad_values must be a string or two, not {pad_values!r}")
    if pad_values is None:
        return b"", b""
    first, second = (
        value if isinstance(value, bytes) else text("strings.ngrams", "pad_values", value).encode()
        for value in pair
    )
    return first, second


def _runs(data: Any, runs: Callable[[list[bytes]], list[bytes]]) -> Any:
    """`runs` of the rows along the last axis."""
    if not isinstance(data, RaggedTensor):
        array = strings("ngrams", data)
        if not array.ndim:
            raise ValueError("strings.ngrams: the data must have an axis of strings, and this is one string")
        rows = [runs(row) for row in array.reshape(-1, array.shape[-1]).tolist()] if array.size else []
        count = len(rows[0]) if rows else 0
        flat = _as_array([run for row in rows for run in row], object)
        return wrap(flat.reshape(*array.shape[:-1], count))
    if isinstance(data.values, RaggedTensor) or data.values.ndim > 1:
        return data.with_values(_runs(data.values, runs))
    strings("ngrams", data.values)
    found = [runs(row) for row in data.to_list()]
    splits = splits_of_lengths(np.array([len(row) for row in found], np.int64)).astype(
        data.row_splits.dtype.numpy_dtype
    )
    return ragged(wrap(_as_array([run for row in found for run in row], object)), splits)
