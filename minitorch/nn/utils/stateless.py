"""PyTorch's older path of `minitorch.func.functional_call`."""

from minitorch.functorch.module_state import functional_call

__all__ = ["functional_call"]
