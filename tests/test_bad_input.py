"""Bad input is refused where it happens, by an error that says what met what, and what would work.

Errors are TensorFlow's classes, which here are also the Python class one would expect.
"""

import re

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import errors

Invalid = errors.InvalidArgumentError
FLOAT, DOUBLE, INT = tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0], tf.float64), tf.constant([1, 2])
MATRIX = tf.ones((2, 3))


def recorded(compute):
    """A tape that has recorded `compute` of a variable, the variable, and the result."""
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = compute(v)
    return tape, v, y


def used_up():
    tape, v, y = recorded(lambda v: v * v)
    tape.gradient(y, v)
    return tape, v, y


def ask(how, target=None, source=None, **options):
    """Ask a tape for a gradient of v * v by v, or of and by what is given."""
    tape, v, y = how()
    return tape.gradient(
        y if target is None else target(v, y), v if source is None else source(v, y), **options
    )


def squared():
    return recorded(lambda v: v * v)


def custom(returned):
    @tf.custom_gradient
    def product(x, y):
        return x * y, returned

    tape, v, y = recorded(lambda v: product(v, v * 1.0))
    return tape.gradient(y, v)


def branch_on(x):
    return 1 if x else 2


def set_item(x):
    x[0] = 5.0


CASES = {
    "dtypes that do not mix": (
        lambda: FLOAT + DOUBLE,
        (Invalid, TypeError),
        "add: tensors of different dtypes do not mix: float32 and float64. Use cast(x, 'float32')",
    ),
    "dtypes that do not mix, in a product of matrices": (
        lambda: tf.matmul(tf.ones((2, 2)), tf.ones((2, 2), tf.int32)),
        (Invalid, TypeError),
        "matmul: tensors of different dtypes do not mix: float32 and int32",
    ),
    "dtypes that do not mix, in a list": (
        lambda: tf.concat([FLOAT, INT], 0),
        (Invalid, TypeError),
        "concat: tensors of different dtypes do not mix: float32 and int32",
    ),
    "a number that does not fit the tensor's dtype": (
        lambda: INT * 0.5,
        (Invalid, TypeError),
        "multiply: tensors of different dtypes do not mix: int32 and float32. Use cast(x, 'int32')",
    ),
    "a dtype the operation does not take": (
        lambda: tf.exp(INT),
        (Invalid, TypeError),
        "exp takes floating or complex tensors, not int32: use cast(x, 'float32'), or write 2.0 for 2",
    ),
    "arithmetic on booleans": (
        lambda: tf.constant([True]) + tf.constant([True]),
        (Invalid, TypeError),
        "add does not take dtype bool: cast to a number first",
    ),
    "shapes that do not broadcast": (
        lambda: FLOAT * tf.ones(3),
        (Invalid, ValueError),
        "multiply: the shapes [2] and [3] do not broadcast. Each pair of lengths, counted from the last axis",
    ),
    "shapes that do not broadcast, of three": (
        lambda: tf.where([True, False], tf.ones(3), 0.0),
        (Invalid, ValueError),
        "do not broadcast",
    ),
    "shapes that do not multiply": (
        lambda: MATRIX @ MATRIX,
        (Invalid, ValueError),
        "matmul: [2, 3] and [2, 3] do not multiply",
    ),
    "a vector in a product of matrices": (
        lambda: tf.matmul(MATRIX, tf.ones(3)),
        (Invalid, ValueError),
        "matmul: [2, 3] and [3] do not multiply: both need at least two axes",
    ),
    "a reshape to another size": (
        lambda: tf.reshape(MATRIX, (4, 2)),
        (Invalid, ValueError),
        "reshape: 6 elements of shape [2, 3] do not fit the shape [4, 2]",
    ),
    "`if` on many elements": (
        lambda: branch_on(FLOAT > 1.0),
        (ValueError,),
        "the truth value of a tensor of shape (2,) is ambiguous: only a single element is true or false. "
        "Use reduce_any(...) or reduce_all(...), or where(...)",
    ),
    "item assignment on a tensor": (
        lambda: set_item(FLOAT),
        (TypeError,),
        "a Tensor does not support item assignment: it is immutable. Use a Variable and v[...].assign(...)",
    ),
    "ragged lists": (
        lambda: tf.constant([[1, 2], [3]]),
        (ValueError,),
        "a list whose rows differ in length or depth is no tensor: [[1, 2], [3]]. Pad the rows to one length",
    ),
    "ragged lists, where a tensor is expected": (
        lambda: tf.reduce_sum([[1.0], [2.0, 3.0]]),
        (ValueError,),
        "a list whose rows differ in length or depth is no tensor",
    ),
    "an unknown dtype": (
        lambda: tf.constant(1.0, "float33"),
        (TypeError,),
        "'float33' is not a dtype gradtape knows. It knows bfloat16, bool,",
    ),
    "an axis out of range": (
        lambda: tf.reduce_sum(MATRIX, axis=2),
        (Invalid, IndexError),
        "reduce_sum: axis 2 is out of range for a tensor of rank 2: give one of -2 to 1",
    ),
    "an axis of a scalar": (
        lambda: tf.reduce_mean(1.0, axis=0),
        (Invalid, IndexError),
        "reduce_mean: axis 0 is out of range: a scalar has no axes",
    ),
    "an axis out of range, when joining": (
        lambda: tf.concat([FLOAT, FLOAT], 1),
        (Invalid, IndexError),
        "concat: axis 1 is out of range for a tensor of rank 1",
    ),
    "an axis that is no number": (
        lambda: tf.reduce_sum(MATRIX, axis=0.5),
        (Invalid, TypeError),
        "reduce_sum: an axis must be an integer, not 0.5",
    ),
    "an index out of bounds": (
        lambda: FLOAT[2],
        (Invalid, IndexError),
        "index 2 is out of bounds for axis 0 with size 2",
    ),
    "an index out of bounds, in a gather": (
        lambda: tf.gather(FLOAT, [0, 2]),
        (Invalid, IndexError),
        "gather: index 2 is out of bounds: it must lie in [0, 2)",
    ),
    "a negative index in a gather": (
        lambda: tf.gather(FLOAT, [-1]),
        (Invalid, IndexError),
        "gather: index -1 is out of bounds",
    ),
    "`gradient` on a used-up tape": (
        lambda: ask(used_up),
        (RuntimeError,),
        "a non-persistent GradientTape answers only one call of gradient, jacobian or batch_jacobian. "
        "Make it with GradientTape(persistent=True) to ask again",
    ),
    "`gradient` on a tape never entered": (
        lambda: tf.GradientTape().gradient(FLOAT, FLOAT),
        (RuntimeError,),
        "this tape has not recorded anything: compute the target inside `with tape:`, then ask",
    ),
    "`jacobian` on a tape never entered": (
        lambda: tf.GradientTape().jacobian(FLOAT, FLOAT),
        (RuntimeError,),
        "this tape has not recorded anything",
    ),
    "`watch` on a tape never entered": (
        lambda: tf.GradientTape().watch(FLOAT),
        (RuntimeError,),
        "watch was called on a tape that is not recording: call it inside the tape's block",
    ),
    "a source that is a number": (
        lambda: ask(squared, source=lambda v, y: 3.0),
        (TypeError,),
        "gradient: a source must be a Tensor or a Variable, not 3.0 of type float. Make it one before the block",
    ),
    "a source that is text": (
        lambda: ask(squared, source=lambda v, y: "abc"),
        (TypeError,),
        "a source must be a Tensor or a Variable, not 'abc' of type str",
    ),
    "a source that is an array": (
        lambda: ask(squared, source=lambda v, y: [v, np.ones(2)]),
        (TypeError,),
        "a source must be a Tensor or a Variable, not array([1., 1.]) of type ndarray",
    ),
    "a source that is None": (
        lambda: ask(squared, source=lambda v, y: [v, None]),
        (TypeError,),
        "a source must be a Tensor or a Variable, not None of type NoneType",
    ),
    "a target that is a number": (
        lambda: ask(squared, target=lambda v, y: float(y[0])),
        (TypeError,),
        "gradient: the target must be made of Tensors or Variables, not 1.0 of type float. "
        "A value that left through .numpy(), float() or NumPy is no longer connected to the tape",
    ),
    "a target that is an array": (
        lambda: ask(squared, target=lambda v, y: y.numpy()),
        (TypeError,),
        "not array([1., 4.], dtype=float32) of type ndarray",
    ),
    "output_gradients of another structure": (
        lambda: ask(squared, target=lambda v, y: [y, y], output_gradients=[FLOAT]),
        (ValueError,),
        "gradient: output_gradients must have one weight for each target: there are 2 targets and 1 weights",
    ),
    "output_gradients as a list for one target": (
        lambda: ask(squared, output_gradients=[1.0, 2.0]),
        (ValueError,),
        "there are 1 targets and 2 weights",
    ),
    "output_gradients of another shape": (
        lambda: ask(squared, output_gradients=tf.ones(3)),
        (Invalid, ValueError),
        "gradient: an output gradient has shape [3], its target [2]: they must agree",
    ),
    "output_gradients of another dtype": (
        lambda: ask(squared, output_gradients=DOUBLE),
        (Invalid, ValueError),
        "gradient: an output gradient has dtype float64, its target float32: cast it",
    ),
    "a custom gradient that returns too few gradients": (
        lambda: custom(lambda upstream: upstream),
        (ValueError,),
        "the gradient function of product returned 1 gradients for 2 inputs: it must return one for each",
    ),
    "a custom gradient that returns too many gradients": (
        lambda: custom(lambda upstream: (upstream, upstream, upstream)),
        (ValueError,),
        "the gradient function of product returned 3 gradients for 2 inputs",
    ),
    "`assign` of another shape": (
        lambda: tf.Variable([1.0, 2.0], name="w").assign([1.0, 2.0, 3.0]),
        (Invalid, ValueError),
        "assign to the variable 'w' of shape (2,) and dtype float32: the value has shape (3,); the shapes must agree",
    ),
    "`assign` of another dtype": (
        lambda: tf.Variable([1.0, 2.0], name="w").assign(INT),
        (Invalid, TypeError),
        "'w' of shape (2,) and dtype float32: the value has dtype int32: use cast(value, 'float32')",
    ),
    "the name one document uses": (
        lambda: tf.GradientTape().gradients,
        (AttributeError,),
        "a GradientTape has no method 'gradients': it is called gradient(target, sources)",
    ),
    "division of integers by zero": (
        lambda: INT // 0,
        (Invalid, ValueError),
        "floor_divide: integer division by zero",
    ),
    "a split that does not come out even": (
        lambda: tf.split(tf.ones(5), 2),
        (Invalid, ValueError),
        "split: an axis of length 5 does not split into 2 equal parts",
    ),
    "a permutation that is none": (
        lambda: tf.transpose(MATRIX, (0, 0)),
        (Invalid, ValueError),
        "transpose: perm must name each of the 2 axes of shape [2, 3] once, not [0, 0]",
    ),
    "a squeeze of what is not 1": (
        lambda: tf.squeeze(MATRIX, 0),
        (Invalid, ValueError),
        "squeeze: axis 0 of shape [2, 3] has length 2; only length 1 can go",
    ),
    "a stack of different shapes": (
        lambda: tf.stack([FLOAT, tf.ones(3)]),
        (Invalid, ValueError),
        "stack: the shapes must be the same, not [2], [3]",
    ),
    "an order of complex numbers": (
        lambda: tf.maximum(1j, 2j),
        (Invalid, TypeError),
        "maximum takes real numbers, not complex128, which has no order",
    ),
    "a softmax of complex numbers": (
        lambda: tf.nn.softmax([1j, 2j]),
        (Invalid, TypeError),
        "softmax takes floating tensors, not complex128: use cast(x, 'float32')",
    ),
    "an angle of complex numbers": (
        lambda: tf.atan2(1j, 2j),
        (Invalid, TypeError),
        "atan2 does not take complex128: cast to another dtype first",
    ),
    "arithmetic on strings": (
        lambda: tf.constant(["a"]) - ["b"],
        (Invalid, TypeError),
        "subtract takes numbers, not strings",
    ),
    "strings and numbers": (
        lambda: tf.constant("a") * 2.0,
        (Invalid, TypeError),
        "multiply: tensors of different dtypes do not mix: string and float32. A string is no number",
    ),
    "a constant that does not fill its shape": (
        lambda: tf.constant([1, 2, 3], shape=[2]),
        (Invalid, TypeError),
        "constant: 3 elements cannot fill the shape (2,); give one element or exactly as many",
    ),
    "more than there is memory for": (
        lambda: tf.zeros([2**45]),
        (errors.ResourceExhaustedError, MemoryError),
        "zeros: the shape [35184372088832] takes 140,737.5 GB to make",
    ),
    "more than there is memory for, computed": (
        lambda: tf.zeros([2**22, 1]) * tf.zeros([2**23]),
        (errors.ResourceExhaustedError, MemoryError),
        "multiply: Unable to allocate",
    ),
    "more elements than can be counted": (
        lambda: tf.ones([2**40, 2**40]),
        (Invalid, ValueError),
        "ones: the shape [1099511627776, 1099511627776] has more than 2**63 - 1 elements",
    ),
    "an array of axes": (
        lambda: tf.reduce_sum(MATRIX, axis=np.array([[0], [1]])),
        (Invalid, TypeError),
        "reduce_sum: an axis must be an integer, not [0]",
    ),
    "space_to_depth of a matrix": (
        lambda: tf.nn.space_to_depth(MATRIX, 2),
        (Invalid, ValueError),
        "space_to_depth: takes images, of rank 4",
    ),
    "one name in einsum for two lengths": (
        lambda: tf.einsum("ij,jk->ik", tf.ones((2, 1)), tf.ones((3, 4))),
        (Invalid, ValueError),
        "einsum: 'ij,jk->ik' with axes named 'j' of lengths 1 and 3",
    ),
    "NumPy's own dtype names": (
        lambda: tf.as_dtype("a"),
        (TypeError,),
        "'a' is not a dtype gradtape knows",
    ),
    "`unconnected_gradients` of another name": (
        lambda: ask(squared, unconnected_gradients="nothing"),
        (ValueError,),
        "unconnected_gradients must be UnconnectedGradients.NONE or ZERO, not 'nothing'",
    ),
    "a broadcast that cannot be": (
        lambda: tf.broadcast_to(FLOAT, (2, 3)),
        (Invalid, ValueError),
        "broadcast_to: the shape [2] does not broadcast to [2, 3]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_error_says_what_is_wrong(name):
    call, classes, message = CASES[name]
    with pytest.raises(classes[0], match=re.escape(message)) as error:
        call()
    for kind in classes:
        assert isinstance(error.value, kind)
    assert str(error.value).count("\n") == 0


@pytest.mark.parametrize("name", CASES)
def test_after_an_error_everything_works(name):
    call, classes, _ = CASES[name]
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with pytest.raises(classes):
            call()
        y = v * v
    assert float(tape.gradient(y, v)) == 6.0


@pytest.mark.parametrize(
    ("name", "python", "code"),
    [
        ("InvalidArgumentError", ValueError, 3),
        ("OutOfRangeError", IndexError, 11),
        ("NotFoundError", LookupError, 5),
        ("AlreadyExistsError", FileExistsError, 6),
        ("PermissionDeniedError", PermissionError, 7),
        ("ResourceExhaustedError", MemoryError, 8),
        ("FailedPreconditionError", RuntimeError, 9),
        ("UnimplementedError", RuntimeError, 12),
        ("InternalError", RuntimeError, 13),
        ("DeadlineExceededError", TimeoutError, 4),
    ],
)
def test_tensorflows_errors_are_pythons_too(name, python, code):
    kind = getattr(tf.errors, name)
    assert issubclass(kind, tf.errors.OpError)
    assert issubclass(kind, python)
    error = kind(None, None, "what happened", code)
    assert error.message == str(error) == "what happened"
    assert error.error_code == code
    assert str(kind(None, None, "what happened")) == "what happened"
    assert str(kind("only a message")) == "only a message"
    assert kind("node", "op", "what happened", code).message == "what happened"  # as Keras raises it again
