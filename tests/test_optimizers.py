"""Optimizers take the steps Keras takes, and say clearly what they cannot use."""

import copy
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf

SGD = tf.optimizers.SGD
GRADIENTS = ([1.0, 2.0], [0.5, -1.0], [3.0, 0.0])


@pytest.mark.parametrize(
    ("options", "path"),
    [
        # The numbers are Keras 3's.
        ({}, [[0.99, 1.98], [0.985, 1.99], [0.955, 1.99]]),
        ({"learning_rate": 0.1}, [[0.9, 1.8], [0.85, 1.9], [0.55, 1.9]]),
        ({"learning_rate": 0.1, "momentum": 0.9}, [[0.9, 1.8], [0.76, 1.72], [0.334, 1.648]]),
        (
            {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True},
            [[0.81, 1.62], [0.634, 1.648], [-0.0494, 1.5832]],
        ),
        ({"learning_rate": 0.5, "nesterov": True}, [[0.5, 1.0], [0.25, 1.5], [-1.25, 1.5]]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps(options, path, dtype):
    v = tf.Variable([1.0, 2.0], dtype=dtype)
    optimizer = SGD(**options)
    for step, (gradient, expected) in enumerate(zip(GRADIENTS, path, strict=True)):
        count = optimizer.apply_gradients([(tf.constant(gradient, dtype), v)])
        assert v.dtype == dtype
        assert_allclose(v, expected, rtol=1e-5)
        assert int(count) == int(optimizer.iterations) == step + 1


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({}, [[[0.7, 1.7], [3, 4], [5, 6]], [[0.7, 1.7], [2.9, 3.9], [4.8, 5.8]]]),
        ({"momentum": 0.9}, [[[0.7, 1.7], [3, 4], [5, 6]], [[0.7, 1.7], [2.9, 3.9], [4.8, 5.8]]]),
        (
            {"momentum": 0.9, "nesterov": True},
            [[[0.43, 1.43], [3, 4], [5, 6]], [[0.43, 1.43], [2.81, 3.81], [4.62, 5.62]]],
        ),
    ],
)
def test_steps_along_rows(options, path):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    optimizer = SGD(0.1, **options)
    for indices, expected in zip(([0, 0], [1, 2]), path, strict=True):
        rows = tf.IndexedSlices(
            tf.constant([[1.0, 1.0], [2.0, 2.0]]), tf.constant(indices), tf.constant([3, 2])
        )
        optimizer.apply_gradients([(rows, v)])
        assert_allclose(v, expected, rtol=1e-5)


def test_a_gather_trains_only_its_rows():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(v, [1, 1]) ** 2)
    SGD(0.1).apply_gradients([(tape.gradient(loss, v), v)])
    assert_allclose(v, [[1.0, 2.0], [1.8, 2.4]], rtol=1e-6)


def test_each_variable_has_a_velocity_of_its_own():
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = SGD(0.1, momentum=0.5)
    optimizer.apply_gradients([(tf.constant(1.0), a)])
    optimizer.apply_gradients([(tf.constant(1.0), a), (tf.constant(1.0), b)])
    assert_allclose([float(a), float(b)], [0.75, 0.9], rtol=1e-6)


def test_a_step_is_not_heard_by_a_tape():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    optimizer = SGD(0.5, momentum=0.9)
    with tf.GradientTape() as tape:
        y = v * w
        optimizer.apply_gradients([(tf.constant(1.0), v)])
        z = y + v
    assert [float(g) for g in tape.gradient(z, [v, w])] == [4.0, 2.0]
    assert len(tape.watched_variables()) == 2


@pytest.mark.parametrize(
    "gradient", [[1.0, 1.0], np.array([1.0, 1.0]), np.array([1, 1]), tf.Variable([1.0, 1.0])]
)
def test_a_gradient_may_be_anything_that_becomes_a_tensor(gradient):
    v = tf.Variable([1.0, 2.0])
    SGD(0.5).apply_gradients(zip([gradient], [v], strict=True))
    assert_array_equal(v, np.float32([0.5, 1.5]), strict=True)


def test_a_variable_keeps_its_dtype_whatever_the_gradients():
    v = tf.Variable([1.0, 2.0])
    for momentum in (0.0, 0.9):
        optimizer = SGD(0.5, momentum=momentum)
        optimizer.apply_gradients([(tf.constant([1.0, 1.0], tf.float64), v)])
        optimizer.apply_gradients([(tf.IndexedSlices(tf.ones(1, tf.float64), [0], [2]), v)])
        assert v.dtype is tf.float32
        assert np.asarray(v).dtype == np.float32


def test_the_learning_rate_may_be_read_and_changed():
    optimizer = SGD(0.25)
    v = tf.Variable(1.0)
    assert float(optimizer.learning_rate) == 0.25
    optimizer.learning_rate = 0.5
    optimizer.apply_gradients([(1.0, v)])
    assert float(v) == 0.5
    optimizer.learning_rate.assign(0.125)
    optimizer.apply_gradients([(1.0, v)])
    assert float(v) == 0.375


