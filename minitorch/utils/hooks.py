"""``torch.utils.hooks``: handles of hooks."""

from minitorch.autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
