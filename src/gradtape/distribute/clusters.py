"""Clusters: the addresses of the processes that run a program together, and the ways to find them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.types import IntLike
from ..ops.scalars import integer

Jobs = Mapping[str, Any]


class ClusterSpec:
    """Jobs, and the addresses of their tasks.

    Args:
        cluster: a dict from the name of a job to the list of its addresses, or to a dict from numbers to addresses; or
            another `ClusterSpec`.

    Raises:
        TypeError: if it is something else.

    >>> ClusterSpec({"worker": ["a:2222", "b:2222"]}).num_tasks("worker")
    2
    """

    def __init__(self, cluster: Jobs | ClusterSpec) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._jobs
        if not isinstance(cluster, Mapping):
            raise TypeError(f"ClusterSpec takes a dict from jobs to their addresses, not {cluster!r}")
        self._jobs: dict[str, dict[int, str]] = {}
        for job, tasks in cluster.items():
            numbered = tasks if isinstance(tasks, Mapping) else dict(enumerate(_addresses(job, tasks)))
            for number, address in numbered.items():
                if not isinstance(number, int) or not isinstance(address, str):
                    raise TypeError(
                        f"ClusterSpec: the tasks of {job!r} are numbers and addresses, not {tasks!r}"
                    )
            self._jobs[job] = dict(numbered)

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def as_dict(self) -> dict[str, Any]:
        """The jobs, each with the list of its addresses; with a dict from numbers where some are missing.

        >>> ClusterSpec({"worker": {0: "a:1", 2: "b:1"}}).as_dict()
        {'worker': {0: 'a:1', 2: 'b:1'}}
        """
        return {
            job: list(tasks.values()) if sorted(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def num_tasks(self, job_name: str) -> int:
        """The number of tasks of a job.

        Raises:
            ValueError: if there is no such job.
        """
        return len(self._of(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of the tasks of a job.

        Raises:
            ValueError: if there is no such job.
        """
        return sorted(self._of(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task.

        Args:
            job_name: the job.
            task_index: the number of the task.

        Raises:
            ValueError: if there is no such job or task.

        >>> ClusterSpec({"worker": ["a:2222", "b:2222"]}).task_address("worker", 1)
        'b:2222'
        """
        tasks = self._of(job_name)
        if task_index not in tasks:
            raise ValueError(f"the job {job_name!r} has the tasks {sorted(tasks)}, and no task {task_index}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job's tasks, in the order of their numbers; None for a number that is missing.

        Raises:
            ValueError: if there is no such job.
        """
        tasks = self._of(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def _of(self, job: str) -> dict[int, str]:
        if job not in self._jobs:
            raise ValueError(f"the cluster has the jobs {sorted(self._jobs)}, and no job {job!r}")
        return self._jobs[job]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        jobs = ", ".join(f"{job!r}: {tasks!r}" for job, tasks in self.as_dict().items())
        return f"ClusterSpec({{{jobs}}})"


def _addresses(job: str, tasks: Any) -> list[str]:
    if isinstance(tasks, str) or not isinstance(tasks, Sequence):
        raise TypeError(f"ClusterSpec: the tasks of {job!r} are a list of addresses, not {tasks!r}")
    return list(tasks)


class ClusterResolver:
    """A way to find the processes of a cluster: the base class. Subclasses define `cluster_spec`.

    >>> class OneMachine(ClusterResolver):
    ...     def cluster_spec(self):
    ...         return ClusterSpec({"worker": ["localhost:2222"]})
    >>> OneMachine().master("worker", 0)
    'localhost:2222'
    """

    task_type: str | None = None  # the job of this process,
    task_id: int | None = None  # and its number there
    rpc_layer: str | None = None

    def cluster_spec(self) -> ClusterSpec:
        """The jobs and their addresses."""
        raise NotImplementedError(f"{type(self).__name__} must define cluster_spec")

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The address of a task; '' without one.

        Args:
            task_type: the job; this process's by default.
            task_id: the number of the task; this process's by default.
            rpc_layer: a protocol to be put in front, as in 'grpc://'.

        >>> SimpleClusterResolver(ClusterSpec({"worker": ["a:1"]})).master("worker", 0, "grpc")
        'grpc://a:1'
        """
        job = self.task_type if task_type is None else task_type
        number = self.task_id if task_id is None else task_id
        if job is None or number is None:
            return ""
        protocol = rpc_layer or self.rpc_layer
        address = self.cluster_spec().task_address(job, number)
        return f"{protocol}://{address}" if protocol else address

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """How many devices of each kind, but CPUs, this process has; the arguments are accepted.

        Args:
            task_type: accepted; no effect.
            task_id: accepted; no effect.
            config_proto: accepted; no effect.
        """
        from ..engine.devices import list_logical_devices

        kinds = [d.device_type for d in list_logical_devices() if d.device_type != "CPU"]
        return {kind: kinds.count(kind) for kind in kinds}

    @property
    def environment(self) -> str:
        """'': the processes are those of no particular service."""
        return ""


class SimpleClusterResolver(ClusterResolver):
    """A cluster that is given.

    Args:
        cluster_spec: the jobs and their addresses.
        master: accepted; no effect.
        task_type: the job of this process.
        task_id: its number there.
        environment: accepted; no effect.
        num_accelerators: accepted; no effect.
        rpc_layer: a protocol.

    >>> resolver = SimpleClusterResolver(ClusterSpec({"worker": ["a:1", "b:1"]}), task_type="worker", task_id=1)
    >>> resolver.master()
    'b:1'
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: IntLike | None = None,
        environment: str = "",
        num_accelerators: Any = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(
                f"SimpleClusterResolver: cluster_spec must be a tf.train.ClusterSpec, not {cluster_spec!r}"
            )
        self._spec = cluster_spec
        self.task_type = task_type
        self.task_id = None if task_id is None else integer("SimpleClusterResolver", "task_id", task_id)
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """The jobs and their addresses."""
        return self._spec


class TFConfigClusterResolver(ClusterResolver):
    """The cluster that the variable TF_CONFIG of the environment describes, in JSON.

    Args:
        task_type: the job of this process; TF_CONFIG says it by default.
        task_id: its number there; TF_CONFIG says it by default.
        rpc_layer: a protocol.
        environment: accepted; no effect.

    Raises:
        ValueError: if TF_CONFIG is no such JSON.

    >>> TFConfigClusterResolver().cluster_spec().jobs
    []
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: IntLike | None = None,
        rpc_layer: str | None = None,
        environment: Any = None,
    ) -> None:
        self._config = tf_config()
        task = self._config.get("task", {})
        self.task_type = task.get("type") if task_type is None else task_type
        number = task.get("index") if task_id is None else task_id
        self.task_id = None if number is None else integer("TF_CONFIG", "task index", number, least=0)
        self.rpc_layer = self._config.get("rpc_layer") if rpc_layer is None else rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """The jobs and their addresses."""
        return ClusterSpec(self._config.get("cluster", {}))


def tf_config() -> dict[str, Any]:
    """The content of TF_CONFIG; empty without it.

    Raises:
        ValueError: if it is no JSON of a cluster and a task.
    """
    text = os.environ.get("TF_CONFIG", "").strip() or "{}"
    example = '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", "index": 0}}'
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ValueError(f"TF_CONFIG is no JSON ({error}): it is {text!r}; write it as {example}") from None
    parts = config if isinstance(config, dict) else {"cluster": None}
    if not all(isinstance(parts.get(name, {}), dict) for name in ("cluster", "task")):
        raise ValueError(f"TF_CONFIG must be a dict of a cluster and a task, as {example}; it is {text!r}")
    return config


class SlurmClusterResolver(ClusterResolver):
    """The cluster of the Slurm job in which this process runs, found by Slurm's variables of the environment.

    Args:
        jobs: a dict from the names of jobs to their numbers of tasks; by default all are workers.
        port_base: the port of the first task of a node; the others of that node use the next ones.
        gpus_per_node, gpus_per_task: accepted; no effect.
        tasks_per_node: the number of tasks on each node; Slurm says it by default.
        auto_set_gpu: accepted; no effect.
        rpc_layer: a protocol.

    Raises:
        RuntimeError: outside of a Slurm job.
        ValueError: if the jobs do not have as many tasks as Slurm runs.

    >>> import os
    >>> slurm = {"SLURM_PROCID": "0", "SLURM_STEP_NODELIST": "node[1-2]", "SLURM_STEP_NUM_TASKS": "2",
    ...          "SLURM_STEP_TASKS_PER_NODE": "1(x2)"}
    >>> os.environ.update(slurm)  # as Slurm does
    >>> SlurmClusterResolver().cluster_spec().as_dict()
    {'worker': ['node1:8888', 'node2:8888']}
    >>> for name in slurm:
    ...     del os.environ[name]
    """

    def __init__(
        self,
        jobs: Mapping[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = "grpc",
    ) -> None:
        self.rpc_layer = rpc_layer
        rank, hosts = int(_slurm("SLURM_PROCID")), expand_hosts(_slurm("SLURM_STEP_NODELIST"))
        if tasks_per_node is not None:
            counts = [tasks_per_node] * len(hosts)
        else:
            counts = expand_tasks(_slurm("SLURM_STEP_TASKS_PER_NODE"))
        addresses = [f"{h}:{port_base + i}" for h, n in zip(hosts, counts, strict=True) for i in range(n)]
        sizes = {"worker": len(addresses)} if jobs is None else dict(jobs)
        if sum(sizes.values()) != len(addresses):
            raise ValueError(
                f"SlurmClusterResolver: the jobs {sizes} have {sum(sizes.values())} tasks, and Slurm runs "
                f"{len(addresses)}"
            )
        self._jobs: dict[str, list[str]] = {}
        first = 0
        for job, size in sizes.items():
            self._jobs[job] = addresses[first : first + size]
            if first <= rank < first + size:
                self.task_type, self.task_id = job, rank - first
            first += size

    def cluster_spec(self) -> ClusterSpec:
        """The jobs and their addresses."""
        return ClusterSpec(self._jobs)

    def get_task_info(self) -> tuple[str | None, int | None]:
        """The job of this process, and its number there."""
        return self.task_type, self.task_id


def _slurm(name: str) -> str:
    if name not in os.environ:
        raise RuntimeError(f"SlurmClusterResolver: {name} is not set: start the program with srun")
    return os.environ[name]


def expand_hosts(text: str) -> list[str]:
    """The names in Slurm's list of hosts.

    >>> expand_hosts("n[1-2,07],m3")
    ['n1', 'n2', 'n07', 'm3']
    """
    hosts: list[str] = []
    for name, numbers, rest in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?([^,\[]*)", text):
        if not numbers:
            hosts.append(name + rest)
            continue
        for part in numbers.split(","):
            low, _, high = part.partition("-")
            width = len(low)
            hosts += [f"{name}{i:0{width}d}{rest}" for i in range(int(low), int(high or low) + 1)]
    return hosts


def expand_tasks(text: str) -> list[int]:
    """The numbers of tasks in Slurm's list for the nodes.

    >>> expand_tasks("2(x3),1")
    [2, 2, 2, 1]
    """
    counts: list[int] = []
    for number, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", text):
        counts += [int(number)] * int(times or 1)
    return counts
