"""What a trace notes of the values that its nodes compute: tensors without elements, and their geometry."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.keys import PRE_DISPATCH
from minitorch.dispatch.local_state import ExcludeKeysGuard
from minitorch.dispatch.mode_stack import disable_all_modes
from minitorch.tensor.base import TensorBase
from minitorch.tensor.operators import F


def describe(value: Any) -> tuple[Any, Any]:
    """Return a value with its tensors replaced by ones without elements, and the geometry of a single tensor."""
    with disable_all_modes(), ExcludeKeysGuard(PRE_DISPATCH):
        geometry = None
        if isinstance(value, TensorBase):
            geometry = geometry_of(value)
        return _without_elements(value), geometry


def _without_elements(value: Any) -> Any:
    if isinstance(value, TensorBase):
        if getattr(value, "fake_mode", None) is not None:
            return value.detach()
        return F.empty_strided(list(value.shape), list(value.stride()), dtype=value.dtype, device="meta")
    if isinstance(value, (list, tuple)):
        return type(value)([_without_elements(item) for item in value])
    return value


def geometry_of(tensor: Any) -> Any:
    """Return shape, dtype, strides and the like of a tensor, as `passes.shape_prop` notes them."""
    try:
        from minitorch.fx.passes.shape_prop import _extract_tensor_metadata
    except ImportError:
        return None

    return _extract_tensor_metadata(tensor)
