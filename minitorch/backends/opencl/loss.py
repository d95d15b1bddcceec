"""Kernels of the negative log likelihood.

A kernel cannot raise: each chunk of targets leaves the first class that does not exist, which the
host looks at when the kernel is done.
"""

from __future__ import annotations

from math import prod

from minitorch.backends import NoKernel
from minitorch.backends.opencl.array import CLArray, empty
from minitorch.backends.opencl.ctypes import BFLOAT16, BFLOAT_SOURCE, INT64, compute_type, load, storage_type, store
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import constant
from minitorch.backends.opencl.row_programs import contiguous, result_dtype

NONE, MEAN, SUM = 0, 1, 2
_CHUNK = 1024
_LEVEL = 64  # losses added up before they are added to what came before


def _operands(self, target, weight):
    """Return (batch, classes, rest) and the operands, row-major.

    Raises
    ------
    NoKernel
        If shapes or types do not fit; the general kernel says how.
    """
    dtype = result_dtype(self)
    shape = self.shape if self.ndim != 1 else (1, *self.shape)
    if self.ndim == 1:
        fits = target.size == 1 and target.ndim <= 1
    else:
        fits = self.ndim > 1 and target.shape == (shape[0], *shape[2:])
    if not fits or target.dtype.kind not in "iu" or 0 in shape:
        raise NoKernel("operands that do not fit, or none")
    classes = shape[1]
    if weight is not None:
        if weight.shape != (classes,) or weight.dtype != self.dtype:
            raise NoKernel("weights that do not fit")
        weight = contiguous(weight)
    return dtype, (shape[0], classes, prod(shape[2:])), contiguous(self), contiguous(target), weight


