"""What autocast has to know of a device type: its key, and the dtypes that it may compute in.

What a backend says of itself is asked of its device module (``minitorch.<device>``), as PyTorch does.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from minitorch.autocast_mode.state import autocast_state
from minitorch.core.device import device
from minitorch.core.dtype import bfloat16, dtype, float16
from minitorch.dispatch.keys import AUTOCAST_KEYS, DispatchKey
from minitorch.dispatch.scopes import autocast_key

__all__ = ["autocast_dtype", "default_dtype", "key_of", "supported_dtypes", "takes_gpu_lists"]

_BFLOAT16_BY_DEFAULT = ("cpu", "hpu", "xla")
_BOTH = (bfloat16, float16)


def key_of(device_type: str) -> DispatchKey:
    """Return the autocast key of a device type.

    Raises
    ------
    RuntimeError
        If the device type is unknown, or has no autocast.
    """
    try:
        return autocast_key(device_type)
    except ValueError:
        there = sorted(name for name, key in DispatchKey.by_name.items() if key.bits & AUTOCAST_KEYS)
        raise RuntimeError(
            f"User specified an unsupported autocast device_type {device_type!r}: its backend key "
            f"{device(device_type).key_name!r} has no autocast key. There are: {', '.join(there)}"
        ) from None


def autocast_dtype(device_type: str) -> dtype:
    """Return what autocast computes in on a device type in this thread: what was set, or the default."""
    return autocast_state().dtypes.get(device_type) or default_dtype(device_type)


def default_dtype(device_type: str) -> dtype:
    """Return what autocast computes in where nothing was said (spec C5).

    float16, but bfloat16 on the CPU and where the OpenCL driver has no float16; of a registered backend, the
    first of its ``autocast_dtypes``.
    """
    if device_type in _BFLOAT16_BY_DEFAULT:
        return bfloat16
    if device_type == "opencl":
        return _of_opencl()
    dtypes = _backend_dtypes(device_type)
    return dtypes[0] if dtypes else float16


def _device_module(device_type: str) -> Any:
    minitorch: Any = import_module("minitorch")
    return minitorch.get_device_module(device_type)


@cache
def _of_opencl() -> dtype:
    opencl = _device_module("opencl")
    if not opencl.is_available() or opencl.get_device_properties().has_fp16:
        return float16
    return bfloat16


def supported_dtypes(device_type: str) -> tuple[dtype, ...]:
    """Return what autocast may compute in on a device type.

    Raises
    ------
    AssertionError
        If its device module does not say so, with what to write.
    """
    if device_type == "cpu":
        return _BOTH
    module: Any = None
    try:
        module = _device_module(device_type)
    except RuntimeError:
        if device(device_type).key_name != "PrivateUse1":
            return _BOTH  # a device type without a backend here, as in PyTorch
    if not hasattr(module, "get_amp_supported_dtype"):
        raise AssertionError(
            f"Tried to use AMP with the {device_type!r} backend, but it has no device module, or one without "
            f"get_amp_supported_dtype(), which returns a list of dtypes. Register one with "
            f"minitorch._register_device_module({device_type!r}, module)"
        )
    return tuple(module.get_amp_supported_dtype())


def _backend_dtypes(device_type: str) -> tuple[dtype, ...]:
    """Return the ``autocast_dtypes`` of a backend that `register_backend` was called for."""
    minitorch: Any = import_module("minitorch")
    backend = minitorch.backends.registered_backends().get(device_type)
    return () if backend is None else tuple(backend.autocast_dtypes)


def takes_gpu_lists(device_type: str) -> bool:
    """Return whether a device type begins with CUDA's policies: that of a registered backend that has autocast.

    A backend that is imported at its first use is imported for that.
    """
    with suppress(AssertionError, RuntimeError):
        supported_dtypes(device_type)
    return bool(_backend_dtypes(device_type))
