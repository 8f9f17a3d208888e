"""TensorFlow's error classes, each also the Python error one would expect.

Code here raises the most telling subclass; user code may catch `InvalidArgumentError` as under TensorFlow, or
plain `ValueError`, `TypeError`, `IndexError` as in any Python program.
"""

from __future__ import annotations

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """An operation failed. TensorFlow's `(node_def, op, message, ...)` and the plain `(message)` both construct one.

    >>> error = OpError(None, None, "no such file")
    >>> error.message, error.error_code == UNKNOWN
    ('no such file', True)
    """

    error_code = UNKNOWN

    def __init__(self, *args: object) -> None:
        self.node_def, self.op = args[:2] if len(args) > 2 else (None, None)
        self.message = str(args[2] if len(args) > 2 else args[-1] if args else "")
        super().__init__(self.message)


class CancelledError(OpError):
    """The operation was cancelled.

    >>> error = CancelledError("why")
    >>> error.error_code == CANCELLED, isinstance(error, OpError)
    (True, True)
    """

    error_code = CANCELLED


class UnknownError(OpError):
    """An error without a class of its own.

    >>> error = UnknownError("why")
    >>> error.error_code == UNKNOWN, isinstance(error, OpError)
    (True, True)
    """

    error_code = UNKNOWN


class InvalidArgumentError(OpError, ValueError):
    """An operation was given something it cannot take: shapes that do not fit, an index out of bounds, ...

    >>> import gradtape as tf
    >>> try:
    ...     tf.reshape([1.0, 2.0, 3.0], [2])
    ... except InvalidArgumentError as error:
    ...     print("reshape" in str(error), isinstance(error, ValueError))
    True True
    """

    error_code = INVALID_ARGUMENT


class DeadlineExceededError(OpError, TimeoutError):
    """The operation took too long.

    >>> error = DeadlineExceededError("why")
    >>> error.error_code == DEADLINE_EXCEEDED, isinstance(error, TimeoutError)
    (True, True)
    """

    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError, LookupError):
    """There is no such file, folder or key.

    >>> error = NotFoundError("why")
    >>> error.error_code == NOT_FOUND, isinstance(error, LookupError)
    (True, True)
    """

    error_code = NOT_FOUND


class AlreadyExistsError(OpError, FileExistsError):
    """There is such a file or folder already.

    >>> error = AlreadyExistsError("why")
    >>> error.error_code == ALREADY_EXISTS, isinstance(error, FileExistsError)
    (True, True)
    """

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError, PermissionError):
    """A file may not be read or written.

    >>> error = PermissionDeniedError("why")
    >>> error.error_code == PERMISSION_DENIED, isinstance(error, PermissionError)
    (True, True)
    """

    error_code = PERMISSION_DENIED


class ResourceExhaustedError(OpError, MemoryError):
    """There is not enough memory.

    >>> error = ResourceExhaustedError("why")
    >>> error.error_code == RESOURCE_EXHAUSTED, isinstance(error, MemoryError)
    (True, True)
    """

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError, RuntimeError):
    """The state does not allow the operation: a folder that is not empty, a table without values.

    >>> error = FailedPreconditionError("why")
    >>> error.error_code == FAILED_PRECONDITION, isinstance(error, RuntimeError)
    (True, True)
    """

    error_code = FAILED_PRECONDITION


class AbortedError(OpError, RuntimeError):
    """The operation was given up, as another one was under way.

    >>> error = AbortedError("why")
    >>> error.error_code == ABORTED, isinstance(error, RuntimeError)
    (True, True)
    """

    error_code = ABORTED


class OutOfRangeError(OpError, IndexError):
    """An iterator has no further element, or a file ends early.

    >>> error = OutOfRangeError("why")
    >>> error.error_code == OUT_OF_RANGE, isinstance(error, IndexError)
    (True, True)
    """

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError, RuntimeError):
    """Something that TensorFlow has, and gradtape does not.

    >>> error = UnimplementedError("why")
    >>> error.error_code == UNIMPLEMENTED, isinstance(error, RuntimeError)
    (True, True)
    """

    error_code = UNIMPLEMENTED


class InternalError(OpError, RuntimeError):
    """A fault of gradtape itself, or of a library below it.

    >>> error = InternalError("why")
    >>> error.error_code == INTERNAL, isinstance(error, RuntimeError)
    (True, True)
    """

    error_code = INTERNAL


class UnavailableError(OpError, RuntimeError):
    """A process of the cluster cannot be reached.

    >>> error = UnavailableError("why")
    >>> error.error_code == UNAVAILABLE, isinstance(error, RuntimeError)
    (True, True)
    """

    error_code = UNAVAILABLE


class DataLossError(OpError, OSError):
    """A file is damaged: a checksum does not fit.

    >>> error = DataLossError("why")
    >>> error.error_code == DATA_LOSS, isinstance(error, OSError)
    (True, True)
    """

    error_code = DATA_LOSS


class UnauthenticatedError(OpError, PermissionError):
    """The file system asks for a password or a key.

    >>> error = UnauthenticatedError("why")
    >>> error.error_code == UNAUTHENTICATED, isinstance(error, PermissionError)
    (True, True)
    """

    error_code = UNAUTHENTICATED


class DTypeError(InvalidArgumentError, TypeError):
    """Tensors of different dtypes met, or a dtype the operation does not take.

    >>> import gradtape as tf
    >>> try:
    ...     tf.constant(1.0) + tf.constant(1)
    ... except DTypeError as error:
    ...     print(isinstance(error, TypeError), isinstance(error, InvalidArgumentError))
    True True
    """


class IndexOutOfBoundsError(InvalidArgumentError, IndexError):
    """An index, or an axis, lies outside what it indexes.

    >>> import gradtape as tf
    >>> try:
    ...     tf.constant([1.0, 2.0])[5]
    ... except IndexOutOfBoundsError as error:
    ...     print(isinstance(error, IndexError))
    True
    """


class NotCompilableError(InvalidArgumentError):
    """XLA cannot compile what a @function does: the function runs operation by operation instead.

    >>> issubclass(NotCompilableError, InvalidArgumentError)
    True
    """


class UnknownShapeError(NotCompilableError):
    """A shape depends on values that a @function computes. `jit_compile=True` does not refuse that.

    >>> issubclass(UnknownShapeError, NotCompilableError)
    True
    """


class TruncatedError(UnknownShapeError):
    """A slice is shorter in this call of a compiled function than it was compiled for: this call is not compiled."""


class OperatorNotAllowedInGraphError(TypeError):
    """The value of a tensor was asked for while a @function is traced, when there is none.

    >>> import gradtape as tf
    >>> @tf.function(autograph=False)
    ... def sign(x):
    ...     return 1.0 if x > 0.0 else -1.0
    >>> try:
    ...     sign(tf.constant(2.0))
    ... except OperatorNotAllowedInGraphError as error:
    ...     print(isinstance(error, TypeError))
    True
    """


class InaccessibleTensorError(ValueError, TypeError):
    """A tensor of a @function was used outside of it.

    >>> import gradtape as tf
    >>> kept = []
    >>> @tf.function
    ... def double(x):
    ...     kept.append(x * 2.0)
    ...     return kept[0]
    >>> _ = double(tf.constant(2.0))
    >>> try:
    ...     kept[0] + 1.0
    ... except InaccessibleTensorError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


for _class in [value for value in globals().values() if isinstance(value, type)]:
    _class.__module__ = "gradtape.errors"  # what tracebacks show: the name that users catch it by
