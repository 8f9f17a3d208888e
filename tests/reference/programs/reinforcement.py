"""Policies and values: loops through an environment, ratios, targets."""

import numpy as np

from .draws import integers, normal


def reinforce(tf, function):
    theta = tf.Variable(0.1 * normal(0, 3, 2))
    states, actions = tf.constant(normal(1, 6, 3)), tf.constant(integers(2, 2, 6))
    returns = tf.constant(normal(3, 6))
    optimizer = tf.optimizers.Adam(0.05)

    @function
    def update(states, actions, returns):
        with tf.GradientTape() as tape:
            log_probabilities = tf.nn.log_softmax(states @ theta)
            chosen = tf.reduce_sum(log_probabilities * tf.one_hot(actions, 2), axis=1)
            baseline = tf.reduce_mean(returns)
            loss = -tf.reduce_mean(chosen * (returns - baseline))
        optimizer.apply_gradients([(tape.gradient(loss, theta), theta)])
        return loss

    return [update(states, actions, returns) for _ in range(4)], theta


def actor_critic_episode(tf, function):
    """The loop of TensorFlow's actor-critic tutorial, in an environment written with tensors."""
    actor, critic, common = (
        tf.Variable(0.5 * normal(0, 4, 2)),
        tf.Variable(0.5 * normal(1, 4, 1)),
        tf.Variable(0.5 * normal(2, 2, 4)),
    )
    variables = [actor, critic, common]
    huber = tf.losses.Huber(reduction="sum")

    def environment_step(state, action):
        push = tf.cast(action, tf.float32) * 2.0 - 1.0
        state = tf.stack([state[0] + 0.3 * state[1], 0.9 * state[1] + 0.5 * push])
        return state, -tf.abs(state[0]), tf.abs(state[0]) > 1.2

    def run_episode(initial_state, max_steps):
        action_probs = tf.TensorArray(dtype=tf.float32, size=0, dynamic_size=True)
        values = tf.TensorArray(dtype=tf.float32, size=0, dynamic_size=True)
        rewards = tf.TensorArray(dtype=tf.float32, size=0, dynamic_size=True)
        initial_state_shape = initial_state.shape
        state = initial_state
        for t in tf.range(max_steps):
            h = tf.nn.relu(tf.expand_dims(state, 0) @ common)
            action_logits, value = h @ actor, h @ critic
            action = tf.argmax(action_logits, axis=1)[0]
            probabilities = tf.nn.softmax(action_logits)
            values = values.write(t, tf.squeeze(value))
            action_probs = action_probs.write(t, probabilities[0, action])
            state, reward, done = environment_step(state, action)
            state.set_shape(initial_state_shape)
            rewards = rewards.write(t, reward)
            if tf.cast(done, tf.bool):
                break
        return action_probs.stack(), values.stack(), rewards.stack()

    def expected_return(rewards, gamma):
        n = tf.shape(rewards)[0]
        returns = tf.TensorArray(dtype=tf.float32, size=n)
        rewards = tf.cast(rewards[::-1], dtype=tf.float32)
        discounted_sum = tf.constant(0.0)
        discounted_sum_shape = discounted_sum.shape
        for i in tf.range(n):
            discounted_sum = rewards[i] + gamma * discounted_sum
            discounted_sum.set_shape(discounted_sum_shape)
            returns = returns.write(i, discounted_sum)
        returns = returns.stack()[::-1]
        return (returns - tf.math.reduce_mean(returns)) / (tf.math.reduce_std(returns) + 1e-6)

    @function
    def train_step(initial_state):
        with tf.GradientTape() as tape:
            action_probs, values, rewards = run_episode(initial_state, 8)
            returns = expected_return(rewards, 0.99)
            action_probs, values, returns = [tf.expand_dims(x, 1) for x in [action_probs, values, returns]]
            actor_loss = -tf.math.reduce_sum(tf.math.log(action_probs) * (returns - values))
            loss = actor_loss + huber(values, returns)
        gradients = tape.gradient(loss, variables)
        for variable, gradient in zip(variables, gradients):
            variable.assign_sub(0.01 * gradient)
        return tf.math.reduce_sum(rewards), loss

    return [train_step(tf.constant([0.1, -0.2])) for _ in range(2)], variables


