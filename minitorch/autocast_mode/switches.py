"""The functions under PyTorch's names that read and change a thread's autocast state.

`minitorch.autocast` is made of them; nothing here ends by itself.
"""

from __future__ import annotations

from typing import Any

from minitorch.autocast_mode.devices import autocast_dtype, key_of
from minitorch.autocast_mode.policies import policies
from minitorch.autocast_mode.state import autocast_state
from minitorch.core.device import device
from minitorch.core.dtype import dtype as dtype_class
from minitorch.dispatch.local_state import current

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
]


def _kind(function: str, device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise TypeError(f"{function}(): argument 'device_type' (position 1) must be str, not {type(device_type).__name__}")
    return device(device_type).type


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Return whether autocast is on for a device type in this thread; for ``"cuda"`` where none is named.

    Raises
    ------
    RuntimeError
        If the device type has no autocast.
    """
    kind = "cuda" if device_type is None else _kind("is_autocast_enabled", device_type)
    return not current().excluded & key_of(kind).bits


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast of a device type on or off in this thread; of ``"cuda"`` if only a bool is given.

    Raises
    ------
    RuntimeError
        If the device type has no autocast.
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    kind = _kind("set_autocast_enabled", device_type)
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' must be bool, not {type(enabled).__name__}")
    bits = key_of(kind).bits
    if enabled:
        policies(kind)  # a backend's kernels are registered when they are first wanted
        current().excluded &= ~bits
    else:
        current().excluded |= bits


def get_autocast_dtype(device_type: str) -> dtype_class:
    """Return what autocast computes in on a device type in this thread.

    Examples
    --------
    >>> get_autocast_dtype("cpu")
    torch.bfloat16
    """
    kind = _kind("get_autocast_dtype", device_type)
    key_of(kind)
    return autocast_dtype(kind)


def set_autocast_dtype(device_type: str, dtype: dtype_class) -> None:
    """Have autocast compute in `dtype` on a device type in this thread.

    Raises
    ------
    TypeError
        If `dtype` is no dtype.
    """
    kind = _kind("set_autocast_dtype", device_type)
    if not isinstance(dtype, dtype_class):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' (position 2) must be a dtype, not {type(dtype).__name__}")
    key_of(kind)
    autocast_state().dtypes[kind] = dtype


def is_autocast_cache_enabled() -> bool:
    """Return whether casts of weights are kept until the outermost scope ends."""
    return autocast_state().cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep casts of weights until the outermost scope ends, or make them anew each time."""
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_cache_enabled(): enabled must be a bool (got {type(enabled).__name__})")
    autocast_state().cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forget this thread's casts."""
    autocast_state().casts.clear()


def autocast_increment_nesting() -> int:
    """Enter a scope; return how many there are now."""
    state = autocast_state()
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Leave a scope; return how many are left."""
    state = autocast_state()
    state.nesting -= 1
    return state.nesting


def is_autocast_available(device_type: str) -> bool:
    """Return whether a device type has autocast: a key of its own.

    Raises
    ------
    RuntimeError
        If the device type is unknown.

    Examples
    --------
    >>> is_autocast_available("cpu"), is_autocast_available("meta")
    (True, False)
    """
    try:
        key_of(_kind("is_autocast_available", device_type))
    except RuntimeError:
        device(device_type)
        return False
    return True
