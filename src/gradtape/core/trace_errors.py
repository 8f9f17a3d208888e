"""Errors about tensors of a @function: those whose values are not known yet, and those that have left it.

Both name the line of the user's code. Nothing here is called unless something went wrong.
"""

from __future__ import annotations

import re
from typing import Any

from . import dtypes
from .errors import InaccessibleTensorError, NotCompilableError, OperatorNotAllowedInGraphError
from .user_code import user_frame


class NoNumpyError(OperatorNotAllowedInGraphError, AttributeError, NotImplementedError):
    """`tensor.numpy` while a @function is traced. In TensorFlow there is no such method then."""


class GoneError(InaccessibleTensorError, AttributeError):
    """`tensor.numpy` of a tensor that has left its @function."""


class NoArrayError(OperatorNotAllowedInGraphError, NotImplementedError):
    """A function of NumPy's was called on a tensor while a @function is traced."""


def where() -> str:
    """The line of the user's code that runs now, as `file.py, line 3`."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


def no_value(asked: str, array: Any, kind: type[Exception] = OperatorNotAllowedInGraphError) -> Exception:
    """The error for asking a traced tensor for its value."""
    escaped = leaked(array)
    if escaped is not None:
        return GoneError(*escaped.args) if kind is NoNumpyError else escaped
    return kind(
        f"{asked} needs the value of a tensor of shape {tuple(array.shape)} and dtype {dtypes.of(array).name}, which "
        f"is not known while a @function is traced ({where()}): only shapes and dtypes are. Choose with cond, case or "
        "where, repeat with while_loop, scan or map_fn, print with tf.print, call Python through py_function; or "
        "return the tensor and do this outside the function"
    )


def leaked(array: Any) -> InaccessibleTensorError | None:
    """The error for a traced tensor that is used outside of its function; None if it is inside."""
    import jax

    try:
        jax.numpy.copy(array)
    except jax.errors.UnexpectedTracerError as error:
        return escape(error)
    return None


def escape(error: BaseException) -> InaccessibleTensorError:
    """Our error for JAX's about a traced array that has left its function."""
    text = str(error)
    name = re.search(r"when the value leaked was (\S+) at ", text)
    line = re.search(r"value was created on line (.+):(\d+):\d+ ", text)
    made = f", made in {line[1]}, line {line[2]}," if line else ""
    return InaccessibleTensorError(
        f"a tensor of the function {name[1] if name else ''}{made} is used outside of it ({where()}), where it has no "
        "value: it stood for one while the function was traced. Return it from the function (from the branch, or from "
        "the body of the loop), or assign it to a Variable"
    )


def is_escape(error: BaseException) -> bool:
    """Return whether this is JAX's error about a traced array that has left its function."""
    return type(error).__name__ == "UnexpectedTracerError"


def needs_values(error: BaseException) -> bool:
    """Return whether this is JAX's error about a value that is not known while a function is traced."""
    return type(error).__module__.partition(".")[0] == "jax" and isinstance(error, (TypeError, IndexError))


def not_compilable(what: str) -> NotCompilableError:
    """The error for a part of the library that computes with values."""
    return NotCompilableError(
        f"{what} computes with the values of tensors, which are not known while a @function is traced ({where()}): "
        "call it outside of the function, or through py_function"
    )


def without_footer(error: BaseException) -> None:
    """Remove JAX's note about its own frames from an error that passed through JAX."""
    notes = getattr(error, "__notes__", None)
    if notes:
        notes[:] = [note for note in notes if "JAX_TRACEBACK_FILTERING" not in note]
