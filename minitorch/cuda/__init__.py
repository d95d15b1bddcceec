"""PyTorch's ``torch.cuda``: NVIDIA's GPUs, by way of CuPy, which is imported when a device is first asked for.

Without CuPy or a driver `device_count` is 0, `is_available` is False, and nothing else is lost.
"""

from __future__ import annotations

from typing import Any

from minitorch.backends.cuda.device_module import *
from minitorch.backends.cuda.device_module import __all__, _is_in_bad_fork


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module("minitorch.cuda.amp")
    raise AttributeError(f"module 'minitorch.cuda' has no attribute {name!r}")
