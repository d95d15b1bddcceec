"""``cupy.cuda``: devices, streams, events, pools and the runtime, of which nothing runs later than it is called."""

from __future__ import annotations

import itertools
import threading
import time
import types

from strict_cupy import arrays
from strict_cupy.arrays import CUDARuntimeError, Device, MemoryPointer, OutOfMemoryError, Usage, current, set_current

_pointers = itertools.count(16, 16)
_local = threading.local()


class Stream:
    """``cupy.cuda.Stream``: in order, and always done."""

    null: Stream

    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
        self.ptr = 0 if null else next(_pointers)
        self.device_id = -1 if null else current()
        self.done = True
        self.non_blocking, self.priority = non_blocking, priority
        self._before = []
        self.log = []

    def use(self):
        if self.ptr and self.device_id != current():
            raise RuntimeError("This stream was not created on the current device")
        _streams()[current()] = self
        return self

    def synchronize(self):
        self.log.append("synchronize")

    def record(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        self.log.append(("wait", event))

    def __enter__(self):
        self._before.append(get_current_stream())
        return self.use()

    def __exit__(self, *raised):
        self._before.pop().use()

    def __eq__(self, other):
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self):
        return hash(self.ptr)


def _streams():
    found = getattr(_local, "streams", None)
    if found is None:
        found = _local.streams = {}
    return found


def get_current_stream(device_id=-1):
    return _streams().get(current() if device_id == -1 else device_id, Stream.null)


class Event:
    """``cupy.cuda.Event``."""

    done = True

    def __init__(self, block=False, disable_timing=False, interprocess=False):
        if interprocess and not disable_timing:
            raise CUDARuntimeError("cudaErrorInvalidValue: invalid argument")
        self.ptr, self.timed, self.time = next(_pointers), not disable_timing, None

    def record(self, stream=None):
        self.time = time.perf_counter()

    def synchronize(self):
        pass


def get_elapsed_time(start_event, end_event):
    if not (start_event.timed and end_event.timed):
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle: invalid resource handle")
    return 1e3 * (end_event.time - start_event.time)


class MemoryPool:
    """``cupy.cuda.MemoryPool``: it keeps nothing, and counts."""

    kept: dict = {}

    def malloc(self, size):
        return arrays.malloc(size)

    def used_bytes(self):
        return Usage.used.get(current(), 0)

    def total_bytes(self):
        taken = max(MemoryPool.kept.get(current(), 0), self.used_bytes())
        MemoryPool.kept[current()] = taken
        return taken

    def free_bytes(self):
        return self.total_bytes() - self.used_bytes()

    def free_all_blocks(self, stream=None):
        MemoryPool.kept[current()] = self.used_bytes()

    def set_limit(self, size=None, fraction=None):
        total = 1 << 34
        Usage.limit[current()] = int(total * fraction) if fraction is not None else size or total


class PinnedMemoryPointer(bytearray):
    """``cupy.cuda.PinnedMemoryPointer``."""


class PinnedMemoryPool:
    """``cupy.cuda.PinnedMemoryPool``."""

    def free_all_blocks(self):
        pass


def _properties(index):
    return {
        "name": b"strict_cupy, no GPU", "major": 9, "minor": 0, "totalGlobalMem": 1 << 34, "multiProcessorCount": 1,
        "maxThreadsPerBlock": 1024, "sharedMemPerBlock": 49152, "warpSize": 32,
    }  # fmt: skip


def make_cuda():
    """Return the module ``cupy.cuda``."""
    cuda = types.ModuleType("cupy.cuda")
    Stream.null = Stream(null=True)
    for value in (Stream, Event, Device, MemoryPool, PinnedMemoryPool, MemoryPointer, PinnedMemoryPointer):
        setattr(cuda, value.__name__, value)
    cuda.get_current_stream, cuda.get_elapsed_time = get_current_stream, get_elapsed_time
    cuda.is_available = lambda: True
    cuda.alloc_pinned_memory = PinnedMemoryPointer
    cuda.memory = types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError)
    cuda.runtime = types.SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        getDeviceCount=lambda: Device.count,
        getDevice=current,
        setDevice=lambda index: set_current(Device(index).id),
        deviceSynchronize=lambda: None,
        memGetInfo=lambda: ((1 << 34) - Usage.used.get(current(), 0), 1 << 34),
        getDeviceProperties=_properties,
    )
    cuda.set_allocator = lambda allocator=None: setattr(
        Usage, "allocator", staticmethod(allocator) if allocator else None
    )
    cuda.pool, cuda.pinned_pool = MemoryPool(), PinnedMemoryPool()
    return cuda
