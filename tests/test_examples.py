"""The programs of examples/ run, in a shortened form, find what they should, and leave a picture."""

import importlib.util
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "tour")


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(tmp_path, capsys):
    """Runs an example's main; checks that it leaves a picture and says where."""

    def run_example(name, **options):
        out = tmp_path / f"{name}.png"
        result = example(name).main(out=out, **options)
        assert imread(out).std() > 0.1
        assert capsys.readouterr().out.endswith(f"The picture is in {out}\n")
        return result

    return run_example


def test_regression_finds_the_line(run):
    paths, best = run("regression", steps=150)
    assert best == pytest.approx([2.0, 1.0], abs=0.1)
    for path in paths.values():
        assert path[-1] == pytest.approx(best, abs=0.02)


def test_fluid_loses_its_divergence_and_keeps_its_whirl(run):
    before, after, apart = run("fluid", size=12, steps=300)
    assert after < 1e-7 * before
    assert apart < 1e-6


def test_an_output_is_moved_by_the_pixels_it_can_see_and_no_others(run):
    receptive_field = example("influence").receptive_field
    overlap, places, maps = run("influence", steps=20)
    assert overlap > 0.3  # all background: 0.28
    for (row, column, _), gradient in zip(places, maps, strict=True):
        rows, columns = np.nonzero(gradient)
        assert (rows.min(), rows.max()) == receptive_field(row)
        assert (columns.min(), columns.max()) == receptive_field(column)


def test_sequences_are_looked_up_by_attention_first(run):
    accuracies, weight = run("sequence", steps=120)
    assert accuracies["attention"] > 0.95 > accuracies["recurrent"] > 0.3
    assert weight > 0.5


def test_digits_are_coded_and_forged(run):
    lost, distance, counts = run("generate", steps=400)
    assert lost < 0.4
    assert distance < 3.0
    assert counts.sum() == 1000


def test_second_order_agrees_with_what_is_known(run):
    apart, product, each, slope = run("second_order", steps=150)
    assert apart < 1e-9
    assert abs(product).max() < 1e-9
    assert abs(each).max() < 1e-12
    assert slope == pytest.approx(1.1, abs=0.05)


def test_digits_are_read(run):
    accuracy, _, losses = run("digits", steps=160)
    assert accuracy > 0.9
    assert losses[-20:].mean() < 0.5 < losses[0]


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras's variables
def test_keras_fits_until_it_gets_no_better(run):
    accuracy, apart, history = run("keras_fit", epochs=6)
    assert accuracy > 0.8
    assert apart < 1e-6
    assert set(history) == {"accuracy", "loss", "val_accuracy", "val_loss"}
    assert history["loss"][-1] < 0.5 * history["loss"][0]


def test_a_network_finds_the_conductivity(run):
    conductivity, worst = run("keras_loop", steps=3000)
    assert conductivity == pytest.approx(0.1, abs=0.02)
    assert worst < 0.2


def checkpoints(folder):
    return [int(path.stem.rpartition("-")[2]) for path in folder.glob("ckpt-*.safetensors")]


def test_digits_killed_and_resumed_end_with_the_same_numbers(run, tmp_path):
    options = {"steps": 60, "every": 2}
    _, whole, losses = run("digits", **options)

    folder = tmp_path / "checkpoints"
    arguments = [
        f"--{key}={value}" for key, value in {**options, "folder": folder, "out": tmp_path / "x.png"}.items()
    ]
    killed = subprocess.Popen([sys.executable, EXAMPLES / "digits.py", *arguments], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while max(checkpoints(folder), default=0) < 5:
        assert killed.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    killed.kill()
    killed.wait()
    assert max(checkpoints(folder)) < 30, "it was at its end when it was killed"

    _, resumed, losses_resumed = run("digits", **options, folder=folder)
    assert resumed == whole
    assert losses_resumed.tolist() == losses.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_every_example_has_its_page_and_its_help(name):
    page = (ROOT / "docs" / "examples" / f"{name}.md").read_text(encoding="utf-8")
    assert f"python examples/{name}.py" in page
    options = set(
        re.findall(r'add_argument\(\s*"(--\w+)"', (EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    )
    assert options >= {"--out"}
    assert all(option in page for option in options)
