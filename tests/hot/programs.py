"""Random programs for hot tapes: passes through one tape's block, with all that may happen in between.

`draw(seed)` gives statements; `run(statements, passes)` runs them and gives what they showed. All values are vectors of
three float32, kept in a pool, so that any statement may follow any other.
"""

import copy
import gc
import random
import threading

import numpy as np

import gradtape as tf

ONE = ["sin", "tanh", "sigmoid", "square", "identity", "stop_gradient", "abs", "softplus"]
TWO = ["add", "subtract", "multiply", "maximum", "divide_no_nan"]
SHAPING = ["sum", "slice", "reverse", "gather", "stack", "matmul", "split", "cast"]
SIMPLE = ["one", "two", "number", "changing", "shaping"]
STATE = ["assign", "assign_add", "assign_sub", "assign_numpy", "assign_slice", "read", "optimize"]
SHARING = [
    "share", "share", "copy_variable", "descend", "descend", "mutate", "scale", "double", "draw_numbers", "large",
    "keep_it", "given", "given", "given",
]  # fmt: skip
LOOKS = ["float", "branch", "numpy", "thread", "print"]
ODD = [
    "keep", "kept", "copy", "wrong_shape", "raise", "compiled", "custom", "watched", "pause", "reset", "forward",
    "ask_late", "numpy_input", "old_value", "setting", "watch_middle", "collect",
]  # fmt: skip


METHODS = {
    "tape": "tape_block",
    "raise": "raises",
    "kept": "use_kept",
}  # the names of others are their statements'


class Stop(Exception):
    """Raised by a program, and caught by it."""


def draw(seed):
    """The statements of a program: nested tuples."""
    rng = random.Random(seed)
    rare = rng.random() < 0.5  # half of the programs have nothing odd
    return [*block(rng, 1, rare), outermost(rng, rare), *block(rng, 1, rare, most=4)]


def when(rng):
    """The passes in which a statement runs."""
    return rng.choice([(1, 0)] * 40 + [(2, 0), (3, 1), (5, 2), (100, 6)])


def block(rng, depth, rare, most=6):
    return [statement(rng, depth, rare) for _ in range(rng.randint(1, most))]


def statement(rng, depth, rare):
    kinds = SIMPLE * 4 + STATE + SHARING + LOOKS + (ODD if rare else []) + (["tape"] * 4 if depth < 3 else [])
    kind = rng.choice(kinds)
    a, b, c = (rng.randrange(100) for _ in range(3))
    if kind == "tape":
        return tape(rng, depth, rare, when(rng))
    if kind in ("branch", "raise", "pause"):
        return kind, when(rng), a, block(rng, depth + 1, rare, 3), block(rng, depth + 1, rare, 3)
    return kind, when(rng), a, b, c


def outermost(rng, rare):
    return tape(rng, 0, rare, (1, 0))


def tape(rng, depth, rare, passes):
    persistent = rng.random() < 0.3
    asks = [
        (
            rng.choice(["gradient"] * 5 + ["jacobian", "zero", "weighted"]),
            *(rng.randrange(100) for _ in range(3)),
        )
        for _ in range(rng.randint(1, 2 if persistent else 1))
    ]
    inside = rng.random() < 0.1
    return "tape", passes, persistent, rng.random() < 0.6, block(rng, depth + 1, rare), asks, inside


@tf.custom_gradient
def clipped(x):
    return tf.sin(x), lambda g: g * 0.5


@tf.function
def compiled(x):
    return tf.cos(x) * 0.5


