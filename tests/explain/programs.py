"""Programs of the kind that people post, asking why their gradient is None.

Each returns its tape, target and sources, and what `explain` says. The line at which the path is cut ends with `# cut`.
"""

import numpy as np

import gradtape as tf
from gradtape.explain import Reason

PROGRAMS = {}


def posted(reason, hint, plain=None, certain=True):
    """A program, the reason to be found with origins traced, its hint, and the reason found without (if another)."""

    def keep(program):
        PROGRAMS[program.__name__] = (program, reason, hint, plain or reason, certain)
        return program

    return keep


WATCH = (
    "{0} is a tensor that this tape was never told of: call tape.watch({0}) inside the block, before it is used, or "
    "make it a tf.Variable"
)
USE_TF = "leaves no trace on a tape: leave .numpy() out, and use tf functions"

# ---------------------------------------------------------------------------------------------------------------------
# Never watched


@posted(Reason.NOT_WATCHED, WATCH.format("x"))
def gradient_of_a_constant():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x**2  # cut
    return tape, y, x, tape.explain(y, x)


@posted(Reason.NOT_WATCHED, WATCH.format("image"))
def saliency_map_of_an_image():
    image = tf.constant(np.linspace(0.0, 1.0, 12).reshape(1, 12), tf.float32)
    weights = tf.Variable(tf.ones((12, 3)))
    with tf.GradientTape() as tape:
        scores = tf.nn.softmax(image @ weights)  # cut
        best = scores[0, 1]
    return tape, best, image, tape.explain(best, image)


@posted(Reason.NOT_WATCHED, WATCH.format("noise"))
def input_to_a_generator():
    noise = tf.random.normal((2, 3), seed=1)
    layer = tf.Variable(tf.ones((3, 1)))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(noise @ layer)  # cut
    return tape, loss, noise, tape.explain(loss, noise)


@posted(
    Reason.NOT_TRAINABLE,
    "frozen was made with trainable=False, so tapes do not watch it unasked: leave that out, or call "
    "tape.watch(frozen) inside the block",
)
def a_frozen_layer():
    frozen = tf.Variable([1.0, 2.0], trainable=False)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(frozen * 3.0)  # cut
    return tape, loss, frozen, tape.explain(loss, frozen)


@posted(
    Reason.NOT_AUTOMATIC,
    "this tape was made with watch_accessed_variables=False: leave that out, or call tape.watch(b) inside the block",
)
def only_some_variables_watched():
    w, b = tf.Variable(2.0), tf.Variable(1.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        loss = w * 3.0 + b  # cut
    return tape, loss, b, tape.explain(loss, b)


@posted(
    Reason.BEFORE_WATCH,
    "x was used before tape.watch(x): watch it first, then compute",
    plain=Reason.UNUSED,
)
def watched_too_late():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        y = x * x  # cut
        tape.watch(x)
    return tape, y, x, tape.explain(y, x)


# ---------------------------------------------------------------------------------------------------------------------
# Not used


@posted(
    Reason.UNUSED,
    "nothing in the block used bias: compute the target from it there, or take it off the sources",
)
def a_bias_that_was_forgotten():
    weight, bias = tf.Variable([[1.0], [2.0]]), tf.Variable([0.5])
    x = tf.ones((4, 2))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(x @ weight)  # cut
    return tape, loss, bias, tape.explain(loss, bias)


@posted(
    Reason.UNUSED,
    "w2 went into multiply, but nothing that came of it led to the target: use that, or take w2 off the sources",
)
def the_wrong_head_in_the_loss():
    w1, w2 = tf.Variable(1.0), tf.Variable(2.0)
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        first = w1 * x
        second = w2 * x  # cut
        loss = tf.square(first - 1.0)
    assert second is not None
    return tape, loss, w2, tape.explain(loss, w2)


@posted(
    Reason.UNUSED,
    "nothing in the block used y: compute the target from it there, or take it off the sources",
)
def sources_that_come_after_the_target():
    x = tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        z = x * 2.0  # cut
        y = x * 3.0
    return tape, z, y, tape.explain(z, y)


# ---------------------------------------------------------------------------------------------------------------------
# Outside the block


@posted(
    Reason.OUTSIDE,
    "reduce_mean was computed after the tape's block had ended: indent everything up to the target into the block",
)
def the_loss_one_indent_too_far_left():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        predictions = w * 3.0
    loss = tf.reduce_mean(predictions)  # cut
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.AFTER_BLOCK,
    "w is used only after the tape's block has ended: indent that into the block",
    plain=Reason.UNUSED,
)
def an_empty_block():
    w = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        pass
    loss = w * w  # cut
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.BEFORE_WATCH,
    "w was used before the tape's block began: compute the target inside the block",
    plain=Reason.UNUSED,
)
def the_model_called_before_the_block():
    w = tf.Variable([1.0, 2.0])
    predictions = w * 3.0  # cut
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(predictions)
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.PAUSED,
    "multiply was computed under tape.stop_recording(): move it out of there",
    plain=Reason.UNUSED,
)
def a_penalty_that_was_not_recorded():
    w = tf.Variable([1.0, -2.0])
    with tf.GradientTape() as tape:
        tape.watch(w)
        with tape.stop_recording():
            penalty = 0.1 * w  # cut
        loss = tf.reduce_sum(penalty)
    return tape, loss, w, tape.explain(loss, w)


