"""What trains: optimizers."""

from ..missing import closed

closed(__name__)
