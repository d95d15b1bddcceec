# cython: cdivision=True, nonecheck=True
"""Elementwise loops (Note [Loops for small operands] in `small`); types in `pointwise.pxd`."""
# ruff: noqa: F821 (elements and mathematical functions are declared in the .pxd files)

from __future__ import annotations

from minitorch.backends.array.binding import Loop
from minitorch.tensor.base import TensorBase

loops_import()

# NumPy's vector loops overtake these beyond so many elements: of arithmetic, of functions.
_ARITHMETIC = 2048
_FUNCTIONS = 64
# The loops through exp are vectorized themselves.
_ALL = 1 << 62
# Integers up to here are float32 numbers.
_EXACT = 1 << 24

NEG, EXP, LOG, TANH, SIGMOID, RELU, SQRT, ABS = 0, 1, 2, 3, 4, 5, 6, 7
SQUARE, RECIPROCAL, RSQRT, SIN, COS, SILU, GELU, COPY = 8, 9, 10, 11, 12, 13, 14, 15
ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM = 0, 1, 2, 3, 4, 5
SIGMOID_BACKWARD, TANH_BACKWARD = 6, 7
EQ, NE, LT, LE, GT, GE = 0, 1, 2, 3, 4, 5


def unary(code, x, out, n):
    """Apply function `code` to `n` elements."""
    if code == NEG:
        for i in range(n):
            out[i] = -x[i]
    elif code == EXP:
        loops_exp_row(x, 0.0, out, n)
    elif code == LOG:
        for i in range(n):
            out[i] = logf(x[i])
    elif code == TANH:
        for i in range(n):
            out[i] = tanhf(x[i])
    elif code == SIGMOID:
        loops_sigmoid_row(x, out, n)
    elif code == RELU:
        for i in range(n):
            out[i] = 0.0 if x[i] < 0 else x[i]  # NaN stays, and -0.0
    elif code == SQRT:
        for i in range(n):
            out[i] = sqrtf(x[i])
    elif code == ABS:
        for i in range(n):
            out[i] = fabsf(x[i])
    elif code == SQUARE:
        for i in range(n):
            out[i] = x[i] * x[i]
    elif code == RECIPROCAL:
        for i in range(n):
            out[i] = 1.0 / x[i]
    elif code == RSQRT:
        for i in range(n):
            out[i] = 1.0 / sqrtf(x[i])
    elif code == SIN:
        for i in range(n):
            out[i] = sinf(x[i])
    elif code == COS:
        for i in range(n):
            out[i] = cosf(x[i])
    elif code == SILU:
        loops_silu_row(x, out, n)
    elif code == GELU:
        for i in range(n):
            out[i] = 0.5 * x[i] * (1.0 + erff(x[i] * 0.70710678118654752440))
    else:
        for i in range(n):
            out[i] = x[i]


def binary(code, x, y, out, n):
    """Apply function `code` to `n` pairs of elements."""
    if code == ADD:
        for i in range(n):
            out[i] = x[i] + y[i]
    elif code == SUB:
        for i in range(n):
            out[i] = x[i] - y[i]
    elif code == MUL:
        for i in range(n):
            out[i] = x[i] * y[i]
    elif code == DIV:
        for i in range(n):
            out[i] = x[i] / y[i]
    elif code == MAXIMUM:
        for i in range(n):
            v, w = x[i], y[i]
            out[i] = v if v >= w or v != v else w  # a NaN of either side wins
    elif code == MINIMUM:
        for i in range(n):
            v, w = x[i], y[i]
            out[i] = v if v <= w or v != v else w
    elif code == SIGMOID_BACKWARD:
        for i in range(n):
            out[i] = x[i] * (1.0 - y[i]) * y[i]
    else:
        for i in range(n):
            out[i] = x[i] * (1.0 - y[i] * y[i])


def binary_scalar(code, x, v, out, n):
    """Apply function `code`, one of the first four, to `n` elements and one number."""
    if code == ADD:
        for i in range(n):
            out[i] = x[i] + v
    elif code == SUB:
        for i in range(n):
            out[i] = x[i] - v
    elif code == MUL:
        for i in range(n):
            out[i] = x[i] * v
    else:
        for i in range(n):
            out[i] = x[i] / v


def binary_rows(code, x, y, out, n, m):
    """Apply function `code` to `n` elements and `m` that repeat: a row, or one number."""
    if m == 1 and code <= DIV:
        binary_scalar(code, x, y[0], out, n)
        return
    start = 0
    while start < n:
        binary(code, x + start, y, out + start, m)
        start += m


def compare(code, x, y, out, n):
    """Compare `n` pairs of elements."""
    if code == EQ:
        for i in range(n):
            out[i] = x[i] == y[i]
    elif code == NE:
        for i in range(n):
            out[i] = x[i] != y[i]
    elif code == LT:
        for i in range(n):
            out[i] = x[i] < y[i]
    elif code == LE:
        for i in range(n):
            out[i] = x[i] <= y[i]
    elif code == GT:
        for i in range(n):
            out[i] = x[i] > y[i]
    else:
        for i in range(n):
            out[i] = x[i] >= y[i]


