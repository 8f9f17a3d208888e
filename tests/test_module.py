"""Modules find their variables and modules where TensorFlow's do, in the same order; scopes give names."""

import copy
import pickle
import threading
from collections import OrderedDict, namedtuple

import pytest
from numpy.testing import assert_array_equal

import gradtape as tf


class Dense(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.w = tf.Variable([[1.0]], name="w")
        self.b = tf.Variable([0.5], name="b")

    def __call__(self, x):
        return x @ self.w + self.b


class Net(tf.Module):
    def __init__(self):
        super().__init__(name="net")
        self.z = tf.Variable(0.0, name="z")
        self.layers = [Dense("l0"), Dense("l1")]
        self.a = {"y": tf.Variable(1.0, name="ay"), "x": tf.Variable(1.0, name="ax", trainable=False)}
        self.t = (tf.Variable(1.0, name="t0"), [tf.Variable(1.0, name="t1")])
        self.itself = self
        self.again = self.z
        self._p = tf.Variable(1.0, name="p")
        self.n = {"r": tf.Variable(3.0, name="n"), "s": (self.layers[0],)}
        self.size, self.text, self.nothing = 3, "text", None


def names(things):
    return [thing.name for thing in things]


def test_variables_come_by_the_names_of_attributes_then_those_of_modules():
    # The order is TensorFlow's.
    net = Net()
    mine = ["p:0", "ax:0", "ay:0", "z:0", "n:0", "t0:0", "t1:0"]
    assert names(net.variables) == [*mine, "b:0", "w:0", "b:0", "w:0"]
    assert names(net.trainable_variables) == [*(n for n in mine if n != "ax:0"), "b:0", "w:0", "b:0", "w:0"]
    assert names(net.non_trainable_variables) == ["ax:0"]
    assert names(net.submodules) == ["l0", "l1"]
    assert type(net.variables) is type(net.trainable_variables) is type(net.submodules) is tuple


def test_modules_come_before_those_in_them():
    a, b, c, d = (tf.Module(name) for name in "abcd")
    a.first, a.second = b, [c]
    b.inner = d
    c.inner = b
    assert names(a.submodules) == ["b", "c", "d"]
    assert a.submodules == (b, c, d)
    d.v, c.v, b.v = (tf.Variable(0.0, name=f"v{n}") for n in "dcb")
    assert names(a.variables) == ["vb:0", "vd:0", "vc:0"]


def test_containers():
    Pair = namedtuple("Pair", "b a")
    module = tf.Module()
    module.pair = Pair(tf.Variable(1.0, name="b"), tf.Variable(1.0, name="a"))
    module.ordered = OrderedDict(q=tf.Variable(1.0, name="q"), c=tf.Variable(1.0, name="c"))
    module.mixed = {1: tf.Variable(1.0, name="one"), "s": tf.Variable(1.0, name="s")}
    module.long = [tf.Variable(1.0, name=f"k{i}") for i in range(11)]
    expected = [f"k{i}" for i in range(11)] + ["one", "s", "c", "q", "b", "a"]
    assert names(module.variables) == [f"{name}:0" for name in expected]


def test_circles_end():
    a, b = tf.Module("a"), tf.Module("b")
    a.b, b.a = b, a
    a.v = tf.Variable(1.0)
    loop = [a.v]
    loop.append(loop)
    a.loop = loop
    assert a.submodules == (b,)
    assert b.submodules == (a,)
    assert len(a.variables) == len(b.variables) == 1


def test_equal_values_are_not_one_variable():
    module = tf.Module()
    module.a, module.b = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])
    assert len(module.variables) == 2


def test_variables_are_found_without_super_but_there_is_no_name():
    class Forgetful(tf.Module):
        def __init__(self):
            self.v = tf.Variable(1.0)

    module = Forgetful()
    assert len(module.variables) == 1
    for ask in (lambda: module.name, lambda: module.name_scope):
        with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\) at the start"):
            ask()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Dense", "dense"), ("ConvLayer", "conv_layer"), ("MyABCNet2D", "my_abc_net2_d"), ("SGD", "sgd")],
)
def test_a_class_names_its_objects(name, expected):
    assert type(name, (tf.Module,), {})().name == expected


