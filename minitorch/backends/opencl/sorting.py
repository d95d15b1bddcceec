"""Sorting, searching in sorted arrays, and sets; NaN comes last, as in NumPy.

Where the host shares the device's memory, NumPy sorts it in place: its vectorized sorts are many
times faster than any kernel on a CPU.  Elsewhere rows are sorted by merging: blocks of `_BLOCK`
elements by insertion, then pairs of sorted runs, in which each element finds its place by a search
in the other run.  Both are stable.
"""

from __future__ import annotations

import numpy as np

from minitorch.backends.opencl.array import CLArray, empty, from_host
from minitorch.backends.opencl.ctypes import BOOL, FLOAT32, INT32, INT64, compute_type, load, storage_type
from minitorch.backends.opencl.expression import Scalar, lazy
from minitorch.backends.opencl.geometry import count, dense, moveaxis, normal_axis, ravel, reshape, sliced
from minitorch.backends.opencl.indexing import get_items, set_items, take, take_along_axis
from minitorch.backends.opencl.joining import append, arange, diff
from minitorch.backends.opencl.pointwise import assign, cast, constant, copy
from minitorch.backends.opencl.positions import flat_positions, host

_BLOCK = 8
_CHUNK = 256


def less_source(ctype: str) -> str:
    """Return the C function ``less`` of a type: the order of NumPy's sorts."""
    if ctype in ("float", "double"):
        return f"inline bool less({ctype} a, {ctype} b) {{ return a < b || (b != b && a == a); }}"
    if ctype in ("float2", "double2"):
        part = ctype[:-1]
        # Parts that are NaN come after all numbers, the real part deciding first.
        return f"""
inline bool part_less({part} a, {part} b) {{ return a < b || (b != b && a == a); }}
inline bool less({ctype} a, {ctype} b) {{
  const bool na = a.x != a.x || a.y != a.y, nb = b.x != b.x || b.y != b.y;
  if (na != nb) return nb;
  if (part_less(a.x, b.x)) return true;
  if (part_less(b.x, a.x)) return false;
  return part_less(a.y, b.y); }}"""
    return f"inline bool less({ctype} a, {ctype} b) {{ return a < b; }}"


def _merge_source(dtype, descending):
    ctype = compute_type(dtype)
    before = "less(b, a)" if descending else "less(a, b)"
    return f"""{less_source(ctype)}
inline bool before({ctype} a, {ctype} b) {{ return {before}; }}
__kernel void blocks(__global const {storage_type(dtype)} *source, long f, __global {ctype} *keys, __global int *order, int n) {{
  const int i = get_global_id(0) * {_BLOCK}, e = min(i + {_BLOCK}, n);
  const long row = (long)get_global_id(1) * n;
  source += f + row; keys += row; order += row;
  for (int k = i; k < e; k++) {{
    const {ctype} v = {load(dtype, "source", "k")};
    int at = k;
    for (; at > i && before(v, keys[at - 1]); at--) {{ keys[at] = keys[at - 1]; order[at] = order[at - 1]; }}
    keys[at] = v; order[at] = k;
  }}
}}
__kernel void merge(__global const {ctype} *keys, __global const int *order, __global {ctype} *new_keys,
                    __global int *new_order, int n, int width) {{
  const int i = get_global_id(0);
  const long row = (long)get_global_id(1) * n;
  keys += row; order += row; new_keys += row; new_order += row;
  const int start = i / (2 * width) * (2 * width), middle = min(start + width, n), end = min(start + 2 * width, n);
  const {ctype} v = keys[i];
  const bool left = i < middle;
  int low = left ? middle : start, high = left ? end : middle;
  const int base = low;
  while (low < high) {{
    const int m = low + (high - low) / 2;
    const bool earlier = left ? before(keys[m], v) : !before(v, keys[m]);
    if (earlier) low = m + 1; else high = m;
  }}
  const int place = start + (left ? i - start : i - middle) + (low - base);
  new_keys[place] = v; new_order[place] = order[i];
}}"""


