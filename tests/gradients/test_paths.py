"""None exactly where a derivative has no path, zeros where it is 0, dense for dense, up to third order.

paths.json says what TensorFlow gives (tests/data/make_paths.py makes it). Every manner of asking agrees with it.
"""

import json
from pathlib import Path

import pytest

import gradtape as tf
from gradtape.core.primitive import Listener, Primitive, local

from .derivatives import unflat
from .paths import Program, kind
from .samples import SAMPLES

DATA = json.loads((Path(__file__).parents[1] / "data" / "paths.json").read_text())
TENSORFLOW = {case["program"]: case["kinds"] for case in DATA["programs"]}

# Where we differ on purpose: docs/differences.md says why.
OURS = {
    "tf.argsort(x)": {"x": "none", "xx": None},
    "tf.nn.embedding_lookup([x, y], [1, 0, 3])": {"x": "values", "y": "values"},
    "tf.nn.softmax_cross_entropy_with_logits(y, x)": {"xy": "values", "xyx": "values", "xxy": "values"},
    "tf.nn.relu(x) ** 2": {"xxx": "zeros"},
    "tf.vectorized_map(lambda e: e * e, x)": {"xxx": "none"},
}

PROGRAMS = [Program(tf, text, DATA["inputs"]) for text in TENSORFLOW]


def each(programs):
    return pytest.mark.parametrize("program", programs, ids=[p.text for p in programs])


def constant(array):
    return tf.constant(array, tf.float64)


def variable(array):
    return tf.Variable(array, dtype=tf.float64)


def expected(program, order):
    """What is known of the derivatives up to an order."""
    kinds = TENSORFLOW[program.text] | OURS.get(program.text, {})
    return {path: k for path, k in kinds.items() if len(path) <= order and k != "missing"}


def connected(program):
    """Is there a derivative, for all paths of up to two letters?"""
    return {path: k not in ("none", None) for path, k in expected(program, 2).items()}


@each(PROGRAMS)
@pytest.mark.parametrize(("make", "order"), [(constant, 3), (variable, 1)])
def test_a_derivative_is_none_zeros_or_slices_where_it_is_in_tensorflow(program, make, order):
    found = program.kinds(order, lambda path: kind(tf, program.derivative(path, program.sources(make))))
    wanted = expected(program, order)
    assert {path: found.get(path) for path in wanted} == wanted


def test_what_differs_is_among_the_programs():
    assert OURS.keys() <= TENSORFLOW.keys()


# ---------------------------------------------------------------------------------------------------------------------
# Every other manner of asking: is there a derivative for the same paths?


def differentiable(outputs):
    return [t for t in map(tf.convert_to_tensor, outputs) if t.dtype.is_floating or t.dtype.is_complex]


def by_jacobian(program, path):
    sources = program.sources(constant)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(list(sources.values()))
        inner = program.derivative(path[:-1], sources)
        inner = None if inner is None else differentiable(inner)
    return inner is not None and any(tape.jacobian(t, sources[path[-1]]) is not None for t in inner)


def by_forward_mode(program, path):
    sources = program.sources(constant)
    moved = sources[path[-1]]
    with tf.autodiff.ForwardAccumulator(moved, tf.ones_like(moved)) as forward:
        inner = program.derivative(path[:-1], sources)
        inner = None if inner is None else differentiable(inner)
    return inner is not None and any(t is not None for t in forward.jvp(inner))


def by_tracing(program, path):
    found = []

    @tf.function
    def ask(*given):
        found.append(program.derivative(path, dict(zip(program.inputs, given, strict=True))) is not None)

    ask.get_concrete_function(*program.sources(constant).values())
    return found[0]


@each(PROGRAMS)
@pytest.mark.parametrize("manner", [by_jacobian, by_forward_mode])
def test_jacobians_and_forward_mode_find_the_same_paths(program, manner):
    wanted = connected(program)
    assert {path: manner(program, path) for path in wanted} == wanted


# Their shapes follow from values.
EAGER = {"x[x > 0.0]", "v[v > 0.0]", "tf.square(v[v > 0.0])", "tf.where(v > 0.0)", "tf.range(s, 3.0)"}


@each([p for p in PROGRAMS if p.text not in EAGER])
def test_compiled_programs_have_the_same_paths(program):
    wanted = connected(program)
    assert {path: by_tracing(program, path) for path in wanted} == wanted


