"""`tensorflow.version`: the TensorFlow that is gradtape's specification, for scripts that compare versions."""

from ..names.missing import closed

__all__ = ["COMPILER_VERSION", "GIT_VERSION", "VERSION"]

VERSION = "2.21.0"
GIT_VERSION = "gradtape"
COMPILER_VERSION = ""

closed(__name__)
