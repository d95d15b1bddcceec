"""What array kernels of several families share."""

from __future__ import annotations

__all__ = ["accumulate_dtype", "contiguous", "is_low_precision", "reduce_axis"]


def is_low_precision(dtype) -> bool:
    """Return whether `dtype` is float16, bfloat16 or a float8, which kernels widen."""
    kind = dtype.kind
    return kind == "V" or (kind == "f" and dtype.itemsize <= 2)


def accumulate_dtype(xp, dtype):
    """Return the type to compute in: float32 for the narrow floating types, else `dtype`."""
    return xp.dtype(xp.float32) if is_low_precision(dtype) else dtype


def contiguous(xp, array):
    """Return `array`, copied into row-major order unless it has that already."""
    if array.ndim == 0:
        return array
    return array if array.flags.c_contiguous else xp.ascontiguousarray(array)


def reduce_axis(dim):
    """Return a schema's ``int[]? dim`` (None or empty: all) as NumPy's ``axis``."""
    if not dim:
        return None
    return dim[0] if len(dim) == 1 else tuple(dim)
