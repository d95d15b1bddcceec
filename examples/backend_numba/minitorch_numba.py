"""The device ``numba``: kernels that Numba compiles for the CPU's cores, in one file.

Pointwise operators are lines of a table; reductions, matrix products, softmax, norms, embeddings, losses and convolutions are
loops.  All of them do float32 and float64, the pointwise ones of the second table integers too; what is left, minitorch runs on
the CPU by itself.  ``python -m minitorch_numba`` trains a small network and prints what that was.
"""

import math

import numpy as np

from minitorch.backends import Backend, NoKernel, fallback_report, register_backend, register_lazy_backend

# Imported by `register`: compiling takes a while to load.
numba = None


class NumbaArray:
    """What a tensor holds: flat memory, and where in it the elements lie."""

    __slots__ = ("dtype", "memory", "offset", "shape", "strides")

    def __init__(self, memory, shape, strides, offset, dtype):
        self.memory, self.shape, self.strides, self.offset, self.dtype = memory, tuple(shape), tuple(strides), offset, dtype

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.dtype.itemsize)


def seen(x):
    """Return the elements of a handle where they are, for a kernel."""
    if x.size == 0:
        return np.empty(x.shape, x.dtype)
    return np.ndarray(x.shape, x.dtype, x.memory, x.offset, x.strides)


