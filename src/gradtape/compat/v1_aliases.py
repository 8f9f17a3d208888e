"""Names of TensorFlow 1 for functions that TensorFlow 2 has elsewhere: `ALIASES`, from the old path to the new one.

A namespace that TensorFlow 2 does not have (`manip`, `spectral`, `gfile`, ...) consists of its names here.
"""

from __future__ import annotations

_TRANSFORMS = ("fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d", "rfft", "rfft2d", "rfft3d", "irfft", "irfft2d",
               "irfft3d", "dct", "idct")  # fmt: skip
_ASSERTIONS = (
    "greater_equal", "integer", "less_equal", "near", "negative", "non_negative", "non_positive", "none_equal",
    "positive", "proper_iterable", "rank_at_least", "rank_in", "same_float_dtype", "scalar", "type",
)  # fmt: skip
_IO = (
    "FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature", "decode_base64",
    "decode_compressed", "decode_csv", "decode_raw", "deserialize_many_sparse", "encode_base64", "matching_files",
    "parse_example", "parse_single_example", "parse_single_sequence_example", "parse_tensor", "read_file",
    "serialize_many_sparse", "serialize_sparse", "serialize_tensor", "write_file",
)  # fmt: skip
_SPARSE = (
    "add", "fill_empty_rows", "mask", "maximum", "minimum", "reduce_max", "reduce_sum", "reorder", "reset_shape",
    "reshape", "retain", "segment_mean", "segment_sqrt_n", "segment_sum", "slice", "softmax", "to_indicator",
    "transpose",
)  # fmt: skip
_QUANTIZATION = (
    "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient", "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient", "dequantize", "quantize", "quantized_concat",
)  # fmt: skip
_GFILE = {
    "Copy": "copy", "DeleteRecursively": "rmtree", "Exists": "exists", "FastGFile": "GFile", "GFile": "GFile",
    "Glob": "glob", "IsDirectory": "isdir", "ListDirectory": "listdir", "MakeDirs": "makedirs", "MkDir": "mkdir",
    "Open": "GFile", "Remove": "remove", "Rename": "rename", "Stat": "stat", "Walk": "walk",
}  # fmt: skip

ALIASES: dict[str, str] = {
    **{name: f"io.{name}" for name in _IO},
    **{f"assert_{which}": f"debugging.assert_{which}" for which in _ASSERTIONS},
    **{f"gfile.{old}": f"io.gfile.{new}" for old, new in _GFILE.items()},
    **{name: f"quantization.{name}" for name in _QUANTIZATION},
    **{f"sparse_{name}": f"sparse.{name}" for name in _SPARSE},
    **{f"spectral.{name}": f"signal.{name}" for name in _TRANSFORMS},
    "OpError": "errors.OpError",
    "check_numerics": "debugging.check_numerics",
    "debugging.is_finite": "math.is_finite",
    "debugging.is_inf": "math.is_inf",
    "debugging.is_nan": "math.is_nan",
    "debugging.is_non_decreasing": "math.is_non_decreasing",
    "debugging.is_strictly_increasing": "math.is_strictly_increasing",
    "div_no_nan": "math.divide_no_nan",
    "dtypes.as_string": "strings.as_string",
    "is_numeric_tensor": "debugging.is_numeric_tensor",
    "linalg.transpose": "linalg.matrix_transpose",
    "matrix_square_root": "linalg.sqrtm",
    "manip.batch_to_space_nd": "batch_to_space",
    "manip.gather_nd": "gather_nd",
    "manip.reshape": "reshape",
    "manip.reverse": "reverse",
    "manip.roll": "roll",
    "manip.scatter_nd": "scatter_nd",
    "manip.space_to_batch_nd": "space_to_batch",
    "manip.tile": "tile",
    "nn.avg_pool_v2": "nn.avg_pool",
    "nn.ctc_beam_search_decoder_v2": "nn.ctc_beam_search_decoder",
    "nn.ctc_loss_v2": "nn.ctc_loss",
    "nn.depthwise_conv2d_native": "nn.depthwise_conv2d",
    "nn.max_pool_v2": "nn.max_pool",
    "python_io.TFRecordOptions": "io.TFRecordOptions",
    "python_io.TFRecordWriter": "io.TFRecordWriter",
    "random.multinomial": "random.categorical",
    "random.set_random_seed": "random.set_seed",
    "random_crop": "image.random_crop",
    "reduce_join": "strings.reduce_join",
    "regex_replace": "strings.regex_replace",
    "saved_model.load_v2": "saved_model.load",
    "sets.set_difference": "sets.difference",
    "sets.set_intersection": "sets.intersection",
    "sets.set_size": "sets.size",
    "sets.set_union": "sets.union",
    "sparse_tensor_dense_matmul": "sparse.sparse_dense_matmul",
    "sparse_tensor_to_dense": "sparse.to_dense",
    "sparse.matmul": "sparse.sparse_dense_matmul",
    "string_join": "strings.join",
    "string_strip": "strings.strip",
    "string_to_hash_bucket": "strings.to_hash_bucket",
    "string_to_hash_bucket_fast": "strings.to_hash_bucket_fast",
    "string_to_hash_bucket_strong": "strings.to_hash_bucket_strong",
    "string_to_number": "strings.to_number",
    "substr": "strings.substr",
}

# Namespaces of TensorFlow 1 alone.
SPACES = frozenset(
    path.partition(".")[0]
    for path in ALIASES
    if path.startswith(("gfile.", "manip.", "python_io.", "spectral."))
)