# ---------------------------------------------------------------------------------------------------------------------
# Cut on the way

ENDS = "tf.cast to {} ends the path, because only floating and complex numbers have derivatives: leave it out"


@posted(
    Reason.DTYPE,
    "x is of dtype int32, and only floating and complex tensors have gradients: write 3.0 for 3, or tf.cast it to "
    "float32 before it is watched. Indices, as for an embedding, have none in any dtype",
)
def an_integer_variable():
    x = tf.Variable(3)
    with tf.GradientTape() as tape:
        y = tf.cast(x * x, tf.float32)  # cut
    return tape, y, x, tape.explain(y, x)


@posted(Reason.DTYPE, ENDS.format("int32"))
def pixels_as_integers():
    image = tf.Variable([0.2, 0.7])
    with tf.GradientTape() as tape:
        pixels = tf.cast(image * 255.0, tf.int32)  # cut
        loss = tf.reduce_mean(tf.cast(pixels, tf.float32))
    return tape, loss, image, tape.explain(loss, image)


GREATER = (
    "greater gives bool, which has no derivative: put a smooth function in its place, such as tf.sigmoid(k * x), or "
    "choose between floating values with tf.where(condition, a, b)"
)


@posted(Reason.DTYPE, GREATER)
def an_accuracy_as_the_loss():
    w = tf.Variable([0.3, -0.4])
    x, labels = tf.constant([1.0, 2.0]), tf.constant([1.0, 0.0])
    with tf.GradientTape() as tape:
        predicted = tf.cast(w * x > 0.5, tf.float32)  # cut
        loss = tf.reduce_mean(tf.abs(predicted - labels))
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.DTYPE,
    "tf.cast to int64 ends the path, because only floating and complex numbers have derivatives: leave it out",
)
def an_integer_target():
    w = tf.Variable(2.5)
    with tf.GradientTape() as tape:
        count = tf.cast(w * 2.0, tf.int64)  # cut
    return tape, count, w, tape.explain(count, w)


@posted(
    Reason.STOPPED,
    "tf.stop_gradient ends the path, as it was asked to: leave it out if the gradient is to pass",
)
def a_target_network():
    w = tf.Variable([0.5, 1.5])
    with tf.GradientTape() as tape:
        q = tf.stop_gradient(w * 2.0)  # cut
        loss = tf.reduce_sum(tf.square(q - 1.0))
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.STOPPED,
    "tf.stop_gradient ends the path, as it was asked to: leave it out if the gradient is to pass",
    plain=Reason.UNUSED,  # a tape that is told not to watch cannot know of it
)
def a_variable_frozen_by_hand():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = tf.stop_gradient(w) * 3.0  # cut
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.NO_GRADIENT,
    "argmax has no gradient: use tf.reduce_max for the value, tf.nn.softmax for weights that tell which is largest",
)
def the_predicted_class():
    w = tf.Variable([[1.0, 2.0, 0.5]])
    with tf.GradientTape() as tape:
        label = tf.argmax(tf.nn.softmax(w), axis=1)  # cut
        loss = tf.reduce_sum(tf.cast(label, tf.float32) - 1.0)
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.NO_GRADIENT,
    "round has no gradient: use tf.grad_pass_through(tf.round) (its true derivative is 0)",
)
def quantized_weights():
    w = tf.Variable([0.4, 1.6])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.round(w))  # cut
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.NO_GRADIENT,
    "floor has no gradient: use tf.grad_pass_through(tf.floor) (its true derivative is 0)",
)
def the_cell_of_a_grid():
    x = tf.Variable(2.3)
    with tf.GradientTape() as tape:
        y = tf.floor(x) * 2.0  # cut
    return tape, y, x, tape.explain(y, x)