def made(array):
    """Return a handle of a new array; one that does not lie row by row is copied."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    return NumbaArray(array.reshape(-1).view(np.uint8), array.shape, array.strides, 0, array.dtype)


class NumbaBackend(Backend):
    """Memory and copies: the seven methods."""

    array_type = NumbaArray

    def nbytes(self, root):
        return root.memory.nbytes

    def offset(self, root, handle):
        return handle.offset

    def strided(self, root, shape, strides, offset, dtype):
        return NumbaArray(root.memory, shape, strides, offset, dtype)

    def allocate(self, nbytes):
        return made(np.empty(nbytes, np.uint8))

    def from_host(self, array, index):
        return made(array.copy())

    def to_host(self, handle):
        return seen(handle)

    def copy_(self, target, source):
        if target.dtype != source.dtype and not (target.dtype.kind in "fiu" and source.dtype.kind in "fiub"):
            raise NoKernel(f"numba does not convert {source.dtype} to {target.dtype}")
        if target.dtype.kind in "iu" and source.dtype.kind == "f":
            raise NoKernel("what a float beyond an integer becomes is the CPU's business")
        np.copyto(seen(target), seen(source), casting="unsafe")


backend = NumbaBackend()


# -- what kernels ask of their operands ------------------------------------------------------------


def check(is_so, reason):
    """Send a call to the CPU unless it is one that a kernel does."""
    if not is_so:
        raise NoKernel(reason)


def floats(*handles):
    """Return handles of one floating dtype as arrays; None stays None."""
    dtypes = {h.dtype for h in handles if h is not None}
    check(len(dtypes) == 1 and dtypes <= {np.dtype(np.float32), np.dtype(np.float64)}, "float32 or float64, and one of them")
    return [None if h is None else seen(h) for h in handles]


def rows(x, dim):
    """Return an array as a matrix whose rows run along a dimension, and what brings a result of its shape back."""
    check(x.ndim and -x.ndim <= dim < x.ndim, "a dimension that is there")
    turned = np.moveaxis(x, dim, -1)
    shape = turned.shape

    def back(matrix):
        return made(np.moveaxis(matrix.reshape(shape), -1, dim))

    return np.ascontiguousarray(turned).reshape(math.prod(shape[:-1]), shape[-1]), back


# -- pointwise ---------------------------------------------------------------------------------------

_ROOT_HALF, _ROOT_2_PI = math.sqrt(0.5), math.sqrt(2 / math.pi)


def _sigmoid(x):
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    e = math.exp(x)
    return e / (1 + e)


def _maximum(x, y):
    return x if x > y or x != x else y


def _minimum(x, y):
    return x if x < y or x != x else y


# Of floating numbers: an operator, and what it does to one element.
FLOATS = {
    "exp": math.exp, "expm1": math.expm1, "sin": math.sin, "cos": math.cos, "tanh": math.tanh, "atan": math.atan,
    "sinh": math.sinh, "cosh": math.cosh, "asinh": math.asinh, "erf": math.erf, "erfc": math.erfc, "floor": np.floor,
    "ceil": np.ceil, "trunc": np.trunc, "sqrt": np.sqrt, "log": np.log, "log1p": np.log1p, "log2": np.log2, "log10": np.log10,
    "tan": math.tan, "asin": np.arcsin, "acos": np.arccos, "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "sigmoid": lambda x: _sigmoid(x),
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1 + math.erf(x * _ROOT_HALF)),
    "gelu_backward": lambda g, x: g * (
        0.5 * (1 + math.erf(x * _ROOT_HALF)) + x * math.exp(-0.5 * x * x) * (0.5 * _ROOT_HALF * _ROOT_2_PI * math.sqrt(2))
    ),
    "hardswish": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "sigmoid_backward": lambda g, y: g * y * (1 - y),
    "tanh_backward": lambda g, y: g * (1 - y * y),
    "silu_backward": lambda g, x: g * _sigmoid(x) * (1 + x * (1 - _sigmoid(x))),
    "threshold_backward": lambda g, x, threshold: 0 if x <= threshold else g,
    "leaky_relu": lambda x, slope: x if x > 0 else x * slope,
    "softplus": lambda x, beta, threshold: x if x * beta > threshold else math.log1p(math.exp(x * beta)) / beta,
    "div.Tensor": lambda x, y: x / y,
    "pow.Tensor_Tensor": lambda x, y: x**y,
    "pow.Tensor_Scalar": lambda x, y: x**y,
    "atan2": math.atan2,
    "lerp.Scalar": lambda x, y, w: x + w * (y - x),
    "addcmul": lambda x, y, z, value: x + value * y * z,
    "addcdiv": lambda x, y, z, value: x + value * y / z,
}  # fmt: skip
# Of integers too.
NUMBERS = {
    "neg": lambda x: -x,
    "abs": abs,
    "square": lambda x: x * x,
    "relu": lambda x: x if x > 0 or x != x else 0 * x,
    "add.Tensor": lambda x, y, alpha: x + alpha * y,
    "sub.Tensor": lambda x, y, alpha: x - alpha * y,
    "mul.Tensor": lambda x, y: x * y,
    "maximum": _maximum,
    "minimum": _minimum,
    "eq.Tensor": lambda x, y: x == y,
    "ne.Tensor": lambda x, y: x != y,
    "lt.Tensor": lambda x, y: x < y,
    "le.Tensor": lambda x, y: x <= y,
    "gt.Tensor": lambda x, y: x > y,
    "ge.Tensor": lambda x, y: x >= y,
    "eq.Scalar": lambda x, y: x == y,
    "ne.Scalar": lambda x, y: x != y,
    "lt.Scalar": lambda x, y: x < y,
    "le.Scalar": lambda x, y: x <= y,
    "gt.Scalar": lambda x, y: x > y,
    "ge.Scalar": lambda x, y: x >= y,
    "sign": lambda x: (x > 0) - (x < 0) if x == x else x,
}
# What stands for an argument that is left out, being equal to its default.
LEFT_OUT = {
    "add.Tensor": {"alpha": 1}, "sub.Tensor": {"alpha": 1}, "addcmul": {"value": 1}, "addcdiv": {"value": 1},
    "leaky_relu": {"negative_slope": 0.01}, "softplus": {"beta": 1, "threshold": 20},
}  # fmt: skip
ARGUMENTS = {"add.Tensor": 2, "sub.Tensor": 2, "addcmul": 3, "addcdiv": 3, "leaky_relu": 1, "softplus": 1}


def pointwise(name, function, kinds):
    """Register a function of elements as the kernel of an operator: Numba compiles it for each dtype it is called with."""
    numba_ufunc = numba.vectorize(nopython=True)(numba.njit(function) if type(function) is type(check) else _wrapped(function))
    compares = name.partition(".")[0] in ("eq", "ne", "lt", "le", "gt", "ge")

    @backend.kernel(name)
    def kernel(*args, **kwargs):
        given = len(args) - ARGUMENTS.get(name, len(args))
        for keyword, default in list(LEFT_OUT.get(name, {}).items())[given:]:
            args = (*args, kwargs.pop(keyword, default))
        check(not kwargs, f"not with {', '.join(kwargs)}")
        handles = [a for a in args if isinstance(a, NumbaArray)]
        dtype = handles[0].dtype
        check(dtype.kind in kinds and dtype.itemsize in (4, 8), f"not of {dtype}")
        check(all(h.dtype == dtype for h in handles), "operands of one dtype")
        numbers = [a for a in args if not isinstance(a, NumbaArray)]
        check(all(dtype.kind == "f" or type(n) is int for n in numbers), "a number that the dtype holds")
        check(not any(type(n) is complex for n in numbers), "real numbers")
        try:
            operands = [seen(a) if isinstance(a, NumbaArray) else dtype.type(a) for a in args]
            np.broadcast_shapes(*[h.shape for h in handles])
        except (ValueError, OverflowError):
            raise NoKernel("operands that fit each other") from None
        with np.errstate(all="ignore"):
            return made(np.asarray(numba_ufunc(*operands), bool if compares else dtype))


def _wrapped(function):
    """Return a compiled function of one or two elements that calls a library's."""
    if function is math.atan2:
        return numba.njit(lambda x, y: function(x, y))
    return numba.njit(lambda x: function(x))


