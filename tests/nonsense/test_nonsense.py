"""Nonsense is answered by a value, or by an error that we raised on purpose: never by one from deep inside.

For each public function, class and method some of the arguments of a sane call are replaced by nonsense. An error must
come from a `raise` in gradtape (or in the function of a user), and say something. GRADTAPE_NONSENSE=N tries N calls of
each, instead of a few.
"""

from __future__ import annotations

import contextlib
import copy
import dis
import io
import itertools
import os
import random
import re
import resource
import signal
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.settings import settings
from gradtape.engine import devices

from .calls import EXAMPLE, Call, calls
from .values import nonsense

TRIALS = int(os.environ.get("GRADTAPE_NONSENSE", "24"))
SECONDS = 5.0  # a call that takes longer hangs
OURS = str(Path(tf.__file__).parent)
USERS = str(Path(__file__).parent)
CALLS = calls()

# What Python and NumPy say of a mistake in a program, not in its input.
INTERNAL = (
    "object has no attribute", "object is not subscriptable", "object is not iterable", "object is not callable",
    "unsupported operand", "index out of range", "not enough values to unpack", "too many values to unpack",
    "positional argument", "unexpected keyword argument", "object of type", "must be str, not", "ufunc ",
    "Cannot cast", "could not broadcast", "truth value of an array", "list indices must be", "unhashable type",
    "local variable", "setting an array element", "in ufunc", "cannot be interpreted as an integer",
    "no implementation found", "not supported between instances", "can't multiply sequence", "math domain error",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def little_memory():
    """One gigabyte more than there is: a call that wants more gets a MemoryError, not the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if not Path("/proc/self/statm").exists():
        yield
        return
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + 2**30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture(scope="module", autouse=True)
def a_folder_of_its_own(tmp_path_factory):
    """Nonsense may be the name of a file."""
    with contextlib.chdir(tmp_path_factory.mktemp("nonsense")):
        yield


@pytest.fixture(autouse=True)
def hot_tapes_as_before():
    """The sane call turns them on."""
    from gradtape.hot import places

    before = places.is_on()
    yield
    places.switch(before)


class Hangs(BaseException):
    """A call took too long."""


def test_every_public_callable_has_a_sane_call():
    assert [name for name, call in CALLS.items() if call is None] == []


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call])
def test_nonsense_is_answered(name):
    call = CALLS[name]
    assert call is not None
    complaints = {}
    for trial in range(TRIALS):
        complaint = answer(call, random.Random(f"{name} {trial}"))
        if complaint:
            complaints.setdefault(complaint[0], complaint[1])
    assert not complaints, "\n".join(f"{call}\n    {where}" for where, call in complaints.items())


def answer(call: Call, rng: random.Random) -> tuple[str, str] | None:
    """Call with nonsense; what is wrong with the answer and what the call was, or None if all is well."""
    arguments = call.arguments()
    names = [n for n in call.signature.parameters if n not in ("self", "name")]
    changed = rng.sample(names, min(len(names), rng.choice([1, 1, 1, 2])))
    for parameter in changed:
        arguments[parameter] = nonsense(rng, arguments.get(parameter))
    try:
        positional, named = bound(call, arguments)
        with contained():
            enter(call.function(*positional, **named))
    except UserWarning:
        return None  # said on purpose
    except Hangs:
        return "hangs", described(call, arguments, changed)
    except Exception as error:
        if _users_own(error, call, arguments):
            return None
        wrong = what_is_wrong(error)
        return (wrong, described(call, arguments, changed)) if wrong else None
    return None


def bound(call: Call, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as they are passed. Those of a `*args` or `**kwargs` that got nonsense are that alone."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for p in call.signature.parameters.values():
        if p.name not in arguments:
            continue
        value = arguments[p.name]
        if p.kind is p.VAR_POSITIONAL:
            positional += value if isinstance(value, tuple) else [value]
        elif p.kind is p.VAR_KEYWORD:
            named |= value if isinstance(value, dict) and all(isinstance(k, str) for k in value) else {}
        elif p.kind is p.POSITIONAL_ONLY or (
            p.kind is p.POSITIONAL_OR_KEYWORD and not named and _leads(call, p, positional)
        ):
            positional.append(value)
        else:
            named[p.name] = value
    return positional, named


def _leads(call: Call, parameter: Any, positional: list[Any]) -> bool:
    """Does this parameter come right after those given by position?"""
    return list(call.signature.parameters)[: len(positional) + 1][-1] == parameter.name


def enter(result: Any) -> None:
    """A block only does something when it is entered, and a dataset when it is looped over."""
    if isinstance(result, tf.data.Dataset):
        result.element_spec
        list(itertools.islice(result, 3))
    if isinstance(result, contextlib.AbstractContextManager) and not isinstance(result, tf.GradientTape):
        with result:
            pass


@contextlib.contextmanager
def contained():
    """Settings as they were afterwards, nothing printed, and no call without end."""

    rings = []

    def ring(number: int, frame: Any) -> None:
        rings.append(number)
        if len(rings) > 1:
            raise Hangs
        signal.setitimer(signal.ITIMER_REAL, SECONDS)  # it may be the machine that stood still

    before, handler = copy.deepcopy(vars(settings)), signal.signal(signal.SIGALRM, ring)
    generator = tf.random.get_global_generator()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        vars(settings).update(before)
        devices._visible.clear()
        devices._configurations.clear()
        tf.random.set_global_generator(generator)
        tf.debugging.disable_check_numerics()


def what_is_wrong(error: Exception) -> str:
    """'' for an error that was raised on purpose and says something; else what is wrong with it."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    last = frames[-1]
    code, text = last.tb_frame.f_code, str(error)
    where = f"{type(error).__name__}: {text}  [{Path(code.co_filename).name}:{last.tb_lineno}]"
    if code.co_filename.startswith((USERS, EXAMPLE)) and len(frames) > 2:
        return ""  # in a function of the user's, who may raise what he likes
    if len(frames) == 2 and isinstance(error, TypeError):
        return ""  # Python itself said that there is no such argument
    if not code.co_filename.startswith(OURS):
        return where
    if not _is_raise(code, last.tb_lasti) or isinstance(error, (AssertionError, KeyError, RecursionError)):
        return where
    if len(text) < 10 or any(phrase in text for phrase in INTERNAL):
        return where
    return ""


def _users_own(error: Exception, call: Call, arguments: dict[str, Any]) -> bool:
    """Is it the nonsense itself that refuses? An array given for a flag, to be true or false; a function given, to be
    called as functions are here. And there is an end to the memory of any machine."""
    text = str(error)
    if isinstance(error, MemoryError):
        return text.startswith("Unable to allocate")
    if isinstance(error, ValueError) and "truth value of an" in text:
        flags = [
            p.name
            for p in call.signature.parameters.values()
            if "bool" in f"{p.annotation} {type(p.default)}"
        ]
        return any(getattr(arguments.get(name), "size", 1) != 1 for name in flags)
    functions = [getattr(a, "__name__", "?") for a in arguments.values() if callable(a)]
    called = any(re.search(rf"(^|\W){re.escape(name)}(\W|$)", text) for name in functions)
    builtin = [
        a for k, a in arguments.items() if k.endswith("func") and isinstance(a, (np.ufunc, type(len), type))
    ]
    refuses = isinstance(error, TypeError) or isinstance(
        error.__cause__, TypeError
    )  # a generator's comes as a cause
    return (refuses and called) or bool(builtin)


def _is_raise(code: types.CodeType, offset: int) -> bool:
    return any(i.offset == offset and i.opname == "RAISE_VARARGS" for i in dis.get_instructions(code))


def described(call: Call, arguments: dict[str, Any], changed: list[str]) -> str:
    given = ", ".join(f"{k}={shortened(v)}" for k, v in arguments.items() if k != "self")
    return f"{call.name}({given}), of which {' and '.join(changed)} is nonsense"


def shortened(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) < 70 else text[:67] + "..."
