"""Shapes that values decide, with what comes before and after: values and two orders of gradients."""

from .draws import normal
from .unknown_lengths import _orders


def softmax_over_the_selected(tf, function):
    def score(x):
        keep = tf.reduce_sum(x, 1) > 0
        rows = tf.boolean_mask(x, keep)
        weights = tf.nn.softmax(rows[:, 0] * 2.0)
        return tf.reduce_sum(weights[:, None] * rows**2, 0)

    return _orders(tf, function, score, tf.constant(normal(31, 6, 3)))


def positive_places_scattered_back(tf, function):
    def score(x):
        places = tf.where(x > 0.2)
        values = tf.gather_nd(x, places)
        updated = tf.tensor_scatter_nd_update(x, places, tf.exp(-values))
        return tf.reduce_sum(updated * x) + tf.cast(tf.shape(places)[0], tf.float32)

    return _orders(tf, function, score, tf.constant(normal(32, 4, 3)))


def means_by_unique_labels(tf, function):
    labels = tf.constant([7, 3, 7, 5, 3, 7])

    def score(x):
        kinds, numbers, counts = tf.unique_with_counts(labels)
        sums = tf.math.unsorted_segment_sum(x**2, numbers, tf.size(kinds))
        means = sums / tf.cast(counts, tf.float32)[:, None]
        return tf.reduce_prod(1.0 + means, 0)

    return _orders(tf, function, score, tf.constant(0.5 * normal(33, 6, 2)))


def repeated_by_counts(tf, function):
    def score(x):
        counts = tf.cast(tf.math.ceil(tf.abs(x) * 2.0), tf.int32)
        long = tf.repeat(x, counts)
        places = tf.cast(tf.range(tf.reduce_sum(counts)), tf.float32)
        return tf.reduce_sum(tf.sin(long) * places)

    return _orders(tf, function, score, tf.constant([0.6, -1.1, 0.2]))


def a_window_around_the_largest(tf, function):
    def score(x):
        y = tf.cumsum(x**2)
        at = tf.argmax(x, output_type=tf.int32)
        window = y[tf.maximum(at - 1, 0) : tf.minimum(at + 3, tf.size(x))]
        return tf.reduce_mean(window) * tf.cast(tf.size(window), tf.float32) ** 2

    x = tf.constant([0.1, 0.9, -0.3, 0.4, 0.2])
    return _orders(tf, function, score, x), _orders(tf, function, score, x[::-1])


def folded_into_a_computed_shape(tf, function):
    def score(x):
        rows = tf.reduce_sum(tf.cast(x > 0, tf.int32))
        table = tf.reshape(tf.sin(x), tf.stack([rows, -1]))
        return tf.reduce_sum(tf.reduce_prod(table, 0))

    return _orders(tf, function, score, tf.constant([0.5, -0.4, 1.2, 0.3, 0.8, -0.9, -0.1, -0.2]))


def masked_to_the_longest(tf, function):
    def score(x):
        lengths = tf.cast(tf.round(3.0 * tf.sigmoid(x[:, 0])), tf.int32)
        mask = tf.cast(tf.sequence_mask(lengths), tf.float32)
        columns = x[:, : tf.reduce_max(lengths)] * mask
        return tf.reduce_sum(tf.exp(columns)) / tf.reduce_sum(mask)

    return _orders(tf, function, score, tf.constant(normal(34, 4, 3)))


def parts_by_experts_stitched(tf, function):
    def mixture(x):
        choice = tf.cast(x[:, 0] > 0, tf.int32) + tf.cast(x[:, 1] > 0.5, tf.int32)
        parts = tf.dynamic_partition(x, choice, 3)
        places = tf.dynamic_partition(tf.range(tf.shape(x)[0]), choice, 3)
        results = [tf.tanh(parts[0]), parts[1] ** 2, tf.nn.softmax(parts[2])]
        return tf.reduce_sum(tf.dynamic_stitch(places, results) * tf.constant([1.0, -2.0]))

    return _orders(tf, function, mixture, tf.constant(normal(35, 7, 2)))


