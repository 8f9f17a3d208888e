"""The layout of a picture: layers from top to bottom, few crossings, boxes near those they are joined with.

Layered drawing after Sugiyama: long edges get a bend in every layer they cross; layers are ordered by the average place
of their neighbours; then each layer is moved as near to its neighbours as it can be without boxes overlapping.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

GAP = 18.0  # between boxes
STEP = 66.0  # between layers


@dataclass(slots=True)
class Spot:
    """A box, or a bend of a line (of width 0)."""

    width: float
    layer: int
    x: float = 0.0
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)

    @property
    def y(self) -> float:
        return STEP * self.layer


def place(
    widths: list[float], edges: list[tuple[int, int]], floating: set[int]
) -> tuple[list[Spot], dict[tuple[int, int], list[int]]]:
    """Spots for boxes, and for each edge those it runs through. Boxes in `floating` go just above what they feed."""
    layers = _layers(len(widths), edges, floating)
    spots = [Spot(width, layer) for width, layer in zip(widths, layers, strict=True)]
    routes: dict[tuple[int, int], list[int]] = {}
    for a, b in edges:
        route = [a]
        for layer in range(layers[a] + 1, layers[b]):
            spots.append(Spot(6.0, layer))
            route.append(len(spots) - 1)
        route.append(b)
        for up, down in pairwise(route):
            spots[up].below.append(down)
            spots[down].above.append(up)
        routes[a, b] = route
    rows = defaultdict(list)
    for i, spot in enumerate(spots):
        rows[spot.layer].append(i)
    ordered = [rows[layer] for layer in sorted(rows)]
    _order(spots, ordered)
    _straighten(spots, ordered)
    return spots, routes


def _layers(count: int, edges: list[tuple[int, int]], floating: set[int]) -> list[int]:
    """The longest way from the top; edges lead from lower to higher numbers, or from floating boxes."""
    layers = [0] * count
    for a, b in sorted(edges, key=lambda edge: edge[1]):
        if a not in floating:
            layers[b] = max(layers[b], layers[a] + 1)
        else:
            layers[b] = max(layers[b], 1)
    changed = True
    while changed:  # a box pushed down by a floating one may push others
        changed = False
        for a, b in edges:
            if a not in floating and layers[b] <= layers[a]:
                layers[b] = layers[a] + 1
                changed = True
    for a in floating:
        fed = [layers[b] for up, b in edges if up == a]
        layers[a] = min(fed) - 1 if fed else 0
    return layers


def _order(spots: list[Spot], rows: list[list[int]]) -> None:
    for row in rows:
        for i, spot in enumerate(row):
            spots[spot].x = float(i)
    for round_ in range(8):
        downward = round_ % 2 == 0
        for row in rows if downward else reversed(rows):
            wanted = {}
            for i in row:
                near = spots[i].above if downward else spots[i].below
                wanted[i] = sum(spots[k].x for k in near) / len(near) if near else spots[i].x
            row.sort(key=lambda i: (wanted[i], i))
            for position, i in enumerate(row):
                spots[i].x = float(position)


def _straighten(spots: list[Spot], rows: list[list[int]]) -> None:
    for row in rows:
        x = 0.0
        for i in row:
            spots[i].x = x + spots[i].width / 2
            x += spots[i].width + GAP
    for round_ in range(12):
        downward = round_ % 2 == 0
        for row in rows if downward else reversed(rows):
            wanted = []
            for i in row:
                near = (spots[i].above if downward else spots[i].below) or [*spots[i].above, *spots[i].below]
                wanted.append(sum(spots[k].x for k in near) / len(near) if near else spots[i].x)
            for i, x in zip(row, _apart([spots[i].width for i in row], wanted), strict=True):
                spots[i].x = x
    left = min((spot.x - spot.width / 2 for spot in spots), default=0.0)
    for spot in spots:
        spot.x -= left


def _apart(widths: list[float], wanted: list[float]) -> list[float]:
    """The places nearest to those wanted (least squares) at which boxes, in this order, do not overlap."""
    offsets, offset = [], 0.0
    for i, width in enumerate(widths):
        offset += (widths[i - 1] + width) / 2 + GAP if i else 0.0
        offsets.append(offset)
    # Without the offsets, places must not decrease: neighbours that would are pooled at their mean.
    pools: list[list[float]] = []  # sum, count
    for x, offset in zip(wanted, offsets, strict=True):
        pools.append([x - offset, 1.0])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += count
    flat = [total / count for total, count in pools for _ in range(int(count))]
    return [x + offset for x, offset in zip(flat, offsets, strict=True)]
