"""`tf.compat.v1`: TensorFlow 1's names and arguments, as far as they make sense where everything runs at once.

A function whose arguments TensorFlow 2 renamed or reordered takes the old ones here. A name that meant something
else in TensorFlow 1 is missing, and the error says what to use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import gradtape

from ..core.errors import UnimplementedError
from ..files.events import event_message, read_events
from ..files.tfrecords import read_records
from ..names.missing import ADVICE, RENAMED, missing
from . import v1_functions as functions
from .v1_aliases import ALIASES, SPACES
from .v1_collections import COLLECTIONS, MODULES
from .v1_images import IMAGES
from .v1_initializers import INITIALIZERS
from .v1_losses import LOSSES
from .v1_nn import NETWORKS
from .v1_rnn import RECURRENT
from .v1_saver import SAVERS
from .v1_steps import STEPS
from .v1_training import OPTIMIZERS
from .v1_variables import VARIABLES

# ---------------------------------------------------------------------------------------------------------------------
# Functions with other arguments: their old order; `old=new` is a name that changed, `old=` one without an effect.

_REDUCTION = "input_tensor axis keepdims name reduction_indices=axis keep_dims=keepdims"
_EXTREME = "input axis name dimension=axis output_type"
_SOFTMAX = "logits axis name dim=axis"
_ASSERTION = "x y data= summarize message name"
_POOL = "value=input ksize strides padding data_format name input"
_TRANSPOSED = (
    "value=input filter=filters output_shape strides padding data_format name input filters dilations"
)

_OF_TWO = ("equal", "greater", "greater_equal", "less", "less_equal", "none_equal")
_OF_ONE = ("negative", "non_negative", "non_positive", "positive")

_ORDER = {
    **dict.fromkeys(("reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max", "reduce_mean"), _REDUCTION),
    **dict.fromkeys(("reduce_min", "reduce_prod", "reduce_sum"), _REDUCTION),
    **dict.fromkeys(("argmax", "argmin"), _EXTREME),
    **dict.fromkeys(("arg_max", "arg_min"), "input dimension=axis output_type name"),
    **dict.fromkeys(("math.softmax", "math.log_softmax", "nn.softmax", "nn.log_softmax"), _SOFTMAX),
    **dict.fromkeys(("assert_equal", "assert_greater", "assert_less"), _ASSERTION),
    **dict.fromkeys((f"debugging.assert_{which}" for which in _OF_TWO), _ASSERTION),
    **dict.fromkeys((f"debugging.assert_{which}" for which in _OF_ONE), "x data= summarize message name"),
    **dict.fromkeys(("assert_rank", "debugging.assert_rank"), "x rank data= summarize= message name"),
    "debugging.assert_rank_at_least": "x rank data= summarize= message name",
    "debugging.assert_rank_in": "x ranks data= summarize= message name",
    "debugging.assert_near": "x y rtol atol data= summarize message name",
    **dict.fromkeys(("nn.avg_pool", "nn.avg_pool2d", "nn.max_pool"), _POOL),
    **dict.fromkeys(("nn.conv2d_transpose", "nn.conv3d_transpose"), _TRANSPOSED),
    **dict.fromkeys(("math.in_top_k", "nn.in_top_k"), "predictions targets k name"),
    **dict.fromkeys(("norm", "linalg.norm"), "tensor ord axis keepdims name keep_dims=keepdims"),
    **dict.fromkeys(("ones_like", "zeros_like"), "tensor=input dtype name optimize="),
    **dict.fromkeys(("shape", "size"), "input name out_type"),
    **dict.fromkeys(("decode_csv", "io.decode_csv"), "records record_defaults field_delim use_quote_delim name "
    "na_value select_cols"),
    **dict.fromkeys(("decode_raw", "io.decode_raw"), "input_bytes out_type little_endian name bytes=input_bytes"),
    **dict.fromkeys(("parse_example", "io.parse_example"), "serialized features name example_names"),
    **dict.fromkeys(("parse_single_example", "io.parse_single_example"), "serialized features name example_names"),
    **dict.fromkeys(("reduce_join", "strings.reduce_join"), "inputs axis keep_dims=keepdims separator name "
    "reduction_indices=axis keepdims"),
    **dict.fromkeys(("sparse_add", "sparse.add"), "a b threshold thresh=threshold"),
    **{f"{where}reduce_{which}": "sp_input axis keepdims reduction_axes=axis keep_dims=keepdims"
       for which in ("max", "sum") for where in ("sparse_", "sparse.")},
    **{f"{where}segment_{which}": "data indices segment_ids name num_segments"
       for which in ("mean", "sqrt_n", "sum") for where in ("sparse_", "sparse.")},
    **dict.fromkeys(("strings.substr", "substr"), "input pos len name unit"),
    **dict.fromkeys(("string_to_number", "strings.to_number"), "string_tensor=input out_type name input"),
    **dict.fromkeys(("string_to_hash_bucket", "strings.to_hash_bucket"), "string_tensor=input num_buckets name input"),
    "boolean_mask": "tensor mask name axis",
    "cond": "pred true_fn false_fn strict= name fn1=true_fn fn2=false_fn",
    "constant": "value dtype shape name verify_shape=",
    "convert_to_tensor": "value dtype name preferred_dtype=dtype_hint dtype_hint",
    "expand_dims": "input axis name dim=axis",
    "gather": "params indices validate_indices name axis batch_dims",
    "gather_nd": "params indices name batch_dims bad_indices_policy",
    "image.crop_and_resize": "image boxes box_ind=box_indices crop_size method extrapolation_value name box_indices",
    "math.confusion_matrix": "labels predictions num_classes dtype name weights",
    "math.count_nonzero": "input_tensor=input axis keepdims dtype name reduction_indices=axis keep_dims=keepdims input",
    "nn.conv1d": "value=input filters stride padding use_cudnn_on_gpu= data_format name input dilations",
    "nn.conv2d": "input filter=filters strides padding use_cudnn_on_gpu= data_format dilations name filters",
    "nn.conv3d": "input filter=filters strides padding data_format dilations name filters",
    "nn.convolution": "input filter=filters padding strides dilation_rate=dilations name data_format filters dilations",
    "nn.crelu": "features name axis",
    "nn.depth_to_space": "input block_size name data_format",
    "nn.depthwise_conv2d": "input filter strides padding rate=dilations name data_format dilations",
    "nn.moments": "x axes shift name keep_dims=keepdims keepdims",
    "nn.pool": "input window_shape pooling_type padding dilation_rate=dilations strides name data_format dilations",
    "nn.separable_conv2d": "input depthwise_filter pointwise_filter strides padding rate=dilations name data_format "
    "dilations",
    "nn.space_to_depth": "input block_size name data_format",
    "nn.sufficient_statistics": "x axes shift keep_dims=keepdims name keepdims",
    "nn.weighted_cross_entropy_with_logits": "labels logits pos_weight name targets=labels",
    "nn.weighted_moments": "x axes frequency_weights name keep_dims=keepdims keepdims",
    "pad": "tensor paddings mode name constant_values",
    "reverse_sequence": "input seq_lengths seq_axis batch_axis name seq_dim=seq_axis batch_dim=batch_axis",
    "squeeze": "input axis name squeeze_dims=axis",
    "transpose": "a perm name conjugate",
    "tuple": "tensors name control_inputs",
    "while_loop": "cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory name "
    "maximum_iterations",
}  # fmt: skip


def in_old_order(function: Callable[..., Any], order: str) -> Callable[..., Any]:
    """Wrap a function of TensorFlow 2's arguments to take TensorFlow 1's.

    Args:
        function: a function with TensorFlow 2's arguments.
        order: the names of TensorFlow 1's, in their order: `old=new` for a new name, `old=` for one without an effect.

    >>> total = in_old_order(gradtape.reduce_sum, _REDUCTION)
    >>> total([[1.0, 2.0]], reduction_indices=1, keep_dims=True).numpy()
    array([[3.]], dtype=float32)
    """
    new_names = {
        old: new if "=" in both else old for both in order.split() for old, _, new in [both.partition("=")]
    }

    @functools.wraps(function)
    def old_style(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(new_names, args)) | kwargs
        if len(given) != len(args) + len(kwargs) or not given.keys() <= new_names.keys():
            return function(*args, **kwargs)  # too many, twice or unknown: it raises
        return function(**{new_names[old]: v for old, v in given.items() if v is not None and new_names[old]})

    return old_style


# ---------------------------------------------------------------------------------------------------------------------
# Apart from operations


def _nothing() -> None:
    """No-op: gradtape always behaves so."""


def _refused(what: str) -> Callable[[], None]:
    def refuse() -> None:
        raise UnimplementedError(f"compat.v1.{what}: {ADVICE[what]}")

    return refuse


_OWN: dict[str, Any] = {
    "disable_eager_execution": _refused("disable_eager_execution"),
    "disable_v2_behavior": _refused("disable_v2_behavior"),
    "enable_eager_execution": lambda config=None, device_policy=None, execution_mode=None: None,
    "enable_resource_variables": _nothing,
    "enable_tensor_equality": _nothing,
    "enable_v2_behavior": _nothing,
    "enable_v2_tensorshape": _nothing,
    "executing_eagerly_outside_functions": gradtape.executing_eagerly,
    "io.tf_record_iterator": read_records,
    "python_io.tf_record_iterator": read_records,
    "train.summary_iterator": read_events,
    "Dimension": functions.Dimension,
    "assign": functions.assign,
    "assign_add": functions.assign_add,
    "assign_sub": functions.assign_sub,
    "batch_gather": functions.batch_gather,
    "dimension_at_index": functions.dimension_at_index,
    "dimension_value": functions.dimension_value,
    "is_variable_initialized": functions.is_variable_initialized,
    "nn.ctc_beam_search_decoder": functions.ctc_beam_search_decoder,
    "nn.ctc_loss": functions.ctc_loss,
    "nn.dropout": functions.dropout,
    "nn.softmax_cross_entropy_with_logits": functions.softmax_cross_entropy_with_logits,
    "sparse_concat": functions.sparse_concat,
    **dict.fromkeys(
        ("io.TFRecordCompressionType", "python_io.TFRecordCompressionType"), functions.TFRecordCompressionType
    ),
    **{f"{where}reduce_max_sparse": functions.sparse_reduce_max_sparse for where in ("sparse_", "sparse.")},
    **{f"{where}reduce_sum_sparse": functions.sparse_reduce_sum_sparse for where in ("sparse_", "sparse.")},
    **COLLECTIONS,
    **IMAGES,
    **INITIALIZERS,
    **LOSSES,
    **NETWORKS,
    **OPTIMIZERS,
    **RECURRENT,
    **SAVERS,
    **STEPS,
    **VARIABLES,
}
_MESSAGES = ("Event", "Summary", "SummaryMetadata")  # of the package tensorboard, imported when one is used
_ELSEWHERE = ("train.",)  # renamed, and not the same: the error names the new one


# ---------------------------------------------------------------------------------------------------------------------
# The namespace, and those in it


class Old(ModuleType):
    """A namespace of TensorFlow 1: gradtape's namespace of that name, with the old names and arguments."""

    def __init__(self, path: str, new: ModuleType) -> None:
        super().__init__(f"gradtape.compat.v1.{path}".rstrip("."), new.__doc__)
        self._path, self._new = path, new

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            self.__all__ = self.__dir__()
            return self.__all__
        path = f"{self._path}.{name}".lstrip(".")
        if not self._has(name):
            raise missing(f"compat.v1.{path}")
        value = self._value(path, name)
        setattr(self, name, value)
        return value

    def _has(self, name: str) -> bool:
        path = f"{self._path}.{name}".lstrip(".")
        if f"compat.v1.{path}" in ADVICE:
            return False
        own = path in _OWN or path in _MESSAGES or path in SPACES or path in MODULES or path == "logging"
        return own or self._new_name(path) is not None

    def _new_name(self, path: str) -> str | None:
        if path in ALIASES:
            return ALIASES[path]
        if path in RENAMED and not path.startswith(_ELSEWHERE):
            return RENAMED[path]
        last = path.rpartition(".")[2]
        if last in self._new.__all__:
            return path
        return _moved().get(path)

    def _value(self, path: str, name: str) -> Any:
        if path in _OWN:
            return _OWN[path]
        if path in _MESSAGES:
            return event_message(path)
        if path in MODULES:
            return MODULES[path]()
        if path == "logging":
            from . import logging

            return logging
        if path in SPACES:
            return Old(path, _empty(path))
        target = self._new_name(path) or path
        value = functools.reduce(getattr, target.split("."), gradtape)
        if isinstance(value, ModuleType):
            return value if name in ("compat", "keras") else Old(path, value)
        order = _ORDER.get(path) or _ORDER.get(path.removeprefix("math."))
        return in_old_order(value, order) if order else value

    def __dir__(self) -> list[str]:
        candidates = {
            *self._new.__all__,
            *(() if self._path else (*RENAMED, *_moved(), *_MESSAGES, *SPACES, "logging")),
        }
        prefix = f"{self._path}." if self._path else ""
        own = {path.removeprefix(prefix) for path in (*_OWN, *ALIASES) if path.startswith(prefix)}
        return sorted(name for name in candidates | own if "." not in name and self._has(name))


def _empty(path: str) -> ModuleType:
    """A namespace without names of its own."""
    space: Any = ModuleType(path, f"The namespace `{path}` of TensorFlow 1.")
    space.__all__ = []
    return space


@functools.cache
def _moved() -> dict[str, str]:
    """Names that TensorFlow 1 had at the top and TensorFlow 2 has in a namespace: `log`, `svd`, `fft`, ..."""
    return {
        name: f"{home}.{name}"
        for home in ("signal", "linalg", "math")  # the last has the say
        for name in getattr(gradtape, home).__all__
        if not isinstance(getattr(getattr(gradtape, home), name), ModuleType)
    }


_top = Old("", gradtape)


def __getattr__(name: str) -> Any:
    return getattr(_top, name)


def __dir__() -> list[str]:
    return dir(_top)