def test_the_learning_rate_may_be_a_variable():
    rate = tf.Variable(0.5)
    optimizer, v = SGD(rate), tf.Variable(1.0)
    rate.assign(0.25)
    optimizer.apply_gradients([(1.0, v)])
    assert float(v) == 0.75


def test_a_constraint_holds_after_each_step():
    v = tf.Variable([1.0, -1.0], constraint=lambda x: tf.maximum(x, 0.0))
    SGD(0.5).apply_gradients([(tf.ones(2), v)])
    assert_array_equal(v, [0.5, 0.0])


def test_minimize_computes_the_loss_and_steps():
    v = tf.Variable(1.0)
    optimizer = SGD(0.25)
    optimizer.minimize(lambda: v * v, [v])
    assert float(v) == 0.5
    with tf.GradientTape() as tape:
        loss = v * v
    optimizer.minimize(loss, [v], tape=tape)
    assert float(v) == 0.25
    optimizer.minimize(lambda: v * v, lambda: [v])
    assert float(v) == 0.125
    with pytest.raises(ValueError, match="the tape that recorded it must be given"):
        optimizer.minimize(loss, [v])


# ---------------------------------------------------------------------------------------------------------------------
# What it cannot use


def test_a_none_is_left_out_with_a_warning_that_names_the_variable():
    v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w")
    with pytest.warns(UserWarning, match="gradients of v:0 are None, so they were not updated") as caught:
        SGD(0.5).apply_gradients([(None, v), (tf.constant(1.0), w)])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert (float(v), float(w)) == (1.0, 0.5)


def test_without_none_there_is_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SGD(0.5).apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        (
            lambda v: [(None, v)],
            ValueError,
            "no gradients were given for any variable: those of w:0 are None",
        ),
        (lambda v: [], ValueError, "no gradients were given for any variable"),
        (
            lambda v: [(v, tf.ones(2))],
            TypeError,
            r"pairs \(gradient, variable\); the second of a pair is .*Tensor",
        ),
        (lambda v: [(tf.ones(2), 3.0)], TypeError, r"the second of a pair is 3\.0 of type float"),
        (lambda v: [(tf.ones(3), v)], ValueError, r"the gradient of w:0 has shape \[3\], the variable \[2\]"),
        (lambda v: [(tf.constant(1.0), v)], ValueError, r"has shape \[\], the variable \[2\]"),
        (lambda v: [(tf.IndexedSlices(tf.ones((1, 3)), [0]), v)], ValueError, r"rows of shape \[1, 3\]"),
        (
            lambda v: [(tf.IndexedSlices(tf.ones(1), [2]), v)],
            IndexError,
            "rows out of bounds: the variable has 2 rows",
        ),
        (lambda v: [(tf.IndexedSlices(tf.ones(1), [-1]), v)], IndexError, "rows out of bounds"),
    ],
)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_wrong_pairs_are_refused_and_nothing_has_changed(pairs, error, message, momentum):
    v, other = tf.Variable([1.0, 2.0], name="w"), tf.Variable(1.0)
    optimizer = SGD(0.5, momentum=momentum)
    wrong = pairs(v)
    with pytest.raises(error, match=message):
        optimizer.apply_gradients(
            [(tf.constant(1.0), other), *wrong] if wrong and wrong[0][0] is not None else wrong
        )
    assert_array_equal(v, [1.0, 2.0])
    assert float(other) == 1.0
    assert int(optimizer.iterations) == 0


@pytest.mark.parametrize("momentum", [-0.1, 1.1])
def test_momentum_lies_between_0_and_1(momentum):
    with pytest.raises(ValueError, match=rf"momentum must lie in \[0, 1\], not {momentum}"):
        SGD(0.1, momentum=momentum)


def test_names():
    assert SGD().name == "sgd"
    assert SGD(name="mine").name == "mine"


# ---------------------------------------------------------------------------------------------------------------------
# All optimizers

# Made by data/make_optimizers.py.
KERAS = json.loads((Path(__file__).parent / "data" / "optimizers.json").read_text())
KINDS = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Lion"]
STATEFUL = {
    "SGD": {"momentum": 0.9},
    "RMSprop": {"momentum": 0.9, "centered": True},
    "Adam": {"amsgrad": True},
}


def made(kind, **options):
    """An optimizer that keeps all the state its kind can keep."""
    return getattr(tf.optimizers, kind)(**{"learning_rate": 0.1, **STATEFUL.get(kind, {}), **options})


class Case(dict):
    """A case of the file, which shows as its optimizer and options."""

    def __str__(self):
        return f"{self['optimizer']} {self['options']}"


def variables_of(values, dtype="float32"):
    return [tf.Variable(np.array(value, dtype)) for value in values]


def gradients_of(step, dtype="float32"):
    return [tf.constant(np.array(gradient, dtype)) for gradient in step]


def pairs(gradients, variables):
    return list(zip(gradients, variables, strict=True))


