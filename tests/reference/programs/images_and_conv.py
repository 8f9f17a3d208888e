"""Convolutions, pooling, normalization and images."""

import numpy as np

from .draws import normal, uniform


def small_convolutional_network(tf, function):
    kernel, w = tf.Variable(0.3 * normal(0, 3, 3, 1, 2)), tf.Variable(0.3 * normal(1, 8, 3))
    x, labels = tf.constant(normal(2, 2, 4, 4, 1)), tf.constant([0, 2])

    @function
    def step():
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.nn.conv2d(x, kernel, strides=1, padding="SAME"))
            h = tf.nn.max_pool2d(h, 2, 2, "VALID")
            logits = tf.reshape(h, (2, -1)) @ w
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        for v, g in zip((kernel, w), tape.gradient(loss, (kernel, w))):
            v.assign_sub(0.5 * g)
        return loss

    return [step() for _ in range(3)], kernel


def transposed_convolution(tf, function):
    x, kernel = tf.constant(normal(0, 1, 2, 2, 2)), tf.Variable(normal(1, 3, 3, 1, 2))

    @function
    def f(x):
        return tf.nn.conv2d_transpose(x, kernel, output_shape=(1, 4, 4, 1), strides=2, padding="SAME")

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, [x, kernel])


def depthwise_separable(tf, function):
    x = tf.constant(normal(0, 1, 4, 4, 2))
    depthwise, pointwise = tf.Variable(normal(1, 2, 2, 2, 1)), tf.Variable(normal(2, 1, 1, 2, 3))

    @function
    def f(x):
        return tf.nn.separable_conv2d(x, depthwise, pointwise, strides=(1, 1, 1, 1), padding="VALID")

    with tf.GradientTape() as tape:
        y = f(x)
        loss = tf.reduce_mean(tf.nn.swish(y))
    return loss, tape.gradient(loss, [depthwise, pointwise])


def dilated_causal_conv1d(tf, function):
    x, kernel = tf.constant(normal(0, 1, 8, 1)), tf.Variable(normal(1, 1, 2, 1))

    @function
    def f(x):
        for dilation in (1, 2):
            earlier = tf.pad(x, [[0, 0], [dilation, 0], [0, 0]])[:, :-dilation]
            x = tf.nn.elu(tf.nn.conv1d(tf.concat([earlier, x], -1), kernel, 1, "VALID"))
        return x

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        last = y[0, -1, 0]
    return y, tape.gradient(last, [x, kernel])


def batch_normalization_with_moving_averages(tf, function):
    gamma, beta = tf.Variable(tf.ones(2)), tf.Variable(tf.zeros(2))
    moving = {"mean": tf.Variable(tf.zeros(2)), "variance": tf.Variable(tf.ones(2))}

    @function
    def normalize(x, training):
        if training:
            mean, variance = tf.nn.moments(x, axes=[0, 1, 2])
            moving["mean"].assign(0.9 * moving["mean"] + 0.1 * mean)
            moving["variance"].assign(0.9 * moving["variance"] + 0.1 * variance)
        else:
            mean, variance = moving["mean"], moving["variance"]
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)

    x = tf.constant(normal(0, 2, 2, 2, 2))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = normalize(x, True)
        loss = tf.reduce_sum(y**3)
    return tape.gradient(loss, [x, gamma, beta]), normalize(x, False), moving


def residual_block(tf, function):
    kernels = [tf.Variable(0.3 * normal(i, 3, 3, 2, 2)) for i in range(2)]

    @function
    def block(x):
        y = tf.nn.relu(tf.nn.conv2d(x, kernels[0], 1, "SAME"))
        return tf.nn.relu(x + tf.nn.conv2d(y, kernels[1], 1, "SAME"))

    x = tf.constant(normal(3, 1, 3, 3, 2))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = block(block(x))
        loss = tf.reduce_mean(y)
    return loss, tape.gradient(loss, x)


def average_pooling_and_resize(tf, function):
    x = tf.constant(normal(0, 1, 4, 4, 1))

    @function
    def f(x):
        small = tf.nn.avg_pool2d(x, 2, 2, "VALID")
        return tf.image.resize(small, (4, 4)), tf.image.resize(small, (3, 3), method="nearest")

    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b = f(x)
        loss = tf.reduce_sum(a**2) + tf.reduce_sum(b)
    return a, tape.gradient(loss, x)


def total_variation_denoising(tf, function):
    noisy = tf.constant(uniform(0, 4, 4, 1))
    image = tf.Variable(noisy)

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((image - noisy) ** 2) + 0.1 * tf.image.total_variation(image)
        image.assign(tf.clip_by_value(image - 0.1 * tape.gradient(loss, image), 0.0, 1.0))
        return loss

    return [step() for _ in range(4)], image[..., 0]


