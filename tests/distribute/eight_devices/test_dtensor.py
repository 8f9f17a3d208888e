"""Tensors and variables that are divided among devices."""

import numpy as np
import pytest

import gradtape as tf

dtensor = tf.experimental.dtensor


@pytest.fixture(scope="module")
def mesh():
    return dtensor.create_mesh([("batch", 2), ("model", 4)])


def parts(array):
    return {tuple(np.asarray(shard.data).shape) for shard in array.addressable_shards}


def test_a_mesh(mesh):
    assert (mesh.dim_names, mesh.shape(), mesh.size) == (["batch", "model"], [2, 4], 8)
    assert mesh["model"] == mesh.dim_size("model") == 4
    assert mesh.contains_dim("batch")
    assert mesh.device_type() == "CPU"
    assert mesh.unravel_index()[5] == {"batch": 1, "model": 1}
    assert mesh.local_device_locations()[6] == {"batch": 1, "model": 2}
    assert mesh.device_location(6) == mesh.coords(6).numpy().tolist() == [1, 2]
    assert mesh.strides == [4, 1]
    assert mesh.local_devices()[7] == "/job:localhost/replica:0/task:0/device:CPU:7"
    assert dtensor.create_mesh({"x": 8}) == dtensor.create_mesh([("x", 8)])
    assert dtensor.create_mesh(devices=["CPU:2", "CPU:3"]).local_devices()[0].endswith("CPU:2")
    assert dtensor.create_distributed_mesh([("x", 8)]) == dtensor.create_mesh([("x", 8)])
    for count in (3, 16):
        with pytest.raises(ValueError, match=f"{count} devices"):
            dtensor.create_mesh([("x", count)])
    with pytest.raises(ValueError, match="number and a name"):
        dtensor.Mesh(["x"], [0, 1], [0, 2], ["CPU:0", "CPU:1"])


def test_layouts(mesh):
    layout = dtensor.Layout.batch_sharded(mesh, "batch", rank=2)
    assert layout.sharding_specs == ["batch", dtensor.UNSHARDED]
    assert layout == dtensor.Layout(["batch", dtensor.UNSHARDED], mesh)
    assert layout.local_shape_from_global_shape([6, 5]) == (3, 5)
    assert layout.global_shape_from_local_shape([3, 5]) == (6, 5)
    assert layout.shape == [2, 4]
    assert layout.offset_to_shard() == [(0, 0)] * 4 + [(1, 0)] * 4
    assert layout.to_string().startswith(
        "sharding_specs:batch,unsharded, mesh:|batch=2,model=4|0,1,2,3,4,5,6,7|"
    )
    assert layout.is_batch_parallel()
    assert dtensor.Layout.inner_sharded(mesh, "model", 3).sharding_specs[2] == "model"
    assert dtensor.Layout.replicated(mesh, 2).is_fully_replicated()
    for specs in (["batch", "batch"], ["nowhere"]):
        with pytest.raises(ValueError, match="Layout"):
            dtensor.Layout(specs, mesh)


def test_relayout_pack_and_unpack(mesh):
    layout = dtensor.Layout(["batch", "model"], mesh)
    x = np.arange(32.0, dtype="f").reshape(4, 8)
    d = dtensor.relayout(x, layout)
    assert dtensor.is_dtensor(d)
    assert not dtensor.is_dtensor(tf.constant(1.0))
    assert dtensor.fetch_layout(d) == layout
    dtensor.check_layout(d, layout)
    pieces = dtensor.unpack(d)
    assert [p.shape for p in pieces] == [(2, 2)] * 8
    np.testing.assert_array_equal(pieces[5], x[2:, 2:4])
    again = dtensor.pack(pieces, layout)
    np.testing.assert_array_equal(again, x)
    assert dtensor.fetch_layout(again) == layout
    other = dtensor.relayout(d, dtensor.Layout.replicated(mesh, 2))
    assert parts(other._device) == {(4, 8)}
    np.testing.assert_array_equal(dtensor.relayout_like(other, d), x)
    for wrong in (lambda: dtensor.relayout(x[:3], layout), lambda: dtensor.pack(pieces[:3], layout)):
        with pytest.raises(ValueError, match=r"divided evenly|part"):
            wrong()
    with pytest.raises(ValueError, match="no mesh"):
        dtensor.fetch_layout(tf.constant(1.0))


def test_call_with_layout(mesh):
    layout = dtensor.Layout(["model", dtensor.UNSHARDED], mesh)
    d = dtensor.call_with_layout(tf.random.stateless_normal, layout, shape=(8, 3), seed=(1, 2))
    assert dtensor.fetch_layout(d) == layout
    np.testing.assert_allclose(d, tf.random.stateless_normal((8, 3), seed=(1, 2)), rtol=1e-5)


def test_gradients_pass_relayout(mesh):
    layout = dtensor.Layout(["model"], mesh)
    x = tf.constant(np.arange(8.0, dtype="f"))
    for f in (lambda x: tf.reduce_sum(dtensor.relayout(x, layout) ** 3),) * 2:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.function(f)(x)
            first = tape.gradient(y, x)
        np.testing.assert_allclose(first, 3 * np.arange(8.0) ** 2)
        np.testing.assert_allclose(outer.gradient(first, x), 6 * np.arange(8.0))


