"""The colours of the page: marks of different meaning stay apart for the colour-blind, and texts can be read.

Colour vision is simulated by the matrices of Machado, Oliveira and Fernandes (2009) for a missing kind of cone, on
linear RGB; colours are compared by CIEDE2000, in which 1 is a difference that is just seen side by side.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

STYLE = (Path(__file__).parents[2] / "page" / "src" / "style.css").read_text(encoding="utf-8")
VISION = {
    "full": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# Marks that nothing but their colour tells apart: elements of heat maps; boxes that are chosen by a line, or in turn.
BY_COLOUR = [
    ("low", "zero", "high", "nan"),
    ("box", "lit", "current"),
    ("panel", "lit", "current"),
    ("line", "high"),
]
# Texts, and what they stand on.
TEXTS = {
    "ink": "paper panel box source target cut lit current",
    "muted": "paper panel box source target cut lit",
    "accent": "paper panel box",
    "cut-edge": "paper panel box",
    "bad": "paper panel box",
    "paper": "accent cut-edge nan",
}


def palette(theme):
    """The colours by name, as linear RGB."""
    blocks = [re.search(r"^:root \{(.*?)\}", STYLE, re.DOTALL | re.MULTILINE)[1]]
    if theme == "dark":
        blocks.append(re.search(r':root\[data-theme="dark"\] \{(.*?)\}', STYLE, re.DOTALL)[1])
    found = dict(re.findall(r"--([\w-]+): #([0-9a-f]{6})", " ".join(blocks)))
    return {name: linear(np.array(list(bytes.fromhex(code))) / 255) for name, code in found.items()}


def linear(colour):
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def lab(colour):
    """CIE L*a*b* of linear RGB."""
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
    xyz = np.array(to_xyz) @ colour / [0.95047, 1.0, 1.08883]
    x, y, z = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, other):
    """CIEDE2000 of two colours in L*a*b*."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - np.sqrt(mean**7 / (mean**7 + 25**7)))
    c1, c2 = np.hypot(a1 * stretch, b1), np.hypot(a2 * stretch, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a * stretch)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = ((h2 - h1 + 180) % 360 - 180) * (c1 * c2 > 0)
    dl, dc, dh = l2 - l1, c2 - c1, 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    light, chroma, hue = (l1 + l2) / 2, (c1 + c2) / 2, np.radians(h1 + turn / 2)
    t = 1 - 0.17 * np.cos(hue - np.radians(30)) + 0.24 * np.cos(2 * hue)
    t += 0.32 * np.cos(3 * hue + np.radians(6)) - 0.2 * np.cos(4 * hue - np.radians(63))
    dl /= 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    dc /= 1 + 0.045 * chroma
    dh /= 1 + 0.015 * chroma * t
    bend = np.radians(60 * np.exp(-((((np.degrees(hue) % 360) - 275) / 25) ** 2)))
    rotation = -2 * np.sqrt(chroma**7 / (chroma**7 + 25**7)) * np.sin(bend)
    return float(np.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [  # of the test data that Sharma, Wu and Dalal published with their notes on CIEDE2000
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (50.0, 0.0, -2.5), 4.3065),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_measure(one, other, expected):
    assert difference(one, other) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_that_differ_by_colour_stay_apart(theme, vision):
    colours = palette(theme)
    seen = {name: lab(np.clip(np.array(VISION[vision]) @ colour, 0, 1)) for name, colour in colours.items()}
    pairs = [pair for group in BY_COLOUR for pair in itertools.combinations(group, 2)]
    found = {pair: round(difference(seen[pair[0]], seen[pair[1]]), 1) for pair in pairs}
    assert {pair: by for pair, by in found.items() if by < 10} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_have_the_contrast_that_wcag_asks_for(theme):
    light = {name: colour @ [0.2126, 0.7152, 0.0722] for name, colour in palette(theme).items()}
    found = {}
    for text, grounds in TEXTS.items():
        for ground in grounds.split():
            low, high = sorted((light[text], light[ground]))
            found[text, ground] = round((high + 0.05) / (low + 0.05), 2)
    assert {pair: by for pair, by in found.items() if by < 4.5} == {}
