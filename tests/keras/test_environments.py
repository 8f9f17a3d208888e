"""Keras where it is missing, where it runs on another backend, under `gradtape run`, and beside TensorFlow itself."""

import os
import subprocess
import sys

import pytest


def python(*arguments, **environment):
    """The output of a Python of its own, or its error."""
    surroundings = {
        name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"
    } | environment
    ran = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=surroundings,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


WITHOUT_KERAS = """
import sys
sys.modules["keras"] = None
import gradtape as tf
for name in ("optimizers", "losses", "metrics", "initializers"):
    assert getattr(tf.keras, name) is getattr(tf, name), name
assert tf.keras.optimizers.SGD is tf.optimizers.SGD
tf.compat.install()
from tensorflow.keras.losses import MeanSquaredError
assert MeanSquaredError is tf.losses.MeanSquaredError
for attempt in (
    "tf.keras.layers",
    "tf.keras.Sequential()",
    "import tensorflow.keras.layers",
    "from tensorflow.keras import Model",
):
    try:
        exec(attempt)
    except (AttributeError, ImportError) as error:
        print("pip install 'gradtape[keras]'" in str(error), end=" ")
"""


def test_without_keras_the_parts_that_gradtape_has_are_there():
    assert python("-c", WITHOUT_KERAS).split() == ["True"] * 4


ON_JAX = """
import sys, gradtape, keras
print(keras.backend.backend(), "tensorflow" in sys.modules, type(keras.ops.ones(2)).__module__.split(".")[0])
"""


def test_keras_stays_on_jax():
    assert python("-c", ON_JAX, KERAS_BACKEND="jax").split() == ["jax", "False", "jaxlib"]


BESIDE_TENSORFLOW = """
import sys, types
theirs = sys.modules["tensorflow"] = types.ModuleType("tensorflow")
import gradtape
from gradtape.names.keras_hook import KerasHook
assert any(isinstance(finder, KerasHook) for finder in sys.meta_path)
assert all(finder.find_spec("keras", None) is None for finder in sys.meta_path if isinstance(finder, KerasHook))
assert sys.modules["tensorflow"] is theirs
try:
    gradtape.compat.install()
except RuntimeError:
    print("refused", end=" ")
keras = sys.modules["keras"] = types.ModuleType("keras")
keras.backend = types.SimpleNamespace(backend=lambda: "tensorflow")
try:
    gradtape.keras
except ImportError as error:
    print("gradtape run" in str(error), sys.modules["tensorflow"] is theirs)
"""


def test_tensorflow_itself_is_left_alone():
    assert python("-c", BESIDE_TENSORFLOW).split() == ["refused", "True", "True"]


SCRIPTS = {
    "tensorflow": "import tensorflow as tf\nfrom tensorflow import keras\nfrom tensorflow.keras.layers import Dense",
    "keras": "import keras\nfrom keras.layers import Dense\nimport tensorflow as tf",
}
TRAIN = """
import numpy as np
model = keras.Sequential([keras.Input((2,)), Dense(1, kernel_initializer="ones")])
model.compile("sgd", "mse", run_eagerly=True)
model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
print(keras.backend.backend(), tf.keras is keras, tf.GradientTape.__module__.partition(".")[0], model.count_params())
"""


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_run_under_gradtape(name, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPTS[name] + TRAIN)
    assert python("-m", "gradtape", "run", str(script)).split() == ["tensorflow", "True", "gradtape", "3"]
