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
    nodes = ast.walk(tree) if also_later else list(statements_at_import(tree))
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


def statements_at_import(tree):
    """All statements that run when a file is imported: not those of functions, nor those for type checkers."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))


def is_in(module, family):
    return module == family or module.startswith(family + ".")


# Who may not know whom. `ops` -> `primitive` -> `tensor`; the tape and the operations do not know each other.
FORBIDDEN = [
    ("tensor", ["ops", "primitive", "tape", "variable", "custom", "forward", "train"]),
    ("dtypes", ["ops", "primitive", "tape", "variable", "tensor"]),
    ("shapes", ["ops", "primitive", "tape", "variable", "tensor"]),
    ("errors", ["ops", "primitive", "tape", "variable", "tensor"]),
    ("primitive", ["ops", "tape", "variable", "custom", "forward", "train"]),
    ("variable", ["ops", "tape", "custom", "forward", "train"]),
    ("indexed_slices", ["ops", "tape", "custom", "forward", "train", "variable"]),
    ("tape", ["ops", "custom", "forward", "train", "math", "nn", "linalg", "random"]),
    ("sweep", ["ops", "tape", "variable", "custom", "forward", "train"]),
    ("ops", ["tape", "custom", "forward", "train"]),
]


@pytest.mark.parametrize(("family", "unknown"), FORBIDDEN)
def test_imports_point_one_way(family, unknown):
    looked_at = [module for module in FILES if is_in(module, family)]
    assert looked_at
    for module in looked_at:
        known = imported_by(module, FILES[module].read_text())
        wrong = {name for name in known if any(is_in(name, other) for other in unknown)}
        assert not wrong, f"{module} imports {wrong}"


def test_no_file_imports_in_a_circle():
    """While the package is imported; inside functions files may name each other."""
    graph = {m: imported_by(m, path.read_text(), also_later=False) for m, path in FILES.items()}
    done, path = set(), []

    def visit(module):
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module in done or module not in graph:
            return
        path.append(module)
        for name in sorted(graph[module] - {""}):
            visit(name)
        path.pop()
        done.add(module)

    for module in sorted(graph):
        visit(module)
    assert done >= {"tensor", "primitive", "tape", "ops.array"}


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("tape", "from .ops import array", {"ops.array"}),
        ("tape", "from .ops.array import reshape", {"ops.array"}),
        ("tape", "from . import ops", {"ops"}),
        ("tape", "import gradtape.ops.array as a", {"ops.array"}),
        ("tape", "from gradtape import ops", {"ops"}),
        ("tape", "def f():\n    from .ops import nn", {"ops.nn"}),
        ("ops.array", "from ..tape import GradientTape", {"tape"}),
        ("ops.array", "from .. import tape", {"tape"}),
        ("ops.array", "from .indexing import Index", {"ops.indexing"}),
        ("ops", "from . import array", {"ops.array"}),
        ("tape", "import numpy\nfrom numpy import ops", set()),
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
