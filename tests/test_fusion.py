"""How programs are compiled: values that many kernels would compute again are stored, and code grows in proportion."""

import re

import numpy as np
import pytest

import gradtape as tf

jax = pytest.importorskip("jax")

from gradtape.compiled import function_graph  # noqa: E402  (needs JAX)
from gradtape.compiled.fusion import common_options, planned  # noqa: E402

STEPS = 12


def gradient_of(function):
    """The function's gradient with respect to its first argument, as users write it."""

    def step(x, *rest):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, *rest)
        return tape.gradient(y, x)

    return step


def recurrence(weights, series):
    """A cell with a state that no product computes, unrolled."""
    h = c = tf.zeros((4, 8))
    for x in tf.unstack(series):
        i, new = tf.split(tf.concat([x, h], 1) @ weights, 2, axis=1)
        c = 0.9 * c + tf.sigmoid(i) * tf.tanh(new)
        h = tf.tanh(c) * tf.sigmoid(i)
    return tf.reduce_sum(h * h)


def pendulum(state, steps=STEPS):
    """Explicit Euler on an angle and a velocity, as numbers, unrolled."""
    angle, velocity = state[0], state[1]
    for _ in range(steps):
        angle, velocity = angle + 0.05 * velocity, velocity - 0.05 * tf.sin(angle)
    return angle * angle + velocity * velocity


def runge_kutta(state, steps=STEPS):
    """RK4 on the same as a vector, whose elements are taken out and put together again."""

    def slopes(y):
        return tf.stack([y[1], -tf.sin(y[0])])

    y, h = state, 0.05
    for _ in range(steps):
        k1 = slopes(y)
        k2 = slopes(y + h / 2 * k1)
        k3 = slopes(y + h / 2 * k2)
        y += h / 6 * (k1 + 2 * k2 + 2 * k3 + slopes(y + h * k3))
    return tf.reduce_sum(y * y)


def mlp(weights, x):
    return tf.reduce_mean(tf.nn.relu(x @ weights) ** 2)


def recurrence_inputs(steps=STEPS):
    rng = np.random.default_rng(0)
    weights = tf.constant(rng.normal(size=(16, 16)).astype("float32") / 4)
    return weights, tf.constant(rng.normal(size=(steps, 4, 8)).astype("float32"))


def compiled(function, *inputs):
    """The executable of a function for these inputs."""
    made = tf.function(function)
    made(*inputs)
    (program,) = made._programs.values()
    return program.executable


def barriers(jaxpr):
    return sum(eqn.primitive.name == "optimization_barrier" for eqn in jaxpr.eqns)


def compiled_text(executable, inputs):
    """XLA's program."""
    arrays = [*executable.constants, *[np.asarray(x) for x in inputs]]
    return executable._jit().lower(*arrays).compile().as_text()


def fused_operations(executable, inputs):
    """The number of operations in XLA's kernels."""
    text = compiled_text(executable, inputs)
    kernels = [part for part in text.split("\n\n") if re.match(r"%(fused|wrapped)", part.strip())]
    assert kernels
    return sum(part.count("\n") for part in kernels)


def test_the_state_of_an_unrolled_recurrence_is_computed_once():
    executable = compiled(gradient_of(recurrence), *recurrence_inputs())
    assert barriers(executable.graph.code.jaxpr) == 0
    assert STEPS <= barriers(executable.code) + 2 <= 4 * STEPS


@pytest.mark.parametrize("program", ["recurrence", "runge_kutta"])
def test_code_grows_in_proportion_to_the_steps(program, monkeypatch):
    monkeypatch.setattr(function_graph, "rolled", lambda jaxpr: (jaxpr, []))
    counts = []
    for steps in (10, 20, 40):
        if program == "recurrence":
            function, inputs = gradient_of(recurrence), recurrence_inputs(steps)
        else:
            function = gradient_of(lambda state, steps=steps: runge_kutta(state, steps))
            inputs = [tf.constant([1.0, 0.5])]
        counts.append(fused_operations(compiled(function, *inputs), inputs))
    first, second = counts[1] - counts[0], counts[2] - counts[1]
    assert first > 0
    assert second < 2.7 * first, counts  # 2 if in proportion, 4 if by the square


