"""The public namespace `gradtape.saved_model.experimental`: policies for variables, and the base of tables."""

from ..names.missing import closed
from ..ops.lookup.resource import TrackableResource
from .save_options import VariablePolicy

__all__ = ["TrackableResource", "VariablePolicy"]

closed(__name__)
