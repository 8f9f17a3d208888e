"""The reasons for a missing gradient, and for each what to change."""

from __future__ import annotations

import enum

from ..core.facts import NO_FACTS, Facts
from ..core.primitive import Primitive


class Reason(enum.Enum):
    """A reason for a gradient to be None; or that it is connected."""

    CONNECTED = "connected"
    ZERO = "connected, but zero"
    NOT_WATCHED = "never watched"
    NOT_TRAINABLE = "not trainable"
    NOT_AUTOMATIC = "variables are not watched unasked"
    UNUSED = "not used by the target"
    BEFORE_WATCH = "used before it was watched"
    AFTER_BLOCK = "used after the block"
    OUTSIDE = "target computed outside the tape"
    PAUSED = "under stop_recording"
    DTYPE = "cut by an integer or boolean dtype"
    STOPPED = "cut by stop_gradient"
    NO_GRADIENT = "cut by an operation without gradient"
    LEFT = "left through NumPy or Python"
    REPLACED = "variable replaced by a tensor"
    OVERWRITTEN = "overwritten by assign"
    FORGOTTEN = "forgotten in a reset"
    TOO_LATE = "asked too late"

    @property
    def is_connected(self) -> bool:
        """Whether there is a gradient."""
        return self in (Reason.CONNECTED, Reason.ZERO)


def facts_of(operation: str) -> Facts:
    """The facts of an operation, by the name of its primitive; none for what is no primitive."""
    primitive = Primitive.registry.get(operation)
    return NO_FACTS if primitive is None else primitive.facts


def public_name(operation: str) -> str:
    """The name by which users know an operation."""
    return facts_of(operation).public or operation


HINTS = {
    Reason.CONNECTED: "",
    Reason.NOT_WATCHED: (
        "{s} is a tensor that this tape was never told of: call tape.watch({code}) inside the block, before it is "
        "used, or make it a tf.Variable"
    ),
    Reason.NOT_TRAINABLE: (
        "{s} was made with trainable=False, so tapes do not watch it unasked: leave that out, or call "
        "tape.watch({code}) inside the block"
    ),
    Reason.NOT_AUTOMATIC: (
        "this tape was made with watch_accessed_variables=False: leave that out, or call tape.watch({code}) inside "
        "the block"
    ),
    Reason.BEFORE_WATCH: "{s} was used before tape.watch({code}): watch it first, then compute",
    Reason.AFTER_BLOCK: "{s} is used only after the tape's block has ended: indent that into the block",
    Reason.OUTSIDE: (
        "{op} was computed after the tape's block had ended: indent everything up to the target into the block"
    ),
    Reason.PAUSED: "{op} was computed under tape.stop_recording(): move it out of there",
    Reason.STOPPED: "tf.stop_gradient ends the path, as it was asked to: leave it out if the gradient is to pass",
    Reason.OVERWRITTEN: (
        "{op} put the value into a variable, and no gradient passes through that: go on computing with the tensor "
        "itself, and assign after the block"
    ),
    Reason.REPLACED: (
        "{s} is a tensor now: `{line}` put one in the variable's place. Write {code}.assign_sub(...) or "
        "{code}.assign(...), which change the variable and keep it one"
    ),
    Reason.FORGOTTEN: "this tape was reset after {op} had been computed: reset it before",
    Reason.TOO_LATE: (
        "a tape that is not persistent forgets what it recorded when it answers: ask explain before gradient, use "
        "GradientTape(persistent=True), or turn on tf.debugging.trace_origins()"
    ),
}

BEFORE_BLOCK = "{s} was used before the tape's block began: compute the target inside the block"
UNUSED = "nothing in the block used {s}: compute the target from it there, or take it off the sources"
UNUSED_RESULT = (
    "{s} went into {op}, but nothing that came of it led to the target: use that, or take {s} off the sources"
)
UNUSED_LAYER = (
    "nothing in the block used {s}: its layer was not called there. Call it in the model's `call`, or take it off the "
    "sources"
)
STATE = (
    "{s} is state that its layer keeps, such as a moving average, and no weight to train: ask for "
    "model.trainable_variables, or call tape.watch(variable) inside the block"
)
FROZEN = (
    "{s} is frozen (trainable=False): it is not one of model.trainable_variables, and `fit` leaves it as it is. A tape "
    "gives its gradient all the same"
)
KEPT = (
    "the value was put into the variable {v} inside of what this line calls, and no gradient passes through that. A "
    "metric only counts: differentiate a loss instead, such as those of keras.losses. Optimizers work after the block"
)
INDICES = (
    "{s} says which entries {op} takes, and that has no derivative: ask for the gradient by what they are taken from, "
    "as an embedding's weights, or watch the result of {op}"
)
CONSTANT = "{t} is a gradient itself, and does not depend on {s}: what was differentiated is linear in it"
UNUSED_UNSEEN = (
    "the tape saw no use of {s}: it was not used, or only outside the block, under stop_recording, or through NumPy. "
    "tf.debugging.trace_origins() would tell"
)
OUTSIDE_UNSEEN = (
    "the tape saw {s} go into {op}, but never saw the target: compute the target inside the block, with tf functions "
    "(NumPy, float() and variables assigned to, as by a metric, leave no trace); or it does not depend on {s}"
)
SOURCE_DTYPE = (
    "{s} is of dtype {dtype}, and only floating and complex tensors have gradients: write 3.0 for 3, or tf.cast it to "
    "float32 before it is watched. Indices, as for an embedding, have none in any dtype"
)
TARGET_DTYPE = "the target is of dtype {dtype}, and only a floating or complex one has a gradient: {cure}"
CAST = "tf.cast to {dtype} ends the path, because only floating and complex numbers have derivatives: leave it out"
COMPARED = (
    "{op} gives {dtype}, which has no derivative: put a smooth function in its place, such as tf.sigmoid(k * x), or "
    "choose between floating values with tf.where(condition, a, b)"
)
CUSTOM = "the gradient function of {op} returned None for it: return a gradient for every input"

NO_GRADIENT = "{op} has no gradient: use {instead}"
NO_GRADIENT_ELSE = "{op} has no gradient: compute it in another way, or give it one with tf.custom_gradient"

# The ways in which a value leaves for good.
LEAVING = {
    ".numpy()": "the value left through .numpy(), and what NumPy does leaves no trace on a tape: leave .numpy() out, "
    "and use tf functions",
    "NumPy": "the value went into NumPy, which leaves no trace on a tape: use tf functions instead of np functions",
    "float()": "float() made a Python number of it, which leaves no trace on a tape: leave float() out",
    "int()": "int() made a Python number of it, which leaves no trace on a tape, nor have integers a derivative: leave "
    "it out",
    "bool()": "it only decided, as the condition of a Python `if` or `while`, what was computed, and a decision has no "
    "derivative: choose with tf.where(condition, a, b)",
    "tf.constant()": "tf.constant makes a constant of the value: use the variable itself",
    "tf.numpy_function": "no gradient passes through tf.numpy_function: use tf.py_function with tf functions inside, "
    "or give it one with tf.custom_gradient",
}
PREDICTED = (
    "the value left through .numpy() inside of what this line calls, and what NumPy does leaves no trace on a tape: "
    "model.predict gives NumPy arrays; call the model itself, as in model(x)"
)
LEFT_ELSE = "the value left through {op}, which leaves no trace on a tape: keep it a tensor"
LEFT_TARGET = "the target is {kind}, not a tensor: keep it one all the way, with tf functions"
VANISHING = "the gradient of {op} is 0 at these values"