FIRST = [case for case in KERAS["paths"] if case["options"] == {}]
COMPILED = FIRST + [case for case in KERAS["paths"] if case["optimizer"] == "Nadam" and case not in FIRST]


@pytest.mark.parametrize(
    ("case", "compiled"),
    [(Case(case), False) for case in KERAS["paths"]] + [(Case(case), True) for case in COMPILED],
    ids=str,
)
def test_the_path_is_that_of_keras(case, compiled):
    variables = variables_of(KERAS["values"])
    optimizer = getattr(tf.optimizers, case["optimizer"])(**case["options"])

    def step(*gradients):
        optimizer.apply_gradients(pairs(gradients, variables))

    step = tf.function(step) if compiled else step
    for gradients, expected in zip(KERAS["gradients"], case["steps"], strict=True):
        step(*gradients_of(gradients))
        for variable, value in pairs(variables, expected):
            assert_allclose(variable, value, rtol=1e-5, atol=2e-7)
    assert int(optimizer.iterations) == 8 // case["options"].get("gradient_accumulation_steps", 1)
    if "final" in case:
        optimizer.finalize_variable_values(variables)
        for variable, value in pairs(variables, case["final"]):
            assert_allclose(variable, value, rtol=1e-5, atol=2e-7)


@pytest.mark.parametrize("name", KINDS[:-1])  # Lion's steps are signs: nothing in between
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_other_dtypes_take_the_same_path(name, dtype):
    narrow, plain = variables_of(KERAS["values"]), variables_of(KERAS["values"])
    narrow = [tf.Variable(tf.cast(v, dtype)) for v in narrow]
    optimizers = made(name), made(name)
    for gradients in KERAS["gradients"][:3]:
        for optimizer, variables in zip(optimizers, (narrow, plain), strict=True):
            optimizer.apply_gradients(pairs(gradients_of(gradients), variables))
    for a, b in pairs(narrow, plain):
        assert a.dtype == dtype
        assert_allclose(tf.cast(a, "float64"), b, rtol=0, atol=1e-5 if dtype == "float64" else 0.05)


@pytest.mark.parametrize("name", KINDS)
def test_many_variables_at_once_are_each_alone(name):
    """Small ones share buffers, large ones are updated in chunks on all cores: the numbers do not change."""
    shapes = [(), (1,), (3, 2), (0,), (2, 0, 3), (20000,), (400, 500), (7,)]
    generator = np.random.default_rng(5)
    values = [generator.normal(size=shape).astype("f") for shape in shapes]
    steps = [[generator.normal(size=shape).astype("f") for shape in shapes] for _ in range(3)]
    together, alone = variables_of(values), variables_of(values)
    optimizer, optimizers = made(name), [made(name) for _ in shapes]
    for step in steps:
        optimizer.apply_gradients(pairs(gradients_of(step), together))
        for one, gradient, variable in zip(optimizers, step, alone, strict=True):
            one.apply_gradients([(tf.constant(gradient), variable)])
    for a, b in pairs(together, alone):
        assert a.shape == b.shape
        assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", KINDS)
def test_arrays_of_any_layout(name):
    value, gradient = np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(3, 2).T
    big = np.asfortranarray(np.ones((300, 500)))
    v, w = tf.Variable(value), tf.Variable(big)
    optimizer = made(name)
    optimizer.apply_gradients([(tf.constant(gradient), v), (tf.constant(big.T.copy().T), w)])
    a, b = tf.Variable(value.copy("C")), tf.Variable(big.copy("C"))
    other = made(name)
    other.apply_gradients([(tf.constant(gradient.copy("C")), a), (tf.constant(big.copy("C")), b)])
    assert_array_equal(v, a)
    assert_array_equal(w, b)


def test_variables_of_different_dtypes_in_one_step():
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0], dtype="float64")
    made("Adam").apply_gradients([(tf.ones(2), v), (tf.ones(2), w)])
    assert (v.dtype, w.dtype) == (tf.float32, tf.float64)
    assert_allclose(v, w, rtol=1e-6)


def test_a_variable_that_occurs_twice_is_updated_twice():
    v = tf.Variable(1.0)
    SGD(0.25).apply_gradients([(tf.constant(1.0), v), (tf.constant(2.0), v)])
    assert float(v) == 0.25


