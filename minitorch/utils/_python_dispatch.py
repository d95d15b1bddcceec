"""Dispatch modes, and which of them are active in this thread."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.mode_stack import (
    current_dispatch_mode,
    disable_all_modes,
    in_dispatch_mode,
    mode_stack,
    pop_mode_temporarily,
)
from minitorch.modes.dispatch_mode import TorchDispatchMode

__all__ = ["TorchDispatchMode", "is_in_torch_dispatch_mode"]


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether a dispatch mode is active; without infra modes, whether one of the user's is."""
    return in_dispatch_mode(include_infra_modes)


def _get_current_dispatch_mode() -> Any:
    return current_dispatch_mode()


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Return the active modes; the last is the next to run."""
    return list(mode_stack())


_disable_current_modes = disable_all_modes
_pop_mode_temporarily = pop_mode_temporarily
