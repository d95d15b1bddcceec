"""Signal processing, as torch.signal."""

from minitorch.signal import windows

__all__ = ["windows"]
