"""Losses and metrics, by hand and from the library."""

from .draws import integers, normal, uniform


def focal_loss(tf, function):
    logits = tf.Variable(normal(0, 6))
    labels = tf.constant([1.0, 0, 0, 1, 1, 0])

    @function
    def f(gamma):
        with tf.GradientTape() as tape:
            p = tf.sigmoid(logits)
            pt = tf.where(labels == 1.0, p, 1.0 - p)
            loss = -tf.reduce_mean((1.0 - pt) ** gamma * tf.math.log(pt))
        return loss, tape.gradient(loss, logits)

    return f(tf.constant(2.0)), f(tf.constant(0.5))


def dice_loss(tf, function):
    mask, logits = tf.constant((uniform(0, 2, 3, 3) > 0.5).astype("float32")), tf.Variable(normal(1, 2, 3, 3))

    @function
    def f():
        with tf.GradientTape() as tape:
            p = tf.sigmoid(logits)
            overlap = tf.reduce_sum(p * mask, axis=(1, 2))
            total = tf.reduce_sum(p, axis=(1, 2)) + tf.reduce_sum(mask, axis=(1, 2))
            loss = 1.0 - tf.reduce_mean((2.0 * overlap + 1.0) / (total + 1.0))
        return loss, tape.gradient(loss, logits)

    return f()


def quantile_loss(tf, function):
    prediction, target = tf.Variable(normal(0, 4, 3)), tf.constant(normal(1, 4, 1))
    quantiles = tf.constant([0.1, 0.5, 0.9])

    @function
    def f():
        with tf.GradientTape() as tape:
            error = target - prediction
            loss = tf.reduce_mean(tf.maximum(quantiles * error, (quantiles - 1.0) * error))
        return loss, tape.gradient(loss, prediction)

    return f()


def losses_of_the_library(tf, function):
    y, p = tf.constant(uniform(0, 3, 4)), tf.Variable(0.1 + 0.8 * uniform(1, 3, 4))
    losses = {
        "mse": tf.losses.MeanSquaredError(),
        "mae": tf.losses.MeanAbsoluteError(),
        "huber": tf.losses.Huber(0.3),
        "log_cosh": tf.losses.LogCosh(),
        "bce": tf.losses.BinaryCrossentropy(label_smoothing=0.1),
        "kl": tf.losses.KLDivergence(),
        "poisson": tf.losses.Poisson(),
        "cosine": tf.losses.CosineSimilarity(),
    }

    @function
    def f():
        with tf.GradientTape(persistent=True) as tape:
            values = {name: loss(y, p) for name, loss in losses.items()}
        return values, {name: tape.gradient(value, p)[0] for name, value in values.items()}

    return f()


def loss_with_sample_weights(tf, function):
    labels, logits = tf.constant(integers(0, 3, 4)), tf.Variable(normal(1, 4, 3))
    loss_function = tf.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    @function
    def f(weights):
        with tf.GradientTape() as tape:
            each = loss_function(labels, logits)
            loss = tf.reduce_sum(each * weights)
        return each, tape.gradient(loss, logits)

    return f(tf.constant([1.0, 0.0, 0.5, 2.0]))


def metrics_over_batches(tf, function):
    mean, accuracy = tf.metrics.Mean(), tf.metrics.SparseCategoricalAccuracy()
    w = tf.Variable(normal(0, 3, 2))

    @function
    def step(x, y):
        with tf.GradientTape() as tape:
            logits = x @ w
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        w.assign_sub(0.5 * tape.gradient(loss, w))
        mean.update_state(loss)
        accuracy.update_state(y, logits)

    epochs = []
    for epoch in range(2):
        mean.reset_state()
        accuracy.reset_state()
        for batch in range(2):
            step(tf.constant(normal(1 + batch, 4, 3)), tf.constant(integers(5 + batch, 2, 4)))
        epochs.append([epoch, mean.result(), accuracy.result()])
    return epochs


def precision_recall_auc(tf):
    y, p = (uniform(0, 20) > 0.5).astype("float32"), uniform(1, 20)
    metrics = [
        tf.metrics.Precision(),
        tf.metrics.Recall(),
        tf.metrics.AUC(num_thresholds=20),
        tf.metrics.BinaryAccuracy(),
    ]
    for metric in metrics:
        metric.update_state(y[:10], p[:10])
        metric.update_state(y[10:], p[10:])
    return [float(metric.result()) for metric in metrics]


def confusion_matrix(tf, function):
    labels, predictions = tf.constant(integers(0, 3, 12)), tf.constant(integers(1, 3, 12))

    @function
    def f(labels, predictions):
        matrix = tf.math.confusion_matrix(labels, predictions, num_classes=3)
        diagonal = tf.linalg.diag_part(matrix)
        return matrix, diagonal / tf.reduce_sum(matrix, axis=1)

    return f(labels, predictions)


def soft_f1(tf, function):
    y, logits = tf.constant((uniform(0, 6, 3) > 0.4).astype("float32")), tf.Variable(normal(1, 6, 3))

    @function
    def f():
        with tf.GradientTape() as tape:
            p = tf.sigmoid(logits)
            tp = tf.reduce_sum(p * y, axis=0)
            fp = tf.reduce_sum(p * (1.0 - y), axis=0)
            fn = tf.reduce_sum((1.0 - p) * y, axis=0)
            loss = tf.reduce_mean(1.0 - 2.0 * tp / (2.0 * tp + fn + fp + 1e-16))
        return loss, tape.gradient(loss, logits)

    return f()


def weighted_and_balanced_cross_entropy(tf, function):
    logits, labels = tf.Variable(normal(0, 5)), tf.constant([1.0, 0, 1, 0, 0])

    @function
    def f(weight):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.weighted_cross_entropy_with_logits(labels, logits, pos_weight=weight))
        return loss, tape.gradient(loss, logits)

    return f(tf.constant(3.0))


def labels_that_do_not_sum_to_one(tf, function):
    logits = tf.Variable(normal(0, 2, 3))
    labels = tf.constant([[2.0, 0.0, 1.0], [0.25, 0.25, 0.0]])

    @function
    def f():
        with tf.GradientTape() as tape:
            loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return loss, tape.gradient(loss, logits)

    return f()


def loss_of_an_empty_batch(tf, function):
    w = tf.Variable(normal(0, 3, 2))

    @function
    def f(x):
        with tf.GradientTape() as tape:
            y = tf.tanh(x @ w)
            loss = tf.reduce_sum(y**2)
        return y, loss, tape.gradient(loss, w)

    return f(tf.zeros((0, 3))), f(tf.ones((1, 3)))


def earth_mover_by_sorting(tf, function):
    a, b = tf.Variable(normal(0, 6)), tf.constant(normal(1, 6))

    @function
    def f():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(tf.sort(a) - tf.sort(b)))
        return loss, tape.gradient(loss, a)

    return f()


def regularizers_by_a_filter(tf, function):
    variables = {"kernel": tf.Variable(normal(0, 2, 2)), "bias": tf.Variable(normal(1, 2))}

    @function
    def f(l1, l2):
        with tf.GradientTape() as tape:
            penalty = tf.add_n(
                [
                    l1 * tf.reduce_sum(tf.abs(v)) + l2 * tf.nn.l2_loss(v)
                    for name, v in variables.items()
                    if name != "bias"
                ]
            )
        return penalty, tape.gradient(penalty, variables)

    return f(tf.constant(0.1), tf.constant(0.5))
