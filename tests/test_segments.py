"""Functions that cannot be compiled as a whole: their segments are where that pays, and give what they give eagerly."""

import os
import threading
import tracemalloc

import numpy as np
import pytest

import gradtape as tf

pytest.importorskip("jax")

from gradtape.compiled import known_segments, open_segments, segments
from gradtape.compiled.segments import Segments
from gradtape.core.primitive import local

from .hot import programs

COUNT = int(os.environ.get("GRADTAPE_FUZZ_SEGMENTS", "8"))  # random programs
FIRST = int(os.environ.get("GRADTAPE_FUZZ_FIRST", "0"))


@pytest.fixture
def always(monkeypatch):
    """Compile each segment when it comes the second time, whether that pays or not."""
    monkeypatch.setattr(known_segments, "COMPILE", 0)
    monkeypatch.setattr(known_segments, "_LEAST", 1)
    monkeypatch.setattr(known_segments, "_OPERATION", 1000.0)
    monkeypatch.setattr(segments, "_SAMPLED", 10**9)


class InSegments(programs.Run):
    """A random program whose passes are calls of one function."""

    def passes(self, count):
        self.segments = Segments("a program")
        for self.step in range(count):
            self.pool = [
                tf.constant([0.3, -0.2, 0.1]),
                tf.constant([0.1, 0.2, 0.3]) * (1.0 + 0.1 * self.step),
            ]
            self.segments.run(self.block, (self.statements,), {})
        self.show_state()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_a_random_program_in_segments(always, cold, seed):
    statements = programs.draw(seed)
    wanted = programs.run(statements, 5)
    program = InSegments(statements)
    program.passes(5)
    assert local.here.tapes == [] and local.here.hot is None
    failures = [s.failure for s in program.segments.segments.values() if s.failure is not None]
    assert not failures
    assert len(program.shown) == len(wanted)
    for got, each in zip(program.shown, wanted, strict=True):
        np.testing.assert_allclose(got, each, rtol=2e-3, atol=2e-4, err_msg=f"seed {seed}")


# -- what XLA cannot compile, between what it can ----------------------------------------------------------------------


def head(x):
    return tf.tanh(x * 1.5) + tf.sin(x) * x


def tail(y):
    return tf.reduce_sum(tf.exp(-y * y) * tf.cos(y))


def partitioned(x):
    first, second = tf.dynamic_partition(head(x), tf.cast(x > 0.1, tf.int32), 2)
    return tail(first) - tail(second) * 2.0


def suppressed(x):
    y = head(x)
    boxes = tf.stack([y, y, y + 1.0, y + 1.5], axis=1)
    return tail(tf.gather(y, tf.image.non_max_suppression(boxes, tf.abs(y), 4, 0.4)))


def by_text(x):
    y = head(x)
    names = tf.strings.join([tf.as_string(tf.cast(y * 10.0, tf.int32)), tf.constant("a")])
    return tail(y) * tf.cast(tf.reduce_sum(tf.strings.length(names)), tf.float32)


def count(x):
    return tf.reduce_sum(tf.cast(x > 0.0, tf.int32))


# Each takes a vector whose values decide a shape.
PROGRAMS = {
    "boolean_mask": lambda x: tail(tf.boolean_mask(head(x), x > 0.0)),
    "where": lambda x: tail(tf.gather_nd(head(x), tf.where(head(x) > 0.2))),
    "unique": lambda x: tail(head(x)) * tf.cast(tf.size(tf.unique(tf.round(head(x)))[0]), tf.float32),
    "repeat": lambda x: tail(tf.repeat(head(x), tf.cast(x > 0.0, tf.int32) + 1)),
    "range": lambda x: tail(head(x)) + tail(head(tf.cast(tf.range(count(x)), tf.float32)) * tf.reduce_sum(x)),
    "slice": lambda x: tail(head(x)[: count(x)]),
    "reshape": lambda x: tail(
        tf.reshape(tf.tile(head(x), [count(x) + 1]), tf.stack([count(x) + 1, 8]))[0] * 2.0
    ),
    "sequence_mask": lambda x: tail(
        head(x)[: tf.shape(tf.sequence_mask(count(x)))[0]] * tf.reduce_sum(head(x))
    ),
    "dynamic_partition": partitioned,
    "non_max_suppression": suppressed,
    "strings": by_text,
}


