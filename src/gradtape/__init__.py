"""gradtape: TensorFlow's GradientTape on its own. `import gradtape as tf`, and gradient code runs on NumPy."""

from . import (
    autodiff,
    dtypes,
    engine,
    errors,
    experimental,
    linalg,
    math,
    nest,
    nn,
    optimizers,
    random,
)
from .custom import custom_gradient, grad_pass_through, recompute_grad, stop_gradient
from .dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .indexed_slices import IndexedSlices
from .math import (
    abs,
    add,
    add_n,
    argmax,
    argmin,
    cos,
    cosh,
    cumsum,
    divide,
    equal,
    exp,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    pow,
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
    round,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    truediv,
    where,
)
from .ops.array import (
    broadcast_to,
    cast,
    concat,
    expand_dims,
    gather,
    gather_nd,
    identity,
    pad,
    reshape,
    split,
    squeeze,
    stack,
    tile,
    transpose,
    unstack,
)
from .ops.clip import clip_by_global_norm, clip_by_norm, clip_by_value
from .ops.creation import eye, fill, one_hot, ones, ones_like, zeros, zeros_like
from .ops.creation import linspace_nd as linspace
from .ops.creation import range_ as range
from .ops.linalg import einsum, matmul, norm, tensordot
from .shapes import TensorShape
from .tape import GradientTape, UnconnectedGradients
from .tensor import Tensor, constant, convert_to_tensor, is_tensor
from .variable import Variable

__version__ = "0.1.0"
newaxis = None
