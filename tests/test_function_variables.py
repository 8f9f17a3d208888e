"""Variables, random numbers and threads in compiled functions: written in place, unseen by who took a value before."""

import copy
import functools
import gc
import pickle
import signal
import threading
import warnings
import weakref

import numpy as np
import pytest

import gradtape as tf

jax = pytest.importorskip("jax")

X = tf.constant([1.0, 2.0])
Spec = tf.TensorSpec


def equal(actual, expected):
    """A tensor equal to any values, or structures of such."""
    if tf.is_tensor(actual) or isinstance(actual, np.ndarray):
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-6)
        return
    tf.nest.assert_same_structure(actual, expected)
    for a, e in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        if e is None:
            assert a is None
        else:
            np.testing.assert_allclose(np.asarray(a), np.asarray(e), rtol=1e-6)


def traces(function):
    return function.experimental_get_tracing_count()


# ---------------------------------------------------------------------------------------------------------------------
# Variables

v = tf.Variable([1.0, 2.0])
count = tf.Variable(0, trainable=False)
flag = tf.Variable(False)
wide = tf.Variable([1, 2], dtype="int64")


def changed(x):
    old = v.value()
    v.assign(v * x)
    v.assign_add(x)
    v.assign_sub([0.5, 0.5])
    v[0].assign(7.0)
    v[1:].assign_add(x[:1])
    count.assign_add(1)
    flag.assign(tf.logical_not(flag))
    wide.assign(wide * 3000000000)
    return old, v, v.value(), count + 1, flag, [wide.read_value()]


def scattered(x):
    v.scatter_nd_update([[1]], [5.0])
    v.scatter_nd_add([[0], [0]], x)
    v.scatter_update(tf.IndexedSlices([9.0], [1]))
    v.scatter_mul(tf.IndexedSlices([3.0], [0]))
    return v + 0.0


def in_branches(x):
    def more():
        count.assign_add(1)
        v.assign(x)
        return tf.constant(1)

    def less():
        v.assign_add(x * 3.0)
        return tf.constant(2)

    return tf.cond(v[0] > 2.0, more, less), v * 1.0


def in_loops(x):
    def body(i, y):
        v.assign_add(0.1 * y)
        count.assign_add(i)
        return i + 1, y + v

    def row(total, e):
        v.assign(v * e)
        return total + v

    return (
        tf.while_loop(lambda i, y: count < 5, body, (tf.constant(1), x)),
        tf.scan(row, x, tf.zeros(2)),
        tf.map_fn(lambda e: e * tf.cast(count.assign_add(1), "float32"), x),
    )


def while_training(x):
    with tf.GradientTape() as tape:
        y = x * v
        v.assign(v + 1.0)
        loss = tf.reduce_sum(y * v * v)
    g = tape.gradient(loss, v)
    v.assign_sub(0.01 * g)
    return loss, g


def passed_through(x):
    return [v, v, v.read_value(), tf.identity(v), x, x]


def written_only(x):
    v.assign(x)


@pytest.mark.parametrize(
    "python_function",
    [changed, scattered, in_branches, in_loops, while_training, passed_through, written_only],
    ids=lambda f: f.__name__,
)
def test_variables_change_as_they_do_eagerly_and_at_once(python_function):
    outcomes = []
    for function in (python_function, tf.function(python_function)):
        v.assign([1.0, 2.0]), count.assign(0), flag.assign(False), wide.assign([1, 2])
        rounds = []
        for _ in range(3):
            result = function(X)
            state = [np.array(u) for u in (v, count, flag, wide)]
            rounds.append([tf.nest.map_structure(np.array, result) if result is not None else (), state])
        outcomes.append(rounds)
    equal(outcomes[1], outcomes[0])


def test_variables_are_made_on_the_first_call_only():
    class Model:
        v = w = None

        @tf.function
        def __call__(self, x):
            if self.v is None:
                self.v = tf.Variable([2.0, 2.0])
                self.w = tf.Variable(tf.reduce_sum(x) * self.v, name="computed")
            self.w.assign_add([1.0, 1.0])
            return x * self.v + self.w

    model = Model()
    equal(model(X), [9.0, 11.0])
    equal(model.w, [7.0, 7.0])
    equal(model(X), [10.0, 12.0])
    equal(Model()(X), [9.0, 11.0])


