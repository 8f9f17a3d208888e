"""Extension types: classes made of tensors pass through functions, branches, loops and datasets as tensors do.

Which calls raise, and the class of the error, are TensorFlow's.
"""

import pickle
from collections.abc import Mapping

import numpy as np
import pytest

import gradtape as tf

ExtensionType = tf.experimental.ExtensionType


class Masked(ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor
    scale: int = 3

    def __validate__(self):
        if self.scale < 0:
            raise ValueError("the scale is negative")

    @property
    def shape(self):
        return self.values.shape

    def total(self):
        return tf.reduce_sum(tf.where(self.mask, self.values, 0.0)) * self.scale


class Named(Masked):
    name: str = "x"


class Everything(ExtensionType):
    inner: Masked
    pair: tuple[int, float]
    many: tuple[tf.Tensor, ...]
    by_name: Mapping[str, tf.Tensor]
    maybe: tf.Tensor | None
    either: int | str
    shape: tf.TensorShape
    dtype: tf.DType
    rows: tf.RaggedTensor


class Twice(ExtensionType):
    x: tf.Tensor
    y: tf.Tensor

    def __init__(self, both):
        self.x = self.y = both


class Vector(ExtensionType):
    v: tf.Tensor

    class Spec:
        def __init__(self, length):
            self.v = tf.TensorSpec([length])

        @property
        def length(self):
            return self.v.shape[0]


def masked(scale=3):
    return Masked([1.0, 2.0, 4.0], [True, False, True], scale)


def everything(**changes):
    fields = {
        "inner": masked(),
        "pair": [1, 2.5],
        "many": [[1.0], 2],
        "by_name": {"a": 1},
        "maybe": None,
        "either": "text",
        "shape": [1, None],
        "dtype": "float32",
        "rows": tf.ragged.constant([[1], []]),
    }
    return Everything(**(fields | changes))


def test_the_constructor_converts_the_fields():
    x = everything()
    assert (x.pair, x.maybe, x.either, x.shape, x.dtype) == (
        (1, 2.5),
        None,
        "text",
        tf.TensorShape([1, None]),
        tf.float32,
    )
    assert [t.numpy().tolist() for t in x.many] == [[1.0], 2]
    assert int(x.by_name["a"]) == 1
    assert everything(maybe=[1.0]).maybe.shape == (1,)
    assert len(tf.nest.flatten(x, expand_composites=True)) == 7
    assert tf.nest.flatten(x) == [x]


def test_methods_properties_subclasses_and_own_constructors():
    assert masked().shape == (3,)
    assert float(masked().total()) == 15.0
    child = Named([1.0], [True], name="y")
    assert tf.experimental.extension_type.as_dict(child).keys() == {"values", "mask", "scale", "name"}
    assert isinstance(child, Masked)
    assert Twice([1.0]).y.numpy().tolist() == [1.0]
    assert repr(Named(1, 2)) == (
        "Named(values=<tf.Tensor: shape=(), dtype=int32, numpy=1>, mask=<tf.Tensor: shape=(), dtype=int32, numpy=2>, "
        "scale=3, name='x')"
    )


class Without(ExtensionType):
    x: tf.Tensor

    def __init__(self):
        pass


class Other(ExtensionType):
    x: tf.Tensor

    def __init__(self):
        self.x, self.z = 1, 2


def changed():
    masked().scale = 4


def deleted():
    del masked().scale


def annotated(kind, **default):
    return lambda: type("X", (ExtensionType,), {"__annotations__": {"x": kind}, **default})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    {
        "too few": (lambda: Masked(1), TypeError, "missing a required argument: 'mask'"),
        "too many": (lambda: Masked(1, 2, 3, 4), TypeError, "too many positional"),
        "unknown": (lambda: Masked(1, 2, q=3), TypeError, "unexpected keyword argument 'q'"),
        "no int": (lambda: Masked(1, 2, 1.5), TypeError, "scale: int is needed, not 1.5 of type float"),
        "no tensor": (lambda: Masked(object(), 2), (TypeError, ValueError), "object"),
        "in a tuple": (lambda: everything(pair=[1, "a"]), TypeError, r"pair\[1\]: float is needed"),
        "length": (lambda: everything(pair=[1]), TypeError, "pair: tuple"),
        "union": (lambda: everything(either=[]), TypeError, r"either: int \| str is needed"),
        "other type": (lambda: everything(inner=5), TypeError, "inner: Masked is needed, not 5 of type int"),
        "not valid": (lambda: masked(-1), ValueError, "negative"),
        "not set": (Without, ValueError, r"must set the fields \['x'\]"),
        "no field": (Other, AttributeError, "Other.z cannot be changed"),
        "changed": (changed, AttributeError, "Masked.scale cannot be changed"),
        "deleted": (deleted, AttributeError, "Masked.scale cannot be changed"),
        "list": (annotated(list), TypeError, "fields cannot be annotated by <class 'list'>"),
        "dict": (annotated(dict[str, int]), TypeError, "fields cannot be annotated by dict"),
        "default": (annotated(int, x="a"), TypeError, "the default of x: int is needed"),
        "reserved": (
            lambda: type("X", (ExtensionType,), {"__annotations__": {"Spec": int}}),
            ValueError,
            "cannot be named Spec",
        ),
        "base": (ExtensionType, TypeError, "is a base class"),
        "dense": (lambda: tf.convert_to_tensor(masked()), ValueError, "a dense tensor is needed"),
        "spec": (lambda: Masked.Spec(3, 4, 5), TypeError, "values: the spec of a Tensor is needed"),
        "hash": (lambda: hash(masked()), TypeError, "unhashable"),
        "slices": (lambda: tf.data.Dataset.from_tensor_slices(masked()), TypeError, "a Masked has no slices"),
    }.values(),
)
def test_what_does_not_fit_is_an_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_values_are_equal_if_all_elements_are():
    x = masked()
    assert isinstance(x == x, tf.Tensor)
    assert bool(x == masked())
    assert not bool(x == Masked([1.0, 2.0, 5.0], x.mask))
    assert bool(x != Masked([1.0, 2.0, 5.0], x.mask))
    assert (x == masked(4), x == 3, x == Masked([1.0], [True])) == (False, False, False)


