"""Shapes, types and argument errors of the random operators."""

from __future__ import annotations

import numpy as np

from minitorch.core.dtype import bool_, finfo, from_numpy_dtype
from minitorch.ops.shapes.common import MetaArray, broadcast_shapes, check
from minitorch.ops.shapes.factories import C_NAMES, check_size, fits, like, np_dtype_of
from minitorch.ops.shapes.pointwise import SAME, elementwise_shape, rules
from minitorch.ops.shapes.registry import shape

_INT64 = np.dtype(np.int64)
_C_WORDS = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int"}
# Bits of the largest integer up to which a type has every integer.
DIGITS = {
    "bool": 1,
    "uint8": 8,
    "int8": 7,
    "int16": 15,
    "int32": 31,
    "int64": 63,
    "float16": 11,
    "bfloat16": 8,
    "float32": 24,
    "float64": 53,
}


def check_floating(np_dtype, kernel: str, complex_too: bool = False) -> None:
    """Raise unless arrays of `np_dtype` hold floating-point numbers."""
    if np_dtype.kind in "fV" or (complex_too and np_dtype.kind == "c"):
        return
    word = from_numpy_dtype(np_dtype).scalar_name
    raise NotImplementedError(
        f"\"{kernel}\" not implemented for '{word}': draw into a floating-point tensor and convert it"
    )


def check_uniform(np_dtype, low, high) -> None:
    """Raise unless uniforms in ``[low, high)`` can be drawn."""
    if np_dtype.kind in "fV" and -200 < low <= high < 200:  # within every floating type
        return
    check_floating(np_dtype, "check_uniform_bounds", complex_too=True)
    real = from_numpy_dtype(np_dtype).to_real()
    largest = finfo(real).max
    for word, bound in (("from", low), ("to", high)):
        check(
            -largest <= bound <= largest,
            f"uniform_(): {word} is out of bounds for {C_NAMES.get(real.name, real.name)}: {bound}",
        )
    check(
        low <= high,
        f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}",
    )
    check(
        high - low <= largest,
        f"uniform_ expects to-from <= std::numeric_limits<{real.scalar_name}>::max(), but found "
        f"to={high:g} and from={low:g} which result in to-from to exceed the limit",
    )


def check_normal(np_dtype, std) -> None:
    """Raise unless normals with this standard deviation can be drawn."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    check_floating(np_dtype, "normal_kernel_cpu", complex_too=True)


def _representable(np_dtype, digits, low, high) -> tuple:
    """Return bounds of integers whose draws do not round out of ``[low, high)``, PyTorch's way."""
    if -(1 << digits) <= low and high <= 1 << digits:
        return low, high
    rounded = int(np_dtype.type(high - 1))
    if rounded >= high:
        high = rounded - (1 << (abs(high - 1).bit_length() - digits))
    rounded = int(np_dtype.type(low + 1))
    if rounded < low:
        low = rounded + (1 << (abs(low + 1).bit_length() - digits))
    return low, high


def integer_bounds(np_dtype, low, high):
    """Return ``(low, high)`` of integers drawn as `np_dtype`; None for a `high` means all there are.

    Raises
    ------
    RuntimeError
        If the range is empty or not within the type.
    """
    if np_dtype == _INT64 and high is not None and -(1 << 63) <= low < high <= 1 << 63:
        return low, high
    dtype = from_numpy_dtype(np_dtype)
    if np_dtype.kind == "c":
        raise RuntimeError(
            "random_(): check_random_bounds handles only integral, floating-point and boolean "
            f"types, not {dtype.name}"
        )
    if high is None:
        top = 1 << DIGITS[dtype.name]
        high = top + 1 if dtype.is_floating_point else top
        if dtype.category == 0:
            high = 2
    if not low < high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if np_dtype.kind == "b":
        lowest, highest = 0, 1
    elif np_dtype.kind in "iu":
        info = np.iinfo(np_dtype)
        lowest, highest = info.min, info.max
    else:
        highest = finfo(dtype).max
        lowest = -highest
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not lowest <= bound <= highest:
            word = _C_WORDS.get(dtype.name, C_NAMES.get(dtype.name, dtype.name))
            raise RuntimeError(f"random_(): {name} is out of bounds for {word}: {bound}")
    if np_dtype.kind in "fV":
        return _representable(np_dtype, DIGITS.get(dtype.name, 4), low, high)
    return low, high