# To compile each takes a second.
FLAT = [
    "x ** 2",
    "tf.math.abs(x)",
    "tf.nn.relu6(x)",
    "tf.nn.leaky_relu(x)",
    "tf.nn.max_pool2d(i, 2, 2, 'VALID')",
    "tf.reduce_sum(tf.nn.relu(x @ a + w))",
    "tf.pad(x, [[1, 1], [1, 1]], 'REFLECT')",
    "tf.gather(x, [1, 0, 1])",
]


@each([p for p in PROGRAMS if p.text in FLAT])
def test_a_tape_around_a_compiled_program_gives_the_same_or_zeros_for_none(program):
    compiled = tf.function(lambda *given: program.outputs(dict(zip(program.inputs, given, strict=True))))
    around = Program(tf, program.text, DATA["inputs"])
    around.outputs = lambda sources: compiled(*sources.values())
    found = around.kinds(2, lambda path: kind(tf, around.derivative(path, around.sources(constant))))
    wanted = expected(program, 2)
    assert {p: k for p, k in wanted.items() if found[p] != k and (k, found[p]) != ("none", "zeros")} == {}


# ---------------------------------------------------------------------------------------------------------------------
# Every primitive


class Heard(Listener):
    def __init__(self):
        self.names = set()

    def _on_operation(self, primitive, inputs, attributes, out):
        self.names.add(primitive.name)


class Sampled(Program):
    """A sample of a primitive as a program of the inputs that move."""

    def __init__(self, sample):
        self.tf, self.sample = tf, sample
        self.inputs = {chr(ord("a") + i): sample.inputs[i] for i in sample.moving}

    def outputs(self, sources):
        tensors, _ = self.sample.tensors()
        for letter, x in sources.items():
            tensors[ord(letter) - ord("a")] = x
        return self.sample.call(tensors)

    @property
    def is_smooth(self):
        """Whether no derivative up to third order is None or zeros."""
        found = self.kinds(3, lambda path: kind(tf, self.derivative(path, self.sources(tf.constant))))
        return set(found.values()) == {"values"}


def is_smooth(name):
    """Whether every derivative of a primitive has values: TensorFlow need not be asked which are None or zeros."""
    return any(Sampled(sample).is_smooth for sample in SAMPLES[name])


# Those of an index that a function computes; one that takes float32 alone, where the programs are in float64; one of
# which TensorFlow's second gradient fails (quantize_and_dequantize_v2); and one that needs a mesh of devices.
UNREACHED = {"block", "place_block", "update_block", "fake_quant", "pass_in_range", "relayout"}


def test_the_programs_use_every_primitive_with_a_derivative_that_is_none_or_zeros():
    watched = Heard()
    here = local.here
    before, here.tapes = here.tapes, [*here.tapes, watched]
    try:
        for program in PROGRAMS:
            for path in ["", *connected(program)]:
                program.derivative(path, program.sources(constant))
    finally:
        here.tapes = before
    rules = {name for name in SAMPLES if Primitive.registry[name].rule}
    assert {name for name in rules - watched.names if not is_smooth(name)} == UNREACHED


@pytest.mark.parametrize(
    ("name", "smooth"),
    [("tanh", True), ("divide", False), ("relu", False), ("square", False), ("add", False)],
)
def test_smooth_primitives_need_no_program(name, smooth):
    assert is_smooth(name) is smooth


@pytest.mark.parametrize("name", [name for name in SAMPLES if Primitive.registry[name].rule])
def test_only_gathered_rows_have_a_gradient_that_is_not_dense(name):
    for sample in SAMPLES[name]:
        tensors, moving = sample.tensors()
        with tf.GradientTape() as outer:
            outer.watch(moving)
            with tf.GradientTape() as inner:
                inner.watch(moving)
                outputs = sample.call(tensors)
            first = inner.gradient(outputs, moving, unflat(sample.weights, outputs))
            targets = [tf.convert_to_tensor(g) for g in first]
        assert {type(g) for g in first} == {tf.IndexedSlices if name == "gather_rows" else tf.Tensor}, sample
        for g, x in zip(outer.gradient(targets, moving), moving, strict=True):
            assert g is None or (type(g) is tf.Tensor and g.shape == x.shape), sample