def data(call):
    return tf.constant(np.random.default_rng(call).normal(size=8).astype("float32"))


def derivatives(function, x):
    """Value, first and second gradient, and a Jacobian, with tapes around the function."""
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        slope = inner.gradient(y, x)
        total = tf.reduce_sum(slope**2)
    return [y, slope, outer.gradient(y, x), outer.jacobian(y, x), outer.gradient(total, x)]


def inside(function):
    """The same with the tapes inside of the function."""

    def computed(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            slope = inner.gradient(y, x)
            total = tf.reduce_sum(tf.sin(slope))
        return [y, slope, outer.gradient(total, x)]

    return computed


def close(got, wanted):
    for mine, each in zip(tf.nest.flatten(got), tf.nest.flatten(wanted), strict=True):
        assert (mine is None) is (each is None)
        if each is not None:
            np.testing.assert_allclose(
                tf.convert_to_tensor(mine).numpy(), tf.convert_to_tensor(each).numpy(), rtol=2e-4, atol=2e-5
            )


def programs_of(function):
    """The segments of a function that are compiled, and what kept others from it."""
    found = function._segments.segments.values()
    assert [s.failure for s in found if s.failure is not None] == []
    return [s for s in found if s.is_compiled]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_comes_before_and_after_is_compiled(always, name, caplog):
    program = PROGRAMS[name]
    function = tf.function(program)
    within = tf.function(inside(program))
    for call in range(4):
        close(derivatives(function, data(call % 2)), derivatives(program, data(call % 2)))
        close(within(data(call % 2)), inside(program)(data(call % 2)))
    assert programs_of(function) and programs_of(within)
    assert len([r for r in caplog.records if "runs operation by operation" in r.message]) == 2
    assert "test_segments.py, line" in caplog.text


def matching(features, boxes, weight):
    """The loss of a detector: how well boxes fit is computed for each pair, then for the good ones alone."""
    with tf.GradientTape() as tape:
        delta = tf.tanh(features @ weight)
        low, high = delta[:, :1], delta[:, :1] + tf.exp(delta[:, 1:])
        overlap = tf.maximum(tf.minimum(high, boxes[1]) - tf.maximum(low, boxes[0]), 0.0)
        union = (high - low) + (boxes[1] - boxes[0]) - overlap
        best = tf.reduce_max(overlap / (union + 1e-3), 1)
        good = tf.boolean_mask(best - 0.3, best > 0.3)  # 0 at the edge, where rounding decides which are good
        loss = -tf.reduce_sum(good) / 1000.0 + 0.1 * tf.reduce_mean(tf.math.log(1.001 - best))
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    return loss


def test_a_large_part_is_compiled_after_few_calls_and_a_small_one_never():
    rng = np.random.default_rng(0)

    def batch(count):
        low = rng.normal(size=[1, 300]).astype("float32")
        features = rng.normal(size=[count, 4]).astype("float32")
        return tf.constant(features), tf.stack([low, low + 1.0])

    start = rng.normal(size=[4, 2]).astype("float32")
    weights = tf.Variable(start), tf.Variable(start)
    large, small = tf.function(matching), tf.function(matching)
    for _ in range(48):
        given = batch(1000)
        close(large(*given, weights[0]), matching(*given, weights[1]))
    close(weights[0], weights[1])
    (program,) = programs_of(large)
    # Until it pays one call of eight is noted; then only the mask and what depends on it are computed one by one.
    assert len(program.operations) > 15 and program.calls < 48
    before = large._segments.single
    large(*batch(1000), weights[0])
    assert large._segments.single - before < 12
    assert not large._segments.is_off

    for _ in range(200):
        small(*batch(3), weights[0])
    assert programs_of(small) == [] and small._segments.is_off


# -- tapes, variables and Python ---------------------------------------------------------------------------------------


def same(program):
    """Call a program eagerly and in segments, each on variables of its own, and compare all that it returns."""

    def run(called):
        variables = [tf.Variable([0.3, -0.2, 0.5]), tf.Variable([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]])]
        log = []
        tf.random.set_seed(1)
        results = [called(tf.constant([0.5 + call, -0.3, 0.8]), *variables, log) for call in range(5)]
        return results, variables, [entry for entry in log if isinstance(entry, float)]

    function = tf.function(program)
    function._not_compilable = True
    close(run(function), run(program))
    return function


