"""Public functions inside a compiled function: the same results from values that are not known while it is traced.

What needs to know them says so. All cases are compiled as one function: a compilation each would take a minute.
"""

from __future__ import annotations

import functools
import io
import re

import numpy as np
import pytest

import gradtape as tf

pytest.importorskip("jax")

X = np.arange(12, dtype=np.float32).reshape(3, 4) / 7 - 0.5
N = np.array([2, 0, 1, 2], np.int32)
INPUTS = {
    "x": X,
    "n": N,
    "i": np.int32(2),
    "j": np.int32(-1),
    "mask": X > 0,
    "seed": np.array([3, -4], np.int32),
    "square": np.float64([[4, 1, 0], [1, 3, 1], [0, 1, 2]]),
    "image": np.linspace(0, 1, 2 * 5 * 6 * 3, dtype=np.float32).reshape(2, 5, 6, 3),
    "half": np.float32(0.5),
}


def losses_of_a_sample(v):
    drawn = tf.random.uniform_candidate_sampler([[1], [2], [0]], 1, 4, False, 9, seed=1)
    sampled = tf.constant([3, 5, 7, 8], tf.int64), drawn[1], drawn[2]
    weights = tf.reshape(tf.range(36.0) / 40, (9, 4))
    labels = tf.expand_dims(v.n[:3], 1)
    return tf.nn.nce_loss(weights, tf.zeros(9), labels, v.x, 4, 9, sampled_values=sampled)


