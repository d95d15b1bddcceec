"""Kernels of convolutions, and of the window gathering that they are made of.

Note [Convolution by columns]
    A convolution is a matrix product of the weight, (out channels, in channels x kernel), with
    the windows of the input, (in channels x kernel, positions).  The windows are gathered for
    a few images at a time into one buffer that stays in the cache.

    With stride 1 the positions are counted along the flattened *padded* image, so that each
    row of the buffer is one contiguous run of it.  Positions that straddle two image rows
    compute garbage, which is left behind when the result is copied out.  With other strides,
    or where too much would be garbage, the positions are those of the output.  The padding
    after a row is the padding before the next, which leaves less garbage.

    The gradient of the input adds the columns back to where they came from; the gradient of the
    weight is a product of the same columns with the gradient.  With stride 1 the gradient of
    the input is itself a convolution, of the gradient with the weight turned round; then the
    windows of the gradient serve for both.  A transposed convolution is the gradient of the
    input of a convolution.
"""

from __future__ import annotations

from itertools import product
from math import prod

from minitorch.backends.array.common import contiguous, is_low_precision
from minitorch.backends.array.layout import in_format_of, may_be_formatted
from minitorch.backends.array.precision import float_kernel, rounded, widen
from minitorch.backends.array.registry import array_kernel

_BUFFER_BYTES = 1 << 20
_MOST_WASTE = 1.35