def test_a_variable_made_from_an_argument_is_trained_from_the_first_call_on():
    class Model:
        v = None

        @tf.function
        def step(self, x):
            if self.v is None:
                self.v = tf.Variable(x * 2.0)
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(self.v * self.v)
            gradient = tape.gradient(loss, self.v)
            self.v.assign_sub(0.25 * gradient)
            return gradient

    model = Model()
    equal(model.step(X), 4.0 * X)
    equal(model.step(X), 2.0 * X)
    equal(model.v, 0.5 * X)


def test_a_variable_made_on_every_call_is_refused():
    function = tf.function(lambda x: tf.Variable(x) + 1.0)
    with pytest.raises(
        ValueError,
        match=r"<lambda> makes a Variable on a call.*test_function_variables.py, line \d+.*once, as in",
    ):
        function(X)


def test_initial_values_given_by_functions_are_computed_outside():
    made = []

    @tf.function
    def step(x):
        if not made:
            made.append(tf.Variable(lambda: tf.fill((2,), 3.0)))
        return x * made[0]

    equal(step(X), [3.0, 6.0])


def test_an_error_while_tracing_leaves_everything_as_it_was():
    kept = tf.Variable([1.0, 1.0])

    @tf.function
    def step(x, fails):
        kept.assign(x)
        with tf.GradientTape() as tape:
            y = kept * x
            if fails:
                raise KeyError("mine")
        return tape.gradient(y, kept)

    equal(step(X, False), X)
    kept.assign([1.0, 1.0])
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            step(X, True)
    equal(kept, [1.0, 1.0])
    assert tf.executing_eagerly()
    equal(step(X + 1.0, False), X + 1.0)
    equal(kept, X + 1.0)


def test_a_variable_whose_function_failed_has_no_value():
    made = []

    @tf.function
    def step(x, fails):
        if not made:
            made.append(tf.Variable(x * 3.0))
        if fails:
            raise KeyError("mine")
        return made[0] * x

    with pytest.raises(KeyError):
        step(X, True)
    with pytest.raises(tf.errors.FailedPreconditionError, match="make the variable anew"):
        made[0].numpy()
    made.clear()
    equal(step(X, False), 3.0 * X * X)


# ---------------------------------------------------------------------------------------------------------------------
# Written in place: fast, and never seen by anyone who took the value before


def pointer(variable):
    return variable._tensor._device.unsafe_buffer_pointer()


weights = tf.Variable(np.zeros(1 << 12, np.float32))
other = tf.Variable(np.zeros(1 << 12, np.float32))
ones = tf.ones(1 << 12)


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((weights - x) ** 2)
    weights.assign_sub(0.25 * tape.gradient(loss, weights))
    return loss


@tf.function
def looked_at():
    return weights, weights.value(), weights + 0.0, {"twice": weights.read_value()}


@tf.function
def shared():
    other.assign(weights)
    return other


@tf.function
def product(x):
    return x * weights


@tf.function
def trained(x):
    """A step that returns what it trained, in several ways."""
    train(x)
    return weights, weights * 2.0, [weights.value(), x]


@pytest.mark.usefixtures("compiled_code")
def test_a_step_of_training_does_not_copy_its_parameters():
    train(ones)
    pointers = set()
    for _ in range(5):
        train(ones)
        pointers.add(pointer(weights))
    assert len(pointers) == 1


@pytest.mark.usefixtures("compiled_code")
def test_a_step_that_returns_its_parameters_does_not_copy_them():
    trained(ones)
    pointers = set()
    for step in range(5):
        value, double, (again, x) = trained(ones)
        pointers |= {pointer(weights), *[t._device.unsafe_buffer_pointer() for t in (value, again)]}
        if step < 4:
            del value, again  # who has them at the next call keeps them
    assert len(pointers) == 1
    for result in (value, again, double / 2.0):
        np.testing.assert_array_equal(result, weights)
    np.testing.assert_array_equal(x, ones)