@pytest.mark.parametrize("name", ["1a", "a b", "", "a/b"])
def test_a_name_looks_like_pythons(name):
    with pytest.raises(ValueError, match="is no name for a module"):
        tf.Module(name=name)


# ---------------------------------------------------------------------------------------------------------------------
# Scopes


def test_scopes_stand_in_front_of_variables_names():
    with tf.name_scope("a"):
        v, unnamed = tf.Variable(1.0, name="v"), tf.Variable(1.0)
        with tf.name_scope("b") as scope:
            w = tf.Variable(1.0, name="w/x")
        with tf.name_scope(""):
            top = tf.Variable(1.0, name="top")
        with tf.name_scope(scope):
            again = tf.Variable(1.0, name="again")
    outside = tf.Variable(1.0, name="v")
    assert names([v, unnamed, w, top, again, outside]) == [
        "a/v:0",
        "a/Variable:0",
        "a/b/w/x:0",
        "top:0",
        "a/b/again:0",
        "v:0",
    ]


def test_copies_keep_their_name_wherever_they_are_made():
    with tf.name_scope("a"):
        v = tf.Variable(1.0, name="v")
    with tf.name_scope("b"):
        made = [copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))]
    assert names(made) == ["a/v:0"] * 3


def test_a_scope_ends_with_its_block_and_is_the_threads_own():
    with pytest.raises(RuntimeError), tf.name_scope("a"):
        raise RuntimeError
    seen = []
    with tf.name_scope("a"):
        thread = threading.Thread(target=lambda: seen.append(tf.Variable(1.0, name="v").name))
        thread.start()
        thread.join()
    assert seen == ["v:0"]
    assert tf.get_current_name_scope() == ""


def test_a_scope_may_be_entered_inside_itself():
    scope = tf.name_scope("a")
    with scope:
        with scope:
            assert tf.get_current_name_scope() == "a/a"
        assert tf.get_current_name_scope() == "a"
    assert tf.get_current_name_scope() == ""


class Inner(tf.Module):
    @tf.Module.with_name_scope
    def build(self):
        """Docs."""
        self.r = tf.Variable(1.0, name="r")


class Scoped(tf.Module):
    def __init__(self):
        super().__init__()
        with self.name_scope:
            self.w = tf.Variable(1.0, name="w")
            self.dense = Dense()

    @tf.Module.with_name_scope
    def __call__(self, *, depth=1):
        self.q = tf.Variable(1.0, name="q")
        self.inner = Inner()
        self.inner.build()
        return self(depth=depth - 1) if depth else tf.get_current_name_scope()


def test_methods_may_run_in_the_modules_scope():
    module = Scoped()
    assert module() == "scoped"  # also where one calls another
    assert names(module.variables) == [
        "scoped/q:0",
        "scoped/w:0",
        "scoped/b:0",
        "scoped/w:0",
        "scoped/inner/r:0",
    ]
    assert module.name_scope.name == "scoped/"
    assert (module.dense.name, module.dense.name_scope.name) == ("dense", "scoped/dense/")
    assert module.inner.name_scope.name == "scoped/inner/"
    assert Inner.build.__doc__ == "Docs."
    assert tf.get_current_name_scope() == ""


# ---------------------------------------------------------------------------------------------------------------------
# Use


def test_a_module_trains():
    layer = Dense()
    optimizer = tf.optimizers.SGD(0.1)
    x, y = tf.constant([[0.0], [1.0], [2.0]]), tf.constant([[1.0], [3.0], [5.0]])
    for _ in range(300):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((layer(x) - y) ** 2)
        variables = layer.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    assert float(layer.w[0, 0]) == pytest.approx(2.0, abs=1e-2)
    assert float(layer.b[0]) == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_is_a_module_of_its_own(copied):
    net = Net()
    other = copied(net)
    assert names(other.variables) == names(net.variables)
    assert other.again is other.z
    assert other.n["s"][0] is other.layers[0]
    other.z.assign(7.0)
    assert_array_equal(net.z, 0.0)
