"""Kernels of the activations and their backward operators.

Branches are computed without `where` where that is possible without changing what NaN and
infinity give: NumPy's masked selection costs several passes.
"""

from __future__ import annotations

import math
from math import erf as erf_of
from math import exp, inf, log

from minitorch.backends.array.common import SMALL, constant, is_low_precision, ones_vector
from minitorch.backends.array.precision import float_kernel, rounded, widen
from minitorch.backends.array.registry import array_kernel
from minitorch.backends.array.special import BLOCK, ERF_TANH, erf, horner

# Note [Blocks]
# A chain of ufuncs over a large array runs block by block, so that what one pass wrote is
# still in the cache when the next reads it.


def in_blocks(xp, chain, arrays):
    """Apply `chain(xp, out, *parts)` to equal parts of `arrays` and return the result."""
    first = arrays[0]
    if first.ndim == 0:
        return in_blocks(xp, chain, [a.reshape(1) for a in arrays]).reshape(())
    if first.size <= BLOCK or not all(a.flags.c_contiguous for a in arrays):
        out = xp.empty_like(first)
        chain(xp, out, *arrays)
        return out
    out = xp.empty(first.shape, first.dtype)
    flat_out = out.reshape(-1)
    flats = [a.reshape(-1) for a in arrays]
    for start in range(0, first.size, BLOCK):
        stop = start + BLOCK
        chain(xp, flat_out[start:stop], *[a[start:stop] for a in flats])
    return out


def masked_bits(xp, array, mask):
    """Return float32 or float64 `array` where `mask` holds and +0.0 elsewhere."""
    integer = xp.int32 if array.dtype.itemsize == 4 else xp.int64
    return xp.multiply(array.view(integer), mask).view(array.dtype)


# ---------------------------------------------------------------- relu and thresholds

_zeros: dict = {}


def _zero_block(xp, dtype):
    found = _zeros.get((xp, dtype))
    if found is None:
        found = _zeros[xp, dtype] = xp.zeros(BLOCK, dtype)
    return found


@array_kernel("relu")
def relu_kernel(xp, self):
    """Take the maximum with an array of zeros: NumPy's loop for a scalar is not vectorized."""
    dtype = self.dtype
    size = self.size
    if size > BLOCK and self.flags.c_contiguous:
        zeros = _zero_block(xp, dtype)
        out = xp.empty(self.shape, dtype)
        flat, flat_out = self.reshape(-1), out.reshape(-1)
        whole = size - size % BLOCK
        xp.maximum(
            flat[:whole].reshape(-1, BLOCK), zeros, out=flat_out[:whole].reshape(-1, BLOCK)
        )
        if whole != size:
            xp.maximum(flat[whole:], zeros[: size - whole], out=flat_out[whole:])
        return out
    if dtype.kind in "cb":
        raise ValueError("not an ordered type")
    return xp.maximum(self, constant(xp, 0, dtype))


@array_kernel("threshold")
def threshold_kernel(xp, self, threshold, value):
    dtype = self.dtype
    if dtype.kind in "cb":
        raise ValueError("not an ordered type")
    return xp.where(widen(self) <= threshold, dtype.type(value), self)


@array_kernel("threshold_backward")
def threshold_backward_kernel(xp, grad_output, self, threshold):
    """Multiply the bits of the gradient with the mask.

    `where` is slow, and a product of floats with the mask would make NaN of infinite gradients.
    """
    char = grad_output.dtype.char
    if char in "fd" and self.dtype.char == char:
        keep = xp.less_equal(self, threshold)
        keep = xp.logical_not(keep, out=keep if keep.ndim else None)
        return masked_bits(xp, grad_output, keep)
    return xp.where(widen(self) <= threshold, grad_output.dtype.type(0), grad_output)


@array_kernel("hardtanh")
def hardtanh_kernel(xp, self, min_val=-1, max_val=1):
    dtype = self.dtype
    if dtype.kind in "cb" or (dtype.kind == "u" and min_val < 0):
        raise ValueError("not an ordered type")
    return xp.minimum(xp.maximum(self, dtype.type(min_val)), dtype.type(max_val))


@array_kernel("hardtanh_backward")
def hardtanh_backward_kernel(xp, grad_output, self, min_val, max_val):
    zero = grad_output.dtype.type(0)
    return xp.where((self > min_val) & (self < max_val), grad_output, zero)


