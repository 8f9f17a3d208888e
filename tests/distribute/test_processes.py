"""Several processes on this machine: numbers, input from files, checkpoints, and faults."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape.distribute.presence import free_ports

PROGRAMS = Path(__file__).parent / "programs"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
LIMIT = 300  # seconds: a loaded machine takes long, and no test waits for it


def rows():
    random = np.random.default_rng(0)
    x = random.normal(size=(27, 4))
    return np.concatenate([x, np.sin(x.sum(1, keepdims=True))], 1).astype("f")


@pytest.fixture
def folder(tmp_path):
    table = rows()
    np.save(tmp_path / "rows.npy", table)
    for i in range(4):
        with tf.io.TFRecordWriter(str(tmp_path / f"{i}.tfrecord")) as writer:
            for row in table[i::4]:
                writer.write(row.tobytes())
    return tmp_path


def start(processes, folder, *words, timeout=60):
    """Start a program in several processes: train.py, with a fault and where input comes from, or another one."""
    words = (
        words if words and words[0].endswith(".py") else ("train.py", *words, *("none", "rows")[len(words) :])
    )
    program, *words = words
    command = [sys.executable, "-m", "gradtape", "run", "--processes", str(processes)]
    return subprocess.Popen(
        [*command, str(PROGRAMS / program), str(folder), *words],
        env={**ENVIRONMENT, "GRADTAPE_TIMEOUT": str(timeout)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(*arguments, **options):
    process = start(*arguments, **options)
    output, _ = process.communicate(timeout=LIMIT)
    return process.returncode, output


def results(folder, processes):
    return [json.loads((folder / f"result.{rank}.json").read_text()) for rank in range(processes)]


def alone(source="rows"):
    """The same training without a strategy."""
    random = np.random.default_rng(1)
    w = tf.Variable(random.normal(size=(4, 3)).astype("f"))
    u = tf.Variable(random.normal(size=(3, 1)).astype("f"))
    optimizer = tf.optimizers.Adam(0.05)
    table, losses = rows(), []
    batches = [table[i : i + 8] for i in range(0, 27, 8)]
    if source == "function":  # two processes, each with every second row
        own = table[0::2], table[1::2]
        batches = [np.concatenate([part[i : i + 4] for part in own]) for i in range(0, 14, 4)]
    if source == "files":  # two processes, each with every second file; a batch of it is two steps
        own = [np.concatenate([table[i::4], table[i + 2 :: 4]]) for i in range(2)]
        halves = [np.array_split(part[i : i + 8], 2) for i in (0, 8) for part in own]
        batches = [np.concatenate([halves[i][j], halves[i + 1][j]]) for i in (0, 2) for j in range(2)]
    for _ in range(3):
        for part in batches:
            with tf.GradientTape() as tape:
                errors = tf.reduce_sum((tf.tanh(part[:, :4] @ w) @ u - part[:, 4:]) ** 2, 1)
                loss = tf.nn.compute_average_loss(errors, global_batch_size=8)
            optimizer.apply_gradients(zip(tape.gradient(loss, [w, u]), [w, u], strict=True))
            losses.append(float(loss))
    return {"w": w.numpy(), "u": u.numpy(), "losses": losses}


def assert_same(found, expected):
    for name in ("w", "u", "losses"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("processes", "source", "resolver"),
    [(2, "rows", "slurm"), (4, "rows", "simple"), (2, "files", ""), (2, "function", "")],
)
def test_processes_train_as_one(folder, monkeypatch, processes, source, resolver):
    """Batches of 8, 8, 8 and 3 rows; by files or a function, of each process's own, and not as many in each."""
    monkeypatch.setitem(ENVIRONMENT, "RESOLVER", resolver)
    code, output = run(processes, folder, "none", source)
    assert code == 0, output
    for found in results(folder, processes):
        assert found["replicas"] == processes
        assert_same(found, alone(source))


