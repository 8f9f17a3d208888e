"""A whole program under observation, for `gradtape run --explain`, `--nan`, `--profile` and `--view`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..core.settings import settings
from ..hot import places as hot
from .evidence import Evidence, Trail
from .hot_passes import hot_passes
from .judge import explain_call
from .listening import Tracing
from .nan import NanReport, backward_report, forward_report
from .origins import History
from .page import Page
from .viewing import Viewer
from .witness import Witness


@dataclass(frozen=True)
class SessionReport:
    """The report after a program: as text for people, and as plain data."""

    text: str = ""
    json: dict[str, Any] = field(default_factory=dict)
    page: Page | None = None  # of the program's tapes


class Session:
    """A block under observation; `report` gives the findings.

    Args:
        explain: note gradients that are None, and why.
        nan: note the first NaN or infinity. @functions run operation by operation, as compiled code shows its results
            alone.
        profile: measure times and memory; if hot tapes are on, and nothing else is asked for, also say what ran hot.
            The operations of what ran hot are not timed.
        view: note the tapes for a page, with values. @functions run operation by operation, as for `nan`.
    """

    def __init__(
        self, explain: bool = False, nan: bool = False, profile: bool = False, view: bool = False
    ) -> None:
        self._explain, self._nan, self._profile, self._view = explain, nan, profile, view
        self._tracing: Tracing | None = None
        self._viewer: Viewer | None = None
        self._counts_hot = False
        self._ran_eagerly = settings.run_functions_eagerly

    def __enter__(self) -> Session:
        if self._explain or self._nan or self._profile or self._view:
            self._tracing = Tracing(profile=self._profile, values=self._view)
            self._counts_hot = not (self._explain or self._nan or self._view) and hot.is_on()
            if self._counts_hot:
                self._tracing.witness._steps_aside = True
                hot.profiles.append(self._tracing)
        if self._view:
            self._viewer = Viewer()
        if self._nan or self._view:
            settings.run_functions_eagerly = True
        return self

    def __exit__(self, *exception: object) -> None:
        if self._viewer is not None:
            self._viewer.stop()
        if self._counts_hot:
            hot.profiles.remove(self._tracing)
        if self._tracing is not None:
            self._tracing.stop()
        if self._nan or self._view:
            settings.run_functions_eagerly = self._ran_eagerly

    def report(self, error: BaseException | None = None) -> SessionReport:
        """The findings, after a program that ended normally or with this error."""
        if self._tracing is None:
            return SessionReport()
        witness = self._tracing.witness
        texts: list[str] = []
        data: dict[str, Any] = {}
        if self._explain:
            text, data["explain"] = _explained(witness, error)
            texts.append(text)
        if self._nan:
            text, data["nan"] = _not_finite(witness)
            texts.append(text)
        if self._profile and witness.ledger is not None:
            texts.append(str(witness.ledger))
            data["profile"] = witness.ledger.to_dict()
        if self._counts_hot:
            data["hot"] = hot.counts()
            texts.append(hot_passes(data["hot"]))
        page = self._viewer.page() if self._viewer is not None else None
        if self._view and page is None:
            texts.append("there is no page: no tape of the program was asked for a gradient")
        return SessionReport("\n\n".join(text for text in texts if text), data, page)


def session(explain: bool = False, nan: bool = False, profile: bool = False, view: bool = False) -> Session:
    """A program under observation: `with session(explain=True) as s: ...`, then `s.report(error)`.

    >>> import gradtape as tf
    >>> with session(explain=True) as s:
    ...     x = tf.constant(3.0)
    ...     with tf.GradientTape() as tape:
    ...         y = x * x
    ...     g = tape.gradient(y, x)
    >>> s.report().json["explain"][0]["reports"][0]["reason"]
    'NOT_WATCHED'
    """
    return Session(explain, nan, profile, view)


def _explained(witness: Witness, error: BaseException | None) -> tuple[str, list[dict[str, Any]]]:
    calls = list(witness.calls)
    if _from_none(error) or (calls and error is not None and calls[-1].error is error):
        calls = calls[-1:]  # the program failed because of this one
    # A loop asks again and again: the last call stands for all.
    last = {(asked.where, tuple(s.label for s in asked.sources)): asked for asked in calls}
    texts, data = [], []
    for asked in last.values():
        reports = explain_call(asked)
        what = "was None" if asked.error is None else "was refused"
        texts.append(f"The gradient asked for at {asked.where} {what}.\n{reports}")
        data.append({"where": str(asked.where), "reports": reports.to_dict()})
    return "\n\n".join(texts) or "no gradient was None", data


def _from_none(error: BaseException | None) -> bool:
    return isinstance(error, (AttributeError, TypeError, ValueError)) and "None" in str(error)


def _not_finite(witness: Witness) -> tuple[str, list[dict[str, Any]]]:
    """Reports of the first NaN forward and the first backward, in the order they happened."""
    first, step = witness.first, witness.nan
    trail = Trail(Evidence(set(), set(), [], [], True, True, History(witness)))
    found = [] if first is None else [forward_report(first, trail)]
    if step is not None:
        backward = backward_report(step, trail, [event.name for event in witness.events])
        found.insert(0 if first is None or step.time < first.time else 1, backward)
    return "\n".join(map(str, found)) or str(NanReport(None)), [report.to_dict() for report in found]