def check_probability(p, name: str) -> None:
    """Raise unless `p` is in [0, 1]."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"{name} expects p to be in [0, 1], but got p={p:g}")


def check_permutation(n, np_dtype) -> None:
    """Raise unless ``range(n)`` can be held by `np_dtype`."""
    check_size((n,), "randperm")
    dtype = from_numpy_dtype(np_dtype)
    if np_dtype.kind in "bc":
        raise NotImplementedError(f"\"randperm\" not implemented for '{dtype.scalar_name}'")
    if np_dtype.kind in "iu":
        check(
            n == 0 or fits(n - 1, np_dtype),
            f"randperm(): value cannot be converted to type {C_NAMES[dtype.name]} without "
            f"overflow: {n - 1}",
        )
        return
    limit = (1 << DIGITS.get(dtype.name, 4)) + 1
    check(n <= limit, f"randperm(): n cannot be greater than {limit} for {dtype.scalar_name} type.")


def check_positive(value, argument: str, name: str) -> None:
    """Raise unless a distribution's parameter is above 0."""
    if not value > 0:
        raise RuntimeError(f"{name} expects {argument} > 0.0, but found {argument}={value:g}")


def check_continuous(np_dtype, word: str) -> None:
    """Raise unless draws of a continuous distribution can be held by `np_dtype`."""
    if np_dtype.kind not in "fV":
        raise RuntimeError(
            f"{word} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {from_numpy_dtype(np_dtype).scalar_name}"
        )


def check_geometric(np_dtype, p) -> None:
    """Raise unless trials of probability `p` can be counted."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if np_dtype.kind in "bc":
        word = from_numpy_dtype(np_dtype).scalar_name
        raise NotImplementedError(f"\"geometric_cpu\" not implemented for '{word}'")


def check_log_normal(np_dtype, std) -> None:
    """Raise unless log-normals with this standard deviation can be drawn."""
    check_positive(std, "std", "log_normal_")
    check_floating(np_dtype, "log_normal_cpu")


def check_multinomial(self, num_samples, replacement) -> None:
    """Raise unless `num_samples` can be drawn from each row."""
    check(self.ndim in (1, 2), f"multinomial(): prob_dist must be 1 or 2 dim, not {self.ndim}")
    if self.dtype.kind not in "fV":
        word = from_numpy_dtype(self.dtype).scalar_name
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {word}"
        )
    check(num_samples > 0, "multinomial(): cannot sample n_sample <= 0 samples")
    check(
        replacement or num_samples <= self.shape[-1],
        "multinomial(): cannot sample n_sample > prob_dist.size(-1) samples without replacement: "
        f"{num_samples} of {self.shape[-1]}",
    )
    check(self.shape[-1] <= 1 << 24, "multinomial(): number of categories cannot exceed 2^24")


def check_dropout(p) -> None:
    """Raise unless `p` is the probability of a drop."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


# ---------------------------------------------------------------- factories


@shape("rand")
def rand_shape(size, *, dtype=None, layout=None, device=None, pin_memory=None, generator=None):
    np_dtype = np_dtype_of(dtype)
    check_uniform(np_dtype, 0, 1)
    return MetaArray(check_size(size, "rand"), np_dtype)


@shape("randn")
def randn_shape(size, *, dtype=None, layout=None, device=None, pin_memory=None, generator=None):
    np_dtype = np_dtype_of(dtype)
    check_normal(np_dtype, 1)
    return MetaArray(check_size(size, "randn"), np_dtype)


@shape("rand.generator")
def rand_generator_shape(size, *, generator, dtype=None, layout=None, device=None, pin_memory=None):
    return rand_shape(size, dtype=dtype)


@shape("randn.generator")
def randn_generator_shape(
    size, *, generator, dtype=None, layout=None, device=None, pin_memory=None
):
    return randn_shape(size, dtype=dtype)


@shape("randint", "randint.generator")
def randint_shape(
    high, size, *, generator=None, dtype=None, layout=None, device=None, pin_memory=None
):
    return randint_low_shape(0, high, size, dtype=dtype)