@pytest.mark.parametrize("program", [recurrence, pendulum, runge_kutta])
def test_compiled_values_and_gradients_are_the_eager_ones(program):
    inputs = recurrence_inputs() if program is recurrence else [tf.constant([1.0, 0.5])]
    step = gradient_of(program)
    np.testing.assert_allclose(tf.function(step)(*inputs), step(*inputs), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_barriers_in_the_gradient_of_a_call_under_a_tape(order):
    function = recurrence if order == 1 else lambda *inputs: tf.reduce_sum(gradient_of(recurrence)(*inputs))
    inputs = recurrence_inputs(5)
    results = [gradient_of(f)(*inputs) for f in (function, tf.function(function))]
    np.testing.assert_allclose(*results, rtol=2e-4, atol=1e-5)


def test_jacobians_pass_barriers():
    def states(weights, series):
        return recurrence(weights, series) * tf.constant([1.0, 2.0])

    weights, series = recurrence_inputs(6)
    results = []
    for f in (states, tf.function(states)):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            y = f(weights, series)
        results.append(tape.jacobian(y, weights))
    np.testing.assert_allclose(*results, rtol=2e-5, atol=1e-6)


def test_elementwise_programs_are_one_kernel_by_the_code_generator_that_computes_values_once():
    state = tf.constant([1.0, 0.5])
    executable = compiled(gradient_of(pendulum), state)
    code, options = planned(executable.graph.code.jaxpr)
    assert options["xla_cpu_use_fusion_emitters"] is False
    assert barriers(code) == 0
    np.testing.assert_allclose(
        tf.function(gradient_of(pendulum))(state), gradient_of(pendulum)(state), rtol=1e-5
    )


def test_a_network_is_compiled_as_xla_does_but_for_the_common_options():
    rng = np.random.default_rng(0)
    inputs = [tf.constant(rng.normal(size=s).astype("float32")) for s in ((8, 8), (4, 8))]
    jaxpr = compiled(gradient_of(mlp), *inputs).graph.code.jaxpr
    code, options = planned(jaxpr)
    assert code is jaxpr
    assert options == common_options()
    assert options["xla_backend_optimization_level"] == 2


def test_barriers_of_its_own_stay_in_the_code():
    def own(x):
        for _ in range(30):
            x = jax.lax.optimization_barrier(jax.numpy.sin(x) @ x + jax.numpy.cos(x))
        return x

    jaxpr = jax.make_jaxpr(own)(np.eye(3, dtype="float32")).jaxpr
    code, options = planned(jaxpr)
    assert code is jaxpr
    assert options["xla_disable_hlo_passes"] == "cse_barrier_expander"


@pytest.mark.parametrize(
    "rows, columns, outputs, is_swapped",
    [(64, 64, 8, True), (64, 16, 8, False), (32, 64, 8, True), (32, 48, 8, False), (64, 8, 64, False)],
)
def test_gradients_of_layers_with_few_outputs_are_products_of_swapped_factors(
    rows, columns, outputs, is_swapped
):
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(rows, columns)))
    weights = tf.constant(rng.normal(size=(columns, outputs)))
    layer = gradient_of(lambda weights, x: tf.reduce_sum(tf.sin(x @ weights)))
    code = compiled(layer, weights, x).code
    shapes = [e.outvars[0].aval.shape for e in code.eqns if e.primitive.name == "dot_general"]
    assert shapes[-1] == ((outputs, columns) if is_swapped else (columns, outputs))
    np.testing.assert_allclose(tf.function(layer)(weights, x), layer(weights, x), rtol=1e-9, atol=1e-12)


def test_the_windows_of_a_convolution_are_copied_once_by_one_kernel_for_all_positions():
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(2, 8, 8, 4)).astype("float32"))
    filters = tf.constant(rng.normal(size=(3, 3, 4, 4)).astype("float32"))

    def step(filters, x):
        return tf.reduce_sum(tf.sin(tf.nn.conv2d(x, filters, 1, "SAME")))

    gradient = gradient_of(step)
    executable = compiled(gradient, filters, x)
    copies = [eqn for eqn in executable.code.eqns if eqn.primitive.name == "dynamic_slice"]
    assert {v.aval.shape for eqn in copies for v in eqn.outvars} == {(2, 8, 8, 4)}
    text = compiled_text(executable, [filters, x])
    # One for each position: the gradient uses those of the result.
    assert len(re.findall(r"= f32\[2,8,8,4\]\S* dynamic-slice\(", text)) == 9
    np.testing.assert_allclose(tf.function(gradient)(filters, x), gradient(filters, x), rtol=1e-4, atol=1e-4)


