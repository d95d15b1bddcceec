"""Running sums, products and extrema.

Note [Scans]
    A work-item walks along the axis: one row of it, or 16 that stand side by side.  Few long rows are
    cut into blocks: the blocks are reduced, their results are scanned, and each block's walk
    starts from what came before it.
"""

from __future__ import annotations

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.opencl.array import CLArray, contiguous_strides, empty
from minitorch.backends.opencl.ctypes import (
    BFLOAT_SOURCE,
    BFLOAT16,
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    compute_type,
    convert,
    load,
    storage_type,
    store,
    vector,
)
from minitorch.backends.opencl.operations import helper_source, needs_scalars
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.reduction_kernels import WIDTH, combine, identity, merge, reduce_chain
from minitorch.backends.opencl.reductions import normal_axes, sum_dtype, wide_type

_SHORT = 256  # longer running sums of float32 are kept in double precision
_BLOCK = 8192
_GPU_BLOCK = 256


def accumulate(op, a: CLArray, axis=0, dtype=None) -> CLArray:
    """Return the running reduction along an axis.

    Parameters
    ----------
    op : str
        add, multiply, maximum, minimum, fmax, fmin, logaddexp, logical_or, logical_and, bitwise ones.
    dtype : numpy.dtype, optional
        Of the result; elements are cast to it first.
    """
    if not a.shape:
        raise TypeError("cannot accumulate on a scalar")
    (axis,) = normal_axes(axis, a.ndim)
    out = sum_dtype(op, a.dtype) if dtype is None else np.dtype(dtype)
    a.settle()
    result = empty(a.shape, out, a.device)
    if 0 in a.shape:
        return result.settle()
    acc = BOOL if op.startswith("logical_") else wide_type(out)
    n = a.shape[axis]
    if op in ("add", "multiply") and n > _SHORT and a.device.has_fp64:
        acc = {FLOAT32: FLOAT64, COMPLEX64: COMPLEX128}.get(acc, acc)
    rows = a.size // n
    block = _BLOCK if a.device.is_cpu else _GPU_BLOCK
    enough = (4 if a.device.is_cpu else 256) * a.device.units
    if n < 4 * block or rows >= enough or op == "logaddexp":
        _walk(op, a, result, axis, acc, n, None)
        return result
    _walk(op, a, result, axis, acc, block, _carries(op, a, axis, acc, block))
    return result


