"""Images as the things that are trained."""

from .draws import normal, uniform


def _gram(tf, features):
    result = tf.linalg.einsum("bijc,bijd->bcd", features, features)
    shape = tf.shape(features)
    return result / tf.cast(shape[1] * shape[2], tf.float32)


def content_and_style(tf, function):
    kernels = [tf.constant(0.4 * normal(0, 3, 3, 3, 4)), tf.constant(0.4 * normal(1, 3, 3, 4, 4))]

    def extract(image):
        style = tf.nn.relu(tf.nn.conv2d(image, kernels[0], 1, "SAME"))
        content = tf.nn.relu(tf.nn.conv2d(style, kernels[1], 2, "SAME"))
        return {"style": [_gram(tf, style)], "content": {"deep": content}}

    style_image, content_image = tf.constant(uniform(2, 1, 6, 6, 3)), tf.constant(uniform(3, 1, 6, 6, 3))
    style_targets, content_targets = extract(style_image)["style"], extract(content_image)["content"]
    image, optimizer = tf.Variable(content_image), tf.optimizers.Adam(0.02, beta_1=0.99, epsilon=1e-1)

    @function
    def train_step(image):
        with tf.GradientTape() as tape:
            outputs = extract(image)
            style = tf.add_n([tf.reduce_mean((a - b) ** 2) for a, b in zip(outputs["style"], style_targets)])
            content = tf.add_n(
                [
                    tf.reduce_mean((outputs["content"][name] - content_targets[name]) ** 2)
                    for name in content_targets
                ]
            )
            loss = 10.0 * style + content + 1e-3 * tf.image.total_variation(image)[0]
        optimizer.apply_gradients([(tape.gradient(loss, image), image)])
        image.assign(tf.clip_by_value(image, 0.0, 1.0))
        return loss

    return [train_step(image) for _ in range(3)], image[0, :2, :2]


def deep_dream(tf, function):
    kernel = tf.constant(0.5 * normal(0, 3, 3, 1, 3))

    @function
    def climb(image, steps, rate):
        loss = tf.constant(0.0)
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                tape.watch(image)
                loss = tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(image, kernel, 1, "VALID")))
            gradients = tape.gradient(loss, image)
            gradients /= tf.math.reduce_std(gradients) + 1e-8
            image = tf.clip_by_value(image + gradients * rate, -1.0, 1.0)
        return loss, image

    loss, image = climb(tf.constant(0.3 * normal(1, 1, 5, 5, 1)), tf.constant(3), tf.constant(0.05))
    return loss, image


def gram_matrix_gradient(tf, function):
    features, target = tf.Variable(normal(0, 1, 3, 3, 2)), tf.constant(normal(1, 1, 2, 2))

    @function
    def f():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((_gram(tf, features) - target) ** 2)
        return loss, tape.gradient(loss, features)

    return f()


def adaptive_instance_normalization(tf, function):
    content, style = tf.Variable(normal(0, 1, 3, 3, 2)), tf.Variable(normal(1, 1, 3, 3, 2))

    @function
    def f():
        with tf.GradientTape() as tape:
            cm, cv = tf.nn.moments(content, [1, 2], keepdims=True)
            sm, sv = tf.nn.moments(style, [1, 2], keepdims=True)
            y = tf.nn.batch_normalization(content, cm, cv, sm, tf.sqrt(sv), 1e-5)
            loss = tf.reduce_sum(y**2 * tf.cast(tf.reshape(tf.range(18), (1, 3, 3, 2)), tf.float32))
        return tape.gradient(loss, [content, style])

    return f()


def image_from_features(tf, function):
    w = tf.constant(normal(0, 9, 5))
    target = tf.constant(normal(1, 5))
    image = tf.Variable(tf.zeros((3, 3)))
    history = {"loss": [], "range": []}

    @function
    def step():
        with tf.GradientTape() as tape:
            f = tf.linalg.matvec(w, tf.reshape(tf.tanh(image), [-1]), transpose_a=True)
            loss = tf.reduce_sum((f - target) ** 2)
        image.assign_sub(0.02 * tape.gradient(loss, image))
        return loss, tf.reduce_max(image) - tf.reduce_min(image)

    for _ in range(3):
        loss, spread = step()
        history["loss"].append(loss)
        history["range"].append(spread)
    return history, image
