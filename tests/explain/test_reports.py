"""What explain answers with, when it can, and that it leaves nothing behind."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import primitive, tape, tensor_conversion
from gradtape.core.observers import observers
from gradtape.core.primitive import local
from gradtape.explain import Reason, Report, session


def two_layers():
    w, b = tf.Variable(2.0, name="w"), tf.Variable(1.0, name="b")
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.square(w * 3.0)
    return tape, loss, w, b


def test_the_answer_has_the_structure_of_the_sources():
    tape, loss, w, b = two_layers()
    assert isinstance(tape.explain(loss, w), Report)
    assert [r.reason for r in tape.explain(loss, [w, b])] == [Reason.CONNECTED, Reason.UNUSED]
    answer = tape.explain(loss, {"weight": w, "rest": (b,)})
    assert answer["weight"].reason is Reason.CONNECTED
    assert answer["rest"][0].source == "b"


def test_a_report_reads_well():
    tape, loss, w, b = two_layers()
    assert str(tape.explain(loss, [w, b])).splitlines() == [
        "gradient of loss by w: connected",
        "  from w",
        "    multiply, gradient 12",
        "    square float32[], gradient 1",
        "gradient of loss by b is None: not used by the target",
        "  nothing in the block used b: compute the target from it there, or take it off the sources",
    ]


def test_a_report_is_a_table_in_a_notebook():
    tape, loss, w, b = two_layers()
    table = tape.explain(loss, [w, b])._repr_html_()
    assert table.startswith("<table>")
    assert table.count("<tr>") == 3
    assert "multiply → square" in table
    assert "<b>b</b>" in table
    x = tf.constant(1.0)
    assert "never watched" in tape.explain(loss, x)._repr_html_()


def test_a_report_is_plain_data_too():
    tape, loss, w, b = two_layers()
    first, second = json.loads(json.dumps(tape.explain(loss, [w, b]).to_dict()))
    assert first["connected"]
    assert [step["operation"] for step in first["path"]] == ["multiply", "square"]
    assert second["reason"] == "UNUSED"
    assert second["path"] == []


def test_a_long_path_is_shortened_but_its_cut_is_shown():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x
        for i in range(40):
            y = tf.stop_gradient(y) if i == 20 else y * 1.01
    with tf.debugging.trace_origins(), tf.GradientTape() as traced:
        y = x
        for i in range(40):
            y = tf.stop_gradient(y) if i == 20 else y * 1.01
    assert tape.explain(y, x).reason is Reason.STOPPED
    report = traced.explain(y, x)
    assert len(report.path) == 40
    text = str(report)
    assert text.count("\n") < 25
    assert "... 14 more" in text
    assert "stop_gradient" in text
    assert report.operation == "stop_gradient"


def test_names_come_from_the_code_that_asks():
    class Model:
        def __init__(self):
            self.kernel = tf.Variable(2.0)

    model = Model()
    with tf.GradientTape() as tape:
        loss = tf.constant(1.0) * 2.0
    assert tape.explain(loss, model.kernel).source == "model.kernel"
    assert tape.explain(loss, [tf.Variable(1.0, name="bias"), tf.Variable(1.0)])[0].source == "bias"
    assert tape.explain(loss, [tf.Variable(1.0), tf.Variable(1.0)])[1].source == "source 1"


def test_of_several_targets_one_that_is_connected_is_enough():
    tape, loss, w, _ = two_layers()
    assert tape.explain([tf.constant(1.0), loss], w).reason is Reason.CONNECTED


def test_a_target_that_is_a_source():
    v = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        v * 2.0
    assert tape.explain(v, v).reason is Reason.CONNECTED


def test_a_target_that_is_no_tensor():
    x = tf.Variable(2.0)
    with tf.debugging.trace_origins(), tf.GradientTape() as tape:
        y = float(x * 3.0)
    report = tape.explain(y, x)
    assert report.reason is Reason.LEFT
    assert report.where.rpartition(":")[0].endswith("test_reports.py")
    with tf.GradientTape() as tape:
        y = np.sin(x)
    report = tape.explain(y, x)
    assert report.reason is Reason.LEFT
    assert report.hint == (
        "the target is a NumPy or Python value, not a tensor: keep it one all the way, with tf functions"
    )


def test_an_integer_target():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        x * 1.0
    report = tape.explain(tf.constant(3), x)
    assert report.reason is Reason.DTYPE
    assert report.hint == (
        "the target is of dtype int32, and only a floating or complex one has a gradient: write 3.0 for 3, or tf.cast "
        "what it is computed from"
    )


def test_what_cannot_be_asked_is_refused():
    tape, loss, w, _ = two_layers()
    with pytest.raises(TypeError, match="a source must be a Tensor or a Variable"):
        tape.explain(loss, 3.0)
    with pytest.raises(ValueError, match="no target"):
        tape.explain([], w)


# ---------------------------------------------------------------------------------------------------------------------
# Too late, or in time


def test_a_used_tape_says_what_it_still_knows():
    w, unused, frozen = tf.Variable(2.0), tf.Variable(1.0), tf.Variable(1.0, trainable=False)
    constant = tf.constant(1.0)
    with tf.GradientTape() as tape:
        loss = w * frozen * constant
    tape.gradient(loss, [w, unused])
    reports = tape.explain(loss, [w, unused, frozen, constant])
    assert [r.reason for r in reports] == [
        Reason.TOO_LATE,
        Reason.UNUSED,
        Reason.NOT_TRAINABLE,
        Reason.NOT_WATCHED,
    ]
    assert reports[0].hint == (
        "a tape that is not persistent forgets what it recorded when it answers: ask explain before gradient, use "
        "GradientTape(persistent=True), or turn on tf.debugging.trace_origins()"
    )
    assert str(reports[0]).startswith("gradient of loss by w: asked too late")


def test_with_origins_a_used_tape_can_still_be_asked():
    w, v = tf.Variable(2.0), tf.Variable(3.0)
    with tf.debugging.trace_origins():
        with tf.GradientTape() as tape:
            loss = tf.stop_gradient(w) * v
        tape.gradient(loss, [w, v])
    assert [r.reason for r in tape.explain(loss, [w, v])] == [Reason.STOPPED, Reason.CONNECTED]


def test_explaining_changes_nothing():
    tape, loss, w, b = two_layers()
    records = list(tape._records)
    tape.explain(loss, [w, b])
    assert tape._records == records
    assert float(tape.gradient(loss, w)) == 36.0


def test_a_reset_is_told():
    x = tf.Variable(2.0)
    with tf.debugging.trace_origins(), tf.GradientTape() as tape:
        y = x * 3.0
        tape.reset()
        z = y + x * 0.0
        tape.reset()
    report = tape.explain(z, x)
    assert report.reason is Reason.FORGOTTEN
    assert report.hint.startswith("this tape was reset after multiply had been computed")


# ---------------------------------------------------------------------------------------------------------------------
# On and off


def test_nothing_of_it_is_imported_unasked():
    program = "import sys, gradtape as tf\nwith tf.GradientTape() as t: y = tf.Variable(1.0) * 2.0\nprint(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "gradtape.core.tape" in shown.split()
    assert "gradtape.explain" not in shown.split()


def methods():
    return [
        vars(owner)[name]
        for owner in (tf.Tensor, tf.Variable, tf.GradientTape, tape, tensor_conversion, primitive)
        for name in sorted(vars(owner))
        if callable(vars(owner)[name])
    ]


def test_nothing_is_replaced_while_it_is_on():
    before = methods()
    with session(explain=True, nan=True, profile=True):
        assert methods() == before


def test_off_nothing_is_left():
    listeners, run = local.here.tapes, local.here.run
    with session(explain=True, nan=True, profile=True):
        assert observers
        assert local.here.tapes
        assert local.here.run is not run
        tf.Variable(1.0) * 2.0
    assert observers == local.here.tapes == listeners == []
    assert local.here.run is run


def test_off_nothing_is_left_after_an_error_either():
    with pytest.raises(ZeroDivisionError), tf.debugging.trace_origins():
        raise ZeroDivisionError
    assert observers == []


def test_tracing_nests_and_can_be_stopped_by_hand():
    outer = tf.debugging.trace_origins()
    with tf.debugging.trace_origins():
        pass
    assert observers
    outer.stop()
    outer.stop()
    assert observers == []
    assert "ended" in repr(outer)


def test_values_and_gradients_are_the_same_under_observation():
    def compute():
        w = tf.Variable([[0.5, -1.0], [2.0, 0.1]])
        table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        with tf.GradientTape() as outer, tf.GradientTape(persistent=True) as tape:
            rows = tf.gather(table, [2, 0])
            y = tf.reduce_sum(tf.tanh(rows @ w) ** 2)
            g = tape.gradient(y, w)
        second = outer.gradient(g, w)
        sparse = tape.gradient(y, table)
        jacobian = tape.jacobian(y, w)
        return [x.numpy() for x in (y, g, second, tf.convert_to_tensor(sparse), jacobian)]

    plain = compute()
    with session(explain=True, nan=True, profile=True):
        observed = compute()
    for a, b in zip(plain, observed, strict=True):
        np.testing.assert_array_equal(a, b)


def test_other_threads_are_heard_while_their_tapes_are_open():
    reports, listeners = [], []

    def work():
        x = tf.Variable(1.0)
        with tf.GradientTape() as tape:
            y = tf.round(x)
        reports.append(tape.explain(y, x))
        listeners.append(list(local.here.tapes))

    with tf.debugging.trace_origins():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert reports[0].reason is Reason.NO_GRADIENT
    assert "test_reports.py" in reports[0].where
    assert listeners == [[]]


def test_constants_in_the_code_are_not_taken_for_values_that_left():
    w, v = tf.Variable(1.5), tf.Variable(2.0)
    with tf.debugging.trace_origins(), tf.GradientTape() as tape:
        shown = (w * 2.0).numpy()
        loss = v * 3.0 + tf.constant([1.0, -2.0])
    assert shown == 3.0
    assert tape.explain(loss, w).reason is Reason.UNUSED


def test_formatting_is_not_leaving():
    w = tf.Variable(1.5)
    with tf.debugging.trace_origins(), tf.GradientTape() as tape:
        y = w * 2.0
        text = f"{y:.1f}"
        z = tf.constant(float(text))
    assert tape.explain(z, w).reason is Reason.UNUSED


def test_a_variable_that_was_read_and_then_watched_was_watched_from_its_first_use_on():
    v = tf.Variable(3.0)
    with tf.debugging.trace_origins():
        with tf.GradientTape(persistent=True) as tape:
            y = v * v
            tape.watch(v)
            cut = tf.cast(tf.cast(y, "int32"), "float32")
        assert tape.explain(y, v).reason.name == "CONNECTED"
        assert tape.explain(cut, v).reason.name == "DTYPE"
