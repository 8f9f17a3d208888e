"""The data of the programs: arrays that depend on a seed alone, in every version of NumPy."""

import numpy as np


def normal(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def uniform(seed, *shape):
    return np.random.RandomState(seed).rand(*shape).astype("float32")


def integers(seed, high, *shape):
    return np.random.RandomState(seed).randint(0, high, shape).astype("int32")
