"""Programs as users write them give the numbers they give under TensorFlow, eagerly and compiled."""

import pytest

import gradtape as tf

from .answers import disagreements, find_programs, load, modes_of, run

pytest.importorskip("jax")

PROGRAMS = find_programs()
REFERENCES = load()

# Programs that answer something else on purpose, and why: see docs/differences.md.
OURS = {
    ("losses_metrics.labels_that_do_not_sum_to_one", mode): "the gradient is that of what was computed"
    for mode in ("eager", "compiled")
}


CASES = [
    (name, mode)
    for name, program in PROGRAMS.items()
    for mode in modes_of(program)
    if REFERENCES.get(name, {}).get("only", mode) == mode
]


def param(name, mode):
    reason = OURS.get((name, mode))
    marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
    return pytest.param(name, mode, id=f"{name}-{mode.replace(' ', '_')}", marks=marks)


def test_every_program_has_its_numbers_and_all_numbers_their_program():
    assert PROGRAMS.keys() == REFERENCES.keys()
    assert OURS.keys() <= set(CASES)


@pytest.mark.parametrize(
    "other",
    [
        {"a": {"float32": [1.0, 2.0001]}, "b": None},
        {"a": {"float32": [1.0]}, "b": None},
        {"a": {"float64": [1.0, 2.0]}, "b": None},
        {"a": {"float32": [1.0, 2.0]}, "b": {"float32": 0.0}},
        {"a": {"float32": [1.0, float("nan")]}, "b": None},
        {"a": {"slices": {"float32": [1.0, 2.0]}}, "b": None},
        {"a": {"float32": [1.0, 2.0]}},
        [{"float32": [1.0, 2.0]}, None],
    ],
)
def test_a_difference_is_seen(other):
    result = {"a": {"float32": [1.0, 2.0]}, "b": None}
    assert not disagreements(result, result)
    assert disagreements(other, result)
    assert disagreements(result, other)


@pytest.mark.parametrize(("name", "mode"), [param(*case) for case in CASES])
def test_gives_the_numbers_of_tensorflow(name, mode):
    actual = run(PROGRAMS[name], tf, mode)
    assert not disagreements(actual, REFERENCES[name]["result"]), f"{name}, {mode}"