# By name, a function of all the inputs.
SAME = {
    "x[i]": lambda v: v.x[v.i],
    "x[j], negative": lambda v: v.x[v.j],
    "x[i, j]": lambda v: v.x[v.i, v.j],
    "x[:, i]": lambda v: v.x[:, v.i],
    "x[..., i, newaxis]": lambda v: v.x[..., v.i, tf.newaxis],
    "x[tensor]": lambda v: v.x[:, v.n],
    "slice": lambda v: tf.slice(v.x, [v.i - 2, 1], [2, 3]),
    "roll": lambda v: tf.roll(v.x, v.i, axis=1),
    "roll, several": lambda v: tf.roll(v.x, tf.stack([v.i, v.j]), axis=[0, 1]),
    "gather": lambda v: tf.gather(v.x, v.n),
    "gather, axis and batch": lambda v: tf.gather(v.x, v.n[:3, None], axis=1, batch_dims=1),
    "gather_nd": lambda v: tf.gather_nd(v.x, tf.stack([v.n[:3], v.n[1:]], 1)),
    "gather_nd, ignore": lambda v: tf.gather_nd(v.x, v.n[:, None] * 2, bad_indices_policy="IGNORE"),
    "scatter_nd": lambda v: tf.scatter_nd(v.n[:, None], tf.transpose(v.x), (3, 3)),
    "scatter_nd, ignore": lambda v: tf.scatter_nd(
        v.n[:, None] * 2, tf.transpose(v.x), (3, 3), bad_indices_policy="IGNORE"
    ),
    "tensor_scatter_nd_update": lambda v: tf.tensor_scatter_nd_update(
        tf.zeros((3, 3)), v.n[:, None], tf.transpose(v.x)
    ),
    "tensor_scatter_nd_max": lambda v: tf.tensor_scatter_nd_max(
        tf.zeros((3, 3)), v.n[:, None], tf.transpose(v.x)
    ),
    "one_hot": lambda v: tf.one_hot(v.n, 3, axis=0),
    "reverse_sequence": lambda v: tf.reverse_sequence(v.x, v.n[:3], seq_axis=1),
    "sequence_mask": lambda v: tf.sequence_mask(v.n, 3),
    "unravel_index": lambda v: tf.unravel_index(v.n, [2, 2]),
    "pad with a traced constant": lambda v: tf.pad(v.x, [[1, 0], [0, 1]], constant_values=v.half),
    "linspace": lambda v: tf.linspace(v.half, 2.0, 5),
    "fill": lambda v: tf.fill((2, 2), v.half),
    "constant": lambda v: tf.constant(v.x),
    "a list of tensors": lambda v: tf.convert_to_tensor([v.half, 1.0, v.x[0, 0]]),
    "floor division": lambda v: v.n // (v.n + 1),
    "division of integers": lambda v: (v.n / 3, tf.cast(v.n, "int8") / 3, tf.math.divide_no_nan(v.n, v.n)),
    "conv2d_transpose of integers": lambda v: tf.nn.conv2d_transpose(
        tf.reshape(v.n, (1, 2, 2, 1)), tf.ones((2, 2, 1, 1), tf.int32), (1, 3, 3, 1), 1, "VALID"
    ),
    "top_k": lambda v: tf.math.top_k(v.x, 2),
    "in_top_k": lambda v: tf.math.in_top_k(v.n[:3], v.x, 2),
    "sort, descending": lambda v: tf.sort(v.x, direction="DESCENDING"),
    "searchsorted": lambda v: tf.searchsorted([0.0, 0.5, 0.7], v.x[1]),
    "searchsorted in batches": lambda v: tf.searchsorted(v.x, v.x - v.half, side="right"),
    "invert_permutation": lambda v: tf.math.invert_permutation(v.n[:3]),
    "unsorted_segment_sum": lambda v: tf.math.unsorted_segment_sum(tf.transpose(v.x), v.n - 1, 3),
    "unsorted_segment_mean": lambda v: tf.math.unsorted_segment_mean(tf.transpose(v.x), v.n, 4),
    "unsorted_segment_sqrt_n": lambda v: tf.math.unsorted_segment_sqrt_n(tf.transpose(v.x), v.n, 4),
    "unsorted_segment_max": lambda v: tf.math.unsorted_segment_max(tf.transpose(v.x), v.n, 4),
    "unsorted_segment_prod": lambda v: tf.math.unsorted_segment_prod(tf.transpose(v.x), v.n, 4),
    "bincount": lambda v: tf.math.bincount(v.n, minlength=3, maxlength=3),
    "bincount, weighted": lambda v: tf.math.bincount(v.n, v.x[0], minlength=3, maxlength=3),
    "histogram_fixed_width": lambda v: tf.histogram_fixed_width(v.x, tf.stack([-v.half, v.half]), 4),
    "confusion_matrix": lambda v: tf.math.confusion_matrix(v.n, v.n[::-1], 3),
    "zero_fraction": lambda v: tf.nn.zero_fraction(v.n),
    "is_non_decreasing": lambda v: tf.math.is_non_decreasing(v.x),
    "adjust_gamma": lambda v: tf.image.adjust_gamma(v.image, v.half),
    "adjust_hue": lambda v: tf.image.adjust_hue(v.image, v.half),
    "crop_and_resize": lambda v: tf.image.crop_and_resize(
        v.image, tf.stack([tf.stack([0.1, 0.2, v.half, 1.2])]), v.n[1:2], (2, 3)
    ),
    "resize": lambda v: tf.image.resize(v.image, (7, 3)),
    "resize, lanczos": lambda v: tf.image.resize(v.image, (3, 9), "lanczos3", antialias=True),
    "ssim": lambda v: tf.image.ssim(v.image, v.image * v.half, 1.0, filter_size=3),
    "extract_patches": lambda v: tf.image.extract_patches(
        v.image, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 1, 1], "SAME"
    ),
    "angle": lambda v: tf.math.angle(v.x),
    "imag": lambda v: tf.math.imag(v.x),
    "stft": lambda v: tf.signal.stft(tf.reshape(v.x, (-1,)), 4, 2),
    "fft over four axes": lambda v: tf.signal.fftnd(tf.cast(v.image, tf.complex64)),
    "rfft and back over four axes": lambda v: tf.signal.irfftnd(tf.signal.rfftnd(v.image)),
    "matrix_rank": lambda v: tf.linalg.matrix_rank(v.square),
    "pinv, rcond": lambda v: tf.linalg.pinv(v.square, tf.cast(v.half, tf.float64)),
    "lu_reconstruct": lambda v: tf.linalg.lu_reconstruct(*tf.linalg.lu(v.square)),
    "lu_solve": lambda v: tf.linalg.lu_solve(*tf.linalg.lu(v.square), v.square),
    "norm": lambda v: tf.norm(v.square, ord=2, axis=(0, 1)),
    "weighted_moments": lambda v: tf.nn.weighted_moments(v.x, [0], v.half),
    "log_poisson_loss": lambda v: tf.nn.log_poisson_loss(v.x, v.x, compute_full_loss=True),
    "compute_average_loss": lambda v: tf.nn.compute_average_loss(v.x[0], global_batch_size=v.i),
    "ctc_loss": lambda v: tf.nn.ctc_loss(
        tf.stack([v.n[:3], v.n[1:]]), tf.reshape(v.image[..., 0], (6, 2, 5)), v.n[2:], v.n[2:] * 3
    ),
    "ctc_unique_labels": lambda v: tf.nn.ctc_unique_labels(tf.stack([v.n, v.n[::-1]])),
    "nce_loss": losses_of_a_sample,
    "max_pool_with_argmax": lambda v: tf.nn.max_pool_with_argmax(v.image, 2, 2, "SAME"),
    "stateless_normal": lambda v: tf.random.stateless_normal((5,), v.seed, dtype="float64"),
    "stateless_truncated_normal": lambda v: tf.random.stateless_truncated_normal(
        (50,), v.seed, dtype="float64"
    ),
    "stateless_uniform": lambda v: tf.random.stateless_uniform((5,), v.seed, -v.half, v.half),
    "stateless_uniform, integers": lambda v: tf.random.stateless_uniform((9,), v.seed, v.j, v.i, tf.int32),
    "stateless_uniform, all integers": lambda v: tf.random.stateless_uniform(
        (9,), v.seed, None, None, tf.uint64
    ),
    "stateless_categorical": lambda v: tf.random.stateless_categorical(v.x, 20, v.seed),
    "stateless_gamma": lambda v: tf.random.stateless_gamma((4, 3), v.seed, tf.abs(v.x[:, 0]) + 0.5),
    "stateless_poisson": lambda v: tf.random.stateless_poisson((4, 3), v.seed, tf.abs(v.x[:, 0])),
    "stateless_binomial": lambda v: tf.random.stateless_binomial((4,), v.seed, 10.0, v.half),
    "stateless_dropout": lambda v: tf.nn.experimental.stateless_dropout(v.x, v.half, v.seed),
    "stateless_random_crop": lambda v: tf.image.stateless_random_crop(v.image, (1, 2, 3, 3), v.seed),
    "stateless_random_flip_left_right": lambda v: tf.image.stateless_random_flip_left_right(v.image, v.seed),
    "stateless_random_flip_up_down": lambda v: tf.image.stateless_random_flip_up_down(v.image[0], v.seed),
    "stateless_shuffle": lambda v: tf.random.experimental.stateless_shuffle(tf.range(9), v.seed),
}


