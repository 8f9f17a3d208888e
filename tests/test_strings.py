"""tf.strings gives what TensorFlow gives (data/make_strings.py), and refuses what is wrong."""

import json
from pathlib import Path

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
