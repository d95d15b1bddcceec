"""PyTorch's ``torch.accelerator``: which device other than the CPU there is, if any.

The dispatcher's table answers: a device is there when its key has a kernel that makes tensors.
"""

from __future__ import annotations

from minitorch.core.device import device
from minitorch.dispatch.introspect import has_kernel_for_dispatch_key

__all__ = ["current_accelerator", "device_count", "is_available"]

# In PyTorch's order: a backend of the user's own stands before those of the package.
_CANDIDATES = {"privateuseone": "PrivateUse1", "cuda": "CUDA"}


def current_accelerator(check_available: bool = False) -> device | None:
    """Return the accelerator, without an index; None where there is only the CPU.

    Parameters
    ----------
    check_available : bool
        Changes nothing here: a device that has kernels is available.

    Examples
    --------
    >>> minitorch.accelerator.current_accelerator() or minitorch.device("cpu")
    device(type='cpu')
    """
    for name, key in _CANDIDATES.items():
        if has_kernel_for_dispatch_key("aten::empty.memory_format", key):
            return device(name)
    return None


def is_available() -> bool:
    """Return whether there is an accelerator."""
    return current_accelerator() is not None


def device_count() -> int:
    """Return 0 where there is no accelerator, else 1."""
    return int(is_available())
