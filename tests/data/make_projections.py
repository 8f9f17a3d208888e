"""Write projections.npz: images transformed by TensorFlow, for tests/test_raw_ops.py. Run with TensorFlow installed."""

import itertools
from pathlib import Path

import numpy as np
import tensorflow as tf

FILL_MODES = ["CONSTANT", "REFLECT", "WRAP", "NEAREST"]
rng = np.random.default_rng(0)
arrays = {}
for number, (mode, method, dtype, shared) in enumerate(
    itertools.product(
        FILL_MODES, ["NEAREST", "BILINEAR"], ["uint8", "int64", "float32", "float16"], [True, False]
    )
):
    batch, height, width, channels = 3, *rng.integers(1, 8, 2), 2
    images = (rng.normal(size=(batch, height, width, channels)) * 50 + 128).astype("float32").astype(dtype)
    spread = rng.normal(size=(1 if shared else batch, 8)) * [1, 1, 5, 1, 1, 5, 0.05, 0.05]
    transforms = (np.array([1, 0, 0, 0, 1, 0, 0, 0]) + spread).astype("float32")
    if number % 5 == 0:
        transforms[0] = [0.5, 0, -2.5, 0, 0.5, 1.5, 0, -0.5]  # halves, and a row where the scale is 0
    size = rng.integers(1, 8, 2)
    out = tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=transforms,
        output_shape=size,
        fill_value=7.0,
        interpolation=method,
        fill_mode=mode,
    )
    for name, value in (("images", images), ("transforms", transforms), ("size", size), ("out", out.numpy())):
        arrays[f"{mode}/{method}/{number}/{name}"] = value
np.savez_compressed(Path(__file__).with_name("projections.npz"), **arrays)