def boxes_that_remain(tf, function):
    boxes = tf.constant(
        [
            [0.0, 0.0, 1.0, 1.0],
            [0.0, 0.1, 1.0, 1.1],
            [2.0, 2.0, 3.0, 3.0],
            [2.0, 2.1, 3.0, 3.1],
            [5.0, 5.0, 6.0, 6.0],
        ]
    )

    def score(x):
        scores = tf.sigmoid(2.0 * x)
        kept = tf.image.non_max_suppression(boxes, scores, 4, iou_threshold=0.5, score_threshold=0.4)
        return tf.reduce_sum(tf.gather(scores, kept) ** 2) * tf.cast(tf.size(kept), tf.float32)

    return _orders(tf, function, score, tf.constant([0.3, 0.5, -0.1, 0.2, -1.5]))


def words_weighted_by_length(tf, function):
    def score(x):
        words = tf.strings.split(tf.constant("a few words of several lengths"))
        lengths = tf.cast(tf.strings.length(words), tf.float32)
        return tf.reduce_sum(tf.nn.softmax(lengths * x[0]) * lengths) * x[1]

    return _orders(tf, function, score, tf.constant([0.2, 1.5]))


def outliers_dropped_in_a_training_step(tf, function):
    data = tf.constant(normal(36, 8, 2))
    center, rate = tf.Variable([0.0, 0.0]), tf.constant(0.2)

    @function
    def step():
        with tf.GradientTape() as tape:
            distances = tf.reduce_sum((data - center) ** 2, 1)
            near = tf.boolean_mask(distances, distances < 1.5 * tf.reduce_mean(distances))
            loss = tf.reduce_mean(near)
        center.assign_sub(rate * tape.gradient(loss, center))
        return loss, tf.size(near)

    return [step() for _ in range(4)], center


def the_largest_few_of_a_computed_number(tf, function):
    def score(x):
        k = tf.reduce_sum(tf.cast(x > 0.3, tf.int32))
        values, places = tf.math.top_k(x, k)
        return tf.reduce_sum(values**3) + tf.reduce_sum(tf.gather(tf.sin(x), places))

    return _orders(tf, function, score, tf.constant([0.5, -0.4, 1.2, 0.35, 0.8]))


def pairs_closer_than_a_limit(tf, function):
    def energy(x):
        differences = x[:, None] - x[None]
        squares = tf.reduce_sum(differences**2, -1)
        pairs = tf.where((squares < 2.0) & (squares > 0.0))
        near = tf.gather_nd(squares, pairs)
        return tf.reduce_sum(1.0 / (0.1 + near)) * 0.5

    return _orders(tf, function, energy, tf.constant(normal(37, 5, 2)))


def _orders_around(tf, f, x):
    """The value and gradients of two orders by tapes around the function: inside, TensorFlow wants equal lengths."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
        length = tf.reduce_sum(first * first)
    return y, first, outer.gradient(length, x)


def branches_of_different_lengths(tf, function):
    @function
    def f(x):
        if tf.reduce_sum(x) > 0.0:
            y = x[:2] ** 3
        else:
            y = x * x
        return y

    x = abs(normal(41, 4))
    return [_orders_around(tf, f, tf.constant(sign * x)) for sign in (1.0, -1.0)]


def cases_of_different_lengths(tf, function):
    @function
    def f(x):
        number = tf.cast(x[1] > 0.0, tf.int32)
        y = tf.switch_case(number, [lambda: x[:1] ** 2, lambda: x**3])
        return tf.cond(x[0] > 0.0, lambda: y[:1], lambda: tf.concat([x, y * x[2]], 0))

    x, signs = abs(normal(42, 3)), [(1, 1, 1), (1, -1, 1), (-1, -1, 1)]
    return [_orders_around(tf, f, tf.constant(x * sign, tf.float32)) for sign in signs]


def rows_added_in_loops_that_say_so(tf, function):
    @function
    def grown(n, x):
        y = x
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None]))])
            y = tf.concat([y, x * tf.cast(i, tf.float32)], 0)
        while tf.reduce_sum(y) < 10.0:
            tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None]))])
            y = tf.concat([y, y[:1] + 1.0], 0)
        _, y = tf.while_loop(
            lambda i, y: i < 2,
            lambda i, y: (i + 1, tf.concat([y, y[-1:] * x[0]], 0)),
            [tf.constant(0), y],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        )
        return y

    x = tf.constant(normal(43, 2))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = grown(tf.constant(3), x)
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, x)
