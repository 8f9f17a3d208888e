"""A long convolution by way of the Fourier transform, and the gradient of its kernel."""

NUMBER = 12
TITLE = "FFT convolution of 2^16"

SIZE = 1 << 16


def inputs(rng):
    return rng.standard_normal(SIZE, dtype="float32"), rng.standard_normal(SIZE, dtype="float32") / SIZE**0.5


def in_tensorflow(tf, signal, kernel):
    kernel = tf.Variable(kernel)

    def step(signal):
        with tf.GradientTape() as tape:
            mixed = tf.signal.irfft(tf.signal.rfft(signal) * tf.signal.rfft(kernel))
            loss = tf.reduce_mean(tf.square(mixed))
        return [tape.gradient(loss, kernel)]

    return step, (tf.constant(signal),)


def in_torch(torch, signal, kernel):
    kernel = torch.tensor(kernel, requires_grad=True)

    def step(signal):
        mixed = torch.fft.irfft(torch.fft.rfft(signal) * torch.fft.rfft(kernel))
        return torch.autograd.grad(torch.square(mixed).mean(), [kernel])

    return step, (torch.tensor(signal),)


def in_jax(jax, signal, kernel):
    jnp = jax.numpy

    def loss(kernel, signal):
        return jnp.mean(jnp.square(jnp.fft.irfft(jnp.fft.rfft(signal) * jnp.fft.rfft(kernel))))

    def step(kernel, signal):
        return [jax.grad(loss)(kernel, signal)]

    return step, (jnp.array(kernel), jnp.array(signal))