def moves():
    """Register what only moves elements, by NumPy."""

    @backend.kernel("cat")
    def cat(tensors, dim=0):
        check(len({t.dtype for t in tensors}) == 1 and all(t.ndim for t in tensors), "tensors of one dtype")
        try:
            return made(np.concatenate([seen(t) for t in tensors], dim))
        except ValueError:
            raise NoKernel("tensors that fit each other") from None

    @backend.kernel("where.self")
    def where(condition, x, y):
        check(condition.dtype == bool and x.dtype == y.dtype, "a condition, and operands of one dtype")
        try:
            return made(np.where(seen(condition), seen(x), seen(y)))
        except ValueError:
            raise NoKernel("operands that fit each other") from None

    @backend.kernel("index_select")
    def index_select(x, dim, index):
        check(x.ndim and index.ndim == 1 and index.dtype.kind == "i" and -x.ndim <= dim < x.ndim, "a row of indices")
        places = seen(index)
        check(not places.size or (places.min() >= 0 and places.max() < x.shape[dim]), "indices that are there")
        return made(np.take(seen(x), places, dim))


# -- loops ---------------------------------------------------------------------------------------------


def loops():
    """Compile the loops and register their kernels."""
    njit, prange = numba.njit(parallel=True, nogil=True), numba.prange
    one_core = numba.njit(nogil=True)

    # Reductions: rows of a matrix, each to a number.

    @njit
    def sums(x, out):
        for i in prange(x.shape[0]):
            total = 0.0
            for j in range(x.shape[1]):
                total += x[i, j]
            out[i] = total

    @njit
    def maxima(x, sign, out):
        for i in prange(x.shape[0]):
            best = x[i, 0]
            for j in range(1, x.shape[1]):
                if sign * x[i, j] > sign * best or x[i, j] != x[i, j]:
                    best = x[i, j]
            out[i] = best

    def reduced(x, dim, keepdim, loop):
        (x,) = floats(x)
        dims = range(x.ndim) if dim is None or dim == [] or dim == () else [dim] if isinstance(dim, int) else dim
        check(all(-x.ndim <= d < x.ndim for d in dims), "dimensions that are there")
        dims = [d % x.ndim for d in dims]
        check(len(set(dims)) == len(dims), "different dimensions")
        kept = [d for d in range(x.ndim) if d not in dims]
        lead = [x.shape[d] for d in kept]
        count = math.prod(x.shape[d] for d in dims)
        matrix = np.ascontiguousarray(x.transpose([*kept, *sorted(dims)])).reshape(math.prod(lead), count)
        out = np.empty(matrix.shape[0], x.dtype)
        loop(matrix, out)
        return made(out.reshape([1 if d in dims else n for d, n in enumerate(x.shape)] if keepdim else lead)), count

    @backend.kernel("sum", "sum.dim_IntList")
    def sum_(x, dim=None, keepdim=False, *, dtype=None):
        check(dtype is None, "in the dtype there is")
        return reduced(x, dim, keepdim, sums)[0]

    @backend.kernel("mean", "mean.dim")
    def mean(x, dim=None, keepdim=False, *, dtype=None):
        check(dtype is None, "in the dtype there is")
        total, count = reduced(x, dim, keepdim, sums)
        with np.errstate(all="ignore"):
            return made(np.asarray(seen(total) / seen(total).dtype.type(count)))

    def extreme(sign):
        def kernel(x, dim=(), keepdim=False):
            check(x.size, "of something")
            return reduced(x, dim, keepdim, lambda matrix, out: maxima(matrix, sign, out))[0]

        return kernel

    backend.kernel("amax")(extreme(1))
    backend.kernel("amin")(extreme(-1))

    # Matrix products.

    @njit
    def product(x, y, out):
        for row in prange(x.shape[0] * x.shape[1]):
            b, i = row // x.shape[1], row % x.shape[1]
            for j in range(y.shape[2]):
                out[b, i, j] = 0
            for k in range(x.shape[2]):
                factor = x[b, i, k]
                for j in range(y.shape[2]):
                    out[b, i, j] += factor * y[b, k, j]

    def multiplied(x, y):
        check(x.ndim == y.ndim == 3 and x.shape[0] == y.shape[0] and x.shape[2] == y.shape[1], "matrices that fit each other")
        out = np.empty((x.shape[0], x.shape[1], y.shape[2]), x.dtype)
        product(np.ascontiguousarray(x), np.ascontiguousarray(y), out)
        return out

    @backend.kernel("mm")
    def mm(x, y):
        x, y = floats(x, y)
        return made(multiplied(x[None], y[None])[0])

    @backend.kernel("bmm")
    def bmm(x, y):
        return made(multiplied(*floats(x, y)))

    @backend.kernel("addmm")
    def addmm(bias, x, y, *, beta=1, alpha=1):
        bias, x, y = floats(bias, x, y)
        check(bias.ndim <= 2 and beta != 0, "a bias that is added")
        result = multiplied(x[None], y[None])[0]
        check(np.broadcast_shapes(bias.shape, (1, 1)) and _fits(bias.shape, result.shape), "a bias of the product's shape")
        return made(np.asarray(beta * bias + alpha * result, result.dtype))

    # Softmax and its logarithm.

    @njit
    def softmax(x, out, logarithm):
        for i in prange(x.shape[0]):
            top = x[i, 0]
            for j in range(1, x.shape[1]):
                if x[i, j] > top or x[i, j] != x[i, j]:
                    top = x[i, j]
            total = 0.0
            for j in range(x.shape[1]):
                total += math.exp(x[i, j] - top)
            for j in range(x.shape[1]):
                out[i, j] = x[i, j] - top - math.log(total) if logarithm else math.exp(x[i, j] - top) / total

    @njit
    def softmax_gradient(grad, y, out, logarithm):
        for i in prange(y.shape[0]):
            total = 0.0
            for j in range(y.shape[1]):
                total += grad[i, j] if logarithm else grad[i, j] * y[i, j]
            for j in range(y.shape[1]):
                out[i, j] = grad[i, j] - math.exp(y[i, j]) * total if logarithm else y[i, j] * (grad[i, j] - total)

    def softmax_kernels(logarithm):
        def forward(x, dim, half_to_float):
            (x,) = floats(x)
            check(not half_to_float and x.size, "something, in the dtype there is")
            matrix, back = rows(x, dim)
            out = np.empty_like(matrix)
            softmax(matrix, out, logarithm)
            return back(out)

        def backward(grad, output, dim, input_dtype):
            grad, output = floats(grad, output)
            check(grad.shape == output.shape and grad.size, "a gradient of the result's shape")
            (g, back), (y, _) = rows(grad, dim), rows(output, dim)
            out = np.empty_like(y)
            softmax_gradient(g, y, out, logarithm)
            return back(out)

        return forward, backward

    for logarithm, name in ((False, "_softmax"), (True, "_log_softmax")):
        forward, backward = softmax_kernels(logarithm)
        backend.kernel(name)(forward)
        backend.kernel(f"{name}_backward_data")(backward)

    # Layer norm.

    @njit
    def layer_norm(x, eps, out, means, scales):
        for i in prange(x.shape[0]):
            total = 0.0
            for j in range(x.shape[1]):
                total += x[i, j]
            mean = total / x.shape[1]
            total = 0.0
            for j in range(x.shape[1]):
                total += (x[i, j] - mean) ** 2
            scale = 1 / math.sqrt(total / x.shape[1] + eps)
            means[i], scales[i] = mean, scale
            for j in range(x.shape[1]):
                out[i, j] = (x[i, j] - mean) * scale

    @njit
    def layer_norm_gradient(grad, x, means, scales, out):
        for i in prange(x.shape[0]):
            first = second = 0.0
            for j in range(x.shape[1]):
                first += grad[i, j]
                second += grad[i, j] * (x[i, j] - means[i]) * scales[i]
            for j in range(x.shape[1]):
                normal = (x[i, j] - means[i]) * scales[i]
                out[i, j] = scales[i] * (grad[i, j] - (first + normal * second) / x.shape[1])

    @backend.kernel("native_layer_norm")
    def native_layer_norm(x, normalized_shape, weight, bias, eps):
        x, weight, bias = floats(x, weight, bias)
        shape = tuple(normalized_shape)
        lead = x.shape[: x.ndim - len(shape)]
        check(x.size and shape and x.shape[len(lead) :] == shape, "an input of the normalized shape")
        check(all(p is None or p.shape == shape for p in (weight, bias)), "weights of the normalized shape")
        matrix = np.ascontiguousarray(x).reshape(math.prod(lead), math.prod(shape))
        out, means, scales = np.empty_like(matrix), np.empty(len(matrix), x.dtype), np.empty(len(matrix), x.dtype)
        layer_norm(matrix, eps, out, means, scales)
        out = out.reshape(x.shape)
        if weight is not None:
            out *= weight
        if bias is not None:
            out += bias
        kept = (*lead, *[1] * len(shape))
        return made(out), made(means.reshape(kept)), made(scales.reshape(kept))

    @backend.kernel("native_layer_norm_backward")
    def native_layer_norm_backward(grad, x, normalized_shape, mean, rstd, weight, bias, output_mask):
        grad, x, mean, rstd, weight, bias = floats(grad, x, mean, rstd, weight, bias)
        shape = tuple(normalized_shape)
        lead = tuple(range(x.ndim - len(shape)))
        count = math.prod(shape)
        check(x.size and grad.shape == x.shape, "a gradient of the input's shape")
        results = [None, None, None]
        if output_mask[0]:
            weighted = grad if weight is None else grad * weight
            matrices = [np.ascontiguousarray(a).reshape(-1, count) for a in (weighted, x)]
            out = np.empty_like(matrices[1])
            layer_norm_gradient(*matrices, mean.reshape(-1), rstd.reshape(-1), out)
            results[0] = made(out.reshape(x.shape))
        if output_mask[1] and weight is not None:
            results[1] = made(np.asarray((grad * (x - mean) * rstd).sum(lead), x.dtype))
        if output_mask[2] and bias is not None:
            results[2] = made(np.asarray(grad.sum(lead), x.dtype))
        return tuple(results)

    # Embeddings.

    @one_core
    def outside(indices, count):
        for i in indices:  # noqa: SIM110 - Numba compiles no generators
            if i < 0 or i >= count:
                return True
        return False

    @njit
    def gathered(weight, indices, out):
        for i in prange(len(indices)):
            for j in range(weight.shape[1]):
                out[i, j] = weight[indices[i], j]

    @njit
    def scattered(grad, indices, padding, out):
        for j in prange(grad.shape[1]):  # columns: no two cores add to one place
            for i in range(len(indices)):
                if indices[i] != padding:
                    out[indices[i], j] += grad[i, j]

    def flat_indices(indices, count):
        check(indices.dtype == np.int64, "indices of int64")
        flat = np.ascontiguousarray(seen(indices)).reshape(-1)
        check(not outside(flat, count), "indices that are there")
        return flat

    @backend.kernel("embedding")
    def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
        (w,) = floats(weight)
        check(w.ndim == 2, "a matrix of weights")
        flat = flat_indices(indices, w.shape[0])
        out = np.empty((flat.size, w.shape[1]), w.dtype)
        gathered(w, flat, out)
        return made(out.reshape(*indices.shape, w.shape[1]))

    @backend.kernel("embedding_dense_backward")
    def embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
        (g,) = floats(grad)
        check(not scale_grad_by_freq and g.shape[:-1] == indices.shape, "gradients as they are")
        flat = flat_indices(indices, num_weights)
        out = np.zeros((num_weights, g.shape[-1]), g.dtype)
        scattered(np.ascontiguousarray(g).reshape(flat.size, g.shape[-1]), flat, padding_idx, out)
        return made(out)

    # The loss of classes.

    @backend.kernel("nll_loss_forward")
    def nll_loss_forward(x, target, weight, reduction, ignore_index):
        (x,) = floats(x)
        check(weight is None and x.ndim == 2 and target.ndim == 1 and x.shape[0] == target.shape[0] > 0, "rows of classes")
        check(not (seen(target) == ignore_index).any(), "no class that is ignored")
        flat = flat_indices(target, x.shape[1])
        picked = -x[np.arange(len(flat)), flat]
        if reduction == 0:
            return made(picked), made(np.zeros((), x.dtype))
        total = picked.sum() / (len(flat) if reduction == 1 else 1)
        return made(np.asarray(total, x.dtype)), made(np.asarray(len(flat), x.dtype))

    @backend.kernel("nll_loss_backward")
    def nll_loss_backward(grad, x, target, weight, reduction, ignore_index, total_weight):
        grad, x = floats(grad, x)
        check(weight is None and x.ndim == 2 and target.ndim == 1 and x.shape[0] == target.shape[0] > 0, "rows of classes")
        check(not (seen(target) == ignore_index).any(), "no class that is ignored")
        flat = flat_indices(target, x.shape[1])
        out = np.zeros(x.shape, x.dtype)
        out[np.arange(len(flat)), flat] = -grad / (len(flat) if reduction == 1 else 1)
        return made(out)

    # Convolution of images.

    @njit
    def convolved(x, w, stride, pad, dilation, groups, out):
        per_group = w.shape[0] // groups
        for plane in prange(out.shape[0] * out.shape[1]):
            n, o = plane // out.shape[1], plane % out.shape[1]
            first = o // per_group * w.shape[1]
            for i in range(out.shape[2]):
                for j in range(out.shape[3]):
                    total = 0.0
                    for c in range(w.shape[1]):
                        for p in range(w.shape[2]):
                            row = i * stride[0] - pad[0] + p * dilation[0]
                            if 0 <= row < x.shape[2]:
                                for q in range(w.shape[3]):
                                    column = j * stride[1] - pad[1] + q * dilation[1]
                                    if 0 <= column < x.shape[3]:
                                        total += x[n, first + c, row, column] * w[o, c, p, q]
                    out[n, o, i, j] = total

    @njit
    def input_gradient(grad, w, stride, pad, dilation, groups, out):
        per_group = w.shape[0] // groups
        for n in prange(grad.shape[0]):
            for o in range(grad.shape[1]):
                first = o // per_group * w.shape[1]
                for i in range(grad.shape[2]):
                    for j in range(grad.shape[3]):
                        for c in range(w.shape[1]):
                            for p in range(w.shape[2]):
                                row = i * stride[0] - pad[0] + p * dilation[0]
                                if 0 <= row < out.shape[2]:
                                    for q in range(w.shape[3]):
                                        column = j * stride[1] - pad[1] + q * dilation[1]
                                        if 0 <= column < out.shape[3]:
                                            out[n, first + c, row, column] += grad[n, o, i, j] * w[o, c, p, q]

    @njit
    def weight_gradient(grad, x, stride, pad, dilation, groups, out):
        per_group = out.shape[0] // groups
        for o in prange(out.shape[0]):
            first = o // per_group * out.shape[1]
            for c in range(out.shape[1]):
                for p in range(out.shape[2]):
                    for q in range(out.shape[3]):
                        total = 0.0
                        for n in range(grad.shape[0]):
                            for i in range(grad.shape[2]):
                                row = i * stride[0] - pad[0] + p * dilation[0]
                                if 0 <= row < x.shape[2]:
                                    for j in range(grad.shape[3]):
                                        column = j * stride[1] - pad[1] + q * dilation[1]
                                        if 0 <= column < x.shape[3]:
                                            total += grad[n, o, i, j] * x[n, first + c, row, column]
                        out[o, c, p, q] = total

    def images(x, w, stride, padding, dilation, transposed, groups):
        check(x.ndim == w.ndim == 4 and not transposed and x.size and w.size, "a convolution of images")
        check(groups > 0 and x.shape[1] == w.shape[1] * groups and w.shape[0] % groups == 0, "channels that fit")
        sizes = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
            if s > 0 and p >= 0 and d > 0
        ]
        check(len(sizes) == 2 and min(sizes) > 0, "windows that fit into the image")
        return sizes, (tuple(stride), tuple(padding), tuple(dilation), groups)

    @backend.kernel("convolution")
    def convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
        x, w, bias = floats(x, w, bias)
        sizes, how = images(x, w, stride, padding, dilation, transposed, groups)
        check(bias is None or bias.shape == w.shape[:1], "a bias for each channel")
        out = np.empty((x.shape[0], w.shape[0], *sizes), x.dtype)
        convolved(np.ascontiguousarray(x), np.ascontiguousarray(w), *how, out)
        if bias is not None:
            out += bias[:, None, None]
        return made(out)

    @backend.kernel("convolution_backward")
    def convolution_backward(
        grad, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
    ):
        grad, x, w = (np.ascontiguousarray(a) for a in floats(grad, x, w))
        _, how = images(x, w, stride, padding, dilation, transposed, groups)
        results = [None, None, None]
        if output_mask[0]:
            out = np.zeros(x.shape, x.dtype)
            input_gradient(grad, w, *how, out)
            results[0] = made(out)
        if output_mask[1]:
            out = np.empty(w.shape, w.dtype)
            weight_gradient(grad, x, *how, out)
            results[1] = made(out)
        if output_mask[2]:
            results[2] = made(np.asarray(grad.sum((0, 2, 3)), grad.dtype))
        return tuple(results)