class Run:
    """One program while it runs."""

    def __init__(self, statements):
        self.statements = statements
        self.variables = [tf.Variable([0.1 * i, 0.2, -0.3]) for i in range(3)]
        self.matrix = tf.constant(np.eye(3, dtype="float32") * 0.5 + 0.1)
        self.optimizer = tf.optimizers.Adam(0.01)
        self.descent = tf.optimizers.SGD(0.1)
        self.factor = tf.Variable(0.5)
        self.wide = tf.Variable(np.linspace(-1, 1, 20_000, dtype="float32"))
        self.array = np.float32([0.1, -0.1, 0.2])
        self.usual = [tf.constant([0.3, 0.1, 0.2]), tf.constant([0.1, 0.2, 0.3])]
        self.generator = tf.random.Generator.from_seed(7)
        self.kept = [tf.constant([0.5, 0.4, 0.3])]
        self.shown = []
        self.late = None
        self.step = 0

    def passes(self, count):
        for self.step in range(count):
            self.pool = [
                tf.constant([0.3, -0.2, 0.1]),
                tf.constant([0.1, 0.2, 0.3]) * (1.0 + 0.1 * self.step),
            ]
            self.block(self.statements)
        self.show_state()

    def show_state(self):
        self.shown += [v.numpy() for v in [*self.variables, self.factor]]
        self.shown += [self.wide.numpy()[::1000], *[x.numpy() for x in self.kept]]

    def block(self, statements):
        for kind, (every, offset), *arguments in statements:
            if self.step % every == offset % every:
                getattr(self, METHODS.get(kind, kind))(*arguments)

    def pick(self, a):
        choice = a % (len(self.pool) + 2)
        return self.pool[choice] if choice < len(self.pool) else self.variables[a % 3]

    def put(self, x):
        self.pool.append(x)
        if len(self.pool) > 12:
            del self.pool[2]

    # -- operations

    def one(self, a, b, c):
        name = ONE[b % len(ONE)]
        self.put(getattr(tf.nn if name == "softplus" else tf, name)(self.pick(a)))

    def two(self, a, b, c):
        name = TWO[b % len(TWO)]
        function = getattr(tf.math, name)
        self.put(tf.tanh(function(self.pick(a), self.pick(c))))

    def number(self, a, b, c):
        self.put(self.pick(a) * (0.25 * (b % 5)) + 0.5)

    def changing(self, a, b, c):
        self.put(self.pick(a) * (0.1 * (1 + self.step % (1 + b % 3 * (b % 5 == 0)))))

    def shaping(self, a, b, c):
        x, kind = self.pick(a), SHAPING[b % len(SHAPING)]
        if kind == "sum":
            y = tf.reduce_sum(x) * 0.3 + self.pick(c)
        elif kind == "slice":
            y = tf.concat([x[1:], x[:1]], 0)
        elif kind == "reverse":
            y = x[::-1]
        elif kind == "gather":
            y = tf.gather(tf.tanh(x), [c % 3, 0, 2])
        elif kind == "stack":
            y = tf.reduce_mean(tf.stack([x, self.pick(c)]), axis=c % 2 - 1 if c % 2 else 0)
        elif kind == "matmul":
            y = tf.reshape(tf.reshape(x, [1, 3]) @ self.matrix, [3])
        elif kind == "split":
            first, second = tf.split(tf.stack([x, self.pick(c)]), 2)
            y = first[0] - second[0]
        else:
            y = tf.cast(tf.cast(x, "float64") * 0.5, "float32")
        self.put(y if y.shape == (3,) else y + tf.zeros(3))

    # -- variables

    def assign(self, a, b, c):
        self.variables[a % 3].assign(tf.tanh(self.pick(b)))

    def assign_add(self, a, b, c):
        self.variables[a % 3].assign_add(0.1 * tf.tanh(self.pick(b)))

    def assign_sub(self, a, b, c):
        self.variables[a % 3].assign_sub(0.1 * tf.tanh(self.pick(b)))

    def assign_numpy(self, a, b, c):
        self.variables[a % 3].assign(np.float32([0.1, 0.2, 0.01 * self.step]))

    def assign_slice(self, a, b, c):
        self.variables[a % 3][b % 3].assign(0.25)

    def read(self, a, b, c):
        self.put(self.variables[a % 3].value() if b % 2 else tf.convert_to_tensor(self.variables[a % 3]))

    def optimize(self, a, b, c):
        pairs = [(tf.tanh(self.pick(b)), self.variables[a % 3])]
        if c % 3 == 0:
            pairs.append((tf.tanh(self.pick(c)), self.variables[(a + 1) % 3]))
        self.optimizer.apply_gradients(pairs)

    # -- arrays that are shared, and written into

    def share(self, a, b, c):
        x = tf.tanh(self.pick(b))
        views = [
            lambda: x,
            lambda: x[::-1],
            lambda: tf.reshape(x, [1, 3])[0],
            lambda: tf.stack([x, x], 1)[:, 0],
        ]
        y = views[c % 4]()
        self.put(y)
        self.variables[a % 3].assign(y)

    def copy_variable(self, a, b, c):
        self.variables[a % 3].assign(self.variables[(a + 1 + b % 2) % 3])

    def descend(self, a, b, c):
        chosen = self.variables[: 1 + a % 3]
        self.descent.apply_gradients([(tf.tanh(self.pick(b + i)), v) for i, v in enumerate(chosen)])
        if c % 7 == 0:
            self.descent.learning_rate = 0.05 + 0.01 * (self.step % 2)

    def mutate(self, a, b, c):
        if c % 3 == 0:
            self.variables[a % 3].assign(self.array)
        else:
            self.put(tf.tanh(tf.constant(self.array) * self.pick(b) + self.array))
        self.array += 0.01

    def scale(self, a, b, c):
        self.put(tf.tanh(self.pick(a) * self.factor + self.factor))
        if c % 2:
            self.factor.assign(0.5 + 0.1 * tf.tanh(tf.reduce_mean(self.pick(b)) * self.factor))
        else:
            self.factor.assign_sub(0.01 * tf.tanh(self.factor * self.pick(b)[0]))

    def double(self, a, b, c):
        x = tf.cast(self.pick(a), "float64")
        y = tf.tanh(x * tf.constant(0.3, "float64") + tf.reduce_sum(x) + (0.1 * (self.step % (1 + b % 2))))
        self.put(tf.cast(y, "float32"))

    def given(self, a, b, c):
        usual = self.usual[a % 2]
        if self.step % (2 + b % 5) == 1:
            usual = tf.constant([0.1 * (c % 3), 0.2, 0.3])
        self.put(tf.tanh(usual * self.pick(c)))
        if c % 5 == 0:
            self.put(tf.tanh(self.usual[(a + self.step) % 2] + usual))

    def draw_numbers(self, a, b, c):
        noise = self.generator.normal([3])
        self.put(tf.where(noise > self.pick(a), tf.tanh(noise), tf.tanh(self.pick(b))))

    def large(self, a, b, c):
        self.wide.assign_sub(0.01 * tf.tanh(self.wide * self.pick(a)[0]))
        self.put(tf.tanh(self.pick(b) * tf.reduce_mean(self.wide)))

    def keep_it(self, a, b, c):
        x = self.pick(a)
        self.kept = [*self.kept[-4:], x.value() if isinstance(x, tf.Variable) else x]

    # -- looks

    def float(self, a, b, c):
        self.shown.append(float(tf.reduce_sum(self.pick(a))))

    def branch(self, a, yes, no):
        if self.pick(a)[0] > 0.123:
            self.block(yes)
        else:
            self.block(no)

    def numpy(self, a, b, c):
        self.shown.append(self.pick(a).numpy() if b % 2 else np.asarray(self.pick(a)) * 2)

    def thread(self, a, b, c):
        x, found = self.pick(a), []
        other = threading.Thread(target=lambda: found.append((x * 2.0).numpy()))
        other.start()
        other.join()
        self.shown += found

    def print(self, a, b, c):
        x = self.pick(a)
        self.shown.append(
            np.float32([len(str(x.dtype)), len(x.shape), float(f"{x[0]:.2f}")]) * 0 + x.shape[0]
        )

    # -- what is rare

    def keep(self, a, b, c):
        self.kept = [*self.kept[-2:], self.pick(a) * 1.0]

    def use_kept(self, a, b, c):
        self.put(tf.tanh(self.kept[a % len(self.kept)]))

    def copy(self, a, b, c):
        x = copy.copy(self.pick(a))
        self.put(x if isinstance(x, tf.Tensor) else x.value())

    def wrong_shape(self, a, b, c):
        try:
            self.pick(a) + tf.zeros(4)
        except tf.errors.InvalidArgumentError as error:
            self.shown.append(len(str(error)))

    def raises(self, a, first, second):
        try:
            with tf.GradientTape() as tape:
                tape.watch(self.pool[0])
                self.block(first)
                if float(self.pick(a)[0]) < 2.0:
                    raise Stop
        except Stop:
            self.block(second)
            self.shown.append(_shown(tape.gradient(self.pool[-1], self.pool[0])))

    def compiled(self, a, b, c):
        self.put(compiled(self.pick(a)))

    def custom(self, a, b, c):
        self.put(clipped(self.pick(a)))

    def watched(self, a, b, c):
        if self.tape is not None:
            self.shown.append(len(self.tape.watched_variables()))

    def pause(self, a, first, second):
        if self.tape is None:
            return
        try:
            with self.tape.stop_recording():
                self.block(first)
        except RuntimeError:
            self.shown.append(-1)

    def reset(self, a, b, c):
        if self.tape is not None:
            self.tape.reset()

    def forward(self, a, b, c):
        x = self.pool[0]
        with tf.autodiff.ForwardAccumulator(x, tf.ones(3)) as accumulator:
            y = tf.sin(x) * self.pick(a)
        self.shown.append(_shown(accumulator.jvp(y)))
        self.put(tf.tanh(y))

    def ask_late(self, a, b, c):
        if self.late is not None:
            tape, y, sources = self.late
            self.late = None
            try:
                self.shown += [_shown(g) for g in tape.gradient(y, sources)]
            except RuntimeError:
                self.shown.append(-2)

    def numpy_input(self, a, b, c):
        array = np.float32([0.1, 0.2, 0.3])
        self.put(tf.tanh(self.pick(a) + array))
        array[:] = 7.0  # was copied

    def old_value(self, a, b, c):
        v = self.variables[a % 3]
        before = v.value()
        v.assign_add([0.01, 0.0, 0.02])
        self.put(before * v)

    def setting(self, a, b, c):
        if a % 3 == 0:
            self.optimizer.beta_1 = 0.9 if self.optimizer.beta_1 == 0.5 else 0.5
        elif a % 3 == 1:
            self.descent.learning_rate = tf.Variable(0.05 + 0.01 * (self.step % 3))
        else:
            self.descent.weight_decay = None if self.descent.weight_decay else 0.1

    def watch_middle(self, a, b, c):
        if self.tape is not None:
            self.tape.watch(self.pool[a % len(self.pool)])

    def collect(self, a, b, c):
        gc.collect()

    # -- tapes

    tape = None

    def tape_block(self, persistent, watches, body, asks, inside):
        outer = self.tape
        with tf.GradientTape(persistent=persistent) as tape:
            self.tape = tape
            if watches:
                tape.watch([self.pool[0], self.pool[-1]])
            start = self.pool[-1]
            self.block(body)
            if inside:
                self.asked(tape, asks[:1], start)
        self.tape = outer
        if not inside or persistent:
            self.asked(tape, asks, start)
        if persistent:
            self.late = tape, self.pool[-1], [self.variables[0], start]

    def asked(self, tape, asks, start):
        for kind, a, b, c in asks:
            target = self.pick(a)
            sources = [self.variables[b % 3], self.variables[c % 3], start]
            try:
                if kind == "jacobian":
                    found = [
                        None if j is None else tf.reduce_sum(j, 0) for j in tape.jacobian(target, sources[:2])
                    ]
                elif kind == "zero":
                    found = tape.gradient(target, sources, unconnected_gradients="zero")
                elif kind == "weighted":
                    found = tape.gradient(
                        target, {"v": sources[0], "x": start}, tf.constant([0.5, 1.0, 2.0])
                    ).values()
                else:
                    found = tape.gradient(target, sources)
            except RuntimeError:
                self.shown.append(-3)
                continue
            self.shown.append([g is None for g in found].count(True))
            for g in found:
                if g is not None:
                    self.put(tf.tanh(g))


def _shown(value):
    return -4 if value is None else value.numpy()


def run(statements, passes):
    """What a program shows: numbers."""
    program = Run(statements)
    program.passes(passes)
    return program.shown
