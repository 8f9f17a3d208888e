"""How a program depends on its inputs, asked of any module with TensorFlow's API.

A program is an expression on `tf` and on inputs of one letter each. A path is a string of those letters: "xy" is the
derivative by y of the gradient by x. What is there is "none", "zeros" or "values", or "slices" for IndexedSlices.
"""

import numpy as np


class Program:
    """An expression, the module it is evaluated with, and the inputs it uses."""

    def __init__(self, tf, text, inputs):
        self.tf, self.text = tf, text
        self.code = compile(text, text, "eval")
        self.inputs = {letter: np.asarray(inputs[letter]) for letter in inputs if letter in _names(self.code)}

    def sources(self, make):
        return {letter: make(array) for letter, array in self.inputs.items()}

    def outputs(self, sources):
        return _listed(self.tf, eval(self.code, {"tf": self.tf, **sources}))

    def derivative(self, path, sources):
        """By nested tapes, as a list of one tensor; None as soon as one is."""
        if not path:
            return self.outputs(sources)
        with self.tf.GradientTape() as tape:
            tape.watch(list(sources.values()))
            inner = self.derivative(path[:-1], sources)
            if inner is None:
                return None
            targets = _listed(self.tf, inner)
        g = tape.gradient(targets, sources[path[-1]], [_weights(self.tf, t) for t in targets])
        return None if g is None else [g]

    def kinds(self, order, derivative):
        """What `derivative(path)` is for all paths up to an order; from None nothing leads further."""
        found, paths = {}, [""]
        for _ in range(order):
            paths = [path + letter for path in paths for letter in self.inputs]
            found |= {path: derivative(path) for path in paths}
            paths = [path for path in paths if found[path] in ("zeros", "values", "slices")]
        return found


def kind(tf, gradients):
    """What a derivative is: None, or a list of one."""
    if gradients is None:
        return "none"
    if isinstance(gradients[0], tf.IndexedSlices):
        return "slices"
    return "zeros" if np.all(np.abs(gradients[0].numpy()) <= 1e-9) else "values"


def _names(code):
    inner = [_names(constant) for constant in code.co_consts if hasattr(constant, "co_names")]
    return set(code.co_names).union(*inner)


def _listed(tf, value):
    if isinstance(value, (list, tuple)):
        return [part for one in value for part in _listed(tf, one)]
    return [tf.convert_to_tensor(value) if isinstance(value, tf.IndexedSlices) else value]


def _weights(tf, target):
    """A weight for each element, so that derivatives do not add up to 0."""
    if not (target.dtype.is_floating or target.dtype.is_complex):
        return None
    shape = tuple(target.shape)
    weights = 1 + np.cos(1.0 + np.arange(np.prod(shape, dtype=int)) ** 2)
    return tf.constant(weights.reshape(shape), target.dtype)
