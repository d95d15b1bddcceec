"""The public ``minitorch.opencl``: devices and their properties, memory, streams, and what is wrong with drivers.

Names and meanings are those of ``torch.cuda`` and ``torch.xpu``.  Random numbers are seeded by the functions
that every device's module has.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from minitorch.backends.opencl import drivers, runtime
from minitorch.backends.opencl.indices import device_at, index_of
from minitorch.backends.opencl.runtime import OutOfMemoryError
from minitorch.backends.opencl.streams import Event, Stream, current_stream, default_stream, set_stream, stream

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
    "diagnose",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state_all",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]

StreamContext = stream


@dataclass(frozen=True)
class DeviceProperties:
    """What a device and its driver can do.

    Attributes
    ----------
    name, vendor, platform_name, version, driver_version : str
        `version` is the OpenCL version, as the driver spells it.
    type : str
        "gpu", "accelerator" or "cpu".
    total_memory, max_alloc : int
        Bytes: of the device, and of one allocation.
    max_compute_units, max_work_group_size : int
    has_fp64, has_fp16, has_int64_atomics, has_float_atomics, has_subgroups : bool
        What kernels may use beyond OpenCL C 1.2; float16 tensors need no `has_fp16`.
    host_unified : bool
        Whether the device works in the host's memory.
    """

    name: str
    vendor: str
    platform_name: str
    version: str
    driver_version: str
    type: str
    total_memory: int
    max_alloc: int
    max_compute_units: int
    max_work_group_size: int
    has_fp64: bool
    has_fp16: bool
    has_int64_atomics: bool
    has_float_atomics: bool
    has_subgroups: bool
    host_unified: bool

    @property
    def multi_processor_count(self) -> int:
        """CUDA's name for `max_compute_units`."""
        return self.max_compute_units


# Devices ----------------------------------------------------------------------------------------------------


def is_available() -> bool:
    """Return whether there is a device that can be used; `diagnose` tells why there is none."""
    return device_count() > 0


def device_count() -> int:
    """Return how many devices can be used; 0 where OpenCL cannot, and in a forked child of a process that uses it."""
    try:
        return runtime.device_count()
    except RuntimeError:
        return 0


def init() -> None:
    """Load the drivers.

    Raises
    ------
    RuntimeError
        If there is no device that can be used; the message says why.
    """
    runtime.descriptions()


def is_initialized() -> bool:
    """Return whether the drivers are loaded in this process."""
    return drivers.loaded() and not drivers.in_bad_fork()


def _is_in_bad_fork() -> bool:
    """Return whether this process was forked from one that uses OpenCL, and so cannot use it."""
    return drivers.in_bad_fork()


def current_device() -> int:
    """Return the number of the calling thread's current device."""
    init()
    return runtime.current_index()


def set_device(device: Any) -> None:
    """Make a device the calling thread's current one; None and negative numbers change nothing."""
    if device is not None and not (isinstance(device, int) and device < 0):
        runtime.set_index(index_of(device))


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
        self.before = runtime.current_index()
        if self.index >= 0:
            runtime.set_index(self.index)

    def __exit__(self, *raised: Any) -> None:
        runtime.set_index(self.before)


@contextmanager
def device_of(tensor: Any):
    """Scope: the device of a tensor is the current one; a tensor elsewhere changes nothing."""
    where = tensor.device
    with device(where if where.type == device_at(0).type else None):
        yield


def get_device_name(device: Any = None) -> str:
    """Return what the driver calls a device."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the OpenCL version of a device: (3, 0), say."""
    words = get_device_properties(device).version.split()  # "OpenCL 3.0 PoCL ...", by the standard
    major, _, minor = words[1].partition(".")
    return int(major), int(minor)


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Return what a device and its driver can do."""
    found = runtime.descriptions()[index_of(device)]
    cl = found.device
    extensions = set(cl.extensions.split())
    return DeviceProperties(
        name=found.name,
        vendor=cl.vendor.strip(),
        platform_name=found.platform,
        version=cl.version.strip(),
        driver_version=found.driver_version,
        type=found.type,
        total_memory=cl.global_mem_size,
        max_alloc=cl.max_mem_alloc_size,
        max_compute_units=cl.max_compute_units,
        max_work_group_size=cl.max_work_group_size,
        has_fp64=bool(cl.double_fp_config),
        has_fp16="cl_khr_fp16" in extensions,
        has_int64_atomics="cl_khr_int64_base_atomics" in extensions,
        has_float_atomics="cl_ext_float_atomics" in extensions,
        has_subgroups=bool(extensions & {"cl_khr_subgroups", "cl_intel_subgroups"}),
        host_unified=bool(cl.host_unified_memory),
    )


def synchronize(device: Any = None) -> None:
    """Wait until everything in all streams of a device is done."""
    runtime.device(index_of(device)).synchronize()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether there are bfloat16 tensors: kept in 16 bits, computed in float32."""
    return including_emulation


def get_amp_supported_dtype() -> list:
    """Return the dtypes that ``autocast`` may compute in."""
    import minitorch

    return [minitorch.bfloat16, minitorch.float16]


