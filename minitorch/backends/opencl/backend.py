"""The OpenCL backend, as the public API for backends out of the tree wants it.

Nothing here is known to the rest of the package: it is a `Backend` like any other, and a test
registers it under PrivateUse1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends import Backend
from minitorch.backends.opencl import device_module, runtime
from minitorch.backends.opencl.array import CLArray, empty, from_host
from minitorch.backends.opencl.ctypes import UINT8, compute_type
from minitorch.backends.opencl.namespace import xp
from minitorch.backends.opencl.pointwise import assign
from minitorch.backends.opencl.random import PhiloxGenerator


def bounds(array: CLArray) -> tuple[int, int]:
    """Return the offsets in the block of an array's lowest byte and of the end of its highest."""
    low = high = array.offset
    if 0 in array.shape:
        return low, low
    for n, step in zip(array.shape, array.strides, strict=True):
        if step < 0:
            low += (n - 1) * step
        else:
            high += (n - 1) * step
    return low, high + array.dtype.itemsize


class OpenCLBackend(Backend):
    """Any device with an OpenCL 1.2 driver."""

    array_type = CLArray
    namespace = xp
    namespace_writes = True
    to_host_shares = False
    generator_type = PhiloxGenerator
    device_functions = device_module.functions()

    # ------------------------------------------------------------ memory

    def device_of(self, handle: CLArray) -> Any:
        return self._devices[handle.device.index]

    @property
    def _devices(self) -> list:
        found = self.__dict__.get("_device_list")
        if found is None:
            import minitorch

            found = self.__dict__["_device_list"] = [
                minitorch.device(self.name, index) for index in range(runtime.device_count())
            ]
        return found

    def nbytes(self, root: CLArray) -> int:
        low, high = bounds(root)
        return high - low

    def offset(self, root: CLArray, handle: CLArray) -> int:
        return handle.offset - bounds(root)[0]

    def strided(self, root: CLArray, shape: tuple, strides: tuple, offset: int, dtype: Any) -> CLArray:
        root.settle()
        return CLArray(root.block, bounds(root)[0] + offset, tuple(shape), tuple(strides), np.dtype(dtype), root.device)

    def address(self, handle: CLArray) -> int:
        return 0 if 0 in handle.shape else handle.block.buffer.int_ptr + handle.offset

    def writable(self, root: CLArray, handle: CLArray) -> CLArray | None:
        if handle.may_overlap:
            return None
        result = handle.view_of(handle.shape, handle.strides, 0)
        result.may_overlap = True
        return result

    def allocate(self, nbytes: int) -> CLArray:
        return empty((nbytes,), UINT8).settle()

    # ------------------------------------------------------------ copies

    def from_host(self, array: np.ndarray, index: int) -> CLArray:
        return from_host(array, runtime.device(index))

    def to_host(self, handle: CLArray) -> np.ndarray:
        return handle.to_host()

    def share_with_host(self, handle: CLArray) -> np.ndarray | None:
        """Return a NumPy array over the same memory, on devices whose memory is the host's."""
        shared = handle.host_view()
        if shared is not None:
            handle.block.exposed = True
        return shared

    def copy_(self, target: CLArray, source: CLArray) -> None:
        compute_type(target.dtype)
        compute_type(source.dtype)
        if target.device is not source.device:
            source = from_host(source.to_host(), target.device)
        assign(target, source)

    def finish(self, array: Any) -> CLArray:
        if type(array) is not CLArray:
            array = xp.asarray(array)
        return array.settle()

    # ------------------------------------------------------------ devices

    def device_count(self) -> int:
        return device_module.device_count()

    def check_index(self, index: int) -> None:
        runtime.descriptions()  # where there is no device, the error says why
        super().check_index(index)

    def current_device(self) -> int:
        return runtime.current_index()

    def set_device(self, index: int) -> None:
        self.check_index(index)
        runtime.set_index(index)

    def synchronize(self, index: int | None = None) -> None:
        runtime.device(index).synchronize()
