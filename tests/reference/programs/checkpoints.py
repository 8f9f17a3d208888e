"""Saving, restoring, and going on as if nothing had happened."""

import os
import tempfile

from .draws import normal


def resumed_training(tf, function):
    x, y = tf.constant(normal(0, 6, 2)), tf.constant(normal(1, 6, 1))

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.zeros((2, 1)))
            self.b = tf.Variable(tf.zeros(1))

    def trainer(model, optimizer):
        @function
        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x @ model.w + model.b - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, [model.w, model.b]), [model.w, model.b]))
            return loss

        return step

    with tempfile.TemporaryDirectory() as folder:
        model, optimizer = Model(), tf.optimizers.Adam(0.1)
        step = trainer(model, optimizer)
        losses = [step() for _ in range(3)]
        path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(os.path.join(folder, "ckpt"))
        expected = [step() for _ in range(2)]
        model2, optimizer2 = Model(), tf.optimizers.Adam(0.1)
        optimizer2.build([model2.w, model2.b])
        tf.train.Checkpoint(model=model2, optimizer=optimizer2).restore(path).assert_consumed()
        step = trainer(model2, optimizer2)
        again = [step() for _ in range(2)]
    return losses, expected, again, model2.w, int(optimizer2.iterations)


def restored_before_the_variables_exist(tf, function):
    class Lazy(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = None

        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.zeros(2))
            return tf.reduce_sum(self.w * x)

    with tempfile.TemporaryDirectory() as folder:
        source = Lazy()
        source(tf.constant([1.0, 1.0]))
        source.w.assign([3.0, 4.0])
        path = tf.train.Checkpoint(model=source).save(os.path.join(folder, "lazy"))
        target = Lazy()
        tf.train.Checkpoint(model=target).restore(path)

        @function
        def f(x):
            return target(x)

        x = tf.constant([1.0, 10.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x), target.w


def list_filled_after_restore(tf):
    class Stack(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = []
            self.named = {}

        def build(self, values):
            for i, value in enumerate(values):
                self.layers.append(tf.Variable(value))
                self.named[f"v{i}"] = tf.Variable(10.0 * value)

    with tempfile.TemporaryDirectory() as folder:
        source = Stack()
        source.build([1.0, 2.0])
        path = tf.train.Checkpoint(stack=source).save(os.path.join(folder, "stack"))
        target = Stack()
        tf.train.Checkpoint(stack=target).restore(path)
        target.build([0.0, 0.0])
    return [v + 0.0 for v in target.layers], {name: v + 0.0 for name, v in target.named.items()}


def manager_keeps_the_last(tf):
    v = tf.Variable(0.0)
    checkpoint = tf.train.Checkpoint(v=v, step=tf.Variable(0))
    with tempfile.TemporaryDirectory() as folder:
        manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
        for i in range(4):
            v.assign(i * 1.5)
            checkpoint.step.assign_add(1)
            manager.save()
        names = [os.path.basename(p) for p in manager.checkpoints]
        v.assign(-1.0)
        checkpoint.step.assign(0)
        checkpoint.restore(manager.checkpoints[0])
        return names, v, checkpoint.step, os.path.basename(tf.train.latest_checkpoint(folder))


def restored_into_a_compiled_function(tf, function):
    w = tf.Variable([1.0, 2.0])
    checkpoint = tf.train.Checkpoint(w=w)

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w**3)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    with tempfile.TemporaryDirectory() as folder:
        first = step()
        path = checkpoint.write(os.path.join(folder, "w"))
        second = step()
        checkpoint.read(path)
        again = step()
    return first, second, again, w


def rolled_back_after_a_bad_step(tf, function):
    w = tf.Variable([1.0, 1.0])
    saved = {"w": w.numpy(), "loss": float("inf")}

    @function
    def step(rate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w**2)
        w.assign_sub(rate * tape.gradient(loss, w))
        return tf.reduce_sum(w**2)

    history = []
    for rate in (0.1, 3.0, 0.2):
        loss = float(step(tf.constant(rate)))
        if loss > saved["loss"]:
            w.assign(saved["w"])
        else:
            saved = {"w": w.numpy(), "loss": loss}
        history.append(loss)
    return history, w


def moved_by_value(tf):
    source = [tf.Variable(normal(i, 2, 2)) for i in range(3)]
    target = [tf.Variable(tf.zeros((2, 2))) for _ in range(3)]
    for t, s in zip(target, source):
        t.assign(s)
    source[0].assign_add(tf.ones((2, 2)))
    with tf.GradientTape() as tape:
        y = tf.add_n([tf.reduce_sum(t * s) for t, s in zip(target, source)])
    return y, tape.gradient(y, target[0])
