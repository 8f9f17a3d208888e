"""The public namespace `gradtape.linalg`."""

from .missing import closed
from .ops.clip import global_norm
from .ops.creation import eye
from .ops.determinants import det, logdet, slogdet
from .ops.einsum import einsum, tensordot
from .ops.factorizations import cholesky, eig, eigh, eigvals, eigvalsh, lu, qr, svd
from .ops.least_squares import lstsq, matrix_rank, pinv
from .ops.linalg import l2_normalize, matmul, matvec, norm, normalize
from .ops.matrix import (
    adjoint,
    band_part,
    cross,
    diag,
    diag_part,
    matrix_transpose,
    set_diag,
    tensor_diag,
    tensor_diag_part,
    trace,
)
from .ops.matrix_functions import expm, logm, sqrtm
from .ops.solving import (
    cholesky_solve,
    inv,
    lu_matrix_inverse,
    lu_reconstruct,
    lu_solve,
    solve,
    triangular_solve,
)
from .ops.tridiagonal import tridiagonal_matmul, tridiagonal_solve

closed(__name__)
