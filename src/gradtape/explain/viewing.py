"""The tapes of a whole program, for `gradtape run --view`: each answer of a tape is noted as `tape.show` would show it.

All answers are noted, up to 3,000 operations. After that, of each line, the first ten answers are noted, the 20th, the
40th and so on, and those with a None or NaN.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import Any

from ..core.observers import Observer
from ..core.tape import GradientTape
from ..core.tensor import Tensor
from ..core.tensor_conversion import observe, unobserve
from ..core.user_code import user_frame
from .evidence import Evidence, name_in
from .not_finite import bad
from .page import Page, document
from .page_data import Collector, Data

_OPERATIONS = 3000  # all answers are noted, up to so many operations
_FIRST = 10  # answers at each line that are noted in any case
_BROKEN = 5  # and of those with None or NaN


class Viewer(Observer):
    """Notes the answers of tapes, until `stop`."""

    def __init__(self) -> None:
        self._noted: list[tuple[Data, dict[str, set[int]]]] = []
        self._asked: Counter[Any] = Counter()  # answers, by line
        self._broken: Counter[Any] = Counter()
        self._operations = 0  # of the answers that are noted
        self._sweep: tuple[GradientTape, dict[int, Any], list[Any]] | None = None
        observe(self)

    def stop(self) -> None:
        """Note no more."""
        unobserve(self)

    def page(self) -> Page | None:
        """The page of all that was noted; None if no tape answered."""
        if not self._noted:
            return None
        notes = []
        count = self._asked.total()
        if count > len(self._noted):
            notes.append(f"{len(self._noted)} of the {count:,} answers of tapes are shown.")
        if "gradtape.compiled.function" in sys.modules:
            notes.append(
                "Under --view each @tf.function runs operation by operation, so that its values can be shown. Without "
                "it, XLA compiles all that one call computes, gradients and updates inside included, into one program."
            )
        return Page(document(self._noted, notes))

    def _on_sweep(self, tape: GradientTape, seeds: dict[int, Any], records: list[Any]) -> None:
        self._sweep = (tape, dict(seeds), list(records))

    def _on_gradients(
        self, tape: GradientTape, targets: list[Any], sources: list[Any], gradients: list[Any]
    ) -> None:
        swept, self._sweep = self._sweep, None
        if swept is None or swept[0] is not tape:
            return
        frame = user_frame()
        at = (frame.f_code.co_filename, frame.f_lineno)
        self._asked[at] += 1
        if not self._is_noted(at, gradients):
            return
        evidence = replace(Evidence.of(tape), records=swept[2], used=False)
        collector = Collector(evidence, tape.watched_variables(), targets, sources, frame, swept[1])
        label = f"{name_in(frame, tape, 'tape')} {self._asked[at]}"
        data = {**collector.data(), "label": label}
        self._operations += len(data["nodes"])
        self._noted.append((data, collector.files))

    def _is_noted(self, at: Any, gradients: list[Any]) -> bool:
        number = self._asked[at]
        if (
            self._operations < _OPERATIONS
            or number <= _FIRST
            or (number % _FIRST == 0 and (number // _FIRST).bit_count() == 1)
        ):
            return True
        if all(g is not None and not (type(g) is Tensor and bad(g._array)) for g in gradients):
            return False
        self._broken[at] += 1
        return self._broken[at] <= _BROKEN
