"""The public namespace `gradtape.math`."""

from typing import TYPE_CHECKING

from ..names.missing import closed
from ..ops.linalg.norms import l2_normalize
from ..ops.math import functions
from ..ops.math.arithmetic import (
    accumulate_n,
    add_n,
    is_non_decreasing,
    is_strictly_increasing,
    polyval,
    pow,
    reciprocal,
    reciprocal_no_nan,
    scalar_mul,
)
from ..ops.math.complexes import abs, angle, imag, real, reduce_euclidean_norm, sign, squared_difference
from ..ops.math.counting import bincount, confusion_matrix
from ..ops.math.cumulative import cumprod, cumsum, cumulative_logsumexp, reduce_prod
from ..ops.math.functions import *  # noqa: F403
from ..ops.math.reduction import (
    argmax,
    argmin,
    count_nonzero,
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_std,
    reduce_sum,
    reduce_variance,
)
from ..ops.math.segment import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from ..ops.math.sorting import approx_max_k, approx_min_k, in_top_k, invert_permutation, top_k
from ..ops.math.special import lbeta
from ..ops.math.special_functions import bessel_i0, bessel_i0e, bessel_i1, bessel_i1e
from ..ops.nn.normalization import zero_fraction
from ..ops.nn.softmax import log_softmax, softmax
from . import special

if TYPE_CHECKING:
    from ..ops.random.quasirandom import sobol_sample

__all__ = [
    "abs",
    "accumulate_n",
    "add_n",
    "angle",
    "approx_max_k",
    "approx_min_k",
    "argmax",
    "argmin",
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "bincount",
    "confusion_matrix",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "imag",
    "in_top_k",
    "invert_permutation",
    "is_non_decreasing",
    "is_strictly_increasing",
    "l2_normalize",
    "lbeta",
    "log_softmax",
    "polyval",
    "pow",
    "real",
    "reciprocal",
    "reciprocal_no_nan",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "scalar_mul",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sign",
    "sobol_sample",
    "softmax",
    "special",
    "squared_difference",
    "top_k",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "zero_fraction",
]
__all__ += functions.__all__  # a form that type checkers read

closed(__name__, later={"sobol_sample": "..ops.random.quasirandom"})
