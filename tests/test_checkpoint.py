"""train.Checkpoint and its kin: what is saved comes back, and nothing that goes wrong costs more than itself."""

import errno
import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import storage, variable
from gradtape.train import arrivals, restore

Checkpoint, CheckpointManager = tf.train.Checkpoint, tf.train.CheckpointManager
Dataset = tf.data.Dataset


class Dense:
    """A plain object, of no particular class."""

    def __init__(self, n, m, value=0.0):
        self.w = tf.Variable(np.full((n, m), value, np.float32))
        self.b = tf.Variable(np.full(m, value, np.float32), name="bias")
        self.units = m
        self.activation = tf.nn.relu


class Model:
    def __init__(self, value=0.0):
        self.layers = [Dense(2, 3, value), Dense(3, 1, value + 1)]
        self.named = {"scale": tf.Variable(value + 2), "more": (tf.Variable([value + 3]),)}
        self.shared = self.layers[0].w


def values(model):
    found = [model.layers[0].w, model.layers[0].b, model.layers[1].w, model.layers[1].b]
    found += [model.named["scale"], model.named["more"][0]]
    return [v.numpy().tolist() for v in found]


def prefix(tmp_path, name="ckpt"):
    return str(tmp_path / name)


# -- there and back ---------------------------------------------------------------------------------------------------


def test_a_graph_of_objects_comes_back(tmp_path):
    model = Model(5.0)
    path = Checkpoint(model=model, step=tf.Variable(7)).save(prefix(tmp_path))
    assert path == prefix(tmp_path, "ckpt-1")
    fresh, step = Model(), tf.Variable(0)
    status = Checkpoint(model=fresh, step=step).restore(path)
    assert status.assert_consumed() is status.expect_partial() is status
    assert values(fresh) == values(model)
    assert int(step) == 7
    assert tf.train.list_variables(path) == [
        ("model/layers/0/b", [3]),
        ("model/layers/1/b", [1]),
        ("model/layers/1/w", [3, 1]),
        ("model/named/more/0", [1]),
        ("model/named/scale", []),
        ("model/shared", [2, 3]),
        ("save_counter", []),
        ("step", []),
    ]


def test_a_root_is_saved_under_the_names_of_its_parts(tmp_path):
    model = Model(5.0)
    path = Checkpoint(model, extra=tf.Variable(1.0)).write(prefix(tmp_path))
    assert {"shared", "named/scale", "extra"} <= {name for name, _ in tf.train.list_variables(path)}
    fresh = SimpleNamespace(named={"scale": tf.Variable(0.0)})
    Checkpoint(fresh).read(path).assert_existing_objects_matched()
    assert float(fresh.named["scale"]) == 7.0


