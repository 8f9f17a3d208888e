"""The command `gradtape`, through the real command line: scripts run as under `python`, hostile ones too."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gradtape
from gradtape.command import checking, cli, notebooks

SOURCE = str(Path(gradtape.__file__).parents[1])


def command(*arguments, cwd, stdin="", python=(), env=()):
    """Runs `python arguments` in a folder; the result has stdout, stderr and returncode."""
    path = os.pathsep.join([SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *python, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **dict(env)},
        timeout=120,
        check=False,
    )


def gradtape_run(*arguments, **options):
    return command("-m", "gradtape", "run", *arguments, **options)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def notebook(path, *cells, language="python"):
    sources = [{"cell_type": "markdown", "source": ["# Title"]}]
    sources += [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    kernel = {"kernelspec": {"language": language}}
    path.write_text(json.dumps({"cells": sources, "metadata": kernel, "nbformat": 4}), encoding="utf-8")
    return path


# ---------------------------------------------------------------------------------------------------------------------
# As under `python script.py`

FACTS = """
    import os, pickle, sys
    class Point:
        x = 1
    print(__name__, __file__, __doc__, __package__, type(__builtins__))
    print(getattr(__spec__, 'name', None), type(__loader__).__name__)
    print(sys.argv, sys.path[0], os.getcwd(), sys.stdin.read(), sys.modules["__main__"].Point is Point)
    print(type(pickle.loads(pickle.dumps(Point()))).__module__, "ünïcödé", sys.flags.optimize, Point.__module__)
    os.chdir("/")
    print("to stderr", file=sys.stderr)
    sys.exit(7)
"""


def test_a_script_finds_everything_as_under_python(tmp_path):
    write(tmp_path / "work" / "script.py", FACTS)
    arguments = ("work/script.py", "--json", "-m", "a b")
    plain = command(*arguments, cwd=tmp_path, stdin="read me")
    ours = gradtape_run(*arguments, cwd=tmp_path, stdin="read me")
    assert "ünïcödé" in plain.stdout
    assert (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, plain.returncode)
    assert plain.returncode == 7


def test_a_module_finds_everything_as_under_python(tmp_path):
    write(tmp_path / "package" / "__init__.py", "")
    write(tmp_path / "package" / "__main__.py", FACTS)
    plain = command("-m", "package", "--help", cwd=tmp_path)
    ours = gradtape_run("-m", "package", "--help", cwd=tmp_path)
    assert "package.__main__" in plain.stdout
    assert (ours.stdout, ours.returncode) == (plain.stdout, 7)


TRAINING = """
    import tensorflow as tf
    from tensorflow.keras import optimizers

    w = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        loss = w * w
    optimizers.SGD(0.1).apply_gradients([(tape.gradient(loss, w), w)])
    print(round(float(w), 4))