@array_kernel("hardshrink")
@float_kernel
def hardshrink_kernel(xp, self, lambd=0.5):
    return xp.where(xp.absolute(self) <= lambd, self.dtype.type(0), self)


@array_kernel("hardshrink_backward", "softshrink_backward")
@float_kernel
def shrink_backward_kernel(xp, grad_out, self, lambd):
    return xp.where(xp.absolute(self) > lambd, grad_out, grad_out.dtype.type(0))


@array_kernel("softshrink")
@float_kernel
def softshrink_kernel(xp, self, lambd=0.5):
    if not lambd >= 0:
        raise ValueError("negative threshold")
    return self - xp.clip(self, -lambd, lambd)


# ---------------------------------------------------------------- leaky and exponential units


@array_kernel("leaky_relu")
@float_kernel
def leaky_relu_kernel(xp, self, negative_slope=0.01):
    scaled = self * negative_slope
    if 0 < negative_slope <= 1:
        return xp.maximum(self, scaled, out=_as_out(xp, scaled))
    return xp.where(self > 0, self, scaled)


def _as_out(xp, array):
    """Return `array` where it can be written, None where it is a scalar."""
    return array if array.ndim else None


@array_kernel("leaky_relu_backward")
@float_kernel
def leaky_relu_backward_kernel(xp, grad_output, self, negative_slope, self_is_result):
    return xp.where(self > 0, grad_output, grad_output * negative_slope)


@array_kernel("_prelu_kernel")
@float_kernel
def prelu_kernel(xp, self, weight):
    return xp.where(self > 0, self, self * weight)


@array_kernel("_prelu_kernel_backward")
@float_kernel
def prelu_kernel_backward(xp, grad_output, self, weight):
    positive = self > 0
    zero = grad_output.dtype.type(0)
    grad_self = xp.where(positive, grad_output, grad_output * weight)
    return grad_self, xp.where(positive, zero, grad_output * self)


@array_kernel("elu")
@float_kernel
def elu_kernel(xp, self, alpha=1, scale=1, input_scale=1):
    return _elu(xp, self, alpha, scale, input_scale)


def _elu(xp, self, alpha, scale, input_scale):
    negative = xp.expm1(xp.minimum(self, self.dtype.type(0)) * input_scale)
    return xp.where(self > 0, self * scale, negative * (alpha * scale))


@array_kernel("elu_backward")
@float_kernel
def elu_backward_kernel(
    xp, grad_output, alpha, scale, input_scale, is_result, self_or_result
):
    x = self_or_result
    if is_result:
        slope = (x + alpha * scale) * input_scale
    else:
        slope = xp.exp(xp.minimum(x, x.dtype.type(0)) * input_scale)
        slope = slope * (alpha * scale * input_scale)
    return grad_output * xp.where(x <= 0, slope, x.dtype.type(scale))


# ---------------------------------------------------------------- smooth units

# Note [Gelu by one exponential]
# The normal distribution function is 1 / (1 + exp(-2 z)) with tanh(z) = erf(x / sqrt(2)), and z
# is x times a polynomial of x * x (note [erf by tanh] in special.py).  So gelu is
# x / (1 + exp(x * GELU(x * x))).
_GELU = tuple(
    -c / (math.sqrt(0.5) * 2.0 ** (len(ERF_TANH) - 1 - i)) for i, c in enumerate(ERF_TANH)
)
_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
_INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
_TANH_CUBIC = 0.044715


def _exp_of_tail(xp, x, out):
    """Write ``1 + exp(x * GELU(x * x))``, the inverse of the normal distribution function."""
    horner(xp, _GELU, xp.multiply(x, x), out)
    xp.multiply(out, x, out=out)
    xp.exp(out, out=out)
    xp.add(out, 1.0, out=out)


def _gelu_chain(xp, out, x):
    _exp_of_tail(xp, x, out)
    xp.divide(x, out, out=out)


def _gelu_tanh_chain(xp, out, x):
    # 0.5 x (1 + tanh(z)) is x / (1 + exp(-2 z))
    xp.multiply(x, x, out=out)
    xp.multiply(out, -2.0 * _SQRT_2_OVER_PI * _TANH_CUBIC, out=out)
    xp.add(out, -2.0 * _SQRT_2_OVER_PI, out=out)
    xp.multiply(out, x, out=out)
    xp.exp(out, out=out)
    xp.add(out, 1.0, out=out)
    xp.divide(x, out, out=out)


