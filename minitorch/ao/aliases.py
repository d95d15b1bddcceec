"""PyTorch's older names of the packages here: ``nn.quantized``, ``nn.qat``, ``nn.intrinsic``, ``quantization``."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module

__all__ = ["replace"]


def replace(name: str, target: str) -> None:
    """Make a module's name, and the names of all below it, those of the modules of another package.

    Called by the module `name` while it is imported.  All of `target` is imported: a module that was found later
    under the older name would be a second one, with classes of its own.
    """
    package = import_module(target)
    for found in pkgutil.walk_packages(package.__path__, f"{target}."):
        sys.modules[name + found.name.removeprefix(target)] = import_module(found.name)
    sys.modules[name] = package
