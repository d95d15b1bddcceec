"""PyTorch's path of the ``__torch_function__`` protocol."""

from minitorch.ops.overriding import DisableTorchFunction, TorchFunctionMode

__all__ = ["DisableTorchFunction", "TorchFunctionMode"]
