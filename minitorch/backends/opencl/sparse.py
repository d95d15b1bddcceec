"""Products of what sparse matrices consist of (Note [Entries and segments]).

Note [A row for a work-item]
    A work-item adds up a row of the product, or 16 columns of one where the driver makes vectors of them: no sum is shared, so
    there are no atomics and the order of additions is that of the entries.  Entries in another order are sorted by
    rows first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends.opencl.array import CLArray, empty
from minitorch.backends.opencl.ctypes import (
    BFLOAT16,
    BFLOAT_SOURCE,
    INT32,
    INT64,
    compute_type,
    load,
    storage_type,
    store,
    vector,
)
from minitorch.backends.opencl.index_operators import checked, index_select_kernel
from minitorch.backends.opencl.joining import arange
from minitorch.backends.opencl.operations import helper_source
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import cast, copy
from minitorch.backends.opencl.row_programs import contiguous
from minitorch.backends.opencl.sorting import order_of, search_rows

_WIDTH = 16


def _head(dtype: np.dtype, index: np.dtype) -> str:
    """Return definitions: ``I`` of indices, and ``fma_(x, y, z)``, which is ``x * y + z``."""
    complex_ = dtype.kind == "c"
    lines = [f"typedef {'long' if index == INT64 else 'int'} I;"]
    if complex_:
        lines.append(helper_source({("multiply", dtype)}))
    if dtype == BFLOAT16:
        lines.append(BFLOAT_SOURCE)
    t = compute_type(dtype)
    product = f"cmul_{t}(x, y) + (z)" if complex_ else "fma(x, y, z)" if dtype.kind in "fV" else "(x) * (y) + (z)"
    return "\n".join([*lines, f"#define fma_(x, y, z) ({product})"])


def _segment_source(dtype: np.dtype, index: np.dtype, width: int) -> str:
    t, s = compute_type(dtype), storage_type(dtype)
    v = vector(t, width)
    value = load(dtype, "values", "p")
    return f"""{_head(dtype, index)}
__kernel void run(__global const I *offsets, __global const I *columns, __global const {s} *values, __global const {s} *dense,
                  __global {s} *out, long entries, long k) {{
  const long i = get_global_id(1);
  long c = get_global_id(0) * {width};
  {f"if (c + {width} > k) c = k - {width};" if width > 1 else ""}
  const long from = max((long)offsets[i], 0L), to = min((long)offsets[i + 1], entries);
  {v} sum = ({v})(0);
  for (long p = from; p < to; p++)
    sum = fma_(({v})({value}), {load(dtype, "dense", "columns[p] * k + c", width)}, sum);
  {store(dtype, "out", "i * k + c", "sum", width)}
}}"""


def _sampled_source(dtype: np.dtype, index: np.dtype, width: int) -> str:
    t, s = compute_type(dtype), storage_type(dtype)
    v = vector(t, width)
    add = " + ".join(f"sums.s{lane:x}" for lane in range(width)) if width > 1 else "sums"
    a, b = load(dtype, "a", "j", width), load(dtype, "b", "j", width)
    along = f"for (; j + {width} <= k; j += {width}) sums = fma_({a}, {b}, sums);"
    rest = f"for (; j < k; j++) sum = fma_({load(dtype, 'a', 'j')}, {load(dtype, 'b', 'j')}, sum);" if width > 1 else ""
    return f"""{_head(dtype, index)}