"""


def test_children_resolve_tensorflow_too(tmp_path):
    write(
        tmp_path / "script.py",
        """
        import multiprocessing, os, sys
        import tensorflow as tf

        def total(x):
            return float(tf.reduce_sum([x, 1.0]))

        if __name__ == "__main__":
            pid = os.fork()
            if pid == 0:
                import tensorflow.nn
                os._exit(int(float(tensorflow.nn.relu(3.0))))
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(total, [1.0, 2.0]))
        """,
    )
    result = gradtape_run("script.py", cwd=tmp_path)
    assert (result.stdout, result.stderr, result.returncode) == ("3\n[2.0, 3.0]\n", "", 0)


@pytest.mark.parametrize(
    ("source", "stdout", "stderr", "code"),
    [
        (TRAINING, "2.4\n", "", 0),
        ("import sys\nsys.exit('a reason')", "", "a reason\n", 1),
        ("import os\nos._exit(5)", "", "", 5),
    ],
)
def test_how_scripts_end(tmp_path, source, stdout, stderr, code):
    write(tmp_path / "script.py", source)
    result = gradtape_run("script.py", cwd=tmp_path)
    assert (result.stdout, result.stderr, result.returncode) == (stdout, stderr, code)


def test_an_interrupt_ends_it_as_it_ends_python(tmp_path):
    write(
        tmp_path / "script.py",
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background, it is ignored\n"
        "os.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(9)",
    )
    result = gradtape_run("script.py", cwd=tmp_path)
    assert result.returncode == -signal.SIGINT  # 130 in a shell
    assert result.stderr.count("Traceback") == 1 and "KeyboardInterrupt" in result.stderr


@pytest.mark.parametrize(
    ("source", "last_line"),
    [
        ("def f():\n    return 1 / 0\nf()", "ZeroDivisionError: division by zero"),
        ("x = = 1", "SyntaxError: invalid syntax"),
        ("def f():\n    f()\nf()", "RecursionError: maximum recursion depth exceeded"),
        (
            "import tensorflow as tf\ntry:\n    1 / 0\nexcept ArithmeticError as e:\n"
            "    raise tf.errors.DataLossError('x') from e",
            "DataLossError: x",
        ),
    ],
)
def test_tracebacks_are_python_s_own(tmp_path, source, last_line):
    """The same as under `python`, to the letter: with `import gradtape` where the name tensorflow stands."""
    script = write(tmp_path / "script.py", source)
    ours = gradtape_run("script.py", cwd=tmp_path)
    script.write_text(source.replace("import tensorflow as tf", "import gradtape as tf"), encoding="utf-8")
    plain = command("script.py", cwd=tmp_path)
    assert last_line in plain.stderr
    shown = re.sub(
        r"repeated \d+ more", "repeated 996 more", ours.stderr
    )  # there are frames below the script's
    assert shown.replace("import tensorflow", "import gradtape") == plain.stderr
    assert ours.returncode == plain.returncode == 1


def test_what_gradtape_raises_shows_the_script_alone(tmp_path):
    write(
        tmp_path / "script.py",
        """
        import sys
        import tensorflow as tf
        def show(kind, error, tb):
            print("hook", kind.__name__)
            sys.__excepthook__(kind, error, tb)
        sys.excepthook = show
        def wrong(x):
            return tf.nn.reluu(x)
        tf.map_fn(wrong, tf.constant([1.0]))
        """,
    )
    result = gradtape_run("--json", "script.py", cwd=tmp_path)
    *shown, data = result.stderr.splitlines()
    assert result.stdout == "hook AttributeError\n"
    assert [line.split(", ")[1] for line in shown if "File " in line] == ["line 10", "line 9"]
    assert shown[-1].startswith("AttributeError: gradtape has no tf.nn.reluu. Near it: tf.nn.relu")
    described = json.loads(data)
    assert described["exit"] == 1 and described["report"] is None
    assert described["error"]["line"] == 9 and described["error"]["file"] == str(tmp_path / "script.py")


def test_filtering_of_tracebacks_can_be_switched_off(tmp_path):
    source = "import tensorflow as tf\ntf.debugging.disable_traceback_filtering()\ntf.matmul([1.0], [2.0])"
    write(tmp_path / "script.py", source)
    result = gradtape_run("script.py", cwd=tmp_path)
    frames = [line for line in result.stderr.splitlines() if "File " in line]
    assert len(frames) > 1 and "script.py" in frames[0] and "gradtape" in frames[-1]


def test_an_own_tensorflow_py_wins_with_a_warning(tmp_path):
    write(tmp_path / "tensorflow.py", "mine = 3")
    write(tmp_path / "script.py", "import tensorflow as tf\nprint(tf.mine)")
    result = gradtape_run(tmp_path / "script.py", cwd="/")
    assert (result.stdout, result.returncode) == ("3\n", 0)
    assert "tensorflow.py is what `import tensorflow` gives here, not gradtape" in result.stderr


def test_an_installed_tensorflow_is_not_touched(tmp_path):
    write(tmp_path / "site" / "tensorflow" / "__init__.py", "raise SystemExit('TensorFlow itself')")
    write(tmp_path / "script.py", TRAINING)
    path = os.pathsep.join([str(tmp_path / "site"), SOURCE])
    result = gradtape_run("script.py", cwd=tmp_path, env={"PYTHONPATH": path})
    assert (result.stdout, result.stderr) == ("2.4\n", "")


# ---------------------------------------------------------------------------------------------------------------------
# Notebooks

CELLS = (
    "%matplotlib inline\n!pip install \\\n  tensorflow\nimport tensorflow as tf",
    "%time x = tf.constant([1.0, 2.0])\nx * 2",
    "%%bash\nrm -rf everything",
    "%%time\ndef f():\n    return tf.Session()\ntf.reduce_sum(x);",
    "tf.reduce_sum?\n100 \\\n % 7",
    "import os\nprint(os.path.basename(os.getcwd()))\nf()",
)


def test_a_notebook_runs_its_cells(tmp_path):
    (tmp_path / "notes").mkdir()
    notebook(tmp_path / "notes" / "book.ipynb", *CELLS)
    result = gradtape_run("notes/book.ipynb", cwd=tmp_path)
    assert result.stdout.splitlines() == [
        "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 4.], dtype=float32)>",
        "2",
        "notes",
    ]
    errors = result.stderr.splitlines()
    assert errors[0] == "gradtape run: left out, book.ipynb:cell 1:2: !pip install \\"
    assert errors[1] == "gradtape run: left out, book.ipynb:cell 3:1: %%bash"
    assert f'  File "{tmp_path / "notes" / "book.ipynb"}:cell 6", line 3, in <module>' in errors
    assert "    return tf.Session()" in errors
    assert errors[-1].startswith("AttributeError: gradtape has no tf.Session: there are no sessions")
    assert result.returncode == 1


@pytest.mark.parametrize(
    ("source", "python", "left_out"),
    [
        ("x = 1", "x = 1", []),
        ("%pip install x", "pass", [(1, "%pip install x")]),
        ("if x:\n    !ls\ny = 1", "if x:\n    pass\ny = 1", [(2, "!ls")]),
        ("?len", "pass", []),
        ("%prun f(1)", "f(1)", []),
        ("%%capture\nf(1)", "pass\nf(1)", []),
        ("%%html\n<b>", "pass\n", [(1, "%%html")]),
        ("x = (1\n% 2)", "x = (1\n% 2)", []),
        ('"""\n!ls\n"""', '"""\n!ls\n"""', []),
        ("x = = 1", "x = = 1", []),
    ],
)
def test_what_is_ipython_s_alone_is_left_out(source, python, left_out):
    cell = notebooks.python_of(source)
    assert (cell.source, cell.left_out) == (python, left_out)


def test_a_line_that_only_ipython_can_run_raises_when_it_is_reached():
    with pytest.raises(NotImplementedError, match="files = !ls"):
        exec(notebooks.python_of("files = !ls").source)


# ---------------------------------------------------------------------------------------------------------------------
# The command line itself


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"),
    [
        (["--version"], 0, f"gradtape {gradtape.__version__}\n", ""),
        (["--help"], 0, "list the names a script uses that gradtape does not have", ""),
        ([], 0, "usage: gradtape", ""),
        (["run", "--help"], 0, "Arguments, exit code, tracebacks and working directory", ""),
        (["check", "--help"], 0, "Exit code: 0 if nothing is missing", ""),
        (["run"], 2, "", "name a script, a notebook, -m module or -c code to run"),
        (["run", "-m"], 2, "", "name a script"),
        (["run", "--explane", "x.py"], 2, "", "unrecognized arguments: --explane"),
        (["check"], 2, "", "the following arguments are required: path"),
        (["nonsense"], 2, "", "invalid choice: 'nonsense'"),
        (["run", "absent.py"], 2, "", "gradtape run: can't open absent.py: No such file or directory\n"),
        (["run", "."], 2, "", "gradtape run: can't open .: Is a directory\n"),
        (
            ["run", "picture.py"],
            2,
            "",
            "gradtape run: picture.py is not a Python script: it contains null bytes\n",
        ),
        (["run", "picture.ipynb"], 2, "", "is not a notebook of Jupyter's format 4\n"),
        (["run", "r.ipynb"], 2, "", "is a notebook in R, not in Python\n"),
        (["run", "absent.ipynb"], 2, "", "can't open absent.ipynb"),
        (["check", "absent.py"], 2, "", "gradtape check: can't open absent.py: No such file or directory\n"),
        (["check", "picture.py"], 2, "", "gradtape check: picture.py: not Python: "),
        (["check", "r.ipynb"], 2, "", "is a notebook in R, not in Python\n"),
    ],
)
def test_the_command_line(tmp_path, monkeypatch, capsys, arguments, code, out, err):
    (tmp_path / "picture.py").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "picture.ipynb").write_bytes(b"\x89PNG\0\0")
    notebook(tmp_path / "r.ipynb", language="R")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    printed = capsys.readouterr()
    assert end.value.code == code
    assert out in printed.out and err in printed.err
    assert "Traceback" not in printed.err


def test_code_and_modules_from_the_command_line(tmp_path):
    result = gradtape_run(
        "-c", "import sys, tensorflow as tf; print(sys.argv, int(tf.abs(-1)))", "x", cwd=tmp_path
    )
    assert (result.stdout, result.stderr) == ("['-c', 'x'] 1\n", "")
    result = gradtape_run("-m", "absent.module", cwd=tmp_path)
    assert (result.stderr, result.returncode) == ("gradtape run: no module named absent.module\n", 1)


DRIVER = """
    import contextlib, sys, types
    fake = types.ModuleType("gradtape.explain")
    class Session(contextlib.AbstractContextManager):
        def __init__(self, **asked): self.asked = asked
        def __exit__(self, *error): return None
        def report(self, error):
            return types.SimpleNamespace(text=f"report: {type(error).__name__}", json=self.asked, page=None)
    fake.session = Session
    sys.modules["gradtape.explain"] = fake
    from gradtape.command.cli import main
    main(["run", *sys.argv[1:]])
