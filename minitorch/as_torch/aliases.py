"""``import torch`` and ``import torch.nn`` by modules of this package, under the names of PyTorch's."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any

# What programs compare versions with: the version whose names and behaviour this package has.
VERSION = "2.13.0+minitorch"
_NAME = "torch"
_PACKAGE = "minitorch"


class TorchAlias(ModuleType):
    """The module ``torch``: all names of minitorch, and PyTorch's version."""

    __version__ = VERSION

    def __getattr__(self, name: str) -> Any:
        package = importlib.import_module(_PACKAGE)
        try:
            return getattr(package, name)
        except AttributeError:
            pass
        if not name.startswith("__") and importlib.util.find_spec(f"{_PACKAGE}.{name}") is not None:
            return importlib.import_module(f"{_PACKAGE}.{name}")
        raise AttributeError(
            f"module 'torch' has no attribute {name!r}: minitorch, which stands for it, does not have it", name=name, obj=self
        )

    def __dir__(self) -> list[str]:
        return sorted({*dir(importlib.import_module(_PACKAGE)), "__version__"})


class _ExistingModule(importlib.abc.Loader):
    """Gives an imported module a second name, and leaves the module as it is."""

    def __init__(self, module: ModuleType):
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: Any) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has put that of the second name there


class _Finder(importlib.abc.MetaPathFinder):
    """Finds ``torch`` and ``torch.<name>`` in this package."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname == _NAME:
            module: ModuleType = TorchAlias(_NAME, importlib.import_module(_PACKAGE).__doc__)
            module.__path__ = []  # type: ignore[attr-defined]
        elif fullname.startswith(f"{_NAME}."):
            found = _module_for(_PACKAGE + fullname.removeprefix(_NAME))
            if found is None:
                return None
            module = found
        else:
            return None
        is_package = hasattr(module, "__path__")
        return importlib.machinery.ModuleSpec(fullname, _ExistingModule(module), is_package=is_package)


def _module_for(name: str) -> ModuleType | None:
    """Return a module of this package; None if there is none of that name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise  # a library that the module needs
        return None


_finder = _Finder()


def is_installed() -> bool:
    """Return whether ``import torch`` gives minitorch in this process."""
    return _finder in sys.meta_path


def install() -> None:
    """Let ``import torch``, and its submodules, give minitorch from now on in this process.

    Raises
    ------
    RuntimeError
        If PyTorch has been imported.
    """
    present = sys.modules.get(_NAME)
    if present is not None and not isinstance(present, TorchAlias):
        raise RuntimeError(
            "as_torch.install(): PyTorch is imported in this process already, and programs hold its objects. Call install() "
            "before anything imports torch"
        )
    if not is_installed():
        sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Undo `install`: the next ``import torch`` looks for PyTorch; what was imported before stays as it is."""
    if is_installed():
        sys.meta_path.remove(_finder)
    if isinstance(sys.modules.get(_NAME), TorchAlias):
        for name in [n for n in sys.modules if n == _NAME or n.startswith(f"{_NAME}.")]:
            del sys.modules[name]
