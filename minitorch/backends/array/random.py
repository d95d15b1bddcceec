"""Kernels of the random operators: arguments checked, draws taken from a generator.

What the numbers are is the generator's business: `backends/cpu/random.py` draws PyTorch's
CPU streams.  Here is where they go.  Draws fill an array in the order of its memory, so that
a transposed array gets them transposed, as PyTorch's walk over it has it.
"""

from __future__ import annotations

from minitorch.backends.array.factories import like
from minitorch.backends.array.implicit_gradients import dirichlet_gradient, gamma_gradient
from minitorch.backends.array.registry import array_kernel
from minitorch.core.dtype import bool_, from_numpy_dtype, get_default_dtype
from minitorch.core.generator import DEFAULT_GENERATORS
from minitorch.core.memory_format import iteration_axes
from minitorch.ops.shapes.random import (
    DIGITS,
    check_continuous,
    check_dropout,
    check_geometric,
    check_log_normal,
    check_multinomial,
    check_normal,
    check_permutation,
    check_positive,
    check_probability,
    check_uniform,
    integer_bounds,
)

_DEVICE_TYPES = {"numpy": "cpu", "cupy": "cuda"}


def source(xp, generator):
    """Return `generator`, or the default one of the device that `xp` computes on."""
    if generator is not None:
        return generator
    kind = _DEVICE_TYPES.get(xp.__name__)
    # The namespace of a backend of its own knows the backend's generators.
    return xp.default_generator() if kind is None else DEFAULT_GENERATORS[kind]()


def _np(dtype):
    return get_default_dtype().np if dtype is None else dtype.np


def _integer_np(xp, dtype):
    return xp.dtype(xp.int64) if dtype is None else dtype.np


def _pour(xp, array, draw):
    """Fill `array` with ``draw(shape)`` in the order of its memory; return it."""
    if array.ndim < 2 or array.flags.c_contiguous:
        array[...] = draw(array.shape)
        return array
    view = array.transpose(iteration_axes(array.shape, array.strides))
    view[...] = draw(view.shape)
    return array


# ---------------------------------------------------------------- factories


@array_kernel("rand", "rand.generator")
def rand_kernel(xp, size, *, generator=None, dtype=None, layout=None, device=None, pin_memory=None):
    np_dtype = _np(dtype)
    if np_dtype.kind in "biu" or (size and min(size) < 0):
        raise ValueError("not a floating type, or a negative size")
    return source(xp, generator).uniform(size, np_dtype)


