"""Kernels of look-ups whose size is given, and of hashes."""

from __future__ import annotations

from minitorch.backends.array.precision import widen
from minitorch.backends.array.registry import array_kernel
from minitorch.ops.shapes.common import normalize_dims


@array_kernel("nonzero_static")
def nonzero_static_kernel(xp, self, *, size, fill_value=-1):
    if size < 0:
        raise ValueError("negative size")
    result = xp.full((size, self.ndim), fill_value, xp.int64)
    flat = xp.flatnonzero(self)[:size]
    if self.ndim:
        found = xp.stack(xp.unravel_index(flat, self.shape), axis=-1) if len(flat) else result[:0]
        result[: len(flat)] = found
    return result


@array_kernel("hash_tensor")
def hash_tensor_kernel(xp, self, dim=(), *, keepdim=False, mode=0):
    """Return the exclusive or of the elements' bits, floats as float64 and integers as int64."""
    if mode != 0 or self.dtype.kind == "c":
        raise ValueError("bad mode or type")
    wide = widen(self).astype(xp.float64 if self.dtype.kind in "fV" else xp.int64)
    bits = wide.view(xp.uint64)
    axes = normalize_dims(dim, self.ndim, "hash_tensor")
    if self.size == 0 and (not dim or any(self.shape[d] == 0 for d in axes)):
        raise ValueError("nothing to hash")
    return xp.bitwise_xor.reduce(bits, axis=axes, keepdims=keepdim) if axes else bits.copy()
