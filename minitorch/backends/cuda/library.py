"""CuPy, imported on first use, and the answers that must not fail where it or a driver is missing."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from minitorch.backends.lazy import DeviceUnavailable

INSTALL = "Type: pip install 'minitorch[cuda12]' or 'minitorch[cuda13]', as the driver's CUDA version is."


class OutOfMemoryError(RuntimeError):
    """The device has not as much memory as was asked for, also after `empty_cache`."""


_used_in: list[int] = []  # the process that has used a device: a child that was forked from it cannot


@cache
def library() -> Any:
    """Return CuPy."""
    import cupy  # type: ignore[import-not-found]

    return cupy


def count() -> int:
    """Return how many devices there are: 0 without CuPy, without a driver, and in a forked child."""
    if in_bad_fork():
        return 0
    try:
        return _count()
    except Exception:  # CuPy says the same in several ways: ImportError, CUDARuntimeError, OSError
        return 0


@cache
def _count() -> int:
    return int(library().cuda.runtime.getDeviceCount())


def why_unavailable() -> str:
    """Return in a line why there is no device."""
    if in_bad_fork():
        return (
            "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start "
            "method"
        )
    try:
        found = _count()
    except ImportError as error:
        return f"CuPy cannot be imported ({error}). {INSTALL}"
    except Exception as error:
        return f"CUDA has no device that can be used: {error}"
    return "" if found else "CUDA says that there are no devices"


def require() -> None:
    """Raise unless there is a device.

    Raises
    ------
    RuntimeError
        In a child forked from a process that used CUDA.
    DeviceUnavailable
        If there is no CuPy, no driver or no device; the message says which.
    """
    if in_bad_fork():
        raise RuntimeError(why_unavailable())
    if not count():
        raise DeviceUnavailable(f"there is no backend for the device 'cuda' on this machine: {why_unavailable()}")


def note_use() -> None:
    """Remember that this process uses the driver: a child forked from now on cannot."""
    if not _used_in:
        _used_in.append(os.getpid())


def is_initialized() -> bool:
    """Return whether this process has used a device."""
    return bool(_used_in) and _used_in[0] == os.getpid()


def in_bad_fork() -> bool:
    """Return whether this process was forked from one that had used a device."""
    return bool(_used_in) and _used_in[0] != os.getpid()
