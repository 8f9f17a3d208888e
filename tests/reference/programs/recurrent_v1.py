"""Recurrent networks by TensorFlow 1's functions, of cells that are plain objects."""

from .draws import normal


class Cell:
    """A simple cell, whose output is not its state."""

    def __init__(self, tf, seed, inputs, units):
        self._tf, self.output_size, self.state_size = tf, units, units
        self.w = tf.Variable(0.4 * normal(seed, inputs, units))
        self.u = tf.Variable(0.4 * normal(seed + 1, units, units))

    def zero_state(self, batch_size, dtype):
        return self._tf.zeros([batch_size, self.state_size], dtype)

    def __call__(self, x, state, scope=None):
        state = self._tf.tanh(x @ self.w + state @ self.u)
        return state * state, state


def _loss_and_gradients(tf, function, network, variables):
    @function
    def loss(x):
        found = [tf.reduce_sum(tf.sin(one)) for one in tf.nest.flatten(network(x))]
        return tf.add_n(found)

    with tf.GradientTape() as tape:
        y = loss(tf.constant(normal(9, 3, 4, 2)))
    return y, tape.gradient(y, variables)


def dynamic_rnn_with_lengths(tf, function):
    cell = Cell(tf, 0, 2, 3)

    def network(x):
        return tf.compat.v1.nn.dynamic_rnn(cell, x, sequence_length=[4, 2, 1], dtype=tf.float32)

    return _loss_and_gradients(tf, function, network, [cell.w, cell.u])


def dynamic_rnn_from_a_state_time_first(tf, function):
    cell = Cell(tf, 0, 2, 3)

    def network(x):
        start = tf.constant(normal(5, 4, 3))
        return tf.compat.v1.nn.dynamic_rnn(cell, x, initial_state=start, time_major=True)

    return _loss_and_gradients(tf, function, network, [cell.w, cell.u])


def bidirectional_rnns(tf, function):
    ahead, back = Cell(tf, 0, 2, 3), Cell(tf, 2, 2, 3)
    nn = tf.compat.v1.nn

    def network(x):
        lengths = [4, 2, 1]
        dynamic = nn.bidirectional_dynamic_rnn(ahead, back, x, sequence_length=lengths, dtype=tf.float32)
        steps = tf.unstack(x, axis=1)
        static = nn.static_bidirectional_rnn(
            ahead, back, steps, dtype=tf.float32, sequence_length=tf.constant(lengths, tf.int64)
        )
        return dynamic, static

    return _loss_and_gradients(tf, function, network, [ahead.w, ahead.u, back.w, back.u])


def static_rnn_step_by_step(tf, function):
    cell = Cell(tf, 0, 2, 3)

    def network(x):
        return tf.compat.v1.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)

    return _loss_and_gradients(tf, function, network, [cell.w, cell.u])


def raw_rnn_that_feeds_itself(tf, function):
    cell = Cell(tf, 0, 3, 3)

    def network(x):
        def loop(time, output, state, count):
            if output is None:
                return time >= [3, 1], tf.ones([2, 3]), cell.zero_state(2, tf.float32), None, tf.constant(0.0)
            return time >= [3, 1], output, state, output, count + 1.0

        array, state, count = tf.compat.v1.nn.raw_rnn(cell, loop)
        return array.stack(), state, count

    return _loss_and_gradients(tf, function, network, [cell.w, cell.u])
