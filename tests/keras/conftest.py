"""Keras on gradtape: imported once, with nothing left over from one test to the next."""

import pytest

import gradtape  # noqa: F401  Keras runs on it from here on

keras = pytest.importorskip("keras")
pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def anew():
    """Float32, and names of layers that count from 0."""
    yield
    keras.config.set_dtype_policy("float32")
    keras.utils.clear_session(free_memory=False)


def pytest_collection_modifyitems(items):
    """Ignore what NumPy says to Keras's variables: their `__array__` takes no `copy`."""
    for item in items:
        if "keras" in item.path.parts:
            item.add_marker(
                pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy")
            )
