"""The CUDA backend, as the public API for backends wants it: CuPy's arrays are the handles."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from minitorch.backends import Backend, NoKernel
from minitorch.backends.cuda import library as loader
from minitorch.backends.cuda.library import OutOfMemoryError, library
from minitorch.backends.cuda.namespace import namespace
from minitorch.backends.cuda.pinned import is_pinned
from minitorch.backends.cuda.random import PhiloxGenerator

_BYTE = np.dtype(np.uint8)
_SEEN = 1 << 20  # allocations from this many bytes on are looked at for the peak


def bounds(array: Any) -> tuple[int, int]:
    """Return the addresses of an array's lowest byte and of the end of its highest."""
    low = high = array.data.ptr
    if 0 in array.shape:
        return low, low
    for n, step in zip(array.shape, array.strides, strict=True):
        if step < 0:
            low += (n - 1) * step
        else:
            high += (n - 1) * step
    return low, high + array.dtype.itemsize


class CudaBackend(Backend):
    """NVIDIA's GPUs, through CuPy."""

    namespace_writes = True
    to_host_shares = False

    def __init__(self) -> None:
        loader.note_use()
        self.array_type = library().ndarray
        self.namespace = namespace()
        self.devices: list = []
        self.peaks: dict[int, dict[str, int]] = {}
        self.in_flight: deque = deque()
        self.lock = Lock()
        self.pool = library().get_default_memory_pool()
        library().cuda.set_allocator(self.take_memory)

    @cached_property
    def autocast_dtypes(self) -> tuple:  # type: ignore[override]
        import minitorch

        return (minitorch.float16, minitorch.bfloat16)

    # ------------------------------------------------------------ memory

    def device_of(self, handle: Any) -> Any:
        index = handle.device.id
        while len(self.devices) <= index:
            import minitorch

            self.devices.append(minitorch.device(self.name, len(self.devices)))
        return self.devices[index]

    def nbytes(self, root: Any) -> int:
        low, high = bounds(root)
        return high - low

    def offset(self, root: Any, handle: Any) -> int:
        return handle.data.ptr - bounds(root)[0]

    def strided(self, root: Any, shape: tuple, strides: tuple, offset: int, dtype: Any) -> Any:
        start = bounds(root)[0] + offset - root.data.ptr
        return library().ndarray(tuple(shape), np.dtype(dtype), root.data + start, tuple(strides))

    def address(self, handle: Any) -> int:
        return handle.data.ptr if handle.size else 0

    def allocate(self, nbytes: int) -> Any:
        return library().empty((nbytes,), _BYTE)

    def take_memory(self, nbytes: int) -> Any:
        """Return memory of the pool: the allocator of everything that CuPy makes, once the backend is loaded.

        Raises
        ------
        OutOfMemoryError
            If memory is short, also with the pool emptied.
        """
        short = library().cuda.memory.OutOfMemoryError
        try:
            made = self.pool.malloc(nbytes)
        except short:
            self.pool.free_all_blocks()
            try:
                made = self.pool.malloc(nbytes)
            except short as error:
                raise OutOfMemoryError(
                    f"CUDA out of memory: {nbytes} bytes were asked for on {self.name}:{self.current_device()}, and tensors hold "
                    f"{self.pool.used_bytes()}. {error}"
                ) from None
        if nbytes >= _SEEN:
            self.note_peak()
        return made

    def memory(self, what: str, index: int | None = None) -> int:
        """Return a number of bytes of the pool of a device: "used_bytes", "total_bytes" or "free_bytes"."""
        with self.on_device(self.current_device() if index is None else index):
            return int(getattr(self.pool, what)())

    def note_peak(self) -> None:
        """Remember the most that was used at a time, as of now; the pool counts its blocks each time it is asked."""
        peak = self.peaks.setdefault(self.current_device(), {"used_bytes": 0, "total_bytes": 0})
        for what in peak:
            peak[what] = max(peak[what], int(getattr(self.pool, what)()))

    # ------------------------------------------------------------ copies

    def from_host(self, array: np.ndarray, index: int) -> Any:
        cupy = library()
        check_dtype(array.dtype)
        with self.on_device(index):
            made = cupy.empty(array.shape, array.dtype)
            if array.size:
                stream = cupy.cuda.get_current_stream()
                made.set(array, stream=stream)
                # What is not pinned is staged before `set` returns; what is pinned is read while the program goes on.
                if is_pinned(array):
                    if getattr(self._local, "non_blocking", False):
                        self.keep(array, stream.record())
                    else:
                        stream.synchronize()
        return made

    def keep(self, array: np.ndarray, event: Any) -> None:
        """Keep the memory of an array from being used again before an event has happened."""
        with self.lock:
            self.in_flight.append((event, array))
            while self.in_flight and self.in_flight[0][0].done:
                self.in_flight.popleft()

    def to_host(self, handle: Any) -> np.ndarray:
        with self.on_device(handle.device.id):
            return handle.get()

    def copy_(self, target: Any, source: Any) -> None:
        cupy = library()
        if target.dtype.kind != "c" and source.dtype.kind == "c":
            source = source.real
        here, there = target.device.id, source.device.id
        if here != there:
            with self.on_device(there):
                source = cupy.ascontiguousarray(source)
                computed = cupy.cuda.get_current_stream().record()
        with self.on_device(here):
            if here != there:
                stream = cupy.cuda.get_current_stream()
                stream.wait_event(computed)
                moved = cupy.empty(source.shape, source.dtype)
                moved.data.copy_from_device_async(source.data, source.nbytes, stream)
                stream.synchronize()  # `source` may be a copy that ends here
                source = moved
            self.namespace.copyto(target, source, casting="unsafe")

    def finish(self, array: Any) -> Any:
        if not isinstance(array, self.array_type):
            array = library().asarray(array)
        return array

    # ------------------------------------------------------------ devices

    def device_count(self) -> int:
        return loader.count()

    def current_device(self) -> int:
        return library().cuda.runtime.getDevice()

    def set_device(self, index: int) -> None:
        self.check_index(index)
        library().cuda.runtime.setDevice(index)

    def synchronize(self, index: int | None = None) -> None:
        with self.on_device(self.current_device() if index is None else index):
            library().cuda.runtime.deviceSynchronize()

    def new_generator(self, index: int) -> PhiloxGenerator:
        import minitorch

        return PhiloxGenerator(minitorch.device(self.name, index))  # type: ignore[return-value]


def check_dtype(dtype: np.dtype) -> None:
    """Refuse types that CuPy has no arrays of.

    Raises
    ------
    NoKernel
        The CPU keeps such tensors.
    """
    if dtype.kind == "V" and dtype.name != "bfloat16":
        raise NoKernel(f"CuPy has no arrays of {dtype.name}")
