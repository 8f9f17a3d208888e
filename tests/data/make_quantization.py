"""Write quantization.json with the real TensorFlow: what each expression below gives.

TensorFlow's own kernels are asked. Those of oneDNN, which it uses where it can, give some integers that differ by one.

python tests/data/make_quantization.py        # in an environment with tensorflow-cpu
"""

import json
import os
from pathlib import Path

import numpy as np

X = [-1.3, -1.0, -0.31, -0.0039, 0.0, 0.0039, 0.25, 0.5, 0.77, 1.0, 2.5]
GRID = [[-3.0, -0.5, 0.1], [0.49, 0.77, 2.6]]
IMAGES = np.random.RandomState(0).randint(0, 256, (2, 4, 5, 2))
FILTERS = np.random.RandomState(1).randint(0, 256, (2, 2, 2, 3))
DTYPES = ("qint8", "quint8", "qint16", "quint16", "qint32")
POOLED = "IMAGES, tf.quint8), -1.0, 2.0, [1, 2, 2, 1], [1, 2, 2, 1]"
SIGNED = "IMAGES - 128, tf.qint8), -1.0, 2.0, [1, 3, 3, 1], [1, 1, 1, 1]"

EXPRESSIONS = [
    # 1.0 in qint32 overflows in TensorFlow, but for MIN_FIRST.
    *[
        f"Q.quantize(X[:-2], -1.0, 1.0, tf.{dtype}, mode={mode!r})"
        for dtype in DTYPES
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED")
    ],
    *[f"Q.quantize(X, -0.5, 2.0, tf.{dtype}, mode='SCALED', narrow_range=True)" for dtype in DTYPES[:4]],
    "Q.quantize(X, -1.0, 1.0, tf.qint8, mode='SCALED', round_mode='HALF_TO_EVEN')",
    "Q.quantize(X, 0.3, 0.4, tf.quint8)",
    "Q.quantize(X, 0.0, 0.0, tf.quint8, ensure_minimum_range=0.5)",
    "Q.quantize(X, -50.0, 100.0, tf.quint8, mode='MIN_FIRST')",
    "Q.quantize(GRID, [-1.0, -2.0], [2.0, 1.0], tf.qint8, mode='SCALED', axis=0)",
    "Q.quantize(GRID, [-1.0, -2.0, 0.0], [2.0, 1.0, 3.0], tf.quint8, axis=1)",
    *[
        f"Q.dequantize(tf.constant([0, 1, 100, 127], tf.{dtype}), -1.0, 3.0, mode={mode!r})"
        for dtype in DTYPES
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED")
    ],
    "Q.dequantize(tf.constant([-128, -127, 0, 127], tf.qint8), -2.0, 1.0, mode='SCALED', narrow_range=True)",
    "Q.dequantize(tf.constant([[1, 2], [3, 4]], tf.qint8), [-1.0, -2.0], [2.0, 1.0], mode='SCALED', axis=0)",
    "tf.cast(Q.dequantize(tf.constant([1, 2], tf.qint8), 0.0, 1.0, dtype=tf.bfloat16), tf.float32)",
    "Q.quantized_concat(0, [tf.constant(c, tf.quint8) for c in ([0, 99, 255], [7])], [0.0, -1.0], [1.0, 3.0])",
    "Q.quantized_concat(0, [tf.constant(c, tf.quint8) for c in ([0, 99], [7])], [0.1, 0.2], [1.0, 0.9])",
    "Q.quantized_concat(0, [tf.constant(c, tf.qint32) for c in ([0, 99], [2**30])], [-1.0, -2.0], [1.0, 1.0])",
    *[
        f"Q.quantize_and_dequantize{version}(GRID, -1.0, 2.0, {options})"
        for version in ("", "_v2")
        for options in (
            "num_bits=8",
            "signed_input=False",
            "num_bits=4",
            "range_given=True",
            "range_given=True, narrow_range=True, num_bits=3",
            "round_mode='HALF_UP', num_bits=3",
            "axis=1, num_bits=4",
        )
    ],
    "gradients(lambda x, a, b: Q.quantize_and_dequantize(x, a, b, range_given=True))",
    "gradients(lambda x, a, b: Q.quantize_and_dequantize_v2(x, a, b, range_given=True))",
    "gradients(lambda x, a, b: Q.quantize_and_dequantize_v2(x, a, b))",
    *[
        f"N.quantized_{kind}_pool(tf.cast({given}, {padding!r})"
        for kind in ("avg", "max")
        for given in (POOLED, SIGNED)
        for padding in ("VALID", "SAME")
    ],
    *[
        "N.quantized_conv2d(tf.cast(IMAGES, tf.quint8), tf.cast(FILTERS, tf.quint8), "
        f"{ranges}, [1, {step}, {step}, 1], {padding!r})"
        for padding in ("VALID", "SAME")
        for ranges, step in (
            ("-1.0, 2.0, -0.5, 1.5", 1),
            ("0.0, 255.0, 0.0, 255.0", 2),
            ("-3.0, 0.1, 0.2, 0.7", 1),
        )
    ],
    "tf.cast([1.7, -1.7, 100.0], tf.qint8)",
    "tf.cast(tf.constant([200], tf.quint8), tf.qint8)",
    "tf.bitcast(tf.constant([-1, 5], tf.int8), tf.quint8)",
    "tf.bitcast(tf.constant([-1, 5], tf.qint8), tf.uint8)",
    "tf.constant([300, -1], tf.quint8)",
    "tf.concat([tf.constant([1], tf.qint8), tf.zeros([2], tf.qint8)], 0)[1:]",
    "tf.equal(tf.constant([1, 2], tf.qint32), tf.constant([1, 3], tf.qint32))",
    "tf.gather(tf.pad(tf.constant([1, 2], tf.qint8), [[1, 1]]), [2, 0])",
]


def value(tf, expression):
    """What an expression gives, as JSON can say it: for each tensor its dtype and its numbers."""

    def gradients(function):
        sources = [tf.constant(GRID), tf.constant(-1.0), tf.constant(2.0)]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            result = function(*sources) * [[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]
        return tape.gradient(result, sources)

    names = {"tf": tf, "Q": tf.quantization, "N": tf.compat.v1.nn, "gradients": gradients}
    found = eval(expression, globals() | names)
    tensors = found if isinstance(found, (list, tuple)) else [found]
    return [None if t is None else [t.dtype.name, np.asarray(t.numpy()).tolist()] for t in tensors]


if __name__ == "__main__":
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    import tensorflow

    results = {expression: value(tensorflow, expression) for expression in EXPRESSIONS}
    lines = [f"{json.dumps(expression)}: {json.dumps(result)}" for expression, result in results.items()]
    Path(__file__).with_name("quantization.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