@array_kernel("gelu")
def gelu_kernel(xp, self, *, approximate="none"):
    char = self.dtype.char
    if char == "f":
        if approximate == "none":
            if self.size <= _TINY and self.flags.c_contiguous:
                values = self.reshape(-1).tolist()
                result = [0.5 * v * (1.0 + erf_of(v * _SQRT_HALF)) for v in values]
                return xp.array(result, self.dtype).reshape(self.shape)
            result = in_blocks(xp, _gelu_chain, (self,))
        elif approximate == "tanh":
            result = in_blocks(xp, _gelu_tanh_chain, (self,))
        else:
            raise ValueError(approximate)
        return result
    if char == "d":
        if approximate == "none":
            return self * (0.5 * (1.0 + erf(xp, self * _SQRT_HALF)))
        if approximate == "tanh":
            return in_blocks(xp, _gelu_tanh_chain, (self,))
        raise ValueError(approximate)
    if is_low_precision(self.dtype):
        return gelu_kernel(xp, widen(self), approximate=approximate).astype(self.dtype)
    raise ValueError("not a floating type")


def _gelu_backward_chain(xp, out, grad, x):
    _exp_of_tail(xp, x, out)
    xp.reciprocal(out, out=out)
    density = xp.multiply(x, x)
    xp.multiply(density, -0.5, out=density)
    xp.exp(density, out=density)
    xp.multiply(density, _INV_SQRT_2PI, out=density)
    xp.multiply(density, x, out=density)
    xp.add(out, density, out=out)
    xp.multiply(out, grad, out=out)


def _gelu_backward_tanh_chain(xp, out, grad, x):
    # s + x s (1 - s) w with s = 1 / (1 + exp(-2 z)) and w = 2 dz/dx
    square = xp.multiply(x, x)
    xp.multiply(square, -2.0 * _SQRT_2_OVER_PI * _TANH_CUBIC, out=out)
    xp.add(out, -2.0 * _SQRT_2_OVER_PI, out=out)
    xp.multiply(out, x, out=out)
    xp.exp(out, out=out)
    xp.add(out, 1.0, out=out)
    xp.reciprocal(out, out=out)
    xp.multiply(square, 6.0 * _SQRT_2_OVER_PI * _TANH_CUBIC, out=square)
    xp.add(square, 2.0 * _SQRT_2_OVER_PI, out=square)
    xp.multiply(square, x, out=square)
    rest = xp.subtract(1.0, out)
    xp.multiply(square, rest, out=square)
    xp.multiply(square, out, out=square)
    xp.add(out, square, out=out)
    xp.multiply(out, grad, out=out)


@array_kernel("gelu_backward")
def gelu_backward_kernel(xp, grad_output, self, *, approximate="none"):
    char = self.dtype.char
    if char == grad_output.dtype.char and char in "fd":
        if approximate == "tanh":
            return in_blocks(xp, _gelu_backward_tanh_chain, (grad_output, self))
        if approximate != "none":
            raise ValueError(approximate)
        if char == "f":
            return in_blocks(xp, _gelu_backward_chain, (grad_output, self))
        cdf = 0.5 * (1.0 + erf(xp, self * _SQRT_HALF))
        return grad_output * (cdf + self * xp.exp(self * self * -0.5) * _INV_SQRT_2PI)
    if is_low_precision(self.dtype) or is_low_precision(grad_output.dtype):
        wide = gelu_backward_kernel(
            xp, widen(grad_output), widen(self), approximate=approximate
        )
        return wide.astype(grad_output.dtype)
    raise ValueError("not a floating type")


def _logistic(xp, x, out):
    """Write ``1 / (1 + exp(-x))``; exp overflows to infinity, whose inverse is right."""
    xp.negative(x, out=out)
    xp.exp(out, out=out)
    xp.add(out, 1.0, out=out)
    xp.reciprocal(out, out=out)


def _silu_chain(xp, out, x):
    xp.negative(x, out=out)
    xp.exp(out, out=out)
    xp.add(out, 1.0, out=out)
    xp.divide(x, out, out=out)


def _silu_backward_chain(xp, out, grad, x):
    _logistic(xp, x, out)
    rest = xp.subtract(1.0, out)
    xp.multiply(rest, x, out=rest)
    xp.add(rest, 1.0, out=rest)
    xp.multiply(out, rest, out=out)
    xp.multiply(out, grad, out=out)


@array_kernel("silu")
def silu_kernel(xp, self):
    if self.dtype.char in "fdFD":
        return in_blocks(xp, _silu_chain, (self,))
    if is_low_precision(self.dtype):
        return in_blocks(xp, _silu_chain, (widen(self),)).astype(self.dtype)
    raise ValueError("not a floating type")


