"""Write strings.json with the real TensorFlow: what each expression below gives.

python tests/data/make_strings.py        # in an environment with tensorflow-cpu
"""

import json
from pathlib import Path

import numpy as np

# Strings of every length up to 130, and longer ones, for the hashes.
RAW = [
    bytes(np.random.default_rng(n).integers(0, 256, n).astype(np.uint8))
    for n in [*range(130), 200, 300, 1000]
]
FLOATS = "[3.14159, -1e10, 0.0, float('inf')]"

EXPRESSIONS = [
    "S.to_hash_bucket(RAW, 2**63 - 1)",
    "S.to_hash_bucket_fast(RAW, 2**63 - 1)",
    "S.to_hash_bucket_strong(RAW, 2**63 - 1, [123, 2**60 + 7])",
    "S.to_hash_bucket_fast([['a', 'bb']], 10)",
    "S.lower('ÀBC')",
    "S.lower('ÀBC', encoding='utf-8')",
    "S.upper('àßc', encoding='utf-8')",
    r"S.strip([' a\t\n', ' \x0b b'])",
    "S.length(['aé€', ''])",
    "S.length(['aé€', ''], unit='UTF8_CHAR')",
    "S.substr('hello', 1, 3)",
    "S.substr('hello', -3, 2)",
    "S.substr('hello', 5, 1)",
    "S.substr('hello', 0, -1)",
    "S.substr('aé€b', 1, 2, unit='UTF8_CHAR')",
    "S.substr(['abc', 'de'], [1, 0], [1, 5])",
    "S.join([['a', 'b'], 'c', ['d', 'e']], '-')",
    "S.reduce_join([['a', 'b'], ['c', 'd']])",
    "S.reduce_join([['a', 'b'], ['c', 'd']], [0, 1], separator='.')",
    "S.reduce_join([['a', 'b'], ['c', 'd']], [1, 0])",
    "S.reduce_join([['a', 'b'], ['c', 'd']], 0, keepdims=True)",
    "S.reduce_join('a')",
    "S.unsorted_segment_join(['a', 'b', 'c', 'd'], [1, 0, 1, 3], 4, ':')",
    "S.regex_replace('a1b22', '[0-9]+', '#')",
    "S.regex_replace('a1b22', '[0-9]+', '#', replace_global=False)",
    r"S.regex_replace('foo bar', r'(\w+) (\w+)', r'\2 \1')",
    "S.regex_replace('abc', 'b*', '-')",
    "S.regex_replace('x.y', '[[:punct:]]', '')",
    r"S.regex_replace('a\\b', r'\\', '/')",
    r"S.regex_replace('aaa', 'a', '\\\\')",
    r"S.regex_replace('ab', '(a)|(b)', r'[\1\2]')",
    "S.regex_replace('éa', '.', 'x')",
    "S.regex_replace('Hello World', '(?i)hello', 'bye')",
    r"S.regex_replace('ab\ncd', '(?m)^c', 'X')",
    r"S.regex_full_match(['ab', 'abc', 'a\n'], 'a.')",
    "S.unicode_script([[97, 0x44F, 33, 0x4E00], [-5, 0x110000, 0x10FFFF, 0xD800]])",
    "S.unicode_script(7)",
    "S.unicode_script(tf.ragged.constant([[97], [98, 0x378]])).flat_values",
    "S.to_number(['1.5', '-2'])",
    "S.to_number(' 7 ', tf.int32)",
    "S.to_number('+3', tf.int64)",
    "S.to_number('inf')",
    *[f"S.as_string({FLOATS}{options})" for options in (
        "", ", precision=2", ", scientific=True", ", shortest=True", ", precision=3, shortest=True", ", width=12",
        ", width=12, fill='0'",
    )],
    "S.as_string([1, -2])",
    "S.as_string([1, -2], width=5, fill='0')",
    "S.as_string([True, False])",
    "S.as_string([1 + 2j])",
    "S.format('a {} b {}', (tf.constant([1, 2, 3, 4, 5, 6, 7, 8]), tf.constant(2.5)))",
    "S.format('{}', tf.constant([['x', 'y']]))",
    "S.format('<> <>', [tf.constant(1), tf.constant(2)], placeholder='<>')",
    "S.unicode_transcode('é', 'UTF-8', 'UTF-16-BE')",
    r"S.unicode_transcode(b'a\xffb', 'UTF-8', 'UTF-8')",
    r"S.unicode_transcode(b'a\xffb', 'UTF-8', 'UTF-8', 'ignore')",
    r"S.unicode_transcode(b'a\xffb', 'UTF-8', 'UTF-8', 'replace', ord('?'))",
    r"S.unicode_transcode('a\x01b\n', 'UTF-8', 'UTF-8', 'replace', 65533, True)",
    r"S.unicode_transcode(b'\xe9', 'latin-1', 'UTF-8')",
]  # fmt: skip


def value(tf, expression):
    """What an expression gives, as JSON can say it: bytes as text of one character a byte."""
    tensor = eval(expression, {"tf": tf, "S": tf.strings, "RAW": RAW})
    return plain(np.asarray(tensor.numpy()).tolist())


def plain(x):
    """Lists of bytes as lists of text."""
    if isinstance(x, list):
        return [plain(element) for element in x]
    return x.decode("latin-1") if isinstance(x, bytes) else x


if __name__ == "__main__":
    import tensorflow

    found = {expression: value(tensorflow, expression) for expression in EXPRESSIONS}
    Path(__file__).with_name("strings.json").write_text(json.dumps(found, indent=1) + "\n")