def patches_of_a_vision_transformer(tf, function):
    w = tf.Variable(normal(0, 4, 3))
    images = tf.constant(normal(1, 1, 4, 4, 1))

    @function
    def embed(images):
        patches = tf.image.extract_patches(images, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
        return tf.reshape(patches, (1, 4, 4)) @ w

    with tf.GradientTape() as tape:
        tape.watch(images)
        y = embed(images)
        loss = tf.reduce_sum(tf.nn.softmax(y) ** 2)
    return y, tape.gradient(loss, [images, w])


def colours_and_flips(tf, function):
    image = tf.constant(0.1 + 0.8 * uniform(0, 2, 2, 3))

    @function
    def f(image):
        gray = tf.image.rgb_to_grayscale(image)
        flipped = tf.image.flip_left_right(tf.image.rot90(image))
        return gray, tf.image.adjust_brightness(flipped, 0.1) * tf.image.rgb_to_hsv(image)[..., 2:]

    with tf.GradientTape() as tape:
        tape.watch(image)
        gray, mixed = f(image)
        loss = tf.reduce_sum(gray**2) + tf.reduce_sum(mixed)
    return gray, mixed, tape.gradient(loss, image)


def spatial_transformer(tf, function):
    """Bilinear sampling of an affine grid, from gathers."""
    image, theta = tf.constant(uniform(0, 4, 4)), tf.Variable([[0.9, 0.1, 0.05], [-0.1, 0.8, 0.1]])

    @function
    def sample():
        grid = tf.stack(tf.meshgrid(tf.linspace(-1.0, 1.0, 4), tf.linspace(-1.0, 1.0, 4)), axis=-1)
        ones = tf.ones((4, 4, 1))
        xy = (tf.einsum("hwk,dk->hwd", tf.concat([grid, ones], -1), theta) + 1.0) * 1.5
        low = tf.clip_by_value(tf.floor(xy), 0.0, 2.0)
        fraction = xy - low
        i = tf.cast(low, tf.int32)
        get = lambda dx, dy: tf.gather_nd(image, tf.stack([i[..., 1] + dy, i[..., 0] + dx], -1))
        fx, fy = fraction[..., 0], fraction[..., 1]
        top = get(0, 0) * (1 - fx) + get(1, 0) * fx
        return top * (1 - fy) + (get(0, 1) * (1 - fx) + get(1, 1) * fx) * fy

    with tf.GradientTape() as tape:
        y = sample()
        loss = tf.reduce_mean(y**2)
    return y, tape.gradient(loss, theta)


def edges_and_similarity(tf, function):
    a, b = tf.Variable(uniform(0, 1, 12, 12, 1)), tf.constant(uniform(1, 1, 12, 12, 1))

    @function
    def f():
        with tf.GradientTape() as tape:
            edges = tf.reduce_mean(tf.abs(tf.image.sobel_edges(a)))
            loss = edges - tf.reduce_mean(tf.image.ssim(a, b, 1.0))
        return loss, tape.gradient(loss, a)[0, :2, :4, 0]

    return f()


def class_activation_map(tf, function):
    kernel, w = tf.constant(normal(0, 3, 3, 1, 3)), tf.constant(normal(1, 3, 2))
    image = tf.constant(normal(2, 1, 5, 5, 1))

    @function
    def heat(image):
        with tf.GradientTape() as tape:
            features = tf.nn.relu(tf.nn.conv2d(image, kernel, 1, "SAME"))
            tape.watch(features)
            score = (tf.reduce_mean(features, axis=(1, 2)) @ w)[:, 1]
        weights = tf.reduce_mean(tape.gradient(score, features), axis=(1, 2))
        return tf.nn.relu(tf.einsum("bhwc,bc->bhw", features, weights))

    return heat(image)


def group_and_instance_normalization(tf, function):
    x = tf.constant(normal(0, 2, 3, 3, 4))

    @function
    def f(x):
        grouped = tf.reshape(x, (2, 3, 3, 2, 2))
        mean, variance = tf.nn.moments(grouped, [1, 2, 4], keepdims=True)
        y = tf.reshape((grouped - mean) / tf.sqrt(variance + 1e-5), (2, 3, 3, 4))
        return tf.reduce_sum(y**3, axis=(1, 2))

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)[0, 0]


def saliency_of_integer_pixels(tf, function):
    pixels = np.arange(16, dtype=np.uint8).reshape(1, 4, 4, 1) * 15
    kernel = tf.constant(normal(0, 2, 2, 1, 1))

    @function
    def f(pixels):
        x = tf.image.convert_image_dtype(pixels, tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.tanh(tf.nn.conv2d(x, kernel, 1, "VALID")))
        return y, tape.gradient(y, x)

    return f(tf.constant(pixels))