def test_specs():
    spec = masked()._type_spec
    assert isinstance(spec, Masked.Spec)
    assert isinstance(spec, tf.experimental.ExtensionTypeSpec)
    assert (
        spec
        == Masked.Spec(tf.TensorSpec([3]), tf.TensorSpec([3], tf.bool), 3)
        == tf.type_spec_from_value(masked())
    )
    assert spec.value_type is Masked
    wide = Masked.Spec(tf.TensorSpec([None]), tf.TensorSpec([None], tf.bool), 3)
    assert wide.is_compatible_with(masked())
    assert not wide.is_compatible_with(masked(4))
    assert spec.is_subtype_of(wide)
    assert not wide.is_subtype_of(spec)
    longer = Masked(tf.ones(5), tf.ones(5, tf.bool))._type_spec
    assert spec.most_specific_compatible_type(longer) == wide
    assert spec.most_specific_common_supertype([masked(4)._type_spec]) is None
    assert pickle.loads(pickle.dumps(everything()._type_spec)) == everything()._type_spec
    assert everything()._type_spec.is_compatible_with(everything())
    assert Vector([1.0, 2.0])._type_spec.length == 2
    assert Vector.Spec(None).is_compatible_with(Vector([1.0, 2.0]))


def test_functions_take_and_return_them():
    @tf.function
    def f(x):
        return Masked(2.0 * x.values, x.mask, x.scale + 1)

    out = f(masked())
    assert (out.values.numpy().tolist(), out.scale) == ([2.0, 4.0, 8.0], 4)
    f(Masked([0.0, 0.0, 0.0], [True, True, True]))
    assert f.experimental_get_tracing_count() == 1
    assert f(masked(7)).scale == 8
    assert f.experimental_get_tracing_count() == 2

    @tf.function(input_signature=[Vector.Spec(None)])
    def total(x):
        return tf.reduce_sum(x.v)

    assert float(total(Vector([1.0, 2.0]))) == 3.0
    with pytest.raises(TypeError, match="was asked for"):
        total(masked())


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_reach_the_fields(compiled):
    def loss(v):
        return Masked(v * v, [True, False, True]).total()

    v = tf.Variable([1.0, 2.0, 4.0])
    with tf.GradientTape() as tape:
        out = (tf.function(loss) if compiled else loss)(v)
    assert tape.gradient(out, v).numpy().tolist() == [6.0, 0.0, 24.0]


