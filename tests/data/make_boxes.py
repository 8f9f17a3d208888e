"""Write boxes.json with the real TensorFlow: what each expression below gives.

python tests/data/make_boxes.py        # in an environment with tensorflow-cpu
"""

import json
import os
from pathlib import Path

import numpy as np

BOXES = np.float32(
    [[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3], [0, 0.1, 1, 1.1], [5, 5, 6, 6], [2, 2, 3.1, 3], [0, 0, 0, 0]]
)
SCORES = np.float32([0.9, 0.75, 0.6, 0.95, 0.5, 0.3, 0.7])
CORNERS = np.random.RandomState(1).rand(3, 30, 2, 2).astype(np.float32)
MANY = np.sort(CORNERS, 2).reshape(3, 30, 4)
RANKS = np.random.RandomState(2).rand(3, 30).astype(np.float32)
OBJECT = [[[0.1, 0.2, 0.5, 0.7]]]
OBJECTS = [[[0.1, 0.2, 0.5, 0.7], [0.0, 0.0, 0.0, 0.9]], [[0.3, 0.3, 0.9, 0.35], [0.6, 0.6, 0.7, 1.0]]]

EXPRESSIONS = [
    *[
        f"I.non_max_suppression_padded(C(BOXES), C(SCORES), 5{options})"
        for options in (
            "",
            ", 0.9",
            ", score_threshold=0.5",
            ", sorted_input=True",
            ", iou_threshold=1.0, pad_to_max_output_size=True",
            ", pad_to_max_output_size=True, score_threshold=0.55",
        )
    ],
    "I.non_max_suppression_padded(C([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.5]]), C([0.9, 0.8]), 4)",
    "I.non_max_suppression_padded(C(BOXES[:, [2, 3, 0, 1]]), C(SCORES), 4)",
    "I.non_max_suppression_padded(C(BOXES), C(SCORES), 0)",
    "I.non_max_suppression_padded(C(MANY), C(RANKS), 12, 0.3, 0.2, True)",
    "I.non_max_suppression_padded(C(MANY[None]), C(RANKS[None]), 40, 0.1, pad_to_max_output_size=True)",
    *[
        f"I.stateless_sample_distorted_bounding_box({size}, {boxes}, {seed}{options})"
        for size, boxes, seed, options in (
            ("[100, 120, 3]", "OBJECT", "[1, 2]", ""),
            ("[100, 120, 3]", "OBJECT", "[5, 0]", ""),
            ("np.array([64, 48, 1])", "OBJECTS", "[7, 8]", ", area_range=[0.2, 0.8]"),
            ("[301, 77, 3]", "OBJECTS", "[7, 9]", ", aspect_ratio_range=(0.5, 2.0), max_attempts=7"),
            ("[33, 500, 3]", "OBJECTS", "[3, 3]", ", min_object_covered=0.95"),
            ("[33, 500, 3]", "OBJECTS", "[3, 3]", ", min_object_covered=0.0, area_range=[0.999, 1.0]"),
            (
                "[9, 7, 3]",
                "np.zeros([1, 0, 4], np.float32)",
                "[3, 3]",
                ", use_image_if_no_bounding_boxes=True",
            ),
        )
    ],
    "of_seed(3, lambda: I.sample_distorted_bounding_box([100, 120, 3], OBJECT, 1))",
    "of_seed(3, lambda: I.sample_distorted_bounding_box([100, 120, 3], OBJECT, 5, max_attempts=9))",
]


def value(tf, expression):
    """What an expression gives, as JSON can say it: for each tensor its dtype and its numbers."""

    def of_seed(seed, draw):
        tf.random.set_seed(seed)
        return [*draw(), *draw()]

    names = {"tf": tf, "I": tf.image, "C": tf.constant, "of_seed": of_seed}
    return [[t.dtype.name, t.numpy().tolist()] for t in eval(expression, globals() | names)]


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    results = {expression: value(tensorflow, expression) for expression in EXPRESSIONS}
    lines = [f"{json.dumps(expression)}: {json.dumps(result)}" for expression, result in results.items()]
    Path(__file__).with_name("boxes.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
