"""What all tests share: JAX, our oracle, compiles without optimizing, which is most of the time it takes here."""

import gc
import os

import hypothesis
import pytest

# How long an example takes says nothing on a machine that does other things as well.
hypothesis.settings.register_profile("gradtape", deadline=None)
hypothesis.settings.load_profile("gradtape")

# What makes the files in tests/data needs other libraries; the program in tests/typing is for type checkers;
# own_tests.py runs Keras's tests; the programs in distribute/ are for several processes.
collect_ignore = ["data", "typing", "keras/own_tests.py", "distribute/programs"]
if "GRADTAPE_DEVICES" not in os.environ:  # run in a process of their own, by distribute/test_eight_devices.py
    collect_ignore.append("distribute/eight_devices")

os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
)


# Functions are compiled in their first call, so that tests are of compiled code. `make test-first-calls` runs them on
# NumPy, which computes the first calls of users.
os.environ.setdefault("GRADTAPE_COMPILE", "at_once")


@pytest.fixture(autouse=True, scope="module")
def older_objects_set_aside():
    """What other tests have left, up to two million objects, is not searched at each garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def warnings_anew():
    """What is logged once in a process is logged once in a test."""
    from gradtape.core.tape_ends import warn_once

    warn_once.cache_clear()


@pytest.fixture(autouse=True)
def nobody_is_left_listening():
    """A test that leaves a tape, what observes all operations, or hot tapes on, would change those after it."""
    from gradtape.core.observers import observers
    from gradtape.core.primitive import local
    from gradtape.core.tape import when_entered

    before = [*when_entered]
    yield
    assert local.here.tapes == [] and not observers and when_entered == before
    assert local.here.trace is None and not local.here.is_inside


@pytest.fixture
def compiled_code():
    """A test of compilations, or of what compiled programs write in place."""
    if os.environ["GRADTAPE_COMPILE"] == "never":
        pytest.skip("NumPy computes all calls")


@pytest.fixture
def cold():
    """Hot tapes are off, for a test that counts traces or compilations: a pass's program contains its functions."""
    from gradtape.hot import places

    before = places.is_on()
    places.switch(False)
    yield
    places.switch(before)