def test_plain_functions(folder):
    """Two processes with two replicas each: one program runs all four; each process runs the Python of its own."""
    random = np.random.default_rng(1)
    w = tf.Variable(random.normal(size=(4, 3)).astype("f"))
    u = tf.Variable(random.normal(size=(3, 1)).astype("f"))
    optimizer, losses, own = tf.optimizers.Adam(0.05), [], 1.0
    table = random.normal(size=(8 * 14 + 3, 5)).astype("f")
    for i in range(0, len(table), 8):
        x, y = table[i : i + 8, :4], table[i : i + 8, 4:]
        own = own * 0.5 + x[: -(-len(x) // 4)].mean()
        with tf.GradientTape() as tape:
            errors = tf.reduce_sum((tf.tanh(x @ w) @ u - y) ** 2, 1)
            loss = tf.nn.compute_average_loss(errors, global_batch_size=8)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, u]), [w, u], strict=True))
        losses.append(float(loss))
    code, output = run(2, folder, "plain_loop.py", "2")
    assert code == 0, output
    first, second = results(folder, 2)
    assert [first["calls"], second["calls"]] == [[0, 1] * 15, [2, 3] * 15], output
    np.testing.assert_allclose(first["own"], own, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(first["totals"], second["totals"], rtol=1e-6)
    expected = {"w": w.numpy(), "u": u.numpy(), "losses": losses}
    for found in (first, second):
        assert_same(found, expected)
        np.testing.assert_allclose(found["mean"], sum(losses) * 8 / len(table), rtol=1e-5)
        assert found["runs"]["in_parts"] == {"calls": 14, "one program": 5, "reasons": {}}, found["runs"]
        columns = [3 * table[i : i + 8, 0].sum() for i in range(0, len(table), 8)]
        np.testing.assert_allclose(found["columns"], columns, rtol=1e-4, atol=1e-5)
        assert found["runs"]["step"] == {"calls": 14, "one program": 5, "reasons": {}}, found["runs"]
        assert [found["runs"][name]["one program"] for name in ("looked_at", "merged")] == [0, 0], found[
            "runs"
        ]
    assert "processes do different things" in first["runs"]["looked_at"]["reasons"]
    assert "a value is looked at" in second["runs"]["looked_at"]["reasons"]
    shares = [table[i : i + (2 if i < 112 else 1), 0].sum() for i in range(0, len(table), 8)]
    np.testing.assert_allclose(first["rows"], sum(shares), rtol=1e-4)  # the first replica's
    counts = np.zeros(4)
    for _ in range(15):
        counts = counts * 1.5 + np.arange(4)
    for found, own in ((first, counts[:2]), (second, counts[2:])):
        np.testing.assert_allclose(found["shares"], [own, own, [4.0, 4.0]], rtol=1e-5)
        assert found["runs"]["counted"]["one program"] == 5, found["runs"]
    np.testing.assert_allclose(first["total"], counts.sum(), rtol=1e-5)
    kept = np.array(first["kept"]).reshape(15, 2).sum(1) + np.array(second["kept"]).reshape(15, 2).sum(1)
    np.testing.assert_allclose(kept, losses, rtol=1e-5)
    assert second["errors"] == ['KeyError: "a replica\'s own error"']
    assert "a replica of process 1 has failed" in first["errors"][0], first


def test_a_checkpoint_of_four_processes_is_restored_by_two(folder):
    code, output = run(4, folder, "save")
    assert code == 0, output
    for path in folder.glob("result.*"):
        path.unlink()
    saved = tf.train.load_checkpoint(str(folder / "checkpoints"))
    assert int(saved.get_tensor("steps")) == 12
    code, output = run(2, folder)
    assert code == 0, output
    for found in results(folder, 2):
        np.testing.assert_array_equal(found["w"], saved.get_tensor("w"))


def test_divided_variables_of_four_processes_are_restored_by_two(folder):
    """Each process writes what it has; two processes with two CPUs each go on, with the numbers of one process."""
    random = np.random.default_rng(1)
    w = tf.Variable(random.normal(size=(4, 6)).astype("f"))
    u = tf.Variable(random.normal(size=(6, 2)).astype("f"))
    optimizer = tf.optimizers.Adam(0.05)
    table, expected = rows(), []
    for _ in range(4):
        for i in range(0, 24, 8):
            x, y = table[i : i + 8, :4], table[i : i + 8, 4:]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.tanh(x @ w) @ u - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, [w, u]), [w, u], strict=True))
            expected.append(float(loss))
    code, output = run(4, folder, "divided.py", "1", "train")
    assert code == 0, output
    assert [len(list((folder / "checkpoints").glob(f"ckpt-{i}.*.part"))) for i in (1, 2)] == [0, 4]
    for found in results(folder, 4):
        assert found["parts"] == [[4, 3], [3, 1]]
        assert found["clients"] == 4
        assert "divided among several processes" in found["error"]
        np.testing.assert_allclose(found["losses"], expected[:6], rtol=1e-5)
    code, output = run(2, folder, "divided.py", "2", "restore")
    assert code == 0, output
    for found in results(folder, 2):
        assert found["steps"] == 12
        np.testing.assert_allclose(found["losses"], expected[6:], rtol=1e-5)
        np.testing.assert_allclose(found["values"][0], w.numpy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found["values"][1], u.numpy(), rtol=1e-4, atol=1e-5)
    part = next((folder / "checkpoints").glob("*.part"))
    content = part.read_bytes()
    for damage in (lambda: part.write_bytes(content[:-1] + bytes([content[-1] ^ 1])), part.unlink):
        damage()
        with pytest.raises(tf.errors.DataLossError, match="part of a checkpoint"):
            tf.train.load_checkpoint(str(folder / "checkpoints"))


