"""Metrics give Keras's numbers, batch after batch."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf

# Made by data/make_losses.py.
KERAS = json.loads((Path(__file__).parent / "data" / "losses.json").read_text())
CASES = KERAS["metrics"]
NAMES = [f"{case['name']} {case['options']}" for case in CASES]
metrics = tf.metrics


def arrays(case):
    """Truths and predictions, floats as float32."""
    pair = np.array(case["y_true"]), np.array(case["y_pred"])
    return [part.astype("float32") if part.dtype == float else part for part in pair]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_numbers_are_those_of_keras(case):
    true, predicted = arrays(case)
    half = len(true) // 2
    metric = getattr(metrics, case["name"])(**case["options"])
    metric.update_state(true[:half], predicted[:half])
    assert metric.result().shape == np.shape(case["half"])
    assert_allclose(metric.result(), case["half"], rtol=2e-6, atol=1e-6)
    assert_allclose(metric(true[half:], predicted[half:]), case["whole"], rtol=2e-6, atol=1e-6)
    metric.reset_state()
    assert all(not np.any(v) for v in metric.variables)
    if "weighted" in case:
        weighted = metric(true, predicted, sample_weight=KERAS["weights"])
        assert_allclose(weighted, case["weighted"], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_metric_describes_itself_and_is_copied_with_its_state(case):
    true, predicted = arrays(case)
    metric = getattr(metrics, case["name"])(**case["options"])
    fresh = type(metric).from_config(metric.get_config())
    assert fresh.get_config() == metric.get_config()
    metric.update_state(true, predicted)
    assert_array_equal(fresh(true, predicted), metric.result())
    for again in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert_array_equal(again.result(), metric.result())
        again.update_state(true[:1], predicted[:1])
        assert_array_equal(fresh.result(), metric.result())
    assert repr(metric) == f"<{case['name']} name={metric.name}>"


@pytest.mark.parametrize(
    ("values", "weights", "mean", "total"),
    [
        (3.0, None, 3.0, 3.0),
        ([1.0, 3.0], None, 2.0, 4.0),
        ([1, 3], [1, 0], 1.0, 1.0),
        ([[1.0, 2.0], [3.0, 6.0]], None, 3.0, 12.0),
        ([[1.0, 2.0], [3.0, 6.0]], [1.0, 3.0], 3.75, 30.0),
        ([[1.0, 2.0], [3.0, 6.0]], [[1.0, 0.0], [0.0, 1.0]], 3.5, 7.0),
        ([1.0, 3.0], [[1.0], [3.0]], 2.5, 10.0),
        ([1.0, 3.0], 2.0, 2.0, 8.0),
        ([], None, 0.0, 0.0),
    ],
)
def test_means_and_sums(values, weights, mean, total):
    assert float(metrics.Mean()(values, sample_weight=weights)) == pytest.approx(mean)
    assert float(metrics.Sum()(values, sample_weight=weights)) == pytest.approx(total)


def test_a_mean_of_batches_counts_samples():
    mean = metrics.Mean(name="loss")
    assert float(mean.result()) == 0.0
    mean.update_state([1.0, 2.0, 3.0])
    mean.update_state(tf.constant(10.0))
    assert float(mean.result()) == 4.0
    assert [v.name for v in mean.variables] == ["total:0", "count:0"]
    assert mean.name == "loss"
    mean.reset_states()
    assert float(mean.result()) == 0.0


def test_dtypes():
    mean = metrics.Mean(dtype="float64")
    assert mean([1.0, 2.0]).dtype is tf.float64
    assert metrics.Mean()(np.float64([1.0])).dtype is tf.float32
    assert metrics.MeanIoU(2)([0, 1], [0, 1]).dtype is tf.float32


def test_state_is_not_trained():
    mean = metrics.Mean()
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = v * v
        mean.update_state(loss)
    assert tape.watched_variables() == (v,)
    assert float(tape.gradient(loss, v)) == 4.0


def test_functions():
    assert metrics.binary_accuracy([[1.0, 0.0]], [[0.7, 0.6]]).numpy().tolist() == [[1.0, 0.0]]
    assert metrics.sparse_categorical_accuracy([[2], [1]], np.eye(3)[[2, 2]]).numpy().tolist() == [1.0, 0.0]
    assert metrics.sparse_top_k_categorical_accuracy(
        [2, 0], np.array([[2, 1], [1, 2]]), k=1, from_sorted_ids=True
    ).numpy().tolist() == [1.0, 0.0]
    pictures = metrics.top_k_categorical_accuracy(
        np.eye(3)[[[0, 1], [2, 0]]], np.eye(3, dtype="f")[[[0, 2], [2, 0]]], 1
    )
    assert pictures.numpy().tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert metrics.MSE is tf.losses.MSE


def test_thresholds_draw_the_same_curve_however_they_are_given():
    true = np.random.default_rng(1).integers(0, 2, 50)
    predicted = np.random.default_rng(2).uniform(size=50).astype("float32")
    even = metrics.AUC(num_thresholds=11)(true, predicted)
    given = metrics.AUC(thresholds=[i / 10 for i in range(1, 10)])(true, predicted)
    uneven = metrics.AUC(thresholds=[i / 10 for i in range(1, 10)] + [1e-6])(true, predicted)
    assert float(even) == float(given) == pytest.approx(float(uneven))


def test_weights_of_a_curve():
    true, predicted, weights = [0, 1, 1, 0], [0.2, 0.3, 0.8, 0.6], [1.0, 0.0, 2.0, 1.0]
    assert float(metrics.AUC()(true, predicted, sample_weight=weights)) == pytest.approx(1.0)
    assert float(metrics.AUC()(true, predicted)) == pytest.approx(0.75)


def test_a_metric_of_your_own():
    class Range(metrics.Metric):
        def __init__(self, name="range", **options):
            super().__init__(name=name, **options)
            self.top = self.add_weight(name="top", initializer="zeros")
            self.mean = metrics.Mean()

        def update_state(self, values):
            self.top.assign(tf.maximum(self.top, tf.reduce_max(values)))
            self.mean.update_state(values)

        def result(self):
            return self.top - self.mean.result()

    mine = Range()
    assert float(mine(tf.constant([1.0, 3.0]))) == 1.0
    assert [v.name for v in mine.variables] == ["top:0", "total:0", "count:0"]
    mine.reset_state()
    assert float(mine.result()) == 0.0
    for method in ("update_state", "result"):
        with pytest.raises(NotImplementedError, match=f"Metric must define {method}"):
            getattr(metrics.Metric(), method)()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.Precision(thresholds=1.5), r"thresholds must lie in \[0, 1\], not 1.5"),
        (lambda: metrics.AUC(num_thresholds=1), "from 2 on, not 1"),
        (lambda: metrics.AUC(curve="line"), "curve is one of 'ROC', 'PR', 'PRGAIN', not 'LINE'"),
        (lambda: metrics.AUC(summation_method="sum"), "summation_method is one of .* not 'sum'"),
        (lambda: metrics.F1Score(average="mean"), "average must be None, .* not 'mean'"),
        (lambda: metrics.FBetaScore(beta=0.0), "beta must be positive"),
        (lambda: metrics.F1Score(threshold=2.0), r"threshold must lie in \]0, 1\], not 2.0"),
        (
            lambda: metrics.F1Score()([1.0], [1.0]),
            r"have the shape \(samples, classes\), not \(1,\) and \(1,\)",
        ),
        (lambda: metrics.F1Score().result(), "no score before the first update_state"),
        (lambda: metrics.IoU(2, [2]), "there is no class 2 among 2 classes"),
        (lambda: metrics.Precision(class_id=0)([1, 0], [1, 0]), "class_id needs predictions of shape"),
    ],
)
def test_what_cannot_be(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_unknown_option_is_an_error_when_a_metric_is_made():
    with pytest.raises(TypeError, match="axis"):
        metrics.MeanSquaredError(axis=1)
