"""Same seeds, same weights, same losses as Keras on TensorFlow; tests/data/make_keras.py made those numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from . import networks

ANSWERS = json.loads((Path(__file__).parents[1] / "data" / "keras.json").read_text())


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_seeded_weights_are_those_on_tensorflow(name):
    expected = ANSWERS["courses"][name]["weights"]
    for variable, numbers in zip(networks.network(name).variables, expected, strict=True):
        np.testing.assert_allclose(variable.numpy().ravel()[:4], numbers, 1e-6, err_msg=variable.path)


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", networks.NETWORKS)
def test_losses_are_those_on_tensorflow(name, eager, caplog):
    expected = ANSWERS["courses"][name]
    model, history = networks.trained(name, run_eagerly=eager)
    assert history.keys() == expected["history"].keys()
    for what, values in expected["history"].items():
        np.testing.assert_allclose(history[what], values, 1e-4, err_msg=what)
    predicted = model.predict(networks.data(name)[0][:3], verbose=0)
    np.testing.assert_allclose(predicted, expected["predicted"], 1e-4, 1e-6)
    if name != "textual":  # strings live in eager code
        assert "operation by operation" not in caplog.text
