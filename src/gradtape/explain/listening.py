"""Turning the witness on and off. While it is off, nothing is left of it."""

from __future__ import annotations

from ..core.tensor_conversion import observe, unobserve
from .witness import Witness

_witness: Witness | None = None
_depth = 0


class Tracing:
    """Trace origins until `stop` is called, or to the end of a `with` block.

    Args:
        profile: also measure times.
        values: also remember a picture of each value, for `tape.show`.

    Raises:
        RuntimeError: if times or values are to be noted and origins are traced already without.
    """

    def __init__(self, profile: bool = False, values: bool = False) -> None:
        global _witness, _depth
        if _witness is None:
            _witness = Witness(profile, values)
            observe(_witness)
            _witness.attend()
        elif profile and _witness.ledger is None:
            raise RuntimeError("origins are traced already, without times: stop that first")
        elif values and _witness.pictures is None:
            raise RuntimeError("origins are traced already, without values: stop that first")
        _depth += 1
        self.witness = _witness
        self._on = True

    def stop(self) -> None:
        """Stop tracing. Tapes of the meantime can still be explained."""
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
