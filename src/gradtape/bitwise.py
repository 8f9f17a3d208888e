"""The public namespace `gradtape.bitwise`: integers bit by bit."""

from __future__ import annotations

from .missing import closed
from .ops import elementwise as _e
from .ops.public import public

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]

bitwise_and = public(_e.bitwise_and, "The bits set in both.\n\n>>> int(bitwise_and(6, 3))\n2")
bitwise_or = public(_e.bitwise_or, "The bits set in either.\n\n>>> int(bitwise_or(6, 3))\n7")
bitwise_xor = public(
    _e.bitwise_xor, "The bits set in one and not the other.\n\n>>> int(bitwise_xor(6, 3))\n5"
)
invert = public(_e.invert, "Every bit turned.\n\n>>> int(invert(6))\n-7")
left_shift = public(_e.left_shift, "x with its bits y places further up.\n\n>>> int(left_shift(3, 2))\n12")
right_shift = public(
    _e.right_shift,
    "x with its bits y places further down; the sign stays.\n\n>>> int(right_shift(-8, 1))\n-4",
)

closed(__name__)