def by_the_middle(x, v, table, log):
    with tf.GradientTape(persistent=True) as tape:
        middle = tf.sin(x * v)
        other = tf.exp(x)
        y = middle * middle + other
        z = tf.reduce_sum(tf.boolean_mask(y, y > 0.0) * middle)
    return tape.gradient(z, [middle, other, v, table]), tape.gradient(y, [middle, x]), tape.gradient(other, v)


def second_order_by_the_middle(x, v, table, log):
    with tf.GradientTape() as outer:
        middle = tf.sin(x * v)
        with tf.GradientTape() as inner:
            inner.watch(middle)
            y = middle**3 * x
            total = tf.reduce_sum(tf.boolean_mask(y, x > 0.0))
        slope = inner.gradient(total, middle)
    return slope, outer.gradient(slope, [middle, v])


def second_order_inside_its_own_block(x, v, table, log):
    with tf.GradientTape(persistent=True) as tape:
        middle = tf.sin(x * v)
        y = middle**3 * v
        total = tf.reduce_sum(tf.boolean_mask(y, x > 0.0))
        slopes = tape.gradient(total, [middle, v])
    return slopes, tape.gradient(slopes[0], [middle, v]), tape.gradient(slopes[1], [middle, v])


def asked_under_a_later_tape(x, v, table, log):
    with tf.GradientTape() as tape:
        tape.watch(x)
        middle = tf.sin(x)
        y = tf.reduce_sum(middle * x * x + middle**2)
    with tf.GradientTape(persistent=True) as later:
        later.watch([x, middle])
        slope = tape.gradient(y, x)
    with tf.GradientTape() as first:
        first.watch(x)
        total = tf.reduce_sum(tf.sin(x) * x * x)
    with tf.GradientTape() as last:  # does not know the sine
        last.watch(x)
        again = first.gradient(total, x)
    return slope, later.gradient(slope, [x, middle]), last.gradient(again, x)


def without_a_path(x, v, table, log):
    with tf.GradientTape(persistent=True) as tape:
        first = tf.exp(v) * x
        second = tf.matmul(table, table, transpose_b=True) + tf.reduce_sum(x)
        unknown = tf.cos(x) * 2.0
        further = unknown * 3.0
        joined = tf.stop_gradient(first) * second
        float(tf.reduce_sum(first))
        later = unknown * 5.0 + first
    sources = [v, table]
    return [tape.gradient(y, sources) for y in (first, second, further, joined)], [
        tape.gradient(further, unknown),
        tape.gradient(later, unknown),
        tape.gradient(joined, second),
    ]


def rows_of_a_table(x, v, table, log):
    with tf.GradientTape() as tape:
        rows = tf.gather(table, [0, 2, 0])
        y = tf.reduce_sum(tf.boolean_mask(rows * rows, x > 0.0))
    gradient = tape.gradient(y, table)
    assert isinstance(gradient, tf.IndexedSlices)
    return gradient


def updated_in_place(x, v, table, log):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.exp(x * 0.1) * v * v)
    v.assign_sub(0.1 * tape.gradient(loss, v))
    return loss


def state_and_draws(x, v, table, log):
    log.append(float(len(log)))
    noise = tf.random.normal([3]) * x
    v.assign_add(tf.tanh(noise) * 0.1)
    before = v * 2.0
    v.assign(v + tf.nn.dropout(x, 0.5) * 0.01)
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i, part in enumerate(tf.unstack(before)):
        array = array.write(i, part * v[i])
    return array.stack(), before, v.value(), tf.where(array.stack() > 0)


