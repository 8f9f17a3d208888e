"""compat.v1.train.Saver, as TensorFlow's eager mode has it."""

import pytest

import gradtape as tf

v1 = tf.compat.v1
errors = tf.errors


def variables():
    return tf.Variable([1.0, 2.0], name="a"), tf.Variable(3, name="scope/b")


def test_variables_are_saved_by_their_names(tmp_path):
    a, b = variables()
    path = v1.train.Saver([a, b]).save(None, tmp_path / "model", global_step=tf.constant(7))
    assert path == str(tmp_path / "model-7")
    assert tf.train.list_variables(path) == [("a", [2]), ("scope/b", [])]
    assert tf.train.latest_checkpoint(tmp_path) == path
    assert v1.train.NewCheckpointReader(path).get_tensor("scope/b") == 3


def test_restore(tmp_path):
    a, b = variables()
    path = v1.train.Saver({"first": a, "second": b}).save(None, tmp_path / "model")
    other, number = tf.Variable([0.0, 0.0]), tf.Variable(0)
    v1.train.Saver({"first": other, "second": number}).restore(None, path)
    assert (other.numpy().tolist(), int(number)) == ([1.0, 2.0], 3)
    tf.train.Checkpoint(first=other).write(str(tmp_path / "objects"))
    v1.train.Saver({"first": a}).restore(None, tmp_path / "objects")


def test_nothing_is_restored_if_something_does_not_fit(tmp_path):
    a, b = variables()
    path = v1.train.Saver([a, b]).save(None, tmp_path / "model")
    first, wrong = tf.Variable([0.0, 0.0]), tf.Variable([0, 0])
    for names, kind in [
        ({"a": first, "scope/b": wrong}, errors.InvalidArgumentError),
        ({"a": first, "scope/b": tf.Variable(0.0)}, errors.InvalidArgumentError),
        ({"a": first, "c": wrong}, errors.NotFoundError),
    ]:
        with pytest.raises(kind):
            v1.train.Saver(names).restore(None, path)
    assert first.numpy().tolist() == [0.0, 0.0]
    square = tf.Variable([[0.0], [0.0]])
    v1.train.Saver({"a": square}, reshape=True).restore(None, path)
    assert square.numpy().tolist() == [[1.0], [2.0]]


def test_old_checkpoints_are_removed(tmp_path):
    a, _ = variables()
    saver = v1.train.Saver([a], max_to_keep=2, pad_step_number=True)
    paths = [saver.save(None, tmp_path / "model", global_step=i) for i in range(4)]
    assert saver.last_checkpoints == paths[2:]
    assert [v1.train.checkpoint_exists(path) for path in paths] == [False, False, True, True]
    assert paths[3].endswith("model-00000003")
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.all_model_checkpoint_paths == paths[2:]
    later = v1.train.Saver([a], max_to_keep=1)
    later.recover_last_checkpoints(paths)
    later.save(None, tmp_path / "model", latest_filename="others")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "model.safetensors", "others"]
    v1.train.remove_checkpoint(tmp_path / "model")
    assert not v1.train.checkpoint_exists(tmp_path / "model")


def test_some_checkpoints_stay_for_good(tmp_path):
    a, _ = variables()
    saver = v1.train.Saver([a], max_to_keep=1, keep_checkpoint_every_n_hours=1e-12)
    paths = [saver.save(None, tmp_path / "model", global_step=i) for i in range(3)]
    assert all(v1.train.checkpoint_exists(path) for path in paths)


def test_bad_input(tmp_path):
    a, b = variables()
    with pytest.raises(RuntimeError, match="give var_list"):
        v1.train.Saver()
    with pytest.raises(ValueError, match="two variables are named 'a'"):
        v1.train.Saver([a, tf.Variable(0.0, name="a")])
    with pytest.raises(TypeError, match="must have variables"):
        v1.train.Saver([tf.constant(1.0)])
    for path in (None, tmp_path / "none"):
        with pytest.raises(ValueError, match="there is no checkpoint"):
            v1.train.Saver([a, b]).restore(None, path)
    (tmp_path / "theirs.index").write_bytes(b"")
    with pytest.raises(errors.InvalidArgumentError, match="a checkpoint of TensorFlow"):
        v1.train.Saver([a]).restore(None, tmp_path / "theirs")
