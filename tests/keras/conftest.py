"""Keras on gradtape, with nothing left over from one test to the next. Without Keras or JAX nothing is tested."""

from importlib.util import find_spec

import pytest

from gradtape import compat

collect_ignore_glob = [] if find_spec("keras") and find_spec("jax") else ["*"]


@pytest.fixture(autouse=True)
def anew():
    """gradtape as `tensorflow`, which other tests may have undone; then float32, and names that count from 0."""
    import keras

    compat.install()
    yield
    keras.config.set_dtype_policy("float32")
    keras.utils.clear_session(free_memory=False)


def pytest_collection_modifyitems(items):
    """Ignore what NumPy says to Keras's variables: their `__array__` takes no `copy`."""
    ignored = pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy")
    for item in items:
        if "keras" in item.path.parts:
            item.add_marker(ignored)
