"""Facts of an operation that stand on its primitive: for messages and tools, nothing is computed by them."""

from __future__ import annotations

from collections.abc import Callable


class Facts:
    """Facts of an operation, given as options of `primitive`.

    Args:
        public: the name by which users know the operation, where that is not the primitive's.
        moves: whether it only moves elements, so that a NaN in the result began elsewhere.
        discrete: whether the result is booleans or integers by nature, as of a comparison or a cast, and no gradient
            passes for that reason.
        instead: what to use where a gradient is to pass, if none does.
        flat: where the gradient is 0, and what to change.
        cure: what helps where finite inputs give NaN or infinity, or a function of the inputs' arrays that tells.
        slope_cure: what helps where the gradient is NaN or infinite.
        formula: the differential, such as "d tanh(x) = (1 - tanh(x)²) dx".
        words: how the gradient passes, as a sentence, where the formula does not say it.
    """

    __slots__ = (
        "cure",
        "discrete",
        "flat",
        "formula",
        "instead",
        "moves",
        "public",
        "slope_cure",
        "words",
    )

    def __init__(
        self,
        *,
        public: str = "",
        moves: bool = False,
        discrete: bool = False,
        instead: str = "",
        flat: str = "",
        cure: str | Callable[..., str] = "",
        slope_cure: str = "",
        formula: str = "",
        words: str = "",
    ) -> None:
        self.public = public
        self.moves = moves
        self.discrete = discrete
        self.instead = instead
        self.flat = flat
        self.cure = cure
        self.slope_cure = slope_cure
        self.formula = formula
        self.words = words


NO_FACTS = Facts()
