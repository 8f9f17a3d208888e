"""The public namespace `gradtape.profiler.experimental`: start and stop a profile, which JAX's profiler writes."""

from ...names.missing import closed
from ...summary.profiling import Profile, ProfilerOptions, Trace, start, stop
from . import server

__all__ = ["Profile", "ProfilerOptions", "Trace", "server", "start", "stop"]

closed(__name__)
