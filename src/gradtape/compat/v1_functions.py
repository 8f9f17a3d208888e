"""Functions and classes of TensorFlow 1 that TensorFlow 2 has not, or has with another meaning: for `compat.v1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import gradtape

from ..core.errors import InvalidArgumentError
from ..core.tensor import wrap
from ..ops.nn.ctc import collapse_repeated

if TYPE_CHECKING:
    from ..core.tensor import Tensor
    from ..core.types import Axes, ShapeLike, TensorLike
    from ..core.variable import Variable


class Dimension:
    """The length of an axis, or None: TensorFlow 2 has plain numbers instead.

    >>> int(Dimension(3)), Dimension(3) == 3, Dimension(None).value
    (3, True, None)
    """

    def __init__(self, value: Any) -> None:
        known = value.value if isinstance(value, Dimension) else value
        self.value: int | None = None if known is None else int(known)
        if self.value is not None and self.value < 0:
            raise ValueError(f"Dimension: a length must be 0 or more, not {self.value}")

    def __index__(self) -> int:
        if self.value is None:
            raise TypeError("Dimension: the length is not known")
        return self.value

    def __int__(self) -> int:
        return self.__index__()

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Dimension) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """The length of an axis.

    Args:
        shape: a TensorShape.
        index: the axis.

    >>> int(dimension_at_index(gradtape.TensorShape([2, 3]), 1))
    3
    """
    return Dimension(shape[index])


def dimension_value(dimension: Any) -> int | None:
    """The length that a Dimension holds.

    Args:
        dimension: a Dimension, a number, or None.

    >>> dimension_value(Dimension(3)), dimension_value(3)
    (3, 3)
    """
    value: int | None = getattr(dimension, "value", dimension)
    return value


def is_variable_initialized(variable: Any) -> Any:
    """Return whether a variable has a value, as a tensor.

    Args:
        variable: the variable.

    >>> bool(is_variable_initialized(gradtape.Variable(1.0)))
    True
    """
    return variable.is_initialized()


# ---------------------------------------------------------------------------------------------------------------------
# Variables


def assign(
    ref: Variable,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Assign a value to a variable; returns the variable. The shape must stay, whatever `validate_shape` says.

    >>> float(assign(gradtape.Variable(1.0), 2.0))
    2.0
    """
    return ref.assign(value)


