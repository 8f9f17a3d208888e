"""The memory of large compiled programs, which malloc keeps from call to call."""

import os
import platform
import resource
import subprocess
import sys

import pytest


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc's settings are glibc's")
@pytest.mark.parametrize(("environment", "kept"), [({}, True), ({"MALLOC_PERTURB_": "0"}, False)])
def test_a_large_program_keeps_its_memory_from_call_to_call(environment, kept):
    """Counted in pages that the system hands out during a call. Settings in the environment are left alone."""
    code = """
import resource, gradtape as tf
w = tf.Variable(tf.ones([64, 64]) / 100)
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        y = x
        for _ in range(4):
            y = tf.tanh(y @ w)
        loss = tf.reduce_sum(y)
    return tape.gradient(loss, w)
x = tf.ones([1 << 15, 64])
calls = []
for _ in range(30):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    step(x).numpy()
    calls.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(*calls)
"""
    plain = {n: v for n, v in os.environ.items() if not n.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=plain | environment, capture_output=True, text=True, check=True
    )
    array = (1 << 15) * 64 * 4 // resource.getpagesize()  # pages of one intermediate value
    # The heap grows in the first calls: one may begin before another thread has freed the block of the call before.
    new = sum(int(pages) > array for pages in done.stdout.split())
    assert (new < 15) if kept else (new > 25), done.stdout
