"""Python's control flow on tensors inside a @function: the compiled program does what the Python does.

Each program runs eagerly and compiled, with its gradient, on inputs that take it all its ways.
"""

import functools
import gc
import logging
import os
import re
import subprocess
import sys
import traceback
import weakref
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf

pytest.importorskip("jax")
pytest.importorskip("malt")

set_loop_options = tf.autograph.experimental.set_loop_options
HERE = Path(__file__).name


def with_gradient(f):
    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    return both


def values(structure):
    return [np.asarray(leaf) for leaf in tf.nest.flatten(structure)]


# ---------------------------------------------------------------------------------------------------------------------
# Programs of one number; each of one vector below


def if_else(x):
    if x > 1:
        y = x * x
    else:
        y = 3 * x
    return y


def if_alone(x):
    y = x
    if x > 1:
        y = y * x
    return y


def elif_chain(x):
    if x < 0:
        return -x
    elif x < 2:  # noqa: RET505
        return x * x
    elif x < 3:
        return x * x * x
    return x + 1


def return_inside_one_way(x):
    if x > 0:
        if x > 1:
            return x * x
        y = x
    else:
        y = 2 * x
    return y * 3


def ifs_in_a_python_loop(x):
    y = x
    for k in range(3):
        if x > k:
            y = y * (k + 2)
        else:
            y = y + x * k
    k = 7  # what the branches read is what it was when they ran
    return y + k


def numbers_of_python(x):
    n, scale = 1, 2.0
    if x > 1:
        n, scale = 2, 3.0
    return scale * x * x if n == 2 else x * scale


def number_or_tensor(x):
    if x > 1:
        y = 0
    else:
        y = x * 2
    return y + x


def conditional_expression(x):
    return (x if x > 1 else x * x) + (3 * x if 0 < x < 2 else -x)


def and_or_not(x):
    if x > 0 and not x > 2:
        y = x
    else:
        y = 2 * x
    if x < -1 or x > 1:
        y = y * y
    if x and (x > 1 or x < 0 or square(x) > 4):
        y = y * 3
    return y


def square(x):
    return x * x


def while_(x):
    while x < 20:
        set_loop_options(maximum_iterations=12)
        x = x * x + 1
    return x


def while_true_break(x):
    n = 0.0
    while True:
        set_loop_options(maximum_iterations=12)
        x = x * x + 1
        n += 1
        if x > 20:
            break
    return x * n


def while_else(x):
    n = 0
    while n < 3:
        set_loop_options(maximum_iterations=3)
        if x > 20:
            break
        x = x * x
        n += 1
    else:
        x = -x
    return x


def while_with_a_name(x):
    y = x
    while (z := y * y) < 20:
        set_loop_options(maximum_iterations=12)
        y = z + 1
    return y + z


def counted_while(x):
    i = 0
    while i < 4 and x < 20:
        set_loop_options(maximum_iterations=6)
        x, i = x * x + 1, i + 1
    return x * tf.cast(i, tf.float32)


def for_range(x):
    total = x
    for i in tf.range(4):
        total = total * x + tf.cast(i, tf.float32)
    return total


def for_over_slices(x):
    total = 0.0
    for v in tf.stack([x, 2 * x, 3 * x]):
        if v > 3:
            total += v * v
        else:
            total += v
    return total


def break_and_continue(x):
    total = x
    for i in tf.range(6):
        if i == 2:
            continue
        if total > 20:
            break
        total = total + x * x
    return total


def return_from_a_loop(x):
    for i in tf.range(5):
        if x > 20:
            return x * 3
        x = x * x + tf.cast(i, tf.float32)
    return x


def return_from_nested_loops(x):
    for i in tf.range(3):
        for j in tf.range(3):
            if tf.cast(i * j, tf.float32) > x:
                return x * tf.cast(i + 10 * j, tf.float32)
    return -x


def break_of_a_python_loop(x):
    for i in range(5):  # noqa: B007
        x = x * x
        if x > 20:
            break
    else:
        x = -x
    return x + tf.cast(i, tf.float32)


def int_becomes_float(x):
    total = 0
    for i in tf.range(3):
        for j in tf.range(3):
            if i == j:
                continue
            total += x * tf.cast(i + j, tf.float32)
    return total


def none_at_first(x):
    last, total = None, 0
    for v in tf.stack([x, 2 * x, 3 * x, x]):
        if last is not None:
            total += v * last
        last = v
    return total + v


def shape_settles(x):
    total = 0.0
    for row in tf.stack([[x, 1.0], [2 * x, x], [x, x]]):
        total = total + row
    return tf.reduce_sum(total)


