"""Every primitive has samples, and is right at each of them."""

import subprocess
import sys

import pytest

import gradtape as tf
from gradtape.core.primitive import Primitive

from . import checks
from .derivatives import flat
from .samples import SAMPLES

PRIMITIVES = [name for name in SAMPLES if name in Primitive.registry]
RULES = [name for name in PRIMITIVES if Primitive.registry[name].rule]

# Every public name is looked at, in case some family is only imported then.
LIST_PRIMITIVES = """
import types, gradtape
for name in dir(gradtape):
    value = getattr(gradtape, name)
    if isinstance(value, types.ModuleType):
        [getattr(value, inner) for inner in dir(value)]
print(*gradtape.core.primitive.Primitive.registry)
"""


def test_the_primitives_are_those_that_have_samples():
    # Asked of a fresh interpreter: tests may define primitives of their own.
    listing = subprocess.run(
        [sys.executable, "-c", LIST_PRIMITIVES], capture_output=True, text=True, check=True
    )
    primitives = set(listing.stdout.split())
    assert sorted(primitives - SAMPLES.keys()) == [], (
        "primitives without an entry in samples.py or samples_*.py"
    )
    assert sorted(SAMPLES.keys() - primitives) == [], "entries for primitives that do not exist"


@pytest.mark.parametrize("name", PRIMITIVES)
def test_samples_reach_every_rule(name):
    assert SAMPLES[name]
    primitive = Primitive.registry[name]
    for i, x in enumerate(primitive.inputs):
        if x in primitive.rule:
            assert any(i in s.moving and s.inputs[i].size and flat(s.outputs).size for s in SAMPLES[name]), x


# One test a primitive: what JAX computes for it takes the time, and all checks share it.
@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_check_holds_at_every_sample(name, subtests):
    for check in checks.ALL if name in RULES else [checks.value]:
        with subtests.test(check.__name__):
            check(SAMPLES[name])


@pytest.mark.parametrize("name", [name for name in PRIMITIVES if name not in RULES])
def test_without_rules_there_is_no_gradient(name):
    for sample in SAMPLES[name]:
        tensors, _ = sample.tensors()
        floating = [x for x in tensors if x.dtype.is_floating or x.dtype.is_complex]
        with tf.GradientTape() as tape, tf.autodiff.ForwardAccumulator(floating, floating) as forward:
            tape.watch(floating)
            outputs = [o for o in sample.call(tensors) if o.dtype.is_floating]
        assert forward.jvp(outputs) == [None] * len(outputs), sample
        assert tape.gradient(outputs, floating) == [None] * len(floating), sample
