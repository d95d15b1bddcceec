"""Which modules may be compiled, and how to run their source instead.

The build compiles `MODULES` where a C compiler is found; elsewhere, and with
``MINITORCH_INTERPRETED=1`` in the environment, the same files run interpreted.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location

MODULES = (
    "minitorch.dispatch.local_state",
    "minitorch.dispatch.operator",
    "minitorch.tensor.base",
    "minitorch.tensor.indexing",
    "minitorch.ops.function",
    "minitorch.ops.backend_select",
    "minitorch.backends.array.binding",
    "minitorch.backends.array.pointwise_binary",
    "minitorch.backends.array.views",
    "minitorch.backends.array.reductions",
    "minitorch.backends.array.activation",
    "minitorch.backends.array.normalization",
    "minitorch.backends.array.factories",
    "minitorch.backends.array.indexing",
    "minitorch.backends.cpu.normal_loop",
    "minitorch.backends.cpu.small.pointwise",
    "minitorch.backends.cpu.small.rows",
    "minitorch.backends.cpu.small.moves",
    "minitorch.backends.cpu.large",
    "minitorch.backends.cpu.loops",
    "minitorch.ops.composite.views",
    "minitorch.ops.composite.linalg",
    "minitorch.ops.composite.activation",
    "minitorch.autograd.node",
    "minitorch.autograd.bookkeeping",
    "minitorch.autograd.kernel",
    "minitorch.autograd.engine",
)


class _SourceFinder:
    """Finds the source of the modules that would otherwise be loaded compiled.

    No `importlib.abc.MetaPathFinder`: importing that loads two dozen modules more.
    """

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in MODULES:
            return None
        file = os.path.join(os.path.dirname(__file__), *fullname.split(".")[1:]) + ".py"
        return spec_from_file_location(fullname, file, loader=SourceFileLoader(fullname, file))


def prefer_source_if_asked() -> None:
    """Arrange that the core runs interpreted, when the environment says so."""
    if os.environ.get("MINITORCH_INTERPRETED", "0") not in ("", "0"):
        sys.meta_path.insert(0, _SourceFinder())  # type: ignore[arg-type]


def core_is_compiled() -> bool:
    """Return whether the core runs compiled in this process."""
    from minitorch.dispatch import local_state

    return not str(local_state.__file__).endswith(".py")
