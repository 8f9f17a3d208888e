"""The public namespace `gradtape.random.experimental`: earlier names, and `stateless_shuffle`."""

from ..names.missing import closed
from ..ops.random.generator import Generator, create_rng_state, get_global_generator, set_global_generator
from ..ops.random.quasirandom import index_shuffle
from ..ops.random.stateless import Algorithm, stateless_shuffle
from ..ops.random.stateless import fold_in as stateless_fold_in
from ..ops.random.stateless import split as stateless_split

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "index_shuffle",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]

closed(__name__)