def trained(make, batches, optimizer):
    random = np.random.default_rng(0)
    values = [random.normal(size=s).astype("f") * 0.3 for s in [(6, 16), (16,), (16, 2)]]
    w1, b, w2 = (make(v, axis) for v, axis in zip(values, (1, 0, 0), strict=True))

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            h = tf.nn.gelu(x @ w1 + b)
            loss = tf.reduce_mean((h @ w2 - y) ** 2)
        gradients = tape.gradient(loss, [w1, b, w2])
        optimizer.apply_gradients(zip(gradients, [w1, b, w2], strict=True))
        return loss

    losses = [float(step(*batch)) for batch in batches]
    return losses, [v.numpy() for v in (w1, b, w2)], [w1, b, w2]


@pytest.mark.parametrize("optimizer", [lambda: tf.optimizers.SGD(0.1), lambda: tf.optimizers.Adam(0.05)])
def test_data_and_model_parallelism(mesh, optimizer):
    """The MLP of the guide: rows along one direction, hidden units along the other. No device has a whole matrix."""
    random = np.random.default_rng(1)
    data = [
        (random.normal(size=(8, 6)).astype("f"), random.normal(size=(8, 2)).astype("f")) for _ in range(4)
    ]

    def divided(value, axis):
        specs = ["model" if i == axis else dtensor.UNSHARDED for i in range(value.ndim)]
        return dtensor.DVariable(dtensor.relayout(value, dtensor.Layout(specs, mesh)))

    rows = dtensor.Layout.batch_sharded(mesh, "batch", rank=2)
    batches = [(dtensor.relayout(x, rows), dtensor.relayout(y, rows)) for x, y in data]
    used = optimizer()
    losses, values, variables = trained(divided, batches, used)
    expected, plain, _ = trained(lambda v, axis: tf.Variable(v), data, optimizer())
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for a, b in zip(values, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert parts(variables[0]._tensor._device) == {(6, 4)}
    assert parts(variables[2]._tensor._device) == {(4, 2)}
    if len(used.variables) > 2:  # Adam: its state is divided as the variables are
        assert [parts(v._tensor._device) for v in used.variables[2:4]] == [{(6, 4)}] * 2
    assert variables[0].layout == dtensor.fetch_layout(variables[0])


def test_variables(mesh, tmp_path):
    layout = dtensor.Layout(["model"], mesh)
    v = dtensor.DVariable(lambda: dtensor.call_with_layout(tf.ones, layout, (8,)))
    v.assign_add(tf.ones((8,)))
    assert dtensor.fetch_layout(v) == layout
    assert parts(v._tensor._device) == {(2,)}
    np.testing.assert_array_equal(v, [2.0] * 8)
    value = v.read_value()
    assert dtensor.fetch_layout(value) == layout
    v.assign_add(tf.ones((8,)))
    np.testing.assert_array_equal(value, [2.0] * 8)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v.value() ** 2)
    np.testing.assert_array_equal(tape.gradient(y, v), [6.0] * 8)
    v.assign(value)
    path = dtensor.DTensorCheckpoint(mesh, v=v).save(str(tmp_path / "c"))
    other = dtensor.DVariable(dtensor.relayout(np.zeros(8, "f"), dtensor.Layout(["batch"], mesh)))
    tf.train.Checkpoint(v=other).restore(path)
    np.testing.assert_array_equal(other, [2.0] * 8)
    assert other.layout.sharding_specs == ["batch"]
    assert parts(other._tensor._device) == {(4,)}
    with pytest.raises(ValueError, match="mesh"):
        dtensor.DVariable(1.0)
    with dtensor.default_mesh(mesh):
        assert dtensor.DVariable([1.0]).layout.is_fully_replicated()


def test_datasets(mesh):
    layout = dtensor.Layout.batch_sharded(mesh, "batch", 1)
    dataset = dtensor.DTensorDataset(
        tf.data.Dataset.range(10), mesh=mesh, layouts=layout, global_batch_size=4, prefetch=1
    )
    found = list(dataset)
    assert [b.numpy().tolist() for b in found] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert dtensor.fetch_layout(found[0]) == layout
    assert len(dataset) == 2


def test_the_system():
    assert dtensor.initialize_accelerator_system("CPU", num_logical_cpu_devices=8) == "CPU"
    assert dtensor.num_local_devices("CPU") == dtensor.num_global_devices("CPU") == 8
    assert (dtensor.num_clients(), dtensor.client_id(), dtensor.preferred_device_type()) == (1, 0, "CPU")
    assert (dtensor.job_name(), dtensor.jobs()) == ("localhost", [])
    assert dtensor.barrier(dtensor.create_mesh()) is None


@pytest.mark.parametrize("rank", ["2", "-1", "first"])
def test_a_wrong_environment(monkeypatch, rank):
    monkeypatch.setenv("DTENSOR_JOBS", "a:1,b:2")
    monkeypatch.setenv("DTENSOR_NUM_CLIENTS", "2")
    monkeypatch.setenv("DTENSOR_CLIENT_ID", rank)
    with pytest.raises(ValueError, match="DTENSOR_CLIENT_ID"):
        dtensor.initialize_accelerator_system()