@posted(
    Reason.NO_GRADIENT,
    "the gradient function of halve returned None for it: return a gradient for every input",
)
def a_custom_gradient_without_return():
    @tf.custom_gradient
    def halve(x):
        return x / 2.0, lambda upstream: None

    x = tf.Variable(4.0)
    with tf.GradientTape() as tape:
        y = halve(x) * 3.0  # cut
    return tape, y, x, tape.explain(y, x)


@posted(
    Reason.ZERO,
    "sign is flat, so its gradient is 0 everywhere: use tf.tanh(k * x), or tf.grad_pass_through(tf.sign)",
)
def binary_weights():
    w = tf.Variable([0.4, -1.6])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sign(w) * 2.0)  # cut
    return tape, loss, w, tape.explain(loss, w)


# ---------------------------------------------------------------------------------------------------------------------
# Out through NumPy and Python


@posted(
    Reason.LEFT,
    f"the value left through .numpy(), and what NumPy does {USE_TF}",
    plain=Reason.OUTSIDE,
    certain=False,
)
def a_loss_in_numpy():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        predictions = w * 2.0
        errors = np.abs(predictions.numpy() - 1.0)  # cut
        loss = tf.reduce_mean(tf.constant(errors))
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.LEFT,
    "the value went into NumPy, which leaves no trace on a tape: use tf functions instead of np functions",
    plain=Reason.UNUSED,
    certain=False,
)
def a_numpy_function():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(np.sin(x))  # cut
    return tape, y, x, tape.explain(y, x)


@posted(
    Reason.LEFT,
    "float() made a Python number of it, which leaves no trace on a tape: leave float() out",
    plain=Reason.OUTSIDE,
)
def a_python_number():
    w = tf.Variable(1.7)
    with tf.GradientTape() as tape:
        error = float(w * 2.0)  # cut
        loss = tf.square(tf.constant(error))
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.LEFT,
    f"the value left through .numpy(), and what NumPy does {USE_TF}",
    plain=Reason.UNUSED,
)
def tensors_rebuilt_from_a_variable():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        values = w.numpy()  # cut
        loss = tf.reduce_sum(tf.constant(values) * 2.0)
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.LEFT,
    "tf.constant makes a constant of the value: use the variable itself",
    plain=Reason.UNUSED,
)
def a_constant_of_a_variable():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.constant(w) * 2.0)  # cut
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.LEFT,
    "no gradient passes through tf.numpy_function: use tf.py_function with tf functions inside, or give it one with "
    "tf.custom_gradient",
    plain=Reason.OUTSIDE,
    certain=False,
)
def a_wrapped_numpy_function():
    x = tf.Variable(0.5)
    with tf.GradientTape() as tape:
        y = tf.numpy_function(np.sinh, [x * 2.0], tf.float32)  # cut
        z = y * 2.0
    return tape, z, x, tape.explain(z, x)


@posted(
    Reason.LEFT,
    "it only decided, as the condition of a Python `if` or `while`, what was computed, and a decision has no "
    "derivative: choose with tf.where(condition, a, b)",
    plain=Reason.DTYPE,
    certain=False,
)
def a_decision_in_python():
    threshold, x = tf.Variable(0.5), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        if x > threshold:  # cut
            y = x * 2.0
        else:
            y = x * 3.0
    return tape, y, threshold, tape.explain(y, threshold)


# ---------------------------------------------------------------------------------------------------------------------
# Variables lost