def _chunk(count, device) -> int:
    return _CHUNK if device.is_cpu else max(16, count // 1024)


def _check(wrong: CLArray, classes, ignore_index) -> None:
    """Wait, and raise for the first class that does not exist."""
    for found, value in wrong.to_host().tolist():
        if found:
            raise IndexError(
                f"nll_loss: Target {value} is out of bounds. Classes are 0 to {classes - 1}, and ignore_index is {ignore_index}."
            )


def _walk(dtype, target_dtype, weight_dtype, inside: str) -> str:
    """Return the loop over a chunk's targets; `inside` has the target's class ``t`` and its weight ``w``."""
    weight = "1" if weight_dtype is None else load(weight_dtype, "weight", "t")
    return f"""
  const long from = get_global_id(0) * chunk, to = min(from + chunk, count);
  long found = 0, value = 0;
  for (long level = from; level < to; level += {_LEVEL}) {{
    T some = 0, some_weight = 0;
    for (long k = level; k < min(level + {_LEVEL}, to); k++) {{
      const long t = {load(target_dtype, "target", "k")};
      const bool ignored = t == ignore;
      const bool known = t >= 0 && t < classes;
      if (!ignored && !known) {{ if (!found) {{ found = 1; value = t; }} continue; }}
      T w = 0; if (!ignored) w = {weight};
      const long place = rest == 1 ? k * classes + t : (k / rest * classes + t) * rest + k % rest;
      {inside}
    }}
    loss += some; total += some_weight;
  }}
  wrong[2 * get_global_id(0)] = found; wrong[2 * get_global_id(0) + 1] = value;
"""


def _head(dtype, *stored) -> str:
    bfloat = BFLOAT_SOURCE if BFLOAT16 in stored else ""
    return f"typedef {compute_type(dtype)} T;\n{bfloat}"


def _forward_source(dtype, own, target_dtype, weighted, reduction) -> str:
    weight_dtype = own if weighted else None
    keep = store(own, "losses", "k", "l", 1) if reduction == NONE else "some += l; some_weight += w;"
    inside = f"const T l = w == 0 ? (T)0 : -({load(own, 'x', 'place')}) * w; {keep}"
    weight = f"__global const {storage_type(own)} *weight, long fw, " if weighted else ""
    division = "loss / total" if reduction == MEAN else "loss"
    return f"""{_head(dtype, own)}
__kernel void run(__global const {storage_type(own)} *x, long fx, __global const {storage_type(target_dtype)} *target, long ft,
    {weight}__global {storage_type(own)} *losses, __global T *parts, __global long *wrong,
    long count, long classes, long rest, long ignore, long chunk) {{
  x += fx; target += ft; {'weight += fw;' if weighted else ''} T loss = 0, total = 0;
  {_walk(dtype, target_dtype, weight_dtype, inside)}
  parts[2 * get_global_id(0)] = loss; parts[2 * get_global_id(0) + 1] = total;
}}
__kernel void combine(
    __global const T *parts, __global {storage_type(own)} *y, __global {storage_type(own)} *weights, long chunks) {{
  T loss = 0, total = 0;
  for (long c = 0; c < chunks; c++) {{ loss += parts[2 * c]; total += parts[2 * c + 1]; }}
  {store(own, "y", "0", division)} {store(own, "weights", "0", "total")}
}}
"""


def _forward(self, target, weight, reduction, ignore_index):
    dtype, (batch, classes, rest), x, t, w = _operands(self, target, weight)
    device, own = self.device, self.dtype
    count = target.size
    chunk = _chunk(count, device)
    chunks = -(-count // chunk)
    losses = empty(target.shape if reduction == NONE else (), own, device)
    parts, wrong = empty((chunks, 2), dtype, device), empty((chunks, 2), INT64, device)
    key = ("nll", dtype, own, t.dtype, w is not None, reduction)

    def make_source():
        return _forward_source(dtype, own, t.dtype, w is not None, reduction)

    types = (None, INT64) * (2 + (w is not None)) + (None,) * 3 + (INT64,) * 5
    kernel = device.kernel(key, make_source, "run", types)
    args = [x.block.buffer, x.offset // own.itemsize, t.block.buffer, t.offset // t.dtype.itemsize]
    if w is not None:
        args += [w.block.buffer, w.offset // own.itemsize]
    args += [losses.block.buffer, parts.block.buffer, wrong.block.buffer, count, classes, rest, ignore_index, chunk]
    device.launch(kernel, (chunks,), args)
    if reduction == NONE:
        total = constant((), 0.0, own, device).settle()
    else:
        total = empty((), own, device)
        combine = device.kernel((*key, "combine"), make_source, "combine", (None, None, None, INT64))
        device.launch(combine, (1,), (parts.block.buffer, losses.block.buffer, total.block.buffer, chunks))
    _check(wrong, classes, ignore_index)
    return losses, total


@override("nll_loss_forward")
def nll_loss_forward(self, target, weight, reduction, ignore_index):
    if self.ndim > 2:
        raise NoKernel("more than two dimensions")
    return _forward(self, target, weight, reduction, ignore_index)


@override("nll_loss2d_forward")
def nll_loss2d_forward(self, target, weight, reduction, ignore_index):
    if self.ndim != 4:
        raise NoKernel("not four dimensions")
    return _forward(self, target, weight, reduction, ignore_index)


def _backward_source(dtype, own, grad_dtype, target_dtype, weighted, total_dtype, reduction) -> str:
    weight_dtype = own if weighted else None
    grad = load(grad_dtype, "grad", "k" if reduction == NONE else "0")
    total_weight = f" / {load(total_dtype, 'total_weight', '0')}" if reduction == MEAN else ""
    inside = f"if (w != 0) {{ {store(own, 'y', 'place', f'-({grad}){total_weight} * w')} }}"
    weight = f"__global const {storage_type(own)} *weight, long fw, " if weighted else ""
    return f"""{_head(dtype, own)}
__kernel void run(
    __global const {storage_type(grad_dtype)} *grad, long fg, __global const {storage_type(target_dtype)} *target, long ft,
    __global const {storage_type(total_dtype)} *total_weight, long fs,
    {weight}__global {storage_type(own)} *y, __global long *wrong,
    long count, long classes, long rest, long ignore, long chunk) {{
  grad += fg; target += ft; total_weight += fs; {'weight += fw;' if weighted else ''} T loss = 0, total = 0;
  {_walk(dtype, target_dtype, weight_dtype, inside)}
}}
"""


@override("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    dtype, (batch, classes, rest), _, t, w = _operands(self, target, weight)
    device, own = self.device, self.dtype
    count = target.size
    if grad_output.size != (count if reduction == NONE else 1) or total_weight.size != 1:
        raise NoKernel("a gradient of another shape")
    if result_dtype(grad_output) != dtype or result_dtype(total_weight) != dtype:
        raise NoKernel("operands of several types")
    g, s = contiguous(grad_output), contiguous(total_weight)
    chunk = _chunk(count, device)
    chunks = -(-count // chunk)
    result = constant(self.shape, 0.0, own, device).settle()
    wrong = empty((chunks, 2), INT64, device)
    key = ("nll_backward", dtype, own, g.dtype, t.dtype, w is not None, s.dtype, reduction)
    types = (None, INT64) * (3 + (w is not None)) + (None,) * 2 + (INT64,) * 5
    kernel = device.kernel(
        key, lambda: _backward_source(dtype, own, g.dtype, t.dtype, w is not None, s.dtype, reduction), "run", types
    )
    args: list = []
    for a in (g, t, s, *(() if w is None else (w,))):
        args += [a.block.buffer, a.offset // a.dtype.itemsize]
    args += [result.block.buffer, wrong.block.buffer, count, classes, rest, ignore_index, chunk]
    device.launch(kernel, (chunks,), args)
    _check(wrong, classes, ignore_index)
    return result

