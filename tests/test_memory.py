"""Shapes for which there is no memory: an error before anything is allocated, not the end of the process."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.engine import memory
from gradtape.ops import known

Exhausted = tf.errors.ResourceExhaustedError
N = (
    1 << 25
)  # elements: more than there is memory for in these tests, and few enough to do no harm if nobody looks
SIDE = 1 << 13
IMAGE = np.zeros((2, 2, 1), np.float32)
BOX = [[0.0, 0.0, 1.0, 1.0]]
np_ = tf.experimental.numpy

TOO_LARGE = {
    "zeros": lambda: tf.zeros([N]),
    "zeros, a tensor": lambda: tf.zeros(tf.constant([SIDE, SIDE])),
    "ones": lambda: tf.ones([SIDE, SIDE]),
    "ones of bytes": lambda: tf.ones([4 * N], tf.int8),
    "fill": lambda: tf.fill([N], 1.0),
    "eye": lambda: tf.eye(SIDE),
    "a batch of eye": lambda: tf.eye(2, batch_shape=[N]),
    "range": lambda: tf.range(N),
    "range of floats": lambda: tf.range(0.0, float(N), 1.0),
    "range downwards": lambda: tf.range(N, 0, -1),
    "linspace": lambda: tf.linspace(0.0, 1.0, N),
    "one_hot": lambda: tf.one_hot([1], N),
    "sequence_mask": lambda: tf.sequence_mask([N], dtype=tf.float32),
    "meshgrid": lambda: tf.meshgrid(tf.range(SIDE), tf.range(SIDE)),
    "broadcast_to": lambda: tf.broadcast_to(1.0, [SIDE, SIDE]),
    "tile": lambda: tf.tile([1.0, 2.0], [N]),
    "repeat": lambda: tf.repeat([1.0], N),
    "repeat, a count for each": lambda: tf.repeat([1.0, 2.0], [N, 1]),
    "pad": lambda: tf.pad([1.0], [[0, N]]),
    "space_to_batch": lambda: tf.space_to_batch(IMAGE[None], [1, 1], [[0, SIDE], [0, SIDE]]),
    "scatter_nd": lambda: tf.scatter_nd([[0]], [1.0], [N]),
    "unsorted_segment_sum": lambda: tf.math.unsorted_segment_sum([1.0], [0], N),
    "bincount": lambda: tf.math.bincount([N]),
    "histogram_fixed_width": lambda: tf.histogram_fixed_width([0.5], [0.0, 1.0], N),
    "confusion_matrix": lambda: tf.math.confusion_matrix([0], [0], num_classes=SIDE),
    "diag": lambda: tf.linalg.diag(np.zeros(SIDE)),
    "tensor_diag": lambda: tf.linalg.tensor_diag(np.zeros(SIDE)),
    "random.uniform": lambda: tf.random.uniform([N]),
    "random.normal": lambda: tf.random.normal([N]),
    "random.gamma": lambda: tf.random.gamma([N], 2.0),
    "random.categorical": lambda: tf.random.categorical([[0.0]], N),
    "random.stateless_normal": lambda: tf.random.stateless_normal([N], [1, 2]),
    "a generator": lambda: tf.random.Generator.from_seed(1).normal([N]),
    "an initializer": lambda: tf.initializers.GlorotUniform()([SIDE, SIDE]),
    "rfft": lambda: tf.signal.rfft([1.0], [N]),
    "hann_window": lambda: tf.signal.hann_window(N),
    "kaiser_window": lambda: tf.signal.kaiser_window(N),
    "linear_to_mel_weight_matrix": lambda: tf.signal.linear_to_mel_weight_matrix(SIDE, SIDE),
    "frame": lambda: tf.signal.frame([1.0], N, 1, pad_end=True),
    "conv2d_transpose": lambda: tf.nn.conv2d_transpose(
        np.zeros((1, 2, 2, 1)), np.zeros((3, 3, 1, 1)), [1, SIDE, SIDE, 1], SIDE // 2
    ),
    "image.resize": lambda: tf.image.resize(IMAGE, [SIDE, SIDE]),
    "image.resize to a line": lambda: tf.image.resize(IMAGE, [N, 1], "nearest"),
    "image.resize_with_pad": lambda: tf.image.resize_with_pad(IMAGE, SIDE, SIDE),
    "image.resize_with_crop_or_pad": lambda: tf.image.resize_with_crop_or_pad(IMAGE, SIDE, SIDE),
    "image.pad_to_bounding_box": lambda: tf.image.pad_to_bounding_box(IMAGE, 0, 0, SIDE, SIDE),
    "image.crop_and_resize": lambda: tf.image.crop_and_resize([IMAGE], BOX, [0], [SIDE, SIDE]),
    "numpy.zeros": lambda: np_.zeros([N]),
    "numpy.eye": lambda: np_.eye(SIDE),
    "numpy.arange": lambda: np_.arange(N),
    "numpy.full": lambda: np_.full([N], 1.0),
    "inside a function": lambda: tf.function(lambda x: tf.tile(x, [N]))(tf.constant([1.0])),
    "the result of a function": lambda: tf.function(lambda x: x[:, None] + x)(tf.zeros([SIDE])),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_shape_for_which_there_is_no_memory_is_refused(name, monkeypatch):
    monkeypatch.setattr(known, "available", lambda: 1 << 26)
    with pytest.raises(Exhausted, match=r"takes .* GB to make, and there are 0\.1 GB"):
        TOO_LARGE[name]()


@pytest.mark.parametrize("shape", [[10**12], [10**6, 10**6], [1 << 40, 1 << 20]])
def test_no_machine_has_memory_for_this(shape, monkeypatch):
    for make in (tf.zeros, tf.random.normal, lambda shape: tf.fill(shape, 1.0)):
        with pytest.raises(Exhausted):
            make(shape)
    monkeypatch.setattr(known, "available", lambda: None)  # where nobody tells, asking does
    with pytest.raises(Exhausted):
        tf.zeros(shape)


def test_small_shapes_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(known, "available", lambda: pytest.fail("looked at"))
    assert tf.zeros([1000]).shape == (1000,)


def test_a_compiled_function_that_runs_out_of_memory_says_so_and_variables_stay():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        v.assign_add(tf.sort(tf.reshape(x[:, None] * x, [-1]))[:2])
        return v.read_value()

    with pytest.raises(Exhausted, match="a compiled function"):
        step(tf.zeros([10**7]))
    np.testing.assert_array_equal(v, [1.0, 2.0])


def test_what_is_available_is_the_least_of_machine_and_container(tmp_path, monkeypatch):
    group = tmp_path / "group"
    group.mkdir()
    for name, text in (("max", "5000"), ("now", "4000"), ("memory.stat", "anon 1\ncache 300\n")):
        (group / name).write_text(text)
    machine = memory._of_machine()
    monkeypatch.setattr(memory, "_GROUPS", ((str(group), "max", "now", "cache"),))
    assert memory.available() == 1300
    (group / "max").write_text("max")
    assert memory.available() == machine or abs(memory.available() - machine) < 2**33
    monkeypatch.setattr(memory, "_of_machine", lambda: None)
    assert memory.available() is None
