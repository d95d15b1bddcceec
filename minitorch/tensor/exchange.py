"""Memory that is shared with other libraries where it is not the CPU's, or is pinned: the backend of the device does it."""

from __future__ import annotations

from typing import Any, Protocol

from minitorch.core.device import use_device_type

# DLPack's numbers of devices.
KDL_CPU, KDL_CUDA, KDL_CUDA_MANAGED = 1, 2, 13


class Exchange(Protocol):
    """What the backend of CUDA devices registers as `EXCHANGES["cuda"]`."""

    def adopt(self, foreign: Any) -> Any:
        """Return a tensor over the memory of another library's array on the device."""

    def pin(self, tensor: Any) -> Any:
        """Return a CPU tensor of the same elements in pinned memory."""

    def is_pinned(self, tensor: Any) -> bool:
        """Return whether a CPU tensor is in pinned memory."""
        ...


EXCHANGES: dict[str, Exchange] = {}


def of_cuda() -> Exchange:
    """Return CUDA's, whose backend is loaded now if it is not.

    Raises
    ------
    NotImplementedError
        If there is no device.
    """
    if "cuda" not in EXCHANGES:
        use_device_type("cuda")
    return EXCHANGES["cuda"]


def is_on_cuda(foreign: Any) -> bool:
    """Return whether an object of another library says that its memory is a CUDA device's."""
    if hasattr(type(foreign), "__dlpack_device__"):
        return int(foreign.__dlpack_device__()[0]) in (KDL_CUDA, KDL_CUDA_MANAGED)
    return hasattr(type(foreign), "__cuda_array_interface__")
