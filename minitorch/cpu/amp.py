"""PyTorch's ``torch.cpu.amp``: the older names; `minitorch.amp` has the ones that name the device."""

from __future__ import annotations

import warnings
from typing import Any

from minitorch import amp

__all__ = ["GradScaler", "autocast"]


def _warn(name: str) -> None:
    warnings.warn(
        f"`minitorch.cpu.amp.{name}(args...)` is deprecated. Please use `minitorch.amp.{name}('cpu', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):
    """`minitorch.amp.autocast` of the CPU; deprecated."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True):
        _warn("autocast")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`minitorch.amp.GradScaler` of the CPU; deprecated."""

    def __init__(self, *args: Any, **kwargs: Any):
        _warn("GradScaler")
        super().__init__("cpu", *args, **kwargs)
