"""What callers may say for a device: a number, a name, a `minitorch.device`, a tensor's, or nothing."""

from __future__ import annotations

from typing import Any

from minitorch.backends.opencl import runtime

device_type = "opencl"
"""The name that the backend was registered under."""


def index_of(device: Any = None) -> int:
    """Return the number of a device, the calling thread's current one by default.

    Raises
    ------
    ValueError
        If it is a device of another type.
    RuntimeError
        If there is no device of this number.
    """
    import minitorch

    if isinstance(device, str):
        device = minitorch.device(device)
    if isinstance(device, minitorch.device):
        if device.type != device_type:
            raise ValueError(f"Expected a device of type {device_type}, but got: {device}")
        device = device.index
    if device is None:
        return runtime.current_index()
    index = device.__index__()
    if not 0 <= index < runtime.device_count():
        raise RuntimeError(
            f"{device_type}:{index}: there is no such device; {runtime.device_count()} can be used "
            f"(minitorch.{device_type}.diagnose() lists them)"
        )
    return index


def device_at(index: int) -> Any:
    """Return the `minitorch.device` of a number."""
    import minitorch

    return minitorch.device(device_type, index)
