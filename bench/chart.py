"""The ratios as a picture: a group of bars for each workload, on one logarithmic axis."""

from pathlib import Path

from report import COLUMNS, Row

COLOURS = ["#e0843a", "#c0392b", "#3b6ea8", "#5c9451", "#8a67ad", "#7a7a7a"]


def draw(rows: list[Row], path: Path) -> str:
    """Write the PNG and say where it is, or why there is none."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "no picture: matplotlib is not installed"

    peers = rows[0].peers
    thickness = 0.8 / len(peers)
    figure = Figure(figsize=(10, 1.4 + 0.2 * len(rows) * (len(peers) + 1)), layout="constrained")
    axes = figure.subplots()
    for place, peer in enumerate(peers):
        ratios = [row.ratio(peer) or 1.0 for row in rows]
        # A bar starts at 1x, where gradtape is: to the right a peer costs more, to the left less.
        bars = axes.barh(
            [line - 0.4 + (place + 0.5) * thickness for line in range(len(rows))],
            [ratio - 1.0 for ratio in ratios],
            height=0.9 * thickness,
            left=1.0,
            color=COLOURS[place % len(COLOURS)],
            label=COLUMNS[peer],
        )
        axes.bar_label(bars, [row.relative_cost(peer) for row in rows], padding=3, fontsize=8)
    axes.axvline(1.0, color="black", linewidth=1.2)
    axes.set_xscale("log")
    axes.margins(x=0.1, y=0.02)
    axes.set_yticks(range(len(rows)), [f"{row.title}\ngradtape: {row.cost()}" for row in rows])
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda ratio, _: f"{ratio:g}x")
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("cost relative to gradtape (right of the line: gradtape is ahead)")
    figure.legend(loc="outside upper center", ncols=len(peers), frameon=False)
    figure.savefig(path, dpi=150)
    return f"written: {path}"
