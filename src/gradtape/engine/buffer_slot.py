"""The buffer protocol for classes with `__buffer__`, on Python 3.11: from 3.12 on, Python itself calls that method.

Before 3.12, a class written in Python cannot offer its memory to `memoryview(x)`. Its type object does have a place for
the C function that would (`tp_as_buffer.bf_getbuffer`), and ctypes makes a C function of a Python one. `install` puts
it there. It reads PyTypeObject's fields as Python documents them, compares several with what Python says of the class,
and leaves the class alone where one differs, on other versions and interpreters, and in subinterpreters, into which
ctypes cannot call back. There, `memoryview(x)` stays a TypeError.

Tested on CPython 3.11 by tests/test_buffer.py. Not covered: a trace function (`sys.settrace`) that raises when it is
told of the call of `get_buffer`.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import (
    POINTER,
    PYFUNCTYPE,
    Structure,
    c_int,
    c_ssize_t,
    c_uint,
    c_ulong,
    c_void_p,
    py_object,
    pythonapi,
)
from types import CodeType, FunctionType
from typing import Any

TESTED = (3, 11)


class _BufferProcs(Structure):
    _fields_ = [("bf_getbuffer", c_void_p), ("bf_releasebuffer", c_void_p)]


def _pointers(names: str) -> list[tuple[str, Any]]:
    return [(name, c_void_p) for name in names.split()]


class _TypeObject(Structure):
    """PyTypeObject up to `tp_finalize`."""

    _fields_ = [
        ("ob_refcnt", c_ssize_t),
        ("ob_type", c_void_p),
        ("ob_size", c_ssize_t),
        ("tp_name", c_void_p),
        ("tp_basicsize", c_ssize_t),
        ("tp_itemsize", c_ssize_t),
        *_pointers("tp_dealloc tp_vectorcall_offset tp_getattr tp_setattr tp_as_async tp_repr"),
        *_pointers(
            "tp_as_number tp_as_sequence tp_as_mapping tp_hash tp_call tp_str tp_getattro tp_setattro"
        ),
        ("tp_as_buffer", POINTER(_BufferProcs)),
        ("tp_flags", c_ulong),
        *_pointers("tp_doc tp_traverse tp_clear tp_richcompare"),
        ("tp_weaklistoffset", c_ssize_t),
        *_pointers(
            "tp_iter tp_iternext tp_methods tp_members tp_getset tp_base tp_dict tp_descr_get tp_descr_set"
        ),
        ("tp_dictoffset", c_ssize_t),
        *_pointers(
            "tp_init tp_alloc tp_new tp_free tp_is_gc tp_bases tp_mro tp_cache tp_subclasses tp_weaklist tp_del"
        ),
        ("tp_version_tag", c_uint),
        ("tp_finalize", c_void_p),
    ]


def _type_object(cls: type) -> _TypeObject | None:
    """The fields of a class; None where they are not where they are documented to be."""
    if type.__sizeof__(cls) < ctypes.sizeof(_TypeObject):
        return None
    fields = _TypeObject.from_address(id(cls))
    known = (
        (fields.ob_type, id(type(cls))),
        (fields.tp_basicsize, cls.__basicsize__),
        (fields.tp_itemsize, cls.__itemsize__),
        (fields.tp_flags, cls.__flags__),
        (fields.tp_weaklistoffset, cls.__weakrefoffset__),
        (fields.tp_base, id(cls.__base__)),
        (fields.tp_dictoffset, cls.__dictoffset__),
        (fields.tp_bases, id(cls.__bases__)),
        (fields.tp_mro, id(cls.__mro__)),
    )
    if any(found != expected for found, expected in known) or not fields.tp_as_buffer:
        return None
    return fields


class _Failure(int):
    """The -1 that tells C of an error, which is raised when this object goes.

    ctypes prints and drops the exception of a Python function that C called. The first C code to run after it
    has returned is the deallocation of its result. So the finalizer of this class is a function of Python's C API that
    calls the object, and leaves the exception for the caller of `bf_getbuffer`.
    """

    error: BaseException

    def __new__(cls, error: BaseException) -> _Failure:
        self = int.__new__(cls, -1)
        self.error = error
        return self

    def __call__(self) -> None:
        try:
            raise self.__dict__.pop("error")
        finally:
            del self  # which the traceback would keep


def _get_buffer(x: Any, view: int, flags: int, fill: Any = None, failure: Any = _Failure) -> int:
    """Fill the Py_buffer at `view`: the function for `bf_getbuffer`. It must not raise, whatever happens."""
    try:
        try:
            fill(x.__buffer__(flags), view, flags)
            return 0
        except BaseException as error:
            return failure(error)
    except BaseException as error:  # an interrupt in the line before
        return failure(error)


def _without_check(code: CodeType) -> CodeType:
    """The code without the look for signals at its start: there, no `try` could catch a KeyboardInterrupt yet.

    The first instruction is RESUME 0. RESUME 2, which follows a `yield from`, does not look.
    """
    resume = code.co_code
    if resume[:2] != bytes([151, 0]):
        raise ValueError("the code of a function starts otherwise")
    return code.replace(co_code=bytes([151, 2]) + resume[2:])


def _is_tested() -> bool:
    return (
        sys.implementation.name == "cpython"
        and sys.version_info[:2] == TESTED
        and not hasattr(sys, "gettotalrefcount")  # a debug build, with other fields and checks
    )


def _is_main_interpreter() -> bool:
    current, main = pythonapi.PyInterpreterState_Get, pythonapi.PyInterpreterState_Main
    current.restype = main.restype = c_void_p
    return current() == main()


def install(cls: type) -> bool:
    """Have C read the memory of instances of `cls` by their method `__buffer__`; False where that cannot be.

    Subclasses that are made later inherit it.
    """
    if not _is_tested() or not _is_main_interpreter():
        return False
    fields, failure = _type_object(cls), _type_object(_Failure)
    if fields is None or failure is None or fields.tp_as_buffer.contents.bf_getbuffer:
        return False
    fill = PYFUNCTYPE(c_int, py_object, c_void_p, c_int)(("PyObject_GetBuffer", pythonapi))
    try:
        code = _without_check(_get_buffer.__code__)
        function = FunctionType(code, {}, "get_buffer", (fill, _Failure))
        slot = PYFUNCTYPE(c_int, py_object, c_void_p, c_int)(function)
    except (ValueError, MemoryError, OSError):  # other code; a system that forbids code made at run time
        return False
    # For good: a class may be asked for its memory while the interpreter ends.
    pythonapi.Py_IncRef(py_object(slot))
    failure.tp_finalize = ctypes.cast(pythonapi.PyObject_CallNoArgs, c_void_p).value
    fields.tp_as_buffer.contents.bf_getbuffer = ctypes.cast(slot, c_void_p).value
    return True
