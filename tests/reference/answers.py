"""The reference programs: how they are found, run, written down as data, and compared.

A program is a public function in `programs/` whose first parameter is `tf`, the module: TensorFlow or gradtape. If it
has a second one, `function`, it is run twice: eagerly, where `function` does nothing, and compiled, where it is
`tf.function`.
"""

import importlib
import inspect
import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DATA = HERE / "references.json"

# The largest error allowed, relative to the largest number of the array: roundings in each dtype, about 100 in single
# precision, more in double, where sums and solves of the data lose digits to their condition, fewer in half.
RELATIVE = {
    "float64": 1e-12,
    "complex128": 1e-12,
    "float32": 1e-5,
    "complex64": 1e-5,
    "float16": 4e-3,
    "bfloat16": 3e-2,
}
# What rounding leaves of numbers of order 1 that cancel.
ABSOLUTE = {
    "float64": 1e-14,
    "complex128": 1e-14,
    "float32": 2e-7,
    "complex64": 2e-7,
    "float16": 2e-4,
    "bfloat16": 2e-3,
}


def find_programs():
    """All programs, by `theme.name`, in the order of the files."""
    found = {}
    for path in sorted((HERE / "programs").glob("*.py")):
        module = importlib.import_module(f"{__package__}.programs.{path.stem}")
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
                parameters = list(inspect.signature(value).parameters)
                if parameters[:1] == ["tf"]:
                    found[f"{path.stem}.{name}"] = value
    return found


def modes_of(program):
    """How a program is run: in both modes, or as it is written."""
    return ("eager", "compiled") if "function" in inspect.signature(program).parameters else ("as written",)


def run(program, tf, mode):
    """The results of a program under `tf`, in the form they are written down."""
    tf.random.set_seed(0)
    if mode == "as written":
        return encode(tf, program(tf))
    return encode(tf, program(tf, tf.function if mode == "compiled" else undecorated))


def undecorated(function=None, **options):
    """Stand in for `tf.function`, eagerly."""
    return function if function is not None else lambda function: function


def encode(tf, result):
    """Results as JSON has them: tensors by their dtype, sparse gradients marked as such."""
    if result is None or isinstance(result, (bool, int, float, str)):
        return result
    if isinstance(result, dict):
        return {str(key): encode(tf, value) for key, value in result.items()}
    if isinstance(result, (list, tuple)):
        return [encode(tf, value) for value in result]
    if isinstance(result, tf.IndexedSlices):
        return {"slices": encode(tf, tf.convert_to_tensor(result))}
    if isinstance(result, (np.ndarray, np.generic)):
        array = np.asarray(result)
    else:
        array = np.asarray(result.numpy())
    if array.dtype.kind in "SOU":
        return {"string": np.vectorize(_text, otypes=[object])(array).tolist()}
    name = array.dtype.name
    if array.dtype.kind == "c":
        return {name: [_numbers(array.real), _numbers(array.imag)]}
    return {name: _numbers(array)} if array.size else {name: [], "shape": list(array.shape)}


def _text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def _numbers(array):
    """Nested lists; floats with as few digits as tell them apart in their dtype."""
    if array.dtype.kind in "biu":
        return array.tolist()
    return np.vectorize(lambda x: float(str(x)), otypes=[object])(array).tolist()


def disagreements(actual, expected, path="result"):
    """Sentences that say where two encoded results differ."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        if actual.keys() != expected.keys():
            return [f"{path} has {sorted(actual)} instead of {sorted(expected)}"]
        if len(expected) == 1 and next(iter(expected)) in RELATIVE:
            return _different_numbers(actual, expected, path)
        pairs = [(f"{path}[{key!r}]", actual[key], value) for key, value in expected.items()]
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(actual) != len(expected):
            return [f"{path} has {len(actual)} entries instead of {len(expected)}"]
        pairs = [(f"{path}[{i}]", a, e) for i, (a, e) in enumerate(zip(actual, expected))]
    elif type(actual) is type(expected) is float:
        return _different_numbers({"float32": actual}, {"float32": expected}, path)
    else:
        same = type(actual) is type(expected) and actual == expected
        return [] if same else [f"{path} is {actual} instead of {expected}"]
    return [sentence for p, a, e in pairs for sentence in disagreements(a, e, p)]


def _different_numbers(actual, expected, path):
    ((dtype, expected),) = expected.items()
    actual, expected = np.array(actual[dtype], float), np.array(expected, float)
    if actual.shape != expected.shape:
        return [f"{path} has the shape {actual.shape} instead of {expected.shape}"]
    finite = np.isfinite(expected)
    scale = np.abs(expected[finite]).max(initial=0.0)
    tolerance = RELATIVE[dtype] * scale + ABSOLUTE[dtype]
    if np.allclose(actual, expected, rtol=0, atol=tolerance, equal_nan=True):
        return []
    return [
        f"{path} ({dtype}) is\n{actual}\ninstead of\n{expected}\n(largest difference allowed: {tolerance:.2g})"
    ]


def load():
    """The numbers of TensorFlow, by program."""
    return json.loads(DATA.read_text())["programs"]
