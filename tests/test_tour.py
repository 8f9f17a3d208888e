"""The tour that `make demo` takes runs to its end, shows the right gradients, and leaves a picture."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread

TOUR = Path(__file__).parents[1] / "examples" / "tour.py"


def take_the_tour(folder, *arguments):
    """What the tour prints, by program: the text from the line `def program():` to the next one."""
    done = subprocess.run(
        [sys.executable, "-W", "error", TOUR, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    _, *stops = re.split(r"^    def (\w+)\(", done.stdout, flags=re.MULTILINE)
    return dict(zip(stops[::2], stops[1::2]))


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tour")
    return take_the_tour(folder), folder


@pytest.mark.parametrize(
    ("program", "results"),
    [
        ("sum_of_a_tensor", "d loss / d x = [[1. 1.] [1. 1.]]"),
        ("mean_of_a_tensor", "d loss / d x = [[0.25 0.25] [0.25 0.25]]"),
        ("one_element", "d loss / d x = [[0. 1.] [0. 0.]]"),
        ("element_of_a_constant", "d x[1, 2] / d x = [[0. 0. 0.] [0. 0. 1.] [0. 0. 0.]]"),
        ("element_of_a_product", "d z[0, 0] / d x = [[5. 7.] [0. 0.]]"),
        ("product_of_matrices", "d result / d matrix = [[11. 15.] [11. 15.]]"),
        ("square_of_each_element", "d result / d matrix = [[2. 4.] [6. 8.]]"),
        ("matrix_times_its_own_sums", "d result / d matrix = [[ 8. 12.] [ 8. 12.]]"),
        ("scalar_times_tensor", "d output / d s = 10.0 d output / d t = [[2. 2.] [2. 2.]]"),
        ("gradient_descent", "s, ten steps from 2.0 = 2.0 s, ten steps from 1.0 = 1.9998"),
        ("linear_regression", "d loss / d w = 0.0 d loss / d b = 0.0"),
        ("result_in_between", "d z / d x = 5.0 d z / d y = 1.0"),
        ("watched_constant", "d y / d x = 4.0"),
        ("no_gradient", "d y / d x = 12.0 d y / d unused = None d y / d constant = None"),
        ("second_derivative", "first = 27.0 second = 18.0"),
        ("jacobian", "d y[i] / d x[j] = [[3. 2.] [1. 1.] [4. 0.]]"),
    ],
)
def test_a_program_of_the_tour_shows_its_gradient(tour, program, results):
    shown, _ = tour
    assert results in " ".join(shown[program].split())


def test_the_tour_ends_with_a_picture(tour):
    shown, folder = tour
    assert shown.popitem()[1].endswith("The picture is in tour.png\n")
    assert imread(folder / "tour.png").std() > 0.1


def test_the_picture_goes_where_it_is_told(tmp_path):
    take_the_tour(tmp_path, "--out", "elsewhere.png")
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere.png"]
