"""The page as a person uses it, in a browser: `make test-page`."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradtape.explain.page import Page

from . import page_programs as programs

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
PROGRAMS = ("network", "used_twice", "second_order", "roots", "compiled", "hostile")
OTHERS = ("marked", "large")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """For each program: its page, and the gradients that the tape gave."""
    folder = tmp_path_factory.mktemp("pages")
    names = (*PROGRAMS, *OTHERS)
    return {
        name: (folder / f"{name}.html", getattr(programs, name)(folder / f"{name}.html")) for name in names
    }


@pytest.fixture
def seen(browser, pages):
    """A function that opens the page of a program."""
    return lambda name, **screen: browser.open(pages[name][0], **screen)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "second_order"])
def test_gradients_on_the_page_are_those_of_the_tape(name, seen, pages):
    page = seen(name)
    for i, gradient in enumerate(pages[name][1]):
        if gradient is None:
            assert "None" in page.text(f'[data-source="{i}"]')
            continue
        page.click(f'[data-source="{i}"]')
        found = np.array(page.numbers('[data-view="Gradient"]'), np.float32)
        np.testing.assert_array_equal(found, gradient.numpy().ravel())
        page.press("Escape")


def test_the_jacobian_is_a_heat_map_with_axes(seen, pages):
    page = seen("second_order")
    page.press("Escape")
    found = np.array(page.numbers('[data-jacobian="x"]'), np.float32)
    np.testing.assert_allclose(found, pages["second_order"][1][0].numpy().ravel(), rtol=1e-6)
    labels = [label.text for label in page.all('[data-jacobian="x"] text')]
    assert {"g[0]", "g[1]", "x[0]", "x[1]"} <= set(labels)


# ---------------------------------------------------------------------------------------------------------------------
# Stepping


def test_keys_step_through_the_sweep_and_contributions_add_up(seen):
    page = seen("used_twice")
    page.press("Right")
    assert page.text(".step-label") == "step 0 of 3"
    assert "begins" in page.text(".details h2")
    page.press("Right", 2)
    assert "tanh" in page.text(".details h2")
    assert page.text(".formula") == "d tanh(x) = (1 - tanh(x)²) dx"
    slope = 1 - np.tanh(3.0) ** 2
    assert page.numbers('[data-view="in0"]') == [1.0]
    assert page.numbers('[data-view="out0"]') == pytest.approx([slope], rel=1e-4)
    page.press("Right")
    assert "multiply" in page.text(".details h2")
    assert page.numbers('[data-view="sum1"]') == pytest.approx([6 + slope], rel=1e-5)
    assert "contribution 3 of 3" in page.text(".details")
    page.press("Right")  # stays at the end
    assert page.text(".step-label") == "step 3 of 3"
    page.press("Left", 3)
    assert page.text(".step-label") == "step 0 of 3"
    page.press("End")
    assert page.text(".step-label") == "step 3 of 3"
    page.press("Escape")
    assert "Gradient of y" in page.text(".details h2")


def test_buttons_and_the_slider_do_the_same(seen):
    page = seen("network")
    page.click('[data-button="forward"]')
    page.click('[data-button="forward"]')
    assert page.text(".step-label").startswith("step 1 of ")
    assert len(page.all(".box.current")) == 1
    assert page.all(".line.flowing")
    assert page.all(".box.later")
    page.click('[data-button="last"]')
    total = page.run("document.querySelector('input[type=range]').max")
    assert page.text(".step-label") == f"step {total} of {total}"
    page.click('[data-button="back"]')
    assert page.text(".step-label") == f"step {int(total) - 1} of {total}"
    page.click('[data-button="first"]')
    assert page.text(".step-label") == f"step 0 of {total}"
    page.run(
        "(s => { s.value = 3; s.dispatchEvent(new Event('input')) })(document.querySelector('input[type=range]'))"
    )
    assert page.text(".step-label") == f"step 3 of {total}"


# ---------------------------------------------------------------------------------------------------------------------
# Source and graph


def line_with(page, text):
    return next(line for line in page.all(".code li.computes") if text in line.text)


def test_a_line_shows_its_operations_and_an_operation_its_line(seen):
    page = seen("network")
    line_with(page, "error * error").click()
    lit = [box.get_attribute("aria-label") for box in page.all(".box.lit")]
    assert sorted(label.split()[0] for label in lit) == ["add", "multiply", "multiply", "reduce_mean"]
    page.click(".box.cut")
    assert "stop_gradient" in page.text(".code li.lit")
    assert "stop_gradient" in page.text(".details h2")


def test_a_broken_path_is_red_with_its_reason(seen):
    page = seen("network")
    assert len(page.all(".line.broken")) == 1
    page.click(".box.cut")
    assert "cut by stop_gradient" in page.text(".details .alert")
    assert "unused" in page.text(".sources .broken")
    page.click(".sources .broken")
    assert "take it off the sources" in page.text(".details .alert")


def test_groups_open_and_close_by_click_and_key(seen):
    page = seen("network")
    before = len(page.all(".box"))
    page.click(".cluster-title")
    closed = page.one(".box.closed")
    assert "layer" in closed.text and len(page.all(".box")) < before
    page.run("document.querySelector('.box.closed').focus()")
    page.press("Enter")
    assert len(page.all(".box")) == before


def test_constants_can_be_hidden(seen):
    page = seen("network")
    assert page.all(".box.constant")
    page.click("#constants")
    assert not page.all(".box.constant")


def test_nested_tapes_are_layers_to_switch_between(seen):
    page = seen("second_order")
    everything = len(page.all(".box:not(.source):not(.constant)"))
    page.click('[data-button="layer computation"]')
    forward = len(page.all(".box:not(.source):not(.constant)"))
    page.click('[data-button="layer gradient by inner"]')
    backward = len(page.all(".box:not(.source):not(.constant)"))
    assert 0 < forward < everything and 0 < backward < everything
    assert page.one('[data-button="layer gradient by inner"]').get_attribute("aria-pressed") == "true"


def test_what_is_not_finite_is_marked_where_it_begins(seen):
    page = seen("roots")
    assert "becomes Inf" in page.text(".details .alert")
    page.click(".details .alert .link")
    assert "sqrt" in page.text(".details h2")
    assert "infinite" in page.text(".details .alert")
    assert [badge.text for badge in page.all(".badge")] == ["∞"]


def test_gradients_that_explode_or_vanish_are_marked_where_they_begin(seen):
    page = seen("marked")
    assert {badge.text for badge in page.all(".badge")} == {"▲", "▼"}
    explodes, vanishes = sorted(alert.text for alert in page.all(".details .alert"))
    assert "explodes" in explodes and "multiply [2]" in explodes
    assert "vanishes" in vanishes and "multiply =" in vanishes


def test_values_have_pictures_and_statistics(seen):
    """A heat map for a matrix, a histogram for a large one, a number for a scalar; value and gradient side by side."""
    page = seen("network")
    page.click('[data-source="0"]')
    value, gradient = page.all(".beside .value")
    assert value.location["y"] == gradient.location["y"] and value.location["x"] < gradient.location["x"]
    for part in ("float32 [3, 12]", "min ", "max ", "mean ", "NaN 0", "inf 0"):
        assert part in value.text
    assert len(page.all(".box.source .thumb.value")) == 3  # scalars have none
    page = seen("marked")
    page.click('[data-source="1"]')
    assert page.all(".beside .histogram") and page.all(".beside .heat")


def test_the_graph_can_be_made_larger_and_smaller(seen):
    page = seen("network")
    width = "document.querySelector('.graph').getBoundingClientRect().width"
    first = page.run(width)
    page.click('[data-button="larger"]')
    larger = page.run(width)
    page.press("-", 2)
    smaller = page.run(width)
    assert smaller < first < larger
    page.click('[data-button="fit"]')
    area = "document.querySelector('.area').getBoundingClientRect()"
    assert page.run(f"{width} <= {area}.width")


def test_a_compiled_function_is_opened(seen):
    page = seen("compiled")
    page.click(".box.op")
    assert "Tanh" in page.text(".inside").title()
    assert "one program" in page.text(".inside")


# ---------------------------------------------------------------------------------------------------------------------
# Safety, size, screens


def test_texts_are_texts(seen):
    page = seen("hostile")
    assert page.run("document.title").startswith("page_programs.py")
    assert page.run("document.querySelectorAll('img').length") == 0
    assert (
        page.run("performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length")
        == 0
    )
    assert "<script>" in page.text(".code")


DRAWN = 1000  # elements of the document, of 10,000 operations: so it opens and scrolls quickly
OPENED = "performance.getEntriesByType('navigation')[0].domComplete"
FRAME = """
    const done = arguments[0], area = document.querySelector('.area'), gaps = [];
    let last = performance.now(), n = 0;
    const frame = now => { gaps.push(now - last); last = now; area.scrollTop += 60;
        if (++n < 40) requestAnimationFrame(frame); else done(gaps.slice(5).sort((a, b) => a - b)[17]); };
    requestAnimationFrame(frame);"""


def test_ten_thousand_operations_open_at_once(seen, pages):
    page = seen("large")
    assert pages["large"][0].stat().st_size < 5_000_000
    assert "10,001 operations" in page.text(".details")
    assert page.run("document.querySelectorAll('*').length") < DRAWN
    page.click(".box.closed")
    assert page.run("document.querySelectorAll('*').length") < DRAWN
    print(f"opened in {page.run(OPENED):.0f} ms; a frame while scrolling takes {page.later(FRAME):.0f} ms")
    page.press("End")
    assert page.text(".step-label") == "step 10,001 of 10,001"
    page.click('[data-source="0"]')
    np.testing.assert_array_equal(
        np.array(page.numbers('[data-view="Gradient"]'), np.float32), pages["large"][1][0].numpy().ravel()
    )


SCREENS = {
    "light": {},
    "dark": {"dark": True},
    "phone": {"size": (390, 844)},
    "zoom": {"zoom": 2.0},
}


@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_fits_every_screen(screen, seen):
    page = seen("network", **SCREENS[screen])
    assert page.run("document.documentElement.scrollWidth <= window.innerWidth")
    narrow = screen in ("phone", "zoom")
    assert page.one(".tabs").is_displayed() == narrow
    for tab, panel in (("source", ".code"), ("details", ".details"), ("graph", ".graph")):
        if narrow:
            page.click(f'.tabs [data-tab="{tab}"]')
        assert page.one(panel).is_displayed()
    page.press("Right", 4)
    smallest = page.run(
        "Math.min(...[...document.querySelectorAll('button')].map(b => b.offsetHeight || 99))"
    )
    assert smallest >= 17
    PICTURES.mkdir(exist_ok=True)
    page.driver.save_screenshot(str(PICTURES / f"page_{screen}.png"))


# For each visible element with a text of its own: its contrast with what is behind it, by WCAG's formula.
CONTRASTS = """(() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const rgb = c => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data]; };
    const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    const light = c => [.2126, .7152, .0722].reduce((sum, w, i) => sum + w * linear(c[i] / 255), 0);
    const behind = e => {
        if (e.tagName === 'text') {
            const group = e.closest('.badge, .cluster-title, .box');
            const rect = group ? group.querySelector('rect:not(.shadow)')
                : e.getAttribute('text-anchor') === 'middle' ? e.previousElementSibling : null;  // a heat map's cell
            if (rect) return rgb(getComputedStyle(rect).fill);
        }
        for (let at = e; at; at = at.parentElement) {
            const back = rgb(getComputedStyle(at).backgroundColor);
            if (back[3]) return back;
        }
        return [255, 255, 255, 255];
    };
    const found = [];
    for (const e of document.querySelectorAll('#page *')) {
        const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('').trim();
        if (!text || !e.getClientRects().length || e.closest('title, dialog:not([open])')) continue;
        const style = getComputedStyle(e), back = behind(e);
        let shown = 1;
        for (let at = e; at; at = at.parentElement) shown *= Number(getComputedStyle(at).opacity);
        const full = rgb(e.tagName === 'text' ? style.fill : style.color);
        const ink = full.map((c, i) => c * shown + back[i] * (1 - shown));
        const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
        found.push([(a + .05) / (b + .05), `${text.slice(0, 40)} (${e.tagName} ${e.getAttribute('class') ?? ''})`]);
    }
    return found;
})()"""


@pytest.mark.parametrize("name", ["network", "roots", "second_order"])
@pytest.mark.parametrize("dark", [False, True])
def test_texts_can_be_read(dark, name, seen):
    """The contrast of every text with what is behind it is at least 4.5: before, inside and at the end of a sweep."""
    page = seen(name, dark=dark)
    for keys in ([], ["Right"] * 3, ["End"], ["Escape"]):
        for key in keys:
            page.press(key)
        found = page.run(CONTRASTS)
        assert len(found) > 20
        assert [(round(by, 2), what) for by, what in found if by < 4.5] == [], keys
    page.click('[data-source="0"]')
    assert [(round(by, 2), what) for by, what in page.run(CONTRASTS) if by < 4.5] == []


def test_kinds_of_boxes_and_lines_differ_by_more_than_colour(seen):
    page = seen("network")
    signs = (
        "(e => { const s = getComputedStyle(e);"
        " return [e.getAttribute('rx'), s.strokeDasharray, s.strokeWidth].join(); })"
    )
    kinds = ("source", "op", "target", "cut")
    boxes = [page.run(f"{signs}(document.querySelector('.box.{kind} .body'))") for kind in kinds]
    assert len(set(boxes)) == len(kinds), boxes
    assert page.run("document.querySelector('.box.cut .badge').textContent") == "✕"
    plain, broken = (
        page.run(f"{signs}(document.querySelector('.line{kind}'))") for kind in (":not(.broken)", ".broken")
    )
    assert plain.split(",")[1] == "none" != broken.split(",")[1]
    page = seen("roots")
    assert "none" not in page.run(f"{signs}(document.querySelector('.line.bad'))")


def test_everything_can_be_reached_by_key(seen):
    page = seen("used_twice")
    reached = set()
    for _ in range(40):
        page.press("Tab")
        reached.add(
            page.run("document.activeElement.dataset.button || document.activeElement.dataset.node || ''")
        )
    assert {"forward", "back", "theme", "help", "0"} <= reached
    page.press("?")
    assert page.one("dialog").is_displayed()
    page.press("Escape")
    assert not page.one("dialog").is_displayed()
    page.press("d")
    assert page.run("document.documentElement.dataset.theme") == "dark"


# ---------------------------------------------------------------------------------------------------------------------
# A whole program

TRAIN = """
import tensorflow as tf
x = tf.constant([[0.0], [1.0], [2.0]])
y = 3.0 * x + 1.0
w, b = tf.Variable([[0.1]]), tf.Variable([0.0])
@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w + b - y) ** 2)
    grads = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * grads[0])
    b.assign_sub(0.1 * grads[1])
    print(*[float(g) for g in tf.nest.map_structure(tf.squeeze, grads)])
