"""tf.strings gives what TensorFlow gives (data/make_strings.py), and refuses what is wrong."""

import json
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape import errors

from .data.make_strings import value

EXPECTED = json.loads((Path(__file__).parent / "data" / "strings.json").read_text())
S = tf.strings


@pytest.mark.parametrize("expression", EXPECTED)
def test_the_result_is_tensorflows(expression):
    assert value(tf, expression) == EXPECTED[expression]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: S.lower([1, 2]), errors.DTypeError, "takes strings, not int32"),
        (lambda: S.lower("a", encoding="latin-1"), ValueError, "encoding must be one of '', 'utf-8'"),
        (lambda: S.substr("hello", 6, 1), errors.InvalidArgumentError, "pos 6 lies outside"),
        (lambda: S.join([["a"], ["b", "c"]]), ValueError, "differ"),
        (lambda: S.reduce_join(["a"], 1), errors.InvalidArgumentError, "there is no axis 1"),
        (lambda: S.regex_replace("a", "(", ""), errors.InvalidArgumentError, "is not valid"),
        (lambda: S.regex_replace("a", "a", r"\1"), errors.InvalidArgumentError, "names a group"),
        (lambda: S.to_number("x"), errors.InvalidArgumentError, "b'x' is no float32"),
        (lambda: S.to_number("99999999999", tf.int32), errors.InvalidArgumentError, "is no int32"),
        (lambda: S.as_string([1], precision=2), errors.InvalidArgumentError, "are for floats"),
        (lambda: S.format("{} {}", [1]), ValueError, "2 placeholders for 1 tensors"),
        (
            lambda: S.unicode_transcode(b"\xff", "UTF-8", "UTF-8", "strict"),
            errors.InvalidArgumentError,
            "not valid UTF-8",
        ),
        (
            lambda: S.to_hash_bucket_fast("a", 0),
            errors.InvalidArgumentError,
            "num_buckets must be at least 1",
        ),
    ],
)
def test_what_is_wrong_is_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_strings_are_known_while_a_function_is_traced():
    @tf.function
    def f(x):
        return x * tf.cast(S.length("abc"), tf.float32)

    assert f(tf.constant(2.0)) == 6.0


PIECES = [
    b"",
    b"a",
    b"\0",
    "é".encode(),
    "€".encode(),
    "\U0001f600".encode(),
    b"\xc3",
    b"\xa9",
    b"\xe2\x82",
    b"\xff",
]


@pytest.mark.parametrize(
    "most", [6, 10], ids=["valid", "any"]
)  # the last four are no characters, alone or in a row
def test_bytes_laid_end_to_end_give_what_single_strings_give(most):
    draw = np.random.default_rng(most)
    rows = [b"".join(PIECES[i] for i in draw.integers(0, most, draw.integers(0, 5))) for _ in range(300)]
    array = tf.constant(np.array(rows, object).reshape(30, 10))
    counts = [sum(byte & 0xC0 != 0x80 for byte in row) for row in rows]
    assert S.length(array, unit="UTF8_CHAR").numpy().ravel().tolist() == counts
    assert S.bytes_split(rows).to_list() == [[row[i : i + 1] for i in range(len(row))] for row in rows]
    for function in (S.unicode_decode_with_offsets, S.unicode_split_with_offsets):
        for policy in ("replace", "ignore"):
            one_by_one = function(
                array, "utf8", policy
            )  # another name of the encoding, by which strings are cut alone
            for part, wanted in zip(function(array, "UTF-8", policy), one_by_one, strict=True):
                assert part.to_list() == wanted.to_list()
    parts = S.substr(rows, [min(1, len(row)) for row in rows], 2).numpy().tolist()
    assert parts == [row[1:3] for row in rows]
    assert S.join([rows, "-", rows[::-1]]).numpy().tolist() == [
        a + b"-" + b for a, b in zip(rows, rows[::-1], strict=True)
    ]


def test_numbers_are_read_and_written_as_by_python():
    draw = np.random.default_rng(0)
    numbers = draw.integers(-(2**31), 2**31, 200)
    assert S.to_number(S.as_string(numbers), tf.int32).numpy().tolist() == numbers.tolist()
    floats = draw.standard_normal(200) * 10.0 ** draw.integers(-5, 6, 200)
    assert S.as_string(floats, precision=3).numpy().tolist() == [b"%.3f" % x for x in floats.tolist()]
    for bad, out_type in (("1_0", tf.int32), ("1_0", tf.float32), ("3000000000", tf.int32), ("x", tf.int64)):
        with pytest.raises(errors.InvalidArgumentError, match=f"'{bad}' is no {out_type.name}"):
            S.to_number(["7", bad], out_type)


def test_scripts_of_characters_are_compiled_too():
    codes = S.unicode_decode("aя漢!", "UTF-8")
    found = tf.function(S.unicode_script, jit_compile=True)(codes)
    assert found.dtype == "int32" and found.numpy().tolist() == S.unicode_script(codes).numpy().tolist() == [
        25,
        8,
        17,
        0,
    ]
    with pytest.raises(TypeError, match="takes int32"):
        S.unicode_script([1.5])
