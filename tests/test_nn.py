"""Activations, normalization, dropout, losses, embeddings, CTC: values, dtypes, edges, and what is refused.

Numbers are from TensorFlow 2.21 where no other reference is given; gradients are proved in gradients/.
"""

import itertools

import numpy as np
import pytest
import scipy.special

import gradtape as tf
from gradtape import nn
from gradtape.core import errors
from gradtape.ops.nn.embedding import Sparse

Invalid = errors.InvalidArgumentError
RNG = np.random.default_rng(0)

# ---------------------------------------------------------------------------------------------------------------------
# Activations

POINTS = [-7.0, -1.0, 0.0, 0.5, 6.0, 6.5]
ACTIVATIONS = {  # the values and the slopes at these points
    "relu": ([0, 0, 0, 0.5, 6, 6.5], [0, 0, 0, 1, 1, 1]),
    "relu6": ([0, 0, 0, 0.5, 6, 6], [0, 0, 0, 1, 0, 0]),
    "leaky_relu": ([-1.4, -0.2, 0, 0.5, 6, 6.5], [0.2, 0.2, 0.2, 1, 1, 1]),
    "elu": ([-0.9990881, -0.63212055, 0, 0.5, 6, 6.5], [0.00091189, 0.36787945, 1, 1, 1, 1]),
    "selu": (
        [-1.75649607, -1.11133075, 0, 0.52535051, 6.30420589, 6.82955647],
        [0.00160325, 0.64676857, 1.05070102, 1.05070102, 1.05070102, 1.05070102],
    ),
    "gelu": ([-8.958679e-12, -0.15865526, 0, 0.34573123, 6, 6.5], [-6.27e-11, -0.08331549, 0.5, 0.86749512, 1, 1]),
    "silu": (
        [-0.00637736, -0.26894143, 0, 0.31122968, 5.98516417, 6.490242],
        [-0.0054605, 0.07232948, 0.5, 0.73996121, 1.01232648, 1.00824189],
    ),
    "softsign": ([-0.875, -0.5, 0, 1 / 3, 0.85714287, 0.86666667], [1 / 64, 0.25, 1, 4 / 9, 0.02040816, 0.01777778]),
    "softplus": (
        [0.00091147, 0.31326169, 0.69314718, 0.97407699, 6.00247574, 6.50150251],
        [0.00091105, 0.26894143, 0.5, 0.62245935, 0.99752736, 0.9984988],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_activations_and_their_slopes(name, dtype):
    x = tf.cast(POINTS, dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(nn, name)(x)
    slope = tape.gradient(y, x)
    assert y.dtype == slope.dtype == dtype
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6)
    for got, wanted in zip((y, slope), ACTIVATIONS[name], strict=True):
        np.testing.assert_allclose(tf.cast(got, "float64"), wanted, rtol=tolerance, atol=tolerance)


def test_variants_of_activations():
    x = RNG.standard_normal(20)
    np.testing.assert_allclose(nn.gelu(x), x * scipy.special.ndtr(x))
    cubic = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(nn.gelu(x, approximate=True), cubic)
    np.testing.assert_allclose(nn.swish(x, beta=3.0), x * scipy.special.expit(3 * x))
    np.testing.assert_allclose(nn.leaky_relu(x, 2.0), np.where(x > 0, x, 2 * x))
    np.testing.assert_allclose(nn.leaky_relu(x, -2.0), np.where(x > 0, x, -2 * x))
    np.testing.assert_array_equal(nn.leaky_relu([-4, 4], 0.5), np.float32([-2, 4]))
    np.testing.assert_array_equal(nn.crelu([[1.0, -2.0]], axis=0), [[1, 0], [0, 2]])
    np.testing.assert_array_equal(nn.relu([-1, 2]), np.int32([0, 2]))
    np.testing.assert_array_equal(nn.relu6([1, 9]), np.int32([1, 6]))


def test_activations_far_out():
    x = tf.constant([-1e30, -200.0, 200.0, 1e30])
    for name in ("elu", "selu", "gelu", "silu", "leaky_relu", "softplus"):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = getattr(nn, name)(x)
        assert np.isfinite(y.numpy()).all() and np.isfinite(tape.gradient(y, x).numpy()).all(), name


# ---------------------------------------------------------------------------------------------------------------------
# Normalization

X = RNG.standard_normal((3, 4, 2))


@pytest.mark.parametrize("axes", [[0], [1, 2], [-1], [0, 1, 2], 1], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_moments(axes, keepdims):
    over = tuple(axes) if isinstance(axes, list) else axes
    mean, variance = nn.moments(X, axes, keepdims=keepdims)
    np.testing.assert_allclose(mean, X.mean(over, keepdims=keepdims), atol=1e-15)
    np.testing.assert_allclose(variance, X.var(over, keepdims=keepdims))
    again = nn.normalize_moments(*nn.sufficient_statistics(X, axes, shift=0.5, keepdims=keepdims))
    for got, wanted in zip(again, (mean, variance), strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_weighted_moments():
    counts = RNG.integers(0, 4, (3, 4, 1))
    mean, variance = nn.weighted_moments(X, [0, 1], counts)
    repeated = np.repeat(X.reshape(12, 2), counts.ravel(), axis=0)
    np.testing.assert_allclose(mean, repeated.mean(0))
    np.testing.assert_allclose(variance, repeated.var(0))
    mean, variance = nn.weighted_moments(X, [1], np.zeros((3, 4, 2)), keepdims=True)
    assert not mean.numpy().any() and not variance.numpy().any() and mean.shape == (3, 1, 2)


def test_moments_of_float16_do_not_overflow():
    x = tf.constant([300.0, -300.0] * 10, "float16")
    for mean, variance in (nn.moments(x, [0]), nn.weighted_moments(x, [0], 1.0)):
        assert mean.dtype == variance.dtype == "float16"
        assert float(mean) == 0.0 and float(variance) == np.inf  # 90000 is beyond float16, its sums are not
    assert float(nn.moments(x / 4, [0])[1]) == 5624.0


def test_the_variance_has_its_second_derivative():
    """TensorFlow stops the gradient of the mean inside the variance, and so loses the -1/n**2."""
    x = tf.constant([1.0, 2.0, 4.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            variance = nn.moments(x, [0])[1]
        slope = inner.gradient(variance, x)
    np.testing.assert_allclose(outer.jacobian(slope, x), 2 / 3 * (np.eye(3) - 1 / 3), atol=1e-7)


def test_batch_normalization():
    mean, variance, offset, scale = RNG.standard_normal((4, 2)) ** 2
    centred = (X - mean) / np.sqrt(variance + 0.1)
    np.testing.assert_allclose(
        nn.batch_normalization(X, mean, variance, offset, scale, 0.1), scale * centred + offset
    )
    np.testing.assert_allclose(nn.batch_normalization(X, mean, variance, None, None, 0.1), centred)
    half = nn.batch_normalization(
        tf.cast(X, "float16"), *[tf.constant(a, "float32") for a in (mean, variance)], None, None, 0.1
    )
    assert half.dtype == "float16"
    np.testing.assert_allclose(half, centred, atol=0.02)


def test_local_response_normalization():
    x = RNG.standard_normal((2, 1, 3, 6))
    wanted = np.empty_like(x)
    for c in range(6):
        near = (x[..., max(0, c - 2) : c + 3] ** 2).sum(-1)
        wanted[..., c] = x[..., c] / (1.5 + 0.3 * near) ** 0.75
    np.testing.assert_allclose(nn.lrn(x, 2, 1.5, 0.3, 0.75), wanted)


def test_bias_add():
    x, b = RNG.standard_normal((2, 3, 4, 5)), np.arange(5.0)
    np.testing.assert_array_equal(nn.bias_add(x, b), x + b)
    np.testing.assert_array_equal(nn.bias_add(x, b, "NHWC"), x + b)
    np.testing.assert_array_equal(nn.bias_add(x, b[:3], "NCHW"), x + b[:3, None, None])
    np.testing.assert_array_equal(nn.bias_add([[1, 2]], [3, 4]), [[4, 6]])


def test_zero_fraction():
    assert float(nn.zero_fraction([[0, 1, 0], [2, 0, 0]])) == np.float32(4 / 6)
    assert np.isnan(float(nn.zero_fraction(np.zeros(0))))


# ---------------------------------------------------------------------------------------------------------------------
# Dropout


def test_dropout_drops_what_tensorflow_drops():
    tf.random.set_seed(7)
    np.testing.assert_array_equal(nn.dropout(tf.ones(8), 0.5, seed=3), [0, 0, 0, 0, 2, 0, 2, 0])
    np.testing.assert_array_equal(nn.dropout(tf.ones(8), 0.5), [2, 0, 2, 0, 2, 2, 0, 2])
    stateless = nn.experimental.stateless_dropout(tf.ones((2, 5)), 0.4, seed=[1, 2])
    np.testing.assert_array_equal(stateless.numpy() > 0, [[1, 0, 1, 0, 0], [1, 0, 0, 1, 0]])


def test_dropout_without_dropping_draws_too():
    tf.random.set_seed(7)
    x = tf.ones(8)
    assert nn.dropout(x, 0.0) is x
    np.testing.assert_array_equal(nn.dropout(x, 0.5), [0, 2, 2, 2, 2, 0, 0, 0])


@pytest.mark.parametrize("rate", [0.25, 0.8])
def test_dropout_keeps_the_mean(rate):
    x = nn.dropout(tf.ones(20_000), rate, seed=1).numpy()
    np.testing.assert_allclose(np.unique(x), [0, 1 / (1 - rate)], rtol=1e-6)
    assert abs(x.mean() - 1) < 0.05


def test_dropout_together_and_by_a_tensor():
    x = nn.dropout(tf.ones((50, 4)), 0.5, noise_shape=[None, 1], seed=1).numpy()
    assert (x == x[:, :1]).all() and 0 < x.mean() < 2
    rate = tf.constant(0.5)
    with tf.GradientTape() as tape:
        tape.watch(rate)
        y = tf.reduce_sum(
            nn.experimental.general_dropout([3.0, 4.0], rate, lambda shape, dtype: tf.constant([0.3, 0.7]))
        )
    assert float(y) == 8.0 and float(tape.gradient(y, rate)) == 16.0  # of 4 / (1 - rate)


# ---------------------------------------------------------------------------------------------------------------------
# Losses

LOGITS = np.array([-1000.0, -30.0, -1.0, 0.0, 2.0, 1000.0])


def test_cross_entropies_without_overflow():
    labels = np.array([0.0, 1.0, 0.25, 0.5, 1.0, 1.0])
    wanted = labels * np.logaddexp(0, -LOGITS) + (1 - labels) * np.logaddexp(0, LOGITS)
    np.testing.assert_allclose(nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=LOGITS), wanted)
    heavy = 3 * labels * np.logaddexp(0, -LOGITS) + (1 - labels) * np.logaddexp(0, LOGITS)
    np.testing.assert_allclose(nn.weighted_cross_entropy_with_logits(labels, LOGITS, 3.0), heavy)


def test_slopes_of_cross_entropies_at_zero():
    """TensorFlow's weighted one has only (1 - z) there: it takes 0 for the slopes of abs and relu at 0."""
    x = tf.zeros(2)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        plain = nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=x)
        heavy = nn.weighted_cross_entropy_with_logits([1.0, 0.0], x, 3.0)
    np.testing.assert_array_equal(tape.gradient(plain, x), [-0.5, 0.5])
    np.testing.assert_array_equal(tape.gradient(heavy, x), [-1.5, 0.5])


def test_log_poisson_loss():
    z, c = np.array([0.0, 0.5, 1.0, 2.0, 9.0]), np.array([0.3, -1.0, 0.0, 1.0, 2.0])
    np.testing.assert_allclose(nn.log_poisson_loss(z, c), np.exp(c) - z * c)
    stirling = np.array([0, 0, 0, *[k * np.log(k) - k + np.log(2 * np.pi * k) / 2 for k in (2.0, 9.0)]])
    np.testing.assert_allclose(
        nn.log_poisson_loss(z, c, compute_full_loss=True), np.exp(c) - z * c + stirling
    )
    targets = tf.constant(z)
    with tf.GradientTape() as tape:
        tape.watch(targets)
        loss = nn.log_poisson_loss(targets, c, compute_full_loss=True)
    slope = [0, 0, 0, *[np.log(k) + 1 / (2 * k) for k in (2.0, 9.0)]]
    np.testing.assert_allclose(tape.gradient(loss, targets), slope - c)  # nan at 0 under TensorFlow


def test_averages():
    losses = [1.0, 2.0, 6.0]
    assert float(nn.compute_average_loss(losses)) == 3.0
    assert float(nn.compute_average_loss(losses, [1.0, 0.0, 2.0], 13)) == 1.0
    assert float(nn.compute_average_loss([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0])) == 8.5
    assert float(nn.compute_average_loss(losses, global_batch_size=0)) == 0.0
    assert float(nn.compute_average_loss(np.zeros(0))) == 0.0
    assert float(nn.scale_regularization_loss([0.5, 0.25])) == 0.75
    assert float(nn.l2_loss([[3.0], [4.0]])) == 12.5


# ---------------------------------------------------------------------------------------------------------------------
# Candidates


def test_candidates_follow_their_distribution():
    drawn, _, expected = nn.log_uniform_candidate_sampler([[0]], 1, 20_000, False, 5, seed=1)
    probability = np.log((np.arange(5) + 2) / (np.arange(5) + 1)) / np.log(6)
    np.testing.assert_allclose(np.bincount(drawn.numpy()) / 20_000, probability, atol=0.02)
    np.testing.assert_allclose(expected, probability[drawn.numpy()] * 20_000, rtol=1e-5)
    drawn, true, expected = nn.uniform_candidate_sampler([[0, 3]], 2, 20_000, False, 4, seed=1)
    np.testing.assert_allclose(np.bincount(drawn.numpy()) / 20_000, [0.25] * 4, atol=0.02)
    np.testing.assert_array_equal(true, [[5000, 5000]])
    assert drawn.dtype == "int64" and expected.dtype == "float32"


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_classes_are_drawn_by_their_weights(compiled, tmp_path):
    draw = nn.fixed_unigram_candidate_sampler
    sample = tf.function(draw) if compiled else draw
    options = {"num_true": 1, "num_sampled": 20_000, "unique": False, "range_max": 4, "seed": 1}
    drawn, true, expected = sample([[2]], **options, unigrams=[1, 2, 3, 4], distortion=2.0)
    shares = np.bincount(drawn.numpy(), minlength=4) / 20_000
    np.testing.assert_allclose(shares, np.array([1, 4, 9, 16]) / 30, atol=0.02)
    np.testing.assert_allclose(true, [[6000.0]])
    np.testing.assert_allclose(expected[0], [2e4, 8e4, 18e4, 32e4][drawn[0]] / 30, rtol=1e-6)
    words = tmp_path / "words.csv"
    words.write_text("the,5\nof,3\na,1\n")
    drawn = sample([[2]], **options, vocab_file=str(words), num_reserved_ids=1, num_shards=2, shard=1)[0]
    np.testing.assert_allclose(np.bincount(drawn.numpy()) / 20_000, [0, 5 / 6, 0, 1 / 6], atol=0.02)
    drawn = sample([[2]], 1, 3, True, 3, unigrams=[9, 1, 5])[0]
    assert sorted(drawn.numpy()) == [0, 1, 2]


@pytest.mark.parametrize("sampler", [nn.log_uniform_candidate_sampler, nn.uniform_candidate_sampler])
def test_different_candidates(sampler):
    drawn, true, expected = sampler([[1], [2]], 1, 9, True, 10, seed=2)
    assert len(set(drawn.numpy().tolist())) == 9 and true.shape == (2, 1)
    assert ((expected.numpy() > 0) & (expected.numpy() <= 1)).all()
    every, true, _ = sampler([[0]], 1, 10, True, 10, seed=2)
    assert sorted(every.numpy().tolist()) == list(range(10))
    assert sampler([[0]], 1, 1, True, 1, seed=2)[2].numpy() == 1.0
    again = [sampler([[0]], 1, 5, True, 50, seed=s).sampled_candidates.numpy().tolist() for s in (3, 4)]
    assert again[0] != again[1]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_sampler_learns_from_the_true_classes(compiled):
    sample = (
        tf.function(nn.learned_unigram_candidate_sampler)
        if compiled
        else tf.random.learned_unigram_candidate_sampler
    )
    classes = 21 + compiled  # no other call of these tests shares the weights
    expected = [
        sample(tf.constant([[1]]), 1, 2, False, classes).true_expected_count.numpy().item() for _ in range(3)
    ]
    np.testing.assert_allclose(expected, [2 * n / (classes + n - 1) for n in (1, 2, 3)], rtol=1e-6)
    many = tf.constant([[0]] * 30_000 + [[2]] * 10_000)
    options = {"num_true": 1, "num_sampled": 20_000, "unique": False, "range_max": 3 + compiled, "seed": 1}
    drawn = [sample(many, **options).sampled_candidates.numpy() for _ in range(2)][1]
    np.testing.assert_allclose(np.bincount(drawn)[:3] / 20_000, [0.75, 0, 0.25], atol=0.02)
    different = sample([[1]], 1, classes, True, classes)[0]
    assert sorted(different.numpy()) == list(range(classes))


def test_accidental_hits():
    rows, places, lowest = nn.compute_accidental_hits([[1, 2], [3, 4]], [4, 1], 2)
    assert rows.numpy().tolist() == [0, 1] and places.numpy().tolist() == [1, 0]
    assert (lowest.numpy() == np.finfo(np.float32).min).all()


def test_sampled_losses_of_all_classes_are_the_whole_losses():
    weights, biases, x = RNG.standard_normal((6, 3)), RNG.standard_normal(6), RNG.standard_normal((4, 3))
    labels = np.array([[1], [5], [0], [3]])
    everything = nn.all_candidate_sampler(labels, 1, 6, True)
    options = {
        "num_sampled": 6,
        "num_classes": 6,
        "sampled_values": everything,
        "remove_accidental_hits": True,
    }
    logits = x @ weights.T + biases
    whole = nn.sparse_softmax_cross_entropy_with_logits(labels[:, 0], logits).numpy()
    np.testing.assert_allclose(nn.sampled_softmax_loss(weights, biases, labels, x, **options), whole)
    wanted = (
        nn.sigmoid_cross_entropy_with_logits(labels=np.eye(6)[labels[:, 0]], logits=logits).numpy().sum(1)
    )
    np.testing.assert_allclose(nn.nce_loss(weights, biases, labels, x, **options), wanted)
    parts = [tf.constant(weights[:4]), tf.constant(weights[4:])]
    np.testing.assert_allclose(nn.nce_loss(parts, biases, labels, x, **options), wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_sampled_losses_leave_accidental_hits_out(dtype):
    weights, biases, x = tf.ones((3, 2), dtype), tf.zeros(3, dtype), tf.ones((1, 2), dtype)
    drawn = (np.array([1, 2]), np.ones((1, 1)), np.ones(2))
    options = {"num_sampled": 2, "num_classes": 3, "sampled_values": drawn}
    loss = nn.sampled_softmax_loss(weights, biases, [[1]], x, **options)
    assert loss.dtype == dtype
    np.testing.assert_allclose(
        tf.cast(loss, "float64"), [np.log(2)], rtol=1e-2
    )  # of 1 and 2, not of 1, 1 and 2


def test_sampled_losses_touch_few_rows():
    weights = tf.Variable(tf.ones((100, 2)))
    with tf.GradientTape() as tape:
        loss = nn.nce_loss(weights, tf.zeros(100), [[3]], tf.ones((1, 2)), 4, 100)
    gradient = tape.gradient(loss, weights)
    assert isinstance(gradient, tf.IndexedSlices) and gradient.values.shape == (5, 2)


# ---------------------------------------------------------------------------------------------------------------------
# Embeddings

TABLE = tf.constant([[1.0, 2.0], [3.0, 4.0]])
IDS = Sparse([[0, 0], [0, 1], [2, 0]], [1, 0, 1], [4, 2])
WEIGHTS = Sparse([[0, 0], [0, 1], [2, 0]], [0.5, 2.0, -1.0], [4, 2])


def test_a_table_in_parts():
    parts = [tf.constant([[1.0], [2.0]]), tf.constant([[3.0]])]
    np.testing.assert_array_equal(nn.embedding_lookup(parts, [2, 0]), [[3], [1]])
    np.testing.assert_array_equal(nn.embedding_lookup(parts[:1], [1]), [[2]])
    np.testing.assert_allclose(nn.embedding_lookup([[3.0, 4.0]], [0], max_norm=1.0), [[0.6, 0.8]])


@pytest.mark.parametrize(
    "combiner, weights, rows",
    [
        (None, None, [[2, 3], [0, 0], [3, 4]]),
        ("sum", None, [[4, 6], [0, 0], [3, 4]]),
        ("sqrtn", None, [[2.828427, 4.2426405], [0, 0], [3, 4]]),
        ("sum", WEIGHTS, [[3.5, 6], [0, 0], [-3, -4]]),
        ("mean", WEIGHTS, [[1.4, 2.4], [0, 0], [3, 4]]),
        ("sqrtn", WEIGHTS, [[1.6977494, 2.9104276], [0, 0], [-3, -4]]),
    ],
)
def test_rows_of_an_example_combined(combiner, weights, rows):
    np.testing.assert_allclose(nn.embedding_lookup_sparse(TABLE, IDS, weights, combiner), rows, rtol=1e-6)


@pytest.mark.parametrize(
    "combiner, default, rows",
    [
        ("sum", None, [[3.5, 6], [0, 0], [-3, -4], [0, 0]]),
        ("sum", 1, [[3.5, 6], [3, 4], [-3, -4], [3, 4]]),
        ("mean", None, [[1.4, 2.4], [0, 0], [0, 0], [0, 0]]),
        ("mean", 1, [[1.4, 2.4], [3, 4], [3, 4], [3, 4]]),
        ("sqrtn", 1, [[1.6977494, 2.9104276], [3, 4], [3, 4], [3, 4]]),
    ],
)
def test_rows_combined_safely(combiner, default, rows):
    got = nn.safe_embedding_lookup_sparse(TABLE, IDS, WEIGHTS, combiner, default)
    np.testing.assert_allclose(got, rows, rtol=1e-6)


def test_safe_lookup_leaves_out_negative_ids_and_keeps_the_axes():
    ids = Sparse([[0, 0, 0], [1, 1, 0], [1, 1, 1]], [-1, 0, 1], [2, 2, 2])
    got = nn.safe_embedding_lookup_sparse(TABLE, ids)
    np.testing.assert_array_equal(got, [[[0, 0], [0, 0]], [[0, 0], [2, 3]]])


# ---------------------------------------------------------------------------------------------------------------------
# CTC


def collapsed(path, blank):
    return tuple(k for k, _ in itertools.groupby(path) if k != blank)


def path_probabilities(scores, blank):
    """The probability of every label sequence, by adding up all paths."""
    time, classes = scores.shape
    total = {}
    for path in itertools.product(range(classes), repeat=time):
        labels = collapsed(path, blank)
        total[labels] = total.get(labels, 0.0) + np.exp(scores[np.arange(time), path].sum())
    return total


@pytest.mark.parametrize("blank", [0, 1, -1])
def test_ctc_loss_sums_over_all_paths(blank):
    logits = RNG.standard_normal((5, 4, 3))
    scores = scipy.special.log_softmax(logits, -1)
    labels = [k for k in range(3) if k != blank % 3]
    rows = [[labels[0], labels[1]], [labels[1], labels[1]], [labels[0], 0], [0, 0]]
    lengths, times = [2, 2, 1, 0], [5, 4, 3, 5]
    got = nn.ctc_loss(rows, logits, lengths, times, blank_index=blank)
    for i, (row, length, time) in enumerate(zip(rows, lengths, times, strict=True)):
        every = path_probabilities(scores[:time, i], blank % 3)
        np.testing.assert_allclose(got[i], -np.log(every[tuple(row[:length])]), err_msg=str(i))
    swapped = nn.ctc_loss(
        rows, logits.swapaxes(0, 1), lengths, times, logits_time_major=False, blank_index=blank
    )
    np.testing.assert_allclose(swapped, got)


@pytest.mark.parametrize(
    "blank, wanted", [(0, [1.8563993, 5.288899]), (2, [2.3124735, 2.5875063]), (-1, [2.3124735, 2.5875063])]
)
def test_ctc_loss_of_labels_that_are_blank_is_tensorflows(blank, wanted):
    logits = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    got = nn.ctc_loss([[1, 2], [1, 0]], logits, [2, 2], [4, 4], logits_time_major=False, blank_index=blank)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_ctc_loss_of_sparse_labels():
    logits = RNG.standard_normal((5, 2, 3))
    sparse = Sparse([[0, 0], [0, 1], [1, 0]], [1, 0, 1], [2, 2])
    wanted = nn.ctc_loss([[1, 0], [1, 0]], logits, [2, 1], [5, 4], blank_index=2).numpy()
    np.testing.assert_array_equal(nn.ctc_loss(sparse, logits, None, [5, 4], blank_index=2), wanted)


def test_ctc_loss_of_labels_that_do_not_fit():
    """TensorFlow gives about 707 and a gradient that leads nowhere."""
    logits = tf.constant(RNG.standard_normal((4, 2, 3)))
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = nn.ctc_loss([[1, 1, 1], [1, 2, 1]], logits, [3, 3], [4, 4])
    gradient = tape.gradient(loss, logits).numpy()
    assert loss.numpy()[0] == np.inf and not gradient[:, 0].any()
    assert np.isfinite(loss.numpy()[1]) and gradient[:, 1].any()
    assert nn.ctc_loss([[1]], tf.zeros((1, 1, 2)), [0], [0]).numpy().tolist() == [0.0]
    assert nn.ctc_loss([[1]], tf.zeros((1, 1, 2), "float16"), [1], [1]).dtype == "float16"


def test_greedy_decoder():
    inputs = np.float32([[2, 1, 0], [2, 1, 0], [0, 1, 3], [2, 1, 0], [1, 2, 0], [1, 2, 0]])[:, None]
    (labels,), score = nn.ctc_greedy_decoder(inputs, [6])
    assert labels.values.numpy().tolist() == [0, 0, 1] and labels.dense_shape.numpy().tolist() == [1, 3]
    assert labels.indices.numpy().tolist() == [[0, 0], [0, 1], [0, 2]]
    np.testing.assert_array_equal(score, [[-13]])
    (labels,), _ = nn.ctc_greedy_decoder(inputs, [6], merge_repeated=False)
    assert labels.values.numpy().tolist() == [0, 0, 0, 1, 1]
    (labels,), score = nn.ctc_greedy_decoder(inputs, [2], blank_index=0)
    assert labels.values.numpy().tolist() == [] and labels.dense_shape.numpy().tolist() == [1, 0]


def test_beam_search_finds_the_most_probable_labels():
    inputs = RNG.standard_normal((4, 3, 3))
    decoded, scores = nn.ctc_beam_search_decoder(inputs, [4, 3, 4], beam_width=50, top_paths=4)
    for i, time in enumerate([4, 3, 4]):
        every = path_probabilities(scipy.special.log_softmax(inputs[:time, i], -1), 2)
        best = sorted(every.items(), key=lambda pair: -pair[1])[:4]
        for k, (labels, probability) in enumerate(best):
            mine = decoded[k].values.numpy()[decoded[k].indices.numpy()[:, 0] == i]
            assert tuple(mine) == labels
            np.testing.assert_allclose(scores[i, k], np.log(probability))


def test_labels_reduced():
    different, places = nn.ctc_unique_labels([[3, 4, 4, 3], [1, 1, 2, 0]])
    assert different.numpy().tolist() == [[3, 4, 0, 0], [1, 2, 0, 0]]
    assert places.numpy().tolist() == [[0, 1, 1, 0], [0, 0, 1, 2]]
    rest, lengths = nn.collapse_repeated([[1, 1, 2, 2, 3], [1, 2, 2, 0, 0]], [5, 3])
    assert rest.numpy().tolist() == [[1, 2, 3], [1, 2, 0]] and lengths.numpy().tolist() == [3, 2]


# ---------------------------------------------------------------------------------------------------------------------
# What is refused

PAIR = tf.ones((2, 3))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: nn.elu([1, -2]), TypeError, "elu takes floating or complex tensors, not int32"),
        (lambda: nn.relu([True]), TypeError, "relu"),
        (lambda: nn.gelu([1]), TypeError, "gelu takes floating tensors, not int32"),
        (lambda: nn.silu([1]), TypeError, "sigmoid takes floating"),
        (lambda: nn.crelu(PAIR, axis=2), Invalid, "crelu: axis 2 is out of range"),
        (lambda: nn.moments(PAIR, [3]), Invalid, "axis 3 is out of range"),
        (lambda: nn.weighted_moments([1, 2], [0], 1), TypeError, "weighted_moments takes floating tensors"),
        (lambda: nn.lrn(PAIR), Invalid, "must have 4 axes"),
        (lambda: nn.lrn(tf.ones((1, 1, 1, 2)), -1), Invalid, "depth_radius must be at least 0"),
        (lambda: nn.bias_add(PAIR, tf.ones(2)), Invalid, r"a bias of shape \[2\]"),
        (lambda: nn.bias_add(tf.ones(3), tf.ones(3)), Invalid, "one number for each channel"),
        (lambda: nn.bias_add(PAIR, tf.ones(3), "XX"), ValueError, "data_format must be like"),
        (lambda: nn.dropout(PAIR, 1.0), ValueError, r"rate must lie in \[0, 1\), not 1.0"),
        (lambda: nn.dropout(PAIR, -0.1), ValueError, "rate must lie"),
        (lambda: nn.dropout([1, 2], 0.5), TypeError, "dropout takes floating tensors, not int32"),
        (lambda: nn.dropout(PAIR, tf.constant([0.1, 0.2])), ValueError, "rate must be one number"),
        (lambda: nn.dropout(PAIR, 0.5, noise_shape=[2]), Invalid, "noise_shape"),
        (lambda: nn.sigmoid_cross_entropy_with_logits(labels=PAIR), ValueError, "both labels and logits"),
        (lambda: nn.sigmoid_cross_entropy_with_logits(PAIR, tf.ones(3)), ValueError, "must have the same shape"),
        (lambda: nn.sigmoid_cross_entropy_with_logits([1], [1]), TypeError, "sigmoid_cross_entropy takes floating"),
        (lambda: nn.log_poisson_loss(PAIR, tf.ones(3)), ValueError, "log_input and targets must have the same shape"),
        (lambda: nn.l2_loss([1, 2]), TypeError, "floating"),
        (lambda: nn.compute_average_loss(1.0), ValueError, "a scalar has none"),
        (lambda: nn.compute_average_loss([1.0], global_batch_size=-1), Invalid, "at least 0"),
        (lambda: nn.compute_average_loss([1.0], global_batch_size=1.5), ValueError, "must be an integer"),
        (lambda: nn.log_uniform_candidate_sampler([[1]], 1, 5, True, 3), Invalid, "5 different classes cannot"),
        (lambda: nn.uniform_candidate_sampler([[1, 2]], 1, 2, True, 3), Invalid, "1 numbers a row"),
        (lambda: nn.fixed_unigram_candidate_sampler([[1]], 1, 2, True, 2, unigrams=[1.0, 0.0]), Invalid, "from 1 with"),
        (lambda: nn.fixed_unigram_candidate_sampler([[1]], 1, 2, True, 2, unigrams=[1.0]), Invalid, "2 classes need"),
        (lambda: nn.fixed_unigram_candidate_sampler([[1]], 1, 2, True, 2), Invalid, "either vocab_file or unigrams"),
        (lambda: nn.learned_unigram_candidate_sampler([[9]], 1, 2, True, 3), Invalid, "must lie from 0 to 2"),
        (lambda: nn.learned_unigram_candidate_sampler([[1]], 1, 5, True, 3), Invalid, "5 different classes cannot"),
        (lambda: nn.uniform_candidate_sampler([[1.0]], 1, 2, True, 3), TypeError, "must be integers"),
        (lambda: nn.nce_loss(PAIR, tf.ones(2), [1], tf.ones((1, 3)), 1, 2), Invalid, "labels have 1 numbers"),
        (lambda: nn.nce_loss(PAIR, tf.ones(2), [[1.0]], tf.ones((1, 3)), 1, 2), TypeError, "labels must be integers"),
        (lambda: nn.embedding_lookup(TABLE, [5]), Invalid, "5 is out of bounds"),
        (lambda: nn.embedding_lookup_sparse(TABLE, [[0]], None), TypeError, "must be a sparse tensor"),
        (lambda: nn.embedding_lookup_sparse(TABLE, IDS, None, "max"), ValueError, "'sum', 'mean' or 'sqrtn'"),
        (lambda: nn.ctc_loss([[1]], PAIR, [1], [1]), Invalid, "logits must be floating and have 3 axes"),
        (lambda: nn.ctc_loss([[5]], tf.ones((1, 1, 3)), [1], [1]), Invalid, r"labels must lie in \[0, 3\)"),
        (lambda: nn.ctc_loss([[1]], tf.ones((1, 1, 3)), [2], [1]), Invalid, "label_length be at most 1"),
        (lambda: nn.ctc_loss([[1]], tf.ones((1, 2, 3)), [1], [1]), Invalid, "a row for each of the 2 sequences"),
        (lambda: nn.ctc_loss([[1]], tf.ones((1, 1, 3)), [1, 1], [1]), Invalid, "label_length must be of shape"),
        (lambda: nn.ctc_loss([[1.0]], tf.ones((1, 1, 3)), [1], [1]), TypeError, "labels must be integers"),
        (lambda: nn.ctc_loss([[1]], tf.ones((1, 1, 3)), [1], [1], blank_index=3), Invalid, "blank_index 3"),
        (lambda: nn.ctc_loss(IDS, tf.ones((1, 4, 3)), None, [1] * 4), ValueError, "sparse labels need blank_index"),
        (lambda: nn.ctc_greedy_decoder(tf.ones((1, 1, 3)), [2]), errors.FailedPreconditionError, "at most 1"),
        (lambda: nn.ctc_beam_search_decoder(tf.ones((1, 1, 3)), [1], 1, 2), Invalid, "between 1 and beam_width=1"),
        (lambda: nn.ctc_beam_search_decoder(tf.ones((1, 1, 3)), [1], 9, 5), Invalid, "only 3 label sequences"),
        (lambda: nn.ctc_unique_labels([1]), Invalid, "must be a matrix"),
        (lambda: nn.collapse_repeated([1], [1]), Invalid, "must be a matrix"),
    ],
)  # fmt: skip
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("shift", [0.0, 50.0, -500.0])
@pytest.mark.parametrize("spread", [0.1, 5.0, 300.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_of_many_rows_keeps_its_digits(dtype, spread, shift):
    x = (spread * np.random.default_rng(0).standard_normal((128, 64)) + shift).astype(dtype)
    whole = scipy.special.softmax(x.astype(np.longdouble), -1)
    # An x near 300 is itself known to its last digit only, which is that much of exp(x).
    digits = np.finfo(dtype).eps * (4 + 2 * np.ptp(x))
    np.testing.assert_allclose(nn.softmax(x), whole, rtol=digits, atol=np.finfo(dtype).tiny)
    for wrong in (np.inf, np.nan):
        x[5, 7] = wrong
        assert np.isnan(nn.softmax(x).numpy()).any(-1).sum() == 1


@pytest.mark.parametrize("width", [10, 100_000])
def test_the_sum_of_a_softmax_does_not_change(width):
    x = tf.Variable(np.zeros((2, width), np.float32))
    with tf.GradientTape() as tape:
        whole = tf.reduce_sum(nn.softmax(x))
    slope = tape.gradient(whole, x).numpy()
    assert abs(slope).max() <= 1e-6 / width
