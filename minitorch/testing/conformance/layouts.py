"""Tensors that lie in memory in all the ways there are, alike on the CPU and on a device.

A layout takes a CPU tensor and returns ``(base, view)``: a row-major tensor, and a function that makes of it, or of its
copy on the device, a view with the strides of the layout.  It returns None for a tensor that it cannot be given to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minitorch


def placed(tensor: Any, device: Any) -> Any:
    """Return a tensor of the same elements, strides and offset on a device, with memory of its own."""
    source = tensor.detach()
    if source.is_contiguous() or not source.numel():
        return source.to(device, copy=True)
    if any(step < 0 for step in source.stride()):
        return source.contiguous().to(device)
    extent = 1 + sum((n - 1) * step for n, step in zip(source.shape, source.stride(), strict=True))
    offset = source.storage_offset()
    memory = source.as_strided((offset + extent,), (1,), 0).to(device, copy=True)
    return memory.as_strided(source.shape, source.stride(), offset)


def as_is(tensor: Any) -> tuple | None:
    return tensor, None


def permuted(tensor: Any) -> tuple | None:
    """Return memory with the opposite order of dimensions."""
    if tensor.dim() < 2:
        return None
    order = tuple(reversed(range(tensor.dim())))
    return tensor.permute(order).contiguous(), lambda base: base.permute(order)


def sliced(tensor: Any) -> tuple | None:
    """Return memory with gaps between the elements, and something before the first."""
    if not tensor.dim():
        return None
    wide = minitorch.zeros(*tensor.shape[:-1], 2 * tensor.shape[-1] + 1, dtype=tensor.dtype)
    if tensor.dim() > 1:
        wide = minitorch.zeros(tensor.shape[0] + 1, *wide.shape[1:], dtype=tensor.dtype)
        wide[1:, ..., 1::2].copy_(tensor)
        return wide, lambda base: base[1:, ..., 1::2]
    wide[1::2].copy_(tensor)
    return wide, lambda base: base[1::2]


def negative(tensor: Any) -> tuple | None:
    """Return memory in which the last dimension runs backwards."""
    if not tensor.dim():
        return None
    return tensor.flip(-1).contiguous(), lambda base: base[..., ::-1]


def expanded(tensor: Any) -> tuple | None:
    """Return one slice, seen as often as there were slices: the values change.  Indices stay distinct."""
    if tensor.dim() < 2 or not tensor.numel() or not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return tensor.contiguous(), lambda base: base
    shape = tuple(tensor.shape)
    return tensor[:1].contiguous(), lambda base: base.expand(shape)


def empty(tensor: Any) -> tuple | None:
    """Return nothing: the first dimension has no elements."""
    if not tensor.dim():
        return tensor.contiguous(), lambda base: base
    return tensor[:0].contiguous(), lambda base: base


def zero_dim(tensor: Any) -> tuple | None:
    """Return the first element alone."""
    if not tensor.numel():
        return None
    return tensor.reshape(-1)[0].clone(), lambda base: base


LAYOUTS: dict[str, Callable] = {
    "as is": as_is, "permuted": permuted, "sliced": sliced, "negative steps": negative, "expanded": expanded,
    "empty": empty, "0-dim": zero_dim,
}  # fmt: skip
# Layouts that give a call other operands, which it may refuse.
CHANGE_VALUES = ("expanded", "empty", "0-dim")


def laid_out(sample: Any, layout: str, device: Any) -> tuple[Any, Any, int]:
    """Return a sample in a layout on the CPU, the same on a device, and in how many tensors it is new.

    A tensor that is given twice is one tensor in the results too.
    """
    make = LAYOUTS[layout]
    pairs: dict[int, tuple] = {}
    changed = 0

    def pair(tensor: Any) -> tuple:
        nonlocal changed
        found = pairs.get(id(tensor))
        if found is None:
            source = tensor.detach()
            made = None if layout == "as is" else make(source)
            if made is None:
                found = placed(source, "cpu"), placed(source, device)
            else:
                base, view = made
                found = view(base.clone()), view(base.to(device, copy=True))
                changed += found[0].stride() != tensor.stride() or found[0].shape != tensor.shape
            pairs[id(tensor)] = (*found, tensor)
        return pairs[id(tensor)]

    return sample.map(lambda t: pair(t)[0]), sample.map(lambda t: pair(t)[1]), changed