@array_kernel("randn", "randn.generator")
def randn_kernel(
    xp, size, *, generator=None, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = _np(dtype)
    if np_dtype.kind in "biu" or (size and min(size) < 0):
        raise ValueError("not a floating type, or a negative size")
    return source(xp, generator).normal(size, np_dtype)


@array_kernel("randint", "randint.generator")
def randint_kernel(
    xp, high, size, *, generator=None, dtype=None, layout=None, device=None, pin_memory=None
):
    return randint_low_kernel(xp, 0, high, size, generator=generator, dtype=dtype)


@array_kernel("randint.low", "randint.low_generator")
def randint_low_kernel(
    xp, low, high, size, *, generator=None, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = _integer_np(xp, dtype)
    low, high = integer_bounds(np_dtype, low, high)
    if size and min(size) < 0:
        raise ValueError("negative size")
    return source(xp, generator).integers(size, np_dtype, low, high)


@array_kernel("randperm", "randperm.generator")
def randperm_kernel(
    xp, n, *, generator=None, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = _integer_np(xp, dtype)
    check_permutation(n, np_dtype)
    return source(xp, generator).randperm(n, np_dtype)


@array_kernel("rand_like", "rand_like.generator")
def rand_like_kernel(
    xp,
    self,
    *,
    generator=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
    memory_format=None,
):
    return uniform_kernel(xp, like(xp, xp.empty, self, dtype, memory_format), generator=generator)


@array_kernel("randn_like", "randn_like.generator")
def randn_like_kernel(
    xp,
    self,
    *,
    generator=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
    memory_format=None,
):
    return normal_kernel(xp, like(xp, xp.empty, self, dtype, memory_format), generator=generator)


@array_kernel("randint_like", "randint_like.generator")
def randint_like_kernel(
    xp,
    self,
    high,
    *,
    generator=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
    memory_format=None,
):
    result = like(xp, xp.empty, self, dtype, memory_format)
    return random_from_kernel(xp, result, 0, high, generator=generator)


@array_kernel("randint_like.low_dtype", "randint_like.low_generator_dtype")
def randint_like_low_kernel(
    xp,
    self,
    low,
    high,
    *,
    generator=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
    memory_format=None,
):
    result = like(xp, xp.empty, self, dtype, memory_format)
    return random_from_kernel(xp, result, low, high, generator=generator)


@array_kernel("normal.float_float")
def normal_float_float_kernel(
    xp,
    mean,
    std,
    size,
    *,
    generator=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
):
    np_dtype = _np(dtype)
    check_normal(np_dtype, std)
    return source(xp, generator).normal(size, np_dtype, mean, std)


@array_kernel("normal.Tensor_float")
def normal_tensor_float_kernel(xp, mean, std=1.0, *, generator=None):
    check_normal(mean.dtype, std)
    result = source(xp, generator).normal(mean.shape, mean.dtype, 0.0, std)
    return _plus(xp, result, mean)


@array_kernel("normal.float_Tensor")
def normal_float_tensor_kernel(xp, mean, std, *, generator=None):
    _check_deviations(xp, std)
    check_normal(std.dtype, 1)
    result = source(xp, generator).normal(std.shape, std.dtype)
    return _plus(xp, _times(xp, result, std), mean)


@array_kernel("normal.Tensor_Tensor")
def normal_tensor_tensor_kernel(xp, mean, std, *, generator=None):
    _check_deviations(xp, std)
    check_normal(mean.dtype, 1)
    shape = xp.broadcast_shapes(mean.shape, std.shape)
    result = source(xp, generator).normal(shape, mean.dtype)
    return _plus(xp, _times(xp, result, std), mean)


def _check_deviations(xp, std):
    if std.dtype.kind == "c":
        raise ValueError("complex standard deviations")
    if std.size and (std < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")


def _times(xp, array, factor):
    xp.multiply(array, factor, out=array, casting="unsafe")
    return array


def _plus(xp, array, term):
    xp.add(array, term, out=array, casting="unsafe")
    return array


# ---------------------------------------------------------------- drawn from a tensor's values


def _check_probabilities(array):
    if array.dtype.kind not in "fV":
        raise ValueError("not a floating type")
    if array.size and not ((array >= 0) & (array <= 1)).all():
        raise RuntimeError(
            "bernoulli(): Expected p_in >= 0 && p_in <= 1 to be true: a probability is outside [0, 1]"
        )


@array_kernel("bernoulli")
def bernoulli_kernel(xp, self, *, generator=None):
    _check_probabilities(self)
    return source(xp, generator).bernoulli(self).astype(self.dtype)


@array_kernel("bernoulli.p")
def bernoulli_p_kernel(xp, self, p, *, generator=None):
    return bernoulli_float_kernel(xp, xp.empty(self.shape, self.dtype), p, generator=generator)


@array_kernel("multinomial")
def multinomial_kernel(xp, self, num_samples, replacement=False, *, generator=None):
    check_multinomial(self, num_samples, replacement)
    weights = self.reshape(1, -1) if self.ndim == 1 else self
    if weights.size:
        if not ((weights >= 0) & (weights < xp.inf)).all():
            raise RuntimeError(
                "multinomial(): probability tensor contains either `inf`, `nan` or element < 0"
            )
        if not (weights.astype(xp.float64).sum(1) > 0).all():
            raise RuntimeError(
                "multinomial(): invalid multinomial distribution (sum of probabilities <= 0)"
            )
    result = source(xp, generator).multinomial(weights, num_samples, replacement)
    return result.reshape(self.shape[:-1] + (num_samples,))


@array_kernel("binomial")
def binomial_kernel(xp, count, prob, generator=None):
    if count.dtype.char not in "fd" or prob.dtype != count.dtype:
        raise ValueError("not of one floating type")
    count, prob = xp.broadcast_arrays(count, prob)
    return source(xp, generator).binomial(count, prob)


@array_kernel("_standard_gamma")
def standard_gamma_kernel(xp, self, generator=None):
    if self.dtype.char not in "fd":
        raise ValueError("not a floating type")
    return source(xp, generator).standard_gamma(self)


@array_kernel("_sample_dirichlet")
def sample_dirichlet_kernel(xp, self, generator=None):
    if self.dtype.char not in "fd":
        raise ValueError("not a floating type")
    if self.ndim == 0:
        return source(xp, generator).dirichlet(self.reshape(1)).reshape(())
    return source(xp, generator).dirichlet(self)


@array_kernel("_standard_gamma_grad")
def standard_gamma_grad_kernel(xp, self, output):
    if self.dtype.char not in "fd" or output.dtype != self.dtype:
        raise ValueError("not of one floating type")
    result = gamma_gradient(xp, self.astype(xp.float64), output.astype(xp.float64))
    return result.astype(self.dtype)


@array_kernel("_dirichlet_grad")
def dirichlet_grad_kernel(xp, x, alpha, total):
    if x.dtype.char not in "fd" or alpha.dtype != x.dtype or total.dtype != x.dtype:
        raise ValueError("not of one floating type")
    result = dirichlet_gradient(xp, *[array.astype(xp.float64) for array in (x, alpha, total)])
    return result.astype(x.dtype)


@array_kernel("poisson")
def poisson_kernel(xp, self, generator=None):
    if self.dtype.kind not in "fV":
        raise ValueError("not a floating type")
    if self.size and not (self >= 0).all():
        raise RuntimeError("poisson(): invalid Poisson rate, expected rate to be non-negative")
    return source(xp, generator).poisson(self)


# ---------------------------------------------------------------- filling a tensor


@array_kernel("uniform_")
def uniform_kernel(xp, self, low=0.0, high=1.0, *, generator=None):
    np_dtype = self.dtype
    check_uniform(np_dtype, low, high)
    generator = source(xp, generator)
    return _pour(xp, self, lambda shape: generator.uniform(shape, np_dtype, low, high))


@array_kernel("normal_")
def normal_kernel(xp, self, mean=0.0, std=1.0, *, generator=None):
    np_dtype = self.dtype
    check_normal(np_dtype, std)
    generator = source(xp, generator)
    blocks = self.flags.c_contiguous
    return _pour(
        xp, self, lambda shape: generator.normal(shape, np_dtype, mean, std, blocks=blocks)
    )


@array_kernel("bernoulli_.Tensor")
def bernoulli_tensor_kernel(xp, self, p, *, generator=None):
    _check_probabilities(p)
    axes = iteration_axes(self.shape, self.strides)
    p = xp.broadcast_to(p, self.shape).transpose(axes)
    self.transpose(axes)[...] = source(xp, generator).bernoulli(p)
    return self


@array_kernel("bernoulli_.float")
def bernoulli_float_kernel(xp, self, p=0.5, *, generator=None):
    check_probability(p, "bernoulli_")
    if self.dtype.kind == "c":
        raise ValueError("complex")
    generator = source(xp, generator)
    return _pour(xp, self, lambda shape: generator.bernoulli_scalar(shape, p))


@array_kernel("random_")
def random_kernel(xp, self, *, generator=None):
    digits = DIGITS[from_numpy_dtype(self.dtype).name]
    generator = source(xp, generator)
    return _pour(xp, self, lambda shape: generator.integers_of_type(shape, self.dtype, digits))


@array_kernel("random_.to")
def random_to_kernel(xp, self, high, *, generator=None):
    return random_from_kernel(xp, self, 0, high, generator=generator)


@array_kernel("random_.from")
def random_from_kernel(xp, self, low, high, *, generator=None):
    generator = source(xp, generator)
    if high is None and low == -(1 << 63):
        return _pour(xp, self, generator.all_long_words)
    low, high = integer_bounds(self.dtype, low, high)
    return _pour(xp, self, lambda shape: generator.integers(shape, self.dtype, low, high))


@array_kernel("exponential_")
def exponential_kernel(xp, self, lambd=1.0, *, generator=None):
    check_positive(lambd, "lambda", "exponential_")
    check_continuous(self.dtype, "Exponential")
    generator = source(xp, generator)
    return _pour(xp, self, lambda shape: generator.exponential(shape, self.dtype, lambd))


@array_kernel("cauchy_")
def cauchy_kernel(xp, self, median=0.0, sigma=1.0, *, generator=None):
    check_positive(sigma, "sigma", "cauchy_")
    check_continuous(self.dtype, "Cauchy")
    generator = source(xp, generator)
    return _pour(xp, self, lambda shape: generator.cauchy(shape, self.dtype, median, sigma))


@array_kernel("geometric_")
def geometric_kernel(xp, self, p, *, generator=None):
    check_geometric(self.dtype, p)
    generator = source(xp, generator)
    return _pour(xp, self, lambda shape: generator.geometric(shape, self.dtype, p))


@array_kernel("log_normal_")
def log_normal_kernel(xp, self, mean=1.0, std=2.0, *, generator=None):
    check_log_normal(self.dtype, std)
    generator = source(xp, generator)
    return _pour(xp, self, lambda shape: generator.log_normal(shape, self.dtype, mean, std))


# ---------------------------------------------------------------- dropout


@array_kernel("native_dropout")
def native_dropout_kernel(xp, input, p, train):
    mask = like(xp, xp.empty, input, bool_, None)
    if train is False:
        mask.fill(True)
        return input.copy() if input.flags.c_contiguous else _copy_like(xp, input), mask
    check_dropout(p)
    if input.dtype.kind not in "fVc":
        raise ValueError("not a floating type")
    generator = source(xp, None)
    _pour(xp, mask, lambda shape: generator.bernoulli_scalar(shape, 1 - p))
    result = like(xp, xp.empty, input, None, None)
    xp.multiply(input, mask, result, casting="unsafe")
    scale = 0.0 if p == 1 else 1 / (1 - p)
    xp.multiply(result, result.dtype.type(scale), result, casting="unsafe")
    return result, mask


@array_kernel("native_dropout_backward")
def native_dropout_backward_kernel(xp, grad_output, mask, scale):
    result = xp.multiply(grad_output, mask)
    result *= result.dtype.type(scale)
    return result


def _copy_like(xp, array):
    result = like(xp, xp.empty, array, None, None)
    result[...] = array
    return result
