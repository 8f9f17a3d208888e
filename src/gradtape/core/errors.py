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
    """An operation failed. TensorFlow's `(node_def, op, message, ...)` and the plain `(message)` both construct one."""

    error_code = UNKNOWN

    def __init__(self, *args: object) -> None:
        self.node_def, self.op = args[:2] if len(args) > 2 else (None, None)
        self.message = str(args[2] if len(args) > 2 else args[-1] if args else "")
        super().__init__(self.message)


class CancelledError(OpError):
    error_code = CANCELLED


class UnknownError(OpError):
    error_code = UNKNOWN


class InvalidArgumentError(OpError, ValueError):
    """An operation was given something it cannot take: shapes that do not fit, an index out of bounds, ..."""

    error_code = INVALID_ARGUMENT


class DeadlineExceededError(OpError, TimeoutError):
    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError, LookupError):
    error_code = NOT_FOUND


class AlreadyExistsError(OpError, FileExistsError):
    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError, PermissionError):
    error_code = PERMISSION_DENIED


class ResourceExhaustedError(OpError, MemoryError):
    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError, RuntimeError):
    error_code = FAILED_PRECONDITION


class AbortedError(OpError, RuntimeError):
    error_code = ABORTED


class OutOfRangeError(OpError, IndexError):
    error_code = OUT_OF_RANGE


class UnimplementedError(OpError, RuntimeError):
    error_code = UNIMPLEMENTED


class InternalError(OpError, RuntimeError):
    error_code = INTERNAL


class UnavailableError(OpError, RuntimeError):
    error_code = UNAVAILABLE


class DataLossError(OpError, OSError):
    error_code = DATA_LOSS


class UnauthenticatedError(OpError, PermissionError):
    error_code = UNAUTHENTICATED


class DTypeError(InvalidArgumentError, TypeError):
    """Tensors of different dtypes met, or a dtype the operation does not take."""


class IndexOutOfBoundsError(InvalidArgumentError, IndexError):
    """An index, or an axis, lies outside what it indexes."""


class NotCompilableError(InvalidArgumentError):
    """XLA cannot compile what a @function does: the function runs operation by operation instead."""


class UnknownShapeError(NotCompilableError):
    """A shape depends on values that a @function computes. `jit_compile=True` does not refuse that."""


class TruncatedError(UnknownShapeError):
    """A slice is shorter in this call of a compiled function than it was compiled for: this call is not compiled."""


class OperatorNotAllowedInGraphError(TypeError):
    """The value of a tensor was asked for while a @function is traced, when there is none."""


class InaccessibleTensorError(ValueError, TypeError):
    """A tensor of a @function was used outside of it."""


for _class in [value for value in globals().values() if isinstance(value, type)]:
    _class.__module__ = "gradtape.errors"  # what tracebacks show: the name that users catch it by
