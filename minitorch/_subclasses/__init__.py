"""Fake tensors, under the names that PyTorch gives them."""

from minitorch.fake.cross_reference import CrossRefFakeMode
from minitorch.fake.exceptions import DynamicOutputShapeException, UnsupportedFakeTensorException
from minitorch.fake.fake_tensor import FakeTensor
from minitorch.fake.mode import FakeTensorMode

__all__ = ["CrossRefFakeMode", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]
