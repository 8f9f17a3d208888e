"""Functions whose shapes depend on values, or come in many: arguments and results are those of any function."""

import numpy as np

from .draws import normal


def _positive(tf, x):
    return tf.boolean_mask(x, x > 0)


def gradients_without_a_tape(tf):
    w = tf.Variable(2.0)

    @tf.function
    def f(x):
        w.assign_add(1.0)
        y = _positive(tf, x) ** 3 * w
        first, by_w = tf.gradients(y, [x, w])
        return y, first, by_w, tf.gradients(first, x)[0], tf.hessians(tf.reduce_sum(y), x)[0]

    @tf.function
    def by_another_function(x):
        return gradients_of(x, _positive(tf, x) ** 2)

    def gradients_of(x, y):
        return tf.gradients(y, x)[0]

    x = tf.constant(normal(51, 4))
    return f(x), f(x), by_another_function(x), by_another_function(x)


def numbers_and_variables_returned(tf):
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        return len([1, 2]), 2.5, True, None, {"a": 1, "b": (_positive(tf, x), [3])}, np.arange(2), v

    results = [f(tf.constant(normal(52, 4))) for _ in range(2)]
    v.assign([5.0, 6.0])
    return results, [tf.is_tensor(leaf) for leaf in tf.nest.flatten(results[1])]


def arrays_given(tf):
    seen = []

    @tf.function
    def f(x, times, *, scale=1.0):
        seen.append([tf.is_tensor(x), isinstance(times, int), tf.executing_eagerly()])
        return _positive(tf, x) * times * scale, x.dtype == tf.float32

    results = [f(normal(53, 4), 3), f(normal(53, 4), 3, scale=np.float32(2.0))]
    return results, seen[0], seen[-1], tf.executing_eagerly()


def lists_for_a_signature(tf):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.int32)])
    def f(x, n):
        return x[x > 0] * tf.cast(n, x.dtype)

    results = [f([1.0, -2.0, 3.0], 2), f((4.0, 5.0), 3), f([1, 2], 1), f(normal(54, 3), np.int32(2))]
    for wrong in (tf.constant([[1.0]]), tf.constant([1])):
        try:
            results.append(f(wrong, 2))
        except (TypeError, ValueError):
            results.append("refused")
    return results


def slices_that_reach_beyond_the_end(tf):
    @tf.function
    def f(x, at):
        return tf.is_tensor(x), x[at : at + 2] * 2.0, 7

    return [f(normal(55, 4), tf.constant(at)) for at in (1, 3)]


def many_lengths(tf):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x):
        slope = tf.gradients(tf.reduce_sum(x**3), x)[0]
        n = 0
        while tf.reduce_sum(x) < 10.0:
            x = x * 2.0
            n += 1
        return n, x, slope, {"length": x.shape[0] or tf.size(x)}, 3

    results = [f(tf.constant(abs(normal(56, n)))) for n in (2, 3, 4, 3)] + [f([1.0] * 5)]
    return results, [tf.is_tensor(result[0]) and tf.is_tensor(result[-1]) for result in results]


def an_array_written_twice(tf):
    @tf.function
    def f(x, masked):
        ta = tf.TensorArray(tf.float32, 2, clear_after_read=False)
        first = ta.write(0, x[0]).write(1, x[1])
        second = first.write(0, x[2])
        if masked:
            x = _positive(tf, x)
        return first.stack(), second.stack(), x

    return [f(tf.constant(normal(57, 4)), masked) for masked in (False, True)]


def python_in_the_middle(tf):
    @tf.function
    def f(x):
        y = tf.py_function(lambda t: t * float(tf.executing_eagerly()), [_positive(tf, x)], tf.float32)
        with tf.init_scope():
            outside = tf.executing_eagerly()
        lengths = [tf.size(y)]
        return y * 2.0, outside, tf.executing_eagerly(), tf.RaggedTensor.from_row_lengths(y, lengths).values

    return f(tf.constant(normal(58, 4)))