__kernel void run(__global const I *rows, __global const I *columns, __global const {s} *mat1, __global const {s} *mat2,
                  __global {s} *out, long k) {{
  const long p = get_global_id(0);
  __global const {s} *a = mat1 + rows[p] * k, *b = mat2 + columns[p] * k;
  {v} sums = ({v})(0);
  long j = 0;
  {along}
  {t} sum = {add};
  {rest}
  {store(dtype, "out", "p", "sum")}
}}"""


def _flat(array: CLArray) -> CLArray:
    """Return a row-major array that begins where its memory does."""
    array = contiguous(array)
    return copy(array).settle() if array.offset else array


def _same_types(*indices: CLArray) -> list[CLArray]:
    """Return indices as one type that kernels know."""
    wide = any(i.dtype != INT32 for i in indices)
    return [_flat(cast(i, INT64 if wide else INT32)) for i in indices]


@override("_segment_mm")
def segment_mm(offsets: CLArray, columns: CLArray, values: CLArray, dense: CLArray) -> CLArray:
    if dense.ndim != 2 or values.shape != columns.shape or values.dtype != dense.dtype:
        raise ValueError
    device, dtype = values.device, values.dtype
    rows, k = offsets.shape[0] - 1, dense.shape[1]
    result = empty((rows, k), dtype, device).settle()
    if 0 in result.shape:
        return result
    if not columns.size:
        result.fill(0)
        return result
    offsets, columns = _same_types(offsets, checked(columns, dense.shape[0], 0, IndexError))
    values, dense = _flat(values), _flat(dense)
    width = _WIDTH if device.is_cpu and k >= _WIDTH and dtype.kind != "c" else 1
    index = columns.dtype
    kernel = device.kernel(
        ("segment_mm", dtype, index, width), lambda: _segment_source(dtype, index, width), "run",
        (None, None, None, None, None, INT64, INT64),
    )  # fmt: skip
    blocks = [a.block.buffer for a in (offsets, columns, values, dense, result)]
    device.launch(kernel, (-(-k // width), rows), (*blocks, columns.size, k), (result.block,))
    return result


def _sorted(rows: CLArray, columns: CLArray, values: CLArray, count: int) -> tuple[CLArray, CLArray, CLArray]:
    """Return offsets, columns and values of entries in the order of rows."""
    rows = checked(rows, count, 0, IndexError)
    order = order_of(rows, 0).settle()
    rows = index_select_kernel(rows, 0, order)
    bounds = arange(0, count + 1, dtype=rows.dtype)
    offsets = search_rows(rows, bounds, False)
    return offsets, index_select_kernel(columns, 0, order), index_select_kernel(values, 0, order)


@override("_entries_mm")
def entries_mm(rows: CLArray, columns: CLArray, values: CLArray, dense: CLArray, count: int) -> CLArray:
    if rows.size == 0:
        return segment_mm(cast(arange(0, count + 1), INT64), columns, values, dense)
    return segment_mm(*_sorted(rows, columns, values, count), dense)


@override("_segment_mm_transposed")
def segment_mm_transposed(offsets: CLArray, columns: CLArray, values: CLArray, dense: CLArray, count: int) -> CLArray:
    if dense.shape[0] != offsets.shape[0] - 1:
        raise ValueError
    places = arange(0, columns.size, dtype=offsets.dtype)
    rows = search_rows(_flat(offsets), places, True)
    return entries_mm(columns, cast(rows - 1, columns.dtype).settle(), values, dense, count)


@override("_sampled_products")
def sampled_products(rows: CLArray, columns: CLArray, mat1: CLArray, mat2: CLArray) -> CLArray:
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[1] or mat1.dtype != mat2.dtype:
        raise ValueError
    device, dtype, k = mat1.device, mat1.dtype, mat1.shape[1]
    result = empty(rows.shape, dtype, device).settle()
    if not rows.size:
        return result
    rows, columns = _same_types(checked(rows, mat1.shape[0], 0, IndexError), checked(columns, mat2.shape[0], 0, IndexError))
    mat1, mat2 = _flat(mat1), _flat(mat2)
    width = _WIDTH if device.is_cpu and k >= _WIDTH and dtype.kind != "c" else 1
    index = rows.dtype
    kernel = device.kernel(
        ("sampled_products", dtype, index, width), lambda: _sampled_source(dtype, index, width), "run",
        (None, None, None, None, None, INT64),
    )  # fmt: skip
    blocks: list[Any] = [a.block.buffer for a in (rows, columns, mat1, mat2, result)]
    device.launch(kernel, (rows.size,), (*blocks, k), (result.block,))
    return result