class _Plan:
    """Sizes, and views of buffers, of a convolution of `images` of one shape."""

    def __init__(
        self, x_shape, w_shape, stride, padding, dilation, groups, itemsize, out=None
    ):
        self.count = x_shape[0]
        self.channels = x_shape[1]
        self.groups = groups
        self.per_group = w_shape[1]
        self.outputs = w_shape[0] // groups
        self.kernel = kernel = tuple(w_shape[2:])
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.inner = tuple(x_shape[2:])
        padded = tuple(
            n + 2 * p for n, p in zip(self.inner, padding, strict=True)
        )
        if out is None:
            out = tuple(
                (n - d * (k - 1) - 1) // s + 1
                for n, k, s, d in zip(padded, kernel, stride, dilation, strict=True)
            )
        self.out = out
        self.padded = padded = (*padded[:-1], max(self.inner[-1] + padding[-1], out[-1]))
        steps = [itemsize]
        for n in reversed(padded[1:]):
            steps.append(steps[-1] * n)
        self.steps = steps = tuple(reversed(steps))  # bytes, of the padded image
        self.image_bytes = steps[0] * padded[0]
        self.itemsize = itemsize
        reach = sum((o - 1) * s for o, s in zip(out, steps, strict=True)) // itemsize + 1
        outputs = prod(out)
        self.flat = all(s == 1 for s in stride) and reach <= _MOST_WASTE * outputs
        self.positions = reach if self.flat else outputs
        self.rows = self.per_group * prod(kernel)
        row_bytes = max(1, groups * self.rows * self.positions * itemsize)
        self.chunk = max(1, min(self.count, _BUFFER_BYTES // row_bytes))
        self.pointwise = (
            prod(kernel) == 1 and not any(padding) and all(s == 1 for s in stride)
        )

    def interior(self):
        """Return the index of the image inside its padding."""
        return (
            slice(None),
            slice(None),
            *(slice(p, p + n) for p, n in zip(self.padding, self.inner, strict=True)),
        )

    def buffer(self, xp, count, dtype):
        """Return zeros for `count` padded images: all the memory, and the images in it.

        The last row's padding is behind the images.
        """
        size = count * self.channels * prod(self.padded)
        memory = xp.zeros(size + self.padding[-1], dtype)
        return memory, memory[:size].reshape(count, self.channels, *self.padded)

    def windows(self, view, padded):
        """Return the windows of `padded`: (groups, channels, *kernel, images, *positions)."""
        channel = self.image_bytes
        offsets = tuple(s * d for s, d in zip(self.steps, self.dilation, strict=True))
        shape = (self.groups, self.per_group, *self.kernel, padded.shape[0])
        strides = (channel * self.per_group, channel, *offsets, channel * self.channels)
        if self.flat:
            return view(padded, (*shape, self.positions), (*strides, self.itemsize))
        moves = tuple(s * t for s, t in zip(self.steps, self.stride, strict=True))
        return view(padded, (*shape, *self.out), (*strides, *moves))

    def results(self, view, buffer):
        """Return the outputs within (groups, outputs, images, positions): images come first."""
        groups, outputs, count, _ = buffer.shape
        moves = self.steps if self.flat else None
        if moves is None:
            shaped = buffer.reshape(groups, outputs, count, *self.out)
        else:
            shaped = view(
                buffer, (groups, outputs, count, *self.out), (*buffer.strides[:3], *moves)
            )
        return shaped.transpose(2, 0, 1, *range(3, shaped.ndim))

    def gather_shape(self, count):
        if self.flat:
            return (self.groups, self.per_group, *self.kernel, count, self.positions)
        return (self.groups, self.per_group, *self.kernel, count, *self.out)


def _strided(xp):
    as_strided = xp.lib.stride_tricks.as_strided

    def view(array, shape, strides):
        return as_strided(array, shape, strides)

    return view


def convolve(xp, x, w, bias, plan):
    """Return the convolution of `x` with `w`, both of one dtype, plus `bias`."""
    p = plan
    groups, outputs = p.groups, p.outputs
    matrix = contiguous(xp, w).reshape(groups, outputs, p.rows)
    result = xp.empty((p.count, groups * outputs, *p.out), x.dtype)
    if result.size == 0:
        return result
    if bias is not None:
        column = bias.reshape(groups, outputs, 1, 1)
    if p.pointwise and groups == 1:
        x = contiguous(xp, x)
        flat = result.reshape(p.count, outputs, p.positions)
        xp.matmul(matrix[0], x.reshape(p.count, p.per_group, p.positions), out=flat)
        if bias is not None:
            result += column[0].reshape(outputs, *(1,) * len(p.out))
        return result
    view = _strided(xp)
    shaped = result.reshape(p.count, groups, outputs, *p.out)
    _, padded = p.buffer(xp, p.chunk, x.dtype)
    inside = padded[p.interior()]
    gathered = xp.empty(p.gather_shape(p.chunk), x.dtype)
    products = xp.empty((groups, outputs, p.chunk, p.positions), x.dtype)
    windows, results = p.windows(view, padded), p.results(view, products)
    for start in range(0, p.count, p.chunk):
        n = min(p.chunk, p.count - start)
        if n < p.chunk:
            padded, inside = padded[:n], inside[:n]
            gathered = xp.empty(p.gather_shape(n), x.dtype)
            products = xp.empty((groups, outputs, n, p.positions), x.dtype)
            windows, results = p.windows(view, padded), p.results(view, products)
        inside[...] = x[start : start + n]
        gathered[...] = windows
        columns = n * p.positions
        xp.matmul(
            matrix,
            gathered.reshape(groups, p.rows, columns),
            out=products.reshape(groups, outputs, columns),
        )
        if bias is not None:
            products += column  # here, where rows are long, and not on the way out
        shaped[start : start + n] = results
    return result


def convolve_backward(xp, grad, x, w, plan, need_input, need_weight):
    """Return the gradients of the input and of the weight of a convolution.

    `x` is not looked at unless `need_weight`, `w` not unless `need_input`.
    """
    p = plan
    groups, outputs = p.groups, p.outputs
    dtype = grad.dtype
    grad_x = xp.empty((p.count, p.channels, *p.inner), dtype) if need_input else None
    grad_w = None
    weight_shape = (groups * outputs, p.per_group, *p.kernel)
    if grad.size == 0 or p.count == 0:
        if need_input:
            grad_x[...] = 0
        return grad_x, xp.zeros(weight_shape, dtype) if need_weight else None
    if need_input:
        matrix = contiguous(xp, w).reshape(groups, outputs, p.rows).swapaxes(1, 2)
    if p.pointwise and groups == 1:
        grad = contiguous(xp, grad).reshape(p.count, outputs, p.positions)
        if need_input:
            flat = grad_x.reshape(p.count, p.per_group, p.positions)
            xp.matmul(matrix[0], grad, out=flat)
        if need_weight:
            x = contiguous(xp, x).reshape(p.count, p.per_group, p.positions)
            grad_w = xp.matmul(grad, x.swapaxes(1, 2)).sum(0).reshape(weight_shape)
        return grad_x, grad_w
    view = _strided(xp)
    if need_input and outputs <= 2 * p.per_group and all(s == 1 for s in p.stride):
        turned = _turned(p, dtype.itemsize)
        if turned is not None:
            return _convolve_backward_turned(xp, view, grad, x, w, p, turned, grad_x, need_weight)
    grad = grad.reshape(p.count, groups, outputs, *p.out)
    # Sums are faster over products this way round; what is one chunk needs none, and is the weight's gradient as it is.
    whole = p.chunk == p.count
    if need_weight and not whole:
        grad_w = xp.zeros((groups, p.rows, outputs), dtype)
    for start in range(0, p.count, p.chunk):
        n = min(p.chunk, p.count - start)
        if start == 0 or n < p.chunk:
            memory, padded = p.buffer(xp, n, dtype)
            inside = padded[p.interior()]
            gathered = xp.empty(p.gather_shape(n), dtype)
            gradients = xp.zeros((groups, outputs, n, p.positions), dtype)
            windows, results = p.windows(view, padded), p.results(view, gradients)
            columns = n * p.positions
            rows = gathered.reshape(groups, p.rows, columns)
            flat_gradients = gradients.reshape(groups, outputs, columns)
        results[...] = grad[start : start + n]
        if need_weight:
            inside[...] = x[start : start + n]
            gathered[...] = windows
            if whole:
                grad_w = xp.matmul(flat_gradients, rows.swapaxes(1, 2))
            else:
                grad_w += xp.matmul(rows, flat_gradients.swapaxes(1, 2))
        if need_input:
            xp.matmul(matrix, flat_gradients, out=rows)
            memory[...] = 0
            for offset in product(*map(range, p.kernel)):
                index = (slice(None), slice(None), *offset)
                target = windows[index]
                xp.add(target, gathered[index], out=target)
            grad_x[start : start + n] = inside
            if need_weight:
                memory[...] = 0
    if need_weight:
        if not whole:
            grad_w = grad_w.swapaxes(1, 2)
        grad_w = xp.ascontiguousarray(grad_w).reshape(weight_shape)
    return grad_x, grad_w


def _turned(p, itemsize):
    """Return the plan of the convolution of the gradient that gives the input's gradient.

    None where that would need negative padding, or where the gradient was cut short.
    """
    padding = tuple(
        d * (k - 1) - q for d, k, q in zip(p.dilation, p.kernel, p.padding, strict=True)
    )
    if min(padding) < 0:
        return None
    turned = _Plan(
        (p.count, p.groups * p.outputs, *p.out),
        (p.channels, p.outputs, *p.kernel),
        p.stride, padding, p.dilation, p.groups, itemsize,
    )  # fmt: skip
    return turned if turned.out == p.inner and turned.flat else None


def _convolve_backward_turned(xp, view, grad, x, w, p, t, grad_x, need_weight):
    """Return the gradients of a convolution of stride 1 by windows of the gradient.

    `t` is the plan of the turned convolution; its channels are the outputs of `p`.
    """
    groups, dtype = p.groups, grad.dtype
    d = len(p.kernel)
    flipped = (slice(None, None, -1),) * d
    shaped = w.reshape(groups, p.outputs, p.per_group, *p.kernel)
    matrix = xp.ascontiguousarray(shaped.swapaxes(1, 2)[(..., *flipped)])
    matrix = matrix.reshape(groups, p.per_group, t.rows)
    out = grad_x.reshape(p.count, groups, p.per_group, *p.inner)
    grad_w = None
    if need_weight:
        x = x.reshape(p.count, groups, p.per_group, *p.inner)
    for start in range(0, p.count, t.chunk):
        n = min(t.chunk, p.count - start)
        if start == 0 or n < t.chunk:
            _, padded = t.buffer(xp, n, dtype)
            inside, windows = padded[t.interior()], t.windows(view, padded)
            gathered = xp.empty(t.gather_shape(n), dtype)
            columns = n * t.positions
            rows = gathered.reshape(groups, t.rows, columns)
            images = xp.zeros((groups, p.per_group, n, t.positions), dtype)
            products = xp.empty((groups, p.per_group, n, t.positions), dtype)
            results, inputs = t.results(view, products), t.results(view, images)
            flat_products = products.reshape(groups, p.per_group, columns)
            flat_images = images.reshape(groups, p.per_group, columns).swapaxes(1, 2)
        inside[...] = grad[start : start + n]
        gathered[...] = windows
        xp.matmul(matrix, rows, out=flat_products)
        out[start : start + n] = results
        if need_weight:
            inputs[...] = x[start : start + n]
            found = xp.matmul(rows, flat_images)
            grad_w = found if grad_w is None else xp.add(grad_w, found, out=grad_w)
    if need_weight:
        grad_w = grad_w.reshape(groups, p.outputs, *p.kernel, p.per_group)
        grad_w = xp.moveaxis(grad_w[(slice(None), slice(None), *flipped)], -1, 2)
        grad_w = xp.ascontiguousarray(grad_w).reshape(w.shape)
    return grad_x, grad_w


def _same_float(*arrays):
    """Raise unless the arrays have one dtype."""
    dtype = arrays[0].dtype
    for a in arrays[1:]:
        if a is not None and a.dtype != dtype:
            raise ValueError("dtypes differ")


def _full(values, count):
    return tuple(values) * count if len(values) == 1 else tuple(values)


def _transposed_shape(x_shape, w_shape, stride, padding, output_padding, dilation, groups):
    spatial = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, o, d in zip(
            x_shape[2:], w_shape[2:], stride, padding, output_padding, dilation, strict=True
        )
    )
    return (x_shape[0], w_shape[1] * groups, *spatial)


@array_kernel("convolution")
def convolution_kernel(
    xp, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    """Convolve; the result is channels-last where the input or the weight is."""
    result = _convolution(
        xp, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
    for operand in (input, weight):
        if may_be_formatted(operand):
            formatted = in_format_of(xp, operand, result)
            if formatted is not result:
                return formatted
    return result


def _convolution(
    xp, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    _same_float(input, weight, bias)
    if is_low_precision(input.dtype):
        wide = _convolution(
            xp, widen(input), widen(weight), widen(bias), stride, padding, dilation,
            transposed, output_padding, groups,
        )  # fmt: skip
        return wide.astype(input.dtype)
    d = input.ndim - 2
    stride, padding, dilation = _full(stride, d), _full(padding, d), _full(dilation, d)
    _check_sizes(input.shape, weight.shape, bias, stride, padding, dilation, transposed, groups)
    itemsize = input.dtype.itemsize
    if not transposed:
        plan = _Plan(input.shape, weight.shape, stride, padding, dilation, groups, itemsize)
        if min(plan.out) <= 0:
            raise ValueError("kernel larger than input")
        return convolve(xp, input, weight, bias, plan)
    output_padding = _full(output_padding, d)
    shape = _transposed_shape(
        input.shape, weight.shape, stride, padding, output_padding, dilation, groups
    )
    if min(shape[2:]) <= 0:
        raise ValueError("output would be empty")
    if not all(o < max(s, t) for o, s, t in zip(output_padding, stride, dilation, strict=True)):
        raise ValueError("output padding too large")
    plan = _Plan(
        shape, weight.shape, stride, padding, dilation, groups, itemsize, input.shape[2:]
    )
    result, _ = convolve_backward(xp, input, None, weight, plan, True, False)
    if bias is not None:
        result += bias.reshape(-1, *(1,) * d)
    return result


def _check_sizes(x_shape, w_shape, bias, stride, padding, dilation, transposed, groups):
    channels = w_shape[0] if transposed else w_shape[1] * groups
    outputs = w_shape[1] * groups if transposed else w_shape[0]
    if (
        len(x_shape) != len(w_shape)
        or x_shape[1] != channels
        or groups <= 0
        or w_shape[0] % groups
        or w_shape[0] == 0
        or (bias is not None and bias.shape != (outputs,))
        or not len(stride) == len(padding) == len(dilation) == len(x_shape) - 2
        or min(stride) <= 0
        or min(padding) < 0
        or min(dilation) <= 0
    ):
        raise ValueError("sizes do not fit")


@array_kernel("convolution_backward")
def convolution_backward_kernel(
    xp, grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed,
    output_padding, groups, output_mask,
):  # fmt: skip
    _same_float(grad_output, input, weight)
    if is_low_precision(input.dtype):
        wide = convolution_backward_kernel(
            xp, widen(grad_output), widen(input), widen(weight), bias_sizes, stride, padding,
            dilation, transposed, output_padding, groups, output_mask,
        )  # fmt: skip
        return rounded(wide, input.dtype)
    d = input.ndim - 2
    stride, padding, dilation = _full(stride, d), _full(padding, d), _full(dilation, d)
    need_input, need_weight, need_bias = output_mask
    itemsize = input.dtype.itemsize
    grad_input = grad_weight = grad_bias = None
    if need_bias:
        grad_bias = _channel_sums(xp, grad_output)
    if transposed:
        # The roles of input and gradient are exchanged.
        plan = _Plan(
            grad_output.shape, weight.shape, stride, padding, dilation, groups, itemsize,
            input.shape[2:],
        )  # fmt: skip
        if need_input:
            grad_input = convolve(xp, grad_output, weight, None, plan)
        if need_weight:
            _, grad_weight = convolve_backward(
                xp, input, grad_output, None, plan, False, True
            )
    elif need_input or need_weight:
        plan = _Plan(input.shape, weight.shape, stride, padding, dilation, groups, itemsize)
        grad_input, grad_weight = convolve_backward(
            xp, grad_output, input, weight, plan, need_input, need_weight
        )
    return grad_input, grad_weight, grad_bias


def _channel_sums(xp, grad):
    """Return sums over all but dimension 1: along rows first, which NumPy does pairwise."""
    if grad.flags.c_contiguous and grad.size:
        grad = grad.reshape(grad.shape[0], grad.shape[1], -1)
        return xp.add.reduce(xp.add.reduce(grad, axis=2), axis=0)
    return grad.sum(axis=(0, *range(2, grad.ndim)))


# ---------------------------------------------------------------- unfold and fold


def _window_plan(shape, kernel_size, dilation, padding, stride, itemsize):
    kernel = _full(kernel_size, 2)
    plan = _Plan(
        shape, (1, shape[1], *kernel), _full(stride, 2), _full(padding, 2),
        _full(dilation, 2), 1, itemsize,
    )  # fmt: skip
    plan.flat = False
    plan.positions = prod(plan.out)
    return plan


@array_kernel("im2col")
def im2col_kernel(xp, self, kernel_size, dilation, padding, stride):
    if self.ndim == 3:
        return im2col_kernel(xp, self[None], kernel_size, dilation, padding, stride)[0]
    n, channels = self.shape[:2]
    plan = _window_plan(self.shape, kernel_size, dilation, padding, stride, self.itemsize)
    if min(plan.out) <= 0:
        raise ValueError("empty")
    _, padded = plan.buffer(xp, n, self.dtype)
    padded[plan.interior()] = self
    windows = plan.windows(_strided(xp), padded)[0]
    result = xp.empty((n, channels, *plan.kernel, *plan.out), self.dtype)
    result[...] = windows.transpose(3, 0, 1, 2, 4, 5)
    return result.reshape(n, channels * prod(plan.kernel), plan.positions)


@array_kernel("col2im")
def col2im_kernel(xp, self, output_size, kernel_size, dilation, padding, stride):
    fold = _fold if self.dtype.kind == "c" else _fold_floats
    return fold(xp, self, output_size, kernel_size, dilation, padding, stride)


def _fold(xp, self, output_size, kernel_size, dilation, padding, stride):
    if self.ndim == 2:
        return _fold(
            xp, self[None], output_size, kernel_size, dilation, padding, stride
        )[0]
    n = self.shape[0]
    kernel = _full(kernel_size, 2)
    channels = self.shape[1] // prod(kernel)
    shape = (n, channels, *output_size)
    plan = _window_plan(shape, kernel, dilation, padding, stride, self.itemsize)
    _, padded = plan.buffer(xp, n, self.dtype)
    windows = plan.windows(_strided(xp), padded)[0]
    columns = self.reshape(n, channels, *kernel, *plan.out).transpose(1, 2, 3, 0, 4, 5)
    for i, j in product(*map(range, kernel)):
        windows[:, i, j] += columns[:, i, j]
    return xp.ascontiguousarray(padded[plan.interior()])


_fold_floats = float_kernel(_fold)
