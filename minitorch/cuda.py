"""PyTorch's ``torch.cuda``: the questions a program asks before it picks a device.

There is no CUDA backend in this package yet.  The answers come from the dispatcher, so that
they change with the first kernels that anybody registers under the key CUDA.
"""

from __future__ import annotations

from minitorch.dispatch.introspect import has_kernel_for_dispatch_key

__all__ = ["device_count", "empty_cache", "is_available", "is_initialized", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Return whether tensors can be made on CUDA devices.

    Examples
    --------
    >>> minitorch.device("cuda" if minitorch.cuda.is_available() else "cpu")
    device(type='cpu')
    """
    return has_kernel_for_dispatch_key("aten::empty.memory_format", "CUDA")


def device_count() -> int:
    """Return 0 where there is no CUDA backend, else 1."""
    return int(is_available())


def is_initialized() -> bool:
    """Return whether a CUDA backend is in use."""
    return is_available()


def manual_seed(seed: int) -> None:
    """Do nothing, as PyTorch where there is no CUDA device; `minitorch.manual_seed` seeds the CPU."""


def manual_seed_all(seed: int) -> None:
    """Do nothing, as PyTorch where there is no CUDA device."""


def empty_cache() -> None:
    """Do nothing, as PyTorch where no CUDA memory was used."""
