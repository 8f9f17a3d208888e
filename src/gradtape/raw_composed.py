"""Operations of `tf.raw_ops` that are more than one call, for the tables of `raw_ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradtape as tf

from .ops.image.old_resize import old_resize

v1: Any = tf.compat.v1


def with_explicit(padding: Any, explicit: Any) -> Any:
    """The argument of functions, in which explicit paddings are pairs."""
    if padding != "EXPLICIT":
        return padding
    return [list(explicit[i : i + 2]) for i in range(0, len(explicit), 2)]


def all_but(x: Any, data_format: str) -> list[int]:
    """All axes but that of the channels."""
    rank = tf.convert_to_tensor(x).ndim
    channels = rank - 1 if data_format == "NHWC" else 1
    return [axis for axis in range(rank) if axis != channels]


def of_rows(condition: Any, x: Any) -> Any:
    """A vector of conditions, one for each row of `x`, in a shape that broadcasts."""
    chosen, value = tf.convert_to_tensor(condition), tf.convert_to_tensor(x)
    if chosen.ndim == 1 and value.ndim > 1:
        return tf.reshape(chosen, [-1] + [1] * (value.ndim - 1))
    return chosen


def none(like: Any, count: int) -> list[Any]:
    """Empty results, in place of those that are not computed."""
    return [tf.zeros([0], tf.convert_to_tensor(like).dtype)] * count


def pulled(function: Callable[[Any], Any], x: Any, g: Any) -> Any:
    """The gradient of a function at `x`, for the gradient `g` of its result."""
    at = tf.convert_to_tensor(x)
    with tf.GradientTape() as tape:
        tape.watch(at)
        y = function(at)
    return tape.gradient(y, at, tf.convert_to_tensor(g))


# ---------------------------------------------------------------------------------------------------------------------
# Numbers


def compared(function: Callable[[Any, Any], Any], x: Any, y: Any, must_broadcast: bool) -> Any:
    """`equal` or `not_equal`; tensors that do not broadcast, unless they must, are unequal as a whole."""
    if not must_broadcast:
        try:
            tf.broadcast_static_shape(tf.convert_to_tensor(x).shape, tf.convert_to_tensor(y).shape)
        except ValueError:
            return tf.constant(function is tf.not_equal)
    return function(x, y)


def bincount(values: Any, size: Any, weights: Any, binary_output: bool) -> Any:
    """Counts of each row of `values`, or sums of `weights`, for the numbers below `size`."""
    x, by = tf.convert_to_tensor(values), tf.convert_to_tensor(weights)
    given = by if by.shape.num_elements() else None
    axis = -1 if x.ndim == 2 else 0
    return tf.math.bincount(
        x, given, size, size, by.dtype, axis=axis if x.ndim == 2 else None, binary_output=binary_output
    )


def concat_offset(axis: Any, shapes: Any) -> list[Any]:
    """Where each tensor begins in what is concatenated of tensors of these shapes."""
    found = [tf.convert_to_tensor(shape) for shape in shapes]
    unit = tf.one_hot(axis, found[0].shape[0], dtype=found[0].dtype)
    starts = tf.cumsum(tf.stack([shape * unit for shape in found]), exclusive=True)
    return list(tf.unstack(starts))


def dim_map(x: Any, source: str, target: str) -> Any:
    """The axes `x` of one format as those of another."""
    places = tf.constant([target.index(letter) for letter in source])
    at = tf.convert_to_tensor(x)
    return tf.cast(tf.gather(places, tf.math.floormod(at, len(source))), at.dtype)


def vec_permute(x: Any, source: str, target: str) -> Any:
    """A vector (or rows of pairs) with an element for each axis of a format, for another format."""
    values = tf.convert_to_tensor(x)
    if values.shape[0] == len(source) - 2:  # those of images alone
        source, target = (text.replace("N", "").replace("C", "") for text in (source, target))
    return tf.gather(values, [source.index(letter) for letter in target])


def list_diff(x: Any, y: Any, out_idx: Any) -> tuple[Any, Any]:
    """The elements of a vector that are not in another, and their places."""
    values, others = tf.convert_to_tensor(x), tf.convert_to_tensor(y)
    fresh = tf.logical_not(tf.reduce_any(tf.equal(values[:, None], others[None, :]), 1))
    at = tf.where(fresh)[:, 0]
    return tf.gather(values, at), tf.cast(at, out_idx)


def nth_element(x: Any, n: Any, reverse: bool) -> Any:
    """The n-th smallest number of each row, or the n-th largest."""
    ordered = tf.sort(x, direction="DESCENDING" if reverse else "ASCENDING")
    return tf.gather(ordered, n, axis=-1)


def population_count(x: Any) -> Any:
    """The number of bits that are 1."""
    value = tf.convert_to_tensor(x)
    wide = tf.cast(tf.bitcast(value, f"uint{8 * value.dtype.size}"), tf.uint64)
    bits = tf.bitwise.right_shift(wide[..., None], tf.range(64, dtype=tf.uint64))
    return tf.cast(tf.reduce_sum(tf.bitwise.bitwise_and(bits, tf.constant(1, tf.uint64)), -1), tf.uint8)


def strided_update(x: Any, value: Any, *slices: Any) -> Any:
    """`x` with another value in a slice."""
    source = tf.convert_to_tensor(x)
    numbers = tf.reshape(tf.range(tf.size(source)), tf.shape(source))
    places = tf.reshape(tf.strided_slice(numbers, *slices), [-1])
    new = tf.reshape(tf.broadcast_to(value, tf.shape(tf.strided_slice(numbers, *slices))), [-1])
    flat = tf.tensor_scatter_nd_update(tf.reshape(source, [-1]), places[:, None], new)
    return tf.reshape(flat, tf.shape(source))


def selu_gradient(gradients: Any, outputs: Any) -> Any:
    """The gradient of selu by its result."""
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    g, out = tf.convert_to_tensor(gradients), tf.convert_to_tensor(outputs)
    return tf.where(tf.less(out, 0), g * (out + scale * alpha), g * scale)


def mirror_pad_gradient(g: Any, paddings: Any, mode: str) -> Any:
    """The gradient of a mirrored padding: what lies in it is added where it came from."""
    grown = tf.convert_to_tensor(g)
    before_after = tf.reduce_sum(tf.convert_to_tensor(paddings), 1)
    shape = tf.shape(grown) - tf.cast(before_after, tf.int32)
    return pulled(lambda x: tf.pad(x, paddings, mode), tf.zeros(shape, grown.dtype), grown)


def cholesky_gradient(factor: Any, g: Any) -> Any:
    """The gradient of a Cholesky factor with respect to the matrix, which is symmetric."""
    matrix = tf.matmul(factor, factor, adjoint_b=True)
    return pulled(tf.linalg.cholesky, matrix, g)


# ---------------------------------------------------------------------------------------------------------------------
# Networks


def beam_search(inputs: Any, lengths: Any, width: int, paths: int, merge_repeated: bool) -> tuple[Any, ...]:
    """What `ctc_beam_search_decoder` finds, its sparse tensors in three lists."""
    decoded, scores = v1.nn.ctc_beam_search_decoder(inputs, lengths, width, paths, merge_repeated)
    return (*split_parts(decoded), scores)


def greedy(inputs: Any, lengths: Any, merge_repeated: bool, blank_index: int) -> tuple[Any, ...]:
    """What `ctc_greedy_decoder` finds, its sparse tensor as three."""
    blank = None if blank_index == -1 else blank_index
    decoded, scores = tf.nn.ctc_greedy_decoder(inputs, lengths, merge_repeated, blank)
    return (*parts(decoded[0]), scores)


def sparse_cross_entropy(features: Any, labels: Any) -> tuple[Any, Any]:
    """The loss, and its gradient with respect to the logits."""
    logits = tf.convert_to_tensor(features)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return loss, tf.nn.softmax(logits) - tf.one_hot(labels, logits.shape[-1], dtype=logits.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Images


def resized(
    method: str, images: Any, size: Any, align_corners: bool, half_pixel_centers: bool = False
) -> Any:
    """Images in another size, as TensorFlow 1 does it."""
    return old_resize("Resize", images, size, method, align_corners, half_pixel_centers)


def resize_gradient(
    method: str, size: Any, dtype: Any, g: Any, align_corners: bool, half_pixel_centers: bool
) -> Any:
    """The gradient of `resized` for images of that size and dtype."""
    grown = tf.convert_to_tensor(g)
    shape = tf.concat([tf.shape(grown)[:1], tf.cast(size, tf.int32), tf.shape(grown)[3:]], 0)
    x = tf.zeros(shape, dtype)
    return pulled(
        lambda x: resized(method, x, tf.shape(grown)[1:3], align_corners, half_pixel_centers), x, grown
    )


def projected(images: Any, transforms: Any, shape: Any, interpolation: str, fill_mode: str) -> Any:
    """`ImageProjectiveTransformV3` that fills up with 0."""
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=images, transforms=transforms, output_shape=shape, fill_value=0.0,
        interpolation=interpolation, fill_mode=fill_mode,
    )  # fmt: skip


def suppressed(
    boxes: Any, scores: Any, most: Any, overlap: Any, threshold: Any, sigma: Any, padded: bool
) -> tuple[Any, Any, Any]:
    """The boxes that are kept, their scores, and how many there are."""
    kept, values = tf.image.non_max_suppression_with_scores(boxes, scores, most, overlap, threshold, sigma)
    count = tf.size(kept)
    if padded:
        fill = [[0, tf.convert_to_tensor(most) - count]]
        kept, values = tf.pad(kept, fill), tf.pad(values, fill)
    return kept, values, count


# ---------------------------------------------------------------------------------------------------------------------
# Sparse and ragged tensors, strings


SETS = {
    "a-b": ("difference", lambda a, b: (a, b)),
    "b-a": ("difference", lambda a, b: (b, a)),
    "intersection": ("intersection", lambda a, b: (a, b)),
    "union": ("union", lambda a, b: (a, b)),
}


def sparse(indices: Any, values: Any, shape: Any) -> Any:
    """A sparse tensor of its parts."""
    return tf.SparseTensor(tf.cast(indices, tf.int64), values, tf.cast(shape, tf.int64))


def parts(value: Any) -> tuple[Any, Any, Any]:
    """The parts of a sparse tensor."""
    return value.indices, value.values, value.dense_shape


def split_parts(values: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """The indices, the values and the shapes of sparse tensors."""
    indices, elements, shapes = zip(*map(parts, values))
    return list(indices), list(elements), list(shapes)


def filled_rows(found: Any, indices: Any) -> tuple[Any, Any, Any, Any]:
    """What `fill_empty_rows` gives, and where each element of the input is in it."""
    value, empty = found
    places = tf.stack([value.indices[:, 0], value.indices[:, 1]], 1).numpy().tolist()
    at = {tuple(place): i for i, place in enumerate(places)}
    rows = tf.convert_to_tensor(indices).numpy().tolist()
    back = tf.constant([at[tuple(row)] for row in rows], tf.int64)
    return value.indices, value.values, empty, back


def reshaped(indices: Any, shape: Any, new_shape: Any) -> tuple[Any, Any]:
    """The indices of a sparse tensor in another shape, and that shape."""
    count = tf.convert_to_tensor(indices).shape[0]
    made = tf.sparse.reshape(sparse(indices, tf.zeros([count]), shape), new_shape)
    return made.indices, made.dense_shape


def nested(values: Any, splits: Any) -> Any:
    """A ragged tensor of its flat values and its row splits."""
    return tf.RaggedTensor.from_nested_row_splits(values, splits)


def ragged_range(starts: Any, limits: Any, deltas: Any, dtype: Any) -> tuple[Any, Any]:
    """The row splits and the values of `tf.ragged.range`."""
    made = tf.ragged.range(starts, limits, deltas, row_splits_dtype=dtype)
    return made.row_splits, made.flat_values


def pieces(strings: Any, sep: Any, maxsplit: int) -> Any:
    """Strings in pieces, as a ragged tensor."""
    between = tf.compat.as_text(tf.convert_to_tensor(sep).numpy())
    return tf.strings.split(strings, between or None, maxsplit)


# ---------------------------------------------------------------------------------------------------------------------
# Variables


def stored(variable: Any, value: Any) -> None:
    """Assign a value to a variable."""
    variable.assign(value)


def added(variable: Any, value: Any) -> None:
    """Add a value to a variable."""
    variable.assign_add(value)


def subtracted(variable: Any, value: Any) -> None:
    """Subtract a value from a variable."""
    variable.assign_sub(value)


def scattered(function: Callable[..., Any], variable: Any, indices: Any, updates: Any) -> None:
    """Change rows of a variable."""
    function(variable, indices, updates)


# -- several results ---------------------------------------------------------------------------------------------------


def normalized(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    epsilon: float,
    factor: float,
    form: str,
    training: bool,
) -> tuple[Any, ...]:
    """Images normalized over the batch, with what the gradient needs: the mean and the biased variance."""
    running = (None, None) if training and factor == 1 else (mean, variance)
    y, new_mean, new_variance = v1.nn.fused_batch_norm(
        x, scale, offset, *running, epsilon, form, training, exponential_avg_factor=factor
    )
    if not training:
        return y, new_mean, new_variance, mean, variance
    wide = tf.cast(x, tf.float32)
    return y, new_mean, new_variance, *tf.nn.moments(wide, all_but(wide, form))


def ctc(labels: Any, inputs: Any, lengths: Any, *options: bool) -> tuple[Any, Any]:
    """The losses, and their gradient with respect to the logits."""
    logits = tf.convert_to_tensor(inputs)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = v1.nn.ctc_loss(labels, logits, lengths, *options)
    return loss, tape.gradient(loss, logits)


def runs(
    data: Any, splits: Any, separator: Any, widths: Any, left: Any, right: Any, pad_width: int, short: bool
) -> tuple[Any, Any]:
    """N-grams of rows of strings: those of the first width in a row, then those of the next."""
    rows = tf.RaggedTensor.from_row_splits(data, splits)
    pads = (left, right) if left or right or pad_width else None
    width = None if pad_width < 0 else pad_width
    found = tf.strings.ngrams(rows, tuple(widths), separator, pads, width if pads else None, short)
    return found.values, tf.cast(found.row_splits, tf.convert_to_tensor(splits).dtype)


def decoded(input: Any, Tsplits: Any, *options: Any) -> tuple[Any, Any, Any]:
    """The splits between strings, the codes of their characters, and the places of these in bytes."""
    flat = tf.reshape(input, [-1])
    codes, places = tf.strings.unicode_decode_with_offsets(flat, *options)
    return tf.cast(codes.row_splits, Tsplits), codes.values, places.values
