"""Convolution and its gradients by direct kernels.

Note [Direct convolution]
    Every case becomes a correlation over an image that was copied once into memory with its padding (and, for the
    gradient of a strided convolution, with zeros between its pixels).  Where windows move by more than one column,
    each row is copied into as many rows, of every second column and so on, so that what a vector of outputs needs
    always lies side by side.  Rows of that memory are long enough for the widest vector, so the kernel has no edges
    to test.  On a CPU device a work-item computes 8 channels of up to 16 neighbouring columns: each vector of pixels is used
    8 times.  The gradient of the weight is a sum over images and rows of products along the row; zeros behind
    the rows of the incoming gradient stand in for the tail.
"""

from __future__ import annotations

from minitorch.backends import NoKernel
from minitorch.backends.opencl import reductions
from minitorch.backends.opencl.array import CLArray, empty
from minitorch.backends.opencl.ctypes import FLOAT32, FLOAT64, INT32, compute_type, is_narrow
from minitorch.backends.opencl.linalg import matmul
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import assign, cast
from minitorch.backends.opencl.ufuncs import UFUNCS

_MOST_ELEMENTS = 1 << 31  # the kernels count in int


class Geometry:
    """Sizes of one two-dimensional convolution, of `images` x `channels` x `size` to `outputs` x `out`."""

    def __init__(self, images, channels, size, outputs, kernel, stride, padding, dilation, groups, out=None):
        self.images, self.channels, self.size = images, channels, size
        self.outputs, self.kernel, self.stride = outputs, kernel, stride
        self.padding, self.dilation, self.groups = padding, dilation, groups
        if out is None:
            out = tuple(
                [
                    (n + 2 * p - d * (k - 1) - 1) // s + 1
                    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
                ]
            )
        self.out = out
        self.width = next(w for w in (4, 8, 16) if w >= min(out[1], 16))
        columns = -(-out[1] // self.width) * self.width
        self.rows = (out[0] - 1) * stride[0] + (kernel[0] - 1) * dilation[0] + 1
        # what the widest load reaches, in each of the `stride` rows that a row is copied into
        self.row_length = columns + ((kernel[1] - 1) * dilation[1]) // stride[1] + self.width


def padded_image(
    x: CLArray, size: tuple, rows: int, row_length: int, start: tuple, step: tuple = (1, 1), phases: int = 1
) -> CLArray:
    """Return memory of zeros ``(images, channels, rows, phases, row_length)`` with the image from `start` on.

    What would stand outside is left away; `step` puts zeros between the pixels.  Column ``c`` of a row stands at
    ``c // phases`` of the row's part ``c % phases``.
    """
    memory = empty((*x.shape[:2], rows, phases, row_length), x.dtype, x.device)
    memory.fill(0)
    memory.settle()
    first, skip, count = _part(size[0], start[0], step[0], rows)
    if count <= 0:
        return memory
    down = slice(first, first + (count - 1) * step[0] + 1, step[0])
    if phases > 1 and step[1] != 1:
        raise NoKernel("zeros between the pixels of a strided convolution")
    for phase in range(phases):
        # the pixels whose column is `phase` more than a multiple of `phases`
        lead = (phase - start[1]) % phases
        pixels = x[:, :, skip : skip + count, lead::phases]
        begin, drop, across = _part(pixels.shape[3], (start[1] + lead - phase) // phases, step[1], row_length)
        if across > 0:
            target = memory[:, :, down, phase, slice(begin, begin + (across - 1) * step[1] + 1, step[1])]
            assign(target, pixels[..., drop : drop + across])
    return memory


def _part(n: int, start: int, step: int, limit: int) -> tuple[int, int, int]:
    """Return (first place, pixels left away before it, pixels) of a row of `n` laid from `start` on in `limit` places."""
    skip = -(start // step) if start < 0 else 0
    return start + skip * step, skip, min(n, -(-(limit - start) // step)) - skip


def correlate(x: CLArray, weight: CLArray, g: Geometry) -> CLArray:
    """Return the correlation of a padded image with ``weight[group, channel, row, column, output]``."""
    device, dtype = x.device, x.dtype
    result = empty((g.images, g.outputs, *g.out), dtype, device).settle()
    per_output = g.outputs // g.groups
    block = next(b for b in (8, 4, 2, 1) if per_output % b == 0 or b == 1)
    kernel = device.kernel(
        ("conv", dtype, block, g.stride[1], g.kernel[1], g.dilation[1], device.is_cpu, g.width),
        lambda: _correlation_source(dtype, block, g.stride[1], g.kernel[1], g.dilation[1], device.is_cpu, g.width),
        "run",
        (None, None, None, *[INT32] * 12),
    )
    columns = -(-g.out[1] // g.width) if device.is_cpu else g.out[1]
    grid = (columns, g.out[0] * (g.outputs // block), g.images)
    args = (
        result.block.buffer, x.block.buffer, weight.block.buffer, x.offset // dtype.itemsize, weight.offset // dtype.itemsize,
        g.channels // g.groups, per_output, g.groups, g.out[0], g.out[1], x.shape[2], x.shape[4], g.stride[0], g.dilation[0],
        g.kernel[0],
    )  # fmt: skip
    device.launch(kernel, grid, args, (), (1, 1, 1))
    return result


def _correlation_source(dtype, block, stride, kernel_columns, dilation, is_cpu, width) -> str:
    t = compute_type(dtype)
    vector = f"{t}{width}" if is_cpu else t
    load = f"vload{width}(0, p)" if is_cpu else "p[0]"
    column = f"get_global_id(0) * {width}" if is_cpu else "get_global_id(0)"
    store = (
        f"""if (x0 + {width} <= OW) vstore{width}(a[i], 0, d);
    else {{ T t[{width}]; vstore{width}(a[i], 0, t); for (int j = 0; x0 + j < OW; j++) d[j] = t[j]; }}"""
        if is_cpu
        else "d[0] = a[i];"
    )
    return f"""
typedef {t} T; typedef {vector} V;
__kernel void run(__global T *y, __global const T *x, __global const T *w, int ox, int ow,
                  int C, int O, int G, int OH, int OW, int XH, int XW, int SH, int DH, int KH) {{
  const int x0 = {column}, r = get_global_id(1), n = get_global_id(2);
  const int yy = r % OH, o0 = (r / OH) * {block}, g = o0 / O, b = o0 % O;
  V a[{block}];
  for (int i = 0; i < {block}; i++) a[i] = 0;
  XH *= {stride};
  x += ox + (n * G + g) * C * XH * XW + yy * SH * {stride} * XW + x0;
  w += ow + g * C * KH * {kernel_columns} * O + b;
  for (int c = 0; c < C; c++) for (int ky = 0; ky < KH; ky++) {{
    __global const T *row = x + (c * XH + ky * DH * {stride}) * XW;
    __global const T *q = w + (c * KH + ky) * {kernel_columns} * O;
    #pragma unroll
    for (int kx = 0; kx < {kernel_columns}; kx++) {{
      __global const T *p = row + (kx * {dilation}) % {stride} * XW + (kx * {dilation}) / {stride};
      const V v = {load};
      #pragma unroll
      for (int i = 0; i < {block}; i++) a[i] = fma(v, (V)(q[kx * O + i]), a[i]);
    }}
  }}
  for (int i = 0; i < {block}; i++) {{
    __global T *d = y + ((n * G * O + o0 + i) * OH + yy) * OW + x0;
    {store}
  }}
}}"""


def weight_gradient(x: CLArray, grad: CLArray, g: Geometry) -> CLArray:
    """Return sums over images of products of a padded image and the gradient of its correlation: a weight."""
    device, dtype = x.device, x.dtype
    per_channel, per_output = g.channels // g.groups, g.outputs // g.groups
    width = g.width
    length = -(-g.out[1] // width) * width
    if length != g.out[1] or not grad.flags.c_contiguous:
        grad = padded_image(grad, g.out, g.out[0], length, (0, 0))
    block = next(b for b in (4, 2, 1) if per_output % b == 0 or b == 1)
    wide = min(g.kernel[1], 3)
    runs = -(-g.kernel[1] // wide)
    # Few weights and many images: cut the images into parts, and add the parts.
    items = per_channel * g.kernel[0] * runs * (g.outputs // block)
    parts = 1
    while parts * 2 <= g.images and items * parts < 4 * device.units:
        parts *= 2
    result = empty((parts, g.outputs, per_channel, *g.kernel), dtype, device).settle()
    kernel = device.kernel(
        ("conv weight", dtype, block, wide, g.stride[1], g.dilation[1], width),
        lambda: _gradient_source(dtype, block, wide, g.stride[1], g.dilation[1], width),
        "run",
        (None, None, None, *[INT32] * 15),
    )
    args = (
        result.block.buffer, x.block.buffer, grad.block.buffer, x.offset // dtype.itemsize, grad.offset // dtype.itemsize,
        per_channel, per_output, g.groups, g.out[0], length, x.shape[2], x.shape[4], g.stride[0], g.dilation[0], g.kernel[0],
        g.kernel[1], g.images, parts,
    )  # fmt: skip
    device.launch(kernel, (per_channel * g.kernel[0] * runs, g.outputs // block, parts), args, (), (1, 1, 1))
    return result[0] if parts == 1 else reductions.sum(result, axis=0)


def _gradient_source(dtype, block, wide, stride, dilation, width) -> str:
    t = compute_type(dtype)
    return f"""
typedef {t} T; typedef {t}{width} V;
__kernel void run(__global T *gw, __global const T *x, __global const T *gy, int ox, int og,
                  int C, int O, int G, int OH, int OWP, int XH, int XW, int SH, int DH, int KH, int KW, int N, int P) {{
  int r = get_global_id(0);
  const int runs = (KW + {wide - 1}) / {wide}, kx0 = (r % runs) * {wide}; r /= runs;
  const int ky = r % KH, c = r / KH, o0 = get_global_id(1) * {block}, g = o0 / O, part = get_global_id(2);
  V a[{block}][{wide}];
  for (int i = 0; i < {block}; i++) for (int k = 0; k < {wide}; k++) a[i][k] = 0;
  XH *= {stride};
  x += ox + (g * C + c) * XH * XW + ky * DH * {stride} * XW;
  gy += og + o0 * OH * OWP;
  const int from = (int)((long)N * part / P), to = (int)((long)N * (part + 1) / P);
  for (int n = from; n < to; n++) for (int y = 0; y < OH; y++) {{
    __global const T *row = x + n * G * C * XH * XW + y * SH * {stride} * XW;
    __global const T *q = gy + (n * G * O * OH + y) * OWP;
    for (int j = 0; j < OWP; j += {width}) {{
      V v[{block}];
      #pragma unroll
      for (int i = 0; i < {block}; i++) v[i] = vload{width}(0, q + i * OH * OWP + j);
      #pragma unroll
      for (int k = 0; k < {wide}; k++) {{
        const int at = (kx0 + k < KW ? kx0 + k : 0) * {dilation};
        const V u = vload{width}(0, row + at % {stride} * XW + at / {stride} + j);
        #pragma unroll
        for (int i = 0; i < {block}; i++) a[i][k] = fma(u, v[i], a[i][k]);
      }}
    }}
  }}
  for (int i = 0; i < {block}; i++) for (int k = 0; k < {wide} && kx0 + k < KW; k++) {{
    T t[{width}]; vstore{width}(a[i][k], 0, t);
    T s = 0; for (int j = 0; j < {width}; j++) s += t[j];
    gw[(((part * G * O + o0 + i) * C + c) * KH + ky) * KW + kx0 + k] = s;
  }}
}}"""


# ---------------------------------------------------------------- the cases


def _is_product(g: Geometry) -> bool:
    """Return whether each pixel is multiplied with one matrix."""
    return (
        g.kernel == (1, 1) and g.stride == (1, 1) and g.padding == (0, 0) and g.groups == 1 and g.out == tuple(g.size)
    )


def _forward(x, weight, g):
    if _is_product(g):
        return matmul(weight.reshape(g.outputs, g.channels), x.reshape(g.images, g.channels, -1)).reshape(
            g.images, g.outputs, *g.out
        )
    image = padded_image(x, g.size, g.rows, g.row_length, g.padding, phases=g.stride[1])
    shaped = weight.reshape(g.groups, g.outputs // g.groups, g.channels // g.groups, *g.kernel)
    return correlate(image, shaped.transpose(0, 2, 3, 4, 1).copy(), g)


def _input_gradient(grad, weight, g):
    """Return the gradient of the image: the turned weight slides over the gradient with zeros between its pixels."""
    if _is_product(g):
        return matmul(weight.reshape(g.outputs, g.channels).T, grad.reshape(g.images, g.outputs, -1)).reshape(
            g.images, g.channels, *g.size
        )
    turned = Geometry(g.images, g.outputs, g.out, g.channels, g.kernel, (1, 1), (0, 0), g.dilation, g.groups, g.size)
    start = tuple([d * (k - 1) - p for d, k, p in zip(g.dilation, g.kernel, g.padding, strict=True)])
    image = padded_image(grad, g.out, turned.rows, turned.row_length, start, g.stride)
    shaped = weight.reshape(g.groups, g.outputs // g.groups, g.channels // g.groups, *g.kernel)
    flipped = shaped[:, :, :, ::-1, ::-1].transpose(0, 1, 3, 4, 2).copy()
    return correlate(image, flipped, turned)


def _weight_gradient(x, grad, g):
    if _is_product(g):
        rows = grad.reshape(g.images, g.outputs, -1), x.reshape(g.images, g.channels, -1)
        return reductions.sum(matmul(rows[0], rows[1].swapaxes(1, 2)), axis=0)
    return weight_gradient(padded_image(x, g.size, g.rows, g.row_length, g.padding, phases=g.stride[1]), grad, g)


def _checked(x, weight, stride, padding, dilation, *others):
    """Return the arguments of one- and two-dimensional convolutions as those of two-dimensional ones.

    Raises
    ------
    NoKernel
        For what the kernel written for any array library does, or refuses.
    """
    d = x.ndim - 2
    if d not in (1, 2) or weight.ndim != x.ndim:
        raise NoKernel("not a convolution in one or two dimensions")
    if not x.device.joins_work_items:
        raise NoKernel("a product is faster")
    if x.dtype not in (FLOAT32, FLOAT64) or any([o is not None and o.dtype != x.dtype for o in (weight, *others)]):
        raise NoKernel("not of one type float32 or float64")
    if 0 in x.shape or 0 in weight.shape:
        raise NoKernel("empty")
    for a in (x, weight):
        a.settle()
        if a.ndim == 4 and a.strides[1] == a.itemsize and a.shape[1] > 1 and not a.flags.c_contiguous:
            raise NoKernel("channels-last")
    full = [tuple(v) * d if len(v) == 1 else tuple(v) for v in (stride, padding, dilation)]
    if any([len(v) != d for v in full]) or min(full[0]) <= 0 or min(full[1]) < 0 or min(full[2]) <= 0:
        raise NoKernel("sizes do not fit")
    if d == 1:
        full = [(one, *v) for one, v in zip((1, 0, 1), full, strict=True)]
    return full


def _two_dimensional(a):
    return a if a is None or a.ndim == 4 else a[:, :, None]


def _geometry(x, weight, stride, padding, dilation, groups, transposed, output_padding):
    """Return the geometry of the convolution whose input is the larger image, which a transposed one's output is."""
    if groups <= 0 or weight.shape[0] % groups:
        raise NoKernel("sizes do not fit")
    kernel = weight.shape[2:]
    if not transposed:
        if x.shape[1] != weight.shape[1] * groups:
            raise NoKernel("sizes do not fit")
        g = Geometry(x.shape[0], x.shape[1], x.shape[2:], weight.shape[0], kernel, stride, padding, dilation, groups)
    else:
        if x.shape[1] != weight.shape[0] or not all(
            [o < max(s, t) for o, s, t in zip(output_padding, stride, dilation, strict=True)]
        ):
            raise NoKernel("sizes do not fit")
        size = tuple(
            [
                (n - 1) * s - 2 * p + d * (k - 1) + o + 1
                for n, k, s, p, d, o in zip(x.shape[2:], kernel, stride, padding, dilation, output_padding, strict=True)
            ]
        )
        g = Geometry(
            x.shape[0],
            weight.shape[1] * groups,
            size,
            weight.shape[0],
            kernel,
            stride,
            padding,
            dilation,
            groups,
            x.shape[2:],
        )
    if min(*g.out, *g.size) <= 0:
        raise NoKernel("sizes do not fit")
    reach = g.images * max(g.channels, g.outputs) * (g.size[0] + g.rows + 64) * (g.size[1] + g.row_length + 64)
    if reach * max(g.stride) >= _MOST_ELEMENTS:
        raise NoKernel("too large for 32-bit counting")
    return g


@override("convolution")
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Convolve images in one or two dimensions, or do the transposed of that."""
    if is_narrow(input.dtype):
        wide = [None if a is None else cast(a, FLOAT32) for a in (input, weight, bias)]
        return cast(convolution(*wide, stride, padding, dilation, transposed, output_padding, groups), input.dtype)
    one = input.ndim == 3
    stride, padding, dilation = _checked(input, weight, stride, padding, dilation, bias)
    output_padding = (0, *output_padding) if one else tuple(output_padding) * (3 - len(output_padding))
    x, w = _two_dimensional(input), _two_dimensional(weight)
    g = _geometry(x, w, stride, padding, dilation, groups, transposed, output_padding)
    outputs = g.channels if transposed else g.outputs
    if bias is not None and bias.shape != (outputs,):
        raise NoKernel("sizes do not fit")
    result = _input_gradient(x, w, g) if transposed else _forward(x, w, g)
    if bias is not None:
        UFUNCS["add"](result, bias.reshape(1, -1, 1, 1), result)
    return result[:, :, 0].copy() if one and result.shape[2] != 1 else _squeezed(result) if one else result


def _squeezed(result):
    return CLArray(result.block, result.offset, result.shape[:2] + result.shape[3:], result.strides[:2] + result.strides[3:],
                   result.dtype, result.device)  # fmt: skip


@override("convolution_backward")
def convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """Return the gradients of image, weight and bias, those that `output_mask` asks for."""
    if is_narrow(input.dtype):
        wide = [cast(a, FLOAT32) for a in (grad_output, input, weight)]
        results = convolution_backward(
            *wide, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
        )
        return tuple([None if r is None else cast(r, input.dtype) for r in results])
    one = input.ndim == 3
    stride, padding, dilation = _checked(input, weight, stride, padding, dilation, grad_output)
    output_padding = (0, *output_padding) if one else tuple(output_padding) * (3 - len(output_padding))
    x, w, grad = _two_dimensional(input), _two_dimensional(weight), _two_dimensional(grad_output)
    grad.settle()
    g = _geometry(x, w, stride, padding, dilation, groups, transposed, output_padding)
    need_input, need_weight, need_bias = output_mask
    grad_input = grad_weight = grad_bias = None
    if need_bias:
        grad_bias = reductions.sum(grad, axis=(0, 2, 3))
    if need_input:
        grad_input = _forward(grad, w, g) if transposed else _input_gradient(grad, w, g)
        grad_input = _squeezed(grad_input) if one else grad_input
    if need_weight:
        grad_weight = _weight_gradient(grad, x, g) if transposed else _weight_gradient(x, grad, g)
        grad_weight = grad_weight.reshape(weight.shape)
    return grad_input, grad_weight, grad_bias
