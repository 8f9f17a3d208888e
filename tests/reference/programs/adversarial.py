"""Attacks by gradients of the input."""

from .draws import integers, normal


def _model(tf):
    w1, w2 = tf.Variable(0.5 * normal(0, 4, 6)), tf.Variable(0.5 * normal(1, 6, 3))
    predict = lambda x: tf.nn.elu(x @ w1) @ w2
    loss = lambda x, y: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, predict(x)))
    return [w1, w2], predict, loss


def fast_gradient_sign(tf, function):
    _, predict, loss = _model(tf)
    x, y = tf.constant(normal(2, 5, 4)), tf.constant(integers(3, 3, 5))

    @function
    def attack(x, y, epsilon):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(x, y)
        return x + epsilon * tf.sign(tape.gradient(value, x)), value

    adversarial, value = attack(x, y, tf.constant(0.1))
    return adversarial, value, tf.argmax(predict(adversarial), axis=1)


def projected_gradient_descent(tf, function):
    _, _, loss = _model(tf)
    x, y = tf.constant(normal(2, 3, 4)), tf.constant(integers(3, 3, 3))

    @function
    def attack(x, y):
        perturbed = x
        for _ in tf.range(4):
            with tf.GradientTape() as tape:
                tape.watch(perturbed)
                value = loss(perturbed, y)
            perturbed += 0.05 * tf.sign(tape.gradient(value, perturbed))
            perturbed = tf.clip_by_value(perturbed, x - 0.12, x + 0.12)
        return perturbed - x

    return attack(x, y)


def adversarial_training(tf, function):
    weights, _, loss = _model(tf)
    x, y = tf.constant(normal(2, 5, 4)), tf.constant(integers(3, 3, 5))

    @function
    def step():
        with tf.GradientTape() as attack:
            attack.watch(x)
            value = loss(x, y)
        noise = 0.1 * tf.math.l2_normalize(attack.gradient(value, x), axis=1)
        with tf.GradientTape() as tape:
            total = 0.5 * loss(x, y) + 0.5 * loss(x + tf.stop_gradient(noise), y)
        for w, g in zip(weights, tape.gradient(total, weights)):
            w.assign_sub(0.5 * g)
        return total

    return [step() for _ in range(4)], weights[1]


def input_gradient_regularization(tf, function):
    weights, _, loss = _model(tf)
    x, y = tf.constant(normal(2, 5, 4)), tf.constant(integers(3, 3, 5))

    @function
    def gradients():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                value = loss(x, y)
            penalty = tf.reduce_sum(inner.gradient(value, x) ** 2)
            total = value + 0.3 * penalty
        return total, outer.gradient(total, weights)

    return gradients()


def virtual_adversarial_training(tf, function):
    _, predict, _ = _model(tf)
    x = tf.constant(normal(2, 3, 4))

    def divergence(p, q):
        return tf.reduce_mean(
            tf.reduce_sum(tf.nn.softmax(p) * (tf.nn.log_softmax(p) - tf.nn.log_softmax(q)), axis=1)
        )

    @function
    def direction(d):
        logits = tf.stop_gradient(predict(x))
        for _ in range(2):
            d = tf.math.l2_normalize(d, axis=1)
            with tf.GradientTape() as tape:
                tape.watch(d)
                value = divergence(logits, predict(x + 0.5 * d))
            d = tape.gradient(value, d)
        return tf.math.l2_normalize(d, axis=1), value

    return direction(tf.constant(normal(4, 3, 4)))


def integrated_gradients(tf, function):
    _, predict, _ = _model(tf)
    x, baseline = tf.constant(normal(2, 1, 4)), tf.zeros((1, 4))

    @function
    def attributions(x):
        alphas = tf.linspace(0.0, 1.0, 6)[:, None]
        path = baseline + alphas * (x - baseline)
        with tf.GradientTape() as tape:
            tape.watch(path)
            scores = tf.nn.softmax(predict(path))[:, 1]
        gradients = tape.gradient(scores, path)
        average = tf.reduce_mean((gradients[:-1] + gradients[1:]) / 2.0, axis=0)
        return (x - baseline) * average

    return attributions(x)
