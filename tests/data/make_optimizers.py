"""Makes optimizers.json: the paths that Keras's optimizers and schedules take.

Run it where TensorFlow and Keras 3 are installed: `KERAS_BACKEND=tensorflow python tests/data/make_optimizers.py`.
Each case is an optimizer, its arguments, and the variables after each step of `gradients` (the same for all cases).
"""

import json
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

STEPS = 8
SHAPES = [(), (3,), (2, 2)]
GENERATOR = np.random.default_rng(7)
VALUES = [GENERATOR.normal(size=shape).astype("float32") for shape in SHAPES]
GRADIENTS = [
    [(GENERATOR.normal(size=shape) * 3.0 ** GENERATOR.integers(-2, 2)).astype("float32") for shape in SHAPES]
    for _ in range(STEPS)
]

OWN = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}],
    "Adam": [{}, {"amsgrad": True}, {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 0.01}],
    "AdamW": [{}, {"learning_rate": 0.1, "weight_decay": 0.1}],
    "RMSprop": [
        {},
        {"momentum": 0.9},
        {"centered": True, "rho": 0.5, "epsilon": 0.01},
        {"momentum": 0.5, "centered": True},
    ],
    "Adagrad": [{}, {"learning_rate": 0.5, "initial_accumulator_value": 0.5, "epsilon": 0.1}],
    "Adadelta": [{}, {"learning_rate": 1.0, "rho": 0.5, "epsilon": 0.01}],
    "Adamax": [{}, {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 0.01}],
    "Nadam": [{}, {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 0.01}],
    "Ftrl": [
        {},
        {"learning_rate": 0.1, "l1_regularization_strength": 0.1, "l2_regularization_strength": 0.2},
        {
            "learning_rate": 0.1,
            "learning_rate_power": -0.3,
            "l2_shrinkage_regularization_strength": 0.1,
            "beta": 0.5,
        },
    ],
    "Lion": [{}, {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.7}],
}
SHARED = [
    {"weight_decay": 0.1},
    {"clipnorm": 0.5},
    {"clipvalue": 0.3},
    {"global_clipnorm": 0.7},
    {"use_ema": True, "ema_momentum": 0.7},
    {"use_ema": True, "ema_momentum": 0.7, "ema_overwrite_frequency": 3},
    {"loss_scale_factor": 4.0},
    {"gradient_accumulation_steps": 3},
    {"gradient_accumulation_steps": 2, "use_ema": True, "ema_overwrite_frequency": 2, "clipnorm": 0.5},
]
CASES = [(name, options) for name, choices in OWN.items() for options in choices]
CASES += [
    (name, {"learning_rate": 0.1, **options}) for name in ("SGD", "Adam", "Nadam") for options in SHARED
]

SCHEDULES = {
    "ExponentialDecay": [
        {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.9},
        {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.9, "staircase": True},
    ],
    "InverseTimeDecay": [
        {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.9},
        {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.9, "staircase": True},
    ],
    "PiecewiseConstantDecay": [{"boundaries": [3, 10], "values": [1.0, 0.5, 0.1]}],
    "PolynomialDecay": [
        {"initial_learning_rate": 0.1, "decay_steps": 10},
        {
            "initial_learning_rate": 0.1,
            "decay_steps": 10,
            "power": 0.5,
            "end_learning_rate": 0.01,
            "cycle": True,
        },
    ],
    "CosineDecay": [
        {"initial_learning_rate": 0.1, "decay_steps": 10},
        {"initial_learning_rate": 0.1, "decay_steps": 10, "alpha": 0.2},
        {
            "initial_learning_rate": 0.01,
            "decay_steps": 10,
            "warmup_target": 0.2,
            "warmup_steps": 5,
            "alpha": 0.1,
        },
    ],
    "CosineDecayRestarts": [
        {"initial_learning_rate": 0.1, "first_decay_steps": 4},
        {
            "initial_learning_rate": 0.1,
            "first_decay_steps": 4,
            "t_mul": 1.5,
            "m_mul": 0.8,
            "alpha": 0.1,
        },
        {"initial_learning_rate": 0.1, "first_decay_steps": 4, "t_mul": 1.0, "m_mul": 0.5},
    ],
}
AT = [0, 1, 2, 3, 5, 7, 9, 10, 11, 14, 15, 19, 29, 37]


def numbers(arrays, digits=9):
    """Nested lists of the arrays' elements, with as many digits as a float32 has."""
    return [
        json.loads(json.dumps(np.asarray(a).tolist()), parse_float=lambda t: float(f"%.{digits}g" % float(t)))
        for a in arrays
    ]


def path(name, options):
    variables = [tf.Variable(value) for value in VALUES]
    optimizer = getattr(keras.optimizers, name)(**options)
    steps = []
    for gradients in GRADIENTS:
        optimizer.apply_gradients(zip([tf.constant(g) for g in gradients], variables, strict=True))
        steps.append(numbers(variables))
    result = {"optimizer": name, "options": options, "steps": steps}
    if options.get("use_ema"):
        optimizer.finalize_variable_values(variables)
        result["final"] = numbers(variables)
    return result


def rates(name, options):
    schedule = getattr(keras.optimizers.schedules, name)(**options)
    return {"schedule": name, "options": options, "rates": numbers([schedule(step) for step in AT])}


if __name__ == "__main__":
    content = {
        "keras": keras.__version__,
        "values": numbers(VALUES),
        "gradients": [numbers(step) for step in GRADIENTS],
        "paths": [path(name, options) for name, options in CASES],
        "at": AT,
        "rates": [rates(name, options) for name, choices in SCHEDULES.items() for options in choices],
    }
    lines = ",\n".join(
        f"{json.dumps(key)}: "
        + (
            "[\n" + ",\n".join(map(json.dumps, part)) + "\n]"
            if key in ("paths", "rates")
            else json.dumps(part)
        )
        for key, part in content.items()
    )
    Path(__file__).with_name("optimizers.json").write_text("{\n" + lines + "\n}\n")
