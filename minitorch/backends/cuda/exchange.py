"""Memory shared with other libraries on the device (DLPack, ``__cuda_array_interface__``), and pinned memory."""

from __future__ import annotations

from typing import Any

from minitorch.backends.cuda import pinned
from minitorch.backends.cuda.library import library
from minitorch.tensor.creation import wrap
from minitorch.tensor.exchange import EXCHANGES
from minitorch.tensor.storage import borrow


class CudaExchange:
    """What `minitorch.tensor.exchange` asks for."""

    def __init__(self, backend: Any):
        self.backend = backend

    def adopt(self, foreign: Any) -> Any:
        """Return a tensor over the memory of another library's array on the device."""
        cupy = library()
        if isinstance(foreign, cupy.ndarray):
            handle = foreign
        elif hasattr(foreign, "__dlpack__"):
            handle = cupy.from_dlpack(foreign)
        else:
            handle = cupy.asarray(foreign)
        return borrow(self.backend.wrap(handle.view()))  # a header of its own

    def pin(self, tensor: Any) -> Any:
        """Return a CPU tensor of the same elements in pinned memory."""
        if tensor.device.type != "cpu":
            raise RuntimeError(f"cannot pin '{tensor.type()}': only dense CPU tensors can be pinned")
        return tensor if self.is_pinned(tensor) else wrap(pinned.pin(tensor.detach().handle))

    def is_pinned(self, tensor: Any) -> bool:
        """Return whether a CPU tensor is in pinned memory."""
        return tensor.device.type == "cpu" and pinned.is_pinned(tensor.handle)


def register_exchange(backend: Any) -> None:
    """Register it."""
    EXCHANGES["cuda"] = CudaExchange(backend)