@array_kernel("silu_backward")
def silu_backward_kernel(xp, grad_output, self):
    if self.dtype.char == grad_output.dtype.char and self.dtype.char in "fdFD":
        return in_blocks(xp, _silu_backward_chain, (grad_output, self))
    if is_low_precision(self.dtype) or is_low_precision(grad_output.dtype):
        wide = silu_backward_kernel(xp, widen(grad_output), widen(self))
        return wide.astype(grad_output.dtype)
    raise ValueError("not a floating type")


def _mish_chain(xp, out, x):
    # tanh(log(1 + e)) is (e^2 + 2 e) / (e^2 + 2 e + 2); it is 1 in float32 beyond 20
    e = xp.exp(xp.minimum(x, 20.0))
    xp.add(e, 2.0, out=out)
    xp.multiply(out, e, out=out)
    xp.divide(out, out + 2.0, out=out)
    xp.multiply(out, x, out=out)


@array_kernel("mish")
@float_kernel
def mish_kernel(xp, self):
    return in_blocks(xp, _mish_chain, (self,))


@array_kernel("mish_backward")
@float_kernel
def mish_backward_kernel(xp, grad_output, self):
    e = xp.exp(xp.minimum(self, 20.0))
    n = (e + 2.0) * e
    t = n / (n + 2.0)
    s = 1.0 / (1.0 + xp.exp(-self))
    return grad_output * (t + self * s * (1.0 - t * t))


@array_kernel("sigmoid_backward")
def sigmoid_backward_kernel(xp, grad_output, output):
    if output.dtype.char not in "fdFD":
        if not is_low_precision(output.dtype):
            raise ValueError("not a floating type")
        wide = sigmoid_backward_kernel(xp, widen(grad_output), widen(output))
        return wide.astype(grad_output.dtype)
    if output.dtype.kind == "c":
        output = xp.conjugate(output)
    result = 1 - output
    result = result * output
    return result * grad_output


@array_kernel("tanh_backward")
def tanh_backward_kernel(xp, grad_output, output):
    if output.dtype.char not in "fdFD":
        if not is_low_precision(output.dtype):
            raise ValueError("not a floating type")
        wide = tanh_backward_kernel(xp, widen(grad_output), widen(output))
        return wide.astype(grad_output.dtype)
    if output.dtype.kind == "c":
        output = xp.conjugate(output)
    if output.ndim == 0:
        return (1 - output * output) * grad_output
    result = output * output
    xp.subtract(1, result, out=result)
    return xp.multiply(result, grad_output, out=result)


@array_kernel("logit_backward")
@float_kernel
def logit_backward_kernel(xp, grad_output, self, eps=None):
    slope = grad_output / (self * (1.0 - self))
    if eps is None:
        return xp.where((self < 0.0) | (self > 1.0), slope.dtype.type(xp.nan), slope)
    return xp.where((self < eps) | (self > 1.0 - eps), slope.dtype.type(0), slope)


@array_kernel("log_sigmoid_forward")
@float_kernel
def log_sigmoid_forward_kernel(xp, self):
    buffer = xp.exp(-xp.absolute(self))
    return xp.minimum(self, self.dtype.type(0)) - xp.log1p(buffer), buffer


@array_kernel("log_sigmoid_backward")
@float_kernel
def log_sigmoid_backward_kernel(xp, grad_output, self, buffer):
    return grad_output * (xp.where(self < 0, self.dtype.type(1), buffer) / (1 + buffer))


@array_kernel("softplus")
@float_kernel
def softplus_kernel(xp, self, beta=1, threshold=20):
    scaled = self * beta
    return xp.where(scaled > threshold, self, xp.log1p(xp.exp(scaled)) / beta)


@array_kernel("softplus_backward")
@float_kernel
def softplus_backward_kernel(xp, grad_output, self, beta, threshold):
    scaled = self * beta
    return xp.where(scaled > threshold, grad_output, grad_output / (1 + xp.exp(-scaled)))


@array_kernel("hardsigmoid")
@float_kernel
def hardsigmoid_kernel(xp, self):
    return xp.clip(self + 3.0, 0.0, 6.0) / 6.0


@array_kernel("hardsigmoid_backward")
@float_kernel
def hardsigmoid_backward_kernel(xp, grad_output, self):
    inside = (self > -3.0) & (self < 3.0)
    return xp.where(inside, grad_output / 6.0, grad_output.dtype.type(0))


