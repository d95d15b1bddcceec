"""What ``minitorch.cuda`` does: devices and their properties, memory, random numbers, streams.

Names and meanings are those of ``torch.cuda``.  Importing this imports no CuPy and touches no device.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from minitorch.backends import lazy
from minitorch.backends.cuda import library as loader
from minitorch.backends.cuda.library import OutOfMemoryError, library
from minitorch.backends.cuda.places import current_index, index_of, set_index
from minitorch.backends.cuda.streams import Event, Stream, current_stream, default_stream, set_stream, stream
from minitorch.dispatch.introspect import has_kernel_for_dispatch_key

__all__ = [
    "DeviceProperties",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]

StreamContext = stream


@dataclass(frozen=True)
class DeviceProperties:
    """What a device can do.

    Attributes
    ----------
    name : str
    major, minor : int
        The compute capability.
    total_memory : int
        Bytes.
    multi_processor_count, max_threads_per_block, shared_memory_per_block, warp_size : int
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_block: int
    shared_memory_per_block: int
    warp_size: int


# Devices ----------------------------------------------------------------------------------------------------


def is_available() -> bool:
    """Return whether tensors can be made on CUDA devices.

    Examples
    --------
    >>> place = minitorch.device("cuda" if minitorch.cuda.is_available() else "cpu")
    >>> minitorch.ones(2, device=place).device.type == place.type
    True
    """
    return device_count() > 0


def device_count() -> int:
    """Return how many devices there are: 0, and no error, without CuPy, without a driver, and in a forked child."""
    found = loader.count()
    if (
        not found
        and "cuda" not in lazy.BACKENDS_BY_TYPE
        and has_kernel_for_dispatch_key("aten::empty.memory_format", "CUDA")
    ):
        return 1  # of somebody else, who registers kernels one by one
    return found


def init() -> None:
    """Load the backend.

    Raises
    ------
    NotImplementedError
        If there is no device; the message says why.
    """
    lazy.load("cuda")


def is_initialized() -> bool:
    """Return whether this process has used a device."""
    return loader.is_initialized()


def _is_in_bad_fork() -> bool:
    """Return whether this process was forked from one that uses CUDA, and so cannot use it."""
    return loader.in_bad_fork()


def current_device() -> int:
    """Return the number of the calling thread's current device."""
    return current_index()


def set_device(device: Any) -> None:
    """Make a device the calling thread's current one; None and negative numbers change nothing."""
    if device is not None and not (isinstance(device, int) and device < 0):
        set_index(index_of(device))


class device:
    """Scope: another device is the calling thread's current one.

    Parameters
    ----------
    device : device, int, str or None
        None and negative numbers change nothing.
    """

    def __init__(self, device: Any):
        unchanged = device is None or (isinstance(device, int) and device < 0)
        self.index = -1 if unchanged else index_of(device)
        self.before = -1

    def __enter__(self) -> None:
        if self.index >= 0:
            self.before = current_index()
            set_index(self.index)

    def __exit__(self, *raised: Any) -> None:
        if self.index >= 0:
            set_index(self.before)


@contextmanager
def device_of(tensor: Any):
    """Scope: the device of a tensor is the current one; a tensor elsewhere changes nothing."""
    with device(tensor.device if tensor.device.type == "cuda" else None):
        yield


def get_device_name(device: Any = None) -> str:
    """Return what the driver calls a device."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability of a device: (9, 0), say."""
    found = get_device_properties(device)
    return found.major, found.minor


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Return what a device can do."""
    found = library().cuda.runtime.getDeviceProperties(index_of(device))
    name = found["name"]
    return DeviceProperties(
        name=name.decode() if isinstance(name, bytes) else name,
        major=int(found["major"]),
        minor=int(found["minor"]),
        total_memory=int(found["totalGlobalMem"]),
        multi_processor_count=int(found["multiProcessorCount"]),
        max_threads_per_block=int(found["maxThreadsPerBlock"]),
        shared_memory_per_block=int(found["sharedMemPerBlock"]),
        warp_size=int(found["warpSize"]),
    )


def synchronize(device: Any = None) -> None:
    """Wait until everything in all streams of a device is done."""
    with globals()["device"](index_of(device)):
        library().cuda.runtime.deviceSynchronize()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether there are bfloat16 tensors: kept in 16 bits, computed in float32 by the kernels of this package."""
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def get_amp_supported_dtype() -> list:
    """Return the dtypes that ``autocast`` may compute in."""
    import minitorch

    return [minitorch.float16, minitorch.bfloat16]


