"""Makes losses.json: what Keras's losses and metrics give.

Run it where TensorFlow and Keras 3 are installed: `KERAS_BACKEND=tensorflow python tests/data/make_losses.py`.
"""

import json
from pathlib import Path

import keras
import numpy as np

GENERATOR = np.random.default_rng(11)
REAL = GENERATOR.normal(size=(2, 6, 3)).round(3)
POSITIVE = GENERATOR.uniform(0.05, 2.0, size=(2, 6, 3)).round(3)
BINARY = [GENERATOR.integers(0, 2, size=(6, 3)).astype(float), GENERATOR.uniform(size=(6, 3)).round(3)]
LOGITS = [BINARY[0], GENERATOR.normal(size=(6, 3)).round(3)]
SHARES = [np.eye(3)[[0, 2, 1, 1, 0, 2]], GENERATOR.dirichlet(np.ones(3), size=6).round(3)]
CLASSES = [np.array([0, 2, 1, 1, 0, 2]), SHARES[1]]
CLASS_LOGITS = [CLASSES[0], LOGITS[1]]
FLAT = [GENERATOR.integers(0, 2, size=12).astype(float), GENERATOR.uniform(size=12).round(3)]
LABELS = [GENERATOR.integers(0, 3, size=(4, 3)), GENERATOR.integers(0, 3, size=(4, 3))]
WEIGHTS = [0.5, 2.0, 0.0, 1.0, 1.0, 3.0]

