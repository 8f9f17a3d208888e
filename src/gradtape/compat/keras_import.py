"""Finding Keras's modules: adapted to gradtape, and under the names `tensorflow.keras...` and `gradtape.keras...`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# Names under which Keras's modules are also imported.
_ALIASES = "tensorflow.keras.", "gradtape.keras."
# The modules that `keras_adaptations` adapts; that file is imported with the first of them.
_ADAPTED = {
    "keras.backend",
    "keras.layers",
    "keras.losses",
    "keras.metrics",
    "keras.preprocessing",
    "keras.src.backend.tensorflow.core",
    "keras.src.backend.tensorflow.layer",
    "keras.src.backend.tensorflow.sparse",
    "keras.src.backend.tensorflow.trainer",
    "keras.src.callbacks.callback_list",
    "keras.src.layers.layer",
    "keras.src.layers.rnn.gru",
    "keras.src.layers.rnn.lstm",
    "keras.src.legacy.saving.json_utils",
    "keras.src.losses",
    "keras.src.metrics",
    "keras.src.optimizers",
    "keras.src.trainers.data_adapters",
    "keras.src.trainers.data_adapters.array_data_adapter",
    "keras.src.trainers.data_adapters.data_adapter_utils",
    "keras.src.utils.dataset_utils",
    "keras.src.utils.jax_layer",
}


class KerasFinder:
    """Finder of Keras's modules under other names, and of those that are adapted, for `sys.meta_path`."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if name in _ADAPTED:
            return self._adapted(name, path)
        if name.startswith(_ALIASES):
            parent, _, child = name.rpartition(".")
            above = sys.modules.get(parent)
            if above is not None and above.__name__.partition(".")[0] == "keras":
                return ModuleSpec(name, _Alias(f"{above.__name__}.{child}"))  # type: ignore[arg-type]
        return None

    def _adapted(self, name: str, path: Sequence[str] | None) -> ModuleSpec | None:
        if "tensorflow" in sys.modules and not is_ours():  # not yet imported, it will be ours
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        spec.loader = _Adapting(spec.loader)  # type: ignore[assignment]
        return spec


class _Alias:
    """Loader that gives a module that has another name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(
            self._name
        )  # which `import` takes in place of the new one


class _Adapting:
    """Loader that adapts a module of Keras when it has run."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        from .keras_adaptations import ADAPTATIONS

        self._loader.exec_module(module)
        ADAPTATIONS[module.__name__](module)


def is_ours() -> bool:
    """Return whether `tensorflow` is gradtape in this process."""
    from .views import View

    return isinstance(sys.modules.get("tensorflow"), View)
