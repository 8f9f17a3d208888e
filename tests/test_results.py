"""Values and gradients of many expressions, eager and compiled: those of TensorFlow."""

import json
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf

from .data.make_results import GROUPS, outcome

EXPECTED = json.loads((Path(__file__).parent / "data" / "results.json").read_text())
CASES = [(group, text) for group in EXPECTED for text in EXPECTED[group]]


def check(found, expected, what):
    kind, shape, elements = found
    assert (kind, shape) == tuple(expected[:2]), what
    if kind in ("string", "bool") or "int" in kind:
        assert elements == expected[2], what
    else:
        # Losses and resizing of compat.v1 compute in float32.
        single = kind in ("float32", "complex64") or "v1.losses" in what or "v1.image" in what
        close = 1e-5 if single else 1e-2 if "16" in kind else 1e-9
        np.testing.assert_allclose(elements, expected[2], close, close, err_msg=what)


# What TensorFlow's functions refuse, as NumPy gives it.
NUMPY = """
around(x, 1); round(x * 1.37, 2); around(i, 1); cumsum(b); rad2deg(i); isneginf([1.0, -np.inf]); isposinf([np.inf, 1.0])
linspace([0, 1], [2, 3], 3); var(x, axis=1, ddof=1); take(x, [-1], mode="raise"); geomspace([1.0, 2.0], [16.0, 32.0], 3)
"""


@pytest.mark.parametrize(
    "text", [part.strip() for part in NUMPY.replace("\n", ";").split(";") if part.strip()]
)
def test_results_are_those_of_numpy(text):
    scope = {
        "np": np,
        "x": np.array([[0.5, -1.25], [1.5, 0.75]]),
        "i": np.array([3, 1]),
        "b": np.array([True, False]),
    }
    found, expected = eval(f"tf.experimental.numpy.{text}", {"tf": tf, **scope}), eval(f"np.{text}", scope)
    assert found.dtype.name == expected.dtype.name
    np.testing.assert_allclose(found, expected, 1e-12)


def test_every_expression_has_a_result():
    for group in GROUPS:
        assert set(EXPECTED[group]) == set(GROUPS[group])


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize(("group", "text"), CASES, ids=[f"{group}: {text}" for group, text in CASES])
def test_results_are_those_of_tensorflow(group, text, compiled):
    found, expected = outcome(tf, text, compiled), EXPECTED[group][text]
    assert len(found["values"]) == len(expected["values"])
    for value, wanted in zip(found["values"], expected["values"]):
        check(value, wanted, text)
    for name, wanted in expected["gradients"].items():
        slope = found["gradients"][name]
        if wanted is None or slope is None:
            assert not any((wanted or slope or [0, 0, [0]])[2]), (
                f"{text}: the gradient of {name} is {slope}, not {wanted}"
            )
        else:
            check(slope, wanted, f"{text}, gradient of {name}")
