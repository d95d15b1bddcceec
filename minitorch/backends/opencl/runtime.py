"""Devices, queues, pooled memory, programs and launches: what the rest of this package asks of PyOpenCL.

Nothing here knows of arrays.  PyOpenCL is imported when the first device is asked for.
"""

from __future__ import annotations

import os
import re
import threading
from typing import Any

import numpy as np

from minitorch.backends.opencl import drivers

_DOUBLE = re.compile(r"\bdouble\d*\b")
_BYTE = np.dtype(np.uint8)
_ALIGNMENT = 128
_QUEUES = 33


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
    joins_work_items : bool
        The compiler makes vectors of neighbouring work-items.
    unified : bool
        Buffers lie over memory of the host, which NumPy reads and writes in place.
    """

    def __init__(self, index: int, cl_device: Any):
        self.cl = cl = drivers.prepare()
        self.index = index
        self.cl_device = cl_device
        self.context = cl.Context([cl_device])
        is_cpu = bool(cl_device.type & cl.device_type.CPU)
        # The tests run the kernels for GPUs on a CPU.
        self.is_cpu = {"cpu": True, "gpu": False}.get(os.environ.get("MINITORCH_OPENCL_KERNELS", ""), is_cpu)
        # PoCL runs a kernel for one element at a time as it is written; there convolutions are better products by BLAS,
        # and pooling maxima of whole arrays.
        self.joins_work_items = not self.is_cpu or "Intel" in cl_device.platform.name
        self.unified = is_cpu and os.environ.get("MINITORCH_OPENCL_UNIFIED", "1") != "0"
        self.has_fp64 = bool(cl_device.double_fp_config)
        # PoCL compiles a kernel anew for each size of its groups, which it would choose by the grid.
        self.compiles_groups = cl_device.platform.name.startswith("Portable Computing Language")
        self.units = cl_device.max_compute_units
        self.max_alloc = cl_device.max_mem_alloc_size
        self.total_memory = cl_device.global_mem_size
        self.limit = self.total_memory
        self.local = threading.local()
        self.lock = threading.RLock()
        self.queues: list = []
        self.taken = 0
        self.default_queue = self.new_queue()
        self.free: dict[tuple, list] = {}
        self.allocated = 0
        self.max_allocated = 0
        self.reserved = 0
        self.max_reserved = 0
        self.retries = 0
        self.failures = 0
        self.programs: dict[Any, Any] = {}
        self.recorder: Any = None  # what the call that is being traced launches (`replay`)

    # ------------------------------------------------------------ queues

    @property
    def queue(self):
        """The queue of the calling thread's current stream."""
        queue = getattr(self.local, "queue", None) or self.default_queue
        if type(queue) is _ForkedQueue:
            raise RuntimeError(drivers.FORKED)
        return queue

    def new_queue(self):
        """Return another queue of this device; there are `_QUEUES` at most, which are then handed out again in turn.

        They keep the times of commands for events to tell; no cost of that could be measured.
        """
        with self.lock:
            if len(self.queues) < _QUEUES:
                keep_times = self.cl.command_queue_properties.PROFILING_ENABLE
                self.queues.append(self.cl.CommandQueue(self.context, properties=keep_times))
                return self.queues[-1]
            self.taken += 1
            return self.queues[1 + self.taken % (_QUEUES - 1)]  # the first is the default one

    def finish(self) -> None:
        """Wait until everything in the calling thread's queue is done."""
        self.note_transfer()
        self.queue.finish()

    def note_transfer(self) -> None:
        """Note that the host reads or writes memory now: a call that is being traced is not kept."""
        if self.recorder is not None:
            self.recorder.is_pure = False

    def synchronize(self) -> None:
        """Wait until everything in all queues is done."""
        for queue in self.queues:
            queue.finish()

    # ------------------------------------------------------------ memory

    def allocate(self, nbytes: int) -> Block:
        """Return uninitialised memory.

        Raises
        ------
        OutOfMemoryError
        """
        capacity = size_class(nbytes)
        queue = self.queue
        row = self.free.get((capacity, id(queue)))
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
            self.retries += 1
            self.empty_cache()
            try:
                made = self._try_new(capacity)
            except (MemoryError, self.cl.Error) as error:
                self.failures += 1
                raise OutOfMemoryError(
                    f"opencl:{self.index} out of memory: tried to allocate {capacity} bytes, with {self.allocated} in use by "
                    f"tensors of {self.limit} in all and at most {self.max_alloc} in one allocation ({error}). Free tensors, "
                    "or use smaller batches; minitorch.opencl.memory_summary() says more."
                ) from None
        self.reserved += capacity
        self.max_reserved = max(self.max_reserved, self.reserved)
        return made

    def _try_new(self, capacity):
        cl = self.cl
        if capacity > self.max_alloc:
            raise MemoryError(f"the driver allows {self.max_alloc} bytes in one allocation")
        # A CPU device takes memory that the system promised and does not have, and is ended for it later.
        if self.reserved + capacity > self.limit:
            raise MemoryError(f"the device has {self.limit} bytes, and {self.reserved} are taken")
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
            if not drivers.in_bad_fork():
                self.synchronize()  # a kernel that reads it must come to its end before NumPy frees it
            return
        key = (block.capacity, id(block.queue))  # queues live as long as the device
        row = self.free.get(key)
        if row is None:
            row = self.free.setdefault(key, [])
        row.append((block.buffer, block.host))

    def empty_cache(self) -> None:
        """Give the memory that no tensor uses back to the driver."""
        self.synchronize()  # kernels that read it may be in any queue
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
            drivers.check_fork()
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
        if not self.has_fp64 and _DOUBLE.search(source):
            raise RuntimeError(
                f"opencl:{self.index} ({self.cl_device.name.strip()}) has no float64: its driver lacks cl_khr_fp64. Convert to "
                "float32 with .float(), or compute on another device."
            )
        try:
            return self.cl.Program(self.context, source).build(
                options=["-cl-std=CL1.2", "-w"]
            )  # PoCL writes warnings to stderr
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
        if self.recorder is not None:
            self.recorder.launches += 1
        if launch_observers:
            for observer in launch_observers:
                observer(self, kernel.function_name, event)
        for block in written:
            if block.exposed:
                self.queue.finish()
                break
        return event