def first_seen_in_the_loop(x):
    while x < 20:
        set_loop_options(maximum_iterations=12)
        x = x * x + 1
        y = x + 1
    return x if x > 1000 else y


def nested_structures(x):
    state = {"a": x, "b": [x, (2 * x, None)]}
    for _ in tf.range(2):
        state = {"a": state["b"][0], "b": [state["a"] * 2, (state["b"][1][0] + 1, None)]}
    if x > 1:
        state["a"] = state["a"] * 3
        state["b"][0] = x
    return state["a"] * state["b"][0] + state["b"][1][0]


def tensor_array(x):
    squares = tf.TensorArray(tf.float32, 4)
    for i in tf.range(4):
        if tf.cast(i, tf.float32) < x:
            squares = squares.write(i, x * x)
        else:
            squares = squares.write(i, x)
    return tf.reduce_sum(squares.stack())


def enumerate_zip_reversed(x):
    a, b = tf.stack([x, 2 * x]), tf.stack([x, 3 * x, 5 * x])
    total = 0.0
    for (i, u), v in zip(enumerate(a, 1), b, strict=False):
        total += u * v * tf.cast(i, tf.float32)
    for v in reversed(b):
        total = total * v + x
    return total


def builtin_functions(x):
    a = tf.stack([x, x * x, 2.0])
    y = max(x, 1.0) + min(x * x, x, 3.0) + max(a) + abs(x) + float(int(x))
    if any(a > 8) or all([x > 0, x < 1]):
        y = y + sorted(a)[1]
    return y * 2 if bool(x) else y


def functions_inside(x):
    count = 0

    def halved_while_large(y):
        nonlocal count
        count += 1
        if y > 1:
            return y / 2
        return y * count

    clipped = lambda y: y if y > 0 else 0.1 * y
    return clipped(halved_while_large(halved_while_large(x))) + halved_while_large(x)


def recursive(x, depth=3):
    if depth == 0:
        return x
    if x > 1:
        return recursive(x * x / 2, depth - 1)
    return recursive(x, depth=depth - 1) + 1


def with_arguments(x, *more, scale=2.0, **named):
    if x > 1:
        return x * scale + more[0] * named["shift"]
    return x


def calls(x):
    partial = functools.partial(with_arguments, scale=x)
    mapped = sum(map(if_else, [x, 2 * x]))
    return partial(x, 2.0, shift=x) + recursive(x) + mapped + functools.reduce(larger, [x, 2 * x, -x])


def larger(x, y):
    return x if x > y else y


def passed_on(x):
    xs = tf.stack([x, -x, 2 * x])
    mapped = tf.map_fn(if_else, xs)
    folded = tf.foldl(larger, xs)
    return tf.reduce_sum(mapped) * folded + tf.cond(x > 0, lambda: if_else(x), lambda: elif_chain(x))