@array_kernel("hardswish")
@float_kernel
def hardswish_kernel(xp, self):
    return self * xp.clip(self + 3.0, 0.0, 6.0) / 6.0


@array_kernel("hardswish_backward")
@float_kernel
def hardswish_backward_kernel(xp, grad_output, self):
    middle = grad_output * (self / 3.0 + 0.5)
    result = xp.where(self < 3.0, middle, grad_output)
    return xp.where(self <= -3.0, grad_output.dtype.type(0), result)


# ---------------------------------------------------------------- gated linear unit


def _halves(self, dim):
    n = self.shape[dim] // 2
    before = (slice(None),) * (dim if dim >= 0 else dim + self.ndim)
    return self[(*before, slice(None, n))], self[(*before, slice(n, None))]


@array_kernel("glu")
@float_kernel
def glu_kernel(xp, self, dim=-1):
    if self.ndim == 0 or self.shape[dim] % 2:
        raise ValueError("odd size")
    a, b = _halves(self, dim)
    gate = xp.exp(-b)
    gate += 1.0
    return xp.divide(a, gate, out=gate)


@array_kernel("glu_backward")
@float_kernel
def glu_backward_kernel(xp, grad_output, self, dim):
    a, b = _halves(self, dim)
    out = xp.empty(self.shape, self.dtype)
    grad_a, grad_b = _halves(out, dim)
    gate = 1.0 / (1.0 + xp.exp(-b))
    xp.multiply(grad_output, gate, out=grad_a)
    xp.multiply(grad_a, (1.0 - gate) * a, out=grad_b)
    return out


# ---------------------------------------------------------------- softmax

# Note [Softmax without row maxima]
# A row's maximum keeps exp from overflowing.  The maximum of the whole array does as well, and
# costs a tenth as much where rows are short; rows so far below it that their sum loses digits
# show in the sums, and then the row maxima are taken after all.
_SHORT_ROW = 256
_MANY = 1024
_LEAST_SUM = 1e-8
_LARGE_SHIFT = 16


def _row_sum(xp, array):
    """Return sums over the last dimension (kept) of a contiguous array: one product by BLAS."""
    n = array.shape[-1]
    return (array.reshape(-1, n) @ xp.ones(n, array.dtype)).reshape(*array.shape[:-1], 1)


def _tiny_softmax(xp, self, dim, logarithm):
    """Return the (log-)softmax of a tiny array over its last dimension, by Python's arithmetic; None if it is not so simple.

    NumPy's fixed cost of several calls exceeds that of a few numbers in Python, which also rounds only once.
    """
    ndim = self.ndim
    if dim not in (-1, ndim - 1) or not self.flags.c_contiguous:
        return None
    values = self.reshape(-1).tolist()
    count = self.shape[-1]
    if not (max(values) < 300.0 and min(values) > -300.0):
        return None  # exp of a double neither overflows nor vanishes in between
    result = []
    for start in range(0, len(values), count):
        row = values[start : start + count]
        exps = [exp(v) for v in row]
        total = sum(exps)
        if not 0.0 < total < inf:
            return None  # NaN or infinity among the values
        if logarithm:
            shift = log(total)
            result += [v - shift for v in row]
        else:
            result += [e / total for e in exps]
    return xp.array(result, self.dtype).reshape(self.shape)


_TINY = 16


def _tiny_exp(xp, self, dim):
    """Return ``exp(self)`` and its sums along the last dimension, where that is safe for a tiny array; else None.

    Elements between -16 and 16 need no shift.  Python finds the extrema of so few numbers
    sooner than a NumPy reduction starts.
    """
    if dim not in (1, -1) or self.ndim != 2 or not self.flags.c_contiguous:
        return None
    values = self.reshape(-1).tolist()
    if not (max(values) <= 16.0 and min(values) >= -16.0) or values[0] != values[0]:
        return None
    out = xp.exp(self)
    return out, out.dot(ones_vector(xp, self.shape[1], self.dtype))[:, None]


