"""PyTorch's path of the scopes of the Python dispatcher."""

from minitorch.dispatch.scopes import disable_python_dispatcher as no_python_dispatcher
from minitorch.dispatch.scopes import enable_pre_dispatch, enable_python_dispatcher

__all__ = ["enable_pre_dispatch", "enable_python_dispatcher", "no_python_dispatcher"]