def kept_by_a_tape():
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(product(ones) * product(ones))
    return lambda: tape.gradient(y, weights)


def kept_by_an_eager_tape():
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(weights * weights)
    return lambda: tape.gradient(y, weights)


def kept_by_two_tapes():
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(product(ones) ** 3)
            with outer.stop_recording(), inner.stop_recording():
                train(ones)
        first = inner.gradient(y, weights)
    return lambda: outer.gradient(first, weights)


def an_element_of_a_list():
    array = tf.TensorArray("float32", 1, clear_after_read=False).write(0, weights)
    return lambda: array.read(0)


def always(value):
    return lambda: value


KEPT = {
    "v.numpy()": lambda: always(weights.numpy()),
    "np.asarray(v)": lambda: always(np.asarray(weights)),
    "np.from_dlpack(v)": lambda: always(np.from_dlpack(weights)),
    "v.value()": lambda: always(weights.value()),
    "v.read_value()": lambda: always(weights.read_value()),
    "convert_to_tensor(v)": lambda: always(tf.convert_to_tensor(weights)),
    "identity(v)": lambda: always(tf.identity(weights)),
    "stop_gradient(v)": lambda: always(tf.stop_gradient(weights)),
    "a slice": lambda: always(weights[1:3]),
    "a view of another shape": lambda: always(tf.reshape(weights, (2, -1))),
    "copy": lambda: always(copy.copy(weights)),
    "deepcopy": lambda: always(copy.deepcopy(weights)),
    "pickle": lambda: always(pickle.loads(pickle.dumps(weights))),
    "w.assign(v)": lambda: always(other.assign(weights)),
    "w.assign(v.value())": lambda: always(other.assign(weights.value())),
    "w.assign(v) in a function": lambda: (shared(), always(other))[1],
    "returned variable": lambda: always(looked_at()[0]),
    "returned value": lambda: always(looked_at()[1]),
    "returned sum": lambda: always(looked_at()[2]),
    "returned twice": lambda: always(looked_at()[3]["twice"]),
    "returned by the writer": lambda: always(shared()),
    "returned by the step": lambda: always(trained(ones)[0]),
    "returned by the step as a value": lambda: always(trained(ones)[2][0]),
    "np.asarray of what the step returned": lambda: always(np.asarray(trained(ones)[0])),
    "np.from_dlpack of what the step returned": lambda: always(np.from_dlpack(trained(ones)[0])),
    "a view of what the step returned": lambda: always(trained(ones)[0][1:3]),
    "a list of tensors": an_element_of_a_list,
    "a tape": kept_by_a_tape,
    "an eager tape": kept_by_an_eager_tape,
    "two tapes": kept_by_two_tapes,
    "the value inside": lambda: always(weights._tensor),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_was_taken_from_a_variable_keeps_its_value(name):
    weights.assign(np.arange(1 << 12, dtype=np.float32))
    train(ones)
    value = weights.numpy().copy()
    train(ones)
    weights.assign(value * 2.0)
    train(ones)  # what the variable holds now was computed by a compiled function
    get = KEPT[name]()
    again = KEPT[name]()
    if name == "two tapes" or "the step" in name:  # a step was taken between the two
        again = get
    expected = np.array(again())
    for _ in range(3):
        train(ones)
    np.testing.assert_array_equal(np.array(get()), expected)


def test_eager_updates_of_what_a_function_has_read_count():
    for size in (1, 2, 5, 100, 5000):
        u = tf.Variable(np.zeros(size, np.float32))
        read = tf.function(lambda u=u: u * 1.0)
        for i in range(4):
            equal(read(), np.full(size, 2.0 * i))
            u.assign_add(np.ones(size, np.float32))
            u.assign_add(np.ones(size, np.float32))


def test_values_assigned_between_calls_count():
    weights.assign(tf.zeros(1 << 12))
    train(ones)
    weights.assign(ones * 3.0)
    assert float(train(ones)) == 4.0 * (1 << 12)
    weights.assign_add(ones)
    equal(weights, 3.0 * np.ones(1 << 12))


def test_two_variables_may_share_and_swap_values():
    a, b = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])

    @tf.function
    def swap():
        old = a.value()
        a.assign(b)
        b.assign(old)
        return a, b, old

    @tf.function
    def join():
        total = a + b
        a.assign(total)
        b.assign(total)
        return total, total

    first, second = swap(), swap()
    equal(first, (tf.constant([3.0, 4.0]), X, X))
    equal(second, (X, tf.constant([3.0, 4.0]), tf.constant([3.0, 4.0])))
    results = [join() for _ in range(3)]
    for i, (one, two) in enumerate(results):
        equal((one, two), (tf.constant([4.0, 6.0]) * 2.0**i,) * 2)
    equal(a, b)
    b.assign_add([1.0, 1.0])
    equal(a, [16.0, 24.0])


