"""Every public namespace names what it offers in `__all__`, has all of it, and shows nothing else."""

import inspect
import re
import types

import pytest

import gradtape as tf


def namespaces(module, name, found):
    """All public namespaces by their dotted names; those under `compat` show others, and answer for themselves."""
    found[name] = module
    for child in module.__all__ if name != "tf.compat" else ():
        value = getattr(module, child)
        if isinstance(value, types.ModuleType) and value is not tf.keras:
            namespaces(value, f"{name}.{child}", found)
    return found


NAMESPACES = namespaces(tf, "tf", {})


def test_the_namespaces_are_found():
    expected = {"tf", "tf.math.special", "tf.experimental.numpy", "tf.losses", "tf.compat", "tf.train"}
    assert expected <= NAMESPACES.keys()


@pytest.mark.parametrize("name", sorted(NAMESPACES))
def test_a_namespace_has_and_shows_what_it_names(name):
    module = NAMESPACES[name]
    assert len(set(module.__all__)) == len(module.__all__)
    assert [missing for missing in module.__all__ if not hasattr(module, missing)] == []
    assert {shown for shown in dir(module) if not shown.startswith("__")} == set(module.__all__)


@pytest.mark.parametrize(
    "name", ["Any", "TYPE_CHECKING", "import_module", "closed", "core", "ops", "names", "builtins"]
)
def test_no_namespace_shows_what_it_imports_for_itself(name):
    shown = [path for path, module in NAMESPACES.items() if name in dir(module)]
    assert shown == (["tf.raw_ops"] if name == "Any" else [])  # where it is an operation


def test_a_name_that_is_imported_when_first_used_stays():
    assert tf.Module is vars(tf)["Module"]
    assert tf.train.Checkpoint is vars(tf.train)["Checkpoint"]


def test_a_star_brings_the_public_names_alone():
    found = {}
    exec("from gradtape import *", found)
    assert found.keys() - {"__builtins__"} == set(tf.__all__)


# ---------------------------------------------------------------------------------------------------------------------
# Docstrings

# Parameters that need no word.
OBVIOUS = {"self", "cls", "name", "x", "y", "a", "b", "args", "kwargs", "input", "input_tensor", "tensor", "tensors",
           "value", "values", "dtype", "shape", "axis", "keepdims", "step"}  # fmt: skip
# Rooms of which every other parameter is named in a docstring.
DOCUMENTED = ("data", "train", "autograph", "config", "debugging", "experimental", "test")


def documented():
    """Public functions and methods of these rooms, each with the text that should name its parameters."""
    found = {}
    for space, module in NAMESPACES.items():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                found[f"{space}.{name}"] = value, value.__doc__
            elif inspect.isclass(value):
                for method in vars(value).values():
                    method = inspect.unwrap(getattr(method, "__func__", method))
                    if inspect.isfunction(method) and re.fullmatch(r"[a-z]\w*|__init__", method.__name__):
                        text = value.__doc__ if method.__name__ == "__init__" else method.__doc__
                        found[f"{space}.{name}.{method.__name__}"] = method, text
    ours = re.compile(rf"gradtape\.({'|'.join(DOCUMENTED)})\b")
    return {path: pair for path, pair in found.items() if ours.match(pair[0].__module__)}


def test_docstrings_name_their_parameters():
    functions = documented()
    assert len(functions) > 150
    unnamed = [
        f"{path}: {parameter}"
        for path, (function, text) in functions.items()
        for parameter in inspect.signature(function).parameters
        if parameter not in OBVIOUS and not re.search(rf"(?m)^(?!\s*>>>).*\b{parameter}\b", text or "")
    ]
    assert unnamed == []
