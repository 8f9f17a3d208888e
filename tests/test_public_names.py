"""Every public namespace names what it offers in `__all__`, has all of it, and shows nothing else."""

import types

import pytest

import gradtape as tf


def namespaces(module, name, found):
    """All public namespaces by their dotted names; those under `compat` show others, and answer for themselves."""
    found[name] = module
    for child in module.__all__ if name != "tf.compat" else ():
        value = getattr(module, child)
        if isinstance(value, types.ModuleType):
            namespaces(value, f"{name}.{child}", found)
    return found


NAMESPACES = namespaces(tf, "tf", {})


def test_the_namespaces_are_found():
    expected = {"tf", "tf.math.special", "tf.experimental.numpy", "tf.keras.losses", "tf.compat", "tf.train"}
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
    assert [path for path, module in NAMESPACES.items() if name in dir(module)] == []


def test_a_name_that_is_imported_when_first_used_stays():
    assert tf.Module is vars(tf)["Module"]
    assert tf.train.Checkpoint is vars(tf.train)["Checkpoint"]


def test_a_star_brings_the_public_names_alone():
    found = {}
    exec("from gradtape import *", found)
    assert found.keys() - {"__builtins__"} == set(tf.__all__)