def test_a_variable_given_as_an_argument_is_the_variable():
    function = tf.function(lambda u, x: u.assign_add(x))
    a, b = tf.Variable(1.0), tf.Variable(10.0)
    for _ in range(2):
        function(a, tf.constant(1.0)), function(b, tf.constant(1.0))
    assert (float(a), float(b)) == (3.0, 12.0)
    by_value = tf.function(lambda x: (a.assign(5.0), x * 1.0)[1], input_signature=[Spec(())])
    assert float(by_value(a)) == 3.0 and float(a) == 5.0


def test_variables_of_an_open_shape_keep_their_length_or_change_it():
    v = tf.Variable([1.0, 2.0], shape=(None,))
    grow = tf.function(lambda: v.assign(tf.concat([v, v], 0)))
    grow(), grow()
    assert v.numpy().tolist() == [1.0, 2.0] * 4


# ---------------------------------------------------------------------------------------------------------------------
# Nothing is kept alive


def test_objects_arguments_and_variables_are_freed():
    class Model:
        def __init__(self):
            self.v = tf.Variable([1.0, 2.0])

        @tf.function
        def step(self, x):
            self.v.assign_add(x)
            return self.v * 2.0

        @property
        @tf.function
        def doubled(self):
            return X * 2.0

    class Thing:
        pass

    model, thing, x = Model(), Thing(), tf.constant([3.0, 4.0])
    function = tf.function(lambda u, x: x * 2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(thing, x) * model.step(x)
    tape.gradient(y, x)
    model.doubled
    alive = [weakref.ref(o) for o in (model, model.v, thing, x, y)]
    del model, thing, x, y, tape
    gc.collect()
    assert [o() for o in alive] == [None] * 5


def test_a_dropped_function_frees_its_variables():
    function = tf.function(functools.partial(tf.Variable.assign_add, tf.Variable([1.0, 2.0])))
    function(X)
    alive = weakref.ref(function.python_function.args[0]), weakref.ref(function)
    del function
    gc.collect()
    assert [o() for o in alive] == [None, None]


def test_programs_for_objects_that_are_gone_are_dropped():
    class Thing:
        pass

    function = tf.function(lambda thing, n: n)
    for _ in range(4):
        function(Thing(), 0)
    assert len(function._programs) <= 2


# ---------------------------------------------------------------------------------------------------------------------
# Threads


def in_threads(run, count):
    errors = []

    def guarded(i):
        try:
            run(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]


def test_threads_may_call_the_same_function_at_once():
    total = tf.Variable(np.zeros(1000, np.float32))
    step = np.ones(1000, np.float32)
    add = tf.function(lambda x: total.assign_add(x))
    read = tf.function(lambda x: total * x)

    def run(i):
        for _ in range(40):
            add(step)
            values = np.asarray(read(step) if i % 2 else total)
            assert (values == values[0]).all()

    in_threads(run, 4)
    equal(total, 160.0 * step)
    assert traces(add) == traces(read) == 1


def test_each_thread_traces_by_itself():
    seen = []

    @tf.function
    def slow(x, n):
        seen.append(tf.executing_eagerly())
        return x * float(n)

    def run(i):
        assert tf.executing_eagerly()
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = slow(X, i)
        equal(tape.gradient(y, X), float(i) * tf.ones(2))

    in_threads(run, 3)
    assert seen == [False] * 3


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers


@tf.function
def draw():
    return tf.random.normal((3,)), tf.random.uniform((3,)), tf.random.normal((3,))


def test_every_call_draws_new_numbers_and_follows_the_seed():
    tf.random.set_seed(1)
    first, second = draw(), draw()
    tf.random.set_seed(1)
    again = draw(), draw()
    equal(again, (first, second))
    numbers = np.array([*first, *second])
    assert len(np.unique(numbers)) == numbers.size
    tf.random.set_seed(2)
    assert not np.allclose(draw()[0], first[0])
    assert not np.allclose(tf.function(draw.python_function)()[0], draw()[0])


def test_stateless_numbers_and_generators_are_those_drawn_eagerly():
    def numbers(seed):
        generator.reset_from_seed(5)
        return (
            tf.random.stateless_normal((4,), seed),
            tf.random.stateless_uniform((4,), seed, maxval=100, dtype="int32"),
            generator.normal((4,)),
            generator.uniform((4,)),
            generator.state,
        )

    generator = tf.random.Generator.from_seed(3)
    seed = tf.constant([1, 2])
    equal(tf.function(numbers)(seed), numbers(seed))
    before = generator.state.numpy()
    more = tf.function(lambda: generator.normal((2,)))
    assert not np.allclose(more(), more())
    assert not np.array_equal(generator.state.numpy(), before)


def test_jaxs_own_transformations_may_surround_a_function():
    with jax.enable_x64(True):
        equal(train(ones) * 0.0, 0.0)
        assert jax.config.jax_enable_x64
    equal(train(ones) * 0.0, 0.0)


def test_compiling_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh = tf.Variable([1.0, 2.0])
        equal(tf.function(lambda x: fresh.assign_add(x))(X), [2.0, 4.0])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "int32", "complex64", "bool"])
