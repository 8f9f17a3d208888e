"""Fourier transforms, frames and complex numbers."""

import numpy as np

from .draws import normal


def spectrum_matching(tf, function):
    t = np.arange(16, dtype="float32")
    target = tf.constant(np.sin(0.8 * t))
    frequency = tf.Variable(0.7)

    @function
    def step():
        with tf.GradientTape() as tape:
            spectrum = tf.abs(tf.signal.rfft(tf.sin(frequency * t)))
            loss = tf.reduce_mean((spectrum - tf.abs(tf.signal.rfft(target))) ** 2)
        frequency.assign_sub(1e-3 * tape.gradient(loss, frequency))
        return loss

    return [step() for _ in range(3)], frequency


def filtering_by_fft(tf, function):
    x, h = tf.constant(normal(0, 8)), tf.Variable(normal(1, 8))

    @function
    def convolve():
        return tf.signal.irfft(tf.signal.rfft(x) * tf.signal.rfft(h))

    with tf.GradientTape() as tape:
        y = convolve()
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, h)


def spectrogram(tf, function):
    x = tf.constant(normal(0, 20))

    @function
    def f(x):
        return tf.math.log(tf.abs(tf.signal.stft(x, frame_length=8, frame_step=4)) ** 2 + 1e-2)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        loss = tf.reduce_mean(y)
    return y, tape.gradient(loss, x)


def complex_gradient(tf, function):
    z = tf.constant([1.0 + 2.0j, -0.5 + 0.25j], tf.complex64)

    @function
    def f(z):
        return tf.math.real(z * tf.math.conj(z)) + tf.abs(z**2)

    with tf.GradientTape() as tape:
        tape.watch(z)
        y = f(z)
    return y, tape.gradient(y, z)


def phase_retrieval(tf, function):
    measured = tf.constant(np.abs(np.fft.fft(normal(0, 8))).astype("float32"))
    x = tf.Variable(normal(1, 8))

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((tf.abs(tf.signal.fft(tf.cast(x, tf.complex64))) - measured) ** 2)
        x.assign_sub(0.01 * tape.gradient(loss, x))
        return loss

    return [step() for _ in range(4)], x


def framed_energy(tf, function):
    x = tf.constant(normal(0, 10))

    @function
    def f(x):
        frames = tf.signal.frame(x, 4, 2, pad_end=True)
        return tf.reduce_sum((frames * tf.signal.hann_window(4)) ** 2, axis=-1)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


def discrete_cosine_compression(tf, function):
    x = tf.constant(normal(0, 6))

    @function
    def f(x, threshold):
        c = tf.signal.dct(x, norm="ortho")
        kept = c * tf.cast(tf.abs(c) > threshold, tf.float32)
        return tf.signal.idct(kept, norm="ortho")

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tf.constant(0.5))
        loss = tf.reduce_sum((y - x) ** 2)
    return y, loss, tape.gradient(loss, x)


def quantum_state_evolution(tf, function):
    """A two level system: the chance to be excited after a pulse, by its strength."""
    strength = tf.Variable(0.4, dtype=tf.float64)

    @function
    def excited(steps):
        state = tf.constant([1.0, 0.0], tf.complex128)
        c = tf.cast(tf.cos(0.5 * strength), tf.complex128)
        s = tf.complex(tf.zeros((), tf.float64), -tf.sin(0.5 * strength))
        for _ in range(steps):
            state = tf.stack([c * state[0] + s * state[1], s * state[0] + c * state[1]])
        return tf.abs(state[1]) ** 2

    with tf.GradientTape() as tape:
        p = excited(3)
    return p, tape.gradient(p, strength)


def overlap_and_add(tf, function):
    frames = tf.constant(normal(0, 3, 4))

    @function
    def f(frames):
        return tf.signal.overlap_and_add(frames, 2)

    with tf.GradientTape() as tape:
        tape.watch(frames)
        y = f(frames)
        loss = tf.reduce_sum(y**2)
    return y, tape.gradient(loss, frames)