def environment_in_numpy(tf, function):
    """The environment is Python: it is stepped once for each step of the loop."""
    calls = []
    theta = tf.Variable([0.5, -0.4])

    def env_step(state, action):
        calls.append(float(action))
        state = (0.8 * state + 0.3 * action).astype(np.float32)
        return state, np.array(-(state**2).sum(), np.float32)

    @function
    def episode(state):
        rewards = tf.TensorArray(tf.float32, size=3)
        log_probabilities = tf.TensorArray(tf.float32, size=3)
        for t in tf.range(3):
            mean = tf.tensordot(state, theta, 1)
            action = tf.stop_gradient(mean) + 0.1
            state, reward = tf.numpy_function(env_step, [state, action], [tf.float32, tf.float32])
            state.set_shape([2])
            log_probabilities = log_probabilities.write(t, -0.5 * (action - mean) ** 2)
            rewards = rewards.write(t, reward)
        return rewards.stack(), log_probabilities.stack()

    with tf.GradientTape() as tape:
        rewards, log_probabilities = episode(tf.constant([1.0, -0.5]))
        loss = -tf.reduce_sum(log_probabilities * tf.cumsum(rewards, reverse=True))
    return rewards, loss, tape.gradient(loss, theta), len(calls)


def ppo_ratio_loss(tf, function):
    logits, values = tf.Variable(normal(0, 5, 3)), tf.Variable(normal(1, 5))
    old = tf.constant(normal(2, 5, 3))
    actions, advantages, returns = (
        tf.constant(integers(3, 3, 5)),
        tf.constant(normal(4, 5)),
        tf.constant(normal(5, 5)),
    )

    @function
    def losses(epsilon):
        with tf.GradientTape() as tape:
            new_log = tf.gather(tf.nn.log_softmax(logits), actions, batch_dims=1)
            old_log = tf.gather(tf.nn.log_softmax(old), actions, batch_dims=1)
            ratio = tf.exp(new_log - old_log)
            clipped = tf.clip_by_value(ratio, 1.0 - epsilon, 1.0 + epsilon)
            policy = -tf.reduce_mean(tf.minimum(ratio * advantages, clipped * advantages))
            value = tf.reduce_mean(tf.square(returns - values))
            entropy = -tf.reduce_mean(
                tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), axis=1)
            )
            loss = policy + 0.5 * value - 0.01 * entropy
        return loss, ratio, tape.gradient(loss, [logits, values])

    return losses(tf.constant(0.2))


def dqn_target(tf, function):
    online, target = tf.Variable(normal(0, 4, 2)), tf.Variable(normal(1, 4, 2), trainable=False)
    s, s2 = tf.constant(normal(2, 6, 4)), tf.constant(normal(3, 6, 4))
    a, r, done = tf.constant(integers(4, 2, 6)), tf.constant(normal(5, 6)), tf.constant([0.0, 0, 1, 0, 0, 1])

    @function
    def step():
        best = tf.reduce_max(s2 @ target, axis=1)
        y = r + 0.99 * (1.0 - done) * best
        with tf.GradientTape() as tape:
            q = tf.reduce_sum(s @ online * tf.one_hot(a, 2), axis=1)
            loss = tf.reduce_mean(tf.losses.huber(tf.expand_dims(y, 1), tf.expand_dims(q, 1)))
        online.assign_sub(0.5 * tape.gradient(loss, online))
        return loss

    losses = []
    for i in range(4):
        losses.append(step())
        if i % 2:
            target.assign(0.5 * online + 0.5 * target)
    return losses, online, target


