"""Devices, queues, pooled memory, programs and launches: what the rest of this package asks of PyOpenCL.

Nothing here knows of arrays.  PyOpenCL is imported when the first device is asked for.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from minitorch.backends.opencl import drivers

_BYTE = np.dtype(np.uint8)
_ALIGNMENT = 128


class OutOfMemoryError(RuntimeError):
    """A device could not give the memory asked for; nothing was changed, and the device still works."""


def size_class(nbytes: int) -> int:
    """Return the capacity of the block that serves a request: powers of two in eighths, at least 256 bytes."""
    if nbytes <= 256:
        return 256
    step = 1 << max((nbytes - 1).bit_length() - 4, 8)
    return -(-nbytes // step) * step


class Block:
    """Memory of a device: an OpenCL buffer, on CPU devices over memory that NumPy sees too.

    Attributes
    ----------
    buffer : pyopencl.Buffer
    capacity : int
        Bytes.
    host : numpy.ndarray or None
        The same memory as a row of bytes; None where the host has no part in it.
    readers : list of weakref
        Arrays not computed yet that will read this memory (`expression`).
    exposed : bool
        The host memory was handed out: each kernel that writes to it is waited for.
    """

    __slots__ = ("__weakref__", "buffer", "capacity", "device", "exposed", "host", "queue", "readers")

    def __init__(self, device, buffer, capacity, host, queue):
        self.device = device
        self.buffer = buffer
        self.capacity = capacity
        self.host = host
        self.queue = queue
        self.readers = None
        self.exposed = False

    def __del__(self):
        try:
            self.device.release(self)
        except Exception:  # at the end of the process the modules go first
            pass


class Device:
    """One OpenCL device: its context, queues, memory pool and programs.

    Attributes
    ----------
    index : int
    is_cpu : bool
        Kernels take the form with one work-item for each run of elements.
    unified : bool
        Buffers lie over memory of the host, which NumPy reads and writes in place.
    """

    def __init__(self, index: int, cl_device: Any):
        import pyopencl as cl

        self.cl = cl
        self.index = index
        self.cl_device = cl_device
        self.context = cl.Context([cl_device])
        self.is_cpu = bool(cl_device.type & cl.device_type.CPU)
        self.unified = self.is_cpu and os.environ.get("MINITORCH_OPENCL_UNIFIED", "1") != "0"
        self.has_fp64 = bool(cl_device.double_fp_config)
        # PoCL compiles a kernel anew for each size of its groups, which it would choose by the grid.
        self.compiles_groups = cl_device.platform.name.startswith("Portable Computing Language")
        self.units = cl_device.max_compute_units
        self.max_alloc = cl_device.max_mem_alloc_size
        self.default_queue = cl.CommandQueue(self.context)
        self.local = threading.local()
        self.lock = threading.RLock()
        self.free: dict[tuple, list] = {}
        self.allocated = 0
        self.max_allocated = 0
        self.reserved = 0
        self.max_reserved = 0
        self.programs: dict[Any, Any] = {}

    # ------------------------------------------------------------ queues

    @property
    def queue(self):
        """The queue of the calling thread's current stream."""
        return getattr(self.local, "queue", None) or self.default_queue

    def finish(self) -> None:
        """Wait until everything in the calling thread's queue is done."""
        self.queue.finish()

    # ------------------------------------------------------------ memory

    def allocate(self, nbytes: int) -> Block:
        """Return uninitialised memory.

        Raises
        ------
        OutOfMemoryError
        """
        capacity = size_class(nbytes)
        queue = self.queue
        row = self.free.get((capacity, queue.int_ptr))
        if row:
            try:
                buffer, host = row.pop()
            except IndexError:  # another thread was quicker
                buffer, host = self._new(capacity)
        else:
            buffer, host = self._new(capacity)
        self.allocated += capacity
        if self.allocated > self.max_allocated:
            self.max_allocated = self.allocated
        return Block(self, buffer, capacity, host, queue)

    def _new(self, capacity):
        try:
            made = self._try_new(capacity)
        except (MemoryError, self.cl.Error):
            self.empty_cache()
            try:
                made = self._try_new(capacity)
            except (MemoryError, self.cl.Error) as error:
                raise OutOfMemoryError(
                    f"opencl:{self.index} out of memory: tried to allocate {capacity} bytes, with {self.allocated} in use by "
                    f"tensors and at most {self.max_alloc} in one allocation ({error}). Free tensors, or use smaller batches."
                ) from None
        self.reserved += capacity
        self.max_reserved = max(self.max_reserved, self.reserved)
        return made

    def _try_new(self, capacity):
        cl = self.cl
        if capacity > self.max_alloc:
            raise MemoryError(f"the driver allows {self.max_alloc} bytes")
        flags = cl.mem_flags
        if not self.unified:
            return cl.Buffer(self.context, flags.READ_WRITE, capacity), None
        memory = np.empty(capacity + _ALIGNMENT, np.uint8)
        start = -memory.__array_interface__["data"][0] % _ALIGNMENT
        host = memory[start : start + capacity]
        return cl.Buffer(self.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=host), host

    def release(self, block: Block) -> None:
        """Put a block's memory back into the pool of its queue."""
        self.allocated -= block.capacity
        if block.exposed:  # somebody may still look at it through NumPy
            self.reserved -= block.capacity
            return
        key = (block.capacity, block.queue.int_ptr)
        row = self.free.get(key)
        if row is None:
            row = self.free.setdefault(key, [])
        row.append((block.buffer, block.host))

    def empty_cache(self) -> None:
        """Give the memory that no tensor uses back to the driver."""
        self.finish()
        with self.lock:
            rows = list(self.free.items())
            self.free.clear()
        for (capacity, _), row in rows:
            self.reserved -= capacity * len(row)

    def wrap_host(self, array: np.ndarray) -> Block:
        """Return a block over an array of the host, which it keeps alive; for unified devices."""
        flags = self.cl.mem_flags
        buffer = self.cl.Buffer(self.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=array)
        block = Block(self, buffer, array.nbytes, array, self.queue)
        block.exposed = True
        self.allocated += array.nbytes
        self.reserved += array.nbytes
        return block

    # ------------------------------------------------------------ programs

    def kernel(self, key: Any, make_source, name: str, scalar_types: tuple):
        """Return the calling thread's kernel object for `key`, built from ``make_source()`` at the first use.

        Parameters
        ----------
        key : hashable
            Names the source; the same key must always give the same source and kernel.
        make_source : callable
            Returns OpenCL C.
        name : str
            The kernel function.
        scalar_types : tuple
            A NumPy dtype for each scalar argument, None for each buffer.

        Notes
        -----
        Kernel objects hold their arguments and so belong to one thread.
        """
        local = self.local
        kernels = getattr(local, "kernels", None)
        if kernels is None:
            kernels = local.kernels = {}
        found = kernels.get(key)
        if found is None:
            with self.lock:
                source = make_source()
                program = self.programs.get(source)
                if program is None:
                    program = self.programs[source] = self._build(source)
                found = self.cl.Kernel(program, name)
            found.set_scalar_arg_dtypes(scalar_types)
            kernels[key] = found
        return found

    def _build(self, source: str):
        try:
            return self.cl.Program(self.context, source).build(options=["-cl-std=CL1.2"])
        except self.cl.Error as error:
            raise RuntimeError(
                f"opencl:{self.index}: the driver refused a kernel. Please report this with the driver's name "
                f"({self.cl_device.name}, {self.cl_device.driver_version}).\n{error}\n{source}"
            ) from None

    def launch(self, kernel, global_size: tuple, args: tuple, written: tuple = (), local_size: tuple | None = None):
        """Enqueue a kernel; wait for it only where the host looks at memory it writes (`written`, blocks)."""
        if local_size is None and self.compiles_groups:
            local_size = (1 if global_size[0] % 16 else 16, 1, 1)[: len(global_size)]
        event = kernel(self.queue, global_size, local_size, *args)
        for block in written:
            if block.exposed:
                self.queue.finish()
                break
        return event


_devices: list[Device | None] | None = None
_lock = threading.Lock()
_local = threading.local()


def descriptions() -> list:
    """Return the usable devices as `drivers` describes them."""
    global _devices, _descriptions
    with _lock:
        if _devices is None:
            _descriptions = drivers.usable()
            _devices = [None] * len(_descriptions)
    return _descriptions


_descriptions: list = []


def device_count() -> int:
    """Return how many devices can be used."""
    return len(descriptions())


def current_index() -> int:
    """Return the calling thread's current device."""
    return getattr(_local, "index", 0)


def set_index(index: int) -> None:
    """Make a device the calling thread's current one."""
    _local.index = index


def device(index: int | None = None) -> Device:
    """Return a device, by default the calling thread's current one."""
    if index is None:
        index = getattr(_local, "index", 0)
    if _devices is None:
        descriptions()
    assert _devices is not None
    try:
        found = _devices[index]
    except IndexError:
        raise RuntimeError(
            f"opencl:{index}: there is no such device; {len(_devices)} can be used (minitorch.opencl.diagnose() lists them)"
        ) from None
    if found is None:
        with _lock:
            found = _devices[index]
            if found is None:
                found = _devices[index] = Device(index, _descriptions[index])
    return found
