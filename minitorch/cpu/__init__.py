"""The CPU as a device: PyTorch's ``torch.cpu``, and its memory."""

from __future__ import annotations

from typing import Any

from minitorch.backends.cpu.allocator import release_freed_memory

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "is_available",
    "is_initialized",
    "set_device",
    "synchronize",
]


def empty_cache() -> None:
    """Give memory of tensors that are gone back to the system.

    The allocator keeps it for the next results otherwise (``MINITORCH_KEEP_MEMORY=0`` in the
    environment keeps it from doing so).  Does nothing where the C library has no such call.
    """
    release_freed_memory()


def current_device() -> str:
    """Return the name of the device, ``"cpu"``."""
    return "cpu"


def device_count() -> int:
    """Return 1."""
    return 1


def is_available() -> bool:
    """Return True."""
    return True


def is_initialized() -> bool:
    """Return True."""
    return True


def set_device(device: Any) -> None:
    """Do nothing: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Do nothing: operators of the CPU have finished when they return."""


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module("minitorch.cpu.amp")
    raise AttributeError(f"module 'minitorch.cpu' has no attribute {name!r}")
