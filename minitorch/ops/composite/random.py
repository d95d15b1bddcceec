"""Random operators written with other operators: `out=` forms, functional forms, dropout."""

from __future__ import annotations

import math

from minitorch.ops import functions as F
from minitorch.ops.composite.factories import sized, store_exactly
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.ops.shapes.common import check
from minitorch.ops.shapes.random import check_dropout

# ---------------------------------------------------------------- bounds that are tensors


@composite_explicit("randint_like.Tensor", "randint_like.Tensor_generator")
def randint_like_tensor_composite(self, high, *, generator=None, **options):
    check(
        high.ndim == 0 and not high.dtype.is_floating_point,
        f"randint_like(): high must be a 0-dim integer tensor, not one of shape {list(high.shape)}",
    )
    return F.randint_like(self, int(high.item()), generator=generator, **options)


# ---------------------------------------------------------------- out=


@composite_explicit("rand.out")
def rand_out_composite(size, *, out):
    return sized(out, size).uniform_()


@composite_explicit("rand.generator_out")
def rand_generator_out_composite(size, *, generator, out):
    return sized(out, size).uniform_(generator=generator)


@composite_explicit("randn.out")
def randn_out_composite(size, *, out):
    return sized(out, size).normal_()


@composite_explicit("randn.generator_out")
def randn_generator_out_composite(size, *, generator, out):
    return sized(out, size).normal_(generator=generator)


@composite_explicit("randint.out", "randint.generator_out")
def randint_out_composite(high, size, *, generator=None, out):
    return sized(out, size).random_(0, high, generator=generator)


@composite_explicit("randint.low_out", "randint.low_generator_out")
def randint_low_out_composite(low, high, size, *, generator=None, out):
    return sized(out, size).random_(low, high, generator=generator)


@composite_explicit("randperm.out", "randperm.generator_out")
def randperm_out_composite(n, *, generator=None, out):
    values = F.randperm(n, generator=generator, dtype=out.dtype, device=out.device)
    return sized(out, values.shape).copy_(values)


@composite_explicit("multinomial.out")
def multinomial_out_composite(self, num_samples, replacement=False, *, generator=None, out):
    drawn = F.multinomial(self, num_samples, replacement, generator=generator)
    return store_exactly("multinomial", out, drawn)


@composite_explicit("normal.float_float_out")
def normal_float_float_out_composite(mean, std, size, *, generator=None, out):
    return sized(out, size).normal_(mean, std, generator=generator)


# ---------------------------------------------------------------- functional forms


@composite_explicit("uniform")
def uniform_composite(self, low=0.0, high=1.0, *, generator=None):
    return F.empty_like(self).uniform_(low, high, generator=generator)


@composite_explicit("normal_functional")
def normal_functional_composite(self, mean=0.0, std=1.0, *, generator=None):
    return F.empty_like(self).normal_(mean, std, generator=generator)


@composite_explicit("bernoulli.Tensor")
def bernoulli_tensor_composite(self, p, *, generator=None):
    return F.empty_like(self).bernoulli_(p, generator=generator)


@composite_explicit("random")
def random_composite(self, *, generator=None):
    return F.empty_like(self).random_(generator=generator)


@composite_explicit("random.to")
def random_to_composite(self, high, *, generator=None):
    return F.empty_like(self).random_(high, generator=generator)


@composite_explicit("random.from")
def random_from_composite(self, low, high, *, generator=None):
    return F.empty_like(self).random_(low, high, generator=generator)


@composite_explicit("exponential")
def exponential_composite(self, lambd=1.0, *, generator=None):
    return F.empty_like(self).exponential_(lambd, generator=generator)


@composite_explicit("cauchy")
def cauchy_composite(self, median=0.0, sigma=1.0, *, generator=None):
    return F.empty_like(self).cauchy_(median, sigma, generator=generator)


@composite_explicit("geometric")
def geometric_composite(self, p, *, generator=None):
    return F.empty_like(self).geometric_(p, generator=generator)


@composite_explicit("log_normal")
def log_normal_composite(self, mean=1.0, std=2.0, *, generator=None):
    return F.empty_like(self).log_normal_(mean, std, generator=generator)


# ---------------------------------------------------------------- dropout

# The fixed point of SELU: alpha dropout sends what it drops to ``-alpha``.
_SELU_ALPHA = 1.7580993408473766


def _feature_noise(input):
    """Return an empty tensor with one element for each feature map of each example."""
    check(
        input.ndim >= 2,
        f"Feature dropout requires at least 2 dimensions in the input, but it has {input.ndim}",
    )
    return F.new_empty(input, [*input.shape[:2], *[1] * (input.ndim - 2)])


def _keep_all(input, p, train) -> bool:
    check_dropout(p)
    return p == 0 or not train or input.numel() == 0


def _dropped(noise, p):
    """Fill `noise` with 0, or ``1 / (1 - p)`` where an element stays; return it."""
    return noise.bernoulli_(1 - p).div_(1 - p)


def _alpha_noise(noise, p):
    """Return ``scale, shift`` of alpha dropout: mean and variance stay what they are."""
    a = 1 / math.sqrt((_SELU_ALPHA * _SELU_ALPHA * p + 1) * (1 - p))
    noise.bernoulli_(1 - p)
    shift = noise.add(-1).mul_(_SELU_ALPHA * a).add_(_SELU_ALPHA * a * p)
    return noise.mul_(a), shift


@composite_implicit("dropout")
def dropout_composite(input, p, train):
    if _keep_all(input, p, train):
        return input
    if p == 1:
        return input * 0
    if input.is_cuda:  # has it in one kernel
        return F.native_dropout(input, p, True)[0]
    return input * _dropped(F.empty_like(input), p)


@composite_implicit("dropout_")
def dropout_inplace_composite(self, p, train):
    if _keep_all(self, p, train):
        return self
    if p == 1:
        return self.mul_(0)
    return self.mul_(_dropped(F.empty_like(self), p))


@composite_implicit("feature_dropout")
def feature_dropout_composite(input, p, train):
    if _keep_all(input, p, train):
        return input
    if p == 1:
        return input * 0
    return input * _dropped(_feature_noise(input), p)


@composite_implicit("feature_dropout_")
def feature_dropout_inplace_composite(self, p, train):
    if _keep_all(self, p, train):
        return self
    if p == 1:
        return self.mul_(0)
    return self.mul_(_dropped(_feature_noise(self), p))


@composite_implicit("alpha_dropout")
def alpha_dropout_composite(input, p, train):
    if _keep_all(input, p, train):
        return input
    if p == 1:
        return input * 0
    scale, shift = _alpha_noise(F.empty_like(input), p)
    return (input * scale).add_(shift)


@composite_implicit("alpha_dropout_")
def alpha_dropout_inplace_composite(self, p, train):
    if _keep_all(self, p, train):
        return self
    if p == 1:
        return self.mul_(0)
    scale, shift = _alpha_noise(F.empty_like(self), p)
    return self.mul_(scale).add_(shift)


@composite_implicit("feature_alpha_dropout")
def feature_alpha_dropout_composite(input, p, train):
    if _keep_all(input, p, train):
        return input
    if p == 1:
        return input * 0
    scale, shift = _alpha_noise(_feature_noise(input), p)
    return (input * scale).add_(shift)


@composite_implicit("feature_alpha_dropout_")
def feature_alpha_dropout_inplace_composite(self, p, train):
    if _keep_all(self, p, train):
        return self
    if p == 1:
        return self.mul_(0)
    scale, shift = _alpha_noise(_feature_noise(self), p)
    return self.mul_(scale).add_(shift)
