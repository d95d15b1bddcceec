"""What PyTorch keeps beside fake tensors."""

from minitorch.fake.copying import FakeCopyMode

__all__ = ["FakeCopyMode"]
