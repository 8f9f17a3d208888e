"""Random programs with hot tapes give what they give without.

    GRADTAPE_FUZZ_HOT=2000 pytest tests/hot/test_random_programs.py

runs more of them. Most run the replay of a trace operation by operation in place of a compiled program, which shows the
same mistakes of following in a hundredth of the time, and rounds as without hot tapes.
"""

import os

import numpy as np
import pytest

from gradtape.compiled.buffers import on_device
from gradtape.core.primitive import local
from gradtape.core.tensor import wrap
from gradtape.hot import pending_values, places
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


def check(hot, seed):
    places.places.clear()
    statements = programs.draw(seed)
    cold = programs.run(statements, PASSES)
    hot()
    warm = programs.run(statements, PASSES)
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


@pytest.mark.parametrize("seed", range(10_000, 10_000 + COMPILED))
def test_a_random_program_compiled(hot, seed):
    check(hot, seed)