# Random numbers ---------------------------------------------------------------------------------------------


def _backend() -> Any:
    lazy.load("cuda")
    return lazy.BACKENDS_BY_TYPE["cuda"]


def manual_seed(seed: int) -> None:
    """Seed the current device's random numbers; does nothing where there is no device."""
    if loader.count():
        _backend().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed all devices' random numbers; does nothing where there is no device."""
    if loader.count():
        _backend().manual_seed_all(seed)


def seed() -> None:
    """Give the current device's random numbers a seed that nobody can foresee."""
    if loader.count():
        _backend().default_generator().seed()


def seed_all() -> None:
    """Give all devices' random numbers one seed that nobody can foresee."""
    if loader.count():
        backend = _backend()
        backend.manual_seed_all(backend.default_generator().seed())


def initial_seed() -> int:
    """Return the seed of the current device's random numbers."""
    return _backend().default_generator().initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    """Return the state of a device's random numbers, a CPU tensor of uint8."""
    return _backend().get_rng_state(device)


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Continue from what `get_rng_state` returned."""
    _backend().set_rng_state(new_state, device)


def get_rng_state_all() -> list:
    """Return the states of all devices' default generators."""
    return [get_rng_state(index) for index in range(loader.count())]


def set_rng_state_all(new_states: Any) -> None:
    """Continue from what `get_rng_state_all` returned."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


# Memory -----------------------------------------------------------------------------------------------------


def _loaded() -> Any:
    """Return the backend, None where it was not used so far: its memory statistics are zeros."""
    return lazy.BACKENDS_BY_TYPE.get("cuda")


def _bytes(what: str, device: Any) -> int:
    backend = _loaded()
    return 0 if backend is None else backend.memory(what, index_of(device))


def _peak(what: str, device: Any) -> int:
    backend = _loaded()
    if backend is None:
        return 0
    index = index_of(device)
    return max(backend.peaks.get(index, {}).get(what, 0), backend.memory(what, index))


def memory_allocated(device: Any = None) -> int:
    """Return the bytes of device memory that tensors hold, in the sizes that the pool gives out."""
    return _bytes("used_bytes", device)


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that tensors held at a time, as seen whenever 1 MiB or more was allocated."""
    return _peak("used_bytes", device)


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that were taken from the driver: those of tensors, and those kept for tensors to come."""
    return _bytes("total_bytes", device)


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that were taken from the driver at a time, as seen by `max_memory_allocated`."""
    return _peak("total_bytes", device)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let `max_memory_allocated` and `max_memory_reserved` start from the present."""
    backend = _loaded()
    if backend is not None:
        backend.peaks.pop(index_of(device), None)


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return counts of bytes; empty before the first use."""
    if _loaded() is None:
        return {}
    held, taken = memory_allocated(device), memory_reserved(device)
    return {
        "allocated_bytes.all.current": held,
        "allocated_bytes.all.peak": max_memory_allocated(device),
        "reserved_bytes.all.current": taken,
        "reserved_bytes.all.peak": max_memory_reserved(device),
        "inactive_bytes.all.current": taken - held,
    }


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return (free, total) bytes of a device, whoever holds the rest."""
    with globals()["device"](index_of(device)):
        free, total = library().cuda.runtime.memGetInfo()
    return int(free), int(total)


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let this process take no more than a part of a device's memory; beyond it is an `OutOfMemoryError`."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    with globals()["device"](index_of(device)):
        library().get_default_memory_pool().set_limit(fraction=fraction)


def empty_cache() -> None:
    """Give the memory that is kept for tensors to come back to the driver, on all devices."""
    if not loader.is_initialized():
        return
    for index in range(loader.count()):
        with device(index):
            library().get_default_memory_pool().free_all_blocks()
    library().get_default_pinned_memory_pool().free_all_blocks()


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return a table of `memory_stats`.

    Parameters
    ----------
    abbreviated : bool
        Leave out what the device has left.
    """
    index = index_of(device)
    stats = memory_stats(index)
    lines = [f"cuda:{index}: {get_device_name(index)}", f"{'bytes':<24}{'now':>16}{'at most':>16}"]
    for label, key in (("held by tensors", "allocated"), ("taken from the driver", "reserved")):
        now, peak = (stats.get(f"{key}_bytes.all.{which}", 0) for which in ("current", "peak"))
        lines.append(f"{label:<24}{now:>16}{peak:>16}")
    if not abbreviated:
        free, total = mem_get_info(index)
        lines.append(f"{'free, and in all':<24}{free:>16}{total:>16}")
    return "\n".join(lines)
