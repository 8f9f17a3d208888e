"""Options of datasets: TensorFlow's names, remembered; nothing follows from them here."""

from __future__ import annotations

from typing import Any


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

    def _said(self) -> dict[str, Any]:
        """What somebody has set."""
        return {
            name: value
            for name, value in vars(self).items()
            if value is not None and (not isinstance(value, _Names) or value._said())
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Names) and type(other) is type(self) and other._said() == self._said()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self._said().items())
        return f"{type(self).__name__}({said})"


class AutotuneOptions(_Names):
    """How TensorFlow may tune itself."""

    _known = (
        "autotune_algorithm",
        "cpu_budget",
        "enabled",
        "initial_parallelism",
        "min_parallelism",
        "ram_budget",
    )


class DistributeOptions(_Names):
    """How elements are divided among workers."""

    _known = ("auto_shard_policy", "num_devices")


class OptimizationOptions(_Names):
    """What TensorFlow may rewrite."""

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
    """How many threads TensorFlow may use."""

    _known = ("max_intra_op_parallelism", "private_threadpool_size")


class Options(_Names):
    """What `Dataset.with_options` takes.

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
        """Both as one; where both say something, `options` has the last word."""
        if not isinstance(options, Options):
            raise TypeError(f"options must be data.Options, not {options!r}")
        merged = Options()
        for name, value in {**self._said(), **options._said()}.items():
            setattr(merged, name, value)
        return merged