COMPOSITES = {
    "extension type": (lambda v: Masked(v, v > 1.0), lambda x: x.values),
    "ragged": (lambda v: tf.RaggedTensor.from_row_splits(v, [0, 1, 3]), lambda x: x.flat_values),
    "sparse": (lambda v: tf.SparseTensor([[0], [1], [4]], v, [5]), lambda x: x.values),
}


@pytest.mark.parametrize("kind", COMPOSITES)
@pytest.mark.parametrize("compiled", [False, True])
def test_branches_and_loops_carry_values_made_of_tensors(kind, compiled):
    make, values = COMPOSITES[kind]

    def program(v):
        x = tf.cond(tf.reduce_sum(v) > 0.0, lambda: make(v), lambda: make(-v))
        _, x = tf.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, make(values(x) * v)), (tf.constant(0), x)
        )
        return tf.switch_case(
            tf.cast(v[0], "int32"), [lambda: make(values(x)), lambda: make(values(x) + 1.0)]
        )

    run = tf.function(program) if compiled else program
    v = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(v)
        out = run(v)
        assert type(out) is type(make(v))
        total = tf.reduce_sum(values(out))
    np.testing.assert_allclose(values(out), v**4 + 1.0)
    np.testing.assert_allclose(tape.gradient(total, v), 4.0 * v**3)
    np.testing.assert_allclose(values(run(-v)), 1.0 - v**4)


@pytest.mark.parametrize("kind", COMPOSITES)
def test_autograph_converts_statements_that_assign_values_made_of_tensors(kind):
    make, values = COMPOSITES[kind]

    def program(v, count):
        x = make(v)
        if tf.reduce_sum(v) > 0.0:
            x = make(values(x) * 2.0)
        for _ in tf.range(count):
            x = make(values(x) * 3.0)
        while tf.reduce_sum(values(x)) < 100.0:
            x = make(values(x) + 10.0)
        return x

    v = tf.constant([1.0, 2.0, 3.0])
    out = tf.function(program)(v, tf.constant(1))
    assert type(out) is type(make(v))
    np.testing.assert_allclose(values(out), 6.0 * v + 30.0)


def test_branches_with_values_of_different_specs_are_refused():
    @tf.function
    def f(v):
        return tf.cond(v[0] > 0.0, lambda: Masked(v, v > 0.0, 1), lambda: Masked(v, v > 0.0, 2))

    with pytest.raises(TypeError, match="the branches must return the same structure"):
        f(tf.ones(2))


def test_elements_of_datasets():
    dataset = tf.data.Dataset.from_tensors(masked()).repeat(2).map(lambda x: Masked(x.values + 1.0, x.mask))
    assert dataset.element_spec == masked()._type_spec
    assert [x.values.numpy().tolist() for x in dataset] == [[2.0, 3.0, 5.0]] * 2
    with pytest.raises(TypeError, match="cannot be stacked"):
        next(iter(dataset.batch(2)))


class Node(ExtensionType):
    value: tf.Tensor
    rest: "Node | None" = None


def test_a_field_may_be_of_the_class_itself():
    found = tf.nest.flatten(Node(1, Node(2)), expand_composites=True)
    assert [int(t) for t in found] == [1, 2]


def test_a_name_of_its_own_is_that_of_the_spec_in_files():
    from gradtape.compat import type_specs

    class Registered(ExtensionType):
        __name__ = "tests.Registered"
        x: tf.Tensor

    assert type_specs.get_name(Registered.Spec) == "tests.Registered.Spec"
    spec = Registered([1.0])._type_spec
    assert type_specs.lookup("tests.Registered.Spec")._deserialize(spec._serialize()) == spec
    with pytest.raises(ValueError, match="has not been registered"):
        type_specs.get_name(Masked.Spec)