def test_looking_at_a_variable_between_calls_changes_nothing(dtype):
    v = tf.Variable(tf.cast([0, 1], dtype))

    @tf.function
    def step():
        v.assign(tf.cast(tf.cast(v, "complex64") + 1.0, dtype))

    eager = v.numpy()
    for _ in range(4):
        step()
        eager = tf.cast(tf.cast(eager, "complex64") + 1.0, dtype).numpy()
        assert v.dtype == dtype
        assert (v.numpy() == eager).all()


def test_an_interrupt_leaves_variables_before_or_after_the_step():
    class Interrupt(BaseException):
        pass

    def interrupt(*_):
        raise Interrupt

    v, count = tf.Variable(tf.ones((100, 100))), tf.Variable(0, trainable=False)

    @tf.function
    def step():
        v.assign(v * 1.0 + tf.cast(count, "float32") * 0.0)
        count.assign_add(1)

    for _ in range(3):  # whatever is to be compiled is compiled
        step()
        assert float(v[0, 0]) == 1.0
        done = int(count)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for i in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + 3e-6 * i)
                for _ in range(1000):
                    step()
                    done += 1
            except Interrupt:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            # The step that was interrupted may be done.
            assert int(count) in (done, done + 1)
            assert float(v[0, 0]) == 1.0
            done = int(count)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_variable_of_strings_is_read_and_assigned_operation_by_operation():
    own, given = tf.Variable(["a", "b"]), tf.Variable("c")

    @tf.function
    def grow(variable, x):
        own.assign(tf.strings.join([own, x]))
        return variable.assign(tf.strings.join([variable, own[0]])), tf.strings.length(own)

    for wanted in (b"cax", b"caxaxx"):
        text, lengths = grow(given, tf.constant("x"))
        assert text.numpy() == wanted == given.numpy()
        assert lengths.numpy().tolist() == [len(word) for word in own.numpy()]
