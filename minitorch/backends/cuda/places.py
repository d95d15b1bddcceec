"""Numbers of devices, as the functions of ``minitorch.cuda`` take and tell them."""

from __future__ import annotations

from typing import Any

from minitorch.backends.cuda import library as loader
from minitorch.backends.cuda.library import library
from minitorch.core.device import device as device_class


def device_at(index: int) -> Any:
    """Return a device by its number."""
    return device_class("cuda", index)


def current_index() -> int:
    """Return the number of the calling thread's current device."""
    loader.require()
    return int(library().cuda.runtime.getDevice())


def set_index(index: int) -> None:
    """Make a device the calling thread's current one."""
    loader.note_use()
    library().cuda.runtime.setDevice(index)


def index_of(device: Any) -> int:
    """Return the number that a device, its name, a number or None (the current one) stands for.

    Raises
    ------
    ValueError
        If it is no CUDA device.
    RuntimeError
        If there is none of this number.
    """
    if isinstance(device, str):
        device = device_class(device)
    if isinstance(device, device_class):
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        device = device.index
    if device is None:
        return current_index()
    loader.require()
    count = loader.count()
    if not 0 <= device < count:
        there = "is one CUDA device" if count == 1 else f"are {count} CUDA devices"
        raise RuntimeError(f"invalid device ordinal: cuda:{device} was asked for, and there {there}")
    return int(device)