def test_variables_may_come_and_go():
    a, b, c = (tf.Variable([1.0, 1.0]) for _ in range(3))
    optimizer = made("SGD")
    for chosen in ([a, b], [b, c], [a, b], [a, b, c], [c]):
        optimizer.apply_gradients([(tf.ones(2), v) for v in chosen])
    expected = tf.Variable([1.0, 1.0])
    plain = made("SGD")
    path = []
    for _ in range(4):
        plain.apply_gradients([(tf.ones(2), expected)])
        path.append(expected.numpy())
    assert_allclose(np.stack([a, b, c]), np.stack([path[2], path[3], path[2]]), rtol=1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# Rows


@pytest.mark.parametrize(
    ("name", "compiled"), [*((name, False) for name in KINDS), ("SGD", True), ("Adam", True)]
)
def test_rows_are_updated_as_if_they_were_all(name, compiled):
    table, rows = (
        tf.Variable(np.arange(10.0).reshape(5, 2).astype("f")),
        tf.Variable([[2.0, 3.0], [6.0, 7.0]]),
    )
    before = table.numpy()
    sparse, dense = made(name), made(name)

    def step(values, indices):
        sparse.apply_gradients([(tf.IndexedSlices(values, indices, (5, 2)), table)])

    step = tf.function(step) if compiled else step
    for values in ([[1.0, 1.0], [3.0, 1.0], [2.0, -1.0]], [[1.0, -2.0], [0.0, 1.0], [5.0, 1.0]]):
        values = np.float32(values)
        step(tf.constant(values), tf.constant([1, 3, 1]))
        dense.apply_gradients([(tf.constant([values[0] + values[2], values[1]]), rows)])
        assert_allclose(table.numpy()[[1, 3]], rows, rtol=1e-5, atol=1e-7)
        assert_array_equal(table.numpy()[[0, 2, 4]], before[[0, 2, 4]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", KINDS)
def test_compiled_steps_go_through_the_rows_of_large_tables_that_the_gradient_has(name, dtype):
    start = np.linspace(-1.0, 1.0, 18000).reshape(6000, 3)
    indices = [[[7, 5999, 7, 0], [3, 7, 5999, 7]], [[5999, 5999, 5999, 5999], [1, 2, 3, 4]]]
    values = [[0.5, 1.0, -1.5, 1.0, 2.0, 0.25, -0.5, 0.75], [1.0, 2.0, -1.0, 0.5, 1.0, 1.0, -1.0, 3.0]]
    values = np.reshape(values, (2, 2, 4, 1)) * [1.0, -2.0, 0.5]

    def trained(decorate):
        table, optimizer = tf.Variable(start, dtype=dtype), made(name)

        @decorate
        def step(rows, at):
            optimizer.apply_gradients([(tf.IndexedSlices(rows, at, (6000, 3)), table)])

        for rows, at in zip(values, indices):
            step(tf.constant(rows, dtype), tf.constant(at))
        step(tf.zeros((0, 3), dtype), tf.zeros(0, "int32"))
        return [table, *optimizer.variables], step

    eager, _ = trained(lambda f: f)
    compiled, step = trained(tf.function)
    for mine, own in zip(compiled, eager, strict=True):
        tolerance = {"float32": 1e-5, "float64": 1e-9, "bfloat16": 2e-2}[dtype]
        assert_allclose(tf.cast(mine, "float64"), tf.cast(own, "float64"), rtol=tolerance, atol=tolerance)
    whole = {
        eqn.primitive.name
        for program in step._programs.values()
        for eqn in program.executable.graph.code.jaxpr.eqns
        for v in eqn.outvars
        if v.aval.shape == (6000, 3)
    }
    assert whole == {"scatter"}


@pytest.mark.parametrize("options", [{"clipnorm": 0.5}, {"global_clipnorm": 0.5}, {"clipvalue": 0.1}])
def test_rows_are_clipped_as_what_they_stand_for(options):
    rows = tf.IndexedSlices(tf.constant([[1.0, 1.0], [2.0, -3.0]]), tf.constant([1, 1]), tf.constant([3, 2]))
    v, w = tf.Variable(tf.zeros((3, 2))), tf.Variable(tf.zeros((3, 2)))
    SGD(1.0, **options).apply_gradients([(rows, v)])
    SGD(1.0, **options).apply_gradients([(tf.convert_to_tensor(rows), w)])
    assert_allclose(v, w, rtol=1e-6)


@pytest.mark.parametrize("options", [{"clipnorm": 0.5}, {"global_clipnorm": 0.5}, {"clipvalue": 0.1}])
@pytest.mark.parametrize("rows", [60, 3000], ids=["few", "many"])
@pytest.mark.parametrize("signature", [None, [tf.TensorSpec([None], "int32"), tf.TensorSpec([None, 2])]])
def test_rows_are_clipped_alike_in_compiled_steps(options, rows, signature):
    random = np.random.default_rng(0)
    batches = [
        (random.integers(0, 9, n).astype("int32"), random.normal(size=(n, 2)).astype("float32"))
        for n in (7, 7, 0, 3)
    ]
    results = []
    for compiled in (False, True):
        table, w, optimizer = (
            tf.Variable(tf.ones([rows, 2])),
            tf.Variable([1.0, 2.0]),
            made("Adam", **options),
        )

        def step(at, factors, table=table, w=w, optimizer=optimizer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.gather(table, at) * factors * w)
            optimizer.apply_gradients(zip(tape.gradient(loss, [table, w]), [table, w]))

        run = tf.function(step, input_signature=signature) if compiled else step
        for batch in batches:
            run(*map(tf.constant, batch))
        results.append([table.numpy(), w.numpy()])
    for eager, compiled in zip(*results):
        assert_allclose(compiled, eager, rtol=1e-5)


@pytest.mark.parametrize("rows", [4, 4000], ids=["few", "many"])
def test_a_compiled_step_takes_no_index_from_the_end(rows):
    table, optimizer = tf.Variable(tf.ones([rows, 1])), SGD(1.0, momentum=0.9)

    @tf.function(jit_compile=True)
    def step(at):
        optimizer.apply_gradients([(tf.IndexedSlices(tf.constant([[1.0], [2.0]]), at, (rows, 1)), table)])

    for _ in range(2):
        step(tf.constant([-1, rows - 1]))
    assert table.numpy()[-2:].ravel().tolist() == pytest.approx([1.0, 1.0 - 2.0 - 3.8])


def test_rows_may_be_accumulated():
    v = tf.Variable(tf.zeros((3, 1)))
    optimizer = SGD(1.0, gradient_accumulation_steps=2)
    for index in (0, 2):
        optimizer.apply_gradients([(tf.IndexedSlices(tf.ones((1, 1)), tf.constant([index]), (3, 1)), v)])
    assert v.numpy().ravel().tolist() == [-0.5, 0.0, -0.5]


# ---------------------------------------------------------------------------------------------------------------------
# What others hold does not change


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("shape", [(3,), (200, 200)])
def test_a_step_changes_no_array_that_others_hold(name, shape):
    v = tf.Variable(tf.ones(shape))
    optimizer = made(name)
    gradient = tf.ones(shape)
    optimizer.apply_gradients([(gradient, v)])
    held = [v.value(), *(s.value() for s in optimizer.variables), gradient]
    arrays = [np.asarray(v), *(np.asarray(s) for s in optimizer.variables)]
    copies = [np.array(h) for h in [*held, *arrays]]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)
    kept = v.numpy()
    optimizer.apply_gradients([(gradient, v)])
    for holder, copy_ in zip([*held, *arrays], copies, strict=True):
        assert_array_equal(holder, copy_)
    assert_array_equal(tape.gradient(loss, v), 2 * kept)
    assert not np.array_equal(v, kept)


def test_a_value_kept_from_a_step_keeps_no_other_alive():
    variables = [tf.Variable(np.zeros(1000, "f")) for _ in range(10)]
    optimizer = made("Adam")
    optimizer.apply_gradients([(tf.ones(1000), v) for v in variables])
    assert variables[0].value()._array.base is None


@pytest.mark.parametrize("name", KINDS)
def test_state_may_be_assigned(name):
    v = [tf.Variable([1.0, 2.0]), tf.Variable([3.0])]
    w = [tf.Variable([1.0, 2.0]), tf.Variable([3.0])]
    first, second = made(name), made(name)
    for _ in range(3):
        first.apply_gradients([(tf.constant([1.0, -2.0]), v[0]), (tf.constant([0.5]), v[1])])
    second.build(w)
    assert [a.name for a in second.variables] == [a.name for a in first.variables]
    for to, value in pairs([*second.variables, *w], [*first.variables, *v]):
        to.assign(value)
        assert_array_equal(to, value)
    for _ in range(2):
        for optimizer, variables in ((first, v), (second, w)):
            optimizer.apply_gradients(pairs([tf.constant([1.0, -2.0]), tf.constant([0.5])], variables))
            optimizer.variables[-1].assign_add(tf.zeros_like(optimizer.variables[-1]))
    for a, b in pairs([*second.variables, *w], [*first.variables, *v]):
        assert_array_equal(a, b)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("name", KINDS)
def test_a_copy_goes_on_where_the_original_was(name, copied):
    v = [tf.Variable([1.0, 2.0], name="a"), tf.Variable([3.0], name="b")]
    options = {"use_ema": True, "gradient_accumulation_steps": 2, "weight_decay": 0.1}
    optimizer = made(name, **options)
    optimizer.exclude_from_weight_decay(var_list=[v[1]])
    gradients = [tf.constant([1.0, -2.0]), tf.constant([0.5])]
    for _ in range(3):
        optimizer.apply_gradients(pairs(gradients, v))
    other, w = copied((optimizer, v))
    for _ in range(3):
        optimizer.apply_gradients(pairs(gradients, v))
    assert int(other._iterations) == 3
    for _ in range(3):
        other.apply_gradients(pairs(gradients, w))
    for a, b in pairs([*optimizer.variables, *v], [*other.variables, *w]):
        assert a is not b
        assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["SGD", "Adam", "Nadam"])
def test_eager_and_compiled_steps_mix(name):
    v, w = variables_of(KERAS["values"]), variables_of(KERAS["values"])
    mixed, eager = made(name), made(name)
    compiled = tf.function(lambda *gradients: mixed.apply_gradients(pairs(gradients, v)))
    for i, gradients in enumerate(KERAS["gradients"]):
        gradients = gradients_of(gradients)
        (compiled if i % 3 else lambda *g: mixed.apply_gradients(pairs(g, v)))(*gradients)
        eager.apply_gradients(pairs(gradients, w))
    for a, b in pairs([*mixed.variables, *v], [*eager.variables, *w]):
        assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_many_variables_compile_as_one():
    shapes = [(), (3,), (2, 2), (0,), (1, 2, 3)] * 2 + [(20000,)]
    v, w = ([tf.Variable(tf.ones(shape)) for shape in shapes] for _ in range(2))
    compiled, eager = made("Adam"), made("Adam")
    step = tf.function(lambda gradients: compiled.apply_gradients(pairs(gradients, v)))
    for i in range(2):
        gradients = [tf.fill(shape, 1.0 + i * j) for j, shape in enumerate(shapes)]
        step(gradients)
        eager.apply_gradients(pairs(gradients, w))
    for a, b in pairs([*compiled.variables, *v], [*eager.variables, *w]):
        assert a.shape == b.shape
        assert_allclose(a, b, rtol=1e-5)


def test_a_whole_step_compiles():
    w, b = tf.Variable([[0.0], [0.0]]), tf.Variable(0.0)
    schedule = tf.optimizers.schedules.ExponentialDecay(0.2, 50, 0.5)
    optimizer = tf.optimizers.Adam(schedule, global_clipnorm=1.0)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w + b - y) ** 2)
        optimizer.apply_gradients(pairs(tape.gradient(loss, [w, b]), [w, b]))
        return loss

    x = tf.constant(np.random.default_rng(1).normal(size=(50, 2)).astype("f"))
    y = x @ tf.constant([[2.0], [-1.0]]) + 0.5
    for _ in range(200):
        step(x, y)
    assert_allclose(w, [[2.0], [-1.0]], atol=1e-2)
    assert float(b) == pytest.approx(0.5, abs=1e-2)
    assert int(optimizer.iterations) == 200
    assert float(optimizer.learning_rate) == pytest.approx(0.2 * 0.5**4, rel=1e-5)


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_a_checkpoint_holds_the_state(name, built, tmp_path):
    v, w = variables_of(KERAS["values"]), variables_of(KERAS["values"])
    first, second = made(name), made(name)
    for gradients in KERAS["gradients"][:3]:
        first.apply_gradients(pairs(gradients_of(gradients), v))
    path = tf.train.Checkpoint(optimizer=first, v=v).save(str(tmp_path / "checkpoint"))
    if built:
        second.build(w)
    status = tf.train.Checkpoint(optimizer=second, v=w).restore(path)
    if built:
        status.assert_consumed()
    for optimizer, variables in ((first, v), (second, w)):
        optimizer.apply_gradients(pairs(gradients_of(KERAS["gradients"][3]), variables))
    status.assert_consumed()
    for a, b in pairs([*first.variables, *v], [*second.variables, *w]):
        assert_array_equal(a, b)


