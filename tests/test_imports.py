"""Imports point one way, and `import gradtape` brings nothing that is not needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape

PACKAGE = Path(gradtape.__file__).parent


def module_of(path):
    """`ops.array` for src/gradtape/ops/array.py; a package by its own name; the whole is ''."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_of(path): path for path in PACKAGE.rglob("*.py")}


def imported_by(module, source, *, also_later=True):
    """The modules of gradtape that a file imports, by their names in it; those inside functions only if asked."""
    found = set()
    tree = ast.parse(source)
    nodes = list(statements(tree, inside_functions=also_later))
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "gradtape"]
            found.update(name.removeprefix("gradtape").lstrip(".") for name in names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".") if module else []
                inside = parts if FILES.get(module, Path("x")).name == "__init__.py" else parts[:-1]
                inside = inside[: len(inside) - (node.level - 1)] if node.level > 1 else inside
                base = ".".join([*inside, *([base] if base else [])])
            elif base.split(".")[0] == "gradtape":
                base = base.removeprefix("gradtape").lstrip(".")
            else:
                continue
            for alias in node.names:
                name = f"{base}.{alias.name}".lstrip(".")
                found.add(name if name in FILES else base)
    return found


def statements(tree, *, inside_functions):
    """All statements, but not those for type checkers; those of functions only if asked."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and not inside_functions:
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))
        if isinstance(node, ast.Try):
            waiting.extend(statement for handler in node.handlers for statement in handler.body)


# The rooms, from the bottom up: a file imports from its own room and from those before it, inside functions too.
# Whatever is in no room is the root of the package: the public namespaces.
LAYERS = [
    "engine",
    "names",
    "core",
    "ops",
    "compiled",
    "hot",
    "files",
    "losses",
    "metrics",
    "data",
    "distribute",
    "train",
    "explain",
    "summary",
    "saved_model",
    "",
    "compat",
    "command",
]

# The exceptions, each with its reason.
UPWARDS = {
    (
        "core.tape",
        "explain",
    ): "GradientTape.explain, .summary, .plot, .show: methods of the tape whose work is done by explain",
    ("core.tape", "explain.page"): "the same",
    ("core.tape", "explain.plot"): "the same",
    ("core.tape", "explain.summary"): "the same",
    ("core.shown_code", "explain.listening"): "explain traces the blocks of tapes that are shown",
    ("keras", "compat.keras_entry"): "tf.keras is Keras, which needs gradtape under the name tensorflow",
    ("__main__", "command.cli"): "`python -m gradtape` is the command",
}

# Files that know each other. `core`: a list that holds tensors is stacked, an operation, and operations convert their
# inputs.
CIRCLES = [
    {"core.tensor_conversion", "core.primitive", "core.slicing", "core.structural"},
]


def layer_of(module):
    room = module.split(".")[0]
    return LAYERS.index(room if room in LAYERS else "")


IMPORTS = {module: imported_by(module, path.read_text()) & FILES.keys() for module, path in FILES.items()}


def test_every_room_is_a_layer():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    public = {name for name in folders if "public namespace" in (PACKAGE / name / "__init__.py").read_text()}
    assert folders - set(LAYERS) <= public
    assert set(LAYERS) - {""} <= folders


@pytest.mark.parametrize("module", sorted(FILES))
def test_imports_point_down(module):
    upwards = {name for name in IMPORTS[module] if layer_of(name) > layer_of(module)}
    assert {name for name in upwards if (module, name) not in UPWARDS} == set()


def test_the_exceptions_are_needed():
    assert all(name in IMPORTS[module] for module, name in UPWARDS)


def test_the_tape_and_the_operations_do_not_know_each_other():
    assert not {name for name in IMPORTS["core.tape"] if name.startswith("ops")}
    recording = {"core.tape", "core.sweep", "core.forward", "core.custom"}
    assert not {m for m, names in IMPORTS.items() if m.startswith("ops") and names & recording}


def test_files_that_import_each_other_are_few():
    """Lazy imports included, but for the exceptions above."""
    graph = {m: {n for n in names if (m, n) not in UPWARDS} - {m} for m, names in IMPORTS.items()}
    circles = [circle for circle in strongly_connected(graph) if len(circle) > 1]
    assert sorted(map(sorted, circles)) == sorted(map(sorted, CIRCLES))


def strongly_connected(graph):
    """The largest sets of nodes that can all be reached from each other."""
    reachable = {}
    for start in graph:
        seen, waiting = set(), [start]
        while waiting:
            for name in graph[waiting.pop()] - seen:
                seen.add(name)
                waiting.append(name)
        reachable[start] = seen
    return {frozenset([a, *[b for b in reachable[a] if a in reachable[b]]]) for a in graph}


def test_a_file_name_appears_once():
    """Public namespaces are called what TensorFlow calls them."""
    rooms = [m for m in FILES if LAYERS[layer_of(m)] not in ("", "compat") and FILES[m].name != "__init__.py"]
    public = ("The public namespace",)
    names = [
        m.rpartition(".")[2]
        for m in rooms
        if not ast.get_docstring(ast.parse(FILES[m].read_text())).startswith(public)
    ]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_file_imports_in_a_circle():
    """While the package is imported; inside functions files may name each other."""
    graph = {
        m: imported_by(m, path.read_text(), also_later=False) & FILES.keys() - {""}
        for m, path in FILES.items()
    }
    assert [circle for circle in strongly_connected(graph) if len(circle) > 1] == []


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("keras", "from .ops import array", {"ops.array"}),
        ("keras", "from .ops.array.movement import reshape", {"ops.array.movement"}),
        ("keras", "from . import ops", {"ops"}),
        ("keras", "import gradtape.ops.array as a", {"ops.array"}),
        ("keras", "from gradtape import ops", {"ops"}),
        ("keras", "def f():\n    from .ops import nn", {"ops.nn"}),
        ("ops.known", "from ..core.tape import GradientTape", {"core.tape"}),
        ("ops.known", "from ..core import tape", {"core.tape"}),
        ("ops.array.shape", "from .indexing import Index", {"ops.array.indexing"}),
        ("ops", "from . import array", {"ops.array"}),
        ("keras", "import numpy\nfrom numpy import ops", set()),
    ],
)
def test_this_test_sees_every_form_of_import(module, source, expected):
    assert imported_by(module, source) == expected


def modules_after(program):
    program += "\nimport sys\nprint(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(printed.stdout.split())


def test_importing_brings_numpy_and_nothing_heavy():
    modules = modules_after("import gradtape")
    assert "numpy" in modules
    heavy = {
        "scipy",
        "optree",
        "jax",
        "jaxlib",
        "ml_dtypes",
        "matplotlib",
        "tensorflow",
        "torch",
        "rich",
        "pytest",
    }
    assert modules & heavy == set()


def test_a_first_gradient_brings_nothing_heavy_either():
    modules = modules_after(
        "import gradtape as tf\n"
        "w, b = tf.Variable([[1.0, 2.0]]), tf.Variable([0.5])\n"
        "with tf.GradientTape() as tape:\n"
        "    loss = tf.reduce_mean(tf.square(tf.nn.softmax(tf.matmul([[3.0]], w)) + b))\n"
        "tf.optimizers.SGD(0.1).apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))\n"
    )
    assert modules & {"scipy", "optree", "jax", "ml_dtypes", "matplotlib"} == set()


def test_the_public_names_are_there():
    for name in (
        "Tensor",
        "Variable",
        "GradientTape",
        "constant",
        "float32",
        "nest",
        "math",
        "nn",
        "linalg",
        "random",
    ):
        assert hasattr(gradtape, name), name
    assert gradtape.autodiff.ForwardAccumulator
    assert gradtape.experimental.dlpack.to_dlpack
