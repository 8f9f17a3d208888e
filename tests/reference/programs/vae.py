"""Variational autoencoders and their relatives."""

from .draws import normal, uniform


def bernoulli_vae(tf, function):
    enc, dec = tf.Variable(0.3 * normal(0, 6, 4)), tf.Variable(0.3 * normal(1, 2, 6))
    x = tf.constant((uniform(2, 5, 6) > 0.5).astype("float32"))
    optimizer = tf.optimizers.Adam(1e-2)

    @function
    def train_step(x, seed):
        with tf.GradientTape() as tape:
            mean, logvar = tf.split(x @ enc, 2, axis=1)
            eps = tf.random.stateless_normal(tf.shape(mean), seed=seed)
            z = eps * tf.exp(logvar * 0.5) + mean
            logits = z @ dec
            reconstruction = tf.reduce_sum(
                tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=x), axis=1
            )
            kl = -0.5 * tf.reduce_sum(1.0 + logvar - tf.square(mean) - tf.exp(logvar), axis=1)
            loss = tf.reduce_mean(reconstruction + kl)
        optimizer.apply_gradients(zip(tape.gradient(loss, [enc, dec]), [enc, dec]))
        return loss

    return [train_step(x, tf.constant([i, 7])) for i in range(4)], enc, dec


def log_normal_estimate(tf, function):
    mean, logvar = tf.constant(normal(0, 3, 2)), tf.constant(normal(1, 3, 2))

    @function
    def log_normal_pdf(sample, mean, logvar, raxis=1):
        log2pi = tf.math.log(2.0 * 3.14159265)
        return tf.reduce_sum(-0.5 * ((sample - mean) ** 2.0 * tf.exp(-logvar) + logvar + log2pi), axis=raxis)

    with tf.GradientTape() as tape:
        tape.watch([mean, logvar])
        z = mean + tf.exp(0.5 * logvar) * tf.random.stateless_normal((3, 2), seed=(1, 2))
        elbo = tf.reduce_mean(log_normal_pdf(z, 0.0, 0.0) - log_normal_pdf(z, mean, logvar))
    return elbo, tape.gradient(elbo, [mean, logvar])


def beta_vae_annealed(tf, function):
    mu, rho = tf.Variable([0.5, -1.0]), tf.Variable([0.1, 0.2])

    @function
    def step(beta):
        with tf.GradientTape() as tape:
            kl = 0.5 * tf.reduce_sum(mu**2 + tf.exp(rho) - rho - 1.0)
            loss = tf.reduce_sum((mu - 2.0) ** 2) + beta * kl
        for v, g in zip((mu, rho), tape.gradient(loss, (mu, rho))):
            v.assign_sub(0.1 * g)
        return loss

    return [step(tf.constant(min(1.0, epoch / 2), tf.float32)) for epoch in range(4)], mu, rho


def importance_weighted(tf, function):
    mu, w = tf.Variable(0.3), tf.Variable(1.2)
    eps = tf.constant(normal(0, 5))

    @function
    def bound():
        z = mu + eps
        log_p = -0.5 * z**2 - 0.5 * (1.0 - w * z) ** 2
        log_q = -0.5 * (z - mu) ** 2
        return tf.reduce_logsumexp(log_p - log_q) - tf.math.log(5.0)

    with tf.GradientTape() as tape:
        y = bound()
    return y, tape.gradient(y, [mu, w])


def vector_quantized(tf, function):
    codebook, enc = tf.Variable(normal(0, 4, 2)), tf.Variable(normal(1, 3, 2))
    x = tf.constant(normal(2, 5, 3))

    @function
    def losses():
        with tf.GradientTape() as tape:
            z = x @ enc
            distances = tf.reduce_sum((z[:, None] - codebook[None]) ** 2, axis=-1)
            codes = tf.argmin(distances, axis=1)
            quantized = tf.gather(codebook, codes)
            straight = z + tf.stop_gradient(quantized - z)
            loss = tf.reduce_mean(tf.reduce_sum(straight, axis=1) ** 2)
            loss += tf.reduce_mean((tf.stop_gradient(quantized) - z) ** 2) * 0.25
            loss += tf.reduce_mean((quantized - tf.stop_gradient(z)) ** 2)
        return codes, loss, tape.gradient(loss, [codebook, enc])

    return losses()


def gumbel_softmax(tf, function):
    logits = tf.Variable(normal(0, 3, 4))

    @function
    def sample(temperature):
        u = tf.random.stateless_uniform((3, 4), seed=[3, 4], minval=1e-6, maxval=1.0)
        soft = tf.nn.softmax((logits - tf.math.log(-tf.math.log(u))) / temperature)
        hard = tf.one_hot(tf.argmax(soft, axis=1), 4)
        return tf.stop_gradient(hard - soft) + soft

    with tf.GradientTape() as tape:
        y = sample(tf.constant(0.5))
        loss = tf.reduce_sum(y * tf.constant([1.0, 2.0, 3.0, 4.0]))
    return y, tape.gradient(loss, logits)


def denoising_autoencoder(tf, function):
    w, b = tf.Variable(0.4 * normal(0, 4, 3)), tf.Variable(tf.zeros(4))
    x = tf.constant(uniform(1, 6, 4))

    @function
    def step(noise):
        with tf.GradientTape() as tape:
            hidden = tf.nn.sigmoid((x + 0.1 * noise) @ w)
            out = tf.matmul(hidden, w, transpose_b=True) + b
            loss = tf.reduce_mean(tf.reduce_sum((out - x) ** 2, axis=1))
        gradients = tape.gradient(loss, {"w": w, "b": b})
        w.assign_sub(0.1 * gradients["w"])
        b.assign_sub(0.1 * gradients["b"])
        return loss

    return [step(tf.constant(normal(i, 6, 4))) for i in range(3)], w, b


def contractive_autoencoder(tf, function):
    w = tf.Variable(0.5 * normal(0, 3, 2))
    x = tf.constant(normal(1, 4, 3))

    @function
    def gradient():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                tape.watch(x)
                h = tf.sigmoid(x @ w)
            jacobian = tape.batch_jacobian(h, x)
            loss = tf.reduce_mean((tf.matmul(h, w, transpose_b=True) - x) ** 2)
            loss += 0.1 * tf.reduce_sum(jacobian**2)
        return loss, outer.gradient(loss, w)

    return gradient()


def sparse_autoencoder_penalty(tf, function):
    w = tf.Variable(normal(0, 4, 3))
    x = tf.constant(normal(1, 5, 4))

    @function
    def penalty(rho):
        active = tf.reduce_mean(tf.sigmoid(x @ w), axis=0)
        return tf.reduce_sum(
            rho * tf.math.log(rho / active) + (1.0 - rho) * tf.math.log((1.0 - rho) / (1.0 - active))
        )

    with tf.GradientTape() as tape:
        y = penalty(0.05)
    return y, tape.gradient(y, w)
