"""The names of PyTorch's module of fake tensors."""

from minitorch.fake.converter import FakeTensorConverter
from minitorch.fake.copying import FakeCopyMode
from minitorch.fake.exceptions import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorDeviceMismatchError,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from minitorch.fake.fake_tensor import FakeTensor, is_fake
from minitorch.fake.mode import FakeTensorMode, active_fake_mode, unset_fake_temporarily

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeCopyMode",
    "FakeTensor",
    "FakeTensorConverter",
    "FakeTensorDeviceMismatchError",
    "FakeTensorMode",
    "MetadataMismatchError",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "active_fake_mode",
    "is_fake",
    "unset_fake_temporarily",
]
