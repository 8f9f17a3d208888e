"""Observers: told, in every thread, of what happens to tensors, variables and tapes apart from operations.

A `Listener` (see `primitive`) hears of the operations of one thread and belongs to the computation. An observer looks
on: `explain` has one. While there is none, an event costs a look at an empty list.
"""

from __future__ import annotations

from typing import Any


class Observer:
    """Base of observers. Each method is an event, and does nothing here."""

    def _on_export(self, tensor: Any, how: str, value: Any) -> None:
        """The value of a tensor was given to NumPy or Python, by `how`: ".numpy()", "float()", ..."""

    def _on_import(self, value: Any, array: Any) -> None:
        """A value of NumPy's or Python's became the array of a tensor."""

    def _on_assign(self, variable: Any, method: str, value: Any) -> None:
        """A variable was given a value, by `method`."""

    def _on_start(self, tape: Any, resumes: bool) -> None:
        """A tape began to record in this thread, or resumes after `stop_recording`."""

    def _on_stop(self, tape: Any, pauses: bool) -> None:
        """A tape stopped recording, at the end of its block or for a while."""

    def _on_watch(self, tape: Any, thing: Any) -> None:
        """A tape watches a tensor or variable from now on."""

    def _on_reset(self, tape: Any) -> None:
        """A tape forgot what it had recorded."""

    def _on_gradients(self, tape: Any, targets: list[Any], sources: list[Any], gradients: list[Any]) -> None:
        """A tape was asked for gradients (or Jacobians), and gave these; None where there is none."""

    def _on_refusal(self, tape: Any, targets: list[Any], sources: list[Any], error: TypeError) -> None:
        """A tape was asked for the gradient of, or by, what is neither tensor nor variable."""

    def _on_sweep(self, tape: Any, seeds: dict[int, Any], records: list[Any]) -> None:
        """A tape begins a sweep over these records, from these gradients of the targets by key."""

    def _on_pull(
        self, key: Any, plan: Any, into: Any, kept: Any, g: Any, parts: list[Any], seconds: float
    ) -> None:
        """A sweep on arrays took the step of one record: from the gradient `g` to `parts`, one for each input."""


observers: list[Observer] = []


def exported(tensor: Any, how: str, value: Any) -> None:
    """Tell the observers of a value that was given to NumPy or Python."""
    for observer in observers:
        observer._on_export(tensor, how, value)


def imported(value: Any, array: Any) -> None:
    """Tell the observers of a value that came from NumPy or Python."""
    for observer in observers:
        observer._on_import(value, array)
