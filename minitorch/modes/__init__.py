"""Dispatch modes and ``__torch_dispatch__``: calls that are handled in Python, below autograd."""

from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.modes.python_key import enable_reentrant_dispatch

__all__ = ["TorchDispatchMode", "enable_reentrant_dispatch"]
