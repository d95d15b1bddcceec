"""PyTorch's path of `DebugMode`."""

from minitorch.utils.debug.debug_mode import DebugMode

__all__ = ["DebugMode"]