def _fits(shape, wanted):
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False


# -- registration, and a demonstration --------------------------------------------------------------------


def register():
    """Make the device ``numba``."""
    global numba
    import numba as library

    numba = library
    for helper in ("_sigmoid", "_maximum", "_minimum"):
        globals()[helper] = numba.njit(globals()[helper])
    tables = {**{n: (f, "f") for n, f in FLOATS.items()}, **{n: (f, "fi") for n, f in NUMBERS.items()}}
    for name, (function, kinds) in tables.items():
        pointwise(name, function, kinds)
    moves()
    loops()
    register_backend("numba", backend)


def announce():
    """Tell minitorch where the device is; it is imported when it is first used."""
    register_lazy_backend("numba", "PrivateUse2", "minitorch_numba:register")


def demo():
    """Train a small network on images of two kinds of stripes, and print what ran on the CPU."""
    import minitorch
    from minitorch import nn

    minitorch.backends.fallback_policy("allow")
    minitorch.manual_seed(0)
    labels = minitorch.arange(64) % 2
    stripes = (minitorch.arange(8) % 2).float()
    images = minitorch.stack([stripes.expand(8, 8) if k else stripes.expand(8, 8).t() for k in labels.tolist()])[:, None]
    images = (images + 0.5 * minitorch.randn(64, 1, 8, 8)).to("numba")
    labels = labels.to("numba")
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.GELU(), nn.Conv2d(4, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LayerNorm(32),
        nn.Dropout(0.1), nn.Linear(32, 2),
    ).to("numba")
    rule = minitorch.optim.AdamW(net.parameters(), lr=0.01)
    losses = []
    for step in range(20):
        rule.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        rule.step()
        losses.append(loss.item())
        if step % 5 == 0 or step == 19:
            print(f"step {step:2d}  loss {losses[-1]:.4f}")
    print("what ran on the CPU:")
    print(fallback_report())
    return losses


if __name__ == "__main__":
    import minitorch_numba

    minitorch_numba.demo()
