"""Random programs with hot tapes give what they give without.

    GRADTAPE_FUZZ_HOT=2000 pytest tests/hot/test_random_programs.py

runs more of them. Most run the replay of a trace operation by operation in place of a compiled program, which shows the
same mistakes of following in a hundredth of the time, and rounds as without hot tapes.
"""

import os
import random

import numpy as np
import pytest

from gradtape.compiled.buffers import on_device
from gradtape.core.primitive import local
from gradtape.core.tensor import wrap
from gradtape.hot import gains, pending_values, places
from gradtape.hot.pass_replay import Replay
from gradtape.hot.programs import PassProgram, outside_of_passes

from . import programs

COUNT = int(os.environ.get("GRADTAPE_FUZZ_HOT", "120"))
BATCH = 20
COMPILED = max(6, COUNT // 20)
PASSES = 10


class ReplayedProgram(PassProgram):
    """Takes the place of a compiled program."""

    on_device = staticmethod(on_device)

    def __init__(self, trace, end, outputs, variables, inputs):
        super().__init__(trace, end, outputs)
        self.trace, self.end = trace, end

    def __call__(self, arrays):
        variables = {slot: self.trace.variables[slot]() for slot, is_variable in self.inputs if is_variable}
        held = {slot: v._tensor for slot, v in variables.items()}
        try:
            with outside_of_passes():
                inputs = {slot: wrap(np.asarray(a)) for slot, a in zip(self.slots, arrays, strict=True)}
                replay = Replay(self.trace, variables, inputs)
                replay.run(self.end)
                return [np.array(replay.tensors[slot]._array) for slot in self.outputs]
        finally:
            for slot, v in variables.items():
                v._tensor = held[slot]


@pytest.fixture
def replays(monkeypatch):
    monkeypatch.setattr(pending_values, "_compiled_program", lambda: ReplayedProgram)


def check(hot, seed, passes=PASSES):
    places.places.clear()
    statements = programs.draw(seed)
    cold = programs.run(statements, passes)
    hot()
    warm = programs.run(statements, passes)
    hot(False)
    assert local.here.tapes == []
    assert len(warm) == len(cold), f"seed {seed}"
    for got, wanted in zip(warm, cold, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-3, atol=2e-4, err_msg=f"seed {seed}")
    return hot.counts["followed"]


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
@pytest.mark.usefixtures("replays")
def test_a_random_program_replayed(hot, first):
    assert sum(check(hot, seed) for seed in range(first, first + BATCH)) > BATCH


@pytest.mark.parametrize("first", range(20_000, 20_000 + COUNT, BATCH))
@pytest.mark.usefixtures("replays")
def test_a_random_program_by_numpy(hot, first):
    hot.by_numpy()
    assert sum(check(hot, seed) for seed in range(first, first + BATCH)) > BATCH // 2


@pytest.mark.parametrize("first", range(40_000, 40_000 + COUNT, BATCH))
@pytest.mark.usefixtures("replays")
def test_a_random_program_by_numpy_and_then_replayed(hot, monkeypatch, first):
    hot.by_numpy()
    as_ever = places.policy.compile_from
    monkeypatch.setattr(places.policy, "compile_from", lambda trace: min(as_ever(trace), PASSES // 2))
    assert sum(check(hot, seed) for seed in range(first, first + BATCH)) > BATCH // 2


@pytest.mark.parametrize("first", range(60_000, 60_000 + COUNT, BATCH))
@pytest.mark.usefixtures("replays")
def test_a_random_program_under_a_random_policy(hot, monkeypatch, first):
    """Places are left alone, rest, are learned again and change from one kind of programs to the other at any time."""
    monkeypatch.setattr(places, "SAMPLE", 4)
    for seed in range(first, first + BATCH):
        rng = random.Random(seed)
        monkeypatch.setattr(places, "policy", places.Policy())
        monkeypatch.setattr(places, "_door", places._Door())
        monkeypatch.setattr(places, "MOST_TROUBLE", rng.choice([4, 8, 32]))
        policy = places.policy
        policy.learn_from, policy.equal, policy.patience = (
            rng.randint(1, 3),
            rng.randint(1, 2),
            rng.randint(1, 2),
        )
        policy.sure, policy.least, policy.least_saved = rng.choice([1, 1, 3]), rng.randint(0, 4), 0.0
        policy.most = rng.randint(4, 20)
        least, most = rng.choice([-1.0, -20.0, -100.0]), rng.choice([5.0, 20.0, 100.0])

        def saved(trace, by_numpy, runs=1.0, renewed=0.0, rng=rng, least=least, most=most):
            return rng.uniform(least, most)

        def cost(trace, rng=rng):
            return rng.uniform(0.0, 200.0)

        monkeypatch.setattr(gains, "saved", saved)
        monkeypatch.setattr(gains, "to_generate", cost)
        monkeypatch.setattr(gains, "to_compile", cost)
        check(hot, seed, passes=3 * PASSES)


@pytest.mark.parametrize("seed", range(10_000, 10_000 + COMPILED))
def test_a_random_program_compiled(hot, seed):
    check(hot, seed)
