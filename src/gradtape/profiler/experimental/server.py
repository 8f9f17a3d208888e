"""The public namespace `gradtape.profiler.experimental.server`."""

from ...names.missing import closed
from ...summary.profiling import start_server as start

__all__ = ["start"]

closed(__name__)
