"""What PyTorch keeps beside fake tensors."""

from minitorch.fake.copying import FakeCopyMode
from minitorch.fake.cross_reference import CrossRefFakeMode
from minitorch.fake.exceptions import MetadataMismatchError

__all__ = ["CrossRefFakeMode", "FakeCopyMode", "MetadataMismatchError"]
