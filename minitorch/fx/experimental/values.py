"""What a trace notes of the values that its nodes compute: fake tensors, and their geometry."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.layout import strided
from minitorch.core.symbolic import is_symbolic
from minitorch.dispatch.keys import FUNCTIONALIZE, FUNCTORCH_LAYERS, PRE_DISPATCH
from minitorch.dispatch.local_state import ExcludeKeysGuard
from minitorch.dispatch.mode_stack import disable_all_modes
from minitorch.fake.fake_tensor import FakeArray, is_fake
from minitorch.fake.mode import FakeTensorMode
from minitorch.fx.passes.shape_prop import extract_tensor_metadata
from minitorch.tensor.base import TensorBase
from minitorch.tensor.operators import F

# Looking at a value is no part of the program that is traced.
_OFF = PRE_DISPATCH | FUNCTIONALIZE | FUNCTORCH_LAYERS


def _sizes(value: Any) -> tuple:
    """Return sizes and strides; of a sparse tensor, which may have no strides, sizes alone."""
    return (*value.shape, *value.stride()) if value.layout is strided else tuple(value.shape)


def describe(value: Any, fake_mode: FakeTensorMode) -> tuple[Any, Any]:
    """Return a value with fake tensors in the place of its tensors, and the geometry of a single tensor.

    Parameters
    ----------
    fake_mode : FakeTensorMode
        What the fake tensors belong to that stand for real ones.
    """
    with disable_all_modes(), ExcludeKeysGuard(_OFF), no_grad():
        geometry = None
        if isinstance(value, TensorBase) and not any(map(is_symbolic, _sizes(value))):
            geometry = extract_tensor_metadata(value)  # asks how symbolic sizes compare, which would be a guard
        return _fake(value, fake_mode), geometry


def _fake(value: Any, fake_mode: FakeTensorMode) -> Any:
    if isinstance(value, TensorBase):
        handle = value.handle
        if isinstance(handle, FakeArray):
            with handle.mode:  # type: ignore[attr-defined]
                return F.detach(value)
        if value.is_quantized:
            parts = [_fake(part, fake_mode) for part in handle.components()]
            return handle.with_components(tuple(parts)).tensor()
        if value.layout is not strided:
            detached: Any = F.detach(value)
            return detached if is_fake(value) else fake_mode.converter.from_real_tensor(fake_mode, detached, remember=False)
        with fake_mode:
            return F.empty_strided(list(value.shape), list(value.stride()), dtype=value.dtype, device=value.device)
    if isinstance(value, (list, tuple)):
        return type(value)([_fake(item, fake_mode) for item in value])
    return value
