"""TensorFlow 1's optimizers, learning rates and moving averages in eager mode: results of a few steps.

Where TensorFlow 2 is installed, `python tests/data/make_v1_training.py` writes v1_training.json beside this file.
"""

import json
from pathlib import Path

OPTIMIZERS = {
    "GradientDescentOptimizer": [{"learning_rate": 0.1}],
    "MomentumOptimizer": [
        {"learning_rate": 0.1, "momentum": 0.9},
        {"learning_rate": 0.1, "momentum": 0.9, "use_nesterov": True},
    ],
    "AdagradOptimizer": [{"learning_rate": 0.1}],
    "AdadeltaOptimizer": [{"learning_rate": 1.0}],
    "RMSPropOptimizer": [
        {"learning_rate": 0.01},
        {"learning_rate": 0.01, "momentum": 0.5, "decay": 0.8},
        {"learning_rate": 0.01, "centered": True},
    ],
    "AdamOptimizer": [{"learning_rate": 0.05}, {"learning_rate": 0.05, "beta1": 0.7, "beta2": 0.8}],
    "FtrlOptimizer": [
        {"learning_rate": 0.1},
        {
            "learning_rate": 0.1,
            "l1_regularization_strength": 0.01,
            "l2_regularization_strength": 0.02,
            "l2_shrinkage_regularization_strength": 0.03,
        },
        {"learning_rate": 0.1, "learning_rate_power": -0.3, "beta": 0.2},
    ],
}


def trained(tf, name, options):
    """Five steps: a vector by a dense gradient, a table by that of some of its rows."""
    optimizer = getattr(tf.compat.v1.train, name)(**options)
    vector, table = (
        tf.Variable([1.0, -2.0, 0.5]),
        tf.Variable([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]),
    )
    step = tf.Variable(0, dtype=tf.int64)

    def loss():
        rows = tf.gather(table, [0, 2, 0])
        return tf.reduce_sum(vector**2 * [1.0, 2.0, 3.0]) + tf.reduce_sum(rows**2)

    for _ in range(5):
        optimizer.minimize(loss, global_step=step, var_list=[vector, table])
    names = sorted(optimizer.get_slot_names())
    slots = {name: [optimizer.get_slot(v, name).numpy().tolist() for v in (vector, table)] for name in names}
    return {
        "vector": vector.numpy().tolist(),
        "table": table.numpy().tolist(),
        "step": int(step),
        "slots": slots,
    }


def rates(tf, step):
    train = tf.compat.v1.train
    found = {
        "exponential": train.exponential_decay(0.1, step, 10, 0.5),
        "exponential stairs": train.exponential_decay(0.1, step, 10, 0.5, True),
        "natural": train.natural_exp_decay(0.1, step, 10, 0.5),
        "natural stairs": train.natural_exp_decay(0.1, step, 10, 0.5, True),
        "inverse": train.inverse_time_decay(0.1, step, 10, 0.5),
        "polynomial": train.polynomial_decay(0.1, step, 10),
        "polynomial cycle": train.polynomial_decay(0.1, step, 10, 0.01, 0.5, True),
        "piecewise": train.piecewise_constant(step, [3, 10], [1.0, 0.5, 0.2]),
        "cosine": train.cosine_decay(0.1, step, 10, 0.2),
        "restarts": train.cosine_decay_restarts(0.1, step, 10),
        "linear cosine": train.linear_cosine_decay(0.1, step, 10),
    }
    return {name: float(rate()) for name, rate in found.items()}


def averages(tf):
    found = []
    for options in ({}, {"num_updates": 3}, {"zero_debias": True}):
        variable, average = tf.Variable([1.0, 2.0]), tf.train.ExponentialMovingAverage(0.9, **options)
        average.apply([variable])
        variable.assign([3.0, 5.0])
        average.apply([variable])
        found.append(average.average(variable).numpy().tolist())
    return found


def results(tf):
    return {
        "optimizers": {
            f"{name} {i}": trained(tf, name, options)
            for name, several in OPTIMIZERS.items()
            for i, options in enumerate(several)
        },
        "rates": {str(step): rates(tf, step) for step in (0, 3, 10, 25)},
        "averages": averages(tf),
    }


if __name__ == "__main__":
    import tensorflow

    path = Path(__file__).with_name("v1_training.json")
    path.write_text(json.dumps(results(tensorflow), indent=1) + "\n")