@shape("randint.low", "randint.low_generator")
def randint_low_shape(
    low, high, size, *, generator=None, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = _INT64 if dtype is None else dtype.np
    integer_bounds(np_dtype, low, high)
    return MetaArray(check_size(size, "randint"), np_dtype)


@shape("randperm", "randperm.generator")
def randperm_shape(n, *, generator=None, dtype=None, layout=None, device=None, pin_memory=None):
    np_dtype = _INT64 if dtype is None else dtype.np
    check_permutation(n, np_dtype)
    return MetaArray((n,), np_dtype)


@shape("rand_like", "rand_like.generator")
def rand_like_shape(
    self,
    *,
    generator=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
    memory_format=None,
):
    result = like(self, dtype, memory_format)
    check_uniform(result.dtype, 0, 1)
    return result


@shape("randn_like", "randn_like.generator")
def randn_like_shape(
    self,
    *,
    generator=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
    memory_format=None,
):
    result = like(self, dtype, memory_format)
    check_normal(result.dtype, 1)
    return result


@shape("randint_like", "randint_like.generator")
def randint_like_shape(
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
    return randint_like_low_shape(self, 0, high, dtype=dtype, memory_format=memory_format)


@shape("randint_like.low_dtype", "randint_like.low_generator_dtype")
def randint_like_low_shape(
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
    result = like(self, dtype, memory_format)
    integer_bounds(result.dtype, low, high)
    return result


@shape("normal.float_float")
def normal_float_float_shape(
    mean, std, size, *, generator=None, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = np_dtype_of(dtype)
    check_normal(np_dtype, std)
    return MetaArray(check_size(size, "normal"), np_dtype)


@shape("normal.Tensor_float")
def normal_tensor_float_shape(mean, std=1.0, *, generator=None):
    check_normal(mean.dtype, std)
    return MetaArray(mean.shape, mean.dtype)


@shape("normal.float_Tensor")
def normal_float_tensor_shape(mean, std, *, generator=None):
    check(std.dtype.kind != "c", "normal expects standard deviation to be non-complex")
    check_normal(std.dtype, 1)
    return MetaArray(std.shape, std.dtype)


@shape("normal.Tensor_Tensor")
def normal_tensor_tensor_shape(mean, std, *, generator=None):
    check(std.dtype.kind != "c", "normal expects standard deviation to be non-complex")
    check_normal(mean.dtype, 1)
    return MetaArray(broadcast_shapes(mean.shape, std.shape), mean.dtype)


# ---------------------------------------------------------------- drawn from a tensor's values


@shape("bernoulli")
def bernoulli_shape(self, *, generator=None):
    check_floating(self.dtype, "bernoulli_tensor_cpu_p_")
    return MetaArray(self.shape, self.dtype)


@shape("bernoulli.p")
def bernoulli_p_shape(self, p, *, generator=None):
    bernoulli_float_shape(self, p)
    return MetaArray(self.shape, self.dtype)


@shape("multinomial")
def multinomial_shape(self, num_samples, replacement=False, *, generator=None):
    check_multinomial(self, num_samples, replacement)
    return MetaArray((*self.shape[:-1], num_samples), _INT64)


def check_binomial(count, prob) -> None:
    """Raise unless both arrays have one type, float32 or float64."""
    for name, array in (("count", count), ("prob", prob)):
        if array.dtype.kind not in "fV":
            word = from_numpy_dtype(array.dtype).scalar_name
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {word}")
    check_wide(count.dtype, "binomial_cpu")
    check(
        prob.dtype == count.dtype,
        f"binomial(): Found dtype {from_numpy_dtype(prob.dtype).scalar_name} of prob but expected "
        f"{from_numpy_dtype(count.dtype).scalar_name}, that of count; convert one of them",
    )


def check_wide(np_dtype, kernel: str) -> None:
    """Raise unless arrays of `np_dtype` hold float32 or float64."""
    if np_dtype.char not in "fd":
        word = from_numpy_dtype(np_dtype).scalar_name
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{word}': convert the parameters to float32 or float64")


@shape("binomial")
def binomial_shape(count, prob, generator=None):
    check_binomial(count, prob)
    return MetaArray(broadcast_shapes(count.shape, prob.shape), count.dtype)


@shape("_standard_gamma")
def standard_gamma_shape(self, generator=None):
    check_wide(self.dtype, "gamma_cpu")
    return MetaArray(self.shape, self.dtype)


@shape("_sample_dirichlet")
def sample_dirichlet_shape(self, generator=None):
    check_wide(self.dtype, "dirichlet")
    return MetaArray(self.shape, self.dtype)


rules(SAME, "f", "_standard_gamma_grad", "_dirichlet_grad", generic=False)


def check_one_wide_type(operator: str, kernel: str, **arrays) -> None:
    """Raise unless all arrays are float32, or all float64."""
    first = next(iter(arrays.values())).dtype
    check_wide(first, kernel)
    for name, array in arrays.items():
        word, wanted = from_numpy_dtype(array.dtype).scalar_name, from_numpy_dtype(first).scalar_name
        check(array.dtype == first, f"{operator}(): Found dtype {word} of {name} but expected {wanted}; convert one of them")


@shape("_standard_gamma_grad")
def standard_gamma_grad_shape(self, output):
    check_one_wide_type("_standard_gamma_grad", "_standard_gamma_grad_cpu", self=self, output=output)
    return elementwise_shape("_standard_gamma_grad", (self, output))


@shape("_dirichlet_grad")
def dirichlet_grad_shape(x, alpha, total):
    check_one_wide_type("_dirichlet_grad", "_dirichlet_grad_cpu", x=x, alpha=alpha, total=total)
    return elementwise_shape("_dirichlet_grad", (x, alpha, total))


@shape("poisson")
def poisson_shape(self, generator=None):
    check_floating(self.dtype, "poisson_cpu")
    return MetaArray(self.shape, self.dtype)


# ---------------------------------------------------------------- filling a tensor


def _itself(self) -> MetaArray:
    return MetaArray(self.shape, self.dtype, self.strides)


@shape("uniform_")
def uniform_shape(self, low=0.0, high=1.0, *, generator=None):
    check_uniform(self.dtype, low, high)
    return _itself(self)


@shape("normal_")
def normal_shape(self, mean=0.0, std=1.0, *, generator=None):
    check_normal(self.dtype, std)
    return _itself(self)


@shape("bernoulli_.Tensor")
def bernoulli_tensor_shape(self, p, *, generator=None):
    check_floating(p.dtype, "bernoulli_tensor_cpu_p_")
    if broadcast_shapes(self.shape, p.shape) != tuple(self.shape):
        raise RuntimeError(
            f"bernoulli_(): p of shape {list(p.shape)} cannot be expanded to self's shape "
            f"{list(self.shape)}"
        )
    return _itself(self)


@shape("bernoulli_.float")
def bernoulli_float_shape(self, p=0.5, *, generator=None):
    check_probability(p, "bernoulli_")
    if self.dtype.kind == "c":
        word = from_numpy_dtype(self.dtype).scalar_name
        raise NotImplementedError(f"\"bernoulli_scalar_cpu_\" not implemented for '{word}'")
    return _itself(self)


@shape("random_")
def random_shape(self, *, generator=None):
    dtype = from_numpy_dtype(self.dtype)
    if dtype.name not in DIGITS:
        raise NotImplementedError(
            f"\"random_kernel_cpu\" not implemented for '{dtype.scalar_name}'"
        )
    return _itself(self)


@shape("random_.to")
def random_to_shape(self, high, *, generator=None):
    integer_bounds(self.dtype, 0, high)
    return _itself(self)


@shape("random_.from")
def random_from_shape(self, low, high, *, generator=None):
    if high is not None or low != -(1 << 63):
        integer_bounds(self.dtype, low, high)
    return _itself(self)


@shape("exponential_")
def exponential_shape(self, lambd=1.0, *, generator=None):
    check_positive(lambd, "lambda", "exponential_")
    check_continuous(self.dtype, "Exponential")
    return _itself(self)


@shape("cauchy_")
def cauchy_shape(self, median=0.0, sigma=1.0, *, generator=None):
    check_positive(sigma, "sigma", "cauchy_")
    check_continuous(self.dtype, "Cauchy")
    return _itself(self)


@shape("geometric_")
def geometric_shape(self, p, *, generator=None):
    check_geometric(self.dtype, p)
    return _itself(self)


@shape("log_normal_")
def log_normal_shape(self, mean=1.0, std=2.0, *, generator=None):
    check_log_normal(self.dtype, std)
    return _itself(self)


# ---------------------------------------------------------------- dropout


@shape("native_dropout")
def native_dropout_shape(input, p, train):
    if train is not False:
        check_dropout(p)
        if input.dtype.kind not in "fVc":
            word = from_numpy_dtype(input.dtype).scalar_name
            raise RuntimeError(
                "native_dropout(): result type Float can't be cast to the desired output type "
                f"{word}"
            )
    result = like(input, None, None)
    return result, MetaArray(input.shape, np.bool_, like(input, bool_, None).strides)


@shape("native_dropout_backward")
def native_dropout_backward_shape(grad_output, mask, scale):
    return MetaArray(broadcast_shapes(grad_output.shape, mask.shape), grad_output.dtype)
