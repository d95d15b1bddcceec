"""Index arrays: their type, their limits, and which places a mask selects."""

from __future__ import annotations

import numpy as np

from minitorch.backends.opencl.array import CLArray, empty, from_host
from minitorch.backends.opencl.ctypes import BOOL, INT32, INT64, UINT8
from minitorch.backends.opencl.expression import Scalar, lazy
from minitorch.backends.opencl.geometry import count, dense
from minitorch.backends.opencl.pointwise import cast

_CHUNK = 4096


def host(array: CLArray) -> np.ndarray | None:
    """Return a NumPy view of the elements where the host shares the device's memory; None elsewhere.

    Every function that may let NumPy do its work asks here, so that
    ``MINITORCH_OPENCL_UNIFIED=0`` leads all of them over the kernels.
    """
    return array.host_view()


def as_index(index, device) -> CLArray:
    """Return an index array as int32 or int64, with memory.

    Raises
    ------
    IndexError
        If it does not hold integers.
    """
    if not isinstance(index, CLArray):
        index = np.asarray(index)
        if index.size == 0 and index.dtype.kind == "f":
            index = index.astype(np.int64)
        if index.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return from_host(index.astype(np.int64), device)
    if index.dtype == INT64 or index.dtype == INT32:
        return index.settle()
    if index.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return cast(index, INT64).settle()


def limits(index: CLArray) -> tuple:
    """Return (low, high) that all positions lie between; waits for the device.

    Where no position is negative, `low` may be just 0.
    """
    if index.size == 0:
        return 0, -1
    view = host(index)
    if view is not None:
        if view.size > 64:
            high = int(view.view(f"u{view.itemsize}").max())  # negative ones become huge
            if high < 1 << (8 * view.itemsize - 1):
                return 0, high
        return int(view.min()), int(view.max())
    index = dense(index)
    device = index.device
    groups = min(-(-index.size // _CHUNK), 1024)
    result = empty((2, groups), INT64, device)
    ctype = "int" if index.dtype == INT32 else "long"
    kernel = device.kernel(
        ("limits", ctype), lambda: _LIMITS.replace("T", ctype), "limits", (None, INT64, None, INT64)
    )
    offset = index.offset // index.dtype.itemsize
    device.launch(kernel, (groups,), (index.block.buffer, offset, result.block.buffer, index.size))
    found = result.to_host()
    return int(found[0].min()), int(found[1].max())


_LIMITS = """
__kernel void limits(__global const T *p, long f, __global long *out, long n) {
  p += f;
  const long groups = get_global_size(0), g = get_global_id(0);
  long low = LONG_MAX, high = LONG_MIN;
  const long e = n * (g + 1) / groups;
  for (long i = n * g / groups; i < e; i++) { low = min(low, (long)p[i]); high = max(high, (long)p[i]); }
  out[g] = low; out[groups + g] = high;
}
"""


def check_bounds(index: CLArray, bound: int, axis: int) -> None:
    """Raise unless all positions are in ``range(-bound, bound)``.

    Raises
    ------
    IndexError
    """
    low, high = limits(index)
    if low < -bound or high >= bound:
        values = index.to_host().reshape(-1)
        bad = values[(values < -bound) | (values >= bound)][0]
        raise IndexError(f"index {bad} is out of bounds for dimension {axis} with size {bound}")


# ---------------------------------------------------------------- from masks to positions

_NONZERO = """
__kernel void tally(__global const uchar *p, long f, __global long *out, long n) {
  p += f;
  const long i = get_global_id(0) * CHUNK, e = min(i + CHUNK, n);
  int total = 0; long k = i;
  for (; k + 16 <= e; k += 16) {
    const uchar16 v = vload16(0, p + k);
    const uchar8 a = v.lo + v.hi; const uchar4 b = a.lo + a.hi; const uchar2 c = b.lo + b.hi;
    total += c.x + c.y;
  }
  for (; k < e; k++) total += p[k];
  out[get_global_id(0)] = total;
}
__kernel void places(__global const uchar *p, long f, __global const long *starts, __global long *out, long n) {
  p += f;
  const long i = get_global_id(0) * CHUNK, e = min(i + CHUNK, n);
  long at = starts[get_global_id(0)];
  for (long k = i; k < e; k++) if (p[k]) out[at++] = k;
}
""".replace("CHUNK", str(_CHUNK))


def truth(array: CLArray) -> CLArray:
    """Return where elements are not zero, as bool, with memory and in row-major order."""
    if array.dtype != BOOL:
        array = lazy("not_equal", (array, Scalar(0, array.dtype)), BOOL, array.device)
    return dense(array)


def flat_positions(mask: CLArray) -> CLArray:
    """Return where a bool array holds, counted through it in row-major order, as int64; waits for the device."""
    mask = truth(mask)
    n, device = mask.size, mask.device
    if n == 0:
        return empty((0,), INT64, device).settle()
    view = host(mask)
    if view is not None:
        found = np.flatnonzero(view)
        return from_host(found, device)
    chunks = -(-n // _CHUNK)
    tallies = empty((chunks,), INT64, device)
    block = mask.block.buffer
    kernel = device.kernel("nonzero tally", lambda: _NONZERO, "tally", (None, INT64, None, INT64))
    device.launch(kernel, (chunks,), (block, mask.offset, tallies.block.buffer, n))
    ends = np.cumsum(tallies.to_host())  # the size of the result has to come to the host anyway
    total = int(ends[-1])
    starts = from_host(np.concatenate([[0], ends[:-1]]).astype(np.int64), device)
    result = empty((total,), INT64, device).settle()
    if total:
        kernel = device.kernel("nonzero places", lambda: _NONZERO, "places", (None, INT64, None, None, INT64))
        device.launch(kernel, (chunks,), (block, mask.offset, starts.block.buffer, result.block.buffer, n))
    return result


def coordinates(flat: CLArray, shape) -> list[CLArray]:
    """Return the coordinates that positions counted through a shape stand for, one array for each dimension."""
    if len(shape) == 1:
        return [flat]
    result = []
    step = count(shape)
    for axis, n in enumerate(shape):
        step = step // n if n else 1
        part = flat
        if step != 1:
            part = lazy("floor_divide", (part, Scalar(step, flat.dtype)), flat.dtype, flat.device)
        if axis:
            part = lazy("remainder", (part, Scalar(max(n, 1), flat.dtype)), flat.dtype, flat.device)
        result.append(part.settle())
    return result


def nonzero(array: CLArray) -> tuple:
    """Return the coordinates of the elements that are not zero, in row-major order, one array for each dimension."""
    if array.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use atleast_1d(scalar).nonzero() instead.")
    return tuple(coordinates(flat_positions(array), array.shape))


def flatnonzero(array: CLArray) -> CLArray:
    """Return where elements are not zero, counted through the array in row-major order."""
    return flat_positions(array)


__all__ = [
    "BOOL", "INT32", "INT64", "UINT8", "as_index", "check_bounds", "coordinates", "flat_positions", "flatnonzero", "host",
    "limits", "nonzero", "truth",
]  # fmt: skip