class Values:
    def __init__(self, values):
        self.__dict__.update(values)


def arrays(result):
    return [np.asarray(tf.convert_to_tensor(r)) for r in tf.nest.flatten(result)]


@functools.cache
def compiled() -> dict:
    """For each case its results, or what was raised when it was traced."""
    errors = {}

    @tf.function(autograph=False)
    def everything(values):
        found = {}
        for name, case in SAME.items():
            try:
                found[name] = [tf.convert_to_tensor(r) for r in tf.nest.flatten(case(Values(values)))]
            except Exception as error:
                errors[name] = error
        return found

    return everything({name: tf.constant(value) for name, value in INPUTS.items()}) | errors


@pytest.mark.parametrize("name", SAME)
def test_the_same_compiled_as_eagerly(name):
    got = compiled()[name]
    if isinstance(got, Exception):
        raise got
    wanted = arrays(SAME[name](Values({name: tf.constant(value) for name, value in INPUTS.items()})))
    for x, y in zip(arrays(got), wanted, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if y.dtype.kind in "fc":
            precision = 1e-12 if y.dtype.itemsize == 8 and y.dtype.kind == "f" else 2e-6
            assert np.allclose(x, y, 0, precision * max(1, np.abs(y).max()), equal_nan=True)
        else:
            assert np.array_equal(x, y)


def test_an_index_out_of_bounds_gives_0_and_puts_nothing():
    @tf.function
    def gathered(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = tf.gather(x, n)
        put = tf.tensor_scatter_nd_update(x, n[:, None], -rows)
        return rows, tf.convert_to_tensor(tape.gradient(rows, x)), put

    rows, gradient, put = gathered(tf.constant([1.0, 2.0, 3.0]), tf.constant([3, -1, 1]))
    assert rows.numpy().tolist() == [0, 0, 2]
    assert gradient.numpy().tolist() == [0, 1, 0]
    assert put.numpy().tolist() == [1, -2, 3]


def test_of_several_updates_for_one_place_the_last_wins():
    update = tf.function(lambda n: tf.tensor_scatter_nd_update(tf.zeros(3), n[:, None], tf.range(9.0)))
    assert update(tf.constant([1, 0, 1, 1, 0, 2, 1, 0, 2])).numpy().tolist() == [7, 6, 8]


# ---------------------------------------------------------------------------------------------------------------------
# What has to be known

SHAPE = "the shape of the result depends on the values"
KNOWN = "must be known while a @function is traced"
NOT_COMPILED = {
    "boolean_mask": (lambda v: tf.boolean_mask(v.x, v.mask), f"boolean_mask: {SHAPE}.*where"),
    "x[mask]": (lambda v: v.x[v.mask], f"x\\[mask\\]: {SHAPE}.*where"),
    "where": (lambda v: tf.where(v.mask), f"where: {SHAPE}.*where\\(condition, x, y\\)"),
    "unique": (lambda v: tf.unique(v.n), f"unique: {SHAPE}"),
    "unique_with_counts": (lambda v: tf.unique_with_counts(v.n), f"unique_with_counts: {SHAPE}"),
    "dynamic_partition": (lambda v: tf.dynamic_partition(v.x[0], v.n, 3), f"{SHAPE}.*where"),
    "dynamic_stitch": (lambda v: tf.dynamic_stitch([v.n], [v.x[0]]), f"{SHAPE}.*tensor_scatter_nd_update"),
    "range": (lambda v: tf.range(v.i), f"range: {SHAPE}"),
    "repeat": (lambda v: tf.repeat(v.x[0], v.n), f"repeat: {SHAPE}"),
    "segment_sum": (lambda v: tf.math.segment_sum(v.x[0], v.n), f"{SHAPE}.*unsorted_segment_sum"),
    "sequence_mask": (lambda v: tf.sequence_mask(v.n), f"{SHAPE}.*give maxlen"),
    "bincount": (lambda v: tf.math.bincount(v.n), f"{SHAPE}.*minlength and maxlength"),
    "confusion_matrix": (lambda v: tf.math.confusion_matrix(v.n, v.n), f"{SHAPE}.*give num_classes"),
    "x[:i]": (lambda v: v.x[: v.i], f"{SHAPE}.*slice\\(x, begin, size\\)"),
    "non_max_suppression": (
        lambda v: tf.image.non_max_suppression(tf.transpose(tf.stack([v.x[0]] * 4)), v.x[0], 2),
        f"non_max_suppression: {SHAPE}",
    ),
    "ctc_greedy_decoder": (
        lambda v: tf.nn.ctc_greedy_decoder(v.image[..., 0], [2] * 5),
        f"ctc_greedy_decoder: {SHAPE}",
    ),
    "collapse_repeated": (lambda v: tf.nn.collapse_repeated([v.n], [4]), f"collapse_repeated: {SHAPE}"),
    "compute_accidental_hits": (
        lambda v: tf.nn.compute_accidental_hits(v.n[:, None], [1, 2], 1),
        f"{SHAPE}.*remove_accidental_hits",
    ),
    "reshape": (lambda v: tf.reshape(v.x, [v.i, -1]), f"reshape: .*{KNOWN}"),
    "zeros": (lambda v: tf.zeros(v.n), f"zeros: .*{KNOWN}"),
    "reduce_sum": (lambda v: tf.reduce_sum(v.x, v.i), f"reduce_sum: axis {KNOWN}"),
    "top_k": (lambda v: tf.math.top_k(v.x, v.i), f"top_k: k {KNOWN}"),
    "pad": (lambda v: tf.pad(v.n, [[v.i, 0]]), f"pad: paddings {KNOWN}"),
    "tile": (lambda v: tf.tile(v.x, v.n[:2]), f"tile: .*{KNOWN}"),
    "unsorted_segment_sum": (
        lambda v: tf.math.unsorted_segment_sum(v.x[0], v.n, v.i),
        f"num_segments {KNOWN}",
    ),
    "py_function": (
        lambda v: tf.py_function(lambda x: x, [v.x], tf.float32),
        "py_function: inside a @function the shape of a result must be known: Tout=TensorSpec",
    ),
}
REFUSED = {
    "float": (lambda v: float(v.half), "float\\(tensor\\) needs the value .* not known while a @function"),
    "bool": (lambda v: not v.half, "bool\\(tensor\\), which `if`, .* Choose with cond"),
    "int": (lambda v: list(range(v.i)), "int\\(tensor\\), which range\\(\\)"),
    "numpy()": (lambda v: v.x.numpy(), "tensor.numpy\\(\\) needs the value"),
    "np.asarray": (lambda v: np.asarray(v.x), "np.asarray\\(tensor\\) needs the value"),
}


NOT_KNOWN = (tf.errors.InvalidArgumentError, TypeError, AttributeError, NotImplementedError)


def concrete(case):
    """The case as a concrete function of the inputs."""
    traced = tf.function(lambda values: [case(Values(values))], autograph=False)
    return traced.get_concrete_function({name: tf.constant(value) for name, value in INPUTS.items()})


@pytest.mark.parametrize("name", REFUSED)
def test_what_asks_for_values_says_so(name):
    case, message = REFUSED[name]
    with pytest.raises(NOT_KNOWN, match=message):
        concrete(case)


@pytest.mark.parametrize("name", NOT_COMPILED)
def test_what_xla_cannot_compile_is_logged(name, caplog):
    case, message = NOT_COMPILED[name]
    with caplog.at_level("WARNING", "gradtape"):
        concrete(case)
    assert re.search(f"operation by operation: .*{message}", caplog.text)


def test_what_is_known_is_fine():
    """Shapes, and constants, are: what is computed of them is computed while tracing."""

    @tf.function
    def rows(x):
        n = tf.shape(x)[0]
        assert "traced" in repr(x) and "traced" in str(x) and f"{x}"
        mask = tf.boolean_mask(tf.range(n), [True, False, True])
        return tf.reshape(x, [n * 2, -1]), tf.zeros(n - 1), mask, tf.stack([row * 2 for row in x]), len(x)

    halves, zeros, mask, doubled, length = rows(tf.constant(X))
    assert halves.shape == (6, 2) and zeros.shape == (2,) and mask.numpy().tolist() == [0, 2]
    assert np.array_equal(doubled, X * 2) and int(length) == 3


# ---------------------------------------------------------------------------------------------------------------------
# Python called while the program runs


def test_print_prints_on_every_run():
    stream = io.StringIO()

    @tf.function
    def printed(x):
        tf.print("x is", {"x": x}, tf.constant(3), output_stream=stream)
        return x

    for value in (1.5, 2.5):
        printed(tf.constant(value))
    assert stream.getvalue() == "x is {'x': 1.5} 3\nx is {'x': 2.5} 3\n"


def test_py_function_is_called_on_every_run_and_has_gradients_of_any_order():
    calls = []

    def product(x, n):
        calls.append(float(x[0]))
        return tf.sin(x) * tf.cast(n, x.dtype), n + 1

    specs = [tf.TensorSpec((2,), tf.float64), tf.TensorSpec((), tf.int64)]

    @tf.function
    def derivatives(x, n):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y, after = tf.py_function(product, [x, n], specs)
            slope = inner.gradient(y, x)
        return y, after, slope, outer.gradient(slope, x)

    for at in ([0.5, 1.0], [1.5, 2.0]):
        y, after, slope, bend = derivatives(tf.constant(at, tf.float64), tf.constant(1 << 40, tf.int64))
        assert int(after) == (1 << 40) + 1
        for got, wanted in ((y, np.sin(at)), (slope, np.cos(at)), (bend, -np.sin(at))):
            assert np.allclose(got.numpy() / (1 << 40), wanted, rtol=1e-14)
    assert set(calls) == {0.5, 1.5}


def test_numpy_function():
    sinh = tf.function(lambda x: tf.numpy_function(np.sinh, [x], tf.TensorSpec((2,), tf.complex128)))
    x = np.array([0.5, 1 + 2j])
    assert np.allclose(sinh(tf.constant(x)), np.sinh(x), rtol=1e-15)


# What raises while the program runs, and what is raised.
RAISES = {
    "assert_positive": (lambda x: tf.debugging.assert_positive(x, "all"), "all.*x > 0.*at \\[1\\]: x is -2"),
    "Assert": (lambda x: tf.debugging.Assert(x[1] > 0, ["seen", x]), "seen.*1.0, -2.0"),
    "check_numerics": (lambda x: tf.debugging.check_numerics(tf.sqrt(x), "roots"), "roots : Tensor had NaN"),
    "py_function": (
        lambda x: tf.py_function(lambda x: list(x)[2], [x], tf.TensorSpec((), tf.float32)),
        "list index out of range",
    ),
    "py_function, shape": (
        lambda x: tf.py_function(lambda x: x, [x], tf.TensorSpec((), tf.float32)),
        "func returned float32\\[2\\], and Tout says float32\\[\\]",
    ),
}


@pytest.mark.parametrize("name", RAISES)
def test_what_python_raises_is_raised(name):
    check, message = RAISES[name]

    @tf.function
    def checked(x):
        check(x)
        return x + 1.0

    if "py_function" not in name:
        assert checked(tf.constant([1.0, 2.0])).numpy().tolist() == [2, 3]
    with pytest.raises((tf.errors.InvalidArgumentError, IndexError), match=f"(?s){message}"):
        checked(tf.constant([1.0, -2.0]))


def test_a_generator_goes_on_from_call_to_call():
    generator, other = (tf.random.Generator.from_seed(5) for _ in range(2))
    draw = tf.function(lambda: generator.normal((2,), dtype="float64"))
    for _ in range(3):
        assert np.allclose(draw(), other.normal((2,), dtype="float64"), rtol=1e-14)
    assert np.array_equal(generator.state, other.state)


def test_samples_without_repetition():
    draw = tf.function(lambda true: tf.random.uniform_candidate_sampler(true, 1, 8, True, 9))
    drawn, expected, _ = draw(tf.constant([[1]], tf.int64))
    assert len(set(drawn.numpy().tolist())) == 8
    assert 0 < float(expected[0, 0]) <= 1