def compare_scalar(code, x, v, out, n):
    """Compare `n` elements with one number."""
    if code == EQ:
        for i in range(n):
            out[i] = x[i] == v
    elif code == NE:
        for i in range(n):
            out[i] = x[i] != v
    elif code == LT:
        for i in range(n):
            out[i] = x[i] < v
    elif code == LE:
        for i in range(n):
            out[i] = x[i] <= v
    elif code == GT:
        for i in range(n):
            out[i] = x[i] > v
    else:
        for i in range(n):
            out[i] = x[i] >= v


def is_number(value):
    """Return whether `value` is a Python number (and no bool) that a float32 can stand for."""
    return type(value) is float or (type(value) is int and -_EXACT <= value <= _EXACT)


class UnaryLoop(Loop):
    """A function of one operand."""

    def __init__(self, code, limit=_FUNCTIONS):
        self.code = code
        self.limit = limit

    def run(self, args, kwargs):
        if kwargs or len(args) != 1 or not isinstance(args[0], TensorBase):
            return None
        tensor = args[0]
        source = loops_float(tensor.handle, self.limit)
        if not source:
            return None
        result = loops_new_float(tensor.handle)
        target = loops_float_of(result)
        unary(self.code, source, target, loops_size(result))
        return result


class UnaryInplaceLoop(UnaryLoop):
    """The same, written into the operand."""

    def run(self, args, kwargs):
        if kwargs or len(args) != 1 or not isinstance(args[0], TensorBase):
            return None
        tensor = args[0]
        source = loops_float(tensor.handle, self.limit)
        if not source or not loops_writable(tensor.handle):
            return None
        unary(self.code, source, source, loops_size(tensor.handle))
        return tensor.handle


class BinaryLoop(Loop):
    """A function of two operands; the second may be a number, or the same for each row of the first."""

    def __init__(self, code):
        self.code = code

    def run(self, args, kwargs):
        if kwargs or len(args) != 2 or not isinstance(args[0], TensorBase):
            return None
        first = args[0]
        p = loops_float(first.handle, _ARITHMETIC)
        if not p:
            return None
        other = args[1]
        if isinstance(other, TensorBase):
            second = other
            q = loops_float(second.handle, _ARITHMETIC)
            if not q:
                return None
            n = loops_size(first.handle)
            m = loops_size(second.handle)
            # The gradients of functions come with operands of one shape.
            if not m or not loops_is_tail(first.handle, second.handle) or (m != n and self.code > MINIMUM):
                return None
            result = loops_new_float(first.handle)
            binary_rows(self.code, p, q, loops_float_of(result), n, m)
            return result
        if not is_number(other) or self.code > DIV:
            return None
        result = loops_new_float(first.handle)
        binary_scalar(self.code, p, other, loops_float_of(result), loops_size(result))
        return result


class BinaryInplaceLoop(BinaryLoop):
    """The same, written into the first operand."""

    def run(self, args, kwargs):
        if kwargs or len(args) != 2 or not isinstance(args[0], TensorBase):
            return None
        first = args[0]
        p = loops_float(first.handle, _ARITHMETIC)
        if not p or not loops_writable(first.handle):
            return None
        n = loops_size(first.handle)
        other = args[1]
        if isinstance(other, TensorBase):
            second = other
            q = loops_float(second.handle, _ARITHMETIC)
            if not q:
                return None
            m = loops_size(second.handle)
            # Operands that overlap without being one would be read after they were written.
            if q != p and q < p + n and p < q + m:
                return None
            if not m or not loops_is_tail(first.handle, second.handle) or (m != n and q == p):
                return None
            binary_rows(self.code, p, q, p, n, m)
            return first.handle
        if not is_number(other):
            return None
        binary_scalar(self.code, p, other, p, n)
        return first.handle


class CompareLoop(Loop):
    """A comparison with an operand of the same shape, or a number."""

    def __init__(self, code):
        self.code = code

    def run(self, args, kwargs):
        if kwargs or len(args) != 2 or not isinstance(args[0], TensorBase):
            return None
        first = args[0]
        p = loops_float(first.handle, _ARITHMETIC)
        if not p:
            return None
        other = args[1]
        if isinstance(other, TensorBase):
            second = other
            q = loops_float(second.handle, _ARITHMETIC)
            if not q or not loops_same_shape(first.handle, second.handle):
                return None
            result = loops_new_bool(first.handle)
            compare(self.code, p, q, loops_bool_of(result), loops_size(result))
            return result
        if not is_number(other):
            return None
        result = loops_new_bool(first.handle)
        compare_scalar(self.code, p, other, loops_bool_of(result), loops_size(result))
        return result


