"""PyTorch's ``torch.cuda``: NVIDIA's GPUs, by way of CuPy, which is imported when a device is first asked for.

Without CuPy or a driver `device_count` is 0, `is_available` is False, and nothing else is lost.
"""

from minitorch.backends.cuda.device_module import *  # noqa: F403
from minitorch.backends.cuda.device_module import __all__, _is_in_bad_fork  # noqa: F401