for _ in range(12):
    step()
"""


def test_every_tape_of_a_program(browser, tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-m", "gradtape", "run", "--view", "--out", "train.html", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    printed = [[float(x) for x in line.split()] for line in done.stdout.splitlines()]
    page = browser.open(tmp_path / "train.html")
    assert len(page.all("[data-tape]")) == 12
    for number in (0, 7):
        page.click(f'[data-tape="{number}"]')
        for source in (0, 1):
            page.click(f'[data-source="{source}"]')
            assert page.numbers('[data-view="Gradient"]') == pytest.approx(
                [printed[number][source]], rel=1e-6
            )


# ---------------------------------------------------------------------------------------------------------------------
# A notebook


def test_the_page_in_place(browser, pages, tmp_path):
    """A cell's output is a frame that needs nothing else."""
    text = pages["used_twice"][0].read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    page = Page(json.loads(data[1]))
    (tmp_path / "cell.html").write_text(f"<!doctype html><body>{page._repr_html_()}", encoding="utf-8")
    browser.open(tmp_path / "cell.html")
    check_frame(browser)


def test_a_notebook_that_runs(browser, tmp_path):
    """With Jupyter's kernel, where it is installed: a page is shown in place, once, with lines."""
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat, nbclient and ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="needs nbformat, nbclient and ipykernel")
    pytest.importorskip("ipykernel", reason="needs nbformat, nbclient and ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    first, second = ([output.data for output in cell.outputs if "data" in output] for cell in notebook.cells)
    assert [data.get("text/html", "")[:7] for data in first] == [
        "<iframe",
        "",
    ]  # the second: its repr, as the value
    assert [data.get("text/html", "")[:7] for data in second] == ["<iframe"]
    assert "Cell In[1]" in first[0]["text/html"]
    (tmp_path / "cell.html").write_text(f"<!doctype html><body>{first[0]['text/html']}", encoding="utf-8")
    browser.open(tmp_path / "cell.html")
    check_frame(browser)


CELLS = [
    "import gradtape as tf\nx = tf.Variable(3.0)\nwith tf.GradientTape() as tape:\n    y = x * x + tf.tanh(x)\n"
    "tape.show(y, x)",
    "with tf.GradientTape() as tape:\n    y = x * x\ntape.show(y, x)\nx = None",
]


def check_frame(browser):
    """Use the page inside of the frame of a cell."""
    browser.driver.switch_to.frame(browser.one("iframe"))
    try:
        assert len(browser.all(".box.op, .box.target")) == 3
        assert "tanh" in browser.text(".code li.computes")
        browser.click('[data-button="last"]')
        assert browser.text(".step-label") == "step 3 of 3"
    finally:
        browser.driver.switch_to.default_content()