def _carries(op, a, axis, acc, block) -> CLArray:
    """Return for each block but the first what came before it; the axis is the last."""
    blocks = -(-a.shape[axis] // block)
    order = [d for d in range(a.ndim) if d != axis]
    shape = (*[a.shape[d] for d in order], blocks - 1, block)
    strides = (*[a.strides[d] for d in order], a.strides[axis] * block, a.strides[axis])
    view = a.view_of(shape, strides, 0)
    totals = reduce_chain(
        op, (("leaf", a.dtype),), [view], [], shape, (len(shape) - 1,), acc, acc, shape[:-1], a.device
    )
    return accumulate(op, totals, -1, acc)


class _Geometry:
    __slots__ = ("columns", "kept", "outer", "steps")


def _geometry(a, result, axis) -> _Geometry:
    """Return how to walk: the kept dimensions as (size, strides of input and result), the columns among them."""
    dims = [
        (n, s // a.dtype.itemsize, t // result.dtype.itemsize)
        for d, (n, s, t) in enumerate(zip(a.shape, a.strides, result.strides, strict=True))
        if d != axis and n != 1
    ]
    found = _Geometry()
    found.kept = merge(dims)
    found.steps = (a.strides[axis] // a.dtype.itemsize, result.strides[axis] // result.dtype.itemsize)
    beside = bool(found.kept) and found.kept[-1][1:] == (1, 1)
    found.columns = found.kept.pop() if beside else (1, 0, 0)
    found.outer = 1
    for dim in found.kept:
        found.outer *= dim[0]
    return found


def _walk(op, a, result, axis, acc, block, carries) -> None:
    """Scan blocks along an axis; `carries`, row-major with the axis last, has what comes before each but the first."""
    device = a.device
    g = _geometry(a, result, axis)
    n = a.shape[axis]
    blocks = -(-n // block)
    scalar_only = not device.is_cpu or acc.kind == "c" or a.dtype.kind == "c" or needs_scalars(op, acc)
    width = WIDTH if g.columns[0] >= WIDTH and not scalar_only else 1
    wide = a.block.capacity >= 1 << 31 or result.block.capacity >= 1 << 31
    key = ("scan", op, a.dtype, acc, result.dtype, len(g.kept), width, carries is not None, wide)
    index = INT64 if wide else INT32
    buffers = 2 + (carries is not None)
    numbers = [n, block, blocks, g.columns[0], *g.steps]
    for dim in g.kept:
        numbers += dim
    types = tuple([None, index] * buffers + [index] * len(numbers))
    kernel = device.kernel(
        key, lambda: _source(op, a.dtype, acc, result.dtype, len(g.kept), width, carries is not None, wide), "run", types
    )
    args = [a.block.buffer, a.offset // a.dtype.itemsize, result.block.buffer, 0]
    if carries is not None:
        args += [carries.block.buffer, carries.offset // carries.dtype.itemsize]
    size = (max(1, g.columns[0] // width), g.outer, blocks)
    device.launch(kernel, size, (*args, *numbers))


def _source(op, dtype, acc, out, outer, width, carried, wide) -> str:
    """Return the OpenCL C of a scan (Note [Scans])."""
    parameters = [f"__global const {storage_type(dtype)} *p, I fp, __global {storage_type(out)} *y, I fy"]
    if carried:
        parameters.append(f"__global const {storage_type(acc)} *before, I fb")
    parameters.append("I n, I block, I blocks, I columns, I t, I u")
    parameters += [f"I n{d}, I s{d}, I w{d}" for d in range(outer)]
    lines = [f"typedef {'long' if wide else 'int'} I;"]
    if BFLOAT16 in (dtype, out):
        lines.append(BFLOAT_SOURCE)
    lines.append(helper_source({(op, acc)}))
    lines.append(f"__kernel void run({', '.join(parameters)}) {{")
    lines.append("  const I b = get_global_id(2); I k = get_global_id(1), lead = k;")
    for d in range(outer - 1, -1, -1):
        lines.append(f"  {{ const I o = k % n{d}; k /= n{d}; fp += o * s{d}; fy += o * w{d}; }}")
    lines.append("  p += fp; y += fy; const I from = b * block, to = min(from + block, n);")
    lines.append(f"  I c = get_global_id(0) * {width};")
    if width > 1:
        # The last vector overlaps the one before: it is the same work-item's.
        lines.append("  const I ce = get_global_id(0) + 1 == get_global_size(0) ? columns : c + 16; for (;;) {")
    ctype = vector(compute_type(acc), width)
    lines.append(f"  {ctype} r = ({ctype})({identity(op, acc)});")
    if carried:
        # The carries have the axis last, whatever its place here.
        carry = [f"before[fb + (lead * columns + c + {lane}) * (blocks - 1) + b - 1]" for lane in range(width)]
        lines.append(f"  if (b > 0) r = ({ctype})({', '.join(carry)});")
    lines.append("  for (I i = from; i < to; i++) {")
    value = convert(load(dtype, "(p + i * t)", "c", width), dtype, acc, width)
    lines.append(f"    const {ctype} x = {value};")
    lines.append(f"    r = {combine(op, acc, width, 'r', 'x')};")
    lines.append("    " + store(out, "(y + i * u)", "c", convert("r", acc, out, width), width))
    lines.append("  }")
    if width > 1:
        lines.append(f"  c += {WIDTH}; if (c >= ce) return; c = min(c, ce - {WIDTH}); }}")
    lines.append("}")
    return "\n".join(lines)


def cumsum(a, axis=None, dtype=None):
    """Return running sums along an axis, or over all elements in row-major order."""
    return _flat("add", a, axis, dtype)


def cumprod(a, axis=None, dtype=None):
    """Return running products along an axis, or over all elements in row-major order."""
    return _flat("multiply", a, axis, dtype)


def _flat(op, a, axis, dtype):
    if axis is None or a.ndim == 0:
        from minitorch.backends.opencl.chains import shaped
        from minitorch.backends.opencl.row_programs import contiguous

        if a.ndim == 0 and axis not in (None, 0, -1):
            raise np.exceptions.AxisError(axis, 0)
        a, axis = shaped(contiguous(a), (a.size,)), 0
    return accumulate(op, a, axis, dtype)


# ---------------------------------------------------------------- operators


def _operator_scan(op, self, dim, dtype):
    if self.ndim == 0:
        raise NoKernel("a scalar")
    if dtype is not None:
        out = dtype.np
    else:
        out = INT64 if self.dtype.kind in "biu" else self.dtype
    return accumulate(op, self, dim, out)


@override("cumsum")
def cumsum_operator(self, dim, *, dtype=None):
    return _operator_scan("add", self, dim, dtype)


@override("cumprod")
def cumprod_operator(self, dim, *, dtype=None):
    return _operator_scan("multiply", self, dim, dtype)


@override("logcumsumexp")
def logcumsumexp_operator(self, dim):
    if self.dtype.kind not in "fV" or self.ndim == 0:
        raise NoKernel("not an array of floating numbers")
    return accumulate("logaddexp", self, dim)


def _running_extremum(sign, self, dim):
    """Return running extrema and the last place that attained each, NaN winning."""
    if self.ndim == 0 or self.dtype.kind == "c":
        raise NoKernel("a scalar, or complex numbers")
    (axis,) = normal_axes(dim, self.ndim)
    self.settle()
    device = self.device
    values, places = empty(self.shape, self.dtype, device), empty(self.shape, INT64, device)
    if 0 in self.shape:
        return values.settle(), places.settle()
    g = _geometry(self, values, axis)
    wide = self.block.capacity >= 1 << 31 or places.block.capacity >= 1 << 31
    index = INT64 if wide else INT32
    numbers = [self.shape[axis], *g.steps]
    for dims in g.kept:
        numbers += dims
    kernel = device.kernel(
        ("cummax", sign, self.dtype, len(g.kept), wide),
        lambda: _extremum_source(sign, self.dtype, len(g.kept), wide),
        "run",
        tuple([None, index, None, None] + [index] * len(numbers)),
    )
    args = [self.block.buffer, self.offset // self.dtype.itemsize, values.block.buffer, places.block.buffer]
    device.launch(kernel, (g.columns[0], g.outer), (*args, *numbers))
    return values, places


def _extremum_source(sign, dtype, outer, wide) -> str:
    ctype = compute_type(dtype)
    parameters = [f"__global const {storage_type(dtype)} *p, I fp, __global {storage_type(dtype)} *y, __global long *at, I n, I t, I u"]
    parameters += [f"I n{d}, I s{d}, I w{d}" for d in range(outer)]
    lines = [f"typedef {'long' if wide else 'int'} I;"]
    if dtype == BFLOAT16:
        lines.append(BFLOAT_SOURCE)
    lines.append(f"__kernel void run({', '.join(parameters)}) {{ I k = get_global_id(1), fy = 0; const I c = get_global_id(0);")
    for d in range(outer - 1, -1, -1):
        lines.append(f"  {{ const I o = k % n{d}; k /= n{d}; fp += o * s{d}; fy += o * w{d}; }}")
    lines.append("  p += fp + c; y += fy + c; at += fy + c; I place = 0;")
    lines.append(f"  {ctype} r = {load(dtype, 'p', '0')};")
    lines.append("  for (I i = 0; i < n; i++) {")
    lines.append(f"    const {ctype} x = {load(dtype, 'p', 'i * t')};")
    lines.append(f"    if (x {sign}= r || x != x) {{ r = x; place = i; }}")
    lines.append("    " + store(dtype, "y", "i * u", "r") + " at[i * u] = place;")
    lines.append("  }\n}")
    return "\n".join(lines)


@override("cummax")
def cummax_operator(self, dim):
    return _running_extremum(">", self, dim)


@override("cummin")
def cummin_operator(self, dim):
    return _running_extremum("<", self, dim)