def assign_add(
    ref: Variable, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Add a value to a variable; returns the variable.

    >>> float(assign_add(gradtape.Variable(1.0), 2.0))
    3.0
    """
    return ref.assign_add(value)


def assign_sub(
    ref: Variable, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtract a value from a variable; returns the variable.

    >>> float(assign_sub(gradtape.Variable(1.0), 2.0))
    -1.0
    """
    return ref.assign_sub(value)


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """`tf.gather`, where all axes of the indices but the last are those of a batch.

    >>> batch_gather([[1, 2], [3, 4]], [[1], [0]]).numpy()
    array([[2], [3]], dtype=int32)
    """
    at = gradtape.convert_to_tensor(indices)
    return gradtape.gather(params, at, batch_dims=at.ndim - 1)


# ---------------------------------------------------------------------------------------------------------------------
# Networks


def dropout(
    x: TensorLike,
    keep_prob: float | Tensor | None = None,
    noise_shape: ShapeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: float | Tensor | None = None,
) -> Tensor:
    """`tf.nn.dropout` by the share that is kept, or by the rate that is dropped.

    Raises:
        ValueError: unless one of `keep_prob` and `rate` is given.

    >>> dropout(gradtape.ones(3), keep_prob=1.0).numpy()
    array([1., 1., 1.], dtype=float32)
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("compat.v1.nn.dropout: give one of keep_prob and rate")
    dropped = rate if keep_prob is None else 1 - keep_prob
    assert dropped is not None
    return gradtape.nn.dropout(x, dropped, noise_shape, seed, name)


def softmax_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """`tf.nn.softmax_cross_entropy_with_logits`, but no gradient flows into the labels.

    Raises:
        ValueError: if `labels` or `logits` is missing.

    >>> round(float(softmax_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[0.0, 0.0])), 4)
    0.6931
    """
    if labels is None or logits is None:
        raise ValueError("compat.v1.nn.softmax_cross_entropy_with_logits: give labels and logits")
    constant = gradtape.stop_gradient(labels)
    return gradtape.nn.softmax_cross_entropy_with_logits(
        constant, logits, dim if axis is None else axis, name
    )


def ctc_loss(
    labels: Any,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> Tensor:
    """`tf.nn.ctc_loss` of sparse labels, with blank as the last class.

    Args:
        labels: a `SparseTensor`.
        inputs: logits of shape (time, batch, classes), or (batch, time, classes) if not `time_major`.
        sequence_length: how many time steps each sequence has.
        preprocess_collapse_repeated: leave out labels that repeat the one before.
        ctc_merge_repeated: must be True: a path that repeats a label says it once.
        ignore_longer_outputs_than_inputs: accepted; the loss of such labels is infinite.
        logits: another name for `inputs`.

    Raises:
        InvalidArgumentError: if `ctc_merge_repeated` is False.
        ValueError: if the logits or their lengths are missing.

    >>> labels = gradtape.SparseTensor([[0, 0]], [0], [1, 1])
    >>> round(float(ctc_loss(labels, gradtape.zeros([2, 1, 2]), [2])[0]), 4)
    0.2877
    """
    given = inputs if logits is None else logits
    if given is None or sequence_length is None:
        raise ValueError("compat.v1.nn.ctc_loss: give inputs and sequence_length")
    if not ctc_merge_repeated:
        raise InvalidArgumentError(
            "compat.v1.nn.ctc_loss: ctc_merge_repeated=False is not the loss of any path here"
        )
    lengths = None
    if preprocess_collapse_repeated:
        rows = gradtape.sparse.to_dense(labels)
        counts = np.bincount(labels.indices.numpy()[:, 0], minlength=labels.shape[0])
        labels, lengths = collapse_repeated(rows, counts)
    return gradtape.nn.ctc_loss(labels, given, lengths, sequence_length, time_major, blank_index=-1)


def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[Any], Tensor]:
    """`tf.nn.ctc_beam_search_decoder`; with `merge_repeated` labels that repeat the one before are left out.

    >>> decoded, _ = ctc_beam_search_decoder([[[0.0, 0.0, 0.3]], [[0.0, 0.0, 0.3]]], [2])
    >>> decoded[0].values.numpy()
    array([0])
    """
    decoded, scores = gradtape.nn.ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths)
    return ([_merged(paths) for paths in decoded] if merge_repeated else decoded), scores


def _merged(paths: Any) -> Any:
    """Rows of labels without repetitions, moved together."""
    at, values = paths.indices.numpy(), paths.values.numpy()
    again = (at[1:, 0] == at[:-1, 0]) & (values[1:] == values[:-1])
    kept = np.concatenate([np.ones(min(len(at), 1), bool), ~again])
    rows = at[kept, 0]
    columns = np.arange(len(rows)) - np.searchsorted(rows, rows)
    shape = [paths.dense_shape.numpy()[0], columns.max(initial=-1) + 1]
    return type(paths)(
        wrap(np.stack([rows, columns], 1)), wrap(values[kept]), wrap(np.array(shape, np.int64))
    )


def sparse_concat(
    axis: int | None = None,
    sp_inputs: Sequence[Any] = (),
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> Any:
    """`tf.sparse.concat` with TensorFlow 1's names.

    >>> part = gradtape.SparseTensor([[0]], [1.0], [2])
    >>> sparse_concat(0, [part, part]).shape
    TensorShape([4])
    """
    along = concat_dim if axis is None else axis
    if along is None:
        raise ValueError("compat.v1.sparse_concat: give the axis")
    expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    return gradtape.sparse.concat(along, sp_inputs, expand)


class TFRecordCompressionType:
    """The ways in which a TFRecord file is compressed, by number.

    >>> TFRecordCompressionType.GZIP
    2
    """

    NONE = 0
    ZLIB = 1
    GZIP = 2


def sparse_reduce_max_sparse(
    sp_input: Any,
    axis: Axes = None,
    keepdims: bool | None = None,
    reduction_axes: Axes = None,
    keep_dims: bool | None = None,
) -> Any:
    """`tf.sparse.reduce_max` with a sparse result; `reduction_axes` and `keep_dims` are older names.

    >>> from gradtape import sparse
    >>> sparse.to_dense(sparse_reduce_max_sparse(sparse.from_dense([[1, 2], [0, 4]]), 1)).numpy()
    array([2, 4], dtype=int32)
    """
    along, keep = axis if reduction_axes is None else reduction_axes, bool(keepdims or keep_dims)
    return gradtape.sparse.reduce_max(sp_input, along, keep, output_is_sparse=True)


def sparse_reduce_sum_sparse(
    sp_input: Any,
    axis: Axes = None,
    keepdims: bool | None = None,
    reduction_axes: Axes = None,
    keep_dims: bool | None = None,
) -> Any:
    """`tf.sparse.reduce_sum` with a sparse result; `reduction_axes` and `keep_dims` are older names.

    >>> from gradtape import sparse
    >>> sparse.to_dense(sparse_reduce_sum_sparse(sparse.from_dense([[1, 2], [0, 4]]), 1)).numpy()
    array([3, 4], dtype=int32)
    """
    along, keep = axis if reduction_axes is None else reduction_axes, bool(keepdims or keep_dims)
    return gradtape.sparse.reduce_sum(sp_input, along, keep, output_is_sparse=True)
