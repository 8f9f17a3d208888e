"""The part of the report of `gradtape run --profile` on hot tapes: what ran hot, what left, and why."""

from __future__ import annotations

from typing import Any

from .report import aligned


def hot_passes(counts: dict[str, Any]) -> str:
    """A table of the places in the code where tapes are entered; nothing if none has been entered often enough.

    Args:
        counts: as `tf.config.experimental.hot_tapes()` gives them.
    """
    if not counts["learned"]:
        return ""
    places = sorted(counts["places"].items(), key=lambda place: -place[1]["passes"])
    rows = [
        [name, *[str(place[column]) for column in ("passes", "learned", "followed", "left")], _why(place)]
        for name, place in places
    ]
    lines = aligned([["tape", "passes", "learned", "hot", "left", "why"], *rows], "<>>>><")
    lines.append(
        f"in all: {counts['followed']} of {counts['passes']} passes ran hot, by {counts['programs']} programs. "
        "Their operations are not timed above; with GRADTAPE_HOT=0 all are"
    )
    return "\n".join(lines)


def _why(place: dict[str, Any]) -> str:
    """The reasons why passes at a place were left, or are not followed."""
    reasons = [f"{reason} ({count}x)" if count > 1 else reason for reason, count in place["reasons"].items()]
    if place["cold"]:
        reasons.append("left alone since")
    elif not place["followed"] and place["traces"]:
        reasons.append(f"would be followed from pass {place['start']} on")
    elif not reasons and not place["traces"]:
        reasons.append("too few passes to learn")
    return "; ".join(reasons)
