"""Samples for the primitives that exchange values between replicas; here there is one. tests/distribute has several."""

from __future__ import annotations

import gradtape.distribute.dtensors  # noqa: F401  (defines relayout; imported when first used)

from .entries import case, of


def _same(x, **attributes):
    return x


REPLICAS = {
    "all_reduce": of(
        _same, case((2, 3), mean=False), case((3,), mean=True), case((), mean=True), complex=True
    ),
    "all_gather": of(_same, case((2, 3), axis=-2), case((3,), axis=-1), complex=True),
    "own_rows": of(_same, case((2, 3), axis=-1, length=3), case((4,), axis=-1, length=4), complex=True),
    "relayout": of(_same, case((2, 3), layout=None), complex=True),
    "rows_in_place": of(_same, case((2, 3), axis=-2, whole=2), case((4,), axis=-1, whole=4), complex=True),
}