def with_an_error(x, v, table, log):
    kept = []
    try:
        with tf.GradientTape() as tape:
            kept.append(tf.sin(x) * v)
            raise KeyError
    except KeyError:
        kept.append(tf.exp(kept[0]))
    try:
        kept[1] + tf.zeros([4])
    except tf.errors.InvalidArgumentError as error:
        log.append(float(len(str(error)) > 0))
    return kept, tape.gradient(kept[0], v)


@tf.function
def compiled_part(y):
    return tf.sin(y) * 2.0


@tf.function
def another_without_a_shape(y):
    return tf.boolean_mask(tf.cos(y) * y, y > 0.0)


@tf.custom_gradient
def halved(y):
    return tf.sin(y) * 3.0, lambda g: g * 0.5


def other_functions(x, v, table, log):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = compiled_part(tf.exp(x) * v) + halved(x * v * 1.5) * v
            z = tf.reduce_sum(another_without_a_shape(y + x)) + tf.py_function(
                lambda t: t * 2.0, [y[0]], tf.float32
            )
        slope = tape.gradient(z, v)
        total = tf.reduce_sum(slope**2)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        moved = tf.sin(x) * y
    return z, slope, outer.gradient(total, v), accumulator.jvp(moved)


def an_optimizer(x, v, table, log):
    if not log:
        log.append(tf.optimizers.Adam(0.1))
    with tf.GradientTape() as tape:
        y = tf.tanh(x * v) + tf.reduce_sum(table, 1)
        loss = tf.reduce_sum(tf.boolean_mask(y, y > -5.0) ** 2)
    log[0].apply_gradients(zip(tape.gradient(loss, [v, table]), [v, table]))
    while tf.reduce_sum(v) > 1.0:
        v.assign(v * 0.9)
    return loss


CASES = [
    by_the_middle,
    second_order_by_the_middle,
    second_order_inside_its_own_block,
    asked_under_a_later_tape,
    without_a_path,
    rows_of_a_table,
    updated_in_place,
    state_and_draws,
    with_an_error,
    other_functions,
    an_optimizer,
]


@pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)
def test_tapes_variables_and_python_do_not_notice(always, program):
    function = same(program)
    assert programs_of(function)


@pytest.mark.parametrize(
    "program", [PROGRAMS["boolean_mask"], lambda x: tail(head(x))], ids=["segments", "whole"]
)
def test_threads_call_one_function(always, program):
    function, x = tf.function(program), data(0)
    wanted = derivatives(program, x)
    failures = []

    def work():
        try:
            for _ in range(3):
                close(derivatives(function, x), wanted)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_values_in_between_are_freed_one_by_one(always, monkeypatch):
    monkeypatch.setattr(known_segments, "COMPILE", 10**9)  # nothing is compiled

    def program(x):
        for _ in range(40):
            x = tf.sin(x) + 1.0
        return tf.boolean_mask(x, x[:, 0] > 0.0)

    function, x = tf.function(program), tf.ones([1000, 100])
    for _ in range(2):
        function(x)
    tracemalloc.start()
    function(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert function._segments.noted > 80 and programs_of(function) == []
    assert peak < 8 * 400_000


def test_a_segment_does_not_keep_many_inputs(always, monkeypatch):
    monkeypatch.setattr(open_segments, "_MANY_INPUTS", 4)
    monkeypatch.setattr(open_segments, "_MANY_ELEMENTS", 4 * 1000)

    def program(x):
        total = tf.zeros([1000])
        for i in range(30):
            total += tf.constant(np.full(1000, i, "float32")) * x
        return tf.boolean_mask(total, total > 0.0)

    function, x = tf.function(program), tf.ones([1000])
    for _ in range(3):
        close(function(x), program(x))
    assert max(len(s.operations) for s in programs_of(function)) < 15


@pytest.mark.parametrize(("size", "is_alone"), [(8, True), (300, False)])
def test_threads_are_for_large_products(monkeypatch, size, is_alone):
    alone = []

    def in_numpy(function):
        alone.append(function)
        return function()

    monkeypatch.setattr(segments, "in_numpy", in_numpy)
    function, x = tf.function(lambda x: tf.boolean_mask(x @ x, x[0] > -1.0)), tf.ones([size, size])
    for _ in range(3):
        function(x)
    assert len(alone) == (2 if is_alone else 0)  # in the first call the products are not known
