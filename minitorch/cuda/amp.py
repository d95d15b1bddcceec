"""PyTorch's ``torch.cuda.amp``: the older names; `minitorch.amp` has the ones that name the device."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from minitorch import amp

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _warn(name: str, instead: str) -> None:
    warnings.warn(
        f"`minitorch.cuda.amp.{name}(args...)` is deprecated. Please use `minitorch.amp.{name}({instead})` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):
    """`minitorch.amp.autocast` of CUDA; deprecated."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True):
        _warn("autocast", "'cuda', args...")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`minitorch.amp.GradScaler` of CUDA; deprecated."""

    def __init__(self, *args: Any, **kwargs: Any):
        _warn("GradScaler", "'cuda', args...")
        super().__init__("cuda", *args, **kwargs)


def custom_fwd(fwd: Callable[..., Any] | None = None, **kwargs: Any) -> Callable[..., Any]:
    """`minitorch.amp.custom_fwd` of CUDA; deprecated."""
    _warn("custom_fwd", "args..., device_type='cuda'")
    return amp.custom_fwd(fwd, device_type="cuda", **kwargs)


def custom_bwd(bwd: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """`minitorch.amp.custom_bwd` of CUDA; deprecated."""
    _warn("custom_bwd", "args..., device_type='cuda'")
    return amp.custom_bwd(bwd, device_type="cuda")
