"""Origins traced: while this is on, a witness listens and observes. Off, nothing is left of it."""

from __future__ import annotations

from ..core.tensor import observe, unobserve
from .witness import Witness

_witness: Witness | None = None
_depth = 0


class Tracing:
    """Origins are traced from when this is made until `stop`, or to the end of its `with` block."""

    def __init__(self, profile: bool = False) -> None:
        global _witness, _depth
        if _witness is None:
            _witness = Witness(profile)
            observe(_witness)
            _witness.attend()
        elif profile and _witness.ledger is None:
            raise RuntimeError("origins are traced already, without times: stop that first")
        _depth += 1
        self.witness = _witness
        self._on = True

    def stop(self) -> None:
        """End it. What tapes have seen in the meantime can still be explained."""
        global _witness, _depth
        if not self._on:
            return
        self._on = False
        _depth -= 1
        if _depth == 0 and _witness is not None:
            _witness.leave()
            unobserve(_witness)
            _witness = None

    def __enter__(self) -> Tracing:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<origins traced: {len(self.witness.events)} events{'' if self._on else ', ended'}>"
