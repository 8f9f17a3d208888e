"""The public namespace `gradtape.audio`: sound."""

from .files.sound import decode_wav, encode_wav
from .names.missing import closed

__all__ = ["decode_wav", "encode_wav"]

closed(__name__)
