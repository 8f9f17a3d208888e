"""Programs as users write them give the numbers they give under TensorFlow, eagerly and compiled."""

import pytest

import gradtape as tf

from .answers import disagreements, find_programs, load, modes_of, run

pytest.importorskip("jax")

PROGRAMS = find_programs()
REFERENCES = load()

# Programs whose results magnify rounding: the largest relative error allowed instead, and the reason.
LOOSER = {}

# Programs that disagree with TensorFlow today, by name, or by name and mode.
KNOWN = {}


def cases():
    for name, program in PROGRAMS.items():
        only = REFERENCES.get(name, {}).get("only")
        for mode in modes_of(program):
            if only in (None, mode):
                reason = KNOWN.get(name) or KNOWN.get((name, mode))
                marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
                yield pytest.param(name, mode, id=f"{name}-{mode.replace(' ', '_')}", marks=marks)


def test_every_program_has_its_numbers_and_all_numbers_their_program():
    assert PROGRAMS.keys() == REFERENCES.keys()


@pytest.mark.parametrize(("name", "mode"), list(cases()))
def test_gives_the_numbers_of_tensorflow(name, mode):
    relative, _ = LOOSER.get(name, (None, None))
    actual = run(PROGRAMS[name], tf, mode)
    assert not disagreements(actual, REFERENCES[name]["result"], relative), f"{name}, {mode}"
