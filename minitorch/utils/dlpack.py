"""``torch.utils.dlpack``: tensors to and from other libraries without a copy."""

from __future__ import annotations

from typing import Any

from minitorch.tensor.creation import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Any) -> Any:
    """Return a tensor's memory as a DLPack capsule, which one consumer takes."""
    return tensor.__dlpack__(max_version=(1, 0))  # older capsules do not say that they may be written to