@posted(
    Reason.REPLACED,
    "w is a tensor now: `w = w - 0.1 * g  # cut` put one in the variable's place. Write w.assign_sub(...) or "
    "w.assign(...), which change the variable and keep it one",
    plain=Reason.NOT_WATCHED,
)
def a_training_loop_that_runs_once():
    w = tf.Variable(1.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.square(w * 3.0 - 6.0)
        report = tape.explain(loss, w)
        g = tape.gradient(loss, w)
        if g is not None:
            w = w - 0.1 * g  # cut
    return tape, loss, w, report


@posted(
    Reason.REPLACED,
    "b is a tensor now: `w, b = w - 0.1, b * 0.9  # cut` put one in the variable's place. Write b.assign_sub(...) or "
    "b.assign(...), which change the variable and keep it one",
    plain=Reason.NOT_WATCHED,
)
def weights_decayed_by_reassignment():
    w, b = tf.Variable(1.0), tf.Variable(2.0)
    w, b = w - 0.1, b * 0.9  # cut
    with tf.GradientTape() as tape:
        loss = w * b
    return tape, loss, b, tape.explain(loss, b)


@posted(
    Reason.OVERWRITTEN,
    "assign put the value into a variable, and no gradient passes through that: go on computing with the tensor "
    "itself, and assign after the block",
    plain=Reason.UNUSED,
)
def a_state_that_is_assigned():
    w, state = tf.Variable(2.0), tf.Variable(0.0)
    with tf.GradientTape() as tape:
        state.assign(w * 3.0)  # cut
        loss = tf.square(state)
    return tape, loss, w, tape.explain(loss, w)


@posted(
    Reason.OVERWRITTEN,
    "tf.Variable(...) put the value into a variable, and no gradient passes through that: go on computing with the "
    "tensor itself, and assign after the block",
    plain=Reason.UNUSED,
)
def a_variable_made_in_the_block():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        hidden = tf.Variable(w * 2.0)  # cut
        loss = tf.reduce_sum(hidden)
    return tape, loss, w, tape.explain(loss, w)


# ---------------------------------------------------------------------------------------------------------------------
# Harder ones


@posted(
    Reason.AFTER_BLOCK,
    "x is used only after the tape's block has ended: indent that into the block",
    plain=Reason.OUTSIDE,
)
def an_inner_gradient_outside_the_outer_tape():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = x * x * x
    g = inner.gradient(y, x)  # cut
    return outer, g, x, outer.explain(g, x)


@posted(
    Reason.UNUSED,
    "g is a gradient itself, and does not depend on x: what was differentiated is linear in it",
    plain=Reason.OUTSIDE,
)
def a_second_derivative_of_something_linear():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * 3.0
        g = inner.gradient(y, x)  # cut
    return outer, g, x, outer.explain(g, x)


@posted(
    Reason.UNUSED,
    "other went into multiply, reduce_sum, but nothing that came of it led to the target: use that, or take other off "
    "the sources",
)
def a_metric_shown_in_a_loop():
    data = np.array([1.0, 2.0, 3.0], "float32")
    trained, other = tf.Variable(2.0), tf.Variable(1.5)
    for _ in range(3):
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean(trained * data)
            metric = tf.reduce_sum(other * data)  # cut
        assert float(metric) == 9.0
        trained.assign_sub(0.1 * tape.gradient(loss, trained))
    return tape, loss, other, tape.explain(loss, other)


@posted(
    Reason.LEFT,
    f"the value left through .numpy(), and what NumPy does {USE_TF}",
    plain=Reason.UNUSED,
    certain=False,
)
def a_layer_written_in_numpy():
    class Layer:
        def __init__(self):
            self.w = tf.Variable([[1.0], [2.0]])

        def __call__(self, x):
            return np.maximum(x @ self.w.numpy(), 0.0)  # cut

    layer = Layer()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(layer(np.ones((3, 2), "float32")) - 1.0))
    return tape, loss, layer.w, tape.explain(loss, layer.w)


@posted(
    Reason.REPLACED,
    "weights[0] is a tensor now: `weights = [w - 0.1 * g for w, g in zip(weights, gradients)]  # cut` put one in the "
    "variable's place. Write weights[0].assign_sub(...) or weights[0].assign(...), which change the variable and keep "
    "it one",
    plain=Reason.NOT_WATCHED,
)
def a_list_of_weights_rebuilt():
    weights = [tf.Variable(1.0), tf.Variable(2.0)]
    gradients = [1.0, 1.0]
    weights = [w - 0.1 * g for w, g in zip(weights, gradients)]  # cut
    with tf.GradientTape() as tape:
        loss = weights[0] * weights[1]
    return tape, loss, weights[0], tape.explain(loss, weights[0])


# ---------------------------------------------------------------------------------------------------------------------
# And those where nothing is wrong


@posted(Reason.CONNECTED, "")
def a_dense_layer():
    w, b = tf.Variable(tf.ones((3, 2))), tf.Variable([0.1, 0.2])
    x = tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.nn.relu(x @ w + b)))
    return tape, loss, b, tape.explain(loss, b)


@posted(
    Reason.ZERO,
    "all its inputs are negative here, where relu is flat: try leaky_relu, or other initial values",
)
def a_dead_unit():
    w = tf.Variable([-1.0, -2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.relu(w * 3.0))  # cut
    return tape, loss, w, tape.explain(loss, w)
