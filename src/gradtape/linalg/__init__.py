"""The public namespace `gradtape.linalg`."""

from typing import TYPE_CHECKING

from ..names.missing import closed
from ..ops.array.creation import eye
from ..ops.linalg.banded import banded_triangular_solve, eigh_tridiagonal
from ..ops.linalg.determinants import det, logdet, slogdet
from ..ops.linalg.einsum import einsum, tensordot
from ..ops.linalg.factorizations import cholesky, eig, eigh, eigvals, eigvalsh, lu, qr, svd
from ..ops.linalg.least_squares import lstsq, matrix_rank, pinv
from ..ops.linalg.matrix import (
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
from ..ops.linalg.matrix_functions import expm, logm, sqrtm
from ..ops.linalg.norms import l2_normalize, norm, normalize
from ..ops.linalg.products import matmul, matvec
from ..ops.linalg.solving import (
    cholesky_solve,
    inv,
    lu_matrix_inverse,
    lu_reconstruct,
    lu_solve,
    solve,
    triangular_solve,
)
from ..ops.linalg.tridiagonal import tridiagonal_matmul, tridiagonal_solve
from ..ops.math.clip import global_norm

if TYPE_CHECKING:
    from ..ops.linalg.block_operators import LinearOperatorBlockLowerTriangular
    from ..ops.linalg.combined_operators import (
        LinearOperatorAdjoint,
        LinearOperatorBlockDiag,
        LinearOperatorComposition,
        LinearOperatorInversion,
        LinearOperatorKronecker,
    )
    from ..ops.linalg.linear_operator import LinearOperator
    from ..ops.linalg.linear_operators import (
        LinearOperatorDiag,
        LinearOperatorFullMatrix,
        LinearOperatorIdentity,
        LinearOperatorLowerTriangular,
        LinearOperatorScaledIdentity,
        LinearOperatorZeros,
    )
    from ..ops.linalg.structured_operators import (
        LinearOperatorCirculant,
        LinearOperatorCirculant2D,
        LinearOperatorCirculant3D,
        LinearOperatorHouseholder,
        LinearOperatorLowRankUpdate,
        LinearOperatorPermutation,
        LinearOperatorToeplitz,
        LinearOperatorTridiag,
    )
    from . import experimental

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorBlockLowerTriangular",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorTridiag",
    "LinearOperatorZeros",
    "adjoint",
    "band_part",
    "banded_triangular_solve",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eig",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvalsh",
    "einsum",
    "experimental",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]

closed(
    __name__,
    later={
        "experimental": ".experimental",
        "LinearOperatorAdjoint": "..ops.linalg.linear_operators",
        "LinearOperatorBlockDiag": "..ops.linalg.linear_operators",
        "LinearOperatorBlockLowerTriangular": "..ops.linalg.block_operators",
        "LinearOperatorComposition": "..ops.linalg.linear_operators",
        "LinearOperatorInversion": "..ops.linalg.linear_operators",
        "LinearOperatorKronecker": "..ops.linalg.linear_operators",
        "LinearOperatorCirculant": "..ops.linalg.structured_operators",
        "LinearOperatorCirculant2D": "..ops.linalg.structured_operators",
        "LinearOperatorCirculant3D": "..ops.linalg.structured_operators",
        "LinearOperatorToeplitz": "..ops.linalg.structured_operators",
        "LinearOperatorTridiag": "..ops.linalg.structured_operators",
        "LinearOperatorDiag": "..ops.linalg.linear_operators",
        "LinearOperatorFullMatrix": "..ops.linalg.linear_operators",
        "LinearOperatorHouseholder": "..ops.linalg.structured_operators",
        "LinearOperatorIdentity": "..ops.linalg.linear_operators",
        "LinearOperatorLowRankUpdate": "..ops.linalg.structured_operators",
        "LinearOperatorLowerTriangular": "..ops.linalg.linear_operators",
        "LinearOperatorPermutation": "..ops.linalg.structured_operators",
        "LinearOperatorScaledIdentity": "..ops.linalg.linear_operators",
        "LinearOperatorZeros": "..ops.linalg.linear_operators",
        "LinearOperator": "..ops.linalg.linear_operators",
    },
)
