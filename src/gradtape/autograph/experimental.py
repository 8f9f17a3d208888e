"""The public namespace `gradtape.autograph.experimental`."""

from ..compiled.autograph.directives import do_not_convert, set_loop_options
from ..names.missing import closed

__all__ = ["do_not_convert", "set_loop_options"]

closed(__name__)