class WhereLoop(Loop):
    """``where(condition, x, y)``; `x` and `y` have the condition's shape, or no dimension."""

    def run(self, args, kwargs):
        if kwargs or len(args) != 3:
            return None
        first, second, third = args
        c = loops_bool(first.handle, _ARITHMETIC)
        p = loops_float(second.handle, _ARITHMETIC)
        q = loops_float(third.handle, _ARITHMETIC)
        if not c or not p or not q:
            return None
        steps_p = 1 if loops_ndim(second.handle) else 0
        steps_q = 1 if loops_ndim(third.handle) else 0
        if (steps_p and not loops_same_shape(first.handle, second.handle)) or (
            steps_q and not loops_same_shape(first.handle, third.handle)
        ):
            return None
        result = loops_new_float(first.handle)
        r = loops_float_of(result)
        for i in range(loops_size(result)):
            r[i] = p[i * steps_p] if c[i] else q[i * steps_q]
        return result


class ThresholdBackwardLoop(Loop):
    """``threshold_backward(grad, x, threshold)``: the gradient where `x` exceeds the threshold, else 0."""

    def run(self, args, kwargs):
        if kwargs or len(args) != 3:
            return None
        first, second, value = args
        if not is_number(value):
            return None
        p = loops_float(first.handle, _ARITHMETIC)
        q = loops_float(second.handle, _ARITHMETIC)
        if not p or not q or not loops_same_shape(first.handle, second.handle):
            return None
        v = value
        result = loops_new_float(first.handle)
        r = loops_float_of(result)
        for i in range(loops_size(result)):
            r[i] = 0.0 if q[i] <= v else p[i]
        return result


class MaskedFillLoop(Loop):
    """``masked_fill(x, mask, number)`` with a mask of the same shape."""

    def run(self, args, kwargs):
        if kwargs or len(args) != 3:
            return None
        first, second, value = args
        if not is_number(value):
            return None
        p = loops_float(first.handle, _ARITHMETIC)
        c = loops_bool(second.handle, _ARITHMETIC)
        if not p or not c or not loops_same_shape(first.handle, second.handle):
            return None
        v = value
        if v - v != 0 and value - value == 0:
            return None  # it overflows
        result = loops_new_float(first.handle)
        r = loops_float_of(result)
        for i in range(loops_size(result)):
            r[i] = v if c[i] else p[i]
        return result


LOOPS = {
    "neg": UnaryLoop(NEG, _ARITHMETIC), "exp": UnaryLoop(EXP, _ALL), "log": UnaryLoop(LOG), "tanh": UnaryLoop(TANH),
    "sigmoid": UnaryLoop(SIGMOID, _ALL), "relu": UnaryLoop(RELU, _ARITHMETIC), "sqrt": UnaryLoop(SQRT, _ARITHMETIC),
    "abs": UnaryLoop(ABS, _ARITHMETIC), "square": UnaryLoop(SQUARE, _ARITHMETIC),
    "reciprocal": UnaryLoop(RECIPROCAL, _ARITHMETIC), "rsqrt": UnaryLoop(RSQRT, _ARITHMETIC),
    "sin": UnaryLoop(SIN), "cos": UnaryLoop(COS), "silu": UnaryLoop(SILU, _ALL), "gelu": UnaryLoop(GELU, 256),
    "clone": UnaryLoop(COPY, _ARITHMETIC),
    "neg_": UnaryInplaceLoop(NEG, _ARITHMETIC), "exp_": UnaryInplaceLoop(EXP), "tanh_": UnaryInplaceLoop(TANH),
    "sqrt_": UnaryInplaceLoop(SQRT, _ARITHMETIC),
    "add.Tensor": BinaryLoop(ADD), "sub.Tensor": BinaryLoop(SUB), "mul.Tensor": BinaryLoop(MUL),
    "div.Tensor": BinaryLoop(DIV), "maximum": BinaryLoop(MAXIMUM), "minimum": BinaryLoop(MINIMUM),
    "sigmoid_backward": BinaryLoop(SIGMOID_BACKWARD), "tanh_backward": BinaryLoop(TANH_BACKWARD),
    "add_.Tensor": BinaryInplaceLoop(ADD), "sub_.Tensor": BinaryInplaceLoop(SUB),
    "mul_.Tensor": BinaryInplaceLoop(MUL), "div_.Tensor": BinaryInplaceLoop(DIV),
    "eq.Tensor": CompareLoop(EQ), "ne.Tensor": CompareLoop(NE), "lt.Tensor": CompareLoop(LT),
    "le.Tensor": CompareLoop(LE), "gt.Tensor": CompareLoop(GT), "ge.Tensor": CompareLoop(GE),
    "eq.Scalar": CompareLoop(EQ), "ne.Scalar": CompareLoop(NE), "lt.Scalar": CompareLoop(LT),
    "le.Scalar": CompareLoop(LE), "gt.Scalar": CompareLoop(GT), "ge.Scalar": CompareLoop(GE),
    "threshold_backward": ThresholdBackwardLoop(), "where.self": WhereLoop(), "masked_fill.Scalar": MaskedFillLoop(),
}
