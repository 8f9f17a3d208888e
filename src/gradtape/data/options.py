"""Options of datasets, under TensorFlow's names: `auto_shard_policy` for several processes; others are stored."""

from __future__ import annotations

import enum
from typing import Any


class AutoShardPolicy(enum.IntEnum):
    """How the elements of a distributed dataset are divided among processes: see docs/distribute.md.

    >>> options = Options()
    >>> options.experimental_distribute.auto_shard_policy = AutoShardPolicy.DATA
    >>> options
    Options(experimental_distribute=DistributeOptions(auto_shard_policy=<AutoShardPolicy.DATA: 2>))
    """

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """What happens to state outside of a dataset when the dataset is copied: accepted; no effect.

    >>> options = Options()
    >>> options.experimental_external_state_policy = ExternalStatePolicy.WARN
    >>> options.experimental_external_state_policy
    <ExternalStatePolicy.WARN: 0>
    """

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Names:
    """Attributes of fixed names, all None at first."""

    _known: tuple[str, ...] = ()

    def __init__(self) -> None:
        for name in self._known:
            object.__setattr__(self, name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._known:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(self._known)}")
        object.__setattr__(self, name, value)

    def _changed(self) -> dict[str, Any]:
        """The attributes that were set."""
        return {
            name: value
            for name, value in vars(self).items()
            if value is not None and (not isinstance(value, _Names) or value._changed())
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Names) and type(other) is type(self) and other._changed() == self._changed()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self._changed().items())
        return f"{type(self).__name__}({changed})"


class AutotuneOptions(_Names):
    """Options of the automatic tuning.

    >>> options = Options()
    >>> options.autotune.enabled = True
    >>> options.autotune
    AutotuneOptions(enabled=True)
    """

    _known = (
        "autotune_algorithm",
        "cpu_budget",
        "enabled",
        "initial_parallelism",
        "min_parallelism",
        "ram_budget",
    )


class DistributeOptions(_Names):
    """Options for dividing elements among workers.

    >>> options = Options()
    >>> options.experimental_distribute.num_devices = 2
    >>> options.experimental_distribute
    DistributeOptions(num_devices=2)
    """

    _known = ("auto_shard_policy", "num_devices")


class OptimizationOptions(_Names):
    """Options for rewriting the pipeline.

    >>> options = Options()
    >>> options.experimental_optimization.map_fusion = True
    >>> options.experimental_optimization
    OptimizationOptions(map_fusion=True)
    """

    _known = (
        "apply_default_optimizations",
        "filter_fusion",
        "filter_parallelization",
        "inject_prefetch",
        "map_and_batch_fusion",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "noop_elimination",
        "parallel_batch",
        "seq_interleave_prefetch",
        "shuffle_and_repeat_fusion",
        "warm_start",
    )


class ThreadingOptions(_Names):
    """Options for the number of threads.

    >>> options = Options()
    >>> options.threading.private_threadpool_size = 4
    >>> options.threading
    ThreadingOptions(private_threadpool_size=4)
    """

    _known = ("max_intra_op_parallelism", "private_threadpool_size")


class Options(_Names):
    """Options for `Dataset.with_options`.

    >>> options = Options()
    >>> options.deterministic = False
    >>> options
    Options(deterministic=False)
    """

    _known = (
        "autotune",
        "dataset_name",
        "deterministic",
        "experimental_deterministic",
        "experimental_distribute",
        "experimental_external_state_policy",
        "experimental_optimization",
        "experimental_service",
        "experimental_slack",
        "experimental_symbolic_checkpoint",
        "experimental_threading",
        "experimental_warm_start",
        "framework_type",
        "threading",
    )

    def __init__(self) -> None:
        super().__init__()
        self.autotune = AutotuneOptions()
        self.experimental_distribute = DistributeOptions()
        self.experimental_optimization = OptimizationOptions()
        self.threading = self.experimental_threading = ThreadingOptions()

    def merge(self, options: Options) -> Options:
        """Combine both into new options; where both set an attribute, that of `options` wins.

        Raises:
            TypeError: if `options` are no `Options`.
        """
        if not isinstance(options, Options):
            raise TypeError(f"options must be data.Options, not {options!r}")
        merged = Options()
        for name, value in {**self._changed(), **options._changed()}.items():
            setattr(merged, name, value)
        return merged
