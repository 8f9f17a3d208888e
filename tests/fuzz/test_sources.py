"""Random programs as people write them agree with themselves compiled: values, gradients, variables, and how often
Python is called and draws numbers.

    python -m tests.fuzz.test_sources SEED ...

prints programs, what is wrong with them, and the smallest programs found with the same failure.
"""

from __future__ import annotations

import gc
import os
import sys

import pytest

import gradtape as tf

from .observe import failure, kind, shrink
from .sources import Source, write

jax = pytest.importorskip("jax")

COUNT = int(os.environ.get("GRADTAPE_FUZZ_SOURCES", "500"))  # `make fuzz` sets it
FIRST = int(os.environ.get("GRADTAPE_FUZZ_FIRST", "0"))  # where a run that was stopped goes on
BATCH = 10  # programs a test


@pytest.fixture(autouse=True)
def forget():
    """Free what was compiled: thousands of programs do not fit."""
    yield
    jax.clear_caches()
    gc.collect()


# Each must occur in the programs of `make test`.
FORMS = """
elif
else:
 if n > 2 else
while
break
continue
    return
in xs:
in tf.range(n):
in range(2):
tf.cond(
tf.case(
tf.switch_case(
tf.while_loop(
tf.scan(
tf.map_fn(
tf.foldl(
tf.foldr(
size=n
dynamic_size
element_shape
.unstack(
.stack()
.read(
.gather(
.concat()
.append(
.insert(
.pop(
['m']['k'] =
cell.h =
cell.cache['k'] =
cell.on = not
cell.count += 1
cell.hits =
= cell.step(
= cell.memo(
tf.random.stateless_normal
tf.random.stateless_uniform
gen.normal
gen.uniform
tf.random.normal
tf.random.uniform
tf.nn.dropout
next(
np.random.uniform
random.random
tf.numpy_function
tf.py_function
v.assign(
v.assign_add(
v[1].assign(
v[n - 2].assign(
[-1])[i
@tf.custom_gradient
@tf.recompute_grad
= inner
tf.GradientTape
""".strip("\n").splitlines()


def smallest(source: Source, report: str) -> Source:
    """The program without what the failure does not need."""
    return shrink(source, lambda candidate: kind(failure(tf, candidate)) == kind(report))


def described(source: Source, report: str) -> str:
    small = smallest(source, report)
    options = (
        f"order={small.order} persistent={small.persistent} jacobian={small.jacobian} degree={small.degree}"
    )
    return f"seed {source.seed}, made small ({options}):\n\n{small.text}\n{failure(tf, small)}"


@pytest.mark.parametrize("first", range(FIRST, COUNT, BATCH))
def test_a_program_compiled_does_what_it_does_eagerly(first):
    failures = {}
    for seed in range(first, min(first + BATCH, COUNT)):
        report = failure(tf, write(seed))
        if report:
            failures[seed] = report
    if failures:
        seeds = " ".join(map(str, failures))
        lines = [f"seed {seed}: {report}" for seed, report in failures.items()]
        seed, report = next(iter(failures.items()))
        again = f"To see the programs: python -m tests.fuzz.test_sources {seeds}"
        pytest.fail("\n".join([*lines, again, "", described(write(seed), report)]), pytrace=False)


def test_the_programs_have_all_that_people_use():
    texts = [write(seed).text for seed in range(500)]
    rare = [form for form in FORMS if sum(form in text for text in texts) < 3]
    assert not rare


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        program = write(int(argument))
        wrong = failure(tf, program)
        print(program.text, described(program, wrong) if wrong else "nothing is wrong", sep="\n")