def _shifted_exp(xp, self, dim):
    """Return `shift`, ``exp(self - shift)`` and its sums along `dim`."""
    if self.size <= SMALL:
        tiny = _tiny_exp(xp, self, dim)
        if tiny is not None:
            return None, tiny[0], tiny[1]
    out = xp.empty(self.shape, self.dtype)
    short = (
        self.size >= _MANY
        and self.shape[dim] <= _SHORT_ROW
        and dim in (-1, self.ndim - 1)
        and self.flags.c_contiguous
    )
    if short:
        shift = self.max()
        xp.subtract(self, shift, out=out)
        xp.exp(out, out=out)
        total = _row_sum(xp, out)
        if total.min() >= _LEAST_SUM:
            return shift, out, total
    shift = xp.maximum.reduce(self, axis=dim, keepdims=True)
    xp.subtract(self, shift, out=out)
    xp.exp(out, out=out)
    if short:
        return shift, out, _row_sum(xp, out)
    return shift, out, xp.add.reduce(out, axis=dim, keepdims=True)


@array_kernel("_softmax")
def softmax_kernel(xp, self, dim, half_to_float):
    dtype = self.dtype
    if dtype.char not in "fd":
        if not is_low_precision(dtype):
            raise ValueError("not a floating type")
        wide = softmax_kernel(xp, widen(self), dim, False)
        return wide if half_to_float else wide.astype(dtype)
    if self.size == 0 or self.ndim == 0:
        if not -max(self.ndim, 1) <= dim < max(self.ndim, 1):
            raise ValueError("no such dimension")
        return xp.ones_like(self) + (self - self)
    if self.size <= _TINY:
        tiny = _tiny_softmax(xp, self, dim, False)
        if tiny is not None:
            return tiny
    _, out, total = _shifted_exp(xp, self, dim)
    return xp.divide(out, total, out)


@array_kernel("_log_softmax")
def log_softmax_kernel(xp, self, dim, half_to_float):
    dtype = self.dtype
    if dtype.char not in "fd":
        if not is_low_precision(dtype):
            raise ValueError("not a floating type")
        wide = log_softmax_kernel(xp, widen(self), dim, False)
        return wide if half_to_float else wide.astype(dtype)
    if self.size == 0 or self.ndim == 0:
        if not -max(self.ndim, 1) <= dim < max(self.ndim, 1):
            raise ValueError("no such dimension")
        return self - self
    if self.size <= _TINY:
        tiny = _tiny_softmax(xp, self, dim, True)
        if tiny is not None:
            return tiny
    shift, out, total = _shifted_exp(xp, self, dim)
    xp.log(total, total)
    if shift is None:
        return xp.subtract(self, total, out)
    if shift.ndim or abs(shift) > _LARGE_SHIFT:
        # One pass more, but no digits lost where the shift is large.
        xp.subtract(self, shift, out=out)
        return xp.subtract(out, total, out=out)
    total += shift
    return xp.subtract(self, total, out=out)


@array_kernel("_softmax_backward_data")
def softmax_backward_data_kernel(xp, grad_output, output, dim, input_dtype):
    if output.dtype.char not in "fd" or input_dtype.np != output.dtype:
        wide = _softmax_backward(xp, widen(grad_output), widen(output), dim)
        return rounded(wide, input_dtype.np)
    return _softmax_backward(xp, grad_output, output, dim)


def _softmax_backward(xp, grad_output, output, dim):
    if output.size == 0 or output.ndim == 0:
        return xp.zeros(output.shape, output.dtype)
    if dim in (-1, output.ndim - 1):
        weighted = xp.vecdot(grad_output, output)[..., None]
        result = xp.subtract(grad_output, weighted)
    else:
        result = xp.multiply(grad_output, output)
        weighted = xp.add.reduce(result, axis=dim, keepdims=True)
        xp.subtract(grad_output, weighted, out=result)
    return xp.multiply(result, output, out=result)


@array_kernel("_log_softmax_backward_data")
def log_softmax_backward_data_kernel(xp, grad_output, output, dim, input_dtype):
    if output.dtype.char not in "fd" or input_dtype.np != output.dtype:
        wide = _log_softmax_backward(xp, widen(grad_output), widen(output), dim)
        return rounded(wide, input_dtype.np)
    return _log_softmax_backward(xp, grad_output, output, dim)


def _log_softmax_backward(xp, grad_output, output, dim):
    if output.size == 0 or output.ndim == 0:
        return xp.zeros(output.shape, output.dtype)
    result = xp.exp(output)
    if dim in (-1, output.ndim - 1) and grad_output.flags.c_contiguous:
        total = _row_sum(xp, grad_output)
    else:
        total = xp.add.reduce(grad_output, axis=dim, keepdims=True)
    xp.multiply(result, total, out=result)
    return xp.subtract(grad_output, result, out=result)