def test_a_killed_process_and_a_restart(folder):
    code, output = run(3, folder, "kill:5:1")
    assert code == 128 + signal.SIGKILL, output
    assert re.search(r"gradtape run: process 1 \(127.* was ended by SIGKILL", output), output
    for rank in (0, 2):
        assert_names(output, rank, 3, 1)
    code, output = run(3, folder, "none")
    assert code == 0, output
    expected = alone()
    for found in results(folder, 3):
        np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-5, atol=1e-6)


def assert_names(output, rank, processes, lost):
    """The error of a process names the one that is lost; perhaps also others, which ended because of it."""
    error = (
        rf"\[{rank}\] gradtape.errors.UnavailableError: process {rank} of {processes} .*\b{lost} \(127.*gone"
    )
    assert re.search(error, output), output


@pytest.mark.parametrize(
    ("fault", "lost", "code"),
    [("kill:5:0", 0, 128 + signal.SIGKILL), ("exit:5:1", 1, 1)],
)
def test_a_process_that_is_gone(folder, fault, lost, code):
    """The first one too, which has JAX's coordinator; and one that ends without an error."""
    found, output = run(2, folder, fault)
    assert found == code, output
    assert_names(output, 1 - lost, 2, lost)


@pytest.mark.parametrize("fault", ["stop:5:1", "leave:5:0"])
def test_a_process_that_does_not_go_on(folder, fault):
    """A process that is stopped, or has reached its end: the other waits three seconds, the command five."""
    code, output = run(2, folder, fault, timeout=5)
    assert code == 1, output
    lost = int(fault[-1])
    assert_names(output, 1 - lost, 2, lost)


def test_a_request_to_end_saves_first(folder):
    process = start(2, folder, "wait:4")
    wait_until_all_wait(process, folder)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + signal.SIGTERM, output
    assert int(tf.train.load_checkpoint(str(folder / "checkpoints")).get_tensor("steps")) == 5, output
    code, output = run(2, folder, "none")
    assert code == 0, output
    for found in results(folder, 2):
        np.testing.assert_allclose(found["w"], alone()["w"], rtol=1e-5, atol=1e-6)


def test_no_process_outlives_the_command(folder):
    process = start(2, folder, "wait:0")
    wait_until_all_wait(process, folder)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 2
    process.kill()
    process.wait()
    process.stdout.close()
    end = time.monotonic() + LIMIT
    while any(_is_alive(child) for child in children) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(_is_alive(child) for child in children)


def wait_until_all_wait(process, folder):
    end = time.monotonic() + LIMIT
    while not all((folder / f"waiting.{rank}").exists() for rank in range(2)) and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.05)


def _is_alive(child):
    try:
        return " Z " not in Path(f"/proc/{child}/stat").read_text()
    except OSError:
        return False


# ---------------------------------------------------------------------------------------------------------------------
# One process of a cluster that is not there


