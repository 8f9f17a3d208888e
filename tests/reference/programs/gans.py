"""Two networks trained against each other, with one tape each."""

from .draws import normal


def _networks(tf):
    generator = [tf.Variable(0.5 * normal(0, 2, 4)), tf.Variable(0.5 * normal(1, 4, 2))]
    discriminator = [tf.Variable(0.5 * normal(2, 2, 4)), tf.Variable(0.5 * normal(3, 4, 1))]

    def generate(noise):
        return tf.nn.leaky_relu(noise @ generator[0]) @ generator[1]

    def judge(x):
        return tf.nn.leaky_relu(x @ discriminator[0]) @ discriminator[1]

    return generator, discriminator, generate, judge


def dcgan_step(tf, function):
    generator, discriminator, generate, judge = _networks(tf)
    real = tf.constant(normal(4, 6, 2))
    cross_entropy = tf.losses.BinaryCrossentropy(from_logits=True)
    generator_optimizer, discriminator_optimizer = tf.optimizers.Adam(1e-2), tf.optimizers.Adam(1e-2)

    @function
    def train_step(noise):
        with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
            fake = generate(noise)
            real_output, fake_output = judge(real), judge(fake)
            gen_loss = cross_entropy(tf.ones_like(fake_output), fake_output)
            disc_loss = cross_entropy(tf.ones_like(real_output), real_output)
            disc_loss += cross_entropy(tf.zeros_like(fake_output), fake_output)
        generator_optimizer.apply_gradients(zip(gen_tape.gradient(gen_loss, generator), generator))
        discriminator_optimizer.apply_gradients(
            zip(disc_tape.gradient(disc_loss, discriminator), discriminator)
        )
        return gen_loss, disc_loss

    losses = [train_step(tf.constant(normal(10 + i, 6, 2))) for i in range(3)]
    return losses, generator, discriminator


def wasserstein_with_gradient_penalty(tf, function):
    _, critic, generate, judge = _networks(tf)
    real = tf.constant(normal(4, 5, 2))

    @function
    def critic_gradients(noise, mix):
        fake = generate(noise)
        with tf.GradientTape() as tape:
            mixed = mix * real + (1.0 - mix) * fake
            with tf.GradientTape() as inner:
                inner.watch(mixed)
                score = judge(mixed)
            slopes = tf.sqrt(tf.reduce_sum(tf.square(inner.gradient(score, mixed)), axis=1) + 1e-12)
            penalty = tf.reduce_mean((slopes - 1.0) ** 2)
            loss = tf.reduce_mean(judge(fake)) - tf.reduce_mean(judge(real)) + 10.0 * penalty
        return loss, penalty, tape.gradient(loss, critic)

    return critic_gradients(tf.constant(normal(5, 5, 2)), tf.constant(abs(normal(6, 5, 1)) % 1))


def hinge_gan_with_spectral_normalization(tf, function):
    w, u = tf.Variable(normal(0, 3, 4)), tf.Variable(normal(1, 1, 4), trainable=False)
    x = tf.constant(normal(2, 5, 3))

    @function
    def loss_and_gradient():
        with tf.GradientTape() as tape:
            v = tf.math.l2_normalize(u @ tf.transpose(w))
            new_u = tf.math.l2_normalize(v @ w)
            u.assign(tf.stop_gradient(new_u))
            sigma = tf.squeeze(tf.stop_gradient(v) @ w @ tf.transpose(tf.stop_gradient(new_u)))
            out = tf.reduce_sum(x @ (w / sigma), axis=1)
            loss = tf.reduce_mean(tf.nn.relu(1.0 - out))
        return loss, sigma, tape.gradient(loss, w)

    return loss_and_gradient(), loss_and_gradient(), u


def one_persistent_tape_for_both(tf, function):
    generator, discriminator, generate, judge = _networks(tf)

    @function
    def gradients(noise, real):
        with tf.GradientTape(persistent=True) as tape:
            fake = judge(generate(noise))
            gen_loss = tf.reduce_mean(tf.square(fake - 1.0))
            disc_loss = 0.5 * (tf.reduce_mean(tf.square(judge(real) - 1.0)) + tf.reduce_mean(tf.square(fake)))
        return tape.gradient(gen_loss, generator), tape.gradient(disc_loss, discriminator)

    return gradients(tf.constant(normal(5, 4, 2)), tf.constant(normal(6, 4, 2)))


def conditional_generator(tf, function):
    w = tf.Variable(0.3 * normal(0, 5, 3))
    critic = tf.constant(normal(1, 3))

    @function
    def gradient(noise, labels):
        with tf.GradientTape() as tape:
            x = tf.concat([noise, tf.one_hot(labels, 3)], axis=-1)
            image = tf.tanh(x @ w)
            loss = -tf.reduce_mean(tf.linalg.matvec(image, critic))
        return loss, tape.gradient(loss, w)

    return gradient(tf.constant(normal(2, 4, 2)), tf.constant([0, 2, 2, 1]))


def cycle_consistency(tf, function):
    forward, backward = tf.Variable(normal(0, 2, 2)), tf.Variable(normal(1, 2, 2))
    a, b = tf.constant(normal(2, 3, 2)), tf.constant(normal(3, 3, 2))

    @function
    def step():
        with tf.GradientTape(persistent=True) as tape:
            cycle = tf.reduce_mean(tf.abs(a - (a @ forward) @ backward))
            cycle += tf.reduce_mean(tf.abs(b - (b @ backward) @ forward))
            identity = tf.reduce_mean(tf.abs(b - b @ forward))
            total = 10.0 * cycle + 5.0 * identity
        gradients = [tape.gradient(total, v) for v in (forward, backward)]
        unrelated = tape.gradient(identity, backward)
        for v, g in zip((forward, backward), gradients):
            v.assign_sub(0.01 * g)
        return total, unrelated

    return [step() for _ in range(3)], forward, backward


def alternating_updates(tf, function):
    x, y = tf.Variable(1.0), tf.Variable(1.0)
    turns = []

    @function
    def play(minimize):
        with tf.GradientTape() as tape:
            value = x * y + 0.1 * x**2 - 0.1 * y**2
        if minimize:
            x.assign_sub(0.5 * tape.gradient(value, x))
        else:
            y.assign_add(0.5 * tape.gradient(value, y))
        return value

    for i in range(6):
        turns.append(play(i % 2 == 0))
    return turns, x, y


def feature_matching(tf, function):
    generator, discriminator, generate, _ = _networks(tf)

    @function
    def gradient(noise, real):
        with tf.GradientTape() as tape:
            tape.watch(noise)
            features = [
                tf.reduce_mean(tf.nn.elu(x @ discriminator[0]), axis=0) for x in (generate(noise), real)
            ]
            loss = tf.reduce_sum(tf.math.squared_difference(*features))
        return tape.gradient(loss, [noise, generator, discriminator])

    return gradient(tf.constant(normal(7, 3, 2)), tf.constant(normal(8, 5, 2)))
