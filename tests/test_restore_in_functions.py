"""Restoring a checkpoint into variables that a @function makes on its first call, of values known only when it runs."""

import sys

import pytest

import gradtape as tf

Checkpoint = tf.train.Checkpoint


def prefix(tmp_path):
    return str(tmp_path / "ckpt")


@pytest.fixture(params=["compiled", "without JAX"])
def engine(request, monkeypatch):
    if request.param == "without JAX":
        monkeypatch.setattr(sys.modules["gradtape.compiled.function"], "can_compile", lambda: False)
    return request.param


class Lazy(tf.Module):
    """Makes `v`, and `w` from it, when it is called first."""

    def __init__(self, initial):
        super().__init__()
        self.v, self.w, self._initial = None, None, initial

    @tf.function
    def __call__(self, x):
        if self.v is None:
            self.v = tf.Variable(self._initial(x))
        if self.w is None:
            self.w = tf.Variable(10.0 * self.v)
        self.v.assign_add(x)
        return self.v + self.w


INITIALS = {
    "random": lambda x: tf.random.normal(x.shape),
    "of an argument": lambda x: x * 2.0,
    "known": lambda x: [0.0, 0.0],
    "a function": lambda x: lambda: tf.zeros((2,)),
    "in a branch": lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x, lambda: -x),
}
X = tf.constant([1.0, 2.0])


@pytest.mark.parametrize("initial", INITIALS)
def test_a_variable_that_a_function_makes_gets_its_saved_value(tmp_path, initial, engine):
    saved = {"v": tf.Variable([5.0, 6.0]), "w": tf.Variable([50.0, 60.0])}
    path = Checkpoint(model=saved).write(prefix(tmp_path))
    model = Lazy(INITIALS[initial])
    status = Checkpoint(model=model).read(path)
    assert model(X).numpy().tolist() == [56.0, 68.0]
    status.assert_consumed()
    assert model(X).numpy().tolist() == [57.0, 70.0]
    assert model.v.numpy().tolist() == [7.0, 10.0] and model.w.numpy().tolist() == [50.0, 60.0]


def test_what_is_made_of_a_restored_variable_is_made_of_its_saved_value(tmp_path, engine):
    path = Checkpoint(model={"v": tf.Variable([5.0, 6.0])}).write(prefix(tmp_path))
    model = Lazy(INITIALS["of an argument"])
    status = Checkpoint(model=model).read(path)
    assert model(X).numpy().tolist() == [56.0, 68.0]
    with pytest.raises(AssertionError, match="no value for model/w"):
        status.assert_consumed()


def test_a_gradient_outside_and_a_concrete_function_see_the_saved_value(tmp_path):
    path = Checkpoint(model={"v": tf.Variable([5.0, 6.0])}).write(prefix(tmp_path))
    model = Lazy(INITIALS["random"])
    Checkpoint(model=model).read(path)
    with tf.GradientTape() as tape:
        y = model(X)
    assert y.numpy().tolist() == [56.0, 68.0]
    assert tape.gradient(y, [model.v, model.w])[1].numpy().tolist() == [1.0, 1.0]
    model = Lazy(INITIALS["of an argument"])
    Checkpoint(model=model).read(path)
    assert model.__call__.get_concrete_function(X)(X).numpy().tolist() == [56.0, 68.0]


def test_variables_that_a_function_puts_in_lists_and_dictionaries_get_theirs(tmp_path):
    class Lists(tf.Module):
        def __init__(self):
            super().__init__()
            self.list, self.dict = [], {}

        @tf.function
        def __call__(self, x):
            if not self.list:
                self.list.append(tf.Variable(x * 2.0))
                self.dict["k"] = [tf.Variable(tf.random.normal(x.shape))]
            return self.list[0] + self.dict["k"][0]

    saved = Lists()
    saved(X)
    saved.list[0].assign([5.0, 6.0])
    saved.dict["k"][0].assign([0.5, 0.25])
    path = Checkpoint(model=saved).write(prefix(tmp_path))
    fresh = Lists()
    status = Checkpoint(model=fresh).read(path)
    assert fresh(X).numpy().tolist() == [5.5, 6.25]
    status.assert_consumed()


def test_a_saved_value_that_does_not_fit_what_a_function_makes_is_an_error(tmp_path, engine):
    path = Checkpoint(model={"v": tf.Variable([5.0])}).write(prefix(tmp_path))
    model = Lazy(INITIALS["random"])
    Checkpoint(model=model).read(path)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"model\.v: "):
        model(X)


def test_a_function_that_fails_leaves_the_saved_value_where_it_is(tmp_path):
    class Failing(tf.Module):
        def __init__(self):
            super().__init__()
            self.v, self.fails = None, True

        @tf.function
        def __call__(self, x):
            if self.v is None:
                self.v = tf.Variable(x * 2.0)
            if self.fails:
                raise KeyError("mine")
            return self.v + x

    path = Checkpoint(model={"v": tf.Variable([5.0, 6.0])}).write(prefix(tmp_path))
    model = Failing()
    Checkpoint(model=model).read(path)
    with pytest.raises(KeyError):
        model(X)
    assert model.v.numpy().tolist() == [5.0, 6.0]
    model.fails = False
    assert model(X).numpy().tolist() == [6.0, 8.0]


OPTIMIZERS = {
    "Adam": {},
    "SGD": {"momentum": 0.9},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Adagrad": {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2},
    "Nadam": {"gradient_accumulation_steps": 2},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_model_and_optimizer_that_a_function_makes_go_on_to_the_bit(tmp_path, name, engine):
    class Learner(tf.Module):
        def __init__(self):
            super().__init__()
            self.v, self.optimizer = None, getattr(tf.optimizers, name)(0.1, **OPTIMIZERS[name])

        @tf.function
        def step(self, x):
            if self.v is None:
                self.v = tf.Variable(tf.random.normal(x.shape))
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(self.v - 3.0 * x))
            self.optimizer.apply_gradients([(tape.gradient(loss, self.v), self.v)])
            return loss

    straight = Learner()
    for _ in range(3):
        straight.step(X)
    path = Checkpoint(learner=straight).write(prefix(tmp_path))
    resumed = Learner()
    status = Checkpoint(learner=resumed).read(path)
    assert [float(resumed.step(X)) for _ in range(3)] == [float(straight.step(X)) for _ in range(3)]
    status.assert_consumed()
