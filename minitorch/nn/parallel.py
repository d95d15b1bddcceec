"""`DataParallel`: a module that runs on several devices in PyTorch, and on the module's own here."""

from __future__ import annotations

from typing import Any

from minitorch.nn.modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Runs a module on the device that it is on; names of parameters begin with ``module.``, as files have them.

    Parameters
    ----------
    module : Module
    device_ids, output_device, dim
        Accepted for PyTorch's sake: batches are not split over devices.

    Attributes
    ----------
    module : Module
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return what the module computes."""
        return self.module(*inputs, **kwargs)
