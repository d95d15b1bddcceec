"""Fake tensors, under the names that PyTorch gives them."""

from minitorch.fake.exceptions import DynamicOutputShapeException, UnsupportedFakeTensorException
from minitorch.fake.fake_tensor import FakeTensor
from minitorch.fake.mode import FakeTensorMode

__all__ = ["DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]
