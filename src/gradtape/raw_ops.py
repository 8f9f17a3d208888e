"""The public namespace `gradtape.raw_ops`: operations by TensorFlow's own names, with keywords alone.

An operation with several results gives them by name and in order, as TensorFlow's does. `raw_examples.txt` has an
example for each, with TensorFlow's results (`tests/data/make_raw_examples.py`).
"""

import functools
from collections import namedtuple
from collections.abc import Callable
from importlib import resources
from typing import Any

from .names.missing import closed
from .ops.raw import Bucketize, ImageProjectiveTransformV3, UniqueV2, UniqueWithCountsV2
from .raw_data_table import TABLE as _ON_DATA
from .raw_table import TABLE as _ON_NUMBERS

_tuple_of: Any = namedtuple
_RESULTS = {  # names of the results, where there are several
    "AllCandidateSampler": "sampled_candidates true_expected_count sampled_expected_count",
    "ApproxTopK": "values indices",
    "CTCBeamSearchDecoder": "decoded_indices decoded_values decoded_shape log_probability",
    "CTCGreedyDecoder": "decoded_indices decoded_values decoded_shape log_probability",
    "CTCLoss": "loss gradient",
    "CombinedNonMaxSuppression": "nmsed_boxes nmsed_scores nmsed_classes valid_detections",
    "ComputeAccidentalHits": "indices ids weights",
    "DecodeProtoV2": "sizes values",
    "DecodeWav": "audio sample_rate",
    "DenseToDenseSetOperation": "result_indices result_values result_shape",
    "DenseToSparseSetOperation": "result_indices result_values result_shape",
    "DeserializeManySparse": "sparse_indices sparse_values sparse_shape",
    "Eig": "e v",
    "FakeQuantWithMinMaxVarsGradient": "backprops_wrt_input backprop_wrt_min backprop_wrt_max",
    "FakeQuantWithMinMaxVarsPerChannelGradient": "backprops_wrt_input backprop_wrt_min backprop_wrt_max",
    "FixedUnigramCandidateSampler": "sampled_candidates true_expected_count sampled_expected_count",
    "FractionalAvgPool": "output row_pooling_sequence col_pooling_sequence",
    "FractionalMaxPool": "output row_pooling_sequence col_pooling_sequence",
    "FusedBatchNorm": "y batch_mean batch_variance reserve_space_1 reserve_space_2",
    "FusedBatchNormV2": "y batch_mean batch_variance reserve_space_1 reserve_space_2",
    "FusedBatchNormV3": "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3",
    "IsotonicRegression": "output segments",
    "ListDiff": "out idx",
    "LogMatrixDeterminant": "sign log_abs_determinant",
    "LogUniformCandidateSampler": "sampled_candidates true_expected_count sampled_expected_count",
    "Lu": "lu p",
    "MaxPoolWithArgmax": "output argmax",
    "NonMaxSuppressionV4": "selected_indices valid_outputs",
    "NonMaxSuppressionV5": "selected_indices selected_scores valid_outputs",
    "Qr": "q r",
    "RaggedRange": "rt_nested_splits rt_dense_values",
    "RaggedTensorToSparse": "sparse_indices sparse_values sparse_dense_shape",
    "SelfAdjointEigV2": "e v",
    "SoftmaxCrossEntropyWithLogits": "loss backprop",
    "SparseAdd": "sum_indices sum_values sum_shape",
    "SparseConcat": "output_indices output_values output_shape",
    "SparseFillEmptyRows": "output_indices output_values empty_row_indicator reverse_index_map",
    "SparseReduceMaxSparse": "output_indices output_values output_shape",
    "SparseReduceSumSparse": "output_indices output_values output_shape",
    "SparseReorder": "output_indices output_values",
    "SparseReshape": "output_indices output_shape",
    "SparseSlice": "output_indices output_values output_shape",
    "SparseSoftmaxCrossEntropyWithLogits": "loss backprop",
    "SparseSparseMaximum": "output_indices output_values",
    "SparseSparseMinimum": "output_indices output_values",
    "SparseSplit": "output_indices output_values output_shape",
    "SparseToSparseSetOperation": "result_indices result_values result_shape",
    "StringNGrams": "ngrams ngrams_splits",
    "StringSplit": "indices values shape",
    "StringSplitV2": "indices values shape",
    "Svd": "s u v",
    "TopK": "values indices",
    "TopKV2": "values indices",
    "UnicodeDecode": "row_splits char_values",
    "UnicodeDecodeWithOffsets": "row_splits char_values char_to_byte_starts",
    "UniformCandidateSampler": "sampled_candidates true_expected_count sampled_expected_count",
    "Unique": "y idx",
    "UniqueWithCounts": "y idx count",
}


def _examples() -> dict[str, str]:
    """An example for each operation, as in a docstring."""
    text = resources.files(__package__).joinpath("raw_examples.txt").read_text(encoding="utf-8")
    blocks = [block.partition("\n") for block in text.rstrip().split("\n\n")]
    return {head.strip("[]"): example for head, _, example in blocks}


def _named(name: str, function: Callable[..., Any], example: str) -> Callable[..., Any]:
    """An operation with its name, its text and, if there are several, named results."""
    text = f"The operation {name} of TensorFlow, under its own name and with keywords alone.\n\n{example}\n"
    if name in _RESULTS:
        results: Any = _tuple_of(name, _RESULTS[name])
        compute = function

        @functools.wraps(compute)
        def function(**inputs: Any) -> Any:
            return results(*compute(**inputs))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


_EXAMPLES = _examples()
_TABLE = {
    name: _named(name, function, _EXAMPLES[name]) for name, function in {**_ON_NUMBERS, **_ON_DATA}.items()
}
globals().update(_TABLE)

__all__ = ["Bucketize", "ImageProjectiveTransformV3", "UniqueV2", "UniqueWithCountsV2", *_TABLE]  # noqa: PLE0604

closed(__name__)
