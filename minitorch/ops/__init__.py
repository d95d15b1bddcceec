"""The operator table; and as attributes, the operators themselves: ``minitorch.ops.aten.add``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any


def __getattr__(name: str) -> Any:
    # A namespace of operators, unless the name is that of a submodule still to be imported.
    if name.startswith("__") or find_spec(f"{__name__}.{name}") is not None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from minitorch.dispatch.namespace import ops

    found = globals()[name] = getattr(ops, name)  # so that it is looked for once: generated code asks at each call
    return found