def diagnose() -> None:
    """Print what was found, what its trial said, which devices there are, and why others are not."""
    print(drivers.diagnose())


# Random numbers: of all devices at once; the rest is every device module's ----------------------------------


def get_rng_state_all() -> list:
    """Return the states of all devices' default generators."""
    backend = _backend()
    return [backend.get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Any) -> None:
    """Continue from what `get_rng_state_all` returned."""
    backend = _backend()
    for index, state in enumerate(new_states):
        backend.set_rng_state(state, index)


def _backend() -> Any:
    from minitorch.backends import registered_backends
    from minitorch.backends.opencl import indices

    return registered_backends()[indices.device_type]


# Memory -----------------------------------------------------------------------------------------------------


def _opened(device: Any) -> Any:
    """Return a device's runtime, None where nothing was done on it so far."""
    return runtime.opened(index_of(device))


def memory_allocated(device: Any = None) -> int:
    """Return the bytes of device memory that tensors hold."""
    found = _opened(device)
    return found.allocated if found else 0


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that tensors held at a time, since the start or `reset_peak_memory_stats`."""
    found = _opened(device)
    return found.max_allocated if found else 0


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that were taken from the driver: those of tensors, and those kept for tensors to come."""
    found = _opened(device)
    return found.reserved if found else 0


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that were taken from the driver at a time."""
    found = _opened(device)
    return found.max_reserved if found else 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let `max_memory_allocated` and `max_memory_reserved` start from the present."""
    found = _opened(device)
    if found:
        found.max_allocated, found.max_reserved = found.allocated, found.reserved


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return counts of bytes, and of allocations that had to be tried again or failed; empty before the first use."""
    found = _opened(device)
    if not found:
        return {}
    return {
        "allocated_bytes.all.current": found.allocated,
        "allocated_bytes.all.peak": found.max_allocated,
        "reserved_bytes.all.current": found.reserved,
        "reserved_bytes.all.peak": found.max_reserved,
        "inactive_bytes.all.current": found.reserved - found.allocated,
        "num_alloc_retries": found.retries,
        "num_ooms": found.failures,
    }


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return (free, total) bytes of a device.

    OpenCL does not tell what other programs hold: free is what this process has not taken, and on a CPU no
    more than what the system has left.
    """
    index = index_of(device)
    properties = get_device_properties(index)
    free = properties.total_memory - memory_reserved(index)
    if properties.type == "cpu":
        free = min(free, _free_on_host(free))
    return max(free, 0), properties.total_memory


def _free_on_host(otherwise: int) -> int:
    """Return the bytes that the system could give this process now."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return otherwise


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let this process take no more than a part of a device's memory; beyond it is an `OutOfMemoryError`."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    found = runtime.device(index_of(device))
    found.limit = int(found.total_memory * fraction)


def empty_cache() -> None:
    """Give the memory that is kept for tensors to come back to the driver, on all devices."""
    for index in range(device_count() if drivers.loaded() else 0):
        found = runtime.opened(index)
        if found:
            found.empty_cache()


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return a table of `memory_stats`.

    Parameters
    ----------
    abbreviated : bool
        Leave out the counts of failures.
    """
    index = index_of(device)
    stats = memory_stats(index)
    lines = [
        f"{device_at(index)}: {get_device_name(index)}",
        f"{'':<24}{'now':>14}{'at most':>14}",
    ]
    for label, key in (("held by tensors", "allocated"), ("taken from the driver", "reserved")):
        now, peak = (_readable(stats.get(f"{key}_bytes.all.{which}", 0)) for which in ("current", "peak"))
        lines.append(f"{label:<24}{now:>14}{peak:>14}")
    if not abbreviated:
        free, total = mem_get_info(index)
        lines += [
            f"{'kept for new tensors':<24}{_readable(stats.get('inactive_bytes.all.current', 0)):>14}",
            f"{'free, of ' + _readable(total):<24}{_readable(free):>14}",
            f"{'tried a second time':<24}{stats.get('num_alloc_retries', 0):>14}",
            f"{'failed':<24}{stats.get('num_ooms', 0):>14}",
        ]
    return "\n".join(lines)


def _readable(nbytes: int) -> str:
    if nbytes < 1024:
        return f"{nbytes} B"
    power = min((nbytes.bit_length() - 1) // 10, 3)
    return f"{nbytes / 1024**power:.1f} {('KiB', 'MiB', 'GiB')[power - 1]}"


def functions() -> dict[str, Any]:
    """Return what the module ``minitorch.opencl`` has, by name: all of the above."""
    return {name: globals()[name] for name in [*__all__, "_is_in_bad_fork"]}


def attach(name: str) -> None:
    """Give the module of a device type that was registered, ``minitorch.<name>``, the functions above."""
    import minitorch
    from minitorch.backends.opencl import indices

    indices.device_type = name
    module = minitorch.get_device_module(name)  # type: ignore[attr-defined]
    for function, value in functions().items():
        setattr(module, function, value)
