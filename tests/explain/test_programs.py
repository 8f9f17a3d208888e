"""Each posted program is explained correctly, with the exact hint and line."""

import inspect

import pytest

import gradtape as tf
from gradtape.explain import session

from .programs import PROGRAMS


def cut_line(program):
    """Where the program says that its path is cut."""
    lines, first = inspect.getsourcelines(program)
    marked = [first + i for i, line in enumerate(lines) if line.endswith("# cut\n")]
    return f"programs.py:{marked[0]}" if marked else None


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_explained(name):
    program, reason, hint, _, certain = PROGRAMS[name]
    with tf.debugging.trace_origins():
        tape, target, source, report = program()
    assert (report.reason, report.hint, report.certain) == (reason, hint, certain)
    line = cut_line(program)
    assert (report.where or "").endswith(line or "")
    assert bool(report.where) == bool(line)
    if tape._state != "used":
        assert (tape.gradient(target, source) is not None) == reason.is_connected


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_origins_the_tape_alone_tells_what_it_can(name):
    program, reason, hint, plain, certain = PROGRAMS[name]
    _, _, _, report = program()
    assert report.reason is plain
    assert report.where is None
    if report.reason is reason and certain and report.certain and "cast to" not in hint:
        assert report.hint == hint
    # What the tape alone knows is not always all: then it says so.
    if not report.certain:
        assert "probably" in str(report)


@pytest.mark.parametrize(
    "name", [name for name, (_, reason, *_) in PROGRAMS.items() if not reason.is_connected]
)
def test_a_session_explains_the_gradient_that_was_none(name):
    program, reason, *_ = PROGRAMS[name]
    with session(explain=True) as observed:
        tape, target, source, _ = program()
        if tape._state != "used":
            assert tape.gradient(target, source) is None
    *_, answer = observed.report().json["explain"]
    assert answer["reports"][0]["reason"] == reason.name


def test_there_are_enough_of_them():
    assert len(PROGRAMS) >= 30