# ---------------------------------------------------------------------------------------------------------------------
# What all optimizers take


@pytest.mark.parametrize("case", KERAS["rates"], ids=lambda case: f"{case['schedule']} {case['options']}")
def test_schedules_are_those_of_keras(case):
    kind = getattr(tf.optimizers.schedules, case["schedule"])
    schedule = kind(**case["options"])
    for step, rate in zip(KERAS["at"], case["rates"], strict=True):
        assert_allclose(schedule(step), rate, rtol=1e-5, atol=1e-8)
    compiled = tf.function(schedule)
    assert_allclose(compiled(tf.constant(7)), schedule(7), rtol=1e-5)
    optimizer = SGD(schedule)
    again = SGD.from_config(optimizer.get_config())
    assert repr(again._learning_rate) == repr(schedule)
    assert json.loads(json.dumps(optimizer.get_config())) == again.get_config()
    assert_allclose(again.learning_rate, schedule(0), rtol=1e-6)


def test_a_schedule_counts_the_steps():
    optimizer = SGD(tf.optimizers.schedules.PiecewiseConstantDecay([0, 1], [1.0, 0.5, 0.25]))
    v = tf.Variable(0.0)
    path = []
    for _ in range(3):
        optimizer.apply_gradients([(1.0, v)])
        path.append(float(v))
    assert path == [-1.0, -1.5, -1.75]
    with pytest.raises(TypeError, match="the learning rate is a schedule"):
        optimizer.learning_rate = 0.5
    optimizer.learning_rate = tf.optimizers.schedules.ExponentialDecay(1.0, 3, 0.5)
    assert float(optimizer.learning_rate) == 0.5
    with pytest.raises(ValueError, match="there is no schedule 'Mine': known are CosineDecay"):
        tf.optimizers.schedules.deserialize({"class_name": "Mine", "config": {}})


