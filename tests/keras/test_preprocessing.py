"""Preprocessing layers give the numbers they give on TensorFlow: called eagerly, in a model, and in `Dataset.map`."""

import json
from pathlib import Path

import numpy as np
import pytest

from . import preprocessing
from .preprocessing import LAYERS, eagerly, in_a_dataset, in_a_model, is_random, short

ANSWERS = json.loads((Path(__file__).parents[1] / "data" / "keras.json").read_text())["preprocessing"]


def check(found, expected):
    found = short(found)
    assert list(found["shape"]) == expected["shape"]
    assert found["dtype"] == expected["dtype"]
    np.testing.assert_allclose(found["numbers"], expected["numbers"], 1e-4, 1e-4)


@pytest.mark.parametrize("name", LAYERS)
def test_eagerly(name):
    check(eagerly(name), ANSWERS[name]["eagerly"])


@pytest.mark.parametrize("name", LAYERS)
def test_in_a_model(name):
    check(in_a_model(name), ANSWERS[name]["eagerly"])


@pytest.mark.parametrize("name", LAYERS)
def test_in_a_dataset(name):
    batches = in_a_dataset(name)
    assert len(batches) == 2
    if is_random(name):
        for found, expected in zip(batches, ANSWERS[name]["in_a_dataset"], strict=True):
            check(found, expected)
        return
    layer = preprocessing.make(name)
    for found, rows in zip(batches, (slice(4), slice(4, 6)), strict=True):
        np.testing.assert_allclose(found, layer(preprocessing.tf.constant(LAYERS[name][1][rows])), 1e-6)
