"""Arrays made from numbers, and arrays made by joining, repeating and turning others."""

from __future__ import annotations

import numpy as np

from minitorch.backends.opencl import runtime
from minitorch.backends.opencl.array import CLArray, empty, from_host
from minitorch.backends.opencl.ctypes import (
    BFLOAT16,
    BFLOAT_SOURCE,
    BOOL,
    INT64,
    compute_type,
    is_narrow,
    storage_type,
    store,
)
from minitorch.backends.opencl.expression import Scalar, lazy
from minitorch.backends.opencl.geometry import (
    broadcast_to,
    dense,
    diagonal,
    expand_dims,
    flip,
    normal_axis,
    ravel,
    reshape,
    sliced,
    swapaxes,
)
from minitorch.backends.opencl.pointwise import assign, cast, constant
from minitorch.backends.opencl.positions import as_index, host, limits

_CHUNK = 4096

# ---------------------------------------------------------------- from numbers


def arange(start, stop=None, step=1, dtype=None, device=None) -> CLArray:
    """Return evenly spaced numbers from `start` up to `stop`, the very ones that NumPy gives."""
    if stop is None:
        start, stop = 0, start
    if step is None:
        step = 1
    device = device or runtime.device()
    if dtype is None:
        dtype = np.result_type(np.asarray(start), np.asarray(stop), np.asarray(step))
    dtype = np.dtype(dtype)
    if step == 0:
        raise ZeroDivisionError("division by zero")
    if dtype.kind in "iu" and all(isinstance(v, (int, np.integer)) for v in (start, stop, step)):
        n = len(range(int(start), int(stop), int(step)))
    else:
        if dtype.kind not in "iufV":
            return from_host(np.arange(start, stop, step, dtype=dtype), device)
        n = max(int(np.ceil((stop - start) / step)), 0)
    result = empty((n,), dtype, device).settle()
    if n == 0:
        return result
    if dtype.kind in "iu":
        # NumPy takes the difference of the first two elements, as the dtype holds them.
        work = INT64
        first = int(start)
        delta = int(start + step) - first
        if dtype == np.uint64 and first > np.iinfo(np.int64).max:
            first -= 1 << 64
    else:
        work = np.dtype(np.float32) if is_narrow(dtype) else dtype
        first = dtype.type(start).astype(work)
        delta = dtype.type(start + step).astype(work) - first
    source_dtype = dtype
    kernel = device.kernel(
        ("arange", dtype), lambda: _arange_source(source_dtype, work), "run", (None, INT64, work, work, INT64)
    )
    chunk = _CHUNK if device.is_cpu else 1
    device.launch(kernel, (-(-n // chunk),), (result.block.buffer, n, first, delta, chunk), (result.block,))
    return result


def _arange_source(dtype, work):
    ctype = compute_type(work)
    value = f"({compute_type(dtype)})(first + part)"
    return f"""{BFLOAT_SOURCE if dtype == BFLOAT16 else ""}
#pragma OPENCL FP_CONTRACT OFF
__kernel void run(__global {storage_type(dtype)} *p, long n, {ctype} first, {ctype} delta, long chunk) {{
  const long b = get_global_id(0) * chunk, e = min(b + chunk, n);
  for (long i = b; i < e; i++) {{
    const {ctype} part = ({ctype})i * delta;
    {store(dtype, "p", "i", value)}
  }}
}}"""


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, device=None):
    """Return `num` evenly spaced numbers between two numbers."""
    own = dtype is not None and np.dtype(dtype).kind == "V"  # one that NumPy does not know
    values, step = np.linspace(start, stop, num, endpoint=endpoint, retstep=True, dtype=np.float32 if own else dtype)
    if own:
        values = values.astype(dtype)
    result = from_host(values, device)
    return (result, step) if retstep else result


def eye(n: int, m: int | None = None, k: int = 0, dtype=float, device=None) -> CLArray:
    """Return a matrix with ones on a diagonal."""
    dtype = np.dtype(dtype)
    device = device or runtime.device()
    result = constant((n, n if m is None else m), _number(0, dtype), dtype, device).settle()
    line = diagonal(result, k)
    if line.size:
        assign(line, Scalar(_number(1, dtype), dtype))
    return result


def _number(value, dtype):
    """Return a number in the form that a kernel takes as an argument of a dtype."""
    return float(value) if dtype.kind == "V" else dtype.type(value).item()


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple:
    """Return the coordinates of a matrix' lower triangle."""
    return tuple([from_host(part) for part in np.tril_indices(n, k, m)])


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple:
    """Return the coordinates of a matrix' upper triangle."""
    return tuple([from_host(part) for part in np.triu_indices(n, k, m)])


# ---------------------------------------------------------------- triangles


def triangle(array: CLArray, k: int, lower: bool) -> CLArray:
    """Return a row-major copy of matrices with zeros above (`lower`) or below a diagonal."""
    device = array.device
    rows, columns = array.shape[-2:]
    row = expand_dims(arange(rows, dtype=np.int32, device=device), 1)
    column = arange(-k, columns - k, dtype=np.int32, device=device)
    keep = lazy("greater_equal" if lower else "less_equal", (row, column), BOOL, device)
    result = empty(array.shape, array.dtype, device).settle()
    zero = Scalar(_number(0, array.dtype), array.dtype)
    assign(result, lazy("where", (keep, array, zero), array.dtype, device))
    return result


def tril(m: CLArray, k: int = 0) -> CLArray:
    """Return a copy with zeros above the k-th diagonal."""
    return triangle(m if m.ndim > 1 else broadcast_to(m, m.shape * 2), k, True)


def triu(m: CLArray, k: int = 0) -> CLArray:
    """Return a copy with zeros below the k-th diagonal."""
    return triangle(m if m.ndim > 1 else broadcast_to(m, m.shape * 2), k, False)


# ---------------------------------------------------------------- joining


def concatenate(arrays, axis=0, out=None, dtype=None) -> CLArray:
    """Return arrays one after the other along a dimension (None: all flattened)."""
    arrays = list(arrays)
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        arrays, axis = [ravel(a) for a in arrays], 0
    first = arrays[0]
    if first.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normal_axis(axis, first.ndim)
    rest = first.shape[:axis] + first.shape[axis + 1 :]
    total = 0
    for a in arrays:
        if a.ndim != first.ndim or a.shape[:axis] + a.shape[axis + 1 :] != rest:
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match exactly: "
                f"{first.shape} and {a.shape} along {axis}"
            )
        total += a.shape[axis]
    if dtype is None:
        dtype = first.dtype
        if any(a.dtype != dtype for a in arrays):
            dtype = np.result_type(*[a.dtype for a in arrays])
    shape = first.shape[:axis] + (total,) + first.shape[axis + 1 :]
    result = empty(shape, np.dtype(dtype), first.device).settle() if out is None else out
    at = 0
    for a in arrays:
        n = a.shape[axis]
        if a.size:
            assign(sliced(result, axis, at, at + n), a)
        at += n
    return result


def stack(arrays, axis=0, out=None, dtype=None) -> CLArray:
    """Return arrays of one shape along a new dimension."""
    arrays = list(arrays)
    if not arrays:
        raise ValueError("need at least one array to stack")
    if any(a.shape != arrays[0].shape for a in arrays):
        raise ValueError("all input arrays must have the same shape")
    axis = normal_axis(axis, arrays[0].ndim + 1)
    return concatenate([expand_dims(a, axis) for a in arrays], axis, out, dtype)


def append(array: CLArray, values, axis=None) -> CLArray:
    """Return `array` with `values` after it (``axis=None``: both flattened)."""
    if not isinstance(values, CLArray):
        values = from_host(np.asarray(values), array.device)
    if axis is None:
        array, values, axis = ravel(array), ravel(values), 0
    return concatenate((array, values), axis)


def tile(array: CLArray, reps) -> CLArray:
    """Return an array repeated as a whole along each dimension."""
    reps = (reps,) if hasattr(reps, "__index__") else tuple(reps)
    ndim = max(len(reps), array.ndim)
    reps = (1,) * (ndim - len(reps)) + reps
    shape = (1,) * (ndim - array.ndim) + array.shape
    spread, between = [], []
    for n, times in zip(shape, reps, strict=True):
        spread += [1, n]
        between += [times, n]
    target = empty(between, array.dtype, array.device).settle()
    if target.size:
        assign(target, reshape(array, tuple(spread)))
    return reshape(target, tuple([n * times for n, times in zip(shape, reps, strict=True)]))


def repeat(array: CLArray, repeats, axis=None) -> CLArray:
    """Return an array with each element (``axis=None``: of the flattened array) or slice repeated."""
    if axis is None:
        array, axis = ravel(array), 0
    axis = normal_axis(axis, array.ndim)
    n = array.shape[axis]
    if isinstance(repeats, CLArray):
        counts = repeats
        single = counts.to_host() if counts.size == 1 else None
    else:
        single = np.asarray(repeats)
        counts = from_host(single.astype(np.int64), array.device)
    if single is not None and single.size == 1:
        times = int(single.reshape(-1)[0])
        if times < 0:
            raise ValueError("repeats may not contain negative values.")
        after = array.shape[axis + 1 :]
        target = empty((*array.shape[: axis + 1], times, *after), array.dtype, array.device).settle()
        if target.size:
            assign(target, expand_dims(array, axis + 1))
        return reshape(target, (*array.shape[:axis], n * times, *after))
    if counts.shape != (n,):
        raise ValueError(f"operands could not be broadcast together with shape {(n,)} {counts.shape}")
    from minitorch.backends.opencl.indexing import take

    return take(array, repeated_positions(counts), axis, check=False)


_ENDS = """
__kernel void run(__global const long *p, long f, __global long *out, long n) {
  long total = 0;
  for (long i = 0; i < n; i++) { total += p[f + i]; out[i] = total; }
}
"""


def repeated_positions(repeats: CLArray) -> CLArray:
    """Return each position of a vector of counts as many times as it says; waits for the device.

    Raises
    ------
    ValueError
        For negative counts.
    """
    device = repeats.device
    index = cast(as_index(repeats, device), INT64).settle()
    if index.size and limits(index)[0] < 0:
        raise ValueError("repeats may not contain negative values.")
    view = host(index)
    if view is not None:
        return from_host(np.repeat(np.arange(view.size), view), device)
    if index.size == 0:
        return index
    from minitorch.backends.opencl.sorting import searchsorted

    index = dense(index)
    ends = empty(index.shape, INT64, device).settle()
    kernel = device.kernel("running counts", lambda: _ENDS, "run", (None, INT64, None, INT64))
    device.launch(kernel, (1,), (index.block.buffer, index.offset // 8, ends.block.buffer, index.size), (ends.block,))
    total = int(sliced(ends, 0, index.size - 1, index.size).to_host()[0])
    return searchsorted(ends, arange(total, device=device), "right")


# ---------------------------------------------------------------- turning


def roll(array: CLArray, shift, axis=None) -> CLArray:
    """Return a row-major copy with elements moved along dimensions, round their ends (None: of the flattened array)."""
    if axis is None:
        shift = sum(shift) if isinstance(shift, (tuple, list)) else shift
        return reshape(roll(ravel(array), shift, 0), array.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    if len(shifts) == 1:
        shifts = tuple(shifts) * len(axes)
    elif len(axes) == 1:
        axes = tuple(axes) * len(shifts)
    if len(axes) != len(shifts):
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    moves: dict = {}
    for s, a in zip(shifts, axes, strict=True):
        a = normal_axis(a, array.ndim)
        moves[a] = moves.get(a, 0) + int(s)
    result = empty(array.shape, array.dtype, array.device).settle()
    if result.size == 0:
        return result
    # Each dimension is cut in two; the pieces change places.
    pieces = [(array.settle(), result)]
    for a, move in moves.items():
        n = array.shape[a]
        cut = -move % n
        if cut:
            pieces = [
                half
                for source, target in pieces
                for half in (
                    (sliced(source, a, cut, n), sliced(target, a, 0, n - cut)),
                    (sliced(source, a, 0, cut), sliced(target, a, n - cut, n)),
                )
            ]
    for source, target in pieces:
        assign(target, source)
    return result


def rot90(array: CLArray, k: int = 1, axes=(0, 1)) -> CLArray:
    """Return a view turned by quarters in the plane of two dimensions."""
    first, second = normal_axis(axes[0], array.ndim), normal_axis(axes[1], array.ndim)
    k %= 4
    if k == 0:
        return flip(array, ())
    if k == 2:
        return flip(array, (first, second))
    if k == 1:
        return swapaxes(flip(array, second), first, second)
    return flip(swapaxes(array, first, second), second)


def diff(array: CLArray, n: int = 1, axis: int = -1, prepend=None, append=None) -> CLArray:
    """Return the differences of neighbours along a dimension, taken `n` times."""
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if array.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normal_axis(axis, array.ndim)
    parts = []
    for part in (prepend, array, append):
        if part is None:
            continue
        if not isinstance(part, CLArray):
            part = from_host(np.asarray(part, array.dtype), array.device)
        if part.ndim == 0:
            part = broadcast_to(part, (*array.shape[:axis], 1, *array.shape[axis + 1 :]))
        parts.append(part)
    result = concatenate(parts, axis) if len(parts) > 1 else array
    op = "not_equal" if array.dtype == BOOL else "subtract"
    for _ in range(n):
        size = result.shape[axis]
        if size == 0:
            break
        result = lazy(
            op, (sliced(result, axis, 1, size), sliced(result, axis, 0, size - 1)), result.dtype, result.device
        )
    return result


__all__ = [
    "append", "arange", "concatenate", "diff", "eye", "linspace", "repeat", "repeated_positions", "roll", "rot90", "stack",
    "tile", "triangle", "tril", "tril_indices", "triu", "triu_indices",
]  # fmt: skip
