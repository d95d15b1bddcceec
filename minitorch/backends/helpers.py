"""What the package's own kernels check and count, for authors of kernels: the same errors, on every device.

Functions that take `xp` work on any array namespace; `numpy` for what is counted before a launch.
"""

from minitorch.backends.array.indexing import check_bounds, identity_of, number_for, out_of_bounds
from minitorch.backends.array.vision import check_resample, nearest_taps, pads_of, reflected, replicated
from minitorch.core.memory_format import suggested_format

__all__ = [
    "check_bounds",
    "check_resample",
    "identity_of",
    "nearest_taps",
    "number_for",
    "out_of_bounds",
    "pads_of",
    "reflected",
    "replicated",
    "suggested_format",
]