"""


@pytest.mark.parametrize(
    ("source", "options", "last_line", "code"),
    [
        ("None.shape", ["--explain"], "report: AttributeError", 1),
        ("import sys\nsys.exit(3)", ["--nan"], "report: SystemExit", 3),
        ("", ["--profile", "--json"],
         '{"exit": 0, "error": null, "report": {"explain": false, "nan": false, "profile": true, "view": false}}', 0),
    ],
)  # fmt: skip
def test_reports_follow_the_end_of_the_script(tmp_path, source, options, last_line, code):
    write(tmp_path / "driver.py", DRIVER)
    write(tmp_path / "script.py", source)
    result = command("driver.py", *options, "script.py", cwd=tmp_path)
    assert result.stderr.splitlines()[-1] == last_line
    assert result.returncode == code


# ---------------------------------------------------------------------------------------------------------------------
# gradtape check

CHECKED = [
    ("import tensorflow as tf\ntf.math.log(1.0)\ntf.log(1.0)", ["3 log"]),
    ("import tensorflow\ntensorflow.log", ["2 log"]),
    ("import gradtape as tf\ntf.log", ["2 log"]),
    ("import tensorflow.compat.v1 as tf1\ntf1.log\ntf1.Session()", ["3 compat.v1.Session"]),
    ("from tensorflow import math as m\nm.log\nm.nonsense", ["3 math.nonsense"]),
    ("from tensorflow import placeholder, float32", ["1 placeholder"]),
    ("from tensorflow.python.eager.backprop import GradientTape, Nonsense",
     ["1 python.eager.backprop.Nonsense"]),
    ("import tensorflow.lite", ["1 lite"]),
    ("import tensorflow.lite as lite\nlite.Interpreter", ["1 lite", "2 lite.Interpreter"]),
    ("import tensorflow as tf\nK = tf.keras\nK.optimizers.SGD\nK.layers.Dens(1)", ["4 keras.layers.Dens"]),
    ("import tensorflow as tf\nL = tf.keras.layers\nL.Dense\nL.Dens", ["4 keras.layers.Dens"]),
    ("import tensorflow as tf\ntf.float32.max\ntf.Variable.assign\ntf.Variable.nonsense", ["4 Variable.nonsense"]),
    ("import tensorflow as tf\ntf.constant(1.0).nonsense\ntf.__version__", []),
    ("def f():\n    return tf.log(1)\nimport tensorflow as tf", ["2 log"]),
    ("import tensorflow as tf\ndef f(tf):\n    tf.log\nlambda tf: tf.log", []),
    ("import tensorflow as tf\ndef f(x=tf.log) -> tf.placeholder:\n    pass", ["2 log", "2 placeholder"]),
    ("import tensorflow as tf\n[tf.log for tf in []]\ntf.log", ["3 log"]),
    ("import tensorflow as tf\nclass C:\n    x = tf.log\n    def f(self):\n        tf.log1p", ["3 log", "5 log1p"]),
    ("import tensorflow as tf\ntf = 1\ntf.log", []),
    ("try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\ntf.log", ["5 log"]),
    ("import tensorflow as tf\ntry:\n    tf.log\nexcept AttributeError:\n    tf.lgamma", ["5 lgamma"]),
    ("try:\n    from tensorflow.keras import layers\nexcept ImportError:\n    layers = None", []),
    ("import tensorflow as tf\n@tf.nonsense\ndef f(): pass\nf'{tf.log}'", ["2 nonsense", "4 log"]),
    ("import tensorflow as tf\ntf.log; tf.log", ["2 log"]),
    ("from tensorflow import *\nmath.nonsense\nreduce_sum", ["2 math.nonsense"]),
    ("import tensorflow_datasets as tfds", ["1 tensorflow_datasets"]),
    ("from . import tensorflow as tf\nfrom mine import tf as t\ntf.log", []),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), CHECKED)
def test_check_finds_what_is_missing(tmp_path, source, expected):
    script = write(tmp_path / "script.py", source)
    assert [f"{m.line} {m.name}" for m in checking.check_file(str(script)).missing] == expected


def test_check_prints_lines_and_hints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "code" / "good.py", "import tensorflow as tf\ntf.math.log")
    write(tmp_path / "code" / "bad.py", "import tensorflow as tf\ntf.log\nraise SystemExit('it was run')")
    write(tmp_path / "code" / ".hidden" / "x.py", "import tensorflow as tf\ntf.log")
    write(tmp_path / "code" / "env" / "pyvenv.cfg", "")
    write(tmp_path / "code" / "env" / "x.py", "import tensorflow as tf\ntf.log")
    notebook(
        tmp_path / "code" / "book.ipynb", "%matplotlib inline\nimport tensorflow as tf", "\ntf.Session()"
    )
    assert checking.check(["code/good.py"]) == 0
    assert capsys.readouterr().out == "nothing missing: 1 name of TensorFlow in 1 file\n"
    assert checking.check(["code"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "code/bad.py:2: tf.log: it is tf.math.log",
        "code/book.ipynb:cell 2:2: tf.Session: there are no sessions: an operation runs at once, "
        "and .numpy() gives its value",
        "2 uses of names that gradtape does not have, in 3 files",
    ]
    write(tmp_path / "code" / "broken.py", "x = = 1")
    assert checking.check(["code", "absent.py"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert errors == [
        "gradtape check: code/broken.py:1: not Python: invalid syntax",
        "gradtape check: can't open absent.py: No such file or directory",
    ]


def test_check_for_machines(tmp_path):
    write(tmp_path / "script.py", "import tensorflow as tf\ntf.log")
    result = command("-m", "gradtape", "check", "--json", "script.py", "absent.py", cwd=tmp_path)
    report = json.loads(result.stdout)
    assert result.returncode == 2 and report["missing"] == 1
    assert report["files"][0]["missing"] == [
        {"line": 2, "cell": None, "name": "log", "hint": "it is tf.math.log"}
    ]
    assert report["files"][1]["unreadable"] == "can't open absent.py: No such file or directory"


def test_what_check_says_is_what_run_meets(tmp_path):
    """A name is missing for `check` exactly if the script stops at it."""
    for source, expected in [(s, e) for s, e in CHECKED if "\n" in s and "try" not in s][:4]:
        script = write(tmp_path / "script.py", source)
        result = gradtape_run("script.py", cwd=tmp_path)
        line, name = expected[0].split()
        assert f'{script}", line {line}' in result.stderr and name in result.stderr