def test_every_step_of_a_trajectory_is_computed_from_the_one_before():
    @tf.function
    def trajectory(y):
        states = []
        for _ in range(30):
            y = y + 0.1 * tf.sin(y)
            states.append(y)
        return states

    start = tf.constant([1.0, 0.0])
    states = trajectory(start)
    (program,) = trajectory._programs.values()
    assert barriers(program.executable.code) >= 10
    y = start
    for state in states:
        y = y + 0.1 * tf.sin(y)
        np.testing.assert_allclose(state, y, rtol=1e-5, atol=1e-6)


def test_stacks_of_products_are_fused_with_what_comes_before_and_after():
    def library(*shape):
        x = np.zeros(shape, "float32")
        return planned(jax.make_jaxpr(jax.numpy.matmul)(x, x).jaxpr)[1][
            "xla_cpu_experimental_ynn_fusion_type"
        ]

    assert library(3, 3) == common_options()["xla_cpu_experimental_ynn_fusion_type"]
    assert library(2, 3, 3) == "LIBRARY_FUSION_TYPE_DOT,LIBRARY_FUSION_TYPE_REDUCE"


def test_large_programs_are_ordered_for_memory():
    def options(size):
        return planned(
            jax.make_jaxpr(lambda x: jax.numpy.tanh(x) @ x.T)(np.zeros((size, 8), "float32")).jaxpr
        )[1]

    assert "xla_cpu_scheduler_type" not in options(8)
    assert options(1 << 12)["xla_cpu_scheduler_type"] == "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"


def test_a_view_of_a_constant_may_be_multiplied():
    x, y = (tf.constant(np.linspace(-1.0, end, 300, dtype="float32")) for end in (1.0, 2.0))
    step = gradient_of(lambda x, y: tf.tensordot(tf.sin(x), y, 1))
    np.testing.assert_allclose(tf.function(step, jit_compile=True)(x, y), step(x, y), rtol=1e-6)


@pytest.mark.parametrize("as_argument", [False, True])
def test_what_writes_over_large_arrays_has_the_code_generator_that_makes_vector_instructions_of_that(
    as_argument,
):
    def step(variable):
        variable.assign_sub(0.1 * tf.tanh(variable))

    def has_older(size):
        variable = tf.Variable(tf.fill([size], 0.5))
        if as_argument:
            executable = compiled(step, variable)
        else:
            executable = compiled(lambda: step(variable))
        np.testing.assert_allclose(variable, np.full(size, 0.5 - 0.1 * np.tanh(0.5)), rtol=1e-5)
        return "xla_cpu_use_fusion_emitters" in executable._plan[1]

    assert has_older(16)
    assert not has_older(4096)


def diffusion(x, steps=8):
    """Steps of diffusion, some of them unrolled in a loop."""
    for _ in tf.range(3):
        for _ in range(steps):
            x = x + 0.1 * (tf.roll(x, 1, 0) - 2.0 * x + tf.roll(x, -1, 0))
    return x


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_code_in_loops_over_large_arrays_grows_in_proportion_to_the_steps(dtype):
    x = tf.cast(np.random.default_rng(0).normal(size=4096), dtype)
    counts = []
    for steps in (4, 8, 16):
        counts.append(fused_operations(compiled(lambda x, n=steps: diffusion(x, n), x), [x]))
    first, second = counts[1] - counts[0], counts[2] - counts[1]
    assert first > 0
    assert second < 2.7 * first, counts
    step = gradient_of(lambda x: tf.reduce_sum(tf.square(tf.cast(diffusion(x), "float32"))))
    tolerance = 1e-5 if dtype == "float32" else 0.05
    for function in (diffusion, step):
        got, wanted = tf.function(function, jit_compile=True)(x), function(x)
        np.testing.assert_allclose(
            tf.cast(got, "float32"), tf.cast(wanted, "float32"), rtol=tolerance, atol=tolerance
        )


def test_a_loop_that_writes_single_elements_of_a_large_array_has_no_barriers():
    def squares(x):
        array = tf.TensorArray("float32", 2048)
        for i in tf.range(2048):
            y = tf.exp(-x) * tf.cast(i, "float32")
            array = array.write(i, y * y + tf.sin(y) / (1.0 + y))
        return tf.reduce_sum(array.stack())

    x = tf.constant(0.5)
    for function in (squares, gradient_of(squares)):
        np.testing.assert_allclose(tf.function(function, jit_compile=True)(x), function(x), rtol=1e-5)