def test_the_learning_rate_may_be_a_function():
    rates = iter([1.0, 0.5])
    optimizer, v = SGD(lambda: next(rates)), tf.Variable(0.0)
    for _ in range(2):
        optimizer.apply_gradients([(1.0, v)])
    assert float(v) == -1.5


def test_lr_is_the_learning_rate():
    optimizer = made("Adam")
    optimizer.lr = 0.5
    assert float(optimizer.lr) == float(optimizer.learning_rate) == 0.5


@pytest.mark.parametrize("names", [None, ["bias"], ["nothing"]])
def test_weight_decay_may_leave_variables_out(names):
    w, bias = tf.Variable(1.0, name="w"), tf.Variable(1.0, name="dense/bias")
    optimizer = SGD(0.5, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_list=None if names else [bias], var_names=names)
    optimizer.apply_gradients([(0.0, w), (0.0, bias)])
    assert float(w) == 0.75
    assert float(bias) == (0.75 if names == ["nothing"] else 1.0)
    with pytest.raises(ValueError, match="must be called before the first update"):
        optimizer.exclude_from_weight_decay([w])


def test_a_scaled_loss_gives_the_same_step():
    v, w = tf.Variable(2.0), tf.Variable(2.0)
    optimizer = SGD(0.1, loss_scale_factor=1024.0)
    with tf.GradientTape() as tape:
        loss = optimizer.scale_loss(v * v)
    assert float(loss) == 4096.0
    optimizer.apply_gradients([(tape.gradient(loss, v), v)])
    SGD(0.1).minimize(lambda: w * w, [w])
    assert float(v) == float(w)


