"""Pooling of images: a work-item makes one element, and gradients are gathered, not scattered.

The gradient of an input element is the sum over the windows that it is in, in a fixed order: no
atomics, and the same result each time.
"""

from __future__ import annotations

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.opencl.array import CLArray, empty
from minitorch.backends.opencl.ctypes import FLOAT32, INT32, INT64, compute_type, is_narrow
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import cast


class Windows:
    """Sizes of the windows of pooling over the last two dimensions.

    Raises
    ------
    NoKernel
        For what the kernel written for any array library does, or refuses.
    """

    def __init__(self, x: CLArray, kernel, stride, padding, dilation, ceil_mode):
        if x.ndim not in (3, 4) or 0 in x.shape or x.dtype.kind not in "fiuV":
            raise NoKernel("not images of numbers")
        if not x.device.joins_work_items:
            raise NoKernel("maxima of strided views are faster")
        x.settle()
        if not x.flags.c_contiguous and x.ndim == 4 and x.strides[1] == x.itemsize and x.shape[1] > 1:
            raise NoKernel("channels-last")
        self.kernel, self.padding, self.dilation = (_pair(v) for v in (kernel, padding, dilation))
        self.stride = _pair(stride) if len(stride) else self.kernel
        self.size = x.shape[-2:]
        self.lead = x.shape[:-2]
        if min(*self.kernel, *self.stride, *self.dilation) <= 0 or min(self.padding) < 0:
            raise NoKernel("bad window")
        out = []
        for n, k, s, p, d in zip(self.size, self.kernel, self.stride, self.padding, self.dilation, strict=True):
            span = n + 2 * p - d * (k - 1) - 1
            if 2 * p > d * (k - 1) + 1 or span < 0:
                raise NoKernel("bad window")
            count = -(-span // s) + 1 if ceil_mode else span // s + 1
            if ceil_mode and (count - 1) * s >= n + p:
                count -= 1  # the last window starts inside the input or its left padding
            out.append(count)
        self.out = tuple(out)
        self.planes = 1
        for n in self.lead:
            self.planes *= n
        if self.planes * max(self.size[0] * self.size[1], out[0] * out[1]) >= 1 << 31:
            raise NoKernel("too large for 32-bit counting")

    def numbers(self) -> list[int]:
        return [*self.size, *self.out]

    @property
    def shape(self) -> tuple[int, ...]:
        """What is written into the program: without divisions by unknown numbers it is three times as fast."""
        return (*self.kernel, *self.stride, *self.padding, *self.dilation)


def _pair(values) -> tuple:
    values = tuple(values)
    if len(values) == 1:
        return values * 2
    if len(values) != 2:
        raise NoKernel("bad window")
    return values


_HEAD = """
#define GEOMETRY int H, int W, int OH, int OW
#define BETTER(a, b) ((a) > (b) || isnan_(a))
"""
_FORWARD = """
__kernel void run(__global T *y, __global const T *x, __global long *indices, int ox, int with_indices, GEOMETRY) {
  const int flat = get_global_id(0), i = flat / OW, j = flat % OW; const size_t plane = get_global_id(1);
  x += ox + plane * H * W;
  T best = LOWEST; int at = -1;
  for (int ky = 0; ky < KH; ky++) {
    const int r = i * SH - PH + ky * DH;
    if (r < 0 || r >= H) continue;
    for (int kx = 0; kx < KW; kx++) {
      const int c = j * SW - PW + kx * DW;
      if (c < 0 || c >= W) continue;
      const T v = x[r * W + c];
      if (at < 0 || BETTER(v, best)) { best = v; at = r * W + c; }
    }
  }
  const size_t to = (plane * OH + i) * OW + j;
  y[to] = best;
  if (with_indices) indices[to] = at;
}"""
# The windows that an element is in, one after the other; BODY adds what it gets from one.
_GATHER = """
__kernel void run(__global T *gx, __global const T *gy, __global const X *x, __global const long *indices, int og, int ox, int oi,
                  EXTRA GEOMETRY) {
  const int flat = get_global_id(0), r = flat / W, c = flat % W; const size_t plane = get_global_id(1);
  gy += og + plane * OH * OW; x += ox + plane * H * W; indices += oi + plane * OH * OW;
  T sum = 0;
  for (int ky = 0; ky < KH; ky++) {
    const int a = r + PH - ky * DH;
    if (a < 0 || a % SH || a / SH >= OH) continue;
    for (int kx = 0; kx < KW; kx++) {
      const int b = c + PW - kx * DW;
      if (b < 0 || b % SW || b / SW >= OW) continue;
      const int i = a / SH, j = b / SW;
      BODY
    }
  }
  gx[(plane * H + r) * W + c] = sum;
}"""
_BY_INDEX = "if (indices[i * OW + j] == r * W + c) sum += gy[i * OW + j];"
_BY_VALUE = """
      T best = LOWEST; int at = -1;
      for (int qy = 0; qy < KH; qy++) {
        const int u = i * SH - PH + qy * DH;
        if (u < 0 || u >= H) continue;
        for (int qx = 0; qx < KW; qx++) {
          const int v = j * SW - PW + qx * DW;
          if (v < 0 || v >= W) continue;
          const T e = x[u * W + v];
          if (at < 0 || BETTER(e, best)) { best = e; at = u * W + v; }
        }
      }
      if (at == r * W + c) sum += gy[i * OW + j];"""
_DIVISOR = """
      const int y0 = i * SH - PH, x0 = j * SW - PW, y1 = min(y0 + KH, H + PH), x1 = min(x0 + KW, W + PW);
      const int inside = (min(y1, H) - max(y0, 0)) * (min(x1, W) - max(x0, 0));
      const int divisor = fixed ? fixed : (include ? (y1 - y0) * (x1 - x0) : inside);"""
_AVERAGE = (
    """
__kernel void run(__global T *y, __global const T *x, int ox, int include, int fixed, GEOMETRY) {
  const int flat = get_global_id(0), i = flat / OW, j = flat % OW; const size_t plane = get_global_id(1);
  x += ox + plane * H * W;
"""
    + _DIVISOR
    + """
  T sum = 0;
  for (int r = max(y0, 0); r < min(y1, H); r++) for (int c = max(x0, 0); c < min(x1, W); c++) sum += x[r * W + c];
  y[(plane * OH + i) * OW + j] = sum / divisor;
}"""
)


def _source(dtype: np.dtype, body: str, w: Windows) -> str:
    t = compute_type(dtype)
    is_float = dtype.kind == "f"
    lowest = "-INFINITY" if is_float else str(np.iinfo(dtype).min)
    test = "isnan(a)" if is_float else "0"
    head = f"typedef {t} T; typedef {t} X;\n#define LOWEST (T)({lowest})\n#define isnan_(a) {test}\n"
    names = ("KH", "KW", "SH", "SW", "PH", "PW", "DH", "DW")
    head += "".join([f"#define {name} {value}\n" for name, value in zip(names, w.shape, strict=True)])
    return head + _HEAD + body


def _dense(a: CLArray) -> CLArray:
    a.settle()
    return a if a.flags.c_contiguous else a.copy()


def _offset(a: CLArray) -> int:
    return a.offset // a.dtype.itemsize


def _max(x, w: Windows, with_indices: bool):
    x = _dense(x)
    device, dtype = x.device, x.dtype
    result = empty((*w.lead, *w.out), dtype, device).settle()
    indices = empty((*w.lead, *w.out) if with_indices else (1,), INT64, device).settle()
    kernel = device.kernel(
        ("max pool", dtype, w.shape), lambda: _source(dtype, _FORWARD, w), "run", (None,) * 3 + (INT32,) * 6
    )
    args = (result.block.buffer, x.block.buffer, indices.block.buffer, _offset(x), int(with_indices), *w.numbers())
    device.launch(kernel, (w.out[0] * w.out[1], w.planes), args)
    return result, indices


def _gathered(grad, x, indices, w: Windows, name: str, body: str, extra: tuple = ()):
    """Return the gradient of the input: what `body` adds for each window that an element is in."""
    grad, x = _dense(grad), _dense(x)
    device, dtype = x.device, grad.dtype
    if grad.shape != (*w.lead, *w.out):
        raise NoKernel("shapes differ")
    indices = _dense(indices) if indices is not None else grad
    result = empty(x.shape, dtype, device).settle()
    declared = "int include, int fixed," if extra else ""
    kernel = device.kernel(
        (name, dtype, w.shape), lambda: _source(dtype, _GATHER.replace("EXTRA", declared).replace("BODY", body), w), "run",
        (None,) * 4 + (INT32,) * (7 + len(extra)),
    )  # fmt: skip
    args = (
        result.block.buffer, grad.block.buffer, x.block.buffer, indices.block.buffer, _offset(grad), _offset(x), _offset(indices),
        *extra, *w.numbers(),
    )  # fmt: skip
    device.launch(kernel, (w.size[0] * w.size[1], w.planes), args)
    return result


def _widened(fn):
    """Compute float16 and bfloat16 in float32."""

    def kernel(x, *args, **kwargs):
        if not is_narrow(x.dtype):
            return fn(x, *args, **kwargs)
        args = [cast(a, FLOAT32) if type(a) is CLArray and a.dtype == x.dtype else a for a in args]
        result = fn(cast(x, FLOAT32), *args, **kwargs)
        if type(result) is tuple:
            return (cast(result[0], x.dtype), *result[1:])
        return cast(result, x.dtype)

    return kernel


@override("max_pool2d")
@_widened
def max_pool2d(self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    """Return the maximum of each window; NaN wins."""
    return _max(self, Windows(self, kernel_size, stride, padding, dilation, ceil_mode), False)[0]


@override("max_pool2d_with_indices")
@_widened
def max_pool2d_with_indices(self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    """Return the maximum of each window, and where in its plane it stands."""
    return _max(self, Windows(self, kernel_size, stride, padding, dilation, ceil_mode), True)


@override("max_pool2d_backward")
@_widened
def max_pool2d_backward(grad_output, self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    """Give each gradient to the first element of its window that is the maximum."""
    if grad_output.dtype != self.dtype or self.dtype.kind != "f":
        raise NoKernel("operands of several dtypes")
    w = Windows(self, kernel_size, stride, padding, dilation, ceil_mode)
    return _gathered(grad_output, self, None, w, "max pool gradient", _BY_VALUE)


@override("max_pool2d_with_indices_backward")
@_widened
def max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """Give each gradient to the element that its index names."""
    if (
        grad_output.dtype != self.dtype
        or self.dtype.kind != "f"
        or indices.dtype != INT64
        or indices.shape != grad_output.shape
    ):
        raise NoKernel("operands of several dtypes")
    w = Windows(self, kernel_size, stride, padding, dilation, ceil_mode)
    return _gathered(grad_output, self, indices, w, "max pool gradient by index", _BY_INDEX)


@override("avg_pool2d")
@_widened
def avg_pool2d(
    self, kernel_size, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """Return the mean of each window."""
    if self.dtype.kind != "f" or divisor_override == 0:
        raise NoKernel("integers, or a divisor of 0")
    w = Windows(self, kernel_size, stride, padding, (1,), ceil_mode)
    x = _dense(self)
    device, dtype = x.device, x.dtype
    result = empty((*w.lead, *w.out), dtype, device).settle()
    kernel = device.kernel(
        ("avg pool", dtype, w.shape), lambda: _source(dtype, _AVERAGE, w), "run", (None,) * 2 + (INT32,) * 7
    )
    args = (
        result.block.buffer,
        x.block.buffer,
        _offset(x),
        int(count_include_pad),
        divisor_override or 0,
        *w.numbers(),
    )
    device.launch(kernel, (w.out[0] * w.out[1], w.planes), args)
    return result


@override("avg_pool2d_backward")
@_widened
def avg_pool2d_backward(
    grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    """Share each gradient among the elements of its window."""
    if grad_output.dtype != self.dtype or self.dtype.kind != "f" or divisor_override == 0:
        raise NoKernel("operands of several dtypes, or a divisor of 0")
    w = Windows(self, kernel_size, stride, padding, (1,), ceil_mode)
    body = _DIVISOR + " sum += gy[i * OW + j] / divisor;"
    extra = (int(count_include_pad), divisor_override or 0)
    return _gathered(grad_output, self, None, w, "avg pool gradient", body, extra)