# Called with each launch, (device, kernel's name, event): those of the profilers that run.
launch_observers: list[Any] = []
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


class _ForkedQueue:
    """Stands for the queues of a parent process, which a forked child must not touch."""

    def __getattr__(self, name):
        raise RuntimeError(drivers.FORKED)


def _after_fork() -> None:
    """Make every use of a device raise in a forked child: its drivers have no threads there and would hang."""
    global _devices, _lock, _local
    _lock = threading.Lock()
    _local = threading.local()
    for made in _devices or ():
        if made is not None:
            made.lock = threading.RLock()
            made.local = threading.local()  # with it the kernels that this thread had
            made.default_queue = _ForkedQueue()
            made.queues = [made.default_queue]
    _devices = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def device_count() -> int:
    """Return how many devices can be used."""
    return len(descriptions())


def current_index() -> int:
    """Return the calling thread's current device."""
    return getattr(_local, "index", 0)


def set_index(index: int) -> None:
    """Make a device the calling thread's current one."""
    _local.index = index


def opened(index: int) -> Device | None:
    """Return a device if it is in use, without making it."""
    return _devices[index] if _devices is not None and index < len(_devices) else None


def device(index: int | None = None) -> Device:
    """Return a device, by default the calling thread's current one."""
    number: int = getattr(_local, "index", 0) if index is None else index
    if _devices is None:
        descriptions()
    assert _devices is not None
    if not 0 <= number < len(_devices):
        raise RuntimeError(
            f"opencl:{number}: there is no such device; {len(_devices)} can be used (minitorch.opencl.diagnose() lists them)"
        )
    found = _devices[number]
    if found is None:
        with _lock:
            found = _devices[number]
            if found is None:
                found = _devices[number] = Device(number, _descriptions[number].device)
    return found