def test_apply_takes_gradients_in_the_order_of_build():
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = SGD(0.5)
    with pytest.raises(ValueError, match=r"call build\(variables\) first"):
        optimizer.apply([tf.constant(1.0)])
    optimizer.build([v, w])
    optimizer.apply([tf.constant(1.0), tf.constant(0.5)])
    assert (float(v), float(w)) == (0.5, 0.75)
    with pytest.raises(ValueError, match="there are 1 gradients for 2 variables"):
        optimizer.apply([tf.constant(1.0)])


@pytest.mark.parametrize("name", KINDS)
def test_an_optimizer_describes_itself(name):
    optimizer = made(name, clipnorm=0.5, use_ema=True, name="mine")
    again = type(optimizer).from_config(optimizer.get_config())
    assert again.get_config() == optimizer.get_config()
    assert json.loads(json.dumps(again.get_config())) == again.get_config()
    assert (again.name, again.clipnorm, again.use_ema) == ("mine", 0.5, True)
    assert repr(optimizer).startswith(f"<{name} learning_rate=0.1")
    assert repr(optimizer).endswith("0 steps>")


@pytest.mark.parametrize(
    ("name", "slots"),
    [
        ("SGD", ["v_momentum", "w_momentum"]),
        (
            "Adam",
            ["v_momentum", "v_velocity", "w_momentum", "w_velocity", "v_velocity_hat", "w_velocity_hat"],
        ),
        (
            "RMSprop",
            [f"{v}_{slot}" for slot in ("velocity", "momentum", "average_gradient") for v in ("v", "w")],
        ),
        ("Nadam", ["v_momentum", "v_velocity", "w_momentum", "w_velocity", "u_product"]),
        ("Ftrl", ["v_accumulator", "v_linear", "w_accumulator", "w_linear"]),
    ],
)
def test_the_order_of_the_variables_is_that_of_keras(name, slots):
    optimizer = made(name)
    optimizer.build([tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w")])
    assert [v.name for v in optimizer.variables] == [f"{n}:0" for n in ["iteration", "learning_rate", *slots]]
    assert not any(v.trainable for v in optimizer.variables)


def test_an_optimizer_of_your_own():
    class Momentum(tf.optimizers.Optimizer):
        def build(self, variables):
            super().build(variables)
            self.momenta = self.add_optimizer_variables(variables, "momentum")

        def update_step(self, gradient, variable, learning_rate):
            m = self.momenta[self._get_variable_index(variable)]
            m.assign(0.9 * m - learning_rate * gradient)
            variable.assign_add(m)

    v, w = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])
    mine, plain = (
        Momentum(0.1, weight_decay=0.1, clipvalue=0.5),
        SGD(0.1, momentum=0.9, weight_decay=0.1, clipvalue=0.5),
    )
    compiled = tf.function(lambda g: mine.apply_gradients([(g, v)]))
    for i in range(4):
        gradient = tf.constant([1.0, 0.1 * i])
        (compiled if i > 1 else lambda g: mine.apply_gradients([(g, v)]))(gradient)
        plain.apply_gradients([(gradient, w)])
    assert_allclose(v, w, rtol=1e-5)
    assert [s.name for s in mine.variables] == ["iteration:0", "learning_rate:0", "Variable_momentum:0"]
    with pytest.raises(ValueError, match="u:0: this Momentum was built for other variables"):
        mine.apply_gradients([(tf.constant(1.0), tf.Variable(1.0, name="u"))])
    with pytest.raises(NotImplementedError, match="Optimizer has neither update_step nor a rule"):
        tf.optimizers.Optimizer(0.1).apply_gradients([(tf.ones(2), v)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SGD(lr=0.1), "SGD has no argument lr. The learning rate is called learning_rate"),
        (lambda: SGD(speed=0.1), "SGD has no argument speed"),
        (lambda: SGD(clipnorm=1.0, clipvalue=1.0), "clipnorm and clipvalue are given"),
        (lambda: SGD(gradient_accumulation_steps=1), "from 2 on, or None, not 1"),
        (lambda: SGD(use_ema=True, ema_momentum=2.0), r"ema_momentum must lie in \[0, 1\], not 2.0"),
        (lambda: SGD(ema_overwrite_frequency=0), "from 1 on, or None, not 0"),
        (lambda: tf.optimizers.AdamW(weight_decay=None), "weight_decay is a number, not None"),
        (lambda: tf.optimizers.Ftrl(learning_rate_power=1.0), "must not be positive"),
        (lambda: tf.optimizers.Ftrl(l1_regularization_strength=-1.0), "must not be negative"),
        (lambda: tf.optimizers.Lion(beta_1=0.0), r"beta_1 must lie in \]0, 1\]"),
        (lambda: tf.optimizers.schedules.CosineDecay(0.1, 0), "decay_steps must be positive, it is 0"),
        (
            lambda: tf.optimizers.schedules.PiecewiseConstantDecay([1], [0.1]),
            "1 values need 0 boundaries between them, not 1",
        ),
    ],
)
def test_arguments_that_cannot_be(make, message):
    with pytest.raises(ValueError, match=message):
        make()


