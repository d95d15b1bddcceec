"""Products of 8-bit integers, with sums of 32 bits.

Note [Two forms of a sum]
    A compiler that joins work-items to vectors leaves the loop over the terms as it is, so that is written with vectors;
    one that compiles work-items by themselves makes vectors of a plain loop, better ones than ours.
"""

from __future__ import annotations

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.opencl.array import CLArray, empty
from minitorch.backends.opencl.ctypes import INT32, INT64
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import copy
from minitorch.backends.opencl.row_programs import contiguous

_INT8 = np.dtype(np.int8)
# Columns of the result that a work-item computes with the same row of the first matrix.
_COLUMNS = 4


def _vector_source(columns: int) -> str:
    """Return the kernel with sums of 16 terms at once."""
    lanes = [f"sums{c}" for c in range(columns)]
    add = {c: " + ".join(f"sums{c}.s{lane:x}" for lane in range(16)) for c in range(columns)}
    declare = "\n  ".join(f"int16 {name} = (int16)(0);" for name in lanes)
    along = "\n    ".join(f"sums{c} += x16 * convert_int16(vload16(0, w + {c} * k + p));" for c in range(columns))
    reduce = "\n  ".join(f"int sum{c} = {add[c]};" for c in range(columns))
    rest = "\n    ".join(f"sum{c} += x1 * (int)w[{c} * k + p];" for c in range(columns))
    store = "\n  ".join(f"out[i * n + j + {c}] = sum{c};" for c in range(columns))
    return f"""
__kernel void run(__global const char *a, __global const char *b, __global int *out, long k, long n) {{
  const long i = get_global_id(1);
  long j = get_global_id(0) * {columns};
  {f"if (j + {columns} > n) j = n - {columns};" if columns > 1 else ""}
  __global const char *x = a + i * k, *w = b + j * k;
  {declare}
  long p = 0;
  for (; p + 16 <= k; p += 16) {{
    const int16 x16 = convert_int16(vload16(0, x + p));
    {along}
  }}
  {reduce}
  for (; p < k; p++) {{
    const int x1 = (int)x[p];
    {rest}
  }}
  {store}
}}"""


def _loop_source(columns: int) -> str:
    """Return the kernel with plain sums."""
    each = range(columns)
    return f"""
__kernel void run(__global const char *restrict a, __global const char *restrict b, __global int *restrict out, long k,
                  long n) {{
  const long i = get_global_id(1);
  long j = get_global_id(0) * {columns};
  {f"if (j + {columns} > n) j = n - {columns};" if columns > 1 else ""}
  __global const char *x = a + i * k, *w = b + j * k;
  int {", ".join(f"sum{c} = 0" for c in each)};
  for (int p = 0; p < (int)k; p++) {{
    const short xp = x[p];
    {" ".join(f"sum{c} += xp * (short)w[{c} * k + p];" for c in each)}
  }}
  {" ".join(f"out[i * n + j + {c}] = sum{c};" for c in each)}
}}"""


def _flat(array: CLArray) -> CLArray:
    """Return a row-major array that begins where its memory does."""
    array = contiguous(array)
    return copy(array).settle() if array.offset else array


@override("_int_mm")
def int_mm(self: CLArray, mat2: CLArray) -> CLArray:
    if self.dtype != _INT8 or mat2.dtype != _INT8 or self.ndim != 2 or mat2.ndim != 2 or self.shape[1] != mat2.shape[0]:
        raise NoKernel("matrices of int8 whose sizes fit are multiplied")
    device = self.device
    (rows, k), n = self.shape, mat2.shape[1]
    result = empty((rows, n), INT32, device).settle()
    if not result.size:
        return result
    if not k:
        result.fill(0)
        return result
    # Rows of both: the weight of a linear layer comes transposed, and so lies in memory as it is read.
    a, b = _flat(self), _flat(mat2.T)
    columns = _COLUMNS if n >= _COLUMNS else 1
    make = _vector_source if device.joins_work_items else _loop_source
    kernel = device.kernel(("int_mm", columns), lambda: make(columns), "run", (None, None, None, INT64, INT64))
    device.launch(kernel, (-(-n // columns), rows), (a.block.buffer, b.block.buffer, result.block.buffer, k, n), (result.block,))
    return result
