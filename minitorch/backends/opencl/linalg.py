"""Matrix products: a register-blocked kernel for CPU devices, a tiled one for GPUs, BLAS where the host shares the memory.

Note [Which product runs]
    On a CPU device OpenBLAS is as fast as a kernel without cache blocking while the operands fit the
    cache, and three times as fast beyond it; it needs NumPy arrays over the same memory, and the
    queue must be empty.  So small products are kernels, large ones of unified devices are BLAS.
    A GPU, or a device whose memory is its own, always runs the kernel.
"""

from __future__ import annotations

from threading import get_ident

import numpy as np

from minitorch.backends.opencl.array import CLArray, empty
from minitorch.backends.opencl.ctypes import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    INT32,
    INT64,
    compute_type,
)
from minitorch.backends.opencl.expression import before_write
from minitorch.backends.opencl.operations import helper_source
from minitorch.backends.opencl.pointwise import cast, collapse, element_strides
from minitorch.backends.opencl.ufuncs import store_into

# Multiplications from which BLAS on the shared memory beats the kernel, its wait included.
HOST_FROM = 1 << 13
_ROWS, _WIDTH, _TILE = 4, 16, 16
_BLOCK = 8  # rows of A that a work-item of the "columns" form takes


def matmul(a: CLArray, b: CLArray, out: CLArray | None = None) -> CLArray:
    """Return the matrix product of stacks of matrices, as NumPy's ``matmul``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: an operand has no dimension")
    vector_a, vector_b = a.ndim == 1, b.ndim == 1
    if vector_a:
        a = a[None]
    if vector_b:
        b = b[:, None]
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: {a.shape} and {b.shape}: the sizes {a.shape[-1]} and {b.shape[-2]} differ")
    dtype = a.dtype if a.dtype == b.dtype else np.result_type(a.dtype, b.dtype)
    batch = () if a.ndim == 2 and b.ndim == 2 else np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    result = _product(a, b, dtype, batch, None if vector_a or vector_b else out)
    if vector_a or vector_b:
        shape = list(result.shape)
        if vector_b:
            del shape[-1]
        if vector_a:
            del shape[-1 if vector_b else -2]
        result = result.reshape(tuple(shape))
    if out is not None and result is not out:
        return store_into(out, result)
    return result


def _product(a, b, dtype, batch, out):
    rows, columns, inner = a.shape[-2], b.shape[-1], a.shape[-1]
    shape = (*batch, rows, columns)
    compute = FLOAT32 if dtype in (FLOAT16, BFLOAT16) else np.dtype(np.uint8) if dtype == BOOL else dtype
    compute_type(compute)
    a, b = cast(a, compute).settle(), cast(b, compute).settle()
    device = a.device
    usable = (
        out is not None and out.dtype == compute and out.shape == shape and out._block is not None
        and out.flags.writeable and out._block is not a._block and out._block is not b._block
    )  # fmt: skip
    target = out if usable else empty(shape, compute, device)
    if inner == 0 or 0 in shape:
        target.fill(0)
        return target if compute == dtype else cast(target, dtype)
    count = rows * columns * inner
    for n in batch:
        count *= n
    before_write(target.block)
    if device.unified and count >= HOST_FROM and compute.kind in "fc":
        left, right, result = a.host_view(), b.host_view(), target.host_view()
        np.matmul(left, right, out=result)
    else:
        _launch(a, b, target, batch, rows, columns, inner)
    if dtype == BOOL:
        return cast(target, BOOL)
    return target if compute == dtype else cast(target, dtype)


class ProductPlan:
    """What follows from shapes and strides of one product: the kernel, the grid, the numbers."""

    __slots__ = ("form", "grid", "kernels", "key", "local", "make_source", "numbers", "types")


_plans: dict = {}


def _launch(a, b, target, batch, rows, columns, inner):
    device = target.device
    key = (a.shape, a.strides, b.shape, b.strides, target.strides, target.dtype, device.is_cpu)
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) > 4096:
            _plans.clear()
        plan = _plans[key] = _make_plan(a, b, target, batch, rows, columns, inner)
    who = (device.index, get_ident())
    kernel = plan.kernels.get(who)
    if kernel is None:
        kernel = plan.kernels[who] = device.kernel(plan.key, plan.make_source, "run", plan.types)
    itemsize = target.dtype.itemsize
    args = (
        target._block.buffer, target.offset // itemsize, a._block.buffer, a.offset // itemsize, b._block.buffer,
        b.offset // itemsize, *plan.numbers,
    )  # fmt: skip
    device.launch(kernel, plan.grid, args, (target._block,), plan.local)


def _make_plan(a, b, target, batch, rows, columns, inner) -> ProductPlan:
    device = target.device
    dtype = target.dtype
    itemsize = dtype.itemsize
    matrix = [[s // itemsize for s in x.strides[-2:]] for x in (target, a, b)]
    stacks = [_batch_strides(x, batch) for x in (target, a, b)]
    sizes, stacks = collapse(batch, stacks) if batch else ([1], [[0], [0], [0]])
    count = 1
    for n in sizes:
        count *= n
    wide = max([x.block.capacity for x in (a, b, target)]) >= 1 << 31
    if not device.is_cpu or dtype.kind == "c":
        form = "tile" if not device.is_cpu and dtype.kind != "c" else "plain"
    elif matrix[1][1] == 1 and matrix[2][0] == 1 and inner >= _WIDTH and matrix[2][1] != 1:
        form = "dot"
    else:
        form = "columns" if matrix[2][1] == 1 else "plain"
    index = INT64 if wide else INT32
    outer = len(sizes)
    plan = ProductPlan()
    plan.kernels = {}
    plan.form = form
    plan.key = ("matmul", form, dtype, outer, wide)
    plan.make_source = lambda: product_source(form, dtype, outer, wide)
    plan.types = (None, index, None, index, None, index, *[index] * (3 + 6 + 4 * outer))
    plan.local = None
    if form == "tile":
        plan.grid = (-(-columns // _TILE) * _TILE, -(-rows // _TILE) * _TILE, count)
        plan.local = (_TILE, _TILE, 1)
    elif form == "plain":
        plan.grid = (columns, rows, count)
    elif form == "dot":
        plan.grid = (-(-columns // _ROWS), -(-rows // _ROWS), count)
        plan.local = (1, 1, 1)  # a driver that joined work-items to vectors would take the vectors apart
    else:
        plan.grid = (-(-columns // (2 * _WIDTH)), -(-rows // _BLOCK), count)
        plan.local = (1, 1, 1)
    plan.numbers = [rows, columns, inner, *matrix[0], *matrix[1], *matrix[2], *sizes]
    for row in stacks:
        plan.numbers += row
    return plan


def _batch_strides(x, batch):
    """Return the strides of the stack of matrices, in elements."""
    part = CLArray(None, 0, x.shape[:-2], x.strides[:-2], x.dtype, x.device)
    return element_strides(part, batch)


def product_source(form: str, dtype: np.dtype, outer: int, wide: bool) -> str:
    """Return the OpenCL C of a product of strided matrices (element strides ``rX`` of rows, ``cX`` of columns)."""
    t = compute_type(dtype)
    is_float = dtype.kind == "f"
    fused = "fma" if is_float else "mad_"
    complex_ = dtype.kind == "c"
    head = f"typedef {'long' if wide else 'int'} I;\n"
    if complex_:
        head += helper_source({("multiply", dtype)})
    head += f"#define mad_(x, y, z) ({f'cmul_{t}(x, y)' if complex_ else '(x) * (y)'} + (z))\n"
    parameters = [f"__global {t} *C", "I oC", f"__global const {t} *A", "I oA", f"__global const {t} *B", "I oB"]
    parameters += ["I M", "I N", "I K", "I rC", "I cC", "I rA", "I cA", "I rB", "I cB"]
    parameters += [f"I n{k}" for k in range(outer)]
    parameters += [f"I s{p}_{k}" for p in "CAB" for k in range(outer)]
    lines = [head, f"__kernel void run({', '.join(parameters)}) {{", "  I z = get_global_id(2);"]
    for k in range(outer - 1, -1, -1):
        lines.append(f"  {{ I o = {'z' if k == 0 else f'z % n{k}'}; {'' if k == 0 else f'z /= n{k};'}")
        lines.append(f"    oC += o * sC_{k}; oA += o * sA_{k}; oB += o * sB_{k}; }}")
    lines.append("  A += oA; B += oB; C += oC;")
    lines.append(
        _BODIES[form]
        .replace("T_", t)
        .replace("FMA", fused)
        .replace("ROWS", str(_ROWS))
        .replace("BLOCK", str(_BLOCK))
        .replace("TILE", str(_TILE))
    )
    lines.append("}")
    return "\n".join(lines)


_BODIES = {
    "plain": """
  I j = get_global_id(0), i = get_global_id(1);
  A += i * rA; B += j * cB;
  T_ s = 0;
  for (I k = 0; k < K; k++) s = mad_(A[k * cA], B[k * rB], s);
  C[i * rC + j * cC] = s;""",
    # Rows of A against columns of B that both lie densely along K: 4 x 4 sums of vectors.
    "dot": """
  I j0 = get_global_id(0) * ROWS, i0 = get_global_id(1) * ROWS;
  if (i0 + ROWS <= M && j0 + ROWS <= N) {
    T_8 s[ROWS][ROWS];
    T_ rest[ROWS][ROWS];
    for (int i = 0; i < ROWS; i++) for (int j = 0; j < ROWS; j++) { s[i][j] = 0; rest[i][j] = 0; }
    I k = 0;
    for (; k + 8 <= K; k += 8) {
      T_8 a[ROWS], b[ROWS];
      for (int i = 0; i < ROWS; i++) { a[i] = vload8(0, A + (i0 + i) * rA + k); b[i] = vload8(0, B + (j0 + i) * cB + k); }
      for (int i = 0; i < ROWS; i++) for (int j = 0; j < ROWS; j++) s[i][j] = FMA(a[i], b[j], s[i][j]);
    }
    for (; k < K; k++) for (int i = 0; i < ROWS; i++) for (int j = 0; j < ROWS; j++)
      rest[i][j] = FMA(A[(i0 + i) * rA + k], B[(j0 + j) * cB + k], rest[i][j]);
    for (int i = 0; i < ROWS; i++) for (int j = 0; j < ROWS; j++) {
      T_8 v = s[i][j]; T_4 h = v.lo + v.hi; T_2 q = h.lo + h.hi;
      C[(i0 + i) * rC + (j0 + j) * cC] = q.x + q.y + rest[i][j];
    }
  } else {
    for (I i = i0; i < min(i0 + ROWS, M); i++) for (I j = j0; j < min(j0 + ROWS, N); j++) {
      T_8 s = 0; T_ rest = 0; I k = 0;
      for (; k + 8 <= K; k += 8) s = FMA(vload8(0, A + i * rA + k), vload8(0, B + j * cB + k), s);
      for (; k < K; k++) rest = FMA(A[i * rA + k], B[j * cB + k], rest);
      T_4 h = s.lo + s.hi; T_2 q = h.lo + h.hi;
      C[i * rC + j * cC] = q.x + q.y + rest;
    }
  }""",
    # Rows of B lie densely: 4 rows x 32 columns in registers.
    "columns": """
  I j0 = get_global_id(0) * 32, i0 = get_global_id(1) * BLOCK;
  int m = min((I)BLOCK, M - i0);
  if (j0 + 32 <= N) {
    if (m == BLOCK) {
      T_16 c0[BLOCK], c1[BLOCK];
      for (int r = 0; r < BLOCK; r++) { c0[r] = 0; c1[r] = 0; }
      for (I k = 0; k < K; k++) {
        T_16 b0 = vload16(0, B + k * rB + j0), b1 = vload16(0, B + k * rB + j0 + 16);
        #pragma unroll
        for (int r = 0; r < BLOCK; r++) {
          T_16 a = (T_16)(A[(i0 + r) * rA + k * cA]);
          c0[r] = FMA(a, b0, c0[r]); c1[r] = FMA(a, b1, c1[r]);
        }
      }
      for (int r = 0; r < BLOCK; r++) {
        if (cC == 1) { vstore16(c0[r], 0, C + (i0 + r) * rC + j0); vstore16(c1[r], 0, C + (i0 + r) * rC + j0 + 16); }
        else {
          T_ t[32]; vstore16(c0[r], 0, t); vstore16(c1[r], 1, t);
          for (int j = 0; j < 32; j++) C[(i0 + r) * rC + (j0 + j) * cC] = t[j];
        }
      }
    } else {
      for (int r = 0; r < m; r++) {
        T_16 c0 = 0, c1 = 0;
        for (I k = 0; k < K; k++) {
          T_16 a = (T_16)(A[(i0 + r) * rA + k * cA]);
          c0 = FMA(a, vload16(0, B + k * rB + j0), c0); c1 = FMA(a, vload16(0, B + k * rB + j0 + 16), c1);
        }
        T_ t[32]; vstore16(c0, 0, t); vstore16(c1, 1, t);
        for (int j = 0; j < 32; j++) C[(i0 + r) * rC + (j0 + j) * cC] = t[j];
      }
    }
  } else {
    for (int r = 0; r < m; r++) for (I j = j0; j < N; j++) {
      T_ s = 0;
      for (I k = 0; k < K; k++) s = FMA(A[(i0 + r) * rA + k * cA], B[k * rB + j], s);
      C[(i0 + r) * rC + j * cC] = s;
    }
  }""",
    "tile": """
  __local T_ a[TILE][TILE], b[TILE][TILE];
  int x = get_local_id(0), y = get_local_id(1);
  I j = get_global_id(0), i = get_global_id(1);
  T_ s = 0;
  for (I k = 0; k < K; k += TILE) {
    a[y][x] = (i < M && k + x < K) ? A[i * rA + (k + x) * cA] : (T_)0;
    b[y][x] = (j < N && k + y < K) ? B[(k + y) * rB + j * cB] : (T_)0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < TILE; p++) s = FMA(a[y][p], b[p][x], s);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < M && j < N) C[i * rC + j * cC] = s;""",
}


def dot(a: CLArray, b: CLArray, out: CLArray | None = None) -> CLArray:
    """Return NumPy's ``dot`` of arrays of at most two dimensions."""
    if not a.ndim or not b.ndim:
        return a * b
    return matmul(a, b, out)


def vdot(a: CLArray, b: CLArray) -> CLArray:
    """Return the sum of products; the first operand is conjugated."""
    return matmul(a.conj().ravel(), b.ravel())


def trace(a: CLArray, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype=None) -> CLArray:
    """Return the sum of a diagonal."""
    from minitorch.backends.opencl import indexing, reductions

    return reductions.sum(indexing.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def tensordot(a: CLArray, b: CLArray, axes) -> CLArray:
    """Return the sum of products over pairs of axes, as NumPy's ``tensordot``."""
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = [list(x) if isinstance(x, (tuple, list)) else [x] for x in axes]
    left, right = [x % a.ndim for x in left], [x % b.ndim for x in right]
    keep_a = [i for i in range(a.ndim) if i not in left]
    keep_b = [i for i in range(b.ndim) if i not in right]
    inner = 1
    for i in left:
        inner *= a.shape[i]
    x = a.transpose(keep_a + left).reshape(-1, inner) if inner else a.reshape(-1, 0)
    y = b.transpose(right + keep_b).reshape(inner, -1) if inner else b.reshape(0, -1)
    return matmul(x, y).reshape([a.shape[i] for i in keep_a] + [b.shape[i] for i in keep_b])