V = tf.Variable([1.0, 2.0])
G = tf.constant([1.0, 2.0])


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: SGD(0.1).apply_gradients(G), TypeError, "takes pairs .* not <tf.Tensor"),
        (lambda: SGD(0.1).apply_gradients([(G, V, 1)]), TypeError, r"zip\(gradients, variables\)"),
        (lambda: SGD(0.1).apply_gradients(5), TypeError, "apply_gradients must be a list, not 5"),
        (
            lambda: SGD(0.1).apply_gradients([(tf.cast(G, "complex64"), V)]),
            TypeError,
            "is complex64, the variable",
        ),
        (lambda: SGD(0.1).build([G]), TypeError, "build must be variables; one of them is <tf.Tensor"),
        (lambda: SGD(0.1).minimize(lambda: G, 5), TypeError, "minimize: var_list must be a list, not 5"),
        (lambda: SGD(0.1).minimize(G, [V], "tape"), ValueError, "the tape that recorded it must be given"),
        (lambda: SGD(0.1).exclude_from_weight_decay(var_names=[1]), TypeError, "must be texts"),
        (lambda: SGD(0.1).add_variable_from_reference(G), TypeError, "must be variables"),
        (lambda: SGD(0.1).add_optimizer_variables([V], ["a", "b"], ["zeros"]), ValueError, "2 names and 1"),
        (lambda: SGD.from_config(5), TypeError, "SGD.from_config takes what get_config gives, a dict, not 5"),
        (
            lambda: tf.optimizers.Adam(0.1, "0.9").apply_gradients([(G, V)]),
            TypeError,
            "beta_1 must be one real",
        ),
        (lambda: SGD(0.1, clipnorm=[1.0]).apply_gradients([(G, V)]), TypeError, "clipnorm must be one real"),
        (lambda: SGD(0.1, gradient_accumulation_steps=2.5), TypeError, "must be one integer, not 2.5"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(act, error, message):
    with pytest.raises(error, match=message):
        act()
    assert V.numpy().tolist() == [1.0, 2.0]


def test_decay_is_gone():
    with pytest.warns(UserWarning, match="SGD: decay has no effect. Use a schedule"):
        SGD(0.1, decay=0.1)


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("SGD", "momentum", 0.9),
        ("RMSprop", "momentum", 0.9),
        ("RMSprop", "centered", True),
        ("Adam", "use_ema", True),
        ("Adam", "gradient_accumulation_steps", 2),
    ],
)
def test_a_setting_that_needs_more_state_is_refused_once_there_is_state(name, setting, value):
    v, optimizer = tf.Variable([1.0]), getattr(tf.optimizers, name)(0.1)
    setattr(optimizer, setting, value)
    setattr(optimizer, setting, before := getattr(getattr(tf.optimizers, name)(), setting))
    optimizer.apply_gradients([(tf.constant([1.0]), v)])
    with pytest.raises(
        ValueError, match=f"{setting} cannot be set to {value} any more: .* Make a new optimizer"
    ):
        setattr(optimizer, setting, value)
    assert getattr(optimizer, setting) == before
    optimizer.apply_gradients([(tf.constant([1.0]), v)])
    assert int(optimizer.iterations) == 2


def test_a_setting_is_refused_that_only_some_variables_have_state_for():
    a, b, optimizer = tf.Variable([1.0]), tf.Variable([2.0]), SGD(1.0, use_ema=True)
    optimizer.apply_gradients([(tf.constant([0.0]), a)])
    optimizer.use_ema = False
    optimizer.apply_gradients([(tf.constant([0.0]), b)])
    with pytest.raises(ValueError, match="use_ema cannot be set to True any more"):
        optimizer.use_ema = True