VALUES = {
    "float32": np.float32([1.5, -2.5]),
    "float64": np.float64([[1e300]]),
    "float16": np.float16([0.1, 65504]),
    "bfloat16": tf.cast([1.5, 3e38, float("nan")], tf.bfloat16).numpy(),
    "int8": np.int8([-128]),
    "uint64": np.uint64([2**64 - 1]),
    "bool": np.array([True, False]),
    "complex64": np.complex64([[1 + 2j, -3j]]),
    "complex128": np.complex128(1 + 2j),
    "scalar": np.float32(2.5),
    "bfloat16 scalar": tf.cast(1.5, tf.bfloat16).numpy(),
    "empty": np.zeros((0, 3), np.float32),
    "empty complex": np.zeros((2, 0), np.complex64),
    "not contiguous": np.arange(6, dtype=np.int32).reshape(2, 3).T,
    "inf": np.float32([np.inf, -np.inf, np.nan, -0.0]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_every_kind_of_value_comes_back_to_the_bit(tmp_path, kind):
    saved = tf.Variable(VALUES[kind])
    path = Checkpoint(v=saved).write(prefix(tmp_path))
    fresh = tf.Variable(tf.zeros_like(saved))
    Checkpoint(v=fresh).read(path).assert_consumed()
    assert fresh.dtype == saved.dtype and fresh.shape == saved.shape
    assert fresh.numpy().tobytes() == saved.numpy().tobytes()
    read = tf.train.load_variable(path, "v")
    assert read.dtype == VALUES[kind].dtype and read.tobytes() == np.asarray(VALUES[kind]).tobytes()


def test_the_file_is_safetensors_that_others_can_read(tmp_path):
    from safetensors.numpy import load_file

    path = Checkpoint(model=Model(5.0)).save(prefix(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "ckpt-1.safetensors"]
    np.testing.assert_array_equal(load_file(path + ".safetensors")["model/shared"], np.full((2, 3), 5.0))
    assert json.loads((tmp_path / "checkpoint").read_text())["model_checkpoint_path"] == "ckpt-1"


def test_names_with_slashes_do_not_collide(tmp_path):
    tree = {"a/b": tf.Variable(1.0), "a": {"b": tf.Variable(2.0)}, "a%2Fb": tf.Variable(3.0)}
    path = Checkpoint(tree=tree).write(prefix(tmp_path))
    fresh = {"a/b": tf.Variable(0.0), "a": {"b": tf.Variable(0.0)}, "a%2Fb": tf.Variable(0.0)}
    Checkpoint(tree=fresh).read(path).assert_consumed()
    assert [float(v) for v in (fresh["a/b"], fresh["a"]["b"], fresh["a%2Fb"])] == [1.0, 2.0, 3.0]


def test_cycles_and_foreign_objects_do_not_matter(tmp_path):
    a, b = SimpleNamespace(v=tf.Variable(1.0)), OrderedDict()
    a.b, b["a"], a.me, a.lock, a.thread = b, a, a, threading.Lock(), threading.current_thread()
    a.array, a.tensor, a.function, a.cls, a.none = np.zeros(3), tf.constant(1.0), prefix, Dense, None
    path = Checkpoint(a=a).write(prefix(tmp_path))
    assert tf.train.list_variables(path) == [("a/v", [])]


def test_what_a_function_or_a_tape_holds_is_not_saved(tmp_path):
    inside = tf.Variable(2.0)
    thing = SimpleNamespace(w=tf.Variable(1.0), step=tf.function(lambda x: x * inside))
    thing.step(1.0)
    with tf.GradientTape(persistent=True) as thing.tape:
        thing.step(thing.w)
    assert tf.train.list_variables(Checkpoint(thing=thing).write(prefix(tmp_path))) == [("thing/w", [])]


def test_a_long_chain_of_objects_does_not_matter(tmp_path):
    chain = link = SimpleNamespace()
    for _ in range(3000):
        link.next = link = SimpleNamespace()
    link.v = tf.Variable(4.0)
    path = Checkpoint(chain=chain).write(prefix(tmp_path))
    link.v.assign(0.0)
    Checkpoint(chain=chain).read(path).assert_consumed()
    assert float(link.v) == 4.0


def test_nested_checkpoints_optimizers_and_generators(tmp_path):
    def make():
        v = tf.Variable([1.0, 2.0])
        inner = Checkpoint(optimizer=tf.optimizers.SGD(0.1, momentum=0.9))
        return v, inner, tf.random.Generator.from_seed(3)

    v, inner, generator = make()
    inner.optimizer.apply_gradients([(tf.constant([1.0, 1.0]), v)])
    inner.optimizer.learning_rate = 0.25
    generator.normal((3,))
    path = Checkpoint(v=v, inner=inner, generator=generator).save(prefix(tmp_path))
    w, inner2, generator2 = make()
    Checkpoint(v=w, inner=inner2, generator=generator2).restore(path)
    assert w.numpy().tolist() == v.numpy().tolist()
    assert int(inner2.optimizer.iterations) == 1 and float(inner2.optimizer.learning_rate) == 0.25
    assert generator2.normal((3,)).numpy().tolist() == generator.normal((3,)).numpy().tolist()


def test_iterators_and_datasets_come_back_to_their_positions(tmp_path):
    def make():
        dataset = Dataset.range(20).shuffle(20)
        return dataset, iter(dataset.repeat().batch(3))

    dataset, iterator = make()
    for _ in range(9):
        next(iterator)
    list(dataset)
    path = Checkpoint(iterator=iterator, dataset=dataset).write(prefix(tmp_path))
    expected = [next(iterator).numpy().tolist() for _ in range(20)], [int(x) for x in dataset]
    dataset, iterator = make()
    Checkpoint(iterator=iterator, dataset=dataset).read(path).assert_consumed()
    assert ([next(iterator).numpy().tolist() for _ in range(20)], [int(x) for x in dataset]) == expected


def test_the_save_counter_counts_and_comes_back(tmp_path):
    first = Checkpoint(v=tf.Variable(1.0))
    assert [first.save(prefix(tmp_path)) for _ in range(2)] == [prefix(tmp_path, f"ckpt-{i}") for i in (1, 2)]
    assert first.write(prefix(tmp_path, "best")) == prefix(tmp_path, "best")
    assert tf.train.latest_checkpoint(tmp_path) == prefix(tmp_path, "ckpt-2")
    second = Checkpoint(v=tf.Variable(0.0))
    second.restore(tf.train.latest_checkpoint(tmp_path)).assert_consumed()
    assert int(second.save_counter) == 2
    assert second.save(prefix(tmp_path)) == prefix(tmp_path, "ckpt-3")
    written = Checkpoint(v=tf.Variable(0.0))
    written.restore(Checkpoint(v=tf.Variable(1.0)).write(prefix(tmp_path, "other"))).assert_consumed()
    assert int(written.save_counter) == 0


def test_loading_runs_no_code_and_keeps_no_object(tmp_path):
    path = Checkpoint(v=tf.Variable(1.0)).save(prefix(tmp_path))
    program = (
        "import sys, gradtape as tf\n"
        "import builtins, pickle\n"
        "def refuse(*a, **k): raise AssertionError('unpickled')\n"
        "pickle.loads = pickle.load = pickle.Unpickler = refuse\n"
        "v = tf.Variable(0.0)\n"
        f"tf.train.Checkpoint(v=v).restore({path!r}).assert_consumed()\n"
        "print(float(v))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "1.0\n"


# -- what does not match ----------------------------------------------------------------------------------------------


def test_restoring_none_restores_nothing():
    status = Checkpoint(v=tf.Variable(1.0)).restore(None)
    assert status.expect_partial() is status
    for ask in (
        status.assert_consumed,
        status.assert_existing_objects_matched,
        status.assert_nontrivial_match,
    ):
        with pytest.raises(AssertionError, match="no checkpoint"):
            ask()


def test_statuses_say_what_is_missing(tmp_path):
    path = Checkpoint(v=tf.Variable(1.0), w=tf.Variable(2.0)).write(prefix(tmp_path))
    status = Checkpoint(v=tf.Variable(0.0)).read(path)
    with pytest.raises(AssertionError, match=r"no object has taken: w$"):
        status.assert_consumed()
    status.assert_existing_objects_matched().assert_nontrivial_match()
    status = Checkpoint(v=tf.Variable(0.0), w=tf.Variable(0.0), x=[tf.Variable(0.0)]).read(path)
    for ask in (status.assert_consumed, status.assert_existing_objects_matched):
        with pytest.raises(AssertionError, match=r"no value for x/0$"):
            ask()
    with pytest.raises(AssertionError, match="any of the objects"):
        Checkpoint(x=tf.Variable(0.0)).read(path).assert_nontrivial_match()


MISFITS = {
    "shape": (
        lambda: tf.Variable([0.0, 0.0, 0.0]),
        tf.errors.InvalidArgumentError,
        r"b: .*shape \(3,\).*\(2,\)",
    ),
    "dtype": (lambda: tf.Variable([0, 0]), tf.errors.InvalidArgumentError, "b: .*int32.*float32"),
    "kind": (lambda: iter(Dataset.range(3)), tf.errors.InvalidArgumentError, "b: a Iterator cannot take"),
}


@pytest.mark.parametrize("kind", MISFITS)
def test_a_value_that_does_not_fit_is_refused_and_nothing_changes(tmp_path, kind):
    make, error, message = MISFITS[kind]
    path = Checkpoint(a=tf.Variable(1.0), b=tf.Variable([2.0, 3.0]), c=tf.Variable(4.0)).save(
        prefix(tmp_path)
    )
    a, c = tf.Variable(0.0), tf.Variable(0.0)
    checkpoint = Checkpoint(a=a, b=make(), c=c)
    with pytest.raises(error, match=message):
        checkpoint.restore(path)
    assert (float(a), float(c), int(checkpoint.save_counter)) == (0.0, 0.0, 0)


def test_a_position_beyond_the_end_is_refused_and_nothing_changes(tmp_path):
    iterator = iter(Dataset.range(9))
    for _ in range(5):
        next(iterator)
    path = Checkpoint(v=tf.Variable(1.0), i=iterator).write(prefix(tmp_path))
    v, short = tf.Variable(0.0), iter(Dataset.range(3))
    with pytest.raises(tf.errors.InvalidArgumentError, match="i: the saved iterator had given 5"):
        Checkpoint(v=v, i=short).read(path)
    assert float(v) == 0.0 and int(next(short)) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Checkpoint(epoch=5), r"epoch is 5.*Variable"),
        (lambda: Checkpoint(5), "root is 5"),
        (lambda: Checkpoint(v=tf.constant(1.0)), "cannot be restored into"),
        (lambda: Checkpoint(tf.Variable(1.0)), r"Checkpoint\(v=variable\)"),
        (lambda: Checkpoint(save=tf.Variable(1.0)), "method"),
        (lambda: Checkpoint({"v": tf.Variable(1.0)}, v=tf.Variable(1.0)), "root has another 'v'"),
        (lambda: Checkpoint(v={1: tf.Variable(1.0), "1": tf.Variable(1.0)}).write("x"), "named '1'"),
        (lambda: Checkpoint(v=tf.Variable(["text"])).write("x"), "'v' holds string: a checkpoint"),
        (lambda: Checkpoint(v=tf.Variable([1], dtype=tf.qint8)).write("x"), "'v' holds qint8: a checkpoint"),
    ],
)
def test_what_cannot_be_saved_is_refused(make, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        make()
    assert os.listdir(tmp_path) == []


# -- later ------------------------------------------------------------------------------------------------------------


def test_variables_that_come_later_get_their_values(tmp_path):
    path = Checkpoint(model=Model(5.0), v=tf.Variable(9.0)).write(prefix(tmp_path))
    checkpoint = Checkpoint()
    status = checkpoint.read(path)
    with pytest.raises(AssertionError):
        status.assert_consumed()
    checkpoint.v = tf.Variable(0.0)
    assert float(checkpoint.v) == 9.0
    checkpoint.model = Model()
    assert values(checkpoint.model) == values(Model(5.0))
    status.assert_consumed()


def test_parts_of_known_objects_that_come_later_get_their_values(tmp_path):
    path = Checkpoint(model=Model(5.0)).write(prefix(tmp_path))
    lazy = SimpleNamespace(layers=[])
    model = type("Lazy", (), {})()
    model.layers, model.lazy = [], lazy
    status = Checkpoint(model=model).read(path)
    model.layers.append(Dense(2, 3))
    assert model.layers[0].w.numpy().min() == 5
    model.layers[0].w.assign(np.ones((2, 3)))
    model.built = False
    assert model.layers[0].w.numpy().max() == 1, "a value is restored once"
    model.layers.append(Dense(3, 1))
    model.named = {"scale": tf.Variable(0.0), "more": (tf.Variable([0.0]),)}
    model.shared = model.layers[0].w
    status.assert_consumed()
    assert "__setattr__" not in type(model).__dict__


def test_an_optimizer_that_makes_its_state_at_its_first_step_gets_it(tmp_path):
    class Momentum:
        def __init__(self):
            self.slots = {}
            self.built = False

        def step(self, v, gradient):
            if not self.built:
                self.slots["momentum"] = [tf.Variable(tf.zeros_like(v))]
                self.built = True
            m = self.slots["momentum"][0]
            m.assign(0.5 * m + gradient)
            v.assign_sub(m)

    def make():
        return Checkpoint(v=tf.Variable([8.0]), optimizer=Momentum())

    straight = make()
    for _ in range(2):
        straight.optimizer.step(straight.v, 1.0)
    path = straight.write(prefix(tmp_path))
    straight.optimizer.step(straight.v, 1.0)
    resumed = make()
    status = resumed.read(path)
    resumed.optimizer.step(resumed.v, 1.0)
    status.assert_consumed()
    assert resumed.v.numpy() == straight.v.numpy()


class Line(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.zeros((4, 2)))
        self.scales = [tf.Variable(1.0), tf.Variable(2.0)]

    def __call__(self, x):
        return (x @ self.w) * self.scales[0] + self.scales[1]


class Training:
    """A model, an optimizer and a shuffled dataset, as a user has them."""

    def __init__(self, optimizer, compiled):
        x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
        data = Dataset.from_tensor_slices((x, x[:, :2] - x[:, 2:])).shuffle(40).repeat().batch(8)
        self.checkpoint = Checkpoint(model=Line(), optimizer=optimizer(), iterator=iter(data))
        self.step = tf.function(self._step) if compiled else self._step

    def _step(self, x, y):
        model = self.checkpoint.model
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        variables = model.trainable_variables
        self.checkpoint.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def run(self, steps):
        return [float(self.step(*next(self.checkpoint.iterator))) for _ in range(steps)]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("name", ["Adam", "SGD", "RMSprop", "Ftrl"])
def test_a_training_resumed_goes_on_to_the_bit(tmp_path, name, compiled):
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = lambda: getattr(tf.optimizers, name)(0.05, **options)
    straight = Training(optimizer, compiled)
    straight.run(7)
    path = straight.checkpoint.save(prefix(tmp_path))
    resumed = Training(optimizer, compiled)
    status = resumed.checkpoint.restore(path)
    assert resumed.run(9) == straight.run(9)
    status.assert_consumed()
    resumed.checkpoint.restore(path).assert_consumed()
    again = resumed.run(9)
    straight.checkpoint.restore(path)
    assert again == straight.run(9)


def zero():
    return tf.Variable(0.0)


def filled():
    """An object that holds variables in containers of every kind: 1, 2, ... in the order of their names."""
    thing, part, other = tf.Module(), SimpleNamespace(v=tf.Variable(7.0)), tf.Module()
    other.rows = [tf.Variable(8.0)]
    thing.items = [tf.Variable(1.0), tf.Variable(2.0)]
    thing.named = {"a": tf.Variable(3.0), "b": tf.Variable(4.0)}
    thing.nested = [[tf.Variable(5.0)], {"x": [tf.Variable(6.0)]}]
    thing.parts = [part, other]
    thing.pair = (tf.Variable(9.0), tf.Variable(10.0))
    return thing


def append(thing):
    thing.items.append(zero())
    thing.items.append(zero())
    return thing.items


def insert(thing):
    thing.items.insert(0, zero())
    thing.items += [zero()]
    return thing.items


def assign_slices(thing):
    thing.items[:] = [zero(), zero()]
    return thing.items


def new_list(thing):
    thing.items = []
    thing.items.extend([zero(), zero()])
    return thing.items


def set_keys(thing):
    thing.named["a"] = zero()
    thing.named.setdefault("b", zero())
    return list(thing.named.values())


def update(thing):
    thing.named.update(a=zero())
    thing.named |= {"b": zero()}
    return list(thing.named.values())


def nest_deeper(thing):
    thing.nested.append([])
    thing.nested[0].append(zero())
    thing.nested.append({})
    thing.nested[1]["x"] = []
    thing.nested[1]["x"].append(zero())
    return [thing.nested[0][0], thing.nested[1]["x"][0]]


def add_objects(thing):
    thing.parts.append(SimpleNamespace(v=zero()))
    thing.parts.append(tf.Module())
    thing.parts[1].rows = []
    thing.parts[1].rows.append(zero())
    return [thing.parts[0].v, thing.parts[1].rows[0]]


def tuple_anew(thing):
    thing.pair = (zero(), zero())
    return thing.pair


def ask_about_it_first(thing):
    v = zero()
    assert (v.dtype, v.shape, v.ndim, v.trainable) == (tf.float32, (), 0, True)
    thing.items.append(v)
    return [v]


def through_another_name(thing):
    rows = thing.items
    rows.append(zero())
    return rows


LATE = {
    append: [1.0, 2.0],
    insert: [1.0, 2.0],
    assign_slices: [1.0, 2.0],
    new_list: [1.0, 2.0],
    set_keys: [3.0, 4.0],
    update: [3.0, 4.0],
    nest_deeper: [5.0, 6.0],
    add_objects: [7.0, 8.0],
    tuple_anew: [9.0, 10.0],
    ask_about_it_first: [1.0],
    through_another_name: [1.0],
}


def awaiting(path):
    """An object with empty containers, which a checkpoint has been read for."""
    thing = tf.Module()
    thing.items, thing.named, thing.nested, thing.parts = [], {}, [], []
    Checkpoint(thing=thing).read(path)
    return thing


@pytest.mark.parametrize("add", LATE, ids=lambda add: add.__name__)
def test_variables_put_into_containers_later_get_their_values(tmp_path, add):
    thing = awaiting(Checkpoint(thing=filled()).write(prefix(tmp_path)))
    assert [float(v) for v in add(thing)] == LATE[add]


@pytest.mark.parametrize("add", LATE, ids=lambda add: add.__name__)
def test_what_is_assigned_after_a_late_value_came_stays(tmp_path, add):
    thing = awaiting(Checkpoint(thing=filled()).write(prefix(tmp_path)))
    found = add(thing)
    found[0].assign_add(100.0)
    thing.more = zero()
    assert [float(v) for v in found] == [LATE[add][0] + 100.0, *LATE[add][1:]]


def test_a_function_finds_the_late_values_of_a_list(tmp_path):
    thing = awaiting(Checkpoint(thing=filled()).write(prefix(tmp_path)))
    append(thing)
    assert float(tf.function(lambda: thing.items[0] + 10.0 * thing.items[1])()) == 21.0


def test_late_values_of_a_list_are_saved(tmp_path):
    path = Checkpoint(thing=filled()).write(prefix(tmp_path))
    thing = awaiting(path)
    append(thing)
    again = Checkpoint(items=thing.items).write(prefix(tmp_path, "again"))
    assert tf.train.load_variable(again, "items/1") == 2.0


def test_an_optimizer_with_a_list_of_its_own_gets_its_state(tmp_path):
    class Momentum:
        def __init__(self):
            self.velocities = []

        def step(self, variables, gradients):
            if not self.velocities:
                self.velocities.extend(tf.Variable(tf.zeros_like(v)) for v in variables)
            for v, g, velocity in zip(variables, gradients, self.velocities):
                v.assign_sub(velocity.assign(0.5 * velocity + g))

    def trained(optimizer, v, steps):
        for _ in range(steps):
            optimizer.step([v], [tf.constant(1.0)])
        return float(v), float(optimizer.velocities[0])

    first, v = Momentum(), tf.Variable(8.0)
    trained(first, v, 2)
    path = Checkpoint(optimizer=first, v=v).write(prefix(tmp_path))
    second, w = Momentum(), tf.Variable(0.0)
    Checkpoint(optimizer=second, v=w).read(path)
    assert trained(second, w, 1) == trained(first, v, 1)


def test_variables_are_as_they_were_when_all_that_came_are_in_use(tmp_path):
    thing = awaiting(Checkpoint(thing=filled()).write(prefix(tmp_path)))
    unused, used = zero(), zero()
    assert "__getattr__" in tf.Variable.__dict__
    assert float(used) == 0.0
    del unused
    assert "__getattr__" not in tf.Variable.__dict__ and not arrivals._aside
    with pytest.raises(AttributeError, match="wrong"):
        _ = used.wrong
    del thing
    gc.collect()  # what other tests have left
    assert arrivals._keep_aside not in variable.when_new


def test_a_late_value_of_a_list_that_does_not_fit_is_refused(tmp_path):
    thing = awaiting(Checkpoint(thing=filled()).write(prefix(tmp_path)))
    thing.items.append(tf.Variable([0.0, 0.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"thing\.items\.0: .*Nothing was restored"):
        thing.items[0].numpy()
    assert thing.items[0].numpy().tolist() == [0.0, 0.0]


def test_a_late_value_that_does_not_fit_is_refused(tmp_path):
    checkpoint = Checkpoint()
    checkpoint.read(Checkpoint(v=tf.Variable([1.0])).write(prefix(tmp_path)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="v: "):
        checkpoint.v = tf.Variable([0.0, 0.0])


def test_what_waits_keeps_nothing_alive_and_classes_as_they_were(tmp_path):
    class Own:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)

    own = Own.__dict__["__setattr__"]
    saved = Own()
    saved.v, saved.w = tf.Variable(1.0), tf.Variable(2.0)
    path = Checkpoint(o=saved).write(prefix(tmp_path))
    thing = Own()
    thing.v = tf.Variable(0.0)
    Checkpoint(o=thing).read(path).expect_partial()
    assert float(thing.v) == 1.0
    assert Own.__dict__["__setattr__"] is not own
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None
    assert Own.__dict__["__setattr__"] is own
    assert not restore._lacking and not restore._reporting


# -- damage -----------------------------------------------------------------------------------------------------------


def damaged_restore(path):
    """Restore into objects of every kind; returns the error, having seen that nothing changed."""
    v, w, iterator = tf.Variable([0.0, 0.0]), tf.Variable(0), iter(Dataset.range(5))
    checkpoint = Checkpoint(v=v, w=w, i=iterator)
    try:
        checkpoint.read(path)
    except tf.errors.OpError as error:
        assert (v.numpy().tolist(), int(w), int(next(iterator))) == ([0.0, 0.0], 0, 0)
        return error
    assert (v.numpy().tolist(), int(w), int(next(iterator))) == ([1.5, 2.5], 7, 1)
    return None


@pytest.fixture
def saved(tmp_path):
    iterator = iter(Dataset.range(5))
    next(iterator)
    path = Checkpoint(v=tf.Variable([1.5, 2.5]), w=tf.Variable(7), i=iterator).write(prefix(tmp_path))
    return path, tmp_path / "ckpt.safetensors"


def test_every_flipped_bit_is_noticed_or_does_no_harm(saved):
    path, file = saved
    whole = file.read_bytes()
    assert damaged_restore(path) is None
    start = 8 + int.from_bytes(whole[:8], "little")
    for place in range(len(whole)):
        for bit in range(8) if place < 8 or place >= start else (random.randrange(8),):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            error = damaged_restore(path)
            if place >= start:
                assert isinstance(error, tf.errors.DataLossError), (place, bit)
                assert "is not what was written" in str(error)


def test_every_truncation_is_noticed(saved):
    path, file = saved
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert isinstance(damaged_restore(path), tf.errors.DataLossError), length
    file.write_bytes(whole + b"\0")
    assert isinstance(damaged_restore(path), tf.errors.DataLossError)


FOREIGN = {
    "text": b"not a checkpoint at all, just a text file",
    "zeros": bytes(1000),
    "pickle": b"\x80\x04cos\nsystem\n(S'echo'\ntR.",
    "huge header": (2**62).to_bytes(8, "little") + b"{}",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_refused(saved, kind):
    path, file = saved
    file.write_bytes(FOREIGN[kind])
    assert isinstance(damaged_restore(path), tf.errors.DataLossError)


def rewrite(file, change):
    """Change the table of contents as a forger would, who can compute checksums too."""
    import hashlib

    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(file, "numpy") as opened:
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        graph = json.loads(opened.metadata()["gradtape"])
    change(graph, tensors)
    text = json.dumps(graph)
    save_file(tensors, file, {"gradtape": text, "sha256": hashlib.sha256(text.encode()).hexdigest()})


FORGERIES = {
    "a child that is none": (lambda g, t: g["nodes"][0]["children"].update(v=99), "makes no sense"),
    "a child that is no number": (lambda g, t: g["nodes"][0]["children"].update(v="x"), "makes no sense"),
    "a tensor that is none": (lambda g, t: g["nodes"][1].update(tensor="nope"), "makes no sense"),
    "another shape": (lambda g, t: g["tensors"]["v"].update(shape=[1, 2]), "shape and dtype"),
    "another dtype": (lambda g, t: g["tensors"]["v"].update(dtype="int32"), "shape and dtype"),
    "a tensor too many": (lambda g, t: t.update(more=np.zeros(1)), "not those that were written"),
    "a newer version": (lambda g, t: g.update(version=2), "newer gradtape"),
    "no nodes": (lambda g, t: g.update(nodes=[]), "makes no sense"),
    "no table": (lambda g, t: g.clear(), "makes no sense"),
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forged_file_is_refused(saved, kind):
    path, file = saved
    change, message = FORGERIES[kind]
    rewrite(file, change)
    assert message in str(damaged_restore(path))


def test_other_peoples_files_are_named_as_what_they_are(tmp_path):
    from safetensors.numpy import save_file

    save_file({"v": np.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"safetensors file, but no checkpoint"):
        Checkpoint(v=tf.Variable(1.0)).restore(prefix(tmp_path, "other"))
    (tmp_path / "model.index").write_bytes(b"")
    with pytest.raises(tf.errors.InvalidArgumentError, match="of TensorFlow"):
        Checkpoint(v=tf.Variable(1.0)).restore(prefix(tmp_path, "model"))
    with pytest.raises(tf.errors.NotFoundError, match="no checkpoint"):
        Checkpoint(v=tf.Variable(1.0)).restore(prefix(tmp_path, "nope"))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"{}", b'model_checkpoint_path: "ckpt-1"', b'{"model_checkpoint_path": 5}', b"\xff"],
)
def test_a_damaged_state_file_is_an_error_not_a_fresh_start(tmp_path, content):
    path = Checkpoint(v=tf.Variable(1.0)).save(prefix(tmp_path))
    (tmp_path / "checkpoint").write_bytes(content)
    with pytest.raises(tf.errors.DataLossError, match="damaged or of another program"):
        tf.train.latest_checkpoint(tmp_path)
    Checkpoint(v=tf.Variable(0.0)).restore(path).assert_consumed()


# -- interrupted saves ------------------------------------------------------------------------------------------------


def latest(tmp_path):
    """The values of the latest checkpoint: they were saved as equal numbers."""
    v, w = tf.Variable(tf.zeros((100,))), tf.Variable(tf.zeros((20, 50)))
    Checkpoint(v=v, w=w).restore(tf.train.latest_checkpoint(tmp_path)).assert_consumed()
    (value,) = set(v.numpy()) | set(w.numpy().ravel())
    return int(value)


def manager_of(tmp_path, value):
    v, w = tf.Variable(tf.fill((100,), float(value))), tf.Variable(tf.fill((20, 50), float(value)))
    return CheckpointManager(Checkpoint(v=v, w=w), tmp_path, max_to_keep=2)


def save_for_ever(tmp_path, value, pipe):
    """What a child does until it is killed; it says when it begins a save."""
    manager = manager_of(tmp_path, value)
    manager.restore_or_initialize()
    while True:
        value += 1
        os.write(pipe, b".")
        manager.checkpoint.v.assign(tf.fill((100,), float(value)))
        manager.checkpoint.w.assign(tf.fill((20, 50), float(value)))
        manager.save()


# These fork, which does not go well with the threads that JAX has when other tests have used it. So they run in a
# process of their own: this file, called by its name.


def killed_at_any_moment(tmp_path):
    """At random points of two hundred saves."""
    manager_of(tmp_path, 0).save()
    wait = 0.01  # on average; longer after a child that saved nothing, so that about half of them do on any machine
    rng, before, progress = random.Random(4), 0, set()
    for _ in range(200):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                save_for_ever(tmp_path, before, writing)
            finally:
                os._exit(1)
        os.read(reading, 1)
        time.sleep(rng.uniform(0, 2 * wait))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)
        value = latest(tmp_path)
        assert value >= before
        wait *= 1.1 if value == before else 1 / 1.1
        before = value
        progress.add(value)
    assert len(progress) > 20, "the children must get to save something"
    manager = manager_of(tmp_path, 0)
    manager.restore_or_initialize()
    manager.save()
    leftovers = [name for name in os.listdir(tmp_path) if name.startswith(".checkpoint.")]
    assert leftovers == [], "what the killed left behind is swept away"


def killed_at_every_step(tmp_path, write=False):
    """A child that stops dead at its n-th call to the system, for all n."""

    def save(value):
        manager = manager_of(tmp_path, value)
        if write:
            manager.checkpoint.write(prefix(tmp_path))
        else:
            manager.save()

    save(1)
    for step in range(100):
        child = os.fork()
        if not child:
            try:
                stop_at(step, lambda: os._exit(3))
                save(2)
                os._exit(0)
            finally:
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 3)
        if write:
            found = set(tf.train.load_variable(prefix(tmp_path), "v"))
            assert found in ({1.0}, {2.0})
            assert code == 3 or found == {2.0}
        else:
            assert latest(tmp_path) in (1, 2)
        if code == 0:
            break
    assert 5 < step < 99


def killed_at_every_step_of_writing_over(tmp_path):
    killed_at_every_step(tmp_path, write=True)


SYSTEM = ("open", "write", "fsync", "replace", "close", "unlink", "mkdir")


def stop_at(step, act, patch=setattr):
    """Have the step-th call to the system not happen, but `act` instead; returns the list of calls, as it grows."""
    calls = []

    def counting(name, call):
        def counted(*args, **kwargs):
            calls.append(name)
            if len(calls) == step + 1:
                act()
            return call(*args, **kwargs)

        return counted

    for name in SYSTEM:
        patch(os, name, counting(name, getattr(os, name)))
    return calls


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_save_that_fails_anywhere_leaves_disk_and_memory_as_they_were(tmp_path, number, monkeypatch):
    """The n-th call to the system fails, for all n: disk full, disk broken, disk read-only."""

    def fail():
        raise OSError(number, os.strerror(number))

    manager_of(tmp_path, 1).save()
    failures = 0
    for step in range(100):
        manager = manager_of(tmp_path, 2)
        manager.restore_or_initialize()
        for v in (manager.checkpoint.v, manager.checkpoint.w):
            v.assign(tf.fill(v.shape, 2.0))
        count, kept = int(manager.checkpoint.save_counter), manager.checkpoints
        with monkeypatch.context() as patch:
            calls = stop_at(step, fail, patch.setattr)
            try:
                manager.save()
                failed = False
            except OSError as error:
                assert error.errno == number
                failed = True
        failures += failed
        if step >= len(calls):
            break
        assert manager.checkpoint.v.numpy().tolist() == [2.0] * 100
        assert int(manager.checkpoint.save_counter) == count + (not failed)
        assert (manager.checkpoints == kept) == failed
        if tf.train.latest_checkpoint(tmp_path) == kept[-1]:
            assert failed and latest(tmp_path) == (1 if kept[-1].endswith("-1") else 2)
        else:
            assert latest(tmp_path) == 2
    assert failures > 5 and not failed
    assert latest(tmp_path) == 2
    assert [name for name in os.listdir(tmp_path) if name.endswith(".tmp")] == []


def full_disk(tmp_path):
    """Truly: the system refuses to let a file grow."""
    import resource

    manager_of(tmp_path, 1).save()
    child = os.fork()
    if not child:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
            try:
                manager_of(tmp_path, 2).save()
            except OSError as error:
                os._exit(7 if error.errno == errno.EFBIG else 8)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert latest(tmp_path) == 1
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "ckpt-1.safetensors"]


INTERRUPTED = [killed_at_any_moment, killed_at_every_step, killed_at_every_step_of_writing_over, full_disk]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("check", INTERRUPTED, ids=lambda check: check.__name__)
def test_an_interrupted_save_leaves_the_last_checkpoint_whole(tmp_path, check):
    command = [sys.executable, __file__, check.__name__, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_may_not_be_written_to_is_an_error(tmp_path):
    manager_of(tmp_path, 1).save()
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            manager_of(tmp_path, 2).save()
        assert latest(tmp_path) == 1
    finally:
        tmp_path.chmod(0o700)


def test_leftovers_of_the_living_are_not_swept_away(tmp_path):
    """While one writes, another saves the same file many times."""
    target = tmp_path / "checkpoint"
    with storage.beside(target) as (temporary, _):
        for i in range(5):
            storage.replace(target, str(i).encode())
        assert temporary.exists()
        os.replace(temporary, target)


def test_two_threads_may_save_to_the_same_place(tmp_path):
    def saving(value):
        for _ in range(30):
            manager_of(tmp_path, value).checkpoint.write(prefix(tmp_path))

    workers = [threading.Thread(target=saving, args=(value,)) for value in (1, 2, 3)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        if (tmp_path / "ckpt.safetensors").exists():
            assert len(set(tf.train.load_variable(prefix(tmp_path), "v"))) == 1
    assert os.listdir(tmp_path) == ["ckpt.safetensors"]


# -- the manager ------------------------------------------------------------------------------------------------------


def names(tmp_path):
    return sorted(path.name.removesuffix(".safetensors") for path in tmp_path.glob("*.safetensors"))


def test_a_manager_keeps_the_last_few_and_goes_on_later(tmp_path):
    manager = CheckpointManager(Checkpoint(v=tf.Variable(1.0)), tmp_path / "new" / "folder", max_to_keep=2)
    folder = tmp_path / "new" / "folder"
    assert manager.latest_checkpoint is None and manager.checkpoints == []
    assert [manager.save() for _ in range(3)] == [str(folder / f"ckpt-{i}") for i in (1, 2, 3)]
    assert manager.checkpoints == [str(folder / f"ckpt-{i}") for i in (2, 3)]
    assert names(folder) == ["ckpt-2", "ckpt-3"]
    again = CheckpointManager(Checkpoint(v=tf.Variable(0.0)), folder, max_to_keep=2)
    assert again.checkpoints == manager.checkpoints
    assert again.latest_checkpoint == manager.latest_checkpoint == tf.train.latest_checkpoint(folder)
    assert again.restore_or_initialize() == str(folder / "ckpt-3")
    assert again.save() == str(folder / "ckpt-4")
    assert names(folder) == ["ckpt-3", "ckpt-4"]
    assert again.save(checkpoint_number=100) == str(folder / "ckpt-100")
    assert (again.directory, again.checkpoint_interval) == (str(folder), None)


def test_a_moved_directory_is_as_good(tmp_path):
    manager_of(tmp_path / "old", 3).save()
    (tmp_path / "old").rename(tmp_path / "new")
    assert latest(tmp_path / "new") == 3
    assert manager_of(tmp_path / "new", 0).latest_checkpoint == str(tmp_path / "new" / "ckpt-1")


def test_a_manager_removes_only_what_it_has_made(tmp_path):
    checkpoint = Checkpoint(v=tf.Variable(1.0))
    checkpoint.write(prefix(tmp_path, "ckpt-77"))
    (tmp_path / "ckpt-1.notes").write_text("mine")
    best = CheckpointManager(checkpoint, tmp_path, max_to_keep=1, checkpoint_name="best")
    last = CheckpointManager(checkpoint, tmp_path, max_to_keep=1)
    for _ in range(3):
        best.save()
        last.save()
    assert names(tmp_path) == ["best-5", "ckpt-6", "ckpt-77"]
    assert (tmp_path / "ckpt-1.notes").exists()
    again = CheckpointManager(checkpoint, tmp_path, max_to_keep=1, checkpoint_name="best")
    assert again.latest_checkpoint == str(tmp_path / "best-5")
    again.save()
    assert names(tmp_path) == ["best-7", "ckpt-6", "ckpt-77"]


def test_two_managers_of_one_directory_do_not_fail(tmp_path):
    one, two = manager_of(tmp_path, 1), manager_of(tmp_path, 2)
    for _ in range(4):
        one.save()
        two.save()
    assert latest(tmp_path) == 2
    os.unlink(one.checkpoints[0] + ".safetensors")
    one.save()
    assert latest(tmp_path) == 1


def test_one_checkpoint_of_every_so_many_hours_stays(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("gradtape.train.manager.time.time", lambda: now[0])
    make = lambda: CheckpointManager(
        Checkpoint(v=tf.Variable(1.0)), tmp_path, 1, keep_checkpoint_every_n_hours=2
    )
    manager = make()
    for hour in range(8):
        now[0] = 1000.0 + 3600 * hour
        if hour == 4:
            manager = make()
            manager.restore_or_initialize()
        manager.save()
    assert names(tmp_path) == ["ckpt-3", "ckpt-5", "ckpt-7", "ckpt-8"]


def test_an_interval_counts_steps(tmp_path):
    step = tf.Variable(0)
    options = {"max_to_keep": None, "step_counter": step, "checkpoint_interval": 3}
    manager = CheckpointManager(Checkpoint(step=step), tmp_path, **options)
    saved = []
    for _ in range(8):
        step.assign_add(1)
        if manager.save():
            saved.append(int(step))
    assert saved == [1, 4, 7]
    assert manager.save() is None
    assert manager.save(check_interval=False) is not None
    again = CheckpointManager(Checkpoint(step=step), tmp_path, **options)
    again.restore_or_initialize()
    step.assign_add(2)
    assert again.save() is None
    step.assign_add(1)
    assert again.save() is not None


def test_init_fn_is_called_where_there_is_no_checkpoint(tmp_path):
    calls = []
    make = lambda: CheckpointManager(
        Checkpoint(v=tf.Variable(1.0)), tmp_path, 1, init_fn=lambda: calls.append(1)
    )
    assert make().restore_or_initialize() is None and calls == [1]
    make().save()
    assert make().restore_or_initialize() == prefix(tmp_path, "ckpt-1") and calls == [1]


@pytest.mark.parametrize("options", [{"max_to_keep": 0}, {"max_to_keep": 1, "checkpoint_interval": 2}])
def test_a_manager_refuses_what_makes_no_sense(tmp_path, options):
    with pytest.raises(ValueError, match="CheckpointManager"):
        CheckpointManager(Checkpoint(v=tf.Variable(1.0)), tmp_path, **options)


# -- looking ----------------------------------------------------------------------------------------------------------


def test_the_latest_checkpoint_is_none_where_there_is_none(tmp_path):
    assert tf.train.latest_checkpoint(tmp_path) is None
    assert tf.train.latest_checkpoint(tmp_path / "nope") is None
    path = Checkpoint(v=tf.Variable(1.0)).save(prefix(tmp_path))
    os.unlink(path + ".safetensors")
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_a_reader_knows_names_shapes_and_dtypes(tmp_path):
    path = Checkpoint(v=tf.Variable([1.0, 2.0]), n=tf.Variable(np.int64(3))).save(prefix(tmp_path))
    for where in (path, path + ".safetensors", tmp_path):
        reader = tf.train.load_checkpoint(where)
        assert reader.get_variable_to_shape_map() == {"v": [2], "n": [], "save_counter": []}
        assert reader.get_variable_to_dtype_map() == {
            "v": tf.float32,
            "n": tf.int64,
            "save_counter": tf.int64,
        }
    assert reader.has_tensor("v") and reader.has_tensor("v/.ATTRIBUTES/VARIABLE_VALUE")
    assert reader.get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE").tolist() == [1.0, 2.0]
    with pytest.raises(tf.errors.NotFoundError, match="has no value 'x'; it has n, save_counter, v"):
        reader.get_tensor("x")
    with pytest.raises(tf.errors.NotFoundError, match="no checkpoint in the directory"):
        tf.train.load_checkpoint(tmp_path.parent)


def test_checkpoints_can_be_waited_for(tmp_path):
    checkpoint = Checkpoint(v=tf.Variable(1.0))
    first = checkpoint.save(prefix(tmp_path))
    seen, asked = [], []
    for path in tf.train.checkpoints_iterator(
        tmp_path, timeout=0, timeout_fn=lambda: asked.append(1) or len(asked) > 1
    ):
        seen.append(path)
        if len(seen) == 1:
            second = checkpoint.save(prefix(tmp_path))
    assert seen == [first, second] and len(asked) == 2
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == second and state.all_model_checkpoint_paths == [second]
    assert tf.train.get_checkpoint_state(tmp_path / "nope") is None


def test_importing_checkpoints_is_left_until_used():
    names = ["safetensors", "gradtape.train.files", "gradtape.core.storage"]
    program = f"import gradtape, sys; gradtape.train; print(*[name in sys.modules for name in {names}])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "False False False\n"


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))


def test_a_view_shows_what_a_checkpoint_visits():
    class Model(tf.Module):
        def __init__(self):
            self.v = tf.Variable(1.0)
            self.parts = [tf.Variable(2.0), self.v]
            self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1], [2]), 0)

    model = Model()
    view = tf.train.TrackableView(model)
    assert view.root is model
    assert view.children(model) == {"v": model.v, "parts": model.parts, "table": model.table}
    assert [id(x) for x in view.descendants()] == [
        id(x) for x in (model, model.v, model.parts, model.table, model.parts[0])
    ]
    with pytest.raises(ValueError, match="TrackableView"):
        tf.train.TrackableView(3)
