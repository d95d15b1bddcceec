"""``torch.storage``: the memory of tensors, as bytes and as elements of one dtype."""

from minitorch.tensor.storage import UntypedStorage
from minitorch.tensor.typed_storage import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
