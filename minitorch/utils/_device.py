"""`DeviceContext`: a default device as a ``__torch_function__`` mode."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.core.device import device as device_class
from minitorch.ops.overriding import TorchFunctionMode

__all__ = ["DeviceContext", "set_device"]


class DeviceContext(TorchFunctionMode):
    """Scope in which factories that name no device create tensors on this one.

    ``with minitorch.device(...)`` does the same without a mode, at no cost for other calls; this one can be
    stacked with modes and subclassed.

    Parameters
    ----------
    device : str or device

    Examples
    --------
    >>> with DeviceContext("meta"):
    ...     x = minitorch.ones(2)
    >>> x.device
    device(type='meta')
    """

    def __init__(self, device: Any):
        self.device = device_class(device)

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        with self.device:
            return func(*args, **(kwargs or {}))


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator: the function runs inside of a `DeviceContext` of `device`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with DeviceContext(device):
                return function(*args, **kwargs)

        return call

    return decorate
