"""The public namespace `gradtape.summary.experimental`: the default step, and parts of summaries of one's own."""

from ..names.missing import closed
from .recording import get_step, set_step, summary_scope, write_raw_pb

__all__ = ["get_step", "set_step", "summary_scope", "write_raw_pb"]

closed(__name__)
