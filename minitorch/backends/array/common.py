"""What array kernels of several families share."""

from __future__ import annotations

__all__ = ["accumulate_dtype", "contiguous", "fused_float64", "is_low_precision", "reduce_axis"]


_constants: dict = {}
_ones: dict = {}
# Up to this many elements a product with ones is the quickest sum; NumPy's reduce has a high fixed cost.
SMALL = 64


def constant(xp, value, dtype):
    """Return a number as a 0-dim array of `dtype`, kept: ufuncs take a Python number or scalar more slowly."""
    key = (xp, value, dtype)  # each array library has arrays of its own
    found = _constants.get(key)
    if found is None:
        if len(_constants) > 512:
            _constants.clear()
        found = _constants[key] = xp.array(value, dtype)
    return found


def ones_vector(xp, count, dtype):
    """Return a vector of at most `SMALL` ones, kept."""
    rows = _ones.get(xp)
    if rows is None:
        rows = _ones[xp] = {}
    row = rows.get(dtype.char)
    if row is None:
        row = rows[dtype.char] = [None] * (SMALL + 1)
    found = row[count]
    if found is None:
        found = row[count] = xp.ones(count, dtype)
    return found


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


def fused_float64(a, b: float, c: float):
    """Return ``a * b + c`` for float64 `a`, rounded once: a fused multiply-add.

    PyTorch's loops are compiled with it, and its numbers show it.

    Notes
    -----
    The product's error is found by splitting the factors (Dekker 1971), the sum's by Knuth's
    two-sum; both are exact.
    """
    if c == 0:
        return a * b
    if b == 1:
        return a + c
    splitter = 134217729.0  # 2**27 + 1
    a_high = a * splitter
    a_high = a_high - (a_high - a)
    a_low = a - a_high
    b_high = b * splitter
    b_high = b_high - (b_high - b)
    b_low = b - b_high
    product = a * b
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    total = product + c
    rest = total - product
    error += (product - (total - rest)) + (c - rest)
    return total + error


def protect_overlap(array):
    """Return a view, made read-only if its elements share memory (Note [Memory that overlaps itself])."""
    flags = array.flags
    if hasattr(flags, "writeable"):  # CuPy's arrays are always writable
        for n, step in zip(array.shape, array.strides, strict=True):
            if step == 0 and n > 1:
                flags.writeable = False
                break
    return array


def is_writeable(array):
    """Return whether an array may be written: all may, but NumPy's that say no."""
    return getattr(array.flags, "writeable", True)
