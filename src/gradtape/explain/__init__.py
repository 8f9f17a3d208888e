"""Why a gradient is None, where a NaN began, what a tape holds and what it costs.

Nothing here runs unless it is asked for: `tape.explain`, `tape.summary`, `tape.plot`, `debugging.trace_origins`,
`debugging.find_nan`, and `session`, for `gradtape run`.
"""

from .judge import call, explain, explain_call
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
    "call",
    "explain",
    "explain_call",
    "find_nan",
    "session",
]
