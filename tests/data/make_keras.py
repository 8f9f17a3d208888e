"""Makes keras.json and keras/: what Keras gives on TensorFlow, and files that it saves there.

Run it where TensorFlow and Keras 3 are installed: `KERAS_BACKEND=tensorflow python tests/data/make_keras.py`.
With `--check FOLDER` it loads the files that gradtape has written (`gradtape run tests/keras/networks.py FOLDER`).
"""

import json
import sys
from pathlib import Path

import keras

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "keras"))

import networks  # noqa: E402
import preprocessing  # noqa: E402


def first(array):
    """Some numbers by which to know an array."""
    return [float(number) for number in array.numpy().ravel()[:4]]


def course(name):
    """Initial weights of a network, and how it learns."""
    weights = [first(variable) for variable in networks.network(name).variables]
    model, history = networks.trained(name)
    predicted = model.predict(networks.data(name)[0][:3], verbose=0)
    return {"weights": weights, "history": history, "predicted": predicted.tolist()}


def make():
    answers = {
        "keras": keras.__version__,
        "courses": {name: course(name) for name in networks.NETWORKS},
        "preprocessing": {name: preprocessing.answers(name) for name in preprocessing.LAYERS},
    }
    lines = json.dumps(answers, indent=1).replace(",\n     ", ", ")
    (HERE / "keras.json").write_text(lines + "\n")
    (HERE / "keras").mkdir(exist_ok=True)
    networks.write_files(HERE / "keras")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        print("go on as they did on gradtape:", *networks.check_files(sys.argv[2]))
    else:
        make()
