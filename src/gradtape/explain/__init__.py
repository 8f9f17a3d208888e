"""Explanations: why a gradient is None, where a NaN began, what a tape holds and what it costs.

Imported when first used: by `tape.explain`, `tape.summary`, `tape.plot`, `debugging.trace_origins`,
`debugging.find_nan`, and `session`, for `gradtape run`. Listens to the core and observes it; replaces nothing.
"""

from .judge import explain
from .listening import Tracing
from .nan import NanReport, find_nan
from .reasons import Reason
from .report import Report, Reports, Step
from .sessions import Session, session

__all__ = [
    "NanReport",
    "Reason",
    "Report",
    "Reports",
    "Session",
    "Step",
    "Tracing",
    "explain",
    "find_nan",
    "session",
]