def config(index=0, kind="worker", addresses=None):
    addresses = addresses or [f"127.0.0.1:{port}" for port in free_ports(2)]
    return json.dumps({"cluster": {"worker": addresses}, "task": {"type": kind, "index": index}})


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (config, "DeadlineExceededError", r"process 0 of 2 .*after 2 s .*not come: 1 \("),
        (config(index=5), "ValueError", r"this process is \('worker', 5\)"),
        (config(kind="evaluator"), "ValueError", "this process is"),
        (config(addresses=["here", "there:1"]), "ValueError", "'host:port'"),
        (config(addresses=["a:1", "a:1"]), "ValueError", "address of its own"),
        ('{"cluster": ', "ValueError", "TF_CONFIG is no JSON"),
        ('{"cluster": ["a:1"]}', "ValueError", "TF_CONFIG must be a dict"),
    ],
    ids=["never", "index", "kind", "address", "twice", "json", "list"],
)
def test_clusters_that_cannot_be(monkeypatch, text, error, message):
    monkeypatch.setenv("TF_CONFIG", text if isinstance(text, str) else text())
    options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=2)
    kind = ValueError if error == "ValueError" else getattr(tf.errors, error)
    with pytest.raises(kind, match=message):
        tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)


def test_a_port_in_use(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setenv("TF_CONFIG", config(1, addresses=["127.0.0.1:1", f"127.0.0.1:{port}"]))
        with pytest.raises(tf.errors.UnavailableError, match=f"process 1 of 2 .*port {port}"):
            tf.distribute.MultiWorkerMirroredStrategy()


def test_resolvers(monkeypatch):
    resolvers = tf.distribute.cluster_resolver
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "chief": {0: "c:3"}})
    simple = resolvers.SimpleClusterResolver(spec, task_type="worker", task_id=1, rpc_layer="grpc")
    assert simple.cluster_spec() == spec
    assert simple.master() == "grpc://b:2"
    monkeypatch.setenv("TF_CONFIG", config(1, addresses=["a:1", "b:2"]))
    found = resolvers.TFConfigClusterResolver()
    assert (found.task_type, found.task_id) == ("worker", 1)
    assert found.cluster_spec().as_dict() == {"worker": ["a:1", "b:2"]}
    for name, value in {"PROCID": "2", "STEP_NODELIST": "n[1-2]", "STEP_TASKS_PER_NODE": "2(x2)"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    slurm = resolvers.SlurmClusterResolver({"chief": 1, "worker": 3})
    assert slurm.cluster_spec().as_dict() == {
        "chief": ["n1:8888"],
        "worker": ["n1:8889", "n2:8888", "n2:8889"],
    }
    assert slurm.get_task_info() == ("worker", 1)


@pytest.mark.parametrize(
    "words", [["--processes", "0", "x.py"], ["--hosts", ":5", "x.py"], ["--processes", "2"]]
)
def test_commands_that_make_no_sense(words):
    done = subprocess.run(
        [sys.executable, "-m", "gradtape", "run", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "gradtape run: error" in done.stderr


def test_commands_for_machines():
    words = ["run", "--processes", "2", "--hosts", "a,b:5000", "--nan", "train.py", "--rate", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "gradtape", *words], capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert len(lines) == 4
    assert lines[3].startswith("TF_CONFIG=")
    assert '"b:5001"' in lines[0]
    assert '"index": 3' in lines[3]
    assert lines[0].endswith(" gradtape run --nan train.py --rate 1")


def test_machines_by_ssh(tmp_path):
    """A program named ssh, that runs the command here, stands for the real one."""
    python = f'exec {sys.executable} -m gradtape "$@"'
    for name, line in (
        ("ssh", 'for last; do :; done; echo "by ssh: $4"; exec sh -c "$last"'),
        ("gradtape", python),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(
        "import json, os, sys; print(json.loads(os.environ['TF_CONFIG'])['task'], sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-m", "gradtape", "run", "--hosts", "a,b:5000", "--ssh", str(program), "x y"],
        capture_output=True,
        text=True,
        check=False,
        env={**ENVIRONMENT, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stderr
    for rank, host in enumerate("ab"):
        assert f"[{rank}] by ssh: {host}" in done.stdout, done.stdout
        assert f"[{rank}] {{'type': 'worker', 'index': {rank}}} ['x y']" in done.stdout, done.stdout