def logged(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        if args[0] > 1:
            return f(*args, **kwargs) * 2
        return f(*args, **kwargs)

    return wrapper


@logged
def decorated(x):
    if x > 2:
        x = x + 1
    return x


class Scaled(tf.Module):
    __factor = 3.0

    def __init__(self):
        super().__init__()
        self.weight = tf.constant(2.0)

    @property
    def doubled(self):
        return self.weight * 2 if self.weight > 1 else self.weight

    @staticmethod
    def positive(x):
        if x > 0:
            return x
        return -x

    @classmethod
    def scaled(cls, x):
        return cls.__factor * x if x > 1 else x

    def __call__(self, x):
        self.last = x
        if x > 1:
            self.last = x * self.weight
            self.largest = x
        else:
            self.largest = 2 * x
        return self.positive(self.last) + self.scaled(x) * self.doubled + self.largest


class Shifted(Scaled):
    def __call__(self, x):
        if x < 2:
            y = super().__call__(x)
        else:
            y = x
        return y + self._Scaled__factor


model = Shifted()


def methods(x):
    y = model(x) + Scaled.__call__(model, x) + model.last
    model.last = model.largest = None  # no tensor of the program stays behind
    return y


def tried(x):
    try:
        if x > 1:
            y = x * x
        else:
            y = x
        y = y + {}["nothing"]
    except KeyError as error:
        y = y * len(error.args)
    finally:
        y = y + 1
    return y


def context(x):
    with tf.name_scope("inside"):
        if x > 1:
            return x * x
    return x


def deleted(x):
    temporary = x * 2
    if x > 1:
        x = x + temporary
    del temporary
    return x


def static_conditions(x, flags=("a", None)):
    for flag in flags:  # Python's, and stay so
        if flag is not None and flag == "a":
            x = x * 2
        elif not flag:
            x = x + 1
    assert len(flags) == 2, "static"
    return x


one_line = [lambda x: x * x if x > 1 else x, lambda x: -x if x > 1 else 2 * x]


def lambdas_of_one_line(x):
    return one_line[0](x) + one_line[1](x)


def to_a_traced_number(x):
    n = tf.cast(x, tf.int32) + 2
    for i in tf.range(n):
        set_loop_options(maximum_iterations=10)
        x = x * 1.5 + tf.cast(i, tf.float32)
    for _ in range(1, n):
        set_loop_options(maximum_iterations=10)
        if x > 30:
            break
        x = x * 2
    return x


PROGRAMS = [
    *(if_else, if_alone, elif_chain, return_inside_one_way, ifs_in_a_python_loop, numbers_of_python),
    *(number_or_tensor, conditional_expression, and_or_not),
    *(while_, while_true_break, while_else, while_with_a_name, counted_while, first_seen_in_the_loop),
    *(for_range, for_over_slices, break_and_continue, return_from_a_loop, return_from_nested_loops),
    *(break_of_a_python_loop, int_becomes_float, none_at_first, shape_settles, to_a_traced_number),
    *(nested_structures, tensor_array, enumerate_zip_reversed, builtin_functions),
    *(functions_inside, recursive, calls, passed_on, decorated, methods, lambdas_of_one_line),
    *(tried, context, deleted, static_conditions),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_it_does_what_it_does_in_python(program):
    run = with_gradient(program)
    compiled = tf.function(run)
    for x in (-1.5, 0.5, 1.5, 2.5, 6.0):
        expected, got = run(tf.constant(x)), compiled(tf.constant(x))
        for a, b in zip(values(expected), values(got), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-5, err_msg=f"{program.__name__}({x})")
    assert compiled.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    "program", [if_else, ifs_in_a_python_loop, for_over_slices, return_from_a_loop], ids=lambda f: f.__name__
)
def test_gradients_from_outside_and_of_gradients(program):
    compiled = tf.function(program)

    def second(f, x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            g = inner.gradient(y, x)
        return g, outer.gradient(g, x, unconnected_gradients="zero")

    for x in (0.5, 2.5):
        expected = second(program, tf.constant(x))
        got = second(compiled, tf.constant(x))
        np.testing.assert_allclose(values(got), values(expected), rtol=1e-5)


def test_a_branch_that_closes_over_a_loop_variable_has_its_own():
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for k in (2.0, 3.0, 5.0):
                y = tf.cond(x > 0, lambda: y * k, lambda: y)  # noqa: B023
        return y, tape.gradient(y, x)

    x = tf.constant(2.0)
    np.testing.assert_array_equal(values(tf.function(f)(x)), [60.0, 30.0])


# ---------------------------------------------------------------------------------------------------------------------
# Variables of gradtape, effects


def test_variables_are_assigned_in_branches_and_loops():
    total, steps = tf.Variable(0.0), tf.Variable(0)

    @tf.function
    def add_up(xs, stop):
        for x in xs:
            if x < 0:
                continue
            steps.assign_add(1)
            total.assign_add(x)
            if total > stop:
                break
        while total > 10.0:
            total.assign_sub(10.0)
        return total.read_value()

    assert float(add_up(tf.constant([1.0, -5.0, 2.0, 20.0, 7.0]), 15.0)) == 3.0
    assert (float(total), int(steps)) == (3.0, 3)


def test_python_prints_while_tracing_and_tf_print_while_running(capsys):
    @tf.function
    def f(x):
        print("traced")
        if x > 0:
            tf.print("positive", x, output_stream=sys.stdout)
        return x

    for x in (1.0, 2.0, -1.0):
        f(tf.constant(x))
    assert capsys.readouterr().out == "traced\npositive 1\npositive 2\n"


def checked(x):
    assert x < 5, "too large"
    if x < 0:
        raise ValueError("negative")
    if x < 1:
        y = x
    elif x < 3:
        y = x * x
    else:
        raise OverflowError
    return y


compiled_checked = tf.function(checked)


@pytest.mark.parametrize(
    ("x", "error"),
    [(9.0, AssertionError), (-1.0, ValueError), (4.0, OverflowError), (0.5, None), (2.0, None)],
)
def test_raise_and_assert_happen_when_the_program_runs(x, error):
    if error is None:
        assert float(compiled_checked(tf.constant(x))) == float(checked(tf.constant(x)))
        return
    with pytest.raises(error, match={9.0: "too large", -1.0: "negative", 4.0: "raised in"}[x]) as caught:
        compiled_checked(tf.constant(x))
    assert HERE in caught.value.__notes__[0]


def test_operands_are_asked_for_once_and_only_if_they_count():
    asked = tf.Variable(0)

    def ask(x):
        asked.assign_add(1)
        return x

    @tf.function
    def f(x):
        asked.assign(0)
        holds = (0 < ask(x) < 2) and (x > 1 or ask(x) > 0)
        return holds, asked.read_value()

    assert [[int(v) for v in f(tf.constant(x))] for x in (3.0, 1.5, 0.5)] == [[0, 1], [1, 1], [1, 2]]


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be compiled is said


def undefined(x):
    if x > 0:
        y = x
    return y


def other_dtype(x):
    if x > 0:
        y = x
    else:
        y = tf.constant(1, tf.int64)
    return y


def other_nesting(x):
    if x > 0:
        y = [x, x]
    else:
        y = [x]
    return y


def text(x):
    mode = "small"
    if x > 0:
        mode = "large"
    return mode


def falls_off_the_end(x):  # noqa: RET503
    if x > 0:
        return x


def none_or_tensor(x):
    y = None
    if x > 0:
        y = x
    return y


def growing(x):
    xs = tf.stack([x])
    for _ in tf.range(9):
        xs = tf.concat([xs, xs], 0)
    return xs


def text_in_a_loop(x):
    name = "a"
    while x < 5:
        name, x = name + "a", x + 1
    return name


def dtype_in_a_loop(x):
    n = tf.constant(0)
    while x < 5:
        n, x = tf.cast(n, tf.float32), x + 1
    return n


def many_truths(x):
    if tf.stack([x, x]) > 0:
        return x
    return -x


def endless_iterator(x):
    for i in iter(lambda: 1, 2):
        if x > i:
            break
    return x


def unsettled(x):
    total = 0
    for i in tf.range(9):
        if i > 5:
            total += x
    return total


@pytest.mark.parametrize(
    ("program", "error", "says"),
    [
        (undefined, ValueError, "'y' must also be initialized in the else branch"),
        (other_dtype, TypeError, r"'y' is float32\[\] in the main branch and int64\[\] in the else"),
        (other_nesting, TypeError, "'y' is nested differently"),
        (text, TypeError, "'mode' is 'large' in the main branch and 'small'"),
        (falls_off_the_end, ValueError, "the else branch must also return a value"),
        (none_or_tensor, ValueError, "'y' is None at the end of the else branch"),
        (
            growing,
            ValueError,
            r"'xs' has shape \(\d,\) before the loop, but shape \(\d+,\) after one iteration",
        ),
        (text_in_a_loop, TypeError, "'name' is 'a' before the loop, but 'aa' after one iteration"),
        (dtype_in_a_loop, TypeError, "'n' has dtype int32 before the loop, but dtype float32 after one"),
        (many_truths, ValueError, r"one truth value, not a tensor of shape \(2,\)"),
        (endless_iterator, NotImplementedError, "whose length is not known"),
        (unsettled, TypeError, "int32 and float32"),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)
def test_errors_name_the_variable_and_the_line(program, error, says):
    with pytest.raises(error, match=says) as caught:
        tf.function(program)(tf.constant(1.0))
    lines = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.name == program.__name__]
    assert lines
    assert all(Path(f.filename).name == HERE and f.line for f in lines)


def raises_on_a_known_line(x):
    y = x
    if x > 0:
        for _ in tf.range(2):
            y = tf.reshape(
                x,
                (3,),
            )
    return y


def test_a_traceback_shows_the_users_own_lines():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.function(raises_on_a_known_line)(tf.constant(1.0))
    shown = traceback.extract_tb(caught.value.__traceback__)
    assert [f.line for f in shown if Path(f.filename).name == HERE][-1] == "y = tf.reshape("
    assert not [f for f in shown if "autograph_generated" in f.filename]


def test_after_an_error_all_is_as_it_was():
    class Holder:
        value = 1.0

    holder, variable = Holder(), tf.Variable(1.0)

    @tf.function
    def f(x):
        if x > 0:
            holder.value = x
            variable.assign(x)
        else:
            holder.value = tf.reshape(x, (7,))
        return x

    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant(2.0))
    assert holder.value == 1.0
    assert float(variable) == 1.0


# ---------------------------------------------------------------------------------------------------------------------
# What is converted


def choosing(x):
    if x > 0:
        return x
    return -x


def test_what_shall_not_be_converted_is_not():
    left = tf.autograph.experimental.do_not_convert(choosing)
    x = tf.constant(-2.0)
    assert float(left(x)) == 2.0
    for f in (left, tf.autograph.experimental.do_not_convert()(choosing)):
        with pytest.raises(TypeError, match="not known while a @function is traced"):
            tf.function(lambda x, f=f: f(x))(x)
    with pytest.raises(TypeError, match="not known while a @function is traced"):
        tf.function(choosing, autograph=False)(x)


def test_functions_inside_functions_are_converted_with_them():
    inner = tf.function(choosing)
    assert float(tf.function(lambda x: inner(x) * 2)(tf.constant(-2.0))) == 4.0


def generated(x):
    for i in range(3):
        yield x * i


def matching(x):
    match x.ndim:
        case 0:
            return x * 2 if x is not None else x
        case _:
            return x


def test_what_cannot_be_converted_runs_as_it_is(caplog):
    x = tf.constant(2.0)
    assert float(tf.function(lambda x: sum(generated(x)))(x)) == 6.0
    names = {}
    exec("def dynamic(x):\n    return x * 2 if x is not None else x", names)
    assert float(tf.function(lambda x: names["dynamic"](x))(x)) == 4.0
    assert not caplog.records
    with caplog.at_level(logging.WARNING, "gradtape"):
        for _ in range(2):
            assert float(tf.function(lambda x: matching(x) + 1)(x)) == 5.0
    (record,) = caplog.records
    assert re.search(rf"leaves matching \(.*{HERE}, line \d+\).*`match`", record.getMessage())


def test_code_without_branches_needs_no_malt(tmp_path):
    program = tmp_path / "straight.py"
    program.write_text(
        "import sys, gradtape as tf\n"
        "f = tf.function(lambda x: tf.exp(x) * 2.0)\n"
        "assert float(f(tf.constant(0.0))) == 2.0\n"
        "assert 'gradtape.compiled.autograph.syntax' in sys.modules and 'malt' not in sys.modules\n"
    )
    where = {**os.environ, "PYTHONPATH": str(Path(tf.__file__).parent.parent)}
    result = subprocess.run([sys.executable, program], check=False, env=where, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_converted_code_can_be_seen(capsys):
    code = tf.autograph.to_code(tf.function(if_else))
    assert "ag__.if_stmt" in code
    assert tf.autograph.to_graph(if_else)(3) == 9
    with pytest.raises(TypeError, match="takes a function written in Python"):
        tf.autograph.to_code(len)
    tf.autograph.set_verbosity(1, alsologtostdout=True)
    try:
        tf.function(lambda x: x if x > 1 else -x)(tf.constant(1.0))
    finally:
        tf.autograph.set_verbosity(0)
    tf.autograph.trace("done")
    assert re.match(r"(?s)AutoGraph has converted .*if_exp.*done\n$", capsys.readouterr().out)


def test_an_object_with_a_function_is_let_go():
    class Model:
        @tf.function
        def step(self, x):
            if x > 0:
                return x
            return -x

    model = Model()
    assert float(model.step(tf.constant(-3.0))) == 3.0
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_after_an_early_return_a_python_loop_is_not_asked_again_whether_to_go_on():
    """Inside `if not returned:` the flag is known, so growing arrays in Python loops have a known length."""

    @tf.function
    def f(x, n):
        for i in tf.range(n):
            if i > 1:
                return x
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in range(3):
            array = array.write(i, x * (i + 1.0))
        return tf.reduce_sum(array.stack(), 0)

    x = tf.constant([1.0, 2.0])
    assert np.allclose(f(x, tf.constant(1)), [6, 12])
    assert np.allclose(f(x, tf.constant(5)), [1, 2])
    assert f.experimental_get_tracing_count() == 1


def test_a_variable_as_condition_may_change_in_its_branch():
    on = tf.Variable(True)

    @tf.function
    def f(x):
        if on:
            on.assign(False)
            if not on:
                x = x * 2
        return x

    assert f(tf.constant(3.0)) == 6
    assert f(tf.constant(3.0)) == 3


def make(x):
    return x + 1.0


def around(x):
    return x * 2.0


def test_a_function_may_call_any_name():
    """Converted code is wrapped in functions with names of their own."""
    assert float(tf.function(lambda x: make(around(x)))(tf.constant(3.0))) == 7.0
