"""Narrow floating types in kernels: computed in float32, rounded once."""

from __future__ import annotations

from functools import wraps

from minitorch.backends.array.common import is_low_precision


def widen(array):
    """Return a float32 copy of an array of a narrow floating type, any other as it is."""
    dtype = getattr(array, "dtype", None)
    if dtype is None or not is_low_precision(dtype):
        return array
    return array.astype("float32")


def rounded(result, dtype):
    """Return `result`, an array or tuple of arrays, with its float32 arrays cast to `dtype`."""
    if isinstance(result, tuple):
        return tuple(rounded(r, dtype) for r in result)
    if result is None or result.dtype.char != "f":
        return result
    return result.astype(dtype)


def float_kernel(kernel):
    """Make a kernel of float32 and float64 arrays one of all floating types.

    Narrow arrays are widened and the result is rounded to the type of the first array.
    The wrapped kernel raises `ValueError` where the first array is not floating.
    """

    @wraps(kernel)
    def any_float_kernel(xp, self, *args, **kwargs):
        if self.dtype.char in "fd":
            return kernel(xp, self, *args, **kwargs)
        if not is_low_precision(self.dtype):
            raise ValueError("not a floating type")
        dtype = self.dtype
        args = [widen(a) for a in args]
        return rounded(kernel(xp, widen(self), *args, **kwargs), dtype)

    return any_float_kernel