def double_dqn_with_gather_nd(tf, function):
    online, target = tf.Variable(normal(0, 3, 4)), tf.constant(normal(1, 3, 4))
    s, s2, a = tf.constant(normal(2, 5, 3)), tf.constant(normal(3, 5, 3)), tf.constant(integers(4, 4, 5))

    @function
    def gradient():
        with tf.GradientTape() as tape:
            rows = tf.range(5)
            best = tf.argmax(s2 @ online, axis=1, output_type=tf.int32)
            y = tf.gather_nd(s2 @ target, tf.stack([rows, best], axis=1))
            q = tf.gather_nd(s @ online, tf.stack([rows, a], axis=1))
            loss = tf.reduce_sum(tf.square(tf.stop_gradient(y) - q))
        return loss, tape.gradient(loss, online)

    return gradient()


def generalized_advantage(tf, function):
    rewards, values = tf.constant(normal(0, 6)), tf.Variable(normal(1, 7))
    dones = tf.constant([0.0, 0, 1, 0, 0, 0])

    @function
    def advantages():
        deltas = rewards + 0.99 * values[1:] * (1.0 - dones) - values[:-1]

        def step(carry, inputs):
            delta, done = inputs
            return delta + 0.99 * 0.95 * (1.0 - done) * carry

        return tf.scan(step, (deltas, dones), initializer=tf.constant(0.0), reverse=True)

    with tf.GradientTape() as tape:
        a = advantages()
        loss = tf.reduce_sum(a**2)
    return a, tape.gradient(loss, values)


def soft_actor_critic_policy(tf, function):
    w, log_alpha = tf.Variable(0.3 * normal(0, 3, 2)), tf.Variable(-1.0)
    states, noise = tf.constant(normal(1, 4, 3)), tf.constant(0.3 * normal(2, 4))

    @function
    def losses():
        with tf.GradientTape(persistent=True) as tape:
            mean, log_std = tf.unstack(states @ w, axis=1)
            log_std = tf.clip_by_value(log_std, -2.0, 1.0)
            raw = mean + tf.exp(log_std) * noise
            action = tf.tanh(raw)
            log_p = -0.5 * noise**2 - log_std - tf.math.log(1.0 - action**2 + 1e-6)
            q = -tf.square(action - 0.3)
            policy_loss = tf.reduce_mean(tf.stop_gradient(tf.exp(log_alpha)) * log_p - q)
            alpha_loss = -tf.reduce_mean(log_alpha * tf.stop_gradient(log_p - 1.0))
        return tape.gradient(policy_loss, [w, log_alpha]), tape.gradient(alpha_loss, [w, log_alpha])

    return losses()


def policy_iteration(tf, function):
    transitions = tf.nn.softmax(tf.constant(normal(0, 2, 4, 4)))
    rewards = tf.Variable(normal(1, 4))

    @function
    def value_iteration(sweeps):
        v = tf.zeros(4)
        for _ in tf.range(sweeps):
            v = rewards + 0.9 * tf.reduce_max(tf.linalg.matvec(transitions, v), axis=0)
        return v

    with tf.GradientTape() as tape:
        v = value_iteration(tf.constant(6))
    return v, tape.gradient(v, rewards)


def bandit_with_a_python_class(tf, function):
    class Bandit:
        def __init__(self):
            self.preferences = tf.Variable(tf.zeros(3))
            self.rewards = []
            self.pulls = {0: 0, 1: 0, 2: 0}

        def pull(self, arm):
            self.pulls[arm] += 1
            self.rewards.append([0.1, 0.5, 0.9][arm])
            return self.rewards[-1]

    bandit = Bandit()

    @function
    def update(arm, reward):
        with tf.GradientTape() as tape:
            log_p = tf.nn.log_softmax(bandit.preferences)[arm]
            loss = -log_p * reward
        bandit.preferences.assign_sub(tape.gradient(loss, bandit.preferences))
        return loss

    for i in range(6):
        arm = i % 3 if i < 3 else int(tf.argmax(bandit.preferences))
        update(tf.constant(arm), tf.constant(bandit.pull(arm)))
    return bandit.pulls, bandit.rewards, bandit.preferences
