"""PyTorch's ``torch.accelerator``: which device other than the CPU there is, if any, and what it does.

The registered backends answer, and else the dispatcher's table: a device is there when its key has a kernel that
makes tensors.  Backends that are imported on first use (``opencl``) count once they were used.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from minitorch.backends import lazy
from minitorch.core.device import device
from minitorch.dispatch.introspect import has_kernel_for_dispatch_key

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "device_count",
    "device_index",
    "is_available",
    "set_device_idx",
    "set_device_index",
    "synchronize",
]

# In PyTorch's order: a backend of the user's own stands before those of the package.
_CANDIDATES = {"privateuseone": "PrivateUse1", "cuda": "CUDA"}


def _backend() -> Any:
    """Return the backend of the accelerator, None where it has none that is registered."""
    backends = lazy.BACKENDS_BY_TYPE.values()
    return next(iter(sorted(backends, key=lambda backend: not backend.key.startswith("PrivateUse"))), None)


def current_accelerator(check_available: bool = False) -> device | None:
    """Return the accelerator, without an index; None where there is only the CPU.

    Parameters
    ----------
    check_available : bool
        Return None also where its backend says that it has no device.

    Examples
    --------
    >>> place = minitorch.accelerator.current_accelerator() or minitorch.device("cpu")
    >>> minitorch.empty(2, device=place).device.type == place.type
    True
    """
    backend = _backend()
    if backend is not None:
        return None if check_available and not backend.is_available() else device(backend.name)
    for name, key in _CANDIDATES.items():
        if has_kernel_for_dispatch_key("aten::empty.memory_format", key):
            return device(name)
    return None


def is_available() -> bool:
    """Return whether there is an accelerator."""
    return current_accelerator(check_available=True) is not None


def device_count() -> int:
    """Return how many devices the accelerator has; 0 where there is none."""
    backend = _backend()
    return int(is_available()) if backend is None else backend.device_count()


def _needed() -> Any:
    backend = _backend()
    if backend is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return backend


def current_device_index() -> int:
    """Return the number of the device that new tensors of this thread are on."""
    return _needed().current_device()


def set_device_index(device: Any, /) -> None:
    """Set the device that new tensors of this thread are on, by number, name or device."""
    backend = _needed()
    backend.set_device(backend.index_of(device))


current_device_idx = current_device_index
set_device_idx = set_device_index


@contextmanager
def device_index(device: int | None, /) -> Any:
    """Scope: the current device is number `device`; None changes nothing."""
    if device is None:
        yield
        return
    with _needed().on_device(device):
        yield


def synchronize(device: Any = None, /) -> None:
    """Wait until everything that was begun on a device (None: the current one) is done."""
    backend = _needed()
    backend.synchronize(backend.index_of(device))