LOSSES = [
    ("MeanSquaredError", {}, REAL),
    ("MeanAbsoluteError", {}, REAL),
    ("MeanAbsolutePercentageError", {}, REAL),
    ("MeanSquaredLogarithmicError", {}, POSITIVE),
    ("LogCosh", {}, REAL),
    ("Huber", {}, REAL),
    ("Huber", {"delta": 0.3}, REAL),
    ("CosineSimilarity", {}, REAL),
    ("CosineSimilarity", {"axis": 0}, REAL),
    ("Hinge", {}, BINARY),
    ("Hinge", {}, REAL),
    ("SquaredHinge", {}, BINARY),
    ("CategoricalHinge", {}, SHARES),
    ("KLDivergence", {}, SHARES),
    ("Poisson", {}, POSITIVE),
    ("BinaryCrossentropy", {}, BINARY),
    ("BinaryCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, LOGITS),
    ("BinaryFocalCrossentropy", {}, BINARY),
    ("BinaryFocalCrossentropy", {"apply_class_balancing": True, "from_logits": True, "gamma": 1.0}, LOGITS),
    ("CategoricalCrossentropy", {}, SHARES),
    ("CategoricalCrossentropy", {"label_smoothing": 0.2, "from_logits": True}, [SHARES[0], LOGITS[1]]),
    ("CategoricalFocalCrossentropy", {}, SHARES),
    ("CategoricalFocalCrossentropy", {"from_logits": True, "alpha": 0.5}, [SHARES[0], LOGITS[1]]),
    ("SparseCategoricalCrossentropy", {}, CLASSES),
    ("SparseCategoricalCrossentropy", {"from_logits": True}, CLASS_LOGITS),
    ("SparseCategoricalCrossentropy", {"from_logits": True, "ignore_class": 1}, CLASS_LOGITS),
    ("Dice", {}, BINARY),
    ("Dice", {"axis": 1}, BINARY),
    ("Tversky", {"alpha": 0.3, "beta": 0.8, "axis": 1}, BINARY),
]
REDUCTIONS = ["sum_over_batch_size", "sum", "mean_with_sample_weight", None]

METRICS = [
    ("Accuracy", {}, [CLASSES[0], CLASSES[0][::-1]]),
    ("BinaryAccuracy", {}, BINARY),
    ("BinaryAccuracy", {"threshold": 0.7}, BINARY),
    ("CategoricalAccuracy", {}, SHARES),
    ("SparseCategoricalAccuracy", {}, CLASSES),
    ("SparseCategoricalAccuracy", {}, [CLASSES[0][:, None], CLASSES[1]]),
    ("TopKCategoricalAccuracy", {"k": 2}, SHARES),
    ("SparseTopKCategoricalAccuracy", {"k": 2}, CLASSES),
    ("MeanSquaredError", {}, REAL),
    ("MeanAbsoluteError", {}, REAL),
    ("MeanAbsolutePercentageError", {}, REAL),
    ("MeanSquaredLogarithmicError", {}, POSITIVE),
    ("RootMeanSquaredError", {}, REAL),
    ("CosineSimilarity", {}, REAL),
    ("LogCoshError", {}, REAL),
    ("Hinge", {}, BINARY),
    ("SquaredHinge", {}, BINARY),
    ("CategoricalHinge", {}, SHARES),
    ("KLDivergence", {}, SHARES),
    ("Poisson", {}, POSITIVE),
    ("BinaryCrossentropy", {}, BINARY),
    ("BinaryCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, LOGITS),
    ("CategoricalCrossentropy", {}, SHARES),
    ("SparseCategoricalCrossentropy", {"from_logits": True}, CLASS_LOGITS),
    ("TruePositives", {}, BINARY),
    ("FalsePositives", {"thresholds": [0.2, 0.6]}, BINARY),
    ("TrueNegatives", {}, BINARY),
    ("FalseNegatives", {"thresholds": [0.0, 0.5, 1.0]}, BINARY),
    ("Precision", {}, BINARY),
    ("Precision", {"thresholds": [0.3, 0.8]}, BINARY),
    ("Precision", {"top_k": 2}, SHARES),
    ("Precision", {"class_id": 1}, BINARY),
    ("Recall", {}, BINARY),
    ("Recall", {"top_k": 1, "class_id": 2}, SHARES),
    ("F1Score", {}, SHARES),
    ("F1Score", {"average": "micro", "threshold": 0.4}, SHARES),
    ("F1Score", {"average": "macro"}, SHARES),
    ("FBetaScore", {"average": "weighted", "beta": 2.0, "threshold": 0.3}, SHARES),
]
# These take weights of a shape of their own: without any.
UNWEIGHTED = [
    ("AUC", {}, FLAT),
    ("AUC", {"curve": "PR"}, FLAT),
    ("AUC", {"curve": "PRGAIN", "num_thresholds": 11}, FLAT),
    ("AUC", {"summation_method": "majoring", "num_thresholds": 5}, FLAT),
    ("AUC", {"summation_method": "minoring", "thresholds": [0.2, 0.5, 0.6]}, FLAT),
    ("AUC", {"multi_label": True}, BINARY),
    ("AUC", {"multi_label": True, "curve": "PR", "label_weights": [0.2, 0.3, 0.5]}, BINARY),
    ("AUC", {"from_logits": True}, LOGITS),
    ("MeanIoU", {"num_classes": 3}, LABELS),
    ("MeanIoU", {"num_classes": 3, "ignore_class": 1}, LABELS),
    ("MeanIoU", {"num_classes": 3, "sparse_y_true": False, "sparse_y_pred": False}, SHARES),
    ("IoU", {"num_classes": 3, "target_class_ids": [0, 2]}, LABELS),
    ("BinaryIoU", {"threshold": 0.3}, BINARY),
    ("BinaryIoU", {"target_class_ids": [1]}, BINARY),
]


def numbers(value):
    return json.loads(
        json.dumps(np.asarray(value).tolist()), parse_float=lambda text: float(f"{float(text):.8g}")
    )


def data(true, predicted):
    return {"y_true": np.asarray(true).tolist(), "y_pred": np.asarray(predicted).tolist()}


def loss(name, options, pair):
    results = []
    for reduction in REDUCTIONS:
        made = getattr(keras.losses, name)(reduction=reduction, **options)
        results.append({"reduction": reduction, "plain": numbers(made(*pair))})
        if options.get("axis") != 0 and name not in ("Dice", "Tversky"):
            results[-1]["weighted"] = numbers(made(*pair, sample_weight=np.array(WEIGHTS)))
    return {"name": name, "options": options, **data(*pair), "results": results}


def metric(name, options, pair, weighted=True):
    made = getattr(keras.metrics, name)(**options)
    pair = [np.asarray(part, "float32" if np.asarray(part).dtype == float else None) for part in pair]
    half = len(pair[0]) // 2
    made.update_state(pair[0][:half], pair[1][:half])
    result = {"name": name, "options": options, **data(*pair), "half": numbers(made.result())}
    made.update_state(pair[0][half:], pair[1][half:])
    result["whole"] = numbers(made.result())
    if weighted:
        made.reset_state()
        result["weighted"] = numbers(made(pair[0], pair[1], sample_weight=np.array(WEIGHTS)))
    return result


if __name__ == "__main__":
    lines = [
        *(("losses", loss(*case)) for case in LOSSES),
        *(("metrics", metric(*case)) for case in METRICS),
        *(("metrics", metric(*case, weighted=False)) for case in UNWEIGHTED),
    ]
    parts = [f'"keras": "{keras.__version__}",\n"weights": {WEIGHTS}']
    for kind in ("losses", "metrics"):
        cases = ",\n".join(json.dumps(case) for of, case in lines if of == kind)
        parts.append(f'"{kind}": [\n{cases}\n]')
    Path(__file__).with_name("losses.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")