def _order_of_rows(rows: CLArray, descending: bool) -> CLArray:
    """Return the stable order of each row of a matrix, as int32, by kernels."""
    device = rows.device
    rows = dense(rows)
    m, n = rows.shape
    dtype = rows.dtype
    work = FLOAT32 if compute_type(dtype) == "float" else dtype
    keys, order = empty(rows.shape, work, device).settle(), empty(rows.shape, INT32, device).settle()
    if rows.size == 0:
        return order

    def make():
        return _merge_source(dtype, descending)

    blocks = device.kernel(("sort blocks", dtype, descending), make, "blocks", (None, INT64, None, None, INT32))
    device.launch(
        blocks, (-(-n // _BLOCK), m),
        (rows.block.buffer, rows.offset // dtype.itemsize, keys.block.buffer, order.block.buffer, n),
    )  # fmt: skip
    if n > _BLOCK:
        merge = device.kernel(("sort merge", dtype, descending), make, "merge", (None, None, None, None, INT32, INT32))
        other_keys, other = empty(rows.shape, work, device).settle(), empty(rows.shape, INT32, device).settle()
        width = _BLOCK
        while width < n:
            args = (keys.block.buffer, order.block.buffer, other_keys.block.buffer, other.block.buffer, n, width)
            device.launch(merge, (n, m), args)
            keys, other_keys, order, other = other_keys, keys, other, order
            width *= 2
    return order


def _comparable(view: np.ndarray) -> np.ndarray:
    """Return elements in a type that NumPy sorts rightly: it misplaces the NaN of bfloat16."""
    return view.astype(np.float32) if view.dtype.kind == "V" else view


def order_of(array: CLArray, axis: int, descending: bool = False, stable: bool = True) -> CLArray:
    """Return the order of the elements along a dimension, as int64; equal elements keep theirs if `stable`."""
    axis = normal_axis(axis, array.ndim)
    view = host(array)
    if view is not None:
        view = _comparable(view)
        kind = "stable" if stable else None
        if descending:
            turned = np.flip(view, axis)
            return from_host((view.shape[axis] - 1) - np.flip(turned.argsort(axis, kind=kind), axis), array.device)
        return from_host(view.argsort(axis, kind=kind), array.device)
    moved = moveaxis(array, axis, -1)
    n = moved.shape[-1]
    order = _order_of_rows(reshape(moved, (count(moved.shape[:-1]), n)), descending)
    return copy(moveaxis(reshape(cast(order, INT64), moved.shape), -1, axis))


def argsort(array: CLArray, axis=-1, kind=None, order=None, *, stable=None) -> CLArray:
    """Return the positions that would sort an array along a dimension (None: the flattened array)."""
    if axis is None:
        array, axis = ravel(array), -1
    if array.ndim == 0:
        array = reshape(array, (1,))
    return order_of(array, axis, stable=bool(stable) or kind in ("stable", "mergesort"))


def sort(array: CLArray, axis=-1, kind=None, order=None, *, stable=None) -> CLArray:
    """Return a sorted copy along a dimension (None: of the flattened array)."""
    if axis is None:
        array, axis = ravel(array), -1
    axis = normal_axis(axis, array.ndim)
    view = host(array)
    if view is not None and view.dtype.kind != "V":
        result = from_host(view, array.device)
        shared = result.host_view()
        assert shared is not None
        shared.sort(axis, kind="stable" if stable or kind in ("stable", "mergesort") else None)
        return result
    return take_along_axis(array, order_of(array, axis), axis)


def partition(array: CLArray, kth, axis=-1, kind="introselect", order=None) -> CLArray:
    """Return a copy in which the elements `kth` stand where they would if it were sorted."""
    if axis is None:
        array, axis = ravel(array), -1
    view = host(array)
    if view is not None and view.dtype.kind != "V":
        result = from_host(view, array.device)
        shared = result.host_view()
        assert shared is not None
        shared.partition(kth, axis)
        return result
    return sort(array, axis)


def argpartition(array: CLArray, kth, axis=-1, kind="introselect", order=None) -> CLArray:
    """Return the positions that would put the elements `kth` where they stand in sorted order."""
    if axis is None:
        array, axis = ravel(array), -1
    view = host(array)
    if view is not None:
        return from_host(np.argpartition(_comparable(view), kth, axis), array.device)
    return order_of(array, axis)


def lexsort(keys, axis: int = -1) -> CLArray:
    """Return the order by several keys, the last of which decides first."""
    if isinstance(keys, CLArray):
        keys = [get_items(keys, k) for k in range(keys.shape[0])]
    keys = list(keys)
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    order = order_of(keys[0], axis)
    for key in keys[1:]:
        order = take_along_axis(order, order_of(take_along_axis(key, order, axis), axis), axis)
    return order


# ---------------------------------------------------------------- searching


def _search_source(dtype, is_cpu):
    ctype = compute_type(dtype)
    chunk = _CHUNK if is_cpu else 1
    return f"""{less_source(ctype)}
__kernel void run(__global const {storage_type(dtype)} *rows, long f, __global const {storage_type(dtype)} *values, long g,
                  __global long *out, long n, long m, long step, int right) {{
  const long row = get_global_id(1);
  rows += f + row * step; values += g + row * m; out += row * m;
  const long b = get_global_id(0) * {chunk}, e = min(b + {chunk}, m);
  for (long i = b; i < e; i++) {{
    const {ctype} v = {load(dtype, "values", "i")};
    long low = 0, high = n;
    while (low < high) {{
      const long k = low + (high - low) / 2;
      const {ctype} x = {load(dtype, "rows", "k")};
      if (right ? !less(v, x) : less(x, v)) low = k + 1; else high = k;
    }}
    out[i] = low;
  }}
}}"""


def search_rows(rows: CLArray, values: CLArray, right: bool) -> CLArray:
    """Return where values would be inserted into sorted rows: one row for all, or a row of values for each."""
    device = rows.device
    if rows.dtype != values.dtype:
        dtype = np.result_type(rows.dtype, values.dtype)
        rows, values = cast(rows, dtype), cast(values, dtype)
    dtype = rows.dtype
    rows, values = dense(rows), dense(values)
    result = empty(values.shape, INT64, device).settle()
    if values.size == 0:
        return result
    n = rows.shape[-1]
    lines = 1 if rows.ndim == 1 else count(rows.shape[:-1])
    m = values.size // lines
    is_cpu = device.is_cpu
    kernel = device.kernel(
        ("searchsorted", dtype, is_cpu), lambda: _search_source(dtype, is_cpu), "run",
        (None, INT64, None, INT64, None, INT64, INT64, INT64, INT32),
    )  # fmt: skip
    itemsize = dtype.itemsize
    device.launch(
        kernel, (-(-m // (_CHUNK if is_cpu else 1)), lines),
        (rows.block.buffer, rows.offset // itemsize, values.block.buffer, values.offset // itemsize, result.block.buffer,
         n, m, n, int(right)),
    )  # fmt: skip
    return result


def searchsorted(array: CLArray, values, side: str = "left", sorter=None) -> CLArray:
    """Return where values would be inserted into a sorted vector, before (left) or after (right) its equals."""
    if array.ndim != 1:
        raise ValueError("object too deep for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right' (got {side!r})")
    if sorter is not None:
        array = take(array, sorter, 0)
    if not isinstance(values, CLArray):
        values = from_host(np.asarray(values), array.device)
    return search_rows(array, values, side == "right")


def digitize(values: CLArray, bins: CLArray, right: bool = False) -> CLArray:
    """Return the bins, of increasing limits, that values lie in."""
    return searchsorted(bins, values, "left" if right else "right")


# ---------------------------------------------------------------- sets


def starts_of_groups(ordered: CLArray, equal_nan: bool) -> CLArray:
    """Mark the elements of a sorted vector, or the rows of a matrix, that differ from the one before."""
    device = ordered.device
    n = ordered.shape[0]
    starts = constant((n,), 1, BOOL, device).settle()
    if n > 1:
        one, other = sliced(ordered, 0, 1, n), sliced(ordered, 0, 0, n - 1)
        differs = lazy("not_equal", (one, other), BOOL, device)
        if equal_nan and ordered.dtype.kind in "fcV":
            number = lazy("logical_not", (lazy("isnan", (other,), BOOL, device),), BOOL, device)
            differs = lazy("logical_and", (differs, number), BOOL, device)
        if ordered.ndim == 2:
            # A row differs if one of its elements does.
            places = flat_positions(differs)
            columns = ordered.shape[1]
            differs = constant((n - 1,), 0, BOOL, device).settle()
            rows = lazy("floor_divide", (places, Scalar(columns, INT64)), INT64, device)
            set_items(differs, rows.settle(), True)
        assign(sliced(starts, 0, 1, n), differs)
    return starts


def unique(array: CLArray, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True,
           sorted=True):  # fmt: skip
    """Return the sorted distinct elements of an array, or its distinct slices along `axis`, and what else is asked for."""
    device = array.device
    if axis is None:
        flat, shape = ravel(array), array.shape
    else:
        axis = normal_axis(axis, array.ndim)
        front = moveaxis(array, axis, 0)
        flat, shape = reshape(front, (front.shape[0], count(front.shape[1:]))), (array.shape[axis],)
    n = flat.shape[0]
    if axis is None:
        if return_index or return_inverse or flat.dtype.kind == "V":
            order = order_of(flat, 0)
            ordered = take(flat, order, 0, check=False)
        else:
            order = None
            ordered = sort(flat, 0)
    else:
        columns = [get_items(flat, (slice(None), k)) for k in range(flat.shape[1] - 1, -1, -1)]
        order = lexsort(columns) if columns else arange(n, device=device)
        ordered = take(flat, order, 0, check=False)
    starts = starts_of_groups(ordered, equal_nan and axis is None)
    first = flat_positions(starts)
    values = take(ordered, first, 0, check=False)
    if axis is not None:
        values = moveaxis(reshape(values, (first.size, *front.shape[1:])), 0, axis)
    results = [values]
    if return_index:
        assert order is not None
        results.append(take(order, first, check=False))
    if return_inverse:
        inverse = empty((n,), INT64, device).settle()
        if n:
            set_items(inverse, order, group_numbers(first, n))
        results.append(reshape(inverse, shape))
    if return_counts:
        results.append(group_sizes(first, n))
    return results[0] if len(results) == 1 else tuple(results)


def group_numbers(first: CLArray, n: int) -> CLArray:
    """Return for each of `n` places which group it is in, given where groups start."""
    after = search_rows(first, arange(n, device=first.device), True)
    return lazy("subtract", (after, Scalar(1, INT64)), INT64, first.device)


def group_sizes(first: CLArray, n: int) -> CLArray:
    """Return how many of `n` places each group has, given where groups start."""
    return diff(append(first, n)).settle()


def isin(element: CLArray, test_elements, assume_unique=False, invert=False, *, kind=None) -> CLArray:
    """Return which elements occur among others."""
    device = element.device
    if not isinstance(test_elements, CLArray):
        test_elements = from_host(np.asarray(test_elements), device)
    if test_elements.size == 0:
        return constant(element.shape, int(invert), BOOL, device)
    dtype = np.result_type(element.dtype, test_elements.dtype)
    element, tests = cast(element, dtype), sort(cast(ravel(test_elements), dtype), 0)
    place = lazy("minimum", (search_rows(tests, element, False), Scalar(tests.size - 1, INT64)), INT64, device)
    found = take(tests, place.settle(), 0, check=False)
    return lazy("not_equal" if invert else "equal", (found, element), BOOL, device)


# What the array namespace has of this module.
EXPORTS = frozenset(["argpartition", "argsort", "digitize", "isin", "lexsort", "partition", "searchsorted", "sort", "unique"])
