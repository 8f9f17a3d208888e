"""Views: modules named `tensorflow...` that show gradtape's, and the finder by which `import` finds them.

A view is no copy: its classes and functions are gradtape's own, so that isinstance and pickles agree under both names.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from ..names.missing import missing, sentence
from . import version
from .internal_namespace import compiler, internal
from .internals import Internal, internals

ROOT = "tensorflow"
# Names that only the module `tensorflow`, or one below it, has.
_OWN: dict[str, dict[str, ModuleType]] = {
    ROOT: {
        "__internal__": internal(),
        "compiler": compiler(),
        "core": Internal("core"),
        "python": internals(),
        "version": version,
    },
}


class View(ModuleType):
    """A namespace of gradtape under TensorFlow's name."""

    def __init__(self, name: str, shown: ModuleType) -> None:
        super().__init__(name, shown.__doc__)
        self._shown = shown
        self._own = _OWN.get(name, {})
        self.__path__: list[str] = []  # so that `import` asks the finder for submodules
        self.__file__ = getattr(shown, "__file__", None)
        self.__spec__ = _spec(name)
        if shown.__name__ == "gradtape":
            self.__doc__ = f"gradtape under the name tensorflow. {shown.__doc__}"
            self.__version__ = version.VERSION

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return self.__dir__()
        if name.startswith("__") and name not in self._own:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = self._find(name)
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] != "keras":
            value = View(f"{self.__name__}.{name}", value)
        setattr(self, name, value)  # from now on as quick as in any module
        return value

    def _find(self, name: str) -> Any:
        if name in self._own:
            return self._own[name]
        if not isinstance(self._shown, Internal) and name not in self._shown.__all__:
            raise missing(f"{self.__name__}.{name}".partition(".")[2])
        return getattr(self._shown, name)

    def __dir__(self) -> list[str]:
        return sorted({*self._shown.__all__, *self._own})

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}: gradtape>"


def tensorflow() -> View:
    """The module `tensorflow`: the whole of gradtape.

    >>> tensorflow().__version__.startswith("2.")
    True
    """
    return View(ROOT, sys.modules["gradtape"])


class Finder:
    """Finder of `tensorflow` and its submodules, for `sys.meta_path`."""

    def __init__(self, beside: str | None) -> None:
        self._beside = beside

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if name == ROOT:
            return None if self._own_file_wins() else _spec(name)
        parent, _, child = name.rpartition(".")
        above = sys.modules.get(parent)
        if not isinstance(above, View):
            return None
        if isinstance(getattr(above, child, None), ModuleType):
            return _spec(name)
        # Without a `name` the error is not taken for one that `from tensorflow import ...` may pass over.
        raise ModuleNotFoundError(sentence(name.partition(".")[2]))

    def _own_file_wins(self) -> bool:
        own = PathFinder.find_spec(ROOT, [self._beside]) if self._beside is not None else None
        if own is None or own.loader is None:
            return False
        warnings.warn(
            f"{own.origin} is what `import tensorflow` gives here, not gradtape: rename it if that is not meant",
            RuntimeWarning,
            stacklevel=3,
        )
        return True

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        parent, _, child = spec.name.rpartition(".")
        module = getattr(sys.modules[parent], child) if parent else tensorflow()
        return module if isinstance(module, View) else ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """A view is complete when it is made; Keras is no view, but itself."""
        if not isinstance(module, View):
            parent, _, child = module.__name__.rpartition(".")
            sys.modules[module.__name__] = getattr(sys.modules[parent], child)


def _spec(name: str) -> ModuleSpec:
    return ModuleSpec(name, Finder(None), origin="gradtape", is_package=True)  # type: ignore[arg-type]
