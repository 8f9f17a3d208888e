"""Observers are told of what happens to tensors, variables and tapes, in every thread, until they are taken off."""

import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.observers import Observer, observers
from gradtape.core.tensor_conversion import observe, unobserve


class Notes(Observer):
    """Notes the events with those arguments that are text."""

    def __init__(self):
        self.events = []

    def __getattribute__(self, name):
        if not name.startswith("_on_"):
            return super().__getattribute__(name)
        return lambda *args: self.events.append((name, *[a for a in args if isinstance(a, (str, bool))]))

    def of(self, *names):
        return [event for event in self.events if event[0] in names]


@pytest.fixture
def notes():
    notes = Notes()
    observe(notes)
    yield notes
    unobserve(notes)
    assert observers == []


x, whole, vector = tf.constant(2.0), tf.constant(2), tf.constant([1.0, 2.0])


@pytest.mark.parametrize(
    ("export", "how"),
    [
        (lambda: x.numpy(), ".numpy()"),
        (lambda: tf.Variable(2.0).numpy(), ".numpy()"),
        (lambda: float(x), "float()"),
        (lambda: int(whole), "int()"),
        (lambda: complex(x), "complex()"),
        (lambda: np.sum(vector), "NumPy"),
        (lambda: np.from_dlpack(vector), "DLPack"),
    ],
)
def test_values_that_leave(notes, export, how):
    export()
    assert ("_on_export", how) in notes.events


def test_conditions(notes):
    assert x > 1.0
    assert [event[1] for event in notes.of("_on_export")] == ["bool()"]


def test_text_is_no_departure(notes):
    assert f"{x:.1f} {x}" == "2.0 2.0"
    repr(vector), str(vector)
    assert notes.of("_on_export") == []


@pytest.mark.parametrize("value", [0.25, [1.0, 2.0], np.ones(2), range(3)], ids=str)
def test_values_that_come_in_even_again(notes, value):
    for _ in range(2):
        tf.convert_to_tensor(value)
    assert len(notes.of("_on_import")) == 2


def test_assignments(notes):
    v = tf.Variable([1.0, 2.0])
    v.assign(vector)
    v.assign_add(vector)
    v[0].assign_sub(1.0)
    methods = ["tf.Variable(...)", "assign", "assign_add", "assign_sub"]
    assert [event[1] for event in notes.of("_on_assign")] == methods


def test_the_life_of_a_tape(notes):
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            pass
        tape.reset()
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    assert [event for event in notes.events if event[0] != "_on_import"] == [
        ("_on_start", False),
        ("_on_watch",),
        ("_on_stop", True),
        ("_on_start", True),
        ("_on_reset",),
        ("_on_watch",),
        ("_on_stop", False),
        ("_on_gradients",),
    ]


@pytest.mark.parametrize(
    "ask",
    [
        lambda tape, y: tape.gradient(3.0, x),
        lambda tape, y: tape.gradient(y, 3.0),
        lambda tape, y: tape.jacobian(3.0, x),
        lambda tape, y: tape.batch_jacobian(y, 3.0),
    ],
)
def test_what_a_tape_refuses(notes, ask):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(TypeError):
        ask(tape, y)
    assert notes.of("_on_refusal", "_on_gradients") == [("_on_refusal",)]


def test_other_threads(notes):
    thread = threading.Thread(target=lambda: float(x))
    thread.start()
    thread.join()
    assert notes.of("_on_export") == [("_on_export", "float()")]
