"""gradtape: TensorFlow's GradientTape on its own. `import gradtape as tf`, and gradient code runs on NumPy."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import autodiff, debugging, dtypes, errors, math, nest, random
from .compiled.function import function
from .core.custom import custom_gradient, grad_pass_through, recompute_grad, stop_gradient
from .core.dtypes import (
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
from .core.indexed_slices import IndexedSlices
from .core.scopes import (
    Graph,
    control_dependencies,
    device,
    executing_eagerly,
    get_current_name_scope,
    get_logger,
    init_scope,
    inside_function,
    name_scope,
)
from .core.shapes import TensorShape
from .core.spec import TensorSpec
from .core.tape import GradientTape, UnconnectedGradients
from .core.tensor import Tensor, constant, convert_to_tensor, is_tensor
from .core.variable import Variable
from .math import (
    abs,
    acos,
    acosh,
    add,
    add_n,
    argmax,
    argmin,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
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
    scalar_mul,
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
from .ops.array.arrange import (
    batch_to_space,
    bitcast,
    boolean_mask,
    meshgrid,
    repeat,
    required_space_to_batch_paddings,
    reverse,
    reverse_sequence,
    roll,
    sequence_mask,
    space_to_batch,
    space_to_batch_nd,
    strided_slice,
    unravel_index,
)
from .ops.array.arrange import slice_ as slice
from .ops.array.creation import eye, fill, one_hot, ones, ones_like, zeros, zeros_like
from .ops.array.creation import linspace_nd as linspace
from .ops.array.creation import range_ as range
from .ops.array.movement import (
    broadcast_to,
    cast,
    concat,
    expand_dims,
    gather,
    identity,
    reshape,
    split,
    squeeze,
    stack,
    tile,
    transpose,
    unstack,
)
from .ops.array.padding import pad
from .ops.array.scatter import (
    dynamic_partition,
    dynamic_stitch,
    gather_nd,
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from .ops.array.shape import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    ensure_shape,
    get_static_value,
    guarantee_const,
    identity_n,
    rank,
    shape,
    shape_n,
    size,
)
from .ops.assertions import assert_equal, assert_greater, assert_less, assert_rank
from .ops.control.branching import case, cond, group, no_op, switch_case, while_loop
from .ops.control.branching import tuple_ as tuple
from .ops.control.loops import foldl, foldr, map_fn, scan, vectorized_map
from .ops.control.printing import Assert
from .ops.control.printing import print_ as print
from .ops.control.python import numpy_function, py_function
from .ops.control.tensor_array import TensorArray
from .ops.linalg.einsum import einsum, tensordot
from .ops.linalg.norms import norm
from .ops.linalg.products import matmul
from .ops.math.clip import clip_by_global_norm, clip_by_norm, clip_by_value
from .ops.math.complexes import complex
from .ops.math.counting import histogram_fixed_width, histogram_fixed_width_bins
from .ops.math.functions import truncatediv, truncatemod
from .ops.math.sorting import argsort, searchsorted, sort, unique, unique_with_counts

__version__ = "0.1.0"
newaxis = None

if TYPE_CHECKING:
    from . import (
        autograph,
        bitwise,
        compat,
        config,
        data,
        experimental,
        image,
        keras,
        linalg,
        losses,
        metrics,
        nn,
        optimizers,
        signal,
        test,
        train,
    )
    from .core.replicas import VariableAggregation, VariableSynchronization
    from .ops.random import initializers
    from .ops.random.initializers import (
        constant_initializer,
        ones_initializer,
        random_normal_initializer,
        random_uniform_initializer,
        zeros_initializer,
    )
    from .train.module import Module
    from .train.progress import progress

# Namespaces, and names with the module they are in, that are imported when first used: `import gradtape` stays quick.
_LATER = frozenset(
    (
        "autograph",
        "bitwise",
        "compat",
        "config",
        "data",
        "experimental",
        "image",
        "initializers",
        "keras",
        "linalg",
        "losses",
        "metrics",
        "nn",
        "optimizers",
        "signal",
        "test",
        "train",
    )
)
_LATER_FROM = {
    "Module": ".train.module",
    "VariableAggregation": ".core.replicas",
    "VariableSynchronization": ".core.replicas",
    "constant_initializer": ".initializers",
    "ones_initializer": ".initializers",
    "progress": ".train.progress",
    "random_normal_initializer": ".initializers",
    "random_uniform_initializer": ".initializers",
    "zeros_initializer": ".initializers",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f".{name}", __name__)
    if name in _LATER_FROM:
        return getattr(import_module(_LATER_FROM[name], __name__), name)
    if name in ("load_ipython_extension", "unload_ipython_extension"):  # for `%load_ext gradtape`
        return getattr(import_module(".compat", __name__), name)
    from .names.missing import missing

    raise missing(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_LATER_FROM})
